/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How well a run has kept energy and momentum, and what was promised, as its end says it. */
#ifndef KEPT_H
#define KEPT_H
#include "analysis/inner_energy.h"
#include "run/run_parts.h"

/* The energy within bound pairs at this synchronisation. Collective. */
void kept_inner_energy(struct run *run, struct inner_energy *inner);
/* Print the errors of energy, momentum and angular momentum, what was promised, and both in units of the energy of
 * pairs as their centres of mass where that within them is larger. Rank 0. */
void kept_print(struct run *run, const struct inner_energy *inner);
/* Say by how much an error was larger than promised, and what to change: a note, or from PROMISE_WARNING times on a
 * warning. `what`: "the energy"; `unit`: behind the number. Of a run that is trusted all the same. Rank 0. */
void kept_report_missed(const struct run *run, const char *what, const char *unit, const struct kept *kept);
#endif
