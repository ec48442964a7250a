/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Accelerations and potentials at points. */
#include <config.h>
#include "api/api.h"

#include <math.h>
#include <string.h>

#include "backend/probe.h"
#include "base/memory.h"
#include "settings/settings.h"
#include "step/scheme.h"
#include "system/same_place.h"

enum { PART = 1024 }; /* points of one direct sum */

/* The force on a point, on its way to the rank that asked. */
struct result {
  uint64_t id;
  double acc[3], pot;
};

struct answer {
  int64_t n;
  double (*acc)[3], *pot; /* [n] */
};

/* This rank's points, with a result each. */
static void give(const struct answer *answer, double *acceleration, double *potential)
{
  if (acceleration && answer->n) memcpy(acceleration, answer->acc, sizeof *answer->acc * (size_t)answer->n);
  if (potential && answer->n) memcpy(potential, answer->pot, sizeof *answer->pot * (size_t)answer->n);
}

/* Direct sums: every rank adds its particles for all points. Collective. */
static void sum_directly(const struct sim *sim, const double *points, const struct answer *answer)
{
  size_t bytes;
  int64_t first = comm_exscan_int64(sim->comm, answer->n);
  double place[3], motion[3], (*all)[3] = comm_gather(sim->comm, points, sizeof *all * (size_t)answer->n, &bytes);
  int64_t total = (int64_t)(bytes / sizeof *all);
  uint64_t skip[PART];
  /* no particle has this id: ids are followed by those of points */
  for (int i = 0; i < PART; i++) skip[i] = UINT64_MAX;
  sim_shift(sim, place, motion);
  for (int64_t k = 0; k < total; k += PART) {
    double at[PART][3], acc[PART][3] = {{0}}, pot[PART] = {0};
    int n = total - k < PART ? (int)(total - k) : PART;
    for (int i = 0; i < n; i++)
      for (int c = 0; c < 3; c++) at[i][c] = all[k + i][c] - place[c];
    sim->be->probe->direct(sim->dev, n, (const double(*)[3])at, skip, NULL, NULL, acc, NULL, pot);
    comm_sum_double(sim->comm, acc[0], 3 * n);
    comm_sum_double(sim->comm, pot, n);
    for (int i = 0; i < n; i++) {
      int64_t mine = k + i - first;
      if (mine < 0 || mine >= answer->n) continue;
      memcpy(answer->acc[mine], acc[i], sizeof acc[i]);
      answer->pot[mine] = pot[i];
    }
  }
  memory_free(all);
}

/* The present particles, in the caller's frame. */
static void copy_particles(struct sim *sim, struct particles *particles)
{
  const struct particles *from = sim->be->view(sim->dev);
  double place[3], motion[3];
  sim_shift(sim, place, motion);
  particles_init(particles);
  particles_reserve(particles, from->n);
  particles->n = from->n;
  for (int64_t i = 0; i < from->n; i++) {
    for (int c = 0; c < 3; c++) particles->pos[3 * i + c] = from->pos[3 * i + c] + place[c];
    for (int c = 0; c < 3; c++) particles->vel[3 * i + c] = from->vel[3 * i + c] + motion[c];
    particles->mass[i] = from->mass[i];
    particles->id[i] = from->id[i];
    particles->type[i] = from->type[i];
  }
}

/* Take the forces on the points back to their ranks. `first_id`: of the points of all ranks. Collective. */
static void take(struct sim *sim, uint64_t first_id, const struct answer *answer)
{
  const struct particles *p = sim->be->view(sim->dev);
  size_t n = 0, bytes;
  int64_t first = comm_exscan_int64(sim->comm, answer->n);
  struct result *mine = memory_alloc("points", sizeof *mine * (size_t)(p->n + 1));
  for (int64_t i = 0; i < p->n; i++) {
    if (p->id[i] < first_id) continue;
    mine[n] = (struct result){.id = p->id[i], .pot = p->pot[i]};
    sim->scheme->acceleration(p, i, mine[n].acc);
    n++;
  }
  struct result *all = comm_gather(sim->comm, mine, sizeof *mine * n, &bytes);
  for (size_t k = 0; k < bytes / sizeof *all; k++) {
    int64_t at = (int64_t)(all[k].id - first_id) - first;
    if (at < 0 || at >= answer->n) continue;
    memcpy(answer->acc[at], all[k].acc, sizeof all[k].acc);
    answer->pot[at] = all[k].pot;
  }
  memory_free(all);
  memory_free(mine);
}

/* By the tree of a second system, in which the points are particles without mass. Collective. 0 or a code. */
static int walk(espalier *e, const double *points, const struct answer *answer)
{
  struct fault f = {""};
  struct particles p;
  uint64_t first_id;
  struct start_points more = {answer->n, (const double(*)[3])points, &first_id};
  struct params par = *e->sim->par;
  struct sim *sim = memory_alloc("simulations", sizeof *sim);
  copy_particles(e->sim, &p);
  int code = ESPALIER_OK;
  if (sim_start_given(sim, &e->comm, &par, &p, e->sim->time, &more, &f)) {
    code = api_fail(ESPALIER_BAD_ARGUMENT, &f);
  } else {
    double origin[3], motion[3];
    sim_arrange(sim, 1);
    effects_shift(sim, origin, motion);
    if (params_softening(sim->par, NULL) == 0 && same_place_check(sim->comm, sim->be->view(sim->dev), origin, &f)) {
      code = api_fail(ESPALIER_BAD_ARGUMENT, &f);
    } else {
      settings_first_force(sim);
      take(sim, first_id, answer);
    }
    sim_close(sim);
  }
  memory_free(sim);
  return code;
}

static int check_points(const espalier *e, int64_t count, const double *points, int64_t *total)
{
  struct fault f = {""};
  if (count < 0) fault_set(&f, "points: expected a count of 0 or more, found %lld", (long long)count);
  else if (count > 0 && !points) fault_set(&f, "points: expected %lld points, found NULL", (long long)count);
  for (int64_t k = 0; k < 3 * count && !f.text[0]; k++)
    if (!isfinite(points[k]))
      fault_set(&f, "points: point %lld: expected finite coordinates, found %g", (long long)(k / 3), points[k]);
  int code = api_agree(&e->comm, ESPALIER_BAD_ARGUMENT, &f);
  *total = count;
  if (!code) comm_sum_int64(&e->comm, total, 1);
  return code;
}

int api_field_at(espalier *e, int64_t count, const double *points, int exact, double *acceleration, double *potential)
{
  int64_t total;
  int code = check_points(e, count, points, &total);
  if (code || total == 0) return code;
  if (e->unsound.text[0]) return api_fail(ESPALIER_UNSOUND, &e->unsound);
  struct answer a = {.n = count};
  a.acc = memory_alloc("points", sizeof *a.acc * (size_t)(count + 1));
  a.pot = memory_alloc("points", sizeof *a.pot * (size_t)(count + 1));
  if (exact) sum_directly(e->sim, points, &a);
  else code = walk(e, points, &a);
  if (!code) give(&a, acceleration, potential);
  memory_free(a.pot);
  memory_free(a.acc);
  return code;
}
