/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The communicator: waiting, agreement on faults, sums, and exchanges in parts of at most a largest message. All
 * traffic is entered in the communicator's ledger (base/ledger.h). Sizes are in bytes. */
#ifndef COMM_H
#define COMM_H
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/ledger.h"
#include "mpi/recorder.h"

struct comm {
  MPI_Comm mpi;
  int rank, size;
  /* added to this rank's number on its node: that of a process that works by itself beside others; 0 */
  int node_offset;
  struct ledger *ledger;
  struct recorder *recorder;
  size_t largest_message; /* bytes; longer ones go in parts (1 GiB; tests set ESPALIER_LARGEST_MESSAGE lower) */
};

/* Open a duplicate of `parent`. Collective. */
void comm_open(struct comm *comm, MPI_Comm parent);
/* Collective. */
void comm_close(struct comm *comm);

/* Record the events of a message: it is sent; it has arrived and is used from now on. `posted`: comm_posted when the
 * receive was posted. A message is entered in the ledger too. Local. */
void comm_sent(const struct comm *comm, int peer, int tag, size_t bytes);
void comm_arrived(const struct comm *comm, int peer, int tag, size_t bytes, int64_t posted);
int64_t comm_posted(const struct comm *comm);

/* Wait until requests[n] are complete (they become MPI_REQUEST_NULL). The wait polls with back-off, so that there may
 * be more ranks than cores. peers[n]: the rank that each request waits for, or LEDGER_ALL, LEDGER_SEVERAL; its wait in
 * the ledger. The messages themselves are entered by the code that posts them. Local. */
void comm_wait_peers(const struct comm *comm, int n, MPI_Request *requests, const int *peers);

/* Set the timer slack of the calling thread and of threads that it creates to 1 microsecond, so that pauses of polling
 * waits end on time. Linux's default of 50 microseconds spares processors that many ranks share. Local. */
void comm_precise_sleep(void);

/* State of a polling wait with back-off. Zero-initialise. */
struct poll_backoff {
  double since, last, waited; /* clock; clock; seconds */
};
/* Nothing has arrived from `peer`: return at once, yield or pause, depending on how long the wait has lasted. Adds the
 * seconds to the ledger. Local. */
void comm_backoff(const struct comm *comm, struct poll_backoff *backoff, int peer);
/* End the wait. Returns its seconds. */
double comm_backoff_end(struct poll_backoff *backoff);

/* Returns 0 on all ranks when no rank has a fault; else -1 on all ranks, and `fault` becomes the fault of the lowest
 * rank that has one. Collective. */
int comm_agree(const struct comm *comm, struct fault *fault);
/* Broadcast rank 0's fault. Returns 0 where it has none, else -1. Collective. */
int comm_verdict(const struct comm *comm, struct fault *fault);
/* Rank 0: flush stdout and print "espalier: KIND: SENTENCE" on stderr where there is a fault; on several ranks an
 * "error" is set apart from lines of the launcher. Local. */
void comm_print_fault(const struct comm *comm, const char *kind, const struct fault *fault);

/* Broadcast rank 0's data[bytes] (below 2 GiB). Collective. */
void comm_broadcast(const struct comm *comm, void *data, size_t bytes);

/* Reductions over ranks of x[n], in place. Doubles are summed in rank order: the result does not depend on the
 * library's algorithm. Collective. */
void comm_sum_double(const struct comm *comm, double *x, int n);
void comm_sum_int64(const struct comm *comm, int64_t *x, int n);
/* Begin the sum of one number over ranks; *sum is pending until comm_finish, and *x must not change before. comm_finish
 * waits, and may be called again. Both collective. */
void comm_begin_sum(const struct comm *comm, const int64_t *x, int64_t *sum, MPI_Request *request);
void comm_finish(const struct comm *comm, MPI_Request *request);
void comm_max_double(const struct comm *comm, double *x, int n);
int64_t comm_min_int64(const struct comm *comm, int64_t x);
int64_t comm_max_int64(const struct comm *comm, int64_t x);
/* Sum over the ranks below this one (0 on rank 0). Collective. */
int64_t comm_exscan_int64(const struct comm *comm, int64_t x);

/* Number of ranks on this rank's node; number of this rank among them. Collective. */
int comm_node_size(const struct comm *comm);
int comm_node_rank(const struct comm *comm);
void comm_barrier(const struct comm *comm);
/* Gather mine[bytes] (the same number on all ranks, below 2 GiB) to all + rank * bytes. Collective. */
void comm_allgather(const struct comm *comm, const void *mine, size_t bytes, void *all);
/* Send `bytes` at send + p * bytes to each rank p; receive those of rank p at recv + p * bytes. Collective. */
void comm_alltoall(const struct comm *comm, const void *send, size_t bytes, void *recv);
/* Send send[bytes] to rank `to` and receive recv[bytes] from rank `from`; all ranks use the same shift. Collective. */
void comm_shift(const struct comm *comm, const void *send, int to, void *recv, int from, size_t bytes);
/* Gather mine[bytes], of any length, on every rank. Returns a block of *total bytes in rank order. Owner: caller
 * (memory_free). Collective. */
void *comm_gather(const struct comm *comm, const void *mine, size_t bytes, size_t *total);
/* The same on rank 0; elsewhere an empty block. Collective. */
void *comm_gather_root(const struct comm *comm, const void *mine, size_t bytes, size_t *total);

/* Personalised exchange of bytes. send_bytes[p] bytes at send[p] go to rank p; on return recv_bytes[p] bytes from rank
 * p stand at (char *)*recv + recv_offset[p], in rank order. *recv is allocated with label "messages" (owner: caller).
 * All arrays have comm->size entries. Collective. */
void comm_exchange(const struct comm *comm, const void *const *send, const size_t *send_bytes, void **recv,
                   size_t *recv_bytes, size_t *recv_offset);
/* The same when the receiver knows the sizes: recv[p] has room for recv_bytes[p]. Collective. */
void comm_exchange_known(const struct comm *comm, const void *const *send, const size_t *send_bytes, void *const *recv,
                         const size_t *recv_bytes);
#endif
