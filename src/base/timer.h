/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Seconds of each phase of a step. One phase at a time. Local. */
#ifndef TIMER_H
#define TIMER_H

#define PHASES(X) \
  X(domain)       \
  X(order)        \
  X(build)        \
  X(moments)      \
  X(groups) X(let_select) X(walk) X(hard_let) X(hard_walk) X(correct) X(wait) X(diagnostics) X(fof) X(output) X(other)

enum phase {
#define X(name) PHASE_##name,
  PHASES(X)
#undef X
      PHASE_COUNT
};
extern const char *const phase_names[PHASE_COUNT];

struct ledger;

struct timer {
  double seconds[PHASE_COUNT];
  enum phase now;        /* the current phase */
  double since;          /* clock at its beginning */
  struct ledger *ledger; /* gets the same phases; may be NULL */
  /* Called before a phase ends, to wait for the work that the phase queued. NULL: that work counts in the phase that
   * waits for it. */
  void (*drain)(void *);
  void *drain_argument;
  void (*follow)(const char *name); /* called with the name of each new phase; may be NULL */
};

/* Seconds of a monotonic clock. */
double timer_clock(void);
/* Seconds for which cores worked for this process, as of a core for each of its `threads`: those of the calling thread,
 * which is to be the main one, or the mean of all threads where that is more. On a busy machine they grow more slowly
 * than those of the clock, and about as fast on a machine of its own but in waits. */
double timer_processor(int threads);
/* Set all seconds to zero and begin PHASE_other. */
void timer_reset(struct timer *timer);
/* End the current phase and begin `next`, also in the ledger and in messages of `fatal`. */
void timer_phase(struct timer *timer, enum phase next);
/* Phases that timers of this process have begun: its progress, for the watchdog. From any thread. */
unsigned long timer_begun(void);
/* Seconds of all phases. */
double timer_total(const struct timer *timer);
/* Seconds in which this rank computed: those of the phases that compute, without the waiting in them that the ledger
 * has recorded since its reset. */
double timer_computing(const struct timer *timer);
#endif
