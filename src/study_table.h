/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a study of LETs tells: a table on the terminal, and one in a file. All on rank 0. */
#ifndef STUDY_TABLE_H
#define STUDY_TABLE_H
#include "result_file.h"
#include "study.h"
#include "virtual.h"

struct study_table {
  struct result_file out;
  int domains;
};

/* The state that is studied. */
struct study_facts {
  double particles, r0, r1, r2, soft_step;   /* r1 and r2: 0 without a split */
};

/* Opens the file, if one is asked for; what is there stays. 0 or -1. */
int study_table_open(struct study_table *t, const struct study_options *o, const struct params *par, struct fault *f);
/* The start has succeeded: what was there goes, and the columns are named. 0 or -1. */
int study_table_start(struct study_table *t, const struct params *par, int processes, struct fault *f);
/* A fault when something could not be written. */
void study_table_close(struct study_table *t, struct fault *f);
/* The head of the terminal's table for one state. */
void study_table_begin(const struct study_table *t, const struct study_facts *facts, int processes);
/* The rows of one number of ranks. */
void study_table_row(const struct study_table *t, const struct study_facts *facts, int ranks, const struct virtual_rank *rows,
                     double seconds);
/* That so many real ranks agree, or how they differ. */
void study_table_compared(const struct study_table *t, int ranks, const char *difference);
#endif
