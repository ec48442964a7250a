/* SPDX-License-Identifier: GPL-3.0-or-later */
/* State of the CPU backend; known to src/cpu alone. */
#ifndef CPU_DEVICE_H
#define CPU_DEVICE_H
#include "backend.h"
#include "walk_isa.h"

/* Particles of a node of the local tree: [begin, end), and its level below the root. */
struct range {
  int32_t begin, end;
  int32_t level;
};

/* What is sorted: a key, and where its particle stands. */
struct item {
  uint64_t key;
  int64_t from;
};

/* Consecutive particles that share an interaction list. */
struct group {
  int32_t begin, end;
  float a_old;    /* smallest |a_old| */
};

/* One LET: what was received from a peer, and what was selected to be sent to it. */
struct let {
  struct octree tree;              /* its arrays stand in `message` */
  void *message;
  size_t message_capacity;
  int attached;
  struct octree sent;              /* its arrays stand in `packed` */
  void *packed;
  size_t packed_capacity, packed_bytes;
  int32_t *node_from, *source_from; /* local node and source behind each packed one */
  int64_t node_capacity, source_capacity;
};

struct device {
  struct device_config config;
  struct particles p;              /* the arrays are the host's: no copy on this backend */
  struct lattice lattice;
  struct particles spare;          /* lends arrays to the sort */
  uint64_t *key;
  int64_t *permutation;
  struct item *item[2];
  int64_t *histogram;
  int64_t order_capacity;
  void *packed;

  struct octree tree;
  int64_t node_capacity, source_capacity;
  struct range *range;
  int level_begin[KEY_LEVELS + 3]; /* nodes of level l are [level_begin[l], level_begin[l + 1]) */
  int levels;

  struct group *group;
  int32_t groups;
  int64_t group_capacity;

  uint8_t *active;                 /* of every particle, in a substep */
  int64_t active_capacity;
  int32_t active_tick;

  struct let *let[LET_KINDS];      /* [ranks] */
  const struct walk_isa *isa;
  struct workspace **workspace;    /* one a thread */
  int threads;
};

/* The verbs, by file. */
int64_t cpu_order(struct device *d, const struct lattice *lattice);
void cpu_build(struct device *d);
void cpu_moments(struct device *d, const struct mac *mac, int32_t tick, double tick_length);
void cpu_sources(struct device *d);
void cpu_groups(struct device *d);
int cpu_boxes(struct device *d, int most, struct let_box *boxes);
size_t cpu_let_select(struct device *d, enum let_kind kind, int peer, const struct let_request *request, void **message);
size_t cpu_let_refresh(struct device *d, enum let_kind kind, int peer, void **message);
void *cpu_let_room(struct device *d, enum let_kind kind, int peer, size_t bytes);
void cpu_let_attach(struct device *d, enum let_kind kind, int peer, size_t bytes, struct let_count *count);
void cpu_let_clear(struct device *d, enum let_kind kind);
void cpu_let_free(struct device *d);
void cpu_walk(struct device *d, const struct walk_request *request, struct tally *tally);
double cpu_ceiling(struct device *d);
void cpu_direct(struct device *d, int64_t n, const double (*at)[3], const uint64_t *skip, const struct split *split,
                double (*acc)[3], double (*hard)[3], double *pot);
void cpu_nearest(struct device *d, int64_t n, const double (*at)[3], const uint64_t *skip, int k, double *distance);
void cpu_kick_soft(struct device *d, double dt);
void cpu_split_soft(struct device *d);
int cpu_levels(struct device *d, const struct step_rule *rule, int shared);
int32_t cpu_next_tick(struct device *d);
int64_t cpu_select(struct device *d, int32_t tick, double tick_length, int64_t *outside);
void cpu_correct(struct device *d, int32_t tick, double tick_length, const struct step_rule *rule, int shared);
void cpu_drift_to_end(struct device *d, double tick_length);
void cpu_finish(struct device *d, double tick_length);
void cpu_reduce(struct device *d, struct sums *sums);
void cpu_histogram(struct device *d, int64_t *count);

/* Seconds on a monotonic clock. */
double cpu_seconds(void);
void cpu_walk_free(struct device *d);
#endif
