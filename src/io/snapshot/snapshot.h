/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Snapshots in GADGET-4's HDF5 layout (doc/file-formats.md). A snapshot is one file that all ranks write, or several
 * files that groups of ranks write. It gets its name after it has been read back and its checksums agree. */
#ifndef SNAPSHOT_H
#define SNAPSHOT_H
#include "io/columns.h"
#include "mpi/comm.h"
#include "params/params.h"
#include "particles/particles.h"

/* What a snapshot states beside the particles. The same on all ranks. */
struct snapshot_facts {
  const struct params *params; /* stored as attributes of /Parameters */
  double time;                 /* of all particles, internal units */
  long long step;              /* soft steps so far */
  double gravity;              /* gravitational constant, internal units */
  unsigned extras;             /* optional datasets: sum of SNAPSHOT_... (io/columns.h) */
  int files;                   /* number of files, at most one per rank; 0 or 1: one file */
  double place[3], motion[3];  /* are added to positions and velocities */
  /* the expansion factor of a run in comoving coordinates, whose units columns.h states; 0: none */
  double comoving;
  int in_field, field_moves; /* there is an external field; it depends on time */
  double changes;            /* energy that changes of masses and velocities have put in; 0: it is not stored */
  double field_energy;       /* potential energy of all particles in it, internal units */
};

/* Write a snapshot.
 * \param path       file name, NAME_NNN.hdf5; an existing snapshot of this name is replaced
 * \param particles  those of this rank, all at the time `facts->time`
 * With `files` F > 1, groups of ranks write snapdir_NNN/NAME_NNN.K.hdf5, K = 0 to F - 1, and `path` is a file with
 * virtual datasets that refer to them.
 * Steps: check the free space, write under a temporary name, read back and compare checksums, flush to the disk,
 * rename. On a fault no new file remains, and an earlier snapshot of this name is unchanged.
 * \return 0; -1 with a fault, the same on all ranks. Collective. */
int snapshot_write(const struct comm *comm, const char *path, const struct particles *particles,
                   const struct snapshot_facts *facts, struct fault *fault);
/* Approximate size of a snapshot in bytes.
 * \param particles  number of particles of all types
 * \param extras     sum of SNAPSHOT_...
 * Local. */
double snapshot_bytes(double particles, unsigned extras);

/* --- the snapshots in a folder; all local -------------------------------------------------------------------------
 * A run with OutputDir = FOLDER and SnapshotFileBase = BASE owns BASE_NNN.hdf5, BASE_NNN.xmf (of tools/espalier-xdmf),
 * snapdir_NNN/BASE_NNN.K.hdf5, and fof_NNN.hdf5, the catalogue of its groups. NNN is the number of the snapshot, of
 * three digits or more. Other files are left alone. */

struct snapshot_names {
  char **path; /* [count] */
  size_t count;
};
/* List these files, symbolic links among them, in no order. Free with snapshot_names_free. */
void snapshot_list(const char *folder, const char *base, struct snapshot_names *names);
void snapshot_names_free(struct snapshot_names *names);
/* Remove these files, and the folders snapdir_NNN that are then empty. A symbolic link is removed, its target is not.
 * If `input` (the file with initial conditions) is in `folder`, the folders snapdir_NNN stay, because its datasets may
 * be in them. */
void snapshot_remove_all(const char *folder, const char *base, const char *input);
/* Find the snapshot with the largest number.
 * \param path  [size] its name, FOLDER/BASE_NNN.hdf5
 * \return 0; -1 if there is none */
int snapshot_last(const char *folder, const char *base, char *path, size_t size);

/* Whether a snapshot stays. `time` is that of its header, NAN if the file is damaged. */
typedef int snapshot_stays(const void *of, long long number, double time);
/* Move snapshots to folder/discarded/NNN, where NNN is the first free number from 001.
 * \param first  only snapshots with this number or a larger one are considered
 * \param stays  called with `of` for each of them in ascending order; those for which it returns 0 are moved with their
 *               .xmf file and their snapdir_NNN
 * \return number of snapshots moved; they are listed on stdout, a failure is a warning on stderr */
int snapshot_discard(const char *folder, const char *base, long long first, snapshot_stays *stays, const void *of);
/* The number of snapshots that snapshot_discard would move. */
int snapshot_to_discard(const char *folder, const char *base, long long first, snapshot_stays *stays, const void *of);
#endif
