/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Soft steps to a time, until stopping conditions hold. Stars that touch within a step are found by the orbits of
 * pairs; the step is then made again, to the time at which they touch. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "stops.h"

#define SAME_TIME 1e-12 /* relative: what conversions of units leave of a time */
#define SAME_STEP 1e-7  /* the same of a step: a touch that is told so well is not refined */
enum { TRIES = 4 };     /* so many steps in sequence are made again; then one is taken as it is */
enum { REFINED = 3 };   /* a step is made again so often, each time to a time that is known better */

static int library_failed(struct model *m) { return model_fail(m, "%s", espalier_error()); }

static void count_step(struct model *m, double time)
{
  m->last_step = time - m->time;
  m->time = time;
  m->steps++;
}

static int after_step(espalier *sim, void *data)
{
  count_step(data, espalier_time(sim));
  return stops_reached(sim);
}

/* Whether stars touch that did not at the last call: m->touching.fresh of rank 0. */
static int any_fresh(struct model *m)
{
  struct touching *t = &m->touching;
  int found = 0;
  if (m->rank == 0) {
    struct touches now = {NULL, 0, 0};
    touches_now(&m->store, &now);
    touches_new(&now, &t->known, &t->fresh);
    touches_free(&t->known);
    t->known = now;
    found = t->fresh.n > 0;
  }
  MPI_Bcast(&found, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return found;
}

/* Positions and velocities of rank 0, [count][6]; to be freed, NULL on other ranks. */
static double *copy_state(const struct model *m)
{
  double *state = m->rank == 0 ? malloc(6 * sizeof *state * (size_t)(m->count + 1)) : NULL;
  if (m->rank == 0 && !state) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int64_t k = 0; m->rank == 0 && k < m->count; k++) {
    memcpy(state + 6 * k, m->store.body[k].x, 3 * sizeof *state);
    memcpy(state + 6 * k + 3, m->store.body[k].v, 3 * sizeof *state);
  }
  return state;
}

/* Open the simulation again with this state and time, and make steps to `until`. 0 or -1. */
static int again(struct model *m, const double *state, double time, double until)
{
  for (int64_t k = 0; m->rank == 0 && k < m->count; k++) {
    memcpy(m->store.body[k].x, state + 6 * k, 3 * sizeof *state);
    memcpy(m->store.body[k].v, state + 6 * k + 3, 3 * sizeof *state);
  }
  m->time = time;
  return model_open(m) || (espalier_evolve(m->sim, until, NULL, NULL) ? library_failed(m) : 0);
}

/* touches_first of a step that began at `since`, on all ranks, as a time; HUGE_VAL where it is not before the end. */
static double first_touch(const struct model *m, const double *before, double since)
{
  double time = espalier_time(m->sim), first = HUGE_VAL;
  if (m->rank == 0)
    first = since + touches_first(&m->store, before, time - since, m->softening, m->gravity, &m->touching.known);
  MPI_Bcast(&first, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return first > since && first < time - SAME_STEP * (time - since) ? first : HUGE_VAL;
}

/* One soft step at most to `until`, or to the time at which stars touch in it. *tries: of the steps before this one. 0
 * or -1. */
static int step(struct model *m, double until, int *tries)
{
  double since = m->time, longest = 0, *state = copy_state(m);
  if (m->rank == 0) longest = touches_step(&m->store);
  MPI_Bcast(&longest, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  int code = espalier_advance(m->sim, fmin(until, since + longest)) ? library_failed(m) : 0;
  model_fetch(m);
  double first = *tries < TRIES ? first_touch(m, state, since) : HUGE_VAL;
  *tries = first < HUGE_VAL ? *tries + 1 : 0;
  for (int k = 0; k < REFINED && !code && first < HUGE_VAL; k++) {
    code = again(m, state, since, first);
    model_fetch(m);
    first = first_touch(m, NULL, since);
  }
  m->time = since;
  count_step(m, espalier_time(m->sim));
  free(state);
  return code;
}

/* Steps until stars touch. Those that touch at the begin end it at once, but where they did at the last end. 0 or
 * -1. */
static int evolve_to_touches(struct model *m, double until)
{
  int tries = 0, code = 0, stop = any_fresh(m);
  while (!stop && !code && m->time < until) {
    code = step(m, until, &tries);
    if (code) break;
    stop = stops_reached(m->sim);
    stop |= any_fresh(m);
  }
  return code;
}

int model_evolve(struct model *m, double until)
{
  int code;
  stops_begin();
  m->touching.fresh.n = 0;
  if (model_update(m)) return -1;
  m->started = 1;
  if (!isfinite(until))
    return model_fail(m, "the time to which the model is to be evolved: expected a finite number, found %g", until);
  if (fabs(until - m->time) <= SAME_TIME * fabs(until)) return 0;
  if (until < m->time)
    return model_fail(m, "the time is %.17g; the model cannot go back to %.17g: reverse the velocities instead",
                      m->time, until);
  if (!m->sim) {
    m->time = until;
    return 0;
  }
  if (stops_ask_for_touches()) {
    code = evolve_to_touches(m, until);
  } else {
    code = espalier_evolve(m->sim, until, after_step, m) ? library_failed(m) : 0;
    m->touching.known.n = 0;
  }
  m->have_forces = m->have_energy = 0;
  m->time = espalier_time(m->sim);
  model_fetch(m);
  if (code) return -1;
  stops_note(&m->store, &m->touching.fresh, m->rank);
  return 0;
}
