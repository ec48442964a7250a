/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of a run in a checkpoint: one list of all quantities on which a soft step depends after its substeps
 * (step.h), for writing and for reading. Numbers shared by all ranks are in the manifest, those of a rank in its file.
 * What step_close computes again (domains, lattice, order, tree, groups, LETs, forces, sums) is not stored. */
#ifndef STATE_H
#define STATE_H
#include "analysis/binaries.h"
#include "checkpoint/checkpoint.h"
#include "run/logs.h"
#include "run/outputs.h"
#include "run/run.h"
#include "step/plan.h"
#include "step/sim.h"

/* The last statistics, for the rule of the next ones. */
struct statistics {
  double spent; /* interactions of soft steps since, of all ranks */
  double cost;  /* its own interactions */
  double time;  /* when they were, code time units */
};

/* Maps (Projections = on). Doubles only. */
struct projections {
  double next; /* number of the next one */
  double half; /* half of their width where ProjectionSize = 0, code length units; 0: not yet known */
};

/* State of a run beside its system and its tables. */
struct run_state {
  struct plan plan;       /* of the soft step under way */
  int snapshots;          /* number of the next snapshot */
  int pending;            /* the last snapshot could not be written and is tried again, also by the next job */
  struct missing missing; /* snapshots that could not be written, the pending one too; owner: the run */
  long long block_steps;  /* block steps of earlier jobs, for --substeps */
  double particles, mass; /* number of particles and total mass at the start, for the guard */
  double collapsed[4];    /* struct guard, collapsed; [3] 1: a checkpoint with which the run ended for that */
  struct statistics statistics;
  struct projections projections;
  struct binaries binaries;  /* owner: the run */
  double checkpoint_seconds; /* seconds that the last checkpoint took; 0: unknown */
};

/* Write a checkpoint at the end of the substeps of a soft step, after the rows of the tables so far; it holds those
 * that cannot be written. Collective. 0 or -1. */
int state_save(struct sim *sim, struct logs *logs, struct run_state *state, struct fault *fault);

/* Open the system and the state of a checkpoint, at the end of the substeps of a soft step. `options`: `from` as for
 * checkpoint_find, and the origin; `checkpoint`: the checkpoint (owner: caller, on success). Parameters that differ
 * from the checkpoint's are printed on rank 0; a parameter that must not change is a fault. Collective. 0, or -1 with
 * nothing allocated. */
int state_load(struct sim *sim, struct run_state *state, struct checkpoint *checkpoint, const struct comm *comm,
               const struct params *par, const struct run_options *options, struct fault *fault);
/* What the manifest of a checkpoint says of the run. */
struct state_facts {
  double time;    /* start of the soft step under way, code time units */
  long long step; /* soft steps before it */
  struct run_state run;
};
/* Read the facts from the manifest. Not collective. 0, or -1 with a fault where an entry is missing. */
int state_inspect(const struct checkpoint *checkpoint, struct state_facts *facts, struct fault *fault);
/* Continue the tables: rows after the checkpoint are removed, and those that only the checkpoint holds are added. For a
 * checkpoint of another OutputDir new tables are begun. Where the checkpoint lacks an entry no table is changed.
 * Collective. 0 or -1. */
int state_load_logs(struct logs *logs, const struct sim *sim, const struct checkpoint *checkpoint, int overwrite,
                    struct fault *fault);
#endif
