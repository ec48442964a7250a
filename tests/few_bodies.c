/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The motion of a few stars: pairs along their orbits (gravity/ks.h, gravity/resolved_pair.h) and groups
 * (gravity/few_bodies.h), without and with other bodies near. Reference values are those of converged integrations in
 * extended precision. */
#include <config.h>
#include "gravity/few_bodies.h"

#include <string.h>
#include <unistd.h>

#include "chance.h"
#include "gravity/quadrupole.h"
#include "gravity/resolved_pair.h"
#include "tap.h"

enum { TIME_LIMIT = 100 }; /* seconds, after which SIGALRM ends a motion that does not end */

static const struct unit_environment nothing;
static const struct hermite_split everywhere = {SPLIT_SEPTIC, 1e6, 4e6, 1 / 3e6}; /* K = 1 */

static void say(int good, const char *what, double parameter)
{
  char text[160];
  snprintf(text, sizeof text, what, parameter);
  tap_ok(good, text);
}

static double distance(const double a[3], const double b[3])
{
  double sum = 0;
  for (int c = 0; c < 3; c++) sum += (a[c] - b[c]) * (a[c] - b[c]);
  return sqrt(sum);
}

static double modulus(const double a[3]) { return sqrt(kepler_dot(a, a)); }

/* A pair at the apocentre of an orbit in a tilted plane. */
static void at_apocentre(double mu, double a, double e, double d[3], double u[3])
{
  const double p[3] = {0.36, 0.48, -0.8}, w[3] = {-0.8, 0.6, 0};
  double speed = sqrt(mu / a * (1 - e) / (1 + e));
  for (int c = 0; c < 3; c++) {
    d[c] = a * (1 + e) * p[c];
    u[c] = speed * w[c];
  }
}

/* Semi-major axis and eccentricity vector. */
static double axis_of(double mu, const double d[3], const double u[3], double e[3])
{
  double h[3], r = modulus(d);
  kepler_cross(d, u, h);
  kepler_cross(u, h, e);
  for (int c = 0; c < 3; c++) e[c] = e[c] / mu - d[c] / r;
  return 1 / (2 / r - kepler_dot(u, u) / mu);
}

/* --- Kepler motion in extended precision, by universal functions of closed form ----------------------------------- */

static void universal_functions(long double beta, long double s, long double g[4])
{
  long double y = beta * s * s, w = sqrtl(fabsl(beta)), half;
  if (fabsl(y) < 0.03L) {
    long double c2 = 0, c3 = 0;
    for (int k = 12; k >= 0; k--) {
      c2 = 1 - y / ((2 * k + 3) * (2 * k + 4)) * c2;
      c3 = 1 - y / ((2 * k + 4) * (2 * k + 5)) * c3;
    }
    g[2] = s * s / 2 * c2;
    g[3] = s * s * s / 6 * c3;
    g[1] = s - beta * g[3];
    g[0] = 1 - beta * g[2];
    return;
  }
  half = beta > 0 ? sinl(w * s / 2) : sinhl(w * s / 2);
  g[0] = beta > 0 ? cosl(w * s) : coshl(w * s);
  g[1] = (beta > 0 ? sinl(w * s) : sinhl(w * s)) / w;
  g[2] = 2 * half * half / fabsl(beta);
  g[3] = (s - g[1]) / beta;
}

/* The position after the time dt > 0. */
static void reference(double mu, double dt, const double d[3], const double u[3], double x[3])
{
  long double dd = 0, du = 0, uu = 0, g[4], t, low = 0, high = 1;
  for (int c = 0; c < 3; c++) {
    dd += (long double)d[c] * d[c];
    du += (long double)d[c] * u[c];
    uu += (long double)u[c] * u[c];
  }
  long double r = sqrtl(dd), beta = 2 * mu / r - uu;
  high = r / sqrtl(uu + mu / r) / r * 1e-8L;
  for (int k = 0; k < 400; k++) {
    long double s = low > 0 ? (low + high) / 2 : high;
    universal_functions(beta, s, g);
    t = r * g[1] + du * g[2] + mu * g[3];
    if (t < dt && low == 0 && k < 100) {
      high *= 2;
      continue;
    }
    if (low == 0) low = high / 2;
    if (k < 100 && s == high) continue; /* the bracket is set */
    if (t < dt) low = s;
    else high = s;
  }
  for (int c = 0; c < 3; c++)
    x[c] = (double)((1 - mu * g[2] / r) * d[c] + (r * g[1] + du * g[2]) * u[c]);
}

/* The position after the time dt, and by how much roundings of what it is computed from change it. */
static double conditioned(double mu, double dt, const double d[3], const double u[3], double x[3])
{
  struct random random = {5};
  double change = 0;
  reference(mu, dt, d, u, x);
  for (int k = 0; k < 3; k++) {
    double e[3], w[3], y[3];
    for (int c = 0; c < 3; c++) {
      e[c] = d[c] * (1 + 2e-16 * (random_bits(&random) % 2 ? 1 : -1));
      w[c] = u[c] * (1 + 2e-16 * (random_bits(&random) % 2 ? 1 : -1));
    }
    reference(mu, dt * (1 + 2e-16), e, w, y);
    change = fmax(change, distance(x, y));
  }
  return change + 2e-16 * modulus(x);
}

/* A random pair: position d, velocity u of `speed` in units of the escape velocity. */
static double random_pair(struct random *random, double mu, double speed, double d[3], double u[3])
{
  double r = random_log(random, 1e-4, 10), across = random_log(random, 1e-3, 1), n[3], escape = sqrt(2 * mu / r);
  random_direction(random, r, d);
  random_direction(random, 1, n);
  double along = kepler_dot(n, d) / r, sign = random_bits(random) % 2 ? 1 : -1;
  for (int c = 0; c < 3; c++) n[c] -= along * d[c] / r;
  double length = modulus(n);
  for (int c = 0; c < 3; c++)
    u[c] = escape * speed * (sign * sqrt(1 - across * across) * d[c] / r + across * n[c] / length);
  return r;
}

/* --- KS coordinates ----------------------------------------------------------------------------------------------- */

static void coordinates(void)
{
  struct random random = {11};
  double worst = 0, beta = 0, kick = 0;
  for (int i = 0; i < 20000; i++) {
    double d[3], u[3], e[3], w[3], mu = 2, r = random_pair(&random, mu, random_between(&random, 0.01, 3), d, u);
    struct ks_pair pair;
    if (i % 16 < 6) { /* along an axis, exactly and almost */
      double small = i % 2 ? 1e-12 * r : 0;
      for (int c = 0; c < 3; c++) d[c] = i % 16 / 2 == c ? (d[c] < 0 ? -r : r) : small;
    }
    r = modulus(d);
    ks_open(&pair, mu, d, u, 0.5);
    ks_position(pair.q, e);
    ks_velocity(&pair, w);
    double v = modulus(u), energy = 2 * mu / r + v * v;
    worst = fmax(worst, fmax(distance(d, e) / r, distance(u, w) / v));
    worst = fmax(worst, fmax(fabs(ks_distance(&pair) / r - 1), fabs(ks_along(&pair) - kepler_dot(d, u)) / (r * v)));
    beta = fmax(beta, fabs(pair.beta - (2 * mu / r - v * v)) / energy);
    random_direction(&random, v, e);
    ks_kick(&pair, e);
    ks_velocity(&pair, w);
    for (int c = 0; c < 3; c++) w[c] -= e[c];
    kick = fmax(kick, distance(u, w) / v);
    ks_velocity(&pair, w);
    kick = fmax(kick, fabs(pair.beta - (2 * mu / r - kepler_dot(w, w))) / energy);
  }
  printf("# position and velocity %.1e, beta %.1e, kicks %.1e\n", worst, beta, kick);
  tap_ok(worst < 3e-15 && beta < 1e-15, "to KS coordinates and back, along -x as well");
  tap_ok(kick < 1e-14, "a kick changes the velocity by as much, and beta with it");
}

/* Motion by time against the reference; opened: with a step, as pairs of the program have. */
static void by_time(const char *what, double slowest, double fastest, double away, int opened)
{
  struct random random = {23};
  double worst = 0, other = 0;
  for (int i = 0; i < 400; i++) {
    double d[3], u[3], x[3], y[3], mu = 1,
                               speed = 1 + (slowest < 1 ? -1 : 1) * random_log(&random, fabs(1 - slowest), fastest),
                               r = random_pair(&random, mu, speed, d, u), a, dt;
    struct ks_pair pair;
    a = fabs(1 / (2 / r - kepler_dot(u, u) / mu));
    if (opened) {
      resolved_open(&pair, mu, d, u, 0, random_log(&random, 0.1 * r, 10 * r));
      struct ks_pair ahead = pair;
      ks_drift(&ahead, mu, random_between(&random, 0.01, 1.5) * pair.step);
      dt = ahead.t;
    } else {
      ks_open(&pair, mu, d, u, 0);
      dt = random_log(&random, 1e-5, 1) *
           (slowest < 1 ? fmin(2 * KEPLER_PI * a * sqrt(a / mu), away * r * sqrt(r / mu)) : away * r * sqrt(r / mu));
    }
    ks_advance(&pair, mu, dt);
    ks_position(pair.q, x);
    double scale = conditioned(mu, dt, d, u, y);
    worst = fmax(worst, distance(x, y) / scale);
    if (!(distance(x, y) >= 0) || pair.t != dt) worst = INFINITY;
    if (kepler_advance(mu, dt, d, u)) other = fmax(other, distance(x, d) / scale);
  }
  printf("# %s: %.1f roundings, against ellipses %.1f\n", what, worst, other);
  say(worst < 100 && other < 100, what, 0);
}

/* Motion on a line: from rest at the distance 2 a through the other star, which turns it back. */
static void on_a_line(void)
{
  double d[3] = {0, -2, 0}, u[3] = {0, 0, 0}, e[3], w[3], worst = 0;
  for (int k = 1; k < 40; k++) {
    double anomaly = KEPLER_PI + 2 * KEPLER_PI * k / 40.0, t = anomaly - sin(anomaly) - KEPLER_PI, fall[3] = {0};
    struct ks_pair pair;
    if (k == 20) continue; /* at the other star */
    ks_open(&pair, 1, d, u, 0);
    ks_advance(&pair, 1, t);
    ks_position(pair.q, e);
    fall[1] = -(1 - cos(anomaly));
    worst = fmax(worst, distance(e, fall));
  }
  struct ks_pair pair;
  resolved_open(&pair, 1, d, u, 0, 1);
  int64_t kicks = resolved_advance(&pair, 0.5, 0.5, &nothing, 20 * KEPLER_PI * (1 + 1e-9));
  ks_position(pair.q, e);
  ks_velocity(&pair, w);
  printf("# on a line: %.1e; after 10 orbits %.1e %.1e\n", worst, distance(e, d), distance(w, u));
  tap_ok(worst < 1e-13, "a fall from rest by time");
  tap_ok(kicks == 10 * RESOLVED_KICKS && distance(e, d) < 1e-13 && distance(w, u) < 1e-13,
         "ten orbits on a line end where they began");
}

/* Isolated pairs: no drift of the semi-major axis over many orbits. steps: of usual length, where other than 1. */
static void isolated(double e, double a, double steps, double orbits, double limit)
{
  double d[3], u[3], x[3], w[3], y[3], mu = 1e-3, period = 2 * KEPLER_PI * a * sqrt(a / mu), change[2];
  struct ks_pair pair;
  at_apocentre(mu, a, e, d, u);
  resolved_open(&pair, mu, d, u, 0, a);
  pair.step *= steps;
  for (int k = 0; k < 2; k++) {
    resolved_advance(&pair, 0.4 * mu, 0.6 * mu, &nothing, (k == 0 ? 0.1 * orbits : orbits) * period + 0.2 * period);
    ks_position(pair.q, x);
    ks_velocity(&pair, w);
    change[k] = axis_of(mu, x, w, y) / a - 1;
  }
  kepler_advance(mu, pair.t, d, u);
  printf("# e = %g, a = %g: axis %.1e and %.1e, place %.1e\n", e, a, change[0], change[1], distance(d, x) / a);
  char what[120];
  snprintf(what, sizeof what, "e = %g, a = %g, %g of usual steps: the axis after %g orbits", e, a, steps, orbits);
  tap_ok(fabs(change[1]) < limit, what);
  say(distance(d, x) < 5e-9 * orbits * a, "and the phase (e = %g)", e);
}

/* --- a pair with another body near -------------------------------------------------------------------------------- */

/* A mass of 1 on a circle of radius 20 about the pair. */
static void circling(double e, double a, const double vector[3])
{
  struct unit_environment environment = {.near_count = 1};
  struct unit_path *path = &environment.near[0];
  struct ks_pair pair;
  enum { INTERVALS = 1000 };
  const double end = 200 * KEPLER_PI, rate = sqrt(2.0 / 8000), d[3] = {1 + e, 0, 0},
               u[3] = {0, sqrt((1 - e) / (1 + e)), 0};
  double x[3], w[3], got[3];
  *path = (struct unit_path){.gm = 1, .split = everywhere};
  resolved_open(&pair, 1, d, u, 0, 1);
  for (int k = 0; k < INTERVALS; k++) {
    double t = end * k / INTERVALS, at = 0.3 + t * rate, cosine = cos(at), sine = sin(at);
    const double place[3] = {20 * cosine, 20 * sine * cos(1), 20 * sine * sin(1)},
                 motion[3] = {-20 * sine, 20 * cosine * cos(1), 20 * cosine * sin(1)};
    environment.centre.t = path->t = t;
    for (int c = 0; c < 3; c++) {
      path->motion.x[c] = place[c];
      path->motion.v[c] = rate * motion[c];
      path->motion.a[c] = -rate * rate * place[c];
      path->motion.j[c] = -rate * rate * rate * motion[c];
    }
    resolved_advance(&pair, 0.6, 0.4, &environment, end * (k + 1) / INTERVALS);
  }
  resolved_finish(&pair, 0.6, 0.4, &environment, end);
  ks_position(pair.q, x);
  ks_velocity(&pair, w);
  double axis = axis_of(1, x, w, got);
  printf("# circling mass, e = %g: axis %.1e, vector %.1e\n", e, axis - a, distance(got, vector));
  say(fabs(axis - a) < 2e-6 && distance(got, vector) < 2e-6 && pair.t == end, "a mass that circles a pair of e = %g",
      e);
}

static void few_centre(struct few_bodies *few)
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

static double few_energy(const struct few_bodies *few) { return few_kinetic(few) - few_binding(few); }

static double few_momentum(const struct few_bodies *few)
{
  double p[3] = {0}, sum = 0;
  for (int k = 0; k < few->n; k++) {
    for (int c = 0; c < 3; c++) p[c] += few->m[k] * few->v[k][c];
    sum += few->m[k] * modulus(few->v[k]);
  }
  return modulus(p) / sum;
}

/* Members k and l of a group as a pair: semi-major axis, negative where unbound, and eccentricity. */
static double few_pair(const struct few_bodies *few, int k, int l, double *e)
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
  few_centre(&few);
  return few;
}

/* What body 2 does to the pair of bodies 0 and 1. */
static void environment_of(const struct few_bodies *few, struct unit_environment *environment)
{
  struct hermite_force force = {{0}, {0}, 0};
  struct hermite_motion *star = &environment->near[0].motion, *centre = &environment->centre.motion;
  environment->near_count = 1;
  environment->near[0].gm = few->m[2];
  environment->near[0].split = everywhere;
  environment->near[0].t = environment->centre.t = few->t;
  for (int k = 0; k < 2; k++) {
    double d[3], u[3];
    for (int c = 0; c < 3; c++) {
      d[c] = few->x[k][c] - few->x[2][c];
      u[c] = few->v[k][c] - few->v[2][c];
    }
    hermite_pair(&force, d, u, few->m[k], 0, &everywhere);
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
  say(fabs(axis - a) < limit && fabs(modulus(vector) - e) < limit, "a fly-by of speed %g, the pair resolved", speed);
  axis = few_pair(&few, 0, 1, &group_e);
  printf("# as a group in many intervals: %.1e %.1e\n", axis - a, group_e - e);
  say(!failed && fabs(axis - a) < 1e-8 && fabs(group_e - e) < 1e-8, "a fly-by of speed %g, in many intervals", speed);
  few = passing(impact, speed);
  step = 0;
  failed = few_advance(&few, &nothing, end, &step, &evaluations);
  axis = few_pair(&few, 0, 1, &group_e);
  printf("# as a group: %.1e %.1e\n", axis - a, group_e - e);
  say(!failed && fabs(axis - a) < 1e-9 && fabs(group_e - e) < 1e-9, "a fly-by of speed %g, all three as a group", speed);
}

/* --- a hierarchical triple: pair and star as the program has them ------------------------------------------------- */

struct triple {
  struct ks_pair pair;
  double m1, m2, m3, t;
  struct hermite_motion centre, star;
  double q[3][3], rate[3][3]; /* quadrupole of the mean orbit */
};

static void triple_quadrupole(struct triple *triple, double dt)
{
  double d[3], u[3], q[3][3], mu = triple->m1 + triple->m2, reduced = triple->m1 * triple->m2 / mu;
  ks_position(triple->pair.q, d);
  ks_velocity(&triple->pair, u);
  quadrupole_of_orbit(mu, d, u, q);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      triple->rate[i][j] = dt > 0 ? (reduced * q[i][j] - triple->q[i][j]) / dt : 0;
      triple->q[i][j] = reduced * q[i][j];
    }
}

/* What star and centre do to each other at the positions and velocities x, v of these. */
static void triple_forces(const struct triple *triple, const double x[2][3], const double v[2][3],
                          struct hermite_force force[2])
{
  const double newton[4] = {1, 0, 0, 0};
  double d[3], w[3], back[3], away[3], f[4], mass = triple->m1 + triple->m2, a[3] = {0}, j[3] = {0};
  for (int c = 0; c < 3; c++) {
    d[c] = x[0][c] - x[1][c];
    w[c] = v[0][c] - v[1][c];
    back[c] = -d[c];
    away[c] = -w[c];
  }
  memset(force, 0, 2 * sizeof *force);
  hermite_pair(&force[0], back, away, mass, 0, &everywhere);
  hermite_pair(&force[1], d, w, triple->m3, 0, &everywhere);
  quadrupole_radial(modulus(d), newton, f);
  quadrupole_add(triple->q, triple->rate, d, w, f, 1, a, j);
  for (int c = 0; c < 3; c++) {
    force[0].a[c] += a[c];
    force[0].j[c] += j[c];
    force[1].a[c] -= triple->m3 / mass * a[c];
    force[1].j[c] -= triple->m3 / mass * j[c];
  }
}

static void triple_step(struct triple *triple, double dt)
{
  struct unit_environment environment = {.near_count = 1};
  struct hermite_force force[2];
  double x[2][3], v[2][3], a2[3], a3[3];
  environment.centre = (struct unit_path){.motion = triple->centre, .t = triple->t};
  environment.near[0] =
      (struct unit_path){.motion = triple->star, .t = triple->t, .gm = triple->m3, .split = everywhere};
  hermite_predict(&triple->star, dt, x[0], v[0]);
  hermite_predict(&triple->centre, dt, x[1], v[1]);
  resolved_advance(&triple->pair, triple->m1, triple->m2, &environment, triple->t + dt);
  triple_quadrupole(triple, dt);
  triple_forces(triple, (const double(*)[3])x, (const double(*)[3])v, force);
  hermite_correct(&triple->star, dt, x[0], v[0], &force[0], a2, a3);
  hermite_correct(&triple->centre, dt, x[1], v[1], &force[1], a2, a3);
  triple->t += dt;
}

/* The inner orbit of axis 1, eccentricity 0.1 and inclination i (degrees) at its apocentre; the outer one of axis 20
 * and eccentricity e at the true anomaly 0.7. */
static struct triple triple_of(double m1, double m2, double m3, double i, double e)
{
  struct triple triple = {.m1 = m1, .m2 = m2, .m3 = m3};
  double mass = m1 + m2 + m3, tilt = i * KEPLER_PI / 180, v = sqrt((m1 + m2) * 0.9 / 1.1), f = 0.7,
         r = 20 * (1 - e * e) / (1 + e * cos(f)), speed = sqrt(mass / (20 * (1 - e * e)));
  const double d[3] = {-1.1, 0, 0}, u[3] = {0, -v * cos(tilt), -v * sin(tilt)},
               place[3] = {r * cos(f), r * sin(f), 0}, motion[3] = {-speed * sin(f), speed * (e + cos(f)), 0};
  struct hermite_force force[2];
  double x[2][3], w[2][3];
  for (int c = 0; c < 3; c++) {
    x[0][c] = triple.star.x[c] = (m1 + m2) / mass * place[c];
    w[0][c] = triple.star.v[c] = (m1 + m2) / mass * motion[c];
    x[1][c] = triple.centre.x[c] = -m3 / mass * place[c];
    w[1][c] = triple.centre.v[c] = -m3 / mass * motion[c];
  }
  resolved_open(&triple.pair, m1 + m2, d, u, 0, 1);
  triple_quadrupole(&triple, 0);
  triple_forces(&triple, (const double(*)[3])x, (const double(*)[3])w, force);
  for (int c = 0; c < 3; c++) {
    triple.star.a[c] = force[0].a[c];
    triple.star.j[c] = force[0].j[c];
    triple.centre.a[c] = force[1].a[c];
    triple.centre.j[c] = force[1].j[c];
  }
  return triple;
}

/* The first maximum of the eccentricity, and its time. */
static void oscillation(struct triple triple, double end, double e, double e_limit, double t, const char *what)
{
  double largest = 0, at = 0;
  while (triple.t < end) {
    triple_step(&triple, 2);
    double mu = triple.m1 + triple.m2, cosine = 1 - ks_distance(&triple.pair) * triple.pair.beta / mu,
           sine = ks_along(&triple.pair) * sqrt(triple.pair.beta) / mu, now = sqrt(cosine * cosine + sine * sine);
    if (!(now <= largest)) {
      largest = now;
      at = triple.t;
    }
  }
  printf("# largest eccentricity %.5f at %.0f; axis %.6f\n", largest, at, (triple.m1 + triple.m2) / triple.pair.beta);
  tap_ok(fabs(largest - e) < e_limit && fabs(at / t - 1) < 1e-3, what);
}

/* --- groups ------------------------------------------------------------------------------------------------------- */

static void two_pairs(void)
{
  struct few_bodies few = {
      .n = 4,
      .m = {0.5, 0.5, 0.5, 0.5},
      .x = {{-0.5, 0, 0}, {0.5, 0, 0}, {10, 1.5, -0.4}, {10, 1.5, 0.4}},
      .v = {{0, -0.5, 0}, {0, 0.5, 0}, {-1, 0, -0.559016994374947}, {-1, 0, 0.559016994374947}}};
  double step = 0, e[3], a[3];
  int64_t evaluations = 0;
  few_centre(&few);
  double energy = few_energy(&few);
  int failed = few_advance(&few, &nothing, 30, &step, &evaluations);
  a[0] = few_pair(&few, 1, 2, &e[0]);
  a[1] = few_pair(&few, 1, 3, &e[1]);
  a[2] = few_pair(&few, 2, 3, &e[2]);
  printf("# two pairs: a = %.8f, %.8f, e = %.8f, %.8f, energy %.1e in %lld evaluations\n", a[0], a[1], e[0], e[1],
         few_energy(&few) / energy - 1, (long long)evaluations);
  int same = fabs(a[0] - 2.0671889718) < 2e-6 && fabs(e[0] - 0.5702042863) < 2e-6;
  same &= fabs(a[1] - 2.0671889718) < 2e-6 && fabs(e[1] - 0.5702042863) < 2e-6;
  tap_ok(!failed && same && a[2] < 0, "two pairs meet: an exchange");
  tap_ok(fabs(few_energy(&few) / energy - 1) < 1e-9, "and its energy");
}

/* Three masses that begin at rest at the corners of a triangle of sides 3, 4, 5 (Burrau). */
static void burrau(void)
{
  struct few_bodies few = {.n = 3, .m = {3, 4, 5}, .x = {{1, 3, 0}, {-2, -1, 0}, {1, -1, 0}}};
  double step = 0, e, energy = few_energy(&few);
  int64_t evaluations = 0;
  few_centre(&few);
  int failed = few_advance(&few, &nothing, 80, &step, &evaluations);
  double a = few_pair(&few, 1, 2, &e);
  printf("# three at rest: a = %.5f, e = %.5f, energy %.1e, momentum %.1e in %lld evaluations\n", a, e,
         few_energy(&few) / energy - 1, few_momentum(&few), (long long)evaluations);
  tap_ok(!failed && fabs(a - 0.55249) < 5e-3 && fabs(e - 0.98871) < 1e-3, "three at rest: the pair that is left");
  tap_ok(fabs(few_energy(&few) / energy - 1) < 1e-9, "and the energy");
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
  few_centre(&few);
  double scale = sqrt(0.5 * few_binding(&few) / few_kinetic(&few));
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
    double step = 0, begin = few_energy(&few);
    for (int k = 1; k <= 20; k++) failed |= few_advance(&few, &nothing, 0.2 * k, &step, &evaluations);
    energy = fmax(energy, fabs(few_energy(&few) / begin - 1));
    momentum = fmax(momentum, few_momentum(&few));
    struct unit_environment environment = {.tide = {{0.1, 0.05, 0}, {0.05, -0.2, 0}, {0, 0, 0.1}}, .near_count = 1};
    environment.near[0] = (struct unit_path){
        .gm = 0.2, .split = {SPLIT_SEPTIC, 3, 12, 1 / 9.0}, .motion = {.x = {4, 0, 0}, .v = {-0.2, 0.5, 0}}};
    few = cluster(8, seed);
    step = 0;
    for (int k = 1; k <= 5; k++) failed |= few_advance(&few, &environment, 0.2 * k, &step, &evaluations);
    driven = fmax(driven, few_momentum(&few));
  }
  printf("# eight bodies: energy %.1e, momentum %.1e and %.1e, %lld evaluations\n", energy, momentum, driven,
         (long long)evaluations);
  tap_ok(!failed && energy < 1e-9, "the energy of eight bodies");
  tap_ok(momentum < 1e-13 && driven < 1e-13, "their momentum, with a tide and a neighbour as well");
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
    say(one < 1e-8 && many < 1e-7, "ends of intervals are met, e = %g", e[k]);
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
  few_centre(&few);
  struct few_bodies begin = few;
  int failed = few_advance(&few, &nothing, 25, &step, &evaluations);
  for (int k = 0; k < 3; k++)
    for (int c = 0; c < 3; c++) few.v[k][c] *= -1;
  failed |= few_advance(&few, &nothing, 50, &step, &evaluations);
  for (int k = 0; k < 3; k++) worst = fmax(worst, distance(few.x[k], begin.x[k]));
  printf("# a triple and back: %.1e\n", worst);
  tap_ok(!failed && worst < 1e-7, "a triple, and back with reversed velocities");
}

/* Two stars that meet head-on, alone and with a third body aside. */
static void head_on(void)
{
  const double inwards[] = {0, 0.5, 3};
  for (int k = 0; k < 6; k++) {
    struct few_bodies few = {.n = 2 + k % 2, .m = {0.3, 0.7, 0.5}, .x = {{-0.3, 0.2, -0.1}, {0.3, -0.2, 0.1}, {3, 5, 2}}};
    for (int c = 0; c < 3; c++)
      for (int l = 0; l < 2; l++) few.v[l][c] = -inwards[k / 2] * few.x[l][c];
    double step = 0;
    int64_t evaluations = 0;
    few_centre(&few);
    double energy = few_energy(&few);
    int failed = few_advance(&few, &nothing, 2.5, &step, &evaluations);
    printf("# head-on: %s, energy %.1e, %lld evaluations\n", failed ? "refused" : "passed",
           few_energy(&few) / energy - 1, (long long)evaluations);
    say(evaluations < 1000000 && (failed || fabs(few_energy(&few) / energy - 1) < 1e-8),
        "two stars head-on, %g: passed or refused", k);
  }
  struct few_bodies few = {.n = 3, .m = {0.5, 0.5, 0.5}, .x = {{0}, {0}, {1, 0, 0}}};
  double step = 0;
  int64_t evaluations = 0;
  tap_ok(few_advance(&few, &nothing, 1, &step, &evaluations) == -1, "two stars at one place are refused");
}

int main(void)
{
  setvbuf(stdout, NULL, _IOLBF, 0); /* what was done is seen if SIGALRM ends the rest */
  alarm(TIME_LIMIT);
  coordinates();
  by_time("by time: bound, for up to an orbit", 0.1, 0.9, 1e300, 0);
  by_time("by time: close to parabolas", 1 - 1e-7, 1e-2, 100, 0);
  by_time("by time: unbound", 1 + 1e-7, 10, 10, 0);
  by_time("by time: bound, within a step", 0.1, 0.9, 1e300, 1);
  by_time("by time: unbound, within a step", 1 + 1e-7, 10, 10, 1);
  on_a_line();
  isolated(0, 1e-7, 1, 1e5, 1e-9);
  isolated(0.9, 1e-5, 1, 1e5, 1e-9);
  isolated(0.99, 1e-4, 1, 1e5, 1e-9);
  isolated(0.999, 1e-3, 1, 1e5, 1e-9);
  isolated(0.9999, 1e-2, 1, 1e5, 1e-9);
  circling(0.5, 0.999813123, (const double[]){-0.499590204, -0.046323510, 0.011313499});
  circling(0.9, 0.999762043, (const double[]){-0.898321102, -0.041075740, 0.010857185});
  fly_by(5, 1, 40, 1.0021459237, 0.5016948304, 3e-6);
  fly_by(10, 10, 4, 1.0005028248, 0.4990808711, 1e-6);
  oscillation(triple_of(0.5, 0.5, 0.5, 80, 0), 33000, 0.95474, 1e-4, 30015, "a triple: Kozai and Lidov's oscillation");
  oscillation(triple_of(0.7, 0.3, 0.6, 70, 0.4), 22000, 0.8750, 1e-3, 20415, "a triple with an octupole");
  two_pairs();
  burrau();
  eight();
  end_times();
  reversal();
  head_on();
  return tap_end();
}
