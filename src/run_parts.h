/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run's own: what it consists of, and its files (run_save.c). For run.c and run_save.c. */
#ifndef RUN_PARTS_H
#define RUN_PARTS_H
#include "control.h"
#include "guard.h"
#include "lock.h"
#include "logs.h"
#include "outputs.h"
#include "run.h"
#include "state.h"
#include "status.h"

/* A run: the system, its outputs, its logs. */
struct run {
  struct sim sim;
  struct outputs outputs;
  struct logs logs;
  struct run_state state;
  struct control control;
  struct status status;
  struct guard guard;
  struct checkpoint from;   /* that it goes on from */
  const struct run_options *options;
  struct lock lock, checkpoint_lock;   /* rank 0: on OutputDir; on CheckpointDir, where it is another folder */
  int under_way;            /* the next soft step has been opened: behind a restart */
  int nothing_left;         /* the checkpoint is behind TimeMax, or the run has finished */
  int interrupted;          /* a wish for the end was met */
  int failed_snapshots;     /* were never written */
};

/* The next snapshot. One that cannot be written is reported, and tried again (run_write_snapshot with its number) at the end of the
 * next soft steps. Collective. */
void run_snapshot(struct run *r);
void run_write_snapshot(struct run *r, int number);
/* The state to look at where the run cannot go on. Collective. */
void run_emergency(struct run *r);

/* The last checkpoint is this one. */
void run_name_checkpoint(struct run *r, long long number);
/* What was wished for (s->wish; or `last`, and CheckpointAtEnd), behind the substeps. 1: the run ends here; -1: it is to end, and no
 * checkpoint could be written. Collective. */
int run_meet_wish(struct run *r, int last, struct fault *f);
#endif
