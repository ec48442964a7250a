/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LETs of substeps after their selection: which peers have which particle, updates that send corrections to them, and
 * detection of particles that leave their predicted trajectories. */
#include <config.h>
#include <math.h>
#include <string.h>

#include "backend/let_sizes.h"
#include "backend/let_verbs.h"
#include "base/fault.h"
#include "base/memory.h"
#include "cpu/device.h"
#include "particles/timeline.h"
#include "tree/essential.h"

/* Header of an update; the entries follow, then with `cells` nodes, motions and second moments. */
struct update_head {
  int64_t entries;
  int32_t tick, cells, nodes, quad;
  char pad[40];
};
_Static_assert(sizeof(struct update_head) == 64, "what follows is aligned");

struct update_entry {
  int32_t place, x[3];
  float v[3], a[3];
};

/* --- the watch --------------------------------------------------------------------------------------------------- */

void cpu_watch_free(struct device *d)
{
  struct let_watch *w = &d->watch;
  for (int c = 0; c < 3; c++) {
    memory_free(w->x[c]);
    memory_free(w->v[c]);
  }
  memory_free(w->limit);
  memory_free(w->level);
  memory_free(w->first);
  memory_free(w->sent_entry);
  *w = (struct let_watch){0};
}

static void reserve_entries(struct device *d, int64_t entries)
{
  struct let_watch *w = &d->watch;
  if (d->p.n >= w->capacity) {
    cpu_watch_free(d);
    w->capacity = cpu_spare(d->p.n);
    size_t n = (size_t)w->capacity;
    for (int c = 0; c < 3; c++) {
      w->x[c] = memory_alloc("let", sizeof **w->x * n);
      w->v[c] = memory_alloc("let", sizeof **w->v * n);
    }
    w->limit = memory_alloc("let", sizeof *w->limit * n);
    w->level = memory_alloc("let", n);
    w->first = memory_alloc("let", sizeof *w->first * n);
  }
  if (entries <= w->sent_entry_capacity) return;
  memory_free(w->sent_entry);
  if (entries > UINT32_MAX) fatal("LETs of this rank hold %lld particles: use more ranks", (long long)entries);
  w->sent_entry_capacity = cpu_spare(entries);
  w->sent_entry = memory_alloc("let", sizeof *w->sent_entry * (size_t)w->sent_entry_capacity);
}

/* Store positions and velocities: predicted trajectories are straight lines from here. */
static void record_trajectories(struct device *d)
{
  struct let_watch *w = &d->watch;
  const struct sources *s = &d->tree.source;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < d->p.n; i++) {
    double dt = (w->tick - s->tick[i]) * w->tick_length;
    const int32_t x[3] = {s->x[i], s->y[i], s->z[i]};
    const float v[3] = {s->vx[i], s->vy[i], s->vz[i]}, a[3] = {s->ax[i], s->ay[i], s->az[i]};
    for (int c = 0; c < 3; c++) {
      w->x[c][i] = lattice_clamp(x[c] + (v[c] + 0.5 * dt * a[c]) * dt * d->lattice.inverse);
      w->v[c][i] = (float)(v[c] + dt * a[c]);
    }
    w->level[i] = d->p.level[i];
  }
}

/* The limit of a particle is that of its leaf as a source, and that of its box as a target
 * (essential_box_deviation). */
static void note_limits(struct device *d, const struct let_request *r)
{
  struct let_watch *w = &d->watch;
#pragma omp parallel for schedule(static)
  for (int b = 0; b < d->boxes.count; b++) {
    float deviation = (float)essential_deviation(d->boxes.box[b].a_spread, r->a_typical, r->horizon);
    for (int kind = 0; kind < 2; kind++) {
      struct range r = cpu_box_range(d, b, kind);
      for (int32_t i = r.begin; i < r.end; i++) w->limit[i] = deviation;
    }
  }
#pragma omp parallel for schedule(static)
  for (int32_t k = 0; k < d->tree.nodes; k++) {
    const struct node *n = &d->tree.node[k];
    if (!(n->info & NODE_LEAF)) continue;
    float deviation = (float)essential_deviation(essential_pull(&d->tree.motion[k]), r->a_typical, r->horizon);
    for (int32_t i = n->first; i < n->first + (int32_t)(n->info & NODE_COUNT); i++)
      w->limit[i] = fminf(w->limit[i], deviation);
  }
}

static void note_entries(struct device *d)
{
  struct let_watch *w = &d->watch;
  memset(w->first, 0, sizeof *w->first * (size_t)(d->p.n + 1));
  const struct sparse *lets = &d->let[LET_STEP];
  for (int p = 0; p < lets->count; p++) {
    const struct let *l = sparse_find(lets, lets->used[p]);
    for (int32_t k = 0; k < l->sent.source.n; k++) w->first[l->source_from[k] + 1]++;
  }
  for (int64_t i = 0; i < d->p.n; i++) w->first[i + 1] += w->first[i];
  for (int p = 0; p < lets->count; p++) { /* first[i] runs to the end of its entries, and is moved back after */
    const struct let *l = sparse_find(lets, lets->used[p]);
    for (int32_t k = 0; k < l->sent.source.n; k++)
      w->sent_entry[w->first[l->source_from[k]]++] = (struct sent_entry){lets->used[p], k};
  }
  for (int64_t i = d->p.n; i > 0; i--) w->first[i] = w->first[i - 1];
  w->first[0] = 0;
}

void cpu_let_watch(struct device *d, const struct let_request *request)
{
  const struct sparse *lets = &d->let[LET_STEP];
  int64_t entries = 0;
  for (int p = 0; p < lets->count; p++)
    entries += ((const struct let *)sparse_find(lets, lets->used[p]))->sent.source.n;
  reserve_entries(d, entries);
  d->watch.on = 1;
  d->watch.tick = request->tick;
  d->watch.collected = -1; /* corrections at this very tick are still to come */
  d->watch.tick_length = request->tick_length;
  d->watch.end = request->tick + (int32_t)lrint(request->horizon / request->tick_length);
  record_trajectories(d);
  note_limits(d, request);
  note_entries(d);
}

int64_t cpu_violations(struct device *d, int64_t *late)
{
  const struct let_watch *w = &d->watch;
  const struct sources *s = &d->tree.source;
  int64_t violations = 0;
  if (!w->on) return 0;
  double gone = (d->active.tick - w->tick) * w->tick_length, left = (w->end - d->active.tick) * w->tick_length,
         h = d->lattice.spacing;
  for (int32_t k = 0; k < d->active.count; k++) {
    int32_t i = d->active.list[k];
    const int32_t x[3] = {s->x[i], s->y[i], s->z[i]};
    const float v[3] = {s->vx[i], s->vy[i], s->vz[i]}, a[3] = {s->ax[i], s->ay[i], s->az[i]};
    double now2 = 0, then2 = 0, limit = (double)w->limit[i] + 2 * h; /* both ends were rounded to the lattice */
    for (int c = 0; c < 3; c++) {
      double off = ((double)x[c] - w->x[c][i]) * h - w->v[c][i] * gone,
             then = off + (v[c] - w->v[c][i] + 0.5 * left * a[c]) * left;
      now2 += off * off;
      then2 += then * then;
    }
    violations += now2 > limit * limit || then2 > limit * limit;
    *late += now2 > limit * limit;
  }
  return violations;
}

/* --- updates ----------------------------------------------------------------------------------------------------- */

static void add_pending(struct let *let, int32_t entry)
{
  if (let->pendings == let->pending_capacity) {
    let->pending_capacity = (int64_t)memory_grown((size_t)let->pending_capacity, sizeof *let->pending);
    let->pending = memory_resize("let", let->pending, sizeof *let->pending * (size_t)let->pending_capacity);
  }
  let->pending[let->pendings++] = entry;
}

/* Append the corrected particles to the lists of all peers that have them. */
static void collect(struct device *d, int32_t tick)
{
  struct let_watch *w = &d->watch;
  if (w->collected == tick) return;
  w->collected = tick;
  for (int32_t k = 0; k < d->active.count; k++) {
    int32_t i = d->active.list[k];
    uint8_t level = d->p.level[i];
    for (uint32_t e = w->first[i]; e < w->first[i + 1]; e++) {
      struct let *l = sparse_find(&d->let[LET_STEP], w->sent_entry[e].peer);
      l->at_level[w->level[i]]--;
      l->at_level[level]++;
      add_pending(l, w->sent_entry[e].entry);
    }
    w->level[i] = level;
  }
}

static size_t cell_bytes(int64_t nodes, int quad)
{
  return (size_t)nodes * (sizeof(struct node) + sizeof(struct motion) + (quad ? sizeof(float[6]) : 0));
}

/* Entries end on a cache line, so that the cells behind them are aligned. */
static size_t aligned_entries(int64_t entries)
{
  return (sizeof(struct update_entry) * (size_t)entries + 63) / 64 * 64;
}

void cpu_let_take_update(struct device *d)
{
  d->update = NULL;
  d->update_capacity = 0;
}

static size_t own_update_bytes(int quad, int64_t entries, int64_t cells)
{
  return sizeof(struct update_head) + aligned_entries(entries) + (cells > 0 ? cell_bytes(cells, quad) : 0);
}

size_t cpu_let_update_bytes(const struct let_request *request, int64_t entries, int64_t cells)
{
  if (request->as_device) return let_device_update_bytes(cells, entries, let_device_quads(request));
  return own_update_bytes(request->mac->order == 2, entries, cells);
}

size_t cpu_let_update_bytes_max(struct device *d, int peer)
{
  const struct let *l = cpu_let(d, LET_STEP, peer);
  return l->sent.nodes == 0 ? 0 : own_update_bytes(d->local.quadrupole, l->sent.source.n, l->sent.nodes);
}

struct let_count cpu_let_entries(struct device *d, enum let_kind kind, int peer, int64_t *count)
{
  const struct let *l = cpu_let(d, kind, peer);
  if (kind == LET_STEP) memcpy(count, l->at_level, sizeof l->at_level);
  return (struct let_count){l->sent.nodes, l->sent.source.n};
}

static void pack_entries(const struct device *d, const struct let *let, struct update_entry *out)
{
  const struct sources *s = &d->tree.source;
  for (int64_t k = 0; k < let->pendings; k++) {
    int32_t i = let->source_from[let->pending[k]];
    out[k] = (struct update_entry){
        let->pending[k], {s->x[i], s->y[i], s->z[i]}, {s->vx[i], s->vy[i], s->vz[i]}, {s->ax[i], s->ay[i], s->az[i]}};
  }
}

static void pack_cells(const struct device *d, const struct let *let, char *at)
{
  struct node *node = (struct node *)at;
  struct motion *motion = (struct motion *)(node + let->sent.nodes);
  float(*quad)[6] = (float(*)[6])(motion + let->sent.nodes);
  for (int32_t k = 0; k < let->sent.nodes; k++) {
    node[k] = d->tree.node[let->node_from[k]];
    motion[k] = d->tree.motion[let->node_from[k]];
    if (d->local.quadrupole) memcpy(quad[k], d->tree.quad[let->node_from[k]], sizeof *quad);
  }
}

size_t cpu_let_update(struct device *d, int peer, int32_t tick, enum let_update_scope scope, int32_t *next,
                      void **message)
{
  int cells = scope == SCOPE_CELLS;
  struct let *l = cpu_let(d, LET_STEP, peer);
  collect(d, tick);
  *next = TICKS;
  for (int level = LEVELS - 2; level > 0 && *next == TICKS; level--)
    if (l->at_level[level] > 0) *next = timeline_after(tick, level);
  if (l->pendings == 0 && (scope == SCOPE_CORRECTED || l->sent.nodes == 0)) return 0;
  size_t entries = sizeof(struct update_entry) * (size_t)l->pendings, aligned = aligned_entries(l->pendings);
  size_t bytes = own_update_bytes(d->local.quadrupole, l->pendings, cells ? l->sent.nodes : 0);
  cpu_reserve(&d->update, &d->update_capacity, bytes, "let");
  struct update_head *head = d->update;
  *head = (struct update_head){
      .entries = l->pendings, .tick = tick, .cells = cells, .nodes = l->sent.nodes, .quad = d->local.quadrupole};
  pack_entries(d, l, (struct update_entry *)(head + 1));
  memset((char *)(head + 1) + entries, 0, aligned - entries);
  if (cells) pack_cells(d, l, (char *)(head + 1) + aligned);
  l->pendings = 0;
  *message = d->update;
  return bytes;
}

static void apply_cells(struct octree *octree, const char *at, int32_t tick)
{
  const struct node *node = (const struct node *)at;
  const struct motion *motion = (const struct motion *)(node + octree->nodes);
  const float(*quad)[6] = (const float(*)[6])(motion + octree->nodes);
  octree->motion_tick = tick;
  for (int32_t k = 0; k < octree->nodes; k++) {
    struct node *n = &octree->node[k];
    int32_t first = n->first;
    uint32_t info = n->info;
    *n = node[k];
    n->first = first;
    n->info = info;
    octree->motion[k] = motion[k];
    if (octree->quad) memcpy(octree->quad[k], quad[k], sizeof *quad);
  }
}

int64_t cpu_let_apply(struct device *d, int peer, const void *message, size_t bytes)
{
  struct octree *t = &cpu_let(d, LET_STEP, peer)->tree;
  const struct update_head *head = message;
  if (bytes < sizeof *head || (head->cells && head->nodes != t->nodes) || head->entries > t->source.n)
    fatal("an update of rank %d's LET (%zu bytes) is not of what it sent before", peer, bytes);
  size_t aligned = aligned_entries(head->entries);
  if (bytes != sizeof *head + aligned + (head->cells ? cell_bytes(head->nodes, head->quad) : 0))
    fatal("an update of rank %d's LET has %zu bytes, not those of %lld particles", peer, bytes,
          (long long)head->entries);
  const struct update_entry *e = (const struct update_entry *)(head + 1);
  struct sources *s = &t->source;
  for (int64_t k = 0; k < head->entries; k++) {
    int32_t i = e[k].place;
    s->x[i] = e[k].x[0];
    s->y[i] = e[k].x[1];
    s->z[i] = e[k].x[2];
    s->vx[i] = e[k].v[0];
    s->vy[i] = e[k].v[1];
    s->vz[i] = e[k].v[2];
    s->ax[i] = e[k].a[0];
    s->ay[i] = e[k].a[1];
    s->az[i] = e[k].a[2];
    s->tick[i] = head->tick;
  }
  if (head->cells) apply_cells(t, (const char *)(head + 1) + aligned, head->tick);
  return head->entries;
}
