/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The best value of one number, such as the largest radius of a group, by measured cost: Brent's method (golden section
 * and parabolas; Press et al. 2007, section 10.3) for costs that are noisy and drift, as Miki & Umemura 2017, section
 * 2.4, use it.
 *
 * The caller drives the search: brent_next returns the value to try, brent_measured takes its cost. Each value is
 * measured several times; its cost is the median. When the bracket is narrow the search ends and the best value is
 * used. A new search around that value begins when its cost has drifted, and after TRIAL_INTERVAL_MAX measurements
 * (brent.c) in any case.
 *
 * The search uses logarithms of values. Pure; the state is plain data and may be copied or stored byte by byte. */
#ifndef BRENT_H
#define BRENT_H

enum { BRENT_REPEATS = 3, BRENT_TRIALS_MAX = 40 }; /* measurements of a trial; trials in a search */

struct brent {
  double lower, upper;        /* logarithms of the bounds */
  double from, to;            /* range of this search */
  double low, high;           /* bracket of the minimum */
  double x, w, v;             /* best, second best, the one before that: logarithms */
  double fx, fw, fv;          /* their costs */
  double step, before;        /* last step, and the one before it */
  double trial;               /* present value of a search */
  double cost[BRENT_REPEATS]; /* of the trial */
  int repeats;                /* number of these costs */
  int stage;                  /* first trial, search, idle: see brent.c */
  int evaluations;            /* trials in this search */
  int searches;               /* finished searches */
  int measured_since_search;  /* number of measurements since the last search */
  double level, smooth;       /* idle: mean cost after the search; smoothed cost now */
};

/* Open a search between two bounds (0 < lower < upper) that begins at `start`. */
void brent_open(struct brent *brent, double lower, double upper, double start);
/* Returns the value to use until the next call of brent_measured. */
double brent_next(const struct brent *brent);
/* Returns 0 while the first value of a search is tried (costs may be relative to it), 1 later in a search, 2 when
 * idle. */
int brent_stage(const struct brent *brent);
static inline int brent_begins(const struct brent *brent) { return brent_stage(brent) == 0; }
/* Record the cost of the present value. Costs that are not positive and finite are ignored. Returns 1 where this
 * measurement ends a search, else 0. */
int brent_measured(struct brent *brent, double cost);
#endif
