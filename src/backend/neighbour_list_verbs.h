/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table `neighbour_lists` of a backend: the hard part of a whole soft step from neighbour lists, with block steps,
 * by an integrator of params/integrators.h. One verb carries it out, so the loop over substeps stays on the device.
 *
 * On several ranks the neighbours across a domain's face are copies from other ranks (the halo), which a rank
 * integrates along with its own particles. The halo is HALO_LAYERS wide: the first layer are neighbours of own
 * particles, the second one neighbours of the first. So ranks need no messages within a soft step: only particles of
 * the second layer lack neighbours, and own particles see no error of the first order.
 *
 * Order of verbs:
 *   at the start      order, build, moments, groups, halo, potential, [let verbs], walk (WALK_SOFT with add_potential)
 *   soft step         kick, halo, advance, order, build, moments, groups, [let verbs], walk (WALK_SOFT with
 *                     add_potential), kick
 * Verbs are local and follow the rules of backend/backend.h. */
#ifndef NEIGHBOUR_LIST_VERBS_H
#define NEIGHBOUR_LIST_VERBS_H
#include <math.h>

#include "backend/backend.h"
#include "gravity/contacts.h"
#include "gravity/reach.h"
#include "params/integrators.h"
#ifdef __cplusplus
extern "C" {
#endif

enum { HALO_LAYERS = 2 };
/* the deepest block level of hard steps; `level` of a particle that has had no step */
enum { LIST_LEVEL_MAX = 28, LEVEL_UNKNOWN = 255 };
/* level of the star of the higher id of a pair whose state is that of its mean orbit (gravity/unit_rules.h) */
enum { LEVEL_MEAN = 254 };
#define NEIGHBOUR_MARGIN 1.05 /* neighbours come within this factor of R2 on straight lines */
#define LIST_FIRST_ETA 0.25   /* eta of a first step, in units of `eta` */
/* alpha: background acceleration in units of G m / R2^2, m at least the mean mass */
#define LIST_BACKGROUND 0.1
/* particles with neighbours take steps of at most a quarter of the soft step */
enum { LIST_LONGEST_LEVEL = 2 };

/* Collisions of stars, with `units`. The radius of a star is radius m^exponent. */
struct list_radii {
  int on, merge; /* merge: two that collide go on as one point mass for the rest of the soft step */
  double radius, exponent;
};

struct list_request {
  enum step_integrator integrator;
  struct split split; /* radii and kernel; on */
  double soft_step;   /* time */
  double eta;         /* of the integrator's criterion */
  int first;          /* 1: no particle has proposed a level yet, so `level` is not used */
  /* added to the levels that particles proposed: 1 where this soft step is longer than the last one */
  int level_shift;
  /* of all particles of the run that have any: the background of a step is at least that of this mass */
  double mean_mass;
  double largest_mass; /* of all particles of the run: the widest radius is that of this mass */
  /* 1: stars form units (gravity/unit_rules.h); without softening, for the Hermite scheme */
  int units;
  int several;               /* with `units`: on several ranks; `advance` leaves pot and acc_hard to `potential` */
  double speed2, total_mass; /* of units: mean square speed of stars and pairs; of all particles of the run */
  double unit_r1;            /* of units: R1 of their rules, where that of the split is larger; 0: that of the split */
  struct list_radii radii;
  double pair_limit; /* bound pairs with 2a below this length may be integrated by Kepler's equation; 0: none */
};

/* Distance from the box of a rank up to which it needs particles of other ranks. For forces at the present positions
 * (soft_step 0) one layer is enough. */
static inline double halo_width(const struct list_request *request)
{
  int layers = request->soft_step > 0 ? HALO_LAYERS : 1;
  return layers * NEIGHBOUR_MARGIN * (double)request->split.r2 *
         (double)split_factor(&request->split, (float)request->largest_mass);
}

/* R1 of the rules of units (gravity/unit_rules.h), for factor 1. */
static inline double list_unit_r1(const struct list_request *request)
{
  double r1 = (double)request->split.r1;
  return request->unit_r1 > 0 && request->unit_r1 < r1 ? request->unit_r1 : r1;
}

/* A particle that another rank needs. */
struct halo_particle {
  double pos[3], vel[3];
  uint64_t id;
  float mass;
  int16_t level, type;
};

/* A particle whose step collapsed below soft_step / 2^LIST_LEVEL_MAX, with its nearest neighbour. */
struct list_collapse {
  uint64_t id, neighbour;
  double pos[3], distance;
  double wanted; /* the step that was asked for (time) */
};

/* A bound pair with a perturber: it is not integrated by Kepler's equation, but orbit by orbit. */
struct list_triple {
  uint64_t first, second, perturber; /* ids, the lower one of the pair first */
  double pos[3];                     /* of the first */
  /* of the pair; distance at which the perturber passes its centre of mass on straight lines */
  double period, a, distance;
};

/* What a soft step took. Verbs add counts, and set the extremes. */
struct list_tally {
  double seconds, list_seconds;
  int64_t entries;         /* of neighbour lists of own particles */
  int64_t with_neighbours; /* own particles that have neighbours */
  int64_t ticks;           /* block steps: distinct ticks */
  int64_t steps, pairs;    /* particle steps; pairs evaluated; halo particles included */
  int deepest;             /* block level */
  int64_t collapsed;       /* steps that were taken longer than asked for */
  struct list_collapse worst;
  /* own pairs integrated by Kepler's equation; a pair counts where the member of the lower id is own */
  int64_t pairs_bound;
  double pair_kinetic;                          /* with `units`: as that verb, at the end of the soft step */
  double shortest_period, largest_eccentricity; /* over them; 1e300 and 0: none */
  int64_t pairs_perturbed;                      /* own pairs that would be but for a perturber */
  struct list_triple triple;                    /* of them, that of the shortest period */
};

/* A star at the end of a soft step, as the rank of its unit has it. */
struct unit_star {
  uint64_t id;
  double pos[3], vel[3];
  int64_t level;
};

/* Two stars whose distance has fallen to the sum of their radii. Where they have merged, the first one stands for both
 * from then on: its place and motion at the end of the soft step are theirs, and those of the second one, and of all
 * that had merged with it before, are not defined. */
struct list_collision {
  uint64_t id[2]; /* the heavier one first; that of the star that stands for those that have merged */
  double mass[2];
  double time;                     /* in the soft step */
  double radii, pericentre, speed; /* the sum of their radii; of their orbit; relative speed at that distance */
  double a, e;                     /* of their orbit; a < 0: not bound */
  double pos[3], vel[3];           /* of their centre of mass */
  double lost;                     /* energy that the merger takes out: that of the two, below 0 where they are bound */
  int64_t merged;
};

/* At most so many collisions of `n` particles in a soft step. */
static inline int32_t list_collisions_max(int64_t n) { return (int32_t)(1024 + n); }

/* As the device sees it. */
static inline struct contact_rules list_contact_rules(const struct list_request *request, double gravity,
                                                      struct contact_log *log)
{
  struct contact_rules rules;
  rules.radius = request->radii.radius * pow(gravity, -request->radii.exponent);
  rules.exponent = request->radii.exponent;
  rules.merge = request->radii.merge;
  rules.begun = !request->first;
  rules.log = request->radii.on ? log : NULL;
  return rules;
}

/* A contact of the stars of these ids. */
static inline struct list_collision list_collision_of(const struct contact *contact, const uint64_t id[2],
                                                      double gravity)
{
  struct list_collision c;
  for (int k = 0; k < 2; k++) {
    c.id[k] = id[k];
    c.mass[k] = contact->m[k] / gravity;
  }
  for (int k = 0; k < 3; k++) {
    c.pos[k] = contact->x[k];
    c.vel[k] = contact->v[k];
  }
  c.time = contact->t;
  c.radii = contact->radii;
  c.pericentre = contact->pericentre;
  c.speed = contact->speed;
  c.a = contact->a;
  c.e = contact->e;
  c.lost = contact->lost / gravity;
  c.merged = contact->merged;
  return c;
}

/* The largest speed of the paths of particles that other ranks need, with `units`: of two stars on a tight orbit the
 * velocity says nothing of where they go. */
static inline double halo_speed(const struct list_request *request)
{
  if (!request->units || !(request->soft_step > 0)) return 1e300;
  double typical = sqrt(request->speed2), crossing = (double)request->split.r2 / request->soft_step;
  return 8 * typical > 0.5 * crossing ? 8 * typical : 0.5 * crossing;
}

struct backend_neighbour_lists {
  /* 1: the backend has this integrator. */
  int (*has)(enum step_integrator integrator);
  /* The particles of this rank with mass that come, on straight lines within the soft step, within halo_width of box[b]
   * = low[3], high[3], for each of `boxes` boxes (low > high: empty, gets none): counts[boxes], and the particles,
   * those for box 0 first. Owner of the result: caller (memory_free). `skip`: box of this rank itself, -1: none. */
  struct halo_particle *(*halo)(struct device *d, const struct list_request *request, int boxes, const double (*box)[6],
                                int skip, int64_t *counts);
  /* Integrate the particles of this rank, with halo[n] as further ones, over the soft step. Before: all particles at
   * the same time (tick 0) after the soft kick; `level` holds the level that each proposed at its last step, or
   * LEVEL_UNKNOWN. After: pos and vel at the end of the soft step, level the new proposal, tick 0; acc_hard the hard
   * acceleration and pot the hard part of the potential, - G m K / rho, at the end; `work` increased by the pairs
   * evaluated. Particles without neighbours move on straight lines and get LEVEL_UNKNOWN. The tree is no longer valid
   * afterwards: order, build. */
  void (*advance)(struct device *d, const struct list_request *request, int64_t n, const struct halo_particle *halo,
                  struct list_tally *tally);
  /* Set pot to the hard part of the potential and acc_hard to the hard acceleration of all own particles at the present
   * positions. soft_step of the request counts as 0. */
  void (*potential)(struct device *d, const struct list_request *request, int64_t n, const struct halo_particle *halo);
  /* The kinetic energy of own bound pairs with apocentres well below R1 about their centres of mass. NULL: the backend
   * carries out no requests with `units`. */
  double (*pair_kinetic)(struct device *d, const struct list_request *request, int64_t n,
                         const struct halo_particle *halo);
  /* With `units` on several ranks, a unit whose stars are on several ranks is that of the rank with its star of the
   * lowest id. After advance: the stars of such units of this rank that other ranks own; *n: their number. Owner of the
   * result: the device, until the next advance. */
  const struct unit_star *(*lent)(struct device *d, int64_t *n);
  /* Take position, velocity and level of own particles from stars[n], which other ranks have lent; others are passed
   * over. */
  void (*take_back)(struct device *d, int64_t n, const struct unit_star *stars);
  /* With `radii`, after advance: the collisions in units of this rank (of which it has the star of the lowest id), in
   * no order; *n: their number, above list_collisions_max of the places where some are missing. A pair may be there
   * more than once. Where stars have merged, pot and acc_hard are not defined. Owner of the result: the device, until
   * the next advance. NULL: the backend knows no radii. */
  const struct list_collision *(*collisions)(struct device *d, int64_t *n);
};
#ifdef __cplusplus
}
#endif
#endif
