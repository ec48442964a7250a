/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Subsystems of neighbour lists: bound pairs that go by Kepler's equation (cpu/lists/bound_pairs.h). */
#include <config.h>
#include "base/memory.h"
#include "cpu/lists/bound_pairs.h"
#include "cpu/lists/neighbour_lists.h"

static struct bound_view view_of(struct list_set *set)
{
  return (struct bound_view){.n = set->n,
                             .own = set->own,
                             .x = set->motion[0].x,
                             .v = set->motion[0].v,
                             .stride = sizeof *set->motion / sizeof(double),
                             .m = set->gm,
                             .factor = set->factor,
                             .id = set->id,
                             .eps2 = set->eps2};
}

static void kick(struct list_set *set, const struct list_request *request, void *state)
{
  struct bound_view view = view_of(set);
  bound_pairs_kick(state, &view, &(struct bound_lists){set->first, set->entry}, &request->split,
                   0.5 * request->soft_step);
}

static void *find(struct list_set *set, const struct list_request *request, double softening, struct list_tally *tally)
{
  struct bound_pairs *pairs = memory_alloc("hard", sizeof *pairs);
  struct bound_view view = view_of(set);
  bound_pairs_find(pairs, &view, &(struct bound_lists){set->first, set->entry}, request, softening, tally);
  /* that of a member says nothing of the centre of mass */
  for (int64_t k = 0; k < pairs->n; k++) set->level[pairs->pair[k].first] = LEVEL_UNKNOWN;
  if (pairs->n > 0) return pairs;
  bound_pairs_free(pairs);
  memory_free(pairs);
  return NULL;
}

static void advance(void *state, double soft_step) { bound_pairs_advance(state, soft_step); }

static void restore(struct list_set *set, void *state)
{
  struct bound_pairs *pairs = state;
  struct bound_view view = view_of(set);
  bound_pairs_restore(pairs, &view);
  for (int64_t k = 0; k < pairs->n; k++) {
    set->level[pairs->pair[k].first] = LEVEL_UNKNOWN;
    set->level[pairs->pair[k].second] = LEVEL_UNKNOWN;
  }
  bound_pairs_free(pairs);
  memory_free(pairs);
}

const struct subsystem subsystem_kepler_pairs = {
    .name = "Kepler pairs", .find = find, .kick = kick, .advance = advance, .restore = restore};
