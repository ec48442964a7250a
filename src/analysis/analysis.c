/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "analysis/analysis.h"

#include <math.h>
#include <string.h>

#include "analysis/exact.h"

const double analysis_fractions[ANALYSIS_RADII] = {0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9};

/* Some sixty passes over the particles take up to a microsecond of a core for each particle, as long as so many
 * interactions on the host; beside a device also the copy of the particles. */
#define COST_HOST 600
#define COST_DEVICE 2e4

/* What the sums of a row need. */
struct task {
  const struct subset *s;
  const struct analysis_row *row;
  double half2; /* square of the half-mass radius, rounded up: the particles within it have r2 <= half2 */
  double plane[3][3];
};

/* --- sums over all particles of a type --------------------------------------------------------------------------- */

/* m v and m within half the mass; m x cross v, m v, m x, m of all */
enum { V_IN, M_IN = 3, L, P = 7, X = 10, M = 13, SUMS };

static void moments(const void *of, int64_t i, double *sum)
{
  const struct task *t = of;
  const int64_t at = 3 * (int64_t)t->s->index[i];
  const double *pos = &t->s->p->pos[at], *v = &t->s->p->vel[at], m = subset_weight(t->s, i),
               in = subset_r2(t->s, t->row->centre, i) <= t->half2 ? m : 0;
  double x[3];
  for (int k = 0; k < 3; k++) x[k] = pos[k] - t->row->centre[k];
  sum[M] = m;
  sum[M_IN] = in;
  for (int k = 0; k < 3; k++) {
    sum[V_IN + k] = in * v[k];
    sum[P + k] = m * v[k];
    sum[X + k] = m * x[k];
    sum[L + k] = m * (x[(k + 1) % 3] * v[(k + 2) % 3] - x[(k + 2) % 3] * v[(k + 1) % 3]);
  }
}

/* Mean velocity, and the angular momentum about the centre of mass: that about the centre of density less that of the
 * mean motion. */
static void use_moments(const struct subset *subset, struct analysis_row *row, const double *sum)
{
  for (int k = 0; k < 3; k++) {
    int a = (k + 1) % 3, b = (k + 2) % 3;
    row->velocity[k] = sum[M_IN] > 0 ? sum[V_IN + k] / sum[M_IN] : 0;
    row->angular[k] = sum[L + k] - (sum[X + a] * sum[P + b] - sum[X + b] * sum[P + a]) / sum[M];
    if (subset->by_number) row->angular[k] = 0;
  }
}

void analysis_plane(const double normal[3], double x[3], double y[3], double z[3])
{
  double length = sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]);
  for (int k = 0; k < 3; k++) z[k] = length > 0 ? normal[k] / length : k == 2;
  int from = z[0] * z[0] > 0.5; /* the y axis */
  double size = sqrt(1 - z[from] * z[from]);
  for (int k = 0; k < 3; k++) x[k] = ((k == from) - z[from] * z[k]) / size;
  for (int k = 0; k < 3; k++) y[k] = z[(k + 1) % 3] * x[(k + 2) % 3] - z[(k + 2) % 3] * x[(k + 1) % 3];
}

/* --- sums within the half-mass radius ---------------------------------------------------------------------------- */

enum { SQUARE, OUTWARDS, OUTWARDS_SQUARE, WITHIN, COS, SIN, DISC, INNER_SUMS };

static double along(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void inner(const void *of, int64_t i, double *sum)
{
  const struct task *t = of;
  const int64_t at = 3 * (int64_t)t->s->index[i];
  const double *pos = &t->s->p->pos[at], *vel = &t->s->p->vel[at], m = subset_weight(t->s, i);
  double x[3], v[3], r2 = subset_r2(t->s, t->row->centre, i), r = sqrt(r2);
  memset(sum, 0, INNER_SUMS * sizeof *sum);
  for (int k = 0; k < 3; k++) {
    x[k] = pos[k] - t->row->centre[k];
    v[k] = vel[k] - t->row->velocity[k];
  }
  if (r2 <= t->half2) {
    double u = r > 0 ? along(x, v) / r : 0;
    sum[SQUARE] = m * along(v, v);
    sum[OUTWARDS] = m * u;
    sum[OUTWARDS_SQUARE] = m * u * u;
    sum[WITHIN] = m;
  }
  double a = along(x, t->plane[0]), b = along(x, t->plane[1]), R2 = a * a + b * b;
  if (R2 > t->half2) return;
  sum[DISC] = m;
  sum[COS] = R2 > 0 ? m * (a * a - b * b) / R2 : 0;
  sum[SIN] = R2 > 0 ? m * 2 * a * b / R2 : 0;
}

static void use_inner(struct analysis_row *row, const double *sum)
{
  double mean = sum[WITHIN] > 0 ? sum[OUTWARDS] / sum[WITHIN] : 0;
  row->dispersion = sum[WITHIN] > 0 ? sqrt(sum[SQUARE] / sum[WITHIN]) : 0;
  row->radial = sum[WITHIN] > 0 ? sqrt(fmax(sum[OUTWARDS_SQUARE] / sum[WITHIN] - mean * mean, 0)) : 0;
  row->bar = sum[DISC] > 0 ? hypot(sum[COS], sum[SIN]) / sum[DISC] : 0;
  row->phase = 0.5 * atan2(sum[SIN], sum[COS]);
}

/* --- rows -------------------------------------------------------------------------------------------------------- */

static void measure_row(struct analysis_row *row, const struct comm *comm, const struct particles *particles, int type)
{
  struct subset s;
  double square[ANALYSIS_RADII], sum[EXACT_MAX];
  *row = (struct analysis_row){.type = type};
  subset_open(&s, comm, particles, type);
  subset_centre(comm, &s, row->centre);
  subset_quantiles(comm, &s, row->centre, 0, ANALYSIS_RADII, analysis_fractions, square);
  for (int k = 0; k < ANALYSIS_RADII; k++) row->radius[k] = sqrt(square[k]);
  struct task t = {.s = &s, .row = row, .half2 = square[ANALYSIS_HALF]};
  exact_sums(comm, s.n, s.total, SUMS, moments, &t, sum);
  use_moments(&s, row, sum);
  analysis_plane(row->angular, t.plane[0], t.plane[1], t.plane[2]);
  exact_sums(comm, s.n, s.total, INNER_SUMS, inner, &t, sum);
  use_inner(row, sum);
  row->bar_radius = row->radius[ANALYSIS_HALF];
  row->count = (double)s.total;
  row->mass = s.mass;
  subset_close(&s);
}

void analysis_measure(struct analysis *analysis, const struct comm *comm, const struct particles *particles)
{
  int64_t count[PARTICLE_TYPES];
  analysis->rows = 0;
  subset_counts(comm, particles, count);
  for (int t = 0; t < PARTICLE_TYPES; t++)
    if (count[t]) measure_row(&analysis->row[analysis->rows++], comm, particles, t);
  if (analysis->rows == 1) analysis->row[1] = analysis->row[0]; /* of one type: that of all is the same */
  else measure_row(&analysis->row[analysis->rows], comm, particles, TYPE_ALL);
  analysis->row[analysis->rows++].type = TYPE_ALL;
}

double analysis_cost(double count, int on_device) { return count * (on_device ? COST_DEVICE : COST_HOST); }

/* --- the table --------------------------------------------------------------------------------------------------- */

void analysis_header(FILE *out)
{
  fprintf(out, "time,type,count,mass,centre_x,centre_y,centre_z,velocity_x,velocity_y,velocity_z");
  for (int k = 0; k < ANALYSIS_RADII; k++) fprintf(out, ",r_%02.0f", 100 * analysis_fractions[k]);
  fprintf(
      out,
      ",dispersion,dispersion_radial,virial_ratio,angular_x,angular_y,angular_z,bar_strength,bar_phase,bar_radius\n");
}

static void three(FILE *out, const double x[3], const double shift[3])
{
  for (int k = 0; k < 3; k++) fprintf(out, ",%.12g", x[k] + (shift ? shift[k] : 0));
}

void analysis_write(FILE *out, double time, const struct analysis *analysis, double virial, const double place[3],
                    const double motion[3])
{
  for (int k = 0; k < analysis->rows; k++) {
    const struct analysis_row *r = &analysis->row[k];
    fprintf(out, "%.15g,%d,%.0f,%.9g", time, r->type, r->count, r->mass);
    three(out, r->centre, place);
    three(out, r->velocity, motion);
    for (int i = 0; i < ANALYSIS_RADII; i++) fprintf(out, ",%.8g", r->radius[i]);
    fprintf(out, ",%.9g,%.9g,", r->dispersion, r->radial);
    if (r->type == TYPE_ALL && isfinite(virial)) fprintf(out, "%.9g", virial);
    three(out, r->angular, NULL);
    fprintf(out, ",%.9g,%.9g,%.8g\n", r->bar, r->phase, r->bar_radius);
  }
}
