/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The model. Lengths are in units of the virial radius L = G M^2 / (4 |E|), times in units of T = G M^(5/2) / |4
 * E|^(3/2) (the N-body units of Henon: 1 and 1 for M = G = 1, E = -1/4).
 *
 *   soft steps   |dE/E| as in errors.c
 *   hard part    |dE/E| = HARD_ERROR (eta / 0.2)^4: of stars alone it is 3e-7 (eta / 0.2)^4, but a bound pair that is
 *                integrated step by step loses energy the whole time
 *   forces       |dE/E| = NOISE_ERROR, or NOISE_ERROR_MANY N^-1/2 where that is smaller, times the relative noise of
 *                the soft force, which goes as the square root of Delta: the noise of many particles adds up at random
 *   hard entries, per particle and time:  LIST_NEIGHBOURS (R2 / d)^3 times the steps, sqrt((LIST_STEP_RATE (v / d) (d /
 *   R2)^0.4 (0.2 / eta))^2 + (4 / t)^2),
 *                d: median distance to the 28th neighbour; steps follow encounters, and there are at least four in a
 *                soft step
 *   soft force   per particle: SOFT_INTERACTIONS (1e-3 / Delta)^0.27 interactions, at most N, and the rest of a soft
 *                step
 *
 * Constants are from runs of Plummer spheres of 4096 and 16384 particles with softening 1e-4 and 0 (doc/numerics.md has
 * them). */
#include <config.h>
#include "tuning/finder.h"

#include <math.h>
#include <stdlib.h>

#define HARD_ERROR 5e-6
#define NOISE_ERROR 0.005
#define NOISE_ERROR_MANY 0.768
#define LIST_NEIGHBOURS 75
#define LIST_STEP_RATE 145
#define SOFT_INTERACTIONS 3000
/* Relative noise of the soft force at Delta = 2^-9, by MultipoleOrder. */
static const double noise[3] = {0, 3.0e-4, 1.1e-4};
/* Parts of the wanted error that soft steps, the hard part and the forces may have. */
#define SOFT_STEP_SHARE 0.6
#define HARD_SHARE 0.25
#define FORCE_SHARE 0.15
/* Soft steps are not longer than these parts of R2 / v, and of sqrt(R2^3 / G m), the time of orbits about the heaviest
 * particle. Soft steps in which the latter orbits have the error 1e-6 are ORBIT_STEP of that time. */
#define CROSSING_STEP_MAX 0.25
#define ORBIT_STEP_MAX 0.1
#define ORBIT_STEP 0.04
#define ETA_MIN 0.05
#define ETA_MAX 0.5
#define DELTA_MIN 1e-8
/* R1 / R2; a smaller ratio makes a smoother changeover. */
#define R1_OVER_R2 0.25
/* The choice that is the rule for R2, half of the distance. It is left where another one costs so much less. */
enum { RULE_CHOICE = 2 };
#define RULE_SLACK 1.2
/* Seconds of a core and of a device: of an interaction of the soft force with quadrupoles, of the rest of a soft step
 * per particle (order, tree, neighbour lists), and of a hard entry. */
static const double interaction_seconds[2] = {5e-10, 5e-12}, step_seconds[2] = {1.5e-6, 1e-8},
                    entry_seconds[2] = {2.8e-8, 2e-10};

static double square(double x) { return x * x; }

static double hard_error(double eta) { return HARD_ERROR * square(square(eta / 0.2)); }

double finder_error(const struct finder_system *system, double r2, double soft_step, double eta)
{
  struct scales u = errors_scales(system);
  return errors_soft(system, &u, r2, soft_step) + hard_error(eta);
}

/* Three digits, downwards. */
static double rounded(double x)
{
  if (!(x > 0) || x >= 1e300) return x;
  double unit = pow(10, floor(log10(x)) - 2), n = floor(x / unit * (1 + 1e-12));
  char text[40];
  snprintf(text, sizeof text, "%.3g", n * unit);
  return strtod(text, NULL);
}

/* The longest soft step, up to `longest`, that gives the part of the error that soft steps may have: by bisection. */
static double longest_step(const struct finder_system *system, const struct finder_request *request,
                           const struct scales *scales, double r2, double longest)
{
  double low = 0, high = longest;
  for (int k = 0; k < 60; k++) {
    double middle = 0.5 * (low + high);
    if (errors_soft(system, scales, r2, middle) > SOFT_STEP_SHARE * request->error) high = middle;
    else low = middle;
  }
  return high;
}

static double soft_step_of(const struct finder_system *system, const struct finder_request *request,
                           const struct scales *scales, double r2)
{
  double step = scales->time * sqrt(SOFT_STEP_SHARE * request->error / errors_mean_field(system));
  /* nothing moves and nothing pulls */
  if (!(scales->time < 1e300)) return request->longest > 0 ? request->longest : 1e300;
  if (scales->v > 0) step = fmin(step, CROSSING_STEP_MAX * r2 / scales->v);
  if (system->largest_mass > 0)
    step = fmin(step, fmin(ORBIT_STEP * sqrt(request->error / 1e-6), ORBIT_STEP_MAX) *
                          sqrt(r2 * r2 * r2 / (system->gravity * system->largest_mass)));
  if (request->longest > 0) step = fmin(step, request->longest);
  return rounded(longest_step(system, request, scales, r2, step));
}

double finder_soft_step(const struct finder_system *system, double r2, double error)
{
  struct finder_request q = {.error = error};
  struct scales u = errors_scales(system);
  return soft_step_of(system, &q, &u, r2);
}

static double eta_of(double error)
{
  return rounded(fmin(fmax(0.2 * pow(HARD_SHARE * error / HARD_ERROR, 0.25), ETA_MIN), ETA_MAX));
}

static double delta_of(double count, double error, int order)
{
  double noise_error = count > 0 ? fmin(NOISE_ERROR, NOISE_ERROR_MANY / sqrt(count)) : NOISE_ERROR;
  return rounded(fmax(square(FORCE_SHARE * error / (noise_error * noise[order])) / 512, DELTA_MIN));
}

static double soft_cost_of(const struct finder_system *system, const struct finder_request *request, double delta)
{
  if (request->soft_cost > 0) return request->soft_cost;
  double interactions = fmin(system->count, SOFT_INTERACTIONS * pow(1e-3 / delta, 0.27));
  int k = request->on_device != 0;
  return (interactions * interaction_seconds[k] + step_seconds[k]) / entry_seconds[k];
}

static double entries_of(const struct finder_system *system, const struct scales *scales,
                         const struct finder_choice *choice)
{
  double x = choice->r2 / system->distance;
  double steps = LIST_STEP_RATE * scales->v / system->distance * pow(x, -0.4) * (0.2 / choice->eta);
  return LIST_NEIGHBOURS * x * x * x * hypot(steps, 4 / choice->soft_step);
}

static struct finder_choice choice_of(const struct finder_system *system, const struct finder_request *request,
                                      double r2, double soft_cost)
{
  struct scales u = errors_scales(system);
  struct finder_choice c = {.r2 = r2,
                            .r1 = request->r1 > 0 ? request->r1 : rounded(R1_OVER_R2 * r2),
                            .eta = request->eta > 0 ? request->eta : eta_of(request->error)};
  c.soft_step = request->soft_step > 0 ? request->soft_step : soft_step_of(system, request, &u, r2);
  c.error = finder_error(system, r2, c.soft_step, c.eta) + FORCE_SHARE * request->error;
  c.entries = entries_of(system, &u, &c);
  double second = system->count * entry_seconds[request->on_device != 0] / fmax(request->workers, 1);
  c.soft_seconds = second * soft_cost / c.soft_step;
  c.hard_seconds = second * c.entries;
  return c;
}

/* Whether a choice is better than another: one that reaches the error before one that does not, then the cheaper or the
 * more exact one. */
static int better(const struct finder_choice *a, const struct finder_choice *b, double error)
{
  int reaches = a->error <= error * (1 + 1e-9), other = b->error <= error * (1 + 1e-9);
  if (reaches != other) return reaches;
  return reaches ? a->soft_seconds + a->hard_seconds < b->soft_seconds + b->hard_seconds : a->error < b->error;
}

struct finder_result finder_find(const struct finder_system *system, const struct finder_request *request)
{
  struct finder_result r = {.delta = fmin(request->delta, delta_of(system->count, request->error, request->order)),
                            .delta_at_order_2 = delta_of(system->count, request->error, 2)};
  r.soft_cost = soft_cost_of(system, request, r.delta);
  if (request->r1 > 0) {
    r.choice[r.n++] = choice_of(system, request, request->r2 > 0 ? request->r2 : request->r1 / R1_OVER_R2, r.soft_cost);
  } else {
    for (; r.n < FINDER_CHOICES; r.n++)
      r.choice[r.n] = choice_of(system, request, rounded(system->distance * exp2(-0.5 * r.n)), r.soft_cost);
  }
  for (int k = 1; k < r.n; k++)
    if (better(&r.choice[k], &r.choice[r.best], request->error)) r.best = k;
  r.error = r.choice[r.best].error;
  r.reached = r.error <= request->error * (1 + 1e-9);
  return r;
}

double finder_rule_part(double count, double error, int on_device)
{
  const struct finder_system sphere = {.count = count,
                                       .gravity = 1,
                                       .mass = 1,
                                       .energy = -0.25,
                                       .v_rms = sqrt(0.5),
                                       .distance = cbrt(28 / fmax(count, 28)) / 0.74};
  const struct finder_request request = {.error = error, .delta = 1, .order = 2, .on_device = on_device, .workers = 1};
  struct finder_result found = finder_find(&sphere, &request);
  const struct finder_choice *best = &found.choice[found.best];
  int k = RULE_CHOICE;
  double enough = RULE_SLACK * (best->soft_seconds + best->hard_seconds);
  if (!found.reached) return 1;
  while (k < found.best && found.choice[k].soft_seconds + found.choice[k].hard_seconds > enough) k++;
  return exp2(-0.5 * (k - RULE_CHOICE));
}

void finder_print(const struct finder_result *result, const struct finder_request *request, FILE *out)
{
  const struct finder_choice *best = &result->choice[result->best];
  fprintf(out, "EnergyError = %g: R1 = %g, R2 = %g, SoftStep = %g, Eta = %g, ErrTolForceAcc = %g for the whole run;\n",
          request->error, best->r1, best->r2, best->soft_step, best->eta, result->delta);
  fprintf(out,
          "  predicted: error %.1e, at the least cost (*); entries of lists are those that hard forces evaluate, per "
          "particle\n  and unit of time; the soft force on a particle costs as much as %.0f of them%s:\n",
          result->error, result->soft_cost, request->soft_cost > 0 ? " (SoftForceCost)" : "");
  fprintf(out, "          R1        R2  SoftStep     error   entries  soft s/time  hard s/time\n");
  for (int k = 0; k < result->n; k++) {
    const struct finder_choice *c = &result->choice[k];
    fprintf(out, "  %c %8.3g  %8.3g  %8.3g  %8.1e  %8.0f     %8.2g     %8.2g\n", k == result->best ? '*' : ' ', c->r1,
            c->r2, c->soft_step, c->error, c->entries, c->soft_seconds, c->hard_seconds);
  }
  if (!result->reached)
    fprintf(out, "  warning: no choice reaches the error that is asked for; the most exact one is taken\n");
  if (request->order == 1)
    fprintf(out, "  MultipoleOrder = 2 would need an ErrTolForceAcc of %.2g only, and is cheaper\n",
            fmin(request->delta, result->delta_at_order_2));
}
