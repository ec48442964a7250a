/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bound pairs of stars at the begin of a soft step. */
#include <config.h>
#include "base/memory.h"
#include "gpu/neighbour_lists/unit_pairs.cuh"

static const char *const label = "device units of stars";

static __device__ uint64_t id_at(const struct unit_pair_search &search, int32_t place)
{
  return place < search.p.n ? search.p.id[place] : search.halo[place - search.p.n].id;
}

/* The nearest neighbour of each star, and the distance of the next one. */
static __global__ void find_nearest_stars(const __grid_constant__ struct unit_pair_search search)
{
  int32_t i = (int32_t)(blockIdx.x * THREADS + threadIdx.x), found = -1;
  if (i >= search.places) return;
  const struct list_body a = search.body[i];
  const struct member_list list = search.list[i];
  double first = 1e300, second = 1e300;
  for (int32_t k = 0; a.gm > 0 && k < list.count; k++) {
    int32_t j = search.entry[list.begin + k];
    const double *x = search.body[j].x;
    if (!(search.body[j].gm > 0)) continue; /* without mass: no one's companion */
    double d[3] = {x[0] - a.x[0], x[1] - a.x[1], x[2] - a.x[2]}, r2 = kepler_dot(d, d);
    if (r2 < first) {
      second = first;
      first = r2;
      found = j;
    } else second = fmin(second, r2);
  }
  search.nearest[i] = found;
  search.second[i] = sqrt(second);
}

static __device__ void relative_to(const struct unit_pair_search &search, int32_t i, int32_t j, double d[3],
                                   double u[3])
{
  for (int c = 0; c < 3; c++) {
    d[c] = search.body[j].x[c] - search.body[i].x[c];
    u[c] = search.body[j].v[c] - search.body[i].v[c];
  }
}

/* Match stars that are each other's nearest, and bound closely. */
static __global__ void match_stars(const __grid_constant__ struct unit_pair_search search)
{
  int32_t i = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (i >= search.places) return;
  int32_t j = search.nearest[i], partner = -1;
  double d[3], u[3], sum = 0;
  if (j >= 0 && search.nearest[j] == i) {
    int first = id_at(search, i) < id_at(search, j);
    double m1 = search.body[i].gm, m2 = search.body[j].gm;
    relative_to(search, first ? i : j, first ? j : i, d, u);
    double r1 = fmaxf(search.body[i].factor, search.body[j].factor) * search.rules.r1;
    double second = fmin(search.second[i], search.second[j]);
    if (second >= UNIT_ALONE * unit_pair_extent(m1 + m2, d, u) && unit_lasts(&search.rules, m1 + m2, d, u, r1, 1))
      partner = j;
    if (partner >= 0 && first && i < search.p.n) sum = 0.5 * m1 * m2 / (m1 + m2) * kepler_dot(u, u);
  }
  search.partner[i] = partner;
  if (search.kinetic) search.kinetic[i] = sum;
}

/* Replace each pair by its centre of mass, at the place of the star of the lower id. A fast star of another rank that
 * is in no pair has lost its partner beyond the halo, and is ignored: it would come where it never does. */
static __global__ void replace_stars(const __grid_constant__ struct unit_pair_search search)
{
  int32_t i = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (i >= search.places) return;
  int32_t j = search.partner[i];
  struct list_body *a = &search.body[i];
  if (j < 0) {
    search.head[i] = i;
    search.companion[i] = -1;
    if (i >= search.p.n && !(kepler_dot(a->v, a->v) < search.limit2)) a->factor = BOUND_ABSORBED;
    return;
  }
  if (id_at(search, i) > id_at(search, j)) return;
  struct list_body *b = &search.body[j];
  struct list_bound pair = {i, j, {}, {}, a->gm, b->gm, a->factor, b->factor};
  double share = b->gm / (a->gm + b->gm);
  relative_to(search, i, j, pair.d, pair.u);
  for (int c = 0; c < 3; c++) {
    a->x[c] += share * pair.d[c];
    a->v[c] += share * pair.u[c];
  }
  search.head[i] = search.head[j] = i;
  search.companion[i] = j;
  search.companion[j] = -1;
  a->gm += b->gm;
  a->factor = fmaxf(a->factor, b->factor);
  b->factor = BOUND_ABSORBED;
  search.pair[atomicAdd(search.count, 1)] = pair;
}

struct unit_pair_search units_find_stars(struct device *d, const struct list_request *request,
                                         const struct unit_rules *rules, int64_t n, const struct halo_particle *halo)
{
  struct list_state *s = &d->lists;
  struct unit_state *units = &s->unit;
  struct unit_pair_search search = {};
  int64_t places = d->p.n + n, blocks = blocks_for(places, THREADS);
  lists_make(d, request, 0, n, halo, LISTS_OF_ALL);
  search.body = s->body.at;
  search.list = s->member.list.at;
  search.entry = s->list.entry.at;
  search.p = d->p;
  search.halo = s->halo.at;
  search.places = (int32_t)places;
  search.limit2 = halo_speed(request) * halo_speed(request);
  search.rules = *rules;
  search.nearest = array_reserve(&units->partner, label, places);
  search.partner = array_reserve(&s->pair.partner, label, places);
  search.head = array_reserve(&units->head, label, places);
  search.companion = array_reserve(&units->companion, label, places);
  search.second = array_reserve(&units->row, label, places);
  search.pair = array_reserve(&s->pair.bound, label, places / 2 + 1);
  search.count = array_reserve(&units->count, label, 1);
  LAUNCH(d, find_nearest_stars, blocks, THREADS, search);
  return search;
}

void units_replace_stars(struct device *d, const struct unit_pair_search *search)
{
  int64_t blocks = blocks_for(search->places, THREADS);
  CHECK(runtime_set_bytes(search->count, 0, sizeof *search->count, d->stream));
  LAUNCH(d, match_stars, blocks, THREADS, *search);
  LAUNCH(d, replace_stars, blocks, THREADS, *search);
}

double gpu_pair_kinetic(struct device *d, const struct list_request *request, int64_t n,
                        const struct halo_particle *halo)
{
  struct unit_rules any_period = {};
  int64_t places = d->p.n + n;
  any_period.r1 = list_unit_r1(request);
  any_period.soft_step = 1e30;
  if (places == 0) return 0;
  struct unit_pair_search search = units_find_stars(d, request, &any_period, n, halo);
  search.kinetic = array_reserve(&d->lists.unit.kinetic, label, places);
  LAUNCH(d, match_stars, blocks_for(places, THREADS), THREADS, search);
  double *kinetic = (double *)memory_alloc("pairs", sizeof *kinetic * (size_t)places), sum = 0;
  CHECK(runtime_copy(kinetic, search.kinetic, sizeof *kinetic * (size_t)places, TO_HOST, d->stream));
  CHECK(runtime_stream_sync(d->stream));
  for (int64_t i = 0; i < d->p.n; i++) sum += kinetic[i];
  memory_free(kinetic);
  return sum / d->config.gravity;
}
