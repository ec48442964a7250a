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

void comm_open(struct comm *comm, MPI_Comm parent)
{
  MPI_Comm_dup(parent, &comm->mpi);
  MPI_Comm_rank(comm->mpi, &comm->rank);
  MPI_Comm_size(comm->mpi, &comm->size);
  comm->node_offset = 0;
  comm->ledger = ledger_open(comm->size);
  comm->recorder = recorder_open(comm->rank, comm->size);
  comm->largest_message = (size_t)1 << 30;
  const char *limit = getenv("ESPALIER_LARGEST_MESSAGE");
  if (limit && atoll(limit) > 0) comm->largest_message = (size_t)atoll(limit);
  if (comm->largest_message > (size_t)1 << 30) comm->largest_message = (size_t)1 << 30;
}

void comm_close(struct comm *comm)
{
  ledger_close(comm->ledger);
  recorder_close(comm->recorder);
  MPI_Comm_free(&comm->mpi);
}

/* --- recording --------------------------------------------------------------------------------------------------- */

int64_t comm_posted(const struct comm *comm) { return recorder_next(comm->recorder); }

void comm_sent(const struct comm *comm, int peer, int tag, size_t bytes)
{
  ledger_sent(comm->ledger, peer, bytes);
  recorder_add(comm->recorder, ledger_now(comm->ledger), EVENT_send, peer, tag, bytes, -1);
}

void comm_arrived(const struct comm *comm, int peer, int tag, size_t bytes, int64_t posted)
{
  recorder_add(comm->recorder, ledger_now(comm->ledger), EVENT_receive, peer, tag, bytes, posted);
}

/* --- waiting ----------------------------------------------------------------------------------------------------- */

/* Poll back-off. A rank with its own core receives a message with the smallest latency when it polls without a pause. A
 * rank that shares its core must yield to the sender. With dozens of waiting ranks on a core sched_yield is not enough,
 * because their polls take the processor time of the rank that computes; so longer waits sleep. */
#define SPIN_SECONDS 20e-6
#define YIELD_SECONDS 100e-6
enum { PAUSE_MIN = 5000, PAUSE_MAX = 100000, SLACK = 1000 }; /* nanoseconds */
#define PAUSE_FRACTION 0.1                                   /* pause relative to the time waited so far */

void comm_precise_sleep(void)
{
#ifdef PR_SET_TIMERSLACK
  prctl(PR_SET_TIMERSLACK, (unsigned long)SLACK);
#endif
}

void comm_backoff(const struct comm *comm, struct poll_backoff *backoff, int peer)
{
  double now = timer_clock();
  recorder_waits(comm->recorder);
  if (backoff->waited == 0) {
    watchdog_waiting(peer);
    backoff->since = backoff->last = now;
  }
  if (backoff->waited > YIELD_SECONDS) {
    double pause = PAUSE_FRACTION * 1e9 * backoff->waited;
    nanosleep(&(struct timespec){0, pause < PAUSE_MIN ? PAUSE_MIN : pause > PAUSE_MAX ? PAUSE_MAX : (long)pause}, NULL);
  } else if (backoff->waited > SPIN_SECONDS) {
    sched_yield();
  }
  double then = timer_clock();
  ledger_waited(comm->ledger, peer, then - backoff->last); /* the polls are part of the wait */
  backoff->waited = then - backoff->since;
  backoff->last = then;
}

double comm_backoff_end(struct poll_backoff *backoff)
{
  double waited = backoff->waited;
  if (backoff->waited > 0) watchdog_waiting(WATCHDOG_NO_RANK);
  watchdog_progress();
  backoff->waited = 0;
  return waited;
}

static void wait_one(const struct comm *comm, MPI_Request *request, int peer)
{
  struct poll_backoff poll_backoff = {0};
  for (int done = 0;;) {
    MPI_Test(request, &done, MPI_STATUS_IGNORE);
    if (done) break;
    comm_backoff(comm, &poll_backoff, peer);
  }
  comm_backoff_end(&poll_backoff);
}

void comm_wait_peers(const struct comm *comm, int n, MPI_Request *requests, const int *peers)
{
  for (int i = 0; i < n; i++) wait_one(comm, &requests[i], peers[i]);
}

/* --- collectives ------------------------------------------------------------------------------------------------- */

/* A collective as an event (mpi/event.h); its bytes. */
struct collective {
  enum event_kind kind;
  int root;
  size_t bytes;
};

/* Wait for a collective that has begun, and enter it in the ledger. */
static void finish(const struct comm *comm, MPI_Request *request, struct collective collective, size_t bytes_in,
                   size_t bytes_out)
{
  wait_one(comm, request, LEDGER_ALL);
  recorder_add(comm->recorder, ledger_now(comm->ledger), collective.kind, collective.root, 0, collective.bytes, -1);
  ledger_sent(comm->ledger, LEDGER_ALL, bytes_in);
  ledger_received(comm->ledger, LEDGER_ALL, bytes_out);
}

/* Bytes of one rank in a collective that is not divided into parts: MPI counts them in an int. */
static int countable(size_t bytes)
{
  if (bytes > INT_MAX) fatal("%zu bytes of a rank in one collective are more than MPI counts", bytes);
  return (int)bytes;
}

static void reduce(const struct comm *comm, void *x, int n, MPI_Datatype type, MPI_Op op)
{
  int bytes;
  MPI_Request request;
  MPI_Type_size(type, &bytes);
  MPI_Iallreduce(MPI_IN_PLACE, x, n, type, op, comm->mpi, &request);
  finish(comm, &request, (struct collective){EVENT_allreduce, -1, (size_t)n * (size_t)bytes}, (size_t)n * (size_t)bytes,
         (size_t)n * (size_t)bytes);
}

static void broadcast(const struct comm *comm, void *data, size_t bytes, int root)
{
  for (size_t at = 0; at < bytes; at += comm->largest_message) {
    size_t piece = bytes - at < comm->largest_message ? bytes - at : comm->largest_message;
    MPI_Request request;
    MPI_Ibcast((char *)data + at, (int)piece, MPI_BYTE, root, comm->mpi, &request);
    finish(comm, &request, (struct collective){EVENT_broadcast, root, piece}, comm->rank == root ? piece : 0,
           comm->rank == root ? 0 : piece);
  }
}

void comm_broadcast(const struct comm *comm, void *data, size_t bytes) { broadcast(comm, data, bytes, 0); }

int comm_agree(const struct comm *comm, struct fault *fault)
{
  int first = fault->text[0] ? comm->rank : comm->size;
  reduce(comm, &first, 1, MPI_INT, MPI_MIN);
  if (first == comm->size) return 0;
  broadcast(comm, fault->text, sizeof fault->text, first);
  return -1;
}

int comm_verdict(const struct comm *comm, struct fault *fault)
{
  broadcast(comm, fault->text, sizeof fault->text, 0);
  return fault->text[0] ? -1 : 0;
}

void comm_print_fault(const struct comm *comm, const char *kind, const struct fault *fault)
{
  if (comm->rank != 0 || !fault->text[0]) return;
  fflush(stdout);
  fprintf(stderr, "espalier: %s: %s\n", kind, fault->text);
  /* mpirun prints some fifteen lines of its own about any exit status but 0 */
  if (comm->size > 1 && strcmp(kind, "error") == 0)
    fputs("  This is the cause; what the launcher prints below follows from it.\n\n", stderr);
}

void comm_allgather(const struct comm *comm, const void *mine, size_t bytes, void *all)
{
  MPI_Request request;
  int count = countable(bytes);
  MPI_Iallgather(mine, count, MPI_BYTE, all, count, MPI_BYTE, comm->mpi, &request);
  finish(comm, &request, (struct collective){EVENT_allgather, -1, bytes}, bytes, bytes * (size_t)comm->size);
}

void comm_alltoall(const struct comm *comm, const void *send, size_t bytes, void *recv)
{
  MPI_Request request;
  int count = countable(bytes);
  MPI_Ialltoall(send, count, MPI_BYTE, recv, count, MPI_BYTE, comm->mpi, &request);
  finish(comm, &request, (struct collective){EVENT_alltoall, -1, bytes}, bytes * (size_t)comm->size,
         bytes * (size_t)comm->size);
}

/* Largest number of doubles of all ranks in one gather: long arrays are summed in slices. */
enum { SUM_SLICE = 1 << 18 };

void comm_sum_double(const struct comm *comm, double *x, int n)
{
  int slice = SUM_SLICE / comm->size > 0 ? SUM_SLICE / comm->size : 1;
  if (slice > n) slice = n;
  double *all = memory_alloc("messages", sizeof *all * (size_t)slice * (size_t)comm->size);
  for (int first = 0; first < n; first += slice) {
    int here = n - first < slice ? n - first : slice;
    comm_allgather(comm, x + first, sizeof *x * (size_t)here, all);
    for (int i = 0; i < here; i++) {
      x[first + i] = 0;
      for (int r = 0; r < comm->size; r++) x[first + i] += all[(size_t)r * (size_t)here + (size_t)i];
    }
  }
  memory_free(all);
}

void comm_sum_int64(const struct comm *comm, int64_t *x, int n) { reduce(comm, x, n, MPI_INT64_T, MPI_SUM); }
void comm_begin_sum(const struct comm *comm, const int64_t *x, int64_t *sum, MPI_Request *request)
{
  MPI_Iallreduce(x, sum, 1, MPI_INT64_T, MPI_SUM, comm->mpi, request);
  ledger_sent(comm->ledger, LEDGER_ALL, sizeof *x);
  ledger_received(comm->ledger, LEDGER_ALL, sizeof *x);
  recorder_begin(comm->recorder, request);
}

void comm_finish(const struct comm *comm, MPI_Request *request)
{
  wait_one(comm, request, LEDGER_ALL);
  int64_t begun = recorder_end(comm->recorder, request); /* it may have been called before */
  if (begun >= 0)
    recorder_add(comm->recorder, ledger_now(comm->ledger), EVENT_allreduce, -1, 0, sizeof(int64_t), begun);
}

void comm_max_double(const struct comm *comm, double *x, int n) { reduce(comm, x, n, MPI_DOUBLE, MPI_MAX); }

int64_t comm_min_int64(const struct comm *comm, int64_t x)
{
  reduce(comm, &x, 1, MPI_INT64_T, MPI_MIN);
  return x;
}

int64_t comm_max_int64(const struct comm *comm, int64_t x)
{
  reduce(comm, &x, 1, MPI_INT64_T, MPI_MAX);
  return x;
}

int64_t comm_exscan_int64(const struct comm *comm, int64_t x)
{
  int64_t below = 0;
  MPI_Request request;
  MPI_Iexscan(&x, &below, 1, MPI_INT64_T, MPI_SUM, comm->mpi, &request);
  finish(comm, &request, (struct collective){EVENT_exscan, -1, sizeof x}, sizeof x, comm->rank ? sizeof below : 0);
  return comm->rank == 0 ? 0 : below;
}

/* Rank and number of ranks on this node. */
static void node_position(const struct comm *comm, int *rank, int *size)
{
  MPI_Comm node;
  MPI_Comm_split_type(comm->mpi, MPI_COMM_TYPE_SHARED, comm->rank, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, rank);
  MPI_Comm_size(node, size);
  MPI_Comm_free(&node);
}

int comm_node_size(const struct comm *comm)
{
  int rank, size;
  node_position(comm, &rank, &size);
  return size;
}

int comm_node_rank(const struct comm *comm)
{
  int rank, size;
  node_position(comm, &rank, &size);
  return rank + comm->node_offset;
}

void comm_barrier(const struct comm *comm)
{
  MPI_Request request;
  MPI_Ibarrier(comm->mpi, &request);
  finish(comm, &request, (struct collective){EVENT_barrier, -1, 0}, 0, 0);
}

/* --- messages between ranks -------------------------------------------------------------------------------------- */

static void *gather(const struct comm *comm, const void *mine, size_t bytes, size_t *total, int receivers)
{
  size_t ranks = (size_t)comm->size;
  const void **send = memory_alloc("messages", sizeof *send * ranks);
  size_t *sizes = memory_alloc("messages", 3 * sizeof *sizes * ranks), *got = sizes + ranks, *offset = got + ranks;
  void *all;
  for (int r = 0; r < receivers; r++) {
    send[r] = mine;
    sizes[r] = bytes;
  }
  comm_exchange(comm, send, sizes, &all, got, offset);
  *total = 0;
  for (size_t r = 0; r < ranks; r++) { /* messages start on cache lines: close the gaps */
    memmove((char *)all + *total, (char *)all + offset[r], got[r]);
    *total += got[r];
  }
  memory_free(sizes);
  memory_free(send);
  return all;
}

void *comm_gather(const struct comm *comm, const void *mine, size_t bytes, size_t *total)
{
  return gather(comm, mine, bytes, total, comm->size);
}
void *comm_gather_root(const struct comm *comm, const void *mine, size_t bytes, size_t *total)
{
  return gather(comm, mine, bytes, total, 1);
}

/* Requests, and the peer of each; arriving: bytes of a message that arrives, else 0. */
struct pending {
  int count;
  MPI_Request *request;
  int *peer;
  size_t *arriving;
  int64_t posted;
};

/* Wait for all of them, one after the other. */
static void wait_pending(const struct comm *comm, const struct pending *pending, int tag)
{
  for (int k = 0; k < pending->count; k++) {
    wait_one(comm, &pending->request[k], pending->peer[k]);
    if (pending->arriving[k] > 0) comm_arrived(comm, pending->peer[k], tag, pending->arriving[k], pending->posted);
  }
}

/* Post the pieces of one message. */
static void post(const struct comm *comm, void *buffer, size_t bytes, int peer, int sending, struct pending *pending)
{
  for (size_t at = 0; at < bytes; at += comm->largest_message) {
    size_t piece = bytes - at < comm->largest_message ? bytes - at : comm->largest_message;
    char *from = (char *)buffer + at;
    pending->peer[pending->count] = peer;
    pending->arriving[pending->count] = sending ? 0 : piece;
    if (sending) {
      MPI_Isend(from, (int)piece, MPI_BYTE, peer, TAG_EXCHANGE, comm->mpi, &pending->request[pending->count++]);
      comm_sent(comm, peer, TAG_EXCHANGE, piece);
    } else {
      MPI_Irecv(from, (int)piece, MPI_BYTE, peer, TAG_EXCHANGE, comm->mpi, &pending->request[pending->count++]);
      ledger_received(comm->ledger, peer, piece);
    }
  }
}

static size_t pieces(const struct comm *comm, size_t bytes)
{
  return (bytes + comm->largest_message - 1) / comm->largest_message;
}

void comm_exchange_known(const struct comm *comm, const void *const *send, const size_t *send_bytes, void *const *recv,
                         const size_t *recv_bytes)
{
  size_t capacity = 1;
  for (int p = 0; p < comm->size; p++)
    if (p != comm->rank) capacity += pieces(comm, send_bytes[p]) + pieces(comm, recv_bytes[p]);
  struct pending pending = {.posted = comm_posted(comm)};
  pending.request = memory_alloc("messages", sizeof *pending.request * capacity);
  pending.peer = memory_alloc("messages", sizeof *pending.peer * capacity);
  pending.arriving = memory_alloc("messages", sizeof *pending.arriving * capacity);
  for (int k = 1; k < comm->size; k++) {
    int p = (comm->rank + comm->size - k) % comm->size;
    post(comm, recv[p], recv_bytes[p], p, 0, &pending);
  }
  for (int k = 1; k < comm->size; k++) {
    int p = (comm->rank + k) % comm->size;
    post(comm, (void *)(uintptr_t)send[p], send_bytes[p], p, 1, &pending);
  }
  if (send_bytes[comm->rank]) memcpy(recv[comm->rank], send[comm->rank], send_bytes[comm->rank]);
  wait_pending(comm, &pending, TAG_EXCHANGE);
  memory_free(pending.arriving);
  memory_free(pending.peer);
  memory_free(pending.request);
}

void comm_exchange(const struct comm *comm, const void *const *send, const size_t *send_bytes, void **recv,
                   size_t *recv_bytes, size_t *recv_offset)
{
  comm_alltoall(comm, send_bytes, sizeof *send_bytes, recv_bytes);
  size_t total = 0;
  for (int p = 0; p < comm->size; p++) {
    recv_offset[p] = total;
    total += (recv_bytes[p] + 63) / 64 * 64; /* each message starts on a cache line */
  }
  *recv = memory_alloc("messages", total);
  void **places = memory_alloc("messages", sizeof *places * (size_t)comm->size);
  for (int p = 0; p < comm->size; p++) places[p] = (char *)*recv + recv_offset[p];
  comm_exchange_known(comm, send, send_bytes, places, recv_bytes);
  memory_free(places);
}

void comm_shift(const struct comm *comm, const void *send, int to, void *recv, int from, size_t bytes)
{
  MPI_Request requests[2];
  struct pending pending = {.count = 2,
                            .request = requests,
                            .peer = (int[]){from, to},
                            .arriving = (size_t[]){bytes, 0},
                            .posted = comm_posted(comm)};
  int count = countable(bytes);
  MPI_Irecv(recv, count, MPI_BYTE, from, TAG_SHIFT, comm->mpi, &requests[0]);
  MPI_Isend(send, count, MPI_BYTE, to, TAG_SHIFT, comm->mpi, &requests[1]);
  ledger_received(comm->ledger, from, bytes);
  comm_sent(comm, to, TAG_SHIFT, bytes);
  wait_pending(comm, &pending, TAG_SHIFT);
}
