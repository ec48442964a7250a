/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "system/radius.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <string.h>

#include "base/memory.h"

enum { NEIGHBOURS = RADIUS_NEIGHBOURS, SAMPLES = 512, SAMPLES_MAX = 2 * SAMPLES };

int64_t radius_samples(const struct comm *comm, const struct backend *be, struct device *d, double sources,
                       struct sample **all)
{
  double fraction = (double)SAMPLES / sources;
  uint64_t threshold = fraction >= 1 ? UINT64_MAX : (uint64_t)(fraction * 18446744073709551615.0);
  struct sample *mine = memory_alloc("radius", sizeof *mine * SAMPLES_MAX);
  size_t bytes = sizeof *mine * (size_t)be->sets.sample(d, threshold, 1, SAMPLES_MAX, mine, NULL), all_bytes;
  *all = comm_gather(comm, mine, bytes, &all_bytes);
  memory_free(mine);
  return (int64_t)(all_bytes / sizeof **all);
}

/* Merge two ascending lists: the smallest NEIGHBOURS of both replace the first, of `count`. Returns their number. The
 * second ends at 1e300. */
static int merge(double *first, int count, const double *second)
{
  double all[NEIGHBOURS];
  int n = 0;
  for (int a = 0, b = 0; n < NEIGHBOURS; n++) {
    int more = b < NEIGHBOURS && second[b] < 1e300;
    if (a == count && !more) break;
    all[n] = a < count && (!more || first[a] <= second[b]) ? first[a++] : second[b++];
  }
  memcpy(first, all, sizeof *all * (size_t)n);
  return n;
}

/* What counts where a particle has fewer than 28 others: the farthest one, or the one in the middle by distance. */
enum few { FARTHEST, MIDDLE };

/* The 28th smallest distance for sample i, from the distances that all ranks found. */
static double merged(const struct comm *comm, const double *all, int64_t samples, int64_t i, enum few few)
{
  double nearest[NEIGHBOURS];
  int count = 0;
  for (int r = 0; r < comm->size; r++) count = merge(nearest, count, &all[((int64_t)r * samples + i) * NEIGHBOURS]);
  if (count == 0) return 0;
  if (count == NEIGHBOURS || few == FARTHEST) return nearest[count - 1];
  return nearest[(count - 1) / 2];
}

/* Quantiles over the n samples. all[rank][n][NEIGHBOURS]: the distances that each rank found. */
static void quantiles_of(const struct comm *comm, const double *all, int64_t n, enum few few, int quantiles,
                         const double *quantile, double *radius)
{
  double *result = memory_alloc("radius", sizeof *result * (size_t)(n + 1));
  for (int64_t i = 0; i < n; i++) result[i] = merged(comm, all, n, i, few);
  gsl_sort(result, 1, (size_t)n);
  for (int k = 0; k < quantiles; k++)
    radius[k] = n == 0 ? 0 : gsl_stats_quantile_from_sorted_data(result, 1, (size_t)n, quantile[k]);
  memory_free(result);
}

static void measure(const struct comm *comm, const struct backend *be, struct device *d, double sources, enum few few,
                    int quantiles, const double *quantile, double *radius)
{
  struct sample *s;
  int64_t n = radius_samples(comm, be, d, sources, &s);
  size_t values = (size_t)n * NEIGHBOURS;
  double(*at)[3] = memory_alloc("radius", sizeof *at * (size_t)(n + 1));
  uint64_t *id = memory_alloc("radius", sizeof *id * (size_t)(n + 1));
  double *mine = memory_alloc("radius", sizeof *mine * values), *all;
  for (int64_t i = 0; i < n; i++) {
    memcpy(at[i], s[i].pos, sizeof at[i]);
    id[i] = s[i].id;
  }
  be->forces.nearest(d, n, (const double(*)[3])at, id, NEIGHBOURS, mine);
  /* gathered on rank 0 alone: with many ranks the distances would take too much memory and sorting on every rank */
  all = comm_gather_root(comm, mine, sizeof *mine * values, &values);
  if (comm->rank == 0) quantiles_of(comm, all, n, few, quantiles, quantile, radius);
  comm_broadcast(comm, radius, sizeof *radius * (size_t)quantiles);
  memory_free(all);
  memory_free(mine);
  memory_free(id);
  memory_free(at);
  memory_free(s);
}

double radius_by_rule(const struct comm *comm, const struct backend *be, struct device *d, double sources,
                      double quantile)
{
  double radius;
  measure(comm, be, d, sources, FARTHEST, 1, &quantile, &radius);
  return radius;
}

double radius_of_middle(const struct comm *comm, const struct backend *be, struct device *d, double sources,
                        double quantile)
{
  double radius;
  measure(comm, be, d, sources, MIDDLE, 1, &quantile, &radius);
  return radius;
}

void radius_quantiles(const struct comm *comm, const struct backend *be, struct device *d, double sources,
                      int quantiles, const double *quantile, double *radius)
{
  measure(comm, be, d, sources, FARTHEST, quantiles, quantile, radius);
}
