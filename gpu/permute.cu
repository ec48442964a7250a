/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Particles in another order. */
#include <config.h>
#include "device.cuh"

/* to[i] = from[order[i]] for values of so many words. A thread moves several words, so that their loads overlap. */
enum { GATHER_ITEMS = 4, GATHER_TILE = GATHER_ITEMS * THREADS };

template <typename WORD, int WORDS>
static __global__ void __launch_bounds__(THREADS) gather(WORD *to, const WORD *from, const int32_t *order, uint32_t n)
{
  uint32_t first = blockIdx.x * GATHER_TILE + threadIdx.x, end = n * WORDS;
  int32_t at[GATHER_ITEMS];
  WORD word[GATHER_ITEMS];
#pragma unroll
  for (int k = 0; k < GATHER_ITEMS; k++) at[k] = first + k * THREADS < end ? order[(first + k * THREADS) / WORDS] : 0;
#pragma unroll
  for (int k = 0; k < GATHER_ITEMS; k++) word[k] = from[(int64_t)at[k] * WORDS + (first + k * THREADS) % WORDS];
#pragma unroll
  for (int k = 0; k < GATHER_ITEMS; k++)
    if (first + k * THREADS < end) to[first + k * THREADS] = word[k];
}

template <typename WORD, int WORDS> static void gather_field(struct device *d, void *to, const void *from, const int32_t *order, int64_t n)
{
  LAUNCH(d, (gather<WORD, WORDS>), blocks_for(n * WORDS, GATHER_TILE), THREADS, (WORD *)to, (const WORD *)from, order, (uint32_t)n);
}

void device_permute(struct device *d, const int32_t *order, int64_t n)
{
  device_particles_room(&d->spare, n);
  for (int f = 0; f < particle_field_count; f++) {
    const struct particle_field *field = &particle_fields[f];
    const void *from = *(char **)((char *)&d->p + field->offset);
    void *to = *(char **)((char *)&d->spare + field->offset);
    switch (field->bytes) {
    case 1: gather_field<uint8_t, 1>(d, to, from, order, n); break;
    case 4: gather_field<uint32_t, 1>(d, to, from, order, n); break;
    case 8: gather_field<uint64_t, 1>(d, to, from, order, n); break;
    case 12: gather_field<uint32_t, 3>(d, to, from, order, n); break;
    case 24: gather_field<uint64_t, 3>(d, to, from, order, n); break;
    default: fatal("no way to sort a field of %zu bytes", field->bytes);
    }
  }
  struct particles sorted = d->spare;
  sorted.n = n;
  d->spare = d->p;
  d->p = sorted;
}
