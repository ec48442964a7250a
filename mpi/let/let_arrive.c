/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LETs are attached as they arrive. Updates of LETs of substeps: particles corrected since the last update, and cells
 * at moment updates. Every message contains the tick of the next one, so a receiver waits only for updates that it
 * needs. */
#include <config.h>
#include "mpi/let/let_arrive.h"

#include "base/memory.h"
#include "mpi/let/let_round.h"

/* --- LETs -------------------------------------------------------------------------------------------------------- */

/* What let_buffer needs. */
struct arriving_let {
  const struct lets *lets;
  enum let_kind kind;
};

static void *let_buffer(void *of, int peer, size_t bytes)
{
  const struct arriving_let *let = of;
  return let->lets->be->let->buffer(let->lets->d, let->kind, peer, bytes);
}

/* Test whether a LET through the host has arrived. */
static void poll_message(struct lets *lets, enum let_kind kind, int peer)
{
  struct peer *p = let_peer_of(lets, peer);
  struct inbox *box = &p->let[kind];
  if (!inbox_poll(box, lets->c, let_buffer, &(struct arriving_let){lets, kind})) return;
  p->bytes[kind] = box->bytes;
  if (kind != LET_SOFT) p->valid_until = box->note;
  inbox_done(box);
  let_advance(lets, peer, LET_RECEIVER, kind, LET_EVENT_MESSAGE);
}

/* Attach a peer's LET if it has arrived. Returns 0 while it is expected; 1 if it is attached or none is expected. */
static int attach(struct lets *lets, struct let_call *call, int peer)
{
  enum let_kind kind = call->kind;
  struct peer *p = let_peer_of(lets, peer);
  if (let_state(lets, peer, LET_RECEIVER, kind) == LET_NONE || let_peer_attached(&p->protocol, kind)) return 1;
  if (transport_direct(lets->t)) let_round_complete(lets);
  else poll_message(lets, kind, peer);
  if (let_state(lets, peer, LET_RECEIVER, kind) != LET_ARRIVED) return 0;
  lets->be->let->attach(lets->d, kind, peer, p->bytes[kind], &lets->set[kind].traffic->received);
  let_advance(lets, peer, LET_RECEIVER, kind, LET_EVENT_ATTACH);
  call->arrived = timer_clock();
  return 1;
}

/* --- updates ----------------------------------------------------------------------------------------------------- */

/* Apply the update in the peer's inbox, a complete message through the host. */
static void apply_update(struct lets *lets, struct let_call *call, int peer)
{
  struct peer *p = let_peer_of(lets, peer);
  call->updates->received.particles += lets->be->let->updates.apply(lets->d, peer, p->update.data, p->update.bytes);
  memory_free(p->update.data);
  p->valid_until = p->update.note;
  inbox_done(&p->update);
  call->arrived = timer_clock();
  let_advance(lets, peer, LET_RECEIVER, let_listed(lets, LET_STEP), LET_EVENT_UPDATE);
}

/* Apply the updates of a peer up to the tick of the call, as far as they have arrived. */
static void poll_updates(struct lets *lets, struct let_call *call, int peer)
{
  struct peer *p = let_peer_of(lets, peer);
  while (p->valid_until < call->tick) {
    /* an update of a round is in flight */
    if (let_state(lets, peer, LET_RECEIVER, let_listed(lets, LET_STEP)) != LET_ATTACHED) {
      if (!let_round_apply_update(lets, peer, call->updates)) return;
      call->arrived = timer_clock();
      continue;
    }
    inbox_expect(&p->update, lets->c);
    /* an announcement stays in the inbox until exchange_by_round */
    if (!inbox_poll(&p->update, lets->c, let_host_buffer, NULL) || p->update.note < 0) return;
    apply_update(lets, call, peer);
  }
}

/* Receive the announcement of a peer's update; returns 0 while it has not arrived. The peer may have sent updates of
 * earlier ticks through the host; these are applied first. */
static int receive_announcement(struct lets *lets, struct let_call *call, int peer)
{
  struct peer *p = let_peer_of(lets, peer);
  if (!attach(lets, call, peer)) return 0;
  if (p->bytes[let_listed(lets, LET_STEP)] == 0) return 1; /* its LET has nothing */
  while (let_state(lets, peer, LET_RECEIVER, let_listed(lets, LET_STEP)) != LET_UPDATE_ANNOUNCED) {
    inbox_expect(&p->update, lets->c);
    if (!inbox_poll(&p->update, lets->c, let_host_buffer, NULL)) return 0;
    if (p->update.note < 0) let_round_take_announcement(lets, peer);
    else apply_update(lets, call, peer);
  }
  return 1;
}

/* Receive the announcements of updates from all senders of the forest, then post the round. Local, waits. */
static void exchange_by_round(struct lets *lets, struct let_call *call)
{
  enum let_kind listed = let_listed(lets, LET_STEP);
  const struct let_set *set = &lets->set[listed];
  struct poll_backoff poll_backoff = {0};
  for (;;) {
    int missing = -1;
    for (int k = 0; k < set->trees; k++) {
      int r = set->forest[k];
      if (r != lets->c->rank && !receive_announcement(lets, call, r)) missing = r;
    }
    if (missing < 0) break;
    comm_backoff(lets->c, &poll_backoff, missing);
  }
  let_round_post(lets, listed, call->updates);
  comm_backoff_end(&poll_backoff);
}

void let_send_updates(struct lets *lets, int32_t tick, enum let_update_scope scope, int32_t next_moment_update,
                      struct let_traffic *traffic)
{
  int by_round = (scope == SCOPE_CELLS || scope == SCOPE_ALL_CORRECTED) && transport_direct(lets->t);
  enum let_kind listed = let_listed(lets, LET_STEP);
  const struct let_set *set = &lets->set[listed];
  struct let_call call = {.kind = LET_STEP, .tick = tick, .updates = traffic};
  outbox_tidy(&lets->out);
  if (by_round) let_round_end(lets);
  for (int k = 0; k < set->receivers; k++) {
    int r = set->receiver[k];
    int32_t next;
    void *message;
    size_t bytes = lets->be->let->updates.pack(lets->d, r, tick, scope, &next, &message);
    if (bytes == 0) continue;
    if (next_moment_update < next) next = next_moment_update;
    if (by_round) {
      let_round_announce_update(lets, &call, r, next, message, bytes);
      continue;
    }
    if (lets->be->let->updates.take) lets->be->let->updates.take(lets->d);
    outbox_send(&lets->out, r, MESSAGE_UPDATE, next, message, bytes,
                lets->be->let->updates.take ? OUTBOX_TAKES : OUTBOX_COPIES);
    let_account(traffic, lets->c, bytes);
    let_advance(lets, r, LET_SENDER, listed, LET_EVENT_UPDATE);
  }
  if (by_round) exchange_by_round(lets, &call);
}

/* --- the forest -------------------------------------------------------------------------------------------------- */

int let_poll(struct lets *lets, struct let_call *call, int peer)
{
  if (peer == lets->c->rank) return 1; /* the upper tree */
  if (!attach(lets, call, peer)) return 0;
  if (call->kind != LET_STEP) return 1;
  poll_updates(lets, call, peer);
  return let_peer_of(lets, peer)->valid_until >= call->tick;
}

enum poll_status let_poll_all(struct lets *lets, struct let_call *call)
{
  const struct let_set *set = &lets->set[let_listed(lets, call->kind)];
  int valid = 0;
  for (int k = 0; k < set->trees; k++) valid += let_poll(lets, call, set->forest[k]);
  outbox_tidy(&lets->out);
  return valid == set->trees ? POLL_COMPLETE : POLL_PENDING;
}

double let_wait_for_all(struct lets *lets, struct let_call *call)
{
  struct poll_backoff poll_backoff = {0};
  const struct let_set *set = &lets->set[let_listed(lets, call->kind)];
  double waited = 0;
  for (int valid = 0; valid < set->trees;) {
    if (!let_poll(lets, call, set->forest[valid])) {
      comm_backoff(lets->c, &poll_backoff, set->forest[valid]);
      continue;
    }
    waited += comm_backoff_end(&poll_backoff);
    valid++;
  }
  return waited;
}

void let_take_updates(struct lets *lets, int32_t tick, struct let_traffic *traffic)
{
  let_wait_for_all(lets, &(struct let_call){.kind = LET_STEP, .tick = tick, .updates = traffic});
}
