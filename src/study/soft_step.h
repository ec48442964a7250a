/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The messages of a whole soft step, counted for virtual ranks: migration, LETs of the synchronisation, LETs of the
 * substeps chosen at its start and again, and their updates.
 *
 * The schedule of the soft step follows from the block levels, so it is known which LETs are chosen at which tick.
 * Ticks of the same kind (equally aligned, with the same horizon) have the same LETs on average, so one of each kind is
 * counted. The system is taken to be the same at all ticks: at a tick particles are where they are at its beginning,
 * those that are active there are those of its levels, and entries of LETs keep their levels. LETs that are chosen
 * again because particles left their predicted trajectories are not counted. */
#ifndef SOFT_STEP_H
#define SOFT_STEP_H
#include "step/schedule.h"
#include "study/virtual.h"

/* Parts of the traffic: P(X, name, phase of comm.csv, meaning), or X(name, phase, meaning). */
#define SOFT_STEP_PARTS_BY(P, X)                                                          \
  P(X, migration, domain, "particles that change their rank")                             \
  P(X, soft, let_select, "boxes and LETs of the synchronisation")                         \
  P(X, soft_summaries, let_select, "LET summaries of the synchronisation, in stages")     \
  P(X, hard_summaries, hard_let, "LET summaries of the substeps, in stages")              \
  P(X, hard, hard_let, "boxes and LETs of the substeps, chosen at the start")             \
  P(X, again, hard_let, "boxes and LETs of the substeps, chosen again at moment updates") \
  P(X, updates, hard_let, "particles of LETs corrected in substeps")                      \
  P(X, moments, hard_let, "particles and all cells of LETs, at moment updates without new LETs")
#define SOFT_STEP_PART(X, name, phase, meaning) X(name, phase, meaning)
#define SOFT_STEP_PARTS(X) SOFT_STEP_PARTS_BY(SOFT_STEP_PART, X)

enum soft_step_part {
#define X(name, phase, meaning) SOFT_STEP_##name,
  SOFT_STEP_PARTS(X)
#undef X
      SOFT_STEP_PART_COUNT
};
extern const char *const soft_step_part_names[SOFT_STEP_PART_COUNT];
/* The phase of comm.csv that a part belongs to. */
enum phase soft_step_phase(enum soft_step_part part);

struct soft_step_traffic {
  int64_t messages, bytes;
};

/* What one rank sends in a soft step. Integers only, because they are summed over processes as one array. */
struct soft_step_rank {
  struct soft_step_traffic sent[SOFT_STEP_PART_COUNT];
};

/* What one rank sends another in one phase (enum phase). */
struct soft_step_pair {
  int32_t phase, from, to, pad;
  struct soft_step_traffic sent;
};

/* A selection of LETs that several ticks of a schedule have in common. */
struct soft_step_class {
  int32_t tick;    /* the first of these ticks; 0: the start of the substeps, where no particle is active */
  int aligned;     /* steps of this block level and deeper end there */
  int32_t horizon; /* ticks for which the LETs are selected */
  int32_t valid;   /* ticks until the next selection */
  int times;
};
enum { SOFT_STEP_CLASSES = 64 };

/* A LET of virtual ranks. */
struct soft_step_let {
  int32_t class, from, to;          /* class -1: of the synchronisation */
  uint32_t boxes, bytes;            /* bytes of the receiver's boxes and of the LET */
  uint32_t cells;                   /* bytes that its cells add to an update */
  int32_t deepest;                  /* deepest level of its particles; -1: none */
  uint32_t deeper[SCHEDULE_LEVELS]; /* bytes of an update with the particles of this level and deeper */
};

/* What is wanted beside the sums over ranks. */
struct soft_step_wants {
  int pairs; /* 1: count pairs of ranks too */
  /* called for every LET by the process of its sender; or NULL */
  void (*let)(void *of, const struct soft_step_let *let);
  void *let_of;
  void (*progress)(void *of, double done); /* as in virtual_count */
  void *of;
};

/* Collectives, of all ranks, as in comm.csv (collectives, collective_bytes); LET summaries are exchanged by allgathers
 * or in stages. */
struct soft_step_together {
  struct soft_step_traffic collectives[PHASE_COUNT]; /* without LET summaries */
  struct soft_step_traffic gathers[PHASE_COUNT];     /* the exchanges of LET summaries, as if they were allgathers */
  int staged[PHASE_COUNT];                           /* 1: they are in stages instead */
  int64_t exchanges, staged_bytes;                   /* in stages, in a soft step; bytes that they send */
};

struct soft_step {
  struct soft_step_rank *rank; /* [ranks]; the same on every process */
  /* [pairs] in the order of phase, from, to; on rank 0; NULL where they were not asked for */
  struct soft_step_pair *pair;
  int64_t pairs;
  int64_t selections, moment_updates, migrations; /* of LETs of substeps; of a soft step */
  struct schedule schedule;
  struct soft_step_class class[SOFT_STEP_CLASSES]; /* [classes] */
  int classes;
  /* 1: with 5 % more or fewer steps of particles moment updates are half or twice as frequent; 0 without any */
  int edge;
  struct soft_step_together together;
};

/* Count the messages of a soft step of `ranks` ranks.
 * \param w         the particles at the synchronisation, from which domains are cut and soft LETs are chosen
 * \param kicked    the same particles after the opening kick, with block levels
 * \param in        what the schedule depends on; its number of ranks is ignored
 * \param rows      [ranks] of virtual_count for soft LETs
 * Owner: caller (soft_step_free). Collective. */
struct soft_step soft_step_count(const struct comm *comm, struct global_particles *particles,
                                 struct global_particles *kicked, const struct schedule_input *in, int ranks,
                                 const struct virtual_rank *rows, const struct soft_step_wants *wants);
void soft_step_free(struct soft_step *step);
/* The sum of a part over all ranks. */
struct soft_step_traffic soft_step_sum(const struct soft_step *step, int ranks, enum soft_step_part part);

/* The classes of a schedule. Returns their number. *updates: regular moment updates; *builds: those of them with a new
 * tree. Pure. */
int soft_step_classes(const struct schedule *schedule, struct soft_step_class class[SOFT_STEP_CLASSES],
                      int64_t *updates, int64_t *builds);
#endif
