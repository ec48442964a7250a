/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of the library share. */
#ifndef API_H
#define API_H
#include "api/espalier.h"
#include "mpi/comm.h"
#include "run/guard.h"
#include "run/start.h"
#include "step/sim.h"

struct espalier {
  struct comm comm;
  struct params par; /* as given */
  struct sim *sim;   /* at a synchronisation with forces */
  struct guard guard;
  long long before; /* soft steps made before espalier_put set sim->step to 0 */
  int64_t *order;   /* this rank's particles in ascending order of their ids; valid while `ordered` */
  int ordered;
  int potential;        /* 1: potentials are those of the present time */
  int energies;         /* 1: sim->energy too */
  struct fault unsound; /* empty: the system is sound */
};

/* Set the sentence of espalier_error. Returns `code`. */
int api_fail(int code, const struct fault *fault);
/* The ranks agree on a fault: 0, or `code` with the sentence set. Collective. */
int api_agree(const struct comm *comm, int code, struct fault *fault);
/* Put a system that was opened in the place of the present one (NULL: none), and compute its first forces. On failure
 * it is closed, and the present one stays. Collective. 0 or a code. */
int api_adopt(espalier *e, struct sim *fresh);
/* Particles from arrays of the caller; *particles is empty before, and on a fault after. Collective. 0 or a code. */
int api_take(const struct comm *comm, const struct espalier_particles *given, struct particles *particles);
/* Ensure that potentials are those of the present time, and with neighbour lists hard accelerations too. Collective. */
void api_potentials(espalier *e);
/* The particles changed or may be in another order: nothing that was derived from them is valid. */
void api_forget(espalier *e);
#endif
