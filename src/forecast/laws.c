/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "forecast/laws.h"

#include <math.h>
#include <string.h>

/* Times below this part of a soft step do not shape a law. */
#define SINGULAR_PIVOT 1e-9

/* Solve the normal equations m x = y of n unknowns, n at most 3, by elimination with pivots. Returns 0 where they are
 * singular. */
static int solve(double m[3][3], double y[3], int n)
{
  for (int k = 0; k < n; k++) {
    int pivot = k;
    for (int i = k + 1; i < n; i++)
      if (fabs(m[i][k]) > fabs(m[pivot][k])) pivot = i;
    if (fabs(m[pivot][k]) < 1e-9) return 0;
    for (int j = 0; j < n; j++) {
      double swap = m[k][j];
      m[k][j] = m[pivot][j];
      m[pivot][j] = swap;
    }
    double swap = y[k];
    y[k] = y[pivot];
    y[pivot] = swap;
    for (int i = 0; i < n; i++) {
      if (i == k) continue;
      double part = m[i][k] / m[k][k];
      for (int j = 0; j < n; j++) m[i][j] -= part * m[k][j];
      y[i] -= part * y[k];
    }
  }
  for (int k = 0; k < n; k++) y[k] /= m[k][k];
  return 1;
}

static struct law fit(const struct law_point *point, int count, const double *seconds, int unknowns)
{
  double m[3][3] = {{0}}, y[3] = {0};
  int used = 0;
  for (int i = 0; i < count; i++) {
    if (!(seconds[i] > SINGULAR_PIVOT * event_total(point[i].times.critical))) continue;
    double x[3] = {1, log(point[i].per_rank), log(point[i].ranks)};
    for (int j = 0; j < unknowns; j++) {
      for (int k = 0; k < unknowns; k++) m[j][k] += x[j] * x[k];
      y[j] += x[j] * log(seconds[i]);
    }
    used++;
  }
  if (used <= unknowns - 1) return (struct law){.used = 0};
  if (!solve(m, y, unknowns)) return unknowns > 1 ? fit(point, count, seconds, unknowns - 1) : (struct law){.used = 0};
  return (struct law){y[0], unknowns > 1 ? y[1] : 0, unknowns > 2 ? y[2] : 0, 1};
}

/* Whether the points have more than one number of particles. */
static int several_sizes(const struct law_point *point, int count)
{
  for (int i = 1; i < count; i++)
    if (fabs(log(point[i].ranks * point[i].per_rank / (point[0].ranks * point[0].per_rank))) > 0.1) return 1;
  return 0;
}

static double without_waiting(const double *phase)
{
  return event_total(phase) - phase[EVENT_wait] - phase[EVENT_collective];
}

void laws_fit(struct laws *laws, const struct law_point *point, int count)
{
  double mean[LAW_POINTS], critical[LAW_POINTS];
  memset(laws, 0, sizeof *laws);
  laws->separate = several_sizes(point, count);
  int last = 0;
  for (int i = 1; i < count; i++)
    if (point[i].ranks > point[last].ranks) last = i;
  const struct event_times *end = &point[last].times;
  memcpy(laws->floors, end->floors, sizeof laws->floors);
  laws->waiting[0] = end->mean[EVENT_wait] / fmax(without_waiting(end->mean), 1e-300);
  laws->waiting[1] = end->critical[EVENT_wait] / fmax(without_waiting(end->critical), 1e-300);
  for (int p = 0; p < EVENT_PHASES_COUNT; p++) {
    if (p == EVENT_collective || p == EVENT_wait) continue;
    for (int i = 0; i < count; i++) {
      mean[i] = fmax(point[i].times.mean[p] - point[i].times.floors[p], 0);
      critical[i] = fmax(point[i].times.critical[p] - point[i].times.floors[p], 0);
    }
    laws->mean[p] = fit(point, count, mean, 2 + laws->separate);
    laws->critical[p] = fit(point, count, critical, 2 + laws->separate);
  }
  for (int i = 0; i < count; i++) {
    struct event_times t;
    const double x[2] = {point[i].ranks, point[i].per_rank};
    for (int k = 0; k < 2; k++) {
      laws->smallest[k] = i == 0 ? x[k] : fmin(laws->smallest[k], x[k]);
      laws->largest[k] = fmax(laws->largest[k], x[k]);
    }
    laws_predict(laws, x[0], x[1], &t);
    double true_time = event_total(point[i].times.critical) - point[i].times.critical[EVENT_collective];
    if (true_time > 0) laws->worst = fmax(laws->worst, fabs(event_total(t.critical) / true_time - 1));
  }
}

int laws_reach(const struct laws *laws, double ranks, double per_rank)
{
  const double x[2] = {ranks, per_rank}, rounding = 1e-9;
  int within = 1;
  for (int k = 0; k < 2; k++)
    within &= x[k] >= laws->smallest[k] * (1 - rounding) && x[k] <= laws->largest[k] * (1 + rounding);
  return within;
}

static double by_law(const struct law *law, double ranks, double per_rank)
{
  return law->used ? exp(law->a + law->b * log(per_rank) + law->c * log(ranks)) : 0;
}

void laws_predict(const struct laws *laws, double ranks, double per_rank, struct event_times *times)
{
  memset(times, 0, sizeof *times);
  for (int p = 0; p < EVENT_PHASES_COUNT; p++) {
    times->mean[p] = laws->floors[p] + by_law(&laws->mean[p], ranks, per_rank);
    times->critical[p] = laws->floors[p] + by_law(&laws->critical[p], ranks, per_rank);
  }
  times->mean[EVENT_wait] = laws->waiting[0] * without_waiting(times->mean);
  times->critical[EVENT_wait] = laws->waiting[1] * without_waiting(times->critical);
}
