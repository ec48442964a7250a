/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Snapshots, files and models. */
#include <config.h>
#include "api/api.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "ic/galaxy/make.h"
#include "ic/ic.h"
#include "io/input/initial.h"
#include "io/snapshot/snapshot.h"
#include "mpi/start.h"

#define MODEL_BYTES 220.0 /* of a particle of a model: fields, and the arrays for the caller */

int api_save(espalier *e, const char *path)
{
  struct sim *sim = e->sim;
  struct fault f = {""};
  if (!path || !path[0]) fault_set(&f, "path: expected the name of a file, found none");
  int code = api_agree(&e->comm, ESPALIER_BAD_ARGUMENT, &f);
  if (code) return code;
  api_potentials(e);
  struct snapshot_facts facts = {.params = sim->par,
                                 .time = sim->time,
                                 .step = api_steps(e),
                                 .gravity = sim->force.gravity,
                                 .extras = SNAPSHOT_RUN,
                                 .files = 1,
                                 .in_field = effects_have(sim, EFFECT_IN_FIELD),
                                 .field_moves = effects_have(sim, EFFECT_ENERGY_CHANGES),
                                 .changes = sim->energy.changes.energy,
                                 .field_energy = effects_energy(sim)};
  sim_shift(sim, facts.place, facts.motion);
  return snapshot_write(&e->comm, path, sim->be->view(sim->dev), &facts, &f) ? api_fail(ESPALIER_BAD_FILE, &f)
                                                                             : ESPALIER_OK;
}

/* --- data --------------------------------------------------------------------------------------------------------- */

/* Move particles to arrays for the caller; *particles is empty afterwards. */
static struct espalier_data *data_of(struct particles *particles, double time)
{
  size_t n = (size_t)particles->n;
  struct espalier_data *d = memory_alloc("simulations", sizeof *d);
  d->count = particles->n;
  d->time = time;
  d->position = memory_alloc("simulations", 3 * sizeof *d->position * (n + 1));
  d->velocity = memory_alloc("simulations", 3 * sizeof *d->velocity * (n + 1));
  d->mass = memory_alloc("simulations", sizeof *d->mass * (n + 1));
  d->id = memory_alloc("simulations", sizeof *d->id * (n + 1));
  d->type = memory_alloc("simulations", n + 1);
  if (n > 0) {
    memcpy(d->position, particles->pos, 3 * sizeof *d->position * n);
    memcpy(d->velocity, particles->vel, 3 * sizeof *d->velocity * n);
    memcpy(d->id, particles->id, sizeof *d->id * n);
    memcpy(d->type, particles->type, n);
  }
  for (size_t i = 0; i < n; i++) d->mass[i] = particles->mass[i];
  particles_free(particles);
  return d;
}

void espalier_free(struct espalier_data *data)
{
  if (!data) return;
  memory_free(data->position);
  memory_free(data->velocity);
  memory_free(data->mass);
  memory_free(data->id);
  memory_free(data->type);
  memory_free(data);
}

/* Begin a call without a simulation. 0 or a code. */
static int begin(struct espalier_data **data, const int *communicator, struct comm *comm)
{
  struct fault f = {""};
  if (!data)
    return api_fail(ESPALIER_BAD_ARGUMENT, &(struct fault){"data: expected a place for the particles, found NULL"});
  *data = NULL;
  if (start_mpi(&f)) return api_fail(ESPALIER_BAD_MPI, &f);
  if (start_comm(comm, communicator, &f)) return api_fail(ESPALIER_BAD_ARGUMENT, &f);
  fatal_context(comm->rank, -1);
  start_threads(comm);
  start_environment(&f);
  int code = api_agree(comm, ESPALIER_BAD_PARAMETER, &f);
  if (code) comm_close(comm);
  return code;
}

static void note_units(struct espalier_data *data, const struct units *units, double gravity)
{
  data->gravity = gravity;
  if (units->dimensionless) return;
  data->unit_length = units->length_cm;
  data->unit_mass = units->mass_g;
  data->unit_velocity = units->velocity_cm_s;
}

int api_read(struct espalier_data **data, const int *communicator, const char *path)
{
  struct fault f = {""};
  struct comm c;
  struct particles p;
  struct initial_facts facts;
  int code = begin(data, communicator, &c);
  if (code) return code;
  if (!path || !path[0]) fault_set(&f, "path: expected the name of a file, found none");
  code = api_agree(&c, ESPALIER_BAD_ARGUMENT, &f);
  particles_init(&p);
  if (!code && initial_read(&c, path, FORMAT_AUTO, &p, &facts, &f)) code = api_fail(ESPALIER_BAD_FILE, &f);
  if (!code) {
    *data = data_of(&p, facts.has_time ? facts.time : 0);
    if (facts.has_units) note_units(*data, &facts.units, facts.gravity);
    else (*data)->gravity = facts.gravity;
  }
  comm_close(&c);
  return code;
}

/* A fault where the particles of a model are too many for the ranks of this node: their memory would be exhausted.
 * Local. */
static int check_count(const struct comm *comm, int64_t count, struct fault *fault)
{
  double share = (double)count / comm->size, bytes = MODEL_BYTES * share * comm_node_size(comm);
  double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
  if (share > INT32_MAX / 2)
    return fault_set(fault, "number of particles: at most %d on a rank, found %lld on %d: use more ranks",
                     INT32_MAX / 2, (long long)count, comm->size);
  if (bytes > memory)
    return fault_set(fault, "number of particles: %lld need about %.3g GB on this node, which has %.3g GB: use fewer",
                     (long long)count, bytes / 1e9, memory / 1e9);
  return 0;
}

/* --- models ------------------------------------------------------------------------------------------------------- */

static int make_model(const struct comm *comm, const char *name, int64_t count, uint64_t seed,
                      const char *const *settings, struct particles *particles, struct params *units,
                      struct fault *fault)
{
  struct ic_model m;
  struct ic_facts facts;
  ic_defaults(&m);
  snprintf(m.name, sizeof m.name, "%s", name);
  m.n = count;
  m.seed = seed;
  if (ic_check(&m, fault) == 0)
    for (int k = 0; settings && settings[k] && !fault->text[0]; k++) ic_set(&m, settings[k], fault);
  if (!fault->text[0]) ic_check(&m, fault);
  if (comm_agree(comm, fault) || ic_make(comm, &m, particles, &facts, fault)) return -1;
  params_defaults(units);
  units_of_henon(units, facts.unit.length_pc, facts.unit.mass_solar);
  return 0;
}

/* The model file that the settings name. */
static const char *model_file(const char *const *settings, struct fault *fault)
{
  const char *file = NULL;
  for (int k = 0; settings && settings[k]; k++) {
    if (strncmp(settings[k], "file=", 5) == 0) file = settings[k] + 5;
    else fault_set(fault, "unknown option '%.60s' of the model galaxy: expected file=MODEL.ini", settings[k]);
  }
  if (!file) fault_set(fault, "the model galaxy needs a model file: file=MODEL.ini");
  return file;
}

static int make_galaxy(const struct comm *comm, int64_t count, uint64_t seed, const char *const *settings,
                       struct particles *particles, struct params *units, struct fault *fault)
{
  struct galaxy_model *m = memory_alloc("ic tables", sizeof *m);
  struct galaxy_tables t[GALAXIES] = {{.g = NULL}};
  const char *file = model_file(settings, fault);
  if (comm->rank == 0 && !fault->text[0]) galaxy_model_read(file, count, m, fault);
  int failed = comm_agree(comm, fault);
  if (!failed) comm_broadcast(comm, m, sizeof *m);
  for (int i = 0; !failed && i < m->count; i++)
    if (galaxy_open(&t[i], &m->galaxy[i], fault)) break;
  failed = comm_agree(comm, fault);
  if (!failed) galaxy_make(comm, m, t, seed, particles);
  *units = m->units;
  for (int i = 0; i < GALAXIES; i++)
    if (t[i].g) galaxy_close(&t[i]);
  memory_free(m);
  return failed ? -1 : 0;
}

int api_model(struct espalier_data **data, const int *communicator, const char *model, int64_t count, uint64_t seed,
              const char *const *settings)
{
  struct fault f = {""};
  struct comm c;
  struct particles p;
  int code = begin(data, communicator, &c);
  if (code) return code;
  particles_init(&p);
  struct params units;
  int is_galaxy = model && strcmp(model, "galaxy") == 0;
  if (!model) fault_set(&f, "model: expected the name of a model, found NULL");
  else check_count(&c, count, &f);
  if (comm_agree(&c, &f) || (is_galaxy ? make_galaxy(&c, count, seed, settings, &p, &units, &f)
                                       : make_model(&c, model, count, seed, settings, &p, &units, &f)))
    code = api_fail(ESPALIER_BAD_ARGUMENT, &f);
  else {
    *data = data_of(&p, 0);
    struct units u = units_of(&units);
    note_units(*data, &u, units_gravity(&units));
  }
  comm_close(&c);
  return code;
}
