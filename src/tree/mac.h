/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Multipole acceptance criteria (MAC; Miki & Umemura 2017, eqs 2-7), with G. For host and device.
 * d is the distance from the surface of the group's ball to the cell's centre of mass. A cell is accepted where
 *     d >= reach * sink  and  d > MAC_MARGIN b
 * with `reach` a number of the cell and `sink` a number of the group; so walks are the same for all criteria. By the
 * second condition a cell that may contain a target is always opened, and expansions converge. Lengths in units of
 * length. */
#ifndef MAC_H
#define MAC_H
#include <math.h>

#include "base/hd.h"
#include "params/criteria.h"

struct mac {
  int kind;       /* MAC_ACCELERATION and others: only this header asks which one it is */
  int order;      /* 1 monopole, 2 quadrupole cells */
  double gravity; /* G */
  double delta;   /* the tolerance: Delta of MAC_ACCELERATION, Delta_mul (an acceleration) of MAC_MULTIPOLE, theta */
};

/* Factor on the distance at which monopole cells are accepted that a face of the domain cuts. Their second moments are
 * large and aligned with the normal of the face, so their errors add up, whereas those of whole cubes cancel. */
#define MAC_CUT 1.5f

/* Factor on the distance at which cells are accepted in walks and lists for hard forces. The hard part of a cell
 * between R1 and R2 is evaluated at the distance of its centre; the second derivative of the split kernel makes the
 * error of this about twenty times the one that the criterion allows. HARD_REACH_EXTENT applies where the trace of the
 * cell's second moments is known: it corrects the mean over directions, and the remaining error is random. */
#define HARD_REACH 2.0f
#define HARD_REACH_EXTENT 1.25f

/* Least distance of an accepted cell in units of its radius. The criterion bounds G M b^(p+1) / d^(p+3), the first term
 * of the error of an expansion of order p (monopole cells: 1, since the dipole vanishes; quadrupole cells: 2). All
 * terms together are up to (p + 2 - (p + 1) u) / (1 - u)^2 times as large, u = b / d (Warren & Salmon 1993): 3 or 4 for
 * a small u, without a bound towards u = 1, and 35 or 40 at u = 1 / 1.25. Where two systems are far apart the criterion
 * accepts any u, for accelerations within them are large. */
#define MAC_MARGIN 1.25f

#define MAC_FAR 1e18f /* stands for infinity; its product with a zero reach is zero */

/* 1: mac_scale depends on |a_old|, so the first forces of a run need another criterion. */
HD int mac_kind_uses_a_old(int kind) { return kind == MAC_ACCELERATION; }
HD int mac_uses_a_old(const struct mac *mac) { return mac_kind_uses_a_old(mac->kind); }

/* `reach` of a cell of mass `mass` and radius `b` about its centre of mass; b2: sum of m |x - x_com|^2. */
HD float mac_reach(const struct mac *mac, double mass, double b, double b2)
{
  switch (mac->kind) {
  case MAC_ANGLE: return (float)(b / mac->delta);
  case MAC_MULTIPOLE: return (float)(0.5 * b + sqrt(0.25 * b * b + sqrt(3 * mac->gravity * b2 / mac->delta)));
  default:
    return mac->order == 2 ? (float)pow(mac->gravity * mass * b * b * b / mac->delta, 0.2)
                           : (float)sqrt(sqrt(mac->gravity * mass * b * b / mac->delta));
  }
}

/* Upper bound on the factor by which `reach` grows when the radius of a cell grows by the factor `times` and b2 by its
 * square. */
HD float mac_stretch(const struct mac *mac, float times)
{
  if (!mac_uses_a_old(mac)) return times;
  return mac->order == 2 ? powf(times, 0.6f) : sqrtf(times);
}

/* The distance that a cell of radius b needs by the second condition, where all nodes that reach within `open_within`
 * are opened. */
HD float mac_clear(float b, float open_within) { return MAC_MARGIN * b + open_within; }

/* The acceleration to which the error of a cell is compared: with a target of |a_old| the criterion allows the error
 * delta times this; 1: the criterion does not depend on the target. Grows with a_old. */
HD float mac_scale(int kind, float a_old)
{
  switch (kind) {
  case MAC_ACCELERATION: return a_old;
  default: return 1;
  }
}

/* 1: the tolerance to the power order + 1 is the fraction of a cell's force that its error may be; 0: the error may be
 * delta times mac_scale. */
HD int mac_is_fraction(const struct mac *mac) { return mac->kind == MAC_ANGLE; }

/* The tolerance as a fraction of |a_old|, for what was tuned on that scale (error budgets, lengths of lists); 0: it is
 * something else. */
HD double mac_fraction_of_a(const struct mac *mac) { return mac->kind == MAC_ACCELERATION ? mac->delta : 0; }

/* 1: monopole cells have second moments too, in local expansions and in hard forces: lists are long enough for it. */
HD int mac_mixes_cells(const struct mac *mac) { return mac->order == 1 && mac_uses_a_old(mac); }

/* 1: the moments of a tree include second ones: those of cells or of expansions, or `reach` depends on them. */
HD int mac_needs_second_moments(const struct mac *mac) { return mac->order == 2 || mac->kind != MAC_ANGLE; }

/* `sink` of a group; a_old: the smallest a_old of its members. */
HD float mac_sink(const struct mac *mac, double a_old)
{
  if (!mac_uses_a_old(mac)) return 1;
  double scale = (double)mac_scale(mac->kind, (float)a_old);
  if (!(scale > 0)) return MAC_FAR;
  double f = mac->order == 2 ? pow(scale, -0.2) : 1 / sqrt(sqrt(scale));
  return f < MAC_FAR ? (float)f : MAC_FAR;
}
#endif
