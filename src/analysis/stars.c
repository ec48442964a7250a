/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "analysis/stars.h"

#include "base/debug.h"
#include "base/memory.h"

static double most(void) { return debug_value("binaries_most", 1e6); }

int stars_few(double particles) { return particles <= most(); }

void stars_warn(const struct params *params, double particles, FILE *out, const char *before)
{
  if (stars_few(particles)) return;
  if (params->Interval > 0)
    fprintf(out,
            "%s[Binaries] Interval = %g: binaries.csv and events.csv are not written, for %.0f particles; at most %.0f "
            "are looked at within a run\n",
            before, params->Interval, particles, most());
  if (params->Cluster)
    fprintf(out,
            "%s[Output] Cluster = on: cluster.csv is not written, for %.0f particles; at most %.0f are looked at "
            "within a run\n",
            before, particles, most());
}

struct star *stars_gather(const struct comm *comm, const struct particles *particles, double length, double speed,
                          double flow, int32_t *stars)
{
  size_t bytes;
  struct star *star = memory_alloc("systems", sizeof *star * (size_t)(particles->n + 1));
#pragma omp parallel for
  for (int64_t i = 0; i < particles->n; i++) {
    for (int k = 0; k < 3; k++) {
      star[i].pos[k] = length * particles->pos[3 * i + k];
      star[i].vel[k] = speed * particles->vel[3 * i + k] + flow * star[i].pos[k];
    }
    star[i].mass = particles->mass[i];
    star[i].id = (int64_t)particles->id[i];
  }
  struct star *all = comm_gather_root(comm, star, sizeof *star * (size_t)particles->n, &bytes);
  memory_free(star);
  *stars = (int32_t)(bytes / sizeof *all);
  return all;
}
