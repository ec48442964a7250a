/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Neighbour lists for the hard part. Particles are sorted into cubic cells that are wide enough for all pairs of slow
 * particles; the few fast ones, which may cross cells within the soft step, are compared with all particles along their
 * path. Particles without mass have lists, and are in none. */
#include <config.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cpu/device.h"
#include "cpu/lists/neighbour_lists.h"
#include "gravity/bound_pair.h"

#define UNLISTED_POSITION 1e18f /* position of a particle that is in no list */
#define SLOW_REACH 0.2          /* least displacement, in units of the widest R2, of a fast particle */
enum {
  FAST_PART = 32,
  FAST_MIN = 64,
  AXIS_BITS = 21,
  SPARE = 32
}; /* at most a particle in FAST_PART, or FAST_MIN of them, are fast; elements
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
  const struct list_set *s;
  double horizon, reach; /* widest reach of a pair: NEIGHBOUR_MARGIN times the widest R2 */
  double mean[3];        /* velocity; displacements are relative to it */
  double limit;          /* displacement above which particles are fast */
  double low[3], width;  /* of cells */
  float *moved;          /* [n] displacement within the horizon */
  struct placed *place;  /* [n] sorted */
  float *x[3];           /* [n] positions in this order, relative to `low`; some more may be read */
  double rounding;       /* upper bound on the rounding error of a distance of these */
  int64_t *cell_first;   /* [cells + 1] */
  int64_t cells;
  struct found *fast; /* sorted by `of` */
  int64_t fasts, fast_capacity;
  int64_t *fast_first; /* [n + 1] */
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

static int64_t axis_cell(const struct grid *grid, int c, double x)
{
  double u = floor((x - grid->low[c]) / grid->width);
  return u < 0 ? 0 : u >= (1 << AXIS_BITS) ? (1 << AXIS_BITS) - 1 : (int64_t)u;
}

/* Cells are numbered along x first, so that neighbours along x follow each other. */
static uint64_t cell_of(const int64_t at[3])
{
  return ((uint64_t)at[2] << 2 * AXIS_BITS) | ((uint64_t)at[1] << AXIS_BITS) | (uint64_t)at[0];
}

/* The displacement above which at most the permitted number of particles is fast. */
static double fast_limit(const struct grid *grid, double widest)
{
  double limit = SLOW_REACH * widest;
  int64_t allowed = grid->s->n / FAST_PART + FAST_MIN;
  for (;; limit *= 2) {
    int64_t fast = 0;
#pragma omp parallel for schedule(static) reduction(+ : fast)
    for (int64_t i = 0; i < grid->s->n; i++) fast += grid->moved[i] > limit;
    if (fast <= allowed) return limit;
  }
}

static void place_particles(struct grid *grid)
{
  const struct list_set *s = grid->s;
  for (int c = 0; c < 3; c++) {
    double low = 1e300, high = -1e300;
#pragma omp parallel for schedule(static) reduction(min : low) reduction(max : high)
    for (int64_t i = 0; i < s->n; i++) {
      low = fmin(low, s->motion[i].x[c]);
      high = fmax(high, s->motion[i].x[c]);
    }
    grid->low[c] = low;
    grid->width = fmax(grid->width, (high - low) / ((1 << AXIS_BITS) - 2));
    grid->rounding = fmax(grid->rounding, 1e-6 * (high - low));
  }
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < s->n; i++) {
    int64_t at[3];
    for (int c = 0; c < 3; c++) at[c] = axis_cell(grid, c, s->motion[i].x[c]);
    grid->place[i] = (struct placed){cell_of(at), (int32_t)i};
  }
  qsort(grid->place, (size_t)s->n, sizeof *grid->place, by_cell);
  for (int64_t k = 0; k < s->n; k++) {
    if (k == 0 || grid->place[k].cell != grid->place[k - 1].cell) grid->cell_first[grid->cells++] = k;
    for (int c = 0; c < 3; c++)
      grid->x[c][k] =
          s->gm[grid->place[k].i] > 0 ? (float)(s->motion[grid->place[k].i].x[c] - grid->low[c]) : UNLISTED_POSITION;
  }
  grid->cell_first[grid->cells] = s->n;
}

/* The first place whose cell is not below `cell`. */
static int64_t lower_bound(const struct grid *grid, uint64_t cell)
{
  int64_t low = 0, high = grid->cells;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (grid->place[grid->cell_first[middle]].cell < cell) low = middle + 1;
    else high = middle;
  }
  return grid->cell_first[low];
}

static int are_neighbours(const struct grid *grid, const struct list_request *request, int64_t i, int64_t j)
{
  if (fminf(grid->s->factor[i], grid->s->factor[j]) == BOUND_ABSORBED) return 0;
  const struct hermite_motion *a = &grid->s->motion[i], *b = &grid->s->motion[j];
  double d[3], u[3],
      radius = NEIGHBOUR_MARGIN * (double)request->split.r2 * fmax(grid->s->factor[i], grid->s->factor[j]);
  for (int c = 0; c < 3; c++) {
    d[c] = b->x[c] - a->x[c];
    u[c] = b->v[c] - a->v[c];
  }
  return hermite_closest2(d, u, grid->horizon) < radius * radius;
}

static void store_entry(struct store *store, int32_t j)
{
  if (store->n == store->capacity) {
    store->capacity = (int64_t)memory_grown((size_t)store->capacity, sizeof *store->entry);
    store->entry = memory_resize("hard lists", store->entry, sizeof *store->entry * (size_t)store->capacity);
  }
  store->entry[store->n++] = j;
}

/* Slow particles in the places [begin, end) that are neighbours of the slow particle i. near[end - begin + spare]:
 * scratch. */
static void search_places(const struct grid *grid, const struct list_request *request, int32_t i, int64_t begin,
                          int64_t end, int32_t *near, struct store *out)
{
  double far = grid->reach + grid->moved[i] + grid->limit + grid->rounding;
  float at[3];
  for (int c = 0; c < 3; c++) at[c] = (float)(grid->s->motion[i].x[c] - grid->low[c]);
  int64_t count = grid->s->isa->list_near(grid->x[0] + begin, grid->x[1] + begin, grid->x[2] + begin, end - begin, at,
                                          (float)(far * far), near);
  for (int64_t k = 0; k < count; k++) {
    int32_t j = grid->place[begin + near[k]].i;
    if (j != i && grid->moved[j] <= grid->limit && are_neighbours(grid, request, i, j)) store_entry(out, j);
  }
}

/* All particles in the places [begin, end) that are neighbours of i. */
static void search_all(const struct grid *grid, const struct list_request *request, int32_t i, int64_t begin,
                       int64_t end, struct store *out)
{
  for (int64_t k = begin; k < end; k++)
    if (grid->place[k].i != i && are_neighbours(grid, request, i, grid->place[k].i)) store_entry(out, grid->place[k].i);
}

/* Neighbours of a fast particle: all particles along its path, slow and fast. */
static void search_path(const struct grid *grid, const struct list_request *request, int32_t i, struct store *out)
{
  const struct hermite_motion *m = &grid->s->motion[i];
  int64_t low[3], high[3], rows = 1;
  for (int c = 0; c < 3; c++) {
    double there = m->x[c] + grid->horizon * (m->v[c] - grid->mean[c]), margin = grid->reach + grid->limit;
    low[c] = axis_cell(grid, c, fmin(m->x[c], there) - margin);
    high[c] = axis_cell(grid, c, fmax(m->x[c], there) + margin);
    if (c > 0) rows *= high[c] - low[c] + 1;
  }
  if (rows > grid->s->n) {
    search_all(grid, request, i, 0, grid->s->n, out);
    return;
  }
  for (int64_t z = low[2]; z <= high[2]; z++)
    for (int64_t y = low[1]; y <= high[1]; y++) {
      int64_t begin = lower_bound(grid, cell_of((int64_t[]){low[0], y, z})),
              end = lower_bound(grid, cell_of((int64_t[]){high[0], y, z}) + 1);
      search_all(grid, request, i, begin, end, out);
    }
}

/* All pairs of a fast particle, sorted by the particle whose list they are for. Fast particles beyond the path of
 * another fast one, which the other's cells do not cover, are found in a loop over all pairs of fast ones. */
static void search_fast(struct grid *grid, const struct list_request *request)
{
  struct store found = {0};
  int32_t *fast = memory_alloc("hard lists", sizeof *fast * (size_t)(grid->s->n / FAST_PART + FAST_MIN + 1));
  int64_t count = 0;
  for (int64_t i = 0; i < grid->s->n; i++)
    if (grid->moved[i] > grid->limit) fast[count++] = (int32_t)i;
  for (int64_t k = 0; k < count; k++) {
    int32_t i = fast[k];
    found.n = 0;
    search_path(grid, request, i, &found);
    for (int64_t q = 0; q < count; q++)
      if (q != k && are_neighbours(grid, request, i, fast[q])) store_entry(&found, fast[q]);
    for (int64_t e = 0; e < found.n; e++) {
      int32_t j = found.entry[e];
      if (grid->fasts + 2 > grid->fast_capacity) {
        grid->fast_capacity = (int64_t)memory_grown((size_t)grid->fast_capacity, sizeof *grid->fast);
        grid->fast = memory_resize("hard lists", grid->fast, sizeof *grid->fast * (size_t)grid->fast_capacity);
      }
      if (grid->s->gm[j] > 0) grid->fast[grid->fasts++] = (struct found){i, j};
      if (grid->s->gm[i] > 0) grid->fast[grid->fasts++] = (struct found){j, i};
    }
  }
  if (grid->fasts > 0) qsort(grid->fast, (size_t)grid->fasts, sizeof *grid->fast, by_particle);
  int64_t kept = 0;
  for (int64_t k = 0; k < grid->fasts; k++)
    if (kept == 0 || grid->fast[k].of != grid->fast[kept - 1].of ||
        grid->fast[k].neighbour != grid->fast[kept - 1].neighbour)
      grid->fast[kept++] = grid->fast[k];
  grid->fasts = kept;
  for (int64_t i = 0, k = 0; i <= grid->s->n; i++) {
    while (k < grid->fasts && grid->fast[k].of < i) k++;
    grid->fast_first[i] = k;
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

/* The lists of the particles of a cell. near: scratch; count[i]: entries; at[i]: place of the first in the thread's
 * store. */
static void search_cell(const struct grid *grid, const struct list_request *request, int64_t cell, struct store *near,
                        struct store *out, int64_t *at, int64_t *count)
{
  int64_t first = grid->cell_first[cell], end = grid->cell_first[cell + 1], begin[9], stop[9],
          top = (1 << AXIS_BITS) - 1;
  uint64_t key = grid->place[first].cell, mask = (uint64_t)top;
  int64_t x = (int64_t)(key & mask), y = (int64_t)((key >> AXIS_BITS) & mask), z = (int64_t)(key >> 2 * AXIS_BITS);
  int rows = 0;
  for (int64_t c = z - 1; c <= z + 1; c++)
    for (int64_t b = y - 1; b <= y + 1; b++) {
      if (c < 0 || b < 0 || c > top || b > top) continue;
      begin[rows] = lower_bound(grid, cell_of((int64_t[]){x > 0 ? x - 1 : 0, b, c}));
      stop[rows] = lower_bound(grid, cell_of((int64_t[]){x < top ? x + 1 : top, b, c}) + 1);
      need_scratch(near, stop[rows] - begin[rows]);
      rows++;
    }
  for (int64_t k = first; k < end; k++) {
    int32_t i = grid->place[k].i;
    at[i] = out->n;
    if (grid->moved[i] <= grid->limit)
      for (int row = 0; row < rows; row++) search_places(grid, request, i, begin[row], stop[row], near->entry, out);
    for (int64_t f = grid->fast_first[i]; f < grid->fast_first[i + 1]; f++) store_entry(out, grid->fast[f].neighbour);
    count[i] = out->n - at[i];
    if (count[i] > 1) qsort(out->entry + at[i], (size_t)count[i], sizeof *out->entry, by_index);
  }
}

/* Search the cells with all threads, and put the lists one after the other. */
static void search_cells(const struct grid *grid, struct list_set *set, const struct list_request *request)
{
  int threads = omp_get_max_threads();
  struct store *store = memory_alloc("hard lists", sizeof *store * 2 * (size_t)threads), *near = store + threads;
  int64_t *at = memory_alloc("hard lists", sizeof *at * (size_t)(set->n + 1)),
          *count = memory_alloc("hard lists", sizeof *count * (size_t)(set->n + 1));
  uint16_t *thread = memory_alloc("hard lists", sizeof *thread * (size_t)(set->n + 1));
  memset(store, 0, sizeof *store * 2 * (size_t)threads);
#pragma omp parallel for schedule(dynamic, 16)
  for (int64_t cell = 0; cell < grid->cells; cell++) {
    int t = omp_get_thread_num();
    search_cell(grid, request, cell, &near[t], &store[t], at, count);
    for (int64_t k = grid->cell_first[cell]; k < grid->cell_first[cell + 1]; k++)
      thread[grid->place[k].i] = (uint16_t)t;
  }
  memory_free(set->first);
  memory_free(set->entry);
  set->first = memory_alloc("hard lists", sizeof *set->first * (size_t)(set->n + 1));
  set->first[0] = 0;
  for (int64_t i = 0; i < set->n; i++) set->first[i + 1] = set->first[i] + count[i];
  set->entries = set->entry_capacity = set->first[set->n] + 1;
  set->entry = memory_alloc("hard lists", sizeof *set->entry * (size_t)set->entry_capacity);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < set->n; i++) {
    set->begin[i] = set->first[i];
    set->length[i] = set->room[i] = (int32_t)count[i];
    if (count[i] > 0)
      memcpy(set->entry + set->first[i], store[thread[i]].entry + at[i], sizeof *set->entry * (size_t)count[i]);
  }
  for (int t = 0; t < 2 * threads; t++) memory_free(store[t].entry);
  memory_free(store);
  memory_free(at);
  memory_free(count);
  memory_free(thread);
}

static void set_displacements(struct grid *grid)
{
  const struct list_set *s = grid->s;
  for (int64_t i = 0; i < s->n; i++)
    for (int c = 0; c < 3; c++) grid->mean[c] += s->motion[i].v[c] / (double)s->n;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < s->n; i++) {
    double u[3];
    for (int c = 0; c < 3; c++) u[c] = s->motion[i].v[c] - grid->mean[c];
    grid->moved[i] = (float)(grid->horizon * sqrt(hermite_modulus2(u)) * (1 + 1e-6));
  }
}

void list_set_lists(struct list_set *set, const struct list_request *request, double horizon)
{
  double widest = (double)request->split.r2 * split_factor(&request->split, (float)request->largest_mass);
  size_t n = (size_t)(set->n + 1);
  struct grid g = {.s = set, .horizon = horizon, .reach = NEIGHBOUR_MARGIN * widest};
  g.moved = memory_alloc("hard lists", sizeof *g.moved * n);
  g.place = memory_alloc("hard lists", sizeof *g.place * n);
  g.cell_first = memory_alloc("hard lists", sizeof *g.cell_first * (n + 1));
  g.fast_first = memory_alloc("hard lists", sizeof *g.fast_first * n);
  for (int c = 0; c < 3; c++) g.x[c] = memory_alloc("hard lists", sizeof *g.x[c] * (n + SPARE));
  set_displacements(&g);
  g.limit = fast_limit(&g, widest);
  g.width = (g.reach + 2 * g.limit) * (1 + 1e-9);
  if (set->n > 0) place_particles(&g);
  search_fast(&g, request);
  search_cells(&g, set, request);
  memory_free(g.moved);
  memory_free(g.place);
  memory_free(g.cell_first);
  memory_free(g.fast_first);
  memory_free(g.fast);
  for (int c = 0; c < 3; c++) memory_free(g.x[c]);
}

/* --- changes ------------------------------------------------------------------------------------------------------ */

enum { LIST_SLACK = 8 }; /* further entries that a list gets that moves to the end */

void list_add(struct list_set *set, int32_t i, int32_t j)
{
  const int32_t *entry = list_entries(set, i);
  if (i == j) return;
  for (int32_t k = 0; k < set->length[i]; k++)
    if (entry[k] == j) return;
  if (set->length[i] == set->room[i]) {
    int64_t room = 2 * (int64_t)set->room[i] + LIST_SLACK;
    while (set->entries + room > set->entry_capacity) {
      set->entry_capacity = (int64_t)memory_grown((size_t)set->entry_capacity, sizeof *set->entry);
      set->entry = memory_resize("hard lists", set->entry, sizeof *set->entry * (size_t)set->entry_capacity);
    }
    memcpy(set->entry + set->entries, set->entry + set->begin[i], sizeof *set->entry * (size_t)set->length[i]);
    set->begin[i] = set->entries;
    set->room[i] = (int32_t)room;
    set->entries += room;
  }
  set->entry[set->begin[i] + set->length[i]++] = j;
}

int list_remove(struct list_set *set, int32_t i, int32_t j)
{
  int32_t *entry = set->entry + set->begin[i];
  for (int32_t k = 0; k < set->length[i]; k++)
    if (entry[k] == j) {
      entry[k] = entry[--set->length[i]];
      return 1;
    }
  return 0;
}

void list_clear(struct list_set *set, int32_t i) { set->length[i] = 0; }

int32_t *list_copy(const struct list_set *set, int32_t i)
{
  int32_t *copy = memory_alloc("hard lists", sizeof *copy * (size_t)(set->length[i] + 1));
  memcpy(copy, list_entries(set, i), sizeof *copy * (size_t)set->length[i]);
  return copy;
}
