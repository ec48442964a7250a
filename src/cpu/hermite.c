/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hard part of a soft step with block steps: predict, evaluate, correct. By the fourth-order Hermite scheme
 * (gravity/hermite.h), or by kick-drift-kick, where jerks are zero (gravity/pair_steps.h).
 *
 * Steps are aligned, so the active particles at a tick are those of the levels whose steps end there: all from some
 * level down. Particles with neighbours are kept sorted by level, deepest first; a tick looks at the first of them
 * only. */
#include <config.h>
#include "cpu/hermite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cpu/device.h"
#include "particles/timeline.h"

enum { MANY = 128 }; /* fewer active particles than these are not worth a team of threads */

/* The loop over ticks. */
struct loop {
  struct hard_set *s;
  const struct hard_request *r;
  struct hard_tally *tally;
  struct hard_sources from;
  double tick_length, mean_gm;
  int32_t *by_level;                  /* [moving] particles with neighbours, deepest level first */
  int64_t moving, deeper[LEVELS + 1]; /* deeper[l]: particles of level l and deeper */
  struct hermite_motion *next;        /* [moving] of the active ones, in the order of by_level */
  double *wanted;                     /* [moving] the step that the criterion gives */
  int32_t *scratch;                   /* [moving] */
};

/* --- the particles ------------------------------------------------------------------------------------------------ */

void hard_set_open(struct hard_set *set, struct device *d, const struct hard_request *request, int64_t n,
                   const struct halo_particle *halo)
{
  const struct particles *p = &d->p;
  double g = d->config.gravity;
  *set = (struct hard_set){.isa = d->isa, .n = p->n + n, .own = p->n};
  size_t count = (size_t)(set->n + 1);
  set->motion = memory_alloc("hard", sizeof *set->motion * (count + 1));
  set->gm = memory_alloc("hard", sizeof *set->gm * count);
  set->factor = memory_alloc("hard", sizeof *set->factor * count);
  if (d->softening.classes > 1) set->eps2 = memory_alloc("hard", sizeof *set->eps2 * count);
  set->id = memory_alloc("hard", sizeof *set->id * count);
  set->level = memory_alloc("hard", count);
  set->tick = memory_alloc("hard", sizeof *set->tick * count);
  set->steps = memory_alloc("hard", sizeof *set->steps * count);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < set->n; i++) {
    const struct halo_particle *h = i < set->own ? NULL : &halo[i - set->own];
    float mass = h ? h->mass : p->mass[i];
    memset(&set->motion[i], 0, sizeof set->motion[i]);
    memcpy(set->motion[i].x, h ? h->pos : &p->pos[3 * i], sizeof set->motion[i].x);
    memcpy(set->motion[i].v, h ? h->vel : &p->vel[3 * i], sizeof set->motion[i].v);
    set->gm[i] = g * mass;
    set->factor[i] = split_factor(&request->split, mass);
    double eps = d->softening.eps[d->softening.class_of[h ? h->type : p->type[i]]];
    if (set->eps2) set->eps2[i] = eps * eps;
    set->id[i] = h ? h->id : p->id[i];
    set->level[i] = h ? (uint8_t)h->level : p->level[i];
    set->tick[i] = set->steps[i] = 0;
  }
}

void hard_set_close(struct hard_set *set)
{
  memory_free(set->motion);
  memory_free(set->gm);
  memory_free(set->factor);
  memory_free(set->eps2);
  memory_free(set->id);
  memory_free(set->level);
  memory_free(set->tick);
  memory_free(set->steps);
  memory_free(set->first);
  memory_free(set->entry);
}

static int64_t list_length(const struct hard_set *set, int64_t i) { return set->first[i + 1] - set->first[i]; }

/* --- forces ------------------------------------------------------------------------------------------------------- */

/* Hard force on particle i at x, v, from its neighbours predicted to `tick`. */
static void evaluate(const struct hard_set *set, const struct hard_sources *from, int64_t i, int32_t tick,
                     const double x[3], const double v[3], struct hermite_force *force)
{
  struct hard_target t = {{x[0], x[1], x[2]}, {v[0], v[1], v[2]}, tick, set->factor[i], set->eps2 ? set->eps2[i] : 0};
  set->isa->hard_force(from, &t, set->entry + set->first[i], list_length(set, i), force);
}

/* Acceleration and largest rate of pairs of particle i. */
static void evaluate_kick(const struct loop *loop, int64_t i, int32_t tick, const double x[3], const double v[3],
                          struct pair_kick *kick)
{
  const struct hard_set *s = loop->s;
  struct hard_target t = {{x[0], x[1], x[2]}, {v[0], v[1], v[2]}, tick, s->factor[i], s->eps2 ? s->eps2[i] : 0};
  *kick = (struct pair_kick){.gm = s->gm[i], .eta = loop->r->eta};
  s->isa->hard_kick(&loop->from, &t, s->entry + s->first[i], list_length(s, i), kick);
}

static struct hard_sources sources_of(const struct hard_set *set, const struct hard_request *request, double eps)
{
  return (struct hard_sources){set->motion,       set->gm,
                               set->factor,       set->tick,
                               set->eps2,         request->soft_step / TICKS,
                               eps * eps,         request->split.r1,
                               request->split.r2, request->split.kernel};
}

static double background(const struct loop *loop, int64_t i)
{
  double r2 = loop->s->factor[i] * (double)loop->r->split.r2;
  return HARD_BACKGROUND * fmax(loop->s->gm[i], loop->mean_gm) / (r2 * r2);
}

/* Acceleration and jerk of particle i at tick 0 to *to. Returns its first step. */
static double first_force(const struct loop *loop, int64_t i, struct hermite_motion *to)
{
  const struct hermite_motion *m = &loop->s->motion[i];
  struct hermite_force f = {0};
  if (loop->r->scheme == HARD_LEAPFROG) {
    struct pair_kick k;
    evaluate_kick(loop, i, 0, m->x, m->v, &k);
    memcpy(to->a, k.a, sizeof k.a);
    memcpy(to->j, f.j, sizeof f.j);
    return pair_step(&k);
  }
  evaluate(loop->s, &loop->from, i, 0, m->x, m->v, &f);
  memcpy(to->a, f.a, sizeof f.a);
  memcpy(to->j, f.j, sizeof f.j);
  return hermite_first_step(f.a, f.j, HARD_FIRST_ETA * loop->r->eta, background(loop, i));
}

/* Accelerations, jerks and first steps of all particles at tick 0. */
static void first_forces(struct loop *loop)
{
  struct hard_set *s = loop->s;
#pragma omp parallel for schedule(dynamic, 64)
  for (int64_t i = 0; i < s->n; i++) loop->wanted[i] = first_force(loop, i, &loop->next[i]);
  for (int64_t i = 0; i < s->n; i++) { /* no force may see another one's new values */
    memcpy(s->motion[i].a, loop->next[i].a, sizeof s->motion[i].a);
    memcpy(s->motion[i].j, loop->next[i].j, sizeof s->motion[i].j);
    loop->tally->pairs += list_length(s, i);
  }
}

/* --- levels ------------------------------------------------------------------------------------------------------- */

/* Sort the first `count` particles of by_level, which are those of level `lowest` and deeper. */
static void sort_levels(struct loop *loop, int64_t count, int lowest)
{
  int64_t at[LEVELS] = {0}, deeper = 0;
  for (int64_t k = 0; k < count; k++) at[loop->s->level[loop->by_level[k]]]++;
  for (int v = HARD_LEVEL_MAX; v >= lowest; v--) {
    int64_t here = at[v];
    at[v] = deeper;
    deeper += here;
    loop->deeper[v] = deeper;
  }
  memcpy(loop->scratch, loop->by_level, sizeof *loop->scratch * (size_t)count);
  for (int64_t k = 0; k < count; k++) loop->by_level[at[loop->s->level[loop->scratch[k]]]++] = loop->scratch[k];
}

/* The nearest neighbour of a particle whose step collapses. */
static void note_collapse(struct loop *loop, int64_t i, double wanted)
{
  const struct hard_set *s = loop->s;
  struct hard_collapse *w = &loop->tally->worst;
  if (loop->tally->collapsed++ > 0 && wanted >= w->wanted) return;
  *w = (struct hard_collapse){.id = s->id[i], .wanted = wanted, .distance = 1e300};
  memcpy(w->pos, s->motion[i].x, sizeof w->pos);
  for (int64_t e = s->first[i]; e < s->first[i + 1]; e++) {
    double r2 = 0;
    for (int c = 0; c < 3; c++) {
      double x = s->motion[s->entry[e]].x[c] - s->motion[i].x[c];
      r2 += x * x;
    }
    if (sqrt(r2) >= w->distance) continue;
    w->distance = sqrt(r2);
    w->neighbour = s->id[s->entry[e]];
  }
}

/* The least level of steps not longer than `wanted`. Sets *deeper where that is deeper than HARD_LEVEL_MAX. */
static int level_for(const struct loop *loop, double wanted, int *deeper)
{
  int level = HARD_LONGEST_LEVEL;
  double step = ldexp(loop->r->soft_step, -HARD_LONGEST_LEVEL);
  for (; !(step <= wanted) && level < HARD_LEVEL_MAX; level++) step *= 0.5; /* NaN: the deepest */
  *deeper = !(step <= wanted);
  return level;
}

/* A first step that is too long is not noted: where accelerations cancel the first criterion is far below the second
 * one. */
static void first_levels(struct loop *loop)
{
  struct hard_set *s = loop->s;
  int deeper;
  for (int64_t i = 0; i < s->n; i++) {
    if (list_length(s, i) == 0) {
      s->level[i] = LEVEL_UNKNOWN;
      continue;
    }
    int level = s->level[i] + loop->r->level_shift;
    if (loop->r->first || s->level[i] == LEVEL_UNKNOWN) level = level_for(loop, loop->wanted[i], &deeper);
    s->level[i] = (uint8_t)(level < HARD_LONGEST_LEVEL ? HARD_LONGEST_LEVEL
                            : level > HARD_LEVEL_MAX   ? HARD_LEVEL_MAX
                                                       : level);
    loop->by_level[loop->moving++] = (int32_t)i;
  }
  for (int v = 0; v <= LEVELS; v++) loop->deeper[v] = 0;
  sort_levels(loop, loop->moving, HARD_LONGEST_LEVEL);
}

/* The next level of particle i at the end of its step: at most one above the present one, where a longer step may
 * begin. */
static void choose_level(struct loop *loop, int64_t i, int32_t tick, double wanted)
{
  int level = loop->s->level[i], deeper, next = level_for(loop, wanted, &deeper);
  if (deeper && i < loop->s->own) note_collapse(loop, i, wanted);
  if (next < level) next = timeline_aligned(tick, level - 1);
  loop->s->level[i] = (uint8_t)next;
}

/* --- a tick ------------------------------------------------------------------------------------------------------- */

/* *motion at the begin of the step of particle i, with x and v predicted for its end, becomes its motion there. Returns
 * its next step. */
static double correct(const struct loop *loop, int64_t i, int32_t tick, double dt, const double x[3], const double v[3],
                      struct hermite_motion *motion)
{
  struct hermite_force f;
  double a2[3], a3[3];
  evaluate(loop->s, &loop->from, i, tick, x, v, &f);
  hermite_correct(motion, dt, x, v, &f, a2, a3);
  return hermite_step(motion->a, motion->j, a2, a3, loop->r->eta, background(loop, i));
}
static double correct_kick(const struct loop *loop, int64_t i, int32_t tick, double dt, const double x[3],
                           const double v[3], struct hermite_motion *motion)
{
  struct pair_kick k;
  evaluate_kick(loop, i, tick, x, v, &k);
  pair_kick_correct(motion, dt, x, &k);
  return pair_step(&k);
}

/* The motion of an active particle at the end of its step. Returns the pairs evaluated. */
static int64_t advance_one(struct loop *loop, int64_t k, int32_t tick)
{
  const struct hard_set *s = loop->s;
  int32_t i = loop->by_level[k];
  double dt = (tick - s->tick[i]) * loop->tick_length, x[3], v[3];
  struct hermite_motion *m = &loop->next[k];
  *m = s->motion[i];
  hermite_predict(m, dt, x, v);
  loop->wanted[k] =
      loop->r->scheme == HARD_LEAPFROG ? correct_kick(loop, i, tick, dt, x, v, m) : correct(loop, i, tick, dt, x, v, m);
  return list_length(s, i);
}

static void advance_to(struct loop *loop, int32_t tick)
{
  struct hard_set *s = loop->s;
  int lowest = timeline_aligned(tick, HARD_LONGEST_LEVEL);
  int64_t active = loop->deeper[lowest], pairs = 0;
  if (active < MANY) {
    for (int64_t k = 0; k < active; k++) pairs += advance_one(loop, k, tick);
  } else {
#pragma omp parallel for schedule(dynamic, 16) reduction(+ : pairs)
    for (int64_t k = 0; k < active; k++) pairs += advance_one(loop, k, tick);
  }
  for (int64_t k = 0; k < active; k++) {
    int32_t i = loop->by_level[k];
    s->motion[i] = loop->next[k];
    s->tick[i] = tick;
    s->steps[i]++;
    choose_level(loop, i, tick, loop->wanted[k]);
  }
  sort_levels(loop, active, lowest);
  loop->tally->pairs += pairs;
  loop->tally->steps += active;
  loop->tally->ticks++;
}

static int deepest_level(const struct loop *loop)
{
  int level = HARD_LEVEL_MAX;
  while (level > HARD_LONGEST_LEVEL && loop->deeper[level] == 0) level--;
  return level;
}

static void run_loop(struct loop *loop)
{
  for (int32_t tick = 0; tick < TICKS && loop->moving > 0;) {
    int deepest = deepest_level(loop);
    if (deepest > loop->tally->deepest) loop->tally->deepest = deepest;
    tick += timeline_ticks(deepest);
    advance_to(loop, tick);
  }
}

/* --- the verbs ---------------------------------------------------------------------------------------------------- */

/* Those of the halo too: one may be the centre of mass of a pair with an own member. */
static void drift_lonely(struct hard_set *set, double soft_step)
{
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < set->n; i++)
    if (list_length(set, i) == 0)
      for (int c = 0; c < 3; c++) set->motion[i].x[c] += soft_step * set->motion[i].v[c];
}

/* Positions, velocities, levels and hard accelerations back to the device. */
static void store(struct device *d, const struct hard_set *set, struct hard_tally *tally)
{
  struct particles *p = &d->p;
  for (int64_t i = 0; i < set->own; i++) {
    memcpy(&p->pos[3 * i], set->motion[i].x, sizeof set->motion[i].x);
    memcpy(&p->vel[3 * i], set->motion[i].v, sizeof set->motion[i].v);
    p->level[i] = set->level[i];
    p->work[i] += (float)(set->steps[i] + 1) * (float)list_length(set, i);
    p->tick[i] = 0;
    tally->entries += list_length(set, i);
    tally->with_neighbours += list_length(set, i) > 0;
  }
}

/* The hard part of potential and acceleration at the present positions, with lists that hold all pairs within R2
 * now. */
static void store_potential(struct device *d, struct hard_set *set, const struct hard_request *request)
{
  struct hard_sources from = sources_of(set, request, d->config.softening);
  for (int64_t i = 0; i < set->n; i++) set->tick[i] = 0;
#pragma omp parallel for schedule(dynamic, 64)
  for (int64_t i = 0; i < set->own; i++) {
    struct hermite_force f;
    evaluate(set, &from, i, 0, set->motion[i].x, set->motion[i].v, &f);
    d->p.pot[i] = (float)-f.psi;
    for (int c = 0; c < 3; c++) d->p.acc_hard[3 * i + c] = (float)f.a[c];
  }
}

void cpu_hard_advance(struct device *d, const struct hard_request *request, int64_t n, const struct halo_particle *halo,
                      struct hard_tally *tally)
{
  struct hard_set s;
  struct bound_pairs bound;
  double began = cpu_seconds(), eps = d->config.softening;
  hard_set_open(&s, d, request, n, halo);
  hard_set_lists(&s, request, request->soft_step);
  hard_set_begin_pairs(&s, request, eps, &bound, tally);
  tally->list_seconds += cpu_seconds() - began;
  struct loop l = {.s = &s,
                   .r = request,
                   .tally = tally,
                   .from = sources_of(&s, request, eps),
                   .tick_length = request->soft_step / TICKS,
                   .mean_gm = d->config.gravity * request->mean_mass};
  size_t room = (size_t)(s.n + 1);
  l.by_level = memory_alloc("hard", sizeof *l.by_level * room);
  l.next = memory_alloc("hard", sizeof *l.next * room);
  l.wanted = memory_alloc("hard", sizeof *l.wanted * room);
  l.scratch = memory_alloc("hard", sizeof *l.scratch * room);
  first_forces(&l);
  first_levels(&l);
  run_loop(&l);
  drift_lonely(&s, request->soft_step);
  int64_t pairs = bound.n;
  hard_set_end_pairs(&s, request, &bound);
  store(d, &s, tally);
  if (pairs > 0) hard_set_lists(&s, request, 0); /* those of the soft step have centres of mass */
  store_potential(d, &s, request);
  memory_free(l.by_level);
  memory_free(l.next);
  memory_free(l.wanted);
  memory_free(l.scratch);
  hard_set_close(&s);
  d->by_level_valid = 0;
  tally->seconds += cpu_seconds() - began;
}

void cpu_hard_potential(struct device *d, const struct hard_request *request, int64_t n,
                        const struct halo_particle *halo)
{
  struct hard_set s;
  hard_set_open(&s, d, request, n, halo);
  hard_set_lists(&s, request, 0);
  store_potential(d, &s, request);
  hard_set_close(&s);
}
