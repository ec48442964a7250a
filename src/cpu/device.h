/* SPDX-License-Identifier: GPL-3.0-or-later */
/* State of the CPU backend, private to src/cpu; the functions behind its table are declared below, and described with
 * the contract (backend/backend.h). */
#ifndef CPU_DEVICE_H
#define CPU_DEVICE_H
#include "backend/backend.h"
#include "backend/neighbour_list_verbs.h"
#include "backend/let_verbs.h"
#include "base/sparse.h"
#include "cpu/walk_isa.h"
#include "particles/softening.h"
#include "tree/essential.h"

enum { LEVELS = 32, BOX_MAX = 512 };

/* Particles of a node of the local tree: [begin, end), its level below the root, whether its cube reaches over the
 * faces of the domain, and how many particles with mass precede it along the curve. */
struct range {
  int32_t begin, end;
  int32_t level, cut;
  int32_t before;
};

/* The softenings of the particles of a node: classes, and the sum of mass times eps^2. */
struct node_softening {
  double sum;
  uint8_t low, high;
};

/* An element of the sort: a key and the index of its particle. */
struct item {
  uint64_t key;
  int64_t from;
};

/* Consecutive particles that share an interaction list. */
struct group {
  int32_t begin, end;
  int32_t before; /* particles with mass that precede it along the curve */
  float a_old;    /* smallest |a_old| */
};

/* One LET: what was received from a peer, and what was selected to be sent to it. */
struct let {
  struct octree tree; /* its arrays stand in `message` */
  void *message;
  size_t message_capacity;
  int attached;
  struct octree sent; /* its arrays stand in `packed` */
  void *packed;
  size_t packed_capacity, packed_bytes;
  int32_t *node_from, *source_from; /* local node and source behind each packed one */
  int64_t node_capacity, source_capacity;
  /* of LET_STEP: what the peer must still learn */
  int64_t at_level[LEVELS]; /* entries at each block level */
  int32_t *pending;         /* entries that were corrected since the last update */
  int64_t pendings, pending_capacity;
};

/* An entry of the LET that a peer has. */
struct sent_entry {
  int32_t peer, entry;
};

/* State since LETs of substeps were selected: the predicted trajectories that the selection assumed, and which peers
 * have which particle. */
struct let_watch {
  int on;
  int32_t tick, end; /* when they were selected; until when the selection is valid */
  double tick_length;
  int32_t collected; /* tick of the last corrections that went to the pending lists */
  int64_t capacity, sent_entry_capacity;
  int32_t *x[3];       /* positions then */
  float *v[3], *limit; /* velocities then; largest deviation of a particle from its predicted trajectory */
  uint8_t *level;      /* as the peers' `next` was counted with */
  uint32_t *first;     /* entries of particle i: sent_entry[first[i]] up to sent_entry[first[i + 1]] */
  struct sent_entry *sent_entry;
};

/* Of the energy verbs. */
struct potentials {
  double *fine;   /* [n] of the last WALK_POTENTIAL, members of its groups only, */
  int32_t stride; /* and which groups they are; 0: there are none */
  int soft;       /* they lack the hard part */
  float *kept;    /* [n] the hard part; NULL: not kept */
};

/* The local tree: what walks do not need of it. */
struct local_tree {
  /* particles with mass: the first ones since the last sort. The tree holds these alone; */
  int32_t massive;
  /* the cells of the others are behind its nodes, with links and ranges only, for groups */
  int32_t light_nodes;
  /* block of the sources; from order to the end of build: memory of the sort (order.c), */
  void *sources;
  uint64_t *key; /* and the sorted keys */
  /* nodes with their ranges, moments, and sources have each a capacity of their own */
  int64_t node_capacity, moment_capacity, source_capacity;
  struct node_softening *soften; /* of each node, where softenings differ */
  size_t soften_capacity;        /* bytes */
  struct range *range;
  int level_begin[KEY_LEVELS + 3]; /* nodes of level l are [level_begin[l], level_begin[l + 1]) */
  int levels;
  int quadrupole;         /* the moments are of order 2 */
  int fresh;              /* no moments since it was built */
  int sorted_within_step; /* the particles were sorted within a soft step: the build keeps their motion states */
  int64_t *histogram;     /* of the sort */
};

/* Groups of targets. */
struct target_state {
  struct group *group;
  int32_t groups, massive_groups; /* those of particles with mass come first */
  int64_t group_capacity;
  double group_width; /* TUNABLE_GROUP_WIDTH, */
  int narrow;         /* and the first level of cells that are not wider */
  int32_t *group_of;  /* of every particle */
  int64_t group_of_capacity;
};

/* Boxes of groups, as last asked for: of the particles begin[0][b] up to begin[0][b + 1] and, without mass, begin[1][b]
 * ... */
struct box_state {
  struct let_box box[BOX_MAX];
  int32_t begin[2][BOX_MAX + 1];
  int count;
};

/* Particles sorted by level, deepest first; those with level l or deeper are the first deeper[l]. */
struct level_state {
  int32_t *particle;
  int64_t deeper[LEVELS + 1];
  int valid;
};

/* Stars of this rank's units that other ranks own, at the end of a soft step. */
struct lent_stars {
  struct unit_star *star;
  int64_t n, capacity;
};

/* Collisions in this rank's units; n is above the capacity where some are missing. */
struct collision_list {
  struct list_collision *at;
  int64_t n;
};

/* The active particles of a substep. */
struct active_state {
  uint8_t *flag;         /* of every particle */
  uint8_t *touched;      /* groups with active members */
  int32_t *list, *group; /* active particles and their groups, both ascending, */
  int32_t *first;        /* and the place in `list` of the first particle of each of these groups */
  int32_t count, groups;
  int64_t capacity, touched_capacity;
  int32_t tick;
};

/* Of a forest that is walked in parts (walk.c). */
struct forest_state {
  double *sum;
  size_t sum_capacity; /* bytes */
  int64_t *pairs;      /* interactions of the groups */
  size_t pair_capacity;
};

struct device {
  struct device_config config;
  struct softening softening;       /* of the types */
  double event_time[DEVICE_EVENTS]; /* the clock */
  struct particles p;               /* the arrays are the host's: no copy on this backend */
  struct lattice lattice;
  void *packed;       /* particles that leave, from pack to order */
  struct octree tree; /* the local one */
  struct local_tree local;
  struct target_state targets;
  struct box_state boxes;
  struct level_state by_level;
  struct lent_stars lent; /* by the last advance (neighbour_list_verbs.h) */
  struct collision_list collisions;
  struct active_state active;
  struct let_watch watch;
  struct forest_state forest;
  struct potentials potentials;
  struct sparse let[LET_KINDS]; /* struct let of every peer that has, or has had, a LET */
  void *update;                 /* the last update of a LET, unless it was taken */
  size_t update_capacity;
  const struct walk_isa *isa;
  struct workspace **workspace; /* one a thread */
  int threads;
};

/* The functions of the backend's tables, by file. */
int64_t cpu_order(struct device *d, const struct lattice *lattice);
void cpu_reorder(struct device *d, int32_t tick, double tick_length, level_bands bands, int from);
void cpu_build(struct device *d, const double low[3], const double high[3]);
void cpu_moments(struct device *d, const struct mac *mac, int32_t tick, double tick_length);
void cpu_sources(struct device *d);
void cpu_groups(struct device *d);
void cpu_tune(struct device *d, enum tunable tunable, double value);
int cpu_boxes(struct device *d, const struct let_request *request, int capacity, struct let_box *boxes);
void cpu_let_summary(struct device *d, const struct let_request *request, struct let_summary *summary);
void cpu_let_select(struct device *d, enum let_kind kind, const struct let_request *request, int count,
                    struct let_choice *choice);
void cpu_let_sent(struct device *d, enum let_kind kind, int peer);
void *cpu_let_reserve(struct device *d, enum let_kind kind, int peer, size_t bytes);
void cpu_let_attach(struct device *d, enum let_kind kind, int peer, size_t bytes, struct let_count *count);
void cpu_let_clear(struct device *d, enum let_kind kind);
void cpu_let_upper(struct device *d, enum let_kind kind, int self, int64_t nodes, const struct node *node,
                   const float (*quad)[6]);
void cpu_let_free(struct device *d);
/* Give back the memory of all LETs but of messages that are on their way, and of the watch. */
void cpu_let_drop(struct device *d);
void cpu_let_watch(struct device *d, const struct let_request *request);
size_t cpu_let_update(struct device *d, int peer, int32_t tick, enum let_update_scope scope, int32_t *next,
                      void **message);
void cpu_let_take_update(struct device *d);
size_t cpu_let_update_bytes_max(struct device *d, int peer);
struct let_count cpu_let_entries(struct device *d, enum let_kind kind, int peer, int64_t *count);
size_t cpu_let_update_bytes(const struct let_request *request, int64_t entries, int64_t cells);
int64_t cpu_let_apply(struct device *d, int peer, const void *message, size_t bytes);
int64_t cpu_violations(struct device *d, int64_t *late);
void cpu_watch_free(struct device *d);
void cpu_active_free(struct device *d);
void cpu_walk(struct device *d, const struct walk_request *request, struct tally *tally);
double cpu_ceiling(struct device *d);
void cpu_direct(struct device *d, int64_t n, const double (*at)[3], const uint64_t *skip, const uint8_t *type,
                const struct split *split, double (*acc)[3], double (*hard)[3], double *pot);
void cpu_nearest(struct device *d, int64_t n, const double (*at)[3], const uint64_t *skip, int k, double *distance);
struct potential_sums;
struct heavy_particle;
void cpu_energy_keep(struct device *d);
void cpu_energy_sums(struct device *d, double limit, struct potential_sums *sums);
int cpu_energy_heavy(struct device *d, double limit, struct heavy_particle *heavy);
void cpu_energy_set(struct device *d, int n, const struct heavy_particle *heavy, const double *pot);
/* Forget potentials that were kept. */
void cpu_energy_drop(struct device *d);
struct list_request;
struct list_tally;
struct halo_particle;
int cpu_lists_has(enum step_integrator integrator);
void cpu_lists_advance(struct device *d, const struct list_request *request, int64_t n,
                       const struct halo_particle *halo, struct list_tally *tally);
void cpu_lists_potential(struct device *d, const struct list_request *request, int64_t n,
                         const struct halo_particle *halo);
double cpu_lists_pair_kinetic(struct device *d, const struct list_request *request, int64_t n,
                              const struct halo_particle *halo);
const struct unit_star *cpu_lists_lent(struct device *d, int64_t *n);
const struct list_collision *cpu_lists_collisions(struct device *d, int64_t *n);
void cpu_lists_take_back(struct device *d, int64_t n, const struct unit_star *stars);
void cpu_kick(struct device *d, const struct field *field, double dt);
void cpu_push(struct device *d, const double *change);
double cpu_rate(struct device *d, const struct field *field);
void cpu_gravity(struct device *d, double gravity);
void cpu_add_field(struct device *d, const struct field *field, enum walk_kind kind, int split, int32_t tick);
void cpu_split_soft(struct device *d);
int cpu_levels(struct device *d, const struct step_rule *rule, int shared);
int32_t cpu_next_tick(struct device *d);
int64_t cpu_select(struct device *d, int32_t tick, double tick_length, int64_t *outside);
void cpu_correct(struct device *d, int32_t tick, double tick_length, const struct step_rule *rule, int shared);
void cpu_drift_to_end(struct device *d, double tick_length);
void cpu_finish(struct device *d, double tick_length);
void cpu_reduce(struct device *d, const struct field *field, struct sums *sums);
void cpu_histogram(struct device *d, int64_t *count);
struct halo_particle *cpu_halo(struct device *d, const struct list_request *request, int boxes, const double (*box)[6],
                               int skip, int64_t *counts);

/* Replace *block by one of at least `bytes` if it is shorter; its contents are lost then. `label`: of the memory
 * statistics. */
void cpu_reserve(void **block, size_t *capacity, size_t bytes, const char *label);
/* Seconds on a monotonic clock. */
double cpu_seconds(void);
/* Room for `n` elements with some to spare, so that small changes of a number do not reallocate. */
static inline int64_t cpu_spare(int64_t n) { return n + n / 32 + 64; }

/* The LETs of a kind from and for a peer. At its first use for one thread (base/sparse.h). */
static inline struct let *cpu_let(struct device *d, enum let_kind kind, int peer)
{
  return sparse_at(&d->let[kind], peer);
}
/* The particles of box b: with mass, kind 0, and without, kind 1. */
struct range cpu_box_range(const struct device *d, int b, int kind);
/* Mass of source i of the local tree, without the class of its softening. */
static inline float cpu_source_mass(const struct device *d, int64_t i)
{
  float m = d->tree.source.m[i];
  return d->softening.classes > 1 ? softening_mass(m) : m;
}
/* Room for `n` sources; their values are lost where it is too small. */
void cpu_reserve_sources(struct device *d, int64_t n);
void cpu_walk_free(struct device *d);
#endif
