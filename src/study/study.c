/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "study/study.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "run/start.h"
#include "step/plan.h"
#include "system/radius.h"
#include "study/study_table.h"
#include "study/virtual_trace.h"

#define PROGRESS_SECONDS 10
#define NO_OUTPUT 1e30   /* a time after any step */

struct study {
  const struct comm *c;
  const struct study_options *options;
  struct study_table table;
  struct virtual_rank *rows[STUDY_MAX];   /* for each number of ranks; kept for all R1, because soft LETs do not depend on R1 */
  double begun, printed;                  /* clock: start of this number of ranks; last progress line */
  int ranks, disagree;
  struct fault trace_fault;
  struct params used;                     /* of the radius under way */
};

/* --- progress ---------------------------------------------------------------------------------------------------- */

/* Callback of virtual_count: print the progress of this number of ranks every PROGRESS_SECONDS. */
static void progress(void *of, double done)
{
  struct study *s = of;
  double now = timer_clock(), elapsed = now - s->begun;
  if (s->c->rank != 0 || now - s->printed < PROGRESS_SECONDS || done <= 0) return;
  s->printed = now;
  fprintf(stderr, "# P = %d: %2.0f %% after %.0f s, about %.0f s to go\n", s->ranks, 100 * done, elapsed, elapsed * (1 - done) / done);
}

/* --- one number of ranks ----------------------------------------------------------------------------------------- */

/* Compare real ranks with the virtual ones. Collective; all ranks get the first difference. */
static void compare(struct study *s, struct global_particles *w, const struct virtual_rank *rows, int kinds)
{
  struct virtual_rank real;
  struct fault f = {""};
  virtual_real(s->c, w, kinds, &real);
  virtual_differ(&rows[s->c->rank], &real, s->c->rank, kinds, &f);
  int differ = comm_agree(s->c, &f) != 0;
  s->disagree |= differ;
  if (s->c->rank == 0) study_table_compared(&s->table, s->c->size, differ ? f.text : NULL);
}

static void count(struct study *s, struct global_particles *w, const struct study_facts *facts, int which, int kinds)
{
  size_t n = (size_t)s->options->ranks[which];
  if (!s->rows[which]) s->rows[which] = memory_alloc("study", sizeof **s->rows * n);
  s->ranks = s->options->ranks[which];
  s->begun = s->printed = timer_clock();
  const struct trace_outputs *to = &s->options->trace;
  struct virtual_messages messages = {0};
  int trace = to->ti || to->goal || to->events;
  virtual_count_messages(s->c, w, s->ranks, kinds, s->rows[which], progress, s, trace ? &messages : NULL);
  if (trace) virtual_trace(s->c, s->ranks, s->rows[which], &messages, to, &s->trace_fault);
  memory_free(messages.message);
  if (s->c->rank == 0) study_table_row(&s->table, facts, s->ranks, s->rows[which], timer_clock() - s->begun);
  if (s->ranks == s->c->size && s->c->size > 1) compare(s, w, s->rows[which], kinds);
}

/* --- one radius -------------------------------------------------------------------------------------------------- */

/* Read the particles, compute their accelerations and gather them. Collective. 0 or -1. */
static int prepare(struct study *s, const struct params *par, struct global_particles *w, struct study_facts *facts, struct fault *f)
{
  struct sim sim;
  struct params start = *par;
  strcpy(start.DomainGrid, "auto");   /* the given grid is for virtual ranks */
  if (sim_start(&sim, s->c, &start, f)) return -1;
  sim_first_force(&sim);
  double r2 = sim.split.on ? sim.split.r2 : sim.radius_rule;
  /* the length of soft steps that no output time shortens */
  struct plan plan = plan_next(par, &sim.now, &sim.system, 0, NO_OUTPUT, r2, sim.split.on, 0);
  double r0 = radius_by_rule(s->c, sim.be, sim.dev, sim.hard.count, par->RQuantile) / 4;
  if (sim.now.bad > 0) fault_set(f, "%.0f particle%s forces that are not finite", sim.now.bad, sim.now.bad == 1 ? " has" : "s have");
  int failed = comm_agree(s->c, f);
  if (!failed) global_particles_gather(w, &sim, plan.soft_step);
  s->used = params_of_run(par, sim.hard.count, sim.be->particle_bytes > 0);
  s->used.run.types = sim.par->run.types;
  w->par = &s->used;
  *facts = (struct study_facts){.particles = sim.now.count,
                                .r0 = r0,
                                .r1 = sim.split.on ? sim.split.r1 : 0,
                                .r2 = sim.split.on ? sim.split.r2 : 0,
                                .soft_step = plan.soft_step};
  sim_close(&sim);
  return failed;
}

static int one_radius(struct study *s, const struct params *par, int first, struct fault *f)
{
  struct global_particles w;
  struct study_facts facts;
  if (prepare(s, par, &w, &facts, f)) return -1;
  if (s->c->rank == 0 && first) study_table_start(&s->table, par, s->c->size, f);
  if (comm_verdict(s->c, f)) {
    global_particles_free(&w);
    return -1;
  }
  if (s->c->rank == 0) study_table_begin(&s->table, &facts, s->c->size);
  for (int k = 0; k < s->options->rank_count; k++) count(s, &w, &facts, k, first ? VIRTUAL_ALL : 1 << LET_STEP);
  global_particles_free(&w);
  return 0;
}

/* --- all of them ------------------------------------------------------------------------------------------------- */

static int all_radii(struct study *s, const struct params *par, struct fault *f)
{
  const struct study_options *o = s->options;
  struct params own = *par;
  if (o->r1_count > 0 && (params_mode(par) == MODE_TREE || par->R1 > 0 || par->R2 > 0))
    return fault_set(f, "--r1 sets the rule's R1OverR0, which does nothing %s",
                     params_mode(par) == MODE_TREE ? "with Mode = tree" : "where R1 or R2 is given");
  for (int k = 0; k < o->r1_count || k == 0; k++) {
    if (o->r1_count > 0) own.R1OverR0 = o->r1[k];
    if (one_radius(s, &own, k == 0, f)) return -1;
  }
  return 0;
}

int study_let(const struct comm *c, const struct params *par, const struct study_options *options)
{
  struct study s = {.c = c, .options = options};
  struct fault f = {""};
  struct params own = *par;
  own.Tuning = TUNING_FROZEN;   /* counts must not depend on measured times */
  params_use_walks(&own);   /* its tables are of hard walks */
  par = &own;
  if (c->rank == 0) study_table_open(&s.table, options, par, &f);
  if (comm_verdict(c, &f) == 0) all_radii(&s, par, &f);
  if (!f.text[0] && s.trace_fault.text[0]) f = s.trace_fault;
  if (!f.text[0] && s.disagree) fault_set(&f, "virtual and real ranks do not agree");
  if (c->rank == 0) study_table_close(&s.table, &f);
  comm_verdict(c, &f);
  for (int k = 0; k < STUDY_MAX; k++) memory_free(s.rows[k]);
  comm_print_fault(c, "error", &f);
  return f.text[0] != 0;
}
