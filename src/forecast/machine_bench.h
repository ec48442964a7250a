/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Soft steps that study machine carries out, and what they took: the same code as in a run, by phase, without
 * waiting. */
#ifndef MACHINE_BENCH_H
#define MACHINE_BENCH_H
#include "params/params.h"
#include "step/sim.h"
#include "study/study_system.h"

/* A soft step of one rank. */
struct bench_step {
  double particles; /* of this rank */
  int ranks;
  double seconds[PHASE_COUNT];   /* without waiting for messages and other ranks */
  double full_pairs, hard_pairs; /* interactions of full forces, and of block steps */
  double targets, substeps;      /* forces of block steps; block steps */
  double level[SCHEDULE_LEVELS]; /* particles of each block level */
  struct schedule schedule;
  double builds, updates;         /* of trees, and of moments alone, within the soft step */
  double built;                   /* particles of the trees that are built, sum over the builds */
  double exchanges, migrations;   /* of LETs within the soft step; of particles, with that at its end */
  double let_bytes, update_bytes; /* sent: LETs of the synchronisation; those of the substeps, and their updates */
  double direct_bytes, direct_messages, direct_seconds; /* sent from device to device; the time of it */
  double spread; /* seconds of the longest of these soft steps over those of the shortest */
};

/* What a benchmark runs. */
struct bench_task {
  const struct comm *c; /* its ranks */
  const struct backend *be;
  const struct params *par; /* whose accuracy, criteria and kernel are used */
  enum study_scheme scheme;
  int64_t particles;    /* of each rank */
  double radius_factor; /* of R1; 0: one */
};

/* Carry out soft steps of a Plummer sphere in equilibrium; *step becomes the one of median seconds, without waiting, of
 * this rank. Collective over task->c. 0 or -1. */
int bench_soft_steps(const struct bench_task *task, struct bench_step *step, struct fault *fault);
/* The sum of phases of which trees are made; of all phases but these and the full forces. Pure. */
double bench_tree_seconds(const struct bench_step *step);
double bench_other_seconds(const struct bench_step *step);
#endif
