/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether a system is still sound at a synchronisation: all values finite, nobody lost, no jump of the total momentum. The sums
 * are those of the diagnostics, so looking costs nothing. */
#ifndef GUARD_H
#define GUARD_H
#include "comm.h"
#include "diagnostics.h"

/* What the system was. */
struct guard {
  double particles, mass;         /* at the start */
  double momentum[3], v_rms, a_rms;   /* at the last synchronisation */
};

/* Remember the sums of a sound system, with `first` also how much there is. */
void guard_remember(struct guard *g, const struct diagnostics *now, int first);
/* -1 with a sentence that names step, time, what is wrong, in which phase it came in, and the ids of particles, where the
 * system is not sound after a soft step of length dt. Collective. */
int guard_check(const struct guard *g, const struct diagnostics *now, const struct comm *c, const struct backend *be, struct device *d,
                long long step, double time, double dt, struct fault *f);
/* How many of this rank's particles have a position or velocity that is not finite: nothing to keep. Local. */
int64_t guard_bad(const struct particles *p);
#endif
