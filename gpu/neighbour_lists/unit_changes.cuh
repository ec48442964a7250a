/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Units that form and dissolve at a tick. The places that were integrated have entered what they want into a list of
 * changes. All blocks then go through
 *   claims     of the changes that want the same place, the one of the lowest key gets it;
 *   checks     both places are brought to the tick, and the rules are asked again; claims and checks are repeated
 *              while some are refused, as others may have their places then;
 *   changes    new roots with their bodies and lists, which no one else reads in this phase;
 *   begins     forces on the new roots, and their first steps;
 * and meet after each, so results do not depend on the order within a phase. */
#ifndef GPU_UNIT_CHANGES_CUH
#define GPU_UNIT_CHANGES_CUH
#include "gpu/neighbour_lists/unit_checks.cuh"

/* --- changes ------------------------------------------------------------------------------------------------------ */

static __device__ int32_t take_unit(const struct units_job &job)
{
  return job.table.spare[atomicAdd(&job.table.numbers->next_unit, 1u) % (unsigned)job.table.units];
}

static __device__ void release_root(const struct units_job &job, int32_t root)
{
  int32_t u = job.table.at[root];
  if (u >= 0) job.table.spare[atomicAdd(&job.table.numbers->next_spare, 1u) % (unsigned)job.table.units] = u;
  job.table.at[root] = -1;
}

/* The bodies of the unit or star at a root, from x, v. Returns their number. */
DEVICE_CALL int bodies_at(const struct units_job &job, int32_t root, int32_t now, const double x[3], const double v[3],
                          int whole, struct unit_body *bodies)
{
  int32_t u = job.table.at[root];
  int n = 1;
  const struct hermite_motion *centre = &job.loop.motion[2 * (int64_t)root + newest(job, root)];
  if (u < 0) bodies[0] = unit_body_of(root, -1, job.place.gm[root]);
  else n = unit_bodies_of(&job.table.unit[u], time_of(job, now), whole, bodies);
  for (int k = 0; k < n; k++)
    for (int c = 0; c < 3; c++) {
      bodies[k].x[c] += centre->x[c] - x[c];
      bodies[k].v[c] += centre->v[c] - v[c];
    }
  return n;
}

static __device__ void add_star(struct unit_stars *stars, int32_t place)
{
  int32_t at = stars->count++;
  for (; at > 0 && stars->place[at - 1] > place; at--) stars->place[at] = stars->place[at - 1];
  stars->place[at] = place;
}

/* The places of the stars of bodies[n], with those that have merged with them, ascending. */
static __device__ void stars_of(int n, const struct unit_body *bodies, struct unit_stars *stars)
{
  stars->count = 0;
  for (int k = 0; k < n; k++)
    for (int s = 0; s < 2; s++) {
      if (bodies[k].star[s] < 0) continue;
      add_star(stars, bodies[k].star[s]);
      for (int m = 0; m < 2; m++)
        if (bodies[k].with[s][m] > 0) add_star(stars, bodies[k].with[s][m] - 1);
    }
}

static __device__ int has_star(const struct unit_stars *stars, int32_t place)
{
  for (int k = 0; k < stars->count; k++)
    if (stars->place[k] == place) return 1;
  return 0;
}

/* What the heads of these stars stand for on lists, with their root and its unit (-1: a star). */
static __device__ void set_tags(const struct units_job &job, const struct unit_stars *stars, int32_t root, int32_t u)
{
  for (int k = 0; k < stars->count; k++) {
    int32_t head = job.place.head[stars->place[k]], other = job.place.companion[head];
    int whole = head == root && (other < 0 || has_star(stars, other));
    job.table.source[head].tag = !whole ? (int)TAG_LOOK : u >= 0 ? u : (int)TAG_STAR;
  }
}

/* What lane 0 of a warp needs to carry out a change. In shared memory, as words of the memory of a lane are each in
 * another line of the cache. */
struct change_scratch {
  struct unit unit;
  struct unit_body bodies[2 * UNIT_BODIES], some[UNIT_BODIES];
};
enum { CHANGE_WARPS = 4 }; /* warps of a block that carry out changes */
static_assert(CHANGE_WARPS * sizeof(struct change_scratch) <= sizeof(((struct loop_shared *)0)->force),
              "the scratch has the place of the sums, of which there are none while units change");

static __device__ void copy_by_lane(void *to, const void *from, int bytes)
{
#pragma unroll 8
  for (int k = 0; k < bytes / 8; k++) ((double *)to)[k] = ((const double *)from)[k];
}

/* A root of bodies[n], which are from x, v; they are then from its centre. Its list is still to be made. form: what two
 * bodies are. */
DEVICE_CALL int32_t make_root(const struct units_job &job, struct unit *unit, int n, struct unit_body *bodies,
                              const double x[3], const double v[3], int32_t now, enum unit_form form)
{
  const struct unit_tables &table = job.table;
  struct unit_stars stars;
  struct hermite_motion motion = {};
  double centre_x[3], centre_v[3], gm = unit_to_centre(n, bodies, centre_x, centre_v);
  float factor = 0;
  stars_of(n, bodies, &stars);
  int32_t root = stars.place[0], u = -1;
  for (int k = 0; k < stars.count; k++) {
    int32_t place = stars.place[k];
    if (job.place.id[place] < job.place.id[root]) root = place;
    factor = fmaxf(factor, job.place.factor[place]);
  }
  for (int k = 0; k < stars.count; k++) {
    int32_t place = stars.place[k];
    table.root[place] = root;
    table.at[place] = -1;
    table.partner[place] = -1;
    *status_of(job, place) = 0;
  }
  for (int c = 0; c < 3; c++) {
    motion.x[c] = x[c] + centre_x[c];
    motion.v[c] = v[c] + centre_v[c];
  }
  if (stars.count > 1) {
    u = take_unit(job);
    table.at[root] = u;
    table.stars[u] = stars;
    double t = time_of(job, now), r1 = factor * job.rules.r1;
    if (form == UNIT_FORM_HIERARCHY) unit_make_hierarchy(unit, &job.rules, bodies, t, r1);
    else if (form == UNIT_FORM_PASSING) unit_make_passing(unit, &job.rules, bodies, t, r1);
    else unit_make(unit, &job.rules, n, bodies, t, r1);
    copy_by_lane(&table.unit[u], unit, unit_bytes(unit->bodies));
    store_view(job, u, 0);
    store_view(job, u, 1);
  }
  table.source[root].gm = gm;
  table.source[root].factor = factor;
  job.loop.motion[2 * (int64_t)root] = job.loop.motion[2 * (int64_t)root + 1] = motion;
  job.loop.ticks[root] = int2{now, now};
  set_tags(job, &stars, root, u);
  table.begun[atomicAdd(&table.numbers->begun, 1)] = root;
  return root;
}

/* Lane 0 carries out a change; roots[]: those that it makes. Returns their number. */
DEVICE_CALL int make_roots(const struct units_job &job, struct change_scratch *scratch,
                           const struct unit_change *change, int32_t now, int32_t *roots)
{
  struct unit_body *bodies = scratch->bodies, *some = scratch->some;
  int32_t i = change->place, j = change->other;
  if (change->kind == CHANGE_JOIN) {
    int32_t stays = job.place.id[i] < job.place.id[j] ? i : j, gone = stays == i ? j : i;
    const struct hermite_motion frame = job.loop.motion[2 * (int64_t)stays + newest(job, stays)];
    int n = bodies_at(job, stays, now, frame.x, frame.v, 1, bodies);
    n += bodies_at(job, gone, now, frame.x, frame.v, 1, bodies + n);
    if (change->form != UNIT_FORM_HIERARCHY) n = unit_open_tight(&job.rules, bodies, n, UNIT_OPEN_EARLY);
    release_root(job, stays);
    release_root(job, gone);
    roots[0] = make_root(job, &scratch->unit, n, bodies, frame.x, frame.v, now, change->form);
    return 1;
  }
  const struct hermite_motion frame = job.loop.motion[2 * (int64_t)change->divided + newest(job, change->divided)];
  if (change->kind == CHANGE_TO_HIERARCHY) {
    unit_may_be_hierarchy(&job.table.unit[job.table.at[change->divided]], &job.rules, unit_r1_of(job, change->divided),
                          bodies);
    release_root(job, change->divided);
    roots[0] = make_root(job, &scratch->unit, 2, bodies, frame.x, frame.v, now, UNIT_FORM_HIERARCHY);
    return 1;
  }
  int n = bodies_at(job, change->divided, now, frame.x, frame.v, 0, bodies);
  release_root(job, change->divided);
  for (int p = 0; p < change->parts; p++) {
    int count = 0;
    for (int k = 0; k < n; k++)
      if (change->part[k] == p) some[count++] = bodies[k];
    roots[p] = make_root(job, &scratch->unit, count, some, frame.x, frame.v, now, UNIT_FORM_ANY);
  }
  return change->parts;
}

/* The warp makes the list of a new root from those of the heads of its stars. */
DEVICE_CALL void make_list(const struct units_job &job, int32_t root)
{
  const struct unit_tables &table = job.table;
  int32_t u = table.at[root], stars = u < 0 ? 1 : table.stars[u].count, head[UNIT_STARS], heads = 0, room = 0;
  for (int k = 0; k < stars; k++) {
    int32_t h = job.place.head[u < 0 ? root : table.stars[u].place[k]], known = 0;
    for (int a = 0; a < heads; a++) known |= head[a] == h;
    if (!known) head[heads++] = h;
  }
  if (heads == 1 && table.source[head[0]].tag != TAG_LOOK) { /* as at the begin */
    if (lane_id() == 0) table.list[root] = table.list_of_head[head[0]];
    warp_sync();
    return;
  }
  for (int a = 0; a < heads; a++) room += table.list_of_head[head[a]].count + 1;
  unsigned long long begin = 0;
  if (lane_id() == 0) begin = atomicAdd(&table.numbers->entries, (unsigned long long)room);
  begin = warp_shuffle(begin, 0);
  int32_t count = 0;
  for (int a = 0; a < heads; a++) {
    const struct member_list list = table.list_of_head[head[a]];
    for (int first = 0; first <= list.count; first += LANES) { /* the last one is the head itself */
      int k = first + lane_id();
      int32_t place = k < list.count ? table.entry[list.begin + k] : head[a];
      int keep = k <= list.count && !(place == root && table.source[root].tag != TAG_LOOK);
      for (int b = 0; b < a && keep; b++)
        keep = place != head[b] && !has_entry(job, table.list_of_head[head[b]], place);
      lane_mask mask = warp_ballot(keep);
      if (keep) table.entry[begin + (unsigned)(count + lane_count(mask & lanes_below()))] = place;
      count += lane_count(mask);
    }
  }
  if (lane_id() == 0) table.list[root] = member_list{(int64_t)begin, count, 0};
  warp_sync();
}

static __device__ void carry_out(const struct units_job &job, struct change_scratch *scratch,
                                 const struct unit_change *change, int32_t now)
{
  int32_t roots[UNIT_BODIES];
  int count = 0;
  if (lane_id() == 0) count = make_roots(job, scratch, change, now, roots);
  warp_sync();
  count = warp_shuffle(count, 0);
  for (int k = 0; k < count; k++) make_list(job, warp_shuffle(roots[k], 0));
}

/* --- a round ------------------------------------------------------------------------------------------------------ */

/* What is left before the changes, which they take from. */
struct unit_room {
  int32_t units;
  unsigned long long entries;
};

static __device__ struct unit_room room_left(const struct units_job &job)
{
  const volatile struct unit_numbers *numbers = job.table.numbers;
  struct unit_room left = {(int32_t)(numbers->next_spare - numbers->next_unit),
                           job.table.entry_capacity - numbers->entries};
  return left;
}

static __device__ void release_claims(const struct units_job &job, const struct unit_change *changes, int32_t count)
{
  for (int32_t k = grid_warp(); k < count; k += grid_warps())
    if (lane_id() == 0) set_claims(job, &changes[k], NO_CLAIM);
}

/* What change_units enters into the other list of changes: nothing; what new roots want; and what could not be done. */
enum change_again { AGAIN_NONE, AGAIN_NEW, AGAIN_ALL };

/* Those that are near units that form end their steps. */
static __device__ void bring_noted(const struct units_job &job, int32_t now, unsigned *meetings)
{
  const int32_t count = *(volatile int32_t *)&job.table.numbers->near;
  if (count == 0) return;
  for (int32_t k = grid_warp(); k < count; k += grid_warps()) bring_root(job, job.table.begun[k], now);
  meet(job.loop, meetings);
}

/* Carry out the changes that were entered into the list `round`; all blocks have met since. */
DEVICE_CALL void change_units(const struct units_job &job, struct loop_shared &shared, int32_t now, int round,
                              enum change_again again, unsigned *meetings)
{
  struct unit_numbers *numbers = job.table.numbers;
  struct unit_change *changes = job.table.change[round];
  const int32_t count = *(volatile int32_t *)&numbers->proposed[round];
  const int first_thread = blockIdx.x == 0 && threadIdx.x == 0;
  const struct unit_room left = room_left(job);
  if (first_thread) numbers->begun = numbers->need_units = numbers->need_entries = numbers->refused = numbers->near = 0;
  check_changes(job, now, round, count, meetings);
  if (*(volatile int32_t *)&numbers->need_units == 0) { /* none is accepted */
    if (first_thread) numbers->proposed[round] = 0;
    release_claims(job, changes, count);
    meet(job.loop, meetings);
    return;
  }
  bring_noted(job, now, meetings);
  const int full = *(volatile int32_t *)&numbers->need_units > left.units ||
                   *(volatile unsigned long long *)&numbers->need_entries > left.entries;
  if (first_thread) {
    numbers->proposed[round] = 0;
    numbers->full |= full;
  }
  const int warp = (int)threadIdx.x / LANES;
  for (int32_t k = (int32_t)(blockIdx.x + gridDim.x * warp); warp < CHANGE_WARPS && k < count;
       k += (int32_t)gridDim.x * CHANGE_WARPS) {
    if (!full && changes[k].kind > CHANGE_NONE)
      carry_out(job, (struct change_scratch *)shared.force + warp, &changes[k], now);
    if (lane_id() == 0 && changes[k].kind <= CHANGE_NONE && job.table.claim[changes[k].place] == TAKEN)
      changes[k].kind = CHANGE_OVER;
  }
  meet(job.loop, meetings);
  const int32_t begun = *(volatile int32_t *)&numbers->begun;
  for (int32_t k = grid_warp(); k < begun; k += grid_warps()) {
    int32_t root = job.table.begun[k];
    start_root(job, root, now);
    if (again != AGAIN_NONE && lane_id() == 0) propose_change(job, 1 - round, root, 1);
  }
  release_claims(job, changes, count);
  for (int32_t k = (int32_t)(blockIdx.x * LOOP_THREADS + threadIdx.x); again == AGAIN_ALL && !full && k < count;
       k += (int32_t)(gridDim.x * LOOP_THREADS)) {
    const struct unit_change *lost = &changes[k];
    if (lost->kind > CHANGE_NONE || lost->kind == CHANGE_OVER || lost->other < 0 || begun == 0) continue;
    int32_t i = lost->place, j = job.table.root[lost->other];
    if (is_root(job, i) && j >= 0 && j != i) propose(job, 1 - round, i, j, __int_as_float((int)(lost->key >> 32)));
  }
  meet(job.loop, meetings);
}
#endif
