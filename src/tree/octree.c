/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "tree/octree.h"

#include <math.h>
#include <stdio.h>

#include "base/memory.h"

enum { LINE = 64, SLACK = 64 }; /* SLACK: vector loops may read past the last source */

static size_t lines(size_t bytes) { return (bytes + LINE - 1) / LINE * LINE; }

size_t octree_bytes(int64_t nodes, int64_t sources, int quad, int moving)
{
  size_t n = (size_t)nodes, s = (size_t)sources;
  return lines(n * sizeof(struct node)) + (moving ? lines(n * sizeof(struct motion)) : 0) +
         (quad ? lines(n * sizeof(float[6])) : 0) + (moving ? SOURCE_WORDS : STILL_WORDS) * lines(s * 4) + SLACK;
}

/* The next part of a block; NULL unless `wanted`. */
static void *part(char **at, size_t bytes, int wanted)
{
  void *here = *at;
  if (!wanted) return NULL;
  *at += lines(bytes);
  return here;
}

void octree_place(struct octree *octree, void *block, int64_t nodes, int64_t sources, int quad, int moving)
{
  char *at = block;
  size_t n = (size_t)nodes, word = (size_t)sources * 4;
  struct sources *s = &octree->source;
  octree->nodes = (int32_t)nodes;
  s->n = (int32_t)sources;
  octree->node = part(&at, n * sizeof(struct node), 1);
  octree->motion = part(&at, n * sizeof(struct motion), moving);
  octree->quad = part(&at, n * sizeof(float[6]), quad);
  int32_t **place[] = {&s->x, &s->y, &s->z};
  float **motion[] = {&s->vx, &s->vy, &s->vz, &s->ax, &s->ay, &s->az};
  for (size_t i = 0; i < sizeof place / sizeof *place; i++) *place[i] = part(&at, word, 1);
  s->m = part(&at, word, 1);
  for (size_t i = 0; i < sizeof motion / sizeof *motion; i++) *motion[i] = part(&at, word, moving);
  s->tick = part(&at, word, moving);
}

/* Whether the particles of a leaf are within b of its centre of mass, up to the rounding of both. */
static int leaf_encloses(const struct octree *octree, const struct node *node, double spacing)
{
  const struct sources *s = &octree->source;
  for (int32_t j = node->first; j < node->first + (int32_t)(node->info & NODE_COUNT); j++) {
    double dx = (double)s->x[j] - node->x[0], dy = (double)s->y[j] - node->x[1], dz = (double)s->z[j] - node->x[2];
    if (sqrt(dx * dx + dy * dy + dz * dz) * spacing > node->b * (1 + 1e-5) + 2 * spacing) return 0;
  }
  return 1;
}

int octree_valid(const struct octree *octree, double spacing, char *why, size_t size)
{
  if (octree->nodes < 1)
    return octree->source.n == 0 || (snprintf(why, size, "%d sources but no node", octree->source.n), 0);
  int32_t next_child = 1;
  int64_t next_source = 0;
  int ordered = 1;
  unsigned char *seen = memory_alloc("check", (size_t)octree->source.n + 1);
  int good = 1;
  for (int32_t i = 0; good && i < octree->nodes; i++) {
    const struct node *n = &octree->node[i];
    int32_t count = (int32_t)(n->info & NODE_COUNT);
    if (n->info & NODE_LEAF) {
      for (int32_t j = n->first; good && j < n->first + count; j++) {
        if (j < 0 || j >= octree->source.n || seen[j]++)
          good = (snprintf(why, size, "leaf %d holds source %d that is out of range or in another leaf", i, j), 0);
      }
      next_source += count;
      if (good && !leaf_encloses(octree, n, spacing))
        good = (snprintf(why, size, "leaf %d: b = %g does not enclose", i, n->b), 0);
    } else if (!(n->info & NODE_TERMINAL)) {
      double mass = 0;
      ordered &= n->first == next_child && count >= 1 && count <= 8 && n->first > i;
      if (!ordered || n->first + count > octree->nodes) {
        good = (snprintf(why, size, "node %d: children %d + %d are not in breadth-first order", i, n->first, count), 0);
        break;
      }
      for (int32_t k = n->first; k < n->first + count; k++) mass += octree->node[k].mass;
      if (fabs(mass - n->mass) > 1e-5 * fabs(mass))
        good = (snprintf(why, size, "node %d: mass %g, children %g", i, n->mass, mass), 0);
      next_child += count;
    }
  }
  if (good && next_child != octree->nodes)
    good = (snprintf(why, size, "%d nodes have no parent", octree->nodes - next_child), 0);
  if (good && next_source != octree->source.n)
    good = (snprintf(why, size, "leaves hold %lld of %d sources", (long long)next_source, octree->source.n), 0);
  memory_free(seen);
  return good;
}
