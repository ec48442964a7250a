/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The simulated system: what every part of a step needs, and the path from particles to forces at a synchronisation. */
#ifndef SIM_H
#define SIM_H
#include "backend.h"
#include "comm.h"
#include "diagnostics.h"
#include "domain.h"
#include "let.h"
#include "params.h"
#include "substep_log.h"
#include "timer.h"
#include "transport.h"
#include "tuning.h"

/* Counts of one soft step; of this rank until they are added up. */
struct step_counts {
  struct tally full, hard;
  int64_t substeps, refreshes, migrated;
  int level_most;
  struct let_traffic soft_let, step_let, updates, renewed_let;
  int64_t strays, late;         /* particles that were about to leave, or had left, the way that LETs allowed for; */
  int64_t mended, remakes;      /* of those, before the last time that LETs were chosen anew; how often they were */
  int64_t outside;
  int64_t local;             /* particles during the substeps; step_let.received is what came for their hard forces */
};

struct sim {
  const struct comm *comm;
  const struct params *par;
  const struct backend *be;
  struct device *dev;
  struct transport transport;
  struct lets *lets;
  struct domain domain;
  struct lattice lattice;
  struct split split;        /* .on: hybrid */
  struct mac mac;            /* the criterion of all forces but the first */
  double gravity;
  double a_floor;            /* |a_old| is raised to it */
  double time;
  long long step;            /* soft steps since the start */
  double radius_rule;        /* R2 of the rule at R1OverR0 = 2, as last measured; 0: not yet */
  double soft_step;          /* length of the last one */
  double work;               /* interactions of this rank in the last soft step */
  double computing;          /* seconds in which this rank computed in the last soft step (timer_computing) */
  double per_work;           /* computing seconds per interaction of this rank, smoothed over soft steps; 0: not yet */
  struct diagnostics now;    /* at the last synchronisation */
  struct step_counts counts;
  struct substep_log log;    /* of all block steps so far */
  struct tuning tuning;
  int wish;                  /* before a soft step what this rank wishes of it, after step_open the largest wish of all ranks (control.h) */
  struct {                   /* a soft step between its two parts, for its clocks */
    double computed;         /* seconds computed before it */
    struct timer part[2][2]; /* seconds by phase at the beginning and the end of what it takes before and after its substeps */
  } half;
  double planting;           /* seconds of the last order and build at a synchronisation */
  struct timer timer;
};

/* A system of the particles (which become the device's). -1 where the transport that was asked for does not work, with the fault
 * set: the system is there all the same, to be closed. Collective. */
int sim_open(struct sim *s, const struct comm *c, const struct params *par, const struct backend *be, struct particles *p, struct fault *f);
void sim_close(struct sim *s);

/* Give every particle to its rank, then order, build, moments, groups. With `decompose` 0 the cuts stay. Collective. */
void sim_arrange(struct sim *s, int decompose);
/* The lattice is made to hold the particles for a soft step of this length: where it does not yet, particles are ordered
 * and the tree is built anew. Needs forces. Collective. */
void sim_make_room(struct sim *s, double horizon);
/* Particles go home within a soft step, to the domains that there are, by their places at `tick`; then a tree of all is due. Collective. */
void sim_settle(struct sim *s, int32_t tick, double tick_length);
/* The tree anew within a soft step, of the particles as they are at `tick`, all but its moments; nobody may be active. `fast` and
 * `renew` as the verb reorder takes them. On several ranks LETs of what is built anew have to be chosen anew. */
void sim_rebuild(struct sim *s, int32_t tick, double tick_length, int fast, int renew);
/* The forces of all particles at a synchronisation, by the criterion `mac`; the system must be arranged. Collective. */
void sim_force(struct sim *s, const struct mac *mac, int potential);
/* The forces of a system that has none yet: by opening angle, then once more by the criterion. Measures R where the rule
 * asks for it. Collective. */
void sim_first_force(struct sim *s);
/* Sums at a synchronisation, into s->now; sets the floor of |a_old|. Collective. */
void sim_measure(struct sim *s);
/* Measure the rule's radius again, and take it when it has changed by a fifth (or at once with `first`); returns 1 when
 * the split changed. Collective. */
int sim_radius(struct sim *s, int first);
#endif
