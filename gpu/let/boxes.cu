/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verbs boxes and summary: bounding boxes of consecutive groups, and the LET summary. Several blocks reduce a box,
 * and their rows of partial results are joined in a fixed order. A box with a horizon takes a second pass, in the frame
 * of its mean velocity. */
#include <config.h>
#include <float.h>
#include "gpu/let/let.cuh"
#include "gpu/device/reduce.cuh"
#include "particles/timeline.h"
#include "tree/upper.h"

enum {
  BOX_PARTS = 16,     /* blocks for each box */
  COLUMNS = 12,       /* sums of v[3] and of 1; maxima of -low[3], high[3], -|a_old|, |a_hard| */
  ADDED = 4,          /* the first so many are sums */
  ENDS = 6,           /* maxima of -low[3], high[3] */
  SLOW_BOXES_PART = 4 /* one in so many boxes is of slow particles where only fast ones are active */
};

struct boxes_job {
  struct tree t;
  struct particles p;
  const float *acc, *then; /* |a_old| is the modulus of `acc`, or the smaller of both if `then` is not NULL */
  const struct group *group;
  int32_t groups, slow_groups; /* all; the first of them, which have the first slow_boxes boxes */
  int boxes, slow_boxes;
  int32_t *begin;        /* [boxes + 1]: first particle of each box */
  double *rows, *result; /* [boxes][BOX_PARTS][COLUMNS]; [boxes][COLUMNS] */
  struct lattice lattice;
  double tick_length, horizon;
  int32_t tick, active;
  const int32_t *tile_next; /* struct step_state; NULL: not known */
};

/* The box of a block, and its part of the box. */
static __device__ int own_box(void) { return (int)blockIdx.x / BOX_PARTS; }
static __device__ int own_part(void) { return (int)blockIdx.x % BOX_PARTS; }

/* The first particle of a box. */
static __device__ int32_t box_begin(const struct boxes_job &job, int b)
{
  if (b == job.boxes) return (int32_t)job.p.n;
  int64_t fast = job.groups - job.slow_groups, k = b - job.slow_boxes;
  return job
      .group[k < 0 ? (int64_t)job.slow_groups * b / job.slow_boxes
                   : job.slow_groups + fast * k / (job.boxes - job.slow_boxes)]
      .begin;
}

/* The particles of this block. */
static __device__ int2 block_range(const struct boxes_job &job)
{
  int32_t begin = box_begin(job, own_box()), end = box_begin(job, own_box() + 1), count = end - begin;
  return make_int2(begin + (int32_t)((int64_t)count * own_part() / BOX_PARTS),
                   begin + (int32_t)((int64_t)count * (own_part() + 1) / BOX_PARTS));
}

static __device__ double *block_row(const struct boxes_job &job, int columns)
{
  return job.rows + (int64_t)blockIdx.x * columns;
}

/* Whether a particle is a target. */
static __device__ bool counts(const struct boxes_job &job, int32_t i)
{
  return !job.active || timeline_end(&job.p, i) == job.tick;
}

/* The first particle from i on, of those of this thread, whose tile has a target. */
static __device__ int32_t next_target(const struct boxes_job &job, int32_t i, int32_t end)
{
  while (job.tile_next && i < end && job.tile_next[i / SELECT_TILE] > job.tick) {
    int32_t left = SELECT_TILE - i % SELECT_TILE;
    i += (left + THREADS - 1) / THREADS * THREADS;
  }
  return i;
}

/* Position and velocity of a source at the request's tick. Returns how far the position may be off: sources have
 * velocities in single precision. */
static __device__ double predict_source(const struct boxes_job &job, int32_t i, double x[3], double v[3])
{
  const struct body b = job.t.body[i];
  const struct motion_state w = job.t.motion_state[i];
  const int32_t at[3] = {b.x, b.y, b.z};
  double dt = (job.tick - w.tick) * job.tick_length, way = 0;
  for (int c = 0; c < 3; c++) {
    double displacement = (w.v[c] + 0.5 * dt * w.a[c]) * dt;
    x[c] = lattice_position(&job.lattice, c, at[c]) + displacement;
    v[c] = w.v[c] + dt * w.a[c];
    way = fmax(way, fabs(displacement));
  }
  return way * (2 * FLT_EPSILON);
}

/* Include a position, which may be `off`, in a box. Boxes are wider by one lattice spacing, for the rounding of
 * positions. */
static __device__ void widen(const struct boxes_job &job, double extent[ENDS], const double x[3], double off)
{
  double margin = job.lattice.spacing + off;
  for (int c = 0; c < 3; c++) {
    extent[c] = fmax(extent[c], margin - x[c]);
    extent[3 + c] = fmax(extent[3 + c], x[c] + margin);
  }
}

static __global__ void __launch_bounds__(THREADS) box_rows(struct boxes_job job)
{
  int2 part = block_range(job);
  double sum[ADDED] = {}, largest[COLUMNS - ADDED], x[3], v[3];
  for (int k = 0; k < COLUMNS - ADDED; k++) largest[k] = max_op::start();
  for (int32_t i = next_target(job, part.x + (int32_t)threadIdx.x, part.y); i < part.y;
       i = next_target(job, i + THREADS, part.y)) {
    if (!counts(job, i)) continue;
    double off = predict_source(job, i, x, v);
    for (int c = 0; c < 3; c++) sum[c] += v[c];
    sum[3]++;
    widen(job, largest, x, off);
    double a_old = essential_norm(&job.acc[3 * (int64_t)i]);
    if (job.then) a_old = fmin(a_old, essential_norm(&job.then[3 * (int64_t)i]));
    largest[6] = fmax(largest[6], -a_old);
    largest[7] = fmax(largest[7], essential_norm(&job.p.acc_hard[3 * (int64_t)i]));
  }
  reduce_block<add_op>(sum, block_row(job, COLUMNS));
  reduce_block<max_op>(largest, block_row(job, COLUMNS) + ADDED);
  if (own_part() == 0 && threadIdx.x < 2)
    job.begin[own_box() + (int)threadIdx.x] = box_begin(job, own_box() + (int)threadIdx.x);
}

/* In the frame of the mean velocity, a particle on a straight trajectory stays in the bounding box of both its ends. */
static __global__ void __launch_bounds__(THREADS) end_rows(struct boxes_job job)
{
  int2 part = block_range(job);
  const double *own = job.result + (int64_t)own_box() * COLUMNS;
  double largest[ENDS], x[3], v[3];
  for (int k = 0; k < ENDS; k++) largest[k] = max_op::start();
  for (int32_t i = next_target(job, part.x + (int32_t)threadIdx.x, part.y); i < part.y;
       i = next_target(job, i + THREADS, part.y)) {
    if (!counts(job, i)) continue;
    double off = predict_source(job, i, x, v);
    widen(job, largest, x, off);
    for (int c = 0; c < 3; c++) x[c] += (v[c] - own[c] / own[3]) * job.horizon;
    widen(job, largest, x, off);
  }
  reduce_block<max_op>(largest, block_row(job, ENDS));
}

/* Join the rows of each box, one block a box, one thread a column: the first `added` columns are sums, the others
 * maxima. */
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
  LAUNCH(d, join_rows, job.boxes, LANES, job.rows, (int)COLUMNS, (int)ADDED, job.result, (int)COLUMNS);
  if (!(job.horizon > 0)) return;
  LAUNCH(d, end_rows, job.boxes * BOX_PARTS, THREADS, job);
  LAUNCH(d, join_rows, job.boxes, LANES, job.rows, (int)ENDS, 0, job.result + ADDED, (int)COLUMNS);
}

/* Copy the top of the local tree to the host. Queued. Returns the number of nodes. */
static int32_t copy_top(struct device *d, const struct let_request *request)
{
  const struct tree_part *part = lets_part(d, request);
  int32_t seen = d->tree.view.nodes == 0 ? 0 : part->nodes < TOP_SEEN ? part->nodes : TOP_SEEN;
  struct node *node =
      (struct node *)pinned_reserve(&d->let->boxes.top, (sizeof *node + sizeof(struct quad)) * TOP_SEEN);
  if (seen == 0) return 0;
  CHECK(runtime_copy(node, d->tree.view.node + part->base, sizeof *node * (size_t)seen, TO_HOST, d->stream));
  CHECK(runtime_copy(node + TOP_SEEN, d->tree.view.quad + part->base, sizeof(struct quad) * (size_t)seen, TO_HOST,
                     d->stream));
  return seen;
}

/* Where only fast particles are active, most boxes are theirs: a few slow ones have become fast since the last build of
 * both trees. */
static void divide_boxes(const struct device *d, struct boxes_job *job)
{
  int known = d->tree.parts == 2 && d->tree.fast_results_valid, some = job->boxes / SLOW_BOXES_PART;
  int32_t slow = known ? d->host_results->band_group[1] : 0;
  if (slow == 0 || job->groups - slow < job->boxes || some == 0) return;
  job->slow_groups = slow;
  job->slow_boxes = slow < some ? slow : some;
}

/* Queue the boxes, and their copy to the host. `fast`: fast particles alone are active. */
static void queue_boxes(struct device *d, const struct let_request *request, int max_count, int fast)
{
  struct let_state *l = d->let;
  if (max_count > BOX_MAX) max_count = BOX_MAX;
  l->boxes.count = d->targets.groups < max_count ? d->targets.groups : max_count;
  if (l->boxes.count == 0) return;
  size_t bytes = sizeof(double) * COLUMNS * (size_t)l->boxes.count;
  struct boxes_job job = {d->tree.view,
                          d->p,
                          device_latest_acc(d, &d->p),
                          request->part == LET_OF_SLOW ? d->p.acc : NULL,
                          d->targets.group.at,
                          d->targets.groups};
  job.boxes = l->boxes.count;
  if (fast) divide_boxes(d, &job);
  job.begin = array_reserve(&l->boxes.begin, "device LETs", BOX_MAX + 1);
  job.rows = array_reserve(&l->boxes.rows, "device LETs", BOX_MAX * COLUMNS * (BOX_PARTS + 1));
  job.result = job.rows + BOX_MAX * COLUMNS * BOX_PARTS;
  job.lattice = d->lattice;
  job.tick_length = request->tick_length;
  job.horizon = request->horizon;
  job.tick = request->tick;
  job.active = request->active;
  if (job.active && !d->step.selected && d->step.tiles_known >= d->p.n) job.tile_next = d->step.tile_next.at;
  launch_rows(d, job);
  CHECK(runtime_copy(pinned_reserve(&l->boxes.numbers, bytes), job.result, bytes, TO_HOST, d->stream));
}

/* Take the boxes from the host copy; returns the number of those with targets. */
static int take_boxes(struct let_state *let, struct let_box *boxes)
{
  const double *row = (const double *)let->boxes.numbers.at;
  int count = 0;
  for (int b = 0; b < let->boxes.count; b++, row += COLUMNS) {
    struct let_box *box = &let->boxes.box[b];
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

void gpu_begin_boxes(struct device *d, const struct let_request *request, int max_count)
{
  queue_boxes(d, request, max_count, 1);
  CHECK(runtime_event_record(d->let->boxes.counted, d->stream));
  d->let->boxes.begun = true;
}

int gpu_boxes(struct device *d, const struct let_request *request, int max_count, struct let_box *boxes)
{
  struct let_state *l = d->let;
  l->boxes.top_copied = 0;
  if (l->boxes.begun) {
    l->boxes.begun = false;
    CHECK(runtime_event_sync(l->boxes.counted));
    return take_boxes(l, boxes);
  }
  queue_boxes(d, request, max_count, 0);
  if (l->boxes.count == 0) return 0;
  /* for the summary, which follows */
  if (!(request->horizon > 0)) {
    l->boxes.top_copied = copy_top(d, request);
    l->boxes.top_moments = d->tree.moments_made;
  }
  gpu_wait(d);
  return take_boxes(l, boxes);
}

void gpu_let_summary(struct device *d, const struct let_request *request, struct let_summary *summary)
{
  struct let_state *l = d->let;
  const struct tree_part *part = lets_part(d, request);
  memset(summary, 0, sizeof *summary);
  summary->particles = part->count;
  if (request->horizon > 0) return;
  int32_t seen = l->boxes.top_copied;
  if (seen == 0 || l->boxes.top_moments != d->tree.moments_made) {
    seen = copy_top(d, request);
    gpu_wait(d);
  }
  l->boxes.top_copied = 0;
  const struct node *node = (const struct node *)l->boxes.top.at;
  if (seen > 0) top_choose(&summary->top, node, seen, part->base, (const float(*)[6])(node + TOP_SEEN));
}

int gpu_let_quads(const struct let_request *request) { return carries_quads(request); }
