/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bound pairs of a soft step (cpu/bound_pairs.h) among the particles of the Hermite scheme. */
#include <config.h>
#include "base/memory.h"
#include "cpu/hermite.h"

static struct bound_view view_of(struct hard_set *s)
{
  return (struct bound_view){.n = s->n, .own = s->own, .x = s->motion[0].x, .v = s->motion[0].v,
                             .stride = sizeof *s->motion / sizeof(double), .m = s->gm, .factor = s->factor, .id = s->id, .eps2 = s->eps2};
}

static void kick(struct hard_set *s, const struct hard_request *r, struct bound_pairs *p)
{
  struct bound_view view = view_of(s);
  bound_pairs_kick(p, &view, &(struct bound_lists){s->first, s->entry}, &r->split, 0.5 * r->soft_step);
}

void hard_set_begin_pairs(struct hard_set *s, const struct hard_request *r, double softening, struct bound_pairs *p, struct hard_tally *t)
{
  struct bound_view view = view_of(s);
  bound_pairs_find(p, &view, &(struct bound_lists){s->first, s->entry}, r, softening, t);
  if (p->n == 0) return;
  for (int64_t k = 0; k < p->n; k++) s->level[p->pair[k].first] = LEVEL_UNKNOWN;   /* that of a member says nothing of the centre of mass */
  /* the centres of mass move on other straight lines */
  hard_set_lists(s, r, r->soft_step);
  kick(s, r, p);
}

void hard_set_end_pairs(struct hard_set *s, const struct hard_request *r, struct bound_pairs *p)
{
  struct bound_view view = view_of(s);
  bound_pairs_advance(p, r->soft_step);
  kick(s, r, p);
  bound_pairs_restore(p, &view);
  for (int64_t k = 0; k < p->n; k++) s->level[p->pair[k].first] = s->level[p->pair[k].second] = LEVEL_UNKNOWN;
  bound_pairs_free(p);
}
