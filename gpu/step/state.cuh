/* SPDX-License-Identifier: GPL-3.0-or-later */
/* State of the step folder: what is known of the ends of the particles' steps; potentials beside those of forces. Data
 * only. */
#ifndef GPU_STEP_STATE_CUH
#define GPU_STEP_STATE_CUH
#include "gpu/device/memory.cuh"

/* Numbers of all particles that are queued before a verb asks for them, and read with other results. */
struct queued_numbers {
  /* the read of results that has the box of `horizon`, the histogram of levels; 0: none has */
  int64_t bounds, histogram;
  double horizon;
  double next_horizon; /* `sample` queues the box of this horizon; 0: none */
};

/* Particles of a tile of select and correct. */
enum { SELECT_TILE = 1024 };

struct step_state {
  struct queued_numbers ahead;
  int closed;                      /* this soft step has had its closing kicks */
  int next_known;                  /* device_results->next holds the next tick */
  int next_read;                   /* so does host_results->next */
  int selected;                    /* active particles were selected and are not corrected yet */
  struct array<int32_t> tile_next; /* the first tick at which a step of a tile's particles ends; 0: not known */
  int32_t tiles_known;             /* tile_next is valid for particles before this one */
};

/* Of the verbs for energies (backend/energy_verbs.h). */
struct energy_state {
  struct array<float> fine;   /* potentials of the last WALK_POTENTIAL, */
  struct array<float> unused; /* and what else a walk stores, which is not used */
  struct array<float> kept;   /* the hard part of the potentials */
  /* groups of the walk; 0: the potentials of forces are direct sums, or there was no walk */
  int32_t stride;
  int soft, has_kept; /* `fine` lacks the hard part; `kept` holds it */
};
void energy_state_free(struct energy_state *state);

/* To be called when positions, velocities or accelerations of particles have changed. */
static inline void step_state_moved(struct step_state *state)
{
  state->ahead.bounds = 0;
  state->ahead.next_horizon = 0;
}
/* To be called when particles, their order or their levels have changed: no end of a step is known. */
static inline void step_state_invalidate(struct step_state *state)
{
  step_state_moved(state);
  state->ahead.histogram = 0;
  state->next_known = state->next_read = state->tiles_known = 0;
}
void step_state_free(struct step_state *state);
#endif
