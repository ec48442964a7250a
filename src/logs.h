/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a run tells: energy.csv, steps.csv, timers.csv, substeps.csv, tuner.csv, comm.csv in the output folder, and a line a step on the terminal. */
#ifndef LOGS_H
#define LOGS_H
#include <stdio.h>

#include "plan.h"
#include "sim.h"
#include "traffic.h"

enum { LEVELS_LOGGED = 25, LOGS_TABLES = 6 };   /* tables: energy, steps, timers, comm, substeps, tuner */

/* Counts of a soft step, of all ranks. */
struct step_report {
  double dt;
  struct tally full, hard;
  double imbalance;             /* largest over mean work of the ranks */
  double imbalance_particles;   /* the same of particles during the substeps (N_local), */
  double imbalance_hard;        /* of these and what was received for their hard forces (N_local + N_hard), */
  double imbalance_pairs_hard;  /* of interactions of the hard walks, */
  double imbalance_seconds;     /* of seconds spent computing */
  double seconds[PHASE_COUNT];  /* the slowest rank's, by phase */
  double wall;                  /* all phases of this rank */
  double cells, particles, bytes;   /* LETs: received, received, sent */
  int64_t update_messages, update_bytes;   /* of LETs in substeps, sent */
  int64_t strays, late;         /* particles that were about to leave, and had left, the way that LETs allowed for */
  int64_t outside;
  double list_full, list_hard;  /* entries per target */
  double h;                     /* time of a hard force over that of a full one; 0: no hard forces */
  int64_t levels[32];
};

struct logs {
  FILE *energy, *steps, *timers, *substeps, *tuner;   /* rank 0 only; the last two where they are asked for */
  struct traffic traffic;          /* comm.csv */
  double first_energy, worst;      /* total energy at the start; largest |dE/E| so far */
  int has_energy;
  double begin, end;               /* of the run, in simulated time */
  double started;                  /* clock */
  int lines;                       /* progress lines so far; negative: there shall be none */
  int warned_outside, warned_late, warned_level, warned_lattice, warned_energy, warned_soft_step;
  int h_steps;                     /* steps that count in the next two */
  double h_sum, list_sum;          /* h, and hard over full list lengths */
};

/* Make the folder and open the tables (rank 0); faults agree on all ranks. Refuses a folder with an earlier run's tables
 * unless `overwrite`. The parameters go to parameters-used.ini. Collective. 0 or -1. */
int logs_open(struct logs *l, const struct sim *s, int overwrite, struct fault *f);
/* All rows are in the files, which end there (rank 0; -1: there is no such table). */
void logs_flush(struct logs *l, struct sim *s, long long ends[LOGS_TABLES]);
/* As logs_open, but the tables go on where they ended: rows behind that are cut off. Collective. 0 or -1. */
int logs_resume(struct logs *l, const struct sim *s, const long long ends[LOGS_TABLES], struct fault *f);
/* Whether an earlier run's tables or snapshots are there, or the input would be replaced. Local. 0 or -1. */
int logs_check_results(const struct params *p, int overwrite, struct fault *f);
/* Whether logs_open would meet a fault about the folder; makes nothing. Local. 0 or -1. */
int logs_check(const struct params *p, int overwrite, struct fault *f);
/* The same of logs_resume. Local. 0 or -1. */
int logs_check_resume(const struct params *p, struct fault *f);
/* Collective: a fault when something could not be written. */
int logs_close(struct logs *l, const struct sim *s, struct fault *f);

/* Add up the last step's counts over ranks. Collective. */
void logs_collect(struct step_report *r, struct sim *s, double dt);
/* Rows of comm.csv: all messages since the last call. Collective. */
void logs_traffic(struct logs *l, const struct sim *s);
/* A row of energy.csv. */
void logs_energy(struct logs *l, const struct sim *s);
/* Rows of steps.csv, timers.csv, substeps.csv and tuner.csv, and the progress line; `energy` tells whether s->now has a potential. */
void logs_step(struct logs *l, struct sim *s, const struct step_report *r, int energy);
/* |dE/E| of a total energy against the start's; NAN where that was 0. */
double logs_error(const struct logs *l, double total);
/* The largest so far; NAN as above. */
double logs_worst(const struct logs *l);
/* A relative error for people; "-" for NAN. Returns `text`. */
const char *logs_error_text(double error, int digits, char *text, size_t size);
#endif
