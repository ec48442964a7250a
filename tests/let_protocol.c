/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The protocol of LETs between two ranks (mpi/let/let_peer.h): its paths, and that everything else is refused. */
#include <config.h>
#include <string.h>

#include "mpi/let/let_peer.h"
#include "tap.h"

enum { PATH_MAX_EVENTS = 16 };

/* Allowed sequences of events from LET_NONE. updated: only for LETs of substeps and of slow trees. */
static const struct path {
  const char *name;
  enum let_side side;
  int updated, events;
  enum let_event event[PATH_MAX_EVENTS];
  enum let_state state[PATH_MAX_EVENTS]; /* after each event */
} path[] = {
    {"nothing to send", LET_SENDER, 0, 1, {LET_EVENT_CLEAR}, {LET_NONE}},
    {"nothing to receive", LET_RECEIVER, 0, 1, {LET_EVENT_CLEAR}, {LET_NONE}},
    {"a LET through the host",
     LET_SENDER,
     0,
     4,
     {LET_EVENT_NEED, LET_EVENT_BOXES, LET_EVENT_MESSAGE, LET_EVENT_CLEAR},
     {LET_BOXES_EXPECTED, LET_SELECTING, LET_SENT, LET_NONE}},
    {"a LET through the host",
     LET_RECEIVER,
     0,
     4,
     {LET_EVENT_NEED, LET_EVENT_MESSAGE, LET_EVENT_ATTACH, LET_EVENT_CLEAR},
     {LET_REQUESTED, LET_ARRIVED, LET_ATTACHED, LET_NONE}},
    {"a LET from device to device",
     LET_SENDER,
     0,
     6,
     {LET_EVENT_NEED, LET_EVENT_BOXES, LET_EVENT_ANNOUNCE, LET_EVENT_POST, LET_EVENT_COMPLETE, LET_EVENT_CLEAR},
     {LET_BOXES_EXPECTED, LET_SELECTING, LET_ANNOUNCED, LET_IN_FLIGHT, LET_SENT, LET_NONE}},
    {"a LET from device to device",
     LET_RECEIVER,
     0,
     6,
     {LET_EVENT_NEED, LET_EVENT_ANNOUNCE, LET_EVENT_POST, LET_EVENT_COMPLETE, LET_EVENT_ATTACH, LET_EVENT_CLEAR},
     {LET_REQUESTED, LET_ANNOUNCED, LET_IN_FLIGHT, LET_ARRIVED, LET_ATTACHED, LET_NONE}},
    {"updates through the host",
     LET_SENDER,
     1,
     6,
     {LET_EVENT_NEED, LET_EVENT_BOXES, LET_EVENT_MESSAGE, LET_EVENT_UPDATE, LET_EVENT_UPDATE, LET_EVENT_CLEAR},
     {LET_BOXES_EXPECTED, LET_SELECTING, LET_SENT, LET_SENT, LET_SENT, LET_NONE}},
    {"updates through the host",
     LET_RECEIVER,
     1,
     6,
     {LET_EVENT_NEED, LET_EVENT_MESSAGE, LET_EVENT_ATTACH, LET_EVENT_UPDATE, LET_EVENT_UPDATE, LET_EVENT_CLEAR},
     {LET_REQUESTED, LET_ARRIVED, LET_ATTACHED, LET_ATTACHED, LET_ATTACHED, LET_NONE}},
    {"updates from device to device, and some through the host meanwhile",
     LET_SENDER,
     1,
     11,
     {LET_EVENT_NEED, LET_EVENT_BOXES, LET_EVENT_ANNOUNCE, LET_EVENT_POST, LET_EVENT_UPDATE, LET_EVENT_COMPLETE,
      LET_EVENT_UPDATE_ANNOUNCE, LET_EVENT_POST, LET_EVENT_UPDATE, LET_EVENT_COMPLETE, LET_EVENT_CLEAR},
     {LET_BOXES_EXPECTED, LET_SELECTING, LET_ANNOUNCED, LET_IN_FLIGHT, LET_IN_FLIGHT, LET_SENT, LET_UPDATE_ANNOUNCED,
      LET_UPDATE_IN_FLIGHT, LET_UPDATE_IN_FLIGHT, LET_SENT, LET_NONE}},
    {"updates from device to device",
     LET_RECEIVER,
     1,
     11,
     {LET_EVENT_NEED, LET_EVENT_ANNOUNCE, LET_EVENT_POST, LET_EVENT_COMPLETE, LET_EVENT_ATTACH, LET_EVENT_UPDATE,
      LET_EVENT_UPDATE_ANNOUNCE, LET_EVENT_POST, LET_EVENT_COMPLETE, LET_EVENT_UPDATE, LET_EVENT_CLEAR},
     {LET_REQUESTED, LET_ANNOUNCED, LET_IN_FLIGHT, LET_ARRIVED, LET_ATTACHED, LET_ATTACHED, LET_UPDATE_ANNOUNCED,
      LET_UPDATE_IN_FLIGHT, LET_UPDATE_ARRIVED, LET_ATTACHED, LET_NONE}},
};
enum { PATHS = sizeof path / sizeof *path };

static char allowed[LET_SIDES][LET_SETS][LET_STATES][LET_EVENTS]; /* transitions of the paths */

static int holds_alone(const struct let_peer *peer, enum let_side side, enum let_kind kind)
{
  int good = 1;
  for (int s = 0; s < LET_SIDES; s++)
    for (int k = 0; k < LET_SETS; k++) good &= (s == (int)side && k == (int)kind) || peer->state[s][k] == LET_NONE;
  return good;
}

/* Follow a path; the other side and the other kinds keep their states. */
static int follow(const struct path *path, enum let_kind kind)
{
  struct let_peer p = {0};
  for (int e = 0; e < path->events; e++) {
    enum let_state before = p.state[path->side][kind];
    if (let_peer_step(&p, path->side, kind, path->event[e]) || p.state[path->side][kind] != path->state[e] ||
        !holds_alone(&p, path->side, kind))
      return 0;
    allowed[path->side][kind][before][path->event[e]] = 1;
  }
  return 1;
}

static int updates_refused(const struct path *path)
{
  struct let_peer p = {0};
  int refused = 0;
  for (int e = 0; e < path->events && !refused; e++)
    refused = let_peer_step(&p, path->side, LET_SOFT, path->event[e]) != 0;
  return refused;
}

static void check_paths(void)
{
  char what[160];
  for (int k = 0; k < PATHS; k++)
    for (int kind = 0; kind < LET_SETS; kind++) {
      int refused = path[k].updated && kind == LET_SOFT;
      snprintf(what, sizeof what, "%s, %s: %s%s", let_kind_name(kind), let_side_name(path[k].side), path[k].name,
               refused ? " is refused" : "");
      tap_ok(refused ? updates_refused(&path[k]) : follow(&path[k], kind), what);
    }
}

/* Every transition that is in none of the paths is refused, and the state stays. */
static void check_refused(void)
{
  for (int side = 0; side < LET_SIDES; side++)
    for (int kind = 0; kind < LET_SETS; kind++) {
      char what[160];
      int good = 1, count = 0;
      for (int state = 0; state < LET_STATES; state++)
        for (int event = 0; event < LET_EVENTS; event++) {
          struct let_peer p = {0};
          if (allowed[side][kind][state][event]) continue;
          p.state[side][kind] = state;
          good &= let_peer_step(&p, side, kind, event) == -1 && (int)p.state[side][kind] == state;
          good &= let_state_after(side, kind, state, event) == LET_STATES;
          count++;
        }
      snprintf(what, sizeof what, "%s, %s: %d other transitions are refused", let_kind_name(kind), let_side_name(side),
               count);
      tap_ok(good, what);
    }
}

/* The forest has a LET from `attach` until `clear`. */
static void check_attached(void)
{
  int good = 1;
  for (int k = 0; k < PATHS; k++)
    for (int kind = LET_STEP; kind < LET_SETS; kind++) {
      struct let_peer p = {0};
      for (int e = 0, attached = 0; e < path[k].events && path[k].side == LET_RECEIVER; e++) {
        let_peer_step(&p, LET_RECEIVER, kind, path[k].event[e]);
        if (path[k].event[e] == LET_EVENT_ATTACH) attached = 1;
        if (path[k].event[e] == LET_EVENT_CLEAR) attached = 0;
        good &= let_peer_attached(&p, kind) == attached;
      }
    }
  tap_ok(good, "a LET is attached from attach to clear");
}

static void check_names(void)
{
  int good = 1;
  for (int a = 0; a < LET_STATES; a++)
    for (int b = 0; b < a; b++) good &= strcmp(let_state_name(a), let_state_name(b)) != 0;
  for (int a = 0; a < LET_EVENTS; a++)
    for (int b = 0; b < a; b++) good &= strcmp(let_event_name(a), let_event_name(b)) != 0;
  tap_ok(good, "states and events have different names");
}

int main(void)
{
  check_paths();
  check_refused();
  check_attached();
  check_names();
  return tap_end();
}
