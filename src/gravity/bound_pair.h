/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Isolated bound pairs within the hard part: which pairs may be integrated by Kepler's equation for a soft step, and
 * the forces that their point-mass approximation leaves out. In double precision, on the host and on devices. Masses
 * are G m.
 *
 * A pair is replaced by its centre of mass: a point mass that the Hermite scheme moves. The Hamiltonian of the hard
 * part is then
 *   H = H_Hermite(centres of mass, other particles) + H_Kepler(relative motions) + H_tide,
 *   H_tide = sum over pairs and their neighbours of U(first, neighbour) + U(second, neighbour) - U(centre of mass,
 *   neighbour),
 * and H_tide acts as half a kick at each end of the soft step. Its part of second order in the pair's size is averaged
 * over the orbit (kepler_turn), since kicks at one phase of the orbit would change the energy, which the tide of a
 * distant neighbour does not. */
#ifndef BOUND_PAIR_H
#define BOUND_PAIR_H
#include "gravity/hermite.h"
#include "gravity/kepler.h"

#define BOUND_APOCENTRE 0.5  /* largest apocentre in units of R1: K is 1 on the whole orbit */
#define BOUND_SOFTENINGS 1e4 /* least pericentre in units of the softening, whose force differs by 1.5e-8 there */
#define BOUND_ABSORBED 0.0f  /* split_factor of a particle that its partner stands for: it is in no list */
#define BOUND_CLEARANCE 20.0 /* a particle of half the pair's mass comes no nearer than this many semi-major axes */

/* Returns 1 where a pair may be integrated by Kepler's equation, if it has no perturber: bound, 2 a below `limit`, the
 * period below the soft step, the apocentre well below r1, the R1 of the pair, and the pericentre far above the
 * softening. *orbit: its elements, where it is bound. */
HD int bound_pair_fits(double mu, const double d[3], const double u[3], double r1, double limit, double soft_step,
                       double softening, struct kepler_orbit *orbit)
{
  return kepler_elements(mu, d, u, orbit) && 2 * orbit->a < limit && orbit->period < soft_step &&
         orbit->a * (1 + orbit->e) < BOUND_APOCENTRE * r1 &&
         orbit->a * orbit->one_minus_e >= BOUND_SOFTENINGS * softening;
}

/* The distance within which a particle of mass m perturbs a pair of mass mu and semi-major axis a: the tide grows with
 * its mass. */
HD double bound_pair_reach(double a, double mu, double m) { return BOUND_CLEARANCE * a * cbrt(fmax(1.0, 2 * m / mu)); }

/* The pericentre distance of the two-body orbit of a particle at d with the velocity u about the mass mu. */
HD double bound_pair_pericentre(double mu, const double d[3], const double u[3])
{
  double h[3], r = sqrt(kepler_dot(d, d));
  kepler_cross(d, u, h);
  double p = kepler_dot(h, h) / mu, energy = 0.5 * kepler_dot(u, u) - mu / r;
  return p / (1 + sqrt(fmax(0.0, 1 + 2 * energy * p / mu)));
}

/* Returns 1 where a particle of mass m at d with the velocity u, relative to the pair's centre of mass, may perturb it
 * within the soft step: on a straight line, or where their attraction bends its path towards the pair and the time is
 * enough. */
HD int bound_pair_perturbed(double a, double mu, const double d[3], const double u[3], double m, double soft_step)
{
  double reach = bound_pair_reach(a, mu, m), r = sqrt(kepler_dot(d, d)), both = mu + m;
  if (r < reach || hermite_closest2(d, u, soft_step) < reach * reach) return 1;
  double speed2 = kepler_dot(u, u), fastest = sqrt(speed2 + 2 * both * (1 / reach - 1 / r));
  int returns = kepler_dot(d, u) < 0 || speed2 < 2 * both / r;
  return returns && r - fastest * soft_step < reach && bound_pair_pericentre(both, d, u) < reach;
}

/* What the neighbours do to a pair beyond the pull on its centre of mass. Sums: zero at first. */
struct bound_tide {
  double tensor[3][3]; /* relative acceleration by relative position, at the centre of mass */
  double centre[3];    /* acceleration of the centre of mass, and */
  /* of the relative motion (second less first), as radii of the split differ for the two members */
  double relative[3];
};

HD void bound_pair_pull(const double e[3], double m, const struct hermite_split *split, double a[3])
{
  const double still[3] = {0, 0, 0};
  struct hermite_force f = {{0, 0, 0}, {0, 0, 0}, 0};
  hermite_pair(&f, e, still, m, 0, split);
  for (int c = 0; c < 3; c++) a[c] = f.a[c];
}

/* Add the tide of a neighbour of mass m >= 0 at e from the pair's centre of mass. m1, m2: masses of the members; f1,
 * f2, f: the factors of the radii of the members and of the neighbour. reaction[3]: acceleration of the neighbour. */
HD void bound_pair_tide(struct bound_tide *tide, const double e[3], double m, double m1, double m2,
                        const struct split *split, float f1, float f2, float f, double reaction[3])
{
  const struct hermite_split s = hermite_split_of(split, fmaxf(f1, f2), f);
  double r2 = kepler_dot(e, e), r = sqrt(r2), w = r > 0 ? m / (r2 * r) : 0, k, slope, a[3], a1[3], a2[3];
  hermite_kernel(&s, r, &k, &slope);
  double along = r > 0 ? w * (3 * k / r2 - slope / r) : 0;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) tide->tensor[i][j] += along * e[i] * e[j] - (i == j ? w * k : 0);
  for (int c = 0; c < 3; c++) reaction[c] = 0;
  if (f1 == f2) return;
  double unit = m > 0 ? m : 1; /* the reaction does not depend on the mass */
  const struct hermite_split s1 = hermite_split_of(split, f1, f), s2 = hermite_split_of(split, f2, f);
  bound_pair_pull(e, unit, &s, a);
  bound_pair_pull(e, unit, &s1, a1);
  bound_pair_pull(e, unit, &s2, a2);
  for (int c = 0; c < 3; c++) {
    double centre = (m1 * a1[c] + m2 * a2[c]) / (m1 + m2) - a[c];
    reaction[c] = -(m1 + m2) / unit * centre;
    if (!(m > 0)) continue;
    tide->centre[c] += centre;
    tide->relative[c] += a2[c] - a1[c];
  }
}
#endif
