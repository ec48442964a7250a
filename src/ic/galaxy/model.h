/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model file: one galaxy, or galaxies on an orbit (doc/galaxy-models.md). */
#ifndef GALAXY_MODEL_H
#define GALAXY_MODEL_H
#include "ic/galaxy/galaxy.h"
#include "params/params.h"

/* A galaxy at its place: x' = rotation x + x, v' = rotation v + v. */
struct galaxy_place {
  double rotation[3][3], x[3], v[3];
};

struct galaxy_model {
  struct params units; /* [Units]; the other parameters are defaults */
  int count;
  struct galaxy galaxy[GALAXIES];
  struct galaxy_place place[GALAXIES];
};

/* The orbit of two bodies at a separation, before the pericentre. */
struct galaxy_orbit {
  double eccentricity, pericentre, separation;
  double inclination[2], node[2]; /* degrees */
};

/* Read a model file and check it. The number of particles of every component is set; `n` > 0 replaces the total number
 * of the file, and components keep their shares. Local. 0; -1 with a fault that names file, line and key. */
int galaxy_model_read(const char *path, int64_t n, struct galaxy_model *model, struct fault *fault);
/* Check the components of a galaxy, whose gravity is set, and set what follows from other values. `path`: for
 * messages. */
int galaxy_check(const char *path, struct galaxy *galaxy, struct fault *fault);
/* Distribute `n` particles over the components without a number of the galaxies from `first` on, by mass; black holes
 * have one particle. 0; -1 with a fault. */
int galaxy_share(const char *path, int first, int64_t n, struct galaxy_model *model, struct fault *fault);
/* Change the numbers of all components but black holes, so that there are n particles, in the same proportions. 0; -1
 * with a fault. */
int galaxy_rescale(const char *path, int64_t n, struct galaxy_model *model, struct fault *fault);
/* Whether the mass of a particle of every component is a number of files. 0; -1 with a fault. */
int galaxy_check_masses(const char *path, const struct galaxy_model *model, struct fault *fault);
double galaxy_mass(const struct galaxy *galaxy);

/* Keys of components. */
enum galaxy_value { VALUE_REAL, VALUE_PROFILE, VALUE_TYPE, VALUE_COUNT, VALUE_VERTICAL, VALUE_PATH };
struct galaxy_key {
  const char *name;
  enum galaxy_value value;
  size_t offset;    /* in struct galaxy_component */
  const char *unit; /* of a number: "length" and so on, as in params.def; "": it has no dimension */
  double low, high; /* range of a number, without `low` where `above` is 1 */
  int above;
  unsigned profiles; /* bits of the profiles that have this key */
  unsigned needed;   /* bits of the profiles that need it */
};
extern const struct galaxy_key galaxy_keys[];
extern const int galaxy_key_count;
extern const char *const galaxy_profile_names[]; /* [GALAXY_PROFILES_COUNT] */

/* Put galaxies 0 to first - 1 and the others on the orbit of two bodies; the centre of mass is at rest at the origin.
 * 0; -1 with a fault. */
int orbit_place(const struct galaxy_orbit *orbit, struct galaxy_model *model, int first, struct fault *fault);
#endif
