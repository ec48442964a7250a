/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "tuning/brent.h"

#include <math.h>
#include <string.h>

/* Relative accuracy of the value: 5 % suffice, since the minimum is flat. */
#define TOLERANCE 0.05
#define GOLDEN 0.3819660112501051
/* A trial whose cost exceeds the best by this factor twice is not measured again. */
#define REJECTED_COST_RATIO 1.3
/* Half the range of later searches around the best value: a factor of two. */
#define PERTURBATION 0.6931471805599453
/* When idle, the smoothed cost is compared with the mean of the first LEVEL_MEASUREMENTS costs. A new search begins
 * when it differs by the fraction DRIFT, or after TRIAL_INTERVAL_MAX measurements. */
enum { LEVEL_MEASUREMENTS = 8, TRIAL_INTERVAL_MAX = 256 };
#define DRIFT 0.1
#define SMOOTHING 0.15 /* weight of the newest cost */

enum { STAGE_FIRST, STAGE_SEARCH, STAGE_IDLE };

/* Begin a search between low and high at x. */
static void begin(struct brent *brent, double low, double high, double x)
{
  brent->low = brent->from = fmax(low, brent->lower);
  brent->high = brent->to = fmin(high, brent->upper);
  brent->trial = brent->x = brent->w = brent->v = fmin(fmax(x, brent->low), brent->high);
  brent->step = brent->before = 0;
  brent->repeats = brent->evaluations = 0;
  brent->stage = STAGE_FIRST;
}

void brent_open(struct brent *brent, double lower, double upper, double start)
{
  memset(brent, 0, sizeof *brent);
  brent->lower = log(lower);
  brent->upper = log(upper);
  begin(brent, brent->lower, brent->upper, log(start));
}

int brent_stage(const struct brent *brent) { return brent->stage; }

double brent_next(const struct brent *brent) { return exp(brent->stage == STAGE_IDLE ? brent->x : brent->trial); }

/* Choose the next trial: the minimum of the parabola through x, w, v where it lies in the bracket and steps shrink,
 * else a golden section of the longer side. */
static void propose(struct brent *brent)
{
  double middle = 0.5 * (brent->low + brent->high), p = 0, q = 0, last = brent->before;
  if (fabs(brent->before) > TOLERANCE) {
    double r = (brent->x - brent->w) * (brent->fx - brent->fv);
    q = (brent->x - brent->v) * (brent->fx - brent->fw);
    p = (brent->x - brent->v) * q - (brent->x - brent->w) * r;
    q = 2 * (q - r);
    if (q > 0) p = -p;
    q = fabs(q);
    brent->before = brent->step;
  }
  if (fabs(p) < fabs(0.5 * q * last) && p > q * (brent->low - brent->x) && p < q * (brent->high - brent->x)) {
    brent->step = p / q;
    double u = brent->x + brent->step;
    if (u - brent->low < 2 * TOLERANCE || brent->high - u < 2 * TOLERANCE)
      brent->step = copysign(TOLERANCE, middle - brent->x);
  } else {
    brent->before = brent->x < middle ? brent->high - brent->x : brent->low - brent->x;
    brent->step = GOLDEN * brent->before;
  }
  brent->trial = brent->x + (fabs(brent->step) >= TOLERANCE ? brent->step : copysign(TOLERANCE, brent->step));
}

/* Update the bracket and the three best values with a trial u of cost fu. */
static void add_trial(struct brent *brent, double u, double fu)
{
  if (fu <= brent->fx) {
    *(u >= brent->x ? &brent->low : &brent->high) = brent->x;
    brent->v = brent->w;
    brent->fv = brent->fw;
    brent->w = brent->x;
    brent->fw = brent->fx;
    brent->x = u;
    brent->fx = fu;
    return;
  }
  *(u < brent->x ? &brent->low : &brent->high) = u;
  if (fu <= brent->fw || brent->w == brent->x) {
    brent->v = brent->w;
    brent->fv = brent->fw;
    brent->w = u;
    brent->fw = fu;
  } else if (fu <= brent->fv || brent->v == brent->x || brent->v == brent->w) {
    brent->v = u;
    brent->fv = fu;
  }
}

static int is_narrow(const struct brent *brent)
{
  return fabs(brent->x - 0.5 * (brent->low + brent->high)) <= 2 * TOLERANCE - 0.5 * (brent->high - brent->low);
}

/* Whether the best value is at an end of the range of this search that is not a bound. */
static int at_edge(const struct brent *brent)
{
  return (brent->x - brent->from < 2 * TOLERANCE && brent->from > brent->lower) ||
         (brent->to - brent->x < 2 * TOLERANCE && brent->to < brent->upper);
}

/* End a search; where its minimum may be outside of its range, begin another one. Returns 1 where the tuner is idle
 * then. */
static int end_search(struct brent *brent)
{
  brent->searches++;
  if (at_edge(brent)) {
    begin(brent, brent->x - PERTURBATION, brent->x + PERTURBATION, brent->x);
    return 0;
  }
  brent->stage = STAGE_IDLE;
  brent->measured_since_search = 0;
  brent->level = brent->smooth = 0;
  return 1;
}

/* Record a cost when idle; begin a search where it has drifted, or after many measurements. */
static void watch(struct brent *brent, double cost)
{
  brent->measured_since_search++;
  if (brent->measured_since_search <= LEVEL_MEASUREMENTS) {
    brent->level += (cost - brent->level) / brent->measured_since_search;
    brent->smooth = brent->level;
    return;
  }
  /* a single slow measurement is no drift */
  brent->smooth += SMOOTHING * (fmin(cost, 2 * brent->smooth) - brent->smooth);
  if (brent->measured_since_search < TRIAL_INTERVAL_MAX && fabs(brent->smooth - brent->level) < DRIFT * brent->level)
    return;
  begin(brent, brent->x - PERTURBATION, brent->x + PERTURBATION, brent->x);
}

/* The median of 3 costs; the smaller one of 2. */
static double median(const double x[BRENT_REPEATS], int n)
{
  double smallest = x[0], largest = x[0], sum = 0;
  for (int k = 0; k < n; k++) {
    smallest = fmin(smallest, x[k]);
    largest = fmax(largest, x[k]);
    sum += x[k];
  }
  return n == 3 ? sum - smallest - largest : smallest;
}

int brent_measured(struct brent *brent, double cost)
{
  if (!(cost > 0) || !isfinite(cost)) return 0;
  if (brent->stage == STAGE_IDLE) {
    watch(brent, cost);
    return 0;
  }
  brent->cost[brent->repeats++] = cost;
  int rejected = brent->stage == STAGE_SEARCH && brent->repeats == 2 &&
                 fmin(brent->cost[0], brent->cost[1]) > REJECTED_COST_RATIO * brent->fx;
  if (brent->repeats < BRENT_REPEATS && !rejected) return 0;
  double value = median(brent->cost, brent->repeats);
  brent->repeats = 0;
  brent->evaluations++;
  if (brent->stage == STAGE_FIRST) {
    brent->fx = brent->fw = brent->fv = value;
    brent->stage = STAGE_SEARCH;
  } else {
    add_trial(brent, brent->trial, value);
  }
  if (is_narrow(brent) || brent->evaluations == BRENT_TRIALS_MAX) return end_search(brent);
  propose(brent);
  return 0;
}
