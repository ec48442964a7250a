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
  /* for each number of ranks; kept for all R1, because soft LETs do not depend on R1 */
  struct virtual_rank *rows[STUDY_MAX];
  double begun, printed; /* clock: start of this number of ranks; last progress line */
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
  fprintf(stderr, "# P = %d: %2.0f %% after %.0f s, about %.0f s to go\n", s->ranks, 100 * done, elapsed,
          elapsed * (1 - done) / done);
}

/* --- one number of ranks ----------------------------------------------------------------------------------------- */

/* Compare real ranks with the virtual ones. Collective; all ranks get the first difference. */
static void compare(struct study *study, struct global_particles *world, const struct virtual_rank *rows, int kinds)
{
  struct virtual_rank real;
  struct fault f = {""};
  virtual_real(study->c, world, kinds, &real);
  virtual_differ(&rows[study->c->rank], &real, study->c->rank, kinds, &f);
  int differ = comm_agree(study->c, &f) != 0;
  study->disagree |= differ;
  if (study->c->rank == 0) study_text_compared(study->c->size, differ ? f.text : NULL);
}

static void count(struct study *study, struct study_system *system, int which, int kinds)
{
  struct global_particles *w = &system->synchronised;
  size_t n = (size_t)study->options->ranks[which];
  if (!study->rows[which]) study->rows[which] = memory_alloc("study", sizeof **study->rows * n);
  study->ranks = study->options->ranks[which];
  study->begun = study->printed = timer_clock();
  const struct trace_outputs *to = &study->options->trace;
  struct virtual_messages messages = {0};
  int trace = to->ti || to->goal || to->events;
  virtual_count_messages(study->c, w, study->ranks, kinds, study->rows[which], progress, study,
                         trace ? &messages : NULL);
  struct let_request soft = global_particles_request(w, LET_SOFT);
  if (trace) virtual_trace(study->c, study->ranks, study->rows[which], &messages, &soft, to, &study->trace_fault);
  virtual_messages_free(&messages);
  study->printed = timer_clock();
  struct soft_step_wants wants = {.pairs = study->options->pairs != NULL, .progress = progress, .of = study};
  struct soft_step step =
      soft_step_count(study->c, w, &system->kicked, &system->input, study->ranks, study->rows[which], &wants);
  if (study->c->rank == 0)
    study_table_row(&study->table, &system->facts, study->ranks, study->rows[which], &step,
                    timer_clock() - study->begun);
  soft_step_free(&step);
  if (study->ranks == study->c->size && study->c->size > 1 && !study->options->as_device)
    compare(study, w, study->rows[which], kinds);
}

/* --- one radius -------------------------------------------------------------------------------------------------- */

static int one_radius(struct study *study, const struct params *par, int first, struct fault *fault)
{
  struct study_system y;
  if (study_system_open(&y, study->c, par, 0, fault)) return -1;
  if (study->options->as_device) study_system_use_device(&y);
  if (study->c->rank == 0 && first) study_table_start(&study->table, par, study->c->size, fault);
  if (comm_verdict(study->c, fault)) {
    study_system_close(&y);
    return -1;
  }
  if (study->c->rank == 0 && first)
    study_text_few_particles(study->options->ranks, study->options->rank_count, y.facts.particles);
  if (study->c->rank == 0) study_text_begin(&study->table.text, &y.facts, study->c->size);
  for (int k = 0; k < study->options->rank_count; k++) count(study, &y, k, first ? VIRTUAL_ALL : 1 << LET_STEP);
  if (study->c->rank == 0) study_text_end(&study->table.text, &y.facts);
  study_system_close(&y);
  return 0;
}

/* --- all of them ------------------------------------------------------------------------------------------------- */

static int all_radii(struct study *study, const struct params *par, int first, struct fault *fault)
{
  const struct study_options *o = study->options;
  struct params own = *par;
  for (int k = 0; k < o->r1_count || k == 0; k++) {
    if (o->r1_count > 0) own.R1OverR0 = o->r1[k];
    if (one_radius(study, &own, first && k == 0, fault)) return -1;
  }
  return 0;
}

/* Before any count: whether --r1 has an effect in all schemes. */
static int check_radii(const struct study_options *options, const struct params *par, struct fault *fault)
{
  struct params own = *par;
  for (int k = 0; options->r1_count > 0 && (k < options->scheme_count || k == 0); k++) {
    if (options->scheme_count > 0) study_use_scheme(&own, options->scheme[k]);
    if (params_mode(&own) == MODE_TREE || own.R1 > 0 || own.R2 > 0)
      return fault_set(fault, "--r1 sets the rule's R1OverR0, which does nothing %s",
                       params_mode(&own) == MODE_TREE ? "with Mode = tree" : "where R1 or R2 is given");
  }
  return 0;
}

static void all_schemes(struct study *study, const struct params *par, struct fault *fault)
{
  const struct study_options *o = study->options;
  struct params own = *par;
  if (o->scheme_count == 0) all_radii(study, par, 1, fault);
  for (int k = 0; k < o->scheme_count; k++) {
    study_use_scheme(&own, o->scheme[k]);
    if (all_radii(study, &own, k == 0, fault)) return;
  }
}

int study_let(const struct comm *comm, const struct params *par, const struct study_options *options)
{
  struct study s = {.c = comm, .options = options};
  struct fault f = {""};
  struct params own = *par;
  own.Tuning = TUNING_FROZEN; /* counts must not depend on measured times */
  params_use_walks(&own);     /* its tables are of hard walks */
  study_use_order(&own, options->as_device);
  par = &own;
  if (comm->rank == 0 && check_radii(options, par, &f) == 0) study_table_open(&s.table, options, par, &f);
  if (comm_verdict(comm, &f) == 0) all_schemes(&s, par, &f);
  if (comm->rank == 0 && !f.text[0]) study_text_legend(&s.table.text);
  if (!f.text[0] && s.trace_fault.text[0]) f = s.trace_fault;
  if (!f.text[0] && s.disagree) fault_set(&f, "virtual and real ranks do not agree");
  if (comm->rank == 0) study_table_close(&s.table, &f);
  comm_verdict(comm, &f);
  for (int k = 0; k < STUDY_MAX; k++) memory_free(s.rows[k]);
  comm_print_fault(comm, "error", &f);
  return f.text[0] != 0;
}
