/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Equilibrium models of galaxies: spheroids and discs in each other's potential (as MAGI, Miki & Umemura 2018). The room's interface.
 * Lengths, masses and velocities are in the units of the model file; gravity is G in them. */
#ifndef GALAXY_H
#define GALAXY_H
#include <stdint.h>
#include <stdio.h>

#include "base/fault.h"
#include "ic/random.h"

enum { GALAXY_COMPONENTS = 16, GALAXIES = 8, GALAXY_NAME = 32 };

/* X(VALUE, name, is a disc). Names are those of model files. */
#define GALAXY_PROFILES(X)                        \
  X(PROFILE_PLUMMER, "plummer", 0)                \
  X(PROFILE_HERNQUIST, "hernquist", 0)            \
  X(PROFILE_JAFFE, "jaffe", 0)                    \
  X(PROFILE_NFW, "nfw", 0)                        \
  X(PROFILE_MOORE, "moore", 0)                    \
  X(PROFILE_BURKERT, "burkert", 0)                \
  X(PROFILE_EINASTO, "einasto", 0)                \
  X(PROFILE_KING, "king", 0)                      \
  X(PROFILE_SERSIC, "sersic", 0)                  \
  X(PROFILE_DOUBLE_POWER, "double-power", 0)      \
  X(PROFILE_TABLE, "table", 0)                    \
  X(PROFILE_POINT, "black-hole", 0)               \
  X(PROFILE_DISC_EXPONENTIAL, "exponential-disc", 1) \
  X(PROFILE_DISC_SERSIC, "sersic-disc", 1)
#define X(value, name, disc) value,
enum galaxy_profile { GALAXY_PROFILES(X) GALAXY_PROFILES_COUNT };
#undef X

enum galaxy_vertical { VERTICAL_SECH2, VERTICAL_ISOTHERMAL };   /* sech^2(z / Height); isothermal in the potential of the whole galaxy */

/* A component, as given in a section of the model file; 0 means not given. */
struct galaxy_component {
  char name[GALAXY_NAME];      /* of the section */
  int line;                    /* of the section in the file, for messages */
  enum galaxy_profile profile;
  int type;                    /* particle type, 0 to 5 */
  int64_t n;                   /* particles */
  double mass;                 /* total, with the outer cut-off */
  double scale;                /* scale radius; effective radius of sersic; scale length of a disc */
  double index;                /* Sersic n; Einasto alpha; King W0 */
  double inner, outer, sharpness;   /* double power law: rho ~ x^-inner (1 + x^sharpness)^((inner - outer) / sharpness) */
  char table[256];             /* file of (r, rho) */
  double cutoff, cutoff_width; /* smooth outer cut-off: factor erfc((r - cutoff) / (2 cutoff_width)) / 2 */
  double anisotropy_radius;    /* Osipkov-Merritt; 0: isotropic */
  /* discs */
  double height;               /* of sech^2 (z / height) */
  enum galaxy_vertical vertical;
  double toomre_q;             /* the smallest value of Q over radii; or */
  double dispersion;           /* radial velocity dispersion at the centre */
  double dispersion_scale;     /* sigma_R ~ exp(-R / this); 0: twice the scale length */
  double retrograde;           /* fraction that rotates the other way */
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

/* A spherically symmetric mass distribution on a grid that is uniform in log r, with GSL splines (radial.c). Between and beyond the grid: M(r)
 * is extended by a power law inwards and is constant outwards. */
struct radial;
/* From M[n] within r[n], both increasing. Owner: caller (radial_free). */
struct radial *radial_make(int n, const double *r, const double *mass, double gravity);
void radial_free(struct radial *t);
double radial_mass(const struct radial *t, double r);
double radial_potential(const struct radial *t, double r);   /* per unit mass, negative, 0 at infinity */
double radial_inward(const struct radial *t, double r);      /* d potential / d r = G M / r^2 */
double radial_density(const struct radial *t, double r);
/* The sum of several tables on the grid of the widest. Entries may be NULL. */
struct radial *radial_sum(int count, struct radial *const *parts);

/* --- spheroids (spheres.c) ------------------------------------------------------------------------------------------------------------ */

/* The mass distribution of one spheroid (a black hole: NULL; its mass is given to spheres_open apart). NULL with a fault. */
struct radial *sphere_mass(const struct galaxy *g, int component, struct fault *f);
/* Distribution functions of all spheroids by Eddington's inversion in the potential `total` of the galaxy (discs spherically averaged, black
 * hole included). 0; -1 with a fault, for example where a distribution function is negative beyond repair. */
struct spheres;
struct spheres *spheres_open(const struct galaxy *g, const struct radial *total, struct fault *f);
void spheres_free(struct spheres *s);
/* Draw a particle of a spheroid: position and velocity about the centre. */
void sphere_draw(const struct spheres *s, int component, struct ic_random *r, double x[3], double v[3]);

/* --- discs (discs.c) ------------------------------------------------------------------------------------------------------------------ */

/* The mass of a disc within spheres, from its density alone. NULL with a fault. */
struct radial *disc_mass(const struct galaxy *g, int component, struct fault *f);
/* Potential of all discs in (R, z), vertical structure, and moments of velocities by the Jeans equations in the potential of discs and of
 * the spheroids and black hole `spheroids`. The plane is z = 0, the rotation is about +z. 0; -1 with a fault, for example for a disc that is
 * hotter than its rotation allows. */
struct discs;
struct discs *discs_open(const struct galaxy *g, const struct radial *spheroids, struct fault *f);
void discs_free(struct discs *d);
void disc_draw(const struct discs *d, int component, struct ic_random *r, double x[3], double v[3]);
/* What a log or a plot shows of a disc at the radius R. */
struct disc_profile {
  double surface_density, circular_velocity, rotation, sigma_r, sigma_phi, sigma_z, height, toomre_q;
};
void disc_profile_at(const struct discs *d, int component, double radius, struct disc_profile *out);
/* What a log should say of a disc: Q below 1, mass without rotation. Empty: nothing. Valid as long as the discs. */
const char *disc_note(const struct discs *d, int component);
/* 2 T / sum of m x.grad Phi of its particles (2 T / |W| of the disc in the field of all), and the smallest Toomre Q over radii. */
double disc_virial(const struct discs *d, int component);
double disc_smallest_q(const struct discs *d, int component);
/* Rows of a CSV table with the profiles of all discs, at radii that hold 0.1 % to 99.9 % of the mass; `prefix` precedes their names. The
 * columns of rows are disc_columns (no newline). Nothing is written for NULL. Errors: ferror(out). */
extern const char disc_columns[];
void discs_write(const struct discs *d, const char *prefix, FILE *out);
#endif
