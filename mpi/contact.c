/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank needs of another, as both derive it from their summaries, and the boxes that it sends for it. */
#include <config.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "backend/let_verbs.h"
#include "base/debug.h"
#include "mpi/let.h"
#include "mpi/reach.h"

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
  if (!(r->horizon > 0)) return essential_need(l, &sender->root, &sender->motion, &receiver->box, r);
  if (!by_reach(r)) return NEED_OPEN;
  const struct let_reach *target = r->active ? &receiver->target : &receiver->source;
  for (int k = 0; k < target->parts; k++) {
    struct cuboid part = reach_part(target, k);
    if (reaches(&sender->source, &part, r->cutoff)) return NEED_OPEN;
  }
  return NEED_NOTHING;
}

/* --- summaries --------------------------------------------------------------------------------------------------- */

/* The most boxes of an exchange in which boxes are sent only to ranks near them. */
static int boxes_by_reach(const struct backend *be, int ranks)
{
  int some = be->particle_bytes > 0 && ranks < LET_BOXES / LET_BOXES_RANK ? LET_BOXES_RANK * ranks : LET_BOXES;
  return (int)debug_value("let_boxes", some > LET_BOXES_ALL ? some : LET_BOXES_ALL);
}

void let_summarise(const struct backend *be, struct device *d, int ranks, const struct let_request *request, struct let_box *boxes,
                   struct let_summary *summary)
{
  int most = by_reach(request) ? boxes_by_reach(be, ranks) : LET_BOXES_ALL;
  be->let->summary(d, request, summary);
  if (by_reach(request) && request->active) {   /* sources are all particles */
    struct let_request all = *request;
    all.active = 0;
    reach_make(&summary->source, boxes, be->let->boxes(d, &all, most, boxes), &all);
  }
  summary->boxes = be->let->boxes(d, request, most, boxes);
  summary->box = let_union(boxes, summary->boxes, request->horizon);
  if (by_reach(request)) reach_make(request->active ? &summary->target : &summary->source, boxes, summary->boxes, request);
}

/* The bytes of a summary that an exchange needs: [0, FIRST) and [*begin, *end). */
enum { FIRST = offsetof(struct let_summary, root) };

static void needed_bytes(const struct let_request *r, size_t *begin, size_t *end)
{
  *begin = r->horizon > 0 ? offsetof(struct let_summary, source) : FIRST;
  *end = !(r->horizon > 0) ? offsetof(struct let_summary, source)
         : !by_reach(r)    ? *begin
         : r->active       ? sizeof(struct let_summary)
                           : offsetof(struct let_summary, target);
}

size_t let_summary_bytes(const struct let_request *r)
{
  size_t begin, end;
  needed_bytes(r, &begin, &end);
  return FIRST + end - begin;
}

void let_summary_pack(const struct let_request *r, const struct let_summary *s, void *message)
{
  size_t begin, end;
  needed_bytes(r, &begin, &end);
  memcpy(message, s, FIRST);
  memcpy((char *)message + FIRST, (const char *)s + begin, end - begin);
}

void let_summary_unpack(const struct let_request *r, const void *message, struct let_summary *s)
{
  size_t begin, end;
  needed_bytes(r, &begin, &end);
  memset(s, 0, sizeof *s);
  memcpy(s, message, FIRST);
  memcpy((char *)s + begin, (const char *)message + FIRST, end - begin);
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
