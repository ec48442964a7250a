/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The check of the physics (check/physics.h) at the start of a run and in `run --check`. */
#ifndef ASSESS_H
#define ASSESS_H
#include "check/need.h"
#include "run/run.h"
#include "step/sim.h"

/* Compute the first forces of a system at its start (sim_first_force), judge it, and print what is wrong on stderr (rank 0). `target`: time
 * of the first output. A system with values that are not finite is not judged. Collective. 0, or -1 with a fault, the same on all ranks:
 * where steps cannot advance the time, or where the run would surely be worthless and o->force is not set. */
int assess_start(struct sim *s, const struct run_options *o, double target, struct fault *f);
/* The part of `run --check` that needs the particles: read them, compute the first forces, and carry out the first soft step where that is
 * predicted to take less than half a minute. Prints memory, the numbers of the system, and all findings on stdout (rank 0). `need`: for the
 * estimate of the memory where no soft step was made; rank 0's `target` counts. *host_bytes: memory per rank (all ranks). Writes no file.
 * Collective. 0, or -1 with a fault as above, or of the file. */
int assess_check(const struct comm *c, const struct params *par, const struct run_options *o, const struct need_input *need, double target,
                 double *host_bytes, struct fault *f);
/* Print the line about the memory of a rank; `measured`: the total of a measurement, 0: of the table. Not collective. */
void assess_print_memory(const struct need_input *in, double measured);
#endif
