/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include <math.h>

#include "params/params.h"
#include "particles/particles.h"

double params_softening_of(const struct params *params, int type)
{
  const double of[PARTICLE_TYPES] = {params->SofteningType0, params->SofteningType1, params->SofteningType2,
                                     params->SofteningType3, params->SofteningType4, params->SofteningType5};
  return of[type] > 0 ? of[type] : params->Softening;
}

static int has_particles(const struct params *params, int type)
{
  return !params->run.types || (params->run.types >> type & 1);
}

double params_softening(const struct params *params, double *of)
{
  double smallest = HUGE_VAL;
  for (int t = 0; t < PARTICLE_TYPES; t++)
    if (has_particles(params, t)) smallest = fmin(smallest, params_softening_of(params, t));
  for (int t = 0; t < PARTICLE_TYPES && of; t++)
    of[t] = has_particles(params, t) ? params_softening_of(params, t) : smallest;
  return smallest;
}

int params_softenings_differ(const struct params *params)
{
  double of[PARTICLE_TYPES], smallest = params_softening(params, of);
  for (int t = 0; t < PARTICLE_TYPES; t++)
    if (of[t] != smallest) return 1;
  return 0;
}

int params_softening_given(const struct param_origin *origin)
{
  int given = !param_is_default(origin, "Softening");
  for (int t = 0; t < PARTICLE_TYPES; t++) {
    char name[32];
    snprintf(name, sizeof name, "SofteningType%d", t);
    given |= !param_is_default(origin, name);
  }
  return given;
}
