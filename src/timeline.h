/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Integer time. Every soft step has a real length and 2^30 ticks of its own; block level k advances 2^(30-k) ticks; all
 * particles are synchronised at its ends. Pure functions. */
#ifndef TIMELINE_H
#define TIMELINE_H
#include <math.h>
#include <stdint.h>

#include "backend.h"
#include "hd.h"

enum { TIMELINE_BITS = 30, LEVEL_MOST = 24 };   /* deeper levels would be shorter than what doubles resolve in long runs */

HD int32_t timeline_ticks(int level) { return (int32_t)(TICKS >> level); }

/* The smallest level whose step is at most `wanted`. */
HD int timeline_level(double soft_step, double wanted)
{
  int level = 0;
  while (soft_step > wanted && level < LEVEL_MOST) {
    soft_step *= 0.5;
    level++;
  }
  return level;
}

/* The step that a particle wants: eta sqrt(eps / |a|), and eta eps / |v - v_com| (min-av). */
HD double timeline_wanted(const struct step_rule *r, const float *acc_hard, const float *acc_soft, const double *vel)
{
  double a2 = 0, v2 = 0;
  for (int c = 0; c < 3; c++) {
    double a = (double)acc_hard[c] + acc_soft[c], v = vel[c] - r->v_com[c];
    a2 += a * a;
    v2 += v * v;
  }
  double step = a2 > 0 ? r->eta * sqrt(r->softening / sqrt(a2)) : 1e300;
  if (r->use_velocity && v2 > 0) step = fmin(step, r->eta * r->softening / sqrt(v2));
  return step;
}

/* The tick at which a particle's step ends. */
HD int32_t timeline_end(const struct particles *p, int64_t i) { return p->tick[i] + timeline_ticks(p->level[i]); }

/* Where a particle is so long after its own time; x may be its position. */
HD void timeline_place(double x[3], const double *pos, const double *vel, const float *acc_hard, double dt)
{
  for (int c = 0; c < 3; c++) x[c] = pos[c] + (vel[c] + 0.5 * dt * acc_hard[c]) * dt;
}

/* The smallest level >= `level` whose steps may begin at `tick`. */
HD int timeline_aligned(int32_t tick, int level)
{
  while (tick % timeline_ticks(level) != 0) level++;
  return level;
}

/* The first end of a step of this level behind `tick`. */
HD int32_t timeline_after(int32_t tick, int level)
{
  int32_t ticks = timeline_ticks(level);
  return (tick / ticks + 1) * ticks;
}

/* The soft step from `now`: at most `wanted`, and such that a whole number of equal steps reaches `target` exactly.
 * A step may be longer than wanted by a part of 1e-10, so that rounding does not make one more. Returns the length; *last is
 * set when this step ends at the target. */
double timeline_step(double now, double target, double wanted, int *last);

/* The next of the multiples of `interval` after `begin` that lies behind `now` (with the tolerance of rounding), at most
 * `end`; with interval 0: end. */
double timeline_next_output(double begin, double interval, double now, double end);
#endif
