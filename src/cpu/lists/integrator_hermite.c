/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The fourth-order Hermite scheme (gravity/hermite.h). */
#include <config.h>
#include <math.h>
#include <string.h>

#include "cpu/device.h"
#include "cpu/lists/neighbour_lists.h"

/* Hard force on particle i at x, v, from its neighbours predicted to `tick`. */
static void evaluate(const struct list_loop *loop, int64_t i, int32_t tick, const double x[3], const double v[3],
                     struct hermite_force *force)
{
  const struct list_set *set = loop->set;
  struct list_target target = list_target_at(set, i, tick, x, v);
  set->isa->list_force(&loop->from, &target, list_entries(set, i), list_length(set, i), force);
}

static double background(const struct list_loop *loop, int64_t i)
{
  double r2 = loop->set->factor[i] * (double)loop->request->split.r2;
  return LIST_BACKGROUND * fmax(loop->set->gm[i], loop->mean_gm) / (r2 * r2);
}

static double first_force(const struct list_loop *loop, int64_t i, struct hermite_motion *motion)
{
  const struct hermite_motion *now = &loop->set->motion[i];
  struct hermite_force force = {0};
  evaluate(loop, i, 0, now->x, now->v, &force);
  memcpy(motion->a, force.a, sizeof force.a);
  memcpy(motion->j, force.j, sizeof force.j);
  return hermite_first_step(force.a, force.j, LIST_FIRST_ETA * loop->request->eta, background(loop, i));
}

static double end_step(const struct list_loop *loop, int64_t i, int32_t tick, double dt, const double x[3],
                       const double v[3], struct hermite_motion *motion)
{
  struct hermite_force force;
  double a2[3], a3[3];
  evaluate(loop, i, tick, x, v, &force);
  hermite_correct(motion, dt, x, v, &force, a2, a3);
  return hermite_step(motion->a, motion->j, a2, a3, loop->request->eta, background(loop, i));
}

const struct integrator integrator_hermite = {.first_force = first_force, .end_step = end_step};
