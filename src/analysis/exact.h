/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sums over particles that do not depend on their order, so neither on ranks nor on threads. */
#ifndef EXACT_H
#define EXACT_H
#include "mpi/comm.h"

enum { EXACT_MAX = 16 }; /* sums at a time */

/* The values of element i: value[count]. Called by several threads. */
typedef void exact_values(const void *of, int64_t i, double *value);

/* Sum the values of elements 0 to n - 1 of all ranks: sum[count]. Each value is rounded to a whole multiple of a power
 * of two, and these numbers are added as integers. The power of two follows from the largest |value| of all ranks and
 * from their number, such that the sum fits 62 bits: for 10^6 elements a value is rounded by at most 2^-43 of the
 * largest one. \param total  elements of all ranks
 * A sum with a value that is not finite is NAN. Collective. */
void exact_sums(const struct comm *comm, int64_t n, int64_t total, int count, exact_values *values, const void *of,
                double *sum);
#endif
