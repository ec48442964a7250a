/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LET summaries in stages (mpi/let/stages.h): all ranks in lock step in one process, with the messages of real ranks.
 * What every rank knows in the end is compared with summaries that are known to all, and with the particles. */
#include <config.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "chance.h"
#include "mpi/let/reach.h"
#include "mpi/let/stages.h"
#include "tap.h"
#include "tree/essential.h"
#include "tree/upper.h"

enum { RANKS = 257, RUNS = 4 };

struct world {
  int ranks, grid[3], n;
  double (*pos)[3];
  float *mass;
  int *begin; /* [ranks + 1] the particles of a rank */
  struct lattice lattice;
  struct mac mac;
  struct let_request request;
  struct let_summary *summary; /* [ranks] */
  struct halves tree;
  struct stages *stages;    /* [ranks] */
  struct let_summary **got; /* [ranks][ranks] of a known rank, as it has come; else NULL */
  int64_t messages, bytes;  /* most messages of a rank; bytes of all */
};

/* --- particles and domains --------------------------------------------------------------------------------------- */

static int axis;
static int along(const void *a, const void *b)
{
  double x = ((const double *)a)[axis], y = ((const double *)b)[axis];
  return (x > y) - (x < y);
}

static void sort_part(struct world *world, int from, int to, int c)
{
  axis = c;
  qsort(world->pos[from], (size_t)(to - from), sizeof *world->pos, along);
}

/* Near-cubic numbers of domains. */
static void choose_grid(struct world *world)
{
  int best = INT32_MAX;
  for (int x = 1; x <= world->ranks; x++)
    for (int y = 1; x * y <= world->ranks; y++) {
      int z = world->ranks / (x * y), sides = x * y + y * z + x * z;
      if (x * y * z != world->ranks || sides >= best) continue;
      best = sides;
      world->grid[0] = x;
      world->grid[1] = y;
      world->grid[2] = z;
    }
}

static int share(int n, int k, int parts) { return (int)((int64_t)n * k / parts); }

/* Equal numbers of particles in the domains; the last `empty` ranks of the grid have none. */
static void place(struct world *world, int n, int empty)
{
  struct random r = {(uint64_t)(97 + world->ranks)};
  int *grid = world->grid;
  world->n = n;
  world->pos = memory_alloc("test", sizeof *world->pos * (size_t)(n + 1));
  world->mass = memory_alloc("test", sizeof *world->mass * (size_t)(n + 1));
  for (int i = 0; i < n; i++) {
    double radius = 0.5 / sqrt(pow(0.02 + 0.97 * random_unit(&r), -2.0 / 3) - 1);
    random_direction(&r, radius, world->pos[i]);
    world->mass[i] = (float)(0.5 + random_unit(&r)) / (float)n;
  }
  sort_part(world, 0, n, 0);
  world->begin = memory_alloc("test", sizeof *world->begin * (size_t)(world->ranks + 1));
  int full = world->ranks - empty;
  for (int q = 0; q <= world->ranks; q++) world->begin[q] = q < full ? share(n, q, full) : n;
  for (int x = 0; x < grid[0]; x++) {
    int slab = world->begin[x * grid[1] * grid[2]], slab_end = world->begin[(x + 1) * grid[1] * grid[2]];
    sort_part(world, slab, slab_end, 1);
    for (int y = 0; y < grid[1]; y++) {
      int first = (x * grid[1] + y) * grid[2];
      sort_part(world, world->begin[first], world->begin[first + grid[2]], 2);
    }
  }
  const double low[3] = {-20, -20, -20}, high[3] = {20, 20, 20};
  world->lattice = lattice_cover(low, high, 0, 0);
}

/* --- summaries --------------------------------------------------------------------------------------------------- */

/* The cell of the particles of [from, to) with in[i] equal to `octant` (-1: all of them). Returns their number. */
static int cell_of(const struct world *world, int from, int to, const char *in, int octant, struct node *node,
                   float quad[6])
{
  double mass = 0, x[3] = {0}, b = 0, q[6] = {0};
  static const int of[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};
  int count = 0;
  for (int i = from; i < to; i++) {
    if (octant >= 0 && in[i] != octant) continue;
    count++;
    mass += world->mass[i];
    for (int c = 0; c < 3; c++) x[c] += world->mass[i] * world->pos[i][c];
  }
  if (count == 0) return 0;
  *node = (struct node){.mass = (float)mass, .info = NODE_TERMINAL};
  int outside = 0;
  for (int c = 0; c < 3; c++) node->x[c] = lattice_of(&world->lattice, c, x[c] / mass, &outside);
  for (int i = from; i < to; i++) {
    double d[3], r2 = 0;
    if (octant >= 0 && in[i] != octant) continue;
    for (int c = 0; c < 3; c++) {
      d[c] = world->pos[i][c] - lattice_position(&world->lattice, c, node->x[c]);
      r2 += d[c] * d[c];
    }
    b = fmax(b, sqrt(r2));
    for (int k = 0; k < 6; k++) q[k] += world->mass[i] * d[of[k][0]] * d[of[k][1]];
  }
  for (int k = 0; k < 6; k++) quad[k] = (float)q[k];
  node->b = (float)(b * (1 + 1e-6));
  node->reach = mac_reach(&world->mac, mass, node->b, q[0] + q[1] + q[2]);
  return count;
}

static float outwards(double x, int up) { return nextafterf((float)x, up ? HUGE_VALF : -HUGE_VALF); }

static void summarise_soft(const struct world *world, int q, struct let_summary *summary)
{
  int from = world->begin[q], to = world->begin[q + 1];
  char *octant = memory_alloc("test", (size_t)world->n + 1);
  struct let_top *t = &summary->top;
  for (int c = 0; c < 3; c++) {
    summary->box.low[c] = 1e30;
    summary->box.high[c] = -1e30;
  }
  for (int i = from; i < to; i++)
    for (int c = 0; c < 3; c++) {
      summary->box.low[c] = fmin(summary->box.low[c], outwards(world->pos[i][c], 0));
      summary->box.high[c] = fmax(summary->box.high[c], outwards(world->pos[i][c], 1));
    }
  summary->box.a_old = (float)(0.3 + 0.01 * (q % 7));
  cell_of(world, from, to, octant, -1, &t->node[0], t->quad[0]);
  t->cells = 1;
  for (int i = from; i < to; i++)
    for (int c = 0; c < 3; c++)
      if (world->pos[i][c] > lattice_position(&world->lattice, c, t->node[0].x[c]))
        octant[i] = (char)(octant[i] | 1 << c);
  for (int k = 0; k < 8 && to - from > 1; k++)
    t->cells += cell_of(world, from, to, octant, k, &t->node[t->cells], t->quad[t->cells]) > 0;
  if (t->cells > 1) {
    t->node[0].info = (uint32_t)(t->cells - 1);
    t->node[0].first = 1;
  }
  memory_free(octant);
}

static void summarise_step(const struct world *world, int q, struct let_summary *summary)
{
  int from = world->begin[q], to = world->begin[q + 1], runs = to - from < RUNS ? to - from : RUNS;
  struct let_box box[RUNS];
  for (int k = 0; k < runs; k++) {
    box[k] = (struct let_box){.low = {1e300, 1e300, 1e300}, .high = {-1e300, -1e300, -1e300}, .a_spread = 0.1};
    for (int i = from + share(to - from, k, runs); i < from + share(to - from, k + 1, runs); i++)
      for (int c = 0; c < 3; c++) {
        box[k].low[c] = fmin(box[k].low[c], world->pos[i][c]);
        box[k].high[c] = fmax(box[k].high[c], world->pos[i][c]);
      }
  }
  reach_make(&summary->source, box, runs, &world->request);
  summary->boxes = runs;
  if (!world->request.active) return;
  summary->boxes = q % 3 ? (runs + 1) / 2 : 0; /* some ranks without active particles */
  reach_make(&summary->target, box, summary->boxes, &world->request);
}

static void summarise(struct world *world)
{
  world->summary = memory_alloc("test", sizeof *world->summary * (size_t)world->ranks);
  for (int q = 0; q < world->ranks; q++) {
    struct let_summary *s = &world->summary[q];
    s->particles = world->begin[q + 1] - world->begin[q];
    s->boxes = s->particles > 0;
    if (s->particles == 0) continue;
    if (world->request.horizon > 0) summarise_step(world, q, s);
    else summarise_soft(world, q, s);
  }
}

/* --- the exchange ------------------------------------------------------------------------------------------------ */

/* One step of all ranks: all messages are made before the first one is received. */
static void lock_step(struct world *world, int step)
{
  struct letter {
    char *bytes;
    size_t length;
  } *mail = memory_alloc("test", sizeof *mail * (size_t)world->ranks * (size_t)world->ranks);
  struct stage_list list = {.entry = NULL};
  int posted = 0, taken = 0;
  for (int q = 0; q < world->ranks; q++) {
    struct stage_peers p = stages_peers(&world->stages[q], step);
    for (int k = 0; k < p.sends; k++) {
      struct letter *m = &mail[q * world->ranks + p.to[k]];
      stages_send(&world->stages[q], step, p.to[k], &list);
      m->length = stages_bytes(&world->stages[q], step, &list);
      m->bytes = memory_alloc("test", m->length + 1);
      if (stages_pack(&world->stages[q], step, &list, m->bytes) != m->length)
        tap_ok(0, "a message has the bytes that were counted");
      world->bytes += (int64_t)m->length;
      posted++;
    }
  }
  for (int q = 0; q < world->ranks; q++) {
    struct stage_peers p = stages_peers(&world->stages[q], step);
    for (int k = 0; k < p.receives; k++) {
      struct letter *m = &mail[p.from[k] * world->ranks + q];
      if (!m->bytes) tap_ok(0, "a message that is waited for is sent");
      else stages_unpack(&world->stages[q], step, m->bytes, m->length);
      taken++;
    }
    stages_end(&world->stages[q], step);
  }
  if (posted != taken) tap_ok(0, "all messages are received");
  stage_list_free(&list);
  memory_free(mail);
}

static void exchange(struct world *world)
{
  halves_open(&world->tree, world->grid);
  world->stages = memory_alloc("test", sizeof *world->stages * (size_t)world->ranks);
  for (int q = 0; q < world->ranks; q++)
    stages_open(&world->stages[q], &world->tree, &world->lattice, &world->request, q, &world->summary[q], NULL);
  for (int q = 0; q < world->ranks; q++) {
    int64_t messages = 0;
    for (int step = 0; step < stages_steps(&world->tree); step++)
      messages += stages_peers(&world->stages[q], step).sends;
    if (messages > world->messages) world->messages = messages;
  }
  for (int step = 0; step < stages_steps(&world->tree); step++) lock_step(world, step);
  world->got = memory_alloc("test", sizeof *world->got * (size_t)world->ranks * (size_t)world->ranks);
  for (int q = 0; q < world->ranks; q++)
    for (int k = 0; k < world->stages[q].known.count; k++) {
      const struct stage_entry *e = &world->stages[q].known.entry[k];
      struct let_summary **to = &world->got[q * world->ranks + halves_rank(&world->tree, e->number)],
                         *scratch = memory_alloc("test", sizeof *scratch);
      const struct let_summary *s = stage_see(&world->request, e, scratch);
      if (s != scratch) *scratch = *s;
      if (*to) tap_ok(0, "no rank is known twice");
      *to = scratch;
    }
}

static void world_close(struct world *world)
{
  for (int q = 0; q < world->ranks; q++) stages_close(&world->stages[q]);
  for (int k = 0; k < world->ranks * world->ranks; k++) memory_free(world->got[k]);
  halves_close(&world->tree);
  memory_free(world->got);
  memory_free(world->stages);
  memory_free(world->summary);
  memory_free(world->begin);
  memory_free(world->mass);
  memory_free(world->pos);
}

/* --- checks ------------------------------------------------------------------------------------------------------ */

/* Wrong things that were found, by kind. */
struct wrong {
  int64_t cover, symmetry, mass, radius, moments, accepted, contacts, cells, near, groups, known;
};

/* The cell of a group: mass, radius and second moments of its particles. Returns the first place of the group; *count:
 * ranks. */
static void check_cell(const struct world *world, const struct let_summary *summary, int first, int count,
                       struct wrong *wrong)
{
  const struct node *n = &summary->top.node[0];
  double mass = 0, far = 0, q[6] = {0}, trace = 0, worst = 0, size = 0;
  static const int of[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};
  int particles = 0;
  for (int k = first; k < first + count; k++)
    for (int r = world->tree.rank[k], i = world->begin[r]; i < world->begin[r + 1]; i++, particles++) {
      double d[3], r2 = 0;
      for (int c = 0; c < 3; c++) {
        d[c] = world->pos[i][c] - lattice_position(&world->lattice, c, n->x[c]);
        r2 += d[c] * d[c];
      }
      mass += world->mass[i];
      far = fmax(far, sqrt(r2));
      size += world->mass[i] * sqrt(r2);
      for (int j = 0; j < 6; j++) q[j] += world->mass[i] * d[of[j][0]] * d[of[j][1]];
    }
  wrong->mass += (particles > 0) != (summary->top.cells == 1) || (particles > 0) != (summary->particles > 0);
  if (particles == 0) return;
  trace = q[0] + q[1] + q[2];
  for (int j = 0; j < 6; j++) worst = fmax(worst, fabs(summary->top.quad[0][j] - q[j]));
  wrong->mass += fabs(n->mass / mass - 1) > 1e-5 || n->info != NODE_TERMINAL;
  wrong->radius += far > n->b || n->b > 4 * far + 1e-6;
  wrong->moments += world->request.quads && worst > 1e-4 * trace + 1e-6 * size;
}

/* The groups of rank q: what they cover, their cells, and that the rank's targets accept them. covered[rank] is
 * counted. */
static void check_groups(const struct world *world, int q, int *covered, struct wrong *wrong)
{
  struct let_summary *scratch = memory_alloc("test", sizeof *scratch);
  const struct let_box *box = &world->summary[q].box;
  for (int k = 0; k < world->stages[q].group.count; k++) {
    const struct stage_entry *entry = &world->stages[q].group.entry[k];
    const struct let_summary *s = stage_see(&world->request, entry, scratch);
    int first, count = halves_ranks(&world->tree, entry->number, &first);
    for (int i = first; i < first + count; i++) covered[world->tree.rank[i]]++;
    wrong->groups++;
    if (world->request.horizon > 0) continue;
    check_cell(world, s, first, count, wrong);
    if (s->top.cells == 0 || world->summary[q].boxes == 0) continue;
    const struct node *n = &s->top.node[0];
    double r2 = 0, sink = mac_sink(&world->mac, fmax(box->a_old, world->request.a_floor));
    for (int c = 0; c < 3; c++) {
      double x = lattice_position(&world->lattice, c, n->x[c]), d = fmax(fmax(box->low[c] - x, x - box->high[c]), 0);
      r2 += d * d;
    }
    double reach = mac_reach(&world->mac, n->mass, n->b, s->top.quad[0][0] + s->top.quad[0][1] + s->top.quad[0][2]);
    wrong->accepted +=
        sqrt(r2) <= n->b + world->request.open_within || sqrt(r2) < 0.999 * reach * sink || n->reach < 0.999 * reach;
  }
  memory_free(scratch);
}

/* Whether particles of two ranks are within R2 of each other, as the exchange for substeps must find. */
static int within_cutoff(const struct world *world, int q, int r)
{
  for (int i = world->begin[q]; i < world->begin[q + 1]; i++)
    for (int j = world->begin[r]; j < world->begin[r + 1]; j++) {
      double r2 = 0;
      for (int c = 0; c < 3; c++) r2 += pow(world->pos[i][c] - world->pos[j][c], 2);
      if (r2 <= world->request.cutoff * world->request.cutoff) return 1;
    }
  return 0;
}

/* Rank q against rank r: symmetry, and the results of summaries that are known to all. */
static void check_pair(const struct world *world, int q, int r, struct wrong *wrong)
{
  const struct let_summary *own = &world->summary[q], *full = &world->summary[r],
                           *got = world->got[q * world->ranks + r];
  enum need in = let_contact(&world->lattice, full, own, &world->request),
            out = let_contact(&world->lattice, own, full, &world->request);
  wrong->symmetry += (got != NULL) != (world->got[r * world->ranks + q] != NULL);
  if (!got) {
    wrong->contacts += in == NEED_OPEN || out == NEED_OPEN;
    wrong->near += world->request.horizon > 0 && !world->request.active && within_cutoff(world, q, r);
    return;
  }
  wrong->known++;
  wrong->contacts += let_contact(&world->lattice, got, own, &world->request) != in ||
                     let_contact(&world->lattice, own, got, &world->request) != out;
  if (world->request.horizon > 0 || in != NEED_CELL) return;
  enum need need[2][TOP_CELLS];
  struct let_request request = world->request;
  request.boxes = &own->box;
  request.box_count = 1;
  wrong->cells += top_cells(&world->lattice, &got->top, &own->box, &request, need[0]) !=
                  top_cells(&world->lattice, &full->top, &own->box, &request, need[1]);
}

static struct wrong check_world(const struct world *world)
{
  struct wrong e = {0};
  int *covered = memory_alloc("test", sizeof *covered * (size_t)world->ranks);
  for (int q = 0; q < world->ranks; q++) {
    memset(covered, 0, sizeof *covered * (size_t)world->ranks);
    check_groups(world, q, covered, &e);
    for (int r = 0; r < world->ranks; r++) {
      e.cover += covered[r] + (world->got[q * world->ranks + r] != NULL) != (r != q);
      if (r != q) check_pair(world, q, r, &e);
    }
  }
  memory_free(covered);
  return e;
}

enum kind { SOFT, SOFT_MONOPOLE, STEP, STEP_ACTIVE, KINDS };
static const char *const kind_names[] = {"synchronisation", "synchronisation, monopole cells", "substeps",
                                         "substeps, active targets"};

static struct wrong one(int ranks, int per_rank, int empty, enum kind kind, struct world *world)
{
  memset(world, 0, sizeof *world);
  world->ranks = ranks;
  world->mac = (struct mac){MAC_ACCELERATION, kind == SOFT_MONOPOLE ? 1 : 2, 1, kind == SOFT_MONOPOLE ? 50 : 100};
  world->request = (struct let_request){
      .mac = &world->mac, .a_floor = 1e-3, .cutoff = -1, .open_within = 0.01, .quads = kind == SOFT};
  if (kind >= STEP) {
    world->request.cutoff = 0.05;
    world->request.horizon = 0.01;
    world->request.a_typical = 0.1;
    world->request.open_within = 0;
  }
  world->request.active = kind == STEP_ACTIVE;
  choose_grid(world);
  place(world, per_rank > 0 ? per_rank * ranks : ranks / 2, empty);
  summarise(world);
  exchange(world);
  struct wrong e = check_world(world);
  world_close(world);
  return e;
}

static void add(struct wrong *sum, const struct wrong *e)
{
  int64_t *to = (int64_t *)sum;
  const int64_t *from = (const int64_t *)e;
  for (size_t k = 0; k < sizeof *sum / sizeof *to; k++) to[k] += from[k];
}

static void report(const struct wrong *wrong, enum kind kind, const char *ranks)
{
  char what[400];
  snprintf(
      what, sizeof what,
      "%s, %s ranks: every other rank is in one group or known, once (%lld are not), and knows this one (%lld do not)",
      kind_names[kind], ranks, (long long)wrong->cover, (long long)wrong->symmetry);
  tap_ok(wrong->cover == 0 && wrong->symmetry == 0 && wrong->known > 0, what);
  snprintf(
      what, sizeof what,
      "%s, %s ranks: contacts and cells of %lld known pairs as where all know all (%lld, %lld differ; %lld groups)",
      kind_names[kind], ranks, (long long)wrong->known, (long long)wrong->contacts, (long long)wrong->cells,
      (long long)wrong->groups);
  tap_ok(wrong->contacts == 0 && wrong->cells == 0 && wrong->groups > 0, what);
  if (kind < STEP) {
    snprintf(what, sizeof what,
             "%s, %s ranks: cells of groups have mass, radius and moments (%lld, %lld, %lld do not), and targets "
             "accept them (%lld do not)",
             kind_names[kind], ranks, (long long)wrong->mass, (long long)wrong->radius, (long long)wrong->moments,
             (long long)wrong->accepted);
    tap_ok(wrong->mass == 0 && wrong->radius == 0 && wrong->moments == 0 && wrong->accepted == 0, what);
  } else if (kind == STEP) {
    snprintf(what, sizeof what,
             "%s, %s ranks: ranks with particles within R2 of each other know each other (%lld pairs do not)",
             kind_names[kind], ranks, (long long)wrong->near);
    tap_ok(wrong->near == 0, what);
  }
}

static void check_kind(enum kind kind)
{
  static const int large[] = {64, 100, RANKS};
  struct world w;
  struct wrong sum = {0}, e;
  for (int ranks = 1; ranks <= 40; ranks++) {
    e = one(ranks, 6, 0, kind, &w);
    add(&sum, &e);
  }
  report(&sum, kind, "1 to 40");
  memset(&sum, 0, sizeof sum);
  for (int k = 0; k < 3; k++) {
    e = one(large[k], 6, 0, kind, &w);
    add(&sum, &e);
  }
  report(&sum, kind, "64, 100 and 257");
  memset(&sum, 0, sizeof sum);
  for (int ranks = 2; ranks <= 40; ranks += 3) {
    e = one(ranks, 0, 0, kind, &w);
    add(&sum, &e); /* more ranks than particles */
    e = one(ranks, 6, ranks / 2, kind, &w);
    add(&sum, &e);
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
    int first, n = halves_ranks(&h, g, &first), low[3] = {8, 8, 8}, high[3] = {-1, -1, -1}, volume = 1, longest = 0,
               shortest = 9;
    for (int k = first; k < first + n; k++) {
      const int at[3] = {h.rank[k] / 16, h.rank[k] / 4 % 4, h.rank[k] % 4};
      for (int c = 0; c < 3; c++) {
        low[c] = at[c] < low[c] ? at[c] : low[c];
        high[c] = at[c] > high[c] ? at[c] : high[c];
      }
    }
    for (int c = 0; c < 3; c++) {
      int side = high[c] - low[c] + 1;
      volume *= side;
      longest = side > longest ? side : longest;
      shortest = side < shortest ? side : shortest;
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
  double growth = (double)many.bytes / many.ranks / ((double)few.bytes / few.ranks),
         all = (double)let_summary_bytes(&many.request) * (many.ranks - 1);
  snprintf(what, sizeof what,
           "substeps: on 256 ranks a rank sends %lld messages and %.0f bytes, %.2f times as many as on 32, to all it "
           "were %.0f",
           (long long)many.messages, (double)many.bytes / many.ranks, growth, all);
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
