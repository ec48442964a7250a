/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Units whose steps the host ends (unit_mail.h): groups and hierarchies; where few places are active, or there are few
 * units, all of them, since a tick takes as long as its longest chain of operations. */
#ifndef GPU_UNIT_HOST_CUH
#define GPU_UNIT_HOST_CUH
#include "gpu/neighbour_lists/unit_steps.cuh"

#define HOSTED_ORBITS \
  1.0 /* where many units are active, pairs that are followed over more orbits in a step than this */
enum {
  MAIL_SLOTS = 2,    /* of a warp */
  WORDS_AT_ONCE = 8, /* that a lane has under way */
  POLL_NANOSECONDS = 100
};

/* many: whether many places are active. */
static __device__ int is_hosted(const struct units_job &job, int32_t root, int32_t now, int many)
{
  int32_t u = job.table.at[root];
  if (u < 0 || job.hosted_active < 0) return 0;
  const struct unit *unit = &job.table.unit[u];
  if (!many || unit->kind == UNIT_GROUP) return 1;
  if (unit->kind == UNIT_AVERAGED) return 0;
  const int2 t = job.loop.ticks[root];
  return unit_is_hierarchy(unit) || (now - max(t.x, t.y)) * job.loop.tick_length > HOSTED_ORBITS * unit->orbit.period;
}

/* --- copies by a warp --------------------------------------------------------------------------------------------- */

static __device__ void copy_words(void *to, const void *from, int bytes)
{
  const volatile double *source = (const volatile double *)from;
  for (int begin = lane_id(), words = bytes / 8; begin < words; begin += WORDS_AT_ONCE * LANES) {
    double word[WORDS_AT_ONCE];
#pragma unroll
    for (int k = 0; k < WORDS_AT_ONCE; k++)
      if (begin + k * (int)LANES < words) word[k] = source[begin + k * (int)LANES];
#pragma unroll
    for (int k = 0; k < WORDS_AT_ONCE; k++)
      if (begin + k * (int)LANES < words) ((double *)to)[begin + k * (int)LANES] = word[k];
  }
}

static __device__ int unit_bytes(int bodies)
{
  return (int)(offsetof(struct unit, body) + sizeof(struct unit_body) * (size_t)bodies);
}

/* As environment_of. */
static __device__ void post_environment(const struct units_job &job, const struct place_step &step, int32_t now,
                                        struct unit_environment *environment)
{
  const struct unit_field *field = &job.table.unit[job.table.at[step.place]].field;
  float own = job.table.source[step.place].factor;
  int k = lane_id();
  int32_t place = k < field->near_count ? field->near[k] : -1;
  lane_mask mask = warp_ballot(place >= 0 && job.table.root[place] == place);
  if (mask & lane_bit(k)) near_path(job, place, own, now, &environment->near[lane_count(mask & lanes_below())]);
  copy_words(environment->tide, field->tide_far, (int)sizeof environment->tide);
  copy_words(&environment->centre.motion, &job.loop.motion[2 * (int64_t)step.place + step.which],
             (int)sizeof environment->centre.motion);
  if (k > 0) return;
  environment->near_count = lane_count(mask);
  environment->root = step.place;
  environment->centre.t = time_of(job, step.from);
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static __device__ struct unit_mail_item *mail_item(const struct units_job &job, int slot)
{
  return &job.mail->item[((int)blockIdx.x * LOOP_WARPS + (int)threadIdx.x / LANES) * MAIL_SLOTS + slot];
}

/* The warp asks the host to end the step of the unit. Lane 0 gets the number of the request. */
DEVICE_CALL unsigned long long post_unit(const struct units_job &job, const struct place_step &step, int32_t now,
                                         int slot)
{
  struct unit_mail_item *item = mail_item(job, slot);
  int32_t u = job.table.at[step.place];
  const struct unit *unit = &job.table.unit[u];
  unsigned long long request = 0;
  post_environment(job, step, now, &item->environment);
  copy_words(&item->after, &job.table.field[u], (int)sizeof item->after);
  copy_words(&item->unit, unit, unit_bytes(unit->bodies));
  if (lane_id() == 0) {
    item->from = time_of(job, step.from);
    item->to = time_of(job, now);
    item->r1 = unit_r1_of(job, step.place);
  }
  system_fence();
  warp_sync();
  if (lane_id() == 0) {
    system_fence(); /* what the other lanes wrote too */
    request = atomicAdd(&job.table.numbers->requests, 1ull) + 1;
    *(volatile int64_t *)&job.mail->ring[request % UNIT_MAIL_RING] =
        (int64_t)(request << UNIT_MAIL_SLOT_BITS) | (item - job.mail->item);
    HOST_SERVES(job.mail);
  }
  warp_sync();
  return request;
}

/* The warp waits for the unit, and takes it back. Returns the parts of struct unit_end. */
DEVICE_CALL int take_unit_back(const struct units_job &job, int32_t now, int slot, unsigned long long request,
                               struct place_step *step)
{
  const struct unit_mail_item *item = mail_item(job, slot);
  struct unit *unit = &job.table.unit[job.table.at[step->place]];
  struct unit_end end = {};
  int bodies = 0;
  if (lane_id() == 0)
    for (int64_t done = -1; done >> UNIT_MAIL_BODY_BITS != (int64_t)request; pause_thread(POLL_NANOSECONDS)) {
      done = *(const volatile int64_t *)&item->done;
      bodies = (int)(done & ((1 << UNIT_MAIL_BODY_BITS) - 1));
    }
  system_fence();
  warp_sync();
  bodies = warp_shuffle(bodies, 0);
  copy_words(unit, &item->unit, unit_bytes(bodies));
  if (lane_id() == 0) {
    const volatile struct unit_end *said = &item->end;
    end.limit = said->limit;
    end.parts = said->parts;
    end.failed = said->failed;
  }
  warp_sync();
  if (lane_id() == 0) take_unit_end(job, now, end, step);
  return end.parts;
}

/* The host ends the step of the unit at `place`, the warp that of its centre. Lane 0 gets the parts of struct unit_end.
 */
DEVICE_CALL int end_hosted(const struct units_job &job, int32_t now, int align, int32_t place, const double *sum)
{
  struct place_step step;
  correct_place(job, now, place, sum, &step);
  unsigned long long request = post_unit(job, step, now, 0);
  int parts = take_unit_back(job, now, 0, request, &step);
  if (lane_id() == 0) {
    int level = keep_place(job, now, align, *status_of(job, place) & STATUS_LEVEL, &step);
    *status_of(job, place) = status_for(job, place, level);
  }
  warp_sync();
  return parts;
}
#endif
