/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checkpoints: folders checkpoint_NNNNNN (NNNNNN: the soft step that they are in the midst of) with a file of each rank, and a
 * manifest: how many ranks and particles, numbers that all ranks share, the parameters, and size and checksum of every file.
 *
 * A checkpoint is written under another name, read back and compared, flushed to the disk with its folder, and only then gets
 * its name; only then an older one is removed. So whenever the program ends, the last checkpoint with a good name is whole.
 * What goes into it, and when, is decided elsewhere (state.h, run.c). */
#ifndef CHECKPOINT_H
#define CHECKPOINT_H
#include "comm.h"
#include "manifest.h"
#include "params.h"
#include "particles.h"
#include "sections.h"

enum { CHECKPOINT_PATH = 2 * PARAM_TEXT };

/* The folder that a run's checkpoints are in: CheckpointDir, or OutputDir/checkpoints. */
void checkpoint_folder(const struct params *p, char path[CHECKPOINT_PATH]);

/* What a checkpoint holds beside the particles. */
struct checkpoint_content {
  long long number;
  const char *backend;
  const struct item *items;   /* the same on all ranks */
  int item_count;
  const struct section *own;  /* this rank's */
  int own_count;
};

/* Write a checkpoint and remove those that CheckpointsKept does not keep. Faults agree on all ranks; then no older checkpoint
 * was touched. Collective. 0 or -1. */
int checkpoint_write(const struct comm *c, const struct params *p, const struct checkpoint_content *content,
                     const struct particles *particles, struct fault *f);

/* One that is to be gone on from. */
struct checkpoint {
  char path[CHECKPOINT_PATH];
  long long number, ranks, particles;
  int own_folder;   /* it stands where this run writes its own, */
  int own_output;   /* and was written by a run with this OutputDir; always, but for those in a CheckpointDir */
  char *text;       /* the manifest */
};

/* Find and verify a checkpoint: the newest good one (`which` NULL or "last"; damaged ones are named on rank 0's stderr), that of a
 * number, or a folder. The first two must be of a run with this OutputDir (own_output). Owner: caller. Collective. 0 or -1. */
int checkpoint_find(const struct comm *c, const struct params *p, const char *which, struct checkpoint *k, struct fault *f);
void checkpoint_close(struct checkpoint *k);
/* The particles: on as many ranks as it was written by everyone its own, in their order; else nearly equal shares. `p` must be
 * empty. Collective. 0 or -1. */
int checkpoint_particles(const struct comm *c, const struct checkpoint *k, struct particles *p, struct fault *f);
/* Whether all files hold the particles' fields as this version of the program has them, so that checkpoint_particles would read them.
 * Collective. 0 or -1. */
int checkpoint_check(const struct comm *c, const struct checkpoint *k, struct fault *f);
/* This rank's sections, on as many ranks as it was written by; those that are not there, or have another length, stay as they
 * are. Returns how many were read (0 on other numbers of ranks). Local; it has been verified. */
int checkpoint_own(const struct comm *c, const struct checkpoint *k, const struct section *own, int count);

/* On rank 0: the name of a checkpoint in the run's folder; 0 where there is none. */
int checkpoint_exists(const struct params *p, char name[CHECKPOINT_PATH]);
/* On rank 0: -1 with a fault where checkpoints of another run, whose OutputDir is still there, stand in CheckpointDir: two runs would
 * count, set aside and remove each other's. */
int checkpoint_check_others(const struct params *p, struct fault *f);
/* On rank 0: how many with good names there are in the run's folder. */
int checkpoint_count(const struct params *p);
/* On rank 0: remove all checkpoints of an earlier run, and nothing else. */
void checkpoint_remove_all(const struct params *p);
/* On rank 0: the run goes on from `k`, so newer ones in its folder (damaged, or not wanted) get names that nobody looks for, and
 * are named on stdout. */
void checkpoint_set_aside(const struct params *p, const struct checkpoint *k);
#endif
