/* SPDX-License-Identifier: GPL-3.0-or-later */
/* run, force: the commands that start from a parameter file; params, info: those that only print. */
#include <config.h>
#include <getopt.h>
#include <string.h>

#include "commands.h"
#include "force.h"
#include "info.h"
#include "params.h"
#include "run.h"

enum { OVERRIDE_LIMIT = PARAM_LIMIT };

struct overrides {
  const char *text[OVERRIDE_LIMIT];
  int count;
};

static int add_override(struct overrides *o, const char *text)
{
  const char *colon = strchr(text, ':');
  if (o->count == OVERRIDE_LIMIT || !colon || !strchr(colon, '=')) return -1;
  o->text[o->count++] = text;
  return 0;
}

static int bad_override(const struct command *self, const struct comm *c, const char *text)
{
  return command_misused(self, c, "option -P: expected Section:Name=value (at most %d times), found '%s'", OVERRIDE_LIMIT, text);
}

/* Rank 0 reads; everyone gets its verdict and its values. */
static int load_params(const struct comm *c, const char *file, const struct overrides *o, struct params *par, struct fault *f)
{
  struct param_origin origin;
  if (c->rank == 0 && params_read_origin(par, file, o->text, o->count, &origin, f) == 0) params_check_files(par, &origin, f);
  if (comm_verdict(c, f)) return -1;
  comm_broadcast(c, par, sizeof *par);
  return 0;
}

static int act_run(const struct command *self, const struct comm *c, int argc, char **argv)
{
  enum { CHECK = 256, OVERWRITE };
  static const struct option longs[] = {
      {"check", no_argument, NULL, CHECK}, {"steps", required_argument, NULL, 'n'}, {"overwrite", no_argument, NULL, OVERWRITE}, COMMAND_LONG};
  struct overrides overrides = {.count = 0};
  struct run_options options = {.steps = -1};
  int status = STATUS_OK, option;
  while ((option = command_option(self, c, argc, argv, COMMAND_SHORT "P:n:", longs, &status)) != -1) switch (option) {
    case COMMAND_DONE: return status;
    case CHECK: options.check = 1; break;
    case OVERWRITE: options.overwrite = 1; break;
    case 'P':
      if (add_override(&overrides, optarg)) return bad_override(self, c, optarg);
      break;
    case 'n':
      if (command_whole(optarg, 0, INT64_MAX, &options.steps))
        return command_misused(self, c, "option -n: expected a number of steps, found '%s'", optarg);
    }
  if (!(options.params_file = command_operand(self, c, argc, argv, "parameter file", &status))) return status;
  struct params par;
  struct fault f = {""};
  if (load_params(c, options.params_file, &overrides, &par, &f)) return command_failed(c, &f);
  return run(c, &par, &options);
}

const struct command command_run = {
    "run", "run [-P Section:Name=value]... [--check] [-n STEPS] [--overwrite] FILE.ini",
    "Run a simulation from its initial conditions to its end",
    "  -P Section:Name=value   another value for a parameter of the file; may be repeated\n"
    "      --check             read parameters and headers, estimate memory and disk, then stop\n"
    "  -n, --steps STEPS       stop after so many soft steps\n"
    "      --overwrite         replace results that are in the output folder\n",
    act_run};

static int act_force(const struct command *self, const struct comm *c, int argc, char **argv)
{
  enum { DIRECT = 256, BENCH };
  static const struct option longs[] = {
      {"direct", required_argument, NULL, DIRECT}, {"bench", no_argument, NULL, BENCH}, {"output", required_argument, NULL, 'o'}, COMMAND_LONG};
  struct overrides overrides = {.count = 0};
  struct force_options options = {.direct = 0};
  long long direct;
  int status = STATUS_OK, option;
  while ((option = command_option(self, c, argc, argv, COMMAND_SHORT "P:o:", longs, &status)) != -1) switch (option) {
    case COMMAND_DONE: return status;
    case BENCH: options.bench = 1; break;
    case 'o': options.output = optarg; break;
    case 'P':
      if (add_override(&overrides, optarg)) return bad_override(self, c, optarg);
      break;
    case DIRECT:
      if (command_whole(optarg, 1, INT64_MAX, &direct))
        return command_misused(self, c, "option --direct: expected a number of particles, found '%s'", optarg);
      options.direct = direct;
    }
  const char *file = command_operand(self, c, argc, argv, "parameter file", &status);
  if (!file) return status;
  struct params par;
  struct fault f = {""};
  if (load_params(c, file, &overrides, &par, &f)) return command_failed(c, &f);
  return force(c, &par, &options);
}

const struct command command_force = {
    "force", "force [-P Section:Name=value]... [--direct M] [--bench] [-o OUT.hdf5] FILE.ini",
    "Forces of the initial state, once, and a table about them",
    "  -P Section:Name=value   another value for a parameter of the file; may be repeated\n"
    "      --direct M          errors against the direct sum, on M particles spread evenly over the ids\n"
    "      --bench             two warm-ups, then the median of five\n"
    "  -o, --output OUT.hdf5   write accelerations and potentials\n",
    act_force};

static int act_params(const struct command *self, const struct comm *c, int argc, char **argv)
{
  static const struct option longs[] = {{"ini", no_argument, NULL, 'i'}, {"markdown", no_argument, NULL, 'm'}, COMMAND_LONG};
  int status = STATUS_OK, option, markdown = 0;
  while ((option = command_option(self, c, argc, argv, COMMAND_SHORT, longs, &status)) != -1) {
    if (option == COMMAND_DONE) return status;
    markdown = option == 'm';
  }
  if (optind != argc) return command_misused(self, c, "unexpected '%s'", argv[optind]);
  if (c->rank == 0 && markdown) params_write_markdown(stdout);
  if (c->rank == 0 && !markdown) params_write_ini(stdout, NULL);
  return STATUS_OK;
}

const struct command command_params = {
    "params", "params [--ini|--markdown]", "Every parameter with unit, default, range and meaning",
    "      --ini               as a parameter file (default)\n"
    "      --markdown          as tables\n",
    act_params};

static int act_info(const struct command *self, const struct comm *c, int argc, char **argv)
{
  static const struct option longs[] = {COMMAND_LONG};
  int status = STATUS_OK;
  if (command_option(self, c, argc, argv, COMMAND_SHORT, longs, &status) == COMMAND_DONE) return status;
  if (optind != argc) return command_misused(self, c, "unexpected '%s'", argv[optind]);
  if (c->rank == 0) info_print(stdout);
  return STATUS_OK;
}

const struct command command_info = {"info", "info", "Backends and devices that are there, or why they are not", "", act_info};
