/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forces on several ranks against the direct sum, at the start and in substeps. "short": some sets, "far": balls far apart; then the
 * name of a backend alone. */
#include <config.h>
#include <mpi.h>
#include "backend/probe.h"
#include "base/debug.h"
#include "everywhere.h"
#include "particles/timeline.h"
#include "sets.h"
#include "sums_ranks.h"
#include "step/plan.h"
#include "step/sim.h"
#include "step/step.h"
#include "tap.h"
#include "settings/settings.h"

static const struct backend *tested;
static enum transport_choice usual = TRANSPORT_AUTO, asked = TRANSPORT_AUTO, taken;

enum { SUBSTEPS = 12, MOMENT_UPDATE = TICKS / 8 };
#define FAR_WORST 0.1   /* largest error of forces of systems far apart; without a margin of the criterion it is above 1 */
#define SPEED 0.7   /* about that of a system in balance */

/* What one case yields. */
struct result {
  struct errors acc, hard, step;
  int kept, owner_rank, finite;
  int64_t substeps, steps_seen, outside, late;
  uint64_t bits;    /* of forces and state after the substeps, in this rank's order */
};

static uint64_t hash(uint64_t h, const void *data, size_t bytes)
{
  for (size_t i = 0; i < bytes; i++) h = (h ^ ((const unsigned char *)data)[i]) * 0x100000001b3ULL;
  return h;
}

static uint64_t global_digest(const struct comm *c, const struct particles *p)
{
  int64_t sum = (int64_t)particles_digest(p);
  comm_sum_int64(c, &sum, 1);
  return (uint64_t)sum;
}

/* This rank's share of the set: all on the last rank, or dealt out by id. */
static void share(const struct comm *c, const struct set *s, int64_t n, double speed, int on_one, struct particles *mine)
{
  struct set part = *s;
  struct particles all;
  part.n = n;
  set_make(&part, speed * sqrt(s->gravity), &all);
  particles_init(mine);
  particles_reserve(mine, n);
  for (int64_t i = 0; i < n; i++)
    if (on_one ? c->rank == c->size - 1 : (int)(i % c->size) == c->rank) particles_copy(mine, mine->n++, &all, i);
  particles_free(&all);
}

static void compare_start(struct sim *s, struct result *r)
{
  const struct particles *p = s->be->view(s->dev);
  struct all_ranks all = gather(s->comm, p, 0, 0);
  struct record total = {0}, hard = {0};
  r->owner_rank = 1;
  for (int64_t i = 0; i < p->n; i++) {
    double a[3], h[3];
    sum_at(&all, s, &p->pos[3 * i], a, h);
    add(&total, distance(&p->acc[3 * i], a, a, s->now.a_rms_plain));
    add(&hard, distance(&p->acc_hard[3 * i], h, a, s->now.a_rms_plain));
    r->owner_rank &= domain_owner(&s->domain, &p->pos[3 * i]) == s->comm->rank;
  }
  r->owner_rank = (int)comm_min_int64(s->comm, r->owner_rank);
  r->acc = collect(s->comm, &total);
  r->hard = collect(s->comm, &hard);
  release(&all);
}

/* Substeps of a soft step, the forces of the active particles against the sum over the predicted positions of all particles. With
 * `rebuild_trees` LETs are selected again in the middle. */
static void compare_substeps(struct sim *s, double soft_step, int rebuild_trees, struct result *r)
{
  double tick_length = soft_step / TICKS;
  struct record errors = {0};
  struct step_rule rule = {.eta = 0.5, .softening = s->par->Softening, .use_velocity = 0, .soft_step = soft_step};
  struct let_request request = {.mac = &s->mac, .a_floor = s->a_floor, .a_typical = s->now.a_rms_plain, .cutoff = s->split.r2,
                                .horizon = soft_step, .tick_length = tick_length};
  int32_t tick = 0;
  s->be->levels(s->dev, &rule, -1);
  s->be->kick(s->dev, &s->field, 0.5 * soft_step);
  sim_make_room(s, soft_step);
  s->be->sources(s->dev);
  s->be->moments(s->dev, &s->mac, 0, 0);
  let_exchange(s->lets, LET_STEP, &s->lattice, request, MOMENT_UPDATE, &s->counts.step_let);
  for (r->substeps = 0; r->substeps < SUBSTEPS; r->substeps++) {
    int32_t next = (int32_t)comm_min_int64(s->comm, s->be->next_tick(s->dev)), next_moment_update = (tick / MOMENT_UPDATE + 1) * MOMENT_UPDATE;
    if (next == TICKS) break;
    tick = next < next_moment_update ? next : next_moment_update;
    int64_t outside = 0, active = s->be->select(s->dev, tick, tick_length, &outside);
    const struct particles *p = s->be->view(s->dev);
    struct all_ranks all = gather(s->comm, p, tick, tick_length);
    for (int64_t i = 0; i < all.n; i++)
      for (int k = 0; k < 3; k++) {
        int out = 0;
        lattice_of(&s->lattice, k, all.pos[i][k], &out);
        r->outside += out;
      }
    if (tick % MOMENT_UPDATE == 0) s->be->moments(s->dev, &s->mac, tick, tick_length);
    if (rebuild_trees && tick == 4 * MOMENT_UPDATE) {   /* as after a prediction-bound violation: pending updates are received first */
      let_take_updates(s->lets, tick, &s->counts.updates);
      request.tick = tick;
      request.horizon = (TICKS - tick) * tick_length;
      let_exchange(s->lets, LET_STEP, &s->lattice, request, tick, &s->counts.step_let);
    }
    struct walk_request walk = {.kind = WALK_HARD,
                                .mac = s->mac,
                                .a_floor = s->a_floor,
                                .split = s->split,
                                .let = LET_STEP,
                                .tick = tick,
                                .tick_length = tick_length};
    if (active > 0) let_walk(s->lets, walk, &s->counts.hard, &s->counts.updates);
    p = s->be->view(s->dev);
    for (int64_t i = 0; i < p->n; i++) {
      double a[3], h[3];
      if (!is_active(p, i, tick)) continue;
      sum_at(&all, s, &p->pos[3 * i], a, h);
      add(&errors, distance(&p->acc_hard[3 * i], h, a, s->now.a_rms_plain));
    }
    if (active > 0) s->be->correct(s->dev, tick, tick_length, &rule, -1);
    s->be->let->violations(s->dev, &r->late);
    let_send_updates(s->lets, tick, tick % MOMENT_UPDATE == 0, (tick / MOMENT_UPDATE + 1) * MOMENT_UPDATE, &s->counts.updates);
    release(&all);
  }
  let_take_updates(s->lets, tick + 1, &s->counts.updates);
  r->steps_seen = errors.n;
  comm_sum_int64(s->comm, &r->steps_seen, 1);
  r->step = collect(s->comm, &errors);
  comm_sum_int64(s->comm, &r->late, 1);
}

/* What all cases have in common. */
static struct params params_of(const struct set *set, double delta)
{
  struct params par;
  params_defaults(&par);
  par.GravityConstantInternal = set->gravity;
  par.Softening = set->softening;
  par.Transport = asked;
  par.R1 = set->r1;
  par.R2 = set->r2, par.xs = 0.2, par.ys = 0.135, par.Eta = 1;
  par.ErrTolForceAcc = delta, par.MultipoleOrder = 1;
  par.MaxLeafSize = 8;
  par.MaxGroupSize = 32;
  par.TimeMax = 1e3 * set->r2;
  return par;
}

static struct result one_case(const struct comm *c, const struct set *set, int64_t n, int order, int on_one, double delta)
{
  struct result r = {0};
  struct params par = params_of(set, delta);
  struct particles mine;
  struct sim s;
  par.MultipoleOrder = order;
  par.Kernel = order == 2 ? SPLIT_DLL : SPLIT_QUINTIC;
  share(c, set, n, SPEED, on_one, &mine);
  uint64_t digest = global_digest(c, &mine);
  struct fault f = {""};
  sim_open(&s, c, &par, tested, &mine, &f);
  taken = s.transport.kind;
  settings_first_force(&s);
  const struct particles *p = s.be->view(s.dev);
  r.kept = global_digest(c, p) == digest && s.now.count == (double)n;
  r.finite = s.now.bad == 0;
  compare_start(&s, &r);
  compare_substeps(&s, fmin(plan_adaptive(&par, &s.now, s.split.r2), par.TimeMax), order == 1, &r);
  p = s.be->view(s.dev);
  r.bits = 0xcbf29ce484222325ULL;
  r.bits = hash(r.bits, p->id, sizeof *p->id * (size_t)p->n);
  r.bits = hash(r.bits, p->pos, 3 * sizeof *p->pos * (size_t)p->n);
  r.bits = hash(r.bits, p->vel, 3 * sizeof *p->vel * (size_t)p->n);
  r.bits = hash(r.bits, p->acc, 3 * sizeof *p->acc * (size_t)p->n);
  r.bits = hash(r.bits, p->acc_hard, 3 * sizeof *p->acc_hard * (size_t)p->n);
  sim_close(&s);
  return r;
}

static void say(const struct comm *c, int good, const char *set, const char *what, const struct errors *e)
{
  char line[300], numbers[80] = "";
  if (e) snprintf(numbers, sizeof numbers, " (median %.1e, 99 %% %.1e, worst %.1e)", e->median, e->most99, e->worst);
  snprintf(line, sizeof line, "%s, %d ranks, %s: %s%s", tested->name, c->size, set, what, numbers);
  if (c->rank == 0) tap_ok(good, line);
}

/* On a line the pulls of both sides cancel, and all errors point along it: the criterion promises less there. */
static int within(const struct set *s, const struct errors *e)
{
  double more = s->place == place_line ? 2 : 1;
  return e->finite && e->median <= more * 5e-3 && e->most99 <= more * 1.7e-2;
}

static void check(const struct comm *c, const struct set *s, int64_t n, int order, int on_one)
{
  struct result r = one_case(c, s, n, order, on_one, 1.0 / 512);
  char name[150];
  snprintf(name, sizeof name, "%s%s%s", s->name, order == 2 ? ", second moments, DLL" : "", on_one ? ", all on one rank at first" : "");
  say(c, r.kept, name, "no particle is lost or changed", NULL);
  say(c, r.owner_rank, name, "all particles are on their owner ranks", NULL);
  say(c, r.finite && within(s, &r.acc), name, "acceleration", &r.acc);
  say(c, within(s, &r.hard), name, "hard part", &r.hard);
  say(c, r.outside == 0, name, "no particle leaves the lattice during a soft step", NULL);
  if (s->place != place_coincident) say(c, r.late == 0, name, "no particle exceeds the motion bound of the LETs", NULL);
  say(c, within(s, &r.step) && (r.steps_seen > 0 || s->place == place_point || n == 1), name, "hard forces in substeps", &r.step);
}

/* With so fine a criterion that hardly a cell is accepted, what is left is whether every particle within R2 arrives, at
 * its own place and time: the worst error counts. Where the core's particles are 1e4 lattice points apart, the lattice limits it. */
static void check_fine(const struct comm *c, const struct set *s, int64_t n, int order)
{
  double max_value = s->place == place_contrast ? 1e-3 : 1e-4;
  struct result r = one_case(c, s, n, order, 0, 1e-9);
  char what[100];
  snprintf(what, sizeof what, "fine criterion, hard forces in substeps: worst %.1e", r.step.worst);
  say(c, r.step.finite && r.step.worst < max_value && r.steps_seen > 0, s->name, what, &r.step);
  snprintf(what, sizeof what, "fine criterion, acceleration and hard part at the start: worst %.1e, %.1e", r.acc.worst, r.hard.worst);
  say(c, r.acc.finite && r.hard.finite && r.acc.worst < max_value && r.hard.worst < max_value, s->name, what, &r.hard);
}

/* Trees that are kept for a soft step, and trees that are rebuilt within it. */
static int keeps(struct device *d)
{
  (void)d;
  return 1;
}
static int renews(struct device *d)
{
  (void)d;
  return 0;
}

/* A soft step so many times as long as the rule's, of particles so fast; without `keeps_tree` one of block steps without the split, with
 * new trees, and what came of it. */
struct stretch {
  double times, speed;
  int (*keeps_tree)(struct device *);
  struct particles end;
  struct step_counts counts;
  double delta;
  int64_t fast;       /* builds of trees of fast particles alone */
  double kick;        /* what the rms acceleration does to a velocity in it */
};

/* Of all ranks of a communicator. */
static void long_step(const struct comm *c, const struct set *set, int64_t n, struct stretch *h)
{
  struct params par = params_of(set, h->delta > 0 ? h->delta : 1e-9);
  struct backend be = *tested;
  struct particles mine;
  struct sim s;
  share(c, set, n, h->speed, 0, &mine);
  for (int64_t i = 0; h->speed > SPEED && i < mine.n; i++) {   /* two halves collide: velocity spreads within cells do not cover their motion */
    for (int k = 0; k < 3; k++) mine.vel[3 * i + k] = 0;
    mine.vel[3 * i] = (float)(mine.pos[3 * i] < 0 ? h->speed : -h->speed) * (float)sqrt(set->gravity);
  }
  struct fault f = {""};
  if (h->keeps_tree) be.keeps_tree = h->keeps_tree;
  else par.Mode = MODE_TREE, par.RebuildInterval = 1;
  sim_open(&s, c, &par, &be, &mine, &f);
  settings_first_force(&s);
  *(s.split.on ? &par.SoftStep : &par.MaxSizeTimestep) = h->times * plan_adaptive(&par, &s.now, set->r2);
  struct plan plan = plan_next(&par, &s.now, &s.system, 0, par.TimeMax, 1);
  step_open(&s, &plan);
  while (step_substeps(&s, &plan, HUGE_VAL) != STEP_SUBSTEPS_ENDED) continue;
  h->counts = s.counts;
  step_close(&s, &plan, 0);
  h->fast = s.log.rebuilds[REBUILT_FAST];
  h->kick = s.now.a_rms_plain * plan.soft_step;
  particles_init(&h->end);
  particles_reserve(&h->end, s.be->view(s.dev)->n);
  for (int64_t i = 0; i < s.be->view(s.dev)->n; i++) particles_copy(&h->end, h->end.n++, s.be->view(s.dev), i);
  sim_close(&s);
}

/* The radius of the rule changes at the end of a soft step, and forces are computed again: the sums are those of the new forces. */
static void check_new_radius(const struct comm *c, const struct set *set, int64_t n)
{
  struct params par = params_of(set, 1e-3);
  struct particles mine;
  struct sim s;
  struct fault f = {""};
  struct diagnostics again;
  share(c, set, n, SPEED, 0, &mine);
  par.R1 = par.R2 = par.SoftStep = 0, par.Mode = MODE_HYBRID, par.Scheme = SCHEME_BLOCK;
  sim_open(&s, c, &par, tested, &mine, &f);
  settings_first_force(&s);
  struct plan plan = plan_next(&par, &s.now, &s.system, 0, par.TimeMax, RADIUS_INTERVAL);
  float r2 = s.split.r2;
  s.radius_rule *= 2;
  s.split = split_make(par.Kernel, r2, 2 * r2);
  step_open(&s, &plan);
  while (step_substeps(&s, &plan, HUGE_VAL) != STEP_SUBSTEPS_ENDED) continue;
  step_close(&s, &plan, 1);
  diagnostics_measure(&again, c, tested, s.dev, &s.field);
  say(c, plan.measure_radius && s.split.r2 < 1.5F * r2 && memcmp(&again, &s.now, sizeof again) == 0, set->name,
      "a new radius at the end of a step: energies are of the forces that there are", NULL);
  sim_close(&s);
}

/* The step of all ranks, and of one alone: where this rank's particles end in both, in R2; *speeds: the worst velocity, in kicks. */
static struct errors compare_ends(const struct comm *c, const struct set *s, int64_t n, struct stretch *mine, double *speeds)
{
  struct comm self;
  struct stretch alone = *mine;
  const struct particles *p = &mine->end, *q = &alone.end;
  struct record errors = {0};
  comm_open(&self, MPI_COMM_SELF);
  long_step(c, s, n, mine);
  long_step(&self, s, n, &alone);
  int64_t *at = memory_alloc("test", sizeof *at * (size_t)(q->n + 1));
  *speeds = 0;
  for (int64_t i = 0; i < q->n; i++) at[q->id[i] - 1] = i;
  for (int64_t i = 0; i < p->n; i++) {
    int64_t j = at[p->id[i] - 1];
    double d2 = 0;
    for (int k = 0; k < 3; k++) {
      double d = p->pos[3 * i + k] - q->pos[3 * j + k];
      d2 += d * d;
      *speeds = fmax(*speeds, fabs((double)p->vel[3 * i + k] - q->vel[3 * j + k]));
    }
    add(&errors, sqrt(d2) / s->r2);
  }
  struct errors e = collect(c, &errors);
  comm_max_double(c, speeds, 1);
  *speeds /= alone.kick;
  memory_free(at);
  particles_free(&mine->end);
  particles_free(&alone.end);
  comm_close(&self);
  return e;
}

/* The step ends as on one rank. With `violations` it is so long that particles exceed the motion bounds and LETs are selected again,
 * unless every new tree selects them anyway. */
static void check_step(const struct comm *c, const struct set *s, int64_t n, double times, double speed, int (*keeps_tree)(struct device *),
                       int violations)
{
  struct stretch mine = {.times = times, .speed = speed, .keeps_tree = keeps_tree};
  double speeds;
  struct errors e = compare_ends(c, s, n, &mine, &speeds);
  struct step_counts counts = mine.counts;
  comm_sum_int64(c, &counts.violations, 1);
  char what[200];
  snprintf(what, sizeof what,
           "a step at %.0f times the speed, R2 = %g, %s trees, with %lld violations, LETs selected again %lld times: as on one rank, velocities to %.1e",
           speed / SPEED, s->r2, keeps_tree == keeps ? "old" : "new", (long long)counts.violations, (long long)counts.let_reselections, speeds);
  int good = e.finite && e.median < 1e-6 && e.most99 < 1e-3 && counts.substeps > 0;
  if (violations)
    good &= c->size == 1 || (counts.violations > 0 && (counts.let_reselections > 0) == (keeps_tree == keeps));
  else
    good &= speeds < 5e-4;
  say(c, good, s->name, what, &e);
  say(c, (int)comm_min_int64(c, counts.step_let.received.particles <= n - counts.local), s->name, "no particle counts as received twice where LETs are selected again", NULL);
}

/* Block steps without the split end as on one rank, and particles migrate in between. Fast particles are those of level `fast` and deeper:
 * the deeper this level, the more often all trees are rebuilt and the LETs of slow trees selected again. With `delta` sources are also
 * cells, and results on several ranks differ by the error of the criterion. `ticks`: intervals between checkpoint ticks. */
static void check_block_step(const struct comm *c, const struct set *s, int64_t n, const char *fast, int ticks, double delta)
{
  struct stretch mine = {.times = 8, .speed = 30 * SPEED, .delta = delta};
  double speeds;
  debug_set("fast_level", atoi(fast)), debug_set("checkpoint_ticks", ticks);
  struct errors e = compare_ends(c, s, n, &mine, &speeds);
  debug_set("fast_level", NAN), debug_set("checkpoint_ticks", NAN);
  int64_t trees = comm_max_int64(c, mine.fast), levels = comm_max_int64(c, mine.counts.level_max), movers = mine.counts.migrated;
  comm_sum_int64(c, &movers, 1);
  char what[220];
  snprintf(what, sizeof what, "block steps, %d checkpoint ticks, Delta = %g, fast from level %s of %lld on, %lld fast trees, %lld particles migrated: as on one rank, velocities to %.1e",
           ticks, delta, fast, (long long)levels, (long long)trees, (long long)movers, speeds);
  int good = e.finite && (delta > 0 ? e.median < 1e-4 && e.most99 < 1e-3 && speeds < 1e-2 : e.median < 1e-7 && e.most99 < 1e-6 && speeds < 2e-5);
  say(c, good && levels > 2 && (trees > 0) == (tested->builds_fast_tree && c->size > 1) && (c->size == 1 || movers > 0), s->name, what, &e);
}

static uint64_t bits_by(const struct comm *c, enum transport_choice transport, const struct set *s, int64_t n)
{
  asked = transport;
  uint64_t bits = one_case(c, s, n, 1, 0, 1.0 / 512).bits;
  asked = usual;
  return bits;
}

static int alike(const struct comm *c, uint64_t a, uint64_t b) { return (int)comm_min_int64(c, a == b); }

/* Messages cut into small pieces, the same case twice, and messages that do not go through the host: the same bits on every rank.
 * Where that is the device's memory anyway, MPI takes it. */
static void check_bits(const struct comm *c, const struct set *s, int64_t n)
{
  struct comm small;
  char what[100];
  setenv("ESPALIER_LARGEST_MESSAGE", "1000", 1);
  comm_open(&small, c->mpi);
  unsetenv("ESPALIER_LARGEST_MESSAGE");
  int believe = !tested->probe->identify && !getenv("ESPALIER_CUDA_MPI");
  if (believe) setenv("ESPALIER_CUDA_MPI", "1", 1);
  enum transport_choice direct = tested->probe->identify ? TRANSPORT_AUTO : TRANSPORT_CUDA_MPI;
  uint64_t a = bits_by(c, TRANSPORT_STAGED, s, n), b = bits_by(c, TRANSPORT_STAGED, s, n), cut = bits_by(&small, TRANSPORT_STAGED, s, n);
  uint64_t other = bits_by(c, direct, s, n), other_cut = bits_by(&small, direct, s, n);
  if (believe) unsetenv("ESPALIER_CUDA_MPI");
  say(c, alike(c, a, b), s->name, "the same case twice gives the same bits", NULL);
  say(c, alike(c, a, cut) && small.largest_message == 1000, s->name, "messages cut to 1000 bytes give the same bits", NULL);
  snprintf(what, sizeof what, "transport %d gives the same bits as through the host, cut too", (int)taken);
  say(c, alike(c, a, other) && alike(c, a, other_cut) && (tested->probe->identify || c->size == 1 || taken == direct), s->name, what, NULL);
  comm_close(&small);
}

/* Forces at the start when that part of the particles walks the local tree first, before LETs are there: errors, and bits by a transport. */
static struct result start_by(const struct comm *c, const struct set *set, int64_t n, const char *first, enum transport_choice transport)
{
  struct result r = {0};
  struct params par = params_of(set, 1.0 / 512);
  struct particles mine;
  struct sim s;
  struct fault f = {""};
  par.Transport = transport;
  share(c, set, n, SPEED, 0, &mine);
  debug_set("first_part", atof(first));
  sim_open(&s, c, &par, tested, &mine, &f);
  settings_first_force(&s);
  debug_set("first_part", NAN);
  compare_start(&s, &r);
  const struct particles *p = s.be->view(s.dev);
  r.finite = s.counts.full.targets == 2 * p->n && s.now.bad == 0;   /* by angle, then by acceleration */
  r.bits = hash(0xcbf29ce484222325ULL, p->acc, 3 * sizeof *p->acc * (size_t)p->n);
  r.bits = hash(r.bits, p->acc_hard, 3 * sizeof *p->acc_hard * (size_t)p->n);
  r.bits = hash(r.bits, p->pot, sizeof *p->pot * (size_t)p->n);
  sim_close(&s);
  return r;
}

/* One walk of the local tree and LETs together: several supergroups on each rank, of which none, some or all begin before LETs arrive. */
static void check_joined(const struct comm *c, const struct set *s, int64_t n)
{
  static const char *const part[] = {"0", "0.5", "1"};
  char what[100];
  for (int k = 0; k < 3; k++) {
    struct result a = start_by(c, s, n, part[k], TRANSPORT_STAGED), b = start_by(c, s, n, part[k], k == 1 ? usual : TRANSPORT_STAGED);
    snprintf(what, sizeof what, "one walk, first part %s: acceleration", part[k]);
    say(c, (int)comm_min_int64(c, a.finite) && within(s, &a.acc) && within(s, &a.hard), s->name, what, &a.acc);
    snprintf(what, sizeof what, "one walk, first part %s: the same bits %s", part[k], k == 1 ? "by the usual transport" : "again");
    say(c, alike(c, a.bits, b.bits), s->name, what, NULL);
  }
}

/* --- far systems ------------------------------------------------------------------------------------------------- */

static double apart;   /* of the centres of balls of radius 1 in a row */
static int balls;

static void place_far(struct random *r, int64_t i, int64_t n, double x[3], float *mass)
{
  random_direction(r, cbrt(random_unit(r)), x);
  x[0] += (i % balls - 0.5 * (balls - 1)) * apart;
  *mass = 1.0f / (float)n;
}

/* Total forces of all particles at the start, without the split. */
static struct errors far_total(const struct comm *c, const struct set *s, int64_t n, int order)
{
  struct params par = params_of(s, 1.0 / 512);
  struct result r = {0};
  struct particles mine;
  struct sim sim;
  struct fault f = {""};
  par.Mode = MODE_TREE, par.MultipoleOrder = order;
  share(c, s, n, SPEED, 0, &mine);
  sim_open(&sim, c, &par, tested, &mine, &f);
  settings_first_force(&sim);
  compare_start(&sim, &r);
  sim_close(&sim);
  return r.acc;
}

/* Balls far apart. With two and an odd number of ranks a domain has parts of both, and its root is a cell that particles of the next domains
 * touch, and that the criterion accepts, for it is light against the forces within a ball. With three the faces of the root's children cut
 * the middle one, on one rank too. */
static void check_far(const struct comm *c)
{
  static const struct {
    int balls, order;
    double apart;
  } cases[] = {{2, 1, 1000}, {2, 2, 1000}, {2, 1, 300}, {2, 2, 300}, {3, 2, 1000}};
  struct set s = {"", 1500, 1, 0.01, 0.14, 0.28, place_far};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    int order = cases[k].order;
    char name[100];
    apart = cases[k].apart, balls = cases[k].balls;
    snprintf(name, sizeof name, "%d balls %.0f radii apart, order %d", balls, apart, order);
    struct errors e = far_total(c, &s, s.n, order);
    say(c, within(&s, &e) && e.worst < FAR_WORST, name, "acceleration without the split", &e);
    struct result r = one_case(c, &s, s.n, order, 0, 1.0 / 512);
    say(c, r.finite && within(&s, &r.acc) && r.acc.worst < FAR_WORST, name, "acceleration", &r.acc);
    say(c, within(&s, &r.hard) && r.hard.worst < FAR_WORST, name, "hard part", &r.hard);
    say(c, within(&s, &r.step) && r.step.worst < FAR_WORST && r.steps_seen > 0, name, "hard forces in substeps", &r.step);
  }
}

static void check_all(const struct comm *c, int brief)
{
  if (c->size <= 7) check_far(c);
  for (int k = 0; k < SETS; k++) {
    int64_t n = sets[k].n > 1500 ? brief ? 800 : 1500 : sets[k].n;
    if (brief && n > 3 && sets[k].place != place_plummer && sets[k].place != place_contrast && sets[k].place != place_coincident) continue;
    check(c, &sets[k], n, 1, k % 2);
  }
  check(c, &sets[0], 800, 1, 1);
  check(c, &sets[1], 800, 2, 0);
  check_fine(c, &sets[0], 800, 1);
  check_fine(c, &sets[1], 800, 2);
  check_fine(c, &sets[2], 800, 1);
  check_fine(c, &sets[8], 800, 1);
  check_bits(c, &sets[0], 800);
  if (c->size <= 7) check_joined(c, &sets[0], 650 * c->size);
  check_new_radius(c, &sets[0], 800);
  for (int k = 0; k < SETS; k++) {
    if (sets[k].place != place_coincident) continue;
    check_step(c, &sets[k], 800, 1, SPEED, keeps, 1);
    check_step(c, &sets[k], 800, 1, SPEED, renews, 1);
  }
  /* particles cross several R2, of spheres that few of all come near */
  for (int k = 0; k < 2; k++) {
    struct set few = sets[k];
    few.r1 = 0.03, few.r2 = 0.06;
    check_step(c, &few, 800, 30, 30 * SPEED, keeps, 0);
    check_step(c, &few, 800, 30, 30 * SPEED, renews, 0);
    for (int ticks = 0; ticks <= 8 && c->size <= 7; ticks += 8)
      check_block_step(c, &sets[k], k ? 1500 : 400, k ? "2" : "3", ticks, k ? 1.0 / 512 : 0);
  }
}

int main(int argc, char **argv)
{
  struct comm world;
  MPI_Init(&argc, &argv);
  comm_open(&world, MPI_COMM_WORLD);
  int brief = argc > 1 && strcmp(argv[1], "short") == 0, far = argc > 1 && strcmp(argv[1], "far") == 0;
  const int choices[] = {BACKEND_CPU, BACKEND_CUDA};
  for (int k = 0; k < 2; k++) {
    if (argc > 2 && strcmp(argv[2], k == 0 ? "cpu" : "cuda") != 0) continue;
    tested = backend_everywhere(&world, choices[k]);
    if (!tested) continue;
    /* messages that bypass the host everywhere, where the host's memory is all there is */
    usual = asked = getenv("ESPALIER_CUDA_MPI") && !tested->probe->identify ? TRANSPORT_CUDA_MPI : TRANSPORT_AUTO;
    if (far) check_far(&world);
    else check_all(&world, brief);
  }
  return everywhere_end(&world);
}
