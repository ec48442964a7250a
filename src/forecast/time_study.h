/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TIME_STUDY_H
#define TIME_STUDY_H
#include "study/study.h"

enum { TIME_RANKS_MAX = 1 << 20, TIME_COUNTED_MAX = 4096, TIME_FILES = 8 };

struct time_options {
  const char *machine;  /* file */
  int ranks[STUDY_MAX]; /* [rank_count] */
  int rank_count;
  int any_ranks; /* 1: of these, which increase, those that can be predicted for so many particles */
  /* particles per rank for all numbers of ranks, by the laws alone; 0: the particles of the file */
  double weak;
  enum study_scheme scheme[STUDY_SCHEMES]; /* [scheme_count] */
  int scheme_count;
  const char *output; /* CSV table, or NULL */
  int overwrite;
};

/* Predict the seconds of a soft step and of a unit of time on a machine, by scheme and number of ranks (event_model.h);
 * where P is too large to be counted, by laws that are fitted to smaller P. `par`: [files] parameters, of which the
 * first is studied; the others give the laws further numbers of particles. Collective. Returns the exit status (0 or
 * 1). */
int time_study(const struct comm *comm, const struct params *par, int files, const struct time_options *options);
/* Measure this machine and write its file, on two ranks or more: messages between them, and soft steps of a Plummer
 * sphere by the accuracy, criteria and kernel of the parameters. Collective. Returns the exit status. */
int machine_study(const struct comm *comm, const struct params *par, const char *output, int overwrite);
#endif
