/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "base/watchdog.h"
#include "run/run_parts.h"
#include "run/start.h"
#include "step/expansion.h"
#include "step/step.h"
#include "scheme/tree_steps.h"
#include "step/scheme.h"
#include "settings/settings.h"

/* The schedule of the first soft step, of a system without forces. Collective. */
static void print_first(struct sim *s, struct fault *f)
{
  struct outputs outputs = {0};
  if (check_times(s->par, s->time, f) == 0) outputs_open(&outputs, s->par, f);
  if (comm_agree(s->comm, f)) {
    outputs_close(&outputs);
    return;
  }
  settings_first_force(s);
  struct plan plan = expansion_plan(s, outputs_next(&outputs, s->time));
  outputs_close(&outputs);
  if (run_check_advance(s, &plan, f)) return;
  if (s->comm->rank == 0)
    printf("schedule of the first soft step, %s: %.0f particle%s, %d rank%s, backend %s, soft step %g\n", s->scheme->mode,
           s->now.count, plural(s->now.count), s->comm->size, plural(s->comm->size), s->be->name, plan.soft_step);
  tree_steps_print_schedule(s, &plan, stdout);
}

int run_schedule(const struct comm *c, const struct params *par)
{
  struct sim s;
  struct fault f = {""};
  watchdog_start(par->WatchdogMinutes);
  if (sim_start(&s, c, par, &f) == 0) {
    print_first(&s, &f);
    sim_close(&s);
  }
  watchdog_stop();
  if (comm_agree(c, &f) == 0) return 0;
  comm_print_fault(c, "error", &f);
  return 1;
}
