/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "settings/parts.h"

#include <math.h>
#include <omp.h>

#include "scheme/neighbour_lists.h"
#include "step/plan.h"
#include "system/radius.h"

int radii_are_open(const struct params *params)
{
  int model = integrator_traits[params->Integrator].has_error_model;
  if (!model || params_mode(params) == MODE_TREE || !(params->EnergyError > 0)) return 0;
  return params->R1 == 0 || params->SoftStep == 0 || params->Eta == 0;
}

/* The longest soft step: as given, and as orbits in an external field allow; 0: no limit. */
static double longest_of(const struct sim *sim)
{
  double given = sim->par->MaxSizeTimestep, field = sim->system.field_step;
  return given > 0 && field > 0 ? fmin(given, field) : fmax(given, field);
}

static struct finder_request request_of(const struct sim *sim)
{
  const struct params *p = sim->par;
  int on_device = sim->be->particle_bytes > 0;
  return (struct finder_request){.error = p->EnergyError,
                                 .r1 = p->R1,
                                 .r2 = p->R2,
                                 .soft_step = p->SoftStep,
                                 .eta = p->Eta,
                                 .longest = longest_of(sim),
                                 .delta = params_delta(p),
                                 .order = params_order(p),
                                 .soft_cost = p->SoftForceCost,
                                 .on_device = on_device,
                                 .workers = (double)sim->comm->size * (on_device ? 1 : omp_get_max_threads())};
}

void radii_find(struct sim *sim)
{
  neighbour_lists_measure_pairs(sim);
  const struct diagnostics *now = &sim->now;
  struct finder_system system = plan_system(now, 0, sim->force.gravity, sim->masses.largest);
  system.distance = radius_by_rule(sim->comm, sim->be, sim->dev, sim->masses.count, 0.5);
  system.largest_mass = sim->masses.largest;
  system.unequal = sim->masses.mean_square / (sim->masses.mean * sim->masses.mean);
  system.radii_by_mass = neighbour_lists_radii_by_mass(sim);
  if (now->bad > 0 || !(system.distance > 0) || !(now->mass > 0) || !isfinite(now->total)) return;
  sim->settings->found.request = request_of(sim);
  sim->settings->found.result = finder_find(&system, &sim->settings->found.request);
  sim->settings->found.done = 1;
  const struct finder_choice *best = &sim->settings->found.result.choice[sim->settings->found.result.best];
  struct params *in_use = &sim->settings->in_use;
  in_use->R1 = best->r1;
  in_use->R2 = best->r2;
  in_use->SoftStep = best->soft_step;
  in_use->Eta = best->eta;
  in_use->ErrTolForceAcc = sim->settings->found.result.delta;
  sim->force.mac.delta = params_tolerance(in_use, sim->force.mac.kind);
}

void settings_print_costs(const struct sim *sim, FILE *out)
{
  const struct lists_cost *m = &sim->lists.cost;
  if (!(m->entries > 0 && m->hard_seconds > 0 && m->forces > 0)) return;
  double soft = m->soft_seconds / m->forces, entry = m->hard_seconds / m->entries;
  fprintf(out,
          "costs on rank 0: a soft step %.3g us per particle, a hard pair force %.3g ns; with EnergyError, [Split] "
          "SoftForceCost = %.2g\n",
          1e6 * soft, 1e9 * entry, soft / entry);
}

void settings_print_found(const struct sim *sim, FILE *out)
{
  if (sim->settings->found.done) finder_print(&sim->settings->found.result, &sim->settings->found.request, out);
  else if (radii_are_open(sim->par) && sim->step == 0)
    fprintf(out,
            "warning: EnergyError = %g: no values were found, so R1, R2, SoftStep and Eta follow the rules: distances "
            "or the\n"
            "         energy could not be measured (too few particles, or many at one place)\n",
            sim->par->EnergyError);
}
