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
/* Exploration: an interval is longer than the best one, so that growth is measured also where trees age slowly. At most one interval in
 * EXPLORE_BUILDS explores, is EXPLORE_LENGTH times as long, and costs at most the fraction EXPLORE_COST of the time. */
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
/* Lower limit of the cost of a walk relative to a fresh tree; its inverse limits corrections of reference costs. Values beyond are noise,
 * or a model far from its points. */
#define GROWTH_MIN 0.1

const char *const growth_names[GROWTHS] = {"linear", "power", "parabolic"};

/* --- a model ----------------------------------------------------------------------------------------------------- */

/* The model's function without the lower limit. */
static double growth(const struct growth_model *m, double age)
{
  if (!m->known) return 1;
  if (m->kind == GROWTH_POWER) return exp(m->b * age);
  return 1 + age * (m->b + (m->kind == GROWTH_PARABOLIC ? m->a * age : 0));
}

double growth_at(const struct growth_model *m, double age) { return fmax(GROWTH_MIN, growth(m, age)); }

/* Integral of growth - 1 from 0 to T. */
static double excess(const struct growth_model *m, double T)
{
  double x = m->b * T;
  if (!m->known) return 0;
  if (m->kind == GROWTH_POWER) return fabs(x) < 1e-4 ? T * (x / 2 + x * x / 6) : T * (expm1(x) / x - 1);
  return T * (x / 2 + (m->kind == GROWTH_PARABOLIC ? m->a * T * T / 3 : 0));
}

/* T (growth(T) - 1) - excess(T): the mean cost (B + W excess(T)) / T has its minimum where this is B / W. */
static double marginal(const struct growth_model *m, double T) { return T * (growth(m, T) - 1) - excess(m, T); }

/* The interval up to `limit` with the smallest mean cost; build_over_rate is B / W. Eqs 12, C.5 and C.11, with sums as integrals. Where the
 * mean cost decreases up to `limit`, or growth slows down before a build pays (C.13), it is `limit`. */
static double best_interval(const struct growth_model *m, double build_over_rate, double limit)
{
  double low = 0, high = limit;
  if (m->kind == GROWTH_PARABOLIC && m->a < 0) high = fmin(high, fmax(0, -m->b / (2 * m->a)));
  if (marginal(m, high) < build_over_rate) return limit;
  for (int k = 0; k < 60; k++) {
    double mid = 0.5 * (low + high);
    if (marginal(m, mid) < build_over_rate) low = mid;
    else high = mid;
  }
  return high;
}

/* --- fits -------------------------------------------------------------------------------------------------------- */

/* A fit to points with ages up to a limit. Sets of a kind share an unknown scale, so slopes come from differences within kinds. */
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
static void begin_references(struct fit *f)
{
  double cost[TUNER_POINTS];
  for (int kind = 0; kind < TUNER_KINDS; kind++) {
    int n = 0;
    for (int i = 0; i < f->n; i++)
      if (f->point[i].kind == kind) cost[n++] = f->point[i].cost;
    if (n) f->reference[kind] = median(cost, n);
  }
}

/* Relative residuals, their scatter, and weights: the time of a set, times Tukey's bisquare, which is zero for outliers. `all` 1: no point
 * is an outlier. */
static void weigh(struct fit *f, int all)
{
  double size[TUNER_POINTS];
  for (int i = 0; i < f->n; i++) {
    const struct tuner_point *p = &f->point[i];
    f->residual[i] = p->cost / f->reference[p->kind] - growth_at(&f->model, p->age);
    size[i] = fabs(f->residual[i]);
  }
  f->sigma = fmax(MAD_TO_SIGMA * median(size, f->n), SIGMA_MIN);
  for (int i = 0; i < f->n; i++) {
    double e = f->residual[i] / (TUKEY * f->sigma), trust = all ? 1 : fabs(e) < 1 ? (1 - e * e) * (1 - e * e) : 0;
    f->weight[i] = trust * f->point[i].targets * f->reference[f->point[i].kind];
  }
}

/* The fitted quantity: the cost relative to its kind's reference, or its logarithm. */
static double ordinate(const struct fit *f, int i)
{
  double y = f->point[i].cost / f->reference[f->point[i].kind];
  return f->model.kind == GROWTH_POWER ? log(y) : y;
}

/* Weighted means over each kind: of 1 (the sum of weights), x, x^2, y. */
static void kind_means(const struct fit *f, double mean[TUNER_KINDS][4])
{
  memset(mean, 0, sizeof mean[0] * TUNER_KINDS);
  for (int i = 0; i < f->n; i++) {
    double x = f->point[i].age, w = f->weight[i], *m = mean[f->point[i].kind];
    m[0] += w;
    m[1] += w * x;
    m[2] += w * x * x;
    m[3] += w * ordinate(f, i);
  }
  for (int k = 0; k < TUNER_KINDS; k++)
    for (int c = 1; c < 4 && mean[k][0] > 0; c++) mean[k][c] /= mean[k][0];
}

/* Least squares within kinds. Returns 0 where ages do not differ enough. */
static int slopes(struct fit *f, double mean[TUNER_KINDS][4])
{
  double xx = 0, xz = 0, zz = 0, xy = 0, zy = 0, all = 0;   /* z: x^2 */
  for (int i = 0; i < f->n; i++) {
    const double *m = mean[f->point[i].kind];
    double w = f->weight[i], x = f->point[i].age, z = x * x - m[2], y = ordinate(f, i) - m[3];
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
  f->model.a = 0;
  f->model.b = xy / xx;
  if (f->model.kind != GROWTH_PARABOLIC) return 1;
  if (!(determinant > ROUNDING * xx * zz)) return 0;
  f->model.a = (xx * zy - xz * xy) / determinant;
  f->model.b = (zz * xy - xz * zy) / determinant;
  return 1;
}

/* Update the reference costs (of a fresh tree) for the slopes. */
static void scale_references(struct fit *f, double mean[TUNER_KINDS][4])
{
  for (int k = 0; k < TUNER_KINDS; k++) {
    if (!(mean[k][0] > 0)) continue;
    double start = mean[k][3] - f->model.b * mean[k][1] - f->model.a * mean[k][2];
    if (f->model.kind == GROWTH_POWER) f->reference[k] *= exp(start);
    else f->reference[k] *= fmin(fmax(start, GROWTH_MIN), 1 / GROWTH_MIN);
  }
}

/* Fit one model. `all` 1: the first round has no outliers; 0: walks far from the median of their kind are outliers in it. Returns 1; 0
 * where there is no fit. */
static int fit_model(struct fit *f, const struct tuner_point *point, int n, double oldest, enum growth kind, int all)
{
  double mean[TUNER_KINDS][4];
  memset(f, 0, sizeof *f);
  for (int i = 0; i < n; i++)
    if (point[i].age <= oldest) f->point[f->n++] = point[i];
  if (f->n == 0) return 0;
  f->model = (struct growth_model){.known = 1, .kind = kind};
  begin_references(f);
  for (int round = 0; round < ROUNDS; round++) {
    weigh(f, all && round == 0);
    kind_means(f, mean);
    if (!slopes(f, mean)) return 0;
    scale_references(f, mean);
  }
  weigh(f, 0);
  return isfinite(f->model.b) && isfinite(f->model.a);
}

/* Reduced chi^2 with residuals limited to `cut`, which is the same for all models; below 0: too few points. */
static double reduced_chi2(const struct fit *f, double cut)
{
  int free = f->n - (f->model.kind == GROWTH_PARABOLIC ? 2 : 1), seen[TUNER_KINDS] = {0};
  double sum = 0, weights = 0;
  for (int i = 0; i < f->n; i++) {
    double w = f->point[i].targets * f->reference[f->point[i].kind], e = fmin(fabs(f->residual[i]), cut);
    free -= !seen[f->point[i].kind]++;
    sum += w * e * e;
    weights += w;
  }
  return free > 0 && weights > 0 ? sum / weights * f->n / free : -1;
}

/* Fit all models; keep the one with the smallest chi^2, and its references. Each model is fitted with and without outliers in the first
 * round: a few walks of old trees among many of fresh ones look like outliers at first, but real outliers must not determine the fit. */
static void fit_all(struct rebuild_tuner *t)
{
  enum { FITS = 2 * GROWTHS };
  struct fit f[FITS];
  int good[FITS], best = -1;
  double cut = HUGE_VAL, chi2[FITS];
  for (int k = 0; k < FITS; k++) {
    good[k] = fit_model(&f[k], t->point, t->points, HORIZON * t->oldest, (enum growth)(k % GROWTHS), k < GROWTHS);
    if (good[k]) cut = fmin(cut, TUKEY * f[k].sigma);
  }
  for (int k = 0; k < FITS; k++) {
    chi2[k] = good[k] ? reduced_chi2(&f[k], cut) : -1;
    if (chi2[k] >= 0 && (best < 0 || chi2[k] < chi2[best])) best = k;
  }
  t->unfitted = 0;
  if (best < 0) return;
  t->model = f[best].model;
  for (int k = 0; k < GROWTHS; k++) {
    double other = chi2[k + GROWTHS];
    t->model.chi2[k] = chi2[k] < 0 || (other >= 0 && other < chi2[k]) ? other : chi2[k];
  }
  for (int k = 0; k < TUNER_KINDS; k++)
    if (f[best].reference[k] > 0) t->reference[k] = f[best].reference[k];
}

/* --- points ------------------------------------------------------------------------------------------------------ */

static int by_kind_and_age(const void *a, const void *b)
{
  const struct tuner_point *p = a, *q = b;
  if (p->kind != q->kind) return p->kind - q->kind;
  return (p->age > q->age) - (p->age < q->age);
}

/* Join pairs of sorted points of one kind whose ages differ by at most `distance`. Where one cost is disturbed, the lower one is kept:
 * disturbances make walks longer. */
static void join_neighbours(struct rebuild_tuner *t, double distance)
{
  int kept = 0;
  for (int i = 0; i < t->points; kept++) {
    struct tuner_point p = t->point[i++];
    if (i < t->points && t->point[i].kind == p.kind && t->point[i].age - p.age <= distance) {
      const struct tuner_point *q = &t->point[i++];
      double both = p.targets + q->targets, ratio = q->cost / growth_at(&t->model, q->age) / (p.cost / growth_at(&t->model, p.age));
      if (ratio > DISTURBED_RATIO || ratio < 1 / DISTURBED_RATIO) {
        t->point[kept] = ratio < 1 ? *q : p;
        continue;
      }
      p.age = (p.age * p.targets + q->age * q->targets) / both;
      p.cost = (p.cost * p.targets + q->cost * q->targets) / both;
      p.targets = both;
    }
    t->point[kept] = p;
  }
  t->points = kept;
}

/* Reduce the number of points: drop ages beyond the horizon and join neighbours of one kind, those of equal age first. Halve the weights of
 * the points that remain. */
static void thin_out(struct rebuild_tuner *t)
{
  int kept = 0;
  for (int i = 0; i < t->points; i++)
    if (t->point[i].age <= HORIZON * t->oldest) t->point[kept++] = t->point[i];
  t->points = kept;
  qsort(t->point, (size_t)t->points, sizeof *t->point, by_kind_and_age);
  join_neighbours(t, SAME_AGE * t->oldest);
  if (t->points > TUNER_POINTS * 3 / 4) join_neighbours(t, HUGE_VAL);
  for (int i = 0; i < t->points; i++) t->point[i].targets *= 0.5;
}

/* --- the tuner --------------------------------------------------------------------------------------------------- */

void rebuild_open(struct rebuild_tuner *t, double fixed, double first)
{
  memset(t, 0, sizeof *t);
  t->fixed = fixed;
  t->first = first;
}

/* Seconds of a build: the mean of the last ones without the longest. Builds of some particles and of all may alternate, so a median would
 * not be representative. */
static double build_seconds(const struct rebuild_tuner *t)
{
  double sum = 0, longest = 0;
  int n = 0;
  for (int k = 0; k < TUNER_BUILDS; k++) {
    n += t->build[k] > 0;
    sum += t->build[k];
    longest = fmax(longest, t->build[k]);
  }
  return n > 2 ? (sum - longest) / (n - 1) : n ? sum / n : 0;
}

/* Seconds of walks on a fresh tree per unit of age. */
static double rate(const struct rebuild_tuner *t)
{
  double seconds = 0;
  for (int k = 0; k < TUNER_KINDS; k++) seconds += t->targets[k] * t->reference[k];
  return t->ages > 0 ? seconds / t->ages : 0;
}

/* Update the model and the best interval where enough points are new since the last fit. */
static void update_prediction(struct rebuild_tuner *t)
{
  if (t->unfitted <= REFIT_MIN + t->points / REFIT_PART) return;
  fit_all(t);
  double build = build_seconds(t), work = rate(t);
  if (!t->model.known) t->first *= FIRST_GROWTH;   /* ages do not differ enough within any kind of set */
  if (!t->model.known || !(work > 0) || !(t->oldest > 0)) return;
  t->best = build > 0 ? best_interval(&t->model, build / work, EXTRAPOLATION_MAX * t->oldest) : EXTRAPOLATION_MAX * t->oldest;
}

void rebuild_built(struct rebuild_tuner *t, double seconds)
{
  if (t->asked > t->age) {   /* the last walk was before the build */
    t->ages += t->asked - t->age;
    t->age = t->asked;
  }
  t->last = t->now;
  t->last.age = t->age;
  if (t->fixed > 0) {
    t->now = (struct rebuild_outcome){.builds = ++t->builds, .interval = t->fixed, .build = seconds};
    t->age = t->asked = 0;
    return;
  }
  if (seconds > 0 && isfinite(seconds)) t->build[t->timed++ % TUNER_BUILDS] = seconds;
  for (int k = 0; k < TUNER_KINDS; k++) t->targets[k] *= RATE_KEPT;
  t->ages *= RATE_KEPT;
  t->oldest = fmax(t->age, AGE_KEPT * t->oldest);
  update_prediction(t);
  t->builds++;
  t->age = t->asked = t->exploring = 0;
  t->now = (struct rebuild_outcome){
      .builds = t->builds, .model = t->model, .points = t->points, .build = build_seconds(t), .interval = t->best};
  memcpy(t->interval_reference, t->reference, sizeof t->interval_reference);
}

void rebuild_walked(struct rebuild_tuner *t, double age, int kind, double targets, double seconds)
{
  if (!(targets > 0) || !(seconds >= 0) || !isfinite(seconds) || !(age >= 0)) return;
  if (kind < 0) kind = 0;
  if (kind >= TUNER_KINDS) kind = TUNER_KINDS - 1;
  t->now.measured += seconds;
  double known = t->interval_reference[kind] * targets;
  if (!(known > 0)) t->now.unknown = 1;
  t->now.fresh += known;
  t->now.predicted += known * growth_at(&t->now.model, age);
  if (age > t->age) {
    t->ages += age - t->age;
    t->age = age;
  }
  t->targets[kind] += targets;
  t->set[kind] = targets;
  t->oldest = fmax(t->oldest, age);
  if (t->fixed > 0 || seconds == 0) return;   /* 0 s: below the clock's resolution */
  if (t->points == TUNER_POINTS) thin_out(t);
  t->point[t->points++] = (struct tuner_point){age, seconds / targets, targets, kind, 0};
  t->unfitted++;
}

double rebuild_interval(const struct rebuild_tuner *t, double span)
{
  double best = t->fixed > 0 ? t->fixed : t->best > 0 ? t->best : t->first;
  if (t->fixed > 0 || !(span < HUGE_VAL)) return best;
  double fewer = fmax(1, floor(span / best)), more = fewer + 1, build = build_seconds(t), work = rate(t);
  if (!t->model.known) return span / fmax(1, round(span / best));
  double cost_fewer = fewer * (build + work * excess(&t->model, span / fewer));
  double cost_more = more * (build + work * excess(&t->model, span / more));
  return span / (cost_fewer <= cost_more ? fewer : more);
}

/* Extra seconds of the next walk compared with a fresh tree; 0 where its kind is unknown. */
static double extra_of(const struct rebuild_tuner *t, int kind, double age)
{
  return kind >= 0 && kind < TUNER_KINDS ? t->reference[kind] * t->set[kind] * (growth_at(&t->model, age) - 1) : 0;
}

/* Whether this interval may explore. apart: age until the next call of rebuild_due; extra: extra seconds of the next walk. */
static int explores(const struct rebuild_tuner *t, double interval, double apart, double extra)
{
  double usual = build_seconds(t) + rate(t) * fmax(interval, apart);
  return (double)(t->builds - t->explored) >= fmax(EXPLORE_BUILDS, extra / (EXPLORE_COST * usual));
}

int rebuild_due(struct rebuild_tuner *t, double age, double rest, int kind)
{
  if (!(rest > 0) || !(age > 0)) return 0;
  if (t->fixed > 0) return age >= t->fixed * (1 - 1e-12);
  update_prediction(t);
  double apart = age - t->asked, extra = extra_of(t, kind, age), interval = rebuild_interval(t, age + rest);
  t->asked = age;
  int last = age + 0.5 * apart >= EXPLORE_LENGTH * fmax(interval, apart);   /* the next call is expected `apart` later */
  int early = age + 0.5 * apart < interval;
  if (last || t->exploring) return last;
  if (early) return build_seconds(t) > 0 && extra > build_seconds(t);
  if (explores(t, interval, apart, extra)) {
    t->exploring = 1;
    t->explored = t->builds;
  }
  return !t->exploring;
}
