/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bound pairs of stars at the begin of a soft step, which are units from then on. */
#ifndef GPU_UNIT_PAIRS_CUH
#define GPU_UNIT_PAIRS_CUH
#include "gpu/neighbour_lists/units.cuh"

struct unit_pair_search {
  struct list_body *body;
  const struct member_list *list;
  const int32_t *entry;
  struct particles p; /* own particles, then the halo */
  const struct halo_particle *halo;
  int32_t places;
  double limit2; /* of squared speeds in the halo */
  struct unit_rules rules;
  int32_t *nearest, *partner, *head, *companion;
  double *second; /* distance of the second neighbour */
  struct list_bound *pair;
  int32_t *count;
  double *kinetic; /* [places] G times that of the pair of the star of the lower id; NULL */
};

/* Lists of all stars of d->p and halo[n] as they are now, and the nearest of each. */
struct unit_pair_search units_find_stars(struct device *d, const struct list_request *request,
                                         const struct unit_rules *rules, int64_t n, const struct halo_particle *halo);
/* Replace the bound pairs among d->lists.body by their centres of mass; *search->count: their number. Queued. */
void units_replace_stars(struct device *d, const struct unit_pair_search *search);
#endif
