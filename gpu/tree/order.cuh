/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys of sources at a tick, and the sort of particles that are nearly in order. */
#ifndef GPU_ORDER_CUH
#define GPU_ORDER_CUH
#include "gpu/tree/sources.cuh"

static __device__ const uint8_t key_rows[KEY_STATES][8] = {KEY_TABLE_ROWS};

/* The table of the space-filling curve is read at random: in shared memory each entry has its own bank. */
struct key_table {
  uint8_t row[KEY_STATES][8];
};
static __device__ __forceinline__ void fill_table(struct key_table *table)
{
  if (threadIdx.x < sizeof table->row)
    table->row[threadIdx.x / 8][threadIdx.x % 8] = key_rows[threadIdx.x / 8][threadIdx.x % 8];
  __syncthreads();
}

/* Keys of the sources' positions at a tick, reduced to the digits in the mask, for the particles from `first` on. The
 * highest bits of a key, `class_bits` of them above the digits, are the particle's band of block levels, at least
 * `from`: particles of deeper bands follow the others. */
struct later_keys {
  struct tree t;
  const uint8_t *level;
  level_bands bands;
  int from, class_bits;
  int32_t first, tick;
  float tick_length;
  double inverse;
  uint64_t mask;
};
static __device__ __forceinline__ uint64_t later_key(const struct later_keys &keys, const struct key_table &table,
                                                     int32_t i)
{
  const struct body b = body_at(&keys.t.body[i], &keys.t.motion_state[i], keys.tick, keys.tick_length, keys.inverse);
  uint64_t band = (uint64_t)max(keys.from, band_of_level(keys.bands, keys.level[i]));
  return (key_along(table.row, b.x, b.y, b.z) & keys.mask) >> (keys.class_bits - 1) | band << (64 - keys.class_bits);
}

/* The order of the last n particles by new keys, as numbers of particles. They must be nearly in the order of the
 * current keys, which have the same digits and are replaced. Queued. If a bucket overflows, device_results->unsorted is
 * set and the order is invalid. */
const int32_t *device_resort(struct device *d, const struct later_keys *keys, int32_t n);
#endif
