/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STUDY_H
#define STUDY_H
#include "mpi/comm.h"
#include "params/params.h"
#include "trace/report.h"

enum { STUDY_MAX = 64, STUDY_RANKS_MAX = 65536 };

struct study_options {
  int ranks[STUDY_MAX];      /* [rank_count] numbers of virtual ranks */
  int rank_count;
  double r1[STUDY_MAX];      /* [r1_count] R1 in units of R0, one study each; none: the parameters' R1 */
  int r1_count;
  const char *output;        /* CSV table, or NULL */
  int domains;               /* rows of the table are domains instead of numbers of ranks */
  int overwrite;             /* an existing table may be replaced */
  struct trace_outputs trace;   /* where the messages of a soft step are written; for one number of ranks */
};

/* Count the sizes of locally essential trees for each number of ranks, by virtual ranks (virtual.h), and compare them with real ranks
 * where the numbers agree. Prints a table, and writes it to options->output. Collective. Returns the exit status (0 or 1). */
int study_let(const struct comm *c, const struct params *par, const struct study_options *options);
#endif
