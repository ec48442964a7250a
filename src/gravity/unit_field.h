/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the neighbours of a unit of stars do to its members, and what its quadrupole does to them. In double precision,
 * on the host and on devices. Masses are G m. */
#ifndef UNIT_FIELD_H
#define UNIT_FIELD_H
#include "gravity/bound_pair.h"
#include "gravity/quadrupole.h"
#include "gravity/unit.h"
#include "gravity/unit_rules.h"

#define UNIT_QUADRUPOLE_LEAST 1e-6 /* quadrupoles count where trace / (m r^2) is above this */
#define UNIT_TIDE_LEAST 1e-6       /* neighbours whose tide (m3 / m) (size / r)^3 is above this are near */

/* A neighbour at d with the velocity u from the target, at the distance r. */
struct unit_neighbour {
  double d[3], u[3], r2, r, gm;
  struct hermite_split split; /* of its pair with the target */
};

/* The largest trace of the quadrupole of a passing pair of masses m1, m2. */
HD double unit_passing_trace(const struct unit_rules *rules, double m1, double m2)
{
  double wide = UNIT_PASSED * rules->entry;
  return m1 * m2 / (m1 + m2) * wide * wide;
}

HD int unit_quadrupole_counts(double trace, double gm, double r2) { return trace > UNIT_QUADRUPOLE_LEAST * gm * r2; }

/* Radial functions of the neighbour's hard potential (gravity/quadrupole.h). */
HD void unit_radial(const struct unit_neighbour *neighbour, double f[4])
{
  double k[4];
  split_derivatives(&neighbour->split, neighbour->r, k);
  quadrupole_radial(neighbour->r, k, f);
}

/* Add the force of the neighbour's quadrupole on the target. */
HD_CALL void unit_add_quadrupole(const struct unit_neighbour *neighbour, const double f[4], const double q[3][3],
                                 const double rate[3][3], struct hermite_force *force)
{
  double d[3], u[3];
  for (int c = 0; c < 3; c++) {
    d[c] = -neighbour->d[c];
    u[c] = -neighbour->u[c];
  }
  quadrupole_add(q, rate, d, u, f, 1, force->a, force->j);
}

/* Two stars of a unit as others see them now: masses, and the second from the first. */
struct unit_two {
  double m1, m2, d[3], u[3];
};

/* Add what a pair and the target are to each other beyond the force between their masses, with the pair's two stars
 * where they are. side: 1: the pair is the neighbour, and the force is that on the target; -1: the target is the pair,
 * and the force is that of the neighbour on its centre. */
HD_CALL void unit_add_two(const struct unit_neighbour *neighbour, const struct unit_two *two, double side,
                          struct hermite_force *force)
{
  double x[3], v[3], m = two->m1 + two->m2;
  hermite_pair(force, neighbour->d, neighbour->u, -neighbour->gm, 0, &neighbour->split);
  for (int k = 0; k < 2; k++) {
    double arm = side * (k == 0 ? -two->m2 : two->m1) / m, gm = neighbour->gm * (k == 0 ? two->m1 : two->m2) / m;
    for (int c = 0; c < 3; c++) {
      x[c] = neighbour->d[c] + arm * two->d[c];
      v[c] = neighbour->u[c] + arm * two->u[c];
    }
    hermite_pair(force, x, v, gm, 0, &neighbour->split);
  }
}

/* The part of what holds a unit of mass m and this size together that the neighbour's tide is. */
HD double unit_tide_weight(const struct unit_neighbour *neighbour, double m, double size)
{
  return 2 * neighbour->gm / (neighbour->r2 * neighbour->r) / m * size * size * size;
}

/* Add a neighbour of this weight to the field at the centre of a unit of mass m, without the tides and the list of
 * those that are near. pair: the unit is one. */
HD void unit_add_times(struct unit_field *field, const struct unit_neighbour *neighbour, double m, double weight,
                       int pair)
{
  const double *d = neighbour->d, *u = neighbour->u;
  double density = neighbour->gm / (neighbour->r2 * neighbour->r), speed2 = kepler_dot(u, u), both = m + neighbour->gm;
  field->strongest = fmax(field->strongest, density);
  if (weight > UNIT_TIDE_LEAST) field->fastest = fmin(field->fastest, neighbour->r / sqrt(speed2));
  if (pair && weight > 1e-3 * UNIT_TIDE_LEAST && (kepler_dot(d, u) < 0 || speed2 < 2 * both / neighbour->r)) {
    double p = fmin(neighbour->r, bound_pair_pericentre(both, d, u));
    field->at_pericentre = fmax(field->at_pericentre, neighbour->gm / (p * p * p));
  }
}

/* Add `sign` times the tide of the neighbour at the centre of a unit. f: of unit_radial. */
HD void unit_add_tide(const struct unit_neighbour *neighbour, const double f[4], double sign, double tide[3][3])
{
  const double *d = neighbour->d, gm = sign * neighbour->gm;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) tide[i][j] += gm * (f[1] * d[i] * d[j] + (i == j ? f[0] : 0));
}

/* The same as unit_add_times with the tide of all neighbours. */
HD_CALL void unit_add_field(struct unit_field *field, const struct unit_neighbour *neighbour, const double f[4],
                            double m, double weight, int pair)
{
  unit_add_times(field, neighbour, m, weight, pair);
  unit_add_tide(neighbour, f, 1, field->tide);
}
#endif
