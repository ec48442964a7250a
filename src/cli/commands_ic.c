/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command ic: make initial conditions of a model. */
#include <config.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "gravity/units.h"
#include "ic/ic.h"
#include "io/snapshot/snapshot.h"
#include "params/params.h"
#include "particles/particles.h"

struct request {
  struct ic_model model;
  const char *output;
  int overwrite, has_n;
  const char *units; /* of the numbers in the file; NULL: not given */
  unsigned given;    /* bit i: ic_options[i] */
};

/* Whether the model has a size in pc. */
static int is_scaled(const struct request *request)
{
  return request->model.virial_radius > 0 || request->model.half_mass_radius > 0;
}

/* Whether the numbers of the file are pc, solar masses and pc/Myr. */
static int in_parsecs(const struct request *request)
{
  return is_scaled(request) && !(request->units && strcmp(request->units, "henon") == 0);
}

enum { MODEL_OPTION = 256, OVERWRITE = 300, UNITS };
_Static_assert(IC_OPTIONS <= 32 && MODEL_OPTION + IC_OPTIONS <= OVERWRITE,
               "a bit of `given` and a number for each option");

static int take_option(const struct command *self, const struct comm *comm, int option, struct request *request)
{
  long long whole;
  switch (option) {
  case 'n':
    if (command_whole(optarg, 1, IC_MAX, &whole))
      return command_misused(self, comm, "option -n: expected a whole number of particles from 1 to 2^36, found '%s'",
                             optarg);
    request->model.n = whole;
    request->has_n = 1;
    return STATUS_OK;
  case 's':
    if (command_whole(optarg, 0, LLONG_MAX, &whole))
      return command_misused(self, comm, "option -s: expected a whole number from 0 to 2^63 - 1, found '%s'", optarg);
    request->model.seed = (uint64_t)whole;
    return STATUS_OK;
  case 'o': request->output = optarg; return STATUS_OK;
  case OVERWRITE: request->overwrite = 1; return STATUS_OK;
  case UNITS:
    request->units = optarg;
    if (strcmp(optarg, "pc-myr") != 0 && strcmp(optarg, "henon") != 0)
      return command_misused(self, comm, "option --units: expected henon or pc-myr, found '%s'", optarg);
    return STATUS_OK;
  }
  int number = option - MODEL_OPTION;
  struct fault f = {""};
  if (ic_set_option(&request->model, number, optarg, &f)) return command_misused(self, comm, "option --%s", f.text);
  request->given |= 1u << number;
  return STATUS_OK;
}

/* What an option needs and the request has not; NULL: nothing. */
static const char *missing(const struct request *request, enum ic_needs needs)
{
  switch (needs) {
  case IC_ALONE: break;
  case IC_NEEDS_KROUPA: return request->model.masses == IC_KROUPA ? NULL : "--mass-function kroupa";
  case IC_NEEDS_TWO: return request->model.masses == IC_TWO ? NULL : "--mass-function two";
  case IC_NEEDS_BINARIES: return request->model.binaries != 0 ? NULL : "--binaries";
  case IC_NEEDS_AXES:
    if (request->model.binaries == 0) return "--binaries";
    return request->model.population == IC_LOG_AXIS ? NULL : "--binary-population log-axis";
  }
  return NULL;
}

static int check_request(const struct command *self, const struct comm *comm, const struct request *request)
{
  struct fault f = {""};
  if (!request->has_n) return command_misused(self, comm, "option -n is missing");
  if (!request->output) return command_misused(self, comm, "option -o is missing");
  for (int i = 0; i < IC_OPTIONS; i++) {
    const struct ic_option *o = &ic_options[i];
    if (!(request->given >> i & 1)) continue;
    if (!strstr(o->models, request->model.name))
      return command_misused(self, comm, "option --%s belongs to model%s %s, not to %s", o->name,
                             strchr(o->models, ',') ? "s" : "", o->models, request->model.name);
    const char *needed = missing(request, o->needs);
    if (needed) return command_misused(self, comm, "option --%s: has a meaning only with %s", o->name, needed);
  }
  if (request->units && !is_scaled(request))
    return command_misused(self, comm, "option --units: has a meaning only with --virial-radius or --half-mass-radius");
  if (ic_check(&request->model, &f)) return command_misused(self, comm, "%s", f.text);
  return STATUS_OK;
}

/* From the units of a scaled model, in which G is 1, to pc, solar masses and pc/Myr; G then follows from the units. */
static void to_parsecs(struct particles *p, struct params *par)
{
  const struct units from = units_of(par);
  par->UnitLength_in_cm = KPC_CM / 1000;
  par->UnitMass_in_g = SOLAR_MASS_G;
  par->UnitVelocity_in_cm_per_s = KPC_CM / GYR_S;
  par->GravityConstantInternal = 0;
  double length = from.length_cm / par->UnitLength_in_cm, mass = from.mass_g / par->UnitMass_in_g;
  double velocity = from.velocity_cm_s / par->UnitVelocity_in_cm_per_s;
  for (int64_t i = 0; i < p->n; i++) {
    for (int c = 0; c < 3; c++) {
      p->pos[3 * i + c] *= length;
      p->vel[3 * i + c] *= velocity;
    }
    p->mass[i] = (float)(p->mass[i] * mass);
  }
}

static int make_file(const struct comm *comm, const struct request *request, struct params *par, struct ic_facts *made,
                     struct fault *fault)
{
  if (comm->rank == 0) command_output(request->output, request->overwrite, fault);
  if (comm_verdict(comm, fault)) return -1;
  struct particles p;
  particles_init(&p);
  params_defaults(par);
  struct snapshot_facts facts = {.params = par, .gravity = 1};
  int failed = ic_make(comm, &request->model, &p, made, fault);
  if (!failed) {
    units_of_henon(par, made->unit.length_pc, made->unit.mass_solar);
    if (in_parsecs(request)) to_parsecs(&p, par);
    facts.gravity = units_gravity(par);
    failed = snapshot_write(comm, request->output, &p, &facts, fault);
  }
  particles_free(&p);
  return failed ? -1 : 0;
}

/* Print what was made, and its units. */
static void report(const struct request *request, const struct params *par, const struct ic_facts *made)
{
  const struct ic_multiples multiples = ic_multiples(&request->model);
  long long n = request->model.n, binaries = multiples.binaries, triples = multiples.triples;
  printf("%s: %lld particle%s of model %s, seed %llu%s\n", request->output, n, plural((double)n), request->model.name,
         (unsigned long long)request->model.seed,
         made->unit.length_pc > 0 ? "" : "; without units, G = 1, which a run takes from the file");
  if (binaries > 0)
    printf("%lld binar%s: particles 1 to %lld, in pairs\n", binaries, binaries == 1 ? "y" : "ies", 2 * binaries);
  if (triples > 0)
    printf("%lld triple%s: particles %lld to %lld, in threes, the inner pair first\n", triples, plural((double)triples),
           2 * binaries + 1, 2 * binaries + 3 * triples);
  if (made->mass_solar > 0) printf("total mass %.7g Msun\n", made->mass_solar);
  if (!(made->unit.length_pc > 0)) return;
  struct units u = units_of(par);
  printf("units: length %.5g pc, mass %.5g Msun, velocity %.5g km/s, time %.5g Myr; a run takes them from the "
         "file, "
         "as from\n"
         "[Units]\nUnitLength_in_cm = %.7g\nUnitMass_in_g = %.7g\nUnitVelocity_in_cm_per_s = %.7g\n",
         u.length_cm / KPC_CM * 1e3, u.mass_g / SOLAR_MASS_G, u.velocity_cm_s / 1e5, units_time_s(&u) / GYR_S * 1e3,
         u.length_cm, u.mass_g, u.velocity_cm_s);
}

static int act(const struct command *self, const struct comm *comm, int argc, char **argv)
{
  if (argc > 1 && strcmp(argv[1], "galaxy") == 0) return command_galaxy.act(&command_galaxy, comm, argc - 1, argv + 1);
  struct option longs[IC_OPTIONS + 8] = {{NULL, 0, NULL, 0}};
  static const struct option common[] = {{"overwrite", no_argument, NULL, OVERWRITE},
                                         {"units", required_argument, NULL, UNITS},
                                         {"seed", required_argument, NULL, 's'},
                                         {"output", required_argument, NULL, 'o'},
                                         COMMAND_LONG};
  for (int i = 0; i < IC_OPTIONS; i++)
    longs[i] = (struct option){ic_options[i].name, required_argument, NULL, MODEL_OPTION + i};
  memcpy(longs + IC_OPTIONS, common, sizeof common);
  struct request q = {.output = NULL};
  ic_defaults(&q.model);
  int status = STATUS_OK, option;
  while ((option = command_option(self, comm, argc, argv, COMMAND_SHORT "n:s:o:", longs, &status)) != -1) {
    if (option == COMMAND_DONE) return status;
    if ((status = take_option(self, comm, option, &q))) return status;
  }
  const char *name = command_operand(self, comm, argc, argv, "model", &status);
  if (!name) return status;
  snprintf(q.model.name, sizeof q.model.name, "%s", name);
  if ((status = check_request(self, comm, &q))) return status;
  struct fault f = {""};
  struct params par;
  struct ic_facts made;
  if (make_file(comm, &q, &par, &made, &f)) return command_failed(comm, &f);
  if (comm->rank == 0) report(&q, &par, &made);
  return STATUS_OK;
}

const struct command command_ic = {
    "ic", "ic MODEL -n N [-s SEED] [OPTION]... -o FILE.hdf5", "Make initial conditions of a model",
    "models (total mass 1, G = 1, which the file states and a run takes from there):\n"
    "  plummer                 Plummer sphere, scale radius 3 pi / 16, energy -1/4\n"
    "  hernquist               Hernquist sphere, energy -1/4\n"
    "  king                    King's sphere, energy -1/4\n"
    "  uniform                 homogeneous sphere, energy -1/4\n"
    "  merger                  two Plummer spheres of particles of equal mass, types 1 and 2\n"
    "  galaxy                  a model file with haloes, bulges, discs: 'espalier ic galaxy --help'\n"
    "options:\n"
    "  -n N                    total number of particles, for example 100000 or 1e5\n"
    "  -s, --seed SEED         seed of the random numbers [1]\n"
    "  -o, --output FILE.hdf5  the file to write\n"
    "      --overwrite         replace the file if it exists\n"
    "      --w0 W0             king: depth of the central potential over sigma^2, 0.3 to 12 [6]\n"
    "      --virial-ratio Q    2 T / |W|, 0 (cold) to 1.9; plummer, hernquist, king: velocities are scaled to it by "
    "sums\n"
    "                          over all pairs, up to 2^18 particles [uniform: 0; else 1 in the mean over seeds]\n"
    "      --mass-ratio Q      merger: mass of the second sphere over the first [1]\n"
    "      --separation D      merger: distance of the centres along x [3]\n"
    "      --impact-parameter B  merger: their offset along y [0.5]\n"
    "      --relative-velocity V  merger: their relative velocity along x, approaching [0.8]\n"
    "options of plummer, hernquist and king (masses do not depend on the position; lengths in model units, unless in "
    "pc):\n"
    "      --mass-function F   equal; kroupa: Kroupa 2001; two: light and heavy stars [equal]\n"
    "      --mass-min M        kroupa: smallest mass in solar masses [0.08]\n"
    "      --mass-max M        kroupa: largest mass in solar masses [100]\n"
    "      --heavy-ratio Q     two: mass of a heavy star over that of a light one [20]\n"
    "      --heavy-fraction F  two: heavy stars as a fraction of all, by number [0.01]\n"
    "      --binaries F        fraction of systems with more than one star; energy and virial ratio are those of "
    "their\n"
    "                          centres of mass; observed: from 0.27 to 0.94 by the first star's mass, with masses of\n"
    "                          kroupa; no star is then heavier than the first of its system [0]\n"
    "      --triples F         fraction of these systems with a third star, on a stable outer orbit; of solar-type "
    "stars\n"
    "                          a fifth [0]\n"
    "      --binary-min A      smallest semi-major axis; its logarithm is uniform [1e-4]\n"
    "      --binary-max A      largest semi-major axis; the same as --binary-min: one for all [1e-3]\n"
    "      --eccentricity E    of all orbits [thermal: a density 2 e]\n"
    "      --binary-population P  periods in days, eccentricities and mass ratios as observed: duquennoy-mayor "
    "(1991),\n"
    "                          raghavan (2010), sana (2012, massive stars), kroupa (1995, at birth) [log-axis]\n"
    "      --central-mass F    a particle of type 5, the last one, at rest at the centre, with this fraction of the "
    "total\n"
    "                          mass; the stars' velocities are drawn in the potential of both [0]\n"
    "      --virial-radius R   scale the model: its virial radius, the unit of length, is R pc\n"
    "      --half-mass-radius R  scale the model: the half-mass radius of its stars is R pc\n"
    "      --total-mass M      of a scaled model, in solar masses [one per particle; kroupa: that of the stars]\n"
    "      --units U           of a scaled model, of the numbers in the file: pc-myr: pc, solar masses, pc/Myr and "
    "Myr,\n"
    "                          as with PeTar's -u 1; henon: those in which G = 1 [pc-myr]\n",
    act};
