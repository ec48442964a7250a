/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What went wrong, as one sentence for the user.
 *
 * Expected errors (bad input, full disk) travel as a `struct fault` that the caller hands in; functions that can meet
 * them return 0 on success and -1 with the fault set. Broken invariants and failing libraries end in `fatal`. */
#ifndef FAULT_H
#define FAULT_H
#ifdef __cplusplus
extern "C" {
#endif

struct fault {
  char text[1024];   /* empty: no fault */
};

/* For sentences: what is put behind a noun of which there are so many. */
static inline const char *plural(double count) { return count == 1 ? "" : "s"; }

/* Set the fault's sentence, unless one is there already (the first cause is kept). Returns -1, so that
 * `return fault_set(...)` reads well. */
int fault_set(struct fault *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The name in the zero-terminated list `names` nearest to `word` by edit distance, or NULL when none is near (used for
 * "did you mean"). The list is `count` names long. */
const char *nearest_name(const char *word, const char *const *names, int count);

/* Where this process is, named in fatal messages. `phase` must be a string that lives on. */
void fatal_context(int rank, long long step);
void fatal_phase(const char *phase);
/* The same for another thread to read. */
struct fatal_place {
  int rank;
  long long step;
  const char *phase;
};
struct fatal_place fatal_place(void);

/* Who hears why this process ends, before it does; NULL: nobody. Called from any thread at any moment. */
void fatal_listener(void (*hear)(const char *reason));
/* Let him hear it. `last`: the process ends in any case, also where he does not come back (a file system that hangs). */
void fatal_tell(const char *reason, int last);

/* Print rank, step, phase, file and line and the message on stderr and abort every rank (MPI_Abort when MPI runs). */
void fatal_at(const char *file, int line, const char *format, ...) __attribute__((noreturn, format(printf, 3, 4)));
#define fatal(...) fatal_at(__FILE__, __LINE__, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
