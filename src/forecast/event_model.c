/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "forecast/event_model.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "mpi/stages.h"
#include "particles/timeline.h"

const char *const event_phase_names[EVENT_PHASES_COUNT] = {
#define X(name, meaning) #name,
    EVENT_PHASES(X)
#undef X
};

/* Bytes of LETs that are selected in the time in which one particle is sorted into the tree. */
enum { BYTES_PER_PARTICLE = 64 };
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
  return e->link[from] + machine_latency(e->m, ranks, from, to);
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

static double tree_seconds(const struct machine *m, double particles) { return particles / m->order_rate + particles / m->build_rate; }

/* The exchange of boxes and LETs of a class, lets[first ... last - 1]. */
static void exchange(struct model *e, int64_t first, int64_t last, enum event_phase phase)
{
  const struct soft_step_let *let = e->in->let;
  int ranks = e->in->ranks;
  memset(e->ready, 0, sizeof *e->ready * (size_t)ranks);
  for (int64_t k = first; k < last; k++) e->ready[let[k].from] = fmax(e->ready[let[k].from], sends(e, let[k].to, let[k].from, phase, let[k].boxes));
  for (int64_t k = first; k < last; k++) {
    waits(e, let[k].from, e->ready[let[k].from]);
    works(e, let[k].from, phase, (double)let[k].bytes / BYTES_PER_PARTICLE / e->m->build_rate);
    e->arrived[k] = sends(e, let[k].from, let[k].to, phase, let[k].bytes);
  }
}

/* Ranks wait for the messages of a class that have been sent. */
static void wait_for_lets(struct model *e, int64_t first, int64_t last)
{
  for (int64_t k = first; k < last; k++) waits(e, e->in->let[k].to, e->arrived[k]);
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
    works(e, r, EVENT_tree, tree_seconds(e->m, (double)in->local[r]));
  }
  meets(e, 1);
  exchange(e, 0, lets, EVENT_let_select);
  for (int64_t k = 0; k < lets; k++) received[in->let[k].to] += (double)in->let[k].bytes / BYTES_PER_PARTICLE;
  const double rate = in->split ? e->m->split_rate : e->m->walk_rate;
  for (int r = 0; r < in->ranks; r++) {   /* the local tree first: its part of the entries that are walked */
    double n = (double)in->local[r];
    works(e, r, EVENT_walk, e->m->walk_floor + (n > 0 ? n / (n + received[r]) : 0) * n * in->full_pairs / rate + n / e->m->correct_rate);
  }
  wait_for_lets(e, 0, lets);
  for (int r = 0; r < in->ranks; r++) {
    double n = (double)in->local[r];
    works(e, r, EVENT_walk, (n > 0 ? received[r] / (n + received[r]) : 0) * n * in->full_pairs / rate);
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
    works(e, r, EVENT_hard_walk, m->substep_floor + m->walk_floor + n * in->hard_pairs / (in->split ? m->hard_rate : m->block_rate) + n / m->correct_rate);
  }
  for (int64_t k = first; k < last; k++) {
    const struct soft_step_let *l = &in->let[k];
    if (!regular && !again && l->deepest < aligned) continue;
    double bytes = l->deepest >= aligned ? l->deeper[aligned] : 0;
    e->arrived[k] = sends(e, l->from, l->to, EVENT_hard_let, bytes + (regular ? l->cells : 0));
  }
}

/* The substeps from a selection to the next one. */
static void section(struct model *e, const struct soft_step_class *c, int64_t first, int64_t last)
{
  const struct event_input *in = e->in;
  const struct schedule *s = &in->step->schedule;
  int32_t finest = timeline_ticks(s->level_max) < s->moment_interval ? timeline_ticks(s->level_max) : s->moment_interval;
  int64_t ticks = c->valid / finest, followed = 0, most = (int64_t)fmax(MESSAGES_MAX / (double)(last - first + in->ranks), 4);
  if (c->tick > 0 && s->builds != BUILDS_NONE)
    for (int r = 0; r < in->ranks; r++) works(e, r, EVENT_tree, tree_seconds(e->m, (double)in->local[r]));
  exchange(e, first, last, EVENT_hard_let);
  if (c->tick > 0) tick(e, first, last, c->aligned, 0, 1);
  for (int64_t j = 1; j < ticks && followed < most; j++, followed++) {
    int32_t at = (int32_t)(c->tick + j * finest);
    tick(e, first, last, timeline_aligned(at, 0), at % s->moment_interval == 0, 0);
  }
  e->times->floors[EVENT_hard_walk] += c->times * ((double)(ticks - 1) + (c->tick > 0)) * (e->m->substep_floor + e->m->walk_floor);
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
  struct model e = {.in = in, .m = m, .times = times};
  memset(times, 0, sizeof *times);
  e.clock = memory_alloc("study", sizeof *e.clock * n);
  e.link = memory_alloc("study", sizeof *e.link * n);
  e.ready = memory_alloc("study", sizeof *e.ready * n);
  e.spent = memory_alloc("study", sizeof *e.spent * n);
  e.arrived = memory_alloc("study", sizeof *e.arrived * (size_t)(in->lets + 1));
  times->floors[EVENT_walk] = m->walk_floor;
  int64_t at = 0;
  while (at < in->lets && in->let[at].class < 0) at++;
  synchronise(&e, at);
  for (int k = 0; k < in->step->classes; k++) {
    int64_t first = at;
    while (at < in->lets && in->let[at].class == k) at++;
    section(&e, &in->step->class[k], first, at);
  }
  if (in->ranks == 1 && in->step->schedule.moment_interval > 0)   /* no LETs are selected */
    section(&e, &(struct soft_step_class){.valid = TICKS, .times = 1}, 0, 0);
  double collective = event_collectives(&in->step->together, in->ranks, in->ranks, m);
  times->mean[EVENT_collective] += collective;
  times->critical[EVENT_collective] += collective;
  memory_free(e.clock);
  memory_free(e.link);
  memory_free(e.ready);
  memory_free(e.spent);
  memory_free(e.arrived);
}
