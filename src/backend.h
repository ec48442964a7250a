/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table that a device implements: the only door to it. The host sees counts, boxes, messages and tallies.
 *
 * Order of a soft step: [pack, unpack] order, build, moments, groups, boxes, let_select, let_attach, walk, ... A verb
 * says what it needs. Verbs queue work on the device where it can queue; what returns numbers to the host waits for them. */
#ifndef BACKEND_H
#define BACKEND_H
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lattice.h"
#include "mac.h"
#include "octree.h"
#include "particles.h"
#include "split.h"
#ifdef __cplusplus
extern "C" {
#endif

#define TICKS 1073741824   /* 2^30 ticks in a soft step */

struct device;   /* a backend's own state */

/* How walks find what particles feel. */
enum walk_method {
  METHOD_GROUPS,      /* lists of groups */
  METHOD_NEXT_MORE,   /* every particle goes depth-first through the tree by itself */
  METHOD_DIRECT,      /* all pairs, no tree */
  METHOD_AUTO         /* the faster of METHOD_GROUPS and METHOD_DIRECT for so many particles */
};

struct device_config {
  double gravity, softening;
  int max_leaf, max_group;
  int quadrupole;   /* cells carry second moments */
  int ranks;        /* room for the LETs of so many ranks */
  int node_rank;    /* this rank's number on its node: it takes the device of this number, counted round */
  enum walk_method method;
};

/* Numbers that trade one kind of work for another. Forces by different values differ within the criterion's error. */
enum knob {
  KNOB_GROUP_WIDTH,   /* groups lie in cells no wider than this, or in a leaf (HUGE_VAL, as after open: no limit) */
};

/* What a verb did; the single stream that feeds timers, cost model, log. */
struct tally {
  double seconds;
  int64_t targets;          /* particles that got a force */
  int64_t particle_pairs;   /* target-particle interactions */
  int64_t cell_pairs;       /* target-cell interactions */
  int64_t split_pairs;      /* of both, those that went through the split kernel */
  int64_t tests;            /* acceptance tests */
  int64_t groups;           /* interaction lists */
  double evaluating;        /* seconds spent in pair loops, mean over the threads */
};

/* A cuboid of a rank's groups, for the choice of LETs. It moves with the mean velocity of its particles, and holds all of
 * them from now to the end of the horizon on their straight ways. */
struct let_box {
  double low[3], high[3];  /* now, in the frame that moves */
  double a_old;            /* smallest |a_old| within (floored, see walk_request) */
  double v[3];             /* mean velocity */
  double a_spread;         /* largest hard acceleration within */
};

enum let_kind { LET_SOFT, LET_STEP, LET_KINDS };   /* of the synchronisation; of the substeps */

struct let_request {
  const struct let_box *boxes;   /* of the receiver */
  int box_count;
  const struct mac *mac;
  double a_floor;                /* |a_old| is raised to it */
  double a_typical;              /* rms acceleration: what particles may feel beside the accelerations around them */
  double cutoff;                 /* only what can come within it (R2); negative: no limit */
  double horizon;                /* for so long a time from now (0: now) */
  int32_t tick;                  /* now */
  double tick_length;
};

/* Messages between ranks (particles that move, LETs, updates) are a backend's own: all ranks of a run have the same backend.
 * They are in the host's memory. */

/* What every rank knows of every other (one allgather): the root of its tree, and one box around its targets. */
struct let_card {
  struct node root;
  struct motion motion;
  float quad[6];
  int32_t boxes;          /* how many boxes it has for those who ask */
  int32_t pad;
  int64_t particles;
  struct let_box box;     /* around all boxes */
};

/* What came with LETs. */
struct let_count {
  int64_t cells, particles;
};

enum walk_kind {
  WALK_TOTAL,      /* acc and pot of all particles at a synchronisation; with the split on also acc_hard */
  WALK_HARD,       /* acc_hard of the active particles, at `tick`; entries within R2 only where the split is on */
};

struct walk_request {
  enum walk_kind kind;
  struct mac mac;
  double a_floor;        /* |a_old| is raised to it */
  struct split split;
  enum let_kind let;     /* which LETs the forest has */
  int32_t tick;          /* sources are predicted to it */
  double tick_length;    /* time of one tick */
  int potential;         /* WALK_TOTAL: pot as well */
  /* The forest may be walked in parts: the first call has `local`, the last one `last`; sums are kept between. Trees are
   * added in the order of the calls and of `peers`, so how a forest is parted changes no bit. */
  int local;             /* the local tree: sums start anew */
  const int *peers;      /* the LETs of these, in this order */
  int peer_count;
  int last;              /* forces are stored */
  void (*progress)(void *);   /* called now and then by the calling thread while the walk goes on; may be NULL */
  void *progress_of;
};

struct sample {
  double pos[3];
  double work;   /* see particles.h */
  uint64_t id;
};

/* Sums over the particles of this rank, for diagnostics. Doubles only: they are added over ranks as one array. */
struct sums {
  double mass, count;
  double kinetic[PARTICLE_TYPES], potential[PARTICLE_TYPES];
  double momentum[3], angular[3], com[3];   /* com: sum of m x */
  double acc2;                              /* sum of m a^2 */
  double acc2_count;                        /* sum of a^2 */
  double bad;                               /* particles with a value that is not finite */
};

/* How particles choose their steps (numerics: both accelerations, velocity about the centre of mass). */
struct step_rule {
  double eta, softening;
  double v_com[3];
  int use_velocity;      /* min-av; else the acceleration alone */
  double soft_step;
};

/* Cuts of space into px * py * pz cuboids: x[0..px], y of every column, z of every pillar (see cuboids.h). */
struct domain;

struct backend {
  const char *name;
  int tunes;        /* whether Tuning = auto is on */
  int ranks_most;   /* it serves runs on at most so many ranks; 0: on any number */
  unsigned methods; /* the walk methods that it has, a bit for each */
  int particle_bytes;   /* of its own memory a particle takes, about; 0: it is the host's */
  int split_bytes;      /* and so many more, where there is room, with the split on: lists of neighbours */
  int rebuild_interval;   /* shortest steps of a soft step after which a new tree is worth its build; 0: never */
  /* Number of devices; where it is 0, `why` says the reason. */
  int (*probe)(char *why, size_t size);
  /* A line about each device, for people. */
  void (*describe)(FILE *out);
  struct device *(*open)(const struct device_config *config);
  void (*close)(struct device *d);

  /* The device's particles become these; the host's set may not be used until download (which brings all fields back,
   * in the device's order). */
  void (*upload)(struct device *d, struct particles *p);
  void (*download)(struct device *d, struct particles *p);
  /* The particles as they are, for reading only (files, tests), until the next verb. */
  const struct particles *(*view)(struct device *d);
  /* Their number. */
  int64_t (*count)(struct device *d);

  /* Smallest box around the particles and the places that they may reach within `horizon`: x + v t, give or take
   * acc t^2 / 2 ([1e300, -1e300] when there are none). */
  void (*bounds)(struct device *d, double horizon, double low[3], double high[3]);
  /* The particles whose hashed id is at most `threshold` (UINT64_MAX: all), at most `most` of them; returns how many. The
   * choice does not depend on ranks. *work (may be NULL): the work of all particles here. */
  int64_t (*sample)(struct device *d, uint64_t threshold, int64_t most, struct sample *out, double *work);
  /* Take the particles whose home is another rank out of the set, packed by destination: *buffer (owner: device, until
   * the next call) with counts[rank] particles for each rank, in rank order. Returns how many stayed. */
  int64_t (*pack)(struct device *d, const struct domain *domain, int self, int64_t *counts, void **buffer);
  /* Append so many packed particles. */
  void (*unpack)(struct device *d, const void *buffer, int64_t count);

  /* Lattice coordinates, keys, sort into Peano-Hilbert order. Returns how many lay outside the lattice. */
  int64_t (*order)(struct device *d, const struct lattice *lattice);
  /* The same on the lattice that there is, by the places that the particles have at `tick`: within a soft step, while nobody is
   * between select and correct. Everyone stays where and when it is; the next tick and the levels stay known. Needs sources.
   * Then build and groups are due (sources keep their courses), and moments at this tick: nodes enclose their particles at that
   * time. LETs chosen before it cannot be told of corrections any more: a run on several ranks chooses them anew.
   * Particles of block level `fast` and deeper may get a tree of their own (a level that nobody has: one tree of all). With
   * `renew`, and the same `fast` as before in this soft step, it is enough to renew the tree of those that were that fast the
   * last time, and all that is due then is about that tree alone. A backend may always do all. */
  void (*reorder)(struct device *d, int32_t tick, double tick_length, int fast, int renew);
  /* The octree of the sorted particles (links only). Cells that reach over the faces of this rank's cuboid (MAC_CUT) are
   * marked; infinite faces (1e300) cut nothing. */
  void (*build)(struct device *d, const double low[3], const double high[3]);
  /* Moments and motions of all nodes from the particles as they are at `tick`; also a refresh between builds. Radii of cells
   * of many particles may be bounds by their children's, up to twice as large; right after a build they are exact. */
  void (*moments)(struct device *d, const struct mac *mac, int32_t tick, double tick_length);
  /* Sources take velocity, hard acceleration and time from the particles (after kicks). */
  void (*sources)(struct device *d);
  /* Groups of targets with enclosing balls and smallest |a_old|; needs build. */
  void (*groups)(struct device *d);
  /* Set a knob, at any time; it is looked at by the next `groups`. */
  void (*tune)(struct device *d, enum knob knob, double value);
  /* At most `most` boxes around this rank's groups, of positions predicted to the request's tick, for its horizon; returns
   * how many. */
  int (*boxes)(struct device *d, const struct let_request *request, int most, struct let_box *boxes);
  /* The root with its motion and second moments, and the number of particles, into the card; needs moments. */
  void (*card)(struct device *d, struct let_card *card);

  /* Choose and pack the LET for one receiver. *message (owner: device, until the next selection of this kind for the
   * same peer). Needs moments at the request's tick. LET_STEP: *next becomes the tick at which the first of its entries
   * will be corrected, TICKS where none will in this soft step; else next may be NULL. Returns the message's bytes. The
   * chosen nodes stand in the message in the order of the local tree, which is breadth-first. */
  size_t (*let_select)(struct device *d, enum let_kind kind, int peer, const struct let_request *request, int32_t *next, void **message);
  /* The place where a message from a peer is to be received (owner: device), and its use as part of the forest. A message
   * of no bytes takes the peer out of the forest. `count` is added to. */
  void *(*let_room)(struct device *d, enum let_kind kind, int peer, size_t bytes);
  void (*let_attach)(struct device *d, enum let_kind kind, int peer, size_t bytes, struct let_count *count);
  /* The roots of so many ranks, each accepted as one cell by all targets here, become the LET of peer `self`. */
  void (*let_roots)(struct device *d, enum let_kind kind, int self, int count, const struct let_card *const *cards);
  /* Forget all LETs of a kind. */
  void (*let_clear)(struct device *d, enum let_kind kind);

  /* LETs of substeps are sent once and then kept up to date. let_watch begins that for what let_select has chosen for
   * LET_STEP since let_clear, with the same request. */
  void (*let_watch)(struct device *d, const struct let_request *request);
  /* What a peer must learn after `correct` at this tick: its entries among the particles that were corrected at it, and with
   * `cells` all cells (moments were taken at this tick). To be asked for every peer with a LET at every such tick. *next becomes the tick at which the next of its entries will be
   * corrected. Packs into *message (owner: device, until the next call for this peer) and returns the bytes, 0 when there
   * is nothing to tell. */
  size_t (*let_update)(struct device *d, int peer, int32_t tick, int cells, int32_t *next, void **message);
  /* Bytes of an update of a peer's LET in which all its entries were corrected, with all cells. */
  size_t (*let_update_most)(struct device *d, int peer);
  /* Take an update of a peer's LET, whose message may go when this returns; returns how many particles it told of. */
  int64_t (*let_apply)(struct device *d, int peer, const void *message, size_t bytes);
  /* Particles that were corrected by the last `correct` and have left, or will leave before the end of the horizon, the
   * way that the choice of LETs allowed for; *late: those that have already. */
  int64_t (*strays)(struct device *d, int64_t *late);

  /* Forces from the local tree and then from each attached LET in the order of the request. Each target's interactions
   * (its group's mean) are added to `work`, of which WALK_TOTAL first leaves WORK_KEPT. */
  void (*walk)(struct device *d, const struct walk_request *request, struct tally *tally);
  /* Interactions per second of a plain direct-sum loop over point masses (acceleration and potential) in the pair
   * arithmetic of `walk`, all threads: the ceiling of the walk. */
  double (*ceiling)(struct device *d);
  /* The same of direct sums over n particles, each of whose pulls `share` threads (1, 2, 4, ... 32) sum up; with share 0 as
   * many as METHOD_DIRECT takes. *share becomes the number taken. NULL where there is no METHOD_DIRECT. */
  double (*pair_rate)(struct device *d, int64_t n, int *share);
  /* Double-precision direct sum of this rank's particles at given points: acc[n][3], pot[n] (added to); sources at no
   * distance whose id is skip[i] are left out. hard: with the split's K, or NULL. */
  void (*direct)(struct device *d, int64_t n, const double (*at)[3], const uint64_t *skip, const struct split *split,
                 double (*acc)[3], double (*hard)[3], double *pot);
  /* Distances from given points to the k nearest local particles (excluding the id in skip), ascending; missing: 1e300. */
  void (*nearest)(struct device *d, int64_t n, const double (*at)[3], const uint64_t *skip, int k, double *distance);

  /* v += dt acc_soft, all particles. */
  void (*kick_soft)(struct device *d, double dt);
  /* acc_soft = acc - acc_hard. */
  void (*split_soft)(struct device *d);
  /* Choose levels at a synchronisation; returns the largest. With `shared` >= 0 everyone gets that level. */
  int (*levels)(struct device *d, const struct step_rule *rule, int shared);
  /* The next tick at which somebody's step ends (TICKS at the latest). */
  int32_t (*next_tick)(struct device *d);
  /* Hard steps that the particles would make in this soft step if they kept their levels: the sum of 2^level. */
  int64_t (*hard_steps)(struct device *d);
  /* Particles whose step ends at `tick` become active; returns how many. Their positions are predicted to it; *outside is
   * raised by those that left the lattice (and act as sources from its faces). Needs groups. */
  int64_t (*select)(struct device *d, int32_t tick, double tick_length, int64_t *outside);
  /* Close the steps of the active particles: kicks, new time, next level (`shared` as in levels). */
  void (*correct)(struct device *d, int32_t tick, double tick_length, const struct step_rule *rule, int shared);
  /* End of a soft step: everyone is predicted to TICKS and gets the opening half of the closing kick, with the old
   * acc_hard; after the walk `finish` gives the other half and sets the ticks to 0. */
  void (*drift_to_end)(struct device *d, double tick_length);
  void (*finish)(struct device *d, double tick_length);

  void (*reduce)(struct device *d, struct sums *sums);
  /* Number of particles at each level, 32 entries. */
  void (*histogram)(struct device *d, int64_t *count);
  void (*wait)(struct device *d);
  /* The host goes on to this phase (NULL: to none), for profilers. May be NULL. */
  void (*phase)(const char *name);
};

extern const struct backend backend_cpu, backend_cuda;

/* All backends that this program knows, also those that were not compiled: these have a name and a probe that says why
 * not. Returns their number. */
int backend_list(const struct backend *const **list);
/* The backend for `choice` (enum backend_choice) and a run on so many ranks, or NULL with the reason. Where a device is there
 * that `auto` does not take, `why` says why; else it is empty. */
const struct backend *backend_choose(int choice, int ranks, char *why, size_t size);
/* Whether it has a walk method, on so many ranks; else `why` says which has. */
int backend_walks(const struct backend *be, enum walk_method method, int ranks, char *why, size_t size);

#ifdef __cplusplus
}
#endif
#endif
