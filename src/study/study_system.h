/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The system that a study counts: its particles with forces, on every process, and its next soft step. */
#ifndef STUDY_SYSTEM_H
#define STUDY_SYSTEM_H
#include "step/plan.h"
#include "step/schedule.h"
#include "study/global_particles.h"
#include "study/study_table.h"

struct study_system {
  struct params used;
  struct global_particles synchronised; /* at the synchronisation */
  struct global_particles kicked;       /* after the opening kick, with block levels */
  struct schedule_input input;          /* what the schedule of the soft step depends on */
  struct study_facts facts;
  /* What the rules for steps know at the synchronisation, and the time-step criterion. */
  struct diagnostics now;
  struct plan_facts rules;
  struct step_rule criterion;
  /* With `measure`: interactions of a particle in a full force, and in the hard force of a substep; 0: none. */
  double full_pairs, hard_pairs;
  int on_host; /* 1: by a CPU */
};

/* Read the particles of the parameters, which are after params_use_walks, and compute their accelerations. `measure`:
 * 1: carry out the substeps of the soft step too, for its interactions. Collective. 0, or -1 with a fault and nothing
 * to close. */
int study_system_open(struct study_system *system, const struct comm *comm, const struct params *par, int measure,
                      struct fault *fault);
/* The same of `particles`, this rank's share in the user's frame, which move to the system, in place of a file. */
int study_system_open_given(struct study_system *system, const struct comm *comm, const struct params *par,
                            struct particles *particles, int measure, struct fault *fault);
/* The order of multipoles that a run has on a device (`on_device` 1) or on the host, where the parameters leave it to
 * the program. */
void study_use_order(struct params *params, int on_device);
/* Set input.density from the levels of the kicked particles: for each level the part of the neighbours of particles of
 * this level and deeper ones that are as deep. Not collective. */
void study_system_density(struct study_system *system);
/* Count as the CUDA backend does: its schedule, groups, LETs, bytes. Not collective. */
void study_system_use_device(struct study_system *system);
/* Free the particles. */
void study_system_close(struct study_system *system);
#endif
