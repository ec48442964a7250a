/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Isolated bound pairs of a soft step (gravity/bound_pair.h) on the device: as in cpu/bound_pairs.h, by the same
 * rules. */
#ifndef GPU_HERMITE_PAIRS_CUH
#define GPU_HERMITE_PAIRS_CUH
#include "gpu/hermite/loop.cuh"

/* Find the pairs among particles with lists of members, and replace each in d->hermite.body by its centre of mass: the
 * member with the lower id has its mass, position and velocity; the other one has the factor BOUND_ABSORBED. Adds to
 * the counts of pairs. Returns the number of pairs, after which the lists are to be made again. The host waits. */
int64_t hermite_pairs_find(struct device *d, const struct hard_request *request, struct hard_tally *tally);
/* With the new lists, before the first forces: half a kick by the tides. */
void hermite_pairs_begin(struct device *d, const struct hard_request *request);
/* After the loop, before the motions are written to particles and bodies: the relative motions over the soft step, and
 * the other half of the kick. */
void hermite_pairs_end(struct device *d, const struct hard_request *request, const struct loop_job *job);
/* With the bodies at the end of the soft step: put both of each pair in place, as bodies and as particles. */
void hermite_pairs_restore(struct device *d);
#endif
