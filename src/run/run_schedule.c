/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "base/watchdog.h"
#include "run/run_parts.h"
#include "run/start.h"
#include "step/effects.h"
#include "step/step.h"
#include "scheme/tree_steps.h"
#include "step/scheme.h"
#include "settings/settings.h"

/* The schedule of the first soft step, of a system without forces. Collective. */
static void print_first(struct sim *sim, struct fault *fault)
{
  struct outputs outputs = {0};
  if (check_times(sim->par, sim->time, fault) == 0) outputs_open(&outputs, sim->par, fault);
  if (comm_agree(sim->comm, fault)) {
    outputs_close(&outputs);
    return;
  }
  settings_first_force(sim);
  struct plan plan = effects_plan(sim, outputs_next(&outputs, sim->time));
  outputs_close(&outputs);
  if (run_check_advance(sim, &plan, fault)) return;
  if (sim->comm->rank == 0)
    printf("schedule of the first soft step, %s: %.0f particle%s, %d rank%s, backend %s, soft step %g\n",
           sim->scheme->mode, sim->now.count, plural(sim->now.count), sim->comm->size, plural(sim->comm->size),
           sim->be->name, plan.soft_step);
  tree_steps_print_schedule(sim, &plan, stdout);
}

int run_schedule(const struct comm *comm, const struct params *par)
{
  struct sim sim;
  struct fault f = {""};
  watchdog_start(par->WatchdogMinutes);
  if (sim_start(&sim, comm, par, &f) == 0) {
    print_first(&sim, &f);
    sim_close(&sim);
  }
  watchdog_stop();
  if (comm_agree(comm, &f) == 0) return 0;
  comm_print_fault(comm, "error", &f);
  return 1;
}
