/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "base/fault.h"

#include <ctype.h>
#include <errno.h>
#include <mpi.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
  atomic_int rank;
  atomic_llong step;
  const char *_Atomic phase;
} context = {0, -1, "start"};

int fault_set(struct fault *fault, const char *format, ...)
{
  if (fault->text[0]) return -1;
  va_list args;
  va_start(args, format);
  vsnprintf(fault->text, sizeof fault->text, format, args);
  va_end(args);
  return -1;
}

/* Levenshtein distance without regard to case; LONGEST where a word is longer than that. */
static int edit_distance(const char *a, const char *b)
{
  enum { LONGEST = 64 };
  int row[LONGEST + 1], na = (int)strlen(a), nb = (int)strlen(b);
  if (na > LONGEST || nb > LONGEST) return LONGEST;
  for (int j = 0; j <= nb; j++) row[j] = j;
  for (int i = 1; i <= na; i++) {
    int diagonal = row[0];
    row[0] = i;
    for (int j = 1; j <= nb; j++) {
      int change = diagonal + (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]));
      diagonal = row[j];
      int insert = row[j - 1] + 1, erase = row[j] + 1;
      row[j] = change < insert ? change : insert;
      if (erase < row[j]) row[j] = erase;
    }
  }
  return row[nb];
}

const char *nearest_name(const char *word, const char *const *names, int count)
{
  const char *best = NULL;
  int limit = (int)strlen(word) / 3 + 1, best_distance = limit + 1;
  for (int i = 0; i < count; i++) {
    int d = edit_distance(word, names[i]);
    if (d < best_distance) {
      best_distance = d;
      best = names[i];
    }
  }
  return best;
}

void fatal_context(int rank, long long step)
{
  context.rank = rank;
  context.step = step;
}

void fatal_phase(const char *phase) { context.phase = phase; }
struct fatal_place fatal_place(void) { return (struct fatal_place){context.rank, context.step, context.phase}; }

static void (*_Atomic listener)(const char *reason, int last);

void fatal_listener(void (*callback)(const char *reason, int last)) { atomic_store(&listener, callback); }

enum { LISTENER_SECONDS = 10 };

void fatal_report(const char *reason, int last)
{
  void (*callback)(const char *, int) = atomic_load(&listener);
  if (!callback) return;
  if (last) {
    signal(SIGALRM, SIG_DFL);
    alarm(LISTENER_SECONDS);
  }
  callback(reason, last);
  if (last) alarm(0);
}

void fatal_sentence(char *text, size_t size, const struct fatal_place *at, const char *what)
{
  snprintf(text, size, "rank %d, step %lld, phase %s: %s", at->rank, at->step, at->phase, what);
}

void fatal_print(const char *kind, const char *sentence)
{
  char line[2560];
  int length = snprintf(line, sizeof line - 1, "espalier: %s%s", kind, sentence);
  if (length > (int)sizeof line - 2) length = sizeof line - 2;
  line[length++] = '\n';
  while (write(STDERR_FILENO, line, (size_t)length) < 0 && errno == EINTR) continue;
}

void fatal_at(const char *file, int line, const char *format, ...)
{
  char what[2048], reason[2200], all[2500];
  struct fatal_place at = fatal_place();
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  fatal_sentence(reason, sizeof reason, &at, what);
  snprintf(all, sizeof all, "%s (%.200s:%d)", reason, file, line);
  fatal_print("fatal: ", all);
  fatal_report(reason, 1);
  int running = 0, ended = 0;
  MPI_Initialized(&running);
  MPI_Finalized(&ended);
  if (running && !ended) MPI_Abort(MPI_COMM_WORLD, 1);
  abort();
}
