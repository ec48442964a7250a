/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "step/effort.h"

#include <math.h>
#include <omp.h>

#define OUTPUT_PART 0.02 /* of the seconds of a soft step; if checkpoints take more, these are not known */

int effort_on_device(const struct sim *sim) { return sim->be->particle_bytes > 0; }
int effort_threads(const struct sim *sim) { return effort_on_device(sim) ? 1 : omp_get_max_threads(); }
double effort_clock(const struct sim *sim)
{
  return effort_on_device(sim) ? timer_clock() : timer_processor(effort_threads(sim));
}

/* Seconds of waiting for messages so far. */
static double waited(const struct sim *sim)
{
  double sum = 0;
  for (int k = 0; k < PHASE_COUNT; k++) {
    struct ledger_sum one = ledger_sum(sim->comm->ledger, k);
    sum += one.peers.waited + one.collectives.waited;
  }
  return sum;
}

void effort_begin(struct sim *sim)
{
  sim->cost.clocks.clock = timer_clock();
  sim->cost.clocks.processor = timer_processor(effort_threads(sim));
  sim->cost.clocks.waited = waited(sim);
  sim->cost.clocks.output = sim->timer.seconds[PHASE_output];
}

/* On a device seconds of the clock. On cores those of the processor, and the part of waits for messages that they had
 * of the time of the clock: on a busy machine all of it grows alike. */
void effort_end(struct sim *sim)
{
  double clock = timer_clock() - sim->cost.clocks.clock,
         worked = timer_processor(effort_threads(sim)) - sim->cost.clocks.processor;
  double wait = fmin(waited(sim) - sim->cost.clocks.waited, 0.95 * clock);
  int known =
      sim->cost.clocks.clock > 0 && sim->timer.seconds[PHASE_output] - sim->cost.clocks.output <= OUTPUT_PART * clock;
  sim->cost.effort = !known ? 0 : effort_on_device(sim) ? clock : fmin(clock, worked * clock / (clock - wait));
  sim->cost.clocks.clock = 0;
}
