/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The check of the physics before a run: an ordinary system has no finding; each mistake has one, with numbers and what
 * to set. And the estimate of memory. */
#include <config.h>
#include <math.h>
#include <string.h>

#include "check/need.h"
#include "check/physics.h"
#include "tap.h"

/* A Plummer sphere of 10^5 particles in units of `espalier ic`, as measured. */
static struct physics ordinary(void)
{
  struct physics physics = {.softening.smallest = 0.005,
                            .units.gravity = 1,
                            .run.begin = 0,
                            .run.end = 10,
                            .steps.hybrid = 1,
                            .run.steps_max = -1,
                            .masses.particles = 1e5,
                            .masses.total = 1,
                            .size.half = 0.77,
                            .size.most = 2.4,
                            .size.neighbour = {0.01, 0.025, 0.12},
                            .size.coordinate_max = 25,
                            .motion.kinetic = 0.25,
                            .motion.potential = -0.5,
                            .motion.v_rms = 0.707,
                            .masses.smallest = 1e-5,
                            .masses.largest = 1e-5,
                            .masses.heaviest = 1,
                            .steps.soft = 0.02,
                            .seconds.synchronisation = 0.3,
                            .seconds.walk = 0.2};
  physics.steps.level[1] = 20000;
  physics.steps.level[2] = 60000;
  physics.steps.level[3] = 20000;
  return physics;
}

static struct findings judge(const struct physics *physics)
{
  struct findings f;
  physics_judge(physics, &f);
  for (int k = 0; k < f.count; k++) printf("# %d %s\n", f.list[k].severity, f.list[k].text);
  return f;
}

static void none(const struct physics *physics, const char *what) { tap_ok(judge(physics).count == 0, what); }

/* One finding of this severity, with these words. */
static void one(const struct physics *physics, enum severity severity, const char *first, const char *second,
                const char *what)
{
  struct findings f = judge(physics);
  tap_ok(f.count == 1 && f.list[0].severity == severity && strstr(f.list[0].text, first) &&
             strstr(f.list[0].text, second) && findings_first(&f, severity) == &f.list[0],
         what);
}

static int near(double x, double y) { return fabs(x - y) <= 0.02 * fabs(y); }

/* Units that are wrong: first that which makes the virial ratio 1, of those in use. */
static void check_units(void)
{
  struct physics physics = ordinary();
  physics.softening.smallest = 0.005;
  physics.units.gyr = 1e-4;
  physics.units.kpc = 1e-3;
  physics.units.km_s = 1;
  physics.units.solar = 1e10;
  physics.motion.potential = -1000;
  one(&physics, FINDING_WARNING, "is 0.0005",
      "with [Units] UnitLength_in_cm = 3.085678e+21 (kpc) in place of 3.086e+18", "parsecs for a file in kpc");
  physics.units.kpc = 1;
  physics.units.solar = 1;
  physics.motion.potential = -0.5e-10;
  one(&physics, FINDING_WARNING, "is 1e+10", "with [Units] UnitMass_in_g = 1.988e+43 (1e10 solar masses) in place of",
      "solar masses for a file in 1e10 of them");
  physics.units.km_s = 100;
  physics.units.solar = 1e10;
  physics.motion.potential = -0.5e-4;
  one(&physics, FINDING_WARNING, "is 1e+04", "with [Units] UnitVelocity_in_cm_per_s = 1e+05 (km/s) in place of 1e+07",
      "100 km/s for a file in km/s");
  physics.motion.potential = -0.5 / 3e4;
  physics.units.solar = 1e7;
  physics.units.kpc = 3000;
  physics.units.km_s = 1e6;
  one(&physics, FINDING_WARNING, "is 3e+04",
      "a unit of length 3.3e-05 times, of mass 3e+04 times, or of velocity 0.0058 times", "no unit in use");
  physics = ordinary();
  physics.units.gravity_is_given = 1;
  physics.motion.potential = -0.5 / 43000;
  one(&physics, FINDING_WARNING, "is 4.3e+04", "without GravityConstantInternal, as for a file in kpc",
      "G = 1 for GADGET's units");
}

/* Pairs with most of the energy, and a system that is one pair. */
static void check_pairs(void)
{
  struct physics physics = ordinary();
  double kinetic = physics.motion.kinetic, potential = physics.motion.potential;
  physics.motion.kinetic += 900;
  physics.motion.potential -= 10;
  physics.pairs = (struct physics_pairs){100, 900, -10};
  none(&physics, "pairs at their pericentres");
  tap_ok(near(physics_virial(&physics), -2 * kinetic / potential), "... the virial ratio is that of centres of mass");
  physics.pairs = (struct physics_pairs){0, 0, 0};
  one(&physics, FINDING_WARNING, "the virial ratio 2 T / |W| is 1", "units", "the same motion of single stars");
  physics.pairs = (struct physics_pairs){1, physics.motion.kinetic, physics.motion.potential * (1 - 1e-12)};
  tap_ok(!physics_has_pairs(&physics) && physics_virial(&physics) > 100, "a pair alone has no other energy");
}

/* A cluster in an external field, and the dispersion of one with pairs. */
static void check_tide(void)
{
  struct physics physics = ordinary();
  physics.tide = (struct physics_tide){.stretch = 1.0 / 64, .reach = 100};
  tap_ok(near(physics_jacobi_radius(&physics), 4), "the Jacobi radius of a mass of 1");
  none(&physics, "a cluster within it");
  physics.tide.reach = 3;
  tap_ok(physics_jacobi_radius(&physics) == 0, "none where it is larger than the field's own scale");
  physics.tide = (struct physics_tide){.stretch = 64, .reach = 100};
  one(&physics, FINDING_WARNING, "the Jacobi radius in the external field is 0.25, within the radius 0.77",
      "in the units of the run?", "a field of other units, which takes the cluster apart");
  physics.tide = (struct physics_tide){0};
  tap_ok(near(physics_dispersion(&physics), sqrt(0.5)), "the dispersion of single stars");
  physics.motion.kinetic += 900;
  physics.motion.potential -= 10;
  physics.pairs = (struct physics_pairs){100, 900, -10};
  tap_ok(near(physics_dispersion(&physics), sqrt(0.5)) && near(physics_crossing_time(&physics), 1.54 / sqrt(0.5)),
         "... of pairs as centres of mass, and the crossing time with it");
}

/* Stars of which some are binaries, with a softening. */
static void check_softened_pairs(void)
{
  struct physics physics = ordinary();
  physics.size.neighbour[0] = 5e-4;
  physics.softening.smallest = 4e-4;
  none(&physics, "binaries wider than the softening");
  physics.softening.smallest = 0.005;
  one(&physics, FINDING_WARNING, "a tenth of the particles have another one within 0.0005",
      "closer than Softening = 0.005 dissolve", "binaries that the softening dissolves");
}

/* A bulge in a larger galaxy: its softening, and encounters in it. */
static void check_components(void)
{
  struct physics physics = ordinary();
  physics.softening.smallest = 0.02;
  physics.component[3] =
      (struct component){.particles = 2000, .softening = 0.02, .half = 0.1, .inner = 0.1, .perturber = 1e-5};
  one(&physics, FINDING_WARNING, "the softening 0.02 of type 3 is 0.2 of the radius 0.1 that holds half of it",
      "SofteningType3 (also SofteningBulge, or Softening) to at most 0.006",
      "a softening that is large for a component");
  physics.component[3].softening = 0.01;
  none(&physics, "... one that suits it");
  tap_ok(near(physics_relaxation_time(&physics, &physics.component[3]), 0.138 * 2e4 * sqrt(0.001 / 0.2) / log(10)),
         "its relaxation time");
  physics.run.end = 100;
  one(&physics, FINDING_WARNING, "change type 3 within its half-mass radius of 0.1 in", "of all types, is 1e-05",
      "a run that is longer than that");
  physics.component[3].half = 0.5;
  none(&physics, "a component that is as large as the system is judged as the system");
  physics.component[3].half = 0.1;
  physics.steps.lists = 1;
  none(&physics, "nor are those of neighbour lists");
}

static void check_ordinary(void)
{
  struct physics physics = ordinary();
  none(&physics, "an ordinary system");
  physics.softening.smallest = 0.03;
  physics.motion.v_com[1] = 3;
  physics.motion.v_rms = 0.5;
  none(&physics, "... with a larger softening, in motion");
  physics = ordinary();
  physics.units.kpc = physics.units.km_s = 1;
  physics.units.gyr = 0.978;
  physics.size.coordinate_max = 1e4;
  none(&physics, "... in physical units");
  physics = ordinary();
  physics.motion.kinetic = 0;
  physics.motion.v_rms = 0;
  none(&physics, "... at rest");
  physics = ordinary();
  physics.softening.is_default = 1;
  physics.softening.smallest = 0.02;
  none(&physics, "... a default softening in a model, which suits it well enough");
  physics = (struct physics){.softening.smallest = 0.1,
                             .units.gravity = 1,
                             .run.end = 1,
                             .run.steps_max = -1,
                             .masses.particles = 2,
                             .masses.total = 1,
                             .size.half = 1,
                             .size.most = 1,
                             .size.neighbour = {2, 2, 2},
                             .masses.largest = 0.999,
                             .motion.kinetic = 0.25,
                             .motion.potential = -0.5,
                             .motion.v_rms = 0.7,
                             .steps.soft = 0.1};
  none(&physics, "a planet: small systems have heavy particles and any softening");
  physics.masses.particles = 1;
  physics.softening.smallest = 100;
  none(&physics, "one particle is not judged");
  physics = ordinary();
  physics.motion.potential = NAN;
  none(&physics, "values that are not finite are not judged");
}

/* A uniform sphere of the universe, of radius and mass 1. */
static void check_density(void)
{
  struct physics physics = ordinary();
  physics.run.comoving = 1;
  physics.size.half = cbrt(0.5);
  physics.size.most = cbrt(0.9);
  physics.size.rms = sqrt(0.6);
  physics.run.mean_density = 1 / (4 * M_PI / 3);
  physics.masses.particles = 1e9;
  physics.run.end = 1e9;
  physics.motion.kinetic = 1e6;
  physics.steps.soft = 1e7;
  physics.softening.smallest = 0.001;
  none(&physics, "comoving coordinates: times and velocities are not judged");
  physics.run.mean_density *= 1.2;
  one(&physics, FINDING_WARNING,
      "the comoving mean density 0.2387, 0.833 times the mean density 0.2865 of the universe",
      "it would expand as a whole", "a sphere that is less dense");
  physics.run.mean_density /= 1.44;
  one(&physics, FINDING_WARNING, "1.2 times the mean density 0.1989", "it would collapse as a whole", "... denser");
  physics.masses.largest *= 8;
  none(&physics, "... of unequal masses, whose numbers say nothing of densities");
}

static void check_softening(void)
{
  struct physics physics = ordinary();
  physics.softening.smallest = 40;
  one(&physics, FINDING_WORTHLESS, "Softening = 40 is larger than the system, of which 90 % are within 2.4",
      "set [Gravity] Softening to about 0.005", "a softening larger than the system asks for --force");
  physics.size.half = physics.size.most = 0;
  one(&physics, FINDING_WORTHLESS, "nine tenths of the particles are at one place, (0, 0, 0)",
      "are the positions right?", "positions that were never written ask for --force");
  physics.size.most = 2.4;
  physics.softening.smallest = 0.005;
  one(&physics, FINDING_WARNING, "half of the particles are at one place", "are the positions right?", "half of them");
  physics = ordinary();
  physics.softening.smallest = 0.5;
  one(&physics, FINDING_WARNING, "is 0.65 of the radius 0.77 that holds half", "Softening to about 0.005",
      "a large softening");
  physics.softening.smallest = 5e-6;
  physics.steps.level[1] = physics.steps.level[2] = physics.steps.level[3] = 0;
  physics.steps.level[13] = 100000;
  one(&physics, FINDING_WARNING, "is 0.0002 of the distance 0.025 of nearest neighbours",
      "a soft step has about 8192 substeps and takes about ",
      "a softening a thousand times too small: substeps and seconds of a soft step");
  one(&physics, FINDING_WARNING, "pairs scatter each other",
      "; where encounters matter, as in a star cluster, set [Steps] Integrator = hermite instead",
      "... and what to do in a star cluster");
  physics = ordinary();
  physics.softening.is_default = 1;
  physics.softening.smallest = 0.1;
  physics.units.kpc = physics.units.km_s = 1;
  physics.units.gyr = 0.978;
  one(&physics, FINDING_WARNING, "Softening is not given, and its default is 0.1: about 0.005 suits",
      "set [Gravity] Softening to about 0.005", "a softening that is not given, in physical units");
  physics.units.kpc = physics.units.km_s = physics.units.gyr = 0;
  one(&physics, FINDING_WARNING, "Softening is not given", "0.005", "... far from what suits a model");
  physics.softening.smallest = 4;
  one(&physics, FINDING_WORTHLESS, "Softening = 4 (default) is larger", "0.005", "... larger than the system");
  physics = ordinary();
  physics.steps.lists = 1;
  physics.softening.smallest = 0;
  none(&physics, "none, with Integrator = hermite");
  physics.softening.is_default = 1;
  physics.softening.smallest = 0.01;
  one(&physics, FINDING_WARNING, "its default is 0.01", "give [Gravity] Softening = 0",
      "a default softening with Integrator = hermite");
}

static void check_times(void)
{
  struct physics physics = ordinary();
  physics.run.end = 1000;
  physics.units.kpc = physics.units.km_s = 1;
  physics.units.gyr = 0.978;
  one(&physics, FINDING_WARNING, "lasts 978 Gyr, 70.9 times the age of the universe", "set [Time] TimeMax to 10.2",
      "978 Gyr");
  physics = ordinary();
  physics.run.end = 2e5;
  physics.run.steps_max = 10;
  one(&physics, FINDING_WARNING, "dynamical times of 0.956", "TimeMax", "too many dynamical times");
  physics.run.end = 1e-5;
  one(&physics, FINDING_WARNING, "in which nothing moves", "TimeMax", "no dynamical time");
  physics = ordinary();
  physics.steps.given = 1;
  physics.steps.soft = 1;
  one(&physics, FINDING_WARNING, "steps of 1 are given, but the dynamical time is 0.956", "below 0.048",
      "a given soft step of a dynamical time");
  physics.steps.hybrid = 0;
  none(&physics, "... which does nothing in tree mode with block steps");
}

static void check_state(void)
{
  struct physics physics = ordinary();
  physics.motion.kinetic = 1e3;
  one(&physics, FINDING_WARNING, "the virial ratio 2 T / |W| is 4e+03", "are the units", "too fast for its mass");
  physics.motion.kinetic = 1e-5;
  one(&physics, FINDING_WARNING, "the virial ratio 2 T / |W| is 4e-05", "are the units", "too slow");
  check_units();
  check_components();
  check_pairs();
  check_tide();
  check_softened_pairs();
  physics = ordinary();
  physics.masses.largest = 0.2;
  physics.masses.heaviest = 77;
  one(&physics, FINDING_NOTE, "the particle with id 77 has 20 % of the mass", "smaller Eta, xs and ys",
      "a dominating particle");
  physics = ordinary();
  physics.masses.particles = 200;
  physics.masses.largest = physics.masses.smallest = 0.02;
  physics.masses.total = 4;
  physics.softening.smallest = 0.05;
  none(&physics, "... equal masses of more than a per cent do not dominate");
}

static void check_place(void)
{
  struct physics physics = ordinary();
  physics.motion.v_com[0] = 1e6;
  none(&physics, "a bulk velocity of 10^6");
  tap_ok(physics_bulk(&physics) == 1e6, "... which is printed");
  physics = ordinary();
  physics.size.coordinate_max = 1e5;
  physics.size.single = 1;
  physics.size.centre[2] = 1e5;
  one(&physics, FINDING_WARNING, "are single precision numbers, which resolve 0.006 there, 1.2 softenings",
      "subtract the centre, (0, 0, 100000)", "a system far from the origin, in single precision");
  physics.size.single = 0;
  none(&physics, "... in double precision");
  physics.size.coordinate_max = 1e15;
  one(&physics, FINDING_WARNING, "coordinates are up to 1e+15, but 90 % of the particles are within",
      "farthest out right?", "a few particles are far out");
  physics.size.centre[2] = 1e15;
  one(&physics, FINDING_WARNING, "are double precision numbers", "subtract the centre", "a system farther out");
}

static void check_cost(void)
{
  struct physics physics = ordinary();
  tap_ok(physics_substeps(&physics) == 8 && physics_soft_steps(&physics) == 500 &&
             near(physics_step_seconds(&physics), 0.3 + 3.4e5 * 2e-6 * 0.9 + 7 * 2.7e-4),
         "substeps, soft steps, seconds of a soft step");
  physics.run.steps_max = 3;
  tap_ok(physics_soft_steps(&physics) == 3, "... with -n");
  physics = ordinary();
  physics.steps.level[12] = 3;
  one(&physics, FINDING_WARNING,
      "3 of 100000 particles need time steps of 4.9e-06, and a soft step has about 4096 substeps", "Softening = 0.005",
      "a few fast particles");
  physics = ordinary();
  physics.steps.soft = 1e-6;
  physics.seconds.synchronisation = physics.seconds.soft_step = 10;
  one(&physics, FINDING_WARNING, "the run would take about 3.17 years on these ranks: 1e+07 soft steps of 1e-06",
      "Softening", "years");
  physics.steps.soft = 1e-7;
  one(&physics, FINDING_WORTHLESS, "the run would take about 31.7 years", "Softening", "many years ask for --force");
  physics.run.steps_max = 100;
  none(&physics, "... not with -n");
  physics = ordinary();
  tap_ok(near(physics_softening(&physics), 0.005) && near(physics_dynamical_time(&physics), 0.955) &&
             near(physics_crossing_time(&physics), 2.18),
         "a suitable softening, dynamical and crossing time");
  physics.size.half *= 10;
  double apart = physics_softening(&physics);
  tap_ok(apart > 0.004 && apart < 0.0075, "two spheres apart have the softening of each of them");
  physics = ordinary();
  physics.seconds.soft_step = 2;
  tap_ok(near(physics_run_seconds(&physics), 1000), "seconds of the run, by the soft step");
  physics.seconds.per_time = 3;
  tap_ok(near(physics_run_seconds(&physics), 3 * (physics.run.end - physics.run.begin)),
         "and as the choice of a scheme predicts them");
}

static void check_need(void)
{
  struct need_input in = {.particles = 1e6, .ranks = 1, .particle_bytes = 110, .baseline = 30e6};
  struct memory_need alone = need_estimate(&in);
  in.ranks = 4;
  struct memory_need four = need_estimate(&in);
  in.hybrid = 1;
  struct memory_need hybrid = need_estimate(&in);
  tap_ok(alone.fixed > 30e6 && alone.particles > 110e6 && alone.lets == 0 &&
             near(need_total(&alone), alone.fixed + alone.particles),
         "memory of one rank: libraries and particles");
  tap_ok(four.particles > alone.particles && four.lets > 0 && hybrid.lets < four.lets,
         "... of several: LETs too, fewer with the split");
  in.on_device = 1;
  struct memory_need device = need_estimate(&in);
  tap_ok(device.particles == 330e6 && device.lets < 1e5, "... with particles on a device");
  struct memory_need few, many;
  in.ranks = 512;
  few = need_estimate(&in);
  in.ranks = 1 << 15;
  many = need_estimate(&in);
  tap_ok(few.lets > 1e6 && many.lets > 64e6 && many.lets < 80e6,
         "... with LET summaries in stages: mostly the tables of other ranks");
  tap_ok(need_measured(&in, 500e6, 100e6) > 500e6 &&
             need_measured(&in, 500e6, 490e6) > need_measured(&in, 500e6, 100e6),
         "measured: the peak, or files on top of what remains");
}

int main(void)
{
  check_ordinary();
  check_density();
  check_softening();
  check_times();
  check_state();
  check_place();
  check_cost();
  check_need();
  return tap_end();
}
