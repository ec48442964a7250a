/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pilots: small systems of the model of a planned run. On one process. */
#ifndef PILOT_H
#define PILOT_H
#include "ic/galaxy/make.h"
#include "ic/ic.h"
#include "mpi/comm.h"
#include "params/params.h"

/* Where the particles come from. Zero-initialise. */
struct pilot_source {
  const char *name; /* for messages: the model, or the file */
  int galaxy;       /* 1: a model file of galaxies */
  double own;       /* number of particles that the model file states, or of those that were asked for */
  struct ic_model sphere;
  struct params units;        /* of the model: [Units]; of a file: not used */
  struct particles particles; /* those of a file */
};

/* The name of a model of `espalier ic`, with settings behind commas (king,w0=7), or the path of a model file of
 * galaxies. `particles`: the planned number, for the checks; 0: that of the model file. 0 or -1. */
int pilot_of_model(const char *name, double particles, struct pilot_source *source, struct fault *fault);
/* The particles of the initial conditions of the parameters. *time: at which they are. 0 or -1. */
int pilot_of_file(const struct comm *comm, const struct params *params, struct pilot_source *source, double *time,
                  struct fault *fault);
void pilot_close(struct pilot_source *source);
/* Make a pilot of so many particles; of a file they are sampled, and each type keeps its mass. `pilot` must be empty.
 * 0 or -1. */
int pilot_make(const struct comm *comm, const struct pilot_source *source, double particles, struct particles *pilot,
               struct fault *fault);
/* The radius about the median position that holds half of the particles. */
double pilot_half_radius(const struct particles *pilot);
/* The softening that suits so many particles, of which half are within `half`: that of `run --check`. Pure. */
double pilot_softening(double half, double particles);
#endif
