/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LET summaries in stages on real ranks: forces against direct sums, and soft steps against those with summaries in one
 * allgather. */
#include <config.h>
#include <mpi.h>

#include "base/debug.h"
#include "everywhere.h"
#include "sets.h"
#include "step/plan.h"
#include "step/sim.h"
#include "step/step.h"
#include "tap.h"
#include "settings/settings.h"

/* Spheres so far from each other, in pairs, that groups of them are accepted as cells. */
static void place_row(struct random *random, int64_t i, int64_t n, double x[3], float *mass)
{
  random_direction(random, 0.4 * cbrt(random_unit(random)), x);
  x[0] += 40 * (double)(i % 8 / 2) + 1.2 * (double)(i % 2);
  *mass = 1.0f / (float)n;
}

/* The same number of particles of both types, which have different softenings. */
static int types;

struct result {
  struct errors error;
  uint64_t start, end; /* bits of this rank: accelerations at the start, positions and velocities after a soft step */
  int64_t messages, bytes;
};

static uint64_t hash(uint64_t h, const void *data, size_t bytes)
{
  for (size_t i = 0; i < bytes; i++) h = (h ^ ((const unsigned char *)data)[i]) * 0x100000001b3ULL;
  return h;
}

static double softening_of(const struct set *set, uint8_t type)
{
  return types && type == 2 ? 3 * set->softening : set->softening;
}

/* The error of the acceleration of a particle against the sum over all. */
static double error_of(const struct set *set, const struct particles *all, const double at[3], uint8_t type,
                       const float got[3])
{
  double acc[3] = {0}, e2 = 0, a2 = 0;
  for (int64_t j = 0; j < all->n; j++) {
    double dx[3], r2 = pow(fmax(softening_of(set, type), softening_of(set, all->type[j])), 2);
    for (int c = 0; c < 3; c++) {
      dx[c] = all->pos[3 * j + c] - at[c];
      r2 += dx[c] * dx[c];
    }
    for (int c = 0; c < 3; c++) acc[c] += set->gravity * all->mass[j] * dx[c] / (r2 * sqrt(r2));
  }
  for (int c = 0; c < 3; c++) {
    e2 += pow(got[c] - acc[c], 2);
    a2 += acc[c] * acc[c];
  }
  return sqrt(e2 / (a2 > 0 ? a2 : 1));
}

static void parameters(const struct set *set, int order, int hybrid, struct params *par)
{
  params_defaults(par);
  par->GravityConstantInternal = set->gravity;
  par->Softening = set->softening;
  par->SofteningType1 = types ? set->softening : 0;
  par->SofteningType2 = types ? 3 * set->softening : 0;
  par->MultipoleOrder = order;
  par->ErrTolForceAcc = 1.0 / 512;
  par->MaxLeafSize = 8;
  par->MaxGroupSize = 32;
  par->TimeMax = 1e3;
  par->Mode = hybrid ? MODE_HYBRID : MODE_TREE;
  if (hybrid) {
    par->R1 = set->r1;
    par->R2 = set->r2;
  }
}

static struct result run(const struct comm *comm, const struct set *set, int order, int hybrid, int stages)
{
  struct result r = {.start = 1, .end = 1};
  struct params par;
  struct particles all, mine;
  struct sim sim;
  struct fault f = {""};
  char why[256];
  debug_set("let_stages", stages ? 2 : 1e6);
  parameters(set, order, hybrid, &par);
  set_make(set, 0.7 * sqrt(set->gravity), &all);
  particles_init(&mine);
  particles_reserve(&mine, set->n + 1);
  for (int64_t i = 0; i < set->n; i++) {
    all.type[i] = types && i % 3 == 0 ? 2 : 1;
    if ((int)(i % comm->size) == comm->rank) particles_copy(&mine, mine.n++, &all, i);
  }
  if (sim_open(&sim, comm, &par, backend_choose(BACKEND_CPU, why, sizeof why), &mine, &f)) tap_ok(0, f.text);
  settings_first_force(&sim);
  const struct particles *p = sim.be->view(sim.dev);
  int64_t n = p->n, most = comm_max_int64(comm, n);
  double *error = memory_alloc("test", sizeof *error * (size_t)most),
         *every = memory_alloc("test", sizeof *every * (size_t)(most * comm->size));
  for (int64_t i = 0; i < most; i++)
    error[i] = i < n ? error_of(set, &all, &p->pos[3 * i], p->type[i], &p->acc[3 * i]) : -1;
  comm_allgather(comm, error, sizeof *error * (size_t)most, every);
  int64_t count = 0;
  for (int64_t i = 0; i < most * comm->size; i++)
    if (every[i] >= 0) every[count++] = every[i];
  r.error = errors_of(every, count);
  r.start = hash(r.start, p->acc, 3 * sizeof *p->acc * (size_t)n);
  r.messages = sim.counts.soft_let.summary_messages;
  r.bytes = sim.counts.soft_let.summary_bytes;
  struct plan plan = plan_next(&par, &sim.now, &sim.system, 0, par.TimeMax, 0);
  step_open(&sim, &plan);
  while (step_substeps(&sim, &plan, HUGE_VAL) != STEP_SUBSTEPS_ENDED) continue;
  step_close(&sim, &plan, 0);
  p = sim.be->view(sim.dev);
  r.end = hash(r.end, p->id, sizeof *p->id * (size_t)p->n);
  r.end = hash(r.end, p->pos, 3 * sizeof *p->pos * (size_t)p->n);
  r.end = hash(r.end, p->vel, 3 * sizeof *p->vel * (size_t)p->n);
  sim_close(&sim);
  memory_free(every);
  memory_free(error);
  particles_free(&all);
  debug_set("let_stages", NAN);
  return r;
}

static void say(const struct comm *comm, int good, const struct set *set, int order, int hybrid, const char *what)
{
  char line[400];
  good = (int)comm_min_int64(comm, good);
  snprintf(line, sizeof line, "%d ranks, %s%s%s%s: %s", comm->size, set->name, order == 2 ? ", quadrupoles" : "",
           hybrid ? ", hybrid" : "", types ? ", two softenings" : "", what);
  if (comm->rank == 0) tap_ok(good, line);
}

/* Whether groups are accepted, and so forces differ a little, on four ranks or more. */
enum accepted { NONE, SOME, EITHER };

static void check(const struct comm *comm, const struct set *set, int order, int hybrid, enum accepted groups)
{
  struct result one = run(comm, set, order, hybrid, 0), staged = run(comm, set, order, hybrid, 1),
                again = run(comm, set, order, hybrid, 1);
  char what[300];
  snprintf(what, sizeof what, "forces are as exact (median %.2e, with one allgather %.2e; 99 %%: %.2e, %.2e)",
           staged.error.median, one.error.median, staged.error.most99, one.error.most99);
  say(comm,
      staged.error.finite && staged.error.median < 1.1 * one.error.median + 1e-7 &&
          staged.error.most99 < 1.1 * one.error.most99 + 1e-7,
      set, order, hybrid, what);
  say(comm, again.start == staged.start && again.end == staged.end, set, order, hybrid,
      "the same run twice gives the same bits");
  int same = (int)comm_min_int64(comm, one.start == staged.start),
      ends = (int)comm_min_int64(comm, one.end == staged.end);
  if (groups == NONE || comm->size == 1)
    say(comm, same && ends, set, order, hybrid,
        "no group is accepted: forces and a soft step have the bits of one allgather");
  else if (groups == SOME && comm->size >= 4 && order == 2) say(comm, !same, set, order, hybrid, "groups are accepted");
  /* two walks of the start: by angle, then by acceleration */
  snprintf(what, sizeof what, "%lld messages with %lld bytes in stages, none with one allgather",
           (long long)staged.messages, (long long)staged.bytes);
  say(comm,
      one.messages == 0 &&
          (comm->size == 1 ? staged.messages == 0 : staged.messages >= 4 && staged.messages <= 2 * 2 * 2 * 4),
      set, order, hybrid, what);
}

int main(int argc, char **argv)
{
  struct comm world;
  ranks_begin(&world, &argc, &argv);
  const struct set plummer = {"Plummer", 900, 1, 0.01, 0.05, 0.1, place_plummer},
                   row = {"spheres apart", 1200, 1, 0.01, 0.05, 0.1, place_row};
  const struct set few = {"three particles", 3, 1, 0.01, 0.05, 0.1, place_plummer};
  check(&world, &plummer, 2, 1, NONE);
  check(&world, &plummer, 1, 0, NONE);
  check(&world, &row, 2, 1, SOME);
  check(&world, &row, 1, 0, SOME);
  check(&world, &few, 2, 1, EITHER);
  check(&world, &few, 1, 0, EITHER);
  types = 1;
  check(&world, &row, 2, 0, SOME);
  return ranks_end(&world);
}
