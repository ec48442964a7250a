/* SPDX-License-Identifier: GPL-3.0-or-later */
/* King's sphere (King 1966, AJ 71, 64): f is proportional to exp(E / sigma^2) - 1 for binding energies E > 0. W = psi /
 * sigma^2 falls from W0 at the centre to 0 at the tidal radius. In units of the core radius r_c = sqrt(9 sigma^2 / (4
 * pi G rho_0)) and with m = -x^2 dW/dx, the mass inside in units of sigma^2 r_c / G, Poisson's equation is dm/dx = 9
 * x^2 rho(W) / rho(W0). It is integrated over t = W0 - W, since the end t = W0 is known: d ln x / dt = x / m, d ln m /
 * dt = 9 x^4 rho(W) / (rho(W0) m^2). */
#include <config.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_odeiv2.h>
#include <gsl/gsl_sf_gamma.h>
#include <math.h>

#include "base/memory.h"
#include "ic/models.h"

enum { NODES = 1024 }; /* linear interpolation then has relative errors of 1e-6 */

/* Node k > 0 is at t = W0 s^2 (3 - 2 s) with s = k / NODES, node 0 at the centre. So nodes are evenly spaced in x near
 * the centre, and in the distance from the edge near it. */
struct king_table {
  double w0, density0; /* W and rho(W) at the centre */
  double x[NODES + 1], w[NODES + 1], m[NODES + 1];
};

/* exp(W) times the incomplete gamma function P(a, W): the density for a = 5/2, its derivatives by W for 3/2 and 1/2. */
static double density_of(double w, double a) { return w > 0 ? exp(w) * gsl_sf_gamma_inc_P(a, w) : 0; }

static int equations(double t, const double y[], double dy[], void *of)
{
  const struct king_table *k = of;
  double x = exp(y[0]), m = exp(y[1]);
  dy[0] = x / m;
  dy[1] = 9 * density_of(k->w0 - t, 2.5) / k->density0 * pow(x, 4) / (m * m);
  return GSL_SUCCESS;
}

/* The first node by the series W = W0 - 3/2 x^2 + c x^4. */
static void start(struct king_table *table, double t)
{
  double c = 0.675 * density_of(table->w0, 1.5) / table->density0, square = t / 1.5;
  square = (t + c * square * square) / 1.5;
  table->x[1] = sqrt(square);
  table->m[1] = table->x[1] * square * (3 - 4 * c * square);
}

static int integrate(struct king_table *table)
{
  gsl_odeiv2_system system = {equations, NULL, 2, table};
  gsl_odeiv2_driver *d = gsl_odeiv2_driver_alloc_y_new(&system, gsl_odeiv2_step_rk8pd, 1e-9, 0, 1e-10);
  double y[2], t = 0;
  int failed = 0;
  gsl_error_handler_t *handler = gsl_set_error_handler_off();
  table->w[0] = table->w0;
  table->x[0] = table->m[0] = 0;
  for (int i = 1; i <= NODES && !failed; i++) {
    double s = (double)i / NODES, next = i == NODES ? table->w0 : table->w0 * s * s * (3 - 2 * s);
    if (i == 1) {
      start(table, t = next);
      y[0] = log(table->x[1]);
      y[1] = log(table->m[1]);
    } else {
      failed = gsl_odeiv2_driver_apply(d, &t, next, y);
    }
    table->w[i] = table->w0 - next;
    table->x[i] = exp(y[0]);
    table->m[i] = fmax(exp(y[1]), table->m[i - 1]);
  }
  gsl_odeiv2_driver_free(d);
  gsl_set_error_handler(handler);
  return failed;
}

struct king_table *king_solve(double w0, struct fault *fault)
{
  struct king_table *k = memory_alloc("ic tables", sizeof *k);
  k->w0 = w0;
  k->density0 = density_of(w0, 2.5);
  if (integrate(k) == 0) return k;
  memory_free(k);
  fault_set(fault, "the structure of the King model with W0 = %g could not be integrated", w0);
  return NULL;
}

int king_nodes(const struct king_table *table, const double **x, const double **w, const double **m)
{
  *x = table->x;
  *w = table->w;
  *m = table->m;
  return NODES + 1;
}

double king_table_density(const struct king_table *table, double w, double *slope)
{
  *slope = density_of(w, 1.5) / table->density0;
  return density_of(w, 2.5) / table->density0;
}

int king_plan(struct ic_plan *plan, struct fault *fault)
{
  struct king_table *k = plan->king = king_solve(plan->m->w0, fault);
  if (!k) return -1;
  double energy = 0, inverse = 0, whole = k->m[NODES]; /* the integrals of m dm / x and of dm / x */
  for (int i = 0; i < NODES; i++) {
    double middle = 0.5 * (k->x[i] + k->x[i + 1]), shell = k->m[i + 1] - k->m[i];
    energy += 0.5 * (k->m[i] + k->m[i + 1]) * shell / middle;
    inverse += shell / middle;
  }
  plan->edge = k->x[NODES];
  ic_scale(plan, plan->stars, energy / (whole * whole), inverse / whole);
  return 0;
}

void king_free(struct king_table *table) { memory_free(table); }

/* The interval i < NODES of the ascending table[NODES + 1] that contains y: table[i] <= y; 0 below the table. */
static int interval(const double *table, double y)
{
  int low = 0, high = NODES;
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (table[middle] <= y) low = middle;
    else high = middle;
  }
  return low;
}

static double interpolate(const double *from, const double *to, double y)
{
  int i = interval(from, y);
  double width = from[i + 1] - from[i], share = width > 0 ? fmin((y - from[i]) / width, 1) : 0;
  return to[i] + share * (to[i + 1] - to[i]);
}

static double king_radius(const struct ic_plan *plan, double fraction)
{
  const struct king_table *k = plan->king;
  double m = fraction * k->m[NODES];
  if (m < k->m[1]) return k->x[1] * cbrt(m / k->m[1]);
  return interpolate(k->m, k->x, m);
}

/* W at the radius x. */
static double depth(const struct king_table *table, double x)
{
  return x < table->x[1] ? table->w0 - (table->w0 - table->w[1]) * pow(x / table->x[1], 2)
                         : interpolate(table->x, table->w, x);
}

static void king_shape(const struct ic_plan *plan, double x, struct ic_shape *shape)
{
  const struct king_table *k = plan->king;
  double w = depth(k, x), m = x < k->x[1] ? k->m[1] * pow(x / k->x[1], 3) : interpolate(k->x, k->m, x),
         whole = k->m[NODES];
  double w1 = -m / (x * x), w2 = 2 * m / (x * x * x) - 9 * density_of(w, 2.5) / k->density0;
  double centre = plan->m->central_mass / plan->mass;
  shape->density = density_of(w, 2.5);
  shape->density1 = density_of(w, 1.5) * w1;
  shape->density2 = density_of(w, 0.5) * w1 * w1 + density_of(w, 1.5) * w2;
  shape->psi = w / whole + centre * (1 / x - 1 / plan->edge);
  shape->psi1 = w1 / whole - centre / (x * x);
  shape->psi2 = w2 / whole + 2 * centre / (x * x * x);
}

const struct ic_sphere king_sphere_shape = {king_radius, king_shape};

/* The probability density of u = v / v_escape at the depth W, up to a factor. */
static double speed_density(double u, double w) { return u * u * expm1(w * (1 - u * u)); }

/* Its maximum: there y = W (1 - u^2) solves y + 1 - exp(-y) = W. Newton's method from below does not overshoot. */
static double largest_speed_density(double w)
{
  double y = w / 2;
  for (int i = 0; i < 20; i++) y -= (y + 1 - exp(-y) - w) / (1 + exp(-y));
  return speed_density(sqrt(fmax(1 - y / w, 0)), w);
}

void king_draw(const struct ic_plan *plan, int64_t index, struct ic_random *random, struct ic_point *point)
{
  (void)index;
  const struct king_table *k = plan->king;
  double x = king_radius(plan, random_uniform(random)), w = depth(k, x), u = 0, y;
  double escape = sqrt(2 * w * plan->mass / (k->m[NODES] * plan->scale));
  if (w > 0) {
    double limit = 1.0001 * largest_speed_density(w);
    do {
      u = random_uniform(random);
      y = limit * random_uniform(random);
    } while (y > speed_density(u, w));
  }
  random_direction(random, x * plan->scale, point->pos);
  random_direction(random, u * escape, point->vel);
  point->type = 1;
}
