/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cost of each block step: sums for the end of a run, and the rows of substeps.csv (parameter SubstepLog). A block
 * step is a substep with active particles, or the synchronisation that ends a soft step, where all particles are
 * active. */
#ifndef SUBSTEP_LOG_H
#define SUBSTEP_LOG_H
#include <stdint.h>
#include <stdio.h>

#include "step/schedule.h"

#define SUBSTEP_TABLE "substeps.csv"

/* Parts of the time of a block step. With a table they are timed by device events. Without a table they are timed by
 * the host clock: devices queue work, so work may count in a later part. The walk at a synchronisation is timed by the
 * backend in both cases. */
#define SUBSTEP_PARTS(X) X(select) X(rebuild) X(moments) X(walk) X(correct)

enum substep_part {
#define X(name) SUBSTEP_##name,
  SUBSTEP_PARTS(X)
#undef X
      SUBSTEP_PARTS_COUNT
};

struct substep_row {
  long long step;                /* soft step */
  int32_t tick;                  /* of the block step; TICKS: the synchronisation */
  int level;                     /* block level of the longest steps that end at the tick */
  int64_t local;                 /* particles of this rank */
  int64_t active, groups, pairs; /* targets, their interaction lists, their interactions */
  int moment_updates_of_step;    /* moment updates */
  int rebuilt;                   /* enum rebuilt */
  double seconds[SUBSTEP_PARTS_COUNT], all;
};

struct substep_log {
  int table; /* rows are kept until they are written */
  struct substep_row *row;
  int64_t rows, capacity;
  int64_t steps[2], moment_updates, rebuilds[3]; /* block steps in substeps, and at synchronisations; builds by kind */
  double seconds[2][SUBSTEP_PARTS_COUNT], all[2], active[2], groups[2], local;
  struct substep_row rest; /* work after the last block step in substeps; counted with the synchronisation */
};

/* Add a row. Local. */
void substep_log_add(struct substep_log *log, const struct substep_row *row);
/* Write the line of column names; write all rows since the last call (`out` NULL: drop them). */
void substep_log_header(FILE *out);
void substep_log_write(struct substep_log *log, FILE *out);
/* Print a few lines about all block steps of this rank. `ranks`: number of ranks of the run. */
void substep_log_sum_up(const struct substep_log *log, int ranks, FILE *out);
/* Free the rows. */
void substep_log_close(struct substep_log *log);
#endif
