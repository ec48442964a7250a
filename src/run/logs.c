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
#include "analysis/projection.h"
#include "base/files.h"
#include "base/folders.h"
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
#include "scheme/schemes.h"

/* --- files ------------------------------------------------------------------------------------------------------- */

#define USED_PARAMETERS "parameters-used.ini"
static const char *const table_names[LOGS_TABLES] = {"energy.csv", "steps.csv", "timers.csv", TRAFFIC_TABLE, SUBSTEP_TABLE, TUNER_TABLE, "choice.csv",
                                                      "analysis.csv"};

static void table_path(const struct params *p, const char *name, char path[PARAM_TEXT + 64])
{
  snprintf(path, PARAM_TEXT + 64, "%s/%s", p->OutputDir, name);
}

/* A fault where snapshots or maps of an earlier run exist, or where --overwrite would remove the input. */
static void check_snapshots(const struct params *p, int overwrite, struct fault *f)
{
  struct snapshot_names found;
  snapshot_list(p->OutputDir, p->SnapshotFileBase, &found);
  long long input = initial_holds_one(p->InitCondFile, p->ICFormat, (const char *const *)found.path, found.count);
  if (input >= 0)
    fault_set(f, "%s is the run's input and has the name of an output: choose another OutputDir or SnapshotFileBase", found.path[input]);
  else if (!overwrite && found.count > 0)
    fault_set(f, "%s exists: an earlier run's snapshots are in OutputDir; choose another folder, or give --overwrite", found.path[0]);
  snapshot_names_free(&found);
  char maps[PARAM_TEXT + 64];
  table_path(p, PROJECTION_FOLDER, maps);
  if (!overwrite && projection_exists(maps))
    fault_set(f, "%s has maps of an earlier run; choose another OutputDir, or give --overwrite", maps);
}

int logs_check_results(const struct params *p, int overwrite, struct fault *f)
{
  char pattern[PARAM_TEXT + 64];
  for (int k = 0; !overwrite && k <= LOGS_TABLES; k++) {
    snprintf(pattern, sizeof pattern, "%s/%s", p->OutputDir, k < LOGS_TABLES ? table_names[k] : USED_PARAMETERS);
    if (access(pattern, F_OK) == 0)
      return fault_set(f, "%s exists: an earlier run's results are in OutputDir; choose another folder, or give --overwrite", pattern);
  }
  check_snapshots(p, overwrite, f);
  return f->text[0] ? -1 : 0;
}

/* A fault where the folder has results or checkpoints of an earlier run, or where the initial conditions would be replaced. */
static int check_folder(const struct params *p, int overwrite, struct fault *f)
{
  char checkpoint[CHECKPOINT_PATH];
  if (!overwrite && checkpoint_exists(p, checkpoint))
    return fault_set(f, "%s: an earlier run's checkpoints are there; continue from them with --restart, choose another OutputDir, "
                     "or give --overwrite", checkpoint);
  return logs_check_results(p, overwrite, f);
}

/* The comment lines with which every table begins. */
static void write_description(FILE *out, const struct sim *s)
{
  fprintf(out, "# espalier %s (%s), %d rank%s x %d thread%s, backend %s\n", PACKAGE_VERSION, revision, s->comm->size, plural(s->comm->size),
          omp_get_max_threads(), plural(omp_get_max_threads()), s->be->name);
  units_describe(s->par, out);
}

/* Remove the table of an earlier run. */
static void remove_table(const struct params *p, const char *name, struct fault *f)
{
  char path[PARAM_TEXT + 64];
  table_path(p, name, path);
  if (unlink(path) && errno != ENOENT) fault_set(f, "cannot remove %s: %s", path, strerror(errno));
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

/* All tables, in the order of table_names. */
static void list_tables(struct logs *l, const struct sim *s, struct table table[LOGS_TABLES])
{
  const struct table all[LOGS_TABLES] = {{1, &l->energy, diagnostics_header},
                                         {1, &l->steps, steps_header},
                                         {1, &l->timers, timers_header},
                                         {l->traffic.table, &l->traffic.out, traffic_header},
                                         {s->log.table, &l->substeps, substep_log_header},
                                         {s->tuning.log, &l->tuner, tuning_header},
                                         {settings_have_choice(s), &l->choice, settings_choice_header},
                                         {s->par->Analysis, &l->analysis, analysis_header}};
  memcpy(table, all, sizeof all);
}

/* Create table k with its description and header. */
static void begin_table(struct logs *l, const struct table *t, int k, const struct sim *s, struct fault *f)
{
  char path[PARAM_TEXT + 64];
  table_path(s->par, table_names[k], path);
  l->spool[k] = NULL;
  *t->file = spool_open(path, -1, &l->spool[k], f);
  if (!*t->file) return;
  write_description(*t->file, s);
  t->header(*t->file);
}

/* The parameters as given; a scheme that was chosen is in a comment. */
static void write_used(const struct sim *s, struct fault *f)
{
  const struct params *p = settings_given(s);
  char path[PARAM_TEXT + 64];
  table_path(p, USED_PARAMETERS, path);
  FILE *used = f->text[0] ? NULL : spool_open(path, -1, NULL, f);
  if (!used) return;
  fprintf(used, "# Units: %s\n", units_physical(p) ? "physical, those of [Units]"
                                  : "dimensionless, as GravityConstantInternal is given; lengths, masses and velocities in [Units] are not used");
  if (settings_have_choice(s)) {
    fputs("# ", used);
    settings_name_choice(s, used);
    fputs("; later choices are in choice.csv.\n", used);
  }
  params_write_ini(used, p);
  if (fclose(used)) fault_set(f, "cannot write %s: %s", path, strerror(errno));
}

static void open_all(struct logs *l, const struct sim *s, int overwrite, struct fault *f)
{
  struct table table[LOGS_TABLES];
  list_tables(l, s, table);
  if (check_folder(s->par, overwrite, f) || folder_make(s->par->OutputDir, "OutputDir", f)) return;
  for (int k = 0; k < LOGS_TABLES && !f->text[0]; k++) {
    if (table[k].enabled) begin_table(l, &table[k], k, s, f);
    else remove_table(s->par, table_names[k], f);
  }
  write_used(s, f);
}

/* --- restart ----------------------------------------------------------------------------------------------------- */

/* What was written to table k before the checkpoint. */
static struct spool_sums sums_of(const struct logs_ends *ends, int k)
{
  struct spool_sums was = {.bytes = ends->written[k], .all = (uint64_t)ends->sums[k][0]};
  for (int m = 0; m < SPOOL_MARKS; m++) was.mark[m] = (uint64_t)ends->sums[k][1 + m];
  return was;
}

/* Continue a table as it was at the checkpoint (ends->end[k] negative: it did not exist). `rows`: those that were not in the file.
 * All rows have the columns that the table has, so that it stays one table. */
static void resume_table(struct logs *l, const struct table *t, int k, const struct sim *s, const struct logs_ends *ends, const char *rows,
                         struct fault *f)
{
  char path[PARAM_TEXT + 64];
  struct spool_sums was = sums_of(ends, k);
  struct spool_check found;
  size_t count = (size_t)(ends->end[k] - ends->written[k]);
  table_path(s->par, table_names[k], path);
  if (ends->end[k] < 0 || spool_check(path, &was, &found, f)) {
    if (!f->text[0] && t->enabled) begin_table(l, t, k, s, f);
    return;
  }
  int differs = was.all ? found.agree < was.bytes : found.size < was.bytes;
  if (found.size < 0 && !t->enabled) return;
  if (differs && found.keep == 0 && t->enabled) begin_table(l, t, k, s, f);   /* with its header */
  else *t->file = spool_open(path, found.keep > 0 ? found.keep : -1, &l->spool[k], f);
  if (!*t->file) return;
  const char *from = rows;
  if (differs) {
    resumed_report_gap(*t->file, path, &found, was.bytes, s->step + 1);
    const char *line = count ? memchr(rows, '\n', count) : NULL;   /* the file had the beginning of this row, perhaps */
    from = line ? line + 1 : rows;
  }
  if (count) fwrite(from, 1, count - (size_t)(from - rows), *t->file);
  fflush(*t->file);
  int columns = t->enabled ? resumed_columns(path, t->header) : 0;
  if (columns > 0) {
    resumed_report_columns(path, columns);
    spool_columns(l->spool[k], columns);
  }
  if (t->enabled && columns >= 0) return;
  if (fclose(*t->file)) fault_set(f, "%s cannot be written: %s", path, strerror(errno));
  *t->file = NULL;
  l->spool[k] = NULL;
  if (t->enabled && !f->text[0] && resumed_move(path, s->step + 1, f) == 0) begin_table(l, t, k, s, f);
}

static void resume_all(struct logs *l, const struct sim *s, const struct logs_ends *ends, const char *rows, struct fault *f)
{
  struct table table[LOGS_TABLES];
  list_tables(l, s, table);
  if (folder_make(s->par->OutputDir, "OutputDir", f)) return;
  for (int k = 0; k < LOGS_TABLES && !f->text[0]; k++) {
    resume_table(l, &table[k], k, s, ends, rows, f);
    if (ends->end[k] >= 0 && rows) rows += ends->end[k] - ends->written[k];
  }
  write_used(s, f);
}

/* Whether folder_make could make `path`: its nearest existing folder must be writable. Makes nothing. */
static int check_make_folder(const char *path, struct fault *f)
{
  char part[PARAM_TEXT];
  struct stat st;
  if (folder_nearest(path, part, sizeof part) || stat(part, &st)) return fault_set(f, "OutputDir: %s: %s", part, strerror(errno));
  if (!S_ISDIR(st.st_mode)) return fault_set(f, "OutputDir: %s is not a folder", part);
  if (access(part, W_OK | X_OK)) return fault_set(f, "OutputDir: cannot write in %s: %s", part, strerror(errno));
  return 0;
}

int logs_check(const struct params *p, int overwrite, struct fault *f)
{
  return check_folder(p, overwrite, f) || status_check(p, f) || check_make_folder(p->OutputDir, f) ? -1 : 0;
}

int logs_check_resume(const struct params *p, struct fault *f) { return status_check(p, f) || check_make_folder(p->OutputDir, f) ? -1 : 0; }

static void begin(struct logs *l, const struct sim *s)
{
  memset(l, 0, sizeof *l);
  l->begin = s->time;
  l->end = s->par->TimeMax;
  l->started = timer_clock();
  l->traffic.table = s->comm->size > 1 && s->par->CommLog != COMM_LOG_OFF;
  l->traffic.pairs = l->traffic.table && s->par->CommLog == COMM_LOG_PEERS;
}

/* Make all ranks agree on rank 0's result of opening the tables, and close them on a fault. Collective. 0 or -1. */
static int agree_or_close(struct logs *l, const struct sim *s, struct fault *f)
{
  if (comm_verdict(s->comm, f) == 0 && traffic_record(s->comm, s->par, s->step, f) == 0) return 0;
  struct fault ignored = {""};
  logs_close(l, s, &ignored);
  return -1;
}

int logs_open(struct logs *l, const struct sim *s, int overwrite, struct fault *f)
{
  begin(l, s);
  if (s->comm->rank == 0) open_all(l, s, overwrite, f);
  return agree_or_close(l, s, f);
}

int logs_resume(struct logs *l, const struct sim *s, const struct logs_ends *ends, const char *rows, struct fault *f)
{
  begin(l, s);
  if (s->comm->rank == 0) resume_all(l, s, ends, rows, f);
  return agree_or_close(l, s, f);
}

void logs_begin_again(struct logs *l, const struct sim *s, struct fault *f)
{
  struct table table[LOGS_TABLES];
  list_tables(l, s, table);
  for (int k = 0; k < LOGS_TABLES; k++) {
    if (!*table[k].file) continue;
    __fpurge(*table[k].file);   /* its file may be another run's by now */
    fclose(*table[k].file);
    *table[k].file = NULL;
    begin_table(l, &table[k], k, s, f);
    if (!*table[k].file) *table[k].file = fopen("/dev/null", "w");
  }
  write_used(s, f);
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
static void watch_tables(struct logs *l)
{
  l->unwritten = 0;
  for (int k = 0; k < LOGS_TABLES; k++)
    if (l->spool[k]) l->unwritten += (long long)spool_report(l->spool[k]);
}

/* The rows of all tables that are in memory only. Free with memory_free; NULL: none. */
static char *copy_unwritten(const struct logs *l)
{
  const char *from;
  char *rows = NULL;
  size_t count = 0;
  for (int k = 0; k < LOGS_TABLES; k++) {
    size_t bytes = l->spool[k] ? spool_pending(l->spool[k], &from) : 0;
    if (bytes == 0) continue;
    rows = memory_resize("tables", rows, count + bytes);
    memcpy(rows + count, from, bytes);
    count += bytes;
  }
  return rows;
}

char *logs_flush(struct logs *l, struct sim *s, struct logs_ends *ends)
{
  struct table table[LOGS_TABLES];
  struct spool_sums sums;
  struct fault ignored = {""};   /* a table that is lost with its folder's entry is found by its checksum */
  list_tables(l, s, table);
  memset(ends, 0, sizeof *ends);
  substep_log_write(&s->log, l->substeps);
  tuning_write(&s->tuning, l->tuner);
  for (int k = 0; k < LOGS_TABLES; k++) {
    FILE *file = *table[k].file;
    ends->end[k] = -1;
    if (!l->spool[k]) continue;
    fflush(file);
    spool_sync(l->spool[k]);
    spool_sums(l->spool[k], &sums);
    ends->end[k] = (long long)ftello(file);
    ends->written[k] = sums.bytes;
    ends->sums[k][0] = (long long)sums.all;
    for (int m = 0; m < SPOOL_MARKS; m++) ends->sums[k][1 + m] = (long long)sums.mark[m];
  }
  if (s->comm->rank == 0) folder_flush(s->par->OutputDir, &ignored);
  watch_tables(l);
  return copy_unwritten(l);
}

int logs_close(struct logs *l, const struct sim *s, struct fault *f)
{
  struct table table[LOGS_TABLES];
  list_tables(l, s, table);
  for (int k = 0; k < LOGS_TABLES; k++) {
    FILE *file = *table[k].file;
    if (file && l->spool[k] && fflush(file) == 0) spool_sync(l->spool[k]);
    if (file && fclose(file))
      fault_set(f, "%s/%s could not be written completely: %s", s->par->OutputDir, table_names[k], strerror(errno));
    *table[k].file = NULL, l->spool[k] = NULL;
  }
  recorder_stop(s->comm->recorder, f);
  return comm_agree(s->comm, f);
}

/* --- rows -------------------------------------------------------------------------------------------------------- */

void logs_traffic(struct logs *l, const struct sim *s) { traffic_step(&l->traffic, s->comm, s->step, s->time); }

double logs_error(const struct logs *l, double total)
{
  return l->first_energy != 0 ? fabs((total - l->first_energy) / (l->scale > 0 ? l->scale : l->first_energy)) : NAN;
}

double logs_worst(const struct logs *l) { return l->first_energy != 0 && l->has_energy > 1 ? l->worst : NAN; }

const char *logs_error_text(double error, int digits, char *text, size_t size)
{
  if (isnan(error)) snprintf(text, size, "-");
  else snprintf(text, size, "%.*e", digits, error);
  return text;
}

void logs_energy(struct logs *l, const struct sim *s)
{
  struct diagnostics d = energies_corrected(s);
  if (!l->has_energy && !s->external.moves) l->first_energy = d.total;   /* a field that moves changes the energy: no error is known */
  l->has_energy = l->has_energy ? 2 : 1;
  if (s->expansion.on) l->scale = d.kinetic + fabs(d.potential);
  l->worst = fmax(l->worst, logs_error(l, d.total));
  if (!l->energy) return;
  double place[3], motion[3], gained[3];
  sim_gained(s, gained);
  sim_shift(s, place, motion);
  diagnostics_row(l->energy, s->time, &d, place, motion, gained, (double[2]){s->energy.total, s->energy.noise});
  fflush(l->energy);
}

void logs_choice(struct logs *l, const struct sim *s)
{
  if (!l->choice || !settings_have_choice(s)) return;
  settings_choice_rows(s, l->choice);
  fflush(l->choice);
}

static double pairs(const struct tally *t) { return (double)(t->particle_pairs + t->cell_pairs); }

void logs_step(struct logs *l, struct sim *s, const struct step_report *r, int energy)
{
  if (s->comm->rank != 0) return;
  int split = scheme_split(s) != NULL;
  char dE[32] = "";
  const char *between = "";
  if (energy && l->first_energy != 0) snprintf(dE, sizeof dE, "%.6e", logs_error(l, energies_total(s)));
#define X(name, format, value) fprintf(l->steps, "%s" format, between, value), between = ",";
  STEP_COLUMNS(X)
#undef X
  for (int k = 0; k < LEVELS_LOGGED; k++) fprintf(l->steps, ",%lld", (long long)r->levels[k]);
  fputc('\n', l->steps);
  fflush(l->steps);
  fprintf(l->timers, "%lld,%.15g", s->step, s->time);
  for (int p = 0; p < PHASE_COUNT; p++) fprintf(l->timers, ",%.6f", r->seconds[p]);
  fputc('\n', l->timers);
  fflush(l->timers);
  substep_log_write(&s->log, l->substeps);
  tuning_write(&s->tuning, l->tuner);
  watch_tables(l);
}
