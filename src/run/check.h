/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CHECK_H
#define CHECK_H
#include "mpi/comm.h"
#include "params/params.h"
#include "run/run.h"

/* `run --check`: read the headers of the initial conditions and compare units, or (o->restart) verify the checkpoint that a restart
 * would use and print the parameters that have changed; choose the backend; print the placement of the ranks, estimates of the memory of
 * hosts and devices and of file sizes, and the free disk space. Writes no file. Collective. Returns the exit status: 1 where the run
 * could not begin or continue, or where memory or disk space is too small; else 0. */
int check(const struct comm *c, const struct params *par, const struct run_options *o);
#endif
