/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Helpers for tests of walks. */
#ifndef WALKS_H
#define WALKS_H
#include "base/memory.h"
#include "rig.h"
#include "tap.h"

static char label[100];

static inline void say(int good, const struct set *set, const char *what, double worst)
{
  char line[400];
  snprintf(line, sizeof line, "%s, %s: %s (worst %.1e)", label, set->name, what, worst);
  tap_ok(good, line);
}

static inline struct step_rule rule_of(const struct set *set, double soft_step)
{
  return (struct step_rule){.eta = 1, .softening = set->softening, .soft_step = soft_step};
}

/* Select the particles whose steps end at `tick` and compute their hard forces. */
static inline const struct particles *hard_walk(struct rig *rig, const struct mac *mac, int32_t tick,
                                                double tick_length)
{
  struct walk_request r = hard_request(rig, mac, tick, tick_length);
  int64_t outside = 0;
  rig->be->steps.select(rig->dev, tick, tick_length, &outside);
  rig->be->forces.walk(rig->dev, &r, &rig->tally);
  return rig->be->view(rig->dev);
}

/* A copy of a field by id. */
static inline float (*by_id(const struct particles *particles, const float *field))[3]
{
  float(*copy)[3] = memory_alloc("test", sizeof *copy * (size_t)particles->n);
  for (int64_t i = 0; i < particles->n; i++) memcpy(copy[particles->id[i] - 1], &field[3 * i], sizeof *copy);
  return copy;
}

static inline double modulus(const float a[3])
{
  return sqrt((double)a[0] * a[0] + (double)a[1] * a[1] + (double)a[2] * a[2]);
}

/* Largest difference of the hard accelerations from a copy, in units of |hard| + floor: sums in another order differ by
 * the rounding of their largest terms, which cancel. `want` NULL: of all particles. */
static inline double difference(const struct particles *particles, float (*old)[3],
                                int (*want)(const struct particles *, int64_t), double floor)
{
  double worst = 0;
  for (int64_t i = 0; i < particles->n; i++) {
    if (want && !want(particles, i)) continue;
    const float *h = &particles->acc_hard[3 * i], *o = old[particles->id[i] - 1];
    float d[3] = {h[0] - o[0], h[1] - o[1], h[2] - o[2]};
    double e = modulus(d) / (modulus(o) + floor + 1e-30);
    worst = fmax(worst, isfinite(e) ? e : 1e300);
  }
  return worst;
}

static inline double rms_of(const struct particles *particles)
{
  double sum = 0;
  for (int64_t k = 0; k < 3 * particles->n; k++) sum += (double)particles->acc[k] * particles->acc[k];
  return sqrt(sum / (double)particles->n);
}

/* Sums in another order differ by the rounding of float32, 6e-8 of the pulls; these may be a hundred times as large as
 * their sum, since differences are relative to |a_hard| + 1e-2 rms. A wrong entry gives far more (1e-3 and above). */
#define ROUNDING 1e-5

static inline double work_of(const struct particles *particles)
{
  double sum = 0;
  for (int64_t i = 0; i < particles->n; i++) sum += particles->work[i];
  return sum;
}

static inline double pairs_of(const struct tally *tally) { return (double)(tally->cell_pairs + tally->particle_pairs); }

/* A copy of all particles. Owner: caller (particles_free). */
static inline struct particles copy_of(const struct particles *particles)
{
  struct particles copy;
  particles_init(&copy);
  particles_reserve(&copy, particles->n);
  for (int64_t i = 0; i < particles->n; i++) particles_copy(&copy, copy.n++, particles, i);
  return copy;
}

/* Predict all positions by `dt` with velocity and hard acceleration at the start, in double precision. */
static inline void drift(struct particles *particles, double dt)
{
  for (int64_t k = 0; k < 3 * particles->n; k++)
    particles->pos[k] += (particles->vel[k] + 0.5 * dt * particles->acc_hard[k]) * dt;
}
#endif
