/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Initial conditions from a file of any known format. */
#ifndef INITIAL_H
#define INITIAL_H
#include <stdint.h>

#include "comm.h"
#include "params.h"
#include "particles.h"
#include "units.h"

struct initial_facts {
  char format[32];                 /* for people: "GADGET 1, little endian" */
  int64_t count[PARTICLE_TYPES];   /* in the whole set */
  double time;
  int own;                         /* a snapshot that this program wrote: its time counts */
  int has_units;                   /* the file states its units */
  struct units units;
  double gravity;                  /* the gravitational constant that an own file was made with (0: not stated) */
};

/* Look at the headers only (all files of the set): what is there, and whether it is consistent. Local. 0 or -1. */
int initial_inspect(const char *path, enum ic_format format, struct initial_facts *facts, struct fault *f);
/* Whether `file`, by whatever name, is one of those that the initial conditions are read from. Local. */
int initial_holds(const char *path, enum ic_format format, const char *file);
/* Read the particles: rank r gets the r-th of nearly equal slices of the set in file order. Fills pos, vel, mass, id,
 * type; everything else is zero. `p` must be empty. All values are checked: finite, masses >= 0 with a positive sum,
 * ids unique. Faults agree on all ranks. Collective. 0 or -1. */
int initial_read(const struct comm *c, const char *path, enum ic_format format, struct particles *p, struct initial_facts *facts,
                 struct fault *f);
/* -1 with a sentence where the file's units, or an own file's gravitational constant, contradict the parameters'. Local. */
int initial_check_units(const char *path, const struct initial_facts *facts, const struct params *par, struct fault *f);
#endif
