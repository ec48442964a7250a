/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Snapshots: GADGET-4's HDF5 layout, one file written by all ranks, or several by groups of ranks, verified before they get
 * their names. */
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
  int files;          /* at most so many files (see snapshot_write); 0 or 1: one */
  int xdmf;           /* a file for ParaView and VisIt beside it */
};

/* Write `path` (a whole file name, NAME_NNN.hdf5 where there are several files): free space is asked for, the file is written under a temporary name, read back and
 * compared with 64-bit checksums, flushed to the disk, and renamed. On a fault no file is left behind and any older file
 * of that name is untouched; faults agree on all ranks.
 * With `files` F > 1 the ranks are parted into F groups (at most one for each rank), which write snapdir_NNN/NAME_NNN.K.hdf5 with K
 * from 0 to F - 1; `path` then is a file whose datasets are virtual, and lie in these.
 * An XDMF file that cannot be written is a warning on rank 0's stderr, no fault; none of an earlier snapshot stays in its place.
 * Collective. 0 or -1. */
int snapshot_write(const struct comm *c, const char *path, const struct particles *p, const struct snapshot_facts *facts,
                   struct fault *f);
/* What a run with this SnapshotFileBase has left in `folder`: BASE_NNN.hdf5, BASE_NNN.xmf, and BASE_NNN.K.hdf5 in folders
 * snapdir_NNN; also behind links. Owner: caller (snapshot_names_free). Local. */
struct snapshot_names {
  char **path;
  size_t count;
};
void snapshot_list(const char *folder, const char *base, struct snapshot_names *names);
void snapshot_names_free(struct snapshot_names *names);
/* Remove just these, and the folders where nothing else is in them. Links are removed, not what they lead to. Where `input` stands in
 * `folder` its datasets may lie in such folders, and these stay. Local. */
void snapshot_remove_all(const char *folder, const char *base, const char *input);
/* Of the snapshots in `folder` with this base and numbers from `first` on, those that `stays` does not accept (it is given the number, and
 * the time that the file states, NAN where it is not whole) are moved, with what belongs to them, to folder/discarded/NNN, where NNN
 * is the first that is not there yet: BASE_NNN.hdf5, BASE_NNN.xmf, snapdir_NNN. They are named on stdout; what cannot be moved is
 * named on stderr. Returns how many were. Local. */
int snapshot_discard(const char *folder, const char *base, long long first, int (*stays)(const void *of, long long number, double time),
                     const void *of);
/* How many that would be; nothing is moved. Local. */
int snapshot_to_discard(const char *folder, const char *base, long long first, int (*stays)(const void *of, long long number, double time),
                        const void *of);
/* The name of the snapshot with the greatest number, FOLDER/BASE_NNN.hdf5; -1 where there is none. Local. */
int snapshot_last(const char *folder, const char *base, char *path, size_t size);
/* Bytes that the snapshot of so many particles takes, about. */
double snapshot_bytes(double particles, unsigned extras);
#endif
