/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The CPU backend's table, and the verbs about particle sets. */
#include <config.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device.h"
#include "cuboids.h"
#include "fault.h"
#include "memory.h"
#include "sampling.h"
#include "timeline.h"

void cpu_room(void **block, size_t *capacity, size_t bytes, const char *label)
{
  if (bytes <= *capacity) return;
  memory_free(*block);
  *capacity = bytes + bytes / 4;
  *block = memory_alloc(label, *capacity);
}

double cpu_seconds(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- instruction sets -------------------------------------------------------------------------------------------- */

static int runs_avx2(void)
{
#ifdef ESP_HAVE_X86_V3
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
#else
  return 0;
#endif
}

static int runs_avx512(void)
{
#ifdef ESP_HAVE_X86_V4
  return runs_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd");
#else
  return 0;
#endif
}

const struct walk_isa *walk_isa_choose(void)
{
  const char *asked = getenv("ESPALIER_SIMD");
  int most = !asked || !*asked || strcmp(asked, "avx512") == 0 ? 2 : strcmp(asked, "avx2") == 0 ? 1 : 0;
#ifdef ESP_HAVE_X86_V4
  if (most >= 2 && runs_avx512()) return &walk_isa_avx512;
#endif
#ifdef ESP_HAVE_X86_V3
  if (most >= 1 && runs_avx2()) return &walk_isa_avx2;
#endif
  (void)most, (void)runs_avx512;
  return &walk_isa_generic;
}

/* --- the device -------------------------------------------------------------------------------------------------- */

static int probe(char *why, size_t size)
{
  (void)why, (void)size;
  return 1;
}

static void describe(FILE *out)
{
  fprintf(out, "  cpu      %d thread%s per rank, %d processor%s, pair loops: %s\n", omp_get_max_threads(), plural(omp_get_max_threads()),
          omp_get_num_procs(), plural(omp_get_num_procs()), walk_isa_choose()->name);
}

static struct device *open_device(const struct device_config *config)
{
  struct device *d = memory_alloc("device", sizeof *d);
  d->config = *config;
  d->isa = walk_isa_choose();
  d->threads = omp_get_max_threads();
  d->group_width = HUGE_VAL;
  for (int kind = 0; kind < LET_KINDS; kind++) d->let[kind] = memory_alloc("let", sizeof **d->let * (size_t)config->ranks);
  return d;
}

static void close_device(struct device *d)
{
  cpu_walk_free(d);
  cpu_let_free(d);
  memory_free(d->tree.memory);
  memory_free(d->range);
  memory_free(d->group);
  memory_free(d->key);
  memory_free(d->permutation);
  memory_free(d->item[0]);
  memory_free(d->item[1]);
  memory_free(d->histogram);
  particles_free(&d->spare);
  memory_free(d->packed);
  cpu_active_free(d);
  cpu_watch_free(d);
  memory_free(d->group_of);
  memory_free(d->sum);
  memory_free(d);
}

/* The arrays change hands; nothing is copied. */
static void upload(struct device *d, struct particles *p)
{
  d->p = *p;
  d->by_level_valid = 0;
  particles_init(p);
}

static void download(struct device *d, struct particles *p)
{
  *p = d->p;
  particles_init(&d->p);
}

static const struct particles *view(struct device *d) { return &d->p; }

static int64_t count(struct device *d) { return d->p.n; }

static void wait_for(struct device *d) { (void)d; }

static void stamp(struct device *d, int stamp) { d->stamp[stamp] = cpu_seconds(); }

static double between(struct device *d, int from, int to) { return d->stamp[to] - d->stamp[from]; }

/* --- sets -------------------------------------------------------------------------------------------------------- */

static void bounds(struct device *d, double horizon, double low[3], double high[3])
{
  const struct particles *p = &d->p;
  for (int c = 0; c < 3; c++) {
    double least = 1e300, most = -1e300;
#pragma omp parallel for schedule(static) reduction(min : least) reduction(max : most)
    for (int64_t i = 0; i < p->n; i++) {
      double x = p->pos[3 * i + c], there = x + horizon * p->vel[3 * i + c], pull = 0.5 * horizon * horizon * fabs(p->acc[3 * i + c]);
      least = fmin(least, fmin(x, there) - pull);
      most = fmax(most, fmax(x, there) + pull);
    }
    low[c] = least;
    high[c] = most;
  }
}

static int64_t sample(struct device *d, uint64_t threshold, int64_t most, struct sample *out, double *work)
{
  int64_t count = 0;
  for (int64_t i = 0; i < d->p.n && count < most; i++) {
    if (sampling_hash(d->p.id[i]) > threshold) continue;
    memcpy(out[count].pos, &d->p.pos[3 * i], sizeof out->pos);
    out[count].work = d->p.work[i];
    out[count++].id = d->p.id[i];
  }
  if (!work) return count;
  *work = 0;
  for (int64_t i = 0; i < d->p.n; i++) *work += d->p.work[i];
  return count;
}

static int64_t pack(struct device *d, const struct domain *domain, int self, int32_t tick, double tick_length, int64_t *counts, void **buffer)
{
  struct particles *p = &d->p;
  int ranks = d->config.ranks;
  size_t bytes = particle_bytes();
  int32_t *home = memory_alloc("exchange", sizeof *home * (size_t)(p->n + 1));
  int64_t *place = memory_alloc("exchange", sizeof *place * (size_t)ranks), leaving = 0, kept = 0;
  memset(counts, 0, sizeof *counts * (size_t)ranks);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < p->n; i++) {
    double x[3];
    timeline_place(x, &p->pos[3 * i], &p->vel[3 * i], &p->acc_hard[3 * i], tick > 0 ? (tick - p->tick[i]) * tick_length : 0);
    home[i] = domain_home(domain, x);
  }
  for (int64_t i = 0; i < p->n; i++)
    if (home[i] != self) counts[home[i]]++;
  for (int r = 0; r < ranks; r++) {
    place[r] = leaving;
    leaving += counts[r];
  }
  memory_free(d->packed);
  d->packed = memory_alloc("exchange", bytes * (size_t)leaving);
  for (int64_t i = 0; i < p->n; i++) {
    if (home[i] != self)
      particles_pack(p, i, (char *)d->packed + bytes * (size_t)place[home[i]]++);
    else if (kept++ != i)
      particles_copy(p, kept - 1, p, i);
  }
  p->n = kept;
  memory_free(place);
  memory_free(home);
  *buffer = d->packed;
  return kept;
}

static void unpack(struct device *d, const void *buffer, int64_t count)
{
  struct particles *p = &d->p;
  size_t bytes = particle_bytes();
  if (p->n + count > p->capacity) particles_reserve(p, p->n + count + (p->n + count) / 8 + 16);
  for (int64_t k = 0; k < count; k++) particles_unpack(p, p->n + k, (const char *)buffer + bytes * (size_t)k);
  p->n += count;
}

const struct backend backend_cpu = {.name = "cpu",
                                    .methods = 1 << METHOD_GROUPS | 1 << METHOD_AUTO,
                                    .probe = probe,
                                    .describe = describe,
                                    .open = open_device,
                                    .close = close_device,
                                    .upload = upload,
                                    .download = download,
                                    .view = view,
                                    .count = count,
                                    .bounds = bounds,
                                    .sample = sample,
                                    .pack = pack,
                                    .unpack = unpack,
                                    .order = cpu_order,
                                    .reorder = cpu_reorder,
                                    .build = cpu_build,
                                    .moments = cpu_moments,
                                    .sources = cpu_sources,
                                    .groups = cpu_groups,
                                    .tune = cpu_tune,
                                    .boxes = cpu_boxes,
                                    .card = cpu_card,
                                    .let_select = cpu_let_select,
                                    .let_room = cpu_let_room,
                                    .let_attach = cpu_let_attach,
                                    .let_roots = cpu_let_roots,
                                    .let_clear = cpu_let_clear,
                                    .let_watch = cpu_let_watch,
                                    .let_update = cpu_let_update,
                                    .let_update_most = cpu_let_update_most,
                                    .let_apply = cpu_let_apply,
                                    .strays = cpu_strays,
                                    .walk = cpu_walk,
                                    .ceiling = cpu_ceiling,
                                    .direct = cpu_direct,
                                    .nearest = cpu_nearest,
                                    .kick_soft = cpu_kick_soft,
                                    .split_soft = cpu_split_soft,
                                    .levels = cpu_levels,
                                    .next_tick = cpu_next_tick,
                                    .hard_steps = cpu_hard_steps,
                                    .select = cpu_select,
                                    .correct = cpu_correct,
                                    .drift_to_end = cpu_drift_to_end,
                                    .finish = cpu_finish,
                                    .reduce = cpu_reduce,
                                    .histogram = cpu_histogram,
                                    .wait = wait_for,
                                    .stamp = stamp,
                                    .between = between};
