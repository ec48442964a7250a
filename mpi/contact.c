/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank needs of another, as both derive it from their summaries, and the boxes that it sends for it. */
#include <config.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "backend/let_verbs.h"
#include "base/debug.h"
#include "mpi/let.h"
#include "mpi/reach.h"
#include "tree/upper.h"

struct let_box let_union(const struct let_box *boxes, int count, double horizon)
{
  struct let_box u = {{1e300, 1e300, 1e300}, {-1e300, -1e300, -1e300}, 1e300, {0}, 0};
  for (int b = 0; b < count; b++) {
    u.a_old = fmin(u.a_old, boxes[b].a_old);
    u.a_spread = fmax(u.a_spread, boxes[b].a_spread);
    for (int c = 0; c < 3; c++) u.v[c] += boxes[b].v[c] / count;
  }
  for (int b = 0; b < count; b++)
    for (int c = 0; c < 3; c++) {
      double displacement = (boxes[b].v[c] - u.v[c]) * horizon;   /* of the box in the frame of all */
      u.low[c] = fmin(u.low[c], boxes[b].low[c] + fmin(displacement, 0));
      u.high[c] = fmax(u.high[c], boxes[b].high[c] + fmax(displacement, 0));
    }
  return u;
}

/* 1: contacts and boxes are those of particles that can come within the cutoff of each other. */
static int by_reach(const struct let_request *r) { return r->horizon > 0 && r->cutoff >= 0; }

enum need let_contact(const struct lattice *l, const struct let_summary *sender, const struct let_summary *receiver,
                      const struct let_request *r)
{
  if (sender->particles == 0 || receiver->boxes == 0) return NEED_NOTHING;
  if (!(r->horizon > 0)) return top_need(l, &sender->top, &receiver->box, r);
  if (!by_reach(r)) return NEED_OPEN;
  const struct let_reach *target = r->active ? &receiver->target : &receiver->source;
  for (int k = 0; k < target->parts; k++) {
    struct cuboid part = reach_part(target, k);
    if (reaches(&sender->source, &part, r->cutoff)) return NEED_OPEN;
  }
  return NEED_NOTHING;
}

/* --- summaries --------------------------------------------------------------------------------------------------- */

/* Most ranks whose tops have TOP_CELLS: summaries with second moments are 3.4 MB then. */
enum { TOP_RANKS = 2048 };

int let_top_cells(int ranks) { return ranks <= TOP_RANKS ? TOP_CELLS : TOP_FEW; }

/* The most boxes of an exchange in which boxes are sent only to ranks near them. */
static int boxes_by_reach(const struct backend *be, int ranks)
{
  int some = be->particle_bytes > 0 && ranks < LET_BOXES / LET_BOXES_RANK ? LET_BOXES_RANK * ranks : LET_BOXES;
  return (int)debug_value("let_boxes", some > LET_BOXES_ALL ? some : LET_BOXES_ALL);
}

void let_tops(const struct backend *be, int ranks, struct let_request *r)
{
  r->quads = be->let->quads ? be->let->quads(r) : r->mac->order == 2;
  r->cells = let_top_cells(ranks);
}

void let_summarise(const struct backend *be, struct device *d, int ranks, const struct let_request *request, struct let_box *boxes,
                   struct let_summary *summary)
{
  int most = by_reach(request) ? boxes_by_reach(be, ranks) : LET_BOXES_ALL, soft = !(request->horizon > 0);
  int count = soft ? be->let->boxes(d, request, most, boxes) : 0;   /* before the summary: a device waits once for both */
  be->let->summary(d, request, summary);
  if (soft) top_cut(&summary->top, top_most(request));
  if (by_reach(request) && request->active) {   /* sources are all particles */
    struct let_request all = *request;
    all.active = 0;
    reach_make(&summary->source, boxes, be->let->boxes(d, &all, most, boxes), &all);
  }
  summary->boxes = soft ? count : be->let->boxes(d, request, most, boxes);
  summary->box = let_union(boxes, summary->boxes, request->horizon);
  if (by_reach(request)) reach_make(request->active ? &summary->target : &summary->source, boxes, summary->boxes, request);
}

/* A summary as a message of an exchange at a synchronisation: this, its cells [top_most], for each of them a byte with its children, and
 * where walks use them the second moments. */
struct soft_summary {
  int64_t particles;
  int32_t boxes, cells;
  double low[3], high[3], a_old;   /* of the box around all */
};
struct top_cell {
  int32_t x[3];
  float mass, b, reach;
};
/* The byte of children: the first one, and FIRST times their number less one; 0: closed. */
enum { FIRST = 32, SUMMARY_HEAD = offsetof(struct let_summary, box) };
_Static_assert((int)TOP_CELLS <= (int)FIRST, "the place of a child fits into five bits, the number of children less one into three");

/* The bytes of a summary for substeps: [0, SUMMARY_HEAD), and so many from `source` on. */
static size_t reach_bytes(const struct let_request *r)
{
  if (!by_reach(r)) return 0;
  return (r->active ? sizeof(struct let_summary) : offsetof(struct let_summary, target)) - offsetof(struct let_summary, source);
}

size_t let_summary_bytes(const struct let_request *r)
{
  if (r->horizon > 0) return SUMMARY_HEAD + reach_bytes(r);
  size_t cell = sizeof(struct top_cell) + 1 + (r->quads ? sizeof(float[6]) : 0);
  return sizeof(struct soft_summary) + (size_t)top_most(r) * cell;
}

/* The arrays of cells and of their children in a message; second moments follow. */
static char *cells_at(const void *message) { return (char *)(uintptr_t)message + sizeof(struct soft_summary); }
static char *children_at(const struct let_request *r, const void *message) { return cells_at(message) + sizeof(struct top_cell) * (size_t)top_most(r); }

static void pack_soft(const struct let_request *r, const struct let_summary *s, void *message)
{
  struct soft_summary c = {.particles = s->particles, .boxes = s->boxes, .cells = s->top.cells, .a_old = s->box.a_old};
  char *cell = cells_at(message), *children = children_at(r, message);
  memset(message, 0, let_summary_bytes(r));
  memcpy(c.low, s->box.low, sizeof c.low);
  memcpy(c.high, s->box.high, sizeof c.high);
  memcpy(message, &c, sizeof c);
  for (int k = 0; k < c.cells; k++) {
    const struct node *n = &s->top.node[k];
    struct top_cell to = {{n->x[0], n->x[1], n->x[2]}, n->mass, n->b, n->reach};
    memcpy(cell + sizeof to * (size_t)k, &to, sizeof to);
    children[k] = n->info & NODE_TERMINAL ? 0 : (char)((uint32_t)n->first + FIRST * (n->info - 1));
  }
  if (r->quads) memcpy(children + top_most(r), s->top.quad, sizeof *s->top.quad * (size_t)c.cells);
}

static void unpack_soft(const struct let_request *r, const void *message, struct let_summary *s)
{
  struct soft_summary c;
  const char *cell = cells_at(message), *children_of = children_at(r, message);
  memcpy(&c, message, sizeof c);
  s->particles = c.particles;
  s->boxes = c.boxes;
  s->box.a_old = c.a_old;
  memcpy(s->box.low, c.low, sizeof c.low);
  memcpy(s->box.high, c.high, sizeof c.high);
  s->top.cells = c.cells;
  for (int k = 0; k < c.cells; k++) {
    struct top_cell from;
    uint32_t children = (uint8_t)children_of[k];
    memcpy(&from, cell + sizeof from * (size_t)k, sizeof from);
    struct node n = {.x = {from.x[0], from.x[1], from.x[2]}, .mass = from.mass, .b = from.b, .reach = from.reach, .info = NODE_TERMINAL};
    if (children > 0) n.first = (int32_t)(children % FIRST), n.info = children / FIRST + 1;
    s->top.node[k] = n;
  }
  if (r->quads) memcpy(s->top.quad, children_of + top_most(r), sizeof *s->top.quad * (size_t)c.cells);
}

void let_summary_pack(const struct let_request *r, const struct let_summary *s, void *message)
{
  if (!(r->horizon > 0)) {
    pack_soft(r, s, message);
    return;
  }
  memcpy(message, s, SUMMARY_HEAD);
  memcpy((char *)message + SUMMARY_HEAD, (const char *)s + offsetof(struct let_summary, source), reach_bytes(r));
}

void let_summary_unpack(const struct let_request *r, const void *message, struct let_summary *s)
{
  memset(s, 0, sizeof *s);
  if (!(r->horizon > 0)) {
    unpack_soft(r, message, s);
    return;
  }
  memcpy(s, message, SUMMARY_HEAD);
  memcpy((char *)s + offsetof(struct let_summary, source), (const char *)message + SUMMARY_HEAD, reach_bytes(r));
}

/* --- boxes of a receiver ----------------------------------------------------------------------------------------- */

/* A box in a message, its position relative to the origin at the begin of the message. */
struct packed_box {
  float low[3], high[3], v[3], a_old, a_spread;
};

static float rounded_down(double x)
{
  float f = (float)x;
  return (double)f > x ? nextafterf(f, -HUGE_VALF) : f;
}

static float rounded_up(double x) { return -rounded_down(-x); }

/* Round a box outwards; so that the particles stay in it in the frame of the rounded velocity, by the difference of the displacements, too. */
static struct packed_box pack_box(const struct let_box *b, const double origin[3], double horizon)
{
  struct packed_box p = {.a_old = rounded_down(b->a_old), .a_spread = rounded_up(b->a_spread)};
  for (int c = 0; c < 3; c++) {
    p.v[c] = (float)b->v[c];
    double displacement = (b->v[c] - p.v[c]) * horizon, rounding = 4e-16 * (fabs(b->low[c]) + fabs(b->high[c]) + fabs(origin[c]));
    p.low[c] = rounded_down(b->low[c] - origin[c] + fmin(displacement, 0) - rounding);
    p.high[c] = rounded_up(b->high[c] - origin[c] + fmax(displacement, 0) + rounding);
  }
  return p;
}

static struct let_box unpack_box(const struct packed_box *p, const double origin[3])
{
  struct let_box b = {.a_old = p->a_old, .a_spread = p->a_spread};
  for (int c = 0; c < 3; c++) b.low[c] = origin[c] + p->low[c], b.high[c] = origin[c] + p->high[c], b.v[c] = p->v[c];
  return b;
}

enum { ORIGIN = 3 * sizeof(double) };

size_t let_boxes_pack(const struct let_summary *sender, const struct let_box *boxes, int count, const struct let_request *r, void *message)
{
  if (!by_reach(r)) {
    memcpy(message, boxes, sizeof *boxes * (size_t)count);
    return sizeof *boxes * (size_t)count;
  }
  size_t bytes = 0;
  for (int b = 0; b < count; b++) {
    struct cuboid a = cuboid_of(&boxes[b], r);
    if (!reaches(&sender->source, &a, r->cutoff)) continue;
    if (bytes == 0) memcpy(message, boxes[b].low, bytes = ORIGIN);
    double origin[3];
    memcpy(origin, message, ORIGIN);
    struct packed_box p = pack_box(&boxes[b], origin, r->horizon);
    memcpy((char *)message + bytes, &p, sizeof p);
    bytes += sizeof p;
  }
  return bytes;
}

int let_boxes_unpack(const struct let_request *r, const void *message, size_t bytes, struct let_box *boxes)
{
  if (!by_reach(r)) {
    if (bytes) memcpy(boxes, message, bytes);
    return (int)(bytes / sizeof *boxes);
  }
  int count = bytes > 0 ? (int)((bytes - ORIGIN) / sizeof(struct packed_box)) : 0;
  for (int b = 0; b < count; b++) {
    struct packed_box p;
    double origin[3];
    memcpy(origin, message, ORIGIN);
    memcpy(&p, (const char *)message + ORIGIN + sizeof p * (size_t)b, sizeof p);
    boxes[b] = unpack_box(&p, origin);
  }
  return count;
}
