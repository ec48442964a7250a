/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Errors, each as one sentence for the user.
 *
 * Expected errors (bad input, full disk) travel as a `struct fault` of the caller: functions that can fail return 0 on
 * success and -1 with the fault set. Broken invariants and errors of libraries end in `fatal`. Local. */
#ifndef FAULT_H
#define FAULT_H
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fault {
  char text[1024]; /* empty: no fault */
};

/* Plural ending of a noun: "" for a count of 1, else "s". */
static inline const char *plural(double count) { return count == 1 ? "" : "s"; }

/* Set the sentence of a fault (printf format). The first cause is kept: a fault that is set stays unchanged. Returns
 * -1, for `return fault_set(...)`. */
int fault_set(struct fault *fault, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Find the name in names[count] nearest to `word` by edit distance, without regard to case (for "did you mean").
 * Returns NULL where the distance of all names exceeds a third of the length of `word`, plus 1. */
const char *nearest_name(const char *word, const char *const *names, int count);

/* Set the rank and soft step, and the phase, that messages of `fatal` and of the watchdog name. `phase` must be a
 * string that stays valid. */
void fatal_context(int rank, long long step);
void fatal_phase(const char *phase);
/* What these have set. From any thread. */
struct fatal_place {
  int rank;
  long long step;
  const char *phase;
};
struct fatal_place fatal_place(void);

/* "rank 1, step 7, phase walk: WHAT", as all messages of a process that ends, or may be ended, have it. */
void fatal_sentence(char *text, size_t size, const struct fatal_place *at, const char *what);
/* Print "espalier: KIND" and the sentence on stderr, a line of at most 2559 bytes in one call of the system: from any
 * thread, whatever locks others hold. */
void fatal_print(const char *kind, const char *sentence);

/* Register the function that is called with the reason before this process ends (NULL: none). It is called from any
 * thread, at any moment. `last`: 1: the process ends afterwards; 0: it may be ended by others. */
void fatal_listener(void (*callback)(const char *reason, int last));
/* Call the registered function. With `last` = 1 the process ends even where that does not return within 10 s (a file
 * system that hangs). */
void fatal_report(const char *reason, int last);

/* Print rank, step, phase, the message (printf format), file and line on stderr and abort all ranks (MPI_Abort where
 * MPI runs). */
void fatal_at(const char *file, int line, const char *format, ...) __attribute__((noreturn, format(printf, 3, 4)));
#define fatal(...) fatal_at(__FILE__, __LINE__, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
