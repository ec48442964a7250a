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

/* Velocities change within the horizon: a particle may leave its straight way by what ESSENTIAL_PULL times the largest
 * acceleration around it, and the typical one, would do. */
#define ESSENTIAL_PULL 2.0

/* How far a particle may leave the straight way in `time`, where the accelerations about it are at most `pull`. */
HD double essential_stray(double pull, double typical, double time)
{
  return 0.5 * time * time * (ESSENTIAL_PULL * pull + typical);
}

HD double essential_norm(const float a[3]) { return sqrt((double)a[0] * a[0] + (double)a[1] * a[1] + (double)a[2] * a[2]); }

/* Least distance within the horizon between the targets of a box and a point that moves with velocity v, both on straight
 * ways: of the boxes around these in the targets' frame. */
HD double essential_distance(const struct let_box *b, const double x[3], const float v[3], double horizon)
{
  double r2 = 0;
  for (int c = 0; c < 3; c++) {
    double way = (v[c] - b->v[c]) * horizon, low = way < 0 ? x[c] + way : x[c], high = way < 0 ? x[c] : x[c] + way;
    double out = high < b->low[c] ? b->low[c] - high : low > b->high[c] ? low - b->high[c] : 0;
    r2 += out * out;
  }
  return sqrt(r2);
}

/* How far the targets of a box, and sources that feel at most `pull`, may leave their ways towards each other. */
HD double essential_strays(const struct let_box *b, double pull, const struct let_request *r)
{
  return essential_stray(pull, r->a_typical, r->horizon) + essential_stray(b->a_spread, r->a_typical, r->horizon);
}

HD double essential_pull(const struct motion *w) { return essential_norm(w->a) + w->spread_a; }

/* What the targets of a box need of a node. */
HD enum need essential_need(const struct lattice *l, const struct node *n, const struct motion *w, const struct let_box *b,
                            const struct let_request *r)
{
  double x[3];
  for (int c = 0; c < 3; c++) x[c] = lattice_position(l, c, n->x[c]);
  double distance = essential_distance(b, x, w->v, r->horizon);
  if (r->horizon > 0) distance -= w->spread_v * r->horizon + essential_strays(b, essential_pull(w), r);
  if (r->cutoff >= 0 && distance - n->b > r->cutoff) return NEED_NOTHING;
  /* a particle alone is sent as such where it will move: a cell would not know of its corrections */
  if (r->horizon > 0 && n->info == (NODE_LEAF | 1)) return NEED_OPEN;
  double sink = mac_sink(r->mac, fmax(b->a_old, r->a_floor));
  return distance > n->b && distance >= n->reach * sink ? NEED_CELL : NEED_OPEN;
}
#endif
