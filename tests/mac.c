/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The acceptance criteria against their inequalities, written out independently. */
#include <config.h>
#include "tree/mac.h"

#include "chance.h"
#include "tap.h"

#define MAC_NAME(kind, name, ...) name,

enum { TRIALS = 100000 };
static const char *const names[] = {MAC_CRITERIA(MAC_NAME)};

struct cell {
  double mass, b, b2;
};

static int accepts(const struct mac *mac, const struct cell *cell, double d, double a_old)
{
  double g = mac->gravity;
  if (mac->kind == MAC_ANGLE) return cell->b / d <= mac->delta;
  /* Miki & Umemura 2017, eq. 3 (Warren & Salmon 1993) as a bound on the error: 3 G B2 / (d^2 (d^2 - b d)) ... <=
   * Delta */
  if (mac->kind == MAC_MULTIPOLE)
    return d > cell->b / 2 &&
           (d - cell->b / 2) * (d - cell->b / 2) - cell->b * cell->b / 4 >= sqrt(3 * g * cell->b2 / mac->delta);
  if (mac->kind != MAC_ACCELERATION) return 0; /* a criterion without a formula here fails */
  if (mac->order == 2) return g * cell->mass * pow(cell->b, 3) / pow(d, 5) <= mac->delta * a_old;
  return g * cell->mass / (d * d) * (cell->b / d) * (cell->b / d) <= mac->delta * a_old;
}

static void check(int kind, int order)
{
  char what[100];
  struct random r = {3};
  int same = 1, accepted = 0;
  for (int i = 0; i < TRIALS; i++) {
    struct mac m = {kind, order, random_log(&r, 1e-4, 1e5),
                    kind == MAC_ANGLE ? random_between(&r, 0.1, 1) : random_log(&r, 1e-6, 1)};
    struct cell c = {random_log(&r, 1e-8, 1e2), random_log(&r, 1e-5, 10), 0};
    c.b2 = c.mass * c.b * c.b * random_unit(&r);
    double a_old = random_log(&r, 1e-5, 1e5);
    double min_value = (double)mac_reach(&m, c.mass, c.b, c.b2) * mac_sink(&m, a_old);
    /* at both sides of the limit, and anywhere */
    double d[3] = {min_value * (1 - 1e-4), min_value * (1 + 1e-4), c.b * random_log(&r, 0.5, 1e4)};
    for (int k = 0; k < 3; k++) {
      if (k == 2 && fabs(d[k] / min_value - 1) < 1e-4) continue;
      int mine = d[k] >= min_value;
      same &= mine == accepts(&m, &c, d[k], a_old);
      accepted += k == 2 && mine;
    }
  }
  snprintf(what, sizeof what, "%s, order %d: the distance is that of its inequality", names[kind], order);
  tap_ok(same && accepted > TRIALS / 20 && accepted < TRIALS * 19 / 20, what);
}

/* A cell that has grown asks for no more than its reach times the stretch, and by its acceleration for no less. */
static void check_stretch(void)
{
  struct random r = {5};
  int enough = 1, tight = 1;
  for (int i = 0; i < TRIALS; i++) {
    struct mac m = {i % MAC_KINDS, 1 + i / MAC_KINDS % 2, random_log(&r, 1e-4, 1e5), random_between(&r, 0.1, 1)};
    double mass = random_log(&r, 1e-8, 1e2), b = random_log(&r, 1e-5, 10), b2 = mass * b * b * random_unit(&r),
           times = random_log(&r, 1, 100);
    double grown = mac_reach(&m, mass, times * b, times * times * b2);
    double asked = (double)mac_reach(&m, mass, b, b2) * mac_stretch(&m, (float)times);
    enough &= grown <= asked * (1 + 1e-5);
    tight &= m.kind != MAC_ACCELERATION || grown >= asked * (1 - 1e-5);
  }
  tap_ok(enough && tight, "a cell's reach grows with it");
}

static void check_guards(void)
{
  struct mac m = {MAC_ACCELERATION, 1, 1, 1e-3};
  int finite = 1, far = 1, open = 1;
  for (int order = 1; order <= 2; order++) {
    m.order = order;
    const double none[] = {0, -1, NAN, 1e-300};
    for (int k = 0; k < 4; k++) {
      float sink = mac_sink(&m, none[k]);
      finite &= isfinite(sink);
      far &= k == 3 || sink == MAC_FAR;
      open &= mac_reach(&m, 1, 1e-3, 1e-6) * sink > 1e6f;
    }
    finite &= mac_sink(&m, 1e300) >= 0;
  }
  tap_ok(finite, "without an old acceleration the sink is finite");
  tap_ok(far && open, "and every cell with an extent is opened");
  int zero = 1;
  for (int kind = 0; kind < MAC_KINDS; kind++) {
    struct mac any = {kind, 1, 43007.1, 0.5};
    zero &= mac_reach(&any, 1, 0, 0) * MAC_FAR == 0;
    zero &= !mac_uses_a_old(&any) || mac_reach(&any, 0, 1, 0) * MAC_FAR == 0;
  }
  tap_ok(zero, "cells without extent, or without mass, need no distance");
  int own = 1;
  for (int kind = 0; kind < MAC_KINDS; kind++) {
    struct mac any = {kind, 1, 43007.1, 0.25};
    own &= mac_fraction_of_a(&any) == (kind == MAC_ACCELERATION ? 0.25 : 0);
  }
  tap_ok(own, "the acceleration criterion alone has a tolerance relative to |a_old|");
  struct mac angle = {MAC_ANGLE, 1, 1, 0.5};
  struct mac multipole = {MAC_MULTIPOLE, 1, 1, 0.5};
  tap_ok(mac_sink(&angle, 0) == 1 && mac_sink(&multipole, 1e-9) == 1,
         "angle and multipole criteria do not depend on the old acceleration");
  /* the quadrupole's error falls faster: for a small cell far away it may stand nearer */
  struct mac mono = {MAC_ACCELERATION, 1, 1, 1e-3}, quad = {MAC_ACCELERATION, 2, 1, 1e-3};
  tap_ok(mac_reach(&quad, 1, 0.1, 0) * mac_sink(&quad, 1) < mac_reach(&mono, 1, 0.1, 0) * mac_sink(&mono, 1),
         "second moments are accepted nearer");
}

int main(void)
{
  for (int kind = 0; kind < MAC_KINDS; kind++)
    for (int order = 1; order <= 2; order++) check(kind, order);
  check_stretch();
  check_guards();
  return tap_end();
}
