/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The schedule of a soft step: what happens at which tick. Pure: no MPI, no device, no clock. All ranks compute it from
 * the same numbers, so they agree without a message. src/step/substeps.c executes one line of it for every tick.
 *
 * A line belongs to the tick of a block step (each rank has its own) or of a moment update (the same on all ranks). */
#ifndef SCHEDULE_H
#define SCHEDULE_H
#include <stdint.h>
#include <stdio.h>

#include "backend/let_verbs.h"
#include "particles/timeline.h"

enum { SCHEDULE_LEVELS = 32 }; /* entries of a histogram of block levels */

/* What the schedule depends on; the same on all ranks. */
struct schedule_input {
  int ranks; /* of the run */
  int split; /* 1: the split is on (hybrid mode) */
  /* 1: at least one rank computes hard forces by tree walks; 0: all use neighbour lists or direct sums */
  int walks_tree;
  /* struct backend, rebuild_interval: default of RebuildInterval [shortest steps]; 0: no builds */
  int backend_interval;
  int builds_fast_tree; /* struct backend, builds_fast_tree */
  int given_interval;   /* parameter RebuildInterval [shortest steps]; 0: not given */
  int tuned;            /* 1: a tuner decides when the tree is built (one rank, no split) */
  int on_device;        /* 1: the backend computes on a device, 0: on the host; for estimates of time */
  /* debug switch checkpoint_ticks: number of intervals between checkpoint ticks; -1: not given */
  int given_checkpoint_ticks;
  int given_fast_level;           /* debug switch fast_level: 0: no fast tree; -1: not given */
  int level_max;                  /* deepest block level */
  int64_t count[SCHEDULE_LEVELS]; /* particles at each block level, sum over ranks */
  /* number of particle steps in this soft step: sum of 2^level over the particles of all ranks */
  int64_t hard_steps;
  double particles; /* number of particles, sum over ranks */
  /* for the levels of schedule_candidates: mean fraction of particles that are as deep in the groups of those that are,
   * over ranks */
  double density[SCHEDULE_LEVELS];
  int most_bands; /* debug switch most_bands, one rank: largest number of bands, at most BANDS_MAX; 0: not given */
};

/* When the tree is built within the soft step. */
enum schedule_builds {
  BUILDS_NONE,
  BUILDS_WITH_MOMENTS,           /* several ranks: all ranks build at every moment update, and select new LETs */
  BUILDS_WITH_MOMENTS_IF_WALKED, /* one rank, split: at a moment update where hard walks use the tree */
  BUILDS_BY_AGE,                 /* one rank: when the tree is build_age ticks old */
  BUILDS_BY_TUNER                /* one rank: when the tuner asks for it */
};

struct schedule {
  int ranks, level_max, walks_tree; /* as in the input */
  /* ticks between moment updates; 0: no particle has substeps, so the schedule has no lines */
  int32_t moment_interval;
  enum schedule_builds builds;
  /* ticks between builds: BUILDS_BY_AGE; BUILDS_BY_TUNER: the first interval that the tuner tries */
  int64_t build_age;
  level_bands bands;           /* of block levels: those of each have a tree of their own (particles/timeline.h) */
  int32_t checkpoint_interval; /* ticks between checkpoint ticks, a multiple of moment_interval; 0: there are none */
};

/* Which tree is built. */
enum rebuilt { REBUILT_NONE, REBUILT_ALL, REBUILT_FAST };

enum moment_update {
  MOMENTS_KEPT,
  MOMENTS_REGULAR, /* at a multiple of moment_interval */
  MOMENTS_OF_BUILD /* at another tick, because the tree has just been built */
};

/* Which LETs are selected. */
enum let_selection {
  LETS_KEPT,
  /* as LETS_ALL if any rank has had prediction-bound violations since the last selection, else as LETS_KEPT */
  LETS_IF_VIOLATED,
  LETS_ALL,          /* LETs of the tree of all particles */
  LETS_FAST,         /* LETs of the fast tree; those of the slow tree are kept */
  LETS_SLOW_AND_FAST /* LETs of both trees */
};

/* A long soft step has checkpoint ticks, at which it can be interrupted. Order, trees, groups, moments and LETs of all
 * particles are made again there, from nothing but the particles, the domains and the lattice, so a checkpoint that is
 * taken before the line holds the whole state. They are at the same ticks whether or not a checkpoint is taken, so
 * results do not depend on it.
 *
 * What happens at a tick, in this order: migration, build, moments, selection of LETs, block step, update of LETs. */
struct schedule_line {
  int32_t tick;
  int level;   /* steps of this block level and deeper may end here */
  int migrate; /* 1: particles migrate to their owner ranks, before the build */
  enum rebuilt rebuild;
  int from_band; /* REBUILT_FAST: the first band whose tree is built */
  enum moment_update moments;
  enum let_selection lets;
  int from_particles; /* 1: a checkpoint tick */
  /* 1: LETs are selected for the active particles only: no other particle's step ends within the horizon */
  int active_targets;
  int32_t horizon;      /* number of ticks for which the selected LETs are valid (except slow LETs) */
  int32_t slow_horizon; /* the same for slow LETs; 0 without them */
  /* of the LET update after the block step; with LETS_IF_VIOLATED, for the case without violations */
  enum let_update_scope scope;
  int32_t next_moments; /* tick of the next regular moment update, at most TICKS */
};

/* The bands by the cost of builds; 0: one tree, or they are given. The caller then measures in->density at the first
 * level of each band but the first (backend verb `shares`); this function does not read that field. */
level_bands schedule_candidates(const struct schedule_input *in);
/* The first level of fast particles, those of the second band; LEVEL_MAX + 1: there are none. */
int schedule_fast_level(const struct schedule *schedule);
/* The schedule of a soft step. */
struct schedule schedule_make(const struct schedule_input *in);
/* The line at a tick, 0 <= tick < TICKS. The line at tick 0 begins the soft step and uses the tree of the
 * synchronisation. `built`: tick of the last build in this soft step; 0: none yet. `build_asked`: with BUILDS_BY_TUNER,
 * 1 if the tuner asks for a build; with BUILDS_WITH_MOMENTS_IF_WALKED, 1 if hard walks use the tree; else ignored. */
struct schedule_line schedule_at(const struct schedule *schedule, int32_t tick, int32_t built, int build_asked);
/* The line at which a soft step continues that was interrupted at `tick`. The schedule may be another one than before
 * (another number of ranks), so `tick` need not be a multiple of its intervals. */
struct schedule_line schedule_continue_at(const struct schedule *schedule, int32_t tick);
/* 1: `tick` is a checkpoint tick. */
int schedule_is_checkpoint(const struct schedule *schedule, int32_t tick);
/* The tick of the next line after `tick`; TICKS: there is none. `next_end`: tick at which the next step of a particle
 * of this rank ends. */
int32_t schedule_next(const struct schedule *schedule, int32_t tick, int32_t next_end);
/* Print as a table the lines that have more than a block step. Builds that the tuner asks for are not included. */
void schedule_print(const struct schedule *schedule, FILE *out);
#endif
