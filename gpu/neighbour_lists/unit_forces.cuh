/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forces on stars and on units from the places on their lists, and what belongs to them. */
#ifndef GPU_UNIT_FORCES_CUH
#define GPU_UNIT_FORCES_CUH
#include "gpu/neighbour_lists/loop_parts.cuh"
#include "gpu/neighbour_lists/units.cuh"
#include "gravity/hierarchy_rules.h"

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

DEVICE_CALL void quadrupole_seen(const struct units_job &job, const struct unit_view *view, int32_t now, double dt,
                                 double q[3][3], double rate[3][3])
{
  if (!unit_is_passing(&view->facts)) {
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) {
        rate[i][j] = view->rate[i][j];
        q[i][j] = view->quadrupole[i][j] + dt * rate[i][j];
      }
    return;
  }
  struct ks_pair pair = view->ks;
  double d[3], u[3], m1 = view->facts.m1, m2 = view->facts.m2, mu = m1 * m2 / (m1 + m2);
  ks_advance(&pair, m1 + m2, now * job.loop.tick_length);
  ks_position(pair.q, d);
  ks_velocity(&pair, u);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      q[i][j] = mu * d[i] * d[j];
      rate[i][j] = mu * (d[i] * u[j] + u[i] * d[j]);
    }
}

static __device__ double trace_seen(const struct units_job &job, const struct unit_view *view)
{
  return unit_is_passing(&view->facts) ? unit_passing_trace(&job.rules, view->facts.m1, view->facts.m2) : view->trace;
}

/* --- a target and one of its neighbours --------------------------------------------------------------------------- */

/* The root whose force is summed up. */
struct unit_target {
  int32_t place, now;
  double x[3], v[3], gm;
  float factor;
};

/* The nearest neighbour that belongs to the target, and the lowest place of those that are a hierarchy with it; -1. */
struct unit_nearest {
  double distance;
  int32_t place, hierarchy;
};

static __device__ __forceinline__ struct unit_target target_at(const struct units_job &job, int32_t m, int32_t now)
{
  const struct places_at_tick at = {job, now, 0};
  struct unit_source s;
  struct unit_target target;
  at.read(m, &s);
  target.place = m;
  target.now = now;
  for (int c = 0; c < 3; c++) {
    target.x[c] = s.x[c];
    target.v[c] = s.v[c];
  }
  target.gm = s.gm;
  target.factor = s.factor;
  return target;
}

/* What the rules ask about a root of mass gm, as it is seen at the tick. */
static __device__ struct unit_facts facts_seen(const struct units_job &job, int32_t root, double gm, int32_t now)
{
  double dt;
  return job.table.at[root] >= 0 ? view_at(job, root, now, &dt)->facts : unit_facts_of_star(gm);
}

static __device__ __forceinline__ struct hermite_split split_between(const struct units_job &job, float a, float b)
{
  return job.loop.sum.one_radius ? job.loop.sum.common : hermite_split_of(&job.loop.sum.split, a, b);
}

static __device__ __forceinline__ void look_from(const struct units_job &job, const struct unit_target &target,
                                                 const struct unit_source &source, struct unit_neighbour *is)
{
  for (int c = 0; c < 3; c++) {
    is->d[c] = source.x[c] - target.x[c];
    is->u[c] = source.v[c] - target.v[c];
  }
  is->gm = source.gm;
  is->r2 = kepler_dot(is->d, is->d);
  is->split = split_between(job, target.factor, source.factor);
}

/* Whether the neighbour at `root` belongs to the target; the nearest such one counts. */
DEVICE_CALL void look_for_partner(const struct units_job &job, const struct unit_target &target, int32_t root,
                                  float factor, const struct unit_neighbour &is, struct unit_nearest *nearest)
{
  double r1 = fmaxf(target.factor, factor) * job.rules.r1, far = UNIT_EXTENT * r1, r = sqrt(is.r2);
  if (r >= far || r > nearest->distance || (r == nearest->distance && root > nearest->place)) return;
  const struct unit_facts own = facts_seen(job, target.place, target.gm, target.now),
                          facts = facts_seen(job, root, is.gm, target.now);
  if (unit_belong(&job.rules, &own, &facts, is.d, is.u, r1, 1)) {
    nearest->distance = r;
    nearest->place = root;
  } else if (hierarchy_fits(&job.rules, &own, &facts, is.d, is.u, r1, 0)) {
    if (nearest->hierarchy < 0 || root < nearest->hierarchy) nearest->hierarchy = root;
  }
}

/* What a star gets from neighbours that are units, beyond the forces of their masses, and who of the near ones belongs
 * to it. */
struct star_sum {
  struct hermite_force force;
  struct unit_nearest nearest;
};

/* A neighbour of a star that is a unit, or near. */
DEVICE_CALL void see_closely(const struct units_job &job, const struct unit_target target, int32_t root,
                             const struct unit_source source, struct star_sum *sum)
{
  struct unit_neighbour is;
  look_from(job, target, source, &is);
  if (is.gm > 0) look_for_partner(job, target, root, source.factor, is, &sum->nearest);
  if (job.table.at[root] < 0 || !(is.r2 < is.split.r2 * is.split.r2)) return;
  double dt, q[3][3], rate[3][3], f[4];
  const struct unit_view *view = view_at(job, root, target.now, &dt);
  if (!unit_quadrupole_counts(trace_seen(job, view), is.gm, is.r2)) return;
  is.r = sqrt(is.r2);
  unit_radial(&is, f);
  quadrupole_seen(job, view, target.now, dt, q, rate);
  unit_add_quadrupole(&is, f, (const double(*)[3])q, (const double(*)[3])rate, &sum->force);
}

/* --- sums --------------------------------------------------------------------------------------------------------- */

/* Add the force that a root gives as a point mass. Returns whether it is to be seen closely too. */
static __device__ __forceinline__ int add_point(const struct units_job &job, const struct unit_target &target,
                                                const struct unit_source &source, struct hermite_force *force)
{
  double d[3], u[3], factor = fmaxf(target.factor, source.factor);
  for (int c = 0; c < 3; c++) {
    d[c] = source.x[c] - target.x[c];
    u[c] = source.v[c] - target.v[c];
  }
  const struct hermite_split split = split_between(job, target.factor, source.factor);
  hermite_pair(force, d, u, source.gm, 0, &split);
  return source.tag >= 0 || kepler_dot(d, d) < job.far2 * factor * factor;
}

/* Add what up to LANES entries first, first + stride, ... give as point masses. Returns a bit for each that is to be
 * seen closely, or looked up. No function is called: sums are in registers. */
static __device__ __forceinline__ unsigned add_points(const struct units_job &job, const struct places_at_tick &at,
                                                      const struct unit_target &target, const struct member_list &list,
                                                      int first, int stride, struct hermite_force *force)
{
  unsigned closely = 0;
#pragma unroll 4
  for (int n = 0; n < (int)LANES; n++) {
    int k = first + n * stride;
    if (k >= list.count) break;
    struct unit_source source;
    at.read(job.table.entry[list.begin + k], &source);
    if (source.tag == TAG_LOOK || add_point(job, target, source, force)) closely |= 1u << n;
  }
  return closely;
}

/* An entry of the list of a star that is a unit, or near, or stands for something else than at the begin. */
DEVICE_CALL void see_entry(const struct units_job &job, const struct places_at_tick &at,
                           const struct unit_target target, int32_t place, struct star_sum *sum)
{
  struct unit_source source;
  at.read(place, &source);
  if (source.tag != TAG_LOOK) {
    see_closely(job, target, place, source, sum);
    return;
  }
  for (int side = 0; side < 2; side++) {
    int32_t root = unit_look(job, target.place, place, side);
    if (root < 0) continue;
    at.read(root, &source);
    source.tag = job.table.at[root];
    if (add_point(job, target, source, &sum->force)) see_closely(job, target, root, source, sum);
  }
}

/* Add what the entries first, first + stride, ... of the list of a star give. */
static __device__ __forceinline__ void add_to_star(const struct units_job &job, const struct places_at_tick &at,
                                                   const struct unit_target &target, int first, int stride,
                                                   struct hermite_force *force, struct unit_nearest *nearest)
{
  const struct member_list list = job.table.list[target.place];
  struct star_sum closely = {};
  closely.nearest = {1e300, -1, -1};
  for (; first < list.count; first += (int)LANES * stride) {
    unsigned entries = add_points(job, at, target, list, first, stride, force);
    for (; entries; entries &= entries - 1)
      see_entry(job, at, target, job.table.entry[list.begin + first + (lowest_bit(entries) - 1) * stride], &closely);
  }
  for (int c = 0; c < 3; c++) {
    force->a[c] += closely.force.a[c];
    force->j[c] += closely.force.j[c];
  }
  *nearest = closely.nearest;
}

static __device__ __forceinline__ void join_nearest(struct unit_nearest *nearest, int lanes)
{
  for (int step = lanes / 2; step > 0; step /= 2) {
    double r = warp_shuffle_xor(nearest->distance, step);
    int32_t place = warp_shuffle_xor(nearest->place, step);
    int32_t hierarchy = warp_shuffle_xor(nearest->hierarchy, step);
    if (r < nearest->distance || (r == nearest->distance && place < nearest->place)) {
      nearest->distance = r;
      nearest->place = place;
    }
    if (nearest->hierarchy < 0 || (hierarchy >= 0 && hierarchy < nearest->hierarchy)) nearest->hierarchy = hierarchy;
  }
}

static __device__ __forceinline__ void store_nearest(const struct units_job &job, int32_t m,
                                                     const struct unit_nearest &nearest)
{
  int belongs = nearest.distance < 1e300;
  job.table.partner[m] = belongs ? nearest.place : nearest.hierarchy;
  job.table.partner_distance[m] = belongs ? (float)nearest.distance : DISTANCE_OF_LAST;
}

/* What a warp needs of the unit whose force it sums up. */
struct unit_own {
  int pair;
  double size, trace, q[3][3], rate[3][3];
};

DEVICE_CALL struct unit_own own_at(const struct units_job &job, const struct unit_target &target)
{
  struct unit_own own;
  double dt;
  const struct unit *unit = &job.table.unit[job.table.at[target.place]];
  const struct unit_view *view = view_at(job, target.place, target.now, &dt);
  own.pair = unit->kind != UNIT_GROUP;
  own.size = own.pair && unit->lasting ? unit->orbit.a : unit->orbit.size;
  own.trace = trace_seen(job, view);
  quadrupole_seen(job, view, target.now, dt, own.q, own.rate);
  return own;
}

/* A neighbour of a unit. Returns its weight; f: radial functions; 0: it is beyond R2, or without mass. */
DEVICE_CALL double see_from_unit(const struct units_job &job, const struct unit_target &target,
                                 const struct unit_own &own, int32_t root, const struct unit_source &source,
                                 struct unit_neighbour *is, double f[4], struct hermite_force *force,
                                 struct unit_nearest *nearest)
{
  double dt, q[3][3], rate[3][3];
  look_from(job, target, source, is);
  if (!(is->r2 < is->split.r2 * is->split.r2)) return 0;
  is->r = sqrt(is->r2);
  hermite_pair(force, is->d, is->u, is->gm, 0, &is->split);
  if (!(is->gm > 0)) return 0;
  unit_radial(is, f);
  if (job.table.at[root] >= 0) {
    const struct unit_view *view = view_at(job, root, target.now, &dt);
    if (unit_quadrupole_counts(trace_seen(job, view), is->gm, is->r2)) {
      quadrupole_seen(job, view, target.now, dt, q, rate);
      unit_add_quadrupole(is, f, (const double(*)[3])q, (const double(*)[3])rate, force);
    }
  }
  if (unit_quadrupole_counts(own.trace, target.gm, is->r2))
    quadrupole_add((const double(*)[3])own.q, (const double(*)[3])own.rate, is->d, is->u, f, -is->gm / target.gm,
                   force->a, force->j);
  look_for_partner(job, target, root, source.factor, *is, nearest);
  return unit_tide_weight(is, target.gm, own.size);
}

DEVICE_CALL void join_field(struct unit_field *field, int lanes)
{
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      field->tide[i][j] = list_over_lanes(field->tide[i][j], lanes);
      field->tide_far[i][j] = list_over_lanes(field->tide_far[i][j], lanes);
    }
  for (int step = lanes / 2; step > 0; step /= 2) {
    field->strongest = fmax(field->strongest, warp_shuffle_xor(field->strongest, step));
    field->at_pericentre = fmax(field->at_pericentre, warp_shuffle_xor(field->at_pericentre, step));
    field->fastest = fmin(field->fastest, warp_shuffle_xor(field->fastest, step));
  }
}

/* The sum on one unit, as a lane has its part of it. */
struct unit_sum {
  struct hermite_force force;
  struct unit_field field;
  struct unit_nearest nearest;
  int near_count; /* of all lanes of the unit */
};

/* The place of this lane among those of its unit for which `holds` is true; *count: their number. All lanes call. */
static __device__ int number_among(int holds, int lanes, int *count)
{
  lane_mask mask = warp_ballot(holds) >> (lane_id() / lanes * lanes), below = lane_bit(lane_id() % lanes) - 1;
  if (lanes < (int)LANES) mask &= lane_bit(lanes) - 1;
  *count = lane_count(mask);
  return lane_count(mask & below);
}

/* Add what the root on the list of a unit gives; -1: none. All lanes call. */
DEVICE_CALL void add_to_unit(const struct units_job &job, const struct unit_target &target, const struct unit_own &own,
                             int32_t root, const struct unit_source source, int lanes, struct unit_field *out,
                             struct unit_sum *sum)
{
  struct unit_neighbour is;
  double f[4], weight = 0;
  int count;
  if (root >= 0) weight = see_from_unit(job, target, own, root, source, &is, f, &sum->force, &sum->nearest);
  int number = sum->near_count + number_among(weight > UNIT_TIDE_LEAST, lanes, &count),
      near = weight > UNIT_TIDE_LEAST && number < UNIT_NEAR;
  sum->near_count = min(sum->near_count + count, (int)UNIT_NEAR);
  if (near) out->near[number] = root;
  if (weight > 0) unit_add_field(&sum->field, &is, f, target.gm, weight, own.pair, near);
}

/* What the lanes of a unit have found together. */
DEVICE_CALL void store_field(const struct units_job &job, int32_t m, const struct unit_sum &sum)
{
  struct unit_field *out = &job.table.field[job.table.at[m]];
  memcpy(out->tide, sum.field.tide, sizeof out->tide);
  memcpy(out->tide_far, sum.field.tide_far, sizeof out->tide_far);
  out->near_count = sum.near_count;
  out->strongest = sum.field.strongest;
  out->at_pericentre = sum.field.at_pericentre;
  out->fastest = sum.field.fastest;
  store_nearest(job, m, sum.nearest);
}

/* The warp sums up the forces on units, `lanes` lanes each: at m, the same in all lanes of a unit; -1: none. Fields go
 * to the table. All lanes of a unit get its force. */
DEVICE_CALL void sum_on_units(const struct units_job &job, const struct places_at_tick &at, int32_t m, int lanes,
                              struct hermite_force *force)
{
  const int sub = lane_id() % lanes, valid = m >= 0;
  const struct member_list list = valid ? job.table.list[m] : member_list{0, 0, 0};
  struct unit_field *out = valid ? &job.table.field[job.table.at[m]] : NULL;
  struct unit_target target;
  struct unit_own own;
  struct unit_sum sum = {};
  sum.field.fastest = 1e30;
  sum.nearest = {1e300, -1, -1};
  if (valid) {
    target = target_at(job, m, at.now);
    own = own_at(job, target);
  }
  for (int begin = 0; warp_any(begin < list.count); begin += lanes) {
    int k = begin + sub;
    int32_t place = k < list.count ? job.table.entry[list.begin + k] : -1;
    struct unit_source source;
    source.tag = TAG_STAR;
    if (place >= 0) at.read(place, &source);
    int look = source.tag == TAG_LOOK;
    for (int side = 0; side < 2 && (side == 0 || warp_any(look)); side++) {
      int32_t root = look ? unit_look(job, m, place, side) : side ? -1 : place;
      if (look && root >= 0) at.read(root, &source);
      add_to_unit(job, target, own, root, source, lanes, out, &sum);
    }
  }
  list_join(&sum.force, lanes);
  join_field(&sum.field, lanes);
  join_nearest(&sum.nearest, lanes);
  if (valid && sub == 0) store_field(job, m, sum);
  *force = sum.force;
  warp_sync();
}

/* The warp sums up the force on the star or unit at `m`. All lanes get it. */
DEVICE_CALL void sum_on_place(const struct units_job &job, const struct places_at_tick &at, int32_t m,
                              struct hermite_force *force)
{
  if (job.table.at[m] >= 0) {
    sum_on_units(job, at, m, LANES, force);
    return;
  }
  struct hermite_force sum = {};
  struct unit_nearest nearest;
  add_to_star(job, at, target_at(job, m, at.now), lane_id(), LANES, &sum, &nearest);
  list_join(&sum, LANES);
  join_nearest(&nearest, LANES);
  if (lane_id() == 0) store_nearest(job, m, nearest);
  *force = sum;
  warp_sync();
}
#endif
