/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "forecast/event_model.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "forecast/substep_lines.h"
#include "mpi/let/stages.h"
#include "particles/timeline.h"
#include "trace/clock.h"

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
  struct clocks clocks;
  double (*spent)[EVENT_PHASES_COUNT]; /* [ranks] in the present section */
  double *useful;                      /* [ranks] of the soft step, without waiting */
  double *ready;                       /* [ranks] the last arrival of messages for the next work */
  double *arrived;                     /* [lets] arrival of the last message of a LET */
  int *trees;                          /* [ranks] LETs that it walks at present */
};

static void spend_seconds(struct model *model, int rank, enum event_phase phase, double seconds)
{
  clock_work(&model->clocks, rank, seconds);
  model->spent[rank][phase] += seconds;
}

static void wait_until(struct model *model, int rank, double until)
{
  model->spent[rank][EVENT_wait] += clock_wait(&model->clocks, rank, until);
}

/* Send a message. Returns the time of its arrival. */
static double send_message(struct model *model, int from, int to, enum event_phase phase, double bytes)
{
  model->spent[from][phase] += model->m->network.overhead + model->m->network.copy;
  return clock_send(&model->clocks, from, to, bytes);
}

/* All ranks meet; `times`: how often what has happened since they last met happens in a soft step. */
static void synchronise_ranks(struct model *model, double times)
{
  int ranks = model->in->ranks;
  struct meeting meeting = {0};
  for (int r = 0; r < ranks; r++) meeting_join(&meeting, r, model->clocks.now[r]);
  for (int p = 0; p < EVENT_PHASES_COUNT; p++) model->times->critical[p] += times * model->spent[meeting.last][p];
  for (int r = 0; r < ranks; r++) {
    wait_until(model, r, meeting.latest);
    for (int p = 0; p < EVENT_PHASES_COUNT; p++) model->times->mean[p] += times * model->spent[r][p] / ranks;
    model->useful[r] += times * (event_total(model->spent[r]) - model->spent[r][EVENT_wait]);
    memset(model->spent[r], 0, sizeof model->spent[r]);
  }
  clocks_restart(&model->clocks);
}

/* Seconds of the collectives of a phase. */
static double collective_seconds(const struct soft_step_traffic *traffic, int known_ranks, int ranks,
                                 const struct network *network, enum event_kind kind)
{
  double count = (double)traffic->messages / known_ranks,
         bytes = count > 0 ? (double)traffic->bytes / (double)traffic->messages : 0;
  return count * network_collective(network, kind, ranks, bytes);
}

/* Seconds of LET summaries in stages: each exchange goes up and down through all groups, each time with the startups of
 * a reduction. A rank sends the bytes once. */
static double stages(const struct soft_step_together *together, int known_ranks, int ranks,
                     const struct network *network)
{
  double grown = log2(ranks) / log2(known_ranks), bytes = (double)together->staged_bytes / known_ranks * grown * grown;
  return 2 * (double)together->exchanges * network_collective(network, EVENT_barrier, ranks, 0) +
         bytes * network_per_byte(network, ranks, 0, ranks - 1);
}

double event_collectives(const struct soft_step_together *together, int known_ranks, int ranks,
                         const struct network *network)
{
  struct network own = *network;
  struct fault fault = {""}; /* too few places: said at the begin */
  double seconds = 0;
  int few = ranks < stages_ranks();
  network_place(&own, ranks, &fault);
  for (int p = 0; p < PHASE_COUNT; p++) {
    seconds += collective_seconds(&together->collectives[p], known_ranks, ranks, &own, EVENT_allreduce);
    if (few || !together->staged[p])
      seconds += collective_seconds(&together->gathers[p], known_ranks, ranks, &own, EVENT_allgather);
  }
  return few || together->exchanges == 0 ? seconds : seconds + stages(together, known_ranks, ranks, &own);
}

/* --- parts of a soft step ---------------------------------------------------------------------------------------- */

/* The exchange of boxes and LETs of a class, lets[first ... last - 1]. */
static void exchange(struct model *model, int64_t first, int64_t last, enum event_phase phase)
{
  const struct soft_step_let *let = model->in->let;
  int ranks = model->in->ranks;
  memset(model->ready, 0, sizeof *model->ready * (size_t)ranks);
  for (int r = 0; r < ranks && ranks > 1; r++) {
    int hard = model->in->split && phase == EVENT_hard_let;
    spend_seconds(model, r, phase,
                  hard ? model->m->hard_let_floor + (double)model->in->local[r] / model->m->hard_let_rate
                       : model->m->let_floor);
  }
  for (int64_t k = first; k < last; k++)
    model->ready[let[k].from] =
        fmax(model->ready[let[k].from], send_message(model, let[k].to, let[k].from, phase, let[k].boxes));
  for (int64_t k = first; k < last; k++) {
    wait_until(model, let[k].from, model->ready[let[k].from]);
    spend_seconds(model, let[k].from, phase, machine_let(model->m, let[k].bytes));
    model->arrived[k] = send_message(model, let[k].from, let[k].to, phase, let[k].bytes);
  }
}

/* Count the LETs of a class that each rank has. */
static void count_trees(struct model *model, int64_t first, int64_t last)
{
  memset(model->trees, 0, sizeof *model->trees * (size_t)model->in->ranks);
  for (int64_t k = first; k < last; k++) model->trees[model->in->let[k].to] += model->in->let[k].bytes > 0;
}

/* Ranks wait for the messages of a class that have been sent. */
static void wait_for_lets(struct model *model, int64_t first, int64_t last)
{
  for (int64_t k = first; k < last; k++) wait_until(model, model->in->let[k].to, model->arrived[k]);
}

/* What a rank does for its particles at a synchronisation beside forces and trees, and on several ranks for their new
 * ranks. */
static void step_work(struct model *model, int rank)
{
  const struct event_input *in = model->in;
  const struct machine *m = model->m;
  double n = (double)in->local[rank];
  spend_seconds(model, rank, EVENT_step, m->step_floor + n / m->step_rate);
  if (in->ranks > 1) spend_seconds(model, rank, EVENT_migration, m->ranks_floor + n / m->domain_rate);
}

/* The part of a walk that comes before LETs of so many entries have arrived: a GPU walks all trees together. */
static double walked_first(const struct machine *machine, double local, double received)
{
  return machine->device == DEVICE_gpu || local == 0 ? 0 : local / (local + received);
}

/* From the end of the substeps to the next forces. */
static void synchronise(struct model *model, int64_t lets)
{
  const struct event_input *in = model->in;
  double *received = memory_alloc("study", sizeof *received * (size_t)in->ranks);
  for (int r = 0; r < in->ranks; r++) {
    const struct soft_step_traffic *t = &in->step->rank[r].sent[SOFT_STEP_migration];
    int next = (r + 1) % in->ranks;
    double part = 1.0 / (1 + (double)in->step->migrations);
    spend_seconds(
        model, r, EVENT_migration,
        part * (double)t->messages *
                (model->m->network.overhead + model->m->network.copy + network_latency(&model->m->network, r, next)) +
            part * (double)t->bytes * network_per_byte(&model->m->network, in->ranks, r, next));
    step_work(model, r);
    spend_seconds(model, r, EVENT_tree, machine_tree(model->m, (double)in->local[r]));
  }
  synchronise_ranks(model, 1);
  exchange(model, 0, lets, EVENT_let_select);
  count_trees(model, 0, lets);
  for (int64_t k = 0; k < lets; k++) received[in->let[k].to] += (double)in->let[k].bytes / BYTES_PER_ENTRY;
  const double rate = in->split ? model->m->split_rate : model->m->walk_rate;
  for (int r = 0; r < in->ranks; r++) {
    double n = (double)in->local[r], all = machine_walk(model->m, n * in->full_pairs, rate);
    spend_seconds(model, r, EVENT_walk, model->m->walk_floor + walked_first(model->m, n, received[r]) * all);
    spend_seconds(model, r, EVENT_step, n / model->m->correct_rate);
  }
  wait_for_lets(model, 0, lets);
  for (int r = 0; r < in->ranks; r++) {
    double n = (double)in->local[r], all = machine_walk(model->m, n * in->full_pairs, rate);
    spend_seconds(model, r, EVENT_walk,
                  (1 - walked_first(model->m, n, received[r])) * all + n * model->trees[r] / model->m->let_walk_rate);
  }
  synchronise_ranks(model, 1);
  memory_free(received);
}

/* The number of particles of a rank that are active where steps of level `aligned` and deeper end. */
static double active(const struct model *model, int rank, int aligned)
{
  int64_t sum = 0;
  for (int l = aligned; l < SCHEDULE_LEVELS; l++) sum += model->in->level[rank][l];
  return (double)sum;
}

/* The number of particles of a rank in a band of block levels and in deeper ones. */
static double from_band(const struct model *model, int rank, int band)
{
  return active(model, rank, band > 0 ? band_first_level(model->in->step->schedule.bands, band) : 0);
}

/* The block step of n particles. */
static void block_step(struct model *model, int rank, double n)
{
  const struct event_input *in = model->in;
  const struct machine *m = model->m;
  double pairs = n * in->hard_pairs, seconds = in->split ? n / m->hard_target_rate + pairs / m->hard_rate
                                                         : machine_block_walk(m, pairs, in->step->schedule.bands != 0);
  if (in->ranks > 1) seconds += m->ranks_substep_floor + (in->split ? 0 : n * model->trees[rank] / m->let_walk_rate);
  spend_seconds(model, rank, EVENT_hard_walk, m->substep_floor + m->walk_floor + seconds + n / m->correct_rate);
}

/* A tick: block steps of the ranks with active particles, then their updates. `regular`: a moment update. */
static void tick(struct model *model, int64_t first, int64_t last, int aligned, int regular, int again)
{
  const struct event_input *in = model->in;
  const struct machine *m = model->m;
  memset(model->ready, 0, sizeof *model->ready * (size_t)in->ranks);
  for (int64_t k = first; k < last; k++)
    model->ready[in->let[k].to] = fmax(model->ready[in->let[k].to], model->arrived[k]);
  for (int r = 0; r < in->ranks; r++) {
    double n = active(model, r, aligned);
    if (regular) spend_seconds(model, r, EVENT_tree, (double)in->local[r] / m->update_rate);
    if (n == 0) continue;
    wait_until(model, r, model->ready[r]);
    block_step(model, r, n);
  }
  for (int64_t k = first; k < last; k++) {
    const struct soft_step_let *l = &in->let[k];
    if (!regular && !again && l->deepest < aligned) continue;
    double bytes = l->deepest >= aligned ? l->deeper[aligned] : 0;
    if (regular) bytes += l->cells;
    spend_seconds(model, l->from, EVENT_hard_let, machine_let_update(m, bytes));
    model->arrived[k] = send_message(model, l->from, l->to, EVENT_hard_let, bytes);
  }
}

/* The fixed costs of so many ticks after a selection of LETs. */
static void add_floors(struct model *model, const struct soft_step_class *soft_step_class, double ticks)
{
  const struct machine *m = model->m;
  double *floors = model->times->floors;
  floors[EVENT_hard_walk] +=
      soft_step_class->times * ticks * (m->substep_floor + m->walk_floor + m->ranks_substep_floor);
  floors[EVENT_hard_let] += soft_step_class->times * (model->in->split ? m->hard_let_floor : m->let_floor);
  if (soft_step_class->tick > 0 && model->in->step->schedule.builds != BUILDS_NONE)
    floors[EVENT_tree] += soft_step_class->times * m->tree_floor;
}

/* The substeps of one rank, which selects no LETs. */
static void substeps_alone(struct model *model)
{
  const struct event_input *in = model->in;
  const struct schedule *s = &in->step->schedule;
  double n = (double)in->local[0];
  int32_t built = 0;
  for (int64_t t = 0; t < TICKS; t += substep_interval(s)) {
    struct schedule_line line = substep_line(s, (int32_t)t, in->step->schedule.walks_tree, &built);
    double now = t > 0 ? active(model, 0, line.level) : 0;
    if (line.rebuild != REBUILT_NONE)
      spend_seconds(model, 0, EVENT_tree, machine_rebuild(model->m, from_band(model, 0, line.from_band)));
    else if (line.moments != MOMENTS_KEPT) spend_seconds(model, 0, EVENT_tree, n / model->m->update_rate);
    if (now > 0) block_step(model, 0, now);
  }
  synchronise_ranks(model, 1);
}

/* The substeps from a selection to the next one. */
static void section(struct model *model, const struct soft_step_class *soft_step_class, int64_t first, int64_t last)
{
  const struct event_input *in = model->in;
  const struct schedule *s = &in->step->schedule;
  int32_t finest =
      timeline_ticks(s->level_max) < s->moment_interval ? timeline_ticks(s->level_max) : s->moment_interval;
  int64_t ticks = soft_step_class->valid / finest, followed = 0,
          most = (int64_t)fmax(MESSAGES_MAX / (double)(last - first + in->ranks), 4);
  for (int r = 0; r < in->ranks; r++) {
    double n = (double)in->local[r];
    int build = soft_step_class->tick > 0 && s->builds != BUILDS_NONE;
    double built = from_band(model, r, band_of_level(s->bands, soft_step_class->aligned));
    if (build) spend_seconds(model, r, EVENT_migration, n / model->m->migrate_rate);
    spend_seconds(model, r, EVENT_tree, build ? machine_rebuild(model->m, built) : n / model->m->update_rate);
  }
  exchange(model, first, last, EVENT_hard_let);
  count_trees(model, first, last);
  if (soft_step_class->tick > 0) tick(model, first, last, soft_step_class->aligned, 0, 1);
  for (int64_t j = 1; j < ticks && followed < most; j++, followed++) {
    int32_t at = (int32_t)(soft_step_class->tick + j * finest);
    tick(model, first, last, timeline_aligned(at, 0), at % s->moment_interval == 0, 0);
  }
  add_floors(model, soft_step_class, (double)(ticks - 1) + (soft_step_class->tick > 0));
  synchronise_ranks(model, soft_step_class->times * (followed > 0 ? (double)(ticks - 1) / (double)followed : 1));
}

double event_total(const double *phase)
{
  double sum = 0;
  for (int p = 0; p < EVENT_PHASES_COUNT; p++) sum += phase[p];
  return sum;
}

struct efficiency event_efficiency(const struct event_times *times)
{
  return efficiency_of(times->useful_mean, times->useful_max, event_total(times->critical), times->ideal);
}

/* Sum the seconds of a rank's work: mean and largest. */
static void sum_useful(const struct model *model)
{
  int ranks = model->in->ranks;
  for (int r = 0; r < ranks; r++) {
    model->times->useful_mean += model->useful[r] / ranks;
    model->times->useful_max = fmax(model->times->useful_max, model->useful[r]);
  }
}

/* The times on one machine; `ideal` is left out. */
static void times_on(const struct event_input *in, const struct machine *machine, struct event_times *times)
{
  size_t n = (size_t)in->ranks;
  struct machine own = machine_shared(machine, in->ranks);
  struct fault fault = {""}; /* too few places: said at the begin */
  struct model e = {.in = in, .m = &own, .times = times};
  memset(times, 0, sizeof *times);
  network_place(&own.network, in->ranks, &fault);
  clocks_open(&e.clocks, &own.network, in->ranks, 0);
  e.ready = memory_alloc("study", sizeof *e.ready * n);
  e.spent = memory_alloc("study", sizeof *e.spent * n);
  e.useful = memory_alloc("study", sizeof *e.useful * n);
  e.arrived = memory_alloc("study", sizeof *e.arrived * (size_t)(in->lets + 1));
  e.trees = memory_alloc("study", sizeof *e.trees * n);
  times->floors[EVENT_step] = own.step_floor;
  times->floors[EVENT_tree] = own.tree_floor;
  times->floors[EVENT_walk] = own.walk_floor;
  if (in->ranks > 1) {
    times->floors[EVENT_migration] = own.ranks_floor;
    times->floors[EVENT_let_select] = own.let_floor;
  }
  int64_t at = 0;
  while (at < in->lets && in->let[at].class < 0) at++;
  synchronise(&e, at);
  for (int k = 0; k < in->step->classes; k++) {
    int64_t first = at;
    while (at < in->lets && in->let[at].class == k) at++;
    section(&e, &in->step->class[k], first, at);
  }
  if (in->ranks == 1 && in->step->schedule.moment_interval > 0) /* no LETs are selected */
    substeps_alone(&e);
  double collective = event_collectives(&in->step->together, in->ranks, in->ranks, &own.network);
  times->mean[EVENT_collective] += collective;
  times->critical[EVENT_collective] += collective;
  sum_useful(&e);
  clocks_close(&e.clocks);
  memory_free(e.ready);
  memory_free(e.spent);
  memory_free(e.useful);
  memory_free(e.arrived);
  memory_free(e.trees);
}

void event_model(const struct event_input *in, const struct machine *machine, struct event_times *times)
{
  struct machine free_of_cost = *machine;
  struct event_times ideal;
  free_of_cost.network =
      (struct network){.speed = machine->network.speed, .ranks_per_node = machine->network.ranks_per_node};
  times_on(in, &free_of_cost, &ideal);
  times_on(in, machine, times);
  times->ideal = event_total(ideal.critical);
  times->useful_mean = ideal.useful_mean;
  times->useful_max = ideal.useful_max;
}
