/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bound pairs of stars and hierarchies of them, and what happened to pairs between two times. All functions are local;
 * python/espalier_plots/multiples.py has the same definitions.
 *
 * A system is two bodies that are each other's nearest and bound, where no third body disturbs them by more than a
 * limit: the tide 2 (m3 / m) (Q / r)^3 of the nearest others, with the pair's mass m and apocentre Q = a (1 + e). A
 * body is a star, or a system that was found before, as its centre of mass. */
#ifndef MULTIPLES_H
#define MULTIPLES_H
#include <stdint.h>

/* A star with mass, in any units with a constant of gravity. */
struct star {
  double pos[3], vel[3], mass;
  int64_t id;
};

struct multiple {
  int64_t first, second; /* lowest ids of the stars of the two bodies, the lower one first */
  int32_t inner[2];      /* rows of the systems that they are; -1: they are stars */
  int32_t stars;         /* of both */
  double a, e, period;   /* semi-major axis, eccentricity */
  double mass[2];
  double tide;   /* of the third body that disturbs most; 0: there is none */
  double energy; /* of the orbit, below 0 */
  double pos[3], vel[3];
};

/* Inner systems come before those that they are part of. */
struct multiples {
  int32_t count;
  struct multiple *row;
};

/* Remove stars without mass and sort the others by their ids, so that what follows does not depend on their order.
 * Returns their number. */
int32_t multiples_arrange(struct star *star, int32_t stars);
/* Find the systems of stars that are arranged. Free with multiples_close. */
void multiples_find(struct multiples *found, const struct star *star, int32_t stars, double gravity, double limit);
void multiples_close(struct multiples *found);
/* The body of each star [stars], which are arranged: the row of the system that it belongs to and that is not part of
 * another one, or count + star of one that belongs to none. Owner: caller (memory_free). */
int32_t *multiples_owners(const struct multiples *found, const struct star *star, int32_t stars);

/* Two stars that are a system, the lower id first. */
struct star_pair {
  int64_t id[2];
};
/* The systems of two stars, sorted by their ids. Returns an array of *count pairs (owner: caller, memory_free). */
struct star_pair *multiples_pairs(const struct multiples *found, int32_t *count);

enum pair_event { PAIR_FORMED, PAIR_DISSOLVED, PAIR_EXCHANGED };
/* `pair` is the new one, or the one that has dissolved; `former`, of PAIR_EXCHANGED: the pair that a star of the new
 * one has left. */
typedef void pair_happened(void *to, enum pair_event event, const struct star_pair *pair,
                           const struct star_pair *former);
/* Call `happened` for all that has happened between two times with these pairs, as multiples_pairs returns them: new
 * pairs in the order of their ids, which are exchanged where one of the pairs that are gone has a star of theirs and
 * was not taken by a former one, then those that have dissolved. */
void multiples_events(const struct star_pair *before, int32_t count_before, const struct star_pair *after,
                      int32_t count_after, pair_happened *happened, void *to);
#endif
