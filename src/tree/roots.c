/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "tree/roots.h"

#include <string.h>

#include "tree/mac.h"

enum { BRANCHES = 8 };

static int above(int width) { return (width + BRANCHES - 1) / BRANCHES; }

int64_t roots_nodes(int count)
{
  int64_t nodes = 1;
  for (int w = count; w > 1; w = above(w)) nodes += w;
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

void roots_tree(int count, const struct let_summary *const *summaries, struct node *node, float (*quad)[6])
{
  int32_t begin = (int32_t)roots_nodes(count) - count;
  if (quad) memset(quad, 0, sizeof *quad * (size_t)begin);
  for (int k = 0; k < count; k++) {
    node[begin + k] = summaries[k]->root;
    node[begin + k].first = 0;
    node[begin + k].info = NODE_TERMINAL;
    if (quad) memcpy(quad[begin + k], summaries[k]->quad, sizeof *quad);
  }
  for (int width = count; width > 1; width = above(width)) {
    int32_t below = begin;
    begin -= above(width);
    for (int k = 0; k < above(width); k++) {
      int first = BRANCHES * k, children = width - first < BRANCHES ? width - first : BRANCHES;
      node[begin + k] = always_opened(&node[below + first], below + first, children);
    }
  }
}
