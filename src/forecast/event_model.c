/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "forecast/event_model.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "forecast/substep_lines.h"
#include "mpi/stages.h"
#include "particles/timeline.h"

const char *const event_phase_names[EVENT_PHASES_COUNT] = {
#define X(name, meaning) #name,
    EVENT_PHASES(X)
#undef X
};

/* Bytes of an entry of a LET, for the part of a walk that LETs are. */
enum { BYTES_PER_ENTRY = 64 };
/* Most messages of updates that are followed one by one in the substeps between two selections; of more, a part is. */
#define MESSAGES_MAX 3e8

struct model {
  const struct event_input *in;
  const struct machine *m;
  struct event_times *times;
  double *clock, *link;          /* [ranks] the rank is busy until; its link is */
  double (*spent)[EVENT_PHASES_COUNT];   /* [ranks] in the present section */
  double *ready;                 /* [ranks] the last arrival of messages for the next work */
  double *arrived;               /* [lets] arrival of the last message of a LET */
  int *trees;                    /* [ranks] LETs that it walks at present */
};

static void works(struct model *e, int rank, enum event_phase phase, double seconds)
{
  e->clock[rank] += seconds;
  e->spent[rank][phase] += seconds;
}

static void waits(struct model *e, int rank, double until)
{
  if (until > e->clock[rank]) works(e, rank, EVENT_wait, until - e->clock[rank]);
}

/* Send a message. Returns the time of its arrival. */
static double sends(struct model *e, int from, int to, enum event_phase phase, double bytes)
{
  int ranks = e->in->ranks;
  works(e, from, phase, e->m->overhead + e->m->message_copy);
  e->link[from] = fmax(e->link[from], e->clock[from]) + bytes / machine_bandwidth(e->m, ranks, from, to);
  return e->link[from] + machine_latency(e->m, ranks, from, to) + e->m->message_delay;
}

/* All ranks meet; `times`: how often what has happened since they last met happens in a soft step. */
static void meets(struct model *e, double times)
{
  int ranks = e->in->ranks, last = 0;
  for (int r = 1; r < ranks; r++)
    if (e->clock[r] > e->clock[last]) last = r;
  for (int p = 0; p < EVENT_PHASES_COUNT; p++) e->times->critical[p] += times * e->spent[last][p];
  for (int r = 0; r < ranks; r++) {
    waits(e, r, e->clock[last]);
    for (int p = 0; p < EVENT_PHASES_COUNT; p++) e->times->mean[p] += times * e->spent[r][p] / ranks;
    e->clock[r] = e->link[r] = 0;
    memset(e->spent[r], 0, sizeof e->spent[r]);
  }
}

/* Seconds of the collectives of a phase. */
static double of_phase(const struct soft_step_traffic *t, int known_ranks, double ranks, const struct machine *m, int gathers)
{
  double count = (double)t->messages / known_ranks, bytes = count > 0 ? (double)t->bytes / (double)t->messages : 0;
  return count * machine_collective(m, ranks, bytes, gathers);
}

/* Seconds of LET summaries in stages: each exchange goes up and down through all groups, as two reductions do. */
static double stages(const struct soft_step_together *t, int known_ranks, double ranks, const struct machine *m)
{
  double grown = log2(ranks) / log2(known_ranks), bytes = (double)t->staged_bytes / known_ranks * grown * grown;
  double startup = machine_collective(m, ranks, 0, 0);
  return 2 * (double)t->exchanges * startup + machine_collective(m, ranks, 0.5 * bytes, 0) - startup;
}

double event_collectives(const struct soft_step_together *together, int known_ranks, double ranks, const struct machine *m)
{
  double seconds = 0;
  int few = ranks < stages_ranks();
  for (int p = 0; p < PHASE_COUNT; p++) {
    seconds += of_phase(&together->collectives[p], known_ranks, ranks, m, 0);
    if (few || !together->staged[p]) seconds += of_phase(&together->gathers[p], known_ranks, ranks, m, 1);
  }
  return few || together->exchanges == 0 ? seconds : seconds + stages(together, known_ranks, ranks, m);
}

/* --- parts of a soft step ---------------------------------------------------------------------------------------- */

/* The exchange of boxes and LETs of a class, lets[first ... last - 1]. */
static void exchange(struct model *e, int64_t first, int64_t last, enum event_phase phase)
{
  const struct soft_step_let *let = e->in->let;
  int ranks = e->in->ranks;
  memset(e->ready, 0, sizeof *e->ready * (size_t)ranks);
  for (int r = 0; r < ranks && ranks > 1; r++) {
    int hard = e->in->split && phase == EVENT_hard_let;
    works(e, r, phase, hard ? e->m->hard_let_floor + (double)e->in->local[r] / e->m->hard_let_rate : e->m->let_floor);
  }
  for (int64_t k = first; k < last; k++) e->ready[let[k].from] = fmax(e->ready[let[k].from], sends(e, let[k].to, let[k].from, phase, let[k].boxes));
  for (int64_t k = first; k < last; k++) {
    waits(e, let[k].from, e->ready[let[k].from]);
    works(e, let[k].from, phase, machine_let(e->m, let[k].bytes));
    e->arrived[k] = sends(e, let[k].from, let[k].to, phase, let[k].bytes);
  }
}

/* Count the LETs of a class that each rank has. */
static void count_trees(struct model *e, int64_t first, int64_t last)
{
  memset(e->trees, 0, sizeof *e->trees * (size_t)e->in->ranks);
  for (int64_t k = first; k < last; k++) e->trees[e->in->let[k].to] += e->in->let[k].bytes > 0;
}

/* Ranks wait for the messages of a class that have been sent. */
static void wait_for_lets(struct model *e, int64_t first, int64_t last)
{
  for (int64_t k = first; k < last; k++) waits(e, e->in->let[k].to, e->arrived[k]);
}

/* What a rank does for its particles at a synchronisation beside forces and trees, and on several ranks for their new ranks. */
static void step_work(struct model *e, int rank)
{
  const struct event_input *in = e->in;
  const struct machine *m = e->m;
  double n = (double)in->local[rank];
  works(e, rank, EVENT_step, m->step_floor + n / m->step_rate);
  if (in->ranks > 1) works(e, rank, EVENT_migration, m->ranks_floor + n / m->domain_rate);
}

/* The part of a walk that comes before LETs of so many entries have arrived: a GPU walks all trees together. */
static double walked_first(const struct machine *m, double local, double received)
{
  return m->device == DEVICE_gpu || local == 0 ? 0 : local / (local + received);
}

/* From the end of the substeps to the next forces. */
static void synchronise(struct model *e, int64_t lets)
{
  const struct event_input *in = e->in;
  double *received = memory_alloc("study", sizeof *received * (size_t)in->ranks);
  for (int r = 0; r < in->ranks; r++) {
    const struct soft_step_traffic *t = &in->step->rank[r].sent[SOFT_STEP_migration];
    double part = 1.0 / (1 + (double)in->step->migrations);
    works(e, r, EVENT_migration, part * (double)t->messages * (e->m->overhead + e->m->message_copy + machine_latency(e->m, in->ranks, r, (r + 1) % in->ranks)) +
                                 part * (double)t->bytes / machine_bandwidth(e->m, in->ranks, r, (r + 1) % in->ranks));
    step_work(e, r);
    works(e, r, EVENT_tree, machine_tree(e->m, (double)in->local[r]));
  }
  meets(e, 1);
  exchange(e, 0, lets, EVENT_let_select);
  count_trees(e, 0, lets);
  for (int64_t k = 0; k < lets; k++) received[in->let[k].to] += (double)in->let[k].bytes / BYTES_PER_ENTRY;
  const double rate = in->split ? e->m->split_rate : e->m->walk_rate;
  for (int r = 0; r < in->ranks; r++) {
    double n = (double)in->local[r], all = machine_walk(e->m, n * in->full_pairs, rate);
    works(e, r, EVENT_walk, e->m->walk_floor + walked_first(e->m, n, received[r]) * all);
    works(e, r, EVENT_step, n / e->m->correct_rate);
  }
  wait_for_lets(e, 0, lets);
  for (int r = 0; r < in->ranks; r++) {
    double n = (double)in->local[r], all = machine_walk(e->m, n * in->full_pairs, rate);
    works(e, r, EVENT_walk, (1 - walked_first(e->m, n, received[r])) * all + n * e->trees[r] / e->m->let_walk_rate);
  }
  meets(e, 1);
  memory_free(received);
}

/* The number of particles of a rank that are active where steps of level `aligned` and deeper end. */
static double active(const struct model *e, int rank, int aligned)
{
  int64_t sum = 0;
  for (int l = aligned; l < SCHEDULE_LEVELS; l++) sum += e->in->level[rank][l];
  return (double)sum;
}

/* The block step of n particles. */
static void block_step(struct model *e, int rank, double n)
{
  const struct event_input *in = e->in;
  const struct machine *m = e->m;
  double pairs = n * in->hard_pairs, seconds = in->split ? n / m->hard_target_rate + pairs / m->hard_rate : machine_walk(m, pairs, m->block_rate);
  if (in->ranks > 1) seconds += m->ranks_substep_floor + (in->split ? 0 : n * e->trees[rank] / m->let_walk_rate);
  works(e, rank, EVENT_hard_walk, m->substep_floor + m->walk_floor + seconds + n / m->correct_rate);
}

/* A tick: block steps of the ranks with active particles, then their updates. `regular`: a moment update. */
static void tick(struct model *e, int64_t first, int64_t last, int aligned, int regular, int again)
{
  const struct event_input *in = e->in;
  const struct machine *m = e->m;
  memset(e->ready, 0, sizeof *e->ready * (size_t)in->ranks);
  for (int64_t k = first; k < last; k++) e->ready[in->let[k].to] = fmax(e->ready[in->let[k].to], e->arrived[k]);
  for (int r = 0; r < in->ranks; r++) {
    double n = active(e, r, aligned);
    if (regular) works(e, r, EVENT_tree, (double)in->local[r] / m->update_rate);
    if (n == 0) continue;
    waits(e, r, e->ready[r]);
    block_step(e, r, n);
  }
  for (int64_t k = first; k < last; k++) {
    const struct soft_step_let *l = &in->let[k];
    if (!regular && !again && l->deepest < aligned) continue;
    double bytes = l->deepest >= aligned ? l->deeper[aligned] : 0;
    if (regular) bytes += l->cells;
    works(e, l->from, EVENT_hard_let, machine_let_update(m, bytes));
    e->arrived[k] = sends(e, l->from, l->to, EVENT_hard_let, bytes);
  }
}

/* The fixed costs of so many ticks after a selection of LETs. */
static void add_floors(struct model *e, const struct soft_step_class *c, double ticks)
{
  const struct machine *m = e->m;
  double *floors = e->times->floors;
  floors[EVENT_hard_walk] += c->times * ticks * (m->substep_floor + m->walk_floor + m->ranks_substep_floor);
  floors[EVENT_hard_let] += c->times * (e->in->split ? m->hard_let_floor : m->let_floor);
  if (c->tick > 0 && e->in->step->schedule.builds != BUILDS_NONE) floors[EVENT_tree] += c->times * m->tree_floor;
}

/* The substeps of one rank, which selects no LETs. */
static void substeps_alone(struct model *e)
{
  const struct event_input *in = e->in;
  const struct schedule *s = &in->step->schedule;
  double n = (double)in->local[0];
  int32_t built = 0;
  for (int64_t t = 0; t < TICKS; t += substep_interval(s)) {
    struct schedule_line line = substep_line(s, (int32_t)t, in->step->schedule.walks_tree, &built);
    double now = t > 0 ? active(e, 0, line.level) : 0;
    if (line.rebuild != REBUILT_NONE) works(e, 0, EVENT_tree, machine_rebuild(e->m, n));
    else if (line.moments != MOMENTS_KEPT) works(e, 0, EVENT_tree, n / e->m->update_rate);
    if (now > 0) block_step(e, 0, now);
  }
  meets(e, 1);
}

/* The substeps from a selection to the next one. */
static void section(struct model *e, const struct soft_step_class *c, int64_t first, int64_t last)
{
  const struct event_input *in = e->in;
  const struct schedule *s = &in->step->schedule;
  int32_t finest = timeline_ticks(s->level_max) < s->moment_interval ? timeline_ticks(s->level_max) : s->moment_interval;
  int64_t ticks = c->valid / finest, followed = 0, most = (int64_t)fmax(MESSAGES_MAX / (double)(last - first + in->ranks), 4);
  for (int r = 0; r < in->ranks; r++) {
    double n = (double)in->local[r];
    int build = c->tick > 0 && s->builds != BUILDS_NONE;
    if (build) works(e, r, EVENT_migration, n / e->m->migrate_rate);
    works(e, r, EVENT_tree, build ? machine_rebuild(e->m, n) : n / e->m->update_rate);
  }
  exchange(e, first, last, EVENT_hard_let);
  count_trees(e, first, last);
  if (c->tick > 0) tick(e, first, last, c->aligned, 0, 1);
  for (int64_t j = 1; j < ticks && followed < most; j++, followed++) {
    int32_t at = (int32_t)(c->tick + j * finest);
    tick(e, first, last, timeline_aligned(at, 0), at % s->moment_interval == 0, 0);
  }
  add_floors(e, c, (double)(ticks - 1) + (c->tick > 0));
  meets(e, c->times * (followed > 0 ? (double)(ticks - 1) / (double)followed : 1));
}

double event_total(const double *phase)
{
  double sum = 0;
  for (int p = 0; p < EVENT_PHASES_COUNT; p++) sum += phase[p];
  return sum;
}

void event_model(const struct event_input *in, const struct machine *m, struct event_times *times)
{
  size_t n = (size_t)in->ranks;
  struct machine own = machine_shared(m, in->ranks);
  struct model e = {.in = in, .m = &own, .times = times};
  memset(times, 0, sizeof *times);
  e.clock = memory_alloc("study", sizeof *e.clock * n);
  e.link = memory_alloc("study", sizeof *e.link * n);
  e.ready = memory_alloc("study", sizeof *e.ready * n);
  e.spent = memory_alloc("study", sizeof *e.spent * n);
  e.arrived = memory_alloc("study", sizeof *e.arrived * (size_t)(in->lets + 1));
  e.trees = memory_alloc("study", sizeof *e.trees * n);
  times->floors[EVENT_step] = own.step_floor;
  times->floors[EVENT_tree] = own.tree_floor;
  times->floors[EVENT_walk] = own.walk_floor;
  if (in->ranks > 1) times->floors[EVENT_migration] = own.ranks_floor, times->floors[EVENT_let_select] = own.let_floor;
  int64_t at = 0;
  while (at < in->lets && in->let[at].class < 0) at++;
  synchronise(&e, at);
  for (int k = 0; k < in->step->classes; k++) {
    int64_t first = at;
    while (at < in->lets && in->let[at].class == k) at++;
    section(&e, &in->step->class[k], first, at);
  }
  if (in->ranks == 1 && in->step->schedule.moment_interval > 0)   /* no LETs are selected */
    substeps_alone(&e);
  double collective = event_collectives(&in->step->together, in->ranks, in->ranks, &own);
  times->mean[EVENT_collective] += collective;
  times->critical[EVENT_collective] += collective;
  memory_free(e.clock);
  memory_free(e.link);
  memory_free(e.ready);
  memory_free(e.spent);
  memory_free(e.arrived);
  memory_free(e.trees);
}
