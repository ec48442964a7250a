/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What close pairs the hard part from neighbour lists cannot integrate well, in words: steps that collapse, and bound
 * pairs with a perturber. */
#ifndef CLOSE_PAIRS_H
#define CLOSE_PAIRS_H
#include "backend/neighbour_list_verbs.h"
#include "mpi/comm.h"

enum { CLOSE_PAIRS_TEXT = 800 };

/* A bound pair with a perturber, followed from soft step to soft step. Zero at first. */
struct close_pairs {
  uint64_t first, second;
  int64_t steps; /* consecutive soft steps in which it had a perturber */
  int warned;
};

/* Replace `worst` and `triple` of *total, a sum over ranks, by those of all ranks. `own`: of this rank. Collective. */
void close_pairs_gather(const struct comm *comm, const struct list_tally *own, struct list_tally *total);
/* Write to text[CLOSE_PAIRS_TEXT] which step collapsed, where, and what it does to the energy. Before: collapsed > 0.
 * Not collective. */
void close_pairs_collapse_text(const struct list_tally *total, double time, double soft_step, char *text);
/* Follow the bound pair with a perturber of the soft step of a request. Returns 1, once, where the same pair has had
 * one for many soft steps, with a warning in text[CLOSE_PAIRS_TEXT]; else 0. Not collective. */
int close_pairs_perturbed_text(struct close_pairs *pairs, const struct list_tally *total, double time,
                               const struct list_request *request, char *text);
#endif
