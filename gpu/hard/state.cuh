/* SPDX-License-Identifier: GPL-3.0-or-later */
/* State of gpu/hard: neighbour lists. Data only; functions are in gpu/hard/neighbours.cuh. */
#ifndef GPU_HARD_STATE_CUH
#define GPU_HARD_STATE_CUH
#include "gpu/tree/state.cuh"
#include "tree/mac.h"

/* The straight trajectory of a source from the construction of the lists to their horizon, in lattice coordinates, and
 * how far the source may deviate from it (user length). Of a node: the trajectory of its centre, and the radius b (user
 * length) that contains its particles for all of that time. In an array, particles come first and nodes follow. */
struct __align__(16) trajectory
{
  int32_t from[3];
  float deviation;
  int32_t to[3];
  float b;
};

enum { LIST_ROUND = 8 };            /* lists are padded to a multiple of this number of entries */
enum { POOL_END = 8 * LIST_ROUND }; /* entries after the last list, which may be read but are not used */
#define LIST_NONE 0xffffffffu       /* `begin` of a particle whose group has no lists and is walked */

/* The list of a particle in the pool of entries. An entry is the index of a source in the array of trajectories. */
struct __align__(8) neighbour_list
{
  uint32_t begin;        /* in units of LIST_ROUND entries */
  uint16_t count, cells; /* number of all entries; number of entries that are cells */
};

/* Counters of the list construction. */
struct making_numbers {
  unsigned long long top;     /* pool entries that were requested */
  unsigned long long entries; /* number of entries of all lists */
  int32_t queue;              /* next group to be processed */
  int32_t heavy;              /* number of groups without lists: these have too many neighbours */
  int32_t unlisted;           /* number of those that are walked now */
  int32_t active;             /* number of targets */
  int32_t longest;            /* number of entries of the longest list */
};

/* State of the neighbour lists. */
struct hard_state {
  int made, declined; /* 1: lists exist; 1: there is no memory for lists */
  int passing;        /* 1: the tree is rebuilt within this soft step, which would invalidate lists */
  int pause;          /* number of synchronisations until lists are tried again */
  /* 1: velocities may have changed since the construction, without a check of deviations */
  int unchecked;
  int total;    /* 1: lists were made at a synchronisation and have not been used at a later tick */
  int32_t tick; /* of the construction */
  /* time for which lists are valid; allowed deviation from trajectories (user units) */
  double horizon, spread;
  double step; /* length of the last soft step (user time) */
  struct mac mac;
  float r2;
  /* lists do not pay if more groups have none, or if all lists have more entries than entries_max */
  int32_t heavy_max;
  unsigned long long entries_max;
  struct making_numbers host_results;
  int64_t makings;
  struct making_numbers *numbers; /* on the device */
  struct array<struct trajectory> trajectory;
  struct array<struct neighbour_list> list;
  struct array<int32_t> pool;
  struct array<char> buffer;      /* a struct maker_buffer for each warp of the construction */
  struct array<uint8_t> heavy;    /* a flag for each group: it has no lists */
  struct array<int32_t> unlisted; /* groups without lists that are walked */
  struct array<int32_t> active;   /* active targets */
  struct array<struct body> now;  /* all sources, predicted to the present tick */
};

/* Whether lists exist, or the next hard forces construct them. */
static inline int neighbours_expected(const struct hard_state *state)
{
  return state->made || (!state->declined && !state->passing && state->pause == 0);
}
/* Called when the particles or the tree have changed: the next hard forces construct lists again. */
static inline void neighbours_invalidate(struct hard_state *state) { state->made = state->declined = 0; }
/* Whether lists do not pay: too many groups have none, or all lists have too many entries. */
static inline int neighbours_over_budget(const struct hard_state *state)
{
  return state->host_results.heavy > state->heavy_max || state->host_results.entries > state->entries_max;
}
/* Free all device memory of the neighbour lists. */
void hard_state_free(struct hard_state *state);
#endif
