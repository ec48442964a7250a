/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opening and closing of simulations, and their errors. */
#include <config.h>
#include "api/api.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/revision.h"
#include "io/input/initial.h"
#include "mpi/start.h"
#include "params/params_units.h"
#include "run/check.h"
#include "step/scheme.h"
#include "settings/settings.h"

static _Thread_local char sentence[sizeof((struct fault *)0)->text];

const char *espalier_error(void) { return sentence; }

const char *espalier_version(void)
{
  static char text[120];
  snprintf(text, sizeof text, "%s (%s)", PACKAGE_VERSION, revision);
  return text;
}

int api_fail(int code, const struct fault *fault)
{
  memcpy(sentence, fault->text, sizeof sentence);
  return code;
}

int api_agree(const struct comm *comm, int code, struct fault *fault)
{
  return comm_agree(comm, fault) ? api_fail(code, fault) : ESPALIER_OK;
}

/* --- parameters --------------------------------------------------------------------------------------------------- */

/* The file with initial conditions, `path` or InitCondFile. 0; -1 with a fault. */
static int use_file(struct params *params, const char *path, struct fault *fault)
{
  if (path && strlen(path) >= PARAM_TEXT)
    return fault_set(fault, "the path of a file has %zu characters; expected at most %d", strlen(path), PARAM_TEXT - 1);
  if (path) strcpy(params->InitCondFile, path);
  return params->InitCondFile[0] ? 0 : fault_set(fault, "no file: give a path, or the parameter InitCondFile");
}

static int read_parameters(struct params *params, const char *text, const char *const *settings, const char *path,
                           int from_file, int *softening_given, struct fault *fault)
{
  struct param_origin origin;
  if (params_read_text(params, text ? text : "", "parameters", &origin, fault)) return -1;
  for (int k = 0; settings && settings[k]; k++)
    if (params_set_named(params, settings[k], &origin, fault)) return -1;
  *softening_given = params_softening_given(&origin);
  if (from_file && use_file(params, path, fault)) return -1;
  if (from_file) initial_take_units(params, &origin);
  if (params_convert(params, &origin, fault)) return -1;
  params_choose_integrator(params, &origin);
  if (params->Comoving)
    return fault_set(fault, "Comoving = on: simulations of the library are in physical coordinates; use the program");
  params->SubstepLog = params->TunerLog = 0; /* tables in memory that are never written */
  return params_check_rules(params, NULL, fault);
}

/* --- particles ---------------------------------------------------------------------------------------------------- */

static int check_arrays(const struct espalier_particles *particles, struct fault *fault)
{
  if (particles->count < 0)
    return fault_set(fault, "particles: expected a count of 0 or more, found %lld (or no struct at all)",
                     (long long)particles->count);
  if (particles->count > INT32_MAX / 2)
    return fault_set(fault, "particles: %lld on one rank, at most %d: use more ranks", (long long)particles->count,
                     INT32_MAX / 2);
  if (particles->count > 0 && !particles->position)
    return fault_set(fault, "particles: expected positions, found NULL");
  if (particles->count > 0 && !particles->mass) return fault_set(fault, "particles: expected masses, found NULL");
  if (!isfinite(particles->time))
    return fault_set(fault, "particles: expected a finite time, found %g", particles->time);
  return 0;
}

static int copy_arrays(const struct espalier_particles *particles, int64_t before, struct particles *particles_,
                       struct fault *fault)
{
  particles_reserve(particles_, particles->count);
  particles_->n = particles->count;
  for (int64_t i = 0; i < particles->count; i++) {
    for (int c = 0; c < 3; c++) particles_->pos[3 * i + c] = particles->position[3 * i + c];
    for (int c = 0; c < 3; c++) particles_->vel[3 * i + c] = particles->velocity ? particles->velocity[3 * i + c] : 0;
    particles_->mass[i] = (float)particles->mass[i];
    particles_->id[i] = particles->id ? particles->id[i] : (uint64_t)(before + i + 1);
    particles_->type[i] = particles->type ? particles->type[i] : 1;
    if (isinf(particles_->mass[i]) && isfinite(particles->mass[i]))
      return fault_set(
          fault, "particle %lld has the mass %g, beyond the range of single precision: choose another unit of mass",
          (long long)(before + i + 1), particles->mass[i]);
    if (particles_->type[i] >= PARTICLE_TYPES)
      return fault_set(fault, "particle %lld has the type %d; expected 0 to %d", (long long)(before + i + 1),
                       particles_->type[i], PARTICLE_TYPES - 1);
  }
  return 0;
}

int api_take(const struct comm *comm, const struct espalier_particles *given, struct particles *particles)
{
  struct fault f = {""};
  particles_init(particles);
  check_arrays(given, &f);
  int code = api_agree(comm, ESPALIER_BAD_ARGUMENT, &f);
  if (code) return code;
  double times[2] = {given->time, -given->time};
  comm_max_double(comm, times, 2);
  if (times[0] != -times[1]) fault_set(&f, "particles: the ranks give times from %g to %g", -times[1], times[0]);
  else copy_arrays(given, comm_exscan_int64(comm, given->count), particles, &f);
  code = api_agree(comm, ESPALIER_BAD_PARTICLES, &f);
  if (code) particles_free(particles);
  return code;
}

/* --- open and close ----------------------------------------------------------------------------------------------- */

static void close_system(struct sim *sim)
{
  if (!sim) return;
  sim_close(sim);
  memory_free(sim);
}

void api_forget(espalier *e) { e->ordered = e->potential = e->energies = 0; }

int api_adopt(espalier *e, struct sim *fresh)
{
  struct fault f = {""};
  struct guard guard = {.particles = 0};
  const int collides = fresh->par->Action != COLLISIONS_OFF;
  settings_first_force(fresh);
  if (collides)
    fault_set(&f, "Action = %s: collisions of stars are for the program (espalier run): expected off",
              params_choice("Action", fresh->par->Action));
  else if (fresh->scheme->check(fresh, &f) == 0) {
    guard_remember(&guard, &fresh->now, 1);
    guard_check(&guard, &fresh->now, fresh->comm, fresh->be, fresh->dev, &fresh->effects.field, fresh->step,
                fresh->time, 0, &f);
  }
  int code = api_agree(&e->comm, collides ? ESPALIER_BAD_PARAMETER : ESPALIER_BAD_PARTICLES, &f);
  if (code) {
    close_system(fresh);
    return code;
  }
  timer_reset(&fresh->timer);
  if (e->sim) e->before += e->sim->step;
  close_system(e->sim);
  e->sim = fresh;
  e->guard = guard;
  e->unsound.text[0] = 0;
  api_forget(e);
  e->potential = 1;
  return ESPALIER_OK;
}

/* The code of what sim_start and its kin return; `other`: of a fault of the particles. */
static int code_of(int result, int other, const struct fault *fault)
{
  if (result == 0) return ESPALIER_OK;
  return api_fail(result == SIM_START_PARAMETERS ? ESPALIER_BAD_PARAMETER : other, fault);
}

/* Open the system of particles of the caller, or of the file par.InitCondFile. */
static int open_system(espalier *e, const struct espalier_particles *given)
{
  struct fault f = {""};
  struct particles p;
  struct sim *sim = memory_alloc("simulations", sizeof *sim);
  const struct backend *be;
  int code = ESPALIER_OK;
  if (sim_choose_backend(&e->comm, &e->par, &be, &f)) code = api_fail(ESPALIER_BAD_PARAMETER, &f);
  else if (!given) code = code_of(sim_start_silently(sim, &e->comm, &e->par, &f), ESPALIER_BAD_FILE, &f);
  else if ((code = api_take(&e->comm, given, &p)) == ESPALIER_OK)
    code = code_of(sim_start_given(sim, &e->comm, &e->par, &p, given->time, NULL, &f), ESPALIER_BAD_PARTICLES, &f);
  if (code) {
    memory_free(sim);
    return code;
  }
  return api_adopt(e, sim);
}

static int open_any(espalier **out, const int *communicator, const char *parameters, const char *const *settings,
                    const char *path, const struct espalier_particles *given, int from_file)
{
  struct fault f = {""};
  if (!out)
    return api_fail(ESPALIER_BAD_ARGUMENT, &(struct fault){"sim: expected a place for the simulation, found NULL"});
  *out = NULL;
  if (start_mpi(&f)) return api_fail(ESPALIER_BAD_MPI, &f);
  espalier *e = memory_alloc("simulations", sizeof *e);
  if (start_comm(&e->comm, communicator, &f)) {
    memory_free(e);
    return api_fail(ESPALIER_BAD_ARGUMENT, &f);
  }
  fatal_context(e->comm.rank, -1);
  start_threads(&e->comm);
  if (start_environment(&f) == 0)
    read_parameters(&e->par, parameters, settings, path, from_file, &e->softening_given, &f);
  int code = api_agree(&e->comm, ESPALIER_BAD_PARAMETER, &f);
  if (!code) code = open_system(e, from_file ? NULL : given);
  if (code) api_close(e);
  else *out = e;
  return code;
}

int api_open(espalier **sim, const int *communicator, const char *parameters, const char *const *settings,
             const struct espalier_particles *particles)
{
  const struct espalier_particles none = {.count = -1};
  return open_any(sim, communicator, parameters, settings, NULL, particles ? particles : &none, 0);
}

int api_open_file(espalier **sim, const int *communicator, const char *parameters, const char *const *settings,
                  const char *path)
{
  return open_any(sim, communicator, parameters, settings, path, NULL, 1);
}

void api_close(espalier *e)
{
  if (!e) return;
  close_system(e->sim);
  memory_free(e->order);
  comm_close(&e->comm);
  memory_free(e);
}
