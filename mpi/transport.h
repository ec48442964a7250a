/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How messages that may be long go from device to device: particles that change ranks, and LETs. Boxes, cards, announcements and
 * updates are short, and travel through MPI and the host whatever the transport is.
 *
 *   staged    through the host's page-locked memory, in parcels: nothing here is called but open and close
 *   cuda-mpi  MPI takes the addresses of device memory
 *   nccl      the backend's own way (struct link)
 *
 * Messages that do not go through the host are posted in rounds: every rank posts all that it sends and receives at one time, when
 * lengths are known to both sides, which a short message told before. So a round needs nothing of its rank once it is posted, and no
 * order of posting can lock ranks up. */
#ifndef TRANSPORT_H
#define TRANSPORT_H
#include <stdio.h>

#include "backend.h"
#include "comm.h"
#include "params.h"

/* Where a rank is, and what it could do. */
struct transport_card {
  char host[64];
  struct device_identity device;
  int has_device, has_link, mpi_takes;   /* mpi_takes: MPI takes device memory */
  char about[128];                       /* the link's */
};

struct transport {
  const struct comm *c;
  const struct backend *be;
  struct device *d;
  enum transport_choice kind;    /* not auto */
  char why[256];                 /* what speaks against the kinds that auto did not take */
  struct transport_card *card;   /* [ranks] */
  int sharing;                   /* ranks whose device another one has too */
  MPI_Request *request;          /* cuda-mpi */
  int requests, capacity;
  int posted;                    /* a round is on its way, */
  double begun;                  /* since then (clock) */
};

/* Choose one, for all ranks alike. Where the one that was asked for does not work, the fault says why and it is staged, and -1
 * is returned (on all ranks). ESPALIER_CUDA_MPI=1 in the environment: MPI takes device memory, whatever it says. Collective. */
int transport_open(struct transport *t, const struct comm *c, const struct backend *be, struct device *d, enum transport_choice asked,
                   struct fault *f);
/* Whether a backend whose messages are in the host's memory is asked for a transport between devices: -1 with a sentence. What
 * devices can do is known only once they are open. Local. */
int transport_check(const struct backend *be, int ranks, enum transport_choice asked, struct fault *f);
void transport_close(struct transport *t);

/* Whether long messages do not go through the host; `t` may be NULL: they do. */
int transport_direct(const struct transport *t);
/* Post a round, when the last one is complete. Messages of no bytes are left out. What is sent, and the places of what arrives, stay
 * until the round is complete. */
void transport_post(struct transport *t, int count, const struct link_message *m);
/* Look: whether all rounds are complete. */
int transport_done(struct transport *t);
void transport_wait(struct transport *t);
/* Messages that one of so many bytes is cut to. */
int transport_messages(const struct transport *t, size_t bytes);

/* A line about the transport of a run, and lines about its ranks' devices. */
void transport_describe(const struct transport *t, FILE *out);
/* For people who ask what there is: transports, and the devices that the ranks would get. Rank 0 writes. Collective. */
void transport_info(const struct comm *c, FILE *out);
#endif
