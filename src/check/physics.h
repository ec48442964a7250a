/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The physics of a system at its start against the parameters of its run. Pure: no MPI, no device, no clock.
 * Lengths, times, masses and velocities are in code units. */
#ifndef PHYSICS_H
#define PHYSICS_H
#include <stdint.h>
#include <stdio.h>

enum { PHYSICS_LEVELS = 32, PHYSICS_COMPONENTS = 6 };

/* The particles of a type about their own centre. */
struct component {
  double particles, softening; /* particles with mass */
  double centre[3], half;      /* half-mass radius; 0: not measured */
  double inner, perturber;     /* mass of all types within it, and its mean, weighted with mass: sum m^2 / sum m */
  double vertical;             /* of a thin disc: its dispersion along its axis of rotation; else 0 */
};

/* Units of the run; 0: units of a model. */
struct physics_units {
  double kpc, km_s, gyr; /* kpc per unit of length, km/s per unit of velocity, Gyr per unit of time */
  double solar;          /* solar masses per unit of mass */
  double gravity;
  int gravity_is_given; /* the gravitational constant does not follow from the units */
};

struct physics_softening {
  double smallest; /* where types differ, else that of all */
  double largest;  /* 0: they do not differ */
  int is_default;  /* Softening is not given */
};

/* What the run is to do. */
struct physics_run {
  double begin, end; /* comoving: such that soft steps are counted with equal d ln a */
  double steps_max;  /* soft steps after which the run stops (-n); negative: no limit */
  /* expanding coordinates: times are supercomoving, and energies say little about the state */
  int comoving;
  double mean_density; /* comoving, which the sphere is to have; 0: it is not compared */
};

struct physics_masses {
  double particles, total;
  /* of the particles: they are no sources, and sizes and distances are those of the others */
  double massless;
  double smallest, largest; /* lightest particle with a mass, heaviest particle */
  uint64_t heaviest;        /* id of the heaviest particle */
};

struct physics_size {
  double centre[3];      /* median position */
  double half, most;     /* radii about it that hold 50 and 90 per cent of the particles */
  double rms;            /* root mean square of the distances from it */
  double neighbour[3];   /* distance to the nearest neighbour: 10, 50 and 90 per cent quantiles */
  double coordinate_max; /* largest |coordinate| of the input */
  int single;            /* 1: all coordinates are single precision numbers, as of a file with 4 bytes for each */
};

struct physics_motion {
  double kinetic, potential; /* energies; kinetic: about the centre of mass */
  double v_rms, v_com[3];    /* about the centre of mass; of the centre of mass, in the user's frame */
};

/* Bound pairs and hierarchies of stars, which are counted in physics_motion; zeros: there are none. */
struct physics_pairs {
  double systems, kinetic, potential; /* their number, and their energies about their centres of mass */
};

/* The tide of an external field at the middle of the system (struct tide); zeros: none pulls it apart. */
struct physics_tide {
  double stretch, reach;
};

struct physics_steps {
  int hybrid, shared; /* split on; one time step for all particles */
  /* the hard part resolves close pairs, with or without softening; block levels are not known */
  int lists;
  int given;   /* a parameter gives the soft step (or the shared step); 0: a rule chooses it */
  double soft; /* the soft step */
  /* the longest soft step that orbits in the external field allow (0: no limit), and that of the rule without it */
  double field, own;
  int64_t level[PHYSICS_LEVELS]; /* particles by block level: their step is the soft step / 2^level */
};

/* Seconds on this machine; 0: not measured. */
struct physics_seconds {
  double synchronisation; /* order, tree, forces of all particles */
  double walk;            /* of its walk alone */
  double soft_step;       /* of the first soft step; 0: it was not made */
  double per_time;        /* per unit of time, where the choice of a scheme predicts them; 0: not known */
  double load; /* seconds of the clock in one of the processor, which the others are; 0: they are of the clock */
};

/* Measured numbers; the same on all ranks (check/measure.h). */
struct physics {
  struct physics_units units;
  struct physics_softening softening;
  struct physics_run run;
  struct physics_masses masses;
  struct physics_size size;
  struct physics_motion motion;
  struct physics_pairs pairs;
  struct physics_tide tide;
  struct component component[PHYSICS_COMPONENTS]; /* by type */
  struct physics_steps steps;
  struct physics_seconds seconds;
};

enum severity {
  FINDING_NOTE,      /* worth knowing; the run may be as it should be */
  FINDING_WARNING,   /* the run may be less than it could be, or must not be trusted */
  FINDING_WORTHLESS, /* the run would surely be worthless: it needs --force */
};

struct finding {
  enum severity severity;
  char text[512]; /* a sentence with numbers and what to set */
};

enum { FINDINGS_MAX = 16 };
struct findings {
  int count;
  struct finding list[FINDINGS_MAX];
};

/* Judge the system. A quantity that cannot be judged (fewer than two particles, a size of zero, values that are not
 * finite) has no finding. Ordinary systems have none. */
void physics_judge(const struct physics *physics, struct findings *findings);
/* The first finding of this severity; NULL: there is none. */
const struct finding *findings_first(const struct findings *findings, enum severity severity);
/* Print the numbers, in lines of `run --check`. */
void physics_print(const struct physics *physics, FILE *out);

/* A softening that suits the system: 0.1 N^-0.26 in units in which the half-mass radius of a Plummer sphere is 0.77. 0:
 * unknown. */
double physics_softening(const struct physics *physics);
/* sqrt(half^3 / (G mass / 2)), the dynamical time within the half radius; 0: unknown. */
double physics_dynamical_time(const struct physics *physics);
/* The time in which encounters of particles change the orbits within the half-mass radius of a component (Spitzer's
 * half-mass relaxation time, for the particles of all types there); 0: unknown. */
double physics_relaxation_time(const struct physics *physics, const struct component *component);
/* The time in which encounters with particles of all types double the square of the vertical dispersion of a disc; 0:
 * it is none. From the relaxation time, in which they change squared velocities by that of the whole system. Pure. */
double physics_heating_time(const struct physics *physics, const struct component *component);
/* Root mean square of velocities about the centre of mass, of pairs as their centres of mass. */
double physics_dispersion(const struct physics *physics);
/* The Jacobi radius of all mass in the external field; 0: there is none. */
double physics_jacobi_radius(const struct physics *physics);
/* 2 half / dispersion; 0: unknown. */
double physics_crossing_time(const struct physics *physics);
/* Block steps in the first soft step, its end included: 2^(deepest level). */
double physics_substeps(const struct physics *physics);
/* Soft steps from begin to end, at most run.steps_max. */
double physics_soft_steps(const struct physics *physics);
/* Seconds of the first soft step: measured, or predicted from block levels and the speed of forces; 0: unknown. */
double physics_step_seconds(const struct physics *physics);
/* Seconds of the run; 0: unknown. */
double physics_run_seconds(const struct physics *physics);
/* 1: bound pairs have a part of the energy that counts, and are not the whole system. */
int physics_has_pairs(const struct physics *physics);
/* 2 T / |W|, of pairs as their centres of mass; 0: the system is not bound. */
double physics_virial(const struct physics *physics);
/* |v_com| */
double physics_bulk(const struct physics *physics);
#endif
