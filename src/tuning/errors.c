/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The models. Lengths are in units of the virial radius L = G M^2 / (4 |E|), times in units of T = G M^(5/2) / |4
 * E|^(3/2) (the N-body units of Henon: 1 and 1 for M = G = 1, E = -1/4). v is the rms velocity in units of L / T, 1 /
 * sqrt(2) in equilibrium. A: the mean square of the acceleration in units of that in a Plummer sphere, at least 1.
 *
 * Hard part from neighbour lists, |dE/E| within some dynamical times (constants from runs of Plummer spheres of 4096
 * and 16384 particles with softening 1e-4 and 0; doc/numerics.md has them):
 *
 *   soft steps   A t^2 (MEAN_FIELD_ERROR + B LIST_PAIR_ERROR / (N R2^1.5)) (1 + (CROSSING_SCALE t v / R2)^4), t the
 *                soft step: the error of the mean field does not depend on R2; each of the pairs within R2, N^2 R2^3 in
 *                number, has a random error of m^2 v^2 / R2^3; in long steps pairs cross the changeover. B: <m^2> /
 *                <m>^2, or its root with radii by mass
 *
 * Leapfrog, |dE/E| within ten dynamical times (constants from runs of Plummer spheres and Hernquist's model of 2^14 to
 * 2^20 particles, of a merger and of a cold collapse, with true energies by direct sums; within a factor of two or
 * three). e: the softening; t: the step:
 *
 *   shared steps A t^2 (LEAPFROG_PAIR_ERROR / (N e^2)) / (1 + (2 e / (sqrt(2) v t))^2) + D t^2
 *   soft steps   A t^2 (LEAPFROG_PAIR_ERROR / (N R2^2)) CROSSING_FACTOR x / (1 + x) + D t^2, x = t v / R2
 *   block steps  BLOCK_ERROR (A^2 sqrt(BLOCK_ERROR_COUNT / N) + ENCOUNTER_ERROR BLOCK_ERROR_COUNT / N) max(1, (N
 *                e^2)^-1/4) eta^BLOCK_ERROR_POWER: ENCOUNTER_ERROR is of encounters, which count where particles are
 *                few; particles that matter have short steps, so the longest step, BLOCK_STEP_MAX, does not count; it
 *                is shorter where A has grown since the start. A: at most BLOCK_PROFILE_MAX. Without the split A^2
 *                counts (e / e0)^2 times where e is above e0 = SOFT N^SOFT_POWER, the softening of these runs: steps
 *                grow with e
 *   by acceleration alone (Criterion = a) ACCELERATION_ERROR min(1, N e^2 / ACCELERATION_SOFT)^(1/4)
 *                eta^ACCELERATION_ERROR_POWER, from runs of spheres of 1000 to 8192 particles, N e^2 of 0.004 to 0.8
 *
 * D: the energy that the leapfrog conserves differs from E by t^2 M <a^2> / 24, which changes with A: D =
 * PROFILE_CHANGE_ERROR times the largest change of A so far, less PROFILE_SCATTER of A, in which A varies by chance. It
 * is 0 in equilibrium, and large in collapses and mergers. A system out of the virial equilibrium will change: there A
 * is expected to change at least by its part |2 T + W| / |W|. */
#include <config.h>
#include "tuning/errors.h"

#include <math.h>

#define MEAN_FIELD_ERROR 4e-3
#define LIST_PAIR_ERROR 2.5
#define PLUMMER_A2 0.66 /* mean square of the acceleration, G = M = L = 1 */
#define CROSSING_SCALE 5

#define LEAPFROG_PAIR_ERROR 2.1
#define CROSSING_FACTOR 7.0
#define PROFILE_CHANGE_ERROR 0.11
#define PROFILE_SCATTER 0.05
#define IMBALANCE_GROWTH 5.0
/* Errors of forces with Delta = 2^-7 and FORCE_ERROR_COUNT particles: net forces on bodies that orbit each other. They
 * go as the root of Delta, and fall as that of the number. */
#define FORCE_ERROR 2.4e-4
#define FORCE_ERROR_COUNT 20000
/* the change of A over A^2 in spheres of BLOCK_ERROR_COUNT particles, in the first units of time, */
#define CHANCE_CHANGE 0.014
#define CHANCE_POWER 0.35 /* and with fewer particles */
#define BLOCK_ERROR 1e-5
#define BLOCK_ERROR_COUNT 16384
#define ENCOUNTER_ERROR 2.0
#define BLOCK_ERROR_POWER 3.5
#define BLOCK_PROFILE_MAX 30 /* A of block steps at most: larger ones, of collapsed cores, were not measured */
#define ETA_MIN 0.1
#define ETA_MAX 2.0
#define SOFT 0.1
#define SOFT_POWER (-0.26)
#define ACCELERATION_ERROR 0.08
#define ACCELERATION_ERROR_POWER 2.5
#define ACCELERATION_SOFT 0.4
#define ACCELERATION_ETA_MIN 0.002
#define BLOCK_STEP_MAX (1.0 / 16)
/* of it: at least this part where A has grown, for particles outside of a collapsed core */
#define BLOCK_STEP_PART_MIN (1.0 / 8)
/* A above 1 / CUSP_PROFILE_SHARE is not of a cusp alone: longest steps are shorter as its root */
#define CUSP_PROFILE_SHARE 0.1
#define CROSSING_STEP_MAX 0.8 /* of soft steps */
/* Steps may have STEP_ERROR_FACTOR times the error that is wanted per dynamical time within ten of these (forces have
 * the rest); soft steps, and block steps within them, these parts of it. */
#define STEP_ERROR_FACTOR 3.0
#define SOFT_STEP_SHARE 0.6
#define BLOCK_STEP_SHARE 0.4
/* Particles at the densest places, whose orbits are not resolved, have errors of the order of their energies: steps of
 * DENSE_STEP of the dynamical time there give |dE/E| = DENSE_ERROR times their part of the mass. */
#define DENSE_ERROR 0.2
#define DENSE_STEP 0.5
/* A shared step is not longer than this part of the time of orbits at the softening about a particle that is
 * HEAVY_RATIO times as heavy as the mean. */
#define HEAVY_STEP 0.3
#define HEAVY_RATIO 10
/* Soft steps are not longer than ORBIT_STEP of the time sqrt(R2^3 / G m) of orbits at R2 about the heaviest particle
 * for the wanted error ORBIT_ERROR, and than ORBIT_STEP_MAX of it for any: circular orbits between R1 and R2 are then
 * off by about 0.013 rad after ten of them. */
#define ORBIT_STEP 0.025
#define ORBIT_ERROR 1e-5
#define ORBIT_STEP_MAX 0.1
/* Soft steps in an external field for the wanted error FIELD_ERROR are not longer than FIELD_STEP_MEAN of the inverse
 * of the mean rate of its change, and than FIELD_STEP_LARGEST of that of the largest one (few particles on tight orbits
 * matter little for the energy): errors on an orbit go as the square. FIELD_STEP_MAX of the latter for any error: then
 * every orbit is still resolved. */
#define FIELD_STEP_MEAN 0.007
#define FIELD_STEP_LARGEST 0.04
#define FIELD_ERROR 1e-5
#define FIELD_STEP_MAX 0.1
/* Particles within the distance to the 28th neighbour. */
#define NEIGHBOURS 28

static double square(double x) { return x * x; }

struct scales errors_scales(const struct finder_system *system)
{
  double gm = system->gravity * system->mass, twice = 2 * fabs(system->energy);
  /* a system that is not bound: its extent, by neighbours; equal to the virial radius for a Plummer sphere */
  double length = 0.74 * system->distance * cbrt(system->count / NEIGHBOURS);
  if (!(system->energy < 0))
    return (struct scales){length, system->v_rms > 0 && length > 0 ? length / (sqrt(2) * system->v_rms) : 1e300,
                           system->v_rms};
  double v = fmax(system->v_rms, sqrt(twice / system->mass));
  length = gm * system->mass / (2 * twice);
  /* where nothing moves faster than in equilibrium T as above */
  return (struct scales){length, length / (sqrt(2) * v), v};
}

/* The random errors of pairs are the larger where masses differ: in proportion to their products. The heaviest particle
 * makes no pair with itself. */
static double unequal_pairs(const struct finder_system *system)
{
  double itself = system->mass > 0 ? system->count * square(system->largest_mass / system->mass) : 0;
  return sqrt(fmax(square(system->unequal) - square(itself), 1));
}

/* --- neighbour lists --------------------------------------------------------------------------------------------- */

/* With radii by mass errors of pairs go as R2^-1.5. */
static double list_pair_error(const struct finder_system *system)
{
  return LIST_PAIR_ERROR * (system->radii_by_mass ? sqrt(unequal_pairs(system)) : unequal_pairs(system));
}

double errors_profile(const struct finder_system *system)
{
  struct scales u = errors_scales(system);
  double plummer = system->gravity * system->mass / square(u.length);
  return plummer > 0 && system->energy < 0 ? square(system->a_rms / plummer) / PLUMMER_A2 : 0;
}

/* Errors of kicks grow as the square of the acceleration: their ratio to a Plummer sphere of the same energy. */
static double profile_factor(const struct finder_system *system) { return fmax(1, errors_profile(system)); }

double errors_forces(const struct finder_system *system, double delta)
{
  return system->count > 1 ? FORCE_ERROR * sqrt(128 * delta * FORCE_ERROR_COUNT / system->count) : 0;
}

double errors_chance(const struct finder_system *system)
{
  return system->count > 0
             ? CHANCE_CHANGE * square(errors_profile(system)) * pow(BLOCK_ERROR_COUNT / system->count, CHANCE_POWER)
             : 0;
}

double errors_mean_field(const struct finder_system *system) { return MEAN_FIELD_ERROR * profile_factor(system); }

double errors_soft(const struct finder_system *system, const struct scales *scales, double r2, double soft_step)
{
  double crossing = CROSSING_SCALE * soft_step * scales->v / r2;
  return profile_factor(system) * square(soft_step / scales->time) *
         (MEAN_FIELD_ERROR + list_pair_error(system) / (system->count * pow(r2 / scales->length, 1.5))) *
         (1 + square(square(crossing)));
}

/* --- leapfrog ---------------------------------------------------------------------------------------------------- */

double errors_allowed(double accuracy) { return STEP_ERROR_FACTOR * accuracy; }

/* Whether there are lengths and times to compare with. */
static int has_scales(const struct scales *scales) { return scales->length > 0 && scales->time < 1e300; }

/* The reversible error of the mean field over (t / time)^2. */
static double change_error(const struct finder_system *system)
{
  double profile = profile_factor(system), expected = fmin(system->imbalance, 1) * profile;
  return PROFILE_CHANGE_ERROR * fmax(0, fmax(system->change, expected) - PROFILE_SCATTER * profile);
}

/* The error of softened pairs in a step of all particles, over A (step / time)^2. */
static double passage_error(const struct finder_system *system, const struct scales *scales, double step)
{
  double e = system->softening / scales->length, moved = sqrt(2) * scales->v * step / scales->length;
  return e > 0 && moved > 0
             ? LEAPFROG_PAIR_ERROR * unequal_pairs(system) / (system->count * e * e) / (1 + square(2 * e / moved))
             : 0;
}

double errors_shared(const struct finder_system *system, double step)
{
  struct scales u = errors_scales(system);
  if (!has_scales(&u) || !(step > 0)) return 0;
  return square(step / u.time) * (profile_factor(system) * passage_error(system, &u, step) + change_error(system));
}

double errors_hybrid(const struct finder_system *system, double r2, double soft_step)
{
  struct scales u = errors_scales(system);
  double x = soft_step * u.v / r2;
  if (!has_scales(&u) || !(r2 > 0) || !(soft_step > 0)) return 0;
  double pairs = LEAPFROG_PAIR_ERROR * unequal_pairs(system) / (system->count * square(r2 / u.length)) *
                 CROSSING_FACTOR * x / (1 + x),
         softened = passage_error(system, &u, soft_step);
  if (softened > 0) pairs = fmin(pairs, softened); /* forces are smooth within the softening */
  return square(soft_step / u.time) * (profile_factor(system) * pairs + change_error(system));
}

/* The error of block steps with eta = 1. */
static double block_error(const struct finder_system *system)
{
  struct scales u = errors_scales(system);
  double e = u.length > 0 ? system->softening / u.length : 0,
         close = e > 0 ? fmax(1, pow(system->count * e * e, -0.25)) : 1;
  /* A at the beginning of a collapse */
  double grows = 1 + IMBALANCE_GROWTH * fmax(0, fmin(system->imbalance, 1) - PROFILE_SCATTER);
  double smooth =
      square(fmin(grows * profile_factor(system), BLOCK_PROFILE_MAX)) * sqrt(BLOCK_ERROR_COUNT / system->count);
  if (!system->split) smooth *= square(fmax(1, e / (SOFT * pow(system->count, SOFT_POWER))));
  return BLOCK_ERROR * (smooth + ENCOUNTER_ERROR * BLOCK_ERROR_COUNT / system->count) * close;
}

/* The same for steps by acceleration alone. */
static double acceleration_error(const struct finder_system *system)
{
  struct scales u = errors_scales(system);
  double e = u.length > 0 ? system->softening / u.length : 0, soft = system->count * e * e / ACCELERATION_SOFT;
  return ACCELERATION_ERROR * (soft > 0 ? pow(fmin(1, soft), 0.25) : 1);
}

double errors_block(const struct finder_system *system, double eta)
{
  if (system->by_acceleration) return acceleration_error(system) * pow(eta, ACCELERATION_ERROR_POWER);
  return block_error(system) * pow(eta, BLOCK_ERROR_POWER);
}

double errors_eta(const struct finder_system *system, int split, double allowed)
{
  double part = split ? BLOCK_STEP_SHARE : 1;
  if (!(errors_profile(system) > 0)) return 0;
  if (system->by_acceleration)
    return fmin(
        fmax(pow(part * allowed / acceleration_error(system), 1 / ACCELERATION_ERROR_POWER), ACCELERATION_ETA_MIN),
        ETA_MAX);
  return fmin(fmax(pow(part * allowed / block_error(system), 1 / BLOCK_ERROR_POWER), ETA_MIN), ETA_MAX);
}

double errors_longest_step(const struct finder_system *system)
{
  struct scales u = errors_scales(system);
  double profile = errors_profile(system), grown = system->first_profile > 0 ? profile / system->first_profile : 1;
  double part = fmax(1 / sqrt(fmax(1, fmax(grown, CUSP_PROFILE_SHARE * profile))), BLOCK_STEP_PART_MIN);
  return has_scales(&u) ? BLOCK_STEP_MAX * u.time * part : 1e300;
}

/* The longest step with at most this error, which grows with the step as `error_of` says. */
static double longest_step_within(const struct finder_system *system, double r2, double most, double error)
{
  double low = 0, high = most;
  for (int k = 0; k < 60; k++) {
    double middle = 0.5 * (low + high);
    if ((r2 > 0 ? errors_hybrid(system, r2, middle) : errors_shared(system, middle)) > error) high = middle;
    else low = middle;
  }
  return high;
}

double errors_shared_step(const struct finder_system *system, double dense, double allowed)
{
  struct scales u = errors_scales(system);
  double step = has_scales(&u) ? longest_step_within(system, 0, BLOCK_STEP_MAX * u.time, allowed) : 1e300,
         mean = system->mass / system->count;
  if (dense > 0) step = fmin(step, DENSE_STEP * dense);
  if (system->largest_mass > HEAVY_RATIO * mean && system->softening > 0)
    step = fmin(step, HEAVY_STEP * sqrt(system->softening * system->softening * system->softening /
                                        (system->gravity * system->largest_mass)));
  return step;
}

double errors_hybrid_step(const struct finder_system *system, double r2, double allowed)
{
  struct scales u = errors_scales(system);
  if (!has_scales(&u) || !(r2 > 0)) return 1e300;
  return longest_step_within(
      system, r2,
      u.v > 0 ? fmin(CROSSING_STEP_MAX * fmax(r2, system->softening) / u.v, 2 * BLOCK_STEP_MAX * u.time)
              : BLOCK_STEP_MAX * u.time,
      SOFT_STEP_SHARE * allowed);
}

double errors_dense_part(double allowed) { return allowed / DENSE_ERROR; }

double errors_dense(const struct finder_system *system, const double distance[2], double part)
{
  double mass = NEIGHBOURS * system->mass / system->count, time[2];
  if (!(distance[0] > 0) || !(distance[1] >= distance[0]) || !(mass > 0) || system->count <= NEIGHBOURS) return 0;
  for (int k = 0; k < 2; k++) time[k] = sqrt(distance[k] * distance[k] * distance[k] / (system->gravity * mass));
  double slope = log10(time[1] / time[0]);
  return time[0] * pow(fmin(part / 0.01, 1), slope);
}

double errors_orbit_step(double gravity, double mass, double r2, double accuracy)
{
  double part = fmin(ORBIT_STEP * sqrt(accuracy / ORBIT_ERROR), ORBIT_STEP_MAX);
  return mass > 0 ? part * sqrt(r2 * r2 * r2 / (gravity * mass)) : 1e300;
}

double errors_field_step(double mean, double largest, double accuracy)
{
  double wanted = sqrt(accuracy / FIELD_ERROR), step = fmin(FIELD_STEP_LARGEST * wanted, FIELD_STEP_MAX) / largest;
  return mean > 0 ? fmin(step, FIELD_STEP_MEAN * wanted / mean) : step;
}
