/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plan of a run before it has initial conditions: memory, disk, seconds, node hours, the job script. */
#ifndef PLANNING_H
#define PLANNING_H
#include "mpi/comm.h"
#include "params/params.h"
#include "planning/pilot.h"

#define PLANNED_MAX 0x1p40 /* particles */
enum { PLANNED_RANKS = 1 << 20, PILOT_PARTICLES = 1 << 16 };

struct planning {
  double particles;          /* of the run; 0: those of the file */
  int ranks, ranks_per_node; /* 0: of the machine */
  struct pilot_source source;
  const char *machine;    /* file, or its name; NULL: no seconds */
  const char *parameters; /* the parameter file; NULL: there is none */
  int softening_is_given;
  double pilot;    /* particles of the largest pilot */
  double begin;    /* time at which the run begins */
  double baseline; /* resident set of the process at first */
  const char *job; /* the job script to write; NULL: none */
  /* for the job script: -P of the plan, [option_count] of Section:Name=value, and the time of --until (NULL: none) */
  const char *const *options;
  int option_count;
  const char *until;
  int overwrite;
};

/* Print the plan. On one process. Returns the exit status (0 or 1). */
int planning_print(const struct comm *comm, const struct params *params, struct planning *planning);
/* Print the table of bytes per particle, of each backend and scheme, as comma-separated values. */
void planning_print_bytes(void);
#endif
