/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tuning by measured times during a run: the interval between tree builds within a soft step (tuner.h), and the largest
 * width of groups (brent.h; r_crit of Miki & Umemura 2017, section 2.4). Forces change within the error of the opening
 * criterion, and results are not bitwise reproducible. With Tuning = frozen no decision depends on a clock.
 *
 * Each rank has its own width. The rebuild interval is tuned on one rank without the split, where a tree serves many
 * block steps. */
#ifndef TUNING_H
#define TUNING_H
#include <stdio.h>

#include "backend/backend.h"
#include "params/params.h"
#include "tuning/brent.h"
#include "tuning/tuner.h"

#define TUNER_TABLE "tuner.csv"
/* The kind of active set that is all particles at a synchronisation; block levels are below it. */
enum { KIND_ALL = TUNER_KINDS - 1 };

enum tuned { TUNED_REBUILD, TUNED_WIDTH };

/* A decision, its prediction and its measurement. */
struct tuning_row {
  enum tuned what;
  long long step;
  double time;
  int stage;                  /* TUNED_WIDTH: brent_stage; TUNED_REBUILD: 1 at the end of a soft step */
  double value, best;         /* the value used; the best one known */
  double predicted, measured; /* seconds of the walks, or relative costs */
  struct rebuild_outcome rebuild;
};

struct tuning {
  int tunes_width, tunes_rebuild;
  double given_width; /* above 0: MaxGroupWidth */
  int waits;          /* 1: widths are tried only when the growth of costs with the tree's age is known */
  int timed;          /* number of builds within soft steps with measured times */
  long long step;     /* present soft step, for the log */
  double time;
  int log; /* 1: rows are kept until they are written */
  struct rebuild_tuner rebuild;
  struct brent width;
  int width_open; /* 1: `width` is open */
  /* Costs of walks, divided by the growth with the tree's age. */
  double seconds[TUNER_KINDS], targets[TUNER_KINDS]; /* with the first width of the search */
  double measured, expected; /* seconds since the last synchronisation; the same with the first width */
  struct tuning_row *row;
  long long rows, capacity;
};

/* Open the tuning. A quantity that the parameters give is not tuned; with Tuning = frozen none is. `by_default`: the
 * meaning of `auto`. */
void tuning_open(struct tuning *tuning, const struct params *par, int by_default, int ranks, int rank);
void tuning_close(struct tuning *tuning);

/* Set the soft step and time of the rows that follow. */
void tuning_now(struct tuning *tuning, long long step, double time);
/* Record the seconds of a walk for a number of targets, of a tree of some age (simulated time since the build). `kind`:
 * the lowest block level of the targets, or KIND_ALL. `ages` 1: the tree may be rebuilt within the soft step. */
void tuning_walked(struct tuning *tuning, double age, int kind, double targets, double seconds, int ages);
/* The largest width of groups without tuning; `given`: MaxGroupWidth, 0: not given; `side`: of the root cube. Pure. */
double tuning_width(double given, double side);
/* Set the largest width of groups until the next synchronisation. Call before groups are made at a synchronisation.
 * (Within a soft step the sets of targets differ too much to compare widths.) `side`: of the root cube. */
void tuning_groups(struct tuning *tuning, const struct backend *be, struct device *d, double side);

/* Returns 1 where the next build is to be timed. Only some builds are, since timing waits for the device. */
int tuning_times(const struct tuning *tuning);
/* Record a build of the tree. `seconds`: its time (0: not measured). `at_end` 1: at the end of a soft step; such times
 * are used only until builds within soft steps are measured. `first`: the first interval. */
void tuning_built(struct tuning *tuning, double seconds, int at_end, double first);
/* Returns 1 where a build is due at this age of the tree. `rest`: time to the end of the soft step; `kind`: of the next
 * walk. */
int tuning_due(struct tuning *tuning, double age, double rest, int kind);

/* Write the line of column names; write all rows since the last call (`out` NULL: drop them). */
void tuning_header(FILE *out);
void tuning_write(struct tuning *tuning, FILE *out);
/* Print the best values; nothing where nothing is tuned. */
void tuning_sum_up(const struct tuning *tuning, FILE *out);
#endif
