/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of the CPU backend, and the verbs on whole particle sets. */
#include <config.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "backend/energy_verbs.h"
#include "backend/neighbour_list_verbs.h"
#include "backend/let_verbs.h"
#include "backend/link.h"
#include "backend/probe.h"
#include "base/fault.h"
#include "base/memory.h"
#include "cpu/device.h"
#include "particles/sampling.h"
#include "particles/timeline.h"
#include "tree/cuboids.h"

/* --- the device -------------------------------------------------------------------------------------------------- */

static int probe(char *why, size_t size)
{
  (void)why;
  (void)size;
  return 1;
}

static void describe(FILE *out)
{
  fprintf(out, "  cpu      %d thread%s per rank, %d processor%s, pair loops: %s\n", omp_get_max_threads(),
          plural(omp_get_max_threads()), omp_get_num_procs(), plural(omp_get_num_procs()), walk_isa_choose()->name);
}

static struct device *open_device(const struct device_config *config)
{
  struct device *d = memory_alloc("device", sizeof *d);
  d->config = *config;
  d->softening = softening_make(config->softening, config->softening_of);
  d->config.softening = d->softening.eps[0];
  d->isa = walk_isa_choose();
  d->threads = omp_get_max_threads();
  d->targets.group_width = HUGE_VAL;
  for (int kind = 0; kind < LET_KINDS; kind++) sparse_open(&d->let[kind], "let", config->ranks, sizeof(struct let));
  return d;
}

static void close_device(struct device *d)
{
  cpu_walk_free(d);
  cpu_let_free(d);
  memory_free(d->tree.node);
  memory_free(d->tree.motion);
  memory_free(d->tree.quad);
  memory_free(d->local.sources);
  memory_free(d->local.range);
  memory_free(d->local.soften);
  memory_free(d->targets.group);
  memory_free(d->local.histogram);
  memory_free(d->packed);
  memory_free(d->lent.star);
  memory_free(d->collisions.at);
  cpu_active_free(d);
  cpu_watch_free(d);
  cpu_energy_drop(d);
  memory_free(d->targets.group_of);
  memory_free(d->forest.sum);
  memory_free(d->forest.pairs);
  memory_free(d);
}

/* The backend takes the arrays over; nothing is copied. */
static void upload(struct device *d, struct particles *particles)
{
  d->p = *particles;
  d->by_level.valid = 0;
  particles_init(particles);
}

static void download(struct device *d, struct particles *particles)
{
  *particles = d->p;
  particles_init(&d->p);
}

static const struct particles *view(struct device *d) { return &d->p; }

static int64_t count(struct device *d) { return d->p.n; }

static void wait_for(struct device *d) { (void)d; }

static void record_event(struct device *d, int event) { d->event_time[event] = cpu_seconds(); }

static double between(struct device *d, int from, int to) { return d->event_time[to] - d->event_time[from]; }

/* --- sets -------------------------------------------------------------------------------------------------------- */

static void bounds(struct device *d, double horizon, double low[3], double high[3])
{
  const struct particles *p = &d->p;
  for (int c = 0; c < 3; c++) {
    double lowest = 1e300, highest = -1e300;
#pragma omp parallel for schedule(static) reduction(min : lowest) reduction(max : highest)
    for (int64_t i = 0; i < p->n; i++) {
      double x = p->pos[3 * i + c], there = x + horizon * p->vel[3 * i + c],
             pull = 0.5 * horizon * horizon * fabs(p->acc[3 * i + c]);
      lowest = fmin(lowest, fmin(x, there) - pull);
      highest = fmax(highest, fmax(x, there) + pull);
    }
    low[c] = lowest;
    high[c] = highest;
  }
}

static int64_t sample(struct device *d, uint64_t threshold, int sources, int64_t capacity, struct sample *out,
                      double *work)
{
  int64_t count = 0;
  for (int64_t i = 0; i < d->p.n && count < capacity; i++) {
    if (sampling_hash(d->p.id[i]) > threshold || (sources && !(d->p.mass[i] > 0))) continue;
    memcpy(out[count].pos, &d->p.pos[3 * i], sizeof out->pos);
    out[count].work = d->p.work[i];
    out[count++].id = d->p.id[i];
  }
  if (!work) return count;
  *work = 0;
  for (int64_t i = 0; i < d->p.n; i++) *work += d->p.work[i];
  return count;
}

static int64_t pack(struct device *d, const struct domain *domain, int self, int32_t tick, double tick_length,
                    int64_t *counts, void **buffer)
{
  struct particles *p = &d->p;
  int ranks = d->config.ranks;
  size_t bytes = particle_bytes();
  int32_t *owner_rank = memory_alloc("exchange", sizeof *owner_rank * (size_t)(p->n + 1));
  int64_t *place = memory_alloc("exchange", sizeof *place * (size_t)ranks), leaving = 0, kept = 0;
  memset(counts, 0, sizeof *counts * (size_t)ranks);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < p->n; i++) {
    double x[3];
    timeline_place(x, &p->pos[3 * i], &p->vel[3 * i], &p->acc_hard[3 * i],
                   tick > 0 ? (tick - p->tick[i]) * tick_length : 0);
    owner_rank[i] = domain_owner(domain, x);
  }
  for (int64_t i = 0; i < p->n; i++)
    if (owner_rank[i] != self) counts[owner_rank[i]]++;
  for (int r = 0; r < ranks; r++) {
    place[r] = leaving;
    leaving += counts[r];
  }
  memory_free(d->packed);
  d->packed = memory_alloc("exchange", bytes * (size_t)leaving);
  for (int64_t i = 0; i < p->n; i++) {
    if (owner_rank[i] != self) particles_pack(p, i, (char *)d->packed + bytes * (size_t)place[owner_rank[i]]++);
    else if (kept++ != i) particles_copy(p, kept - 1, p, i);
  }
  p->n = kept;
  memory_free(place);
  memory_free(owner_rank);
  *buffer = d->packed;
  return kept;
}

static void unpack(struct device *d, const void *buffer, int64_t count)
{
  struct particles *p = &d->p;
  size_t bytes = particle_bytes();
  if (p->n + count > p->capacity) particles_reserve(p, cpu_spare(p->n + count));
  for (int64_t k = 0; k < count; k++) particles_unpack(p, p->n + k, (const char *)buffer + bytes * (size_t)k);
  p->n += count;
}

static const struct backend_probe cpu_probe_verbs = {
    .count = probe,
    .describe = describe,
    .ceiling = cpu_ceiling,
    .direct = cpu_direct,
};

static const struct backend_exchange cpu_exchange_verbs = {
    .pack = pack,
    .unpack = unpack,
};

static const struct backend_let cpu_let_verbs = {
    .boxes = cpu_boxes,
    .summary = cpu_let_summary,
    .select = cpu_let_select,
    .sent = cpu_let_sent,
    .buffer = cpu_let_reserve,
    .attach = cpu_let_attach,
    .upper = cpu_let_upper,
    .clear = cpu_let_clear,
    .entries = cpu_let_entries,
    .updates.watch = cpu_let_watch,
    .updates.pack = cpu_let_update,
    .updates.take = cpu_let_take_update,
    .updates.bytes_max = cpu_let_update_bytes_max,
    .updates.bytes = cpu_let_update_bytes,
    .updates.apply = cpu_let_apply,
    .updates.violations = cpu_violations,
};

static const struct backend_energy cpu_energy_verbs = {
    .keep = cpu_energy_keep,
    .sums = cpu_energy_sums,
    .heavy = cpu_energy_heavy,
    .set = cpu_energy_set,
};

static const struct backend_neighbour_lists cpu_lists_verbs = {
    .has = cpu_lists_has,
    .halo = cpu_halo,
    .advance = cpu_lists_advance,
    .potential = cpu_lists_potential,
    .pair_kinetic = cpu_lists_pair_kinetic,
    .lent = cpu_lists_lent,
    .take_back = cpu_lists_take_back,
    .collisions = cpu_lists_collisions,
};

const struct backend backend_cpu = {
    .name = "cpu",
    .softens_by_type = 1,
    .methods = 1 << METHOD_GROUPS | 1 << METHOD_AUTO,
    .probe = &cpu_probe_verbs,
    .energy = &cpu_energy_verbs,
    .exchange = &cpu_exchange_verbs,
    .neighbour_lists = &cpu_lists_verbs,
    .let = &cpu_let_verbs,
    .open = open_device,
    .close = close_device,
    .upload = upload,
    .download = download,
    .view = view,
    .count = count,
    .sets.bounds = bounds,
    .sets.sample = sample,
    .sets.reduce = cpu_reduce,
    .tree.order = cpu_order,
    .tree.reorder = cpu_reorder,
    .tree.build = cpu_build,
    .tree.moments = cpu_moments,
    .tree.sources = cpu_sources,
    .tree.groups = cpu_groups,
    .tree.tune = cpu_tune,
    .forces.walk = cpu_walk,
    .forces.gravity = cpu_gravity,
    .forces.add_field = cpu_add_field,
    .forces.nearest = cpu_nearest,
    .steps.kick = cpu_kick,
    .steps.push = cpu_push,
    .steps.rate = cpu_rate,
    .steps.split_soft = cpu_split_soft,
    .steps.levels = cpu_levels,
    .steps.next_tick = cpu_next_tick,
    .steps.select = cpu_select,
    .steps.correct = cpu_correct,
    .steps.drift_to_end = cpu_drift_to_end,
    .steps.finish = cpu_finish,
    .steps.histogram = cpu_histogram,
    .clock.wait = wait_for,
    .clock.record_event = record_event,
    .clock.between = between,
};
