/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hernquist sphere with isotropic velocities (Hernquist 1990, ApJ 356, 359, eqs 2, 3 and 17), drawn inside 300 a. The
 * mass inside is 1, so the infinite model has mass M = 1/0.99337. Velocities are those of the infinite model; the cut
 * does not change forces inside. Its E = -G M^2 / (12 a) = -1/4 gives a = M^2 / 3 = 0.33780; the part outside has about
 * 1e-4 of the energy. */
#include <config.h>
#include <math.h>

#include "ic/models.h"

static const double cut = 300; /* in scale radii */

/* The distribution function without its constant factor, of q^2 = a |E| / (G M). */
static double distribution(double q2)
{
  double q = sqrt(q2), p2 = 1 - q2, p = sqrt(p2);
  double value = 3 * asin(q) + q * p * (1 - 2 * q2) * (8 * q2 * q2 - 8 * q2 - 3);
  return value > 0 ? value / (p2 * p2 * p) : 0; /* negative only by rounding */
}

/* Density of u = v / v_escape at the potential depth q2 (in G M / a). */
static double speeds(double u, double q2) { return u * u * distribution(q2 * (1 - u * u)); }

/* The maximum of `speeds`, by golden section in log u. */
static double largest_speeds(double q2)
{
  const double ratio = 0.6180339887498949;
  double low = -20, high = 0, a = high - ratio * (high - low), b = low + ratio * (high - low);
  double at_a = speeds(exp(a), q2), at_b = speeds(exp(b), q2);
  while (high - low > 1e-3) {
    if (at_a > at_b) {
      high = b;
      b = a;
      at_b = at_a;
      a = high - ratio * (high - low);
      at_a = speeds(exp(a), q2);
    } else {
      low = a;
      a = b;
      at_a = at_b;
      b = low + ratio * (high - low);
      at_b = speeds(exp(b), q2);
    }
  }
  return at_a > at_b ? at_a : at_b;
}

static double inside(void) { return cut / (1 + cut) * (cut / (1 + cut)); }

static double hernquist_radius(const struct ic_plan *plan, double fraction)
{
  (void)plan;
  double root = sqrt(inside() * fraction);
  return root / (1 - root);
}

void hernquist_draw(const struct ic_plan *plan, int64_t index, struct ic_random *random, struct ic_point *point)
{
  (void)index;
  double mass = 1 / inside(), scale = mass * mass / 3;
  double x = hernquist_radius(plan, random_uniform(random)); /* radius in scale radii */
  double q2 = 1 / (1 + x), escape = sqrt(2 * mass / scale * q2);
  double limit = 1.01 * largest_speeds(q2), u, y;
  do {
    u = random_uniform(random);
    y = limit * random_uniform(random);
  } while (y > speeds(u, q2));
  random_direction(random, x * scale, point->pos);
  random_direction(random, u * escape, point->vel);
  point->type = 1;
}

static void hernquist_shape(const struct ic_plan *plan, double x, struct ic_shape *shape)
{
  double y = 1 + x, centre = plan->m->central_mass / plan->mass;
  shape->density = 1 / (x * y * y * y);
  shape->density1 = -shape->density * (1 + 4 * x) / (x * y);
  shape->density2 = shape->density * (2 + 10 * x + 20 * x * x) / (x * x * y * y);
  shape->psi = 1 / y + centre / x;
  shape->psi1 = -1 / (y * y) - centre / (x * x);
  shape->psi2 = 2 / (y * y * y) + 2 * centre / (x * x * x);
}

const struct ic_sphere hernquist_sphere_shape = {hernquist_radius, hernquist_shape};

void hernquist_plan(struct ic_plan *plan) { ic_scale(plan, plan->stars / inside(), 1. / 6, 1); }
