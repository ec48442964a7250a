/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RUN_H
#define RUN_H
#include "mpi/comm.h"
#include "params/params.h"

struct run_options {
  int check;       /* parse, read the headers, estimate memory and disk, then stop */
  long long steps; /* stop after this number of soft steps; negative: no limit */
  /* stop after the soft step in which this number of block steps is reached; negative: no limit */
  long long substeps;
  int force;                         /* start also where the run would surely be worthless (run/check.h) */
  int overwrite;                     /* results in OutputDir may be replaced */
  int schedule;                      /* print the schedule of the first soft step, then stop; nothing is written */
  int no_output;                     /* tables only: for timings */
  int quiet;                         /* no lines about the progress */
  int verbose;                       /* a row for every soft step; tables of memory, messages and times at the end */
  int restart;                       /* continue from a checkpoint: */
  const char *from;                  /* which one, in the syntax of checkpoint_find; NULL: the newest */
  const struct param_origin *origin; /* rank 0: origin of the parameters; NULL: unknown */
  double walltime;                   /* seconds until the job ends; negative: not given */
};

/* Exit statuses beside 0; 2 is that of a wrong command line. */
enum { RUN_FAILED = 1, RUN_UNTRUSTED = 3 };

/* Run the simulation from its initial conditions, or from a checkpoint, to TimeMax.
 * Collective. Returns the exit status: 0 also where the run was interrupted and a restart can continue it;
 * RUN_UNTRUSTED where it has ended with an energy error above the bound of doc/accuracy.md, or after the
 * steps of a close pair collapsed; else RUN_FAILED. */
int run(const struct comm *comm, const struct params *par, const struct run_options *options);
#endif
