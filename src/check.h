/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CHECK_H
#define CHECK_H
#include "comm.h"
#include "params.h"

/* `run --check`: read the headers of the initial conditions, compare units, look for the backend, estimate memory a rank,
 * sizes of files, free disk space; nothing is written. Collective. Returns the exit status. */
int check(const struct comm *c, const struct params *par, int overwrite);
#endif
