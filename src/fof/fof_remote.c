/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Particles near other domains are sent to these. Of two domains one sends: the nearer half of the ranks behind a rank,
 * counted round. They are sent in rounds of so many ranks that a round needs about the memory of a domain: with a
 * linking length of the width of domains each rank may send all to all. */
#include <config.h>
#include <stdlib.h>
#include <string.h>

#include "base/debug.h"
#include "base/memory.h"
#include "fof/fof_ranks.h"

enum { ROUND_MIN = 1 << 16 }; /* records of a round that are always allowed */

/* A particle near another domain, with the label of its component. */
struct traveller {
  uint64_t label;
  double pos[3];
};

/* Records for other ranks: first counted, then collected in `records`. */
struct load {
  struct fof_domain *d;
  struct traveller *record; /* NULL: they are counted */
  int64_t count;
};

static void take(void *to, int64_t point)
{
  struct load *p = to;
  const struct fof_domain *d = p->d;
  int64_t component = d->component[point];
  if (p->record) {
    struct traveller *t = &p->record[p->count];
    t->label = d->label[component];
    memcpy(t->pos, d->tree.point[point].pos, sizeof t->pos);
    d->shared[component] = 1;
  }
  p->count++;
}

/* Whether this rank sends to the rank `shift` behind it, rather than the other way round. */
static int sends(const struct comm *comm, int shift)
{
  return 2 * shift < comm->size || (2 * shift == comm->size && comm->rank < shift);
}

/* The first shift that is not in the round that begins with `first`. count[shift]: the largest number of records of any
 * rank. */
static int end_of_round(const struct comm *comm, const double *count, int first, double limit)
{
  double sum = 0;
  int shift = first;
  while (shift < comm->size && (shift == first || sum + count[shift] <= limit)) sum += count[shift++];
  return shift;
}

/* Send the records of ranks that are first to end - 1 behind. Returns those received. */
static struct traveller *travel(struct fof_domain *domain, const double *record_count, int first, int end,
                                int64_t *received)
{
  const struct comm *c = domain->c;
  int64_t *to = memory_alloc("fof", sizeof *to * (size_t)c->size);
  double all = 0;
  for (int shift = first; shift < end; shift++) all += record_count[shift];
  struct load p = {domain, memory_alloc("fof", sizeof *p.record * ((size_t)all + 1)), 0};
  for (int r = 0; r < c->size; r++) {
    int shift = (r - c->rank + c->size) % c->size;
    if (shift < first || shift >= end || !sends(c, shift)) continue;
    int64_t before = p.count;
    fof_tree_export(&domain->tree, &domain->box[r], take, &p);
    to[r] = p.count - before;
  }
  struct traveller *got = fof_exchange(c, p.record, sizeof *got, to, NULL, received);
  memory_free(p.record);
  memory_free(to);
  return got;
}

/* Join what has arrived with the components of this domain. A component of another domain is one element. */
static void receive(struct fof_domain *domain, struct traveller *traveller, int64_t count)
{
  int64_t fresh = 0;
  if (count > 1) qsort(traveller, (size_t)count, sizeof *traveller, fof_by_label);
  for (int64_t i = 0; i < count; i++) fresh += i == 0 || traveller[i].label != traveller[i - 1].label;
  int64_t element = fof_tree_grow(&domain->tree, domain->elements, fresh) - 1;
  domain->guest = memory_resize("fof", domain->guest, sizeof *domain->guest * (size_t)(domain->guests + fresh + 1));
  for (int64_t i = 0; i < count; i++) {
    if (i == 0 || traveller[i].label != traveller[i - 1].label) {
      element++;
      domain->guest[domain->guests++] = traveller[i].label;
    }
    fof_tree_attach(&domain->tree, traveller[i].pos, element);
  }
  domain->elements += fresh;
}

/* The pairs that joined components give: each label of a component with guests, with the smallest one. */
static struct fof_pair *pairs_of(struct fof_domain *domain, int64_t *pairs)
{
  struct fof_tree *t = &domain->tree;
  int64_t n = t->points, record_count = 0;
  uint64_t *least = memory_alloc("fof", sizeof *least * (size_t)(domain->elements + 1));
  char *with_guests = memory_alloc("fof", (size_t)(domain->elements + 1));
  memset(least, 0xff, sizeof *least * (size_t)domain->elements);
  for (int64_t e = n; e < domain->elements; e++) with_guests[fof_tree_root(t, e)] = 1;
  for (int64_t e = 0; e < domain->elements; e++) {
    int64_t root = fof_tree_root(t, e);
    uint64_t label = e < n ? domain->label[e] : domain->guest[e - n];
    if ((e < n && domain->component[e] != e) || !with_guests[root]) continue;
    if (label < least[root]) least[root] = label;
    record_count++;
  }
  struct fof_pair *pair = memory_alloc("fof", sizeof *pair * (size_t)(record_count + 1));
  *pairs = 0;
  for (int64_t e = 0; e < domain->elements; e++) {
    int64_t root = fof_tree_root(t, e);
    if ((e < n && domain->component[e] != e) || !with_guests[root]) continue;
    if (e < n) domain->shared[e] = 1;
    uint64_t label = e < n ? domain->label[e] : domain->guest[e - n];
    if (label != least[root]) pair[(*pairs)++] = (struct fof_pair){label, least[root]};
  }
  memory_free(with_guests);
  memory_free(least);
  return pair;
}

/* The largest number of records of any rank that one has for the rank `shift` behind: count[shift]. Returns the limit
 * of a round. */
static double largest(const struct comm *comm, int64_t points, double *count)
{
  double limit = (double)points;
  comm_max_double(comm, count, comm->size);
  comm_max_double(comm, &limit, 1);
  return debug_value("fof_round", limit > ROUND_MIN ? limit : ROUND_MIN);
}

struct fof_pair *fof_remote_links(struct fof_domain *domain, int64_t *pairs)
{
  const struct comm *c = domain->c;
  double *count = memory_alloc("fof", sizeof *count * (size_t)c->size);
  for (int shift = 1; shift < c->size; shift++) {
    struct load p = {domain, NULL, 0};
    if (sends(c, shift)) fof_tree_export(&domain->tree, &domain->box[(c->rank + shift) % c->size], take, &p);
    count[shift] = (double)p.count;
  }
  double limit = largest(c, domain->tree.points, count);
  for (int first = 1, end; first < c->size; first = end) {
    int64_t received;
    end = end_of_round(c, count, first, limit);
    struct traveller *t = travel(domain, count, first, end, &received);
    receive(domain, t, received);
    memory_free(t);
  }
  memory_free(count);
  return pairs_of(domain, pairs);
}

/* --- nearest particles ------------------------------------------------------------------------------------------- */

/* A question for the nearest linking particle, and its answer. */
struct question {
  double pos[3];
  struct fof_nearest best;
  uint64_t label;
};

/* Whether another rank may have a nearer particle. */
static int is_asked(const struct fof_domain *domain, int rank, const struct fof_point *point,
                    const struct fof_nearest *best)
{
  struct fof_box here = fof_box_of(point->pos);
  if (domain->box[rank].low[0] > domain->box[rank].high[0]) return 0;
  double near = fof_near(&here, &domain->box[rank]);
  return near <= domain->tree.length2 && (best->point < 0 || near <= best->distance2);
}

static int is_nearer(const struct fof_nearest *a, const struct fof_nearest *b)
{
  if (a->point < 0) return 0;
  return b->point < 0 || a->distance2 < b->distance2 || (a->distance2 == b->distance2 && a->id < b->id);
}

/* Ask the ranks that are first to end - 1 behind. */
static void ask(const struct fof_domain *domain, const struct fof_point *points, int64_t count, int first, int end,
                struct fof_nearest *best, uint64_t *label)
{
  const struct comm *c = domain->c;
  int64_t *to = memory_alloc("fof", 2 * sizeof *to * (size_t)c->size), *got = to + c->size, asked = 0, received,
          answered;
  struct question *q = NULL;
  int64_t *whose = NULL;
  for (int r = 0; r < c->size; r++) {
    int shift = (r - c->rank + c->size) % c->size;
    if (shift < first || shift >= end) continue;
    q = memory_resize("fof", q, sizeof *q * (size_t)(asked + count));
    whose = memory_resize("fof", whose, sizeof *whose * (size_t)(asked + count));
    for (int64_t i = 0; i < count; i++) {
      if (!is_asked(domain, r, &points[i], &best[i])) continue;
      q[asked] = (struct question){{0}, best[i], 0};
      memcpy(q[asked].pos, points[i].pos, sizeof q->pos);
      whose[asked++] = i;
      to[r]++;
    }
  }
  struct question *in = fof_exchange(c, q, sizeof *q, to, got, &received);
  for (int64_t k = 0; k < received; k++) {
    struct fof_nearest before = in[k].best;
    fof_tree_nearest(&domain->tree, in[k].pos, &in[k].best);
    if (is_nearer(&in[k].best, &before)) in[k].label = domain->label[domain->component[in[k].best.point]];
    else in[k].best.point = -1;
  }
  struct question *out = fof_exchange(c, in, sizeof *in, got, NULL, &answered);
  for (int64_t k = 0; k < answered; k++)
    if (is_nearer(&out[k].best, &best[whose[k]])) {
      best[whose[k]] = out[k].best;
      label[whose[k]] = out[k].label;
    }
  memory_free(out);
  memory_free(in);
  memory_free(q);
  memory_free(whose);
  memory_free(to);
}

void fof_remote_nearest(const struct fof_domain *domain, const struct fof_point *points, int64_t count,
                        struct fof_nearest *best, uint64_t *label)
{
  const struct comm *c = domain->c;
  double *asked = memory_alloc("fof", sizeof *asked * (size_t)c->size);
  for (int shift = 1; shift < c->size; shift++)
    for (int64_t i = 0; i < count; i++)
      asked[shift] += is_asked(domain, (c->rank + shift) % c->size, &points[i], &best[i]);
  double limit = largest(c, count, asked);
  for (int first = 1, end; first < c->size; first = end) {
    end = end_of_round(c, asked, first, limit);
    ask(domain, points, count, first, end, best, label);
  }
  memory_free(asked);
}
