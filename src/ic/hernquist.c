/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hernquist sphere with isotropic velocities (Hernquist 1990, ApJ 356, 359, eqs 2, 3 and 17), drawn inside 300 a. The mass inside
 * is 1, so the infinite model has mass M = 1/0.99337. Velocities are those of the infinite model; the cut does not change forces
 * inside. Its E = -G M^2 / (12 a) = -1/4 gives a = M^2 / 3 = 0.33780; the part outside has about 1e-4 of the energy. */
#include <config.h>
#include <math.h>

#include "ic/models.h"

static const double cut = 300;   /* in scale radii */

/* The distribution function without its constant factor, of q^2 = a |E| / (G M). */
static double distribution(double q2)
{
  double q = sqrt(q2), p2 = 1 - q2, p = sqrt(p2);
  double value = 3 * asin(q) + q * p * (1 - 2 * q2) * (8 * q2 * q2 - 8 * q2 - 3);
  return value > 0 ? value / (p2 * p2 * p) : 0;   /* negative only by rounding */
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
      high = b, b = a, at_b = at_a;
      a = high - ratio * (high - low);
      at_a = speeds(exp(a), q2);
    } else {
      low = a, a = b, at_a = at_b;
      b = low + ratio * (high - low);
      at_b = speeds(exp(b), q2);
    }
  }
  return at_a > at_b ? at_a : at_b;
}

void hernquist_draw(const struct ic_model *m, int64_t index, struct ic_random *r, struct ic_point *point)
{
  (void)m, (void)index;
  double inside = cut / (1 + cut) * (cut / (1 + cut)), mass = 1 / inside, scale = mass * mass / 3;
  double root = sqrt(inside * random_uniform(r)), x = root / (1 - root);   /* radius in scale radii */
  double q2 = 1 / (1 + x), escape = sqrt(2 * mass / scale * q2);
  double limit = 1.01 * largest_speeds(q2), u, y;
  do {
    u = random_uniform(r);
    y = limit * random_uniform(r);
  } while (y > speeds(u, q2));
  random_direction(r, x * scale, point->pos);
  random_direction(r, u * escape, point->vel);
  point->type = 1;
}
