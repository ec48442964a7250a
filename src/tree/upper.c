/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "tree/upper.h"

#include <string.h>

#include "base/debug.h"
#include "base/memory.h"
#include "tree/essential.h"

enum { BRANCHES = 8 };

/* --- the top of a tree ------------------------------------------------------------------------------------------- */

static void add_cell(struct let_top *top, const struct node *node, const float (*quad)[6], int32_t at)
{
  struct node *own = &top->node[top->cells];
  *own = node[at];
  own->first = 0;
  own->info = NODE_TERMINAL;
  if (quad) memcpy(top->quad[top->cells], quad[at], sizeof *quad);
  top->cells++;
}

int top_most(void) { return (int)debug_value("let_top", TOP_CELLS); }

/* top_choose for at most `most` cells. */
static void choose(struct let_top *top, int most, const struct node *node, int32_t seen, int32_t base,
                   const float (*quad)[6])
{
  int32_t from[TOP_CELLS];
  int tried[TOP_CELLS] = {0}; /* opened, or cannot be */
  memset(top, 0, sizeof *top);
  if (seen > TOP_SEEN) seen = TOP_SEEN;
  if (seen <= 0) return;
  from[0] = 0;
  add_cell(top, node, quad, 0);
  for (;;) {
    int best = -1;
    for (int k = 0; k < top->cells; k++)
      if (!tried[k] && (best < 0 || top->node[k].reach > top->node[best].reach)) best = k;
    if (best < 0) return;
    const struct node *n = &node[from[best]];
    int32_t children = (int32_t)(n->info & NODE_COUNT), first = n->first - base;
    tried[best] = 1;
    if (n->info & NODE_LEAF || children == 0 || first + children > seen || top->cells + children > most) continue;
    top->node[best].first = top->cells;
    top->node[best].info = (uint32_t)children;
    for (int32_t k = 0; k < children; k++) {
      from[top->cells] = first + k;
      add_cell(top, node, quad, first + k);
    }
  }
}

void top_choose(struct let_top *top, const struct node *node, int32_t seen, int32_t base, const float (*quad)[6])
{
  choose(top, TOP_CELLS, node, seen, base, quad);
}

void top_cut(struct let_top *top, int most)
{
  if (top->cells <= most) return;
  const struct let_top all = *top;
  choose(top, most, all.node, all.cells, 0, all.quad);
}

/* --- what of it is needed ---------------------------------------------------------------------------------------- */

/* Synchronisations have no horizon and no cutoff. */
static enum need need_of(const struct lattice *lattice, const struct node *node, const struct let_box *box,
                         const struct let_request *request, float sink)
{
  return essential_at_rest(lattice, node, box, request->open_within, sink);
}

enum need top_need(const struct lattice *lattice, const struct let_top *top, const struct let_box *box,
                   const struct let_request *request)
{
  char reached[TOP_CELLS] = {1};
  float sink = essential_sink(box, request);
  for (int k = 0; k < top->cells; k++) {
    const struct node *n = &top->node[k];
    if (!reached[k] || n->info == TOP_ENOUGH || need_of(lattice, n, box, request, sink) != NEED_OPEN) continue;
    if (n->info & NODE_TERMINAL) return NEED_OPEN;
    memset(reached + n->first, 1, n->info);
  }
  return NEED_CELL;
}

int top_enough(struct let_top *few, const struct let_top *top, const struct lattice *lattice, const struct let_box *box,
               const struct let_request *request)
{
  int place[TOP_CELLS] = {0}, cells = top->cells > 0; /* in `few` */
  float sink = essential_sink(box, request);
  for (int k = 0; k < top->cells; k++) {
    const struct node *n = &top->node[k];
    if (k > 0 && place[k] == 0) continue;
    int open = !(n->info & NODE_TERMINAL) && need_of(lattice, n, box, request, sink) == NEED_OPEN;
    if (open)
      for (uint32_t i = 0; i < n->info; i++) place[n->first + (int32_t)i] = cells + (int)i;
    if (few) {
      struct node *to = &few->node[place[k]];
      *to = *n;
      memcpy(few->quad[place[k]], top->quad[k], sizeof *few->quad);
      to->first = open ? cells : 0;
      if (!open && !(n->info & NODE_TERMINAL)) to->info = TOP_ENOUGH;
    }
    if (open) cells += (int)n->info;
  }
  if (few) few->cells = cells;
  return cells;
}

/* Of all boxes of the request; `all` is the box around them, `sink` its sink. */
static enum need need_of_all(const struct lattice *lattice, const struct node *node, const struct let_box *all,
                             const struct let_request *request, float sink)
{
  if (node->info & NODE_TERMINAL || need_of(lattice, node, all, request, sink) == NEED_CELL) return NEED_CELL;
  for (int b = 0; b < request->box_count; b++)
    if (need_of(lattice, node, &request->boxes[b], request, essential_sink(&request->boxes[b], request)) == NEED_OPEN)
      return NEED_OPEN;
  return NEED_CELL;
}

int top_cells(const struct lattice *lattice, const struct let_top *top, const struct let_box *all,
              const struct let_request *request, enum need *need)
{
  float sink = essential_sink(all, request);
  int count = top->cells > 0;
  for (int k = 0; k < TOP_CELLS; k++) need[k] = k < count ? NEED_CELL : NEED_NOTHING;
  for (int k = 0; k < top->cells; k++) {
    const struct node *n = &top->node[k];
    if (need[k] == NEED_NOTHING || need_of_all(lattice, n, all, request, sink) != NEED_OPEN) continue;
    need[k] = NEED_OPEN;
    for (uint32_t i = 0; i < n->info; i++) need[n->first + (int32_t)i] = NEED_CELL;
    count += (int)n->info;
  }
  return count;
}

/* --- the tree ---------------------------------------------------------------------------------------------------- */

/* Number of parents of `width` cells. */
static int above(int width) { return (width + BRANCHES - 1) / BRANCHES; }

/* Number of cells above `count` roots. */
static int cells_above(int count)
{
  int nodes = 0;
  for (int w = count; w > 1; w = above(w)) nodes += above(w);
  return nodes;
}

/* A cell with the children [first, first + count) that every target opens. */
static struct node always_opened(const struct node *child, int32_t first, int count)
{
  struct node n = *child;
  n.b = MAC_FAR;
  n.reach = 0;
  n.first = first;
  n.info = (uint32_t)count;
  return n;
}

static void reserve(struct upper *upper, int64_t nodes)
{
  if (nodes <= upper->capacity) return;
  upper->capacity = nodes + nodes / 2;
  upper->node = memory_resize("let", upper->node, sizeof *upper->node * (size_t)upper->capacity);
  upper->quad = memory_resize("let", upper->quad, sizeof *upper->quad * (size_t)upper->capacity);
}

/* Write cell k of a top, without children. */
static void put_cell(struct upper *upper, int64_t at, const struct let_top *top, int32_t k)
{
  upper->node[at] = top->node[k];
  upper->node[at].first = 0;
  upper->node[at].info = NODE_TERMINAL;
  memcpy(upper->quad[at], top->quad[k], sizeof *upper->quad);
}

/* Write the needed cells of a top: the root at the place `root`, the others at the end. */
static void add_top(struct upper *upper, int64_t root, const struct let_top *top, const enum need *need)
{
  int64_t at[TOP_CELLS] = {root};
  put_cell(upper, root, top, 0);
  for (int k = 0; k < top->cells; k++) {
    if (need[k] != NEED_OPEN) continue;
    int32_t children = (int32_t)top->node[k].info, first = top->node[k].first;
    upper->node[at[k]].first = (int32_t)upper->nodes;
    upper->node[at[k]].info = (uint32_t)children;
    for (int32_t i = first; i < first + children; i++) put_cell(upper, at[i] = upper->nodes++, top, i);
  }
}

void upper_open(struct upper *upper, int count)
{
  *upper = (struct upper){.roots = count};
  if (count == 0) return;
  upper->at = cells_above(count);
  reserve(upper, upper->at + count);
  upper->nodes = upper->at + count;
  memset(upper->quad, 0, sizeof *upper->quad * (size_t)upper->at);
}

void upper_add(struct upper *upper, const struct lattice *lattice, const struct let_top *top, const struct let_box *all,
               const struct let_request *request)
{
  enum need need[TOP_CELLS];
  reserve(upper, upper->nodes + top_cells(lattice, top, all, request, need));
  add_top(upper, upper->at++, top, need);
}

void upper_finish(struct upper *upper)
{
  int64_t begin = upper->at - upper->roots;
  for (int width = upper->roots; width > 1; width = above(width)) {
    int64_t below = begin;
    begin -= above(width);
    for (int k = 0; k < above(width); k++) {
      int first = BRANCHES * k, children = width - first < BRANCHES ? width - first : BRANCHES;
      upper->node[begin + k] = always_opened(&upper->node[below + first], (int32_t)(below + first), children);
    }
  }
}

void upper_free(struct upper *upper)
{
  memory_free(upper->node);
  memory_free(upper->quad);
  *upper = (struct upper){.node = NULL};
}
