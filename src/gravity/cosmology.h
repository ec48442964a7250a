/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An expanding universe of matter, curvature and a cosmological constant, and the time in which a run computes in it.
 * Local.
 *
 * Derivation. A physical position is a x, x comoving. The peculiar potential of the comoving density rho = rho_mean +
 * ... is phi / a, where phi(x) = -G sum of m / |x - x'| without its mean, and the equation of motion d/dt (a^2 dx/dt) =
 * -grad phi / a (Peebles 1980, section 7). With the supercomoving time tau, d tau = dt / a^2 (Quinn et al. 1997,
 * astro-ph/9710043; Martel & Shapiro 1998), and v = dx/dtau = a^2 dx/dt:
 *
 *   dx/dtau = v,   dv/dtau = a G [sum of m (x' - x) / |x' - x|^3] + a (4 pi G / 3) rho_mean (x - centre).
 *
 * There is no drag, positions move uniformly between kicks, and only the gravitational constant G a changes in time.
 * The second term takes out the attraction of the mean density for a sphere in vacuum: a uniform sphere with this
 * density stays at rest. A cosmological constant changes a(t) alone. v = a v_pec, with the peculiar velocity v_pec = a
 * dx/dt.
 *
 * The energy in these variables, T + a W with T the sum of m v^2 / 2 and W that of comoving potentials, changes by W da
 * (Layzer 1963, Irvine 1961): T + a W - (integral of W da) is conserved.
 *
 * Lengths and masses are in units with factors of 1/h, as GADGET's: then H_0 is 100 km/s/Mpc whatever HubbleParam
 * is. */
#ifndef COSMOLOGY_H
#define COSMOLOGY_H
#include "params/params.h"

/* Tables of tau against a, with the unit of time length / velocity. */
struct cosmology {
  double omega0, omega_lambda, hubble0; /* hubble0: H_0 */
  double first, last;                   /* range of a in the tables */
  double *log_a, *tau;                  /* [COSMOLOGY_NODES] ascending */
  struct cosmology_splines *splines;
};
enum { COSMOLOGY_NODES = 2049 };

/* H_0 of these parameters in internal units: 100 km/s/Mpc. */
double cosmology_hubble0(const struct params *params);
/* H(a) in units of H_0 for the densities Omega0 and OmegaLambda; NAN where there is no such universe. */
double cosmology_rate(double omega0, double omega_lambda, double a);
/* Make the tables for times from a = `first` to `last`, 0 < first < last, and somewhat beyond. 0; -1 with a fault where
 * the universe does not expand in that range. */
int cosmology_open(struct cosmology *cosmology, double omega0, double omega_lambda, double hubble0, double first,
                   double last, struct fault *fault);
/* Free the tables. A zero struct has none. */
void cosmology_close(struct cosmology *cosmology);
/* tau at the expansion factor a, which is 0 at `first`, and the reverse. Relative errors of a step in tau are below
 * 1e-9. */
double cosmology_tau(const struct cosmology *cosmology, double a);
double cosmology_a(const struct cosmology *cosmology, double tau);
/* Time since a = 0 in units of 1 / H_0. */
double cosmology_age(double omega0, double omega_lambda, double a);
/* The comoving mean density Omega0 3 H_0^2 / (8 pi G). */
double cosmology_mean_density(const struct params *params);
#endif
