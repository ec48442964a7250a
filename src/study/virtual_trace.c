/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "study/virtual_trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "mpi/message.h"

/* Nominal seconds of a processor core: they give work its proportions. A soft walk, a hard walk and the rest of a step
 * for each local particle; what a LET adds for each of its entries, and its selection. */
#define SOFT_WALK 2e-6
#define HARD_WALK 5e-7
#define ARRANGE 2e-7
#define ENTRY_WALK 5e-7
#define ENTRY_SELECT 5e-8

/* bytes: the first part of a message (mpi/message.c); of the reduction that ends a step */
enum { FIRST_PART = 32768, STATISTICS = 64 };

struct builder {
  struct events *t;
  const struct virtual_rank *rows;
  const struct let_request *soft;
  struct virtual_message *message; /* [count] sorted by kind, sender, receiver */
  struct virtual_stage *out, *in;  /* [stages] sorted by kind, step, and sender or receiver */
  int64_t stages;
  int steps[LET_KINDS]; /* of each kind; 0: summaries are not in stages */
  /* [count] numbers of messages, sorted by kind, receiver, sender in the order of a ring */
  int64_t count, *by_receiver;
  double work; /* of the rank under way, before its next event */
};

static void add(struct builder *builder, int rank, int32_t tick, enum phase phase, enum event_kind kind, int peer,
                int tag, int64_t bytes)
{
  events_add(builder->t, (struct event){.step = 1,
                                        .bytes = bytes,
                                        .posted = -1,
                                        .work = builder->work,
                                        .rank = rank,
                                        .tick = tick,
                                        .phase = phase,
                                        .kind = kind,
                                        .peer = peer,
                                        .tag = tag});
  builder->work = 0;
}

/* A message in its parts. */
static void add_message(struct builder *builder, int rank, int32_t tick, enum phase phase, enum event_kind kind,
                        int peer, int tag, int64_t bytes)
{
  int64_t all = bytes + MESSAGE_HEAD;
  add(builder, rank, tick, phase, kind, peer, tag, all < FIRST_PART ? all : FIRST_PART);
  if (all > FIRST_PART) add(builder, rank, tick, phase, kind, peer, tag, all - FIRST_PART);
}

/* First message of a kind and rank; k: within by_receiver. */
static int64_t first_of(const struct builder *builder, int kind, int rank, int receivers)
{
  int64_t low = 0, high = builder->count;
  while (low < high) {
    int64_t mid = (low + high) / 2;
    const struct virtual_message *m = &builder->message[receivers ? builder->by_receiver[mid] : mid];
    int other = receivers ? m->receiver : m->sender;
    if (m->kind < kind || (m->kind == kind && other < rank)) low = mid + 1;
    else high = mid;
  }
  return low;
}

/* The next LET that rank receives; NULL after the last. */
static const struct virtual_message *received(const struct builder *builder, int64_t k, int kind, int rank)
{
  const struct virtual_message *m = k < builder->count ? &builder->message[builder->by_receiver[k]] : NULL;
  return m && m->kind == kind && m->receiver == rank ? m : NULL;
}

static const struct virtual_message *sent(const struct builder *builder, int64_t k, int kind, int rank)
{
  const struct virtual_message *m = k < builder->count ? &builder->message[k] : NULL;
  return m && m->kind == kind && m->sender == rank ? m : NULL;
}

/* The next message of summaries that a rank sends (or receives) in a step, from *at on; NULL: there is no further one.
 * `list` is sorted. */
static const struct virtual_stage *next_stage(const struct virtual_stage *list, int64_t count, int64_t at, int kind,
                                              int step, int rank, int receives)
{
  if (at >= count || list[at].kind != kind || list[at].step != step) return NULL;
  return (receives ? list[at].to : list[at].from) == rank ? &list[at] : NULL;
}

/* The first of these. */
static int64_t first_stage(const struct virtual_stage *list, int64_t count, int kind, int step, int rank, int receives)
{
  int64_t low = 0, high = count;
  while (low < high) {
    int64_t mid = (low + high) / 2;
    const struct virtual_stage *m = &list[mid];
    int other = receives ? m->to : m->from;
    if (m->kind != kind ? m->kind < kind : m->step != step ? m->step < step : other < rank) low = mid + 1;
    else high = mid;
  }
  return low;
}

/* The exchange of summaries: in stages where there are messages of them. */
static void gather(struct builder *builder, int r, enum let_kind kind, int32_t tick, enum phase phase,
                   const struct let_request *request)
{
  int last = builder->steps[kind] - 1;
  const struct virtual_stage *m;
  if (last < 0) add(builder, r, tick, phase, EVENT_allgather, -1, 0, (int64_t)let_summary_bytes(request));
  for (int step = 0; step <= last; step++) {
    for (int64_t k = first_stage(builder->out, builder->stages, (int)kind, step, r, 0);
         (m = next_stage(builder->out, builder->stages, k, (int)kind, step, r, 0)); k++)
      add_message(builder, r, tick, phase, EVENT_send, m->to, MESSAGE_SUMMARY, m->bytes);
    for (int64_t k = first_stage(builder->in, builder->stages, (int)kind, step, r, 1);
         (m = next_stage(builder->in, builder->stages, k, (int)kind, step, r, 1)); k++)
      add_message(builder, r, tick, phase, EVENT_receive, m->from, MESSAGE_SUMMARY, m->bytes);
  }
}

/* One exchange: summaries, boxes, LETs, and the walk of the local tree and of each LET. */
static void exchange(struct builder *builder, int r, enum let_kind kind, int32_t tick, enum phase select,
                     enum phase walk, double walk_seconds)
{
  int64_t in = first_of(builder, kind, r, 1), out = first_of(builder, kind, r, 0);
  const struct virtual_message *m;
  /* with the split */
  const struct let_request step = {.horizon = 1, .cutoff = 1}, *q = kind == LET_STEP ? &step : builder->soft;
  builder->work += ARRANGE * (double)builder->rows[r].local;
  gather(builder, r, kind, tick, select, q);
  for (int64_t k = in; (m = received(builder, k, kind, r)); k++)
    add_message(builder, r, tick, select, EVENT_send, m->sender, MESSAGE_BOXES, m->boxes);
  for (int64_t k = out; (m = sent(builder, k, kind, r)); k++) {
    add_message(builder, r, tick, select, EVENT_receive, m->receiver, MESSAGE_BOXES, m->boxes);
    builder->work += ENTRY_SELECT * m->entries;
    add_message(builder, r, tick, select, EVENT_send, m->receiver, MESSAGE_LET + (int)kind, m->let);
  }
  builder->work += walk_seconds * (double)builder->rows[r].local;
  for (int64_t k = in; (m = received(builder, k, kind, r)); k++) {
    add_message(builder, r, tick, walk, EVENT_receive, m->sender, MESSAGE_LET + (int)kind, m->let);
    builder->work += ENTRY_WALK * m->entries;
  }
}

static void soft_step(struct builder *builder, int r)
{
  const struct virtual_message *m;
  builder->work = 0;
  exchange(builder, r, LET_STEP, 0, PHASE_hard_let, PHASE_hard_walk, HARD_WALK);
  for (int64_t k = first_of(builder, LET_STEP, r, 0); (m = sent(builder, k, LET_STEP, r)); k++)
    if (m->update)
      add_message(builder, r, TICKS / 2, PHASE_hard_let, EVENT_send, m->receiver, MESSAGE_UPDATE, m->update);
  for (int64_t k = first_of(builder, LET_STEP, r, 1); (m = received(builder, k, LET_STEP, r)); k++)
    if (m->update)
      add_message(builder, r, TICKS / 2, PHASE_hard_let, EVENT_receive, m->sender, MESSAGE_UPDATE, m->update);
  builder->work += HARD_WALK * (double)builder->rows[r].local;
  exchange(builder, r, LET_SOFT, TICKS, PHASE_let_select, PHASE_walk, SOFT_WALK);
  builder->work += ARRANGE * (double)builder->rows[r].local;
  add(builder, r, TICKS, PHASE_diagnostics, EVENT_allreduce, -1, 0, STATISTICS);
}

static int by_sender(const void *one, const void *other)
{
  const struct virtual_message *a = one, *b = other;
  if (a->kind != b->kind) return a->kind - b->kind;
  return a->sender != b->sender ? a->sender - b->sender : a->receiver - b->receiver;
}

static int stages_by(const struct virtual_stage *a, const struct virtual_stage *b, int receiver)
{
  if (a->kind != b->kind) return a->kind - b->kind;
  if (a->step != b->step) return a->step - b->step;
  int first = receiver ? a->to - b->to : a->from - b->from;
  return first != 0 ? first : receiver ? a->from - b->from : a->to - b->to;
}
static int stages_out(const void *a, const void *b) { return stages_by(a, b, 0); }
static int stages_in(const void *a, const void *b) { return stages_by(a, b, 1); }

static void sort_stages(struct builder *builder, const struct virtual_messages *messages)
{
  size_t bytes = sizeof *builder->out * (size_t)messages->stages;
  builder->stages = messages->stages;
  builder->out = memory_alloc("study", bytes + 1);
  builder->in = memory_alloc("study", bytes + 1);
  if (messages->stages == 0) return;
  memcpy(builder->out, messages->stage, bytes);
  memcpy(builder->in, messages->stage, bytes);
  qsort(builder->out, (size_t)messages->stages, sizeof *builder->out, stages_out);
  qsort(builder->in, (size_t)messages->stages, sizeof *builder->in, stages_in);
  for (int64_t k = 0; k < messages->stages; k++) builder->steps[builder->out[k].kind] = builder->out[k].step + 1;
}

/* Sort the numbers of the messages by kind and receiver; within these the senders stand as in a ring, from the one
 * after the receiver. */
static void sort_by_receiver(struct builder *builder, int ranks)
{
  int64_t *place = memory_alloc("study", sizeof *place * (size_t)(LET_KINDS * ranks + 1));
  builder->by_receiver = memory_alloc("study", sizeof *builder->by_receiver * (size_t)(builder->count + 1));
  for (int64_t k = 0; k < builder->count; k++)
    place[builder->message[k].kind * ranks + builder->message[k].receiver + 1]++;
  for (int64_t k = 0; k < LET_KINDS * ranks; k++) place[k + 1] += place[k];
  /* senders are ascending: first those after the receiver, then those before it */
  for (int after = 1; after >= 0; after--)
    for (int64_t k = 0; k < builder->count; k++) {
      const struct virtual_message *m = &builder->message[k];
      if ((m->sender > m->receiver) == after) builder->by_receiver[place[m->kind * ranks + m->receiver]++] = k;
    }
  memory_free(place);
}

void virtual_events(const struct comm *comm, int ranks, const struct virtual_rank *rows,
                    const struct virtual_messages *messages, const struct let_request *soft, struct events *events)
{
  size_t bytes;
  struct builder b = {.t = events, .rows = rows, .soft = soft};
  b.message = comm_gather_root(comm, messages->message, sizeof *b.message * (size_t)messages->count, &bytes);
  b.count = (int64_t)(bytes / sizeof *b.message);
  if (comm->rank == 0) {
    events_open(events, ranks);
    qsort(b.message, (size_t)b.count, sizeof *b.message, by_sender);
    sort_by_receiver(&b, ranks);
    sort_stages(&b, messages);
    for (int r = 0; r < ranks; r++) soft_step(&b, r);
  }
  memory_free(b.out);
  memory_free(b.in);
  memory_free(b.by_receiver);
  memory_free(b.message);
}

int virtual_trace(const struct comm *comm, int ranks, const struct virtual_rank *rows,
                  const struct virtual_messages *messages, const struct let_request *soft,
                  const struct trace_outputs *outputs, struct fault *fault)
{
  struct events t;
  virtual_events(comm, ranks, rows, messages, soft, &t);
  if (comm->rank == 0) {
    trace_write(&t, outputs, fault);
    events_close(&t);
  }
  return comm_verdict(comm, fault);
}
