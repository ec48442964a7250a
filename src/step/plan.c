/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "step/plan.h"

#include <math.h>

#include "gravity/units.h"
#include "particles/timeline.h"

/* With equal masses the means by mass and by number differ by rounding only; a larger ratio shows unequal masses. */
#define ROUNDING 1.01

/* The larger rms counts: where light particles orbit a heavy one at rest, the mass-weighted rms does not represent their motion. */
static double larger(double by_mass, double by_number) { return by_number > ROUNDING * by_mass ? by_number : by_mass; }

/* With Integrator = hermite: for an energy error of 1e-6, errors grow as the square of the step. */
#define HERMITE_OF_CROSSING 0.05     /* of R2 / v_rms */
#define HERMITE_OF_DYNAMICAL 0.009   /* of G M^(5/2) / |4 E|^(3/2), the unit of time of N-body units */

static double plan_hermite(const struct diagnostics *now, double r2, double gravity)
{
  double step = 1e300, v = larger(now->v_rms, now->v_rms_plain);
  if (v > 0) step = HERMITE_OF_CROSSING * r2 / v;
  if (now->total < 0) step = fmin(step, HERMITE_OF_DYNAMICAL * gravity * pow(now->mass, 2.5) / pow(-4 * now->total, 1.5));
  return step;
}

double plan_adaptive(const struct params *p, const struct diagnostics *now, double r2)
{
  if (p->Integrator == INTEGRATOR_HERMITE && p->Mode != MODE_TREE) return plan_hermite(now, r2, units_gravity(p));
  double step = 1e300, v = larger(now->v_rms, now->v_rms_plain), a = larger(now->a_rms, now->a_rms_plain);
  if (v > 0) step = p->xs * r2 / v;
  if (a > 0) step = fmin(step, p->ys * sqrt(r2 / a));
  return step;
}

static double criterion_step(const struct params *p, const struct diagnostics *now, double r2, int hybrid)
{
  if (hybrid) {
    double step = p->SoftStep > 0 ? p->SoftStep : plan_adaptive(p, now, r2);
    return p->MaxSizeTimestep > 0 ? fmin(step, p->MaxSizeTimestep) : step;
  }
  if (p->MaxSizeTimestep > 0) return p->MaxSizeTimestep;
  return p->FixedStep > 0 ? p->FixedStep : plan_adaptive(p, now, r2);
}

struct plan plan_next(const struct params *p, const struct diagnostics *now, double time, double target, double r2, int hybrid,
                      long long step)
{
  struct plan plan = {.target = target, .shared_level = -1};
  double wanted = criterion_step(p, now, r2, hybrid);
  plan.soft_step = timeline_step(time, target, wanted, &plan.at_target);
  plan.shared = p->Scheme == SCHEME_SHARED;
  if (plan.shared && p->FixedStep > 0) plan.shared_level = timeline_level(wanted, p->FixedStep * (1 + 1e-9));
  int used = hybrid || (p->MaxSizeTimestep == 0 && p->FixedStep == 0);
  plan.measure_radius = used && step > 0 && step % RADIUS_INTERVAL == 0 && p->R1 == 0 && p->R2 == 0;
  return plan;
}
