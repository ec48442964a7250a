/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Discs in equilibrium: the order in which the tables are made. See disc.h for sources and the grid. */
#include <config.h>
#include <math.h>

#include "base/memory.h"
#include "ic/galaxy/disc.h"

enum { ROUNDS = 12 };
static const double settled = 1e-3; /* change of an isothermal shape, in units of its central value */

static int check(const struct galaxy_component *component, struct fault *fault)
{
  if (!(component->mass > 0) || !(component->scale > 0) || !(component->height > 0))
    return fault_set(fault, "[%s]: a disc needs Mass, Scale and Height above 0", component->name);
  if (!(component->height >= 1e-3 * component->scale && component->height <= component->scale))
    return fault_set(fault, "[%s] Height: expected 0.001 to 1 times Scale (%g), found %g", component->name,
                     component->scale, component->height);
  if (!(component->toomre_q > 0) && !(component->dispersion > 0))
    return fault_set(fault, "[%s]: a disc needs ToomreQ or Dispersion above 0", component->name);
  if (!(component->retrograde >= 0 && component->retrograde <= 1))
    return fault_set(fault, "[%s] Retrograde: expected 0 to 1, found %g", component->name, component->retrograde);
  if (component->profile == PROFILE_DISC_SERSIC && !(component->index >= 0.6 && component->index <= 4))
    return fault_set(fault, "[%s] SersicIndex: expected 0.6 to 4 for a disc, found %g", component->name,
                     component->index);
  if (component->cutoff > 0 && !(component->cutoff >= 0.5 * component->scale))
    return fault_set(fault, "[%s] Cutoff: expected at least half of Scale (%g) for a disc, found %g", component->name,
                     component->scale, component->cutoff);
  if (component->cutoff > 0 && component->cutoff_width > 0 &&
      !(component->cutoff_width >= 0.02 * component->cutoff && component->cutoff_width <= component->cutoff))
    return fault_set(fault, "[%s] CutoffWidth: expected 0.02 to 1 times Cutoff (%g) for a disc, found %g",
                     component->name, component->cutoff, component->cutoff_width);
  return 0;
}

static int make(struct discs *discs, struct fault *fault)
{
  int isothermal = 0;
  disc_grid_make(&discs->grid, &discs->g);
  size_t size = sizeof(double) * (size_t)discs->grid.coarse * (size_t)discs->grid.layers;
  discs->phi = memory_alloc("ic tables", size);
  discs->force_r = memory_alloc("ic tables", size);
  discs->force_z = memory_alloc("ic tables", size);
  for (int c = 0; c < discs->g.count; c++) {
    if (!galaxy_is_disc(discs->g.component[c].profile)) continue;
    disc_open(discs, c);
    isothermal |= discs->g.component[c].vertical == VERTICAL_ISOTHERMAL;
  }
  struct hankel *h = hankel_open(&discs->grid);
  disc_fields(discs, h);
  int rounds = 0;
  double change = 0;
  while (isothermal && rounds++ < ROUNDS) {
    change = disc_reshape(discs);
    disc_fields(discs, h);
    if (change < settled) break;
  }
  hankel_free(h);
  if (isothermal && !(change < 10 * settled))
    return fault_set(
        fault, "the vertical structure of the discs does not converge: it still changes by %.2g; use Vertical = sech2",
        change);
  return disc_moments_make(discs, fault);
}

struct discs *discs_open(const struct galaxy *galaxy, const struct radial *spheroids, struct fault *fault)
{
  int count = 0;
  for (int c = 0; c < galaxy->count; c++) {
    if (!galaxy_is_disc(galaxy->component[c].profile)) continue;
    if (check(&galaxy->component[c], fault)) return NULL;
    count++;
  }
  struct discs *d = memory_alloc("ic tables", sizeof *d);
  d->g = *galaxy;
  d->spheroids = spheroids;
  int bad = count > 0 && make(d, fault);
  d->spheroids = NULL;
  memory_free(d->phi);
  memory_free(d->force_r);
  memory_free(d->force_z);
  d->phi = d->force_r = d->force_z = NULL;
  if (bad) {
    discs_free(d);
    return NULL;
  }
  return d;
}

void discs_free(struct discs *discs)
{
  if (!discs) return;
  for (int c = 0; c < discs->g.count; c++) disc_close(&discs->disc[c]);
  gsl_spline2d_free(discs->potential);
  gsl_spline2d_free(discs->rotation2);
  gsl_spline_free(discs->ratio);
  disc_grid_free(&discs->grid);
  memory_free(discs);
}
