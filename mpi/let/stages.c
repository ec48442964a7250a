/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "mpi/let/stages.h"

#include <math.h>
#include <string.h>

#include "base/debug.h"
#include "base/memory.h"
#include "particles/softening.h"
#include "tree/upper.h"

static int smaller(int a, int b) { return a < b ? a : b; }

/* --- lists ------------------------------------------------------------------------------------------------------- */

static void add(struct stage_list *list, struct stage_entry entry)
{
  if (list->count == list->capacity) {
    list->capacity += list->capacity / 4 + 16;
    list->entry = memory_resize("let", list->entry, sizeof *list->entry * (size_t)list->capacity);
  }
  list->entry[list->count++] = entry;
}

void stage_list_free(struct stage_list *list)
{
  memory_free(list->entry);
  *list = (struct stage_list){.entry = NULL};
}

/* The end of the ascending run that begins at `at`. */
static int run_end(const struct stage_list *list, int at)
{
  if (at < list->count) at++;
  while (at < list->count && list->entry[at - 1].number <= list->entry[at].number) at++;
  return at;
}

/* Merge entries [a, b) and [b, c) of a list into out[a], ..., out[c - 1]. */
static void merge(const struct stage_list *list, int a, int b, int c, struct stage_entry *out)
{
  const struct stage_entry *e = list->entry;
  for (int x = a, y = b, to = a; to < c; to++)
    out[to] = x < b && (y == c || e[x].number <= e[y].number) ? e[x++] : e[y++];
}

/* Lists are a few messages one behind the other, which are a few ascending runs each: neighbouring runs are merged
 * until there is one. */
static void sort(struct stage_list *list)
{
  if (run_end(list, 0) == list->count) return;
  struct stage_list other = {memory_alloc("let", sizeof *other.entry * (size_t)list->capacity), list->count,
                             list->capacity};
  while (run_end(list, 0) < list->count) {
    for (int a = 0, b, c; a < list->count; a = c) {
      b = run_end(list, a);
      c = run_end(list, b);
      merge(list, a, b, c, other.entry);
    }
    struct stage_list sorted = other;
    other = *list;
    *list = sorted;
  }
  stage_list_free(&other);
}

/* Number of entries of a sorted list that are of smaller depth than `depth`. */
static int below(const struct stage_list *list, int depth)
{
  int low = 0, high = list->count;
  while (low < high) {
    int middle = (low + high) / 2;
    if (list->entry[middle].number < (int32_t)1 << depth) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* --- summaries of groups ----------------------------------------------------------------------------------------- */

/* The squared softening of a cell, and whether all its particles have one of the classes. */
static float softening_of(const struct node *node, const float *eps2, int *class)
{
  uint32_t code = softening_bits(node->reach) & SOFTENING_CODE;
  *class = code < SOFTENING_CLASSES ? (int)code : -1;
  return softening_of_reach(node->reach, eps2);
}

/* Set radius and reach of the cell of two; b, b2: bounds on the distances of its particles and on the trace of their
 * second moments. */
static void set_reach(struct node *node, const struct node *child[2], double b, double b2,
                      const struct let_request *request)
{
  double spread = 0, mean = 0;
  int class[2] = {0, 0};
  if (request->eps2) {
    double e[2];
    for (int k = 0; k < 2; k++) e[k] = softening_of(child[k], request->eps2, &class[k]);
    mean = node->mass > 0 ? (child[0]->mass * e[0] + child[1]->mass * e[1]) / node->mass : fmax(e[0], e[1]);
    if (class[0] != class[1] || class[0] < 0) {
      spread = (double)request->eps2[SOFTENING_CLASSES - 1] - request->eps2[0];
      class[1] = class[0] - 1;
    }
  }
  double radius = softening_radius(b, spread);
  float whole = mac_reach(request->mac, node->mass, radius, b2 + node->mass * spread);
  node->b = (float)(radius * (1 + 1e-6));
  node->reach = request->mac->order == 1 ? MAC_CUT * whole : whole; /* faces of domains cut it */
  if (request->eps2) node->reach = softening_pack_reach(node->reach, class[0], class[1], (float)mean);
}

/* The cell of two, as src/cpu/moments.c makes it of children. */
static void join_cells(struct node *node, float quad[6], const struct let_top *a, const struct let_top *b,
                       const struct lattice *lattice, const struct let_request *request)
{
  const struct node *child[2] = {&a->node[0], &b->node[0]};
  const float *moments[2] = {a->quad[0], b->quad[0]};
  double mass = (double)child[0]->mass + child[1]->mass, radius = 0, b2 = 0, q[6] = {0};
  static const int axes[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};
  *node = (struct node){.mass = (float)mass, .info = NODE_TERMINAL};
  for (int c = 0; c < 3; c++) {
    double part = mass > 0 ? child[1]->mass / mass : 0.5;
    node->x[c] = lattice_clamp(child[0]->x[c] + part * ((double)child[1]->x[c] - child[0]->x[c]));
  }
  for (int k = 0; k < 2; k++) {
    double x[3], r2 = 0;
    for (int c = 0; c < 3; c++) {
      x[c] = ((double)child[k]->x[c] - node->x[c]) * lattice->spacing;
      r2 += x[c] * x[c];
    }
    radius = fmax(radius, sqrt(r2) + child[k]->b);
    b2 += child[k]->mass * (r2 + (double)child[k]->b * child[k]->b);
    for (int i = 0; i < 6; i++) q[i] += moments[k][i] + child[k]->mass * x[axes[i][0]] * x[axes[i][1]];
  }
  for (int i = 0; i < 6; i++) quad[i] = (float)q[i];
  set_reach(node, child, radius, request->quads ? q[0] + q[1] + q[2] : b2, request);
}

static void join_reach(struct let_reach *u, const struct let_reach *a, const struct let_reach *b)
{
  if (a->parts == 0 || b->parts == 0) a = b = a->parts ? a : b;
  if (a->parts == 0) return;
  for (int c = 0; c < 3; c++) {
    u->low[c] = fmin(a->low[c], b->low[c]);
    u->high[c] = fmax(a->high[c], b->high[c]);
    u->part_low[0][c] = 0;
    u->part_high[0][c] = REACH_STEPS;
  }
  u->parts = 1;
}

void stages_merge(struct let_summary *group, const struct let_summary *a, const struct let_summary *b,
                  const struct lattice *lattice, const struct let_request *request)
{
  static const struct let_summary none;
  const struct let_box boxes[] = {a->box, b ? b->box : a->box};
  memset(group, 0, sizeof *group);
  if (!b) b = &none;
  group->particles = a->particles + b->particles;
  group->boxes = (a->boxes > 0) + (b->boxes > 0);
  join_reach(&group->source, &a->source, &b->source);
  join_reach(&group->target, &a->target, &b->target);
  if (request->horizon > 0) return;
  group->box = a->boxes == 0 ? boxes[1] : b->boxes == 0 ? boxes[0] : let_union(boxes, 2, 0);
  if (a->top.cells > 0 && b->top.cells > 0) {
    group->top.cells = 1;
    join_cells(&group->top.node[0], group->top.quad[0], &a->top, &b->top, lattice, request);
  } else {
    group->top = a->top.cells > 0 ? a->top : b->top;
    top_cut(&group->top, 1);
  }
}

/* --- pairs of groups --------------------------------------------------------------------------------------------- */

int stages_near(const struct lattice *lattice, const struct let_request *request, const struct let_summary *a,
                const struct let_summary *b)
{
  return let_contact(lattice, a, b, request) == NEED_OPEN || let_contact(lattice, b, a, request) == NEED_OPEN;
}

void stage_memo_clear(struct stage_memo *memo)
{
  if (memo->count > 0) memset(memo->pair, 0, sizeof *memo->pair * (size_t)memo->capacity);
  memo->count = 0;
}

void stage_memo_free(struct stage_memo *memo)
{
  memory_free(memo->pair);
  *memo = (struct stage_memo){.pair = NULL};
}

/* The place of a pair, or the free one where it belongs. */
static uint64_t *memo_find(struct stage_memo *memo, uint64_t pair)
{
  int64_t at = (int64_t)((pair * 0x9e3779b97f4a7c15ULL) >> 20) & (memo->capacity - 1);
  while (memo->pair[at] && memo->pair[at] >> 1 != pair) at = (at + 1) & (memo->capacity - 1);
  return &memo->pair[at];
}

static void memo_reserve(struct stage_memo *memo)
{
  if (2 * memo->count < memo->capacity) return;
  struct stage_memo old = *memo;
  memo->capacity = old.capacity ? 2 * old.capacity : 1 << 12;
  memo->pair = memory_alloc("study", sizeof *memo->pair * (size_t)memo->capacity);
  for (int64_t k = 0; k < old.capacity; k++)
    if (old.pair[k]) *memo_find(memo, old.pair[k] >> 1) = old.pair[k];
  memory_free(old.pair);
}

static int near(const struct stages *stages, int32_t x, const struct let_summary *of_x, int32_t y,
                const struct let_summary *of_y)
{
  if (!stages->memo) return stages_near(stages->lattice, stages->request, of_x, of_y);
  memo_reserve(stages->memo);
  uint64_t pair = x < y ? (uint64_t)x << 31 | (uint64_t)y : (uint64_t)y << 31 | (uint64_t)x,
           *at = memo_find(stages->memo, pair);
  if (!*at) {
    *at = pair << 1 | (uint64_t)stages_near(stages->lattice, stages->request, of_x, of_y);
    stages->memo->count++;
  }
  return (int)(*at & 1);
}

/* From so many ranks on summaries come in stages: a rank receives 0.49 MB at a synchronisation on 512 ranks, with one
 * allgather 0.82 MB; on 128 both are 0.20 MB (doc/measurements.md, LET summaries in stages). */
enum { STAGES_RANKS = 512 };

int stages_ranks(void) { return (int)debug_value("let_stages", STAGES_RANKS); }

int stages_wanted(const struct let_request *request, int ranks)
{
  if (request->horizon > 0 && !let_by_reach(request)) return 0; /* every rank needs a LET of every other one */
  return ranks >= stages_ranks();
}

/* --- begin and end ----------------------------------------------------------------------------------------------- */

static int leaf_depth(const struct stages *stages) { return stages->tree->depth; }

const struct let_summary *stage_see(const struct let_request *request, const struct stage_entry *entry,
                                    struct let_summary *scratch)
{
  if (!entry->packed) return entry->summary;
  let_summary_unpack(request, entry->summary, scratch);
  return scratch;
}

void stages_open(struct stages *stages, const struct halves *tree, const struct lattice *lattice,
                 const struct let_request *request, int rank, const struct let_summary *own, struct let_summary **table)
{
  *stages = (struct stages){
      .tree = tree, .lattice = lattice, .request = request, .table = table, .number = halves_number(tree, rank)};
  struct let_summary *copy = table ? table[stages->number] : memory_alloc("let", sizeof *copy);
  if (!table) *copy = *own;
  stages->own[tree->depth + 1] = copy;
}

void stages_close(struct stages *stages)
{
  for (int k = 0; k <= STAGES_DEPTH && !stages->table; k++) {
    memory_free(stages->own[k]);
    memory_free(stages->other[k]);
  }
  for (int k = 0; k < stages->blocks; k++) memory_free(stages->block[k]);
  memory_free(stages->block);
  stage_list_free(&stages->held);
  stage_list_free(&stages->known);
  stage_list_free(&stages->group);
}

/* --- steps ------------------------------------------------------------------------------------------------------- */

int stages_steps(const struct halves *tree) { return 2 * tree->depth + 2; }

int stages_upwards(const struct halves *tree, int step) { return step <= tree->depth; }

static int upwards(const struct stages *stages, int step) { return stages_upwards(stages->tree, step); }
static int depth_of(const struct stages *stages, int step)
{
  return upwards(stages, step) ? leaf_depth(stages) + 1 - step : step - leaf_depth(stages);
}

int32_t stages_group(const struct stages *stages, int step)
{
  return halves_above(stages->number, depth_of(stages, step) - 1);
}

/* The leaf of this rank and the one with the same halves but of the depth `depth`: their numbers of ranks, and the
 * first rank of the other. */
struct leaf_pair {
  int index, ranks, others, first;
};

static struct leaf_pair leaves_at(const struct stages *stages, int depth)
{
  int32_t own = stages->number >> 1, other = own ^ (int32_t)1 << (leaf_depth(stages) - depth);
  struct leaf_pair l = {.index = stages->number & 1};
  l.ranks = halves_ranks(stages->tree, own, &l.first);
  l.others = halves_ranks(stages->tree, other, &l.first);
  return l;
}

/* Summaries of groups go to each rank of the other leaf from one rank of this one. */
static int sends_groups(const struct leaf_pair *leaves, int to)
{
  return smaller(to, leaves->ranks - 1) == leaves->index;
}
/* Summaries of a rank go to one rank of the other leaf. */
static int sends_ranks(const struct leaf_pair *leaves, int to)
{
  return leaves->ranks < leaves->others || smaller(leaves->index, leaves->others - 1) == to;
}
/* From the other side: what its rank `from` sends this rank. */
static int receives_any(const struct leaf_pair *leaves, int from, int up)
{
  struct leaf_pair there = {.index = from, .ranks = leaves->others, .others = leaves->ranks};
  return sends_groups(&there, leaves->index) || (!up && sends_ranks(&there, leaves->index));
}

struct stage_peers stages_peers(const struct stages *stages, int step)
{
  struct stage_peers p = {.sends = 0};
  int depth = depth_of(stages, step), up = upwards(stages, step), first;
  if (depth > leaf_depth(stages)) { /* the two ranks of a leaf */
    if (halves_ranks(stages->tree, stages->number >> 1, &first) < 2) return p;
    p.sends = p.receives = 1;
    p.to[0] = p.from[0] = stages->tree->rank[first + !(stages->number & 1)];
    return p;
  }
  struct leaf_pair l = leaves_at(stages, depth);
  for (int k = 0; k < l.others; k++) {
    if (sends_groups(&l, k) || (!up && sends_ranks(&l, k))) p.to[p.sends++] = stages->tree->rank[l.first + k];
    if (receives_any(&l, k, up)) p.from[p.receives++] = stages->tree->rank[l.first + k];
  }
  return p;
}

/* Of the held entries of depth `depth`, those that are near a group of this depth: near_[k] for the k-th of them.
 * `held` is sorted. Returns their number; *first: the first of them. */
static int find_near(const struct stages *stages, int depth, int32_t group, const struct let_summary *summary,
                     int *first, char **near_)
{
  int end = below(&stages->held, depth + 1);
  *first = below(&stages->held, depth);
  struct let_summary *scratch = memory_alloc("let", sizeof *scratch);
  *near_ = memory_alloc("let", (size_t)(end - *first + 1));
  for (int k = *first; k < end; k++)
    (*near_)[k - *first] = (char)near(stages, group, summary, stages->held.entry[k].number,
                                      stage_see(stages->request, &stages->held.entry[k], scratch));
  memory_free(scratch);
  return end - *first;
}

/* Whether a group of depth `depth` that contains `number` is among the entries [first, first + count) and near. *at: in
 * the first call `first`, then as the last call left it, with ascending numbers. */
static int above_near(const struct stages *stages, int depth, int32_t number, int first, int count, const char *near_,
                      int *at)
{
  int32_t above = halves_above(number, depth);
  if (*at > first && stages->held.entry[*at - 1].number >= above) *at = first; /* the numbers of the next depth */
  while (*at < first + count && stages->held.entry[*at].number < above) (*at)++;
  return *at < first + count && stages->held.entry[*at].number == above && near_[*at - first];
}

/* Where a leaf with one rank faces one with two, the rank of the two that gets the summary of rank `number`. */
static int rank_that_gets(const struct leaf_pair *leaves, int32_t number)
{
  return leaves->ranks < leaves->others ? (int)((uint32_t)number * 2654435769u >> 31) : -1;
}

/* Add an entry to the message to rank `to` of the other leaf, if it goes there. */
static void add_for(const struct stages *stages, const struct leaf_pair *leaves, int to, struct stage_entry entry,
                    struct stage_list *message)
{
  int rank = entry.number >> (leaf_depth(stages) + 1) > 0;
  if (rank ? sends_ranks(leaves, to) &&
                 (rank_that_gets(leaves, entry.number) < 0 || rank_that_gets(leaves, entry.number) == to)
           : sends_groups(leaves, to))
    add(message, entry);
}

/* Downwards: what the other half at `depth` needs of what this rank has. */
static void send_down(const struct stages *stages, int depth, int to, struct stage_list *message)
{
  struct leaf_pair l = leaves_at(stages, depth);
  char *near_;
  int first,
      count = find_near(stages, depth, halves_above(stages->number, depth) ^ 1, stages->other[depth], &first, &near_);
  int which = stages->tree->place[to] - l.first, at = first;
  for (int k = depth + 1; stages->near[depth] && k <= leaf_depth(stages) + 1; k++)
    add_for(stages, &l, which, (struct stage_entry){halves_above(stages->number, k), 0, stages->own[k]}, message);
  for (int k = first; k < stages->held.count; k++) {
    const struct stage_entry *e = &stages->held.entry[k];
    if (k < first + count || above_near(stages, depth, e->number, first, count, near_, &at))
      add_for(stages, &l, which, *e, message);
  }
  memory_free(near_);
}

void stages_send(const struct stages *stages, int step, int to, struct stage_list *message)
{
  int depth = depth_of(stages, step);
  message->count = 0;
  if (upwards(stages, step)) {
    add(message, (struct stage_entry){halves_above(stages->number, depth), 0, stages->own[depth]});
  } else if (depth <= leaf_depth(stages)) {
    send_down(stages, depth, to, message);
  } else {
    for (int k = 0; k < stages->held.count; k++) add(message, stages->held.entry[k]);
  }
}

void stages_receive(struct stages *stages, int step, const struct stage_list *message)
{
  int depth = depth_of(stages, step);
  if (upwards(stages, step)) stages->other[depth] = stages->table[message->entry[0].number];
  for (int k = 0; k < message->count && !upwards(stages, step); k++)
    add(depth <= leaf_depth(stages) ? &stages->held : &stages->known, message->entry[k]);
}

/* The group above depth `depth`, of the own group and its other half. */
static void end_up(struct stages *stages, int depth)
{
  int32_t own = halves_above(stages->number, depth), group = own >> 1;
  const struct let_summary *a = stages->own[depth], *b = stages->other[depth];
  if (depth <= leaf_depth(stages)) stages->near[depth] = (char)near(stages, own, a, own ^ 1, b);
  if (depth == 1) return;
  struct let_summary *made = stages->table ? stages->table[group] : NULL;
  if (!made) {
    made = memory_alloc("let", sizeof *made);
    stages_merge(made, own & 1 ? b : a, own & 1 ? a : b, stages->lattice, stages->request);
    if (stages->table) stages->table[group] = made;
  }
  stages->own[depth - 1] = made;
}

/* The groups of this depth are complete: those that are separated become results, and what is in them is dropped. */
static void end_down(struct stages *stages, int depth)
{
  struct stage_list kept = {.entry = NULL};
  char *near_;
  int32_t own = halves_above(stages->number, depth);
  sort(&stages->held);
  int first, count = find_near(stages, depth, own, stages->own[depth], &first, &near_), at = first;
  for (int k = first; k < stages->held.count; k++) {
    const struct stage_entry *e = &stages->held.entry[k];
    if (k < first + count && !near_[k - first]) add(&stages->group, *e);
    else if (k >= first + count && (halves_above(e->number, depth) == (own ^ 1) ||
                                    above_near(stages, depth, e->number, first, count, near_, &at)))
      add(&kept, *e);
  }
  memory_free(near_);
  stage_list_free(&stages->held);
  stages->held = kept;
  if (!stages->near[depth]) add(&stages->group, (struct stage_entry){own ^ 1, 0, stages->other[depth]});
}

/* What remains are ranks. */
static void end_all(struct stages *stages)
{
  int depth = leaf_depth(stages) + 1;
  for (int k = 0; k < stages->held.count; k++) add(&stages->known, stages->held.entry[k]);
  stage_list_free(&stages->held);
  if (stages->other[depth]) add(&stages->known, (struct stage_entry){stages->number ^ 1, 0, stages->other[depth]});
  sort(&stages->known);
  sort(&stages->group);
}

void stages_end(struct stages *stages, int step)
{
  int depth = depth_of(stages, step);
  if (upwards(stages, step)) end_up(stages, depth);
  else if (depth <= leaf_depth(stages)) end_down(stages, depth);
  else end_all(stages);
}

/* --- messages ---------------------------------------------------------------------------------------------------- */

/* The box of those for whom a message is; NULL: of all. */
static const struct let_box *box_of(const struct stages *stages, int step)
{
  return upwards(stages, step) || stages->request->horizon > 0 ? NULL : &stages->other[depth_of(stages, step)]->box;
}

size_t stages_bytes(const struct stages *stages, int step, const struct stage_list *message)
{
  const struct let_box *box = box_of(stages, step);
  struct let_summary *scratch = memory_alloc("let", sizeof *scratch);
  size_t bytes = 0;
  for (int k = 0; k < message->count; k++) {
    const struct let_summary *e = stage_see(stages->request, &message->entry[k], scratch);
    int spared = box ? e->top.cells - top_enough(NULL, &e->top, stages->lattice, box, stages->request) : 0;
    bytes +=
        sizeof(int32_t) + let_summary_length(stages->request, e) - (size_t)spared * let_cell_bytes(stages->request);
  }
  memory_free(scratch);
  return bytes;
}

size_t stages_pack(const struct stages *stages, int step, const struct stage_list *message, void *bytes)
{
  const struct let_box *box = box_of(stages, step);
  struct let_summary *scratch = memory_alloc("let", 2 * sizeof *scratch), *few = scratch + 1;
  char *at = bytes;
  for (int k = 0; k < message->count; k++) {
    const struct let_summary *e = stage_see(stages->request, &message->entry[k], scratch);
    memcpy(at, &message->entry[k].number, sizeof(int32_t));
    if (box) {
      *few = *e;
      top_enough(&few->top, &e->top, stages->lattice, box, stages->request);
      e = few;
    }
    at += sizeof(int32_t);
    at += let_summary_pack(stages->request, e, at);
  }
  memory_free(scratch);
  return (size_t)(at - (char *)bytes);
}

void stages_unpack(struct stages *stages, int step, char *bytes, size_t length)
{
  int depth = depth_of(stages, step);
  struct let_summary *scratch = memory_alloc("let", sizeof *scratch);
  for (const char *at = bytes; at < bytes + length;) {
    struct stage_entry e = {.packed = 1, .summary = at + sizeof e.number};
    memcpy(&e.number, at, sizeof e.number);
    at += sizeof e.number;
    at += let_summary_unpack(stages->request, at, scratch);
    if (!upwards(stages, step)) add(depth <= leaf_depth(stages) ? &stages->held : &stages->known, e);
  }
  if (upwards(stages, step)) {
    stages->other[depth] = scratch;
    memory_free(bytes);
    return;
  }
  memory_free(scratch);
  stages->block = memory_resize("let", stages->block, sizeof *stages->block * (size_t)(stages->blocks + 1));
  stages->block[stages->blocks++] = bytes;
  stages->block_bytes += length;
}
