/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameters of a run of a particle set of tests. */
#ifndef SET_PARAMS_H
#define SET_PARAMS_H
#include "params/params.h"
#include "sets.h"

/* Gravity, softening and radii of the set; the given mode and scheme; small leaves and groups, so that few particles
 * have a deep tree. */
static inline struct params set_params(const struct set *set, int mode, int scheme)
{
  struct params par;
  params_defaults(&par);
  par.GravityConstantInternal = set->gravity;
  par.Softening = set->softening;
  par.R1 = set->r1;
  par.R2 = set->r2;
  par.Mode = mode;
  par.Scheme = scheme;
  par.TimeMax = 1e3;
  par.MaxLeafSize = 8;
  par.MaxGroupSize = 32;
  return par;
}
#endif
