/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The time of a soft step of virtual ranks on a machine, by the clocks of ranks (trace/clock.h): a rank begins its next
 * piece of work when the previous one has ended and the messages that it needs have arrived. Only collectives are
 * common to all ranks. */
#ifndef EVENT_MODEL_H
#define EVENT_MODEL_H
#include "forecast/machine.h"
#include "study/soft_step.h"
#include "trace/efficiency.h"

/* Phases of the model, and the phases of timers.csv that they hold. */
#define EVENT_PHASES(X)                                                                                \
  X(migration, "domains, and messages with particles that change their rank (domain)")                 \
  X(step, "kicks, sums and tables of a soft step (correct, diagnostics, other)")                       \
  X(tree, "sort by position, tree, moments of its cells, groups (order, build, moments, groups)")      \
  X(let_select, "selection and messages of LETs of the synchronisation")                               \
  X(walk, "full forces")                                                                               \
  X(hard_let, "selection and messages of LETs of the substeps, updates")                               \
  X(hard_walk, "hard forces of substeps; without a split, forces of block steps (hard_walk, correct)") \
  X(collective, "collective operations")                                                               \
  X(wait, "waiting for messages and for slower ranks")

enum event_phase {
#define X(name, meaning) EVENT_##name,
  EVENT_PHASES(X)
#undef X
      EVENT_PHASES_COUNT
};
extern const char *const event_phase_names[EVENT_PHASES_COUNT];

struct event_times {
  double mean[EVENT_PHASES_COUNT]; /* seconds, mean over ranks */
  /* of the ranks that come last to collectives: their sum is the time of the soft step */
  double critical[EVENT_PHASES_COUNT];
  /* of `critical`, what does not depend on the number of particles: fixed costs of walks and ticks */
  double floors[EVENT_PHASES_COUNT];
  /* the soft step where messages take no time: seconds of it, and of a rank's work, mean and largest. Laws have none */
  double ideal, useful_mean, useful_max;
};

/* What the model reads. On one process. */
struct event_input {
  int ranks;
  const struct soft_step *step;
  const int64_t *local;                    /* [ranks] particles */
  const int64_t (*level)[SCHEDULE_LEVELS]; /* [ranks] particles of each block level */
  const struct soft_step_let *let;         /* [lets] sorted by class */
  int64_t lets;
  double full_pairs, hard_pairs; /* interactions of a particle */
  int split;                     /* 1: the hard forces are those of a hybrid */
};

void event_model(const struct event_input *in, const struct machine *machine, struct event_times *times);
/* The sum over phases. */
double event_total(const double *phase);
/* The efficiencies of a counted soft step, whose ideal network has no collectives either. */
struct efficiency event_efficiency(const struct event_times *times);
/* Seconds of the collectives of a soft step of `ranks` ranks, exchanges of LET summaries included, where that of
 * known_ranks is known. Bytes of summaries in stages grow with the square of the logarithm of the number of ranks: each
 * depth of groups adds a message, and to each message the groups of one more depth. Pure. */
double event_collectives(const struct soft_step_together *together, int known_ranks, int ranks,
                         const struct network *network);
#endif
