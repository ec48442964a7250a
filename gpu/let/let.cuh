/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LETs on the device: those selected for peers, those received from peers, and the updates of both. doc/gpu-lets.md
 * describes how they work together.
 *
 * Received LETs are copied on a second stream while the local tree is walked. All LETs are stored after the local tree
 * in its own arrays, with links that are valid there: a walk over several of them, with or without the local tree,
 * starts from several roots in the same arrays. */
#ifndef GPU_LET_CUH
#define GPU_LET_CUH
#include "gpu/walk/walk.cuh"
#include "tree/essential.h"
#include "backend/let_sizes.h"
#include "backend/let_verbs.h"

enum { BOX_MAX = TABLE_MAX };

/* --- messages ---------------------------------------------------------------------------------------------------- */

/* The head of a LET message, before its arrays. All ranks of a run have the same backend, so the arrays have the
 * device's own types. */
struct let_head {
  uint32_t format;
  int32_t quad, moving, motion_tick;
  int64_t nodes, bodies;
  char pad[32];
};
static_assert(sizeof(struct let_head) == LET_HEAD, "arrays of a message are aligned");
enum { LET_FORMAT = 0x4c455431 };

/* Offsets of the arrays of a LET in its message, and the length of the message, bytes. */
struct let_layout {
  size_t node, motion, quad, body, motion_state, bytes;
};
struct let_layout let_layout(int64_t nodes, int64_t bodies, int quad, int moving);

/* Whether the nodes of a LET carry second moments. With monopole cells local expansions of the full walk use them too,
 * and the hard walk uses their traces. */
static inline int carries_quads(const struct let_request *request) { return let_device_quads(request); }

/* --- state ------------------------------------------------------------------------------------------------------- */

/* A LET that is selected for a peer. */
struct outgoing_let {
  int32_t nodes, bodies;
  int quad;
  struct array<char> packed;                  /* the message on the device */
  struct pinned host_results;                 /* its host copy; with `bypass` the head alone */
  struct array<int32_t> node_from, body_from; /* of substeps: the local node or particle of each entry */
  /* first entry of the peer (LET_SLOW, then LET_STEP) among the watched entries of all peers */
  int32_t first;
  struct array<char> cells; /* cells of an update; with `bypass` the whole update */
  struct pinned update;     /* host copy of an update */
};

/* A LET that is received from a peer. */
struct incoming_let {
  struct pinned message; /* the message on the host */
  bool bypassed;         /* `message` has the head alone, and all after the head is in `arriving` */
  struct array<char> arriving;
  bool update_bypassed; /* the update is in `update` on the device */
  struct array<char> update;
  bool attached;
  int quad;
  /* its nodes from `root` on and bodies from `body` on in the arrays of the tree */
  int32_t root, nodes, body, bodies, motion_tick;
};

/* Numbers of nodes and bodies that are stored after the local tree. */
struct let_extent {
  int32_t nodes, bodies;
};

/* The straight trajectory that the selection of LETs predicted for a particle: position (lattice), velocity, and the
 * bound of its deviation (code length). */
struct __align__(16) let_trajectory
{
  int32_t x[3];
  float limit;
  float v[3], unused;
};

/* The watch on the LETs of substeps: which entries are corrected, and which particles leave their trajectories. */
struct let_watch {
  bool on, watch_bounds; /* entries are watched; trajectories are watched too */
  int32_t tick, end;     /* tick of the selection of LETs; tick until which it holds */
  double tick_length;
  int32_t collected;             /* tick of the last collected corrections; -1: none */
  int32_t entries;               /* particles in the LETs of all peers, one peer after the other */
  struct array<int32_t> from;    /* the local particle of each entry */
  struct array<int32_t> found;   /* corrected entries, ascending */
  struct array<char> packed;     /* corrected entries as they are sent */
  struct array<int32_t> numbers; /* see watch.cuh */
  struct pinned host_results, host_packed;
  struct array<struct let_trajectory> trajectory;
  struct array<float> limit; /* bound of the deviation for each box */
};

/* LETs that wait for a walk. */
struct waiting_lets {
  int count;
  int32_t *root; /* [roots_max] */
  int64_t size;  /* nodes and particles */
  int32_t motion_tick;
};

/* A walk from the local tree and LETs in several calls, while LETs are in transit. A walk of all particles joins them:
 * its first supergroups, none unless the debug switch first_part says so, begin with the local tree. */
struct joined_walk {
  int32_t supergroups; /* number of the first supergroups */
  bool two_launches;   /* the last walk was in several calls, and idle between these events: */
  bool remainder;      /* the second of them is recorded */
  runtime_event first_done, remainder_began;
};

/* Boxes of the local particles, and the summary that goes with them. */
struct box_state {
  struct let_box box[BOX_MAX];
  int count;
  bool begun;                  /* they are queued for the next call of the verb, */
  runtime_event counted;       /* and this event follows them */
  struct array<int32_t> begin; /* particles of box b: begin[b] up to begin[b + 1] */
  struct array<double> rows;
  struct pinned numbers;
  struct pinned top;   /* nodes and second moments of the top of the local tree, */
  int32_t top_copied;  /* how many `boxes` has copied for the summary that follows; 0: none, */
  int64_t top_moments; /* and the moment update that they are of */
};

struct let_state {
  runtime_stream stream;              /* of arriving LETs and updates */
  runtime_event arrived, walked;      /* the last arrival; the last walk over LETs */
  bool arrivals_pending;              /* the device's main stream has not waited for `arrived` yet */
  struct outgoing_let *out[LET_SETS]; /* [ranks] */
  struct incoming_let *in[LET_SETS];
  struct let_extent stored;     /* of all LETs, one after the other: the next one begins here */
  struct let_extent step_begin; /* those of LET_STEP begin here, after those of LET_SLOW */
  struct box_state boxes;
  struct selection_buffers *choosing; /* see choose.cu */

  struct let_watch watch;
  struct pinned staged;       /* updates that are copied to the device */
  struct array<char> staging; /* the same on the device */
  size_t staged_bytes;        /* used bytes of both */

  struct waiting_lets waiting;
  struct joined_walk joined;
  struct array<int32_t> root; /* roots of the last walk on the device, */
  int32_t *host_roots;        /* their host copy, */
  int roots;                  /* and their number */
};

/* The part of the local tree that a request concerns. */
static inline const struct tree_part *lets_part(const struct device *d, const struct let_request *request)
{
  return &d->tree.part[request->part == LET_OF_FAST ? FAST : SLOW];
}

/* --- walks ------------------------------------------------------------------------------------------------------- */

/* The forests of a walk: for (struct forest_parts p = {}; forest_next(d, r, &p, &f);) walk f.
 *
 * A walk of all particles with the LETs of a synchronisation has two: the first supergroups walk the local tree, before
 * LETs have arrived; at the end (`last`) all roots are walked together, except that the first supergroups walk the LETs
 * alone. In other walks the local tree comes first, and small LETs wait for others, also beyond this call of the verb,
 * until together they are worth a launch. What is walked together depends only on the order of particles and LETs and
 * on sizes, so results are reproducible. A hard walk that is requested for all trees walks them together if there are
 * no neighbour lists and all moments are of one tick, or those of all slow trees of one tick and those of all fast
 * trees of another. */
struct forest_parts {
  int local_done, at, done; /* the local tree is done; the next LET of the request; all is done */
};
/* Returns 1 with the next forest, 0 after the last. */
int forest_next(struct device *d, const struct walk_request *request, struct forest_parts *parts,
                struct forest *forest);
/* Whether a hard walk should be requested for all trees at once. */
bool forest_gains(const struct device *d, const struct walk_request *request);
/* To be called when a walk over the forest is queued: later arrivals wait for it. */
void forest_walked(struct device *d, const struct forest *forest);
/* The arrays of the local tree, with the nodes and bodies of all LETs that are stored after it. */
struct tree tree_with_lets(const struct device *d);
/* Capacity of lists of roots: those of the local trees, and two of every rank. */
static inline int64_t roots_max(const struct device *d)
{
  return PARTS_MAX + 2 * (int64_t)(d->config.ranks > 0 ? d->config.ranks : 1);
}
/* Later arrivals wait for the queued walks over LETs. */
void lets_wait_for_walk(struct device *d);
/* To be called when an arrival is queued. */
void lets_arrived(struct device *d);
/* Work that is queued on the main stream after this call waits for the arrivals. */
void lets_wait_for_arrivals(struct device *d);
#endif
