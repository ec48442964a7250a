/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The choice among shared, block and hybrid steps in a run (Mode = auto, Scheme = auto; tuning/choice.h): measures the system, makes trial
 * steps of the promising candidates, and makes the chosen Mode, Scheme and R1OverR0 the run's parameters.
 *
 * The first choice is by the model alone. Unless Repeatable is on, the first soft steps are then made with each promising candidate in turn;
 * they meet the same error, so nothing is taken back. Later the system is measured again from time to time (choice_interval).
 *
 * choice.csv has all candidates at each measurement, and each trial. With Repeatable on, a run repeats the choices that the file in OutputDir
 * has, from an earlier run: then bits repeat although clocks decided. */
#ifndef CHOOSE_H
#define CHOOSE_H
#include "step/sim.h"

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
/* Seconds of a clock for work: of the processor on cores, so that other programs do not count. Local. */
double choose_clock(const struct sim *s);
/* Begin and end the measurement of a soft step: its seconds without those in which other programs had the cores. Local. */
void choose_begin(struct sim *s);
void choose_end(struct sim *s);
/* After a soft step: the next trial, the decision after the last one, or another look. `p`: the parameters to change, to which s->par leads.
 * Returns 0; 1 where there are rows for choice.csv; 2 where the terminal is to say the choice too. Collective. */
int choose_step(struct sim *s, struct params *p);
/* With Repeatable on: read the choices that choice.csv in OutputDir has, from a run that this one replaces, and make them again; without such a
 * file nothing happens. Before the first force. Collective. 0 or -1. */
int choose_read(struct sim *s, struct fault *f);
/* Make the choices of an earlier run instead: that of the soft step `step` (0: the first one) is `scheme`; `why`: enum chose. Call before the
 * first force, for growing steps. Returns 0, or -1 where there are too many (CHOOSE_AGAIN_MAX). Local. */
int choose_again(struct sim *s, long long step, int scheme, int why);
/* The candidate with this name and R1OverR0 in choice.csv; -1: none, or it is not allowed. Local. */
int choose_candidate(const struct params *asked, const char *name, const char *ratio);
/* What the models predict of |dE/E| within ten dynamical times, of the scheme in use with the soft step of `plan`: by steps, and by forces. Zeros
 * where they say nothing: in comoving coordinates, with neighbour lists, other criteria or one step by Eta. Local. */
struct choose_errors { double steps, forces, wanted; };   /* wanted: of both, by Accuracy */
struct choose_errors choose_errors(const struct sim *s, const struct plan *plan);
/* 1: there was something to choose in this run. Local. */
int choose_used(const struct sim *s);
/* Print the choice, and in a line or two what the others would cost. Local. */
void choose_print(const struct sim *s, FILE *out);
/* Write "Scheme at this start: NAME". Local. */
void choose_name_now(const struct sim *s, FILE *out);
/* Print the candidates, for `run --check`. bytes[2]: memory of a rank without and with the split. Local. */
void choose_report(const struct sim *s, const double bytes[2], FILE *out);
/* Print the errors that are predicted, and a warning where they are above the wanted ones, for `run --check`. Local. */
void choose_report_errors(const struct sim *s, const struct plan *plan, FILE *out);
/* After a soft step: its seconds correct the predictions of all candidates, for `run --check`. Returns the predicted seconds per unit of time of
 * the scheme in use; 0: not known. Collective. */
double choose_corrected(struct sim *s);
/* choice.csv: the line of column names; a row for each candidate of the last measurement, or one for a trial. */
void choose_header(FILE *out);
void choose_rows(const struct sim *s, FILE *out);
#endif
