/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The end of a step of a star or a unit, its next level, and what the places ask for then: to join, or to part. */
#ifndef GPU_UNIT_STEPS_CUH
#define GPU_UNIT_STEPS_CUH
#include "gpu/neighbour_lists/unit_forces.cuh"

static __device__ double unit_r1_of(const struct units_job &job, int32_t root)
{
  return job.table.source[root].factor * job.rules.r1;
}

static __device__ double time_of(const struct units_job &job, int32_t tick) { return tick * job.loop.tick_length; }

/* What acts on the members of the unit at `root` from the time of its motion `which`; others as seen at the tick. */
DEVICE_CALL void environment_of(const struct units_job &job, int32_t root, int which, int32_t now,
                                struct unit_environment *environment)
{
  const struct unit *unit = &job.table.unit[job.table.at[root]];
  const int2 t = job.loop.ticks[root];
  float own = job.table.source[root].factor;
  memcpy(environment->tide, unit->field.tide_far, sizeof environment->tide);
  environment->centre.motion = job.loop.motion[2 * (int64_t)root + which];
  environment->centre.t = time_of(job, which ? t.y : t.x);
  environment->near_count = 0;
  for (int k = 0; k < unit->field.near_count; k++) {
    int32_t place = unit->field.near[k];
    if (job.table.root[place] != place) continue; /* absorbed since */
    struct unit_path *path = &environment->near[environment->near_count++];
    const int2 s = job.loop.ticks[place];
    int slot = slot_at(s, now);
    float factor = fmaxf(own, job.table.source[place].factor);
    path->motion = job.loop.motion[2 * (int64_t)place + slot];
    path->t = time_of(job, slot ? s.y : s.x);
    path->gm = job.table.source[place].gm;
    path->split = hermite_split_of(&job.loop.sum.split, factor, factor);
  }
}

DEVICE_CALL void store_view(const struct units_job &job, int32_t u, int which)
{
  const struct unit *unit = &job.table.unit[u];
  struct unit_view *view = &job.table.view[2 * (int64_t)u + which];
  memcpy(view->quadrupole, unit->quadrupole, sizeof view->quadrupole);
  memcpy(view->rate, unit->rate, sizeof view->rate);
  view->trace = unit->trace;
  view->ks = unit->ks;
  view->facts = unit_facts_of(unit);
}

/* round: of the two lists of changes, the one to enter it into. */
static __device__ void propose(const struct units_job &job, int round, int32_t place, int32_t other, float distance)
{
  struct unit_change *change = &job.table.change[round][atomicAdd(&job.table.numbers->proposed[round], 1)];
  change->key = (unsigned long long)(unsigned)__float_as_int(distance) << 32 | (unsigned)place;
  change->place = place;
  change->other = other;
  change->kind = CHANGE_NONE;
  change->hierarchy = 0;
}

/* Ask for what the place wants: its partner, or to part. */
static __device__ void propose_change(const struct units_job &job, int round, int32_t place, int parts)
{
  int32_t partner = job.table.partner[place];
  if (partner >= 0) propose(job, round, place, partner, job.table.partner_distance[place]);
  else if (parts > 1) propose(job, round, place, -1, DISTANCE_OF_LAST);
}

/* The device advances the members of the unit at `root` over its step from the tick `from`. `which`: the motion at its
 * begin. */
DEVICE_CALL void advance_members(const struct units_job &job, int32_t root, int which, int32_t from, int32_t now)
{
  int32_t u = job.table.at[root];
  struct unit *unit = &job.table.unit[u];
  struct unit_environment environment;
  environment_of(job, root, which, now, &environment);
  if (unit_advance(unit, &environment, &job.table.field[u], time_of(job, from), time_of(job, now)) == 0 || unit->failed)
    return;
  unit->failed = 1;
  atomicAdd(&job.loop.numbers->collapsed, 1ull);
}

/* Whether a group has become two bodies that are a hierarchy, whole[2], as far as they know. */
static __device__ int may_be_hierarchy(const struct units_job &job, const struct unit *unit, double r1,
                                       struct unit_body whole[2])
{
  double d[3], u[3];
  if (!unit_two_pieces(unit, &job.rules, r1, whole)) return 0;
  const struct unit_facts p = unit_body_facts(&whole[0]), q = unit_body_facts(&whole[1]);
  for (int c = 0; c < 3; c++) {
    d[c] = whole[1].x[c] - whole[0].x[c];
    u[c] = whole[1].v[c] - whole[0].v[c];
  }
  return hierarchy_fits(&job.rules, &p, &q, d, u, r1, 0) != HIERARCHY_NONE;
}

/* A unit whose members are at the end of its step. Returns the next step; *parts: of unit_find_parts, and 2 of a group
 * that may become a hierarchy. */
DEVICE_CALL double end_unit(const struct units_job &job, int32_t root, int which, int32_t from, int32_t now,
                            double wanted, int *parts)
{
  int32_t u = job.table.at[root];
  struct unit *unit = &job.table.unit[u];
  double t = time_of(job, now), dt = (now - from) * job.loop.tick_length, r1 = unit_r1_of(job, root);
  int part[UNIT_BODIES];
  unit->field = job.table.field[u];
  wanted = unit_step_limit(unit, &job.rules, wanted);
  if (unit->kind == UNIT_RESOLVED) unit_elements(unit, &job.rules, r1);
  unit_classify(unit, &job.rules, t);
  unit_set_quadrupole(unit, dt);
  *parts = unit_find_parts(&job.rules, unit, t, r1, part);
  struct unit_body whole[2];
  if (*parts == 1 && may_be_hierarchy(job, unit, r1, whole)) *parts = 2;
  else if (*parts == 1) unit_tighten(unit, &job.rules, t, r1);
  store_view(job, u, 1 - which);
  return wanted;
}

/* As note_collapse reads them. */
struct entries_at_tick {
  const struct places_at_tick at;
  __device__ void read(int32_t k, double x[3], double v[3], double *gm, float *factor) const
  {
    struct unit_source source;
    at.read(k, &source);
    for (int c = 0; c < 3; c++) {
      x[c] = source.x[c];
      v[c] = source.v[c];
    }
    *gm = source.gm;
    *factor = source.factor;
  }
};

/* The end of the step of `place` at the tick, with this force; returns its next level, at least `align`. advanced: the
 * members of the unit have been advanced. */
DEVICE_CALL int end_step(const struct units_job &job, int32_t now, int align, int32_t place, int level,
                         const double *sum, int advanced, int *parts)
{
  const struct loop_job &loop = job.loop;
  const int2 t = loop.ticks[place];
  int which = t.y > t.x;
  int32_t from = which ? t.y : t.x;
  struct hermite_motion motion = load_hermite_motion(&loop.motion[2 * (int64_t)place + which]);
  const struct list_source source = job.table.source[place];
  struct hermite_force force = {};
  double dt = (now - from) * loop.tick_length, x[3], v[3], a2[3], a3[3];
  for (int c = 0; c < 3; c++) {
    force.a[c] = sum[c];
    force.j[c] = sum[3 + c];
  }
  hermite_predict(&motion, dt, x, v);
  hermite_correct(&motion, dt, x, v, &force, a2, a3);
  double wanted = hermite_step(motion.a, motion.j, a2, a3, loop.eta, background_of(loop, source.gm, source.factor));
  *parts = 1;
  if (job.table.at[place] >= 0) {
    if (!advanced) advance_members(job, place, which, from, now);
    wanted = end_unit(job, place, which, from, now, wanted, parts);
  }
  bool deeper;
  level = level_for(loop.soft_step, wanted, max(level - 1, (int)LIST_LONGEST_LEVEL), &deeper);
  if (deeper && place < loop.own)
    note_collapse(loop.numbers, loop.sum, entries_at_tick{{job, now, 0}}, place, motion.x, wanted);
  loop.motion[2 * (int64_t)place + 1 - which] = motion;
  (which ? loop.ticks[place].x : loop.ticks[place].y) = now;
  loop.steps[place]++;
  return max(level, align);
}

static __device__ uint8_t *status_of(const struct units_job &job, int32_t place)
{
  return &job.loop.status[status_place(place, job.loop.owned, (int)gridDim.x)];
}

/* Level and class of a place. Lists of units, and long ones, are summed up by a warp. */
static __device__ uint8_t status_for(const struct units_job &job, int32_t place, int level)
{
  int list = job.table.at[place] >= 0 ? (int)CLASS_WARP : min(list_class(job.table.list[place].count), (int)CLASS_WARP);
  return (uint8_t)(level | list << STATUS_CLASS);
}

/* --- the begin of a place ----------------------------------------------------------------------------------------- */

static __device__ int aligned_level_or_none(int32_t tick) { return tick == 0 ? 0 : aligned_level(tick); }

/* Lane 0: the motions and the level of a root that begins at the tick, with this force. */
DEVICE_CALL double begin_root(const struct units_job &job, int32_t root, int32_t now, const struct hermite_force &force)
{
  const struct loop_job &loop = job.loop;
  const struct list_source source = job.table.source[root];
  int32_t u = job.table.at[root];
  for (int which = 0; which < 2; which++)
    for (int c = 0; c < 3; c++) {
      loop.motion[2 * (int64_t)root + which].a[c] = force.a[c];
      loop.motion[2 * (int64_t)root + which].j[c] = force.j[c];
    }
  double wanted =
      hermite_first_step(force.a, force.j, LIST_FIRST_ETA * loop.eta, background_of(loop, source.gm, source.factor));
  if (u < 0) return wanted;
  struct unit *unit = &job.table.unit[u];
  unit->field = job.table.field[u];
  unit_classify(unit, &job.rules, time_of(job, now));
  return unit_step_limit(unit, &job.rules, wanted);
}

/* The warp begins a root that a change at the tick has made. */
DEVICE_CALL void start_root(const struct units_job &job, int32_t root, int32_t now)
{
  const struct places_at_tick at = {job, now, 0};
  struct hermite_force force;
  bool deeper;
  sum_on_place(job, at, root, &force);
  if (lane_id() == 0) {
    double wanted = begin_root(job, root, now, force);
    int level = max(level_for(job.loop.soft_step, wanted, LIST_LONGEST_LEVEL, &deeper), aligned_level_or_none(now));
    *status_of(job, root) = status_for(job, root, level);
  }
  warp_sync();
}
#endif
