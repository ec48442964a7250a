/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions of espalier.h: what each call needs from the process that it is in, and then the function behind it.
 *
 * - The "C" locale, whatever the process has set: parameters are read and written with a decimal point.
 * - One thread in a simulation: a second one gets ESPALIER_BUSY. Threads in different simulations wait for each other,
 *   since MPI and the counters of memory are of the process.
 * - MPI that runs, and the same call on all ranks. */
#include <config.h>
#include "api/api.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <string.h>

#include "mpi/start.h"

static pthread_mutex_t library = PTHREAD_MUTEX_INITIALIZER; /* of the thread that computes */
static pthread_mutex_t list = PTHREAD_MUTEX_INITIALIZER;    /* of `simulations` and of all struct guest */
static espalier *simulations;

/* Names of calls of which ranks must make the same. */
enum call {
  CALL_STEP,
  CALL_EVOLVE,
  CALL_ADVANCE,
  CALL_GET,
  CALL_SET,
  CALL_PUT,
  CALL_CHANGE,
  CALL_FIELD,
  CALL_MEASURE,
  CALL_SAVE,
  CALL_CLOSE,
  CALL_JUDGE,
  CALL_AGREE,
  CALL_LOCAL
};
static const char *const call_names[] = {"espalier_step",    "espalier_evolve", "espalier_advance", "espalier_get",
                                         "espalier_set",     "espalier_put",    "espalier_change",  "espalier_field_at",
                                         "espalier_measure", "espalier_save",   "espalier_close",   "espalier_judge",
                                         "espalier_agree"};

/* --- locale, threads, MPI ----------------------------------------------------------------------------------------- */

static locale_t plain;
static pthread_once_t plain_once = PTHREAD_ONCE_INIT;
static void make_plain(void) { plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

/* Enter the library. Returns the locale of the thread, for leave_library. */
static locale_t enter_library(void)
{
  pthread_once(&plain_once, make_plain);
  pthread_mutex_lock(&library);
  return uselocale(plain);
}

static void leave_library(locale_t before)
{
  uselocale(before);
  pthread_mutex_unlock(&library);
}

/* The simulation is one, and no other thread is in it: this thread is its guest. 0 or a code. */
static int enter_simulation(espalier *e)
{
  struct fault f = {""};
  int code = ESPALIER_OK;
  pthread_mutex_lock(&list);
  espalier *found = simulations;
  while (found && found != e) found = found->guest.next;
  if (!found || found->guest.closing) {
    code = ESPALIER_BAD_ARGUMENT;
    fault_set(&f, "sim: expected a simulation that is open, found %s", e ? "one that is closed" : "NULL");
  } else if (found->guest.calls > 0 && !pthread_equal(found->guest.thread, pthread_self())) {
    code = ESPALIER_BUSY;
    fault_set(&f, "another thread is in a call of this simulation: wait for its end; a simulation is for one thread at "
                  "a time");
  } else {
    found->guest.thread = pthread_self();
    found->guest.calls++;
  }
  pthread_mutex_unlock(&list);
  return code ? api_fail(code, &f) : ESPALIER_OK;
}

static void leave_simulation(espalier *e)
{
  pthread_mutex_lock(&list);
  e->guest.calls--;
  pthread_mutex_unlock(&list);
}

/* Note what other threads may read. */
static void note(espalier *e)
{
  double time = api_time(e);
  int64_t steps = api_steps(e), count = api_count(e), total = api_total(e);
  pthread_mutex_lock(&list);
  e->guest.time = time;
  e->guest.steps = steps;
  e->guest.count = count;
  e->guest.total = total;
  pthread_mutex_unlock(&list);
}

/* --- ranks -------------------------------------------------------------------------------------------------------- */

/* Compare this call with those of the other ranks: 1 where all make it. *least, *most: of `value` over ranks.
 * Collective. */
static int same_call(const struct comm *comm, enum call call, double value, double *least, double *most)
{
  double v[4] = {call, -(double)call, value, -value};
  if (comm->size > 1) comm_max_double(comm, v, 4);
  *most = v[2];
  *least = -v[3];
  return v[0] == -v[1];
}

/* Agree at a place that all ranks reach: calls that other ranks make before fail. The largest `value` over ranks;
 * `different` where there were such calls. Collective. */
static double meet(const struct comm *comm, double value, double different)
{
  double least, most;
  while (!same_call(comm, CALL_AGREE, value, &least, &most)) value = different;
  return most;
}

/* The ranks make the same call, with the same time. 0 or a code. Collective. */
static int match(const espalier *e, enum call call, double until)
{
  struct fault f = {""};
  double least, most, value = isnan(until) ? -DBL_MAX : fmax(fmin(until, DBL_MAX), -DBL_MAX / 2);
  if (!same_call(&e->comm, call, value, &least, &most))
    fault_set(&f, "the ranks make different calls, this one %s: all make each call, in the same order",
              call_names[call]);
  else if (least != most) fault_set(&f, "until: the ranks give times from %g to %g", least, most);
  return f.text[0] ? api_fail(ESPALIER_BAD_ARGUMENT, &f) : ESPALIER_OK;
}

/* --- calls of a simulation ---------------------------------------------------------------------------------------- */

struct visit {
  espalier *sim;
  locale_t before;
};

static void end_visit(struct visit *visit)
{
  espalier *e = visit->sim;
  int last = e->guest.closing && e->guest.calls == 1;
  note(e);
  if (last) {
    pthread_mutex_lock(&list);
    espalier **at = &simulations;
    while (*at != e) at = &(*at)->guest.next;
    *at = e->guest.next;
    pthread_mutex_unlock(&list);
    api_close(e);
  } else leave_simulation(e);
  leave_library(visit->before);
}

/* 0, and then end_visit follows; or a code. `until`: 0 where the call has none. */
static int begin_visit(struct visit *visit, const espalier *sim, enum call call, double until)
{
  struct fault f = {""};
  espalier *e = (espalier *)sim;
  int code = enter_simulation(e);
  if (code) return code;
  *visit = (struct visit){e, enter_library()};
  if (start_check(&f)) {
    leave_simulation(e);
    leave_library(visit->before);
    return api_fail(ESPALIER_BAD_MPI, &f);
  }
  if (call != CALL_LOCAL && (code = match(e, call, until))) end_visit(visit);
  return code;
}

/* Body of a function: `work` in the library, as a call that all ranks make. */
#define VISIT(sim, call, until, work)               \
  struct visit visit;                               \
  int code = begin_visit(&visit, sim, call, until); \
  if (code) return code;                            \
  code = work;                                      \
  end_visit(&visit);                                \
  return code

int api_call_back(espalier *e, espalier_callback *after, void *data)
{
  enum { GO_ON, STOP, DIFFERENT };
  note(e);
  locale_t inside = uselocale(plain);
  uselocale(e->guest.outside);
  pthread_mutex_unlock(&library);
  int stop = after(e, data) != 0;
  pthread_mutex_lock(&library);
  uselocale(inside);
  double agreed = meet(&e->comm, stop || e->guest.closing ? STOP : GO_ON, DIFFERENT);
  if (agreed < DIFFERENT) return agreed == STOP;
  api_fail(ESPALIER_BAD_ARGUMENT,
           &(struct fault){"callback: the ranks made different calls in it: all make each call, in the same order"});
  return -1;
}

int espalier_step(espalier *e, double until) { VISIT(e, CALL_STEP, until, api_step(e, until)); }
int espalier_advance(espalier *e, double until) { VISIT(e, CALL_ADVANCE, until, api_advance(e, until, 1)); }

int espalier_evolve(espalier *e, double until, espalier_callback *after, void *data)
{
  struct visit visit;
  int code = begin_visit(&visit, e, CALL_EVOLVE, until);
  if (code) return code;
  locale_t outer = e->guest.outside;
  e->guest.outside = visit.before;
  code = api_evolve(e, until, after, data);
  e->guest.outside = outer;
  end_visit(&visit);
  return code;
}

int espalier_get(espalier *e, enum espalier_field field, void *out)
{
  VISIT(e, CALL_GET, field, api_get(e, field, out));
}
int espalier_set(espalier *e, enum espalier_field field, const void *in)
{
  VISIT(e, CALL_SET, field, api_set(e, field, in));
}
int espalier_put(espalier *e, const struct espalier_particles *given) { VISIT(e, CALL_PUT, 0, api_put(e, given)); }
int espalier_change(espalier *e, const struct espalier_changes *given)
{
  VISIT(e, CALL_CHANGE, 0, api_change(e, given));
}
int espalier_measure(espalier *e, struct espalier_sums *sums) { VISIT(e, CALL_MEASURE, 0, api_measure(e, sums)); }
int espalier_judge(espalier *e, char *text, size_t size) { VISIT(e, CALL_JUDGE, 0, api_judge(e, text, size)); }
int espalier_save(espalier *e, const char *path) { VISIT(e, CALL_SAVE, 0, api_save(e, path)); }
int espalier_look(espalier *e, struct espalier_view *view) { VISIT(e, CALL_LOCAL, 0, api_look(e, view)); }
int espalier_field_at(espalier *e, int64_t count, const double *points, int exact, double *acceleration,
                      double *potential)
{
  VISIT(e, CALL_FIELD, 0, api_field_at(e, count, points, exact, acceleration, potential));
}
int espalier_parameter(const espalier *e, const char *name, char *text, size_t size)
{
  VISIT(e, CALL_LOCAL, 0, api_parameter(e, name, text, size));
}

int espalier_close(espalier *e)
{
  struct visit visit;
  if (!e) return ESPALIER_OK;
  int code = begin_visit(&visit, e, CALL_CLOSE, 0);
  if (code) return code;
  pthread_mutex_lock(&list);
  e->guest.closing = 1;
  pthread_mutex_unlock(&list);
  end_visit(&visit);
  return ESPALIER_OK;
}

/* --- numbers that any thread may read ----------------------------------------------------------------------------- */

static struct guest shown(const espalier *e)
{
  struct guest none = {.time = NAN, .steps = -1, .count = -1, .total = -1};
  pthread_mutex_lock(&list);
  const espalier *found = simulations;
  while (found && found != e) found = found->guest.next;
  if (found && !found->guest.closing) none = found->guest;
  pthread_mutex_unlock(&list);
  return none;
}

double espalier_time(const espalier *e) { return shown(e).time; }
int64_t espalier_steps(const espalier *e) { return shown(e).steps; }
int64_t espalier_count(const espalier *e) { return shown(e).count; }
int64_t espalier_total(const espalier *e) { return shown(e).total; }

/* --- calls without a simulation ----------------------------------------------------------------------------------- */

/* Enter the simulation that was opened into the list. */
static int admit(espalier **sim, int code)
{
  if (code) return code;
  espalier *e = *sim;
  note(e);
  pthread_mutex_lock(&list);
  e->guest.next = simulations;
  simulations = e;
  pthread_mutex_unlock(&list);
  return ESPALIER_OK;
}

int espalier_open(espalier **sim, const int *communicator, const char *parameters, const char *const *settings,
                  const struct espalier_particles *particles)
{
  locale_t before = enter_library();
  int code = admit(sim, api_open(sim, communicator, parameters, settings, particles));
  leave_library(before);
  return code;
}

int espalier_open_file(espalier **sim, const int *communicator, const char *parameters, const char *const *settings,
                       const char *path)
{
  locale_t before = enter_library();
  int code = admit(sim, api_open_file(sim, communicator, parameters, settings, path));
  leave_library(before);
  return code;
}

int espalier_read(struct espalier_data **data, const int *communicator, const char *path)
{
  locale_t before = enter_library();
  int code = api_read(data, communicator, path);
  leave_library(before);
  return code;
}

int espalier_model(struct espalier_data **data, const int *communicator, const char *model, int64_t count,
                   uint64_t seed, const char *const *settings)
{
  locale_t before = enter_library();
  int code = api_model(data, communicator, model, count, seed, settings);
  leave_library(before);
  return code;
}

/* --- agreement ---------------------------------------------------------------------------------------------------- */

/* 0, or a code on all ranks with the sentence of the lowest rank that has one. Collective. */
static int agree(const struct comm *comm, const char *sentence, int *value)
{
  struct fault f = {""};
  double most = meet(comm, value ? *value : 0, value ? *value : 0);
  if (value) *value = (int)most;
  if (sentence) fault_set(&f, "%s", sentence);
  return api_agree(comm, ESPALIER_BAD_ARGUMENT, &f);
}

int espalier_agree(espalier *e, const int *communicator, const char *sentence, int *value)
{
  struct fault f = {""};
  struct comm c;
  int code;
  if (e) {
    struct visit visit;
    if ((code = begin_visit(&visit, e, CALL_LOCAL, 0))) return code;
    code = agree(&e->comm, sentence, value);
    end_visit(&visit);
    return code;
  }
  locale_t before = enter_library();
  if (start_mpi(&f)) code = api_fail(ESPALIER_BAD_MPI, &f);
  else if (start_comm(&c, communicator, &f)) code = api_fail(ESPALIER_BAD_ARGUMENT, &f);
  else {
    code = agree(&c, sentence, value);
    comm_close(&c);
  }
  leave_library(before);
  return code;
}
