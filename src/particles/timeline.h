/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Integer time. A soft step has a real length and 2^30 ticks; a time step of block level k has 2^(30-k) ticks; all
 * particles are synchronised at both ends of a soft step. Pure functions. */
#ifndef TIMELINE_H
#define TIMELINE_H
#include <math.h>
#include <stdint.h>

#include "base/hd.h"
#include "particles/particles.h"

#define TICKS 1073741824 /* 2^30 ticks in a soft step */

enum { TIMELINE_BITS = 30, LEVEL_MAX = 24 }; /* deeper levels would be shorter than what doubles resolve in long runs */

/* Ticks of a time step of block level `level`. */
HD int32_t timeline_ticks(int level) { return (int32_t)(TICKS >> level); }

/* The smallest level whose time step is at most `wanted` (time units), at most LEVEL_MAX. */
HD int timeline_level(double soft_step, double wanted)
{
  int level = 0;
  while (soft_step > wanted && level < LEVEL_MAX) {
    soft_step *= 0.5;
    level++;
  }
  return level;
}

/* The time-step criterion. */
struct step_rule {
  double eta, softening;               /* dimensionless; length, */
  double softening_of[PARTICLE_TYPES]; /* or with by_type: of the types */
  int by_type;
  double v_com[3];  /* velocity of the centre of mass */
  int use_velocity; /* 1: criterion min-av; 0: acceleration only */
  double soft_step; /* time */
};

/* The time step of a particle of a type by the criterion: eta sqrt(eps / |a|) with a = acc_hard + acc_soft; with
 * use_velocity the minimum of this and eta eps / |v - v_com|. */
HD double timeline_criterion_step(const struct step_rule *rule, int type, const float *acc_hard, const float *acc_soft,
                                  const double *vel)
{
  double a2 = 0, v2 = 0, softening = rule->by_type ? rule->softening_of[type] : rule->softening;
  for (int c = 0; c < 3; c++) {
    double a = (double)acc_hard[c] + acc_soft[c], v = vel[c] - rule->v_com[c];
    a2 += a * a;
    v2 += v * v;
  }
  double step = a2 > 0 ? rule->eta * sqrt(softening / sqrt(a2)) : 1e300;
  if (rule->use_velocity && v2 > 0) step = fmin(step, rule->eta * softening / sqrt(v2));
  return step;
}

/* The tick at which the time step of particle i ends. */
HD int32_t timeline_end(const struct particles *particles, int64_t i)
{
  return particles->tick[i] + timeline_ticks(particles->level[i]);
}

/* Predict a position by the time `dt`: x = pos + vel dt + acc_hard dt^2 / 2. `x` may be `pos`. */
HD void timeline_place(double x[3], const double *pos, const double *vel, const float *acc_hard, double dt)
{
  for (int c = 0; c < 3; c++) x[c] = pos[c] + (vel[c] + 0.5 * dt * acc_hard[c]) * dt;
}

/* The smallest level >= `level` of which a time step may begin at `tick`. */
HD int timeline_aligned(int32_t tick, int level)
{
  while (tick % timeline_ticks(level) != 0) level++;
  return level;
}

/* The smallest level of which a time step may begin at a tick in (after, until]; before: after < until. */
HD int timeline_coarsest(int32_t after, int32_t until)
{
  int level = 0;
  while (until / timeline_ticks(level) == after / timeline_ticks(level)) level++;
  return level;
}

/* Bands are sets of consecutive block levels whose particles may have a tree of their own: bit l of a mask says that
 * one begins at level l (l = 1 ... LEVEL_MAX); the first begins at level 0, so the mask 0 has one band. */
typedef int level_bands;
enum { BANDS_MAX = 6 };

/* The number of a level's band. */
HD int band_of_level(level_bands bands, int level)
{
  int band = 0;
  for (int l = 1; l <= level; l++) band += bands >> l & 1;
  return band;
}

HD int bands_count(level_bands bands) { return band_of_level(bands, LEVEL_MAX) + 1; }

/* The first level of a band but the first; LEVEL_MAX + 1: there is no such band. */
HD int band_first_level(level_bands bands, int band)
{
  int level = 1;
  while (level <= LEVEL_MAX && band_of_level(bands, level) < band) level++;
  return level;
}

/* The first tick after `tick` at which a time step of this level ends. */
HD int32_t timeline_after(int32_t tick, int level)
{
  int32_t ticks = timeline_ticks(level);
  return (tick / ticks + 1) * ticks;
}

/* The length of the soft step that begins at `now`: at most `wanted`, and such that a whole number of equal steps
 * reaches `target` exactly. The result may exceed `wanted` by a relative 1e-10, so that rounding does not add a step.
 * *last: 1 where this step ends at `target`, else 0. */
double timeline_step(double now, double target, double wanted, int *last);

/* The first time begin + k interval (k = 1, 2, ...) after `now`, up to rounding; at most `end`. With interval 0:
 * `end`. */
double timeline_next_output(double begin, double interval, double now, double end);
#endif
