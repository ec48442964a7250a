/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "settings/parts.h"

#include <math.h>
#include <string.h>

#include "scheme/schemes.h"
#include "step/effort.h"
#include "step/step.h"
#include "system/radius.h"

enum { TRIAL_STEPS = 2 }; /* soft steps of a trial; the faster one counts */
#define TRIAL_SHARE 0.02  /* of the predicted run, which trials may take at its begin, */
#define AGAIN_SHARE 0.005 /* and later */
#define COST_KEPT 0.9     /* what earlier soft steps weigh in the mean of the last ones */
/* Quantiles of the distance to the 28th neighbour, from which the mean number of neighbours within R2 is estimated. */
static const double quantiles[] = {0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95};
enum { QUANTILES = sizeof quantiles / sizeof *quantiles, QUANTILE_NEIGHBOURS = 28 };

static int several(unsigned bits) { return (bits & (bits - 1)) != 0; }

int choice_is_open(const struct sim *sim) { return several(choice_allowed(sim->par)); }

int settings_have_choice(const struct sim *sim)
{
  const struct settings *settings = sim->settings;
  return settings && settings->choice.made && several(settings->choice.table.allowed);
}

const struct params *settings_given(const struct sim *sim)
{
  return settings_have_choice(sim) ? &sim->settings->asked : sim->par;
}

/* --- the parameters ---------------------------------------------------------------------------------------------- */

/* Give p the Mode, Scheme and R1OverR0 of a candidate. */
static void adopt(const struct sim *sim, struct params *params, enum choice_scheme scheme)
{
  const struct params *asked = &sim->settings->asked;
  params->Mode = asked->Mode;
  params->Scheme = asked->Scheme;
  params->R1OverR0 = asked->R1OverR0;
  choice_set(params, scheme);
}

/* Use a candidate from now on. */
static void use(struct sim *sim, enum choice_scheme scheme)
{
  adopt(sim, &sim->settings->in_use, scheme);
  sim->settings->choice.now = scheme;
}

void choice_take_only(struct sim *sim)
{
  unsigned allowed = choice_allowed(sim->par);
  sim->settings->choice.table.allowed = allowed;
  for (int k = 0; k < CHOICES_COUNT; k++)
    if (allowed == 1u << k) use(sim, k);
}

void choice_resume(struct sim *sim)
{
  struct settings *settings = sim->settings;
  settings->choice.table.allowed = choice_allowed(&settings->asked);
  settings->choice.now = choice_of(&settings->in_use, &settings->asked);
}

void settings_forget_trials(struct sim *sim)
{
  struct scheme_choice *choice = &sim->settings->choice;
  memset(choice->measured, 0, sizeof choice->measured);
  memset(choice->table.factor, 0, sizeof choice->table.factor);
  choice->trials = choice->trial = choice->trial_steps = choice->interval = choice->again.count = choice->again.next =
      0;
  choice->seconds = choice->time = 0;
  choice->looked = sim->step;
}

/* --- the candidates ---------------------------------------------------------------------------------------------- */

/* Particles at each block level with a candidate's steps, over all ranks. Collective. */
static void count_levels(struct sim *sim, struct choice_candidate *candidate)
{
  struct step_rule rule = step_rule_of(sim, candidate->step);
  _Static_assert(sizeof candidate->count == 32 * sizeof *candidate->count, "histogram");
  rule.eta = candidate->eta;
  sim->be->steps.levels(sim->dev, &rule, -1);
  sim->be->steps.histogram(sim->dev, candidate->count);
  comm_sum_int64(sim->comm, candidate->count, CHOICE_LEVELS);
}

/* Number of neighbours within r2, the square of the mean root, from quantiles of the distance to the 28th. */
static double mean_neighbours(const double distance[QUANTILES], double r2, double count)
{
  double sum = 0;
  for (int k = 0; k < QUANTILES; k++) {
    double x = distance[k] > 0 ? r2 / distance[k] : 1;
    sum += sqrt(fmin(QUANTILE_NEIGHBOURS * x * x * x, count));
  }
  return sum / QUANTILES * sum / QUANTILES;
}

/* Fill in a candidate. `distance`: of the quantiles. Collective. */
static void measure_candidate(struct sim *sim, enum choice_scheme scheme, const double *distance,
                              struct choice_candidate *candidate)
{
  struct params p = sim->settings->asked;
  struct plan_facts now = sim->system, later = sim->system;
  struct finder_system system = plan_errors(&p, &sim->now, &sim->system);
  double left = p.TimeMax - sim->time;
  later.change = fmax(later.change, errors_chance(&system));
  memset(candidate, 0, sizeof *candidate);
  adopt(sim, &p, scheme);
  int split = p.Mode != MODE_TREE;
  if (split) candidate->r2 = scheme_r2(sim, &p);
  now.hybrid = later.hybrid = system.split = split;
  now.r2 = later.r2 = split ? candidate->r2 : sim->force.radius_rule;
  candidate->step = fmin(plan_wanted(&p, &sim->now, &now), left);
  candidate->expected = fmin(plan_wanted(&p, &sim->now, &later), left);
  if (scheme == CHOICE_SHARED) {
    candidate->error = errors_shared(&system, candidate->step);
    return;
  }
  candidate->eta = plan_eta(&p, &sim->now, &now);
  candidate->error =
      errors_block(&system, candidate->eta) + (split ? errors_hybrid(&system, candidate->r2, candidate->step) : 0);
  if (split) candidate->neighbours = mean_neighbours(distance, candidate->r2, sim->masses.count);
  count_levels(sim, candidate);
}

static struct choice_machine machine_of(const struct sim *sim)
{
  return (struct choice_machine){.on_device = effort_on_device(sim),
                                 .ranks = sim->comm->size,
                                 .threads = effort_threads(sim),
                                 .delta = params_delta(sim->par),
                                 .order = params_order(sim->par)};
}

/* Measure the system, and predict the costs of all candidates. Block levels must be chosen again afterwards.
 * Collective. */
static void measure(struct sim *sim)
{
  struct choice_table *t = &sim->settings->choice.table;
  double distance[QUANTILES];
  struct choice_machine m = machine_of(sim);
  t->wanted = errors_allowed(params_error(sim->par));
  radius_quantiles(sim->comm, sim->be, sim->dev, sim->masses.count, QUANTILES, quantiles, distance);
  for (int k = 0; k < CHOICES_COUNT; k++) {
    if (!(t->allowed & 1u << k)) continue;
    measure_candidate(sim, k, distance, &t->candidate[k]);
    choice_cost(&m, sim->now.count, &t->candidate[k]);
  }
}

/* Note the seconds per unit of time of a candidate as measured, by their ratio to those that the model alone
 * predicts. */
static void note_factor(struct choice_table *table, int k, double measured)
{
  double model = table->candidate[k].step > 0 ? table->candidate[k].step_seconds / table->candidate[k].step : 0;
  if (model > 0 && measured > 0) table->factor[k] = measured / model;
}

/* --- decisions --------------------------------------------------------------------------------------------------- */

/* Rank 0's candidate: machines may differ in the last bit. Collective. */
static int agreed(const struct sim *sim, int scheme)
{
  comm_broadcast(sim->comm, &scheme, sizeof scheme);
  return scheme;
}

struct choice_errors choice_errors(const struct sim *sim, const struct plan *plan)
{
  const struct params *p = sim->par;
  struct choice_errors e = {0, 0, 10 * params_error(p)};
  struct finder_system system = plan_errors(p, &sim->now, &sim->system);
  if (p->Comoving || sim->scheme->unpredicted || !(errors_profile(&system) > 0)) return e;
  e.forces = errors_forces(&system, params_delta(p));
  if (plan->shared && plan->shared_level < 0) return e;
  const struct split *split = scheme_split(sim);
  if (plan->shared && !split) e.steps = errors_shared(&system, ldexp(plan->soft_step, -plan->shared_level));
  else e.steps = errors_block(&system, plan_eta(p, &sim->now, &sim->system));
  if (split) e.steps += errors_hybrid(&system, split->r2, plan->soft_step);
  return e;
}

double settings_corrected_cost(struct sim *sim)
{
  struct scheme_choice *choice = &sim->settings->choice;
  const struct choice_candidate *one = &choice->table.candidate[choice->now];
  double seconds = sim->cost.effort;
  comm_max_double(sim->comm, &seconds, 1);
  if (!settings_have_choice(sim) || !(one->step_seconds > 0) || !(seconds > 0)) return 0;
  note_factor(&choice->table, choice->now, seconds / sim->soft_step);
  return choice_predicted(&choice->table, choice->now, -1);
}

/* Note rows of choice.csv, and when to look again. Collective. */
static void note(struct sim *sim, int why)
{
  struct scheme_choice *choice = &sim->settings->choice;
  struct choice_machine m = machine_of(sim);
  choice->why = why;
  choice->looked = sim->step;
  choice->interval =
      agreed(sim, choice_interval(&m, &choice->table.candidate[choice->now], plan_one_step(sim->par, &sim->system)));
}

/* Which candidates are tried from now on. Collective. */
static void plan_trials(struct sim *sim, int like, int first, double share)
{
  struct scheme_choice *choice = &sim->settings->choice;
  choice->trials =
      sim->par->Repeatable == REPEATABLE_ON
          ? 1
          : choice_trials(&choice->table, like, first, sim->par->TimeMax - sim->time, share, choice->order);
  choice->trials = agreed(sim, choice->trials);
  comm_broadcast(sim->comm, choice->order, sizeof choice->order);
  if (choice->trials == 1) choice->trials = 0;
  choice->trial = choice->trial_steps = 0;
  choice->tried_seconds = choice->tried_time = 0;
}

int choice_repeat(struct sim *sim, long long step, int scheme, int why)
{
  int k = sim->settings->choice.again.count;
  if (k == CHOOSE_AGAIN_MAX) return -1;
  sim->settings->choice.again.step[k] = step;
  sim->settings->choice.again.scheme[k] = scheme;
  sim->settings->choice.again.why[k] = why;
  sim->settings->choice.again.count++;
  return 0;
}

void choice_first(struct sim *sim)
{
  struct scheme_choice *choice = &sim->settings->choice;
  double began = effort_clock(sim);
  measure(sim);
  int known = choice->again.count > 0 && choice->again.step[0] == sim->step,
      first = known ? choice->again.scheme[0] : agreed(sim, choice_cheapest(&choice->table, -1));
  if (known) choice->again.next = 1;
  else plan_trials(sim, -1, first, TRIAL_SHARE);
  choice->made = 1;
  use(sim, first);
  note(sim, known ? CHOSE_AGAIN : CHOSE_MODEL);
  choice->choosing += effort_clock(sim) - began;
}

void choice_note_forces(struct sim *sim, double seconds)
{
  struct choice_table *table = &sim->settings->choice.table;
  const struct choice_candidate *one = &table->candidate[sim->settings->choice.now];
  comm_max_double(sim->comm, &seconds, 1);
  if (settings_have_choice(sim) && one->force_seconds > 0 && seconds > 0)
    table->slowness = seconds / one->force_seconds;
}

/* Use another candidate from now on. A change of the split needs forces. Collective. */
static void change(struct sim *sim, int scheme)
{
  if (scheme == sim->settings->choice.now) return;
  use(sim, scheme);
  if (!scheme_follow(sim)) return;
  sim_force(sim, &sim->force.mac, 0);
  sim_measure(sim);
}

/* The next trial, or after the last one the decision. Collective. */
static enum choice_report try_next(struct sim *sim)
{
  struct scheme_choice *choice = &sim->settings->choice;
  if (choice->trial < choice->trials) {
    if (!(choice->table.candidate[choice->order[choice->trial]].step > 0))
      measure(sim); /* after a restart, for the rows */
    change(sim, choice->order[choice->trial]);
    choice->why = CHOSE_TRIAL;
    return CHOICE_ROWS;
  }
  measure(sim);
  for (int k = 0; k < choice->trials; k++)
    note_factor(&choice->table, choice->order[k], choice->measured[choice->order[k]]);
  int fastest = agreed(sim, choice_fastest(&choice->table, choice->order, choice->trials, choice->measured));
  choice->choosing += fmax(0, choice->tried_seconds - choice->tried_time * choice->measured[fastest]);
  choice->trials = choice->trial = 0;
  choice->seconds = choice->time = 0;
  change(sim, fastest);
  note(sim, CHOSE_MEASURED);
  return CHOICE_ROWS_AND_LINE;
}

/* Look at the system again. Collective. */
static enum choice_report look(struct sim *sim)
{
  struct scheme_choice *choice = &sim->settings->choice;
  measure(sim);
  memset(choice->measured, 0, sizeof choice->measured);
  if (sim->par->Repeatable == REPEATABLE_OFF && choice->time > 0) {
    choice->measured[choice->now] = choice->seconds / choice->time;
    note_factor(&choice->table, choice->now, choice->measured[choice->now]);
  }
  int cheapest = choice_cheapest(&choice->table, choice->now),
      pays = agreed(sim, choice_change_pays(&choice->table, choice->now, cheapest));
  if (pays) {
    plan_trials(sim, choice->now, choice->now, AGAIN_SHARE);
    choice->trial = choice->measured[choice->now] > 0; /* the present one is measured, but after a restart */
    if (choice->trials > 1) return try_next(sim);
    choice->trial = 0;
    change(sim, agreed(sim, cheapest)); /* by the model alone */
  }
  note(sim, CHOSE_LOOK);
  return pays ? CHOICE_ROWS_AND_LINE : CHOICE_ROWS;
}

/* Make the next choice of an earlier run, where it is due. Collective. */
static enum choice_report repeat(struct sim *sim)
{
  struct scheme_choice *choice = &sim->settings->choice;
  int k = choice->again.next, was = choice->now;
  if (choice->again.step[k] > sim->step) return CHOICE_UNCHANGED;
  if (choice->again.why[k] == CHOSE_TRIAL) choice->why = CHOSE_TRIAL;
  if (choice->why != CHOSE_TRIAL || !(choice->table.candidate[choice->again.scheme[k]].step > 0)) measure(sim);
  choice->again.next++;
  change(sim, choice->again.scheme[k]);
  if (choice->again.why[k] != CHOSE_TRIAL) note(sim, CHOSE_AGAIN);
  return choice->now != was && choice->why == CHOSE_AGAIN ? CHOICE_ROWS_AND_LINE : CHOICE_ROWS;
}

/* A soft step of a trial that took so many seconds per unit of time. Returns 1 where the trial is over. */
static int tried(const struct sim *sim, struct scheme_choice *choice, double each)
{
  double *measured = &choice->measured[choice->order[choice->trial]];
  *measured = choice->trial_steps == 0 ? each : fmin(*measured, each);
  choice->tried_seconds += each * sim->soft_step;
  choice->tried_time += sim->soft_step;
  if (++choice->trial_steps < TRIAL_STEPS && !choice_trial_is_lost(choice->order, choice->trial, choice->measured))
    return 0;
  choice->trial_steps = 0;
  choice->trial++;
  return 1;
}

enum choice_report settings_after_step(struct sim *sim)
{
  struct scheme_choice *choice = &sim->settings->choice;
  double seconds = sim->cost.effort, began = effort_clock(sim);
  enum choice_report report = CHOICE_UNCHANGED;
  if (!settings_have_choice(sim) || !(sim->time < sim->par->TimeMax)) return report;
  comm_max_double(sim->comm, &seconds, 1);
  if (choice->again.next < choice->again.count) report = repeat(sim);
  else if (choice->trial < choice->trials) {
    /* 0: it continues one of before a restart */
    if (seconds > 0 && tried(sim, choice, seconds / sim->soft_step)) report = try_next(sim);
  } else {
    choice->seconds = COST_KEPT * choice->seconds + seconds;
    choice->time = COST_KEPT * choice->time + (seconds > 0 ? sim->soft_step : 0);
    if (sim->step - choice->looked >= choice->interval) report = look(sim);
  }
  choice->choosing += effort_clock(sim) - began;
  return report;
}
