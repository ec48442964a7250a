/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Updates of LETs of substeps: particles corrected since the last update, and cells at moment updates. Every message
 * contains the tick of the next one, so a receiver waits only for updates that it needs. */
#include <config.h>

#include "base/memory.h"
#include "mpi/let_parts.h"

void let_update_apply(struct lets *lets, int peer)
{
  struct peer *p = let_peer_of(lets, peer);
  lets->update_traffic->received.particles += lets->be->let->apply(lets->d, peer, p->update.data, p->update.bytes);
  memory_free(p->update.data);
  p->valid_until = p->update.note;
  inbox_done(&p->update);
  lets->arrived = timer_clock();
  let_advance(lets, peer, LET_RECEIVER, let_listed(lets, LET_STEP), LET_EVENT_UPDATE);
}

void let_update_poll(struct lets *lets, int peer, int32_t tick)
{
  struct peer *p = let_peer_of(lets, peer);
  while (p->valid_until < tick) {
    /* an update of a round is in flight */
    if (let_state(lets, peer, LET_RECEIVER, let_listed(lets, LET_STEP)) != LET_ATTACHED) {
      if (!let_round_apply_update(lets, peer)) return;
      continue;
    }
    inbox_expect(&p->update, lets->c);
    /* an announcement stays in the inbox until let_round_exchange_updates */
    if (!inbox_poll(&p->update, lets->c, let_host_room, NULL) || p->update.note < 0) return;
    let_update_apply(lets, peer);
  }
}

void let_send_updates(struct lets *lets, int32_t tick, enum let_update_scope scope, int32_t next_moment_update,
                      struct let_traffic *traffic)
{
  int by_round = scope != SCOPE_CORRECTED && transport_direct(lets->t), listed = let_listed(lets, LET_STEP);
  lets->update_traffic = traffic;
  outbox_tidy(&lets->out);
  if (by_round) let_round_end(lets);
  for (int k = 0; k < lets->receivers[listed]; k++) {
    int r = lets->receiver[listed][k];
    int32_t next;
    void *message;
    size_t bytes = lets->be->let->update(lets->d, r, tick, scope, &next, &message);
    if (bytes == 0) continue;
    if (next_moment_update < next) next = next_moment_update;
    if (by_round) {
      let_round_announce_update(lets, r, next, message, bytes);
      continue;
    }
    if (lets->be->let->take_update) lets->be->let->take_update(lets->d);
    outbox_send(&lets->out, r, MESSAGE_UPDATE, next, message, bytes,
                lets->be->let->take_update ? OUTBOX_TAKES : OUTBOX_COPIES);
    let_account(traffic, lets->c, bytes);
    let_advance(lets, r, LET_SENDER, listed, LET_EVENT_UPDATE);
  }
  if (by_round) let_round_exchange_updates(lets);
}

void let_take_updates(struct lets *lets, int32_t tick, struct let_traffic *traffic)
{
  lets->update_traffic = traffic;
  let_wait_for_all(lets, &(struct let_call){.kind = LET_STEP, .tick = tick});
}
