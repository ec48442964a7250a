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

/* The path of a neighbour as seen at the tick; own: factor of the unit. */
static __device__ void near_path(const struct units_job &job, int32_t place, float own, int32_t now,
                                 struct unit_path *path)
{
  const int2 t = job.loop.ticks[place];
  int slot = slot_at(t, now);
  float factor = fmaxf(own, job.table.source[place].factor);
  path->motion = job.loop.motion[2 * (int64_t)place + slot];
  path->t = time_of(job, slot ? t.y : t.x);
  path->gm = job.table.source[place].gm;
  path->split = hermite_split_of(&job.loop.sum.split, factor, factor);
}

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
  environment->root = root;
  if (unit->kind == UNIT_AVERAGED) return; /* the mean tide turns it */
  for (int k = 0; k < unit->field.near_count; k++) {
    int32_t place = unit->field.near[k];
    if (job.table.root[place] != place) continue; /* absorbed since */
    near_path(job, place, own, now, &environment->near[environment->near_count++]);
  }
}

DEVICE_CALL void store_view(const struct units_job &job, int32_t u, int which)
{
  const struct unit *unit = &job.table.unit[u];
  struct unit_view *view = &job.table.view[2 * (int64_t)u + which];
  memcpy(view->quadrupole, unit->quadrupole, sizeof view->quadrupole);
  memcpy(view->rate, unit->rate, sizeof view->rate);
  view->followed = unit->kind == UNIT_RESOLVED && !unit_is_hierarchy(unit);
  view->ks = unit->ks;
  view->facts = unit_facts_of(unit);
  view->trace =
      unit_is_passing(&view->facts) ? unit_passing_trace(&job.rules, view->facts.m1, view->facts.m2) : unit->trace;
}

/* round: of the two lists of changes, the one to enter it into. */
static __device__ void propose(const struct units_job &job, int round, int32_t place, int32_t other, float distance)
{
  struct unit_change *change = &job.table.change[round][atomicAdd(&job.table.numbers->proposed[round], 1)];
  change->key = (unsigned long long)(unsigned)__float_as_int(distance) << 32 | ((unsigned)place + 1);
  change->place = place;
  change->other = other;
  change->kind = CHANGE_NONE;
  change->form = UNIT_FORM_ANY;
}

/* Whether two stars that were refused do not ask again yet. */
static __device__ int still_waits(const struct units_job &job, int32_t place, int32_t partner)
{
  if (job.table.at[place] >= 0 || job.table.at[partner] >= 0 || job.table.waits[place] == 0) return 0;
  job.table.waits[place]--;
  return 1;
}

/* Ask for what the place wants: its partner, or to part. */
static __device__ void propose_change(const struct units_job &job, int round, int32_t place, int parts)
{
  int32_t partner = job.table.partner[place];
  if (partner >= 0 && still_waits(job, place, partner)) return;
  if (partner >= 0) propose(job, round, place, partner, job.table.partner_distance[place]);
  else if (parts > 1) propose(job, round, place, -1, DISTANCE_OF_LAST);
}

/* The number of units; blocks that have met since the last change find the same. */
static __device__ int32_t units_now(const struct units_job &job)
{
  const volatile struct unit_numbers *numbers = job.table.numbers;
  return job.table.units - (int32_t)(numbers->next_spare - numbers->next_unit);
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

/* A place whose step ends: its motion at the begin becomes that at the end. */
struct place_step {
  int32_t place, from;
  int which; /* of the two motions, that at the begin */
  struct hermite_motion motion;
  double wanted; /* the next step */
};

/* The end of the step of the centre at the tick, with this force. */
static __device__ __forceinline__ void correct_place(const struct units_job &job, int32_t now, int32_t place,
                                                     const double *sum, struct place_step *step)
{
  const struct loop_job &loop = job.loop;
  const int2 t = loop.ticks[place];
  step->place = place;
  step->which = t.y > t.x;
  step->from = step->which ? t.y : t.x;
  step->motion = load_hermite_motion(&loop.motion[2 * (int64_t)place + step->which]);
  const struct list_source source = job.table.source[place];
  struct hermite_force force = {};
  double dt = (now - step->from) * loop.tick_length, x[3], v[3], a2[3], a3[3];
  for (int c = 0; c < 3; c++) {
    force.a[c] = sum[c];
    force.j[c] = sum[3 + c];
  }
  hermite_predict(&step->motion, dt, x, v);
  hermite_correct(&step->motion, dt, x, v, &force, a2, a3);
  step->wanted =
      hermite_step(step->motion.a, step->motion.j, a2, a3, loop.eta, background_of(loop, source.gm, source.factor));
}

/* A step that is too short, of a place at x, y, z. */
DEVICE_CALL void note_step(const struct units_job &job, int32_t now, int32_t place, double x, double y, double z,
                           double wanted)
{
  const double at[3] = {x, y, z};
  note_collapse(job.loop.numbers, job.loop.sum, entries_at_tick{{job, now, 0}}, place, at, wanted);
}

/* What the end of the step of a unit says about its place. */
DEVICE_CALL void take_unit_end(const struct units_job &job, int32_t now, const struct unit_end &end,
                               struct place_step *step)
{
  int32_t u = job.table.at[step->place];
  struct unit *unit = &job.table.unit[u];
  step->wanted = fmin(step->wanted, end.limit);
  if (end.failed && !unit->failed) {
    unit->failed = 1;
    if (step->place < job.loop.own)
      note_step(job, now, step->place, step->motion.x[0], step->motion.x[1], step->motion.x[2], 0);
  }
  store_view(job, u, 1 - step->which);
}

/* The thread ends the step of the unit. Returns the parts of struct unit_end. */
DEVICE_CALL int end_unit(const struct units_job &job, int32_t now, struct place_step *step)
{
  int32_t u = job.table.at[step->place];
  struct unit_environment environment;
  environment_of(job, step->place, step->which, now, &environment);
  struct unit_step unit_step = {time_of(job, step->from), time_of(job, now), unit_r1_of(job, step->place), &environment,
                                &job.table.field[u]};
  struct unit_end end = unit_end_step(&job.table.unit[u], &job.rules, &unit_step);
  take_unit_end(job, now, end, step);
  return end.parts;
}

/* The place is at the tick. Returns its next level, at least `align`. level: the present one. */
static __device__ __forceinline__ int keep_place(const struct units_job &job, int32_t now, int align, int level,
                                                 const struct place_step *step)
{
  const struct loop_job &loop = job.loop;
  int32_t place = step->place;
  bool deeper;
  level = level_for(loop.soft_step, step->wanted, max(level - 1, (int)LIST_LONGEST_LEVEL), &deeper);
  if (deeper && place < loop.own)
    note_step(job, now, place, step->motion.x[0], step->motion.x[1], step->motion.x[2], step->wanted);
  loop.motion[2 * (int64_t)place + 1 - step->which] = step->motion;
  (step->which ? loop.ticks[place].x : loop.ticks[place].y) = now;
  loop.steps[place]++;
  return max(level, align);
}

/* The thread ends the step of a star. Returns its next level. */
static __device__ __forceinline__ int end_star(const struct units_job &job, int32_t now, int align, int32_t place,
                                               int level, const double *sum)
{
  struct place_step step;
  correct_place(job, now, place, sum, &step);
  return keep_place(job, now, align, level, &step);
}

/* The thread ends the step of a unit. Returns its next level; *parts: of struct unit_end. */
DEVICE_CALL int end_step_of_unit(const struct units_job &job, int32_t now, int align, int32_t place, int level,
                                 const double *sum, int *parts)
{
  struct place_step step;
  correct_place(job, now, place, sum, &step);
  *parts = end_unit(job, now, &step);
  return keep_place(job, now, align, level, &step);
}

/* The thread ends the step of a star, or of a unit. */
static __device__ __forceinline__ int end_step(const struct units_job &job, int32_t now, int align, int32_t place,
                                               int level, const double *sum, int *parts)
{
  *parts = 1;
  return job.table.at[place] >= 0 ? end_step_of_unit(job, now, align, place, level, sum, parts)
                                  : end_star(job, now, align, place, level, sum);
}

static __device__ uint8_t *status_of(const struct units_job &job, int32_t place)
{
  return &job.loop.status[status_place(place, job.loop.owned, (int)gridDim.x)];
}

/* Level and class of a place. Long lists of stars are summed up by a warp. */
static __device__ uint8_t status_for(const struct units_job &job, int32_t place, int level)
{
  int list = job.table.at[place] >= 0 ? (int)CLASS_UNIT : min(list_class(job.table.list[place].count), (int)CLASS_WARP);
  return (uint8_t)(level | list << STATUS_CLASS);
}

/* --- the begin of a place ----------------------------------------------------------------------------------------- */

static __device__ int aligned_level_or_none(int32_t tick) { return tick == 0 ? 0 : aligned_level(tick); }

/* The motions of a root that begins at the tick, with this force. Returns its first step. */
DEVICE_CALL double begin_root(const struct units_job &job, int32_t root, int32_t now, const double *sum)
{
  const struct loop_job &loop = job.loop;
  const struct list_source source = job.table.source[root];
  int32_t u = job.table.at[root];
  for (int which = 0; which < 2; which++)
    for (int c = 0; c < 3; c++) {
      loop.motion[2 * (int64_t)root + which].a[c] = sum[c];
      loop.motion[2 * (int64_t)root + which].j[c] = sum[3 + c];
    }
  double wanted =
      hermite_first_step(sum, sum + 3, LIST_FIRST_ETA * loop.eta, background_of(loop, source.gm, source.factor));
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
    double sum[6];
    store_force(sum, force);
    double wanted = begin_root(job, root, now, sum);
    int level = max(level_for(job.loop.soft_step, wanted, LIST_LONGEST_LEVEL, &deeper), aligned_level_or_none(now));
    *status_of(job, root) = status_for(job, root, level);
  }
  warp_sync();
}
#endif
