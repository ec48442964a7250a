/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Initial conditions from a file of any known format. */
#ifndef INITIAL_H
#define INITIAL_H
#include <stdint.h>
#include <stdio.h>

#include "comm.h"
#include "params.h"
#include "particles.h"
#include "units.h"

struct initial_facts {
  char format[32];                 /* for people: "GADGET 1, little endian" */
  int64_t count[PARTICLE_TYPES];   /* in the whole set */
  double time;
  int has_time;                    /* the format has one, and the file states it */
  int own;                         /* a snapshot that this program wrote: its time counts */
  int has_units;                   /* the file states its units */
  struct units units;
  double gravity;                  /* the gravitational constant that an own file was made with (0: not stated) */
  /* of others' files, what they state of physics that this program does not have (0: nothing) */
  double box, redshift, hubble;
  int comoving;
};

/* Look at the headers only (all files of the set): what is there, and whether it is consistent. Local. 0 or -1. */
int initial_inspect(const char *path, enum ic_format format, struct initial_facts *facts, struct fault *f);
/* A line, with `before` in front, for each thing that the file asks for and that is not done: periodic boundaries, comoving
 * coordinates, factors h, gas. Nothing about one's own snapshots. Local. */
void initial_warn(const char *path, const struct initial_facts *facts, FILE *out, const char *before);
/* Whether `file`, by whatever name, is one of those that the initial conditions are read from. Local. */
int initial_holds(const char *path, enum ic_format format, const char *file);
/* The same of many: the place in `files` of the first that is found; negative: none. */
long long initial_holds_one(const char *path, enum ic_format format, const char *const *files, size_t count);
/* Read the particles: rank r gets the r-th of nearly equal slices of the set in file order. Fills pos, vel, mass, id,
 * type; everything else is zero. `p` must be empty. All values are checked: finite, masses >= 0 with a positive sum,
 * ids unique. Faults agree on all ranks. Collective. 0 or -1. */
int initial_read(const struct comm *c, const char *path, enum ic_format format, struct particles *p, struct initial_facts *facts,
                 struct fault *f);
/* -1 with a sentence where the file's units, or an own file's gravitational constant, contradict the parameters'. Local. */
int initial_check_units(const char *path, const struct initial_facts *facts, const struct params *par, struct fault *f);
#endif
