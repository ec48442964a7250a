/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Groups of targets: the largest cells of the tree that hold at most MaxGroupSize particles, so that a group is as round
 * as a cell; neighbours along the curve are joined while they fit and stay as compact. */
#include <config.h>
#include <math.h>

#include "device.h"
#include "memory.h"

static void add_group(struct device *d, int32_t begin, int32_t end)
{
  if (d->groups == d->group_capacity) {
    d->group_capacity = d->group_capacity * 2 + 256;
    d->group = memory_resize("groups", d->group, sizeof *d->group * (size_t)d->group_capacity);
  }
  d->group[d->groups++] = (struct group){begin, end, 0};
}

/* Depth first, so that groups are in the order of the curve. A leaf may hold more than a group (coincident particles). */
static void collect(struct device *d, int32_t i)
{
  const struct node *n = &d->tree.node[i];
  const struct range *r = &d->range[i];
  int32_t most = d->config.max_group;
  if (r->end - r->begin <= most) {
    add_group(d, r->begin, r->end);
  } else if (n->info & NODE_LEAF) {
    for (int32_t b = r->begin; b < r->end; b += most) add_group(d, b, b + most < r->end ? b + most : r->end);
  } else {
    int32_t first = d->groups;
    for (int32_t k = n->first; k < n->first + (int32_t)(n->info & NODE_COUNT); k++) collect(d, k);
    /* join consecutive groups of this parent while they fit into one: small siblings share a list */
    int32_t kept = first;
    for (int32_t g = first + 1; g < d->groups; g++) {
      if (d->group[g].end - d->group[kept].begin <= most)
        d->group[kept].end = d->group[g].end;
      else
        d->group[++kept] = d->group[g];
    }
    if (d->groups > first) d->groups = kept + 1;
  }
}

static double modulus(const float *a) { return sqrt((double)a[0] * a[0] + (double)a[1] * a[1] + (double)a[2] * a[2]); }

void cpu_groups(struct device *d)
{
  d->groups = 0;
  if (d->tree.nodes > 0) collect(d, 0);
#pragma omp parallel for schedule(static)
  for (int32_t g = 0; g < d->groups; g++) {
    double least = 1e300;
    for (int32_t i = d->group[g].begin; i < d->group[g].end; i++) least = fmin(least, modulus(&d->p.acc[3 * i]));
    d->group[g].a_old = (float)least;
  }
}

static void box_of(const struct device *d, int32_t begin, int32_t end, struct let_box *b)
{
  const struct particles *p = &d->p;
  *b = (struct let_box){{1e300, 1e300, 1e300}, {-1e300, -1e300, -1e300}, 1e300, {0}, 0, 0};
  for (int32_t i = begin; i < end; i++) {
    b->a_old = fmin(b->a_old, modulus(&p->acc[3 * i]));
    b->a_spread = fmax(b->a_spread, modulus(&p->acc_hard[3 * i]));
    for (int c = 0; c < 3; c++) {
      b->low[c] = fmin(b->low[c], p->pos[3 * i + c]);
      b->high[c] = fmax(b->high[c], p->pos[3 * i + c]);
      b->v[c] += p->vel[3 * i + c] / (end - begin);
    }
  }
  for (int32_t i = begin; i < end; i++) {
    double v2 = 0;
    for (int c = 0; c < 3; c++) v2 += (p->vel[3 * i + c] - b->v[c]) * (p->vel[3 * i + c] - b->v[c]);
    b->v_spread = fmax(b->v_spread, sqrt(v2));
  }
}

int cpu_boxes(struct device *d, int most, struct let_box *boxes)
{
  int count = d->groups < most ? d->groups : most;
#pragma omp parallel for schedule(static)
  for (int b = 0; b < count; b++) {
    int32_t first = (int32_t)((int64_t)d->groups * b / count), last = (int32_t)((int64_t)d->groups * (b + 1) / count);
    box_of(d, d->group[first].begin, d->group[last - 1].end, &boxes[b]);
  }
  return count;
}
