/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the ranks sent each other and how long they waited: the ledgers of all ranks, soft step by soft step, as comm.csv,
 * and their sum over the run. */
#ifndef TRAFFIC_H
#define TRAFFIC_H
#include <stdio.h>

#include "comm.h"

#define TRAFFIC_TABLE "comm.csv"

struct traffic {
  FILE *out;              /* rank 0 with a table; owner: this object's user */
  int table, pairs;       /* rows are written; also of pairs of ranks. The same on all ranks */
  struct ledger_sum sum;  /* of this rank, over all phases so far; peers_sent is not used */
};

/* The line of names. */
void traffic_header(FILE *out);
/* Rows of what the ledgers hold, which begin anew. Collective. */
void traffic_step(struct traffic *t, const struct comm *c, long long step, double time);
/* One line about the run, on rank 0 of several. Collective. */
void traffic_sum_up(const struct traffic *t, const struct comm *c);
#endif
