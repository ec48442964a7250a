/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The simulated system: what every part of a step needs, and the path from particles to forces at a synchronisation. */
#ifndef SIM_H
#define SIM_H
#include "backend/backend.h"
#include "backend/energy_verbs.h"
#include "backend/neighbour_list_verbs.h"
#include "base/timer.h"
#include "mpi/comm.h"
#include "mpi/domain.h"
#include "mpi/halo.h"
#include "mpi/let/let.h"
#include "mpi/transport.h"
#include "params/params.h"
#include "particles/softening.h"
#include "system/diagnostics.h"
#include "step/effects.h"
#include "step/plan.h"
#include "step/substep_log.h"
#include "tuning/tuning.h"

/* Counts of one soft step; of this rank until they are added up. */
struct step_counts {
  struct tally full, hard;
  int64_t substeps, moment_updates, migrated;
  int level_max;
  int collapsed;           /* 1: steps of a close pair collapsed, on any rank */
  struct list_tally lists; /* the hard part from neighbour lists */
  struct let_traffic soft_let, step_let, updates, renewed_let;
  int64_t violations, late;   /* particles that will exceed, and that have exceeded, the motion bounds of LETs */
  int64_t violations_handled; /* of `violations`, those before the last selection of LETs */
  int64_t let_reselections;   /* selections of LETs for violations */
  /* upper bound on the number of particles outside the lattice: every build and step counts again */
  int64_t outside;
  int64_t local; /* particles of this rank during the substeps; step_let.received is for their hard forces */
};

/* How far a soft step has come. */
enum step_state {
  STEP_SUBSTEPS_ENDED, /* all substeps are done: step_close follows */
  /* all ranks are at a checkpoint tick: a checkpoint holds the whole state, and the run may end here */
  STEP_AT_CHECKPOINT_TICK,
  STEP_UNDERWAY /* this rank alone has returned, to report its progress */
};

/* The substeps under way. */
struct substeps {
  struct schedule schedule;
  int shared;         /* as in the verb `levels` */
  int32_t tick, next; /* the last line; the next tick at which a particle of this rank is active */
  int32_t built;      /* tick of the last build; 0: none yet */
  int32_t paused;     /* the checkpoint tick that the soft step is at; 0: it is at none */
  /* 1: restarted on another number of ranks, backend or parameters of domains and schedule: both are computed again */
  int foreign;
  int continued;          /* 1: the line at `paused` is the first one after a restart */
  struct substep_row row; /* of the block step under way */
  double began, left;     /* clocks: begin of the row; return from substeps_advance */
};

/* Numbers and masses of the particles of the run. */
struct mass_facts {
  double count, massless;                             /* particles with mass, and without */
  double smallest, mean, largest, total, mean_square; /* masses of those with mass; mean_square: the mean of m^2 */
  double second;                                      /* the largest but for one particle; 0: there is one only */
};

/* What soft steps of this rank took since the start of the program, with hard forces from neighbour lists. `forces`:
 * particles times soft steps; `entries`: hard pair forces; making neighbour lists counts as soft. */
struct lists_cost {
  double soft_seconds, forces, hard_seconds, entries;
};

/* The scheme of neighbour lists (scheme/neighbour_lists.h). */
struct lists_part {
  struct halo halo;
  double proposed_for; /* length of the soft step to which the levels of the particles refer; 0: they have none */
  struct lists_cost cost;
  double speed2;       /* with units of stars: mean square speed of stars and pairs; 0: not measured yet */
  double pair_kinetic; /* kinetic energy of pairs about their centres of mass, as far as it is known */
  double distance;     /* of the 28th neighbour where stars are dense, last measurement; 0: not known */
};

/* A row of collisions.csv. */
struct collision_row {
  double time;
  uint64_t id[2];                                                       /* the heavier star first */
  double mass[2], radii, pericentre, speed, a, e, pos[3], vel[3], lost; /* as struct list_collision */
  int merged;
};

/* Collisions of stars (scheme/collisions.h). */
struct collisions_part {
  double lost;               /* energy that mergers have taken out since the start of the run */
  struct collision_row *row; /* [rows] of the last soft step, the same on all ranks */
  int rows;
  uint64_t (*known)[2]; /* [knowns] ids of pairs that met in it and have not merged, the lower one first, in order */
  int64_t knowns;
  long long count, merged; /* collisions of this job; of them, mergers */
  char ends[400];          /* why no collisions are found any more; empty: they are */
};

/* A mass that has changed and that soft forces do not have yet: its place then, and the soft force on its change. */
struct late_change {
  uint64_t id;
  double x[3], force[3];
};

/* Changes of masses and velocities from outside (step/changes.h). */
struct changes_part {
  double energy;            /* that they have put in since the start */
  int old_sources;          /* 1: the tree has masses of before a change */
  struct late_change *late; /* [late_count] in the order of ids, the same on all ranks */
  int64_t late_count;
  double late_mass; /* sum of the moduli of changes since the last forces */
};

/* What is known of energies beyond the potentials of forces (step/energies.h). */
struct energy_part {
  double heavy_limit;                /* particles of more mass are heavy; */
  int heavies;                       /* their number */
  double light_mass[PARTICLE_TYPES]; /* of all others, by type */
  double rounding[PARTICLE_TYPES];   /* what the potentials of heavy particles lose as floats, times m / 2 */
  /* to add to the potential energies of sim->now by type, and to their sum; 0: not measured */
  double correction[PARTICLE_TYPES], total;
  double noise; /* standard error of the corrected total energy; 0: not measured */
  /* standard error of the usual sample, if it were one of many particles; 0: not measured */
  double scatter;
  double cost; /* interactions of the last measurement, of all ranks */
  struct let_traffic traffic;
  struct changes_part changes;
};

/* How particles are divided among ranks, and what ranks send each other for forces. */
struct ranks_part {
  struct transport transport;
  struct lets *lets;
  struct domain domain;
};

/* What the forces between particles depend on beside the particles: law, accuracy, split. */
struct force_part {
  double gravity;
  struct softening softening;
  struct split split;
  struct mac mac;     /* acceptance criterion of all forces but the first */
  double a_floor;     /* lower bound on |a_old| in the criterion */
  double radius_rule; /* R2 of the rule at R1OverR0 = 2, last measurement; 0: none yet */
};

/* Clocks of a soft step, kept between step_open and step_close. */
struct step_clocks {
  double computed; /* seconds computed before it */
  /* seconds of the clock, of the processor, of waiting and of output before it (effort_begin); clock 0: not known */
  double clock, processor, waited, output;
  /* seconds by phase: before and after the substeps, at the begin and the end of that part */
  struct timer part[2][2];
};

/* What soft steps cost, for the balance of ranks, the choice between schemes and the tuning of the device. */
struct cost_part {
  double work;      /* interactions of this rank in the last soft step */
  double computing; /* seconds in which this rank computed in the last soft step (timer_computing) */
  /* seconds of the last soft step as schemes are compared by them (step/effort.h); 0: not known */
  double effort;
  double per_work;     /* computing seconds per interaction of this rank, smoothed over soft steps; 0: not yet */
  double tree_seconds; /* of the last order and build at a synchronisation */
  struct step_clocks clocks;
  struct substep_log log; /* of all block steps so far */
  struct tuning tuning;
};

struct scheme;
struct settings;

struct sim {
  /* where it is computed */
  const struct comm *comm;
  const struct backend *be;
  struct device *dev;
  /* what is asked for, and what was chosen */
  const struct params *par;    /* the parameters in use: `given`, or those of `settings` */
  struct params given;         /* as the caller gives them, with what rules need to know of the run */
  struct settings *settings;   /* settings/settings.h; NULL: nothing has been chosen yet */
  const struct scheme *scheme; /* step/scheme.h; chosen with the split. NULL: before the first force */
  /* forces */
  struct lattice lattice;
  struct ranks_part ranks;
  struct force_part force;
  struct effects effects; /* expansion, external fields, frame: step/effects.h */
  /* the clock */
  double time;
  long long step;   /* soft steps since the start */
  double soft_step; /* length of the last one */
  /* stop or checkpoint request of this rank (control.h); after step_open the maximum over ranks */
  int stop_request;
  /* what is known of the particles */
  struct diagnostics now;    /* at the last synchronisation */
  struct energy_part energy; /* of these sums */
  struct mass_facts masses;
  struct plan_facts system; /* what rules for steps know of the system beside `now` */
  /* the soft step under way, or the last one */
  struct step_counts counts;
  struct substeps substeps;
  struct lists_part lists;
  struct collisions_part collisions;
  struct cost_part cost;
  struct timer timer;
};

/* Open a system of the particles `particles`, which move to the device. Returns 0, or -1 with the fault set if the
 * transport that the parameters name does not work. Call sim_close in both cases. Collective. */
int sim_open(struct sim *sim, const struct comm *comm, const struct params *par, const struct backend *be,
             struct particles *particles, struct fault *fault);
/* Note numbers and masses of the particles of this rank, which are not on the device. Collective. */
void sim_note_masses(struct sim *sim, const struct particles *particles);
/* Free the system and its particles. Collective. */
void sim_close(struct sim *sim);

/* Compute new domains from the present positions. Collective. */
void sim_decompose(struct sim *sim);
/* Migrate particles to their owner ranks, then order them and build the tree. `decompose`: 1: compute new domains
 * first; 0: keep them. Collective. */
void sim_arrange(struct sim *sim, int decompose);
/* Ensure that the lattice covers the positions that particles can reach within a soft step of length `horizon`. If it
 * does not, order the particles and build the tree on a larger lattice. Needs forces. Collective. */
void sim_reserve(struct sim *sim, double horizon);
/* Migrate particles to their owner ranks within a soft step, by their positions at `tick` and the present domains. Call
 * sim_rebuild of all particles next. Collective. */
void sim_migrate(struct sim *sim, int32_t tick, double tick_length);
/* Rebuild the tree within a soft step from the positions at `tick`, without its moments. No particle may be active
 * (between select and correct). `bands`, `from`: as in the verb reorder. On several ranks LETs of the new tree must be
 * selected afterwards. Local. */
void sim_rebuild(struct sim *sim, int32_t tick, double tick_length, level_bands bands, int from);
/* Sort the particles by the positions of their own times, so that the order at a checkpoint tick does not depend on
 * what preceded it. Before sim_rebuild. Local. */
void sim_restore_order(struct sim *sim);
/* Compute the forces of all particles at a synchronisation by the criterion `mac`. `potential`: 1: potentials too.
 * Needs sim_arrange. Collective. */
void sim_force(struct sim *sim, const struct mac *mac, int potential);
/* Measure the sums at a synchronisation (sim->now) and set the lower bound on |a_old|. Collective. */
void sim_measure(struct sim *sim);
/* What the velocity of the centre of mass has gained since the start but for the external field, at a synchronisation.
 * Returns 1; 0 with zeros where it is not known: without mass, with values that are not finite. Local. */
int sim_gained(const struct sim *sim, double gained[3]);
/* What is added to positions and velocities at a synchronisation for the user's frame. The velocity that the centre of
 * mass has gained, which the next opening kick takes out, is taken out here too. Local. */
void sim_shift(const struct sim *sim, double place[3], double motion[3]);
/* Note what sim->now tells the rules of steps. Local. */
void sim_note_energy(struct sim *sim);
/* The acceptance criterion of `kind` with the tolerance of the parameters. Local. */
struct mac sim_criterion(const struct sim *sim, int kind);
#endif
