/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "cli/commands.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const struct command *const commands[] = {&command_run,    &command_plan,   &command_force,   &command_study,
                                                 &command_ic,     &command_galaxy, &command_convert, &command_groups,
                                                 &command_params, &command_info};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

int commands_list(const struct command *const **list)
{
  *list = commands;
  return COMMAND_COUNT;
}

/* Of the program. */
static int help_on_program(const struct comm *comm)
{
  if (comm->rank != 0) return STATUS_OK;
  command_usage(NULL, stdout);
  printf("Gravitational N-body simulations of galaxies and star clusters with trees, on many ranks.\n\ncommands:\n");
  for (int i = 0; i < COMMAND_COUNT; i++) printf("  %-9s %s\n", commands[i]->name, commands[i]->summary);
  printf("\n'%s COMMAND --help' explains a command.\nExit status: 0 success, 1 error, 2 wrong command line, 3 a "
         "finished run that cannot be trusted.\n",
         PACKAGE_NAME);
  return STATUS_OK;
}

static const struct command *find_command(const char *name, const char **near)
{
  const char *names[COMMAND_COUNT];
  for (int i = 0; i < COMMAND_COUNT; i++) {
    names[i] = commands[i]->name;
    if (strcmp(name, names[i]) == 0) return commands[i];
  }
  *near = nearest_name(name, names, COMMAND_COUNT);
  return NULL;
}

static int unknown_command(const struct comm *comm, const char *name, const char *near)
{
  return command_misused(NULL, comm, "unknown command '%s'%s%s%s", name, near ? "; did you mean '" : "",
                         near ? near : "", near ? "'?" : "");
}

/* "help" and "help COMMAND": the same as --help. */
static int help(const struct comm *comm, int argc, char **argv)
{
  const char *near = NULL;
  const struct command *about = argc > 1 ? find_command(argv[1], &near) : NULL;
  if (argc > 1 && !about) return unknown_command(comm, argv[1], near);
  if (!about) return help_on_program(comm);
  if (comm->rank == 0) command_help(about);
  return STATUS_OK;
}

static int dispatch(const struct comm *comm, int argc, char **argv)
{
  static const struct option longs[] = {COMMAND_LONG};
  int status = STATUS_OK, option = command_option(NULL, comm, argc, argv, "+" COMMAND_SHORT, longs, &status);
  if (option == 'h') return help_on_program(comm);
  if (option == COMMAND_DONE) return status;
  if (optind == argc) return command_misused(NULL, comm, "a command is missing");
  if (strcmp(argv[optind], "help") == 0) return help(comm, argc - optind, argv + optind);
  const char *near = NULL;
  const struct command *command = find_command(argv[optind], &near);
  if (!command) return unknown_command(comm, argv[optind], near);
  argc -= optind;
  argv += optind;
  optind = 0; /* restarts getopt */
  return command->act(command, comm, argc, argv);
}

int commands_run(const struct comm *comm, int argc, char **argv)
{
  int status = dispatch(comm, argc, argv);
  struct fault f = {""};
  if (comm->rank == 0 && (fflush(stdout) || ferror(stdout))) fault_set(&f, "standard output: %s", strerror(errno));
  if (comm_verdict(comm, &f) && status == STATUS_OK) status = command_failed(comm, &f);
  return status;
}
