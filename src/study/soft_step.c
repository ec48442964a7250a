/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "study/soft_step.h"

#include <stdlib.h>
#include <string.h>

#include "backend/let_verbs.h"
#include "base/fault.h"
#include "base/memory.h"
#include "particles/timeline.h"
#include "study/virtual_parts.h"

static const struct backend *const be = &backend_cpu;

const char *const soft_step_part_names[SOFT_STEP_PART_COUNT] = {
#define X(name, phase, meaning) #name,
    SOFT_STEP_PARTS(X)
#undef X
};

enum phase soft_step_phase(enum soft_step_part part)
{
  static const enum phase phases[SOFT_STEP_PART_COUNT] = {
#define X(name, phase, meaning) PHASE_##phase,
      SOFT_STEP_PARTS(X)
#undef X
  };
  return phases[part];
}

/* --- the schedule ------------------------------------------------------------------------------------------------ */

/* Add a class, or count it again. Returns the number of classes. */
static int add_class(struct soft_step_class *class, int count, struct soft_step_class new)
{
  for (int k = 0; k < count; k++)
    if (class[k].tick > 0 && new.tick > 0 &&
        class[k].aligned == new.aligned &&class[k].horizon == new.horizon &&class[k].valid == new.valid) {
      class[k].times++;
      return count;
    }
  if (count == SOFT_STEP_CLASSES) fatal("more than %d kinds of selections of LETs in a soft step", SOFT_STEP_CLASSES);
  class[count] = new;
  return count + 1;
}

int soft_step_classes(const struct schedule *schedule, struct soft_step_class class[SOFT_STEP_CLASSES],
                      int64_t *updates, int64_t *builds)
{
  struct soft_step_class open = {.tick = -1}; /* whose next selection is not known yet */
  int count = 0;
  *updates = *builds = 0;
  if (schedule->moment_interval == 0) return 0;
  for (int64_t t = 0; t < TICKS; t += schedule->moment_interval) {
    int32_t tick = (int32_t)t;
    struct schedule_line line = schedule_at(schedule, tick, 0, 1);
    *updates += tick > 0;
    *builds += line.rebuild != REBUILT_NONE;
    if (line.lets == LETS_KEPT || line.lets == LETS_IF_VIOLATED) continue;
    if (open.tick >= 0) {
      open.valid = tick - open.tick;
      count = add_class(class, count, open);
    }
    open = (struct soft_step_class){.tick = tick, .aligned = line.level, .horizon = line.horizon, .times = 1};
  }
  if (open.tick < 0) return 0;
  open.valid = TICKS - open.tick;
  return add_class(class, count, open);
}

/* --- what is sent ------------------------------------------------------------------------------------------------ */

/* The count of a process. */
struct counting {
  struct soft_step *s;
  const struct comm *c;
  int ranks;
  const struct soft_step_wants *wants;
  int64_t capacity;
  const struct soft_step_class *class; /* that is counted at present; NULL: soft LETs */
  int interval_log2;                   /* regular moment updates are 2^-interval_log2 of the soft step apart */
};

static void sent(struct counting *counting, enum soft_step_part part, int from, int to, int64_t times, int64_t messages,
                 int64_t bytes)
{
  struct soft_step *s = counting->s;
  struct soft_step_traffic *t = &s->rank[from].sent[part];
  t->messages += times * messages;
  t->bytes += times * bytes;
  if (!counting->wants->pairs || times * messages == 0) return;
  struct soft_step_pair *last = s->pairs > 0 ? &s->pair[s->pairs - 1] : NULL;
  int phase = (int)soft_step_phase(part);
  if (!last || last->phase != phase || last->from != from || last->to != to) {
    if (s->pairs == counting->capacity) {
      counting->capacity = (int64_t)memory_grown((size_t)counting->capacity, sizeof *s->pair);
      s->pair = memory_resize("study", s->pair, sizeof *s->pair * (size_t)counting->capacity);
    }
    last = &s->pair[s->pairs++];
    *last = (struct soft_step_pair){.phase = phase, .from = from, .to = to};
  }
  last->sent.messages += times * messages;
  last->sent.bytes += times * bytes;
}

/* A message of LETs, with its head. */
static void sent_message(struct counting *counting, enum soft_step_part part, int from, int to, int64_t times,
                         size_t bytes)
{
  struct let_traffic t = {.bytes = 0};
  let_account(&t, counting->c, bytes);
  sent(counting, part, from, to, times, t.messages, t.bytes);
}

/* Bytes of an update of LETs of substeps. */
static size_t update_bytes(const struct virtual_exchange *exchange, int64_t particles, int64_t cells)
{
  return be->let->updates.bytes(&exchange->request, particles, cells);
}

/* Updates of a LET, until the next selection. deeper[i]: its particles of level i and deeper. */
static void send_updates(const struct virtual_exchange *exchange, int from, const struct virtual_let *let,
                         const int64_t *deeper, int deepest)
{
  struct counting *k = exchange->call.sink;
  const struct soft_step_class *c = k->class;
  int32_t interval = timeline_ticks(k->interval_log2);
  int64_t intervals = c->valid / interval, regular[SCHEDULE_LEVELS] = {0};
  for (int64_t j = 1; j < intervals; j++) regular[timeline_aligned((int32_t)(c->tick + j * interval), 0)]++;
  /* where LETs were chosen again, the block step of that tick follows, and its update always; at tick 0 there is
   * none */
  if (c->tick > 0)
    sent_message(k, SOFT_STEP_updates, from, let->receiver, c->times, update_bytes(exchange, deeper[c->aligned], 0));
  for (int i = 0; i < SCHEDULE_LEVELS; i++)
    if (regular[i] > 0)
      sent_message(k, SOFT_STEP_moments, from, let->receiver, c->times * regular[i],
                   update_bytes(exchange, deeper[i], let->size.cells));
  for (int i = k->interval_log2 + 1; i <= deepest; i++) /* ticks within the intervals */
    sent_message(k, SOFT_STEP_updates, from, let->receiver, c->times * (intervals << (i - k->interval_log2 - 1)),
                 update_bytes(exchange, deeper[i], 0));
}

/* Call the caller's function for a LET; deeper NULL: no updates follow. */
static void tell_let(const struct virtual_exchange *exchange, int sender, const struct virtual_let *let,
                     const int64_t *deeper, int deepest)
{
  const struct counting *k = exchange->call.sink;
  if (!k->wants->let) return;
  struct soft_step_let out = {deeper ? (int)(k->class - k->s->class) : -1,
                              sender,
                              let->receiver,
                              (uint32_t)let->box_bytes,
                              (uint32_t)let->bytes,
                              0,
                              deepest,
                              {0}};
  if (deeper) out.cells = (uint32_t)(update_bytes(exchange, 0, let->size.cells) - update_bytes(exchange, 0, 0));
  for (int i = 0; i <= deepest; i++) out.deeper[i] = (uint32_t)update_bytes(exchange, deeper[i], 0);
  k->wants->let(k->wants->let_of, &out);
}

/* Callback of virtual_exchange_lets. */
static void selected(struct virtual_exchange *exchange, int sender, const struct virtual_let *let)
{
  struct counting *k = exchange->call.sink;
  int64_t deeper[SCHEDULE_LEVELS + 1] = {0};
  int deepest = -1, times = k->class ? k->class->times : 1;
  enum soft_step_part part = !k->class ? SOFT_STEP_soft : k->class->tick > 0 ? SOFT_STEP_again : SOFT_STEP_hard;
  sent_message(k, part, let->receiver, sender, times, let->box_bytes);
  sent_message(k, part, sender, let->receiver, times, let->bytes);
  if (!k->class || let->bytes == 0) {
    tell_let(exchange, sender, let, NULL, -1);
    return;
  }
  for (int i = SCHEDULE_LEVELS - 1; i >= 0; i--) {
    deeper[i] = deeper[i + 1] + let->at_level[i];
    if (let->at_level[i] > 0 && deepest < 0) deepest = i;
  }
  send_updates(exchange, sender, let, deeper, deepest);
  tell_let(exchange, sender, let, deeper, deepest);
}

/* Callback of virtual_exchange_lets: a message of LET summaries, of which every process knows. */
static void staged(void *of, int step, int from, int to, int64_t bytes)
{
  struct virtual_exchange *l = of;
  struct counting *k = l->call.sink;
  (void)step;
  if (from % k->c->size != k->c->rank) return;
  sent_message(k, k->class ? SOFT_STEP_hard_summaries : SOFT_STEP_soft_summaries, from, to,
               k->class ? k->class->times : 1, (size_t)bytes);
}

/* --- the particles at a tick ------------------------------------------------------------------------------------- */

/* Positions, velocities and accelerations at the synchronisation, in the order of the particles. */
struct motion_of_all {
  double *pos, *vel;
};

static struct motion_of_all remember(const struct particles *particles)
{
  size_t bytes = 3 * sizeof(double) * (size_t)(particles->n + 1);
  struct motion_of_all m = {memory_alloc("study", bytes), memory_alloc("study", bytes)};
  memcpy(m.pos, particles->pos, bytes - 3 * sizeof(double));
  memcpy(m.vel, particles->vel, bytes - 3 * sizeof(double));
  return m;
}

static void forget(struct motion_of_all *motions)
{
  memory_free(motions->pos);
  memory_free(motions->vel);
}

/* Set the particles to their own times before `tick`, at which they will be where they were at the synchronisation. */
static void set_tick(struct particles *particles, const struct motion_of_all *motions, int32_t tick, double tick_length)
{
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < particles->n; i++) {
    int32_t step = timeline_ticks(particles->level[i]), own = tick > 0 ? (tick - 1) / step * step : 0;
    double dt = (own - tick) * tick_length;
    const float *a = &particles->acc_hard[3 * i];
    particles->tick[i] = own;
    timeline_place(&particles->pos[3 * i], &motions->pos[3 * i], &motions->vel[3 * i], a, dt);
    for (int c = 0; c < 3; c++) particles->vel[3 * i + c] = motions->vel[3 * i + c] + dt * a[c];
  }
}

/* --- migration --------------------------------------------------------------------------------------------------- */

struct move {
  int32_t from, to;
};

static int by_ranks(const void *a, const void *b)
{
  const struct move *x = a, *y = b;
  return x->from != y->from ? (x->from > y->from) - (x->from < y->from) : (x->to > y->to) - (x->to < y->to);
}

/* The particles that are in one domain of `before`, and after the time dt in another one of `after`. On rank 0, which
 * counts them. */
static void migrate(struct counting *counting, const struct particles *particles, const struct domain *before,
                    const struct domain *after, double dt, int64_t times, int threads)
{
  int64_t moved = 0;
  struct move *move = memory_alloc("study", sizeof *move * (size_t)(particles->n + 1));
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t i = 0; i < particles->n; i++) {
    double there[3];
    timeline_place(there, &particles->pos[3 * i], &particles->vel[3 * i], &particles->acc_hard[3 * i], dt);
    move[i] = (struct move){domain_owner(before, &particles->pos[3 * i]), domain_owner(after, there)};
  }
  for (int64_t i = 0; i < particles->n; i++)
    if (move[i].from != move[i].to) move[moved++] = move[i];
  qsort(move, (size_t)moved, sizeof *move, by_ranks);
  for (int64_t i = 0, end; i < moved; i = end) {
    for (end = i; end < moved && by_ranks(&move[i], &move[end]) == 0;) end++;
    int64_t bytes = (end - i) * (int64_t)particle_bytes(), largest = (int64_t)counting->c->largest_message;
    sent(counting, SOFT_STEP_migration, move[i].from, move[i].to, times, (bytes + largest - 1) / largest, bytes);
  }
  memory_free(move);
}

/* Migration at the builds, in the present domains, and at the end of the soft step, to new ones. Collective. */
static void migrations(struct counting *counting, struct global_particles *world, struct domain *domain, int64_t builds,
                       int threads)
{
  struct particles *p = &world->all;
  struct domain next;
  struct lattice lattice = world->lattice;
  struct motion_of_all m = remember(p);
  double interval = world->soft_step / (double)(builds + 1);
  for (int64_t i = 0; i < p->n; i++)
    timeline_place(&p->pos[3 * i], &m.pos[3 * i], &m.vel[3 * i], &p->acc_hard[3 * i], world->soft_step);
  global_particles_open_domain(world, counting->ranks, &next);
  global_particles_cut(counting->c, world, &next);
  world->lattice = lattice;
  memcpy(p->pos, m.pos, 3 * sizeof(double) * (size_t)p->n);
  if (counting->c->rank == 0) {
    if (builds > 0) migrate(counting, p, domain, domain, interval, builds, threads);
    migrate(counting, p, domain, &next, interval, 1, threads);
  }
  domain_close(&next);
  forget(&m);
}

/* --- all of it --------------------------------------------------------------------------------------------------- */

static int by_pair(const void *a, const void *b)
{
  const struct soft_step_pair *x = a, *y = b;
  if (x->phase != y->phase) return x->phase - y->phase;
  return x->from != y->from ? (x->from > y->from) - (x->from < y->from) : (x->to > y->to) - (x->to < y->to);
}

/* Bring the pairs of all processes together on rank 0, one entry for each phase and pair. Collective. */
static void gather_pairs(const struct comm *comm, struct soft_step *step)
{
  size_t bytes;
  struct soft_step_pair *all = comm_gather_root(comm, step->pair, sizeof *all * (size_t)step->pairs, &bytes);
  int64_t n = (int64_t)(bytes / sizeof *all), kept = 0;
  qsort(all, (size_t)n, sizeof *all, by_pair);
  for (int64_t i = 0; i < n; i++) {
    if (kept > 0 && by_pair(&all[kept - 1], &all[i]) == 0) {
      all[kept - 1].sent.messages += all[i].sent.messages;
      all[kept - 1].sent.bytes += all[i].sent.bytes;
    } else {
      all[kept++] = all[i];
    }
  }
  memory_free(step->pair);
  step->pair = all;
  step->pairs = kept;
}

/* Collectives of a soft step without statistics, output and a measurement of R2: how many of a rank, and what it
 * contributes. */
static void count_together(struct soft_step *step, const struct global_particles *world, int ranks, int64_t kept)
{
  /* cuts: rounds and bytes differ a little */
  enum { CUTS = 7, CUT_BYTES = 82064, LEVELS = SCHEDULE_LEVELS + 2, SUMS = 40 };
  struct let_request soft = global_particles_request(world, LET_SOFT),
                     first = global_particles_request(world, LET_STEP), later = first;
  later.active = 1;
  int64_t exchange = (int64_t)sizeof(size_t) * ranks;
  int64_t summaries =
      step->selections > 0
          ? (int64_t)(let_summary_bytes(&first) + (size_t)(step->selections - 1) * let_summary_bytes(&later))
          : 0;
  struct soft_step_traffic *t = step->together.collectives, *g = step->together.gathers;
  t[PHASE_domain] =
      (struct soft_step_traffic){CUTS + 1 + step->migrations, CUT_BYTES + (1 + step->migrations) * exchange};
  t[PHASE_hard_let] = (struct soft_step_traffic){step->selections + kept, 8 * step->selections + 8 * kept};
  t[PHASE_correct] = (struct soft_step_traffic){1, 8 * LEVELS};
  t[PHASE_wait] = (struct soft_step_traffic){3, 14 * 8};
  t[PHASE_diagnostics] = (struct soft_step_traffic){1, 8 * SUMS};
  g[PHASE_let_select] = (struct soft_step_traffic){1, (int64_t)let_summary_bytes(&soft)};
  g[PHASE_hard_let] = (struct soft_step_traffic){step->selections, summaries};
  for (int p = 0; p < PHASE_COUNT; p++) {
    t[p].messages *= ranks;
    g[p].messages *= ranks;
    t[p].bytes *= ranks;
    g[p].bytes *= ranks;
  }
  int *staged = step->together.staged;
  staged[PHASE_let_select] = stages_wanted(&soft, ranks);
  staged[PHASE_hard_let] = stages_wanted(&first, ranks);
  step->together.exchanges = staged[PHASE_let_select] + (staged[PHASE_hard_let] ? step->selections : 0);
  step->together.staged_bytes = soft_step_sum(step, ranks, SOFT_STEP_soft_summaries).bytes +
                                soft_step_sum(step, ranks, SOFT_STEP_hard_summaries).bytes;
}

/* Whether a small change of the block levels would change how often moments are updated: this happens from one soft
 * step to the next. */
static int near_edge(const struct schedule_input *in, const struct schedule *schedule)
{
  struct schedule_input other = *in;
  int edge = 0;
  for (int k = -1; k <= 1; k += 2) {
    other.hard_steps = (int64_t)((1 + 0.05 * k) * (double)in->hard_steps);
    edge |= schedule_make(&other).moment_interval != schedule->moment_interval;
  }
  return edge;
}

/* Soft LETs again, for the pairs, or from what has been counted. */
static void count_soft(struct counting *counting, struct virtual_exchange *exchange, const struct virtual_rank *rows)
{
  if (counting->wants->pairs || counting->wants->let) {
    exchange->kind = LET_SOFT;
    exchange->request = global_particles_request(exchange->w, LET_SOFT);
    virtual_exchange_lets(exchange);
  } else if (counting->c->rank == 0) {
    for (int r = 0; r < counting->ranks; r++) {
      const struct virtual_summaries *t = &rows[r].summaries[LET_SOFT];
      counting->s->rank[r].sent[SOFT_STEP_soft] =
          (struct soft_step_traffic){rows[r].let[LET_SOFT].messages, rows[r].let[LET_SOFT].bytes};
      counting->s->rank[r].sent[SOFT_STEP_soft_summaries] = (struct soft_step_traffic){t->messages, t->bytes};
    }
  }
}

static void count_class(struct counting *counting, struct virtual_exchange *exchange,
                        const struct soft_step_class *class)
{
  double tick_length = exchange->w->soft_step / TICKS;
  counting->class = class;
  exchange->kind = LET_STEP;
  exchange->request = global_particles_request(exchange->w, LET_STEP);
  exchange->request.tick = class->tick;
  exchange->request.horizon = class->horizon * tick_length;
  exchange->request.active = class->tick > 0;
  virtual_exchange_lets(exchange);
  counting->s->selections += class->times;
}

struct soft_step soft_step_count(const struct comm *comm, struct global_particles *particles,
                                 struct global_particles *kicked, const struct schedule_input *in, int ranks,
                                 const struct virtual_rank *rows, const struct soft_step_wants *wants)
{
  struct soft_step s = {.rank = memory_alloc("study", sizeof *s.rank * (size_t)ranks)};
  struct schedule_input input = *in;
  int64_t builds = 0;
  input.ranks = ranks;
  s.schedule = schedule_make(&input);
  s.classes = soft_step_classes(&s.schedule, s.class, &s.moment_updates, &builds);
  struct counting k = {.s = &s, .c = comm, .ranks = ranks, .wants = wants};
  if (ranks == 1) return s;
  while (s.classes > 0 && timeline_ticks(k.interval_log2) > s.schedule.moment_interval) k.interval_log2++;
  s.migrations = builds;
  s.edge = s.moment_updates > 0 && near_edge(&input, &s.schedule);
  struct virtual_exchange l = {
      .c = comm,
      .w = particles,
      .ranks = ranks,
      .call = {.selected = selected, .staged = staged, .sink = &k},
      .progress = {.share = 1.0 / (s.classes + 1), .report = wants->progress, .of = wants->of}};
  virtual_open(&l);
  count_soft(&k, &l, rows);
  kicked->lattice = particles->lattice;
  l.w = kicked;
  struct motion_of_all m = remember(&kicked->all);
  for (int i = 0; i < s.classes; i++) {
    set_tick(&kicked->all, &m, s.class[i].tick, kicked->soft_step / TICKS);
    count_class(&k, &l, &s.class[i]);
  }
  set_tick(&kicked->all, &m, 0, 0);
  forget(&m);
  migrations(&k, kicked, &l.domain, builds, l.threads);
  virtual_close(&l);
  comm_sum_int64(comm, (int64_t *)s.rank, (int)((size_t)ranks * sizeof *s.rank / sizeof(int64_t)));
  if (wants->pairs) gather_pairs(comm, &s);
  count_together(&s, particles, ranks, s.moment_updates - (s.selections > 0 ? s.selections - 1 : 0));
  return s;
}

void soft_step_free(struct soft_step *step)
{
  memory_free(step->rank);
  memory_free(step->pair);
  *step = (struct soft_step){.rank = NULL};
}

struct soft_step_traffic soft_step_sum(const struct soft_step *step, int ranks, enum soft_step_part part)
{
  struct soft_step_traffic sum = {0};
  for (int r = 0; r < ranks; r++) {
    sum.messages += step->rank[r].sent[part].messages;
    sum.bytes += step->rank[r].sent[part].bytes;
  }
  return sum;
}
