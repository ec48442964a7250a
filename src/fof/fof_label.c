/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Labels of particles that are anywhere on the ranks. Positions and ids go to domains that are cut here (a run's own
 * domains are for its forces, and a file's slices are none), and labels come back. */
#include <config.h>
#include <string.h>

#include "base/memory.h"
#include "fof/fof.h"
#include "fof/fof_ranks.h"
#include "mpi/domain.h"
#include "particles/sampling.h"

enum { SAMPLES = 4096 }; /* per rank, about */

/* A particle on its way: `at` of the point is 1 where it links. */
static struct fof_point *points_of(const struct particles *particles, const struct fof_request *request)
{
  struct fof_point *point = memory_alloc("fof", sizeof *point * (size_t)(particles->n + 1));
  for (int64_t i = 0; i < particles->n; i++) {
    for (int c = 0; c < 3; c++) point[i].pos[c] = particles->pos[3 * i + c] + request->place[c] + 0.0;
    point[i].id = particles->id[i];
    point[i].at = request->linking >> particles->type[i] & 1;
  }
  return point;
}

static void cut(struct domain *domain, const struct comm *comm, const struct fof_point *point, int64_t n)
{
  int64_t all = n, count = 0;
  comm_sum_int64(comm, &all, 1);
  double fraction = (double)SAMPLES * comm->size / (double)(all ? all : 1);
  uint64_t threshold = fraction >= 1 ? UINT64_MAX : (uint64_t)(fraction * 18446744073709551615.0);
  struct weighted *sample = memory_alloc("fof", sizeof *sample * (size_t)(n + 1));
  for (int64_t i = 0; i < n; i++) {
    if (sampling_hash(point[i].id) > threshold) continue;
    memcpy(sample[count].pos, point[i].pos, sizeof sample->pos);
    sample[count++].weight = 1;
  }
  domain_open(domain, comm->size);
  domain_cut(domain, comm, sample, count);
  memory_free(sample);
}

/* The points of this rank's domain, and how they came. */
struct arrival {
  int64_t *to, *from;      /* [ranks] numbers of points sent and received */
  int64_t *order;          /* [n] particles of this rank in the order in which they were sent */
  struct fof_point *point; /* [count] received */
  int64_t count;
};

static struct arrival arrive(const struct comm *comm, const struct particles *particles,
                             const struct fof_request *request)
{
  struct arrival a = {memory_alloc("fof", 2 * sizeof *a.to * (size_t)comm->size), NULL, NULL, NULL, 0};
  struct fof_point *point = points_of(particles, request),
                   *sorted = memory_alloc("fof", sizeof *sorted * (size_t)(particles->n + 1));
  int *owner = memory_alloc("fof", sizeof *owner * (size_t)(particles->n + 1));
  int64_t *next = memory_alloc("fof", sizeof *next * (size_t)comm->size);
  struct domain d;
  cut(&d, comm, point, particles->n);
  a.from = a.to + comm->size;
  a.order = memory_alloc("fof", sizeof *a.order * (size_t)(particles->n + 1));
  for (int64_t i = 0; i < particles->n; i++) a.to[owner[i] = domain_owner(&d, point[i].pos)]++;
  for (int k = 1; k < comm->size; k++) next[k] = next[k - 1] + a.to[k - 1];
  for (int64_t i = 0; i < particles->n; i++) {
    int64_t at = next[owner[i]]++;
    sorted[at] = point[i];
    a.order[at] = i;
  }
  domain_close(&d);
  memory_free(next);
  memory_free(owner);
  memory_free(point);
  a.point = fof_exchange(comm, sorted, sizeof *sorted, a.to, a.from, &a.count);
  memory_free(sorted);
  return a;
}

/* Divide the points of a domain into those that link and others, each with its index in point[count]. Returns the
 * number of the first. */
static int64_t divide(const struct fof_point *point, int64_t count, struct fof_point **linking,
                      struct fof_point **others)
{
  int64_t links = 0, rest = 0;
  *linking = memory_alloc("fof", sizeof **linking * (size_t)(count + 1));
  for (int64_t i = 0; i < count; i++) links += point[i].at != 0;
  *others = memory_alloc("fof", sizeof **others * (size_t)(count - links + 1));
  links = 0;
  for (int64_t i = 0; i < count; i++) {
    struct fof_point *to = point[i].at ? &(*linking)[links++] : &(*others)[rest++];
    *to = point[i];
    to->at = i;
  }
  return links;
}

/* Groups within the domain. */
static void link_domain(struct fof_domain *domain, const struct comm *comm, struct fof_point *point, int64_t n,
                        double length)
{
  struct fof_box mine = fof_empty;
  *domain = (struct fof_domain){.c = comm, .elements = n};
  fof_tree_open(&domain->tree, point, n, length);
  fof_tree_link(&domain->tree);
  domain->component = memory_alloc("fof", sizeof *domain->component * (size_t)(n + 1));
  domain->label = memory_alloc("fof", sizeof *domain->label * (size_t)(n + 1));
  domain->shared = memory_alloc("fof", (size_t)(n + 1));
  domain->box = memory_alloc("fof", sizeof *domain->box * (size_t)comm->size);
  memset(domain->label, 0xff, sizeof *domain->label * (size_t)n);
  for (int64_t i = 0; i < n; i++) {
    int64_t root = domain->component[i] = fof_tree_root(&domain->tree, i);
    if (point[i].id < domain->label[root]) domain->label[root] = point[i].id;
    fof_extend(&mine, point[i].pos);
  }
  comm_allgather(comm, &mine, sizeof mine, domain->box);
}

static void close_domain(struct fof_domain *domain)
{
  memory_free(domain->guest);
  memory_free(domain->box);
  memory_free(domain->shared);
  memory_free(domain->label);
  memory_free(domain->component);
  fof_tree_close(&domain->tree);
}

/* Replace the labels of components that other ranks know. */
static void merge_labels(struct fof_domain *domain)
{
  int64_t pairs, n = domain->tree.points, count = 0;
  struct fof_pair *pair = fof_remote_links(domain, &pairs);
  for (int64_t i = 0; i < n; i++) count += domain->shared[i];
  int64_t *component = memory_alloc("fof", sizeof *component * (size_t)(count + 1));
  uint64_t *label = memory_alloc("fof", sizeof *label * (size_t)(count + 1));
  count = 0;
  for (int64_t i = 0; i < n; i++) {
    if (!domain->shared[i]) continue;
    component[count] = i;
    label[count++] = domain->label[i];
  }
  fof_merge(domain->c, pair, pairs, label, count);
  for (int64_t k = 0; k < count; k++) domain->label[component[k]] = label[k];
  memory_free(label);
  memory_free(component);
  memory_free(pair);
}

/* Labels of particles that do not link: that of the nearest one that does. */
static void attach_others(const struct fof_domain *domain, const struct fof_point *others, int64_t count,
                          uint64_t *label)
{
  struct fof_nearest *best = memory_alloc("fof", sizeof *best * (size_t)(count + 1));
  uint64_t *of = memory_alloc("fof", sizeof *of * (size_t)(count + 1));
  for (int64_t i = 0; i < count; i++) {
    best[i].point = -1;
    fof_tree_nearest(&domain->tree, others[i].pos, &best[i]);
    of[i] = best[i].point < 0 ? FOF_NONE : domain->label[domain->component[best[i].point]];
  }
  fof_remote_nearest(domain, others, count, best, of);
  for (int64_t i = 0; i < count; i++) label[others[i].at] = of[i];
  memory_free(of);
  memory_free(best);
}

void fof_label(const struct comm *comm, const struct particles *particles, const struct fof_request *request,
               double length, uint64_t *label)
{
  struct fof_domain d;
  struct fof_point *linking, *others;
  struct arrival a = arrive(comm, particles, request);
  int64_t links = divide(a.point, a.count, &linking, &others), back;
  memory_free(a.point);
  link_domain(&d, comm, linking, links, length);
  merge_labels(&d);
  uint64_t *found = memory_alloc("fof", sizeof *found * (size_t)(a.count + 1));
  for (int64_t i = 0; i < links; i++) found[d.tree.point[i].at] = d.label[d.component[i]];
  int64_t rest = a.count - links;
  if (comm_max_int64(comm, rest) > 0) attach_others(&d, others, rest, found);
  close_domain(&d);
  memory_free(others);
  uint64_t *mine = fof_exchange(comm, found, sizeof *found, a.from, NULL, &back);
  for (int64_t i = 0; i < particles->n; i++) label[a.order[i]] = mine[i];
  memory_free(mine);
  memory_free(found);
  memory_free(a.order);
  memory_free(a.to);
}
