/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables of a run in OutputDir: energy.csv, steps.csv, timers.csv, comm.csv, substeps.csv, tuner.csv, choice.csv,
 * analysis.csv, binaries.csv, events.csv, collisions.csv and cluster.csv. */
#ifndef LOGS_H
#define LOGS_H
#include <stdio.h>

#include "base/spool.h"
#include "run/traffic.h"
#include "scheme/close_pairs.h"
#include "settings/promise.h"
#include "step/plan.h"
#include "step/sim.h"

/* tables: energy, steps, timers, comm, substeps, tuner, choice, analysis, binaries, events, collisions, cluster */
enum { LEVELS_LOGGED = 25, LOGS_TABLES = 12 };

/* Counts of a soft step, of all ranks. Imbalances are maximum over mean of the ranks. */
struct step_report {
  double dt; /* length of the soft step, code time units */
  struct tally full, hard;
  double imbalance;                      /* of the work */
  double imbalance_particles;            /* of the number of particles during the substeps (N_local) */
  double imbalance_hard;                 /* of these plus the LET entries received for hard forces (N_local + N_hard) */
  double imbalance_pairs_hard;           /* of the interactions of the hard walks */
  double imbalance_seconds;              /* of the seconds spent computing */
  double seconds[PHASE_COUNT];           /* by phase, of the slowest rank */
  double wall;                           /* seconds in all phases of this rank */
  double cells, particles, bytes;        /* LETs: cells and particles received, bytes sent */
  int64_t update_messages, update_bytes; /* LET updates sent in substeps */
  int64_t violations, late;    /* particles that will exceed, and that exceeded, the motion bound of the LETs */
  int64_t outside;             /* positions clamped to the lattice boundary */
  double list_full, list_hard; /* interaction list entries per target */
  double h;                    /* time of a hard force divided by that of a full force; 0: no hard forces */
  int64_t levels[32];          /* particles by block level */
  struct list_tally lists;     /* of all ranks: the hard part from neighbour lists, else zeros */
  double neighbours;           /* its neighbours, mean over the particles */
};

/* The files of the tables, on rank 0 only; from the fourth on only where enabled. */
struct log_files {
  FILE *energy, *steps, *timers, *substeps, *tuner, *choice, *analysis, *binaries, *events, *collisions, *cluster;
  struct spool *spool[LOGS_TABLES]; /* the files of these and of comm.csv; NULL: there is no such table */
  long long unwritten;              /* bytes of rows of all tables that are in memory only */
};

/* The error of the energy. */
struct log_error {
  double first, worst; /* total energy at the start; largest |dE/E| so far */
  /* of errors, with Comoving = on: kinetic and potential energy of the last row; 0: `first` */
  double scale;
  int known; /* `first` is set; 2: and there was a row after it */
};

/* What is printed of the progress: a line that renews itself on a terminal, or the lines of a log (terminal.c). Rank 0.
 */
struct progress {
  double begin, end;   /* of the run, code time units */
  double started;      /* wall clock, seconds */
  int lines;           /* progress lines so far; negative: none are printed */
  int verbose;         /* a row of numbers for each soft step in place of these lines */
  int renews;          /* standard output is a terminal */
  int on_screen;       /* the line stands there, without an end of line */
  double due;          /* clock from which the next line may appear */
  double fraction;     /* of the run at the last line */
  double clock, error; /* clock of the last line; |dE/E| of the last row of energy.csv, negative: none yet */
  long long step;      /* soft steps at the last line */
};

/* 1: the warning was printed. */
struct warned {
  int outside, late, level, lattice, energy, soft_step, collapse;
};

/* Whether hard forces are as dear as full ones: sums over the first steps. */
struct hard_cost {
  int steps;       /* that the next two are sums of */
  double h, lists; /* h, and hard over full list lengths */
};

struct logs {
  const struct param_origin *origin; /* rank 0: that of the parameters, set before the tables are opened; NULL: none */
  struct log_files files;
  struct traffic traffic; /* comm.csv */
  struct log_error error;
  struct promise promise;
  struct progress progress;
  struct warned warned;
  struct hard_cost hard;
  struct close_pairs close_pairs;
};

/* Make OutputDir, open the tables and write parameters-used.ini (rank 0). A folder with results of an earlier run is a
 * fault unless `overwrite` is set. Collective; all ranks agree on the result. 0 or -1. */
int logs_open(struct logs *logs, const struct sim *sim, int overwrite, struct fault *fault);
/* The tables at a checkpoint. */
struct logs_ends {
  long long end[LOGS_TABLES];     /* bytes of each table, with those in memory; -1: there is no such table */
  long long written[LOGS_TABLES]; /* bytes of these in the file */
  /* checksums of these: of all (0: unknown), and the marks (struct spool_sums) */
  long long sums[LOGS_TABLES][1 + SPOOL_MARKS];
};
/* Bytes of rows that are not in the files. */
long long logs_unwritten(const struct logs_ends *ends);
/* As logs_open, but tables continue as they were at the checkpoint: files are cut back to `ends->written`, and the rows
 * follow that were not in the files. A table that is missing, too short or was changed is reported on stderr and by a
 * comment line in it, and continues with what is left. `rows` [logs_unwritten]: of all tables in their order (rank 0).
 * Collective. 0 or -1. */
int logs_resume(struct logs *logs, const struct sim *sim, const struct logs_ends *ends, const char *rows,
                struct fault *fault);
/* Write all rows so far to the files, and flush these to the disk. `ends`: the tables (rank 0; elsewhere no table
 * exists). Returns the rows [logs_unwritten] that the disk did not take, of all tables in their order; free with
 * memory_free, NULL: none. Local. */
char *logs_flush(struct logs *logs, struct sim *sim, struct logs_ends *ends);
/* Close the tables, without rows that are not yet written, and begin new ones in OutputDir, where the folder of the
 * present ones is no longer the run's. A table that cannot be made is not written, with a fault. For rank 0. */
void logs_begin_again(struct logs *logs, const struct sim *sim, struct fault *fault);
/* Close the tables. Collective. 0, or -1 where rows could not be written. */
int logs_close(struct logs *logs, const struct sim *sim, struct fault *fault);
/* A fault where tables or snapshots of an earlier run are in OutputDir (unless `overwrite`), or where the input would
 * be replaced. Not collective. 0 or -1. */
int logs_check_results(const struct params *params, int overwrite, struct fault *fault);
/* Whether logs_open would fail because of the folder. Makes nothing. Not collective. 0 or -1. */
int logs_check(const struct params *params, int overwrite, struct fault *fault);
/* Whether logs_resume would fail because of the folder. Makes nothing. Not collective. 0 or -1. */
int logs_check_resume(const struct params *params, struct fault *fault);

/* Reduce the counts of the last soft step, of length `dt`, over ranks. Resets the timer. Collective. */
void logs_collect(struct step_report *report, struct sim *sim, double dt);
/* Write rows to comm.csv about all messages since the last call. Collective. */
void logs_traffic(struct logs *logs, const struct sim *sim);
/* Write a row to energy.csv (rank 0) and update the largest error. */
void logs_energy(struct logs *logs, const struct sim *sim);
/* Write rows to steps.csv, timers.csv, substeps.csv and tuner.csv (rank 0). `energy`: sim->now has a potential
 * energy. */
void logs_step(struct logs *logs, struct sim *sim, const struct step_report *report, int energy);
/* Write rows to collisions.csv (rank 0) about the soft step under way. */
void logs_collisions(struct logs *logs, const struct sim *sim);
/* Write rows to choice.csv (rank 0) about the last choice of a scheme; nothing where there was none. */
void logs_choice(struct logs *logs, const struct sim *sim);
/* The error of a total energy for the promise of Accuracy: relative to the energy at the start, or to a tenth of
 * kinetic and potential energy (with Comoving = on all of them), whichever is larger; NAN: it is not known. */
double logs_promised_error(const struct logs *logs, const struct sim *sim, double total);
/* |dE/E| of a total energy relative to that of the start; NAN where that was 0. */
double logs_error(const struct logs *logs, double total);
/* The largest |dE/E| so far; NAN as above. */
double logs_worst(const struct logs *logs);
/* Format a relative error with this number of digits; "-" for NAN. Returns `text`. */
const char *logs_error_text(double error, int digits, char *text, size_t size);
#endif
