/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "study/study_table.h"

#include <math.h>
#include <string.h>

#include "base/revision.h"
#include "gravity/units.h"

/* --- numbers ----------------------------------------------------------------------------------------------------- */

/* Mean and maximum over ranks. */
struct spread {
  double mean, largest;
};

struct summary {
  struct spread local, roots, updates;
  struct {
    struct spread entries, cells, particles, contacts, messages, bytes;
  } let[LET_KINDS];
};

/* Selects one number of a row. */
typedef int64_t number_of(const struct virtual_rank *q, int kind);
static int64_t local(const struct virtual_rank *q, int kind) { return (void)kind, q->local; }
static int64_t roots(const struct virtual_rank *q, int kind) { return (void)kind, q->roots; }
static int64_t updates(const struct virtual_rank *q, int kind) { return (void)kind, q->updates; }
static int64_t cells(const struct virtual_rank *q, int kind) { return q->let[kind].received.cells; }
static int64_t particles(const struct virtual_rank *q, int kind) { return q->let[kind].received.particles; }
static int64_t contacts(const struct virtual_rank *q, int kind) { return q->contacts[kind]; }
static int64_t messages(const struct virtual_rank *q, int kind) { return q->let[kind].messages; }
static int64_t bytes(const struct virtual_rank *q, int kind) { return q->let[kind].bytes; }
/* N_soft and N_hard: entries of a walk beside the local tree. A root from a LET root summary is a cell of the soft walk. */
static int64_t entries(const struct virtual_rank *q, int kind)
{
  return cells(q, kind) + particles(q, kind) + (kind == LET_SOFT ? q->roots : 0);
}

static struct spread spread_of(const struct virtual_rank *rows, int ranks, number_of *number, int kind)
{
  int64_t sum = 0, largest = 0;
  for (int r = 0; r < ranks; r++) {
    int64_t x = number(&rows[r], kind);
    sum += x;
    largest = x > largest ? x : largest;
  }
  return (struct spread){(double)sum / ranks, (double)largest};
}

static struct summary summarise(const struct virtual_rank *rows, int ranks)
{
  struct summary s = {.local = spread_of(rows, ranks, local, 0), .roots = spread_of(rows, ranks, roots, 0),
                      .updates = spread_of(rows, ranks, updates, 0)};
  for (int k = 0; k < LET_KINDS; k++) {
    s.let[k].entries = spread_of(rows, ranks, entries, k);
    s.let[k].cells = spread_of(rows, ranks, cells, k);
    s.let[k].particles = spread_of(rows, ranks, particles, k);
    s.let[k].contacts = spread_of(rows, ranks, contacts, k);
    s.let[k].messages = spread_of(rows, ranks, messages, k);
    s.let[k].bytes = spread_of(rows, ranks, bytes, k);
  }
  return s;
}

/* The two curves of Watanabe & Nakasato 2014, fig. 4 (the first is not a number where nothing is received). */
static double hard_over_soft(const struct summary *s)
{
  return s->let[LET_SOFT].entries.mean > 0 ? s->let[LET_STEP].entries.mean / s->let[LET_SOFT].entries.mean : (double)NAN;
}
static double with_local(const struct summary *s)
{
  return (s->local.mean + s->let[LET_STEP].entries.mean) / (s->local.mean + s->let[LET_SOFT].entries.mean);
}

/* --- columns of the file ----------------------------------------------------------------------------------------- */

/* X(name, value, meaning): f are the facts, s the summary. */
#define STATE_COLUMNS(X)                                       \
  X(R1_over_R0, f->r1 / f->r0, "R1 in units of R0 (0: no split)") \
  X(R1, f->r1, "")                                             \
  X(R2, f->r2, "")                                             \
  X(dt_soft, f->soft_step, "soft step: the horizon of hard LETs") \
  X(particles, f->particles, "N")                              \
  X(ranks, ranks, "P")

#define KIND_COLUMNS(X, name, kind)                                                                                            \
  X(name##_mean, s.let[kind].entries.mean, "entries received, mean over ranks: cells and particles of LETs; soft: also roots") \
  X(name##_max, s.let[kind].entries.largest, "the same, maximum over ranks")                                                   \
  X(name##_cells, s.let[kind].cells.mean, "cells of LETs received, mean")                                                      \
  X(name##_particles, s.let[kind].particles.mean, "particles of LETs received, mean")                                          \
  X(name##_contacts, s.let[kind].contacts.mean, "ranks whose LETs a rank receives, mean")                                      \
  X(name##_contacts_max, s.let[kind].contacts.largest, "the same, maximum over ranks")                                         \
  X(name##_messages, s.let[kind].messages.mean, "messages that a rank sends: boxes and LETs, without root summaries")          \
  X(name##_messages_max, s.let[kind].messages.largest, "the same, maximum over ranks")                                         \
  X(name##_bytes, s.let[kind].bytes.mean, "bytes of these messages, mean")                                                     \
  X(name##_bytes_max, s.let[kind].bytes.largest, "the same, maximum over ranks")

#define RANK_COLUMNS(X)                                                                                                    \
  X(local_mean, s.local.mean, "particles of a rank: N / P")                                                                \
  X(local_max, s.local.largest, "the same, maximum over ranks")                                                            \
  X(card_bytes, (double)let_summary_bytes(&(struct let_request){.horizon = 0}) * (ranks - 1),                                                          \
    "bytes of LET root summaries that a rank receives at a synchronisation, in one allgather")                                     \
  X(soft_roots, s.roots.mean, "ranks of which the root in the LET root summary suffices, mean")                            \
  KIND_COLUMNS(X, soft, LET_SOFT)                                                                                          \
  KIND_COLUMNS(X, hard, LET_STEP)                                                                                          \
  X(update_bytes, s.updates.mean, "bytes that a rank sends in a substep in which all entries, also cells, were corrected") \
  X(update_bytes_max, s.updates.largest, "the same, maximum over ranks")                                                   \
  X(hard_over_soft, hard_over_soft(&s), "N_hard / N_soft, of the means")                                                   \
  X(local_hard_over_local_soft, with_local(&s), "(N_local + N_hard) / (N_local + N_soft), of the means")                   \
  X(seconds, seconds, "time of the count")

#define KIND_DOMAIN_COLUMNS(X, name, kind)                                 \
  X(name##_cells, cells(q, kind), "cells received with LETs")              \
  X(name##_particles, particles(q, kind), "particles received with LETs")  \
  X(name##_contacts, contacts(q, kind), "ranks whose LETs it receives")    \
  X(name##_messages, messages(q, kind), "messages sent: boxes and LETs")   \
  X(name##_bytes, bytes(q, kind), "bytes of these messages")

#define DOMAIN_COLUMNS(X)                                                                  \
  X(domain, r, "its rank")                                                                 \
  X(local, q->local, "particles")                                                          \
  X(soft_roots, q->roots, "ranks of which the root in the LET root summary suffices")      \
  KIND_DOMAIN_COLUMNS(X, soft, LET_SOFT)                                                   \
  KIND_DOMAIN_COLUMNS(X, hard, LET_STEP)                                                   \
  X(update_bytes, q->updates, "bytes sent in a substep in which all entries, also cells, were corrected")

#define MEANING(name, value, meaning) \
  if (*(meaning)) fprintf(t->out.file, "# %s: %s\n", #name, meaning);
#define NAME(name, value, meaning) fprintf(t->out.file, "%s%s", comma, #name), comma = ",";
#define VALUE(name, value, meaning) fprintf(t->out.file, "%s%.15g", comma, (double)(value)), comma = ",";

static void headers(const struct study_table *t, const struct params *par, int processes)
{
  const char *comma = "";
  fprintf(t->out.file, "# espalier %s (%s), study let %s on %d process%s\n", PACKAGE_VERSION, revision, par->InitCondFile, processes,
          processes > 1 ? "es" : "");
  units_describe(par, t->out.file);
  STATE_COLUMNS(MEANING)
  if (t->domains) {
    DOMAIN_COLUMNS(MEANING)
    STATE_COLUMNS(NAME)
    DOMAIN_COLUMNS(NAME)
  } else {
    RANK_COLUMNS(MEANING)
    STATE_COLUMNS(NAME)
    RANK_COLUMNS(NAME)
  }
  fputc('\n', t->out.file);
  fflush(t->out.file);
}

static void file_row(const struct study_table *t, const struct study_facts *f, int ranks, const struct summary *sum, double seconds)
{
  const char *comma = "";
  struct summary s = *sum;
  STATE_COLUMNS(VALUE)
  RANK_COLUMNS(VALUE)
  fputc('\n', t->out.file);
}

static void domain_row(const struct study_table *t, const struct study_facts *f, int ranks, int r, const struct virtual_rank *q)
{
  const char *comma = "";
  STATE_COLUMNS(VALUE)
  DOMAIN_COLUMNS(VALUE)
  fputc('\n', t->out.file);
}

int study_table_open(struct study_table *t, const struct study_options *o, const struct params *par, struct fault *f)
{
  t->domains = o->domains;
  return result_open(&t->out, o->output, o->overwrite, par, f);
}

int study_table_start(struct study_table *t, const struct params *par, int processes, struct fault *f)
{
  if (result_begin(&t->out, f)) return -1;
  if (t->out.file) headers(t, par, processes);
  return 0;
}

void study_table_close(struct study_table *t, struct fault *f) { result_close(&t->out, f); }

/* --- the terminal ------------------------------------------------------------------------------------------------ */

void study_table_begin(const struct study_table *t, const struct study_facts *f, int processes)
{
  (void)t;
  printf("%.0f particles, %d process%s; ", f->particles, processes, processes > 1 ? "es" : "");
  if (f->r1 > 0)
    printf("R1 = %.4g R0 = %.4g, R2 = %.4g; ", f->r1 / f->r0, f->r1, f->r2);
  else
    printf("no split: hard LETs are for the total force; ");
  printf("soft step %.4g; LET root summaries of %zu bytes\n", f->soft_step, let_summary_bytes(&(struct let_request){.horizon = 0}));
  printf("%6s %9s %9s | %9s %9s %6s %6s %7s %8s | %9s %9s %6s %7s %8s %8s | %6s %6s %7s\n", "P", "N/P", "max", "N_soft", "max", "roots",
         "LETs", "sent", "MB", "N_hard", "max", "LETs", "sent", "MB", "update", "h/s", "l+h/s", "seconds");
  fflush(stdout);
}

static const char *ratio(double x, char text[16])
{
  snprintf(text, 16, isfinite(x) ? "%.3f" : "-", x);
  return text;
}

void study_table_row(const struct study_table *t, const struct study_facts *f, int ranks, const struct virtual_rank *rows, double seconds)
{
  struct summary s = summarise(rows, ranks);
  char text[2][16];
  printf("%6d %9.1f %9.0f | %9.1f %9.0f %6.0f %6.1f %7.1f %8.3f | %9.1f %9.0f %6.1f %7.1f %8.3f %8.3f | %6s %6s %7.1f\n", ranks,
         s.local.mean,
         s.local.largest, s.let[LET_SOFT].entries.mean, s.let[LET_SOFT].entries.largest, s.roots.mean, s.let[LET_SOFT].contacts.mean,
         s.let[LET_SOFT].messages.mean, s.let[LET_SOFT].bytes.mean / 1e6, s.let[LET_STEP].entries.mean, s.let[LET_STEP].entries.largest,
         s.let[LET_STEP].contacts.mean, s.let[LET_STEP].messages.mean, s.let[LET_STEP].bytes.mean / 1e6, s.updates.mean / 1e6,
         ratio(hard_over_soft(&s), text[0]), ratio(with_local(&s), text[1]), seconds);
  fflush(stdout);
  if (!t->out.file) return;
  if (t->domains)
    for (int r = 0; r < ranks; r++) domain_row(t, f, ranks, r, &rows[r]);
  else
    file_row(t, f, ranks, &s, seconds);
  fflush(t->out.file);
}

void study_table_compared(const struct study_table *t, int ranks, const char *difference)
{
  (void)t;
  if (difference)
    printf("# P = %d: real ranks: differ: %s\n", ranks, difference);
  else
    printf("# P = %d: real ranks: agrees\n", ranks);
  fflush(stdout);
}
