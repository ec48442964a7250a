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

/* Of a box without targets: its particles may go anywhere as far as it is concerned. */
#define BOX_EMPTY 1e18

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

/* --- all boxes of a receiver at once ------------------------------------------------------------------------------ */

/* Boxes side by side; floats about an origin among them, with a margin for their rounding. Padded with copies of the last. */
enum { TABLE_MOST = 256, TABLE_PAD = 16 };

struct box_table {
  int n;
  double origin[3];
  float low[3][TABLE_MOST + TABLE_PAD], high[3][TABLE_MOST + TABLE_PAD];
  float way[3][TABLE_MOST + TABLE_PAD];                          /* within the horizon */
  float stray[TABLE_MOST + TABLE_PAD], sink[TABLE_MOST + TABLE_PAD];
  float cutoff;                                                  /* far away where there is none */
};

/* A node, or a particle (all but x, way and grow 0), about a table's origin. */
struct asked {
  float x[3], way[3];
  float b, reach;
  float grow;      /* how much nearer its particles may come than on straight ways with its velocity */
  int opened;      /* it is not accepted as a cell */
};

/* Positions are floats about the middle of the boxes: so small a part of the extent is what they may be wrong by. */
#define TABLE_ROUNDING 3e-7

/* The request's boxes, of which there is at least one. */
HD void essential_table(struct box_table *t, const struct let_request *r)
{
  double low[3] = {1e300, 1e300, 1e300}, high[3] = {-1e300, -1e300, -1e300}, extent = 0;
  for (int k = 0; k < r->box_count; k++)
    for (int c = 0; c < 3; c++) low[c] = fmin(low[c], r->boxes[k].low[c]), high[c] = fmax(high[c], r->boxes[k].high[c]);
  for (int c = 0; c < 3; c++) {
    t->origin[c] = 0.5 * (low[c] + high[c]);
    extent = fmax(extent, high[c] - low[c]);
  }
  double margin = TABLE_ROUNDING * (extent + fmax(r->cutoff, 0.0));
  t->n = r->box_count;
  t->cutoff = r->cutoff >= 0 ? (float)r->cutoff : MAC_FAR;
  for (int k = 0; k < t->n + TABLE_PAD; k++) {
    const struct let_box *b = &r->boxes[k < t->n ? k : t->n - 1];
    for (int c = 0; c < 3; c++) {
      t->low[c][k] = (float)(b->low[c] - t->origin[c] - margin);
      t->high[c][k] = (float)(b->high[c] - t->origin[c] + margin);
      t->way[c][k] = (float)(b->v[c] * r->horizon);
    }
    t->stray[k] = (float)essential_stray(b->a_spread, r->a_typical, r->horizon);
    t->sink[k] = mac_sink(r->mac, fmax(b->a_old, r->a_floor));
  }
}

/* What boxes are asked for: their numbers, without the boxes themselves. */
struct asking {
  struct lattice lattice;
  double origin[3];              /* the table's */
  double a_typical, cutoff, horizon, tick_length;
  int32_t tick;
};

HD struct asking essential_asking(const struct lattice *l, const struct box_table *t, const struct let_request *r)
{
  struct asking g;
  g.lattice = *l;
  for (int c = 0; c < 3; c++) g.origin[c] = t->origin[c];
  g.a_typical = r->a_typical;
  g.cutoff = r->cutoff;
  g.horizon = r->horizon;
  g.tick_length = r->tick_length;
  g.tick = r->tick;
  return g;
}

/* A node is asked for. */
HD struct asked essential_node(const struct asking *g, const struct node *n, const struct motion *w)
{
  struct asked a;
  a.b = n->b;
  a.reach = n->reach;
  a.grow = 0;
  a.opened = 0;
  for (int c = 0; c < 3; c++) {
    a.x[c] = (float)(lattice_position(&g->lattice, c, n->x[c]) - g->origin[c]);
    a.way[c] = (float)(w->v[c] * g->horizon);
  }
  if (g->horizon > 0) {
    a.grow = (float)(w->spread_v * g->horizon + essential_stray(essential_pull(w), g->a_typical, g->horizon));
    a.opened = n->info == (NODE_LEAF | 1);
  }
  return a;
}

/* A particle of a leaf that feels at most `pull`: its place at its own tick, its velocity and acceleration. */
HD struct asked essential_particle(const struct asking *g, const int32_t x[3], const float v[3], const float acc[3], int32_t tick,
                                   double pull)
{
  struct asked a;
  double dt = (g->tick - tick) * g->tick_length;
  a.b = a.reach = 0;
  a.grow = (float)essential_stray(pull, g->a_typical, g->horizon);
  a.opened = 0;
  for (int c = 0; c < 3; c++) {
    a.x[c] = (float)(lattice_position(&g->lattice, c, x[c]) + (v[c] + 0.5 * dt * acc[c]) * dt - g->origin[c]);
    a.way[c] = (float)((v[c] + dt * acc[c]) * g->horizon);
  }
  return a;
}

/* A box of a table. */
struct table_box {
  float low[3], high[3], way[3], stray, sink;
};

HD struct table_box essential_box(const struct box_table *t, int k)
{
  struct table_box b;
  for (int c = 0; c < 3; c++) b.low[c] = t->low[c][k], b.high[c] = t->high[c][k], b.way[c] = t->way[c][k];
  b.stray = t->stray[k];
  b.sink = t->sink[k];
  return b;
}

/* essential_need with floats. */
HD enum need essential_of(const struct table_box *t, float cutoff, const struct asked *a)
{
  float r2 = 0;
  for (int c = 0; c < 3; c++) {
    float x = a->x[c], there = x + (a->way[c] - t->way[c]);
    float out = fmaxf(fmaxf(t->low[c] - fmaxf(x, there), fminf(x, there) - t->high[c]), 0.0f);
    r2 += out * out;
  }
  float d = sqrtf(r2) - (a->grow + t->stray);
  if (!(d - a->b <= cutoff)) return NEED_NOTHING;
  return a->opened || !(d > a->b && d >= a->reach * t->sink) ? NEED_OPEN : NEED_CELL;
}

/* The largest of what the boxes need, one after the other. */
HD enum need essential_needs(const struct box_table *t, const struct asked *a)
{
  enum need most = NEED_NOTHING;
  for (int k = 0; k < t->n && most != NEED_OPEN; k++) {
    const struct table_box b = essential_box(t, k);
    enum need need = essential_of(&b, t->cutoff, a);
    most = need > most ? need : most;
  }
  return most;
}

/* What bounds several boxes of a table. */
struct box_bound {
  float low[3], high[3], way_low[3], way_high[3], stray;
};

/* Of boxes [from, to). */
HD struct box_bound essential_bound(const struct box_table *t, int from, int to)
{
  struct box_bound g;
  g.stray = 0;
  for (int c = 0; c < 3; c++) {
    g.low[c] = g.way_low[c] = MAC_FAR;
    g.high[c] = g.way_high[c] = -MAC_FAR;
  }
  for (int k = from; k < to; k++) {
    g.stray = fmaxf(g.stray, t->stray[k]);
    for (int c = 0; c < 3; c++) {
      g.low[c] = fminf(g.low[c], t->low[c][k]);
      g.high[c] = fmaxf(g.high[c], t->high[c][k]);
      g.way_low[c] = fminf(g.way_low[c], t->way[c][k]);
      g.way_high[c] = fmaxf(g.way_high[c], t->way[c][k]);
    }
  }
  return g;
}

/* A root of three squares is known so well, however they were added. */
#define BOUND_ROUNDING 1e-6f

/* None of the boxes needs anything: every step of essential_of is monotonous, also as it is rounded. */
HD int essential_beyond(const struct box_bound *g, float cutoff, const struct asked *a)
{
  float r2 = 0;
  for (int c = 0; c < 3; c++) {
    float x = a->x[c], least = x + (a->way[c] - g->way_high[c]), most = x + (a->way[c] - g->way_low[c]);
    float out = fmaxf(fmaxf(g->low[c] - fmaxf(x, most), fminf(x, least) - g->high[c]), 0.0f);
    r2 += out * out;
  }
  return sqrtf(r2) * (1 - BOUND_ROUNDING) - (a->grow + g->stray) - a->b > cutoff;
}
#endif
