/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LETs and moment updates from device to device. A short message through the host announces the length and carries the head. The bodies of
 * all peers are then sent in one round of the transport (mpi/transport.h). */
#include <config.h>
#include <string.h>

#include "backend/link.h"
#include "base/memory.h"
#include "mpi/let_parts.h"

/* Add the body of a message, its bytes after the head, to the next round. */
static void add_body(struct lets *l, int peer, int arrives, void *body, size_t bytes)
{
  if (bytes <= LET_HEAD) return;
  if (l->round_count == l->round_capacity) {
    l->round_capacity = (int)memory_grown((size_t)l->round_capacity, sizeof *l->round);
    l->round = memory_resize("let", l->round, sizeof *l->round * (size_t)l->round_capacity);
  }
  l->round[l->round_count++] = (struct link_message){peer, arrives, body, bytes - LET_HEAD};
}

static void account_body(struct lets *l, struct let_traffic *t, size_t bytes)
{
  if (bytes <= LET_HEAD) return;
  t->messages += transport_messages(l->t, bytes - LET_HEAD);
  t->bytes += (int64_t)(bytes - LET_HEAD);
}

/* --- rounds ------------------------------------------------------------------------------------------------------ */

/* Apply an event to all peers of a round in whose state it is allowed. */
static void advance_round(struct lets *l, enum let_kind kind, enum let_event event)
{
  for (int k = 0; k < l->receivers[kind]; k++) {
    int r = l->receiver[kind][k];
    if (let_state_after(LET_SENDER, kind, let_state(l, r, LET_SENDER, kind), event) != LET_STATES)
      let_advance(l, r, LET_SENDER, kind, event);
  }
  for (int k = 0; k < l->trees[kind]; k++) {
    int r = l->forest[kind][k];
    if (let_state_after(LET_RECEIVER, kind, let_state(l, r, LET_RECEIVER, kind), event) != LET_STATES)
      let_advance(l, r, LET_RECEIVER, kind, event);
  }
}

int let_round_complete(struct lets *l)
{
  if (!transport_done(l->t)) return 0;
  if (l->round_posted) advance_round(l, l->round_kind, LET_EVENT_COMPLETE);
  l->round_posted = 0;
  return 1;
}

void let_round_post(struct lets *l, enum let_kind kind)
{
  transport_post(l->t, l->round_count, l->round);
  advance_round(l, kind, LET_EVENT_POST);
  l->round_kind = kind;
  l->round_posted = 1;
}

void let_round_end(struct lets *l)
{
  if (!transport_direct(l->t)) return;
  transport_wait(l->t);
  let_round_complete(l);
  for (int i = 0; i < l->peers.count && !l->be->let->update_body; i++) {
    struct peer *p = let_peer_of(l, l->peers.used[i]);
    memory_free(p->update_sent);
    p->update_sent = NULL;
  }
  for (int k = 0, listed = let_listed(l, LET_STEP); k < l->trees[listed]; k++) let_round_apply_update(l, l->forest[listed][k]);
  l->round_count = 0;
}

/* --- LETs -------------------------------------------------------------------------------------------------------- */

void let_round_announce(struct lets *l, int peer, int32_t valid_until, void *message, size_t bytes)
{
  struct announcement a = {.bytes = bytes};
  memcpy(a.head, message, bytes < LET_HEAD ? bytes : LET_HEAD);
  outbox_send(&l->out, peer, MESSAGE_LET + (int)l->kind, valid_until, &a, sizeof a, OUTBOX_COPIES);
  add_body(l, peer, 0, l->be->let->body ? l->be->let->body(l->d, l->kind, peer) : (char *)message + LET_HEAD, bytes);
  let_account(l->exchanged[l->kind], l->c, sizeof a);
  account_body(l, l->exchanged[l->kind], bytes);
  let_advance(l, peer, LET_SENDER, l->kind, LET_EVENT_ANNOUNCE);
}

int let_round_announced(struct lets *l, int peer)
{
  struct peer *p = let_peer_of(l, peer);
  struct inbox *box = &p->let[l->kind];
  struct announcement a;
  if (let_state(l, peer, LET_RECEIVER, l->kind) != LET_REQUESTED) return 1;
  if (!inbox_poll(box, l->c, let_host_room, NULL)) return 0;
  memcpy(&a, box->data, sizeof a);
  p->bytes[l->kind] = a.bytes;
  char *room = l->be->let->room(l->d, l->kind, peer, l->be->let->body_room || a.bytes < LET_HEAD ? LET_HEAD : a.bytes);
  memcpy(room, a.head, LET_HEAD);
  if (a.bytes > LET_HEAD)
    add_body(l, peer, 1, l->be->let->body_room ? l->be->let->body_room(l->d, l->kind, peer, a.bytes) : room + LET_HEAD, a.bytes);
  if (l->kind != LET_SOFT) p->valid_until = box->note;
  memory_free(box->data);
  inbox_done(box);
  let_advance(l, peer, LET_RECEIVER, l->kind, LET_EVENT_ANNOUNCE);
  return 1;
}

/* --- updates ----------------------------------------------------------------------------------------------------- */

/* Moment updates are long and are sent to all receivers of LETs, so they are sent in a round. */
void let_round_announce_update(struct lets *l, int peer, int32_t valid_until, void *message, size_t bytes)
{
  struct announcement a = {.bytes = bytes};
  struct peer *p = let_peer_of(l, peer);
  memcpy(a.head, message, LET_HEAD);
  outbox_send(&l->out, peer, MESSAGE_UPDATE, valid_until | UPDATE_BY_ROUND, &a, sizeof a, OUTBOX_COPIES);
  if (!l->be->let->update_body) {   /* the backend may pack the next update before the round is complete */
    p->update_sent = memory_alloc("messages", bytes);
    memcpy(p->update_sent, message, bytes);
  }
  add_body(l, peer, 0, l->be->let->update_body ? l->be->let->update_body(l->d, peer) : (char *)p->update_sent + LET_HEAD, bytes);
  let_account(l->update_traffic, l->c, sizeof a);
  account_body(l, l->update_traffic, bytes);
  let_advance(l, peer, LET_SENDER, let_listed(l, LET_STEP), LET_EVENT_UPDATE_ANNOUNCE);
}

/* The announcement of an update is in the inbox: add the memory for its body to the round. */
static void take_announcement(struct lets *l, int peer)
{
  struct peer *p = let_peer_of(l, peer);
  memcpy(&p->update_announcement, p->update.data, sizeof p->update_announcement);
  memory_free(p->update.data);
  p->update_valid_until = p->update.note & INT32_MAX;
  inbox_done(&p->update);
  size_t bytes = p->update_announcement.bytes;
  if (!l->be->let->update_room) {
    p->update_arriving = memory_alloc("messages", bytes);
    memcpy(p->update_arriving, p->update_announcement.head, LET_HEAD);
  }
  add_body(l, peer, 1, p->update_arriving ? (char *)p->update_arriving + LET_HEAD : l->be->let->update_room(l->d, peer, bytes), bytes);
  let_advance(l, peer, LET_RECEIVER, let_listed(l, LET_STEP), LET_EVENT_UPDATE_ANNOUNCE);
}

/* Receive the announcement of a peer's update; returns 0 while it has not arrived. The peer may have sent updates of earlier ticks through
 * the host; these are applied first. */
static int receive_announcement(struct lets *l, int peer)
{
  struct peer *p = let_peer_of(l, peer);
  if (!let_attach(l, peer)) return 0;
  if (p->bytes[let_listed(l, LET_STEP)] == 0) return 1;   /* its LET has nothing */
  while (let_state(l, peer, LET_RECEIVER, let_listed(l, LET_STEP)) != LET_UPDATE_ANNOUNCED) {
    inbox_expect(&p->update, l->c);
    if (!inbox_poll(&p->update, l->c, let_host_room, NULL)) return 0;
    if (p->update.note < 0)
      take_announcement(l, peer);
    else
      let_update_apply(l, peer);
  }
  return 1;
}

void let_round_exchange_updates(struct lets *l)
{
  enum let_kind listed = let_listed(l, LET_STEP);
  struct poll_backoff poll_backoff = {0};
  for (;;) {
    int missing = -1;
    for (int k = 0; k < l->trees[listed]; k++) {
      int r = l->forest[listed][k];
      if (r != l->c->rank && !receive_announcement(l, r)) missing = r;
    }
    if (missing < 0) break;
    comm_backoff(l->c, &poll_backoff, missing);
  }
  let_round_post(l, listed);
  comm_backoff_end(&poll_backoff);
}

int let_round_apply_update(struct lets *l, int peer)
{
  struct peer *p = let_peer_of(l, peer);
  enum let_kind listed = let_listed(l, LET_STEP);
  if (!let_round_complete(l) || let_state(l, peer, LET_RECEIVER, listed) != LET_UPDATE_ARRIVED) return 0;
  const void *message = p->update_arriving ? p->update_arriving : p->update_announcement.head;
  l->update_traffic->received.particles += l->be->let->apply(l->d, peer, message, p->update_announcement.bytes);
  memory_free(p->update_arriving);
  p->update_arriving = NULL;
  p->valid_until = p->update_valid_until;
  l->arrived = timer_clock();
  let_advance(l, peer, LET_RECEIVER, listed, LET_EVENT_UPDATE);
  return 1;
}
