/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LETs and moment updates from device to device. A short message through the host announces the length and carries the
 * head. The bodies of all peers are then sent in one round of the transport (mpi/transport.h). */
#include <config.h>
#include "mpi/let/let_round.h"

#include <string.h>

#include "backend/link.h"
#include "base/memory.h"

/* Add the body of a message, its bytes after the head, to the next round. */
static void add_body(struct let_round *round, int peer, int arrives, void *body, size_t bytes)
{
  if (bytes <= LET_HEAD) return;
  if (round->count == round->capacity) {
    round->capacity = (int)memory_grown((size_t)round->capacity, sizeof *round->body);
    round->body = memory_resize("let", round->body, sizeof *round->body * (size_t)round->capacity);
  }
  round->body[round->count++] = (struct link_message){peer, arrives, body, bytes - LET_HEAD};
}

static void account_body(struct lets *lets, struct let_traffic *traffic, size_t bytes)
{
  if (bytes <= LET_HEAD) return;
  traffic->messages += transport_messages(lets->t, bytes - LET_HEAD);
  traffic->bytes += (int64_t)(bytes - LET_HEAD);
}

/* --- rounds ------------------------------------------------------------------------------------------------------ */

/* Apply an event to all peers of a round in whose state it is allowed. */
static void advance_round(struct lets *lets, enum let_kind kind, enum let_event event)
{
  const struct let_set *set = &lets->set[kind];
  for (int k = 0; k < set->receivers; k++) {
    int r = set->receiver[k];
    if (let_state_after(LET_SENDER, kind, let_state(lets, r, LET_SENDER, kind), event) != LET_STATES)
      let_advance(lets, r, LET_SENDER, kind, event);
  }
  for (int k = 0; k < set->trees; k++) {
    int r = set->forest[k];
    if (let_state_after(LET_RECEIVER, kind, let_state(lets, r, LET_RECEIVER, kind), event) != LET_STATES)
      let_advance(lets, r, LET_RECEIVER, kind, event);
  }
}

int let_round_complete(struct lets *lets)
{
  if (!transport_done(lets->t)) return 0;
  if (lets->round.posted) advance_round(lets, lets->round.kind, LET_EVENT_COMPLETE);
  lets->round.posted = 0;
  return 1;
}

void let_round_post(struct lets *lets, enum let_kind kind, struct let_traffic *updates)
{
  transport_post(lets->t, lets->round.count, lets->round.body);
  advance_round(lets, kind, LET_EVENT_POST);
  lets->round.kind = kind;
  lets->round.updates = updates;
  lets->round.posted = 1;
}

void let_round_end(struct lets *lets)
{
  if (!transport_direct(lets->t)) return;
  transport_wait(lets->t);
  let_round_complete(lets);
  for (int i = 0; i < lets->peers.count && !lets->be->let->updates.body; i++) {
    struct peer *p = let_peer_of(lets, lets->peers.used[i]);
    memory_free(p->update_sent);
    p->update_sent = NULL;
  }
  const struct let_set *set = &lets->set[let_listed(lets, LET_STEP)];
  for (int k = 0; k < set->trees; k++) let_round_apply_update(lets, set->forest[k], lets->round.updates);
  lets->round.count = 0;
}

/* --- LETs -------------------------------------------------------------------------------------------------------- */

void let_round_announce(struct lets *lets, const struct let_call *call, int peer, int32_t valid_until, void *message,
                        size_t bytes)
{
  enum let_kind kind = call->kind;
  struct let_traffic *traffic = lets->set[kind].traffic;
  struct announcement a = {.bytes = bytes};
  memcpy(a.head, message, bytes < LET_HEAD ? bytes : LET_HEAD);
  outbox_send(&lets->out, peer, MESSAGE_LET + (int)kind, valid_until, &a, sizeof a, OUTBOX_COPIES);
  add_body(&lets->round, peer, 0,
           lets->be->let->body ? lets->be->let->body(lets->d, kind, peer) : (char *)message + LET_HEAD, bytes);
  let_account(traffic, lets->c, sizeof a);
  account_body(lets, traffic, bytes);
  let_advance(lets, peer, LET_SENDER, kind, LET_EVENT_ANNOUNCE);
}

int let_round_announced(struct lets *lets, enum let_kind kind, int peer)
{
  struct peer *p = let_peer_of(lets, peer);
  struct inbox *box = &p->let[kind];
  struct announcement a;
  if (let_state(lets, peer, LET_RECEIVER, kind) != LET_REQUESTED) return 1;
  if (!inbox_poll(box, lets->c, let_host_buffer, NULL)) return 0;
  memcpy(&a, box->data, sizeof a);
  p->bytes[kind] = a.bytes;
  char *buffer =
      lets->be->let->buffer(lets->d, kind, peer, lets->be->let->body_buffer || a.bytes < LET_HEAD ? LET_HEAD : a.bytes);
  memcpy(buffer, a.head, LET_HEAD);
  if (a.bytes > LET_HEAD)
    add_body(&lets->round, peer, 1,
             lets->be->let->body_buffer ? lets->be->let->body_buffer(lets->d, kind, peer, a.bytes) : buffer + LET_HEAD,
             a.bytes);
  if (kind != LET_SOFT) p->valid_until = box->note;
  memory_free(box->data);
  inbox_done(box);
  let_advance(lets, peer, LET_RECEIVER, kind, LET_EVENT_ANNOUNCE);
  return 1;
}

/* --- updates ----------------------------------------------------------------------------------------------------- */

/* Moment updates are long and are sent to all receivers of LETs, so they are sent in a round. */
void let_round_announce_update(struct lets *lets, const struct let_call *call, int peer, int32_t valid_until,
                               void *message, size_t bytes)
{
  struct announcement a = {.bytes = bytes};
  struct peer *p = let_peer_of(lets, peer);
  memcpy(a.head, message, LET_HEAD);
  outbox_send(&lets->out, peer, MESSAGE_UPDATE, valid_until | UPDATE_BY_ROUND, &a, sizeof a, OUTBOX_COPIES);
  if (!lets->be->let->updates.body) { /* the backend may pack the next update before the round is complete */
    p->update_sent = memory_alloc("messages", bytes);
    memcpy(p->update_sent, message, bytes);
  }
  add_body(&lets->round, peer, 0,
           lets->be->let->updates.body ? lets->be->let->updates.body(lets->d, peer) : (char *)p->update_sent + LET_HEAD,
           bytes);
  let_account(call->updates, lets->c, sizeof a);
  account_body(lets, call->updates, bytes);
  let_advance(lets, peer, LET_SENDER, let_listed(lets, LET_STEP), LET_EVENT_UPDATE_ANNOUNCE);
}

void let_round_take_announcement(struct lets *lets, int peer)
{
  struct peer *p = let_peer_of(lets, peer);
  memcpy(&p->update_announcement, p->update.data, sizeof p->update_announcement);
  memory_free(p->update.data);
  p->update_valid_until = p->update.note & INT32_MAX;
  inbox_done(&p->update);
  size_t bytes = p->update_announcement.bytes;
  if (!lets->be->let->updates.buffer) {
    p->update_arriving = memory_alloc("messages", bytes);
    memcpy(p->update_arriving, p->update_announcement.head, LET_HEAD);
  }
  add_body(&lets->round, peer, 1,
           p->update_arriving ? (char *)p->update_arriving + LET_HEAD
                              : lets->be->let->updates.buffer(lets->d, peer, bytes),
           bytes);
  let_advance(lets, peer, LET_RECEIVER, let_listed(lets, LET_STEP), LET_EVENT_UPDATE_ANNOUNCE);
}

int let_round_apply_update(struct lets *lets, int peer, struct let_traffic *updates)
{
  struct peer *p = let_peer_of(lets, peer);
  enum let_kind listed = let_listed(lets, LET_STEP);
  if (!let_round_complete(lets) || let_state(lets, peer, LET_RECEIVER, listed) != LET_UPDATE_ARRIVED) return 0;
  const void *message = p->update_arriving ? p->update_arriving : p->update_announcement.head;
  updates->received.particles += lets->be->let->updates.apply(lets->d, peer, message, p->update_announcement.bytes);
  memory_free(p->update_arriving);
  p->update_arriving = NULL;
  p->valid_until = p->update_valid_until;
  let_advance(lets, peer, LET_RECEIVER, listed, LET_EVENT_UPDATE);
  return 1;
}
