/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "study/probes.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/probe.h"
#include "base/memory.h"
#include "base/watchdog.h"
#include "step/expansion.h"
#include "scheme/schemes.h"

enum { PART = 1024 };   /* points of one direct sum */

/* --- the choice -------------------------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* The ids of this rank in ascending order. */
static uint64_t *sorted_ids(const struct particles *p)
{
  uint64_t *id = memory_alloc("force", sizeof *id * (size_t)(p->n + 1));
  memcpy(id, p->id, sizeof *id * (size_t)p->n);
  qsort(id, (size_t)p->n, sizeof *id, ascending);
  return id;
}

/* How many of n sorted ids are not above `limit`. */
static int64_t count_to(const uint64_t *id, int64_t n, uint64_t limit)
{
  int64_t low = 0, high = n;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (id[middle] <= limit)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* The id at position `place` among all ids in ascending order, by bisection over all ranks, so that no rank needs all ids.
 * `id`: [n] the ids of this rank, sorted. Collective. */
static uint64_t id_at(const struct comm *c, const uint64_t *id, int64_t n, int64_t place)
{
  uint64_t low = 0, high = UINT64_MAX;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    int64_t below = count_to(id, n, middle);
    comm_sum_int64(c, &below, 1);
    if (below > place)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/* The smallest id where the ids are consecutive (as 1 ... N or 0 ... N - 1), else -1. Collective. */
static int64_t first_of_consecutive(const struct comm *c, const struct particles *p, int64_t total)
{
  int64_t smallest = INT64_MAX, largest = -1;
  for (int64_t i = 0; i < p->n; i++) {
    int64_t id = p->id[i] > INT64_MAX ? INT64_MAX : (int64_t)p->id[i];
    smallest = id < smallest ? id : smallest;
    largest = id > largest ? id : largest;
  }
  smallest = comm_min_int64(c, smallest);
  largest = comm_max_int64(c, largest);
  return largest - smallest == total - 1 ? smallest : -1;
}

static void choose(struct probes *q, struct sim *s, const struct particles *p, int64_t count)
{
  int64_t total = p->n;
  comm_sum_int64(s->comm, &total, 1);
  q->ids = count < total ? count : total;
  q->id = memory_alloc("force", sizeof *q->id * (size_t)(q->ids + 1));
  int64_t first = first_of_consecutive(s->comm, p, total);
  uint64_t *sorted = first >= 0 ? NULL : sorted_ids(p);
  for (int64_t k = 0; k < q->ids; k++) {
    int64_t place = (int64_t)((double)k * (double)total / (double)q->ids);
    q->id[k] = first >= 0 ? (uint64_t)(first + place) : id_at(s->comm, sorted, p->n, place);
  }
  memory_free(sorted);
}

/* --- the forces -------------------------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
  uint64_t x = ((const struct probe *)a)->id, y = ((const struct probe *)b)->id;
  return (x > y) - (x < y);
}

static int is_chosen(const struct probes *q, uint64_t id)
{
  int64_t low = 0, high = q->ids;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (q->id[middle] < id)
      low = middle + 1;
    else
      high = middle;
  }
  return low < q->ids && q->id[low] == id;
}

static void take(struct probes *q, struct sim *s, const struct particles *p)
{
  int64_t found = 0, room = 0;
  for (int64_t i = 0; i < p->n; i++) room += is_chosen(q, p->id[i]);
  struct probe *mine = memory_alloc("force", sizeof *mine * (size_t)(room + 1));
  for (int64_t i = 0; i < p->n; i++) {
    if (!is_chosen(q, p->id[i])) continue;
    struct probe one = {.id = p->id[i], .type = p->type[i], .pot = p->pot[i]};
    for (int c = 0; c < 3; c++) one.pos[c] = p->pos[3 * i + c], one.acc[c] = p->acc[3 * i + c], one.hard[c] = p->acc_hard[3 * i + c];
    mine[found++] = one;
  }
  size_t bytes;
  memory_free(q->now);
  q->now = comm_gather(s->comm, mine, sizeof *mine * (size_t)found, &bytes);
  memory_free(mine);
  q->n = (int64_t)(bytes / sizeof *q->now);
  qsort(q->now, (size_t)q->n, sizeof *q->now, by_id);
}

void probes_take(struct probes *q, struct sim *s) { take(q, s, s->be->view(s->dev)); }

void probes_open(struct probes *q, struct sim *s, int64_t count)
{
  const struct particles *p = s->be->view(s->dev);
  memset(q, 0, sizeof *q);
  choose(q, s, p, count);
  take(q, s, p);
  size_t n = (size_t)q->n;
  double(*at)[3] = memory_alloc("force", sizeof *at * (n + 1));
  uint64_t *skip = memory_alloc("force", sizeof *skip * (n + 1));
  uint8_t *type = memory_alloc("force", n + 1);
  for (size_t i = 0; i < n; i++) {
    memcpy(at[i], q->now[i].pos, sizeof *at);
    skip[i] = q->now[i].id;
    type[i] = (uint8_t)q->now[i].type;
  }
  q->acc = memory_alloc("force", 2 * sizeof *q->acc * (n + 1));
  q->hard = q->acc + n;
  q->pot = memory_alloc("force", sizeof *q->pot * (n + 1));
  for (size_t k = 0; k < n; k += PART) {   /* in parts, between which the watchdog sees progress */
    size_t part = n - k < PART ? n - k : PART;
    s->be->probe->direct(s->dev, (int64_t)part, (const double(*)[3])(at + k), skip + k, type + k, scheme_split(s), q->acc + k,
                         q->hard + k, q->pot + k);
    watchdog_progress();
  }
  comm_sum_double(s->comm, q->acc[0], (int)(6 * n));
  comm_sum_double(s->comm, q->pot, (int)n);
  for (size_t i = 0; i < n; i++) {
    expansion_add_at(s, q->now[i].pos, q->acc[i]);
    if (!scheme_split(s)) expansion_add_at(s, q->now[i].pos, q->hard[i]);
  }
  memory_free(skip);
  memory_free(type);
  memory_free(at);
}

void probes_close(struct probes *q)
{
  memory_free(q->id);
  memory_free(q->now);
  memory_free(q->acc);
  memory_free(q->pot);
  memset(q, 0, sizeof *q);
}

/* --- errors ------------------------------------------------------------------------------------------------------ */

static double relative(double difference, double size) { return size > 0 ? difference / size : difference; }

static double distance(const double a[3], const double b[3])
{
  return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) + (a[2] - b[2]) * (a[2] - b[2]));
}

struct probe_errors probes_errors(const struct probes *q, enum probe_field field)
{
  static const double zero[3];
  size_t n = (size_t)q->n;
  double *e = memory_alloc("force", sizeof *e * (n + 1));
  for (size_t i = 0; i < n; i++) {
    const struct probe *one = &q->now[i];
    double size = distance(q->acc[i], zero);
    if (field == PROBE_POT)
      e[i] = relative(fabs(one->pot - q->pot[i]), fabs(q->pot[i]));
    else
      e[i] = relative(field == PROBE_ACC ? distance(one->acc, q->acc[i]) : distance(one->hard, q->hard[i]), size);
  }
  gsl_sort(e, 1, n);
  struct probe_errors r = {gsl_stats_median_from_sorted_data(e, 1, n), gsl_stats_quantile_from_sorted_data(e, 1, n, 0.99), e[n - 1]};
  memory_free(e);
  return r;
}
