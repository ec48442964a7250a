/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "system/diagnostics.h"

#include <math.h>
#include <string.h>

void diagnostics_measure(struct diagnostics *d, const struct comm *c, const struct backend *be, struct device *device,
                         const struct field *field)
{
  struct sums s;
  be->reduce(device, field, &s);
  comm_sum_double(c, (double *)&s, sizeof s / sizeof(double));
  memset(d, 0, sizeof *d);
  d->mass = s.mass;
  d->count = s.count;
  d->bad = s.bad;
  for (int t = 0; t < PARTICLE_TYPES; t++) {
    d->kinetic += d->kinetic_type[t] = s.kinetic[t];
    d->potential += d->potential_type[t] = s.potential[t];
  }
  d->total = d->kinetic + d->potential;
  double mass = s.mass > 0 ? s.mass : 1;   /* without mass all sums by mass are 0 */
  double v2 = 2 * d->kinetic / mass, plain = s.vel2_count / s.count;
  for (int k = 0; k < 3; k++) {
    d->momentum[k] = s.momentum[k];
    d->angular[k] = s.angular[k];
    d->com[k] = s.com[k] / mass;
    d->v_com[k] = s.momentum[k] / mass;
    v2 -= d->v_com[k] * d->v_com[k];
    plain += d->v_com[k] * (d->v_com[k] - 2 * s.vel_count[k] / s.count);
  }
  d->virial = s.virial;
  d->virial_field = s.virial_field;
  d->rate_field = d->kinetic > 0 ? sqrt(s.rate_field / (2 * d->kinetic)) : 0;
  for (int k = 0; k < 3; k++) {
    d->virial -= d->com[k] * s.force[k];
    d->virial_field -= d->com[k] * s.force_field[k];
    d->force_field[k] = s.force_field[k];
  }
  d->speed = s.speed_count / s.count;
  d->v_rms = sqrt(fmax(v2, 0));
  d->v_rms_plain = sqrt(fmax(plain, 0));
  d->a_rms = sqrt(s.acc2 / mass);
  d->a_rms_plain = sqrt(s.acc2_count / s.count);
}

void diagnostics_scales(struct diagnostics *d, const struct comm *c, const struct particles *p)
{
  double sum[2] = {0, 0};
  for (int64_t i = 0; i < p->n; i++) {
    double x[3], v[3], l2 = 0, v2 = 0;
    for (int k = 0; k < 3; k++) {
      x[k] = p->pos[3 * i + k] - d->com[k];
      v[k] = p->vel[3 * i + k] - d->v_com[k];
      v2 += v[k] * v[k];
    }
    for (int k = 0; k < 3; k++) {
      int a = (k + 1) % 3, b = (k + 2) % 3;
      double l = x[a] * v[b] - x[b] * v[a];
      l2 += l * l;
    }
    sum[0] += (double)p->mass[i] * sqrt(v2);
    sum[1] += (double)p->mass[i] * sqrt(l2);
  }
  comm_sum_double(c, sum, 2);
  d->momentum_scale = sum[0];
  d->angular_scale = sum[1];
}

void diagnostics_header(FILE *out)
{
  fprintf(out, "time,kinetic,potential,total,momentum_x,momentum_y,momentum_z,angular_x,angular_y,angular_z,com_x,com_y,com_z");
  for (int t = 0; t < PARTICLE_TYPES; t++) fprintf(out, ",kinetic_%d,potential_%d", t, t);
  fprintf(out, ",momentum_removed,potential_correction,energy_noise,momentum_scale,angular_scale\n");
}

static void row_of_three(FILE *out, const double *x, int digits)
{
  fprintf(out, ",%.*g,%.*g,%.*g", digits, x[0], digits, x[1], digits, x[2]);
}

void diagnostics_row(FILE *out, double time, const struct diagnostics *d, const double place[3], const double motion[3], const double gained[3],
                     const double known[2])
{
  double com[3], momentum[3];
  for (int k = 0; k < 3; k++) {
    com[k] = d->com[k] + place[k];
    momentum[k] = d->momentum[k] + d->mass * motion[k];
  }
  fprintf(out, "%.15g,%.15g,%.15g,%.15g", time, d->kinetic, d->potential, d->total);
  row_of_three(out, momentum, 15);   /* small changes beside those of a bulk motion */
  row_of_three(out, d->angular, 12);
  row_of_three(out, com, 15);
  for (int t = 0; t < PARTICLE_TYPES; t++) fprintf(out, ",%.12g,%.12g", d->kinetic_type[t], d->potential_type[t]);
  fprintf(out, ",%.6g", d->mass * sqrt(gained[0] * gained[0] + gained[1] * gained[1] + gained[2] * gained[2]));
  fprintf(out, ",%.6g,%.3g,%.6g,%.6g\n", known[0], known[1], d->momentum_scale, d->angular_scale);
}
