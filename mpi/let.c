/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "let.h"

#include <math.h>
#include <string.h>

#include "memory.h"
#include "parcel.h"

/* LETs for several receivers are chosen at once, so boxes that have come wait for others: so long, which is less than a choice
 * takes. They come from all ranks at nearly the same time. */
#define GATHER_SECONDS 5e-5

/* What travels in a parcel where the LET itself goes from device to device. */
struct announcement {
  uint64_t bytes;   /* of the LET, its head included */
  char head[LET_HEAD];
};

/* What this rank and another have to do with each other. */
struct peer {
  struct inbox boxes, let[LET_SETS], update;
  int asks;                 /* it needs a LET, and its boxes have not been answered yet */
  int wanted[LET_SETS];    /* its LET is part of the forest */
  int told[LET_SETS];      /* it was announced: so many bytes, */
  size_t bytes[LET_SETS];
  int there[LET_SETS];     /* and it has come */
  int updating;             /* an update is part of the round: */
  struct announcement update_told;
  int32_t update_note;      /* what `next` will be then */
  void *update_sent, *update_whole;   /* where there is no device memory: what is sent, what arrives */
  int32_t next;             /* of substeps: what has come is true up to this tick, when the next update is due */
};

struct lets {
  const struct comm *c;
  const struct backend *be;
  struct device *d;
  struct transport *t;
  struct link_message *round;   /* [2 ranks]: what goes from device to device in the next round, so many */
  int round_count;
  int round_open;               /* updates are sent by a round that is not posted yet: some have not been announced */
  struct outbox out;
  struct peer *peer;        /* [ranks] */
  struct let_card *card;    /* [ranks] */
  /* Ranks by what they have to do with this one, each in the order of the ranks after it: nothing in a substep loops over
   * all ranks. */
  int *forest[LET_SETS];   /* whose LETs the forest has (roots stand first, as the LET of this rank), */
  int trees[LET_SETS];     /* so many */
  int *asked_by[LET_SETS]; /* who needs a LET of this rank; those of LET_STEP, or with `apart` of LET_SLOW, must be told of corrections */
  int asked_by_count[LET_SETS];
  int apart;                /* LETs of substeps are LET_SLOW, which everyone has who has any, and LET_STEP */
  enum let_kind kind;       /* what `progress` looks for: LETs of this kind, */
  int32_t tick;             /* and updates of ticks before this one */
  struct let_traffic *traffic;              /* of updates, */
  struct let_traffic *exchanged[LET_SETS]; /* and of the LETs that the last exchanges bring */
  struct let_request request;
  struct let_choice *choice;    /* [ranks]: whose boxes have come */
  int32_t next_cells;
  const struct let_card **root;     /* [ranks]: cards of which the root is enough */
  int64_t strays[2];        /* of all ranks, asked for; of this rank */
  MPI_Request asked;
  double arrived;           /* clock when the last message came that was taken */
};

struct lets *lets_open(const struct comm *c, const struct backend *be, struct device *d, struct transport *t)
{
  size_t ranks = (size_t)c->size;
  struct lets *l = memory_alloc("let", sizeof *l);
  *l = (struct lets){.c = c, .be = be, .d = d, .t = t, .asked = MPI_REQUEST_NULL};
  l->round = memory_alloc("let", sizeof *l->round * 2 * ranks);
  l->peer = memory_alloc("let", sizeof *l->peer * ranks);
  l->card = memory_alloc("let", sizeof *l->card * ranks);
  l->root = memory_alloc("let", sizeof *l->root * ranks);
  l->choice = memory_alloc("let", sizeof *l->choice * ranks);
  for (int k = 0; k < LET_SETS; k++) {
    l->forest[k] = memory_alloc("let", sizeof **l->forest * ranks);
    l->asked_by[k] = memory_alloc("let", sizeof **l->asked_by * ranks);
  }
  outbox_open(&l->out, c);
  for (int r = 0; r < c->size; r++) {
    inbox_open(&l->peer[r].boxes, r, PARCEL_BOXES);
    inbox_open(&l->peer[r].update, r, PARCEL_UPDATE);
    for (int k = 0; k < LET_SETS; k++) inbox_open(&l->peer[r].let[k], r, PARCEL_LET + k);
  }
  return l;
}

static void end_round(struct lets *l);

void lets_close(struct lets *l)
{
  comm_finish(l->c, &l->asked);
  end_round(l);
  outbox_close(&l->out);
  for (int r = 0; r < l->c->size; r++) {
    inbox_close(&l->peer[r].boxes);
    inbox_close(&l->peer[r].update);
    for (int k = 0; k < LET_SETS; k++) inbox_close(&l->peer[r].let[k]);
  }
  for (int k = 0; k < LET_SETS; k++) {
    memory_free(l->forest[k]);
    memory_free(l->asked_by[k]);
  }
  memory_free(l->round);
  memory_free(l->root);
  memory_free(l->choice);
  memory_free(l->card);
  memory_free(l->peer);
  memory_free(l);
}

void let_account(struct let_traffic *t, const struct comm *c, size_t bytes)
{
  t->messages += parcel_messages(c, bytes);
  t->bytes += (int64_t)(bytes + PARCEL_HEAD);
}

/* --- arrivals ---------------------------------------------------------------------------------------------------- */

static void *let_room_of(void *of, int peer, size_t bytes)
{
  struct lets *l = of;
  return l->be->let_room(l->d, l->kind, peer, bytes);
}

static void *own_room(void *of, int peer, size_t bytes)
{
  (void)of, (void)peer;
  return memory_alloc("messages", bytes);
}

/* --- LETs from device to device ---------------------------------------------------------------------------------- */

/* A message's bytes behind the head, for the next round. A backend without device memory of its own has them behind the head. */
static void add_body(struct lets *l, int r, int arrives, void *body, size_t bytes)
{
  if (bytes > LET_HEAD) l->round[l->round_count++] = (struct link_message){r, arrives, body, bytes - LET_HEAD};
}

/* The LET is announced now, and sent with the round. */
static void announce(struct lets *l, int r, int32_t next, void *message, size_t bytes)
{
  struct announcement a = {.bytes = bytes};
  memcpy(a.head, message, bytes < LET_HEAD ? bytes : LET_HEAD);
  outbox_send(&l->out, r, PARCEL_LET + (int)l->kind, next, &a, sizeof a, 0);
  add_body(l, r, 0, l->be->let_body ? l->be->let_body(l->d, l->kind, r) : (char *)message + LET_HEAD, bytes);
  let_account(l->exchanged[l->kind], l->c, sizeof a);
  if (bytes <= LET_HEAD) return;
  l->exchanged[l->kind]->messages += transport_messages(l->t, bytes - LET_HEAD);
  l->exchanged[l->kind]->bytes += (int64_t)(bytes - LET_HEAD);
}

/* Whether a peer's LET has been announced; then there is a place for it. */
static int hear(struct lets *l, int r)
{
  struct peer *p = &l->peer[r];
  struct inbox *box = &p->let[l->kind];
  struct announcement a;
  if (p->told[l->kind]) return 1;
  if (!inbox_poll(box, l->c, own_room, l)) return 0;
  memcpy(&a, box->data, sizeof a);
  char *room = l->be->let_room(l->d, l->kind, r, l->be->let_body_room || a.bytes < LET_HEAD ? LET_HEAD : a.bytes);
  memcpy(room, a.head, LET_HEAD);
  add_body(l, r, 1, l->be->let_body_room ? l->be->let_body_room(l->d, l->kind, r, a.bytes) : room + LET_HEAD, a.bytes);
  p->bytes[l->kind] = a.bytes;
  p->told[l->kind] = 1;
  if (l->kind != LET_SOFT) p->next = box->note;
  memory_free(box->data);
  inbox_done(box);
  return 1;
}

/* Whether a peer's LET has come, in its place, of *bytes. */
static int has_come(struct lets *l, int r, size_t *bytes)
{
  struct peer *p = &l->peer[r];
  struct inbox *box = &p->let[l->kind];
  if (transport_direct(l->t)) {
    *bytes = p->bytes[l->kind];
    return transport_done(l->t);
  }
  if (!inbox_poll(box, l->c, let_room_of, l)) return 0;
  *bytes = box->bytes;
  if (l->kind != LET_SOFT) p->next = box->note;
  inbox_done(box);
  return 1;
}

/* Whether a peer's LET is part of the forest now, if it is to be. */
static int attach(struct lets *l, int r)
{
  struct peer *p = &l->peer[r];
  size_t bytes;
  if (!p->wanted[l->kind] || p->there[l->kind]) return 1;
  if (!has_come(l, r, &bytes)) return 0;
  l->be->let_attach(l->d, l->kind, r, bytes, &l->exchanged[l->kind]->received);
  p->there[l->kind] = 1;
  l->arrived = timer_clock();
  return 1;
}

/* The lists in which those are whose LETs of this kind the forest has. */
static enum let_kind lists_of(const struct lets *l, enum let_kind kind) { return kind == LET_STEP && l->apart ? LET_SLOW : kind; }

/* --- updates from device to device -------------------------------------------------------------------------------- */

/* At refreshes much is told, to all who have LETs of this rank. So these updates make a round, like LETs. */
enum { BY_ROUND = INT32_MIN };   /* in the note of a parcel: it announces an update */

static void take_short(struct lets *l, int r)
{
  struct peer *p = &l->peer[r];
  l->traffic->received.particles += l->be->let_apply(l->d, r, p->update.data, p->update.bytes);
  memory_free(p->update.data);
  p->next = p->update.note;
  inbox_done(&p->update);
  l->arrived = timer_clock();
}

/* An update was announced: a place for it in the round. */
static void take_announcement(struct lets *l, int r)
{
  struct peer *p = &l->peer[r];
  memcpy(&p->update_told, p->update.data, sizeof p->update_told);
  memory_free(p->update.data);
  p->update_note = p->update.note & INT32_MAX;
  p->updating = 1;
  inbox_done(&p->update);
  if (!l->be->update_room) {
    p->update_whole = memory_alloc("messages", p->update_told.bytes);
    memcpy(p->update_whole, p->update_told.head, LET_HEAD);
  }
  add_body(l, r, 1, p->update_whole ? (char *)p->update_whole + LET_HEAD : l->be->update_room(l->d, r, p->update_told.bytes), p->update_told.bytes);
}

/* Whether a peer's part of the open round has been announced. What it told before is of ticks before the round's, and taken. */
static int hear_update(struct lets *l, int r)
{
  struct peer *p = &l->peer[r];
  if (!attach(l, r)) return 0;
  while (!p->updating) {
    inbox_expect(&p->update, l->c);
    if (!inbox_poll(&p->update, l->c, own_room, l)) return 0;
    if (p->update.note < 0)
      take_announcement(l, r);
    else
      take_short(l, r);
  }
  return 1;
}

/* Post the open round as soon as all of it has been announced; returns 0 when that is done, else 1 + a rank that is missing. */
static int try_round(struct lets *l)
{
  int left = 0, lists = lists_of(l, LET_STEP);
  for (int k = 0; k < l->trees[lists] && l->round_open; k++) {
    int r = l->forest[lists][k];
    if (r != l->c->rank && !hear_update(l, r)) left = r + 1;
  }
  if (left || !l->round_open) return left;
  transport_post(l->t, l->round_count, l->round);
  l->round_open = 0;
  return 0;
}

/* Take a peer's update that came with the round, if it has. */
static int take_update(struct lets *l, int r)
{
  struct peer *p = &l->peer[r];
  if (try_round(l) || !transport_done(l->t)) return 0;
  l->traffic->received.particles += l->be->let_apply(l->d, r, p->update_whole ? p->update_whole : p->update_told.head, p->update_told.bytes);
  memory_free(p->update_whole);
  p->update_whole = NULL;
  p->next = p->update_note;
  p->updating = 0;
  l->arrived = timer_clock();
  return 1;
}

/* Post the open round, when all ranks that send to this one have announced what: behind this, they do not wait for this rank any more,
 * whatever it does next. */
static void post_round(struct lets *l)
{
  struct patience patience = {0};
  for (int left; (left = try_round(l));) comm_rest(l->c, &patience, left - 1);
  comm_rested(&patience);
}

/* Wait until the round is complete, and take what it brought: what it sends is about to be replaced. */
static void end_round(struct lets *l)
{
  if (!transport_direct(l->t)) return;
  post_round(l);
  transport_wait(l->t);
  for (int r = 0; r < l->c->size && !l->be->update_body; r++) {
    memory_free(l->peer[r].update_sent);
    l->peer[r].update_sent = NULL;
  }
  for (int k = 0, lists = lists_of(l, LET_STEP); k < l->trees[lists]; k++)
    if (l->peer[l->forest[lists][k]].updating) take_update(l, l->forest[lists][k]);
}

/* Take the updates of a peer that the tick asks for, as far as they have come. */
static void poll_updates(struct lets *l, int r)
{
  struct peer *p = &l->peer[r];
  while (p->next < l->tick) {
    if (l->round_open) try_round(l);
    if (p->updating) {
      if (!take_update(l, r)) return;
      continue;
    }
    inbox_expect(&p->update, l->c);
    if (!inbox_poll(&p->update, l->c, own_room, l) || p->update.note < 0) return;
    take_short(l, r);
  }
}

/* --- the choice, and what comes of it ---------------------------------------------------------------------------- */

/* A peer's LET has been chosen: it is sent or announced. */
static void answer(struct lets *l, const struct let_choice *c)
{
  struct peer *p = &l->peer[c->peer];
  int32_t next = l->next_cells < c->next ? l->next_cells : c->next;
  if (transport_direct(l->t)) {
    announce(l, c->peer, next, c->message, c->bytes);
  } else {
    outbox_send(&l->out, c->peer, PARCEL_LET + (int)l->kind, next, c->message, c->bytes, 1);
    let_account(l->exchanged[l->kind], l->c, c->bytes);
  }
  memory_free(p->boxes.data);
  inbox_done(&p->boxes);
  p->asks = 0;
}

/* Whether a peer's LET is there, and true at the tick. */
static int poll_let(struct lets *l, int r)
{
  struct peer *p = &l->peer[r];
  if (r == l->c->rank || !p->wanted[lists_of(l, l->kind)]) return 1;
  if (!attach(l, r)) return 0;
  if (l->kind == LET_STEP) poll_updates(l, r);
  return l->kind != LET_STEP || p->next >= l->tick;
}

/* Look once at everyone whose LET is part of the forest; the walk calls this too. Returns whether all are there. */
static int progress(void *of)
{
  struct lets *l = of;
  int there = 0, lists = lists_of(l, l->kind);
  for (int k = 0; k < l->trees[lists]; k++) there += poll_let(l, l->forest[lists][k]);
  outbox_tidy(&l->out);
  return there == l->trees[lists];
}

/* Wait until all LETs of the forest are there, and true at the tick. Returns for how long. */
static double wait_for_all(struct lets *l)
{
  struct patience patience = {0};
  int lists = lists_of(l, l->kind), count = l->trees[lists], *forest = l->forest[lists];
  double waited = 0;
  for (int there = 0; there < count;) {
    if (!poll_let(l, forest[there])) {
      comm_rest(l->c, &patience, forest[there]);
      continue;
    }
    waited += comm_rested(&patience);
    there++;
  }
  return waited;
}

/* --- the exchange ------------------------------------------------------------------------------------------------ */

/* Cards of all; who talks to whom. */
static void meet(struct lets *l, const struct lattice *lattice)
{
  int self = l->c->rank, count = 0, *asked_by = l->asked_by[l->kind], asked = 0, *forest = l->forest[l->kind] + 1, trees = 0;
  struct let_box *boxes = memory_alloc("let", sizeof *boxes * LET_BOXES);
  struct let_card card;
  let_introduce(l->be, l->d, &l->request, boxes, &card);
  comm_allgather(l->c, &card, sizeof card, l->card);
  for (int k = 1; k < l->c->size; k++) {
    int r = (self + k) % l->c->size;
    struct peer *p = &l->peer[r];
    enum need mine = let_contact(lattice, &l->card[r], &l->card[self], &l->request);
    p->asks = let_contact(lattice, &l->card[self], &l->card[r], &l->request) == NEED_OPEN;
    p->wanted[l->kind] = mine == NEED_OPEN;
    p->told[l->kind] = p->there[l->kind] = 0;
    if (mine == NEED_CELL) l->root[count++] = &l->card[r];
    if (p->asks) {
      asked_by[asked++] = r;
      inbox_expect(&p->boxes, l->c);
    }
    if (mine != NEED_OPEN) continue;
    forest[trees++] = r;
    inbox_expect(&p->let[l->kind], l->c);
    size_t bytes = sizeof *boxes * (size_t)card.boxes;
    outbox_send(&l->out, r, PARCEL_BOXES, 0, boxes, bytes, 0);
    let_account(l->exchanged[l->kind], l->c, bytes);
  }
  if (count > 0)
    *--forest = self, trees++;
  else
    memmove(forest - 1, forest, sizeof *forest * (size_t)trees);
  l->trees[l->kind] = trees;
  l->asked_by_count[l->kind] = asked;
  l->be->let_roots(l->d, l->kind, self, count, l->root);
  memory_free(boxes);
}

/* Answer those whose boxes have come, all at once: when nobody is missing any more, or has been since `some_came` for too long.
 * *news: some came. Returns 0 when there is nobody left, else 1 + a rank that is waited for. */
static int answer_some(struct lets *l, double *some_came, int *news)
{
  int missing = 0, count = 0;
  for (int k = 0; k < l->asked_by_count[l->kind]; k++) {
    int r = l->asked_by[l->kind][k];
    struct peer *p = &l->peer[r];
    if (!p->asks) continue;
    if (inbox_poll(&p->boxes, l->c, own_room, l))
      l->choice[count++] =
          (struct let_choice){.peer = r, .boxes = p->boxes.data, .box_count = (int)(p->boxes.bytes / sizeof(struct let_box))};
    else
      missing = r + 1;
  }
  if (count == 0) return missing;
  if (missing && *some_came == 0) *some_came = timer_clock(), *news = 1;
  if (missing && timer_clock() - *some_came < GATHER_SECONDS) return missing;
  l->be->let_select(l->d, l->kind, &l->request, count, l->choice);
  for (int k = 0; k < count; k++) answer(l, &l->choice[k]);
  *some_came = 0;
  *news = 1;
  return missing;
}

/* The same with announcements. */
static int hear_some(struct lets *l)
{
  int left = 0;
  for (int k = 0; k < l->trees[l->kind] && transport_direct(l->t); k++) {
    int r = l->forest[l->kind][k];
    if (r != l->c->rank && !hear(l, r)) left = r + 1;
  }
  return left;
}

/* There are none of this kind any more. */
static void forget(struct lets *l, enum let_kind kind)
{
  l->be->let_clear(l->d, kind);
  l->trees[kind] = l->asked_by_count[kind] = 0;
}

void let_exchange(struct lets *l, enum let_kind kind, const struct lattice *lattice, struct let_request request, int32_t next_cells,
                  struct let_traffic *traffic)
{
  end_round(l);
  if (kind != LET_SOFT && request.part != LET_OF_FAST) {   /* these take the place of those that came before, and of those of the synchronisation */
    traffic->received = (struct let_count){0};
    forget(l, LET_SOFT);
  }
  if (kind == LET_SLOW) forget(l, LET_STEP);
  else if (l->apart && request.part == LET_OF_ALL) forget(l, LET_SLOW);
  l->apart = request.part != LET_OF_ALL;
  l->be->let_clear(l->d, kind);
  if (l->c->size == 1) return;
  outbox_flush(&l->out);   /* the device's messages are about to be replaced */
  l->kind = kind;
  l->request = request;
  l->next_cells = next_cells;
  l->exchanged[kind] = traffic;
  l->tick = 0;
  l->round_count = 0;
  meet(l, lattice);
  struct patience patience = {0};
  double some_came = 0;
  for (int left = 1; left;) {
    int news = 0, boxes = answer_some(l, &some_came, &news), announcements = hear_some(l);
    left = boxes ? boxes : announcements;
    if (news) comm_rested(&patience);
    if (left) comm_rest(l->c, &patience, left - 1);
  }
  comm_rested(&patience);
  if (transport_direct(l->t)) transport_post(l->t, l->round_count, l->round);
  if (kind == LET_STEP) l->be->let_watch(l->d, &request);
  if (kind == LET_SLOW) wait_for_all(l);   /* those of the fast stand behind them */
}

/* --- the forest -------------------------------------------------------------------------------------------------- */

void let_walk(struct lets *l, struct walk_request request, struct tally *tally, struct let_traffic *updates)
{
  int lists = lists_of(l, request.let), count = l->trees[lists], done = 0, *forest = l->forest[lists];
  double begin = timer_clock(), waited = 0;
  struct patience patience = {0};
  l->kind = request.let;
  l->tick = request.tick;
  l->traffic = updates;
  l->arrived = begin;
  request.progress = l->c->size > 1 ? progress : NULL;
  request.progress_of = l;
  request.local = 1;
  if (l->be->walks_at_once && l->be->walks_at_once(l->d, &request)) {
    waited = wait_for_all(l);
    request.peers = forest;
    request.peer_count = done = count;
    /* nothing is to come, or to go by way of the host: it need not look on, and may queue more */
    if (transport_direct(l->t) && transport_done(l->t) && outbox_tidy(&l->out) == 0) request.progress = NULL;
  }
  request.last = done == count;
  double before = tally->seconds;
  l->be->walk(l->d, &request, tally);
  tally->local_seconds += tally->seconds - before;
  request.local = 0;
  while (done < count) {
    int ready = 0;
    while (done + ready < count && poll_let(l, forest[done + ready])) ready++;
    if (ready == 0) {
      comm_rest(l->c, &patience, forest[done]);
      continue;
    }
    waited += comm_rested(&patience);
    request.peers = forest + done;
    request.peer_count = ready;
    done += ready;
    request.last = done == count;
    l->be->walk(l->d, &request, tally);
  }
  ledger_hidden(l->c->ledger, fmax(l->arrived - begin - waited, 0));
}

/* --- updates ----------------------------------------------------------------------------------------------------- */

/* An update of a refresh is announced, and goes with the round. */
static void announce_update(struct lets *l, int r, int32_t next, void *message, size_t bytes, struct let_traffic *traffic)
{
  struct announcement a = {.bytes = bytes};
  memcpy(a.head, message, LET_HEAD);
  outbox_send(&l->out, r, PARCEL_UPDATE, next | BY_ROUND, &a, sizeof a, 0);
  if (!l->be->update_body) {   /* the next update may come before the round is complete */
    l->peer[r].update_sent = memory_alloc("messages", bytes);
    memcpy(l->peer[r].update_sent, message, bytes);
  }
  add_body(l, r, 0, l->be->update_body ? l->be->update_body(l->d, r) : (char *)l->peer[r].update_sent + LET_HEAD, bytes);
  let_account(traffic, l->c, sizeof a);
  traffic->messages += transport_messages(l->t, bytes - LET_HEAD);
  traffic->bytes += (int64_t)(bytes - LET_HEAD);
}

void let_send_updates(struct lets *l, int32_t tick, enum let_news news, int32_t next_refresh, struct let_traffic *traffic)
{
  int by_round = news != NEWS_FEW && transport_direct(l->t), lists = lists_of(l, LET_STEP);
  l->traffic = traffic;
  l->kind = LET_STEP;
  outbox_tidy(&l->out);
  if (by_round) {
    end_round(l);
    l->round_count = 0;
  }
  for (int k = 0; k < l->asked_by_count[lists]; k++) {
    int r = l->asked_by[lists][k];
    int32_t next;
    void *message;
    size_t bytes = l->be->let_update(l->d, r, tick, news, &next, &message);
    if (bytes == 0) continue;
    if (next_refresh < next) next = next_refresh;
    if (by_round) {
      announce_update(l, r, next, message, bytes, traffic);
      continue;
    }
    outbox_send(&l->out, r, PARCEL_UPDATE, next, message, bytes, 0);
    let_account(traffic, l->c, bytes);
  }
  if (!by_round) return;
  l->round_open = 1;
  post_round(l);
}

void let_take_updates(struct lets *l, int32_t tick, struct let_traffic *traffic)
{
  l->kind = LET_STEP;
  l->tick = tick;
  l->traffic = traffic;
  wait_for_all(l);
}

int let_anyone_strays(struct lets *l, int64_t mine, int begin)
{
  int answer = 0;
  if (l->c->size == 1) return 0;
  comm_finish(l->c, &l->asked);
  if (!begin) answer = l->strays[0] > 0;
  l->strays[1] = begin ? 0 : mine;
  comm_begin_sum(l->c, &l->strays[1], &l->strays[0], &l->asked);
  return answer;
}
