/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Particles: copies in the order of ids, views, and changes. */
#include <config.h>
#include "api/api.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "step/changes.h"
#include "step/effects.h"
#include "step/scheme.h"

int64_t api_count(const espalier *e) { return e->sim->be->count(e->sim->dev); }
int64_t api_total(const espalier *e) { return (int64_t)e->sim->now.count; }

/* --- order -------------------------------------------------------------------------------------------------------- */

struct numbered {
  uint64_t id;
  int64_t at;
};

static int by_id(const void *a, const void *b)
{
  const struct numbered *x = a, *y = b;
  return (x->id > y->id) - (x->id < y->id);
}

/* Sort by id where the ids do not follow one another. */
static void sort_ids(const struct particles *particles, int64_t *order)
{
  struct numbered *all = memory_alloc("simulations", sizeof *all * (size_t)(particles->n + 1));
  for (int64_t i = 0; i < particles->n; i++) all[i] = (struct numbered){particles->id[i], i};
  qsort(all, (size_t)particles->n, sizeof *all, by_id);
  for (int64_t i = 0; i < particles->n; i++) order[i] = all[i].at;
  memory_free(all);
}

/* e->order: the index in *particles of the particle with the k-th smallest id. Local. */
static const int64_t *order_of(espalier *e, const struct particles *particles)
{
  if (e->ordered) return e->order;
  memory_free(e->order);
  e->order = memory_alloc("simulations", sizeof *e->order * (size_t)(particles->n + 1));
  uint64_t first = UINT64_MAX, last = 0;
  for (int64_t i = 0; i < particles->n; i++) {
    if (particles->id[i] < first) first = particles->id[i];
    if (particles->id[i] > last) last = particles->id[i];
  }
  if (particles->n > 0 && last - first == (uint64_t)particles->n - 1)
    for (int64_t i = 0; i < particles->n; i++) e->order[particles->id[i] - first] = i;
  else sort_ids(particles, e->order);
  e->ordered = 1;
  return e->order;
}

/* --- copies ------------------------------------------------------------------------------------------------------- */

static void get_vector(const struct particles *particles, const int64_t *order, const double *from,
                       const double shift[3], double *out)
{
  for (int64_t k = 0; k < particles->n; k++)
    for (int c = 0; c < 3; c++) out[3 * k + c] = from[3 * order[k] + c] + shift[c];
}

static void get_acceleration(const espalier *e, const struct particles *particles, const int64_t *order, double *out)
{
  for (int64_t k = 0; k < particles->n; k++) e->sim->scheme->acceleration(particles, order[k], out + 3 * k);
}

static void get_real(const struct particles *particles, const int64_t *order, const float *from, double *out)
{
  for (int64_t k = 0; k < particles->n; k++) out[k] = from[order[k]];
}

/* Check the arguments of get and set. Collective. 0 or a code. */
static int check_field(const espalier *e, int field, int last, const void *array)
{
  struct fault f = {""};
  if (field < 0 || field > last)
    fault_set(&f, "field: expected a field from 0 to %d that can be asked for here, found %d", last, field);
  else if (!array && api_count(e) > 0)
    fault_set(&f, "array: expected room for %lld particles, found NULL", (long long)api_count(e));
  return api_agree(&e->comm, ESPALIER_BAD_ARGUMENT, &f);
}

int api_get(espalier *e, enum espalier_field field, void *out)
{
  struct sim *sim = e->sim;
  int code = check_field(e, (int)field, ESPALIER_POTENTIAL, out);
  if (code) return code;
  if (field == ESPALIER_POTENTIAL || (field == ESPALIER_ACCELERATION && e->sim->energy.changes.old_sources))
    api_potentials(e);
  double place[3], motion[3];
  const struct particles *p = sim->be->view(sim->dev);
  const int64_t *order = order_of(e, p);
  sim_shift(sim, place, motion);
  switch (field) {
  case ESPALIER_POSITION: get_vector(p, order, p->pos, place, out); break;
  case ESPALIER_VELOCITY: get_vector(p, order, p->vel, motion, out); break;
  case ESPALIER_MASS: get_real(p, order, p->mass, out); break;
  case ESPALIER_ACCELERATION: get_acceleration(e, p, order, out); break;
  case ESPALIER_POTENTIAL: get_real(p, order, p->pot, out); break;
  case ESPALIER_ID:
    for (int64_t k = 0; k < p->n; k++) ((uint64_t *)out)[k] = p->id[order[k]];
    break;
  case ESPALIER_TYPE:
    for (int64_t k = 0; k < p->n; k++) ((uint8_t *)out)[k] = p->type[order[k]];
    break;
  }
  return ESPALIER_OK;
}

int api_look(espalier *e, struct espalier_view *view)
{
  struct sim *sim = e->sim;
  if (!view)
    return api_fail(ESPALIER_BAD_ARGUMENT, &(struct fault){"view: expected a struct espalier_view, found NULL"});
  const struct particles *p = sim->be->view(sim->dev);
  *view = (struct espalier_view){.count = p->n,
                                 .position = p->pos,
                                 .velocity = p->vel,
                                 .mass = p->mass,
                                 .id = p->id,
                                 .type = p->type,
                                 .acceleration = p->acc,
                                 .potential = p->pot};
  sim_shift(sim, view->place, view->motion);
  return ESPALIER_OK;
}

/* --- changes ------------------------------------------------------------------------------------------------------ */

int api_put(espalier *e, const struct espalier_particles *particles)
{
  struct fault f = {""};
  struct particles p;
  const struct espalier_particles none = {.count = -1};
  int code = api_take(&e->comm, particles ? particles : &none, &p);
  if (code) return code;
  struct sim *sim = memory_alloc("simulations", sizeof *sim);
  if (sim_start_given(sim, &e->comm, &e->par, &p, particles->time, NULL, &f)) {
    memory_free(sim);
    return api_fail(ESPALIER_BAD_PARTICLES, &f);
  }
  return api_adopt(e, sim);
}

/* New velocities where they are in host memory: forces stay valid, and sums change. Collective. 0 or a code. */
static int set_velocities(espalier *e, const double *in)
{
  struct sim *sim = e->sim;
  struct fault f = {""};
  const struct particles *p = sim->be->view(sim->dev);
  const int64_t *order = order_of(e, p);
  double place[3], motion[3];
  for (int64_t k = 0; k < 3 * p->n && !f.text[0]; k++)
    if (!(in[k] > -1e36 && in[k] < 1e36))
      fault_set(&f, "velocities: particle with id %llu: expected a number within 1e36, found %g",
                (unsigned long long)p->id[order[k / 3]], in[k]);
  int code = api_agree(&e->comm, ESPALIER_BAD_PARTICLES, &f);
  if (code) return code;
  effects_shift(sim, place, motion);
  for (int64_t k = 0; k < p->n; k++)
    for (int c = 0; c < 3; c++) p->vel[3 * order[k] + c] = in[3 * k + c] - motion[c];
  changes_measure(sim);
  memcpy(sim->effects.v_com, sim->now.v_com, sizeof sim->effects.v_com);
  sim_note_energy(sim);
  sim->system.first_profile = sim->system.change = 0;
  plan_note_profile(sim->par, &sim->now, &sim->system);
  guard_remember(&e->guard, &sim->now, 0);
  return ESPALIER_OK;
}

/* Replace one field, and keep the others. Collective. 0 or a code. */
static int set_field(espalier *e, enum espalier_field field, const void *in)
{
  int64_t n = api_count(e);
  double *x = memory_alloc("simulations", 7 * sizeof *x * (size_t)(n + 1)), *v = x + 3 * n, *m = v + 3 * n;
  uint64_t *id = memory_alloc("simulations", sizeof *id * (size_t)(n + 1));
  uint8_t *type = memory_alloc("simulations", (size_t)(n + 1));
  api_get(e, ESPALIER_POSITION, x);
  api_get(e, ESPALIER_VELOCITY, v);
  api_get(e, ESPALIER_MASS, m);
  api_get(e, ESPALIER_ID, id);
  api_get(e, ESPALIER_TYPE, type);
  struct espalier_particles all = {
      .count = n, .position = x, .velocity = v, .mass = m, .id = id, .type = type, .time = e->sim->time};
  if (field == ESPALIER_POSITION) all.position = in;
  if (field == ESPALIER_VELOCITY) all.velocity = in;
  if (field == ESPALIER_MASS) all.mass = in;
  if (field == ESPALIER_TYPE) all.type = in;
  if (n == 0) {
    all.position = x;
    all.velocity = v;
    all.mass = m;
    all.type = type;
  }
  int code = api_put(e, &all);
  memory_free(type);
  memory_free(id);
  memory_free(x);
  return code;
}

int api_set(espalier *e, enum espalier_field field, const void *in)
{
  int code = check_field(e, (int)field, ESPALIER_TYPE, in);
  struct fault f = {""};
  if (code) return code;
  if (field == ESPALIER_ID) fault_set(&f, "field: ids cannot be replaced alone: espalier_put replaces all particles");
  if ((code = api_agree(&e->comm, ESPALIER_BAD_ARGUMENT, &f))) return code;
  if (field == ESPALIER_VELOCITY && e->sim->be->particle_bytes == 0) return set_velocities(e, in);
  return set_field(e, field, in);
}
