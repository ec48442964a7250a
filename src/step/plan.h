/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plan of the next soft step. Pure: it depends only on numbers that are the same on all ranks. */
#ifndef PLAN_H
#define PLAN_H
#include "params/params.h"
#include "step/diagnostics.h"
#include "tuning/finder.h"

struct plan {
  double soft_step;      /* length of the soft step */
  double target;         /* time of the next output or of the end of the run */
  int at_target;         /* 1: this step ends at `target`; the time is then set to it exactly */
  int shared_level;      /* block level of all particles; -1: chosen by the time-step criterion */
  int shared;            /* 1: all particles take the deepest level that the criterion gives to any */
  int measure_radius;    /* 1: measure R2 again (radius_by_rule) */
};

enum { RADIUS_INTERVAL = 8 };   /* soft steps between measurements of R2 */

/* The system as the soft part of the forces shows it, for the finder: velocity and energy are those of the centres of mass of close pairs.
 * The potential energy is the virial of the forces in `now`, and the energy is at most half of it, that of a system in equilibrium; the
 * velocity is bounded by the mean speed, to which few pairs contribute little. Without largest_mass, unequal and radii_by_mass. */
struct finder_system plan_system(const struct diagnostics *now, double r2, double gravity);
/* The adaptive soft step for the split radius `r2`, before any limit: the smaller of xs R2 / v_rms and ys sqrt(R2 / a_rms). The soft force
 * changes little within such a step. The second term limits the step in a cold collapse, where v_rms is small. With Integrator = hermite: the
 * soft step of the finder for an energy error of 1e-6. */
double plan_adaptive(const struct params *p, const struct diagnostics *now, double r2);
/* Plan the next soft step. `now`: sums at `time`; `target`: time of the next output or of the end; `r2`: radius by which the soft step is
 * chosen; `hybrid`: 1: the split is on; `step`: soft steps since the start. */
struct plan plan_next(const struct params *p, const struct diagnostics *now, double time, double target, double r2, int hybrid,
                      long long step);
#endif
