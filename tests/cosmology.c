/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Supercomoving time, ages and densities against closed forms. */
#include <config.h>
#include "gravity/cosmology.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "tap.h"

static int near(double x, double expected, double tolerance) { return fabs(x / expected - 1) <= tolerance; }

/* Omega0 = 1: tau = (2 / H_0) (first^-1/2 - a^-1/2). */
static void einstein_de_sitter(void)
{
  struct cosmology c;
  struct fault f = {""};
  double worst = 0, back = 0;
  tap_ok(cosmology_open(&c, 1, 0, 0.1, 0.02, 1, &f) == 0, "tables of Omega0 = 1");
  for (double a = 0.0201; a < 1; a *= 1.07) {
    worst = fmax(worst, fabs(cosmology_tau(&c, a) / (20 * (1 / sqrt(0.02) - 1 / sqrt(a))) - 1));
    back = fmax(back, fabs(cosmology_a(&c, cosmology_tau(&c, a)) / a - 1));
  }
  printf("# largest relative errors: tau %.1e, a(tau(a)) %.1e\n", worst, back);
  tap_ok(fabs(cosmology_tau(&c, 0.02)) < 1e-11 && worst < 1e-10 && back < 1e-11, "tau of Omega0 = 1, and back");
  tap_ok(near(cosmology_a(&c, cosmology_tau(&c, 0.3) + 1e-4) - 0.3, 1e-4 * 0.1 * pow(0.3, 1.5), 1e-4),
         "da / dtau = a^3 H");
  cosmology_close(&c);
  tap_ok(near(cosmology_age(1, 0, 0.25), 2.0 / 3 / 8, 1e-12), "the age 2/3 a^1.5 / H_0 of Omega0 = 1");
}

/* Flat with a cosmological constant: age 2 / (3 sqrt(L)) asinh(sqrt(L / M) a^1.5). */
static void with_constant(void)
{
  struct cosmology c;
  struct fault f = {""};
  double age = 2 / (3 * sqrt(0.7)) * asinh(sqrt(0.7 / 0.3) * pow(0.5, 1.5));
  tap_ok(near(cosmology_age(0.3, 0.7, 0.5), age, 1e-10), "the age of a flat universe with OmegaLambda = 0.7");
  tap_ok(near(cosmology_age(0.3, 0, 1), (sqrt(0.7) - 0.15 * acosh(2 / 0.3 - 1)) / pow(0.7, 1.5), 1e-9),
         "the age of an open universe");
  tap_ok(cosmology_open(&c, 0.3, 0.7, 0.1, 0.02, 2, &f) == 0, "tables of Omega0 = 0.3, OmegaLambda = 0.7");
  double h = 1e-4, a = 0.7, rate = 0.1 * sqrt(0.3 / (a * a * a) + 0.7);
  tap_ok(near((cosmology_tau(&c, a + h) - cosmology_tau(&c, a - h)) / (2 * h), 1 / (a * a * a * rate), 1e-6),
         "dtau / da = 1 / (a^3 H)");
  cosmology_close(&c);
}

static void units(void)
{
  struct params p;
  params_defaults(&p);
  p.Omega0 = 0.3;
  tap_ok(near(cosmology_hubble0(&p), 0.1, 1e-5), "H_0 is 0.1 km/s/(kpc/h) in the default units");
  tap_ok(near(cosmology_mean_density(&p), 0.3 * 27.7537e-9, 1e-3),
         "the critical density is 27.75e-9 1e10 solar masses / h / (kpc/h)^3");
  p.UnitLength_in_cm *= 1000;
  tap_ok(near(cosmology_hubble0(&p), 100, 1e-5), "... and H_0 is 100 with Mpc/h");
}

static void impossible(void)
{
  struct cosmology c;
  struct fault f = {""};
  tap_ok(cosmology_open(&c, 2, 0, 0.1, 0.5, 4, &f) == -1 &&
             strstr(f.text, "Omega0 = 2 and OmegaLambda = 0: this universe does not expand at a = 2"),
         "a universe that recollapses before the end is refused");
  f.text[0] = 0;
  tap_ok(cosmology_open(&c, 0.1, 3, 0.1, 0.1, 1, &f) == -1 && strstr(f.text, "does not expand at a = "),
         "so is one without a beginning");
}

int main(void)
{
  einstein_de_sitter();
  with_constant();
  units();
  impossible();
  tap_ok(memory_current() == 0, "all memory is given back");
  return tap_end();
}
