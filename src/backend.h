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

enum { STAMPS = 8 };       /* of a backend, to time what it does */

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
  int rank;         /* of the run, for messages */
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
  double local_seconds;     /* of `seconds`, those of the local tree alone, before LETs */
};

/* A cuboid of a rank's groups, for the choice of LETs. It moves with the mean velocity of its particles, and holds all of
 * them from now to the end of the horizon on their straight ways. */
struct let_box {
  double low[3], high[3];  /* now, in the frame that moves */
  double a_old;            /* smallest |a_old| within; who chooses by it raises it to the request's a_floor */
  double v[3];             /* mean velocity */
  double a_spread;         /* largest hard acceleration within */
};

/* Of the synchronisation; of the substeps; of the substeps too, but of the slow particles' trees: LET_STEP is of the fast ones' then. */
enum let_kind { LET_SOFT, LET_STEP, LET_KINDS, LET_SLOW = LET_KINDS, LET_SETS };

/* Which of the sender's trees: that of all, or, where fast particles have one of their own (see reorder), one of the two. */
enum let_part { LET_OF_ALL, LET_OF_SLOW, LET_OF_FAST };

/* What an update tells of: what was corrected, if anything was; all cells too; at the tick of the choice, whose cells are true still, all
 * that was corrected, which is much. */
enum let_news { NEWS_FEW, NEWS_CELLS, NEWS_MANY };

struct let_request {
  const struct let_box *boxes;   /* of the receiver, where there is one */
  int box_count;
  const struct mac *mac;
  double a_floor;                /* |a_old| is raised to it */
  double a_typical;              /* rms acceleration: what particles may feel beside the accelerations around them */
  double cutoff;                 /* only what can come within it (R2); negative: no limit */
  double horizon;                /* for so long a time from now (0: now) */
  int32_t tick;                  /* now */
  double tick_length;
  enum let_part part;            /* for `card` and `let_select`; boxes of LET_OF_SLOW have the least |a_old| of now and of the synchronisation */
  int active;                    /* for `boxes`: the targets are those alone whose steps end now, as nobody else's does within the horizon */
};

/* A receiver of a LET, and what becomes of it. */
struct let_choice {
  int peer;
  const struct let_box *boxes;
  int box_count;
  size_t bytes;                  /* of its message; 0: nothing is needed */
  void *message;                 /* owner: device, until the next selection of this kind for the same peer */
  int32_t next;                  /* of substeps: the tick at which the first of its entries will be corrected; TICKS: none in this soft step */
};

/* Messages between ranks (particles that move, LETs, updates) are a backend's own: all ranks of a run have the same backend.
 * They are in the host's memory, but for what `bypass` puts into the device's. */
enum { LET_HEAD = 64 };   /* so many bytes of a LET always stand on the host */

/* Which device it is: where `id` is the same, it is the same device. */
struct device_identity {
  unsigned char id[16];
  char name[64], place[32];   /* for people; where it sits in its host */
};

/* A message between this rank's device and another's. */
struct link_message {
  int peer, arrives;
  void *at;       /* device memory */
  size_t bytes;
};

enum { LINK_KEY = 128 };

/* A way of its own that a backend has from device to device, for messages whose lengths both sides know. */
struct link {
  const char *name;
  /* Whether this process has it: which one, or why not. */
  int (*probe)(char *about, size_t size);
  /* Rank 0 makes a key, with which then all ranks open the way, each with a device of its own. 0, or -1 with the reason. Collective. */
  int (*key)(char key[LINK_KEY], char *why, size_t size);
  int (*open)(struct device *d, const char key[LINK_KEY], int rank, int ranks, char *why, size_t size);
  void (*close)(struct device *d);
  /* Send and receive these, behind all that was queued on the device; who waits for whom does not matter, as long as every message is
   * posted by both sides in their next rounds. */
  void (*post)(struct device *d, int count, const struct link_message *m);
  /* Whether the last round is complete; then *seconds is how long the device took for it, waiting for others included. */
  int (*done)(struct device *d, double *seconds);
};

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
   * added in the order of the calls and of `peers`, or some of them are put off to the last call: how a forest is parted, and
   * when LETs came, changes no bit. Only after the last call is everything done, and told to the tally. */
  int local;             /* the local tree: sums start anew */
  const int *peers;      /* the LETs of these, in this order */
  int peer_count;
  int last;              /* forces are stored */
  int later;         /* the tally may be added to as late as by next_tick */
  /* Called now and then by the calling thread while the walk goes on; may be NULL. It returns whether all LETs of the forest are there:
   * then a call that is not the last may return while the device goes on. */
  int (*progress)(void *);
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
  double vel_count[3], vel2_count;          /* sums of v and v^2 */
  double bad;                               /* particles with a value that is not finite */
};

/* How particles choose their steps (numerics: both accelerations, velocity about the centre of mass). */
struct step_rule {
  double eta, softening;
  double v_com[3];
  int use_velocity;      /* min-av; else the acceleration alone */
  double soft_step;
};

enum { REMEMBERED = 8 };   /* numbers of a device that a checkpoint keeps */

/* Cuts of space into px * py * pz cuboids: x[0..px], y of every column, z of every pillar (see cuboids.h). */
struct domain;

struct backend {
  const char *name;
  int tunes;        /* whether Tuning = auto is on */
  unsigned methods; /* the walk methods that it has, a bit for each */
  int particle_bytes;   /* of its own memory a particle takes, about; 0: it is the host's */
  int split_bytes;      /* and so many more, where there is room, with the split on: lists of neighbours */
  int plants_apart;       /* reorder gives fast particles a tree of their own where it is asked to, and LETs may be of one of the two (then `shares` is there) */
  int rebuild_interval;   /* shortest steps of a soft step after which a new tree is worth its build; 0: never */
  /* Number of devices; where it is 0, `why` says the reason. */
  int (*probe)(char *why, size_t size);
  /* A line about each device, for people. */
  void (*describe)(FILE *out);
  /* Bytes of memory of the device that the rank of this number on its node gets: all, and free now. 0, or -1 where that cannot be
   * learnt. NULL: it is the host's. */
  int (*room)(int node_rank, double *all, double *left);
  struct device *(*open)(const struct device_config *config);
  void (*close)(struct device *d);
  /* The device that the rank of this number on the node gets. NULL: there are no devices but the host. */
  void (*identify)(int node_rank, struct device_identity *id);
  /* NULL: there is none. */
  const struct link *link;
  /* From now on (`on`) messages that may be long stand in the device's memory: those of `pack`, `unpack` and `unpack_room`, and of
   * LETs what is behind the first LET_HEAD bytes (let_body, let_body_room). NULL: they are where the host is anyway. */
  void (*bypass)(struct device *d, int on);

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
   * the next call) with counts[rank] particles for each rank, in rank order. Homes are those of the places at `tick`: 0 at a
   * synchronisation; within a soft step reorder is due then, of all. Returns how many stayed: these may change places. */
  int64_t (*pack)(struct device *d, const struct domain *domain, int self, int32_t tick, double tick_length, int64_t *counts, void **buffer);
  /* With `bypass`: room for what arrives, until the next call. NULL like bypass. */
  void *(*unpack_room)(struct device *d, size_t bytes);
  /* Append so many packed particles. */
  void (*unpack)(struct device *d, const void *buffer, int64_t count);

  /* Lattice coordinates, keys, sort into Peano-Hilbert order. Returns how many lay outside the lattice. */
  int64_t (*order)(struct device *d, const struct lattice *lattice);
  /* The same on the lattice that there is, by the places that the particles have at `tick`: within a soft step, while nobody is
   * between select and correct. Everyone stays where and when it is; the next tick and the levels stay known. Needs sources.
   * Then build and groups are due (sources keep their courses), and moments at this tick: nodes enclose their particles at that
   * time. LETs chosen before it cannot be told of corrections any more (but LET_SLOW, see below): a run on several ranks chooses them anew.
   * Particles of block level `fast` and deeper may get a tree of their own (a level that nobody has: one tree of all). With
   * `renew`, and the same `fast` as before in this soft step, it is enough to renew the tree of those that were that fast the
   * last time, and all that is due then is about that tree alone. A backend may always do all; but with plants_apart, on several
   * ranks, the slow ones stay as they are when the others are renewed, and LET_SLOW hold. */
  void (*reorder)(struct device *d, int32_t tick, double tick_length, int fast, int renew);
  /* The octree of the sorted particles (links only). Cells that reach over the faces of this rank's cuboid (MAC_CUT) are
   * marked; infinite faces (1e300) cut nothing. */
  void (*build)(struct device *d, const double low[3], const double high[3]);
  /* Moments and motions of all nodes from the particles as they are at `tick`; also a refresh between builds. Radii of cells
   * of many particles may be bounds by their children's, up to twice as large; right after a build those of at most 32768
   * particles are exact. */
  void (*moments)(struct device *d, const struct mac *mac, int32_t tick, double tick_length);
  /* Sources take velocity, hard acceleration and time from the particles (after kicks). */
  void (*sources)(struct device *d);
  /* Groups of targets, with the smallest |a_old| of each (the balls around them are made here or in each walk); needs build. */
  void (*groups)(struct device *d);
  /* Set a knob, at any time; it is looked at by the next `groups`. */
  void (*tune)(struct device *d, enum knob knob, double value);
  /* At most `most` boxes around this rank's groups, of positions predicted to the request's tick, for its horizon; returns
   * how many: those that would hold nobody are left out. */
  int (*boxes)(struct device *d, const struct let_request *request, int most, struct let_box *boxes);
  /* The root of the request's part with its motion and second moments, and the number of its particles, into the card; needs moments. */
  void (*card)(struct device *d, const struct let_request *request, struct let_card *card);

  /* Choose and pack the LETs for so many receivers, each another peer; the request's boxes are not looked at. Needs moments at
   * the request's tick. The chosen nodes stand in a message in the order of the local tree, which is breadth-first; it does
   * not depend on who else is asked for. */
  void (*let_select)(struct device *d, enum let_kind kind, const struct let_request *request, int count, struct let_choice *choice);
  /* The place where a message from a peer is to be received (owner: device), and its use as part of the forest. A message
   * of no bytes takes the peer out of the forest. `count` is added to. */
  void *(*let_room)(struct device *d, enum let_kind kind, int peer, size_t bytes);
  void (*let_attach)(struct device *d, enum let_kind kind, int peer, size_t bytes, struct let_count *count);
  /* With `bypass`, when let_select and let_room have given the places of the heads on the host: what of the chosen message is behind its
   * head, maybe not packed yet but by work that is queued; and the place for the same part of a message of `bytes` in all that is to be
   * received. NULL like bypass: it stands behind the head. */
  void *(*let_body)(struct device *d, enum let_kind kind, int peer);
  void *(*let_body_room)(struct device *d, enum let_kind kind, int peer, size_t bytes);
  /* The roots of so many ranks, each accepted as one cell by all targets here, become the LET of peer `self`. */
  void (*let_roots)(struct device *d, enum let_kind kind, int self, int count, const struct let_card *const *cards);
  /* Forget all LETs of a kind. */
  void (*let_clear)(struct device *d, enum let_kind kind);

  /* LETs of substeps are sent once and then kept up to date. let_watch begins that for what let_select has chosen for LET_STEP,
   * and LET_SLOW, since let_clear; the request is that of LET_STEP. Of LETs in parts strays are not looked for. */
  void (*let_watch)(struct device *d, const struct let_request *request);
  /* What a peer must learn after `correct` at this tick: its entries among the particles that were corrected at it, and with
   * NEWS_CELLS all cells (moments were taken at this tick; only of LET_OF_ALL). To be asked for every peer with a LET at every such
   * tick. *next becomes the tick at which the next of its entries will be corrected. Packs into *message (owner: device, until the
   * next call for this peer) and returns the bytes; with NEWS_FEW 0 when there is nothing to tell. */
  size_t (*let_update)(struct device *d, int peer, int32_t tick, enum let_news news, int32_t *next, void **message);
  /* With `bypass`, when let_update has given the head of an update on the host: what of it is behind LET_HEAD bytes (those of NEWS_FEW
   * are short, and on the host as a whole); and room for the same of one that arrives, which the next let_apply for the peer
   * takes, then given the head alone. NULL: updates are always on the host. */
  void *(*update_body)(struct device *d, int peer);
  void *(*update_room)(struct device *d, int peer, size_t bytes);
  /* Bytes of an update of a peer's LET in which all its entries were corrected, with all cells. */
  size_t (*let_update_most)(struct device *d, int peer);
  /* Take an update of a peer's LET, whose message may go when this returns; returns how many particles it told of. */
  int64_t (*let_apply)(struct device *d, int peer, const void *message, size_t bytes);
  /* Particles that were corrected by the last `correct` and have left, or will leave before the end of the horizon, the
   * way that the choice of LETs allowed for; *late: those that have already. */
  int64_t (*strays)(struct device *d, int64_t *late);

  /* Forces from the local tree and from each attached LET in the order of the request. Each target's interactions
   * (its group's mean) are added to `work`, of which WALK_TOTAL first leaves WORK_KEPT. */
  void (*walk)(struct device *d, const struct walk_request *request, struct tally *tally);
  /* Whether this hard walk is better made of the local tree and all LETs in one call, when they are there, than of the local tree while
   * they travel. The same call may part the forest all the same. May be NULL: none is. */
  int (*walks_at_once)(struct device *d, const struct walk_request *request);
  /* Whether hard walks would gain nothing from a new tree: they are from lists of neighbours, which it would end, or direct
   * sums. May be NULL: they always gain. */
  int (*keeps_tree)(struct device *d);
  /* Interactions per second of a plain direct-sum loop over point masses (acceleration and potential) in the pair
   * arithmetic of `walk`, all threads: the ceiling of the walk. */
  double (*ceiling)(struct device *d);
  /* The same of direct sums over n particles, each of whose pulls `share` threads (1, 2, 4, ... 32) sum up; with share 0 as
   * many as METHOD_DIRECT takes. *share becomes the number taken. NULL where there is no METHOD_DIRECT. */
  double (*pair_rate)(struct device *d, int64_t n, int *share);
  /* Double-precision direct sum of this rank's particles at given points: acc[n][3], pot[n] (added to); the source
   * whose id is skip[i] is left out, wherever it is. hard: with the split's K, or NULL. */
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
  /* Of the particles of this block level and deeper: their number, and the sum over them of the part that such particles are of their
   * group. Needs groups. */
  void (*shares)(struct device *d, int level, double sums[2]);
  /* What the device's choices depend on beside the particles, from one synchronisation to the next (all zero at first): asked
   * for, or told (`set`) to a new device that goes on from a checkpoint. May be NULL: nothing. */
  void (*remember)(struct device *d, double numbers[REMEMBERED], int set);
  void (*wait)(struct device *d);
  /* Note when the device's queue comes to this point, as one of so many stamps; the seconds from one to another. The queue must
   * have been waited for since (by a verb that returns numbers). */
  void (*stamp)(struct device *d, int stamp);
  double (*between)(struct device *d, int from, int to);
  /* The host goes on to this phase (NULL: to none), for profilers. May be NULL. */
  void (*phase)(const char *name);
};

extern const struct backend backend_cpu, backend_cuda;

/* All backends that this program knows, also those that were not compiled: these have a name and a probe that says why
 * not. Returns their number. */
int backend_list(const struct backend *const **list);
/* The backend for `choice` (enum backend_choice), or NULL with the reason. */
const struct backend *backend_choose(int choice, char *why, size_t size);
/* Whether it has a walk method, on so many ranks; else `why` says which has. */
int backend_walks(const struct backend *be, enum walk_method method, int ranks, char *why, size_t size);

#ifdef __cplusplus
}
#endif
#endif
