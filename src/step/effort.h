/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The seconds that a soft step takes, without those in which other programs had the cores: schemes are compared by
 * them. */
#ifndef EFFORT_H
#define EFFORT_H
#include "step/sim.h"

/* Seconds of a clock for work: of the processor on cores, so that other programs do not count. Local. */
double effort_clock(const struct sim *sim);
/* Threads of a rank whose work counts: 1 on a device. Local. */
int effort_threads(const struct sim *sim);
/* 1: a device computes. Local. */
int effort_on_device(const struct sim *sim);
/* Begin and end the measurement of a soft step: sim->cost.effort. Local. */
void effort_begin(struct sim *sim);
void effort_end(struct sim *sim);
#endif
