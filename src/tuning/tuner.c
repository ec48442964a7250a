/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "tuning/tuner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Upper limit of an interval in units of the largest age seen: a model does not extrapolate far. */
#define EXTRAPOLATION_MAX 2.0
/* Growth of the first interval at each fit that fails, since larger ages make the model known. */
#define FIRST_GROWTH 1.5
/* Exploration: an interval is longer than the best one, so that growth is measured also where trees age slowly. At most
 * one interval in EXPLORE_BUILDS explores, is EXPLORE_LENGTH times as long, and costs at most the fraction EXPLORE_COST
 * of the time. */
enum { EXPLORE_BUILDS = 16 };
#define EXPLORE_LENGTH 1.6
#define EXPLORE_COST 0.003
/* Points with ages up to this multiple of the largest recent age are fitted: growth may differ at larger ages. */
#define HORIZON 1.5
/* Ages that differ by less than this fraction of the largest recent age are equal. */
#define SAME_AGE 0.05
/* Of two costs at equal age that differ by this factor, one is disturbed. */
#define DISTURBED_RATIO 3.0
/* Factors of the largest age and of the rate of work at each build: both follow a system that changes. */
#define AGE_KEPT 0.9
#define RATE_KEPT 0.9375
/* A fit is repeated after this number of new points, and this fraction of the points that are kept. */
enum { REFIT_MIN = 4, REFIT_PART = 3 };
/* Rounds of a fit. Its weights of outliers converge in two or three. */
enum { ROUNDS = 5 };
/* Variances smaller than this fraction are due to rounding. */
#define ROUNDING 1e-9
/* Tukey's constant: residuals beyond this number of standard deviations have no weight. */
#define TUKEY 4.685
#define MAD_TO_SIGMA 1.4826
/* Lower limit of the scatter: the resolution of clocks. */
#define SIGMA_MIN 1e-6
/* Lower limit of the cost of a walk relative to a fresh tree; its inverse limits corrections of reference costs. Values
 * beyond are noise, or a model far from its points. */
#define GROWTH_MIN 0.1

const char *const growth_names[GROWTHS] = {"linear", "power", "parabolic"};

/* --- a model ----------------------------------------------------------------------------------------------------- */

/* The model's function without the lower limit. */
static double growth(const struct growth_model *model, double age)
{
  if (!model->known) return 1;
  if (model->kind == GROWTH_POWER) return exp(model->b * age);
  return 1 + age * (model->b + (model->kind == GROWTH_PARABOLIC ? model->a * age : 0));
}

double growth_at(const struct growth_model *model, double age) { return fmax(GROWTH_MIN, growth(model, age)); }

/* Integral of growth - 1 from 0 to T. */
static double excess(const struct growth_model *model, double T)
{
  double x = model->b * T;
  if (!model->known) return 0;
  if (model->kind == GROWTH_POWER) return fabs(x) < 1e-4 ? T * (x / 2 + x * x / 6) : T * (expm1(x) / x - 1);
  return T * (x / 2 + (model->kind == GROWTH_PARABOLIC ? model->a * T * T / 3 : 0));
}

/* T (growth(T) - 1) - excess(T): the mean cost (B + W excess(T)) / T has its minimum where this is B / W. */
static double marginal(const struct growth_model *model, double T)
{
  return T * (growth(model, T) - 1) - excess(model, T);
}

/* The interval up to `limit` with the smallest mean cost; build_over_rate is B / W. Eqs 12, C.5 and C.11, with sums as
 * integrals. Where the mean cost decreases up to `limit`, or growth slows down before a build pays (C.13), it is
 * `limit`. */
static double best_interval(const struct growth_model *model, double build_over_rate, double limit)
{
  double low = 0, high = limit;
  if (model->kind == GROWTH_PARABOLIC && model->a < 0) high = fmin(high, fmax(0, -model->b / (2 * model->a)));
  if (marginal(model, high) < build_over_rate) return limit;
  for (int k = 0; k < 60; k++) {
    double mid = 0.5 * (low + high);
    if (marginal(model, mid) < build_over_rate) low = mid;
    else high = mid;
  }
  return high;
}

/* --- fits -------------------------------------------------------------------------------------------------------- */

/* A fit to points with ages up to a limit. Sets of a kind share an unknown scale, so slopes come from differences
 * within kinds. */
struct fit {
  struct tuner_point point[TUNER_POINTS];
  int n;
  struct growth_model model;
  double reference[TUNER_KINDS], sigma;
  double weight[TUNER_POINTS], residual[TUNER_POINTS];
};

/* The k-th smallest (from 0) of x[n] (Hoare's quickselect). Reorders x. */
static double smallest(double *x, int n, int k)
{
  for (int low = 0, high = n - 1; low < high;) {
    double pivot = x[low + (high - low) / 2];
    int i = low, j = high;
    while (i <= j) {
      while (x[i] < pivot) i++;
      while (x[j] > pivot) j--;
      if (i > j) break;
      double y = x[i];
      x[i++] = x[j];
      x[j--] = y;
    }
    if (k <= j) high = j;
    else if (k >= i) low = i;
    else break;
  }
  return x[k];
}

/* The lower median. Reorders x. */
static double median(double *x, int n) { return smallest(x, n, (n - 1) / 2); }

/* Start with the median cost of each kind. */
static void begin_references(struct fit *fit)
{
  double cost[TUNER_POINTS];
  for (int kind = 0; kind < TUNER_KINDS; kind++) {
    int n = 0;
    for (int i = 0; i < fit->n; i++)
      if (fit->point[i].kind == kind) cost[n++] = fit->point[i].cost;
    if (n) fit->reference[kind] = median(cost, n);
  }
}

/* Relative residuals, their scatter, and weights: the time of a set, times Tukey's bisquare, which is zero for
 * outliers. `all` 1: no point is an outlier. */
static void weigh(struct fit *fit, int all)
{
  double size[TUNER_POINTS];
  for (int i = 0; i < fit->n; i++) {
    const struct tuner_point *p = &fit->point[i];
    fit->residual[i] = p->cost / fit->reference[p->kind] - growth_at(&fit->model, p->age);
    size[i] = fabs(fit->residual[i]);
  }
  fit->sigma = fmax(MAD_TO_SIGMA * median(size, fit->n), SIGMA_MIN);
  for (int i = 0; i < fit->n; i++) {
    double e = fit->residual[i] / (TUKEY * fit->sigma), trust = all ? 1 : fabs(e) < 1 ? (1 - e * e) * (1 - e * e) : 0;
    fit->weight[i] = trust * fit->point[i].targets * fit->reference[fit->point[i].kind];
  }
}

/* The fitted quantity: the cost relative to its kind's reference, or its logarithm. */
static double ordinate(const struct fit *fit, int i)
{
  double y = fit->point[i].cost / fit->reference[fit->point[i].kind];
  return fit->model.kind == GROWTH_POWER ? log(y) : y;
}

/* Weighted means over each kind: of 1 (the sum of weights), x, x^2, y. */
static void kind_means(const struct fit *fit, double mean[TUNER_KINDS][4])
{
  memset(mean, 0, sizeof mean[0] * TUNER_KINDS);
  for (int i = 0; i < fit->n; i++) {
    double x = fit->point[i].age, w = fit->weight[i], *m = mean[fit->point[i].kind];
    m[0] += w;
    m[1] += w * x;
    m[2] += w * x * x;
    m[3] += w * ordinate(fit, i);
  }
  for (int k = 0; k < TUNER_KINDS; k++)
    for (int c = 1; c < 4 && mean[k][0] > 0; c++) mean[k][c] /= mean[k][0];
}

/* Least squares within kinds. Returns 0 where ages do not differ enough. */
static int slopes(struct fit *fit, double mean[TUNER_KINDS][4])
{
  double xx = 0, xz = 0, zz = 0, xy = 0, zy = 0, all = 0; /* z: x^2 */
  for (int i = 0; i < fit->n; i++) {
    const double *m = mean[fit->point[i].kind];
    double w = fit->weight[i], x = fit->point[i].age, z = x * x - m[2], y = ordinate(fit, i) - m[3];
    all += w * x * x;
    x -= m[1];
    xx += w * x * x;
    xz += w * x * z;
    zz += w * z * z;
    xy += w * x * y;
    zy += w * z * y;
  }
  double determinant = xx * zz - xz * xz;
  if (!(xx > ROUNDING * all)) return 0;
  fit->model.a = 0;
  fit->model.b = xy / xx;
  if (fit->model.kind != GROWTH_PARABOLIC) return 1;
  if (!(determinant > ROUNDING * xx * zz)) return 0;
  fit->model.a = (xx * zy - xz * xy) / determinant;
  fit->model.b = (zz * xy - xz * zy) / determinant;
  return 1;
}

/* Update the reference costs (of a fresh tree) for the slopes. */
static void scale_references(struct fit *fit, double mean[TUNER_KINDS][4])
{
  for (int k = 0; k < TUNER_KINDS; k++) {
    if (!(mean[k][0] > 0)) continue;
    double start = mean[k][3] - fit->model.b * mean[k][1] - fit->model.a * mean[k][2];
    if (fit->model.kind == GROWTH_POWER) fit->reference[k] *= exp(start);
    else fit->reference[k] *= fmin(fmax(start, GROWTH_MIN), 1 / GROWTH_MIN);
  }
}

/* Fit one model. `all` 1: the first round has no outliers; 0: walks far from the median of their kind are outliers in
 * it. Returns 1; 0 where there is no fit. */
static int fit_model(struct fit *fit, const struct tuner_point *point, int n, double oldest, enum growth kind, int all)
{
  double mean[TUNER_KINDS][4];
  memset(fit, 0, sizeof *fit);
  for (int i = 0; i < n; i++)
    if (point[i].age <= oldest) fit->point[fit->n++] = point[i];
  if (fit->n == 0) return 0;
  fit->model = (struct growth_model){.known = 1, .kind = kind};
  begin_references(fit);
  for (int round = 0; round < ROUNDS; round++) {
    weigh(fit, all && round == 0);
    kind_means(fit, mean);
    if (!slopes(fit, mean)) return 0;
    scale_references(fit, mean);
  }
  weigh(fit, 0);
  return isfinite(fit->model.b) && isfinite(fit->model.a);
}

/* Reduced chi^2 with residuals limited to `cut`, which is the same for all models; below 0: too few points. */
static double reduced_chi2(const struct fit *fit, double cut)
{
  int free = fit->n - (fit->model.kind == GROWTH_PARABOLIC ? 2 : 1), seen[TUNER_KINDS] = {0};
  double sum = 0, weights = 0;
  for (int i = 0; i < fit->n; i++) {
    double w = fit->point[i].targets * fit->reference[fit->point[i].kind], e = fmin(fabs(fit->residual[i]), cut);
    free -= !seen[fit->point[i].kind]++;
    sum += w * e * e;
    weights += w;
  }
  return free > 0 && weights > 0 ? sum / weights * fit->n / free : -1;
}

/* Fit all models; keep the one with the smallest chi^2, and its references. Each model is fitted with and without
 * outliers in the first round: a few walks of old trees among many of fresh ones look like outliers at first, but real
 * outliers must not determine the fit. */
static void fit_all(struct rebuild_tuner *tuner)
{
  enum { FITS = 2 * GROWTHS };
  struct fit f[FITS];
  int good[FITS], best = -1;
  double cut = HUGE_VAL, chi2[FITS];
  for (int k = 0; k < FITS; k++) {
    good[k] =
        fit_model(&f[k], tuner->point, tuner->points, HORIZON * tuner->oldest, (enum growth)(k % GROWTHS), k < GROWTHS);
    if (good[k]) cut = fmin(cut, TUKEY * f[k].sigma);
  }
  for (int k = 0; k < FITS; k++) {
    chi2[k] = good[k] ? reduced_chi2(&f[k], cut) : -1;
    if (chi2[k] >= 0 && (best < 0 || chi2[k] < chi2[best])) best = k;
  }
  tuner->unfitted = 0;
  if (best < 0) return;
  tuner->model = f[best].model;
  for (int k = 0; k < GROWTHS; k++) {
    double other = chi2[k + GROWTHS];
    tuner->model.chi2[k] = chi2[k] < 0 || (other >= 0 && other < chi2[k]) ? other : chi2[k];
  }
  for (int k = 0; k < TUNER_KINDS; k++)
    if (f[best].reference[k] > 0) tuner->reference[k] = f[best].reference[k];
}

/* --- points ------------------------------------------------------------------------------------------------------ */

static int by_kind_and_age(const void *a, const void *b)
{
  const struct tuner_point *p = a, *q = b;
  if (p->kind != q->kind) return p->kind - q->kind;
  return (p->age > q->age) - (p->age < q->age);
}

/* Join pairs of sorted points of one kind whose ages differ by at most `distance`. Where one cost is disturbed, the
 * lower one is kept: disturbances make walks longer. */
static void join_neighbours(struct rebuild_tuner *tuner, double distance)
{
  int kept = 0;
  for (int i = 0; i < tuner->points; kept++) {
    struct tuner_point p = tuner->point[i++];
    if (i < tuner->points && tuner->point[i].kind == p.kind && tuner->point[i].age - p.age <= distance) {
      const struct tuner_point *q = &tuner->point[i++];
      double both = p.targets + q->targets,
             ratio = q->cost / growth_at(&tuner->model, q->age) / (p.cost / growth_at(&tuner->model, p.age));
      if (ratio > DISTURBED_RATIO || ratio < 1 / DISTURBED_RATIO) {
        tuner->point[kept] = ratio < 1 ? *q : p;
        continue;
      }
      p.age = (p.age * p.targets + q->age * q->targets) / both;
      p.cost = (p.cost * p.targets + q->cost * q->targets) / both;
      p.targets = both;
    }
    tuner->point[kept] = p;
  }
  tuner->points = kept;
}

/* Reduce the number of points: drop ages beyond the horizon and join neighbours of one kind, those of equal age first.
 * Halve the weights of the points that remain. */
static void thin_out(struct rebuild_tuner *tuner)
{
  int kept = 0;
  for (int i = 0; i < tuner->points; i++)
    if (tuner->point[i].age <= HORIZON * tuner->oldest) tuner->point[kept++] = tuner->point[i];
  tuner->points = kept;
  qsort(tuner->point, (size_t)tuner->points, sizeof *tuner->point, by_kind_and_age);
  join_neighbours(tuner, SAME_AGE * tuner->oldest);
  if (tuner->points > TUNER_POINTS * 3 / 4) join_neighbours(tuner, HUGE_VAL);
  for (int i = 0; i < tuner->points; i++) tuner->point[i].targets *= 0.5;
}

/* --- the tuner --------------------------------------------------------------------------------------------------- */

void rebuild_open(struct rebuild_tuner *tuner, double fixed, double first)
{
  memset(tuner, 0, sizeof *tuner);
  tuner->fixed = fixed;
  tuner->first = first;
}

/* Seconds of a build: the mean of the last ones without the longest. Builds of some particles and of all may alternate,
 * so a median would not be representative. */
static double build_seconds(const struct rebuild_tuner *tuner)
{
  double sum = 0, longest = 0;
  int n = 0;
  for (int k = 0; k < TUNER_BUILDS; k++) {
    n += tuner->build[k] > 0;
    sum += tuner->build[k];
    longest = fmax(longest, tuner->build[k]);
  }
  return n > 2 ? (sum - longest) / (n - 1) : n ? sum / n : 0;
}

/* Seconds of walks on a fresh tree per unit of age. */
static double rate(const struct rebuild_tuner *tuner)
{
  double seconds = 0;
  for (int k = 0; k < TUNER_KINDS; k++) seconds += tuner->targets[k] * tuner->reference[k];
  return tuner->ages > 0 ? seconds / tuner->ages : 0;
}

/* Update the model and the best interval where enough points are new since the last fit. */
static void update_prediction(struct rebuild_tuner *tuner)
{
  if (tuner->unfitted <= REFIT_MIN + tuner->points / REFIT_PART) return;
  fit_all(tuner);
  double build = build_seconds(tuner), work = rate(tuner);
  if (!tuner->model.known) tuner->first *= FIRST_GROWTH; /* ages do not differ enough within any kind of set */
  if (!tuner->model.known || !(work > 0) || !(tuner->oldest > 0)) return;
  tuner->best = build > 0 ? best_interval(&tuner->model, build / work, EXTRAPOLATION_MAX * tuner->oldest)
                          : EXTRAPOLATION_MAX * tuner->oldest;
}

void rebuild_built(struct rebuild_tuner *tuner, double seconds)
{
  if (tuner->asked > tuner->age) { /* the last walk was before the build */
    tuner->ages += tuner->asked - tuner->age;
    tuner->age = tuner->asked;
  }
  tuner->last = tuner->now;
  tuner->last.age = tuner->age;
  if (tuner->fixed > 0) {
    tuner->now = (struct rebuild_outcome){.builds = ++tuner->builds, .interval = tuner->fixed, .build = seconds};
    tuner->age = tuner->asked = 0;
    return;
  }
  if (seconds > 0 && isfinite(seconds)) tuner->build[tuner->timed++ % TUNER_BUILDS] = seconds;
  for (int k = 0; k < TUNER_KINDS; k++) tuner->targets[k] *= RATE_KEPT;
  tuner->ages *= RATE_KEPT;
  tuner->oldest = fmax(tuner->age, AGE_KEPT * tuner->oldest);
  update_prediction(tuner);
  tuner->builds++;
  tuner->age = tuner->asked = tuner->exploring = 0;
  tuner->now = (struct rebuild_outcome){.builds = tuner->builds,
                                        .model = tuner->model,
                                        .points = tuner->points,
                                        .build = build_seconds(tuner),
                                        .interval = tuner->best};
  memcpy(tuner->interval_reference, tuner->reference, sizeof tuner->interval_reference);
}

void rebuild_walked(struct rebuild_tuner *tuner, double age, int kind, double targets, double seconds)
{
  if (!(targets > 0) || !(seconds >= 0) || !isfinite(seconds) || !(age >= 0)) return;
  if (kind < 0) kind = 0;
  if (kind >= TUNER_KINDS) kind = TUNER_KINDS - 1;
  tuner->now.measured += seconds;
  double known = tuner->interval_reference[kind] * targets;
  if (!(known > 0)) tuner->now.unknown = 1;
  tuner->now.fresh += known;
  tuner->now.predicted += known * growth_at(&tuner->now.model, age);
  if (age > tuner->age) {
    tuner->ages += age - tuner->age;
    tuner->age = age;
  }
  tuner->targets[kind] += targets;
  tuner->set[kind] = targets;
  tuner->oldest = fmax(tuner->oldest, age);
  if (tuner->fixed > 0 || seconds == 0) return; /* 0 s: below the clock's resolution */
  if (tuner->points == TUNER_POINTS) thin_out(tuner);
  tuner->point[tuner->points++] = (struct tuner_point){age, seconds / targets, targets, kind, 0};
  tuner->unfitted++;
}

double rebuild_interval(const struct rebuild_tuner *tuner, double span)
{
  double best = tuner->fixed > 0 ? tuner->fixed : tuner->best > 0 ? tuner->best : tuner->first;
  if (tuner->fixed > 0 || !(span < HUGE_VAL)) return best;
  double fewer = fmax(1, floor(span / best)), more = fewer + 1, build = build_seconds(tuner), work = rate(tuner);
  if (!tuner->model.known) return span / fmax(1, round(span / best));
  double cost_fewer = fewer * (build + work * excess(&tuner->model, span / fewer));
  double cost_more = more * (build + work * excess(&tuner->model, span / more));
  return span / (cost_fewer <= cost_more ? fewer : more);
}

/* Extra seconds of the next walk compared with a fresh tree; 0 where its kind is unknown. */
static double extra_of(const struct rebuild_tuner *tuner, int kind, double age)
{
  return kind >= 0 && kind < TUNER_KINDS
             ? tuner->reference[kind] * tuner->set[kind] * (growth_at(&tuner->model, age) - 1)
             : 0;
}

/* Whether this interval may explore. apart: age until the next call of rebuild_due; extra: extra seconds of the next
 * walk. */
static int explores(const struct rebuild_tuner *tuner, double interval, double apart, double extra)
{
  double usual = build_seconds(tuner) + rate(tuner) * fmax(interval, apart);
  return (double)(tuner->builds - tuner->explored) >= fmax(EXPLORE_BUILDS, extra / (EXPLORE_COST * usual));
}

int rebuild_due(struct rebuild_tuner *tuner, double age, double rest, int kind)
{
  if (!(rest > 0) || !(age > 0)) return 0;
  if (tuner->fixed > 0) return age >= tuner->fixed * (1 - 1e-12);
  update_prediction(tuner);
  double apart = age - tuner->asked, extra = extra_of(tuner, kind, age), interval = rebuild_interval(tuner, age + rest);
  tuner->asked = age;
  int last = age + 0.5 * apart >= EXPLORE_LENGTH * fmax(interval, apart); /* the next call is expected `apart` later */
  int early = age + 0.5 * apart < interval;
  if (last || tuner->exploring) return last;
  if (early) return build_seconds(tuner) > 0 && extra > build_seconds(tuner);
  if (explores(tuner, interval, apart, extra)) {
    tuner->exploring = 1;
    tuner->explored = tuner->builds;
  }
  return !tuner->exploring;
}
