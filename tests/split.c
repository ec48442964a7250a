/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "gravity/split.h"

#include "gravity/hermite.h"
#include "kernels.h"
#include "tap.h"

enum { POINTS = 20000 };

static float first_derivative(int kernel, float y)
{
  switch (kernel) {
    SPLIT_KERNELS(SPLIT_RETURN_K1)
  }
  return 0;
}

static float second_derivative(int kernel, float y)
{
  switch (kernel) {
    SPLIT_KERNELS(SPLIT_RETURN_K2)
  }
  return 0;
}

/* The kernel of degree 7 at x = (r - R1) / (R2 - R1) = 1/4. */
static void check_septic(void)
{
  const struct hermite_split s = {SPLIT_SEPTIC, 1, 3, 0.5};
  double k, slope;
  hermite_kernel(&s, 1.5, &k, &slope);
  tap_ok(fabs(k - 0.929443) < 1e-6 && fabs(2 * slope + 0.922852) < 1e-6,
         "septic: K and its slope at a quarter of the way from R1 to R2");
}

/* Radii by mass: within limits, and the widest one. */
static void check_masses(void)
{
  struct split s = split_make(SPLIT_SEPTIC, 1, 3);
  int good = split_factor(&s, 7) == 1 && split_widest(&s) == s.r2;
  s.mass_scale = 2;
  good &= fabsf(split_factor(&s, 16) - 2) < 1e-6f && fabsf(split_factor(&s, 1e6f) - split_factor(&s, 40)) < 1e-6f;
  good &=
      fabsf(split_factor(&s, 0) * split_factor(&s, 40) - 1) < 1e-6f && fabsf(split_widest(&s) - 3 * cbrtf(20)) < 1e-5f;
  s.largest_mass = 16;
  good &= fabsf(split_widest(&s) - 6) < 1e-5f;
  tap_ok(good, "radii grow with the cube root of the mass, within limits");
  tap_ok(split_core2(&s) > 0 && split_hard(&s, 0.37f * sqrtf(split_core2(&s))) == 1, "K = 1 within the core");
}

/* The derivatives with respect to Y against differences of K. */
static int derivatives(int kernel)
{
  int good = 1;
  for (int i = 1; i < 200; i++) {
    double y = i / 200.0, h = 1e-3, k[3];
    for (int j = 0; j < 3; j++) k[j] = kernel_k(kernel, y + (j - 1) * h);
    float first = first_derivative(kernel, (float)y), second = second_derivative(kernel, (float)y);
    good &= fabs(first - (k[2] - k[0]) / (2 * h)) < 1e-3 && fabs(second - (k[2] - 2 * k[1] + k[0]) / (h * h)) < 2e-3;
  }
  return good;
}

static void check(int kernel, double r1, double r2, const char *name)
{
  struct split s = split_make(kernel, r1, r2);
  /* polynomials of numbers near ten cancel: a few units of the last place of ten */
  const double rounding = 1e-5;
  int ends = 1, falls = 1, values = 1, bounded = 1, smooth = 1;
  double width = r2 - r1, last = 1;
  for (int i = 0; i <= POINTS; i++) {
    double r = 1.5 * r2 * i / POINTS, k = split_hard(&s, (float)r);
    if (r <= r1 * (1 - 1e-6)) ends &= k == 1;
    if (r >= r2 * (1 + 1e-6)) ends &= k == 0;
    values &= fabs(k - kernel_at(kernel, r, r1, r2)) < rounding;
    falls &= k <= last + rounding;
    bounded &= k >= -rounding && k <= 1 + rounding;
    last = k;
  }
  /* first and second derivative vanish at both ends: K leaves 1 and reaches 0 with at least the third power */
  double leaves = fmax(10, (1 - kernel_k(kernel, 1 - 1e-3)) / 1e-9), reaches = fmax(10, kernel_k(kernel, 1e-3) / 1e-9);
  smooth &= leaves < 100 && reaches < 100;
  for (double t = 0.002; t < 0.1; t *= 1.3) {
    smooth &= 1 - split_hard(&s, (float)(r1 + t * width)) < 1.05 * leaves * t * t * t + rounding;
    smooth &= split_hard(&s, (float)(r2 - t * width)) < 1.05 * reaches * t * t * t + rounding;
  }
  char what[100];
  struct {
    int good;
    const char *what;
  } lines[] = {{ends, "K is exactly 1 within R1 and exactly 0 beyond R2"},
               {values, "values of the formula"},
               {falls, "K never rises"},
               {bounded, "hard and soft share lie in [0, 1]"},
               {smooth, "two derivatives vanish at both ends"},
               {split_hard(&s, 0) == 1, "at r = 0 the force is hard"}};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    snprintf(what, sizeof what, "%s, R1 = %g, R2 = %g: %s", name, r1, r2, lines[i].what);
    tap_ok(lines[i].good, what);
  }
}

int main(void)
{
  int right = 1;
  check_septic();
  check_masses();
  for (int kernel = 0; kernel < SPLIT_KERNEL_COUNT; kernel++) {
    check(kernel, 0.05, 0.1, kernel_names[kernel]);
    check(kernel, 900, 1000, kernel_names[kernel]);
    check(kernel, 1e-4, 0.3, kernel_names[kernel]);
    right &= derivatives(kernel);
  }

  struct split q = split_make(SPLIT_QUINTIC, 1, 2), d = split_make(SPLIT_DLL, 1, 2), off = {0};
  int mirrored = 1;
  for (int i = 0; i <= 100; i++) {
    float y = (float)i / 100;
    mirrored &= fabsf(split_hard(&q, 2 - y) + split_hard(&q, 1 + y) - 1) < 1e-5f;
    /* DLL is the quintic of Y^2 */
    mirrored &= fabsf(split_hard(&d, 2 - sqrtf(y)) - split_hard(&q, 2 - y)) < 1e-5f;
  }
  tap_ok(mirrored, "the quintic is its own complement, DLL the quintic of Y^2");
  tap_ok(right, "derivatives of K");
  tap_ok(split_hard(&off, 0) == 1 && split_hard(&off, 1e30f) == 1, "without a split all force is hard");
  return tap_end();
}
