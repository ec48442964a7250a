/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LET summaries in stages (mpi/stages.h): all ranks in lock step in one process, with the messages of real ranks. What every rank knows in the
 * end is compared with summaries that are known to all, and with the particles. */
#include <config.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "chance.h"
#include "mpi/reach.h"
#include "mpi/stages.h"
#include "tap.h"
#include "tree/essential.h"
#include "tree/upper.h"

enum { RANKS = 257, RUNS = 4 };

struct world {
  int ranks, grid[3], n;
  double (*pos)[3];
  float *mass;
  int *begin;                     /* [ranks + 1] the particles of a rank */
  struct lattice lattice;
  struct mac mac;
  struct let_request request;
  struct let_summary *summary;    /* [ranks] */
  struct halves tree;
  struct stages *stages;          /* [ranks] */
  struct let_summary **got;       /* [ranks][ranks] of a known rank, as it has come; else NULL */
  int64_t messages, bytes;        /* most messages of a rank; bytes of all */
};

/* --- particles and domains --------------------------------------------------------------------------------------- */

static int axis;
static int along(const void *a, const void *b)
{
  double x = ((const double *)a)[axis], y = ((const double *)b)[axis];
  return (x > y) - (x < y);
}

static void sort_part(struct world *w, int from, int to, int c)
{
  axis = c;
  qsort(w->pos[from], (size_t)(to - from), sizeof *w->pos, along);
}

/* Near-cubic numbers of domains. */
static void choose_grid(struct world *w)
{
  int best = INT32_MAX;
  for (int x = 1; x <= w->ranks; x++)
    for (int y = 1; x * y <= w->ranks; y++) {
      int z = w->ranks / (x * y), sides = x * y + y * z + x * z;
      if (x * y * z != w->ranks || sides >= best) continue;
      best = sides;
      w->grid[0] = x, w->grid[1] = y, w->grid[2] = z;
    }
}

static int share(int n, int k, int parts) { return (int)((int64_t)n * k / parts); }

/* Equal numbers of particles in the domains; the last `empty` ranks of the grid have none. */
static void place(struct world *w, int n, int empty)
{
  struct random r = {(uint64_t)(97 + w->ranks)};
  int *grid = w->grid;
  w->n = n;
  w->pos = memory_alloc("test", sizeof *w->pos * (size_t)(n + 1));
  w->mass = memory_alloc("test", sizeof *w->mass * (size_t)(n + 1));
  for (int i = 0; i < n; i++) {
    double radius = 0.5 / sqrt(pow(0.02 + 0.97 * random_unit(&r), -2.0 / 3) - 1);
    random_direction(&r, radius, w->pos[i]);
    w->mass[i] = (float)(0.5 + random_unit(&r)) / (float)n;
  }
  sort_part(w, 0, n, 0);
  w->begin = memory_alloc("test", sizeof *w->begin * (size_t)(w->ranks + 1));
  int full = w->ranks - empty;
  for (int q = 0; q <= w->ranks; q++) w->begin[q] = q < full ? share(n, q, full) : n;
  for (int x = 0; x < grid[0]; x++) {
    int slab = w->begin[x * grid[1] * grid[2]], slab_end = w->begin[(x + 1) * grid[1] * grid[2]];
    sort_part(w, slab, slab_end, 1);
    for (int y = 0; y < grid[1]; y++) {
      int first = (x * grid[1] + y) * grid[2];
      sort_part(w, w->begin[first], w->begin[first + grid[2]], 2);
    }
  }
  const double low[3] = {-20, -20, -20}, high[3] = {20, 20, 20};
  w->lattice = lattice_cover(low, high, 0, 0);
}

/* --- summaries --------------------------------------------------------------------------------------------------- */

/* The cell of the particles of [from, to) with in[i] equal to `octant` (-1: all of them). Returns their number. */
static int cell_of(const struct world *w, int from, int to, const char *in, int octant, struct node *n, float quad[6])
{
  double mass = 0, x[3] = {0}, b = 0, q[6] = {0};
  static const int of[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};
  int count = 0;
  for (int i = from; i < to; i++) {
    if (octant >= 0 && in[i] != octant) continue;
    count++, mass += w->mass[i];
    for (int c = 0; c < 3; c++) x[c] += w->mass[i] * w->pos[i][c];
  }
  if (count == 0) return 0;
  *n = (struct node){.mass = (float)mass, .info = NODE_TERMINAL};
  int outside = 0;
  for (int c = 0; c < 3; c++) n->x[c] = lattice_of(&w->lattice, c, x[c] / mass, &outside);
  for (int i = from; i < to; i++) {
    double d[3], r2 = 0;
    if (octant >= 0 && in[i] != octant) continue;
    for (int c = 0; c < 3; c++) d[c] = w->pos[i][c] - lattice_position(&w->lattice, c, n->x[c]), r2 += d[c] * d[c];
    b = fmax(b, sqrt(r2));
    for (int k = 0; k < 6; k++) q[k] += w->mass[i] * d[of[k][0]] * d[of[k][1]];
  }
  for (int k = 0; k < 6; k++) quad[k] = (float)q[k];
  n->b = (float)(b * (1 + 1e-6));
  n->reach = mac_reach(&w->mac, mass, n->b, q[0] + q[1] + q[2]);
  return count;
}

static float outwards(double x, int up) { return nextafterf((float)x, up ? HUGE_VALF : -HUGE_VALF); }

static void summarise_soft(const struct world *w, int q, struct let_summary *s)
{
  int from = w->begin[q], to = w->begin[q + 1];
  char *octant = memory_alloc("test", (size_t)w->n + 1);
  struct let_top *t = &s->top;
  for (int c = 0; c < 3; c++) s->box.low[c] = 1e30, s->box.high[c] = -1e30;
  for (int i = from; i < to; i++)
    for (int c = 0; c < 3; c++)
      s->box.low[c] = fmin(s->box.low[c], outwards(w->pos[i][c], 0)), s->box.high[c] = fmax(s->box.high[c], outwards(w->pos[i][c], 1));
  s->box.a_old = (float)(0.3 + 0.01 * (q % 7));
  cell_of(w, from, to, octant, -1, &t->node[0], t->quad[0]);
  t->cells = 1;
  for (int i = from; i < to; i++)
    for (int c = 0; c < 3; c++)
      if (w->pos[i][c] > lattice_position(&w->lattice, c, t->node[0].x[c])) octant[i] = (char)(octant[i] | 1 << c);
  for (int k = 0; k < 8 && to - from > 1; k++) t->cells += cell_of(w, from, to, octant, k, &t->node[t->cells], t->quad[t->cells]) > 0;
  if (t->cells > 1) t->node[0].info = (uint32_t)(t->cells - 1), t->node[0].first = 1;
  memory_free(octant);
}

static void summarise_step(const struct world *w, int q, struct let_summary *s)
{
  int from = w->begin[q], to = w->begin[q + 1], runs = to - from < RUNS ? to - from : RUNS;
  struct let_box box[RUNS];
  for (int k = 0; k < runs; k++) {
    box[k] = (struct let_box){.low = {1e300, 1e300, 1e300}, .high = {-1e300, -1e300, -1e300}, .a_spread = 0.1};
    for (int i = from + share(to - from, k, runs); i < from + share(to - from, k + 1, runs); i++)
      for (int c = 0; c < 3; c++) box[k].low[c] = fmin(box[k].low[c], w->pos[i][c]), box[k].high[c] = fmax(box[k].high[c], w->pos[i][c]);
  }
  reach_make(&s->source, box, runs, &w->request);
  s->boxes = runs;
  if (!w->request.active) return;
  s->boxes = q % 3 ? (runs + 1) / 2 : 0;   /* some ranks without active particles */
  reach_make(&s->target, box, s->boxes, &w->request);
}

static void summarise(struct world *w)
{
  w->summary = memory_alloc("test", sizeof *w->summary * (size_t)w->ranks);
  for (int q = 0; q < w->ranks; q++) {
    struct let_summary *s = &w->summary[q];
    s->particles = w->begin[q + 1] - w->begin[q];
    s->boxes = s->particles > 0;
    if (s->particles == 0) continue;
    if (w->request.horizon > 0) summarise_step(w, q, s);
    else summarise_soft(w, q, s);
  }
}

/* --- the exchange ------------------------------------------------------------------------------------------------ */

/* One step of all ranks: all messages are made before the first one is received. */
static void lock_step(struct world *w, int step)
{
  struct letter {
    char *bytes;
    size_t length;
  } *mail = memory_alloc("test", sizeof *mail * (size_t)w->ranks * (size_t)w->ranks);
  struct stage_list list = {.entry = NULL};
  int posted = 0, taken = 0;
  for (int q = 0; q < w->ranks; q++) {
    struct stage_peers p = stages_peers(&w->stages[q], step);
    for (int k = 0; k < p.sends; k++) {
      struct letter *m = &mail[q * w->ranks + p.to[k]];
      stages_send(&w->stages[q], step, p.to[k], &list);
      m->length = stages_bytes(&w->stages[q], step, &list);
      m->bytes = memory_alloc("test", m->length + 1);
      if (stages_pack(&w->stages[q], step, &list, m->bytes) != m->length) tap_ok(0, "a message has the bytes that were counted");
      w->bytes += (int64_t)m->length;
      posted++;
    }
  }
  for (int q = 0; q < w->ranks; q++) {
    struct stage_peers p = stages_peers(&w->stages[q], step);
    for (int k = 0; k < p.receives; k++) {
      struct letter *m = &mail[p.from[k] * w->ranks + q];
      if (!m->bytes) tap_ok(0, "a message that is waited for is sent");
      else stages_unpack(&w->stages[q], step, m->bytes, m->length);
      taken++;
    }
    stages_end(&w->stages[q], step);
  }
  if (posted != taken) tap_ok(0, "all messages are received");
  stage_list_free(&list);
  memory_free(mail);
}

static void exchange(struct world *w)
{
  halves_open(&w->tree, w->grid);
  w->stages = memory_alloc("test", sizeof *w->stages * (size_t)w->ranks);
  for (int q = 0; q < w->ranks; q++) stages_open(&w->stages[q], &w->tree, &w->lattice, &w->request, q, &w->summary[q], NULL);
  for (int q = 0; q < w->ranks; q++) {
    int64_t messages = 0;
    for (int step = 0; step < stages_steps(&w->tree); step++) messages += stages_peers(&w->stages[q], step).sends;
    if (messages > w->messages) w->messages = messages;
  }
  for (int step = 0; step < stages_steps(&w->tree); step++) lock_step(w, step);
  w->got = memory_alloc("test", sizeof *w->got * (size_t)w->ranks * (size_t)w->ranks);
  for (int q = 0; q < w->ranks; q++)
    for (int k = 0; k < w->stages[q].known.count; k++) {
      const struct stage_entry *e = &w->stages[q].known.entry[k];
      struct let_summary **to = &w->got[q * w->ranks + halves_rank(&w->tree, e->number)], *room = memory_alloc("test", sizeof *room);
      const struct let_summary *s = stage_see(&w->request, e, room);
      if (s != room) *room = *s;
      if (*to) tap_ok(0, "no rank is known twice");
      *to = room;
    }
}

static void world_close(struct world *w)
{
  for (int q = 0; q < w->ranks; q++) stages_close(&w->stages[q]);
  for (int k = 0; k < w->ranks * w->ranks; k++) memory_free(w->got[k]);
  halves_close(&w->tree);
  memory_free(w->got);
  memory_free(w->stages);
  memory_free(w->summary);
  memory_free(w->begin);
  memory_free(w->mass);
  memory_free(w->pos);
}

/* --- checks ------------------------------------------------------------------------------------------------------ */

/* Wrong things that were found, by kind. */
struct wrong {
  int64_t cover, symmetry, mass, radius, moments, accepted, contacts, cells, near, groups, known;
};

/* The cell of a group: mass, radius and second moments of its particles. Returns the first place of the group; *count: ranks. */
static void check_cell(const struct world *w, const struct let_summary *s, int first, int count, struct wrong *e)
{
  const struct node *n = &s->top.node[0];
  double mass = 0, far = 0, q[6] = {0}, trace = 0, worst = 0, size = 0;
  static const int of[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};
  int particles = 0;
  for (int k = first; k < first + count; k++)
    for (int r = w->tree.rank[k], i = w->begin[r]; i < w->begin[r + 1]; i++, particles++) {
      double d[3], r2 = 0;
      for (int c = 0; c < 3; c++) d[c] = w->pos[i][c] - lattice_position(&w->lattice, c, n->x[c]), r2 += d[c] * d[c];
      mass += w->mass[i];
      far = fmax(far, sqrt(r2));
      size += w->mass[i] * sqrt(r2);
      for (int j = 0; j < 6; j++) q[j] += w->mass[i] * d[of[j][0]] * d[of[j][1]];
    }
  e->mass += (particles > 0) != (s->top.cells == 1) || (particles > 0) != (s->particles > 0);
  if (particles == 0) return;
  trace = q[0] + q[1] + q[2];
  for (int j = 0; j < 6; j++) worst = fmax(worst, fabs(s->top.quad[0][j] - q[j]));
  e->mass += fabs(n->mass / mass - 1) > 1e-5 || n->info != NODE_TERMINAL;
  e->radius += far > n->b || n->b > 4 * far + 1e-6;
  e->moments += w->request.quads && worst > 1e-4 * trace + 1e-6 * size;
}

/* The groups of rank q: what they cover, their cells, and that the rank's targets accept them. covered[rank] is counted. */
static void check_groups(const struct world *w, int q, int *covered, struct wrong *e)
{
  struct let_summary *room = memory_alloc("test", sizeof *room);
  const struct let_box *box = &w->summary[q].box;
  for (int k = 0; k < w->stages[q].group.count; k++) {
    const struct stage_entry *entry = &w->stages[q].group.entry[k];
    const struct let_summary *s = stage_see(&w->request, entry, room);
    int first, count = halves_ranks(&w->tree, entry->number, &first);
    for (int i = first; i < first + count; i++) covered[w->tree.rank[i]]++;
    e->groups++;
    if (w->request.horizon > 0) continue;
    check_cell(w, s, first, count, e);
    if (s->top.cells == 0 || w->summary[q].boxes == 0) continue;
    const struct node *n = &s->top.node[0];
    double r2 = 0, sink = mac_sink(&w->mac, fmax(box->a_old, w->request.a_floor));
    for (int c = 0; c < 3; c++) {
      double x = lattice_position(&w->lattice, c, n->x[c]), d = fmax(fmax(box->low[c] - x, x - box->high[c]), 0);
      r2 += d * d;
    }
    double reach = mac_reach(&w->mac, n->mass, n->b, s->top.quad[0][0] + s->top.quad[0][1] + s->top.quad[0][2]);
    e->accepted += sqrt(r2) <= n->b + w->request.open_within || sqrt(r2) < 0.999 * reach * sink || n->reach < 0.999 * reach;
  }
  memory_free(room);
}

/* Whether particles of two ranks are within R2 of each other, as the exchange for substeps must find. */
static int within_cutoff(const struct world *w, int q, int r)
{
  for (int i = w->begin[q]; i < w->begin[q + 1]; i++)
    for (int j = w->begin[r]; j < w->begin[r + 1]; j++) {
      double r2 = 0;
      for (int c = 0; c < 3; c++) r2 += pow(w->pos[i][c] - w->pos[j][c], 2);
      if (r2 <= w->request.cutoff * w->request.cutoff) return 1;
    }
  return 0;
}

/* Rank q against rank r: symmetry, and the results of summaries that are known to all. */
static void check_pair(const struct world *w, int q, int r, struct wrong *e)
{
  const struct let_summary *own = &w->summary[q], *full = &w->summary[r], *got = w->got[q * w->ranks + r];
  enum need in = let_contact(&w->lattice, full, own, &w->request), out = let_contact(&w->lattice, own, full, &w->request);
  e->symmetry += (got != NULL) != (w->got[r * w->ranks + q] != NULL);
  if (!got) {
    e->contacts += in == NEED_OPEN || out == NEED_OPEN;
    e->near += w->request.horizon > 0 && !w->request.active && within_cutoff(w, q, r);
    return;
  }
  e->known++;
  e->contacts += let_contact(&w->lattice, got, own, &w->request) != in || let_contact(&w->lattice, own, got, &w->request) != out;
  if (w->request.horizon > 0 || in != NEED_CELL) return;
  enum need need[2][TOP_CELLS];
  struct let_request request = w->request;
  request.boxes = &own->box;
  request.box_count = 1;
  e->cells += top_cells(&w->lattice, &got->top, &own->box, &request, need[0]) != top_cells(&w->lattice, &full->top, &own->box, &request, need[1]);
}

static struct wrong check_world(const struct world *w)
{
  struct wrong e = {0};
  int *covered = memory_alloc("test", sizeof *covered * (size_t)w->ranks);
  for (int q = 0; q < w->ranks; q++) {
    memset(covered, 0, sizeof *covered * (size_t)w->ranks);
    check_groups(w, q, covered, &e);
    for (int r = 0; r < w->ranks; r++) {
      e.cover += covered[r] + (w->got[q * w->ranks + r] != NULL) != (r != q);
      if (r != q) check_pair(w, q, r, &e);
    }
  }
  memory_free(covered);
  return e;
}

enum kind { SOFT, SOFT_MONOPOLE, STEP, STEP_ACTIVE, KINDS };
static const char *const kind_names[] = {"synchronisation", "synchronisation, monopole cells", "substeps", "substeps, active targets"};

static struct wrong one(int ranks, int per_rank, int empty, enum kind kind, struct world *w)
{
  memset(w, 0, sizeof *w);
  w->ranks = ranks;
  w->mac = (struct mac){MAC_ACCELERATION, kind == SOFT_MONOPOLE ? 1 : 2, 1, kind == SOFT_MONOPOLE ? 50 : 100};
  w->request = (struct let_request){.mac = &w->mac, .a_floor = 1e-3, .cutoff = -1, .open_within = 0.01, .quads = kind == SOFT};
  if (kind >= STEP) w->request.cutoff = 0.05, w->request.horizon = 0.01, w->request.a_typical = 0.1, w->request.open_within = 0;
  w->request.active = kind == STEP_ACTIVE;
  choose_grid(w);
  place(w, per_rank > 0 ? per_rank * ranks : ranks / 2, empty);
  summarise(w);
  exchange(w);
  struct wrong e = check_world(w);
  world_close(w);
  return e;
}

static void add(struct wrong *sum, const struct wrong *e)
{
  int64_t *to = (int64_t *)sum;
  const int64_t *from = (const int64_t *)e;
  for (size_t k = 0; k < sizeof *sum / sizeof *to; k++) to[k] += from[k];
}

static void report(const struct wrong *e, enum kind kind, const char *ranks)
{
  char what[400];
  snprintf(what, sizeof what, "%s, %s ranks: every other rank is in one group or known, once (%lld are not), and knows this one (%lld do not)", kind_names[kind],
           ranks, (long long)e->cover, (long long)e->symmetry);
  tap_ok(e->cover == 0 && e->symmetry == 0 && e->known > 0, what);
  snprintf(what, sizeof what, "%s, %s ranks: contacts and cells of %lld known pairs as where all know all (%lld, %lld differ; %lld groups)", kind_names[kind], ranks,
           (long long)e->known, (long long)e->contacts, (long long)e->cells, (long long)e->groups);
  tap_ok(e->contacts == 0 && e->cells == 0 && e->groups > 0, what);
  if (kind < STEP) {
    snprintf(what, sizeof what, "%s, %s ranks: cells of groups have mass, radius and moments (%lld, %lld, %lld do not), and targets accept them (%lld do not)",
             kind_names[kind], ranks, (long long)e->mass, (long long)e->radius, (long long)e->moments, (long long)e->accepted);
    tap_ok(e->mass == 0 && e->radius == 0 && e->moments == 0 && e->accepted == 0, what);
  } else if (kind == STEP) {
    snprintf(what, sizeof what, "%s, %s ranks: ranks with particles within R2 of each other know each other (%lld pairs do not)", kind_names[kind], ranks,
             (long long)e->near);
    tap_ok(e->near == 0, what);
  }
}

static void check_kind(enum kind kind)
{
  static const int large[] = {64, 100, RANKS};
  struct world w;
  struct wrong sum = {0}, e;
  for (int ranks = 1; ranks <= 40; ranks++) e = one(ranks, 6, 0, kind, &w), add(&sum, &e);
  report(&sum, kind, "1 to 40");
  memset(&sum, 0, sizeof sum);
  for (int k = 0; k < 3; k++) e = one(large[k], 6, 0, kind, &w), add(&sum, &e);
  report(&sum, kind, "64, 100 and 257");
  memset(&sum, 0, sizeof sum);
  for (int ranks = 2; ranks <= 40; ranks += 3) {
    e = one(ranks, 0, 0, kind, &w), add(&sum, &e);              /* more ranks than particles */
    e = one(ranks, 6, ranks / 2, kind, &w), add(&sum, &e);
  }
  report(&sum, kind, "2 to 40, of which many are empty,");
}

/* Numbers of ranks of groups, and numbers of ranks. Groups of a grid of powers of two are blocks. */
static void check_halves(void)
{
  int even = 1, numbered = 1, blocks = 1;
  for (int ranks = 1; ranks <= 300; ranks++) {
    struct world w = {.ranks = ranks};
    struct halves h;
    choose_grid(&w);
    halves_open(&h, w.grid);
    for (int32_t g = 1; g < (int32_t)2 << h.depth; g++) {
      int first, n = halves_ranks(&h, g, &first), all = 1 << halves_depth(g);
      even &= n == ranks / all || n == (ranks + all - 1) / all;
      even &= halves_depth(g) < h.depth || n == 1 || n == 2;
    }
    for (int r = 0; r < ranks; r++) {
      int32_t number = halves_number(&h, r);
      numbered &= halves_depth(number) == h.depth + 1 && halves_rank(&h, number) == r && h.rank[h.place[r]] == r;
    }
    halves_close(&h);
  }
  tap_ok(even, "groups of a depth have as many ranks, or one more; leaves have one or two");
  tap_ok(numbered, "every rank has a number, and the number has this rank");
  struct halves h;
  halves_open(&h, (const int[3]){8, 4, 4});
  for (int32_t g = 1; g < 256; g++) {
    int first, n = halves_ranks(&h, g, &first), low[3] = {8, 8, 8}, high[3] = {-1, -1, -1}, volume = 1, longest = 0, shortest = 9;
    for (int k = first; k < first + n; k++) {
      const int at[3] = {h.rank[k] / 16, h.rank[k] / 4 % 4, h.rank[k] % 4};
      for (int c = 0; c < 3; c++) low[c] = at[c] < low[c] ? at[c] : low[c], high[c] = at[c] > high[c] ? at[c] : high[c];
    }
    for (int c = 0; c < 3; c++) {
      int side = high[c] - low[c] + 1;
      volume *= side, longest = side > longest ? side : longest, shortest = side < shortest ? side : shortest;
    }
    blocks &= volume == n && longest <= 2 * shortest;
  }
  halves_close(&h);
  tap_ok(blocks, "groups of 8 x 4 x 4 domains are blocks, whose sides differ by at most a factor of two");
}

/* Messages and bytes of a rank. */
static void check_growth(void)
{
  struct world few, many;
  one(32, 6, 0, STEP, &few);
  one(256, 6, 0, STEP, &many);
  char what[200];
  double growth = (double)many.bytes / many.ranks / ((double)few.bytes / few.ranks), all = (double)let_summary_bytes(&many.request) * (many.ranks - 1);
  snprintf(what, sizeof what, "substeps: on 256 ranks a rank sends %lld messages and %.0f bytes, %.2f times as many as on 32, to all it were %.0f", (long long)many.messages,
           (double)many.bytes / many.ranks, growth, all);
  tap_ok(many.messages == 2 * 8 && growth < 6 && (double)many.bytes / many.ranks < 0.4 * all, what);
}

int main(void)
{
  check_halves();
  for (int kind = 0; kind < KINDS; kind++) check_kind((enum kind)kind);
  check_growth();
  tap_ok(memory_current() == 0, "all memory is given back");
  return tap_end();
}
