/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fractions of binaries by the mass of the first star, and triples: their orbits against an independent drawing, by the
 * test of Kolmogorov and Smirnov at one per cent. Seeds are fixed. */
#include <config.h>
#include "base/memory.h"
#include "gravity/kepler.h"
#include "ic/models.h"
#include "ic_sets.h"

static const double ks_one_per_cent = 1.628;

/* Two samples of n values each, which it sorts: the largest distance of their distributions, times sqrt(n / 2). */
static double apart(double *x, double *y, int n)
{
  double largest = 0;
  qsort(x, (size_t)n, sizeof *x, compare_doubles);
  qsort(y, (size_t)n, sizeof *y, compare_doubles);
  for (int i = 0, j = 0; i < n && j < n;) {
    double least = fmin(x[i], y[j]);
    while (i < n && x[i] == least) i++;
    while (j < n && y[j] == least) j++;
    largest = fmax(largest, abs(i - j) / (double)n);
  }
  return largest * sqrt(n / 2.);
}

static void same_distribution(const char *what, double *x, double *y, int n)
{
  char text[160];
  double distance = apart(x, y, n);
  snprintf(text, sizeof text, "%s of %d systems: the distance of the distributions is %.2f", what, n, distance);
  tap_ok(distance < ks_one_per_cent, text);
}

/* --- fractions --- */

static double step_end(int k) { return k + 1 < IC_OBSERVED_STEPS ? ic_observed[k + 1].mass : 1e9; }

/* The fraction of systems with more than one star in each step of the table; members are not heavier than the first. */
static void check_fractions(const char *name, enum ic_population population)
{
  struct ic_model m = model_of("plummer", 138960, 5);
  struct particles p, single;
  m.masses = IC_KROUPA;
  m.virial_radius = 1;
  m.population = population;
  m.binaries = IC_OBSERVED;
  m.triples = 0.25;
  const struct ic_multiples multiples = ic_multiples(&m);
  int64_t systems = m.n - multiples.binaries - 2 * multiples.triples, all[IC_OBSERVED_STEPS] = {0},
          several[IC_OBSERVED_STEPS] = {0}, third = 0, heavier = 0;
  double solar = make(&m, &p).mass_solar, *first = memory_alloc("test", sizeof *first * (size_t)systems),
         *alone_mass = memory_alloc("test", sizeof *alone_mass * (size_t)systems);
  char what[200];
  tap_ok(llabs(systems - 100000) < 100, "10^5 systems");
  for (int64_t i = 0; i < systems; i++) {
    const struct ic_system system = ic_system(multiples, i);
    double mass = p.mass[system.first] * solar;
    int k = 0;
    while (mass >= step_end(k)) k++;
    all[k]++;
    several[k] += system.count > 1;
    third += system.count == 3;
    first[i] = mass;
    for (int j = 1; j < system.count; j++) heavier += p.mass[system.first + j] > p.mass[system.first];
  }
  for (int k = 0; k < IC_OBSERVED_STEPS; k++) {
    double f = ic_observed[k].fraction, found = (double)several[k] / (double)all[k],
           sigma = sqrt(f * (1 - f) / (double)all[k]);
    snprintf(what, sizeof what, "%s: %.3f of %lld systems from %g solar masses have more stars, %.3f expected", name,
             found, (long long)all[k], ic_observed[k].mass, f);
    tap_ok(all[k] > 50 && fabs(found - f) < 3 * sigma, what);
  }
  snprintf(what, sizeof what, "%s: the first star is the heaviest, and a quarter are triples", name);
  tap_ok(heavier == 0 && llabs(4 * multiples.triples - multiples.binaries - multiples.triples) <= 4 && third > 0, what);
  m.binaries = m.triples = 0;
  m.n = systems;
  solar = make(&m, &single).mass_solar;
  for (int64_t i = 0; i < systems; i++) alone_mass[i] = single.mass[i] * solar;
  same_distribution("masses of first stars, as without binaries,", first, alone_mass, (int)systems);
  particles_free(&p);
  particles_free(&single);
  memory_free(first);
  memory_free(alone_mass);
}

/* --- triples --- */

enum { TRIPLES = 30000, INNER_AXIS = 0, OUTER_AXIS, INNER_E, OUTER_E, SECOND, THIRD, TURN, UP, MEAN, VALUES };
static const char *const names[VALUES] = {"inner axes",           "outer axes",         "inner eccentricities",
                                          "outer eccentricities", "second masses",      "third masses",
                                          "mutual inclinations",  "outer inclinations", "outer mean anomalies"};
static const double radius_pc = 1;

/* The least ratio of the outer pericentre to the inner axis: 1.3 times that of Mardling & Aarseth (2001). */
static double least_ratio(double q, double e) { return 1.3 * 2.8 * pow((1 + q) * (1 + e) / sqrt(1 - e), 0.4); }

/* Elements of the relative orbit of b about a, and the direction of its normal. */
static struct kepler_orbit orbit_of(double mass, const struct ic_point *a, const struct ic_point *b, double normal[3])
{
  struct kepler_orbit orbit = {0};
  double d[3], u[3];
  for (int c = 0; c < 3; c++) {
    d[c] = b->pos[c] - a->pos[c];
    u[c] = b->vel[c] - a->vel[c];
  }
  if (!kepler_elements(mass, d, u, &orbit)) orbit.a = NAN;
  kepler_cross(d, u, normal);
  double length = sqrt(square(normal));
  for (int c = 0; c < 3; c++) normal[c] /= length;
  return orbit;
}

static struct ic_point middle_of(const double mass[2], const struct ic_point *a, const struct ic_point *b)
{
  struct ic_point centre = {.type = 1};
  for (int c = 0; c < 3; c++) {
    centre.pos[c] = (mass[0] * a->pos[c] + mass[1] * b->pos[c]) / (mass[0] + mass[1]);
    centre.vel[c] = (mass[0] * a->vel[c] + mass[1] * b->vel[c]) / (mass[0] + mass[1]);
  }
  return centre;
}

/* The values of one triple. Returns the pericentre over the least one. */
static double values_of(const double mass[3], const struct ic_point at[3], double value[VALUES])
{
  double pair = mass[0] + mass[1], normal[2][3];
  struct ic_point centre = middle_of(mass, &at[0], &at[1]);
  struct kepler_orbit inner = orbit_of(pair, &at[0], &at[1], normal[0]),
                      outer = orbit_of(pair + mass[2], &centre, &at[2], normal[1]);
  value[INNER_AXIS] = log(inner.a);
  value[OUTER_AXIS] = log(outer.a);
  value[INNER_E] = inner.e < 1e-6 ? 0 : inner.e; /* circles */
  value[OUTER_E] = outer.e;
  value[SECOND] = mass[1] / mass[0];
  value[THIRD] = mass[2] / mass[0];
  value[TURN] = kepler_dot(normal[0], normal[1]);
  value[UP] = 0.5 + 0.5 * normal[1][2];
  value[MEAN] = 0.5 + (atan2(outer.e_sin, outer.e_cos) - outer.e_sin) / (2 * M_PI);
  return outer.a * (1 - outer.e) / inner.a / least_ratio(mass[2] / pair, outer.e);
}

static void check_orbits(void)
{
  struct ic_model m = model_of("king", 3 * TRIPLES, 4);
  struct particles p;
  double *x[2][VALUES], worst = 1e9, value[VALUES];
  m.binaries = m.triples = 1;
  m.population = IC_RAGHAVAN;
  m.virial_radius = radius_pc;
  make(&m, &p);
  for (int k = 0; k < VALUES; k++)
    for (int s = 0; s < 2; s++) x[s][k] = memory_alloc("test", sizeof(double) * TRIPLES);
  const double solar = 3. * TRIPLES; /* masses of the unit of mass */
  for (int i = 0; i < TRIPLES; i++) {
    struct ic_point at[3];
    double mass[3];
    for (int j = 0; j < 3; j++) {
      mass[j] = p.mass[3 * i + j];
      memcpy(at[j].pos, p.pos + 9 * i + 3 * j, sizeof at[j].pos);
      memcpy(at[j].vel, p.vel + 9 * i + 3 * j, sizeof at[j].vel);
    }
    worst = fmin(worst, values_of(mass, at, value));
    for (int k = 0; k < VALUES; k++) x[0][k][i] = value[k];
    /* the same, drawn without positions */
    struct ic_random random = random_stream(11, (uint64_t)i, 99);
    double q[2], cosine, axis[2], e[2];
    for (int k = 0; k < 2; k++) q[k] = 0.1 + 0.9 * random_uniform(&random);
    cosine = 2 * random_uniform(&random) - 1;
    do {
      population_orbit(m.population, solar * (mass[0] + mass[1]), radius_pc, &random, &axis[0], &e[0]);
      population_orbit(m.population, solar * (mass[0] + mass[1] + mass[2]), radius_pc, &random, &axis[1], &e[1]);
    } while (axis[1] * (1 - e[1]) < axis[0] * least_ratio(mass[2] / (mass[0] + mass[1]), e[1]));
    const double drawn[VALUES] = {log(axis[0]), log(axis[1]), e[0], e[1], q[0], q[1], cosine, 0, 0};
    for (int k = 0; k < VALUES; k++) x[1][k][i] = drawn[k];
  }
  for (int k = 0; k < UP; k++) same_distribution(names[k], x[0][k], x[1][k], TRIPLES);
  for (int k = UP; k < VALUES; k++) {
    double distance = distance_from_uniform(x[0][k], TRIPLES) * sqrt(TRIPLES);
    char what[160];
    snprintf(what, sizeof what, "%s are uniform: distance %.2f", names[k], distance);
    tap_ok(distance < ks_one_per_cent, what);
  }
  printf("# the smallest outer pericentre is %.6f of the least one\n", worst);
  tap_ok(worst > 1 - 1e-6 && worst < 1.01, "all are stable by the criterion of Mardling and Aarseth");
  for (int k = 0; k < VALUES; k++)
    for (int s = 0; s < 2; s++) memory_free(x[s][k]);
  particles_free(&p);
}

/* The members of a triple at a place, against those about the origin. */
static void check_members(void)
{
  struct ic_model m = model_of("plummer", 3, 1);
  const struct ic_scaling scaling = {0, 0};
  const double mass[3] = {0.003, 0.001, 0.002}, whole = 0.006;
  const struct ic_point origin = {.type = 1}, place = {{0.5, -0.3, 0.2}, {0.4, 0.7, -0.6}, 1};
  double off = 0, apart_most = 0, axis = 1;
  m.binary_min = 1e-6;
  m.binary_max = 1e-2;
  m.eccentricity = 0.1;
  int failed = 0;
  for (uint64_t id = 1; id <= 20000; id++) {
    struct ic_point at[2][3];
    double value[2][VALUES];
    for (int s = 0; s < 2; s++) {
      struct ic_random random = random_stream(7, id, RANDOM_ORBIT);
      const struct ic_point *system = s ? &place : &origin;
      failed |= triple_members(&m, &scaling, mass, system, &random, at[s]);
      values_of(mass, at[s], value[s]);
      for (int c = 0; c < 3; c++) {
        double pos = 0, vel = 0;
        for (int k = 0; k < 3; k++) {
          pos += mass[k] / whole * (at[s][k].pos[c] - system->pos[c]);
          vel += mass[k] / whole * (at[s][k].vel[c] - system->vel[c]);
        }
        off = fmax(off, fmax(fabs(pos), fabs(vel) * 1e-3)); /* velocities are up to 80 */
      }
    }
    axis = fmin(axis, exp(value[0][INNER_AXIS]));
    apart_most = fmax(apart_most, fabs(expm1(value[1][INNER_AXIS] - value[0][INNER_AXIS])));
    apart_most = fmax(apart_most, fabs(expm1(value[1][OUTER_AXIS] - value[0][OUTER_AXIS])));
    apart_most = fmax(apart_most, fabs(value[0][INNER_E] - 0.1) + fabs(value[0][OUTER_E] - 0.1));
  }
  char what[200];
  snprintf(what, sizeof what, "triples: the centre of mass is that of the system (off by %.1e)", off);
  tap_ok(!failed && off < 1e-15, what);
  snprintf(what, sizeof what, "triples: elements from positions, axes from %.1e, are those drawn (off by %.1e)", axis,
           apart_most);
  tap_ok(axis < 1.01e-6 && apart_most < 1e-9, what);
}

/* --- systems --- */

/* 2 T / |W| of the centres of mass. */
static double virial_ratio(const struct ic_model *model)
{
  struct particles p;
  const struct ic_multiples multiples = ic_multiples(model);
  int64_t systems = model->n - multiples.binaries - 2 * multiples.triples;
  make(model, &p);
  for (int64_t k = 0; k < systems; k++) {
    const struct ic_system system = ic_system(multiples, k);
    double sum[6] = {0}, mass = 0;
    for (int64_t i = system.first; i < system.first + system.count; i++) {
      mass += p.mass[i];
      for (int c = 0; c < 3; c++) {
        sum[c] += p.mass[i] * p.pos[3 * i + c];
        sum[3 + c] += p.mass[i] * p.vel[3 * i + c];
      }
    }
    for (int c = 0; c < 3; c++) { /* systems are not behind their first particle */
      p.pos[3 * k + c] = sum[c] / mass;
      p.vel[3 * k + c] = sum[3 + c] / mass;
    }
    p.mass[k] = (float)mass;
  }
  p.n = systems;
  double ratio = -2 * kinetic_energy(&p) / potential_energy(&p);
  particles_free(&p);
  return ratio;
}

static void check_systems(void)
{
  struct ic_model m = model_of("king", 1501, 3);
  m.masses = IC_KROUPA;
  m.binaries = IC_OBSERVED;
  m.triples = 0.4;
  m.central_mass = 0.05;
  m.virial_ratio = 0.8;
  double ratio = virial_ratio(&m);
  printf("# the virial ratio is %.8f\n", ratio);
  tap_ok(fabs(ratio - 0.8) < 1e-6, "centres of mass of triples, binaries and stars have the virial ratio");
  int good = 1;
  for (int64_t n = 2; n < 300; n++)
    for (int f = 0; f <= 4; f++)
      for (int t = 0; t <= 4; t++) {
        m.n = n;
        m.binaries = f / 4.;
        m.triples = t / 4.;
        const struct ic_multiples of = ic_multiples(&m);
        int64_t left = n - 1 - 2 * of.binaries - 3 * of.triples, next = 0, several = of.binaries + of.triples;
        good &= left >= 0 && of.binaries >= 0 && of.triples >= 0 && (f < 4 || left <= 2) &&
                fabs((double)of.triples - m.triples * (double)several) <= 0.5 &&
                fabs((double)several - m.binaries * (double)(several + left)) <= 2;
        for (int64_t k = 0; k < several + left; k++) {
          const struct ic_system system = ic_system(of, k);
          good &= system.first == next;
          for (int j = 0; j < system.count; j++) good &= ic_system_of(of, next++).number == k;
        }
        good &= next == n - 1;
      }
  tap_ok(good, "stars are divided into systems for any number of stars");
}

static void check_refusals(void)
{
  struct ic_model m = model_of("king", 100, 1);
  m.triples = 0.5;
  refuse(m, "triples: a fraction of the systems with at least two stars: give --binaries too");
  m.binaries = 0.5;
  m.triples = 1.5;
  refuse(m, "fraction of triples: expected a number from 0 to 1, found 1.5");
  m.triples = 0.5;
  m.binary_max = m.binary_min;
  refuse(m, "triples: among 100000 orbits of a triple none is stable; it takes a larger ratio of --binary-max to");
  m.triples = 0;
  m.binaries = IC_OBSERVED;
  refuse(m, "binaries: observed fractions are by the mass of a star in solar masses: expected --mass-function kroupa");
  m.masses = IC_TWO;
  refuse(m, "binaries: observed fractions are by the mass of a star in solar masses");
  m.masses = IC_KROUPA;
  m.binaries = -2;
  refuse(m, "fraction of binaries: expected a number from 0 to 1, found -2");
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  comm_open(&alone, MPI_COMM_SELF);
  check_fractions("log-axis", IC_LOG_AXIS);
  check_fractions("raghavan", IC_RAGHAVAN);
  check_orbits();
  check_members();
  check_systems();
  check_refusals();
  tap_ok(memory_current() == 0, "all memory is given back");
  comm_close(&alone);
  MPI_Finalize();
  return tap_end();
}
