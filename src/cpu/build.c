/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The octree's links, level by level from the sorted keys, and the sources in lattice coordinates. Particles without
 * mass are not in the tree: cells of their own, behind its nodes, serve their groups. */
#include <config.h>
#include <string.h>

#include "base/fault.h"
#include "base/memory.h"
#include "cpu/device.h"

enum { SLACK = 16 }; /* nodes that vector loops may read past the last */

/* The number of nodes is known only after the build: capacity for them grows with the levels, and that for moments is
 * made after it. */
static void reserve_nodes(struct device *d, int64_t nodes)
{
  if (nodes <= d->local.node_capacity) return;
  d->local.node_capacity = cpu_spare(nodes);
  size_t capacity = (size_t)d->local.node_capacity + SLACK;
  d->tree.node = memory_resize("octree", d->tree.node, sizeof *d->tree.node * capacity);
  d->local.range = memory_resize("octree", d->local.range, sizeof *d->local.range * capacity);
}

static void reserve_moments(struct device *d)
{
  if (d->tree.nodes <= d->local.moment_capacity) return;
  memory_free(d->tree.motion);
  memory_free(d->tree.quad);
  d->local.moment_capacity = cpu_spare(d->tree.nodes);
  size_t capacity = (size_t)d->local.moment_capacity + SLACK;
  d->tree.motion = memory_alloc("octree", sizeof *d->tree.motion * capacity);
  d->tree.quad = memory_alloc("octree", sizeof *d->tree.quad * capacity);
}

void cpu_reserve_sources(struct device *d, int64_t n)
{
  if (n > INT32_MAX / 2) fatal("%lld particles on one rank, at most %d: use more ranks", (long long)n, INT32_MAX / 2);
  if (d->local.sources && n <= d->local.source_capacity) return;
  memory_free(d->local.sources);
  d->local.source_capacity = (cpu_spare(n) + 15) / 16 * 16; /* arrays without gaps */
  d->local.sources = memory_alloc("octree", octree_bytes(0, d->local.source_capacity, 0, 1));
  struct octree placed;
  octree_place(&placed, d->local.sources, 0, d->local.source_capacity, 0, 1);
  d->tree.source = placed.source;
}

static void fill_positions(struct device *d)
{
  const struct particles *p = &d->p;
  struct sources *s = &d->tree.source;
  s->n = d->local.massive; /* those without mass follow, as targets alone */
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < p->n; i++) {
    int out = 0;
    s->x[i] = lattice_of(&d->lattice, 0, p->pos[3 * i], &out);
    s->y[i] = lattice_of(&d->lattice, 1, p->pos[3 * i + 1], &out);
    s->z[i] = lattice_of(&d->lattice, 2, p->pos[3 * i + 2], &out);
    s->m[i] = d->softening.classes > 1 ? softening_pack(p->mass[i], d->softening.class_of[p->type[i]]) : p->mass[i];
    /* until `sources`: the sort has left anything here */
    s->vx[i] = s->vy[i] = s->vz[i] = s->ax[i] = s->ay[i] = s->az[i] = 0;
    s->tick[i] = 0;
  }
}

/* First particle in [begin, end) whose digit at `shift` is at least `digit`. */
static int32_t lower_bound(const uint64_t *key, int32_t begin, int32_t end, int shift, unsigned digit)
{
  while (begin < end) {
    int32_t middle = begin + (end - begin) / 2;
    if ((key[middle] >> shift & 7) < digit) begin = middle + 1;
    else end = middle;
  }
  return begin;
}

/* The bounds of the eight parts of a node's particles; returns how many parts are not empty. */
static int divide(const struct device *d, const struct range *range, int32_t bounds[9])
{
  int shift = 3 * (KEY_LEVELS - 1 - range->level), parts = 0;
  bounds[0] = range->begin;
  bounds[8] = range->end;
  for (unsigned k = 1; k < 8; k++) bounds[k] = lower_bound(d->local.key, bounds[k - 1], range->end, shift, k);
  for (int k = 0; k < 8; k++) parts += bounds[k + 1] > bounds[k];
  return parts;
}

static int is_leaf(const struct device *d, const struct range *range)
{
  return range->end - range->begin <= d->config.max_leaf || range->level == KEY_LEVELS;
}

static void make_children(struct device *d, int32_t parent, const int32_t bounds[9])
{
  int32_t child = d->tree.node[parent].first;
  for (int k = 0; k < 8; k++) {
    if (bounds[k + 1] == bounds[k]) continue;
    struct range *r = &d->local.range[child];
    r->begin = bounds[k];
    r->end = bounds[k + 1];
    r->level = d->local.range[parent].level + 1;
    r->before = 0;
    child++;
  }
}

/* Divide the nodes [begin, end) of one level; returns the end of the next. */
static int32_t divide_level(struct device *d, int32_t begin, int32_t end)
{
  int32_t(*bounds)[9] = memory_alloc("build", sizeof *bounds * (size_t)(end - begin));
#pragma omp parallel for schedule(static, 64)
  for (int32_t i = begin; i < end; i++) {
    struct node *n = &d->tree.node[i];
    const struct range *r = &d->local.range[i];
    if (is_leaf(d, r)) {
      n->first = r->begin;
      n->info = NODE_LEAF | (uint32_t)(r->end - r->begin);
    } else {
      n->info = (uint32_t)divide(d, r, bounds[i - begin]);
    }
  }
  int64_t next = end;
  for (int32_t i = begin; i < end; i++) {
    struct node *n = &d->tree.node[i];
    if (n->info & NODE_LEAF) continue;
    n->first = (int32_t)next;
    next += n->info & NODE_COUNT;
  }
  reserve_nodes(d, next);
#pragma omp parallel for schedule(static, 64)
  for (int32_t i = begin; i < end; i++)
    if (!(d->tree.node[i].info & NODE_LEAF)) make_children(d, i, bounds[i - begin]);
  memory_free(bounds);
  return (int32_t)next;
}

/* Which cubes reach over the faces. A cube is that of its first particle at its level. */
static void mark_cut(struct device *d, const double low[3], const double high[3])
{
  const struct sources *s = &d->tree.source;
#pragma omp parallel for schedule(static)
  for (int32_t i = 0; i < d->tree.nodes; i++) {
    struct range *r = &d->local.range[i];
    int shift = 31 - r->level;
    const int32_t x[3] = {s->x[r->begin], s->y[r->begin], s->z[r->begin]};
    r->cut = 0;
    for (int c = 0; c < 3; c++) {
      double corner = (double)((int64_t)x[c] >> shift << shift), side = (double)((int64_t)1 << shift);
      r->cut |= lattice_position(&d->lattice, c, corner) < low[c] ||
                lattice_position(&d->lattice, c, corner + side) > high[c];
    }
  }
}

/* Divide the particles [first, last) from node `root` on, breadth first. Returns the end of the nodes. level_begin:
 * NULL, or of each level. */
static int32_t divide_particles(struct device *d, int32_t root, int32_t first, int32_t last, int *level_begin,
                                int *levels)
{
  reserve_nodes(d, (int64_t)root + 1);
  d->local.range[root] = (struct range){first, last, 0, 0, 0};
  int32_t begin = root, end = root + (last > first);
  *levels = 0;
  while (begin < end) {
    if (level_begin) level_begin[*levels] = begin;
    (*levels)++;
    int32_t next = divide_level(d, begin, end);
    begin = end;
    end = next;
  }
  if (level_begin) level_begin[*levels] = end;
  return end;
}

/* The place along the curve, among the particles with mass, of the cells of those without. */
static void note_places(struct device *d)
{
#pragma omp parallel for schedule(static, 64)
  for (int32_t i = d->tree.nodes; i < d->local.light_nodes; i++) {
    uint64_t key = d->local.key[d->local.range[i].begin] << 1 >> 1;
    int32_t low = 0, high = d->local.massive;
    while (low < high) {
      int32_t middle = low + (high - low) / 2;
      if (d->local.key[middle] < key) low = middle + 1;
      else high = middle;
    }
    d->local.range[i].before = low;
  }
}

void cpu_build(struct device *d, const double low[3], const double high[3])
{
  int light_levels;
  if (ESP_CHECKS && !d->local.key) fatal("a tree is built without a sort before it");
  d->tree.nodes = divide_particles(d, 0, 0, d->local.massive, d->local.level_begin, &d->local.levels);
  d->local.light_nodes = divide_particles(d, d->tree.nodes, d->local.massive, (int32_t)d->p.n, NULL, &light_levels);
  note_places(d);
  reserve_moments(d);
  d->local.key = NULL; /* the sources begin to use its memory */
  d->local.fresh = 1;
  fill_positions(d);
  if (d->local.sorted_within_step) cpu_sources(d);
  mark_cut(d, low, high);
}
