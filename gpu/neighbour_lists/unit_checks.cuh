/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which of the changes that places ask for are carried out: claims on places, and the rules asked again at the tick
 * (unit_changes.cuh). */
#ifndef GPU_UNIT_CHECKS_CUH
#define GPU_UNIT_CHECKS_CUH
#include "gpu/neighbour_lists/unit_host.cuh"

enum { CLAIM_PASSES = 4 };
#define TAKEN 0ull /* the claim on a place whose change is accepted: below all keys */

static __device__ int grid_warp(void) { return (int)((blockIdx.x * LOOP_THREADS + threadIdx.x) / LANES); }
static __device__ int grid_warps(void) { return (int)(gridDim.x * LOOP_WARPS); }

static __device__ int is_root(const struct units_job &job, int32_t place) { return job.table.root[place] == place; }

static __device__ struct unit_facts facts_now(const struct units_job &job, int32_t root)
{
  int32_t u = job.table.at[root];
  return u >= 0 ? unit_facts_of(&job.table.unit[u]) : unit_facts_of_star(job.table.source[root].gm);
}

/* Which of the motions of a root is its newest. */
static __device__ int newest(const struct units_job &job, int32_t root)
{
  const int2 t = job.loop.ticks[root];
  return t.y > t.x;
}

/* --- claims ------------------------------------------------------------------------------------------------------- */

static __device__ void claim_places(const struct units_job &job, int round, int32_t count)
{
  for (int32_t k = (int32_t)(blockIdx.x * LOOP_THREADS + threadIdx.x); k < count;
       k += (int32_t)(gridDim.x * LOOP_THREADS)) {
    const struct unit_change *change = &job.table.change[round][k];
    if (change->kind != CHANGE_NONE) continue;
    atomicMin(&job.table.claim[change->place], change->key);
    if (change->other >= 0) atomicMin(&job.table.claim[change->other], change->key);
  }
}

static __device__ int claimed(const struct units_job &job, const struct unit_change *change)
{
  return job.table.claim[change->place] == change->key &&
         (change->other < 0 || job.table.claim[change->other] == change->key);
}

/* --- checks ------------------------------------------------------------------------------------------------------- */

/* The warp advances a root to the tick, before its step ends. */
DEVICE_CALL void bring_root(const struct units_job &job, int32_t root, int32_t now)
{
  const int2 t = job.loop.ticks[root];
  struct hermite_force force;
  if (max(t.x, t.y) == now) return;
  sum_on_place(job, places_at_tick{job, now, 0}, root, &force);
  double sum[6];
  int parts, align = aligned_level_or_none(now);
  store_force(sum, force);
  const int host = is_hosted(job, root, now, 0);
  warp_sync(); /* before lane 0 changes the unit */
  if (host) {
    end_hosted(job, now, align, root, sum);
    return;
  }
  if (lane_id() == 0) {
    int level = end_step(job, now, align, root, *status_of(job, root) & STATUS_LEVEL, sum, &parts);
    *status_of(job, root) = status_for(job, root, level);
  }
  warp_sync();
}

/* What two stars form, beside all others; where nothing, they wait. All lanes get it. */
DEVICE_CALL enum unit_form form_of(const struct units_job &job, int32_t i, int32_t j, int32_t now)
{
  const struct places_at_tick at = {job, now, 0};
  const struct hermite_motion *p = &job.loop.motion[2 * (int64_t)i + newest(job, i)],
                              *q = &job.loop.motion[2 * (int64_t)j + newest(job, j)];
  const struct member_list list = job.table.list[i];
  double middle[3], d[3], u[3], dt, gm = job.table.source[i].gm + job.table.source[j].gm,
                                    r1 = fmaxf(job.table.source[i].factor, job.table.source[j].factor) * job.rules.r1;
  int least = UNIT_FORM_ANY;
  for (int c = 0; c < 3; c++) { /* their centre of mass, from which unit_belong has a distance afterwards */
    d[c] = q->x[c] - p->x[c];
    u[c] = q->v[c] - p->v[c];
    middle[c] = p->x[c] + job.table.source[j].gm / gm * d[c];
  }
  const struct unit_candidate candidate = unit_candidate_of(&job.rules, gm, d, u, r1);
  for (int k = lane_id(); k < 2 * list.count; k += LANES) {
    int32_t place = job.table.entry[list.begin + k / 2];
    struct unit_source source;
    int look = job.table.source[place].tag == TAG_LOOK;
    int32_t root = look ? unit_look(job, i, place, k % 2) : k % 2 ? -1 : place;
    if (root < 0 || root == j) continue;
    at.read(root, &source);
    if (!(source.gm > 0)) continue;
    for (int c = 0; c < 3; c++) d[c] = source.x[c] - middle[c];
    int hard = job.table.at[root] >= 0 && !unit_is_passing(&view_at(job, root, now, &dt)->facts);
    least = max(least, (int)unit_form_beside(&job.rules, &candidate, sqrt(kepler_dot(d, d)), source.gm, hard, r1));
  }
  least = warp_max(least);
  if (least == UNIT_FORM_NONE && now > 0 && lane_id() == 0)
    job.table.waits[i] = job.table.waits[j] = (uint8_t)unit_wait_steps(&job.rules, &candidate);
  return (enum unit_form)least;
}

/* Whether no one is near the two bodies `whole` that are to be a hierarchy at x, v: i and j, or the unit at i = j. The
 * warp looks at the list of i. */
DEVICE_CALL int undisturbed(const struct units_job &job, int32_t i, int32_t j, int32_t now,
                            const struct unit_facts &whole, const double x[3], const double v[3])
{
  const struct places_at_tick at = {job, now, 0};
  const struct member_list list = job.table.list[i];
  int disturbed = 0;
  for (int k = lane_id(); k < 2 * list.count; k += LANES) {
    int32_t place = job.table.entry[list.begin + k / 2];
    struct unit_source source;
    int look = job.table.source[place].tag == TAG_LOOK;
    int32_t root = look ? unit_look(job, i, place, k % 2) : k % 2 ? -1 : place;
    double d[3], u[3], dt;
    if (root < 0 || root == j) continue;
    at.read(root, &source);
    for (int c = 0; c < 3; c++) {
      d[c] = source.x[c] - x[c];
      u[c] = source.v[c] - v[c];
    }
    double r1 = fmaxf(job.table.source[i].factor, source.factor) * job.rules.r1;
    const struct unit_facts facts =
        job.table.at[root] >= 0 ? view_at(job, root, now, &dt)->facts : unit_facts_of_star(source.gm);
    disturbed |= unit_belong(&job.rules, &whole, &facts, d, u, r1, UNIT_HYSTERESIS) != UNIT_APART;
  }
  return !warp_any(disturbed);
}

/* Whether two places at the tick become a hierarchy. All lanes get it. */
DEVICE_CALL int are_hierarchy(const struct units_job &job, int32_t i, int32_t j, int32_t now)
{
  const struct hermite_motion *p = &job.loop.motion[2 * (int64_t)i + newest(job, i)],
                              *q = &job.loop.motion[2 * (int64_t)j + newest(job, j)];
  const struct unit_facts a = facts_now(job, i), b = facts_now(job, j);
  double d[3], u[3], x[3], v[3], r1 = fmaxf(job.table.source[i].factor, job.table.source[j].factor) * job.rules.r1;
  for (int c = 0; c < 3; c++) {
    d[c] = q->x[c] - p->x[c];
    u[c] = q->v[c] - p->v[c];
    x[c] = p->x[c] + b.m / (a.m + b.m) * d[c];
    v[c] = p->v[c] + b.m / (a.m + b.m) * u[c];
  }
  if (hierarchy_fits(&job.rules, &a, &b, d, u, r1, 0) == HIERARCHY_NONE) return 0;
  return undisturbed(job, i, j, now, hierarchy_facts(&a, &b, d, u), x, v);
}

/* Whether the group at `root` becomes a hierarchy. All lanes get it. */
DEVICE_CALL int is_hierarchy_now(const struct units_job &job, int32_t root, int32_t now)
{
  struct unit_body whole[2];
  double d[3], u[3];
  if (!unit_may_be_hierarchy(&job.table.unit[job.table.at[root]], &job.rules, unit_r1_of(job, root), whole)) return 0;
  const struct unit_facts p = unit_body_facts(&whole[0]), q = unit_body_facts(&whole[1]);
  const struct hermite_motion *centre = &job.loop.motion[2 * (int64_t)root + newest(job, root)];
  for (int c = 0; c < 3; c++) {
    d[c] = whole[1].x[c] - whole[0].x[c];
    u[c] = whole[1].v[c] - whole[0].v[c];
  }
  return undisturbed(job, root, root, now, hierarchy_facts(&p, &q, d, u), centre->x, centre->v);
}

/* Bring the members of a unit to the tick of its centre. */
DEVICE_CALL void synchronise(const struct units_job &job, int32_t root, int32_t now)
{
  struct unit_environment environment;
  int32_t u = job.table.at[root];
  if (u < 0) return;
  environment_of(job, root, newest(job, root), now, &environment);
  unit_synchronise(&job.table.unit[u], &job.rules, &environment, time_of(job, now));
}

static __device__ int entries_of_root(const struct units_job &job, int32_t root)
{
  int32_t u = job.table.at[root], sum = 0, count = u < 0 ? 1 : job.table.stars[u].count;
  for (int k = 0; k < count; k++) {
    int32_t star = u < 0 ? root : job.table.stars[u].place[k];
    sum += job.table.list_of_head[job.place.head[star]].count + 1;
  }
  return sum;
}

/* Lane 0 has found that the places are to join, or that `divided` is to part. */
static __device__ void accept(const struct units_job &job, struct unit_change *change, int32_t now)
{
  struct unit_numbers *numbers = job.table.numbers;
  int join = change->kind == CHANGE_JOIN;
  synchronise(job, join ? change->place : change->divided, now);
  if (join) synchronise(job, change->other, now);
  int entries = entries_of_root(job, join ? change->place : change->divided);
  if (join) entries += entries_of_root(job, change->other);
  atomicAdd(&numbers->need_units, join ? 1 : change->parts);
  atomicAdd(&numbers->need_entries, (unsigned long long)entries);
}

/* The distance of two places at the tick. */
static __device__ double distance_of(const struct units_job &job, int32_t i, int32_t j)
{
  const double *x = job.loop.motion[2 * (int64_t)i + newest(job, i)].x,
               *y = job.loop.motion[2 * (int64_t)j + newest(job, j)].x;
  double d[3] = {y[0] - x[0], y[1] - x[1], y[2] - x[2]};
  return sqrt(kepler_dot(d, d));
}

/* What two places at the tick are to each other. All lanes get it. */
DEVICE_CALL int verdict_on(const struct units_job &job, const struct unit_change *change)
{
  int verdict = UNIT_APART;
  int32_t i = change->place, j = change->other;
  if (lane_id() == 0) {
    const struct hermite_motion *p = &job.loop.motion[2 * (int64_t)i + newest(job, i)],
                                *q = &job.loop.motion[2 * (int64_t)j + newest(job, j)];
    double d[3], u[3], r1 = fmaxf(job.table.source[i].factor, job.table.source[j].factor) * job.rules.r1;
    for (int c = 0; c < 3; c++) {
      d[c] = q->x[c] - p->x[c];
      u[c] = q->v[c] - p->v[c];
    }
    const struct unit_facts a = facts_now(job, i), b = facts_now(job, j);
    verdict = unit_belong(&job.rules, &a, &b, d, u, r1, 1);
  }
  return warp_shuffle(verdict, 0);
}

/* The warp asks whether the unit at a place parts, or becomes a hierarchy. Lane 0 sets the kind of the change. */
DEVICE_CALL void check_parting(const struct units_job &job, struct unit_change *change, int32_t now)
{
  int32_t i = change->place;
  struct unit *unit = &job.table.unit[job.table.at[i]];
  int hierarchy = is_hierarchy_now(job, i, now);
  warp_sync(); /* before lane 0 changes the unit */
  if (lane_id() > 0) return;
  double t = time_of(job, now), r1 = unit_r1_of(job, i);
  change->divided = i;
  change->parts = unit_find_parts(&job.rules, unit, t, r1, change->part);
  if (change->parts > 1) change->kind = CHANGE_PART;
  else if (hierarchy) change->kind = CHANGE_TO_HIERARCHY;
  else unit_tighten(unit, &job.rules, t, r1);
}

/* Before two places at the tick become one unit, those that are near it end their steps, which began with the two: the
 * warp enters them into `begun`, once each. */
DEVICE_CALL void note_near(const struct units_job &job, int32_t i, int32_t j, int32_t now)
{
  const struct places_at_tick at = {job, now, 0};
  const struct hermite_motion *p = &job.loop.motion[2 * (int64_t)i + newest(job, i)],
                              *q = &job.loop.motion[2 * (int64_t)j + newest(job, j)];
  const struct unit_facts a = facts_now(job, i), b = facts_now(job, j);
  const struct member_list list = job.table.list[i];
  double centre[3], d[3], u[3];
  for (int c = 0; c < 3; c++) {
    d[c] = q->x[c] - p->x[c];
    u[c] = q->v[c] - p->v[c];
    centre[c] = p->x[c] + b.m / (a.m + b.m) * d[c];
  }
  double near = unit_near_joint(&job.rules, &a, &b, d, u);
  for (int k = lane_id(); k < 2 * list.count; k += LANES) {
    int32_t place = job.table.entry[list.begin + k / 2];
    struct unit_source source;
    int look = job.table.source[place].tag == TAG_LOOK;
    int32_t root = look ? unit_look(job, i, place, k % 2) : k % 2 ? -1 : place;
    if (root < 0 || root == j || root == i) continue;
    at.read(root, &source);
    for (int c = 0; c < 3; c++) d[c] = source.x[c] - centre[c];
    if (!(source.gm > 0) || !(kepler_dot(d, d) < near * near)) continue;
    if (job.loop.ticks[root].x == now || job.loop.ticks[root].y == now) continue;
    if (atomicExch(&job.table.noted[root], now) == now) continue;
    job.table.begun[atomicAdd(&job.table.numbers->near, 1)] = root;
  }
}

/* The warp asks whether two places join, or a passing pair is let go. */
DEVICE_CALL void check_joining(const struct units_job &job, struct unit_change *change, int32_t now)
{
  int32_t i = change->place, j = change->other;
  bring_root(job, i, now);
  bring_root(job, j, now);
  int hierarchy = are_hierarchy(job, i, j, now);
  int verdict = hierarchy ? (int)UNIT_TOGETHER : verdict_on(job, change);
  int stars = job.table.at[i] < 0 && job.table.at[j] < 0;
  enum unit_form form = hierarchy ? UNIT_FORM_HIERARCHY : UNIT_FORM_ANY;
  if (verdict == UNIT_TOGETHER && stars) form = form_of(job, i, j, now);
  int third = form == UNIT_FORM_NONE;
  if (verdict == UNIT_TOGETHER && !third) note_near(job, i, j, now);
  if (verdict == UNIT_APART || third || lane_id() > 0) return;
  const struct unit_facts p = facts_now(job, i), q = facts_now(job, j);
  change->kind = verdict == UNIT_TOGETHER ? CHANGE_JOIN : CHANGE_PART;
  change->form = form;
  change->divided = unit_first_goes(&job.rules, &p, &q, distance_of(job, i, j)) ? i : j;
  change->parts = 2;
  change->part[0] = 0;
  change->part[1] = 1;
}

static __device__ void set_claims(const struct units_job &job, const struct unit_change *change,
                                  unsigned long long claim)
{
  job.table.claim[change->place] = claim;
  if (change->other >= 0) job.table.claim[change->other] = claim;
}

/* The warp checks a change that has its places. Where it is refused, others may have them. */
DEVICE_CALL void check_change(const struct units_job &job, struct unit_change *change, int32_t now)
{
  int32_t i = change->place, j = change->other;
  int roots = is_root(job, i) && (j < 0 || is_root(job, j));
  if (roots && j < 0) check_parting(job, change, now);
  else if (roots) check_joining(job, change, now);
  warp_sync();
  if (lane_id() == 0) {
    int accepted = change->kind != CHANGE_NONE;
    if (accepted) accept(job, change, now);
    else change->kind = CHANGE_REFUSED;
    if (!accepted) atomicAdd(&job.table.numbers->refused, 1);
    set_claims(job, change, accepted ? TAKEN : NO_CLAIM);
  }
  warp_sync();
}

/* Claims and checks. All blocks have met before, and meet at the end. */
DEVICE_CALL void check_changes(const struct units_job &job, int32_t now, int round, int32_t count, unsigned *meetings)
{
  struct unit_change *changes = job.table.change[round];
  for (int32_t pass = 0, refused = 0; pass < CLAIM_PASSES; pass++) {
    claim_places(job, round, count);
    meet(job.loop, meetings);
    for (int32_t k = grid_warp(); k < count; k += grid_warps())
      if (changes[k].kind == CHANGE_NONE && claimed(job, &changes[k])) check_change(job, &changes[k], now);
    meet(job.loop, meetings);
    const int32_t refused_now = *(volatile int32_t *)&job.table.numbers->refused;
    if (refused_now == refused) return;
    refused = refused_now;
  }
}
#endif
