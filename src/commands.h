/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program's subcommands. */
#ifndef COMMANDS_H
#define COMMANDS_H
#include "comm.h"

enum { STATUS_OK = 0, STATUS_ERROR = 1, STATUS_USAGE = 2 };

/* Carry out the command line; messages come from rank 0, the exit status is the same everywhere. Collective. */
int commands_run(const struct comm *c, int argc, char **argv);

/* For the commands' own sources. A command gets the arguments from its name on and returns an exit status. */
struct command {
  const char *name, *usage, *summary, *help;
  int (*act)(const struct command *self, const struct comm *c, int argc, char **argv);
};
extern const struct command command_run, command_force, command_study, command_ic, command_params, command_info;

/* All of them, in the order of --help. Returns their number. */
int commands_list(const struct command *const **list);

/* getopt's next option for a command, all ranks alike: '-h' and '-V' are answered and bad options named here. Returns the
 * option, -1 after the last one, or COMMAND_DONE with *status set. `options` and `longs` are getopt_long's; every list has
 * -h, --help, -V and --version added by COMMAND_SHORT and COMMAND_LONG. */
enum { COMMAND_DONE = -2 };
#define COMMAND_SHORT ":hV"
#define COMMAND_LONG {"help", no_argument, NULL, 'h'}, {"version", no_argument, NULL, 'V'}, {NULL, 0, NULL, 0}
struct option;
int command_option(const struct command *self, const struct comm *c, int argc, char **argv, const char *options,
                   const struct option *longs, int *status);
/* A sentence and the usage line on rank 0's stderr. Returns STATUS_USAGE. */
int command_misused(const struct command *self, const struct comm *c, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The fault, on rank 0's stderr. Returns STATUS_ERROR. */
int command_failed(const struct comm *c, const struct fault *f);
/* The only operand, named `what` in the message; NULL: *status is set. */
const char *command_operand(const struct command *self, const struct comm *c, int argc, char **argv, const char *what, int *status);
/* Whole numbers in an option's text: 0, or -1 where it is none or out of range. */
int command_whole(const char *text, long long least, long long most, long long *x);
int command_real(const char *text, double *x);
#endif
