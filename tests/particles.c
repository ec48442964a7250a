/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "particles/particles.h"

#include "base/memory.h"
#include "tap.h"

enum { N = 1000 };

static void fill(struct particles *particles)
{
  particles_init(particles);
  particles_reserve(particles, N + 5);
  particles->n = N;
  for (int64_t i = 0; i < N; i++) {
    particles->id[i] = (uint64_t)i + 1;
    particles->mass[i] = 1.0f + (float)i;
    particles->type[i] = (uint8_t)(i % 6);
    for (int c = 0; c < 3; c++) particles->pos[3 * i + c] = (double)(3 * i + c);
  }
}

int main(void)
{
  struct particles p;
  fill(&p);
  int32_t *order = memory_alloc("test", sizeof *order * N);
  for (int64_t i = 0; i < N; i++) order[i] = (int32_t)((i * 7 + 3) % N);
  uint64_t digest = particles_digest(&p);
  void *scratch = memory_alloc("test", particles_scratch_bytes(N));
  particles_permute(&p, order, scratch);
  int moved = 1;
  for (int64_t i = 0; i < N; i++)
    moved &= p.id[i] == (uint64_t)order[i] + 1 && p.pos[3 * i + 2] == (double)(3 * order[i] + 2) &&
             p.type[i] == order[i] % 6;
  tap_ok(moved, "permute moves every field by the order");
  tap_ok(particles_digest(&p) == digest, "the digest does not depend on the order");

  char *buffer = memory_alloc("test", particle_bytes());
  particles_pack(&p, 10, buffer);
  particles_unpack(&p, 20, buffer);
  tap_ok(p.id[20] == p.id[10] && p.pos[62] == p.pos[32] && p.mass[20] == p.mass[10],
         "pack and unpack carry every field");
  tap_ok(particles_digest(&p) != digest, "the digest sees a particle replaced");

  memory_free(buffer);
  memory_free(order);
  particles_reserve(&p, 2 * N);
  tap_ok(p.n == N && p.id[20] == p.id[10], "growing keeps the particles");
  particles_free(&p);
  memory_free(scratch);
  tap_ok(memory_current() == 0, "all memory is given back");
  return tap_end();
}
