/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The model of costs, seconds of a soft step of n particles per rank. A full interaction list of N particles has l = 1 / hypot(1 / L, 1 / N)
 * entries, L = LIST (2^-9 / Delta)^LIST_POWER (on a device the smaller one of L and N), and a force takes f = l times the seconds of an entry.
 *
 *   synchronisation   SYNC_FIXED + n (f + ARRANGE)
 *   with the split    and n times SPLIT and HARD_LISTS l_h entries: hard forces of all particles, on a device neighbour lists
 *   substep           SUBSTEP_FIXED, and n times SUBSTEP_ALL, or without the split SUBSTEP_BUILD where more than a quarter is active: trees
 *                     and moments (on a device up to DIRECT_MOST particles have direct sums, and a substep takes SUBSTEP_DIRECT); and for each
 *                     active particle CORRECT and a force:
 *     block           BLOCK f, on cores f and up to BLOCK_CELLS more where lists are of cells
 *     hybrid          WALK + WALK_PART f and WALK_LIST l_h entries, l_h = 60 sqrt(neighbours within R2): hard lists, as measured (groups are
 *                     wider than R2); on a device, where l_h is above LISTS_MOST, there are no lists, and it is WALKED f
 *
 * The active particles are those of the histogram of block levels: level k has 2^(k-1) ticks of its own, at which levels from k on end. */
#include <config.h>
#include "settings/choice.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/backend.h"

/* Constants of a core of an AMD EPYC, and of an H200; doc/measurements.md has the runs. */
static const struct rates {
  double list[2], list_power[2];                         /* by the order of multipoles */
  double entry, quadrupole;                              /* seconds of an entry; those of cells take so much more with second moments */
  double sync_fixed, arrange, split, hard_lists;
  double substep_fixed[2], substep_all[2], substep_build;   /* [1]: with the split */
  double correct, block, block_cells, walk, walk_part, walk_list, walked;
} rates[2] = {{{3150, 2460}, {0.345, 0.27}, 3.2e-10, 0.5, 3e-5, 1.9e-7, 4e-7, 1, {2e-5, 2e-5}, {1.7e-8, 6e-8}, 1.7e-8, 5e-8, 1, 0.25, 3.1e-7, 0,
               2.4, 1.2},
              {{2800, 2800}, {0.3, 0.3}, 3.2e-13, 0.6, 6e-4, 4e-10, 0, 30, {4e-4, 2e-4}, {8e-11, 8e-11}, 3.4e-10, 1e-10, 1.05, 0, 0, 0.2,
               0.5, 1.5}};
#define HARD_ENTRIES 60
#define LISTS_MOST 450
#define SUBSTEP_DIRECT 9e-5
#define MANY 0.25

#define WITHIN 2.5       /* candidates within this factor of the least predicted cost are tried */
#define TRIAL_STEPS 2    /* soft steps of a trial */
#define TRIAL_RUN 5.0    /* predicted seconds of a run below which nothing is tried */
#define LOST 2.0         /* a trial whose first soft step takes so many times the least measured time ends */
#define MARGIN 0.95      /* another candidate than the first must take less than this part of its measured time, */
#define PAYS 0.9         /* and another one than the present less than this part of its predicted time */
#define RISK 1.05        /* soft steps of a split follow more of what a system does: hybrids count as so much dearer */
/* Soft steps until the system is measured again: on cores after LOOK_FORCES synchronisations' time; a measurement takes less than one. On a
 * device, where it takes about eight, LOOK_STEPS, or LOOK_STEPS_SHARED of one step for all. */
#define LOOK_FORCES 150
#define LOOK_LEAST 10
#define LOOK_STEPS 100
#define LOOK_STEPS_SHARED 400

/* --- candidates -------------------------------------------------------------------------------------------------- */

static unsigned bit(int scheme) { return 1u << scheme; }

unsigned choice_allowed(const struct params *p)
{
  int mode = params_mode(p), one_radius = p->R1 > 0 || p->R1OverR0 > 0 || p->SoftStep > 0 || params_r1_over_r0(p) == 1;
  unsigned hybrid = bit(CHOICE_HYBRID) | (one_radius ? 0 : bit(CHOICE_HYBRID_NARROW)), all;
  if (p->Mode != MODE_AUTO && p->Scheme != SCHEME_AUTO) return 0;
  if (params_neighbour_lists(p)) return bit(CHOICE_HYBRID);
  if (p->Comoving) return bit(mode == MODE_HYBRID ? CHOICE_HYBRID : CHOICE_BLOCK);   /* the models are of systems near equilibrium */
  all = mode == MODE_TREE ? bit(CHOICE_SHARED) | bit(CHOICE_BLOCK) : mode == MODE_HYBRID ? hybrid
      : bit(CHOICE_SHARED) | bit(CHOICE_BLOCK) | hybrid;
  if (p->Scheme == SCHEME_BLOCK || p->Eta > 0) all &= ~bit(CHOICE_SHARED);
  if (params_shared(p)) all = bit(mode == MODE_HYBRID ? CHOICE_HYBRID : CHOICE_SHARED);
  return all;
}

void choice_set(struct params *p, enum choice_scheme scheme)
{
  int split = scheme == CHOICE_HYBRID || scheme == CHOICE_HYBRID_NARROW, one = params_shared(p);
  p->Mode = split ? MODE_HYBRID : MODE_TREE;
  p->Scheme = scheme == CHOICE_SHARED || one ? SCHEME_SHARED : SCHEME_BLOCK;
  if (scheme == CHOICE_HYBRID_NARROW) p->R1OverR0 = 1;
}

enum choice_scheme choice_of(const struct params *p, const struct params *asked)
{
  int narrow = p->R1OverR0 == 1 && (choice_allowed(asked) & bit(CHOICE_HYBRID_NARROW));
  if (p->Mode == MODE_TREE) return p->Scheme == SCHEME_SHARED ? CHOICE_SHARED : CHOICE_BLOCK;
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
  double full, block, hard;   /* seconds of a full one, of one in a block step without the split, of a hard one with it */
};

/* Seconds of a substep of a candidate on a rank with n particles, of which some are active. */
static double substep_seconds(const struct rates *r, int split, double n, double active, const struct force_cost *f)
{
  if (r == &rates[1] && !split && n <= DIRECT_MOST) return SUBSTEP_DIRECT + active * f->block;
  double trees = !split && active > MANY * n ? r->substep_build : r->substep_all[split];
  return r->substep_fixed[split] + n * trees + active * (r->correct + (split ? f->hard : f->block));
}

void choice_cost(const struct choice_machine *m, double particles, struct choice_candidate *c)
{
  const struct rates *r = &rates[m->on_device != 0];
  int split = c->r2 > 0, deepest = 0, second = m->order == 2;
  double n = particles / m->ranks, list = r->list[second] * pow(1.0 / 512 / m->delta, r->list_power[second]), active = 0;
  list = m->on_device ? fmin(particles, list) : 1 / hypot(1 / list, 1 / particles);
  double cells = m->on_device ? 1 : pow(1 - list / particles, 1.5);   /* the part of cells among the entries */
  double entry = r->entry * (second ? 1 + r->quadrupole * cells : 1), neighbours = fmin(list, HARD_ENTRIES * sqrt(c->neighbours));
  struct force_cost f = {.full = list * entry};
  int walked = m->on_device && neighbours > LISTS_MOST;
  f.block = (r->block + r->block_cells * cells) * f.full;
  f.hard = walked ? r->walked * f.full : r->walk + r->walk_part * f.full + r->walk_list * neighbours * (m->on_device ? entry : r->entry);
  double seconds = r->sync_fixed + n * (f.full + r->arrange);
  if (split) seconds += n * (r->split + (walked ? f.hard : r->hard_lists * neighbours * entry));
  c->sync_seconds = seconds / m->threads;
  for (int l = 1; l < CHOICE_LEVELS; l++)
    if (c->count[l] > 0) deepest = l;
  for (int l = deepest; l >= 1; l--) {
    active += (double)c->count[l] / m->ranks;
    seconds += exp2(l - 1) * substep_seconds(r, split, n, active, &f);
  }
  c->step_seconds = seconds / m->threads;
}

double choice_growth(const struct choice_candidate *c)
{
  /* the same block steps, and more synchronisations */
  return c->expected > 0 && c->expected < c->step ? 1 + c->sync_seconds / c->step_seconds * (c->step / c->expected - 1) : 1;
}

double choice_predicted(const struct choice_table *t, enum choice_scheme scheme, int like)
{
  const struct choice_candidate *c = &t->candidate[scheme];
  double factor = t->factor[scheme] > 0 ? t->factor[scheme] : like >= 0 && t->factor[like] > 0 ? t->factor[like] : 1;
  return c->step > 0 ? factor * choice_growth(c) * c->step_seconds / c->step : HUGE_VAL;
}

/* --- decisions --------------------------------------------------------------------------------------------------- */

static int is_allowed(const struct choice_table *t, int scheme) { return (t->allowed & bit(scheme)) != 0; }

int choice_reaches(const struct choice_table *t, enum choice_scheme scheme)
{
  return !(t->wanted > 0) || t->candidate[scheme].error <= t->wanted * (1 + 1e-6);
}

/* Seconds by which a candidate is compared with others, from those that are predicted or measured. */
static double weighed(int scheme, double seconds) { return scheme == CHOICE_SHARED || scheme == CHOICE_BLOCK ? seconds : RISK * seconds; }

/* Whether candidate a is better than b: one that has the wanted error before one that has not, then the cheaper or the more exact one. */
static int better(const struct choice_table *t, int a, int b, int like)
{
  int reaches = choice_reaches(t, a);
  if (reaches != choice_reaches(t, b)) return reaches;
  return reaches ? weighed(a, choice_predicted(t, a, like)) < weighed(b, choice_predicted(t, b, like)) : t->candidate[a].error < t->candidate[b].error;
}

enum choice_scheme choice_cheapest(const struct choice_table *t, int like)
{
  int best = -1;
  for (int k = 0; k < CHOICES_COUNT; k++)
    if (is_allowed(t, k) && (best < 0 || better(t, k, best, like))) best = k;
  return best < 0 ? CHOICE_HYBRID : best;
}

int choice_trials(const struct choice_table *t, int like, enum choice_scheme first, double time, double share, int order[CHOICES_COUNT])
{
  double least = choice_predicted(t, choice_cheapest(t, like), like), left = share * least * time;
  int n = 0;
  order[n++] = first;
  if (!(least * time > TRIAL_RUN)) return n;
  for (;;) {
    int next = -1;
    for (int k = 0; k < CHOICES_COUNT; k++) {
      int known = !is_allowed(t, k) || !choice_reaches(t, k);
      for (int i = 0; i < n; i++) known |= order[i] == k;
      if (!known && (next < 0 || choice_predicted(t, k, like) < choice_predicted(t, next, like))) next = k;
    }
    if (next < 0) return n;
    double each = choice_predicted(t, next, like);
    /* its soft steps against the same time by the cheapest one, and a force for each change of the split */
    double cost = TRIAL_STEPS * t->candidate[next].step * (each - least) + 2 * t->candidate[next].sync_seconds;
    if (each > WITHIN * least || cost > left) return n;
    left -= cost;
    order[n++] = next;
  }
}

int choice_lost(const int *order, int trial, const double measured[CHOICES_COUNT])
{
  for (int i = 0; i < trial; i++)
    if (measured[order[trial]] > LOST * measured[order[i]]) return 1;
  return 0;
}

enum choice_scheme choice_fastest(const struct choice_table *t, const int *order, int n, const double measured[CHOICES_COUNT])
{
  int best = order[0], reached = 0;
  double least = HUGE_VAL;
  for (int i = 0; i < n; i++) reached |= choice_reaches(t, order[i]);
  for (int i = 0; i < n; i++) {
    int k = order[i];
    if (reached && !choice_reaches(t, k)) continue;
    double seconds = weighed(k, measured[k] * choice_growth(&t->candidate[k])) * (i == 0 ? MARGIN : 1);
    if (seconds < least) best = k, least = seconds;
  }
  return best;
}

int choice_pays(const struct choice_table *t, enum choice_scheme now, enum choice_scheme cheapest)
{
  if (cheapest != now && choice_reaches(t, cheapest) > choice_reaches(t, now)) return 1;
  return cheapest != now && weighed(cheapest, choice_predicted(t, cheapest, now)) < PAYS * weighed(now, choice_predicted(t, now, -1));
}

int choice_interval(const struct choice_machine *m, const struct choice_candidate *c, int one_step)
{
  int most = one_step ? LOOK_STEPS_SHARED : LOOK_STEPS;
  if (m->on_device || !(c->step_seconds > 0)) return most;
  return (int)fmin(fmax(LOOK_FORCES * c->sync_seconds / c->step_seconds, LOOK_LEAST), most);
}
