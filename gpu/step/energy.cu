/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verbs for energies: sums of the potentials of a WALK_POTENTIAL (gpu/step/forces.cu) beside those of forces, and
 * heavy particles. */
#include <config.h>
#include <string.h>

#include "gpu/device/device.cuh"
#include "gpu/device/reduce.cuh"
#include "gpu/device/select.cuh"

enum { SLICES = 64, COLUMNS = 2 * PARTICLE_TYPES }; /* thread blocks for a batch; differences and masses by type */

void energy_state_free(struct energy_state *state)
{
  array_free(&state->fine);
  array_free(&state->unused);
  array_free(&state->kept);
}

void gpu_energy_keep(struct device *d)
{
  float *kept = array_reserve(&d->energy.kept, "device energies", d->p.n);
  device_wait_for_copy(d);
  if (d->p.n > 0) CHECK(runtime_copy(kept, d->p.pot, sizeof *kept * (size_t)d->p.n, ON_DEVICE, d->stream));
  d->energy.has_kept = 1;
}

/* --- sums -------------------------------------------------------------------------------------------------------- */

struct energy_job {
  struct particles p;
  const struct group *group;
  int32_t groups, stride;
  const float *fine, *kept; /* kept may be NULL */
  double limit;
};

/* Block b takes slice b / ENERGY_BATCHES of batch b % ENERGY_BATCHES, each warp one group after another. */
static __global__ void __launch_bounds__(THREADS)
    energy_rows(const __grid_constant__ struct energy_job job, double *rows)
{
  double sum[COLUMNS];
  for (int k = 0; k < COLUMNS; k++) sum[k] = 0;
  int32_t batch = (int32_t)blockIdx.x % ENERGY_BATCHES, slice = (int32_t)blockIdx.x / ENERGY_BATCHES,
          warps = THREADS / LANES;
  int64_t first = batch + (int64_t)ENERGY_BATCHES * (slice * warps + (int32_t)threadIdx.x / LANES);
  for (int64_t g = first * job.stride; g < job.groups; g += (int64_t)ENERGY_BATCHES * SLICES * warps * job.stride) {
    for (int32_t i = job.group[g].begin + lane_id(); i < job.group[g].end; i += LANES) {
      double m = job.p.mass[i], difference = (double)job.fine[i] - job.p.pot[i];
      int type = job.p.type[i];
      if (m > job.limit) continue;
      if (job.kept) difference += job.kept[i];
      for (int t = 0; t < PARTICLE_TYPES; t++) { /* constant indices, which keep the sums in registers */
        sum[t] += t == type ? m * difference : 0;
        sum[PARTICLE_TYPES + t] += t == type ? m : 0;
      }
    }
  }
  reduce_block<add_op>(sum, rows + (int64_t)blockIdx.x * COLUMNS);
}

void gpu_energy_sums(struct device *d, double limit, struct potential_sums *sums)
{
  static double row[SLICES * ENERGY_BATCHES][COLUMNS];
  struct energy_state *e = &d->energy;
  memset(sums, 0, sizeof *sums);
  if (e->stride > 0 && d->p.n > 0) {
    const struct energy_job job = {d->p,      d->targets.group.at, d->targets.groups,
                                   e->stride, e->fine.at,          e->soft && e->has_kept ? e->kept.at : NULL,
                                   limit};
    double *rows = (double *)array_reserve(&d->work.scratch, "device scratch", (int64_t)sizeof row);
    LAUNCH(d, energy_rows, SLICES * ENERGY_BATCHES, THREADS, job, rows);
    CHECK(runtime_copy(row, rows, sizeof row, TO_HOST, d->stream));
    gpu_wait(d);
    for (int k = 0; k < SLICES * ENERGY_BATCHES; k++)
      for (int t = 0; t < PARTICLE_TYPES; t++) {
        sums->difference[k % ENERGY_BATCHES][t] += row[k][t];
        sums->mass[k % ENERGY_BATCHES][t] += row[k][PARTICLE_TYPES + t];
      }
  }
  energy_state_free(e);
  e->stride = e->has_kept = 0;
}

/* --- heavy particles --------------------------------------------------------------------------------------------- */

struct is_heavy {
  const float *mass;
  double limit;
  __device__ bool operator()(int32_t i) const { return mass[i] > limit; }
};

static __global__ void take_heavy(struct particles particles, const int32_t *chosen, int32_t n,
                                  struct heavy_particle *out)
{
  int32_t k = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (k >= n) return;
  int64_t i = chosen[k];
  struct heavy_particle h = {{particles.pos[3 * i], particles.pos[3 * i + 1], particles.pos[3 * i + 2]},
                             particles.id[i],
                             i,
                             particles.mass[i],
                             particles.type[i]};
  out[k] = h;
}

int gpu_energy_heavy(struct device *d, double limit, struct heavy_particle *heavy)
{
  if (d->p.n == 0) return 0;
  const struct is_heavy rule = {d->p.mass, limit};
  device_wait_for_copy(d);
  int32_t *chosen = array_reserve(&d->order.place[0], "device order", d->p.n);
  select_numbers(d, rule, 0, d->p.n, chosen);
  int32_t count = device_read_results(d)->count;
  if (count > HEAVY_MAX) fatal("%d particles are heavier than %g, more than %d", (int)count, limit, (int)HEAVY_MAX);
  if (count == 0) return 0;
  struct heavy_particle *taken =
      (struct heavy_particle *)array_reserve(&d->work.scratch, "device scratch", count * (int64_t)sizeof *taken);
  LAUNCH(d, take_heavy, 1, THREADS, d->p, chosen, count, taken);
  CHECK(runtime_copy(heavy, taken, sizeof *heavy * (size_t)count, TO_HOST, d->stream));
  gpu_wait(d);
  return count;
}

/* As an argument of the kernel it needs no memory that outlives the call. */
struct potentials_set {
  int64_t at[HEAVY_MAX];
  float pot[HEAVY_MAX];
};

static __global__ void set_potentials(float *pot, const __grid_constant__ struct potentials_set some, int n)
{
  if ((int)threadIdx.x < n) pot[some.at[threadIdx.x]] = some.pot[threadIdx.x];
}

void gpu_energy_set(struct device *d, int n, const struct heavy_particle *heavy, const double *pot)
{
  struct potentials_set some = {};
  for (int k = 0; k < n; k++) {
    some.at[k] = heavy[k].at;
    some.pot[k] = (float)pot[k];
  }
  if (n > 0) LAUNCH(d, set_potentials, 1, THREADS, d->p.pot, some, n);
}
