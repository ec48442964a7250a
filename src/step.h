/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STEP_H
#define STEP_H
#include "plan.h"
#include "sim.h"

/* Carry out one soft step (scheme S4a of doc/numerics.md): from a synchronisation with forces to the next. `potential`
 * asks for the potential at its end. Collective. */
void step(struct sim *s, const struct plan *plan, int potential);
#endif
