/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "particles/particles.h"

#include <string.h>
#include <xxhash.h>

#include "base/memory.h"

const struct particle_field particle_fields[] = {
#define X(member, ctype, components) {#member, sizeof(ctype) * (components), offsetof(struct particles, member)},
    PARTICLE_FIELDS(X)
#undef X
};
const int particle_field_count = sizeof particle_fields / sizeof *particle_fields;

size_t particle_bytes(void)
{
  size_t sum = 0;
  for (int f = 0; f < particle_field_count; f++) sum += particle_fields[f].bytes;
  return sum;
}

void particles_init(struct particles *particles) { memset(particles, 0, sizeof *particles); }

void particles_reserve(struct particles *particles, int64_t capacity)
{
  for (int f = 0; f < particle_field_count; f++) {
    char **array = particles_array(particles, &particle_fields[f]);
    *array = memory_resize("particles", *array, particle_fields[f].bytes * (size_t)capacity);
  }
  particles->capacity = capacity;
  if (particles->n > capacity) particles->n = capacity;
}

void particles_free(struct particles *particles)
{
  for (int f = 0; f < particle_field_count; f++) memory_free(*particles_array(particles, &particle_fields[f]));
  particles_init(particles);
}

void particles_copy(struct particles *dst, int64_t to, const struct particles *src, int64_t from)
{
  for (int f = 0; f < particle_field_count; f++) {
    size_t b = particle_fields[f].bytes;
    memcpy(*particles_array(dst, &particle_fields[f]) + b * (size_t)to,
           *particles_array(src, &particle_fields[f]) + b * (size_t)from, b);
  }
}

size_t particles_scratch_bytes(int64_t n)
{
  size_t widest = 0;
  for (int f = 0; f < particle_field_count; f++)
    if (particle_fields[f].bytes > widest) widest = particle_fields[f].bytes;
  return widest * (size_t)n;
}

#define GATHER(ctype, words)                                                                                      \
  _Pragma("omp parallel for schedule(static)") for (int64_t i = 0; i < n; i++)                                    \
      memcpy((ctype *)to + (size_t)(words) * (size_t)i, (const ctype *)from + (size_t)(words) * (size_t)order[i], \
             sizeof(ctype) * (words))

static void gather(char *to, const char *from, const int32_t *order, int64_t n, size_t bytes)
{
  switch (bytes) { /* with constant sizes the compiler replaces memcpy by moves */
  case 1: GATHER(uint8_t, 1); break;
  case 4: GATHER(float, 1); break;
  case 8: GATHER(uint64_t, 1); break;
  case 12: GATHER(float, 3); break;
  case 24: GATHER(double, 3); break;
  default: GATHER(char, bytes);
  }
}

enum { PIECE = 1 << 16 }; /* bytes that a thread copies at once */

static void copy(char *to, const char *from, size_t bytes)
{
#pragma omp parallel for schedule(static)
  for (size_t at = 0; at < bytes; at += PIECE) memcpy(to + at, from + at, bytes - at < PIECE ? bytes - at : PIECE);
}

void particles_permute(struct particles *particles, const int32_t *order, void *scratch)
{
  for (int f = 0; f < particle_field_count; f++) {
    size_t bytes = particle_fields[f].bytes;
    char *field = *particles_array(particles, &particle_fields[f]);
    gather(scratch, field, order, particles->n, bytes);
    copy(field, scratch, bytes * (size_t)particles->n);
  }
}

void particles_pack(const struct particles *particles, int64_t i, void *buffer)
{
  char *to = buffer;
  for (int f = 0; f < particle_field_count; f++) {
    size_t b = particle_fields[f].bytes;
    memcpy(to, *particles_array(particles, &particle_fields[f]) + b * (size_t)i, b);
    to += b;
  }
}

void particles_unpack(struct particles *particles, int64_t i, const void *buffer)
{
  const char *from = buffer;
  for (int f = 0; f < particle_field_count; f++) {
    size_t b = particle_fields[f].bytes;
    memcpy(*particles_array(particles, &particle_fields[f]) + b * (size_t)i, from, b);
    from += b;
  }
}

uint64_t particles_digest(const struct particles *particles)
{
  uint64_t sum = 0;
  for (int64_t i = 0; i < particles->n; i++) {
    struct {
      uint64_t id;
      double pos[3], vel[3];
      float mass, type;
    } one = {particles->id[i],
             {particles->pos[3 * i], particles->pos[3 * i + 1], particles->pos[3 * i + 2]},
             {particles->vel[3 * i], particles->vel[3 * i + 1], particles->vel[3 * i + 2]},
             particles->mass[i],
             particles->type[i]};
    sum += XXH64(&one, sizeof one, 0);
  }
  return sum;
}
