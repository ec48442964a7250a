/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parameters that Accuracy sets: values from the table accuracy.def, and between its lines by interpolation in the
 * logarithms of the error and of the value. */
#include <config.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "params/params.h"

/* The energy error by forces goes as (512 Delta)^q / sqrt(N), with q = 0.55 for monopoles and 0.75 for quadrupoles
 * (measured); Delta in the table is that of this number of particles. */
#define DELTA_TABLE_PARTICLES 1e5
#define DELTA_POWER_MONOPOLES (0.5 / 0.55)
#define DELTA_POWER_QUADRUPOLES (0.5 / 0.75)
#define DELTA_MIN (1.0 / 32768)
#define DELTA_MAX (1.0 / 64)
#define ERROR_MAX 0.1 /* largest and smallest number that Accuracy can be */
#define ERROR_MIN 1e-12

enum column { DELTA_MONOPOLES, DELTA_QUADRUPOLES, ETA_UNSPLIT, ETA_SPLIT, COLUMN_XS, COLUMN_YS, COLUMN_R1, COLUMNS };
static const struct line {
  const char *name;
  double error;
  int order[2]; /* on the host, on a device */
  double value[COLUMNS];
} line[] = {
#define ACCURACY(name, error, delta1, delta2, order, order_on_device, eta, eta_split, xs, ys, r1) \
  {name, error, {order, order_on_device}, {delta1, delta2, eta, eta_split, xs, ys, r1}},
#include "params/accuracy.def"
#undef ACCURACY
};
enum { LINES = sizeof line / sizeof *line };

int params_accuracy(const char *text, double *error)
{
  for (int i = 0; i < LINES; i++)
    if (strcmp(line[i].name, text) == 0) return *error = line[i].error, 0;
  char *end;
  double x = strtod(text, &end);
  if (end == text || *end || strspn(text, "0123456789+-.eE") != strlen(text) || !(x >= ERROR_MIN && x <= ERROR_MAX))
    return -1;
  *error = x;
  return 0;
}

double params_error(const struct params *params)
{
  double error;
  if (params_accuracy(params->Accuracy, &error))
    fatal("Accuracy = %.60s is neither a name nor a number", params->Accuracy);
  return error;
}

/* Three digits, so that the value can be given by hand. */
static double rounded(double x)
{
  char text[40];
  snprintf(text, sizeof text, "%.3g", x);
  return strtod(text, NULL);
}

/* The last line whose error is not below `error`, or the first one. */
static int line_of(double error)
{
  int i = 0;
  while (i + 1 < LINES && error <= line[i + 1].error) i++;
  return i;
}

static double by_accuracy(const struct params *params, enum column k)
{
  double error = params_error(params);
  int i = line_of(error);
  double here = line[i].value[k], next = line[i + 1 < LINES ? i + 1 : i].value[k];
  if (error >= line[i].error || here == next) return here;
  double x = log(line[i].error / error) / log(line[i].error / line[i + 1].error);
  return rounded(here * pow(next / here, x));
}

int params_order(const struct params *params)
{
  if (params->MultipoleOrder > 0) return params->MultipoleOrder;
  double error = params_error(params);
  int i = line_of(error);
  /* between two lines that of the smaller error */
  return line[error < line[i].error && i + 1 < LINES ? i + 1 : i].order[params->run.on_device != 0];
}

double params_delta(const struct params *params)
{
  if (params->ErrTolForceAcc > 0) return params->ErrTolForceAcc;
  int quadrupole = params_order(params) == 2;
  double delta = by_accuracy(params, quadrupole ? DELTA_QUADRUPOLES : DELTA_MONOPOLES);
  if (params->run.particles > 0)
    delta = rounded(delta * pow(params->run.particles / DELTA_TABLE_PARTICLES,
                                quadrupole ? DELTA_POWER_QUADRUPOLES : DELTA_POWER_MONOPOLES));
  return fmin(fmax(delta, DELTA_MIN), DELTA_MAX);
}

const struct criterion *criterion_of(const struct params *params)
{
  static const struct criterion criteria[] = {
#define CRITERION(kind, name, tolerance, symbol, title, by_power, most, expected) \
  {name, symbol, title, by_power, most, expected},
      MAC_CRITERIA(CRITERION)
#undef CRITERION
  };
  return &criteria[params->TypeOfOpeningCriterion];
}

double params_tolerance(const struct params *params, int kind)
{
  switch (kind) {
#define TOLERANCE(kind, name, tolerance, ...) \
  case MAC_##kind: return tolerance;
    MAC_CRITERIA(TOLERANCE)
#undef TOLERANCE
  }
  return 0;
}

double params_xs(const struct params *params) { return params->xs > 0 ? params->xs : by_accuracy(params, COLUMN_XS); }
double params_ys(const struct params *params) { return params->ys > 0 ? params->ys : by_accuracy(params, COLUMN_YS); }
double params_r1_over_r0(const struct params *params)
{
  return params->R1OverR0 > 0 ? params->R1OverR0 : by_accuracy(params, COLUMN_R1);
}

double params_eta(const struct params *params, int split)
{
  if (params->Eta > 0) return params->Eta;
  if (!params_neighbour_lists(params)) return by_accuracy(params, split ? ETA_SPLIT : ETA_UNSPLIT);
  const struct integrator_traits *traits = &integrator_traits[params->Integrator];
  return rounded(fmin(traits->eta * pow(params_error(params) / 1e-5, traits->eta_power), traits->eta_max));
}

/* What the value 0 of these parameters means. */
static int has_rule(const struct param_entry *entry)
{
  static const char *const names[] = {"ErrTolForceAcc", "MultipoleOrder", "xs", "ys", "R1OverR0", "Eta"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    if (strcmp(entry->name, names[k]) == 0) return 1;
  return 0;
}

struct params params_of_run(const struct params *params, double particles, int on_device)
{
  struct params r = *params;
  r.run.particles = particles;
  r.run.on_device = on_device;
  return r;
}

/* 1: xs, ys and Eta that are 0 follow the system too, at each soft step (step/plan.h). */
static int follows_system(const struct params *params) { return !params_neighbour_lists(params) && !params->Comoving; }

struct params params_resolved(const struct params *params)
{
  struct params r = *params;
  r.MultipoleOrder = params_order(params);
  r.ErrTolForceAcc = params_delta(params);
  r.R1OverR0 = params_r1_over_r0(params);
  /* and Eta is that of the system, or given */
  if (follows_system(params) && params->xs == 0 && params->ys == 0) return r;
  r.xs = params_xs(params);
  r.ys = params_ys(params);
  if (!follows_system(params)) r.Eta = params_eta(params, params_mode(params) != MODE_TREE);
  return r;
}

int params_note(const struct params *params, const struct param_entry *entry, char *text, size_t size)
{
  struct params r = params_resolved(params);
  char given[PARAM_TEXT], used[PARAM_TEXT];
  *text = 0;
  if (!has_rule(entry)) return 0;
  params_format(params, entry, given, sizeof given);
  params_format(&r, entry, used, sizeof used);
  if (strcmp(given, "0") == 0 && strcmp(used, "0") == 0)
    return snprintf(text, size, "by Accuracy = %.60s, and by the system at each soft step", params->Accuracy) > 0;
  if (strcmp(given, used) == 0) return 0;
  double unsplit = params_eta(params, 0);
  int of_eta = strcmp(entry->name, "Eta") == 0;
  if (of_eta && params->Criterion == CRITERION_PAIRS) snprintf(text, size, "%.40s, by Criterion = pairs", used);
  else if (of_eta && params_mode(params) == MODE_AUTO && unsplit != r.Eta)
    snprintf(text, size, "%.40s with the split, %g without, by Accuracy = %.60s", used, unsplit, params->Accuracy);
  else snprintf(text, size, "%.40s, by Accuracy = %.60s", used, params->Accuracy);
  return 1;
}
