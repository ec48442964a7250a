/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which particles other ranks need for their hard part (backend/neighbour_list_verbs.h). */
#include <config.h>
#include <math.h>

#include "backend/neighbour_list_verbs.h"
#include "base/memory.h"
#include "cpu/device.h"

/* Consecutive particles, which are near each other since they are sorted along a curve: their paths have one box, which
 * is tested first. */
enum { BLOCK = 128 };

/* The particles of this rank by blocks, for one request. */
struct blocks {
  const struct particles *p;
  double horizon, width2, fastest; /* fastest: speed of a path at most */
  int64_t count;
  double (*reach)[6]; /* [count] boxes around the paths, */
  double all[6];      /* and the box around these */
  int64_t *first;     /* [count + 1] place of the first particle that is sent */
};

/* The velocity of the path of particle i. */
static void path_velocity(const struct blocks *blocks, int64_t i, double v[3])
{
  const double *own = &blocks->p->vel[3 * i];
  double speed = sqrt(own[0] * own[0] + own[1] * own[1] + own[2] * own[2]), part = 1;
  if (speed > blocks->fastest) part = blocks->fastest / speed;
  for (int c = 0; c < 3; c++) v[c] = part * own[c];
}

static void open_blocks(struct blocks *blocks, const struct particles *particles, const struct list_request *request)
{
  double width = halo_width(request);
  *blocks = (struct blocks){.p = particles,
                            .horizon = request->soft_step,
                            .fastest = halo_speed(request),
                            .width2 = width * width,
                            .count = (particles->n + BLOCK - 1) / BLOCK};
  blocks->reach = memory_alloc("halo", sizeof *blocks->reach * (size_t)blocks->count);
  blocks->first = memory_alloc("halo", sizeof *blocks->first * (size_t)(blocks->count + 1));
#pragma omp parallel for schedule(static)
  for (int64_t k = 0; k < blocks->count; k++) {
    double *box = blocks->reach[k];
    for (int c = 0; c < 3; c++) {
      box[c] = 1e300;
      box[3 + c] = -1e300;
    }
    for (int64_t i = k * BLOCK; i < particles->n && i < (k + 1) * BLOCK; i++) {
      double v[3];
      path_velocity(blocks, i, v);
      for (int c = 0; c < 3; c++) {
        double x = particles->pos[3 * i + c], there = x + blocks->horizon * v[c];
        box[c] = fmin(box[c], fmin(x, there));
        box[3 + c] = fmax(box[3 + c], fmax(x, there));
      }
    }
  }
  for (int c = 0; c < 3; c++) {
    blocks->all[c] = 1e300;
    blocks->all[3 + c] = -1e300;
    for (int64_t k = 0; k < blocks->count; k++) {
      blocks->all[c] = fmin(blocks->all[c], blocks->reach[k][c]);
      blocks->all[3 + c] = fmax(blocks->all[3 + c], blocks->reach[k][3 + c]);
    }
  }
}

static void close_blocks(struct blocks *blocks)
{
  memory_free(blocks->reach);
  memory_free(blocks->first);
}

/* Write the particles of block k that come near the box to out[]; NULL: count them only. Returns their number. */
static int64_t take(const struct blocks *blocks, int64_t k, const double box[6], struct halo_particle *out)
{
  const struct particles *p = blocks->p;
  int64_t n = 0;
  if (reach_boxes2(blocks->reach[k], box) > blocks->width2) return 0;
  for (int64_t i = k * BLOCK; i < p->n && i < (k + 1) * BLOCK; i++) {
    const double *x = &p->pos[3 * i], *v = &p->vel[3 * i];
    double along[3];
    path_velocity(blocks, i, along);
    if (!(p->mass[i] > 0) || reach_path2(x, along, blocks->horizon, box) > blocks->width2) continue;
    if (out)
      out[n] =
          (struct halo_particle){{x[0], x[1], x[2]}, {v[0], v[1], v[2]}, p->id[i], p->mass[i], p->level[i], p->type[i]};
    n++;
  }
  return n;
}

struct halo_particle *cpu_halo(struct device *d, const struct list_request *request, int boxes, const double (*box)[6],
                               int skip, int64_t *counts)
{
  struct blocks b;
  struct halo_particle *sent = NULL;
  int64_t total = 0;
  open_blocks(&b, &d->p, request);
  for (int k = 0; k < boxes; k++) {
    counts[k] = 0;
    if (k == skip || b.count == 0 || reach_empty(box[k]) || reach_boxes2(b.all, box[k]) > b.width2) continue;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < b.count; i++) b.first[i + 1] = take(&b, i, box[k], NULL);
    for (int64_t i = 0; i < b.count; i++) b.first[i + 1] += b.first[i];
    counts[k] = b.first[b.count];
    sent = memory_resize("halo", sent, sizeof *sent * (size_t)(total + counts[k]));
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < b.count; i++)
      if (b.first[i + 1] > b.first[i]) take(&b, i, box[k], sent + total + b.first[i]);
    total += counts[k];
  }
  close_blocks(&b);
  return sent ? sent : memory_alloc("halo", 0);
}
