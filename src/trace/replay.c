/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "trace/replay.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

/* A collective: ranks that have begun it, when the last of them did, and which event it ended before. */
struct meeting {
  int begun, last;
  int64_t last_event;   /* of rank `last`: the event before its part began; -1: none */
  double latest;
};

/* A collective that its rank begins before the event that waits for it. */
struct early {
  int64_t posted, collective;
};

struct rank_state {
  int64_t next;          /* event that comes next */
  int64_t collective;    /* number of the next collective event */
  double now;            /* end of the last event */
  double out[NETWORK_PORTS], in[NETWORK_PORTS];   /* the ports are free */
  int blocked, early_ones, early;   /* early: the next of early_list */
  struct early *early_list;      /* [early_ones] by posted */
  double work, wait;
};

struct machine {
  const struct events *t;
  const struct network *n;
  struct matches matches;
  struct rank_state *rank;       /* [ranks] */
  struct meeting *meeting;       /* [collectives] */
  double **end, **arrival;       /* [ranks][count]: end of an event; arrival of the message of a receive, negative: not sent yet */
  char **waited;                 /* [ranks][count]: whether the event waited */
  double *link;                  /* [links]: they are free */
  int *way;                      /* [longest] of a message */
  int *heap, heap_count;         /* ranks that can go on, the earliest first */
  struct replay *result;
};

/* --- a heap of ranks --------------------------------------------------------------------------------------------- */

static const struct event *event_at(const struct machine *m, int r, int64_t k) { return &m->t->rank[r].event[k]; }
static double work_of(const struct machine *m, const struct event *e) { return e->work / (m->n->speed > 0 ? m->n->speed : 1); }

/* When the next event of a rank takes place, if it does not wait. */
static double due(const struct machine *m, int r)
{
  const struct rank_state *s = &m->rank[r];
  return s->now + work_of(m, event_at(m, r, s->next));
}

static void sift_down(struct machine *m, int at)
{
  for (;;) {
    int least = at;
    for (int child = 2 * at + 1; child <= 2 * at + 2 && child < m->heap_count; child++)
      if (due(m, m->heap[child]) < due(m, m->heap[least])) least = child;
    if (least == at) return;
    int r = m->heap[at];
    m->heap[at] = m->heap[least];
    m->heap[least] = r;
    at = least;
  }
}

static void heap_push(struct machine *m, int r)
{
  int at = m->heap_count++;
  for (; at > 0 && due(m, m->heap[(at - 1) / 2]) > due(m, r); at = (at - 1) / 2) m->heap[at] = m->heap[(at - 1) / 2];
  m->heap[at] = r;
}

static int heap_pop(struct machine *m)
{
  int r = m->heap[0];
  m->heap[0] = m->heap[--m->heap_count];
  sift_down(m, 0);
  return r;
}

static void wake(struct machine *m, int r)
{
  if (!m->rank[r].blocked) return;
  m->rank[r].blocked = 0;
  heap_push(m, r);
}

/* --- collectives ------------------------------------------------------------------------------------------------- */

double replay_collective(const struct network *n, enum event_kind kind, int ranks, double bytes)
{
  if (ranks < 2) return 0;
  double stages = ceil(log2(ranks)), per_byte = n->bandwidth > 0 ? 1 / n->bandwidth : 0, message = n->latency + 2 * n->overhead;
  if (kind == EVENT_barrier) return stages * message;
  if (kind == EVENT_allgather) return stages * message + (ranks - 1) * bytes * per_byte;
  if (kind == EVENT_alltoall)
    return fmin(stages * (message + 0.5 * ranks * bytes * per_byte), (ranks - 1) * (message + bytes * per_byte));
  return stages * (message + bytes * per_byte);
}

static void begin_collective(struct machine *m, int r, int64_t which, double at)
{
  struct meeting *c = &m->meeting[which];
  if (c->begun == 0 || at > c->latest) c->latest = at, c->last = r, c->last_event = m->rank[r].next - 1;
  if (++c->begun < m->t->ranks) return;
  for (int p = 0; p < m->t->ranks; p++) {   /* those that wait for it */
    const struct rank_state *s = &m->rank[p];
    if (s->blocked && s->collective == which && event_is_collective(event_at(m, p, s->next)->kind)) wake(m, p);
  }
}

/* The parts in collectives that this rank begins before the next event. */
static void begin_earlies(struct machine *m, int r)
{
  struct rank_state *s = &m->rank[r];
  while (s->early < s->early_ones && s->early_list[s->early].posted <= s->next) begin_collective(m, r, s->early_list[s->early++].collective, s->now);
}

/* Returns when the collective has ended; negative: not all ranks have begun it. */
static double collective_ends(struct machine *m, int r, const struct event *e, double ready)
{
  struct rank_state *s = &m->rank[r];
  struct meeting *c = &m->meeting[s->collective];
  if (e->posted == e->seq && m->arrival[r][s->next] < 0) {
    m->arrival[r][s->next] = 0;   /* begun */
    begin_collective(m, r, s->collective, ready);
  }
  if (c->begun < m->t->ranks) return -1;
  return c->latest + replay_collective(m->n, (enum event_kind)e->kind, m->t->ranks, (double)e->bytes);
}

/* --- events ------------------------------------------------------------------------------------------------------ */

/* The port that is free first. */
static double *port(const struct machine *m, double *ports)
{
  double *first = ports;
  for (int k = 1; k < m->n->ports; k++)
    if (ports[k] < *first) first = &ports[k];
  return first;
}

/* The first byte of a message passes the links between two ranks, each of which is then busy for so many seconds; `*leaves`: when it may leave,
 * then when it does. Returns when it arrives. */
static double pass(struct machine *m, int from, int to, double seconds, double *leaves)
{
  double latency = m->n->between ? m->n->between(m->n->of, from, to) : m->n->latency, head = *leaves;
  int links = m->n->way ? m->n->way(m->n->of, from, to, m->way) : 0;
  for (int k = 0; k < links; k++) {
    double *link = &m->link[m->way[k]];
    head = fmax(head, *link);
    if (k == 0) *leaves = head;
    *link = head + seconds;
    head += latency / links;
  }
  return links ? head : head + latency;
}

static void send(struct machine *m, int r, const struct event *e, double ready)
{
  double seconds = m->n->bandwidth > 0 ? (double)e->bytes / m->n->bandwidth : 0;
  double *out = port(m, m->rank[r].out), *in = port(m, m->rank[e->peer].in), leaves = fmax(ready, *out);
  int64_t receive = m->matches.partner[r][e->seq];
  double arrives = pass(m, r, e->peer, seconds, &leaves);
  m->result->messages++;
  m->result->bytes += e->bytes;
  *out = leaves + seconds;
  if (receive < 0) return;
  *in = fmax(arrives, *in) + seconds;
  m->arrival[e->peer][receive] = *in;
  if (m->rank[e->peer].next == receive) wake(m, e->peer);
}

/* Carry out the next event of a rank. Returns 0; 1 where it waits for others. */
static int execute(struct machine *m, int r)
{
  struct rank_state *s = &m->rank[r];
  const struct event *e = event_at(m, r, s->next);
  struct replay_phase *phase = &m->result->phase[e->phase];
  double ready = due(m, r), overhead = event_is_collective(e->kind) ? 0 : m->n->overhead, until = ready;
  begin_earlies(m, r);
  if (e->kind == EVENT_send) send(m, r, e, ready + overhead);
  if (e->kind == EVENT_receive) until = m->arrival[r][s->next];
  if (event_is_collective(e->kind)) until = collective_ends(m, r, e, ready);
  if (until < 0) return 1;
  s->collective += event_is_collective(e->kind);
  double wait = until > ready ? until - ready : 0;
  m->waited[r][s->next] = until > ready;
  m->end[r][s->next] = s->now = ready + wait + overhead;
  s->work += work_of(m, e);
  s->wait += wait;
  phase->work += (work_of(m, e) + overhead) / m->t->ranks;
  phase->wait += wait / m->t->ranks;
  s->next++;
  return 0;
}

static int run(struct machine *m, struct fault *f)
{
  for (int r = 0; r < m->t->ranks; r++)
    if (m->t->rank[r].count > 0) heap_push(m, r);
  while (m->heap_count > 0) {
    int r = heap_pop(m);
    if (execute(m, r)) m->rank[r].blocked = 1;
    else if (m->rank[r].next < m->t->rank[r].count) heap_push(m, r);
  }
  for (int r = 0; r < m->t->ranks; r++) {
    int64_t k = m->rank[r].next;
    if (k < m->t->rank[r].count)
      return fault_set(f, "the trace cannot be replayed: rank %d waits in event %lld (%s) for ranks that wait themselves", r, (long long)k,
                       event_kind_names[event_at(m, r, k)->kind]);
  }
  return 0;
}

/* --- results ----------------------------------------------------------------------------------------------------- */

/* Follow the critical path from the last event of rank r back to the start. */
static void follow_critical(const struct machine *m, int r)
{
  for (int64_t k = m->t->rank[r].count - 1; k >= 0;) {
    const struct event *e = event_at(m, r, k);
    struct replay_phase *phase = &m->result->phase[e->phase];
    double now = m->end[r][k];
    int64_t partner = m->matches.partner[r][k];
    if (!m->waited[r][k]) {
      phase->critical_work += now - (k > 0 ? m->end[r][k - 1] : 0);
      k--;
    } else if (e->kind == EVENT_receive) {
      phase->critical_transfer += now - m->end[e->peer][partner];
      r = e->peer;
      k = partner;
    } else {
      const struct meeting *c = &m->meeting[partner];
      r = c->last;
      k = c->last_event;
      phase->critical_transfer += now - c->latest;
      phase->critical_work += c->latest - (k >= 0 ? m->end[r][k] : 0);
    }
  }
}

static void sum_up(struct machine *m, double *end)
{
  struct replay *q = m->result;
  int last = 0, ranks = m->t->ranks;
  for (int r = 0; r < ranks; r++) {
    const struct rank_state *s = &m->rank[r];
    q->work_mean += s->work / ranks;
    q->wait_mean += s->wait / ranks;
    q->work_max = fmax(q->work_max, s->work);
    q->wait_max = fmax(q->wait_max, s->wait);
    if (s->now > m->rank[last].now) last = r;
    if (end) end[r] = s->now;
  }
  q->seconds = m->rank[last].now;
  q->collectives = m->matches.collectives;
  follow_critical(m, last);
}

/* List the collectives that rank r begins before it waits for them. */
static void list_earlies(struct machine *m, int r)
{
  struct rank_state *s = &m->rank[r];
  const struct rank_events *mine = &m->t->rank[r];
  for (int pass = 0; pass < 2; pass++) {
    s->early_ones = 0;
    for (int64_t k = 0; k < mine->count; k++) {
      const struct event *e = &mine->event[k];
      if (!event_is_collective(e->kind) || e->posted == e->seq) continue;
      if (pass) s->early_list[s->early_ones] = (struct early){e->posted, m->matches.partner[r][k]};
      s->early_ones++;
    }
    if (!pass) s->early_list = memory_alloc("trace", sizeof *s->early_list * (size_t)(s->early_ones + 1));
  }
}

static void open_machine(struct machine *m)
{
  size_t ranks = (size_t)m->t->ranks;
  m->rank = memory_alloc("trace", sizeof *m->rank * ranks);
  m->heap = memory_alloc("trace", sizeof *m->heap * (ranks + 1));
  m->link = memory_alloc("trace", sizeof *m->link * (size_t)(m->n->links + 1));
  m->way = memory_alloc("trace", sizeof *m->way * (size_t)(m->n->longest + 1));
  m->meeting = memory_alloc("trace", sizeof *m->meeting * (size_t)(m->matches.collectives + 1));
  m->end = memory_alloc("trace", sizeof *m->end * ranks);
  m->arrival = memory_alloc("trace", sizeof *m->arrival * ranks);
  m->waited = memory_alloc("trace", sizeof *m->waited * ranks);
  for (int r = 0; r < m->t->ranks; r++) {
    size_t count = (size_t)m->t->rank[r].count;
    m->end[r] = memory_alloc("trace", sizeof **m->end * (count + 1));
    m->arrival[r] = memory_alloc("trace", sizeof **m->arrival * (count + 1));
    m->waited[r] = memory_alloc("trace", count + 1);
    for (size_t k = 0; k < count; k++) m->arrival[r][k] = -1;
    list_earlies(m, r);
  }
}

static void close_machine(struct machine *m)
{
  for (int r = 0; r < m->t->ranks; r++) {
    memory_free(m->end[r]);
    memory_free(m->arrival[r]);
    memory_free(m->waited[r]);
    memory_free(m->rank[r].early_list);
  }
  memory_free(m->end);
  memory_free(m->arrival);
  memory_free(m->waited);
  memory_free(m->meeting);
  memory_free(m->way);
  memory_free(m->link);
  memory_free(m->heap);
  memory_free(m->rank);
}

int replay(const struct events *t, const struct network *n, struct replay *result, double *end, struct fault *f)
{
  struct machine m = {.t = t, .n = n, .result = result};
  memset(result, 0, sizeof *result);
  if (events_match(t, &m.matches, f)) return -1;
  open_machine(&m);
  int failed = run(&m, f);
  if (!failed) sum_up(&m, end);
  close_machine(&m);
  matches_free(t, &m.matches);
  return failed;
}
