/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The upper tree: cells at the tops of the trees of other ranks, as one tree that is walked like a LET.
 *
 * In the summary of a rank (struct let_summary) are the first cells of its tree, opened where that spares most LETs. A
 * rank whose box accepts the closed ones needs no LET of it: the cells that it needs are in the summary, and both ranks
 * know this. Local. */
#ifndef UPPER_H
#define UPPER_H
#include "tree/lattice.h"
#include "tree/let_data.h"
#ifdef __cplusplus
extern "C" {
#endif

/* The largest number of cells of a top. */
int top_most(void);
/* Choose up to TOP_CELLS of the first `seen` nodes of a tree (at most TOP_SEEN are used; their links count from `base`;
 * quad: their second moments, or NULL): the closed cell with the largest reach is opened, again and again, as long as
 * its children are among these nodes and have room. */
void top_choose(struct let_top *top, const struct node *node, int32_t seen, int32_t base, const float (*quad)[6]);
/* Choose at most `most` of the cells of a top in the same way. */
void top_cut(struct let_top *top, int most);

/* What the targets of a box need of the rank whose top it is, at a synchronisation: NEED_CELL, cells of the top;
 * NEED_OPEN, a LET. Pure. */
enum need top_need(const struct lattice *lattice, const struct let_top *top, const struct let_box *box,
                   const struct let_request *request);
/* The cells of a top that targets in a box may need, as a top of its own: what lies below cells that the whole box
 * accepts is left out, and these have the `info` TOP_ENOUGH. For targets in this box `few` serves as `top` does.
 * Returns their number; few NULL: that alone. Pure. */
int top_enough(struct let_top *few, const struct let_top *top, const struct lattice *lattice, const struct let_box *box,
               const struct let_request *request);
/* The cells of a top that the boxes of the request need, where top_need of `all`, the box around them, is NEED_CELL.
 * need[TOP_CELLS]: NEED_NOTHING, NEED_CELL, or NEED_OPEN where the children are needed. Returns their number. Pure. */
int top_cells(const struct lattice *lattice, const struct let_top *top, const struct let_box *all,
              const struct let_request *request, enum need *need);

struct upper {
  struct node *node;           /* [nodes]: parents before children, and children together */
  float (*quad)[6];            /* [nodes] */
  int64_t nodes, capacity, at; /* at: place of the next root */
  int roots;
};
/* Make the tree over the tops of `count` other ranks or groups, none of them empty: upper_open, upper_add for each of
 * them, upper_finish. It has the cells of the tops that the boxes of the request need, those that are not opened as
 * terminal cells, and above the roots of the tops cells of at most eight children that every target opens. Owner:
 * caller (upper_free). */
void upper_open(struct upper *upper, int count);
void upper_add(struct upper *upper, const struct lattice *lattice, const struct let_top *top, const struct let_box *all,
               const struct let_request *request);
void upper_finish(struct upper *upper);
void upper_free(struct upper *upper);

#ifdef __cplusplus
}
#endif
#endif
