/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions of the tree folder that other folders call. */
#ifndef GPU_TREE_CUH
#define GPU_TREE_CUH
#include "gpu/device/device.cuh"

/* The parts that order, build, groups and moments concern begin with this one. */
static inline int parts_begin(const struct device *d)
{
  return d->tree.renews == RENEWS_ALL ? 0 : d->tree.renews == RENEWS_LAST ? d->tree.parts - 1 : d->tree.parts;
}
/* The end of the particles whose trees in a part are in use. */
static inline int32_t part_end(const struct device *d, int part)
{
  return part + 1 < d->tree.parts ? d->tree.part[part + 1].first : d->tree.part[part].first + d->tree.part[part].count;
}
/* The roots of all trees of this rank that are in use. */
struct tree_roots {
  int32_t count, root[BANDS_MAX];
};
struct tree_roots device_tree_roots(const struct device *d);

/* Take the counts of nodes, groups and supergroups from host_results if build and groups did not wait for them. Returns
 * 1 if the counts fitted the arrays. Otherwise build and groups are repeated, kernels that were queued after them have
 * done nothing, and 0 is returned. */
int device_resolve_counts(struct device *d);
void groups_resolve_counts(struct device *d);
/* The part for kernels that make its nodes and groups. */
struct build_view device_build_view(const struct device *d, int part);

/* Queue the part of the build that needs the sorted keys alone; host_level_begin is valid after the next wait. */
void device_begin_build(struct device *d);

/* Reorder all particle fields, and make the sources in the new order: new particle i is old particle order[i].
 * Exchanges d->p and d->spare. Queued. */
void device_permute_sources(struct device *d, const int32_t *order);
/* The same for the particles from `first` on. order[0] belongs to particle `first`; its values count all particles. The
 * particles are then in the spare set, and wait to be copied back. Queued. */
void device_permute_last(struct device *d, const int32_t *order, int32_t first);
/* Copy particles that wait for it back from the spare set, on a stream of its own: the tree, which is built next, needs
 * keys and sources only. Called when the memory is not busy: after the spans of nodes have been marked. Queued. */
void device_copy_back(struct device *d);
/* Make the sources from the particles, at each particle's own position and time. Queued. */
void device_make_sources(struct device *d);
/* The first `bodies` sources (local ones, then those of LETs) predicted to a tick, which is not before their own; valid
 * until `sources`. Queued. */
struct body *device_present(struct device *d, int32_t tick, double tick_length, int32_t bodies);
/* With checks on: validate the tree on the host. */
void device_check_tree(struct device *d);

/* Whether the particles have their forces by direct sums: then build, moments and groups make no tree. */
bool pairwise_applies(const struct device *d);
/* Groups without a tree: consecutive particles. Queued. */
void treeless_groups(struct device *d);
/* Set d->tree.next of a tree: the node where a depth-first walk continues after each node; -1: none. Queued. */
void depth_first_links(struct device *d);
#endif
