/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include <math.h>

#include "params/params.h"
#include "particles/particles.h"

double params_softening_of(const struct params *p, int type)
{
  const double of[PARTICLE_TYPES] = {p->SofteningType0, p->SofteningType1, p->SofteningType2,
                                     p->SofteningType3, p->SofteningType4, p->SofteningType5};
  return of[type] > 0 ? of[type] : p->Softening;
}

static int has_particles(const struct params *p, int type) { return !p->run.types || (p->run.types >> type & 1); }

double params_softening(const struct params *p, double *of)
{
  double smallest = HUGE_VAL;
  for (int t = 0; t < PARTICLE_TYPES; t++)
    if (has_particles(p, t)) smallest = fmin(smallest, params_softening_of(p, t));
  for (int t = 0; t < PARTICLE_TYPES && of; t++) of[t] = has_particles(p, t) ? params_softening_of(p, t) : smallest;
  return smallest;
}

int params_softenings_differ(const struct params *p)
{
  double of[PARTICLE_TYPES], smallest = params_softening(p, of);
  for (int t = 0; t < PARTICLE_TYPES; t++)
    if (of[t] != smallest) return 1;
  return 0;
}
