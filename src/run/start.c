/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "run/start.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/memory.h"
#include "io/input/initial.h"
#include "step/effects.h"

/* Pair forces and multipole moments are computed in float32, whose range ends at 1e38. */
#define FLOAT_MAX 1e36
#define SOFTENING_MIN 1e-11
/* shortest distance that counts without softening, in units of the largest coordinate; the lattice spacing is
 * shorter */
#define RESOLUTION 0x1p-26

enum { OUTLYING = 100 }; /* times farther out than nine tenths of the others: one that is named */

/* "; the particle with id 8 has the largest position, (1e+10, 0, 0): is it right?" where few of the vectors[3 n] (pos,
 * vel) have such large components; elsewhere `text` is empty. Collective. */
static const char *outlier(const struct comm *comm, const struct particles *particles, const double *vectors,
                           const char *name, char text[250])
{
  double most = 0, x[3] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
  int64_t far = 0, count = particles->n, mine = INT64_MAX, at = 0;
  for (int64_t i = 0; i < 3 * particles->n; i++) most = fmax(most, fabs(vectors[i]));
  comm_max_double(comm, &most, 1);
  for (int64_t i = 0; i < 3 * particles->n; i++) {
    far += fabs(vectors[i]) > most / OUTLYING;
    if (fabs(vectors[i]) < most || (int64_t)particles->id[i / 3] > mine) continue;
    at = i - i % 3;
    mine = (int64_t)particles->id[i / 3];
  }
  comm_sum_int64(comm, &far, 1);
  comm_sum_int64(comm, &count, 1);
  int64_t id = comm_min_int64(comm, mine);
  if (particles->n > 0 && mine == id) memcpy(x, vectors + at, sizeof x);
  comm_max_double(comm, x, 3);
  text[0] = 0;
  if (10 * far <= count)
    snprintf(text, 250, "; the particle with id %llu has the largest %s, (%g, %g, %g): is it right?",
             (unsigned long long)id, name, x[0], x[1], x[2]);
  return text;
}

/* A fault where lengths, masses or velocities could overflow float32. Collective. 0 or -1. */
static int check_range(const struct comm *comm, const struct particles *particles, const struct params *par,
                       struct fault *fault)
{
  double length = 0, mass = 0, speed = 0;
  int64_t count = particles->n;
  for (int64_t i = 0; i < 3 * particles->n; i++) {
    length = fmax(length, fabs(particles->pos[i]));
    speed = fmax(speed, fabs(particles->vel[i]));
  }
  for (int64_t i = 0; i < particles->n; i++) mass += particles->mass[i];
  comm_max_double(comm, &length, 1);
  comm_max_double(comm, &speed, 1);
  comm_sum_double(comm, &mass, 1);
  comm_sum_int64(comm, &count, 1);
  double softening = params_softening(par, NULL), size = fmax(length, softening);
  if (!(size > 0)) size = 1; /* all at the origin, without softening */
  double eps = softening > 0 ? softening : RESOLUTION * size, typical = mass / size;
  char far[250];
  const char *advice =
      "choose units of length and mass nearer to those of the system (pair forces are computed in single precision)";
  if (softening > 0 && eps < SOFTENING_MIN)
    return fault_set(fault, "Softening = %g is below %g (0: none): %s", eps, SOFTENING_MIN, advice);
  if (speed > FLOAT_MAX)
    return fault_set(fault, "velocities up to %g are too large: %s%s", speed, advice,
                     outlier(comm, particles, particles->vel, "velocity", far));
  if (softening > length && softening * softening * fmax(mass, 1) > FLOAT_MAX)
    return fault_set(fault, "Softening = %g is too large for coordinates up to %g and a mass of %g in all", softening,
                     length, mass);
  if (size * size * fmax(mass, 1) > FLOAT_MAX)
    return fault_set(fault, "coordinates up to %g and a mass of %g in all are too large: %s%s", length, mass, advice,
                     outlier(comm, particles, particles->pos, "position", far));
  if (count < 2) return 0; /* no forces */
  double density = fmax(mass, 1) / (eps * eps * eps);
  if (softening > 0 && density > FLOAT_MAX)
    return fault_set(fault, "a mass of %g within a softening of %g is too dense: %s", mass, eps, advice);
  if (density > FLOAT_MAX)
    return fault_set(fault,
                     "Softening = 0, and coordinates are at most %g: forces of a mass of %g at 2^-26 of that, which "
                     "single precision must "
                     "represent, are too large; choose a unit of length so that coordinates are about 1",
                     size, mass);
  if (typical / (size * size) * 1e-10 < 1 / FLOAT_MAX || 1 / (size * size * size) < 1 / FLOAT_MAX)
    return fault_set(fault, "forces of a mass of %g at distances up to %g are too small: %s%s", mass, size, advice,
                     outlier(comm, particles, particles->pos, "position", far));
  if (params_order(par) == 2 &&
      (pow(size, 5) > FLOAT_MAX || (softening > 0 && pow(eps, -5) * fmax(1, mass) > FLOAT_MAX * 100)))
    return fault_set(
        fault, "lengths from %g to %g are too wide a range for MultipoleOrder = 2: set MultipoleOrder = 1, or %s%s",
        eps, size, advice, outlier(comm, particles, particles->pos, "position", far));
  return 0;
}

int check_result(const struct params *par, const char *output, int overwrite, struct fault *fault)
{
  if (!*output) return fault_set(fault, "option -o: expected the name of a file, found ''");
  if (access(output, F_OK)) return 0;
  if (!overwrite)
    return fault_set(fault, "%s: already exists; give another name, or --overwrite to replace it", output);
  if (!initial_holds(par->InitCondFile, par->ICFormat, output)) return 0;
  return fault_set(fault, "%s: is the input, InitCondFile = %s; give another name", output, par->InitCondFile);
}

int check_times(const struct params *par, double begin, struct fault *fault)
{
  if (begin < par->TimeMax) return 0;
  return fault_set(fault, "%s is at time %g, which is not before TimeMax = %g", par->InitCondFile, begin, par->TimeMax);
}

void print_nothing_left(const char *path, double time, const struct params *par)
{
  printf("%s is at time %g, which is not before TimeMax = %g: there is nothing left to do\n", path, time, par->TimeMax);
}

int check_steps(long long limit, long long step, const char *path, struct fault *fault)
{
  if (limit < 0 || limit >= step) return 0;
  return fault_set(
      fault,
      "-n %lld: the checkpoint %s is in soft step %lld, and -n counts from the beginning of the simulation; give %lld "
      "or more, or an earlier checkpoint",
      limit, path, step, step);
}

/* All ranks must use the same backend, because it defines the messages between them. Collective. */
static void check_same_backend(const struct comm *comm, const struct backend *be, struct fault *fault)
{
  int gpu = be == &backend_cuda;
  if (comm_max_int64(comm, gpu) != comm_min_int64(comm, gpu))
    fault_set(fault, "some ranks have a GPU, others have none: set Backend = cpu, or start ranks only where "
                     "there are devices");
}

int sim_choose_backend(const struct comm *comm, const struct params *par, const struct backend **be,
                       struct fault *fault)
{
  char why[256];
  *be = backend_choose(par->Backend, why, sizeof why);
  if (!*be) fault_set(fault, "%s", why);
  else if (!backend_walks(*be, (enum walk_method)par->WalkMethod, comm->size, why, sizeof why))
    fault_set(fault, "%s", why);
  else params_check_ranks(par, comm->size, fault);
  if (comm_agree(comm, fault)) return -1;
  check_same_backend(comm, *be, fault);
  return comm_agree(comm, fault);
}

/* The type with the smallest softening of those that have particles. Collective. */
static uint8_t sharpest_type(const struct comm *comm, const struct params *par, const struct particles *particles)
{
  int64_t of_type[PARTICLE_TYPES] = {0};
  int best = -1;
  for (int64_t i = 0; i < particles->n; i++) of_type[particles->type[i]]++;
  comm_sum_int64(comm, of_type, PARTICLE_TYPES);
  for (int t = 0; t < PARTICLE_TYPES; t++)
    if (of_type[t] > 0 && (best < 0 || params_softening_of(par, t) < params_softening_of(par, best))) best = t;
  return (uint8_t)(best < 0 ? 0 : best);
}

/* Collective. 0 or -1. */
static int add_particles(const struct comm *comm, const struct params *par, struct particles *particles,
                         const struct start_points *more, struct fault *fault)
{
  uint64_t largest = 0, *all;
  size_t bytes;
  int64_t before = comm_exscan_int64(comm, more->n), total = more->n;
  for (int64_t i = 0; i < particles->n; i++) largest = particles->id[i] > largest ? particles->id[i] : largest;
  comm_sum_int64(comm, &total, 1);
  all = comm_gather(comm, &largest, sizeof largest, &bytes);
  for (int r = 0; r < comm->size; r++) largest = all[r] > largest ? all[r] : largest;
  memory_free(all);
  if (largest > UINT64_MAX - 1 - (uint64_t)total)
    return fault_set(fault, "ids up to %llu leave none for %lld points", (unsigned long long)largest, (long long)total);
  *more->first_id = largest + 1;
  uint8_t type = sharpest_type(comm, par, particles);
  particles_reserve(particles, particles->n + more->n);
  for (int k = 0; k < particle_field_count; k++)
    memset(*particles_array(particles, &particle_fields[k]) + particle_fields[k].bytes * (size_t)particles->n, 0,
           particle_fields[k].bytes * (size_t)more->n);
  for (int64_t i = 0; i < more->n; i++) {
    memcpy(&particles->pos[3 * (particles->n + i)], more->at[i], sizeof more->at[i]);
    particles->id[particles->n + i] = *more->first_id + (uint64_t)(before + i);
    particles->type[particles->n + i] = type;
  }
  particles->n += more->n;
  return 0;
}

/* Open a system of the particles `particles`, which are in the user's frame at the time `begin`; a fault that is set
 * counts as one of this function. Collective. 0, or as sim_start, with the particles freed. */
static int start_at(struct sim *sim, const struct comm *comm, const struct params *par, const struct backend *be,
                    struct particles *particles, double begin, struct fault *fault)
{
  struct effects_entry entry;
  const struct params known = params_of_run(par, 0, be->particle_bytes > 0);
  effects_enter(comm, par, begin, particles, &entry);
  check_range(comm, particles, &known, fault);
  if (comm_agree(comm, fault)) {
    particles_free(particles);
    return -1;
  }
  if (sim_open(sim, comm, par, be, particles, fault)) {
    sim_close(sim);
    return SIM_START_PARAMETERS;
  }
  sim->time = begin;
  effects_begin(sim, &entry);
  if (effects_cover(sim, par->TimeMax, fault)) {
    sim_close(sim);
    return SIM_START_PARAMETERS;
  }
  return 0;
}

static int start(struct sim *sim, const struct comm *comm, const struct params *par, int warn,
                 const struct start_points *more, struct fault *fault)
{
  struct particles p;
  struct initial_facts facts;
  const struct backend *be;
  if (sim_choose_backend(comm, par, &be, fault)) return -1;
  particles_init(&p);
  if (initial_read(comm, par->InitCondFile, par->ICFormat, &p, &facts, fault)) return -1;
  if (comm->rank == 0 && warn) {
    struct initial_facts unknown = facts;
    if (par->Comoving) initial_take_cosmology(&unknown);
    initial_warn(par->InitCondFile, &unknown, stderr, "espalier: warning: ");
    if (units_check(par, &(struct fault){""}) == 0) units_warn(par, stderr, "espalier: warning: ");
  }
  units_check(par, fault);
  if (!fault->text[0]) initial_check_units(par->InitCondFile, &facts, par, fault);
  if (more && !fault->text[0]) add_particles(comm, par, &p, more, fault);
  int status = start_at(sim, comm, par, be, &p, facts.own ? facts.time : par->TimeBegin, fault);
  if (status == 0) sim->energy.changes.energy = facts.changes;
  return status;
}

int sim_start(struct sim *sim, const struct comm *comm, const struct params *par, struct fault *fault)
{
  return start(sim, comm, par, 1, NULL, fault);
}
int sim_start_silently(struct sim *sim, const struct comm *comm, const struct params *par, struct fault *fault)
{
  return start(sim, comm, par, 0, NULL, fault);
}

int sim_start_with(struct sim *sim, const struct comm *comm, const struct params *par, const struct start_points *more,
                   struct fault *fault)
{
  return start(sim, comm, par, 1, more, fault);
}

int sim_start_given(struct sim *sim, const struct comm *comm, const struct params *par, struct particles *particles,
                    double begin, const struct start_points *more, struct fault *fault)
{
  const struct backend *be;
  if (sim_choose_backend(comm, par, &be, fault) || initial_check(comm, "particles", particles, fault)) {
    particles_free(particles);
    return -1;
  }
  if (more) add_particles(comm, par, particles, more, fault);
  return start_at(sim, comm, par, be, particles, begin, fault);
}
