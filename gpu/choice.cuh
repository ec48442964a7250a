/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The choice of LETs for several receivers at once: what choose.cu and pack.cu share. */
#ifndef GPU_CHOICE_CUH
#define GPU_CHOICE_CUH
#include "choose.h"
#include "let.cuh"

enum {
  RECEIVERS_MOST = 32,             /* at once: what is told of their messages is a kernel's argument */
  GENERATIONS = KEY_LEVELS + 3
};

/* A receiver's boxes are cut into chunks of a warp's. */
struct receiver {
  double origin[3];
  int32_t chunk, chunks;
};

/* Numbers of a choice. */
struct chosen {
  int32_t cells[GENERATIONS + 1];      /* found for each generation; the first is not counted */
  int32_t leaves;                      /* opened, if they are listed */
  int32_t soonest[RECEIVERS_MOST];     /* TICKS less the first tick at which a particle will be corrected */
  uint64_t total[RECEIVERS_MOST];      /* chosen nodes and particles, as a share */
};

struct choosing {
  struct array<char> table;            /* receivers, boxes, bounds of chunks; */
  struct pinned table_told;
  struct array<char> numbers;          /* struct chosen, marks, sums, kept particles: all begin as zeros */
  struct chosen *told;                 /* pinned */
  struct array<int2> cell, leaf;       /* lists that grow when they turn out to be too short */
};

struct choose_job {
  struct tree t;
  struct asking asking;                /* without an origin */
  float cutoff;
  int receivers, moving, list_leaves;
  int32_t root;
  int32_t words, keep_words;           /* of each receiver */
  const struct receiver *receiver;
  const float4 *box;                   /* [chunk][3][WARP] */
  const struct box_bound *bound;       /* [chunk] */
  struct chosen *chosen;
  unsigned long long *mark, *sum;      /* [receiver][words]; of sums there is one more */
  unsigned *keep;                      /* [receiver][keep_words]: a bit for every particle */
  int2 *cell, *leaf;                   /* {first child, their number | receiver << RECEIVER_SHIFT}; {node, receiver} */
  int32_t cell_room, leaf_room;
  const int32_t *tick;
  const uint8_t *level;
};
enum { RECEIVER_SHIFT = 8, CHILDREN_MASK = (1 << RECEIVER_SHIFT) - 1 };

/* The messages of what was chosen, with moments of a tick, on the device; on the host too, or there the heads alone. */
void pack_messages(struct device *d, enum let_kind kind, int32_t motion_tick, const struct choose_job &job, struct let_choice *const *choice);
#endif
