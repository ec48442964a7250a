/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parallel efficiencies of the POP Centre of Excellence (https://pop-coe.eu, multiplicative model) of an interval: a
 * run, a recording, or a forecast. Useful seconds of a rank are those in which it does not wait for messages or
 * collectives. Pure. */
#ifndef TRACE_EFFICIENCY_H
#define TRACE_EFFICIENCY_H
#include <stddef.h>

/* parallel = load_balance * communication; communication = serialisation * transfer */
struct efficiency {
  double load_balance;  /* useful seconds, mean over ranks / largest */
  double communication; /* largest useful seconds / seconds of the interval */
  double serialisation; /* largest useful seconds / seconds on an ideal network; 0: not known */
  double transfer;      /* seconds on an ideal network / seconds of the interval; 0: not known */
  double parallel;      /* mean useful seconds / seconds of the interval */
};

enum { EFFICIENCY_TEXT = 200 };

/* The efficiencies of an interval of `seconds`. `useful_mean`, `useful_max`: useful seconds of a rank. `ideal`: seconds
 * of the interval on a network without latency and with infinite bandwidth; negative: not known. 0 / 0 is 1. */
struct efficiency efficiency_of(double useful_mean, double useful_max, double seconds, double ideal);
/* Write a sentence without a full stop: the lowest factor, and what it means; where no rank waits for more than a
 * hundredth of the time, that no factor is low. Returns `text`. */
const char *efficiency_lowest(const struct efficiency *efficiency, char text[EFFICIENCY_TEXT]);
#endif
