/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The commands params and info, which only print. */
#include <config.h>
#include <getopt.h>
#include <stdio.h>

#include "cli/commands.h"
#include "cli/info.h"
#include "cli/manual.h"
#include "cli/overrides.h"
#include "mpi/transport.h"
#include "params/params_nearest.h"

/* Print the values that a run would use, one per line. `chosen`: [count] indices of param_table. */
static int print_values(const struct comm *comm, const char *file, const struct overrides *overrides, const int *chosen,
                        int count)
{
  struct params par;
  struct fault f = {""};
  if (comm->rank == 0) params_read(&par, file, overrides->text, overrides->count, &f);
  if (comm_verdict(comm, &f)) return command_failed(comm, &f);
  if (comm->rank == 0) par = params_resolved(&par);
  for (int k = 0; k < count && comm->rank == 0; k++) {
    char value[PARAM_TEXT];
    params_format(&par, &param_table[chosen[k]], value, sizeof value);
    puts(value);
  }
  return STATUS_OK;
}

static int act_params(const struct command *self, const struct comm *comm, int argc, char **argv)
{
  enum { GET = 256 };
  static const struct option longs[] = {{"ini", no_argument, NULL, 'i'},
                                        {"markdown", no_argument, NULL, 'm'},
                                        {"json", no_argument, NULL, 'j'},
                                        {"get", required_argument, NULL, GET},
                                        COMMAND_LONG};
  struct overrides overrides = {.count = 0};
  int status = STATUS_OK, option, form = 'i', count = 0, chosen[PARAM_LIMIT];
  char hint[200];
  while ((option = command_option(self, comm, argc, argv, COMMAND_SHORT "P:", longs, &status)) != -1) switch (option) {
    case COMMAND_DONE: return status;
    case 'i':
    case 'm':
    case 'j': form = option; break;
    case 'P':
      if (overrides_add(&overrides, optarg)) return overrides_misused(self, comm, optarg);
      break;
    case GET:
      if (count == PARAM_LIMIT)
        return command_misused(self, comm, "option --get: given more than %d times", PARAM_LIMIT);
      chosen[count] = param_find(NULL, optarg);
      param_hint("", optarg, hint, sizeof hint);
      if (chosen[count++] < 0)
        return command_misused(self, comm, "option --get: unknown parameter '%.60s'%s", optarg, hint);
    }
  if (count > 0) {
    const char *file = command_operand(self, comm, argc, argv, "parameter file", &status);
    return file ? print_values(comm, file, &overrides, chosen, count) : status;
  }
  if (optind != argc) return command_misused(self, comm, "unexpected '%s'", argv[optind]);
  if (overrides.count > 0) return command_misused(self, comm, "option -P: belongs to --get");
  if (comm->rank != 0) return STATUS_OK;
  if (form == 'm') params_write_markdown(stdout);
  else if (form == 'j') params_write_json(stdout);
  else params_write_ini(stdout, NULL, NULL);
  return STATUS_OK;
}

const struct command command_params = {
    "params", "params [--ini|--markdown|--json|--get NAME... [-P Section:Name=value]... FILE.ini]",
    "Print every parameter with unit, default, range and meaning",
    "      --ini               print a parameter file (default)\n"
    "      --markdown          print tables\n"
    "      --json              print a list for programs\n"
    "      --get NAME          print only the value that a run of FILE.ini would use, alone on a line; may be "
    "repeated\n"
    "  -P Section:Name=value   with --get: replace the value of a parameter of the file; may be repeated\n",
    act_params};

static int act_info(const struct command *self, const struct comm *comm, int argc, char **argv)
{
  static const struct option longs[] = {
      {"rates", no_argument, NULL, 'r'}, {"manual", no_argument, NULL, 'm'}, COMMAND_LONG};
  int status = STATUS_OK, option, rates = 0, manual = 0;
  while ((option = command_option(self, comm, argc, argv, COMMAND_SHORT, longs, &status)) != -1) {
    if (option == COMMAND_DONE) return status;
    rates |= option == 'r';
    manual |= option == 'm';
  }
  if (optind != argc) return command_misused(self, comm, "unexpected '%s'", argv[optind]);
  if (comm->rank == 0 && manual) manual_print(stdout);
  if (manual) return STATUS_OK;
  if (comm->rank == 0) info_print(stdout);
  transport_info(comm, stdout);
  if (comm->rank == 0 && rates) info_rates(stdout);
  return STATUS_OK;
}

const struct command command_info = {"info", "info [--rates] [--manual]",
                                     "Print the backends and devices that are available, or why they are not",
                                     "      --rates             print also how fast they compute direct sums\n"
                                     "      --manual            print the manual page instead, for man -l -\n",
                                     act_info};
