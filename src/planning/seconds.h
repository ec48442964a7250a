/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Seconds of a planned run on a machine, from pilots. On one process. */
#ifndef PLANNING_SECONDS_H
#define PLANNING_SECONDS_H
#include "forecast/event_model.h"
#include "planning/pilot.h"
#include "planning/system_at.h"

enum { PILOTS = 2 }; /* of ascending size */
enum { PLANNED_RANKS_MAX = 1024 };

/* What is to be predicted. */
struct seconds_wanted {
  const struct comm *comm;
  const struct params *params; /* with the softening of the planned run */
  const struct machine *machine;
  double particles;
  int ranks;
  /* [PILOTS] pilots; the first one is empty where the second one has all particles of the run */
  const struct particles *pilot;
  double half;  /* half-mass radius */
  double begin; /* time at which the particles are */
};

/* A scheme of time steps. */
struct seconds_planned {
  const char *scheme;
  double soft_step, steps;       /* length; number until the end of the run */
  int levels;                    /* the deepest block level */
  double full_pairs, hard_pairs; /* interactions of a particle */
  double let_power;              /* of the bytes of LETs with N; 0: there are none */
  struct event_times times;      /* of a soft step */
  double seconds;                /* of the run */
};

/* The schemes that the parameters allow: bits 1 << enum study_scheme; 0: their steps are not predicted, since *why.
 * Pure. */
unsigned seconds_schemes(const struct params *params, const char **why);
/* Predict one of them. Prints what it does on stderr where that takes long. 0 or -1. */
int seconds_plan(const struct seconds_wanted *wanted, enum study_scheme scheme, struct seconds_planned *planned,
                 struct fault *fault);
#endif
