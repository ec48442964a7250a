/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What acts on the particles beside their own forces, and what changes the meaning of times and positions: the
 * expansion of a universe, external fields, the frame of the run. Each of them is a const struct of hooks in one file
 * of effects/, and an entry of the table in effects.c. A system has those that its parameters ask for, with a state for
 * each. All other code calls the functions at the end of this file, which call the hooks of the effects that the system
 * has, in the order of the table. */
#ifndef EFFECTS_H
#define EFFECTS_H
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "backend/backend.h"
#include "gravity/field.h"
#include "mpi/comm.h"
#include "params/params_external.h"
#include "step/plan.h"

struct sim;

enum effect_trait {
  EFFECT_COMOVING = 1,       /* coordinates are comoving: sim->time is the expansion factor */
  EFFECT_IN_FIELD = 2,       /* a field acts whose potential energy has an arbitrary zero */
  EFFECT_AT_PLACES = 4,      /* it acts at places of the user's frame, which must be the frame of the run */
  EFFECT_ENERGY_CHANGES = 8, /* the energy is not conserved */
  EFFECT_POTENTIALS = 16     /* `account` needs the potentials of every synchronisation */
};

/* What effects did to the particles of the input. */
struct effects_entry {
  unsigned traits;     /* of the effects of the run */
  double begin;        /* time */
  double x0[3], v0[3]; /* subtracted from positions and velocities */
};

/* A number, or some of them, of a checkpoint. */
struct effect_numbers {
  const char *name; /* "EFFECT.NAME" */
  int count;
  double *value;
};
enum { EFFECT_NUMBERS = 8 };

/* The hooks of an effect that is made from files. */
struct effect_files {
  /* whether its tables cover the times from sim->time on. 0 or -1 */
  int (*cover)(const void *state, const struct sim *sim, double end, struct fault *fault);
  /* the files as they were read, their tables up to a time: file[EXTERNAL_FILES]; returns their number */
  int (*list)(const void *state, double time, struct external_file *file);
  /* the same for a run with these parameters that would go on from `time`; -1 with a fault where it could not */
  int (*list_of)(const struct params *params, double time, struct external_file *file, struct fault *fault);
};

/* What an external field says of itself. */
struct effect_values {
  double (*host_energy)(const void *state, const struct sim *sim); /* of particles here, in what the host computes */
  /* the tide at x on what moves with v; differences are over `length` */
  void (*tide)(const void *state, double time, const double x[3], const double v[3], double length, struct tide *tide);
};

/* The hooks of an effect. NULL: nothing is to be done, or it is as without the effect. `state`: memory of its own.
 * Local unless a member says "collective". */
struct effect {
  const char *name;
  size_t size;     /* bytes of its state, which is zero-initialised */
  unsigned traits; /* enum effect_trait */
  double a_floor;  /* lower bound of |a_old| as a fraction of its rms; 0: as without it */

  /* Begin and end. */
  int (*given)(const struct params *params); /* 1: a run with these parameters has it; NULL: every run */
  /* particles of the input, in the user's units and frame, into those of the run. Collective */
  void (*enter)(const struct comm *comm, const struct params *params, struct effects_entry *entry,
                struct particles *particles);
  int (*open)(void *state, struct sim *sim, struct fault *fault); /* 0 or -1; `close` follows in both cases */
  void (*begin)(void *state, const struct sim *sim, const struct effects_entry *entry); /* at sim->time of a new run */
  const struct effect_files *files;                                                     /* that it is made from */
  void (*close)(void *state);

  /* Times: `time` is the user's, `clock` the one in which positions move uniformly between kicks. One effect of a
   * system may have these. */
  double (*clock)(const void *state, double time);
  double (*time_of)(const void *state, double clock);
  double (*longest)(const void *state, const struct sim *sim);                  /* soft step, by the clock */
  double (*end_of)(const struct params *params, double time, double soft_step); /* without a system */

  /* Forces. */
  /* set what depends on time in the forces; returns the factor of the gravitational constant */
  double (*forces_at)(void *state, const struct sim *sim, double time);
  const struct field *(*background)(const void *state); /* part of all forces, as forces_at has set it */

  /* Kicks. */
  void (*field)(const void *state, double time, struct field *field); /* add what acts in kicks at a time */
  /* changes of the velocities [3 n] in half a kick by what the host computes; the caller frees them. NULL: none */
  double *(*host_kick)(const void *state, const struct sim *sim, double time, double dt);

  /* Sums of a synchronisation, sim->now. */
  void (*measured)(void *state, struct sim *sim);           /* add to them after each measurement. Collective */
  const struct effect_values *values;                       /* of an external field */
  void (*account)(void *state, struct sim *sim);            /* make sim->now.total the conserved quantity */
  void (*account_correction)(void *state, struct sim *sim); /* the same for a correction that was measured */

  /* What a run prints and stores. */
  /* add to positions and velocities for the user's frame */
  void (*shift)(const void *state, const struct sim *sim, double place[3], double motion[3]);
  void (*describe)(const void *state, const struct sim *sim, FILE *out);        /* a line at the start */
  int (*numbers)(void *state, struct sim *sim, struct effect_numbers *numbers); /* [EFFECT_NUMBERS] of a checkpoint */
};

extern const struct effect effect_external_field, effect_expansion, effect_frame;

/* The effects of a system. Zero-initialised: none. */
enum { EFFECTS_MAX = 8 };
struct effects {
  int count;
  unsigned traits; /* of all of them */
  struct effect_use {
    const struct effect *effect;
    void *state;
  } use[EFFECTS_MAX];
  struct field field; /* of the next kick, at its time */
  double v_com[3];    /* velocity of the centre of mass that the run conserves, but for kicks in the field */
};

/* Change the particles of the input, in the user's units and frame at the time `begin`, into those of the run.
 * Collective. */
void effects_enter(const struct comm *comm, const struct params *params, double begin, struct particles *particles,
                   struct effects_entry *entry);
/* Open the effects of sim->par. 0, or -1 with a fault, on all ranks. Call effects_close in both cases. Collective. */
int effects_open(struct sim *sim, struct fault *fault);
void effects_close(struct sim *sim);
/* Add an effect that is opened already. `state`: of memory_alloc; owner: the system. Local. */
void effects_use(struct sim *sim, const struct effect *effect, void *state);
/* The state of an effect; NULL: the system does not have it. Local. */
void *effects_state(const struct sim *sim, const struct effect *effect);
/* Begin a run at sim->time with particles that `entry` describes. Local. */
void effects_begin(struct sim *sim, const struct effects_entry *entry);
/* A fault where the tables of an effect do not cover the times from sim->time to `end`. 0 or -1. Local. */
int effects_cover(const struct sim *sim, double end, struct fault *fault);
/* 1: an effect of the system has this trait. Local. */
int effects_have(const struct sim *sim, enum effect_trait trait);
/* The lower bound of |a_old| as a fraction of its rms; `usual` without an effect that has another one. Local. */
double effects_a_floor(const struct sim *sim, double usual);

/* The clock at sim->time. Local. */
double effects_clock(const struct sim *sim);
/* The plan of the next soft step to the output time `target` (plan_next). Local. */
struct plan effects_plan(const struct sim *sim, double target);
/* The time at the end of a soft step that begins now. Local. */
double effects_end(const struct sim *sim, const struct plan *plan);
/* The same without a system, for a soft step that begins at `time` in a run with these parameters. Local. */
double effects_end_of(const struct params *params, double time, const struct plan *plan);

/* Set the gravitational constant of all forces, that of the criterion, and the backgrounds for a time. Before the
 * forces of a synchronisation. Local. */
void effects_at(struct sim *sim, double time);
/* The same for the forces of a substep at `tick` of the soft step under way; the criterion stays that of its begin, so
 * that LETs and lists stay valid. Local. */
void effects_at_tick(struct sim *sim, int32_t tick, double tick_length);
/* Add the backgrounds to the forces of a walk. `split`: 1: forces are split, and a background is part of the soft ones.
 * Local. */
void effects_add(struct sim *sim, enum walk_kind kind, int split, int32_t tick);
/* Add the accelerations of the backgrounds at x, as for the forces of a synchronisation. Local. */
void effects_add_at(const struct sim *sim, const double x[3], double acc[3]);

/* Make sim->effects.field that of a time; it stays as it is where no effect has one. Local. */
void effects_field(struct sim *sim, double time);
/* Kick all particles in `field`, and in what the host computes, at `time` by dt. Where the host computes: half of its
 * kick, the kick of the device, the other half. Local. */
void effects_kick(struct sim *sim, const struct field *field, double time, double dt);
/* Kick the velocity that the centre of mass should have (sim->effects.v_com) by dt with the mean acceleration of the
 * field in sim->now: what the centre has beyond that comes from forces between particles, which add up to zero.
 * Local. */
void effects_kick_centre(struct sim *sim, double dt);

/* The field that is part of the potential energy: a background, or the external one. */
const struct field *effects_potential(const struct sim *sim);
/* Add to sim->now, after diagnostics_measure. Collective. */
void effects_measured(struct sim *sim);
/* Potential energy of the particles in sim->effects.field and in what the host computes, of all ranks, summed in double
 * precision; 0 without EFFECT_IN_FIELD. At a synchronisation. Collective. */
double effects_energy(const struct sim *sim);
/* The tide of the external field at x, at sim->time, on what moves with the velocity v; zeros without a field.
 * `length`, above 0: of differences, small beside the scale of the field. Local. */
void effects_tide(const struct sim *sim, const double x[3], const double v[3], double length, struct tide *tide);
/* Make sim->now.total the conserved quantity. At each synchronisation with potentials; a repeated call at the same time
 * replaces the one before. Local. */
void effects_account(struct sim *sim);
/* The same for the correction of the potential energy that was measured. Local. */
void effects_account_correction(struct sim *sim);

/* What is added to positions and velocities for the user's frame. Local. */
void effects_shift(const struct sim *sim, double place[3], double motion[3]);
/* Print a line of each effect that has one. Local. */
void effects_describe(const struct sim *sim, FILE *out);
/* The numbers of effect `k` for a checkpoint, `numbers` [EFFECT_NUMBERS]; returns how many, -1: there is no such
 * effect. Local. */
int effects_numbers(struct sim *sim, int k, struct effect_numbers *numbers);
/* The files from which the effects were made, as they were read; of tables the rows up to sim->time. Returns their
 * number. Local. */
int effects_files(const struct sim *sim, struct external_file file[EXTERNAL_FILES]);
/* The same without a system, for a run with these parameters that would go on from `time`: the files as they are now.
 * -1 with a fault where they are missing or do not cover the run. Local. */
int effects_files_of(const struct params *params, double time, struct external_file file[EXTERNAL_FILES],
                     struct fault *fault);
#endif
