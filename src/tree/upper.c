/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "tree/upper.h"

#include <string.h>

#include "base/debug.h"
#include "base/memory.h"
#include "tree/essential.h"

enum { BRANCHES = 8 };

/* --- the top of a tree ------------------------------------------------------------------------------------------- */

static void add_cell(struct let_top *t, const struct node *n, const float (*quad)[6], int32_t at)
{
  struct node *own = &t->node[t->cells];
  *own = n[at];
  own->first = 0;
  own->info = NODE_TERMINAL;
  if (quad) memcpy(t->quad[t->cells], quad[at], sizeof *quad);
  t->cells++;
}

int top_most(void) { return (int)debug_value("let_top", TOP_CELLS); }

static void choose(struct let_top *t, int most, const struct node *node, int32_t seen, int32_t base, const float (*quad)[6])
{
  int32_t from[TOP_CELLS];
  int tried[TOP_CELLS] = {0};   /* opened, or cannot be */
  memset(t, 0, sizeof *t);
  if (seen > TOP_SEEN) seen = TOP_SEEN;
  if (seen <= 0) return;
  from[0] = 0;
  add_cell(t, node, quad, 0);
  for (;;) {
    int best = -1;
    for (int k = 0; k < t->cells; k++)
      if (!tried[k] && (best < 0 || t->node[k].reach > t->node[best].reach)) best = k;
    if (best < 0) return;
    const struct node *n = &node[from[best]];
    int32_t children = (int32_t)(n->info & NODE_COUNT), first = n->first - base;
    tried[best] = 1;
    if (n->info & NODE_LEAF || children == 0 || first + children > seen || t->cells + children > most) continue;
    t->node[best].first = t->cells;
    t->node[best].info = (uint32_t)children;
    for (int32_t k = 0; k < children; k++) {
      from[t->cells] = first + k;
      add_cell(t, node, quad, first + k);
    }
  }
}

void top_choose(struct let_top *t, const struct node *node, int32_t seen, int32_t base, const float (*quad)[6])
{
  choose(t, TOP_CELLS, node, seen, base, quad);
}

void top_cut(struct let_top *t, int most)
{
  if (t->cells <= most) return;
  const struct let_top all = *t;
  choose(t, most, all.node, all.cells, 0, all.quad);
}

/* --- what of it is needed ---------------------------------------------------------------------------------------- */

/* Synchronisations have no horizon and no cutoff. */
static enum need need_of(const struct lattice *l, const struct node *n, const struct let_box *box, const struct let_request *r, float sink)
{
  return essential_at_rest(l, n, box, r->open_within, sink);
}

enum need top_need(const struct lattice *l, const struct let_top *t, const struct let_box *box, const struct let_request *r)
{
  char reached[TOP_CELLS] = {1};
  float sink = essential_sink(box, r);
  for (int k = 0; k < t->cells; k++) {
    const struct node *n = &t->node[k];
    if (!reached[k] || n->info == TOP_ENOUGH || need_of(l, n, box, r, sink) != NEED_OPEN) continue;
    if (n->info & NODE_TERMINAL) return NEED_OPEN;
    memset(reached + n->first, 1, n->info);
  }
  return NEED_CELL;
}

int top_enough(struct let_top *few, const struct let_top *t, const struct lattice *l, const struct let_box *box, const struct let_request *r)
{
  int place[TOP_CELLS] = {0}, cells = t->cells > 0;   /* in `few` */
  float sink = essential_sink(box, r);
  for (int k = 0; k < t->cells; k++) {
    const struct node *n = &t->node[k];
    if (k > 0 && place[k] == 0) continue;
    int open = !(n->info & NODE_TERMINAL) && need_of(l, n, box, r, sink) == NEED_OPEN;
    if (open)
      for (uint32_t i = 0; i < n->info; i++) place[n->first + (int32_t)i] = cells + (int)i;
    if (few) {
      struct node *to = &few->node[place[k]];
      *to = *n;
      memcpy(few->quad[place[k]], t->quad[k], sizeof *few->quad);
      to->first = open ? cells : 0;
      if (!open && !(n->info & NODE_TERMINAL)) to->info = TOP_ENOUGH;
    }
    if (open) cells += (int)n->info;
  }
  if (few) few->cells = cells;
  return cells;
}

static enum need need_of_all(const struct lattice *l, const struct node *n, const struct let_box *all, const struct let_request *r, float sink)
{
  if (n->info & NODE_TERMINAL || need_of(l, n, all, r, sink) == NEED_CELL) return NEED_CELL;
  for (int b = 0; b < r->box_count; b++)
    if (need_of(l, n, &r->boxes[b], r, essential_sink(&r->boxes[b], r)) == NEED_OPEN) return NEED_OPEN;
  return NEED_CELL;
}

int top_cells(const struct lattice *l, const struct let_top *t, const struct let_box *all, const struct let_request *r, enum need *need)
{
  float sink = essential_sink(all, r);
  int count = t->cells > 0;
  for (int k = 0; k < TOP_CELLS; k++) need[k] = k < count ? NEED_CELL : NEED_NOTHING;
  for (int k = 0; k < t->cells; k++) {
    const struct node *n = &t->node[k];
    if (need[k] == NEED_NOTHING || need_of_all(l, n, all, r, sink) != NEED_OPEN) continue;
    need[k] = NEED_OPEN;
    for (uint32_t i = 0; i < n->info; i++) need[n->first + (int32_t)i] = NEED_CELL;
    count += (int)n->info;
  }
  return count;
}

/* --- the tree ---------------------------------------------------------------------------------------------------- */

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

static void reserve(struct upper *u, int64_t nodes)
{
  if (nodes <= u->capacity) return;
  u->capacity = nodes + nodes / 2;
  u->node = memory_resize("let", u->node, sizeof *u->node * (size_t)u->capacity);
  u->quad = memory_resize("let", u->quad, sizeof *u->quad * (size_t)u->capacity);
}

/* Write cell k of a top, without children. */
static void put_cell(struct upper *u, int64_t at, const struct let_top *t, int32_t k)
{
  u->node[at] = t->node[k];
  u->node[at].first = 0;
  u->node[at].info = NODE_TERMINAL;
  memcpy(u->quad[at], t->quad[k], sizeof *u->quad);
}

/* Write the needed cells of a top: the root at the place `root`, the others at the end. */
static void add_top(struct upper *u, int64_t root, const struct let_top *t, const enum need *need)
{
  int64_t at[TOP_CELLS] = {root};
  put_cell(u, root, t, 0);
  for (int k = 0; k < t->cells; k++) {
    if (need[k] != NEED_OPEN) continue;
    int32_t children = (int32_t)t->node[k].info, first = t->node[k].first;
    u->node[at[k]].first = (int32_t)u->nodes;
    u->node[at[k]].info = (uint32_t)children;
    for (int32_t i = first; i < first + children; i++) put_cell(u, at[i] = u->nodes++, t, i);
  }
}

void upper_open(struct upper *u, int count)
{
  *u = (struct upper){.roots = count};
  if (count == 0) return;
  u->at = cells_above(count);
  reserve(u, u->at + count);
  u->nodes = u->at + count;
  memset(u->quad, 0, sizeof *u->quad * (size_t)u->at);
}

void upper_add(struct upper *u, const struct lattice *l, const struct let_top *top, const struct let_box *all, const struct let_request *r)
{
  enum need need[TOP_CELLS];
  reserve(u, u->nodes + top_cells(l, top, all, r, need));
  add_top(u, u->at++, top, need);
}

void upper_finish(struct upper *u)
{
  int64_t begin = u->at - u->roots;
  for (int width = u->roots; width > 1; width = above(width)) {
    int64_t below = begin;
    begin -= above(width);
    for (int k = 0; k < above(width); k++) {
      int first = BRANCHES * k, children = width - first < BRANCHES ? width - first : BRANCHES;
      u->node[begin + k] = always_opened(&u->node[below + first], (int32_t)(below + first), children);
    }
  }
}

void upper_free(struct upper *u)
{
  memory_free(u->node);
  memory_free(u->quad);
  *u = (struct upper){.node = NULL};
}
