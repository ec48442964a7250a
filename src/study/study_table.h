/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of a study of LETs, on the terminal and in a file. All functions are for rank 0. */
#ifndef STUDY_TABLE_H
#define STUDY_TABLE_H
#include "study/result_file.h"
#include "study/soft_step.h"
#include "study/study.h"
#include "study/virtual.h"

struct study_table {
  struct result_file out, pairs;
  int domains;
};

/* The system that is studied, in code units. */
struct study_facts {
  const char *scheme;
  double particles, r0, r1, r2, soft_step;   /* r1 and r2: 0 without a split */
  int quads;                                 /* 1: cells of LET summaries carry second moments */
};
/* Most bytes of the LET summary of a rank at a synchronisation. Pure. */
int64_t study_summary_bytes(const struct study_facts *f);

/* Open o->output and o->pairs, if given; an earlier file keeps its content (result_file.h). 0 or -1. */
int study_table_open(struct study_table *t, const struct study_options *o, const struct params *par, struct fault *f);
/* Remove the content of an earlier file and write the header. `processes`: number of MPI processes. 0 or -1. */
int study_table_start(struct study_table *t, const struct params *par, int processes, struct fault *f);
/* Close the file; sets a fault where something could not be written. */
void study_table_close(struct study_table *t, struct fault *f);
/* Print the header of the terminal's table for one system. */
void study_table_begin(const struct study_table *t, const struct study_facts *facts, int processes);
/* Print and write the row of one number of ranks, or with --domains write a row per rank; write the pairs of ranks. `rows`: [ranks];
 * `seconds`: time of the computation. */
void study_table_row(const struct study_table *t, const struct study_facts *facts, int ranks, const struct virtual_rank *rows,
                     const struct soft_step *step, double seconds);
/* Print that real ranks agree (`difference` NULL) or how they differ. */
void study_table_compared(const struct study_table *t, int ranks, const char *difference);
#endif
