/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Internals of discs, shared by disc_*.c and discs.c. Sources: Miki & Umemura 2018 (MNRAS 475, 2269, section 2.2;
 * MAGI), Hernquist 1993 (ApJS 86, 389), Springel, Di Matteo & Hernquist 2005 (MNRAS 361, 776), Binney & Tremaine 2008
 * (BT).
 *
 * All tables share one grid. Radii are uniform in ln R: `fine` nodes for surface densities, of which every
 * DISC_EVERY-th is one of the `coarse` nodes for fields and moments. Heights z >= 0 are z = z0 sinh(t) with uniform t,
 * from a small part of the smallest height to DISC_REACH of the largest. A table has the value of radius i and layer l
 * at [l * coarse + i], as GSL's two-dimensional splines. */
#ifndef DISC_H
#define DISC_H
#include <gsl/gsl_spline.h>
#include <gsl/gsl_spline2d.h>

#include "ic/galaxy/galaxy.h"

enum { DISC_EVERY = 5, DISC_REACH = 12, DISC_QUANTILES = 97 };

struct disc_grid {
  int fine, coarse, layers;
  double step;           /* of ln R between fine nodes */
  double layer_step, z0; /* of t; z = z0 sinh(t) */
  double *lnr, *r;       /* [fine] */
  double *coarse_lnr;    /* [coarse] */
  double *t, *z;         /* [layers] */
};

/* The radial form of a disc: from its section alone. */
struct disc_form {
  double inner, edge; /* 1e-6 of the mass is within `inner`; no mass beyond `edge` */
  /* Sigma ~ exp(-(R / scale)^power) erfc((R - cutoff) / (2 width)); cutoff 0: none */
  double scale, power, cutoff, width;
  double sigma_scale, sigma_power; /* sigma_R ~ exp(-(R / sigma_scale)^sigma_power) */
  double centre;                   /* Sigma for R = 0, without the cut-off */
};

struct disc {
  const struct galaxy_component *c;
  struct disc_form form;
  /* rho / Sigma on the grid: [layers][coarse]; its integral over both sides of the plane is 1 */
  double *shape;
  double *inside; /* [fine] part of the mass within R */
  double sigma0;  /* sigma_R at the centre */
  /* sigma_z^2; z where tanh(T) of the mass is within |z| (isothermal); d ln shape / d ln R */
  gsl_spline2d *sigma_z2, *quantile, *slope;
  /* parts of the mass with <v_phi^2> < 0, and with <v_phi^2> < sigma_phi^2 of the epicyclic ratio */
  double negative, slow;
  double smallest_q, where_q;
  double virial;  /* 2 T / sum of m x.grad Phi */
  char note[400]; /* for a log; empty: nothing to say */
};

struct discs {
  struct galaxy g;
  struct disc_grid grid;
  struct disc disc[GALAXY_COMPONENTS]; /* those that are not discs are empty */
  const struct radial *spheroids;      /* during discs_open alone */
  double *phi, *force_r, *force_z;     /* of all: potential, d/dR, d/dz; during discs_open alone */
  gsl_spline2d *potential, *rotation2; /* of the whole galaxy: Phi, R d Phi / d R */
  gsl_spline *ratio;                   /* kappa^2 / (4 Omega^2) over ln R, in the plane */
};

/* --- disc_density.c --- */
struct disc_form disc_form_of(const struct galaxy_component *component);
double disc_surface(const struct disc_form *form, double radius);
double disc_surface_slope(const struct disc_form *form, double radius); /* d ln Sigma / d ln R */
/* Height at a radius: that of the section; of an isothermal disc less than that within two heights of the centre. */
double disc_height(const struct galaxy_component *component, double radius);
void disc_grid_make(struct disc_grid *grid, const struct galaxy *galaxy);
void disc_grid_free(struct disc_grid *grid);
void disc_open(struct discs *discs, int component);
void disc_close(struct disc *disc);

/* --- disc_field.c --- */
/* Potential and its derivatives of all discs with their present shapes, and of the spheroids, at all nodes. */
struct hankel;
struct hankel *hankel_open(const struct disc_grid *grid);
void hankel_free(struct hankel *hankel);
void disc_fields(struct discs *discs, const struct hankel *hankel);

/* --- disc_vertical.c --- */
/* New shapes of the isothermal discs in the present field. Returns the largest change in units of the central value at
 * the same R. */
double disc_reshape(struct discs *discs);
/* Tables to draw heights from. */
void disc_heights(struct discs *discs, struct disc *disc);

/* --- disc_moments.c --- */
int disc_moments_make(struct discs *discs, struct fault *fault);
struct disc_moments {
  double sigma_r, sigma_phi, sigma_z, rotation, potential;
};
void disc_moments_at(const struct discs *discs, const struct disc *disc, double radius, double z,
                     struct disc_moments *moments);
double disc_ratio(const struct discs *discs, double lnr);

/* Coordinates of a table, kept within it. */
double disc_lnr(const struct disc_grid *grid, double radius);
double disc_t(const struct disc_grid *grid, double z);
gsl_spline2d *disc_table(const struct disc_grid *grid, const double *values);
#endif
