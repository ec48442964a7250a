/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models for initial conditions in Henon units (G = 1, M = 1; E = -1/4 unless the options of the model determine the
 * energy). The random numbers of a particle depend only on the seed and its id (Random123), so the model does not
 * depend on the number of ranks. */
#ifndef IC_H
#define IC_H
#include <stddef.h>

#include "base/fault.h"
#include "mpi/comm.h"
#include "particles/particles.h"

/* Periods, eccentricities and mass ratios of binaries: logarithms of the axis uniform between limits; of solar-type
 * stars by Duquennoy & Mayor (1991, A&A 248, 485) and Raghavan et al. (2010, ApJS 190, 1); of massive ones by Sana et
 * al. (2012, Science 337, 444); at birth by Kroupa (1995, MNRAS 277, 1507). */
enum ic_population { IC_LOG_AXIS, IC_DUQUENNOY_MAYOR, IC_RAGHAVAN, IC_SANA, IC_KROUPA_1995 };

/* equal; the initial mass function of Kroupa (2001, MNRAS 322, 231, eq. 2); two masses. */
enum ic_masses { IC_EQUAL, IC_KROUPA, IC_TWO };

/* Lengths and velocities are in Henon units. "Spheres" are plummer, hernquist and king. */
struct ic_model {
  char name[32]; /* plummer, hernquist, king, uniform, merger */
  int64_t n;     /* total number of particles */
  uint64_t seed;
  double virial_ratio;      /* 2 T / |W|; uniform: in the mean; spheres: exactly; negative: cold; in the mean 1 */
  double mass_ratio;        /* merger: mass of the second sphere over that of the first */
  double separation;        /* merger: distance of the centres along x */
  double impact_parameter;  /* merger: offset along y */
  double relative_velocity; /* merger: along x; positive: approaching */
  double w0;                /* king: depth of the potential at the centre over sigma^2 */
  /* spheres: mass of the last particle, at rest at the centre, as a fraction of the total mass (0: none) */
  double central_mass;
  enum ic_masses masses;     /* spheres: the mass function of the stars */
  double mass_min, mass_max; /* kroupa: limits, solar masses */
  /* two: mass of the heavy stars over that of the others; their fraction by number */
  double heavy_ratio, heavy_fraction;
  /* spheres: fraction of the systems that have at least two stars; IC_OBSERVED: by the mass of the first star, with
   * masses of kroupa only */
  double binaries;
  double triples;                /* fraction of these that have a third star, on an outer orbit */
  double binary_min, binary_max; /* limits of the semi-major axis, whose logarithm is uniform */
  double eccentricity;           /* of all orbits; negative: thermal */
  enum ic_population population;
  /* spheres: what the model is scaled to; 0: not given. pc; solar masses, of all stars */
  double virial_radius, half_mass_radius, total_mass;
};

/* What the units of a model are. length_pc: 0: it is not scaled. */
struct ic_scaling {
  double length_pc, mass_solar;
};

/* What scales the model to a physical one. */
struct ic_facts {
  double mass_solar;       /* kroupa: total mass in solar masses; else 0 */
  double half_mass_radius; /* spheres: of the stars, Henon units; else 0 */
  struct ic_scaling unit;
};

/* The names of the models and of the mass functions. */
extern const char *const ic_names[]; /* [ic_count] */
extern const int ic_count;
extern const char *const ic_population_names[]; /* [ic_population_count], in the order of enum ic_population */
extern const int ic_population_count;
extern const char *const ic_masses_names[]; /* [ic_masses_count], in the order of enum ic_masses */
extern const int ic_masses_count;
#define IC_MAX ((int64_t)1 << 36) /* particles */
enum { IC_OBSERVED = -1 };
#define IC_VIRIAL_MAX ((int64_t)1 << 18) /* of spheres with a virial ratio */
enum { IC_ORBIT_MAX = 1000 };            /* largest separation, impact parameter and relative velocity */

/* What an option has no meaning without. */
enum ic_needs { IC_ALONE, IC_NEEDS_KROUPA, IC_NEEDS_TWO, IC_NEEDS_BINARIES, IC_NEEDS_AXES };
/* The options of models: those of the command `espalier ic`, of the library and of pyespalier. */
#define IC_SPHERES "plummer, hernquist, king"
struct ic_option {
  const char *name, *models; /* models: those that have it, with commas between them */
  size_t offset;             /* of its number in struct ic_model */
  enum ic_needs needs;
  double least;      /* where ic_check cannot tell a lower number from none that is given, with the range in words; */
  const char *range; /* NULL: it can */
};
enum { IC_OPTIONS = 21 };
extern const struct ic_option ic_options[IC_OPTIONS];

/* Set all options to their defaults; name and n become empty. Local. */
void ic_defaults(struct ic_model *model);
/* Set option `number` of ic_options from the text of its value. Local. 0; -1 with a fault, which begins with the
 * option's name. */
int ic_set_option(struct ic_model *model, int number, const char *value, struct fault *fault);
/* Set an option of the model that `name` names, by "w0=7", "mass-function=kroupa". Local. 0; -1 with a fault. */
int ic_set(struct ic_model *model, const char *setting, struct fault *fault);
/* Check name, number of particles and options. Local. 0; -1 with a fault. */
int ic_check(const struct ic_model *model, struct fault *fault);
/* The numbers of systems of two and of three stars. Members of binary k are particles 2 k and 2 k + 1, for k from 0;
 * then come the triples, of three particles each, the inner pair first, then single stars. Local. */
struct ic_multiples {
  int64_t binaries, triples;
};
struct ic_multiples ic_multiples(const struct ic_model *model);
/* Create this rank's slice of the particles: ids from 1, total mass 1, the centre of mass of all particles at rest at
 * the origin. The particles are bit-identical on any number of ranks. Energy and virial ratio are those of the centres
 * of mass of systems: in the mean over seeds, or of spheres with a virial ratio exactly.
 * \param particles      must be empty
 * \param facts  filled on all ranks; may be NULL
 * \return 0; -1 with a fault, the same on all ranks. Collective. */
int ic_make(const struct comm *comm, const struct ic_model *model, struct particles *particles, struct ic_facts *facts,
            struct fault *fault);
#endif
