/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The choice of LETs: what boxes need of nodes, all at once and one by one; and that nothing which comes near is left out. */
#include <config.h>
#include <stdio.h>

#include "chance.h"
#include "device.h"
#include "tap.h"

enum { BOXES = 37, NODES = 20000 };

static double real(struct random *r, double low, double high) { return random_between(r, low, high); }

static struct let_box random_box(struct random *r)
{
  struct let_box b = {.a_old = real(r, 0.1, 3), .a_spread = real(r, 0, 2)};
  for (int c = 0; c < 3; c++) {
    b.low[c] = real(r, -1, 1);
    b.high[c] = b.low[c] + real(r, 0, 0.3);
    b.v[c] = real(r, -1, 1);
  }
  return b;
}

static void random_node(struct random *r, const struct mac *mac, struct node *n, struct motion *w)
{
  n->mass = (float)real(r, 0, 0.01);
  n->b = (float)real(r, 0, 0.2);
  n->info = random_unit(r) < 0.2 ? NODE_LEAF | 1 : 4;
  n->reach = mac_reach(mac, n->mass, n->b, 0);
  for (int c = 0; c < 3; c++) {
    n->x[c] = (int32_t)real(r, 0, 2147483647.0);
    w->v[c] = (float)real(r, -1, 1);
    w->a[c] = (float)real(r, -1, 1);
  }
  w->spread_v = (float)real(r, 0, 0.5);
  w->spread_a = (float)real(r, 0, 0.5);
}

/* The table never asks for less, and for more only where a margin decides. */
static void check_table(const struct walk_isa *isa, double cutoff, double horizon)
{
  struct random r = {.state = 1234};
  struct mac mac = {MAC_ACCELERATION, 1, 1, 1e-3};
  struct let_box box[BOXES];
  struct lattice l = lattice_cover((const double[3]){-3, -3, -3}, (const double[3]){3, 3, 3}, 0, 0);
  struct let_request q = {.boxes = box, .box_count = BOXES, .mac = &mac, .a_typical = 0.7, .cutoff = cutoff, .horizon = horizon};
  struct box_table t;
  int less = 0, more = 0, seen[3] = {0};
  for (int b = 0; b < BOXES; b++) box[b] = random_box(&r);
  cpu_table(&t, &q);
  for (int k = 0; k < NODES; k++) {
    struct node n = {.first = 0};
    struct motion w;
    random_node(&r, &mac, &n, &w);
    enum need one = NEED_NOTHING, all = cpu_needs(isa, &t, &q, &l, &n, &w);
    for (int b = 0; b < BOXES; b++) {
      enum need need = essential_need(&l, &n, &w, &box[b], &q);
      one = need > one ? need : one;
    }
    less += all < one;
    more += all > one;
    seen[all]++;
  }
  char what[160];
  snprintf(what, sizeof what, "%s, cutoff %g, horizon %g: as asked of one box after the other (%d less, %d more of %d; nothing %d, cell %d, open %d)",
           isa->name, cutoff, horizon, less, more, NODES, seen[0], seen[1], seen[2]);
  tap_ok(less == 0 && more < NODES / 1000 && seen[NEED_OPEN] > 100 && seen[NEED_CELL] > 100 && (cutoff < 0 || seen[NEED_NOTHING] > 100), what);
}

/* Two particles on curved ways: when they come within the cutoff, the box of the one asks for the other. */
static void check_ways(void)
{
  struct random r = {.state = 99};
  struct mac mac = {MAC_ACCELERATION, 1, 1, 1e-3};
  double cutoff = 0.05, horizon = 0.1, typical = 0.5;
  int near = 0, missed = 0;
  for (int k = 0; k < NODES; k++) {
    double x[2][3], v[2][3], a[2][3], pull[2], least = 1e300;
    for (int p = 0; p < 2; p++) {
      random_direction(&r, real(&r, 0, 0.3), x[p]);
      random_direction(&r, real(&r, 0, 2), v[p]);
      pull[p] = real(&r, 0, 4);
      random_direction(&r, ESSENTIAL_PULL * pull[p] + typical, a[p]);   /* as much as is allowed for */
    }
    struct let_box b = {.a_old = 1, .a_spread = pull[0]};
    float speed[3];
    for (int c = 0; c < 3; c++) b.low[c] = b.high[c] = x[0][c], b.v[c] = v[0][c], speed[c] = (float)v[1][c];
    struct let_request q = {.boxes = &b, .box_count = 1, .mac = &mac, .a_typical = typical, .cutoff = cutoff, .horizon = horizon};
    for (int s = 0; s <= 64; s++) {
      double t = horizon * s / 64, d2 = 0;
      for (int c = 0; c < 3; c++) {
        double d = x[1][c] - x[0][c] + (v[1][c] - v[0][c]) * t + 0.5 * (a[1][c] - a[0][c]) * t * t;
        d2 += d * d;
      }
      least = fmin(least, sqrt(d2));
    }
    if (least > cutoff) continue;
    near++;
    missed += essential_distance(&b, x[1], speed, horizon) - essential_strays(&b, pull[1], &q) > cutoff + 1e-6;
  }
  char what[120];
  snprintf(what, sizeof what, "particles that come near are asked for: %d of %d missed", missed, near);
  tap_ok(near > 500 && missed == 0, what);
}

int main(void)
{
  const struct walk_isa *isa = walk_isa_choose();
  for (int k = 0; k < 2; k++, isa = &walk_isa_generic) {
    check_table(isa, -1, 0);
    check_table(isa, 0.3, 0.1);
    check_table(isa, -1, 0.1);
  }
  check_ways();
  return tap_end();
}
