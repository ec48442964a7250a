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

static int take_option(const struct command *self, const struct comm *c, int option, struct request *q)
{
  long long seed;
  switch (option) {
  case 'n':
    if (command_whole(optarg, 1, IC_MAX, &q->n))
      return command_misused(self, c, "option -n: expected a whole number of particles from 1 to 2^36, found '%s'", optarg);
    break;
  case 's':
    if (command_whole(optarg, 0, LLONG_MAX, &seed))
      return command_misused(self, c, "option -s: expected a whole number from 0 to 2^63 - 1, found '%s'", optarg);
    q->seed = (uint64_t)seed;
    break;
  case 'o': q->output = optarg; break;
  case OVERWRITE: q->overwrite = 1; break;
  case CHECK: q->check = 1; break;
  case PROFILE: q->profile = optarg; break;
  }
  return STATUS_OK;
}

/* Print the units that a parameter file for the model needs. */
static void report_units(const struct params *par)
{
  struct units u = units_of(par);
  printf("a parameter file for it needs [Units] ");
  if (u.dimensionless) printf("GravityConstantInternal = %.9g\n", par->GravityConstantInternal);
  else printf("as in the model file: %.5g kpc, %.5g solar masses, %.5g km/s\n", u.length_cm / KPC_CM, u.mass_g / SOLAR_MASS_G,
              u.velocity_cm_s / 1e5);
}

/* Tables of all galaxies. Each rank makes its own. 0; -1 with a fault, the same on all ranks. Collective. */
static int open_tables(const struct comm *c, const struct galaxy_model *m, struct galaxy_tables *t, struct fault *f)
{
  double begin = timer_clock();
  for (int i = 0; i < m->count; i++)
    if (galaxy_open(&t[i], &m->galaxy[i], f)) break;
  if (comm_agree(c, f)) return -1;
  if (c->rank == 0) printf("distribution functions: %.1f s\n", timer_clock() - begin);
  return 0;
}

static int write_particles(const struct comm *c, const struct request *q, const struct galaxy_model *m, const struct galaxy_tables *t,
                           struct fault *f)
{
  struct particles p;
  struct snapshot_facts facts = {.params = &m->units, .gravity = units_gravity(&m->units)};
  double begin = timer_clock();
  particles_init(&p);
  galaxy_make(c, m, t, q->seed, &p);
  if (c->rank == 0) {
    printf("%lld particles: %.1f s\n", (long long)galaxy_particles(m), timer_clock() - begin);
    fflush(stdout);
  }
  int failed = snapshot_write(c, q->output, &p, &facts, f);
  particles_free(&p);
  return failed;
}

/* Files to write must not exist, and must not be each other or the model file. 0; -1 with a fault. */
static int check_outputs(const struct request *q, struct fault *f)
{
  char table[GALAXY_FILES][GALAXY_PATH];
  const char *name[GALAXY_FILES + 1];
  int count = 0;
  if (q->output) name[count++] = q->output;
  for (int k = 0; q->profile && k < GALAXY_FILES; k++) {
    galaxy_profile_file(q->profile, k, table[k]);
    name[count++] = table[k];
  }
  for (int i = 0; i < count; i++) {
    if (folder_same(name[i], q->file)) return fault_set(f, "%s: this is the model file; expected another name of a file to write", name[i]);
    if (i > 0 && q->output && strcmp(name[i], q->output) == 0)
      return fault_set(f, "%s: options -o and --profile name the same file", q->output);
    if (command_output(name[i], q->overwrite, f)) return -1;
  }
  return 0;
}

static int make(const struct comm *c, const struct request *q, struct galaxy_model *m, struct galaxy_tables *t, struct fault *f)
{
  if (c->rank == 0) {
    if (check_outputs(q, f) == 0) galaxy_model_read(q->file, q->n, m, f);
  }
  if (comm_verdict(c, f)) return -1;
  comm_broadcast(c, m, sizeof *m);
  if (open_tables(c, m, t, f)) return -1;
  if (c->rank == 0) galaxy_report(stdout, m, t);
  if (c->rank == 0 && q->profile) galaxy_write_profile(q->profile, m, t, f);
  if (comm_verdict(c, f)) return -1;
  if (q->check) return 0;
  if (write_particles(c, q, m, t, f)) return -1;
  if (c->rank == 0) {
    printf("%s: %lld particles of %s, seed %llu; ", q->output, (long long)galaxy_particles(m), q->file, (unsigned long long)q->seed);
    report_units(&m->units);
  }
  return 0;
}

static int act(const struct command *self, const struct comm *c, int argc, char **argv)
{
  static const struct option longs[] = {{"overwrite", no_argument, NULL, OVERWRITE}, {"seed", required_argument, NULL, 's'},
                                        {"output", required_argument, NULL, 'o'}, {"check", no_argument, NULL, CHECK},
                                        {"profile", required_argument, NULL, PROFILE}, COMMAND_LONG};
  struct request q = {.seed = 1};
  int status = STATUS_OK, option;
  while ((option = command_option(self, c, argc, argv, COMMAND_SHORT "n:s:o:", longs, &status)) != -1) {
    if (option == COMMAND_DONE) return status;
    if ((status = take_option(self, c, option, &q))) return status;
  }
  if (!(q.file = command_operand(self, c, argc, argv, "model file", &status))) return status;
  if (q.check && q.output) return command_misused(self, c, "options --check and -o: --check writes no particles");
  if (!q.check && !q.output) return command_misused(self, c, "option -o is missing");
  struct fault f = {""};
  struct galaxy_model *m = memory_alloc("ic tables", sizeof *m);
  struct galaxy_tables t[GALAXIES] = {{.g = NULL}};
  int failed = make(c, &q, m, t, &f);
  for (int i = 0; i < GALAXIES; i++)
    if (t[i].g) galaxy_close(&t[i]);
  memory_free(m);
  return failed ? command_failed(c, &f) : STATUS_OK;
}

const struct command command_galaxy = {
    "ic galaxy", "ic galaxy MODEL.ini [-n N] [-s SEED] [--profile FILE.csv] -o FILE.hdf5 | --check",
    "Make galaxies in equilibrium from a model file",
    "MODEL.ini has [Units] and a section for each component (halo, bulge, disc, black hole), or [Orbit] with the model files of\n"
    "two galaxies; doc/galaxy-models.md explains it. Each component is in equilibrium in the potential of all.\n"
    "  -n N                    total number of particles, for example 1e6, in the proportions of the file [that of the file]\n"
    "  -s, --seed SEED         seed of the random numbers [1]\n"
    "  -o, --output FILE.hdf5  the file to write\n"
    "      --overwrite         replace files that exist\n"
    "      --check             read the file, compute the model and print its components; no particles\n"
    "      --profile FILE.csv  write density, mass, circular velocity and dispersion of each component, FILE_df.csv with\n"
    "                          distribution functions and, for discs, FILE_discs.csv\n",
    act};
