/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The split of the pairwise force (Watanabe & Nakasato 2014, eqs 7-10): hard part F K(r), soft part F (1 - K(r)).
 * K is a function of the unsoftened distance r; the force that it multiplies is Plummer-softened.
 * Macros, because the same polynomials are evaluated on floats and on vectors of floats. */
#ifndef SPLIT_H
#define SPLIT_H
#include <math.h>

#include "hd.h"

enum { SPLIT_QUINTIC, SPLIT_DLL };   /* the order of enum split_kernel */

struct split {
  int on;          /* 0: K = 1 everywhere */
  int kernel;
  float r1, r2;
  float inverse;   /* 1 / (r2 - r1) */
};

/* K as a function of Y = (R2 - r) / (R2 - R1), clipped to [0, 1]. */
#define SPLIT_K_QUINTIC(y) ((y) * (y) * (y) * (10.0f + (y) * (6.0f * (y) - 15.0f)))
#define SPLIT_K_DLL(y) ((y) * (y) * (y) * (y) * (y) * (y) * (10.0f + (y) * (y) * (6.0f * (y) * (y) - 15.0f)))

/* Its first and second derivatives with respect to Y. */
#define SPLIT_K1_QUINTIC(y) (30.0f * ((y) * (1 - (y))) * ((y) * (1 - (y))))
#define SPLIT_K2_QUINTIC(y) (60.0f * (y) * (1 - (y)) * (1 - 2 * (y)))
#define SPLIT_K1_DLL(y) (60.0f * (y) * ((y) * (y) * (1 - (y) * (y))) * ((y) * (y) * (1 - (y) * (y))))
#define SPLIT_K2_DLL(y) (60.0f * (y) * (y) * (y) * (y) * (1 - (y) * (y)) * (5 - 9 * (y) * (y)))

HD struct split split_make(int kernel, double r1, double r2)
{
  struct split s = {1, kernel, (float)r1, (float)r2, (float)(1 / (r2 - r1))};
  return s;
}

HD float split_hard(const struct split *s, float r)
{
  if (!s->on) return 1;
  float y = fminf(fmaxf((s->r2 - r) * s->inverse, 0), 1);
  return s->kernel == SPLIT_DLL ? SPLIT_K_DLL(y) : SPLIT_K_QUINTIC(y);
}
#endif
