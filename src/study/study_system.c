/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "study/study_system.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "run/start.h"
#include "step/plan.h"
#include "step/step.h"
#include "scheme/schemes.h"
#include "scheme/substeps.h"
#include "scheme/tree_steps.h"
#include "settings/settings.h"
#include "system/radius.h"
#include "tree/keys.h"

#define NO_OUTPUT 1e30 /* a time after any step */

const char *const study_scheme_names[STUDY_SCHEMES] = {"shared", "block", "hybrid"};

void study_use_scheme(struct params *params, enum study_scheme scheme)
{
  params->Mode = scheme == STUDY_HYBRID ? MODE_HYBRID : MODE_TREE;
  params->Scheme = scheme == STUDY_SHARED ? SCHEME_SHARED : SCHEME_BLOCK;
}

enum study_scheme study_scheme_of(const struct params *params)
{
  return params_mode(params) == MODE_HYBRID ? STUDY_HYBRID : params_shared(params) ? STUDY_SHARED : STUDY_BLOCK;
}

/* Interactions of a target, over all ranks. Collective. */
static double pairs_of_target(const struct comm *comm, const struct tally *tally)
{
  int64_t sum[2] = {tally->particle_pairs + tally->cell_pairs, tally->targets};
  comm_sum_int64(comm, sum, 2);
  return sum[1] > 0 ? (double)sum[0] / (double)sum[1] : 0;
}

/* The particles and the schedule of the soft step; with `measure` its substeps. Collective. */
static void look(struct study_system *system, struct sim *sim, const struct plan *plan, int measure)
{
  global_particles_gather(&system->synchronised, sim, plan->soft_step);
  if (!measure) {
    system->input = tree_steps_preview(sim, plan);
    global_particles_gather(&system->kicked, sim, plan->soft_step);
    return;
  }
  memset(&sim->counts, 0, sizeof sim->counts); /* without the force by opening angle */
  sim_force(sim, &sim->force.mac, 0);
  system->full_pairs = pairs_of_target(sim->comm, &sim->counts.full);
  step_open(sim, plan);
  system->input = substeps_input(sim);
  global_particles_gather(&system->kicked, sim, plan->soft_step);
  while (step_substeps(sim, plan, HUGE_VAL) != STEP_SUBSTEPS_ENDED) continue;
  system->hard_pairs = pairs_of_target(sim->comm, &sim->counts.hard);
}

int study_system_open_given(struct study_system *system, const struct comm *comm, const struct params *par,
                            struct particles *particles, int measure, struct fault *fault)
{
  struct sim sim;
  struct params start = *par;
  memset(system, 0, sizeof *system);
  strcpy(start.DomainGrid, "auto"); /* the given grid is for virtual ranks */
  if (particles ? sim_start_given(&sim, comm, &start, particles, par->TimeBegin, NULL, fault)
                : sim_start(&sim, comm, &start, fault))
    return -1;
  settings_first_force(&sim);
  /* the length of soft steps that no output time shortens */
  struct plan plan = plan_next(par, &sim.now, &sim.system, 0, NO_OUTPUT, 0);
  system->now = sim.now;
  system->rules = sim.system;
  system->criterion = step_rule_of(&sim, plan.soft_step);
  double r0 = radius_by_rule(comm, sim.be, sim.dev, sim.masses.count, par->RQuantile) / 4;
  if (sim.now.bad > 0)
    fault_set(fault, "%.0f particle%s forces that are not finite", sim.now.bad, sim.now.bad == 1 ? " has" : "s have");
  int failed = comm_agree(comm, fault);
  if (!failed) look(system, &sim, &plan, measure);
  system->used = params_of_run(par, sim.masses.count, sim.be->particle_bytes > 0);
  system->used.run.types = sim.par->run.types;
  const struct split *split = scheme_split(&sim);
  system->on_host = sim.be->particle_bytes == 0;
  system->synchronised.par = system->kicked.par = &system->used;
  system->facts = (struct study_facts){.scheme = study_scheme_names[study_scheme_of(sim.par)],
                                       .particles = sim.now.count,
                                       .r0 = r0,
                                       .r1 = split ? split->r1 : 0,
                                       .r2 = split ? split->r2 : 0,
                                       .soft_step = plan.soft_step};
  system->facts.quads = global_particles_request(&system->synchronised, LET_SOFT).quads;
  sim_close(&sim);
  return failed;
}

int study_system_open(struct study_system *system, const struct comm *comm, const struct params *par, int measure,
                      struct fault *fault)
{
  return study_system_open_given(system, comm, par, NULL, measure, fault);
}

void study_use_order(struct params *params, int on_device)
{
  struct params there = params_of_run(params, 0, on_device);
  params->MultipoleOrder = params_order(&there);
}

/* A particle on the space-filling curve. */
struct place {
  uint64_t key;
  int level;
};

static int by_key(const void *a, const void *b)
{
  const struct place *x = a, *y = b;
  return (x->key > y->key) - (x->key < y->key);
}

/* Particles of groups on the curve: few, since there are fewer groups here than in a run. */
enum { NEIGHBOURS = 8 };

/* Most of those that are not as deep are at the border of the region of the deep ones, and a run has more particles and
 * a smaller part at the border: from this part on all count as as deep. */
#define MOSTLY_DEEP 0.6

void study_system_density(struct study_system *system)
{
  const struct particles *all = &system->kicked.all;
  struct place *place = memory_alloc("study", sizeof *place * (size_t)(all->n + 1));
  for (int64_t i = 0; i < all->n; i++) {
    int outside = 0;
    int32_t x[3];
    for (int c = 0; c < 3; c++) x[c] = lattice_of(&system->kicked.lattice, c, all->pos[3 * i + c], &outside);
    place[i] = (struct place){key_of(x[0], x[1], x[2]), all->level[i]};
  }
  qsort(place, (size_t)all->n, sizeof *place, by_key);
  for (int l = 0; l < SCHEDULE_LEVELS; l++) {
    double deep = 0, beside = 0; /* particles; their neighbours that are as deep */
    for (int64_t first = 0; first + NEIGHBOURS <= all->n; first += NEIGHBOURS) {
      int here = 0;
      for (int k = 0; k < NEIGHBOURS; k++) here += place[first + k].level >= l;
      deep += here;
      beside += here * (here - 1);
    }
    double part = deep > 0 ? beside / (deep * (NEIGHBOURS - 1)) : 0;
    system->input.density[l] = part > MOSTLY_DEEP ? 1 : part;
  }
  memory_free(place);
}

void study_system_use_device(struct study_system *system)
{
  system->input.on_device = 1;
  system->input.backend_interval = 1;
  system->input.builds_fast_tree = 1;
  study_system_density(system);
  if (system->input.split) system->input.walks_tree = 0; /* neighbour lists */
  system->synchronised.as_device = system->kicked.as_device = 1;
  system->facts.quads = global_particles_request(&system->synchronised, LET_SOFT).quads;
}

void study_system_close(struct study_system *system)
{
  global_particles_free(&system->synchronised);
  global_particles_free(&system->kicked);
}
