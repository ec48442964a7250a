/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the watch on LETs (watch.cu) and their updates (update.cu) share. */
#ifndef GPU_WATCH_CUH
#define GPU_WATCH_CUH
#include "gpu/let/let.cuh"

/* A corrected particle in an update: its place among the entries of the peer, position (lattice), velocity and
 * acceleration. */
struct __align__(8) update_entry
{
  int32_t place, x[3];
  float v[3], a[3];
};

/* Entries of a peer: those of LET_SLOW, then those of LET_STEP. */
static inline int64_t entries_of(const struct let_state *let, int peer)
{
  return (int64_t)let->out[LET_SLOW][peer].bodies + let->out[LET_STEP][peer].bodies;
}

/* Numbers for all peers, in one block on the device and one on the host. */
struct watch_counts {
  int32_t *first;                   /* [ranks + 1]: first entry of each peer among all entries */
  int32_t *begin;                   /* [ranks + 1]: the same among the corrected entries */
  int32_t *next;                    /* [ranks]: earliest end of a step of the peer's entries, tick */
  int32_t *first_step, *begin_step; /* [ranks]: as first and begin, of the peer's entries of LET_STEP */
};
static inline struct watch_counts numbers_in(const struct device *d, void *block)
{
  int32_t *first = (int32_t *)block, ranks = d->config.ranks;
  struct watch_counts n = {first, first + ranks + 1, first + 2 * (ranks + 1)};
  n.first_step = n.next + ranks;
  n.begin_step = n.first_step + ranks;
  return n;
}
static inline int64_t numbers_count(const struct device *d) { return 5 * (int64_t)d->config.ranks + 2; }

/* Pack the entries that were corrected at the tick, and copy their number and the next tick for each peer to the host,
 * unless that was done. Returns 1 if it has been queued: they are there after the next wait. */
int lets_collect(struct device *d, int32_t tick);
#endif
