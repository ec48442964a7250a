/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "base/timer.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fault.h"
#include "base/ledger.h"

const char *const phase_names[PHASE_COUNT] = {
#define X(name) #name,
    PHASES(X)
#undef X
};

static atomic_ulong begun;

unsigned long timer_begun(void) { return atomic_load(&begun); }

static double seconds_of(clockid_t clock)
{
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double timer_clock(void) { return seconds_of(CLOCK_MONOTONIC); }

double timer_processor(int threads)
{
  double process = seconds_of(CLOCK_PROCESS_CPUTIME_ID) / threads, own = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  return process > own ? process : own;
}

/* With ESPALIER_CLOCK=cpu, phases are measured in processor time: where ranks share cores, wall-clock time exceeds the
 * time that a rank computes. */
static int processor_time(void)
{
  static int processor = -1;
  if (processor < 0) {
    const char *asked = getenv("ESPALIER_CLOCK");
    processor = asked && strcmp(asked, "cpu") == 0;
  }
  return processor;
}

static double phase_clock(void) { return seconds_of(processor_time() ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC); }

void timer_reset(struct timer *timer)
{
  memset(timer->seconds, 0, sizeof timer->seconds);
  timer->now = PHASE_other;
  timer->since = phase_clock();
  if (timer->ledger) ledger_phase(timer->ledger, timer->now);
}

void timer_phase(struct timer *timer, enum phase next)
{
  if (timer->drain) timer->drain(timer->drain_argument);
  double now = phase_clock();
  timer->seconds[timer->now] += now - timer->since;
  timer->since = now;
  timer->now = next;
  fatal_phase(phase_names[next]);
  atomic_fetch_add_explicit(&begun, 1, memory_order_relaxed);
  if (timer->ledger) ledger_phase(timer->ledger, next);
  if (timer->follow) timer->follow(phase_names[next]);
}

double timer_computing(const struct timer *timer)
{
  static const enum phase computing[] = {PHASE_order, PHASE_build,     PHASE_moments, PHASE_groups,
                                         PHASE_walk,  PHASE_hard_walk, PHASE_correct};
  double sum = 0;
  for (size_t k = 0; k < sizeof computing / sizeof *computing; k++) {
    sum += timer->seconds[computing[k]];
    /* a waiting rank uses no processor time, and the ledger holds wall-clock time */
    if (!timer->ledger || processor_time()) continue;
    struct ledger_sum messages = ledger_sum(timer->ledger, computing[k]);
    sum -= messages.peers.waited + messages.collectives.waited;
  }
  return sum > 0 ? sum : 0;
}

double timer_total(const struct timer *timer)
{
  double sum = 0;
  for (int p = 0; p < PHASE_COUNT; p++) sum += timer->seconds[p];
  return sum;
}
