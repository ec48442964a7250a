/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Particles in another order, and the sources that belong to them. */
#include <config.h>
#include "device.cuh"
#include "sources.cuh"

/* The n particles from `first` on. A thread for each particle: all fields are asked for before any is stored, so that their
 * loads overlap, and what sources need is at hand. */
template <bool SOURCES>
static __global__ void __launch_bounds__(THREADS) permute(struct particles to, struct particles from, const int32_t *order, int64_t n,
                                                          int64_t first, struct lattice l, struct body *body, struct course *course,
                                                          const int32_t *unsorted)
{
  if (unsorted && *unsorted) return;
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i >= n) return;
  int64_t j = order ? order[i] : first + i;
  i += first;
#define X(member, ctype, components) \
  ctype member[components];          \
  _Pragma("unroll") for (int c = 0; c < (components); c++) member[c] = from.member[(components) * j + c];
  PARTICLE_FIELDS(X)
#undef X
#define X(member, ctype, components) \
  _Pragma("unroll") for (int c = 0; c < (components); c++) to.member[(components) * i + c] = member[c];
  PARTICLE_FIELDS(X)
#undef X
  if (!SOURCES) return;
  put_body(&body[i], l, pos, mass[0]);
  put_course(&course[i], vel, acc_hard, tick[0]);
}

static __global__ void make_sources(struct particles p, struct lattice l, struct body *body, struct course *course)
{
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i >= p.n) return;
  put_body(&body[i], l, &p.pos[3 * i], p.mass[i]);
  put_course(&course[i], &p.vel[3 * i], &p.acc_hard[3 * i], p.tick[i]);
}

/* Room for sources, of which those that there are are lost. */
static void room_of_sources(struct device *d)
{
  lets_uproot(d);
  d->tree.body = array_room(&d->body, "device sources", d->p.n + d->behind_bodies);
  d->tree.course = array_room(&d->course, "device sources", d->p.n + d->behind_bodies);
  d->tree.bodies = (int32_t)d->p.n;
  d->uprooted = 0;
}

void device_make_sources(struct device *d)
{
  room_of_sources(d);
  LAUNCH(d, make_sources, blocks_for(d->p.n, THREADS), THREADS, d->p, d->lattice, d->body.at, d->course.at);
}

static struct particles change_places(struct device *d, int64_t n)
{
  struct particles from = d->p;
  device_particles_room(d, &d->spare, n);
  d->p = d->spare;
  d->p.n = n;
  d->spare = from;
  return from;
}

void device_permute_sources(struct device *d, const int32_t *order)
{
  int64_t n = d->p.n;
  struct particles from = change_places(d, n);
  room_of_sources(d);
  LAUNCH(d, permute<true>, blocks_for(n, THREADS), THREADS, d->p, from, order, n, 0, d->lattice, d->body.at, d->course.at, NULL);
}

/* Back from the spare set on a stream of its own: the tree, which comes next, is made of keys and sources alone. */
static void copy_back(struct device *d, int64_t n, int32_t first)
{
  struct {
    cudaStream_t stream;
  } beside = {d->beside};
  CHECK(cudaEventRecord(d->permuted, d->stream));
  CHECK(cudaStreamWaitEvent(d->beside, d->permuted, 0));
  LAUNCH(&beside, permute<false>, blocks_for(n, THREADS), THREADS, d->p, d->spare, NULL, n, first, d->lattice, NULL, NULL, &d->answers->unsorted);
  CHECK(cudaEventRecord(d->copied, d->beside));
  d->copying = 1;
}

void device_permute_last(struct device *d, const int32_t *order, int32_t first)
{
  int64_t n = d->p.n - first;
  device_particles_room(d, &d->spare, d->p.n);
  LAUNCH(d, permute<true>, blocks_for(n, THREADS), THREADS, d->spare, d->p, order, n, first, d->lattice, d->body.at, d->course.at,
         &d->answers->unsorted);
  copy_back(d, n, first);
}

void device_copied(struct device *d)
{
  if (d->copying) CHECK(cudaStreamWaitEvent(d->stream, d->copied, 0));
  d->copying = 0;
}
