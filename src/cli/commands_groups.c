/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command groups. */
#include <config.h>
#include <ctype.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/watchdog.h"
#include "cli/commands.h"
#include "fof/fof.h"
#include "gravity/cosmology.h"
#include "io/input/initial.h"
#include "params/params.h"

enum { NAME_SIZE = 4096 };
#define LARGEST 1e150 /* of coordinates, velocities and linking lengths: their squares are finite */

struct groups_options {
  struct fof_request request;
  const char *output;
  int overwrite;
};

/* The name of the catalogue of a snapshot: fof_NNN.hdf5 beside NAME_NNN.hdf5, NAME_NNN.0.hdf5 or NAME_NNN, else
 * fof_NAME.hdf5. */
static void name_catalogue(const char *snapshot, char name[NAME_SIZE])
{
  char base[NAME_SIZE];
  const char *slash = strrchr(snapshot, '/');
  int folder = slash ? (int)(slash + 1 - snapshot) : 0;
  snprintf(base, sizeof base, "%s", snapshot + folder);
  size_t n = strlen(base);
  if (n > 5 && strcmp(base + n - 5, ".hdf5") == 0) base[n -= 5] = 0;
  size_t digits = n;
  while (digits > 0 && isdigit((unsigned char)base[digits - 1])) digits--;
  if (digits < n && digits > 1 && base[digits - 1] == '.') base[digits - 1] = 0;
  const char *last = strrchr(base, '_');
  int numbered = last && last[1] && last[1 + strspn(last + 1, "0123456789")] == 0;
  snprintf(name, NAME_SIZE, "%.*sfof_%.300s.hdf5", folder < NAME_SIZE - 400 ? folder : NAME_SIZE - 400, snapshot,
           numbered ? last + 1 : base);
}

/* Rank 0: whether the catalogue may be written. */
static void check_output(const struct groups_options *options, const char *snapshot, const char *output,
                         struct fault *fault)
{
  struct stat st;
  if (!*output) fault_set(fault, "option -o: expected the name of a file, found ''");
  if (stat(output, &st) != 0) return;
  if (S_ISDIR(st.st_mode)) fault_set(fault, "%s: expected a file name, found a folder", output);
  else if (!options->overwrite)
    fault_set(fault, "%s: already exists; give another name with -o, or --overwrite to replace it", output);
  else if (initial_holds(snapshot, FORMAT_AUTO, output))
    fault_set(fault, "%s: is the input; give another name", output);
}

static void check_range(const struct particles *particles, const char *snapshot, struct fault *fault)
{
  for (int64_t i = 0; i < 3 * particles->n; i++)
    if (fabs(particles->pos[i]) > LARGEST || fabs(particles->vel[i]) > LARGEST)
      fault_set(fault, "%s: the particle with id %llu has a coordinate or velocity above %g; expected smaller numbers",
                snapshot, (unsigned long long)particles->id[i / 3], LARGEST);
}

/* A snapshot of a run in comoving coordinates has the linking length of that run, and its catalogue states the
 * cosmology. */
static void take_cosmology(const struct initial_facts *facts, struct fof_request *request, struct fof_facts *of)
{
  struct params p;
  request->density = 0;
  if (!facts->own || !facts->comoving || !facts->has_units) return;
  params_defaults(&p);
  p.Omega0 = facts->omega0;
  p.UnitLength_in_cm = facts->units.length_cm;
  p.UnitMass_in_g = facts->units.mass_g;
  p.UnitVelocity_in_cm_per_s = facts->units.velocity_cm_s;
  request->density = cosmology_mean_density(&p);
  of->a = facts->time;
  of->omega0 = facts->omega0;
  of->omega_lambda = facts->omega_lambda;
  of->hubble = facts->hubble;
}

/* The catalogue of one snapshot. Collective. 0 or -1. */
static int make_catalogue(const struct comm *comm, struct groups_options *options, const char *snapshot,
                          struct fault *fault)
{
  char output[NAME_SIZE];
  struct particles p;
  struct initial_facts facts;
  if (options->output) snprintf(output, sizeof output, "%s", options->output);
  else name_catalogue(snapshot, output);
  if (comm->rank == 0) check_output(options, snapshot, output, fault);
  if (comm_verdict(comm, fault)) return -1;
  particles_init(&p);
  if (initial_read_potential(comm, snapshot, FORMAT_AUTO, &p, &facts, fault)) return -1;
  if (comm->rank == 0) initial_warn(snapshot, &facts, stderr, "espalier: warning: ");
  check_range(&p, snapshot, fault);
  int status = comm_agree(comm, fault);
  if (status == 0) {
    struct fof_facts of = {.time = facts.time, .request = &options->request};
    if (facts.has_units) of.units = facts.units;
    take_cosmology(&facts, &options->request, &of);
    options->request.potential = facts.has_potential;
    status = fof_make(comm, &p, output, &of, NULL, fault);
  }
  particles_free(&p);
  return status;
}

static int act_groups(const struct command *self, const struct comm *comm, int argc, char **argv)
{
  enum { LENGTH = 256, MIN_SIZE, TYPES, OVERWRITE };
  static const struct option longs[] = {{"linking-length", required_argument, NULL, LENGTH},
                                        {"min-size", required_argument, NULL, MIN_SIZE},
                                        {"link-types", required_argument, NULL, TYPES},
                                        {"overwrite", no_argument, NULL, OVERWRITE},
                                        {"output", required_argument, NULL, 'o'},
                                        COMMAND_LONG};
  struct groups_options o = {.request = {.min_size = 32}};
  long long whole;
  int status = STATUS_OK, option;
  params_types("all", &o.request.linking);
  while ((option = command_option(self, comm, argc, argv, COMMAND_SHORT "o:", longs, &status)) != -1) switch (option) {
    case COMMAND_DONE: return status;
    case 'o': o.output = optarg; break;
    case OVERWRITE: o.overwrite = 1; break;
    case LENGTH:
      if (command_real(optarg, &o.request.length) || !(o.request.length >= 0 && o.request.length <= LARGEST))
        return command_misused(self, comm,
                               "option --linking-length: expected a length from 0 (by rule) to %g, found '%s'", LARGEST,
                               optarg);
      break;
    case MIN_SIZE:
      if (command_whole(optarg, 1, 1000000000, &whole))
        return command_misused(
            self, comm, "option --min-size: expected a whole number of particles from 1 to 1e9, found '%s'", optarg);
      o.request.min_size = whole;
      break;
    case TYPES:
      if (params_types(optarg, &o.request.linking))
        return command_misused(
            self, comm, "option --link-types: expected all, or types from 0 to 5 with commas between them, found '%s'",
            optarg);
    }
  if (optind == argc) return command_misused(self, comm, "a snapshot is missing");
  if (o.output && argc - optind > 1)
    return command_misused(self, comm, "option -o: only with one snapshot, found %d", argc - optind);
  if (o.output && strlen(o.output) > NAME_SIZE - 100)
    return command_misused(self, comm, "option -o: the name is too long");
  struct params par;
  struct fault f = {""};
  params_defaults(&par);
  watchdog_start(par.WatchdogMinutes);
  while (optind < argc && make_catalogue(comm, &o, argv[optind], &f) == 0) optind++;
  watchdog_stop();
  return f.text[0] ? command_failed(comm, &f) : STATUS_OK;
}

const struct command command_groups = {
    "groups", "groups [--linking-length X] [--min-size N] [--link-types LIST] [-o FILE.hdf5] [--overwrite] SNAPSHOT...",
    "Find friends-of-friends groups in snapshots of any input format and write their catalogues",
    "The catalogue of NAME_NNN.hdf5 is fof_NNN.hdf5 in the same folder; that of another name is fof_NAME.hdf5.\n"
    "      --linking-length X  linking length [0: the mean distance of the linking particles within the sphere that "
    "holds half\n"
    "                          of them; in comoving coordinates 0.2 times that in the universe]\n"
    "      --min-size N        smallest number of particles of a group [32]\n"
    "      --link-types LIST   types that link, for example 1 or 1,4; others join the group of the nearest linking "
    "particle\n"
    "                          within the linking length [all]\n"
    "  -o, --output FILE.hdf5  another name for the catalogue of a single snapshot\n"
    "      --overwrite         replace a catalogue that exists\n",
    act_groups};
