/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command run. */
#include <config.h>
#include <getopt.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/commands.h"
#include "cli/overrides.h"
#include "run/control.h"
#include "planning/planning.h"
#include "run/run.h"

/* The value of -r: the next word, where it is "last", a number or a folder; else NULL. getopt itself accepts optional
 * values only without a blank. Whether it is a folder is decided on rank 0, since ranks may have different working
 * folders. Collective. */
static const char *restart_word(const struct comm *comm, int argc, char **argv)
{
  struct stat st;
  if (optarg) return optarg;
  if (optind >= argc) return NULL;
  const char *word = argv[optind];
  int number = word[0] && word[strspn(word, "0123456789")] == 0;
  int is_one = number || strcmp(word, "last") == 0 || (comm->rank == 0 && stat(word, &st) == 0 && S_ISDIR(st.st_mode));
  comm_broadcast(comm, &is_one, sizeof is_one);
  if (!is_one) return NULL;
  optind++;
  return word;
}

/* Whether the command line names a checkpoint of this run itself. */
static int continues_own_run(const struct run_options *options)
{
  return options->restart && (!options->from || strcmp(options->from, "last") == 0 ||
                              options->from[strspn(options->from, "0123456789")] == 0);
}

/* A usage error where options exclude each other; `operands` stand after them. */
static int check_options(const struct command *self, const struct comm *comm, const struct run_options *options,
                         char **operand, int operands)
{
  if (options->restart && !options->from && operands == 2)
    return command_misused(self, comm,
                           "option -r: expected last, the number of a checkpoint, or its folder, found '%s'", *operand);
  if (continues_own_run(options) && options->overwrite)
    return command_misused(
        self, comm,
        "options -r and --overwrite: a run either continues its results or replaces them; give one of the two");
  if (options->quiet && options->verbose) return command_misused(self, comm, "options -q and -v: give one of the two");
  if (options->schedule && (options->check || options->restart))
    return command_misused(self, comm,
                           "option --schedule: only for a run from its initial conditions, without -r and --check");
  return STATUS_OK;
}

/* A usage error where options of a plan for another number of particles do not fit. */
static int check_planning(const struct command *self, const struct comm *comm, const struct run_options *options,
                          const struct planning *planning)
{
  if (planning->machine && planning->particles == 0)
    return command_misused(self, comm, "option --machine: only with --particles");
  if (planning->particles > 0 && (!options->check || options->restart))
    return command_misused(self, comm, "option --particles: only with --check, and without -r");
  if (planning->particles > 0 && comm->size > 1)
    return command_misused(self, comm,
                           "option --particles: start one process; 'espalier plan --ranks P' plans several");
  return STATUS_OK;
}

struct request {
  struct overrides overrides;
  struct run_options options;
  struct planning planning; /* of --check --particles */
};
enum {
  CHECK = 256,
  FORCE,
  MACHINE,
  NO_OUTPUT,
  OVERWRITE,
  PARTICLES,
  SCHEDULE,
  SUBSTEPS,
  WALLTIME
}; /* beside letters */

/* Take an option that has a value. */
static int take_value(const struct command *self, const struct comm *comm, int option, struct request *request)
{
  struct run_options *options = &request->options;
  switch (option) {
  case 'P': return overrides_add(&request->overrides, optarg) ? overrides_misused(self, comm, optarg) : STATUS_OK;
  case 'n':
    if (command_whole(optarg, 0, INT64_MAX, &options->steps) == 0) break;
    return command_misused(self, comm, "option -n: expected a whole number of steps, found '%s'", optarg);
  case SUBSTEPS:
    if (command_whole(optarg, 1, INT64_MAX, &options->substeps) == 0) break;
    return command_misused(self, comm, "option --substeps: expected a whole number of block steps, found '%s'", optarg);
  case WALLTIME:
    if (control_walltime(optarg, &options->walltime) == 0) break;
    return command_misused(
        self, comm,
        "option --walltime: expected minutes, MM:SS, HH:MM:SS, D-HH, D-HH:MM, D-HH:MM:SS or UNLIMITED, found '%s'",
        optarg);
  case MACHINE: request->planning.machine = optarg; break;
  case PARTICLES:
    if (command_particles(optarg, &request->planning.particles) == 0) break;
    return command_misused(
        self, comm, "option --particles: expected a whole number up to 2^40, as 2^20, 1e6 or 3M, found '%s'", optarg);
  }
  return STATUS_OK;
}

/* Take an option. */
static int take_option(const struct command *self, const struct comm *comm, int option, int argc, char **argv,
                       struct request *request)
{
  struct run_options *options = &request->options;
  switch (option) {
  case CHECK: options->check = 1; break;
  case FORCE: options->force = 1; break;
  case OVERWRITE: options->overwrite = 1; break;
  case SCHEDULE: options->schedule = 1; break;
  case NO_OUTPUT: options->no_output = 1; break;
  case 'q': options->quiet = 1; break;
  case 'v': options->verbose = 1; break;
  case 'r':
    options->restart = 1;
    options->from = restart_word(comm, argc, argv);
    break;
  default: return take_value(self, comm, option, request);
  }
  return STATUS_OK;
}

static int act_run(const struct command *self, const struct comm *comm, int argc, char **argv)
{
  static const struct option longs[] = {
      {"check", no_argument, NULL, CHECK},           {"force", no_argument, NULL, FORCE},
      {"steps", required_argument, NULL, 'n'},       {"substeps", required_argument, NULL, SUBSTEPS},
      {"restart", optional_argument, NULL, 'r'},     {"walltime", required_argument, NULL, WALLTIME},
      {"overwrite", no_argument, NULL, OVERWRITE},   {"schedule", no_argument, NULL, SCHEDULE},
      {"machine", required_argument, NULL, MACHINE}, {"particles", required_argument, NULL, PARTICLES},
      {"no-output", no_argument, NULL, NO_OUTPUT},   {"quiet", no_argument, NULL, 'q'},
      {"verbose", no_argument, NULL, 'v'},           COMMAND_LONG};
  struct request request = {.options = {.steps = -1, .substeps = -1, .walltime = -1},
                            .planning = {.ranks = 1, .pilot = PILOT_PARTICLES}};
  struct run_options *options = &request.options;
  struct planning *planning = &request.planning;
  int status = STATUS_OK, option;
  while ((option = command_option(self, comm, argc, argv, COMMAND_SHORT "P:n:qr::v", longs, &status)) != -1) {
    if (option == COMMAND_DONE) return status;
    if ((status = take_option(self, comm, option, argc, argv, &request))) return status;
  }
  if ((status = check_options(self, comm, options, argv + optind, argc - optind)) != STATUS_OK) return status;
  if ((status = check_planning(self, comm, options, planning)) != STATUS_OK) return status;
  const char *file = planning->parameters = command_operand(self, comm, argc, argv, "parameter file", &status);
  if (!file) return status;
  struct params par;
  struct fault f = {""};
  struct param_origin origin;
  if (command_load_params(comm, file, &request.overrides, !options->restart, options, &par, &origin, &f))
    return command_failed(comm, &f);
  if (comm->rank == 0) options->origin = &origin;
  if (planning->particles > 0) {
    planning->softening_is_given = params_softening_given(&origin);
    return planning_print(comm, &par, planning);
  }
  if (options->walltime < 0 && comm->rank == 0) control_job_end(&options->walltime, &f);
  if (comm_verdict(comm, &f)) return command_failed(comm, &f);
  return run(comm, &par, options);
}

const struct command command_run = {
    "run",
    "run [-P Section:Name=value]... [--check] [--force] [--schedule] [-n STEPS] [--substeps STEPS] [-r [last|N|PATH]] "
    "[--particles N [--machine MACHINE]] [--walltime TIME] [--overwrite] [--no-output] [-q] [-v] FILE.ini",
    "Run a simulation from its initial conditions, or from a checkpoint, to its end",
    "  -P Section:Name=value   replace the value of a parameter of the file, which may have a unit\n"
    "                          (Gravity:Softening='50 pc'); may be repeated\n"
    "      --check             check the run without a file written, then stop: parameters, placement, disk space; the "
    "system\n"
    "                          after its first forces (softening, times, masses, bulk velocity), substeps, seconds and "
    "memory,\n"
    "                          measured in the first soft step where it takes less than half a minute. With -r: verify "
    "the checkpoint\n"
    "      --particles N       with --check: memory, disk and seconds of a run of N particles like those of the file,\n"
    "                          by the rules of 'espalier plan'; seconds need --machine MACHINE, a machine file or its "
    "name\n"
    "      --force             start also where this check finds that the run would be worthless\n"
    "      --schedule          compute the first forces, print what the first soft step does at which tick (migration, "
    "tree builds, "
    "moment\n"
    "                          updates, selections of LETs), then stop; nothing is written\n"
    "  -n, --steps STEPS       stop after this number of soft steps, counted from the start of the simulation\n"
    "      --substeps STEPS    stop after the soft step in which the run has made this number of block steps; energies "
    "are\n"
    "                          then computed at every soft step, whatever TimeBetStatistics says\n"
    "  -r, --restart [WHICH]   continue from a checkpoint; WHICH is last (the newest complete one; the default), the "
    "number\n"
    "                          of a checkpoint, or its folder\n"
    "      --walltime TIME     write a checkpoint and stop before this time has passed: minutes, MM:SS, HH:MM:SS, "
    "D-HH,\n"
    "                          D-HH:MM, D-HH:MM:SS or UNLIMITED [until SLURM_JOB_END_TIME, where that is set]\n"
    "      --overwrite         replace results in the output folder; remove the earlier run's snapshots and "
    "checkpoints\n"
    "                          (snapshots are kept with -r PATH, a checkpoint from another folder)\n"
    "      --no-output         write tables only: no snapshots and no checkpoints, also when the run is stopped (for "
    "timings)\n"
    "  -q, --quiet             print no progress, only the start, the end, files that are written, and warnings\n"
    "  -v, --verbose           print a row of numbers for each soft step, and at the end memory by purpose, messages, "
    "and\n"
    "                          milliseconds by part [on a terminal a line that renews itself; else a line for each 5 % "
    "of the\n"
    "                          run, at the latest after a minute]\n"
    "SIGUSR1, SIGTERM, SIGHUP, SIGXCPU, SIGINT, or a file 'stop' in OutputDir: the run writes a checkpoint and "
    "stops with\n"
    "exit status 0.\n"
    "A run that reaches its end without all its snapshots, because the disk was full, has exit status 1, also after "
    "restarts.\n"
    "SIGUSR2, or a file 'checkpoint': the run writes a checkpoint and continues. OutputDir/status has the outcome.\n"
    "Exit status 3: the run has finished, but its energy error is so large that it cannot be trusted.\n"
    "Under mpirun, Ctrl-C and SIGTERM leave ranks two seconds until they are killed. This is too short for a "
    "checkpoint where\n"
    "soft steps take longer: use 'touch OUTPUTDIR/stop' there.\n",
    act_run};
