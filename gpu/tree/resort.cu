/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys and order of the fast particles when their tree is renewed. They are nearly in order: every RUN-th of the old
 * sorted keys bounds a bucket of about RUN new keys, which a thread block sorts in shared memory. A radix sort would
 * take a pass of two launches for every eight bits. If a bucket overflows, the kernels that follow do nothing, and the
 * host sorts when it reads the flag. */
#include <config.h>
#include "gpu/device/search.cuh"
#include "gpu/tree/order.cuh"

enum { RUN = 448, BUCKET = 1024, BUCKET_THREADS = BUCKET / 2 };

struct resort_job {
  struct later_keys keys;
  const uint64_t *old; /* sorted keys of the particles */
  int32_t n, buckets;
  int32_t *count; /* of each bucket */
  uint64_t *key;  /* BUCKET places each */
  int32_t *place;
  uint64_t *sorted;
  int32_t *order;
  int32_t *unsorted;
};

/* The bucket of a key: each bucket but the first begins with an old key. The search starts at `guess`, since most
 * particles keep their place nearly. */
static __device__ int32_t bucket_of(const struct resort_job &job, uint64_t key, int32_t guess)
{
  int32_t low = guess, high = guess + 1, step = 1; /* bucket `low` begins at or below the key; bucket `high` does not */
  while (low > 0 && job.old[(int64_t)low * RUN] > key) {
    high = low;
    low = max(0, low - step);
    step *= 2;
  }
  for (step = 1; high < job.buckets && job.old[(int64_t)high * RUN] <= key; step *= 2) {
    low = high;
    high = min(job.buckets, high + step);
  }
  return search_last(low, high, [&](int32_t k) { return job.old[(int64_t)k * RUN] <= key; });
}

/* Distribute the keys over the buckets; their order within a bucket is arbitrary. */
static __global__ void fill_buckets(const __grid_constant__ struct resort_job job)
{
  __shared__ struct key_table table;
  int32_t k = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  fill_table(&table);
  int32_t i = job.keys.first + min(k, job.n - 1), b = -1, at = 0;
  uint64_t key = later_key(job.keys, table, i);
  if (k < job.n) b = bucket_of(job, key, k / RUN);
  /* most particles of a warp go to one bucket: one lane counts for all, since atomics on one address are serialised */
  lane_mask peers = warp_match(b);
  int first = first_lane(peers);
  if (lane_id() == first && b >= 0) at = atomicAdd(&job.count[b], lane_count(peers));
  at = warp_shuffle(at, first) + lane_count(peers & lanes_below());
  if (b < 0) return;
  if (at >= BUCKET) {
    *job.unsorted = 1;
    return;
  }
  job.key[(int64_t)b * BUCKET + at] = key;
  job.place[(int64_t)b * BUCKET + at] = i;
}

/* The number of particles in the buckets before this one, for all threads. */
static __device__ int32_t particles_before(const int32_t *count)
{
  __shared__ int32_t part[BUCKET_THREADS / LANES];
  int32_t sum = 0;
  for (int k = (int)threadIdx.x; k < (int)blockIdx.x; k += BUCKET_THREADS) sum += count[k];
  sum = (int32_t)warp_sum((unsigned)sum);
  if (lane_id() == 0) part[threadIdx.x / LANES] = sum;
  __syncthreads();
  sum = 0;
  for (int w = 0; w < BUCKET_THREADS / LANES; w++) sum += part[w];
  return sum;
}

/* Bitonic sort by key, then by place, so that the order is unique. `size` is a power of two. Pairs at most a warp's
 * width apart stay within the 64 places of their warp. */
static __device__ void sort_shared(uint64_t *key, int32_t *place, int size)
{
  for (int run = 2; run <= size; run *= 2)
    for (int step = run / 2; step > 0; step /= 2) {
      int t = (int)threadIdx.x, a = 2 * t - (t & (step - 1)), b = a + step;
      if (t < size / 2) {
        uint64_t x = key[a], y = key[b];
        int32_t p = place[a], q = place[b];
        bool wrong = x > y || (x == y && p > q), falls = a & run;
        if (wrong != falls) {
          key[a] = y;
          key[b] = x;
          place[a] = q;
          place[b] = p;
        }
      }
      int next = step > 1 ? step / 2 : run;
      if (step > LANES || next > LANES) __syncthreads();
      else warp_sync();
    }
  __syncthreads();
}

static __global__ void __launch_bounds__(BUCKET_THREADS) sort_buckets(const __grid_constant__ struct resort_job job)
{
  __shared__ uint64_t key[BUCKET];
  __shared__ int32_t place[BUCKET];
  if (*job.unsorted) return;
  int n = job.count[blockIdx.x], size = 2;
  int32_t before = particles_before(job.count);
  while (size < n) size *= 2;
  for (int k = (int)threadIdx.x; k < size; k += BUCKET_THREADS) {
    int64_t from = (int64_t)blockIdx.x * BUCKET + k;
    key[k] = k < n ? job.key[from] : UINT64_MAX;
    place[k] = k < n ? job.place[from] : INT32_MAX;
  }
  __syncthreads();
  sort_shared(key, place, size);
  for (int k = (int)threadIdx.x; k < n; k += BUCKET_THREADS) {
    job.sorted[before + k] = key[k];
    job.order[before + k] = place[k];
  }
}

const int32_t *device_resort(struct device *d, const struct later_keys *keys, int32_t n)
{
  int32_t first = keys->first, buckets = (int32_t)blocks_for(n, RUN);
  uint64_t *key = d->order.key[d->order.current].at + first; /* read before the sorted ones are written */
  array_reserve(&d->order.bucket_key, "device order", (int64_t)buckets * BUCKET);
  array_reserve(&d->order.bucket_place, "device order", (int64_t)buckets * BUCKET);
  array_reserve(&d->order.bucket_count, "device order", buckets);
  const struct resort_job job = {*keys,
                                 key,
                                 n,
                                 buckets,
                                 d->order.bucket_count.at,
                                 d->order.bucket_key.at,
                                 d->order.bucket_place.at,
                                 key,
                                 d->order.place[d->order.current].at + first,
                                 &d->device_results->unsorted};
  CHECK(runtime_set_bytes(job.count, 0, sizeof(int32_t) * (size_t)buckets, d->stream));
  LAUNCH(d, fill_buckets, blocks_for(n, THREADS), THREADS, job);
  LAUNCH(d, sort_buckets, buckets, BUCKET_THREADS, job);
  d->sources.present_tick = -1;
  return job.order;
}
