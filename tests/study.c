/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Virtual ranks: they count what as many real ranks exchange, however many processes do the counting; and a comparison
 * with real ranks can fail. */
#include <config.h>
#include <math.h>
#include <mpi.h>

#include "base/debug.h"
#include "everywhere.h"
#include "mpi/let/stages.h"
#include "sets.h"
#include "step/plan.h"
#include "study/soft_step.h"
#include "study/virtual.h"
#include "tap.h"
#include "settings/settings.h"

static void say(const struct comm *comm, int good, const char *set, const char *format, long long number,
                const char *why)
{
  char what[120], line[1500];
  good = (int)comm_min_int64(comm, good);
  snprintf(what, sizeof what, format, number);
  snprintf(line, sizeof line, "%d processes, %s: %s%s%s", comm->size, set, what, good || !*why ? "" : ": ",
           good ? "" : why);
  if (comm->rank == 0) tap_ok(good, line);
}

/* The particles of a set of all ranks, with forces. The largest message of `messages` differs from that of the global
 * particles. */
static void make(const struct comm *comm, const struct set *set, int64_t n, struct params *par,
                 struct global_particles *world)
{
  struct set part = *set;
  struct particles all, mine;
  struct sim sim;
  struct fault f = {""};
  char why[256];
  part.n = n;
  set_make(&part, 0.7 * sqrt(set->gravity), &all);
  particles_init(&mine);
  particles_reserve(&mine, n);
  for (int64_t i = 0; i < n; i++)
    if ((int)(i % comm->size) == comm->rank) particles_copy(&mine, mine.n++, &all, i);
  particles_free(&all);
  sim_open(&sim, comm, par, backend_choose(BACKEND_CPU, why, sizeof why), &mine, &f);
  settings_first_force(&sim);
  global_particles_gather(world, &sim, plan_next(par, &sim.now, &sim.system, 0, 1e3 * set->r2, 0).soft_step);
  world->par = par;
  sim_close(&sim);
}

static void parameters(const struct set *set, int order, int angle, struct params *par)
{
  params_defaults(par);
  par->GravityConstantInternal = set->gravity;
  par->Softening = set->softening;
  par->R1 = set->r1;
  par->R2 = set->r2;
  par->MultipoleOrder = order;
  par->Mode = MODE_HYBRID;
  par->MaxLeafSize = 8;
  par->MaxGroupSize = 32;
  if (angle) par->TypeOfOpeningCriterion = MAC_ANGLE;
}

/* --- agreement with real ranks ----------------------------------------------------------------------------------- */

/* As many virtual ranks as processes against the real ones. 1 when they agree. */
static int agree(const struct comm *comm, struct global_particles *counted, struct global_particles *exchanged,
                 int kinds, struct fault *fault)
{
  struct virtual_rank *rows = memory_alloc("test", sizeof *rows * (size_t)comm->size), real;
  virtual_count(comm, counted, comm->size, kinds, rows, NULL, NULL);
  virtual_real(comm, exchanged, kinds, &real);
  virtual_differ(&rows[comm->rank], &real, comm->rank, kinds, fault);
  memory_free(rows);
  return comm_agree(comm, fault) == 0;
}

static void check_real(const struct comm *comm, const struct set *set, int64_t n, int order, int angle)
{
  struct params par;
  struct global_particles w, other;
  struct fault f = {""};
  parameters(set, order, angle, &par);
  make(comm, set, n, &par, &w);
  int same = agree(comm, &w, &w, VIRTUAL_ALL, &f);
  say(comm, same, set->name, "%lld particles: virtual ranks agree with real ones", n, f.text);
  if (comm->size == 1 || n < 100) {
    global_particles_free(&w);
    return;
  }
  /* what must not agree */
  f.text[0] = 0;
  other = w;
  other.cutoff *= 1.5;
  say(comm, !agree(comm, &other, &w, 1 << LET_STEP, &f), set->name, "with another cutoff they do not", 0, "");
  f.text[0] = 0;
  say(comm, agree(comm, &other, &w, 1 << LET_SOFT, &f), set->name, "but soft ones do", 0, f.text);
  f.text[0] = 0;
  other = w;
  other.mac.delta *= 64; /* of coincident particles all cells are open at smaller ones */
  say(comm, !agree(comm, &other, &w, 1 << LET_SOFT, &f), set->name, "with another criterion they do not", 0, "");
  global_particles_free(&w);
}

/* --- the counts by themselves ------------------------------------------------------------------------------------ */

static int sums_hold(const struct global_particles *world, const struct virtual_rank *rows, int ranks)
{
  int64_t local = 0, sent[LET_KINDS] = {0}, contacts[LET_KINDS] = {0};
  for (int r = 0; r < ranks; r++) {
    local += rows[r].local;
    for (int k = 0; k < LET_KINDS; k++) {
      sent[k] += rows[r].let[k].messages;
      contacts[k] += rows[r].contacts[k];
    }
    if (rows[r].tops + rows[r].contacts[LET_SOFT] > ranks - 1) return 0;
    for (int k = 0; k < LET_KINDS; k++)
      if (rows[r].summaries[k].messages == 0 && rows[r].summaries[k].known != ranks - 1) return 0;
    if (rows[r].local == 0 && (rows[r].let[LET_SOFT].received.cells > 0 || rows[r].let[LET_STEP].bytes > 0)) return 0;
  }
  /* boxes one way and a LET the other; a message that is cut counts as its pieces */
  for (int k = 0; k < LET_KINDS; k++)
    if (sent[k] < 2 * contacts[k]) return 0;
  return local == world->all.n;
}

/* Any number of virtual ranks, by all processes and by one alone. */
static void check_counts(const struct comm *c, const struct comm *alone, const struct set *set, int64_t n, int ranks)
{
  struct params par;
  struct global_particles w;
  size_t bytes = sizeof(struct virtual_rank) * (size_t)ranks;
  struct virtual_rank *many = memory_alloc("test", bytes), *one = memory_alloc("test", bytes);
  parameters(set, 1, 0, &par);
  make(c, set, n, &par, &w);
  virtual_count(c, &w, ranks, VIRTUAL_ALL, many, NULL, NULL);
  virtual_count(alone, &w, ranks, VIRTUAL_ALL, one, NULL, NULL);
  say(c, memcmp(many, one, bytes) == 0, set->name, "%lld virtual ranks: the number of processes does not matter", ranks,
      "");
  say(c, sums_hold(&w, many, ranks), set->name, "%lld virtual ranks: sums hold", ranks, "");
  memset(one, 0, bytes);
  virtual_count(c, &w, ranks, 1 << LET_STEP, one, NULL, NULL);
  int kept = 1;
  for (int r = 0; r < ranks; r++) {
    kept &= one[r].let[LET_SOFT].bytes == 0 && one[r].tops == 0;
    kept &= memcmp(&one[r].let[LET_STEP], &many[r].let[LET_STEP], sizeof one->let[LET_STEP]) == 0 &&
            one[r].updates == many[r].updates;
  }
  say(c, kept, set->name, "%lld virtual ranks: hard LETs alone are the same", ranks, "");
  global_particles_free(&w);
  memory_free(one);
  memory_free(many);
}

/* LETs that cells in summaries spare: fewer contacts, for the same entries. */
static void check_tops(const struct comm *comm, const struct set *set, int64_t n, int ranks)
{
  struct params par;
  struct global_particles w;
  struct virtual_rank *rows[2];
  double contacts[2] = {0}, entries[2] = {0};
  int sums = 1;
  parameters(set, 1, 1, &par);
  make(comm, set, n, &par, &w);
  for (int k = 0; k < 2; k++) {
    rows[k] = memory_alloc("test", sizeof **rows * (size_t)ranks);
    debug_set("let_top", k ? NAN : 1);
    virtual_count(comm, &w, ranks, 1 << LET_SOFT, rows[k], NULL, NULL);
  }
  for (int r = 0; r < ranks; r++) {
    for (int k = 0; k < 2; k++) {
      const struct virtual_rank *q = &rows[k][r];
      contacts[k] += (double)q->contacts[LET_SOFT];
      entries[k] += (double)(q->let[LET_SOFT].received.cells + q->let[LET_SOFT].received.particles + q->cells);
    }
    sums &= rows[0][r].tops + rows[0][r].contacts[LET_SOFT] == rows[1][r].tops + rows[1][r].contacts[LET_SOFT] &&
            rows[0][r].cells == rows[0][r].tops;
  }
  char text[120];
  snprintf(text, sizeof text, "%.0f and %.0f contacts, %.0f and %.0f entries", contacts[0], contacts[1], entries[0],
           entries[1]);
  say(comm, sums && contacts[1] < 0.5 * contacts[0] && fabs(entries[1] / entries[0] - 1) < 1e-3, set->name,
      "%lld virtual ranks: cells in summaries spare LETs", ranks, text);
  for (int k = 0; k < 2; k++) memory_free(rows[k]);
  global_particles_free(&w);
}

/* --- a soft step ------------------------------------------------------------------------------------------------- */

/* Selections of LETs of a schedule: they cover the soft step, and there are as many as lines that select. */
static void check_classes(const char *name, struct schedule_input in, int selections, int updates)
{
  struct soft_step_class class[SOFT_STEP_CLASSES];
  struct schedule s;
  int64_t moments, builds, ticks = 0;
  int count, times = 0, right = 1;
  for (int l = 0; l <= in.level_max; l++) {
    in.hard_steps += in.count[l] << l;
    in.particles += (double)in.count[l];
  }
  s = schedule_make(&in);
  count = soft_step_classes(&s, class, &moments, &builds);
  for (int k = 0; k < count; k++) {
    ticks += (int64_t) class[k].valid * class[k].times;
    times += class[k].times;
    right &= class[k].horizon >= class[k].valid;
  }
  right &= times == selections && moments == updates && ticks == (selections ? TICKS : 0) &&
           (selections < 2 || builds == selections - 1);
  tap_ok(right, name);
  if (!right) printf("# %d selections, %lld moment updates, %lld ticks\n", times, (long long)moments, (long long)ticks);
}

static void check_schedules(void)
{
  struct schedule_input shared = {.ranks = 8, .given_checkpoint_ticks = -1, .given_fast_level = -1, .count = {1000}};
  struct schedule_input block = {
      .ranks = 8, .given_checkpoint_ticks = -1, .given_fast_level = -1, .level_max = 3, .count = {100, 300, 400, 200}};
  struct schedule_input hybrid = block;
  hybrid.split = hybrid.walks_tree = 1;
  check_classes("one step for all: no LETs of substeps", shared, 0, 0);
  check_classes("block steps: LETs are chosen once, and updated", block, 1, 3);
  check_classes("hybrid: LETs are chosen again at every moment update", hybrid, 4, 3);
}

/* Pairs of ranks add up to what ranks send; the number of processes does not matter. */
static void check_soft_step(const struct comm *c, const struct comm *alone, const struct set *set, int64_t n, int ranks)
{
  struct params par;
  struct global_particles w, kicked;
  struct schedule_input in = {
      .split = 1, .walks_tree = 1, .given_checkpoint_ticks = -1, .given_fast_level = -1, .level_max = 3};
  struct virtual_rank *rows = memory_alloc("test", sizeof *rows * (size_t)ranks);
  parameters(set, 1, 0, &par);
  make(c, set, n, &par, &w);
  make(c, set, n, &par, &kicked);
  for (int64_t i = 0; i < n; i++) {
    kicked.all.level[i] = (uint8_t)(i % 4);
    in.count[i % 4]++;
    in.hard_steps += 1 << i % 4;
  }
  in.particles = (double)n;
  struct soft_step_wants pairs = {.pairs = 1}, none = {.pairs = 0};
  virtual_count(c, &w, ranks, 1 << LET_SOFT, rows, NULL, NULL);
  struct soft_step many = soft_step_count(c, &w, &kicked, &in, ranks, rows, &pairs);
  struct soft_step one = soft_step_count(alone, &w, &kicked, &in, ranks, rows, &pairs);
  struct soft_step plain = soft_step_count(c, &w, &kicked, &in, ranks, rows, &none);
  size_t bytes = sizeof *many.rank * (size_t)ranks;
  int same = memcmp(many.rank, one.rank, bytes) == 0 && memcmp(many.rank, plain.rank, bytes) == 0, sums = 1;
  say(c, same, set->name, "%lld virtual ranks: a soft step does not depend on processes, nor on pairs", ranks, "");
  struct soft_step_traffic all = {0}, paired = {0};
  for (int k = 0; k < SOFT_STEP_PART_COUNT; k++) {
    struct soft_step_traffic t = soft_step_sum(&one, ranks, (enum soft_step_part)k);
    all.messages += t.messages;
    all.bytes += t.bytes;
    sums &= k == SOFT_STEP_moments
                ? t.messages == 0
                : t.messages > 0 || ranks > n || k == SOFT_STEP_soft_summaries || k == SOFT_STEP_hard_summaries;
    sums &= (t.messages > 0) == (ranks >= stages_ranks()) ||
            (k != SOFT_STEP_soft_summaries && k != SOFT_STEP_hard_summaries);
  }
  for (int64_t i = 0; i < one.pairs; i++) {
    paired.messages += one.pair[i].sent.messages;
    paired.bytes += one.pair[i].sent.bytes;
    sums &= one.pair[i].from != one.pair[i].to;
  }
  say(c, sums && all.messages == paired.messages && all.bytes == paired.bytes, set->name,
      "%lld virtual ranks: pairs add up", ranks, "");
  soft_step_free(&many);
  soft_step_free(&one);
  soft_step_free(&plain);
  global_particles_free(&w);
  global_particles_free(&kicked);
  memory_free(rows);
}

int main(int argc, char **argv)
{
  struct comm world, alone, small;
  ranks_begin(&world, &argc, &argv);
  comm_open(&alone, MPI_COMM_SELF);
  setenv("ESPALIER_LARGEST_MESSAGE", "3000", 1);
  comm_open(&small, MPI_COMM_WORLD);
  check_real(&world, &sets[0], 3000, 1, 0);
  check_real(&world, &sets[1], 3000, 2, 0);
  check_real(&world, &sets[1], 2000, 1, 1);
  check_real(&world, &sets[4], 1000, 1, 0);
  check_real(&world, &sets[11], 3, 1, 0);
  check_real(&small, &sets[0], 1000, 2, 0);
  check_counts(&world, &alone, &sets[0], 2000, 27);
  check_counts(&world, &alone, &sets[1], 2000, 64);
  check_counts(&world, &alone, &sets[0], 30, 50);
  check_counts(&world, &alone, &sets[0], 300, 1);
  debug_set("let_stages", 2); /* summaries in stages */
  check_real(&world, &sets[0], 3000, 1, 0);
  check_real(&world, &sets[1], 2000, 2, 0);
  check_real(&world, &sets[11], 3, 1, 0);
  check_real(&small, &sets[0], 1000, 2, 0);
  check_counts(&world, &alone, &sets[0], 2000, 27);
  check_counts(&world, &alone, &sets[0], 30, 50);
  check_soft_step(&world, &alone, &sets[0], 1000, 7);
  debug_set("let_stages", NAN);
  check_tops(&world, &sets[0], 8000, 125);
  if (world.rank == 0) check_schedules();
  check_soft_step(&world, &alone, &sets[0], 1000, 7);
  check_soft_step(&world, &alone, &sets[0], 40, 50);
  comm_close(&small);
  comm_close(&alone);
  return ranks_end(&world);
}
