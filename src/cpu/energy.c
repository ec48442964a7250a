/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verbs for energies: what a WALK_POTENTIAL gave beside the potentials of forces, and heavy particles. */
#include <config.h>
#include <string.h>

#include "backend/energy_verbs.h"
#include "base/fault.h"
#include "base/memory.h"
#include "cpu/device.h"

void cpu_energy_drop(struct device *d)
{
  memory_free(d->potentials.fine);
  memory_free(d->potentials.kept);
  d->potentials = (struct potentials){0};
}

void cpu_energy_keep(struct device *d)
{
  struct potentials *p = &d->potentials;
  memory_free(p->kept);
  p->kept = memory_alloc("potentials", sizeof *p->kept * (size_t)(d->p.n + 1));
  if (d->p.n > 0) memcpy(p->kept, d->p.pot, sizeof *p->kept * (size_t)d->p.n);
}

void cpu_energy_sums(struct device *d, double limit, struct potential_sums *sums)
{
  const struct potentials *p = &d->potentials;
  memset(sums, 0, sizeof *sums);
  for (int32_t g = 0, batch = 0; p->stride > 0 && g < d->targets.massive_groups;
       g += p->stride, batch = (batch + 1) % ENERGY_BATCHES)
    for (int32_t i = d->targets.group[g].begin; i < d->targets.group[g].end; i++) {
      double m = d->p.mass[i], fine = p->fine[i];
      if (m > limit) continue;
      if (p->soft && p->kept) fine += p->kept[i];
      sums->difference[batch][d->p.type[i]] += m * (fine - d->p.pot[i]);
      sums->mass[batch][d->p.type[i]] += m;
    }
  cpu_energy_drop(d);
}

int cpu_energy_heavy(struct device *d, double limit, struct heavy_particle *heavy)
{
  const struct particles *p = &d->p;
  int count = 0;
  for (int64_t i = 0; i < p->n; i++) {
    if (!(p->mass[i] > limit)) continue;
    if (count == HEAVY_MAX) fatal("more than %d particles are heavier than %g", HEAVY_MAX, limit);
    heavy[count] = (struct heavy_particle){.id = p->id[i], .at = i, .mass = p->mass[i], .type = p->type[i]};
    memcpy(heavy[count++].pos, &p->pos[3 * i], sizeof heavy->pos);
  }
  return count;
}

void cpu_energy_set(struct device *d, int n, const struct heavy_particle *heavy, const double *pot)
{
  for (int k = 0; k < n; k++) d->p.pot[heavy[k].at] = (float)pot[k];
}
