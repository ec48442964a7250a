/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exchange of locally essential trees (LETs).
 *
 * One allgather tells every rank the others' cards: the root of the tree and one box around all targets. From two cards
 * both sides see, without a message, whether the root alone will do (then it is there already), whether nothing is needed
 * (substeps: farther than R2), or whether the two must talk: then the receiver sends its boxes, and the sender chooses,
 * packs and sends a LET (Iwasawa et al. 2020, section 6.3).
 *
 * LETs of substeps are kept up to date: after a substep the sender tells those whose entries were corrected, and with every
 * message when the next one will come. So a rank knows without asking up to which tick what it has is true: it waits only
 * for messages that it needs, and a rank with nothing active nearby neither waits nor sends. */
#ifndef LET_H
#define LET_H
#include "backend.h"
#include "comm.h"
#include "essential.h"
#include "transport.h"

enum { LET_BOXES = 64 };   /* of a rank, at most: enough to follow its shape, few enough to be looped over for every cell */

struct let_traffic {
  struct let_count received;   /* cells and particles of LETs (roots that came with cards do not count); updates: entries */
  int64_t messages, bytes;     /* sent */
};

/* Enter a parcel (boxes, a LET, an update) with so many bytes as sent. */
void let_account(struct let_traffic *t, const struct comm *c, size_t bytes);

/* The box around all boxes of a rank, which hold for this horizon (count 0: an empty box). */
struct let_box let_union(const struct let_box *boxes, int count, double horizon);

/* What `receiver` needs of `sender`'s tree, as both know from the cards: NEED_NOTHING; NEED_CELL: the root as it is on the
 * card (soft LETs only: moving roots are sent); NEED_OPEN: boxes go one way and a LET the other. The request's boxes are
 * not looked at. */
enum need let_contact(const struct lattice *l, const struct let_card *sender, const struct let_card *receiver, const struct let_request *r);

/* A rank's card, and its boxes (room for LET_BOXES), for a request (of any boxes); needs moments and groups. */
void let_introduce(const struct backend *be, struct device *d, const struct let_request *request, struct let_box *boxes, struct let_card *card);

/* The LETs of a rank. */
struct lets;
/* `t` (may be NULL: staged) is the transport of LETs. */
struct lets *lets_open(const struct comm *c, const struct backend *be, struct device *d, struct transport *t);
void lets_close(struct lets *l);

/* Choose and send this rank's LETs to all who need them; what others send is on its way when this returns. Where LETs go
 * from device to device, this waits until everyone who sends to this rank has chosen. The request's boxes are filled in
 * here. LETs of substeps: `next_cells` is the tick of the first update of a refresh. They take the place of the former and end those
 * of the synchronisation, and what was received begins anew. But where fast particles have trees of their own they are LET_SLOW
 * (LET_OF_SLOW; this waits for them), and then LET_STEP (LET_OF_FAST), which may be chosen anew alone. Else `traffic` is added to, until
 * the last of the LETs has come. Collective. */
void let_exchange(struct lets *l, enum let_kind kind, const struct lattice *lattice, struct let_request request, int32_t next_cells,
                  struct let_traffic *traffic);
/* Forces from the forest: the local tree while LETs travel, then every LET in the order of the ranks after this one, as
 * soon as it is there and true at the request's tick. Local, but waits for those that it needs. */
void let_walk(struct lets *l, struct walk_request request, struct tally *tally, struct let_traffic *updates);
/* Tell the peers what was corrected at this tick; at the next refresh they will be told at the latest. Local, but where LETs go from
 * device to device it waits at refreshes (all `news` but NEWS_FEW) until those whose LETs are here are at this tick too. */
void let_send_updates(struct lets *l, int32_t tick, enum let_news news, int32_t next_refresh, struct let_traffic *traffic);
/* Take all updates of ticks before this one (TICKS: all). Local, but waits. */
void let_take_updates(struct lets *l, int32_t tick, struct let_traffic *traffic);
/* Whether any rank has strays (LETs may miss something soon): asks now for the answer that the next call gives, so that
 * only those wait who are there before others were here. `begin`: forget what was asked. Collective. */
int let_anyone_strays(struct lets *l, int64_t mine, int begin);
#endif
