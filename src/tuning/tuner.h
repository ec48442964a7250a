/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tuner of the interval between tree builds (Miki & Umemura 2017, section 2.6 and appendix C).
 *
 * Walks take longer as the tree ages. Three models of growth are fitted to the seconds of the walks since a build. The
 * model with the smallest reduced chi^2 is taken, and the interval minimises (seconds of a build + extra seconds of
 * walks) / interval.
 *
 * The paper has one kind of step; block steps need two changes (doc/architecture.md lists all differences). The seconds
 * of a walk vary by orders of magnitude with the set of active particles, far more than with the age of the tree.
 * Active sets come in kinds (all particles at some block level or deeper) that recur. Seconds per target are compared
 * within a kind only; the growth is common to all kinds. Seconds per interaction would not show the growth, since the
 * number of interactions is what grows. And a build always takes place at the end of a soft step, so intervals divide
 * the rest of the soft step evenly.
 *
 * Pure: no clock, no device, no memory; the state is plain data and may be copied or stored byte by byte. `age` is any
 * measure that grows evenly from 0 at a build, always in the same unit (block steps; simulated time). Use:
 *
 *     after a build     rebuild_built(t, seconds it took beyond a moment update)
 *     before a walk     if (rebuild_due(t, age, rest, kind)) build
 *     after a walk      rebuild_walked(t, age, kind, targets, seconds) */
#ifndef TUNER_H
#define TUNER_H

enum growth { GROWTH_LINEAR, GROWTH_POWER, GROWTH_PARABOLIC, GROWTHS };
extern const char *const growth_names[GROWTHS];

/* Cost of a walk at some age over that of a fresh tree. */
struct growth_model {
  int known; /* 0: no fit yet; the growth is 1 */
  enum growth kind;
  double b, a;          /* linear: 1 + b x; power: exp(b x); parabolic: 1 + b x + a x^2 */
  double chi2[GROWTHS]; /* reduced, of all three models; `kind` has the smallest */
};

enum { TUNER_POINTS = 256, TUNER_KINDS = 32, TUNER_BUILDS = 15 };

struct tuner_point {
  double age, cost, targets; /* cost: seconds per target; targets: halved whenever points are thinned out */
  int kind, pad;
};

/* Prediction and measurement of an interval. */
struct rebuild_outcome {
  long long builds;          /* so far, including the one that began the interval */
  struct growth_model model; /* of the prediction */
  int points;                /* points that the model was fitted to */
  double build;              /* expected seconds of a build */
  double interval;           /* predicted best interval; 0: no prediction */
  double age;                /* at the next build */
  double predicted;          /* seconds of the walks of this interval by the model */
  double fresh;              /* the same on a fresh tree */
  double measured;           /* seconds that they took */
  int unknown;               /* 1: some sets had no known cost; predicted and fresh lack them */
};

struct rebuild_tuner {
  double fixed;               /* above 0: always this interval, independent of measurements (HUGE_VAL: no builds) */
  double first;               /* interval while there is no model */
  long long builds, explored; /* so far; value of `builds` when an interval last explored */
  int exploring, timed;       /* 1: this interval is longer than the best one; number of builds with measured seconds */
  double age, asked;          /* of the tree at the last walk, and at the last call of rebuild_due */
  double build[TUNER_BUILDS]; /* seconds of the last builds */
  struct growth_model model;
  double reference[TUNER_KINDS];          /* seconds per target on a fresh tree, by kind; 0: unknown */
  double interval_reference[TUNER_KINDS]; /* the same at the beginning of the interval, for its prediction */
  double set[TUNER_KINDS];                /* targets of the last walk, by kind */
  double targets[TUNER_KINDS], ages;      /* sums over past intervals with decaying weights: targets by kind; age */
  double oldest;                          /* largest age seen; decays at each build */
  double best;                            /* interval by the model; 0: unknown */
  struct rebuild_outcome now, last;       /* of the present interval; of the last one */
  int points, unfitted;                   /* kept; new since the last fit */
  struct tuner_point point[TUNER_POINTS];
};

/* Open a tuner without measurements. fixed > 0: always that interval (HUGE_VAL: no builds within soft steps); else
 * `first` (> 0) is the interval until there is a model. */
void rebuild_open(struct rebuild_tuner *tuner, double fixed, double first);
/* Record a build of the tree, due or not: the age becomes 0. `seconds`: cost of the build beyond that of a moment
 * update; where it is not positive, the seconds of earlier builds are used. tuner->last becomes the outcome of the
 * interval that has ended. */
void rebuild_built(struct rebuild_tuner *tuner, double seconds);
/* Record the seconds of a walk for `targets` > 0 particles. `kind` (0 to TUNER_KINDS - 1): kind of the set, such as the
 * lowest block level in it; sets of a kind are about the same particles each time. Ignored where a number is out of
 * range. */
void rebuild_walked(struct rebuild_tuner *tuner, double age, int kind, double targets, double seconds);
/* Returns 1 where a build is due at this age: after the best interval, or before a walk whose extra cost is more than a
 * build. `rest`: time until the next build that does not depend on the tuner (HUGE_VAL: never); `kind`: of the next
 * walk, or -1. Where the interval is fixed the result depends only on `age` and `rest`. */
int rebuild_due(struct rebuild_tuner *tuner, double age, double rest, int kind);
/* Returns the best interval that divides `span`, the time between two builds that do not depend on the tuner: span over
 * a whole number. */
double rebuild_interval(const struct rebuild_tuner *tuner, double span);
/* Returns the cost of a walk at some age relative to a fresh tree; at least 0.1, also where a decreasing model is
 * extrapolated. */
double growth_at(const struct growth_model *model, double age);
#endif
