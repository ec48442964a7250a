/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "mpi/stages.h"

#include <math.h>
#include <string.h>

#include "base/debug.h"
#include "base/memory.h"
#include "particles/softening.h"
#include "tree/upper.h"

static int smaller(int a, int b) { return a < b ? a : b; }

/* --- lists ------------------------------------------------------------------------------------------------------- */

static void add(struct stage_list *l, struct stage_entry e)
{
  if (l->count == l->capacity) {
    l->capacity += l->capacity / 4 + 16;
    l->entry = memory_resize("let", l->entry, sizeof *l->entry * (size_t)l->capacity);
  }
  l->entry[l->count++] = e;
}

void stage_list_free(struct stage_list *l)
{
  memory_free(l->entry);
  *l = (struct stage_list){.entry = NULL};
}

/* The end of the ascending run that begins at `at`. */
static int run_end(const struct stage_list *l, int at)
{
  if (at < l->count) at++;
  while (at < l->count && l->entry[at - 1].number <= l->entry[at].number) at++;
  return at;
}

/* Merge entries [a, b) and [b, c) of a list into out[a], ..., out[c - 1]. */
static void merge(const struct stage_list *l, int a, int b, int c, struct stage_entry *out)
{
  const struct stage_entry *e = l->entry;
  for (int x = a, y = b, to = a; to < c; to++) out[to] = x < b && (y == c || e[x].number <= e[y].number) ? e[x++] : e[y++];
}

/* Lists are a few messages one behind the other, which are a few ascending runs each: neighbouring runs are merged until there is one. */
static void sort(struct stage_list *l)
{
  if (run_end(l, 0) == l->count) return;
  struct stage_list other = {memory_alloc("let", sizeof *other.entry * (size_t)l->capacity), l->count, l->capacity};
  while (run_end(l, 0) < l->count) {
    for (int a = 0, b, c; a < l->count; a = c) {
      b = run_end(l, a);
      c = run_end(l, b);
      merge(l, a, b, c, other.entry);
    }
    struct stage_list sorted = other;
    other = *l;
    *l = sorted;
  }
  stage_list_free(&other);
}

/* Number of entries of a sorted list that are of smaller depth than `depth`. */
static int below(const struct stage_list *l, int depth)
{
  int low = 0, high = l->count;
  while (low < high) {
    int middle = (low + high) / 2;
    if (l->entry[middle].number < (int32_t)1 << depth) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* --- summaries of groups ----------------------------------------------------------------------------------------- */

/* The squared softening of a cell, and whether all its particles have one of the classes. */
static float softening_of(const struct node *n, const float *eps2, int *class)
{
  uint32_t code = softening_bits(n->reach) & SOFTENING_CODE;
  *class = code < SOFTENING_CLASSES ? (int)code : -1;
  return softening_of_reach(n->reach, eps2);
}

/* Set radius and reach of the cell of two; b, b2: bounds on the distances of its particles and on the trace of their second moments. */
static void set_reach(struct node *n, const struct node *child[2], double b, double b2, const struct let_request *r)
{
  double spread = 0, mean = 0;
  int class[2] = {0, 0};
  if (r->eps2) {
    double e[2];
    for (int k = 0; k < 2; k++) e[k] = softening_of(child[k], r->eps2, &class[k]);
    mean = n->mass > 0 ? (child[0]->mass * e[0] + child[1]->mass * e[1]) / n->mass : fmax(e[0], e[1]);
    if (class[0] != class[1] || class[0] < 0) spread = (double)r->eps2[SOFTENING_CLASSES - 1] - r->eps2[0], class[1] = class[0] - 1;
  }
  double radius = softening_radius(b, spread);
  float whole = mac_reach(r->mac, n->mass, radius, b2 + n->mass * spread);
  n->b = (float)(radius * (1 + 1e-6));
  n->reach = r->mac->order == 1 ? MAC_CUT * whole : whole;   /* faces of domains cut it */
  if (r->eps2) n->reach = softening_pack_reach(n->reach, class[0], class[1], (float)mean);
}

/* The cell of two, as src/cpu/moments.c makes it of children. */
static void join_cells(struct node *n, float quad[6], const struct let_top *a, const struct let_top *b, const struct lattice *l, const struct let_request *r)
{
  const struct node *child[2] = {&a->node[0], &b->node[0]};
  const float *moments[2] = {a->quad[0], b->quad[0]};
  double mass = (double)child[0]->mass + child[1]->mass, radius = 0, b2 = 0, q[6] = {0};
  static const int axes[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};
  *n = (struct node){.mass = (float)mass, .info = NODE_TERMINAL};
  for (int c = 0; c < 3; c++) {
    double part = mass > 0 ? child[1]->mass / mass : 0.5;
    n->x[c] = lattice_clamp(child[0]->x[c] + part * ((double)child[1]->x[c] - child[0]->x[c]));
  }
  for (int k = 0; k < 2; k++) {
    double x[3], r2 = 0;
    for (int c = 0; c < 3; c++) x[c] = ((double)child[k]->x[c] - n->x[c]) * l->spacing, r2 += x[c] * x[c];
    radius = fmax(radius, sqrt(r2) + child[k]->b);
    b2 += child[k]->mass * (r2 + (double)child[k]->b * child[k]->b);
    for (int i = 0; i < 6; i++) q[i] += moments[k][i] + child[k]->mass * x[axes[i][0]] * x[axes[i][1]];
  }
  for (int i = 0; i < 6; i++) quad[i] = (float)q[i];
  set_reach(n, child, radius, r->quads ? q[0] + q[1] + q[2] : b2, r);
}

static void join_reach(struct let_reach *u, const struct let_reach *a, const struct let_reach *b)
{
  if (a->parts == 0 || b->parts == 0) a = b = a->parts ? a : b;
  if (a->parts == 0) return;
  for (int c = 0; c < 3; c++) {
    u->low[c] = fmin(a->low[c], b->low[c]), u->high[c] = fmax(a->high[c], b->high[c]);
    u->part_low[0][c] = 0, u->part_high[0][c] = REACH_STEPS;
  }
  u->parts = 1;
}

void stages_merge(struct let_summary *group, const struct let_summary *a, const struct let_summary *b, const struct lattice *l,
                  const struct let_request *r)
{
  static const struct let_summary none;
  const struct let_box boxes[] = {a->box, b ? b->box : a->box};
  memset(group, 0, sizeof *group);
  if (!b) b = &none;
  group->particles = a->particles + b->particles;
  group->boxes = (a->boxes > 0) + (b->boxes > 0);
  join_reach(&group->source, &a->source, &b->source);
  join_reach(&group->target, &a->target, &b->target);
  if (r->horizon > 0) return;
  group->box = a->boxes == 0 ? boxes[1] : b->boxes == 0 ? boxes[0] : let_union(boxes, 2, 0);
  if (a->top.cells > 0 && b->top.cells > 0) {
    group->top.cells = 1;
    join_cells(&group->top.node[0], group->top.quad[0], &a->top, &b->top, l, r);
  } else {
    group->top = a->top.cells > 0 ? a->top : b->top;
    top_cut(&group->top, 1);
  }
}

/* --- pairs of groups --------------------------------------------------------------------------------------------- */

int stages_near(const struct lattice *l, const struct let_request *r, const struct let_summary *a, const struct let_summary *b)
{
  return let_contact(l, a, b, r) == NEED_OPEN || let_contact(l, b, a, r) == NEED_OPEN;
}

void stage_memo_clear(struct stage_memo *m)
{
  if (m->count > 0) memset(m->pair, 0, sizeof *m->pair * (size_t)m->capacity);
  m->count = 0;
}

void stage_memo_free(struct stage_memo *m)
{
  memory_free(m->pair);
  *m = (struct stage_memo){.pair = NULL};
}

/* The place of a pair, or the free one where it belongs. */
static uint64_t *memo_find(struct stage_memo *m, uint64_t pair)
{
  int64_t at = (int64_t)((pair * 0x9e3779b97f4a7c15ULL) >> 20) & (m->capacity - 1);
  while (m->pair[at] && m->pair[at] >> 1 != pair) at = (at + 1) & (m->capacity - 1);
  return &m->pair[at];
}

static void memo_reserve(struct stage_memo *m)
{
  if (2 * m->count < m->capacity) return;
  struct stage_memo old = *m;
  m->capacity = old.capacity ? 2 * old.capacity : 1 << 12;
  m->pair = memory_alloc("study", sizeof *m->pair * (size_t)m->capacity);
  for (int64_t k = 0; k < old.capacity; k++)
    if (old.pair[k]) *memo_find(m, old.pair[k] >> 1) = old.pair[k];
  memory_free(old.pair);
}

static int near(const struct stages *s, int32_t x, const struct let_summary *of_x, int32_t y, const struct let_summary *of_y)
{
  if (!s->memo) return stages_near(s->lattice, s->request, of_x, of_y);
  memo_reserve(s->memo);
  uint64_t pair = x < y ? (uint64_t)x << 31 | (uint64_t)y : (uint64_t)y << 31 | (uint64_t)x, *at = memo_find(s->memo, pair);
  if (!*at) {
    *at = pair << 1 | (uint64_t)stages_near(s->lattice, s->request, of_x, of_y);
    s->memo->count++;
  }
  return (int)(*at & 1);
}

/* From so many ranks on summaries come in stages: a rank receives 0.49 MB at a synchronisation on 512 ranks, with one allgather 0.82 MB; on 128
 * both are 0.20 MB (doc/measurements.md, LET summaries in stages). */
enum { STAGES_RANKS = 512 };

int stages_ranks(void) { return (int)debug_value("let_stages", STAGES_RANKS); }

int stages_wanted(const struct let_request *r, int ranks)
{
  if (r->horizon > 0 && !let_by_reach(r)) return 0;   /* every rank needs a LET of every other one */
  return ranks >= stages_ranks();
}

/* --- begin and end ----------------------------------------------------------------------------------------------- */

static int leaf_depth(const struct stages *s) { return s->tree->depth; }

const struct let_summary *stage_see(const struct let_request *r, const struct stage_entry *e, struct let_summary *room)
{
  if (!e->packed) return e->summary;
  let_summary_unpack(r, e->summary, room);
  return room;
}

void stages_open(struct stages *s, const struct halves *tree, const struct lattice *lattice, const struct let_request *r, int rank,
                 const struct let_summary *own, struct let_summary **table)
{
  *s = (struct stages){.tree = tree, .lattice = lattice, .request = r, .table = table, .number = halves_number(tree, rank)};
  struct let_summary *copy = table ? table[s->number] : memory_alloc("let", sizeof *copy);
  if (!table) *copy = *own;
  s->own[tree->depth + 1] = copy;
}

void stages_close(struct stages *s)
{
  for (int k = 0; k <= STAGES_DEPTH && !s->table; k++) memory_free(s->own[k]), memory_free(s->other[k]);
  for (int k = 0; k < s->blocks; k++) memory_free(s->block[k]);
  memory_free(s->block);
  stage_list_free(&s->held);
  stage_list_free(&s->known);
  stage_list_free(&s->group);
}

/* --- steps ------------------------------------------------------------------------------------------------------- */

int stages_steps(const struct halves *tree) { return 2 * tree->depth + 2; }

int stages_upwards(const struct halves *tree, int step) { return step <= tree->depth; }

static int upwards(const struct stages *s, int step) { return stages_upwards(s->tree, step); }
static int depth_of(const struct stages *s, int step) { return upwards(s, step) ? leaf_depth(s) + 1 - step : step - leaf_depth(s); }

int32_t stages_group(const struct stages *s, int step) { return halves_above(s->number, depth_of(s, step) - 1); }

/* The leaf of this rank and the one with the same halves but of the depth `depth`: their numbers of ranks, and the first rank of the other. */
struct leaves {
  int index, ranks, others, first;
};

static struct leaves leaves_at(const struct stages *s, int depth)
{
  int32_t own = s->number >> 1, other = own ^ (int32_t)1 << (leaf_depth(s) - depth);
  struct leaves l = {.index = s->number & 1};
  l.ranks = halves_ranks(s->tree, own, &l.first);
  l.others = halves_ranks(s->tree, other, &l.first);
  return l;
}

/* Summaries of groups go to each rank of the other leaf from one rank of this one. */
static int sends_groups(const struct leaves *l, int to) { return smaller(to, l->ranks - 1) == l->index; }
/* Summaries of a rank go to one rank of the other leaf. */
static int sends_ranks(const struct leaves *l, int to) { return l->ranks < l->others || smaller(l->index, l->others - 1) == to; }
/* From the other side: what its rank `from` sends this rank. */
static int gets_any(const struct leaves *l, int from, int up)
{
  struct leaves there = {.index = from, .ranks = l->others, .others = l->ranks};
  return sends_groups(&there, l->index) || (!up && sends_ranks(&there, l->index));
}

struct stage_peers stages_peers(const struct stages *s, int step)
{
  struct stage_peers p = {.sends = 0};
  int depth = depth_of(s, step), up = upwards(s, step), first;
  if (depth > leaf_depth(s)) {   /* the two ranks of a leaf */
    if (halves_ranks(s->tree, s->number >> 1, &first) < 2) return p;
    p.sends = p.receives = 1;
    p.to[0] = p.from[0] = s->tree->rank[first + !(s->number & 1)];
    return p;
  }
  struct leaves l = leaves_at(s, depth);
  for (int k = 0; k < l.others; k++) {
    if (sends_groups(&l, k) || (!up && sends_ranks(&l, k))) p.to[p.sends++] = s->tree->rank[l.first + k];
    if (gets_any(&l, k, up)) p.from[p.receives++] = s->tree->rank[l.first + k];
  }
  return p;
}

/* Of the held entries of depth `depth`, those that are near a group of this depth: near_[k] for the k-th of them. `held` is sorted. Returns their
 * number; *first: the first of them. */
static int find_near(const struct stages *s, int depth, int32_t group, const struct let_summary *summary, int *first, char **near_)
{
  int end = below(&s->held, depth + 1);
  *first = below(&s->held, depth);
  struct let_summary *room = memory_alloc("let", sizeof *room);
  *near_ = memory_alloc("let", (size_t)(end - *first + 1));
  for (int k = *first; k < end; k++)
    (*near_)[k - *first] = (char)near(s, group, summary, s->held.entry[k].number, stage_see(s->request, &s->held.entry[k], room));
  memory_free(room);
  return end - *first;
}

/* Whether a group of depth `depth` that contains `number` is among the entries [first, first + count) and near. *at: in the first call `first`,
 * then as the last call left it, with ascending numbers. */
static int above_near(const struct stages *s, int depth, int32_t number, int first, int count, const char *near_, int *at)
{
  int32_t above = halves_above(number, depth);
  if (*at > first && s->held.entry[*at - 1].number >= above) *at = first;   /* the numbers of the next depth */
  while (*at < first + count && s->held.entry[*at].number < above) (*at)++;
  return *at < first + count && s->held.entry[*at].number == above && near_[*at - first];
}

/* Where a leaf with one rank faces one with two, the rank of the two that gets the summary of rank `number`. */
static int takes(const struct leaves *l, int32_t number) { return l->ranks < l->others ? (int)((uint32_t)number * 2654435769u >> 31) : -1; }

/* Add an entry to the message to rank `to` of the other leaf, if it goes there. */
static void add_for(const struct stages *s, const struct leaves *l, int to, struct stage_entry e, struct stage_list *message)
{
  int rank = e.number >> (leaf_depth(s) + 1) > 0;
  if (rank ? sends_ranks(l, to) && (takes(l, e.number) < 0 || takes(l, e.number) == to) : sends_groups(l, to)) add(message, e);
}

/* Downwards: what the other half at `depth` needs of what this rank has. */
static void send_down(const struct stages *s, int depth, int to, struct stage_list *message)
{
  struct leaves l = leaves_at(s, depth);
  char *near_;
  int first, count = find_near(s, depth, halves_above(s->number, depth) ^ 1, s->other[depth], &first, &near_);
  int which = s->tree->place[to] - l.first, at = first;
  for (int k = depth + 1; s->near[depth] && k <= leaf_depth(s) + 1; k++)
    add_for(s, &l, which, (struct stage_entry){halves_above(s->number, k), 0, s->own[k]}, message);
  for (int k = first; k < s->held.count; k++) {
    const struct stage_entry *e = &s->held.entry[k];
    if (k < first + count || above_near(s, depth, e->number, first, count, near_, &at)) add_for(s, &l, which, *e, message);
  }
  memory_free(near_);
}

void stages_send(const struct stages *s, int step, int to, struct stage_list *message)
{
  int depth = depth_of(s, step);
  message->count = 0;
  if (upwards(s, step)) {
    add(message, (struct stage_entry){halves_above(s->number, depth), 0, s->own[depth]});
  } else if (depth <= leaf_depth(s)) {
    send_down(s, depth, to, message);
  } else {
    for (int k = 0; k < s->held.count; k++) add(message, s->held.entry[k]);
  }
}

void stages_receive(struct stages *s, int step, const struct stage_list *message)
{
  int depth = depth_of(s, step);
  if (upwards(s, step)) s->other[depth] = s->table[message->entry[0].number];
  for (int k = 0; k < message->count && !upwards(s, step); k++) add(depth <= leaf_depth(s) ? &s->held : &s->known, message->entry[k]);
}

/* The group above depth `depth`, of the own group and its other half. */
static void end_up(struct stages *s, int depth)
{
  int32_t own = halves_above(s->number, depth), group = own >> 1;
  const struct let_summary *a = s->own[depth], *b = s->other[depth];
  if (depth <= leaf_depth(s)) s->near[depth] = (char)near(s, own, a, own ^ 1, b);
  if (depth == 1) return;
  struct let_summary *made = s->table ? s->table[group] : NULL;
  if (!made) {
    made = memory_alloc("let", sizeof *made);
    stages_merge(made, own & 1 ? b : a, own & 1 ? a : b, s->lattice, s->request);
    if (s->table) s->table[group] = made;
  }
  s->own[depth - 1] = made;
}

/* The groups of this depth are complete: those that are separated become results, and what is in them is dropped. */
static void end_down(struct stages *s, int depth)
{
  struct stage_list kept = {.entry = NULL};
  char *near_;
  int32_t own = halves_above(s->number, depth);
  sort(&s->held);
  int first, count = find_near(s, depth, own, s->own[depth], &first, &near_), at = first;
  for (int k = first; k < s->held.count; k++) {
    const struct stage_entry *e = &s->held.entry[k];
    if (k < first + count && !near_[k - first]) add(&s->group, *e);
    else if (k >= first + count && (halves_above(e->number, depth) == (own ^ 1) || above_near(s, depth, e->number, first, count, near_, &at)))
      add(&kept, *e);
  }
  memory_free(near_);
  stage_list_free(&s->held);
  s->held = kept;
  if (!s->near[depth]) add(&s->group, (struct stage_entry){own ^ 1, 0, s->other[depth]});
}

/* What remains are ranks. */
static void end_all(struct stages *s)
{
  int depth = leaf_depth(s) + 1;
  for (int k = 0; k < s->held.count; k++) add(&s->known, s->held.entry[k]);
  stage_list_free(&s->held);
  if (s->other[depth]) add(&s->known, (struct stage_entry){s->number ^ 1, 0, s->other[depth]});
  sort(&s->known);
  sort(&s->group);
}

void stages_end(struct stages *s, int step)
{
  int depth = depth_of(s, step);
  if (upwards(s, step))
    end_up(s, depth);
  else if (depth <= leaf_depth(s))
    end_down(s, depth);
  else
    end_all(s);
}

/* --- messages ---------------------------------------------------------------------------------------------------- */

/* The box of those for whom a message is; NULL: of all. */
static const struct let_box *box_of(const struct stages *s, int step)
{
  return upwards(s, step) || s->request->horizon > 0 ? NULL : &s->other[depth_of(s, step)]->box;
}

size_t stages_bytes(const struct stages *s, int step, const struct stage_list *message)
{
  const struct let_box *box = box_of(s, step);
  struct let_summary *room = memory_alloc("let", sizeof *room);
  size_t bytes = 0;
  for (int k = 0; k < message->count; k++) {
    const struct let_summary *e = stage_see(s->request, &message->entry[k], room);
    int spared = box ? e->top.cells - top_enough(NULL, &e->top, s->lattice, box, s->request) : 0;
    bytes += sizeof(int32_t) + let_summary_length(s->request, e) - (size_t)spared * let_cell_bytes(s->request);
  }
  memory_free(room);
  return bytes;
}

size_t stages_pack(const struct stages *s, int step, const struct stage_list *message, void *bytes)
{
  const struct let_box *box = box_of(s, step);
  struct let_summary *room = memory_alloc("let", 2 * sizeof *room), *few = room + 1;
  char *at = bytes;
  for (int k = 0; k < message->count; k++) {
    const struct let_summary *e = stage_see(s->request, &message->entry[k], room);
    memcpy(at, &message->entry[k].number, sizeof(int32_t));
    if (box) {
      *few = *e;
      top_enough(&few->top, &e->top, s->lattice, box, s->request);
      e = few;
    }
    at += sizeof(int32_t);
    at += let_summary_pack(s->request, e, at);
  }
  memory_free(room);
  return (size_t)(at - (char *)bytes);
}

void stages_unpack(struct stages *s, int step, char *bytes, size_t length)
{
  int depth = depth_of(s, step);
  struct let_summary *room = memory_alloc("let", sizeof *room);
  for (const char *at = bytes; at < bytes + length;) {
    struct stage_entry e = {.packed = 1, .summary = at + sizeof e.number};
    memcpy(&e.number, at, sizeof e.number);
    at += sizeof e.number;
    at += let_summary_unpack(s->request, at, room);
    if (!upwards(s, step)) add(depth <= leaf_depth(s) ? &s->held : &s->known, e);
  }
  if (upwards(s, step)) {
    s->other[depth] = room;
    memory_free(bytes);
    return;
  }
  memory_free(room);
  s->block = memory_resize("let", s->block, sizeof *s->block * (size_t)(s->blocks + 1));
  s->block[s->blocks++] = bytes;
  s->block_bytes += length;
}
