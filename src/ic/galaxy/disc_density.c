/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Surface densities of discs, the grid, and the mass within spheres. */
#include <config.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_integration.h>
#include <math.h>

#include "base/memory.h"
#include "ic/galaxy/disc.h"

enum { GAUSS = 32, PANELS = 9, MASS_RADII = 400 };
/* part of the mass that is not resolved at the centre, or is left out at the edge */
static const double tiny = 1e-6;
static const double fine_step = 0.01;  /* of ln R */
static const double layer_step = 0.06; /* of t */

static double cut(const struct disc_form *form, double radius)
{
  return form->cutoff > 0 ? 0.5 * erfc((radius - form->cutoff) / (2 * form->width)) : 1;
}

double disc_surface(const struct disc_form *form, double radius)
{
  return radius > form->edge ? 0 : form->centre * exp(-pow(radius / form->scale, form->power)) * cut(form, radius);
}

double disc_surface_slope(const struct disc_form *form, double radius)
{
  double slope = -form->power * pow(radius / form->scale, form->power);
  if (!(form->cutoff > 0)) return slope;
  double u = (fmin(radius, form->edge) - form->cutoff) / (2 * form->width);
  return slope - radius / form->width * exp(-u * u) / (sqrt(M_PI) * erfc(u));
}

/* The integral of f over [low, high] by Gauss and Legendre's rule. */
static double gauss(const gsl_integration_glfixed_table *rule, double low, double high,
                    double (*f)(const void *, double), const void *of)
{
  double sum = 0, x, w;
  for (size_t k = 0; k < GAUSS; k++) {
    gsl_integration_glfixed_point(low, high, k, &x, &w, rule);
    sum += w * f(of, x);
  }
  return sum;
}

static double ring(const void *of, double radius) { return 2 * M_PI * radius * disc_surface(of, radius); }

/* Sersic's law with the index n has half of its light within the effective radius: gamma(2 n, b) = Gamma(2 n) / 2
 * (Ciotti 1991). The mass within R is the cumulative gamma distribution of (R / scale)^(1 / n). The exponential is n =
 * 1. */
struct disc_form disc_form_of(const struct galaxy_component *component)
{
  double n = component->profile == PROFILE_DISC_SERSIC ? component->index : 1;
  struct disc_form d = {.scale = component->scale, .power = 1 / n, .cutoff = component->cutoff, .centre = 1};
  if (component->profile == PROFILE_DISC_SERSIC)
    d.scale = component->scale * pow(gsl_cdf_gamma_Pinv(0.5, 2 * n, 1), -n);
  d.inner = d.scale * pow(gsl_cdf_gamma_Pinv(tiny, 2 * n, 1), n);
  d.edge = d.scale * pow(gsl_cdf_gamma_Qinv(tiny, 2 * n, 1), n);
  /* the root of Sigma, for an exponential exp(-R / (2 Scale)): kinetic pressure as in a layer of constant height */
  d.sigma_scale = component->dispersion_scale > 0 ? component->dispersion_scale : d.scale * pow(2, n);
  d.sigma_power = component->dispersion_scale > 0 ? 1 : 1 / n;
  if (d.cutoff > 0) {
    d.width = component->cutoff_width > 0 ? component->cutoff_width : 0.05 * d.cutoff;
    d.edge = fmin(d.edge, d.cutoff + 8 * d.width);
  }
  gsl_integration_glfixed_table *rule = gsl_integration_glfixed_table_alloc(GAUSS);
  double mass = 0, high = d.edge;
  for (int k = 0; k < 2 * PANELS; k++, high /= 2)
    mass += gauss(rule, k == 2 * PANELS - 1 ? 0 : high / 2, high, ring, &d);
  gsl_integration_glfixed_table_free(rule);
  d.centre = component->mass / mass;
  return d;
}

/* An isothermal disc of one height would be taller than wide at the centre of a bulge, and hotter upwards than
 * outwards. Within two heights its height falls as R / 2, which is what the particles of MAGI's model of Andromeda
 * show, to a tenth. */
double disc_height(const struct galaxy_component *component, double radius)
{
  if (component->vertical != VERTICAL_ISOTHERMAL) return component->height;
  double part = tanh(radius / (2 * component->height));
  return component->height * sqrt(part * part + 0.01 * (1 - part * part));
}

static double *line(int n) { return memory_alloc("ic tables", sizeof(double) * (size_t)n); }

void disc_grid_make(struct disc_grid *grid, const struct galaxy *galaxy)
{
  double inner = HUGE_VAL, edge = 0, low = HUGE_VAL, high = 0;
  for (int k = 0; k < galaxy->count; k++) {
    const struct galaxy_component *c = &galaxy->component[k];
    if (!galaxy_is_disc(c->profile)) continue;
    struct disc_form d = disc_form_of(c);
    inner = fmin(inner, d.inner);
    edge = fmax(edge, d.edge);
    low = fmin(low, c->height);
    high = fmax(high, c->height);
  }
  grid->coarse = (int)ceil(log(edge / inner) / (fine_step * DISC_EVERY)) + 1;
  grid->fine = (grid->coarse - 1) * DISC_EVERY + 1;
  grid->step = log(edge / inner) / (grid->fine - 1);
  grid->lnr = line(grid->fine);
  grid->r = line(grid->fine);
  grid->coarse_lnr = line(grid->coarse);
  for (int i = 0; i < grid->fine; i++) {
    grid->lnr[i] = log(inner) + grid->step * i;
    grid->r[i] = exp(grid->lnr[i]);
    if (i % DISC_EVERY == 0) grid->coarse_lnr[i / DISC_EVERY] = grid->lnr[i];
  }
  grid->z0 = 0.01 * low;
  double top = asinh(DISC_REACH * high / grid->z0);
  grid->layers = (int)ceil(top / layer_step) + 1;
  grid->layer_step = top / (grid->layers - 1);
  grid->t = line(grid->layers);
  grid->z = line(grid->layers);
  for (int l = 0; l < grid->layers; l++) {
    grid->t[l] = grid->layer_step * l;
    grid->z[l] = grid->z0 * sinh(grid->t[l]);
  }
}

void disc_grid_free(struct disc_grid *grid)
{
  memory_free(grid->lnr);
  memory_free(grid->r);
  memory_free(grid->coarse_lnr);
  memory_free(grid->t);
  memory_free(grid->z);
}

double disc_lnr(const struct disc_grid *grid, double radius)
{
  double x = radius > grid->r[0] ? log(radius) : grid->lnr[0];
  return fmin(x, grid->coarse_lnr[grid->coarse - 1]);
}

double disc_t(const struct disc_grid *grid, double z)
{
  return fmin(asinh(fabs(z) / grid->z0), grid->t[grid->layers - 1]);
}

gsl_spline2d *disc_table(const struct disc_grid *grid, const double *values)
{
  gsl_spline2d *s = gsl_spline2d_alloc(gsl_interp2d_bicubic, (size_t)grid->coarse, (size_t)grid->layers);
  gsl_spline2d_init(s, grid->coarse_lnr, grid->t, values, (size_t)grid->coarse, (size_t)grid->layers);
  return s;
}

/* Both kinds of discs begin as sech^2. The integral of the shape is 1 by the rule that the field uses: linear between
 * layers. */
void disc_open(struct discs *discs, int component)
{
  struct disc *disc = &discs->disc[component];
  const struct disc_grid *grid = &discs->grid;
  disc->c = &discs->g.component[component];
  disc->form = disc_form_of(disc->c);
  disc->shape = line(grid->coarse * grid->layers);
  for (int i = 0; i < grid->coarse; i++) {
    double sum = 0, height = disc_height(disc->c, grid->r[i * DISC_EVERY]), *shape = disc->shape + i;
    for (int l = 0; l < grid->layers; l++) {
      shape[l * grid->coarse] = pow(cosh(fmin(grid->z[l] / height, 300)), -2);
      if (l > 0) sum += (shape[l * grid->coarse] + shape[(l - 1) * grid->coarse]) * (grid->z[l] - grid->z[l - 1]);
    }
    for (int l = 0; l < grid->layers; l++) shape[l * grid->coarse] /= sum;
  }
  disc->inside = line(grid->fine);
  disc->inside[0] = 0.5 * ring(&disc->form, grid->r[0]) * grid->r[0];
  for (int i = 1; i < grid->fine; i++) {
    double a = ring(&disc->form, grid->r[i - 1]) * grid->r[i - 1], b = ring(&disc->form, grid->r[i]) * grid->r[i];
    disc->inside[i] = disc->inside[i - 1] + 0.5 * (a + b) * grid->step;
  }
  for (int i = 0; i < grid->fine; i++) disc->inside[i] /= disc->inside[grid->fine - 1];
}

void disc_close(struct disc *disc)
{
  memory_free(disc->shape);
  memory_free(disc->inside);
  gsl_spline2d_free(disc->sigma_z2);
  gsl_spline2d_free(disc->quantile);
  gsl_spline2d_free(disc->slope);
}

/* The mass within a sphere. Where the sphere is higher than a few heights, over R; its rim over z, with R dR = -z
 * dz. */
struct sphere {
  struct disc_form form;
  const struct galaxy_component *c;
  double radius;
};
static double by_radius(const void *of, double radius)
{
  const struct sphere *s = of;
  return ring(&s->form, radius) *
         tanh(sqrt(fmax(s->radius * s->radius - radius * radius, 0)) / disc_height(s->c, radius));
}
static double by_height(const void *of, double z)
{
  const struct sphere *s = of;
  double radius = sqrt(fmax(s->radius * s->radius - z * z, 0));
  return 2 * M_PI * z * disc_surface(&s->form, radius) * tanh(z / disc_height(s->c, radius));
}

struct radial *disc_mass(const struct galaxy *galaxy, int component, struct fault *fault)
{
  const struct galaxy_component *c = &galaxy->component[component];
  struct sphere s = {.form = disc_form_of(c), .c = c};
  gsl_integration_glfixed_table *rule = gsl_integration_glfixed_table_alloc(GAUSS);
  double radius[MASS_RADII], mass[MASS_RADII], most = 0;
  int count = 0;
  double low = fmin(s.form.inner, 0.05 * c->height), high = hypot(s.form.edge, DISC_REACH * c->height);
  for (int k = 0; k < MASS_RADII; k++) {
    s.radius = low * pow(high / low, k / (MASS_RADII - 1.0));
    double rim = fmin(s.radius, 4 * c->height), inner = sqrt(s.radius * s.radius - rim * rim),
           top = fmin(inner, s.form.edge);
    double sum = gauss(rule, 0, rim / 2, by_height, &s) + gauss(rule, rim / 2, rim, by_height, &s);
    for (int p = 0; p < PANELS && top > 0; p++, top /= 2)
      sum += gauss(rule, p == PANELS - 1 ? 0 : top / 2, top, by_radius, &s);
    if (!(sum > most * (1 + 1e-12))) continue;
    radius[count] = s.radius;
    mass[count++] = most = sum;
  }
  gsl_integration_glfixed_table_free(rule);
  for (int k = 0; k < count; k++) mass[k] *= c->mass / most;
  if (count < 8 || !isfinite(most)) {
    fault_set(fault, "[%s]: the mass of the disc within spheres could not be computed", c->name);
    return NULL;
  }
  return radial_make(count, radius, mass, galaxy->gravity);
}
