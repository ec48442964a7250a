/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The gather of LET summaries. */
#ifndef LET_GATHER_H
#define LET_GATHER_H
#include "mpi/let/let_parts.h"

/* What a rank knows of the others: summaries of ranks, in the order r + 1, r + 2, ... after this rank r, then of groups
 * of the others. */
struct gathered {
  int count, *rank; /* [count] */
  int groups;
  struct stage_entry *entry; /* [count + groups] within these: */
  struct stages *stages;     /* or NULL */
  char *packed;              /* or NULL */
};
/* Exchange the summaries of all ranks. Owner: caller (let_gather_free). Collective. */
void let_gather(struct lets *lets, const struct let_call *call, const struct lattice *lattice,
                const struct let_summary *mine, struct gathered *gathered);
void let_gather_free(struct gathered *gathered);
#endif
