/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Permutation of the particles and of their sources. */
#include <config.h>
#include "gpu/device/device.cuh"
#include "gpu/tree/sources.cuh"

/* Permute the n particles from `first` on, one thread each. All fields are loaded before any is stored, so that the
 * loads overlap, and the sources are made from the same registers. */
template <bool SOURCES>
static __global__ void __launch_bounds__(THREADS)
    permute(struct particles to, struct particles from, const int32_t *order, int64_t n, int64_t first,
            struct lattice l, struct body *body, struct motion_state *motion_state, const struct source_class soften,
            const int32_t *unsorted)
{
  if (unsorted && *unsorted) return;
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i >= n) return;
  int64_t j = order ? order[i] : first + i;
  i += first;
#define X(member, ctype, components) \
  ctype member[components];          \
  _Pragma("unroll") for (int c = 0; c < (components); c++) member[c] = from.member[(components)*j + c];
  PARTICLE_FIELDS(X)
#undef X
#define X(member, ctype, components) \
  _Pragma("unroll") for (int c = 0; c < (components); c++) to.member[(components)*i + c] = member[c];
  PARTICLE_FIELDS(X)
#undef X
  if (!SOURCES) return;
  put_body(&body[i], l, pos, source_mass(soften, mass[0], type[0]));
  put_motion_state(&motion_state[i], vel, acc_hard, tick[0]);
}

static __global__ void make_sources(struct particles particles, struct lattice lattice, struct body *body,
                                    struct motion_state *motion_state, const struct source_class soften)
{
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i >= particles.n) return;
  put_body(&body[i], lattice, &particles.pos[3 * i], source_mass(soften, particles.mass[i], particles.type[i]));
  put_motion_state(&motion_state[i], &particles.vel[3 * i], &particles.acc_hard[3 * i], particles.tick[i]);
}

/* Capacity for the sources of all particles and of LETs. The present sources are lost. */
static void reserve_sources(struct device *d)
{
  lets_reset_storage(d);
  d->tree.view.body = array_reserve(&d->sources.body, "device sources", d->p.n + d->sources.let_bodies_max);
  d->tree.view.motion_state =
      array_reserve(&d->sources.motion_state, "device sources", d->p.n + d->sources.let_bodies_max);
  d->tree.view.bodies = (int32_t)d->p.n;
  d->sources.stale = 0;
}

void device_make_sources(struct device *d)
{
  reserve_sources(d);
  LAUNCH(d, make_sources, blocks_for(d->p.n, THREADS), THREADS, d->p, d->lattice, d->sources.body.at,
         d->sources.motion_state.at, source_class_of(d));
}

static struct particles exchange_sets(struct device *d, int64_t n)
{
  struct particles from = d->p;
  device_particles_reserve(d, &d->copy.spare, n);
  d->p = d->copy.spare;
  d->p.n = n;
  d->copy.spare = from;
  return from;
}

void device_permute_sources(struct device *d, const int32_t *order)
{
  int64_t n = d->p.n;
  struct particles from = exchange_sets(d, n);
  reserve_sources(d);
  LAUNCH(d, permute<true>, blocks_for(n, THREADS), THREADS, d->p, from, order, n, 0, d->lattice, d->sources.body.at,
         d->sources.motion_state.at, source_class_of(d), NULL);
}

void device_copy_back(struct device *d)
{
  int32_t first = d->copy.first;
  int64_t n = d->p.n - first;
  if (d->copy.pending != COPY_WANTED) return;
  CHECK(runtime_event_record(d->copy.permuted, d->stream));
  CHECK(runtime_stream_wait(d->copy.stream, d->copy.permuted));
  LAUNCH(&d->copy, permute<false>, blocks_for(n, THREADS), THREADS, d->p, d->copy.spare, NULL, n, first, d->lattice,
         NULL, NULL, source_class_of(d), &d->device_results->unsorted);
  CHECK(runtime_event_record(d->copy.copied, d->copy.stream));
  d->copy.pending = COPY_QUEUED;
}

void device_permute_last(struct device *d, const int32_t *order, int32_t first)
{
  int64_t n = d->p.n - first;
  device_particles_reserve(d, &d->copy.spare, d->p.n);
  LAUNCH(d, permute<true>, blocks_for(n, THREADS), THREADS, d->copy.spare, d->p, order, n, first, d->lattice,
         d->sources.body.at, d->sources.motion_state.at, source_class_of(d), &d->device_results->unsorted);
  d->copy.first = first;
  d->copy.pending = COPY_WANTED;
}

void device_wait_for_copy(struct device *d)
{
  device_copy_back(d);
  if (d->copy.pending == COPY_QUEUED) CHECK(runtime_stream_wait(d->stream, d->copy.copied));
  d->copy.pending = COPY_NONE;
}
