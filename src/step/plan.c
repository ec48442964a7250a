/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "step/plan.h"

#include <math.h>

#include "gravity/units.h"
#include "particles/timeline.h"
#include "tuning/finder.h"

/* With equal masses the means by mass and by number differ by rounding only; a larger ratio shows unequal masses. */
#define EQUAL_RMS_RATIO 1.01

/* The larger rms counts: where light particles orbit a heavy one at rest, the mass-weighted rms does not represent
 * their motion. */
static double larger(double by_mass, double by_number)
{
  return by_number > EQUAL_RMS_RATIO * by_mass ? by_number : by_mass;
}

#define ENERGY_MIN 0.1 /* smallest total energy of the model of errors, in units of kinetic and potential energy */
#define NEIGHBOURS 28
#define DENSER 3
#define STEPS_PER_OCTAVE 32 /* lengths of steps without the split between one and twice as much */
/* The energy error for which the soft step is chosen by the model of errors of an integrator is the wanted one divided
 * by this: 1e-6 by default. */
#define FINDER_ERROR_RATIO 10
/* The rms velocity of a Maxwell distribution in units of its mean speed, sqrt(3 pi / 8). In Plummer's, Hernquist's and
 * King's spheres the ratio is up to MAXWELL_SLACK times as large; a still larger one shows orbits within pairs. */
#define MAXWELL_RMS_OVER_MEAN 1.0854
#define MAXWELL_SLACK 1.05

/* Particles with mass, whose number is that of the rules: the others pull on nothing. */
static double sources(const struct diagnostics *now) { return now->count - now->massless; }

/* The heaviest particle makes no pair with itself: the energy of others about it, in units of that of all pairs of the
 * system's mass. */
static double without_heaviest(double energy, double mass, double largest)
{
  double part = 1 - largest / mass;
  return part > 0 && part < 1 ? energy / (part * (2 - part)) : energy;
}

struct finder_system plan_system(const struct diagnostics *now, double r2, double gravity, double largest_mass)
{
  double inner = 2 * now->pair_kinetic / (now->mass * now->v_rms * now->v_rms), outer = 1; /* pairs move as one */
  if (inner > 0 && inner < 1) outer = sqrt(1 - inner);
  double v = outer * larger(now->v_rms, now->v_rms_plain), most = MAXWELL_SLACK * MAXWELL_RMS_OVER_MEAN * now->speed,
         part = v > most && most > 0 ? most / v : 1, v_cm = now->v_rms * outer * part;
  double kinetic = 0.5 * now->mass * (v_cm * v_cm), potential = fmin(now->virial, 0);
  double energy = fmin(kinetic + potential, 0.5 * potential);
  /* by rule R2 is half of the distance to the 28th neighbour */
  return (struct finder_system){.count = sources(now),
                                .gravity = gravity,
                                .mass = now->mass,
                                .energy = without_heaviest(energy, now->mass, largest_mass),
                                .v_rms = part * v,
                                .a_rms = now->a_rms,
                                .distance = 2 * r2};
}

static double plan_by_model(const struct params *params, const struct diagnostics *now, double r2, double largest_mass)
{
  struct finder_system system = plan_system(now, r2, units_gravity(params), largest_mass);
  return finder_soft_step(&system, r2, params_error(params) / FINDER_ERROR_RATIO);
}

static int by_model(const struct params *params)
{
  return integrator_traits[params->Integrator].has_error_model && params_mode(params) != MODE_TREE;
}

double plan_radius_part(const struct params *params, double count, int on_device)
{
  return by_model(params) ? finder_rule_part(count, params_error(params) / FINDER_ERROR_RATIO, on_device) : 1;
}

double plan_adaptive(const struct params *params, const struct diagnostics *now, double r2)
{
  if (by_model(params)) return plan_by_model(params, now, r2, 0);
  double step = 1e300, v = larger(now->v_rms, now->v_rms_plain), a = larger(now->a_rms, now->a_rms_plain);
  if (v > 0) step = params_xs(params) * r2 / v;
  if (a > 0) step = fmin(step, params_ys(params) * sqrt(r2 / a));
  return step;
}

double plan_energy(const struct diagnostics *now)
{
  double potential = fmin(now->virial, 0), total = now->kinetic + potential, by_number = now->v_rms_plain;
  double least = ENERGY_MIN * (now->kinetic - potential);
  if (by_number > EQUAL_RMS_RATIO * now->v_rms) least = fmax(least, 0.5 * now->mass * by_number * by_number);
  return total < least ? -fmax(-total, least) : total;
}

double plan_energy_in_field(const struct diagnostics *now, double gravity)
{
  double potential = fmin(now->virial, 0),
         total = fmin(0.5 * now->mass * now->v_rms * now->v_rms + potential, 0.5 * potential);
  /* products of the masses, and so the potential, say nothing of the distances */
  if (now->a_rms_plain > EQUAL_RMS_RATIO * now->a_rms)
    total = fmin(total, -0.25 * now->mass * sqrt(gravity * now->mass * now->a_rms_plain)); /* G M^2 / (4 length) */
  return total;
}

/* The rms acceleration without that of softened pairs, which a short softening lets grow without a meaning for the mean
 * field; at most half of its square. Density and pairs: those of the median place, times a factor for denser ones. */
static double smooth_acceleration(const struct params *params, double a, double count, const struct plan_facts *facts)
{
  double d = facts->distance, density = fmin(NEIGHBOURS, count - 1) / (4.0 / 3 * M_PI * d * d * d),
         g = units_gravity(params);
  double softening = params_softening(params, NULL);
  if (!(d > 0) || !(softening > 0)) return a;
  double pairs = DENSER * 0.75 * M_PI * M_PI * g * g * facts->mean_square_mass * density / softening;
  return sqrt(a * a - fmin(pairs, 0.5 * a * a));
}

/* How far the system is from the virial equilibrium. */
static double imbalance(const struct diagnostics *now, const struct plan_facts *facts)
{
  double virial = now->virial + now->virial_field; /* in a field: about the centre of mass, of all forces */
  if (facts->in_field) return virial < 0 ? fabs(now->mass * now->v_rms * now->v_rms + virial) / -virial : 0;
  return now->virial < 0 ? fabs(2 * now->kinetic + now->virial) / -now->virial : 0;
}

struct finder_system plan_errors(const struct params *params, const struct diagnostics *now,
                                 const struct plan_facts *facts)
{
  double a = larger(now->a_rms, now->a_rms_plain), mean = facts->mean_mass * facts->mean_mass;
  return (struct finder_system){.count = sources(now),
                                .gravity = units_gravity(params),
                                .mass = now->mass,
                                .energy = facts->energy,
                                .v_rms = larger(now->v_rms, now->v_rms_plain),
                                .a_rms = smooth_acceleration(params, a, sources(now), facts),
                                .distance = facts->distance,
                                .largest_mass = facts->largest_mass,
                                .softening = params_softening(params, NULL),
                                .split = facts->hybrid,
                                .by_acceleration = params->Criterion == CRITERION_A,
                                .unequal = mean > 0 ? facts->mean_square_mass / mean : 0,
                                .first_profile = facts->first_profile,
                                .change = facts->change,
                                .imbalance = imbalance(now, facts)};
}

void plan_note_profile(const struct params *params, const struct diagnostics *now, struct plan_facts *facts)
{
  struct finder_system system = plan_errors(params, now, facts);
  double profile = errors_profile(&system);
  if (!(profile > 0)) return;
  if (!(facts->first_profile > 0)) facts->first_profile = profile;
  facts->change = fmax(facts->change, fabs(profile - facts->first_profile));
}

double plan_eta(const struct params *params, const struct diagnostics *now, const struct plan_facts *facts)
{
  int split = facts->hybrid;
  if (params->Eta > 0 || params->Comoving || params_neighbour_lists(params)) return params_eta(params, split);
  struct finder_system system = plan_errors(params, now, facts);
  double eta = errors_eta(&system, split, errors_allowed(params_error(params)));
  return eta > 0 ? eta : params_eta(params, split);
}

double plan_soft_step(const struct params *params, const struct diagnostics *now, const struct plan_facts *facts,
                      double r2)
{
  if (by_model(params)) return plan_by_model(params, now, r2, facts->largest_mass);
  double step = plan_adaptive(params, now, r2), accuracy = params_error(params);
  if (integrator_traits[params->Integrator].has_error_model) return step;
  struct finder_system system = plan_errors(params, now, facts);
  if (params->xs == 0 && params->ys == 0 && params->Criterion != CRITERION_PAIRS && errors_profile(&system) > 0)
    step = errors_hybrid_step(&system, r2, errors_allowed(accuracy));
  return fmin(step, errors_orbit_step(system.gravity, facts->mean_mass + facts->largest_mass, r2, accuracy));
}

int plan_one_step(const struct params *params, const struct plan_facts *facts)
{
  return !facts->hybrid && params_shared(params) && params->FixedStep == 0 && params->Eta == 0 && !params->Comoving;
}

double plan_whole_step(const struct params *params, const struct diagnostics *now, const struct plan_facts *facts,
                       double r2)
{
  struct finder_system system = plan_errors(params, now, facts);
  double step = plan_one_step(params, facts)
                    ? errors_shared_step(&system, facts->dense, errors_allowed(params_error(params)))
                    : errors_longest_step(&system);
  if (!(step > 0 && step < 1e300)) return plan_adaptive(params, now, r2);
  return exp2(floor(STEPS_PER_OCTAVE * log2(step)) / STEPS_PER_OCTAVE);
}

/* The longest step in the external field, in steps of two per cent. */
static double field_limit(const struct plan_facts *facts)
{
  return facts->field_step > 0 ? exp2(floor(STEPS_PER_OCTAVE * log2(facts->field_step)) / STEPS_PER_OCTAVE) : 1e300;
}

double plan_wanted(const struct params *params, const struct diagnostics *now, const struct plan_facts *facts)
{
  double r2 = facts->r2, most = params->MaxSizeTimestep > 0 ? params->MaxSizeTimestep : 1e300,
         in_field = field_limit(facts);
  if (params->Comoving)
    return facts->longest > 0 && !facts->hybrid
               ? facts->longest
               : fmin(plan_adaptive(params, now, r2), facts->longest > 0 ? facts->longest : 1e300);
  if (facts->hybrid)
    return fmin(params->SoftStep > 0 ? params->SoftStep : fmin(plan_soft_step(params, now, facts, r2), in_field), most);
  if (plan_one_step(params, facts)) return fmin(fmin(plan_whole_step(params, now, facts, r2), in_field), most);
  if (params->MaxSizeTimestep > 0) return params->MaxSizeTimestep;
  return params->FixedStep > 0 ? params->FixedStep : fmin(plan_whole_step(params, now, facts, r2), in_field);
}

int plan_has_units(const struct params *params)
{
  return integrator_traits[params->Integrator].has_units && params_mode(params) != MODE_TREE &&
         params_softening(params, NULL) == 0;
}

struct plan plan_next(const struct params *params, const struct diagnostics *now, const struct plan_facts *facts,
                      double time, double target, long long step)
{
  struct plan plan = {.target = target, .shared_level = -1};
  double wanted = plan_wanted(params, now, facts);
  plan.soft_step = timeline_step(time, target, wanted, &plan.at_target);
  plan.shared = params_shared(params);
  if (plan.shared && params->FixedStep > 0) plan.shared_level = timeline_level(wanted, params->FixedStep * (1 + 1e-9));
  if (plan_one_step(params, facts)) plan.shared_level = 0;
  int used = facts->hybrid || (params->MaxSizeTimestep == 0 && params->FixedStep == 0),
      given = params->R1 > 0 || params->R2 > 0;
  plan.measure_radius = used && step > 0 &&
                        step % (facts->hybrid && !given ? RADIUS_INTERVAL : DISTANCE_INTERVAL) == 0 &&
                        (!given || plan_has_units(params));
  return plan;
}
