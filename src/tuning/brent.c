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
/* When idle, the smoothed cost is compared with the mean of the first LEVEL_MEASUREMENTS costs. A new search begins when it differs by the
 * fraction DRIFT, or after TRIAL_INTERVAL_MAX measurements. */
enum { LEVEL_MEASUREMENTS = 8, TRIAL_INTERVAL_MAX = 256 };
#define DRIFT 0.1
#define SMOOTHING 0.15   /* weight of the newest cost */

enum { STAGE_FIRST, STAGE_SEARCH, STAGE_IDLE };

/* Begin a search between low and high at x. */
static void begin(struct brent *b, double low, double high, double x)
{
  b->low = b->from = fmax(low, b->lower);
  b->high = b->to = fmin(high, b->upper);
  b->trial = b->x = b->w = b->v = fmin(fmax(x, b->low), b->high);
  b->step = b->before = 0;
  b->repeats = b->evaluations = 0;
  b->stage = STAGE_FIRST;
}

void brent_open(struct brent *b, double lower, double upper, double start)
{
  memset(b, 0, sizeof *b);
  b->lower = log(lower);
  b->upper = log(upper);
  begin(b, b->lower, b->upper, log(start));
}

int brent_stage(const struct brent *b) { return b->stage; }

double brent_next(const struct brent *b) { return exp(b->stage == STAGE_IDLE ? b->x : b->trial); }

/* Choose the next trial: the minimum of the parabola through x, w, v where it lies in the bracket and steps shrink, else a golden section
 * of the longer side. */
static void propose(struct brent *b)
{
  double middle = 0.5 * (b->low + b->high), p = 0, q = 0, last = b->before;
  if (fabs(b->before) > TOLERANCE) {
    double r = (b->x - b->w) * (b->fx - b->fv);
    q = (b->x - b->v) * (b->fx - b->fw);
    p = (b->x - b->v) * q - (b->x - b->w) * r;
    q = 2 * (q - r);
    if (q > 0) p = -p;
    q = fabs(q);
    b->before = b->step;
  }
  if (fabs(p) < fabs(0.5 * q * last) && p > q * (b->low - b->x) && p < q * (b->high - b->x)) {
    b->step = p / q;
    double u = b->x + b->step;
    if (u - b->low < 2 * TOLERANCE || b->high - u < 2 * TOLERANCE) b->step = copysign(TOLERANCE, middle - b->x);
  } else {
    b->before = b->x < middle ? b->high - b->x : b->low - b->x;
    b->step = GOLDEN * b->before;
  }
  b->trial = b->x + (fabs(b->step) >= TOLERANCE ? b->step : copysign(TOLERANCE, b->step));
}

/* Update the bracket and the three best values with a trial u of cost fu. */
static void add_trial(struct brent *b, double u, double fu)
{
  if (fu <= b->fx) {
    *(u >= b->x ? &b->low : &b->high) = b->x;
    b->v = b->w, b->fv = b->fw;
    b->w = b->x, b->fw = b->fx;
    b->x = u, b->fx = fu;
    return;
  }
  *(u < b->x ? &b->low : &b->high) = u;
  if (fu <= b->fw || b->w == b->x) {
    b->v = b->w, b->fv = b->fw;
    b->w = u, b->fw = fu;
  } else if (fu <= b->fv || b->v == b->x || b->v == b->w) {
    b->v = u, b->fv = fu;
  }
}

static int is_narrow(const struct brent *b)
{
  return fabs(b->x - 0.5 * (b->low + b->high)) <= 2 * TOLERANCE - 0.5 * (b->high - b->low);
}

/* Whether the best value is at an end of the range of this search that is not a bound. */
static int at_edge(const struct brent *b)
{
  return (b->x - b->from < 2 * TOLERANCE && b->from > b->lower) || (b->to - b->x < 2 * TOLERANCE && b->to < b->upper);
}

/* End a search; where its minimum may be outside of its range, begin another one. Returns 1 where the tuner is idle then. */
static int end_search(struct brent *b)
{
  b->searches++;
  if (at_edge(b)) {
    begin(b, b->x - PERTURBATION, b->x + PERTURBATION, b->x);
    return 0;
  }
  b->stage = STAGE_IDLE;
  b->measured_since_search = 0;
  b->level = b->smooth = 0;
  return 1;
}

/* Record a cost when idle; begin a search where it has drifted, or after many measurements. */
static void watch(struct brent *b, double cost)
{
  b->measured_since_search++;
  if (b->measured_since_search <= LEVEL_MEASUREMENTS) {
    b->level += (cost - b->level) / b->measured_since_search;
    b->smooth = b->level;
    return;
  }
  b->smooth += SMOOTHING * (fmin(cost, 2 * b->smooth) - b->smooth);   /* a single slow measurement is no drift */
  if (b->measured_since_search < TRIAL_INTERVAL_MAX && fabs(b->smooth - b->level) < DRIFT * b->level) return;
  begin(b, b->x - PERTURBATION, b->x + PERTURBATION, b->x);
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

int brent_measured(struct brent *b, double cost)
{
  if (!(cost > 0) || !isfinite(cost)) return 0;
  if (b->stage == STAGE_IDLE) {
    watch(b, cost);
    return 0;
  }
  b->cost[b->repeats++] = cost;
  int rejected = b->stage == STAGE_SEARCH && b->repeats == 2 && fmin(b->cost[0], b->cost[1]) > REJECTED_COST_RATIO * b->fx;
  if (b->repeats < BRENT_REPEATS && !rejected) return 0;
  double value = median(b->cost, b->repeats);
  b->repeats = 0;
  b->evaluations++;
  if (b->stage == STAGE_FIRST) {
    b->fx = b->fw = b->fv = value;
    b->stage = STAGE_SEARCH;
  } else {
    add_trial(b, b->trial, value);
  }
  if (is_narrow(b) || b->evaluations == BRENT_TRIALS_MAX) return end_search(b);
  propose(b);
  return 0;
}
