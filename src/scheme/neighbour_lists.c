/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "scheme/neighbour_lists.h"

#include <math.h>

#include "base/debug.h"
#include "gravity/unit_environment.h"
#include "scheme/close_pairs.h"
#include "scheme/collisions.h"
#include "scheme/schemes.h"
#include "step/timed.h"
#include "system/same_place.h"

/* Masses differ if their ratio is larger than this; radii by mass are of no use where one particle has more than this
 * part of the mass. */
#define EQUAL_MASSES_RATIO 1.01
#define DOMINANT_MASS_SHARE 1e-3
/* R1 of units of stars is at most this part of the distance to the 28th neighbour where stars are dense. */
#define UNIT_R1_MOST 0.5
/* Bound pairs with 2 a below this part of R1 may go by Kepler's equation. */
#define KEPLER_PAIR_RADIUS (1.0 / 32)

int neighbour_lists_radii_by_mass(const struct sim *sim)
{
  const struct mass_facts *masses = &sim->masses;
  if (sim->par->RadiiByMass != RADII_AUTO) return sim->par->RadiiByMass == RADII_ON;
  return masses->largest > EQUAL_MASSES_RATIO * masses->smallest &&
         masses->largest < DOMINANT_MASS_SHARE * masses->total;
}

/* R1 of units of stars at most: above it most stars of the densest places would be members of units. As many stars as a
 * group has bodies may be one group. 0: any. */
static double unit_r1(const struct sim *sim)
{
  double others = sim->masses.count - 1;
  return others < UNIT_BODIES ? 0 : UNIT_R1_MOST * sim->lists.distance;
}

struct list_request neighbour_lists_request(const struct sim *sim, double soft_step)
{
  const double proposed_for = sim->lists.proposed_for;
  struct list_request request = {.integrator = (enum step_integrator)sim->par->Integrator,
                                 .split = sim->force.split,
                                 .soft_step = soft_step,
                                 .eta = params_eta(sim->par, 1),
                                 .mean_mass = (double)(float)sim->masses.mean, /* whatever the order of the sum */
                                 .largest_mass = sim->masses.largest,
                                 .first = proposed_for == 0};
  request.units = sim->be->neighbour_lists->pair_kinetic && integrator_traits[request.integrator].has_units &&
                  params_softening(sim->par, NULL) == 0 && sim->masses.largest < COLLISIONS_HUB * sim->masses.second &&
                  debug_value("star_units", 1) > 0;
  if (request.units) request.radii = collisions_radii(sim);
  request.total_mass = sim->masses.total;
  request.unit_r1 = unit_r1(sim);
  request.several = request.units && soft_step > 0 && sim->comm->size > 1;
  request.speed2 = sim->lists.speed2;
  if (soft_step > 0) request.pair_limit = KEPLER_PAIR_RADIUS * (double)sim->force.split.r1;
  if (proposed_for > 0 && soft_step > proposed_for)
    request.level_shift = (int)ceil(log2(soft_step / proposed_for) - 1e-6);
  return request;
}

int neighbour_lists_check_collisions(const struct sim *sim, struct fault *fault)
{
  if (sim->par->Action == COLLISIONS_OFF) return 0;
  return collisions_check(sim, neighbour_lists_request(sim, 0).units, fault);
}

/* The mean square speed of stars and pairs: as it is, or as in equilibrium by the virial of their soft forces. */
static void measure_speed(struct sim *sim)
{
  const struct diagnostics *now = &sim->now;
  double speed2 = now->v_rms * now->v_rms - 2 * now->pair_kinetic / now->mass;
  sim->lists.speed2 = fmax(fmax(speed2, -now->virial / now->mass), 1e-30);
}

void neighbour_lists_measure_pairs(struct sim *sim)
{
  struct list_request request = neighbour_lists_request(sim, 0);
  if (!request.units) return;
  timed_halo(sim, &request);
  timed_pair_kinetic(sim, &request, &sim->lists.pair_kinetic);
  sim->now.pair_kinetic = sim->lists.pair_kinetic;
}

/* All substeps. Collective. */
static void integrate(struct sim *sim, double soft_step)
{
  struct list_request request = neighbour_lists_request(sim, soft_step);
  if (request.units && !(sim->lists.speed2 > 0)) measure_speed(sim);
  request.speed2 = sim->lists.speed2;
  struct list_tally *tally = &sim->counts.lists;
  *tally = (struct list_tally){.shortest_period = 1e300};
  timed_halo(sim, &request);
  timed_lists_advance(sim, &request, tally);
  if (collisions_take(sim, &request) || request.several) sim->scheme->hard_part(sim);
  sim->lists.proposed_for = soft_step;
  sim->counts.substeps = tally->ticks;
  sim->counts.level_max = tally->deepest;
  sim->counts.hard.targets = tally->steps;
  sim->counts.hard.particle_pairs = tally->pairs;
  sim->counts.hard.split_pairs = tally->pairs;
  sim->counts.hard.groups = tally->steps;
  sim->counts.hard.seconds = tally->seconds;
}

static void open_step(struct sim *sim, const struct plan *plan)
{
  sim->cost.clocks.part[0][1] = sim->timer;
  sim->soft_step = plan->soft_step;
  integrate(sim, plan->soft_step);
  double largest[3] = {sim->counts.level_max, sim->stop_request, sim->counts.lists.collapsed > 0};
  timed_max(sim, largest, 3);
  if (sim->lists.speed2 > 0) {
    sim->lists.pair_kinetic = sim->counts.lists.pair_kinetic;
    timed_sum(sim, &sim->lists.pair_kinetic, 1);
  }
  sim->counts.level_max = (int)largest[0];
  sim->stop_request = (int)largest[1];
  sim->counts.collapsed = (int)largest[2];
}

/* There are no checkpoint ticks within a soft step. */
static void resume(struct sim *sim) { (void)sim; }

static enum step_state advance(struct sim *sim, const struct plan *plan, double until)
{
  (void)sim;
  (void)plan;
  (void)until;
  return STEP_SUBSTEPS_ENDED;
}

/* `advance` leaves positions and velocities at the end of the soft step. */
static void at_end(struct sim *sim, double tick_length)
{
  (void)sim;
  (void)tick_length;
}

static void note_cost(struct sim *sim, double seconds)
{
  const struct list_tally *tally = &sim->counts.lists;
  struct lists_cost *cost = &sim->lists.cost;
  double hard = tally->seconds - tally->list_seconds;
  cost->hard_seconds += hard;
  cost->entries += (double)tally->pairs;
  cost->soft_seconds += seconds - hard;
  cost->forces += (double)sim->be->count(sim->dev);
}

/* The potential that `advance` left had the old split, and the soft part was added to it. */
static int measure_radius(struct sim *sim)
{
  if (!scheme_measure_radius(sim, 0)) return 0;
  sim->scheme->hard_part(sim);
  return 1;
}

static void hard_part(struct sim *sim)
{
  struct list_request request = neighbour_lists_request(sim, 0);
  timed_halo(sim, &request);
  timed_lists_potential(sim, &request);
}

/* Cells whose particles may be neighbours are opened: their soft force is that of the particles. */
static void sample(const struct sim *sim, struct let_request *let, struct walk_request *walk)
{
  (void)walk;
  let->open_within = split_widest(&sim->force.split);
}

static void before_walk(struct sim *sim, int potential, struct let_request *let, struct walk_request *walk)
{
  sample(sim, let, walk);
  walk->kind = WALK_SOFT;
  walk->add_potential = 1;
  if (potential && sim->be->energy) sim->be->energy->keep(sim->dev);
}

static void after_walk(struct sim *sim) { (void)sim; }

static void acceleration(const struct particles *particles, int64_t i, double acc[3])
{
  for (int c = 0; c < 3; c++) acc[c] = (double)particles->acc[3 * i + c] + (double)particles->acc_hard[3 * i + c];
}

static int check(const struct sim *sim, struct fault *fault)
{
  double origin[3], motion[3];
  if (scheme_hybrid.check(sim, fault)) return -1;
  if (neighbour_lists_check_collisions(sim, fault)) return -1;
  if (params_softening(sim->par, NULL) > 0) return 0;
  effects_shift(sim, origin, motion);
  return same_place_check(sim->comm, sim->be->view(sim->dev), origin, fault);
}

static struct list_tally total(const struct sim *sim)
{
  struct list_tally all = sim->counts.lists;
  int64_t *sums[] = {&all.entries,   &all.with_neighbours, &all.steps,          &all.pairs,
                     &all.collapsed, &all.pairs_bound,     &all.pairs_perturbed};
  enum { SUMS = sizeof sums / sizeof *sums };
  int64_t sum[SUMS];
  double largest[] = {(double)all.ticks,        all.deepest, -all.shortest_period,
                      all.largest_eccentricity, all.seconds, all.list_seconds};
  for (int k = 0; k < SUMS; k++) sum[k] = *sums[k];
  comm_sum_int64(sim->comm, sum, SUMS);
  comm_max_double(sim->comm, largest, sizeof largest / sizeof *largest);
  for (int k = 0; k < SUMS; k++) *sums[k] = sum[k];
  all.ticks = (int64_t)largest[0];
  all.deepest = (int)largest[1];
  all.shortest_period = -largest[2];
  all.largest_eccentricity = largest[3];
  all.seconds = largest[4];
  all.list_seconds = largest[5];
  close_pairs_gather(sim->comm, &sim->counts.lists, &all);
  return all;
}

static struct resolved_length resolves(const struct sim *sim)
{
  return (struct resolved_length){(double)sim->force.split.r1, "R1", "R1"};
}

const struct scheme scheme_neighbour_lists = {
    .mode = "hybrid",
    .unpredicted = "neighbour lists",
    .steps_follow_jerks = 1,
    .renews_hard_forces = 1,
    .open = open_step,
    .resume = resume,
    .advance = advance,
    .drift = at_end,
    .finish = at_end,
    .note_cost = note_cost,
    .measure_radius = measure_radius,
    .hard_part = hard_part,
    .before_walk = before_walk,
    .after_walk = after_walk,
    .sample = sample,
    .acceleration = acceleration,
    .check = check,
    .tally = total,
    .resolves = resolves,
};
