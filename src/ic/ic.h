/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models for initial conditions in Henon units (G = 1, M = 1; E = -1/4 unless the options of the model determine the energy). The
 * random numbers of a particle depend only on the seed and its id (Random123), so the model does not depend on the number of ranks. */
#ifndef IC_H
#define IC_H
#include "base/fault.h"
#include "mpi/comm.h"
#include "particles/particles.h"

struct ic_model {
  char name[32];             /* plummer, hernquist, uniform, merger */
  int64_t n;                 /* total number of particles */
  uint64_t seed;
  double virial_ratio;       /* uniform: 2 T / |W| (0: cold) */
  double mass_ratio;         /* merger: mass of the second sphere over that of the first */
  double separation;         /* merger: distance of the centres along x, Henon units */
  double impact_parameter;   /* merger: offset along y, Henon units */
  double relative_velocity;  /* merger: along x, Henon units; positive: approaching */
};

/* The names of the models, [ic_count]. */
extern const char *const ic_names[];
extern const int ic_count;
#define IC_MAX ((int64_t)1 << 36)   /* particles */
enum { IC_ORBIT_MAX = 1000 };        /* largest separation, impact parameter and relative velocity */

/* Set all options to their defaults; name and n become empty. Local. */
void ic_defaults(struct ic_model *model);
/* Check name, number of particles and options. Local. 0; -1 with a fault. */
int ic_check(const struct ic_model *model, struct fault *f);
/* Create this rank's slice of the particles: equal masses, ids from 1, the centre of mass of all particles at rest at the origin. The
 * particles are bit-identical on any number of ranks.
 * \param p  must be empty
 * \return 0; -1 with a fault, the same on all ranks. Collective. */
int ic_make(const struct comm *c, const struct ic_model *model, struct particles *p, struct fault *f);
#endif
