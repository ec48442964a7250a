/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A unit of stars: a pair, or a group of up to UNIT_BODIES bodies, whose centre of mass is integrated as one particle.
 * Data only; on the host and on devices. Masses are G m. */
#ifndef UNIT_H
#define UNIT_H
#include <stdint.h>

#include "gravity/ks.h"
#include "gravity/unit_environment.h"

enum unit_kind { UNIT_AVERAGED, UNIT_RESOLVED, UNIT_GROUP };

/* A star of a unit, or a tight pair that is a point mass within a group, or an inner pair of a hierarchy. */
struct unit_body {
  int32_t star[2];        /* places; star[1] < 0: one star */
  int32_t with[2][2];     /* places + 1 of the stars that have merged with each of these; 0: none */
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
  double least;                    /* on a device, the next time: those with weights above this are near */
  double strongest, at_pericentre; /* of G m / r^3 of the neighbours: now; when they pass */
  double fastest;                  /* least r / v of neighbours that matter */
};

struct unit {
  enum unit_kind kind;
  int lasting, bodies;
  int passes; /* 1: a pair that does not last, whatever its orbit */
  struct unit_orbit orbit;
  struct unit_field field;
  double quadrupole[3][3], rate[3][3], trace; /* sum m x x, as the neighbours see it */
  double d[3], u[3], lag;                     /* of an averaged pair, at the time `lag` before the unit's */
  struct ks_pair ks;                          /* of a resolved pair, and the outer orbit of a hierarchy */
  int finer;                                  /* a resolved pair takes so many times RESOLVED_KICKS an orbit */
  int followed;                               /* 1: a hierarchy whose first body is a pair that is followed, */
  struct ks_pair inner;                       /* along this orbit */
  double step;                                /* of a group */
  double longest_mean;                        /* orbits in a group with shorter periods are seen by their mean */
  int64_t work;                               /* kicks of a pair, evaluations of a group */
  int failed;                                 /* 1: two stars are at the same place */
  uint64_t met;                               /* contacts that were noted: UNIT_MET */
  struct unit_body body[UNIT_BODIES];         /* [bodies] last: units are sent without the others */
};
#endif
