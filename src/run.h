/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RUN_H
#define RUN_H
#include "comm.h"
#include "params.h"

struct run_options {
  int check;                 /* parse, read the headers, estimate memory and disk, then stop */
  long long steps;           /* stop after so many soft steps; negative: no limit */
  long long substeps;        /* stop after the soft step in which so many block steps are reached; negative: no limit */
  int overwrite;             /* results in OutputDir may be replaced */
  int no_output;             /* tables only: for timings */
  int quiet;                 /* no line for every soft step */
  int restart;               /* go on from a checkpoint: */
  const char *from;          /* which one, as checkpoint_find takes it */
  const struct param_origin *origin;   /* rank 0: of the parameters; NULL: not known */
  double walltime;           /* seconds until the job ends; negative: not given */
};

/* Run the simulation from its file, or from a checkpoint, to TimeMax. Collective. Returns the exit status: 0 also where the run was
 * interrupted and can be gone on with, else 1. */
int run(const struct comm *c, const struct params *par, const struct run_options *options);
#endif
