/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Snapshots, files and models. */
#include <config.h>
#include "api/api.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "ic/galaxy/make.h"
#include "ic/ic.h"
#include "io/input/initial.h"
#include "io/snapshot/snapshot.h"
#include "mpi/start.h"

int espalier_save(espalier *e, const char *path)
{
  struct sim *s = e->sim;
  struct fault f = {""};
  if (!path || !path[0]) fault_set(&f, "path: expected the name of a file, found none");
  int code = api_agree(&e->comm, ESPALIER_BAD_ARGUMENT, &f);
  if (code) return code;
  api_potentials(e);
  struct snapshot_facts facts = {.params = s->par, .time = s->time, .step = espalier_steps(e), .gravity = s->gravity,
                                 .extras = SNAPSHOT_RUN, .files = 1};
  sim_shift(s, facts.place, facts.motion);
  return snapshot_write(&e->comm, path, s->be->view(s->dev), &facts, &f) ? api_fail(ESPALIER_BAD_FILE, &f) : ESPALIER_OK;
}

/* --- data ---------------------------------------------------------------------------------------------------------- */

/* Move particles to arrays for the caller; *p is empty afterwards. */
static struct espalier_data *data_of(struct particles *p, double time)
{
  size_t n = (size_t)p->n;
  struct espalier_data *d = memory_alloc("simulations", sizeof *d);
  d->count = p->n;
  d->time = time;
  d->position = memory_alloc("simulations", 3 * sizeof *d->position * (n + 1));
  d->velocity = memory_alloc("simulations", 3 * sizeof *d->velocity * (n + 1));
  d->mass = memory_alloc("simulations", sizeof *d->mass * (n + 1));
  d->id = memory_alloc("simulations", sizeof *d->id * (n + 1));
  d->type = memory_alloc("simulations", n + 1);
  if (n > 0) {
    memcpy(d->position, p->pos, 3 * sizeof *d->position * n);
    memcpy(d->velocity, p->vel, 3 * sizeof *d->velocity * n);
    memcpy(d->id, p->id, sizeof *d->id * n);
    memcpy(d->type, p->type, n);
  }
  for (size_t i = 0; i < n; i++) d->mass[i] = p->mass[i];
  particles_free(p);
  return d;
}

void espalier_free(struct espalier_data *d)
{
  if (!d) return;
  memory_free(d->position);
  memory_free(d->velocity);
  memory_free(d->mass);
  memory_free(d->id);
  memory_free(d->type);
  memory_free(d);
}

/* Begin a call without a simulation. 0 or a code. */
static int begin(struct espalier_data **data, const int *communicator, struct comm *c)
{
  struct fault f = {""};
  if (!data) return api_fail(ESPALIER_BAD_ARGUMENT, &(struct fault){"data: expected a place for the particles, found NULL"});
  *data = NULL;
  if (start_mpi(&f)) return api_fail(ESPALIER_BAD_MPI, &f);
  start_comm(c, communicator);
  fatal_context(c->rank, -1);
  start_threads(c);
  return ESPALIER_OK;
}

static void note_units(struct espalier_data *d, const struct units *u, double gravity)
{
  d->gravity = gravity;
  if (u->dimensionless) return;
  d->unit_length = u->length_cm;
  d->unit_mass = u->mass_g;
  d->unit_velocity = u->velocity_cm_s;
}

int espalier_read(struct espalier_data **data, const int *communicator, const char *path)
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

/* --- models -------------------------------------------------------------------------------------------------------- */

static int make_model(const struct comm *c, const char *name, int64_t count, uint64_t seed, const char *const *settings,
                      struct particles *p, struct fault *f)
{
  struct ic_model m;
  ic_defaults(&m);
  snprintf(m.name, sizeof m.name, "%s", name);
  m.n = count;
  m.seed = seed;
  if (ic_check(&m, f) == 0)
    for (int k = 0; settings && settings[k] && !f->text[0]; k++) ic_set(&m, settings[k], f);
  if (!f->text[0]) ic_check(&m, f);
  return comm_agree(c, f) ? -1 : ic_make(c, &m, p, NULL, f);
}

/* The model file that the settings name. */
static const char *model_file(const char *const *settings, struct fault *f)
{
  const char *file = NULL;
  for (int k = 0; settings && settings[k]; k++) {
    if (strncmp(settings[k], "file=", 5) == 0) file = settings[k] + 5;
    else fault_set(f, "unknown option '%.60s' of the model galaxy: expected file=MODEL.ini", settings[k]);
  }
  if (!file) fault_set(f, "the model galaxy needs a model file: file=MODEL.ini");
  return file;
}

static int make_galaxy(const struct comm *c, int64_t count, uint64_t seed, const char *const *settings, struct particles *p,
                       struct params *units, struct fault *f)
{
  struct galaxy_model *m = memory_alloc("ic tables", sizeof *m);
  struct galaxy_tables t[GALAXIES] = {{.g = NULL}};
  const char *file = model_file(settings, f);
  if (c->rank == 0 && !f->text[0]) galaxy_model_read(file, count, m, f);
  int failed = comm_agree(c, f);
  if (!failed) comm_broadcast(c, m, sizeof *m);
  for (int i = 0; !failed && i < m->count; i++)
    if (galaxy_open(&t[i], &m->galaxy[i], f)) break;
  failed = comm_agree(c, f);
  if (!failed) galaxy_make(c, m, t, seed, p);
  *units = m->units;
  for (int i = 0; i < GALAXIES; i++)
    if (t[i].g) galaxy_close(&t[i]);
  memory_free(m);
  return failed ? -1 : 0;
}

int espalier_model(struct espalier_data **data, const int *communicator, const char *model, int64_t count, uint64_t seed,
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
  if (comm_agree(&c, &f) || (is_galaxy ? make_galaxy(&c, count, seed, settings, &p, &units, &f)
                                       : make_model(&c, model, count, seed, settings, &p, &f)))
    code = api_fail(ESPALIER_BAD_ARGUMENT, &f);
  else {
    *data = data_of(&p, 0);
    struct units u = is_galaxy ? units_of(&units) : (struct units){.dimensionless = 1};
    note_units(*data, &u, is_galaxy ? units_gravity(&units) : 1);
  }
  comm_close(&c);
  return code;
}
