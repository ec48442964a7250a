/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The best value of one number, such as the largest radius of a group, by measured cost: Brent's method (golden section and
 * parabolas; Press et al. 2007, section 10.3) for costs that are noisy and drift, as Miki & Umemura 2017, section 2.4, use it.
 *
 * The search is turned inside out: brent_next says which value to try, brent_tell what it cost, in any number of steps. A value
 * is tried several times and the median counts. When the bracket is narrow the search rests at the best value; it begins anew
 * around it, perturbed, when the cost there has drifted, and after a while in any case.
 *
 * Values are searched by their logarithm. Pure; the state is plain data and may be copied or stored byte by byte. */
#ifndef BRENT_H
#define BRENT_H

enum { BRENT_REPEATS = 3, BRENT_MOST = 40 };   /* tellings for a trial; trials in a search */

struct brent {
  double least, most;      /* logarithms of the bounds */
  double from, to;         /* what this search covers, */
  double low, high;        /* and the bracket */
  double x, w, v;          /* best, second best, the one before that: logarithms */
  double fx, fw, fv;       /* their costs */
  double step, before;     /* last step, and the one before it */
  double trial;            /* what is tried now */
  double cost[BRENT_REPEATS];   /* of the trial, so far */
  int repeats;             /* how many of these */
  int stage;               /* first trial, search, rest: see brent.c */
  int evaluations;         /* trials in this search */
  int searches;            /* finished */
  int rested;              /* tellings since the last search */
  double level, smooth;    /* costs at rest: at its beginning; now */
};

/* A search between two bounds (0 < least < most) that begins at `start`. */
void brent_open(struct brent *b, double least, double most, double start);
/* The value to use now. The same until brent_tell has been called. */
double brent_next(const struct brent *b);
/* 0 while the first value of a search is tried (costs may be relative to it), 1 later in a search, 2 at rest. */
int brent_stage(const struct brent *b);
static inline int brent_begins(const struct brent *b) { return brent_stage(b) == 0; }
/* What using it cost. Costs that are not positive and finite are not looked at. Returns 1 when a search has come to rest with
 * this. */
int brent_tell(struct brent *b, double cost);
#endif
