/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Virtual ranks: they count what as many real ranks exchange, however many processes do the counting; and a comparison
 * with real ranks can fail. */
#include <config.h>
#include <mpi.h>

#include "sets.h"
#include "step/plan.h"
#include "study/virtual.h"
#include "tap.h"

static void say(const struct comm *c, int good, const char *set, const char *format, long long number, const char *why)
{
  char what[120], line[1500];
  good = (int)comm_min_int64(c, good);
  snprintf(what, sizeof what, format, number);
  snprintf(line, sizeof line, "%d processes, %s: %s%s%s", c->size, set, what, good || !*why ? "" : ": ", good ? "" : why);
  if (c->rank == 0) tap_ok(good, line);
}

/* The particles of a set of all ranks, with forces. The largest message of `messages` differs from that of the global particles. */
static void make(const struct comm *c, const struct set *set, int64_t n, struct params *par, struct global_particles *w)
{
  struct set part = *set;
  struct particles all, mine;
  struct sim s;
  struct fault f = {""};
  char why[256];
  part.n = n;
  set_make(&part, 0.7 * sqrt(set->gravity), &all);
  particles_init(&mine);
  particles_reserve(&mine, n);
  for (int64_t i = 0; i < n; i++)
    if ((int)(i % c->size) == c->rank) particles_copy(&mine, mine.n++, &all, i);
  particles_free(&all);
  sim_open(&s, c, par, backend_choose(BACKEND_CPU, why, sizeof why), &mine, &f);
  sim_first_force(&s);
  global_particles_gather(w, &s, plan_next(par, &s.now, &s.system, 0, 1e3 * set->r2, s.split.r2, 1, 0).soft_step);
  w->par = par;
  sim_close(&s);
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
  if (angle) par->TypeOfOpeningCriterion = OPENING_ANGLE;
}

/* --- agreement with real ranks ----------------------------------------------------------------------------------- */

/* As many virtual ranks as processes against the real ones. 1 when they agree. */
static int agree(const struct comm *c, struct global_particles *counted, struct global_particles *exchanged, int kinds, struct fault *f)
{
  struct virtual_rank *rows = memory_alloc("test", sizeof *rows * (size_t)c->size), real;
  virtual_count(c, counted, c->size, kinds, rows, NULL, NULL);
  virtual_real(c, exchanged, kinds, &real);
  virtual_differ(&rows[c->rank], &real, c->rank, kinds, f);
  memory_free(rows);
  return comm_agree(c, f) == 0;
}

static void check_real(const struct comm *c, const struct set *set, int64_t n, int order, int angle)
{
  struct params par;
  struct global_particles w, other;
  struct fault f = {""};
  parameters(set, order, angle, &par);
  make(c, set, n, &par, &w);
  int same = agree(c, &w, &w, VIRTUAL_ALL, &f);
  say(c, same, set->name, "%lld particles: virtual ranks agree with real ones", n, f.text);
  if (c->size == 1 || n < 100) {
    global_particles_free(&w);
    return;
  }
  /* what must not agree */
  f.text[0] = 0;
  other = w;
  other.cutoff *= 1.5;
  say(c, !agree(c, &other, &w, 1 << LET_STEP, &f), set->name, "with another cutoff they do not", 0, "");
  f.text[0] = 0;
  say(c, agree(c, &other, &w, 1 << LET_SOFT, &f), set->name, "but soft ones do", 0, f.text);
  f.text[0] = 0;
  other = w;
  other.mac.delta *= 0.7;
  say(c, !agree(c, &other, &w, 1 << LET_SOFT, &f), set->name, "with another criterion they do not", 0, "");
  global_particles_free(&w);
}

/* --- the counts by themselves ------------------------------------------------------------------------------------ */

static int sums_hold(const struct global_particles *w, const struct virtual_rank *rows, int ranks)
{
  int64_t local = 0, sent[LET_KINDS] = {0}, contacts[LET_KINDS] = {0};
  for (int r = 0; r < ranks; r++) {
    local += rows[r].local;
    for (int k = 0; k < LET_KINDS; k++) {
      sent[k] += rows[r].let[k].messages;
      contacts[k] += rows[r].contacts[k];
    }
    if (rows[r].roots + rows[r].contacts[LET_SOFT] > ranks - 1) return 0;
    if (rows[r].local == 0 && (rows[r].let[LET_SOFT].received.cells > 0 || rows[r].let[LET_STEP].bytes > 0)) return 0;
  }
  /* boxes one way and a LET the other; a message that is cut counts as its pieces */
  for (int k = 0; k < LET_KINDS; k++)
    if (sent[k] < 2 * contacts[k]) return 0;
  return local == w->all.n;
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
  say(c, memcmp(many, one, bytes) == 0, set->name, "%lld virtual ranks: the number of processes does not matter", ranks, "");
  say(c, sums_hold(&w, many, ranks), set->name, "%lld virtual ranks: sums hold", ranks, "");
  memset(one, 0, bytes);
  virtual_count(c, &w, ranks, 1 << LET_STEP, one, NULL, NULL);
  int kept = 1;
  for (int r = 0; r < ranks; r++) {
    kept &= one[r].let[LET_SOFT].bytes == 0 && one[r].roots == 0;
    kept &= memcmp(&one[r].let[LET_STEP], &many[r].let[LET_STEP], sizeof one->let[LET_STEP]) == 0 && one[r].updates == many[r].updates;
  }
  say(c, kept, set->name, "%lld virtual ranks: hard LETs alone are the same", ranks, "");
  global_particles_free(&w);
  memory_free(one);
  memory_free(many);
}

int main(int argc, char **argv)
{
  struct comm world, alone, small;
  MPI_Init(&argc, &argv);
  comm_open(&world, MPI_COMM_WORLD);
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
  comm_close(&small);
  comm_close(&alone);
  int rank = world.rank;
  comm_close(&world);
  if (rank == 0) tap_ok(memory_current() == 0, "all memory is given back");
  int failed = rank == 0 ? tap_end() : 0;
  MPI_Finalize();
  return failed;
}
