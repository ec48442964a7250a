/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Initial conditions from files of any known format (doc/file-formats.md). */
#ifndef INITIAL_H
#define INITIAL_H
#include <stdint.h>
#include <stdio.h>

#include "gravity/units.h"
#include "mpi/comm.h"
#include "params/params.h"
#include "particles/particles.h"

/* What a file says twice, and not alike, or may mean otherwise; the run goes on with a warning. Zero-initialise. */
struct initial_doubts {
  /* bits of types: the file has masses of its own for them, which differ from the mass that its header gives */
  unsigned masses;
  double table, lightest, heaviest; /* of the first such type: in the header, and the range of its own masses */
  unsigned left_out;                /* bits of types: particles in HDF5 that the counts of the header leave out */
  int mass_first;                   /* text: column 1 may be the mass too */
};

struct initial_facts {
  char format[32];               /* for messages: "GADGET 1, little endian" */
  int64_t count[PARTICLE_TYPES]; /* particles in all files */
  double time;                   /* units of the file */
  int has_time;                  /* the file states its time */
  int own;                       /* this program wrote the file; then the run starts at its time */
  int has_units;                 /* the file states its units; also where it states that it is dimensionless */
  struct units units;
  double gravity;    /* gravitational constant of the run that wrote an own file (0: not stated) */
  double changes;    /* of an own file: energy that changes of masses and velocities have put in (0: not stated) */
  int has_potential; /* potentials were read (initial_read_potential) */
  /* Physics that files of other programs state and that this program does not have (0: not stated). */
  double box, redshift, hubble;
  int comoving;                /* also of own files */
  double omega0, omega_lambda; /* 0: not stated */
  struct initial_doubts doubts;
};

/* Read and check the headers of all files of the set. Local. 0; -1 with a fault. */
int initial_inspect(const char *path, enum ic_format format, struct initial_facts *facts, struct fault *fault);
/* For a run in comoving coordinates: forget redshift, comoving coordinates and factors of h, of which initial_warn
 * would warn. Local. */
void initial_take_cosmology(struct initial_facts *facts);
/* Print one line, which starts with `before`, for each doubt, and for each property of the file that this program
 * ignores, which snapshots of this program have not: periodic boundaries, comoving coordinates, factors of h, gas.
 * Local. */
void initial_warn(const char *path, const struct initial_facts *facts, FILE *out, const char *before);
/* Whether `file` is one of the files that the initial conditions are read from, also under another name (a link).
 * Local. */
int initial_holds(const char *path, enum ic_format format, const char *file);
/* The same for files[count]: the index of one of them that is; negative if none is. Local. */
long long initial_holds_one(const char *path, enum ic_format format, const char *const *files, size_t count);
/* Read the particles: rank r gets the r-th of nearly equal slices in the order of the files.
 * \param particles      must be empty; pos, vel, mass, id and type are filled, everything else is zero; units of the
 *                       file
 * \param facts  filled on all ranks
 * Values must be finite, masses >= 0 with a positive sum, ids unique.
 * \return 0; -1 with a fault, the same on all ranks. Collective. */
int initial_read(const struct comm *comm, const char *path, enum ic_format format, struct particles *particles,
                 struct initial_facts *facts, struct fault *fault);
/* The same, with the potentials of the particles to particles->pot where all types of all files have them: HDF5
 * only. */
int initial_read_potential(const struct comm *comm, const char *path, enum ic_format format,
                           struct particles *particles, struct initial_facts *facts, struct fault *fault);
/* The checks of values, masses and ids of initial_read, for particles from elsewhere; the rows of a message are
 * numbered in rank order. `source`: for messages. Collective. 0 or -1. */
int initial_check(const struct comm *comm, const char *source, const struct particles *particles, struct fault *fault);
/* Compare the units of the file, unless it is dimensionless, the gravitational constant of an own file, and with
 * Comoving = on the time and the cosmology that the file states with the parameters; an own file is comoving where the
 * run is. Local. 0; -1 with a fault if they differ by more than 1e-3. */
int initial_check_units(const char *path, const struct initial_facts *facts, const struct params *par,
                        struct fault *fault);
/* Before params_complete: where the parameters state no units, take those that the file states, and its gravitational
 * constant where that does not follow from them. Nothing is done where the file cannot be read. Local. */
void initial_take_units(struct params *par, struct param_origin *origin);
#endif
