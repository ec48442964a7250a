/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameters of a command line: the parameter file and the -P options. */
#ifndef OVERRIDES_H
#define OVERRIDES_H
#include "cli/commands.h"
#include "params/params.h"
#include "run/run.h"

enum { OVERRIDE_LIMIT = PARAM_LIMIT };

/* Values of -P options, each as "Section:Name=value". The texts belong to the caller. */
struct overrides {
  const char *text[OVERRIDE_LIMIT];
  int count;
};

/* Append a -P option. 0, or -1 where it is not of that form or there are too many. */
int overrides_add(struct overrides *overrides, const char *text);
/* Report a -P option that overrides_add refuses, on rank 0's stderr. Returns STATUS_USAGE. */
int overrides_misused(const struct command *self, const struct comm *comm, const char *text);
/* Read the parameter file with the overrides on rank 0, and broadcast the values. Units that the parameters do not
 * state are those of the initial conditions, or of the checkpoint.
 * \param input    the initial conditions must exist
 * \param options  of a run; else NULL
 * \param origin  rank 0: where each value comes from
 * Collective; all ranks agree on the result. 0, or -1 with a fault. */
int command_load_params(const struct comm *comm, const char *file, const struct overrides *overrides, int input,
                        const struct run_options *options, struct params *par, struct param_origin *origin,
                        struct fault *fault);
#endif
