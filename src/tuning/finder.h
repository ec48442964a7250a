/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The finder: R1, R2, soft step, Eta and the error tolerance of forces that give the Hermite hard part a wanted energy
 * error at the least cost. A model of errors and costs, with constants from runs; finder.c states it. Pure: no clock,
 * no device, no message, so equal numbers give equal bits, and every rank that is given the same numbers finds the
 * same. */
#ifndef FINDER_H
#define FINDER_H
#include <stdio.h>

#include "tuning/errors.h"

/* What is wanted and what is given. */
struct finder_request {
  double error;                  /* wanted: largest |dE/E| within some dynamical times, above 0 */
  double r1, r2, soft_step, eta; /* kept where they are above 0; r2 only together with r1; r1 alone: r2 is 4 r1 */
  double longest;                /* upper limit of the soft step (time); 0: none */
  double delta;                  /* ErrTolForceAcc: a smaller one is found where this one is too coarse */
  int order;                     /* MultipoleOrder */
  /* cost of the soft force on a particle in units of a hard entry; 0: by the table for the backend */
  double soft_cost;
  int on_device;  /* backend: 1: a device, 0: the host */
  double workers; /* devices, or cores, among which the work is divided */
};

/* A choice of the split with what the model predicts of it. */
struct finder_choice {
  double r1, r2, soft_step, eta;
  double error;                      /* largest |dE/E| */
  double entries;                    /* hard entries evaluated, per particle and unit of time */
  double soft_seconds, hard_seconds; /* per unit of time: soft forces, hard part */
};

enum { FINDER_CHOICES = 11 }; /* R2 from the median distance downwards by factors of sqrt(2) */

struct finder_result {
  /* choices; index of the cheapest one that reaches the error, or of the most exact one if none does */
  int n, best;
  struct finder_choice choice[FINDER_CHOICES];
  double delta;            /* ErrTolForceAcc */
  double delta_at_order_2; /* the same for MultipoleOrder = 2 */
  double soft_cost;        /* used: hard entries for the soft force on a particle */
  double error;            /* predicted with the best choice */
  int reached;             /* 1: that is not above the wanted one */
};

/* Find the choices for a system and take the best one. Values found are rounded to three digits, so that they can be
 * given as parameters. */
struct finder_result finder_find(const struct finder_system *system, const struct finder_request *request);
/* The part of half the median distance to the 28th neighbour that R2 has where it is by rule: 1, or a power of the root
 * of 1/2 with which a Plummer sphere of `count` particles costs clearly less at this error. */
double finder_rule_part(double count, double error, int on_device);
/* Largest |dE/E| that the model predicts of a split (r2), a soft step and an eta. */
double finder_error(const struct finder_system *system, double r2, double soft_step, double eta);
/* The longest soft step for a split and a wanted error: that of finder_find where nothing is given. Without mass and
 * motion: 1e300. */
double finder_soft_step(const struct finder_system *system, double r2, double error);
/* Print a result: the values with their reasons, then a table of the choices. */
void finder_print(const struct finder_result *result, const struct finder_request *request, FILE *out);
#endif
