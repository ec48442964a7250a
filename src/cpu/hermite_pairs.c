/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bound pairs of a soft step (cpu/bound_pairs.h) among the particles of the Hermite scheme. */
#include <config.h>
#include "base/memory.h"
#include "cpu/hermite.h"

static struct bound_view view_of(struct hard_set *set)
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

static void kick(struct hard_set *set, const struct hard_request *request, struct bound_pairs *pairs)
{
  struct bound_view view = view_of(set);
  bound_pairs_kick(pairs, &view, &(struct bound_lists){set->first, set->entry}, &request->split,
                   0.5 * request->soft_step);
}

void hard_set_begin_pairs(struct hard_set *set, const struct hard_request *request, double softening,
                          struct bound_pairs *pairs, struct hard_tally *tally)
{
  struct bound_view view = view_of(set);
  bound_pairs_find(pairs, &view, &(struct bound_lists){set->first, set->entry}, request, softening, tally);
  if (pairs->n == 0) return;
  /* that of a member says nothing of the centre of mass */
  for (int64_t k = 0; k < pairs->n; k++) set->level[pairs->pair[k].first] = LEVEL_UNKNOWN;
  /* the centres of mass move on other straight lines */
  hard_set_lists(set, request, request->soft_step);
  kick(set, request, pairs);
}

void hard_set_end_pairs(struct hard_set *set, const struct hard_request *request, struct bound_pairs *pairs)
{
  struct bound_view view = view_of(set);
  bound_pairs_advance(pairs, request->soft_step);
  kick(set, request, pairs);
  bound_pairs_restore(pairs, &view);
  for (int64_t k = 0; k < pairs->n; k++)
    set->level[pairs->pair[k].first] = set->level[pairs->pair[k].second] = LEVEL_UNKNOWN;
  bound_pairs_free(pairs);
}
