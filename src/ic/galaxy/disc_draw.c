/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Particles of discs, and what logs and plots show of them. */
#include <config.h>
#include <math.h>

#include "ic/galaxy/disc.h"

enum { TRIES = 100, PROFILE_RADII = 120 };

/* R within which the part u of the mass is; within the first node the surface density is constant. */
static double draw_radius(const struct disc_grid *grid, const struct disc *disc, double u)
{
  int low = 0, high = grid->fine - 1;
  if (u <= disc->inside[0]) return grid->r[0] * sqrt(u / disc->inside[0]);
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (disc->inside[middle] > u) high = middle;
    else low = middle;
  }
  double part = (u - disc->inside[low]) / (disc->inside[high] - disc->inside[low]);
  return exp(grid->lnr[low] + part * grid->step);
}

static double draw_height(const struct discs *discs, const struct disc *disc, double radius, double u)
{
  double side = 2 * u - 1, t = atanh(fabs(side)), z;
  if (disc->quantile)
    z = gsl_spline2d_eval(disc->quantile, disc_lnr(&discs->grid, radius), fmin(t, 0.1 * (DISC_QUANTILES - 1)), NULL,
                          NULL);
  else z = fmin(disc->c->height * t, discs->grid.z[discs->grid.layers - 1]);
  return side < 0 ? -z : z;
}

/* Velocities are normal about the rotation in each direction (Hernquist 1993). Those that reach the escape velocity are
 * drawn again: this takes away energy only where the dispersion is a third of the escape velocity, which the limits of
 * disc_moments.c exclude but for the innermost stars. */
void disc_draw(const struct discs *discs, int component, struct ic_random *random, double x[3], double v[3])
{
  const struct disc *disc = &discs->disc[component];
  struct disc_moments m;
  double radius = draw_radius(&discs->grid, disc, random_uniform(random)),
         z = draw_height(discs, disc, radius, random_uniform(random));
  double angle = 2 * M_PI * random_uniform(random), cosine = cos(angle), sine = sin(angle);
  double sense = random_uniform(random) < disc->c->retrograde ? -1 : 1;
  disc_moments_at(discs, disc, radius, z, &m);
  double plane[2], other[2], escape2 = fmax(-2 * m.potential, 0), out, along, up;
  int tries = 0;
  do {
    random_normal(random, plane);
    random_normal(random, other);
    out = m.sigma_r * plane[0];
    along = sense * (m.rotation + m.sigma_phi * plane[1]);
    up = m.sigma_z * other[0];
  } while (out * out + along * along + up * up >= escape2 && ++tries < TRIES);
  x[0] = radius * cosine;
  x[1] = radius * sine;
  x[2] = z;
  v[0] = out * cosine - along * sine;
  v[1] = out * sine + along * cosine;
  v[2] = up;
}

void disc_profile_at(const struct discs *discs, int component, double radius, struct disc_profile *out)
{
  const struct disc *disc = &discs->disc[component];
  const struct disc_grid *grid = &discs->grid;
  struct disc_moments m = {0};
  double x = disc_lnr(grid, radius), rotation = 0, azimuthal2 = 0, vertical2 = 0, thick2 = 0, all = 0;
  int i = (int)fmin(fmax((x - grid->coarse_lnr[0]) / (grid->step * DISC_EVERY), 0), grid->coarse - 2);
  double part = fmin(fmax((x - grid->coarse_lnr[i]) / (grid->step * DISC_EVERY), 0), 1);
  /* means over the column, weighted by mass; the ends of the rule hold nothing */
  for (int l = 0; l < grid->layers; l++) {
    const double *shape = disc->shape + (size_t)l * (size_t)grid->coarse + i;
    double mass = ((1 - part) * shape[0] + part * shape[1]) * cosh(grid->t[l]) * (l == 0 ? 0.5 : 1);
    disc_moments_at(discs, disc, radius, grid->z[l], &m);
    all += mass;
    rotation += mass * m.rotation;
    azimuthal2 += mass * (m.rotation * m.rotation + m.sigma_phi * m.sigma_phi);
    vertical2 += mass * m.sigma_z * m.sigma_z;
    thick2 += mass * grid->z[l] * grid->z[l];
  }
  double omega2 = fmax(gsl_spline2d_eval(discs->rotation2, x, 0, NULL, NULL), 0);
  double kappa = 2 * sqrt(omega2 * fmax(disc_ratio(discs, x), 0)) * exp(-x);
  out->surface_density = disc_surface(&disc->form, radius);
  out->circular_velocity = sqrt(omega2);
  out->rotation = rotation / all * (1 - 2 * disc->c->retrograde);
  out->sigma_r = m.sigma_r;
  out->sigma_phi = sqrt(fmax(azimuthal2 / all - out->rotation * out->rotation, 0));
  out->sigma_z = sqrt(vertical2 / all);
  out->height = sqrt(12 * thick2 / all) / M_PI; /* sech^2(z / h) has <z^2> = pi^2 h^2 / 12 */
  out->toomre_q =
      out->surface_density > 0 ? out->sigma_r * kappa / (3.36 * discs->g.gravity * out->surface_density) : HUGE_VAL;
}

const char *disc_note(const struct discs *discs, int component) { return discs->disc[component].note; }

double disc_virial(const struct discs *discs, int component) { return discs->disc[component].virial; }
double disc_smallest_q(const struct discs *discs, int component) { return discs->disc[component].smallest_q; }

const char disc_columns[] =
    "component,R,surface_density,circular_velocity,rotation,sigma_r,sigma_phi,sigma_z,height,toomre_q";

void discs_write(const struct discs *discs, const char *prefix, FILE *out)
{
  for (int c = 0; discs && c < discs->g.count; c++) {
    const struct disc *disc = &discs->disc[c];
    if (!disc->c) continue;
    /* from 0.1 % of the mass to all but 0.1 % of it */
    double low = draw_radius(&discs->grid, disc, 1e-3), high = draw_radius(&discs->grid, disc, 1 - 1e-3);
    for (int k = 0; k < PROFILE_RADII; k++) {
      struct disc_profile p;
      double radius = low * pow(high / low, k / (PROFILE_RADII - 1.0));
      disc_profile_at(discs, c, radius, &p);
      fprintf(out, "%s%s,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g\n", prefix, disc->c->name, radius,
              p.surface_density, p.circular_velocity, p.rotation, p.sigma_r, p.sigma_phi, p.sigma_z, p.height,
              p.toomre_q);
    }
  }
}
