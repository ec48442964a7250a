/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The numbers of analysis.csv: structure and kinematics of each particle type and of all particles together. */
#ifndef ANALYSIS_H
#define ANALYSIS_H
#include <stdio.h>

#include "analysis/subset.h"

enum { ANALYSIS_RADII = 7, ANALYSIS_HALF = 4 };         /* Lagrangian radii; which of them holds half of the mass */
extern const double analysis_fractions[ANALYSIS_RADII]; /* of the mass: 0.01 0.05 0.1 0.25 0.5 0.75 0.9 */

/* Internal units, the run's frame. Particles without mass count 1 each in centres, radii, dispersions and the bar. */
struct analysis_row {
  int type; /* TYPE_ALL: all particles */
  double count, mass;
  double centre[3];              /* of density (subset_centre) */
  double velocity[3];            /* mean of the particles within the half-mass radius */
  double radius[ANALYSIS_RADII]; /* Lagrangian radii about the centre */
  /* root of the mean of |v - velocity|^2 within the half-mass radius (three-dimensional) */
  double dispersion;
  double radial;     /* the same of the velocity from the centre, about its mean */
  double angular[3]; /* angular momentum about the centre of mass */
  /* |sum of m exp(2 i phi)| / sum of m within bar_radius, in the plane perpendicular to `angular` */
  double bar;
  double phase;      /* of the bar, radians, above -pi/2, at most pi/2: see analysis_plane */
  double bar_radius; /* distance from the centre in that plane: the half-mass radius */
};
struct analysis {
  int rows;
  struct analysis_row row[1 + PARTICLE_TYPES]; /* types that have particles, ascending, then all */
};

/* Measure all rows. The result is the same, bit by bit, for any distribution of the particles over ranks.
 * Collective. */
void analysis_measure(struct analysis *analysis, const struct comm *comm, const struct particles *particles);
/* Unit vectors of the plane perpendicular to `normal` (zero: the z axis): x is the projection of the x axis into it, or
 * of the y axis where the normal is within 45 degrees of the x axis; (x, y, normal) are right-handed. Phases are angles
 * from x towards y, so a bar in a disc that turns about any normal has a phase that grows. Pure. */
void analysis_plane(const double normal[3], double x[3], double y[3], double z[3]);
/* What the measurement costs in interactions of forces of `count` particles, for the rule of statistics; `on_device`:
 * forces are computed by a device, and this is done on the host. Pure. */
double analysis_cost(double count, int on_device);

/* The columns, and the rows at one time. `virial`: 2 T / |W| of the whole system, which the row of all has; NAN:
 * unknown. `place` and `motion` are added to centres and velocities (sim_shift). */
void analysis_header(FILE *out);
void analysis_write(FILE *out, double time, const struct analysis *analysis, double virial, const double place[3],
                    const double motion[3]);
#endif
