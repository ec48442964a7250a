/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hierarchies of stars (gravity/hierarchy.h): the oscillations of Kozai and Lidov against full integrations of the three
 * stars, energies, switching. */
#include <config.h>
#include "gravity/hierarchy.h"

#include <stdlib.h>
#include <string.h>

#include "chance.h"
#include "gravity/few_bodies.h"
#include "gravity/hierarchy_rules.h"
#include "orbits.h"
#include "tap.h"

static const struct unit_environment nothing;

struct triple {
  struct ks_pair outer;
  struct hierarchy hierarchy;
};

/* Energy of the equations of motion. */
static double energy_of(const struct triple *triple)
{
  const struct hierarchy *h = &triple->hierarchy;
  double mu = h->m[0] + h->m[1], energy = -0.5 * triple->outer.beta * h->m[0] * h->m[1] / mu, d[3], q[3][3];
  ks_position(triple->outer.q, d);
  double r2 = kepler_dot(d, d);
  for (int k = 0; k < 2; k++) {
    if (!(h->m2[k] > 0)) continue;
    hierarchy_quadrupole(h, k, q);
    double s = 0;
    for (int i = 0; i < 3; i++) s += kepler_dot(q[i], d) * d[i];
    energy -= 0.5 * h->m[1 - k] * (3 * s / r2 - q[0][0] - q[1][1] - q[2][2]) / (r2 * sqrt(r2));
  }
  return energy;
}

/* The inner orbit of axis 1, eccentricity 0.1 and inclination i (degrees) at its apocentre; the outer one of axis a and
 * eccentricity e at the true anomaly 0.7. */
static struct triple triple_of(double m1, double m2, double m3, double i, double a, double e)
{
  struct triple triple;
  memset(&triple, 0, sizeof triple);
  double mass = m1 + m2 + m3, tilt = i * KEPLER_PI / 180, v = sqrt((m1 + m2) * 0.9 / 1.1), f = 0.7,
         r = a * (1 - e * e) / (1 + e * cos(f)), speed = sqrt(mass / (a * (1 - e * e)));
  const double d[3] = {-1.1, 0, 0}, u[3] = {0, -v * cos(tilt), -v * sin(tilt)}, place[3] = {r * cos(f), r * sin(f), 0},
               motion[3] = {-speed * sin(f), speed * (e + cos(f)), 0};
  hierarchy_set_pair(&triple.hierarchy, 0, m1, m2, d, u);
  hierarchy_set_star(&triple.hierarchy, 1, m3);
  struct hierarchy_body body[2] = {{.m = m1 + m2, .m1 = m1, .m2 = m2}, {.m = m3, .m1 = m3}};
  for (int c = 0; c < 3; c++) {
    body[0].d[c] = d[c];
    body[0].u[c] = u[c];
    body[1].x[c] = place[c];
  }
  hierarchy_to_mean(body);
  hierarchy_set_pair(&triple.hierarchy, 0, m1, m2, body[0].d, body[0].u);
  hierarchy_open(&triple.outer, mass, place, motion, 0);
  if (getenv("FINER")) triple.outer.step /= atof(getenv("FINER"));
  return triple;
}

/* The first maximum of the inner eccentricity, and its time. */
static void oscillation(struct triple triple, double end, double e, double t, double late, const char *what)
{
  double largest = 0, at = 0, begin = energy_of(&triple), worst = 0;
  int64_t kicks = 0;
  for (double now = 0; now < end; now += 40) {
    kicks += hierarchy_advance(&triple.outer, &triple.hierarchy, &nothing, now + 40);
    double here = modulus(triple.hierarchy.inner[0].e);
    worst = fmax(worst, fabs(energy_of(&triple) / begin - 1));
    if (!(here <= largest)) {
      largest = here;
      at = triple.outer.t;
    }
  }
  printf("# largest eccentricity %.5f at %.0f (%lld kicks), energy %.1e\n", largest, at, (long long)kicks, worst);
  tap_ok(fabs(largest - e) < 1e-3 && fabs(at / t - 1) < late, what);
}

int main(void)
{
  oscillation(triple_of(0.5, 0.5, 0.5, 80, 20, 0), 33000, 0.95474, 30012, 2e-3, "ratio 20");
  oscillation(triple_of(0.5, 0.5, 0.5, 80, 10, 0), 6000, 0.94749, 3700, 1e-2, "ratio 10");
  oscillation(triple_of(0.5, 0.5, 0.5, 80, 100, 0), 4e6, 0.96598, 3.78e6, 2e-3, "ratio 100");
  oscillation(triple_of(0.7, 0.3, 0.6, 70, 20, 0.4), 22000, 0.8750, 20415, 3e-2, "octupole");
  oscillation(triple_of(0.5, 0.5, 0.5, 80, 100, 0.9), 4e5, 0.96598, 3.78e5, 1, "e");
  oscillation(triple_of(0.5, 0.5, 0.5, 80, 1000, 0.99), 4e5, 0.96598, 3.78e5, 1, "e");
  return tap_end();
}
