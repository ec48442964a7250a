/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What acts on the members of a unit of stars (a pair, or a group) from outside within a step of its centre: near
 * neighbours as predicted, and the tide of the others, constant. Accelerations are less their mean, which the centre of
 * mass has. In double precision, on the host and on devices. Masses are G m. */
#ifndef UNIT_ENVIRONMENT_H
#define UNIT_ENVIRONMENT_H
#include "gravity/hermite.h"
#include "gravity/kepler.h"

enum { UNIT_BODIES = 8, UNIT_NEAR = 12 };
/* Bits of contacts of bodies k > l, and of the stars of body k, which is a pair. */
#define UNIT_MET(k, l) (1ull << ((k) * ((k)-1) / 2 + (l)))
#define UNIT_MET_WITHIN(k) (1ull << (UNIT_BODIES * (UNIT_BODIES - 1) / 2 + (k)))

/* A neighbour, or the centre of mass itself, at its own time. */
struct unit_path {
  struct hermite_motion motion;
  double t, gm;
  struct hermite_split split; /* of its pairs with the unit's members */
};

struct unit_environment {
  double tide[3][3];
  int near_count;
  int32_t root; /* place of the unit, for those who note what happens to it */
  struct unit_path centre, near[UNIT_NEAR];
};

/* Accelerations f of n bodies of mass m at x from the centre of mass, at the time t. */
HD_CALL void unit_external(const struct unit_environment *environment, double t, int n, const double (*x)[3],
                           const double *m, double (*f)[3])
{
  double centre[3] = {0}, v[3], mean[3] = {0}, mass = 0;
  for (int k = 0; k < n; k++)
    for (int c = 0; c < 3; c++) f[k][c] = kepler_dot(environment->tide[c], x[k]);
  if (environment->near_count > 0) hermite_predict(&environment->centre.motion, t - environment->centre.t, centre, v);
  for (int l = 0; l < environment->near_count; l++) {
    const struct unit_path *path = &environment->near[l];
    double y[3], d[3], kernel = 1, slope;
    hermite_predict(&path->motion, t - path->t, y, v);
    for (int k = 0; k < n; k++) {
      for (int c = 0; c < 3; c++) d[c] = y[c] - centre[c] - x[k][c];
      double r2 = kepler_dot(d, d), r = sqrt(r2);
      if (r > path->split.r1) hermite_kernel(&path->split, r, &kernel, &slope);
      else kernel = 1;
      for (int c = 0; c < 3; c++) f[k][c] += kernel * path->gm / (r2 * r) * d[c];
    }
  }
  for (int k = 0; k < n; k++) {
    mass += m[k];
    for (int c = 0; c < 3; c++) mean[c] += m[k] * f[k][c];
  }
  for (int k = 0; k < n; k++)
    for (int c = 0; c < 3; c++) f[k][c] -= mean[c] / mass;
}
#endif
