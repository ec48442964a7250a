/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What Accuracy promises of a run, and how far the run has kept it (doc/accuracy.md): the errors of energy and momentum
 * are at most the wanted |dE/E| per dynamical time (EnergyError, where that is given) times the dynamical times since
 * the start, which count as PROMISE_TIMES at least. Local; the same on all ranks. */
#ifndef PROMISE_H
#define PROMISE_H
#include "step/sim.h"

/* that of Accuracy = finest: smaller errors are not reached by forces in single precision */
#define PROMISE_WANTED_MIN 1e-7
#define PROMISE_TIMES 10     /* dynamical times at least: errors of the first ones do not grow with the time */
#define PROMISE_WARNING 3.0  /* so many times the promise has a warning, */
#define PROMISE_BROKEN 100.0 /* and so many times makes a run untrusted, */
#define ERROR_UNTRUSTED 0.05 /* as does this error, whatever is promised */

/* The worst of an error so far, by its ratio to what was promised then. */
struct kept {
  double error, promised, time; /* promised 0: nothing was, and the error is the largest one */
  double untrusted;             /* of energies, 1: at some time it was too large for the run to be trusted */
};

struct promise {
  double wanted;       /* per dynamical time; 0: nothing is promised, since */
  const char *without; /* the parameter of this name is given; NULL: there is another reason */
  double dynamical;    /* dynamical times so far; from here on doubles only, for checkpoints */
  struct kept energy, momentum;
};
enum { PROMISE_NUMBERS = 9 };

/* Begin the account of a run whose settings are made. */
void promise_open(struct promise *promise, const struct sim *sim);
/* The same for a run of an older version, that is at sim->time and has none: as with the present dynamical time. */
void promise_resume(struct promise *promise, const struct sim *sim);
/* Count a soft step of this length, which has ended. */
void promise_step(struct promise *promise, const struct sim *sim, double soft_step);
/* The dynamical time by the present sums: sqrt(r^3 / (G M)), r = G M^2 / (4 |E|). 1e300: it is not known. */
double promise_dynamical_time(const struct sim *sim);
/* What is promised by now; 0: nothing. */
double promise_now(const struct promise *promise);
/* Note an error at the present time. */
void promise_note(const struct promise *promise, struct kept *kept, double error, double time);
/* 1: the error was PROMISE_WARNING times as large as promised. */
int promise_missed(const struct kept *kept);
/* What is promised by now, or why nothing is, in words: "Accuracy = standard promised 1.0e-04". Returns text. */
const char *promise_text(const struct promise *promise, const struct params *params, double promised, char text[160]);
#endif
