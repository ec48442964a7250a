/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Spheroids of galaxy models against formulas: masses, potentials, distribution functions, the Jeans equations, drawn
 * particles, orbits. */
#include <config.h>
#include <gsl/gsl_sf_dawson.h>
#include <gsl/gsl_sf_gamma.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ic/galaxy/make.h"
#include "ic/models.h"
#include "tap.h"

/* The larger of two errors; one that is not a number is infinite. */
static double larger(double a, double b) { return isnan(b) ? INFINITY : fmax(a, b); }

static struct galaxy one(enum galaxy_profile profile, double index)
{
  struct galaxy g = {.gravity = 1, .count = 1};
  g.component[0] = (struct galaxy_component){.name = "a",
                                             .profile = profile,
                                             .n = 1000,
                                             .mass = 1,
                                             .scale = 1,
                                             .index = index,
                                             .inner = 1,
                                             .outer = 4,
                                             .sharpness = 1,
                                             .type = 1};
  return g;
}

static void cut(struct galaxy *galaxy, int i, double radius, double width)
{
  galaxy->component[i].cutoff = radius;
  galaxy->component[i].cutoff_width = width;
}

/* --- masses ------------------------------------------------------------------------------------------------------- */

typedef double curve(double x, double index);
static double plummer(double x, double n) { return (void)n, pow(1 + 1 / (x * x), -1.5); }
static double hernquist(double x, double n) { return (void)n, x * x / ((1 + x) * (1 + x)); }
static double jaffe(double x, double n) { return (void)n, x / (1 + x); }
static double nfw(double x, double n) { return (void)n, log1p(x) - x / (1 + x); }
static double moore(double x, double n) { return (void)n, log1p(pow(x, 1.5)); }
static double burkert(double x, double n) { return (void)n, log1p(x * x) + 2 * log1p(x) - 2 * atan(x); }
static double einasto(double x, double n) { return gsl_sf_gamma_inc_P(3 / n, 2 / n * pow(x, n)); }

/* Masses within radii, relative to that within one scale radius where the profile is cut. */
static void check_mass(enum galaxy_profile profile, double index, curve *mass, int infinite, double tolerance)
{
  struct galaxy g = one(profile, index);
  struct fault f = {""};
  char what[200];
  if (infinite) cut(&g, 0, 1e4, 500);
  struct radial *t = sphere_mass(&g, 0, &f);
  double worst = t ? 0 : INFINITY, unit = !t ? 1 : infinite ? radial_mass(t, 1) / mass(1, index) : 1;
  for (double x = 1e-3; t && x < 100; x *= 1.37)
    worst = larger(worst, fabs(radial_mass(t, x) / (unit * mass(x, index)) - 1));
  double all = t ? radial_mass(t, 1e9) : 0;
  snprintf(what, sizeof what, "%s: M(r), relative error %.1e, total mass %.12g", galaxy_profile_names[profile], worst,
           all);
  tap_ok(worst < tolerance && fabs(all - 1) < 1e-9, what);
  radial_free(t);
}

/* The mass of a deprojected Sersic sphere within the cylinder of its effective radius is half of it; and its surface
 * brightness. */
static void check_sersic(double index)
{
  struct galaxy g = one(PROFILE_SERSIC, index);
  struct fault f = {""};
  struct radial *t = sphere_mass(&g, 0, &f);
  double inside = t ? radial_mass(t, 1) : 0;
  for (int k = 0; t && k + 1 < radial_nodes(t); k++) { /* dM at r > 1: the part of a shell within the cylinder */
    double low = fmax(radial_node(t, k), 1), high = radial_node(t, k + 1);
    if (high <= 1) continue;
    double r = sqrt(low * high);
    inside += (radial_mass(t, high) - radial_mass(t, low)) * (1 - sqrt(1 - 1 / (r * r)));
  }
  char what[200];
  snprintf(what, sizeof what, "sersic, n = %g: %.5f of the mass within the effective radius", index, inside);
  tap_ok(fabs(inside - 0.5) < 5e-4, what);
  radial_free(t);
}

static void check_king(double w0)
{
  struct galaxy g = one(PROFILE_KING, w0);
  struct fault f = {""};
  const double *x, *w, *m;
  struct radial *t = sphere_mass(&g, 0, &f);
  struct king_table *k = king_solve(w0, &f);
  double worst = t && k ? 0 : INFINITY;
  int n = k ? king_nodes(k, &x, &w, &m) : 0;
  for (int i = 1; t && i < n; i++) worst = larger(worst, fabs(radial_mass(t, x[i]) / (m[i] / m[n - 1]) - 1));
  char what[200];
  snprintf(what, sizeof what, "king, W0 = %g: M(r) is that of the ODE, relative error %.1e", w0, worst);
  tap_ok(worst < 1e-5, what);
  king_free(k);
  radial_free(t);
}

/* A table of (r, rho) is the profile that it was made of. */
static void check_table(void)
{
  struct galaxy g = one(PROFILE_TABLE, 0);
  struct fault f = {""};
  FILE *out = fopen("galaxy_table.txt", "w");
  fprintf(out, "# r density\n");
  for (double r = 1e-3; r < 5e4; r *= 1.15) fprintf(out, "%.9g %.9g\n", r, 1 / (r * pow(1 + r, 3)));
  fclose(out);
  snprintf(g.component[0].table, sizeof g.component[0].table, "galaxy_table.txt");
  struct radial *t = sphere_mass(&g, 0, &f);
  double worst = t ? 0 : INFINITY;
  /* within the first row it is a power law */
  for (double x = 5e-3; t && x < 100; x *= 1.37) worst = larger(worst, fabs(radial_mass(t, x) / hernquist(x, 0) - 1));
  char what[1200];
  snprintf(what, sizeof what, "a table: M(r), relative error %.1e %s", worst, f.text);
  tap_ok(worst < 1e-3, what);
  radial_free(t);
  remove("galaxy_table.txt");
}

/* Potentials within the grid, below and above it, of a sphere with a black hole, and of sums of tables. */
static void check_potential(void)
{
  struct galaxy g = one(PROFILE_HERNQUIST, 0);
  struct fault f = {""};
  struct radial *parts[3] = {sphere_mass(&g, 0, &f), NULL, NULL};
  g.component[0].scale = 0.03;
  parts[2] = sphere_mass(&g, 0, &f);
  struct radial *t = radial_sum(3, parts);
  radial_add_point(t, 0.01);
  double worst = 0, pull = 0, density = 0;
  for (double r = 1e-6; r < 3e3; r *= 1.7) {
    double phi = -1 / (1 + r) - 1 / (0.03 + r) - 0.01 / r, gm = hernquist(r, 0) + hernquist(r / 0.03, 0) + 0.01;
    double rho = 0.5 / M_PI / (r * pow(1 + r, 3)) + 0.5 * 0.03 / M_PI / (r * pow(0.03 + r, 3));
    worst = larger(worst, fabs(radial_potential(t, r) / phi - 1));
    pull = larger(pull, fabs(radial_inward(t, r) * r * r / gm - 1));
    if (r < 100) density = larger(density, fabs(radial_density(t, r) / rho - 1));
  }
  double far = fabs(radial_potential(t, 1e7) * 1e7 / -2.01 - 1), deep = radial_potential(t, 1e-12);
  char what[200];
  snprintf(what, sizeof what, "two spheres and a black hole: errors of potential %.1e, force %.1e, density %.1e", worst,
           pull, density);
  /* the mass beyond 10^4 scale radii is within them */
  tap_ok(worst < 4e-4 && pull < 4e-4 && density < 1e-3, what);
  tap_ok(far < 1e-12 && fabs(deep / (-0.01 / 1e-12) - 1) < 1e-3, "the potential beyond the grid and within it");
  tap_ok(radial_sum(2, (struct radial *[]){NULL, NULL}) == NULL, "the sum of no tables is none");
  radial_free(t);
  for (int i = 0; i < 3; i++) radial_free(parts[i]);
}

/* --- distribution functions --------------------------------------------------------------------------------------- */

static double power_law(double n, double e)
{
  return tgamma(n + 1) / (pow(2 * M_PI, 1.5) * tgamma(n - 0.5)) * pow(e, n - 1.5);
}
static double f_plummer(double e, double ra)
{
  double part = ra > 0 ? 1 / (ra * ra) : 0;
  return 0.75 / M_PI * ((1 - part) * power_law(5, e) + (part > 0 ? part * power_law(3, e) : 0));
}
static double f_hernquist(double e, double ra)
{
  (void)ra;
  double q = sqrt(e), p = 1 - e;
  return (3 * asin(q) + q * sqrt(p) * (1 - 2 * e) * (8 * e * e - 8 * e - 3)) /
         (8 * M_SQRT2 * M_PI * M_PI * M_PI * pow(p, 2.5));
}
static double f_jaffe(double e, double ra)
{
  (void)ra;
  double a = sqrt(2 * e), b = sqrt(e);
  double minus_a = 0.5 * sqrt(M_PI) * exp(a * a) * erf(a), minus_b = 0.5 * sqrt(M_PI) * exp(b * b) * erf(b);
  return (minus_a - M_SQRT2 * minus_b - M_SQRT2 * gsl_sf_dawson(b) + gsl_sf_dawson(a)) / (2 * M_PI * M_PI * M_PI);
}

static void check_distribution(enum galaxy_profile profile, curve *f_exact, curve *mass, double ra, double low,
                               double high)
{
  struct galaxy g = one(profile, 0);
  struct fault f = {""};
  struct galaxy_tables t;
  char what[1200];
  double worst = INFINITY, energy;
  g.component[0].anisotropy_radius = ra;
  g.component[0].mass = mass(1e4, 0); /* so that the infinite model has the mass 1 */
  if (galaxy_open(&t, &g, &f) == 0) {
    worst = 0;
    for (int k = 0; k < spheres_energies(t.spheres); k++) {
      double value = sphere_distribution(t.spheres, 0, k, &energy);
      if (energy > low && energy < high) worst = larger(worst, fabs(value / f_exact(energy, ra) - 1));
    }
  }
  snprintf(what, sizeof what, "%s, r_a = %g: the distribution function, relative error %.1e %s",
           galaxy_profile_names[profile], ra, worst, f.text);
  tap_ok(worst < 3e-3, what);
  galaxy_close(&t);
}

/* --- the Jeans equations ------------------------------------------------------------------------------------------ */

/* Dispersions of a component against the integral of density times force, by Simpson's rule in ln r, from where 0.1 %
 * of the mass is within to 99.5 %. */
static double jeans_error(const struct galaxy_tables *tables, int i)
{
  enum { STEPS = 4000 };
  const struct galaxy_component *c = &tables->g->component[i];
  double ra = c->anisotropy_radius, worst = 0, whole = radial_mass(tables->part[i], 1e300);
  for (double r = 1e-4 * c->scale; radial_mass(tables->part[i], r) < 0.995 * whole; r *= 1.5) {
    if (radial_mass(tables->part[i], r) < 0.001 * whole) continue;
    double end = log(radial_node(tables->part[i], radial_nodes(tables->part[i]) - 1)), begin = log(r),
           h = (end - begin) / STEPS, sum = 0;
    for (int k = 0; k <= STEPS; k++) {
      double x = exp(begin + h * k), weight = k == 0 || k == STEPS ? 1 : k % 2 ? 4 : 2;
      double beta = ra > 0 ? x * x / (ra * ra) + 1 : 1;
      sum += weight * x * beta * sphere_profile_at(tables->spheres, i, x).density * radial_inward(tables->total, x);
    }
    struct sphere_profile p = sphere_profile_at(tables->spheres, i, r);
    double sigma = sqrt(sum * h / 3 / p.density / (ra > 0 ? r * r / (ra * ra) + 1 : 1));
    worst = larger(worst, fabs(p.sigma_r / sigma - 1));
  }
  return worst;
}

/* A model like that of the Andromeda galaxy without its disc: halo, stellar halo, bulge and black hole. */
static struct galaxy andromeda(void)
{
  struct galaxy g = {.name = "m31", .gravity = 4.4983315, .count = 4};
  g.component[0] = (struct galaxy_component){
      .name = "halo", .profile = PROFILE_NFW, .n = 40000, .mass = 8110, .scale = 7.63, .type = 1};
  g.component[1] = (struct galaxy_component){.name = "stars",
                                             .profile = PROFILE_SERSIC,
                                             .n = 2000,
                                             .mass = 80,
                                             .scale = 9,
                                             .index = 2.2,
                                             .type = 4,
                                             .anisotropy_radius = 12};
  g.component[2] = (struct galaxy_component){
      .name = "bulge", .profile = PROFILE_HERNQUIST, .n = 8000, .mass = 324, .scale = 0.61, .type = 3};
  g.component[3] = (struct galaxy_component){.name = "hole", .profile = PROFILE_POINT, .n = 1, .mass = 1, .type = 5};
  cut(&g, 0, 200, 20);
  return g;
}

/* --- drawn particles ---------------------------------------------------------------------------------------------- */

static double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/* Radii by M(r); the virial ratio; dispersions within the radii of a tenth and nine tenths of the mass, in units of
 * those of the tables, radial and tangential. Tolerances are four times the noise. */
static void check_drawn(const struct galaxy_tables *tables, int component)
{
  enum { MANY = 60000, BINS = 50 };
  double count[BINS] = {0}, kinetic = 0, virial = 0, radial = 0, tangential = 0, used = 0,
         whole = radial_mass(tables->part[component], 1e300);
  for (int i = 0; i < MANY; i++) {
    struct ic_random random = random_of(11, (uint64_t)i + 1);
    double x[3], v[3];
    sphere_draw(tables->spheres, component, &random, x, v);
    double r = sqrt(dot(x, x)), share = radial_mass(tables->part[component], r) / whole, along = dot(x, v) / r;
    count[(int)fmin(share * BINS, BINS - 1)]++;
    kinetic += dot(v, v);
    virial += r * radial_inward(tables->total, r);
    if (share < 0.1 || share > 0.9) continue;
    struct sphere_profile p = sphere_profile_at(tables->spheres, component, r);
    radial += along * along / (p.sigma_r * p.sigma_r);
    tangential += (dot(v, v) - along * along) / (2 * p.sigma_t * p.sigma_t);
    used++;
  }
  double chi = 0;
  for (int b = 0; b < BINS; b++) chi += pow(count[b] - MANY / (double)BINS, 2) / (MANY / (double)BINS);
  char what[300];
  const char *name = tables->g->component[component].name;
  snprintf(what, sizeof what, "%s: radii follow M(r) (chi^2 %.0f of %d bins)", name, chi, BINS);
  tap_ok(chi < 95, what);
  snprintf(what, sizeof what, "%s: 2 T / |W| = %.4f, dispersions over those of the table: radial %.4f, tangential %.4f",
           name, kinetic / virial, sqrt(radial / used), sqrt(tangential / used));
  tap_ok(fabs(kinetic / virial - 1) < 0.02 && fabs(sqrt(radial / used) - 1) < 0.013 &&
             fabs(sqrt(tangential / used) - 1) < 0.01,
         what);
}

static void check_andromeda(void)
{
  struct galaxy g = andromeda();
  struct galaxy_tables t;
  struct fault f = {""};
  char what[1200];
  int opened = galaxy_open(&t, &g, &f) == 0;
  snprintf(what, sizeof what, "halo, stars, bulge and black hole %s", f.text);
  tap_ok(opened, what);
  for (int i = 0; opened && i < 3; i++) {
    struct sphere_facts a = sphere_facts(t.spheres, i);
    double error = jeans_error(&t, i), ratio = 2 * a.kinetic / a.virial;
    snprintf(what, sizeof what,
             "%s: dispersions are those of Jeans, relative error %.1e; 2 T / |W| = %.4f, negative %g",
             g.component[i].name, error, ratio, a.negative);
    tap_ok(error < 3e-3 && fabs(ratio - 1) < 3e-3 && a.negative < 1e-3, what);
    check_drawn(&t, i);
  }
  galaxy_close(&t);
}

/* Dispersions of other profiles, alone. */
static void check_jeans(enum galaxy_profile profile, double index, double ra, double edge, double width)
{
  struct galaxy g = one(profile, index);
  struct galaxy_tables t;
  struct fault f = {""};
  char what[1200];
  g.component[0].anisotropy_radius = ra;
  if (edge > 0) cut(&g, 0, edge, width);
  double error = galaxy_open(&t, &g, &f) == 0 ? jeans_error(&t, 0) : INFINITY;
  snprintf(what, sizeof what, "%s, r_a = %g: dispersions are those of Jeans, relative error %.1e %s",
           galaxy_profile_names[profile], ra, error, f.text);
  tap_ok(error < 3e-3, what);
  galaxy_close(&t);
}

/* Models that have no equilibrium are refused, and a small defect is reported. */
static void check_negative(void)
{
  struct galaxy g = one(PROFILE_PLUMMER, 0);
  struct galaxy_tables t;
  struct fault f = {""};
  g.component[0].anisotropy_radius = 0.3;
  tap_ok(galaxy_open(&t, &g, &f) != 0 && strstr(f.text, "[a]") && strstr(f.text, "AnisotropyRadius"),
         "a Plummer sphere that is too radial");
  galaxy_close(&t);
  g.component[0].anisotropy_radius = 0;
  g.count = 2;
  g.component[1] = (struct galaxy_component){.name = "hole", .profile = PROFILE_POINT, .n = 1, .mass = 0.1, .type = 5};
  f.text[0] = 0;
  int opened = galaxy_open(&t, &g, &f) == 0;
  double lost = opened ? sphere_facts(t.spheres, 0).negative : 0;
  char what[1200];
  snprintf(what, sizeof what, "a black hole in a core: %.2g of the mass is reported %s", lost, f.text);
  tap_ok(lost > 1e-4 && lost < 0.03, what);
  galaxy_close(&t);
  g.component[1].mass = 3;
  f.text[0] = 0;
  tap_ok(galaxy_open(&t, &g, &f) != 0 && strstr(f.text, "negative"), "a heavy black hole in a core is refused");
  galaxy_close(&t);
}

/* Two points on an orbit: energy, angular momentum and centre of mass; the spin of an inclined galaxy. */
static void check_orbit(double e, double pericentre, double separation)
{
  struct galaxy_model m;
  struct galaxy_orbit o = {
      .eccentricity = e, .pericentre = pericentre, .separation = separation, .inclination = {0, 60}, .node = {0, 30}};
  struct fault f = {""};
  memset(&m, 0, sizeof m);
  m.count = 2;
  m.galaxy[0] = m.galaxy[1] = one(PROFILE_PLUMMER, 0);
  m.galaxy[0].gravity = 2;
  m.galaxy[1].component[0].mass = 3;
  for (int i = 0; i < 2; i++) m.place[i] = (struct galaxy_place){.rotation = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  int failed = orbit_place(&o, &m, 1, &f);
  const struct galaxy_place *a = &m.place[0], *b = &m.place[1];
  double x[3], v[3], rest = 0;
  for (int k = 0; k < 3; k++) {
    x[k] = b->x[k] - a->x[k];
    v[k] = b->v[k] - a->v[k];
    rest += fabs(a->x[k] + 3 * b->x[k]) + fabs(a->v[k] + 3 * b->v[k]);
  }
  double mu = 2 * 4, energy = 0.5 * dot(v, v) - mu / sqrt(dot(x, x)), spin = x[0] * v[1] - x[1] * v[0];
  double good = fabs(sqrt(dot(x, x)) / separation - 1) + fabs(energy - mu * (e - 1) / (2 * pericentre)) +
                fabs(spin / sqrt(mu * pericentre * (1 + e)) - 1) + rest + fmax(dot(x, v), 0);
  double axis = b->rotation[0][2] - sin(M_PI / 3) * sin(M_PI / 6) + b->rotation[1][2] + sin(M_PI / 3) * cos(M_PI / 6) +
                b->rotation[2][2] - 0.5;
  char what[1200];
  snprintf(what, sizeof what, "orbit, e = %g, pericentre %g, separation %g: error %.1e %s", e, pericentre, separation,
           good + fabs(axis), f.text);
  tap_ok(!failed && good < 1e-12 && fabs(axis) < 1e-12, what);
}

/* Numbers of particles: in proportion to masses, with one's own number, and those of option -n. */
static void check_share(void)
{
  struct galaxy_model m;
  struct fault f = {""};
  memset(&m, 0, sizeof m);
  m.count = 1;
  m.galaxy[0] = andromeda();
  for (int i = 0; i < 3; i++) m.galaxy[0].component[i].n = 0;
  const struct galaxy_component *c = m.galaxy[0].component;
  int ok = galaxy_share("x", 0, 100001, &m, &f) == 0 && c[3].n == 1 && galaxy_particles(&m) == 100001;
  for (int i = 0; i < 3; i++) ok &= fabs((double)c[i].n - 1e5 * c[i].mass / 8514) <= 1;
  tap_ok(ok, "particles of equal mass");
  ok =
      galaxy_rescale("x", 1001, &m, &f) == 0 && galaxy_particles(&m) == 1001 && c[3].n == 1 && llabs(c[0].n - 953) <= 1;
  tap_ok(ok, "the same proportions of another number");
  tap_ok(galaxy_rescale("x", 3, &m, &f) != 0, "fewer particles than components");
}

int main(void)
{
  check_mass(PROFILE_PLUMMER, 0, plummer, 0, 1e-6);
  check_mass(PROFILE_HERNQUIST, 0, hernquist, 0, 3e-4); /* 2e-4 of the mass is beyond 10^4 scale radii */
  check_mass(PROFILE_DOUBLE_POWER, 0, hernquist, 0, 3e-4);
  check_mass(PROFILE_JAFFE, 0, jaffe, 0, 2e-4);
  check_mass(PROFILE_NFW, 0, nfw, 1, 1e-6);
  check_mass(PROFILE_MOORE, 0, moore, 1, 1e-6);
  check_mass(PROFILE_BURKERT, 0, burkert, 1, 1e-6);
  check_mass(PROFILE_EINASTO, 0.17, einasto, 0, 1e-5);
  check_mass(PROFILE_EINASTO, 1, einasto, 0, 1e-6);
  for (double n = 0.6; n < 10; n *= 2.4) check_sersic(n);
  check_king(1);
  check_king(6);
  check_king(11);
  check_table();
  check_potential();
  check_distribution(PROFILE_PLUMMER, f_plummer, plummer, 0, 1e-3, 0.9999999);
  /* the total mass has an error of 1e-6 */
  check_distribution(PROFILE_HERNQUIST, f_hernquist, hernquist, 0, 3e-3, 0.995);
  check_distribution(PROFILE_JAFFE, f_jaffe, jaffe, 0, 3e-3, 12);
  check_distribution(PROFILE_PLUMMER, f_plummer, plummer, 1.5, 1e-3, 0.9999999);
  check_andromeda();
  check_jeans(PROFILE_HERNQUIST, 0, 1, 0, 0);
  check_jeans(PROFILE_EINASTO, 0.17, 0, 30, 6);
  check_jeans(PROFILE_BURKERT, 0, 4, 30, 6);
  check_jeans(PROFILE_MOORE, 0, 0, 20, 2);
  check_jeans(PROFILE_KING, 6, 0, 0, 0);
  check_jeans(PROFILE_SERSIC, 4, 0, 0, 0);
  check_jeans(PROFILE_SERSIC, 0.8, 0, 0, 0);
  check_negative();
  check_orbit(0, 2, 2);
  check_orbit(0.5, 1, 2.5);
  check_orbit(1, 0.5, 20);
  check_orbit(1.7, 3, 30);
  check_share();
  return tap_end();
}
