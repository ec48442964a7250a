/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The external field that the parameters of [External] describe. Everything is a function of position and time. Units:
 * those of the run. Local; the same on all ranks. */
#ifndef EXTERNAL_H
#define EXTERNAL_H
#include <stdint.h>

#include "external/agama.h"
#include "external/orbit.h"
#include "gravity/field.h"
#include "params/params_external.h"

/* Zero-initialised: none. */
struct external {
  int given;                           /* 1: there is a field */
  int moves;                           /* 1: it depends on time, so energies are not conserved */
  struct field field;                  /* centres: of potentials at rest */
  struct orbit *orbit[FIELD_TERMS];    /* of the centres of terms; NULL: at rest */
  const char *orbit_name[FIELD_TERMS]; /* of these terms: their parameters, */
  int number[FIELD_TERMS];             /* and which of Potential1 ... Potential8, from 0 */
  struct agama *agama;                 /* NULL: none */
  struct external_file agama_file[EXTERNAL_FILES - EXTERNAL_POTENTIALS]; /* those that it reads, as they were then */
  int agama_files;
  double gravity;
};

/* Build the field from the parameters; reads orbits, and loads Agama. 0; -1 with a fault. Call external_close in both
 * cases. */
int external_open(struct external *external, const struct params *par, double gravity, struct fault *fault);
void external_close(struct external *external);
/* A fault where an orbit does not cover the times from `begin` to `end`. 0 or -1. */
int external_check_times(const struct external *external, double begin, double end, struct fault *fault);
/* The files from which the field was made when it was opened, their tables up to a time. Returns their number. */
int external_files(const struct external *external, double time, struct external_file file[EXTERNAL_FILES]);
/* The field at a time. */
void external_field(const struct external *external, double time, struct field *field);

/* What the host computes for n particles at pos[3 n]: acceleration[3 n], potential[n], squared rate of change of the
 * field[n], which is the norm of its tidal tensor. For external->agama. */
void external_host(const struct external *external, int64_t n, const double *pos, double time, double *acceleration,
                   double *potential, double *rate);

/* The tide at x on what moves with the velocity v there. `length`, above 0: of the differences of the acceleration;
 * small beside the scale of the field. */
void external_tide(const struct external *external, double time, const double x[3], const double v[3], double length,
                   struct tide *tide);
#endif
