/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Selection of LETs for several receivers at once: what choose.cu and pack.cu share. */
#ifndef GPU_CHOICE_CUH
#define GPU_CHOICE_CUH
#include "gpu/let/choose.h"
#include "gpu/let/let.cuh"
#include "backend/let_verbs.h"

enum {
  RECEIVERS_MAX = 32, /* receivers at once: the pointers of their messages are a kernel argument */
  GENERATIONS = KEY_LEVELS + 3
};

/* A receiver. Its boxes are divided into chunks of LANES boxes. */
struct receiver {
  double origin[3];
  int32_t chunk, chunks;
};

/* Counts of a selection. */
struct selection_counts {
  int32_t cells[GENERATIONS + 1];        /* opened cells of each generation; the first is not counted */
  int32_t leaves;                        /* opened leaves, if they are listed */
  int32_t ticks_left_max[RECEIVERS_MAX]; /* TICKS minus the first tick at which a particle will be corrected */
  uint64_t total[RECEIVERS_MAX];         /* selected nodes and particles, see choose_share */
};

struct selection_buffers {
  struct array<char> table; /* receivers, boxes, bounds of chunks */
  struct pinned host_table;
  struct array<char> numbers;            /* struct selection_counts, marks, sums, kept particles: all initially zero */
  struct selection_counts *host_results; /* pinned */
  struct array<int2> cell, leaf;         /* lists, which grow if they overflow */
};

struct choose_job {
  struct tree t;
  struct essential_query query; /* without an origin */
  float cutoff;
  int receivers, moving, list_leaves;
  int32_t root;
  int32_t origin;            /* the node of the first bit of the marks, at or before the root */
  int32_t words, keep_words; /* of each receiver */
  const struct receiver *receiver;
  const float4 *box;             /* [chunk][3][LANES] */
  const struct box_bound *bound; /* [chunk] */
  struct selection_counts *chosen;
  unsigned long long *mark, *sum; /* [receiver][words]; `sum` has one more */
  unsigned *keep;                 /* [receiver][keep_words]: a bit for every particle */
  int2 *cell, *leaf;              /* {first child, their number | receiver << RECEIVER_SHIFT}; {node, receiver} */
  int32_t cell_capacity, leaf_capacity;
  const int32_t *tick;
  const uint8_t *level;
};
enum { RECEIVER_SHIFT = 8, CHILDREN_MASK = (1 << RECEIVER_SHIFT) - 1 };

/* Pack the messages of the selected nodes, with moments of a tick, on the device. Without `bypass` they are copied to
 * the host, else their heads alone. Queued. */
void pack_messages(struct device *d, enum let_kind kind, int32_t motion_tick, const struct choose_job &job,
                   struct let_choice *const *choice);
/* Free the state of choose.cu. */
void device_choose_close(struct device *d);
#endif
