/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "timer.h"

#include <string.h>
#include <time.h>

#include "fault.h"
#include "ledger.h"
#include "watchdog.h"

const char *const phase_names[PHASE_COUNT] = {
#define X(name) #name,
    PHASES(X)
#undef X
};

double timer_clock(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void timer_reset(struct timer *t)
{
  memset(t->seconds, 0, sizeof t->seconds);
  t->now = PHASE_other;
  t->since = timer_clock();
  if (t->ledger) ledger_phase(t->ledger, t->now);
}

void timer_phase(struct timer *t, enum phase next)
{
  double now = timer_clock();
  t->seconds[t->now] += now - t->since;
  t->since = now;
  t->now = next;
  fatal_phase(phase_names[next]);
  watchdog_progress();
  if (t->ledger) ledger_phase(t->ledger, next);
}

double timer_total(const struct timer *t)
{
  double sum = 0;
  for (int p = 0; p < PHASE_COUNT; p++) sum += t->seconds[p];
  return sum;
}
