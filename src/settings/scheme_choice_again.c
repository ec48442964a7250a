/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The choices of a scheme that an earlier run wrote to choice.csv, made again by one with Repeatable = on. */
#include <config.h>
#include "settings/parts.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/lines.h"

enum { COLUMN_STEP, COLUMN_CANDIDATE, COLUMN_RATIO, COLUMN_CHOSEN, COLUMN_REASON, COLUMNS };
static const char *const titles[COLUMNS] = {"step", "candidate", "R1OverR0", "chosen", "reason"};
enum { WORDS = 32 };

/* Split a line at its commas. Returns the number of words. */
static int split(char *text, char *word[WORDS])
{
  int n = 0;
  text[strcspn(text, "\r\n")] = 0;
  for (char *at = text; at && n < WORDS; n++) {
    word[n] = at;
    at = strchr(at, ',');
    if (at) *at++ = 0;
  }
  return n;
}

/* Where the columns are, from the line of titles. 1: all are there. */
static int find_columns(char *const *word, int n, int at[COLUMNS])
{
  int found = 0;
  for (int c = 0; c < COLUMNS; c++) {
    at[c] = -1;
    for (int k = 0; k < n; k++)
      if (strcmp(word[k], titles[c]) == 0) at[c] = k;
    found += at[c] >= 0;
  }
  return found == COLUMNS;
}

/* Take a row. 0 or -1. */
static int take_row(struct sim *sim, char *const *word, int n, const int at[COLUMNS], const struct lines *lines,
                    struct fault *fault)
{
  char *end;
  for (int c = 0; c < COLUMNS; c++)
    if (at[c] >= n)
      return fault_set(fault, "%.400s, line %lld: expected a row of %d columns or more, found %d", lines->path,
                       (long long)lines->number, at[c] + 1, n);
  if (strcmp(word[at[COLUMN_CHOSEN]], "1") != 0) return 0;
  long long step = strtoll(word[at[COLUMN_STEP]], &end, 10),
            last = sim->settings->choice.again.count
                       ? sim->settings->choice.again.step[sim->settings->choice.again.count - 1]
                       : LLONG_MIN;
  if (end == word[at[COLUMN_STEP]] || *end || step < 0 || step < last)
    return fault_set(fault, "%.400s, line %lld: expected a soft step that is not before the last one, found '%.40s'",
                     lines->path, (long long)lines->number, word[at[COLUMN_STEP]]);
  int scheme = choice_candidate(sim->par, word[at[COLUMN_CANDIDATE]], word[at[COLUMN_RATIO]]);
  if (scheme < 0)
    return fault_set(fault,
                     "%.400s, line %lld: the parameters do not allow the choice '%.40s' (R1OverR0 '%.40s'), which "
                     "Repeatable = on repeats: remove this file, and "
                     "the run chooses by itself",
                     lines->path, (long long)lines->number, word[at[COLUMN_CANDIDATE]], word[at[COLUMN_RATIO]]);
  int why = strcmp(word[at[COLUMN_REASON]], "trial") == 0 ? CHOSE_TRIAL : CHOSE_AGAIN,
      k = sim->settings->choice.again.count - 1;
  /* no change */
  if (k >= 0 && why == CHOSE_AGAIN && sim->settings->choice.again.why[k] == why &&
      sim->settings->choice.again.scheme[k] == scheme)
    return 0;
  if (choice_repeat(sim, step, scheme, why))
    return fault_set(fault,
                     "%.400s has more than %d choices, and Repeatable = on repeats no more: remove this file, and the "
                     "run chooses by itself",
                     lines->path, CHOOSE_AGAIN_MAX);
  return 0;
}

static int read_rows(struct sim *sim, struct lines *lines, struct fault *fault)
{
  char *word[WORDS];
  int at[COLUMNS], titled = 0, more;
  while ((more = lines_next(lines, "a row of choice.csv", fault)) > 0) {
    int n = split(lines->text, word);
    if (n == 1 && word[0][strspn(word[0], " \t")] == 0) continue;
    if (titled && take_row(sim, word, n, at, lines, fault)) return -1;
    if (!titled && !find_columns(word, n, at)) {
      if (at[COLUMN_STEP] >= 0) return 0; /* of an older version, which did not write all changes */
      return fault_set(fault,
                       "%.400s, line %lld: expected the column names of choice.csv, whose choices Repeatable = on "
                       "repeats: remove this file, and the run chooses by itself",
                       lines->path, (long long)lines->number);
    }
    titled = 1;
  }
  return more;
}

int settings_read_choices(struct sim *sim, struct fault *fault)
{
  char path[PARAM_TEXT + 64];
  struct lines l;
  if (sim->par->Repeatable == REPEATABLE_OFF || !choice_is_open(sim)) return 0;
  settings_make(sim, sim->par);
  if (sim->comm->rank == 0) {
    snprintf(path, sizeof path, "%s/choice.csv", sim->par->OutputDir);
    if (access(path, F_OK) == 0 && lines_open(&l, path, fault) == 0) {
      read_rows(sim, &l, fault);
      lines_close(&l);
    }
  }
  if (comm_verdict(sim->comm, fault)) return -1;
  comm_broadcast(sim->comm, &sim->settings->choice.again, sizeof sim->settings->choice.again);
  return 0;
}
