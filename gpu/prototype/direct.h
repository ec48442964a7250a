/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef GPU_DIRECT_H
#define GPU_DIRECT_H
#include <vector_types.h>

/* Accelerations and potentials of `targets` (a multiple of four) of the n sources, without self energy. r2 > 0: through the quintic
 * split. */
void direct_launch(const int4 *source, int n, const int *target, int targets, double spacing, double eps2, double gravity, double r2,
                   double inverse_width, double4_16a *out);
#endif
