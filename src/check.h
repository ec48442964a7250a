/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CHECK_H
#define CHECK_H
#include "comm.h"
#include "params.h"
#include "run.h"

/* `run --check`: read the headers of the initial conditions and compare units, or (o->restart) verify the checkpoint that a restart
 * would take, and name the parameters that have changed; look for the backend, tell which rank runs where, estimate memory of hosts and
 * devices, sizes of files, free disk space. Nothing is written. Collective. Returns the exit status: 1 where the run could not begin, or
 * go on, or has no room in memory or on the disk. */
int check(const struct comm *c, const struct params *par, const struct run_options *o);
#endif
