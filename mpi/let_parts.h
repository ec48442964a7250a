/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Internal declarations of the exchange of LETs, for mpi/let*.c alone.
 *
 *   let_peer.c     protocol: states and transitions
 *   let.c          exchange and walk
 *   let_gather.c   summaries of ranks and groups
 *   let_round.c    LETs and updates from device to device, in rounds
 *   let_update.c   updates of LETs of substeps */
#ifndef LET_PARTS_H
#define LET_PARTS_H
#include "base/sparse.h"
#include "mpi/let.h"
#include "mpi/let_peer.h"
#include "mpi/message.h"
#include "mpi/stages.h"

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

struct lets {
  const struct comm *c;
  const struct backend *be;
  struct device *d;
  struct transport *t;
  struct outbox out;
  struct sparse peers;        /* struct peer of every rank that a LET went to or came from */
  struct halves tree;         /* over the ranks, for summaries in stages */
  struct let_choice *choice;  /* [choice_capacity] receivers whose boxes have arrived */
  struct link_message *round; /* [round_capacity] bodies of the next round */
  int choice_capacity, round_count, round_capacity;
  int round_posted;         /* a round is posted and its states have not been advanced since */
  enum let_kind round_kind; /* the peers of the posted round are in the lists of this kind */
  /* Lists of ranks in the order r + 1, r + 2, ... after this rank r. The work of a substep is proportional to their
   * lengths. */
  /* senders of the LETs of the forest; this rank, if first, stands for the upper tree */
  int *forest[LET_SETS];
  int trees[LET_SETS];                /* their number */
  int *receiver[LET_SETS];            /* ranks that have a LET of this rank */
  int receivers[LET_SETS];            /* their number */
  int list_capacity[LET_SETS];        /* of both lists */
  int slow_apart;                     /* 1: substeps use LET_SLOW, from every sender, and LET_STEP; 0: LET_STEP alone */
  struct let_traffic *update_traffic; /* of updates */
  struct let_traffic *exchanged[LET_SETS]; /* of the LETs of the last exchanges */
  /* [0]: sum over ranks, valid when violation_request completes; [1]: of this rank */
  int64_t violations[2];
  MPI_Request violation_request;
  double arrived; /* clock time at which the last message was attached or applied */
};

/* What a call asks of LETs: passed on, never kept beyond the call. */
struct let_call {
  enum let_kind kind;
  int32_t tick;                      /* at which they must be valid */
  const struct let_request *request; /* of an exchange, with the tops that it needs; else NULL */
  int32_t next_moment_update;        /* of an exchange */
};

/* The kind whose lists (forest, receiver) hold all peers of a walk of `kind`. Updates advance the states of this
 * kind. */
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
void *let_host_room(void *unused, int peer, size_t bytes);

/* --- let_gather.c ------------------------------------------------------------------------------------------------ */

/* What a rank knows of the others: summaries of ranks, in the order r + 1, r + 2, ... after this rank r, then of groups
 * of the others. */
struct gathered {
  int count, *rank; /* [count] */
  int groups;
  struct stage_entry *entry; /* [count + groups] within these: */
  struct stages *stages;     /* or NULL */
  char *packed;              /* or NULL */
};
/* Exchange the summaries of all ranks. Owner: caller (let_gather_free). Collective. */
void let_gather(struct lets *lets, const struct let_call *call, const struct lattice *lattice,
                const struct let_summary *mine, struct gathered *gathered);
void let_gather_free(struct gathered *gathered);

/* --- let.c: arrivals --------------------------------------------------------------------------------------------- */

/* Attach a peer's LET of a kind if it has arrived. Returns 0 while it is expected; 1 if it is attached or none is
 * expected. */
int let_attach(struct lets *lets, enum let_kind kind, int peer);
/* Wait until all LETs of call->kind are attached and valid at call->tick. Returns the seconds waited. Local. */
double let_wait_for_all(struct lets *lets, const struct let_call *call);

/* --- let_round.c: from device to device --------------------------------------------------------------------------- */

/* Announce a selected LET of a kind for choice->peer; its body goes with the next round. */
void let_round_announce(struct lets *lets, enum let_kind kind, int32_t valid_until, const struct let_choice *choice);
/* Receive the announcement of a peer's LET of a kind. Returns 0 while it has not arrived. */
int let_round_announced(struct lets *lets, enum let_kind kind, int peer);
/* Post the round of all LETs of `kind` that have been announced, or of all announced updates (`kind`: let_listed of
 * LET_STEP). */
void let_round_post(struct lets *lets, enum let_kind kind);
/* Returns 1 if no round is in flight, and advances the states of the round that has just completed. */
int let_round_complete(struct lets *lets);
/* Wait until the posted round is complete, and apply the updates that it brought. The buffers that it sent may be
 * reused then. Local. */
void let_round_end(struct lets *lets);
/* Announce an update, as let_round_announce does a LET. */
void let_round_announce_update(struct lets *lets, int peer, int32_t valid_until, void *message, size_t bytes);
/* Receive the announcements of updates from all senders of the forest, then post the round. Local, waits. */
void let_round_exchange_updates(struct lets *lets);
/* Apply a peer's update of the round and return 1 if it has arrived; else return 0. */
int let_round_apply_update(struct lets *lets, int peer);

/* --- let_update.c ------------------------------------------------------------------------------------------------- */

enum { UPDATE_BY_ROUND = INT32_MIN }; /* bit in the note of an update's message: it is an announcement */

/* Apply the update in the peer's inbox, a complete message through the host. */
void let_update_apply(struct lets *lets, int peer);
/* Apply the updates of a peer up to `tick`, as far as they have arrived. */
void let_update_poll(struct lets *lets, int peer, int32_t tick);
#endif
