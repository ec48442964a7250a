/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which of some bodies are bound to each other. All functions are local. */
#ifndef BOUND_H
#define BOUND_H
#include <stdint.h>

/* A point with mass; velocities have axes that do not rotate. */
struct bound_body {
  double pos[3], vel[3], mass;
};

/* The distance of a point from a centre, and the mass within it, that of the point included. */
struct bound_shell {
  double r, mass;
};

/* The tide about a centre: bodies beyond the Jacobi radius leave, which is the largest r with r^3 = factor M(r), where
 * M(r) is the mass of those that remain within r. A Jacobi radius of `reach` or more is not known, and none leave. */
struct bound_tide {
  double centre[3];
  double factor, reach; /* factor: G / tide; at most 0: no tide */
};

enum { BOUND_DIRECT = 8192 }; /* bodies up to which potentials are sums over all pairs */

/* Find the bodies that are bound: all are so at first, and again and again those leave whose energy is not below 0, in
 * the potential of the others that remain, -G m / sqrt(r^2 + softening^2), and relative to `motion`, which after the
 * first time becomes the mean velocity of those that remain; and those beyond the Jacobi radius. Bodies at the same
 * place do not see each other.
 * \param tide   of an external field (NULL: none)
 * \param bound  [count] becomes 1 where a body is bound
 * Potentials of more than BOUND_DIRECT bodies are those of a tree, to about 3e-4. Returns the number of bound bodies;
 * `motion` is their mean velocity, weighted by mass (as it was where there are none). */
int32_t bound_find(const struct bound_body *body, int32_t count, double gravity, double softening,
                   const struct bound_tide *tide, double motion[3], char *bound);
/* The largest r with r^3 = factor M(r) of points by ascending radius; `within` becomes the number of points within it.
 * 0: there is none, and none is within. Pure. */
double bound_jacobi(const struct bound_shell *shell, int32_t count, double factor, int32_t *within);
#endif
