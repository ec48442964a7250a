/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Units of stars in the hard part on the CPU: pairs and groups that form and dissolve at block times
 * (gravity/unit_rules.h). The centre of mass of a unit is one particle of the Hermite scheme, at the place of its star
 * of the lowest id; the other stars are absorbed: they are in no list. Private to src/cpu/lists. */
#ifndef CPU_UNITS_H
#define CPU_UNITS_H
#include "cpu/lists/neighbour_lists.h"
#include "gravity/few_bodies.h"
#include "gravity/triple.h"
#include "gravity/quadrupole.h"
#include "gravity/resolved_pair.h"
#include "gravity/unit_rules.h"

enum unit_kind { UNIT_AVERAGED, UNIT_RESOLVED, UNIT_GROUP };

/* A star of a unit, or a tight pair that is a point mass within a group, or an inner pair of a hierarchy. */
struct unit_body {
  int32_t star[2];        /* places; star[1] < 0: one star */
  double m, m1, m2;       /* m1, m2: of a tight pair */
  double x[3], v[3];      /* from the unit's centre */
  double d[3], u[3], lag; /* of a pair, at the time `lag` before the unit's */
};

struct unit_orbit {
  double a, e, period; /* of a bound pair; a < 0: not bound */
  double size;         /* apocentre of a pair, extent of a group */
  double outer_time;   /* of a group: the least time in which its outer members move by their distance */
};

struct unit_field {
  double tide[3][3], tide_far[3][3]; /* of all neighbours; of those that are not near */
  int near_count;
  int32_t near[UNIT_NEAR];
  double strongest, at_pericentre; /* of G m / r^3 of the neighbours: now; when they pass */
  double fastest;                  /* least r / v of neighbours that matter */
};

struct unit {
  enum unit_kind kind;
  int lasting, bodies;
  struct unit_body body[UNIT_BODIES];
  struct unit_orbit orbit;
  struct unit_field field;
  double quadrupole[3][3], rate[3][3], trace; /* sum m x x, as the neighbours see it */
  int32_t seen_tick;                          /* of that of a passing pair */
  double d[3], u[3], lag;                     /* of an averaged pair, at the time `lag` before the unit's */
  struct ks_pair ks;                          /* of a resolved pair, and the outer orbit of a hierarchy */
  int followed;                               /* 1: a hierarchy whose first body is a pair that is followed, */
  struct ks_pair inner;                       /* along this orbit */
  double step;                                /* of a group */
  double longest_mean;                        /* orbits in a group with shorter periods are seen by their mean */
  int64_t work;                               /* kicks of a pair, evaluations of a group */
  int failed;                                 /* 1: two stars are at the same place */
};

enum { UNIT_STAR = -1, UNIT_ABSORBED = -2 };

struct units {
  struct list_set *set;
  struct unit_rules rules;
  int32_t *of;       /* [n] unit at this place; or UNIT_STAR, UNIT_ABSORBED */
  double *gm;        /* [n] of the star itself */
  float *factor;     /* [n] */
  int32_t *partner;  /* [n] the neighbour that belongs to it; -1: none */
  struct unit *unit; /* [capacity] */
  struct unit *next; /* [capacity] at the end of the step */
  int32_t *centre;   /* [capacity] place; -1: free */
  int32_t *spare;    /* [capacity] those that are free */
  int64_t spares;
  int64_t n, capacity; /* n: with those that are free */
  int lowest;          /* level that a place has left or got in this tick; LIST_LEVEL_MAX + 1: none */
  int32_t *begun;      /* [begun_capacity] places that have begun in this tick */
  int64_t begun_count, begun_capacity;
  double widest_factor;
};

/* --- units.c: what there is --- */

/* The units of the set at tick 0: bound pairs. Makes all lists. */
void units_open(struct units *units, struct list_set *set, const struct list_request *request);
/* Kinetic energy of own bound pairs about their centres of mass. */
double units_pair_kinetic(const struct list_set *set, const struct list_request *request);
/* Put all stars back to their places at the end of the soft step. */
void units_close(struct units *units, const struct list_loop *loop);
/* A unit of bodies[n] about x, v at the time t: their centre, elements and quadrupole. Returns the place of the
 * centre. */
int32_t units_make(struct units *units, int n, const struct unit_body *bodies, const double x[3], const double v[3],
                   int32_t tick, double t);
/* The bodies of the unit or star at `place` at the time t, relative to x, v. whole: a tight pair is one body. Returns
 * their number. */
int units_bodies(const struct units *units, int32_t place, double t, const double x[3], const double v[3], int whole,
                 struct unit_body *bodies);
/* The same for two bodies that are a hierarchy: gravity/hierarchy.h. */
int32_t units_make_hierarchy(struct units *units, const struct unit_body bodies[2], const double x[3],
                             const double v[3], int32_t tick, double t);
void units_release(struct units *units, int32_t place);
/* The place has now, or has had, its present level. */
void units_note_level(struct units *units, int32_t place);
/* A tight pair as its two stars. */
void unit_divide(const struct unit_body *pair, struct unit_body stars[2]);

/* --- unit_facts.c --- */

struct unit_facts units_facts(const struct units *units, int32_t place);
/* R1 of the pairs of two places. */
double units_r1(const struct units *units, int32_t i, int32_t j);
int unit_hierarchy_holds(const struct unit *unit, const struct unit_rules *rules, double t, double r1);
/* Whether i and j, at the distance d with the velocity u, become a hierarchy. */
int units_hierarchical(const struct units *units, const struct list_loop *loop, int32_t i, int32_t j, int32_t tick,
                       const double d[3], const double u[3]);
/* Whether the two bodies that a group at `place` has become are a hierarchy. */
int units_settled(const struct units *units, const struct list_loop *loop, int32_t place, int32_t tick,
                  const struct unit_body bodies[2]);

/* --- unit_motion.c: what is inside --- */

void unit_elements(struct unit *unit, const struct unit_rules *rules, double r1);
void unit_set_quadrupole(struct unit *unit, double step);
/* That of a passing pair at the time t; others are left alone. */
void unit_passing_quadrupole(struct unit *unit, double t);
/* Relative position and velocity of a pair at the time t. since: the unit's time. */
void unit_relative(const struct unit *unit, double t, double since, double d[3], double u[3]);
/* Bring a resolved pair to the time t. */
void unit_finish(struct unit *unit, const struct unit_environment *environment, double t);
/* The members from the time `from` to t. Returns -1 where two stars are at the same place. */
int unit_advance(struct unit *unit, const struct unit_environment *environment, const struct unit_field *after,
                 double from, double t);
/* Averaged or resolved, by the field at the time t. */
void unit_classify(struct unit *unit, const struct unit_rules *rules, double t);
void unit_to_resolved(struct unit *unit, const struct unit_rules *rules, double t);
double unit_pair_mass(const struct unit *unit);

/* --- unit_hierarchies.c: resolved pairs of which a body is a pair --- */

static inline int unit_is_hierarchy(const struct unit *unit)
{
  return unit->kind != UNIT_GROUP && (unit->body[0].star[1] >= 0 || unit->body[1].star[1] >= 0);
}
/* A star, or a pair that lasts. */
struct unit_facts unit_body_facts(const struct unit_body *body);
/* The orbits, from bodies as they are at the time t. followed: the pair is body 0. */
void unit_hierarchy_open(struct unit *unit, const struct unit_rules *rules, double r1, double t);
/* The bodies as they are, about their centre, where the outer orbit is at d with the velocity u. */
void unit_hierarchy_bodies(const struct unit *unit, const double d[3], const double u[3], struct unit_body bodies[2]);
void unit_hierarchy_advance(struct unit *unit, const struct unit_environment *environment, double from, double t);
void unit_hierarchy_finish(struct unit *unit, const struct unit_environment *environment, double t);
void unit_hierarchy_add_quadrupole(const struct unit *unit, double q[3][3]);

/* --- unit_forces.c --- */

/* Force on the centre of a unit; *field and its partner. */
void units_force(struct units *units, const struct list_loop *loop, int32_t i, int32_t tick, const double x[3],
                 const double v[3], struct hermite_force *force, struct unit_field *field);
/* Force on a star. Sets its partner. */
void units_force_on_star(struct units *units, const struct list_loop *loop, int32_t i, int32_t tick, const double x[3],
                         const double v[3], struct hermite_force *force);
void units_environment(const struct units *units, const struct list_loop *loop, int32_t i,
                       struct unit_environment *environment);

/* --- unit_changes.c --- */

/* Join those that have a partner among places[n], and part those that no longer belong together, at the tick. Returns
 * whether there was any. */
int units_change(struct units *units, struct list_loop *loop, int32_t tick, const int32_t *places, int64_t n,
                 int parting);
#endif
