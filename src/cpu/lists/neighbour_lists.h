/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hard part of a soft step from neighbour lists, on the CPU: the particles that it works on, its lists, and what an
 * integrator and a subsystem are. Private to src/cpu. */
#ifndef CPU_NEIGHBOUR_LISTS_H
#define CPU_NEIGHBOUR_LISTS_H
#include "backend/neighbour_list_verbs.h"
#include "cpu/device.h"
#include "cpu/list_isa.h"
#include "gravity/pair_steps.h"

/* Own particles, then those of the halo, in double precision, with neighbour lists. */
struct list_set {
  const struct walk_isa *isa;
  int64_t n, own;
  struct hermite_motion *motion; /* [n] at the particle's own tick */
  double *gm;                    /* [n] G m */
  float *factor;                 /* [n] of split_factor */
  double *eps2;                  /* [n] squared softenings; NULL: all alike */
  uint64_t *id;                  /* [n] */
  uint8_t *level;                /* [n] */
  int32_t *tick;                 /* [n] */
  int32_t *steps;                /* [n] steps taken in this soft step */
  /* [n + 1] neighbours of particle i as they were made: entry[first[i]] up to entry[first[i + 1]], ascending */
  int64_t *first;
  int32_t *entry;
  /* the lists in use, which change as units of stars form and dissolve: entry[begin[i]] and so on; [n] */
  int64_t *begin;
  int32_t *length, *room;
  int64_t entries, entry_capacity;
  int light; /* 1: there are particles without mass */
  double gravity;
};

/* Fill `set` with the particles of the device and the halo at tick 0: positions, velocities, masses, ids; no lists. */
void list_set_open(struct list_set *set, struct device *d, const struct list_request *request, int64_t n,
                   const struct halo_particle *halo);
void list_set_close(struct list_set *set);
/* Make the neighbour lists, in place of those that there are: pairs that come, on straight lines within `horizon`,
 * within NEIGHBOUR_MARGIN R2. */
void list_set_lists(struct list_set *set, const struct list_request *request, double horizon);
/* Add j to the neighbours of i, if it is not there, and is not i. */
void list_add(struct list_set *set, int32_t i, int32_t j);
/* Take j out of them. Returns whether it was there. */
int list_remove(struct list_set *set, int32_t i, int32_t j);
void list_clear(struct list_set *set, int32_t i);
/* The neighbours of i. Owner: caller (memory_free). */
int32_t *list_copy(const struct list_set *set, int32_t i);

/* The loop over the ticks of a soft step. */
struct list_loop {
  struct list_set *set;
  const struct list_request *request;
  const struct integrator *integrator;
  struct list_tally *tally;
  struct list_sources from;
  double tick_length, mean_gm;
  int32_t *by_level;                  /* [moving] particles with neighbours, deepest level first */
  uint8_t *listed;                    /* [n] 1: the place is in by_level */
  int64_t moving, deeper[LEVELS + 1]; /* deeper[l]: particles of level l and deeper */
  struct hermite_motion *next;        /* [moving] of the active ones, in the order of by_level */
  double *wanted;                     /* [moving] the step that the criterion gives */
  int32_t *scratch;                   /* [moving] */
  int32_t *active;                    /* [moving] those of a tick */
  int32_t collapsed, undescribed;     /* undescribed: 1: the place of tally->worst, whose neighbour is not known yet */
  void *state;                        /* of the integrator */
  struct lent_stars *lent;            /* by the integrator */
  struct collision_list *collisions;  /* also */
};

/* An integrator: how one particle is advanced over its step, and how long the next one is. Its neighbours are predicted
 * by hermite_predict, with the acceleration and jerk (0: none) that it leaves in their motions. */
struct integrator {
  /* Acceleration and jerk of particle i at tick 0 to *motion. Returns its first step (time). */
  double (*first_force)(const struct list_loop *loop, int64_t i, struct hermite_motion *motion);
  /* *motion at the begin of the step of particle i, of length dt, with x and v predicted for its end, becomes its
   * motion there, at `tick`. Returns its next step (time). */
  double (*end_step)(const struct list_loop *loop, int64_t i, int32_t tick, double dt, const double x[3],
                     const double v[3], struct hermite_motion *motion);
  /* What follows is for integrators that replace stars by units; else NULL. */
  /* Make the lists, and the state. */
  void *(*open)(struct list_set *set, const struct list_request *request);
  void (*close)(struct list_loop *loop);
  void (*begin)(struct list_loop *loop); /* after the first forces and levels */
  /* After the motion of place i was advanced to `tick` by dt. */
  void (*commit)(struct list_loop *loop, int32_t i, int32_t tick, double dt);
  /* The force at a place that begins at the tick. Returns its first step. */
  double (*start)(struct list_loop *loop, int32_t i, int32_t tick);
  /* Form and dissolve units among the places[n] that a tick has advanced. Returns the lowest level that a place has
   * left or got by that, LIST_LEVEL_MAX + 1: none; *begun and *count: places that have begun, which may be in by_level
   * or not. */
  int (*change)(struct list_loop *loop, int32_t tick, const int32_t *places, int64_t n, const int32_t **begun,
                int64_t *count);
  /* Whether place i is integrated, with or without neighbours. */
  int (*moves)(const struct list_loop *loop, int64_t i);
};
#define INTEGRATOR_DECLARED(value, name, ...) extern const struct integrator integrator_##name;
INTEGRATORS(INTEGRATOR_DECLARED)
/* Stars, and units of stars (cpu/lists/units.h), by the Hermite scheme: where a request has `units`. */
extern const struct integrator integrator_units;

/* The least level of steps not longer than `wanted`. Sets *deeper where that is deeper than LIST_LEVEL_MAX. */
int list_level_for(const struct list_loop *loop, double wanted, int *deeper);
/* Note a particle whose step is shorter than any. Threads may call it together. */
void list_note_collapse(struct list_loop *loop, int64_t i, double wanted);
/* The nearest neighbour of the worst one noted, when no motions change. */
void list_describe_collapse(struct list_loop *loop);
/* Place i has this motion at the tick; its next level. */
void list_loop_commit(struct list_loop *loop, int32_t i, int32_t tick, const struct hermite_motion *motion,
                      double wanted);
/* For changes within a tick: advance place i to the tick, before its step ends; give a place that begins its level. */
void list_loop_bring(struct list_loop *loop, int32_t i, int32_t tick);
void list_loop_level(struct list_loop *loop, int32_t i, int32_t tick, double wanted);

/* The neighbours of particle i. */
static inline int64_t list_length(const struct list_set *set, int64_t i) { return set->length[i]; }
static inline const int32_t *list_entries(const struct list_set *set, int64_t i) { return set->entry + set->begin[i]; }
static inline struct list_target list_target_at(const struct list_set *set, int64_t i, int32_t tick, const double x[3],
                                                const double v[3])
{
  return (struct list_target){
      {x[0], x[1], x[2]}, {v[0], v[1], v[2]}, tick, set->factor[i], set->eps2 ? set->eps2[i] : 0};
}

/* A part of the system that is not integrated particle by particle in a soft step: Kepler pairs. Its particles are
 * replaced before the first forces, and restored at the end. Each is given the sets of all particles. */
struct subsystem {
  const char *name;
  /* With lists of all particles: find those of the soft step, and replace them by their centres of mass, with
   * LEVEL_UNKNOWN. Adds to the counts of *tally. Returns the state, NULL where there are none. */
  void *(*find)(struct list_set *set, const struct list_request *request, double softening, struct list_tally *tally);
  /* With lists of the centres of mass: kick by the tides for half a soft step. */
  void (*kick)(struct list_set *set, const struct list_request *request, void *state);
  void (*advance)(void *state, double soft_step);
  /* Put the particles back, with LEVEL_UNKNOWN, and free the state. */
  void (*restore)(struct list_set *set, void *state);
};
extern const struct subsystem subsystem_kepler_pairs;
#endif
