/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CHECK_H
#define CHECK_H
#include "check/need.h"
#include "mpi/comm.h"
#include "params/params.h"
#include "run/run.h"
#include "step/sim.h"

/* `run --check`: read the headers of the initial conditions and compare units, or (options->restart) verify the
 * checkpoint that a restart would use and print the parameters that have changed; choose the backend; print the
 * placement of the ranks, estimates of the memory of hosts and devices and of file sizes, and the free disk space; at a
 * start check the system too (assess_check). Writes no file. Collective. Returns the exit status: 1 where the run could
 * not begin or continue, where memory or disk space is too small, or where the run would surely be worthless (without
 * options->force); else 0. */
int check(const struct comm *comm, const struct params *par, const struct run_options *options);

/* --- the system itself: the check of the physics (check/physics.h) at a start and in run --check (assess.c) ------- */

/* Compute the first forces of a system at its start (settings_first_force), judge it, and print what is wrong on stderr
 * (rank 0). `target`: time of the first output. A system with values that are not finite is not judged. Collective. 0,
 * or -1 with a fault, the same on all ranks: where steps cannot advance the time, or where the run would surely be
 * worthless and options->force is not set. */
int assess_start(struct sim *sim, const struct run_options *options, double target, struct fault *fault);
/* The part of `run --check` that needs the particles: read them, compute the first forces, and carry out the first soft
 * step where that is predicted to take less than half a minute. Prints memory, the numbers of the system, and all
 * findings on stdout (rank 0). `need`: for the estimate of the memory where no soft step was made; rank 0's `target`
 * counts. *host_bytes: memory per rank (all ranks). Writes no file. Collective. 0, or -1 with a fault as above, or of
 * the file. */
int assess_check(const struct comm *comm, const struct params *par, const struct run_options *options,
                 const struct need_input *need, double target, double *host_bytes, struct fault *fault);
/* Print the line about the memory of a rank; `measured`: the total of a measurement, of which
 * `files` are pages of program and libraries; 0: of the table. Not collective. */
void assess_print_memory(const struct need_input *in, double measured, double files);
#endif
