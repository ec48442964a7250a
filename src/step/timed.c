/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "step/timed.h"

#include "base/fault.h"
#include "base/memory.h"

/* All substeps, after which every rank gets its stars of units that others have integrated. */
static void advance(struct sim *sim, const struct list_request *request, struct list_tally *tally)
{
  const struct backend_neighbour_lists *lists = sim->be->neighbour_lists;
  int64_t n = 0;
  size_t bytes;
  struct unit_star *all;
  lists->advance(sim->dev, request, sim->lists.halo.n, sim->lists.halo.particle, tally);
  if (!request->several) return;
  const struct unit_star *lent = lists->lent(sim->dev, &n);
  TIMED(sim, PHASE_hard_let, all = comm_gather(sim->comm, lent, sizeof *all * (size_t)n, &bytes));
  lists->take_back(sim->dev, (int64_t)(bytes / sizeof *all), all);
  memory_free(all);
}

static void pair_kinetic(struct sim *sim, const struct list_request *request, double *sum)
{
  *sum = sim->be->neighbour_lists->pair_kinetic(sim->dev, request, sim->lists.halo.n, sim->lists.halo.particle);
  comm_sum_double(sim->comm, sum, 1);
}

#define X(name, phase, call, ...) \
  void name(__VA_ARGS__) { TIMED(sim, phase, call); }
TIMED_VERBS(X)

int timed_any_violation(struct sim *sim, int64_t mine, int begin)
{
  int any;
  TIMED(sim, PHASE_hard_let, any = let_any_violation(sim->ranks.lets, mine, begin));
  return any;
}

struct list_collision *timed_collisions(struct sim *sim, int64_t *n)
{
  size_t bytes;
  int64_t mine, places = sim->be->count(sim->dev) + sim->lists.halo.n;
  const struct list_collision *here = sim->be->neighbour_lists->collisions(sim->dev, &mine);
  struct list_collision *all;
  if (mine > list_collisions_max(places))
    fatal("%lld collisions of %lld stars in a soft step, at most %d: the radii are too large", (long long)mine,
          (long long)places, list_collisions_max(places));
  TIMED(sim, PHASE_hard_let, all = comm_gather(sim->comm, here, sizeof *all * (size_t)mine, &bytes));
  *n = (int64_t)(bytes / sizeof *all);
  return all;
}

int32_t timed_next_tick(struct sim *sim, enum phase awaited)
{
  int32_t tick;
  TIMED(sim, awaited, tick = sim->be->steps.next_tick(sim->dev));
  return tick;
}
