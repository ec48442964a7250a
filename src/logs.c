/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "logs.h"

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint.h"
#include "folders.h"
#include "initial.h"
#include "patient.h"
#include "revision.h"
#include "snapshot.h"
#include "status.h"
#include "timeline.h"
#include "units.h"

/* A hybrid pays only where a hard force is much cheaper than a full one. */
#define H_WARNING 0.3
enum { H_STEPS = 20 };
/* Spacing of the lattice, in units of the softening, above which positions are too coarse. */
#define LATTICE_WARNING 1e-3
#define ENERGY_WARNING 0.05     /* |dE/E| */
#define SOFT_STEP_WARNING 2     /* times what the rule would take */

/* --- files ------------------------------------------------------------------------------------------------------- */

#define USED_PARAMETERS "parameters-used.ini"
static const char *const table_names[LOGS_TABLES] = {"energy.csv", "steps.csv", "timers.csv", TRAFFIC_TABLE, SUBSTEP_TABLE, TUNER_TABLE};

/* The same about snapshots: of the names that --overwrite removes none may be the input. */
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

/* A fault where the folder holds an earlier run's results or checkpoints, or where the initial conditions would be replaced. */
static int check_folder(const struct params *p, int overwrite, struct fault *f)
{
  char checkpoint[CHECKPOINT_PATH];
  if (!overwrite && checkpoint_exists(p, checkpoint))
    return fault_set(f, "%s: an earlier run's checkpoints are there; go on from them with --restart, choose another OutputDir, or give --overwrite",
                     checkpoint);
  return logs_check_results(p, overwrite, f);
}

static FILE *open_table(const char *folder, const char *name, struct fault *f)
{
  char path[PARAM_TEXT + 64];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *out = patient_open(path, -1);
  if (!out) fault_set(f, "cannot write %s: %s", path, strerror(errno));
  return out;
}

static void describe(FILE *out, const struct sim *s)
{
  struct units u = units_of(s->par);
  fprintf(out, "# espalier %s (%s), %d rank%s x %d thread%s, backend %s\n", PACKAGE_VERSION, revision, s->comm->size, plural(s->comm->size),
          omp_get_max_threads(), plural(omp_get_max_threads()), s->be->name);
  fprintf(out, "# UnitLength_in_cm = %g, UnitMass_in_g = %g, UnitVelocity_in_cm_per_s = %g, GravityConstantInternal = %.9g\n", u.length_cm, u.mass_g,
          u.velocity_cm_s, s->gravity);
  fprintf(out, "# unit of time: %g s\n", units_time_s(&u));
}

static void no_table(const char *folder, const char *name, struct fault *f)
{
  char path[PARAM_TEXT + 64];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  if (unlink(path) && errno != ENOENT) fault_set(f, "cannot remove %s: %s", path, strerror(errno));
}

static void steps_header(FILE *out)
{
  fprintf(out, "step,time,dt_soft,R1,R2,substeps,level_max,evaluations_full,evaluations_hard,pairs_full,pairs_hard,list_full,list_hard,h,"
               "imbalance,imbalance_particles,imbalance_hard,imbalance_pairs_hard,imbalance_seconds,dE,seconds,migrated,let_cells,let_particles,"
               "let_bytes,update_messages,update_bytes,strays,remakes");
  for (int k = 0; k < LEVELS_LOGGED; k++) fprintf(out, ",level_%d", k);
  fputc('\n', out);
}

static void timers_header(FILE *out)
{
  fprintf(out, "# seconds of the slowest rank\nstep,time");
  for (int p = 0; p < PHASE_COUNT; p++) fprintf(out, ",%s", phase_names[p]);
  fputc('\n', out);
}

/* A table: whether it is asked for, and the file that it goes to. */
struct table {
  int wanted;
  FILE **file;
  void (*header)(FILE *out);
};

/* In the order of their names. */
static void list_tables(struct logs *l, const struct sim *s, struct table table[LOGS_TABLES])
{
  const struct table all[LOGS_TABLES] = {{1, &l->energy, diagnostics_header},
                                         {1, &l->steps, steps_header},
                                         {1, &l->timers, timers_header},
                                         {l->traffic.table, &l->traffic.out, traffic_header},
                                         {s->log.table, &l->substeps, substep_log_header},
                                         {s->tuning.log, &l->tuner, tuning_header}};
  memcpy(table, all, sizeof all);
}

static void begin_table(const struct table *t, int k, const struct sim *s, struct fault *f)
{
  *t->file = open_table(s->par->OutputDir, table_names[k], f);
  if (!*t->file) return;
  describe(*t->file, s);
  t->header(*t->file);
}

static void write_used(const struct params *p, struct fault *f)
{
  FILE *used = f->text[0] ? NULL : open_table(p->OutputDir, USED_PARAMETERS, f);
  if (!used) return;
  params_write_ini(used, p);
  if (fclose(used)) fault_set(f, "cannot write %s/" USED_PARAMETERS ": %s", p->OutputDir, strerror(errno));
}

static void open_all(struct logs *l, const struct sim *s, int overwrite, struct fault *f)
{
  struct table table[LOGS_TABLES];
  list_tables(l, s, table);
  if (check_folder(s->par, overwrite, f) || folder_make(s->par->OutputDir, "OutputDir", f)) return;
  for (int k = 0; k < LOGS_TABLES && !f->text[0]; k++) {
    if (table[k].wanted) begin_table(&table[k], k, s, f);
    else no_table(s->par->OutputDir, table_names[k], f);
  }
  write_used(s->par, f);
}

/* The bytes of the last whole line before `end`; what is behind a power failure may be half a line. */
static long long whole_lines(FILE *in, long long end)
{
  for (; end > 0; end--)
    if (fseeko(in, (off_t)(end - 1), SEEK_SET) == 0 && getc(in) == '\n') return end;
  return 0;
}

/* A table goes on where it ended at the checkpoint. */
static void resume_table(const struct table *t, int k, const struct sim *s, long long end, struct fault *f)
{
  char path[PARAM_TEXT + 64];
  snprintf(path, sizeof path, "%s/%s", s->par->OutputDir, table_names[k]);
  FILE *old = end >= 0 ? fopen(path, "r") : NULL;
  if (!old) {   /* it is new, or somebody has taken it away */
    if (end >= 0 && errno != ENOENT) fault_set(f, "cannot read %s: %s", path, strerror(errno));
    else if (t->wanted) begin_table(t, k, s, f);
    return;
  }
  fseeko(old, 0, SEEK_END);
  long long size = (long long)ftello(old), keep = whole_lines(old, size < end ? size : end);
  fclose(old);
  if (size < end) printf("warning: %s is shorter than it was at the checkpoint: rows are missing\n", path);
  old = patient_open(path, keep);
  if (!old) fault_set(f, "%s cannot be cut back to the checkpoint: %s", path, strerror(errno));
  if (t->wanted) *t->file = old;
  else if (old) fclose(old);
}

static void resume_all(struct logs *l, const struct sim *s, const long long ends[LOGS_TABLES], struct fault *f)
{
  struct table table[LOGS_TABLES];
  list_tables(l, s, table);
  if (folder_make(s->par->OutputDir, "OutputDir", f)) return;
  for (int k = 0; k < LOGS_TABLES && !f->text[0]; k++) resume_table(&table[k], k, s, ends[k], f);
  write_used(s->par, f);
}

/* As folder_make, but nothing is made: the nearest folder that is there must allow it. */
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

/* Rank 0's verdict on what it opened. Collective. */
static int judge(struct logs *l, const struct sim *s, struct fault *f)
{
  if (comm_verdict(s->comm, f) == 0) return 0;
  struct fault ignored = {""};
  logs_close(l, s, &ignored);
  return -1;
}

int logs_open(struct logs *l, const struct sim *s, int overwrite, struct fault *f)
{
  begin(l, s);
  if (s->comm->rank == 0) open_all(l, s, overwrite, f);
  return judge(l, s, f);
}

int logs_resume(struct logs *l, const struct sim *s, const long long ends[LOGS_TABLES], struct fault *f)
{
  begin(l, s);
  if (s->comm->rank == 0) resume_all(l, s, ends, f);
  return judge(l, s, f);
}

void logs_flush(struct logs *l, struct sim *s, long long ends[LOGS_TABLES])
{
  struct table table[LOGS_TABLES];
  list_tables(l, s, table);
  substep_log_write(&s->log, l->substeps);
  tuning_write(&s->tuning, l->tuner);
  for (int k = 0; k < LOGS_TABLES; k++) {
    FILE *file = *table[k].file;
    if (file) fflush(file);
    ends[k] = file ? (long long)ftello(file) : -1;
  }
}

int logs_close(struct logs *l, const struct sim *s, struct fault *f)
{
  struct table table[LOGS_TABLES];
  list_tables(l, s, table);
  for (int k = 0; k < LOGS_TABLES; k++) {
    FILE *file = *table[k].file;
    if (file && fclose(file))
      fault_set(f, "%s/%s could not be written to its end: %s", s->par->OutputDir, table_names[k], strerror(errno));
    *table[k].file = NULL;
  }
  return comm_verdict(s->comm, f);
}

/* --- numbers ----------------------------------------------------------------------------------------------------- */

static void add_tally(const struct comm *c, struct tally *t)
{
  int64_t sums[] = {t->targets, t->particle_pairs, t->cell_pairs, t->split_pairs, t->tests, t->groups};
  comm_sum_int64(c, sums, 6);
  comm_max_double(c, &t->seconds, 1);
  *t = (struct tally){t->seconds, sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], t->evaluating, t->local_seconds};
}

static double pairs(const struct tally *t) { return (double)(t->particle_pairs + t->cell_pairs); }

/* Largest over mean of what the ranks have. */
static void add_imbalances(struct step_report *r, const struct sim *s)
{
  const struct let_count *hard = &s->counts.step_let.received;
  double local = (double)s->counts.local, most[5], sum[5];
  const double mine[5] = {s->work, local, local + (double)(hard->cells + hard->particles), pairs(&s->counts.hard), s->computing};
  memcpy(most, mine, sizeof most);
  memcpy(sum, mine, sizeof sum);
  comm_max_double(s->comm, most, 5);
  comm_sum_double(s->comm, sum, 5);
  double *to[5] = {&r->imbalance, &r->imbalance_particles, &r->imbalance_hard, &r->imbalance_pairs_hard, &r->imbalance_seconds};
  for (int k = 0; k < 5; k++) *to[k] = sum[k] > 0 ? most[k] * s->comm->size / sum[k] : 1;
}

void logs_collect(struct step_report *r, struct sim *s, double dt)
{
  memset(r, 0, sizeof *r);
  r->dt = dt;
  r->full = s->counts.full;
  r->hard = s->counts.hard;
  add_tally(s->comm, &r->full);
  add_tally(s->comm, &r->hard);
  timer_phase(&s->timer, PHASE_other);
  add_imbalances(r, s);
  r->wall = timer_total(&s->timer);
  memcpy(r->seconds, s->timer.seconds, sizeof r->seconds);
  comm_max_double(s->comm, r->seconds, PHASE_COUNT);
  timer_reset(&s->timer);
  int64_t sums[] = {s->counts.soft_let.received.cells + s->counts.step_let.received.cells,
                    s->counts.soft_let.received.particles + s->counts.step_let.received.particles,
                    s->counts.soft_let.bytes + s->counts.step_let.bytes + s->counts.updates.bytes, s->counts.outside, s->counts.migrated,
                    s->counts.updates.messages, s->counts.updates.bytes, s->counts.strays, s->counts.late};
  comm_sum_int64(s->comm, sums, sizeof sums / sizeof *sums);
  r->cells = (double)sums[0], r->particles = (double)sums[1], r->bytes = (double)sums[2], r->outside = sums[3];
  s->counts.migrated = sums[4];
  r->update_messages = sums[5], r->update_bytes = sums[6], r->strays = sums[7], r->late = sums[8];
  s->counts.substeps = comm_max_int64(s->comm, s->counts.substeps);
  s->be->histogram(s->dev, r->levels);
  comm_sum_int64(s->comm, r->levels, 32);
  if (r->full.targets) r->list_full = pairs(&r->full) / (double)r->full.targets;
  if (r->hard.targets) r->list_hard = pairs(&r->hard) / (double)r->hard.targets;
  if (r->hard.targets && r->full.seconds > 0)
    r->h = r->hard.seconds / (double)r->hard.targets / (r->full.seconds / (double)r->full.targets);
}

void logs_traffic(struct logs *l, const struct sim *s) { traffic_step(&l->traffic, s->comm, s->step, s->time); }

double logs_error(const struct logs *l, double total)
{
  return l->first_energy != 0 ? fabs((total - l->first_energy) / l->first_energy) : NAN;
}

double logs_worst(const struct logs *l) { return l->first_energy != 0 ? l->worst : NAN; }

const char *logs_error_text(double error, int digits, char *text, size_t size)
{
  if (isnan(error)) snprintf(text, size, "-");
  else snprintf(text, size, "%.*e", digits, error);
  return text;
}

void logs_energy(struct logs *l, const struct sim *s)
{
  if (!l->has_energy) l->first_energy = s->now.total;
  l->has_energy = 1;
  l->worst = fmax(l->worst, logs_error(l, s->now.total));
  if (!l->energy) return;
  diagnostics_row(l->energy, s->time, &s->now);
  fflush(l->energy);
}

/* --- the terminal ------------------------------------------------------------------------------------------------ */

static const char *duration(double seconds, char *text, size_t size)
{
  if (!(seconds < 1e9)) seconds = 1e9;
  long long s = (long long)(seconds + 0.5);
  if (s < 3600)
    snprintf(text, size, "%lld:%02lld", s / 60, s % 60);
  else if (s < 86400)
    snprintf(text, size, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
  else
    snprintf(text, size, "%lldd %lldh", s / 86400, s / 3600 % 24);
  return text;
}

static void progress(struct logs *l, const struct sim *s, const struct step_report *r, int energy)
{
  char eta[32], error[16] = "-";
  if (l->lines < 0) return;
  if (l->lines++ % 20 == 0)
    printf("%7s %12s %10s %5s %8s %8s %6s %6s %9s %8s %9s\n", "step", "time", "dt_soft", "sub", "list", "hard", "h", "imbal", "|dE/E|", "s/step", "ETA");
  double elapsed = timer_clock() - l->started, done = (s->time - l->begin) / (l->end - l->begin);
  if (energy) logs_error_text(logs_error(l, s->now.total), 2, error, sizeof error);
  printf("%7lld %12.6g %10.3e %5lld %8.1f %8.1f %6.3f %6.2f %9s %8.3f %9s\n", s->step, s->time, r->dt, (long long)s->counts.substeps, r->list_full,
         r->list_hard, r->h, r->imbalance, error, r->wall, duration(elapsed * (1 - done) / done, eta, sizeof eta));
  fflush(stdout);
}

/* Over some steps, since clocks are noisy; said once. */
static void note_h(struct logs *l, const struct sim *s, const struct step_report *r)
{
  if (!s->split.on || r->hard.targets == 0 || l->h_steps == H_STEPS) return;
  l->h_sum += r->h;
  l->list_sum += r->list_hard / r->list_full;
  if (++l->h_steps < H_STEPS || l->h_sum <= H_WARNING * H_STEPS) return;
  printf("note: over %d steps a hard force took %.2f of a full one's time (its lists are %.2f as long);\n"
         "      below %.1f the split gains most; a smaller R1OverR0 makes hard forces cheaper and soft steps shorter\n", H_STEPS, l->h_sum / H_STEPS, l->list_sum / H_STEPS, H_WARNING);
}

/* The energy has changed so much that the run cannot be right. Where kinetic and potential energy nearly cancel each other, their sum
 * is no measure. */
static void warn_energy(struct logs *l, const struct sim *s)
{
  char text[32];
  double change = fabs(s->now.total - l->first_energy), scale = fmax(fabs(l->first_energy), (s->now.kinetic + fabs(s->now.potential)) / 10);
  if (l->warned_energy || !(change > ENERGY_WARNING * scale)) return;
  printf("warning: at time %g the total energy is off by %s of what it was at the start: this run cannot be\n"
         "         trusted; look at the length of soft steps (xs, ys, SoftStep, MaxSizeTimestep), at Eta, Softening and\n"
         "         ErrTolForceAcc\n", s->time,
         logs_error_text(logs_error(l, s->now.total), 1, text, sizeof text));
  l->warned_energy = 1;
}

/* A soft step that was given, beside what the rule would take. */
static void warn_soft_step(struct logs *l, const struct sim *s, double dt)
{
  double rule = plan_adaptive(s->par, &s->now, s->split.r2);
  if (l->warned_soft_step || !s->split.on || s->par->SoftStep == 0 || !(dt > SOFT_STEP_WARNING * rule)) return;
  printf("warning: at time %g SoftStep gives soft steps of %.3g, and the rule (SoftStep = 0) would take %.3g:\n"
         "         soft forces may change too much in one\n", s->time, dt, rule);
  l->warned_soft_step = 1;
}

static void warn(struct logs *l, const struct sim *s, const struct step_report *r, int energy)
{
  note_h(l, s, r);
  if (energy) warn_energy(l, s);
  warn_soft_step(l, s, r->dt);
  if (r->outside && !l->warned_outside) {
    printf("warning: %lld position%s outside the lattice and moved to its faces: a shorter soft step\n"
           "         (MaxSizeTimestep) would hold them\n", (long long)r->outside, r->outside == 1 ? " lay" : "s lay");
    l->warned_outside = 1;
  }
  if (r->late && !l->warned_late) {
    printf("warning: %lld particles moved farther in a soft step than LETs allowed for before these were chosen anew (%lld times); a smaller xs "
           "or ys gives shorter soft steps\n", (long long)r->late, (long long)s->counts.remakes);
    l->warned_late = 1;
  }
  if (s->counts.level_most >= LEVEL_MOST && !l->warned_level) {
    printf("warning: particles ask for steps shorter than the soft step / 2^%d and do not get them: is Softening too small?\n", LEVEL_MOST);
    l->warned_level = 1;
  }
  if (s->lattice.spacing > LATTICE_WARNING * s->par->Softening && !l->warned_lattice) {
    printf("warning: the lattice that holds all particles has a spacing of %.2g, %.2g of the softening: forces lose accuracy; particles "
           "are too far from each other for this softening, maybe a few of them very far out\n", s->lattice.spacing,
           s->lattice.spacing / s->par->Softening);
    l->warned_lattice = 1;
  }
}

void logs_step(struct logs *l, struct sim *s, const struct step_report *r, int energy)
{
  if (s->comm->rank != 0) return;
  double r1 = s->split.on ? s->split.r1 : 0, r2 = s->split.on ? s->split.r2 : 0;
  fprintf(l->steps, "%lld,%.15g,%.9g,%.9g,%.9g,%lld,%d,", s->step, s->time, r->dt, r1, r2, (long long)s->counts.substeps,
          s->counts.level_most);
  fprintf(l->steps, "%lld,%lld,%.0f,%.0f,%.2f,%.2f,%.4f,", (long long)r->full.targets, (long long)r->hard.targets, pairs(&r->full),
          pairs(&r->hard), r->list_full, r->list_hard, r->h);
  fprintf(l->steps, "%.4f,%.4f,%.4f,%.4f,%.4f,", r->imbalance, r->imbalance_particles, r->imbalance_hard, r->imbalance_pairs_hard,
          r->imbalance_seconds);
  if (energy && l->first_energy != 0) fprintf(l->steps, "%.6e", logs_error(l, s->now.total));
  fprintf(l->steps, ",%.6f,%lld,%.0f,%.0f,%.0f", r->wall, (long long)s->counts.migrated, r->cells, r->particles, r->bytes);
  fprintf(l->steps, ",%lld,%lld,%lld,%lld", (long long)r->update_messages, (long long)r->update_bytes, (long long)r->strays,
          (long long)s->counts.remakes);
  for (int k = 0; k < LEVELS_LOGGED; k++) fprintf(l->steps, ",%lld", (long long)r->levels[k]);
  fputc('\n', l->steps);
  fflush(l->steps);
  fprintf(l->timers, "%lld,%.15g", s->step, s->time);
  for (int p = 0; p < PHASE_COUNT; p++) fprintf(l->timers, ",%.6f", r->seconds[p]);
  fputc('\n', l->timers);
  fflush(l->timers);
  substep_log_write(&s->log, l->substeps);
  tuning_write(&s->tuning, l->tuner);
  warn(l, s, r, energy);
  progress(l, s, r, energy);
}
