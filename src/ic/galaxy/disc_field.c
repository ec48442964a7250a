/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The field of discs by Hankel transforms (Toomre 1963; BT section 2.6.2). A layer at z' with surface density mu(R) has
 * the potential
 *   Phi = -G int_0^infinity S(k) J0(k R) exp(-k |z - z'|) dk,   S(k) = 2 pi int mu(R) J0(k R) R dR.
 * For every k the layers are summed by two recursions, upwards and downwards, that are exact for a density that is
 * linear between layers.
 *
 * R and k are uniform in their logarithms with the same step, so J0(k R) depends on the sum of the two indices alone,
 * and both integrals are sums of smooth functions by the trapezoidal rule. Both are cut smoothly about k R = 60, by
 * `window`: densities are smooth on a scale of R / 60, so what is left out cancels. Vertical structure does not need
 * larger k: where k is less than 1 / height, a layer is thin.
 *
 * Threads have whole waves or radii each, so the sums do not depend on their number. */
#include <config.h>
#include <gsl/gsl_sf_bessel.h>
#include <math.h>

#include "base/memory.h"
#include "ic/galaxy/disc.h"

struct hankel {
  int waves, last;    /* number of k; the product of indices from which the window is 0 */
  double *k, *weight; /* [waves]; dk, with a smooth end where k R is above 1 within the first radius */
  double *j0, *j1;    /* over the sum of indices, with the window */
};

static double window(double x) { return 0.5 * erfc(log(x / 60) / 0.35); }

struct hankel *hankel_open(const struct disc_grid *grid)
{
  struct hankel *h = memory_alloc("ic tables", sizeof *h);
  double low = 0.01 / grid->r[grid->fine - 1], high = 6 / grid->r[0];
  h->waves = (int)ceil(log(high / low) / grid->step) + 1;
  h->k = memory_alloc("ic tables", sizeof(double) * (size_t)h->waves);
  h->weight = memory_alloc("ic tables", sizeof(double) * (size_t)h->waves);
  int sums = h->waves + grid->fine - 1;
  h->j0 = memory_alloc("ic tables", sizeof(double) * (size_t)sums);
  h->j1 = memory_alloc("ic tables", sizeof(double) * (size_t)sums);
  for (int j = 0; j < h->waves; j++) {
    h->k[j] = low * exp(grid->step * j);
    h->weight[j] = grid->step * h->k[j] * window(60 * h->k[j] * grid->r[0] / 2) * (j == 0 ? 0.5 : 1);
  }
  for (int s = 0; s < sums; s++) {
    double x = low * grid->r[0] * exp(grid->step * s), w = window(x);
    if (w < 1e-9) break;
    h->j0[s] = w * gsl_sf_bessel_J0(x);
    h->j1[s] = w * gsl_sf_bessel_J1(x);
    h->last = s + 1;
  }
  return h;
}

void hankel_free(struct hankel *hankel)
{
  memory_free(hankel->k);
  memory_free(hankel->weight);
  memory_free(hankel->j0);
  memory_free(hankel->j1);
  memory_free(hankel);
}

/* S(k) of a surface density mu(R) on the fine radii; `mu` has the factor 2 pi R^2 d ln R already. */
static void forward(const struct hankel *hankel, const struct disc_grid *grid, const double *mu, int j0, int j1,
                    double *s)
{
  for (int j = j0; j < j1; j++) {
    double sum = 0;
    int end = hankel->last - j < grid->fine ? hankel->last - j : grid->fine;
    for (int i = 0; i < end; i++) sum += mu[i] * hankel->j0[i + j];
    s[j] = sum;
  }
}

static void fine_surface(const struct disc_grid *grid, const struct disc *disc, double *mu)
{
  for (int i = 0; i < grid->fine; i++) {
    double end = i == grid->fine - 1 ? 0.5 : 1; /* nothing is beyond the last; within the first is next to nothing */
    mu[i] = end * 2 * M_PI * grid->r[i] * grid->r[i] * grid->step * disc_surface(&disc->form, grid->r[i]);
  }
}

/* Add S(k) of a disc in all layers, [waves][layers]. sech^2 has one shape for all radii, and so one transform. */
static void transform(const struct hankel *hankel, const struct disc_grid *grid, const struct disc *disc, double *s)
{
  int n = grid->layers, uniform = disc->c->vertical == VERTICAL_SECH2;
  double *mu = memory_alloc("ic tables", sizeof(double) * (size_t)grid->fine);
  fine_surface(grid, disc, mu);
#pragma omp parallel
  {
    double *column = memory_alloc("ic tables", sizeof(double) * (size_t)grid->fine);
    double *wave = memory_alloc("ic tables", sizeof(double) * (size_t)hankel->waves);
#pragma omp for schedule(static)
    for (int l = 0; l < (uniform ? 1 : n); l++) {
      const double *shape = disc->shape + (size_t)l * (size_t)grid->coarse;
      for (int i = 0; i < grid->fine; i++) {
        int c = i / DISC_EVERY < grid->coarse - 1 ? i / DISC_EVERY : grid->coarse - 2;
        double part = (double)(i - c * DISC_EVERY) / DISC_EVERY;
        column[i] = mu[i] * (uniform ? 1 : (1 - part) * shape[c] + part * shape[c + 1]);
      }
      forward(hankel, grid, column, 0, hankel->waves, wave);
      for (int j = 0; j < hankel->waves; j++)
        for (int m = uniform ? 0 : l; m < (uniform ? n : l + 1); m++)
          s[(size_t)j * (size_t)n + (size_t)m] +=
              wave[j] * (uniform ? disc->shape[(size_t)m * (size_t)grid->coarse] : 1);
    }
    memory_free(column);
    memory_free(wave);
  }
  memory_free(mu);
}

/* int over a layer of thickness d of exp(-k s) times 1 - s / d (near) and s / d (far). */
static double decay(double k, double d, double *near, double *far)
{
  double q = k * d, whole, part;
  if (q < 1e-3) {
    whole = d * (1 - q / 2 + q * q / 6);
    part = d * (0.5 - q / 3 + q * q / 8);
  } else {
    whole = -expm1(-q) / k;
    part = (-expm1(-q) - q * exp(-q)) / (k * q);
  }
  *near = whole - part;
  *far = part;
  return exp(-q);
}

/* S(k, z) in, int S exp(-k |z - z'|) dz' out; and what lies above less what lies below. */
static void sum_layers(const struct disc_grid *grid, double k, double *s, double *difference, double *up)
{
  int n = grid->layers;
  double near, far, keep, down;
  up[n - 1] = 0;
  for (int l = n - 2; l >= 0; l--) {
    keep = decay(k, grid->z[l + 1] - grid->z[l], &near, &far);
    up[l] = keep * up[l + 1] + near * s[l] + far * s[l + 1];
  }
  down = up[0];
  double last = s[0];
  for (int l = 0; l < n; l++) {
    double here = s[l];
    if (l > 0) {
      keep = decay(k, grid->z[l] - grid->z[l - 1], &near, &far);
      down = keep * down + near * here + far * last;
    }
    s[l] = up[l] + down;
    difference[l] = up[l] - down;
    last = here;
  }
}

/* Fields at the coarse radius i from the sums over layers. */
static void inverse(struct discs *discs, const struct hankel *hankel, const double *sum, const double *difference,
                    int i, double *row)
{
  const struct disc_grid *grid = &discs->grid;
  int n = grid->layers, at = i * DISC_EVERY;
  double *phi = row, *fr = row + n, *fz = row + 2 * n, g = discs->g.gravity;
  for (int l = 0; l < 3 * n; l++) row[l] = 0;
  int end = hankel->last - at < hankel->waves ? hankel->last - at : hankel->waves;
  for (int j = 0; j < end; j++) {
    const double *a = sum + (size_t)j * (size_t)n, *b = difference + (size_t)j * (size_t)n;
    double weight = g * hankel->weight[j], w0 = weight * hankel->j0[at + j],
           w1 = weight * hankel->k[j] * hankel->j1[at + j], w2 = w0 * hankel->k[j];
    for (int l = 0; l < n; l++) {
      phi[l] -= w0 * a[l];
      fr[l] += w1 * a[l];
      fz[l] -= w2 * b[l];
    }
  }
  double radius = grid->r[at];
  for (int l = 0; l < n; l++) {
    size_t node = (size_t)l * (size_t)grid->coarse + (size_t)i;
    double r = hypot(radius, grid->z[l]), pull = discs->spheroids ? radial_inward(discs->spheroids, r) / r : 0;
    double well = discs->spheroids ? radial_potential(discs->spheroids, r) : 0;
    discs->phi[node] = phi[l] - g * hankel->k[0] * sum[l] + well; /* below the first k all but k are constant */
    discs->force_r[node] = fr[l] + pull * radius;
    discs->force_z[node] = fz[l] + pull * grid->z[l];
  }
}

void disc_fields(struct discs *discs, const struct hankel *hankel)
{
  const struct disc_grid *grid = &discs->grid;
  int n = grid->layers;
  size_t size = (size_t)hankel->waves * (size_t)n;
  double *sum = memory_alloc("ic tables", sizeof(double) * size),
         *difference = memory_alloc("ic tables", sizeof(double) * size);
  for (int c = 0; c < discs->g.count; c++)
    if (discs->disc[c].c) transform(hankel, grid, &discs->disc[c], sum);
#pragma omp parallel
  {
    double *row = memory_alloc("ic tables", sizeof(double) * 3 * (size_t)n);
#pragma omp for schedule(static)
    for (int j = 0; j < hankel->waves; j++)
      sum_layers(grid, hankel->k[j], sum + (size_t)j * (size_t)n, difference + (size_t)j * (size_t)n, row);
#pragma omp for schedule(static, 4)
    for (int i = 0; i < grid->coarse; i++) inverse(discs, hankel, sum, difference, i, row);
    memory_free(row);
  }
  memory_free(sum);
  memory_free(difference);
}
