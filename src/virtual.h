/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Virtual ranks: how large the locally essential trees (LETs) of P domains are, without P processes.
 *
 * Everyone's particles are on every process. Domain by domain, a process makes the tree that the rank of that domain would
 * have, and takes of it what the other ranks would need: the cuts, the trees, the choice and its messages are the code of
 * real ranks, so what comes out is what they would exchange, byte for byte. The senders are dealt out over the processes. */
#ifndef VIRTUAL_H
#define VIRTUAL_H
#include "sim.h"

/* Everyone at the start of the substeps, before the soft kick, and what the choice of LETs depends on beside them. */
struct crowd {
  const struct params *par;
  double gravity;
  struct particles all;        /* with accelerations, in the order of the ids: nothing depends on the real ranks */
  struct lattice lattice;
  struct mac mac;
  double a_floor, a_typical;   /* see struct let_request */
  double cutoff;               /* R2 of the split; negative without one */
  double soft_step;
};

/* One of P ranks: what a soft exchange and the exchange at the start of the substeps bring it and cost it. Integers only:
 * rows are added over processes as one array. */
struct virtual_rank {
  int64_t local;               /* particles */
  struct let_traffic let[LET_KINDS];
  int64_t contacts[LET_KINDS]; /* ranks whose LETs it receives */
  int64_t roots;               /* soft: ranks of which the root on the card is enough */
  int64_t updates;             /* bytes that it sends in a substep in which all entries were corrected, cells too */
};

/* Both kinds, as bits: 1 << LET_SOFT, 1 << LET_STEP. */
enum { VIRTUAL_ALL = (1 << LET_KINDS) - 1 };

/* Everyone of a system with forces, for soft steps of this length. Collective. */
void crowd_gather(struct crowd *w, const struct sim *s, double soft_step);
void crowd_free(struct crowd *w);
/* What its receivers ask of a sender at the start of the substeps, but for the boxes. */
struct let_request crowd_request(const struct crowd *w, enum let_kind kind);

/* The rows of `ranks` virtual ranks, on every process; of the kinds that are not asked for they stay as they are.
 * `progress` is called by every process with the share that it has done (may be NULL). Collective. */
void virtual_count(const struct comm *c, struct crowd *w, int ranks, int kinds, struct virtual_rank *rows,
                   void (*progress)(void *of, double done), void *of);

/* The row of this rank when as many real ranks exchange their particles and LETs (contacts and roots are not counted).
 * Collective. */
void virtual_real(const struct comm *c, struct crowd *w, int kinds, struct virtual_rank *row);
/* 0 where the rows agree in what both count; else -1, and the fault says the first difference. Local. */
int virtual_differ(const struct virtual_rank *counted, const struct virtual_rank *real, int rank, int kinds, struct fault *f);
#endif
