/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hard forces of a forest: from neighbour lists if there are any, else by a hard walk. */
#include <config.h>
#include "gpu/hard/hard.cuh"
#include "gpu/hard/neighbours.cuh"

/* most warps per multiprocessor of a walk that adds to forces: few groups are within R2 of LETs */
enum { NEAR_WARPS = 64 };

/* Queue the hard walk of groups, then of the single targets of groups and pieces that found too many nodes. The
 * heaviest groups are divided into pieces, or all groups if there are few. In a walk that adds to hard forces, few
 * groups find sources. */
static void hard_stages(struct device *d, struct walk_job job, int cells, int how)
{
  int64_t groups = walk_groups_count(d, &job), pieces = groups * (GROUP_MAX / HARD_PIECE), blocks = groups + groups / 2;
  int64_t max_blocks = job.adding != 0 ? (int64_t)NEAR_WARPS * d->multiprocessors : INT64_MAX;
  int few = groups <= FEW_GROUPS * d->multiprocessors;
  walk_items(d, &job, how, few ? CUT_ALL : CUT_HEAVIEST, HARD_PIECE, job.adding != 0);
  if (few) blocks = pieces;
  job.stage = job.items_stage;
  walk_hard_groups(d, &job, cells, how, blocks < max_blocks ? blocks : max_blocks);
  job.stage = 2;
  walk_hard_groups(d, &job, cells, how, (int64_t)PIECE_WARPS * d->multiprocessors);
}

/* Leave out the local tree, whose hard forces all targets already have: the walk adds those of LETs. */
static void skip_local(struct walk_job *job)
{
  job->root += job->local_roots;
  job->roots -= job->local_roots;
  job->local_roots = 0;
  job->adding = INT32_MAX;
}

void hard_forces(struct device *d, const struct walk_request *request, const struct forest *forest)
{
  int cells = cells_of(d, &request->mac), how = request->kind == WALK_HARD ? WALK_MOVING : WALK_STILL;
  struct walk_job job = walk_job_of(d, request, forest, cells);
  /* lists contain sources of the local tree alone */
  int32_t unlisted = d->targets.groups == 0                     ? 0
                     : forest->root || d->softening.classes > 1 ? -1
                                                                : neighbours_forces(d, request);
  if (forest->local_roots > 0) skip_local(&job);
  if (unlisted == 0 || job.roots == 0) return;
  walk_set_split(&job, &request->split, unit_of(d));
  if (request->kind == WALK_HARD) walk_choose_active(d, &job, forest);
  else walk_choose_all(d, &job, INT32_MAX);
  if (unlisted > 0) walk_choose_listed(d, &job, d->hard.unlisted.at, unlisted);
  walk_place(d, &job);
  job.reach = hard_reach(d, &request->mac);
  walk_hard_supergroups(d, &job, cells, how);
  hard_stages(d, job, cells, how);
}
