/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Spheres with a central mass at rest. The stars' isotropic distribution function is Eddington's (1916, MNRAS 76, 572;
 * Binney & Tremaine 2008, eq. 4.46a), with the potential of stars and central mass:
 *   f(E) = 1 / (sqrt(8) pi^2) int_0^E d^2 rho / d psi^2 d psi / sqrt(E - psi),  E = psi - v^2 / 2;
 * the term with d rho / d psi at psi = 0 vanishes for these spheres.
 * A core, of constant density, has no isotropic equilibrium with a central mass, as f < 0 at large E (a density less
 * steep than r^-1/2; Tremaine et al. 1994, AJ 107, 634). For cores f is therefore kept at its maximum for all larger E,
 * as after adiabatic growth of the central mass. The stars within its sphere of influence are bound to it, and near to
 * equilibrium only. */
#include <config.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_integration.h>
#include <gsl/gsl_spline.h>
#include <math.h>

#include "base/memory.h"
#include "ic/models.h"

enum { NODES = 1000, ENERGIES = 500, INTERVALS = 400, ANGLES = 64 };

struct central_table {
  gsl_spline *bend;         /* d^2 rho / d psi^2 over ln psi */
  gsl_spline *distribution; /* f over ln E, without its constant factor */
  double low, high;         /* limits of ln psi and ln E */
};

static double value(const gsl_spline *s, const struct central_table *table, double y)
{
  return y < table->low ? 0 : gsl_spline_eval(s, fmin(y, table->high), NULL);
}

/* Radii in scale radii that cover both the centre and the edge finely. */
static double node(const struct ic_plan *plan, int k)
{
  double y = exp(log(1e-7) + log(1e12) * k / (NODES - 1));
  return plan->edge > 0 ? plan->edge * y / (1 + y) : y;
}

static void tabulate_bend(const struct ic_plan *plan, struct central_table *table, double *depth, double *bend)
{
  int count = 0;
  for (int k = NODES - 1; k >= 0; k--) { /* psi ascending */
    struct ic_shape s;
    plan->sphere->shape(plan, node(plan, k), &s);
    if (!(s.psi > 0) || (count > 0 && log(s.psi) <= depth[count - 1])) continue;
    depth[count] = log(s.psi);
    bend[count++] = (s.density2 * s.psi1 - s.density1 * s.psi2) / (s.psi1 * s.psi1 * s.psi1);
  }
  table->low = depth[0];
  table->high = depth[count - 1];
  table->bend = gsl_spline_alloc(gsl_interp_steffen, (size_t)count);
  gsl_spline_init(table->bend, depth, bend, (size_t)count);
}

struct integral {
  const struct central_table *t;
  double energy;
};

/* Over ln psi, for psi < E / 2. */
static double outer(double y, void *of)
{
  const struct integral *i = of;
  return value(i->t->bend, i->t, y) * exp(y) / sqrt(i->energy - exp(y));
}

/* Over s with psi = E (1 - s^2), for psi > E / 2. */
static double inner(double s, void *of)
{
  const struct integral *i = of;
  return value(i->t->bend, i->t, log(i->energy * (1 - s * s))) * 2 * sqrt(i->energy);
}

static double eddington(const struct central_table *table, double energy, gsl_integration_workspace *work)
{
  struct integral i = {table, energy};
  gsl_function outside = {outer, &i}, inside = {inner, &i};
  double sum = 0, part = 0, error, middle = log(energy / 2);
  if (middle > table->low)
    gsl_integration_qag(&outside, table->low, middle, 0, 1e-5, INTERVALS, GSL_INTEG_GAUSS31, work, &sum, &error);
  gsl_integration_qag(&inside, 0, M_SQRT1_2, 0, 1e-5, INTERVALS, GSL_INTEG_GAUSS31, work, &part, &error);
  return sum + part;
}

static void tabulate_distribution(const struct ic_plan *plan, struct central_table *table, double *energy, double *f)
{
  gsl_integration_workspace *work = gsl_integration_workspace_alloc(INTERVALS);
  int core = plan->sphere != &hernquist_sphere_shape;
  for (int k = 0; k < ENERGIES; k++) {
    energy[k] = k == ENERGIES - 1 ? table->high : table->low + (table->high - table->low) * k / (ENERGIES - 1);
    f[k] = fmax(eddington(table, exp(energy[k]), work), 0);
    if (core && k > 0) f[k] = fmax(f[k], f[k - 1]);
  }
  gsl_integration_workspace_free(work);
  table->distribution = gsl_spline_alloc(gsl_interp_steffen, ENERGIES);
  gsl_spline_init(table->distribution, energy, f, ENERGIES);
}

int central_plan(struct ic_plan *plan, struct fault *fault)
{
  struct central_table *t = memory_alloc("ic tables", sizeof *t);
  double *scratch = memory_alloc("ic tables", 2 * NODES * sizeof *scratch);
  /* an integral that does not reach its tolerance has the accuracy of rounding */
  gsl_error_handler_t *handler = gsl_set_error_handler_off();
  plan->central = t;
  tabulate_bend(plan, t, scratch, scratch + NODES);
  tabulate_distribution(plan, t, scratch, scratch + NODES);
  gsl_set_error_handler(handler);
  memory_free(scratch);
  double end = gsl_spline_eval(t->distribution, t->high, NULL);
  return isfinite(end) && end > 0 ? 0
                                  : fault_set(fault, "the velocities about a central mass of %g could not be computed",
                                              plan->m->central_mass);
}

void central_free(struct central_table *table)
{
  if (!table) return;
  gsl_spline_free(table->bend);
  gsl_spline_free(table->distribution);
  memory_free(table);
}

/* Density of the angle a with v = sin(a) v_escape. It is bounded, since f does not rise towards E = 0. */
static double angles(const struct central_table *table, double a, double psi)
{
  double sine = sin(a), cosine = cos(a);
  return sine * sine * cosine * value(table->distribution, table, log(psi * cosine * cosine));
}

void central_draw(const struct ic_plan *plan, int64_t index, struct ic_random *random, struct ic_point *point)
{
  (void)index;
  const struct central_table *t = plan->central;
  struct ic_shape s;
  double x = fmax(plan->sphere->radius(plan, random_uniform(random)), node(plan, 0)), limit = 0, a = 0, y;
  plan->sphere->shape(plan, x, &s);
  s.psi = fmax(s.psi, 0); /* at the edge it may be below by rounding */
  for (int k = 1; k < ANGLES; k++) limit = fmax(limit, 1.1 * angles(t, M_PI_2 * k / ANGLES, s.psi));
  if (limit > 0) { /* else at the edge, at rest */
    do {
      a = M_PI_2 * random_uniform(random);
      y = limit * random_uniform(random);
    } while (y > angles(t, a, s.psi));
  }
  random_direction(random, x * plan->scale, point->pos);
  random_direction(random, sin(a) * sqrt(2 * s.psi * plan->mass / plan->scale), point->vel);
  point->type = 1;
}
