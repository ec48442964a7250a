/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pairs of stars along their orbits (gravity/ks.h, gravity/resolved_pair.h), alone and with another body near.
 * Reference values are those of converged integrations. */
#include <config.h>
#include "gravity/resolved_pair.h"

#include <string.h>

#include "chance.h"
#include "gravity/quadrupole.h"
#include "orbits.h"
#include "tap.h"

static const struct unit_environment nothing;

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

/* The time after s. */
static long double universal_time(double mu, long double r, long double along, long double beta, long double s,
                                  long double g[4])
{
  universal_functions(beta, s, g);
  return r * g[1] + along * g[2] + mu * g[3];
}

/* The position after the time dt > 0. */
static void reference(double mu, double dt, const double d[3], const double u[3], double x[3])
{
  long double dd = 0, along = 0, uu = 0, g[4];
  for (int c = 0; c < 3; c++) {
    dd += (long double)d[c] * d[c];
    along += (long double)d[c] * u[c];
    uu += (long double)u[c] * u[c];
  }
  long double r = sqrtl(dd), beta = 2 * mu / r - uu, low = 0, high = 1e-8L / sqrtl(uu + mu / r);
  for (; universal_time(mu, r, along, beta, high, g) < dt; high *= 2) low = high;
  for (int k = 0; k < 80; k++) {
    long double s = (low + high) / 2;
    if (universal_time(mu, r, along, beta, s, g) < dt) low = s;
    else high = s;
  }
  for (int c = 0; c < 3; c++) x[c] = (double)((1 - mu * g[2] / r) * d[c] + (r * g[1] + along * g[2]) * u[c]);
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

/* Motion by time against the reference, to `limit` roundings: fast stars that meet head-on lose digits. least, most:
 * speeds less that of escape, in units of it. away: longest time of free falls. opened: with a step, as pairs of the
 * program have. */
static void by_time(const char *what, double least, double most, double away, int opened, double limit)
{
  struct random random = {23};
  double worst = 0, other = 0;
  for (int i = 0; i < 400; i++) {
    double d[3], u[3], x[3], y[3], mu = 1, apart = random_log(&random, fabs(least), fabs(most)), a, dt;
    double r = random_pair(&random, mu, least < 0 ? 1 - apart : 1 + apart, d, u), fall = r * sqrt(r / mu);
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
           (least < 0 ? fmin(2 * KEPLER_PI * a * sqrt(a / mu), away * fall) : away * fall);
    }
    ks_advance(&pair, mu, dt);
    ks_position(pair.q, x);
    double scale = conditioned(mu, dt, d, u, y);
    worst = fmax(worst, distance(x, y) / scale);
    if (!(distance(x, y) >= 0) || pair.t != dt) worst = INFINITY;
    if (kepler_advance(mu, dt, d, u)) other = fmax(other, distance(x, d) / scale);
  }
  printf("# %s: %.1f roundings, against ellipses %.1f\n", what, worst, other);
  tap_ok(worst < limit && other < limit, what);
}

/* A fast star comes, passes and leaves, far beyond the step that a pair would have. */
static void far(void)
{
  struct random random = {43};
  int good = 1;
  for (int i = 0; i < 1000; i++) {
    double d[3], u[3], x[3], w[3], r = random_pair(&random, 1, random_log(&random, 2, 30), d, u);
    struct ks_pair pair;
    ks_open(&pair, 1, d, u, 0);
    ks_advance(&pair, 1, random_log(&random, 1, 100) * r * sqrt(r));
    ks_position(pair.q, x);
    ks_velocity(&pair, w);
    good &= fabs(sqrt(-pair.beta + 2 / modulus(x)) / modulus(w) - 1) < 1e-6;
  }
  tap_ok(good, "unbound, over long times: the energy");
}

/* Stars that hardly bend each other's way: G m / v^2 is down to 1e-5 of their distance. */
static void fast(void)
{
  struct random random = {44};
  double worst = 0, farthest = 0;
  for (int i = 0; i < 100000; i++) {
    double d[3], u[3], x[3], w[3], mu = random_log(&random, 1e-5, 0.1), r = random_pair(&random, 1, 2, d, u), v = 0;
    double aside = random_log(&random, 1e-6, 1e3); /* how far the way is from head-on */
    for (int c = 0; c < 3; c++) {
      u[c] = aside * u[c] - d[c] / r;
      v += u[c] * u[c];
    }
    for (int c = 0; c < 3; c++) u[c] /= sqrt(v);
    struct ks_pair pair;
    resolved_open(&pair, mu, d, u, 0, random_log(&random, 0.1 * r, 10 * r));
    if (i % 4 == 0) pair.step = i % 8 == 0 ? 0 : 1e5 * pair.step; /* that of another orbit */
    double time = random_log(&random, 1e-3, i % 4 == 0 ? 1e4 : 10) * r;
    ks_advance(&pair, mu, time);
    ks_position(pair.q, x);
    ks_velocity(&pair, w);
    double error = fabs((kepler_dot(w, w) - 2 * mu / modulus(x)) / (1 - 2 * mu / r) - 1) / (1 + mu / modulus(x));
    if (!(error <= worst)) worst = error;
    farthest = fmax(farthest, modulus(x) / (r + time)); /* the speed at r is 1 */
  }
  /* where Halley's method leaps to exp(s) without a bound */
  struct ks_pair leap = {
      .q = {0.0023733314491049652, 0.0068968016681161841, 0.0009238621306615622, 0.00051245634755687618},
      .p = {-0.00072016930343835961, -0.0042159649787756343, 0.00089480041168965585, 0.0040858920202034472},
      .beta = -2.5653833201546972,
      .step = 0.12258964570753857,
      .t = 0.0017556814960737403};
  ks_advance(&leap, 1.9073486328125e-06, 0.0019287109375);
  printf("# fast: the energy to %.1e; from 5.4e-5 to %.3g\n", worst, ks_distance(&leap));
  tap_ok(worst < 1e-7 && ks_distance(&leap) < 3e-4, "unbound and fast: the energy");
  tap_ok(farthest < 1.01, "no farther than at the first speed, after any step of s");
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
  orbits_say(distance(d, x) < 5e-9 * orbits * a, "and the phase (e = %g)", e);
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
  *path = (struct unit_path){.gm = 1, .split = orbits_newton};
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
  orbits_say(fabs(axis - a) < 2e-6 && distance(got, vector) < 2e-6 && pair.t == end,
             "a mass that circles a pair of e = %g", e);
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
  hermite_pair(&force[0], back, away, mass, 0, &orbits_newton);
  hermite_pair(&force[1], d, w, triple->m3, 0, &orbits_newton);
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
      (struct unit_path){.motion = triple->star, .t = triple->t, .gm = triple->m3, .split = orbits_newton};
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
  const double d[3] = {-1.1, 0, 0}, u[3] = {0, -v * cos(tilt), -v * sin(tilt)}, place[3] = {r * cos(f), r * sin(f), 0},
               motion[3] = {-speed * sin(f), speed * (e + cos(f)), 0};
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

int main(void)
{
  coordinates();
  by_time("by time: bound, for up to an orbit", -0.1, -0.9, 1e300, 0, 100);
  by_time("by time: close to parabolas", -1e-7, -1e-2, 100, 0, 100);
  by_time("by time: unbound", 1e-7, 10, 1, 0, 1e4);
  by_time("by time: bound, within a step", -0.1, -0.9, 1e300, 1, 100);
  by_time("by time: unbound, within a step", 1e-7, 10, 10, 1, 100);
  on_a_line();
  isolated(0, 1e-7, 1, 1e5, 1e-9);
  isolated(0.9, 1e-5, 1, 1e5, 1e-9);
  isolated(0.99, 1e-4, 1, 1e5, 1e-9);
  isolated(0.999, 1e-3, 1, 1e5, 1e-9);
  isolated(0.9999, 1e-2, 1, 1e5, 1e-9);
  isolated(0.9, 1e-2, 0.83, 2e4, 1e-12);
  isolated(0.5, 1e-2, 0.317, 1e4, 1e-12);
  far();
  fast();
  circling(0.5, 0.999813123, (const double[]){-0.499590204, -0.046323510, 0.011313499});
  circling(0.9, 0.999762043, (const double[]){-0.898321102, -0.041075740, 0.010857185});
  oscillation(triple_of(0.5, 0.5, 0.5, 80, 0), 33000, 0.95474, 1e-4, 30015, "a triple: Kozai and Lidov's oscillation");
  oscillation(triple_of(0.7, 0.3, 0.6, 70, 0.4), 22000, 0.8750, 1e-3, 20415, "a triple with an octupole");
  return tap_end();
}
