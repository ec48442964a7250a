/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hard forces from lists that live on: for every particle, what can come within R2 of it before the lists' horizon. Made
 * once, they serve hard walks of any of the particles until the horizon, or until somebody leaves the way that the lists
 * allowed for. How, and what was tried: doc/gpu-hard.md. */
#ifndef GPU_NEIGHBOURS_CUH
#define GPU_NEIGHBOURS_CUH
#include "memory.cuh"
#include "verbs.h"

struct body;

/* The straight way of a source from the lists' making to their horizon, in lattice coordinates, and how far it may leave it;
 * of a node: its centre's, and the radius that holds its particles all the while. Particles come first, nodes after them. */
struct __align__(16) way {
  int32_t from[3];
  float stray;
  int32_t to[3];
  float b;
};

enum { LIST_ROUND = 8 };             /* lists are filled up to multiples of so many entries */
enum { POOL_END = 8 * LIST_ROUND };   /* entries behind the last list, which may be read but are not used */
#define LIST_NONE 0xffffffffu        /* `begin` of a particle whose group is to be walked */

/* The list of a particle in the pool of entries: numbers of ways (sources). */
struct __align__(8) neighbour_list {
  uint32_t begin;                    /* in units of LIST_ROUND entries */
  uint16_t count, cells;             /* all; of these, nodes */
};

/* Numbers of the making. */
struct making_numbers {
  unsigned long long top;            /* entries of the pool that were asked for */
  unsigned long long entries;        /* of all lists */
  int32_t queue;                     /* next group */
  int32_t heavy;                     /* groups that have no lists */
  int32_t rest;                      /* of these, the ones to be walked now */
  int32_t active;                    /* targets */
  int32_t longest;                   /* list */
};

/* State of the lists. */
struct neighbours {
  int made, declined;                /* there are lists; there is no room for them */
  int passing;                       /* the tree is built anew within this soft step: lists would not last */
  int pause;                         /* synchronisations until lists are tried again */
  int unchecked;                     /* velocities may be others since */
  int total;                         /* made for all particles at a synchronisation, and not yet used later */
  int32_t tick;                      /* of making */
  double horizon, spread;            /* they hold for so long a time; a particle may leave its way by so much */
  double step;                       /* length of the last soft step */
  struct mac mac;
  float r2;
  int32_t heavy_most;                /* with more groups without lists, or so many entries in all, lists do not pay */
  unsigned long long entries_most;
  struct making_numbers told;
  int64_t makings;
  struct making_numbers *numbers;    /* on the device */
  struct array<struct way> way;
  struct array<struct neighbour_list> list;
  struct array<int32_t> pool;
  struct array<char> buffer;         /* of each warp that makes lists */
  struct array<uint8_t> heavy;       /* a flag for every group */
  struct array<int32_t> rest;        /* groups to be walked */
  struct array<int32_t> active;      /* targets */
  struct array<struct body> now;     /* all sources at the present tick */
};

/* Hard forces (see walk_request) of all particles where the request is WALK_TOTAL, else of the active ones; their
 * interactions are added to `work` and to the counts of d->answers, and with WALK_HARD the targets. Needs groups, and
 * moments by the criterion of the request. Returns how many groups are still to be walked, listed in d->neighbours.rest;
 * -1: all of them (there is no room for lists, or they would not pay). */
int32_t neighbours_forces(struct device *d, const struct walk_request *r);
/* Whether there are lists, or the next hard forces would make them. */
static inline int neighbours_expected(const struct neighbours *s) { return s->made || (!s->declined && !s->passing && s->pause == 0); }
/* Particles or tree are others now: lists are made anew. */
void neighbours_forget(struct device *d);
/* Look whether the active particles, corrected at `tick`, keep to the ways of the lists; if not, lists are made anew after
 * the next refresh of moments. */
void neighbours_watch(struct device *d, int32_t tick, double tick_length);
void neighbours_free(struct device *d);

/* The making (neighbours_make.cu): ways of particles and nodes are there. Returns 0 when the pool had no room for all; what
 * it needs is in told.top then. */
static inline int neighbours_given_up(const struct neighbours *s)
{
  return s->told.heavy > s->heavy_most || s->told.entries > s->entries_most;
}
int neighbours_make(struct device *d, const struct walk_request *r);
/* Bytes that the warps of the making keep in s->buffer, for which there must be room. */
int64_t neighbours_buffer(const struct device *d);
#endif
