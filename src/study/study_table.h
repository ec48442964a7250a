/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of a study of LETs in a file; its rows are printed too (study_text.h). All functions are for rank 0. */
#ifndef STUDY_TABLE_H
#define STUDY_TABLE_H
#include "study/result_file.h"
#include "study/study.h"
#include "study/study_text.h"

/* Zero-initialise. */
struct study_table {
  struct result_file out, pairs;
  int domains;
  struct study_text text;
};

/* Open options->output and options->pairs, if given; an earlier file keeps its content (result_file.h). 0 or -1. */
int study_table_open(struct study_table *table, const struct study_options *options, const struct params *par,
                     struct fault *fault);
/* Remove the content of an earlier file and write the header. `processes`: number of MPI processes. 0 or -1. */
int study_table_start(struct study_table *table, const struct params *par, int processes, struct fault *fault);
/* Close the file; sets a fault where something could not be written. */
void study_table_close(struct study_table *table, struct fault *fault);
/* Print and write the row of one number of ranks, or with --domains write a row per rank; write the pairs of ranks.
 * `rows`: [ranks]; `seconds`: time of the computation. */
void study_table_row(struct study_table *table, const struct study_facts *facts, int ranks,
                     const struct virtual_rank *rows, const struct soft_step *step, double seconds);
#endif
