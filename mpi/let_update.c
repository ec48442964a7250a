/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Updates of LETs of substeps: particles corrected since the last update, and cells at moment updates. Every message contains the tick of
 * the next one, so a receiver waits only for updates that it needs. */
#include <config.h>

#include "base/memory.h"
#include "mpi/let_parts.h"

void let_update_apply(struct lets *l, int peer)
{
  struct peer *p = let_peer_of(l, peer);
  l->update_traffic->received.particles += l->be->let->apply(l->d, peer, p->update.data, p->update.bytes);
  memory_free(p->update.data);
  p->valid_until = p->update.note;
  inbox_done(&p->update);
  l->arrived = timer_clock();
  let_advance(l, peer, LET_RECEIVER, let_listed(l, LET_STEP), LET_EVENT_UPDATE);
}

void let_update_poll(struct lets *l, int peer)
{
  struct peer *p = let_peer_of(l, peer);
  while (p->valid_until < l->tick) {
    if (let_state(l, peer, LET_RECEIVER, let_listed(l, LET_STEP)) != LET_ATTACHED) {   /* an update of a round is in flight */
      if (!let_round_apply_update(l, peer)) return;
      continue;
    }
    inbox_expect(&p->update, l->c);
    /* an announcement stays in the inbox until let_round_exchange_updates */
    if (!inbox_poll(&p->update, l->c, let_host_room, NULL) || p->update.note < 0) return;
    let_update_apply(l, peer);
  }
}

void let_send_updates(struct lets *l, int32_t tick, enum let_update_scope scope, int32_t next_moment_update, struct let_traffic *traffic)
{
  int by_round = scope != SCOPE_CORRECTED && transport_direct(l->t), listed = let_listed(l, LET_STEP);
  l->update_traffic = traffic;
  l->kind = LET_STEP;
  outbox_tidy(&l->out);
  if (by_round) let_round_end(l);
  for (int k = 0; k < l->receivers[listed]; k++) {
    int r = l->receiver[listed][k];
    int32_t next;
    void *message;
    size_t bytes = l->be->let->update(l->d, r, tick, scope, &next, &message);
    if (bytes == 0) continue;
    if (next_moment_update < next) next = next_moment_update;
    if (by_round) {
      let_round_announce_update(l, r, next, message, bytes);
      continue;
    }
    if (l->be->let->take_update) l->be->let->take_update(l->d);
    outbox_send(&l->out, r, MESSAGE_UPDATE, next, message, bytes, l->be->let->take_update ? OUTBOX_TAKES : OUTBOX_COPIES);
    let_account(traffic, l->c, bytes);
    let_advance(l, r, LET_SENDER, listed, LET_EVENT_UPDATE);
  }
  if (by_round) let_round_exchange_updates(l);
}

void let_take_updates(struct lets *l, int32_t tick, struct let_traffic *traffic)
{
  l->kind = LET_STEP;
  l->tick = tick;
  l->update_traffic = traffic;
  let_wait_for_all(l);
}
