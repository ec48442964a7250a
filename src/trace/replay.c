/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "trace/replay.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "trace/clock.h"

/* A collective: when its ranks begin it, and which event it ended before. */
struct collective {
  struct meeting meeting;
  int64_t last_event; /* of the last rank: the event before its part began; -1: none */
};

/* A collective that its rank begins before the event that waits for it. */
struct early_collective {
  int64_t posted, collective;
};

struct rank_state {
  int64_t next;                        /* event that comes next */
  int64_t collective;                  /* number of the next collective event */
  int blocked, early_ones, early;      /* early: the next of early_list */
  struct early_collective *early_list; /* [early_ones] by posted */
  double work, wait;
};

struct player {
  const struct events *t;
  const struct network *n;
  struct clocks clocks;
  struct matches matches;
  struct rank_state *rank;       /* [ranks] */
  struct collective *collective; /* [collectives] */
  /* [ranks][count]: end of an event; arrival of the message of a receive, negative: not sent yet */
  double **end, **arrival;
  char **waited;         /* [ranks][count]: whether the event waited */
  int *heap, heap_count; /* ranks that can go on, the earliest first */
  struct replay *result;
};

/* --- a heap of ranks --------------------------------------------------------------------------------------------- */

static const struct event *event_at(const struct player *player, int r, int64_t k)
{
  return &player->t->rank[r].event[k];
}
static double work_of(const struct player *player, const struct event *event)
{
  return event->work / (player->n->speed > 0 ? player->n->speed : 1);
}

/* When the next event of a rank takes place, if it does not wait. */
static double due(const struct player *player, int r)
{
  const struct rank_state *s = &player->rank[r];
  return player->clocks.now[r] + work_of(player, event_at(player, r, s->next));
}

static void sift_down(struct player *player, int at)
{
  for (;;) {
    int least = at;
    for (int child = 2 * at + 1; child <= 2 * at + 2 && child < player->heap_count; child++)
      if (due(player, player->heap[child]) < due(player, player->heap[least])) least = child;
    if (least == at) return;
    int r = player->heap[at];
    player->heap[at] = player->heap[least];
    player->heap[least] = r;
    at = least;
  }
}

static void heap_push(struct player *player, int r)
{
  int at = player->heap_count++;
  for (; at > 0 && due(player, player->heap[(at - 1) / 2]) > due(player, r); at = (at - 1) / 2)
    player->heap[at] = player->heap[(at - 1) / 2];
  player->heap[at] = r;
}

static int heap_pop(struct player *player)
{
  int r = player->heap[0];
  player->heap[0] = player->heap[--player->heap_count];
  sift_down(player, 0);
  return r;
}

static void wake(struct player *player, int r)
{
  if (!player->rank[r].blocked) return;
  player->rank[r].blocked = 0;
  heap_push(player, r);
}

/* --- collectives ------------------------------------------------------------------------------------------------- */

static void begin_collective(struct player *player, int r, int64_t which, double at)
{
  struct collective *c = &player->collective[which];
  if (meeting_join(&c->meeting, r, at)) c->last_event = player->rank[r].next - 1;
  if (c->meeting.joined < player->t->ranks) return;
  for (int p = 0; p < player->t->ranks; p++) { /* those that wait for it */
    const struct rank_state *s = &player->rank[p];
    if (s->blocked && s->collective == which && event_is_collective(event_at(player, p, s->next)->kind))
      wake(player, p);
  }
}

/* The parts in collectives that this rank begins before the next event. */
static void begin_earlies(struct player *player, int r)
{
  struct rank_state *s = &player->rank[r];
  while (s->early < s->early_ones && s->early_list[s->early].posted <= s->next)
    begin_collective(player, r, s->early_list[s->early++].collective, player->clocks.now[r]);
}

/* Returns when the collective has ended; negative: not all ranks have begun it. */
static double collective_ends(struct player *player, int r, const struct event *event, double ready)
{
  struct rank_state *s = &player->rank[r];
  const struct meeting *c = &player->collective[s->collective].meeting;
  if (event->posted == event->seq && player->arrival[r][s->next] < 0) {
    player->arrival[r][s->next] = 0; /* begun */
    begin_collective(player, r, s->collective, ready);
  }
  if (c->joined < player->t->ranks) return -1;
  return c->latest +
         network_collective(player->n, (enum event_kind)event->kind, player->t->ranks, (double)event->bytes);
}

/* --- events ------------------------------------------------------------------------------------------------------ */

static void send(struct player *player, int r, const struct event *event)
{
  int64_t receive = player->matches.partner[r][event->seq];
  double arrives = clock_send(&player->clocks, r, event->peer, (double)event->bytes);
  player->result->messages++;
  player->result->bytes += event->bytes;
  if (receive < 0) return;
  player->arrival[event->peer][receive] = arrives;
  if (player->rank[event->peer].next == receive) wake(player, event->peer);
}

/* Carry out the next event of a rank. Returns 0; 1 where it waits for others. */
static int execute(struct player *player, int r)
{
  struct rank_state *s = &player->rank[r];
  const struct event *e = event_at(player, r, s->next);
  struct replay_phase *phase = &player->result->phase[e->phase];
  double ready = due(player, r), overhead = event_is_collective(e->kind) ? 0 : player->n->overhead, until = ready;
  begin_earlies(player, r);
  if (e->kind == EVENT_receive) until = player->arrival[r][s->next];
  if (event_is_collective(e->kind)) until = collective_ends(player, r, e, ready);
  if (until < 0) return 1;
  clock_work(&player->clocks, r, work_of(player, e));
  double wait = clock_wait(&player->clocks, r, until);
  if (e->kind == EVENT_send) send(player, r, e);
  else clock_work(&player->clocks, r, overhead);
  s->collective += event_is_collective(e->kind);
  player->waited[r][s->next] = until > ready;
  player->end[r][s->next] = player->clocks.now[r];
  s->work += work_of(player, e);
  s->wait += wait;
  phase->work += (work_of(player, e) + overhead) / player->t->ranks;
  phase->wait += wait / player->t->ranks;
  s->next++;
  return 0;
}

static int run(struct player *player, struct fault *fault)
{
  for (int r = 0; r < player->t->ranks; r++)
    if (player->t->rank[r].count > 0) heap_push(player, r);
  while (player->heap_count > 0) {
    int r = heap_pop(player);
    if (execute(player, r)) player->rank[r].blocked = 1;
    else if (player->rank[r].next < player->t->rank[r].count) heap_push(player, r);
  }
  for (int r = 0; r < player->t->ranks; r++) {
    int64_t k = player->rank[r].next;
    if (k < player->t->rank[r].count)
      return fault_set(fault,
                       "the trace cannot be replayed: rank %d waits in event %lld (%s) for ranks that wait themselves",
                       r, (long long)k, event_kind_names[event_at(player, r, k)->kind]);
  }
  return 0;
}

/* --- results ----------------------------------------------------------------------------------------------------- */

/* Follow the critical path from the last event of rank r back to the start. */
static void follow_critical(const struct player *player, int r)
{
  for (int64_t k = player->t->rank[r].count - 1; k >= 0;) {
    const struct event *e = event_at(player, r, k);
    struct replay_phase *phase = &player->result->phase[e->phase];
    double now = player->end[r][k];
    int64_t partner = player->matches.partner[r][k];
    if (!player->waited[r][k]) {
      phase->critical_work += now - (k > 0 ? player->end[r][k - 1] : 0);
      k--;
    } else if (e->kind == EVENT_receive) {
      phase->critical_transfer += now - player->end[e->peer][partner];
      r = e->peer;
      k = partner;
    } else {
      const struct collective *c = &player->collective[partner];
      r = c->meeting.last;
      k = c->last_event;
      phase->critical_transfer += now - c->meeting.latest;
      phase->critical_work += c->meeting.latest - (k >= 0 ? player->end[r][k] : 0);
    }
  }
}

static void sum_up(struct player *player, double *end)
{
  struct replay *q = player->result;
  int last = 0, ranks = player->t->ranks;
  for (int r = 0; r < ranks; r++) {
    const struct rank_state *s = &player->rank[r];
    q->work_mean += s->work / ranks;
    q->wait_mean += s->wait / ranks;
    q->work_max = fmax(q->work_max, s->work);
    q->wait_max = fmax(q->wait_max, s->wait);
    if (player->clocks.now[r] > player->clocks.now[last]) last = r;
    if (end) end[r] = player->clocks.now[r];
  }
  q->seconds = player->clocks.now[last];
  q->collectives = player->matches.collectives;
  follow_critical(player, last);
}

/* List the collectives that rank r begins before it waits for them. */
static void list_earlies(struct player *player, int r)
{
  struct rank_state *s = &player->rank[r];
  const struct rank_events *mine = &player->t->rank[r];
  for (int pass = 0; pass < 2; pass++) {
    s->early_ones = 0;
    for (int64_t k = 0; k < mine->count; k++) {
      const struct event *e = &mine->event[k];
      if (!event_is_collective(e->kind) || e->posted == e->seq) continue;
      if (pass) s->early_list[s->early_ones] = (struct early_collective){e->posted, player->matches.partner[r][k]};
      s->early_ones++;
    }
    if (!pass) s->early_list = memory_alloc("trace", sizeof *s->early_list * (size_t)(s->early_ones + 1));
  }
}

static void open_player(struct player *player)
{
  clocks_open(&player->clocks, player->n, player->t->ranks, 1);
  size_t ranks = (size_t)player->t->ranks;
  player->rank = memory_alloc("trace", sizeof *player->rank * ranks);
  player->heap = memory_alloc("trace", sizeof *player->heap * (ranks + 1));
  player->collective = memory_alloc("trace", sizeof *player->collective * (size_t)(player->matches.collectives + 1));
  player->end = memory_alloc("trace", sizeof *player->end * ranks);
  player->arrival = memory_alloc("trace", sizeof *player->arrival * ranks);
  player->waited = memory_alloc("trace", sizeof *player->waited * ranks);
  for (int r = 0; r < player->t->ranks; r++) {
    size_t count = (size_t)player->t->rank[r].count;
    player->end[r] = memory_alloc("trace", sizeof **player->end * (count + 1));
    player->arrival[r] = memory_alloc("trace", sizeof **player->arrival * (count + 1));
    player->waited[r] = memory_alloc("trace", count + 1);
    for (size_t k = 0; k < count; k++) player->arrival[r][k] = -1;
    list_earlies(player, r);
  }
}

static void close_player(struct player *player)
{
  for (int r = 0; r < player->t->ranks; r++) {
    memory_free(player->end[r]);
    memory_free(player->arrival[r]);
    memory_free(player->waited[r]);
    memory_free(player->rank[r].early_list);
  }
  memory_free(player->end);
  memory_free(player->arrival);
  memory_free(player->waited);
  memory_free(player->collective);
  memory_free(player->heap);
  memory_free(player->rank);
  clocks_close(&player->clocks);
}

int replay(const struct events *events, const struct network *network, struct replay *result, double *end,
           struct fault *fault)
{
  struct player m = {.t = events, .n = network, .result = result};
  memset(result, 0, sizeof *result);
  if (events_match(events, &m.matches, fault)) return -1;
  open_player(&m);
  int failed = run(&m, fault);
  if (!failed) sum_up(&m, end);
  close_player(&m);
  matches_free(events, &m.matches);
  return failed;
}
