/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plummer sphere with scale radius b = 3 pi / 16, drawn inside 100 b, which leaves out 1.5e-4 of the mass. Velocities
 * are drawn by rejection from the isotropic distribution function (Aarseth, Henon & Wielen 1974, A&A 37, 183). */
#include <config.h>
#include <math.h>

#include "ic/models.h"

static const double cut = 100; /* in scale radii */

void plummer_sphere(double mass, double scale, struct ic_random *random, struct ic_point *point)
{
  double inside = pow(1 + 1 / (cut * cut), -1.5);
  double radius = scale / sqrt(pow(inside * random_uniform(random), -2. / 3) - 1);
  double escape = sqrt(2 * mass / sqrt(radius * radius + scale * scale));
  double q, y;
  do {
    q = random_uniform(random);
    y = 0.1 * random_uniform(random); /* the largest value of q^2 (1 - q^2)^3.5 is 0.0922 */
  } while (y > q * q * pow(1 - q * q, 3.5));
  random_direction(random, radius, point->pos);
  random_direction(random, q * escape, point->vel);
}

void plummer_draw(const struct ic_plan *plan, int64_t index, struct ic_random *random, struct ic_point *point)
{
  (void)plan;
  (void)index;
  plummer_sphere(1, 3 * M_PI / 16, random, point);
  point->type = 1;
}

static double plummer_radius(const struct ic_plan *plan, double fraction)
{
  (void)plan;
  return 1 / sqrt(pow(fraction / pow(1 + 1 / (cut * cut), 1.5), -2. / 3) - 1);
}

static void plummer_shape(const struct ic_plan *plan, double x, struct ic_shape *shape)
{
  double y = 1 + x * x, root = sqrt(y), centre = plan->m->central_mass / plan->mass;
  shape->density = 1 / (y * y * root);
  shape->density1 = -5 * x * shape->density / y;
  shape->density2 = 5 * shape->density * (6 * x * x - 1) / (y * y);
  shape->psi = 1 / root + centre / x;
  shape->psi1 = -x / (y * root) - centre / (x * x);
  shape->psi2 = (2 * x * x - 1) / (y * y * root) + 2 * centre / (x * x * x);
}

const struct ic_sphere plummer_sphere_shape = {plummer_radius, plummer_shape};

void plummer_plan(struct ic_plan *plan) { ic_scale(plan, plan->stars, 3 * M_PI / 32, 1); }
