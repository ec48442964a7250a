/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Densities: Plummer 1911; Hernquist 1990; Jaffe 1983; Navarro, Frenk & White 1996; Moore et al. 1999; Burkert 1995;
 * Einasto 1965; Zhao 1996 (double power law); King 1966; Sersic's surface brightness deprojected. The cut-off is that
 * of MAGI (Miki & Umemura 2018, MNRAS 475, 2269, eq. 6). */
#include <config.h>
#include "ic/galaxy/profile.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <math.h>
#include <string.h>

#include "base/lines.h"
#include "base/memory.h"

/* The cut-off is 4e-15 where its argument is CUT; densities without one end at FAR scale radii, or where the mass of a
 * shell is below SMALL of the largest. */
#define CUT 5.5
#define INNERMOST 1e-7 /* in scale radii */
#define FAR 1e4
#define SMALL 1e-12

/* Abel's integral -1/pi int_r^inf dI/dR dR / sqrt(R^2 - r^2) with R = r cosh t. The integrand is even and decays, so
 * the trapezoidal rule converges exponentially. Its derivative by ln r is taken under the integral. */
static double sersic(const struct profile *profile, double x, double *slope)
{
  const double h = 0.05, power = 1 / profile->c->index, b = profile->sersic_b;
  double sum = 0, bend = 0, largest = 0;
  for (int i = 0; i < 1000; i++) {
    double X = x * cosh(i * h), y = b * pow(X, power), part = (i ? 1 : 0.5) * y / X * exp(-y);
    sum += part;
    bend += part * (power - 1 - power * y);
    largest = fmax(largest, part);
    if (part < 1e-18 * largest && y > 1) break;
  }
  *slope = sum > 0 ? bend / sum : 0;
  return sum;
}

static double king(const struct profile *profile, double x, double *slope)
{
  const double *xs, *ws, *ms;
  king_nodes(profile->king, &xs, &ws, &ms);
  double depth, m, by_w;
  if (x < profile->inner) {
    double ratio = x / profile->inner;
    depth = (ws[0] - ws[1]) * ratio * ratio;
    m = ms[1] * ratio * ratio * ratio;
  } else {
    depth = exp(gsl_spline_eval(profile->first, log(x), NULL));
    m = exp(gsl_spline_eval(profile->second, log(x), NULL));
  }
  double density = king_table_density(profile->king, ws[0] - depth, &by_w);
  *slope = density > 0 ? -by_w * m / (x * density) : 0;
  return density;
}

static double table(const struct profile *profile, double r, double *slope)
{
  if (r <= profile->inner) {
    *slope = profile->inner_slope;
    return exp(profile->first->y[0]) * pow(r / profile->inner, *slope);
  }
  *slope = gsl_spline_eval_deriv(profile->first, log(r), NULL);
  return exp(gsl_spline_eval(profile->first, log(r), NULL));
}

/* Without the cut-off, x in scale radii. */
static double uncut(const struct profile *profile, double x, double *slope)
{
  const struct galaxy_component *c = profile->c;
  double y = 1 + x, z;
  switch (c->profile) {
  case PROFILE_PLUMMER: *slope = -5 * x * x / (1 + x * x); return pow(1 + x * x, -2.5);
  case PROFILE_HERNQUIST: *slope = -1 - 3 * x / y; return 1 / (x * y * y * y);
  case PROFILE_JAFFE: *slope = -2 - 2 * x / y; return 1 / (x * x * y * y);
  case PROFILE_NFW: *slope = -1 - 2 * x / y; return 1 / (x * y * y);
  case PROFILE_MOORE:
    z = pow(x, 1.5);
    *slope = -1.5 - 1.5 * z / (1 + z);
    return 1 / (z * (1 + z));
  case PROFILE_BURKERT: *slope = -x / y - 2 * x * x / (1 + x * x); return 1 / (y * (1 + x * x));
  case PROFILE_EINASTO:
    z = pow(x, c->index);
    *slope = -2 * z;
    return exp(-2 / c->index * (z - 1));
  case PROFILE_KING: return king(profile, x, slope);
  case PROFILE_SERSIC: return sersic(profile, x, slope);
  case PROFILE_DOUBLE_POWER:
    z = pow(x, c->sharpness);
    *slope = -c->inner + (c->inner - c->outer) * z / (1 + z);
    return pow(x, -c->inner) * pow(1 + z, (c->inner - c->outer) / c->sharpness);
  case PROFILE_TABLE: return table(profile, x, slope);
  default: fatal("profile %d is not a spheroid", (int)c->profile);
  }
}

double profile_at(const struct profile *profile, double r, double *slope)
{
  const struct galaxy_component *c = profile->c;
  *slope = 0;
  if (r >= profile->edge) return 0;
  double density = uncut(profile, c->profile == PROFILE_TABLE ? r : r / c->scale, slope);
  if (c->cutoff > 0) {
    double y = (r - c->cutoff) / (2 * c->cutoff_width), factor = erfc(y);
    *slope -= r / c->cutoff_width / sqrt(M_PI) * exp(-y * y) / factor;
    density *= 0.5 * factor;
  }
  return density;
}

static int open_king(struct profile *profile, struct fault *fault)
{
  const double *x, *w, *m;
  double *s;
  if (!(profile->king = king_solve(profile->c->index, fault))) return -1;
  int n = king_nodes(profile->king, &x, &w, &m);
  s = memory_alloc("ic tables", sizeof *s * 3 * (size_t)n);
  for (int i = 1; i < n; i++) {
    s[i] = log(x[i]);
    s[n + i] = log(w[0] - w[i]);
    s[2 * n + i] = log(m[i]);
  }
  profile->first = gsl_spline_alloc(gsl_interp_cspline, (size_t)n - 1);
  profile->second = gsl_spline_alloc(gsl_interp_cspline, (size_t)n - 1);
  gsl_spline_init(profile->first, s + 1, s + n + 1, (size_t)n - 1);
  gsl_spline_init(profile->second, s + 1, s + 2 * n + 1, (size_t)n - 1);
  profile->inner = x[1];
  profile->edge = profile->c->scale * x[n - 1];
  memory_free(s);
  return 0;
}

/* Append the row of a line to s[2 * n], s[2 * n + 1]. Returns 1, 0 for an empty line, -1 with a fault. */
static int table_row(const struct lines *lines, int n, double *s, struct fault *fault)
{
  double r, density;
  int end = 0, length = (int)strcspn(lines->text, "\r\n");
  if (lines->text[strspn(lines->text, " \t\r\n")] == 0) return 0;
  if (sscanf(lines->text, " %lf%*[ \t,]%lf %n", &r, &density, &end) != 2 || lines->text[end] || !(r > 0) ||
      !(density > 0) || !isfinite(r) || !isfinite(density))
    return fault_set(fault, "%s:%lld: expected a radius and a density, both above 0, found '%.*s'", lines->path,
                     (long long)lines->number, length < 40 ? length : 40, lines->text);
  s[2 * n] = log(r);
  s[2 * n + 1] = log(density);
  if (n > 0 && s[2 * n] <= s[2 * n - 2])
    return fault_set(fault, "%s:%lld: radii must increase, found %g after %g", lines->path, (long long)lines->number, r,
                     exp(s[2 * n - 2]));
  if (n > 0 && s[2 * n + 1] > s[2 * n - 1])
    return fault_set(fault, "%s:%lld: densities must not increase, found %g after %g", lines->path,
                     (long long)lines->number, density, exp(s[2 * n - 1]));
  return 1;
}

static int open_table(struct profile *profile, struct fault *fault)
{
  enum { ROWS = 100000 };
  struct lines l;
  if (lines_open(&l, profile->c->table, fault)) return -1;
  double *s = NULL;
  int n = 0, capacity = 0, rc;
  while ((rc = lines_next(&l, "a radius and a density", fault)) == 1 && (rc = n < ROWS ? 0 : 1) == 0) {
    if (n == capacity) s = memory_resize("ic tables", s, sizeof *s * 2 * (size_t)(capacity += 1000));
    if ((rc = table_row(&l, n, s, fault)) < 0) break;
    n += rc;
  }
  lines_close(&l);
  if (rc == 1) fault_set(fault, "%s: more than %d rows", profile->c->table, ROWS);
  if (rc == 0 && n < 5)
    rc = fault_set(fault, "%s: expected at least 5 rows of radius and density, found %d", profile->c->table, n);
  if (rc == 0) {
    double *x = memory_alloc("ic tables", sizeof *x * 2 * (size_t)n);
    for (int i = 0; i < n; i++) {
      x[i] = s[2 * i];
      x[n + i] = s[2 * i + 1];
    }
    profile->first = gsl_spline_alloc(gsl_interp_cspline, (size_t)n);
    gsl_spline_init(profile->first, x, x + n, (size_t)n);
    profile->inner = exp(x[0]);
    profile->edge = exp(x[n - 1]);
    profile->inner_slope = gsl_spline_eval_deriv(profile->first, x[0], NULL);
    memory_free(x);
    if (profile->inner < 1e-30 || profile->edge > 1e30 || profile->edge > 1e9 * profile->inner)
      rc = fault_set(
          fault,
          "%s: the radii are from %g to %g; expected from 1e-30 to 1e30, and the last at most 1e9 times the first",
          profile->c->table, profile->inner, profile->edge);
    else if (profile->inner_slope < -2)
      rc = fault_set(fault, "%s: the density rises as r^%.3g at the smallest radius; expected r^-2 or less steep",
                     profile->c->table, profile->inner_slope);
  }
  memory_free(s);
  return rc == 0 ? 0 : -1;
}

/* Where the density of an infinite profile ends. */
static double find_edge(const struct profile *profile)
{
  double largest = 0, slope,
         limit = profile->c->profile == PROFILE_EINASTO || profile->c->profile == PROFILE_SERSIC ? 100 * FAR : FAR;
  for (double x = 1e-3; x < limit; x *= 1.02) {
    double shell = x * x * x * uncut(profile, x, &slope);
    if (shell < SMALL * largest) return profile->c->scale * x;
    largest = fmax(largest, shell);
  }
  return profile->c->scale * limit;
}

int profile_open(struct profile *profile, const struct galaxy_component *component, struct fault *fault)
{
  *profile = (struct profile){.c = component};
  int failed = 0;
  gsl_error_handler_t *handler = gsl_set_error_handler_off();
  if (component->profile == PROFILE_SERSIC) profile->sersic_b = gsl_cdf_gamma_Pinv(0.5, 2 * component->index, 1);
  if (component->profile == PROFILE_KING) failed = open_king(profile, fault);
  else if (component->profile == PROFILE_TABLE) failed = open_table(profile, fault);
  else profile->edge = find_edge(profile);
  gsl_set_error_handler(handler);
  if (component->cutoff > 0) profile->edge = fmin(profile->edge, component->cutoff + 2 * CUT * component->cutoff_width);
  return failed;
}

void profile_close(struct profile *profile)
{
  king_free(profile->king);
  gsl_spline_free(profile->first);
  gsl_spline_free(profile->second);
}

int profile_grid(const struct profile *profile, int *first)
{
  double inner =
      INNERMOST * (profile->c->profile == PROFILE_TABLE ? fmin(profile->inner * 10, profile->edge) : profile->c->scale);
  *first = (int)floor(log(inner) / PROFILE_STEP);
  return (int)ceil(log(profile->edge) / PROFILE_STEP) - *first + 1;
}

void profile_tabulate(const struct profile *profile, int n, const double *r, double *density, double *bend,
                      double *mass)
{
  double h = log(r[n - 1] / r[0]) / (n - 1), slope0 = 0;
#pragma omp parallel for schedule(dynamic, 16)
  for (int k = 0; k < n; k++) {
    double slope;
    density[k] = profile_at(profile, r[k], &slope);
    bend[k] = density[k] * slope;
  }
  if (density[0] > 0) slope0 = bend[0] / density[0];
  mass[0] = pow(r[0], 3) * density[0] / (3 + slope0);
  for (int k = 1; k < n; k++) { /* the trapezoidal rule, with its correction by end slopes where there are any */
    double a = pow(r[k - 1], 3), b = pow(r[k], 3),
           fix = h * h / 12 * (a * (3 * density[k - 1] + bend[k - 1]) - b * (3 * density[k] + bend[k]));
    mass[k] = mass[k - 1] + 0.5 * h * (a * density[k - 1] + b * density[k]) + (density[k] > 0 ? fix : 0);
  }
  double unit = profile->c->mass / (4 * M_PI * mass[n - 1]);
  for (int k = 0; k < n; k++) {
    density[k] *= unit;
    bend[k] *= unit;
    mass[k] *= 4 * M_PI * unit;
  }
}
