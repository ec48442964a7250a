/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compiled once for each instruction set, with ESP_ISA its name: traversal, staging of lists, pair loops. */
#include <config.h>
#include "cpu/walk_isa.h"

#include <string.h>

#include "cpu/simd.h"
#include "tree/essential.h"

#include "cpu/pair_loops.h"

/* --- traversal --------------------------------------------------------------------------------------------------- */

/* A node as a view has it: its centre relative to the view's, its radius, and what that and its distance may have grown
 * by since its moments were taken. */
struct seen {
  float x, y, z, b, grown;
};

INLINE struct seen see(const struct octree *octree, int32_t k, const struct view *view, const int moving)
{
  const struct node *n = &octree->node[k];
  float h = view->spacing, dt = view->dt_nodes, half = 0.5f * dt * dt;
  struct seen s = {.x = (float)(n->x[0] - view->centre[0]) * h,
                   .y = (float)(n->x[1] - view->centre[1]) * h,
                   .z = (float)(n->x[2] - view->centre[2]) * h,
                   .b = n->b};
  if (!moving) return s;
  const struct motion *w = &octree->motion[k];
  float growth = w->spread_v * dt + w->spread_a * half;
  s.x += w->v[0] * dt + w->a[0] * half;
  s.y += w->v[1] * dt + w->a[1] * half;
  s.z += w->v[2] * dt + w->a[2] * half;
  s.b += growth;
  s.grown = 2 * growth; /* a length, while the unit of the reach is the criterion's own */
  return s;
}

INLINE int traverse_with(const struct octree *octree, const struct view *view, int32_t *stack, int *depth,
                         struct finds *finds, int capacity, const int moving, const int differ)
{
  int sp = *depth, far = finds->cells[0].n, near = finds->cells[1].n, leaves = finds->leaves;
  int64_t tests = 0;
  while (sp > 0 && far + CELL_PAD <= capacity && near + CELL_PAD <= capacity && leaves + CELL_PAD <= capacity) {
    const struct node *parent = &octree->node[stack[--sp]];
    int32_t first = parent->first, end = first + (int32_t)(parent->info & NODE_COUNT);
    if (parent->info & (NODE_LEAF | NODE_TERMINAL)) { /* a root without children */
      first = (int32_t)(parent - octree->node);
      end = first + 1;
    }
    tests += end - first;
    for (int32_t k = first; k < end; k++) {
      const struct node *n = &octree->node[k];
      struct seen s = see(octree, k, view, moving);
      float r2 = s.x * s.x + s.y * s.y + s.z * s.z;
      float needed = n->reach * view->sink + s.grown, clear = mac_clear(s.b, view->open_within),
            opening = view->radius + (needed > clear ? needed : clear);
      float out = view->radius + view->near, away = out + s.b;
      int keep = !view->prune | (r2 <= away * away);
      int terminal = (n->info & NODE_TERMINAL) != 0;
      int leaf = (n->info & NODE_LEAF) != 0;
      /* a particle alone has no extent and would be a cell at any distance; but cells move as they did when their
       * moments were taken, and particles as they do since their last correction */
      int alone = moving & leaf & ((n->info & NODE_COUNT) == 1);
      int accept = ((r2 > 0) & (r2 >= opening * opening) & !alone) | terminal;
      int is_near = r2 < out * out;
      finds->cells[0].x[far] = s.x;
      finds->cells[0].y[far] = s.y;
      finds->cells[0].z[far] = s.z;
      finds->cells[0].m[far] = n->mass;
      if (differ) finds->cells[0].eps2[far] = finds->cells[1].eps2[near] = softening_of_reach(n->reach, view->eps2);
      finds->cell_node[0][far] = k;
      far += accept & !is_near & !view->prune;
      finds->cells[1].x[near] = s.x;
      finds->cells[1].y[near] = s.y;
      finds->cells[1].z[near] = s.z;
      finds->cells[1].m[near] = n->mass;
      finds->cell_node[1][near] = k;
      near += accept & is_near;
      finds->leaf[leaves] = k;
      finds->leaf_near[leaves] = r2 <= away * away;
      leaves += keep & !accept & leaf;
      stack[sp] = k;
      sp += keep & !accept & !leaf;
    }
  }
  *depth = sp;
  finds->cells[0].n = far;
  finds->cells[1].n = near;
  finds->leaves = leaves;
  finds->tests += tests;
  return sp == 0;
}

static int traverse(const struct octree *octree, const struct view *view, int32_t *stack, int *depth,
                    struct finds *finds, int capacity)
{
  const int moving = view->dt_nodes != 0;
  if (view->eps2)
    return moving ? traverse_with(octree, view, stack, depth, finds, capacity, 1, 1)
                  : traverse_with(octree, view, stack, depth, finds, capacity, 0, 1);
  return moving ? traverse_with(octree, view, stack, depth, finds, capacity, 1, 0)
                : traverse_with(octree, view, stack, depth, finds, capacity, 0, 0);
}

/* --- staging ----------------------------------------------------------------------------------------------------- */

/* Whole vectors are staged, although leaves are shorter: the words after the n sources are other sources or the slack
 * of their block, and entries after the end of the list are not used. The lists do not overlap the sources. */
INLINE void stage_with(const struct sources sources, const struct view *view, int32_t first, int n, struct list *list,
                       const int moving, const int differ)
{
  float *restrict x = list->x + list->n, *restrict y = list->y + list->n, *restrict z = list->z + list->n,
                  *restrict m = list->m + list->n;
  float *restrict eps2 = differ ? list->eps2 + list->n : NULL;
  float h = view->spacing, length = view->tick_length;
  int32_t cx = view->centre[0], cy = view->centre[1], cz = view->centre[2], tick = view->tick;
  for (int begin = 0; begin < n; begin += LANES) {
#pragma GCC ivdep
    for (int lane = 0; lane < LANES; lane++) {
      int k = begin + lane;
      int32_t j = first + k;
      /* unsigned: the words behind the last source may be anything */
      float dx = (float)(int32_t)((uint32_t)sources.x[j] - (uint32_t)cx) * h,
            dy = (float)(int32_t)((uint32_t)sources.y[j] - (uint32_t)cy) * h;
      float dz = (float)(int32_t)((uint32_t)sources.z[j] - (uint32_t)cz) * h;
      if (moving) {
        float dt = (float)(int32_t)((uint32_t)tick - (uint32_t)sources.tick[j]) * length, half = 0.5f * dt;
        dx += (sources.vx[j] + sources.ax[j] * half) * dt;
        dy += (sources.vy[j] + sources.ay[j] * half) * dt;
        dz += (sources.vz[j] + sources.az[j] * half) * dt;
      }
      x[k] = dx;
      y[k] = dy;
      z[k] = dz;
      m[k] = differ ? softening_mass(sources.m[j]) : sources.m[j];
      if (differ) eps2[k] = view->eps2[softening_class(sources.m[j])];
    }
  }
  list->n += n;
}

static void stage(const struct octree *octree, const struct view *view, int32_t first, int n, struct list *list)
{
  if (view->eps2 && view->tick != 0) stage_with(octree->source, view, first, n, list, 1, 1);
  else if (view->eps2) stage_with(octree->source, view, first, n, list, 0, 1);
  else if (view->tick != 0) stage_with(octree->source, view, first, n, list, 1, 0);
  else stage_with(octree->source, view, first, n, list, 0, 0);
}

static void stage_quad(const struct octree *octree, const int32_t *node, int n, struct list *list)
{
  for (int k = 0; k < n; k++)
    for (int q = 0; q < 6; q++) list->quad[q][k] = octree->quad[node[k]][q];
}

static void filter(const struct list *all, int quad, const float centre[3], float reach, struct list *l)
{
  float reach2 = reach * reach;
  int n = l->n, j = 0;
#if defined __AVX512F__
  __m512 cx = _mm512_set1_ps(centre[0]), cy = _mm512_set1_ps(centre[1]), cz = _mm512_set1_ps(centre[2]);
  for (; !quad && j + LANES <= all->n; j += LANES) {
    __m512 x = _mm512_loadu_ps(all->x + j), y = _mm512_loadu_ps(all->y + j), z = _mm512_loadu_ps(all->z + j);
    __m512 dx = _mm512_sub_ps(x, cx), dy = _mm512_sub_ps(y, cy), dz = _mm512_sub_ps(z, cz);
    __m512 r2 = _mm512_fmadd_ps(dz, dz, _mm512_fmadd_ps(dy, dy, _mm512_mul_ps(dx, dx)));
    __mmask16 in = _mm512_cmp_ps_mask(r2, _mm512_set1_ps(reach2), _CMP_LE_OQ);
    _mm512_storeu_ps(l->x + n, _mm512_maskz_compress_ps(in, x));
    _mm512_storeu_ps(l->y + n, _mm512_maskz_compress_ps(in, y));
    _mm512_storeu_ps(l->z + n, _mm512_maskz_compress_ps(in, z));
    _mm512_storeu_ps(l->m + n, _mm512_maskz_compress_ps(in, _mm512_loadu_ps(all->m + j)));
    if (l->eps2) _mm512_storeu_ps(l->eps2 + n, _mm512_maskz_compress_ps(in, _mm512_loadu_ps(all->eps2 + j)));
    n += __builtin_popcount(in);
  }
#endif
  for (; j < all->n; j++) {
    float x = all->x[j] - centre[0], y = all->y[j] - centre[1], z = all->z[j] - centre[2];
    l->x[n] = all->x[j];
    l->y[n] = all->y[j];
    l->z[n] = all->z[j];
    l->m[n] = all->m[j];
    if (l->eps2) l->eps2[n] = all->eps2[j];
    if (quad)
      for (int q = 0; q < 6; q++) l->quad[q][n] = all->quad[q][j];
    n += x * x + y * y + z * z <= reach2;
  }
  l->n = n;
}

/* Leaves are small; longer ones (coincident particles) are taken in pieces of this size, in two sweeps. */
enum { LEAF_PIECE = 64 };

struct piece {
  float x[3][LEAF_PIECE], v[3][LEAF_PIECE], a[3][LEAF_PIECE], m[LEAF_PIECE];
};

/* Positions about source `origin` at `tick`, in lengths; velocities and accelerations. */
static void load_piece(const struct sources *sources, int32_t origin, int32_t first, int n, int32_t tick,
                       float tick_length, float h, struct piece *piece)
{
#pragma GCC ivdep
  for (int k = 0; k < n; k++) {
    int32_t j = first + k;
    float dt = (float)(tick - sources->tick[j]) * tick_length, half = 0.5f * dt;
    piece->m[k] = sources->m[j];
    piece->a[0][k] = sources->ax[j];
    piece->a[1][k] = sources->ay[j];
    piece->a[2][k] = sources->az[j];
    piece->x[0][k] = (float)(sources->x[j] - sources->x[origin]) * h + (sources->vx[j] + half * sources->ax[j]) * dt;
    piece->x[1][k] = (float)(sources->y[j] - sources->y[origin]) * h + (sources->vy[j] + half * sources->ay[j]) * dt;
    piece->x[2][k] = (float)(sources->z[j] - sources->z[origin]) * h + (sources->vz[j] + half * sources->az[j]) * dt;
    piece->v[0][k] = sources->vx[j] + dt * sources->ax[j];
    piece->v[1][k] = sources->vy[j] + dt * sources->ay[j];
    piece->v[2][k] = sources->vz[j] + dt * sources->az[j];
  }
}

static void add_means(const struct piece *piece, int n, double sum[10], double plain[9])
{
  const float(*field[3])[LEAF_PIECE] = {piece->x, piece->v, piece->a};
  float mass = 0;
  for (int k = 0; k < n; k++) mass += piece->m[k];
  sum[9] += mass;
  for (int f = 0; f < 3; f++)
    for (int c = 0; c < 3; c++) {
      float weighted = 0, all = 0;
      for (int k = 0; k < n; k++) {
        weighted += piece->m[k] * field[f][c][k];
        all += field[f][c][k];
      }
      sum[3 * f + c] += weighted;
      plain[3 * f + c] += all;
    }
}

static float deviation2(const float x[3][LEAF_PIECE], const float mean[3], int n)
{
  float largest = 0;
  for (int k = 0; k < n; k++) {
    float dx = x[0][k] - mean[0], dy = x[1][k] - mean[1], dz = x[2][k] - mean[2], r2 = dx * dx + dy * dy + dz * dz;
    largest = r2 > largest ? r2 : largest;
  }
  return largest;
}

static void add_quad(const struct piece *piece, const float c[3], int n, float quad[6])
{
  float q[6] = {0};
  for (int k = 0; k < n; k++) {
    float dx = piece->x[0][k] - c[0], dy = piece->x[1][k] - c[1], dz = piece->x[2][k] - c[2], m = piece->m[k];
    q[0] += m * dx * dx;
    q[1] += m * dy * dy;
    q[2] += m * dz * dz;
    q[3] += m * dx * dy;
    q[4] += m * dx * dz;
    q[5] += m * dy * dz;
  }
  for (int i = 0; i < 6; i++) quad[i] += q[i];
}

static void leaf(const struct sources *sources, int32_t first, int n, int32_t tick, float tick_length, float spacing,
                 struct leaf *leaf)
{
  struct piece p;
  double sum[10] = {0}, plain[9] = {0};
  memset(leaf, 0, sizeof *leaf);
  for (int at = 0; at < n; at += LEAF_PIECE) {
    int some = n - at < LEAF_PIECE ? n - at : LEAF_PIECE;
    load_piece(sources, first, first + at, some, tick, tick_length, spacing, &p);
    add_means(&p, some, sum, plain);
  }
  leaf->mass = (float)sum[9];
  for (int c = 0; c < 3; c++) {
    const double *use = sum[9] > 0 ? sum : plain;
    double weight = 1 / (sum[9] > 0 ? sum[9] : n);
    leaf->centre[c] = (float)(use[c] * weight);
    leaf->v[c] = (float)(use[3 + c] * weight);
    leaf->a[c] = (float)(use[6 + c] * weight);
  }
  for (int at = 0; at < n; at += LEAF_PIECE) {
    int some = n - at < LEAF_PIECE ? n - at : LEAF_PIECE;
    if (n > LEAF_PIECE) load_piece(sources, first, first + at, some, tick, tick_length, spacing, &p);
    float b2 = deviation2(p.x, leaf->centre, some), v2 = deviation2(p.v, leaf->v, some),
          a2 = deviation2(p.a, leaf->a, some);
    leaf->b2 = b2 > leaf->b2 ? b2 : leaf->b2;
    leaf->spread_v2 = v2 > leaf->spread_v2 ? v2 : leaf->spread_v2;
    leaf->spread_a2 = a2 > leaf->spread_a2 ? a2 : leaf->spread_a2;
    add_quad(&p, leaf->centre, some, leaf->quad);
  }
}

static double farthest(const struct sources *sources, int32_t begin, int32_t end, const int32_t c[3])
{
  float largest = 0;
  for (int32_t j = begin; j < end; j++) {
    float x = (float)(sources->x[j] - c[0]), y = (float)(sources->y[j] - c[1]), z = (float)(sources->z[j] - c[2]);
    float r2 = x * x + y * y + z * z;
    largest = r2 > largest ? r2 : largest;
  }
  return largest;
}

/* --- selection of LETs ------------------------------------------------------------------------------------------ */

static int any(vi mask)
{
  int32_t all = 0;
  for (int i = 0; i < LANES; i++) all |= mask[i];
  return all != 0;
}

static int needs(const struct box_table *table, const struct essential_source *asked)
{
  vi open = {0}, cell = {0}, accepted = {0};
  if (!asked->opened) accepted = ~accepted;
  for (int k = 0; k < table->n; k += LANES) {
    vf r2 = vf_set(0);
    for (int c = 0; c < 3; c++) {
      vf x = vf_set(asked->x[c]), there = x + (asked->displacement[c] - vf_load(table->displacement[c] + k));
      vf out = vf_max(vf_load(table->low[c] + k) - vf_max(x, there), vf_min(x, there) - vf_load(table->high[c] + k));
      out = vf_max(out, vf_set(0));
      r2 += out * out;
    }
    vf d = r2 * vf_rsqrt(r2 + 1e-30f) - (asked->grow + vf_load(table->deviation + k));
    vi near = d - asked->b <= vf_set(table->cutoff);
    vi far = (d > vf_set(asked->away)) & (d >= asked->reach * vf_load(table->sink + k)) & accepted;
    cell |= near & far;
    open |= near & ~far;
  }
  return any(open) ? NEED_OPEN : any(cell) ? NEED_CELL : NEED_NOTHING;
}

static float inverse_root(float eps2) { return eps2 > 0 ? vf_rsqrt(vf_set(eps2))[0] : 0; }

#define TABLE(isa) TABLE_(isa)
#define TABLE_(isa)                                                                       \
  const struct walk_isa walk_isa_##isa = {.name = #isa,                                   \
                                          .list_force = list_force_##isa,                 \
                                          .list_force_nearest = list_force_nearest_##isa, \
                                          .list_kick = list_kick_##isa,                   \
                                          .list_near = list_near_##isa,                   \
                                          .traverse = traverse,                           \
                                          .stage = stage,                                 \
                                          .stage_quad = stage_quad,                       \
                                          .filter = filter,                               \
                                          .pairs = pairs,                                 \
                                          .quad_pairs = quad_pairs,                       \
                                          .soft_pairs = soft_pairs,                       \
                                          .leaf = leaf,                                   \
                                          .farthest = farthest,                           \
                                          .inverse_root = inverse_root,                   \
                                          .needs = needs};
TABLE(ESP_ISA)
