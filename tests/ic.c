/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The models' particles against the models' equations. Seeds are fixed; tolerances are about three times the scatter. */
#include <config.h>
#include "ic/ic.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "ic/models.h"
#include "tap.h"

enum { N = 2000, SEEDS = 40 };   /* of the energies: direct sums, so many small sets rather than a large one */

static struct comm alone;

static struct ic_model model_of(const char *name, int64_t n, uint64_t seed)
{
  struct ic_model m;
  ic_defaults(&m);
  snprintf(m.name, sizeof m.name, "%s", name);
  m.n = n;
  m.seed = seed;
  return m;
}

static void make(const struct ic_model *m, struct particles *p)
{
  struct fault f = {""};
  particles_init(p);
  if (ic_make(&alone, m, p, &f) == 0) return;
  printf("Bail out! %s\n", f.text);
  exit(99);
}

static double square(const double *x) { return x[0] * x[0] + x[1] * x[1] + x[2] * x[2]; }

static double kinetic_energy(const struct particles *p)
{
  double sum = 0;
  for (int64_t i = 0; i < p->n; i++) sum += 0.5 * p->mass[i] * square(p->vel + 3 * i);
  return sum;
}

static double potential_energy(const struct particles *p)
{
  double sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 64)
  for (int64_t i = 0; i < p->n; i++)
    for (int64_t j = 0; j < i; j++) {
      double d[3] = {p->pos[3 * i] - p->pos[3 * j], p->pos[3 * i + 1] - p->pos[3 * j + 1], p->pos[3 * i + 2] - p->pos[3 * j + 2]};
      sum -= (double)p->mass[i] * p->mass[j] / sqrt(square(d));
    }
  return sum;
}

static void check_energy(const char *name, double virial_ratio, double tolerance)
{
  double kinetic = 0, potential = 0;
  for (int seed = 1; seed <= SEEDS; seed++) {
    struct ic_model m = model_of(name, N, (uint64_t)seed);
    struct particles p;
    if (strcmp(name, "uniform") == 0) m.virial_ratio = virial_ratio;
    make(&m, &p);
    kinetic += kinetic_energy(&p) / SEEDS;
    potential += potential_energy(&p) / SEEDS;
    particles_free(&p);
  }
  char what[200];
  double energy = kinetic + potential, ratio = 2 * kinetic / -potential;
  snprintf(what, sizeof what, "%s: E = %.4f is -1/4", name, energy);
  tap_ok(fabs(energy + 0.25) < tolerance, what);
  snprintf(what, sizeof what, "%s: 2 T / |W| = %.4f is %g", name, ratio, virial_ratio);
  tap_ok(fabs(ratio - virial_ratio) < 0.03 * virial_ratio + 1e-12, what);
}

typedef double curve(double r);

static double plummer_mass(double r)
{
  double b = 3 * M_PI / 16;
  return pow(1 + b * b / (r * r), -1.5) / pow(1 + 1e-4, -1.5);
}
static double plummer_dispersion(double r) { return 1 / (6 * sqrt(r * r + pow(3 * M_PI / 16, 2))); }

static const double hernquist_whole = 301. / 300 * 301 / 300;   /* mass of the model that goes on beyond the cut */
static double hernquist_mass(double r)
{
  double x = r / (hernquist_whole * hernquist_whole / 3);
  return hernquist_whole * pow(x / (1 + x), 2);
}
/* Hernquist 1990, eq. 10. */
static double hernquist_dispersion(double r)
{
  double a = hernquist_whole * hernquist_whole / 3, x = r / a, y = 1 + x;
  double bracket = 12 * x * y * y * y * log(y / x) - x / y * (25 + x * (52 + x * (42 + 12 * x)));
  return hernquist_whole / (12 * a) * bracket;
}
static double uniform_mass(double r) { return pow(r / 2.4, 3); }

static int compare_doubles(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

typedef void draw(const struct ic_model *m, int64_t index, struct ic_random *r, struct ic_point *point);

/* Kolmogorov and Smirnov: the largest distance of the radii's distribution from the curve. Drawn before the centre of mass
 * is moved, which wide wings take away from the centre of the cusp. */
static void check_profile(const char *name, draw *one, curve *mass)
{
  enum { MANY = 100000 };
  struct ic_model m = model_of(name, MANY, 7);
  double *r = memory_alloc("test", sizeof *r * MANY), worst = 0;
  for (int64_t i = 0; i < MANY; i++) {
    struct ic_random random = random_of(m.seed, (uint64_t)i + 1);
    struct ic_point point;
    one(&m, i, &random, &point);
    r[i] = sqrt(square(point.pos));
  }
  qsort(r, MANY, sizeof *r, compare_doubles);
  for (int64_t i = 0; i < MANY; i++) worst = fmax(worst, fabs(mass(r[i]) - (i + 0.5) / MANY));
  char what[200];
  snprintf(what, sizeof what, "%s: the radii follow M(r) (distance %.4f)", name, worst);
  tap_ok(worst < 1.63 / sqrt(MANY), what);
  memory_free(r);
}

/* In shells of equal mass: <v^2> is three times the radial dispersion, and <v_r^2> a third of that. */
static void check_dispersion(const char *name, curve *mass, curve *dispersion)
{
  enum { SHELLS = 5, MANY = 60000 };
  struct ic_model m = model_of(name, MANY, 11);
  struct particles p;
  double measured[SHELLS] = {0}, radial[SHELLS] = {0}, expected[SHELLS] = {0}, worst = 0, tilt = 0;
  make(&m, &p);
  for (int64_t i = 0; i < MANY; i++) {
    const double *x = p.pos + 3 * i, *v = p.vel + 3 * i;
    double r = sqrt(square(x)), along = (x[0] * v[0] + x[1] * v[1] + x[2] * v[2]) / r;
    int shell = (int)fmin(SHELLS * mass(r), SHELLS - 1);
    if (r > 15) continue;   /* differences of large numbers in the formula */
    measured[shell] += square(v);
    radial[shell] += along * along;
    expected[shell] += 3 * dispersion(r);
  }
  for (int s = 0; s < SHELLS; s++) {
    worst = fmax(worst, fabs(measured[s] / expected[s] - 1));
    tilt = fmax(tilt, fabs(3 * radial[s] / measured[s] - 1));
  }
  char what[200];
  snprintf(what, sizeof what, "%s: the speeds follow the dispersion at every radius (off by %.3f)", name, worst);
  tap_ok(worst < 0.025, what);
  snprintf(what, sizeof what, "%s: they have no preferred direction (off by %.3f)", name, tilt);
  tap_ok(tilt < 0.035, what);
  particles_free(&p);
}

static void check_merger(void)
{
  struct ic_model m = model_of("merger", 40000, 5);
  struct particles p;
  m.mass_ratio = 1. / 3;
  m.separation = 4;
  m.impact_parameter = -0.7;
  m.relative_velocity = 0.9;
  make(&m, &p);
  int64_t count[PARTICLE_TYPES] = {0};
  double mean[PARTICLE_TYPES][6] = {{0}}, inner[PARTICLE_TYPES] = {0};
  for (int64_t i = 0; i < p.n; i++) {
    count[p.type[i]]++;
    for (int c = 0; c < 3; c++) {
      mean[p.type[i]][c] += p.pos[3 * i + c];
      mean[p.type[i]][3 + c] += p.vel[3 * i + c];
    }
  }
  tap_ok(count[1] == 30000 && count[2] == 10000, "merger: particles of equal mass in the ratio of the masses");
  double off[6];
  for (int k = 0; k < 6; k++) off[k] = mean[2][k] / 1e4 - mean[1][k] / 3e4;
  tap_ok(fabs(off[0] - 4) < 0.06 && fabs(off[1] + 0.7) < 0.06 && fabs(off[2]) < 0.06, "merger: separation and impact parameter");
  tap_ok(fabs(off[3] + 0.9) < 0.02 && fabs(off[4]) < 0.02 && fabs(off[5]) < 0.02, "merger: they approach along x");
  /* of a Plummer sphere 0.3536 lies inside its scale radius */
  for (int64_t i = 0; i < p.n; i++) {
    int second = p.type[i] == 2;
    double share = second ? 0.25 : 0.75, lever = second ? 0.75 : -0.25;
    double d[3] = {p.pos[3 * i] - 4 * lever, p.pos[3 * i + 1] + 0.7 * lever, p.pos[3 * i + 2]};
    inner[p.type[i]] += sqrt(square(d)) < 3 * M_PI / 16 * cbrt(share);
  }
  tap_ok(fabs(inner[1] / 3e4 - 0.3536) < 0.012 && fabs(inner[2] / 1e4 - 0.3536) < 0.018, "merger: each sphere has its own scale radius");
  particles_free(&p);
}

/* What holds for every model. */
static void check_common(const char *name)
{
  struct ic_model m = model_of(name, 1000, 3);
  struct particles p, q;
  double sum[6] = {0}, mass = 0;
  int ids = 1;
  make(&m, &p);
  for (int64_t i = 0; i < p.n; i++) {
    ids &= p.id[i] == (uint64_t)i + 1;
    mass += p.mass[i];
    for (int c = 0; c < 3; c++) {
      sum[c] += p.pos[3 * i + c];
      sum[3 + c] += p.vel[3 * i + c];
    }
  }
  double worst = 0;
  for (int k = 0; k < 6; k++) worst = fmax(worst, fabs(sum[k] / 1000));
  char what[200];
  snprintf(what, sizeof what, "%s: N particles with ids from 1, mass 1, the centre of mass at rest at the origin", name);
  tap_ok(p.n == 1000 && ids && fabs(mass - 1) < 1e-6 && worst < 1e-11, what);
  m.seed = 4;
  make(&m, &q);
  snprintf(what, sizeof what, "%s: another seed gives other particles", name);
  tap_ok(particles_digest(&p) != particles_digest(&q) && p.pos[0] != q.pos[0] && p.pos[2997] != q.pos[2997], what);
  particles_free(&p);
  particles_free(&q);
}

static void refuse(struct ic_model m, const char *sentence)
{
  struct fault f = {""};
  struct particles p;
  particles_init(&p);
  tap_ok(ic_make(&alone, &m, &p, &f) == -1 && strstr(f.text, sentence) && p.n == 0, sentence);
  particles_free(&p);
}

static void check_refusals(void)
{
  struct ic_model m = model_of("plumer", 10, 1);
  refuse(m, "unknown model 'plumer'; did you mean 'plummer'?");
  refuse(model_of("plummer", 0, 1), "expected a number from 1 to 2^36, found 0");
  refuse(model_of("merger", 1, 1), "one sphere would be empty");
  m = model_of("uniform", 10, 1);
  m.virial_ratio = 2;
  refuse(m, "virial ratio: expected a number from 0 to 1.9, found 2");
  m = model_of("merger", 10, 1);
  m.mass_ratio = NAN;
  refuse(m, "mass ratio: expected a number from");
  m = model_of("merger", 10, 1);
  m.separation = 1001;
  refuse(m, "separation: expected a number from 0 to 1000, found 1001");
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  comm_open(&alone, MPI_COMM_SELF);
  check_energy("plummer", 1, 0.006);
  check_energy("hernquist", 1, 0.006);
  check_energy("uniform", 0, 0.002);
  check_energy("uniform", 0.5, 0.004);
  check_profile("plummer", plummer_draw, plummer_mass);
  check_profile("hernquist", hernquist_draw, hernquist_mass);
  check_profile("uniform", uniform_draw, uniform_mass);
  check_dispersion("plummer", plummer_mass, plummer_dispersion);
  check_dispersion("hernquist", hernquist_mass, hernquist_dispersion);
  check_merger();
  for (int i = 0; i < ic_count; i++) check_common(ic_names[i]);
  check_refusals();
  tap_ok(memory_current() == 0, "all memory is given back");
  comm_close(&alone);
  MPI_Finalize();
  return tap_end();
}
