/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Selection of a LET on a device, for one node at a time: nodes are marked from the root down, prefix sums of the marks
 * give places in the message, and places give the links of the message. The local tree is in breadth-first order, so
 * the selected nodes in the order of their numbers are too. For host and device. */
#ifndef GPU_CHOOSE_H
#define GPU_CHOOSE_H
#include "tree/essential.h"

/* Mark of a node: it is not in the message, or it is, with this need (enum need). */
enum mark { MARK_NONE, MARK_EMPTY = 1 + NEED_NOTHING, MARK_CELL = 1 + NEED_CELL, MARK_OPEN = 1 + NEED_OPEN };

/* The root is always in the message, as an empty cell if it is not needed. Other nodes are children of open nodes. */
HD uint8_t choose_mark(enum need need, int root)
{
  return need == NEED_NOTHING && !root ? MARK_NONE : (uint8_t)(1 + need);
}

/* Marks of 32 nodes in a word, two bits each: needed in the lower half, opened in the upper; a root that is not needed
 * has the latter alone. Node i is in word i / MARKED. */
enum { MARKED = 32 };

HD uint64_t choose_word(uint32_t needed, uint32_t opened) { return (uint64_t)opened << 32 | needed; }
HD uint8_t choose_marked(uint64_t word, int bit)
{
  int needed = (int)(word >> bit & 1), opened = (int)(word >> (32 + bit) & 1);
  return (uint8_t)(needed ? opened ? MARK_OPEN : MARK_CELL : opened ? MARK_EMPTY : MARK_NONE);
}
/* Mask of the nodes of a word that are in the message. */
HD uint32_t choose_included(uint64_t word) { return (uint32_t)word | (uint32_t)(word >> 32); }

/* The number of set bits. */
HD int choose_bits(uint32_t x)
{
  x -= x >> 1 & 0x55555555u;
  x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
  return (int)(((x + (x >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24);
}

/* The contribution of nodes to the message: their number in the upper half, the number of particles of their leaves in
 * the lower. Sums over the words before are places. Only differences are meaningful, since the sums of receivers follow
 * each other. */
HD uint64_t choose_share(int nodes, int bodies) { return (uint64_t)nodes << 32 | (uint64_t)bodies; }
HD int32_t place_node(uint64_t place) { return (int32_t)(place >> 32); }
HD int32_t place_body(uint64_t place) { return (int32_t)(place & 0xffffffffu); }

/* The place of node i of the tree in the message, or of the next node that is in it. i may be one past the last. */
HD int32_t choose_place(const uint64_t *word, const uint64_t *sum, int32_t i)
{
  uint32_t before = choose_included(word[i / MARKED]) & ((1u << i % MARKED) - 1);
  return place_node(sum[i / MARKED] - sum[0]) + choose_bits(before);
}

/* The record of a selected node in the message. An opened leaf has `bodies` particles there, from `body` on. */
HD struct node choose_record(const struct node *node, uint8_t mark, const uint64_t *word, const uint64_t *sum,
                             int32_t body, int bodies)
{
  struct node out = *node;
  if (mark != MARK_OPEN) {
    out.first = 0;
    out.info = mark == MARK_CELL ? NODE_TERMINAL : 0;
  } else if (node->info & NODE_LEAF) {
    out.first = body;
    out.info = NODE_LEAF | (uint32_t)bodies;
  } else {
    out.first = choose_place(word, sum, node->first);
    out.info = (uint32_t)(choose_place(word, sum, node->first + (int32_t)(node->info & NODE_COUNT)) - out.first);
  }
  return out;
}
#endif
