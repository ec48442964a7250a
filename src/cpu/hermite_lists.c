/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Neighbour lists for the hard part. Particles are sorted into cubic cells that are wide enough for all pairs of slow particles; the few
 * fast ones, which may cross cells within the soft step, are compared with all particles along their path. Particles without mass have lists,
 * and are in none. */
#include <config.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cpu/device.h"
#include "cpu/hermite.h"

#define NOWHERE 1e18f     /* position of a particle that is in no list */
#define SLOW_REACH 0.2    /* least displacement, in units of the widest R2, of a fast particle */
enum { FAST_PART = 32, FAST_MIN = 64, AXIS_BITS = 21,
       SPARE = 32 };   /* at most a particle in FAST_PART, or FAST_MIN of them, are fast; elements
                     * beyond the end that wide loops may touch */

/* A particle in the order of cells. */
struct placed {
  uint64_t cell;
  int32_t i;
};

/* A neighbour of a slow particle that was found from a fast one. */
struct found {
  int32_t of, neighbour;
};

struct grid {
  const struct hard_set *s;
  double horizon, reach;       /* widest reach of a pair: NEIGHBOUR_MARGIN times the widest R2 */
  double mean[3];              /* velocity; displacements are relative to it */
  double limit;                /* displacement above which particles are fast */
  double low[3], width;        /* of cells */
  float *moved;                /* [n] displacement within the horizon */
  struct placed *place;        /* [n] sorted */
  float *x[3];                 /* [n] positions in this order, relative to `low`; some more may be read */
  double rounding;             /* upper bound on the rounding error of a distance of these */
  int64_t *cell_first;         /* [cells + 1] */
  int64_t cells;
  struct found *fast;          /* sorted by `of` */
  int64_t fasts, fast_capacity;
  int64_t *fast_first;         /* [n + 1] */
};

/* Entries that a thread found, and where the list of each particle begins. */
struct store {
  int32_t *entry;
  int64_t n, capacity;
};

static int by_cell(const void *a, const void *b)
{
  const struct placed *x = a, *y = b;
  if (x->cell != y->cell) return x->cell < y->cell ? -1 : 1;
  return x->i < y->i ? -1 : x->i > y->i;
}

static int by_particle(const void *a, const void *b)
{
  const struct found *x = a, *y = b;
  return x->of != y->of ? (x->of < y->of ? -1 : 1) : (x->neighbour > y->neighbour) - (x->neighbour < y->neighbour);
}

static int by_index(const void *a, const void *b)
{
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

static int64_t axis_cell(const struct grid *g, int c, double x)
{
  double u = floor((x - g->low[c]) / g->width);
  return u < 0 ? 0 : u >= (1 << AXIS_BITS) ? (1 << AXIS_BITS) - 1 : (int64_t)u;
}

/* Cells are numbered along x first, so that neighbours along x follow each other. */
static uint64_t cell_of(const int64_t at[3]) { return ((uint64_t)at[2] << 2 * AXIS_BITS) | ((uint64_t)at[1] << AXIS_BITS) | (uint64_t)at[0]; }

/* The displacement above which at most the permitted number of particles is fast. */
static double fast_limit(const struct grid *g, double widest)
{
  double limit = SLOW_REACH * widest;
  int64_t allowed = g->s->n / FAST_PART + FAST_MIN;
  for (;; limit *= 2) {
    int64_t fast = 0;
#pragma omp parallel for schedule(static) reduction(+ : fast)
    for (int64_t i = 0; i < g->s->n; i++) fast += g->moved[i] > limit;
    if (fast <= allowed) return limit;
  }
}

static void place_particles(struct grid *g)
{
  const struct hard_set *s = g->s;
  for (int c = 0; c < 3; c++) {
    double low = 1e300, high = -1e300;
#pragma omp parallel for schedule(static) reduction(min : low) reduction(max : high)
    for (int64_t i = 0; i < s->n; i++) low = fmin(low, s->motion[i].x[c]), high = fmax(high, s->motion[i].x[c]);
    g->low[c] = low;
    g->width = fmax(g->width, (high - low) / ((1 << AXIS_BITS) - 2));
    g->rounding = fmax(g->rounding, 1e-6 * (high - low));
  }
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < s->n; i++) {
    int64_t at[3];
    for (int c = 0; c < 3; c++) at[c] = axis_cell(g, c, s->motion[i].x[c]);
    g->place[i] = (struct placed){cell_of(at), (int32_t)i};
  }
  qsort(g->place, (size_t)s->n, sizeof *g->place, by_cell);
  for (int64_t k = 0; k < s->n; k++) {
    if (k == 0 || g->place[k].cell != g->place[k - 1].cell) g->cell_first[g->cells++] = k;
    for (int c = 0; c < 3; c++) g->x[c][k] = s->gm[g->place[k].i] > 0 ? (float)(s->motion[g->place[k].i].x[c] - g->low[c]) : NOWHERE;
  }
  g->cell_first[g->cells] = s->n;
}

/* The first place whose cell is not below `cell`. */
static int64_t lower_bound(const struct grid *g, uint64_t cell)
{
  int64_t low = 0, high = g->cells;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (g->place[g->cell_first[middle]].cell < cell) low = middle + 1;
    else high = middle;
  }
  return g->cell_first[low];
}

static int are_neighbours(const struct grid *g, const struct hard_request *r, int64_t i, int64_t j)
{
  if (fminf(g->s->factor[i], g->s->factor[j]) == BOUND_ABSORBED) return 0;
  const struct hermite_motion *a = &g->s->motion[i], *b = &g->s->motion[j];
  double d[3], u[3], radius = NEIGHBOUR_MARGIN * (double)r->split.r2 * fmax(g->s->factor[i], g->s->factor[j]);
  for (int c = 0; c < 3; c++) d[c] = b->x[c] - a->x[c], u[c] = b->v[c] - a->v[c];
  return hermite_closest2(d, u, g->horizon) < radius * radius;
}

static void store_entry(struct store *t, int32_t j)
{
  if (t->n == t->capacity) {
    t->capacity = (int64_t)memory_grown((size_t)t->capacity, sizeof *t->entry);
    t->entry = memory_resize("hard lists", t->entry, sizeof *t->entry * (size_t)t->capacity);
  }
  t->entry[t->n++] = j;
}

/* Slow particles in the places [begin, end) that are neighbours of the slow particle i. near[end - begin + spare]: scratch. */
static void search_places(const struct grid *g, const struct hard_request *r, int32_t i, int64_t begin, int64_t end, int32_t *near,
                          struct store *out)
{
  double far = g->reach + g->moved[i] + g->limit + g->rounding;
  float at[3];
  for (int c = 0; c < 3; c++) at[c] = (float)(g->s->motion[i].x[c] - g->low[c]);
  int64_t count = g->s->isa->hard_near(g->x[0] + begin, g->x[1] + begin, g->x[2] + begin, end - begin, at, (float)(far * far), near);
  for (int64_t k = 0; k < count; k++) {
    int32_t j = g->place[begin + near[k]].i;
    if (j != i && g->moved[j] <= g->limit && are_neighbours(g, r, i, j)) store_entry(out, j);
  }
}

/* All particles in the places [begin, end) that are neighbours of i. */
static void search_all(const struct grid *g, const struct hard_request *r, int32_t i, int64_t begin, int64_t end, struct store *out)
{
  for (int64_t k = begin; k < end; k++)
    if (g->place[k].i != i && are_neighbours(g, r, i, g->place[k].i)) store_entry(out, g->place[k].i);
}

/* Neighbours of a fast particle: all particles along its path, slow and fast. */
static void search_path(const struct grid *g, const struct hard_request *r, int32_t i, struct store *out)
{
  const struct hermite_motion *m = &g->s->motion[i];
  int64_t low[3], high[3], rows = 1;
  for (int c = 0; c < 3; c++) {
    double there = m->x[c] + g->horizon * (m->v[c] - g->mean[c]), margin = g->reach + g->limit;
    low[c] = axis_cell(g, c, fmin(m->x[c], there) - margin);
    high[c] = axis_cell(g, c, fmax(m->x[c], there) + margin);
    if (c > 0) rows *= high[c] - low[c] + 1;
  }
  if (rows > g->s->n) {
    search_all(g, r, i, 0, g->s->n, out);
    return;
  }
  for (int64_t z = low[2]; z <= high[2]; z++)
    for (int64_t y = low[1]; y <= high[1]; y++) {
      int64_t begin = lower_bound(g, cell_of((int64_t[]){low[0], y, z})), end = lower_bound(g, cell_of((int64_t[]){high[0], y, z}) + 1);
      search_all(g, r, i, begin, end, out);
    }
}

/* All pairs of a fast particle, sorted by the particle whose list they are for. Fast particles beyond the path of another fast one, which
 * the other's cells do not cover, are found in a loop over all pairs of fast ones. */
static void search_fast(struct grid *g, const struct hard_request *r)
{
  struct store found = {0};
  int32_t *fast = memory_alloc("hard lists", sizeof *fast * (size_t)(g->s->n / FAST_PART + FAST_MIN + 1));
  int64_t count = 0;
  for (int64_t i = 0; i < g->s->n; i++)
    if (g->moved[i] > g->limit) fast[count++] = (int32_t)i;
  for (int64_t k = 0; k < count; k++) {
    int32_t i = fast[k];
    found.n = 0;
    search_path(g, r, i, &found);
    for (int64_t q = 0; q < count; q++)
      if (q != k && are_neighbours(g, r, i, fast[q])) store_entry(&found, fast[q]);
    for (int64_t e = 0; e < found.n; e++) {
      int32_t j = found.entry[e];
      if (g->fasts + 2 > g->fast_capacity) {
        g->fast_capacity = (int64_t)memory_grown((size_t)g->fast_capacity, sizeof *g->fast);
        g->fast = memory_resize("hard lists", g->fast, sizeof *g->fast * (size_t)g->fast_capacity);
      }
      if (g->s->gm[j] > 0) g->fast[g->fasts++] = (struct found){i, j};
      if (g->s->gm[i] > 0) g->fast[g->fasts++] = (struct found){j, i};
    }
  }
  if (g->fasts > 0) qsort(g->fast, (size_t)g->fasts, sizeof *g->fast, by_particle);
  int64_t kept = 0;
  for (int64_t k = 0; k < g->fasts; k++)
    if (kept == 0 || g->fast[k].of != g->fast[kept - 1].of || g->fast[k].neighbour != g->fast[kept - 1].neighbour) g->fast[kept++] = g->fast[k];
  g->fasts = kept;
  for (int64_t i = 0, k = 0; i <= g->s->n; i++) {
    while (k < g->fasts && g->fast[k].of < i) k++;
    g->fast_first[i] = k;
  }
  memory_free(found.entry);
  memory_free(fast);
}

static void need_scratch(struct store *near, int64_t n)
{
  if (near->capacity >= n + SPARE) return;
  memory_free(near->entry);
  near->capacity = 2 * n + SPARE;
  near->entry = memory_alloc("hard lists", sizeof *near->entry * (size_t)near->capacity);
}

/* The lists of the particles of a cell. near: scratch; count[i]: entries; at[i]: place of the first in the thread's store. */
static void search_cell(const struct grid *g, const struct hard_request *r, int64_t cell, struct store *near, struct store *out, int64_t *at, int64_t *count)
{
  int64_t first = g->cell_first[cell], end = g->cell_first[cell + 1], begin[9], stop[9], top = (1 << AXIS_BITS) - 1;
  uint64_t key = g->place[first].cell, mask = (uint64_t)top;
  int64_t x = (int64_t)(key & mask), y = (int64_t)((key >> AXIS_BITS) & mask), z = (int64_t)(key >> 2 * AXIS_BITS);
  int rows = 0;
  for (int64_t c = z - 1; c <= z + 1; c++)
    for (int64_t b = y - 1; b <= y + 1; b++) {
      if (c < 0 || b < 0 || c > top || b > top) continue;
      begin[rows] = lower_bound(g, cell_of((int64_t[]){x > 0 ? x - 1 : 0, b, c}));
      stop[rows] = lower_bound(g, cell_of((int64_t[]){x < top ? x + 1 : top, b, c}) + 1);
      need_scratch(near, stop[rows] - begin[rows]);
      rows++;
    }
  for (int64_t k = first; k < end; k++) {
    int32_t i = g->place[k].i;
    at[i] = out->n;
    if (g->moved[i] <= g->limit)
      for (int row = 0; row < rows; row++) search_places(g, r, i, begin[row], stop[row], near->entry, out);
    for (int64_t f = g->fast_first[i]; f < g->fast_first[i + 1]; f++) store_entry(out, g->fast[f].neighbour);
    count[i] = out->n - at[i];
    if (count[i] > 1) qsort(out->entry + at[i], (size_t)count[i], sizeof *out->entry, by_index);
  }
}

/* Search the cells with all threads, and put the lists one after the other. */
static void search_cells(const struct grid *g, struct hard_set *s, const struct hard_request *r)
{
  int threads = omp_get_max_threads();
  struct store *store = memory_alloc("hard lists", sizeof *store * 2 * (size_t)threads), *near = store + threads;
  int64_t *at = memory_alloc("hard lists", sizeof *at * (size_t)(s->n + 1)), *count = memory_alloc("hard lists", sizeof *count * (size_t)(s->n + 1));
  uint16_t *thread = memory_alloc("hard lists", sizeof *thread * (size_t)(s->n + 1));
  memset(store, 0, sizeof *store * 2 * (size_t)threads);
#pragma omp parallel for schedule(dynamic, 16)
  for (int64_t cell = 0; cell < g->cells; cell++) {
    int t = omp_get_thread_num();
    search_cell(g, r, cell, &near[t], &store[t], at, count);
    for (int64_t k = g->cell_first[cell]; k < g->cell_first[cell + 1]; k++) thread[g->place[k].i] = (uint16_t)t;
  }
  memory_free(s->first);
  memory_free(s->entry);
  s->first = memory_alloc("hard lists", sizeof *s->first * (size_t)(s->n + 1));
  s->first[0] = 0;
  for (int64_t i = 0; i < s->n; i++) s->first[i + 1] = s->first[i] + count[i];
  s->entry = memory_alloc("hard lists", sizeof *s->entry * (size_t)(s->first[s->n] + 1));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < s->n; i++) {
    if (count[i] > 0) memcpy(s->entry + s->first[i], store[thread[i]].entry + at[i], sizeof *s->entry * (size_t)count[i]);
  }
  for (int t = 0; t < 2 * threads; t++) memory_free(store[t].entry);
  memory_free(store);
  memory_free(at);
  memory_free(count);
  memory_free(thread);
}

static void set_displacements(struct grid *g)
{
  const struct hard_set *s = g->s;
  for (int64_t i = 0; i < s->n; i++)
    for (int c = 0; c < 3; c++) g->mean[c] += s->motion[i].v[c] / (double)s->n;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < s->n; i++) {
    double u[3];
    for (int c = 0; c < 3; c++) u[c] = s->motion[i].v[c] - g->mean[c];
    g->moved[i] = (float)(g->horizon * sqrt(hermite_modulus2(u)) * (1 + 1e-6));
  }
}

void hard_set_lists(struct hard_set *s, const struct hard_request *r, double horizon)
{
  double widest = (double)r->split.r2 * split_factor(&r->split, (float)r->largest_mass);
  size_t n = (size_t)(s->n + 1);
  struct grid g = {.s = s, .horizon = horizon, .reach = NEIGHBOUR_MARGIN * widest};
  g.moved = memory_alloc("hard lists", sizeof *g.moved * n);
  g.place = memory_alloc("hard lists", sizeof *g.place * n);
  g.cell_first = memory_alloc("hard lists", sizeof *g.cell_first * (n + 1));
  g.fast_first = memory_alloc("hard lists", sizeof *g.fast_first * n);
  for (int c = 0; c < 3; c++) g.x[c] = memory_alloc("hard lists", sizeof *g.x[c] * (n + SPARE));
  set_displacements(&g);
  g.limit = fast_limit(&g, widest);
  g.width = (g.reach + 2 * g.limit) * (1 + 1e-9);
  if (s->n > 0) place_particles(&g);
  search_fast(&g, r);
  search_cells(&g, s, r);
  memory_free(g.moved);
  memory_free(g.place);
  memory_free(g.cell_first);
  memory_free(g.fast_first);
  memory_free(g.fast);
  for (int c = 0; c < 3; c++) memory_free(g.x[c]);
}
