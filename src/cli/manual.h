/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MANUAL_H
#define MANUAL_H
#include <stdio.h>

/* Write the manual page espalier(1) in troff format, from the tables of --help and of the parameters. Not
 * collective. */
void manual_print(FILE *out);
#endif
