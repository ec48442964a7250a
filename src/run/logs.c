/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "run/logs.h"

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/analysis.h"
#include "analysis/binaries.h"
#include "analysis/cluster.h"
#include "analysis/projection.h"
#include "base/files.h"
#include "base/folders.h"
#include "base/lines.h"
#include "base/revision.h"
#include "base/memory.h"
#include "base/resumed.h"
#include "checkpoint/checkpoint.h"
#include "gravity/units.h"
#include "io/input/initial.h"
#include "io/snapshot/snapshot.h"
#include "job/status.h"
#include "particles/timeline.h"
#include "run/step_columns.h"
#include "settings/settings.h"
#include "step/energies.h"
#include "scheme/collisions_table.h"
#include "scheme/schemes.h"

/* --- files ------------------------------------------------------------------------------------------------------- */

#define USED_PARAMETERS "parameters-used.ini"
static const char *const table_names[LOGS_TABLES] = {"energy.csv",   "steps.csv",  "timers.csv",     TRAFFIC_TABLE,
                                                     SUBSTEP_TABLE,  TUNER_TABLE,  "choice.csv",     "analysis.csv",
                                                     "binaries.csv", "events.csv", COLLISIONS_TABLE, "cluster.csv"};

static void table_path(const struct params *params, const char *name, char path[PARAM_TEXT + 64])
{
  snprintf(path, PARAM_TEXT + 64, "%s/%s", params->OutputDir, name);
}

enum { OTHERS = 1000 };

/* The first of FOLDER-2, FOLDER-3, ... that is free. */
static void other_folder(const char *folder, char name[PARAM_TEXT + 8])
{
  int length = (int)strlen(folder);
  while (length > 1 && folder[length - 1] == '/') length--;
  for (int k = 2; k < OTHERS; k++) {
    snprintf(name, PARAM_TEXT + 8, "%.*s-%d", length, folder, k);
    if (access(name, F_OK)) return;
  }
}

/* A fault: `path` is of an earlier run. It says what is there, how to keep it, and what --overwrite would do. */
static int refuse_results(const struct params *params, const char *path, struct fault *fault)
{
  char checkpoint[CHECKPOINT_PATH], what[96] = "", other[PARAM_TEXT + 8] = "NAME", word[2 * PARAM_TEXT],
                                    maps[PARAM_TEXT + 64];
  struct snapshot_names found;
  snapshot_list(params->OutputDir, params->SnapshotFileBase, &found);
  int checkpoints = checkpoint_exists(params, checkpoint) ? checkpoint_count(params) : 0;
  size_t at = 0;
  if (found.count > 0)
    at += (size_t)snprintf(what, sizeof what, "%zu snapshot%s, ", (size_t)found.count, plural((double)found.count));
  if (checkpoints > 0)
    at += (size_t)snprintf(what + at, sizeof what - at, "%d checkpoint%s, ", checkpoints, plural(checkpoints));
  table_path(params, PROJECTION_FOLDER, maps);
  snprintf(what + at, sizeof what - at, projection_exists(maps) ? "tables, maps" : "tables");
  snapshot_names_free(&found);
  other_folder(params->OutputDir, other);
  fault_set(fault,
            "%s exists: it is of an earlier run (%s); %stake another folder, as with -P %s; --overwrite would delete "
            "what is there",
            path, what, checkpoints > 0 ? "continue that run with --restart, or " : "",
            shell_text("Output:OutputDir=", other, word, sizeof word));
  return -1;
}

/* A fault where snapshots or maps of an earlier run exist, or where --overwrite would remove the input. */
static void check_snapshots(const struct params *params, int overwrite, struct fault *fault)
{
  struct snapshot_names found;
  snapshot_list(params->OutputDir, params->SnapshotFileBase, &found);
  long long input =
      initial_holds_one(params->InitCondFile, params->ICFormat, (const char *const *)found.path, found.count);
  if (input >= 0)
    fault_set(fault,
              "%s is the run's input and has the name of an output: choose another OutputDir or SnapshotFileBase",
              found.path[input]);
  else if (!overwrite && found.count > 0) refuse_results(params, found.path[0], fault);
  snapshot_names_free(&found);
  char maps[PARAM_TEXT + 64];
  table_path(params, PROJECTION_FOLDER, maps);
  if (!overwrite && projection_exists(maps)) refuse_results(params, maps, fault);
}

int logs_check_results(const struct params *params, int overwrite, struct fault *fault)
{
  char pattern[PARAM_TEXT + 64];
  for (int k = 0; !overwrite && k <= LOGS_TABLES; k++) {
    snprintf(pattern, sizeof pattern, "%s/%s", params->OutputDir, k < LOGS_TABLES ? table_names[k] : USED_PARAMETERS);
    if (access(pattern, F_OK) == 0) return refuse_results(params, pattern, fault);
  }
  check_snapshots(params, overwrite, fault);
  return fault->text[0] ? -1 : 0;
}

/* A fault where the folder has results or checkpoints of an earlier run, or where the initial conditions would be
 * replaced. */
static int check_folder(const struct params *params, int overwrite, struct fault *fault)
{
  char checkpoint[CHECKPOINT_PATH];
  if (checkpoint_check_others(params, fault)) return -1;
  if (!overwrite && checkpoint_exists(params, checkpoint)) return refuse_results(params, checkpoint, fault);
  return logs_check_results(params, overwrite, fault);
}

/* The comment lines with which every table begins. */
static void write_description(FILE *out, const struct sim *sim)
{
  fprintf(out, "# espalier %s (%s), %d rank%s x %d thread%s, backend %s\n", PACKAGE_VERSION, revision, sim->comm->size,
          plural(sim->comm->size), omp_get_max_threads(), plural(omp_get_max_threads()), sim->be->name);
  units_describe(sim->par, out);
}

/* Remove the table of an earlier run. */
static void remove_table(const struct params *params, const char *name, struct fault *fault)
{
  char path[PARAM_TEXT + 64];
  table_path(params, name, path);
  if (unlink(path) && errno != ENOENT) fault_set(fault, "cannot remove %s: %s", path, strerror(errno));
}

static void steps_header(FILE *out)
{
  const char *between = "";
#define X(name, format, value) fprintf(out, "%s" #name, between), between = ",";
  STEP_COLUMNS(X)
#undef X
  for (int k = 0; k < LEVELS_LOGGED; k++) fprintf(out, ",level_%d", k);
  fputc('\n', out);
}

static void timers_header(FILE *out)
{
  fprintf(out, "# seconds of the slowest rank\nstep,time");
  for (int p = 0; p < PHASE_COUNT; p++) fprintf(out, ",%s", phase_names[p]);
  fputc('\n', out);
}

/* A table: whether the parameters enable it, and its file. */
struct table {
  int enabled;
  FILE **file;
  void (*header)(FILE *out);
};

static double particles_of(const struct sim *sim) { return sim->masses.count + sim->masses.massless; }

/* All tables, in the order of table_names. */
static void list_tables(struct logs *logs, const struct sim *sim, struct table table[LOGS_TABLES])
{
  const struct table all[LOGS_TABLES] = {
      {1, &logs->files.energy, diagnostics_header},
      {1, &logs->files.steps, steps_header},
      {1, &logs->files.timers, timers_header},
      {logs->traffic.table, &logs->traffic.out, traffic_header},
      {sim->cost.log.table, &logs->files.substeps, substep_log_header},
      {sim->cost.tuning.log, &logs->files.tuner, tuning_header},
      {settings_have_choice(sim), &logs->files.choice, settings_choice_header},
      {sim->par->Analysis, &logs->files.analysis, analysis_header},
      {binaries_wanted(sim->par, particles_of(sim)), &logs->files.binaries, binaries_header},
      {binaries_wanted(sim->par, particles_of(sim)), &logs->files.events, binaries_events_header},
      {sim->par->Action != COLLISIONS_OFF, &logs->files.collisions, collisions_header},
      {cluster_wanted(sim->par, particles_of(sim)), &logs->files.cluster, cluster_header}};
  memcpy(table, all, sizeof all);
}

/* Create table k with its description and header. */
static void begin_table(struct logs *logs, const struct table *table, int k, const struct sim *sim, struct fault *fault)
{
  char path[PARAM_TEXT + 64];
  table_path(sim->par, table_names[k], path);
  logs->files.spool[k] = NULL;
  *table->file = spool_open(path, -1, &logs->files.spool[k], fault);
  if (!*table->file) return;
  write_description(*table->file, sim);
  table->header(*table->file);
}

/* The parameters as given; a scheme that was chosen is in a comment. */
static void write_used(const struct logs *logs, const struct sim *sim, struct fault *fault)
{
  const struct params *p = settings_given(sim);
  char path[PARAM_TEXT + 64];
  table_path(p, USED_PARAMETERS, path);
  FILE *used = fault->text[0] ? NULL : spool_open(path, -1, NULL, fault);
  if (!used) return;
  fprintf(used, "# Units: %s\n",
          units_physical(p) ? "physical, those of [Units]"
                            : "dimensionless, as GravityConstantInternal is given; lengths, masses and velocities in "
                              "[Units] are not used");
  if (settings_have_choice(sim)) {
    fputs("# ", used);
    settings_name_choice(sim, used);
    fputs("; later choices are in choice.csv.\n", used);
  }
  params_write_ini(used, p, logs->origin);
  if (fclose(used)) fault_set(fault, "cannot write %s: %s", path, strerror(errno));
}

/* A fault where a table or parameters-used.ini is a symbolic link, whose target would be overwritten. */
static int check_links(const struct params *params, struct fault *fault)
{
  char path[PARAM_TEXT + 64];
  struct stat st;
  for (int k = 0; k <= LOGS_TABLES; k++) {
    table_path(params, k < LOGS_TABLES ? table_names[k] : USED_PARAMETERS, path);
    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
      return fault_set(fault, "%s is a symbolic link, whose target would be overwritten; move it away", path);
  }
  return 0;
}

static void open_all(struct logs *logs, const struct sim *sim, int overwrite, struct fault *fault)
{
  struct table table[LOGS_TABLES];
  list_tables(logs, sim, table);
  if (check_folder(sim->par, overwrite, fault) || check_links(sim->par, fault) ||
      folder_make(sim->par->OutputDir, "OutputDir", fault))
    return;
  for (int k = 0; k < LOGS_TABLES && !fault->text[0]; k++) {
    if (table[k].enabled) begin_table(logs, &table[k], k, sim, fault);
    else remove_table(sim->par, table_names[k], fault);
  }
  write_used(logs, sim, fault);
}

/* --- restart ----------------------------------------------------------------------------------------------------- */

/* What was written to table k before the checkpoint. */
static struct spool_sums sums_of(const struct logs_ends *ends, int k)
{
  struct spool_sums was = {.bytes = ends->written[k], .all = (uint64_t)ends->sums[k][0]};
  for (int m = 0; m < SPOOL_MARKS; m++) was.mark[m] = (uint64_t)ends->sums[k][1 + m];
  return was;
}

/* Continue a table as it was at the checkpoint (ends->end[k] negative: it did not exist). `rows`: those that were not
 * in the file. All rows have the columns that the table has, so that it stays one table. */
static void resume_table(struct logs *logs, const struct table *table, int k, const struct sim *sim,
                         const struct logs_ends *ends, const char *rows, struct fault *fault)
{
  char path[PARAM_TEXT + 64];
  struct spool_sums was = sums_of(ends, k);
  struct spool_check found;
  size_t count = (size_t)(ends->end[k] - ends->written[k]);
  table_path(sim->par, table_names[k], path);
  if (ends->end[k] < 0 || spool_check(path, &was, &found, fault)) {
    if (!fault->text[0] && table->enabled && access(path, F_OK) == 0)
      resumed_move(path, "was no table of the run when the checkpoint was written", sim->step + 1, fault);
    if (!fault->text[0] && table->enabled) begin_table(logs, table, k, sim, fault);
    return;
  }
  int differs = was.all ? found.agree < was.bytes : found.size < was.bytes;
  if (found.size < 0 && !table->enabled) return;
  if (differs && found.keep == 0 && table->enabled) begin_table(logs, table, k, sim, fault); /* with its header */
  else *table->file = spool_open(path, found.keep > 0 ? found.keep : -1, &logs->files.spool[k], fault);
  if (!*table->file) return;
  const char *from = rows;
  if (differs) {
    resumed_report_gap(*table->file, path, &found, was.bytes, sim->step + 1);
    const char *line = count ? memchr(rows, '\n', count) : NULL; /* the file had the beginning of this row, perhaps */
    from = line ? line + 1 : rows;
  }
  if (count) fwrite(from, 1, count - (size_t)(from - rows), *table->file);
  fflush(*table->file);
  int columns = table->enabled ? resumed_columns(path, table->header) : 0;
  if (columns > 0) {
    resumed_report_columns(path, columns);
    spool_columns(logs->files.spool[k], columns);
  }
  if (table->enabled && columns >= 0) return;
  if (fclose(*table->file)) fault_set(fault, "%s cannot be written: %s", path, strerror(errno));
  *table->file = NULL;
  logs->files.spool[k] = NULL;
  if (table->enabled && !fault->text[0] &&
      resumed_move(path, "has other columns than this version writes", sim->step + 1, fault) == 0)
    begin_table(logs, table, k, sim, fault);
}

static void resume_all(struct logs *logs, const struct sim *sim, const struct logs_ends *ends, const char *rows,
                       struct fault *fault)
{
  struct table table[LOGS_TABLES];
  list_tables(logs, sim, table);
  if (check_links(sim->par, fault) || folder_make(sim->par->OutputDir, "OutputDir", fault)) return;
  for (int k = 0; k < LOGS_TABLES && !fault->text[0]; k++) {
    resume_table(logs, &table[k], k, sim, ends, rows, fault);
    if (ends->end[k] >= 0 && rows) rows += ends->end[k] - ends->written[k];
  }
  write_used(logs, sim, fault);
}

/* Whether folder_make could make `path`: its nearest existing folder must be writable. Makes nothing. */
static int check_make_folder(const char *path, struct fault *fault)
{
  char part[PARAM_TEXT];
  struct stat st;
  if (folder_nearest(path, part, sizeof part) || stat(part, &st))
    return fault_set(fault, "OutputDir: %s: %s", part, strerror(errno));
  if (!S_ISDIR(st.st_mode)) return fault_set(fault, "OutputDir: %s is not a folder", part);
  if (access(part, W_OK | X_OK)) return fault_set(fault, "OutputDir: cannot write in %s: %s", part, strerror(errno));
  return 0;
}

int logs_check(const struct params *params, int overwrite, struct fault *fault)
{
  return check_folder(params, overwrite, fault) || check_links(params, fault) || status_check(params, fault) ||
                 check_make_folder(params->OutputDir, fault)
             ? -1
             : 0;
}

int logs_check_resume(const struct params *params, struct fault *fault)
{
  return check_links(params, fault) || status_check(params, fault) || check_make_folder(params->OutputDir, fault) ? -1
                                                                                                                  : 0;
}

static void begin(struct logs *logs, const struct sim *sim)
{
  *logs = (struct logs){.origin = logs->origin};
  logs->progress.begin = sim->time;
  logs->progress.end = sim->par->TimeMax;
  logs->progress.started = timer_clock();
  logs->traffic.table = sim->comm->size > 1 && sim->par->CommLog != COMM_LOG_OFF;
  logs->traffic.pairs = logs->traffic.table && sim->par->CommLog == COMM_LOG_PEERS;
  promise_open(&logs->promise, sim);
}

/* Make all ranks agree on rank 0's result of opening the tables, and close them on a fault. Collective. 0 or -1. */
static int agree_or_close(struct logs *logs, const struct sim *sim, struct fault *fault)
{
  if (comm_verdict(sim->comm, fault) == 0 && traffic_record(sim->comm, sim->par, sim->step, fault) == 0) return 0;
  struct fault ignored = {""};
  logs_close(logs, sim, &ignored);
  return -1;
}

int logs_open(struct logs *logs, const struct sim *sim, int overwrite, struct fault *fault)
{
  begin(logs, sim);
  if (sim->comm->rank == 0) open_all(logs, sim, overwrite, fault);
  return agree_or_close(logs, sim, fault);
}

int logs_resume(struct logs *logs, const struct sim *sim, const struct logs_ends *ends, const char *rows,
                struct fault *fault)
{
  begin(logs, sim);
  if (sim->comm->rank == 0) resume_all(logs, sim, ends, rows, fault);
  return agree_or_close(logs, sim, fault);
}

void logs_begin_again(struct logs *logs, const struct sim *sim, struct fault *fault)
{
  struct table table[LOGS_TABLES];
  list_tables(logs, sim, table);
  for (int k = 0; k < LOGS_TABLES; k++) {
    if (!*table[k].file) continue;
    __fpurge(*table[k].file); /* its file may be another run's by now */
    fclose(*table[k].file);
    *table[k].file = NULL;
    begin_table(logs, &table[k], k, sim, fault);
    if (!*table[k].file) *table[k].file = fopen("/dev/null", "w");
  }
  write_used(logs, sim, fault);
}

/* --- errors of the disk ------------------------------------------------------------------------------------------ */

long long logs_unwritten(const struct logs_ends *ends)
{
  long long bytes = 0;
  for (int k = 0; k < LOGS_TABLES; k++)
    if (ends->end[k] >= 0) bytes += ends->end[k] - ends->written[k];
  return bytes;
}

/* Count the bytes that are in memory only, and report tables that cannot be written. */
static void watch_tables(struct logs *logs)
{
  logs->files.unwritten = 0;
  for (int k = 0; k < LOGS_TABLES; k++)
    if (logs->files.spool[k]) logs->files.unwritten += (long long)spool_report(logs->files.spool[k]);
}

/* The rows of all tables that are in memory only. Free with memory_free; NULL: none. */
static char *copy_unwritten(const struct logs *logs)
{
  const char *from;
  char *rows = NULL;
  size_t count = 0;
  for (int k = 0; k < LOGS_TABLES; k++) {
    size_t bytes = logs->files.spool[k] ? spool_pending(logs->files.spool[k], &from) : 0;
    if (bytes == 0) continue;
    rows = memory_resize("tables", rows, count + bytes);
    memcpy(rows + count, from, bytes);
    count += bytes;
  }
  return rows;
}

char *logs_flush(struct logs *logs, struct sim *sim, struct logs_ends *ends)
{
  struct table table[LOGS_TABLES];
  struct spool_sums sums;
  struct fault ignored = {""}; /* a table that is lost with its folder's entry is found by its checksum */
  list_tables(logs, sim, table);
  memset(ends, 0, sizeof *ends);
  substep_log_write(&sim->cost.log, logs->files.substeps);
  tuning_write(&sim->cost.tuning, logs->files.tuner);
  for (int k = 0; k < LOGS_TABLES; k++) {
    FILE *file = *table[k].file;
    ends->end[k] = -1;
    if (!logs->files.spool[k]) continue;
    fflush(file);
    spool_sync(logs->files.spool[k]);
    spool_sums(logs->files.spool[k], &sums);
    ends->end[k] = (long long)ftello(file);
    ends->written[k] = sums.bytes;
    ends->sums[k][0] = (long long)sums.all;
    for (int m = 0; m < SPOOL_MARKS; m++) ends->sums[k][1 + m] = (long long)sums.mark[m];
  }
  if (sim->comm->rank == 0) folder_flush(sim->par->OutputDir, &ignored);
  watch_tables(logs);
  return copy_unwritten(logs);
}

int logs_close(struct logs *logs, const struct sim *sim, struct fault *fault)
{
  struct table table[LOGS_TABLES];
  list_tables(logs, sim, table);
  for (int k = 0; k < LOGS_TABLES; k++) {
    FILE *file = *table[k].file;
    if (file && logs->files.spool[k] && fflush(file) == 0) spool_sync(logs->files.spool[k]);
    if (file && fclose(file))
      fault_set(fault, "%s/%s could not be written completely: %s", sim->par->OutputDir, table_names[k],
                strerror(errno));
    *table[k].file = NULL;
    logs->files.spool[k] = NULL;
  }
  recorder_stop(sim->comm->recorder, fault);
  return comm_agree(sim->comm, fault);
}

/* --- rows -------------------------------------------------------------------------------------------------------- */

void logs_traffic(struct logs *logs, const struct sim *sim)
{
  traffic_step(&logs->traffic, sim->comm, sim->step, sim->time);
}

double logs_error(const struct logs *logs, double total)
{
  return logs->error.first != 0
             ? fabs((total - logs->error.first) / (logs->error.scale > 0 ? logs->error.scale : logs->error.first))
             : NAN;
}

double logs_promised_error(const struct logs *logs, const struct sim *sim, double total)
{
  /* kinetic and potential energy, because their sum is near 0 where they nearly cancel */
  double part = effects_have(sim, EFFECT_COMOVING) ? 1 : 0.1,
         scale = fmax(fabs(logs->error.first), part * (sim->now.kinetic + fabs(sim->now.potential)));
  return !effects_have(sim, EFFECT_ENERGY_CHANGES) && scale > 0 ? fabs(total - logs->error.first) / scale : NAN;
}

double logs_worst(const struct logs *logs)
{
  return logs->error.first != 0 && logs->error.known > 1 ? logs->error.worst : NAN;
}

const char *logs_error_text(double error, int digits, char *text, size_t size)
{
  if (isnan(error)) snprintf(text, size, "-");
  else snprintf(text, size, "%.*e", digits, error);
  return text;
}

void logs_energy(struct logs *logs, const struct sim *sim)
{
  struct diagnostics d = energies_corrected(sim);
  double kept = d.total + sim->collisions.lost;
  /* a field that moves changes the energy: no error is known */
  if (!logs->error.known && !effects_have(sim, EFFECT_ENERGY_CHANGES)) logs->error.first = kept;
  logs->error.known = logs->error.known ? 2 : 1;
  if (effects_have(sim, EFFECT_COMOVING)) logs->error.scale = d.kinetic + fabs(d.potential);
  logs->error.worst = fmax(logs->error.worst, logs_error(logs, kept));
  double error = logs_promised_error(logs, sim, kept);
  if (!isnan(error)) promise_note(&logs->promise, &logs->promise.energy, error, sim->time);
  if (!logs->files.energy) return;
  double place[3], motion[3], gained[3];
  sim_gained(sim, gained);
  sim_shift(sim, place, motion);
  diagnostics_row(logs->files.energy, sim->time, &d, place, motion, gained,
                  (double[4]){sim->energy.total, sim->energy.noise, sim->collisions.lost, sim->energy.changes.energy});
  fflush(logs->files.energy);
}

void logs_collisions(struct logs *logs, const struct sim *sim)
{
  if (!logs->files.collisions || sim->collisions.rows == 0) return;
  collisions_rows(sim, logs->files.collisions);
  fflush(logs->files.collisions);
}

void logs_choice(struct logs *logs, const struct sim *sim)
{
  if (!logs->files.choice || !settings_have_choice(sim)) return;
  settings_choice_rows(sim, logs->files.choice);
  fflush(logs->files.choice);
}

static double pairs(const struct tally *tally) { return (double)(tally->particle_pairs + tally->cell_pairs); }

void logs_step(struct logs *logs, struct sim *sim, const struct step_report *report, int energy)
{
  if (sim->comm->rank != 0) return;
  int split = scheme_split(sim) != NULL;
  char dE[32] = "";
  const char *between = "";
  if (energy && logs->error.first != 0) snprintf(dE, sizeof dE, "%.6e", logs_error(logs, energies_total(sim)));
#define X(name, format, value) fprintf(logs->files.steps, "%s" format, between, value), between = ",";
  STEP_COLUMNS(X)
#undef X
  for (int k = 0; k < LEVELS_LOGGED; k++) fprintf(logs->files.steps, ",%lld", (long long)report->levels[k]);
  fputc('\n', logs->files.steps);
  fflush(logs->files.steps);
  fprintf(logs->files.timers, "%lld,%.15g", sim->step, sim->time);
  for (int p = 0; p < PHASE_COUNT; p++) fprintf(logs->files.timers, ",%.6f", report->seconds[p]);
  fputc('\n', logs->files.timers);
  fflush(logs->files.timers);
  substep_log_write(&sim->cost.log, logs->files.substeps);
  tuning_write(&sim->cost.tuning, logs->files.tuner);
  watch_tables(logs);
}
