/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Snapshots: GADGET-4's HDF5 layout, one file written by all ranks, verified before it gets its name. */
#ifndef SNAPSHOT_H
#define SNAPSHOT_H
#include "comm.h"
#include "params.h"
#include "particles.h"

/* Datasets beside Coordinates, Velocities, Masses and ParticleIDs. */
enum { SNAPSHOT_POTENTIAL = 1, SNAPSHOT_ACCELERATION = 2, SNAPSHOT_ACCELERATION_HARD = 4 };

struct snapshot_facts {
  const struct params *params;
  double time;
  long long step;
  double gravity;     /* G in internal units */
  unsigned extras;    /* SNAPSHOT_... */
};

/* Write `path` (a whole file name): free space is asked for, the file is written under a temporary name, read back and
 * compared with 64-bit checksums, flushed to the disk, and renamed. On a fault no file is left behind and any older file
 * of that name is untouched; faults agree on all ranks. Collective. 0 or -1. */
int snapshot_write(const struct comm *c, const char *path, const struct particles *p, const struct snapshot_facts *facts,
                   struct fault *f);
/* Bytes that the snapshot of so many particles takes, about. */
double snapshot_bytes(double particles, unsigned extras);
#endif
