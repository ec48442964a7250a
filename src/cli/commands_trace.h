/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The word "trace" of the command study, and its option --trace. */
#ifndef COMMANDS_TRACE_H
#define COMMANDS_TRACE_H
#include "cli/commands.h"
#include "trace/report.h"

/* Carry out espalier study trace; the arguments begin with the word trace. Collective. Returns the exit status. */
int act_study_trace(const struct command *self, const struct comm *comm, int argc, char **argv);
/* Read --trace KIND NAME: optarg is the kind, and the name follows. Returns STATUS_OK or STATUS_USAGE. */
int take_trace_output(const struct command *self, const struct comm *comm, int argc, char **argv,
                      struct trace_outputs *outputs);
#endif
