/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The choice of locally essential trees (LETs): which nodes and particles of a tree the targets in the boxes of another
 * rank need. For host and device. Watanabe & Nakasato 2014, eqs 14-15, extended by motion: a choice is valid for the
 * time `horizon`, during which both targets and sources move. Internal units unless said otherwise. */
#ifndef ESSENTIAL_H
#define ESSENTIAL_H
#include <math.h>

#include "base/hd.h"
#include "tree/lattice.h"
#include "tree/let_data.h"

/* The part of a node that a box needs, in increasing order. */
enum need {
  NEED_NOTHING, /* nothing: the node is beyond the cutoff */
  NEED_CELL,    /* the cell: all targets of the box accept it */
  NEED_OPEN     /* its children, or its particles */
};

/* Motion bound: within the horizon, a particle deviates from its predicted trajectory (a straight line) by at most the
 * displacement by a constant acceleration of ESSENTIAL_PULL times the largest one around it plus the typical one. */
#define ESSENTIAL_PULL 2.0

/* The motion bound (length) after `time`. `pull`: largest hard acceleration around the particle; `typical`: rms
 * acceleration. */
HD double essential_deviation(double pull, double typical, double time)
{
  return 0.5 * time * time * (ESSENTIAL_PULL * pull + typical);
}

/* a_spread of a box without targets, which sets no bound on the motion of its particles. */
#define BOX_EMPTY 1e18

/* Modulus of a vector. */
HD double essential_norm(const float a[3])
{
  return sqrt((double)a[0] * a[0] + (double)a[1] * a[1] + (double)a[2] * a[2]);
}

/* Lower bound on the distance between the targets of a box and a point x that moves with velocity v, both on their
 * predicted trajectories within the horizon: the distance from the box to the bounding box of the point's path in the
 * frame of the targets. */
HD double essential_distance(const struct let_box *box, const double x[3], const float v[3], double horizon)
{
  double r2 = 0;
  for (int c = 0; c < 3; c++) {
    double displacement = (v[c] - box->v[c]) * horizon;
    double low = displacement < 0 ? x[c] + displacement : x[c], high = displacement < 0 ? x[c] : x[c] + displacement;
    double out = high < box->low[c] ? box->low[c] - high : low > box->high[c] ? low - box->high[c] : 0;
    r2 += out * out;
  }
  return sqrt(r2);
}

/* Sum of the motion bounds of the targets of a box and of sources with accelerations of at most `pull`. */
HD double essential_box_deviation(const struct let_box *box, double pull, const struct let_request *request)
{
  return essential_deviation(pull, request->a_typical, request->horizon) +
         essential_deviation(box->a_spread, request->a_typical, request->horizon);
}

/* Upper bound on the hard accelerations of the particles of a node. */
HD double essential_pull(const struct motion *motion) { return essential_norm(motion->a) + motion->spread_a; }

/* mac_clear of a cell whose radius grows by `grow`, by which the distance that it is compared with is shorter
 * already. */
HD float essential_clear(float b, double grow, double open_within)
{
  return (float)(mac_clear(b, (float)open_within) + (MAC_MARGIN - 1) * grow);
}

/* The number of a box in the acceptance criterion. */
HD float essential_sink(const struct let_box *box, const struct let_request *request)
{
  return mac_sink(request->mac, fmax(box->a_old, request->a_floor));
}

/* The part of a node that the targets of a box need. `motion`: its motion, which holds at the tick of the request. */
HD enum need essential_need(const struct lattice *lattice, const struct node *node, const struct motion *motion,
                            const struct let_box *box, const struct let_request *request)
{
  double x[3];
  for (int c = 0; c < 3; c++) x[c] = lattice_position(lattice, c, node->x[c]);
  double distance = essential_distance(box, x, motion->v, request->horizon);
  double grow = request->horizon > 0
                    ? motion->spread_v * request->horizon +
                          essential_deviation(essential_pull(motion), request->a_typical, request->horizon)
                    : 0;
  if (request->horizon > 0)
    distance -= motion->spread_v * request->horizon + essential_box_deviation(box, essential_pull(motion), request);
  if (request->cutoff >= 0 && distance - node->b > request->cutoff) return NEED_NOTHING;
  /* a leaf of one particle is sent as a particle if it moves: updates carry corrections of particles, not of cells */
  if (request->horizon > 0 && node->info == (NODE_LEAF | 1)) return NEED_OPEN;
  double sink = essential_sink(box, request);
  return distance > essential_clear(node->b, grow, request->open_within) && distance >= node->reach * sink ? NEED_CELL
                                                                                                           : NEED_OPEN;
}

/* The same where nothing moves and there is no cutoff, with the box's number in the acceptance criterion
 * (tree/mac.h). */
HD enum need essential_at_rest(const struct lattice *lattice, const struct node *node, const struct let_box *box,
                               double open_within, float sink)
{
  double r2 = 0;
  for (int c = 0; c < 3; c++) {
    double x = lattice_position(lattice, c, node->x[c]), out = x < box->low[c]    ? box->low[c] - x
                                                               : x > box->high[c] ? x - box->high[c]
                                                                                  : 0;
    r2 += out * out;
  }
  double distance = sqrt(r2);
  return distance > mac_clear(node->b, (float)open_within) && distance >= node->reach * (double)sink ? NEED_CELL
                                                                                                     : NEED_OPEN;
}

/* --- all boxes of a receiver together ----------------------------------------------------------------------------- */

/* The boxes of a receiver as a structure of arrays for vector instructions: floats relative to an origin in their
 * middle, widened by a margin for rounding, and padded with copies of the last box. */
enum { TABLE_MAX = 512, TABLE_PAD = 16 };

struct box_table {
  int n;
  double origin[3];
  float low[3][TABLE_MAX + TABLE_PAD], high[3][TABLE_MAX + TABLE_PAD];
  float displacement[3][TABLE_MAX + TABLE_PAD]; /* by the mean velocity within the horizon */
  float deviation[TABLE_MAX + TABLE_PAD];       /* motion bound of the targets */
  float sink[TABLE_MAX + TABLE_PAD];            /* number of the box in the acceptance criterion (tree/mac.h) */
  float cutoff;                                 /* MAC_FAR: none */
};

/* A node or particle that is tested against a table, relative to its origin. Of a particle only x, displacement and
 * grow are not 0. */
struct essential_source {
  float x[3], displacement[3];
  float b, reach;
  float away; /* essential_clear */
  /* upper bound on the deviation of its particles from the trajectory of its centre: spread and motion bound */
  float grow;
  int opened; /* 1: never accepted as a cell */
};

/* Rounding error of positions as floats, relative to the extent of the boxes. */
#define TABLE_ROUNDING 3e-7

/* Fill the table from the request's boxes: 1 to TABLE_MAX. */
HD void essential_table(struct box_table *table, const struct let_request *request)
{
  double low[3] = {1e300, 1e300, 1e300}, high[3] = {-1e300, -1e300, -1e300}, extent = 0;
  for (int k = 0; k < request->box_count; k++)
    for (int c = 0; c < 3; c++) {
      low[c] = fmin(low[c], request->boxes[k].low[c]);
      high[c] = fmax(high[c], request->boxes[k].high[c]);
    }
  for (int c = 0; c < 3; c++) {
    table->origin[c] = 0.5 * (low[c] + high[c]);
    extent = fmax(extent, high[c] - low[c]);
  }
  double margin = TABLE_ROUNDING * (extent + fmax(fmax(request->cutoff, 0.0), request->open_within));
  table->n = request->box_count;
  table->cutoff = request->cutoff >= 0 ? (float)request->cutoff : MAC_FAR;
  for (int k = 0; k < table->n + TABLE_PAD; k++) {
    const struct let_box *b = &request->boxes[k < table->n ? k : table->n - 1];
    for (int c = 0; c < 3; c++) {
      table->low[c][k] = (float)(b->low[c] - table->origin[c] - margin);
      table->high[c][k] = (float)(b->high[c] - table->origin[c] + margin);
      table->displacement[c][k] = (float)(b->v[c] * request->horizon);
    }
    table->deviation[k] = (float)essential_deviation(b->a_spread, request->a_typical, request->horizon);
    table->sink[k] = mac_sink(request->mac, fmax(b->a_old, request->a_floor));
  }
}

/* The numbers of a request and its table that nodes and particles are converted with. */
struct essential_query {
  struct lattice lattice;
  double origin[3]; /* of the table */
  double a_typical, cutoff, open_within, horizon, tick_length;
  int32_t tick;
};

/* These numbers, for nodes on the lattice `lattice`. */
HD struct essential_query essential_query_of(const struct lattice *lattice, const struct box_table *table,
                                             const struct let_request *request)
{
  struct essential_query g;
  g.lattice = *lattice;
  for (int c = 0; c < 3; c++) g.origin[c] = table->origin[c];
  g.a_typical = request->a_typical;
  g.cutoff = request->cutoff;
  g.open_within = request->open_within;
  g.horizon = request->horizon;
  g.tick_length = request->tick_length;
  g.tick = request->tick;
  return g;
}

/* Convert a node, with its motion at the tick of the request. */
HD struct essential_source essential_node(const struct essential_query *query, const struct node *node,
                                          const struct motion *motion)
{
  struct essential_source a;
  a.b = node->b;
  a.reach = node->reach;
  a.grow = 0;
  a.opened = 0;
  for (int c = 0; c < 3; c++) {
    a.x[c] = (float)(lattice_position(&query->lattice, c, node->x[c]) - query->origin[c]);
    a.displacement[c] = (float)(motion->v[c] * query->horizon);
  }
  if (query->horizon > 0) {
    a.grow = (float)(motion->spread_v * query->horizon +
                     essential_deviation(essential_pull(motion), query->a_typical, query->horizon));
    a.opened = node->info == (NODE_LEAF | 1);
  }
  a.away = essential_clear(node->b, a.grow, query->open_within);
  return a;
}

/* Convert a particle of a leaf: lattice position, velocity and hard acceleration at its own tick; accelerations around
 * it of at most `pull`. */
HD struct essential_source essential_particle(const struct essential_query *query, const int32_t x[3], const float v[3],
                                              const float acc[3], int32_t tick, double pull)
{
  struct essential_source a;
  double dt = (query->tick - tick) * query->tick_length;
  a.b = a.reach = a.away = 0;
  a.grow = (float)essential_deviation(pull, query->a_typical, query->horizon);
  a.opened = 0;
  for (int c = 0; c < 3; c++) {
    a.x[c] = (float)(lattice_position(&query->lattice, c, x[c]) + (v[c] + 0.5 * dt * acc[c]) * dt - query->origin[c]);
    a.displacement[c] = (float)((v[c] + dt * acc[c]) * query->horizon);
  }
  return a;
}

/* One box of a table, and the k-th one. */
struct table_box {
  float low[3], high[3], displacement[3], deviation, sink;
};

HD struct table_box essential_box(const struct box_table *table, int k)
{
  struct table_box b;
  for (int c = 0; c < 3; c++) {
    b.low[c] = table->low[c][k];
    b.high[c] = table->high[c][k];
    b.displacement[c] = table->displacement[c][k];
  }
  b.deviation = table->deviation[k];
  b.sink = table->sink[k];
  return b;
}

/* essential_need in single precision. */
HD enum need essential_of(const struct table_box *box, float cutoff, const struct essential_source *asked)
{
  float r2 = 0;
  for (int c = 0; c < 3; c++) {
    float x = asked->x[c], there = x + (asked->displacement[c] - box->displacement[c]);
    float out = fmaxf(fmaxf(box->low[c] - fmaxf(x, there), fminf(x, there) - box->high[c]), 0.0f);
    r2 += out * out;
  }
  float d = sqrtf(r2) - (asked->grow + box->deviation);
  if (!(d - asked->b <= cutoff)) return NEED_NOTHING;
  return asked->opened || !(d > asked->away && d >= asked->reach * box->sink) ? NEED_OPEN : NEED_CELL;
}

/* The largest need of all boxes of a table. */
HD enum need essential_needs(const struct box_table *table, const struct essential_source *asked)
{
  enum need largest = NEED_NOTHING;
  for (int k = 0; k < table->n && largest != NEED_OPEN; k++) {
    const struct table_box b = essential_box(table, k);
    enum need need = essential_of(&b, table->cutoff, asked);
    largest = need > largest ? need : largest;
  }
  return largest;
}

/* Bounds of several boxes of a table: position, displacement within the horizon and motion bound. */
struct box_bound {
  float low[3], high[3], displacement_low[3], displacement_high[3], deviation;
};

/* The bounds of boxes [from, to). */
HD struct box_bound essential_bound(const struct box_table *table, int from, int to)
{
  struct box_bound g;
  g.deviation = 0;
  for (int c = 0; c < 3; c++) {
    g.low[c] = g.displacement_low[c] = MAC_FAR;
    g.high[c] = g.displacement_high[c] = -MAC_FAR;
  }
  for (int k = from; k < to; k++) {
    g.deviation = fmaxf(g.deviation, table->deviation[k]);
    for (int c = 0; c < 3; c++) {
      g.low[c] = fminf(g.low[c], table->low[c][k]);
      g.high[c] = fmaxf(g.high[c], table->high[c][k]);
      g.displacement_low[c] = fminf(g.displacement_low[c], table->displacement[c][k]);
      g.displacement_high[c] = fmaxf(g.displacement_high[c], table->displacement[c][k]);
    }
  }
  return g;
}

/* Relative rounding error of the root of a sum of three squares, for every order of the sum. */
#define BOUND_ROUNDING 1e-6f

/* Returns 1 where essential_of is NEED_NOTHING for all boxes within the bounds: each of its steps is monotonic,
 * rounding included. */
HD int essential_beyond(const struct box_bound *bound, float cutoff, const struct essential_source *asked)
{
  float r2 = 0;
  for (int c = 0; c < 3; c++) {
    float x = asked->x[c];
    float low = x + (asked->displacement[c] - bound->displacement_high[c]),
          high = x + (asked->displacement[c] - bound->displacement_low[c]);
    float out = fmaxf(fmaxf(bound->low[c] - fmaxf(x, high), fminf(x, low) - bound->high[c]), 0.0f);
    r2 += out * out;
  }
  return sqrtf(r2) * (1 - BOUND_ROUNDING) - (asked->grow + bound->deviation) - asked->b > cutoff;
}
#endif
