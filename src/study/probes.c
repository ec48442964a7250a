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
#include "step/effects.h"
#include "scheme/schemes.h"

enum { PART = 1024 }; /* points of one direct sum */

/* --- the choice -------------------------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* The ids of this rank in ascending order. */
static uint64_t *sorted_ids(const struct particles *particles)
{
  uint64_t *id = memory_alloc("force", sizeof *id * (size_t)(particles->n + 1));
  memcpy(id, particles->id, sizeof *id * (size_t)particles->n);
  qsort(id, (size_t)particles->n, sizeof *id, ascending);
  return id;
}

/* How many of n sorted ids are not above `limit`. */
static int64_t count_to(const uint64_t *id, int64_t n, uint64_t limit)
{
  int64_t low = 0, high = n;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (id[middle] <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* The id at position `place` among all ids in ascending order, by bisection over all ranks, so that no rank needs all
 * ids. `id`: [n] the ids of this rank, sorted. Collective. */
static uint64_t id_at(const struct comm *comm, const uint64_t *id, int64_t n, int64_t place)
{
  uint64_t low = 0, high = UINT64_MAX;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    int64_t below = count_to(id, n, middle);
    comm_sum_int64(comm, &below, 1);
    if (below > place) high = middle;
    else low = middle + 1;
  }
  return low;
}

/* The smallest id where the ids are consecutive (as 1 ... N or 0 ... N - 1), else -1. Collective. */
static int64_t first_of_consecutive(const struct comm *comm, const struct particles *particles, int64_t total)
{
  int64_t smallest = INT64_MAX, largest = -1;
  for (int64_t i = 0; i < particles->n; i++) {
    int64_t id = particles->id[i] > INT64_MAX ? INT64_MAX : (int64_t)particles->id[i];
    smallest = id < smallest ? id : smallest;
    largest = id > largest ? id : largest;
  }
  smallest = comm_min_int64(comm, smallest);
  largest = comm_max_int64(comm, largest);
  return largest - smallest == total - 1 ? smallest : -1;
}

static void choose(struct probes *probes, struct sim *sim, const struct particles *particles, int64_t count)
{
  int64_t total = particles->n;
  comm_sum_int64(sim->comm, &total, 1);
  probes->ids = count < total ? count : total;
  probes->id = memory_alloc("force", sizeof *probes->id * (size_t)(probes->ids + 1));
  int64_t first = first_of_consecutive(sim->comm, particles, total);
  uint64_t *sorted = first >= 0 ? NULL : sorted_ids(particles);
  for (int64_t k = 0; k < probes->ids; k++) {
    int64_t place = (int64_t)((double)k * (double)total / (double)probes->ids);
    probes->id[k] = first >= 0 ? (uint64_t)(first + place) : id_at(sim->comm, sorted, particles->n, place);
  }
  memory_free(sorted);
}

/* --- the forces -------------------------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
  uint64_t x = ((const struct probe *)a)->id, y = ((const struct probe *)b)->id;
  return (x > y) - (x < y);
}

static int is_chosen(const struct probes *probes, uint64_t id)
{
  int64_t low = 0, high = probes->ids;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (probes->id[middle] < id) low = middle + 1;
    else high = middle;
  }
  return low < probes->ids && probes->id[low] == id;
}

static void take(struct probes *probes, struct sim *sim, const struct particles *particles)
{
  int64_t found = 0, capacity = 0;
  for (int64_t i = 0; i < particles->n; i++) capacity += is_chosen(probes, particles->id[i]);
  struct probe *mine = memory_alloc("force", sizeof *mine * (size_t)(capacity + 1));
  for (int64_t i = 0; i < particles->n; i++) {
    if (!is_chosen(probes, particles->id[i])) continue;
    struct probe one = {.id = particles->id[i], .type = particles->type[i], .pot = particles->pot[i]};
    for (int c = 0; c < 3; c++) {
      one.pos[c] = particles->pos[3 * i + c];
      one.acc[c] = particles->acc[3 * i + c];
      one.hard[c] = particles->acc_hard[3 * i + c];
    }
    mine[found++] = one;
  }
  size_t bytes;
  memory_free(probes->now);
  probes->now = comm_gather(sim->comm, mine, sizeof *mine * (size_t)found, &bytes);
  memory_free(mine);
  probes->n = (int64_t)(bytes / sizeof *probes->now);
  qsort(probes->now, (size_t)probes->n, sizeof *probes->now, by_id);
}

void probes_take(struct probes *probes, struct sim *sim) { take(probes, sim, sim->be->view(sim->dev)); }

void probes_open(struct probes *probes, struct sim *sim, int64_t count)
{
  const struct particles *p = sim->be->view(sim->dev);
  memset(probes, 0, sizeof *probes);
  choose(probes, sim, p, count);
  take(probes, sim, p);
  size_t n = (size_t)probes->n;
  double(*at)[3] = memory_alloc("force", sizeof *at * (n + 1));
  uint64_t *skip = memory_alloc("force", sizeof *skip * (n + 1));
  uint8_t *type = memory_alloc("force", n + 1);
  for (size_t i = 0; i < n; i++) {
    memcpy(at[i], probes->now[i].pos, sizeof *at);
    skip[i] = probes->now[i].id;
    type[i] = (uint8_t)probes->now[i].type;
  }
  probes->acc = memory_alloc("force", 2 * sizeof *probes->acc * (n + 1));
  probes->hard = probes->acc + n;
  probes->pot = memory_alloc("force", sizeof *probes->pot * (n + 1));
  for (size_t k = 0; k < n; k += PART) { /* in parts, between which the watchdog sees progress */
    size_t part = n - k < PART ? n - k : PART;
    sim->be->probe->direct(sim->dev, (int64_t)part, (const double(*)[3])(at + k), skip + k, type + k, scheme_split(sim),
                           probes->acc + k, probes->hard + k, probes->pot + k);
    watchdog_progress();
  }
  comm_sum_double(sim->comm, probes->acc[0], (int)(6 * n));
  comm_sum_double(sim->comm, probes->pot, (int)n);
  for (size_t i = 0; i < n; i++) {
    effects_add_at(sim, probes->now[i].pos, probes->acc[i]);
    if (!scheme_split(sim)) effects_add_at(sim, probes->now[i].pos, probes->hard[i]);
  }
  memory_free(skip);
  memory_free(type);
  memory_free(at);
}

void probes_close(struct probes *probes)
{
  memory_free(probes->id);
  memory_free(probes->now);
  memory_free(probes->acc);
  memory_free(probes->pot);
  memset(probes, 0, sizeof *probes);
}

/* --- errors ------------------------------------------------------------------------------------------------------ */

static double relative(double difference, double size) { return size > 0 ? difference / size : difference; }

static double distance(const double a[3], const double b[3])
{
  return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) + (a[2] - b[2]) * (a[2] - b[2]));
}

struct probe_errors probes_errors(const struct probes *probes, enum probe_field field)
{
  static const double zero[3];
  size_t n = (size_t)probes->n;
  double *e = memory_alloc("force", sizeof *e * (n + 1));
  for (size_t i = 0; i < n; i++) {
    const struct probe *one = &probes->now[i];
    double size = distance(probes->acc[i], zero);
    if (field == PROBE_POT) e[i] = relative(fabs(one->pot - probes->pot[i]), fabs(probes->pot[i]));
    else
      e[i] = relative(field == PROBE_ACC ? distance(one->acc, probes->acc[i]) : distance(one->hard, probes->hard[i]),
                      size);
  }
  gsl_sort(e, 1, n);
  struct probe_errors r = {gsl_stats_median_from_sorted_data(e, 1, n),
                           gsl_stats_quantile_from_sorted_data(e, 1, n, 0.99), e[n - 1]};
  memory_free(e);
  return r;
}
