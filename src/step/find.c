/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "step/find.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "step/hard.h"
#include "step/plan.h"
#include "system/radius.h"

int find_asked(const struct params *p)
{
  if (p->Integrator != INTEGRATOR_HERMITE || params_mode(p) == MODE_TREE || !(p->EnergyError > 0)) return 0;
  return p->R1 == 0 || p->SoftStep == 0 || p->Eta == 0;
}

/* The longest soft step: as given, and as orbits in an external field allow; 0: no limit. */
static double longest_of(const struct sim *s)
{
  double given = s->par->MaxSizeTimestep, field = s->system.field_step;
  return given > 0 && field > 0 ? fmin(given, field) : fmax(given, field);
}

static struct finder_request request_of(const struct sim *s)
{
  const struct params *p = s->par;
  int on_device = strcmp(s->be->name, "cpu") != 0;
  return (struct finder_request){.error = p->EnergyError,
                                 .r1 = p->R1,
                                 .r2 = p->R2,
                                 .soft_step = p->SoftStep,
                                 .eta = p->Eta,
                                 .longest = longest_of(s),
                                 .delta = params_delta(p),
                                 .order = params_order(p),
                                 .soft_cost = p->SoftForceCost,
                                 .on_device = on_device,
                                 .workers = (double)s->comm->size * (on_device ? 1 : omp_get_max_threads())};
}

void find_parameters(struct sim *s)
{
  const struct diagnostics *now = &s->now;
  struct finder_system system = plan_system(now, 0, s->gravity);
  system.distance = radius_by_rule(s->comm, s->be, s->dev, s->hard.count, 0.5);
  system.largest_mass = s->hard.largest_mass;
  system.unequal = s->hard.mean_square_mass / (s->hard.mean_mass * s->hard.mean_mass);
  system.radii_by_mass = hard_radii_by_mass(s);
  if (now->bad > 0 || !(system.distance > 0) || !(now->mass > 0) || !isfinite(now->total)) return;
  s->find.request = request_of(s);
  s->find.result = finder_find(&system, &s->find.request);
  s->find.done = 1;
  const struct finder_choice *best = &s->find.result.choice[s->find.result.best];
  s->own = *s->par;
  s->own.R1 = best->r1;
  s->own.R2 = best->r2;
  s->own.SoftStep = best->soft_step;
  s->own.Eta = best->eta;
  s->own.ErrTolForceAcc = s->find.result.delta;
  s->par = &s->own;
  if (s->mac.kind == MAC_ACCELERATION) s->mac.delta = s->own.ErrTolForceAcc;
}

void find_measure(struct sim *s, double seconds)
{
  const struct hard_tally *t = &s->counts.hermite;
  double hard = t->seconds - t->list_seconds;
  s->find.hard_seconds += hard;
  s->find.entries += (double)t->pairs;
  s->find.soft_seconds += seconds - hard;
  s->find.forces += (double)s->be->count(s->dev);
}

void find_print_measured(const struct sim *s, FILE *out)
{
  const struct find_part *m = &s->find;
  if (!(m->entries > 0 && m->hard_seconds > 0 && m->forces > 0)) return;
  double soft = m->soft_seconds / m->forces, entry = m->hard_seconds / m->entries;
  fprintf(out, "costs on rank 0: a soft step %.3g us per particle, a hard pair force %.3g ns; with EnergyError, [Split] SoftForceCost = %.2g\n",
          1e6 * soft, 1e9 * entry, soft / entry);
}

void find_print(const struct sim *s, FILE *out)
{
  if (s->find.done)
    finder_print(&s->find.result, &s->find.request, out);
  else if (find_asked(s->par) && s->step == 0)
    fprintf(out, "warning: EnergyError = %g: no values were found, so R1, R2, SoftStep and Eta follow the rules: distances or the\n"
            "         energy could not be measured (too few particles, or many at one place)\n", s->par->EnergyError);
}
