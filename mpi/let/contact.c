/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank needs of another, as both derive it from their summaries, and the boxes that it sends for it. */
#include <config.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "backend/let_verbs.h"
#include "base/debug.h"
#include "mpi/let/let.h"
#include "mpi/let/reach.h"
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
      double displacement = (boxes[b].v[c] - u.v[c]) * horizon; /* of the box in the frame of all */
      u.low[c] = fmin(u.low[c], boxes[b].low[c] + fmin(displacement, 0));
      u.high[c] = fmax(u.high[c], boxes[b].high[c] + fmax(displacement, 0));
    }
  return u;
}

enum need let_contact(const struct lattice *lattice, const struct let_summary *sender,
                      const struct let_summary *receiver, const struct let_request *request)
{
  if (sender->particles == 0 || receiver->boxes == 0) return NEED_NOTHING;
  if (!(request->horizon > 0)) return top_need(lattice, &sender->top, &receiver->box, request);
  if (!let_by_reach(request)) return NEED_OPEN;
  const struct let_reach *target = request->active ? &receiver->target : &receiver->source;
  for (int k = 0; k < target->parts; k++) {
    struct cuboid part = reach_part(target, k);
    if (reaches(&sender->source, &part, request->cutoff)) return NEED_OPEN;
  }
  return NEED_NOTHING;
}

/* --- summaries --------------------------------------------------------------------------------------------------- */

static float rounded_down(double x)
{
  float f = (float)x;
  return (double)f > x ? nextafterf(f, -HUGE_VALF) : f;
}

static float rounded_up(double x) { return -rounded_down(-x); }

/* A box at rest that a message holds without rounding. */
static void round_box(struct let_box *box)
{
  const struct let_box at = *box;
  *box = (struct let_box){.a_old = rounded_down(at.a_old)};
  for (int c = 0; c < 3; c++) {
    box->low[c] = rounded_down(at.low[c]);
    box->high[c] = rounded_up(at.high[c]);
  }
}

/* The most boxes of an exchange in which boxes are sent only to ranks near them. */
static int boxes_by_reach(const struct backend *be, int ranks, const struct let_request *request)
{
  int some = (be->particle_bytes > 0 || request->as_device) && ranks < LET_BOXES / LET_BOXES_RANK
                 ? LET_BOXES_RANK * ranks
                 : LET_BOXES;
  return (int)debug_value("let_boxes", some > LET_BOXES_ALL ? some : LET_BOXES_ALL);
}

void let_tops(const struct backend *be, struct let_request *request)
{
  request->quads = be->let->quads ? be->let->quads(request) : request->mac->order == 2;
}

void let_begin_boxes(const struct backend *be, struct device *d, const struct let_request *request)
{
  if (be->let->begin_boxes) be->let->begin_boxes(d, request, LET_BOXES_ALL);
}

void let_summarise(const struct backend *be, struct device *d, int ranks, const struct let_request *request,
                   struct let_box *boxes, struct let_summary *summary)
{
  int most = let_by_reach(request) ? boxes_by_reach(be, ranks, request) : LET_BOXES_ALL, soft = !(request->horizon > 0);
  int count = soft ? be->let->boxes(d, request, most, boxes) : 0; /* before the summary: a device waits once for both */
  be->let->summary(d, request, summary);
  if (soft) top_cut(&summary->top, top_most());
  if (let_by_reach(request) && request->active) { /* sources are all particles */
    struct let_request all = *request;
    all.active = 0;
    reach_make(&summary->source, boxes, be->let->boxes(d, &all, most, boxes), &all);
  }
  summary->boxes = soft ? count : be->let->boxes(d, request, most, boxes);
  summary->box = let_union(boxes, summary->boxes, request->horizon);
  if (soft) round_box(&summary->box);
  if (let_by_reach(request))
    reach_make(request->active ? &summary->target : &summary->source, boxes, summary->boxes, request);
}

/* A summary as a message of an exchange at a synchronisation: this, its cells, for each of them a byte with its
 * children, and where walks use them the second moments. */
struct soft_summary {
  float low[3], high[3], a_old;         /* of the box around all */
  uint8_t cells, particles, boxes, pad; /* particles, boxes: 1 where there are any */
};
struct top_cell {
  int32_t x[3];
  float mass, b, reach;
};
/* The byte of children: the first one, and CHILDREN_UNIT times their number less one; CHILDREN_CLOSED, CHILDREN_ENOUGH:
 * there are none. */
enum {
  CHILDREN_UNIT = 32,
  CHILDREN_CLOSED = 0,
  CHILDREN_ENOUGH = CHILDREN_UNIT,
  SUMMARY_HEAD = offsetof(struct let_summary, box)
};
_Static_assert((int)TOP_CELLS <= (int)CHILDREN_UNIT,
               "the place of a child fits into five bits, the number of children less one into three");

size_t let_cell_bytes(const struct let_request *request)
{
  return sizeof(struct top_cell) + 1 + (request->quads ? sizeof(float[6]) : 0);
}

static size_t soft_bytes(const struct let_request *request, int cells)
{
  return sizeof(struct soft_summary) + (size_t)cells * let_cell_bytes(request);
}

/* Of a summary for substeps: its begin, [0, SUMMARY_HEAD), and of each reach the cuboid of all, the number of parts and
 * the parts. */
enum { REACH_HEAD = 6 * sizeof(double) + 2 * sizeof(int32_t), REACH_PART = 6 * sizeof(uint16_t) };

static int reach_count(const struct let_request *request) { return let_by_reach(request) ? 1 + request->active : 0; }

size_t let_summary_bytes(const struct let_request *request)
{
  if (request->horizon > 0)
    return SUMMARY_HEAD + (size_t)reach_count(request) * (REACH_HEAD + REACH_PARTS * REACH_PART);
  return soft_bytes(request, top_most());
}

static size_t pack_soft(const struct let_request *request, const struct let_summary *summary, char *message)
{
  struct soft_summary c = {.a_old = (float)summary->box.a_old,
                           .cells = (uint8_t)summary->top.cells,
                           .particles = summary->particles > 0,
                           .boxes = summary->boxes > 0};
  char *cell = message + sizeof c, *children = cell + sizeof(struct top_cell) * (size_t)c.cells;
  for (int k = 0; k < 3; k++) {
    c.low[k] = (float)summary->box.low[k];
    c.high[k] = (float)summary->box.high[k];
  }
  memcpy(message, &c, sizeof c);
  for (int k = 0; k < c.cells; k++) {
    const struct node *n = &summary->top.node[k];
    struct top_cell to = {{n->x[0], n->x[1], n->x[2]}, n->mass, n->b, n->reach};
    memcpy(cell + sizeof to * (size_t)k, &to, sizeof to);
    children[k] = n->info == TOP_ENOUGH     ? CHILDREN_ENOUGH
                  : n->info & NODE_TERMINAL ? CHILDREN_CLOSED
                                            : (char)((uint32_t)n->first + CHILDREN_UNIT * (n->info - 1));
  }
  if (request->quads && c.cells)
    memcpy(children + c.cells, summary->top.quad, sizeof *summary->top.quad * (size_t)c.cells);
  return soft_bytes(request, c.cells);
}

static size_t unpack_soft(const struct let_request *request, const char *message, struct let_summary *summary)
{
  struct soft_summary c;
  memcpy(&c, message, sizeof c);
  const char *cell = message + sizeof c, *children_of = cell + sizeof(struct top_cell) * (size_t)c.cells;
  summary->particles = c.particles;
  summary->boxes = c.boxes;
  summary->box.a_old = c.a_old;
  for (int k = 0; k < 3; k++) {
    summary->box.low[k] = c.low[k];
    summary->box.high[k] = c.high[k];
  }
  summary->top.cells = c.cells;
  for (int k = 0; k < c.cells; k++) {
    struct top_cell from;
    uint32_t children = (uint8_t)children_of[k];
    memcpy(&from, cell + sizeof from * (size_t)k, sizeof from);
    struct node n = {.x = {from.x[0], from.x[1], from.x[2]},
                     .mass = from.mass,
                     .b = from.b,
                     .reach = from.reach,
                     .info = NODE_TERMINAL};
    if (children == CHILDREN_ENOUGH) n.info = TOP_ENOUGH;
    else if (children != CHILDREN_CLOSED) {
      n.first = (int32_t)(children % CHILDREN_UNIT);
      n.info = children / CHILDREN_UNIT + 1;
    }
    summary->top.node[k] = n;
  }
  if (request->quads && c.cells)
    memcpy(summary->top.quad, children_of + c.cells, sizeof *summary->top.quad * (size_t)c.cells);
  return soft_bytes(request, c.cells);
}

static size_t pack_reach(const struct let_reach *from, char *message)
{
  const int32_t parts[2] = {from->parts, 0};
  char *at = message + REACH_HEAD;
  memcpy(message, from->low, sizeof from->low);
  memcpy(message + sizeof from->low, from->high, sizeof from->high);
  memcpy(message + 2 * sizeof from->low, parts, sizeof parts);
  for (int k = 0; k < parts[0]; k++, at += REACH_PART) {
    memcpy(at, from->part_low[k], REACH_PART / 2);
    memcpy(at + REACH_PART / 2, from->part_high[k], REACH_PART / 2);
  }
  return (size_t)(at - message);
}

static size_t unpack_reach(const char *message, struct let_reach *to)
{
  const char *at = message + REACH_HEAD;
  memcpy(to->low, message, sizeof to->low);
  memcpy(to->high, message + sizeof to->low, sizeof to->high);
  memcpy(&to->parts, message + 2 * sizeof to->low, sizeof to->parts);
  for (int k = 0; k < to->parts; k++, at += REACH_PART) {
    memcpy(to->part_low[k], at, REACH_PART / 2);
    memcpy(to->part_high[k], at + REACH_PART / 2, REACH_PART / 2);
  }
  return (size_t)(at - message);
}

size_t let_summary_length(const struct let_request *request, const struct let_summary *summary)
{
  if (!(request->horizon > 0)) return soft_bytes(request, summary->top.cells);
  const struct let_reach *reach[] = {&summary->source, &summary->target};
  size_t bytes = SUMMARY_HEAD;
  for (int k = 0; k < reach_count(request); k++) bytes += REACH_HEAD + (size_t)reach[k]->parts * REACH_PART;
  return bytes;
}

size_t let_summary_pack(const struct let_request *request, const struct let_summary *summary, void *message)
{
  if (!(request->horizon > 0)) return pack_soft(request, summary, message);
  const struct let_reach *reach[] = {&summary->source, &summary->target};
  size_t bytes = SUMMARY_HEAD;
  memcpy(message, summary, SUMMARY_HEAD);
  for (int k = 0; k < reach_count(request); k++) bytes += pack_reach(reach[k], (char *)message + bytes);
  return bytes;
}

size_t let_summary_unpack(const struct let_request *request, const void *message, struct let_summary *summary)
{
  memset(summary, 0, sizeof *summary);
  if (!(request->horizon > 0)) return unpack_soft(request, message, summary);
  struct let_reach *reach[] = {&summary->source, &summary->target};
  size_t bytes = SUMMARY_HEAD;
  memcpy(summary, message, SUMMARY_HEAD);
  for (int k = 0; k < reach_count(request); k++) bytes += unpack_reach((const char *)message + bytes, reach[k]);
  return bytes;
}

/* --- boxes of a receiver ----------------------------------------------------------------------------------------- */

/* A box in a message, its position relative to the origin at the begin of the message. */
struct packed_box {
  float low[3], high[3], v[3], a_old, a_spread;
};

/* Round a box outwards; so that the particles stay in it in the frame of the rounded velocity, by the difference of the
 * displacements, too. */
static struct packed_box pack_box(const struct let_box *box, const double origin[3], double horizon)
{
  struct packed_box p = {.a_old = rounded_down(box->a_old), .a_spread = rounded_up(box->a_spread)};
  for (int c = 0; c < 3; c++) {
    p.v[c] = (float)box->v[c];
    double displacement = (box->v[c] - p.v[c]) * horizon,
           rounding = 4e-16 * (fabs(box->low[c]) + fabs(box->high[c]) + fabs(origin[c]));
    p.low[c] = rounded_down(box->low[c] - origin[c] + fmin(displacement, 0) - rounding);
    p.high[c] = rounded_up(box->high[c] - origin[c] + fmax(displacement, 0) + rounding);
  }
  return p;
}

static struct let_box unpack_box(const struct packed_box *packed, const double origin[3])
{
  struct let_box b = {.a_old = packed->a_old, .a_spread = packed->a_spread};
  for (int c = 0; c < 3; c++) {
    b.low[c] = origin[c] + packed->low[c];
    b.high[c] = origin[c] + packed->high[c];
    b.v[c] = packed->v[c];
  }
  return b;
}

enum { ORIGIN = 3 * sizeof(double) };

size_t let_boxes_pack(const struct let_summary *sender, const struct let_box *boxes, int count,
                      const struct let_request *request, void *message)
{
  if (!let_by_reach(request)) {
    memcpy(message, boxes, sizeof *boxes * (size_t)count);
    return sizeof *boxes * (size_t)count;
  }
  size_t bytes = 0;
  for (int b = 0; b < count; b++) {
    struct cuboid a = cuboid_of(&boxes[b], request);
    if (!reaches(&sender->source, &a, request->cutoff)) continue;
    if (bytes == 0) memcpy(message, boxes[b].low, bytes = ORIGIN);
    double origin[3];
    memcpy(origin, message, ORIGIN);
    struct packed_box p = pack_box(&boxes[b], origin, request->horizon);
    memcpy((char *)message + bytes, &p, sizeof p);
    bytes += sizeof p;
  }
  return bytes;
}

int let_boxes_unpack(const struct let_request *request, const void *message, size_t bytes, struct let_box *boxes)
{
  if (!let_by_reach(request)) {
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
