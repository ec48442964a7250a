/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "step/sim.h"

#include <math.h>
#include <string.h>

#include "base/fault.h"
#include "base/memory.h"
#include "gravity/units.h"
#include "step/energies.h"
#include "step/scheme.h"
#include "step/timed.h"

/* Predicted trajectories may widen the lattice until its spacing is this fraction of the softening, or until it is
 * twice as wide as the particles (always so without softening). In a soft step of many orbits straight trajectories
 * lead far beyond the particles; a lattice for all of them would degrade the resolution of all forces. Particles beyond
 * the lattice are clamped to its faces and counted. */
#define SPACING_TO_SOFTENING_MAX (1.0 / 8192)
/* Lower bound of |a_old| as a fraction of its rms: without it a particle with zero acceleration at a centre would open
 * every cell. */
#define A_FLOOR 1e-5

struct mac sim_criterion(const struct sim *sim, int kind)
{
  const struct params *params = sim->par;
  return (struct mac){kind, params_order(params), sim->force.gravity, params_tolerance(params, kind)};
}

/* The largest mass but for one particle, of those with the mass `largest`. Collective. */
static double second_mass(const struct comm *comm, const struct particles *particles, double largest)
{
  double heaviest = 0, second = 0;
  for (int64_t i = 0; i < particles->n; i++) {
    if (particles->mass[i] == largest) heaviest++;
    else second = fmax(second, particles->mass[i]);
  }
  comm_sum_double(comm, &heaviest, 1);
  comm_max_double(comm, &second, 1);
  return heaviest > 1 ? largest : second;
}

void sim_note_masses(struct sim *sim, const struct particles *particles)
{
  struct mass_facts *masses = &sim->masses;
  double extreme[2] = {0, -1e300}, sum[4] = {0};
  for (int64_t i = 0; i < particles->n; i++) {
    double mass = particles->mass[i];
    sum[mass > 0 ? 1 : 3]++;
    if (!(mass > 0)) continue;
    sum[0] += mass;
    sum[2] += mass * mass;
    extreme[0] = fmax(extreme[0], mass);
    extreme[1] = fmax(extreme[1], -mass);
  }
  comm_max_double(sim->comm, extreme, 2);
  comm_sum_double(sim->comm, sum, 4);
  masses->count = sum[1];
  masses->massless = sum[3];
  masses->total = sum[0];
  masses->mean = sum[1] > 0 ? sum[0] / sum[1] : 0;
  masses->mean_square = sum[1] > 0 ? sum[2] / sum[1] : 0;
  masses->largest = extreme[0];
  masses->smallest = sum[1] > 0 ? -extreme[1] : 0;
  masses->second = second_mass(sim->comm, particles, masses->largest);
  sim->now.massless = masses->massless;
}

/* Make the parameters, with what is known of the run, those of the system. Collective. */
static void own_parameters(struct sim *sim, const struct params *par, const struct particles *particles)
{
  int64_t of_type[PARTICLE_TYPES] = {0};
  for (int64_t i = 0; i < particles->n; i++) of_type[particles->type[i]]++;
  comm_sum_int64(sim->comm, of_type, PARTICLE_TYPES);
  sim->given = params_of_run(par, sim->masses.count, sim->be->particle_bytes > 0);
  sim->given.run.types = 0;
  for (int t = 0; t < PARTICLE_TYPES; t++) sim->given.run.types |= (long long)(of_type[t] > 0) << t;
  sim->par = &sim->given;
}

int sim_open(struct sim *sim, const struct comm *comm, const struct params *par, const struct backend *be,
             struct particles *particles, struct fault *fault)
{
  memset(sim, 0, sizeof *sim);
  sim->comm = comm;
  sim->be = be;
  sim_note_masses(sim, particles);
  own_parameters(sim, par, particles);
  par = sim->par;
  sim->force.gravity = units_gravity(par);
  sim->force.mac = sim_criterion(sim, par->TypeOfOpeningCriterion);
  struct device_config config = {.gravity = sim->force.gravity,
                                 .max_leaf = par->MaxLeafSize,
                                 .max_group = par->MaxGroupSize,
                                 .quadrupole = params_order(par) == 2,
                                 .ranks = comm->size,
                                 .rank = comm->rank,
                                 .node_rank = comm_node_rank(comm),
                                 .method = (enum walk_method)par->WalkMethod};
  config.softening = params_softening(par, config.softening_of);
  sim->force.softening = softening_make(config.softening, config.softening_of);
  energies_open(sim, particles);
  sim->dev = be->open(&config);
  be->upload(sim->dev, particles);
  int failed = transport_open(&sim->ranks.transport, comm, be, sim->dev, (enum transport_choice)par->Transport, fault);
  sim->timer.ledger = comm->ledger;
  sim->timer.follow = be->clock.phase;
  int grid[3];
  params_grid(par->DomainGrid, grid);
  domain_open_grid(&sim->ranks.domain, comm->size, grid);
  sim->ranks.domain.align = comm->size > 1;
  sim->ranks.lets = lets_open(comm, be, sim->dev, &sim->ranks.transport,
                              (const int[3]){sim->ranks.domain.px, sim->ranks.domain.py, sim->ranks.domain.pz});
  timer_reset(&sim->timer);
  sim->cost.log.table = par->SubstepLog && comm->rank == 0;
  tuning_open(&sim->cost.tuning, par, be->tunes, comm->size, comm->rank);
  if (params_softenings_differ(par) && !be->softens_by_type)
    return fault_set(fault,
                     "the types of particles have different softenings (SofteningType0 ... SofteningType5): the "
                     "backend %s has one softening "
                     "for all; set [Device] Backend = cpu, or one softening",
                     be->name);
  if (effects_open(sim, fault)) return -1;
  if (params_neighbour_lists(par) &&
      !(be->neighbour_lists && be->neighbour_lists->has((enum step_integrator)par->Integrator)))
    return fault_set(fault, "Integrator = %s%s: the backend %s does not have it; set [Device] Backend = cpu",
                     integrator_traits[par->Integrator].name,
                     par->Criterion == CRITERION_PAIRS ? " with Criterion = pairs" : "", be->name);
  return failed ? -1 : 0;
}

void sim_close(struct sim *sim)
{
  struct particles p;
  lets_close(sim->ranks.lets);
  halo_free(&sim->lists.halo);
  memory_free(sim->settings);
  memory_free(sim->collisions.row);
  memory_free(sim->collisions.known);
  memory_free(sim->energy.changes.late);
  transport_close(&sim->ranks.transport);
  sim->be->download(sim->dev, &p);
  particles_free(&p);
  if (sim->be->clock.phase) sim->be->clock.phase(NULL);
  sim->be->close(sim->dev);
  domain_close(&sim->ranks.domain);
  substep_log_close(&sim->cost.log);
  tuning_close(&sim->cost.tuning);
  effects_close(sim);
}

/* The bounding box of all particles and of the positions that they can reach within `horizon`: low, then high. Returns
 * its longest side. Collective. */
static double reachable_box(struct sim *sim, double horizon, double box[6])
{
  double side = 0;
  sim->be->sets.bounds(sim->dev, horizon, box, box + 3);
  for (int c = 0; c < 3; c++) box[c] = -box[c];
  timed_max(sim, box, 6);
  for (int c = 0; c < 3; c++) {
    box[c] = -box[c];
    side = fmax(side, box[c + 3] - box[c]);
  }
  return side;
}

/* The widest box that the lattice covers whatever the width of the particles is. */
static double widest_box(const struct sim *sim)
{
  return SPACING_TO_SOFTENING_MAX * params_softening(sim->par, NULL) * LATTICE_SIDE /
         (sim->ranks.domain.align ? LATTICE_WIDER : 1);
}

/* The box that the lattice must cover. Collective. */
static void global_bounds(struct sim *sim, double horizon, double box[6])
{
  double here[6], side = reachable_box(sim, horizon, box), widest = widest_box(sim);
  if (side <= widest) return;
  double extent = reachable_box(sim, 0, here), margin_width = 0.5 * (fmax(widest, 2 * extent) - extent);
  for (int c = 0; c < 3; c++) {
    box[c] = fmax(box[c], here[c] - margin_width);
    box[c + 3] = fmin(box[c + 3], here[c + 3] + margin_width);
  }
}

/* Build the tree of the sorted particles. */
static void build(struct sim *sim)
{
  double low[3], high[3];
  domain_cuboid(&sim->ranks.domain, sim->comm->rank, low, high);
  TIMED(sim, PHASE_build, sim->be->tree.build(sim->dev, low, high));
}

/* Make the lattice that covers the box, sort the particles and build the tree. Local. */
static void build_local_tree(struct sim *sim, const double box[6])
{
  double began = timer_clock();
  sim->lattice = domain_lattice(&sim->ranks.domain, box, params_softening(sim->par, NULL));
  TIMED(sim, PHASE_order, sim->counts.outside += sim->be->tree.order(sim->dev, &sim->lattice));
  build(sim);
  sim->cost.tree_seconds = timer_clock() - began;
}

static void make_groups(struct sim *sim) { TIMED(sim, PHASE_groups, sim->be->tree.groups(sim->dev)); }

/* Seconds per interaction of this rank; where it has not computed yet, the mean over the ranks that have.
 * Collective. */
static double seconds_per_work(const struct sim *sim)
{
  double sum[2] = {sim->cost.per_work, sim->cost.per_work > 0};
  comm_sum_double(sim->comm, sum, 2);
  return sim->cost.per_work > 0 ? sim->cost.per_work : sum[1] > 0 ? sum[0] / sum[1] : 1;
}

/* The load of this rank, from which the next domains are computed. N_hard (Watanabe & Nakasato 2014, eq 13) counts
 * cells as well as particles, because both cost the same to send, predict, update and evaluate. Collective. */
static struct domain_load load(const struct sim *sim)
{
  const struct let_count *hard = &sim->counts.step_let.received;
  int balance = sim->par->Balance;
  struct domain_load l = {.by_work = balance >= BALANCE_WORK, .per_work = 1};
  if (balance == BALANCE_TIME) l.per_work = seconds_per_work(sim);
  if (balance == BALANCE_HARD) l.extra = (double)(hard->cells + hard->particles);
  return l;
}

void sim_decompose(struct sim *sim)
{
  struct domain_load mine;
  TIMED(sim, PHASE_domain, mine = load(sim));
  if (sim->comm->size > 1)
    TIMED(sim, PHASE_domain,
          domain_decompose(&sim->ranks.domain, sim->comm, sim->be, sim->dev, sim->par->SamplingRate, &mine));
}

void sim_arrange(struct sim *sim, int decompose)
{
  double box[6];
  sim->counts.local = sim->be->count(sim->dev);
  if (decompose) sim_decompose(sim);
  /* of all ranks: before they migrate, while a device may know it */
  TIMED(sim, PHASE_domain, global_bounds(sim, sim->soft_step, box));
  if (sim->comm->size > 1) sim_migrate(sim, 0, 0);
  build_local_tree(sim, box);
}

void sim_reserve(struct sim *sim, double horizon)
{
  double box[6], side = sim->lattice.spacing * (LATTICE_SIDE - 1);
  int inside = 1;
  sim->soft_step = horizon;
  global_bounds(sim, horizon, box);
  for (int c = 0; c < 3; c++) inside &= box[c] >= sim->lattice.corner[c] && box[c + 3] <= sim->lattice.corner[c] + side;
  if (inside) return;
  build_local_tree(sim, box);
  make_groups(sim);
}

void sim_migrate(struct sim *sim, int32_t tick, double tick_length)
{
  TIMED(sim, PHASE_domain,
        sim->counts.migrated +=
        domain_exchange(&sim->ranks.domain, sim->comm, sim->be, sim->dev, &sim->ranks.transport, tick, tick_length));
}

void sim_restore_order(struct sim *sim)
{
  TIMED(sim, PHASE_order, sim->be->tree.order(sim->dev, &sim->lattice));
  build(sim);
  timed_sources(sim); /* needs a tree, and reorder needs the sources */
}

void sim_rebuild(struct sim *sim, int32_t tick, double tick_length, level_bands bands, int from)
{
  TIMED(sim, PHASE_order, sim->be->tree.reorder(sim->dev, tick, tick_length, bands, from));
  build(sim);
  make_groups(sim);
}

void sim_force(struct sim *sim, const struct mac *mac, int potential)
{
  const struct tally *full = &sim->counts.full, before = *full;
  struct let_request request = {
      .mac = mac, .a_floor = sim->force.a_floor, .cutoff = -1, .eps2 = softening_classes2(&sim->force.softening)};
  struct walk_request walk = {
      .mac = *mac, .a_floor = sim->force.a_floor, .split = sim->force.split, .let = LET_SOFT, .potential = potential};
  timed_sources(sim);
  timed_moments(sim, mac, 0, 0);
  tuning_groups(&sim->cost.tuning, sim->be, sim->dev, sim->lattice.spacing * LATTICE_SIDE);
  make_groups(sim);
  sim->scheme->before_walk(sim, potential, &request, &walk);
  TIMED(sim, PHASE_let_select,
        let_exchange(sim->ranks.lets, LET_SOFT, &sim->lattice, request, TICKS, &sim->counts.soft_let));
  TIMED(sim, PHASE_walk, let_walk(sim->ranks.lets, walk, &sim->counts.full, &sim->counts.soft_let));
  if (mac == &sim->force.mac)
    tuning_walked(&sim->cost.tuning, 0, KIND_ALL, (double)(full->targets - before.targets),
                  full->seconds - before.seconds, 1);
  TIMED(sim, PHASE_walk, sim->scheme->after_walk(sim));
  if (potential) TIMED(sim, PHASE_diagnostics, energies_heavy(sim));
}

static void measure(struct sim *sim)
{
  effects_field(sim, sim->time);
  diagnostics_measure(&sim->now, sim->comm, sim->be, sim->dev, effects_potential(sim));
  sim->now.massless = sim->masses.massless;
  sim->now.pair_kinetic = sim->lists.pair_kinetic;
  effects_measured(sim);
  sim->force.a_floor = effects_a_floor(sim, A_FLOOR) * sim->now.a_rms_plain;
  memset(sim->energy.correction, 0, sizeof sim->energy.correction);
  sim->energy.total = sim->energy.noise = 0;
}

void sim_measure(struct sim *sim) { TIMED(sim, PHASE_diagnostics, measure(sim)); }

int sim_gained(const struct sim *sim, double gained[3])
{
  int known = 1;
  for (int k = 0; k < 3; k++) {
    gained[k] = sim->now.v_com[k] - sim->effects.v_com[k]; /* effects_kick_centre adds those of fields */
    known = known && isfinite(gained[k]);
  }
  if (!known) memset(gained, 0, 3 * sizeof *gained);
  return known;
}

void sim_shift(const struct sim *sim, double place[3], double motion[3])
{
  double gained[3];
  effects_shift(sim, place, motion);
  if (!sim_gained(sim, gained)) return;
  for (int k = 0; k < 3; k++) motion[k] -= gained[k];
}

void sim_note_energy(struct sim *sim)
{
  sim->system.energy =
      sim->system.in_field ? plan_energy_in_field(&sim->now, sim->force.gravity) : plan_energy(&sim->now);
  sim->system.distance = sim->par->R1 > 0 ? 0 : sim->force.radius_rule; /* given radii say nothing of distances */
  sim->system.mean_mass = sim->masses.mean;
  sim->system.largest_mass = sim->masses.largest;
  sim->system.mean_square_mass = sim->masses.mean_square;
}
