/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predicted seconds on the terminal: two tables for each scheme, a legend, and the fastest scheme of each number of
 * ranks. All functions are for rank 0 and print to stdout. */
#ifndef TIME_TEXT_H
#define TIME_TEXT_H
#include "forecast/event_model.h"
#include "forecast/laws.h"
#include "forecast/machine.h"
#include "study/study.h"
#include "study/study_text.h"

/* The columns, as the legend below the tables and the help explain them; the phases of EVENT_PHASES follow. */
#define TIME_TEXT_PARTS "Parts of the soft step (in brackets: phases of timers.csv, where they have other names):\n"
#define TIME_TEXT_COLUMNS                                                                                              \
  "  by          count: the messages of so many ranks were counted; law: laws were fitted to fewer ranks; law*: the "  \
  "same,\n"                                                                                                            \
  "              beyond the range of the fit\n"                                                                        \
  "  soft step   seconds of a soft step: of the ranks that come last to its collectives\n"                             \
  "  unit time   seconds of a unit of simulated time\n"                                                                \
  "  efficiency  of the first row's unit time times P, over that of this row; weak scaling: of the unit times alone\n" \
  "  node h      node hours of a unit of simulated time\n"                                                             \
  "  mean busy   seconds of a soft step without waiting, mean over ranks; the rest of the soft step is waiting for "   \
  "slower\n"                                                                                                           \
  "              ranks, whose parts are those below\n"                                                                 \
  "  parallel    POP's parallel efficiency = load balance x serialisation x transfer: doc/communication.md; -: by "    \
  "law\n"

/* A number of ranks of a scheme. */
struct time_row {
  int which; /* index of the number of ranks in the command's list */
  double ranks, per_rank;
  const char *by;
  struct event_times times;
};

/* Zero-initialise. */
struct time_text {
  struct time_row row[STUDY_MAX]; /* [rows] of the scheme under way */
  int rows;
  const char *scheme[STUDY_SCHEMES];        /* [schemes] their names */
  double unit[STUDY_SCHEMES][STUDY_MAX];    /* [schemes][ranks] seconds of a unit of time; 0: not predicted */
  const char *by[STUDY_SCHEMES][STUDY_MAX]; /* how they were predicted */
  int schemes;
  double ranks_per_node;
  int weak;
};

/* Print what is predicted and the head of the first table of a scheme. `weak`: 1: weak scaling. */
void time_text_begin(struct time_text *text, const struct study_facts *facts, const struct machine *machine, int weak);
/* Print a row, which is kept. */
void time_text_row(struct time_text *text, const struct study_facts *facts, const struct time_row *row);
/* Print the range and the error of the laws. */
void time_text_laws(const struct laws *laws);
/* Print the efficiencies and the parts of the soft steps of the scheme. */
void time_text_end(struct time_text *text);
/* Print the legend; with several schemes also which is the fastest on each of `ranks` [count]. */
void time_text_finish(const struct time_text *text, const int *ranks, int count);
#endif
