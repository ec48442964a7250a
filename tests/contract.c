/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The contract of a backend. The reference backend (reference.h) has the core verbs alone, and whole soft steps run on
 * it; every other backend ends the same steps where it does, within the error of the acceptance criterion. */
#include <config.h>
#include <mpi.h>

#include "base/debug.h"
#include "base/memory.h"
#include "effects/expansion.h"
#include "reference.h"
#include "set_params.h"
#include "sets.h"
#include "step/plan.h"
#include "step/sim.h"
#include "step/step.h"
#include "tap.h"
#include "scheme/schemes.h"
#include "settings/settings.h"

enum { STEPS = 2, PARTICLES = 400 };

struct arrangement {
  const char *name;
  int mode, scheme;
  double uniform; /* acceleration of an external field along x */
  /* of an expanding background, in units of the mean density within R2 of the centre with all mass; 0: no expansion */
  double density;
};

static const struct arrangement schemes[] = {{"hybrid", MODE_HYBRID, SCHEME_BLOCK, 0, 0},
                                             {"block steps", MODE_TREE, SCHEME_BLOCK, 0, 0},
                                             {"one shared step", MODE_TREE, SCHEME_SHARED, 0, 0},
                                             {"hybrid in an external field", MODE_HYBRID, SCHEME_BLOCK, 0.5, 0},
                                             {"hybrid in comoving coordinates", MODE_HYBRID, SCHEME_BLOCK, 0, 1e-3},
                                             {"block steps in comoving coordinates", MODE_TREE, SCHEME_BLOCK, 0, 1e-3}};

/* Where a run of some soft steps ends. */
struct end {
  struct particles p;
  struct diagnostics now;
  double begin; /* energy at the start */
  double step;  /* length of a soft step */
  int64_t substeps;
  int checkpoint_ticks;
  double time, kick; /* its length; what the rms acceleration does to a velocity in it */
};

static struct params params_of(const struct set *set, const struct arrangement *how)
{
  struct params par = set_params(set, how->mode, how->scheme);
  par.ErrTolForceAcc = 1.0 / 4096;
  par.MultipoleOrder = 1;
  par.Eta = 0.1;
  return par;
}

/* An effect of this test: a uniform field. */
static void add_uniform(const void *state, double time, struct field *field)
{
  (void)time;
  field->acc[0] += *(const double *)state;
}

static const struct effect uniform_field = {.name = "uniform field", .size = sizeof(double), .field = add_uniform};

static void *zeros(size_t size)
{
  void *state = memory_alloc("test", size);
  return memset(state, 0, size);
}

/* What acts beside the particles: a uniform field; comoving coordinates at a = 1 of a universe with the background of
 * the scheme: gravity grows, and the background repels. */
static void add_effects(struct sim *sim, const struct set *set, const struct arrangement *how)
{
  struct fault f = {""};
  if (how->uniform != 0) {
    double *uniform = zeros(sizeof *uniform);
    *uniform = how->uniform * set->gravity;
    effects_use(sim, &uniform_field, uniform);
  }
  if (!(how->density > 0)) return;
  struct expansion *e = zeros(sizeof *e);
  effects_use(sim, &effect_expansion, e);
  e->density = how->density * sim->masses.total / (4 * M_PI / 3 * pow(set->r2, 3));
  e->background.count = 1;
  e->background.term[0].kind = FIELD_LINEAR;
  cosmology_open(&e->c, 1, 0, sqrt(8 * M_PI / 3 * sim->force.gravity * e->density), 1, 16, &f);
  if (sim->time < 1) sim->time = 1;
}

/* Close the system at a checkpoint tick, and open it again with what a checkpoint holds. */
static void reopen(struct sim *sim, const struct comm *comm, const struct params *par, const struct set *set,
                   const struct arrangement *how)
{
  const struct sim before = *sim;
  const struct particles *v = sim->be->view(sim->dev);
  struct particles p;
  struct fault f = {""};
  struct expansion *e = effects_state(sim, &effect_expansion);
  struct expansion_integral potential = {0};
  if (e) potential = e->potential;
  particles_init(&p);
  particles_reserve(&p, v->n);
  for (int64_t i = 0; i < v->n; i++) particles_copy(&p, i, v, i);
  p.n = v->n;
  sim_close(sim);
  sim_open(sim, comm, par, before.be, &p, &f);
  sim->effects.field = before.effects.field;
  memcpy(sim->effects.v_com, before.effects.v_com, sizeof sim->effects.v_com);
  sim->force.split = before.force.split;
  sim->force.a_floor = before.force.a_floor;
  sim->force.radius_rule = before.force.radius_rule;
  sim->time = before.time;
  sim->step = before.step;
  sim->now = before.now;
  sim->counts = before.counts;
  sim->lattice = before.lattice;
  sim->substeps = before.substeps;
  scheme_resume(sim, 1);
  add_effects(sim, set, how);
  e = effects_state(sim, &effect_expansion);
  if (e) e->potential = potential;
  effects_at(sim, sim->time);
}

enum run_kind { STRAIGHT, INTERRUPTED };

/* `step`: length of the soft step; 0: chosen here. INTERRUPTED: the system is opened again at each checkpoint tick. */
static void run(const struct comm *comm, const struct backend *be, const struct set *set, const struct arrangement *how,
                enum run_kind kind, double step, struct end *end)
{
  struct params par = params_of(set, how);
  struct set small = *set;
  struct particles p;
  struct sim sim;
  struct fault f = {""};
  small.n = PARTICLES;
  set_make(&small, 0.3 * sqrt(set->gravity), &p);
  sim_open(&sim, comm, &par, be, &p, &f);
  add_effects(&sim, set, how);
  settings_first_force(&sim);
  memset(end, 0, sizeof *end);
  end->begin = sim.now.total;
  if (step == 0) step = 0.7 * plan_adaptive(&par, &sim.now, set->r2);
  end->step = step;
  *(how->mode == MODE_HYBRID ? &par.SoftStep : &par.MaxSizeTimestep) = step;
  for (int k = 0; k < STEPS; k++) {
    struct plan plan = plan_next(&par, &sim.now, &sim.system, sim.time, par.TimeMax, 1);
    enum step_state state;
    step_open(&sim, &plan);
    while ((state = step_substeps(&sim, &plan, HUGE_VAL)) != STEP_SUBSTEPS_ENDED) {
      end->checkpoint_ticks += state == STEP_AT_CHECKPOINT_TICK;
      if (kind == STRAIGHT) continue;
      reopen(&sim, comm, &par, set, how);
      step_continue(&sim, &plan);
    }
    end->substeps += sim.counts.substeps;
    step_close(&sim, &plan, 1);
    end->kick += sim.now.a_rms_plain * plan.soft_step;
  }
  end->time = sim.time;
  end->now = sim.now;
  particles_init(&end->p);
  particles_reserve(&end->p, PARTICLES);
  const struct particles *v = sim.be->view(sim.dev);
  for (int64_t i = 0; i < v->n; i++) end->p.n = v->id[i] > (uint64_t)end->p.n ? (int64_t)v->id[i] : end->p.n;
  for (int64_t i = 0; i < v->n; i++) particles_copy(&end->p, (int64_t)v->id[i] - 1, v, i);
  sim_close(&sim);
}

/* Root mean square of the differences of velocities, in kicks. */
static double difference(const struct end *a, const struct end *b)
{
  double sum = 0;
  if (a->p.n != b->p.n) return HUGE_VAL;
  for (int64_t k = 0; k < 3 * a->p.n; k++) sum += (a->p.vel[k] - b->p.vel[k]) * (a->p.vel[k] - b->p.vel[k]);
  return sqrt(sum / (double)a->p.n) / b->kick;
}

static void say(int good, const char *backend, const struct set *set, const struct arrangement *how, const char *what)
{
  char line[200];
  snprintf(line, sizeof line, "%s, %s, %s: %s", backend, set->name, how->name, what);
  tap_ok(good, line);
}

/* At checkpoint ticks the particles, the lattice and some numbers are the whole state: a run goes on from them to the
 * same bits. */
static void check_interruption(const struct comm *comm, const struct backend *be, const struct set *set,
                               const struct arrangement *how, double step)
{
  struct end straight, interrupted;
  debug_set("checkpoint_ticks", 4);
  run(comm, be, set, how, STRAIGHT, step, &straight);
  run(comm, be, set, how, INTERRUPTED, step, &interrupted);
  debug_set("checkpoint_ticks", NAN);
  size_t bytes = sizeof *straight.p.pos * 3 * PARTICLES;
  say(straight.checkpoint_ticks >= 2 * STEPS && interrupted.checkpoint_ticks == straight.checkpoint_ticks &&
          interrupted.substeps == straight.substeps && memcmp(straight.p.pos, interrupted.p.pos, bytes) == 0 &&
          memcmp(straight.p.vel, interrupted.p.vel, bytes) == 0,
      be->name, set, how, "a step goes on from its checkpoint ticks to the same bits");
  particles_free(&straight.p);
  particles_free(&interrupted.p);
}

static void check(const struct comm *comm, const struct set *set, const struct arrangement *how)
{
  const struct backend *const *list;
  const char *only = getenv("TEST_BACKEND");
  int count = backend_list(&list);
  struct end want, got;
  run(comm, &backend_reference, set, how, STRAIGHT, 0, &want);
  double change = fabs(want.now.total - want.begin), kinetic = want.now.kinetic;
  printf("# %s, %s: %lld substeps, energy changes by %.1e of the kinetic one\n", set->name, how->name,
         (long long)want.substeps, change / kinetic);
  say(want.now.bad == 0 && want.now.count == PARTICLES && change < 2e-3 * kinetic, "reference", set, how,
      "steps conserve energy");
  say(how->scheme == SCHEME_SHARED || want.substeps > STEPS, "reference", set, how, "steps have substeps");
  if (how->density > 0) say(want.time > 1.001, "reference", set, how, "space expands");
  for (int k = 0; k < count; k++) {
    char why[256];
    if (only && strcmp(only, list[k]->name) != 0) continue;
    if (list[k]->probe->count(why, sizeof why) == 0) continue;
    run(comm, list[k], set, how, STRAIGHT, want.step, &got);
    double far = difference(&got, &want);
    printf("# %s: velocities differ by %.1e kicks\n", list[k]->name, far);
    say(got.time == want.time && far < 5e-4, list[k]->name, set, how, "steps end where the reference does");
    particles_free(&got.p);
    if (how->scheme == SCHEME_BLOCK) check_interruption(comm, list[k], set, how, want.step);
  }
  particles_free(&want.p);
}

int main(int argc, char **argv)
{
  struct comm self;
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  comm_open(&self, MPI_COMM_SELF);
  if (rank == 0) { /* the reference runs on one rank */
    for (int k = 0; k < 4; k++)
      for (size_t h = 0; h < sizeof schemes / sizeof *schemes; h++) check(&self, &sets[k], &schemes[h]);
    char why[256] = "";
    tap_ok(!backend_walks(&backend_reference, METHOD_GROUPS, 2, why, sizeof why) && strstr(why, "for one rank") &&
               backend_walks(&backend_reference, METHOD_GROUPS, 1, why, sizeof why),
           "a backend without LETs is refused on two ranks");
    tap_ok(memory_current() == 0, "all memory is given back");
  }
  comm_close(&self);
  MPI_Finalize();
  return rank == 0 ? tap_end() : 0;
}
