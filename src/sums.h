/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a particle adds to the sums of diagnostics. */
#ifndef SUMS_H
#define SUMS_H
#include <math.h>

#include "backend.h"
#include "hd.h"

HD void sums_add(struct sums *s, const struct particles *p, int64_t i)
{
  const double *x = &p->pos[3 * i], *v = &p->vel[3 * i];
  const float *a = &p->acc[3 * i];
  double m = p->mass[i], v2 = 0, a2 = 0, pot = p->pot[i];
  int type = p->type[i];
  for (int c = 0; c < 3; c++) {
    v2 += v[c] * v[c];
    a2 += (double)a[c] * a[c];
    s->momentum[c] += m * v[c];
    s->vel_count[c] += v[c];
    s->com[c] += m * x[c];
    s->angular[c] += m * (x[(c + 1) % 3] * v[(c + 2) % 3] - x[(c + 2) % 3] * v[(c + 1) % 3]);
  }
  s->mass += m;
  s->count += 1;
  for (int t = 0; t < PARTICLE_TYPES; t++) {   /* an index known at run time would put a device's sums into memory */
    s->kinetic[t] += t == type ? 0.5 * m * v2 : 0;
    s->potential[t] += t == type ? 0.5 * m * pot : 0;
  }
  s->acc2 += m * a2;
  s->acc2_count += a2;
  s->vel2_count += v2;
  s->bad += !(isfinite(v2) && isfinite(a2) && isfinite(pot) && isfinite(x[0] + x[1] + x[2]));
}
#endif
