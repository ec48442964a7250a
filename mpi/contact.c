/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank needs of another, as both derive it from their summaries. */
#include <config.h>
#include <math.h>

#include "backend/let_verbs.h"
#include "mpi/let.h"

struct let_box let_union(const struct let_box *boxes, int count, double horizon)
{
  struct let_box u = {{1e300, 1e300, 1e300}, {-1e300, -1e300, -1e300}, 1e300, {0}, 0};
  for (int b = 0; b < count; b++) {
    u.a_old = fmin(u.a_old, boxes[b].a_old);
    u.a_spread = fmax(u.a_spread, boxes[b].a_spread);
    for (int c = 0; c < 3; c++) u.v[c] += boxes[b].v[c] / count;
  }
  for (int b = 0; b < count; b++)
    for (int c = 0; c < 3; c++) {
      double displacement = (boxes[b].v[c] - u.v[c]) * horizon;   /* of the box in the frame of all */
      u.low[c] = fmin(u.low[c], boxes[b].low[c] + fmin(displacement, 0));
      u.high[c] = fmax(u.high[c], boxes[b].high[c] + fmax(displacement, 0));
    }
  return u;
}

enum need let_contact(const struct lattice *l, const struct let_summary *sender, const struct let_summary *receiver,
                      const struct let_request *r)
{
  if (sender->particles == 0 || receiver->boxes == 0) return NEED_NOTHING;
  enum need need = essential_need(l, &sender->root, &sender->motion, &receiver->box, r);
  return need == NEED_CELL && r->horizon > 0 ? NEED_OPEN : need;
}

void let_summarise(const struct backend *be, struct device *d, const struct let_request *request, struct let_box *boxes,
                   struct let_summary *summary)
{
  be->let->summary(d, request, summary);
  summary->boxes = be->let->boxes(d, request, LET_BOXES, boxes);
  summary->box = let_union(boxes, summary->boxes, request->horizon);
}
