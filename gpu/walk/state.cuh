/* SPDX-License-Identifier: GPL-3.0-or-later */
/* State of the walk folder: work lists of the walk and its options. Data only. */
#ifndef GPU_WALK_STATE_CUH
#define GPU_WALK_STATE_CUH
#include "gpu/tree/state.cuh"

struct tally;

/* Particles [begin, end) of a group that one warp walks. */
struct __align__(16) item { int32_t begin, end, supergroup, unused; };
enum { ITEM_CLASSES = 3 }; /* class 0 has the longest walks and comes first */

/* A few active targets of a group: the particles begin + place[k]. */
enum { FEW_TARGETS = 8 };
struct __align__(16) few_piece
{
  int32_t begin, targets;
  uint8_t place[FEW_TARGETS];
};

/* Counts of the full walk. Warps add to one of COUNT_SLOTS, so that their atomics do not contend for one address. */
enum { COUNT_SLOTS = 32 };
struct walk_count {
  unsigned long long targets, groups, particle_pairs, cell_pairs, tests, split_pairs, unused[2];
};

struct walk_state {
  runtime_stream beside;          /* the longest groups are walked beside the others; */
  runtime_event listed, walked;   /* the items are listed; the longest groups are walked */
  struct array<int32_t> handed;   /* handed_max nodes for each supergroup, which it hands down to its groups */
  struct array<int2> piece;       /* pieces of heavy groups: particles [x, y) */
  struct array<int32_t> single;   /* single targets of heavy pieces */
  struct array<struct item> item; /* groups or pieces in the order in which they are walked */
  struct array<struct few_piece> few_piece; /* pieces of few active targets */
  int few_listed;                           /* this walk has listed them */
  int few_groups;                           /* limit on the groups that are all cut, for each multiprocessor */
  int few_pieces;                           /* limit on the pieces of few active targets, for each multiprocessor */
  struct array<int32_t> root;               /* roots where walks start */
  int split_off;                            /* the last walk had no split: acc_hard is the whole acceleration */
  struct tally *pending_tally; /* receives the counts of the last walk when they are read back; NULL: none */
};

/* Open streams and events, and read the debug switches of the folder. */
void walk_state_open(struct walk_state *state);
/* Free all that the folder holds on the device. */
void walk_state_free(struct walk_state *state);
#endif
