/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Moments of the velocities of discs: the axisymmetric Jeans equations with <v_R v_z> = 0 (BT eqs 4.221 and 4.222),
 *   rho sigma_z^2 = int_z^infinity rho dPhi/dz dz',
 *   <v_phi^2>     = R dPhi/dR + sigma_R^2 (1 + d ln (rho sigma_R^2) / d ln R),
 * in the potential of the whole galaxy at (R, z), so the virial theorem holds for each disc. At all heights
 * sigma_R = sigma_0 exp(-R / DispersionScale), or by default the root of the surface density without its cut-off;
 * sigma_0 is given, or such that the smallest Q = sigma_R kappa / (3.36 G Sigma) (Toomre 1964) is the given one. The
 * azimuthal dispersion is the epicyclic one, sigma_phi^2 = sigma_R^2 kappa^2 / (4 Omega^2) (BT eq. 3.100), the rest of
 * <v_phi^2> is rotation. Where nothing would rest, there is no rotation and sigma_phi^2 = <v_phi^2>; where <v_phi^2> <
 * 0, v_phi is 0. */
#include <config.h>
#include <math.h>

#include "base/memory.h"
#include "ic/galaxy/disc.h"

static const double most_negative = 0.01, most_slow = 0.2; /* parts of the mass; more is an error */
static const double said = 0.01;                           /* more is said in the note */
static const double faint = 1e-10;                         /* of the density in the plane: nothing is drawn there */

static void tabulate_sigma_z(struct discs *discs, struct disc *disc)
{
  const struct disc_grid *grid = &discs->grid;
  int m = grid->coarse, n = grid->layers;
  double *table = memory_alloc("ic tables", sizeof(double) * (size_t)(m * n));
#pragma omp parallel
  {
    double *press = memory_alloc("ic tables", sizeof(double) * (size_t)n);
    gsl_spline *spline = gsl_spline_alloc(gsl_interp_cspline, (size_t)n);
#pragma omp for schedule(static)
    for (int i = 0; i < m; i++) {
      for (int l = 0; l < n; l++) /* dz = z0 cosh(t) dt */
        press[l] = disc->shape[l * m + i] * discs->force_z[l * m + i] * grid->z0 * cosh(grid->t[l]);
      gsl_spline_init(spline, grid->t, press, (size_t)n);
      double sum = 0;
      for (int l = n - 2; l >= 0; l--) {
        sum += gsl_spline_eval_integ(spline, grid->t[l], grid->t[l + 1], NULL);
        double shape = disc->shape[l * m + i];
        table[l * m + i] = shape > faint * disc->shape[i] ? fmax(sum / shape, 0) : -1;
      }
      table[(n - 1) * m + i] = -1;
      for (int l = 1; l < n; l++)
        if (table[l * m + i] < 0) table[l * m + i] = table[(l - 1) * m + i];
    }
    gsl_spline_free(spline);
    memory_free(press);
  }
  disc->sigma_z2 = disc_table(grid, table);
  memory_free(table);
}

static void tabulate_ratio(struct discs *discs)
{
  const struct disc_grid *grid = &discs->grid;
  size_t m = (size_t)grid->coarse;
  double *speed = memory_alloc("ic tables", sizeof(double) * m), *ratio = memory_alloc("ic tables", sizeof(double) * m);
  gsl_spline *spline = gsl_spline_alloc(gsl_interp_cspline, m);
  for (size_t i = 0; i < m; i++) speed[i] = log(fmax(grid->r[i * DISC_EVERY] * discs->force_r[i], 1e-300));
  gsl_spline_init(spline, grid->coarse_lnr, speed, m);
  /* kappa^2 = R d Omega^2 / d R + 4 Omega^2 (BT eq. 3.80) */
  for (size_t i = 0; i < m; i++)
    ratio[i] = fmax(fmin((2 + gsl_spline_eval_deriv(spline, grid->coarse_lnr[i], NULL)) / 4, 1), 0.05);
  gsl_spline_free(spline);
  discs->ratio = gsl_spline_alloc(gsl_interp_cspline, m);
  gsl_spline_init(discs->ratio, grid->coarse_lnr, ratio, m);
  memory_free(speed);
  memory_free(ratio);
}

double disc_ratio(const struct discs *discs, double lnr) { return gsl_spline_eval(discs->ratio, lnr, NULL); }

/* Q at a radius for sigma_R = sigma. */
static double toomre(const struct discs *discs, const struct disc *disc, double radius, double sigma)
{
  double x = disc_lnr(&discs->grid, radius),
         omega2 = gsl_spline2d_eval(discs->rotation2, x, 0, NULL, NULL) * exp(-2 * x);
  double kappa = sqrt(fmax(4 * omega2 * disc_ratio(discs, x), 0)), surface = disc_surface(&disc->form, radius);
  return surface > 0 ? sigma * kappa / (3.36 * discs->g.gravity * surface) : HUGE_VAL;
}

static double sigma_r(const struct disc *disc, double radius)
{
  return disc->sigma0 * exp(-pow(radius / disc->form.sigma_scale, disc->form.sigma_power));
}

/* The smallest Q over radii, without the innermost 0.1 % and the outermost 1 % of the mass. */
static void smallest_q(const struct discs *discs, struct disc *disc)
{
  disc->smallest_q = HUGE_VAL;
  for (int i = 0; i < discs->grid.fine; i++) {
    double radius = discs->grid.r[i];
    if (disc->inside[i] < 1e-3 || disc->inside[i] > 0.99) continue;
    double q = toomre(discs, disc, radius, sigma_r(disc, radius));
    if (q < disc->smallest_q) {
      disc->smallest_q = q;
      disc->where_q = radius;
    }
  }
}

/* <v_phi^2> and sigma_phi^2 by the equations, before anything is limited. */
static void azimuthal(const struct discs *discs, const struct disc *disc, double radius, double x, double t,
                      double square[2])
{
  const struct disc_form *form = &disc->form;
  double s = sigma_r(disc, radius);
  double slope =
      disc_surface_slope(form, radius) - 2 * form->sigma_power * pow(radius / form->sigma_scale, form->sigma_power);
  if (disc->slope) slope += gsl_spline2d_eval(disc->slope, x, t, NULL, NULL);
  square[0] = gsl_spline2d_eval(discs->rotation2, x, t, NULL, NULL) + s * s * (1 + slope);
  square[1] = s * s * disc_ratio(discs, x);
}

void disc_moments_at(const struct discs *discs, const struct disc *disc, double radius, double z,
                     struct disc_moments *moments)
{
  double x = disc_lnr(&discs->grid, radius), t = disc_t(&discs->grid, z), square[2];
  azimuthal(discs, disc, exp(x), x, t, square);
  double whole = fmax(square[0], 0), own = fmin(square[1], whole);
  moments->sigma_r = sigma_r(disc, radius);
  moments->sigma_phi = sqrt(own);
  moments->rotation = sqrt(whole - own);
  moments->sigma_z = sqrt(fmax(gsl_spline2d_eval(disc->sigma_z2, x, t, NULL, NULL), 0));
  moments->potential = gsl_spline2d_eval(discs->potential, x, t, NULL, NULL);
}

/* The parts of the mass for which <v_phi^2> does not suffice, and the virial ratio. */
static void sum_mass(const struct discs *discs, struct disc *disc)
{
  const struct disc_grid *grid = &discs->grid;
  int m = grid->coarse;
  double all = 0, kinetic = 0, virial = 0, square[2];
  for (int i = 0; i < m; i++) {
    double radius = grid->r[i * DISC_EVERY], ring = radius * radius * disc_surface(&disc->form, radius);
    if (!(ring > 0)) continue;
    for (int l = 0; l < grid->layers; l++) {
      double mass = ring * disc->shape[l * m + i] * cosh(grid->t[l]) * (l == 0 ? 0.5 : 1), s = sigma_r(disc, radius);
      azimuthal(discs, disc, radius, grid->coarse_lnr[i], grid->t[l], square);
      kinetic += mass * (s * s + fmax(square[0], 0) +
                         gsl_spline2d_eval(disc->sigma_z2, grid->coarse_lnr[i], grid->t[l], NULL, NULL));
      /* force_r: R d Phi / d R by now */
      virial += mass * (discs->force_r[l * m + i] + grid->z[l] * discs->force_z[l * m + i]);
      all += mass;
      if (square[0] < 0) disc->negative += mass;
      if (square[0] < square[1]) disc->slow += mass;
    }
  }
  disc->negative /= all;
  disc->slow /= all;
  disc->virial = kinetic / virial;
}

/* Judge a disc: an error, or what a log says of it. */
static int judge(const struct discs *discs, struct disc *disc, struct fault *fault)
{
  (void)discs;
  const char *name = disc->c->name, *key = disc->c->toomre_q > 0 ? "ToomreQ" : "Dispersion";
  if (!isfinite(disc->smallest_q) || !isfinite(disc->sigma0))
    return fault_set(fault, "[%s]: the velocities of the disc could not be computed", name);
  if (disc->negative > most_negative || disc->slow > most_slow)
    return fault_set(fault,
                     "[%s]: the disc is hotter than its rotation allows: %.1f %% of its mass could not rotate, and "
                     "%.1f %% would need "
                     "<v_phi^2> below 0; give a smaller %s (sigma_R at the centre is %.4g), or is Mass in other units "
                     "than [Units]?",
                     name, 100 * disc->slow, 100 * disc->negative, key, disc->sigma0);
  int n = 0, size = (int)sizeof disc->note;
  if (disc->smallest_q < 1)
    n += snprintf(disc->note, (size_t)size,
                  "the smallest Toomre Q is %.3g (at R = %.4g): rings form where it is below 1", disc->smallest_q,
                  disc->where_q);
  if (disc->slow > said && n < size)
    snprintf(disc->note + n, (size_t)(size - n),
             "%s%.1f %% of the mass does not rotate, since its dispersion takes all of <v_phi^2>", n ? "; " : "",
             100 * disc->slow);
  return 0;
}

int disc_moments_make(struct discs *discs, struct fault *fault)
{
  const struct disc_grid *grid = &discs->grid;
  int m = grid->coarse;
  tabulate_ratio(discs);
  discs->potential = disc_table(grid, discs->phi);
  for (int l = 0; l < grid->layers; l++)
    for (int i = 0; i < m; i++) discs->force_r[l * m + i] *= grid->r[i * DISC_EVERY];
  discs->rotation2 = disc_table(grid, discs->force_r);
  for (int c = 0; c < discs->g.count; c++) {
    struct disc *disc = &discs->disc[c];
    if (!disc->c) continue;
    if (disc->c->vertical == VERTICAL_ISOTHERMAL) disc_heights(discs, disc);
    tabulate_sigma_z(discs, disc);
    disc->sigma0 = disc->c->toomre_q > 0 ? 1 : disc->c->dispersion;
    smallest_q(discs, disc);
    if (disc->c->toomre_q > 0) {
      disc->sigma0 = disc->c->toomre_q / disc->smallest_q;
      smallest_q(discs, disc);
    }
    sum_mass(discs, disc);
    if (judge(discs, disc, fault)) return -1;
  }
  return 0;
}
