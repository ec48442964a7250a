/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When a new tree pays: the tuner of the interval between builds (Miki & Umemura 2017, section 2.6 and appendix C).
 *
 * Walks of a tree that ages take longer. The seconds of the walks since a build are fitted by three models of growth, the
 * smallest reduced chi^2 picks one, and the interval follows that minimises (build + what walks cost more) / interval.
 *
 * Much differs from the paper, which knows one kind of step (doc/architecture.md has it all); two things shape what stands
 * below. With block steps the seconds of a walk follow from who is active, by orders of magnitude, far more than from the
 * age of the tree. Active sets come in kinds (all particles at some block level or deeper) that return again and again;
 * seconds per target are compared within a kind only, and the growth is common to all kinds. (Seconds per interaction
 * would hide what is looked for: interactions are what grows.) And a build comes anyway at the end of a soft step, so
 * intervals are made to divide the rest of it evenly.
 *
 * Pure: no clock, no device, no memory; the state is plain data and may be copied or stored byte by byte. `age` is any measure
 * that grows evenly from 0 at a build, always in the same unit (block steps; simulated time). Use:
 *
 *     after a build     rebuild_built(t, seconds it took beyond a refresh)
 *     before a walk     if (rebuild_due(t, age, rest, kind)) build
 *     after a walk      rebuild_walked(t, age, kind, targets, seconds) */
#ifndef TUNER_H
#define TUNER_H

enum growth { GROWTH_LINEAR, GROWTH_POWER, GROWTH_PARABOLIC, GROWTHS };
extern const char *const growth_names[GROWTHS];

/* Cost of a walk at some age over that of a fresh tree. */
struct growth_model {
  int known;              /* 0: not yet, taken as 1 */
  enum growth kind;
  double b, a;            /* linear: 1 + b x; power: exp(b x); parabolic: 1 + b x + a x^2 */
  double chi2[GROWTHS];   /* reduced, of all three; the one that was picked has the smallest */
};

enum { TUNER_POINTS = 256, TUNER_KINDS = 32, TUNER_BUILDS = 15 };

struct tuner_point {
  double age, cost, targets;   /* cost: seconds per target; targets: less for what is long past */
  int kind, pad;
};

/* How an interval was predicted, and what came out. */
struct rebuild_outcome {
  long long builds;        /* so far: the number of this one */
  struct growth_model model;   /* that it was predicted with */
  int points;              /* that the model rests on */
  double build;            /* seconds of a build, as expected */
  double interval;         /* the best one, as predicted; 0: no prediction */
  double age;              /* when the next build came */
  double predicted;        /* seconds of the walks of this interval by the model */
  double fresh;            /* the same on a tree that does not age */
  double measured;         /* what they took */
  int unknown;             /* sets were walked whose cost was not known: predicted and fresh lack them */
};

struct rebuild_tuner {
  double fixed;            /* above 0: always this interval, whatever clocks say (HUGE_VAL: none) */
  double first;            /* interval while nothing is known */
  long long builds, explored;   /* so far; when an interval was last made longer than the best */
  int exploring, timed;    /* this one is; builds whose time was told */
  double age, asked;       /* of the tree as last told, and when rebuild_due was last asked */
  double build[TUNER_BUILDS];      /* seconds of the last builds */
  struct growth_model model;
  double reference[TUNER_KINDS];   /* seconds per target on a fresh tree, by kind; 0: not known */
  double promised[TUNER_KINDS];    /* the same, as this interval was predicted with */
  double set[TUNER_KINDS];         /* targets of the last walk, by kind */
  double targets[TUNER_KINDS], ages;   /* targets by kind, and the sum of the ages in which they came; old ones count less */
  double oldest;           /* largest age seen, forgotten slowly */
  double best;             /* interval by the model; 0: not known */
  struct rebuild_outcome now, last;    /* of the interval that goes on; of the last one */
  int points, unfitted;    /* kept; new since the last fit */
  struct tuner_point point[TUNER_POINTS];
};

/* A tuner that knows nothing. fixed > 0: frozen at that interval (HUGE_VAL: no builds but those that come anyway); else
 * `first` (> 0) is the interval until walks have been seen. */
void rebuild_open(struct rebuild_tuner *t, double fixed, double first);
/* A tree was built, for whatever reason: the age is 0 now. `seconds`: what a build costs beyond what is done anyway; where
 * this is not positive, earlier builds' seconds are used. t->last becomes the outcome of the interval that has ended. */
void rebuild_built(struct rebuild_tuner *t, double seconds);
/* A walk for `targets` > 0 particles took so long. `kind` (0 up to TUNER_KINDS - 1): which set they are, such as the lowest
 * block level among them; sets of a kind are about the same particles each time. */
void rebuild_walked(struct rebuild_tuner *t, double age, int kind, double targets, double seconds);
/* Whether to build now, at this age; `rest`: from now until a build comes anyway (HUGE_VAL: never); `kind`: of the walk that is
 * next, or -1. Due is what has the best interval behind it, and the one walk that would cost more than a build. Depends on
 * nothing but `age` and `rest` where the interval is fixed. */
int rebuild_due(struct rebuild_tuner *t, double age, double rest, int kind);
/* The interval that divides `span`, between two builds that come anyway, best: span over a whole number. */
double rebuild_interval(const struct rebuild_tuner *t, double span);
/* Cost at some age over that of a fresh tree, at least 0.1 also where a model that fell is asked about ages far beyond its points. */
double growth_at(const struct growth_model *m, double age);
#endif
