/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The split of the pairwise force (Watanabe & Nakasato 2014, eqs 7-10): hard part F K(r), soft part F (1 - K(r)).
 * K is a function of the unsoftened distance r; the force that it multiplies is Plummer-softened.
 * Macros, because the same polynomials are evaluated on floats and on vectors of floats. The kernels are the table of
 * params/split_kernels.h. */
#ifndef SPLIT_H
#define SPLIT_H
#include <math.h>

#include "base/hd.h"
#include "params/split_kernels.h"

struct split {
  int on;     /* 0: K = 1 everywhere */
  int kernel; /* enum split_kernel */
  float r1, r2;
  float inverse; /* 1 / (r2 - r1) */
  /* 0: r1 and r2 hold for all particles; else they are those of a particle of this mass (split_factor) */
  float mass_scale;
  /* of all particles of the run, of which the widest R2 is; used where mass_scale is not 0. 0: unknown */
  float largest_mass;
};

/* Largest ratio of a mass to mass_scale, and of mass_scale to a mass, by which radii differ. */
#define SPLIT_MASS_RATIO 20.0f

/* Radii of a particle of mass m, in units of those of struct split: (m / mass_scale)^(1/3) within limits. The larger
 * radii of the two particles of a pair count, so K is symmetric. */
HD float split_factor(const struct split *split, float m)
{
  if (!(split->mass_scale > 0)) return 1;
  return cbrtf(fminf(fmaxf(m / split->mass_scale, 1 / SPLIT_MASS_RATIO), SPLIT_MASS_RATIO));
}

/* The widest R2 of any pair. */
HD float split_widest(const struct split *split)
{
  return split->r2 * (split->largest_mass > 0 || !(split->mass_scale > 0) ? split_factor(split, split->largest_mass)
                                                                          : cbrtf(SPLIT_MASS_RATIO));
}

/* Squared distance within which K = 1 for every pair, a millionth of R1^2 (of R2^2 / 10^6 at least): a pair that is
 * closer gives exactly nothing to the soft part, so its distance may be replaced by this one, which has an inverse. */
HD float split_core2(const struct split *split)
{
  float core = 1e-3f * fmaxf(split->r1, 1e-3f * split->r2);
  return core * core;
}

/* Y = (R2 - r) / (R2 - R1) before it is clipped to [0, 1]. */
#define SPLIT_Y(s, r) (((s)->r2 - (r)) * (s)->inverse)

/* K as a function of the clipped Y. */
#define SPLIT_K_QUINTIC(y) ((y) * (y) * (y) * (10.0f + (y) * (6.0f * (y)-15.0f)))
#define SPLIT_K_SEPTIC(y) ((y) * (y) * (y) * (y) * (35.0f - (y) * (84.0f - (y) * (70.0f - 20.0f * (y)))))
#define SPLIT_K_DLL(y) ((y) * (y) * (y) * (y) * (y) * (y) * (10.0f + (y) * (y) * (6.0f * (y) * (y)-15.0f)))

/* Its first three derivatives with respect to Y. */
#define SPLIT_K1_QUINTIC(y) (30.0f * ((y) * (1 - (y))) * ((y) * (1 - (y))))
#define SPLIT_K2_QUINTIC(y) (60.0f * (y) * (1 - (y)) * (1 - 2 * (y)))
#define SPLIT_K1_SEPTIC(y) (140.0f * (y) * (1 - (y)) * ((y) * (1 - (y))) * ((y) * (1 - (y))))
#define SPLIT_K2_SEPTIC(y) (420.0f * ((y) * (1 - (y))) * ((y) * (1 - (y))) * (1 - 2 * (y)))
#define SPLIT_K1_DLL(y) (60.0f * (y) * ((y) * (y) * (1 - (y) * (y))) * ((y) * (y) * (1 - (y) * (y))))
#define SPLIT_K2_DLL(y) (60.0f * (y) * (y) * (y) * (y) * (1 - (y) * (y)) * (5 - 9 * (y) * (y)))

#define SPLIT_K3_QUINTIC(y) (60.0f * (1 - 6 * (y) * (1 - (y))))
#define SPLIT_K3_SEPTIC(y) (840.0f * ((y) * (1 - (y))) * ((1 - 2 * (y)) * (1 - 2 * (y)) - (y) * (1 - (y))))
#define SPLIT_K3_DLL(y) (240.0f * (y) * (y) * (y) * (5 + (y) * (y) * (18 * (y) * (y)-21)))

/* Cases of a switch over the kernels that return K, K' or K'' of `y`, for SPLIT_KERNELS. */
/* The formatter joins macros that are cases. */
/* clang-format off */
#define SPLIT_RETURN_K(kernel, name) case SPLIT_##kernel: return SPLIT_K_##kernel(y);
#define SPLIT_RETURN_K1(kernel, name) case SPLIT_##kernel: return SPLIT_K1_##kernel(y);
#define SPLIT_RETURN_K2(kernel, name) case SPLIT_##kernel: return SPLIT_K2_##kernel(y);
/* clang-format on */

/* The split with the kernel of enum split_kernel and radii r1 < r2, in the length unit of the distances that it is used
 * with. */
HD struct split split_make(int kernel, double r1, double r2)
{
  struct split s = {1, kernel, (float)r1, (float)r2, (float)(1 / (r2 - r1)), 0, 0};
  return s;
}

/* K at the distance r, in [0, 1]; 1 without a split. */
HD float split_hard(const struct split *split, float r)
{
  if (!split->on) return 1;
  float y = fminf(fmaxf(SPLIT_Y(split, r), 0), 1);
  switch (split->kernel) {
    SPLIT_KERNELS(SPLIT_RETURN_K)
  }
  return 0;
}
#endif
