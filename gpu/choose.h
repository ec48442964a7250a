/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The choice of a LET on a device, for one node at a time: nodes are marked level by level, sums over the marks of the nodes
 * before give places in the message, and from places follow the message's links. The local tree is in breadth-first order,
 * so the chosen nodes in the order of their numbers are too. For host and device. */
#ifndef GPU_CHOOSE_H
#define GPU_CHOOSE_H
#include "essential.h"

/* Of a node: it is not in the message, or it is, with this need (enum need). */
enum mark { MARK_NONE, MARK_EMPTY = 1 + NEED_NOTHING, MARK_CELL = 1 + NEED_CELL, MARK_OPEN = 1 + NEED_OPEN };

/* The root is always there, as an empty cell where nothing of it is needed. Others: children of open nodes. */
HD uint8_t choose_mark(enum need need, int root) { return need == NEED_NOTHING && !root ? MARK_NONE : (uint8_t)(1 + need); }

/* What a node puts into the message: itself in the upper half, particles of a leaf in the lower. Sums of these over the nodes
 * before are places. */
HD uint64_t choose_share(uint8_t mark, int bodies) { return mark == MARK_NONE ? 0 : (uint64_t)1 << 32 | (uint64_t)bodies; }
HD int32_t place_node(uint64_t place) { return (int32_t)(place >> 32); }
HD int32_t place_body(uint64_t place) { return (int32_t)(place & 0xffffffffu); }

/* The record of a chosen node in the message. `place` holds one more number than there are nodes. */
HD struct node choose_record(const struct node *n, int32_t i, uint8_t mark, const uint64_t *place)
{
  struct node out = *n;
  int32_t end = n->first + (int32_t)(n->info & NODE_COUNT);
  if (mark != MARK_OPEN) {
    out.first = 0;
    out.info = mark == MARK_CELL ? NODE_TERMINAL : 0;
  } else if (n->info & NODE_LEAF) {
    out.first = place_body(place[i]);
    out.info = NODE_LEAF | (uint32_t)(place_body(place[i + 1]) - out.first);
  } else {
    out.first = place_node(place[n->first]);
    out.info = (uint32_t)(place_node(place[end]) - out.first);
  }
  return out;
}
#endif
