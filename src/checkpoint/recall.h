/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a restart takes from the checkpoint before its parameters are settled: the units of a run whose parameters state
 * none, and options -P of the command line that started it. Local, for rank 0. */
#ifndef RECALL_H
#define RECALL_H
#include <stdio.h>

#include "params/params.h"

/* Write the lines of a manifest that recall() reads. `origin` NULL: none. */
void recall_write(FILE *out, const struct param_origin *origin);
/* Add the options -P with which the run was started, and take its units, from the checkpoint `which` in the syntax of
 * checkpoint_find; the newest one that can be read stands for "last". An option is not added where the command line
 * has one for the same parameter, where the parameter file has changed its value since, and as TimeMax where the run
 * has reached it and the file has another one; OutputDir and CheckpointDir are never added, because they lead to the
 * checkpoint. Prints a line for each option. Nothing is done where there is no checkpoint. Between params_gather and
 * params_complete. */
void recall(struct params *params, const char *which, struct param_origin *origin);
/* The check that the checkpoint at `path` with the manifest `text`, which all ranks have found good, is the one of
 * recall(), or has the same options and units. 0, or -1 with a fault that says what to give. */
int recall_check(const struct param_origin *origin, const char *path, const char *text, struct fault *fault);
#endif
