/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command convert. */
#include <config.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/lines.h"
#include "cli/commands.h"
#include "cli/gadget.h"

enum { NAME_SIZE = 1024 };

/* `path` with another ending in place of `old` (NULL: of that of its last part, .param or .txt). */
static void replace_ending(const char *path, const char *ending, char name[NAME_SIZE])
{
  const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
  size_t n = dot && dot > path && dot[-1] != '/' ? (size_t)(dot - path) : strlen(path);
  snprintf(name, NAME_SIZE, "%.*s%s", (int)(n < NAME_SIZE - 40 ? n : NAME_SIZE - 40), path, ending);
}

/* Write a file by `write`, which gets the run; all of it or a fault. */
static int write_file(const char *path, const struct gadget_run *run, const char *from, int times, struct fault *fault)
{
  FILE *out = fopen(path, "w");
  if (!out) return fault_set(fault, "%s: %s", path, strerror(errno));
  if (times) gadget_times(run, out);
  else gadget_write(run, from, out);
  int bad = ferror(out);
  if (fclose(out) || bad) return fault_set(fault, "%s cannot be written: %s", path, strerror(errno));
  return 0;
}

/* One line for each reason, with all parameters that it holds for. */
static void print_without(const char *file, const struct gadget_file *gadget_file, const struct gadget_run *run)
{
  for (int k = 0; k < run->notes; k++) {
    const struct gadget_line *l = &gadget_file->line[run->without[k].line];
    const char *text = run->without[k].text;
    int before = 0, more = 0;
    for (int j = 0; j < run->notes; j++)
      if (j != k && strcmp(run->without[j].text, text) == 0) {
        before += j < k;
        more += j > k;
      }
    if (before) continue;
    fprintf(stderr, "%s:%d", file, l->line);
    for (int j = k + 1; j < run->notes && more; j++)
      if (strcmp(run->without[j].text, text) == 0) fprintf(stderr, ",%d", gadget_file->line[run->without[j].line].line);
    fprintf(stderr, ": %s", l->name);
    if (!more) fprintf(stderr, " = %s", l->value);
    for (int j = k + 1; j < run->notes && more; j++)
      if (strcmp(run->without[j].text, text) == 0)
        fprintf(stderr, ", %s", gadget_file->line[run->without[j].line].name);
    fprintf(stderr, ": %s\n", text);
  }
}

/* Rank 0. */
static void convert(const char *file, const char *output, int overwrite, struct fault *fault)
{
  struct gadget_file *g = memory_resize("parameters", NULL, sizeof *g);
  struct gadget_run *r = memory_resize("parameters", NULL, sizeof *r);
  char name[NAME_SIZE], times[NAME_SIZE], made[32] = "";
  int count = 0, written = 0;
  struct fault ignored = {""};
  if (output) snprintf(name, sizeof name, "%s", output);
  else replace_ending(file, ".ini", name);
  replace_ending(name, "-times.txt", times);
  if (gadget_read(g, file, fault) == 0 && gadget_convert(r, g, fault) == 0) count = gadget_times(r, NULL);
  if (count > 0) {
    params_set(&r->par, &param_table[param_find(NULL, "OutputListFilename")], times, &ignored);
    r->origin.line[param_find(NULL, "OutputListFilename")] = 1;
  }
  if (!fault->text[0] && strcmp(name, file) == 0)
    fault_set(fault, "%s: the name of the new file is that of GADGET's; give another one with -o", name);
  if (!fault->text[0] && command_output(name, overwrite, fault) == 0 &&
      (count == 0 || command_output(times, overwrite, fault) == 0) &&
      (count == 0 || write_file(times, r, file, 1, fault) == 0))
    written = write_file(name, r, file, 0, fault) == 0;
  if (written) {
    print_without(file, g, r);
    for (int i = 0; i < param_count; i++) written += r->origin.line[i] != ORIGIN_DEFAULT;
    if (count > 0) snprintf(made, sizeof made, " and %d output times", count);
    printf("%s: %d parameters%s; %d without a counterpart\nnext: espalier run --check ", name, written - 1, made,
           r->notes);
    shell_word(stdout, name);
    putchar('\n');
  }
  memory_free(g);
  memory_free(r);
}

static int act_convert(const struct command *self, const struct comm *comm, int argc, char **argv)
{
  enum { OVERWRITE = 256 };
  static const struct option longs[] = {
      {"output", required_argument, NULL, 'o'}, {"overwrite", no_argument, NULL, OVERWRITE}, COMMAND_LONG};
  const char *output = NULL;
  int status = STATUS_OK, option, overwrite = 0;
  while ((option = command_option(self, comm, argc, argv, COMMAND_SHORT "o:", longs, &status)) != -1) switch (option) {
    case COMMAND_DONE: return status;
    case 'o': output = optarg; break;
    case OVERWRITE: overwrite = 1; break;
    }
  const char *file = command_operand(self, comm, argc, argv, "parameter file of GADGET", &status);
  if (!file) return status;
  if (strlen(file) > NAME_SIZE / 2 || (output && strlen(output) > NAME_SIZE / 2))
    return command_misused(self, comm, "the name of a file is too long");
  struct fault f = {""};
  if (comm->rank == 0) convert(file, output, overwrite, &f);
  return comm_verdict(comm, &f) ? command_failed(comm, &f) : STATUS_OK;
}

const struct command command_convert = {
    "convert", "convert [-o FILE.ini] [--overwrite] FILE.param",
    "Make a parameter file from one of GADGET-2 or GADGET-4, and list what has no counterpart",
    "Values are converted where the units or the meaning differ: minutes between checkpoints, Eta from "
    "ErrTolIntAccuracy, softenings\n"
    "of types from names or classes, the ending of HDF5 files. Output times that TimeBetSnapshot cannot give (factors "
    "between\n"
    "expansion factors, another first time) go to FILE-times.txt. Each parameter without a counterpart is named on "
    "standard error,\n"
    "with the reason. A file that asks for periodic boxes, or that has names or values which GADGET does not know, is "
    "refused.\n"
    "  -o, --output FILE.ini   name of the new file [that of FILE.param with the ending .ini]\n"
    "      --overwrite         replace files that exist\n",
    act_convert};
