/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INFO_H
#define INFO_H
#include <stdio.h>

/* Backends and devices of this machine, or why they are not there. Local. */
void info_print(FILE *out);
/* How many pairs per second the devices evaluate in direct sums: a few seconds. */
void info_rates(FILE *out);
/* Version, revision and how this program was built. Local. */
void info_version(FILE *out);
#endif
