/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INFO_H
#define INFO_H
#include <stdio.h>

/* Print the backends and devices of this machine, or why they are not available. Not collective. */
void info_print(FILE *out);
/* Measure and print the pairs per second of direct sums on the devices. Takes a few seconds. Not collective. */
void info_rates(FILE *out);
/* Print the version, the revision and the build configuration. Not collective. */
void info_version(FILE *out);
#endif
