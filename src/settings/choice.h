/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The choice among shared, block and hybrid steps (Mode = auto, Scheme = auto): a model of costs, and the decisions.
 * All candidates meet the wanted error (errors.h) where limits of steps and values given by hand permit; the cheapest
 * one of those is chosen. choice.c states the model. Pure: no clock, no device, no message; seconds that were measured
 * are passed in, so every rank that is given the same numbers decides the same. */
#ifndef CHOICE_H
#define CHOICE_H
#include <stdint.h>

#include "params/params.h"
#include "tuning/errors.h"

/* The candidates. Where R1OverR0, R1 or R2 is given there is one hybrid, the last. */
enum choice_scheme {
  CHOICE_SHARED,        /* one step for all particles, no split: the soft step is the step */
  CHOICE_BLOCK,         /* block steps, no split */
  CHOICE_HYBRID_NARROW, /* the split with R1OverR0 = 1, block steps */
  CHOICE_HYBRID,        /* the split with the R1OverR0 of the parameters, block steps */
  CHOICES_COUNT
};
enum { CHOICE_LEVELS = 32 }; /* entries of a histogram of block levels */

/* Candidates that the parameters allow: bit s for enum choice_scheme s; 0: there is nothing to choose. */
unsigned choice_allowed(const struct params *params);
/* Make Mode, Scheme and R1OverR0 of p those of a candidate. */
void choice_set(struct params *params, enum choice_scheme scheme);
/* The candidate that p has, if Mode and Scheme are not auto. `asked`: the parameters as given. */
enum choice_scheme choice_of(const struct params *params, const struct params *asked);
/* "shared steps", "block steps", "hybrid, R1OverR0 = 1". Returns text. */
const char *choice_name(enum choice_scheme scheme, const struct params *asked, char text[64]);

/* The machine and the forces. */
struct choice_machine {
  int on_device; /* 1: a device computes, 0: cores */
  double ranks;
  double threads; /* of a rank; 1 on a device. Divides all seconds of cores, so no decision depends on it */
  double delta;   /* ErrTolForceAcc */
  int order;      /* MultipoleOrder */
};

/* A candidate for a system. */
struct choice_candidate {
  double step, eta, r2; /* soft step; Eta, 0: one step for all; R2, 0: no split */
  /* the soft step that is expected where it becomes shorter as the system varies by chance; 0: `step` */
  double expected;
  double neighbours;            /* within R2, the square of the mean of the root over the particles */
  int64_t count[CHOICE_LEVELS]; /* particles at each block level, over all ranks */
  double error;                 /* predicted |dE/E| of its steps within ten dynamical times */
  double force_seconds;         /* predicted: of full forces, with second moments as they are */
  double sync_seconds;          /* predicted: of a synchronisation */
  double step_seconds;          /* predicted: of a soft step with its substeps */
};

/* Set the predicted seconds of a candidate for a system of `particles`. */
void choice_cost(const struct choice_machine *machine, double particles, struct choice_candidate *candidate);

/* Candidates, and what is known of their costs. */
struct choice_table {
  unsigned allowed;
  double wanted; /* the error that steps may have (errors_allowed); 0: not known */
  struct choice_candidate candidate[CHOICES_COUNT];
  double factor[CHOICES_COUNT]; /* measured over predicted seconds; 0: not measured */
  /* seconds of the first full forces over the predicted ones, so how slow this machine is at present; 0: not measured.
   * For words alone: no decision depends on it */
  double slowness;
};

/* Seconds per unit of time with the expected soft step over those with the present one. */
double choice_cost_growth(const struct choice_candidate *candidate);
/* Predicted seconds per unit of time with the expected soft step: by the model, times the measured factor, or that of
 * the candidate `like`, which shares its forces (negative: none). */
double choice_predicted(const struct choice_table *table, enum choice_scheme scheme, int like);
/* The same for people: where no candidate's factor is known, on this machine as its first forces show. */
double choice_predicted_here(const struct choice_table *table, enum choice_scheme scheme, int like);
/* 1: the predicted error of a candidate is at most the wanted one. */
int choice_has_wanted_error(const struct choice_table *table, enum choice_scheme scheme);
/* The cheapest candidate that has the wanted error; where none has, that with the smallest error. */
enum choice_scheme choice_cheapest(const struct choice_table *table, int like);
/* The candidates that are worth a trial, the most promising first: those whose predicted cost is within a factor of 2.5
 * of the least, and whose trial costs at most what is left of the part `share` of the predicted run of length `time`.
 * Nothing is tried (one candidate) where the predicted run is short. `first`: the candidate in use, which is in the
 * list in any case. Returns their number. */
int choice_trials(const struct choice_table *table, int like, enum choice_scheme first, double time, double share,
                  int order[CHOICES_COUNT]);
/* 1: the first soft step of a trial took more than twice the measured seconds per unit of time of an earlier one: it
 * needs no second step. */
int choice_trial_is_lost(const int *order, int trial, const double measured[CHOICES_COUNT]);
/* The fastest of the n tried candidates by measured seconds per unit of time, with the expected soft steps; another one
 * than the first only if it is a twentieth faster. */
enum choice_scheme choice_fastest(const struct choice_table *table, const int *order, int n,
                                  const double measured[CHOICES_COUNT]);
/* Whether a change to the cheapest candidate is predicted to pay: by a tenth. */
int choice_change_pays(const struct choice_table *table, enum choice_scheme now, enum choice_scheme cheapest);
/* Soft steps of a candidate until the system is measured again, which takes less than a hundredth of their time. */
int choice_interval(const struct choice_machine *machine, const struct choice_candidate *candidate, int one_step);
#endif
