/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "trace/replay.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

/* A collective: ranks that have begun it, when the last of them did, and which event it ended before. */
struct meeting {
  int begun, last;
  int64_t last_event; /* of rank `last`: the event before its part began; -1: none */
  double latest;
};

/* A collective that its rank begins before the event that waits for it. */
struct early_collective {
  int64_t posted, collective;
};

struct rank_state {
  int64_t next;                                 /* event that comes next */
  int64_t collective;                           /* number of the next collective event */
  double now;                                   /* end of the last event */
  double out[NETWORK_PORTS], in[NETWORK_PORTS]; /* the ports are free */
  int blocked, early_ones, early;               /* early: the next of early_list */
  struct early_collective *early_list;          /* [early_ones] by posted */
  double work, wait;
};

struct machine {
  const struct events *t;
  const struct network *n;
  struct matches matches;
  struct rank_state *rank; /* [ranks] */
  struct meeting *meeting; /* [collectives] */
  /* [ranks][count]: end of an event; arrival of the message of a receive, negative: not sent yet */
  double **end, **arrival;
  char **waited;         /* [ranks][count]: whether the event waited */
  double *link;          /* [links]: they are free */
  int *way;              /* [longest] of a message */
  int *heap, heap_count; /* ranks that can go on, the earliest first */
  struct replay *result;
};

/* --- a heap of ranks --------------------------------------------------------------------------------------------- */

static const struct event *event_at(const struct machine *machine, int r, int64_t k)
{
  return &machine->t->rank[r].event[k];
}
static double work_of(const struct machine *machine, const struct event *event)
{
  return event->work / (machine->n->speed > 0 ? machine->n->speed : 1);
}

/* When the next event of a rank takes place, if it does not wait. */
static double due(const struct machine *machine, int r)
{
  const struct rank_state *s = &machine->rank[r];
  return s->now + work_of(machine, event_at(machine, r, s->next));
}

static void sift_down(struct machine *machine, int at)
{
  for (;;) {
    int least = at;
    for (int child = 2 * at + 1; child <= 2 * at + 2 && child < machine->heap_count; child++)
      if (due(machine, machine->heap[child]) < due(machine, machine->heap[least])) least = child;
    if (least == at) return;
    int r = machine->heap[at];
    machine->heap[at] = machine->heap[least];
    machine->heap[least] = r;
    at = least;
  }
}

static void heap_push(struct machine *machine, int r)
{
  int at = machine->heap_count++;
  for (; at > 0 && due(machine, machine->heap[(at - 1) / 2]) > due(machine, r); at = (at - 1) / 2)
    machine->heap[at] = machine->heap[(at - 1) / 2];
  machine->heap[at] = r;
}

static int heap_pop(struct machine *machine)
{
  int r = machine->heap[0];
  machine->heap[0] = machine->heap[--machine->heap_count];
  sift_down(machine, 0);
  return r;
}

static void wake(struct machine *machine, int r)
{
  if (!machine->rank[r].blocked) return;
  machine->rank[r].blocked = 0;
  heap_push(machine, r);
}

/* --- collectives ------------------------------------------------------------------------------------------------- */

double replay_collective(const struct network *network, enum event_kind kind, int ranks, double bytes)
{
  if (ranks < 2) return 0;
  double stages = ceil(log2(ranks)), per_byte = network->bandwidth > 0 ? 1 / network->bandwidth : 0,
         message = network->latency + 2 * network->overhead;
  if (kind == EVENT_barrier) return stages * message;
  if (kind == EVENT_allgather) return stages * message + (ranks - 1) * bytes * per_byte;
  if (kind == EVENT_alltoall)
    return fmin(stages * (message + 0.5 * ranks * bytes * per_byte), (ranks - 1) * (message + bytes * per_byte));
  return stages * (message + bytes * per_byte);
}

static void begin_collective(struct machine *machine, int r, int64_t which, double at)
{
  struct meeting *c = &machine->meeting[which];
  if (c->begun == 0 || at > c->latest) {
    c->latest = at;
    c->last = r;
    c->last_event = machine->rank[r].next - 1;
  }
  if (++c->begun < machine->t->ranks) return;
  for (int p = 0; p < machine->t->ranks; p++) { /* those that wait for it */
    const struct rank_state *s = &machine->rank[p];
    if (s->blocked && s->collective == which && event_is_collective(event_at(machine, p, s->next)->kind))
      wake(machine, p);
  }
}

/* The parts in collectives that this rank begins before the next event. */
static void begin_earlies(struct machine *machine, int r)
{
  struct rank_state *s = &machine->rank[r];
  while (s->early < s->early_ones && s->early_list[s->early].posted <= s->next)
    begin_collective(machine, r, s->early_list[s->early++].collective, s->now);
}

/* Returns when the collective has ended; negative: not all ranks have begun it. */
static double collective_ends(struct machine *machine, int r, const struct event *event, double ready)
{
  struct rank_state *s = &machine->rank[r];
  struct meeting *c = &machine->meeting[s->collective];
  if (event->posted == event->seq && machine->arrival[r][s->next] < 0) {
    machine->arrival[r][s->next] = 0; /* begun */
    begin_collective(machine, r, s->collective, ready);
  }
  if (c->begun < machine->t->ranks) return -1;
  return c->latest +
         replay_collective(machine->n, (enum event_kind)event->kind, machine->t->ranks, (double)event->bytes);
}

/* --- events ------------------------------------------------------------------------------------------------------ */

/* The port that is free first. */
static double *port(const struct machine *machine, double *ports)
{
  double *first = ports;
  for (int k = 1; k < machine->n->ports; k++)
    if (ports[k] < *first) first = &ports[k];
  return first;
}

/* The first byte of a message passes the links between two ranks, each of which is then busy for so many seconds;
 * `*leaves`: when it may leave, then when it does. Returns when it arrives. */
static double pass(struct machine *machine, int from, int to, double seconds, double *leaves)
{
  double latency = machine->n->between ? machine->n->between(machine->n->of, from, to) : machine->n->latency,
         head = *leaves;
  int links = machine->n->way ? machine->n->way(machine->n->of, from, to, machine->way) : 0;
  for (int k = 0; k < links; k++) {
    double *link = &machine->link[machine->way[k]];
    head = fmax(head, *link);
    if (k == 0) *leaves = head;
    *link = head + seconds;
    head += latency / links;
  }
  return links ? head : head + latency;
}

static void send(struct machine *machine, int r, const struct event *event, double ready)
{
  double seconds = machine->n->bandwidth > 0 ? (double)event->bytes / machine->n->bandwidth : 0;
  double *out = port(machine, machine->rank[r].out), *in = port(machine, machine->rank[event->peer].in),
         leaves = fmax(ready, *out);
  int64_t receive = machine->matches.partner[r][event->seq];
  double arrives = pass(machine, r, event->peer, seconds, &leaves);
  machine->result->messages++;
  machine->result->bytes += event->bytes;
  *out = leaves + seconds;
  if (receive < 0) return;
  *in = fmax(arrives, *in) + seconds;
  machine->arrival[event->peer][receive] = *in;
  if (machine->rank[event->peer].next == receive) wake(machine, event->peer);
}

/* Carry out the next event of a rank. Returns 0; 1 where it waits for others. */
static int execute(struct machine *machine, int r)
{
  struct rank_state *s = &machine->rank[r];
  const struct event *e = event_at(machine, r, s->next);
  struct replay_phase *phase = &machine->result->phase[e->phase];
  double ready = due(machine, r), overhead = event_is_collective(e->kind) ? 0 : machine->n->overhead, until = ready;
  begin_earlies(machine, r);
  if (e->kind == EVENT_send) send(machine, r, e, ready + overhead);
  if (e->kind == EVENT_receive) until = machine->arrival[r][s->next];
  if (event_is_collective(e->kind)) until = collective_ends(machine, r, e, ready);
  if (until < 0) return 1;
  s->collective += event_is_collective(e->kind);
  double wait = until > ready ? until - ready : 0;
  machine->waited[r][s->next] = until > ready;
  machine->end[r][s->next] = s->now = ready + wait + overhead;
  s->work += work_of(machine, e);
  s->wait += wait;
  phase->work += (work_of(machine, e) + overhead) / machine->t->ranks;
  phase->wait += wait / machine->t->ranks;
  s->next++;
  return 0;
}

static int run(struct machine *machine, struct fault *fault)
{
  for (int r = 0; r < machine->t->ranks; r++)
    if (machine->t->rank[r].count > 0) heap_push(machine, r);
  while (machine->heap_count > 0) {
    int r = heap_pop(machine);
    if (execute(machine, r)) machine->rank[r].blocked = 1;
    else if (machine->rank[r].next < machine->t->rank[r].count) heap_push(machine, r);
  }
  for (int r = 0; r < machine->t->ranks; r++) {
    int64_t k = machine->rank[r].next;
    if (k < machine->t->rank[r].count)
      return fault_set(fault,
                       "the trace cannot be replayed: rank %d waits in event %lld (%s) for ranks that wait themselves",
                       r, (long long)k, event_kind_names[event_at(machine, r, k)->kind]);
  }
  return 0;
}

/* --- results ----------------------------------------------------------------------------------------------------- */

/* Follow the critical path from the last event of rank r back to the start. */
static void follow_critical(const struct machine *machine, int r)
{
  for (int64_t k = machine->t->rank[r].count - 1; k >= 0;) {
    const struct event *e = event_at(machine, r, k);
    struct replay_phase *phase = &machine->result->phase[e->phase];
    double now = machine->end[r][k];
    int64_t partner = machine->matches.partner[r][k];
    if (!machine->waited[r][k]) {
      phase->critical_work += now - (k > 0 ? machine->end[r][k - 1] : 0);
      k--;
    } else if (e->kind == EVENT_receive) {
      phase->critical_transfer += now - machine->end[e->peer][partner];
      r = e->peer;
      k = partner;
    } else {
      const struct meeting *c = &machine->meeting[partner];
      r = c->last;
      k = c->last_event;
      phase->critical_transfer += now - c->latest;
      phase->critical_work += c->latest - (k >= 0 ? machine->end[r][k] : 0);
    }
  }
}

static void sum_up(struct machine *machine, double *end)
{
  struct replay *q = machine->result;
  int last = 0, ranks = machine->t->ranks;
  for (int r = 0; r < ranks; r++) {
    const struct rank_state *s = &machine->rank[r];
    q->work_mean += s->work / ranks;
    q->wait_mean += s->wait / ranks;
    q->work_max = fmax(q->work_max, s->work);
    q->wait_max = fmax(q->wait_max, s->wait);
    if (s->now > machine->rank[last].now) last = r;
    if (end) end[r] = s->now;
  }
  q->seconds = machine->rank[last].now;
  q->collectives = machine->matches.collectives;
  follow_critical(machine, last);
}

/* List the collectives that rank r begins before it waits for them. */
static void list_earlies(struct machine *machine, int r)
{
  struct rank_state *s = &machine->rank[r];
  const struct rank_events *mine = &machine->t->rank[r];
  for (int pass = 0; pass < 2; pass++) {
    s->early_ones = 0;
    for (int64_t k = 0; k < mine->count; k++) {
      const struct event *e = &mine->event[k];
      if (!event_is_collective(e->kind) || e->posted == e->seq) continue;
      if (pass) s->early_list[s->early_ones] = (struct early_collective){e->posted, machine->matches.partner[r][k]};
      s->early_ones++;
    }
    if (!pass) s->early_list = memory_alloc("trace", sizeof *s->early_list * (size_t)(s->early_ones + 1));
  }
}

static void open_machine(struct machine *machine)
{
  size_t ranks = (size_t)machine->t->ranks;
  machine->rank = memory_alloc("trace", sizeof *machine->rank * ranks);
  machine->heap = memory_alloc("trace", sizeof *machine->heap * (ranks + 1));
  machine->link = memory_alloc("trace", sizeof *machine->link * (size_t)(machine->n->links + 1));
  machine->way = memory_alloc("trace", sizeof *machine->way * (size_t)(machine->n->longest + 1));
  machine->meeting = memory_alloc("trace", sizeof *machine->meeting * (size_t)(machine->matches.collectives + 1));
  machine->end = memory_alloc("trace", sizeof *machine->end * ranks);
  machine->arrival = memory_alloc("trace", sizeof *machine->arrival * ranks);
  machine->waited = memory_alloc("trace", sizeof *machine->waited * ranks);
  for (int r = 0; r < machine->t->ranks; r++) {
    size_t count = (size_t)machine->t->rank[r].count;
    machine->end[r] = memory_alloc("trace", sizeof **machine->end * (count + 1));
    machine->arrival[r] = memory_alloc("trace", sizeof **machine->arrival * (count + 1));
    machine->waited[r] = memory_alloc("trace", count + 1);
    for (size_t k = 0; k < count; k++) machine->arrival[r][k] = -1;
    list_earlies(machine, r);
  }
}

static void close_machine(struct machine *machine)
{
  for (int r = 0; r < machine->t->ranks; r++) {
    memory_free(machine->end[r]);
    memory_free(machine->arrival[r]);
    memory_free(machine->waited[r]);
    memory_free(machine->rank[r].early_list);
  }
  memory_free(machine->end);
  memory_free(machine->arrival);
  memory_free(machine->waited);
  memory_free(machine->meeting);
  memory_free(machine->way);
  memory_free(machine->link);
  memory_free(machine->heap);
  memory_free(machine->rank);
}

int replay(const struct events *events, const struct network *network, struct replay *result, double *end,
           struct fault *fault)
{
  struct machine m = {.t = events, .n = network, .result = result};
  memset(result, 0, sizeof *result);
  if (events_match(events, &m.matches, fault)) return -1;
  open_machine(&m);
  int failed = run(&m, fault);
  if (!failed) sum_up(&m, end);
  close_machine(&m);
  matches_free(events, &m.matches);
  return failed;
}
