/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RUN_H
#define RUN_H
#include "comm.h"
#include "params.h"

struct run_options {
  const char *params_file;   /* named in messages */
  int check;                 /* parse, read the headers, estimate memory and disk, then stop */
  long long steps;           /* stop after so many soft steps; negative: no limit */
  long long substeps;        /* stop after the soft step in which so many block steps are reached; negative: no limit */
  int overwrite;             /* results in OutputDir may be replaced */
};

/* Run the simulation from its file to TimeMax. Collective. Returns the exit status (0 or 1). */
int run(const struct comm *c, const struct params *par, const struct run_options *options);
#endif
