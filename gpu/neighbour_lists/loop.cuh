/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The loop over the ticks of a soft step. Each thread block owns some of the members: runs of MEMBER_RUN consecutive
 * ones, in turn, so that blocks have about the same number of active members at each tick. The bytes of status of a
 * block are consecutive.
 *
 * A member of level k is active at the multiples of TICKS / 2^k, so the active ones of a tick are those of the level to
 * which the tick is aligned, and deeper. */
#ifndef GPU_NEIGHBOUR_LISTS_LOOP_CUH
#define GPU_NEIGHBOUR_LISTS_LOOP_CUH
#include "gpu/neighbour_lists/neighbour_lists.cuh"

enum {
  LOOP_THREADS = 512,
  LOOP_WARPS = LOOP_THREADS / LANES,
  STATUS_BYTES = 16,                        /* status bytes that a thread reads at once */
  LOOP_PIECE = LOOP_THREADS * STATUS_BYTES, /* members that a block searches at once for active ones */
  MEMBER_RUN = 8,
  SWIFT_AIM = 64,
  MEMBERS_A_BLOCK = 64, /* fewer need fewer blocks */
  PREDICT_MIN = 256,
  PREDICT_PART = 4, /* at least so many active members, one of so many: all are predicted first */
  STATUS_LEVEL = 31,
  STATUS_CLASS = 5 /* mask of the level; shift of the class */
};

/* Classes of members by the length of their lists: how many lanes sum up a list. */
enum { CLASSES = 4, CLASS_QUAD = 0, CLASS_HALF = 1, CLASS_WARP = 2, CLASS_BLOCK = 3, QUAD_LANES = 4, HALF_LANES = 16 };
enum { QUAD_MAX = 4, HALF_MAX = 32, WARP_MAX = 512 }; /* entries of lists */

struct loop_job {
  struct list_sum sum;
  const struct list_source *source;
  struct hermite_motion *motion;
  int2 *ticks;
  struct list_body *predicted; /* members at the present tick, where all are predicted */
  int32_t *steps;
  uint8_t *status;
  const int32_t *who;          /* particles of the members; the first `own` particles are of this rank */
  int32_t own, members, owned; /* owned: places of a block in `status`, a multiple of STATUS_BYTES */
  double soft_step, tick_length, eta;
  double background, mean_gm; /* factor on G m / factor^2 of a particle, m at least the mean mass */
  int swift_aim;
  unsigned long long ticks_max; /* the loop is left after so many; 0: never */
  struct loop_numbers *numbers;
};

/* Queue the loop. The motions are those at tick 0, and `status` has the first levels; afterwards all are at TICKS. */
void list_loop(struct device *d, enum step_integrator integrator, const struct loop_job *job, int blocks);
/* Thread blocks of the loop for a number of members. */
int list_loop_blocks(struct device *d, enum step_integrator integrator, int64_t members);

/* The job of the loop over the members of the present lists, with room for all of them. */
struct loop_job list_open_loop(struct device *d, const struct list_request *request, int blocks);

/* Begin the sum for a target of mass gm, which is zero. */
static __device__ __forceinline__ void open_sum(const struct loop_job &, struct hermite_force *, double) {}
static __device__ __forceinline__ void open_sum(const struct loop_job &job, struct pair_kick *kick, double gm)
{
  kick->gm = gm;
  kick->eta = job.eta;
}

static __device__ __forceinline__ int list_class(int32_t count)
{
  return count <= QUAD_MAX ? CLASS_QUAD : count <= HALF_MAX ? CLASS_HALF : count <= WARP_MAX ? CLASS_WARP : CLASS_BLOCK;
}

/* Where the status of a member is, with `blocks` blocks; and the member at a place of a block (it may be beyond the
 * last one). */
static __device__ __forceinline__ int64_t status_place(int32_t m, int32_t owned, int blocks)
{
  int32_t run = m / MEMBER_RUN;
  return (int64_t)(run % blocks) * owned + run / blocks * MEMBER_RUN + m % MEMBER_RUN;
}
static __device__ __forceinline__ int32_t member_at(int32_t place, int block, int blocks)
{
  return (place / MEMBER_RUN * blocks + block) * MEMBER_RUN + place % MEMBER_RUN;
}

/* The background acceleration in the step of a particle. */
static __device__ __forceinline__ double background_of(const struct loop_job &job, double gm, float factor)
{
  return job.background * fmax(gm, job.mean_gm) / ((double)factor * factor);
}

/* The least level of steps not longer than `wanted`, from `level` on. Sets *deeper where that is deeper than
 * LIST_LEVEL_MAX. */
static __device__ __forceinline__ int level_for(double soft_step, double wanted, int level, bool *deeper)
{
  double step = soft_step / (double)(1 << level);
  while (!(step <= wanted) && level < LIST_LEVEL_MAX) {
    step *= 0.5;
    level++;
  }
  *deeper = !(step <= wanted);
  return level;
}

static __device__ __forceinline__ struct hermite_motion load_hermite_motion(const struct hermite_motion *at)
{
  union {
    struct hermite_motion m;
    int4 part[sizeof(struct hermite_motion) / sizeof(int4)];
  } copy;
  const int4 *from = (const int4 *)at;
  for (int k = 0; k < (int)(sizeof copy.part / sizeof copy.part[0]); k++) copy.part[k] = from[k];
  return copy.m;
}

/* Lock `worst` and note a step that is shorter than those noted before. The neighbour is the nearest of the list. */
template <class sources>
static __device__ void note_collapse(struct loop_numbers *numbers, const struct list_sum &sum, const sources &at,
                                     int32_t m, const double x[3], double wanted)
{
  int32_t nearest = -1;
  double least = 1e300;
  atomicAdd(&numbers->collapsed, 1ull);
  if (wanted > *(volatile double *)&numbers->wanted) return;
  const struct member_list l = sum.list[m];
  for (int32_t k = 0; k < l.count; k++) {
    double y[3], u[3], gm, r2 = 0;
    float factor;
    at.read(sum.entry[l.begin + k], y, u, &gm, &factor);
    for (int c = 0; c < 3; c++) r2 += (y[c] - x[c]) * (y[c] - x[c]);
    if (r2 < least) {
      least = r2;
      nearest = sum.entry[l.begin + k];
    }
  }
  while (atomicCAS(&numbers->lock, 0, 1) != 0) continue;
  device_fence();
  volatile struct loop_numbers *v = numbers;
  if (wanted < v->wanted || (wanted == v->wanted && m < v->who)) {
    v->wanted = wanted;
    v->distance = sqrt(least);
    v->who = m;
    v->neighbour = nearest;
    for (int c = 0; c < 3; c++) v->at[c] = x[c];
  }
  device_fence();
  atomicExch(&numbers->lock, 0);
}
#endif
