/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The frame in which a run works: that of the centre of mass. Input and output are in the user's frame. */
#ifndef FRAME_H
#define FRAME_H
#include "particles/particles.h"
#include "step/effects.h"

/* The state of effect_frame. At the time t the user's position is x + x0 + v0 (t - begin), and the user's velocity
 * v + v0. Internal units. Zero-initialised: the frames are the same. */
struct frame {
  double x0[3], v0[3], begin; /* begin: by the clock (effects_clock) */
};

/* Choose the frame of the particles `particles` at the time `begin`, and subtract x0 and v0 from positions and
 * velocities. x0 and v0 are multiples of a power of two that is about 2^-24 of the rms distance and the rms velocity
 * about the centre of mass (weighted by mass), and within half of that of the centre. So a centre at rest at the origin
 * to that accuracy is not shifted; and numbers whose bits suffice are subtracted without rounding, and in the user's
 * frame they are those of the input again. Without mass, or where the sums are not finite, the frame is the user's. The
 * result depends on the number of ranks and the order of the particles only where a centre is half-way between two
 * multiples to rounding. Collective. */
void frame_choose(struct frame *frame, const struct comm *comm, struct particles *particles, double begin);
/* x0 + v0 (time - begin), and v0. Local. */
void frame_shift(const struct frame *frame, double time, double place[3], double motion[3]);
#endif
