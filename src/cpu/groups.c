/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Groups of targets: the largest cells of the tree that hold at most MaxGroupSize particles, so that a group is as
 * round as a cell; neighbours along the curve are joined while they fit and stay as compact. Where the density is
 * low such a cell is wide, and the list of the whole group is much longer than the list of one member; so the width of
 * groups can be limited to r_crit (Miki & Umemura 2017, section 2.4). Particles without mass have groups of their own,
 * from their own cells. */
#include <config.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "cpu/device.h"
#include "particles/timeline.h"

static void add_group(struct device *d, int32_t begin, int32_t end, int32_t before)
{
  if (d->targets.groups == d->targets.group_capacity) {
    d->targets.group_capacity = (int64_t)memory_grown((size_t)d->targets.group_capacity, sizeof *d->targets.group);
    d->targets.group =
        memory_resize("groups", d->targets.group, sizeof *d->targets.group * (size_t)d->targets.group_capacity);
  }
  d->targets.group[d->targets.groups++] = (struct group){begin, end, before, 0};
}

/* The first level of cells that are not wider than groups may be. */
static int first_narrow(const struct device *d)
{
  double width = d->lattice.spacing * LATTICE_SIDE;
  int level = 0;
  while (level <= KEY_LEVELS && width > d->targets.group_width) {
    width *= 0.5;
    level++;
  }
  return level;
}

/* Depth first, so that groups are in the order of the curve. A leaf may hold more than a group (coincident particles),
 * or be wider: it has no children to be divided into. */
static void collect(struct device *d, int32_t i)
{
  const struct node *n = &d->tree.node[i];
  const struct range *r = &d->local.range[i];
  int32_t capacity = d->config.max_group, before = i < d->tree.nodes ? r->begin : r->before;
  int wide = r->level < d->targets.narrow && !(n->info & NODE_LEAF);
  if (r->end - r->begin <= capacity && !wide) {
    add_group(d, r->begin, r->end, before);
  } else if (n->info & NODE_LEAF) {
    for (int32_t b = r->begin; b < r->end; b += capacity)
      add_group(d, b, b + capacity < r->end ? b + capacity : r->end, before);
  } else {
    int32_t first = d->targets.groups;
    for (int32_t k = n->first; k < n->first + (int32_t)(n->info & NODE_COUNT); k++) collect(d, k);
    if (wide) return;
    /* join consecutive groups of this parent while they fit into one: small siblings share a list */
    int32_t kept = first;
    for (int32_t g = first + 1; g < d->targets.groups; g++) {
      if (d->targets.group[g].end - d->targets.group[kept].begin <= capacity)
        d->targets.group[kept].end = d->targets.group[g].end;
      else d->targets.group[++kept] = d->targets.group[g];
    }
    if (d->targets.groups > first) d->targets.groups = kept + 1;
  }
}

static double modulus(const float *a) { return sqrt((double)a[0] * a[0] + (double)a[1] * a[1] + (double)a[2] * a[2]); }

void cpu_tune(struct device *d, enum tunable tunable, double value)
{
  if (tunable == TUNABLE_GROUP_WIDTH) d->targets.group_width = value;
}

void cpu_groups(struct device *d)
{
  d->targets.groups = 0;
  d->targets.narrow = first_narrow(d);
  if (d->tree.nodes > 0) collect(d, 0);
  d->targets.massive_groups = d->targets.groups;
  if (d->local.light_nodes > d->tree.nodes) collect(d, d->tree.nodes);
  if (d->p.n > d->targets.group_of_capacity) {
    memory_free(d->targets.group_of);
    d->targets.group_of_capacity = cpu_spare(d->p.n);
    d->targets.group_of = memory_alloc("groups", sizeof *d->targets.group_of * (size_t)d->targets.group_of_capacity);
  }
#pragma omp parallel for schedule(static)
  for (int32_t g = 0; g < d->targets.groups; g++) {
    double smallest = 1e300;
    for (int32_t i = d->targets.group[g].begin; i < d->targets.group[g].end; i++) {
      smallest = fmin(smallest, modulus(&d->p.acc[3 * i]));
      d->targets.group_of[i] = g;
    }
    d->targets.group[g].a_old = (float)smallest;
  }
}

/* Predicted position and velocity of a source. The box is widened by the largest rounding error of the lattice. */
static void predict(const struct device *d, int32_t i, double dt, double x[3], double v[3])
{
  const struct sources *s = &d->tree.source;
  const int32_t at[3] = {s->x[i], s->y[i], s->z[i]};
  const float speed[3] = {s->vx[i], s->vy[i], s->vz[i]}, pull[3] = {s->ax[i], s->ay[i], s->az[i]};
  for (int c = 0; c < 3; c++) {
    x[c] = lattice_position(&d->lattice, c, at[c]) + (speed[c] + 0.5 * dt * pull[c]) * dt;
    v[c] = speed[c] + dt * pull[c];
  }
}

/* Particles of a box for substeps, if there are boxes enough. Smaller boxes exclude few more sources. */
enum { BOX_PARTICLES = 2, BOX_SHARE = 16 / BOX_PARTICLES };

static int is_target(const struct device *d, int32_t i, const struct let_request *request)
{
  return !request->active || timeline_end(&d->p, i) == request->tick;
}

/* Add the velocities of the targets among the particles `range` to mean[], and take the extremes of their accelerations
 * into the box. Returns their number. */
static int32_t box_motion(const struct device *d, struct range range, const struct let_request *request,
                          struct let_box *box, double mean[3])
{
  const struct particles *p = &d->p;
  const int32_t *own = d->tree.source.tick;
  double x[3], v[3];
  int32_t targets = 0;
  for (int32_t i = range.begin; i < range.end; i++) {
    if (!is_target(d, i, request)) continue;
    targets++;
    predict(d, i, (request->tick - own[i]) * request->tick_length, x, v);
    box->a_old = fmin(box->a_old, modulus(&p->acc[3 * i]));
    box->a_spread = fmax(box->a_spread, modulus(&p->acc_hard[3 * i]));
    for (int c = 0; c < 3; c++) mean[c] += v[c];
  }
  return targets;
}

/* Widen the box so that it holds the paths of the targets. */
static void box_widen(const struct device *d, struct range range, const struct let_request *request,
                      struct let_box *box)
{
  const int32_t *own = d->tree.source.tick;
  double x[3], v[3], spacing = d->lattice.spacing;
  for (int32_t i = range.begin; i < range.end; i++) {
    if (!is_target(d, i, request)) continue;
    predict(d, i, (request->tick - own[i]) * request->tick_length, x, v);
    for (int c = 0; c < 3; c++) {
      double there = x[c] + (v[c] - box->v[c]) * request->horizon;
      box->low[c] = fmin(box->low[c], fmin(x[c], there) - spacing);
      box->high[c] = fmax(box->high[c], fmax(x[c], there) + spacing);
    }
  }
}

/* The box of targets: in the frame of the mean velocity, a particle on a straight trajectory stays within the box of
 * its two end points. Returns the number of particles in it. */
static int32_t box_of(const struct device *d, int k, const struct let_request *request, struct let_box *box)
{
  struct range massive = cpu_box_range(d, k, 0), light = cpu_box_range(d, k, 1);
  double mean[3] = {0};
  *box = (struct let_box){{1e300, 1e300, 1e300}, {-1e300, -1e300, -1e300}, 1e300, {0}, 0};
  int32_t targets = box_motion(d, massive, request, box, mean) + box_motion(d, light, request, box, mean);
  if (targets == 0) box->a_spread = BOX_EMPTY;
  for (int c = 0; c < 3 && targets > 0; c++) box->v[c] = mean[c] / targets;
  box_widen(d, massive, request, box);
  box_widen(d, light, request, box);
  return targets;
}

struct range cpu_box_range(const struct device *d, int b, int kind)
{
  return (struct range){.begin = d->boxes.begin[kind][b], .end = d->boxes.begin[kind][b + 1]};
}

/* Divide all groups, in the order of the curve, evenly into `count` boxes: boxes.begin. */
static void divide_groups(struct device *d, int count)
{
  int at[2] = {0, d->targets.massive_groups}, end[2] = {d->targets.massive_groups, d->targets.groups};
  for (int b = 0; b <= count; b++) {
    int64_t first = (int64_t)d->targets.groups * b / count;
    while (at[0] + (at[1] - end[0]) < first) {
      int light =
          at[0] == end[0] || (at[1] < end[1] && d->targets.group[at[1]].before <= d->targets.group[at[0]].before);
      at[light]++;
    }
    for (int kind = 0; kind < 2; kind++)
      d->boxes.begin[kind][b] = at[kind] > 0 ? d->targets.group[at[kind] - 1].end : 0;
  }
}

/* Divide the particles, in the order of the curve, evenly into boxes, at most `capacity`; those without mass apart,
 * where there is more than one. Returns the number of boxes. */
static int divide_particles(struct device *d, int capacity)
{
  int64_t n = d->p.n, massive = d->local.massive, count = (n + BOX_PARTICLES - 1) / BOX_PARTICLES;
  if (count > capacity) count = capacity;
  if (massive > 0 && massive < n && count == 1 && capacity > 1) count = 2;
  int64_t first = n > 0 ? massive * count / n : 0; /* boxes of particles with mass */
  if (massive > 0 && first == 0) first = 1;
  if (massive < n && first == count && count > 1) first--;
  for (int64_t b = 0; b <= count; b++) {
    int64_t later = b > first ? b - first : 0;
    d->boxes.begin[0][b] = (int32_t)(first > 0 ? massive * (b < first ? b : first) / first : 0);
    d->boxes.begin[1][b] =
        (int32_t)(massive + (n - massive) * (count > first ? later : b) / (count > first ? count - first : 1));
  }
  return (int)count;
}

/* Give neighbours along the curve the largest hard acceleration of all of them. The motion bound of a box of two
 * particles would hold for their own accelerations alone, so more of them would exceed it when they meet others. */
static void share_bounds(struct device *d, const int *targets)
{
  for (int first = 0; first < d->boxes.count; first += BOX_SHARE) {
    int end = first + BOX_SHARE < d->boxes.count ? first + BOX_SHARE : d->boxes.count;
    double largest = 0;
    for (int b = first; b < end; b++)
      if (targets[b] > 0) largest = fmax(largest, d->boxes.box[b].a_spread);
    for (int b = first; b < end; b++)
      if (targets[b] > 0) d->boxes.box[b].a_spread = largest;
  }
}

int cpu_boxes(struct device *d, const struct let_request *request, int capacity, struct let_box *boxes)
{
  if (capacity > BOX_MAX) capacity = BOX_MAX;
  int count = d->targets.groups < capacity ? d->targets.groups : capacity, targets[BOX_MAX], held = 0;
  int by_particles = request->horizon > 0 && !request->as_device;
  if (by_particles) count = divide_particles(d, capacity);
  else if (count > 0) divide_groups(d, count);
#pragma omp parallel for schedule(static)
  for (int b = 0; b < count; b++) targets[b] = box_of(d, b, request, &d->boxes.box[b]);
  d->boxes.count = count;
  if (by_particles) share_bounds(d, targets);
  for (int b = 0; b < count; b++)
    if (targets[b] > 0) boxes[held++] = d->boxes.box[b];
  return held;
}
