/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "step/sim.h"

#include <math.h>
#include <string.h>

#include "base/fault.h"
#include "base/memory.h"
#include "gravity/units.h"
#include "step/energies.h"
#include "step/expansion.h"
#include "step/kicks.h"
#include "step/scheme.h"

/* Predicted trajectories may widen the lattice until its spacing is this fraction of the softening, or until it is twice as wide as the
 * particles (always so without softening). In a soft step of many orbits straight trajectories lead far beyond the particles; a lattice for all of them would degrade
 * the resolution of all forces. Particles beyond the lattice are clamped to its faces and counted. */
#define SPACING_TO_SOFTENING_MAX (1.0 / 8192)
/* Lower bound of |a_old| as a fraction of its rms: without it a particle with zero acceleration at a centre would open every cell. */
#define A_FLOOR 1e-5
/* Peculiar accelerations are differences of larger ones, and small by chance at many places. */
#define A_FLOOR_COMOVING 0.1

struct mac sim_criterion(const struct sim *sim, int kind)
{
  const struct params *params = sim->par;
  double delta = kind == OPENING_ANGLE ? params->ErrTolTheta : kind == OPENING_MULTIPOLE ? params->ErrTolMultipole : params_delta(params);
  return (struct mac){kind, params_order(params), sim->gravity, delta};
}

static void note_masses(struct sim *sim, const struct particles *particles)
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
  sim->now.massless = masses->massless;
}

/* Make the parameters, with what is known of the run, those of the system. Collective. */
static void own_parameters(struct sim *s, const struct params *par, const struct particles *p)
{
  int64_t of_type[PARTICLE_TYPES] = {0};
  for (int64_t i = 0; i < p->n; i++) of_type[p->type[i]]++;
  comm_sum_int64(s->comm, of_type, PARTICLE_TYPES);
  s->given = params_of_run(par, s->masses.count, s->be->particle_bytes > 0);
  s->given.run.types = 0;
  for (int t = 0; t < PARTICLE_TYPES; t++) s->given.run.types |= (long long)(of_type[t] > 0) << t;
  s->par = &s->given;
}

int sim_open(struct sim *s, const struct comm *c, const struct params *par, const struct backend *be, struct particles *p, struct fault *f)
{
  memset(s, 0, sizeof *s);
  s->comm = c;
  s->be = be;
  note_masses(s, p);
  own_parameters(s, par, p);
  par = s->par;
  s->gravity = units_gravity(par);
  s->mac = sim_criterion(s, par->TypeOfOpeningCriterion);
  struct device_config config = {.gravity = s->gravity,
                                 .max_leaf = par->MaxLeafSize,
                                 .max_group = par->MaxGroupSize,
                                 .quadrupole = params_order(par) == 2,
                                 .ranks = c->size,
                                 .rank = c->rank,
                                 .node_rank = comm_node_rank(c),
                                 .method = (enum walk_method)par->WalkMethod};
  config.softening = params_softening(par, config.softening_of);
  s->softening = softening_make(config.softening, config.softening_of);
  energies_open(s, p);
  s->dev = be->open(&config);
  be->upload(s->dev, p);
  int failed = transport_open(&s->transport, c, be, s->dev, (enum transport_choice)par->Transport, f);
  s->timer.ledger = c->ledger;
  s->timer.follow = be->phase;
  int grid[3];
  params_grid(par->DomainGrid, grid);
  domain_open_grid(&s->domain, c->size, grid);
  s->domain.align = c->size > 1;
  s->lets = lets_open(c, be, s->dev, &s->transport, (const int[3]){s->domain.px, s->domain.py, s->domain.pz});
  timer_reset(&s->timer);
  s->log.table = par->SubstepLog && c->rank == 0;
  tuning_open(&s->tuning, par, be->tunes, c->size, c->rank);
  if (params_softenings_differ(par) && !be->softens_by_type)
    return fault_set(f, "the types of particles have different softenings (SofteningType0 ... SofteningType5): the backend %s has one softening "
                     "for all; set [Device] Backend = cpu, or one softening", be->name);
  if (kicks_open(s, par, f)) return -1;
  if (params_neighbour_lists(par) && !be->hard)
    return fault_set(f, "Integrator = hermite and Criterion = pairs: the backend %s does not have them", be->name);
  return expansion_open(s, f) || failed ? -1 : 0;
}

void sim_close(struct sim *s)
{
  struct particles p;
  expansion_close(s);
  lets_close(s->lets);
  halo_free(&s->lists.halo);
  memory_free(s->settings);
  transport_close(&s->transport);
  s->be->download(s->dev, &p);
  particles_free(&p);
  if (s->be->phase) s->be->phase(NULL);
  s->be->close(s->dev);
  domain_close(&s->domain);
  substep_log_close(&s->log);
  tuning_close(&s->tuning);
  kicks_close(s);
}

/* The bounding box of all particles and of the positions that they can reach within `horizon`: low, then high. Returns its longest side.
 * Collective. */
static double reachable_box(struct sim *s, double horizon, double box[6])
{
  double side = 0;
  s->be->bounds(s->dev, horizon, box, box + 3);
  for (int c = 0; c < 3; c++) box[c] = -box[c];
  timer_phase(&s->timer, PHASE_wait);
  comm_max_double(s->comm, box, 6);
  for (int c = 0; c < 3; c++) {
    box[c] = -box[c];
    side = fmax(side, box[c + 3] - box[c]);
  }
  return side;
}

/* The widest box that the lattice covers whatever the width of the particles is. */
static double widest_box(const struct sim *s)
{
  return SPACING_TO_SOFTENING_MAX * params_softening(s->par, NULL) * LATTICE_SIDE / (s->domain.align ? LATTICE_WIDER : 1);
}

/* The box that the lattice must cover. Collective. */
static void global_bounds(struct sim *s, double horizon, double box[6])
{
  double here[6], side = reachable_box(s, horizon, box), widest = widest_box(s);
  if (side <= widest) return;
  double extent = reachable_box(s, 0, here), margin_width = 0.5 * (fmax(widest, 2 * extent) - extent);
  for (int c = 0; c < 3; c++) {
    box[c] = fmax(box[c], here[c] - margin_width);
    box[c + 3] = fmin(box[c + 3], here[c + 3] + margin_width);
  }
}

/* Build the tree of the sorted particles. */
static void build(struct sim *s)
{
  double low[3], high[3];
  timer_phase(&s->timer, PHASE_build);
  domain_cuboid(&s->domain, s->comm->rank, low, high);
  s->be->build(s->dev, low, high);
}

/* Make the lattice that covers the box, sort the particles and build the tree. Local. */
static void build_local_tree(struct sim *s, const double box[6])
{
  double began = timer_clock();
  s->lattice = domain_lattice(&s->domain, box, params_softening(s->par, NULL));
  timer_phase(&s->timer, PHASE_order);
  s->counts.outside += s->be->order(s->dev, &s->lattice);
  build(s);
  s->tree_build_seconds = timer_clock() - began;
}

/* Make the groups, with the width that tuning gives. */
static void make_groups(struct sim *s)
{
  timer_phase(&s->timer, PHASE_groups);
  tuning_groups(&s->tuning, s->be, s->dev, s->lattice.spacing * LATTICE_SIDE);
  s->be->groups(s->dev);
}

/* Seconds per interaction of this rank; where it has not computed yet, the mean over the ranks that have. Collective. */
static double seconds_per_work(const struct sim *s)
{
  double sum[2] = {s->per_work, s->per_work > 0};
  comm_sum_double(s->comm, sum, 2);
  return s->per_work > 0 ? s->per_work : sum[1] > 0 ? sum[0] / sum[1] : 1;
}

/* The load of this rank, from which the next domains are computed. N_hard (Watanabe & Nakasato 2014, eq 13) counts cells as well as
 * particles, because both cost the same to send, predict, update and evaluate. Collective. */
static struct domain_load load(const struct sim *s)
{
  const struct let_count *hard = &s->counts.step_let.received;
  int balance = s->par->Balance;
  struct domain_load l = {.by_work = balance >= BALANCE_WORK, .per_work = 1};
  if (balance == BALANCE_TIME) l.per_work = seconds_per_work(s);
  if (balance == BALANCE_HARD) l.extra = (double)(hard->cells + hard->particles);
  return l;
}

void sim_decompose(struct sim *s)
{
  struct domain_load mine = load(s);
  timer_phase(&s->timer, PHASE_domain);
  if (s->comm->size > 1) domain_decompose(&s->domain, s->comm, s->be, s->dev, s->par->SamplingRate, &mine);
}

void sim_arrange(struct sim *s, int decompose)
{
  double box[6];
  s->counts.local = s->be->count(s->dev);
  timer_phase(&s->timer, PHASE_domain);
  if (decompose) sim_decompose(s);
  global_bounds(s, s->soft_step, box);   /* of all ranks: before they migrate, while a device may know it */
  timer_phase(&s->timer, PHASE_domain);
  if (s->comm->size > 1) s->counts.migrated += domain_exchange(&s->domain, s->comm, s->be, s->dev, &s->transport, 0, 0);
  build_local_tree(s, box);
}

void sim_make_room(struct sim *s, double horizon)
{
  double box[6], side = s->lattice.spacing * (LATTICE_SIDE - 1);
  int inside = 1;
  s->soft_step = horizon;
  global_bounds(s, horizon, box);
  for (int c = 0; c < 3; c++) inside &= box[c] >= s->lattice.corner[c] && box[c + 3] <= s->lattice.corner[c] + side;
  if (inside) return;
  build_local_tree(s, box);
  s->be->groups(s->dev);
}

void sim_migrate(struct sim *s, int32_t tick, double tick_length)
{
  timer_phase(&s->timer, PHASE_domain);
  s->counts.migrated += domain_exchange(&s->domain, s->comm, s->be, s->dev, &s->transport, tick, tick_length);
}

void sim_restore_order(struct sim *s)
{
  timer_phase(&s->timer, PHASE_order);
  s->be->order(s->dev, &s->lattice);
  build(s);
  s->be->sources(s->dev);   /* needs a tree, and reorder needs the sources */
}

void sim_rebuild(struct sim *s, int32_t tick, double tick_length, int fast, int renew)
{
  timer_phase(&s->timer, PHASE_order);
  s->be->reorder(s->dev, tick, tick_length, fast, renew);
  build(s);
  s->be->groups(s->dev);
}

void sim_force(struct sim *sim, const struct mac *mac, int potential)
{
  const struct tally *full = &sim->counts.full, before = *full;
  struct let_request request = {.mac = mac, .a_floor = sim->a_floor, .cutoff = -1, .eps2 = softening_classes2(&sim->softening)};
  struct walk_request walk = {.mac = *mac, .a_floor = sim->a_floor, .split = sim->split, .let = LET_SOFT, .potential = potential};
  timer_phase(&sim->timer, PHASE_moments);
  sim->be->sources(sim->dev);
  sim->be->moments(sim->dev, mac, 0, 0);
  make_groups(sim);
  timer_phase(&sim->timer, PHASE_let_select);
  sim->scheme->before_walk(sim, potential, &request, &walk);
  let_exchange(sim->lets, LET_SOFT, &sim->lattice, request, TICKS, &sim->counts.soft_let);
  timer_phase(&sim->timer, PHASE_walk);
  let_walk(sim->lets, walk, &sim->counts.full, &sim->counts.soft_let);
  if (mac == &sim->mac) tuning_walked(&sim->tuning, 0, KIND_ALL, (double)(full->targets - before.targets), full->seconds - before.seconds, 1);
  sim->scheme->after_walk(sim);
  timer_phase(&sim->timer, PHASE_diagnostics);
  if (potential) energies_heavy(sim);
  timer_phase(&sim->timer, PHASE_other);
}

void sim_measure(struct sim *s)
{
  timer_phase(&s->timer, PHASE_diagnostics);
  kicks_field_at(s, s->time);
  diagnostics_measure(&s->now, s->comm, s->be, s->dev, expansion_field(s));
  s->now.massless = s->masses.massless;
  kicks_measure(s);
  expansion_measured(s);
  s->a_floor = (s->expansion.on ? A_FLOOR_COMOVING : A_FLOOR) * s->now.a_rms_plain;
  memset(s->energy.correction, 0, sizeof s->energy.correction);
  s->energy.total = s->energy.noise = 0;
  timer_phase(&s->timer, PHASE_other);
}

int sim_gained(const struct sim *s, double gained[3])
{
  const struct field *field = &s->field;
  int known = field->count == 0 || s->external.given;   /* kicks_centre adds those of parameters */
  for (int k = 0; k < 3; k++) {
    gained[k] = s->now.v_com[k] - s->frame.v_com[k] - field->acc[k] * (s->time - s->frame.begin);
    known = known && isfinite(gained[k]);
  }
  if (!known) memset(gained, 0, 3 * sizeof *gained);
  return known;
}

void sim_shift(const struct sim *s, double place[3], double motion[3])
{
  double gained[3];
  frame_shift(&s->frame, expansion_frame_time(s, s->time), place, motion);
  if (!sim_gained(s, gained)) return;
  for (int k = 0; k < 3; k++) motion[k] -= gained[k];
}

void sim_note_energy(struct sim *s)
{
  s->system.energy = s->system.in_field ? plan_energy_in_field(&s->now, s->gravity) : plan_energy(&s->now);
  s->system.distance = s->par->R1 > 0 ? 0 : s->radius_rule;   /* given radii say nothing of distances */
  s->system.mean_mass = s->masses.mean;
  s->system.largest_mass = s->masses.largest;
  s->system.mean_square_mass = s->masses.mean_square;
}
