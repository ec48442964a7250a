/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The choice among shared, block and hybrid steps in a run (Mode = auto, Scheme = auto; tuning/choice.h): measures the system, makes trial
 * steps of the promising candidates, and makes the chosen Mode, Scheme and R1OverR0 the run's parameters.
 *
 * The first choice is by the model alone. Unless Repeatable is on, the first soft steps are then made with each promising candidate in turn;
 * they meet the same error, so nothing is taken back. Later the system is measured again every CHOOSE_INTERVAL soft steps, and
 * with one step for all, which costs less than the measurement, every CHOOSE_INTERVAL_SHARED. */
#ifndef CHOOSE_H
#define CHOOSE_H
#include "step/sim.h"

enum { CHOOSE_INTERVAL = 100, CHOOSE_INTERVAL_SHARED = 400 };

/* 1: there are several candidates. Local. */
int choose_asked(const struct params *p);
/* Note the parameters as given, and where they allow one candidate only make it the run's. Before the first force. Local. */
void choose_only(struct sim *s);
/* The same for a system from a checkpoint, whose parameters *s->par have the candidate in use. `asked`: the parameters as given. Local. */
void choose_resume(struct sim *s, const struct params *asked);
/* Forget what trials have measured, and look at the system after the next soft step: other parameters of steps hold now. Local. */
void choose_forget(struct sim *s);
/* Make the first choice, from the sums of a first force (s->now, s->system). From then on s->par is s->own. Collective. */
void choose_first(struct sim *s);
/* After a soft step that took `seconds` (the same on all ranks): the next trial, the decision after the last one, or another look. `p`: the
 * parameters to change, to which s->par leads. Returns 1 where a decision has been made. Collective. */
int choose_step(struct sim *s, struct params *p, double seconds);
/* 1: there was something to choose in this run. Local. */
int choose_used(const struct sim *s);
/* Print the choice, and in a line or two what the others would cost. Local. */
void choose_print(const struct sim *s, FILE *out);
/* Write "Scheme at this start: NAME". Local. */
void choose_name_now(const struct sim *s, FILE *out);
/* Print the candidates, for `run --check`. bytes[2]: memory of a rank without and with the split. Local. */
void choose_report(const struct sim *s, const double bytes[2], FILE *out);
/* choice.csv: the line of column names; a row for each candidate of the last decision. */
void choose_header(FILE *out);
void choose_rows(const struct sim *s, FILE *out);
#endif
