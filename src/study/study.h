/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STUDY_H
#define STUDY_H
#include "mpi/comm.h"
#include "params/params.h"
#include "trace/report.h"

enum { STUDY_MAX = 64, STUDY_RANKS_MAX = 65536 };

/* Schemes of time steps. Without the split: one step for all (shared), or block steps. */
enum study_scheme { STUDY_SHARED, STUDY_BLOCK, STUDY_HYBRID, STUDY_SCHEMES };
extern const char *const study_scheme_names[STUDY_SCHEMES];
/* Set the parameters that a scheme is. */
void study_use_scheme(struct params *params, enum study_scheme scheme);
/* The scheme of parameters after params_use_walks. */
enum study_scheme study_scheme_of(const struct params *params);

struct study_options {
  int ranks[STUDY_MAX]; /* [rank_count] numbers of virtual ranks */
  int rank_count;
  double r1[STUDY_MAX]; /* [r1_count] R1 in units of R0, one study each; none: the parameters' R1 */
  int r1_count;
  enum study_scheme scheme[STUDY_SCHEMES]; /* [scheme_count]; none: the parameters' scheme */
  int scheme_count;
  const char *output;         /* CSV table, or NULL */
  const char *pairs;          /* CSV table of messages and bytes by pair of ranks, or NULL */
  int as_device;              /* 1: count as the CUDA backend does, without a comparison with real ranks */
  int domains;                /* rows of the table are domains instead of numbers of ranks */
  int overwrite;              /* an existing table may be replaced */
  struct trace_outputs trace; /* where the messages of a soft step are written; for one number of ranks */
};

/* Count the sizes of locally essential trees and the messages of a soft step (soft_step.h) for each number of ranks, by
 * virtual ranks (virtual.h), and compare the sizes with real ranks
 * where the numbers agree. Prints a table, and writes it to options->output. Collective. Returns the exit status (0 or
 * 1). */
int study_let(const struct comm *comm, const struct params *par, const struct study_options *options);
#endif
