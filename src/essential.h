/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What of a tree is essential to the targets in a box: the choice behind locally essential trees (LETs), for host and
 * device. Watanabe & Nakasato 2014, eqs 14-15, with motion: a choice holds for a time `horizon`, in which both sides move. */
#ifndef ESSENTIAL_H
#define ESSENTIAL_H
#include <math.h>

#include "backend.h"
#include "hd.h"

/* In the order of what they ask for. */
enum need {
  NEED_NOTHING,   /* farther than the cutoff */
  NEED_CELL,      /* the cell is accepted by all targets of the box */
  NEED_OPEN       /* its children, or its particles */
};

/* Velocities and accelerations change within the horizon: relative speeds are raised by a tenth; a particle may leave
 * its straight way by what ESSENTIAL_PULL times the largest acceleration around it, and the typical one, would do. */
#define ESSENTIAL_SPEED 1.1
#define ESSENTIAL_PULL 2.0

/* How far a particle may leave the straight way in `time`, where the accelerations about it are at most `pull`. */
HD double essential_stray(double pull, double typical, double time)
{
  return 0.5 * time * time * (ESSENTIAL_PULL * pull + typical);
}

HD double essential_norm(const float a[3]) { return sqrt((double)a[0] * a[0] + (double)a[1] * a[1] + (double)a[2] * a[2]); }

/* How far the particles of a node and the targets of a box may approach each other within the horizon. */
HD double essential_approach(const struct motion *w, const struct let_box *b, const struct let_request *r)
{
  if (r->horizon == 0) return 0;
  double v2 = 0;
  for (int c = 0; c < 3; c++) v2 += (w->v[c] - b->v[c]) * (w->v[c] - b->v[c]);
  double speed = sqrt(v2) + w->spread_v + b->v_spread, pull = essential_norm(w->a) + w->spread_a;
  return ESSENTIAL_SPEED * r->horizon * speed + essential_stray(pull, r->a_typical, r->horizon) +
         essential_stray(b->a_spread, r->a_typical, r->horizon);
}

HD double essential_distance(const struct let_box *b, const double x[3])
{
  double r2 = 0;
  for (int c = 0; c < 3; c++) {
    double out = x[c] < b->low[c] ? b->low[c] - x[c] : x[c] > b->high[c] ? x[c] - b->high[c] : 0;
    r2 += out * out;
  }
  return sqrt(r2);
}

/* What the targets of a box need of a node. */
HD enum need essential_need(const struct lattice *l, const struct node *n, const struct motion *w, const struct let_box *b,
                            const struct let_request *r)
{
  double x[3];
  for (int c = 0; c < 3; c++) x[c] = lattice_position(l, c, n->x[c]);
  double distance = essential_distance(b, x) - essential_approach(w, b, r);
  if (r->cutoff >= 0 && distance - n->b > r->cutoff) return NEED_NOTHING;
  /* a particle alone is sent as such where it will move: a cell would not know of its corrections */
  if (r->horizon > 0 && n->info == (NODE_LEAF | 1)) return NEED_OPEN;
  double sink = mac_sink(r->mac, fmax(b->a_old, r->a_floor));
  return distance > n->b && distance >= n->reach * sink ? NEED_CELL : NEED_OPEN;
}
#endif
