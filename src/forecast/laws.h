/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Laws seconds = floor + A (N/P)^b P^c for the phases of the event model, fitted to numbers of ranks that were counted.
 * Floors are known. Waiting is the part of the rest that it is where P is largest. Pure. */
#ifndef LAWS_H
#define LAWS_H
#include "forecast/event_model.h"

enum { LAW_POINTS = 64 };

struct law_point {
  double ranks, per_rank;   /* P, N/P */
  struct event_times times; /* without collectives, which are computed for any P */
};

/* Coefficients of ln seconds; used 0: the phase has no time. */
struct law {
  double a, b, c;
  int used;
};

struct laws {
  struct law mean[EVENT_PHASES_COUNT], critical[EVENT_PHASES_COUNT];
  double floors[EVENT_PHASES_COUNT];
  double waiting[2];              /* mean and critical: waiting over the rest, without collectives */
  double smallest[2], largest[2]; /* P and N/P of the points */
  double worst;                   /* largest relative deviation of a point's critical time from its law */
  int separate;                   /* 1: P and N/P have exponents of their own; 0: c = 0 */
};

/* Fit [count] points, at least 3. The exponent of P alone is fitted where the points have several numbers of
 * particles. */
void laws_fit(struct laws *laws, const struct law_point *point, int count);
/* Whether P and N/P are within those of the points. */
int laws_reach(const struct laws *laws, double ranks, double per_rank);
/* The times by the laws, without collectives. */
void laws_predict(const struct laws *laws, double ranks, double per_rank, struct event_times *times);
#endif
