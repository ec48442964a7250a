/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command convert: particles from one format of files to another. */
#include <config.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "io/convert/convert.h"
#include "params/params_units.h"

enum { OVERWRITE = 256, FROM, TO, UNITS, DOUBLE };

static const struct {
  const char *name;
  enum ic_format format;
  int written;
} formats[] = {{"gadget1", FORMAT_GADGET1, 1},
               {"gadget2", FORMAT_GADGET2, 1},
               {"hdf5", FORMAT_HDF5, 1},
               {"tipsy", FORMAT_TIPSY, 0},
               {"ascii", FORMAT_ASCII, 1}};
enum { FORMATS = sizeof formats / sizeof *formats };

/* The format of this name; FORMAT_AUTO: there is none, or none that is written. */
static enum ic_format format_named(const char *name, int written)
{
  for (int k = 0; k < FORMATS; k++)
    if (strcmp(name, formats[k].name) == 0 && (formats[k].written || !written)) return formats[k].format;
  return FORMAT_AUTO;
}

static int take_option(const struct command *self, const struct comm *comm, int option, struct convert_order *order,
                       int *overwrite)
{
  switch (option) {
  case 'o': order->to = optarg; break;
  case OVERWRITE: *overwrite = 1; break;
  case DOUBLE: order->wide = 1; break;
  case UNITS: order->system = optarg; break;
  case FROM:
    if ((order->read_as = format_named(optarg, 0)) == FORMAT_AUTO)
      return command_misused(self, comm, "option --from: expected gadget1, gadget2, hdf5, tipsy or ascii, found '%s'",
                             optarg);
    break;
  case TO:
    if ((order->write_as = format_named(optarg, 1)) == FORMAT_AUTO)
      return command_misused(self, comm, "option --to: expected hdf5, gadget1, gadget2 or ascii, found '%s'", optarg);
    break;
  }
  return STATUS_OK;
}

static int check_order(const struct command *self, const struct comm *comm, struct convert_order *order)
{
  const char *end = strrchr(order->from, '.');
  if (end && strcmp(end, ".param") == 0)
    return command_misused(self, comm,
                           "a parameter file of GADGET is converted by a program of its own: "
                           "espalier-convert FILE.param");
  if (!order->to) return command_misused(self, comm, "option -o is missing");
  if (order->write_as == FORMAT_AUTO) order->write_as = convert_format_of(order->to);
  if (order->write_as == FORMAT_AUTO)
    return command_misused(self, comm, "option --to is missing, and '%s' does not end in .hdf5, .txt or .csv",
                           order->to);
  if (order->wide && order->write_as != FORMAT_GADGET1 && order->write_as != FORMAT_GADGET2)
    return command_misused(self, comm, "option --double: has a meaning only with --to gadget1 or gadget2");
  return STATUS_OK;
}

static void report_on(const struct convert_order *order, const struct convert_report *report)
{
  char text[256];
  initial_warn(order->from, &report->facts, stderr, "espalier: warning: ");
  printf("%s: %lld particle%s of %s (%s); units: %s\n", order->to, (long long)report->count,
         plural((double)report->count), order->from, report->facts.format,
         !report->has_units                ? "not known, the numbers are unchanged"
         : units_physical(&report->params) ? params_units_text(&report->params, text, sizeof text)
                                           : "none: the numbers of a model");
  if (order->write_as == FORMAT_ASCII) printf("types and ids are not in a text\n");
}

static int act(const struct command *self, const struct comm *comm, int argc, char **argv)
{
  static const struct option longs[] = {{"output", required_argument, NULL, 'o'},
                                        {"overwrite", no_argument, NULL, OVERWRITE},
                                        {"from", required_argument, NULL, FROM},
                                        {"to", required_argument, NULL, TO},
                                        {"units", required_argument, NULL, UNITS},
                                        {"double", no_argument, NULL, DOUBLE},
                                        COMMAND_LONG};
  struct convert_order order = {.to = NULL};
  struct convert_report report;
  struct fault f = {""};
  int status = STATUS_OK, option, overwrite = 0;
  while ((option = command_option(self, comm, argc, argv, COMMAND_SHORT "o:", longs, &status)) != -1) {
    if (option == COMMAND_DONE) return status;
    if ((status = take_option(self, comm, option, &order, &overwrite))) return status;
  }
  order.from = command_operand(self, comm, argc, argv, "file to read", &status);
  if (!order.from) return status;
  if ((status = check_order(self, comm, &order))) return status;
  if (comm->rank == 0) {
    command_output(order.to, overwrite, &f);
    if (!f.text[0] && initial_holds(order.from, order.read_as, order.to))
      fault_set(&f, "%s: is the file to read; give another name", order.to);
  }
  if (comm_verdict(comm, &f) || convert_file(comm, &order, &report, &f)) return command_failed(comm, &f);
  if (comm->rank == 0) report_on(&order, &report);
  return STATUS_OK;
}

const struct command command_convert = {
    "convert", "convert FILE -o FILE [OPTION]...", "Convert particles between formats of files",
    "Reads every format of initial conditions: GADGET 1 and 2, HDF5 of GADGET-4, SWIFT and of this program, TIPSY, "
    "text.\n"
    "Numbers keep their units. Comoving coordinates are refused. A parameter file is converted by espalier-convert.\n"
    "options:\n"
    "  -o, --output FILE       the file to write; .hdf5 is HDF5 in GADGET-4's layout, .txt and .csv are text with the\n"
    "                          columns x y z vx vy vz m\n"
    "      --overwrite         replace the file if it exists\n"
    "      --to FORMAT         hdf5, gadget1, gadget2 (with labels of blocks) or ascii [by the end of the name]\n"
    "      --from FORMAT       gadget1, gadget2, hdf5, tipsy or ascii [found from the file]\n"
    "      --units SYSTEM      of the numbers of a file that states none: galaxy, cluster, pc-myr, nbody or gadget,\n"
    "                          as [Units] System\n"
    "      --double            gadget1, gadget2: double precision [single]\n",
    act};
