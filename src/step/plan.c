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

/* The energy error for which the soft step is chosen with Integrator = hermite is the wanted one divided by this: 1e-6 by default. */
#define HERMITE_PART 10
/* The rms velocity of a Maxwell distribution in units of its mean speed, sqrt(3 pi / 8). In Plummer's, Hernquist's and King's spheres the
 * ratio is up to SPREAD times as large; a still larger one shows orbits within pairs. */
#define MAXWELL 1.0854
#define SPREAD 1.05

struct finder_system plan_system(const struct diagnostics *now, double r2, double gravity)
{
  double v = larger(now->v_rms, now->v_rms_plain), most = SPREAD * MAXWELL * now->speed, part = v > most && most > 0 ? most / v : 1;
  double kinetic = 0.5 * now->mass * now->v_rms * now->v_rms * part * part, potential = fmin(now->virial, 0);
  /* by rule R2 is half of the distance to the 28th neighbour */
  return (struct finder_system){.count = now->count, .gravity = gravity, .mass = now->mass, .energy = fmin(kinetic + potential, 0.5 * potential),
                                .v_rms = part * v, .a_rms = now->a_rms, .distance = 2 * r2};
}

static double plan_hermite(const struct params *p, const struct diagnostics *now, double r2)
{
  struct finder_system system = plan_system(now, r2, units_gravity(p));
  return finder_soft_step(&system, r2, params_error(p) / HERMITE_PART);
}

double plan_adaptive(const struct params *p, const struct diagnostics *now, double r2)
{
  if (p->Integrator == INTEGRATOR_HERMITE && params_mode(p) != MODE_TREE) return plan_hermite(p, now, r2);
  double step = 1e300, v = larger(now->v_rms, now->v_rms_plain), a = larger(now->a_rms, now->a_rms_plain);
  if (v > 0) step = params_xs(p) * r2 / v;
  if (a > 0) step = fmin(step, params_ys(p) * sqrt(r2 / a));
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
  plan.shared = params_shared(p);
  if (plan.shared && p->FixedStep > 0) plan.shared_level = timeline_level(wanted, p->FixedStep * (1 + 1e-9));
  int used = hybrid || (p->MaxSizeTimestep == 0 && p->FixedStep == 0);
  plan.measure_radius = used && step > 0 && step % RADIUS_INTERVAL == 0 && p->R1 == 0 && p->R2 == 0;
  return plan;
}
