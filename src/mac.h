/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Multipole acceptance criteria (Miki & Umemura 2017, eqs 2-7), with G.
 * d is the distance from the surface of the group's ball to the cell's centre of mass. Each criterion has the form
 *     accept when  d >= reach * sink  and  d > b
 * with `reach` a number of the cell and `sink` one of the group, so that a walk need not know which one it is. The
 * second condition guards: a cell that may contain a target is always opened. */
#ifndef MAC_H
#define MAC_H
#include <math.h>

#include "hd.h"

enum { MAC_ACCELERATION, MAC_MULTIPOLE, MAC_ANGLE };   /* the order of enum opening */

struct mac {
  int kind;
  int order;         /* 1 monopole, 2 quadrupole cells */
  double gravity;    /* G */
  double delta;      /* acceleration: Delta; multipole: Delta_mul (an acceleration); angle: theta */
};

/* Cells that a face of a rank's domain cuts have large second moments, all along the face's normal: the errors of
 * monopoles add up where those of whole cubes cancel. Monopole cells that are cut are accepted at so many times the
 * distance. */
#define MAC_CUT 1.5f

/* A cell between R1 and R2 has a hard part by the distance of its centre: K'' makes the error of that some twenty times what the
 * criterion allows, so walks for the hard part alone, and lists, ask for so many times the distance. Where the trace of the
 * cell's second moments is known, the mean over directions is taken into account, what is left is random, and less will do
 * (HARD_REACH_EXTENT). */
#define HARD_REACH 2.0f
#define HARD_REACH_EXTENT 1.25f

#define MAC_FAR 1e18f   /* stands for infinity: products with a zero reach stay zero */

/* The cell's number: mass, radius b about its centre of mass, B2 = sum of m |x - x_com|^2. */
HD float mac_reach(const struct mac *m, double mass, double b, double b2)
{
  switch (m->kind) {
  case MAC_ANGLE: return (float)(b / m->delta);
  case MAC_MULTIPOLE: return (float)(0.5 * b + sqrt(0.25 * b * b + sqrt(3 * m->gravity * b2 / m->delta)));
  default:
    return m->order == 2 ? (float)pow(m->gravity * mass * b * b * b / m->delta, 0.2)
                         : (float)sqrt(sqrt(m->gravity * mass * b * b / m->delta));
  }
}

/* How much farther a cell must be when its radius has grown so many times, at most: by B2 as the square of b. */
HD float mac_stretch(const struct mac *m, float times)
{
  if (m->kind != MAC_ACCELERATION) return times;
  return m->order == 2 ? powf(times, 0.6f) : sqrtf(times);
}

/* The group's number: a_old is the smallest |a_old| of its members. */
HD float mac_sink(const struct mac *m, double a_old)
{
  if (m->kind != MAC_ACCELERATION) return 1;
  if (!(a_old > 0)) return MAC_FAR;
  double f = m->order == 2 ? pow(a_old, -0.2) : 1 / sqrt(sqrt(a_old));
  return f < MAC_FAR ? (float)f : MAC_FAR;
}
#endif
