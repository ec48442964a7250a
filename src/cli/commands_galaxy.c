/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command ic galaxy: initial conditions of galaxies from a model file. */
#include <config.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/folders.h"
#include "base/memory.h"
#include "base/timer.h"
#include "cli/commands.h"
#include "gravity/units.h"
#include "ic/galaxy/make.h"
#include "ic/ic.h"
#include "io/snapshot/snapshot.h"

struct request {
  const char *file, *output, *profile;
  long long n;
  uint64_t seed;
  int check, overwrite;
};

enum { OVERWRITE = 300, CHECK, PROFILE };

static int take_option(const struct command *self, const struct comm *comm, int option, struct request *request)
{
  long long seed;
  switch (option) {
  case 'n':
    if (command_whole(optarg, 1, IC_MAX, &request->n))
      return command_misused(self, comm, "option -n: expected a whole number of particles from 1 to 2^36, found '%s'",
                             optarg);
    break;
  case 's':
    if (command_whole(optarg, 0, LLONG_MAX, &seed))
      return command_misused(self, comm, "option -s: expected a whole number from 0 to 2^63 - 1, found '%s'", optarg);
    request->seed = (uint64_t)seed;
    break;
  case 'o': request->output = optarg; break;
  case OVERWRITE: request->overwrite = 1; break;
  case CHECK: request->check = 1; break;
  case PROFILE: request->profile = optarg; break;
  }
  return STATUS_OK;
}

/* Print the units of the model, which a run takes from the file that is written (`check`: none is). */
static void report_units(const struct params *par, int check)
{
  struct units u = units_of(par);
  if (u.dimensionless) printf("without units, G = %.9g", par->GravityConstantInternal);
  else
    printf("units as in the model file: %.5g kpc, %.5g Msun, %.5g km/s", u.length_cm / KPC_CM, u.mass_g / SOLAR_MASS_G,
           u.velocity_cm_s / 1e5);
  puts(check ? "" : "; a run takes them from the file");
}

/* Tables of all galaxies. Each rank makes its own. 0; -1 with a fault, the same on all ranks. Collective. */
static int open_tables(const struct comm *comm, const struct galaxy_model *model, struct galaxy_tables *tables,
                       struct fault *fault)
{
  double begin = timer_clock();
  for (int i = 0; i < model->count; i++)
    if (galaxy_open(&tables[i], &model->galaxy[i], fault)) break;
  if (comm_agree(comm, fault)) return -1;
  if (comm->rank == 0) printf("distribution functions: %.1f s\n", timer_clock() - begin);
  return 0;
}

static int write_particles(const struct comm *comm, const struct request *request, const struct galaxy_model *model,
                           const struct galaxy_tables *tables, struct fault *fault)
{
  struct particles p;
  struct snapshot_facts facts = {.params = &model->units, .gravity = units_gravity(&model->units)};
  double begin = timer_clock();
  particles_init(&p);
  galaxy_make(comm, model, tables, request->seed, &p);
  if (comm->rank == 0) {
    printf("%lld particles: %.1f s\n", (long long)galaxy_particles(model), timer_clock() - begin);
    fflush(stdout);
  }
  int failed = snapshot_write(comm, request->output, &p, &facts, fault);
  particles_free(&p);
  return failed;
}

/* Files to write must not exist, and must not be each other or the model file. 0; -1 with a fault. */
static int check_outputs(const struct request *request, struct fault *fault)
{
  char table[GALAXY_FILES][GALAXY_PATH];
  const char *name[GALAXY_FILES + 1];
  int count = 0;
  if (request->output) name[count++] = request->output;
  for (int k = 0; request->profile && k < GALAXY_FILES; k++) {
    galaxy_profile_file(request->profile, k, table[k]);
    name[count++] = table[k];
  }
  for (int i = 0; i < count; i++) {
    if (folder_same(name[i], request->file))
      return fault_set(fault, "%s: this is the model file; expected another name of a file to write", name[i]);
    if (i > 0 && request->output && strcmp(name[i], request->output) == 0)
      return fault_set(fault, "%s: options -o and --profile name the same file", request->output);
    if (command_output(name[i], request->overwrite, fault)) return -1;
  }
  return 0;
}

static int make(const struct comm *comm, const struct request *request, struct galaxy_model *model,
                struct galaxy_tables *tables, struct fault *fault)
{
  if (comm->rank == 0) {
    if (check_outputs(request, fault) == 0) galaxy_model_read(request->file, request->n, model, fault);
  }
  if (comm_verdict(comm, fault)) return -1;
  comm_broadcast(comm, model, sizeof *model);
  if (open_tables(comm, model, tables, fault)) return -1;
  if (comm->rank == 0) galaxy_report(stdout, model, tables);
  if (comm->rank == 0 && request->profile) galaxy_write_profile(request->profile, model, tables, fault);
  if (comm_verdict(comm, fault)) return -1;
  if (comm->rank == 0 && request->check) report_units(&model->units, 1);
  if (request->check) return 0;
  if (write_particles(comm, request, model, tables, fault)) return -1;
  if (comm->rank == 0) {
    printf("%s: %lld particle%s of %s, seed %llu; ", request->output, (long long)galaxy_particles(model),
           plural((double)galaxy_particles(model)), request->file, (unsigned long long)request->seed);
    report_units(&model->units, 0);
  }
  return 0;
}

static int act(const struct command *self, const struct comm *comm, int argc, char **argv)
{
  static const struct option longs[] = {
      {"overwrite", no_argument, NULL, OVERWRITE},   {"seed", required_argument, NULL, 's'},
      {"output", required_argument, NULL, 'o'},      {"check", no_argument, NULL, CHECK},
      {"profile", required_argument, NULL, PROFILE}, COMMAND_LONG};
  struct request q = {.seed = 1};
  int status = STATUS_OK, option;
  while ((option = command_option(self, comm, argc, argv, COMMAND_SHORT "n:s:o:", longs, &status)) != -1) {
    if (option == COMMAND_DONE) return status;
    if ((status = take_option(self, comm, option, &q))) return status;
  }
  if (!(q.file = command_operand(self, comm, argc, argv, "model file", &status))) return status;
  if (q.check && q.output) return command_misused(self, comm, "options --check and -o: --check writes no particles");
  if (!q.check && !q.output) return command_misused(self, comm, "option -o is missing");
  struct fault f = {""};
  struct galaxy_model *m = memory_alloc("ic tables", sizeof *m);
  struct galaxy_tables t[GALAXIES] = {{.g = NULL}};
  int failed = make(comm, &q, m, t, &f);
  for (int i = 0; i < GALAXIES; i++)
    if (t[i].g) galaxy_close(&t[i]);
  memory_free(m);
  return failed ? command_failed(comm, &f) : STATUS_OK;
}

const struct command command_galaxy = {
    "ic galaxy", "ic galaxy MODEL.ini [-n N] [-s SEED] [--profile FILE.csv] -o FILE.hdf5 | --check",
    "Make galaxies in equilibrium from a model file",
    "MODEL.ini has [Units] and a section for each component (halo, bulge, disc, black hole), or [Orbit] with the model "
    "files of\n"
    "two galaxies; doc/galaxy-models.md explains it. Each component is in equilibrium in the potential of all.\n"
    "  -n N                    total number of particles, for example 1e6, in the proportions of the file [that of the "
    "file]\n"
    "  -s, --seed SEED         seed of the random numbers [1]\n"
    "  -o, --output FILE.hdf5  the file to write\n"
    "      --overwrite         replace files that exist\n"
    "      --check             read the file, compute the model and print its components; no particles\n"
    "      --profile FILE.csv  write density, mass, circular velocity and dispersion of each component, FILE_df.csv "
    "with\n"
    "                          distribution functions and, for discs, FILE_discs.csv\n",
    act};
