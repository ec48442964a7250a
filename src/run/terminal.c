/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "run/terminal.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/debug.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/resident.h"
#include "base/lines.h"
#include "params/params_units.h"
#include "run/run_parts.h"
#include "step/energies.h"
#include "scheme/neighbour_lists.h"
#include "scheme/schemes.h"
#include "settings/settings.h"

/* The hybrid scheme is faster than others only where a hard force takes less than this part of the time of a full
 * force. */
#define H_WARNING 0.3
#define REPORT_TERMINAL 1.0 /* seconds between lines about a soft step under way: on a terminal, */
#define REPORT_LOG 60.0     /* and in a log */
#define RENEWAL 0.2         /* seconds between renewals of the line on a terminal, at least */
#define LOG_FRACTION 0.05   /* part of the run between lines of a log, unless these are REPORT_LOG apart */
enum { H_STEPS = 20 };      /* soft steps over which h is averaged */
/* Spacing of the lattice, in units of the softening (with neighbour lists: of R1), above which positions are too
 * coarse. */
#define LATTICE_WARNING 1e-3
#define PAIRS_PART 0.1      /* of the energy within pairs in that of centres of mass, from which on it is printed */
#define SOFT_STEP_WARNING 2 /* given soft step, in units of the one that the rule chooses */
/* width of the memory list; progress lines between two header lines */
enum { SUMMARY_COLUMNS = 100, HEADER_LINES = 20 };

/* --- where the output goes --------------------------------------------------------------------------------------- */

/* Whether the standard output of the process that started this one is a terminal. */
static int parent_has_terminal(void)
{
  char link[64], target[64] = "";
  snprintf(link, sizeof link, "/proc/%ld/fd/1", (long)getppid());
  ssize_t n = readlink(link, target, sizeof target - 1);
  return n > 0 && (strncmp(target, "/dev/pts/", 9) == 0 || strncmp(target, "/dev/tty", 8) == 0);
}

void terminal_open(struct run *run)
{
  struct logs *logs = &run->logs;
  if (run->options->quiet) logs->progress.lines = -1;
  logs->progress.verbose = run->options->verbose;
  /* Open MPI gives a rank a terminal of its own for standard output, also where mpirun writes to a file */
  logs->progress.renews =
      !logs->progress.verbose && isatty(STDOUT_FILENO) && (isatty(STDERR_FILENO) || parent_has_terminal());
  logs->progress.clock = timer_clock();
  logs->progress.step = run->sim.step;
  logs->progress.fraction = -1;
  logs->progress.error = -1;
}

void terminal_clear(struct logs *logs)
{
  if (!logs->progress.on_screen) return;
  fputs("\r\033[K", stdout);
  logs->progress.on_screen = 0;
}

/* Write the line that renews itself. The cursor stays at its beginning, so that a message on stderr replaces it. */
static void renew(struct logs *logs, const char *text)
{
  struct winsize size = {0};
  int columns = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : 80;
  printf("\r%.*s\033[K\r", columns - 1, text);
  fflush(stdout);
  logs->progress.on_screen = 1;
  logs->progress.due = timer_clock() + RENEWAL;
}

/* --- start ------------------------------------------------------------------------------------------------------- */

/* Name values that were given with units, and the parameters whose default rarely suits a system. */
static void note_defaults(const struct run *run)
{
  const struct param_origin *origin = run->options->origin;
  char text[300];
  if (params_integrator_chosen(run->sim.par, origin, text, sizeof text)) printf("chosen: %s\n", text);
  printf("units: %s%s%s\n", params_units_text(run->sim.par, text, sizeof text),
         origin && origin->units[0] ? ", those of " : "", origin ? origin->units : "");
  params_list_given(stdout, "given: ", run->sim.par, origin);
  if (param_is_default(origin, "Softening")) printf("note: Softening = %g (default)\n", run->sim.par->Softening);
  if (param_is_default(origin, "TimeMax")) printf("note: TimeMax = %g (default)\n", run->sim.par->TimeMax);
  if (param_is_default(origin, "TimeBetSnapshot") && !run->outputs.time && !run->options->no_output)
    printf("note: TimeBetSnapshot = 0 (default): snapshots are the first and the last one only\n");
}

/* Not after a restart with neighbour lists, whose potentials are found at the end of a soft step. `inner`: what pairs
 * have of it. */
static void print_energy(const struct sim *sim, const struct inner_energy *inner)
{
  double potential = sim->now.potential + sim->energy.total;
  if (sim->step > 0 && params_neighbour_lists(sim->par)) return;
  printf("energy %.9g (kinetic %.6g, potential %.6g)", energies_total(sim), sim->now.kinetic, potential);
  if (!effects_have(sim, EFFECT_COMOVING) && !effects_have(sim, EFFECT_IN_FIELD))
    printf(", virial ratio %.4g", potential != 0 ? -2 * sim->now.kinetic / potential : 0);
  putchar('\n');
  potential -= inner->potential;
  double within = inner->kinetic + inner->potential, outer = sim->now.kinetic - inner->kinetic + potential;
  if (!(potential < 1e-6 * inner->potential && fabs(within) > PAIRS_PART * fabs(outer))) return;
  printf("pairs: %.6g of the energy is within %.0f bound %s", within, inner->systems,
         inner->systems == 1 ? "pair or hierarchy" : "pairs or hierarchies");
  if (!effects_have(sim, EFFECT_IN_FIELD))
    printf("; with their centres of mass the virial ratio is %.4g",
           -2 * (sim->now.kinetic - inner->kinetic) / potential);
  putchar('\n');
}

void terminal_start(struct run *run)
{
  const struct sim *sim = &run->sim;
  struct inner_energy inner = {0, 0, 0};
  if (!run->soft_step_opened) kept_inner_energy(run, &inner);
  if (sim->comm->rank != 0) return;
  char massless[64] = "", begin[QUANTITY_TEXT], end[QUANTITY_TEXT];
  if (sim->now.massless > 0) snprintf(massless, sizeof massless, " (%.0f of them without mass)", sim->now.massless);
  printf("%.0f particle%s%s on %d rank%s x %d thread%s, backend %s; %s from time %s to %s\n", sim->now.count,
         plural(sim->now.count), massless, sim->comm->size, plural(sim->comm->size), omp_get_max_threads(),
         plural(omp_get_max_threads()), sim->be->name, sim->scheme->mode, params_time_text(sim->par, sim->time, begin),
         params_time_text(sim->par, sim->par->TimeMax, end));
  effects_describe(sim, stdout);
  if (run->soft_step_opened)
    printf("restart from %s (of %lld rank%s), within soft step %lld\n", run->from.path, run->from.ranks,
           plural((double)run->from.ranks), sim->step + 1);
  transport_describe(&sim->ranks.transport, stdout);
  settings_print_found(sim, stdout);
  settings_print_choice(sim, stdout);
  const struct split *split = scheme_split(sim);
  if (split) printf("split: R1 = %g, R2 = %g\n", split->r1, split->r2);
  if (sim->par->RebuildInterval > 0 && (split || params_shared(sim->par)))
    printf("note: RebuildInterval = %d has no effect %s\n", sim->par->RebuildInterval,
           split ? "while the split is on" : "with one step for all particles");
  note_defaults(run);
  if (sim->cost.tuning.tunes_width || sim->cost.tuning.tunes_rebuild)
    printf("tuning by measured times: results of two runs differ in the last bits ([Device] Tuning = frozen: they do "
           "not)\n");
  print_energy(sim, &inner);
  /* a launcher may kill ranks soon after Ctrl-C */
  if (sim->comm->size > 1 && !run->options->quiet && !run->options->no_output) {
    char file[PARAM_TEXT + 8], word[2 * PARAM_TEXT];
    snprintf(file, sizeof file, "%s/stop", sim->par->OutputDir);
    printf("to stop it with a checkpoint: touch %s\n", shell_text("", file, word, sizeof word));
  }
  fflush(stdout);
}

/* --- soft steps -------------------------------------------------------------------------------------------------- */

static const char *duration(double seconds, char *text, size_t size)
{
  if (!(seconds < 1e9)) seconds = 1e9;
  long long s = (long long)(seconds + 0.5);
  if (s < 3600) snprintf(text, size, "%lld:%02lld", s / 60, s % 60);
  else if (s < 86400) snprintf(text, size, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
  else snprintf(text, size, "%lldd %lldh", s / 86400, s / 3600 % 24);
  return text;
}

/* A row of numbers for developers. */
static void row(struct logs *logs, const struct sim *sim, const struct step_report *report, int energy)
{
  char eta[32], error[16] = "-";
  if (logs->progress.lines++ % HEADER_LINES == 0)
    printf("%7s %12s %10s %5s %8s %8s %6s %6s %9s %8s %9s\n", "step", "time", "dt_soft", "sub", "list", "hard",
           effects_have(sim, EFFECT_COMOVING) ? "z" : "h", "imbal", "|dE/E|", "s/step", "ETA");
  double elapsed = timer_clock() - logs->progress.started,
         done = (sim->time - logs->progress.begin) / (logs->progress.end - logs->progress.begin);
  if (energy) logs_error_text(logs_error(logs, energies_total(sim)), 2, error, sizeof error);
  printf("%7lld %12.6g %10.3e %5lld %8.1f %8.1f %6.3f %6.2f %9s %8.3f %9s\n", sim->step, sim->time, report->dt,
         (long long)sim->counts.substeps, report->list_full, report->list_hard,
         effects_have(sim, EFFECT_COMOVING) ? 1 / sim->time - 1 : report->h, report->imbalance, error, report->wall,
         duration(elapsed * (1 - done) / done, eta, sizeof eta));
  fflush(stdout);
}

/* "time 1.25 (31.2 %), 3.1 steps/s, |dE/E| 2.1e-05, 1:12 left" and *done, the part of the run. */
static void describe(const struct logs *logs, const struct sim *sim, double now, double *done, char *text, size_t size)
{
  char eta[32], error[16], relative[32] = "", redshift[32] = "";
  double elapsed = now - logs->progress.started, since = now - logs->progress.clock;
  *done = (sim->time - logs->progress.begin) / (logs->progress.end - logs->progress.begin);
  if (logs->progress.error >= 0)
    snprintf(relative, sizeof relative, ", |dE/E| %s", logs_error_text(logs->progress.error, 1, error, sizeof error));
  if (effects_have(sim, EFFECT_COMOVING)) snprintf(redshift, sizeof redshift, ", z %.3f", 1 / sim->time - 1);
  snprintf(text, size, "time %.6g of %.6g (%.1f %%)%s, step %lld, %.3g steps/s%s, %s left", sim->time,
           logs->progress.end, 100 * *done, redshift, sim->step,
           since > 0 ? (double)(sim->step - logs->progress.step) / since : 0, relative,
           *done > 0 ? duration(elapsed * (1 - *done) / *done, eta, sizeof eta) : "-");
}

/* After a soft step: renew the line on a terminal, or print one in a log where it is due. */
static void progress(struct logs *logs, const struct sim *sim, const struct step_report *report, int energy)
{
  char text[200];
  double now = timer_clock(), done;
  struct progress *p = &logs->progress;
  if (energy && logs->error.first != 0) p->error = logs_error(logs, energies_total(sim));
  if (logs->progress.lines < 0) return;
  if (logs->progress.verbose) {
    row(logs, sim, report, energy);
    return;
  }
  describe(logs, sim, now, &done, text, sizeof text);
  int same_part = p->fraction >= 0 && floor(done / LOG_FRACTION) <= floor(p->fraction / LOG_FRACTION);
  if (p->renews ? p->on_screen && now < p->due && done < 1 : same_part && now < p->clock + REPORT_LOG) return;
  if (p->renews) renew(logs, text);
  else printf("%s\n", text);
  fflush(stdout);
  p->fraction = done;
  p->clock = now;
  p->step = sim->step;
}

/* The part of the soft step that is done. */
static double fraction_done(const struct sim *sim) { return (double)sim->substeps.tick / TICKS; }

static double report_interval(int renews)
{
  double given = debug_value("report_seconds", -1);
  return given >= 0 ? given : renews ? REPORT_TERMINAL : REPORT_LOG;
}

void terminal_substeps_begin(const struct run *run, struct substeps_progress *progress)
{
  double now = timer_clock();
  int reports = run->sim.comm->rank == 0 && run->logs.progress.lines >= 0;
  *progress = (struct substeps_progress){reports ? now + report_interval(run->logs.progress.renews) : HUGE_VAL, now,
                                         fraction_done(&run->sim)};
}

void terminal_substeps(struct run *run, struct substeps_progress *progress)
{
  const struct sim *sim = &run->sim;
  char elapsed[32], left[32], text[200];
  double now = timer_clock(), done = fraction_done(sim), seconds = now - progress->began;
  snprintf(text, sizeof text,
           "  within soft step %lld: %lld block steps so far, level %d of at most %d, %.1f %% done in %s, %s left",
           sim->step + 1, (long long)sim->counts.substeps, timeline_aligned(sim->substeps.tick, 0),
           sim->counts.level_max, 100 * done, duration(seconds, elapsed, sizeof elapsed),
           duration(seconds * (1 - done) / (done - progress->begin), left, sizeof left));
  if (run->logs.progress.renews) renew(&run->logs, text + 2);
  else printf("%s\n", text);
  fflush(stdout);
  progress->due = now + report_interval(run->logs.progress.renews);
}

/* h, averaged over H_STEPS soft steps because clocks are noisy. Printed once. */
static void note_h(struct logs *logs, const struct sim *sim, const struct step_report *report)
{
  if (!sim->scheme->compares_walks || settings_have_choice(sim) || report->hard.targets == 0 ||
      logs->hard.steps == H_STEPS)
    return;
  logs->hard.h += report->h;
  logs->hard.lists += report->list_hard / report->list_full;
  if (++logs->hard.steps < H_STEPS || logs->hard.h <= H_WARNING * H_STEPS) return;
  terminal_clear(logs);
  printf("note: over %d steps a hard force took %.2f times as long as a full one (its interaction list is %.2f times "
         "as long);\n"
         "      the split pays best below %.1f; a smaller R1OverR0 makes hard forces cheaper and soft steps shorter\n",
         H_STEPS, logs->hard.h / H_STEPS, logs->hard.lists / H_STEPS, H_WARNING);
}

/* The energy error is so large that the run cannot be right, or is worthless for what was asked. */
static void warn_energy(struct logs *logs, const struct sim *sim)
{
  char text[32];
  if (logs->warned.energy || logs->promise.energy.untrusted == 0) return;
  terminal_clear(logs);
  printf("warning: at time %g the total energy is off by %s of its initial value: do not trust this run;\n"
         "         check the length of soft steps (xs, ys, SoftStep, MaxSizeTimestep), Eta, Softening and\n"
         "         ErrTolForceAcc\n",
         sim->time, logs_error_text(logs_error(logs, energies_total(sim)), 1, text, sizeof text));
  logs->warned.energy = 1;
}

/* The parameter SoftStep gives soft steps that are much longer than those of the rule. */
static void warn_soft_step(struct logs *logs, const struct sim *sim, double dt)
{
  double rule = plan_soft_step(sim->par, &sim->now, &sim->system, sim->force.split.r2);
  if (sim->system.field_step > 0) rule = fmin(rule, sim->system.field_step);
  if (logs->warned.soft_step || !scheme_split(sim) || sim->par->SoftStep == 0 || sim->par->EnergyError > 0 ||
      !(dt > SOFT_STEP_WARNING * rule))
    return;
  terminal_clear(logs);
  printf("warning: at time %g SoftStep gives soft steps of %.3g, and the rule (SoftStep = 0) would take %.3g:\n"
         "         soft forces may change too much within a step\n",
         sim->time, dt, rule);
  logs->warned.soft_step = 1;
}

/* Close pairs that the hard part from neighbour lists cannot integrate well. */
static void warn_close_pairs(struct logs *logs, const struct sim *sim, const struct step_report *report)
{
  char text[CLOSE_PAIRS_TEXT];
  struct list_request request = neighbour_lists_request(sim, report->dt);
  struct list_tally tally = report->lists;
  double origin[3], motion[3];
  effects_shift(sim, origin, motion);
  for (int c = 0; c < 3; c++) {
    tally.worst.pos[c] += origin[c];
    tally.triple.pos[c] += origin[c];
  }
  if (close_pairs_perturbed_text(&logs->close_pairs, &tally, sim->time, &request, text)) {
    terminal_clear(logs);
    printf("warning: %s\n", text);
  }
  if (report->lists.collapsed == 0 || logs->warned.collapse) return;
  close_pairs_collapse_text(&tally, sim->time, report->dt, text);
  terminal_clear(logs);
  printf("warning: %s;\n         the run ends with a checkpoint\n", text);
  logs->warned.collapse = 1;
}

void terminal_step(struct logs *logs, const struct sim *sim, const struct step_report *report, int energy)
{
  note_h(logs, sim, report);
  if (energy) warn_energy(logs, sim);
  warn_close_pairs(logs, sim, report);
  warn_soft_step(logs, sim, report->dt);
  if (report->outside && !logs->warned.outside) {
    terminal_clear(logs);
    printf("warning: %lld position%s outside the lattice and clamped to its boundary: a shorter soft step\n"
           "         (MaxSizeTimestep) avoids this\n",
           (long long)report->outside, report->outside == 1 ? " lay" : "s lay");
    logs->warned.outside = 1;
  }
  if (report->late && !logs->warned.late) {
    terminal_clear(logs);
    printf("warning: %lld particles exceeded the motion bound of LETs in a soft step before new LETs were selected "
           "(%lld times); a "
           "smaller xs or ys gives shorter soft steps\n",
           (long long)report->late, (long long)sim->counts.let_reselections);
    logs->warned.late = 1;
  }
  if (sim->counts.level_max >= LEVEL_MAX && sim->scheme->shortest_step_is_reported && !logs->warned.level) {
    terminal_clear(logs);
    printf("warning: some particles require steps shorter than the soft step / 2^%d, which is the shortest: is "
           "Softening too small?\n",
           LEVEL_MAX);
    logs->warned.level = 1;
  }
  struct resolved_length fine = sim->scheme->resolves(sim);
  if (fine.length > 0 && sim->now.count > 1 && sim->lattice.spacing > LATTICE_WARNING * fine.length &&
      !logs->warned.lattice) {
    terminal_clear(logs);
    printf("warning: the lattice that contains all particles has a spacing of %.2g, which is %.2g %s: forces lose "
           "accuracy; the "
           "system is too large for this %s, possibly because of a few distant particles\n",
           sim->lattice.spacing, sim->lattice.spacing / fine.length, fine.many, fine.one);
    logs->warned.lattice = 1;
  }
  progress(logs, sim, report, energy);
}

/* --- end --------------------------------------------------------------------------------------------------------- */

static void print_collisions(const struct sim *sim)
{
  const struct collisions_part *part = &sim->collisions;
  if (sim->par->Action == COLLISIONS_OFF) return;
  printf("collisions: %lld, %lld of them mergers; energy_lost is %g\n", part->count, part->merged, part->lost);
}

/* The command of this run with another option, --restart or --overwrite. */
static void print_command(const struct run *run, const char *option, FILE *out)
{
  const struct param_origin *origin = run->options->origin;
  char folder[PARAM_TEXT + 64], word[PARAM_TEXT + 192];
  if (run->sim.comm->size > 1) fprintf(out, "mpirun -n %d ", run->sim.comm->size);
  fprintf(out, "espalier run %s", option);
  for (int k = 0; origin && k < param_count; k++) {
    const struct param_entry *e = &param_table[k];
    if (origin->line[k] != ORIGIN_OPTION) continue;
    int moves = strcmp(e->name, "OutputDir") == 0 || strcmp(e->name, "CheckpointDir") == 0;
    if (moves) params_format(run->sim.par, e, folder, sizeof folder);
    snprintf(word, sizeof word, "%s:%s=%s", e->section, e->name, moves ? folder : origin->option[k]);
    fputs(" -P ", out);
    shell_word(out, word);
  }
  putc(' ', out);
  shell_word(out, origin && origin->file ? origin->file : "FILE.ini");
  putc('\n', out);
}

void terminal_saved(struct run *run)
{
  const char *checkpoint = run->status.checkpoint;
  char *text = NULL, *command = NULL, when[32] = "";
  size_t size;
  time_t now = time(NULL);
  struct tm local;
  if (run->sim.comm->rank != 0) return;
  FILE *out = open_memstream(&command, &size);
  if (!out) return;
  print_command(run, checkpoint[0] ? "--restart" : "--overwrite", out);
  fclose(out);
  command[strcspn(command, "\n")] = 0;
  snprintf(run->status.continuation, sizeof run->status.continuation, "%s%s%s; %s: %.3000s",
           checkpoint[0] ? "the last checkpoint is " : "nothing is saved", checkpoint,
           run->options->no_output ? " (--no-output)" : "", checkpoint[0] ? "continue with" : "start again with",
           command);
  out = run->options->no_output ? NULL : open_memstream(&text, &size);
  if (out) {
    strftime(when, sizeof when, "%H:%M:%S", localtime_r(&now, &local));
    fputs("\nespalier: SIGTERM: the run writes a checkpoint and stops; if it is killed before, ", out);
    if (checkpoint[0]) fprintf(out, "%s, as of %s, is saved", checkpoint, when);
    else fputs("nothing is saved yet", out);
    fprintf(out, "\nnext: %s\n", command);
    fclose(out);
    control_saved(&run->control, text);
  }
  free(text);
  free(command);
}

/* Where the files are, and what to do next. */
static void print_files(const struct run *run, int continues)
{
  const struct params *par = run->sim.par;
  char base[2 * PARAM_TEXT + 8];
  int count = run->state.snapshots - run->state.pending, lost = run->state.missing.count - run->state.pending;
  if (run->options->no_output || count - lost < 1)
    printf("snapshots: none%s\n", run->options->no_output ? " (--no-output)" : "");
  else {
    printf("snapshots: %s/%s_000.hdf5", par->OutputDir, par->SnapshotFileBase);
    if (count > 1) printf(" to _%03d.hdf5", count - 1);
    if (lost > 0) printf(", %d of them missing", lost);
    putchar('\n');
  }
  printf("tables: %s/energy.csv, steps.csv%s and others (doc/file-formats.md)\n", par->OutputDir,
         run->logs.files.analysis ? ", analysis.csv" : "");
  fputs("next: ", stdout);
  if (continues) {
    print_command(run, "--restart", stdout);
    return;
  }
  int drawn = count - lost > 1 && !run->options->no_output;
  if (drawn) {
    snprintf(base, sizeof base, "%s/%s_", par->OutputDir, par->SnapshotFileBase);
    fputs("espalier-plot density ", stdout);
    shell_word(stdout, base);
    fputs("???.hdf5; ", stdout);
  }
  printf("espalier-plot %s ", drawn && params_neighbour_lists(par) ? "cluster" : "energy");
  shell_word(stdout, par->OutputDir);
  putchar('\n');
}

/* What was measured, for developers: memory by purpose, milliseconds by part, tuning, costs. */
static void print_measured(const struct run *run, const double memory[3])
{
  double local = (double)run->sim.be->count(run->sim.dev);
  printf("memory: at most %.4g MB per rank (resident set %.4g MB with %.3g MB of program and libraries);\n  on rank 0 "
         "%.1f bytes per particle at the "
         "peak:\n",
         memory[0] / 1e6, memory[1] / 1e6, memory[2] / 1e6, local > 0 ? (double)memory_peak() / local : 0);
  if (local > 0) memory_report(stdout, local, "  ", SUMMARY_COLUMNS);
  substep_log_sum_up(&run->sim.cost.log, run->sim.comm->size, stdout);
  tuning_sum_up(&run->sim.cost.tuning, stdout);
  settings_print_costs(&run->sim, stdout);
}

void terminal_end(struct run *run)
{
  char text[32], error[32], when[QUANTITY_TEXT];
  double seconds = timer_clock() - run->logs.progress.started,
         memory[3] = {(double)memory_peak(), resident_peak(), resident_files()};
  struct inner_energy inner = {0, 0, 0};
  comm_max_double(run->sim.comm, memory, 3);
  if (!run->interrupted) kept_inner_energy(run, &inner); /* within a soft step velocities are not those of positions */
  terminal_clear(&run->logs);
  if (run->options->verbose) traffic_sum_up(&run->logs.traffic, run->sim.comm);
  if (run->sim.comm->rank != 0) return;
  snprintf(text, sizeof text, "%.1f s", seconds);
  if (run->options->verbose) print_measured(run, memory);
  int worthless = run->lost[0] || run->collapsed;
  const char *then = run->options->no_output ? ", without a checkpoint (--no-output)"
                     : worthless             ? ""
                                             : ": continue with --restart";
  if (run->interrupted && run->sim.substeps.paused > 0)
    printf("interrupted (%s) within soft step %lld, of which %.1f %% are done%s\n", control_reason(&run->control),
           run->sim.step + 1, 100.0 * run->sim.substeps.paused / TICKS, then);
  else if (run->interrupted)
    printf("interrupted (%s) within soft step %lld%s\n", control_reason(&run->control), run->sim.step + 1, then);
  else if (run->sim.time < run->sim.par->TimeMax)
    printf("stopped by -n or --substeps before TimeMax = %g\n", run->sim.par->TimeMax);
  printf("%s: time %s after %lld soft step%s in %s; largest |dE/E| %s\n", run->interrupted ? "interrupted" : "done",
         params_time_text(run->sim.par, run->sim.time, when), run->sim.step, plural((double)run->sim.step), text,
         logs_error_text(logs_worst(&run->logs), 3, error, sizeof error));
  kept_print(run, &inner);
  print_collisions(&run->sim);
  print_files(run, run->interrupted && !run->options->no_output && !worthless);
}
