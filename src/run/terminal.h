/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a run prints on the terminal: the lines at its start and end, a line per soft step, and warnings. */
#ifndef TERMINAL_H
#define TERMINAL_H
#include "analysis/inner_energy.h"
#include "run/logs.h"

struct run;

/* Find out whether the output is a terminal, on which one line renews itself. After run_start. */
void terminal_open(struct run *run);
/* Remove that line, before other output. For rank 0. */
void terminal_clear(struct logs *logs);
/* Print the size of the run, its split, tuning and initial energy. `run`: after its first forces.
 * Only rank 0 prints. Collective. */
void terminal_start(struct run *run);
/* Renew the progress line, or print one where it is due (with -v: a row for each soft step), and each warning that
 * applies and was not printed before. `report`: counts of the step, summed over ranks; `energy`: sim->now has the
 * potential energy of the step's end. For rank 0 only. */
void terminal_step(struct logs *logs, const struct sim *sim, const struct step_report *report, int energy);
/* When to report the progress of the substeps of a soft step. */
struct substeps_progress {
  double due;          /* clock of the next report; HUGE_VAL: none */
  double began, begin; /* clock, and fraction of the soft step done, at the start */
};
/* Begin to report, on rank 0, unless the run is quiet: every second on a terminal, else every minute. */
void terminal_substeps_begin(const struct run *run, struct substeps_progress *progress);
/* Print a line about the soft step under way: block steps so far, fraction done, time left. For rank 0. */
void terminal_substeps(struct run *run, struct substeps_progress *progress);
/* Print five lines: what was done, how well energy, momentum and angular momentum were kept, where snapshots and tables
 * are, and what to do next; before them with -v peak memory, messages, times and tuning. Collective; only rank 0
 * prints. */
void terminal_end(struct run *run);
/* Tell the control and the status what is saved and how to continue, for the case that SIGTERM is followed by the end
 * of the process. After each checkpoint; for rank 0, else nothing is done. */
void terminal_saved(struct run *run);

/* --- kept.c: how well energy and momentum were kept, and what was promised --- */
/* The energy within bound pairs at this synchronisation. Collective. */
void kept_inner_energy(struct run *run, struct inner_energy *inner);
/* Print the errors of energy, momentum and angular momentum, what was promised, and both in units of the energy of
 * pairs as their centres of mass where that within them is larger. Rank 0. */
void kept_print(struct run *run, const struct inner_energy *inner);
/* Say by how much an error was larger than promised, and what to change: a note, or from PROMISE_WARNING times on a
 * warning. `what`: "the energy"; `unit`: behind the number. Of a run that is trusted all the same. Rank 0. */
void kept_report_missed(const struct run *run, const char *what, const char *unit, const struct kept *kept);
#endif
