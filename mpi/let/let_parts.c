/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "mpi/let/let_parts.h"

#include "base/memory.h"

struct peer *let_peer_of(struct lets *lets, int rank)
{
  struct peer *p = sparse_find(&lets->peers, rank);
  if (p) return p;
  p = sparse_at(&lets->peers, rank);
  inbox_open(&p->boxes, rank, MESSAGE_BOXES);
  inbox_open(&p->update, rank, MESSAGE_UPDATE);
  for (int k = 0; k < LET_SETS; k++) inbox_open(&p->let[k], rank, MESSAGE_LET + k);
  return p;
}

void let_account(struct let_traffic *traffic, const struct comm *comm, size_t bytes)
{
  traffic->messages += message_part_count(comm, bytes);
  traffic->bytes += (int64_t)(bytes + MESSAGE_HEAD);
}

/* A transition that the table does not allow is a defect of the program. To continue would cause a deadlock or wrong
 * forces. */
void let_advance(struct lets *lets, int peer, enum let_side side, enum let_kind kind, enum let_event event)
{
  enum let_state before = let_state(lets, peer, side, kind);
  if (let_peer_step(&let_peer_of(lets, peer)->protocol, side, kind, event))
    fatal("LET protocol with rank %d (%s, %s): event \"%s\" is not allowed in state \"%s\"", peer, let_kind_name(kind),
          let_side_name(side), let_event_name(event), let_state_name(before));
}

void *let_host_buffer(void *unused, int peer, size_t bytes)
{
  (void)unused;
  (void)peer;
  return memory_alloc("messages", bytes);
}
