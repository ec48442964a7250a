/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "system/diagnostics.h"

#include <math.h>
#include <string.h>

void diagnostics_measure(struct diagnostics *diagnostics, const struct comm *comm, const struct backend *be,
                         struct device *device, const struct field *field)
{
  struct sums s;
  be->sets.reduce(device, field, &s);
  comm_sum_double(comm, (double *)&s, sizeof s / sizeof(double));
  memset(diagnostics, 0, sizeof *diagnostics);
  diagnostics->mass = s.mass;
  diagnostics->count = s.count;
  diagnostics->bad = s.bad;
  for (int t = 0; t < PARTICLE_TYPES; t++) {
    diagnostics->kinetic += diagnostics->kinetic_type[t] = s.kinetic[t];
    diagnostics->potential += diagnostics->potential_type[t] = s.potential[t];
  }
  diagnostics->total = diagnostics->kinetic + diagnostics->potential;
  double mass = s.mass > 0 ? s.mass : 1; /* without mass all sums by mass are 0 */
  double v2 = 2 * diagnostics->kinetic / mass, plain = s.vel2_count / s.count;
  for (int k = 0; k < 3; k++) {
    diagnostics->momentum[k] = s.momentum[k];
    diagnostics->angular[k] = s.angular[k];
    diagnostics->com[k] = s.com[k] / mass;
    diagnostics->v_com[k] = s.momentum[k] / mass;
    v2 -= diagnostics->v_com[k] * diagnostics->v_com[k];
    plain += diagnostics->v_com[k] * (diagnostics->v_com[k] - 2 * s.vel_count[k] / s.count);
  }
  diagnostics->virial = s.virial;
  diagnostics->virial_field = s.virial_field;
  diagnostics->rate_field = diagnostics->kinetic > 0 ? sqrt(s.rate_field / (2 * diagnostics->kinetic)) : 0;
  for (int k = 0; k < 3; k++) {
    diagnostics->virial -= diagnostics->com[k] * s.force[k];
    diagnostics->virial_field -= diagnostics->com[k] * s.force_field[k];
    diagnostics->force_field[k] = s.force_field[k];
  }
  diagnostics->speed = s.speed_count / s.count;
  diagnostics->v_rms = sqrt(fmax(v2, 0));
  diagnostics->v_rms_plain = sqrt(fmax(plain, 0));
  diagnostics->a_rms = sqrt(s.acc2 / mass);
  diagnostics->a_rms_plain = sqrt(s.acc2_count / s.count);
}

void diagnostics_scales(struct diagnostics *diagnostics, const struct comm *comm, const struct particles *particles)
{
  double sum[2] = {0, 0};
  for (int64_t i = 0; i < particles->n; i++) {
    double x[3], v[3], l2 = 0, v2 = 0;
    for (int k = 0; k < 3; k++) {
      x[k] = particles->pos[3 * i + k] - diagnostics->com[k];
      v[k] = particles->vel[3 * i + k] - diagnostics->v_com[k];
      v2 += v[k] * v[k];
    }
    for (int k = 0; k < 3; k++) {
      int a = (k + 1) % 3, b = (k + 2) % 3;
      double l = x[a] * v[b] - x[b] * v[a];
      l2 += l * l;
    }
    sum[0] += (double)particles->mass[i] * sqrt(v2);
    sum[1] += (double)particles->mass[i] * sqrt(l2);
  }
  comm_sum_double(comm, sum, 2);
  diagnostics->momentum_scale = sum[0];
  diagnostics->angular_scale = sum[1];
}

/* Columns of energy.csv after `time`, before and after those of the particle types: name, digits, value. */
#define ENERGY_SUMS(X)                      \
  X(kinetic, 15, diagnostics->kinetic)      \
  X(potential, 15, diagnostics->potential)  \
  X(total, 15, diagnostics->total)          \
  X(momentum_x, 15, momentum[0])            \
  X(momentum_y, 15, momentum[1])            \
  X(momentum_z, 15, momentum[2])            \
  X(angular_x, 12, diagnostics->angular[0]) \
  X(angular_y, 12, diagnostics->angular[1]) \
  X(angular_z, 12, diagnostics->angular[2]) \
  X(com_x, 15, com[0])                      \
  X(com_y, 15, com[1])                      \
  X(com_z, 15, com[2])
#define ENERGY_ERRORS(X)                            \
  X(momentum_removed, 6, removed)                   \
  X(potential_correction, 6, known[0])              \
  X(energy_noise, 3, known[1])                      \
  X(momentum_scale, 6, diagnostics->momentum_scale) \
  X(angular_scale, 6, diagnostics->angular_scale)   \
  X(energy_lost, 15, known[2])                      \
  X(energy_changes, 15, known[3])

void diagnostics_header(FILE *out)
{
#define X(name, digits, value) fprintf(out, "," #name);
  fprintf(out, "time");
  ENERGY_SUMS(X)
  for (int t = 0; t < PARTICLE_TYPES; t++) fprintf(out, ",kinetic_%d,potential_%d", t, t);
  ENERGY_ERRORS(X)
#undef X
  fputc('\n', out);
}

void diagnostics_row(FILE *out, double time, const struct diagnostics *diagnostics, const double place[3],
                     const double motion[3], const double gained[3], const double known[4])
{
  double com[3], momentum[3]; /* with 15 digits: small changes beside those of a bulk motion */
  double removed = diagnostics->mass * sqrt(gained[0] * gained[0] + gained[1] * gained[1] + gained[2] * gained[2]);
  for (int k = 0; k < 3; k++) {
    com[k] = diagnostics->com[k] + place[k];
    momentum[k] = diagnostics->momentum[k] + diagnostics->mass * motion[k];
  }
#define X(name, digits, value) fprintf(out, ",%.*g", digits, value);
  fprintf(out, "%.15g", time);
  ENERGY_SUMS(X)
  for (int t = 0; t < PARTICLE_TYPES; t++)
    fprintf(out, ",%.12g,%.12g", diagnostics->kinetic_type[t], diagnostics->potential_type[t]);
  ENERGY_ERRORS(X)
#undef X
  fputc('\n', out);
}
