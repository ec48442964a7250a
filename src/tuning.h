/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a run tunes by its own clocks while it goes on: when the tree is built anew within a soft step (tuner.h), and how wide
 * groups may be (brent.h; r_crit of Miki & Umemura 2017, section 2.4). Both trade work for work: forces change within the
 * criterion's error, and no two runs are alike in the last bits. Frozen, nothing is decided by a clock.
 *
 * Every rank has its own width. The rebuild interval is tuned on one rank without the split, where trees live long. */
#ifndef TUNING_H
#define TUNING_H
#include <stdio.h>

#include "backend.h"
#include "brent.h"
#include "params.h"
#include "tuner.h"

#define TUNER_TABLE "tuner.csv"
/* The kind of active set that is all particles at a synchronisation; block levels are below it. */
enum { KIND_ALL = TUNER_KINDS - 1 };

enum tuned { TUNED_REBUILD, TUNED_WIDTH };

/* One decision: what was predicted and what came out. */
struct tuning_row {
  enum tuned what;
  long long step;
  double time;
  int stage;                       /* TUNED_WIDTH: 0: first value of a search, 1: search, 2: at rest */
  double value, best;              /* that was used; the best one known */
  double predicted, measured;      /* seconds of the walks, or relative costs */
  struct rebuild_outcome rebuild;
};

struct tuning {
  int tunes_width, tunes_rebuild;
  double given_width;              /* above 0: of the parameters */
  int waits;                       /* no width is tried before the growth of costs with the tree's age is known */
  int timed;                       /* builds within soft steps whose time was measured */
  long long step;                  /* now, for the log */
  double time;
  int log;                         /* rows are kept until they are written */
  struct rebuild_tuner rebuild;
  struct brent width;
  int width_open;                  /* bounds are known */
  /* Cost of walks since the last synchronisation, relative to those by the first width of the search, a fresh tree for both. */
  double seconds[TUNER_KINDS], targets[TUNER_KINDS];   /* by the first width */
  double measured, expected;
  struct tuning_row *row;
  long long rows, capacity;
};

/* Begin: everything is off where the parameters give numbers, or tuning is frozen. `by_default`: what `auto` means. */
void tuning_open(struct tuning *t, const struct params *par, int by_default, int ranks, int rank);
void tuning_close(struct tuning *t);

/* Rows are of this soft step and time from now on. */
void tuning_now(struct tuning *t, long long step, double time);
/* A walk of a tree of some age (simulated time since the build) for so many targets took so long. `kind`: the lowest block
 * level among them, or KIND_ALL. `ages`: the tree is one that may be built anew within the soft step. */
void tuning_walked(struct tuning *t, double age, int kind, double targets, double seconds, int ages);
/* To be called before groups are made at a synchronisation: sets how wide they may be until the next one. (Within a soft step
 * the sets of targets are too different to compare widths.) `side`: of the root cube. */
void tuning_groups(struct tuning *t, const struct backend *be, struct device *d, double side);

/* Whether the next build's time is wanted: only some are measured, since the device must be waited for. */
int tuning_times(const struct tuning *t);
/* The tree was built. seconds: what that took (0: not measured); `anyway`: at the end of a soft step (other builds are what is compared).
 * `first`: the interval to begin with. */
void tuning_built(struct tuning *t, double seconds, int anyway, double first);
/* Whether to build now, at this age of the tree, `rest` before the end of the soft step, with a walk of this kind to come. */
int tuning_due(struct tuning *t, double age, double rest, int kind);

/* The line of names, and all rows since the last call; `out` NULL: they are dropped. */
void tuning_header(FILE *out);
void tuning_write(struct tuning *t, FILE *out);
/* A line about what was found; nothing where nothing is tuned. */
void tuning_sum_up(const struct tuning *t, FILE *out);
#endif
