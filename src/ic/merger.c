/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two Plummer spheres that approach each other, with masses M1 + M2 = 1 and M2 / M1 the mass ratio. All particles have
 * the same mass, so the numbers of particles have that ratio. The scale radii b M^(1/3) give both spheres the same
 * density and internal time scale. Particles of the first sphere have type 1, those of the second type 2. */
#include <config.h>
#include <math.h>

#include "ic/models.h"

int64_t merger_first(const struct ic_model *model)
{
  return model->n - llrint((double)model->n * model->mass_ratio / (1 + model->mass_ratio));
}

void merger_draw(const struct ic_plan *plan, int64_t index, struct ic_random *random, struct ic_point *point)
{
  const struct ic_model *m = plan->m;
  int64_t first = merger_first(m);
  int second = index >= first;
  double mass = (double)(second ? m->n - first : first) / (double)m->n;
  plummer_sphere(mass, 3 * M_PI / 16 * cbrt(mass), random, point);
  /* signed distance from the centre of mass as a fraction of the separation */
  double lever = second ? 1 - mass : mass - 1;
  point->pos[0] += lever * m->separation;
  point->pos[1] += lever * m->impact_parameter;
  point->vel[0] -= lever * m->relative_velocity;
  point->type = second ? 2 : 1;
}
