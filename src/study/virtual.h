/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Virtual ranks: the sizes of the locally essential trees (LETs) of P domains, without P processes.
 *
 * Every process has all particles. For one domain after the other, a process builds the tree that the rank of that
 * domain would have, and selects from it what the other ranks need. Domains, trees, selection and messages use the code
 * of real ranks, so the result is what real ranks would exchange, byte for byte. The sending domains are distributed
 * over the processes. */
#ifndef VIRTUAL_H
#define VIRTUAL_H
#include "study/global_particles.h"

/* The gather of LET summaries. Messages and bytes of stages, which are none with one allgather, and what the rank has
 * of others. */
struct virtual_summaries {
  int64_t messages, bytes; /* sent in stages */
  int64_t received;        /* bytes, also of an allgather */
  int64_t known, groups;   /* ranks and groups whose summaries it has in the end */
  int64_t held;            /* bytes of summaries in memory, its own included */
};

/* Counts of one of P ranks for one soft exchange and the exchange at the start of the substeps. Integers only, because
 * rows are summed over processes as one array. */
struct virtual_rank {
  int64_t local; /* particles */
  struct let_traffic let[LET_KINDS];
  int64_t contacts[LET_KINDS]; /* ranks whose LETs it receives */
  int64_t tops, cells;         /* soft: ranks and groups of which cells in the LET summary suffice; these cells */
  struct virtual_summaries summaries[LET_KINDS];
  int64_t updates; /* bytes that it sends in a substep in which all entries, also cells, were corrected */
};

/* All kinds of LETs, as bits 1 << LET_SOFT, 1 << LET_STEP. */
enum { VIRTUAL_ALL = (1 << LET_KINDS) - 1 };

/* A LET that a virtual rank sends. */
struct virtual_message {
  int32_t sender, receiver, kind; /* kind: enum let_kind */
  int32_t entries;                /* cells and particles */
  /* bytes: of the receiver's boxes, of the LET, of an update of all its entries (substeps) */
  int64_t boxes, let, update;
};

/* A message of LET summaries in stages. */
struct virtual_stage {
  int32_t kind, step, from, to;
  int64_t bytes;
};

/* A list of them, in the order in which each sender selects them; messages of summaries on rank 0 alone. Owner: caller
 * (virtual_messages_free). */
struct virtual_messages {
  struct virtual_message *message; /* [count] */
  int64_t count, capacity;
  struct virtual_stage *stage; /* [stages] */
  int64_t stages, stage_capacity;
};
void virtual_messages_free(struct virtual_messages *messages);

/* Count the exchanges of `ranks` virtual ranks for the LETs of `kinds` (bits as in VIRTUAL_ALL).
 * \param rows      [ranks] the counts, the same on every process; counts of other kinds are not changed
 * \param progress  called by every process with the part of its work that is done, 0 to 1; may be NULL
 * Collective. */
void virtual_count(const struct comm *comm, struct global_particles *world, int ranks, int kinds,
                   struct virtual_rank *rows, void (*progress)(void *of, double done), void *of);
/* The same; messages: gets the LETs of the senders of this process, at first empty; NULL: not wanted. Collective. */
void virtual_count_messages(const struct comm *comm, struct global_particles *world, int ranks, int kinds,
                            struct virtual_rank *rows, void (*progress)(void *of, double done), void *of,
                            struct virtual_messages *messages);

/* Exchange particles and LETs of `kinds` between the real ranks. `row`: the counts of this rank, without contacts and
 * tops. Collective. */
void virtual_real(const struct comm *comm, struct global_particles *world, int kinds, struct virtual_rank *row);
/* Compare the counts of a virtual and a real rank. Not collective. 0, or -1 with a fault that names the first
 * difference. */
int virtual_differ(const struct virtual_rank *counted, const struct virtual_rank *real, int rank, int kinds,
                   struct fault *fault);
#endif
