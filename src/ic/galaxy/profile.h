/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Densities of spheroids, without a mass. For this folder only. Local. */
#ifndef GALAXY_PROFILE_H
#define GALAXY_PROFILE_H
#include <gsl/gsl_spline.h>

#include "ic/galaxy/galaxy.h"
#include "ic/models.h"

struct profile {
  const struct galaxy_component *c;
  double edge;     /* the density is 0 from here on */
  double sersic_b; /* b of exp(-b (R / R_e)^(1/n)) */
  struct king_table *king;
  gsl_spline *first, *second; /* king: ln (W0 - W) and ln m over ln x; table: ln density over ln r */
  double inner, inner_slope;  /* below this radius (king: x) a series (table: a power law) */
};

/* Prepare a spheroid's density. 0; -1 with a fault. Close it in both cases. */
int profile_open(struct profile *profile, const struct galaxy_component *component, struct fault *fault);
void profile_close(struct profile *profile);
/* The density at r, in an arbitrary unit, and d ln density / d ln r. With the cut-off. From any thread. */
double profile_at(const struct profile *profile, double r, double *slope);
/* Density, d density / d ln r and mass within at r[n], which is uniform in ln r; the total mass is the component's. */
void profile_tabulate(const struct profile *profile, int n, const double *r, double *density, double *bend,
                      double *mass);
/* The number of nodes and the number of the first one on the lattice ln r = number * PROFILE_STEP, on which all
 * spheroids lie. */
#define PROFILE_STEP (M_LN10 / 200)
int profile_grid(const struct profile *profile, int *first);
#endif
