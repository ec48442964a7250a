/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hierarchies of stars (gravity/hierarchy.h, gravity/triple.h): the oscillations of Kozai and Lidov against full
 * integrations of the three stars, energies, switching, and which they are (gravity/hierarchy_rules.h). */
#include <config.h>
#include "gravity/triple.h"

#include <string.h>

#include "chance.h"
#include "gravity/hierarchy_rules.h"
#include "orbits.h"
#include "tap.h"

static const double never[2] = {0, 0}; /* inner pairs meet */

static const struct unit_environment nothing;

struct start {
  double m[3], d[3], u[3], x[3], v[3]; /* inner orbit; outer one */
};

/* The inner orbit of axis 1, eccentricity 0.1 and inclination i (degrees) at its apocentre; the outer one of axis a and
 * eccentricity e at the true anomaly 0.7. */
static struct start start_of(double m1, double m2, double m3, double i, double a, double e)
{
  double mass = m1 + m2 + m3, tilt = i * KEPLER_PI / 180, v = sqrt((m1 + m2) * 0.9 / 1.1), f = 0.7,
         r = a * (1 - e * e) / (1 + e * cos(f)), speed = sqrt(mass / (a * (1 - e * e)));
  return (struct start){.m = {m1, m2, m3},
                        .d = {-1.1, 0, 0},
                        .u = {0, -v * cos(tilt), -v * sin(tilt)},
                        .x = {r * cos(f), r * sin(f), 0},
                        .v = {-speed * sin(f), speed * (e + cos(f)), 0}};
}

/* --- inner pairs that a mean tide turns --------------------------------------------------------------------------- */

struct system {
  struct ks_pair outer;
  struct hierarchy hierarchy;
};

static void system_open(struct system *system, const struct start *start)
{
  struct hierarchy_body body[2] = {{.m = start->m[0] + start->m[1], .m1 = start->m[0], .m2 = start->m[1]},
                                   {.m = start->m[2], .m1 = start->m[2]}};
  memset(system, 0, sizeof *system);
  memcpy(body[0].d, start->d, sizeof start->d);
  memcpy(body[0].u, start->u, sizeof start->u);
  memcpy(body[1].x, start->x, sizeof start->x);
  hierarchy_to_mean(body);
  hierarchy_set_pair(&system->hierarchy, 0, start->m[0], start->m[1], body[0].d, body[0].u);
  hierarchy_set_star(&system->hierarchy, 1, start->m[2]);
  hierarchy_open(&system->outer, body[0].m + body[1].m, start->x, start->v, 0);
}

/* Energy of the equations of motion. */
static double system_energy(const struct system *system)
{
  const struct hierarchy *h = &system->hierarchy;
  double d[3], q[3][3], s = 0, energy = -0.5 * system->outer.beta * h->m[0] * h->m[1] / (h->m[0] + h->m[1]);
  ks_position(system->outer.q, d);
  double r2 = kepler_dot(d, d);
  hierarchy_quadrupole(h, 0, q);
  for (int i = 0; i < 3; i++) s += kepler_dot(q[i], d) * d[i];
  return energy - 0.5 * h->m[1] * (3 * s / r2 - q[0][0] - q[1][1] - q[2][2]) / (r2 * sqrt(r2));
}

/* The first maximum of the inner eccentricity (e > 0), and its time within the part `late`. energy: limit of the change
 * of the outer energy and that of the quadrupole. */
static void mean(const char *what, const struct start *start, double end, double e, double t, double late,
                 double energy)
{
  struct system system;
  double largest = 0, at = 0, worst = 0;
  int64_t kicks = 0;
  system_open(&system, start);
  double begin = system_energy(&system);
  for (int k = 1; k <= 4000; k++) {
    kicks += hierarchy_advance(&system.outer, &system.hierarchy, &nothing, end * k / 4000, never);
    double here = modulus(system.hierarchy.inner[0].e);
    worst = fmax(worst, fabs(system_energy(&system) / begin - 1));
    if (!(here <= largest)) {
      largest = here;
      at = system.outer.t;
    }
  }
  hierarchy_finish(&system.outer, &system.hierarchy, &nothing, end);
  worst = fmax(worst, fabs(system_energy(&system) / begin - 1));
  printf("# %s, mean: %.5f at %.0f (%lld kicks), energy %.1e\n", what, largest, at, (long long)kicks, worst);
  int same = !(e > 0) || (fabs(largest - e) < 1e-3 && fabs(at / t - 1) < late);
  tap_ok(same && worst < energy && system.outer.t == end, what);
}

/* --- inner pairs that are followed -------------------------------------------------------------------------------- */

static double triple_eccentricity(const struct triple *triple)
{
  double mu = triple->m1 + triple->m2, along = ks_along(&triple->inner) * sqrt(triple->inner.beta) / mu;
  double cosine = 1 - ks_distance(&triple->inner) * triple->inner.beta / mu;
  return sqrt(cosine * cosine + along * along);
}

static double triple_energy(const struct triple *triple)
{
  double d[3], z[3], mu = triple->m1 + triple->m2, mass = mu + triple->m3;
  ks_position(triple->inner.q, d);
  ks_position(triple->outer.q, z);
  double energy =
      -0.5 * (triple->inner.beta * triple->m1 * triple->m2 / mu + triple->outer.beta * triple->m3 * mu / mass);
  energy += triple->m3 * mu / modulus(z);
  for (int k = 0; k < 2; k++) {
    double y[3];
    for (int c = 0; c < 3; c++) y[c] = z[c] + (k == 0 ? triple->m2 : -triple->m1) / mu * d[c];
    energy -= triple->m3 * (k == 0 ? triple->m1 : triple->m2) / modulus(y);
  }
  return energy;
}

static void path(const char *what, const struct start *start, double end, double e, double t, double energy)
{
  struct triple triple;
  double largest = 0, at = 0, worst = 0;
  int64_t kicks = 0;
  triple_open(&triple, start->m, start->d, start->u, start->x, start->v, 0);
  double begin = triple_energy(&triple);
  for (int k = 1; k <= 4000; k++) {
    kicks += triple_advance(&triple, &nothing, end * k / 4000, 0, NULL);
    double here = triple_eccentricity(&triple);
    worst = fmax(worst, fabs(triple_energy(&triple) / begin - 1));
    if (!(here <= largest)) {
      largest = here;
      at = triple.inner.t;
    }
  }
  triple_finish(&triple, &nothing, end);
  worst = fmax(worst, fabs(triple_energy(&triple) / begin - 1));
  printf("# %s, followed: %.5f at %.0f (%lld kicks), energy %.1e\n", what, largest, at, (long long)kicks, worst);
  tap_ok(fabs(largest - e) < 3e-4 && fabs(at / t - 1) < 1e-3 && worst < energy && triple.inner.t == end &&
             triple.outer.t == end,
         what);
}

/* --- switching ---------------------------------------------------------------------------------------------------- */

static double bodies_energy(const struct hierarchy_body body[2], int present)
{
  double sum = 0, x[3];
  for (int k = 0; k < 2; k++) {
    struct kepler_orbit orbit;
    if (!(body[k].m2 > 0) || !kepler_elements(body[k].m, body[k].d, body[k].u, &orbit)) continue;
    sum -= 0.5 * body[k].m1 * body[k].m2 / orbit.a;
    for (int c = 0; c < 3; c++) x[c] = body[1 - k].x[c] - body[k].x[c];
    if (!present) sum += hierarchy_mean(&body[k], body[1 - k].m, x);
  }
  for (int c = 0; c < 3; c++) x[c] = body[1].x[c] - body[0].x[c];
  return sum + (present ? hierarchy_potential(&body[0], &body[1], 0) : -body[0].m * body[1].m / modulus(x));
}

static void switching(void)
{
  struct random random = {7};
  double there = 0, back = 0, changed = 0;
  for (int i = 0; i < 2000; i++) {
    struct hierarchy_body body[2], begin[2];
    memset(body, 0, sizeof body);
    for (int k = 0; k < 2; k++) {
      struct hierarchy_body *b = &body[k];
      b->m1 = random_between(&random, 0.2, 1);
      b->m2 = k == 0 || i % 2 ? random_between(&random, 0.2, 1) : 0;
      b->m = b->m1 + b->m2;
      at_apocentre(b->m, 1, random_unit(&random) < 0.5 ? 0.2 : 0.99, b->d, b->u);
      kepler_advance(b->m, random_between(&random, 0, 6), b->d, b->u);
    }
    random_direction(&random, random_between(&random, 10, 30), body[1].x);
    memcpy(begin, body, sizeof body);
    double present = bodies_energy(body, 1);
    hierarchy_to_mean(body);
    there = fmax(there, fabs(bodies_energy(body, 0) / present - 1));
    changed = fmax(changed, distance(body[0].d, begin[0].d) / modulus(begin[0].d));
    hierarchy_to_present(body);
    for (int k = 0; k < 2; k++)
      back = fmax(back, distance(body[k].d, begin[k].d) + distance(body[k].u, begin[k].u) / (1 + modulus(body[k].u)));
  }
  printf("# energy %.1e, there and back %.1e, largest change %.1e\n", there, back, changed);
  tap_ok(there < 1e-14 && changed > 1e-4, "between present and mean orbits the energy is the same");
  tap_ok(back < 1e-13, "there and back");
}

/* --- rules -------------------------------------------------------------------------------------------------------- */

static struct unit_facts facts_of(double m, double a)
{
  struct unit_facts facts = {.bodies = 1, .m = m, .a = -1, .period = 1e30};
  if (!(a > 0)) return facts;
  facts.bodies = 2;
  facts.pair = facts.lasting = 1;
  facts.m1 = facts.m2 = 0.5 * m;
  facts.a = a;
  facts.size = 1.5 * a;
  facts.period = 2 * KEPLER_PI * a * sqrt(a / m);
  return facts;
}

static enum hierarchy_kind kind_of(const struct unit_facts *p, const struct unit_facts *q, double a, double e,
                                   int exists)
{
  const struct unit_rules rules = {.r1 = 1, .soft_step = 2};
  double d[3], u[3];
  at_apocentre(p->m + q->m, a, e, d, u);
  enum hierarchy_kind kind = hierarchy_fits(&rules, p, q, d, u, 1, exists);
  return kind == hierarchy_fits(&rules, q, p, d, u, 1, exists) ? kind : (enum hierarchy_kind) - 1;
}

/* An outer orbit of many turns in a soft step is one of a hierarchy where it is stable, another one only where the mean
 * of the inner orbit is enough. */
static void facts_compact(const struct unit_facts *star)
{
  const struct unit_rules rules = {.r1 = 1, .soft_step = 2};
  const double least = 2.8 * pow(1.5, 0.4);
  enum hierarchy_kind kind[4];
  for (int k = 0; k < 4; k++) {
    double part = k < 2 ? 0.9e-3 : 1.1e-3, ratio = k % 2 ? 0.99 * least : 1.01 * least, d[3], u[3],
           a = cbrt(1.5 * pow(part * rules.soft_step / (2 * KEPLER_PI), 2));
    struct unit_facts pair = facts_of(1, a / ratio);
    at_apocentre(1.5, a, 0, d, u);
    kind[k] = hierarchy_fits(&rules, &pair, star, d, u, 1, 0);
  }
  tap_ok(kind[0] == HIERARCHY_MEAN && kind[1] == HIERARCHY_NONE && kind[2] == HIERARCHY_NONE &&
             kind[3] == HIERARCHY_NONE,
         "compact triples are hierarchies where they are stable");
}

static void rules(void)
{
  struct unit_facts pair = facts_of(1, 1e-2), tight = facts_of(1, 1e-3), wide = facts_of(1, 1.5e-2),
                    star = facts_of(0.5, 0), heavy = facts_of(4, 0);
  int good =
      kind_of(&pair, &star, 0.0215, 0, 0) == HIERARCHY_NONE && kind_of(&pair, &star, 0.06, 0, 0) == HIERARCHY_PATH;
  good &= kind_of(&pair, &star, 0.11, 0, 0) == HIERARCHY_PATH && kind_of(&pair, &star, 0.23, 0, 0) == HIERARCHY_MEAN;
  good &= kind_of(&pair, &star, 0.15, 0.75, 0) == HIERARCHY_NONE; /* by its pericentre */
  good &=
      kind_of(&tight, &star, 0.012, 0, 0) == HIERARCHY_MEAN && kind_of(&tight, &star, 0.009, 0, 0) == HIERARCHY_NONE;
  tap_ok(good, "pairs are seen by their mean, followed, or neither");
  good = kind_of(&pair, &star, 0.3, 0, 0) == HIERARCHY_NONE && kind_of(&pair, &star, 0.3, 0, 1) == HIERARCHY_MEAN;
  good &= kind_of(&pair, &star, 0.047, 0, 0) == HIERARCHY_NONE && kind_of(&pair, &star, 0.047, 0, 1) == HIERARCHY_PATH;
  tap_ok(good, "those that exist last somewhat longer");
  good = kind_of(&pair, &heavy, 0.09, 0, 0) == HIERARCHY_NONE && kind_of(&pair, &heavy, 0.11, 0, 0) == HIERARCHY_PATH;
  good &= kind_of(&pair, &wide, 0.18, 0, 0) == HIERARCHY_NONE && kind_of(&pair, &wide, 0.2, 0, 0) == HIERARCHY_MEAN;
  good &= kind_of(&star, &heavy, 0.1, 0, 0) == HIERARCHY_NONE;
  tap_ok(good, "heavy stars, two pairs, and two stars");
  facts_compact(&star);
  /* 2.8 ((1 + 0.5) (1 + 0.8) / sqrt(0.2))^0.4, in axes */
  tap_ok(fabs(hierarchy_stable(&pair, 0.5, 0.8) / 0.0574775 - 1) < 1e-4, "Mardling's and Aarseth's least pericentre");
}

int main(void)
{
  const struct start twenty = start_of(0.5, 0.5, 0.5, 80, 20, 0), far = start_of(0.5, 0.5, 0.5, 80, 100, 0),
                     narrow = start_of(0.5, 0.5, 0.5, 80, 200, 0.9), ten = start_of(0.5, 0.5, 0.5, 80, 10, 0),
                     five = start_of(0.5, 0.5, 0.5, 80, 5, 0), unequal = start_of(0.7, 0.3, 0.6, 70, 20, 0.4);
  mean("a triple of axes 1 and 20", &twenty, 33000, 0.95473, 30015, 8e-3, 5e-7);
  mean("a triple of axes 1 and 100", &far, 4e6, 0.96598, 3.780e6, 3e-3, 2e-8);
  mean("an outer eccentricity of 0.9", &narrow, 4e6, 0, 0, 0, 2e-6);
  path("a triple of axes 1 and 20: on its path", &twenty, 33000, 0.95473, 30015, 2e-7);
  path("a triple of axes 1 and 10", &ten, 6000, 0.94749, 3720, 2e-6);
  path("a triple of axes 1 and 5", &five, 6000, 0.94206, 4948, 4e-6);
  path("a triple with an octupole", &unequal, 22000, 0.87519, 20415, 1e-6);
  switching();
  rules();
  return tap_end();
}
