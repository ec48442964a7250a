/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checkpoints: folders checkpoint_NNNNNN, where NNNNNN is the number of the soft step in progress. A checkpoint holds
 * one file per rank and a manifest: the numbers of ranks and particles, values that all ranks share, the parameters,
 * and the size and checksum of every file.
 *
 * A checkpoint is written under a temporary name, read back and compared, and flushed to the disk with its folder. Then
 * it is renamed, and only then older ones are removed. So the newest checkpoint with a final name is complete whenever
 * the program ends. The content and the times of checkpoints are decided in run/ (state.h, run.c). */
#ifndef CHECKPOINT_H
#define CHECKPOINT_H
#include "checkpoint/manifest.h"
#include "checkpoint/sections.h"
#include "mpi/comm.h"
#include "params/params.h"
#include "particles/particles.h"

enum { CHECKPOINT_PATH = 2 * PARAM_TEXT };

/* The folder of a run's checkpoints: CheckpointDir, or OutputDir/checkpoints. Local. */
void checkpoint_folder(const struct params *params, char path[CHECKPOINT_PATH]);

/* What a checkpoint holds besides the particles. */
struct checkpoint_content {
  long long number;         /* of the soft step */
  const char *backend;      /* its name */
  const struct item *items; /* [item_count] values of the manifest, the same on all ranks */
  int item_count;
  const struct section *own; /* [own_count] sections of this rank's file, beside the fields of its particles */
  int own_count;
  const struct param_origin *origin; /* rank 0: of the parameters; NULL: unknown */
};

/* Write a checkpoint. Then remove the oldest ones beyond CheckpointsKept. An earlier checkpoint of this number is
 * replaced. \return 0; -1 with a fault, the same on all ranks; then older checkpoints are unchanged. Collective. */
int checkpoint_write(const struct comm *comm, const struct params *params, const struct checkpoint_content *content,
                     const struct particles *particles, struct fault *fault);

/* The checkpoint that a run restarts from. */
struct checkpoint {
  char path[CHECKPOINT_PATH];
  long long number, ranks, particles; /* of the soft step; at the time of writing */
  int own_folder;                     /* it is in the folder where this run writes its checkpoints */
  int own_output; /* it was written by a run with this OutputDir; always set unless it is in a CheckpointDir */
  char *text;     /* the manifest */
};

/* Find a checkpoint and verify the checksums of all its files.
 * \param which  NULL or "last": the newest valid one (damaged ones are listed on rank 0's stderr); a number; or the
 *               path of a folder. With the first two, a checkpoint of a run with another OutputDir is a fault.
 * \param checkpoint      free with checkpoint_close
 * \return 0; -1 with a fault, the same on all ranks. Collective. */
int checkpoint_find(const struct comm *comm, const struct params *params, const char *which,
                    struct checkpoint *checkpoint, struct fault *fault);
/* The manifest of the checkpoint in the folder `path` (owner: caller, memory_free); NULL where it is damaged, as far as
 * names and sizes of its files show. Local. */
char *checkpoint_manifest(const char *path);
void checkpoint_close(struct checkpoint *checkpoint);
/* Read the particles into `particles`, which must be empty. On the number of ranks that wrote the checkpoint each rank
 * reads its own particles; on other numbers of ranks the particles are divided into nearly equal shares, in the order
 * of the files. \return 0; -1 with a fault, the same on all ranks. Collective. */
int checkpoint_particles(const struct comm *comm, const struct checkpoint *checkpoint, struct particles *particles,
                         struct fault *fault);
/* Check without reading the particles that all files have the particle fields of this version of the program.
 * \return 0; -1 with a fault, the same on all ranks. Collective. */
int checkpoint_check(const struct comm *comm, const struct checkpoint *checkpoint, struct fault *fault);
/* Read sections of this rank's file into own[count]. A section that is missing or has another length is left unchanged.
 * \return number of sections read; 0 if the checkpoint was written by another number of ranks. Local. */
int checkpoint_own(const struct comm *comm, const struct checkpoint *checkpoint, const struct section *own, int count);

/* The following functions are local, for rank 0. */

/* The name of a checkpoint in the folder of the run, for messages. 1; 0 if there is none. */
int checkpoint_exists(const struct params *params, char name[CHECKPOINT_PATH]);
/* Refuse a CheckpointDir with checkpoints of another run whose OutputDir exists, because two runs would count, rename
 * and remove each other's checkpoints. 0; -1 with a fault. */
int checkpoint_check_others(const struct params *params, struct fault *fault);
/* The number of complete checkpoints in the folder of the run. */
int checkpoint_count(const struct params *params);
/* Remove all checkpoints in the folder of the run; other files stay. */
void checkpoint_remove_all(const struct params *params);
/* Rename checkpoints that are newer than `checkpoint`, from which the run restarts, to NAME.unused, and list them on
 * stdout. */
void checkpoint_set_aside(const struct params *params, const struct checkpoint *checkpoint);
#endif
