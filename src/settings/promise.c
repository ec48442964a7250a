/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "settings/promise.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "settings/settings.h"
#include "step/effects.h"

/* The first parameter that gives steps or forces by hand; NULL: none does. */
static const char *given_by_hand(const struct params *asked, const struct params *in_use)
{
  const struct {
    const char *name;
    int given;
  } list[] = {{"SoftStep", asked->SoftStep > 0},
              {"FixedStep", asked->FixedStep > 0},
              {"Eta", asked->Eta > 0},
              {"xs", asked->xs > 0},
              {"ys", asked->ys > 0},
              /* elsewhere it only shortens steps */
              {"MaxSizeTimestep", asked->MaxSizeTimestep > 0 && in_use->Mode == MODE_TREE && !params_shared(in_use)},
              {"ErrTolForceAcc", asked->ErrTolForceAcc > 0},
              {"TypeOfOpeningCriterion", asked->TypeOfOpeningCriterion != MAC_ACCELERATION}};
  for (size_t k = 0; k < sizeof list / sizeof *list; k++)
    if (list[k].given) return list[k].name;
  return NULL;
}

void promise_open(struct promise *promise, const struct sim *sim)
{
  const struct params *asked = sim->settings ? &sim->settings->asked : sim->par;
  _Static_assert(sizeof *promise - offsetof(struct promise, dynamical) == PROMISE_NUMBERS * sizeof(double),
                 "the numbers of a checkpoint");
  memset(promise, 0, sizeof *promise);
  promise->without = given_by_hand(asked, sim->par);
  if (promise->without || effects_have(sim, EFFECT_COMOVING) || effects_have(sim, EFFECT_ENERGY_CHANGES)) return;
  promise->wanted = fmax(asked->EnergyError > 0 ? asked->EnergyError : params_error(asked), PROMISE_WANTED_MIN);
}

double promise_dynamical_time(const struct sim *sim)
{
  struct finder_system system = params_neighbour_lists(sim->par)
                                    ? plan_system(&sim->now, sim->system.r2, sim->force.gravity, sim->masses.largest)
                                    : plan_errors(sim->par, &sim->now, &sim->system);
  struct scales scales = errors_scales(&system);
  double gm = system.gravity * system.mass;
  return scales.length > 0 && gm > 0 ? sqrt(scales.length * scales.length * scales.length / gm) : 1e300;
}

void promise_step(struct promise *promise, const struct sim *sim, double soft_step)
{
  promise->dynamical += soft_step / promise_dynamical_time(sim);
}

void promise_resume(struct promise *promise, const struct sim *sim)
{
  promise_step(promise, sim, fmax(0, sim->time - sim->par->TimeBegin));
}

double promise_now(const struct promise *promise) { return promise->wanted * fmax(promise->dynamical, PROMISE_TIMES); }

void promise_note(const struct promise *promise, struct kept *kept, double error, double time)
{
  double promised = promise_now(promise);
  if (error > ERROR_UNTRUSTED || (promised > 0 && error > PROMISE_BROKEN * promised)) kept->untrusted = 1;
  if (promised > 0 && kept->promised > 0 ? error * kept->promised <= kept->error * promised : error <= kept->error)
    return;
  kept->error = error;
  kept->promised = promised;
  kept->time = time;
}

int promise_missed(const struct kept *kept)
{
  return kept->promised > 0 && kept->error > PROMISE_WARNING * kept->promised;
}

const char *promise_text(const struct promise *promise, const struct params *params, double promised, char text[160])
{
  if (!(promise->wanted > 0) && !promise->without) snprintf(text, 160, "nothing is promised");
  else if (!(promise->wanted > 0)) snprintf(text, 160, "nothing is promised where %s is given", promise->without);
  else if (params->EnergyError > 0)
    snprintf(text, 160, "EnergyError = %g promises %.1e", params->EnergyError, promised);
  else snprintf(text, 160, "Accuracy = %.60s promises %.1e", params->Accuracy, promised);
  return text;
}
