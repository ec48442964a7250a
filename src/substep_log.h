/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What each block step cost: sums for the end of a run, and the rows of substeps.csv where they are asked for. A block step
 * is a substep with somebody active, or the synchronisation that ends a soft step, at which everyone is. */
#ifndef SUBSTEP_LOG_H
#define SUBSTEP_LOG_H
#include <stdint.h>
#include <stdio.h>

#define SUBSTEP_TABLE "substeps.csv"

/* Parts of a block step's time. Devices queue work: what a part has queued may be waited for, and so counted, in the next
 * one; times are laps of the host's clock, but for the walk at a synchronisation, whose seconds are the
 * backend's own. With a table the parts of substeps are timed by the device's stamps, which is right. */
#define SUBSTEP_PARTS(X) X(select) X(rebuild) X(moments) X(walk) X(correct)

enum { REBUILT_ALL = 1, REBUILT_FAST = 2 };   /* the tree of all particles, or of the fast ones alone */

enum substep_part {
#define X(name) SUBSTEP_##name,
  SUBSTEP_PARTS(X)
#undef X
  SUBSTEP_PARTS_COUNT
};

struct substep_row {
  long long step;        /* soft step */
  int32_t tick;          /* TICKS: its end */
  int level;             /* of the longest steps that end here */
  int64_t local;                   /* particles of this rank */
  int64_t active, groups, pairs;   /* targets, their interaction lists, their interactions */
  int refreshed, rebuilt;          /* how often moments were taken anew; the tree was: REBUILT_ALL, REBUILT_FAST */
  double seconds[SUBSTEP_PARTS_COUNT], all;
};

struct substep_log {
  int table;             /* rows are kept until they are written */
  struct substep_row *row;
  int64_t rows, capacity;
  int64_t steps[2], refreshes, rebuilds[3];   /* block steps in substeps, and at synchronisations; builds by kind */
  double seconds[2][SUBSTEP_PARTS_COUNT], all[2], active[2], groups[2], local;
  struct substep_row rest;   /* what was done behind the last substep of a soft step: part of its synchronisation */
};

/* Take a row. Allocates only while soft steps have ever more substeps. Local. */
void substep_log_add(struct substep_log *l, const struct substep_row *row);
/* The line of names, and all rows since the last call; `out` NULL: they are dropped. */
void substep_log_header(FILE *out);
void substep_log_write(struct substep_log *l, FILE *out);
/* A few lines about all block steps of this rank, one of so many. */
void substep_log_sum_up(const struct substep_log *l, int ranks, FILE *out);
void substep_log_close(struct substep_log *l);
#endif
