/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Homogeneous sphere with normally distributed velocities of the virial ratio Q = 2 T / |W|. The radius R follows from
 * W = -3 / (5 R) and E = W (1 - Q / 2) = -1/4. */
#include <config.h>
#include <math.h>

#include "ic/models.h"

void uniform_draw(const struct ic_plan *plan, int64_t index, struct ic_random *random, struct ic_point *point)
{
  const struct ic_model *m = plan->m;
  (void)index;
  double ratio = fmax(m->virial_ratio, 0), radius = 2.4 * (1 - ratio / 2), potential_energy = 0.6 / radius;
  double dispersion = sqrt(ratio * potential_energy / 3), normal[4];
  random_direction(random, radius * cbrt(random_uniform(random)), point->pos);
  random_normal(random, normal);
  random_normal(random, normal + 2);
  for (int c = 0; c < 3; c++) point->vel[c] = dispersion * normal[c];
  point->type = 1;
}
