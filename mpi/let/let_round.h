/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LETs and updates from device to device, in rounds of the transport. */
#ifndef LET_ROUND_H
#define LET_ROUND_H
#include "mpi/let/let_parts.h"

enum { UPDATE_BY_ROUND = INT32_MIN }; /* bit in the note of an update's message: it is an announcement */

/* Announce a LET for a peer; its body goes with the next round. */
void let_round_announce(struct lets *lets, const struct let_call *call, int peer, int32_t valid_until, void *message,
                        size_t bytes);
/* Receive the announcement of a peer's LET of `kind`. Returns 0 while it has not arrived. */
int let_round_announced(struct lets *lets, enum let_kind kind, int peer);
/* Announce an update, as let_round_announce does a LET. */
void let_round_announce_update(struct lets *lets, const struct let_call *call, int peer, int32_t valid_until,
                               void *message, size_t bytes);
/* The announcement of an update is in the peer's inbox: add the memory for its body to the round. */
void let_round_take_announcement(struct lets *lets, int peer);
/* Post the round of all LETs of `kind` that have been announced, or of all announced updates (`kind`: let_listed of
 * LET_STEP). */
void let_round_post(struct lets *lets, enum let_kind kind, struct let_traffic *updates);
/* Returns 1 if no round is in flight, and advances the states of the round that has just completed. */
int let_round_complete(struct lets *lets);
/* Apply a peer's update of the round and return 1 if it has arrived; else return 0. */
int let_round_apply_update(struct lets *lets, int peer, struct let_traffic *updates);
/* Wait until the posted round is complete, and apply the updates that it brought. The buffers that it sent may be
 * reused then. Local. */
void let_round_end(struct lets *lets);
#endif
