/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The grid is uniform in s = ln r. Between its nodes mass and potential are cubic Hermite polynomials in s, from dM/ds
 * = 4 pi r^3 rho, which is the derivative of a GSL spline of ln M where the table is made, and dPhi/ds = G M / r.
 * Potentials are kept as differences from the innermost node, so that they are exact near the centre, where
 * distribution functions depend on small differences of them. */
#include <config.h>
#include <gsl/gsl_spline.h>
#include <math.h>

#include "base/memory.h"
#include "ic/galaxy/galaxy.h"

enum { NODES_PER_DECADE = 200 };
#define WIDEST 0.1 /* a larger step of ln r is divided */

struct radial {
  int n;
  double first, step;            /* ln r of node 0; difference of ln r */
  double gravity, point;         /* G; a mass at the centre */
  double slope;                  /* d ln M / d ln r within node 0, without the point */
  double *mass, *shell, *height; /* [n] M without the point; dM/ds; potential above that of node 0, with the point */
};

static struct radial *alloc(int n, double first, double step, double gravity)
{
  struct radial *t = memory_alloc("ic tables", sizeof *t);
  *t = (struct radial){.n = n, .first = first, .step = step, .gravity = gravity};
  t->mass = memory_alloc("ic tables", sizeof *t->mass * 3 * (size_t)n);
  t->shell = t->mass + n;
  t->height = t->shell + n;
  return t;
}

void radial_free(struct radial *radial)
{
  if (!radial) return;
  memory_free(radial->mass);
  memory_free(radial);
}

double radial_node(const struct radial *radial, int k) { return exp(radial->first + radial->step * k); }
int radial_nodes(const struct radial *radial) { return radial->n; }
double radial_node_mass(const struct radial *radial, int k) { return radial->mass[k] + radial->point; }
double radial_node_height(const struct radial *radial, int k) { return radial->height[k]; }

/* Potentials from masses, by the trapezoidal rule with its correction by end slopes (an error of order step^4). */
static void set_heights(struct radial *radial)
{
  double h = radial->step, r0 = radial_node(radial, 0);
  radial->slope = radial->mass[0] > 0 ? radial->shell[0] / radial->mass[0] : 3;
  radial->height[0] = 0;
  double sum = 0;
  for (int k = 1; k < radial->n; k++) {
    double a = radial_node(radial, k - 1), b = radial_node(radial, k);
    sum += 0.5 * h * (radial->mass[k - 1] / a + radial->mass[k] / b) +
           h * h / 12 * ((radial->shell[k - 1] - radial->mass[k - 1]) / a - (radial->shell[k] - radial->mass[k]) / b);
    radial->height[k] = radial->gravity * (sum + radial->point * (b - r0) / (r0 * b));
  }
}

struct radial *radial_make(int n, const double *r, const double *mass, double gravity)
{
  double first = log(r[0]), range = log(r[n - 1]) - first;
  int nodes = n, uniform = range < WIDEST * (n - 1), begin = 0;
  double *x = memory_alloc("ic tables", sizeof *x * 2 * (size_t)n), *y = x + n;
  for (int k = 0; k < n; k++) {
    double s = log(r[k]);
    if (fabs(s - first - range * k / (n - 1)) > 1e-9 * range) uniform = 0;
    /* a mass of 0, or one that is equal to the next, would not have a logarithm or a slope */
    if (!(mass[k] > 0)) continue;
    x[begin] = s;
    y[begin++] = log(mass[k]);
  }
  if (!uniform || begin < n) nodes = (int)fmax(range / M_LN10 * NODES_PER_DECADE, 8) + 1;
  struct radial *t = alloc(nodes, first, range / (nodes - 1), gravity);
  gsl_spline *spline = gsl_spline_alloc(begin > 4 ? gsl_interp_cspline : gsl_interp_linear, (size_t)begin);
  gsl_interp_accel *near = gsl_interp_accel_alloc();
  gsl_spline_init(spline, x, y, (size_t)begin);
  for (int k = 0; k < nodes; k++) {
    double s = k == nodes - 1 ? x[begin - 1] : first + t->step * k;
    if (s < x[0]) continue;
    t->mass[k] = uniform && begin == n ? mass[k] : exp(gsl_spline_eval(spline, s, near));
    t->shell[k] = fmax(gsl_spline_eval_deriv(spline, s, near), 0) * t->mass[k];
  }
  gsl_interp_accel_free(near);
  gsl_spline_free(spline);
  memory_free(x);
  set_heights(t);
  return t;
}

/* The interval k of r and the position u in it, from 0 to 1. -1: within node 0; n - 1: beyond the last one. */
static int place(const struct radial *radial, double r, double *u)
{
  double s = (log(r) - radial->first) / radial->step;
  if (!(s >= 0)) return -1;
  if (s >= radial->n - 1) return radial->n - 1;
  *u = s - floor(s);
  return (int)s;
}

static double hermite(double u, double a, double slope_a, double b, double slope_b)
{
  double v = 1 - u;
  return v * v * ((1 + 2 * u) * a + u * slope_a) + u * u * ((3 - 2 * u) * b - v * slope_b);
}

static double spread_mass(const struct radial *radial, double r)
{
  double u = 0;
  int k = place(radial, r, &u);
  if (k < 0) return radial->mass[0] * pow(r / radial_node(radial, 0), radial->slope);
  if (k == radial->n - 1) return radial->mass[k];
  return hermite(u, radial->mass[k], radial->step * radial->shell[k], radial->mass[k + 1],
                 radial->step * radial->shell[k + 1]);
}

double radial_mass(const struct radial *radial, double r) { return spread_mass(radial, r) + radial->point; }

double radial_inward(const struct radial *radial, double r)
{
  return radial->gravity * radial_mass(radial, r) / (r * r);
}

double radial_density(const struct radial *radial, double r)
{
  double u = 0, shell;
  int k = place(radial, r, &u);
  if (k == radial->n - 1) return 0;
  if (k < 0) shell = radial->slope * spread_mass(radial, r);
  else shell = (1 - u) * radial->shell[k] + u * radial->shell[k + 1];
  return shell / (4 * M_PI * r * r * r);
}

double radial_height(const struct radial *radial, double r)
{
  double u = 0, r0 = radial_node(radial, 0);
  int k = place(radial, r, &u);
  if (k == radial->n - 1) {
    double last = radial_node(radial, k);
    return radial->height[k] + radial->gravity * radial_node_mass(radial, k) * (1 / last - 1 / r);
  }
  if (k < 0) {
    double p = radial->slope - 1, x = r / r0, power = fabs(p) < 1e-9 ? log(x) : (pow(x, p) - 1) / p;
    return radial->gravity * (radial->mass[0] / r0 * power + radial->point * (1 / r0 - 1 / r));
  }
  double h = radial->gravity * radial->step, a = radial_node(radial, k), b = radial_node(radial, k + 1);
  return hermite(u, radial->height[k], h * radial_node_mass(radial, k) / a, radial->height[k + 1],
                 h * radial_node_mass(radial, k + 1) / b);
}

/* The potential at infinity above that of node 0. */
static double escape(const struct radial *radial)
{
  return radial->height[radial->n - 1] +
         radial->gravity * radial_node_mass(radial, radial->n - 1) / radial_node(radial, radial->n - 1);
}

double radial_potential(const struct radial *radial, double r)
{
  double u = 0;
  if (place(radial, r, &u) == radial->n - 1) return -radial->gravity * radial_node_mass(radial, radial->n - 1) / r;
  return radial_height(radial, r) - escape(radial);
}

/* The part with the smallest step, whose nodes those of the sum continue; NULL: there are no parts. */
static const struct radial *finest(int count, struct radial *const *parts)
{
  const struct radial *p = NULL;
  for (int i = 0; i < count; i++)
    if (parts[i] && (!p || parts[i]->step < p->step * (1 - 1e-9))) p = parts[i];
  return p;
}

/* Add a part, by its nodes where they are those of the sum, else between them. */
static void add(struct radial *t, const struct radial *p)
{
  double shift = (p->first - t->first) / t->step;
  int offset = (int)lround(shift), same = fabs(shift - offset) < 1e-6 && fabs(p->step / t->step - 1) < 1e-9;
  for (int k = 0; k < t->n; k++) {
    double r = radial_node(t, k);
    int own = same && k >= offset && k < offset + p->n;
    t->mass[k] += own ? p->mass[k - offset] : spread_mass(p, r);
    t->shell[k] += own ? p->shell[k - offset] : 4 * M_PI * r * r * r * radial_density(p, r);
  }
  t->point += p->point;
}

struct radial *radial_sum(int count, struct radial *const *parts)
{
  const struct radial *p = finest(count, parts);
  if (!p) return NULL;
  int before = 0, after = p->n - 1;
  for (int i = 0; i < count; i++) {
    if (!parts[i]) continue;
    before = (int)fmin(before, floor((parts[i]->first - p->first) / p->step + 1e-6));
    after = (int)fmax(after, ceil((parts[i]->first + parts[i]->step * (parts[i]->n - 1) - p->first) / p->step - 1e-6));
  }
  struct radial *t = alloc(after - before + 1, p->first + p->step * before, p->step, p->gravity);
  for (int i = 0; i < count; i++)
    if (parts[i]) add(t, parts[i]);
  set_heights(t);
  return t;
}

void radial_add_point(struct radial *radial, double mass)
{
  radial->point += mass;
  set_heights(radial);
}
