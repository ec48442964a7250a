/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "run/check.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analysis/stars.h"
#include "backend/backend.h"
#include "base/folders.h"
#include "base/memory.h"
#include "base/resident.h"
#include "base/watchdog.h"
#include "check/need.h"
#include "check/placement.h"
#include "checkpoint/files_changed.h"
#include "checkpoint/manifest.h"
#include "checkpoint/params_changed.h"
#include "checkpoint/recall.h"
#include "gravity/cosmology.h"
#include "gravity/units.h"
#include "io/input/initial.h"
#include "io/snapshot/snapshot.h"
#include "mpi/transport.h"
#include "particles/particles.h"
#include "run/continuation.h"
#include "run/logs.h"
#include "run/outputs.h"
#include "run/start.h"
#include "run/state.h"
#include "step/effects.h"

/* Free bytes on the disk where `path` is or would be made; 0: unknown. `where`: its nearest existing folder. */
static double free_bytes(const char *path, char *where, size_t size)
{
  double disk_free = folder_nearest(path, where, size) ? -1 : folder_free_bytes(where);
  return disk_free > 0 ? disk_free : 0;
}

/* What the run needs, and the free disk space. */
struct estimate {
  double particles, begin;
  struct need_input need;         /* from which the memory of a rank on its host is estimated */
  double device;                  /* bytes per rank on its device */
  double snapshot, snapshots;     /* bytes of a snapshot; number of snapshots */
  double checkpoint, checkpoints; /* the same of checkpoints; while one is written there is one more than are kept */
  double added;                   /* checkpoints beyond those that exist */
  char where[PARAM_TEXT];         /* the nearest existing folder of OutputDir */
  double disk_free;               /* free bytes of its disk */
};

/* What the run starts or continues from. */
struct beginning {
  double particles, time;
  const struct initial_facts *facts; /* initial conditions; NULL: a checkpoint, which the rest describes */
  const struct checkpoint *from;
  const struct state_facts *state;
  const struct run_options *options;
};

/* Number of planned snapshots: for a start including the first one, for a restart those still to be written. */
static double count_snapshots(const struct params *params, const struct outputs *outputs,
                              const struct beginning *beginning)
{
  if (!beginning->from) return 1 + outputs_count(outputs, beginning->time);
  const struct plan *plan = &beginning->state->run.plan;
  double t = effects_end_of(params, beginning->time, plan); /* end of the soft step under way */
  return (plan->at_target || t >= outputs->end || beginning->state->run.pending) + outputs_count(outputs, t);
}

static struct estimate estimate(const struct comm *comm, const struct params *params, const struct beginning *beginning,
                                const struct backend *be, const struct outputs *outputs, double baseline)
{
  struct estimate e = {.particles = beginning->particles, .begin = beginning->time};
  double mine = e.particles / comm->size, bytes = (double)particle_bytes();
  e.need =
      (struct need_input){mine, comm->size, params_mode(params) != MODE_TREE, be->particle_bytes > 0, bytes, baseline};
  e.device = mine * (be->particle_bytes + (params_mode(params) != MODE_TREE ? be->split_bytes : 0));
  e.snapshot = snapshot_bytes(e.particles, SNAPSHOT_RUN);
  e.snapshots = count_snapshots(params, outputs, beginning);
  e.checkpoint = need_checkpoint(e.particles, comm->size, bytes);
  e.checkpoints = params->CheckpointsKept + 1;
  e.added = fmax(1, e.checkpoints - (beginning->from && beginning->from->own_folder ? checkpoint_count(params) : 0));
  e.disk_free = free_bytes(params->OutputDir, e.where, sizeof e.where);
  return e;
}

/* The units in which the input is read. */
static void report_units(const struct params *params)
{
  char text[300];
  printf("units               %s\n", params_units_text(params, text, sizeof text));
  units_warn(params, stdout, "warning: ");
}

static void report_initial(const struct params *params, const struct param_origin *origin,
                           const struct initial_facts *facts, const struct estimate *estimate)
{
  printf("initial conditions  %s (%s), %.0f particle%s", params->InitCondFile, facts->format, estimate->particles,
         plural(estimate->particles));
  for (int t = 0; t < PARTICLE_TYPES; t++)
    if (facts->count[t]) printf(", type %d: %lld", t, (long long)facts->count[t]);
  putchar('\n');
  report_units(params);
  printf("                    %s\n", origin && origin->units[0]   ? "of the file, since the parameters state none"
                                     : facts->units.dimensionless ? "the file is dimensionless"
                                     : facts->has_units           ? "stated by the file, as in the parameters"
                                                        : "not stated by the file; those of the parameters are used");
  if (!facts->own && facts->has_time)
    printf("time in the file    %g, which is not used: the run starts at TimeBegin\n", facts->time);
}

static void report_checkpoint(const struct comm *comm, const struct params *params, const struct beginning *beginning)
{
  const struct checkpoint *k = beginning->from;
  size_t length = 0;
  const char *backend = manifest_value(k->text, NULL, "backend", &length);
  printf("checkpoint          %s, complete: %.0f particle%s on %lld rank%s, backend %.*s\n", k->path,
         beginning->particles, plural(beginning->particles), k->ranks, plural((double)k->ranks), (int)length,
         backend ? backend : "");
  printf("continues           within soft step %lld, which began at time %g\n", beginning->state->step + 1,
         beginning->time);
  if (k->ranks != comm->size)
    printf("                    on %lld rank%s results are bitwise identical; on %d as accurate, but not identical\n",
           k->ranks, plural((double)k->ranks), comm->size);
  if (k->own_folder && k->own_output)
    continuation_report(params, "                    ", beginning->state->step + 1, beginning->time);
  else
    printf("                    new tables are begun: the checkpoint is from another %s\n",
           k->own_folder ? "run" : "folder");
}

/* The existing snapshots that a restart would move away. */
static void report_discards(const struct params *params, const struct beginning *beginning,
                            const struct outputs *outputs)
{
  if (!beginning->from->own_folder || !beginning->from->own_output || beginning->options->no_output) return;
  const struct continuation g = {params,          beginning->options,     outputs,
                                 beginning->from, &beginning->state->run, beginning->state->step,
                                 beginning->time};
  int count = continuation_discard(&g, 1);
  if (count)
    printf("discards            %d snapshot%s written after the checkpoint and not to be written again: %s would be "
           "moved to "
           "%s/discarded\n",
           count, plural(count), count == 1 ? "it" : "they", params->OutputDir);
  else printf("discards            no snapshot\n");
}

/* " (default)" where the parameter was not given. */
static const char *default_mark(const struct run_options *options, const char *name)
{
  return param_is_default(options->origin, name) ? " (default)" : "";
}

/* The softening, or those of the types where they differ. */
static const char *softening_text(const struct params *params, const struct run_options *options, char *text,
                                  size_t size)
{
  size_t at = 0;
  if (!params_softenings_differ(params)) {
    double one = params_softening(params, NULL);
    snprintf(text, size, "%g%s", one, one == params->Softening ? default_mark(options, "Softening") : "");
    return text;
  }
  for (int t = 0; t < PARTICLE_TYPES && at < size; t++)
    at +=
        (size_t)snprintf(text + at, size - at, "%s%.3g", t ? ", " : "of types 0 to 5 ", params_softening_of(params, t));
  return text;
}

static void report_input(const struct comm *comm, const struct params *params, const struct run_options *options,
                         const struct beginning *beginning, const struct estimate *estimate)
{
  char end[QUANTITY_TEXT];
  if (beginning->from) {
    report_checkpoint(comm, params, beginning);
    report_units(params);
  } else report_initial(params, options->origin, beginning->facts, estimate);
  if (params->Comoving)
    printf("expansion           Omega0 = %g, OmegaLambda = %g, HubbleParam = %g; comoving mean density %.6g; units "
           "have factors of 1/h\n",
           params->Omega0, params->OmegaLambda, params->HubbleParam, cosmology_mean_density(params));
  printf("gravity             G = %.9g%s\n", units_gravity(params),
         params->GravityConstantInternal > 0 ? "" : " (from the units)");
  char softening[96];
  printf("force               softening %s, %s criterion, %s cells\n",
         softening_text(params, options, softening, sizeof softening),
         params_choice("TypeOfOpeningCriterion", params->TypeOfOpeningCriterion),
         params_order(params) == 2 ? "quadrupole" : "monopole");
  char chosen[300];
  if (params_integrator_chosen(params, options->origin, chosen, sizeof chosen))
    printf("chosen              %s\n", chosen);
  params_list_given(stdout, "given               ", params, options->origin);
  params_time_text(params, params->TimeMax, end);
  printf("accuracy            %s: |dE/E| of %g per dynamical time is wanted; Delta = %g\n", params->Accuracy,
         params_error(params), params_delta(params));
  if (beginning->from) printf("ends at             %s%s\n", end, default_mark(options, "TimeMax"));
  else printf("begins at           %g, ends at %s%s\n", estimate->begin, end, default_mark(options, "TimeMax"));
}

static void report_disk(const struct params *params, const struct estimate *estimate, int resumes)
{
  char one[16], all[16], first[PARAM_TEXT];
  if (estimate->device > 0) printf("device memory       about %s per rank\n", outputs_bytes(estimate->device, one));
  printf("a snapshot          %s; %.0f %s: %s\n", outputs_bytes(estimate->snapshot, one), estimate->snapshots,
         resumes ? "still to be written, including the last" : "are planned, including the first and the last",
         outputs_bytes(estimate->snapshot * estimate->snapshots, all));
  printf("a checkpoint        %s; %.0f %s kept, and one more while it is written: %s\n",
         outputs_bytes(estimate->checkpoint, one), estimate->checkpoints - 1, estimate->checkpoints > 2 ? "are" : "is",
         outputs_bytes(estimate->checkpoint * estimate->checkpoints, all));
  printf("disk                %s are free in %s\n", outputs_bytes(estimate->disk_free, one), estimate->where);
  if (folders_missing(params->OutputDir, first, sizeof first))
    printf("output folder       %s is not there; %s and what follows would be made\n", params->OutputDir, first);
}

/* Print the report, up to what needs the particles. Where the run cannot work this is a fault, where it may fail a
 * warning. Rank 0. */
static void report(const struct comm *comm, const struct params *params, const struct run_options *options,
                   const struct beginning *beginning, const struct backend *be, const struct place *places,
                   const struct outputs *outputs, const struct estimate *estimate, struct fault *fault)
{
  char one[16], disk_free[16];
  struct memory_need need = need_estimate(&estimate->need);
  const struct params known = params_of_run(params, estimate->particles, be->particle_bytes > 0);
  report_input(comm, &known, options, beginning, estimate);
  if (beginning->from) report_discards(params, beginning, outputs);
  printf("ranks x threads     %d x %d, backend %s\n", comm->size, omp_get_max_threads(), be->name);
  placement_print(places, comm->size, stdout);
  report_disk(params, estimate, beginning->from != NULL);
  placement_warn(places, comm->size, stdout);
  if (beginning->facts) initial_warn(params->InitCondFile, beginning->facts, stdout, "warning: ");
  outputs_warn(outputs, beginning->from ? -INFINITY : beginning->time, stdout, "warning: ");
  outputs_warn_plan(outputs, beginning->time, estimate->snapshot, 0, stdout, "warning: ");
  stars_warn(params, estimate->particles, stdout, "warning: ");
  if (estimate->disk_free < 1.1 * (estimate->snapshot * estimate->snapshots + estimate->checkpoint * estimate->added))
    printf("warning: the disk has too little room for all snapshots that are %s, and for checkpoints\n",
           beginning->from ? "still to be written" : "planned");
  if (estimate->disk_free < 1.1 * (estimate->snapshot + estimate->checkpoint))
    fault_set(fault, "OutputDir = %s: %s are free in %s, too little for one snapshot and one checkpoint: %s",
              params->OutputDir, outputs_bytes(estimate->disk_free, disk_free), estimate->where,
              outputs_bytes(estimate->snapshot + estimate->checkpoint, one));
  if (!fault->text[0])
    placement_check(places, comm->size, need_total(&need) - estimate->need.baseline, estimate->device, fault);
  if (beginning->from || fault->text[0]) assess_print_memory(&estimate->need, 0, 0);
  fflush(stdout);
}

/* Check the initial conditions and OutputDir. Rank 0. 0 or -1. */
static int inspect_start(const struct params *par, const struct run_options *options, struct initial_facts *facts,
                         struct beginning *beginning, struct fault *fault)
{
  if (initial_inspect(par->InitCondFile, par->ICFormat, facts, fault) ||
      initial_check_units(par->InitCondFile, facts, par, fault) || logs_check(par, options->overwrite, fault))
    return -1;
  if (par->Comoving) initial_take_cosmology(facts);
  beginning->facts = facts;
  beginning->time = facts->own ? facts->time : par->TimeBegin;
  for (int t = 0; t < PARTICLE_TYPES; t++) beginning->particles += (double)facts->count[t];
  return check_times(par, beginning->time, fault);
}

/* Check that the external field can be made, from the files of before. 0 or -1. */
static int check_files(const struct params *params, const struct checkpoint *checkpoint, double time,
                       struct fault *fault)
{
  struct external_file file[EXTERNAL_FILES];
  int count = effects_files_of(params, time, file, fault);
  return count < 0 || files_changed(checkpoint->text, file, count, time, fault) ? -1 : 0;
}

/* Verify the checkpoint and what else a restart needs; *par gets the values that the run has found. Collective. 0, -1
 * on a fault, or 1 where nothing is left to do. */
static int inspect_restart(const struct comm *comm, struct params *par, const struct run_options *options,
                           struct checkpoint *checkpoint, struct state_facts *state, struct beginning *beginning,
                           struct fault *fault)
{
  if (continuation_has_finished(comm, par, options)) return 1;
  if (checkpoint_find(comm, par, options->from, checkpoint, fault)) return -1;
  if (comm->rank == 0) recall_check(options->origin, checkpoint->path, checkpoint->text, fault);
  if (comm_verdict(comm, fault)) return -1;
  const struct params asked = *par;
  params_adopt_found(checkpoint->text, par);
  if (params_changed(checkpoint->text, par, comm->rank == 0, fault) == 0 && params_check_found(&asked, par, fault) == 0)
    state_inspect(checkpoint, state, fault);
  if (comm_agree(comm, fault) || checkpoint_check(comm, checkpoint, fault)) return -1;
  beginning->from = checkpoint;
  beginning->options = options;
  beginning->state = state;
  beginning->time = state->time;
  beginning->particles = (double)checkpoint->particles;
  if (!(state->time < par->TimeMax)) {
    if (comm->rank == 0) print_nothing_left(checkpoint->path, state->time, par);
    return 1;
  }
  check_steps(options->steps, state->step + 1, checkpoint->path, fault);
  if (comm->rank == 0 && !fault->text[0]) check_files(par, checkpoint, state->time, fault);
  int others = checkpoint->own_folder && !checkpoint->own_output; /* another run's checkpoint: new tables are begun */
  if (comm->rank == 0 && !fault->text[0] && others) logs_check_results(par, options->overwrite, fault);
  if (comm->rank == 0 && !fault->text[0])
    checkpoint->own_folder ? logs_check_resume(par, fault) : logs_check(par, options->overwrite, fault);
  return comm_verdict(comm, fault);
}

/* What an open check has found out, beside struct beginning. */
struct inspection {
  const struct comm *c;
  const struct params *par;
  const struct run_options *options;
  const struct backend *be;
  struct place *places;
  double baseline; /* largest resident set of a rank before it has particles */
};

/* The report on files and machine by rank 0, then (at a start) the check of the system itself. Collective. 0 or -1. */
static int inspect(const struct inspection *inspection, const struct beginning *beginning, struct outputs *outputs,
                   struct fault *fault)
{
  struct estimate e = {0};
  double target = 0, host = 0;
  if (inspection->c->rank == 0 && outputs_open(outputs, inspection->par, fault) == 0) {
    e = estimate(inspection->c, inspection->par, beginning, inspection->be, outputs, inspection->baseline);
    report(inspection->c, inspection->par, inspection->options, beginning, inspection->be, inspection->places, outputs,
           &e, fault);
    target = outputs_next(outputs, beginning->time);
  }
  if (comm_verdict(inspection->c, fault) || inspection->options->restart) return fault->text[0] ? -1 : 0;
  comm_broadcast(inspection->c, &e.need, sizeof e.need);
  if (assess_check(inspection->c, inspection->par, inspection->options, &e.need, target, &host, fault)) return -1;
  if (inspection->c->rank == 0)
    placement_check(inspection->places, inspection->c->size, host - inspection->baseline, e.device, fault);
  return comm_verdict(inspection->c, fault);
}

int check(const struct comm *comm, const struct params *given, const struct run_options *options)
{
  struct params found = *given, *par = &found; /* with what the run has chosen, at a restart */
  struct fault f = {""}, device = {""};
  struct initial_facts facts;
  struct checkpoint from = {.text = NULL};
  struct state_facts state;
  struct outputs outputs = {0};
  struct beginning b = {0};
  watchdog_start(par->WatchdogMinutes);
  struct inspection i = {.c = comm, .par = par, .options = options, .baseline = resident_now()};
  comm_max_double(comm, &i.baseline, 1);
  int done = options->restart ? inspect_restart(comm, par, options, &from, &state, &b, &f) : 0;
  if (sim_choose_backend(comm, par, &i.be, &device) == 0) transport_check(i.be, comm->size, par->Transport, &device);
  i.places = placement_gather(comm, i.be ? i.be : &backend_cpu);
  /* faults of files are reported before those of the machine and the number of ranks */
  if (comm->rank == 0 && !done && !options->restart) inspect_start(par, options, &facts, &b, &f);
  if (comm->rank == 0 && !done && !f.text[0] && device.text[0]) fault_set(&f, "%s", device.text);
  comm_verdict(comm, &f);
  comm_broadcast(comm, &done, sizeof done);
  if (!done && !f.text[0]) inspect(&i, &b, &outputs, &f);
  outputs_close(&outputs);
  comm_print_fault(comm, "error", &f);
  memory_free(i.places);
  checkpoint_close(&from);
  watchdog_stop();
  return comm_verdict(comm, &f) ? 1 : 0;
}
