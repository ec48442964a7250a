/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kick-drift-kick with time steps by pairs (gravity/pair_steps.h); jerks are zero. */
#include <config.h>
#include <string.h>

#include "cpu/device.h"
#include "cpu/lists/neighbour_lists.h"

/* Acceleration and largest rate of pairs of particle i at x, v, from its neighbours predicted to `tick`. */
static void evaluate(const struct list_loop *loop, int64_t i, int32_t tick, const double x[3], const double v[3],
                     struct pair_kick *kick)
{
  const struct list_set *set = loop->set;
  struct list_target target = list_target_at(set, i, tick, x, v);
  *kick = (struct pair_kick){.gm = set->gm[i], .eta = loop->request->eta};
  set->isa->list_kick(&loop->from, &target, list_entries(set, i), list_length(set, i), kick);
}

static double first_force(const struct list_loop *loop, int64_t i, struct hermite_motion *motion)
{
  const struct hermite_motion *now = &loop->set->motion[i];
  struct pair_kick kick;
  evaluate(loop, i, 0, now->x, now->v, &kick);
  memcpy(motion->a, kick.a, sizeof kick.a);
  memset(motion->j, 0, sizeof motion->j);
  return pair_step(&kick);
}

static double end_step(const struct list_loop *loop, int64_t i, int32_t tick, double dt, const double x[3],
                       const double v[3], struct hermite_motion *motion)
{
  struct pair_kick kick;
  evaluate(loop, i, tick, x, v, &kick);
  pair_kick_correct(motion, dt, x, &kick);
  return pair_step(&kick);
}

const struct integrator integrator_leapfrog = {.first_force = first_force, .end_step = end_step};
