/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The halo: particles of other ranks that the hard part of this rank needs for a soft step
 * (backend/neighbour_list_verbs.h).
 *
 * One allgather gives all ranks the box that each rank's particles can reach on straight lines within the soft step.
 * Two ranks whose boxes are farther apart than halo_width exchange nothing; both know it without a message. All others
 * send each other the particles whose paths come within halo_width of the receiver's box, in one message, which may be
 * empty. */
#ifndef HALO_H
#define HALO_H
#include "backend/backend.h"
#include "backend/neighbour_list_verbs.h"
#include "mpi/comm.h"

/* Zero-initialise. */
struct halo {
  struct halo_particle *particle; /* [n], in order of their ranks, then as the verb `halo` of the sender gives them */
  int64_t n;
  int peers;                     /* ranks with which messages were exchanged */
  int64_t messages, bytes, sent; /* messages, bytes and particles sent, since the caller last set them to 0 */
};

/* Replace the particles of `halo` by those that the other ranks have for this rank; returns their number. Before: `acc`
 * of the particles is their soft acceleration (WALK_SOFT), since `bounds` adds acc soft_step^2 / 2 to the box. r: the
 * same on all ranks; its soft_step is the horizon, 0: the present positions. On one rank it does nothing. Traffic
 * enters the ledger under the present phase. Collective; waits. */
int64_t halo_exchange(struct halo *halo, const struct comm *comm, const struct backend *be, struct device *d,
                      const struct list_request *request);
/* Local. */
void halo_free(struct halo *halo);
#endif
