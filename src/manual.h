/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MANUAL_H
#define MANUAL_H
#include <stdio.h>

/* The manual page espalier(1), in troff's language, from the tables that --help and parameter files are read by. Local. */
void manual_print(FILE *out);
#endif
