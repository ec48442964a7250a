/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The particles as AMUSE knows them, by index, on rank 0 of the workers; on other ranks the store stays empty. */
#ifndef STORE_H
#define STORE_H
#include <stdint.h>

struct body {
  int index;      /* in AMUSE; its id in the library is index + 1. -1: deleted */
  double mass, radius, x[3], v[3];
  int reweighed;  /* 1: the library does not have its mass yet */
  double acc[3], pot;   /* of the time at which they were last asked for */
};

struct store {
  struct body *body;   /* [n], in ascending order of index */
  int64_t n, room, deleted;
  int64_t *slot;       /* [next]: where in body[] an index is; -1: deleted */
  int next;            /* the next new index; an index is not used again */
};

/* Add a particle with the next index. Its place, valid until the next addition. */
struct body *store_add(struct store *s);
/* The particle of an index, or NULL. */
struct body *store_find(const struct store *s, int index);
/* Delete a particle. 0, or -1 where there is none with this index. */
int store_delete(struct store *s, int index);
/* Close the gaps that deletions left. */
void store_compact(struct store *s);
/* The first existing particle whose index is `index` or larger, or NULL. */
struct body *store_next(const struct store *s, int index);
/* Mass, and centre of mass with its velocity; without mass the centre is the mean of the positions. */
double store_mass(const struct store *s);
void store_centre(const struct store *s, double x[3], double v[3]);
/* The largest distance of a particle from a point. */
double store_extent(const struct store *s, const double from[3]);
/* Whether one particle is at least so many times as heavy as any other. */
int store_has_hub(const struct store *s, double times);
double store_kinetic(const struct store *s);
/* Accelerations and potentials of all particles by direct sums in double precision; there are no deleted ones. The potential energy. */
double store_direct(struct store *s, double softening, double gravity);
/* Field at points by the same sums. `acc` [3 n] and `pot` [n], or NULL. */
void store_field(const struct store *s, double softening, double gravity, int n, const double *points, double *acc, double *pot);
void store_free(struct store *s);
#endif
