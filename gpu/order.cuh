/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys of particles on their way, and their order where they stand nearly in it. */
#ifndef GPU_ORDER_CUH
#define GPU_ORDER_CUH
#include "sources.cuh"

static __device__ const uint8_t key_rows[KEY_STATES][8] = {KEY_TABLE_ROWS};

/* The table of the curve is looked up at random: in shared memory every entry has its own bank. */
struct key_table {
  uint8_t row[KEY_STATES][8];
};
static __device__ __forceinline__ void fill_table(struct key_table *t)
{
  if (threadIdx.x < sizeof t->row) t->row[threadIdx.x / 8][threadIdx.x % 8] = key_rows[threadIdx.x / 8][threadIdx.x % 8];
  __syncthreads();
}

/* The uppermost bit of a key, above the digits: fast particles, which stand behind the slow ones. */
#define KEY_FAST ((uint64_t)1 << 63)

/* Keys of the sources' places at a tick, of the digits in the mask, from the particle `first` on; those of block level `fast`
 * and deeper go apart. */
struct later_keys {
  struct tree t;
  const uint8_t *level;
  int fast;
  int32_t first, tick;
  float tick_length;
  double inverse;
  uint64_t mask;
};
static __device__ __forceinline__ uint64_t later_key(const struct later_keys &k, const struct key_table &table, int32_t i)
{
  const struct body b = body_at(&k.t.body[i], &k.t.course[i], k.tick, k.tick_length, k.inverse);
  return (key_along(table.row, b.x, b.y, b.z) & k.mask) | (k.level[i] >= k.fast ? KEY_FAST : 0);
}

/* The order of the n last particles, in numbers of all, by new keys; they stand nearly in the order of those that there are, which
 * have the same digits. Queued; where answers->unsorted is set it was given up, and the order means nothing. */
const int32_t *device_resort(struct device *d, const struct later_keys *keys, int32_t n);
#endif
