/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The integrator where it is not given but others of the parameters need one. */
#include <config.h>
#include <string.h>

#include "params/params.h"
#include "particles/particles.h"

/* The first integrator that is for little or no softening, and for a wanted error of the energy. */
static int for_stars(void)
{
  int k = 0;
  while (k < INTEGRATOR_COUNT - 1 && !integrator_traits[k].has_error_model) k++;
  return k;
}

/* 1: one fixed step for all particles, the only leapfrog of tree walks without a softening. */
static int one_fixed_step(const struct params *params)
{
  return params_mode(params) == MODE_TREE && params_shared(params) && params->FixedStep > 0;
}

int params_without_integrator(const struct params *params)
{
  if (params->EnergyError > 0) return !integrator_traits[params->Integrator].has_error_model;
  return !(params_softening(params, NULL) > 0) && !params_neighbour_lists(params) && !one_fixed_step(params);
}

const char *params_against_hermite(const struct params *params, const struct param_origin *origin)
{
  static const char *const types[PARTICLE_TYPES] = {"SofteningType0", "SofteningType1", "SofteningType2",
                                                    "SofteningType3", "SofteningType4", "SofteningType5"};
  if (params->Mode == MODE_TREE) return "Mode";
  if (params->Scheme == SCHEME_SHARED) return "Scheme";
  if (params->Criterion != CRITERION_MIN_AV || !param_is_default(origin, "Criterion")) return "Criterion";
  if (params->FixedStep > 0) return "FixedStep";
  if (params->Comoving) return "Comoving";
  /* which types have particles is not known yet */
  for (int t = 0; t < PARTICLE_TYPES && !(params->EnergyError > 0); t++)
    if (params_softening_of(params, t) > params->Softening) return types[t];
  return param_is_default(origin, "Integrator") ? NULL : "Integrator";
}

void params_choose_integrator(struct params *params, const struct param_origin *origin)
{
  if (params_without_integrator(params) && !params_against_hermite(params, origin)) params->Integrator = for_stars();
}

int params_integrator_chosen(const struct params *params, const struct param_origin *origin, char *text, size_t size)
{
  char eta[100] = "";
  text[0] = 0;
  if (params->Integrator == INTEGRATOR_OF_WALKS || !param_is_default(origin, "Integrator")) return 0;
  if (params->Eta > 0 && !param_is_default(origin, "Eta"))
    snprintf(eta, sizeof eta, "; Eta = %g is the factor of Aarseth's criterion", params->Eta);
  if (params->EnergyError > 0)
    snprintf(text, size, "Integrator = %s, as EnergyError = %g is for its radii and steps%s",
             integrator_traits[params->Integrator].name, params->EnergyError, eta);
  else
    snprintf(text, size, "Integrator = %s, as Softening = 0: steps by the leapfrog scale with the softening%s",
             integrator_traits[params->Integrator].name, eta);
  return 1;
}
