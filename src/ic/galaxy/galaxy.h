/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Equilibrium models of galaxies: spheroids and discs in each other's potential (as MAGI, Miki & Umemura 2018). The
 * folder's interface. Lengths, masses and velocities are in the units of the model file; gravity is G in them. */
#ifndef GALAXY_H
#define GALAXY_H
#include <stdint.h>
#include <stdio.h>

#include "base/fault.h"
#include "ic/random.h"

enum { GALAXY_COMPONENTS = 16, GALAXIES = 8, GALAXY_NAME = 32 };

/* X(VALUE, name, is a disc). Names are those of model files. */
#define GALAXY_PROFILES(X)                           \
  X(PROFILE_PLUMMER, "plummer", 0)                   \
  X(PROFILE_HERNQUIST, "hernquist", 0)               \
  X(PROFILE_JAFFE, "jaffe", 0)                       \
  X(PROFILE_NFW, "nfw", 0)                           \
  X(PROFILE_MOORE, "moore", 0)                       \
  X(PROFILE_BURKERT, "burkert", 0)                   \
  X(PROFILE_EINASTO, "einasto", 0)                   \
  X(PROFILE_KING, "king", 0)                         \
  X(PROFILE_SERSIC, "sersic", 0)                     \
  X(PROFILE_DOUBLE_POWER, "double-power", 0)         \
  X(PROFILE_TABLE, "table", 0)                       \
  X(PROFILE_POINT, "black-hole", 0)                  \
  X(PROFILE_DISC_EXPONENTIAL, "exponential-disc", 1) \
  X(PROFILE_DISC_SERSIC, "sersic-disc", 1)
#define X(value, name, disc) value,
enum galaxy_profile { GALAXY_PROFILES(X) GALAXY_PROFILES_COUNT };
#undef X

/* sech^2(z / Height); isothermal in the potential of the whole galaxy */
enum galaxy_vertical { VERTICAL_SECH2, VERTICAL_ISOTHERMAL };

/* A component, as given in a section of the model file; 0 means not given. */
struct galaxy_component {
  char name[GALAXY_NAME]; /* of the section */
  int line;               /* of the section in the file, for messages */
  enum galaxy_profile profile;
  int type;                       /* particle type, 0 to 5 */
  int type_by_name;               /* 1: not given; it follows from the profile and the name */
  int64_t n;                      /* particles */
  double mass;                    /* total, with the outer cut-off */
  double scale;                   /* scale radius; effective radius of sersic; scale length of a disc */
  double index;                   /* Sersic n; Einasto alpha; King W0 */
  double inner, outer, sharpness; /* double power law: rho ~ x^-inner (1 + x^sharpness)^((inner - outer) / sharpness) */
  char table[256];                /* file of (r, rho) */
  double cutoff, cutoff_width;    /* smooth outer cut-off: factor erfc((r - cutoff) / (2 cutoff_width)) / 2 */
  double anisotropy_radius;       /* Osipkov-Merritt; 0: isotropic */
  /* discs */
  double height; /* of sech^2 (z / height) */
  enum galaxy_vertical vertical;
  double toomre_q;         /* the smallest value of Q over radii; or */
  double dispersion;       /* radial velocity dispersion at the centre */
  double dispersion_scale; /* sigma_R ~ exp(-R / this); 0: twice the scale length */
  double retrograde;       /* fraction that rotates the other way */
};

struct galaxy {
  char name[GALAXY_NAME];
  double gravity;
  int count;
  struct galaxy_component component[GALAXY_COMPONENTS];
};

static inline int galaxy_is_disc(enum galaxy_profile p)
{
#define X(value, name, disc) disc,
  static const int disc[] = {GALAXY_PROFILES(X)};
#undef X
  return disc[p];
}

/* A spherically symmetric mass distribution on a grid that is uniform in log r, with GSL splines (radial.c). Between
 * and beyond the grid: M(r) is extended by a power law inwards and is constant outwards. */
struct radial;
/* From M[n] within r[n], both increasing. Owner: caller (radial_free). */
struct radial *radial_make(int n, const double *r, const double *mass, double gravity);
void radial_free(struct radial *radial);
double radial_mass(const struct radial *radial, double r);
double radial_potential(const struct radial *radial, double r); /* per unit mass, negative, 0 at infinity */
double radial_inward(const struct radial *radial, double r);    /* d potential / d r = G M / r^2 */
double radial_density(const struct radial *radial, double r);
/* The sum of several tables on the grid of the widest. Entries may be NULL. */
struct radial *radial_sum(int count, struct radial *const *parts);
/* Add a mass at the centre: a black hole. */
void radial_add_point(struct radial *radial, double mass);
/* The nodes, uniform in log r: their number; the radius, mass within, and the potential above that of node 0 (at least
 * 0, exact near it). */
int radial_nodes(const struct radial *radial);
double radial_node(const struct radial *radial, int k);
double radial_node_mass(const struct radial *radial, int k);
double radial_node_height(const struct radial *radial, int k);
/* The potential at r above that of node 0; below 0 within node 0. */
double radial_height(const struct radial *radial, double r);

/* --- spheroids (spheres.c) ---------------------------------------------------------------------------------------- */

/* The mass distribution of one spheroid (a black hole: NULL; its mass is given to spheres_open apart). NULL with a
 * fault. */
struct radial *sphere_mass(const struct galaxy *galaxy, int component, struct fault *fault);
/* Distribution functions of all spheroids by Eddington's inversion in the potential `total` of the galaxy (discs
 * spherically averaged, black hole included). 0; -1 with a fault, for example where a distribution function is negative
 * beyond repair. */
struct spheres;
struct spheres *spheres_open(const struct galaxy *galaxy, const struct radial *total, struct fault *fault);
void spheres_free(struct spheres *spheres);
/* What is known of a spheroid before it is drawn. */
struct sphere_facts {
  double half_mass_radius, kinetic, virial; /* kinetic energy; -sum of m r dPhi/dr: 2 T / |W| is 2 kinetic / virial */
  /* mass that the distribution function has too much because its negative values were set to 0, as a fraction of the
   * component's; 0: it is nowhere negative */
  double negative;
  double negative_from, negative_to; /* radii at which the potential has these energies */
};
struct sphere_facts sphere_facts(const struct spheres *spheres, int component);
/* Density and dispersions at r, those of the distribution function. sigma_t: in one tangential direction. */
struct sphere_profile {
  double density, sigma_r, sigma_t;
};
struct sphere_profile sphere_profile_at(const struct spheres *spheres, int component, double r);
/* Number of energies of the tables; f at energy k (binding energy psi - v^2 / 2, with anisotropy psi - (v^2 + L^2 /
 * r_a^2) / 2). */
int spheres_energies(const struct spheres *spheres);
double sphere_distribution(const struct spheres *spheres, int component, int k, double *energy);
/* Draw a particle of a spheroid: position and velocity about the centre. */
void sphere_draw(const struct spheres *spheres, int component, struct ic_random *random, double x[3], double v[3]);

/* --- discs (discs.c) ---------------------------------------------------------------------------------------------- */

/* The mass of a disc within spheres, from its density alone. NULL with a fault. */
struct radial *disc_mass(const struct galaxy *galaxy, int component, struct fault *fault);
/* Potential of all discs in (R, z), vertical structure, and moments of velocities by the Jeans equations in the
 * potential of discs and of the spheroids and black hole `spheroids`. The plane is z = 0, the rotation is about +z. 0;
 * -1 with a fault, for example for a disc that is hotter than its rotation allows. */
struct discs;
struct discs *discs_open(const struct galaxy *galaxy, const struct radial *spheroids, struct fault *fault);
void discs_free(struct discs *discs);
void disc_draw(const struct discs *discs, int component, struct ic_random *random, double x[3], double v[3]);
/* What a log or a plot shows of a disc at the radius R. */
struct disc_profile {
  double surface_density, circular_velocity, rotation, sigma_r, sigma_phi, sigma_z, height, toomre_q;
};
void disc_profile_at(const struct discs *discs, int component, double radius, struct disc_profile *out);
/* What a log should say of a disc: Q below 1, mass without rotation. Empty: nothing. Valid as long as the discs. */
const char *disc_note(const struct discs *discs, int component);
/* 2 T / sum of m x.grad Phi of its particles (2 T / |W| of the disc in the field of all), and the smallest Toomre Q
 * over radii. */
double disc_virial(const struct discs *discs, int component);
double disc_smallest_q(const struct discs *discs, int component);
/* Rows of a CSV table with the profiles of all discs, at radii that hold 0.1 % to 99.9 % of the mass; `prefix` precedes
 * their names. The columns of rows are disc_columns (no newline). Nothing is written for NULL. Errors: ferror(out). */
extern const char disc_columns[];
void discs_write(const struct discs *discs, const char *prefix, FILE *out);
#endif
