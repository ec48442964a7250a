/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The contract of a backend: the only interface to a device. The host sees counts, boxes, messages and tallies;
 * everything else stays on the device.
 *
 * A backend is one table of core verbs (struct backend, with parts: sets, tree, forces, steps, clock) and optional
 * tables: `let` (locally essential trees, backend/let_verbs.h), `exchange` (migration of particles between ranks) and
 * `link` (messages from device to device, both backend/link.h). A backend that runs on one rank only leaves `let` and
 * `exchange` NULL; one whose messages always pass through the host leaves `link` NULL. `energy` (potentials finer than
 * those of forces, backend/energy_verbs.h) may be NULL: energies are then those of forces. `probe` (devices and
 * reference measurements, backend/probe.h) is always there.
 *
 * Order of the core verbs in a soft step:
 *   synchronisation   order, build, moments, groups, [let verbs], walk (WALK_TOTAL), finish, split_soft, kick
 *   substeps          kick, levels, sources, moments, [let verbs], then for each tick: [reorder, build, groups],
 *                     select, [moments], walk (WALK_HARD), correct, next_tick
 *   end               drift_to_end
 *
 * Verbs queue work on the device and return; a verb that returns numbers to the host waits for them. Verbs are local,
 * not collective, and must be called from one thread. A broken precondition is a defect of the caller (fatal with
 * --enable-checks). Verbs do not fail: exhausted memory and errors of the device end the run (base/fault.h, fatal).
 *
 * Units: positions, velocities, times and accelerations in the internal units of the parameter file; accelerations
 * include G. A tick is soft_step / TICKS (particles/timeline.h). Shapes are given in brackets: double low[3];
 * acc[n][3]. */
#ifndef BACKEND_H
#define BACKEND_H
#include <stddef.h>
#include <stdint.h>

#include "gravity/field.h"
#include "gravity/split.h"
#include "particles/particles.h"
#include "particles/sums.h"
#include "particles/timeline.h"
#include "tree/lattice.h"
#include "tree/let_data.h"
#include "tree/mac.h"
#ifdef __cplusplus
extern "C" {
#endif

enum { DEVICE_EVENTS = 8 }; /* events of a device that record_event can set */

struct device; /* state of an open device; known to its backend alone */

/* How the sources of a target's force are found. */
enum walk_method {
  METHOD_GROUPS,    /* a list of interactions for each group of targets */
  METHOD_NEXT_MORE, /* depth-first, each target by itself */
  METHOD_DIRECT,    /* all pairs, without a tree */
  METHOD_AUTO       /* the faster of METHOD_GROUPS and METHOD_DIRECT for the number of particles */
};
/* Bytes of a CUDA device for a particle, and further ones with the split on: measured (doc/measurements.md,
 * doc/gpu-hard.md). */
enum { CUDA_PARTICLE_BYTES = 400, CUDA_SPLIT_BYTES = 500 };
/* most particles for which METHOD_AUTO is METHOD_DIRECT on one rank with a GPU (doc/measurements.md) */
enum { DIRECT_MOST = 16384 };

struct device_config {
  double gravity, softening; /* G; Plummer softening length of all particles, the smallest one where types differ */
  double softening_of[PARTICLE_TYPES]; /* of each type; all 0: `softening` for all */
  int max_leaf, max_group;             /* particles in a leaf, in a group */
  int quadrupole;                      /* the cells of forces have second moments */
  int ranks;                           /* ranks of the run */
  int rank;                            /* of this process in the run */
  /* of this process on its node: the device is number node_rank modulo the number of devices */
  int node_rank;
  enum walk_method method;
};

/* Numbers that may be tuned. Forces with different values differ within the error of the acceptance criterion. */
enum tunable {
  /* largest width of a cell that holds a group of several leaves; HUGE_VAL (the default): no limit */
  TUNABLE_GROUP_WIDTH,
};

/* Counts and times of walks. Verbs add to a tally, they do not reset it. */
struct tally {
  double seconds;         /* of the walk */
  int64_t targets;        /* targets that received a force */
  int64_t particle_pairs; /* target-particle interactions */
  int64_t cell_pairs;     /* target-cell interactions */
  int64_t split_pairs;    /* of both, those evaluated with the split kernel */
  int64_t tests;          /* tests of the acceptance criterion */
  int64_t groups;         /* interaction lists */
  double evaluating;      /* seconds in pair loops, mean over the threads */
  double local_seconds;   /* of `seconds`, the walk of the local tree before LETs */
};

enum walk_kind {
  WALK_TOTAL, /* acc (and pot) of all particles at a synchronisation; with the split on also acc_hard */
  /* with the split on: the soft acceleration of all particles at a synchronisation, sum of (1 - K) a, to acc_soft and
   * to acc (whose modulus is a_old); pot without the hard part, sum of (1 - K) psi. Cells in which K is not 0 are
   * opened, so that (1 - K) and the K of neighbour lists (backend/neighbour_list_verbs.h) add up to 1 for each pair of
   * particles */
  WALK_SOFT,
  WALK_HARD, /* acc_hard of the active particles at `tick`; with the split on from sources within R2 alone */
  /* potentials of all particles of every stride-th group at a synchronisation, for the verbs of backend/energy_verbs.h;
   * with the split on those of WALK_SOFT. The device keeps them apart: no field of the particles changes */
  WALK_POTENTIAL
};

/* What walk_request.poll_messages returns. */
enum poll_status {
  POLL_PENDING, /* LETs or updates of the forest have not arrived */
  POLL_COMPLETE /* all LETs of the forest are attached and valid at the tick */
};

struct walk_request {
  enum walk_kind kind;
  struct mac mac;
  double a_floor; /* lower bound on |a_old| in the criterion */
  struct split split;
  enum let_kind let;  /* the LETs that are part of the forest */
  int32_t tick;       /* sources are predicted to this tick */
  double tick_length; /* time of one tick */
  int potential;      /* WALK_TOTAL, WALK_SOFT: compute pot as well */
  int add_potential;  /* WALK_SOFT: pot holds the hard part, and the soft part is added */
  int32_t stride;     /* WALK_POTENTIAL: the groups 0, stride, 2 stride, ... of this rank; at least 1 */
  /* The forest (the local tree and the LETs) may be walked in several calls: the first has `local` set, the last has
   * `last` set. Sums are kept in between. Trees are added in the order of the calls and of `peers`; a backend may defer
   * trees to the last call. Neither the number of calls nor the arrival times of LETs change a bit of the result. The
   * tally is complete after the last call. */
  int local;        /* walk the local tree: sums start at zero */
  const int *peers; /* [peer_count] walk the LETs of these peers, in this order */
  int peer_count;
  int last;          /* store the forces */
  int pending_tally; /* the tally may be completed as late as in next_tick */
  /* Poll for messages while the walk proceeds; NULL: there are none to poll for. The walk calls it from its calling
   * thread, at first often and then at intervals of 20 to 200 microseconds, or of one group where that takes longer. It
   * may attach and update LETs that are not part of this call, by the verbs of struct backend_let, and calls no other
   * verb. It changes no bit of the result. After POLL_COMPLETE a call without `last` may return while the device still
   * computes. */
  enum poll_status (*poll_messages)(void *polled);
  void *polled; /* its argument */
};

struct sample {
  double pos[3];
  double work; /* interactions (particles/particles.h) */
  uint64_t id;
};

enum { REMEMBERED = 8 }; /* numbers of a device that a checkpoint stores */

/* Numbers of all particles of this rank. */
struct backend_sets {
  /* Bounding box of the particles and of the positions that they can reach within the time `horizon`: x + v t +- acc
   * t^2 / 2. Without particles low = 1e300, high = -1e300. */
  void (*bounds)(struct device *d, double horizon, double low[3], double high[3]);
  /* Sample the particles whose hashed id is at most `threshold` (UINT64_MAX: all); `sources` 1: only those with mass.
   * Writes at most `capacity` samples to `out` and returns their number. The sample does not depend on the ranks. *work
   * (may be NULL): sum of `work` over all particles of this rank. */
  int64_t (*sample)(struct device *d, uint64_t threshold, int sources, int64_t capacity, struct sample *out,
                    double *work);
  /* Sums over the particles of this rank, with the potential of the external field. */
  void (*reduce)(struct device *d, const struct field *field, struct sums *sums);
};

/* The order of the particles, the tree, and groups of targets. */
struct backend_tree {
  /* Compute lattice coordinates and keys and sort by the Peano-Hilbert curve. Returns the number of particles outside
   * the lattice, which are clamped to its faces. After it: build. All LETs end with it: they must be selected again. */
  int64_t (*order)(struct device *d, const struct lattice *lattice);
  /* Sort again on the same lattice by the positions at `tick`, within a soft step. Particles keep their times,
   * velocities and levels. Before: sources; no particle is between select and correct. After: build, groups, moments at
   * this tick. LETs selected before cannot be updated afterwards (except LET_SLOW, below) and must be selected again.
   * Particles of each band of block levels may get a tree of their own (particles/timeline.h). `from` 0: trees of all
   * are built next. `from` > 0, with the same bands as in the last call in this soft step: only trees of this band and
   * of deeper ones need be built again; particles that were in these bands are now in those of their present levels, at
   * least `from`, and all others stay where they are. A backend may always rebuild everything; with builds_fast_tree,
   * on several ranks, there are at most two bands, the slow tree must stay unchanged, and LET_SLOW stay valid. */
  void (*reorder)(struct device *d, int32_t tick, double tick_length, level_bands bands, int from);
  /* Build the octree of the sorted particles: links only. Before: order or reorder, once for each build. Cells that
   * cross the faces low[3], high[3] of this rank's domain are marked (MAC_CUT); faces at +-1e300 mark none. */
  void (*build)(struct device *d, const double low[3], const double high[3]);
  /* Compute moments and motions of all nodes from the particles predicted to `tick`; also as a moment update between
   * builds. Walks and LETs use second moments where mac->order is 2, until the next call; walks need the order of this
   * call. Radii of cells of more than 32768 particles may be upper bounds from their children, typically less than
   * twice as large; so may those of smaller cells in a moment update. */
  void (*moments)(struct device *d, const struct mac *mac, int32_t tick, double tick_length);
  /* Copy velocity, hard acceleration and time of the particles to the sources; after kicks. */
  void (*sources)(struct device *d);
  /* Make groups of targets with the smallest |a_old| of each. Before: build. */
  void (*groups)(struct device *d);
  /* Set a tunable; it takes effect at the next `groups`. */
  void (*tune)(struct device *d, enum tunable tunable, double value);
};

/* Forces from trees, from fields, and what they depend on. */
struct backend_forces {
  /* Compute forces from the local tree and the attached LETs. Each target's interactions (the mean of its group) are
   * added to `work`; WALK_TOTAL first multiplies `work` by WORK_KEPT. Before: moments and groups; WALK_HARD: select. */
  void (*walk)(struct device *d, const struct walk_request *request, struct tally *tally);
  /* 1: this hard walk is faster with all trees in one call, once all LETs have arrived, than with the local tree first.
   * NULL: never. */
  int (*walks_at_once)(struct device *d, const struct walk_request *request);
  /* 1: hard walks gain nothing from a new tree (they use neighbour lists or direct sums). NULL: they always gain. */
  int (*keeps_tree)(struct device *d);
  /* Set the gravitational constant of all forces and potentials from now on; at first it is that of the configuration.
   * Where it changes in time, the host sets it before each walk. NULL: it cannot change. */
  void (*gravity)(struct device *d, double gravity);
  /* Add the acceleration of a field, which a walk's forces lack, to these forces: kind WALK_TOTAL to acc of all
   * particles, and without the split (`split` 0) to acc_hard; WALK_HARD, without the split, to acc_hard of the
   * particles that are active at `tick`. After the last call of the walk, before split_soft or correct. Then time steps
   * and the criterion see the whole acceleration. NULL: no such fields. */
  void (*add_field)(struct device *d, const struct field *field, enum walk_kind kind, int split, int32_t tick);
  /* Distances from n points to their k nearest particles of this rank, ascending: distance[n][k]; missing ones are
   * 1e300. The particle with id skip[i] is left out for point i. Before: moments. */
  void (*nearest)(struct device *d, int64_t n, const double (*at)[3], const uint64_t *skip, int k, double *distance);
};

/* Time integration. */
struct backend_steps {
  /* Kick all particles: v += dt (acc_soft + acceleration of the external field at x). The place where forces that do
   * not come from particles enter. */
  void (*kick)(struct device *d, const struct field *field, double dt);
  /* Change the velocities by numbers that the host has computed: v += change[3 n], in the order of `view`. NULL: no
   * fields of the host. */
  void (*push)(struct device *d, const double *change);
  /* The largest rate at which the field changes for a particle of this rank (field_rate), an inverse time. NULL: it
   * limits no step. */
  double (*rate)(struct device *d, const struct field *field);
  /* acc_soft = acc - acc_hard. */
  void (*split_soft)(struct device *d);
  /* Choose block levels at a synchronisation; returns the deepest. `shared` >= 0: all particles get this level. */
  int (*levels)(struct device *d, const struct step_rule *rule, int shared);
  /* The next tick at which a step ends, at most TICKS. Completes pending tallies. */
  int32_t (*next_tick)(struct device *d);
  /* Select the particles whose step ends at `tick` as active and predict them to it; returns their number. Adds to
   * *outside the number of active particles outside the lattice (as sources they are clamped to its faces). Before:
   * groups. */
  int64_t (*select)(struct device *d, int32_t tick, double tick_length, int64_t *outside);
  /* Close the steps of the active particles: kicks, new time, next level (`shared` as in levels). Before: walk
   * (WALK_HARD). */
  void (*correct)(struct device *d, int32_t tick, double tick_length, const struct step_rule *rule, int shared);
  /* End of a soft step: predict all particles to TICKS and apply the opening half of the closing kick with the present
   * acc_hard. After the walk at the synchronisation, `finish` applies the other half and sets all ticks to 0. */
  void (*drift_to_end)(struct device *d, double tick_length);
  void (*finish)(struct device *d, double tick_length);
  /* Number of particles at each block level: count[32]. */
  void (*histogram)(struct device *d, int64_t *count);
  /* Over the particles of block level `level` and deeper: sums[0], their number; sums[1], the sum of the fraction of
   * their group that is as deep. Before: groups. NULL unless builds_fast_tree. */
  void (*shares)(struct device *d, int level, double sums[2]);
  /* State of the device beyond the particles, from one synchronisation to the next; zero at first. `set` 0: read it; 1:
   * write it into a new device (restart from a checkpoint). NULL: none. */
  void (*remember)(struct device *d, double numbers[REMEMBERED], int set);
};

/* The queue of the device, and its clock. */
struct backend_clock {
  /* Wait for all queued work. */
  void (*wait)(struct device *d);
  /* Record event number `event` (0 ... DEVICE_EVENTS - 1) in the queue; seconds from one event to another, for which
   * `between` waits. */
  void (*record_event)(struct device *d, int event);
  double (*between)(struct device *d, int from, int to);
  /* Name the phase of the host for profilers (NULL: none). May be NULL. */
  void (*phase)(const char *name);
};

struct backend {
  const char *name;
  int tunes; /* Tuning = auto means on */
  /* types may have different softenings (particles/softening.h); 0: only `softening` of its config is used */
  int softens_by_type;
  unsigned methods;   /* bit m: has walk method m (enum walk_method) */
  int particle_bytes; /* bytes of device memory for a particle, approximate; 0: particles are in host memory */
  int split_bytes;    /* further bytes for a particle with the split on (neighbour lists), where there is memory */
  /* reorder can give bands of levels trees of their own, and LETs can be of one of two trees; has `shares` */
  int builds_fast_tree;
  int rebuild_interval; /* default of RebuildInterval, in shortest steps; 0: no new tree within a soft step */

  const struct backend_probe *probe;                     /* devices and reference measurements */
  const struct backend_energy *energy;                   /* finer potentials; NULL: none */
  const struct backend_exchange *exchange;               /* migration; NULL: one rank only */
  const struct backend_neighbour_lists *neighbour_lists; /* the scheme of neighbour lists; NULL: tree steps only */
  const struct backend_let *let;                         /* locally essential trees; NULL: one rank only */
  const struct link *link;                               /* messages from device to device; NULL: none */

  /* Open a device. Owner: caller (close). */
  struct device *(*open)(const struct device_config *config);
  void (*close)(struct device *d);
  /* Move the particles to the device. `particles` is invalid until download, which moves all fields back in the
   * device's order. */
  void (*upload)(struct device *d, struct particles *particles);
  void (*download)(struct device *d, struct particles *particles);
  /* The particles, read-only; valid until the next verb. Owner: device. */
  const struct particles *(*view)(struct device *d);
  /* Number of particles. */
  int64_t (*count)(struct device *d);

  struct backend_sets sets;
  struct backend_tree tree;
  struct backend_forces forces;
  struct backend_steps steps;
  struct backend_clock clock;
};

extern const struct backend backend_cpu, backend_cuda;

/* List all backends known to the program, also those that are not compiled in (their probe->count returns 0 and says
 * why). Returns their number. */
int backend_list(const struct backend *const **list);
/* Choose a backend. `choice`: enum backend_choice (params). Returns NULL where it is unavailable, with the reason in
 * why[size]. */
const struct backend *backend_choose(int choice, char *why, size_t size);
/* Returns 1 where the backend has the walk method on this number of ranks, else 0 with the alternatives in
 * why[size]. */
int backend_walks(const struct backend *be, enum walk_method method, int ranks, char *why, size_t size);

#ifdef __cplusplus
}
#endif
#endif
