/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "planning/planning.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/resident.h"
#include "forecast/machine_file.h"
#include "gravity/units.h"
#include "planning/job_script.h"
#include "planning/plan_text.h"
#include "planning/seconds.h"
#include "planning/storage.h"
#include "settings/choice.h"

/* A smaller pilot has this part of the particles of the larger one. */
#define SMALLER 0.25
/* Fewest particles of a pilot. */
enum { PILOT_MIN = 256 };

/* What a process that no launcher started holds more than a rank of several: Open MPI's management of processes is then
 * in it. */
#ifdef OPEN_MPI
#define ALONE_BYTES 4.2e6
#else
#define ALONE_BYTES 0
#endif

struct work {
  const struct comm *comm;
  struct params params;
  struct planning *planning;
  struct machine machine;
  struct particles pilot[PILOTS];
  double half;
};

/* The machine. 0 or -1. */
static int read_machine(struct work *work, struct fault *fault)
{
  char path[2 * PATH_MAX];
  if (!work->planning->machine) return 0;
  if (machine_file(work->planning->machine, path, sizeof path, fault) || machine_read(path, &work->machine, fault))
    return -1;
  if (work->planning->ranks_per_node > 0) work->machine.network.ranks_per_node = work->planning->ranks_per_node;
  struct network network = work->machine.network;
  network_place(&network, work->planning->ranks, fault);
  return fault->text[0] ? -1 : 0;
}

/* Make the pilots; the smaller one only where the larger one is not the system itself. 0 or -1. */
static int make_pilots(struct work *work, struct fault *fault)
{
  const struct planning *planning = work->planning;
  double larger = fmin(planning->pilot, planning->particles),
         all = planning->source.galaxy || planning->source.particles.n == 0
                   ? larger
                   : fmin(larger, (double)planning->source.particles.n);
  if (pilot_make(work->comm, &planning->source, all, &work->pilot[1], fault)) return -1;
  if (all < planning->particles &&
      pilot_make(work->comm, &planning->source, fmax(SMALLER * all, 1), &work->pilot[0], fault))
    return -1;
  if (work->pilot[1].n < PILOT_MIN)
    return fault_set(fault, "%s: %lld particles are too few for a plan: expected %d or more", planning->source.name,
                     (long long)work->pilot[1].n, PILOT_MIN);
  work->half = pilot_half_radius(&work->pilot[1]);
  return 0;
}

/* Predict a hybrid, with the shorter one of the radii between which a run chooses, if that is faster. 0 or -1. */
static int predict_hybrid(const struct seconds_wanted *wanted, struct seconds_planned *planned, struct fault *fault)
{
  struct params params = *wanted->params;
  struct seconds_wanted with_narrow = *wanted;
  struct seconds_planned narrow;
  with_narrow.params = &params;
  if (seconds_plan(wanted, STUDY_HYBRID, planned, fault)) return -1;
  if (!(choice_allowed(&params) & 1u << CHOICE_HYBRID_NARROW)) return 0;
  choice_set(&params, CHOICE_HYBRID_NARROW);
  if (seconds_plan(&with_narrow, STUDY_HYBRID, &narrow, fault)) return -1;
  if (narrow.seconds < planned->seconds) *planned = narrow;
  return 0;
}

/* Predict all schemes that are allowed. Returns their number, or -1. */
static int predict(struct work *work, unsigned schemes, struct seconds_planned planned[STUDY_SCHEMES],
                   struct fault *fault)
{
  const struct seconds_wanted wanted = {.comm = work->comm,
                                        .params = &work->params,
                                        .machine = &work->machine,
                                        .particles = work->planning->particles,
                                        .ranks = work->planning->ranks,
                                        .pilot = work->pilot,
                                        .half = work->half,
                                        .begin = work->planning->begin};
  int count = 0;
  for (int s = 0; s < STUDY_SCHEMES; s++) {
    if (!(schemes & 1u << s)) continue;
    struct seconds_planned *to = &planned[count++];
    if (s == STUDY_HYBRID ? predict_hybrid(&wanted, to, fault) : seconds_plan(&wanted, s, to, fault)) return -1;
  }
  return count;
}

/* Whether seconds can be predicted; *why says why not. */
static unsigned schemes_of(const struct work *work, const char **why)
{
  if (!work->planning->machine)
    *why = "no --machine is given (mpirun -n 2 espalier study machine makes a file of this one)";
  else if (work->planning->ranks > PLANNED_RANKS_MAX)
    *why = "messages are counted for at most 1024 ranks; `study time` has laws for more";
  else if (work->pilot[1].n < (int64_t)work->planning->ranks * 16)
    *why = "the pilot has fewer than 16 particles a rank: give a larger --pilot";
  else return seconds_schemes(&work->params, why);
  return 0;
}

static int fastest(const struct seconds_planned *planned, int count)
{
  int best = 0;
  for (int k = 1; k < count; k++)
    if (planned[k].seconds < planned[best].seconds) best = k;
  return best;
}

/* The scheme for which memory is planned: the fastest, or where none is known one that the parameters allow. */
static enum need_scheme memory_scheme(const struct params *params, const char *fastest)
{
  _Static_assert((int)NEED_SHARED == STUDY_SHARED && (int)NEED_HYBRID == STUDY_HYBRID, "the same order");
  for (int s = 0; s < STUDY_SCHEMES; s++)
    if (fastest && strcmp(fastest, study_scheme_names[s]) == 0) return (enum need_scheme)s;
  return params_mode(params) != MODE_TREE ? NEED_HYBRID : params_shared(params) ? NEED_SHARED : NEED_BLOCK;
}

static int print(struct work *work, struct fault *fault)
{
  struct planning *planning = work->planning;
  struct seconds_planned planned[STUDY_SCHEMES];
  const char *why = NULL;
  if (!planning->softening_is_given && !planning->parameters && !params_neighbour_lists(&work->params))
    work->params.Softening = pilot_softening(work->half, planning->particles);
  unsigned schemes = schemes_of(work, &why);
  int on_device = planning->machine ? work->machine.device == DEVICE_gpu : work->params.Backend >= BACKEND_CUDA;
  plan_text_begin(planning, &work->params, planning->machine ? &work->machine : NULL, work->pilot);
  fflush(stdout);
  int count = schemes ? predict(work, schemes, planned, fault) : 0;
  if (count < 0) return -1;
  int best = fastest(planned, count);
  enum need_scheme scheme = memory_scheme(&work->params, count ? planned[best].scheme : NULL);
  struct storage storage;
  if (storage_plan(&work->params, planning, on_device, scheme, &storage, fault)) return -1;
  plan_text_storage(planning, &storage, planning->machine ? &work->machine : NULL, study_scheme_names[scheme]);
  if (count) plan_text_seconds(planning, &work->params, &work->machine, planned, count, best, work->pilot);
  else printf("seconds             not predicted: %s\n", why);
  if (!planning->job) return 0;
  return job_script_write(planning, &work->machine, count ? planned[best].seconds : 0, fault);
}

/* The resident set of a rank before it has particles, by this process. */
static double baseline_of(double ranks)
{
  int alone = !getenv("OMPI_COMM_WORLD_RANK");
  return resident_now() - (ranks > 1 && alone ? ALONE_BYTES : 0);
}

int planning_print(const struct comm *comm, const struct params *params, struct planning *planning)
{
  struct work work = {.comm = comm, .params = *params, .planning = planning};
  struct fault fault = {""};
  for (int k = 0; k < PILOTS; k++) particles_init(&work.pilot[k]);
  planning->begin = params->TimeBegin;
  planning->baseline = baseline_of(planning->ranks);
  int failed = planning->job ? job_script_check(planning, &fault) : 0;
  if (!failed) failed = read_machine(&work, &fault);
  if (!failed && !planning->source.name)
    failed = pilot_of_file(comm, params, &planning->source, &planning->begin, &fault);
  if (!failed && planning->particles == 0) planning->particles = (double)planning->source.particles.n;
  if (!failed && !(planning->begin < params->TimeMax))
    failed = fault_set(&fault, "the particles are at time %g, which is not before TimeMax = %g", planning->begin,
                       params->TimeMax);
  if (!failed) failed = make_pilots(&work, &fault) || print(&work, &fault);
  for (int k = 0; k < PILOTS; k++) particles_free(&work.pilot[k]);
  pilot_close(&planning->source);
  comm_print_fault(comm, "error", &fault);
  return failed ? 1 : 0;
}
