/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The particles of a model, and what is printed about it. */
#ifndef GALAXY_MAKE_H
#define GALAXY_MAKE_H
#include <stdio.h>

#include "ic/galaxy/model.h"
#include "mpi/comm.h"
#include "particles/particles.h"

/* The tables of one galaxy. */
struct galaxy_tables {
  const struct galaxy *g;
  struct radial *part[GALAXY_COMPONENTS]; /* NULL: a black hole */
  struct radial *total;                   /* of all components, discs spherically averaged */
  struct radial *spheroids;               /* of spheroids and black hole; NULL: there are none */
  struct spheres *spheres;
  struct discs *discs; /* NULL: there are none */
};

/* Make the tables. Local. 0; -1 with a fault. Close them in both cases. */
int galaxy_open(struct galaxy_tables *tables, const struct galaxy *galaxy, struct fault *fault);
void galaxy_close(struct galaxy_tables *tables);

/* Draw this rank's slice of the particles: ids from 1, in the order of the file. The centre of each galaxy, with its
 * black hole, is at the galaxy's place, its centre of mass is at rest there. The particles are bit-identical on any
 * number of ranks and threads. \param tables  tables of all galaxies of the model
 * \param particles  must be empty
 * Collective. */
void galaxy_make(const struct comm *comm, const struct galaxy_model *model, const struct galaxy_tables *tables,
                 uint64_t seed, struct particles *particles);
/* The number of particles of all galaxies. */
int64_t galaxy_particles(const struct galaxy_model *model);

/* Print the table of components, and what a distribution function or a cut-off needs a remark. One rank. */
void galaxy_report(FILE *out, const struct galaxy_model *model, const struct galaxy_tables *tables);
/* Write FILE.csv, profiles of all components, FILE_df.csv, their distribution functions, and where there are discs
 * FILE_discs.csv. One rank. 0; -1 with a fault; then none of them is left. */
enum { GALAXY_FILES = 3, GALAXY_PATH = 1100 };
int galaxy_write_profile(const char *path, const struct galaxy_model *model, const struct galaxy_tables *tables,
                         struct fault *fault);
/* The name of the k-th of these files. */
void galaxy_profile_file(const char *path, int k, char name[GALAXY_PATH]);
#endif
