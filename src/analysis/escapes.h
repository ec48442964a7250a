/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stars and systems that have left a cluster. All functions are local.
 *
 * A body is a star, or a system that is not part of another one, as its centre of mass. It has escaped where it is
 * farther than ESCAPE_RADII half-mass radii from the centre of mass of the stars that have not escaped before, and
 * where its energy per unit mass is above 0: half the square of its velocity in the frame of that centre, and the
 * potential of all stars but its own. The half-mass radius is that of the same stars about that centre. */
#ifndef ESCAPES_H
#define ESCAPES_H
#include "analysis/multiples.h"

enum { ESCAPE_RADII = 5 };

/* Ids of the stars that have escaped, ascending. Zero: none. */
struct escaped {
  int32_t count;
  int64_t *id;
};

struct escape {
  int64_t id[2]; /* of a system as in its row; of a star its own one, and 0 */
  int32_t stars;
  double mass, distance, speed; /* from the centre, in its frame */
};

/* Find the bodies that have escaped and have a star that had not before, and add all their stars to `escaped`. `star`:
 * arranged; `found`: their systems. Returns an array of *count escapes in the order of the first ids (owner: caller,
 * memory_free). */
struct escape *escapes_find(const struct star *star, int32_t stars, const struct multiples *found, double gravity,
                            struct escaped *escaped, int32_t *count);
#endif
