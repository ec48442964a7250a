/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "study/study.h"

#include <string.h>

#include "base/memory.h"
#include "study/soft_step.h"
#include "study/study_system.h"
#include "study/study_table.h"
#include "study/virtual_trace.h"

#define PROGRESS_SECONDS 10

struct study {
  const struct comm *c;
  const struct study_options *options;
  struct study_table table;
  struct virtual_rank *rows[STUDY_MAX];   /* for each number of ranks; kept for all R1, because soft LETs do not depend on R1 */
  double begun, printed;                  /* clock: start of this number of ranks; last progress line */
  int ranks, disagree;
  struct fault trace_fault;
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
  if (s->c->rank == 0) study_text_compared(s->c->size, differ ? f.text : NULL);
}

static void count(struct study *s, struct study_system *y, int which, int kinds)
{
  struct global_particles *w = &y->synchronised;
  size_t n = (size_t)s->options->ranks[which];
  if (!s->rows[which]) s->rows[which] = memory_alloc("study", sizeof **s->rows * n);
  s->ranks = s->options->ranks[which];
  s->begun = s->printed = timer_clock();
  const struct trace_outputs *to = &s->options->trace;
  struct virtual_messages messages = {0};
  int trace = to->ti || to->goal || to->events;
  virtual_count_messages(s->c, w, s->ranks, kinds, s->rows[which], progress, s, trace ? &messages : NULL);
  struct let_request soft = global_particles_request(w, LET_SOFT);
  if (trace) virtual_trace(s->c, s->ranks, s->rows[which], &messages, &soft, to, &s->trace_fault);
  virtual_messages_free(&messages);
  s->printed = timer_clock();
  struct soft_step_wants wants = {.pairs = s->options->pairs != NULL, .progress = progress, .of = s};
  struct soft_step step = soft_step_count(s->c, w, &y->kicked, &y->input, s->ranks, s->rows[which], &wants);
  if (s->c->rank == 0) study_table_row(&s->table, &y->facts, s->ranks, s->rows[which], &step, timer_clock() - s->begun);
  soft_step_free(&step);
  if (s->ranks == s->c->size && s->c->size > 1 && !s->options->as_device) compare(s, w, s->rows[which], kinds);
}

/* --- one radius -------------------------------------------------------------------------------------------------- */

static int one_radius(struct study *s, const struct params *par, int first, struct fault *f)
{
  struct study_system y;
  if (study_system_open(&y, s->c, par, 0, f)) return -1;
  if (s->options->as_device) study_system_use_device(&y);
  if (s->c->rank == 0 && first) study_table_start(&s->table, par, s->c->size, f);
  if (comm_verdict(s->c, f)) {
    study_system_close(&y);
    return -1;
  }
  if (s->c->rank == 0 && first) study_text_few_particles(s->options->ranks, s->options->rank_count, y.facts.particles);
  if (s->c->rank == 0) study_text_begin(&s->table.text, &y.facts, s->c->size);
  for (int k = 0; k < s->options->rank_count; k++) count(s, &y, k, first ? VIRTUAL_ALL : 1 << LET_STEP);
  if (s->c->rank == 0) study_text_end(&s->table.text, &y.facts);
  study_system_close(&y);
  return 0;
}

/* --- all of them ------------------------------------------------------------------------------------------------- */

static int all_radii(struct study *s, const struct params *par, int first, struct fault *f)
{
  const struct study_options *o = s->options;
  struct params own = *par;
  for (int k = 0; k < o->r1_count || k == 0; k++) {
    if (o->r1_count > 0) own.R1OverR0 = o->r1[k];
    if (one_radius(s, &own, first && k == 0, f)) return -1;
  }
  return 0;
}

/* Before any count: whether --r1 has an effect in all schemes. */
static int check_radii(const struct study_options *o, const struct params *par, struct fault *f)
{
  struct params own = *par;
  for (int k = 0; o->r1_count > 0 && (k < o->scheme_count || k == 0); k++) {
    if (o->scheme_count > 0) study_use_scheme(&own, o->scheme[k]);
    if (params_mode(&own) == MODE_TREE || own.R1 > 0 || own.R2 > 0)
      return fault_set(f, "--r1 sets the rule's R1OverR0, which does nothing %s", params_mode(&own) == MODE_TREE ? "with Mode = tree" : "where R1 or R2 is given");
  }
  return 0;
}

static void all_schemes(struct study *s, const struct params *par, struct fault *f)
{
  const struct study_options *o = s->options;
  struct params own = *par;
  if (o->scheme_count == 0) all_radii(s, par, 1, f);
  for (int k = 0; k < o->scheme_count; k++) {
    study_use_scheme(&own, o->scheme[k]);
    if (all_radii(s, &own, k == 0, f)) return;
  }
}

int study_let(const struct comm *c, const struct params *par, const struct study_options *options)
{
  struct study s = {.c = c, .options = options};
  struct fault f = {""};
  struct params own = *par;
  own.Tuning = TUNING_FROZEN;   /* counts must not depend on measured times */
  params_use_walks(&own);   /* its tables are of hard walks */
  study_use_order(&own, options->as_device);
  par = &own;
  if (c->rank == 0 && check_radii(options, par, &f) == 0) study_table_open(&s.table, options, par, &f);
  if (comm_verdict(c, &f) == 0) all_schemes(&s, par, &f);
  if (c->rank == 0 && !f.text[0]) study_text_legend(&s.table.text);
  if (!f.text[0] && s.trace_fault.text[0]) f = s.trace_fault;
  if (!f.text[0] && s.disagree) fault_set(&f, "virtual and real ranks do not agree");
  if (c->rank == 0) study_table_close(&s.table, &f);
  comm_verdict(c, &f);
  for (int k = 0; k < STUDY_MAX; k++) memory_free(s.rows[k]);
  comm_print_fault(c, "error", &f);
  return f.text[0] != 0;
}
