/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tide of an external field on what moves in it. */
#ifndef TIDE_H
#define TIDE_H

/* At the centre of a star cluster; run's units. Zeros: no field. */
struct tide {
  /* (G m / stretch)^(1/3) is the Jacobi radius of the mass m (King 1962): on a circular orbit 4 Omega^2 - kappa^2. At
   * most 0: the field pulls nothing away from the centre */
  double stretch;
  double reach; /* the length in which the field changes by itself; a larger Jacobi radius has no meaning */
  double spin;  /* angular velocity about z of the frame of the run */
};
#endif
