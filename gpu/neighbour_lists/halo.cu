/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verb halo: which particles other ranks need for their hard part (backend/neighbour_list_verbs.h). */
#include <config.h>
#include "base/memory.h"
#include "gpu/device/select.cuh"
#include "gpu/neighbour_lists/neighbour_lists.cuh"

struct comes_near {
  struct particles p;
  double box[6], width2, horizon;
  __device__ __forceinline__ bool operator()(int32_t i) const
  {
    double path[6];
    for (int c = 0; c < 3; c++) {
      double x = p.pos[3 * (int64_t)i + c], there = x + horizon * p.vel[3 * (int64_t)i + c];
      path[c] = fmin(x, there);
      path[3 + c] = fmax(x, there);
    }
    return reach_boxes2(path, box) <= width2 &&
           reach_path2(&p.pos[3 * (int64_t)i], &p.vel[3 * (int64_t)i], horizon, box) <= width2;
  }
};

static __global__ void copy_halo(struct particles particles, const int32_t *found, int32_t n, struct halo_particle *out)
{
  int32_t k = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (k >= n) return;
  int64_t i = found[k];
  struct halo_particle h;
  for (int c = 0; c < 3; c++) {
    h.pos[c] = particles.pos[3 * i + c];
    h.vel[c] = particles.vel[3 * i + c];
  }
  h.id = particles.id[i];
  h.mass = particles.mass[i];
  h.level = particles.level[i];
  h.type = particles.type[i];
  out[k] = h;
}

struct halo_particle *gpu_halo(struct device *d, const struct list_request *request, int boxes, const double (*box)[6],
                               int skip, int64_t *counts)
{
  struct list_state *s = &d->lists;
  struct halo_particle *sent = NULL;
  int64_t total = 0;
  double width = halo_width(request);
  device_wait_for_copy(d);
  for (int k = 0; k < boxes; k++) {
    counts[k] = 0;
    if (k == skip || d->p.n == 0 || reach_empty(box[k])) continue;
    struct comes_near near = {d->p, {}, width * width, request->soft_step};
    for (int c = 0; c < 6; c++) near.box[c] = box[k][c];
    select_numbers(d, near, 0, d->p.n, array_reserve(&s->candidate.place[0], "device neighbour lists", d->p.n));
    counts[k] = device_read_results(d)->count;
    if (counts[k] == 0) continue;
    sent = (struct halo_particle *)memory_resize("halo", sent, sizeof *sent * (size_t)(total + counts[k]));
    LAUNCH(d, copy_halo, blocks_for(counts[k], THREADS), THREADS, d->p, s->candidate.place[0].at, (int32_t)counts[k],
           array_reserve(&s->halo, "device neighbour lists", counts[k]));
    CHECK(runtime_copy(sent + total, s->halo.at, sizeof *sent * (size_t)counts[k], TO_HOST, d->stream));
    gpu_wait(d);
    total += counts[k];
  }
  return sent ? sent : (struct halo_particle *)memory_alloc("halo", 0);
}
