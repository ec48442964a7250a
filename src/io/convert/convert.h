/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Particles from a file of any format that is read, in a file of one that is written. */
#ifndef CONVERT_H
#define CONVERT_H
#include <stdint.h>

#include "base/fault.h"
#include "io/input/initial.h"
#include "mpi/comm.h"
#include "params/params.h"
#include "particles/particles.h"

struct convert_order {
  const char *from, *to;   /* paths; a file `to` is replaced */
  enum ic_format read_as;  /* FORMAT_AUTO: found from the file */
  enum ic_format write_as; /* FORMAT_HDF5, FORMAT_GADGET1, FORMAT_GADGET2 or FORMAT_ASCII */
  const char *system;      /* value of [Units] System for a file that states no units; NULL: not given */
  int wide;                /* GADGET: positions, velocities and masses in double precision */
};

/* What was done, for a report. */
struct convert_report {
  struct initial_facts facts; /* of `from` */
  struct params params;       /* with the units of the numbers, if has_units */
  int has_units;
  int64_t count; /* particles of all types */
};

/* The format that the name of a file asks for by its end: .hdf5, .h5, .txt, .csv, .dat; FORMAT_AUTO: none. Local. */
enum ic_format convert_format_of(const char *path);
/* Convert. The numbers stay in their units: nothing is scaled.
 * Faults: `from` cannot be read, or is in comoving coordinates; it states no units and `system` is not given, though
 * the format states them (HDF5), or it states units and `system` is given; `to` cannot be written or hold so many
 * particles. No file remains then.
 * \return 0; -1 with a fault, the same on all ranks. Collective. */
int convert_file(const struct comm *comm, const struct convert_order *order, struct convert_report *report,
                 struct fault *fault);

/* Write particles to the new file `path`. Collective. 0; -1 with a fault, the same on all ranks. */
int gadget_out(const struct comm *comm, const char *path, const struct particles *particles, double time,
               const struct convert_order *order, struct fault *fault);
/* Seven columns x y z vx vy vz m, in the order of the ranks; with commas where `path` ends in .csv (`name`). */
int text_out(const struct comm *comm, const char *path, const struct particles *particles, double time,
             const struct convert_report *report, int commas, struct fault *fault);
#endif
