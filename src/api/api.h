/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of the library share. */
#ifndef API_H
#define API_H
#include <locale.h>
#include <pthread.h>

#include "api/espalier.h"
#include "mpi/comm.h"
#include "run/guard.h"
#include "run/start.h"
#include "step/sim.h"

/* The thread that is in a call of a simulation, and what other threads may read (entries.c, under its lock). */
struct guest {
  pthread_t thread;
  int calls;   /* under way: more than 1 from a callback; 0: no thread is in a call */
  int closing; /* a callback closed the simulation, which ends with the outermost call */
  double time;
  int64_t steps, count, total; /* at the end of the last soft step or call */
  locale_t outside;            /* locale of the caller, for callbacks */
  espalier *next;              /* in the list of simulations */
};

struct espalier {
  struct comm comm;
  struct params par; /* as given */
  struct sim *sim;   /* at a synchronisation with forces */
  struct guard guard;
  long long before; /* soft steps made before espalier_put set sim->step to 0 */
  int64_t *order;   /* this rank's particles in ascending order of their ids; valid while `ordered` */
  int ordered;
  int potential; /* 1: potentials are those of the present time */
  int energies;  /* 1: sim->energy too */
  /* 1: the next soft step ends with potentials, for the energy of changes of masses that may follow those before it */
  int potentials_follow;
  struct fault unsound; /* empty: the system is sound */
  int softening_given;  /* 1: a parameter names a softening */
  struct guest guest;
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

/* --- what entries.c calls, after it has checked threads, MPI and the locale: the functions of espalier.h ---------- */

int api_open(espalier **out, const int *communicator, const char *parameters, const char *const *settings,
             const struct espalier_particles *particles);
int api_open_file(espalier **out, const int *communicator, const char *parameters, const char *const *settings,
                  const char *path);
void api_close(espalier *e);
int api_step(espalier *e, double until);
int api_evolve(espalier *e, double until, espalier_callback *after, void *data);
/* One soft step to `until` at most. `potential`: 1: with potentials where the step ends there. Collective. */
int api_advance(espalier *e, double until, int potential);
double api_time(const espalier *e);
int64_t api_steps(const espalier *e);
int64_t api_count(const espalier *e);
int64_t api_total(const espalier *e);
int api_get(espalier *e, enum espalier_field field, void *out);
int api_set(espalier *e, enum espalier_field field, const void *in);
int api_put(espalier *e, const struct espalier_particles *particles);
int api_change(espalier *e, const struct espalier_changes *given);
int api_look(espalier *e, struct espalier_view *view);
int api_field_at(espalier *e, int64_t count, const double *points, int exact, double *acceleration, double *potential);
int api_measure(espalier *e, struct espalier_sums *sums);
int api_judge(espalier *e, char *text, size_t size);
int api_parameter(const espalier *e, const char *name, char *text, size_t size);
int api_save(espalier *e, const char *path);
int api_read(struct espalier_data **data, const int *communicator, const char *path);
int api_model(struct espalier_data **data, const int *communicator, const char *model, int64_t count, uint64_t seed,
              const char *const *settings);
/* Call `after` outside of the library: in the caller's locale, and other simulations may be used. 1 where a rank ends
 * the integration, 0 where none does, -1 with the sentence set where the ranks made different calls. Collective. */
int api_call_back(espalier *e, espalier_callback *after, void *data);
#endif
