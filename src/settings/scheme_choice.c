/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "settings/parts.h"

#include <math.h>
#include <string.h>

#include "scheme/schemes.h"
#include "step/effort.h"
#include "step/step.h"
#include "system/radius.h"

enum { TRIAL_STEPS = 2 };   /* soft steps of a trial; the faster one counts */
#define TRIAL_SHARE 0.02    /* of the predicted run, which trials may take at its begin, */
#define AGAIN_SHARE 0.005   /* and later */
#define KEEP 0.9            /* what earlier soft steps weigh in the mean of the last ones */
/* Quantiles of the distance to the 28th neighbour, from which the mean number of neighbours within R2 is estimated. */
static const double quantiles[] = {0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95};
enum { QUANTILES = sizeof quantiles / sizeof *quantiles, NEIGHBOURS = 28 };

static int several(unsigned bits) { return (bits & (bits - 1)) != 0; }

int choice_open(const struct sim *sim) { return several(choice_allowed(sim->par)); }

int settings_have_choice(const struct sim *sim)
{
  const struct settings *settings = sim->settings;
  return settings && settings->choice.made && several(settings->choice.table.allowed);
}

const struct params *settings_given(const struct sim *sim) { return settings_have_choice(sim) ? &sim->settings->asked : sim->par; }

/* --- the parameters ---------------------------------------------------------------------------------------------- */

/* Give p the Mode, Scheme and R1OverR0 of a candidate. */
static void adopt(const struct sim *s, struct params *p, enum choice_scheme scheme)
{
  const struct params *asked = &s->settings->asked;
  p->Mode = asked->Mode;
  p->Scheme = asked->Scheme;
  p->R1OverR0 = asked->R1OverR0;
  choice_set(p, scheme);
}

/* Use a candidate from now on. */
static void use(struct sim *sim, enum choice_scheme scheme)
{
  adopt(sim, &sim->settings->in_use, scheme);
  sim->settings->choice.now = scheme;
}

void choice_take_only(struct sim *s)
{
  unsigned allowed = choice_allowed(s->par);
  s->settings->choice.table.allowed = allowed;
  for (int k = 0; k < CHOICES_COUNT; k++)
    if (allowed == 1u << k) use(s, k);
}

void choice_resume(struct sim *sim)
{
  struct settings *settings = sim->settings;
  settings->choice.table.allowed = choice_allowed(&settings->asked);
  settings->choice.now = choice_of(&settings->in_use, &settings->asked);
}

void settings_forget_trials(struct sim *s)
{
  struct scheme_choice *c = &s->settings->choice;
  memset(c->measured, 0, sizeof c->measured);
  memset(c->table.factor, 0, sizeof c->table.factor);
  c->trials = c->trial = c->trial_steps = c->interval = c->again.count = c->again.next = 0;
  c->seconds = c->time = 0;
  c->looked = s->step;
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

/* Number of neighbours within r2, the square of the mean root, from quantiles of the distance to the 28th. */
static double mean_neighbours(const double distance[QUANTILES], double r2, double count)
{
  double sum = 0;
  for (int k = 0; k < QUANTILES; k++) {
    double x = distance[k] > 0 ? r2 / distance[k] : 1;
    sum += sqrt(fmin(NEIGHBOURS * x * x * x, count));
  }
  return sum / QUANTILES * sum / QUANTILES;
}

/* Fill in a candidate. `distance`: of the quantiles. Collective. */
static void measure_candidate(struct sim *s, enum choice_scheme scheme, const double *distance, struct choice_candidate *c)
{
  struct params p = s->settings->asked;
  struct plan_facts now = s->system, later = s->system;
  struct finder_system system = plan_errors(&p, &s->now, &s->system);
  double left = p.TimeMax - s->time;
  later.change = fmax(later.change, errors_chance(&system));
  memset(c, 0, sizeof *c);
  adopt(s, &p, scheme);
  int split = p.Mode != MODE_TREE;
  if (split) c->r2 = scheme_r2(s, &p);
  now.hybrid = later.hybrid = split;
  now.r2 = later.r2 = split ? c->r2 : s->radius_rule;
  c->step = fmin(plan_wanted(&p, &s->now, &now), left);
  c->expected = fmin(plan_wanted(&p, &s->now, &later), left);
  if (scheme == CHOICE_SHARED) {
    c->error = errors_shared(&system, c->step);
    return;
  }
  c->eta = plan_eta(&p, &s->now, &now);
  c->error = errors_block(&system, c->eta) + (split ? errors_hybrid(&system, c->r2, c->step) : 0);
  if (split) c->neighbours = mean_neighbours(distance, c->r2, s->masses.count);
  count_levels(s, c);
}

static struct choice_machine machine_of(const struct sim *s)
{
  return (struct choice_machine){.on_device = effort_on_device(s), .ranks = s->comm->size, .threads = effort_threads(s), .delta = params_delta(s->par),
                                 .order = params_order(s->par)};
}

/* Measure the system, and predict the costs of all candidates. Block levels must be chosen again afterwards. Collective. */
static void measure(struct sim *s)
{
  struct choice_table *t = &s->settings->choice.table;
  double distance[QUANTILES];
  struct choice_machine m = machine_of(s);
  t->wanted = errors_allowed(params_error(s->par));
  radius_quantiles(s->comm, s->be, s->dev, s->masses.count, QUANTILES, quantiles, distance);
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

struct choice_errors choice_errors(const struct sim *s, const struct plan *plan)
{
  const struct params *p = s->par;
  struct choice_errors e = {0, 0, 10 * params_error(p)};
  struct finder_system system = plan_errors(p, &s->now, &s->system);
  if (p->Comoving || s->scheme->unpredicted || p->Criterion != CRITERION_MIN_AV || !(errors_profile(&system) > 0)) return e;
  e.forces = errors_forces(&system, params_delta(p));
  if (plan->shared && plan->shared_level < 0) return e;
  const struct split *split = scheme_split(s);
  if (plan->shared && !split) e.steps = errors_shared(&system, ldexp(plan->soft_step, -plan->shared_level));
  else e.steps = errors_block(&system, plan_eta(p, &s->now, &s->system));
  if (split) e.steps += errors_hybrid(&system, split->r2, plan->soft_step);
  return e;
}

double settings_corrected_cost(struct sim *s)
{
  struct scheme_choice *c = &s->settings->choice;
  const struct choice_candidate *one = &c->table.candidate[c->now];
  double seconds = s->effort;
  comm_max_double(s->comm, &seconds, 1);
  if (!settings_have_choice(s) || !(one->step_seconds > 0) || !(seconds > 0)) return 0;
  note_factor(&c->table, c->now, seconds / s->soft_step);
  return choice_predicted(&c->table, c->now, -1);
}

/* Note rows of choice.csv, and when to look again. Collective. */
static void note(struct sim *s, int why)
{
  struct scheme_choice *c = &s->settings->choice;
  struct choice_machine m = machine_of(s);
  c->why = why;
  c->looked = s->step;
  c->interval = agreed(s, choice_interval(&m, &c->table.candidate[c->now], plan_one_step(s->par, &s->system)));
}

/* Which candidates are tried from now on. Collective. */
static void plan_trials(struct sim *s, int like, int first, double share)
{
  struct scheme_choice *c = &s->settings->choice;
  c->trials = s->par->Repeatable == REPEATABLE_ON ? 1 : choice_trials(&c->table, like, first, s->par->TimeMax - s->time, share, c->order);
  c->trials = agreed(s, c->trials);
  comm_broadcast(s->comm, c->order, sizeof c->order);
  if (c->trials == 1) c->trials = 0;
  c->trial = c->trial_steps = 0;
  c->tried_seconds = c->tried_time = 0;
}

int choice_repeat(struct sim *s, long long step, int scheme, int why)
{
  int k = s->settings->choice.again.count;
  if (k == CHOOSE_AGAIN_MAX) return -1;
  s->settings->choice.again.step[k] = step;
  s->settings->choice.again.scheme[k] = scheme;
  s->settings->choice.again.why[k] = why;
  s->settings->choice.again.count++;
  return 0;
}

void choice_first(struct sim *s)
{
  struct scheme_choice *c = &s->settings->choice;
  double began = effort_clock(s);
  measure(s);
  int known = c->again.count > 0 && c->again.step[0] == s->step, first = known ? c->again.scheme[0] : agreed(s, choice_cheapest(&c->table, -1));
  if (known) c->again.next = 1;
  else plan_trials(s, -1, first, TRIAL_SHARE);
  c->made = 1;
  use(s, first);
  note(s, known ? CHOSE_AGAIN : CHOSE_MODEL);
  c->choosing += effort_clock(s) - began;
}

/* Use another candidate from now on. A change of the split needs forces. Collective. */
static void change(struct sim *s, int scheme)
{
  if (scheme == s->settings->choice.now) return;
  use(s, scheme);
  if (!scheme_follow(s)) return;
  sim_force(s, &s->mac, 0);
  sim_measure(s);
}

/* The next trial, or after the last one the decision. Returns as settings_step. Collective. */
static int try_next(struct sim *s)
{
  struct scheme_choice *c = &s->settings->choice;
  if (c->trial < c->trials) {
    if (!(c->table.candidate[c->order[c->trial]].step > 0)) measure(s);   /* after a restart, for the rows */
    change(s, c->order[c->trial]);
    c->why = CHOSE_TRIAL;
    return 1;
  }
  measure(s);
  for (int k = 0; k < c->trials; k++) note_factor(&c->table, c->order[k], c->measured[c->order[k]]);
  int fastest = agreed(s, choice_fastest(&c->table, c->order, c->trials, c->measured));
  c->choosing += fmax(0, c->tried_seconds - c->tried_time * c->measured[fastest]);
  c->trials = c->trial = 0;
  c->seconds = c->time = 0;
  change(s, fastest);
  note(s, CHOSE_MEASURED);
  return 2;
}

/* Look at the system again. Returns as settings_step. Collective. */
static int look(struct sim *s)
{
  struct scheme_choice *c = &s->settings->choice;
  measure(s);
  memset(c->measured, 0, sizeof c->measured);
  if (s->par->Repeatable == REPEATABLE_OFF && c->time > 0) {
    c->measured[c->now] = c->seconds / c->time;
    note_factor(&c->table, c->now, c->measured[c->now]);
  }
  int cheapest = choice_cheapest(&c->table, c->now), pays = agreed(s, choice_pays(&c->table, c->now, cheapest));
  if (pays) {
    plan_trials(s, c->now, c->now, AGAIN_SHARE);
    c->trial = c->measured[c->now] > 0;   /* the present one is measured, but after a restart */
    if (c->trials > 1) return try_next(s);
    c->trial = 0;
    change(s, agreed(s, cheapest));   /* by the model alone */
  }
  note(s, CHOSE_LOOK);
  return pays ? 2 : 1;
}

/* Make the next choice of an earlier run, where it is due. Returns as settings_step. Collective. */
static int repeat(struct sim *s)
{
  struct scheme_choice *c = &s->settings->choice;
  int k = c->again.next, was = c->now;
  if (c->again.step[k] > s->step) return 0;
  if (c->again.why[k] == CHOSE_TRIAL) c->why = CHOSE_TRIAL;
  if (c->why != CHOSE_TRIAL || !(c->table.candidate[c->again.scheme[k]].step > 0)) measure(s);
  c->again.next++;
  change(s, c->again.scheme[k]);
  if (c->again.why[k] != CHOSE_TRIAL) note(s, CHOSE_AGAIN);
  return c->now != was && c->why == CHOSE_AGAIN ? 2 : 1;
}

/* A soft step of a trial that took so many seconds per unit of time. Returns 1 where the trial is over. */
static int tried(const struct sim *s, struct scheme_choice *c, double each)
{
  double *measured = &c->measured[c->order[c->trial]];
  *measured = c->trial_steps == 0 ? each : fmin(*measured, each);
  c->tried_seconds += each * s->soft_step;
  c->tried_time += s->soft_step;
  if (++c->trial_steps < TRIAL_STEPS && !choice_lost(c->order, c->trial, c->measured)) return 0;
  c->trial_steps = 0;
  c->trial++;
  return 1;
}

int settings_step(struct sim *s)
{
  struct scheme_choice *c = &s->settings->choice;
  double seconds = s->effort, began = effort_clock(s);
  int rows = 0;
  if (!settings_have_choice(s) || !(s->time < s->par->TimeMax)) return 0;
  comm_max_double(s->comm, &seconds, 1);
  if (c->again.next < c->again.count) rows = repeat(s);
  else if (c->trial < c->trials) {
    if (seconds > 0 && tried(s, c, seconds / s->soft_step)) rows = try_next(s);   /* 0: it continues one of before a restart */
  } else {
    c->seconds = KEEP * c->seconds + seconds;
    c->time = KEEP * c->time + (seconds > 0 ? s->soft_step : 0);
    if (s->step - c->looked >= c->interval) rows = look(s);
  }
  c->choosing += effort_clock(s) - began;
  return rows;
}
