/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compiled once for each instruction set, with ESP_ISA its name: traversal, staging of lists, pair loops. */
#include <config.h>
#include "cpu/walk_isa.h"

#include <string.h>

#include "cpu/simd.h"
#include "tree/essential.h"

#include "cpu/pair_loops.h"

/* --- traversal --------------------------------------------------------------------------------------------------- */

INLINE int traverse_with(const struct octree *t, const struct view *v, int32_t *stack, int *depth, struct finds *f, int capacity,
                         const int moving, const int differ)
{
  int sp = *depth, far = f->cells[0].n, near = f->cells[1].n, leaves = f->leaves;
  float h = v->spacing, dt = v->dt_nodes, half = 0.5f * dt * dt;
  int64_t tests = 0;
  while (sp > 0 && far + CELL_PAD <= capacity && near + CELL_PAD <= capacity && leaves + CELL_PAD <= capacity) {
    const struct node *parent = &t->node[stack[--sp]];
    int32_t first = parent->first, end = first + (int32_t)(parent->info & NODE_COUNT);
    if (parent->info & (NODE_LEAF | NODE_TERMINAL)) {   /* a root without children */
      first = (int32_t)(parent - t->node);
      end = first + 1;
    }
    tests += end - first;
    for (int32_t k = first; k < end; k++) {
      const struct node *n = &t->node[k];
      float x = (float)(n->x[0] - v->centre[0]) * h;
      float y = (float)(n->x[1] - v->centre[1]) * h;
      float z = (float)(n->x[2] - v->centre[2]) * h;
      float b = n->b, grown = 0;
      if (moving) {
        const struct motion *w = &t->motion[k];
        float growth = w->spread_v * dt + w->spread_a * half;
        x += w->v[0] * dt + w->a[0] * half;
        y += w->v[1] * dt + w->a[1] * half;
        z += w->v[2] * dt + w->a[2] * half;
        b += growth;
        grown = 2 * growth;   /* a length, while the unit of the reach is the criterion's own */
      }
      float r2 = x * x + y * y + z * z;
      float needed = n->reach * v->sink + grown, clear = mac_clear(b, v->open_within), opening = v->radius + (needed > clear ? needed : clear);
      float out = v->radius + v->near, away = out + b;
      int keep = !v->prune | (r2 <= away * away);
      int terminal = (n->info & NODE_TERMINAL) != 0;
      int leaf = (n->info & NODE_LEAF) != 0;
      /* a particle alone has no extent and would be a cell at any distance; but cells move as they did when their moments
       * were taken, and particles as they do since their last correction */
      int alone = moving & leaf & ((n->info & NODE_COUNT) == 1);
      int accept = ((r2 > 0) & (r2 >= opening * opening) & !alone) | terminal;
      int is_near = r2 < out * out;
      f->cells[0].x[far] = x, f->cells[0].y[far] = y, f->cells[0].z[far] = z, f->cells[0].m[far] = n->mass;
      if (differ) f->cells[0].eps2[far] = f->cells[1].eps2[near] = softening_of_reach(n->reach, v->eps2);
      f->cell_node[0][far] = k;
      far += accept & !is_near & !v->prune;
      f->cells[1].x[near] = x, f->cells[1].y[near] = y, f->cells[1].z[near] = z, f->cells[1].m[near] = n->mass;
      f->cell_node[1][near] = k;
      near += accept & is_near;
      f->leaf[leaves] = k;
      f->leaf_near[leaves] = r2 <= away * away;
      leaves += keep & !accept & leaf;
      stack[sp] = k;
      sp += keep & !accept & !leaf;
    }
  }
  *depth = sp;
  f->cells[0].n = far, f->cells[1].n = near, f->leaves = leaves;
  f->tests += tests;
  return sp == 0;
}

static int traverse(const struct octree *t, const struct view *v, int32_t *stack, int *depth, struct finds *f, int capacity)
{
  const int moving = v->dt_nodes != 0;
  if (v->eps2) return moving ? traverse_with(t, v, stack, depth, f, capacity, 1, 1) : traverse_with(t, v, stack, depth, f, capacity, 0, 1);
  return moving ? traverse_with(t, v, stack, depth, f, capacity, 1, 0) : traverse_with(t, v, stack, depth, f, capacity, 0, 0);
}

/* --- staging ----------------------------------------------------------------------------------------------------- */

/* Whole vectors are staged, although leaves are shorter: the words after the n sources are other sources or the slack of their
 * block, and entries after the end of the list are not used. The lists do not overlap the sources. */
INLINE void stage_with(const struct sources s, const struct view *v, int32_t first, int n, struct list *l, const int moving, const int differ)
{
  float *restrict x = l->x + l->n, *restrict y = l->y + l->n, *restrict z = l->z + l->n, *restrict m = l->m + l->n;
  float *restrict eps2 = differ ? l->eps2 + l->n : NULL;
  float h = v->spacing, length = v->tick_length;
  int32_t cx = v->centre[0], cy = v->centre[1], cz = v->centre[2], tick = v->tick;
  for (int begin = 0; begin < n; begin += LANES) {
#pragma GCC ivdep
    for (int lane = 0; lane < LANES; lane++) {
      int k = begin + lane;
      int32_t j = first + k;
      /* unsigned: the words behind the last source may be anything */
      float dx = (float)(int32_t)((uint32_t)s.x[j] - (uint32_t)cx) * h, dy = (float)(int32_t)((uint32_t)s.y[j] - (uint32_t)cy) * h;
      float dz = (float)(int32_t)((uint32_t)s.z[j] - (uint32_t)cz) * h;
      if (moving) {
        float dt = (float)(int32_t)((uint32_t)tick - (uint32_t)s.tick[j]) * length, half = 0.5f * dt;
        dx += (s.vx[j] + s.ax[j] * half) * dt;
        dy += (s.vy[j] + s.ay[j] * half) * dt;
        dz += (s.vz[j] + s.az[j] * half) * dt;
      }
      x[k] = dx, y[k] = dy, z[k] = dz, m[k] = differ ? softening_mass(s.m[j]) : s.m[j];
      if (differ) eps2[k] = v->eps2[softening_class(s.m[j])];
    }
  }
  l->n += n;
}

static void stage(const struct octree *t, const struct view *v, int32_t first, int n, struct list *l)
{
  if (v->eps2 && v->tick != 0)
    stage_with(t->source, v, first, n, l, 1, 1);
  else if (v->eps2)
    stage_with(t->source, v, first, n, l, 0, 1);
  else if (v->tick != 0)
    stage_with(t->source, v, first, n, l, 1, 0);
  else
    stage_with(t->source, v, first, n, l, 0, 0);
}

static void stage_quad(const struct octree *t, const int32_t *node, int n, struct list *l)
{
  for (int k = 0; k < n; k++)
    for (int q = 0; q < 6; q++) l->quad[q][k] = t->quad[node[k]][q];
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
    l->x[n] = all->x[j], l->y[n] = all->y[j], l->z[n] = all->z[j], l->m[n] = all->m[j];
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
static void load_piece(const struct sources *s, int32_t origin, int32_t first, int n, int32_t tick, float tick_length, float h,
                       struct piece *p)
{
#pragma GCC ivdep
  for (int k = 0; k < n; k++) {
    int32_t j = first + k;
    float dt = (float)(tick - s->tick[j]) * tick_length, half = 0.5f * dt;
    p->m[k] = s->m[j];
    p->a[0][k] = s->ax[j], p->a[1][k] = s->ay[j], p->a[2][k] = s->az[j];
    p->x[0][k] = (float)(s->x[j] - s->x[origin]) * h + (s->vx[j] + half * s->ax[j]) * dt;
    p->x[1][k] = (float)(s->y[j] - s->y[origin]) * h + (s->vy[j] + half * s->ay[j]) * dt;
    p->x[2][k] = (float)(s->z[j] - s->z[origin]) * h + (s->vz[j] + half * s->az[j]) * dt;
    p->v[0][k] = s->vx[j] + dt * s->ax[j], p->v[1][k] = s->vy[j] + dt * s->ay[j], p->v[2][k] = s->vz[j] + dt * s->az[j];
  }
}

static void add_means(const struct piece *p, int n, double sum[10], double plain[9])
{
  const float(*field[3])[LEAF_PIECE] = {p->x, p->v, p->a};
  float mass = 0;
  for (int k = 0; k < n; k++) mass += p->m[k];
  sum[9] += mass;
  for (int f = 0; f < 3; f++)
    for (int c = 0; c < 3; c++) {
      float weighted = 0, all = 0;
      for (int k = 0; k < n; k++) {
        weighted += p->m[k] * field[f][c][k];
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

static void add_quad(const struct piece *p, const float c[3], int n, float quad[6])
{
  float q[6] = {0};
  for (int k = 0; k < n; k++) {
    float dx = p->x[0][k] - c[0], dy = p->x[1][k] - c[1], dz = p->x[2][k] - c[2], m = p->m[k];
    q[0] += m * dx * dx, q[1] += m * dy * dy, q[2] += m * dz * dz;
    q[3] += m * dx * dy, q[4] += m * dx * dz, q[5] += m * dy * dz;
  }
  for (int i = 0; i < 6; i++) quad[i] += q[i];
}

static void leaf(const struct sources *s, int32_t first, int n, int32_t tick, float tick_length, float spacing, struct leaf *l)
{
  struct piece p;
  double sum[10] = {0}, plain[9] = {0};
  memset(l, 0, sizeof *l);
  for (int at = 0; at < n; at += LEAF_PIECE) {
    int some = n - at < LEAF_PIECE ? n - at : LEAF_PIECE;
    load_piece(s, first, first + at, some, tick, tick_length, spacing, &p);
    add_means(&p, some, sum, plain);
  }
  l->mass = (float)sum[9];
  for (int c = 0; c < 3; c++) {
    const double *use = sum[9] > 0 ? sum : plain;
    double weight = 1 / (sum[9] > 0 ? sum[9] : n);
    l->centre[c] = (float)(use[c] * weight), l->v[c] = (float)(use[3 + c] * weight), l->a[c] = (float)(use[6 + c] * weight);
  }
  for (int at = 0; at < n; at += LEAF_PIECE) {
    int some = n - at < LEAF_PIECE ? n - at : LEAF_PIECE;
    if (n > LEAF_PIECE) load_piece(s, first, first + at, some, tick, tick_length, spacing, &p);
    float b2 = deviation2(p.x, l->centre, some), v2 = deviation2(p.v, l->v, some), a2 = deviation2(p.a, l->a, some);
    l->b2 = b2 > l->b2 ? b2 : l->b2;
    l->spread_v2 = v2 > l->spread_v2 ? v2 : l->spread_v2;
    l->spread_a2 = a2 > l->spread_a2 ? a2 : l->spread_a2;
    add_quad(&p, l->centre, some, l->quad);
  }
}

static double farthest(const struct sources *s, int32_t begin, int32_t end, const int32_t c[3])
{
  float largest = 0;
  for (int32_t j = begin; j < end; j++) {
    float x = (float)(s->x[j] - c[0]), y = (float)(s->y[j] - c[1]), z = (float)(s->z[j] - c[2]);
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

static int needs(const struct box_table *t, const struct asked *a)
{
  vi open = {0}, cell = {0}, accepted = {0};
  if (!a->opened) accepted = ~accepted;
  for (int k = 0; k < t->n; k += LANES) {
    vf r2 = vf_set(0);
    for (int c = 0; c < 3; c++) {
      vf x = vf_set(a->x[c]), there = x + (a->displacement[c] - vf_load(t->displacement[c] + k));
      vf out = vf_max(vf_load(t->low[c] + k) - vf_max(x, there), vf_min(x, there) - vf_load(t->high[c] + k));
      out = vf_max(out, vf_set(0));
      r2 += out * out;
    }
    vf d = r2 * vf_rsqrt(r2 + 1e-30f) - (a->grow + vf_load(t->deviation + k));
    vi near = d - a->b <= vf_set(t->cutoff);
    vi far = (d > vf_set(a->away)) & (d >= a->reach * vf_load(t->sink + k)) & accepted;
    cell |= near & far;
    open |= near & ~far;
  }
  return any(open) ? NEED_OPEN : any(cell) ? NEED_CELL : NEED_NOTHING;
}

static float inverse_root(float eps2) { return eps2 > 0 ? vf_rsqrt(vf_set(eps2))[0] : 0; }

#define TABLE(isa) TABLE_(isa)
#define TABLE_(isa)                                                                                                                    \
  const struct walk_isa walk_isa_##isa = {.name = #isa, .hard_force = hard_force_##isa, .hard_kick = hard_kick_##isa,                 \
                                          .hard_near = hard_near_##isa, .traverse = traverse,                                          \
                                          .stage = stage, .stage_quad = stage_quad,                                                    \
                                          .filter = filter, .pairs = pairs, .quad_pairs = quad_pairs,                                  \
                                          .soft_pairs = soft_pairs, .leaf = leaf,                                                      \
                                          .farthest = farthest, .inverse_root = inverse_root, .needs = needs};
TABLE(ESP_ISA)
