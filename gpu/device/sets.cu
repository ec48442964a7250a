/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Verbs that reduce the particles to few numbers: bounding box, samples, sums, histogram of levels. */
#include <config.h>
#include "backend/field_sums.h"
#include "gpu/device/device.cuh"
#include "gpu/device/reduce.cuh"
#include "gpu/device/select.cuh"
#include "particles/sampling.h"

static int64_t runs(const struct device *d) { return blocks_for(d->p.n, REDUCE_RUN); }

static double *reserve_rows(struct device *d, int count)
{
  return (double *)array_reserve(&d->work.scratch, "device scratch", (int64_t)sizeof(double) * count * (runs(d) + 1));
}

/* --- bounding box ------------------------------------------------------------------------------------------------- */

/* Largest -low and high of each axis. */
static __global__ void box_rows(struct particles particles, double horizon, double *rows)
{
  double largest[6];
  for (int k = 0; k < 6; k++) largest[k] = max_op::start();
  int64_t begin = (int64_t)blockIdx.x * REDUCE_RUN, end = min(begin + REDUCE_RUN, (int64_t)particles.n);
  for (int64_t i = begin + threadIdx.x; i < end; i += THREADS)
    for (int c = 0; c < 3; c++) {
      double x = particles.pos[3 * i + c], there = x + horizon * particles.vel[3 * i + c],
             pull = 0.5 * horizon * horizon * fabs((double)particles.acc[3 * i + c]);
      largest[c] = fmax(largest[c], pull - fmin(x, there));
      largest[3 + c] = fmax(largest[3 + c], fmax(x, there) + pull);
    }
  reduce_block<max_op>(largest, rows + (int64_t)blockIdx.x * 6);
}

/* The results on the host, of the read of this number or a later one; 0: of the next one. */
static const struct device_results *results_of_read(struct device *d, int64_t read)
{
  return read > 0 && d->results_read >= read ? d->host_results : device_read_results(d);
}

static void queue_bounds(struct device *d, double horizon)
{
  double *rows = reserve_rows(d, 6);
  LAUNCH(d, box_rows, runs(d), THREADS, d->p, horizon, rows);
  LAUNCH(d, (reduce_rows<max_op, 6>), 1, LANES * REDUCE_ROWS, rows, (int)runs(d), d->device_results->box);
}

void gpu_bounds(struct device *d, double horizon, double low[3], double high[3])
{
  for (int c = 0; c < 3; c++) {
    low[c] = 1e300;
    high[c] = -1e300;
  }
  if (d->p.n == 0) return;
  if (d->step.ahead.horizon != horizon) d->step.ahead.bounds = 0;
  if (d->step.ahead.bounds == 0) queue_bounds(d, horizon);
  const double *box = results_of_read(d, d->step.ahead.bounds)->box;
  for (int c = 0; c < 3; c++) {
    low[c] = -box[c];
    high[c] = box[3 + c];
  }
}

/* --- samples ----------------------------------------------------------------------------------------------------- */

struct is_sample {
  const uint64_t *id;
  const float *mass; /* NULL: any */
  uint64_t threshold;
  __device__ bool operator()(int32_t i) const { return sampling_hash(id[i]) <= threshold && (!mass || mass[i] > 0); }
};

static __global__ void take_samples(struct particles particles, const int32_t *chosen, const int32_t *count,
                                    int32_t most, struct sample *out)
{
  int32_t k = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (k >= min(*count, most)) return;
  int64_t i = chosen[k];
  struct sample s = {
      {particles.pos[3 * i], particles.pos[3 * i + 1], particles.pos[3 * i + 2]}, particles.work[i], particles.id[i]};
  out[k] = s;
}

static __global__ void __launch_bounds__(THREADS) work_rows(struct particles particles, double *rows)
{
  double sum[1] = {0};
  int64_t begin = (int64_t)blockIdx.x * REDUCE_RUN, end = min(begin + REDUCE_RUN, (int64_t)particles.n);
  for (int64_t i = begin + threadIdx.x; i < end; i += THREADS) sum[0] += particles.work[i];
  reduce_block<add_op>(sum, rows + blockIdx.x);
}

/* Sum the work of all particles into device_results->work. Queued. */
static void sum_work(struct device *d)
{
  double *rows = reserve_rows(d, 1);
  LAUNCH(d, work_rows, runs(d), THREADS, d->p, rows);
  LAUNCH(d, (reduce_rows<add_op, 1>), 1, LANES * REDUCE_ROWS, rows, (int)runs(d), &d->device_results->work);
}

/* so many are copied through page-locked memory together with their number, which takes one wait */
enum { SAMPLES_AT_ONCE = 1 << 16 };

struct sampled {
  double work;
  int32_t count;
  struct sample sample[];
};

/* Copy the first so many samples. Queued. */
static void copy_samples(struct device *d, const int32_t *chosen, int64_t most, struct sample *to)
{
  struct sample *taken = (struct sample *)array_reserve(&d->work.points, "device points",
                                                        most * (int64_t)(sizeof *taken / sizeof(double)));
  LAUNCH(d, take_samples, blocks_for(most, THREADS), THREADS, d->p, chosen, &d->device_results->count, (int32_t)most,
         taken);
  if (most > 0) CHECK(runtime_copy(to, taken, sizeof *to * (size_t)most, TO_HOST, d->stream));
}

int64_t gpu_sample(struct device *d, uint64_t threshold, int sources, int64_t max_count, struct sample *out,
                   double *work)
{
  int64_t n = d->p.n;
  if (work) *work = 0;
  if (n == 0) return 0;
  if (work) sum_work(d);
  const struct is_sample rule = {d->p.id, sources ? d->p.mass : NULL, threshold};
  int32_t *chosen = array_reserve(&d->order.place[0], "device order", n);
  select_numbers(d, rule, 0, n, chosen);
  if (max_count > n) max_count = n;
  if (max_count > SAMPLES_AT_ONCE) {
    const struct device_results *host_results = device_read_results(d);
    if (host_results->count < max_count) max_count = host_results->count;
    if (work) *work = host_results->work;
    copy_samples(d, chosen, max_count, out);
    gpu_wait(d);
    return max_count;
  }
  struct sampled *there =
      (struct sampled *)pinned_reserve(&d->work.samples, sizeof *there + sizeof *out * (size_t)max_count);
  copy_samples(d, chosen, max_count, there->sample);
  CHECK(runtime_copy(&there->count, &d->device_results->count, sizeof there->count, TO_HOST, d->stream));
  CHECK(runtime_copy(&there->work, &d->device_results->work, sizeof there->work, TO_HOST, d->stream));
  CHECK(runtime_event_record(d->work.sampled, d->stream));
  /* while the host uses the samples */
  if (d->step.ahead.next_horizon > 0) device_look_ahead(d, d->step.ahead.next_horizon);
  CHECK(runtime_event_sync(d->work.sampled));
  if (there->count < max_count) max_count = there->count;
  if (work) *work = there->work;
  memcpy(out, there->sample, sizeof *out * (size_t)max_count);
  return max_count;
}

/* --- sums -------------------------------------------------------------------------------------------------------- */

union sums_row {
  struct sums s;
  double value[SUMS];
};

static __global__ void __launch_bounds__(THREADS)
    sum_rows(struct particles particles, const __grid_constant__ struct field field, double *rows)
{
  union sums_row sum;
  for (int k = 0; k < SUMS; k++) sum.value[k] = 0;
  int64_t begin = (int64_t)blockIdx.x * REDUCE_RUN, end = min(begin + REDUCE_RUN, (int64_t)particles.n);
  for (int64_t i = begin + threadIdx.x; i < end; i += THREADS) sums_add_all(&sum.s, &particles, i, &field);
  reduce_block<add_op>(sum.value, rows + (int64_t)blockIdx.x * SUMS);
}

void gpu_reduce(struct device *d, const struct field *field, struct sums *sums)
{
  memset(sums, 0, sizeof *sums);
  if (d->p.n == 0) return;
  double *rows = reserve_rows(d, SUMS);
  LAUNCH(d, sum_rows, runs(d), THREADS, d->p, *field, rows);
  LAUNCH(d, (reduce_rows<add_op, SUMS>), 1, LANES * REDUCE_ROWS, rows, (int)runs(d), d->device_results->sums);
  memcpy(sums, device_read_results(d)->sums, sizeof *sums);
}

static __global__ void rate_rows(struct particles particles, const __grid_constant__ struct field field, double *rows)
{
  double largest[1] = {0};
  int64_t begin = (int64_t)blockIdx.x * REDUCE_RUN, end = min(begin + REDUCE_RUN, (int64_t)particles.n);
  for (int64_t i = begin + threadIdx.x; i < end; i += THREADS)
    largest[0] = fmax(largest[0], field_rate(&field, &particles.pos[3 * i], &particles.vel[3 * i]));
  reduce_block<max_op>(largest, rows + blockIdx.x);
}

double gpu_rate(struct device *d, const struct field *field)
{
  if (d->p.n == 0) return 0;
  double *rows = reserve_rows(d, 1);
  LAUNCH(d, rate_rows, runs(d), THREADS, d->p, *field, rows);
  LAUNCH(d, (reduce_rows<max_op, 1>), 1, LANES * REDUCE_ROWS, rows, (int)runs(d), &d->device_results->work);
  return sqrt(device_read_results(d)->work);
}

/* --- levels ------------------------------------------------------------------------------------------------------ */

static __global__ void count_levels(struct particles particles, unsigned long long *count)
{
  __shared__ unsigned bin[LEVEL_BINS];
  if (threadIdx.x < LEVEL_BINS) bin[threadIdx.x] = 0;
  __syncthreads();
  for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < particles.n; i += (int64_t)gridDim.x * THREADS)
    atomicAdd(&bin[particles.level[i] % LEVEL_BINS], 1u);
  __syncthreads();
  if (threadIdx.x < LEVEL_BINS && bin[threadIdx.x] > 0)
    atomicAdd(&count[threadIdx.x], (unsigned long long)bin[threadIdx.x]);
}

void device_look_ahead(struct device *d, double horizon)
{
  if (d->p.n == 0) return;
  queue_bounds(d, horizon);
  d->step.ahead.bounds = d->results_read + 1;
  d->step.ahead.horizon = horizon;
  d->step.ahead.next_horizon = 0;
}

void gpu_histogram(struct device *d, int64_t *count)
{
  if (d->step.ahead.histogram == 0) {
    device_zero(d, histogram);
    LAUNCH(d, count_levels, blocks_for(d->p.n, REDUCE_RUN), THREADS, d->p, d->device_results->histogram);
  }
  const struct device_results *host_results = results_of_read(d, d->step.ahead.histogram);
  for (int k = 0; k < LEVEL_BINS; k++) count[k] = (int64_t)host_results->histogram[k];
}

enum {
  SHARE_UNIT = 1024,
  SHARE_BLOCKS = 8 /* for each multiprocessor */
};

/* Each warp processes groups one after another. The sums are integers, so their order has no effect. */
static __global__ void __launch_bounds__(THREADS) sum_shares(struct particles particles, const struct group *group,
                                                             int32_t groups, int level, unsigned long long *sum)
{
  unsigned long long number = 0, share = 0;
  int32_t warps = (int32_t)(gridDim.x * THREADS / LANES);
  for (int32_t g = (int32_t)((blockIdx.x * THREADS + threadIdx.x) / LANES); g < groups; g += warps) {
    int32_t begin = group[g].begin, end = group[g].end;
    unsigned fast = 0;
    for (int32_t i = begin; i < end; i += LANES)
      fast += lane_count(warp_ballot(i + lane_id() < end && particles.level[i + lane_id()] >= level));
    number += fast;
    share += (unsigned long long)fast * fast * SHARE_UNIT / (unsigned)(end - begin);
  }
  if (lane_id() > 0 || number == 0) return;
  atomicAdd(&sum[0], number);
  atomicAdd(&sum[1], share);
}

void gpu_shares(struct device *d, int level, double sums[2])
{
  int64_t blocks = blocks_for((int64_t)d->targets.groups * LANES, THREADS),
          max_blocks = SHARE_BLOCKS * (int64_t)d->multiprocessors;
  d->step.ahead.histogram = 0;
  device_zero(d, histogram);
  LAUNCH(d, sum_shares, blocks < max_blocks ? blocks : max_blocks, THREADS, d->p, d->targets.group.at,
         d->targets.groups, level, d->device_results->histogram);
  const struct device_results *host_results = device_read_results(d);
  sums[0] = (double)host_results->histogram[0];
  sums[1] = (double)host_results->histogram[1] / SHARE_UNIT;
}
