/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole soft steps on several ranks end as on one rank. "short": the same; then the name of a backend alone. */
#include <config.h>
#include "base/debug.h"
#include "ranks_case.h"
#include "settings/settings.h"
#include "step/plan.h"
#include "step/step.h"

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

/* A soft step so many times as long as the rule's, of particles so fast; without `keeps_tree` one of block steps
 * without the split, with new trees, and what came of it. */
struct stretch {
  double times, speed;
  int (*keeps_tree)(struct device *);
  struct particles end;
  struct step_counts counts;
  double delta;
  int64_t fast; /* builds of trees of fast particles alone */
  double kick;  /* what the rms acceleration does to a velocity in it */
};

/* Of all ranks of a communicator. */
static void long_step(const struct comm *comm, const struct set *set, int64_t n, struct stretch *stretch)
{
  struct params par = params_of(set, stretch->delta > 0 ? stretch->delta : 1e-9);
  struct backend be = *tested;
  struct particles mine;
  struct sim sim;
  share(comm, set, n, stretch->speed, 0, &mine);
  /* two halves collide: velocity spreads within cells do not cover their motion */
  for (int64_t i = 0; stretch->speed > SPEED && i < mine.n; i++) {
    for (int k = 0; k < 3; k++) mine.vel[3 * i + k] = 0;
    mine.vel[3 * i] = (float)(mine.pos[3 * i] < 0 ? stretch->speed : -stretch->speed) * (float)sqrt(set->gravity);
  }
  struct fault f = {""};
  if (stretch->keeps_tree) be.forces.keeps_tree = stretch->keeps_tree;
  else {
    par.Mode = MODE_TREE;
    par.RebuildInterval = 1;
  }
  sim_open(&sim, comm, &par, &be, &mine, &f);
  settings_first_force(&sim);
  *(sim.force.split.on ? &par.SoftStep : &par.MaxSizeTimestep) =
      stretch->times * plan_adaptive(&par, &sim.now, set->r2);
  struct plan plan = plan_next(&par, &sim.now, &sim.system, 0, par.TimeMax, 1);
  step_open(&sim, &plan);
  while (step_substeps(&sim, &plan, HUGE_VAL) != STEP_SUBSTEPS_ENDED) continue;
  stretch->counts = sim.counts;
  step_close(&sim, &plan, 0);
  stretch->fast = sim.cost.log.rebuilds[REBUILT_FAST];
  stretch->kick = sim.now.a_rms_plain * plan.soft_step;
  particles_init(&stretch->end);
  particles_reserve(&stretch->end, sim.be->view(sim.dev)->n);
  for (int64_t i = 0; i < sim.be->view(sim.dev)->n; i++)
    particles_copy(&stretch->end, stretch->end.n++, sim.be->view(sim.dev), i);
  sim_close(&sim);
}

/* The radius of the rule changes at the end of a soft step, and forces are computed again: the sums are those of the
 * new forces. */
static void check_new_radius(const struct comm *comm, const struct set *set, int64_t n)
{
  struct params par = params_of(set, 1e-3);
  struct particles mine;
  struct sim sim;
  struct fault f = {""};
  struct diagnostics again;
  share(comm, set, n, SPEED, 0, &mine);
  par.R1 = par.R2 = par.SoftStep = 0;
  par.Mode = MODE_HYBRID;
  par.Scheme = SCHEME_BLOCK;
  sim_open(&sim, comm, &par, tested, &mine, &f);
  settings_first_force(&sim);
  struct plan plan = plan_next(&par, &sim.now, &sim.system, 0, par.TimeMax, RADIUS_INTERVAL);
  float r2 = sim.force.split.r2;
  sim.force.radius_rule *= 2;
  sim.force.split = split_make(par.Kernel, r2, 2 * r2);
  step_open(&sim, &plan);
  while (step_substeps(&sim, &plan, HUGE_VAL) != STEP_SUBSTEPS_ENDED) continue;
  step_close(&sim, &plan, 1);
  diagnostics_measure(&again, comm, tested, sim.dev, &sim.effects.field);
  say(comm, plan.measure_radius && sim.force.split.r2 < 1.5F * r2 && memcmp(&again, &sim.now, sizeof again) == 0,
      set->name, "a new radius at the end of a step: energies are of the forces that there are", NULL);
  sim_close(&sim);
}

/* The step of one rank alone, which the first one makes, and all have its end. Collective. */
static void step_alone(const struct comm *comm, const struct set *set, int64_t n, struct stretch *alone)
{
  struct particles *end = &alone->end;
  if (comm->rank == 0) {
    struct comm self;
    comm_open(&self, MPI_COMM_SELF);
    long_step(&self, set, n, alone);
    comm_close(&self);
  }
  int64_t count = end->n;
  comm_broadcast(comm, &count, sizeof count);
  comm_broadcast(comm, &alone->kick, sizeof alone->kick);
  if (comm->rank != 0) {
    particles_init(end);
    particles_reserve(end, count);
    end->n = count;
  }
  comm_broadcast(comm, end->id, sizeof *end->id * (size_t)count);
  comm_broadcast(comm, end->pos, 3 * sizeof *end->pos * (size_t)count);
  comm_broadcast(comm, end->vel, 3 * sizeof *end->vel * (size_t)count);
}

/* The step of all ranks, and of one alone: where this rank's particles end in both, in R2; *speeds: the worst velocity,
 * in kicks. */
static struct errors compare_ends(const struct comm *comm, const struct set *set, int64_t n, struct stretch *mine,
                                  double *speeds)
{
  struct stretch alone = *mine;
  const struct particles *p = &mine->end, *q = &alone.end;
  struct record errors = {0};
  long_step(comm, set, n, mine);
  step_alone(comm, set, n, &alone);
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
    add(&errors, sqrt(d2) / set->r2);
  }
  struct errors e = collect(comm, &errors);
  comm_max_double(comm, speeds, 1);
  *speeds /= alone.kick;
  memory_free(at);
  particles_free(&mine->end);
  particles_free(&alone.end);
  return e;
}

/* The step ends as on one rank. With `violations` it is so long that particles exceed the motion bounds and LETs are
 * selected again, unless every new tree selects them anyway. */
static void check_step(const struct comm *comm, const struct set *set, int64_t n, double times, double speed,
                       int (*keeps_tree)(struct device *), int violations)
{
  struct stretch mine = {.times = times, .speed = speed, .keeps_tree = keeps_tree};
  double speeds;
  struct errors e = compare_ends(comm, set, n, &mine, &speeds);
  struct step_counts counts = mine.counts;
  comm_sum_int64(comm, &counts.violations, 1);
  char what[200];
  snprintf(what, sizeof what,
           "a step at %.0f times the speed, R2 = %g, %s trees, with %lld violations, LETs selected again %lld times: "
           "as on one rank, velocities to %.1e",
           speed / SPEED, set->r2, keeps_tree == keeps ? "old" : "new", (long long)counts.violations,
           (long long)counts.let_reselections, speeds);
  int good = e.finite && e.median < 1e-6 && e.most99 < 1e-3 && counts.substeps > 0;
  if (violations)
    good &= comm->size == 1 || (counts.violations > 0 && (counts.let_reselections > 0) == (keeps_tree == keeps));
  else good &= speeds < 5e-4;
  say(comm, good, set->name, what, &e);
  say(comm, (int)comm_min_int64(comm, counts.step_let.received.particles <= n - counts.local), set->name,
      "no particle counts as received twice where LETs are selected again", NULL);
}

/* Block steps without the split end as on one rank, and particles migrate in between. Fast particles are those of level
 * `fast` and deeper: the deeper this level, the more often all trees are rebuilt and the LETs of slow trees selected
 * again. With `delta` sources are also cells, and results on several ranks differ by the error of the criterion.
 * `ticks`: intervals between checkpoint ticks. */
static void check_block_step(const struct comm *comm, const struct set *set, int64_t n, const char *fast, int ticks,
                             double delta)
{
  struct stretch mine = {.times = 8, .speed = 30 * SPEED, .delta = delta};
  double speeds;
  debug_set("fast_level", atoi(fast));
  debug_set("checkpoint_ticks", ticks);
  struct errors e = compare_ends(comm, set, n, &mine, &speeds);
  debug_set("fast_level", NAN);
  debug_set("checkpoint_ticks", NAN);
  int64_t trees = comm_max_int64(comm, mine.fast), levels = comm_max_int64(comm, mine.counts.level_max),
          movers = mine.counts.migrated;
  comm_sum_int64(comm, &movers, 1);
  char what[220];
  snprintf(what, sizeof what,
           "block steps, %d checkpoint ticks, Delta = %g, fast from level %s of %lld on, %lld fast trees, %lld "
           "particles migrated: as on one rank, velocities to %.1e",
           ticks, delta, fast, (long long)levels, (long long)trees, (long long)movers, speeds);
  int good = e.finite && (delta > 0 ? e.median < 1e-4 && e.most99 < 1e-3 && speeds < 1e-2
                                    : e.median < 1e-7 && e.most99 < 1e-6 && speeds < 2e-5);
  say(comm, good && levels > 2 && (trees > 0) == tested->builds_fast_tree && (comm->size == 1 || movers > 0), set->name,
      what, &e);
}

static void check_all(const struct comm *comm, const char *which)
{
  (void)which;
  check_new_radius(comm, &sets[0], 800);
  for (int k = 0; k < SETS; k++) {
    if (sets[k].place != place_coincident) continue;
    check_step(comm, &sets[k], 800, 1, SPEED, keeps, 1);
    check_step(comm, &sets[k], 800, 1, SPEED, renews, 1);
  }
  /* particles cross several R2, of spheres that few of all come near */
  for (int k = 0; k < 2; k++) {
    struct set few = sets[k];
    few.r1 = 0.03;
    few.r2 = 0.06;
    check_step(comm, &few, 800, 30, 30 * SPEED, keeps, 0);
    check_step(comm, &few, 800, 30, 30 * SPEED, renews, 0);
    for (int ticks = 0; ticks <= 8 && comm->size <= 7; ticks += 8)
      check_block_step(comm, &sets[k], k ? 1500 : 400, k ? "2" : "3", ticks, k ? 1.0 / 512 : 0);
  }
}

int main(int argc, char **argv) { return with_backends(argc, argv, check_all); }
