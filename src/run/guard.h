/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Check of the system at a synchronisation: all values are finite, no particle is lost, the total momentum does not
 * jump. The check uses the sums of the diagnostics, so it adds no communication. */
#ifndef GUARD_H
#define GUARD_H
#include "gravity/field.h"
#include "mpi/comm.h"
#include "system/diagnostics.h"

/* Reference values, in code units. */
struct guard {
  double particles, mass;           /* at the start */
  double momentum[3], v_rms, a_rms; /* at the last synchronisation */
  double field;                     /* the force of the external field there; 0 after a restart */
  /* the step of a close pair collapsed: first soft step in which one did, its time, its length; 0: none did */
  double collapsed[3];
  char untrusted[200]; /* why this run cannot be trusted (guard_collapsed); empty: no reason */
};

/* Store the sums of a sound system as reference; `first`: the number of particles and the mass too. Not collective. */
void guard_remember(struct guard *guard, const struct diagnostics *now, int first);
/* Compare the system after a soft step of length `dt` (0: none was made) with the reference. Collective, the same
 * result on all ranks. 0, or -1 with a fault that names step, time, what is wrong, the phase that caused it, and the
 * ids of particles. `field`: the external one, for those where it is not finite. */
int guard_check(const struct guard *guard, const struct diagnostics *now, const struct comm *comm,
                const struct backend *be, struct device *d, const struct field *field, long long step, double time,
                double dt, struct fault *fault);
/* The step of a close pair collapsed in a soft step that ended at `time`; the first one counts. Also after a restart,
 * with the numbers of an earlier job (guard->collapsed; zero: none did). Not collective. */
void guard_collapsed(struct guard *guard, const double collapsed[3]);
/* Number of this rank's particles with a position or velocity that is not finite: a checkpoint of them is useless. Not
 * collective. */
int64_t guard_bad(const struct particles *particles);
#endif
