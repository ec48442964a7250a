/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "study/study_table.h"

#include <math.h>
#include <string.h>

#include "base/revision.h"
#include "base/timer.h"
#include "gravity/units.h"

/* --- numbers ----------------------------------------------------------------------------------------------------- */

/* Selects one number of a row. */
typedef int64_t number_of(const struct virtual_rank *rank, int kind);
static int64_t local(const struct virtual_rank *rank, int kind) { return (void)kind, rank->local; }
static int64_t tops(const struct virtual_rank *rank, int kind) { return (void)kind, rank->tops; }
static int64_t own_cells(const struct virtual_rank *rank, int kind) { return (void)kind, rank->cells; }
static int64_t updates(const struct virtual_rank *rank, int kind) { return (void)kind, rank->updates; }
static int64_t cells(const struct virtual_rank *rank, int kind) { return rank->let[kind].received.cells; }
static int64_t particles(const struct virtual_rank *rank, int kind) { return rank->let[kind].received.particles; }
static int64_t contacts(const struct virtual_rank *rank, int kind) { return rank->contacts[kind]; }
static int64_t messages(const struct virtual_rank *rank, int kind) { return rank->let[kind].messages; }
static int64_t bytes(const struct virtual_rank *rank, int kind) { return rank->let[kind].bytes; }
static int64_t summary_messages(const struct virtual_rank *rank, int kind) { return rank->summaries[kind].messages; }
static int64_t summary_bytes(const struct virtual_rank *rank, int kind) { return rank->summaries[kind].received; }
static int64_t known(const struct virtual_rank *rank, int kind) { return rank->summaries[kind].known; }
static int64_t groups(const struct virtual_rank *rank, int kind) { return rank->summaries[kind].groups; }
static int64_t held(const struct virtual_rank *rank, int kind) { return rank->summaries[kind].held; }
/* N_soft and N_hard: entries of a walk beside the local tree. Cells of LET summaries are cells of the soft walk. */
static int64_t entries(const struct virtual_rank *rank, int kind)
{
  return cells(rank, kind) + particles(rank, kind) + (kind == LET_SOFT ? rank->cells : 0);
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

static struct study_sums summarise(const struct virtual_rank *rows, const struct soft_step *step, int ranks)
{
  struct study_sums s = {.local = spread_of(rows, ranks, local, 0),
                         .tops = spread_of(rows, ranks, tops, 0),
                         .own = spread_of(rows, ranks, own_cells, 0),
                         .updates = spread_of(rows, ranks, updates, 0)};
  s.selections = (double)step->selections;
  s.moment_updates = (double)step->moment_updates;
  s.edge = step->edge;
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
  double soft = s.let[LET_SOFT].entries.mean, hard = s.let[LET_STEP].entries.mean;
  s.hard_over_soft = soft > 0 ? hard / soft : (double)NAN;
  s.with_local = (s.local.mean + hard) / (s.local.mean + soft);
  return s;
}

/* --- columns of the file ----------------------------------------------------------------------------------------- */

/* X(name, value, meaning): f are the facts, s the sums. */
#define STATE_COLUMNS(X)                                                  \
  X(R1_over_R0, facts->r1 / facts->r0, "R1 in units of R0 (0: no split)") \
  X(R1, facts->r1, "")                                                    \
  X(R2, facts->r2, "")                                                    \
  X(dt_soft, facts->soft_step, "soft step: the horizon of hard LETs")     \
  X(particles, facts->particles, "N")                                     \
  X(ranks, ranks, "P")

#define KIND_COLUMNS(X, name, kind)                                                                                  \
  X(name##_mean, s.let[kind].entries.mean, "entries received, mean over ranks: of LETs, soft: also of summaries")    \
  X(name##_max, s.let[kind].entries.largest, "the same, maximum over ranks")                                         \
  X(name##_cells, s.let[kind].cells.mean, "cells of LETs received, mean")                                            \
  X(name##_particles, s.let[kind].particles.mean, "particles of LETs received, mean")                                \
  X(name##_contacts, s.let[kind].contacts.mean, "ranks whose LETs a rank receives, mean")                            \
  X(name##_contacts_max, s.let[kind].contacts.largest, "the same, maximum over ranks")                               \
  X(name##_messages, s.let[kind].messages.mean, "messages that a rank sends: boxes and LETs, without LET summaries") \
  X(name##_messages_max, s.let[kind].messages.largest, "the same, maximum over ranks")                               \
  X(name##_bytes, s.let[kind].bytes.mean, "bytes of these messages, mean")                                           \
  X(name##_bytes_max, s.let[kind].bytes.largest, "the same, maximum over ranks")                                     \
  X(name##_summary_bytes, s.let[kind].summary_bytes.mean, "bytes of LET summaries that a rank receives, mean")       \
  X(name##_summary_bytes_max, s.let[kind].summary_bytes.largest, "the same, maximum over ranks")                     \
  X(name##_summary_messages, s.let[kind].summary_messages.mean,                                                      \
    "messages with them that a rank sends; 0: one allgather")                                                        \
  X(name##_summary_known, s.let[kind].known.mean, "ranks whose summaries a rank has in the end, mean")               \
  X(name##_summary_groups, s.let[kind].groups.mean, "groups of the other ranks, whose summaries it has")             \
  X(name##_summary_held, s.let[kind].held.mean, "bytes of summaries in its memory, mean")                            \
  X(name##_summary_held_max, s.let[kind].held.largest, "the same, maximum over ranks")

#define PART_COLUMNS(X, which, phase, meaning)                       \
  X(step_##which##_messages, s.part[SOFT_STEP_##which].messages,     \
    "of a soft step, all ranks: messages: " meaning " (" #phase ")") \
  X(step_##which##_bytes, s.part[SOFT_STEP_##which].bytes, "")
#define STEP_COLUMNS(X)                                                                 \
  SOFT_STEP_PARTS_BY(PART_COLUMNS, X)                                                   \
  X(step_messages, s.all.messages, "all of these")                                      \
  X(step_bytes, s.all.bytes, "their bytes")                                             \
  X(step_selections, s.selections, "selections of LETs of substeps in a soft step")     \
  X(step_moment_updates, s.moment_updates, "moment updates in a soft step")             \
  X(step_collectives, s.collectives.messages,                                           \
    "collective operations of a soft step, times ranks, without statistics and output") \
  X(step_collective_bytes, s.collectives.bytes, "their input bytes, all ranks")

#define RANK_COLUMNS(X)                                                                                \
  X(local_mean, s.local.mean, "particles of a rank: N / P")                                            \
  X(local_max, s.local.largest, "the same, maximum over ranks")                                        \
  X(card_bytes, s.let[LET_SOFT].summary_bytes.mean,                                                    \
    "bytes of LET summaries that a rank receives at a synchronisation: soft_summary_bytes")            \
  X(soft_roots, s.tops.mean, "ranks and groups of which cells in the LET summary suffice, mean")       \
  X(soft_upper, s.own.mean, "these cells, mean")                                                       \
  KIND_COLUMNS(X, soft, LET_SOFT)                                                                      \
  KIND_COLUMNS(X, hard, LET_STEP)                                                                      \
  X(update_bytes, s.updates.mean,                                                                      \
    "bytes that a rank sends in a substep in which all entries, also cells, were corrected")           \
  X(update_bytes_max, s.updates.largest, "the same, maximum over ranks")                               \
  X(hard_over_soft, s.hard_over_soft, "N_hard / N_soft, of the means")                                 \
  X(local_hard_over_local_soft, s.with_local, "(N_local + N_hard) / (N_local + N_soft), of the means") \
  STEP_COLUMNS(X)                                                                                      \
  X(seconds, seconds, "time of the count")

#define KIND_DOMAIN_COLUMNS(X, name, kind)                                   \
  X(name##_cells, cells(rank, kind), "cells received with LETs")             \
  X(name##_particles, particles(rank, kind), "particles received with LETs") \
  X(name##_contacts, contacts(rank, kind), "ranks whose LETs it receives")   \
  X(name##_messages, messages(rank, kind), "messages sent: boxes and LETs")  \
  X(name##_bytes, bytes(rank, kind), "bytes of these messages")

#define PART_DOMAIN_COLUMNS(X, part, phase, meaning)                                                        \
  X(step_##part##_messages, step->sent[SOFT_STEP_##part].messages, "messages that it sends in a soft step") \
  X(step_##part##_bytes, step->sent[SOFT_STEP_##part].bytes, "")

#define DOMAIN_COLUMNS(X)                                                                                    \
  X(domain, r, "its rank")                                                                                   \
  X(local, rank->local, "particles")                                                                         \
  X(soft_roots, rank->tops, "ranks of which cells in the LET summary suffice")                               \
  X(soft_upper, rank->cells, "these cells")                                                                  \
  KIND_DOMAIN_COLUMNS(X, soft, LET_SOFT)                                                                     \
  KIND_DOMAIN_COLUMNS(X, hard, LET_STEP)                                                                     \
  X(update_bytes, rank->updates, "bytes sent in a substep in which all entries, also cells, were corrected") \
  SOFT_STEP_PARTS_BY(PART_DOMAIN_COLUMNS, X)

#define MEANING(name, value, meaning) \
  if (*(meaning)) fprintf(table->out.file, "# %s: %s\n", #name, meaning);
#define NAME(name, value, meaning) fprintf(table->out.file, "%s%s", comma, #name), comma = ",";
#define VALUE(name, value, meaning) fprintf(table->out.file, "%s%.15g", comma, (double)(value)), comma = ",";

static void title(FILE *out, const struct params *par, int processes)
{
  fprintf(out, "# espalier %s (%s), study let %s on %d process%s\n", PACKAGE_VERSION, revision, par->InitCondFile,
          processes, processes > 1 ? "es" : "");
  units_describe(par, out);
}

static void pairs_header(const struct study_table *table, const struct params *par, int processes)
{
  title(table->pairs.file, par, processes);
  fprintf(table->pairs.file, "# messages and bytes that rank sends peer in a soft step, by phase as in comm.csv\n");
  fprintf(table->pairs.file, "scheme,R1_over_R0,particles,ranks,phase,rank,peer,messages,bytes\n");
  fflush(table->pairs.file);
}

static void write_pairs(const struct study_table *table, const struct study_facts *facts, int ranks,
                        const struct soft_step *step)
{
  for (int64_t i = 0; i < step->pairs; i++) {
    const struct soft_step_pair *p = &step->pair[i];
    fprintf(table->pairs.file, "%s,%.15g,%.15g,%d,%s,%d,%d,%lld,%lld\n", facts->scheme, facts->r1 / facts->r0,
            facts->particles, ranks, phase_names[p->phase], p->from, p->to, (long long)p->sent.messages,
            (long long)p->sent.bytes);
  }
  fflush(table->pairs.file);
}

static void headers(const struct study_table *table, const struct params *par, int processes)
{
  const char *comma = ",";
  title(table->out.file, par, processes);
  STATE_COLUMNS(MEANING)
  if (table->domains) {
    DOMAIN_COLUMNS(MEANING)
    fprintf(table->out.file, "scheme");
    STATE_COLUMNS(NAME)
    DOMAIN_COLUMNS(NAME)
  } else {
    RANK_COLUMNS(MEANING)
    fprintf(table->out.file, "scheme");
    STATE_COLUMNS(NAME)
    RANK_COLUMNS(NAME)
  }
  fputc('\n', table->out.file);
  fflush(table->out.file);
}

static void file_row(const struct study_table *table, const struct study_facts *facts, int ranks,
                     const struct study_sums *sum, double seconds)
{
  const char *comma = ",";
  struct study_sums s = *sum;
  fprintf(table->out.file, "%s", facts->scheme);
  STATE_COLUMNS(VALUE)
  RANK_COLUMNS(VALUE)
  fputc('\n', table->out.file);
}

static void domain_row(const struct study_table *table, const struct study_facts *facts, int ranks, int r,
                       const struct virtual_rank *rank, const struct soft_step_rank *step)
{
  const char *comma = ",";
  fprintf(table->out.file, "%s", facts->scheme);
  STATE_COLUMNS(VALUE)
  DOMAIN_COLUMNS(VALUE)
  fputc('\n', table->out.file);
}

int study_table_open(struct study_table *table, const struct study_options *options, const struct params *par,
                     struct fault *fault)
{
  table->domains = options->domains;
  return result_open(&table->out, options->output, options->overwrite, par, fault) ||
                 result_open(&table->pairs, options->pairs, options->overwrite, par, fault)
             ? -1
             : 0;
}

int study_table_start(struct study_table *table, const struct params *par, int processes, struct fault *fault)
{
  if (result_begin(&table->out, fault) || result_begin(&table->pairs, fault)) return -1;
  if (table->out.file) headers(table, par, processes);
  if (table->pairs.file) pairs_header(table, par, processes);
  return 0;
}

void study_table_close(struct study_table *table, struct fault *fault)
{
  result_close(&table->out, fault);
  result_close(&table->pairs, fault);
}

/* --- rows, on the terminal and in the file ------------------------------------------------------------------------ */

void study_table_row(struct study_table *table, const struct study_facts *facts, int ranks,
                     const struct virtual_rank *rows, const struct soft_step *step, double seconds)
{
  struct study_sums s = summarise(rows, step, ranks);
  study_text_row(&table->text, ranks, &s, seconds);
  if (table->pairs.file) write_pairs(table, facts, ranks, step);
  if (!table->out.file) return;
  if (table->domains)
    for (int r = 0; r < ranks; r++) domain_row(table, facts, ranks, r, &rows[r], &step->rank[r]);
  else file_row(table, facts, ranks, &s, seconds);
  fflush(table->out.file);
}
