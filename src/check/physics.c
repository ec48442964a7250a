/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "check/physics.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "gravity/units.h"

/* Thresholds are far from what suits a system, so that ordinary runs have no findings. */
enum {
  MEANINGFUL_COUNT = 10, /* particles below which sizes mean little */
  SMOOTH_COUNT = 100     /* particles below which a system is no smooth distribution: close pairs are its physics */
};
#define LARGE_SOFTENING 0.25 /* of the half radius: forces within the system are far too weak */
/* of the median distance of nearest neighbours; the usual softening is about a quarter */
#define SMALL_SOFTENING 0.01
#define DEFAULT_SOFTENING_FACTOR 5.0 /* factor between the default softening and a suitable one */
#define AGE_OF_UNIVERSE 13.8         /* Gyr */
#define GYR_MAX 30.0                 /* no system is that old */
#define DYNAMICAL_MAX 1e5            /* dynamical times of a run: too many for any physics, */
#define DYNAMICAL_MIN 1e-4           /* too few */
#define STEP_MAX 0.5                 /* given steps, in dynamical times */
/* 2 T / |W| of a system that is neither bound nor at rest: usually a mistake in the units */
#define VIRIAL_MAX 100
#define VIRIAL_MIN 3e-3
/* Where a tenth of the particles have a neighbour within so small a part of the median distance, they are pairs, which
 * a softening of so many times that distance dissolves. */
#define PAIRS_NEAR 0.03
#define PAIRS_SOFTENING 1.0
#define UNBOUND 10.0    /* the mean square of velocities over G M / r, above which a system flies apart */
#define UNIT_FACTOR 3.0 /* within which a unit that would make the virial ratio 1 is taken for a known one */
#define GADGET_GRAVITY 43007.1
/* Softening of a component in its half-mass radius: forces at its centre are too weak, and it expands. A component that
 * is nearly as large as the system is judged as the system. */
#define COMPONENT_SOFTENING 0.12
#define COMPONENT_PART 0.5
#define HEAVY_PART 0.01         /* of the mass in one particle, */
#define HEAVY_RATIO 100         /* which has so many times the mean mass of the others */
#define RESOLUTION_MIN 0.3      /* resolution of coordinates, in softenings */
#define FAR_OUT 100             /* largest coordinate in units of the size of the system and its distance */
#define SUBSTEPS_MAX 1024       /* block steps of a soft step; ordinary systems have 4 to 128 */
#define FIELD_LONG 4.0          /* given steps, in units of those that orbits in the external field need */
#define FIELD_DEEP 100.0        /* the system's own steps, in these units */
#define DENSITY_TOLERANCE 0.05  /* relative difference of the density of a sphere from that of the universe, */
#define LATTICE_SURFACE 5       /* and what the surface of a sphere cut from a lattice adds, times N^(-2/3) */
#define EQUAL_MASSES_RATIO 1.01 /* within which masses are alike */
/* The half radius of a uniform sphere in median distances of nearest neighbours, times N^(1/3); of a Plummer sphere
 * 0.66. */
#define HALF_RADIUS_FACTOR 0.85
#define DAY 86400.0
#define LONG_RUN (100 * DAY)
#define ENDLESS_RUN (3650 * DAY)
/* Cost of a particle's block step in units of its part of a full walk: hard walks have shorter lists, but groups that
 * are not full. */
#define HARD_HYBRID 0.9
#define HARD_TREE 2.0
/* Seconds of a block step whatever is active in it: marking groups, in particles per second, and a constant. */
#define SUBSTEP_RATE 4e8
#define SUBSTEP_SECONDS 2e-5

/* --- derived numbers --------------------------------------------------------------------------------------------- */

static double length3(const double *x) { return sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]); }

/* Particles with mass. */
static double sources(const struct physics *physics) { return physics->masses.particles - physics->masses.massless; }

/* The half radius of one body of the system, where it is of several apart: distances of neighbours are then much
 * shorter than in a single sphere with the half radius of all. */
static double half_of_body(const struct physics *physics)
{
  double one = HALF_RADIUS_FACTOR * physics->size.neighbour[1] * cbrt(sources(physics));
  return one > 0 && one < physics->size.half ? one : physics->size.half;
}

double physics_softening(const struct physics *physics)
{
  return sources(physics) >= SMOOTH_COUNT && physics->size.half > 0
             ? 0.13 * half_of_body(physics) * pow(sources(physics), -0.26)
             : 0;
}

static int deepest_level(const struct physics *physics)
{
  int deepest = PHYSICS_LEVELS - 1;
  while (deepest > 0 && physics->steps.level[deepest] == 0) deepest--;
  return deepest;
}

double physics_substeps(const struct physics *physics) { return ldexp(1, deepest_level(physics)); }

double physics_soft_steps(const struct physics *physics)
{
  double steps =
      physics->steps.soft > 0 ? ceil((physics->run.end - physics->run.begin) / physics->steps.soft * (1 - 1e-12)) : 0;
  return physics->run.steps_max >= 0 ? fmin(steps, physics->run.steps_max) : steps;
}

/* Sum of 2^level over the particles whose step is shorter than the soft step: their block steps. */
static double particle_steps(const struct physics *physics)
{
  double sum = 0;
  for (int l = 1; l < PHYSICS_LEVELS; l++)
    sum += ldexp((double)physics->steps.level[l], l) - (double)physics->steps.level[l];
  return sum;
}

double physics_step_seconds(const struct physics *physics)
{
  if (physics->seconds.soft_step > 0) return physics->seconds.soft_step;
  if (!(physics->seconds.synchronisation > 0 && physics->masses.particles > 0)) return 0;
  double force = physics->seconds.walk / physics->masses.particles * (physics->steps.hybrid ? HARD_HYBRID : HARD_TREE);
  return physics->seconds.synchronisation + particle_steps(physics) * force +
         (physics_substeps(physics) - 1) * (SUBSTEP_SECONDS + physics->masses.particles / SUBSTEP_RATE);
}

double physics_run_seconds(const struct physics *physics)
{
  double steps = physics_soft_steps(physics),
         time = fmin(steps * physics->steps.soft, physics->run.end - physics->run.begin);
  return physics->seconds.per_time > 0 ? physics->seconds.per_time * time : physics_step_seconds(physics) * steps;
}

double physics_virial(const struct physics *physics)
{
  int apart = physics_has_pairs(physics);
  double potential = physics->motion.potential - (apart ? physics->pairs.potential : 0),
         kinetic = physics->motion.kinetic - (apart ? physics->pairs.kinetic : 0);
  return potential < 0 ? 2 * fmax(kinetic, 0) / -potential : 0;
}

double physics_bulk(const struct physics *physics) { return length3(physics->motion.v_com); }

/* --- findings ---------------------------------------------------------------------------------------------------- */

static void add(struct findings *findings, enum severity severity, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void add(struct findings *findings, enum severity severity, const char *format, ...)
{
  va_list args;
  if (findings->count == FINDINGS_MAX) return;
  struct finding *one = &findings->list[findings->count++];
  one->severity = severity;
  va_start(args, format);
  vsnprintf(one->text, sizeof one->text, format, args);
  va_end(args);
}

const struct finding *findings_first(const struct findings *findings, enum severity severity)
{
  for (int k = 0; k < findings->count; k++)
    if (findings->list[k].severity == severity) return &findings->list[k];
  return NULL;
}

enum { PHRASE = 96 };

/* "; set [Gravity] Softening to about 0.005", where a suitable one is known. */
static const char *advice(const struct physics *physics, char text[PHRASE])
{
  double suitable = physics_softening(physics);
  text[0] = 0;
  if (suitable > 0) snprintf(text, PHRASE, "; set [Gravity] Softening to about %.2g", suitable);
  return text;
}

static const char *seconds_text(double seconds, char text[PHRASE])
{
  static const struct {
    double seconds;
    const char *name;
  } units[] = {{365.25 * DAY, "years"}, {DAY, "days"}, {3600, "hours"}, {60, "minutes"}};
  for (int k = 0; k < 4; k++)
    if (seconds >= 3 * units[k].seconds) {
      snprintf(text, PHRASE, "%.3g %s", seconds / units[k].seconds, units[k].name);
      return text;
    }
  snprintf(text, PHRASE, "%.3g seconds", seconds);
  return text;
}

/* "a soft step has about 8192 substeps (240 seconds here)". */
static const char *substeps_text(const struct physics *physics, char text[PHRASE])
{
  char seconds[PHRASE];
  double step = physics_step_seconds(physics);
  int at = snprintf(text, PHRASE, "a soft step has about %.0f substeps", physics_substeps(physics));
  if (step > 0) snprintf(text + at, (size_t)(PHRASE - at), " and takes about %.40s", seconds_text(step, seconds));
  return text;
}

/* Softening against sizes and distances. Returns 1 where it is found too small. */
static int judge_softening(const struct physics *physics, struct findings *findings)
{
  char what[PHRASE], steps[PHRASE];
  double eps = physics->softening.smallest, near = physics->size.neighbour[1], suitable = physics_softening(physics);
  double largest = fmax(eps, physics->softening.largest), most = physics->size.most;
  if (sources(physics) < MEANINGFUL_COUNT) return 0;
  if (!(physics->size.half > 0))
    add(findings, most > 0 ? FINDING_WARNING : FINDING_WORTHLESS,
        "%s of the particles are at one place, (%.6g, %.6g, %.6g): are the positions right?",
        most > 0 ? "half" : "nine tenths", physics->size.centre[0], physics->size.centre[1], physics->size.centre[2]);
  if (!(physics->size.half > 0)) return 0;
  if (largest > most) {
    add(findings, FINDING_WORTHLESS,
        "Softening = %g%s is larger than the system, of which 90 %% are within %.3g of the centre: it would not "
        "hold together%s",
        largest, physics->softening.is_default ? " (default)" : "", physics->size.most, advice(physics, what));
    return 0;
  }
  if (largest > LARGE_SOFTENING * physics->size.half) {
    add(findings, FINDING_WARNING,
        "Softening = %g%s is %.2g of the radius %.3g that holds half of the particles: forces within the system are "
        "too weak%s",
        largest, physics->softening.is_default ? " (default)" : "", largest / physics->size.half, physics->size.half,
        advice(physics, what));
    return 0;
  }
  if (physics->steps.lists && physics->softening.is_default)
    add(findings, FINDING_WARNING,
        "Softening is not given, and its default is %g: stars of a cluster are points; give [Gravity] Softening = 0",
        eps);
  if (sources(physics) >= SMOOTH_COUNT && physics->size.neighbour[0] > 0 &&
      physics->size.neighbour[0] < PAIRS_NEAR * near && eps > PAIRS_SOFTENING * physics->size.neighbour[0]) {
    add(findings, FINDING_WARNING,
        "a tenth of the particles have another one within %.3g, where the median distance of nearest neighbours is "
        "%.3g: pairs closer than Softening = %g%s dissolve; give [Gravity] Softening = 0 where they are binaries",
        physics->size.neighbour[0], near, eps, physics->softening.is_default ? " (default)" : "");
    return 0;
  }
  if (physics->steps.lists) return 0;
  if (sources(physics) >= SMOOTH_COUNT && eps < SMALL_SOFTENING * near) {
    add(findings, FINDING_WARNING,
        "Softening = %g%s is %.3g of the distance %.3g of nearest neighbours (median): pairs scatter each other, and "
        "%s%s; where encounters matter, as in a star cluster, set [Steps] Integrator = hermite instead",
        eps, physics->softening.is_default ? " (default)" : "", eps / near, near, substeps_text(physics, steps),
        advice(physics, what));
    return 1;
  }
  if (physics->softening.is_default && suitable > 0 &&
      (physics->units.kpc > 0 || eps > DEFAULT_SOFTENING_FACTOR * suitable ||
       DEFAULT_SOFTENING_FACTOR * eps < suitable))
    add(findings, FINDING_WARNING,
        "Softening is not given, and its default is %g: about %.2g suits %.0f particles of which half are within "
        "%.3g%s%s",
        eps, suitable, sources(physics), half_of_body(physics),
        half_of_body(physics) < physics->size.half ? " of the centre of their body" : "", advice(physics, what));
  return 0;
}

/* Length of the run against dynamical times and the age of the universe. */
static void judge_times(const struct physics *physics, struct findings *findings)
{
  double t = physics->run.end - physics->run.begin, dynamical = physics_dynamical_time(physics);
  if (physics->units.gyr > 0 && t * physics->units.gyr > GYR_MAX)
    add(findings, FINDING_WARNING,
        "the run from %g to TimeMax = %g lasts %.3g Gyr, %.3g times the age of the universe: the unit of time is %.3g "
        "Gyr; for 10 Gyr set [Time] TimeMax to %.4g",
        physics->run.begin, physics->run.end, t * physics->units.gyr, t * physics->units.gyr / AGE_OF_UNIVERSE,
        physics->units.gyr, physics->run.begin + 10 / physics->units.gyr);
  else if (dynamical > 0 && t > DYNAMICAL_MAX * dynamical)
    add(findings, FINDING_WARNING,
        "the run from %g to TimeMax = %g lasts %.3g dynamical times of %.3g: is TimeMax in the units of the system?",
        physics->run.begin, physics->run.end, t / dynamical, dynamical);
  if (dynamical > 0 && t < DYNAMICAL_MIN * dynamical)
    add(findings, FINDING_WARNING,
        "the run from %g to TimeMax = %g lasts %.2g dynamical times of %.3g, in which nothing moves: is TimeMax in "
        "the units of the system?",
        physics->run.begin, physics->run.end, t / dynamical, dynamical);
  if (dynamical > 0 && sources(physics) >= MEANINGFUL_COUNT && physics->steps.given &&
      (physics->steps.hybrid || physics->steps.shared) && physics->steps.soft > STEP_MAX * dynamical)
    add(findings, FINDING_WARNING,
        "steps of %.3g are given, but the dynamical time is %.3g: orbits will be wrong; give SoftStep, FixedStep or "
        "MaxSizeTimestep below %.2g",
        physics->steps.soft, dynamical, dynamical / 20);
}

/* A unit that is in use, and in units of the table's quantity. */
struct known_unit {
  const char *name;
  double size;
};

/* The unit near `wanted`; NULL: none is. */
static const struct known_unit *find_unit(const struct known_unit *units, int count, double wanted)
{
  const struct known_unit *best = NULL;
  for (int k = 0; k < count; k++)
    if (fabs(log(units[k].size / wanted)) < log(UNIT_FACTOR) &&
        (!best || fabs(log(units[k].size / wanted)) < fabs(log(best->size / wanted))))
      best = &units[k];
  return best;
}

enum { ADVICE = 320 };

/* What would make the virial ratio about 1: first a unit that is in use. The ratio is as length times velocity^2 / mass
 * of the units. */
static const char *units_advice(const struct physics *physics, double ratio, char text[ADVICE])
{
  static const struct known_unit lengths[] = {{"au", 1 / 206264806.2}, {"pc", 1e-3}, {"kpc", 1}, {"Mpc", 1e3}},
                                 masses[] = {{"a solar mass", 1},
                                             {"1e8", 1e8},
                                             {"1e9", 1e9},
                                             {"1e10 solar masses", 1e10}},
                                 velocities[] = {{"cm/s", 1e-5}, {"m/s", 1e-3}, {"km/s", 1}, {"kpc/Myr", 977.8}};
  double length = physics->units.kpc / ratio, mass = physics->units.solar * ratio,
         velocity = physics->units.km_s / sqrt(ratio);
  const struct known_unit *l = find_unit(lengths, 4, length), *m = find_unit(masses, 4, mass),
                          *v = find_unit(velocities, 4, velocity);
  int follows = physics->units.kpc > 0 && !physics->units.gravity_is_given;
  if (follows && l)
    snprintf(text, ADVICE, " It would be about 1 with [Units] UnitLength_in_cm = %.7g (%s) in place of %.4g",
             l->size * KPC_CM, l->name, physics->units.kpc * KPC_CM);
  else if (follows && m)
    snprintf(text, ADVICE, " It would be about 1 with [Units] UnitMass_in_g = %.4g (%s) in place of %.4g",
             m->size * SOLAR_MASS_G, m->name, physics->units.solar * SOLAR_MASS_G);
  else if (follows && v)
    snprintf(text, ADVICE, " It would be about 1 with [Units] UnitVelocity_in_cm_per_s = %.4g (%s) in place of %.4g",
             v->size * 1e5, v->name, physics->units.km_s * 1e5);
  else if (follows)
    snprintf(
        text, ADVICE,
        " It would be about 1 with a unit of length %.2g times, of mass %.2g times, or of velocity %.2g times as large",
        1 / ratio, ratio, 1 / sqrt(ratio));
  else if (fabs(log(physics->units.gravity * ratio / GADGET_GRAVITY)) < log(UNIT_FACTOR))
    snprintf(text, ADVICE,
             " It would be about 1 without GravityConstantInternal, as for a file in kpc, 1e10 solar masses and km/s");
  else
    snprintf(text, ADVICE, " It would be about 1 with [Units] GravityConstantInternal = %.2g",
             physics->units.gravity * ratio);
  return text;
}

/* Softening and number of particles of each component that is smaller than the system. */
static void judge_components(const struct physics *physics, struct findings *findings)
{
  static const char *const gadget_name[PHYSICS_COMPONENTS] = {"SofteningGas",   "SofteningHalo",  "SofteningDisk",
                                                              "SofteningBulge", "SofteningStars", "SofteningBndry"};
  double time = physics->run.end - physics->run.begin;
  /* half of the mass, about a dominating one, says nothing of the others */
  if (physics->steps.lists || physics->masses.largest > 0.5 * physics->masses.total) return;
  for (int t = 0; t < PHYSICS_COMPONENTS; t++) {
    const struct component *one = &physics->component[t];
    double relaxation = physics_relaxation_time(physics, one), heating = physics_heating_time(physics, one);
    if (heating > 0 && time > heating)
      add(findings, FINDING_WARNING,
          "encounters heat the disc of type %d: the square of its vertical dispersion of %.3g doubles in a time of "
          "about "
          "%.2g, and the run lasts %.2g: the mass-weighted mean mass of the particles there, of all types, is %.2g; "
          "take more and lighter particles of the heaviest type",
          t, one->vertical, heating, time, one->perturber);
    if (!(one->half > 0) || one->half > COMPONENT_PART * physics->size.half || one->softening > physics->size.most)
      continue;
    if (one->softening > COMPONENT_SOFTENING * one->half)
      add(findings, FINDING_WARNING,
          "the softening %g of type %d is %.2g of the radius %.3g that holds half of it: forces at its centre are too "
          "weak, and it expands; set [Gravity] SofteningType%d (also %s, or Softening) to at most %.2g",
          one->softening, t, one->softening / one->half, one->half, t, gadget_name[t],
          0.5 * COMPONENT_SOFTENING * one->half);
    else if (relaxation > 0 && time > relaxation && heating == 0)
      add(findings, FINDING_WARNING,
          "encounters of particles change type %d within its half-mass radius of %.3g in a time of %.2g, and the run "
          "lasts %.2g: the mass-weighted mean mass of the particles there, of all types, is %.2g; take more particles, "
          "of like masses",
          t, one->half, relaxation, time, one->perturber);
  }
}

/* Energies and masses. Returns 1 where units seem wrong. */
static int judge_state(const struct physics *physics, struct findings *findings)
{
  double ratio = physics_virial(physics),
         rest = (physics->masses.total - physics->masses.largest) / (sources(physics) - 1);
  char advised[ADVICE];
  int wrong =
      physics->softening.smallest <= physics->size.most && ratio > 0 && (ratio > VIRIAL_MAX || ratio < VIRIAL_MIN);
  if (wrong)
    add(findings, FINDING_WARNING,
        "the virial ratio 2 T / |W| is %.3g (about 1 in a bound system): are the units of mass, length and velocity "
        "right?%s",
        ratio, units_advice(physics, ratio, advised));
  if (sources(physics) >= SMOOTH_COUNT && rest > 0 && physics->masses.largest > HEAVY_PART * physics->masses.total &&
      physics->masses.largest > HEAVY_RATIO * rest)
    add(findings, FINDING_NOTE,
        "the particle with id %llu has %.3g %% of the mass, %.3g times the mean of the others: Softening and soft "
        "steps "
        "are for particles of like masses; compare the energy error with that of smaller Eta, xs and ys",
        (unsigned long long)physics->masses.heaviest, 100 * physics->masses.largest / physics->masses.total,
        physics->masses.largest / rest);
  return wrong;
}

/* Size against the tide of an external field, of a system that its own gravity could hold together: tracers in a field
 * could not. */
static void judge_tide(const struct physics *physics, struct findings *findings)
{
  double radius = physics_jacobi_radius(physics), dispersion = physics_dispersion(physics),
         own = physics->units.gravity * physics->masses.total / fmax(physics->size.half, 1e-300);
  char unit[120] = "";
  if (!(radius > 0 && radius < physics->size.half) || sources(physics) < MEANINGFUL_COUNT ||
      dispersion * dispersion > UNBOUND * own)
    return;
  if (physics->units.kpc > 0)
    snprintf(unit, sizeof unit, " A frequency of TidalField without a unit is a multiple of %.4g km/s/kpc",
             physics->units.km_s / physics->units.kpc);
  add(findings, FINDING_WARNING,
      "the Jacobi radius in the external field is %.3g, within the radius %.3g that holds half of the particles: the "
      "field takes the system apart; are the numbers of [External] in the units of the run?%s",
      radius, physics->size.half, unit);
}

/* Steps against orbits in the external field. */
static void judge_field(const struct physics *physics, struct findings *findings)
{
  if (!(physics->steps.field > 0)) return;
  if (physics->steps.given && physics->steps.soft > FIELD_LONG * physics->steps.field)
    add(findings, FINDING_WARNING,
        "steps of %.3g are given, but orbits in the external field need soft steps of at most %.3g for the wanted "
        "Accuracy: "
        "give shorter ones, or none",
        physics->steps.soft, physics->steps.field);
  if (!physics->steps.given && physics->steps.own > FIELD_DEEP * physics->steps.field)
    add(findings, FINDING_WARNING,
        "orbits in the external field need soft steps of %.3g, where the particles alone need %.3g: some are deep in "
        "the centre "
        "of a potential; give it a core or a softening, take these particles away, or give a step of your own "
        "(MaxSizeTimestep, SoftStep)",
        physics->steps.field, physics->steps.own);
}

/* The density of a sphere of the universe, whose radius follows from the mean square distance: 3/5 of its square, of
 * which points of a lattice lack a quarter of the square of their spacing. */
static void judge_density(const struct physics *physics, struct findings *findings)
{
  double spacing = cbrt(4 * M_PI / 3 / physics->masses.particles) * sqrt(5.0 / 3) * physics->size.rms,
         radius = sqrt(5.0 / 3 * (physics->size.rms * physics->size.rms + 0.25 * spacing * spacing));
  double density = physics->masses.total / (4 * M_PI / 3 * radius * radius * radius);
  if (!(physics->run.mean_density > 0 && radius > 0) || physics->masses.particles < SMOOTH_COUNT ||
      physics->masses.largest > EQUAL_MASSES_RATIO * physics->masses.smallest)
    return;
  if (fabs(density / physics->run.mean_density - 1) <=
      DENSITY_TOLERANCE + LATTICE_SURFACE * pow(physics->masses.particles, -2.0 / 3))
    return;
  add(findings, FINDING_WARNING,
      "the sphere has the comoving mean density %.4g, %.3g times the mean density %.4g of the universe (Omega0 times "
      "the critical "
      "one): it would %s as a whole; check Omega0 and the units of mass and length, which have factors of 1/h",
      density, density / physics->run.mean_density, physics->run.mean_density,
      density > physics->run.mean_density ? "collapse" : "expand");
}

/* Place of the whole system against the resolution of positions. */
static void judge_place(const struct physics *physics, struct findings *findings)
{
  double resolution = physics->size.coordinate_max * (physics->size.single ? 0x1p-24 : 0x1p-52);
  double shortest =
      physics->softening.smallest > 0 ? physics->softening.smallest : SMALL_SOFTENING * physics->size.neighbour[0];
  if (!(shortest > 0 && resolution > RESOLUTION_MIN * shortest) || sources(physics) < MEANINGFUL_COUNT) return;
  if (physics->size.coordinate_max > FAR_OUT * (length3(physics->size.centre) + physics->size.most))
    add(findings, FINDING_WARNING,
        "coordinates are up to %.3g, but 90 %% of the particles are within %.3g of (%.3g, %.3g, %.3g), and positions "
        "are resolved to %.2g only: are the particles farthest out right?",
        physics->size.coordinate_max, physics->size.most, physics->size.centre[0], physics->size.centre[1],
        physics->size.centre[2], resolution);
  else
    add(findings, FINDING_WARNING,
        "coordinates up to %.3g are %s precision numbers, which resolve %.2g there, %.2g %s: subtract the "
        "centre, (%.6g, %.6g, %.6g), from all positions%s",
        physics->size.coordinate_max, physics->size.single ? "single" : "double", resolution,
        resolution / (physics->softening.smallest > 0 ? physics->softening.smallest : physics->size.neighbour[0]),
        physics->softening.smallest > 0 ? "softenings" : "distances of near neighbours", physics->size.centre[0],
        physics->size.centre[1], physics->size.centre[2],
        physics->size.single ? ", where they are made, and write doubles" : "");
}

/* Substeps, and seconds of the run. */
static void judge_cost(const struct physics *physics, int softening_too_small, struct findings *findings)
{
  char text[PHRASE], step[PHRASE];
  double substeps = physics_substeps(physics), seconds = physics_step_seconds(physics),
         all = physics_run_seconds(physics);
  if (substeps >= SUBSTEPS_MAX && !softening_too_small && !physics->steps.shared && !physics->steps.lists)
    add(findings, FINDING_WARNING,
        "%.0f of %.0f particles need time steps of %.2g, and %s: they are fast or close for Softening = %g and Eta",
        (double)physics->steps.level[deepest_level(physics)], physics->masses.particles, physics->steps.soft / substeps,
        substeps_text(physics, text), physics->softening.smallest);
  if (all > LONG_RUN)
    add(findings, all > ENDLESS_RUN ? FINDING_WORTHLESS : FINDING_WARNING,
        "the run would take about %s on these ranks: %.3g soft steps of %.3g "
        "to TimeMax = %g, about %s each with %.0f substeps; check TimeMax, Softening and the units, or use more ranks",
        seconds_text(all, text), physics_soft_steps(physics), physics->steps.soft, physics->run.end,
        seconds_text(seconds, step), substeps);
}

void physics_judge(const struct physics *physics, struct findings *findings)
{
  memset(findings, 0, sizeof *findings);
  if (sources(physics) < 2 || !isfinite(physics->motion.kinetic + physics->motion.potential)) return;
  int small = judge_softening(physics, findings);
  if (!physics->run.comoving) judge_times(physics, findings);
  if (!physics->run.comoving && !judge_state(physics, findings)) judge_components(physics, findings);
  judge_tide(physics, findings);
  judge_field(physics, findings);
  judge_density(physics, findings);
  judge_place(physics, findings);
  judge_cost(physics, small, findings);
}
