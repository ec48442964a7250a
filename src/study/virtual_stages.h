/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The gather of LET summaries of virtual ranks: all of them in lock step, with the code of real ranks
 * (mpi/let/stages.h). */
#ifndef VIRTUAL_STAGES_H
#define VIRTUAL_STAGES_H
#include "mpi/let/stages.h"

/* What one rank has in the end, and the messages that it has sent and received; with one allgather its own summary and
 * those of the others. */
struct virtual_gathered {
  int *known, count; /* [count] ranks, ascending by number */
  int32_t *group;    /* [groups] their numbers in `table` */
  int groups;
  int64_t messages, bytes;      /* sent, as struct let_traffic has them */
  int64_t received_bytes, held; /* held: bytes of summaries in memory at the end, its own included */
};

/* Called for every message of stages. */
typedef void virtual_stage_message(void *of, int step, int from, int to, int64_t bytes);

struct virtual_gather {
  int ranks, stages;             /* stages 0: by one allgather */
  struct virtual_gathered *rank; /* [ranks] */
  struct let_summary **table;    /* [numbers] by number; those of groups belong to it */
  int64_t numbers;
};

/* Gather summary[ranks] with so many threads. c: only for the number of MPI messages that a message takes. message:
 * NULL, or called with `of`. Owner: caller (virtual_gather_free). Local. */
void virtual_gather_make(struct virtual_gather *gather, const struct comm *comm, int threads, const int grid[3],
                         const struct lattice *lattice, const struct let_request *request, struct let_summary *summary,
                         virtual_stage_message *message, void *of);
void virtual_gather_free(struct virtual_gather *gather);
#endif
