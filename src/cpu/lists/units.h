/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Units of stars in the hard part on the CPU: pairs and groups that form and dissolve at block times
 * (gravity/unit_rules.h). The centre of mass of a unit is one particle of the Hermite scheme, at the place of its star
 * of the lowest id; the other stars are absorbed: they are in no list. Private to src/cpu/lists. */
#ifndef CPU_UNITS_H
#define CPU_UNITS_H
#include "cpu/lists/neighbour_lists.h"
#include "gravity/unit_advance.h"
#include "gravity/unit_field.h"
#include "gravity/unit_parts.h"

/* The stars of a pair that is followed, at a tick; -1: not known. */
struct unit_seen {
  struct unit_two two;
  int32_t tick;
};

enum { UNIT_STAR = -1, UNIT_ABSORBED = -2 };

struct units {
  struct list_set *set;
  struct unit_rules rules;
  int32_t *of;            /* [n] unit at this place; or UNIT_STAR, UNIT_ABSORBED */
  double *gm;             /* [n] of the star itself */
  float *factor;          /* [n] */
  int32_t *partner;       /* [n] the neighbour that belongs to it; -1: none */
  uint8_t *waits;         /* [n] steps of a star in which it does not ask again to join */
  struct unit *unit;      /* [capacity] */
  struct unit *next;      /* [capacity] at the end of the step */
  struct unit_seen *seen; /* [capacity] */
  int32_t *centre;        /* [capacity] place; -1: free */
  int32_t *spare;         /* [capacity] those that are free */
  int64_t spares;
  int64_t n, capacity; /* n: with those that are free */
  int lowest;          /* level that a place has left or got in this tick; LIST_LEVEL_MAX + 1: none */
  int32_t *begun;      /* [begun_capacity] places that have begun in this tick */
  int64_t begun_count, begun_capacity;
  double widest_factor;
  struct contact_log contacts;
};

/* --- units.c: what there is --- */

/* The units of the set at tick 0: bound pairs. Makes all lists. */
void units_open(struct units *units, struct list_set *set, const struct list_request *request);
/* Kinetic energy of own bound pairs about their centres of mass. */
double units_pair_kinetic(const struct list_set *set, const struct list_request *request);
/* Put all stars back to their places at the end of the soft step. */
void units_close(struct units *units, const struct list_loop *loop);
/* A unit of bodies[n] about x, v at the time t: their centre, elements and quadrupole. form: what two bodies are.
 * Returns the place of the centre. */
int32_t units_make(struct units *units, int n, const struct unit_body *bodies, const double x[3], const double v[3],
                   int32_t tick, double t, enum unit_form form);
/* The bodies of the unit or star at `place` at the time t, relative to x, v. whole: a tight pair is one body. Returns
 * their number. */
int units_bodies(const struct units *units, int32_t place, double t, const double x[3], const double v[3], int whole,
                 struct unit_body *bodies);
void units_release(struct units *units, int32_t place);
/* The place has now, or has had, its present level. */
void units_note_level(struct units *units, int32_t place);

/* --- unit_facts.c --- */

struct unit_facts units_facts(const struct units *units, int32_t place);
/* R1 of the pairs of two places. */
double units_r1(const struct units *units, int32_t i, int32_t j);
/* Whether i and j, at the distance d with the velocity u, become a hierarchy. */
int units_hierarchical(const struct units *units, const struct list_loop *loop, int32_t i, int32_t j, int32_t tick,
                       const double d[3], const double u[3]);
/* Whether the two bodies that a group at `place` has become are a hierarchy. */
int units_settled(const struct units *units, const struct list_loop *loop, int32_t place, int32_t tick,
                  const struct unit_body bodies[2]);

/* --- unit_forces.c --- */

/* Force on the centre of a unit; *field and its partner. */
void units_force(struct units *units, const struct list_loop *loop, int32_t i, int32_t tick, const double x[3],
                 const double v[3], struct hermite_force *force, struct unit_field *field);
/* Force on a star. Sets its partner. */
void units_force_on_star(struct units *units, const struct list_loop *loop, int32_t i, int32_t tick, const double x[3],
                         const double v[3], struct hermite_force *force);
void units_environment(const struct units *units, const struct list_loop *loop, int32_t i,
                       struct unit_environment *environment);

/* --- unit_collisions.c --- */

/* Make room for the contacts of the soft step, where the request asks for them, and set rules.contacts. */
void units_open_contacts(struct units *units, const struct list_request *request);
/* Those in units of this rank go to the loop's list. */
void units_close_contacts(struct units *units, const struct list_loop *loop);

/* --- unit_changes.c --- */

/* Join those that have a partner among places[n], and part those that no longer belong together, at the tick. Returns
 * whether there was any. */
int units_change(struct units *units, struct list_loop *loop, int32_t tick, const int32_t *places, int64_t n,
                 int parting);
#endif
