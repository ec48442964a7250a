/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "step/plan.h"

#include <math.h>

#include "gravity/units.h"
#include "particles/timeline.h"
#include "tuning/finder.h"

/* With equal masses the means by mass and by number differ by rounding only; a larger ratio shows unequal masses. */
#define ROUNDING 1.01

/* The larger rms counts: where light particles orbit a heavy one at rest, the mass-weighted rms does not represent their motion. */
static double larger(double by_mass, double by_number) { return by_number > ROUNDING * by_mass ? by_number : by_mass; }

#define NEAR_ZERO 0.1     /* smallest total energy of the model of errors, in units of kinetic and potential energy */
#define NEIGHBOURS 28
#define DENSER 3
#define STEPS_OF_TWO 32   /* lengths of steps without the split between one and twice as much */
/* The energy error for which the soft step is chosen with Integrator = hermite is the wanted one divided by this: 1e-6 by default. */
#define HERMITE_PART 10
/* The rms velocity of a Maxwell distribution in units of its mean speed, sqrt(3 pi / 8). In Plummer's, Hernquist's and King's spheres the
 * ratio is up to SPREAD times as large; a still larger one shows orbits within pairs. */
#define MAXWELL 1.0854
#define SPREAD 1.05

/* Particles with mass, whose number is that of the rules: the others pull on nothing. */
static double sources(const struct diagnostics *now) { return now->count - now->massless; }

struct finder_system plan_system(const struct diagnostics *now, double r2, double gravity)
{
  double v = larger(now->v_rms, now->v_rms_plain), most = SPREAD * MAXWELL * now->speed, part = v > most && most > 0 ? most / v : 1;
  double kinetic = 0.5 * now->mass * now->v_rms * now->v_rms * part * part, potential = fmin(now->virial, 0);
  /* by rule R2 is half of the distance to the 28th neighbour */
  return (struct finder_system){.count = sources(now), .gravity = gravity, .mass = now->mass, .energy = fmin(kinetic + potential, 0.5 * potential),
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

double plan_energy(const struct diagnostics *now)
{
  double potential = fmin(now->virial, 0), total = now->kinetic + potential, by_number = now->v_rms_plain;
  double least = NEAR_ZERO * (now->kinetic - potential);
  if (by_number > ROUNDING * now->v_rms) least = fmax(least, 0.5 * now->mass * by_number * by_number);
  return total < least ? -fmax(-total, least) : total;
}

double plan_energy_in_field(const struct diagnostics *now, double gravity)
{
  double potential = fmin(now->virial, 0), total = fmin(0.5 * now->mass * now->v_rms * now->v_rms + potential, 0.5 * potential);
  if (now->a_rms_plain > ROUNDING * now->a_rms)   /* products of the masses, and so the potential, say nothing of the distances */
    total = fmin(total, -0.25 * now->mass * sqrt(gravity * now->mass * now->a_rms_plain));   /* G M^2 / (4 length) */
  return total;
}

/* The rms acceleration without that of softened pairs, which a short softening lets grow without a meaning for the mean field; at most half
 * of its square. Density and pairs: those of the median place, times a factor for denser ones. */
static double smooth_acceleration(const struct params *p, double a, double count, const struct plan_facts *y)
{
  double d = y->distance, density = fmin(NEIGHBOURS, count - 1) / (4.0 / 3 * M_PI * d * d * d), g = units_gravity(p);
  double softening = params_softening(p, NULL);
  if (!(d > 0) || !(softening > 0)) return a;
  double pairs = DENSER * 0.75 * M_PI * M_PI * g * g * y->mean_square_mass * density / softening;
  return sqrt(a * a - fmin(pairs, 0.5 * a * a));
}

/* How far the system is from the virial equilibrium. */
static double imbalance(const struct diagnostics *now, const struct plan_facts *y)
{
  double virial = now->virial + now->virial_field;   /* in a field: about the centre of mass, of all forces */
  if (y->in_field) return virial < 0 ? fabs(now->mass * now->v_rms * now->v_rms + virial) / -virial : 0;
  return now->virial < 0 ? fabs(2 * now->kinetic + now->virial) / -now->virial : 0;
}

struct finder_system plan_errors(const struct params *p, const struct diagnostics *now, const struct plan_facts *y)
{
  double a = larger(now->a_rms, now->a_rms_plain), mean = y->mean_mass * y->mean_mass;
  return (struct finder_system){.count = sources(now), .gravity = units_gravity(p), .mass = now->mass, .energy = y->energy,
                                .v_rms = larger(now->v_rms, now->v_rms_plain), .a_rms = smooth_acceleration(p, a, sources(now), y),
                                .distance = y->distance, .largest_mass = y->largest_mass, .softening = params_softening(p, NULL),
                                .unequal = mean > 0 ? y->mean_square_mass / mean : 0, .first_profile = y->first_profile,
                                .change = y->change, .imbalance = imbalance(now, y)};
}

void plan_note_profile(const struct params *p, const struct diagnostics *now, struct plan_facts *y)
{
  struct finder_system system = plan_errors(p, now, y);
  double profile = errors_profile(&system);
  if (!(profile > 0)) return;
  if (!(y->first_profile > 0)) y->first_profile = profile;
  y->change = fmax(y->change, fabs(profile - y->first_profile));
}

double plan_eta(const struct params *p, const struct diagnostics *now, const struct plan_facts *y)
{
  int split = y->hybrid;
  if (p->Eta > 0 || p->Comoving || params_neighbour_lists(p) || p->Criterion != CRITERION_MIN_AV) return params_eta(p, split);
  struct finder_system system = plan_errors(p, now, y);
  double eta = errors_eta(&system, split, errors_allowed(params_error(p)));
  return eta > 0 ? eta : params_eta(p, split);
}

double plan_soft_step(const struct params *p, const struct diagnostics *now, const struct plan_facts *y, double r2)
{
  double step = plan_adaptive(p, now, r2), accuracy = params_error(p);
  if (p->Integrator == INTEGRATOR_HERMITE) return step;
  struct finder_system system = plan_errors(p, now, y);
  if (p->xs == 0 && p->ys == 0 && p->Criterion != CRITERION_PAIRS && errors_profile(&system) > 0)
    step = errors_hybrid_step(&system, r2, errors_allowed(accuracy));
  return fmin(step, errors_orbit_step(system.gravity, y->mean_mass + y->largest_mass, r2, accuracy));
}

int plan_one_step(const struct params *p, const struct plan_facts *y)
{
  return !y->hybrid && params_shared(p) && p->FixedStep == 0 && p->Eta == 0 && !p->Comoving;
}

double plan_whole_step(const struct params *p, const struct diagnostics *now, const struct plan_facts *y, double r2)
{
  struct finder_system system = plan_errors(p, now, y);
  double step = plan_one_step(p, y) ? errors_shared_step(&system, y->dense, errors_allowed(params_error(p))) : errors_longest_step(&system);
  if (!(step > 0 && step < 1e300)) return plan_adaptive(p, now, r2);
  return exp2(floor(STEPS_OF_TWO * log2(step)) / STEPS_OF_TWO);
}

/* The longest step in the external field, in steps of two per cent. */
static double field_limit(const struct plan_facts *y)
{
  return y->field_step > 0 ? exp2(floor(STEPS_OF_TWO * log2(y->field_step)) / STEPS_OF_TWO) : 1e300;
}

double plan_wanted(const struct params *p, const struct diagnostics *now, const struct plan_facts *y)
{
  double r2 = y->r2, most = p->MaxSizeTimestep > 0 ? p->MaxSizeTimestep : 1e300, in_field = field_limit(y);
  if (p->Comoving) return y->longest > 0 && !y->hybrid ? y->longest : fmin(plan_adaptive(p, now, r2), y->longest > 0 ? y->longest : 1e300);
  if (y->hybrid) return fmin(p->SoftStep > 0 ? p->SoftStep : fmin(plan_soft_step(p, now, y, r2), in_field), most);
  if (plan_one_step(p, y)) return fmin(fmin(plan_whole_step(p, now, y, r2), in_field), most);
  if (p->MaxSizeTimestep > 0) return p->MaxSizeTimestep;
  return p->FixedStep > 0 ? p->FixedStep : fmin(plan_whole_step(p, now, y, r2), in_field);
}

struct plan plan_next(const struct params *p, const struct diagnostics *now, const struct plan_facts *y, double time, double target,
                      long long step)
{
  struct plan plan = {.target = target, .shared_level = -1};
  double wanted = plan_wanted(p, now, y);
  plan.soft_step = timeline_step(time, target, wanted, &plan.at_target);
  plan.shared = params_shared(p);
  if (plan.shared && p->FixedStep > 0) plan.shared_level = timeline_level(wanted, p->FixedStep * (1 + 1e-9));
  if (plan_one_step(p, y)) plan.shared_level = 0;
  int used = y->hybrid || (p->MaxSizeTimestep == 0 && p->FixedStep == 0);
  plan.measure_radius = used && step > 0 && step % (y->hybrid ? RADIUS_INTERVAL : DISTANCE_INTERVAL) == 0 && p->R1 == 0 && p->R2 == 0;
  return plan;
}
