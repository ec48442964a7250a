/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A star cluster within a run ([Output] Cluster): the rows of cluster.csv. doc/analysis.md has the definitions;
 * python/espalier_plots/cluster.py has the same ones. */
#ifndef CLUSTER_H
#define CLUSTER_H
#include <stdio.h>

#include "analysis/multiples.h"
#include "gravity/field.h"
#include "mpi/comm.h"
#include "params/params.h"
#include "particles/particles.h"

/* The tide of an external field at the cluster, as effects_tide. On rank 0. */
typedef void cluster_tide(const void *of, const double x[3], const double v[3], double length, struct tide *tide);

/* The synchronisation that is looked at. */
struct cluster_facts {
  double time;
  double gravity, softening;  /* G; softening of the potential of stars: the largest one of the types that have stars */
  double limit;               /* of tides on pairs, as for multiples_find */
  double place[3], motion[3]; /* added to the centre and its velocity for the user's frame */
  cluster_tide *tide;
  const void *tide_of;
};

/* The run's frame and units; bound: of negative energy among the bound stars, and in a tide within the Jacobi radius of
 * their mass; NAN where a number is not defined. */
struct cluster_row {
  int32_t stars; /* with mass */
  double mass;
  double centre[3], velocity[3]; /* of density; mean of the bound stars */
  double core_radius;
  int32_t bound_stars;
  double bound_mass, half_mass_radius, relaxation_time;
  int32_t pairs; /* bound systems of two stars */
  double binary_fraction, binary_energy, segregation;
  double tide, jacobi_radius, jacobi_mass;
  int32_t jacobi_stars; /* -1: there is no Jacobi radius */
  int32_t escapers;
  double dispersion; /* of one axis: bound bodies within the half-mass radius */
};

/* Whether a run of so many particles has the table. */
int cluster_wanted(const struct params *params, double particles);
/* What a row costs in interactions of forces of `count` particles, for the rule of statistics; `on_device`: forces are
 * computed by a device. Pure. */
double cluster_cost(double count, int on_device);
/* Measure a cluster of stars that multiples_arrange has sorted. Local. */
void cluster_measure(struct cluster_row *row, const struct star *star, int32_t stars,
                     const struct cluster_facts *facts);
void cluster_header(FILE *out);
/* Gather the particles on rank 0, measure them, and write a row to `out` (NULL: none). Collective. */
void cluster_scan(const struct comm *comm, const struct particles *particles, const struct cluster_facts *facts,
                  FILE *out);
#endif
