/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The choice of locally essential trees (LETs): which nodes and particles of a tree the targets in the boxes of another rank need. For
 * host and device. Watanabe & Nakasato 2014, eqs 14-15, extended by motion: a choice is valid for the time `horizon`, during which both
 * targets and sources move. Internal units unless said otherwise. */
#ifndef ESSENTIAL_H
#define ESSENTIAL_H
#include <math.h>

#include "base/hd.h"
#include "tree/lattice.h"
#include "tree/let_data.h"

/* The part of a node that a box needs, in increasing order. */
enum need {
  NEED_NOTHING,   /* nothing: the node is beyond the cutoff */
  NEED_CELL,      /* the cell: all targets of the box accept it */
  NEED_OPEN       /* its children, or its particles */
};

/* Motion bound: within the horizon, a particle deviates from its predicted trajectory (a straight line) by at most the displacement by a
 * constant acceleration of ESSENTIAL_PULL times the largest one around it plus the typical one. */
#define ESSENTIAL_PULL 2.0

/* The motion bound (length) after `time`. `pull`: largest hard acceleration around the particle; `typical`: rms acceleration. */
HD double essential_deviation(double pull, double typical, double time)
{
  return 0.5 * time * time * (ESSENTIAL_PULL * pull + typical);
}

/* a_spread of a box without targets, which sets no bound on the motion of its particles. */
#define BOX_EMPTY 1e18

/* Modulus of a vector. */
HD double essential_norm(const float a[3]) { return sqrt((double)a[0] * a[0] + (double)a[1] * a[1] + (double)a[2] * a[2]); }

/* Lower bound on the distance between the targets of a box and a point x that moves with velocity v, both on their predicted trajectories
 * within the horizon: the distance from the box to the bounding box of the point's path in the frame of the targets. */
HD double essential_distance(const struct let_box *b, const double x[3], const float v[3], double horizon)
{
  double r2 = 0;
  for (int c = 0; c < 3; c++) {
    double displacement = (v[c] - b->v[c]) * horizon;
    double low = displacement < 0 ? x[c] + displacement : x[c], high = displacement < 0 ? x[c] : x[c] + displacement;
    double out = high < b->low[c] ? b->low[c] - high : low > b->high[c] ? low - b->high[c] : 0;
    r2 += out * out;
  }
  return sqrt(r2);
}

/* Sum of the motion bounds of the targets of a box and of sources with accelerations of at most `pull`. */
HD double essential_box_deviation(const struct let_box *b, double pull, const struct let_request *r)
{
  return essential_deviation(pull, r->a_typical, r->horizon) + essential_deviation(b->a_spread, r->a_typical, r->horizon);
}

/* Upper bound on the hard accelerations of the particles of a node. */
HD double essential_pull(const struct motion *w) { return essential_norm(w->a) + w->spread_a; }

/* mac_clear of a cell whose radius grows by `grow`, by which the distance that it is compared with is shorter already. */
HD float essential_clear(float b, double grow, double open_within) { return (float)(mac_clear(b, (float)open_within) + (MAC_MARGIN - 1) * grow); }

/* The number of a box in the acceptance criterion. */
HD float essential_sink(const struct let_box *b, const struct let_request *r) { return mac_sink(r->mac, fmax(b->a_old, r->a_floor)); }

/* The part of a node that the targets of a box need. `w`: its motion, which holds at the tick of the request. */
HD enum need essential_need(const struct lattice *l, const struct node *n, const struct motion *w, const struct let_box *b,
                            const struct let_request *r)
{
  double x[3];
  for (int c = 0; c < 3; c++) x[c] = lattice_position(l, c, n->x[c]);
  double distance = essential_distance(b, x, w->v, r->horizon);
  double grow = r->horizon > 0 ? w->spread_v * r->horizon + essential_deviation(essential_pull(w), r->a_typical, r->horizon) : 0;
  if (r->horizon > 0) distance -= w->spread_v * r->horizon + essential_box_deviation(b, essential_pull(w), r);
  if (r->cutoff >= 0 && distance - n->b > r->cutoff) return NEED_NOTHING;
  /* a leaf of one particle is sent as a particle if it moves: updates carry corrections of particles, not of cells */
  if (r->horizon > 0 && n->info == (NODE_LEAF | 1)) return NEED_OPEN;
  double sink = essential_sink(b, r);
  return distance > essential_clear(n->b, grow, r->open_within) && distance >= n->reach * sink ? NEED_CELL : NEED_OPEN;
}

/* The same where nothing moves and there is no cutoff, with the box's number in the acceptance criterion (tree/mac.h). */
HD enum need essential_at_rest(const struct lattice *l, const struct node *n, const struct let_box *b, double open_within, float sink)
{
  double r2 = 0;
  for (int c = 0; c < 3; c++) {
    double x = lattice_position(l, c, n->x[c]), out = x < b->low[c] ? b->low[c] - x : x > b->high[c] ? x - b->high[c] : 0;
    r2 += out * out;
  }
  double distance = sqrt(r2);
  return distance > mac_clear(n->b, (float)open_within) && distance >= n->reach * (double)sink ? NEED_CELL : NEED_OPEN;
}

/* --- all boxes of a receiver together ----------------------------------------------------------------------------- */

/* The boxes of a receiver as a structure of arrays for vector instructions: floats relative to an origin in their middle, widened by a
 * margin for rounding, and padded with copies of the last box. */
enum { TABLE_MAX = 512, TABLE_PAD = 16 };

struct box_table {
  int n;
  double origin[3];
  float low[3][TABLE_MAX + TABLE_PAD], high[3][TABLE_MAX + TABLE_PAD];
  float displacement[3][TABLE_MAX + TABLE_PAD];   /* by the mean velocity within the horizon */
  float deviation[TABLE_MAX + TABLE_PAD];         /* motion bound of the targets */
  float sink[TABLE_MAX + TABLE_PAD];              /* number of the box in the acceptance criterion (tree/mac.h) */
  float cutoff;                                   /* MAC_FAR: none */
};

/* A node or particle that is tested against a table, relative to its origin. Of a particle only x, displacement and grow are not 0. */
struct asked {
  float x[3], displacement[3];
  float b, reach;
  float away;      /* essential_clear */
  float grow;      /* upper bound on the deviation of its particles from the trajectory of its centre: spread and motion bound */
  int opened;      /* 1: never accepted as a cell */
};

/* Rounding error of positions as floats, relative to the extent of the boxes. */
#define TABLE_ROUNDING 3e-7

/* Fill the table from the request's boxes: 1 to TABLE_MAX. */
HD void essential_table(struct box_table *t, const struct let_request *r)
{
  double low[3] = {1e300, 1e300, 1e300}, high[3] = {-1e300, -1e300, -1e300}, extent = 0;
  for (int k = 0; k < r->box_count; k++)
    for (int c = 0; c < 3; c++) low[c] = fmin(low[c], r->boxes[k].low[c]), high[c] = fmax(high[c], r->boxes[k].high[c]);
  for (int c = 0; c < 3; c++) {
    t->origin[c] = 0.5 * (low[c] + high[c]);
    extent = fmax(extent, high[c] - low[c]);
  }
  double margin = TABLE_ROUNDING * (extent + fmax(fmax(r->cutoff, 0.0), r->open_within));
  t->n = r->box_count;
  t->cutoff = r->cutoff >= 0 ? (float)r->cutoff : MAC_FAR;
  for (int k = 0; k < t->n + TABLE_PAD; k++) {
    const struct let_box *b = &r->boxes[k < t->n ? k : t->n - 1];
    for (int c = 0; c < 3; c++) {
      t->low[c][k] = (float)(b->low[c] - t->origin[c] - margin);
      t->high[c][k] = (float)(b->high[c] - t->origin[c] + margin);
      t->displacement[c][k] = (float)(b->v[c] * r->horizon);
    }
    t->deviation[k] = (float)essential_deviation(b->a_spread, r->a_typical, r->horizon);
    t->sink[k] = mac_sink(r->mac, fmax(b->a_old, r->a_floor));
  }
}

/* The numbers of a request and its table that nodes and particles are converted with. */
struct asking {
  struct lattice lattice;
  double origin[3];              /* of the table */
  double a_typical, cutoff, open_within, horizon, tick_length;
  int32_t tick;
};

/* These numbers, for nodes on the lattice `l`. */
HD struct asking essential_asking(const struct lattice *l, const struct box_table *t, const struct let_request *r)
{
  struct asking g;
  g.lattice = *l;
  for (int c = 0; c < 3; c++) g.origin[c] = t->origin[c];
  g.a_typical = r->a_typical;
  g.cutoff = r->cutoff;
  g.open_within = r->open_within;
  g.horizon = r->horizon;
  g.tick_length = r->tick_length;
  g.tick = r->tick;
  return g;
}

/* Convert a node, with its motion at the tick of the request. */
HD struct asked essential_node(const struct asking *g, const struct node *n, const struct motion *w)
{
  struct asked a;
  a.b = n->b;
  a.reach = n->reach;
  a.grow = 0;
  a.opened = 0;
  for (int c = 0; c < 3; c++) {
    a.x[c] = (float)(lattice_position(&g->lattice, c, n->x[c]) - g->origin[c]);
    a.displacement[c] = (float)(w->v[c] * g->horizon);
  }
  if (g->horizon > 0) {
    a.grow = (float)(w->spread_v * g->horizon + essential_deviation(essential_pull(w), g->a_typical, g->horizon));
    a.opened = n->info == (NODE_LEAF | 1);
  }
  a.away = essential_clear(n->b, a.grow, g->open_within);
  return a;
}

/* Convert a particle of a leaf: lattice position, velocity and hard acceleration at its own tick; accelerations around it of at most
 * `pull`. */
HD struct asked essential_particle(const struct asking *g, const int32_t x[3], const float v[3], const float acc[3], int32_t tick,
                                   double pull)
{
  struct asked a;
  double dt = (g->tick - tick) * g->tick_length;
  a.b = a.reach = a.away = 0;
  a.grow = (float)essential_deviation(pull, g->a_typical, g->horizon);
  a.opened = 0;
  for (int c = 0; c < 3; c++) {
    a.x[c] = (float)(lattice_position(&g->lattice, c, x[c]) + (v[c] + 0.5 * dt * acc[c]) * dt - g->origin[c]);
    a.displacement[c] = (float)((v[c] + dt * acc[c]) * g->horizon);
  }
  return a;
}

/* One box of a table, and the k-th one. */
struct table_box {
  float low[3], high[3], displacement[3], deviation, sink;
};

HD struct table_box essential_box(const struct box_table *t, int k)
{
  struct table_box b;
  for (int c = 0; c < 3; c++) b.low[c] = t->low[c][k], b.high[c] = t->high[c][k], b.displacement[c] = t->displacement[c][k];
  b.deviation = t->deviation[k];
  b.sink = t->sink[k];
  return b;
}

/* essential_need in single precision. */
HD enum need essential_of(const struct table_box *t, float cutoff, const struct asked *a)
{
  float r2 = 0;
  for (int c = 0; c < 3; c++) {
    float x = a->x[c], there = x + (a->displacement[c] - t->displacement[c]);
    float out = fmaxf(fmaxf(t->low[c] - fmaxf(x, there), fminf(x, there) - t->high[c]), 0.0f);
    r2 += out * out;
  }
  float d = sqrtf(r2) - (a->grow + t->deviation);
  if (!(d - a->b <= cutoff)) return NEED_NOTHING;
  return a->opened || !(d > a->away && d >= a->reach * t->sink) ? NEED_OPEN : NEED_CELL;
}

/* The largest need of all boxes of a table. */
HD enum need essential_needs(const struct box_table *t, const struct asked *a)
{
  enum need largest = NEED_NOTHING;
  for (int k = 0; k < t->n && largest != NEED_OPEN; k++) {
    const struct table_box b = essential_box(t, k);
    enum need need = essential_of(&b, t->cutoff, a);
    largest = need > largest ? need : largest;
  }
  return largest;
}

/* Bounds of several boxes of a table: position, displacement within the horizon and motion bound. */
struct box_bound {
  float low[3], high[3], displacement_low[3], displacement_high[3], deviation;
};

/* The bounds of boxes [from, to). */
HD struct box_bound essential_bound(const struct box_table *t, int from, int to)
{
  struct box_bound g;
  g.deviation = 0;
  for (int c = 0; c < 3; c++) {
    g.low[c] = g.displacement_low[c] = MAC_FAR;
    g.high[c] = g.displacement_high[c] = -MAC_FAR;
  }
  for (int k = from; k < to; k++) {
    g.deviation = fmaxf(g.deviation, t->deviation[k]);
    for (int c = 0; c < 3; c++) {
      g.low[c] = fminf(g.low[c], t->low[c][k]);
      g.high[c] = fmaxf(g.high[c], t->high[c][k]);
      g.displacement_low[c] = fminf(g.displacement_low[c], t->displacement[c][k]);
      g.displacement_high[c] = fmaxf(g.displacement_high[c], t->displacement[c][k]);
    }
  }
  return g;
}

/* Relative rounding error of the root of a sum of three squares, for every order of the sum. */
#define BOUND_ROUNDING 1e-6f

/* Returns 1 where essential_of is NEED_NOTHING for all boxes within the bounds: each of its steps is monotonic, rounding included. */
HD int essential_beyond(const struct box_bound *g, float cutoff, const struct asked *a)
{
  float r2 = 0;
  for (int c = 0; c < 3; c++) {
    float x = a->x[c];
    float low = x + (a->displacement[c] - g->displacement_high[c]), high = x + (a->displacement[c] - g->displacement_low[c]);
    float out = fmaxf(fmaxf(g->low[c] - fmaxf(x, high), fminf(x, low) - g->high[c]), 0.0f);
    r2 += out * out;
  }
  return sqrtf(r2) * (1 - BOUND_ROUNDING) - (a->grow + g->deviation) - a->b > cutoff;
}
#endif
