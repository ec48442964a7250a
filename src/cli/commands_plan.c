/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command plan. */
#include <config.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/watchdog.h"
#include "cli/commands.h"
#include "cli/overrides.h"
#include "gravity/units.h"
#include "params/params_units.h"
#include "planning/planning.h"

enum { MACHINE = 256, MODEL, RANKS, PER_NODE, UNTIL, JOB, PILOT, BYTES, OVERWRITE };
enum { UNIT_TEXTS = 4, UNIT_TEXT = 64, UNTIL_TEXT = 120 };
/* Units of a model and of a parameter file that differ by less are the same. */
#define UNITS_DIFFER 1e-3

struct request {
  struct planning planning;
  const char *model, *until;
  int bytes;
  struct overrides overrides;
};

static int bad_number(const struct command *self, const struct comm *comm, const char *option, const char *text)
{
  return command_misused(
      self, comm, "option %s: expected a whole number of particles up to 2^40, as in 2^28, 1e6 or 3M, found '%s'",
      option, text);
}

static int take_option(const struct command *self, const struct comm *comm, int option, struct request *request)
{
  long long ranks;
  struct planning *planning = &request->planning;
  switch (option) {
  case 'n': return command_particles(optarg, &planning->particles) ? bad_number(self, comm, "-n", optarg) : STATUS_OK;
  case PILOT:
    return command_particles(optarg, &planning->pilot) ? bad_number(self, comm, "--pilot", optarg) : STATUS_OK;
  case MACHINE: planning->machine = optarg; break;
  case MODEL: request->model = optarg; break;
  case UNTIL: request->until = optarg; break;
  case JOB: planning->job = optarg; break;
  case OVERWRITE: planning->overwrite = 1; break;
  case BYTES: request->bytes = 1; break;
  case 'P':
    if (overrides_add(&request->overrides, optarg)) return overrides_misused(self, comm, optarg);
    break;
  case RANKS:
  case PER_NODE:
    if (command_whole(optarg, 1, PLANNED_RANKS, &ranks))
      return command_misused(self, comm, "option --ranks%s: expected a whole number from 1 to %d, found '%s'",
                             option == RANKS ? "" : "-per-node", PLANNED_RANKS, optarg);
    *(option == RANKS ? &planning->ranks : &planning->ranks_per_node) = (int)ranks;
  }
  return STATUS_OK;
}

static int check_request(const struct command *self, const struct comm *comm, const struct request *request)
{
  const struct planning *planning = &request->planning;
  if (comm->size > 1)
    return command_misused(self, comm, "start one process; --ranks has the ranks of the run that is planned");
  if (!request->model && !planning->parameters)
    return command_misused(self, comm, "a parameter file or --model is missing: what is planned?");
  if (request->model && planning->particles == 0 && !strpbrk(request->model, "/."))
    return command_misused(self, comm, "option -n is missing: how many particles of the model?");
  if (!planning->parameters && !request->until)
    return command_misused(self, comm, "option --until is missing: the time at which the run ends, as in 3Gyr");
  return STATUS_OK;
}

/* Whether the parameters state units. Wrong parameters, which are reported later, count as those that do. */
static int state_units(const struct request *request)
{
  struct params params;
  struct param_origin origin;
  struct fault later = {""};
  return params_gather(&params, request->planning.parameters, request->overrides.text, request->overrides.count,
                       &origin, &later) ||
         params_units_given(&origin);
}

/* The parameters of the file, or defaults; where they state no units those of the model. 0 or -1. */
static int load(const struct comm *comm, struct request *request, struct params *params, struct fault *fault)
{
  char unit[UNIT_TEXTS][UNIT_TEXT], until[UNTIL_TEXT];
  struct overrides all = {.count = 0};
  struct param_origin origin;
  const struct planning *planning = &request->planning;
  const struct params *model = &planning->source.units;
  if (request->model && !state_units(request)) {
    snprintf(unit[0], UNIT_TEXT, "Units:UnitLength_in_cm=%.17g", model->UnitLength_in_cm);
    snprintf(unit[1], UNIT_TEXT, "Units:UnitMass_in_g=%.17g", model->UnitMass_in_g);
    snprintf(unit[2], UNIT_TEXT, "Units:UnitVelocity_in_cm_per_s=%.17g", model->UnitVelocity_in_cm_per_s);
    snprintf(unit[3], UNIT_TEXT, "Units:GravityConstantInternal=%.17g", model->GravityConstantInternal);
    for (int k = 0; k < UNIT_TEXTS; k++) overrides_add(&all, unit[k]);
  }
  for (int k = 0; k < request->overrides.count; k++) overrides_add(&all, request->overrides.text[k]);
  if (request->until && (size_t)snprintf(until, sizeof until, "Time:TimeMax=%s", request->until) >= sizeof until)
    return fault_set(fault, "--until: expected a time, found '%.40s...'", request->until);
  if (request->until && overrides_add(&all, until))
    return fault_set(fault, "option -P: given more than %d times", OVERRIDE_LIMIT - UNIT_TEXTS - 1);
  if (command_load_params(comm, planning->parameters, &all, request->model == NULL, NULL, params, &origin, fault))
    return -1;
  request->planning.softening_is_given = params_softening_given(&origin);
  if (!request->model) return 0;
  double ratio = units_gravity(params) / units_gravity(model);
  if (fabs(ratio - 1) > UNITS_DIFFER)
    return fault_set(fault, "%s: G = %g in these units, but %g in those of the model %s: give the same units",
                     planning->parameters ? planning->parameters : "-P", units_gravity(params), units_gravity(model),
                     request->model);
  return 0;
}

static int act_plan(const struct command *self, const struct comm *comm, int argc, char **argv)
{
  static const struct option longs[] = {
      {"machine", required_argument, NULL, MACHINE}, {"model", required_argument, NULL, MODEL},
      {"ranks", required_argument, NULL, RANKS},     {"ranks-per-node", required_argument, NULL, PER_NODE},
      {"until", required_argument, NULL, UNTIL},     {"job", required_argument, NULL, JOB},
      {"pilot", required_argument, NULL, PILOT},     {"bytes", no_argument, NULL, BYTES},
      {"overwrite", no_argument, NULL, OVERWRITE},   COMMAND_LONG};
  struct request *request = memory_alloc("plan", sizeof *request);
  struct params params;
  struct fault fault = {""};
  int status = STATUS_OK, option;
  request->planning.ranks = 1;
  request->planning.pilot = PILOT_PARTICLES;
  while ((option = command_option(self, comm, argc, argv, COMMAND_SHORT "P:n:", longs, &status)) != -1) {
    if (option == COMMAND_DONE || (status = take_option(self, comm, option, request))) break;
  }
  int done = option != -1;
  if (!done && request->bytes && optind == argc) {
    if (comm->rank == 0) planning_print_bytes();
    done = 1;
  }
  if (!done && optind < argc)
    request->planning.parameters = command_operand(self, comm, argc, argv, "parameter file", &status);
  if (!done && !status) status = check_request(self, comm, request);
  if (!done && !status) {
    struct planning *planning = &request->planning;
    planning->options = request->overrides.text;
    planning->option_count = request->overrides.count;
    planning->until = request->until;
    int failed = request->model ? pilot_of_model(request->model, planning->particles, &planning->source, &fault) : 0;
    if (request->model && planning->particles == 0) planning->particles = planning->source.own;
    if (failed || load(comm, request, &params, &fault)) status = command_failed(comm, &fault);
    else status = planning_print(comm, &params, planning);
  }
  memory_free(request);
  return status;
}

const struct command command_plan = {
    "plan",
    "plan [-n N] [--model MODEL] [--ranks P] [--machine MACHINE] [--until TIME] [--job FILE] [OPTION]... [FILE.ini]",
    "Predict memory, disk and time of a run before it has initial conditions",
    "Particles are those of --model, or of the initial conditions of FILE.ini; their number N may be another one.\n"
    "Pilots, small systems of the same model, are measured; the rules and laws by which the numbers follow are "
    "printed.\n"
    "  -n N                    particles of the run, as 2^28, 1e6 or 3M [those of the file or model file]\n"
    "      --model MODEL       plummer, hernquist, king, uniform or merger, with options of 'espalier ic' behind "
    "commas\n"
    "                          (king,w0=7), or a model file of galaxies (m31.ini)\n"
    "      --ranks P           ranks of the run [1]\n"
    "      --ranks-per-node P  ranks of a node, as its GPUs [of the machine]\n"
    "      --machine MACHINE   a machine file, or the name of one that comes with the program, which may be shortened\n"
    "                          (h100); without one no seconds are predicted\n"
    "      --until TIME        time at which the run ends, which may have a unit (3Gyr) [TimeMax of FILE.ini]\n"
    "      --job FILE          write a job script for Slurm\n"
    "      --overwrite         replace FILE if it exists\n"
    "      --pilot N           particles of the largest pilot [2^16]; a run of as many is measured itself\n"
    "      --bytes             print only the table of bytes a particle, of each backend and scheme\n"
    "  -P Section:Name=value   replace the value of a parameter, which may have a unit; may be repeated\n"
    "Without FILE.ini parameters are defaults, units those of the model, and the softening one that suits N.\n",
    act_plan};
