/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pair law: what a source contributes to the force on a target. For C11 and CUDA, for scalars and SIMD vectors.
 *
 * d = x_source - x_target, r = |d|, rho^2 = r^2 + eps^2, without the gravitational constant:
 *   point mass m:  psi = m / rho                                        potential = -psi
 *                  a   = w d,         w = m / rho^3
 *   cell with mass m and second moments S (sum of m x x^T about the centre of mass), to second order in its extent:
 *                  psi = m / rho + 3/2 d.S.d / rho^5 - 1/2 tr S / rho^3
 *                  a   = w d - 3 v S d, w = m / rho^3 + (15/2 d.S.d / rho^2 - 3/2 tr S) / rho^5, v = 1 / rho^5
 *   hard part:     K(r) a, with K of gravity/split.h at the unsoftened distance r; the soft part is the rest.
 *   hard part of a cell in which K varies: the expansion of f(r) d, f = K / rho^3, to second order (pair_hard_cell), or
 *   only its
 *                  mean over directions (pair_hard_spread).
 * Watanabe & Nakasato 2014, eqs 7-10. With S = 0 a cell gives the bits of a point mass.
 *
 * The physics is written once, below, for a type that the includer names. Loops, data layout and sums are the
 * includer's. It defines
 *   PAIR_REAL                       the type: float, double or a vector of floats
 *   PAIR_SUFFIX                     ends the names of types and functions: with _d, pair_point_d on struct pair_d
 *   PAIR_INVERSE_ROOT(x)            1 / sqrt(x)
 * and where the arithmetic of its processor differs from the plain one
 *   PAIR_INVERSE_DISTANCE(r2)       1 / sqrt(r2), finite at 0; default: PAIR_INVERSE_ROOT(r2 + 1e-30f)
 *   PAIR_SQUARES(x, y, z)           x^2 + y^2 + z^2
 *   PAIR_SQUARES_PLUS(x, y, z, s)   the same plus s, for pairs whose r is not needed
 *   PAIR_MAX(a, b)                  the larger one; default: for scalars
 *   PAIR_FUNCTION                   qualifiers of the functions; default HD
 * and includes this file, once for every type. The file undefines all of them. Units: those of the includer, one length
 * unit throughout.
 *
 * Softening enters in two functions alone: in pair_between the pair has the eps^2 of the target, in pair_between_unlike
 * the larger one of source and target, where types have different softenings (particles/softening.h; a cell has the
 * mean of its particles). */
#ifndef PAIR_H
#define PAIR_H
#include "base/hd.h"
#include "gravity/split.h"

#define PAIR_JOIN_(name, suffix) name##suffix
#define PAIR_JOIN(name, suffix) PAIR_JOIN_(name, suffix)
#define PAIR(name) PAIR_JOIN(name, PAIR_SUFFIX)
#endif

#ifdef PAIR_REAL
#ifndef PAIR_FUNCTION
#define PAIR_FUNCTION HD
#endif
#ifndef PAIR_INVERSE_DISTANCE
#define PAIR_INVERSE_DISTANCE(r2) PAIR_INVERSE_ROOT((r2) + 1e-30f)
#endif
#ifndef PAIR_MAX
#define PAIR_MAX(a, b) ((a) > (b) ? (a) : (b))
#endif
#ifndef PAIR_SQUARES
#define PAIR_SQUARES(x, y, z) ((x) * (x) + (y) * (y) + (z) * (z))
#endif
#ifndef PAIR_SQUARES_PLUS
#define PAIR_SQUARES_PLUS(x, y, z, s) (PAIR_SQUARES(x, y, z) + (s))
#endif

/* Position and mass of a source: a particle, or a cell's centre of mass. */
struct PAIR(pair_source) {
  PAIR_REAL x, y, z, m;
};

/* Position and squared softening of a target. */
struct PAIR(pair_target) {
  PAIR_REAL x, y, z, eps2;
};

/* A source seen from a target: d, the source's mass, and the squared softening of the pair. */
struct PAIR(pair) {
  PAIR_REAL x, y, z, m, eps2;
};

/* Second moments of a cell: xx, yy, zz, xy, xz, yz (mass times length squared). */
struct PAIR(pair_moments) {
  PAIR_REAL q[6];
};

/* S d, d.S.d and tr S. */
struct PAIR(pair_contraction) {
  PAIR_REAL x, y, z, dsd, trace;
};

/* A point mass: psi, and w of a = w d. */
struct PAIR(pair_point) {
  PAIR_REAL psi, w;
};

/* A cell: psi, and a = w d - 3 v S d with S d = (x, y, z). */
struct PAIR(pair_cell) {
  PAIR_REAL psi, w, v, x, y, z;
};

/* The hard part of a cell: a = w d + v S d with S d = (x, y, z). */
struct PAIR(pair_hard_cell) {
  PAIR_REAL w, v, x, y, z;
};

struct PAIR(pair_vector) {
  PAIR_REAL x, y, z;
};

/* The pair of a source and a target, with the softening of the target; or with the larger one of both. */
PAIR_FUNCTION struct PAIR(pair) PAIR(pair_between)(struct PAIR(pair_source) s, struct PAIR(pair_target) t)
{
  struct PAIR(pair) p = {s.x - t.x, s.y - t.y, s.z - t.z, s.m, t.eps2};
  return p;
}

PAIR_FUNCTION struct PAIR(pair)
    PAIR(pair_between_unlike)(struct PAIR(pair_source) s, PAIR_REAL eps2, struct PAIR(pair_target) t)
{
  struct PAIR(pair) p = {s.x - t.x, s.y - t.y, s.z - t.z, s.m, PAIR_MAX(eps2, t.eps2)};
  return p;
}

/* r^2. */
PAIR_FUNCTION PAIR_REAL PAIR(pair_r2)(struct PAIR(pair) p) { return PAIR_SQUARES(p.x, p.y, p.z); }

/* rho^2: from r^2 where that is needed as well, else in one sum. */
PAIR_FUNCTION PAIR_REAL PAIR(pair_rho2_of)(struct PAIR(pair) p, PAIR_REAL r2) { return r2 + p.eps2; }
PAIR_FUNCTION PAIR_REAL PAIR(pair_rho2)(struct PAIR(pair) p) { return PAIR_SQUARES_PLUS(p.x, p.y, p.z, p.eps2); }

/* r from r^2. */
PAIR_FUNCTION PAIR_REAL PAIR(pair_distance)(PAIR_REAL r2) { return r2 * PAIR_INVERSE_DISTANCE(r2); }

/* K, K' and K'' for Y in [0, 1]; `kernel`, of enum split_kernel, is a constant where loops are compiled for it. */
PAIR_FUNCTION PAIR_REAL PAIR(pair_k)(PAIR_REAL y, const int kernel)
{
  switch (kernel) {
    SPLIT_KERNELS(SPLIT_RETURN_K)
  }
  return y;
}
PAIR_FUNCTION PAIR_REAL PAIR(pair_k1)(PAIR_REAL y, const int kernel)
{
  switch (kernel) {
    SPLIT_KERNELS(SPLIT_RETURN_K1)
  }
  return y;
}
PAIR_FUNCTION PAIR_REAL PAIR(pair_k2)(PAIR_REAL y, const int kernel)
{
  switch (kernel) {
    SPLIT_KERNELS(SPLIT_RETURN_K2)
  }
  return y;
}

/* psi and w of a point mass. */
PAIR_FUNCTION struct PAIR(pair_point) PAIR(pair_point)(struct PAIR(pair) p, PAIR_REAL rho2)
{
  PAIR_REAL inverse = PAIR_INVERSE_ROOT(rho2), psi = p.m * inverse;
  struct PAIR(pair_point) a = {psi, psi * (inverse * inverse)};
  return a;
}

PAIR_FUNCTION struct PAIR(pair_contraction) PAIR(pair_contract)(struct PAIR(pair) p, struct PAIR(pair_moments) s)
{
  struct PAIR(pair_contraction) c;
  c.x = s.q[0] * p.x + s.q[3] * p.y + s.q[4] * p.z;
  c.y = s.q[3] * p.x + s.q[1] * p.y + s.q[5] * p.z;
  c.z = s.q[4] * p.x + s.q[5] * p.y + s.q[2] * p.z;
  c.trace = s.q[0] + s.q[1] + s.q[2];
  c.dsd = c.x * p.x + c.y * p.y + c.z * p.z;
  return c;
}

/* Add w d to sum[3]. */
PAIR_FUNCTION void PAIR(pair_add)(PAIR_REAL *sum, PAIR_REAL w, struct PAIR(pair) p)
{
  sum[0] += w * p.x;
  sum[1] += w * p.y;
  sum[2] += w * p.z;
}

/* psi, w and v of a cell. */
PAIR_FUNCTION struct PAIR(pair_cell) PAIR(pair_cell)(struct PAIR(pair) p, PAIR_REAL rho2, struct PAIR(pair_moments) s)
{
  PAIR_REAL inverse = PAIR_INVERSE_ROOT(rho2), inverse2 = inverse * inverse, psi = p.m * inverse, w = psi * inverse2;
  struct PAIR(pair_contraction) c = PAIR(pair_contract)(p, s);
  PAIR_REAL inverse3 = inverse * inverse2, inverse5 = inverse3 * inverse2;
  psi += 1.5f * c.dsd * inverse5 - 0.5f * c.trace * inverse3;
  w += inverse5 * (7.5f * c.dsd * inverse2 - 1.5f * c.trace);
  struct PAIR(pair_cell) a = {psi, w, inverse5, c.x, c.y, c.z};
  return a;
}

/* a of a cell. */
PAIR_FUNCTION struct PAIR(pair_vector) PAIR(pair_cell_force)(struct PAIR(pair) p, struct PAIR(pair_cell) f)
{
  struct PAIR(pair_vector)
      a = {f.w * p.x - 3.0f * f.v * f.x, f.w * p.y - 3.0f * f.v * f.y, f.w * p.z - 3.0f * f.v * f.z};
  return a;
}

/* Add `k` times a to sum[3], for a loop that keeps sums in scalars: two multiply-adds per component. */
PAIR_FUNCTION void PAIR(pair_cell_add)(PAIR_REAL *sum, PAIR_REAL k, struct PAIR(pair) p, struct PAIR(pair_cell) f)
{
  PAIR_REAL w = k * f.w, v = 3.0f * k * f.v;
  sum[0] += w * p.x;
  sum[1] += w * p.y;
  sum[2] += w * p.z;
  sum[0] -= v * f.x;
  sum[1] -= v * f.y;
  sum[2] -= v * f.z;
}

/* Derivatives of the hard part along r, with k = K, k1 = K' / r and 1 / rho: f = K / rho^3, g = f' / r, h = g' / r.
 * dY/dr = -slope where Y is not clipped; K' and K'' vanish where it is. */
struct PAIR(pair_bend) {
  PAIR_REAL inverse, inverse2, k, k1, second, j; /* second = K'', j = 1 / r */
};

PAIR_FUNCTION struct PAIR(pair_bend)
    PAIR(pair_bend)(struct PAIR(pair) p, PAIR_REAL r2, PAIR_REAL y, PAIR_REAL slope, const int kernel)
{
  struct PAIR(pair_bend) b;
  b.j = PAIR_INVERSE_DISTANCE(r2);
  b.inverse = PAIR_INVERSE_ROOT(PAIR(pair_rho2_of)(p, r2));
  b.inverse2 = b.inverse * b.inverse;
  b.k = PAIR(pair_k)(y, kernel);
  b.k1 = -slope * PAIR(pair_k1)(y, kernel) * b.j;
  b.second = slope * slope * PAIR(pair_k2)(y, kernel);
  return b;
}

/* The hard part of a cell with second moments, from the expansion of f(r) d. Y of r clipped to [0, 1]. */
PAIR_FUNCTION struct PAIR(pair_hard_cell)
    PAIR(pair_hard_cell)(struct PAIR(pair) p, PAIR_REAL r2, struct PAIR(pair_moments) s, PAIR_REAL y, PAIR_REAL slope,
                         const int kernel)
{
  struct PAIR(pair_contraction) c = PAIR(pair_contract)(p, s);
  struct PAIR(pair_bend) b = PAIR(pair_bend)(p, r2, y, slope, kernel);
  /* k2 = (K' / r)' / r */
  PAIR_REAL inverse3 = b.inverse * b.inverse2, k2 = (b.second - b.k1) * b.j * b.j, u = b.k * b.inverse2;
  PAIR_REAL f = b.k * inverse3, g = inverse3 * (b.k1 - 3.0f * u),
            h = inverse3 * (k2 - b.inverse2 * (6.0f * b.k1 - 15.0f * u));
  struct PAIR(pair_hard_cell) a = {p.m * f + 0.5f * (g * c.trace + h * c.dsd), g, c.x, c.y, c.z};
  return a;
}

PAIR_FUNCTION void PAIR(pair_hard_cell_add)(PAIR_REAL *sum, struct PAIR(pair) p, struct PAIR(pair_hard_cell) f)
{
  sum[0] += f.w * p.x;
  sum[1] += f.w * p.y;
  sum[2] += f.w * p.z;
  sum[0] += f.v * f.x;
  sum[1] += f.v * f.y;
  sum[2] += f.v * f.z;
}

/* w of the hard part of a cell of which only tr S is used: the mean over directions adds tr S / 6 (f'' + 4 f' / r) =
 * tr S / 6 (h r^2 + 5 g), which vanishes where K = 1 and eps = 0. */
PAIR_FUNCTION PAIR_REAL PAIR(pair_hard_spread)(struct PAIR(pair) p, PAIR_REAL r2, PAIR_REAL trace, PAIR_REAL y,
                                               PAIR_REAL slope, const int kernel)
{
  struct PAIR(pair_bend) b = PAIR(pair_bend)(p, r2, y, slope, kernel);
  PAIR_REAL part = r2 * b.inverse2,
            bend = b.second + (4.0f - 6.0f * part) * b.k1 - 15.0f * (1.0f - part) * (b.k * b.inverse2);
  return b.inverse * b.inverse2 * (p.m * b.k + trace * (1 / 6.0f) * bend);
}

#undef PAIR_REAL
#undef PAIR_SUFFIX
#undef PAIR_INVERSE_ROOT
#undef PAIR_INVERSE_DISTANCE
#undef PAIR_MAX
#undef PAIR_SQUARES
#undef PAIR_SQUARES_PLUS
#undef PAIR_FUNCTION
#endif
