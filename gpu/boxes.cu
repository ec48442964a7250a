/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What other ranks learn of this one: its card, and the boxes around consecutive groups. Every box is looked through by
 * several blocks, whose rows of partial results are joined in a fixed order; where it moves, a second time, about its mean
 * velocity. */
#include <config.h>
#include "let.cuh"
#include "reduce.cuh"
#include "timeline.h"

enum {
  BOX_PARTS = 16,   /* blocks for each box */
  COLUMNS = 12,     /* sums of v[3] and of 1; largest -low[3], high[3], -|a_old|, |a_hard| */
  ADDED = 4,        /* so many of them are added up */
  ENDS = 6          /* largest -low[3], high[3] */
};

struct boxes_job {
  struct tree t;
  struct particles p;
  const float *acc, *then;   /* whose modulus is |a_old|; where boxes hold for long (not NULL), it is the least of both */
  const struct group *group;
  int32_t groups;
  int boxes;
  int32_t *begin;            /* of the boxes' particles */
  double *rows, *result;     /* [boxes][BOX_PARTS][COLUMNS]; [boxes][COLUMNS] */
  struct lattice lattice;
  double tick_length, horizon;
  int32_t tick, active;
};

/* A block's box, and which part of it is its own. */
static __device__ int own_box(void) { return (int)blockIdx.x / BOX_PARTS; }
static __device__ int own_part(void) { return (int)blockIdx.x % BOX_PARTS; }

/* The first particle of a box. */
static __device__ int32_t box_begin(const struct boxes_job &job, int b)
{
  return b == job.boxes ? (int32_t)job.p.n : job.group[(int64_t)job.groups * b / job.boxes].begin;
}

/* This block's particles of its box. */
static __device__ int2 block_range(const struct boxes_job &job)
{
  int32_t begin = box_begin(job, own_box()), end = box_begin(job, own_box() + 1), count = end - begin;
  return make_int2(begin + (int32_t)((int64_t)count * own_part() / BOX_PARTS),
                   begin + (int32_t)((int64_t)count * (own_part() + 1) / BOX_PARTS));
}

static __device__ double *block_row(const struct boxes_job &job, int columns) { return job.rows + (int64_t)blockIdx.x * columns; }

/* Whether a particle is a target. */
static __device__ bool counts(const struct boxes_job &job, int32_t i)
{
  return !job.active || timeline_end(&job.p, i) == job.tick;
}

/* Position and velocity of a source at the request's tick. */
static __device__ void predict_source(const struct boxes_job &job, int32_t i, double x[3], double v[3])
{
  const struct body b = job.t.body[i];
  const struct course w = job.t.course[i];
  const int32_t at[3] = {b.x, b.y, b.z};
  double dt = (job.tick - w.tick) * job.tick_length;
  for (int c = 0; c < 3; c++) {
    x[c] = lattice_position(&job.lattice, c, at[c]) + (w.v[c] + 0.5 * dt * w.a[c]) * dt;
    v[c] = w.v[c] + dt * w.a[c];
  }
}

/* Boxes are widened by what rounding to the lattice may have moved. */
static __device__ void widen(const struct boxes_job &job, double most[ENDS], const double x[3])
{
  for (int c = 0; c < 3; c++) {
    most[c] = fmax(most[c], job.lattice.spacing - x[c]);
    most[3 + c] = fmax(most[3 + c], x[c] + job.lattice.spacing);
  }
}

static __global__ void __launch_bounds__(THREADS) box_rows(struct boxes_job job)
{
  int2 part = block_range(job);
  double sum[ADDED] = {}, most[COLUMNS - ADDED], x[3], v[3];
  for (int k = 0; k < COLUMNS - ADDED; k++) most[k] = most_op::start();
  for (int32_t i = part.x + (int32_t)threadIdx.x; i < part.y; i += THREADS) {
    if (!counts(job, i)) continue;
    predict_source(job, i, x, v);
    for (int c = 0; c < 3; c++) sum[c] += v[c];
    sum[3]++;
    widen(job, most, x);
    double a_old = essential_norm(&job.acc[3 * (int64_t)i]);
    if (job.then) a_old = fmin(a_old, essential_norm(&job.then[3 * (int64_t)i]));
    most[6] = fmax(most[6], -a_old);
    most[7] = fmax(most[7], essential_norm(&job.p.acc_hard[3 * (int64_t)i]));
  }
  reduce_block<add_op>(sum, block_row(job, COLUMNS));
  reduce_block<most_op>(most, block_row(job, COLUMNS) + ADDED);
  if (own_part() == 0 && threadIdx.x < 2) job.begin[own_box() + (int)threadIdx.x] = box_begin(job, own_box() + (int)threadIdx.x);
}

/* In the frame of the mean velocity, a particle on a straight way runs through the box around its two ends. */
static __global__ void __launch_bounds__(THREADS) end_rows(struct boxes_job job)
{
  int2 part = block_range(job);
  const double *own = job.result + (int64_t)own_box() * COLUMNS;
  double most[ENDS], x[3], v[3];
  for (int k = 0; k < ENDS; k++) most[k] = most_op::start();
  for (int32_t i = part.x + (int32_t)threadIdx.x; i < part.y; i += THREADS) {
    if (!counts(job, i)) continue;
    predict_source(job, i, x, v);
    widen(job, most, x);
    for (int c = 0; c < 3; c++) x[c] += (v[c] - own[c] / own[3]) * job.horizon;
    widen(job, most, x);
  }
  reduce_block<most_op>(most, block_row(job, ENDS));
}

/* A block for each box, a thread for each column: the first `added` are added up, of the others the largest is taken. */
static __global__ void join_rows(const double *rows, int columns, int added, double *result, int stride)
{
  int k = (int)threadIdx.x;
  const double *row = rows + (int64_t)blockIdx.x * BOX_PARTS * columns + k;
  if (k >= columns) return;
  double x = row[0];
  for (int part = 1; part < BOX_PARTS; part++) x = k < added ? x + row[part * columns] : fmax(x, row[part * columns]);
  result[(int64_t)blockIdx.x * stride + k] = x;
}

static void launch_rows(struct device *d, const struct boxes_job &job)
{
  LAUNCH(d, box_rows, job.boxes * BOX_PARTS, THREADS, job);
  LAUNCH(d, join_rows, job.boxes, WARP, job.rows, (int)COLUMNS, (int)ADDED, job.result, (int)COLUMNS);
  if (!(job.horizon > 0)) return;
  LAUNCH(d, end_rows, job.boxes * BOX_PARTS, THREADS, job);
  LAUNCH(d, join_rows, job.boxes, WARP, job.rows, (int)ENDS, 0, job.result + ADDED, (int)COLUMNS);
}

int gpu_boxes(struct device *d, const struct let_request *r, int most, struct let_box *boxes)
{
  struct lets *l = d->lets;
  if (most > BOX_MOST) most = BOX_MOST;
  l->boxes = d->groups < most ? d->groups : most;
  if (l->boxes == 0) return 0;
  size_t bytes = sizeof(double) * COLUMNS * (size_t)l->boxes;
  struct boxes_job job = {d->tree, d->p, device_latest(d, &d->p), r->part == LET_OF_SLOW ? d->p.acc : NULL, d->group.at, d->groups, l->boxes};
  job.begin = array_room(&l->box_begin, "device LETs", BOX_MOST + 1);
  job.rows = array_room(&l->rows, "device LETs", BOX_MOST * COLUMNS * (BOX_PARTS + 1));
  job.result = job.rows + BOX_MOST * COLUMNS * BOX_PARTS;
  job.lattice = d->lattice;
  job.tick_length = r->tick_length;
  job.horizon = r->horizon;
  job.tick = r->tick;
  job.active = r->active;
  launch_rows(d, job);
  const double *row = (const double *)pinned_room(&l->numbers, bytes);
  CHECK(cudaMemcpyAsync(l->numbers.at, job.result, bytes, cudaMemcpyDeviceToHost, d->stream));
  gpu_wait(d);
  int count = 0;
  for (int b = 0; b < l->boxes; b++, row += COLUMNS) {
    struct let_box *box = &l->box[b];
    for (int c = 0; c < 3; c++) {
      box->v[c] = row[c] / row[3];
      box->low[c] = -row[ADDED + c];
      box->high[c] = row[ADDED + 3 + c];
    }
    box->a_old = -row[ADDED + 6];
    box->a_spread = row[3] > 0 ? row[ADDED + 7] : BOX_EMPTY;
    if (row[3] > 0) boxes[count++] = *box;
  }
  return count;
}

void gpu_card(struct device *d, const struct let_request *r, struct let_card *card)
{
  struct lets *l = d->lets;
  const struct part *part = lets_part(d, r);
  memset(card, 0, sizeof *card);
  card->particles = part->count;
  if (d->tree.nodes == 0 || part->nodes == 0) return;
  struct let_card *told = (struct let_card *)pinned_room(&l->numbers, sizeof *told);
  CHECK(cudaMemcpyAsync(&told->root, d->tree.node + part->base, sizeof told->root, cudaMemcpyDeviceToHost, d->stream));
  CHECK(cudaMemcpyAsync(&told->motion, d->tree.motion + part->base, sizeof told->motion, cudaMemcpyDeviceToHost, d->stream));
  CHECK(cudaMemcpyAsync(told->quad, d->tree.quad + part->base, sizeof told->quad, cudaMemcpyDeviceToHost, d->stream));
  gpu_wait(d);
  card->root = told->root;
  card->motion = told->motion;
  memcpy(card->quad, told->quad, sizeof card->quad);
}
