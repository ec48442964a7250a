/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Transport of long messages between devices: migrating particles, LETs and moment updates. Boxes, summaries,
 * announcements and updates of corrected particles are short and always go through MPI and the host.
 *
 *   staged    through page-locked memory of the host (mpi/message.h); only open and close of this file are called
 *   cuda-mpi  MPI takes addresses of device memory
 *   nccl      the link of the backend (struct link)
 *
 * Messages that do not pass through the host are posted in rounds: a rank posts all messages that it sends and receives
 * at once, when short messages have given both sides the lengths. A posted round needs nothing further of its rank, so
 * ranks cannot deadlock whatever the order in which they post. */
#ifndef TRANSPORT_H
#define TRANSPORT_H
#include <stdio.h>

#include "backend/backend.h"
#include "backend/link.h"
#include "backend/probe.h"
#include "mpi/comm.h"
#include "params/params.h"

/* Host, device and possible transports of a rank. */
struct transport_summary {
  char host[64];
  struct device_identity device;
  int has_device, has_link, mpi_takes; /* mpi_takes: MPI takes device memory */
  char about[128];                     /* version of the link, or why there is none */
};

struct transport {
  const struct comm *c;
  const struct backend *be;
  struct device *d;
  enum transport_choice kind;        /* not auto */
  char why[256];                     /* why auto did not choose the other kinds */
  struct transport_summary *summary; /* [ranks] */
  int sharing;                       /* number of ranks that share their device with another rank */
  MPI_Request *request;              /* cuda-mpi */
  int requests, capacity;
  int posted;   /* a round is on its way */
  double begun; /* clock when it was posted */
  struct arriving {
    int peer;
    size_t bytes;
  } * arriving; /* [arriving_count] messages of this round that arrive, where events are recorded */
  int arriving_count, arriving_capacity;
  int64_t posted_at; /* comm_posted when the round was posted */
};

/* Choose the same transport on all ranks. Returns 0; -1 on all ranks where the transport asked for does not work: then
 * `fault` says why and the transport is staged. ESPALIER_CUDA_MPI=1 in the environment: MPI takes device memory,
 * whatever the library reports. Collective. */
int transport_open(struct transport *transport, const struct comm *comm, const struct backend *be, struct device *d,
                   enum transport_choice asked, struct fault *fault);
/* Returns -1, with a fault, where a backend without device memory is asked for a transport between devices, else 0.
 * What devices can do is known once they are open (transport_open). Local. */
int transport_check(const struct backend *be, int ranks, enum transport_choice asked, struct fault *fault);
void transport_close(struct transport *transport);

/* Returns 1 where long messages do not pass through the host. t NULL: staged. Local. */
int transport_direct(const struct transport *transport);
/* Returns 1 where the rounds that are posted proceed without calls of this rank. Does not wait. */
int transport_carries(struct transport *transport);
/* Wait for the last round, then post m[count]. Messages of 0 bytes are left out. Buffers must stay valid until the
 * round is complete. Local; the peers must post the same round. */
void transport_post(struct transport *transport, int count, const struct link_message *message);
/* Returns 1 when all rounds are complete. Does not wait. */
int transport_done(struct transport *transport);
/* Wait until all rounds are complete. */
void transport_wait(struct transport *transport);
/* Number of messages that one of `bytes` is sent in. */
int transport_messages(const struct transport *transport, size_t bytes);

/* Print the devices of the ranks and the transport of a run. Local. */
void transport_describe(const struct transport *transport, FILE *out);
/* Print the available transports and the devices that the ranks would get (espalier info). Rank 0 prints.
 * Collective. */
void transport_info(const struct comm *comm, FILE *out);
#endif
