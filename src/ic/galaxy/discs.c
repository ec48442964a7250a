/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Discs in equilibrium: the order in which the tables are made. See disc.h for sources and the grid. */
#include <config.h>
#include <math.h>

#include "base/memory.h"
#include "ic/galaxy/disc.h"

enum { ROUNDS = 12 };
static const double settled = 1e-3;   /* change of an isothermal shape, in units of its central value */

static int check(const struct galaxy_component *c, struct fault *f)
{
  if (!(c->mass > 0) || !(c->scale > 0) || !(c->height > 0))
    return fault_set(f, "[%s]: a disc needs Mass, Scale and Height above 0", c->name);
  if (!(c->height >= 1e-3 * c->scale && c->height <= c->scale))
    return fault_set(f, "[%s] Height: expected 0.001 to 1 times Scale (%g), found %g", c->name, c->scale, c->height);
  if (!(c->toomre_q > 0) && !(c->dispersion > 0)) return fault_set(f, "[%s]: a disc needs ToomreQ or Dispersion above 0", c->name);
  if (!(c->retrograde >= 0 && c->retrograde <= 1))
    return fault_set(f, "[%s] Retrograde: expected 0 to 1, found %g", c->name, c->retrograde);
  if (c->profile == PROFILE_DISC_SERSIC && !(c->index >= 0.6 && c->index <= 4))
    return fault_set(f, "[%s] SersicIndex: expected 0.6 to 4 for a disc, found %g", c->name, c->index);
  if (c->cutoff > 0 && !(c->cutoff >= 0.5 * c->scale))
    return fault_set(f, "[%s] Cutoff: expected at least half of Scale (%g) for a disc, found %g", c->name, c->scale, c->cutoff);
  if (c->cutoff > 0 && c->cutoff_width > 0 && !(c->cutoff_width >= 0.02 * c->cutoff && c->cutoff_width <= c->cutoff))
    return fault_set(f, "[%s] CutoffWidth: expected 0.02 to 1 times Cutoff (%g) for a disc, found %g", c->name, c->cutoff, c->cutoff_width);
  return 0;
}

static int make(struct discs *d, struct fault *f)
{
  int isothermal = 0;
  disc_grid_make(&d->grid, &d->g);
  size_t size = sizeof(double) * (size_t)d->grid.coarse * (size_t)d->grid.layers;
  d->phi = memory_alloc("ic tables", size);
  d->force_r = memory_alloc("ic tables", size);
  d->force_z = memory_alloc("ic tables", size);
  for (int c = 0; c < d->g.count; c++) {
    if (!galaxy_is_disc(d->g.component[c].profile)) continue;
    disc_open(d, c);
    isothermal |= d->g.component[c].vertical == VERTICAL_ISOTHERMAL;
  }
  struct hankel *h = hankel_open(&d->grid);
  disc_fields(d, h);
  int rounds = 0;
  double change = 0;
  while (isothermal && rounds++ < ROUNDS) {
    change = disc_reshape(d);
    disc_fields(d, h);
    if (change < settled) break;
  }
  hankel_free(h);
  if (isothermal && !(change < 10 * settled))
    return fault_set(f, "the vertical structure of the discs does not converge: it still changes by %.2g; use Vertical = sech2", change);
  return disc_moments_make(d, f);
}

struct discs *discs_open(const struct galaxy *g, const struct radial *spheroids, struct fault *f)
{
  int count = 0;
  for (int c = 0; c < g->count; c++) {
    if (!galaxy_is_disc(g->component[c].profile)) continue;
    if (check(&g->component[c], f)) return NULL;
    count++;
  }
  struct discs *d = memory_alloc("ic tables", sizeof *d);
  d->g = *g;
  d->spheroids = spheroids;
  int bad = count > 0 && make(d, f);
  d->spheroids = NULL;
  memory_free(d->phi), memory_free(d->force_r), memory_free(d->force_z);
  d->phi = d->force_r = d->force_z = NULL;
  if (bad) {
    discs_free(d);
    return NULL;
  }
  return d;
}

void discs_free(struct discs *d)
{
  if (!d) return;
  for (int c = 0; c < d->g.count; c++) disc_close(&d->disc[c]);
  gsl_spline2d_free(d->potential), gsl_spline2d_free(d->rotation2);
  gsl_spline_free(d->ratio);
  disc_grid_free(&d->grid);
  memory_free(d);
}
