/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Discs of galaxies: their field against the razor-thin disc's formula, rings and drawn particles; the moments of drawn
 * particles against the profiles; the virial theorem; Toomre's Q; bad discs; threads. Seeds are fixed; tolerances are
 * about three times the scatter. */
#include <config.h>
#include "ic/galaxy/disc.h"

#include <gsl/gsl_sf_bessel.h>
#include <gsl/gsl_sf_ellint.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "tap.h"

enum { MANY = 200000 };
static char what[400];

/* A galaxy with one disc of mass, scale length and G of 1. */
static struct galaxy one(enum galaxy_vertical vertical, double height)
{
  struct galaxy g = {.gravity = 1, .count = 1};
  g.component[0] = (struct galaxy_component){.name = "disc",
                                             .profile = PROFILE_DISC_EXPONENTIAL,
                                             .n = MANY,
                                             .mass = 1,
                                             .scale = 1,
                                             .height = height,
                                             .vertical = vertical,
                                             .toomre_q = 0.7};
  return g;
}

/* A bulge, a halo of ten times the disc's mass, and a small central mass: Hernquist 1990, eq. 3. */
static struct radial *spheroids(void)
{
  enum { NODES = 600 };
  double r[NODES], mass[NODES];
  for (int k = 0; k < NODES; k++) {
    r[k] = 1e-5 * pow(1e8, k / (NODES - 1.0));
    mass[k] = 0.4 * pow(r[k] / (r[k] + 0.15), 2) + 10 * pow(r[k] / (r[k] + 6), 2) + 1e-4;
  }
  return radial_make(NODES, r, mass, 1);
}

static struct discs *opened(const struct galaxy *galaxy, const struct radial *radial)
{
  struct fault f = {""};
  struct discs *d = discs_open(galaxy, radial, &f);
  if (!d) {
    tap_ok(0, f.text);
    exit(tap_end());
  }
  return d;
}

/* The field of an opened set of discs once more, since discs_open keeps only tables of it. */
struct field {
  gsl_spline2d *r, *z;
};
static struct field field_of(struct discs *discs, const struct radial *radial)
{
  size_t size = sizeof(double) * (size_t)discs->grid.coarse * (size_t)discs->grid.layers;
  double *table[3];
  for (int k = 0; k < 3; k++) table[k] = memory_alloc("test", size);
  discs->spheroids = radial;
  discs->phi = table[0];
  discs->force_r = table[1];
  discs->force_z = table[2];
  struct hankel *h = hankel_open(&discs->grid);
  disc_fields(discs, h);
  hankel_free(h);
  struct field f = {disc_table(&discs->grid, discs->force_r), disc_table(&discs->grid, discs->force_z)};
  for (int k = 0; k < 3; k++) memory_free(table[k]);
  discs->spheroids = NULL;
  discs->phi = discs->force_r = discs->force_z = NULL;
  return f;
}
static void field_at(const struct discs *discs, const struct field *field, double radius, double z, double a[2])
{
  double x = disc_lnr(&discs->grid, radius), t = disc_t(&discs->grid, z);
  a[0] = gsl_spline2d_eval(field->r, x, t, NULL, NULL);
  a[1] = copysign(gsl_spline2d_eval(field->z, x, t, NULL, NULL), z);
}
static void field_free(struct field *field)
{
  gsl_spline2d_free(field->r);
  gsl_spline2d_free(field->z);
}

/* BT eqs 2.164 and 2.165: Freeman's razor-thin exponential disc. */
static void check_thin(void)
{
  struct galaxy g = one(VERTICAL_SECH2, 0.001);
  struct discs *d = opened(&g, NULL);
  double worst = 0, worst_potential = 0;
  for (double radius = 0.2; radius < 14; radius *= 1.1) {
    struct disc_profile p;
    disc_profile_at(d, 0, radius, &p);
    double y = radius / 2, i0 = gsl_sf_bessel_I0(y), i1 = gsl_sf_bessel_I1(y), k0 = gsl_sf_bessel_K0(y),
           k1 = gsl_sf_bessel_K1(y);
    double v2 = 2 * y * y * (i0 * k0 - i1 * k1), potential = -0.5 * radius * (i0 * k1 - i1 * k0);
    /* finite thickness weakens the force by about Height / R at small radii */
    worst = fmax(worst, fabs(p.circular_velocity * p.circular_velocity / v2 - 1));
    worst_potential =
        fmax(worst_potential, fabs(gsl_spline2d_eval(d->potential, log(radius), 0, NULL, NULL) / potential - 1));
  }
  snprintf(what, sizeof what, "thin exponential disc: v_c^2 within %.1e, potential within %.1e of Bessel functions",
           worst, worst_potential);
  tap_ok(worst < 4e-3 && worst_potential < 8e-4, what);
  discs_free(d);
}

/* The attraction of a ring of mass 1 and radius a in z = 0, on (R, z): d Phi / d R and d Phi / d z. */
static void ring(double a, double radius, double z, double f[2])
{
  double far2 = (radius + a) * (radius + a) + z * z, near2 = (radius - a) * (radius - a) + z * z,
         k = sqrt(4 * radius * a / far2);
  double first = gsl_sf_ellint_Kcomp(k, GSL_PREC_SINGLE), second = gsl_sf_ellint_Ecomp(k, GSL_PREC_SINGLE);
  double factor = 1 / (M_PI * sqrt(far2));
  f[0] = factor / radius * (first + (radius * radius - a * a - z * z) / near2 * second);
  f[1] = factor * 2 * z / near2 * second;
}

/* Rings on a regular grid, which has the points in the middle between its nodes. */
static void check_rings(void)
{
  enum { RADII = 600, HEIGHTS = 140, POINTS = 24 };
  static const double dr = 0.02, dz = 0.01;
  struct galaxy g = one(VERTICAL_SECH2, 0.1);
  struct discs *d = opened(&g, NULL);
  struct field field = field_of(d, NULL);
  double worst[2] = {0, 0};
#pragma omp parallel for schedule(static, 1)
  for (int p = 0; p < POINTS; p++) {
    static const double radii[] = {0.3, 0.6, 1, 1.7, 2.5, 4}, heights[] = {0.04, 0.1, 0.22, 0.5};
    double radius = radii[p / 4], z = heights[p % 4], sum[2] = {0, 0}, f[2], a[2];
    for (int i = 0; i < RADII; i++)
      for (int j = 0; j < HEIGHTS; j++) {
        double a0 = (i + 0.5) * dr, z0 = (j + 0.5 - HEIGHTS / 2) * dz,
               mass = a0 * exp(-a0) * dr * pow(cosh(z0 / 0.1), -2) / 0.2 * dz;
        ring(a0, radius, z - z0, f);
        for (int k = 0; k < 2; k++) sum[k] += mass * f[k];
      }
    field_at(d, &field, radius, z, a);
    double all = hypot(sum[0], sum[1]);
#pragma omp critical
    for (int k = 0; k < 2; k++) worst[k] = fmax(worst[k], fabs(a[k] - sum[k]) / all);
  }
  snprintf(what, sizeof what, "force against rings, from 0.4 to 5 heights: within %.2e (R) and %.2e (z) of it",
           worst[0], worst[1]);
  tap_ok(worst[0] < 4e-3 && worst[1] < 4e-3, what);
  field_free(&field);
  discs_free(d);
}

static void draw(const struct discs *discs, int component, uint64_t id, double x[3], double v[3])
{
  struct ic_random r = random_of(11, id);
  disc_draw(discs, component, &r, x, v);
}

/* The mean over a circle of the attraction of the drawn particles; and their mass within spheres. */
static void check_particles(enum galaxy_vertical vertical)
{
  enum { AROUND = 40, POINTS = 8 };
  struct galaxy g = one(vertical, 0.15);
  struct discs *d = opened(&g, NULL);
  struct field field = field_of(d, NULL);
  double(*x)[3] = memory_alloc("test", sizeof *x * MANY), v[3], worst = 0, inside[3] = {0, 0, 0};
  static const double spheres[] = {0.3, 1, 3};
  for (int i = 0; i < MANY; i++) {
    draw(d, 0, (uint64_t)i, x[i], v);
    double r = sqrt(x[i][0] * x[i][0] + x[i][1] * x[i][1] + x[i][2] * x[i][2]);
    for (int k = 0; k < 3; k++) inside[k] += (r < spheres[k]) / (double)MANY;
  }
#pragma omp parallel for schedule(static, 1)
  for (int p = 0; p < POINTS; p++) {
    static const double radii[] = {0.7, 1.5, 2.5, 4}, heights[] = {0.1, 0.3};
    double radius = radii[p / 2], z = heights[p % 2], sum[2] = {0, 0}, a[2];
    for (int n = 0; n < AROUND; n++) {
      double cosine = cos(2 * M_PI * n / AROUND), sine = sin(2 * M_PI * n / AROUND);
      for (int i = 0; i < MANY; i++)
        for (int side = -1; side <= 1; side += 2) { /* the particle and its mirror image */
          double dx = radius * cosine - x[i][0], dy = radius * sine - x[i][1], dz = z - side * x[i][2];
          double r2 = dx * dx + dy * dy + dz * dz + 1e-4, weight = 1 / (r2 * sqrt(r2));
          sum[0] += (dx * cosine + dy * sine) * weight;
          sum[1] += dz * weight;
        }
    }
    field_at(d, &field, radius, z, a);
    for (int k = 0; k < 2; k++) sum[k] /= 2. * AROUND * MANY;
    double error = hypot(a[0] - sum[0], a[1] - sum[1]) / hypot(a[0], a[1]);
#pragma omp critical
    worst = fmax(worst, error);
  }
  const char *name = vertical == VERTICAL_SECH2 ? "sech^2" : "isothermal";
  snprintf(what, sizeof what, "%s: force against a direct sum of drawn particles: within %.2f %%", name, 100 * worst);
  tap_ok(worst < 0.01, what);
  struct fault f = {""};
  struct radial *mass = disc_mass(&g, 0, &f);
  worst = 0;
  for (int k = 0; k < 3; k++)
    worst = fmax(worst, fabs(radial_mass(mass, spheres[k]) - inside[k]) / sqrt(inside[k] / MANY));
  snprintf(what, sizeof what, "%s: mass within spheres as drawn (%.1f times the scatter)", name, worst);
  tap_ok(worst < (vertical == VERTICAL_SECH2 ? 3 : 12) && fabs(radial_mass(mass, 1e3) - 1) < 1e-12, what);
  radial_free(mass);
  memory_free(x);
  field_free(&field);
  discs_free(d);
}

/* The mass in a ring from the radius `inner` to `ratio` times that, and the means of the profile's moments over it. */
static void ring_of(const struct discs *discs, int component, double inner, double ratio, double expected[6])
{
  double weight = 0;
  for (int m = 0; m < 6; m++) expected[m] = 0;
  for (int q = 0; q < 20; q++) {
    struct disc_profile p;
    double radius = inner * pow(ratio, (q + 0.5) / 20), w;
    disc_profile_at(discs, component, radius, &p);
    weight += w = radius * radius * p.surface_density;
    expected[0] += 2 * M_PI * radius * radius * p.surface_density * log(ratio) / 20;
    double value[6] = {0,
                       p.rotation,
                       p.sigma_r * p.sigma_r,
                       p.sigma_phi * p.sigma_phi + p.rotation * p.rotation,
                       p.sigma_z * p.sigma_z,
                       p.height * p.height * M_PI * M_PI / 12};
    for (int m = 1; m < 6; m++) expected[m] += w * value[m];
  }
  for (int m = 1; m < 6; m++) expected[m] /= weight;
}

/* Moments of a disc's particles in rings against its profile, in units of their scatter; and the virial theorem. */
static void check_moments(struct discs *discs, const struct radial *radial, int component, const char *name)
{
  enum { RINGS = 12 };
  static const char *const titles[] = {"surface density", "rotation", "sigma_R", "sigma_phi", "sigma_z", "height"};
  struct field field = field_of(discs, radial);
  const struct galaxy_component *c = &discs->g.component[component];
  double sum[RINGS][7] = {{0}}, kinetic = 0, virial = 0, kinetic_z = 0, virial_z = 0, backwards = 0, unbound = 0;
  double low = 0.2 * c->scale, ratio = pow(20, 1. / RINGS);
  for (int i = 0; i < MANY; i++) {
    double x[3], v[3], a[2];
    draw(discs, component, (uint64_t)i, x, v);
    double radius = hypot(x[0], x[1]), out = (x[0] * v[0] + x[1] * v[1]) / radius,
           along = (x[0] * v[1] - x[1] * v[0]) / radius;
    field_at(discs, &field, radius, x[2], a);
    kinetic += out * out + along * along + v[2] * v[2];
    virial += radius * a[0] + x[2] * a[1];
    kinetic_z += v[2] * v[2];
    virial_z += x[2] * a[1];
    struct disc_moments here;
    disc_moments_at(discs, &discs->disc[component], radius, x[2], &here);
    double turned = 0.5 * (here.sigma_phi > 0);
    if (here.rotation > 0) turned = 0.5 * erfc(here.rotation / (M_SQRT2 * here.sigma_phi));
    backwards += (along < 0) - (c->retrograde + (1 - 2 * c->retrograde) * turned);
    unbound += 0.5 * (out * out + along * along + v[2] * v[2]) + here.potential >= 0;
    int k = (int)floor(log(radius / low) / log(ratio));
    if (k < 0 || k >= RINGS) continue;
    double mine[7] = {1, along, out * out, along * along, v[2] * v[2], x[2] * x[2], radius};
    for (int m = 0; m < 7; m++) sum[k][m] += mine[m];
  }
  double worst[6] = {0};
  for (int k = 0; k < RINGS; k++) {
    double n = sum[k][0], expected[6];
    ring_of(discs, component, low * pow(ratio, k), ratio, expected);
    double spread = sqrt(fmax(expected[3] - expected[1] * expected[1], 0) / n);
    double scatter[6] = {sqrt(n) * c->mass / MANY,  spread,
                         expected[2] * sqrt(2 / n), 2 * sqrt(expected[3]) * spread,
                         expected[4] * sqrt(3 / n), expected[5] * sqrt(3.2 / n)};
    worst[0] = fmax(worst[0], fabs(n * c->mass / MANY - expected[0]) / scatter[0]);
    for (int m = 1; m < 6; m++) worst[m] = fmax(worst[m], fabs(sum[k][m] / n - expected[m]) / scatter[m]);
  }
  for (int m = 0; m < 6; m++) {
    snprintf(what, sizeof what, "%s: %s of drawn particles is that of the profile (%.1f times the scatter)", name,
             titles[m], worst[m]);
    tap_ok(worst[m] < 4.5, what);
  }
  double stated = disc_virial(discs, component);
  snprintf(what, sizeof what, "%s: 2 T / sum m x.grad Phi = %.4f, in z alone %.4f; by the tables %.5f", name,
           kinetic / virial, kinetic_z / virial_z, stated);
  tap_ok(fabs(kinetic / virial - 1) < 0.005 && fabs(kinetic_z / virial_z - 1) < 0.015 && fabs(stated - 1) < 0.001,
         what);
  snprintf(what, sizeof what, "%s: the part of the stars that go backwards is off by %.4f, none (%g) escapes", name,
           backwards / MANY, unbound);
  tap_ok(fabs(backwards / MANY) < 0.003 && unbound == 0, what);
  field_free(&field);
}

/* Orbits of drawn particles in the field that the tables are made for: two turns at the scale length hardly change the
 * disc. Normal velocities and <v_R v_z> = 0 are approximations, so a thin disc changes by a few per cent, a thick one
 * by ten. */
static void check_rest(struct discs *discs, const struct radial *radial, int component, const char *name)
{
  enum { STARS = 1500, STEPS = 500 };
  static const double step = 0.028;
  struct field field = field_of(discs, radial);
  double before[4] = {0}, after[4] = {0};
#pragma omp parallel
  {
    double own[2][4] = {{0}};
#pragma omp for schedule(static)
    for (int i = 0; i < STARS; i++) {
      double x[3], v[3], a[2];
      draw(discs, component, (uint64_t)i, x, v);
      for (int n = 0; n <= STEPS; n++) {
        double radius = hypot(x[0], x[1]), out = (x[0] * v[0] + x[1] * v[1]) / radius;
        double mine[4] = {radius, fabs(x[2]), out * out, v[2] * v[2]};
        if (n == 0 || n > STEPS - 100)
          for (int k = 0; k < 4; k++) own[n > 0][k] += mine[k] / (n > 0 ? 100. : 1.) / STARS;
        for (int half = 0; half < 2; half++) {
          field_at(discs, &field, hypot(x[0], x[1]), x[2], a);
          radius = hypot(x[0], x[1]);
          v[0] -= 0.5 * step * a[0] * x[0] / radius;
          v[1] -= 0.5 * step * a[0] * x[1] / radius;
          v[2] -= 0.5 * step * a[1];
          for (int k = 0; k < 3 && half == 0; k++) x[k] += step * v[k];
        }
      }
    }
#pragma omp critical
    for (int k = 0; k < 4; k++) {
      before[k] += own[0][k];
      after[k] += own[1][k];
    }
  }
  for (int k = 0; k < 4; k++) after[k] = after[k] / before[k] - 1;
  snprintf(what, sizeof what,
           "%s after two turns: <R> %+.1f %%, <|z|> %+.1f %%, sigma_R^2 %+.1f %%, sigma_z^2 %+.1f %%", name,
           100 * after[0], 100 * after[1], 100 * after[2], 100 * after[3]);
  tap_ok(fabs(after[0]) < 0.03 && fabs(after[1]) < 0.15 && fabs(after[2]) < 0.15 && fabs(after[3]) < 0.15, what);
  field_free(&field);
}

/* The table that a plot reads has the numbers of disc_profile_at. */
static void check_table(const struct discs *discs)
{
  char line[400], name[40], *text = NULL;
  size_t length = 0;
  double worst = 0, lowest = HUGE_VAL;
  int rows = 0;
  FILE *out = open_memstream(&text, &length);
  discs_write(NULL, "", out);
  discs_write(discs, "2.", out);
  fclose(out);
  FILE *in = fmemopen(text, length, "r");
  while (in && fgets(line, sizeof line, in)) {
    double a[9];
    int found = sscanf(line, "2.%39[^,],%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf", name, a, a + 1, a + 2, a + 3, a + 4,
                       a + 5, a + 6, a + 7, a + 8);
    if (found != 10) continue;
    struct disc_profile p;
    disc_profile_at(discs, strcmp(name, "thin") == 0 ? 0 : 1, a[0], &p);
    worst = fmax(worst, fabs(p.rotation / a[3] - 1) + fabs(p.toomre_q / a[8] - 1) + fabs(p.sigma_z / a[6] - 1));
    if (strcmp(name, "thin") == 0) lowest = fmin(lowest, a[8]);
    rows++;
  }
  if (in) fclose(in);
  free(text);
  snprintf(what, sizeof what,
           "the table of profiles has %d rows (within %.1e), and the smallest Q of the thin disc is %.4f", rows, worst,
           lowest);
  tap_ok(rows == 240 && worst < 1e-6 && fabs(lowest / 1.3 - 1) < 2e-3, what);
}

static void check_refused(struct galaxy galaxy, const char *sentence)
{
  struct fault f = {""};
  struct discs *d = discs_open(&galaxy, NULL, &f);
  snprintf(what, sizeof what, "refused: %.300s", f.text);
  tap_ok(!d && strstr(f.text, sentence) && strstr(f.text, "[disc]"), what);
  discs_free(d);
}

static void check_bad(void)
{
  struct galaxy g = one(VERTICAL_SECH2, 0.1);
  g.component[0].toomre_q = 8;
  check_refused(g, "hotter than its rotation allows");
  g.component[0].toomre_q = 0;
  check_refused(g, "needs ToomreQ or Dispersion");
  g.component[0].dispersion = 1.5;
  check_refused(g, "give a smaller Dispersion");
  g.component[0].dispersion = 0.2;
  g.component[0].height = 2;
  check_refused(g, "Height: expected 0.001 to 1 times Scale");
  g.component[0].height = 0.1;
  g.component[0].cutoff = 0.1;
  check_refused(g, "Cutoff: expected at least half of Scale");
  g = one(VERTICAL_SECH2, 0.1);
  struct discs *d = opened(&g, NULL);
  struct disc_profile p;
  disc_profile_at(d, 0, d->disc[0].where_q, &p);
  tap_ok(disc_smallest_q(d, 0) < 1 && strstr(disc_note(d, 0), "Toomre Q is 0.7 ") && fabs(p.toomre_q - 0.7) < 1e-3,
         disc_note(d, 0));
  discs_free(d);
}

/* A thin and a thick disc, the first isothermal, in spheroids. */
static struct galaxy two(void)
{
  struct galaxy g = one(VERTICAL_ISOTHERMAL, 0.08);
  g.count = 2;
  strcpy(g.component[0].name, "thin");
  g.component[0].toomre_q = 1.3;
  g.component[0].cutoff = 6;
  g.component[0].cutoff_width = 0.4;
  g.component[1] = g.component[0];
  strcpy(g.component[1].name, "thick");
  g.component[1].vertical = VERTICAL_SECH2;
  g.component[1].mass = 0.2;
  g.component[1].scale = 1.2;
  g.component[1].height = 0.3;
  g.component[1].retrograde = 0.25;
  g.component[1].toomre_q = 0;
  g.component[1].dispersion = 0.7;
  return g;
}

static void check_threads(const struct radial *radial)
{
  enum { FEW = 2000 };
  double(*x[2])[6], q[2];
  struct galaxy g = two();
  for (int k = 0; k < 2; k++) {
    omp_set_num_threads(k + 1);
    struct discs *d = opened(&g, radial);
    x[k] = memory_alloc("test", sizeof **x * FEW);
    for (int i = 0; i < FEW; i++) draw(d, i % 2, (uint64_t)i, x[k][i], x[k][i] + 3);
    q[k] = d->disc[0].sigma0;
    discs_free(d);
  }
  tap_ok(memcmp(x[0], x[1], sizeof **x * FEW) == 0 && q[0] == q[1], "one thread and two: the same bits");
  memory_free(x[0]);
  memory_free(x[1]);
}

int main(void)
{
  struct radial *s = spheroids();
  check_thin();
  check_rings();
  check_particles(VERTICAL_SECH2);
  check_particles(VERTICAL_ISOTHERMAL);
  struct galaxy g = two();
  struct discs *d = opened(&g, s);
  check_moments(d, s, 0, "thin disc");
  check_moments(d, s, 1, "thick disc, a quarter of it retrograde");
  check_rest(d, s, 0, "thin disc");
  check_rest(d, s, 1, "thick disc");
  check_table(d);
  discs_free(d);
  g = one(VERTICAL_SECH2, 0.2);
  g.component[0].profile = PROFILE_DISC_SERSIC;
  g.component[0].index = 1.7;
  g.component[0].toomre_q = 1.5;
  d = opened(&g, s);
  check_moments(d, s, 0, "Sersic's disc");
  discs_free(d);
  check_bad();
  check_threads(s);
  radial_free(s);
  return tap_end();
}
