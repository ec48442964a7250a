/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "mpi/let/let.h"

#include <math.h>
#include <string.h>

#include "backend/let_verbs.h"
#include "backend/link.h"
#include "base/memory.h"
#include "mpi/let/let_arrive.h"
#include "mpi/let/let_gather.h"
#include "mpi/let/let_round.h"
#include "tree/upper.h"

/* LETs for several receivers are selected at once. So a selection waits this long for missing boxes, which is less than
 * a selection takes; the boxes of all ranks arrive at nearly the same time. */
#define GATHER_SECONDS 5e-5

/* A LET has left this rank. */
static void let_sent(void *of, int peer, int tag)
{
  struct lets *l = of;
  if (l->be->let->sent) l->be->let->sent(l->d, (enum let_kind)(tag - MESSAGE_LET), peer);
}

struct lets *lets_open(const struct comm *comm, const struct backend *be, struct device *d, struct transport *transport,
                       const int grid[3])
{
  struct lets *l = memory_alloc("let", sizeof *l);
  *l = (struct lets){.c = comm, .be = be, .d = d, .t = transport, .violation_request = MPI_REQUEST_NULL};
  sparse_open(&l->peers, "let", comm->size, sizeof(struct peer));
  halves_open(&l->tree, grid);
  outbox_open(&l->out, comm);
  l->out.sent = let_sent;
  l->out.of = l;
  return l;
}

void lets_close(struct lets *lets)
{
  comm_finish(lets->c, &lets->violation_request);
  let_round_end(lets);
  outbox_close(&lets->out);
  for (int i = 0; i < lets->peers.count; i++) {
    struct peer *p = let_peer_of(lets, lets->peers.used[i]);
    inbox_close(&p->boxes);
    inbox_close(&p->update);
    for (int k = 0; k < LET_SETS; k++) inbox_close(&p->let[k]);
  }
  sparse_close(&lets->peers);
  for (int k = 0; k < LET_SETS; k++) {
    memory_free(lets->set[k].forest);
    memory_free(lets->set[k].receiver);
  }
  memory_free(lets->round.body);
  halves_close(&lets->tree);
  memory_free(lets->choice);
  memory_free(lets);
}

/* --- the exchange ------------------------------------------------------------------------------------------------ */

/* Ask a rank for its LET: send it the boxes. */
static void send_boxes(struct lets *lets, const struct let_call *call, int peer, const struct let_summary *sender,
                       const struct let_box *boxes, int count)
{
  enum let_kind kind = call->kind;
  void *message = memory_alloc("messages", sizeof *boxes * (size_t)(count + 1));
  size_t bytes = let_boxes_pack(sender, boxes, count, call->request, message);
  inbox_expect(&let_peer_of(lets, peer)->let[kind], lets->c);
  outbox_send(&lets->out, peer, MESSAGE_BOXES, 0, message, bytes, OUTBOX_TAKES);
  let_account(lets->set[kind].traffic, lets->c, bytes);
  let_advance(lets, peer, LET_RECEIVER, kind, LET_EVENT_NEED);
}

/* Make the upper tree of the cells that this rank needs of the entries k with top[k]; `tops`: their number. */
static void make_upper(struct lets *lets, const struct let_call *call, const struct lattice *lattice,
                       const struct gathered *gathered, const char *top, int tops, const struct let_summary *own,
                       const struct let_box *boxes)
{
  struct let_request r = *call->request;
  struct let_summary *scratch = memory_alloc("let", sizeof *scratch);
  struct upper u;
  r.boxes = boxes;
  r.box_count = own->boxes;
  upper_open(&u, tops);
  for (int k = 0; k < gathered->count + gathered->groups; k++)
    if (top[k]) upper_add(&u, lattice, &stage_see(call->request, &gathered->entry[k], scratch)->top, &own->box, &r);
  upper_finish(&u);
  lets->be->let->upper(lets->d, call->kind, lets->c->rank, u.nodes, u.node, (const float(*)[6])u.quad);
  upper_free(&u);
  memory_free(scratch);
}

/* Room for so many senders and receivers in the lists, whose contents are not kept. */
static void reserve_list(struct let_set *set, int ranks)
{
  if (ranks <= set->capacity) return;
  set->capacity = ranks;
  memory_free(set->forest);
  memory_free(set->receiver);
  set->forest = memory_alloc("let", sizeof *set->forest * (size_t)ranks);
  set->receiver = memory_alloc("let", sizeof *set->receiver * (size_t)ranks);
}

static void reserve_choices(struct lets *lets, int receivers)
{
  if (receivers <= lets->choice_capacity) return;
  lets->choice_capacity = receivers;
  memory_free(lets->choice);
  lets->choice = memory_alloc("let", sizeof *lets->choice * (size_t)receivers);
}

/* Exchange summaries, derive which ranks send LETs to which, and send the boxes of this rank to its senders. */
static void exchange_summaries(struct lets *lets, const struct let_call *call, const struct lattice *lattice)
{
  enum let_kind kind = call->kind;
  const struct let_request *request = call->request;
  struct let_set *set = &lets->set[kind];
  int self = lets->c->rank, tops = 0, receivers = 0, trees = 0;
  struct let_box *boxes = memory_alloc("let", sizeof *boxes * LET_BOXES);
  struct let_summary *own = memory_alloc("let", 2 * sizeof *own), *scratch = own + 1;
  struct gathered g;
  let_summarise(lets->be, lets->d, lets->c->size, request, boxes, own);
  let_gather(lets, call, lattice, own, &g);
  reserve_list(set, g.count + 1);
  int *forest = set->forest + 1;
  char *top = memory_alloc("let", (size_t)(g.count + g.groups + 1)); /* cells of these suffice */
  for (int k = 0; k < g.count; k++) {
    int r = g.rank[k];
    const struct let_summary *other = stage_see(request, &g.entry[k], scratch);
    enum need mine = let_contact(lattice, other, own, request);
    tops += top[k] = mine == NEED_CELL;
    if (let_contact(lattice, own, other, request) == NEED_OPEN) {
      set->receiver[receivers++] = r;
      inbox_expect(&let_peer_of(lets, r)->boxes, lets->c);
      let_advance(lets, r, LET_SENDER, kind, LET_EVENT_NEED);
    }
    if (mine != NEED_OPEN) continue;
    forest[trees++] = r;
    send_boxes(lets, call, r, other, boxes, own->boxes);
  }
  for (int k = g.count; k < g.count + g.groups; k++)
    tops += top[k] = let_contact(lattice, stage_see(request, &g.entry[k], scratch), own, request) == NEED_CELL;
  if (tops > 0) {
    *--forest = self;
    trees++;
  } else memmove(forest - 1, forest, sizeof *forest * (size_t)trees);
  set->trees = trees;
  set->receivers = receivers;
  reserve_choices(lets, receivers);
  make_upper(lets, call, lattice, &g, top, tops, own, boxes);
  memory_free(top);
  let_gather_free(&g);
  memory_free(own);
  memory_free(boxes);
}

/* Send or announce a selected LET. */
static void send_let(struct lets *lets, const struct let_call *call, const struct let_choice *choice)
{
  struct peer *p = let_peer_of(lets, choice->peer);
  int32_t valid_until = call->next_moment_update < choice->next ? call->next_moment_update : choice->next;
  if (choice->bytes == 0) valid_until = TICKS; /* no updates follow */
  if (transport_direct(lets->t)) {
    let_round_announce(lets, call, choice->peer, valid_until, choice->message, choice->bytes);
  } else {
    outbox_send(&lets->out, choice->peer, MESSAGE_LET + (int)call->kind, valid_until, choice->message, choice->bytes,
                OUTBOX_BORROWS);
    let_account(lets->set[call->kind].traffic, lets->c, choice->bytes);
    let_advance(lets, choice->peer, LET_SENDER, call->kind, LET_EVENT_MESSAGE);
  }
  memory_free(p->boxes.data);
  inbox_done(&p->boxes);
}

/* Replace the message in an inbox by the boxes that it has. */
static void read_boxes(const struct let_request *request, struct inbox *in)
{
  struct let_box *boxes = memory_alloc("messages", sizeof *boxes * LET_BOXES);
  int count = let_boxes_unpack(request, in->data, in->bytes, boxes);
  memory_free(in->data);
  in->data = memory_resize("messages", boxes, sizeof *boxes * (size_t)(count + 1));
  in->bytes = sizeof *boxes * (size_t)count;
}

/* Add a receiver to the selection if its boxes have arrived; else return 0. */
static int add_receiver(struct lets *lets, const struct let_call *call, int peer, int *count)
{
  struct inbox *boxes = &let_peer_of(lets, peer)->boxes;
  if (let_state(lets, peer, LET_SENDER, call->kind) == LET_BOXES_EXPECTED) {
    if (!inbox_poll(boxes, lets->c, let_host_buffer, NULL)) return 0;
    read_boxes(call->request, boxes);
    let_advance(lets, peer, LET_SENDER, call->kind, LET_EVENT_BOXES);
  }
  if (let_state(lets, peer, LET_SENDER, call->kind) == LET_SELECTING)
    lets->choice[(*count)++] = (struct let_choice){
        .peer = peer, .boxes = boxes->data, .box_count = (int)(boxes->bytes / sizeof(struct let_box))};
  return 1;
}

/* Select and send LETs to all receivers whose boxes have arrived, at once. Wait with it while boxes are missing and
 * fewer than GATHER_SECONDS have passed since *first_boxes (clock at the first arrival; 0: none yet). Sets *progressed
 * to 1 if boxes have arrived or LETs were sent. Returns 1 + a rank whose boxes are missing, else 0. */
static int send_requested_lets(struct lets *lets, const struct let_call *call, double *first_boxes, int *progressed)
{
  const struct let_set *set = &lets->set[call->kind];
  int missing = 0, count = 0;
  for (int k = 0; k < set->receivers; k++)
    if (!add_receiver(lets, call, set->receiver[k], &count)) missing = set->receiver[k] + 1;
  if (count == 0) return missing;
  if (missing && *first_boxes == 0) {
    *first_boxes = timer_clock();
    *progressed = 1;
  }
  if (missing && timer_clock() - *first_boxes < GATHER_SECONDS) return missing;
  lets->be->let->select(lets->d, call->kind, call->request, count, lets->choice);
  for (int k = 0; k < count; k++) send_let(lets, call, &lets->choice[k]);
  *first_boxes = 0;
  *progressed = 1;
  return missing;
}

/* Receive announcements of LETs, with a transport between devices. Returns 1 + a rank whose announcement is missing,
 * else 0. */
static int receive_announcements(struct lets *lets, enum let_kind kind)
{
  const struct let_set *set = &lets->set[kind];
  int missing = 0;
  for (int k = 0; k < set->trees && transport_direct(lets->t); k++) {
    int r = set->forest[k];
    if (r != lets->c->rank && !let_round_announced(lets, kind, r)) missing = r + 1;
  }
  return missing;
}

/* End all LETs of a kind, sent and received. */
static void clear_lets(struct lets *lets, enum let_kind kind)
{
  struct let_set *set = &lets->set[kind];
  lets->be->let->clear(lets->d, kind);
  for (int k = 0; k < set->trees; k++) let_advance(lets, set->forest[k], LET_RECEIVER, kind, LET_EVENT_CLEAR);
  for (int k = 0; k < set->receivers; k++) let_advance(lets, set->receiver[k], LET_SENDER, kind, LET_EVENT_CLEAR);
  set->trees = set->receivers = 0;
}

/* End the LETs that those of `kind` and `part` replace. */
static void clear_replaced(struct lets *lets, enum let_kind kind, enum let_part part, struct let_traffic *traffic)
{
  if (kind != LET_SOFT && part != LET_OF_FAST) {
    traffic->received = (struct let_count){0};
    clear_lets(lets, LET_SOFT);
  }
  if (kind == LET_SLOW) clear_lets(lets, LET_STEP);
  else if (lets->slow_apart && part == LET_OF_ALL) clear_lets(lets, LET_SLOW);
  lets->slow_apart = part != LET_OF_ALL;
  clear_lets(lets, kind);
}

/* End the LETs that are replaced, and exchange summaries and boxes. */
static void request_lets(struct lets *lets, const struct let_call *call, const struct lattice *lattice,
                         struct let_traffic *traffic)
{
  let_round_end(lets);
  clear_replaced(lets, call->kind, call->request->part, traffic);
  if (lets->c->size == 1) return;
  outbox_flush(&lets->out); /* the selection that follows overwrites the buffers of sent messages */
  lets->set[call->kind].traffic = traffic;
  exchange_summaries(lets, call, lattice);
}

void let_begin_request(struct lets *lets, const struct let_request *request)
{
  if (lets->c->size > 1) let_begin_boxes(lets->be, lets->d, request);
}

void let_send_request(struct lets *lets, const struct lattice *lattice, struct let_request request,
                      struct let_traffic *traffic)
{
  if (lets->c->size == 1) return;
  let_tops(lets->be, &request);
  request_lets(lets, &(struct let_call){.kind = LET_STEP, .request = &request}, lattice, traffic);
  lets->requested = 1;
}

void let_exchange(struct lets *lets, enum let_kind kind, const struct lattice *lattice, struct let_request request,
                  int32_t next_moment_update, struct let_traffic *traffic)
{
  if (!lets->be->let && lets->c->size == 1) return; /* a backend for one rank */
  struct let_request with_tops = request;
  struct let_call call = {.kind = kind, .request = &with_tops, .next_moment_update = next_moment_update};
  let_tops(lets->be, &with_tops);
  if (!lets->requested) request_lets(lets, &call, lattice, traffic);
  lets->requested = 0;
  if (lets->c->size == 1) return;
  struct poll_backoff poll_backoff = {0};
  double first_boxes = 0;
  for (int missing = 1; missing;) {
    int progressed = 0, boxes = send_requested_lets(lets, &call, &first_boxes, &progressed),
        announcements = receive_announcements(lets, kind);
    missing = boxes ? boxes : announcements;
    if (progressed) comm_backoff_end(&poll_backoff);
    if (missing) comm_backoff(lets->c, &poll_backoff, missing - 1);
  }
  comm_backoff_end(&poll_backoff);
  if (transport_direct(lets->t)) let_round_post(lets, kind, NULL);
  if (kind == LET_STEP) lets->be->let->updates.watch(lets->d, &request);
  if (kind == LET_SLOW) let_wait_for_all(lets, &call); /* LETs of fast trees are stored after them */
}

/* --- the walk ---------------------------------------------------------------------------------------------------- */

/* Whether the walk need not poll: the LETs of all its peers are here, and no message passes through the host. */
static int nothing_to_poll(struct lets *lets) { return transport_carries(lets->t) && outbox_tidy(&lets->out) == 0; }

/* For walk_request.poll_messages: the walk polls while it runs. */
struct polled {
  struct lets *lets;
  struct let_call *call;
};

static enum poll_status poll_messages(void *of)
{
  const struct polled *polled = of;
  return let_poll_all(polled->lets, polled->call);
}

void let_walk(struct lets *lets, struct walk_request request, struct tally *tally, struct let_traffic *updates)
{
  const struct let_set *set = &lets->set[let_listed(lets, request.let)];
  int count = set->trees, done = 0, *forest = set->forest;
  double begin = timer_clock(), waited = 0;
  struct poll_backoff poll_backoff = {0};
  struct let_call call = {.kind = request.let, .tick = request.tick, .updates = updates, .arrived = begin};
  struct polled polled = {lets, &call};
  request.poll_messages = lets->c->size > 1 ? poll_messages : NULL;
  request.polled = &polled;
  request.local = 1;
  int at_once = lets->be->forces.walks_at_once && lets->be->forces.walks_at_once(lets->d, &request);
  if (at_once) waited = let_wait_for_all(lets, &call);
  if (count > 0 && (at_once || (request.poll_messages && let_poll_all(lets, &call) == POLL_COMPLETE))) {
    request.peers = forest;
    request.peer_count = done = count;
  }
  request.last = done == count;
  if (request.last && nothing_to_poll(lets)) request.poll_messages = NULL; /* then the device can queue more work */
  double before = tally->seconds;
  lets->be->forces.walk(lets->d, &request, tally);
  if (done == 0) tally->local_seconds += tally->seconds - before;
  request.local = 0;
  while (done < count) {
    int ready = 0;
    while (done + ready < count && let_poll(lets, &call, forest[done + ready])) ready++;
    if (ready == 0) {
      comm_backoff(lets->c, &poll_backoff, forest[done]);
      continue;
    }
    waited += comm_backoff_end(&poll_backoff);
    request.peers = forest + done;
    request.peer_count = ready;
    done += ready;
    request.last = done == count;
    if (request.last && nothing_to_poll(lets)) request.poll_messages = NULL;
    lets->be->forces.walk(lets->d, &request, tally);
  }
  ledger_hidden(lets->c->ledger, fmax(call.arrived - begin - waited, 0));
}

/* --- violations -------------------------------------------------------------------------------------------------- */

int let_any_violation(struct lets *lets, int64_t mine, int begin)
{
  int any_violation = 0;
  if (lets->c->size == 1) return 0;
  comm_finish(lets->c, &lets->violation_request);
  if (!begin) any_violation = lets->violations[0] > 0;
  lets->violations[1] = begin ? 0 : mine;
  comm_begin_sum(lets->c, &lets->violations[1], &lets->violations[0], &lets->violation_request);
  return any_violation;
}
