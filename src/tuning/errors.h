/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models of energy errors as functions of steps: for the hard part from neighbour lists, which the finder uses
 * (finder.h), and for shared, block and hybrid steps by the leapfrog, which the rules of steps (step/plan.h) and the
 * choice of a scheme (choice.h) use. errors.c states them and holds their constants. Pure: no clock, no device, no
 * message. */
#ifndef ERRORS_H
#define ERRORS_H

/* A system at one time; in any units in which G has the value `gravity`. */
struct finder_system {
  double count;                 /* particles */
  double gravity, mass, energy; /* total mass, total energy */
  double v_rms;                 /* about the centre of mass */
  double a_rms;                 /* rms acceleration (neighbour lists: soft acceleration); 0: not known */
  double distance;              /* median over particles of the distance to the 28th neighbour */
  double largest_mass;          /* of a particle */
  double unequal;               /* <m^2> / <m>^2; 0: masses are equal, or not known */
  int radii_by_mass;            /* 1: radii grow as the cube root of the mass */
  double softening;             /* from here on: for the leapfrog alone */
  int split;                    /* 1: block steps are those within soft steps of a split */
  int by_acceleration;          /* 1: block steps by acceleration alone (Criterion = a) */
  double first_profile;         /* errors_profile at the start of the run; 0: not known */
  double change;                /* the largest difference of errors_profile from that so far */
  double imbalance;             /* |2 T + W| / |W|, W the virial of the forces: 0 in equilibrium */
};

/* Units of the models: the virial radius, the time sqrt(length^3 / G M), and the rms velocity. */
struct scales {
  double length, time, v; /* time: 1e300 where nothing moves and nothing pulls */
};
struct scales errors_scales(const struct finder_system *system);

/* --- soft steps of a hard part from neighbour lists: |dE/E| within some dynamical times --------------------------- */

/* The mean field's error in steps of length t is this times (t / time)^2. */
double errors_mean_field(const struct finder_system *system);
/* |dE/E| of soft steps of a split with R2 = r2. */
double errors_soft(const struct finder_system *system, const struct scales *scales, double r2, double soft_step);

/* --- the leapfrog: |dE/E| within ten dynamical times (struct scales, time) ---------------------------------------- */

/* What of a wanted |dE/E| per dynamical time (Accuracy) steps may have within ten: the `allowed` of the functions
 * below. */
double errors_allowed(double accuracy);
/* The mean square of the acceleration in units of that in a Plummer sphere of the same mass and energy: it is large
 * with cusps, and grows in a collapse. 0: not known (not bound, or no energy). */
double errors_profile(const struct finder_system *system);
/* Of forces with the criterion's tolerance `delta`; an upper bound, which mergers come near to; spheres in equilibrium
 * have about a tenth. */
double errors_forces(const struct finder_system *system, double delta);
/* The largest change of errors_profile that is expected by chance, and as a cusp adapts to its softening. */
double errors_chance(const struct finder_system *system);
/* Of one step for all particles, without a split; of soft steps of a split, without the block steps within; of block
 * steps. */
double errors_shared(const struct finder_system *system, double step);
double errors_hybrid(const struct finder_system *system, double r2, double soft_step);
double errors_block(const struct finder_system *system, double eta);
/* The longest shared step. `dense`: the dynamical time of the densest places that hold a part of the mass that counts
 * (errors_dense); 0: not known. 1e300: no limit. */
double errors_shared_step(const struct finder_system *system, double dense, double allowed);
/* The longest soft step of a split; 1e300: no limit. */
double errors_hybrid_step(const struct finder_system *system, double r2, double allowed);
/* Eta of block steps; `split`: 1: within soft steps of a split. 0: not known. */
double errors_eta(const struct finder_system *system, int split, double allowed);
/* The longest of block steps without a split; 1e300: no limit. */
double errors_longest_step(const struct finder_system *system);
/* The dynamical time of the densest places that hold the part `part` of the mass, from the distances to the 28th
 * neighbour of the particles at one and ten per cent (distance[0], distance[1]) by a power law. 0: not known. */
double errors_dense(const struct finder_system *system, const double distance[2], double part);
/* The part of the mass for errors_dense. */
double errors_dense_part(double allowed);
/* The longest soft step that resolves the orbits at R2 about a particle. `mass`: of this particle and another one;
 * `accuracy`: wanted |dE/E| per dynamical time. 1e300: no limit. */
double errors_orbit_step(double gravity, double mass, double r2, double accuracy);
/* The longest soft step in an external field, which acts in the kicks of soft steps alone. `mean`, `largest`: its rate
 * of change for the particles (field_rate), the root of the mean square weighted by energy, and the largest;
 * `accuracy`: wanted |dE/E| per dynamical time. */
double errors_field_step(double mean, double largest, double accuracy);
#endif
