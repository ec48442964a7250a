/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The full walk of a forest: forces of all particles at a synchronisation, or of the active ones. Supergroups, then
 * groups, then pieces of heavy groups are walked. Hard walks use the same jobs (gpu/hard_walk). */
#include <config.h>
#include <float.h>
#include <math.h>

#include "gpu/walk/walk.cuh"

enum {
  FAR_CELLS = 1, /* 0: no cell is expanded, for comparison */
  HEAVY_NEAR = 1024,
  HEAVY_LEAVES = 384,
  HANDED = 1024,
  HANDED_MAX = 4096, /* see set_list_limits */
  LONGEST_PART = 4,  /* thread blocks for the longest groups: one for so many of all groups */
  MANY_ACTIVE = 8    /* all sources are predicted first if more than one in MANY_ACTIVE groups is active */
};

/* --- jobs -------------------------------------------------------------------------------------------------------- */

/* Error budgets of expansions, as fractions of the error that the criterion allows a cell. Errors of supergroups are
 * the same for all targets, so that they add up, and small budgets cost little there. Budgets are smaller for small
 * Delta, which requires small tails of the error distribution, and for quadrupoles, whose tails are small. */
static void set_budgets(const struct mac *mac, int cells, double budget[2])
{
  double fraction = mac_fraction_of_a(mac);
  int fine = cells == CELLS_QUADRUPOLE || (fraction > 0 && fraction < exp2(-9.5));
  budget[OF_SUPERGROUP] = fine ? 0.03 : 0.05;
  budget[OF_GROUP] = fine ? 0.1 : 0.25;
}

/* Constants of the test of far cells, for an expansion about a ball of radius b at distance d from its surface. Its
 * error G m b^4 / d^6 is at most the budget times Delta |a|, or times Delta for the multipole criterion, whose Delta is
 * itself an error. The opening angle allows a cell the fraction theta^2 (quadrupoles: theta^3) of its force as its
 * error: there (b/d)^4 is at most the budget times that. */
static void set_far_test(struct walk_job *job, const struct mac *mac, int cells, double unit)
{
  double budget[2];
  set_budgets(mac, cells, budget);
  for (int k = 0; k < 2; k++) {
    int angle = mac_is_fraction(mac);
    job->far_scale[k] =
        angle ? 0 : (float)fmin(fmax(mac->gravity / (budget[k] * mac->delta * unit * unit), FLT_MIN), FLT_MAX);
    job->far_min[k] = angle ? (float)fmax(1, pow(budget[k] * pow(mac->delta, mac->order + 1), -1.5)) : 1;
    if (!FAR_CELLS) job->far_min[k] = INFINITY;
  }
}

/* Softenings that differ. A far cell has one softening for all targets, so its error is at most 3/2 (eps_max^2 -
 * eps_min^2) / d^2 of its force; the budget of this is that of the expansion (set_view has the other criteria). Without
 * softening a class has that of softening_of. */
static void set_softenings(const struct device *d, struct walk_job *job, const struct mac *mac, int cells, double unit)
{
  double budget[2], least = softening_of(d);
  set_budgets(mac, cells, budget);
  for (int c = 0; c < SOFTENING_CLASSES; c++)
    job->class_eps2[c] = (float)pow(fmax(d->softening.eps[c], least) / unit, 2);
  job->eps2_spread = job->class_eps2[SOFTENING_CLASSES - 1] - job->class_eps2[0];
  for (int k = 0; k < 2; k++)
    job->far_spread[k] =
        mac_is_fraction(mac) ? (float)(1.5 * job->eps2_spread / (budget[k] * pow(mac->delta, mac->order + 1))) : 0;
}

/* Limits of the lengths of lists, which grow as Delta^-1/2 where Delta is a fraction of |a_old|. With the other
 * criteria there is no typical length. */
static void set_list_limits(struct walk_job *job, const struct mac *mac)
{
  double fraction = mac_fraction_of_a(mac), longer = fraction > 0 ? exp2(fmax(0, (-log2(fraction) - 9) / 2)) : 2;
  job->handed_max = (int32_t)fmin(HANDED * longer, HANDED_MAX);
  job->heavy_near = (int32_t)fmin(HEAVY_NEAR * longer, INT32_MAX / 2);
  job->heavy_leaves = (int32_t)fmin(HEAVY_LEAVES * longer, INT32_MAX / 2);
}

/* struct elapsed of a number of ticks; tick_length in user time, unit in user lengths. */
static struct elapsed time_since(int32_t ticks, double tick_length, double unit)
{
  double dt = ticks * tick_length;
  const struct elapsed s = {(float)(dt / unit), (float)(0.5 * dt * dt / unit)};
  return s;
}

struct walk_job walk_job_of(struct device *d, const struct walk_request *request, const struct forest *forest,
                            int cells)
{
  struct walk_job job = {forest->t, forest->root, forest->roots, forest->adding, d->p, d->tree.view.body};
  job.local_roots = forest->local_roots;
  double unit = unit_of(d);
  job.inverse_unit = (float)(1 / unit);
  job.spacing = (float)(d->lattice.spacing / unit);
  job.eps = (float)(softening_of(d) / unit);
  job.eps2 = job.eps * job.eps;
  job.quad_scale = job.inverse_unit * job.inverse_unit;
  job.per_psi = d->config.gravity / unit;
  job.per_a = job.per_psi / unit;
  job.a_floor = (float)request->a_floor;
  job.work_kept = request->kind != WALK_HARD && !walk_decays_work_first(request) ? WORK_KEPT : 1;
  job.criterion = request->mac.kind;
  set_far_test(&job, &request->mac, cells, unit);
  if (d->softening.classes > 1) set_softenings(d, &job, &request->mac, cells, unit);
  set_list_limits(&job, &request->mac);
  job.ages = forest->ticks.count;
  for (int k = 0; k < job.ages; k++) {
    job.elapsed[k] = time_since(request->tick - forest->ticks.tick[k], request->tick_length, unit);
    job.node_begin[k] = forest->ticks.begin[k];
  }
  job.tick = request->tick;
  job.tick_length = (float)request->tick_length;
  job.hard_only = request->kind == WALK_HARD;
  job.open_within = job.hard_only ? (float)(clearance_of(d) / unit) : 0;
  job.split_off = !request->split.on;
  job.count = d->device_results->walk.walked;
  job.stride = request->stride > 1 ? request->stride : 1;
  job.class_end = ITEM_CLASSES;
  return job;
}

/* --- targets ----------------------------------------------------------------------------------------------------- */

/* One thread takes one listed group and lists its supergroup, unless another group of it has. `listed` has the number
 * of the last walk that listed a supergroup. Their order has no effect on forces. */
static __global__ void list_supergroups(const struct group *group, const int32_t *list, int32_t groups, int32_t *listed,
                                        int32_t walk, int32_t *supergroup, int32_t *count)
{
  int32_t k = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (k >= groups) return;
  int32_t f = group[list[k]].supergroup;
  if (listed[f] != walk && atomicExch(&listed[f], walk) != walk) supergroup[atomicAdd(count, 1)] = f;
}

static void set_group_list(struct device *d, struct walk_job *job, const int32_t *list, int32_t groups)
{
  job->list = list;
  job->groups = groups;
  job->supergroup_list = d->active.supergroup.at;
  job->supergroup_count = &d->device_results->active_supergroups;
}

void walk_choose_listed(struct device *d, struct walk_job *job, const int32_t *list, int32_t groups)
{
  set_group_list(d, job, list, groups);
  job->supergroups = groups < d->targets.supergroups ? groups : d->targets.supergroups; /* an upper limit */
  d->active.supergroups = -1;
  device_zero(d, active_supergroups);
  LAUNCH(d, list_supergroups, blocks_for(groups, THREADS), THREADS, d->targets.group.at, list, groups,
         d->active.supergroup_listed.at, ++d->active.supergroup_selections, d->active.supergroup.at,
         &d->device_results->active_supergroups);
}

/* If many groups are active, use sources that are predicted to the tick. */
static void choose_sources(struct device *d, struct walk_job *job, const struct forest *forest)
{
  if (forest->root && !forest->whole) return; /* few targets interact with LETs */
  if (d->sources.present_tick != job->tick && d->active.groups <= d->targets.groups / MANY_ACTIVE) return;
  /* the position of a target must equal its position as a source, or it would exert a force on itself */
  job->target = job->t.body = device_present(d, job->tick, job->tick_length, forest->t.bodies);
  job->t.motion_state = NULL;
}

void walk_choose_active(struct device *d, struct walk_job *job, const struct forest *forest)
{
  if (d->active.supergroups < 0) {
    walk_choose_listed(d, job, d->active.group.at, d->active.groups);
  } else {
    set_group_list(d, job, d->active.group.at, d->active.groups);
    job->supergroups = d->active.supergroups;
  }
  choose_sources(d, job, forest);
}

/* Set the active groups, which are few, as targets, without supergroups. */
static void choose_few(struct device *d, struct walk_job *job, const struct forest *forest)
{
  job->list = d->active.group.at;
  job->groups = d->active.groups;
  job->group = d->targets.group.at;
  job->a_old = d->targets.a_old.at;
  if (!job->root) job->roots = device_tree_roots(d).count;
  choose_sources(d, job, forest);
}

void walk_choose_all(struct device *d, struct walk_job *job, int32_t supergroups)
{
  job->groups = d->targets.groups;
  job->supergroups = supergroups < d->targets.supergroups ? supergroups : d->targets.supergroups;
  job->t.motion_state = NULL;
}

/* One thread clears the counts of pieces and items, and sets the roots of the local trees if the walk starts there. */
static __global__ void begin_walk(struct device_results *results, int32_t *root, struct tree_roots roots)
{
  for (int k = 0; k < 4; k++) results->walk.pieces[k] = 0;
  for (int c = 0; c < ITEM_CLASSES; c++) results->items[c] = 0;
  results->handed_sum = 0;
  if (!root) return;
  for (int k = 0; k < roots.count; k++) root[k] = roots.root[k];
}

/* Most pieces, which are of groups of more than PIECE targets. There are two lists of them. */
static int64_t pieces_max(const struct device *d) { return 2 * d->p.n / (PIECE + 1) + 1; }

void walk_place(struct device *d, struct walk_job *job)
{
  int local = !job->root;
  const struct tree_roots roots = device_tree_roots(d);
  array_reserve(&d->walk.root, "device walk", BANDS_MAX);
  LAUNCH(d, begin_walk, 1, 1, d->device_results, local ? d->walk.root.at : NULL, roots);
  if (local) {
    job->root = d->walk.root.at;
    job->roots = roots.count;
  }
  job->supergroup = d->targets.supergroup.at;
  job->handed = array_reserve(&d->walk.handed, "device supergroups", (int64_t)d->targets.supergroups * job->handed_max);
  job->group = d->targets.group.at;
  job->group_index = d->targets.group_of.at;
  job->a_old = d->targets.a_old.at;
  job->pieces = array_reserve(&d->walk.piece, "device walk", 2 * pieces_max(d));
  job->singles = array_reserve(&d->walk.single, "device walk", d->p.n);
  job->single_step = 1;
  job->piece_count = d->device_results->walk.pieces;
  job->handed_sum = &d->device_results->handed_sum;
  job->items_stage = -1;
}

/* --- launch ------------------------------------------------------------------------------------------------------ */

int64_t walk_groups_count(const struct device *d, const struct walk_job *job)
{
  if (job->list || job->supergroups == d->targets.supergroups) return job->groups;
  return (int64_t)job->groups * job->supergroups / d->targets.supergroups + 1;
}

/* Queue the walk of the longest groups, class 0, on a stream of its own, with the pieces and single targets of the
 * heavy ones: after the other groups these would take a sixth of the time of a walk, since there are too few of them
 * for the device. */
static void walk_longest_beside(struct device *d, struct walk_job job, int cells, int how, int64_t groups)
{
  runtime_stream stream = d->stream;
  CHECK(runtime_event_record(d->walk.listed, stream));
  CHECK(runtime_stream_wait(d->walk.beside, d->walk.listed));
  d->stream = d->walk.beside;
  job.class_end = 1;
  for (job.stage = 0; job.stage < 3; job.stage++)
    walk_groups(d, &job, cells, how,
                job.stage == 0 ? groups / LONGEST_PART + 1 : (int64_t)PIECE_WARPS * d->multiprocessors);
  CHECK(runtime_event_record(d->walk.walked, d->stream));
  d->stream = stream;
}

/* Queue the walks of groups, of pieces of heavy groups, and of single targets of heavy pieces. Few groups are cut into
 * pieces first. */
static void walk_stages(struct device *d, struct walk_job job, int cells, int how)
{
  int64_t resident = (int64_t)PIECE_WARPS * d->multiprocessors, groups = walk_groups_count(d, &job);
  int cut = groups <= (int64_t)d->walk.few_groups * d->multiprocessors;
  walk_items(d, &job, how, cut ? CUT_ALL : CUT_NONE, PIECE, 0);
  if (!cut) {
    walk_longest_beside(d, job, cells, how, groups);
    job.class_begin = 1;
    job.pieces += pieces_max(d);
    job.piece_count += 2;
    job.singles += d->p.n - 1; /* both lists together have at most all particles */
    job.single_step = -1;
  }
  for (job.stage = job.items_stage; job.stage < 3; job.stage++) {
    int64_t max_blocks = groups * (job.stage == 1 ? GROUP_MAX / PIECE : GROUP_MAX);
    walk_groups(d, &job, cells, how,
                job.stage == job.items_stage ? (cut ? max_blocks : groups)
                : max_blocks < resident      ? max_blocks
                                             : resident);
  }
  if (!cut) CHECK(runtime_stream_wait(d->stream, d->walk.walked));
}

void walk_set_split(struct walk_job *job, const struct split *split, double unit)
{
  job->split_kernel = split->kernel;
  job->near = (float)(split->r2 / unit);
  job->y_slope = (float)(split->inverse * unit);
  job->y_start = (float)((double)split->r2 * split->inverse);
}

/* The weights of WALK_SOFT, or those that leave out pairs at distance 0. */
static void set_weights(struct walk_job *job, const struct walk_request *request, double unit)
{
  job->potential = request->potential;
  job->add_potential = request->add_potential;
  job->split_kernel = SPLIT_NONE;
  job->soft = request->kind == WALK_SOFT;
  if (!job->soft) return;
  walk_set_split(job, &request->split, unit);
  job->open_within = (float)(split_widest(&request->split) / unit);
  job->weights.per_mass = request->split.mass_scale > 0 ? 1 / request->split.mass_scale : 0;
  job->weights.y_slope = job->y_slope;
  job->weights.y_start = job->y_start;
  job->weights.core2 = (float)(split_core2(&request->split) / (unit * unit));
}

static int how_of(const struct device *d, const struct walk_request *request)
{
  if (request->kind == WALK_HARD) return WALK_MOVING;
  if (request->kind == WALK_SOFT || (request->potential && !(d->config.softening > 0))) return WALK_WEIGHTED;
  return request->potential ? WALK_STILL_POTENTIAL : WALK_STILL;
}

void walk_full(struct device *d, const struct walk_request *request, const struct forest *forest)
{
  int cells = cells_of(d, &request->mac), how = how_of(d, request);
  struct walk_job job = walk_job_of(d, request, forest, cells);
  if (how == WALK_WEIGHTED) set_weights(&job, request, unit_of(d));
  if (d->targets.groups == 0) return;
  if (how == WALK_MOVING && d->softening.classes < 2 && few_walk_applies(d)) {
    choose_few(d, &job, forest);
    few_walk(d, &job, cells);
    return;
  }
  if (request->kind == WALK_HARD) walk_choose_active(d, &job, forest);
  else walk_choose_all(d, &job, forest->supergroups);
  if (job.supergroups == 0) return;
  walk_place(d, &job);
  walk_supergroups(d, &job, cells, how);
  walk_stages(d, job, cells, how);
}
