/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The communicator and what everyone needs of it: waiting, agreement on faults, sums, and exchanges cut to a largest
 * message. Everything that is sent here stands in the communicator's ledger. */
#ifndef COMM_H
#define COMM_H
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "fault.h"
#include "ledger.h"

struct comm {
  MPI_Comm mpi;
  int rank, size;
  struct ledger *ledger;
  size_t largest_message;   /* bytes; longer messages are cut (1 GiB; tests lower it) */
};

/* A duplicate of `parent`. Collective. */
void comm_open(struct comm *c, MPI_Comm parent);
void comm_close(struct comm *c);

/* Wait until all requests are complete (they become MPI_REQUEST_NULL). All waiting for messages happens here: it yields
 * the core to others, so that there may be more ranks than cores. peers[i] is the rank that request i waits for, or
 * LEDGER_ALL; without `peers`, LEDGER_SEVERAL. The seconds are entered in the ledger under the peer that was waited for;
 * messages are not, that is for who posts them. */
void comm_wait_peers(const struct comm *c, int n, MPI_Request *requests, const int *peers);
void comm_wait(const struct comm *c, int n, MPI_Request *requests);

/* Naps while waiting end as soon as they were asked to: Linux makes them 50 microseconds longer else, which spares processors that many
 * ranks share. For the calling thread, and those it makes. */
void comm_nap_exactly(void);

/* How long somebody has been waiting who looks by himself; begins as all zero. */
struct patience {
  double since, last, waited;   /* clock; clock; seconds */
};
/* Nothing has come from `peer`: look again at once, yield, or sleep, the longer the waiting has lasted. The seconds go to the
 * ledger. */
void comm_rest(const struct comm *c, struct patience *p, int peer);
/* What was waited for has come; returns how many seconds that took. */
double comm_rested(struct patience *p);

/* Every rank learns whether any has a fault: 0 when none; else -1, and everyone's `f` holds the sentence of the lowest
 * rank that has one. Collective. */
int comm_agree(const struct comm *c, struct fault *f);
/* Rank 0's verdict for everyone (rank 0's `f` is broadcast): 0 or -1. Collective. */
int comm_verdict(const struct comm *c, struct fault *f);
/* "espalier: KIND: SENTENCE" on rank 0's stderr, behind what it has printed; nothing where there is no fault. Local. */
void comm_say(const struct comm *c, const char *kind, const struct fault *f);

/* `bytes` bytes (below 2 GiB) of rank 0's `data` for everyone. Collective. */
void comm_broadcast(const struct comm *c, void *data, size_t bytes);

/* Reductions over ranks, in place; collective. Sums of doubles are added in rank order, so that they do not depend on
 * the library's choice of algorithm. */
void comm_sum_double(const struct comm *c, double *x, int n);
void comm_sum_int64(const struct comm *c, int64_t *x, int n);
/* The sum of one number that is asked for now, and known after comm_finish (which may come long after, and again): *sum is
 * not to be looked at between, nor *x changed. Both collective. */
void comm_begin_sum(const struct comm *c, const int64_t *x, int64_t *sum, MPI_Request *request);
void comm_finish(const struct comm *c, MPI_Request *request);
void comm_max_double(const struct comm *c, double *x, int n);
int64_t comm_min_int64(const struct comm *c, int64_t x);
int64_t comm_max_int64(const struct comm *c, int64_t x);
/* Sum over the ranks below this one (0 on rank 0). Collective. */
int64_t comm_exscan_int64(const struct comm *c, int64_t x);

/* Ranks on this rank's node; this one's number among them. Collective. */
int comm_node_size(const struct comm *c);
int comm_node_rank(const struct comm *c);
void comm_barrier(const struct comm *c);
/* `bytes` of every rank (the same number, below 2 GiB) at all + rank * bytes. Collective. */
void comm_allgather(const struct comm *c, const void *mine, size_t bytes, void *all);
/* `bytes` at send + p * bytes go to rank p; those of rank p come to recv + p * bytes. Collective. */
void comm_alltoall(const struct comm *c, const void *send, size_t bytes, void *recv);
/* Send `bytes` to rank `to` and receive as many from rank `from`, who does the same with its neighbours. Collective. */
void comm_shift(const struct comm *c, const void *send, int to, void *recv, int from, size_t bytes);
/* Everyone's bytes on every rank, in rank order; *total is their sum. Owner: caller (memory_free). Collective. */
void *comm_gather(const struct comm *c, const void *mine, size_t bytes, size_t *total);
/* The same on rank 0; elsewhere an empty block. Collective. */
void *comm_gather_root(const struct comm *c, const void *mine, size_t bytes, size_t *total);

/* Personalised exchange of bytes. send_bytes[p] bytes at send[p] go to rank p; on return recv_bytes[p] bytes from rank p
 * stand at (char *)*recv + recv_offset[p], in rank order. *recv is allocated with label "messages" (owner: caller).
 * All arrays have c->size entries. Collective. */
void comm_exchange(const struct comm *c, const void *const *send, const size_t *send_bytes, void **recv, size_t *recv_bytes,
                   size_t *recv_offset);
/* The same when the receiver knows the sizes: recv[p] has room for recv_bytes[p]. Collective. */
void comm_exchange_known(const struct comm *c, const void *const *send, const size_t *send_bytes, void *const *recv,
                         const size_t *recv_bytes);
#endif
