/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models for initial conditions, in Henon units (G = M = 1, E = -1/4 where the model has an energy of its own).
 * Every particle's random numbers depend on the seed and its id alone (Random123), so any slice of a model can be made
 * on any rank and the whole does not depend on the number of ranks. */
#ifndef IC_H
#define IC_H
#include "comm.h"
#include "fault.h"
#include "particles.h"

struct ic_model {
  char name[32];             /* plummer, hernquist, uniform, merger */
  int64_t n;                 /* particles in all */
  uint64_t seed;
  double virial_ratio;       /* uniform: 2 T / |W| (0: cold) */
  double mass_ratio;         /* merger: mass of the second sphere over the first */
  double separation;         /* merger: distance of the centres along x */
  double impact_parameter;   /* merger: offset along y */
  double relative_velocity;  /* merger: along x, approaching */
};

extern const char *const ic_names[];
extern const int ic_count;
#define IC_MOST ((int64_t)1 << 36)   /* particles */
enum { IC_FARTHEST = 1000 };         /* largest separation, impact parameter and relative velocity */

/* Every option's default; name and n are left empty. */
void ic_defaults(struct ic_model *model);
/* Are name, number and options in their ranges? Local. 0 or -1. */
int ic_check(const struct ic_model *model, struct fault *f);
/* Make this rank's slice of particles of equal mass with ids from 1 (`p` must be empty); the centre of mass and its
 * velocity are removed (global). Bit-identical particles on any number of ranks. Collective. 0 or -1. */
int ic_make(const struct comm *c, const struct ic_model *model, struct particles *p, struct fault *f);
#endif
