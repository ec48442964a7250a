/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "analysis/inner_energy.h"

#include <math.h>

#include "analysis/stars.h"
#include "base/memory.h"

/* Add the energies of a star about the centre of mass of its system, and with the stars before it of the same one. */
static void add_star(const struct star *star, int32_t i, const int32_t *before, const struct multiple *system,
                     double gravity, struct inner_energy *inner)
{
  for (int c = 0; c < 3; c++) {
    double v = star[i].vel[c] - system->vel[c];
    inner->kinetic += 0.5 * star[i].mass * v * v;
  }
  for (int32_t k = before[i]; k >= 0; k = before[k]) {
    double x = star[i].pos[0] - star[k].pos[0], y = star[i].pos[1] - star[k].pos[1],
           z = star[i].pos[2] - star[k].pos[2], r = sqrt(x * x + y * y + z * z);
    if (r > 0) inner->potential -= gravity * star[i].mass * star[k].mass / r;
  }
}

void inner_energy_of(const struct star *star, int32_t stars, double gravity, double limit, struct inner_energy *inner)
{
  struct multiples found;
  *inner = (struct inner_energy){0, 0, 0};
  multiples_find(&found, star, stars, gravity, limit);
  int32_t *owner = multiples_owners(&found, star, stars),
          *last = memory_alloc("systems", sizeof *last * (size_t)(found.count + 1)),
          *before = memory_alloc("systems", sizeof *before * (size_t)(stars + 1));
  for (int32_t k = 0; k < found.count; k++) last[k] = -1;
  for (int32_t i = 0; i < stars; i++) {
    if (owner[i] >= found.count) continue;
    before[i] = last[owner[i]];
    inner->systems += before[i] < 0;
    last[owner[i]] = i;
    add_star(star, i, before, &found.row[owner[i]], gravity, inner);
  }
  memory_free(before);
  memory_free(last);
  memory_free(owner);
  multiples_close(&found);
}

void inner_energy_measure(const struct comm *comm, const struct params *params, const struct particles *particles,
                          double gravity, struct inner_energy *inner)
{
  int64_t count = particles->n;
  int32_t stars;
  *inner = (struct inner_energy){0, 0, 0};
  comm_sum_int64(comm, &count, 1);
  if (params->Comoving || params_softening(params, NULL) > 0 || !stars_few((double)count)) return;
  struct star *star = stars_gather(comm, particles, 1, 1, 0, &stars);
  if (comm->rank == 0) inner_energy_of(star, multiples_arrange(star, stars), gravity, params->Limit, inner);
  memory_free(star);
  comm_broadcast(comm, inner, sizeof *inner);
}
