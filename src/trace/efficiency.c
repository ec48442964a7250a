/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "trace/efficiency.h"

#include <stdio.h>

/* From this parallel efficiency on no factor is low. */
#define PARALLEL_HIGH 0.99

static double ratio(double a, double b) { return b > 0 ? a / b : 1; }

struct efficiency efficiency_of(double useful_mean, double useful_max, double seconds, double ideal)
{
  int known = ideal >= 0;
  return (struct efficiency){.load_balance = ratio(useful_mean, useful_max),
                             .communication = ratio(useful_max, seconds),
                             .serialisation = known ? ratio(useful_max, ideal) : 0,
                             .transfer = known ? ratio(ideal, seconds) : 0,
                             .parallel = ratio(useful_mean, seconds)};
}

const char *efficiency_lowest(const struct efficiency *efficiency, char text[EFFICIENCY_TEXT])
{
  const struct efficiency *e = efficiency;
  int known = e->serialisation > 0;
  double communication = !known ? e->communication : e->serialisation <= e->transfer ? e->serialisation : e->transfer;
  if (e->parallel >= PARALLEL_HIGH)
    snprintf(text, EFFICIENCY_TEXT, "no factor is low: ranks compute for nearly all of the time");
  else if (e->load_balance <= communication)
    snprintf(text, EFFICIENCY_TEXT,
             "the lowest factor is the load balance: a mean rank computes %.0f %% of the time of the busiest one",
             100 * e->load_balance);
  else if (!known)
    snprintf(text, EFFICIENCY_TEXT,
             "the lowest factor is the communication efficiency: the busiest rank waits %.0f %% of the time",
             100 * (1 - e->communication));
  else if (communication == e->serialisation)
    snprintf(text, EFFICIENCY_TEXT,
             "the lowest factor is serialisation: where messages take no time the busiest rank waits %.0f %% of it for "
             "the work of others",
             100 * (1 - e->serialisation));
  else
    snprintf(text, EFFICIENCY_TEXT,
             "the lowest factor is transfer: latency and bandwidth of the network take %.0f %% of the time",
             100 * (1 - e->transfer));
  return text;
}
