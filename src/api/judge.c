/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The judgement of a system that a run has at its start. */
#include <config.h>
#include "api/api.h"

#include <math.h>
#include <stdio.h>

#include "check/measure.h"
#include "step/effects.h"

#define RUN_LENGTH 100 /* dynamical times */

int api_judge(espalier *e, char *text, size_t size)
{
  struct fault f = {""};
  struct physics physics;
  struct findings findings;
  struct sim *sim = e->sim;
  if (!text || size == 0) fault_set(&f, "text: expected room for warnings, found none");
  int code = api_agree(&e->comm, ESPALIER_BAD_ARGUMENT, &f);
  if (code) return code;
  text[0] = 0;
  if (sim->now.bad > 0) return ESPALIER_OK;
  struct plan plan = effects_plan(sim, fmax(sim->par->TimeMax, sim->time));
  measure_physics(sim, &plan, &physics);
  /* a length of the run that has no finding: the caller knows how long it is */
  physics.run.begin = 0;
  physics.run.end = RUN_LENGTH * physics_dynamical_time(&physics);
  for (int t = 0; t < PHYSICS_COMPONENTS; t++) physics.component[t].perturber = 0;
  physics.softening.is_default = !e->softening_given;
  physics_judge(&physics, &findings);
  const struct finding *worst = findings_first(&findings, FINDING_WORTHLESS);
  for (size_t at = 0, k = 0; e->comm.rank == 0 && k < (size_t)findings.count && at < size; k++)
    if (findings.list[k].severity == FINDING_WARNING)
      at += (size_t)snprintf(text + at, size - at, "%s%s", at ? "\n" : "", findings.list[k].text);
  if (e->comm.rank == 0 && worst) fault_set(&f, "%s", worst->text);
  return api_agree(&e->comm, ESPALIER_BAD_PARAMETER, &f);
}
