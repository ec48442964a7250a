/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "gravity/cosmology.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_integration.h>
#include <gsl/gsl_spline.h>
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "gravity/units.h"

#define MPC_CM (1e3 * KPC_CM)
#define TABLE_MARGIN 1.05 /* predictions reach somewhat beyond the times of a run */
#define AGE_PRECISION 1e-11
enum { GAUSS_POINTS = 64 }; /* of Gauss-Legendre rules for the age */

struct cosmology_splines {
  gsl_spline *tau_of_log, *log_of_tau;
};

/* What integrands need. */
struct densities {
  double omega0, omega_lambda;
};

double cosmology_hubble0(const struct params *params)
{
  struct units u = units_of(params);
  return 100 * 1e5 / MPC_CM * units_time_s(&u);
}

double cosmology_mean_density(const struct params *params)
{
  double h = cosmology_hubble0(params);
  return params->Omega0 * 3 * h * h / (8 * M_PI * units_gravity(params));
}

double cosmology_rate(double omega0, double omega_lambda, double a)
{
  double square = omega0 / (a * a * a) + (1 - omega0 - omega_lambda) / (a * a) + omega_lambda;
  return square > 0 ? sqrt(square) : NAN;
}

/* d tau / d ln a, in units of 1 / H_0: 1 / (a^2 H). */
static double per_log(double log_a, void *of)
{
  const struct densities *d = of;
  double a = exp(log_a);
  return 1 / (a * a * cosmology_rate(d->omega0, d->omega_lambda, a));
}

/* dt / ds with a = s^2, in units of 1 / H_0; regular at a = 0. */
static double per_root(double s, void *of)
{
  const struct densities *d = of;
  double a = s * s;
  return 2 * a / sqrt(d->omega0 + (1 - d->omega0 - d->omega_lambda) * a + d->omega_lambda * a * a * a);
}

double cosmology_age(double omega0, double omega_lambda, double a)
{
  struct densities d = {omega0, omega_lambda};
  gsl_function f = {per_root, &d};
  gsl_integration_glfixed_table *table = gsl_integration_glfixed_table_alloc(GAUSS_POINTS);
  double age = gsl_integration_glfixed(&f, 0, sqrt(a), table);
  gsl_integration_glfixed_table_free(table);
  return age;
}

/* The nodes: equal steps of ln a, and integrals from one to the next. */
static void fill(struct cosmology *cosmology)
{
  struct densities d = {cosmology->omega0, cosmology->omega_lambda};
  gsl_function f = {per_log, &d};
  double low = log(cosmology->first / TABLE_MARGIN), high = log(cosmology->last * TABLE_MARGIN),
         step = (high - low) / (COSMOLOGY_NODES - 1), error;
  size_t evaluations;
  for (int k = 0; k < COSMOLOGY_NODES; k++) {
    double part = 0;
    cosmology->log_a[k] = low + step * k;
    if (k > 0)
      gsl_integration_qng(&f, cosmology->log_a[k - 1], cosmology->log_a[k], 0, AGE_PRECISION, &part, &error,
                          &evaluations);
    cosmology->tau[k] = k > 0 ? cosmology->tau[k - 1] + part / cosmology->hubble0 : 0;
  }
}

int cosmology_open(struct cosmology *cosmology, double omega0, double omega_lambda, double hubble0, double first,
                   double last, struct fault *fault)
{
  *cosmology = (struct cosmology){
      .omega0 = omega0, .omega_lambda = omega_lambda, .hubble0 = hubble0, .first = first, .last = last};
  for (int k = 0; k <= 1000; k++) {
    double a = last * TABLE_MARGIN * k / 1000;
    if (k == 0) a = first / TABLE_MARGIN;
    if (!(cosmology_rate(omega0, omega_lambda, a) > 0))
      return fault_set(
          fault, "Omega0 = %g and OmegaLambda = %g: this universe does not expand at a = %.3g, which the run needs",
          omega0, omega_lambda, a);
  }
  gsl_set_error_handler_off();
  cosmology->log_a = memory_alloc("cosmology", sizeof *cosmology->log_a * COSMOLOGY_NODES);
  cosmology->tau = memory_alloc("cosmology", sizeof *cosmology->tau * COSMOLOGY_NODES);
  cosmology->splines = memory_alloc("cosmology", sizeof *cosmology->splines);
  fill(cosmology);
  cosmology->splines->tau_of_log = gsl_spline_alloc(gsl_interp_cspline, COSMOLOGY_NODES);
  cosmology->splines->log_of_tau = gsl_spline_alloc(gsl_interp_cspline, COSMOLOGY_NODES);
  if (!cosmology->splines->tau_of_log || !cosmology->splines->log_of_tau)
    fatal("out of memory: tables of the expansion");
  gsl_spline_init(cosmology->splines->tau_of_log, cosmology->log_a, cosmology->tau, COSMOLOGY_NODES);
  gsl_spline_init(cosmology->splines->log_of_tau, cosmology->tau, cosmology->log_a, COSMOLOGY_NODES);
  double begin = cosmology_tau(cosmology, first);
  for (int k = 0; k < COSMOLOGY_NODES; k++) cosmology->tau[k] -= begin;
  gsl_spline_init(cosmology->splines->tau_of_log, cosmology->log_a, cosmology->tau, COSMOLOGY_NODES);
  gsl_spline_init(cosmology->splines->log_of_tau, cosmology->tau, cosmology->log_a, COSMOLOGY_NODES);
  return 0;
}

void cosmology_close(struct cosmology *cosmology)
{
  if (!cosmology->splines) return;
  gsl_spline_free(cosmology->splines->tau_of_log);
  gsl_spline_free(cosmology->splines->log_of_tau);
  memory_free(cosmology->splines);
  memory_free(cosmology->tau);
  memory_free(cosmology->log_a);
  *cosmology = (struct cosmology){0};
}

static double within(double x, const double *range) { return fmin(fmax(x, range[0]), range[COSMOLOGY_NODES - 1]); }

double cosmology_tau(const struct cosmology *cosmology, double a)
{
  return gsl_spline_eval(cosmology->splines->tau_of_log, within(log(a), cosmology->log_a), NULL);
}

double cosmology_a(const struct cosmology *cosmology, double tau)
{
  return exp(gsl_spline_eval(cosmology->splines->log_of_tau, within(tau, cosmology->tau), NULL));
}
