/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a run goes on from: one list of all that a soft step behind its substeps depends on (step.h), for writing and for reading
 * checkpoints. Numbers that all ranks share stand in the manifest, a rank's own in its file; what is remade there (domains,
 * lattice, order, tree, groups, LETs, forces, sums) is not kept. */
#ifndef STATE_H
#define STATE_H
#include "checkpoint.h"
#include "logs.h"
#include "plan.h"
#include "sim.h"

/* What a run knows beside its system and its tables. */
struct run_state {
  struct plan plan;          /* of the soft step under way */
  int snapshots;             /* so many have got a number: the number of the next */
  int pending;               /* the last of them could not be written and is tried again: by the next job too, if this one is over */
  int judged;                /* Mode = auto: whether the split pays has been decided */
  long long block_steps;     /* made before this job, by --substeps' count */
  double particles, mass;    /* at the start; nothing may get lost */
  double checkpoint_seconds; /* that the last checkpoint took; 0: not known */
};

/* Write a checkpoint of a soft step behind its substeps; the tables' files hold all rows so far then. Collective. 0 or -1. */
int state_save(struct sim *s, struct logs *l, struct run_state *r, struct fault *f);

/* From a checkpoint to a system behind the substeps of a soft step (s, r). Parameters that have changed are named on rank 0;
 * those that must not are a fault. Owner of `k`: caller, on 0. On a fault nothing stays allocated. Collective. 0 or -1. */
int state_load(struct sim *s, struct run_state *r, struct checkpoint *k, const struct comm *c, const struct params *par, const char *which,
               struct fault *f);
/* What a checkpoint says of the run, without loading it. */
struct state_facts {
  double time;             /* at which the soft step under way began */
  long long step;          /* soft steps before it */
  struct run_state run;
};
/* As state_load finds them; a fault where something is missing. Local. 0 or -1. */
int state_inspect(const struct checkpoint *k, struct state_facts *facts, struct fault *f);
/* The tables go on: what they hold behind the checkpoint is cut off; of another OutputDir than the checkpoint's they begin
 * anew. Where the checkpoint does not hold what is needed no table is touched. Collective. 0 or -1. */
int state_load_logs(struct logs *l, const struct sim *s, const struct checkpoint *k, int overwrite, struct fault *f);
#endif
