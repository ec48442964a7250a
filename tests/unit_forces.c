/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What units of stars and their neighbours do to each other: quadrupoles (gravity/quadrupole.h), what acts on members
 * (gravity/unit_environment.h), and who belongs together (gravity/unit_rules.h). */
#include <config.h>
#include "gravity/unit_field.h"
#include "gravity/unit_rules.h"

#include <string.h>

#include "chance.h"
#include "gravity/quadrupole.h"
#include "kernels.h"
#include "tap.h"

static void say(int good, const char *what, int kernel)
{
  char text[160];
  snprintf(text, sizeof text, "%s: %s", kernel_names[kernel], what);
  tap_ok(good, text);
}

static double modulus(const double a[3]) { return sqrt(kepler_dot(a, a)); }

static double distance(const double a[3], const double b[3])
{
  double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
  return modulus(d);
}

static const double inner = 1, outer = 2.5;

static struct hermite_split split_of(int kernel)
{
  struct hermite_split split = {kernel, inner, outer, 1 / (outer - inner)};
  return split;
}

/* --- K and radial functions --------------------------------------------------------------------------------------- */

/* Against differences of the function before, inside the zone and outside; the radial functions likewise. */
static void derivatives(int kernel)
{
  struct hermite_split split = split_of(kernel);
  double worst = 0, radial = 0;
  int outside = 1;
  for (int i = 1; i < 300; i++) {
    double r = 0.5 + 2.5 * i / 300, h = 3e-5, k[3][4], f[3][4], slope;
    if (fabs(r - inner) < 2 * h || fabs(r - outer) < 2 * h) continue;
    for (int s = 0; s < 3; s++) {
      split_derivatives(&split, r + (s - 1) * h, k[s]);
      quadrupole_radial(r + (s - 1) * h, k[s], f[s]);
    }
    worst = fmax(worst, fabs(k[1][0] - kernel_at(kernel, r, inner, outer)));
    hermite_kernel(&split, r, &k[2][0], &slope);
    if (k[2][0] != k[1][0] || slope != k[1][1]) worst = 1;
    split_derivatives(&split, r + h, k[2]);
    for (int n = 0; n < 3; n++) {
      worst = fmax(worst, fabs(k[1][n + 1] - (k[2][n] - k[0][n]) / (2 * h)));
      double expected = (f[2][n] - f[0][n]) / (2 * h * r);
      radial = fmax(radial, fabs(f[1][n + 1] - expected) / (1 + fabs(expected)));
    }
    radial = fmax(radial, fabs(f[1][0] + kernel_at(kernel, r, inner, outer) / (r * r * r)));
    if (r < inner) outside &= k[1][0] == 1 && k[1][1] == 0 && k[1][2] == 0 && k[1][3] == 0;
    if (r > outer) outside &= k[1][0] == 0 && k[1][1] == 0 && k[1][2] == 0 && k[1][3] == 0;
  }
  printf("# derivatives of K %.1e, radial functions %.1e\n", worst, radial);
  say(worst < 1e-5 && outside, "three derivatives of K", kernel);
  say(radial < 2e-5, "radial functions of the hard potential", kernel);
}

/* --- quadrupoles -------------------------------------------------------------------------------------------------- */

enum { POINTS = 8 };

/* A body made of points, symmetric about its centre, so that it has no octupole. */
struct body {
  double m[POINTS], x[POINTS][3], v[POINTS][3], mass;
  double q[3][3], rate[3][3];
};

static struct body body_of(double size, struct random *random)
{
  struct body body;
  memset(&body, 0, sizeof body);
  for (int p = 0; p < POINTS; p += 2) {
    body.m[p] = body.m[p + 1] = random_between(random, 0.1, 0.3);
    random_direction(random, size * random_between(random, 0.3, 1), body.x[p]);
    random_direction(random, size * random_between(random, 0.3, 3), body.v[p]);
    for (int c = 0; c < 3; c++) {
      body.x[p + 1][c] = -body.x[p][c];
      body.v[p + 1][c] = -body.v[p][c];
    }
  }
  for (int p = 0; p < POINTS; p++) {
    body.mass += body.m[p];
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) {
        body.q[i][j] += body.m[p] * body.x[p][i] * body.x[p][j];
        body.rate[i][j] += body.m[p] * (body.x[p][i] * body.v[p][j] + body.v[p][i] * body.x[p][j]);
      }
  }
  return body;
}

/* The hard force of all points at d with the velocity w, less that of all mass at the centre. */
static struct hermite_force exact(const struct body *body, const double d[3], const double w[3],
                                  const struct hermite_split *split)
{
  struct hermite_force all = {{0}, {0}, 0}, centre = {{0}, {0}, 0};
  for (int p = 0; p < POINTS; p++) {
    double e[3], u[3];
    for (int c = 0; c < 3; c++) {
      e[c] = body->x[p][c] - d[c];
      u[c] = body->v[p][c] - w[c];
    }
    hermite_pair(&all, e, u, body->m[p], 0, split);
    for (int c = 0; c < 3; c++) {
      e[c] = -d[c];
      u[c] = -w[c];
    }
    hermite_pair(&centre, e, u, body->m[p], 0, split);
  }
  for (int c = 0; c < 3; c++) {
    all.a[c] -= centre.a[c];
    all.j[c] -= centre.j[c];
  }
  return all;
}

static void quadrupole(const struct body *body, const double d[3], const double w[3], const struct hermite_split *split,
                       double a[3], double j[3])
{
  double k[4], f[4], r = modulus(d);
  split_derivatives(split, r, k);
  quadrupole_radial(r, k, f);
  memset(a, 0, 3 * sizeof *a);
  memset(j, 0, 3 * sizeof *j);
  quadrupole_add(body->q, body->rate, d, w, f, 1, a, j);
}

/* The acceleration after the time t. */
static void later(const struct body *body, const double d[3], const double w[3], const struct hermite_split *split,
                  double t, double a[3])
{
  struct body moved = *body;
  double e[3], j[3];
  for (int c = 0; c < 3; c++) e[c] = d[c] + t * w[c];
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 3; k++) moved.q[i][k] += t * body->rate[i][k];
  quadrupole(&moved, e, w, split, a, j);
}

/* Against bodies of points of two sizes: what is left falls with the square of the size. */
static void points(int kernel)
{
  struct hermite_split split = split_of(kernel);
  double worst[2] = {0}, jerk[2] = {0}, time = 0;
  for (int level = 0; level < 2; level++) {
    struct random random = {17};
    for (int i = 0; i < 400; i++) {
      double size = level == 0 ? 0.02 : 0.01, r = random_between(&random, 0.7, 2.4), d[3], w[3], a[3], j[3], b[3], e[3];
      struct body body = body_of(size, &random);
      random_direction(&random, r, d);
      random_direction(&random, random_between(&random, 0.1, 2), w);
      if (fabs(r - inner) < 0.03) continue;
      struct hermite_force expected = exact(&body, d, w, &split);
      double scale = body.mass * size * size, h = 1e-4;
      quadrupole(&body, d, w, &split, a, j);
      worst[level] = fmax(worst[level], distance(a, expected.a) / scale);
      jerk[level] = fmax(jerk[level], distance(j, expected.j) / scale);
      later(&body, d, w, &split, h, e);
      later(&body, d, w, &split, -h, b);
      for (int c = 0; c < 3; c++) e[c] = (e[c] - b[c]) / (2 * h);
      time = fmax(time, distance(j, e) / scale);
    }
  }
  printf("# quadrupole: acceleration %.1e, %.1e, jerk %.1e, %.1e, by differences in time %.1e\n", worst[0], worst[1],
         jerk[0], jerk[1], time);
  say(worst[0] < 0.05 && worst[1] < 0.3 * worst[0], "the acceleration of a quadrupole is that of its points", kernel);
  say(jerk[0] < 0.5 && jerk[1] < 0.3 * jerk[0], "the jerk of a quadrupole is that of its points", kernel);
  say(time < 1e-3, "and the derivative of the acceleration in time", kernel);
}

static void mean_orbit(void)
{
  double worst = 0;
  const double e[] = {0, 0.5, 0.95};
  for (int k = 0; k < 3; k++) {
    enum { PARTS = 4000 };
    const double mu = 3, a = 0.2, p[3] = {0.36, 0.48, -0.8}, w[3] = {-0.8, 0.6, 0};
    double speed = sqrt(mu / a * (1 - e[k]) / (1 + e[k])), d[3], u[3], q[3][3], sum[3][3] = {{0}};
    for (int c = 0; c < 3; c++) {
      d[c] = a * (1 + e[k]) * p[c];
      u[c] = speed * w[c];
    }
    kepler_advance(mu, 0.3 * a * sqrt(a / mu), d, u);
    quadrupole_of_orbit(mu, d, u, q);
    for (int n = 0; n < PARTS; n++) { /* equal parts of the eccentric anomaly, of weights 1 - e cos E */
      double x = 2 * KEPLER_PI * n / PARTS, part = (1 - e[k] * cos(x)) / PARTS, y[3];
      for (int c = 0; c < 3; c++) y[c] = a * ((e[k] - cos(x)) * p[c] + sqrt(1 - e[k] * e[k]) * sin(x) * w[c]);
      for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) sum[i][j] += part * y[i] * y[j];
    }
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) worst = fmax(worst, fabs(q[i][j] - sum[i][j]) / (a * a));
  }
  printf("# mean of d d: %.1e\n", worst);
  tap_ok(worst < 1e-12, "the quadrupole of an orbit is the mean over it");
}

/* --- what acts on members ----------------------------------------------------------------------------------------- */

/* A neighbour across the zone against hard forces at its place then; the mean is removed. */
static void neighbour(int kernel)
{
  struct random random = {29};
  double worst = 0, mean = 0;
  for (int i = 0; i < 300; i++) {
    enum { N = 4 };
    struct unit_environment environment = {.near_count = 2};
    double x[N][3], m[N], f[N][3], expected[N][3] = {{0}}, sum[3] = {0}, left[3] = {0}, mass = 0, none[3] = {0},
                                   t = 0.7;
    for (int l = 0; l < 3; l++) {
      struct unit_path *path = l < 2 ? &environment.near[l] : &environment.centre;
      *path = (struct unit_path){.t = random_between(&random, 0, 0.6), .gm = 0.5 + l, .split = split_of(kernel)};
      random_direction(&random, l < 2 ? random_between(&random, 0.5, 3) : 0.2, path->motion.x);
      random_direction(&random, 0.3, path->motion.v);
      random_direction(&random, 0.3, path->motion.a);
      random_direction(&random, 0.3, path->motion.j);
    }
    for (int k = 0; k < N; k++) {
      random_direction(&random, 0.1, x[k]);
      mass += m[k] = random_between(&random, 0.1, 1);
    }
    for (int l = 0; l < 2; l++) {
      double y[3], v[3], centre[3];
      hermite_predict(&environment.near[l].motion, t - environment.near[l].t, y, v);
      hermite_predict(&environment.centre.motion, t - environment.centre.t, centre, v);
      for (int k = 0; k < N; k++) {
        struct hermite_force force = {{0}, {0}, 0};
        double d[3] = {y[0] - centre[0] - x[k][0], y[1] - centre[1] - x[k][1], y[2] - centre[2] - x[k][2]};
        hermite_pair(&force, d, none, environment.near[l].gm, 0, &environment.near[l].split);
        for (int c = 0; c < 3; c++) expected[k][c] += force.a[c];
      }
    }
    unit_external(&environment, t, N, (const double(*)[3])x, m, f);
    double scale = 0;
    for (int k = 0; k < N; k++)
      for (int c = 0; c < 3; c++) {
        sum[c] += m[k] * expected[k][c] / mass;
        left[c] += m[k] * f[k][c];
        scale = fmax(scale, fabs(expected[k][c]));
      }
    mean = fmax(mean, modulus(left) / (mass * (scale + 1e-9)));
    for (int k = 0; k < N; k++)
      for (int c = 0; c < 3; c++) worst = fmax(worst, fabs(f[k][c] - (expected[k][c] - sum[c])) / (scale + 1e-9));
  }
  printf("# neighbours: %.1e, mean %.1e\n", worst, mean);
  say(worst < 1e-13 && mean < 1e-14, "pulls of neighbours as predicted, less their mean", kernel);
}

/* The tide of a far body against its exact pulls. */
static void tide(void)
{
  struct random random = {31};
  double worst = 0;
  for (int i = 0; i < 300; i++) {
    struct unit_environment near = {.near_count = 1}, far = {.near_count = 0};
    double r = random_log(&random, 100, 1e4), n[3], x[3][3], m[3] = {1, 2, 0.5}, f[3][3], g[3][3], gm = 3;
    random_direction(&random, 1, n);
    near.near[0] = (struct unit_path){.gm = gm, .split = {SPLIT_SEPTIC, 1e6, 4e6, 1 / 3e6}};
    for (int c = 0; c < 3; c++) {
      near.near[0].motion.x[c] = r * n[c];
      for (int k = 0; k < 3; k++) far.tide[c][k] = gm / (r * r * r) * (3 * n[c] * n[k] - (c == k));
    }
    for (int k = 0; k < 3; k++) random_direction(&random, 1, x[k]);
    unit_external(&near, 0, 3, (const double(*)[3])x, m, f);
    unit_external(&far, 0, 3, (const double(*)[3])x, m, g);
    for (int k = 0; k < 3; k++) worst = fmax(worst, distance(f[k], g[k]) / (gm / (r * r * r)) * r);
  }
  printf("# tide: the octupole is %.1f in units of size over distance\n", worst);
  tap_ok(worst < 10, "the tide of a far body is its pulls but for the octupole");
}

/* --- rules -------------------------------------------------------------------------------------------------------- */

/* A pair and a neighbour, with both stars where they are: the forces on the neighbour and on the pair's centre. */
static void two_stars(void)
{
  struct random random = {43};
  double worst = 0, momentum = 0;
  for (int i = 0; i < 2000; i++) {
    const struct split split = split_make(SPLIT_SEPTIC, 1, 4);
    struct unit_two two = {.m1 = random_between(&random, 0.1, 1), .m2 = random_between(&random, 0.1, 1)};
    struct unit_neighbour is = {.split = hermite_split_of(&split, 1, 1)};
    struct hermite_force direct = {{0}, {0}, 0}, on_star = {{0}, {0}, 0}, on_pair = {{0}, {0}, 0};
    double star = random_between(&random, 0.1, 1), m = two.m1 + two.m2, scale = 0;
    random_direction(&random, random_log(&random, 0.01, 0.5), two.d);
    random_direction(&random, 1, two.u);
    random_direction(&random, random_log(&random, 1, 3), is.d); /* the pair from the star */
    random_direction(&random, 1, is.u);
    for (int k = 0; k < 2; k++) {
      double x[3], u[3], share = k ? two.m1 / m : -two.m2 / m;
      for (int c = 0; c < 3; c++) {
        x[c] = is.d[c] + share * two.d[c];
        u[c] = is.u[c] + share * two.u[c];
      }
      hermite_pair(&direct, x, u, k ? two.m2 : two.m1, 0, &is.split);
    }
    is.gm = m;
    hermite_pair(&on_star, is.d, is.u, m, 0, &is.split);
    unit_add_two(&is, &two, 1, &on_star);
    is.gm = star;
    for (int c = 0; c < 3; c++) {
      is.d[c] = -is.d[c];
      is.u[c] = -is.u[c];
    }
    hermite_pair(&on_pair, is.d, is.u, star, 0, &is.split);
    unit_add_two(&is, &two, -1, &on_pair);
    for (int c = 0; c < 3; c++) scale += fabs(direct.a[c]) + fabs(direct.j[c]);
    for (int c = 0; c < 3; c++) {
      worst = fmax(worst, fmax(fabs(on_star.a[c] - direct.a[c]), fabs(on_star.j[c] - direct.j[c])) / scale);
      momentum = fmax(momentum, fabs(star * on_star.a[c] + m * on_pair.a[c]) / scale);
    }
  }
  tap_ok(worst < 1e-13, "two stars of a pair pull a neighbour as points do");
  tap_ok(momentum < 1e-13, "and it pulls them as much");
}

enum { STAR, PASSING, LASTING, GROUP, KINDS };

static const struct unit_rules rules = {
    .r1 = 1, .entry = 0.08, .error = 1e-6, .period = UNIT_PERIOD * 0.02, .soft_step = 0.02};

static struct unit_facts facts_of(int kind, struct random *random)
{
  struct unit_facts f = {.bodies = 1, .m = random_log(random, 0.01, 10), .a = -1, .period = 1e30};
  if (kind == STAR) return f;
  f.m1 = f.m * random_between(random, 0.1, 0.9);
  f.m2 = f.m - f.m1;
  f.bodies = kind == GROUP ? 2 + (int)(random_bits(random) % 4) : 2;
  f.pair = kind != GROUP;
  f.lasting = kind == LASTING;
  f.size = random_log(random, 1e-5, 0.3);
  f.distance = f.size * random_unit(random);
  if (kind == LASTING) {
    f.a = f.size / random_between(random, 1, 2);
    f.period = 2 * KEPLER_PI * f.a * sqrt(f.a / f.m);
  }
  return f;
}

static void belong(void)
{
  struct random random = {37};
  int symmetric = 1, near = 1, massless = 1, crowd = 1, one = 1;
  int64_t seen[KINDS][KINDS][3] = {{{0}}};
  for (int i = 0; i < 200000; i++) {
    int kind[2] = {(int)(random_bits(&random) % KINDS), (int)(random_bits(&random) % KINDS)};
    struct unit_facts p = facts_of(kind[0], &random), q = facts_of(kind[1], &random);
    double r1 = random_between(&random, 1, 2.7), r = random_log(&random, 1e-4, 3), d[3], e[3], u[3], w[3],
           factor = random_bits(&random) % 2 ? UNIT_HYSTERESIS : 1;
    random_direction(&random, r, d);
    random_direction(&random, random_log(&random, 0.01, 100), u);
    for (int c = 0; c < 3; c++) {
      e[c] = -d[c];
      w[c] = -u[c];
    }
    enum unit_verdict verdict = unit_belong(&rules, &p, &q, d, u, r1, factor);
    symmetric &= verdict == unit_belong(&rules, &q, &p, e, w, r1, factor);
    seen[kind[0]][kind[1]][verdict]++;
    if (verdict == UNIT_LET_GO) {
      int first = unit_first_goes(&rules, &p, &q, r), both = unit_is_passing(&p) && unit_is_passing(&q);
      one &= (first ? &p : &q)->pair && (both || first != unit_first_goes(&rules, &q, &p, r));
    }
    if (kind[0] != STAR || kind[1] != STAR) near &= verdict != UNIT_TOGETHER || r < UNIT_EXTENT * r1;
    p.bodies = UNIT_BODIES + 1 - q.bodies;
    p.pair = 0;
    crowd &= unit_belong(&rules, &p, &q, d, u, r1, factor) == UNIT_APART;
    p = facts_of(STAR, &random);
    p.m = 0;
    massless &= unit_belong(&rules, &p, &q, d, u, r1, factor) == UNIT_APART &&
                unit_belong(&rules, &q, &p, d, u, r1, factor) == UNIT_APART;
  }
  int all = 1, stars = seen[STAR][STAR][UNIT_LET_GO] == 0;
  for (int a = 0; a < KINDS; a++)
    for (int b = 0; b < KINDS; b++) {
      all &= seen[a][b][UNIT_APART] > 0;
      all &= seen[a][b][UNIT_TOGETHER] > 0;
      all &= (seen[a][b][UNIT_LET_GO] > 0) == (a == PASSING || b == PASSING || a == LASTING || b == LASTING);
    }
  tap_ok(symmetric, "who belongs together does not depend on the order of the two");
  tap_ok(near, "none but two stars join beyond the extent of units");
  tap_ok(massless, "stars without mass join none");
  tap_ok(crowd, "no unit has more bodies than fit");
  tap_ok(all && stars && one, "all verdicts occur, and one of two is let go, a pair");
}

/* Two stars: by their distance, or as a pair that lasts. */
static void stars(void)
{
  struct unit_facts star = {.bodies = 1, .m = 0.5, .a = -1, .period = 1e30};
  const double fast[3] = {0, 100, 0};
  double d[3] = {0.999 * rules.entry, 0, 0}, slow[3];
  int good = unit_belong(&rules, &star, &star, d, fast, 1, 1) == UNIT_TOGETHER;
  d[0] = 1.001 * rules.entry;
  good &= unit_belong(&rules, &star, &star, d, fast, 1, 1) == UNIT_APART;
  good &= unit_belong(&rules, &star, &star, d, fast, 1, UNIT_PASSED) == UNIT_TOGETHER;
  tap_ok(good, "two stars join within the distance of a passing pair");
  good = 1;
  for (int k = 0; k < 2; k++) { /* the longest period */
    double period = UNIT_PERIOD * rules.soft_step * (k == 0 ? 0.999 : 1.001), mu = 1,
           a = cbrt(mu * period * period / (4 * KEPLER_PI * KEPLER_PI)), speed = sqrt(mu / a);
    for (int c = 0; c < 3; c++) {
      d[c] = c == 0 ? a : 0;
      slow[c] = c == 1 ? speed : 0;
    }
    good &= unit_lasts(&rules, mu, d, slow, 1, 1) == (k == 0) && unit_lasts(&rules, mu, d, slow, 1, UNIT_LASTING);
    good &= !unit_lasts(&rules, mu, d, slow, 3.9 * a, 1) && !unit_lasts(&rules, mu, d, fast, 1, 1);
  }
  tap_ok(good, "a pair lasts by its period and apocentre");
}

/* A star about a narrow pair, far beyond its reach. */
static void outer_orbits(void)
{
  struct unit_facts star = {.bodies = 1, .m = 0.5, .a = -1, .period = 1e30},
                    pair = {.bodies = 2, .pair = 1, .lasting = 1, .m = 0.5, .m1 = 0.25, .m2 = 0.25};
  struct unit_rules lenient = rules;
  lenient.error = 1e300;
  pair.a = pair.size = 1e-8;
  pair.period = 2 * KEPLER_PI * pair.a * sqrt(pair.a / pair.m);
  int good = 1;
  for (int k = 0; k < 2; k++) {
    double period = UNIT_OUTER_PERIOD * rules.soft_step * (k == 0 ? 0.999 : 1.001),
           a = cbrt(period * period / (4 * KEPLER_PI * KEPLER_PI));
    const double d[3] = {a, 0, 0}, u[3] = {0, sqrt(1 / a), 0}, fast[3] = {0, 2 * u[1], 0};
    good &= (unit_belong(&lenient, &pair, &star, d, u, 1, 1) == UNIT_TOGETHER) == (k == 0);
    good &= unit_belong(&lenient, &pair, &star, d, u, 1, UNIT_HYSTERESIS) == UNIT_TOGETHER;
    good &= unit_belong(&lenient, &pair, &star, d, fast, 1, 1) == UNIT_APART;
    good &= unit_belong(&lenient, &pair, &star, d, u, 3.9 * a, 1) == UNIT_APART;
  }
  tap_ok(good, "a star on a short orbit about a pair joins it");
}

/* Reaches: without errors of the quadrupole, by apocentres and axes; with them, where the energy is as allowed. */
static void reaches(void)
{
  struct unit_facts pair = {.bodies = 2,
                            .pair = 1,
                            .lasting = 1,
                            .m = 2,
                            .m1 = 1,
                            .m2 = 1,
                            .a = 1e-3,
                            .size = 1.9e-3,
                            .period = 1e-4},
                    star = {.bodies = 1, .m = 1, .a = -1, .period = 1e30},
                    group = {.bodies = 3, .m = 2, .a = -1, .period = 1e30, .size = 2e-3};
  struct unit_rules lenient = rules, strict = rules;
  lenient.error = 1e300;
  strict.error = 1e-14;
  int good = unit_reach(&lenient, &star, 1) == 0;
  good &= fabs(unit_reach(&lenient, &pair, 1e-3) / (UNIT_NEAR_TIMES * UNIT_APOCENTRES * pair.size) - 1) < 1e-12;
  lenient.entry = 2 * UNIT_APOCENTRES * pair.size; /* no more times as many beyond it */
  good &= fabs(unit_reach(&lenient, &pair, 1e-3) / lenient.entry - 1) < 1e-12;
  lenient.entry = 0;
  good &= fabs(unit_reach(&lenient, &pair, 1e-3) / (UNIT_APOCENTRES * pair.size) - 1) < 1e-12;
  good &= fabs(unit_reach(&lenient, &pair, 8) / (2 * UNIT_APOCENTRES * pair.size) - 1) < 1e-12;
  pair.size = pair.a;
  good &= fabs(unit_reach(&lenient, &pair, 2) / (UNIT_LIGHT_AXES * pair.a) - 1) < 1e-12;
  good &= fabs(unit_reach(&lenient, &group, 1) / (2 * group.size) - 1) < 1e-12;
  tap_ok(good, "reaches by apocentres, axes and sizes");
  double r = unit_reach(&strict, &pair, 1), s = unit_reach(&strict, &group, 1);
  good = fabs(0.3 * 0.5 * pow(pair.a, 4) / pow(r, 5) / strict.error - 1) < 1e-9;
  good &= fabs(2 * pow(group.size, 3) / pow(s, 4) / strict.error - 1) < 1e-9;
  tap_ok(good, "reaches by energies");
  double fast = UNIT_PRESENT_PERIODS * pair.period,
         far = cbrt(0.5 * pair.size * pair.size / UNIT_PRESENT_ERROR / 1e-14);
  good = unit_seen_now(&strict, &pair, 1, 0.99 * fast, 1) && !unit_seen_now(&strict, &pair, 1, 1.01 * fast, 1);
  good &= unit_seen_now(&strict, &pair, 1, 0.99 * far, 1e30) && !unit_seen_now(&strict, &pair, 1, 1.01 * far, 1e30);
  tap_ok(good, "who sees the members of a pair where they are");
  const double tight[3] = {1e-6, 0, 0}, wide[3] = {1e-2, 0, 0}, rest[3] = {0, 0, 0};
  good = unit_tight_reach(&rules, 0.5, 0.5, wide, rest, 1) == 1e300;
  good &= fabs(unit_tight_reach(&lenient, 0.5, 0.5, tight, rest, 1) / 1e-5 - 1) < 1e-9;
  r = unit_tight_reach(&strict, 0.5, 0.5, tight, rest, 1);
  good &= fabs(0.25 * 2.5e-13 / pow(r, 3) / strict.error - 1) < 1e-9;
  tap_ok(good, "how near a star may come to a tight pair that is a point");
}

int main(void)
{
  for (int kernel = 0; kernel < SPLIT_KERNEL_COUNT; kernel++) {
    derivatives(kernel);
    points(kernel);
    neighbour(kernel);
  }
  mean_orbit();
  tide();
  two_stars();
  belong();
  stars();
  outer_orbits();
  reaches();
  return tap_end();
}
