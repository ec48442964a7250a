/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The particles of one rank: a structure of arrays and the one table of its fields.
 * Memory, exchange between ranks, sorting and files all go through the table, so a field is named once. */
#ifndef PARTICLES_H
#define PARTICLES_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

enum { PARTICLE_TYPES = 6 };   /* GADGET's: 0 gas (moved as collisionless), 1 halo, 2 disk, 3 bulge, 4 stars, 5 boundary */

/* X(member, C type, components) in internal units of the parameter file.
 *   pos, vel   position and velocity at the particle's own time (all equal at soft synchronisations)
 *   mass, id, type
 *   acc        full acceleration at the last soft synchronisation (with G); its modulus is |a_old| of the MAC
 *   acc_hard   hard acceleration at the particle's own time
 *   acc_soft   acc - acc_hard at the last soft synchronisation
 *   pot        potential at the last soft synchronisation (with G, no self energy)
 *   tick       own time within the soft step, in ticks (0 at synchronisations)
 *   level      block level: the step is the soft step / 2^level
 *   work       interactions of the walks of all particles and of hard walks: a walk of all leaves WORK_KEPT of what was before,
 *              so that one soft step's costs, which the place of the lattice changes by some percent, are not all */
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

/* Arrays are flat: component c of particle i of a three-component field stands at [3 * i + c]. */
struct particles {
  int64_t n, capacity;
#define X(member, ctype, components) ctype *member;
  PARTICLE_FIELDS(X)
#undef X
};

struct particle_field {
  const char *name;
  size_t bytes;    /* of one particle's value, all components */
  size_t offset;   /* of the pointer in struct particles */
};
extern const struct particle_field particle_fields[];
extern const int particle_field_count;
/* The place of a field's array, as bytes. */
static inline char **particles_array(const struct particles *p, const struct particle_field *f)
{
  return (char **)((char *)(uintptr_t)p + f->offset);
}
/* Bytes of one particle, all fields together. */
size_t particle_bytes(void);

/* An empty set. */
void particles_init(struct particles *p);
/* Make room for `capacity` particles; keeps the first min(n, capacity) and sets n to at most that. */
void particles_reserve(struct particles *p, int64_t capacity);
void particles_free(struct particles *p);
/* Copy particle `from` of `src` to place `to` of `dst` (all fields). */
void particles_copy(struct particles *dst, int64_t to, const struct particles *src, int64_t from);
/* Reorder: the new particle i is the old particle order[i]. `spare` (a set that is empty at first; grown as needed) lends
 * its arrays, so that a set that is sorted again and again does not ask for memory every time. */
void particles_permute(struct particles *p, const int64_t *order, struct particles *spare);
/* Pack particle i into `buffer` (particle_bytes() long), and back. */
void particles_pack(const struct particles *p, int64_t i, void *buffer);
void particles_unpack(struct particles *p, int64_t i, const void *buffer);
/* A digest of ids, types, masses and the state (pos, vel) that depends neither on order nor on the ranks: the sum of the
 * ranks' values modulo 2^64. Local. */
uint64_t particles_digest(const struct particles *p);

#ifdef __cplusplus
}
#endif
#endif
