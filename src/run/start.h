/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef START_H
#define START_H
#include "step/sim.h"

/* Open a system without forces: choose the backend, read and check the initial conditions, compare their units with the
 * parameters, and move to the frame of the centre of mass. Collective. 0; with a fault and nothing allocated -1, or
 * SIM_START_PARAMETERS where this machine or the files of an external field do not allow the parameters. */
enum { SIM_START_PARAMETERS = -2 };
int sim_start(struct sim *sim, const struct comm *comm, const struct params *par, struct fault *fault);
/* The same without warnings of what the file states and this program ignores. */
int sim_start_silently(struct sim *sim, const struct comm *comm, const struct params *par, struct fault *fault);
/* Further particles of this rank at at[n] (the user's frame and units): without mass, so they pull on nothing, and with
 * ids above all others, *first_id and so on in rank order. */
struct start_points {
  int64_t n;
  const double (*at)[3];
  uint64_t *first_id;
};
/* sim_start with further particles. */
int sim_start_with(struct sim *sim, const struct comm *comm, const struct params *par, const struct start_points *more,
                   struct fault *fault);
/* sim_start from particles of the caller in place of a file: pos, vel, mass, id and type of this rank's share, in the
 * user's frame, at the time `begin`. They are checked as those of a file are, and move to the system; on a fault they
 * are freed. `more`: NULL, or further particles. */
int sim_start_given(struct sim *sim, const struct comm *comm, const struct params *par, struct particles *particles,
                    double begin, const struct start_points *more, struct fault *fault);
/* Choose the backend, the same on all ranks, and check that it supports what the parameters require. Collective. 0 or
 * -1. */
int sim_choose_backend(const struct comm *comm, const struct params *par, const struct backend **be,
                       struct fault *fault);
/* A fault where `output` exists and `overwrite` is not set, or where it is a file of the initial conditions, also by
 * another name: those are never replaced. Not collective. 0 or -1. */
int check_result(const struct params *par, const char *output, int overwrite, struct fault *fault);
/* A fault where `begin` (code time units) is not before TimeMax. Not collective. 0 or -1. */
int check_times(const struct params *par, double begin, struct fault *fault);
/* Print that the checkpoint `path` at `time` (code time units) is not before TimeMax, which is no fault. */
void print_nothing_left(const char *path, double time, const struct params *par);
/* A fault where the limit of -n (`limit`; negative: none) is before `step`, the soft step that the checkpoint `path` is
 * in: a restart completes that step. Not collective. 0 or -1. */
int check_steps(long long limit, long long step, const char *path, struct fault *fault);
#endif
