/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "force.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "initial.h"
#include "memory.h"
#include "sim.h"
#include "snapshot.h"
#include "start.h"

enum { WARM_UPS = 2, REPEATS = 5 };

/* --- timing ------------------------------------------------------------------------------------------------------ */

/* One whole force: from unsorted positions to accelerations. Seconds by phase, the slowest rank's. */
static void one_force(struct sim *s, double seconds[PHASE_COUNT])
{
  memset(&s->counts, 0, sizeof s->counts);
  comm_barrier(s->comm);
  timer_reset(&s->timer);
  sim_arrange(s, 0);
  sim_force(s, &s->mac, 1);
  timer_phase(&s->timer, PHASE_other);
  memcpy(seconds, s->timer.seconds, sizeof s->timer.seconds);
  comm_max_double(s->comm, seconds, PHASE_COUNT);
}

/* Medians of the phases over the repeats. */
static void bench(struct sim *s, double median[PHASE_COUNT])
{
  double all[REPEATS][PHASE_COUNT], column[REPEATS];
  for (int k = 0; k < WARM_UPS; k++) one_force(s, all[0]);
  for (int k = 0; k < REPEATS; k++) one_force(s, all[k]);
  for (int p = 0; p < PHASE_COUNT; p++) {
    for (int k = 0; k < REPEATS; k++) column[k] = all[k][p];
    gsl_sort(column, 1, REPEATS);
    median[p] = gsl_stats_median_from_sorted_data(column, 1, REPEATS);
  }
}

/* --- comparison with the direct sum ------------------------------------------------------------------------------ */

/* A particle on which forces are compared. */
struct probe {
  uint64_t id;
  double pos[3], acc[3], hard[3];
};

static int by_id(const void *a, const void *b)
{
  uint64_t x = ((const struct probe *)a)->id, y = ((const struct probe *)b)->id;
  return (x > y) - (x < y);
}

/* The id at each of `m` evenly spread places among all ids in ascending order: ranks vote by bisection, so that no rank
 * needs all ids. */
static uint64_t id_at(const struct comm *c, const struct particles *p, int64_t place)
{
  uint64_t low = 0, high = UINT64_MAX;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    int64_t below = 0;
    for (int64_t i = 0; i < p->n; i++) below += p->id[i] <= middle;
    comm_sum_int64(c, &below, 1);
    if (below > place)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/* The smallest id when ids are that and the next ones (1 ... N is the rule, 0 ... N - 1 a habit), found without votes; else -1. */
static int64_t counted_from(const struct comm *c, const struct particles *p, int64_t total)
{
  int64_t least = INT64_MAX, most = -1;
  for (int64_t i = 0; i < p->n; i++) {
    int64_t id = p->id[i] > INT64_MAX ? INT64_MAX : (int64_t)p->id[i];
    least = id < least ? id : least;
    most = id > most ? id : most;
  }
  least = comm_min_int64(c, least);
  most = comm_max_int64(c, most);
  return most - least == total - 1 ? least : -1;
}

static struct probe *gather_probes(const struct comm *c, const struct particles *p, int64_t total, int64_t *count)
{
  int64_t m = *count < total ? *count : total, found = 0;
  uint64_t *id = memory_alloc("force", sizeof *id * (size_t)(m + 1));
  int64_t first = counted_from(c, p, total);
  for (int64_t k = 0; k < m; k++) {
    int64_t place = (int64_t)((double)k * (double)total / (double)m);
    id[k] = first >= 0 ? (uint64_t)(first + place) : id_at(c, p, place);
  }
  struct probe *mine = memory_alloc("force", sizeof *mine * (size_t)(m + 1));
  for (int64_t i = 0; i < p->n; i++) {
    struct probe q = {.id = p->id[i]};
    int64_t low = 0, high = m;
    while (low < high) {
      int64_t middle = low + (high - low) / 2;
      if (id[middle] < q.id)
        low = middle + 1;
      else
        high = middle;
    }
    if (low == m || id[low] != q.id) continue;
    for (int k = 0; k < 3; k++) q.pos[k] = p->pos[3 * i + k], q.acc[k] = p->acc[3 * i + k], q.hard[k] = p->acc_hard[3 * i + k];
    mine[found++] = q;
  }
  size_t bytes;
  struct probe *all = comm_gather(c, mine, sizeof *mine * (size_t)found, &bytes);
  memory_free(mine);
  memory_free(id);
  *count = (int64_t)(bytes / sizeof *all);
  qsort(all, (size_t)*count, sizeof *all, by_id);
  return all;
}

static double relative_error(const double a[3], const double exact[3])
{
  double d2 = 0, e2 = 0;
  for (int k = 0; k < 3; k++) {
    d2 += (a[k] - exact[k]) * (a[k] - exact[k]);
    e2 += exact[k] * exact[k];
  }
  return e2 > 0 ? sqrt(d2 / e2) : sqrt(d2);
}

static void print_errors(const char *what, double *error, int64_t n)
{
  size_t count = (size_t)n;
  gsl_sort(error, 1, count);
  printf("  %-28s median %.3e   99 %% %.3e   maximum %.3e\n", what, gsl_stats_median_from_sorted_data(error, 1, count),
         gsl_stats_quantile_from_sorted_data(error, 1, count, 0.99), error[count - 1]);
}

static void compare(struct sim *s, int64_t m)
{
  int64_t total = s->be->count(s->dev);
  comm_sum_int64(s->comm, &total, 1);
  struct probe *q = gather_probes(s->comm, s->be->view(s->dev), total, &m);
  size_t n = (size_t)m;
  double(*at)[3] = memory_alloc("force", sizeof *at * n), (*acc)[3] = memory_alloc("force", 2 * sizeof *acc * n), (*hard)[3] = acc + n;
  double *pot = memory_alloc("force", sizeof *pot * n), *error = memory_alloc("force", sizeof *error * n);
  uint64_t *skip = memory_alloc("force", sizeof *skip * n);
  for (size_t i = 0; i < n; i++) {
    memcpy(at[i], q[i].pos, sizeof *at);
    skip[i] = q[i].id;
  }
  s->be->direct(s->dev, m, (const double(*)[3])at, skip, s->split.on ? &s->split : NULL, acc, hard, pot);
  comm_sum_double(s->comm, acc[0], (int)(6 * n));
  if (s->comm->rank == 0) {
    printf("error against the direct sum, %lld particles\n", (long long)m);
    for (size_t i = 0; i < n; i++) error[i] = relative_error(q[i].acc, acc[i]);
    print_errors("total, of |a|", error, m);
    if (s->split.on) {
      for (size_t i = 0; i < n; i++) {
        double d2 = 0, e2 = 0;
        for (int k = 0; k < 3; k++) d2 += (q[i].hard[k] - hard[i][k]) * (q[i].hard[k] - hard[i][k]), e2 += acc[i][k] * acc[i][k];
        error[i] = e2 > 0 ? sqrt(d2 / e2) : sqrt(d2);
      }
      print_errors("hard part, of |a|", error, m);
    }
  }
  memory_free(skip);
  memory_free(error);
  memory_free(pot);
  memory_free(acc);
  memory_free(at);
  memory_free(q);
}

/* --- the table --------------------------------------------------------------------------------------------------- */

static const char *opening_name(const struct params *p, char *text, size_t size)
{
  switch (p->TypeOfOpeningCriterion) {
  case OPENING_ANGLE: snprintf(text, size, "opening angle, theta = %g", p->ErrTolTheta); break;
  case OPENING_MULTIPOLE: snprintf(text, size, "multipole, Delta = %g", p->ErrTolMultipole); break;
  default: snprintf(text, size, "acceleration, Delta = %g (2^%.1f)", p->ErrTolForceAcc, log2(p->ErrTolForceAcc));
  }
  return text;
}

static void print_table(const struct sim *s, const struct tally *t, const struct let_traffic *let, const double seconds[PHASE_COUNT], int repeats, double ceiling)
{
  char text[96];
  double n = (double)t->targets, sum = 0;
  printf("particles          %lld\nranks x threads    %d x %d\n", (long long)t->targets, s->comm->size, omp_get_max_threads());
  printf("backend            %s\n", s->be->name);
  printf("opening criterion  %s; %s cells; leaf %d, group %d\n", opening_name(s->par, text, sizeof text),
         s->par->MultipoleOrder == 2 ? "quadrupole" : "monopole", s->par->MaxLeafSize, s->par->MaxGroupSize);
  if (s->split.on) printf("split              R1 = %g, R2 = %g\n", s->split.r1, s->split.r2);
  printf("interactions       %.4g particle pairs, %.4g cell pairs, of both %.4g through the split\n", (double)t->particle_pairs,
         (double)t->cell_pairs, (double)t->split_pairs);
  printf("per particle       %.1f particles, %.1f cells; %.2f acceptance tests; groups of %.1f\n", t->particle_pairs / n, t->cell_pairs / n,
         t->tests / n, n / (double)t->groups);
  if (s->comm->size > 1)
    printf("LETs received      %.4g cells, %.4g particles; %.4g MB sent\n", (double)let->received.cells, (double)let->received.particles, let->bytes / 1e6);
  printf("milliseconds       ");
  for (int p = 0; p < PHASE_COUNT; p++) {
    sum += seconds[p];
    if (seconds[p] > 1e-6) printf("%s %.2f  ", phase_names[p], 1e3 * seconds[p]);
  }
  printf("all %.2f%s\n", 1e3 * sum, repeats > 1 ? "  (medians of five)" : "");
  double pairs = (double)(t->particle_pairs + t->cell_pairs), ranks = s->comm->size;
  printf("interactions/s     %.4g in the walk, %.4g in its pair loops, %.4g in a direct-sum loop: ratio %.2f\n", pairs / seconds[PHASE_walk],
         pairs / t->evaluating * ranks, ceiling, pairs / t->evaluating * ranks / ceiling);
}

int force(const struct comm *c, const struct params *par, const struct force_options *options)
{
  struct fault fault = {""};
  struct sim s;
  double seconds[PHASE_COUNT];
  if (sim_start(&s, c, par, &fault)) {
    if (c->rank == 0) fprintf(stderr, "espalier: error: %s\n", fault.text);
    return 1;
  }
  sim_first_force(&s);
  if (options->bench) {
    bench(&s, seconds);
  } else {
    memcpy(seconds, s.timer.seconds, sizeof seconds);
    one_force(&s, seconds);
  }
  struct tally t = s.counts.full;
  struct let_traffic let = s.counts.soft_let;
  int64_t sums[] = {t.targets, t.particle_pairs, t.cell_pairs, t.split_pairs, t.tests, t.groups, let.received.cells, let.received.particles, let.bytes};
  comm_sum_int64(c, sums, 9);
  double rates[] = {t.evaluating, s.be->ceiling(s.dev)}, ceiling;
  comm_sum_double(c, rates, 2);
  ceiling = rates[1];
  t = (struct tally){0, sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], rates[0]};
  let = (struct let_traffic){.received = {sums[6], sums[7]}, .bytes = sums[8]};
  if (c->rank == 0) print_table(&s, &t, &let, seconds, options->bench, ceiling);
  if (options->direct > 0) compare(&s, options->direct);
  int status = 0;
  if (options->output) {
    struct snapshot_facts facts = {par, s.time, 0, s.gravity, SNAPSHOT_POTENTIAL | SNAPSHOT_ACCELERATION | SNAPSHOT_ACCELERATION_HARD};
    status = snapshot_write(c, options->output, s.be->view(s.dev), &facts, &fault) != 0;
    if (status && c->rank == 0) fprintf(stderr, "espalier: error: %s\n", fault.text);
  }
  sim_close(&s);
  return status;
}
