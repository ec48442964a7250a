/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "step/choose.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "system/radius.h"
#include "step/step.h"

enum { TRIAL_STEPS = 2 };   /* soft steps of a trial; the faster one counts */
/* Quantiles of the distance to the 28th neighbour, from which the mean number of neighbours within R2 is estimated. */
static const double quantiles[] = {0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95};
enum { QUANTILES = sizeof quantiles / sizeof *quantiles, NEIGHBOURS = 28 };

static int several(unsigned bits) { return (bits & (bits - 1)) != 0; }

int choose_asked(const struct params *p) { return several(choice_allowed(p)); }

int choose_used(const struct sim *s) { return s->choose.made && several(s->choose.table.allowed); }

/* --- the parameters ---------------------------------------------------------------------------------------------- */

/* Give p the Mode, Scheme and R1OverR0 of a candidate. */
static void adopt(const struct sim *s, struct params *p, enum choice_scheme scheme)
{
  const struct params *asked = &s->choose.asked;
  p->Mode = asked->Mode;
  p->Scheme = asked->Scheme;
  p->R1OverR0 = asked->R1OverR0;
  choice_set(p, scheme);
}

static void adopt_own(struct sim *s, enum choice_scheme scheme)
{
  s->own = *s->par;
  adopt(s, &s->own, scheme);
  s->par = &s->own;
  s->choose.now = scheme;
}

void choose_only(struct sim *s)
{
  unsigned allowed = choice_allowed(s->par);
  s->choose.asked = *s->par;
  s->choose.table.allowed = allowed;
  for (int k = 0; k < CHOICES_COUNT; k++)
    if (allowed == 1u << k) adopt_own(s, k);
}

void choose_resume(struct sim *s, const struct params *asked)
{
  s->choose.asked = *asked;
  s->choose.table.allowed = choice_allowed(asked);
  s->choose.now = choice_of(s->par, asked);
}

void choose_forget(struct sim *s)
{
  struct choose_part *c = &s->choose;
  memset(c->measured, 0, sizeof c->measured);
  memset(c->table.factor, 0, sizeof c->table.factor);
  c->trials = c->trial = c->trial_steps = 0;
  c->seconds = c->time = 0;
  c->looked = s->step - CHOOSE_INTERVAL_SHARED;
}

/* --- the candidates ---------------------------------------------------------------------------------------------- */

/* Particles at each block level with a candidate's steps, over all ranks. Collective. */
static void count_levels(struct sim *s, struct choice_candidate *c)
{
  struct step_rule rule = step_rule_of(s, c->step);
  _Static_assert(sizeof c->count == 32 * sizeof *c->count, "histogram");
  rule.eta = c->eta;
  s->be->levels(s->dev, &rule, -1);
  s->be->histogram(s->dev, c->count);
  comm_sum_int64(s->comm, c->count, CHOICE_LEVELS);
}

/* Mean number of neighbours within r2, from quantiles of the distance to the 28th. */
static double mean_neighbours(const double distance[QUANTILES], double r2, double count)
{
  double sum = 0;
  for (int k = 0; k < QUANTILES; k++) {
    double x = distance[k] > 0 ? r2 / distance[k] : 1;
    sum += fmin(NEIGHBOURS * x * x * x, count);
  }
  return sum / QUANTILES;
}

/* Fill in a candidate. `distance`: of the quantiles. Collective. */
static void measure_candidate(struct sim *s, enum choice_scheme scheme, const double *distance, struct choice_candidate *c)
{
  struct params p = s->choose.asked;
  struct finder_system system = plan_errors(&p, &s->now, &s->system);
  double left = p.TimeMax - s->time;
  memset(c, 0, sizeof *c);
  adopt(s, &p, scheme);
  int split = p.Mode != MODE_TREE;
  if (split) c->r2 = sim_r2(s, &p);
  c->step = fmin(plan_wanted(&p, &s->now, &s->system, split ? c->r2 : s->radius_rule, split), left);
  if (scheme == CHOICE_SHARED) {
    c->error = errors_shared(&system, c->step);
    return;
  }
  c->eta = plan_eta(&p, &s->now, &s->system, split);
  c->error = errors_block(&system, c->eta) + (split ? errors_hybrid(&system, c->r2, c->step) : 0);
  if (split) c->neighbours = mean_neighbours(distance, c->r2, s->hard.count);
  count_levels(s, c);
}

/* Measure the system, and predict the costs of all candidates. Block levels must be chosen again afterwards. Collective. */
static void measure(struct sim *s)
{
  struct choice_table *t = &s->choose.table;
  int on_device = s->be->particle_bytes > 0;
  double distance[QUANTILES];
  struct choice_machine m = {.on_device = on_device, .ranks = s->comm->size, .threads = on_device ? 1 : omp_get_max_threads(),
                             .delta = params_delta(s->par), .order = params_order(s->par)};
  t->wanted = errors_allowed(params_error(s->par));
  radius_quantiles(s->comm, s->be, s->dev, s->hard.count, QUANTILES, quantiles, distance);
  for (int k = 0; k < CHOICES_COUNT; k++) {
    if (!(t->allowed & 1u << k)) continue;
    measure_candidate(s, k, distance, &t->candidate[k]);
    choice_cost(&m, s->now.count, &t->candidate[k]);
  }
}

/* Note the seconds per unit of time of a candidate as measured, by their ratio to those that the model alone predicts. */
static void note_factor(struct choice_table *t, int k, double measured)
{
  double model = t->candidate[k].step > 0 ? t->candidate[k].step_seconds / t->candidate[k].step : 0;
  if (model > 0 && measured > 0) t->factor[k] = measured / model;
}

/* --- decisions --------------------------------------------------------------------------------------------------- */

/* Rank 0's candidate: machines may differ in the last bit. Collective. */
static int agreed(const struct sim *s, int scheme)
{
  comm_broadcast(s->comm, &scheme, sizeof scheme);
  return scheme;
}

void choose_first(struct sim *s)
{
  struct choose_part *c = &s->choose;
  measure(s);
  int first = agreed(s, choice_cheapest(&c->table, -1));
  c->trials = s->par->Repeatable == REPEATABLE_ON ? 1 : choice_trials(&c->table, -1, first, s->par->TimeMax - s->time, c->order);
  c->trials = agreed(s, c->trials);
  comm_broadcast(s->comm, c->order, sizeof c->order);
  if (c->trials == 1) c->trials = 0;
  c->made = 1;
  c->looked = s->step;
  adopt_own(s, first);
}

/* Use another candidate from now on. A change of the split needs forces. Collective. */
static void change(struct sim *s, struct params *p, int scheme)
{
  int was = s->split.on;
  float r2 = s->split.r2;
  if (scheme == s->choose.now) return;
  adopt(s, p, scheme);
  s->choose.now = scheme;
  if (p->Mode == MODE_TREE) s->split.on = 0;
  else sim_radius(s, 1);
  if (s->split.on == was && (!was || s->split.r2 == r2)) return;
  sim_force(s, &s->mac, 0);
  sim_measure(s);
}

/* The next trial, or after the last one the decision. Returns 1 where a decision has been made. Collective. */
static int try_next(struct sim *s, struct params *p)
{
  struct choose_part *c = &s->choose;
  if (c->trial < c->trials) {
    change(s, p, c->order[c->trial]);
    return 0;
  }
  measure(s);
  for (int k = 0; k < c->trials; k++) note_factor(&c->table, c->order[k], c->measured[c->order[k]]);
  int fastest = agreed(s, choice_fastest(c->order, c->trials, c->measured));
  c->trials = c->trial = 0;
  c->looked = s->step;
  c->seconds = c->time = 0;
  change(s, p, fastest);
  return 1;
}

/* Look at the system again. Returns 1 where a decision has been made. Collective. */
static int look(struct sim *s, struct params *p)
{
  struct choose_part *c = &s->choose;
  measure(s);
  memset(c->measured, 0, sizeof c->measured);
  if (p->Repeatable == REPEATABLE_OFF && c->time > 0) {
    c->measured[c->now] = c->seconds / c->time;
    note_factor(&c->table, c->now, c->measured[c->now]);
  }
  c->looked = s->step;
  c->seconds = c->time = 0;
  int cheapest = choice_cheapest(&c->table, c->now), pays = agreed(s, choice_pays(&c->table, c->now, cheapest));
  if (!pays) return 0;
  c->trials = p->Repeatable == REPEATABLE_ON ? 1 : choice_trials(&c->table, c->now, c->now, p->TimeMax - s->time, c->order);
  c->trials = agreed(s, c->trials);
  comm_broadcast(s->comm, c->order, sizeof c->order);
  c->trial = 1;   /* the present one is measured */
  if (c->trials > 1) return try_next(s, p);
  c->trials = c->trial = 0;   /* the model alone */
  change(s, p, agreed(s, cheapest));
  return 1;
}

static int interval(const struct params *p) { return plan_one_step(p, params_mode(p) != MODE_TREE) ? CHOOSE_INTERVAL_SHARED : CHOOSE_INTERVAL; }

int choose_step(struct sim *s, struct params *p, double seconds)
{
  struct choose_part *c = &s->choose;
  double each = seconds / s->soft_step;
  if (!choose_used(s) || !(s->time < p->TimeMax)) return 0;
  c->seconds += seconds;
  c->time += s->soft_step;
  if (c->trial < c->trials) {
    double *measured = &c->measured[c->order[c->trial]];
    *measured = c->trial_steps == 0 ? each : fmin(*measured, each);
    if (++c->trial_steps < TRIAL_STEPS && !choice_lost(c->order, c->trial, c->measured)) return 0;
    c->trial_steps = 0;
    c->trial++;
    return try_next(s, p);
  }
  return s->step - c->looked >= interval(p) ? look(s, p) : 0;
}

/* --- words ------------------------------------------------------------------------------------------------------- */

/* Seconds per unit of time, measured or predicted. */
static double seconds_of(const struct choose_part *c, int k)
{
  return c->measured[k] > 0 ? c->measured[k] : choice_predicted(&c->table, k, c->now);
}

static int is_candidate(const struct choose_part *c, int k) { return (c->table.allowed & 1u << k) && c->table.candidate[k].step > 0; }

/* A line with the seconds of the other candidates that were measured, or that were not. */
static void print_others(const struct choose_part *c, int measured, FILE *out)
{
  char name[64];
  const char *before = measured ? "        measured: " : "        predicted: ";
  for (int k = 0; k < CHOICES_COUNT; k++) {
    if (!is_candidate(c, k) || k == c->now || (c->measured[k] > 0) != measured) continue;
    fprintf(out, "%s%s: %.3g", before, choice_name(k, &c->asked, name), seconds_of(c, k));
    before = ", ";
  }
  if (*before == ',') fputc('\n', out);
}

void choose_name_now(const struct sim *s, FILE *out)
{
  char name[64];
  fprintf(out, "Scheme at this start: %s", choice_name(s->choose.now, &s->choose.asked, name));
}

void choose_print(const struct sim *s, FILE *out)
{
  const struct choose_part *c = &s->choose;
  char name[64];
  if (!choose_used(s)) return;
  if (!is_candidate(c, c->now)) {
    fprintf(out, "scheme: %s, that of the checkpoint\n", choice_name(c->now, &c->asked, name));
    return;
  }
  if (!choice_reaches(&c->table, c->now))
    fprintf(out, "warning: no scheme has the wanted accuracy: |dE/E| of %.1e is predicted for ten dynamical times,\n"
                 "         and steps may have %.1e\n", c->table.candidate[c->now].error, c->table.wanted);
  fprintf(out, "scheme: %s, %.3g s per unit of time (%s)", choice_name(c->now, &c->asked, name), seconds_of(c, c->now),
          c->measured[c->now] > 0 ? "measured" : "predicted");
  if (c->trials > 0) fprintf(out, "; the first soft steps try %d", c->trials);
  fputc('\n', out);
  print_others(c, 1, out);
  print_others(c, 0, out);
}

void choose_report(const struct sim *s, const double bytes[2], FILE *out)
{
  const struct choose_part *c = &s->choose;
  char name[64];
  if (!choose_used(s)) return;
  fprintf(out, "schemes, predicted                        soft step  |dE/E| in 10  s per unit  MB per\n"
               "                                                     dyn. times     of time    rank\n");
  for (int k = 0; k < CHOICES_COUNT; k++) {
    const struct choice_candidate *one = &c->table.candidate[k];
    if (!is_candidate(c, k)) continue;
    fprintf(out, "  %-25s %-11s  %10.3g %13.1e %11.3g %7.4g\n", choice_name(k, &c->asked, name), k == c->now ? "(chosen)" : "", one->step,
            one->error, seconds_of(c, k), bytes[one->r2 > 0] / 1e6);
  }
}

void choose_header(FILE *out)
{
  fprintf(out, "step,time,candidate,R1OverR0,error,dt_soft,eta,seconds_predicted,seconds_measured,chosen\n");
}

void choose_rows(const struct sim *s, FILE *out)
{
  static const char *const names[CHOICES_COUNT] = {"shared", "block", "hybrid", "hybrid"};
  const struct choose_part *c = &s->choose;
  for (int k = 0; k < CHOICES_COUNT; k++) {
    const struct choice_candidate *one = &c->table.candidate[k];
    struct params p = c->asked;
    char ratio[32] = "", measured[32] = "";
    if (!(c->table.allowed & 1u << k)) continue;
    choice_set(&p, k);
    if (one->r2 > 0 && p.R1 == 0) snprintf(ratio, sizeof ratio, "%g", params_r1_over_r0(&p));
    if (c->measured[k] > 0) snprintf(measured, sizeof measured, "%.6g", c->measured[k]);
    fprintf(out, "%lld,%.15g,%s,%s,%.3g,%.9g,%.6g,%.6g,%s,%d\n", s->step, s->time, names[k], ratio, one->error, one->step, one->eta,
            choice_predicted(&c->table, k, c->now), measured, k == (int)c->now);
  }
}
