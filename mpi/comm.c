/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "mpi/comm.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if HAVE_SYS_PRCTL_H
#include <sys/prctl.h>
#endif
#include <time.h>

#include "base/fault.h"
#include "base/memory.h"
#include "base/watchdog.h"

enum { TAG_EXCHANGE = 100, TAG_SHIFT };

void comm_open(struct comm *c, MPI_Comm parent)
{
  MPI_Comm_dup(parent, &c->mpi);
  MPI_Comm_rank(c->mpi, &c->rank);
  MPI_Comm_size(c->mpi, &c->size);
  c->node_offset = 0;
  c->ledger = ledger_open(c->size);
  c->recorder = recorder_open(c->rank, c->size);
  c->largest_message = (size_t)1 << 30;
  const char *limit = getenv("ESPALIER_LARGEST_MESSAGE");
  if (limit && atoll(limit) > 0) c->largest_message = (size_t)atoll(limit);
  if (c->largest_message > (size_t)1 << 30) c->largest_message = (size_t)1 << 30;
}

void comm_close(struct comm *c)
{
  ledger_close(c->ledger);
  recorder_close(c->recorder);
  MPI_Comm_free(&c->mpi);
}

/* --- recording --------------------------------------------------------------------------------------------------- */

int64_t comm_posted(const struct comm *c) { return recorder_next(c->recorder); }

void comm_sent(const struct comm *c, int peer, int tag, size_t bytes)
{
  ledger_sent(c->ledger, peer, bytes);
  recorder_add(c->recorder, ledger_now(c->ledger), EVENT_send, peer, tag, bytes, -1);
}

void comm_arrived(const struct comm *c, int peer, int tag, size_t bytes, int64_t posted)
{
  recorder_add(c->recorder, ledger_now(c->ledger), EVENT_receive, peer, tag, bytes, posted);
}

/* --- waiting ----------------------------------------------------------------------------------------------------- */

/* Poll back-off. A rank with its own core receives a message with the smallest latency when it polls without a pause. A rank that shares
 * its core must yield to the sender. With dozens of waiting ranks on a core sched_yield is not enough, because their polls take the
 * processor time of the rank that computes; so longer waits sleep. */
#define SPIN_SECONDS 20e-6
#define YIELD_SECONDS 100e-6
enum { PAUSE_MIN = 5000, PAUSE_MAX = 100000, SLACK = 1000 };   /* nanoseconds */
#define PAUSE_FRACTION 0.1   /* pause relative to the time waited so far */

void comm_precise_sleep(void)
{
#ifdef PR_SET_TIMERSLACK
  prctl(PR_SET_TIMERSLACK, (unsigned long)SLACK);
#endif
}

void comm_backoff(const struct comm *c, struct poll_backoff *p, int peer)
{
  double now = timer_clock();
  recorder_waits(c->recorder);
  if (p->waited == 0) {
    watchdog_waiting(peer);
    p->since = p->last = now;
  }
  if (p->waited > YIELD_SECONDS) {
    double pause = PAUSE_FRACTION * 1e9 * p->waited;
    nanosleep(&(struct timespec){0, pause < PAUSE_MIN ? PAUSE_MIN : pause > PAUSE_MAX ? PAUSE_MAX : (long)pause}, NULL);
  } else if (p->waited > SPIN_SECONDS) {
    sched_yield();
  }
  double then = timer_clock();
  ledger_waited(c->ledger, peer, then - p->last);   /* the polls are part of the wait */
  p->waited = then - p->since;
  p->last = then;
}

double comm_backoff_end(struct poll_backoff *p)
{
  double waited = p->waited;
  if (p->waited > 0) watchdog_waiting(WATCHDOG_NO_RANK);
  watchdog_progress();
  p->waited = 0;
  return waited;
}

static void wait_one(const struct comm *c, MPI_Request *request, int peer)
{
  struct poll_backoff poll_backoff = {0};
  for (int done = 0;;) {
    MPI_Test(request, &done, MPI_STATUS_IGNORE);
    if (done) break;
    comm_backoff(c, &poll_backoff, peer);
  }
  comm_backoff_end(&poll_backoff);
}

void comm_wait_peers(const struct comm *c, int n, MPI_Request *requests, const int *peers)
{
  for (int i = 0; i < n; i++) wait_one(c, &requests[i], peers[i]);
}

/* --- collectives ------------------------------------------------------------------------------------------------- */

/* A collective as an event (mpi/event.h); its bytes. */
struct collective {
  enum event_kind kind;
  int root;
  size_t bytes;
};

/* Wait for a collective that has begun, and enter it in the ledger. */
static void finish(const struct comm *c, MPI_Request *request, struct collective e, size_t bytes_in, size_t bytes_out)
{
  wait_one(c, request, LEDGER_ALL);
  recorder_add(c->recorder, ledger_now(c->ledger), e.kind, e.root, 0, e.bytes, -1);
  ledger_sent(c->ledger, LEDGER_ALL, bytes_in);
  ledger_received(c->ledger, LEDGER_ALL, bytes_out);
}

/* Bytes of one rank in a collective that is not divided into parts: MPI counts them in an int. */
static int countable(size_t bytes)
{
  if (bytes > INT_MAX) fatal("%zu bytes of a rank in one collective are more than MPI counts", bytes);
  return (int)bytes;
}

static void reduce(const struct comm *c, void *x, int n, MPI_Datatype type, MPI_Op op)
{
  int bytes;
  MPI_Request request;
  MPI_Type_size(type, &bytes);
  MPI_Iallreduce(MPI_IN_PLACE, x, n, type, op, c->mpi, &request);
  finish(c, &request, (struct collective){EVENT_allreduce, -1, (size_t)n * (size_t)bytes}, (size_t)n * (size_t)bytes, (size_t)n * (size_t)bytes);
}

static void broadcast(const struct comm *c, void *data, size_t bytes, int root)
{
  for (size_t at = 0; at < bytes; at += c->largest_message) {
    size_t piece = bytes - at < c->largest_message ? bytes - at : c->largest_message;
    MPI_Request request;
    MPI_Ibcast((char *)data + at, (int)piece, MPI_BYTE, root, c->mpi, &request);
    finish(c, &request, (struct collective){EVENT_broadcast, root, piece}, c->rank == root ? piece : 0, c->rank == root ? 0 : piece);
  }
}

void comm_broadcast(const struct comm *c, void *data, size_t bytes) { broadcast(c, data, bytes, 0); }

int comm_agree(const struct comm *c, struct fault *f)
{
  int first = f->text[0] ? c->rank : c->size;
  reduce(c, &first, 1, MPI_INT, MPI_MIN);
  if (first == c->size) return 0;
  broadcast(c, f->text, sizeof f->text, first);
  return -1;
}

int comm_verdict(const struct comm *c, struct fault *f)
{
  broadcast(c, f->text, sizeof f->text, 0);
  return f->text[0] ? -1 : 0;
}

void comm_print_fault(const struct comm *c, const char *kind, const struct fault *f)
{
  if (c->rank != 0 || !f->text[0]) return;
  fflush(stdout);
  fprintf(stderr, "espalier: %s: %s\n", kind, f->text);
}

void comm_allgather(const struct comm *c, const void *mine, size_t bytes, void *all)
{
  MPI_Request request;
  int count = countable(bytes);
  MPI_Iallgather(mine, count, MPI_BYTE, all, count, MPI_BYTE, c->mpi, &request);
  finish(c, &request, (struct collective){EVENT_allgather, -1, bytes}, bytes, bytes * (size_t)c->size);
}

void comm_alltoall(const struct comm *c, const void *send, size_t bytes, void *recv)
{
  MPI_Request request;
  int count = countable(bytes);
  MPI_Ialltoall(send, count, MPI_BYTE, recv, count, MPI_BYTE, c->mpi, &request);
  finish(c, &request, (struct collective){EVENT_alltoall, -1, bytes}, bytes * (size_t)c->size, bytes * (size_t)c->size);
}

/* Largest number of doubles of all ranks in one gather: long arrays are summed in slices. */
enum { SUM_SLICE = 1 << 18 };

void comm_sum_double(const struct comm *c, double *x, int n)
{
  int slice = SUM_SLICE / c->size > 0 ? SUM_SLICE / c->size : 1;
  if (slice > n) slice = n;
  double *all = memory_alloc("messages", sizeof *all * (size_t)slice * (size_t)c->size);
  for (int first = 0; first < n; first += slice) {
    int here = n - first < slice ? n - first : slice;
    comm_allgather(c, x + first, sizeof *x * (size_t)here, all);
    for (int i = 0; i < here; i++) {
      x[first + i] = 0;
      for (int r = 0; r < c->size; r++) x[first + i] += all[(size_t)r * (size_t)here + (size_t)i];
    }
  }
  memory_free(all);
}

void comm_sum_int64(const struct comm *c, int64_t *x, int n) { reduce(c, x, n, MPI_INT64_T, MPI_SUM); }
void comm_begin_sum(const struct comm *c, const int64_t *x, int64_t *sum, MPI_Request *request)
{
  MPI_Iallreduce(x, sum, 1, MPI_INT64_T, MPI_SUM, c->mpi, request);
  ledger_sent(c->ledger, LEDGER_ALL, sizeof *x);
  ledger_received(c->ledger, LEDGER_ALL, sizeof *x);
  recorder_begin(c->recorder, request);
}

void comm_finish(const struct comm *c, MPI_Request *request)
{
  wait_one(c, request, LEDGER_ALL);
  int64_t begun = recorder_end(c->recorder, request);   /* it may have been called before */
  if (begun >= 0) recorder_add(c->recorder, ledger_now(c->ledger), EVENT_allreduce, -1, 0, sizeof(int64_t), begun);
}

void comm_max_double(const struct comm *c, double *x, int n) { reduce(c, x, n, MPI_DOUBLE, MPI_MAX); }

int64_t comm_min_int64(const struct comm *c, int64_t x)
{
  reduce(c, &x, 1, MPI_INT64_T, MPI_MIN);
  return x;
}

int64_t comm_max_int64(const struct comm *c, int64_t x)
{
  reduce(c, &x, 1, MPI_INT64_T, MPI_MAX);
  return x;
}

int64_t comm_exscan_int64(const struct comm *c, int64_t x)
{
  int64_t below = 0;
  MPI_Request request;
  MPI_Iexscan(&x, &below, 1, MPI_INT64_T, MPI_SUM, c->mpi, &request);
  finish(c, &request, (struct collective){EVENT_exscan, -1, sizeof x}, sizeof x, c->rank ? sizeof below : 0);
  return c->rank == 0 ? 0 : below;
}

/* Rank and number of ranks on this node. */
static void node_position(const struct comm *c, int *rank, int *size)
{
  MPI_Comm node;
  MPI_Comm_split_type(c->mpi, MPI_COMM_TYPE_SHARED, c->rank, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, rank);
  MPI_Comm_size(node, size);
  MPI_Comm_free(&node);
}

int comm_node_size(const struct comm *c)
{
  int rank, size;
  node_position(c, &rank, &size);
  return size;
}

int comm_node_rank(const struct comm *c)
{
  int rank, size;
  node_position(c, &rank, &size);
  return rank + c->node_offset;
}

void comm_barrier(const struct comm *c)
{
  MPI_Request request;
  MPI_Ibarrier(c->mpi, &request);
  finish(c, &request, (struct collective){EVENT_barrier, -1, 0}, 0, 0);
}

/* --- messages between ranks -------------------------------------------------------------------------------------- */

static void *gather(const struct comm *c, const void *mine, size_t bytes, size_t *total, int receivers)
{
  size_t ranks = (size_t)c->size;
  const void **send = memory_alloc("messages", sizeof *send * ranks);
  size_t *sizes = memory_alloc("messages", 3 * sizeof *sizes * ranks), *got = sizes + ranks, *offset = got + ranks;
  void *all;
  for (int r = 0; r < receivers; r++) {
    send[r] = mine;
    sizes[r] = bytes;
  }
  comm_exchange(c, send, sizes, &all, got, offset);
  *total = 0;
  for (size_t r = 0; r < ranks; r++) {   /* messages start on cache lines: close the gaps */
    memmove((char *)all + *total, (char *)all + offset[r], got[r]);
    *total += got[r];
  }
  memory_free(sizes);
  memory_free(send);
  return all;
}

void *comm_gather(const struct comm *c, const void *mine, size_t bytes, size_t *total) { return gather(c, mine, bytes, total, c->size); }
void *comm_gather_root(const struct comm *c, const void *mine, size_t bytes, size_t *total) { return gather(c, mine, bytes, total, 1); }

/* Requests, and the peer of each; arriving: bytes of a message that arrives, else 0. */
struct pending {
  int count;
  MPI_Request *request;
  int *peer;
  size_t *arriving;
  int64_t posted;
};

/* Wait for all of them, one after the other. */
static void wait_pending(const struct comm *c, const struct pending *p, int tag)
{
  for (int k = 0; k < p->count; k++) {
    wait_one(c, &p->request[k], p->peer[k]);
    if (p->arriving[k] > 0) comm_arrived(c, p->peer[k], tag, p->arriving[k], p->posted);
  }
}

/* Post the pieces of one message. */
static void post(const struct comm *c, void *buffer, size_t bytes, int peer, int sending, struct pending *p)
{
  for (size_t at = 0; at < bytes; at += c->largest_message) {
    size_t piece = bytes - at < c->largest_message ? bytes - at : c->largest_message;
    char *from = (char *)buffer + at;
    p->peer[p->count] = peer;
    p->arriving[p->count] = sending ? 0 : piece;
    if (sending) {
      MPI_Isend(from, (int)piece, MPI_BYTE, peer, TAG_EXCHANGE, c->mpi, &p->request[p->count++]);
      comm_sent(c, peer, TAG_EXCHANGE, piece);
    } else {
      MPI_Irecv(from, (int)piece, MPI_BYTE, peer, TAG_EXCHANGE, c->mpi, &p->request[p->count++]);
      ledger_received(c->ledger, peer, piece);
    }
  }
}

static size_t pieces(const struct comm *c, size_t bytes) { return (bytes + c->largest_message - 1) / c->largest_message; }

void comm_exchange_known(const struct comm *c, const void *const *send, const size_t *send_bytes, void *const *recv,
                         const size_t *recv_bytes)
{
  size_t capacity = 1;
  for (int p = 0; p < c->size; p++)
    if (p != c->rank) capacity += pieces(c, send_bytes[p]) + pieces(c, recv_bytes[p]);
  struct pending pending = {.posted = comm_posted(c)};
  pending.request = memory_alloc("messages", sizeof *pending.request * capacity);
  pending.peer = memory_alloc("messages", sizeof *pending.peer * capacity);
  pending.arriving = memory_alloc("messages", sizeof *pending.arriving * capacity);
  for (int k = 1; k < c->size; k++) {
    int p = (c->rank + c->size - k) % c->size;
    post(c, recv[p], recv_bytes[p], p, 0, &pending);
  }
  for (int k = 1; k < c->size; k++) {
    int p = (c->rank + k) % c->size;
    post(c, (void *)(uintptr_t)send[p], send_bytes[p], p, 1, &pending);
  }
  if (send_bytes[c->rank]) memcpy(recv[c->rank], send[c->rank], send_bytes[c->rank]);
  wait_pending(c, &pending, TAG_EXCHANGE);
  memory_free(pending.arriving);
  memory_free(pending.peer);
  memory_free(pending.request);
}

void comm_exchange(const struct comm *c, const void *const *send, const size_t *send_bytes, void **recv, size_t *recv_bytes,
                   size_t *recv_offset)
{
  comm_alltoall(c, send_bytes, sizeof *send_bytes, recv_bytes);
  size_t total = 0;
  for (int p = 0; p < c->size; p++) {
    recv_offset[p] = total;
    total += (recv_bytes[p] + 63) / 64 * 64;   /* each message starts on a cache line */
  }
  *recv = memory_alloc("messages", total);
  void **places = memory_alloc("messages", sizeof *places * (size_t)c->size);
  for (int p = 0; p < c->size; p++) places[p] = (char *)*recv + recv_offset[p];
  comm_exchange_known(c, send, send_bytes, places, recv_bytes);
  memory_free(places);
}

void comm_shift(const struct comm *c, const void *send, int to, void *recv, int from, size_t bytes)
{
  MPI_Request requests[2];
  struct pending pending = {.count = 2, .request = requests, .peer = (int[]){from, to}, .arriving = (size_t[]){bytes, 0},
                            .posted = comm_posted(c)};
  int count = countable(bytes);
  MPI_Irecv(recv, count, MPI_BYTE, from, TAG_SHIFT, c->mpi, &requests[0]);
  MPI_Isend(send, count, MPI_BYTE, to, TAG_SHIFT, c->mpi, &requests[1]);
  ledger_received(c->ledger, from, bytes);
  comm_sent(c, to, TAG_SHIFT, bytes);
  wait_pending(c, &pending, TAG_SHIFT);
}
