/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mass functions, binaries and central masses of the models. Seeds are fixed; tolerances are about three times the
 * scatter. */
#include <config.h>
#include "ic/ic.h"

#include "base/memory.h"
#include "ic/models.h"
#include "ic_sets.h"
#include "tap.h"

/* int m^p dN/dm dm of Kroupa (2001) by the midpoint rule in ln m. */
static double kroupa_moment(double low, double high, double power)
{
  enum { STEPS = 20000 };
  double sum = 0, step = log(high / low) / STEPS;
  for (int i = 0; i < STEPS; i++) {
    double m = low * exp(step * (i + 0.5));
    double number = m < 0.08  ? pow(m / 0.08, -0.3)
                    : m < 0.5 ? pow(m / 0.08, -1.3)
                              : pow(0.5 / 0.08, -1.3) * pow(m / 0.5, -2.3);
    sum += pow(m, power + 1) * number * step;
  }
  return sum;
}

static void check_kroupa(double low, double high)
{
  enum { MANY = 100000 };
  struct ic_model m = model_of("plummer", MANY, 5);
  struct particles p;
  m.masses = IC_KROUPA;
  m.mass_min = low;
  m.mass_max = high;
  struct ic_facts facts = make(&m, &p);
  double number = kroupa_moment(low, high, 0), mean = kroupa_moment(low, high, 1) / number;
  double scatter = sqrt((kroupa_moment(low, high, 2) / number - mean * mean) / MANY), sum = 0, smallest = INFINITY,
         largest = 0, below = 0;
  for (int64_t i = 0; i < p.n; i++) {
    double mass = p.mass[i] * facts.mass_solar;
    sum += p.mass[i];
    smallest = fmin(smallest, mass);
    largest = fmax(largest, mass);
    below += mass < 0.5;
  }
  char what[200];
  double found = facts.mass_solar / MANY,
         share = low < 0.5 && high > 0.5 ? kroupa_moment(low, 0.5, 0) / number : high <= 0.5;
  snprintf(what, sizeof what, "kroupa, %g to %g: the mean mass is %.4f, expected %.4f +- %.4f", low, high, found, mean,
           scatter);
  tap_ok(fabs(found - mean) < 3 * scatter, what);
  snprintf(what, sizeof what, "kroupa, %g to %g: a fraction of %.4f is below 0.5, expected %.4f", low, high,
           below / MANY, share);
  tap_ok(fabs(below / MANY - share) < 3 * sqrt(share * (1 - share) / MANY) + 1e-12, what);
  snprintf(what, sizeof what, "kroupa, %g to %g: masses lie between the limits, their sum is 1", low, high);
  tap_ok(fabs(sum - 1) < 1e-6 && smallest > low * 0.999999 && smallest < low * 1.01 && largest < high * 1.000001 &&
             largest > high * 0.4,
         what);
  particles_free(&p);
}

static void check_two(void)
{
  struct ic_model m = model_of("king", 4000, 5);
  struct particles p, q;
  m.masses = IC_TWO;
  m.heavy_ratio = 7;
  m.heavy_fraction = 0.3;
  make(&m, &p);
  m.seed = 6;
  make(&m, &q);
  int64_t heavy = 0, pairs = 0, both = 0, other = 0;
  double light = 1 / (2800 + 7 * 1200.), worst = 0;
  for (int64_t i = 0; i < p.n; i++) {
    int is = p.mass[i] > 4 * light;
    worst = fmax(worst, fabs(p.mass[i] / light - (is ? 7 : 1)));
    heavy += is;
    other += q.mass[i] > 4 * light;
    both += is && q.mass[i] > 4 * light;
    pairs += i > 0 && is && p.mass[i - 1] > 4 * light;
  }
  tap_ok(heavy == 1200 && other == 1200 && worst < 1e-5,
         "two masses: their ratio, and exactly the number of heavy stars");
  tap_ok(fabs(pairs - 360.) < 60 && fabs(both - 360.) < 60, "two masses: which stars are heavy is random");
  particles_free(&p);
  particles_free(&q);
}

/* The centres of mass of the binaries in place of their members. */
static void join(const struct ic_model *model, struct particles *particles)
{
  int64_t binaries = ic_multiples(model).binaries, to = 0;
  for (int64_t i = 0; i < particles->n; to++) {
    double mass = particles->mass[i], next = i < 2 * binaries ? particles->mass[i + 1] : 0;
    for (int c = 0; c < 3; c++) {
      particles->pos[3 * to + c] =
          next > 0 ? (mass * particles->pos[3 * i + c] + next * particles->pos[3 * i + 3 + c]) / (mass + next)
                   : particles->pos[3 * i + c];
      particles->vel[3 * to + c] =
          next > 0 ? (mass * particles->vel[3 * i + c] + next * particles->vel[3 * i + 3 + c]) / (mass + next)
                   : particles->vel[3 * i + c];
    }
    particles->mass[to] = (float)(mass + next);
    i += next > 0 ? 2 : 1;
  }
  particles->n = to;
}

static void check_energy(struct ic_model model, const char *name)
{
  enum { SEEDS = 40 };
  double kinetic = 0, potential = 0;
  for (int seed = 1; seed <= SEEDS; seed++) {
    struct particles p;
    model.seed = (uint64_t)seed;
    make(&model, &p);
    join(&model, &p);
    kinetic += kinetic_energy(&p) / SEEDS;
    potential += potential_energy(&p) / SEEDS;
    particles_free(&p);
  }
  char what[200];
  double energy = kinetic + potential, ratio = 2 * kinetic / -potential;
  snprintf(what, sizeof what, "%s of %s: E = %.4f is -1/4, 2 T / |W| = %.4f is 1", model.name, name, energy, ratio);
  tap_ok(fabs(energy + 0.25) < 0.008 && fabs(ratio - 1) < 0.03, what);
}

static void check_energies(void)
{
  struct ic_model m = model_of("king", 1000, 1);
  m.masses = IC_KROUPA;
  m.mass_max = 5;
  check_energy(m, "Kroupa's stars");
  m.masses = IC_TWO;
  m.binaries = 0.4;
  check_energy(m, "two masses and binaries");
}

/* Semi-major axis, eccentricity, mean anomaly and the z-component of the direction of the angular momentum of particles
 * 2 k and 2 k + 1. */
static void elements(const struct particles *particles, int64_t k, double of[4])
{
  double d[3], u[3], mass = (double)particles->mass[2 * k] + particles->mass[2 * k + 1];
  for (int c = 0; c < 3; c++) {
    d[c] = particles->pos[6 * k + 3 + c] - particles->pos[6 * k + c];
    u[c] = particles->vel[6 * k + 3 + c] - particles->vel[6 * k + c];
  }
  double r = sqrt(square(d)), along = d[0] * u[0] + d[1] * u[1] + d[2] * u[2];
  double spin[3] = {d[1] * u[2] - d[2] * u[1], d[2] * u[0] - d[0] * u[2], d[0] * u[1] - d[1] * u[0]};
  double a = 1 / (2 / r - square(u) / mass), e_sine = along / sqrt(mass * a), e_cosine = 1 - r / a,
         anomaly = atan2(e_sine, e_cosine);
  of[0] = a;
  of[1] = sqrt(e_sine * e_sine + e_cosine * e_cosine);
  of[2] = anomaly - e_sine;
  of[3] = spin[2] / sqrt(square(spin));
}

static void check_binaries(void)
{
  enum { BINARIES = 5000 };
  struct ic_model m = model_of("plummer", 15001, 9), single = m;
  struct particles p, q;
  static double x[4][BINARIES];
  static const char *const names[4] = {"the logarithm of the semi-major axis", "the square of the eccentricity",
                                       "the mean anomaly", "the direction of the orbit"};
  char what[200];
  m.binaries = 0.5;
  m.central_mass = single.central_mass = 0.01;
  make(&m, &p);
  make(&single, &q);
  tap_ok(ic_multiples(&m).binaries == BINARIES, "as many binaries as single stars");
  for (int64_t k = 0; k < BINARIES; k++) {
    double of[4];
    elements(&p, k, of);
    x[0][k] = log(of[0] / m.binary_min) / log(m.binary_max / m.binary_min);
    x[1][k] = of[1] * of[1];
    x[2][k] = 0.5 + of[2] / (2 * M_PI);
    x[3][k] = 0.5 + of[3] / 2;
  }
  for (int k = 0; k < 4; k++) {
    double worst = distance_from_uniform(x[k], BINARIES);
    snprintf(what, sizeof what, "binaries: %s is uniform (distance %.4f)", names[k], worst);
    tap_ok(worst < 1.63 / sqrt(BINARIES), what);
  }
  /* relative to the central mass, which is the last particle */
  double worst = 0;
  for (int64_t k = 0; k < BINARIES; k++)
    for (int c = 0; c < 3; c++)
      for (int of = 0; of < 2; of++) {
        const double *a = of ? p.vel : p.pos, *b = of ? q.vel : q.pos;
        double centre = (a[6 * k + c] + a[6 * k + 3 + c]) / 2 - a[3 * 15000 + c];
        worst = fmax(worst, fabs(centre - (b[6 * k + c] - b[3 * 15000 + c])));
      }
  snprintf(what, sizeof what,
           "binaries: their centres of mass have the positions and velocities of the model (off by %.1e)", worst);
  tap_ok(worst < 1e-11, what);
  particles_free(&p);
  particles_free(&q);
}

/* One semi-major axis and one eccentricity, unequal masses. */
static void check_given_elements(double e)
{
  struct ic_model m = model_of("king", 400, 3);
  struct particles p;
  double worst[2] = {0, 0}, of[4];
  m.masses = IC_KROUPA;
  m.binaries = 1;
  m.binary_min = m.binary_max = 3e-3;
  m.eccentricity = e;
  make(&m, &p);
  for (int64_t k = 0; k < ic_multiples(&m).binaries; k++) {
    elements(&p, k, of);
    worst[0] = fmax(worst[0], fabs(of[0] / 3e-3 - 1));
    worst[1] = fmax(worst[1], fabs(of[1] - e));
  }
  char what[200];
  snprintf(what, sizeof what, "binaries: a = 0.003, e = %g for all (off by %.1e, %.1e)", e, worst[0], worst[1]);
  tap_ok(ic_multiples(&m).binaries == 200 && worst[0] < 1e-8 && worst[1] < 1e-8, what);
  particles_free(&p);
}

static void check_central(const char *name)
{
  struct ic_model m = model_of(name, 3000, 3);
  struct particles p;
  double sum[7] = {0}, inside = 0, bound = 1;
  m.central_mass = 0.2;
  m.masses = IC_KROUPA;
  struct ic_facts facts = make(&m, &p);
  const double *centre = p.pos + 3 * (p.n - 1), *rest = p.vel + 3 * (p.n - 1);
  for (int64_t i = 0; i < p.n; i++) {
    double d[3], u[3];
    for (int c = 0; c < 3; c++) {
      sum[c] += p.mass[i] * p.pos[3 * i + c];
      sum[3 + c] += p.mass[i] * p.vel[3 * i + c];
      d[c] = p.pos[3 * i + c] - centre[c];
      u[c] = p.vel[3 * i + c] - rest[c];
    }
    sum[6] += p.mass[i];
    inside += i < p.n - 1 && square(d) < facts.half_mass_radius * facts.half_mass_radius;
    bound = fmin(bound, i < p.n - 1 ? 1 / sqrt(square(d)) - square(u) / 2 : 1);
  }
  double worst = 0;
  for (int k = 0; k < 6; k++) worst = fmax(worst, fabs(sum[k]));
  char what[200];
  snprintf(what, sizeof what,
           "%s: the last particle is the central mass, of type 5; the centre of all masses is at rest at the origin",
           name);
  tap_ok(p.id[p.n - 1] == 3000 && p.type[p.n - 1] == 5 && p.type[0] == 1 && fabs(p.mass[p.n - 1] - 0.2) < 1e-7 &&
             fabs(sum[6] - 1) < 1e-6 && worst < 1e-10,
         what);
  snprintf(what, sizeof what,
           "%s: half of the stars are within the half-mass radius of the central mass, and all are bound", name);
  tap_ok(fabs(inside / 2999 - 0.5) < 0.03 && bound > 0, what);
  particles_free(&p);
}

static struct ic_model changed(const char *name, double *(*member)(struct ic_model *), double value)
{
  struct ic_model m = model_of(name, 10, 1);
  *member(&m) = value;
  return m;
}
static double *w0(struct ic_model *model) { return &model->w0; }
static double *central_mass(struct ic_model *model) { return &model->central_mass; }
static double *mass_min(struct ic_model *model) { return &model->mass_min; }
static double *heavy_ratio(struct ic_model *model) { return &model->heavy_ratio; }
static double *binaries(struct ic_model *model) { return &model->binaries; }
static double *binary_min(struct ic_model *model) { return &model->binary_min; }
static double *eccentricity(struct ic_model *model) { return &model->eccentricity; }

static void check_refusals(void)
{
  refuse(changed("king", w0, 13), "W0: expected a number from 0.3 to 12, found 13");
  refuse(changed("king", w0, NAN), "W0: expected a number");
  refuse(changed("plummer", central_mass, 1), "central mass: expected a number from 0 to 0.9, found 1");
  refuse(changed("plummer", mass_min, 200), "the smallest mass, 200, must be below the largest, 100");
  refuse(changed("plummer", heavy_ratio, 0.5), "ratio of the heavy mass: expected a number from 1 to 1e+06, found 0.5");
  refuse(changed("plummer", binaries, 1.5), "fraction of binaries: expected a number from 0 to 1, found 1.5");
  refuse(changed("plummer", binary_min, 0.1), "the smallest semi-major axis, 0.1, must not exceed the largest, 0.001");
  refuse(changed("plummer", eccentricity, 1), "eccentricity: expected a number from 0 to 0.9999, found 1");
  struct ic_model m = changed("king", central_mass, 0.1);
  m.n = 1;
  refuse(m, "a central mass is one of the particles: expected at least 2 of them, found 1");
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  comm_open(&alone, MPI_COMM_SELF);
  check_kroupa(0.08, 100);
  check_kroupa(0.02, 0.4);
  check_kroupa(0.3, 3);
  check_two();
  check_energies();
  check_binaries();
  check_given_elements(0);
  check_given_elements(0.9);
  check_central("plummer");
  check_central("hernquist");
  check_central("king");
  check_refusals();
  tap_ok(memory_current() == 0, "all memory is given back");
  comm_close(&alone);
  MPI_Finalize();
  return tap_end();
}
