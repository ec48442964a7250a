/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the next soft step does. Pure: decided from numbers that all ranks share. */
#ifndef PLAN_H
#define PLAN_H
#include "diagnostics.h"
#include "params.h"

struct plan {
  double soft_step;      /* length of the soft step */
  double target;         /* it leads to this time, the next output or the end, in equal steps */
  int at_target;         /* this step ends there: the time is set to `target` exactly */
  int shared_level;      /* level of all particles, or -1: by the criterion */
  int shared;            /* everyone takes the largest level that the criterion asks for */
  int measure_radius;    /* look whether the rule's radius has changed (where it is used) */
};

enum { RADIUS_INTERVAL = 8 };   /* soft steps between measurements of the rule's radius */

/* The adaptive soft step for the split's radius `r2`, before any limit: the change of the soft force over it stays small (xs R2 / v_rms
 * and its counterpart for accelerations, which holds in a cold collapse). */
double plan_adaptive(const struct params *p, const struct diagnostics *now, double r2);
/* `now` are the sums at time `time`; `r2` the radius that the soft step is chosen by; `hybrid` whether the split is on. */
struct plan plan_next(const struct params *p, const struct diagnostics *now, double time, double target, double r2, int hybrid,
                      long long step);
#endif
