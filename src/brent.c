/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "brent.h"

#include <math.h>
#include <string.h>

/* A value need not be known better than to 5 %: the minimum is flat. */
#define TOLERANCE 0.05
#define GOLDEN 0.3819660112501051
/* A trial that costs so many times the best is not repeated. */
#define HOPELESS 1.3
/* Searches after the first look so far to both sides: a factor of two. */
#define PERTURBATION 0.6931471805599453
/* At rest: the mean of the first tellings is what the cost is compared with; it may change by so much until a new search
 * begins, which comes in any case after so many tellings. */
enum { LEVEL_TELLINGS = 8, PATIENCE = 256 };
#define DRIFT 0.1
#define SMOOTHING 0.15

enum { STAGE_FIRST, STAGE_SEARCH, STAGE_REST };

/* Begin between low and high with the value x. */
static void begin(struct brent *b, double low, double high, double x)
{
  b->low = b->from = fmax(low, b->least);
  b->high = b->to = fmin(high, b->most);
  b->trial = b->x = b->w = b->v = fmin(fmax(x, b->low), b->high);
  b->step = b->before = 0;
  b->repeats = b->evaluations = 0;
  b->stage = STAGE_FIRST;
}

void brent_open(struct brent *b, double least, double most, double start)
{
  memset(b, 0, sizeof *b);
  b->least = log(least);
  b->most = log(most);
  begin(b, b->least, b->most, log(start));
}

int brent_stage(const struct brent *b) { return b->stage; }

double brent_next(const struct brent *b) { return exp(b->stage == STAGE_REST ? b->x : b->trial); }

/* The next trial: the minimum of the parabola through x, w, v where that is to be trusted, else a golden section of the
 * longer side. */
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

/* The bracket and the three best values after a trial u that cost fu. */
static void learn(struct brent *b, double u, double fu)
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

static int narrow(const struct brent *b)
{
  return fabs(b->x - 0.5 * (b->low + b->high)) <= 2 * TOLERANCE - 0.5 * (b->high - b->low);
}

/* Did the search run into an end of its range that is not a bound? */
static int at_edge(const struct brent *b)
{
  return (b->x - b->from < 2 * TOLERANCE && b->from > b->least) || (b->to - b->x < 2 * TOLERANCE && b->to < b->most);
}

static int rest(struct brent *b)
{
  b->searches++;
  if (at_edge(b)) {
    begin(b, b->x - PERTURBATION, b->x + PERTURBATION, b->x);
    return 0;
  }
  b->stage = STAGE_REST;
  b->rested = 0;
  b->level = b->smooth = 0;
  return 1;
}

/* Cost at rest; a drift of it, or age, begins a search around the value. */
static void watch(struct brent *b, double cost)
{
  b->rested++;
  if (b->rested <= LEVEL_TELLINGS) {
    b->level += (cost - b->level) / b->rested;
    b->smooth = b->level;
    return;
  }
  b->smooth += SMOOTHING * (fmin(cost, 2 * b->smooth) - b->smooth);   /* one slow evaluation is no drift */
  if (b->rested < PATIENCE && fabs(b->smooth - b->level) < DRIFT * b->level) return;
  begin(b, b->x - PERTURBATION, b->x + PERTURBATION, b->x);
}

static double median(const double x[BRENT_REPEATS], int n)
{
  double least = x[0], most = x[0], sum = 0;
  for (int k = 0; k < n; k++) {
    least = fmin(least, x[k]);
    most = fmax(most, x[k]);
    sum += x[k];
  }
  return n == 3 ? sum - least - most : least;
}

int brent_tell(struct brent *b, double cost)
{
  if (!(cost > 0) || !isfinite(cost)) return 0;
  if (b->stage == STAGE_REST) {
    watch(b, cost);
    return 0;
  }
  b->cost[b->repeats++] = cost;
  int hopeless = b->stage == STAGE_SEARCH && b->repeats == 2 && fmin(b->cost[0], b->cost[1]) > HOPELESS * b->fx;
  if (b->repeats < BRENT_REPEATS && !hopeless) return 0;
  double value = median(b->cost, b->repeats);
  b->repeats = 0;
  b->evaluations++;
  if (b->stage == STAGE_FIRST) {
    b->fx = b->fw = b->fv = value;
    b->stage = STAGE_SEARCH;
  } else {
    learn(b, b->trial, value);
  }
  if (narrow(b) || b->evaluations == BRENT_MOST) return rest(b);
  propose(b);
  return 0;
}
