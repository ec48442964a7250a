/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The particles of one type, or of all: their whole-numbered masses, centre of density, and distances. */
#ifndef SUBSET_H
#define SUBSET_H
#include "mpi/comm.h"
#include "particles/particles.h"

enum { TYPE_ALL = -1, TYPE_STARS = -2, DARK_TYPE = 1 }; /* TYPE_STARS: all but DARK_TYPE */

struct subset {
  const struct particles *p;
  int64_t n, total; /* particles of this rank, of all ranks */
  int32_t *index;   /* [n] local indices, ascending */
  double mass;      /* of all ranks */
  int by_number;    /* 1: they have no mass, and each has the weight 1 */
  double scale;     /* whole-numbered weights are masses times this power of two; 0: 1 each */
  int64_t whole;    /* sum of these weights of all ranks */
};

/* Particles by type, of all ranks. Collective. */
void subset_counts(const struct comm *comm, const struct particles *particles, int64_t count[PARTICLE_TYPES]);
/* Choose the particles of a type (TYPE_ALL, TYPE_STARS: of these). Free with subset_close. Collective. */
void subset_open(struct subset *subset, const struct comm *comm, const struct particles *particles, int type);
void subset_close(struct subset *subset);
/* The weight of a particle in sums: its mass, or 1. */
static inline double subset_weight(const struct subset *subset, int64_t i)
{
  return subset->by_number ? 1 : subset->p->mass[subset->index[i]];
}

/* The centre of density. It begins with the centre of mass of all particles; again and again the half of the remaining
 * particles that is nearest to the last centre remains, and has the next one, until at most 1 % of all, or 100, remain.
 * This is the shrinking sphere of Power et al. (2003, MNRAS 338, 14, section 3.2), which shrinks by number, not by
 * radius: so distant particles cost no iterations, and each pass has half of the particles of the last. In a merger it
 * leads to the larger part. Without particles: 0. Collective. */
void subset_centre(const struct comm *comm, const struct subset *subset, double centre[3]);
/* The squared distance of particle i of the subset from `centre`; the same bits in every call. Local. */
double subset_r2(const struct subset *subset, const double centre[3], int64_t i);
/* Squared distances from `centre` within which are these fractions[count] of the mass, or with `by_count` of the
 * particles: r2[count], see quantiles. Collective. */
void subset_quantiles(const struct comm *comm, const struct subset *subset, const double centre[3], int by_count,
                      int count, const double *fraction, double *r2);
#endif
