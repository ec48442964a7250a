/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plan of the next soft step. Pure: it depends only on numbers that are the same on all ranks. */
#ifndef PLAN_H
#define PLAN_H
#include "params/params.h"
#include "system/diagnostics.h"
#include "tuning/errors.h"

struct plan {
  double soft_step;   /* length of the soft step */
  double target;      /* time of the next output or of the end of the run */
  int at_target;      /* 1: this step ends at `target`; the time is then set to it exactly */
  int shared_level;   /* block level of all particles; -1: chosen by the time-step criterion */
  int shared;         /* 1: all particles take the deepest level that the criterion gives to any */
  int measure_radius; /* 1: measure R2 again (radius_by_rule) */
};

/* What the rules for steps know of the system beside its sums. */
struct plan_facts {
  int hybrid;    /* 1: forces are split */
  double r2;     /* the radius by which soft steps are chosen: R2, or without the split that of the rule */
  double energy; /* of the model of errors (plan_energy) */
  double first_profile, change; /* errors_profile at the start, 0: not known; the largest difference from it so far */
  double dense;                 /* errors_dense, last measurement; 0: not known */
  double distance;              /* median distance to the 28th neighbour, last measurement (sim->force.radius_rule) */
  double mean_mass, largest_mass, mean_square_mass; /* of particles */
  int in_field;                                     /* 1: there is an external field */
  double field_step; /* the longest step that orbits in it allow (errors_field_step); 0: no limit */
  double longest;    /* Comoving = on: the longest soft step, by its d ln a; 0: not known */
};

/* Soft steps between measurements of R2, and without the split, where they are not for forces, of the distances of
 * particles. On a GPU one costs as much as eight forces. */
enum { RADIUS_INTERVAL = 8, DISTANCE_INTERVAL = 512 };

/* The system as the soft part of the forces shows it, for the finder: velocity and energy are those of the centres of
 * mass of close pairs. The potential energy is the virial of the forces in `now`, and the energy is at most half of it,
 * that of a system in equilibrium; the velocity is bounded by the mean speed, to which few pairs contribute little.
 * largest_mass: of a particle, 0: not known; where it dominates, the energy is that of the others about it. Without
 * largest_mass, unequal and radii_by_mass in the system. */
struct finder_system plan_system(const struct diagnostics *now, double r2, double gravity, double largest_mass);
/* The part of the rule's R2 for integrators with a model of errors (finder_rule_part); 1 for others. */
double plan_radius_part(const struct params *params, double count, int on_device);
/* The adaptive soft step for the split radius `r2`, before any limit: the smaller of xs R2 / v_rms and ys sqrt(R2 /
 * a_rms). The soft force changes little within such a step. The second term limits the step in a cold collapse, where
 * v_rms is small. With an integrator that has a model of errors: the soft step of the finder for a tenth of the wanted
 * energy error. */
double plan_adaptive(const struct params *params, const struct diagnostics *now, double r2);
/* The soft step with the split on, before any limit: that of the model of errors for the wanted error (params_error;
 * the adaptive one where xs or ys is given), and at most one that resolves the orbits at R2 about the heaviest
 * particle. */
double plan_soft_step(const struct params *params, const struct diagnostics *now, const struct plan_facts *facts,
                      double r2);
/* Without the split: the step of Scheme = shared, and the longest one of block steps, by the model of errors for the
 * wanted error. In steps of two per cent, so that noise of the forces does not change it. Where the system has no time
 * scale: the adaptive step for r2. */
double plan_whole_step(const struct params *params, const struct diagnostics *now, const struct plan_facts *facts,
                       double r2);
/* Eta of block steps: the one that is given; else by the model of errors for the wanted error (leapfrog of
 * walks), or where the system is not bound and for other steps params_eta. */
double plan_eta(const struct params *params, const struct diagnostics *now, const struct plan_facts *facts);
/* 1: one step for all particles without the split, whose length is plan_whole_step. */
int plan_one_step(const struct params *params, const struct plan_facts *facts);
/* The total energy for the model of errors, with the virial of the forces as the potential energy, since potentials are
 * not computed in every soft step: not nearer to 0 than a tenth of kinetic and potential energy, which may nearly
 * cancel, and where light particles orbit heavy ones, not than the energy that all would have with the mean velocity by
 * number. A system that is not bound has 0 or more. */
double plan_energy(const struct diagnostics *now);
/* The same in an external field: kinetic energy about the centre of mass; at most half of the potential energy, so that
 * the lengths of the model are those of the particles, whatever holds them together. Where light particles orbit heavy
 * ones, the length is at most that at which the whole mass attracts as the mean by number. */
double plan_energy_in_field(const struct diagnostics *now, double gravity);
/* Note the profile of the system (errors_profile) at a synchronisation. Needs facts->energy. */
void plan_note_profile(const struct params *params, const struct diagnostics *now, struct plan_facts *facts);
/* The system for the model of errors. */
struct finder_system plan_errors(const struct params *params, const struct diagnostics *now,
                                 const struct plan_facts *facts);
/* The soft step that the rules and the parameters want, before it is fitted to the next output. */
double plan_wanted(const struct params *params, const struct diagnostics *now, const struct plan_facts *facts);
/* 1: stars may form units, by distances between them. */
int plan_has_units(const struct params *params);
/* Plan the next soft step. `now`: sums at `time`; `target`: time of the next output or of the end; `step`: soft steps
 * since the start. */
struct plan plan_next(const struct params *params, const struct diagnostics *now, const struct plan_facts *facts,
                      double time, double target, long long step);
#endif
