/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a place on a list stands for, where it is at a tick, and what others see of a unit then. */
#ifndef GPU_UNIT_PLACES_CUH
#define GPU_UNIT_PLACES_CUH
#include "gpu/neighbour_lists/loop_parts.cuh"
#include "gpu/neighbour_lists/units.cuh"

/* --- what a place on a list stands for ---------------------------------------------------------------------------- */

static __device__ int has_entry(const struct units_job &job, const struct member_list &list, int32_t place)
{
  const int32_t *entry = job.table.entry + list.begin;
  int32_t low = 0, high = list.count;
  while (low < high) {
    int32_t middle = (low + high) / 2;
    if (entry[middle] < place) low = middle + 1;
    else high = middle;
  }
  return low < list.count && entry[low] == place;
}

/* Whether the list of a star at the place, as it was made, has the head `head`, or is its own. */
static __device__ int star_sees(const struct units_job &job, int32_t place, int32_t head)
{
  int32_t own = job.place.head[place];
  return own == head || has_entry(job, job.table.list_of_head[own], head);
}

/* Whether the root `me` has `head` on its list. */
static __device__ int root_sees(const struct units_job &job, int32_t me, int32_t head)
{
  int32_t u = job.table.at[me];
  if (u < 0) return star_sees(job, me, head);
  const struct unit_stars *stars = &job.table.stars[u];
  for (int k = 0; k < stars->count; k++)
    if (star_sees(job, stars->place[k], head)) return 1;
  return 0;
}

/* What the place on the list of the root `me` stands for: the root of its star (side 0) or of its companion (1); -1
 * where it is `me`, or where another place on the list stands for the same root: the place of the root itself goes
 * first, then those of its stars in their order. */
DEVICE_CALL int32_t unit_look(const struct units_job &job, int32_t me, int32_t place, int side)
{
  int32_t star = side ? job.place.companion[place] : place;
  if (star < 0) return -1;
  int32_t root = job.table.root[star];
  if (root == me || root < 0) return -1;
  if (root == star) return root;
  if (root_sees(job, me, job.place.head[root])) return -1;
  const struct unit_stars *stars = &job.table.stars[job.table.at[root]];
  for (int k = 0; k < stars->count && stars->place[k] != star; k++)
    if (root_sees(job, me, job.place.head[stars->place[k]])) return -1;
  return root;
}

/* --- places at a tick --------------------------------------------------------------------------------------------- */

/* Which of the two motions of a place others see at the tick `now`: the newest one before it, else one at it. */
static __device__ __forceinline__ int slot_at(const int2 &t, int32_t now)
{
  return t.x >= now || (t.y < now && t.y > t.x);
}

struct unit_source {
  double x[3], v[3], gm;
  float factor;
  int32_t tag;
};

/* Predicted one by one, or all of them before. */
struct places_at_tick {
  const struct units_job &job;
  int32_t now;
  int predicted; /* 1: job.loop.predicted has all */
  __device__ __forceinline__ void read(int32_t k, struct unit_source *source) const
  {
    if (predicted) {
      const struct list_body &b = job.loop.predicted[k];
      for (int c = 0; c < 3; c++) {
        source->x[c] = b.x[c];
        source->v[c] = b.v[c];
      }
      source->gm = b.gm;
      source->factor = b.factor;
      source->tag = b.level;
      return;
    }
    const int2 t = job.loop.ticks[k];
    const struct list_source s = job.table.source[k];
    int which = slot_at(t, now);
    const struct hermite_motion m = load_hermite_motion(&job.loop.motion[2 * (int64_t)k + which]);
    hermite_predict(&m, (now - (which ? t.y : t.x)) * job.loop.tick_length, source->x, source->v);
    source->gm = s.gm;
    source->factor = s.factor;
    source->tag = s.tag;
  }
};

/* Predict all places to a tick: the grid shares them out. */
DEVICE_CALL void predict_places(const struct units_job &job, int32_t now)
{
  const struct places_at_tick at = {job, now, 0};
  for (int32_t m = (int32_t)(blockIdx.x * LOOP_THREADS + threadIdx.x); m < job.loop.members;
       m += (int32_t)(gridDim.x * LOOP_THREADS)) {
    struct unit_source s;
    struct list_body b;
    at.read(m, &s);
    for (int c = 0; c < 3; c++) {
      b.x[c] = s.x[c];
      b.v[c] = s.v[c];
    }
    b.gm = s.gm;
    b.factor = s.factor;
    b.level = s.tag;
    job.loop.predicted[m] = b;
  }
}

/* The view of the unit at a root, with *dt since its time. */
static __device__ const struct unit_view *view_at(const struct units_job &job, int32_t root, int32_t now, double *dt)
{
  const int2 t = job.loop.ticks[root];
  int which = slot_at(t, now);
  *dt = (now - (which ? t.y : t.x)) * job.loop.tick_length;
  return &job.table.view[2 * (int64_t)job.table.at[root] + which];
}

/* Whether the other one of a pair, a place of mass gm, sees the two stars of the unit with this view; *two: where they
 * are at the tick. */
DEVICE_CALL int two_seen(const struct units_job &job, const struct unit_view *view, int32_t now, double gm,
                         const struct unit_neighbour &is, struct unit_two *two)
{
  const struct unit_facts *facts = &view->facts;
  if (!view->followed || (facts->lasting && !unit_seen_now(&job.rules, facts, gm, is.r, kepler_dot(is.u, is.u))))
    return 0;
  two->m1 = facts->m1;
  two->m2 = facts->m2;
  resolved_relative(&view->ks, facts->m1 + facts->m2, now * job.loop.tick_length, two->d, two->u);
  return 1;
}

/* The quadrupole of a unit that has had this view for the time dt. */
static __device__ void quadrupole_after(const struct unit_view *view, double dt, double q[3][3])
{
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) q[i][j] = view->quadrupole[i][j] + dt * view->rate[i][j];
}
#endif
