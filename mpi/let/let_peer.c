/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "mpi/let/let_peer.h"

#include <stddef.h>

/* Kinds of LETs that a transition belongs to: updated ones are those of substeps and of slow trees. */
enum { ALL_KINDS = 1 << LET_SOFT | 1 << LET_STEP | 1 << LET_SLOW, UPDATED_KINDS = 1 << LET_STEP | 1 << LET_SLOW };

static const struct transition {
  enum let_side side;
  unsigned kinds;
  enum let_state from;
  enum let_event event;
  enum let_state to;
} transition[] = {
    {LET_SENDER, ALL_KINDS, LET_NONE, LET_EVENT_NEED, LET_BOXES_EXPECTED},
    {LET_SENDER, ALL_KINDS, LET_NONE, LET_EVENT_CLEAR, LET_NONE},
    {LET_SENDER, ALL_KINDS, LET_BOXES_EXPECTED, LET_EVENT_BOXES, LET_SELECTING},
    {LET_SENDER, ALL_KINDS, LET_SELECTING, LET_EVENT_MESSAGE, LET_SENT},
    {LET_SENDER, ALL_KINDS, LET_SELECTING, LET_EVENT_ANNOUNCE, LET_ANNOUNCED},
    {LET_SENDER, ALL_KINDS, LET_ANNOUNCED, LET_EVENT_POST, LET_IN_FLIGHT},
    {LET_SENDER, ALL_KINDS, LET_IN_FLIGHT, LET_EVENT_COMPLETE, LET_SENT},
    {LET_SENDER, ALL_KINDS, LET_SENT, LET_EVENT_CLEAR, LET_NONE},
    /* updates through the host may follow while a round is in flight */
    {LET_SENDER, UPDATED_KINDS, LET_IN_FLIGHT, LET_EVENT_UPDATE, LET_IN_FLIGHT},
    {LET_SENDER, UPDATED_KINDS, LET_SENT, LET_EVENT_UPDATE, LET_SENT},
    {LET_SENDER, UPDATED_KINDS, LET_UPDATE_IN_FLIGHT, LET_EVENT_UPDATE, LET_UPDATE_IN_FLIGHT},
    {LET_SENDER, UPDATED_KINDS, LET_SENT, LET_EVENT_UPDATE_ANNOUNCE, LET_UPDATE_ANNOUNCED},
    {LET_SENDER, UPDATED_KINDS, LET_UPDATE_ANNOUNCED, LET_EVENT_POST, LET_UPDATE_IN_FLIGHT},
    {LET_SENDER, UPDATED_KINDS, LET_UPDATE_IN_FLIGHT, LET_EVENT_COMPLETE, LET_SENT},

    {LET_RECEIVER, ALL_KINDS, LET_NONE, LET_EVENT_NEED, LET_REQUESTED},
    {LET_RECEIVER, ALL_KINDS, LET_NONE, LET_EVENT_CLEAR, LET_NONE},
    {LET_RECEIVER, ALL_KINDS, LET_REQUESTED, LET_EVENT_MESSAGE, LET_ARRIVED},
    {LET_RECEIVER, ALL_KINDS, LET_REQUESTED, LET_EVENT_ANNOUNCE, LET_ANNOUNCED},
    {LET_RECEIVER, ALL_KINDS, LET_ANNOUNCED, LET_EVENT_POST, LET_IN_FLIGHT},
    {LET_RECEIVER, ALL_KINDS, LET_IN_FLIGHT, LET_EVENT_COMPLETE, LET_ARRIVED},
    {LET_RECEIVER, ALL_KINDS, LET_ARRIVED, LET_EVENT_ATTACH, LET_ATTACHED},
    {LET_RECEIVER, ALL_KINDS, LET_ATTACHED, LET_EVENT_CLEAR, LET_NONE},
    {LET_RECEIVER, UPDATED_KINDS, LET_ATTACHED, LET_EVENT_UPDATE, LET_ATTACHED},
    {LET_RECEIVER, UPDATED_KINDS, LET_ATTACHED, LET_EVENT_UPDATE_ANNOUNCE, LET_UPDATE_ANNOUNCED},
    {LET_RECEIVER, UPDATED_KINDS, LET_UPDATE_ANNOUNCED, LET_EVENT_POST, LET_UPDATE_IN_FLIGHT},
    {LET_RECEIVER, UPDATED_KINDS, LET_UPDATE_IN_FLIGHT, LET_EVENT_COMPLETE, LET_UPDATE_ARRIVED},
    {LET_RECEIVER, UPDATED_KINDS, LET_UPDATE_ARRIVED, LET_EVENT_UPDATE, LET_ATTACHED},
};

enum let_state let_state_after(enum let_side side, enum let_kind kind, enum let_state state, enum let_event event)
{
  for (size_t k = 0; k < sizeof transition / sizeof *transition; k++) {
    const struct transition *t = &transition[k];
    if (t->side == side && t->kinds >> kind & 1 && t->from == state && t->event == event) return t->to;
  }
  return LET_STATES;
}

int let_peer_step(struct let_peer *peer, enum let_side side, enum let_kind kind, enum let_event event)
{
  enum let_state after = let_state_after(side, kind, peer->state[side][kind], event);
  if (after == LET_STATES) return -1;
  peer->state[side][kind] = after;
  return 0;
}

int let_peer_attached(const struct let_peer *peer, enum let_kind kind)
{
  enum let_state s = peer->state[LET_RECEIVER][kind];
  return s == LET_ATTACHED || s == LET_UPDATE_ANNOUNCED || s == LET_UPDATE_IN_FLIGHT || s == LET_UPDATE_ARRIVED;
}

#define NAME(name, text) text,

const char *let_state_name(enum let_state state)
{
  static const char *const text[] = {LET_STATE_LIST(NAME)};
  return text[state];
}

const char *let_event_name(enum let_event event)
{
  static const char *const text[] = {LET_EVENT_LIST(NAME)};
  return text[event];
}

const char *let_side_name(enum let_side side) { return side == LET_SENDER ? "sender" : "receiver"; }

const char *let_kind_name(enum let_kind kind)
{
  static const char *const text[LET_SETS] = {
      [LET_SOFT] = "synchronisation", [LET_STEP] = "substeps", [LET_SLOW] = "slow trees"};
  return text[kind];
}
