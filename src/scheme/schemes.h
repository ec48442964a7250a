/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The schemes, and the choice of the one that the parameters and the split ask for. */
#ifndef SCHEMES_H
#define SCHEMES_H
#include "step/scheme.h"

/* trees without the split: one step for all particles, or block steps */
extern const struct scheme scheme_whole;
extern const struct scheme scheme_hybrid; /* trees with the split: hard forces in substeps by walks within R2 */
/* the split, with hard forces from neighbour lists in one call for all substeps */
extern const struct scheme scheme_neighbour_lists;

/* The split in use; NULL: forces are not split. Local. */
const struct split *scheme_split(const struct sim *sim);
/* Use no split from now on. Forces must be computed again. Local. */
void scheme_use_no_split(struct sim *sim);
/* Use the scheme for sim->par and sim->force.split, as a checkpoint has them. `allowed`: 0: without the split.
 * Local. */
void scheme_resume(struct sim *sim, int allowed);
/* Use the split that sim->par ask for now, or none. Returns 1 where forces must be computed again. Collective. */
int scheme_follow(struct sim *sim);
/* Measure R2 (radius_by_rule) and use it if it has changed by a fifth; with `first`, in any case. Returns 1 if the
 * split has changed. Collective. */
int scheme_measure_radius(struct sim *sim, int first);
/* R2 that `params` give, with the last measurement of distances. Local. */
double scheme_r2(const struct sim *sim, const struct params *params);
#endif
