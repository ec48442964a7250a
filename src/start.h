/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef START_H
#define START_H
#include "sim.h"

/* From parameters to a system without forces: the backend is chosen, the initial conditions are read and checked, units
 * compared. On a fault nothing stays allocated. Collective. 0 or -1. */
int sim_start(struct sim *s, const struct comm *c, const struct params *par, struct fault *f);
/* The first of these: the backend, the same on all ranks, and whether it can do what is asked for. Collective. 0 or -1. */
int sim_choose_backend(const struct comm *c, const struct params *par, const struct backend **be, struct fault *f);
/* -1 with a sentence where `output` is there and may not be replaced (`overwrite`), or is a file of the initial conditions, by whatever
 * name, which never may. Local. */
int check_result(const struct params *par, const char *output, int overwrite, struct fault *f);
/* A run must have a time to go: -1 with a sentence where `begin` is not before TimeMax. Local. */
int check_times(const struct params *par, double begin, struct fault *f);
/* On stdout: a checkpoint that is not before TimeMax, which is no fault. */
void say_nothing_left(const char *path, double time, const struct params *par);
/* A soft step that is under way will be made to its end, so behind a restart -n (`most`; negative: none) cannot name one before `step`,
 * the soft step that the checkpoint `path` is in. Local. 0 or -1. */
int check_steps(long long most, long long step, const char *path, struct fault *f);
#endif
