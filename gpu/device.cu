/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The device: what is there, opening and closing, and particles coming and going. */
#include <config.h>
#include <math.h>
#include <string.h>

#include "device.cuh"
#include "let.cuh"
#include "memory.h"
#include "walk.cuh"

enum { CAPABILITY_LEAST = 8 };   /* warp-wide reductions of integers */

static __global__ void nothing(void) {}   /* to learn whether kernels can run */

static int capability(int device)
{
  int major = 0;
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  return major;
}

/* Why no device answers: the driver is the first thing that may be missing, and version 0 stands for none. */
static void say_no_device(cudaError_t status, char *why, size_t size)
{
  int driver = 0, runtime = 0;
  cudaError_t asked = cudaDriverGetVersion(&driver);
  if (asked == cudaSuccess && driver == 0)
    snprintf(why, size, "there is no NVIDIA driver (or it is not visible: a container needs its libcuda.so)");
  else if (status == cudaErrorInsufficientDriver && asked == cudaSuccess && cudaRuntimeGetVersion(&runtime) == cudaSuccess)
    snprintf(why, size, "the NVIDIA driver is for CUDA up to %d.%d, and this build uses %d.%d: a newer driver is needed", driver / 1000,
             driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
  else
    snprintf(why, size, "there is no CUDA device (%s)", cudaGetErrorString(status));
}

int gpu_probe(char *why, size_t size)
{
  struct cudaFuncAttributes attributes;
  int count = 0, good = 0;
  cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    say_no_device(status, why, size);
    count = 0;
  }
  for (int k = 0; k < count; k++) good += capability(k) >= CAPABILITY_LEAST;
  if (good < count && good == 0) snprintf(why, size, "no CUDA device has compute capability %d.0", CAPABILITY_LEAST);
  if (good > 0 && (status = cudaFuncGetAttributes(&attributes, nothing)) != cudaSuccess) {
    snprintf(why, size, "the CUDA device does not run the compiled kernels, see --with-cuda-arch (%s)", cudaGetErrorString(status));
    good = 0;
  }
  cudaGetLastError();   /* what went wrong was said */
  return good;
}

void gpu_describe(FILE *out)
{
  struct cudaDeviceProp prop;
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) return;
  for (int k = 0; k < count && cudaGetDeviceProperties(&prop, k) == cudaSuccess; k++)
    fprintf(out, "  cuda     device %d: %s, compute capability %d.%d, %d multiprocessors, %.1f GiB%s\n", k, prop.name,
            prop.major, prop.minor, prop.multiProcessorCount,
            (double)prop.totalGlobalMem / 1073741824.0, prop.major < CAPABILITY_LEAST ? " (too old)" : "");
}

/* The device for a rank of a node: those that are good for it are dealt out in turn. A process has one device. */
static int choose_device(int node_rank)
{
  int count, good[64], n = 0;
  CHECK(cudaGetDeviceCount(&count));
  for (int k = 0; k < count && n < 64; k++)
    if (capability(k) >= CAPABILITY_LEAST) good[n++] = k;
  if (n == 0) fatal("no CUDA device has compute capability %d.0", CAPABILITY_LEAST);
  CHECK(cudaSetDevice(good[node_rank % n]));
  return good[node_rank % n];
}

int gpu_room(int node_rank, double *all, double *left)
{
  size_t bytes = 0, empty = 0;
  choose_device(node_rank);
  if (cudaMemGetInfo(&empty, &bytes) != cudaSuccess) return -1;
  *all = (double)bytes;
  *left = (double)empty;
  return 0;
}

void gpu_identify(int node_rank, struct device_identity *id)
{
  struct cudaDeviceProp prop;
  int device = choose_device(node_rank);
  memset(id, 0, sizeof *id);
  CHECK(cudaGetDeviceProperties(&prop, device));
  CHECK(cudaDeviceGetPCIBusId(id->place, (int)sizeof id->place, device));
  memcpy(id->id, &prop.uuid, sizeof id->id);
  snprintf(id->name, sizeof id->name, "%.60s", prop.name);
}

void gpu_bypass(struct device *d, int on) { d->bypass = on; }

struct device *gpu_open(const struct device_config *config)
{
  struct device *d = (struct device *)memory_alloc("device", sizeof *d);
  int device = choose_device(config->node_rank);
  d->config = *config;
  d->group_width = HUGE_VAL;
  d->few_pieces = few_pieces_asked();
  CHECK(cudaDeviceGetAttribute(&d->multiprocessors, cudaDevAttrMultiProcessorCount, device));
  CHECK(cudaStreamCreateWithFlags(&d->stream, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&d->beside, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&d->permuted, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&d->copied, cudaEventDisableTiming));
  CHECK(cudaEventCreate(&d->from));
  CHECK(cudaEventCreate(&d->to));
  for (int k = 0; k < STAMPS; k++) CHECK(cudaEventCreate(&d->stamp[k]));
  d->answers = (struct answers *)device_alloc("device", sizeof *d->answers);
  CHECK(cudaMemsetAsync(d->answers, 0, sizeof *d->answers, d->stream));
  CHECK(cudaMallocHost(&d->told, sizeof *d->told));
  CHECK(cudaMallocHost(&d->level_told, PARTS_MOST * sizeof d->part->levels.begin));
  device_lets_open(d);
  return d;
}

/* The array of a field. */
static char **array_of(const struct particles *p, const struct particle_field *f) { return (char **)((char *)(uintptr_t)p + f->offset); }

static void free_particles(struct particles *p)
{
  for (int f = 0; f < particle_field_count; f++)
    device_free("device particles", *array_of(p, &particle_fields[f]), particle_fields[f].bytes * (size_t)p->capacity);
  particles_init(p);
}

void device_particles_room(struct device *d, struct particles *p, int64_t n)
{
  if (n <= p->capacity) return;
  free_particles(p);
  p->capacity = d->config.ranks > 1 ? with_slack(n) : n;   /* one rank keeps its particles */
  for (int f = 0; f < particle_field_count; f++)
    *array_of(p, &particle_fields[f]) = (char *)device_alloc("device particles", particle_fields[f].bytes * (size_t)p->capacity);
}

static void copy_particles(struct device *d, const struct particles *to, const struct particles *from, int64_t n, enum cudaMemcpyKind kind)
{
  device_copied(d);
  for (int f = 0; f < particle_field_count && n > 0; f++) {
    const struct particle_field *field = &particle_fields[f];
    CHECK(cudaMemcpyAsync(*array_of(to, field), *array_of(from, field), field->bytes * (size_t)n, kind, d->stream));
  }
  gpu_wait(d);
}

void device_particles_grow(struct device *d, int64_t n)
{
  if (n <= d->p.capacity) return;
  device_particles_room(d, &d->spare, n);
  copy_particles(d, &d->spare, &d->p, d->p.n, cudaMemcpyDeviceToDevice);
  struct particles grown = d->spare;
  grown.n = d->p.n;
  d->spare = d->p;
  d->p = grown;
}

void gpu_close(struct device *d)
{
  gpu_wait(d);
  device_lets_close(d);
  free_particles(&d->p);
  free_particles(&d->spare);
  particles_free(&d->mirror);
  for (int k = 0; k < 2; k++) {
    array_free(&d->key[k]);
    array_free(&d->place[k]);
  }
  array_free(&d->bucket_key);
  array_free(&d->bucket_place);
  array_free(&d->bucket_count);
  array_free(&d->scratch);
  array_free(&d->span);
  array_free(&d->tile_count);
  array_free(&d->tile_place);
  array_free(&d->node);
  array_free(&d->motion);
  array_free(&d->quad);
  array_free(&d->range);
  array_free(&d->cut);
  array_free(&d->big);
  array_free(&d->body);
  array_free(&d->course);
  array_free(&d->head);
  array_free(&d->head_count);
  array_free(&d->group_begin);
  array_free(&d->group);
  array_free(&d->home);
  array_free(&d->a_old);
  array_free(&d->listed);
  array_free(&d->active_group);
  array_free(&d->tile_next);
  neighbours_free(d);
  array_free(&d->active);
  array_free(&d->next);
  array_free(&d->family);
  array_free(&d->family_begin);
  array_free(&d->handed);
  array_free(&d->family_listed);
  array_free(&d->active_family);
  array_free(&d->piece);
  array_free(&d->single);
  array_free(&d->item);
  array_free(&d->few_piece);
  array_free(&d->present);
  array_free(&d->root);
  array_free(&d->points);
  array_free(&d->packed);
  array_free(&d->arriving);
  memory_free(d->packed_told);
  device_free("device", d->answers, sizeof *d->answers);
  CHECK(cudaFreeHost(d->told));
  CHECK(cudaFreeHost(d->level_told));
  CHECK(cudaEventDestroy(d->from));
  CHECK(cudaEventDestroy(d->to));
  for (int k = 0; k < STAMPS; k++) CHECK(cudaEventDestroy(d->stamp[k]));
  CHECK(cudaEventDestroy(d->permuted));
  CHECK(cudaEventDestroy(d->copied));
  CHECK(cudaStreamDestroy(d->beside));
  CHECK(cudaStreamDestroy(d->stream));
  memory_free(d);
}

void gpu_upload(struct device *d, struct particles *p)
{
  if (p->n > INT32_MAX / 2) fatal("%lld particles on one device, at most %d: use more ranks", (long long)p->n, INT32_MAX / 2);
  particles_free(&d->mirror);
  d->mirror = *p;
  particles_init(p);
  device_particles_room(d, &d->p, d->mirror.n);
  d->present_tick = -1;
  d->p.n = d->mirror.n;
  d->next_known = d->tiles_known = 0;
  neighbours_forget(d);
  copy_particles(d, &d->p, &d->mirror, d->p.n, cudaMemcpyHostToDevice);
}

const struct particles *gpu_view(struct device *d)
{
  if (d->mirror.capacity < d->p.n) particles_reserve(&d->mirror, with_slack(d->p.n));
  d->mirror.n = d->p.n;
  copy_particles(d, &d->mirror, &d->p, d->p.n, cudaMemcpyDeviceToHost);
  return &d->mirror;
}

void gpu_download(struct device *d, struct particles *p)
{
  gpu_view(d);
  *p = d->mirror;
  particles_init(&d->mirror);
  d->p.n = 0;
}

int64_t gpu_count(struct device *d) { return d->p.n; }

void gpu_wait(struct device *d)
{
  device_copied(d);
  CHECK(cudaStreamSynchronize(d->stream));
}

void gpu_stamp(struct device *d, int stamp) { CHECK(cudaEventRecord(d->stamp[stamp], d->stream)); }

double gpu_between(struct device *d, int from, int to)
{
  float milliseconds = 0;
  CHECK(cudaEventElapsedTime(&milliseconds, d->stamp[from], d->stamp[to]));
  return 1e-3 * milliseconds;
}

const struct answers *device_ask(struct device *d)
{
  CHECK(cudaMemcpyAsync(d->told, d->answers, sizeof *d->told, cudaMemcpyDeviceToHost, d->stream));
  gpu_wait(d);
  d->fast_told = 1;
  if (d->owed) walk_told(d);
  return d->told;
}
