/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Protocol of the locally essential trees (LETs) between this rank and one peer: named states and a table of
 * transitions.
 *
 * There is one state for each kind of LET (of the synchronisation, of substeps, of slow trees) and each side: this rank
 * as the sender of its own LET, and as the receiver of the peer's. This part uses neither MPI nor a device: the
 * exchange (mpi/let/let.c) reports events to it.
 *
 *   sender     NONE -need-> BOXES_EXPECTED -boxes-> SELECTING -message-> SENT                            through the
 *              host
 *                                                   SELECTING -announce-> ANNOUNCED -post-> IN_FLIGHT -complete-> SENT
 *                                                   device to device
 *   receiver   NONE -need-> REQUESTED -message-> ARRIVED -attach-> ATTACHED                              through the
 *              host
 *                           REQUESTED -announce-> ANNOUNCED -post-> IN_FLIGHT -complete-> ARRIVED        device to
 *                           device
 *
 * LETs of substeps and of slow trees are updated afterwards: by one message through the host (event update), or in a
 * round from device to device (events update_announce, post, complete, and on the receiver update). The event clear
 * ends a LET that is sent or attached. */
#ifndef LET_PEER_H
#define LET_PEER_H
#include "tree/let_data.h"

enum let_side { LET_SENDER, LET_RECEIVER, LET_SIDES };

#define LET_STATE_LIST(X)                                                        \
  X(NONE, "none")                         /* nothing to send or receive */       \
  X(BOXES_EXPECTED, "boxes expected")     /* sender: the peer sends its boxes */ \
  X(SELECTING, "selecting")               /* sender: the boxes are here */       \
  X(REQUESTED, "requested")               /* receiver: boxes sent */             \
  X(ANNOUNCED, "announced")               /* length known to both sides */       \
  X(IN_FLIGHT, "in flight")               /* part of the posted round */         \
  X(SENT, "sent")                         /* sender: done; updates may follow */ \
  X(ARRIVED, "arrived")                   /* receiver: in memory */              \
  X(ATTACHED, "attached")                 /* receiver: part of the forest */     \
  X(UPDATE_ANNOUNCED, "update announced") /* length of the update known */       \
  X(UPDATE_IN_FLIGHT, "update in flight") /* part of the posted round */         \
  X(UPDATE_ARRIVED, "update arrived")     /* receiver: in memory, not applied */

#define LET_EVENT_LIST(X)                                                        \
  X(NEED, "need")                       /* the summaries ask for a LET */        \
  X(BOXES, "boxes")                     /* sender: the boxes have arrived */     \
  X(MESSAGE, "message")                 /* the whole LET is sent, has arrived */ \
  X(ANNOUNCE, "announce")               /* the LET is announced */               \
  X(POST, "post")                       /* the round is posted */                \
  X(COMPLETE, "complete")               /* the round is complete */              \
  X(ATTACH, "attach")                   /* receiver: the LET joins the forest */ \
  X(UPDATE, "update")                   /* an update is sent, is applied */      \
  X(UPDATE_ANNOUNCE, "update announce") /* an update is announced */             \
  X(CLEAR, "clear")                     /* the LET is no longer valid */

#define LET_STATE_ENUM(name, text) LET_##name,
#define LET_EVENT_ENUM(name, text) LET_EVENT_##name,
enum let_state { LET_STATE_LIST(LET_STATE_ENUM) LET_STATES };
enum let_event { LET_EVENT_LIST(LET_EVENT_ENUM) LET_EVENTS };

/* States of the LETs between this rank and a peer; zero-initialise: all LET_NONE. */
struct let_peer {
  enum let_state state[LET_SIDES][LET_SETS];
};

/* State that follows `state` at `event`; LET_STATES where the table does not allow it. Pure. */
enum let_state let_state_after(enum let_side side, enum let_kind kind, enum let_state state, enum let_event event);
/* Apply `event` to the LET of this side and kind. Returns 0; -1 where the table does not allow it: the state stays. */
int let_peer_step(struct let_peer *peer, enum let_side side, enum let_kind kind, enum let_event event);
/* 1 while the peer's LET of this kind is attached to the forest (also while an update is in flight). */
int let_peer_attached(const struct let_peer *peer, enum let_kind kind);

/* Names for messages, e.g. "in flight". */
const char *let_state_name(enum let_state state);
const char *let_event_name(enum let_event event);
const char *let_side_name(enum let_side side);
const char *let_kind_name(enum let_kind kind);
#endif
