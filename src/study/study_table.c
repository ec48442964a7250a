/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "study/study_table.h"

#include <math.h>
#include <string.h>

#include "base/revision.h"
#include "base/timer.h"
#include "gravity/units.h"

/* --- numbers ----------------------------------------------------------------------------------------------------- */

/* Mean and maximum over ranks. */
struct spread {
  double mean, largest;
};

struct summary {
  struct soft_step_traffic part[SOFT_STEP_PART_COUNT], all, collectives;   /* of a soft step, sums over ranks */
  double selections, moment_updates;
  struct spread local, tops, own, updates;
  struct {
    struct spread entries, cells, particles, contacts, messages, bytes, summary_messages, summary_bytes, known, groups, held;
  } let[LET_KINDS];
};

/* Selects one number of a row. */
typedef int64_t number_of(const struct virtual_rank *q, int kind);
static int64_t local(const struct virtual_rank *q, int kind) { return (void)kind, q->local; }
static int64_t tops(const struct virtual_rank *q, int kind) { return (void)kind, q->tops; }
static int64_t own_cells(const struct virtual_rank *q, int kind) { return (void)kind, q->cells; }
static int64_t updates(const struct virtual_rank *q, int kind) { return (void)kind, q->updates; }
static int64_t cells(const struct virtual_rank *q, int kind) { return q->let[kind].received.cells; }
static int64_t particles(const struct virtual_rank *q, int kind) { return q->let[kind].received.particles; }
static int64_t contacts(const struct virtual_rank *q, int kind) { return q->contacts[kind]; }
static int64_t messages(const struct virtual_rank *q, int kind) { return q->let[kind].messages; }
static int64_t bytes(const struct virtual_rank *q, int kind) { return q->let[kind].bytes; }
static int64_t summary_messages(const struct virtual_rank *q, int kind) { return q->summaries[kind].messages; }
static int64_t summary_bytes(const struct virtual_rank *q, int kind) { return q->summaries[kind].received; }
static int64_t known(const struct virtual_rank *q, int kind) { return q->summaries[kind].known; }
static int64_t groups(const struct virtual_rank *q, int kind) { return q->summaries[kind].groups; }
static int64_t held(const struct virtual_rank *q, int kind) { return q->summaries[kind].held; }
/* N_soft and N_hard: entries of a walk beside the local tree. Cells of LET summaries are cells of the soft walk. */
static int64_t entries(const struct virtual_rank *q, int kind)
{
  return cells(q, kind) + particles(q, kind) + (kind == LET_SOFT ? q->cells : 0);
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

static void add_traffic(struct soft_step_traffic *sum, struct soft_step_traffic t)
{
  sum->messages += t.messages;
  sum->bytes += t.bytes;
}

static struct summary summarise(const struct virtual_rank *rows, const struct soft_step *step, int ranks)
{
  struct summary s = {.local = spread_of(rows, ranks, local, 0), .tops = spread_of(rows, ranks, tops, 0), .own = spread_of(rows, ranks, own_cells, 0),
                      .updates = spread_of(rows, ranks, updates, 0)};
  s.selections = (double)step->selections;
  s.moment_updates = (double)step->moment_updates;
  for (int k = 0; k < SOFT_STEP_PART_COUNT; k++) {
    s.part[k] = soft_step_sum(step, ranks, (enum soft_step_part)k);
    add_traffic(&s.all, s.part[k]);
  }
  for (int p = 0; p < PHASE_COUNT; p++) {
    add_traffic(&s.collectives, step->together.collectives[p]);
    if (!step->together.staged[p]) add_traffic(&s.collectives, step->together.gathers[p]);
  }
  for (int k = 0; k < LET_KINDS; k++) {
    s.let[k].entries = spread_of(rows, ranks, entries, k);
    s.let[k].cells = spread_of(rows, ranks, cells, k);
    s.let[k].particles = spread_of(rows, ranks, particles, k);
    s.let[k].contacts = spread_of(rows, ranks, contacts, k);
    s.let[k].messages = spread_of(rows, ranks, messages, k);
    s.let[k].bytes = spread_of(rows, ranks, bytes, k);
    s.let[k].summary_messages = spread_of(rows, ranks, summary_messages, k);
    s.let[k].summary_bytes = spread_of(rows, ranks, summary_bytes, k);
    s.let[k].known = spread_of(rows, ranks, known, k);
    s.let[k].groups = spread_of(rows, ranks, groups, k);
    s.let[k].held = spread_of(rows, ranks, held, k);
  }
  return s;
}

/* The two curves of Watanabe & Nakasato 2014, fig. 4 (the first is not a number where nothing is received). */
int64_t study_summary_bytes(const struct study_facts *f)
{
  struct let_request r = {.quads = f->quads};
  return (int64_t)let_summary_bytes(&r);
}

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
  X(name##_mean, s.let[kind].entries.mean, "entries received, mean over ranks: of LETs, soft: also of summaries")   \
  X(name##_max, s.let[kind].entries.largest, "the same, maximum over ranks")                                                   \
  X(name##_cells, s.let[kind].cells.mean, "cells of LETs received, mean")                                                      \
  X(name##_particles, s.let[kind].particles.mean, "particles of LETs received, mean")                                          \
  X(name##_contacts, s.let[kind].contacts.mean, "ranks whose LETs a rank receives, mean")                                      \
  X(name##_contacts_max, s.let[kind].contacts.largest, "the same, maximum over ranks")                                         \
  X(name##_messages, s.let[kind].messages.mean, "messages that a rank sends: boxes and LETs, without LET summaries")           \
  X(name##_messages_max, s.let[kind].messages.largest, "the same, maximum over ranks")                                         \
  X(name##_bytes, s.let[kind].bytes.mean, "bytes of these messages, mean")                                                     \
  X(name##_bytes_max, s.let[kind].bytes.largest, "the same, maximum over ranks")                                               \
  X(name##_summary_bytes, s.let[kind].summary_bytes.mean, "bytes of LET summaries that a rank receives, mean")                 \
  X(name##_summary_bytes_max, s.let[kind].summary_bytes.largest, "the same, maximum over ranks")                               \
  X(name##_summary_messages, s.let[kind].summary_messages.mean, "messages with them that a rank sends; 0: one allgather")      \
  X(name##_summary_known, s.let[kind].known.mean, "ranks whose summaries a rank has in the end, mean")                         \
  X(name##_summary_groups, s.let[kind].groups.mean, "groups of the other ranks, whose summaries it has")                       \
  X(name##_summary_held, s.let[kind].held.mean, "bytes of summaries in its memory, mean")                                       \
  X(name##_summary_held_max, s.let[kind].held.largest, "the same, maximum over ranks")

#define PART_COLUMNS(X, which, text)                                                                  \
  X(step_##which##_messages, s.part[SOFT_STEP_##which].messages, "of a soft step, all ranks: messages: " text) \
  X(step_##which##_bytes, s.part[SOFT_STEP_##which].bytes, "")
#define STEP_COLUMNS(X)                                                                                                    \
  PART_COLUMNS(X, migration, "particles that change their rank (phase domain of comm.csv)")                               \
  PART_COLUMNS(X, soft, "boxes and LETs of the synchronisation (let_select)")                                              \
  PART_COLUMNS(X, soft_summaries, "LET summaries in stages (let_select)")                                                   \
  PART_COLUMNS(X, hard_summaries, "the same of the substeps (hard_let, as the next ones)")                                  \
  PART_COLUMNS(X, hard, "boxes and LETs of the substeps, chosen at the start")               \
  PART_COLUMNS(X, again, "the same, chosen again at moment updates")                                                         \
  PART_COLUMNS(X, updates, "particles of LETs corrected in substeps")                                                      \
  PART_COLUMNS(X, moments, "particles and all cells of LETs, at moment updates without new LETs")                          \
  X(step_messages, s.all.messages, "all of these")                                                                         \
  X(step_bytes, s.all.bytes, "their bytes")                                                                                \
  X(step_selections, s.selections, "selections of LETs of substeps in a soft step")                                        \
  X(step_moment_updates, s.moment_updates, "moment updates in a soft step")                                                \
  X(step_collectives, s.collectives.messages, "collective operations of a soft step, times ranks, without statistics and output") \
  X(step_collective_bytes, s.collectives.bytes, "their input bytes, all ranks")

#define RANK_COLUMNS(X)                                                                                                    \
  X(local_mean, s.local.mean, "particles of a rank: N / P")                                                                \
  X(local_max, s.local.largest, "the same, maximum over ranks")                                                            \
  X(card_bytes, s.let[LET_SOFT].summary_bytes.mean, "bytes of LET summaries that a rank receives at a synchronisation: soft_summary_bytes") \
  X(soft_roots, s.tops.mean, "ranks and groups of which cells in the LET summary suffice, mean")                                    \
  X(soft_upper, s.own.mean, "these cells, mean")                                                                           \
  KIND_COLUMNS(X, soft, LET_SOFT)                                                                                          \
  KIND_COLUMNS(X, hard, LET_STEP)                                                                                          \
  X(update_bytes, s.updates.mean, "bytes that a rank sends in a substep in which all entries, also cells, were corrected") \
  X(update_bytes_max, s.updates.largest, "the same, maximum over ranks")                                                   \
  X(hard_over_soft, hard_over_soft(&s), "N_hard / N_soft, of the means")                                                   \
  X(local_hard_over_local_soft, with_local(&s), "(N_local + N_hard) / (N_local + N_soft), of the means")                   \
  STEP_COLUMNS(X)                                                                                                          \
  X(seconds, seconds, "time of the count")

#define KIND_DOMAIN_COLUMNS(X, name, kind)                                 \
  X(name##_cells, cells(q, kind), "cells received with LETs")              \
  X(name##_particles, particles(q, kind), "particles received with LETs")  \
  X(name##_contacts, contacts(q, kind), "ranks whose LETs it receives")    \
  X(name##_messages, messages(q, kind), "messages sent: boxes and LETs")   \
  X(name##_bytes, bytes(q, kind), "bytes of these messages")

#define PART_DOMAIN_COLUMNS(X, part)                                                                    \
  X(step_##part##_messages, step->sent[SOFT_STEP_##part].messages, "messages that it sends in a soft step") \
  X(step_##part##_bytes, step->sent[SOFT_STEP_##part].bytes, "")

#define DOMAIN_COLUMNS(X)                                                                  \
  X(domain, r, "its rank")                                                                 \
  X(local, q->local, "particles")                                                          \
  X(soft_roots, q->tops, "ranks of which cells in the LET summary suffice")                \
  X(soft_upper, q->cells, "these cells")                                                   \
  KIND_DOMAIN_COLUMNS(X, soft, LET_SOFT)                                                   \
  KIND_DOMAIN_COLUMNS(X, hard, LET_STEP)                                                   \
  X(update_bytes, q->updates, "bytes sent in a substep in which all entries, also cells, were corrected") \
  PART_DOMAIN_COLUMNS(X, migration)                                                        \
  PART_DOMAIN_COLUMNS(X, soft)                                                             \
  PART_DOMAIN_COLUMNS(X, soft_summaries)                                                   \
  PART_DOMAIN_COLUMNS(X, hard_summaries)                                                   \
  PART_DOMAIN_COLUMNS(X, hard)                                                             \
  PART_DOMAIN_COLUMNS(X, again)                                                             \
  PART_DOMAIN_COLUMNS(X, updates)                                                          \
  PART_DOMAIN_COLUMNS(X, moments)

#define MEANING(name, value, meaning) \
  if (*(meaning)) fprintf(t->out.file, "# %s: %s\n", #name, meaning);
#define NAME(name, value, meaning) fprintf(t->out.file, "%s%s", comma, #name), comma = ",";
#define VALUE(name, value, meaning) fprintf(t->out.file, "%s%.15g", comma, (double)(value)), comma = ",";

static void title(FILE *out, const struct params *par, int processes)
{
  fprintf(out, "# espalier %s (%s), study let %s on %d process%s\n", PACKAGE_VERSION, revision, par->InitCondFile, processes,
          processes > 1 ? "es" : "");
  units_describe(par, out);
}

static void pairs_header(const struct study_table *t, const struct params *par, int processes)
{
  title(t->pairs.file, par, processes);
  fprintf(t->pairs.file, "# messages and bytes that rank sends peer in a soft step, by phase as in comm.csv\n");
  fprintf(t->pairs.file, "scheme,R1_over_R0,particles,ranks,phase,rank,peer,messages,bytes\n");
  fflush(t->pairs.file);
}

static void write_pairs(const struct study_table *t, const struct study_facts *f, int ranks, const struct soft_step *step)
{
  for (int64_t i = 0; i < step->pairs; i++) {
    const struct soft_step_pair *p = &step->pair[i];
    fprintf(t->pairs.file, "%s,%.15g,%.15g,%d,%s,%d,%d,%lld,%lld\n", f->scheme, f->r1 / f->r0, f->particles, ranks, phase_names[p->phase],
            p->from, p->to, (long long)p->sent.messages, (long long)p->sent.bytes);
  }
  fflush(t->pairs.file);
}

static void headers(const struct study_table *t, const struct params *par, int processes)
{
  const char *comma = ",";
  title(t->out.file, par, processes);
  STATE_COLUMNS(MEANING)
  if (t->domains) {
    DOMAIN_COLUMNS(MEANING)
    fprintf(t->out.file, "scheme");
    STATE_COLUMNS(NAME)
    DOMAIN_COLUMNS(NAME)
  } else {
    RANK_COLUMNS(MEANING)
    fprintf(t->out.file, "scheme");
    STATE_COLUMNS(NAME)
    RANK_COLUMNS(NAME)
  }
  fputc('\n', t->out.file);
  fflush(t->out.file);
}

static void file_row(const struct study_table *t, const struct study_facts *f, int ranks, const struct summary *sum, double seconds)
{
  const char *comma = ",";
  struct summary s = *sum;
  fprintf(t->out.file, "%s", f->scheme);
  STATE_COLUMNS(VALUE)
  RANK_COLUMNS(VALUE)
  fputc('\n', t->out.file);
}

static void domain_row(const struct study_table *t, const struct study_facts *f, int ranks, int r, const struct virtual_rank *q,
                       const struct soft_step_rank *step)
{
  const char *comma = ",";
  fprintf(t->out.file, "%s", f->scheme);
  STATE_COLUMNS(VALUE)
  DOMAIN_COLUMNS(VALUE)
  fputc('\n', t->out.file);
}

int study_table_open(struct study_table *t, const struct study_options *o, const struct params *par, struct fault *f)
{
  t->domains = o->domains;
  return result_open(&t->out, o->output, o->overwrite, par, f) || result_open(&t->pairs, o->pairs, o->overwrite, par, f) ? -1 : 0;
}

int study_table_start(struct study_table *t, const struct params *par, int processes, struct fault *f)
{
  if (result_begin(&t->out, f) || result_begin(&t->pairs, f)) return -1;
  if (t->out.file) headers(t, par, processes);
  if (t->pairs.file) pairs_header(t, par, processes);
  return 0;
}

void study_table_close(struct study_table *t, struct fault *f)
{
  result_close(&t->out, f);
  result_close(&t->pairs, f);
}

/* --- the terminal ------------------------------------------------------------------------------------------------ */

void study_table_begin(const struct study_table *t, const struct study_facts *f, int processes)
{
  (void)t;
  printf("%.0f particles, %d process%s; ", f->particles, processes, processes > 1 ? "es" : "");
  if (f->r1 > 0)
    printf("R1 = %.4g R0 = %.4g, R2 = %.4g; ", f->r1 / f->r0, f->r1, f->r2);
  else
    printf("no split: hard LETs are for the total force; ");
  printf("soft step %.4g; LET summaries of up to %lld bytes\n", f->soft_step, (long long)study_summary_bytes(f));
  printf("%6s %9s %9s | %9s %9s %6s %6s %7s %8s | %9s %9s %6s %7s %8s %8s | %6s %6s %7s\n", "P", "N/P", "max", "N_soft", "max", "tops",
         "LETs", "sent", "MB", "N_hard", "max", "LETs", "sent", "MB", "update", "h/s", "l+h/s", "seconds");
  fflush(stdout);
}

static const char *ratio(double x, char text[16])
{
  snprintf(text, 16, isfinite(x) ? "%.3f" : "-", x);
  return text;
}

static void print_summaries(int ranks, const struct summary *s)
{
  static const char *const name[LET_KINDS] = {[LET_SOFT] = "soft", [LET_STEP] = "hard"};
  printf("# P = %d: LET summaries, mean (most):", ranks);
  for (int k = 0; k < LET_KINDS; k++)
    printf("%s %s %.0f message%s, %.4g (%.4g) MB received, %.1f (%.0f) ranks known, %.1f groups, %.4g (%.4g) MB in memory", k ? ";" : "", name[k],
           s->let[k].summary_messages.mean, s->let[k].summary_messages.mean == 1 ? "" : "s", s->let[k].summary_bytes.mean / 1e6,
           s->let[k].summary_bytes.largest / 1e6, s->let[k].known.mean, s->let[k].known.largest, s->let[k].groups.mean, s->let[k].held.mean / 1e6,
           s->let[k].held.largest / 1e6);
  printf("\n");
}

/* The messages of a soft step of all ranks. */
static void print_step(const struct study_facts *f, int ranks, const struct summary *s, int edge)
{
  printf("# P = %d: a soft step, %s, all ranks: messages (MB):", ranks, f->scheme);
  for (int k = 0; k < SOFT_STEP_PART_COUNT; k++)
    if (s->part[k].messages > 0)
      printf(" %s %lld (%.4g),", soft_step_part_names[k], (long long)s->part[k].messages, (double)s->part[k].bytes / 1e6);
  printf(" all %lld (%.4g); %.0f selection%s, %.0f moment update%s, %lld collectives\n", (long long)s->all.messages, (double)s->all.bytes / 1e6,
         s->selections, s->selections == 1 ? "" : "s", s->moment_updates, s->moment_updates == 1 ? "" : "s",
         (long long)s->collectives.messages / ranks);
  if (edge) printf("# P = %d: block levels are near those at which moment updates are half or twice as many: both kinds of soft steps will occur\n", ranks);
}

void study_table_row(const struct study_table *t, const struct study_facts *f, int ranks, const struct virtual_rank *rows,
                     const struct soft_step *step, double seconds)
{
  struct summary s = summarise(rows, step, ranks);
  char text[2][16];
  printf("%6d %9.1f %9.0f | %9.1f %9.0f %6.0f %6.1f %7.1f %8.3f | %9.1f %9.0f %6.1f %7.1f %8.3f %8.3f | %6s %6s %7.1f\n", ranks,
         s.local.mean,
         s.local.largest, s.let[LET_SOFT].entries.mean, s.let[LET_SOFT].entries.largest, s.tops.mean, s.let[LET_SOFT].contacts.mean,
         s.let[LET_SOFT].messages.mean, s.let[LET_SOFT].bytes.mean / 1e6, s.let[LET_STEP].entries.mean, s.let[LET_STEP].entries.largest,
         s.let[LET_STEP].contacts.mean, s.let[LET_STEP].messages.mean, s.let[LET_STEP].bytes.mean / 1e6, s.updates.mean / 1e6,
         ratio(hard_over_soft(&s), text[0]), ratio(with_local(&s), text[1]), seconds);
  if (ranks > 1) print_summaries(ranks, &s);
  if (ranks > 1) print_step(f, ranks, &s, step->edge);
  fflush(stdout);
  if (t->pairs.file) write_pairs(t, f, ranks, step);
  if (!t->out.file) return;
  if (t->domains)
    for (int r = 0; r < ranks; r++) domain_row(t, f, ranks, r, &rows[r], &step->rank[r]);
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
