/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "mpi/let.h"

#include <math.h>
#include <string.h>

#include "backend/let_verbs.h"
#include "backend/link.h"
#include "base/memory.h"
#include "mpi/let_parts.h"
#include "tree/upper.h"

/* LETs for several receivers are selected at once. So a selection waits this long for missing boxes, which is less than a selection takes;
 * the boxes of all ranks arrive at nearly the same time. */
#define GATHER_SECONDS 5e-5

/* A LET has left this rank. */
static void let_sent(void *of, int peer, int tag)
{
  struct lets *l = of;
  if (l->be->let->sent) l->be->let->sent(l->d, (enum let_kind)(tag - MESSAGE_LET), peer);
}

struct lets *lets_open(const struct comm *c, const struct backend *be, struct device *d, struct transport *t, const int grid[3])
{
  struct lets *l = memory_alloc("let", sizeof *l);
  *l = (struct lets){.c = c, .be = be, .d = d, .t = t, .violation_request = MPI_REQUEST_NULL};
  sparse_open(&l->peers, "let", c->size, sizeof(struct peer));
  halves_open(&l->tree, grid);
  outbox_open(&l->out, c);
  l->out.sent = let_sent;
  l->out.of = l;
  return l;
}

void lets_close(struct lets *l)
{
  comm_finish(l->c, &l->violation_request);
  let_round_end(l);
  outbox_close(&l->out);
  for (int i = 0; i < l->peers.count; i++) {
    struct peer *p = let_peer_of(l, l->peers.used[i]);
    inbox_close(&p->boxes);
    inbox_close(&p->update);
    for (int k = 0; k < LET_SETS; k++) inbox_close(&p->let[k]);
  }
  sparse_close(&l->peers);
  for (int k = 0; k < LET_SETS; k++) {
    memory_free(l->forest[k]);
    memory_free(l->receiver[k]);
  }
  memory_free(l->round);
  halves_close(&l->tree);
  memory_free(l->choice);
  memory_free(l);
}

struct peer *let_peer_of(struct lets *l, int rank)
{
  struct peer *p = sparse_find(&l->peers, rank);
  if (p) return p;
  p = sparse_at(&l->peers, rank);
  inbox_open(&p->boxes, rank, MESSAGE_BOXES);
  inbox_open(&p->update, rank, MESSAGE_UPDATE);
  for (int k = 0; k < LET_SETS; k++) inbox_open(&p->let[k], rank, MESSAGE_LET + k);
  return p;
}

void let_account(struct let_traffic *t, const struct comm *c, size_t bytes)
{
  t->messages += message_part_count(c, bytes);
  t->bytes += (int64_t)(bytes + MESSAGE_HEAD);
}

/* A transition that the table does not allow is a defect of the program. To continue would cause a deadlock or wrong forces. */
void let_advance(struct lets *l, int peer, enum let_side side, enum let_kind kind, enum let_event event)
{
  enum let_state before = let_state(l, peer, side, kind);
  if (let_peer_step(&let_peer_of(l, peer)->protocol, side, kind, event))
    fatal("LET protocol with rank %d (%s, %s): event \"%s\" is not allowed in state \"%s\"", peer, let_kind_name(kind), let_side_name(side),
          let_event_name(event), let_state_name(before));
}

void *let_host_room(void *unused, int peer, size_t bytes)
{
  (void)unused, (void)peer;
  return memory_alloc("messages", bytes);
}

/* --- arrivals ---------------------------------------------------------------------------------------------------- */

static void *let_room(void *of, int peer, size_t bytes)
{
  struct lets *l = of;
  return l->be->let->room(l->d, l->kind, peer, bytes);
}

/* Test whether a LET through the host has arrived. */
static void poll_message(struct lets *l, int peer)
{
  struct peer *p = let_peer_of(l, peer);
  struct inbox *box = &p->let[l->kind];
  if (!inbox_poll(box, l->c, let_room, l)) return;
  p->bytes[l->kind] = box->bytes;
  if (l->kind != LET_SOFT) p->valid_until = box->note;
  inbox_done(box);
  let_advance(l, peer, LET_RECEIVER, l->kind, LET_EVENT_MESSAGE);
}

int let_attach(struct lets *l, int peer)
{
  struct peer *p = let_peer_of(l, peer);
  if (let_state(l, peer, LET_RECEIVER, l->kind) == LET_NONE || let_peer_attached(&p->protocol, l->kind)) return 1;
  if (transport_direct(l->t))
    let_round_complete(l);
  else
    poll_message(l, peer);
  if (let_state(l, peer, LET_RECEIVER, l->kind) != LET_ARRIVED) return 0;
  l->be->let->attach(l->d, l->kind, peer, p->bytes[l->kind], &l->exchanged[l->kind]->received);
  let_advance(l, peer, LET_RECEIVER, l->kind, LET_EVENT_ATTACH);
  l->arrived = timer_clock();
  return 1;
}

/* Returns 1 if a peer's LET is attached and valid at l->tick. */
static int poll_let(struct lets *l, int peer)
{
  if (peer == l->c->rank) return 1;   /* the upper tree */
  if (!let_attach(l, peer)) return 0;
  if (l->kind != LET_STEP) return 1;
  let_update_poll(l, peer);
  return let_peer_of(l, peer)->valid_until >= l->tick;
}

/* Poll once for all LETs of the forest and free messages that have been sent. The walk calls this while it runs
 * (walk_request.poll_messages). */
static enum poll_status poll_messages(void *polled)
{
  struct lets *l = polled;
  int valid = 0, listed = let_listed(l, l->kind);
  for (int k = 0; k < l->trees[listed]; k++) valid += poll_let(l, l->forest[listed][k]);
  outbox_tidy(&l->out);
  return valid == l->trees[listed] ? POLL_COMPLETE : POLL_PENDING;
}

double let_wait_for_all(struct lets *l)
{
  struct poll_backoff poll_backoff = {0};
  int listed = let_listed(l, l->kind), count = l->trees[listed], *forest = l->forest[listed];
  double waited = 0;
  for (int valid = 0; valid < count;) {
    if (!poll_let(l, forest[valid])) {
      comm_backoff(l->c, &poll_backoff, forest[valid]);
      continue;
    }
    waited += comm_backoff_end(&poll_backoff);
    valid++;
  }
  return waited;
}

/* --- the exchange ------------------------------------------------------------------------------------------------ */

/* Ask a rank for its LET: send it the boxes. */
static void send_boxes(struct lets *l, int peer, const struct let_summary *sender, const struct let_box *boxes, int count)
{
  void *message = memory_alloc("messages", sizeof *boxes * (size_t)(count + 1));
  size_t bytes = let_boxes_pack(sender, boxes, count, &l->request, message);
  inbox_expect(&let_peer_of(l, peer)->let[l->kind], l->c);
  outbox_send(&l->out, peer, MESSAGE_BOXES, 0, message, bytes, OUTBOX_TAKES);
  let_account(l->exchanged[l->kind], l->c, bytes);
  let_advance(l, peer, LET_RECEIVER, l->kind, LET_EVENT_NEED);
}

/* Make the upper tree of the cells that this rank needs of the entries k with top[k]; `tops`: their number. */
static void make_upper(struct lets *l, const struct lattice *lattice, const struct gathered *g, const char *top, int tops, const struct let_summary *own,
                       const struct let_box *boxes)
{
  struct let_request r = l->request;
  struct let_summary *room = memory_alloc("let", sizeof *room);
  struct upper u;
  r.boxes = boxes;
  r.box_count = own->boxes;
  upper_open(&u, tops);
  for (int k = 0; k < g->count + g->groups; k++)
    if (top[k]) upper_add(&u, lattice, &stage_see(&l->request, &g->entry[k], room)->top, &own->box, &r);
  upper_finish(&u);
  l->be->let->upper(l->d, l->kind, l->c->rank, u.nodes, u.node, (const float(*)[6])u.quad);
  upper_free(&u);
  memory_free(room);
}

/* Room for so many senders and receivers in the lists of a kind, whose contents are not kept. */
static void list_room(struct lets *l, enum let_kind kind, int ranks)
{
  if (ranks <= l->list_capacity[kind]) return;
  l->list_capacity[kind] = ranks;
  memory_free(l->forest[kind]);
  memory_free(l->receiver[kind]);
  l->forest[kind] = memory_alloc("let", sizeof **l->forest * (size_t)ranks);
  l->receiver[kind] = memory_alloc("let", sizeof **l->receiver * (size_t)ranks);
}

static void choice_room(struct lets *l, int receivers)
{
  if (receivers <= l->choice_capacity) return;
  l->choice_capacity = receivers;
  memory_free(l->choice);
  l->choice = memory_alloc("let", sizeof *l->choice * (size_t)receivers);
}

/* Exchange summaries, derive which ranks send LETs to which, and send the boxes of this rank to its senders. */
static void exchange_summaries(struct lets *l, const struct lattice *lattice)
{
  enum let_kind kind = l->kind;
  int self = l->c->rank, tops = 0, receivers = 0, trees = 0;
  struct let_box *boxes = memory_alloc("let", sizeof *boxes * LET_BOXES);
  struct let_summary *own = memory_alloc("let", 2 * sizeof *own), *room = own + 1;
  struct gathered g;
  let_summarise(l->be, l->d, l->c->size, &l->request, boxes, own);
  let_gather(l, lattice, own, &g);
  list_room(l, kind, g.count + 1);
  int *forest = l->forest[kind] + 1;
  char *top = memory_alloc("let", (size_t)(g.count + g.groups + 1));   /* cells of these suffice */
  for (int k = 0; k < g.count; k++) {
    int r = g.rank[k];
    const struct let_summary *other = stage_see(&l->request, &g.entry[k], room);
    enum need mine = let_contact(lattice, other, own, &l->request);
    tops += top[k] = mine == NEED_CELL;
    if (let_contact(lattice, own, other, &l->request) == NEED_OPEN) {
      l->receiver[kind][receivers++] = r;
      inbox_expect(&let_peer_of(l, r)->boxes, l->c);
      let_advance(l, r, LET_SENDER, kind, LET_EVENT_NEED);
    }
    if (mine != NEED_OPEN) continue;
    forest[trees++] = r;
    send_boxes(l, r, other, boxes, own->boxes);
  }
  for (int k = g.count; k < g.count + g.groups; k++)
    tops += top[k] = let_contact(lattice, stage_see(&l->request, &g.entry[k], room), own, &l->request) == NEED_CELL;
  if (tops > 0)
    *--forest = self, trees++;
  else
    memmove(forest - 1, forest, sizeof *forest * (size_t)trees);
  l->trees[kind] = trees;
  l->receivers[kind] = receivers;
  choice_room(l, receivers);
  make_upper(l, lattice, &g, top, tops, own, boxes);
  memory_free(top);
  let_gather_free(&g);
  memory_free(own);
  memory_free(boxes);
}

/* Send or announce a selected LET. */
static void send_let(struct lets *l, const struct let_choice *c)
{
  struct peer *p = let_peer_of(l, c->peer);
  int32_t valid_until = l->next_moment_update < c->next ? l->next_moment_update : c->next;
  if (c->bytes == 0) valid_until = TICKS;   /* no updates follow */
  if (transport_direct(l->t)) {
    let_round_announce(l, c->peer, valid_until, c->message, c->bytes);
  } else {
    outbox_send(&l->out, c->peer, MESSAGE_LET + (int)l->kind, valid_until, c->message, c->bytes, OUTBOX_BORROWS);
    let_account(l->exchanged[l->kind], l->c, c->bytes);
    let_advance(l, c->peer, LET_SENDER, l->kind, LET_EVENT_MESSAGE);
  }
  memory_free(p->boxes.data);
  inbox_done(&p->boxes);
}

/* Replace the message in an inbox by the boxes that it has. */
static void read_boxes(struct lets *l, struct inbox *in)
{
  struct let_box *boxes = memory_alloc("messages", sizeof *boxes * LET_BOXES);
  int count = let_boxes_unpack(&l->request, in->data, in->bytes, boxes);
  memory_free(in->data);
  in->data = memory_resize("messages", boxes, sizeof *boxes * (size_t)(count + 1));
  in->bytes = sizeof *boxes * (size_t)count;
}

/* Add a receiver to the selection if its boxes have arrived; else return 0. */
static int add_receiver(struct lets *l, int peer, int *count)
{
  struct inbox *boxes = &let_peer_of(l, peer)->boxes;
  if (let_state(l, peer, LET_SENDER, l->kind) == LET_BOXES_EXPECTED) {
    if (!inbox_poll(boxes, l->c, let_host_room, NULL)) return 0;
    read_boxes(l, boxes);
    let_advance(l, peer, LET_SENDER, l->kind, LET_EVENT_BOXES);
  }
  if (let_state(l, peer, LET_SENDER, l->kind) == LET_SELECTING)
    l->choice[(*count)++] = (struct let_choice){
        .peer = peer, .boxes = boxes->data, .box_count = (int)(boxes->bytes / sizeof(struct let_box))};
  return 1;
}

/* Select and send LETs to all receivers whose boxes have arrived, at once. Wait with it while boxes are missing and fewer than
 * GATHER_SECONDS have passed since *first_boxes (clock at the first arrival; 0: none yet). Sets *progressed to 1 if boxes have arrived or
 * LETs were sent. Returns 1 + a rank whose boxes are missing, else 0. */
static int send_requested_lets(struct lets *l, double *first_boxes, int *progressed)
{
  int missing = 0, count = 0;
  for (int k = 0; k < l->receivers[l->kind]; k++)
    if (!add_receiver(l, l->receiver[l->kind][k], &count)) missing = l->receiver[l->kind][k] + 1;
  if (count == 0) return missing;
  if (missing && *first_boxes == 0) *first_boxes = timer_clock(), *progressed = 1;
  if (missing && timer_clock() - *first_boxes < GATHER_SECONDS) return missing;
  l->be->let->select(l->d, l->kind, &l->request, count, l->choice);
  for (int k = 0; k < count; k++) send_let(l, &l->choice[k]);
  *first_boxes = 0;
  *progressed = 1;
  return missing;
}

/* Receive announcements of LETs, with a transport between devices. Returns 1 + a rank whose announcement is missing, else 0. */
static int receive_announcements(struct lets *l)
{
  int missing = 0;
  for (int k = 0; k < l->trees[l->kind] && transport_direct(l->t); k++) {
    int r = l->forest[l->kind][k];
    if (r != l->c->rank && !let_round_announced(l, r)) missing = r + 1;
  }
  return missing;
}

/* End all LETs of a kind, sent and received. */
static void clear_lets(struct lets *l, enum let_kind kind)
{
  l->be->let->clear(l->d, kind);
  for (int k = 0; k < l->trees[kind]; k++) let_advance(l, l->forest[kind][k], LET_RECEIVER, kind, LET_EVENT_CLEAR);
  for (int k = 0; k < l->receivers[kind]; k++) let_advance(l, l->receiver[kind][k], LET_SENDER, kind, LET_EVENT_CLEAR);
  l->trees[kind] = l->receivers[kind] = 0;
}

/* End the LETs that those of `kind` and `part` replace. */
static void clear_replaced(struct lets *l, enum let_kind kind, enum let_part part, struct let_traffic *traffic)
{
  if (kind != LET_SOFT && part != LET_OF_FAST) {
    traffic->received = (struct let_count){0};
    clear_lets(l, LET_SOFT);
  }
  if (kind == LET_SLOW) clear_lets(l, LET_STEP);
  else if (l->slow_apart && part == LET_OF_ALL) clear_lets(l, LET_SLOW);
  l->slow_apart = part != LET_OF_ALL;
  clear_lets(l, kind);
}

void let_exchange(struct lets *l, enum let_kind kind, const struct lattice *lattice, struct let_request request, int32_t next_moment_update,
                  struct let_traffic *traffic)
{
  if (!l->be->let && l->c->size == 1) return;   /* a backend for one rank */
  let_round_end(l);
  clear_replaced(l, kind, request.part, traffic);
  if (l->c->size == 1) return;
  outbox_flush(&l->out);   /* the selection overwrites the buffers of sent messages */
  l->kind = kind;
  l->request = request;
  let_tops(l->be, &l->request);
  l->next_moment_update = next_moment_update;
  l->exchanged[kind] = traffic;
  l->tick = 0;
  exchange_summaries(l, lattice);
  struct poll_backoff poll_backoff = {0};
  double first_boxes = 0;
  for (int missing = 1; missing;) {
    int progressed = 0, boxes = send_requested_lets(l, &first_boxes, &progressed), announcements = receive_announcements(l);
    missing = boxes ? boxes : announcements;
    if (progressed) comm_backoff_end(&poll_backoff);
    if (missing) comm_backoff(l->c, &poll_backoff, missing - 1);
  }
  comm_backoff_end(&poll_backoff);
  if (transport_direct(l->t)) let_round_post(l, kind);
  if (kind == LET_STEP) l->be->let->watch(l->d, &request);
  if (kind == LET_SLOW) let_wait_for_all(l);   /* LETs of fast trees are stored after them */
}

/* --- the walk ---------------------------------------------------------------------------------------------------- */

/* Whether the walk need not poll: the LETs of all its peers are here, and no message passes through the host. */
static int nothing_to_poll(struct lets *l) { return transport_carries(l->t) && outbox_tidy(&l->out) == 0; }

void let_walk(struct lets *l, struct walk_request request, struct tally *tally, struct let_traffic *updates)
{
  int listed = let_listed(l, request.let), count = l->trees[listed], done = 0, *forest = l->forest[listed];
  double begin = timer_clock(), waited = 0;
  struct poll_backoff poll_backoff = {0};
  l->kind = request.let;
  l->tick = request.tick;
  l->update_traffic = updates;
  l->arrived = begin;
  request.poll_messages = l->c->size > 1 ? poll_messages : NULL;
  request.polled = l;
  request.local = 1;
  int at_once = l->be->walks_at_once && l->be->walks_at_once(l->d, &request);
  if (at_once) waited = let_wait_for_all(l);
  if (count > 0 && (at_once || (request.poll_messages && poll_messages(l) == POLL_COMPLETE))) {
    request.peers = forest;
    request.peer_count = done = count;
  }
  request.last = done == count;
  if (request.last && nothing_to_poll(l)) request.poll_messages = NULL;   /* then the device can queue more work */
  double before = tally->seconds;
  l->be->walk(l->d, &request, tally);
  if (done == 0) tally->local_seconds += tally->seconds - before;
  request.local = 0;
  while (done < count) {
    int ready = 0;
    while (done + ready < count && poll_let(l, forest[done + ready])) ready++;
    if (ready == 0) {
      comm_backoff(l->c, &poll_backoff, forest[done]);
      continue;
    }
    waited += comm_backoff_end(&poll_backoff);
    request.peers = forest + done;
    request.peer_count = ready;
    done += ready;
    request.last = done == count;
    if (request.last && nothing_to_poll(l)) request.poll_messages = NULL;
    l->be->walk(l->d, &request, tally);
  }
  ledger_hidden(l->c->ledger, fmax(l->arrived - begin - waited, 0));
}

/* --- violations -------------------------------------------------------------------------------------------------- */

int let_any_violation(struct lets *l, int64_t mine, int begin)
{
  int any_violation = 0;
  if (l->c->size == 1) return 0;
  comm_finish(l->c, &l->violation_request);
  if (!begin) any_violation = l->violations[0] > 0;
  l->violations[1] = begin ? 0 : mine;
  comm_begin_sum(l->c, &l->violations[1], &l->violations[0], &l->violation_request);
  return any_violation;
}
