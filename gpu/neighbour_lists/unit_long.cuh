/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Units whose members the host advances (unit_mail.h): groups, hierarchies, pairs that make many kicks in a step. */
#ifndef GPU_UNIT_LONG_CUH
#define GPU_UNIT_LONG_CUH
#include "gpu/neighbour_lists/unit_changes.cuh"

#define LONG_ORBITS 1.0 /* pairs that are followed over so many orbits in a step are advanced by the host */

static __device__ int is_long(const struct units_job &job, int32_t root, int32_t now)
{
  int32_t u = job.table.at[root];
  if (u < 0) return 0;
  const struct unit *unit = &job.table.unit[u];
  const int2 t = job.loop.ticks[root];
  return unit->kind == UNIT_GROUP || unit_is_hierarchy(unit) ||
         (unit->kind == UNIT_RESOLVED &&
          (now - max(t.x, t.y)) * job.loop.tick_length > LONG_ORBITS * unit->orbit.period);
}

static __device__ void defer_unit(const struct units_job &job, int round, int32_t root, const double *sum)
{
  struct unit_long *item = &job.table.longs[round][atomicAdd(&job.table.numbers->longs[round], 1)];
  for (int k = 0; k < 6; k++) item->sum[k] = sum[k];
  item->root = root;
}

/* The warp copies words. */
static __device__ void copy_words(void *to, const void *from, int bytes)
{
  for (int k = lane_id(); k < bytes / 8; k += LANES) ((double *)to)[k] = ((const volatile double *)from)[k];
  warp_sync();
}

/* The warp writes a unit with its environment. */
DEVICE_CALL void post_unit(const struct units_job &job, int32_t root, int32_t now, struct unit_mail_item *item)
{
  struct unit_environment environment;
  int which = newest(job, root);
  const int2 t = job.loop.ticks[root];
  if (lane_id() == 0) {
    environment_of(job, root, which, now, &environment);
    item->environment = environment;
    item->from = time_of(job, which ? t.y : t.x);
    item->to = time_of(job, now);
  }
  copy_words(&item->unit, &job.table.unit[job.table.at[root]], (int)sizeof item->unit);
}

/* The warp takes a unit back, and ends the step of its root. */
DEVICE_CALL void take_unit_back(const struct units_job &job, const struct unit_long *longs, int32_t now, int align,
                                int round, const struct unit_mail_item *item)
{
  int32_t root = longs->root, u = job.table.at[root];
  copy_words(&job.table.unit[u], &item->unit, (int)sizeof item->unit);
  if (lane_id() == 0) {
    struct unit *unit = &job.table.unit[u];
    int parts;
    if (((const volatile struct unit_mail_item *)item)->failed != 0 && !unit->failed) {
      unit->failed = 1;
      atomicAdd(&job.loop.numbers->collapsed, 1ull);
    }
    int level = end_step(job, now, align, root, *status_of(job, root) & STATUS_LEVEL, longs->sum, 1, &parts);
    *status_of(job, root) = status_for(job, root, level);
    propose_change(job, round, root, parts);
  }
  warp_sync();
}

/* One thread asks the host, and waits. */
static __device__ void ask_host(struct unit_mail *mail, int32_t count)
{
  volatile struct unit_mail *shared = mail;
  int32_t request = shared->request + 1;
  shared->count = count;
  system_fence();
  shared->request = request;
  system_fence();
  HOST_SERVES(mail);
  while (shared->done != request) continue;
  system_fence();
}

/* End the steps of the units that the tick has left to the host; all blocks have met since. */
DEVICE_CALL void end_long_units(const struct units_job &job, int32_t now, int align, int round, int32_t count,
                                unsigned *meetings)
{
  const struct unit_long *longs = job.table.longs[round];
  for (int32_t begin = 0; begin < count; begin += UNIT_MAIL_ITEMS) {
    int32_t part = min(count - begin, (int32_t)UNIT_MAIL_ITEMS);
    for (int32_t k = grid_warp(); k < part; k += grid_warps())
      post_unit(job, longs[begin + k].root, now, &job.mail->item[k]);
    system_fence();
    meet(job.loop, meetings);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
      job.table.numbers->longs[round] = 0;
      ask_host(job.mail, part);
    }
    meet(job.loop, meetings);
    for (int32_t k = grid_warp(); k < part; k += grid_warps())
      take_unit_back(job, &longs[begin + k], now, align, round, &job.mail->item[k]);
    meet(job.loop, meetings);
  }
}
#endif
