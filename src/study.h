/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STUDY_H
#define STUDY_H
#include "comm.h"
#include "params.h"

enum { STUDY_MOST = 64, STUDY_RANKS_MOST = 65536 };

struct study_options {
  int ranks[STUDY_MOST];     /* numbers of virtual ranks */
  int rank_count;
  double r1[STUDY_MOST];     /* R1 in units of R0, one study each; none: as the parameters say */
  int r1_count;
  const char *output;        /* CSV table, or NULL */
  int domains;               /* its rows are domains, not numbers of ranks */
  int overwrite;
};

/* How large locally essential trees become with the number of ranks, by virtual ranks (virtual.h); where there are as many
 * real ranks, these are compared. A table on the terminal, and one in a file. Collective. Returns the exit status (0 or 1). */
int study_let(const struct comm *c, const struct params *par, const struct study_options *options);
#endif
