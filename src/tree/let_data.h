/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Data that ranks exchange to choose locally essential trees (LETs): boxes of targets, requests, summaries. For host
 * and device. */
#ifndef LET_DATA_H
#define LET_DATA_H
#include <stdint.h>

#include "tree/mac.h"
#include "tree/octree.h"

/* Bounding box of some groups of a rank. It moves with the mean velocity of its particles and contains their predicted
 * trajectories (straight lines) from the tick of the request to the end of the horizon. Internal units. */
struct let_box {
  double low[3], high[3]; /* at the tick of the request, in the moving frame */
  double a_old;           /* smallest a_old of its targets; the choice of a LET uses at least the request's a_floor */
  double v[3];            /* mean velocity */
  double a_spread;        /* largest hard acceleration of its targets; BOX_EMPTY without targets */
};

/* LET_SOFT: for a synchronisation. LET_STEP: for substeps. LET_SLOW: for substeps where fast particles have a tree of
 * their own; then LET_SLOW is selected from the slow trees and LET_STEP from the fast trees. */
enum let_kind { LET_SOFT, LET_STEP, LET_KINDS, LET_SLOW = LET_KINDS, LET_SETS };

/* The tree of the sender from which a LET is selected: that of all particles or, where fast particles have a tree of
 * their own (`reorder` in backend/backend.h), the slow or the fast tree. */
enum let_part { LET_OF_ALL, LET_OF_SLOW, LET_OF_FAST };

struct let_request {
  const struct let_box *boxes; /* [box_count] of the receiver; ignored by verbs for several receivers */
  int box_count;
  const struct mac *mac;
  double a_floor;   /* lower bound on a_old */
  double a_typical; /* rms acceleration, added to the motion bound (tree/essential.h) */
  double cutoff;    /* only sources that can come within this distance (R2); negative: no limit */
  /* open all nodes that are within this distance, whatever the criterion says: the widest R2 for WALK_SOFT; 0: the
   * criterion alone */
  double open_within;
  double horizon;     /* time from `tick` for which the LET is valid; 0: at `tick` only */
  int32_t tick;       /* the present tick */
  double tick_length; /* time of one tick */
  /* For `summary` and `select`. Boxes for LET_OF_SLOW hold the minimum of the present a_old and of that of the
   * synchronisation. */
  enum let_part part;
  /* For `boxes`. 1: targets are only the particles whose steps end at `tick`, since no other step ends within the
   * horizon. */
  int active;
  int quads; /* 1: cells of summaries carry second moments, at a synchronisation */
  /* at a synchronisation, the squared softening of each class (particles/softening.h); NULL: there is one */
  const float *eps2;
  int as_device; /* 1: for studies, the CPU backend selects and counts as a device does */
};

/* Where particles of a rank can be within the horizon: cuboids at rest that contain their predicted trajectories with
 * the motion bound. The parts are relative to the cuboid of all, [low, high], in units of 1 / REACH_STEPS of its sides,
 * rounded outwards. */
enum { REACH_PARTS = 16, REACH_STEPS = 65535 };

struct let_reach {
  double low[3], high[3];
  uint16_t part_low[REACH_PARTS][3], part_high[REACH_PARTS][3];
  int32_t parts; /* 0: there are no particles */
  int32_t pad;
};

/* The top of a rank's tree (tree/upper.h), up to TOP_CELLS. With 32 cells 67 of 511 ranks send a rank a LET
 * (doc/measurements.md, soft LET contacts). */
enum { TOP_CELLS = 32, TOP_SEEN = 256 };

/* `info` of a closed cell that every target accepts to which the top is sent (top_enough) */
#define TOP_ENOUGH (NODE_TERMINAL | 1u)

struct let_top {
  int32_t cells, pad;
  /* [cells], the root first; `info`: the number of children, from node[first] on, or NODE_TERMINAL: closed */
  struct node node[TOP_CELLS];
  float quad[TOP_CELLS][6]; /* second moments */
};

/* LET summary of a rank, or of a group of ranks (mpi/let/stages.h), which ranks exchange: of the exchange at a
 * synchronisation the top of its tree and one box around its targets, of an exchange for substeps what its particles
 * and its targets can reach. */
struct let_summary {
  int64_t particles; /* of the rank; 1 where there are some, in a summary that was received at a synchronisation */
  int32_t boxes;     /* number of its boxes; the same */
  int32_t pad;
  struct let_box box; /* around all boxes */
  struct let_top top;
  struct let_reach source, target;
};

/* Cells and particles in received LETs. */
struct let_count {
  int64_t cells, particles;
};
#endif
