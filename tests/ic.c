/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The models' particles against the models' equations. Seeds are fixed; tolerances are about three times the
 * scatter. */
#include <config.h>
#include "ic/ic.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "ic/models.h"
#include "ic_sets.h"
#include "tap.h"

enum { N = 2000, SEEDS = 40 }; /* of the energies: direct sums, so many small sets rather than a large one */

static void check_energy(struct ic_model model, double virial_ratio, double tolerance)
{
  int seeds = model.central_mass > 0 ? SEEDS / 5 : SEEDS; /* its tables take time */
  double kinetic = 0, potential = 0;
  for (int seed = 1; seed <= seeds; seed++) {
    struct particles p;
    model.n = N;
    model.seed = (uint64_t)seed;
    if (strcmp(model.name, "uniform") == 0) model.virial_ratio = virial_ratio;
    make(&model, &p);
    kinetic += kinetic_energy(&p) / seeds;
    potential += potential_energy(&p) / seeds;
    particles_free(&p);
  }
  char what[200];
  double energy = kinetic + potential, ratio = 2 * kinetic / -potential;
  snprintf(what, sizeof what, "%s, W0 = %g, central mass %g: E = %.4f is -1/4", model.name, model.w0,
           model.central_mass, energy);
  tap_ok(fabs(energy + 0.25) < tolerance, what);
  snprintf(what, sizeof what, "%s: 2 T / |W| = %.4f is %g", model.name, ratio, virial_ratio);
  tap_ok(fabs(ratio - virial_ratio) < 0.03 * virial_ratio + 1e-12, what);
}

typedef double curve(double r);

static double plummer_mass(double r)
{
  double b = 3 * M_PI / 16;
  return pow(1 + b * b / (r * r), -1.5) / pow(1 + 1e-4, -1.5);
}
static double plummer_dispersion(double r) { return 1 / (6 * sqrt(r * r + pow(3 * M_PI / 16, 2))); }

static const double hernquist_whole = 301. / 300 * 301 / 300; /* mass of the model that goes on beyond the cut */
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

/* The radii of a model, drawn before the centre of mass is moved, which wide wings take away from the centre of the
 * cusp. */
static void check_profile(struct ic_model model, curve *mass)
{
  enum { MANY = 100000 };
  double *fraction = memory_alloc("test", sizeof *fraction * MANY);
  struct fault f = {""};
  struct ic_plan plan;
  model.seed = 7;
  if (ic_plan_open(&plan, &model, &f)) tap_ok(0, f.text);
  for (int64_t i = 0; i < MANY; i++) {
    struct ic_random random = random_of(model.seed, (uint64_t)i + 1);
    struct ic_point point;
    plan.draw(&plan, i, &random, &point);
    fraction[i] = mass(sqrt(square(point.pos)));
  }
  char what[200];
  double worst = distance_from_uniform(fraction, MANY);
  snprintf(what, sizeof what, "%s, W0 = %g, central mass %g: the radii follow M(r) (distance %.4f)", model.name,
           model.w0, model.central_mass, worst);
  tap_ok(worst < 1.63 / sqrt(MANY), what);
  ic_plan_close(&plan);
  memory_free(fraction);
}

/* In shells of equal mass: <v^2> is three times the radial dispersion, and <v_r^2> a third of that. */
static void check_dispersion(struct ic_model model, curve *mass, curve *dispersion)
{
  enum { SHELLS = 5, MANY = 60000 };
  struct particles p;
  model.n = MANY;
  model.seed = 11;
  double measured[SHELLS] = {0}, radial[SHELLS] = {0}, expected[SHELLS] = {0}, worst = 0, tilt = 0;
  make(&model, &p);
  const double *centre = p.pos + 3 * (MANY - 1), *rest = p.vel + 3 * (MANY - 1);
  for (int64_t i = 0; i < MANY - 1; i++) {
    double x[3], v[3];
    for (int c = 0; c < 3; c++) {
      x[c] = p.pos[3 * i + c] - (model.central_mass > 0 ? centre[c] : 0);
      v[c] = p.vel[3 * i + c] - (model.central_mass > 0 ? rest[c] : 0);
    }
    double r = sqrt(square(x)), along = (x[0] * v[0] + x[1] * v[1] + x[2] * v[2]) / r;
    int shell = (int)fmin(SHELLS * mass(r), SHELLS - 1);
    if (r > 15) continue; /* differences of large numbers in the formula */
    measured[shell] += square(v);
    radial[shell] += along * along;
    expected[shell] += 3 * dispersion(r);
  }
  for (int s = 0; s < SHELLS; s++) {
    worst = fmax(worst, fabs(measured[s] / expected[s] - 1));
    tilt = fmax(tilt, fabs(3 * radial[s] / measured[s] - 1));
  }
  char what[200];
  snprintf(what, sizeof what, "%s, central mass %g: the speeds follow the dispersion at every radius (off by %.3f)",
           model.name, model.central_mass, worst);
  tap_ok(worst < 0.025, what);
  snprintf(what, sizeof what, "%s: they have no preferred direction (off by %.3f)", model.name, tilt);
  tap_ok(tilt < 0.035, what);
  particles_free(&p);
}

/* A sphere on a grid of radii: mass inside as a fraction, radial dispersion squared. */
enum { GRID = 20000 };
static double grid_r[GRID], grid_mass[GRID], grid_dispersion[GRID];

static double from_grid(const double *y, double r)
{
  int low = 0, high = GRID - 1;
  if (r <= grid_r[0]) return y[0];
  if (r >= grid_r[high]) return y[high];
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (grid_r[middle] <= r) low = middle;
    else high = middle;
  }
  return y[low] + (y[high] - y[low]) * (r - grid_r[low]) / (grid_r[high] - grid_r[low]);
}
static double mass_on_grid(double r) { return from_grid(grid_mass, r); }
static double dispersion_on_grid(double r) { return from_grid(grid_dispersion, r); }

/* King's density by his equation 1966, 21 (unit: exp(W) at large W), and the pressure, its integral over W. */
static double king_density(double w)
{
  if (w < 1e-3) return w > 0 ? 8 / (15 * sqrt(M_PI)) * pow(w, 2.5) : 0;
  return exp(w) * erf(sqrt(w)) - sqrt(4 * w / M_PI) * (1 + 2 * w / 3);
}
static double king_pressure(double w)
{
  if (w < 1e-2) return w > 0 ? 16 / (105 * sqrt(M_PI)) * pow(w, 3.5) : 0;
  return king_density(w) - 8 / (15 * sqrt(M_PI)) * pow(w, 2.5);
}

/* d(W, m)/dx. */
static void king_slope(const double y[2], double x, double w0, double dy[2])
{
  dy[0] = -y[1] / (x * x);
  dy[1] = 9 * x * x * king_density(y[0]) / king_density(w0);
}

/* King's equation by the classical method of Runge and Kutta, outwards in the radius, and scaled to W = -1/2 and M = 1.
 * Returns log10(tidal radius / core radius). */
static double solve_king(double w0)
{
  double x = 1e-3, y[2] = {w0 - 1.5e-6, 3e-9}, energy = 0;
  int n = 0;
  while (n < GRID && y[0] > 0) {
    double k[4][2], at[2], h = 2e-3 * fmin(x, 0.5 + 0.5 * x), old = y[1];
    grid_r[n] = x;
    grid_mass[n] = y[1];
    grid_dispersion[n++] = king_pressure(y[0]) / king_density(y[0]);
    king_slope(y, x, w0, k[0]);
    for (int s = 1; s < 4; s++) {
      double part = s == 3 ? h : h / 2;
      for (int c = 0; c < 2; c++) at[c] = y[c] + part * k[s - 1][c];
      king_slope(at, x + part, w0, k[s]);
    }
    for (int c = 0; c < 2; c++) y[c] += h / 6 * (k[0][c] + 2 * k[1][c] + 2 * k[2][c] + k[3][c]);
    x += h;
    energy += 0.5 * (old + y[1]) * (y[1] - old) / (x - h / 2);
  }
  double whole = y[1], scale = 2 * energy / (whole * whole);
  for (int i = 0; i < GRID; i++) {
    if (i >= n) {
      grid_r[i] = x + i;
      grid_mass[i] = whole;
      grid_dispersion[i] = 0;
    }
    grid_r[i] *= scale;
    grid_mass[i] /= whole;
    grid_dispersion[i] /= whole * scale;
  }
  return n < GRID ? log10(x) : NAN;
}

/* Hernquist's sphere with a central mass, by Jeans's equation. */
static void solve_hernquist(double centre)
{
  double whole = (1 - centre) * hernquist_whole, a = 2 * whole * (whole / 6 + centre), pressure = 0;
  for (int i = GRID - 1; i >= 0; i--) {
    double step = log(1e9) / GRID, x = 1e-5 * exp(step * i), inside = x * x / ((1 + x) * (1 + x)),
           density = 1 / (x * pow(1 + x, 3));
    pressure += step * density * (whole * inside + centre) / (a * x);
    grid_r[i] = a * x;
    grid_mass[i] = fmin(hernquist_whole * inside, 1);
    grid_dispersion[i] = pressure / density;
  }
}

/* \param concentration  log10(tidal radius / core radius): King 1966, figure 2; Binney & Tremaine 2008, figure 4.9 */
static void check_king(double w0, double concentration)
{
  struct ic_model m = model_of("king", 1, 1);
  m.w0 = w0;
  char what[100];
  double found = solve_king(w0);
  snprintf(what, sizeof what, "king, W0 = %g: log10(tidal radius / core radius) = %.3f is %.3f", w0, found,
           concentration);
  tap_ok(fabs(found - concentration) < 2e-3, what);
  check_profile(m, mass_on_grid);
  check_dispersion(m, mass_on_grid, dispersion_on_grid);
}

static void check_central(const char *name, double fraction)
{
  struct ic_model m = model_of(name, 1, 1);
  m.central_mass = fraction;
  if (strcmp(name, "hernquist") == 0) {
    solve_hernquist(fraction);
    check_dispersion(m, mass_on_grid, dispersion_on_grid);
  }
  check_energy(m, 1, 0.01);
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
  tap_ok(fabs(off[0] - 4) < 0.06 && fabs(off[1] + 0.7) < 0.06 && fabs(off[2]) < 0.06,
         "merger: separation and impact parameter");
  tap_ok(fabs(off[3] + 0.9) < 0.02 && fabs(off[4]) < 0.02 && fabs(off[5]) < 0.02, "merger: they approach along x");
  /* of a Plummer sphere 0.3536 lies inside its scale radius */
  for (int64_t i = 0; i < p.n; i++) {
    int second = p.type[i] == 2;
    double share = second ? 0.25 : 0.75, lever = second ? 0.75 : -0.25;
    double d[3] = {p.pos[3 * i] - 4 * lever, p.pos[3 * i + 1] + 0.7 * lever, p.pos[3 * i + 2]};
    inner[p.type[i]] += sqrt(square(d)) < 3 * M_PI / 16 * cbrt(share);
  }
  tap_ok(fabs(inner[1] / 3e4 - 0.3536) < 0.012 && fabs(inner[2] / 1e4 - 0.3536) < 0.018,
         "merger: each sphere has its own scale radius");
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
  snprintf(what, sizeof what, "%s: N particles with ids from 1, mass 1, the centre of mass at rest at the origin",
           name);
  tap_ok(p.n == 1000 && ids && fabs(mass - 1) < 1e-6 && worst < 1e-11, what);
  m.seed = 4;
  make(&m, &q);
  snprintf(what, sizeof what, "%s: another seed gives other particles", name);
  tap_ok(particles_digest(&p) != particles_digest(&q) && p.pos[0] != q.pos[0] && p.pos[2997] != q.pos[2997], what);
  particles_free(&p);
  particles_free(&q);
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
  struct ic_model plummer = model_of("plummer", 1, 1), hernquist = model_of("hernquist", 1, 1),
                  king = model_of("king", 1, 1);
  struct ic_model uniform = model_of("uniform", 1, 1);
  check_energy(plummer, 1, 0.006);
  check_energy(hernquist, 1, 0.006);
  check_energy(king, 1, 0.006);
  king.w0 = 11;
  check_energy(king, 1, 0.006);
  check_energy(uniform, 0, 0.002);
  check_energy(uniform, 0.5, 0.004);
  check_profile(plummer, plummer_mass);
  check_profile(hernquist, hernquist_mass);
  check_profile(uniform, uniform_mass);
  check_dispersion(plummer, plummer_mass, plummer_dispersion);
  check_dispersion(hernquist, hernquist_mass, hernquist_dispersion);
  check_king(1, 0.295);
  check_king(6, 1.255);
  check_king(9, 2.119);
  check_central("hernquist", 0.01);
  check_central("hernquist", 0.3);
  check_central("king", 0.01);
  check_central("plummer", 0.03);
  check_merger();
  for (int i = 0; i < ic_count; i++) check_common(ic_names[i]);
  check_refusals();
  tap_ok(memory_current() == 0, "all memory is given back");
  comm_close(&alone);
  MPI_Finalize();
  return tap_end();
}
