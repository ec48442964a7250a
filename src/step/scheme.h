/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The contract of a scheme: how a soft step is integrated between two synchronisations, and what its forces are at
 * them. The soft step (step.c), the forces of a synchronisation (sim.c) and what runs print call sim->scheme and never
 * ask which one it is. The schemes are in scheme/, which chooses one by the parameters (scheme/schemes.h). Collective,
 * unless a member says "local". */
#ifndef STEP_SCHEME_H
#define STEP_SCHEME_H
#include "step/sim.h"

/* A length that forces must resolve: the lattice may not be much coarser. `one`, `many`: its name in messages, for one
 * and for many of them. */
struct resolved_length {
  double length;
  const char *one, *many;
};

struct scheme {
  const char *mode; /* "tree", "hybrid": Mode in messages */
  /* what the models of errors say nothing of, in messages; NULL: they predict its errors */
  const char *unpredicted;
  /* 1: substeps walk trees within R2, so their cost over that of full walks (h) tells whether the split pays */
  int compares_walks;
  int shortest_step_is_reported; /* 1: steps at the deepest block level are worth a warning */
  /* 1: block levels follow from jerks, so they are not known before the first soft step */
  int steps_follow_jerks;
  /* 1: a soft step begins with hard forces of the particles as they are then, not with those of the synchronisation */
  int renews_hard_forces;

  /* The soft step, in the order of the calls. */
  /* after the opening kick: to the first substep, or all of them */
  void (*open)(struct sim *sim, const struct plan *plan);
  void (*resume)(struct sim *sim); /* in place of open, at the checkpoint tick of a restart */
  enum step_state (*advance)(struct sim *sim, const struct plan *plan, double until); /* step_substeps */
  void (*drift)(struct sim *sim, double tick_length);  /* positions at the end of the soft step. Local */
  void (*finish)(struct sim *sim, double tick_length); /* velocities there, after its forces. Local */
  void (*note_cost)(struct sim *sim, double seconds);  /* `seconds`: in which this rank computed. Local */
  /* R2 again, where it follows the system. 1: forces must be computed again */
  int (*measure_radius)(struct sim *sim);

  /* The forces at a synchronisation. */
  /* hard forces and potentials to which the walk adds, where substeps have not left them */
  void (*hard_part)(struct sim *sim);
  /* complete the requests. Local */
  void (*before_walk)(struct sim *sim, int potential, struct let_request *let, struct walk_request *walk);
  void (*after_walk)(struct sim *sim); /* Local */
  /* those of finer potentials. Local */
  void (*sample)(const struct sim *sim, struct let_request *let, struct walk_request *walk);
  void (*acceleration)(const struct particles *particles, int64_t i, double acc[3]); /* of all forces. Local */

  /* What runs print and check. */
  int (*check)(const struct sim *sim, struct fault *fault);  /* of a system after its first forces. 0 or -1 */
  struct list_tally (*tally)(const struct sim *sim);         /* of the soft step, over all ranks; zeros: none */
  struct resolved_length (*resolves)(const struct sim *sim); /* Local */
};
#endif
