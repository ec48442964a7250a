/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forces on several ranks against the direct sum, at the start and in substeps. "short": some sets, "far": balls far
 * apart; then the name of a backend alone. */
#include <config.h>
#include "base/debug.h"
#include "ranks_case.h"
#include "settings/settings.h"
#include "step/plan.h"

static enum transport_choice taken;

enum { SUBSTEPS = 12, MOMENT_UPDATE = TICKS / 8 };
/* largest error of forces of systems far apart; without a margin of the criterion it is above 1 */
#define FAR_WORST 0.1
/* What one case yields. */
struct result {
  struct errors acc, hard, step;
  int kept, owner_rank, finite;
  int64_t substeps, steps_seen, outside, late;
  uint64_t bits; /* of forces and state after the substeps, in this rank's order */
};

static uint64_t hash(uint64_t h, const void *data, size_t bytes)
{
  for (size_t i = 0; i < bytes; i++) h = (h ^ ((const unsigned char *)data)[i]) * 0x100000001b3ULL;
  return h;
}

static void compare_start(struct sim *sim, struct result *result)
{
  const struct particles *p = sim->be->view(sim->dev);
  struct all_ranks all = gather(sim->comm, p, 0, 0);
  struct record total = {0}, hard = {0};
  result->owner_rank = 1;
  for (int64_t i = 0; i < p->n; i++) {
    double a[3], h[3];
    sum_at(&all, sim, &p->pos[3 * i], a, h);
    add(&total, distance(&p->acc[3 * i], a, a, sim->now.a_rms_plain));
    add(&hard, distance(&p->acc_hard[3 * i], h, a, sim->now.a_rms_plain));
    result->owner_rank &= domain_owner(&sim->ranks.domain, &p->pos[3 * i]) == sim->comm->rank;
  }
  result->owner_rank = (int)comm_min_int64(sim->comm, result->owner_rank);
  result->acc = collect(sim->comm, &total);
  result->hard = collect(sim->comm, &hard);
  release(&all);
}

/* Coordinates of particles outside the lattice. */
static int64_t outside_lattice(const struct lattice *lattice, const struct all_ranks *all)
{
  int64_t outside = 0;
  for (int64_t i = 0; i < all->n; i++)
    for (int k = 0; k < 3; k++) {
      int out = 0;
      lattice_of(lattice, k, all->pos[i][k], &out);
      outside += out;
    }
  return outside;
}

/* Walk the particles that are active at `tick` and add the errors of their forces. */
static void compare_active(struct sim *sim, int32_t tick, double tick_length, const struct all_ranks *all, int walks,
                           struct record *errors)
{
  struct walk_request walk = {.kind = WALK_HARD,
                              .mac = sim->force.mac,
                              .a_floor = sim->force.a_floor,
                              .split = sim->force.split,
                              .let = LET_STEP,
                              .tick = tick,
                              .tick_length = tick_length};
  if (walks) let_walk(sim->ranks.lets, walk, &sim->counts.hard, &sim->counts.updates);
  const struct particles *p = sim->be->view(sim->dev);
  for (int64_t i = 0; i < p->n; i++) {
    double a[3], h[3];
    if (!ends_at(p, i, tick)) continue;
    sum_at(all, sim, &p->pos[3 * i], a, h);
    add(errors, distance(&p->acc_hard[3 * i], h, a, sim->now.a_rms_plain));
  }
}

/* Substeps of a soft step, the forces of the active particles against the sum over the predicted positions of all
 * particles. With `rebuild_trees` LETs are selected again in the middle. */
static void compare_substeps(struct sim *sim, double soft_step, int rebuild_trees, struct result *result)
{
  double tick_length = soft_step / TICKS;
  struct record errors = {0};
  struct step_rule rule = {.eta = 0.5, .softening = sim->par->Softening, .use_velocity = 0, .soft_step = soft_step};
  struct let_request request = {.mac = &sim->force.mac,
                                .a_floor = sim->force.a_floor,
                                .a_typical = sim->now.a_rms_plain,
                                .cutoff = sim->force.split.r2,
                                .horizon = soft_step,
                                .tick_length = tick_length};
  int32_t tick = 0;
  sim->be->steps.levels(sim->dev, &rule, -1);
  sim->be->steps.kick(sim->dev, &sim->effects.field, 0.5 * soft_step);
  sim_reserve(sim, soft_step);
  sim->be->tree.sources(sim->dev);
  sim->be->tree.moments(sim->dev, &sim->force.mac, 0, 0);
  let_exchange(sim->ranks.lets, LET_STEP, &sim->lattice, request, MOMENT_UPDATE, &sim->counts.step_let);
  for (result->substeps = 0; result->substeps < SUBSTEPS; result->substeps++) {
    int32_t next = (int32_t)comm_min_int64(sim->comm, sim->be->steps.next_tick(sim->dev)),
            next_moment_update = (tick / MOMENT_UPDATE + 1) * MOMENT_UPDATE;
    if (next == TICKS) break;
    tick = next < next_moment_update ? next : next_moment_update;
    int64_t outside = 0, active = sim->be->steps.select(sim->dev, tick, tick_length, &outside);
    struct all_ranks all = gather(sim->comm, sim->be->view(sim->dev), tick, tick_length);
    result->outside += outside_lattice(&sim->lattice, &all);
    if (tick % MOMENT_UPDATE == 0) sim->be->tree.moments(sim->dev, &sim->force.mac, tick, tick_length);
    /* as after a prediction-bound violation: pending updates are received first */
    if (rebuild_trees && tick == 4 * MOMENT_UPDATE) {
      let_take_updates(sim->ranks.lets, tick, &sim->counts.updates);
      request.tick = tick;
      request.horizon = (TICKS - tick) * tick_length;
      let_exchange(sim->ranks.lets, LET_STEP, &sim->lattice, request, tick, &sim->counts.step_let);
    }
    compare_active(sim, tick, tick_length, &all, active > 0, &errors);
    if (active > 0) sim->be->steps.correct(sim->dev, tick, tick_length, &rule, -1);
    sim->be->let->updates.violations(sim->dev, &result->late);
    let_send_updates(sim->ranks.lets, tick, tick % MOMENT_UPDATE == 0, (tick / MOMENT_UPDATE + 1) * MOMENT_UPDATE,
                     &sim->counts.updates);
    release(&all);
  }
  let_take_updates(sim->ranks.lets, tick + 1, &sim->counts.updates);
  result->steps_seen = errors.n;
  comm_sum_int64(sim->comm, &result->steps_seen, 1);
  result->step = collect(sim->comm, &errors);
  comm_sum_int64(sim->comm, &result->late, 1);
}

static struct result one_case(const struct comm *comm, const struct set *set, int64_t n, int order, int on_one,
                              double delta)
{
  struct result r = {0};
  struct params par = params_of(set, delta);
  struct particles mine;
  struct sim sim;
  par.MultipoleOrder = order;
  par.Kernel = order == 2 ? SPLIT_DLL : SPLIT_QUINTIC;
  share(comm, set, n, SPEED, on_one, &mine);
  uint64_t digest = digest_all(comm, &mine);
  struct fault f = {""};
  sim_open(&sim, comm, &par, tested, &mine, &f);
  taken = sim.ranks.transport.kind;
  settings_first_force(&sim);
  const struct particles *p = sim.be->view(sim.dev);
  r.kept = digest_all(comm, p) == digest && sim.now.count == (double)n;
  r.finite = sim.now.bad == 0;
  compare_start(&sim, &r);
  compare_substeps(&sim, fmin(plan_adaptive(&par, &sim.now, sim.force.split.r2), par.TimeMax), order == 1, &r);
  p = sim.be->view(sim.dev);
  r.bits = 0xcbf29ce484222325ULL;
  r.bits = hash(r.bits, p->id, sizeof *p->id * (size_t)p->n);
  r.bits = hash(r.bits, p->pos, 3 * sizeof *p->pos * (size_t)p->n);
  r.bits = hash(r.bits, p->vel, 3 * sizeof *p->vel * (size_t)p->n);
  r.bits = hash(r.bits, p->acc, 3 * sizeof *p->acc * (size_t)p->n);
  r.bits = hash(r.bits, p->acc_hard, 3 * sizeof *p->acc_hard * (size_t)p->n);
  sim_close(&sim);
  return r;
}

/* On a line the pulls of both sides cancel, and all errors point along it: the criterion promises less there. */
static int within(const struct set *set, const struct errors *errors)
{
  double more = set->place == place_line ? 2 : 1;
  return errors->finite && errors->median <= more * 5e-3 && errors->most99 <= more * 1.7e-2;
}

static void check(const struct comm *comm, const struct set *set, int64_t n, int order, int on_one)
{
  struct result r = one_case(comm, set, n, order, on_one, 1.0 / 512);
  char name[150];
  snprintf(name, sizeof name, "%s%s%s", set->name, order == 2 ? ", second moments, DLL" : "",
           on_one ? ", all on one rank at first" : "");
  say(comm, r.kept, name, "no particle is lost or changed", NULL);
  say(comm, r.owner_rank, name, "all particles are on their owner ranks", NULL);
  say(comm, r.finite && within(set, &r.acc), name, "acceleration", &r.acc);
  say(comm, within(set, &r.hard), name, "hard part", &r.hard);
  say(comm, r.outside == 0, name, "no particle leaves the lattice during a soft step", NULL);
  if (set->place != place_coincident)
    say(comm, r.late == 0, name, "no particle exceeds the motion bound of the LETs", NULL);
  say(comm, within(set, &r.step) && (r.steps_seen > 0 || set->place == place_point || n == 1), name,
      "hard forces in substeps", &r.step);
}

/* With so fine a criterion that hardly a cell is accepted, what is left is whether every particle within R2 arrives, at
 * its own place and time: the worst error counts. Where the core's particles are 1e4 lattice points apart, the lattice
 * limits it. */
static void check_fine(const struct comm *comm, const struct set *set, int64_t n, int order)
{
  double max_value = set->place == place_contrast ? 1e-3 : 1e-4;
  struct result r = one_case(comm, set, n, order, 0, 1e-9);
  char what[100];
  snprintf(what, sizeof what, "fine criterion, hard forces in substeps: worst %.1e", r.step.worst);
  say(comm, r.step.finite && r.step.worst < max_value && r.steps_seen > 0, set->name, what, &r.step);
  snprintf(what, sizeof what, "fine criterion, acceleration and hard part at the start: worst %.1e, %.1e", r.acc.worst,
           r.hard.worst);
  say(comm, r.acc.finite && r.hard.finite && r.acc.worst < max_value && r.hard.worst < max_value, set->name, what,
      &r.hard);
}

static uint64_t bits_by(const struct comm *comm, enum transport_choice transport, const struct set *set, int64_t n)
{
  asked = transport;
  uint64_t bits = one_case(comm, set, n, 1, 0, 1.0 / 512).bits;
  asked = usual;
  return bits;
}

static int alike(const struct comm *comm, uint64_t a, uint64_t b) { return (int)comm_min_int64(comm, a == b); }

/* Messages cut into small pieces, the same case twice, and messages that do not go through the host: the same bits on
 * every rank. Where that is the device's memory anyway, MPI takes it. */
static void check_bits(const struct comm *comm, const struct set *set, int64_t n)
{
  struct comm small;
  char what[100];
  setenv("ESPALIER_LARGEST_MESSAGE", "1000", 1);
  comm_open(&small, comm->mpi);
  unsetenv("ESPALIER_LARGEST_MESSAGE");
  int believe = !tested->probe->identify && !getenv("ESPALIER_CUDA_MPI");
  if (believe) setenv("ESPALIER_CUDA_MPI", "1", 1);
  enum transport_choice direct = tested->probe->identify ? TRANSPORT_AUTO : TRANSPORT_CUDA_MPI;
  uint64_t a = bits_by(comm, TRANSPORT_STAGED, set, n), b = bits_by(comm, TRANSPORT_STAGED, set, n),
           cut = bits_by(&small, TRANSPORT_STAGED, set, n);
  uint64_t other = bits_by(comm, direct, set, n), other_cut = bits_by(&small, direct, set, n);
  if (believe) unsetenv("ESPALIER_CUDA_MPI");
  say(comm, alike(comm, a, b), set->name, "the same case twice gives the same bits", NULL);
  say(comm, alike(comm, a, cut) && small.largest_message == 1000, set->name,
      "messages cut to 1000 bytes give the same bits", NULL);
  snprintf(what, sizeof what, "transport %d gives the same bits as through the host, cut too", (int)taken);
  say(comm,
      alike(comm, a, other) && alike(comm, a, other_cut) &&
          (tested->probe->identify || comm->size == 1 || taken == direct),
      set->name, what, NULL);
  comm_close(&small);
}

/* Forces at the start when that part of the particles walks the local tree first, before LETs are there: errors, and
 * bits by a transport. */
static struct result start_by(const struct comm *comm, const struct set *set, int64_t n, const char *first,
                              enum transport_choice transport)
{
  struct result r = {0};
  struct params par = params_of(set, 1.0 / 512);
  struct particles mine;
  struct sim sim;
  struct fault f = {""};
  par.Transport = transport;
  share(comm, set, n, SPEED, 0, &mine);
  debug_set("first_part", atof(first));
  sim_open(&sim, comm, &par, tested, &mine, &f);
  settings_first_force(&sim);
  debug_set("first_part", NAN);
  compare_start(&sim, &r);
  const struct particles *p = sim.be->view(sim.dev);
  r.finite = sim.counts.full.targets == 2 * p->n && sim.now.bad == 0; /* by angle, then by acceleration */
  r.bits = hash(0xcbf29ce484222325ULL, p->acc, 3 * sizeof *p->acc * (size_t)p->n);
  r.bits = hash(r.bits, p->acc_hard, 3 * sizeof *p->acc_hard * (size_t)p->n);
  r.bits = hash(r.bits, p->pot, sizeof *p->pot * (size_t)p->n);
  sim_close(&sim);
  return r;
}

/* One walk of the local tree and LETs together: several supergroups on each rank, of which none, some or all begin
 * before LETs arrive. */
static void check_joined(const struct comm *comm, const struct set *set, int64_t n)
{
  static const char *const part[] = {"0", "0.5", "1"};
  char what[100];
  for (int k = 0; k < 3; k++) {
    struct result a = start_by(comm, set, n, part[k], TRANSPORT_STAGED),
                  b = start_by(comm, set, n, part[k], k == 1 ? usual : TRANSPORT_STAGED);
    snprintf(what, sizeof what, "one walk, first part %s: acceleration", part[k]);
    say(comm, (int)comm_min_int64(comm, a.finite) && within(set, &a.acc) && within(set, &a.hard), set->name, what,
        &a.acc);
    snprintf(what, sizeof what, "one walk, first part %s: the same bits %s", part[k],
             k == 1 ? "by the usual transport" : "again");
    say(comm, alike(comm, a.bits, b.bits), set->name, what, NULL);
  }
}

/* --- far systems ------------------------------------------------------------------------------------------------- */

static double apart; /* of the centres of balls of radius 1 in a row */
static int balls;

static void place_far(struct random *random, int64_t i, int64_t n, double x[3], float *mass)
{
  random_direction(random, cbrt(random_unit(random)), x);
  x[0] += (i % balls - 0.5 * (balls - 1)) * apart;
  *mass = 1.0f / (float)n;
}

/* Total forces of all particles at the start, without the split. */
static struct errors far_total(const struct comm *comm, const struct set *set, int64_t n, int order)
{
  struct params par = params_of(set, 1.0 / 512);
  struct result r = {0};
  struct particles mine;
  struct sim sim;
  struct fault f = {""};
  par.Mode = MODE_TREE;
  par.MultipoleOrder = order;
  share(comm, set, n, SPEED, 0, &mine);
  sim_open(&sim, comm, &par, tested, &mine, &f);
  settings_first_force(&sim);
  compare_start(&sim, &r);
  sim_close(&sim);
  return r.acc;
}

/* Balls far apart. With two and an odd number of ranks a domain has parts of both, and its root is a cell that
 * particles of the next domains touch, and that the criterion accepts, for it is light against the forces within a
 * ball. With three the faces of the root's children cut the middle one, on one rank too. */
static void check_far(const struct comm *comm)
{
  static const struct {
    int balls, order;
    double apart;
  } cases[] = {{2, 1, 1000}, {2, 2, 1000}, {2, 1, 300}, {2, 2, 300}, {3, 2, 1000}};
  struct set s = {"", 1500, 1, 0.01, 0.14, 0.28, place_far};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    int order = cases[k].order;
    char name[100];
    apart = cases[k].apart;
    balls = cases[k].balls;
    snprintf(name, sizeof name, "%d balls %.0f radii apart, order %d", balls, apart, order);
    struct errors e = far_total(comm, &s, s.n, order);
    say(comm, within(&s, &e) && e.worst < FAR_WORST, name, "acceleration without the split", &e);
    struct result r = one_case(comm, &s, s.n, order, 0, 1.0 / 512);
    say(comm, r.finite && within(&s, &r.acc) && r.acc.worst < FAR_WORST, name, "acceleration", &r.acc);
    say(comm, within(&s, &r.hard) && r.hard.worst < FAR_WORST, name, "hard part", &r.hard);
    say(comm, within(&s, &r.step) && r.step.worst < FAR_WORST && r.steps_seen > 0, name, "hard forces in substeps",
        &r.step);
  }
}

static void check_all(const struct comm *comm, const char *which)
{
  int brief = strcmp(which, "short") == 0;
  if (comm->size <= 7 || strcmp(which, "far") == 0) check_far(comm);
  if (strcmp(which, "far") == 0) return;
  for (int k = 0; k < SETS; k++) {
    int64_t n = sets[k].n > 1500 ? brief ? 800 : 1500 : sets[k].n;
    if (brief && n > 3 && sets[k].place != place_plummer && sets[k].place != place_contrast &&
        sets[k].place != place_coincident)
      continue;
    check(comm, &sets[k], n, 1, k % 2);
  }
  check(comm, &sets[0], 800, 1, 1);
  check(comm, &sets[1], 800, 2, 0);
  check_fine(comm, &sets[0], 800, 1);
  check_fine(comm, &sets[1], 800, 2);
  check_fine(comm, &sets[2], 800, 1);
  check_fine(comm, &sets[8], 800, 1);
  check_bits(comm, &sets[0], 800);
  if (comm->size <= 7) check_joined(comm, &sets[0], 650 * comm->size);
}

int main(int argc, char **argv) { return with_backends(argc, argv, check_all); }
