/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The particles of one rank: a structure of arrays, and the table of its fields. Memory, migration, sorting and files
 * all use the table, so a new field is one line. Local. */
#ifndef PARTICLES_H
#define PARTICLES_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* as in GADGET: 0 gas (moved as collisionless), 1 halo, 2 disk, 3 bulge, 4 stars, 5 boundary */
enum { PARTICLE_TYPES = 6 };

/* X(member, C type, components), in the internal units of the parameter file.
 *   pos, vel   position and velocity at the particle's own time (equal for all particles at synchronisations)
 *   mass, id, type
 *   acc        full acceleration at the last synchronisation, with G; its modulus is a_old of the acceptance criterion
 *   acc_hard   hard acceleration at the particle's own time, with G
 *   acc_soft   acc - acc_hard at the last synchronisation
 *   pot        potential per unit mass at the last synchronisation, with G, without self energy
 *   tick       own time within the soft step, in ticks (0 at synchronisations)
 *   level      block level: the time step is the soft step / 2^level
 *   work       interactions of the particle in full and hard walks; a full walk first multiplies it by WORK_KEPT. This
 *              average over soft steps smooths the changes of some percent that the position of the lattice causes. */
#define PARTICLE_FIELDS(X) \
  X(pos, double, 3)        \
  X(vel, double, 3)        \
  X(mass, float, 1)        \
  X(id, uint64_t, 1)       \
  X(type, uint8_t, 1)      \
  X(acc, float, 3)         \
  X(acc_hard, float, 3)    \
  X(acc_soft, float, 3)    \
  X(pot, float, 1)         \
  X(tick, int32_t, 1)      \
  X(level, uint8_t, 1)     \
  X(work, float, 1)

#define WORK_KEPT 0.5f

/* n particles in arrays of `capacity` particles. Arrays are flat: component c of particle i of a field with three
 * components is element [3 * i + c]. */
struct particles {
  int64_t n, capacity;
#define X(member, ctype, components) ctype *member;
  PARTICLE_FIELDS(X)
#undef X
};

struct particle_field {
  const char *name;
  size_t bytes;  /* of the value of one particle, all components */
  size_t offset; /* of the array's pointer in struct particles */
};
extern const struct particle_field particle_fields[];
extern const int particle_field_count;
/* The pointer to the array of a field. */
static inline char **particles_array(const struct particles *particles, const struct particle_field *field)
{
  return (char **)((char *)(uintptr_t)particles + field->offset);
}
/* Bytes of one particle, all fields. */
size_t particle_bytes(void);

/* Make an empty set. */
void particles_init(struct particles *particles);
/* Resize the arrays to `capacity` particles. The first min(n, capacity) particles are kept; n becomes that number. */
void particles_reserve(struct particles *particles, int64_t capacity);
/* Free the arrays; the set is empty afterwards. */
void particles_free(struct particles *particles);
/* Copy all fields of particle `from` of `src` to particle `to` of `dst`. */
void particles_copy(struct particles *dst, int64_t to, const struct particles *src, int64_t from);
/* Reorder: particle i becomes the old particle order[i], for order[n]. `scratch`: particles_scratch_bytes(n) bytes,
 * aligned to 8; fields pass through it one after the other. */
void particles_permute(struct particles *particles, const int32_t *order, void *scratch);
/* Bytes of the widest field of n particles. */
size_t particles_scratch_bytes(int64_t n);
/* Copy particle i to buffer[particle_bytes()], and back. */
void particles_pack(const struct particles *particles, int64_t i, void *buffer);
void particles_unpack(struct particles *particles, int64_t i, const void *buffer);
/* Digest of ids, types, masses, positions and velocities of this rank. The sum over ranks modulo 2^64 depends neither
 * on the order nor on the distribution of the particles. */
uint64_t particles_digest(const struct particles *particles);

#ifdef __cplusplus
}
#endif
#endif
