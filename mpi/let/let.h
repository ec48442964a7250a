/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exchange of locally essential trees (LETs); Iwasawa et al. 2020, section 6.3; Watanabe & Nakasato 2014, section
 * III-B.
 *
 * One allgather gives every rank the LET summaries of all ranks, or, on many ranks, stages give it those of the ranks
 * near it and of groups of the others (mpi/let/stages.h). At a synchronisation: the first cells of each rank's tree
 * (tree/upper.h) and one box around its targets. For substeps: a few cuboids that its particles do not leave. From two
 * summaries both ranks derive, without a message, what the receiver needs: nothing (in substeps, if no particles of
 * both can come within R2 of each other), cells of the summary, which become the upper tree, or a LET. For a LET the
 * receiver sends its boxes (in substeps those near the sender), and the sender selects, packs and sends it. A LET
 * without anything has no bytes, and no updates follow it.
 *
 * LETs of substeps are kept valid by updates. After a substep the sender sends the corrected entries to the ranks that
 * have them. Every message contains the tick of the next one, so a receiver knows until when its LETs are valid. It
 * waits only for updates that it needs; a rank without active particles nearby neither waits nor sends.
 *
 * The states of the LETs between two ranks are in mpi/let/let_peer.h. */
#ifndef LET_H
#define LET_H
#include "backend/backend.h"
#include "backend/let_verbs.h"
#include "mpi/comm.h"
#include "mpi/transport.h"
#include "tree/essential.h"

/* Most boxes of a rank: for substeps with a cutoff, where a receiver sends only those near the sender; and in other
 * exchanges, where every cell is tested against all. More would follow its shape better. On devices, which test every
 * cell against them too, few ranks have fewer. */
enum { LET_BOXES = 512, LET_BOXES_ALL = 64, LET_BOXES_RANK = 16 };

struct let_traffic {
  struct let_count received; /* cells and particles of LETs (without cells of summaries); entries of updates */
  int64_t messages, bytes;   /* sent, without summaries */
  int64_t summary_messages, summary_bytes; /* of summaries in stages, sent */
};

/* Add a message (boxes, a LET, an update) of `bytes` to the sent traffic. */
void let_account(struct let_traffic *traffic, const struct comm *comm, size_t bytes);

/* Returns the box that contains boxes[count] for the time `horizon`, in the frame of their mean velocity. count 0: an
 * empty box. Pure. */
struct let_box let_union(const struct let_box *boxes, int count, double horizon);

/* 1: LETs of substeps with a cutoff, whose contacts and boxes are those of particles that can come within it of each
 * other. Pure. */
static inline int let_by_reach(const struct let_request *request)
{
  return request->horizon > 0 && request->cutoff >= 0;
}
/* What `receiver` needs of `sender`'s tree, by their summaries: NEED_NOTHING; NEED_CELL, cells in the summary (soft
 * LETs only: for substeps they are sent as a LET, because they move); NEED_OPEN, a LET. For substeps with a cutoff it
 * is NEED_NOTHING unless particles of both can come within the cutoff of each other, as far as cuboids tell. Ignores
 * the boxes of the request. Pure, so both ranks get the same result. */
enum need let_contact(const struct lattice *lattice, const struct let_summary *sender,
                      const struct let_summary *receiver, const struct let_request *request);

/* Set what a request says of summaries at a synchronisation (`quads`) with this backend. Pure. */
void let_tops(const struct backend *be, struct let_request *request);
/* Queue the work for the boxes of the let_summarise that follows for this request, which is of substeps, without a
 * cutoff, and of active particles (verb begin_boxes). Local. */
void let_begin_boxes(const struct backend *be, struct device *d, const struct let_request *request);
/* Write the summary and the boxes[LET_BOXES] of a rank of `ranks` for a request, whose own boxes are ignored. Before:
 * moments, groups. Local. */
void let_summarise(const struct backend *be, struct device *d, int ranks, const struct let_request *request,
                   struct let_box *boxes, struct let_summary *summary);
/* A summary as a message, which has only what the exchange of this request needs: the most bytes of one, the bytes of
 * this one, writing and reading it, which return them too. Pure. */
size_t let_summary_bytes(const struct let_request *request);
size_t let_summary_length(const struct let_request *request, const struct let_summary *summary);
size_t let_cell_bytes(const struct let_request *request); /* of a cell of a top in it */
size_t let_summary_pack(const struct let_request *request, const struct let_summary *summary, void *message);
size_t let_summary_unpack(const struct let_request *request, const void *message, struct let_summary *summary);

/* The message with which a receiver asks for a LET: those of its boxes[count] that `sender` has particles near to (all,
 * where there is no cutoff). `message` has room for count + 1 boxes. Returns its bytes; 0: no box is near. Pure. */
size_t let_boxes_pack(const struct let_summary *sender, const struct let_box *boxes, int count,
                      const struct let_request *request, void *message);
/* Read such a message into boxes[LET_BOXES]; returns their number. Both ranks select from the same boxes, rounded
 * outwards. Pure. */
int let_boxes_unpack(const struct let_request *request, const void *message, size_t bytes, struct let_box *boxes);

/* The LETs of a rank, sent and received. */
struct lets;
/* Open; c, be, d and t must outlive it. t: transport of the bodies of LETs; NULL: through the host. grid: numbers of
 * domains along the axes, for the groups of ranks in summaries. Owner: caller (lets_close). Local. */
struct lets *lets_open(const struct comm *comm, const struct backend *be, struct device *d, struct transport *transport,
                       const int grid[3]);
/* Waits for this rank's messages. Local. */
void lets_close(struct lets *lets);

/* The first parts of let_exchange for LETs of fast particles, LET_STEP alone, which are hidden behind a build of their
 * tree: let_begin_request before it, let_send_request after it. Updates may not arrive between them. The request is
 * that of the exchange, and its particles are the active ones. let_send_request and the exchange are collective;
 * let_begin_request is local. */
void let_begin_request(struct lets *lets, const struct let_request *request);
void let_send_request(struct lets *lets, const struct lattice *lattice, struct let_request request,
                      struct let_traffic *traffic);
/* Select this rank's LETs and send them to the ranks that need them. On return the LETs of other ranks may still be in
 * transit; with a transport between devices this rank has waited until all its senders have selected theirs.
 * Collective.
 *
 * kind                LET_SOFT: of the synchronisation. LET_STEP: of substeps; replaces the earlier ones and ends those
 *                     of LET_SOFT. Where fast particles have trees of their own: LET_SLOW (request.part LET_OF_SLOW;
 *                     this waits for the LETs), then LET_STEP (LET_OF_FAST), which may be selected again alone.
 * request             targets and criterion; its boxes are ignored
 * next_moment_update  tick of the first moment update (LETs of substeps)
 * traffic             counts are added to it until the last of these LETs has arrived, so it must live until then;
 *                     `received` is reset first if the LETs replace earlier ones */
void let_exchange(struct lets *lets, enum let_kind kind, const struct lattice *lattice, struct let_request request,
                  int32_t next_moment_update, struct let_traffic *traffic);
/* Compute forces from the forest: from the local tree while LETs arrive, then from every LET, in the order of ranks
 * after this one, as soon as it is attached and valid at the request's tick. The forest fields of the request (local,
 * peers, last) are ignored. Adds to *tally and, for updates that arrive, to *updates. Local; waits for the LETs that it
 * needs. */
void let_walk(struct lets *lets, struct walk_request request, struct tally *tally, struct let_traffic *updates);
/* Send the entries corrected at `tick` to the ranks that have them, with all cells at moment updates (enum
 * let_update_scope). next_moment_update: tick of the next moment update. Local; but with a transport between devices,
 * SCOPE_CELLS and SCOPE_ALL_CORRECTED wait until all senders of LETs have reached this tick. */
void let_send_updates(struct lets *lets, int32_t tick, enum let_update_scope scope, int32_t next_moment_update,
                      struct let_traffic *traffic);
/* Apply all updates of ticks before `tick` (TICKS: all of the soft step). Local; waits. */
void let_take_updates(struct lets *lets, int32_t tick, struct let_traffic *traffic);
/* Non-blocking sum over ranks of prediction-bound violations. Starts the sum of `mine` and returns 1 if the sum that
 * the previous call started is positive. So a rank waits only for ranks that have not made the previous call. `begin`:
 * 1: ignore the previous sum and start with 0. Collective. */
int let_any_violation(struct lets *lets, int64_t mine, int begin);
#endif
