/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Groups of a few stars (gravity/few_bodies.h), and a pair along its orbit that a star passes
 * (gravity/resolved_pair.h). Reference values are those of converged integrations in extended precision. */
#include <config.h>
#include "gravity/few_bodies.h"

#include <string.h>
#include <unistd.h>

#include "chance.h"
#include "gravity/resolved_pair.h"
#include "orbits.h"
#include "tap.h"

enum { INTERVALS = 3000 };
enum { TIME_LIMIT = 60 }; /* seconds, after which SIGALRM ends a motion that does not end */

static const struct unit_environment nothing;

static void group_centre(struct few_bodies *few)
{
  double mass = 0, x[3] = {0}, v[3] = {0};
  for (int k = 0; k < few->n; k++) {
    mass += few->m[k];
    for (int c = 0; c < 3; c++) {
      x[c] += few->m[k] * few->x[k][c];
      v[c] += few->m[k] * few->v[k][c];
    }
  }
  for (int k = 0; k < few->n; k++)
    for (int c = 0; c < 3; c++) {
      few->x[k][c] -= x[c] / mass;
      few->v[k][c] -= v[c] / mass;
    }
}

static double group_kinetics(const struct few_bodies *few)
{
  double sum = 0;
  for (int k = 0; k < few->n; k++) sum += 0.5 * few->m[k] * kepler_dot(few->v[k], few->v[k]);
  return sum;
}

static double group_potential(const struct few_bodies *few)
{
  double sum = 0;
  for (int k = 0; k < few->n; k++)
    for (int l = 0; l < k; l++) sum -= few->m[k] * few->m[l] / distance(few->x[k], few->x[l]);
  return sum;
}

static double group_energy(const struct few_bodies *few) { return group_kinetics(few) + group_potential(few); }

static double group_momentum(const struct few_bodies *few)
{
  double p[3] = {0}, sum = 0;
  for (int k = 0; k < few->n; k++) {
    for (int c = 0; c < 3; c++) p[c] += few->m[k] * few->v[k][c];
    sum += few->m[k] * modulus(few->v[k]);
  }
  return modulus(p) / sum;
}

/* Members k and l of a group as a pair: semi-major axis, negative where unbound, and eccentricity. */
static double group_pair(const struct few_bodies *few, int k, int l, double *e)
{
  double d[3], u[3], vector[3];
  for (int c = 0; c < 3; c++) {
    d[c] = few->x[l][c] - few->x[k][c];
    u[c] = few->v[l][c] - few->v[k][c];
  }
  double a = axis_of(few->m[k] + few->m[l], d, u, vector);
  *e = modulus(vector);
  return a;
}

static struct few_bodies passing(double impact, double speed)
{
  struct few_bodies few = {.n = 3,
                           .m = {0.5, 0.5, 0.5},
                           .x = {{-0.75, 0, 0}, {0.75, 0, 0}, {20, impact, 5}},
                           .v = {{0, -0.288675134594813, 0}, {0, 0.288675134594813, 0}, {-speed, 0, 0}}};
  group_centre(&few);
  return few;
}

/* What body 2 does to the pair of bodies 0 and 1. */
static void environment_of(const struct few_bodies *few, struct unit_environment *environment)
{
  struct hermite_force force = {{0}, {0}, 0};
  struct hermite_motion *star = &environment->near[0].motion, *centre = &environment->centre.motion;
  environment->near_count = 1;
  environment->near[0].gm = few->m[2];
  environment->near[0].split = orbits_newton;
  environment->near[0].t = environment->centre.t = few->t;
  for (int k = 0; k < 2; k++) {
    double d[3], u[3];
    for (int c = 0; c < 3; c++) {
      d[c] = few->x[k][c] - few->x[2][c];
      u[c] = few->v[k][c] - few->v[2][c];
    }
    hermite_pair(&force, d, u, few->m[k], 0, &orbits_newton);
  }
  double ratio = few->m[2] / (few->m[0] + few->m[1]);
  for (int c = 0; c < 3; c++) {
    star->x[c] = few->x[2][c];
    star->v[c] = few->v[2][c];
    star->a[c] = force.a[c];
    star->j[c] = force.j[c];
    centre->x[c] = -ratio * star->x[c];
    centre->v[c] = -ratio * star->v[c];
    centre->a[c] = -ratio * star->a[c];
    centre->j[c] = -ratio * star->j[c];
  }
}

/* A star passes a pair: the three as a group, and the pair alone, which sees the star's path in short intervals. */
static void fly_by(double impact, double speed, double end, double a, double e, double limit)
{
  enum { INTERVALS = 800 };
  struct few_bodies few = passing(impact, speed);
  struct unit_environment environment = {.near_count = 1};
  struct ks_pair pair;
  const double d[3] = {1.5, 0, 0}, u[3] = {0, 2 * 0.288675134594813, 0};
  double x[3], w[3], vector[3], step = 0, group_e;
  int64_t evaluations = 0;
  int failed = 0;
  resolved_open(&pair, 1, d, u, 0, 1);
  for (int k = 1; k <= INTERVALS; k++) {
    environment_of(&few, &environment);
    resolved_advance(&pair, 0.5, 0.5, &environment, end * k / INTERVALS);
    failed |= few_advance(&few, &nothing, end * k / INTERVALS, &step, &evaluations);
  }
  resolved_finish(&pair, 0.5, 0.5, &environment, end);
  ks_position(pair.q, x);
  ks_velocity(&pair, w);
  double axis = axis_of(1, x, w, vector);
  printf("# fly-by of speed %g, resolved: %.1e %.1e\n", speed, axis - a, modulus(vector) - e);
  orbits_say(fabs(axis - a) < limit && fabs(modulus(vector) - e) < limit, "a fly-by of speed %g, the pair resolved",
             speed);
  axis = group_pair(&few, 0, 1, &group_e);
  printf("# as a group in many intervals: %.1e %.1e\n", axis - a, group_e - e);
  orbits_say(!failed && fabs(axis - a) < 1e-8 && fabs(group_e - e) < 1e-8, "a fly-by of speed %g, in many intervals",
             speed);
  few = passing(impact, speed);
  step = 0;
  failed = few_advance(&few, &nothing, end, &step, &evaluations);
  axis = group_pair(&few, 0, 1, &group_e);
  printf("# as a group: %.1e %.1e\n", axis - a, group_e - e);
  orbits_say(!failed && fabs(axis - a) < 1e-9 && fabs(group_e - e) < 1e-9, "a fly-by of speed %g, all three as a group",
             speed);
}

/* --- groups ------------------------------------------------------------------------------------------------------- */

static void two_pairs(void)
{
  struct few_bodies few = {.n = 4,
                           .m = {0.5, 0.5, 0.5, 0.5},
                           .x = {{-0.5, 0, 0}, {0.5, 0, 0}, {10, 1.5, -0.4}, {10, 1.5, 0.4}},
                           .v = {{0, -0.5, 0}, {0, 0.5, 0}, {-1, 0, -0.559016994374947}, {-1, 0, 0.559016994374947}}};
  double step = 0, e[3], a[3];
  int64_t evaluations = 0;
  group_centre(&few);
  double energy = group_energy(&few);
  int failed = few_advance(&few, &nothing, 30, &step, &evaluations);
  a[0] = group_pair(&few, 1, 2, &e[0]);
  a[1] = group_pair(&few, 1, 3, &e[1]);
  a[2] = group_pair(&few, 2, 3, &e[2]);
  printf("# two pairs: a = %.8f, %.8f, e = %.8f, %.8f, energy %.1e in %lld evaluations\n", a[0], a[1], e[0], e[1],
         group_energy(&few) / energy - 1, (long long)evaluations);
  int same = fabs(a[0] - 2.0671889718) < 2e-6 && fabs(e[0] - 0.5702042863) < 2e-6;
  same &= fabs(a[1] - 2.0671889718) < 2e-6 && fabs(e[1] - 0.5702042863) < 2e-6;
  tap_ok(!failed && same && a[2] < 0, "two pairs meet: an exchange");
  tap_ok(fabs(group_energy(&few) / energy - 1) < 1e-8, "and its energy"); /* its pairs meet head-on */
}

/* Three masses that begin at rest at the corners of a triangle of sides 3, 4, 5 (Burrau). */
static void burrau(void)
{
  struct few_bodies few = {.n = 3, .m = {3, 4, 5}, .x = {{1, 3, 0}, {-2, -1, 0}, {1, -1, 0}}};
  double step = 0, e, energy = group_energy(&few);
  int64_t evaluations = 0;
  group_centre(&few);
  int failed = few_advance(&few, &nothing, 80, &step, &evaluations);
  double a = group_pair(&few, 1, 2, &e);
  printf("# three at rest: a = %.5f, e = %.5f, energy %.1e, momentum %.1e in %lld evaluations\n", a, e,
         group_energy(&few) / energy - 1, group_momentum(&few), (long long)evaluations);
  tap_ok(!failed && fabs(a - 0.55249) < 5e-3 && fabs(e - 0.98871) < 1e-3, "three at rest: the pair that is left");
  tap_ok(fabs(group_energy(&few) / energy - 1) < 1e-9, "and the energy");
}

static struct few_bodies cluster(int n, uint64_t seed)
{
  struct few_bodies few = {.n = n};
  struct random random = {seed};
  for (int k = 0; k < n; k++) {
    few.m[k] = random_between(&random, 0.05, 0.2);
    random_direction(&random, cbrt(random_unit(&random)), few.x[k]);
    random_direction(&random, 1, few.v[k]);
  }
  group_centre(&few);
  double scale = sqrt(-0.5 * group_potential(&few) / group_kinetics(&few));
  for (int k = 0; k < n; k++)
    for (int c = 0; c < 3; c++) few.v[k][c] *= scale;
  return few;
}

/* Eight bodies, alone and with a tide and a neighbour. */
static void eight(void)
{
  double energy = 0, momentum = 0, driven = 0;
  int64_t evaluations = 0;
  int failed = 0;
  for (uint64_t seed = 1; seed <= 3; seed++) {
    struct few_bodies few = cluster(8, seed);
    double step = 0, begin = group_energy(&few);
    for (int k = 1; k <= 20; k++) failed |= few_advance(&few, &nothing, 0.2 * k, &step, &evaluations);
    energy = fmax(energy, fabs(group_energy(&few) / begin - 1));
    momentum = fmax(momentum, group_momentum(&few));
    struct unit_environment environment = {.tide = {{0.1, 0.05, 0}, {0.05, -0.2, 0}, {0, 0, 0.1}}, .near_count = 1};
    environment.near[0] = (struct unit_path){
        .gm = 0.2, .split = {SPLIT_SEPTIC, 3, 12, 1 / 9.0}, .motion = {.x = {4, 0, 0}, .v = {-0.2, 0.5, 0}}};
    few = cluster(8, seed);
    step = 0;
    for (int k = 1; k <= 5; k++) failed |= few_advance(&few, &environment, 0.2 * k, &step, &evaluations);
    driven = fmax(driven, group_momentum(&few));
  }
  printf("# eight bodies: energy %.1e, momentum %.1e and %.1e, %lld evaluations\n", energy, momentum, driven,
         (long long)evaluations);
  tap_ok(!failed && energy < 1e-9, "the energy of eight bodies");
  tap_ok(momentum < 1e-12 && driven < 1e-12, "their momentum, with a tide and a neighbour as well");
}

/* A pair in a group by few_advance against Kepler's motion: intervals that begin at the time `begin`. */
static double pair_in_group(double a, double e, double begin, double orbits, int intervals, int64_t *evaluations)
{
  struct few_bodies few = {.n = 2, .m = {0.3, 0.7}, .t = begin};
  double d[3], u[3], x[3], step = 0, period = 2 * KEPLER_PI * a * sqrt(a), end = 0;
  int failed = 0;
  at_apocentre(1, a, e, d, u);
  for (int c = 0; c < 3; c++) {
    few.x[0][c] = -0.7 * d[c];
    few.x[1][c] = 0.3 * d[c];
    few.v[0][c] = -0.7 * u[c];
    few.v[1][c] = 0.3 * u[c];
  }
  *evaluations = 0;
  for (int k = 1; k <= intervals; k++) {
    end = begin + orbits * period * k / intervals;
    failed |= few_advance(&few, &nothing, end, &step, evaluations);
  }
  kepler_advance(1, end - begin, d, u);
  for (int c = 0; c < 3; c++) x[c] = few.x[1][c] - few.x[0][c];
  return failed || few.t != end ? INFINITY : distance(x, d) / a;
}

static void end_times(void)
{
  int64_t evaluations;
  const double e[] = {0, 0.9, 0.999};
  for (int k = 0; k < 3; k++) {
    double one = pair_in_group(0.01, e[k], 0, 5.3, 1, &evaluations),
           many = pair_in_group(0.01, e[k], 0, 5.3, 37, &evaluations);
    printf("# a pair in a group, e = %g: %.1e in one interval, %.1e in 37\n", e[k], one, many);
    orbits_say(one < 1e-8 && many < 1e-7, "ends of intervals are met, e = %g", e[k]);
  }
}

/* The time at which an interval begins does not matter. */
static void late(void)
{
  const double e[] = {0, 0.9, 0.999};
  for (int k = 0; k < 3; k++) {
    int64_t early, late;
    double first = pair_in_group(1e-6, e[k], 0, 10.37, 10, &early),
           second = pair_in_group(1e-6, e[k], 1, 10.37, 10, &late);
    printf("# at t = 0 %.1e in %lld evaluations, at t = 1 %.1e in %lld\n", first, (long long)early, second,
           (long long)late);
    orbits_say(second < 1e-8 && late < 1.2 * (double)early, "intervals of a pair of period 6e-9 at t = 1, e = %g",
               e[k]);
  }
}

/* Forwards and back. */
static void reversal(void)
{
  struct few_bodies few = {.n = 3,
                           .m = {0.5, 0.3, 0.4},
                           .x = {{-0.5, 0, 0}, {0.5, 0, 0}, {0, 3, 1}},
                           .v = {{0, -0.4, 0}, {0, 0.5, 0.1}, {-0.4, 0, 0}}};
  double step = 0, worst = 0;
  int64_t evaluations = 0;
  group_centre(&few);
  struct few_bodies begin = few;
  int failed = few_advance(&few, &nothing, 25, &step, &evaluations);
  for (int k = 0; k < 3; k++)
    for (int c = 0; c < 3; c++) few.v[k][c] *= -1;
  failed |= few_advance(&few, &nothing, 50, &step, &evaluations);
  for (int k = 0; k < 3; k++) worst = fmax(worst, distance(few.x[k], begin.x[k]));
  printf("# a triple and back: %.1e\n", worst);
  tap_ok(!failed && worst < 1e-7, "a triple, and back with reversed velocities");
}

/* Two stars that meet head-on, alone or with a third one aside, do not take for ever. */
static void head_on(int bodies)
{
  const double inwards[] = {0, 0.5, 3};
  for (int k = 0; k < 3; k++) {
    struct few_bodies few = {.n = bodies, .m = {0.3, 0.7, 0.5}, .x = {{-0.3, 0.2, -0.1}, {0.3, -0.2, 0.1}, {3, 5, 2}}};
    for (int c = 0; c < 3; c++)
      for (int l = 0; l < 2; l++) few.v[l][c] = -inwards[k] * few.x[l][c];
    double step = 0;
    int64_t evaluations = 0;
    group_centre(&few);
    double energy = group_energy(&few);
    int failed = few_advance(&few, &nothing, 2.5, &step, &evaluations);
    printf("# head-on: %s, energy %.1e, %lld evaluations\n", failed ? "refused" : "passed",
           group_energy(&few) / energy - 1, (long long)evaluations);
    char what[100];
    snprintf(what, sizeof what, "%d bodies, two of them head-on at the speed %g: passed or refused", bodies,
             inwards[k]);
    tap_ok(evaluations < 200000 && (failed || fabs(group_energy(&few) / energy - 1) < 1e-8), what);
  }
}

/* A narrow pair that a star disturbs, far from the centre of its group: distances within the pair are far below those
 * from the centre. */
static void narrow(double a, double e)
{
  struct random random = {41};
  double worst = 0, period = 2 * KEPLER_PI * a * sqrt(a / 0.5);
  int64_t evaluations = 0;
  int failed = 0;
  for (int k = 0; k < 4; k++) {
    struct few_bodies few = {.n = 4, .m = {0.25, 0.25, 0.25, 0.25}};
    double place[3], d[3], u[3], side[3], step = 0;
    at_apocentre(0.5, a, e, d, u);
    random_direction(&random, 1, place);
    random_direction(&random, 15 * a, side);
    for (int c = 0; c < 3; c++) {
      few.x[0][c] = place[c] - 0.5 * d[c];
      few.x[1][c] = place[c] + 0.5 * d[c];
      few.x[2][c] = place[c] + side[c];
      few.x[3][c] = -place[c];
      few.v[0][c] = -0.5 * u[c];
      few.v[1][c] = 0.5 * u[c];
      few.v[2][c] = 0.3 * sqrt(0.75 / (15 * a)) * d[c] / modulus(d);
    }
    group_centre(&few);
    double energy = group_energy(&few);
    failed |= few_advance(&few, &nothing, 20 * period, &step, &evaluations);
    worst = fmax(worst, fabs(group_energy(&few) / energy - 1));
  }
  printf("# a = %g, e = %g in a group of size 1: energy %.1e, %lld evaluations\n", a, e, worst, (long long)evaluations);
  char what[100];
  snprintf(what, sizeof what, "a pair of a = %g, e = %g in a group of size 1", a, e);
  tap_ok(!failed && worst < 1e-8 && evaluations < 500000, what);
}

/* Intervals that end slightly before a step, also before a long one, after which shorter steps follow. */
static void beyond(void)
{
  struct few_bodies few = {.n = 3, .m = {1.6647e-4, 8.3479e-5, 9.9455e-5}}, now;
  const double x[3][3] = {{-2.44e-6, 4.2e-6, 0.67e-6}, {7.64e-6, -1.421e-5, -7.84e-6}, {-2.33e-6, 4.9e-6, 5.47e-6}};
  const double v[3][3] = {{2.78, -0.65, 0.79}, {-1.83, -0.71, -1.94}, {-3.12, 1.68, 0.30}};
  struct random random = {5};
  int64_t evaluations = 0;
  int failed = 0, back = 0;
  double step = 0, worst = 0;
  memcpy(few.x, x, sizeof x);
  memcpy(few.v, v, sizeof v);
  group_centre(&few);
  const double energy = group_energy(&few);
  for (int k = 0; k < INTERVALS; k++) {
    struct few_chain chain = {0}, next;
    double long_step;
    few_advance(&few, &nothing, few.t + 1.5e-6 * random_unit(&random), &step, &evaluations);
    few_open(&chain, &few);
    long_step = few_first_step(&chain);
    int row = 0;
    for (; row < 8; long_step *= 1.05) row = few_try(&chain, &nothing, 0, long_step, &next, &evaluations);
    long_step /= 1.05;
    if (row == FEW_ROWS) continue;
    now = few;
    now.t = 0;
    failed += few_advance(&now, &nothing, next.t * (1 - 1e-4 * random_unit(&random)), &long_step, &evaluations) != 0;
    back++;
    worst = fmax(worst, fabs(group_energy(&now) / energy - 1));
  }
  printf("# %d of %d intervals failed, energy %.1e\n", failed, back, worst);
  tap_ok(back > INTERVALS / 4 && !failed && worst < 1e-8, "intervals that end slightly before a step does");
}

static void one_place(void)
{
  for (int n = 2; n <= 3; n++) {
    struct few_bodies few = {.n = n, .m = {0.5, 0.5, 0.5}, .x = {{0}, {0}, {1, 0, 0}}};
    double step = 0;
    int64_t evaluations = 0;
    orbits_say(few_advance(&few, &nothing, 1, &step, &evaluations) == -1, "two at one place among %g are refused", n);
  }
}

/* A star falls towards a body that no one may come near: the end before it is there, then the rest as points. */
static void reach(void)
{
  struct few_bodies few = {.n = 3,
                           .m = {1, 0.1, 1e-3},
                           .x = {{0}, {1.5, 0.2, 0}, {0, 40, 0}},
                           .v = {{0}, {0}, {0.1, 0, 0}},
                           .reach = {0.5}},
                    whole;
  const struct unit_environment nothing = {.near_count = 0};
  double step = 0, again = 0, d[3];
  int64_t evaluations = 0;
  group_centre(&few);
  whole = few;
  whole.reach[0] = 0;
  int failed = few_advance(&few, &nothing, 5, &step, &evaluations);
  for (int c = 0; c < 3; c++) d[c] = few.x[1][c] - few.x[0][c];
  double r = sqrt(kepler_dot(d, d));
  tap_ok(!failed && few.reached == 0 && few.t > 0 && few.t < 5 && r >= 0.5 && r < 1,
         "an interval ends before a body comes within the reach of another one");
  few.reach[0] = 0;
  failed = few_advance(&few, &nothing, 5, &step, &evaluations) | few_advance(&whole, &nothing, 5, &again, &evaluations);
  double worst = 0;
  for (int k = 0; k < 3; k++)
    for (int c = 0; c < 3; c++) worst = fmax(worst, fabs(few.x[k][c] - whole.x[k][c]));
  tap_ok(!failed && few.reached == -1 && few.t == 5 && worst < 1e-7, "and goes on without one");
}

int main(void)
{
  setvbuf(stdout, NULL, _IOLBF, 0); /* what was done is seen if SIGALRM ends the rest */
  alarm(TIME_LIMIT);
  fly_by(5, 1, 40, 1.0021459237, 0.5016948304, 3e-6);
  fly_by(10, 10, 4, 1.0005028248, 0.4990808711, 1e-6);
  two_pairs();
  burrau();
  eight();
  end_times();
  reversal();
  late();
  head_on(2);
  head_on(3);
  narrow(1e-4, 0.9);
  narrow(1e-4, 0.999);
  narrow(1e-6, 0.9);
  narrow(1e-7, 0.99);
  beyond();
  one_place();
  reach();
  return tap_end();
}
