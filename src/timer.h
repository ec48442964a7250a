/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Seconds by phase; one phase at a time. */
#ifndef TIMER_H
#define TIMER_H

#define PHASES(X) \
  X(domain) X(order) X(build) X(moments) X(groups) X(let_select) X(walk) X(hard_let) X(hard_walk) X(correct) X(wait) X(diagnostics) X(output) X(other)

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
  enum phase now;
  double since;
  struct ledger *ledger;   /* follows the phases; may be NULL */
  void (*settle)(void *);  /* called before a phase ends, so that work which it queued is its own; NULL: it goes to whoever waits */
  void *settle_of;
  void (*follow)(const char *name);   /* the same, by name */
};

double timer_clock(void);
void timer_reset(struct timer *t);
/* The time since the last call goes to the phase that was on; `next` is on from now. Names it in fatal messages and in the
 * ledger too; progress for the watchdog. */
void timer_phase(struct timer *t, enum phase next);
double timer_total(const struct timer *t);
/* Of these, what this rank computed: phases in which it neither writes nor only waits, without the waiting in them since the
 * ledger was reset. */
double timer_computing(const struct timer *t);
#endif
