/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LETs on the device: what was chosen for peers, what came from them, and the updates of both. doc/gpu-lets.md says how it
 * works together.
 *
 * What peers send goes to a second stream, so that it arrives while the local tree is walked. All LETs stand behind the local tree
 * in its own arrays, with links that hold there: a walk over any of them, or over them and the local tree, is one over the same
 * arrays from several roots. */
#ifndef GPU_LET_CUH
#define GPU_LET_CUH
#include "device.cuh"
#include "essential.h"

enum { BOX_MOST = TABLE_MOST };

/* Page-locked host memory, which the device copies from and to by itself. */
struct pinned {
  char *at;
  size_t room;
};
/* Room for so many bytes; what was there is lost when it grows. */
void *pinned_room(struct pinned *p, size_t bytes);
void pinned_free(struct pinned *p);

/* --- messages ---------------------------------------------------------------------------------------------------- */

/* What stands before the arrays of a LET. All ranks of a run have the same backend, so the arrays are the device's own. */
struct let_head {
  uint32_t format;
  int32_t quad, moving, motion_tick;
  int64_t nodes, bodies;
  char pad[32];
};
static_assert(sizeof(struct let_head) == LET_HEAD, "arrays of a message are aligned");
enum { LET_FORMAT = 0x4c455431 };

/* Where the arrays of a LET begin in its message, and its bytes. */
struct let_layout {
  size_t node, motion, quad, body, course, bytes;
};
struct let_layout let_layout(int64_t nodes, int64_t bodies, int quad, int moving);

/* Whether the nodes of a LET carry second moments. With monopole cells the full walk's expansions use them all the same, and
 * the hard walk their traces. */
static inline int carries_quads(const struct device *d, const struct let_request *r)
{
  return d->config.quadrupole || r->mac->kind == MAC_ACCELERATION;
}

/* --- state ------------------------------------------------------------------------------------------------------- */

/* Chosen for a peer. */
struct outgoing {
  int32_t nodes, bodies;
  int quad;
  struct array<char> packed;               /* the message, */
  struct pinned told;                      /* and where it, or only its head, is copied to */
  struct array<int32_t> node_from, body_from;   /* of substeps: the local node and particle behind each */
  int32_t first;                           /* of its particles (those of LET_SLOW before them), among the watched ones of all peers */
  struct array<char> cells;                /* of an update, or with `bypass` all of it */
  struct pinned update;
};

/* Came from a peer: its place among all that came. */
struct incoming {
  struct pinned message;                   /* or its head: */
  bool bypassed;                           /* the rest is in */
  struct array<char> arriving;
  bool update_bypassed;                    /* the same of an update */
  struct array<char> update;
  bool attached;
  int quad;
  int32_t root, nodes, body, bodies, motion_tick;
};

/* So many nodes and bodies behind those of the local tree. */
struct behind {
  int32_t nodes, bodies;
};

/* The straight way that the choice of LETs allowed a particle, and how far it may leave it. */
struct __align__(16) let_way {
  int32_t x[3];
  float limit;
  float v[3], unused;
};

struct watch {
  bool on, ways;               /* LETs are watched; and so is whether particles keep to their ways */
  int32_t tick, end;           /* when LETs were chosen; until when the choice holds */
  double tick_length;
  int32_t collected;           /* tick of the last corrections that were looked for among the entries */
  int32_t entries;             /* of the LETs of all peers, one peer after the other: */
  struct array<int32_t> from;  /* the local particle behind each */
  struct array<int32_t> found; /* entries that were corrected, ascending */
  struct array<char> packed;   /* these as they are sent */
  struct array<int32_t> numbers;   /* see update.cu */
  struct pinned told, packed_told;
  struct array<struct let_way> way;
  struct array<float> limit;   /* of every box */
};

/* LETs that are to be walked. */
struct waiting {
  int count;
  int32_t *root;               /* [roots_most] */
  int64_t size;                /* nodes and particles */
  int32_t motion_tick;
};

/* A walk of all from the local tree and LETs together: the first families begin with the local tree while LETs travel. */
struct joined {
  int32_t families;            /* so many */
  bool apart;                  /* the last walk was in two launches: */
  cudaEvent_t first_done, rest_began;   /* it did not work between these */
};

struct lets {
  cudaStream_t stream;         /* of what arrives */
  cudaEvent_t arrived, walked; /* the last that did; the last walk over LETs */
  bool news;                   /* the device's main stream has not waited for `arrived` yet */
  struct outgoing *out[LET_SETS];    /* [ranks] */
  struct incoming *in[LET_SETS];
  struct behind behind;              /* where the next LET begins: all that came stand there one behind the other, */
  struct behind step;                /* those of LET_STEP from here on, behind those of LET_SLOW */

  /* boxes */
  struct let_box box[BOX_MOST];
  int boxes;
  struct array<int32_t> box_begin;   /* particles of box b: box_begin[b] up to box_begin[b + 1] */
  struct array<double> rows;
  struct pinned numbers;

  struct choosing *choosing;         /* see choose.cu */

  struct watch watch;
  struct pinned staged;              /* updates on their way to the device, */
  struct array<char> staging;        /* and where they arrive */
  size_t staged_bytes;

  struct waiting waiting;
  struct joined joined;
  struct array<int32_t> root;        /* of those that were walked last, */
  int32_t *root_told;                /* and what was put there, */
  int roots;                         /* so many */
};

/* The part of the local tree that a request is about. */
static inline const struct part *lets_part(const struct device *d, const struct let_request *r)
{
  return &d->part[r->part == LET_OF_FAST ? FAST : SLOW];
}

void device_lets_open(struct device *d);
void device_lets_close(struct device *d);

/* --- walks ------------------------------------------------------------------------------------------------------- */

/* Trees to be walked in one go. Their nodes' centres are those of `motion_tick`. */
struct forest {
  struct tree t;
  const int32_t *root;   /* NULL: those of the local tree alone */
  int roots;
  int32_t motion_tick;   /* but of the fast ones', */
  int32_t fast_node;     /* from this one on, those of the device's fast_tick */
  int32_t families;      /* in walks of all those before this one have forces from it */
  int32_t adding;        /* the forces of families before this one are added to; those of the others begin anew */
  int local_roots;       /* so many roots, the first, are not for families that are added to */
  int whole;             /* the local tree and LETs, for all that are walked */
};

/* The parts of a walk: for (struct parting p = {}; forest_next(d, r, &p, &f);) walk f.
 *
 * Walks of all with LETs of a synchronisation have two: the first families from the local tree, which LETs need not have reached, and
 * at the end (`last`) all roots together, of which the first families take the LETs'. In other walks the local tree comes first, and
 * small LETs wait for others, also beyond this call of the verb, until together they are worth a launch. What is walked together
 * depends on the order of particles and of LETs and on sizes alone, so the bits of the sums do too. Hard walks that are asked for all
 * trees at once walk them so, where there are no lists of neighbours and all moments are of one tick, or
 * those of all slow trees of one and those of all fast ones of another. */
struct parting {
  int local_done, at, done;
};
/* Whether the request is part of such a walk in two parts. */
bool forest_joins(const struct walk_request *r);
int forest_next(struct device *d, const struct walk_request *r, struct parting *p, struct forest *f);
/* Whether a hard walk should be asked for all trees at once. */
bool forest_gains(const struct device *d, const struct walk_request *r);
/* To be called when a walk over the forest is queued: what arrives later stays behind it. */
void forest_walked(struct device *d, const struct forest *f);
/* What arrives next stays behind the walks over LETs that are queued. */
void lets_follow(struct device *d);
/* Something was queued among the arrivals; the main stream waits for it. */
void lets_arrived(struct device *d);
void lets_join(struct device *d);
#endif
