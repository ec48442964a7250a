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

void study_text_begin(struct study_text *text, const struct study_facts *facts, int processes)
{
  (void)text;
  int split = facts->r1 > 0, shared = strcmp(facts->scheme, "shared") == 0;
  printf("%.0f particles, scheme %s, ", facts->particles, facts->scheme);
  if (split) printf("R1 = %.4g R0 = %.4g, R2 = %.4g, ", facts->r1 / facts->r0, facts->r1, facts->r2);
  else printf("no split, ");
  printf("soft step %.4g (code units); counted by %d process%s\n", facts->soft_step, processes,
         processes > 1 ? "es" : "");
  if (!split)
    printf("Without a split hard LETs are those of block steps, for the total force%s.\n",
           shared ? "; a shared step has none" : "");
  printf("\nLocally essential trees (LETs) on P ranks: cells and particles that a rank receives from others, mean and "
         "most of ranks\n");
  printf("%6s %19s |    soft LETs, full forces |    hard LETs, %s forces | N_hard / N_soft |  seconds\n", "",
         "particles of a rank", split ? "hard" : "full");
  printf("%6s %9s %9s | %9s %8s %6s | %9s %8s %6s | %7s %7s | to count\n", "P", "N/P", "most", "N_soft", "most", "LETs",
         "N_hard", "most", "LETs", "alone", "+ N/P");
  fflush(stdout);
}

static void keep(struct study_text *text, int ranks, const struct study_sums *sums)
{
  size_t n = (size_t)text->rows + 1;
  text->row = memory_resize("study", text->row, sizeof *text->row * n);
  text->ranks = memory_resize("study", text->ranks, sizeof *text->ranks * n);
  text->row[text->rows] = *sums;
  text->ranks[text->rows++] = ranks;
}

void study_text_row(struct study_text *text, int ranks, const struct study_sums *sums, double seconds)
{
  printf("%6d", ranks);
  put(9, 1, sums->local.mean);
  put(9, 0, sums->local.largest);
  for (int k = 0; k < LET_KINDS; k++) {
    printf(" |");
    put(9, 1, sums->let[k].entries.mean);
    put(8, 0, sums->let[k].entries.largest);
    put(6, 1, sums->let[k].contacts.mean);
  }
  printf(" |");
  put(7, 3, sums->hard_over_soft);
  put(7, 3, sums->with_local);
  printf(" |");
  put(8, 1, seconds);
  printf("\n");
  fflush(stdout);
  if (ranks > 1) keep(text, ranks, sums);
}

void study_text_compared(int ranks, const char *difference)
{
  if (difference) printf("# P = %d: real ranks: differ: %s\n", ranks, difference);
  else printf("# P = %d: real ranks: agrees with the LETs that %d processes have exchanged\n", ranks, ranks);
  fflush(stdout);
}

/* --- messages ---------------------------------------------------------------------------------------------------- */

/* Two lines for each number of ranks, of soft and of hard LETs. */
static void table_of_ranks(const struct study_text *text, const struct study_facts *facts)
{
  struct let_request soft = {.quads = facts->quads};
  printf("\nOne selection of LETs: messages that a rank sends for it and summaries that it receives, mean of ranks\n");
  printf("%11s |     boxes and LETs | corrected | LET summaries of up to %lld bytes each: MB received and held\n", "",
         (long long)let_summary_bytes(&soft));
  printf("%6s %4s | %8s %9s | %9s | %8s %9s %9s %9s %8s %7s %8s\n", "P", "LETs", "messages", "MB", "MB", "messages",
         "received", "held", "most", "ranks", "groups", "suffice");
  for (int i = 0; i < text->rows; i++)
    for (int k = 0; k < LET_KINDS; k++) {
      const struct study_sums *s = &text->row[i];
      if (k == LET_SOFT) printf("%6d soft |", text->ranks[i]);
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

static void table_of_step(const struct study_text *text, const struct study_facts *facts, int parts)
{
  printf("\nOne soft step of scheme %s: messages between ranks, and MB below them, sums over all ranks, by part\n",
         facts->scheme);
  for (int last = !(parts >> SOFT_STEP_soft_summaries & 1 || parts >> SOFT_STEP_hard_summaries & 1); last < 2; last++) {
    printf("%6s %8s", last ? "P" : "", "");
    for (int k = 0; k < SOFT_STEP_PART_COUNT; k++)
      if (parts >> k & 1) part_word(soft_step_part_names[k], last);
    printf(" | %9s\n", last ? "all" : "");
  }
  for (int i = 0; i < text->rows; i++)
    for (int bytes = 0; bytes < 2; bytes++) {
      const struct study_sums *s = &text->row[i];
      if (bytes) printf("%6s %8s", "", "MB");
      else printf("%6d %8s", text->ranks[i], "messages");
      for (int k = 0; k < SOFT_STEP_PART_COUNT; k++)
        if (parts >> k & 1) put(9, bytes ? 3 : 0, bytes ? (double)s->part[k].bytes / MB : (double)s->part[k].messages);
      printf(" |");
      put(9, bytes ? 3 : 0, bytes ? (double)s->all.bytes / MB : (double)s->all.messages);
      printf("\n");
    }
}

/* --- sentences about several numbers of ranks -------------------------------------------------------------------- */

static int64_t collectives(const struct study_text *text, int i)
{
  return text->row[i].collectives.messages / text->ranks[i];
}

/* Whether two numbers of ranks have the same soft steps. */
static int same_times(const struct study_text *text, int i, int k)
{
  const struct study_sums *x = &text->row[i], *y = &text->row[k];
  return x->selections == y->selections && x->moment_updates == y->moment_updates &&
         collectives(text, i) == collectives(text, k);
}

/* What is done how often in a soft step: one line for numbers of ranks that follow each other and have the same. */
static void print_times(const struct study_text *text)
{
  for (int i = 0; i < text->rows; i++) {
    const struct study_sums *s = &text->row[i];
    printf("%s%d", i > 0 && same_times(text, i - 1, i) ? ", " : "# P = ", text->ranks[i]);
    if (i + 1 < text->rows && same_times(text, i, i + 1)) continue;
    printf(": a soft step selects hard LETs %.0f time%s, updates moments %.0f time%s, and has %lld collective "
           "operations\n",
           s->selections, plural(s->selections), s->moment_updates, plural(s->moment_updates),
           (long long)collectives(text, i));
  }
}

/* Numbers of ranks for which the schedule may be another one. */
static void print_edges(const struct study_text *text)
{
  int edges = 0;
  for (int i = 0; i < text->rows; i++)
    if (text->row[i].edge) printf("%s%d", edges++ ? ", " : "# P = ", text->ranks[i]);
  if (edges) printf(": some soft steps will have half or twice as many moment updates\n");
}

void study_text_end(struct study_text *text, const struct study_facts *facts)
{
  int parts = 0;
  for (int i = 0; i < text->rows; i++)
    for (int k = 0; k < SOFT_STEP_PART_COUNT; k++)
      if (text->row[i].part[k].messages > 0) parts |= 1 << k;
  text->parts |= parts;
  if (text->rows > 0) {
    table_of_ranks(text, facts);
    table_of_step(text, facts, parts);
    print_times(text);
    print_edges(text);
  }
  printf("\n");
  fflush(stdout);
  memory_free(text->row);
  memory_free(text->ranks);
  text->row = NULL;
  text->ranks = NULL;
  text->rows = 0;
}

void study_text_legend(const struct study_text *text)
{
  static const char *const meanings[SOFT_STEP_PART_COUNT] = {
#define X(name, phase, meaning) meaning " (" #phase ")",
      SOFT_STEP_PARTS(X)
#undef X
  };
  printf("Columns:\n" STUDY_TEXT_SIZES);
  if (text->parts) printf(STUDY_TEXT_MESSAGES STUDY_TEXT_STEP);
  for (int k = 0; k < SOFT_STEP_PART_COUNT; k++)
    if (text->parts >> k & 1) printf("  %-14s  %s\n", soft_step_part_names[k], meanings[k]);
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
