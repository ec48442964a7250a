/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk: forces of all particles at a synchronisation, or of the active ones, from the tree, or from LETs. Families of
 * groups, groups, pieces of heavy groups; hard parts are another walk of the same kind. */
#include <config.h>
#include <float.h>
#include <math.h>
#include <time.h>

#include "depth_first.cuh"
#include "hard.cuh"
#include "pairwise.cuh"
#include "sources.cuh"
#include "walk.cuh"

enum {
  FAR_CELLS = 1,                 /* 0: all cells are evaluated pairwise, for comparison */
  FEW_GROUPS = 80,               /* on a multiprocessor, which are cut into pieces */
  PIECE_WARPS = 16,              /* warps on a multiprocessor for pieces and single targets */
  NEAR_WARPS = 64,               /* and for groups within R2 of LETs */
  HEAVY_NEAR = 1024, HEAVY_LEAVES = 384, HANDED = 1024, HANDED_MOST = 4096,   /* see lengths() */
  MANY_ACTIVE = 8,               /* with more than this part of the groups active all sources are predicted first */
  PROGRESS_NANOSECONDS = 50000   /* between looks at messages */
};

/* --- what is decided before ---------------------------------------------------------------------------------------- */

/* What expansions may be wrong by, as a part of what the criterion allows a cell: families' errors are the same for all
 * their targets and so add up, and small budgets cost little there. With small Delta, which asks for small tails, or
 * quadrupoles, whose tails are small, they are cut down. */
static void budgets(const struct mac *mac, int cells, double budget[2])
{
  int fine = cells == CELLS_QUADRUPOLE || (mac->kind == MAC_ACCELERATION && mac->delta < exp2(-9.5));
  budget[OF_FAMILY] = fine ? 0.03 : 0.05;
  budget[OF_GROUP] = fine ? 0.1 : 0.25;
}

/* The test of an expansion about a ball of radius b, d from its surface: its error G m b^4 / d^6 is at most the budget times
 * Delta |a| or, with the multipole criterion, whose Delta is an error itself, Delta. The opening angle allows a cell the
 * part theta^2 (quadrupoles: theta^3) of its force: there (b/d)^4 is at most the budget times that. */
static void far_test(struct walk_job *job, const struct mac *mac, int cells, double unit)
{
  double budget[2];
  budgets(mac, cells, budget);
  for (int k = 0; k < 2; k++) {
    int angle = mac->kind == MAC_ANGLE;
    job->far_scale[k] = angle ? 0 : (float)fmin(fmax(mac->gravity / (budget[k] * mac->delta * unit * unit), FLT_MIN), FLT_MAX);
    job->far_least[k] = angle ? (float)fmax(1, pow(budget[k] * pow(mac->delta, mac->order + 1), -1.5)) : 1;
    if (!FAR_CELLS) job->far_least[k] = INFINITY;
  }
}

/* From which lengths on lists are too long: they grow as Delta^-1/2. The other criteria know no typical length. */
static void lengths(struct walk_job *job, const struct mac *mac)
{
  double longer = mac->kind == MAC_ACCELERATION ? exp2(fmax(0, (-log2(mac->delta) - 9) / 2)) : 2;
  job->handed_most = (int32_t)fmin(HANDED * longer, HANDED_MOST);
  job->most_near = (int32_t)fmin(HEAVY_NEAR * longer, INT32_MAX / 2);
  job->most_leaves = (int32_t)fmin(HEAVY_LEAVES * longer, INT32_MAX / 2);
}

static struct since time_since(int32_t ticks, double tick_length, double unit)
{
  double dt = ticks * tick_length;
  const struct since s = {(float)(dt / unit), (float)(0.5 * dt * dt / unit)};
  return s;
}

/* Whether `work` is cut down before the walk: hard forces of the local tree, which add to it, may come before those of all. */
static bool keeps_work(const struct walk_request *r) { return forest_joins(r) && r->split.on; }

static struct walk_job job_of(struct device *d, const struct walk_request *r, const struct forest *f, int cells)
{
  struct walk_job job = {f->t, f->root, f->roots, f->adding, d->p, d->tree.body};
  job.local_roots = f->local_roots;
  double unit = unit_of(d);
  job.inverse_unit = (float)(1 / unit);
  job.spacing = (float)(d->lattice.spacing / unit);
  job.eps = (float)(d->config.softening / unit);
  job.eps2 = job.eps * job.eps;
  job.quad_scale = job.inverse_unit * job.inverse_unit;
  job.per_psi = d->config.gravity / unit;
  job.per_a = job.per_psi / unit;
  job.a_floor = (float)r->a_floor;
  job.work_kept = r->kind == WALK_TOTAL && !keeps_work(r) ? WORK_KEPT : 1;
  job.by_acceleration = r->mac.kind == MAC_ACCELERATION;
  far_test(&job, &r->mac, cells, unit);
  lengths(&job, &r->mac);
  job.since[SLOW] = time_since(r->tick - f->motion_tick, r->tick_length, unit);
  job.since[FAST] = time_since(r->tick - d->fast_tick, r->tick_length, unit);
  job.fast_node = f->fast_node;
  job.tick = r->tick;
  job.tick_length = (float)r->tick_length;
  job.hard_only = r->kind != WALK_TOTAL;
  job.split_off = !r->split.on;
  job.count = d->answers->walked;
  return job;
}

static void take_split(struct walk_job *job, const struct split *split, double unit)
{
  job->split_kernel = split->kernel;
  job->near = (float)(split->r2 / unit);
  job->y_slope = (float)(split->inverse * unit);
  job->y_start = (float)((double)split->r2 * split->inverse);
}

/* --- who is walked ------------------------------------------------------------------------------------------------- */

/* The families of the groups in a list, in any order. */
static __global__ void list_families(const struct group *group, const int32_t *list, int32_t groups, int32_t *listed, int32_t walk,
                                     int32_t *family, int32_t *count)
{
  int32_t k = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (k >= groups) return;
  int32_t f = group[list[k]].family;
  if (listed[f] != walk && atomicExch(&listed[f], walk) != walk) family[atomicAdd(count, 1)] = f;
}

static void take_list(struct device *d, struct walk_job *job, const int32_t *list, int32_t groups)
{
  job->list = list;
  job->groups = groups;
  job->family_list = d->active_family.at;
  job->family_count = &d->answers->active_families;
}

/* Groups in a list, with their families. */
static void choose_listed(struct device *d, struct walk_job *job, const int32_t *list, int32_t groups)
{
  take_list(d, job, list, groups);
  job->families = groups < d->families ? groups : d->families;   /* at most */
  d->active_families = -1;
  device_zero(d, active_families);
  LAUNCH(d, list_families, blocks_for(groups, THREADS), THREADS, d->group.at, list, groups, d->family_listed.at, ++d->family_walks,
         d->active_family.at, &d->answers->active_families);
}

/* Where active groups are many, the sources' places at the tick. */
static void choose_sources(struct device *d, struct walk_job *job, const struct forest *f)
{
  if (f->root && !f->whole) return;   /* LETs are seen by few */
  if (d->present_tick != job->tick && d->active_groups <= d->groups / MANY_ACTIVE) return;
  /* a target must stand exactly where it stands as a source, or it would pull itself */
  job->target = job->t.body = device_present(d, job->tick, job->tick_length, f->t.bodies);
  job->t.course = NULL;
}

/* The active groups and their families. */
static void choose_active(struct device *d, struct walk_job *job, const struct forest *f)
{
  if (d->active_families < 0) {
    choose_listed(d, job, d->active_group.at, d->active_groups);
  } else {
    take_list(d, job, d->active_group.at, d->active_groups);
    job->families = d->active_families;
  }
  choose_sources(d, job, f);
}

/* The active groups alone, which are few. */
static void choose_few(struct device *d, struct walk_job *job, const struct forest *f)
{
  job->list = d->active_group.at;
  job->groups = d->active_groups;
  job->group = d->group.at;
  job->a_old = d->a_old.at;
  if (!job->root) job->roots = d->parts;
  choose_sources(d, job, f);
}

/* All, or those of the first families. */
static void choose_all(struct device *d, struct walk_job *job, int32_t families)
{
  job->groups = d->groups;
  job->families = families < d->families ? families : d->families;
  job->t.course = NULL;
}

static __global__ void keep_work(float *work, int64_t n)
{
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i < n) work[i] *= WORK_KEPT;
}

/* No pieces; where walks start at the local trees, their roots. */
static __global__ void begin_walk(struct answers *a, int32_t *root, int32_t second)
{
  a->pieces[0] = a->pieces[1] = 0;
  for (int c = 0; c < ITEM_CLASSES; c++) a->items[c] = 0;
  a->handed_sum = 0;
  if (!root) return;
  root[0] = 0;
  root[1] = second;
}

/* Room for the walk's own arrays. Where nothing else is said it starts at the local root, and at that of the fast particles. */
static void place_walk(struct device *d, struct walk_job *job)
{
  int local = !job->root;
  array_room(&d->root, "device walk", PARTS_MOST);
  LAUNCH(d, begin_walk, 1, 1, d->answers, local ? d->root.at : NULL, d->part[FAST].base);
  if (local) {
    job->root = d->root.at;
    job->roots = d->parts;
  }
  job->family = d->family.at;
  job->handed = array_room(&d->handed, "device families", (int64_t)d->families * job->handed_most);
  job->group = d->group.at;
  job->home = d->home.at;
  job->a_old = d->a_old.at;
  job->pieces = array_room(&d->piece, "device walk", 2 * d->p.n / (PIECE + 1) + 1);   /* groups of more than PIECE have pieces */
  job->singles = array_room(&d->single, "device walk", d->p.n);
  job->piece_count = d->answers->pieces;
  job->handed_sum = &d->answers->handed_sum;
  job->items_stage = -1;
}

/* --- launch -------------------------------------------------------------------------------------------------------- */

/* How many groups are walked, about: those of some families are the first, and grids stride. */
static int64_t groups_walked(const struct device *d, const struct walk_job *job)
{
  if (job->list || job->families == d->families) return job->groups;
  return (int64_t)job->groups * job->families / d->families + 1;
}

/* Groups; pieces of the heavy ones; single targets of heavy pieces. Few groups are walked in pieces at once. */
static void walk_stages(struct device *d, struct walk_job job, int cells, int how)
{
  int64_t resident = (int64_t)PIECE_WARPS * d->multiprocessors, groups = groups_walked(d, &job);
  int cut = groups <= FEW_GROUPS * d->multiprocessors;
  walk_items(d, &job, how, cut ? CUT_ALL : CUT_NONE, PIECE, 0);
  for (job.stage = job.items_stage; job.stage < 3; job.stage++) {
    int64_t most = groups * (job.stage == 1 ? GROUP_MOST / PIECE : GROUP_MOST);
    walk_groups(d, &job, cells, how, job.stage == job.items_stage ? (cut ? most : groups) : most < resident ? most : resident);
  }
}

/* The groups, the heaviest of them in pieces, or all where they are few; then single targets of those that found too much. Where hard
 * forces are added to, few groups have something to add. */
static void hard_stages(struct device *d, struct walk_job job, int cells, int how)
{
  int64_t groups = groups_walked(d, &job), pieces = groups * (GROUP_MOST / HARD_PIECE), some = groups + groups / 2;
  int64_t most = job.adding != 0 ? (int64_t)NEAR_WARPS * d->multiprocessors : INT64_MAX;
  int few = groups <= FEW_GROUPS * d->multiprocessors;
  walk_items(d, &job, how, few ? CUT_ALL : CUT_HEAVIEST, HARD_PIECE, job.adding != 0);
  if (few) some = pieces;
  job.stage = job.items_stage;
  hard_groups(d, &job, cells, how, some < most ? some : most);
  job.stage = 2;
  hard_groups(d, &job, cells, how, (int64_t)PIECE_WARPS * d->multiprocessors);
}

static void full_walk(struct device *d, const struct walk_request *r, const struct forest *f)
{
  int cells = cells_of(d, &r->mac), how = r->kind == WALK_HARD ? WALK_MOVING : r->potential ? WALK_STILL_POTENTIAL : WALK_STILL;
  struct walk_job job = job_of(d, r, f, cells);
  if (d->groups == 0) return;
  if (how == WALK_MOVING && few_serves(d)) {
    choose_few(d, &job, f);
    few_walk(d, &job, cells);
    return;
  }
  if (r->kind == WALK_HARD)
    choose_active(d, &job, f);
  else
    choose_all(d, &job, f->families);
  if (job.families == 0) return;
  place_walk(d, &job);
  walk_families(d, &job, cells, how);
  walk_stages(d, job, cells, how);
}

/* All have their hard forces of the local tree: those of LETs are added. */
static void skip_local(struct walk_job *job)
{
  job->root += job->local_roots;
  job->roots -= job->local_roots;
  job->local_roots = 0;
  job->adding = INT32_MAX;
}

void hard_forces(struct device *d, const struct walk_request *r, const struct forest *f)
{
  int cells = cells_of(d, &r->mac), how = r->kind == WALK_HARD ? WALK_MOVING : WALK_STILL;
  struct walk_job job = job_of(d, r, f, cells);
  int32_t rest = d->groups == 0 ? 0 : f->root ? -1 : neighbours_forces(d, r);   /* lists are of the local tree */
  if (f->local_roots > 0) skip_local(&job);
  if (rest == 0 || job.roots == 0) return;
  take_split(&job, &r->split, unit_of(d));
  if (r->kind == WALK_HARD)
    choose_active(d, &job, f);
  else
    choose_all(d, &job, INT32_MAX);
  if (rest > 0) choose_listed(d, &job, d->neighbours.rest.at, rest);
  place_walk(d, &job);
  job.reach = hard_reach(d, &r->mac);
  hard_families(d, &job, cells, how);
  hard_stages(d, job, cells, how);
}

/* --- the verb ------------------------------------------------------------------------------------------------------ */

/* Wait for what was queued before the event, and let the caller look at its messages meanwhile. With `early` all LETs are enough: more
 * can be queued then. */
static void wait_for_walk(cudaEvent_t event, const struct walk_request *r, bool early)
{
  const struct timespec nap = {0, PROGRESS_NANOSECONDS};
  cudaError_t status;
  if (!r->progress) return;
  bool all = r->progress(r->progress_of);
  while (!(early && all) && (status = cudaEventQuery(event)) != cudaSuccess) {
    if (status != cudaErrorNotReady) CHECK(status);
    cudaGetLastError();   /* it is none, and must not be found later */
    nanosleep(&nap, NULL);
    all = r->progress(r->progress_of);
  }
}

static void add_tally(struct tally *tally, const struct answers *told, double seconds)
{
  tally->seconds += seconds;
  tally->evaluating += seconds;   /* traversal and pair loops are one kernel */
  tally->targets += (int64_t)told->targets;
  tally->particle_pairs += (int64_t)told->particle_pairs;
  tally->cell_pairs += (int64_t)told->cell_pairs;
  tally->split_pairs += (int64_t)told->split_pairs;
  tally->tests += (int64_t)told->tests;
  tally->groups += (int64_t)told->groups;
  for (int k = 0; k < COUNT_SLOTS; k++) {
    const struct walk_count *w = &told->walked[k];
    tally->targets += (int64_t)w->targets;
    tally->particle_pairs += (int64_t)w->particle_pairs;
    tally->cell_pairs += (int64_t)w->cell_pairs;
    tally->tests += (int64_t)w->tests;
    tally->split_pairs += (int64_t)w->split_pairs;
    tally->groups += (int64_t)w->groups;
  }
}

void walk_told(struct device *d)
{
  const struct joined *joined = &d->lets->joined;
  float milliseconds = 0, rest = 0;
  CHECK(cudaEventElapsedTime(&milliseconds, d->from, joined->apart ? joined->first_done : d->to));
  if (joined->apart) {
    CHECK(cudaEventElapsedTime(&rest, joined->rest_began, d->to));
    d->owed->local_seconds += 1e-3 * milliseconds;
  }
  add_tally(d->owed, d->told, 1e-3 * (milliseconds + rest));
  d->owed = NULL;
}

int gpu_walks_at_once(struct device *d, const struct walk_request *r)
{
  return d->config.method != METHOD_NEXT_MORE && !pairwise_serves(d) && forest_gains(d, r);
}

int gpu_keeps_tree(struct device *d) { return neighbours_expected(&d->neighbours) || pairwise_serves(d); }

void gpu_walk(struct device *d, const struct walk_request *r, struct tally *tally)
{
  struct forest f;
  if (d->owed) device_ask(d);
  if (pairwise_serves(d)) {
    pairwise_walk(d, r, tally);
    return;
  }
  if (d->config.method == METHOD_NEXT_MORE) {
    depth_first_walk(d, r, tally);
    return;
  }
  struct joined *joined = &d->lets->joined;
  bool joins = forest_joins(r), begins = !joins || r->local;
  d->split_off = !r->split.on;
  if (begins) {
    CHECK(cudaMemsetAsync(&d->answers->targets, 0, offsetof(struct answers, histogram) - offsetof(struct answers, targets), d->stream));
    CHECK(cudaEventRecord(d->from, d->stream));
    if (keeps_work(r)) LAUNCH(d, keep_work, blocks_for(d->p.n, THREADS), THREADS, d->p.work, d->p.n);
  } else if (r->last) {
    CHECK(cudaEventRecord(joined->rest_began, d->stream));
  }
  joined->apart = joins && !(r->local && r->last);
  d->few_listed = 0;
  device_stall(d);
  for (struct parting parting = {}; forest_next(d, r, &parting, &f);) {
    if (f.t.nodes >= NODES_MOST) fatal("%d tree nodes on one device, at most %d: use more ranks", f.t.nodes, NODES_MOST);
    if (r->kind == WALK_TOTAL || !r->split.on) full_walk(d, r, &f);
    if (r->split.on) hard_forces(d, r, &f);
    forest_walked(d, &f);
  }
  if (joins && !r->last) {
    if (!r->local) return;
    CHECK(cudaEventRecord(joined->first_done, d->stream));
    wait_for_walk(joined->first_done, r, true);
    return;
  }
  CHECK(cudaEventRecord(d->to, d->stream));
  wait_for_walk(d->to, r, false);
  d->owed = tally;
  if (!r->later) device_ask(d);
}
