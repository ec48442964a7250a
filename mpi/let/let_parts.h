/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of this folder share: the LETs of a rank and what a call asks of them. A layer calls only those above
 * it here:
 *
 *   let_peer     protocol: states and transitions
 *   let_parts    peers, messages and LETs of this rank; advances the protocol
 *   let_gather   summaries of ranks and groups
 *   let_round    LETs and updates from device to device, in rounds
 *   let_arrive   arrivals: LETs are attached, updates applied and sent
 *   let          exchange and walk */
#ifndef LET_PARTS_H
#define LET_PARTS_H
#include "base/sparse.h"
#include "mpi/let/let.h"
#include "mpi/let/let_peer.h"
#include "mpi/let/stages.h"
#include "mpi/message.h"

/* Message that announces a LET or an update whose body goes from device to device. */
struct announcement {
  uint64_t bytes; /* of the LET or update, its head included */
  char head[LET_HEAD];
};

/* Messages and LETs between this rank and a peer. */
struct peer {
  struct let_peer protocol;
  struct inbox boxes, let[LET_SETS], update;
  size_t bytes[LET_SETS]; /* length of the peer's LET, once it is announced or has arrived */
  int32_t valid_until;    /* LETs of substeps: tick at which the peer's next update is due */
  struct announcement update_announcement;
  int32_t update_valid_until;          /* valid_until once the announced update is applied */
  void *update_sent, *update_arriving; /* whole updates of a round, for a backend without device memory; else NULL */
};

/* The LETs of one kind. Lists of ranks are in the order r + 1, r + 2, ... after this rank r. The work of a substep is
 * proportional to their lengths. */
struct let_set {
  int *forest;                 /* senders of the LETs of the forest; this rank, if first, stands for the upper tree */
  int trees;                   /* their number */
  int *receiver;               /* ranks that have a LET of this rank */
  int receivers;               /* their number */
  int capacity;                /* of both lists */
  struct let_traffic *traffic; /* of the last exchange; LETs that arrive after it are counted too */
};

/* The next round of the transport, or the posted one. */
struct let_round {
  struct link_message *body; /* [capacity] */
  int count, capacity;
  int posted;                  /* it is posted, and its states have not been advanced since */
  enum let_kind kind;          /* the peers of the posted round are in the lists of this kind */
  struct let_traffic *updates; /* counts of the updates that it brings */
};

struct lets {
  const struct comm *c;
  const struct backend *be;
  struct device *d;
  struct transport *t;
  struct outbox out;
  struct sparse peers;       /* struct peer of every rank that a LET went to or came from */
  struct halves tree;        /* over the ranks, for summaries in stages */
  struct let_choice *choice; /* [choice_capacity] receivers whose boxes have arrived */
  int choice_capacity;
  struct let_round round;
  struct let_set set[LET_SETS];
  int requested;  /* 1: let_send_request has exchanged summaries and boxes for the next exchange */
  int slow_apart; /* 1: substeps use LET_SLOW, from every sender, and LET_STEP; 0: LET_STEP alone */
  /* [0]: sum over ranks, valid when violation_request completes; [1]: of this rank */
  int64_t violations[2];
  MPI_Request violation_request;
};

/* One exchange, walk or update: the functions of let.h make it and pass it on; it ends with them. */
struct let_call {
  enum let_kind kind;                /* of the LETs that are exchanged or polled for */
  int32_t tick;                      /* at which they must be valid */
  const struct let_request *request; /* exchanges only, as next_moment_update */
  int32_t next_moment_update;
  struct let_traffic *updates; /* counts of updates; NULL in exchanges, where none arrive */
  double arrived;              /* out: clock time at which the last message was attached or applied */
};

/* The kind whose lists hold all peers of a walk of `kind`. Updates advance the states of this kind. */
static inline enum let_kind let_listed(const struct lets *lets, enum let_kind kind)
{
  return kind == LET_STEP && lets->slow_apart ? LET_SLOW : kind;
}

static inline enum let_state let_state(const struct lets *lets, int peer, enum let_side side, enum let_kind kind)
{
  const struct peer *p = sparse_find(&lets->peers, peer);
  return p ? p->protocol.state[side][kind] : LET_NONE;
}

/* The messages and LETs between this rank and another one. */
struct peer *let_peer_of(struct lets *lets, int rank);

/* Advance the protocol with a peer. A transition that the table does not allow is fatal. */
void let_advance(struct lets *lets, int peer, enum let_side side, enum let_kind kind, enum let_event event);

/* Memory of the host for a message, for inbox_poll. Owner: caller (memory_free). */
void *let_host_buffer(void *unused, int peer, size_t bytes);
#endif
