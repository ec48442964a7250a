/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Vertical structure of isothermal discs. In the potential Phi of the whole galaxy a population with the same sigma_z
 * at all heights has
 *   rho(R, z) = rho(R, 0) exp(-(Phi(R, z) - Phi(R, 0)) / sigma_z^2)     (Spitzer 1942; Miki & Umemura 2018).
 * sigma_z(R) is chosen such that the density falls by the factor sech^2(1) from the plane to the height of
 * disc_height(); for a disc in its own field alone this is sech^2(z / height). A steep bulge or a central mass makes
 * Phi flat at larger heights, where an isothermal population has no edge: the density is therefore cut off about 6
 * heights, and sigma_z of the Jeans equation falls there. */
#include <config.h>
#include <math.h>

#include "base/memory.h"
#include "ic/galaxy/disc.h"

static const double cut_at = 6, cut_width = 1;
static const double quantile_step = 0.1; /* of T */

double disc_reshape(struct discs *discs)
{
  const struct disc_grid *grid = &discs->grid;
  int n = grid->layers, m = grid->coarse;
  double largest = 0, fall = 2 * log(cosh(1));
  double *well = memory_alloc("ic tables", sizeof(double) * (size_t)n),
         *shape = memory_alloc("ic tables", sizeof(double) * (size_t)n);
  gsl_spline *spline = gsl_spline_alloc(gsl_interp_cspline, (size_t)n);
  for (int c = 0; c < discs->g.count; c++) {
    struct disc *disc = &discs->disc[c];
    if (!disc->c || disc->c->vertical != VERTICAL_ISOTHERMAL) continue;
    for (int i = 0; i < m; i++) {
      double sum = 0, height = disc_height(disc->c, grid->r[i * DISC_EVERY]);
      for (int l = 0; l < n; l++) well[l] = discs->phi[l * m + i] - discs->phi[i];
      gsl_spline_init(spline, grid->t, well, (size_t)n);
      double sigma2 = gsl_spline_eval(spline, disc_t(grid, height), NULL) / fall;
      for (int l = 0; l < n; l++) {
        shape[l] = exp(-well[l] / sigma2) * 0.5 * erfc((grid->z[l] / height - cut_at) / (2 * cut_width));
        if (l > 0) sum += (shape[l] + shape[l - 1]) * (grid->z[l] - grid->z[l - 1]);
      }
      for (int l = 0; l < n; l++) {
        double value = shape[l] / sum, *here = &disc->shape[l * m + i];
        largest = fmax(largest, fabs(value - *here) * sum);
        *here = value;
      }
    }
  }
  gsl_spline_free(spline);
  memory_free(well);
  memory_free(shape);
  return largest;
}

/* z where the part tanh(T) of the mass of a column is within |z|, T = 0, 0.1, ... (sech^2: z = Height T). */
static void quantiles(const struct disc_grid *grid, const double *shape, double *z)
{
  int l = 0;
  double below = 0;
  z[0] = 0;
  for (int q = 1; q < DISC_QUANTILES; q++) {
    double wanted = tanh(quantile_step * q), step = 0, a, b;
    for (; l < grid->layers - 1; l++) {
      step = grid->z[l + 1] - grid->z[l];
      double part = (shape[l * grid->coarse] + shape[(l + 1) * grid->coarse]) * step;
      if (below + part > wanted) break;
      below += part;
    }
    if (l == grid->layers - 1) {
      z[q] = grid->z[l];
      continue;
    }
    a = shape[l * grid->coarse];
    b = (shape[(l + 1) * grid->coarse] - a) / step; /* 2 a x + b x^2 = wanted - below */
    double rest = wanted - below, root = sqrt(fmax(a * a + b * rest, 0));
    z[q] = fmin(grid->z[l] + (a + root > 0 ? rest / (a + root) : 0), grid->z[l + 1]);
  }
}

void disc_heights(struct discs *discs, struct disc *disc)
{
  const struct disc_grid *grid = &discs->grid;
  int m = grid->coarse, n = grid->layers;
  size_t size = (size_t)m * DISC_QUANTILES;
  double *table = memory_alloc("ic tables", sizeof(double) * size), t[DISC_QUANTILES], z[DISC_QUANTILES];
  for (int q = 0; q < DISC_QUANTILES; q++) t[q] = quantile_step * q;
  for (int i = 0; i < m; i++) {
    quantiles(grid, disc->shape + i, z);
    for (int q = 0; q < DISC_QUANTILES; q++) table[q * m + i] = z[q];
  }
  disc->quantile = gsl_spline2d_alloc(gsl_interp2d_bilinear, (size_t)m, DISC_QUANTILES);
  gsl_spline2d_init(disc->quantile, grid->coarse_lnr, t, table, (size_t)m, DISC_QUANTILES);
  memory_free(table);
  double *slope = memory_alloc("ic tables", sizeof(double) * (size_t)(m * n));
  double *log_shape = memory_alloc("ic tables", sizeof(double) * (size_t)m);
  gsl_spline *spline = gsl_spline_alloc(gsl_interp_cspline, (size_t)m);
  for (int l = 0; l < n; l++) {
    for (int i = 0; i < m; i++) log_shape[i] = log(fmax(disc->shape[l * m + i], 1e-300));
    gsl_spline_init(spline, grid->coarse_lnr, log_shape, (size_t)m);
    for (int i = 0; i < m; i++)
      slope[l * m + i] = fmax(fmin(gsl_spline_eval_deriv(spline, grid->coarse_lnr[i], NULL), 30), -30);
  }
  disc->slope = disc_table(grid, slope);
  gsl_spline_free(spline);
  memory_free(slope);
  memory_free(log_shape);
}
