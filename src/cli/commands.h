/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The commands of the program: `espalier COMMAND ARGUMENT...`. */
#ifndef COMMANDS_H
#define COMMANDS_H
#include <stdio.h>

#include "mpi/comm.h"

enum { STATUS_OK = 0, STATUS_ERROR = 1, STATUS_USAGE = 2 };

/* Carry out the command line. Rank 0 prints messages. Collective. Returns the exit status, the same on all ranks. */
int commands_run(const struct comm *comm, int argc, char **argv);

/* A command. `act` gets the arguments from the command's name on, is collective, and returns an exit status. */
struct command {
  const char *name, *usage, *summary, *help;
  int (*act)(const struct command *self, const struct comm *comm, int argc, char **argv);
};
extern const struct command command_run, command_force, command_study, command_ic, command_convert, command_galaxy,
    command_groups, command_plan, command_params, command_info;

/* List all commands in the order of --help. Returns their number. */
int commands_list(const struct command *const **list);

/* Print the help text of the command. */
void command_help(const struct command *self);
/* Print the usage line of the command (NULL: of the program). */
void command_usage(const struct command *self, FILE *out);
/* Read the next option of a command (NULL: of the program, which serves -h itself); serves -h and -V and reports bad
 * options. `options` and `longs` are those of getopt_long, with -h, --help, -V and --version added by COMMAND_SHORT and
 * COMMAND_LONG. The same on all ranks. Returns the option, -1 after the last one, or COMMAND_DONE with *status set. */
enum { COMMAND_DONE = -2 };
#define COMMAND_SHORT ":hV"
#define COMMAND_LONG \
  {"help", no_argument, NULL, 'h'}, {"version", no_argument, NULL, 'V'}, { NULL, 0, NULL, 0 }
struct option;
int command_option(const struct command *self, const struct comm *comm, int argc, char **argv, const char *options,
                   const struct option *longs, int *status);
/* Print a message and the usage line of the command (NULL: of the program) on rank 0's stderr. Returns STATUS_USAGE. */
int command_misused(const struct command *self, const struct comm *comm, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Print the fault on rank 0's stderr. Returns STATUS_ERROR. */
int command_failed(const struct comm *comm, const struct fault *fault);
/* Returns the only operand, or NULL with *status set where there is none or more than one. `what`: its name in the
 * message. */
const char *command_operand(const struct command *self, const struct comm *comm, int argc, char **argv,
                            const char *what, int *status);
/* Read a whole number within [min_value, max_value], also as 1e5 or 2.5e6. 0 or -1. */
int command_whole(const char *text, long long min_value, long long max_value, long long *x);
/* Read a number of particles up to 2^40: 2^28, 1e6, 300000, 2.5M; a k, M or G behind it is 10^3, 10^6 or 10^9. 0 or
 * -1. */
int command_particles(const char *text, double *x);
/* Read a finite number. 0 or -1. */
int command_real(const char *text, double *x);
/* A fault where a file cannot be written: it exists and `overwrite` is 0, it is a folder, or its folder is missing.
 * Local. 0 or -1. */
int command_output(const char *path, int overwrite, struct fault *fault);
#endif
