/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "scheme/tree_steps.h"

#include "scheme/schemes.h"
#include "scheme/substeps.h"
#include "step/effects.h"
#include "step/step.h"
#include "step/timed.h"

/* Choose the block levels of all particles. The deepest level and the stop request become the maximum over ranks.
 * `shared`: as in the verb `levels`; returns the one in use. Collective. */
static int choose_levels(struct sim *sim, const struct plan *plan, const struct step_rule *rule)
{
  int shared = plan->shared_level;
  double largest[2] = {sim->be->steps.levels(sim->dev, rule, shared), sim->stop_request};
  timed_max(sim, largest, 2);
  if (plan->shared && shared < 0) {
    shared = (int)largest[0];
    sim->be->steps.levels(sim->dev, rule, shared);
  }
  sim->counts.level_max = (int)largest[0];
  sim->stop_request = (int)largest[1];
  return shared;
}

static void open_step(struct sim *sim, const struct plan *plan)
{
  struct step_rule rule = step_rule_of(sim, plan->soft_step);
  int shared = choose_levels(sim, plan, &rule);
  sim_reserve(sim, plan->soft_step);
  sim->cost.clocks.part[0][1] = sim->timer;
  substeps_begin(sim, &rule, shared);
}

static enum step_state advance(struct sim *sim, const struct plan *plan, double until)
{
  struct step_rule rule = step_rule_of(sim, plan->soft_step);
  return substeps_advance(sim, &rule, until);
}

static void drift(struct sim *sim, double tick_length) { sim->be->steps.drift_to_end(sim->dev, tick_length); }
static void finish(struct sim *sim, double tick_length) { sim->be->steps.finish(sim->dev, tick_length); }

/* Walks of substeps and of synchronisations count their seconds themselves. */
static void note_cost(struct sim *sim, double seconds)
{
  (void)sim;
  (void)seconds;
}

static int measure_radius(struct sim *sim) { return scheme_measure_radius(sim, 0); }

static void hard_part(struct sim *sim) { (void)sim; } /* walks have all of it */

static void before_walk(struct sim *sim, int potential, struct let_request *let, struct walk_request *walk)
{
  (void)sim;
  (void)potential;
  (void)let;
  walk->kind = WALK_TOTAL;
}

static void after_walk(struct sim *sim)
{
  effects_add(sim, WALK_TOTAL, sim->force.split.on, 0);
  sim->be->steps.split_soft(sim->dev);
}

static void sample(const struct sim *sim, struct let_request *let, struct walk_request *walk)
{
  (void)sim;
  (void)let;
  walk->split.on = 0;
}

static void acceleration(const struct particles *particles, int64_t i, double acc[3])
{
  for (int c = 0; c < 3; c++) acc[c] = (double)particles->acc[3 * i + c];
}

static int check_whole(const struct sim *sim, struct fault *fault)
{
  (void)sim;
  (void)fault;
  return 0;
}

/* R1 and R2 are to follow distances between particles with mass, and there is one such particle. */
static int check_split(const struct sim *sim, struct fault *fault)
{
  const struct mass_facts *masses = &sim->masses;
  if (sim->par->R1 > 0 || sim->par->R2 > 0 || masses->massless == 0 || masses->count > 1) return 0;
  return fault_set(fault,
                   "R1 = 0: it follows the distances between particles with mass, and there is one, with %.0f without "
                   "mass: give [Split] "
                   "R1, or set Mode = tree",
                   masses->massless);
}

static struct list_tally no_tally(const struct sim *sim)
{
  (void)sim;
  return (struct list_tally){0};
}

static struct resolved_length resolves(const struct sim *sim)
{
  return (struct resolved_length){params_softening(sim->par, NULL), "softening", "softenings"};
}

struct schedule_input tree_steps_preview(struct sim *sim, const struct plan *plan)
{
  struct step_rule rule = step_rule_of(sim, plan->soft_step);
  step_opening_kick(sim, plan->soft_step);
  choose_levels(sim, plan, &rule);
  sim_reserve(sim, plan->soft_step);
  return substeps_input(sim);
}

void tree_steps_print_schedule(struct sim *sim, const struct plan *plan, FILE *out)
{
  tree_steps_preview(sim, plan);
  struct schedule schedule = substeps_schedule(sim);
  if (sim->comm->rank == 0) schedule_print(&schedule, out);
}

/* What all schemes of trees share. */
#define TREE_STEPS                                                                                                    \
  .shortest_step_is_reported = 1, .open = open_step, .resume = substeps_continue, .advance = advance, .drift = drift, \
  .finish = finish, .note_cost = note_cost, .measure_radius = measure_radius, .hard_part = hard_part,                 \
  .before_walk = before_walk, .after_walk = after_walk, .sample = sample, .acceleration = acceleration,               \
  .tally = no_tally, .resolves = resolves

const struct scheme scheme_whole = {.mode = "tree", .check = check_whole, TREE_STEPS};
const struct scheme scheme_hybrid = {.mode = "hybrid", .compares_walks = 1, .check = check_split, TREE_STEPS};
