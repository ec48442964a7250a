/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The model of costs, seconds of a soft step of n particles per rank. A full interaction list of N particles has l = 1
 * / hypot(1 / L, 1 / N) entries, L = LIST (2^-9 / Delta)^LIST_POWER (on a device the smaller one of L and N), and a
 * force takes f = l times the seconds of an entry.
 *
 *   synchronisation   SYNC_FIXED + n (f + ARRANGE)
 *   with the split    and n times SPLIT and HARD_LISTS l_h entries: hard forces of all particles, on a device neighbour
 *                     lists
 *   substep           SUBSTEP_FIXED, and n times SUBSTEP_ALL, or without the split SUBSTEP_BUILD where more than a
 *                     quarter is active: trees and moments (on a device up to DIRECT_MOST particles have direct sums,
 *                     and a substep takes SUBSTEP_DIRECT); and for each active particle CORRECT and a force:
 *     block           BLOCK f, on cores f and up to BLOCK_CELLS more where lists are of cells
 *     hybrid          WALK + WALK_PART f and WALK_LIST l_h entries, l_h = 60 sqrt(neighbours within R2): hard lists, as
 *                     measured (groups are wider than R2); on a device, where l_h is above LIST_ENTRIES_MAX, there are
 *                     no lists, and it is WALKED f
 *
 * The active particles are those of the histogram of block levels: level k has 2^(k-1) ticks of its own, at which
 * levels from k on end. */
#include <config.h>
#include "settings/choice.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/backend.h"

/* Constants of a core of an AMD EPYC, and of an H200; doc/measurements.md has the runs. */
static const struct rates {
  double list[2], list_power[2]; /* by the order of multipoles */
  /* seconds of an entry; those of cells take so much more with second moments */
  double entry, quadrupole;
  double sync_fixed, arrange, split, hard_lists;
  double substep_fixed[2], substep_all[2], substep_build; /* [1]: with the split */
  double correct, block, block_cells, walk, walk_part, walk_list, walked;
} rates[2] = {{{3150, 2460},
               {0.345, 0.27},
               3.2e-10,
               0.5,
               3e-5,
               1.9e-7,
               4e-7,
               1,
               {2e-5, 2e-5},
               {1.7e-8, 6e-8},
               1.7e-8,
               5e-8,
               1,
               0.25,
               3.1e-7,
               0,
               2.4,
               1.2},
              {{2800, 2800},
               {0.3, 0.3},
               3.2e-13,
               0.6,
               6e-4,
               4e-10,
               0,
               30,
               {4e-4, 2e-4},
               {8e-11, 8e-11},
               3.4e-10,
               1e-10,
               1.05,
               0,
               0,
               0.2,
               0.5,
               1.5}};
#define HARD_ENTRIES 60
#define LIST_ENTRIES_MAX 450
#define SUBSTEP_DIRECT 9e-5
#define ACTIVE_BUILD_SHARE 0.25

#define CANDIDATE_COST_MAX 2.5    /* candidates within this factor of the least predicted cost are tried */
#define TRIAL_STEPS 2             /* soft steps of a trial */
#define TRIAL_RUN_SECONDS_MIN 5.0 /* predicted seconds of a run below which nothing is tried */
#define TRIAL_LOST_RATIO 2.0      /* a trial whose first soft step takes so many times the least measured time ends */
/* another candidate than the first must take less than this part of its measured time, */
#define MEASURED_GAIN_MIN 0.95
#define PREDICTED_GAIN_MIN 0.9 /* and another one than the present less than this part of its predicted time */
/* soft steps of a split follow more of what a system does: hybrids count as so much dearer */
#define HYBRID_RISK 1.05
/* Soft steps until the system is measured again: on cores after LOOK_FORCES synchronisations' time; a measurement takes
 * less than one. On a device, where it takes about eight, LOOK_STEPS, or LOOK_STEPS_SHARED of one step for all. */
#define LOOK_FORCES 150
#define LOOK_STEPS_MIN 10
#define LOOK_STEPS 100
#define LOOK_STEPS_SHARED 400

/* --- candidates -------------------------------------------------------------------------------------------------- */

static unsigned bit(int scheme) { return 1u << scheme; }

unsigned choice_allowed(const struct params *params)
{
  int mode = params_mode(params),
      one_radius = params->R1 > 0 || params->R1OverR0 > 0 || params->SoftStep > 0 || params_r1_over_r0(params) == 1;
  unsigned hybrid = bit(CHOICE_HYBRID) | (one_radius ? 0 : bit(CHOICE_HYBRID_NARROW)), all;
  if (params->Mode != MODE_AUTO && params->Scheme != SCHEME_AUTO) return 0;
  if (params_neighbour_lists(params)) return bit(CHOICE_HYBRID);
  /* the models are of systems near equilibrium */
  if (params->Comoving) return bit(mode == MODE_HYBRID ? CHOICE_HYBRID : CHOICE_BLOCK);
  all = mode == MODE_TREE     ? bit(CHOICE_SHARED) | bit(CHOICE_BLOCK)
        : mode == MODE_HYBRID ? hybrid
                              : bit(CHOICE_SHARED) | bit(CHOICE_BLOCK) | hybrid;
  if (params->Scheme == SCHEME_BLOCK || params->Eta > 0) all &= ~bit(CHOICE_SHARED);
  if (params_shared(params)) all = bit(mode == MODE_HYBRID ? CHOICE_HYBRID : CHOICE_SHARED);
  return all;
}

void choice_set(struct params *params, enum choice_scheme scheme)
{
  int split = scheme == CHOICE_HYBRID || scheme == CHOICE_HYBRID_NARROW, one = params_shared(params);
  params->Mode = split ? MODE_HYBRID : MODE_TREE;
  params->Scheme = scheme == CHOICE_SHARED || one ? SCHEME_SHARED : SCHEME_BLOCK;
  if (scheme == CHOICE_HYBRID_NARROW) params->R1OverR0 = 1;
}

enum choice_scheme choice_of(const struct params *params, const struct params *asked)
{
  int narrow = params->R1OverR0 == 1 && (choice_allowed(asked) & bit(CHOICE_HYBRID_NARROW));
  if (params->Mode == MODE_TREE) return params->Scheme == SCHEME_SHARED ? CHOICE_SHARED : CHOICE_BLOCK;
  return narrow ? CHOICE_HYBRID_NARROW : CHOICE_HYBRID;
}

const char *choice_name(enum choice_scheme scheme, const struct params *asked, char text[64])
{
  int two = (choice_allowed(asked) & bit(CHOICE_HYBRID_NARROW)) != 0;
  if (scheme == CHOICE_SHARED) snprintf(text, 64, "shared steps");
  else if (scheme == CHOICE_BLOCK) snprintf(text, 64, "block steps");
  else if (!two) snprintf(text, 64, "hybrid");
  else snprintf(text, 64, "hybrid with R1OverR0 = %g", scheme == CHOICE_HYBRID_NARROW ? 1 : params_r1_over_r0(asked));
  return text;
}

/* --- costs ------------------------------------------------------------------------------------------------------- */

/* What a force takes. */
struct force_cost {
  double full, block, hard; /* seconds of a full one, of one in a block step without the split, of a hard one with it */
};

/* Seconds of a substep of a candidate on a rank with n particles, of which some are active. */
static double substep_seconds(const struct rates *rates_, int split, double n, double active,
                              const struct force_cost *cost)
{
  if (rates_ == &rates[1] && !split && n <= DIRECT_MOST) return SUBSTEP_DIRECT + active * cost->block;
  double trees = !split && active > ACTIVE_BUILD_SHARE * n ? rates_->substep_build : rates_->substep_all[split];
  return rates_->substep_fixed[split] + n * trees + active * (rates_->correct + (split ? cost->hard : cost->block));
}

void choice_cost(const struct choice_machine *machine, double particles, struct choice_candidate *candidate)
{
  const struct rates *r = &rates[machine->on_device != 0];
  int split = candidate->r2 > 0, deepest = 0, second = machine->order == 2;
  double n = particles / machine->ranks,
         list = r->list[second] * pow(1.0 / 512 / machine->delta, r->list_power[second]), active = 0;
  list = machine->on_device ? fmin(particles, list) : 1 / hypot(1 / list, 1 / particles);
  double cells = machine->on_device ? 1 : pow(1 - list / particles, 1.5); /* the part of cells among the entries */
  double entry = r->entry * (second ? 1 + r->quadrupole * cells : 1),
         neighbours = fmin(list, HARD_ENTRIES * sqrt(candidate->neighbours));
  struct force_cost f = {.full = list * entry};
  int walked = machine->on_device && neighbours > LIST_ENTRIES_MAX;
  f.block = (r->block + r->block_cells * cells) * f.full;
  f.hard = walked
               ? r->walked * f.full
               : r->walk + r->walk_part * f.full + r->walk_list * neighbours * (machine->on_device ? entry : r->entry);
  double seconds = r->sync_fixed + n * (f.full + r->arrange);
  candidate->force_seconds = n * f.full / machine->threads;
  if (split) seconds += n * (r->split + (walked ? f.hard : r->hard_lists * neighbours * entry));
  candidate->sync_seconds = seconds / machine->threads;
  for (int l = 1; l < CHOICE_LEVELS; l++)
    if (candidate->count[l] > 0) deepest = l;
  for (int l = deepest; l >= 1; l--) {
    active += (double)candidate->count[l] / machine->ranks;
    seconds += exp2(l - 1) * substep_seconds(r, split, n, active, &f);
  }
  candidate->step_seconds = seconds / machine->threads;
}

double choice_cost_growth(const struct choice_candidate *candidate)
{
  /* the same block steps, and more synchronisations */
  return candidate->expected > 0 && candidate->expected < candidate->step
             ? 1 + candidate->sync_seconds / candidate->step_seconds * (candidate->step / candidate->expected - 1)
             : 1;
}

double choice_predicted(const struct choice_table *table, enum choice_scheme scheme, int like)
{
  const struct choice_candidate *c = &table->candidate[scheme];
  double factor = table->factor[scheme] > 0              ? table->factor[scheme]
                  : like >= 0 && table->factor[like] > 0 ? table->factor[like]
                                                         : 1;
  return c->step > 0 ? factor * choice_cost_growth(c) * c->step_seconds / c->step : HUGE_VAL;
}

double choice_predicted_here(const struct choice_table *table, enum choice_scheme scheme, int like)
{
  int known = table->factor[scheme] > 0 || (like >= 0 && table->factor[like] > 0);
  return choice_predicted(table, scheme, like) * (!known && table->slowness > 0 ? table->slowness : 1);
}

/* --- decisions --------------------------------------------------------------------------------------------------- */

static int is_allowed(const struct choice_table *table, int scheme) { return (table->allowed & bit(scheme)) != 0; }

int choice_has_wanted_error(const struct choice_table *table, enum choice_scheme scheme)
{
  return !(table->wanted > 0) || table->candidate[scheme].error <= table->wanted * (1 + 1e-6);
}

/* Seconds by which a candidate is compared with others, from those that are predicted or measured. */
static double weighed(int scheme, double seconds)
{
  return scheme == CHOICE_SHARED || scheme == CHOICE_BLOCK ? seconds : HYBRID_RISK * seconds;
}

/* Whether candidate a is better than b: one that has the wanted error before one that has not, then the cheaper or the
 * more exact one. */
static int better(const struct choice_table *table, int a, int b, int like)
{
  int reaches = choice_has_wanted_error(table, a);
  if (reaches != choice_has_wanted_error(table, b)) return reaches;
  return reaches ? weighed(a, choice_predicted(table, a, like)) < weighed(b, choice_predicted(table, b, like))
                 : table->candidate[a].error < table->candidate[b].error;
}

enum choice_scheme choice_cheapest(const struct choice_table *table, int like)
{
  int best = -1;
  for (int k = 0; k < CHOICES_COUNT; k++)
    if (is_allowed(table, k) && (best < 0 || better(table, k, best, like))) best = k;
  return best < 0 ? CHOICE_HYBRID : best;
}

int choice_trials(const struct choice_table *table, int like, enum choice_scheme first, double time, double share,
                  int order[CHOICES_COUNT])
{
  double least = choice_predicted(table, choice_cheapest(table, like), like), left = share * least * time;
  int n = 0;
  order[n++] = first;
  if (!(least * time > TRIAL_RUN_SECONDS_MIN)) return n;
  for (;;) {
    int next = -1;
    for (int k = 0; k < CHOICES_COUNT; k++) {
      int known = !is_allowed(table, k) || !choice_has_wanted_error(table, k);
      for (int i = 0; i < n; i++) known |= order[i] == k;
      if (!known && (next < 0 || choice_predicted(table, k, like) < choice_predicted(table, next, like))) next = k;
    }
    if (next < 0) return n;
    double each = choice_predicted(table, next, like);
    /* its soft steps against the same time by the cheapest one, and a force for each change of the split */
    double cost = TRIAL_STEPS * table->candidate[next].step * (each - least) + 2 * table->candidate[next].sync_seconds;
    if (each > CANDIDATE_COST_MAX * least || cost > left) return n;
    left -= cost;
    order[n++] = next;
  }
}

int choice_trial_is_lost(const int *order, int trial, const double measured[CHOICES_COUNT])
{
  for (int i = 0; i < trial; i++)
    if (measured[order[trial]] > TRIAL_LOST_RATIO * measured[order[i]]) return 1;
  return 0;
}

enum choice_scheme choice_fastest(const struct choice_table *table, const int *order, int n,
                                  const double measured[CHOICES_COUNT])
{
  int best = order[0], reached = 0;
  double least = HUGE_VAL;
  for (int i = 0; i < n; i++) reached |= choice_has_wanted_error(table, order[i]);
  for (int i = 0; i < n; i++) {
    int k = order[i];
    if (reached && !choice_has_wanted_error(table, k)) continue;
    double seconds =
        weighed(k, measured[k] * choice_cost_growth(&table->candidate[k])) * (i == 0 ? MEASURED_GAIN_MIN : 1);
    if (seconds < least) {
      best = k;
      least = seconds;
    }
  }
  return best;
}

int choice_change_pays(const struct choice_table *table, enum choice_scheme now, enum choice_scheme cheapest)
{
  if (cheapest != now && choice_has_wanted_error(table, cheapest) > choice_has_wanted_error(table, now)) return 1;
  return cheapest != now && weighed(cheapest, choice_predicted(table, cheapest, now)) <
                                PREDICTED_GAIN_MIN * weighed(now, choice_predicted(table, now, -1));
}

int choice_interval(const struct choice_machine *machine, const struct choice_candidate *candidate, int one_step)
{
  int most = one_step ? LOOK_STEPS_SHARED : LOOK_STEPS;
  if (machine->on_device || !(candidate->step_seconds > 0)) return most;
  return (int)fmin(fmax(LOOK_FORCES * candidate->sync_seconds / candidate->step_seconds, LOOK_STEPS_MIN), most);
}
