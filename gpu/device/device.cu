/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The device: probing, opening and closing, upload and download of particles, waits and events. */
#include <config.h>
#include <math.h>
#include <string.h>

#include "backend/probe.h"
#include "base/memory.h"
#include "gpu/device/device.cuh"

enum { CAPABILITY_MIN = 8 }; /* warp-wide reductions of integers */

static __global__ void empty_kernel(void) {} /* tells whether kernels can run */

static int capability(int device)
{
  int major = 0;
  runtime_capability(&major, device);
  return major;
}

/* The reason why there is no device. The driver may be missing, which version 0 means, or too old. */
static void describe_no_device(runtime_error status, char *why, size_t size)
{
  int driver = 0, runtime = 0;
  runtime_error queried = runtime_driver_version(&driver);
  if (queried == RUNTIME_SUCCESS && driver == 0)
    snprintf(why, size, "there is no NVIDIA driver (or it is not visible: a container needs its libcuda.so)");
  else if (status == RUNTIME_OLD_DRIVER && queried == RUNTIME_SUCCESS && runtime_version(&runtime) == RUNTIME_SUCCESS)
    snprintf(why, size,
             "the NVIDIA driver is for CUDA up to %d.%d, and this build uses %d.%d: a newer driver is needed",
             driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
  else snprintf(why, size, "there is no CUDA device (%s)", runtime_error_text(status));
}

int gpu_probe(char *why, size_t size)
{
  int count = 0, good = 0;
  runtime_error status = runtime_device_count(&count);
  if (status != RUNTIME_SUCCESS || count == 0) {
    describe_no_device(status, why, size);
    count = 0;
  }
  for (int k = 0; k < count; k++) good += capability(k) >= CAPABILITY_MIN;
  if (good < count && good == 0)
    snprintf(why, size, "no " RUNTIME_NAME " device has compute capability %d.0", CAPABILITY_MIN);
  if (good > 0 && (status = runtime_try_kernel(empty_kernel)) != RUNTIME_SUCCESS) {
    snprintf(why, size, "the " RUNTIME_NAME " device does not run the compiled kernels, which are for %s (%s)",
             ESP_GPU_TARGETS, runtime_error_text(status));
    good = 0;
  }
  runtime_last_error(); /* the error is reported in `why`: clear it */
  return good;
}

void gpu_describe(FILE *out)
{
  runtime_properties prop;
  int count = 0;
  if (runtime_device_count(&count) != RUNTIME_SUCCESS) return;
  for (int k = 0; k < count && runtime_device_properties(&prop, k) == RUNTIME_SUCCESS; k++)
    fprintf(out, "  %-8s device %d: %s, compute capability %d.%d, %d multiprocessors, %.1f GiB%s\n", ESP_GPU_NAME, k,
            prop.name, prop.major, prop.minor, prop.multiProcessorCount, (double)prop.totalGlobalMem / 1073741824.0,
            prop.major < CAPABILITY_MIN ? " (too old)" : "");
}

/* Choose the device of a rank: the usable devices of a node are assigned to its ranks in turn. A process has one
 * device. */
static int choose_device(int node_rank)
{
  int count, good[64], n = 0;
  CHECK(runtime_device_count(&count));
  for (int k = 0; k < count && n < 64; k++)
    if (capability(k) >= CAPABILITY_MIN) good[n++] = k;
  if (n == 0) fatal("no " RUNTIME_NAME " device has compute capability %d.0", CAPABILITY_MIN);
  CHECK(runtime_set_device(good[node_rank % n]));
  return good[node_rank % n];
}

int gpu_memory(int node_rank, double *all, double *left)
{
  size_t bytes = 0, empty = 0;
  choose_device(node_rank);
  if (runtime_memory(&empty, &bytes) != RUNTIME_SUCCESS) return -1;
  *all = (double)bytes;
  *left = (double)empty;
  return 0;
}

void gpu_identify(int node_rank, struct device_identity *id)
{
  runtime_properties prop;
  int device = choose_device(node_rank);
  memset(id, 0, sizeof *id);
  CHECK(runtime_device_properties(&prop, device));
  CHECK(runtime_bus_id(id->place, (int)sizeof id->place, device));
  CHECK(runtime_identity(id->id, &prop, device));
  snprintf(id->name, sizeof id->name, "%.60s", prop.name);
}

void gpu_bypass(struct device *d, int on) { d->bypass = on; }

struct device *gpu_open(const struct device_config *config)
{
  struct device *d = (struct device *)memory_alloc("device", sizeof *d);
  int device = choose_device(config->node_rank);
  d->config = *config;
  d->softening = softening_make(config->softening, config->softening_of);
  d->config.softening = d->softening.eps[0];
  if (d->softening.classes > 1) d->config.method = METHOD_GROUPS; /* the other methods have one softening */
  d->targets.group_width = HUGE_VAL;
  walk_state_open(&d->walk);
  CHECK(runtime_multiprocessors(&d->multiprocessors, device));
  CHECK(runtime_stream_create(&d->stream));
  CHECK(runtime_stream_create(&d->copy.stream));
  CHECK(runtime_event_create_untimed(&d->copy.permuted));
  CHECK(runtime_event_create_untimed(&d->copy.copied));
  CHECK(runtime_event_create_untimed(&d->work.sampled));
  CHECK(runtime_event_create(&d->timing.from));
  CHECK(runtime_event_create(&d->timing.to));
  for (int k = 0; k < DEVICE_EVENTS; k++) CHECK(runtime_event_create(&d->timing.event[k]));
  d->device_results = (struct device_results *)device_alloc("device", sizeof *d->device_results);
  CHECK(runtime_set_bytes(d->device_results, 0, sizeof *d->device_results, d->stream));
  CHECK(runtime_alloc_host(&d->host_results, sizeof *d->host_results));
  CHECK(runtime_alloc_host(&d->tree.host_level_begin, PARTS_MAX * sizeof d->tree.part->levels.begin));
  list_state_open(&d->lists);
  device_lets_open(d);
  return d;
}

/* The array of a particle field. */
static char **array_of(const struct particles *particles, const struct particle_field *field)
{
  return (char **)((char *)(uintptr_t)particles + field->offset);
}

static void free_particles(struct particles *particles)
{
  for (int f = 0; f < particle_field_count; f++)
    device_free("device particles", *array_of(particles, &particle_fields[f]),
                particle_fields[f].bytes * (size_t)particles->capacity);
  particles_init(particles);
}

void device_particles_reserve(struct device *d, struct particles *particles, int64_t n)
{
  if (n <= particles->capacity) return;
  free_particles(particles);
  /* the number of particles of a single rank is constant */
  particles->capacity = d->config.ranks > 1 ? with_slack(n) : n;
  for (int f = 0; f < particle_field_count; f++)
    *array_of(particles, &particle_fields[f]) =
        (char *)device_alloc("device particles", particle_fields[f].bytes * (size_t)particles->capacity);
}

static void copy_particles(struct device *d, const struct particles *to, const struct particles *from, int64_t n,
                           runtime_direction kind)
{
  device_wait_for_copy(d);
  for (int f = 0; f < particle_field_count && n > 0; f++) {
    const struct particle_field *field = &particle_fields[f];
    CHECK(runtime_copy(*array_of(to, field), *array_of(from, field), field->bytes * (size_t)n, kind, d->stream));
  }
  gpu_wait(d);
}

void device_particles_grow(struct device *d, int64_t n)
{
  if (n <= d->p.capacity) return;
  device_particles_reserve(d, &d->copy.spare, n);
  copy_particles(d, &d->copy.spare, &d->p, d->p.n, ON_DEVICE);
  struct particles grown = d->copy.spare;
  grown.n = d->p.n;
  d->copy.spare = d->p;
  d->p = grown;
}

void gpu_close(struct device *d)
{
  gpu_wait(d);
  device_lets_close(d);
  free_particles(&d->p);
  free_particles(&d->copy.spare);
  particles_free(&d->copy.mirror);
  order_state_free(&d->order);
  tree_state_free(&d->tree);
  source_state_free(&d->sources);
  target_state_free(&d->targets);
  active_state_free(&d->active);
  walk_state_free(&d->walk);
  hard_state_free(&d->hard);
  list_state_free(&d->lists);
  exchange_state_free(&d->exchange);
  step_state_free(&d->step);
  energy_state_free(&d->energy);
  array_free(&d->work.scratch);
  array_free(&d->work.points);
  pinned_free(&d->work.samples);
  device_free("device", d->device_results, sizeof *d->device_results);
  CHECK(runtime_free_host(d->host_results));
  CHECK(runtime_event_destroy(d->work.sampled));
  CHECK(runtime_event_destroy(d->timing.from));
  CHECK(runtime_event_destroy(d->timing.to));
  for (int k = 0; k < DEVICE_EVENTS; k++) CHECK(runtime_event_destroy(d->timing.event[k]));
  CHECK(runtime_event_destroy(d->copy.permuted));
  CHECK(runtime_event_destroy(d->copy.copied));
  CHECK(runtime_stream_destroy(d->copy.stream));
  CHECK(runtime_stream_destroy(d->stream));
  memory_free(d);
}

void gpu_upload(struct device *d, struct particles *particles)
{
  if (particles->n > INT32_MAX / 2)
    fatal("%lld particles on one device, at most %d: use more ranks", (long long)particles->n, INT32_MAX / 2);
  particles_free(&d->copy.mirror);
  d->copy.mirror = *particles;
  particles_init(particles);
  device_particles_reserve(d, &d->p, d->copy.mirror.n);
  d->sources.present_tick = -1;
  d->p.n = d->copy.mirror.n;
  step_state_invalidate(&d->step);
  neighbours_invalidate(&d->hard);
  copy_particles(d, &d->p, &d->copy.mirror, d->p.n, TO_DEVICE);
}

const struct particles *gpu_view(struct device *d)
{
  if (d->copy.mirror.capacity < d->p.n) particles_reserve(&d->copy.mirror, with_slack(d->p.n));
  d->copy.mirror.n = d->p.n;
  copy_particles(d, &d->copy.mirror, &d->p, d->p.n, TO_HOST);
  return &d->copy.mirror;
}

void gpu_download(struct device *d, struct particles *particles)
{
  gpu_view(d);
  *particles = d->copy.mirror;
  particles_init(&d->copy.mirror);
  d->p.n = 0;
}

int64_t gpu_count(struct device *d) { return d->p.n; }

void gpu_wait(struct device *d)
{
  device_wait_for_copy(d);
  CHECK(runtime_stream_sync(d->stream));
}

void gpu_record_event(struct device *d, int device_event)
{
  CHECK(runtime_event_record(d->timing.event[device_event], d->stream));
}

double gpu_between(struct device *d, int from, int to)
{
  float milliseconds = 0;
  CHECK(runtime_event_sync(d->timing.event[to])); /* next_tick does not wait where its number is read already */
  CHECK(runtime_event_milliseconds(&milliseconds, d->timing.event[from], d->timing.event[to]));
  return 1e-3 * milliseconds;
}

const struct device_results *device_read_results(struct device *d)
{
  CHECK(runtime_copy(d->host_results, d->device_results, sizeof *d->host_results, TO_HOST, d->stream));
  gpu_wait(d);
  d->results_read++;
  d->tree.fast_results_valid = 1;
  if (d->walk.pending_tally) walk_complete_tally(d);
  return d->host_results;
}
