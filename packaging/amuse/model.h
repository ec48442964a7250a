/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The simulation behind the worker: it follows the store and the parameters. What is not said to be local is for all ranks together. */
#ifndef MODEL_H
#define MODEL_H
#include <espalier.h>

#include "store.h"
#include "touches.h"

enum change { CHANGED_NOTHING, CHANGED_VELOCITIES = 1, CHANGED_MASSES = 2, CHANGED_ALL = 4 };
enum { MODEL_TEXT = 4096 };

/* On rank 0, with detection of collisions: the pairs that touch; and of them those that did not before. */
struct touching {
  struct touches known, fresh;
};

struct model {
  struct store store;
  espalier *sim;          /* NULL: not opened, or no particles */
  int rank, size;
  unsigned changed;       /* of the store, since the simulation had it: sum of enum change */
  int settings_changed;
  int64_t count;          /* particles of the store, on all ranks, as of the last model_update */
  double time, begin;
  int started;            /* 1: it was evolved, so `begin` does not matter any more */
  double last_step;       /* length of the last soft step */
  long long steps;
  double eps2, largest_step, accuracy;
  char mode[16], integrator[16], settings[MODEL_TEXT];
  char used[2 * MODEL_TEXT];   /* the settings with which the simulation was opened */
  struct touching touching;
  int have_forces, have_energy;
  double potential;       /* energy */
  int direct;             /* 1: forces and energies that are asked for are direct sums over the store; with these numbers of the library: */
  double softening, gravity;
  /* on rank 0: the particles in the order in which the ranks have them */
  int *counts, *starts;   /* [size] */
  int64_t *at;            /* [count], places in the store */
  char error[1024];
};

/* Start with the defaults of all parameters. */
void model_begin(struct model *m);
void model_end(struct model *m);
/* Record what went wrong. Returns -1. Local. */
int model_fail(struct model *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
int model_bad_radius(struct model *m, int index, double radius);
/* Give the library what has changed in the store and the parameters. 0 or -1. */
int model_update(struct model *m);
/* Open a simulation of the store in the place of the present one, which stays on failure. 0 or -1. */
int model_open(struct model *m);
/* Positions and velocities of the store become those of the library. */
void model_fetch(struct model *m);
/* Soft steps to a time, or until stopping conditions hold. 0 or -1. */
int model_evolve(struct model *m, double until);
/* Accelerations and potentials in the store are those of the present. 0 or -1. */
int model_forces(struct model *m);
/* m->potential is that of the present. 0 or -1. */
int model_potential(struct model *m);
/* Field at points that rank 0 has. `acc` [3 n] and `pot` [n], or NULL. 0 or -1. */
int model_field(struct model *m, int n, const double *points, double *acc, double *pot);
#endif
