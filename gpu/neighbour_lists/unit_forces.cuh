/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forces on stars and on units from the places on their lists, and what belongs to them. */
#ifndef GPU_UNIT_FORCES_CUH
#define GPU_UNIT_FORCES_CUH
#include "gpu/neighbour_lists/unit_places.cuh"
#include "gravity/hierarchy_rules.h"

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

static __device__ __forceinline__ struct unit_target target_at(const struct places_at_tick &at, int32_t m)
{
  struct unit_source s;
  struct unit_target target;
  at.read(m, &s);
  target.place = m;
  target.now = at.now;
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

/* Add the force of the unit at a root on the target beyond that of its mass. */
DEVICE_CALL void add_extent_of(const struct units_job &job, const struct unit_target &target, int32_t root,
                               const struct unit_neighbour &is, struct hermite_force *force)
{
  double dt, q[3][3], f[4];
  struct unit_two two;
  const struct unit_view *view = view_at(job, root, target.now, &dt);
  if (!unit_quadrupole_counts(view->trace, is.gm, is.r2)) return;
  if (two_seen(job, view, target.now, target.gm, is, &two)) {
    unit_add_two(&is, &two, 1, force);
    return;
  }
  unit_radial(&is, f);
  quadrupole_after(view, dt, q);
  unit_add_quadrupole(&is, f, (const double(*)[3])q, view->rate, force);
}

/* A neighbour of a star that is a unit, or near. */
DEVICE_CALL void see_closely(const struct units_job &job, const struct unit_target target, int32_t root,
                             const struct unit_source source, struct star_sum *sum)
{
  struct unit_neighbour is;
  look_from(job, target, source, &is);
  if (is.gm > 0) look_for_partner(job, target, root, source.factor, is, &sum->nearest);
  if (job.table.at[root] < 0 || !(is.r2 < is.split.r2 * is.split.r2)) return;
  is.r = sqrt(is.r2);
  add_extent_of(job, target, root, is, &sum->force);
}

#define BOUND_OR_NEARLY 4.01 /* two are bound where v^4 r^2 is below 4 mu^2 */

/* --- sums --------------------------------------------------------------------------------------------------------- */

/* Whether a neighbour is so near that it may belong to the target. */
static __device__ __forceinline__ int is_near(const struct units_job &job, const struct unit_target &target,
                                              const struct unit_neighbour &is, float factor)
{
  double f = fmaxf(target.factor, factor);
  return is.r2 < job.far2 * f * f;
}

/* Whether two stars that are near may belong together: unit_belong asks whether they are closer than the entry, or
 * bound. */
static __device__ __forceinline__ int may_belong(const struct units_job &job, const struct unit_target &target,
                                                 const struct unit_neighbour &is)
{
  double speed2 = kepler_dot(is.u, is.u), mu = target.gm + is.gm;
  return is.r2 < job.entry2 || speed2 * speed2 * is.r2 < BOUND_OR_NEARLY * mu * mu;
}

/* Whether the quadrupole of the unit `tag` at a root counts. */
static __device__ __forceinline__ int quadrupole_counts(const struct units_job &job, const struct unit_neighbour &is,
                                                        int32_t root, int32_t tag, int32_t now)
{
  return unit_quadrupole_counts(job.table.view[2 * (int64_t)tag + slot_at(job.loop.ticks[root], now)].trace, is.gm,
                                is.r2);
}

/* Add the force that a root gives a star as a point mass. Returns whether it is to be seen closely too. */
static __device__ __forceinline__ int add_point(const struct units_job &job, const struct unit_target &target,
                                                int32_t root, const struct unit_source &source,
                                                struct hermite_force *force)
{
  struct unit_neighbour is;
  look_from(job, target, source, &is);
  hermite_pair(force, is.d, is.u, is.gm, 0, &is.split);
  int near = is_near(job, target, is, source.factor);
  if (source.tag < 0) return near && may_belong(job, target, is);
  return near || quadrupole_counts(job, is, root, source.tag, target.now);
}

enum { SEEN_AT_ONCE = 32 }; /* entries of a list, a bit of a word for each */

/* Add what up to SEEN_AT_ONCE entries first, first + stride, ... give as point masses. Returns a bit for each that is
 * to be seen closely, or looked up. No function is called: sums are in registers. */
static __device__ __forceinline__ unsigned add_points(const struct units_job &job, const struct places_at_tick &at,
                                                      const struct unit_target &target, const struct member_list &list,
                                                      int first, int stride, struct hermite_force *force)
{
  unsigned closely = 0;
#pragma unroll 4
  for (int n = 0; n < SEEN_AT_ONCE; n++) {
    int k = first + n * stride;
    if (k >= list.count) break;
    int32_t root = job.table.entry[list.begin + k];
    struct unit_source source;
    at.read(root, &source);
    if (source.tag == TAG_LOOK || add_point(job, target, root, source, force)) closely |= 1u << n;
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
    if (add_point(job, target, root, source, &sum->force)) see_closely(job, target, root, source, sum);
  }
}

/* The entries first, first + stride, ... of a list whose bits are set. */
DEVICE_CALL struct star_sum see_entries(const struct units_job &job, const struct places_at_tick &at,
                                        const struct unit_target target, int64_t first, int stride, unsigned entries)
{
  struct star_sum sum = {};
  sum.nearest = {1e300, -1, -1};
  for (; entries; entries &= entries - 1)
    see_entry(job, at, target, job.table.entry[first + (lowest_bit(entries) - 1) * stride], &sum);
  return sum;
}

static __device__ __forceinline__ void take_nearer(struct unit_nearest *nearest, double r, int32_t place,
                                                   int32_t hierarchy)
{
  if (r < nearest->distance || (r == nearest->distance && place < nearest->place)) {
    nearest->distance = r;
    nearest->place = place;
  }
  if (nearest->hierarchy < 0 || (hierarchy >= 0 && hierarchy < nearest->hierarchy)) nearest->hierarchy = hierarchy;
}

/* Add what the entries first, first + stride, ... of the list of a star give. */
static __device__ __forceinline__ void add_to_star(const struct units_job &job, const struct places_at_tick &at,
                                                   const struct unit_target &target, int first, int stride,
                                                   struct hermite_force *force, struct unit_nearest *nearest)
{
  const struct member_list list = job.table.list[target.place];
  *nearest = {1e300, -1, -1};
  for (; first < list.count; first += SEEN_AT_ONCE * stride) {
    unsigned entries = add_points(job, at, target, list, first, stride, force);
    if (entries == 0) continue;
    const struct star_sum closely = see_entries(job, at, target, list.begin + first, stride, entries);
    for (int c = 0; c < 3; c++) {
      force->a[c] += closely.force.a[c];
      force->j[c] += closely.force.j[c];
    }
    take_nearer(nearest, closely.nearest.distance, closely.nearest.place, closely.nearest.hierarchy);
  }
}

/* All lanes of the warp call. */
static __device__ __forceinline__ void join_nearest(struct unit_nearest *nearest, int lanes)
{
  if (!warp_any(nearest->place >= 0 || nearest->hierarchy >= 0)) return;
  for (int step = lanes / 2; step > 0; step /= 2) {
    double r = warp_shuffle_xor(nearest->distance, step);
    int32_t place = warp_shuffle_xor(nearest->place, step);
    int32_t hierarchy = warp_shuffle_xor(nearest->hierarchy, step);
    take_nearer(nearest, r, place, hierarchy);
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
  double size, trace, since; /* since: time for which it has had the view */
  double least;              /* neighbours of larger weights are near */
  const struct unit_view *view;
};

DEVICE_CALL struct unit_own own_at(const struct units_job &job, const struct unit_target &target)
{
  struct unit_own own;
  const struct unit *unit = &job.table.unit[job.table.at[target.place]];
  own.view = view_at(job, target.place, target.now, &own.since);
  own.pair = unit->kind != UNIT_GROUP;
  own.size = own.pair && unit->lasting ? unit->orbit.a : unit->orbit.size;
  own.trace = own.view->trace;
  own.least = fmax(UNIT_TIDE_LEAST, unit->field.least);
  return own;
}

#define NEAR_STEP 4 /* the least weight of those that are near changes by this factor */

/* The sum on one unit, as a lane has its part of it. */
struct unit_sum {
  struct hermite_force force;
  struct unit_field field; /* without the tides: */
  double tide[6], far[6];  /* xx, xy, xz, yy, yz, zz */
  struct unit_nearest nearest;
  int near_count; /* of all lanes of the unit; where there are more than UNIT_NEAR, not all are on its list */
};

/* Add the force of a neighbour on the target, a unit, beyond that on its mass. */
DEVICE_CALL void add_on_extent(const struct units_job &job, const struct unit_target &target,
                               const struct unit_own &own, const struct unit_neighbour &is, struct hermite_force *force)
{
  double q[3][3], f[4];
  struct unit_two two;
  if (two_seen(job, own.view, target.now, is.gm, is, &two)) {
    unit_add_two(&is, &two, -1, force);
    return;
  }
  unit_radial(&is, f);
  quadrupole_after(own.view, own.since, q);
  quadrupole_add((const double(*)[3])q, own.view->rate, is.d, is.u, f, -is.gm / target.gm, force->a, force->j);
}

/* The extents of a unit and of its neighbour at a root within R2, and whether they belong together. */
DEVICE_CALL void see_from_unit(const struct units_job &job, const struct unit_target target, const struct unit_own own,
                               int32_t root, const struct unit_source source, struct star_sum *sum)
{
  struct unit_neighbour is;
  look_from(job, target, source, &is);
  is.r = sqrt(is.r2);
  if (job.table.at[root] >= 0) add_extent_of(job, target, root, is, &sum->force);
  if (unit_quadrupole_counts(own.trace, target.gm, is.r2)) add_on_extent(job, target, own, is, &sum->force);
  look_for_partner(job, target, root, source.factor, is, &sum->nearest);
}

/* The place of this lane among those of its unit for which `holds` is true; *count: their number. All lanes call. */
static __device__ __forceinline__ int number_among(int holds, int lanes, int *count)
{
  lane_mask mask = warp_ballot(holds) >> (lane_id() / lanes * lanes), below = lane_bit(lane_id() % lanes) - 1;
  if (lanes < (int)LANES) mask &= lane_bit(lanes) - 1;
  *count = lane_count(mask);
  return lane_count(mask & below);
}

/* Add what the root on the list of a unit gives as a point mass; -1: none. Returns whether it is to be seen closely.
 * All lanes call. */
static __device__ __forceinline__ int add_to_unit(const struct units_job &job, const struct unit_target &target,
                                                  const struct unit_own &own, int32_t root,
                                                  const struct unit_source &source, int lanes, struct unit_field *out,
                                                  struct unit_sum *sum)
{
  struct unit_neighbour is;
  double weight = 0, k = 0, slope = 0;
  int count, acts = 0, closely = 0;
  if (root >= 0) {
    look_from(job, target, source, &is);
    if (is.r2 < is.split.r2 * is.split.r2) {
      is.r = sqrt(is.r2);
      hermite_pair(&sum->force, is.d, is.u, is.gm, 0, &is.split);
      hermite_kernel(&is.split, is.r, &k, &slope);
      acts = is.gm > 0;
      weight = acts ? unit_tide_weight(&is, target.gm, own.size) : 0;
    }
  }
  int number = sum->near_count + number_among(weight > own.least, lanes, &count),
      near = weight > own.least && number < UNIT_NEAR;
  sum->near_count += count;
  if (near) out->near[number] = root;
  if (acts) {
    double i = 1 / is.r, i3 = i * i * i, f0 = -is.gm * k * i3, f1 = is.gm * (3 * k * i * i3 - slope * i3) * i;
    unit_add_times(&sum->field, &is, target.gm, weight, own.pair);
#pragma unroll
    for (int a = 0, n = 0; a < 3; a++)
#pragma unroll
      for (int b = a; b < 3; b++, n++) {
        double y = f1 * is.d[a] * is.d[b] + (a == b ? f0 : 0);
        sum->tide[n] += y;
        if (!near) sum->far[n] += y;
      }
    closely = is_near(job, target, is, source.factor) || unit_quadrupole_counts(own.trace, target.gm, is.r2) ||
              (source.tag >= 0 && quadrupole_counts(job, is, root, source.tag, target.now));
  }
  return closely;
}

/* The same for places that stand for something else than at the begin; look: this lane has one. All lanes call. */
DEVICE_CALL void add_looked_up(const struct units_job &job, const struct places_at_tick &at,
                               const struct unit_target &target, const struct unit_own &own, int32_t place, int look,
                               int lanes, struct unit_field *out, struct unit_sum *sum, struct star_sum *closely)
{
  for (int side = 0; side < 2; side++) {
    int32_t root = look ? unit_look(job, target.place, place, side) : -1;
    struct unit_source source;
    if (root >= 0) at.read(root, &source);
    source.tag = root >= 0 ? job.table.at[root] : -1;
    if (add_to_unit(job, target, own, root, source, lanes, out, sum))
      see_from_unit(job, target, own, root, source, closely);
  }
}

static __device__ __forceinline__ void join_sum(struct unit_sum *sum, int lanes)
{
  list_join(&sum->force, lanes);
  for (int n = 0; n < 6; n++) {
    sum->tide[n] = list_over_lanes(sum->tide[n], lanes);
    sum->far[n] = list_over_lanes(sum->far[n], lanes);
  }
  struct unit_field *field = &sum->field;
  for (int step = lanes / 2; step > 0; step /= 2) {
    field->strongest = fmax(field->strongest, warp_shuffle_xor(field->strongest, step));
    field->at_pericentre = fmax(field->at_pericentre, warp_shuffle_xor(field->at_pericentre, step));
    field->fastest = fmin(field->fastest, warp_shuffle_xor(field->fastest, step));
  }
  join_nearest(&sum->nearest, lanes);
}

/* What the lanes of a unit have found together. */
static __device__ __forceinline__ void store_field(const struct units_job &job, int32_t m, double least,
                                                   const struct unit_sum &sum)
{
  struct unit_field *out = &job.table.field[job.table.at[m]];
#pragma unroll
  for (int a = 0, n = 0; a < 3; a++)
#pragma unroll
    for (int b = a; b < 3; b++, n++) {
      out->tide[a][b] = out->tide[b][a] = sum.tide[n];
      out->tide_far[a][b] = out->tide_far[b][a] = sum.far[n];
    }
  out->near_count = sum.near_count;
  out->least = NEAR_STEP * sum.near_count < UNIT_NEAR ? least / NEAR_STEP : least;
  out->strongest = sum.field.strongest;
  out->at_pericentre = sum.field.at_pericentre;
  out->fastest = sum.field.fastest;
  store_nearest(job, m, sum.nearest);
}

static __device__ void add_sums(struct unit_sum *sum, const struct unit_sum &other, const struct hermite_force &force)
{
  for (int c = 0; c < 3; c++) {
    sum->force.a[c] += other.force.a[c] + force.a[c];
    sum->force.j[c] += other.force.j[c] + force.j[c];
  }
  for (int n = 0; n < 6; n++) {
    sum->tide[n] += other.tide[n];
    sum->far[n] += other.far[n];
  }
  sum->field.strongest = fmax(sum->field.strongest, other.field.strongest);
  sum->field.at_pericentre = fmax(sum->field.at_pericentre, other.field.at_pericentre);
  sum->field.fastest = fmin(sum->field.fastest, other.field.fastest);
}

/* What each lane has of the sums on units, with own.least as it is. The list of those that are near goes to the table.
 * What is rare is summed up apart, by functions, so that the sum is in registers. */
DEVICE_CALL struct unit_sum sums_of_lanes(const struct units_job &job, const struct places_at_tick &at,
                                          const struct unit_target &target, const struct unit_own &own, int valid,
                                          int lanes)
{
  const int sub = lane_id() % lanes;
  const struct member_list list = valid ? job.table.list[target.place] : member_list{0, 0, 0};
  struct unit_field *out = valid ? &job.table.field[job.table.at[target.place]] : NULL;
  struct unit_sum sum = {}, looked = {};
  struct star_sum near = {};
  sum.field.fastest = looked.field.fastest = 1e30;
  near.nearest = {1e300, -1, -1};
  for (int begin = 0; warp_any(begin < list.count);) {
    unsigned closely = 0;
    const int first = begin;
    for (int n = 0; n < SEEN_AT_ONCE && warp_any(begin < list.count); n++, begin += lanes) {
      int k = begin + sub;
      int32_t place = k < list.count ? job.table.entry[list.begin + k] : -1;
      struct unit_source source;
      source.tag = TAG_STAR;
      if (place >= 0) at.read(place, &source);
      int look = source.tag == TAG_LOOK;
      if (add_to_unit(job, target, own, look ? -1 : place, source, lanes, out, &sum)) closely |= 1u << n;
      if (!warp_any(look)) continue;
      looked.near_count = sum.near_count;
      add_looked_up(job, at, target, own, place, look, lanes, out, &looked, &near);
      sum.near_count = looked.near_count;
    }
    for (; closely; closely &= closely - 1) {
      int32_t place = job.table.entry[list.begin + first + sub + (lowest_bit(closely) - 1) * lanes];
      struct unit_source source;
      at.read(place, &source);
      see_from_unit(job, target, own, place, source, &near);
    }
  }
  add_sums(&sum, looked, near.force);
  sum.nearest = near.nearest;
  return sum;
}

/* The warp sums up the forces on units, `lanes` lanes each: at m, the same in all lanes of a unit; -1: none. Fields go
 * to the table. All lanes of a unit get its force. Where too many neighbours are near, the sums are made again with
 * those of larger weights. */
DEVICE_CALL void sum_on_units(const struct units_job &job, const struct places_at_tick &at, int32_t m, int lanes,
                              struct hermite_force *force)
{
  const int valid = m >= 0;
  struct unit_target target = {};
  struct unit_own own = {};
  struct unit_sum sum;
  if (valid) {
    target = target_at(at, m);
    own = own_at(job, target);
  }
  for (int more = 1; more;) {
    sum = sums_of_lanes(job, at, target, own, valid, lanes);
    more = warp_any(sum.near_count > UNIT_NEAR);
    if (sum.near_count > UNIT_NEAR) own.least *= NEAR_STEP;
  }
  join_sum(&sum, lanes);
  if (valid && lane_id() % lanes == 0) store_field(job, m, own.least, sum);
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
  add_to_star(job, at, target_at(at, m), lane_id(), LANES, &sum, &nearest);
  list_join(&sum, LANES);
  join_nearest(&nearest, LANES);
  if (lane_id() == 0) store_nearest(job, m, nearest);
  *force = sum;
  warp_sync();
}
#endif
