/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "study/study_text.h"

#include <math.h>
#include <string.h>

#include "base/fault.h"
#include "base/memory.h"

#define MB 1e6

/* A number in a column, with fewer digits where it would not fit. */
static void put(int width, int decimals, double x)
{
  char text[400];
  if (snprintf(text, sizeof text, "%.*f", decimals, x) > width) snprintf(text, sizeof text, "%.3g", x);
  printf(" %*s", width, isfinite(x) ? text : "-");
}

/* --- the sizes of LETs: a row as soon as it is known ------------------------------------------------------------- */

void study_text_begin(struct study_text *t, const struct study_facts *f, int processes)
{
  (void)t;
  int split = f->r1 > 0, shared = strcmp(f->scheme, "shared") == 0;
  printf("%.0f particles, scheme %s, ", f->particles, f->scheme);
  if (split)
    printf("R1 = %.4g R0 = %.4g, R2 = %.4g, ", f->r1 / f->r0, f->r1, f->r2);
  else
    printf("no split, ");
  printf("soft step %.4g (code units); counted by %d process%s\n", f->soft_step, processes, processes > 1 ? "es" : "");
  if (!split)
    printf("Without a split hard LETs are those of block steps, for the total force%s.\n", shared ? "; a shared step has none" : "");
  printf("\nLocally essential trees (LETs) on P ranks: cells and particles that a rank receives from others, mean and most of ranks\n");
  printf("%6s %19s |    soft LETs, full forces |    hard LETs, %s forces | N_hard / N_soft |  seconds\n", "", "particles of a rank", split ? "hard" : "full");
  printf("%6s %9s %9s | %9s %8s %6s | %9s %8s %6s | %7s %7s | to count\n", "P", "N/P", "most", "N_soft", "most", "LETs", "N_hard", "most", "LETs", "alone",
         "+ N/P");
  fflush(stdout);
}

static void keep(struct study_text *t, int ranks, const struct study_sums *s)
{
  size_t n = (size_t)t->rows + 1;
  t->row = memory_resize("study", t->row, sizeof *t->row * n);
  t->ranks = memory_resize("study", t->ranks, sizeof *t->ranks * n);
  t->row[t->rows] = *s;
  t->ranks[t->rows++] = ranks;
}

void study_text_row(struct study_text *t, int ranks, const struct study_sums *s, double seconds)
{
  printf("%6d", ranks);
  put(9, 1, s->local.mean);
  put(9, 0, s->local.largest);
  for (int k = 0; k < LET_KINDS; k++) {
    printf(" |");
    put(9, 1, s->let[k].entries.mean);
    put(8, 0, s->let[k].entries.largest);
    put(6, 1, s->let[k].contacts.mean);
  }
  printf(" |");
  put(7, 3, s->hard_over_soft);
  put(7, 3, s->with_local);
  printf(" |");
  put(8, 1, seconds);
  printf("\n");
  fflush(stdout);
  if (ranks > 1) keep(t, ranks, s);
}

void study_text_compared(int ranks, const char *difference)
{
  if (difference)
    printf("# P = %d: real ranks: differ: %s\n", ranks, difference);
  else
    printf("# P = %d: real ranks: agrees with the LETs that %d processes have exchanged\n", ranks, ranks);
  fflush(stdout);
}

/* --- messages ---------------------------------------------------------------------------------------------------- */

/* Two lines for each number of ranks, of soft and of hard LETs. */
static void table_of_ranks(const struct study_text *t, const struct study_facts *f)
{
  struct let_request soft = {.quads = f->quads};
  printf("\nOne selection of LETs: messages that a rank sends for it and summaries that it receives, mean of ranks\n");
  printf("%11s |     boxes and LETs | corrected | LET summaries of up to %lld bytes each: MB received and held\n", "", (long long)let_summary_bytes(&soft));
  printf("%6s %4s | %8s %9s | %9s | %8s %9s %9s %9s %8s %7s %8s\n", "P", "LETs", "messages", "MB", "MB", "messages", "received", "held", "most", "ranks",
         "groups", "suffice");
  for (int i = 0; i < t->rows; i++)
    for (int k = 0; k < LET_KINDS; k++) {
      const struct study_sums *s = &t->row[i];
      if (k == LET_SOFT) printf("%6d soft |", t->ranks[i]);
      else printf("%6s hard |", "");
      put(8, 1, s->let[k].messages.mean);
      put(9, 3, s->let[k].bytes.mean / MB);
      printf(" |");
      put(9, 3, k == LET_SOFT ? (double)NAN : s->updates.mean / MB);
      printf(" |");
      put(8, 1, s->let[k].summary_messages.mean);
      put(9, 4, s->let[k].summary_bytes.mean / MB);
      put(9, 4, s->let[k].held.mean / MB);
      put(9, 4, s->let[k].held.largest / MB);
      put(8, 1, s->let[k].known.mean);
      put(7, 1, s->let[k].groups.mean);
      put(8, 1, k == LET_SOFT ? s->tops.mean : (double)NAN);
      printf("\n");
    }
}

/* The words of a part's name, one below the other. */
static void part_word(const char *name, int last)
{
  const char *gap = strchr(name, '_');
  if (gap && !last) printf(" %*s%.*s", 9 - (int)(gap - name), "", (int)(gap - name), name);
  else printf(" %9s", last ? gap ? gap + 1 : name : "");
}

static void table_of_step(const struct study_text *t, const struct study_facts *f, int parts)
{
  printf("\nOne soft step of scheme %s: messages between ranks, and MB below them, sums over all ranks, by part\n", f->scheme);
  for (int last = !(parts >> SOFT_STEP_soft_summaries & 1 || parts >> SOFT_STEP_hard_summaries & 1); last < 2; last++) {
    printf("%6s %8s", last ? "P" : "", "");
    for (int k = 0; k < SOFT_STEP_PART_COUNT; k++)
      if (parts >> k & 1) part_word(soft_step_part_names[k], last);
    printf(" | %9s\n", last ? "all" : "");
  }
  for (int i = 0; i < t->rows; i++)
    for (int bytes = 0; bytes < 2; bytes++) {
      const struct study_sums *s = &t->row[i];
      if (bytes) printf("%6s %8s", "", "MB");
      else printf("%6d %8s", t->ranks[i], "messages");
      for (int k = 0; k < SOFT_STEP_PART_COUNT; k++)
        if (parts >> k & 1) put(9, bytes ? 3 : 0, bytes ? (double)s->part[k].bytes / MB : (double)s->part[k].messages);
      printf(" |");
      put(9, bytes ? 3 : 0, bytes ? (double)s->all.bytes / MB : (double)s->all.messages);
      printf("\n");
    }
}

/* --- sentences about several numbers of ranks -------------------------------------------------------------------- */

static int64_t collectives(const struct study_text *t, int i)
{
  return t->row[i].collectives.messages / t->ranks[i];
}

/* Whether two numbers of ranks have the same soft steps. */
static int same_times(const struct study_text *t, int i, int k)
{
  const struct study_sums *x = &t->row[i], *y = &t->row[k];
  return x->selections == y->selections && x->moment_updates == y->moment_updates && collectives(t, i) == collectives(t, k);
}

/* What is done how often in a soft step: one line for numbers of ranks that follow each other and have the same. */
static void print_times(const struct study_text *t)
{
  for (int i = 0; i < t->rows; i++) {
    const struct study_sums *s = &t->row[i];
    printf("%s%d", i > 0 && same_times(t, i - 1, i) ? ", " : "# P = ", t->ranks[i]);
    if (i + 1 < t->rows && same_times(t, i, i + 1)) continue;
    printf(": a soft step selects hard LETs %.0f time%s, updates moments %.0f time%s, and has %lld collective operations\n", s->selections,
           plural(s->selections), s->moment_updates, plural(s->moment_updates), (long long)collectives(t, i));
  }
}

/* Numbers of ranks for which the schedule may be another one. */
static void print_edges(const struct study_text *t)
{
  int edges = 0;
  for (int i = 0; i < t->rows; i++)
    if (t->row[i].edge) printf("%s%d", edges++ ? ", " : "# P = ", t->ranks[i]);
  if (edges)
    printf(": some soft steps will have half or twice as many moment updates\n");
}

void study_text_end(struct study_text *t, const struct study_facts *f)
{
  int parts = 0;
  for (int i = 0; i < t->rows; i++)
    for (int k = 0; k < SOFT_STEP_PART_COUNT; k++)
      if (t->row[i].part[k].messages > 0) parts |= 1 << k;
  t->parts |= parts;
  if (t->rows > 0) {
    table_of_ranks(t, f);
    table_of_step(t, f, parts);
    print_times(t);
    print_edges(t);
  }
  printf("\n");
  fflush(stdout);
  memory_free(t->row);
  memory_free(t->ranks);
  t->row = NULL, t->ranks = NULL, t->rows = 0;
}

void study_text_legend(const struct study_text *t)
{
  static const char *const meanings[SOFT_STEP_PART_COUNT] = {
#define X(name, phase, meaning) meaning " (" #phase ")",
      SOFT_STEP_PARTS(X)
#undef X
  };
  printf("Columns:\n" STUDY_TEXT_SIZES);
  if (t->parts) printf(STUDY_TEXT_MESSAGES STUDY_TEXT_STEP);
  for (int k = 0; k < SOFT_STEP_PART_COUNT; k++)
    if (t->parts >> k & 1) printf("  %-14s  %s\n", soft_step_part_names[k], meanings[k]);
  fflush(stdout);
}

/* --- for all studies --------------------------------------------------------------------------------------------- */

void study_text_few_particles(const int *ranks, int count, double particles)
{
  int found = 0;
  for (int k = 0; k < count; k++)
    if (ranks[k] > particles) printf("%s%d", found++ ? ", " : "# P = ", ranks[k]);
  if (found) printf(": more ranks than particles (%.0f), so some ranks have none\n", particles);
  fflush(stdout);
}
