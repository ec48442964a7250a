/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time steps by pairs (gravity/pair_steps.h): the step of a pair against finite differences along its motion; soft
 * steps of each backend against a plain kick-drift-kick integrator below; a fly-by and circular orbits, by the Hermite
 * scheme too. */
#include <config.h>
#include "gravity/pair_steps.h"
#include "list_rig.h"

#define ETA_PAIRS 0.05 /* the default of Eta */

/* --- the step of a pair ------------------------------------------------------------------------------------------- */

/* Times of free fall (0) and of fly-by (1) of a pair of mass m. */
static double pair_time(int which, const double d[3], const double u[3], double m, double eps2)
{
  double s2 = hermite_modulus2(d) + eps2;
  return which == 0 ? sqrt(s2 * sqrt(s2) / m) : sqrt(s2 / hermite_modulus2(u));
}

/* The same after the time h, on the pair's own orbit to first order. */
static double pair_time_after(int which, const double d[3], const double u[3], double m, double eps2, double h)
{
  double s2 = hermite_modulus2(d) + eps2, e[3], w[3];
  for (int c = 0; c < 3; c++) {
    e[c] = d[c] + h * u[c];
    w[c] = u[c] - h * m * d[c] / (s2 * sqrt(s2));
  }
  return pair_time(which, e, w, m, eps2);
}

/* The step of a pair as the header's text has it. */
static double step_of_pair(const double d[3], const double u[3], double m, double eps2, double eta)
{
  double step = 1e300;
  for (int which = 0; which < 2; which++) {
    double t = pair_time(which, d, u, m, eps2),
           h = 1e-5 * fmin(pair_time(0, d, u, m, eps2), pair_time(1, d, u, m, eps2));
    double slope = (pair_time_after(which, d, u, m, eps2, h) - pair_time_after(which, d, u, m, eps2, -h)) / (2 * h),
           factor = 1 / (1 - 0.5 * eta * slope);
    if (!(factor > 0 && factor < PAIR_STEP_FACTOR)) factor = PAIR_STEP_FACTOR;
    step = fmin(step, eta * t * fmax(factor, PAIR_STEP_SHORTEST));
  }
  return step;
}

static double engine_step(const double d[3], const double u[3], double m, double eps2, double eta)
{
  struct hermite_split s = {SPLIT_QUINTIC, 1, 2, 1};
  struct pair_kick k = {.gm = 0.25 * m, .eta = eta};
  pair_kick_add(&k, d, u, 0.75 * m, eps2, &s);
  return pair_step(&k);
}

static void check_pair(void)
{
  struct random r = {21};
  double worst = 0, least = 1e300, most = 0;
  for (int k = 0; k < 20000; k++) {
    double d[3], u[3], m = random_log(&r, 1e-4, 1), eps2 = k % 2 ? pow(random_log(&r, 1e-4, 1), 2) : 0,
                       eta = random_log(&r, 0.01, 1);
    random_direction(&r, random_log(&r, 1e-3, 1), d);
    random_direction(&r, random_log(&r, 1e-2, 10), u);
    double expected = step_of_pair(d, u, m, eps2, eta),
           plain = eta * fmin(pair_time(0, d, u, m, eps2), pair_time(1, d, u, m, eps2));
    double step = engine_step(d, u, m, eps2, eta);
    worst = fmax(worst, fabs(step / expected - 1));
    least = fmin(least, step / plain);
    most = fmax(most, step / plain);
  }
  if (!(worst < 1e-6)) printf("# largest difference %g\n", worst);
  tap_ok(worst < 1e-6, "the step of a pair is that of finite differences of its times");
  printf("# from %g to %g of the plain step\n", least, most);
  tap_ok(least >= 0.5 && least < 0.7 && most < 1.5001 && most > 1.45,
         "it is from half to one and a half times the plain one");
  const double zero[3] = {0, 0, 0}, d[3] = {0.1, 0, 0}, u[3] = {1, 0, 0};
  tap_ok(fabs(engine_step(d, zero, 1, 0, 0.1) - 0.1 * sqrt(1e-3)) < 1e-12, "at rest: the free fall");
  tap_ok(engine_step(zero, u, 1, 0, 0.1) == 1e300 && engine_step(zero, zero, 1, 0, 0.1) == 1e300,
         "at the same place without softening: none");
  tap_ok(fabs(engine_step(zero, zero, 1, 0.01, 0.1) - 0.1 * sqrt(1e-3)) < 1e-12, "with softening: by the softening");
  tap_ok(pair_step(&(struct pair_kick){.eta = 0.1}) == 1e300, "no neighbour: none");
}

/* --- a plain integrator ------------------------------------------------------------------------------------------- */

struct plain {
  const struct list_request *r;
  double eps2, gm[1024], x[1024][3], v[1024][3], a[1024][3];
  float factor[1024];
  int32_t tick[1024];
  int level[1024];
  char listed[1024][1024];
  int64_t ticks, entries;
};
static struct plain plain;

/* Position and velocity of particle i at a tick. */
static void plain_predict(const struct plain *plain, int64_t i, int32_t tick, double x[3], double v[3])
{
  double dt = (tick - plain->tick[i]) * (plain->r->soft_step / TICKS);
  for (int c = 0; c < 3; c++) {
    x[c] = plain->x[i][c] + dt * plain->v[i][c] + 0.5 * dt * dt * plain->a[i][c];
    v[c] = plain->v[i][c] + dt * plain->a[i][c];
  }
}

/* Acceleration of particle i at a tick. Returns the step by its neighbours. */
static double plain_force(const struct plain *plain, int64_t n, int64_t i, int32_t tick, double a[3])
{
  double x[3], v[3], d[3], u[3], step = 1e300;
  plain_predict(plain, i, tick, x, v);
  for (int c = 0; c < 3; c++) a[c] = 0;
  for (int64_t j = 0; j < n; j++) {
    if (!plain->listed[i][j]) continue;
    struct hermite_split split = hermite_split_of(&plain->r->split, plain->factor[i], plain->factor[j]);
    struct hermite_force f = {0};
    plain_predict(plain, j, tick, d, u);
    for (int c = 0; c < 3; c++) {
      d[c] -= x[c];
      u[c] -= v[c];
    }
    hermite_pair(&f, d, u, plain->gm[j], plain->eps2, &split);
    for (int c = 0; c < 3; c++) a[c] += f.a[c];
    step = fmin(step, step_of_pair(d, u, plain->gm[i] + plain->gm[j], plain->eps2, plain->r->eta));
  }
  return step;
}

static void plain_begin(struct plain *plain, const struct system *system)
{
  static double a[1024][3];
  for (int64_t i = 0; i < system->n; i++) {
    plain->gm[i] = GRAVITY * (double)system->m[i];
    plain->factor[i] = split_factor(&plain->r->split, system->m[i]);
    for (int c = 0; c < 3; c++) {
      plain->x[i][c] = system->x[i][c];
      plain->v[i][c] = system->v[i][c];
    }
  }
  for (int64_t i = 0; i < system->n; i++)
    for (int64_t j = 0; j < system->n; j++) {
      double d[3], u[3],
          reach = NEIGHBOUR_MARGIN * (double)plain->r->split.r2 * (double)fmaxf(plain->factor[i], plain->factor[j]);
      for (int c = 0; c < 3; c++) {
        d[c] = system->x[j][c] - system->x[i][c];
        u[c] = system->v[j][c] - system->v[i][c];
      }
      plain->listed[i][j] = i != j && hermite_closest2(d, u, plain->r->soft_step) < reach * reach;
      plain->entries += plain->listed[i][j];
    }
  for (int64_t i = 0; i < system->n; i++)
    plain->level[i] = level_of(plain->r, plain_force(plain, system->n, i, 0, a[i]), LIST_LONGEST_LEVEL);
  memcpy(plain->a, a, sizeof a);
}

static void plain_tick(struct plain *plain, int64_t n, int32_t now)
{
  static double a[1024][3], step[1024];
  for (int64_t i = 0; i < n; i++)
    if (plain->tick[i] + timeline_ticks(plain->level[i]) == now) step[i] = plain_force(plain, n, i, now, a[i]);
  for (int64_t i = 0; i < n; i++) {
    if (plain->tick[i] + timeline_ticks(plain->level[i]) != now) continue;
    double x[3], v[3], dt = (now - plain->tick[i]) * (plain->r->soft_step / TICKS);
    plain_predict(plain, i, now, x, v);
    for (int c = 0; c < 3; c++) {
      plain->x[i][c] = x[c];
      plain->v[i][c] += 0.5 * dt * (plain->a[i][c] + a[i][c]);
      plain->a[i][c] = a[i][c];
    }
    plain->tick[i] = now;
    int least = plain->level[i] - 1 > LIST_LONGEST_LEVEL ? plain->level[i] - 1 : LIST_LONGEST_LEVEL;
    plain->level[i] = timeline_aligned(now, level_of(plain->r, step[i], least));
  }
  plain->ticks++;
}

/* One soft step; particles without neighbours have levels of 2 here. */
static void plain_step(struct plain *plain, const struct list_request *request, double softening, struct system *system)
{
  memset(plain, 0, sizeof *plain);
  plain->r = request;
  plain->eps2 = softening * softening;
  plain_begin(plain, system);
  for (int32_t now = 0; now < TICKS;)
    plain_tick(plain, system->n, now = next_tick(system->n, plain->tick, plain->level));
  for (int64_t i = 0; i < system->n; i++) {
    for (int c = 0; c < 3; c++) {
      system->x[i][c] = plain->x[i][c];
      system->v[i][c] = plain->v[i][c];
    }
    system->level[i] = plain->level[i];
  }
}

static struct system start, end, expected;

static struct list_request by_pairs(int kernel, double r1, double r2, double soft_step, float largest)
{
  struct list_request r = request(kernel, r1, r2, soft_step, largest);
  r.integrator = INTEGRATOR_LEAPFROG;
  r.eta = ETA_PAIRS;
  r.first = 1;
  return r;
}

/* Two soft steps, the second with levels that count for nothing. */
static void check_steps(const struct backend *be, const struct list_request *request, double softening,
                        const char *what)
{
  const double allowed = request->split.mass_scale > 0 ? 3e-7 : 1e-11;
  struct list_tally t = {0};
  char text[128];
  int good = 1;
  double most = 0;
  int64_t ticks = 0, entries = 0;
  end = expected = start;
  for (int step = 0; step < 2; step++) {
    plain_step(&plain, request, softening, &expected);
    advance(be, &end, softening, request, 1, &t);
    ticks += plain.ticks;
    entries += plain.entries;
    most = fmax(most, difference(&end, &expected));
    for (int64_t i = 0; i < end.n; i++)
      good &= end.level[i] == expected.level[i] ||
              (end.level[i] == LEVEL_UNKNOWN && expected.level[i] == LIST_LONGEST_LEVEL);
  }
  if (!(most < allowed)) printf("# %s: difference %g\n", label, most);
  snprintf(text, sizeof text, "%s: positions and velocities are those of the plain integrator", what);
  ok(most < allowed, text);
  snprintf(text, sizeof text, "%s: levels, ticks (%lld) and entries too", what, (long long)t.ticks);
  ok(good && t.ticks == ticks && t.entries == entries && t.deepest > LIST_LONGEST_LEVEL + 1 && t.collapsed == 0, text);
}

static void check_spheres(const struct backend *be)
{
  struct list_request r = by_pairs(SPLIT_SEPTIC, 0.06, 0.24, 0.02, 1);
  make_sphere(&start, 300, 0.8, 1, 3);
  check_steps(be, &r, 0, "pairs, equal masses");
  r = by_pairs(SPLIT_QUINTIC, 0.05, 0.1, 0.02, 1);
  check_steps(be, &r, 0.01, "pairs, softening");
  make_sphere(&start, 300, 0.8, 30, 5);
  start.v[8][1] = 1000;
  start.x[8][1] = -10; /* crosses the sphere */
  r = by_pairs(SPLIT_DLL, 0.06, 0.12, 0.02, 30.0f / 300);
  r.split.mass_scale = 1.0f / 300;
  check_steps(be, &r, 0, "pairs, masses that differ");
  make_sphere(&start, 900, 0.5, 1, 7);
  start.m[5] = 0.2f;
  start.x[5][0] = start.x[5][1] = start.x[5][2] = 0;
  r = by_pairs(SPLIT_SEPTIC, 0.2, 0.4, 0.01, 0.2f);
  r.split.mass_scale = 20.0f / 900;
  check_steps(be, &r, 0.005, "pairs, a heavy particle with a list for a thread block");
  make_sphere(&start, 290, 0.1, 1, 7);
  for (int64_t i = 0; i < start.n; i++)
    for (int c = 0; c < 3; c++) start.x[i][c] *= 0.05;
  r = by_pairs(SPLIT_QUINTIC, 0.2, 0.4, 0.001, 1);
  check_steps(be, &r, 0.001, "pairs, long lists");
}

/* --- two bodies --------------------------------------------------------------------------------------------------- */

/* Two particles of a system of 4096 with G M = 1, at the distance d and with the velocity u. */
static double two(struct system *system, const double d[3], const double u[3])
{
  memset(system, 0, sizeof *system);
  system->n = 2;
  for (int i = 0; i < 2; i++) {
    system->m[i] = (float)(1 / GRAVITY / 4096);
    system->level[i] = LEVEL_UNKNOWN;
    for (int c = 0; c < 3; c++) {
      system->x[i][c] = (i - 0.5) * d[c];
      system->v[i][c] = (i - 0.5) * u[c];
    }
  }
  return GRAVITY * (double)(system->m[0] + system->m[1]);
}

static void relative(const struct system *system, double d[3], double u[3])
{
  for (int c = 0; c < 3; c++) {
    d[c] = system->x[1][c] - system->x[0][c];
    u[c] = system->v[1][c] - system->v[0][c];
  }
}

/* The default request of an integrator for a Plummer sphere of 4096. */
static struct list_request default_request(enum step_integrator integrator)
{
  const struct integrator_traits *traits = &integrator_traits[integrator];
  struct list_request r =
      request(SPLIT_QUINTIC, 0.128 / traits->radii_ratio, 0.128, traits->has_error_model ? 0.009 : 0.036, 1);
  r.integrator = integrator;
  r.eta = traits->eta_max;
  return r;
}

/* A fly-by with the impact parameter of the softening and the relative velocity 2. Returns |dE/K|. */
static double fly_by(const struct backend *be, enum step_integrator integrator, double softening)
{
  struct list_request r = default_request(integrator);
  struct list_tally t = {0};
  double d[3] = {-2 * r.soft_step / 5, softening, 0}, u[3] = {2, 0, 0}, energy[2], kinetic = 0.5 * hermite_modulus2(u);
  r.soft_step /= 5; /* all of it within R1 */
  double m = two(&end, d, u);
  for (int k = 0; k < 2; k++) {
    if (k > 0) advance(be, &end, softening, &r, 2, &t);
    relative(&end, d, u);
    energy[k] = 0.5 * hermite_modulus2(u) - m / sqrt(hermite_modulus2(d) + softening * softening);
  }
  return fabs(energy[1] - energy[0]) / kinetic;
}

static void check_fly_by(const struct backend *be)
{
  for (int k = 0; k < INTEGRATOR_COUNT; k++) {
    if (!be->neighbour_lists->has((enum step_integrator)k)) continue;
    char text[128];
    double worst = 0;
    for (double softening = 1e-5; softening < 2e-3; softening *= 10) {
      double error = fly_by(be, (enum step_integrator)k, softening);
      if (!(error <= worst)) worst = error;
    }
    snprintf(text, sizeof text, "%s: fly-bys at the softening's distance keep their energy (%.1e)",
             integrator_traits[k].name, worst);
    ok(worst < 1e-3, text);
  }
}

/* Half of the soft step's kick by the soft part of the attraction. */
static void soft_kick(struct system *system, const struct list_request *request, double m)
{
  const struct hermite_split split = hermite_split_of(&request->split, 1, 1);
  double d[3], u[3], k, slope;
  relative(system, d, u);
  double r2 = hermite_modulus2(d), distance = sqrt(r2);
  hermite_kernel(&split, distance, &k, &slope);
  double kick = 0.5 * request->soft_step * 0.5 * m * (1 - k) / (r2 * distance);
  for (int c = 0; c < 3; c++) {
    system->v[0][c] += kick * d[c];
    system->v[1][c] -= kick * d[c];
  }
}

/* Ten circular orbits at the distance r. Returns the error of the phase. */
static double orbit_error(const struct backend *be, enum step_integrator integrator, double r)
{
  struct list_request q = default_request(integrator);
  struct list_tally t = {0};
  double d[3] = {r, 0, 0}, u[3] = {0, 0, 0}, m = two(&end, d, u), speed = sqrt(m / r);
  end.v[0][1] = -0.5 * speed;
  end.v[1][1] = 0.5 * speed;
  int steps = (int)ceil(20 * M_PI * r / speed / q.soft_step);
  q.soft_step = 20 * M_PI * r / speed / steps;
  for (int k = 0; k < steps; k++) {
    soft_kick(&end, &q, m);
    advance(be, &end, 0, &q, 1, &t);
    soft_kick(&end, &q, m);
  }
  relative(&end, d, u);
  return fabs(atan2(d[1], d[0]));
}

static void check_orbits(const struct backend *be)
{
  if (strcmp(be->name, "cpu")) return; /* thousands of soft steps */
  for (int k = 0; k < INTEGRATOR_COUNT; k++) {
    enum step_integrator integrator = (enum step_integrator)k;
    struct list_request q = default_request(integrator);
    char text[128];
    double worst = 0;
    for (int place = 0; place < 3; place++) {
      double error = orbit_error(be, integrator, (double)q.split.r1 + 0.5 * place * (double)(q.split.r2 - q.split.r1));
      if (!(error <= worst)) worst = error;
    }
    snprintf(text, sizeof text, "%s: ten circular orbits at R1 to R2 keep their phase (%.1e)",
             integrator_traits[k].name, worst);
    ok(worst < 0.01, text);
  }
}

static void check(const struct backend *be)
{
  if (!be->neighbour_lists || !be->neighbour_lists->advance) return;
  snprintf(label, sizeof label, "%s", be->name);
  check_spheres(be);
  check_fly_by(be);
  check_orbits(be);
}

int main(void)
{
  check_pair();
  rig_each(check);
  if (memory_current() > 0) memory_report(stdout, 1, "# ", 100);
  tap_ok(memory_current() == 0, "all memory is given back");
  return tap_end();
}
