/* SPDX-License-Identifier: GPL-3.0-or-later */
/* State of gpu/neighbour_lists: neighbour lists and motions of one soft step. Data only; functions are in
 * gpu/neighbour_lists/neighbour_lists.cuh. */
#ifndef GPU_NEIGHBOUR_LISTS_STATE_CUH
#define GPU_NEIGHBOUR_LISTS_STATE_CUH
#include "backend/neighbour_list_verbs.h"
#include "gpu/device/memory.cuh"
#include "gravity/bound_pair.h"
#include "gravity/pair_steps.h"

/* A particle at the begin of the soft step, own or of the halo. */
struct __align__(16) list_body
{
  double x[3], v[3];
  double gm;     /* G m */
  float factor;  /* of split_factor */
  int32_t level; /* proposed, or LEVEL_UNKNOWN */
};

/* What other particles read of a member besides its motion. */
struct __align__(16) list_source
{
  double gm;
  float factor;
  int32_t tag; /* of units of stars (units.cuh) */
};

/* The list of a member, or of a particle (potential). */
struct __align__(16) member_list
{
  int64_t begin;
  int32_t count, unused;
};

/* The grid of candidates has levels, whose cells are twice as wide as those of the level before. */
enum { GRID_LEVELS = 16 };
struct grid_numbers {
  int32_t count[GRID_LEVELS];  /* particles */
  int32_t radius[GRID_LEVELS]; /* bits of the float: the largest radius of neighbours, */
  int32_t half[GRID_LEVELS];   /* and half the longest path */
  int32_t longest;             /* list, where it is too long for the first search */
};

enum {
  LEVEL_BIN = 32,  /* counters of levels; the last one counts what is written to `swift` */
  COUNT_TURNS = 3, /* sets of counters: one is summed, one read, one cleared */
  SWIFT_MAX = 512  /* particles of the deepest levels that one thread block integrates by itself */
};

/* What the thread blocks of the loop over ticks share, and what it counted. */
struct loop_numbers {
  unsigned arrived;                      /* at the barrier of the grid */
  int32_t count[COUNT_TURNS][LEVEL_BIN]; /* members at each level */
  int32_t swift[SWIFT_MAX];
  unsigned long long ticks, collapsed, steps, pairs, entries, with_neighbours;
  unsigned left_at;      /* meeting at which the loop was left, after loop_job.ticks_max ticks; 0: it was not */
  int32_t deepest, lock; /* of `worst` */
  double wanted, distance, at[3]; /* of the worst collapse */
  int32_t who, neighbour;         /* members */
  uint64_t who_id, neighbour_id;
};

/* A bound pair that goes by Kepler's equation; the first has the lower id, and holds the centre of mass. */
struct list_bound {
  int32_t first, second; /* particles */
  double d[3], u[3];     /* the second relative to the first */
  double m1, m2;         /* G m */
  float f1, f2;          /* factors */
};

/* One that was found, with the elements; `perturbed`: it has a perturber, and is not taken. */
struct list_pair_found {
  struct list_bound pair;
  struct list_triple triple;
  double e;
  int perturbed, unused;
};

/* Particles in hashed cells, for the search of neighbours. */
struct candidate_state {
  struct array<uint64_t> cell;      /* of each particle */
  struct array<uint32_t> bucket[2]; /* hashed cells: of the particles; sorted */
  struct array<int32_t> place[2];   /* numbers of particles; in the order of the buckets */
  struct array<int32_t> bucket_begin;
  struct array<char> record; /* the particles in the order of buckets */
};

/* The lists of neighbours of all particles. */
struct neighbour_state {
  int64_t entries;                     /* of all present lists */
  struct array<int32_t> count;         /* entries of each particle */
  struct array<int64_t> begin, number; /* of its first entry; its number among the members */
  struct array<int32_t> staged, raw;   /* particles, of short and of long lists, */
  struct array<int32_t> entry;         /* and in ascending order, as members where there are members */
};

/* The members: particles that have neighbours. */
struct member_state {
  int64_t count;             /* of the present lists */
  struct array<int32_t> who; /* particle */
  struct array<struct member_list> list;
  struct array<struct list_source> source;
  struct array<struct hermite_motion> motion; /* [2 members] at the begins of its last two steps */
  struct array<int2> ticks;                   /* of the two motions */
  struct array<struct list_body> predicted;
  struct array<int32_t> steps;
};

/* The bound pairs of this soft step. */
struct bound_state {
  int64_t count;
  struct array<struct list_bound> bound;
  struct array<struct list_pair_found> found;
  struct array<int32_t> partner; /* work of their search */
};

/* Of soft steps that are tried without units: soft steps to the next try, and what they were after the last one. */
struct unit_trial {
  int wait, pause;
};

/* Collisions of stars (gpu/neighbour_lists/unit_collisions.cu). */
struct collision_state {
  struct array<char> log, contact; /* on the device, of structs of gravity/contacts.h */
  struct contact_log host;
  int64_t count; /* of the list */
  struct list_collision *list;
};

/* Units of stars (gpu/neighbour_lists/units.cuh), by place; those of char are of structs of units.cuh. */
struct unit_state {
  struct array<int32_t> partner, head, companion, count, root, at, spare, begun, noted;
  struct array<struct member_list> list;
  struct array<float> partner_distance, factor;
  struct array<uint8_t> waits;
  struct array<unsigned long long> claim;
  struct array<double> gm, kinetic, row;
  struct array<uint64_t> id;
  struct unit_records {
    struct array<char> unit, field, view, stars, change[2], numbers, lent, tally;
  } record;
  struct unit_trial trial;
  int64_t lent_count;
  struct unit_star *lent_host;
  struct unit_mail *mail; /* page-locked */
  struct collision_state collision;
};

struct list_state {
  int swift_aim;  /* at most so many particles are integrated by one block; 0: the default */
  int blocks_max; /* 0: as many blocks as fit */
  struct loop_numbers *numbers, *host_numbers;
  struct grid_numbers *grid; /* on the device */
  runtime_event event[3];
  struct array<struct halo_particle> halo; /* from or for other ranks */
  struct array<struct list_body> body;
  struct candidate_state candidate;
  struct neighbour_state list;
  struct member_state member;
  struct bound_state pair;
  struct unit_state unit;
  struct array<uint8_t> status; /* level and class of lists, by thread blocks */
};

void list_state_open(struct list_state *state);
void list_state_free(struct list_state *state);
#endif
