/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "run/check.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/folders.h"
#include "base/memory.h"
#include "base/resident.h"
#include "base/watchdog.h"
#include "check/need.h"
#include "check/placement.h"
#include "checkpoint/manifest.h"
#include "checkpoint/params_changed.h"
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
#include "step/expansion.h"

/* Bytes of a rank in a checkpoint beside its particles. */
enum { CHECKPOINT_OWN = 8192 };

/* Free bytes on the disk where `path` is or would be made; 0: unknown. `where`: its nearest existing folder. */
static double free_bytes(const char *path, char *where, size_t size)
{
  double room = folder_nearest(path, where, size) ? -1 : folder_room(where);
  return room > 0 ? room : 0;
}

/* Format a number of bytes with a decimal prefix. Returns `text`. */
static const char *size(double bytes, char text[16])
{
  static const char *const names[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  int k = 0;
  for (; k < 5 && bytes >= 1000; k++) bytes /= 1000;
  snprintf(text, 16, "%.3g %s", bytes, names[k]);
  return text;
}

/* What the run needs, and the free disk space. */
struct estimate {
  double particles, begin;
  struct need_input need;          /* from which the memory of a rank on its host is estimated */
  double device;                   /* bytes per rank on its device */
  double snapshot, snapshots;      /* bytes of a snapshot; number of snapshots */
  double checkpoint, checkpoints;  /* the same of checkpoints; while one is written there is one more than are kept */
  double added;                    /* checkpoints beyond those that exist */
  char where[PARAM_TEXT];          /* the nearest existing folder of OutputDir */
  double room;                     /* free bytes of its disk */
};

/* What the run starts or continues from. */
struct beginning {
  double particles, time;
  const struct initial_facts *facts;     /* initial conditions; NULL: a checkpoint, which the rest describes */
  const struct checkpoint *from;
  const struct state_facts *state;
  const struct run_options *options;
};

/* Number of snapshots after time `t`, including the last. */
static double count_outputs(const struct outputs *o, double t)
{
  enum { LIMIT = 1000000 };
  double count = 0;
  for (; t < o->end && count < LIMIT; count++) t = outputs_next(o, t);
  return count;
}

/* Number of planned snapshots: for a start including the first one, for a restart those still to be written. */
static double count_snapshots(const struct params *p, const struct outputs *o, const struct beginning *b)
{
  if (!b->from) return 1 + count_outputs(o, b->time);
  const struct plan *plan = &b->state->run.plan;
  double t = expansion_end_of(p, b->time, plan);   /* end of the soft step under way */
  return (plan->at_target || t >= o->end || b->state->run.pending) + count_outputs(o, t);
}

static struct estimate estimate(const struct comm *c, const struct params *p, const struct beginning *b, const struct backend *be,
                                const struct outputs *o, double baseline)
{
  struct estimate e = {.particles = b->particles, .begin = b->time};
  double mine = e.particles / c->size, bytes = (double)particle_bytes();
  e.need = (struct need_input){mine, c->size, params_mode(p) != MODE_TREE, be->particle_bytes > 0, bytes, baseline};
  e.device = mine * (be->particle_bytes + (params_mode(p) != MODE_TREE ? be->split_bytes : 0));
  e.snapshot = snapshot_bytes(e.particles, SNAPSHOT_RUN);
  e.snapshots = count_snapshots(p, o, b);
  e.checkpoint = e.particles * bytes + CHECKPOINT_OWN * c->size;
  e.checkpoints = p->CheckpointsKept + 1;
  e.added = fmax(1, e.checkpoints - (b->from && b->from->own_folder ? checkpoint_count(p) : 0));
  e.room = free_bytes(p->OutputDir, e.where, sizeof e.where);
  return e;
}

/* The units in which the input is read. */
static void report_units(const struct params *p)
{
  struct units u = units_of(p);
  if (units_physical(p))
    printf("units               length %.4g kpc, mass %.3g solar masses, velocity %.4g km/s, time %.4g Gyr\n", u.length_cm / KPC_CM,
           u.mass_g / SOLAR_MASS_G, u.velocity_cm_s / 1e5, units_time_s(&u) / GYR_S);
  else
    printf("units               model units: G = %.7g is given, and the units in cm, g and cm/s have no meaning\n", p->GravityConstantInternal);
  units_warn(p, stdout, "warning: ");
}

static void report_initial(const struct params *p, const struct initial_facts *facts, const struct estimate *e)
{
  printf("initial conditions  %s (%s), %.0f particle%s", p->InitCondFile, facts->format, e->particles, plural(e->particles));
  for (int t = 0; t < PARTICLE_TYPES; t++)
    if (facts->count[t]) printf(", type %d: %lld", t, (long long)facts->count[t]);
  putchar('\n');
  report_units(p);
  printf("                    %s\n", facts->units.dimensionless ? "the file is dimensionless"
                                      : facts->has_units         ? "stated by the file, as in the parameters"
                                                                 : "not stated by the file; those of the parameters are used");
  if (!facts->own && facts->has_time) printf("time in the file    %g, which is not used: the run starts at TimeBegin\n", facts->time);
}

static void report_checkpoint(const struct comm *c, const struct params *p, const struct beginning *b)
{
  const struct checkpoint *k = b->from;
  size_t length = 0;
  const char *backend = manifest_value(k->text, NULL, "backend", &length);
  printf("checkpoint          %s, complete: %.0f particle%s on %lld rank%s, backend %.*s\n", k->path, b->particles, plural(b->particles),
         k->ranks, plural((double)k->ranks), (int)length, backend ? backend : "");
  printf("continues           within soft step %lld, which began at time %g\n", b->state->step + 1, b->time);
  if (k->ranks != c->size)
    printf("                    on %lld rank%s results are bitwise identical; on %d as accurate, but not identical\n", k->ranks,
           plural((double)k->ranks), c->size);
  if (k->own_folder && k->own_output) continuation_report(p, "                    ", b->state->step + 1, b->time);
  else
    printf("                    new tables are begun: the checkpoint is from another %s\n", k->own_folder ? "run" : "folder");
}

/* The existing snapshots that a restart would move away. */
static void report_discards(const struct params *p, const struct beginning *b, const struct outputs *o)
{
  if (!b->from->own_folder || !b->from->own_output || b->options->no_output) return;
  const struct continuation g = {p, b->options, o, b->from, &b->state->run, b->state->step, b->time};
  int count = continuation_discard(&g, 1);
  if (count)
    printf("discards            %d snapshot%s written after the checkpoint and not to be written again: %s would be moved to "
           "%s/discarded\n", count, plural(count), count == 1 ? "it" : "they", p->OutputDir);
  else
    printf("discards            no snapshot\n");
}

/* Format a time as in "0.5 (0.489 Gyr)", in comoving coordinates "0.5 (z = 1)". Returns `text`. */
static const char *physical_time(const struct params *p, double time, char text[64])
{
  struct units u = units_of(p);
  int at = snprintf(text, 64, "%g", time);
  if (p->Comoving) {
    snprintf(text + at, (size_t)(64 - at), " (z = %.4g)", 1 / time - 1);
    return text;
  }
  if (units_physical(p)) snprintf(text + at, (size_t)(64 - at), " (%.3g Gyr)", time * units_time_s(&u) / GYR_S);
  return text;
}

/* " (default)" where the parameter was not given. */
static const char *default_mark(const struct run_options *o, const char *name)
{
  return param_is_default(o->origin, name) ? " (default)" : "";
}

/* The softening, or those of the types where they differ. */
static const char *softening_text(const struct params *p, const struct run_options *o, char *text, size_t size)
{
  size_t at = 0;
  if (!params_softenings_differ(p)) {
    double one = params_softening(p, NULL);
    snprintf(text, size, "%g%s", one, one == p->Softening ? default_mark(o, "Softening") : "");
    return text;
  }
  for (int t = 0; t < PARTICLE_TYPES && at < size; t++)
    at += (size_t)snprintf(text + at, size - at, "%s%.3g", t ? ", " : "of types 0 to 5 ", params_softening_of(p, t));
  return text;
}

static void report_input(const struct comm *c, const struct params *p, const struct run_options *o, const struct beginning *b,
                         const struct estimate *e)
{
  char end[64];
  if (b->from) report_checkpoint(c, p, b), report_units(p);
  else report_initial(p, b->facts, e);
  if (p->Comoving)
    printf("expansion           Omega0 = %g, OmegaLambda = %g, HubbleParam = %g; comoving mean density %.6g; units have factors of 1/h\n", p->Omega0,
           p->OmegaLambda, p->HubbleParam, cosmology_mean_density(p));
  printf("gravity             G = %.9g%s\n", units_gravity(p), p->GravityConstantInternal > 0 ? "" : " (from the units)");
  char softening[96];
  printf("force               softening %s, %s criterion, %s cells\n", softening_text(p, o, softening, sizeof softening),
         params_choice("TypeOfOpeningCriterion", p->TypeOfOpeningCriterion),
         params_order(p) == 2 ? "quadrupole" : "monopole");
  physical_time(p, p->TimeMax, end);
  printf("accuracy            %s: |dE/E| of %g per dynamical time is wanted; Delta = %g\n", p->Accuracy, params_error(p), params_delta(p));
  if (b->from) printf("ends at             %s%s\n", end, default_mark(o, "TimeMax"));
  else printf("begins at           %g, ends at %s%s\n", e->begin, end, default_mark(o, "TimeMax"));
}

static void report_room(const struct estimate *e, int resumes)
{
  char one[16], all[16];
  if (e->device > 0) printf("device memory       about %s per rank\n", size(e->device, one));
  printf("a snapshot          %s; %.0f %s: %s\n", size(e->snapshot, one), e->snapshots,
         resumes ? "still to be written, including the last" : "are planned, including the first and the last",
         size(e->snapshot * e->snapshots, all));
  printf("a checkpoint        %s; %.0f %s kept, and one more while it is written: %s\n", size(e->checkpoint, one), e->checkpoints - 1,
         e->checkpoints > 2 ? "are" : "is", size(e->checkpoint * e->checkpoints, all));
  printf("disk                %s are free in %s\n", size(e->room, one), e->where);
}

/* Print the report, up to what needs the particles. Where the run cannot work this is a fault, where it may fail a warning. Rank 0. */
static void report(const struct comm *c, const struct params *p, const struct run_options *options, const struct beginning *b,
                   const struct backend *be, const struct place *places, const struct outputs *o, const struct estimate *e,
                   struct fault *f)
{
  char one[16], room[16];
  struct memory_need need = need_estimate(&e->need);
  const struct params known = params_of_run(p, e->particles, be->particle_bytes > 0);
  report_input(c, &known, options, b, e);
  if (b->from) report_discards(p, b, o);
  printf("ranks x threads     %d x %d, backend %s\n", c->size, omp_get_max_threads(), be->name);
  placement_print(places, c->size, stdout);
  report_room(e, b->from != NULL);
  placement_warn(places, c->size, stdout);
  if (b->facts) initial_warn(p->InitCondFile, b->facts, stdout, "warning: ");
  outputs_warn(o, b->from ? -INFINITY : b->time, stdout, "warning: ");
  if (e->room < 1.1 * (e->snapshot * e->snapshots + e->checkpoint * e->added))
    printf("warning: the disk has too little room for all snapshots that are %s, and for checkpoints\n",
           b->from ? "still to be written" : "planned");
  if (e->room < 1.1 * (e->snapshot + e->checkpoint))
    fault_set(f, "OutputDir = %s: %s are free in %s, too little for one snapshot and one checkpoint: %s", p->OutputDir, size(e->room, room),
              e->where, size(e->snapshot + e->checkpoint, one));
  if (!f->text[0]) placement_check(places, c->size, need_total(&need) - e->need.baseline, e->device, f);
  if (b->from || f->text[0]) assess_print_memory(&e->need, 0, 0);
  fflush(stdout);
}

/* Check the initial conditions and OutputDir. Rank 0. 0 or -1. */
static int inspect_start(const struct params *par, const struct run_options *o, struct initial_facts *facts, struct beginning *b,
                         struct fault *f)
{
  if (initial_inspect(par->InitCondFile, par->ICFormat, facts, f) || initial_check_units(par->InitCondFile, facts, par, f) ||
      logs_check(par, o->overwrite, f))
    return -1;
  if (par->Comoving) initial_take_cosmology(facts);
  b->facts = facts;
  b->time = facts->own ? facts->time : par->TimeBegin;
  for (int t = 0; t < PARTICLE_TYPES; t++) b->particles += (double)facts->count[t];
  return check_times(par, b->time, f);
}

/* Verify the checkpoint and what else a restart needs; *par gets the values that the run has found. Collective. 0, -1 on a fault, or 1 where nothing is left to do. */
static int inspect_restart(const struct comm *c, struct params *par, const struct run_options *o, struct checkpoint *k,
                           struct state_facts *state, struct beginning *b, struct fault *f)
{
  if (continuation_has_finished(c, par, o)) return 1;
  if (checkpoint_find(c, par, o->from, k, f)) return -1;
  const struct params asked = *par;
  params_adopt_found(k->text, par);
  if (params_changed(k->text, par, c->rank == 0, f) == 0 && params_check_found(&asked, par, f) == 0) state_inspect(k, state, f);
  if (comm_agree(c, f) || checkpoint_check(c, k, f)) return -1;
  b->from = k;
  b->options = o;
  b->state = state;
  b->time = state->time;
  b->particles = (double)k->particles;
  if (!(state->time < par->TimeMax)) {
    if (c->rank == 0) print_nothing_left(k->path, state->time, par);
    return 1;
  }
  check_steps(o->steps, state->step + 1, k->path, f);
  int others = k->own_folder && !k->own_output;   /* another run's checkpoint: new tables are begun */
  if (c->rank == 0 && !f->text[0] && others) logs_check_results(par, o->overwrite, f);
  if (c->rank == 0 && !f->text[0]) k->own_folder ? logs_check_resume(par, f) : logs_check(par, o->overwrite, f);
  return comm_verdict(c, f);
}

/* What an open check has found out, beside struct beginning. */
struct inspection {
  const struct comm *c;
  const struct params *par;
  const struct run_options *options;
  const struct backend *be;
  struct place *places;
  double baseline;               /* largest resident set of a rank before it has particles */
};

/* The report on files and machine by rank 0, then (at a start) the check of the system itself. Collective. 0 or -1. */
static int inspect(const struct inspection *i, const struct beginning *b, struct outputs *outputs, struct fault *f)
{
  struct estimate e = {0};
  double target = 0, host = 0;
  if (i->c->rank == 0 && outputs_open(outputs, i->par, f) == 0) {
    e = estimate(i->c, i->par, b, i->be, outputs, i->baseline);
    report(i->c, i->par, i->options, b, i->be, i->places, outputs, &e, f);
    target = outputs_next(outputs, b->time);
  }
  if (comm_verdict(i->c, f) || i->options->restart) return f->text[0] ? -1 : 0;
  comm_broadcast(i->c, &e.need, sizeof e.need);
  if (assess_check(i->c, i->par, i->options, &e.need, target, &host, f)) return -1;
  if (i->c->rank == 0) placement_check(i->places, i->c->size, host - i->baseline, e.device, f);
  return comm_verdict(i->c, f);
}

int check(const struct comm *c, const struct params *given, const struct run_options *o)
{
  struct params found = *given, *par = &found;   /* with what the run has chosen, at a restart */
  struct fault f = {""}, device = {""};
  struct initial_facts facts;
  struct checkpoint from = {.text = NULL};
  struct state_facts state;
  struct outputs outputs = {0};
  struct beginning b = {0};
  watchdog_start(par->WatchdogMinutes);
  struct inspection i = {.c = c, .par = par, .options = o, .baseline = resident_now()};
  comm_max_double(c, &i.baseline, 1);
  int done = o->restart ? inspect_restart(c, par, o, &from, &state, &b, &f) : 0;
  if (sim_choose_backend(c, par, &i.be, &device) == 0) transport_check(i.be, c->size, par->Transport, &device);
  i.places = placement_gather(c, i.be ? i.be : &backend_cpu);
  /* faults of files are reported before those of the machine and the number of ranks */
  if (c->rank == 0 && !done && !o->restart) inspect_start(par, o, &facts, &b, &f);
  if (c->rank == 0 && !done && !f.text[0] && device.text[0]) fault_set(&f, "%s", device.text);
  comm_verdict(c, &f);
  comm_broadcast(c, &done, sizeof done);
  if (!done && !f.text[0]) inspect(&i, &b, &outputs, &f);
  outputs_close(&outputs);
  comm_print_fault(c, "error", &f);
  memory_free(i.places);
  checkpoint_close(&from);
  watchdog_stop();
  return comm_verdict(c, &f) ? 1 : 0;
}
