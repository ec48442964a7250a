/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hard part of a soft step with block steps: predict, evaluate, correct, by an integrator (integrator_NAME.c).
 *
 * Steps are aligned, so the active particles at a tick are those of the levels whose steps end there: all from some
 * level down. Particles with neighbours are kept sorted by level, deepest first; a tick looks at the first of them
 * only. */
#include <config.h>
#include "cpu/lists/neighbour_lists.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cpu/device.h"
#include "cpu/lists/units.h"
#include "particles/timeline.h"

#define KEPT_STEP 1                /* a step that is kept is at most so many times eta |a| / |da/dt| */
enum { TEAM_PARTICLES_MIN = 128 }; /* fewer active particles than these are not worth a team of threads */

#define INTEGRATOR_PLACE(value, name, ...) [INTEGRATOR_##value] = &integrator_##name,
static const struct integrator *const integrators[] = {INTEGRATORS(INTEGRATOR_PLACE)};
/* In the order in which they replace particles. */
static const struct subsystem *const subsystems[] = {&subsystem_kepler_pairs};
enum { SUBSYSTEMS = sizeof subsystems / sizeof *subsystems };

/* --- the particles ------------------------------------------------------------------------------------------------ */

void list_set_open(struct list_set *set, struct device *d, const struct list_request *request, int64_t n,
                   const struct halo_particle *halo)
{
  const struct particles *p = &d->p;
  double g = d->config.gravity;
  *set = (struct list_set){.isa = d->isa, .n = p->n + n, .own = p->n};
  size_t count = (size_t)(set->n + 1);
  set->motion = memory_alloc("hard", sizeof *set->motion * (count + 1));
  set->gm = memory_alloc("hard", sizeof *set->gm * count);
  set->factor = memory_alloc("hard", sizeof *set->factor * count);
  if (d->softening.classes > 1) set->eps2 = memory_alloc("hard", sizeof *set->eps2 * count);
  set->id = memory_alloc("hard", sizeof *set->id * count);
  set->level = memory_alloc("hard", count);
  set->tick = memory_alloc("hard", sizeof *set->tick * count);
  set->steps = memory_alloc("hard", sizeof *set->steps * count);
  set->begin = memory_alloc("hard", sizeof *set->begin * count);
  set->length = memory_alloc("hard", sizeof *set->length * count);
  set->room = memory_alloc("hard", sizeof *set->room * count);
  set->gravity = g;
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
  for (int64_t i = 0; i < set->n; i++) set->light |= !(set->gm[i] > 0);
}

void list_set_close(struct list_set *set)
{
  memory_free(set->motion);
  memory_free(set->gm);
  memory_free(set->factor);
  memory_free(set->eps2);
  memory_free(set->id);
  memory_free(set->level);
  memory_free(set->tick);
  memory_free(set->steps);
  memory_free(set->begin);
  memory_free(set->length);
  memory_free(set->room);
  memory_free(set->first);
  memory_free(set->entry);
}

/* --- forces ------------------------------------------------------------------------------------------------------- */

static struct list_sources sources_of(const struct list_set *set, const struct list_request *request, double eps)
{
  return (struct list_sources){set->motion,       set->gm,
                               set->factor,       set->tick,
                               set->eps2,         request->soft_step / TICKS,
                               eps * eps,         request->split.r1,
                               request->split.r2, request->split.kernel};
}

/* Accelerations, jerks and first steps of all particles at tick 0. */
static void first_forces(struct list_loop *loop)
{
  struct list_set *s = loop->set;
#pragma omp parallel for schedule(dynamic, 64)
  for (int64_t i = 0; i < s->n; i++) loop->wanted[i] = loop->integrator->first_force(loop, i, &loop->next[i]);
  int64_t pairs = 0;
#pragma omp parallel for schedule(static) reduction(+ : pairs)
  for (int64_t i = 0; i < s->n; i++) { /* no force may see another one's new values */
    memcpy(s->motion[i].a, loop->next[i].a, sizeof s->motion[i].a);
    memcpy(s->motion[i].j, loop->next[i].j, sizeof s->motion[i].j);
    pairs += list_length(s, i);
  }
  loop->tally->pairs += pairs;
}

/* --- levels ------------------------------------------------------------------------------------------------------- */

/* Sort the first `count` particles of by_level, which are those of level `lowest` and deeper. */
static void sort_levels(struct list_loop *loop, int64_t count, int lowest)
{
  int64_t at[LEVELS] = {0}, deeper = 0;
  for (int64_t k = 0; k < count; k++) at[loop->set->level[loop->by_level[k]]]++;
  for (int v = LIST_LEVEL_MAX; v >= lowest; v--) {
    int64_t here = at[v];
    at[v] = deeper;
    deeper += here;
    loop->deeper[v] = deeper;
  }
  memcpy(loop->scratch, loop->by_level, sizeof *loop->scratch * (size_t)count);
  for (int64_t k = 0; k < count; k++) loop->by_level[at[loop->set->level[loop->scratch[k]]]++] = loop->scratch[k];
}

static int moves(const struct list_loop *loop, int64_t i)
{
  return loop->integrator->moves ? loop->integrator->moves(loop, i) : list_length(loop->set, i) > 0;
}

/* A first step that is too long is not noted: where accelerations cancel the first criterion is far below the second
 * one. */
static void first_levels(struct list_loop *loop)
{
  struct list_set *s = loop->set;
  int deeper;
  for (int64_t i = 0; i < s->n; i++) {
    if (!moves(loop, i)) {
      s->level[i] = LEVEL_UNKNOWN;
      continue;
    }
    int level = s->level[i] + loop->request->level_shift;
    if (!integrator_traits[loop->request->integrator].keeps_levels || loop->request->first || s->level[i] >= LEVEL_MEAN)
      level = list_level_for(loop, loop->wanted[i], &deeper);
    else if (loop->integrator->moves) { /* a star that was in a unit has a step of that */
      int least = list_level_for(loop, loop->wanted[i] * (KEPT_STEP / LIST_FIRST_ETA), &deeper);
      if (level < least) level = least;
    }
    s->level[i] = (uint8_t)(level < LIST_LONGEST_LEVEL ? LIST_LONGEST_LEVEL
                            : level > LIST_LEVEL_MAX   ? LIST_LEVEL_MAX
                                                       : level);
    loop->by_level[loop->moving++] = (int32_t)i;
  }
  for (int v = 0; v <= LEVELS; v++) loop->deeper[v] = 0;
  sort_levels(loop, loop->moving, LIST_LONGEST_LEVEL);
}

/* --- a tick ------------------------------------------------------------------------------------------------------- */

/* The motion of an active particle at the end of its step. Returns the pairs evaluated. */
static int64_t advance_one(struct list_loop *loop, int64_t k, int32_t tick)
{
  const struct list_set *s = loop->set;
  int32_t i = loop->by_level[k];
  double dt = (tick - s->tick[i]) * loop->tick_length, x[3], v[3];
  struct hermite_motion *m = &loop->next[k];
  *m = s->motion[i];
  hermite_predict(m, dt, x, v);
  loop->wanted[k] = loop->integrator->end_step(loop, i, tick, dt, x, v, m);
  return list_length(s, i);
}

/* Sort all levels after units have changed. */
static void sort_all(struct list_loop *loop)
{
  loop->moving = 0;
  for (int64_t i = 0; i < loop->set->n; i++) {
    loop->listed[i] = moves(loop, i) && loop->set->level[i] <= LIST_LEVEL_MAX;
    if (loop->listed[i]) loop->by_level[loop->moving++] = (int32_t)i;
  }
  for (int v = 0; v <= LEVELS; v++) loop->deeper[v] = 0;
  sort_levels(loop, loop->moving, LIST_LONGEST_LEVEL);
}

/* Sort the levels from `lowest` down after units have changed, none of a lower level; begun[count]: places that may be
 * missing in by_level. */
static void sort_changed(struct list_loop *loop, int lowest, const int32_t *begun, int64_t count)
{
  int64_t before = loop->deeper[lowest], after = 0;
  for (int64_t k = 0; k < before; k++) {
    int32_t i = loop->by_level[k];
    loop->listed[i] = moves(loop, i) && loop->set->level[i] <= LIST_LEVEL_MAX;
    if (loop->listed[i]) loop->scratch[after++] = i;
  }
  for (int64_t k = 0; k < count; k++) {
    int32_t i = begun[k];
    if (loop->listed[i] || !moves(loop, i) || loop->set->level[i] > LIST_LEVEL_MAX) continue;
    loop->listed[i] = 1;
    loop->scratch[after++] = i;
  }
  memmove(loop->by_level + after, loop->by_level + before, sizeof *loop->by_level * (size_t)(loop->moving - before));
  memcpy(loop->by_level, loop->scratch, sizeof *loop->by_level * (size_t)after);
  for (int v = 0; v < lowest; v++) loop->deeper[v] += after - before;
  loop->moving += after - before;
  sort_levels(loop, after, lowest);
}

static void advance_to(struct list_loop *loop, int32_t tick)
{
  int lowest = timeline_aligned(tick, LIST_LONGEST_LEVEL);
  int64_t active = loop->deeper[lowest], pairs = 0;
  if (active < TEAM_PARTICLES_MIN) {
    for (int64_t k = 0; k < active; k++) pairs += advance_one(loop, k, tick);
  } else {
#pragma omp parallel for schedule(dynamic, 16) reduction(+ : pairs)
    for (int64_t k = 0; k < active; k++) pairs += advance_one(loop, k, tick);
  }
#pragma omp parallel for schedule(static) if (active >= TEAM_PARTICLES_MIN)
  for (int64_t k = 0; k < active; k++) list_loop_commit(loop, loop->by_level[k], tick, &loop->next[k], loop->wanted[k]);
  list_describe_collapse(loop);
  memcpy(loop->active, loop->by_level, sizeof *loop->active * (size_t)active);
  const int32_t *begun = NULL;
  int64_t count = 0;
  int changed = LIST_LEVEL_MAX + 1;
  if (loop->integrator->change) changed = loop->integrator->change(loop, tick, loop->active, active, &begun, &count);
  if (changed <= LIST_LEVEL_MAX) sort_changed(loop, changed < lowest ? changed : lowest, begun, count);
  else sort_levels(loop, active, lowest);
  loop->tally->pairs += pairs;
  loop->tally->steps += active;
  loop->tally->ticks++;
}

static int deepest_level(const struct list_loop *loop)
{
  int level = LIST_LEVEL_MAX;
  while (level > LIST_LONGEST_LEVEL && loop->deeper[level] == 0) level--;
  return level;
}

static void run_loop(struct list_loop *loop)
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
static void drift_lonely(struct list_set *set, double soft_step)
{
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < set->n; i++)
    if (set->level[i] == LEVEL_UNKNOWN)
      for (int c = 0; c < 3; c++) set->motion[i].x[c] += soft_step * set->motion[i].v[c];
}

/* Positions, velocities, levels and hard accelerations back to the device. */
static void store(struct device *d, const struct list_set *set, struct list_tally *tally)
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
static void store_potential(struct device *d, struct list_set *set, const struct list_request *request)
{
  struct list_sources from = sources_of(set, request, d->config.softening);
  for (int64_t i = 0; i < set->n; i++) set->tick[i] = 0;
#pragma omp parallel for schedule(dynamic, 64)
  for (int64_t i = 0; i < set->own; i++) {
    struct hermite_force f;
    struct list_target t = list_target_at(set, i, 0, set->motion[i].x, set->motion[i].v);
    set->isa->list_force(&from, &t, list_entries(set, i), list_length(set, i), &f);
    d->p.pot[i] = (float)-f.psi;
    for (int c = 0; c < 3; c++) d->p.acc_hard[3 * i + c] = (float)f.a[c];
  }
}

/* Replace the subsystems; lists are then those of what is left, and of the centres of mass, which move on other
 * straight lines. */
static void begin_subsystems(struct list_set *set, const struct list_request *request, double softening,
                             struct list_tally *tally, void *state[SUBSYSTEMS])
{
  for (int k = 0; k < SUBSYSTEMS; k++) {
    state[k] = subsystems[k]->find(set, request, softening, tally);
    if (!state[k]) continue;
    list_set_lists(set, request, request->soft_step);
    subsystems[k]->kick(set, request, state[k]);
  }
}

/* Put the subsystems back. Returns whether there were any: then lists are of centres of mass. */
static int end_subsystems(struct list_set *set, const struct list_request *request, void *state[SUBSYSTEMS])
{
  int any = 0;
  for (int k = SUBSYSTEMS - 1; k >= 0; k--) {
    if (!state[k]) continue;
    subsystems[k]->advance(state[k], request->soft_step);
    subsystems[k]->kick(set, request, state[k]);
    subsystems[k]->restore(set, state[k]);
    any = 1;
  }
  return any;
}

/* All ticks of the soft step. */
static void integrate(struct list_loop *loop)
{
  size_t capacity = (size_t)(loop->set->n + 1);
  loop->by_level = memory_alloc("hard", sizeof *loop->by_level * capacity);
  loop->next = memory_alloc("hard", sizeof *loop->next * capacity);
  loop->wanted = memory_alloc("hard", sizeof *loop->wanted * capacity);
  loop->scratch = memory_alloc("hard", sizeof *loop->scratch * capacity);
  loop->active = memory_alloc("hard", sizeof *loop->active * capacity);
  loop->listed = memory_alloc("hard", capacity);
  first_forces(loop);
  first_levels(loop);
  if (loop->integrator->begin) {
    loop->integrator->begin(loop);
    sort_all(loop);
  }
  run_loop(loop);
  drift_lonely(loop->set, loop->request->soft_step);
  memory_free(loop->by_level);
  memory_free(loop->next);
  memory_free(loop->wanted);
  memory_free(loop->scratch);
  memory_free(loop->active);
  memory_free(loop->listed);
}

int cpu_lists_has(enum step_integrator integrator) { return integrators[integrator] != NULL; }

void cpu_lists_advance(struct device *d, const struct list_request *request, int64_t n,
                       const struct halo_particle *halo, struct list_tally *tally)
{
  struct list_set set;
  void *state[SUBSYSTEMS] = {NULL};
  double began = cpu_seconds(), softening = d->config.softening;
  const struct integrator *integrator = request->units ? &integrator_units : integrators[request->integrator];
  void *units = NULL;
  list_set_open(&set, d, request, n, halo);
  if (integrator->open) {
    units = integrator->open(&set, request);
  } else {
    list_set_lists(&set, request, request->soft_step);
    begin_subsystems(&set, request, softening, tally, state);
  }
  tally->list_seconds += cpu_seconds() - began;
  d->lent.n = d->collisions.n = 0;
  struct list_loop loop = {.set = &set,
                           .request = request,
                           .integrator = integrator,
                           .state = units,
                           .lent = &d->lent,
                           .collisions = &d->collisions,
                           .tally = tally,
                           .from = sources_of(&set, request, softening),
                           .tick_length = request->soft_step / TICKS,
                           .mean_gm = d->config.gravity * request->mean_mass};
  integrate(&loop);
  int replaced = 1;
  if (integrator->close) integrator->close(&loop);
  else replaced = end_subsystems(&set, request, state);
  store(d, &set, tally);
  if (!request->several) {
    if (replaced) list_set_lists(&set, request, 0);
    store_potential(d, &set, request);
  }
  list_set_close(&set);
  d->by_level.valid = 0;
  tally->seconds += cpu_seconds() - began;
}

void cpu_lists_potential(struct device *d, const struct list_request *request, int64_t n,
                         const struct halo_particle *halo)
{
  struct list_set s;
  list_set_open(&s, d, request, n, halo);
  list_set_lists(&s, request, 0);
  store_potential(d, &s, request);
  list_set_close(&s);
}

double cpu_lists_pair_kinetic(struct device *d, const struct list_request *request, int64_t n,
                              const struct halo_particle *halo)
{
  struct list_set set;
  list_set_open(&set, d, request, n, halo);
  list_set_lists(&set, request, 0);
  double kinetic = units_pair_kinetic(&set, request);
  list_set_close(&set);
  return kinetic;
}

const struct unit_star *cpu_lists_lent(struct device *d, int64_t *n)
{
  *n = d->lent.n;
  return d->lent.star;
}

static int by_id(const void *a, const void *b)
{
  const struct unit_star *x = a, *y = b;
  return x->id != y->id ? (x->id < y->id ? -1 : 1) : 0;
}

void cpu_lists_take_back(struct device *d, int64_t n, const struct unit_star *stars)
{
  struct particles *p = &d->p;
  if (n == 0) return;
  struct unit_star *sorted = memory_alloc("hard", sizeof *sorted * (size_t)n);
  memcpy(sorted, stars, sizeof *sorted * (size_t)n);
  qsort(sorted, (size_t)n, sizeof *sorted, by_id);
  for (int64_t i = 0; i < p->n; i++) {
    struct unit_star key = {.id = p->id[i]}, *star = bsearch(&key, sorted, (size_t)n, sizeof key, by_id);
    if (!star) continue;
    memcpy(&p->pos[3 * i], star->pos, sizeof star->pos);
    memcpy(&p->vel[3 * i], star->vel, sizeof star->vel);
    p->level[i] = (uint8_t)star->level;
  }
  memory_free(sorted);
}
