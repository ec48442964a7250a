/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hard forces from neighbour lists. The list of a particle contains all sources that can come within R2 of it before
 * the horizon of the lists. Lists are valid for any set of targets until the horizon, or until a particle deviates from
 * its predicted trajectory by more than the lists allow. The method is described in doc/gpu-hard.md. */
#ifndef GPU_NEIGHBOURS_CUH
#define GPU_NEIGHBOURS_CUH
#include "gpu/device/device.cuh"

/* Hard forces (see walk_request) from lists, of all particles for a request WALK_TOTAL, else of the active ones.
 * Constructs lists first if there are none that serve the request.
 * Adds the interactions to `work` and to the counts of d->device_results; for WALK_HARD adds targets to these counts as
 * well. Needs groups, and moments for the criterion of the request.
 * Returns the number of groups that have no lists and still need a walk, listed in d->hard.unlisted; -1: all groups
 * need a walk, because there is no memory for lists, or lists do not pay. The host may wait for the device. */
int32_t neighbours_forces(struct device *d, const struct walk_request *request);
/* Queue a check whether the active particles, corrected at `tick`, stay within the allowed deviation from their
 * predicted trajectories. If any particle does not, lists are constructed again after the next moment update.
 * tick_length is in user time. */
void neighbours_check_motion(struct device *d, int32_t tick, double tick_length);

/* largest grid of kernels that stride over targets, in thread blocks for each multiprocessor */
enum { EVALUATE_BLOCKS = 32 };

/* Queue the hard forces of the request's targets from their lists (neighbours_use.cu). Groups without lists are left
 * out. */
void neighbours_evaluate(struct device *d, const struct walk_request *request);

/* Construct the lists (neighbours_make.cu) from the trajectories of particles and nodes. The host waits. Returns 0 if
 * the pool was too small for all lists; d->hard.host_results.top is then the number of entries that the pool must
 * have. */
int neighbours_make(struct device *d, const struct walk_request *request);
/* Size of s->buffer in bytes: what the warps of the construction keep in global memory. */
int64_t neighbours_buffer(const struct device *d);
#endif
