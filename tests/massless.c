/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Particles without mass, on each backend: the others have the forces that they have alone, and those without mass have
 * the forces of the places where they are. On the CPU they are in no list: the others have the same bits, and the
 * counts are those of further targets. */
#include <config.h>
#include "gravity/hermite.h"
#include "list_rig.h"

/* The particles of a set, and after each of them one without mass: in turn at its place, and half the way to another
 * one. Ids of the latter are n + 1 and so on. Without softening none is at the place of another one. */
static void make_both(const struct set *set, struct particles *alone, struct particles *both)
{
  int64_t n = set->n;
  set_make(set, 0.5, alone);
  particles_init(both);
  particles_reserve(both, 2 * n);
  both->n = 2 * n;
  for (int64_t i = 0; i < n; i++) {
    particles_copy(both, 2 * i, alone, i);
    particles_copy(both, 2 * i + 1, alone, i);
    both->mass[2 * i + 1] = 0;
    both->id[2 * i + 1] = (uint64_t)(n + i + 1);
    if (i % 2 == 0 && set->softening > 0) continue;
    for (int c = 0; c < 3; c++)
      both->pos[3 * (2 * i + 1) + c] = 0.5 * (alone->pos[3 * i + c] + alone->pos[3 * ((i + n / 3) % n) + c]);
  }
}

/* The particle of each id, from 1 to n. */
static int64_t *places(const struct particles *particles)
{
  int64_t *at = memory_alloc("test", sizeof *at * (size_t)(particles->n + 1));
  for (int64_t i = 0; i < particles->n; i++) at[particles->id[i]] = i;
  return at;
}

/* The median and the largest relative error of the accelerations and potentials of ids [first, end) against direct
 * sums. */
static void errors(const struct rig *rig, const struct particles *particles, int64_t first, int64_t end, double e[4])
{
  int64_t n = end - first, *at = places(particles);
  double(*x)[3] = memory_alloc("test", sizeof *x * (size_t)n),
  (*acc)[3] = memory_alloc("test", sizeof *acc * (size_t)n);
  double *pot = memory_alloc("test", sizeof *pot * (size_t)n), *error[2];
  uint64_t *skip = memory_alloc("test", sizeof *skip * (size_t)n);
  for (int k = 0; k < 2; k++) error[k] = memory_alloc("test", sizeof **error * (size_t)n);
  for (int64_t i = 0; i < n; i++) {
    memcpy(x[i], &particles->pos[3 * at[first + i]], sizeof x[i]);
    skip[i] = (uint64_t)(first + i);
    memset(acc[i], 0, sizeof acc[i]);
    pot[i] = 0;
  }
  rig->be->probe->direct(rig->dev, n, (const double(*)[3])x, skip, NULL, NULL, acc, NULL, pot);
  particles = rig->be->view(rig->dev);
  for (int64_t i = 0; i < n; i++) {
    double off2 = 0, size2 = 0;
    for (int c = 0; c < 3; c++) {
      double a = particles->acc[3 * at[first + i] + c];
      off2 += (a - acc[i][c]) * (a - acc[i][c]);
      size2 += acc[i][c] * acc[i][c];
    }
    double bad = off2 + particles->pot[at[first + i]];
    error[0][i] = isfinite(bad) ? sqrt(off2 / size2) : 1e300;
    error[1][i] = isfinite(bad) ? fabs(particles->pot[at[first + i]] / pot[i] - 1) : 1e300;
  }
  for (int k = 0; k < 2; k++) {
    qsort(error[k], (size_t)n, sizeof **error, ascending);
    e[2 * k] = error[k][n / 2];
    e[2 * k + 1] = error[k][n - 1];
    memory_free(error[k]);
  }
  memory_free(x);
  memory_free(acc);
  memory_free(pot);
  memory_free(skip);
  memory_free(at);
}

/* Largest difference of the forces of the same ids, of |a|; 0: the same bits. */
static double differ(const struct particles *a, const struct particles *b)
{
  double most = 0;
  int64_t *at = places(a), *there = places(b);
  for (int64_t id = 1; id <= a->n; id++) {
    double off2 = 0, size2 = 0;
    for (int c = 0; c < 3; c++) {
      double x = a->acc[3 * at[id] + c], y = b->acc[3 * there[id] + c];
      off2 += (x - y) * (x - y);
      size2 += x * x;
    }
    most = fmax(most, fmax(sqrt(off2 / size2), fabs(b->pot[there[id]] / a->pot[at[id]] - 1)));
  }
  memory_free(at);
  memory_free(there);
  return most;
}

/* The radius of 28 neighbours, and samples, are of the particles with mass. */
static void check_neighbours(const struct rig *a, const struct rig *b, const struct particles *particles,
                             const char *name)
{
  enum { POINTS = 50, NEAREST = 28, SAMPLES_MAX = 4000 };
  double at[POINTS][3], one[POINTS * NEAREST], other[POINTS * NEAREST];
  uint64_t skip[POINTS];
  char text[128];
  for (int i = 0; i < POINTS; i++) {
    memcpy(at[i], &particles->pos[3 * (particles->n / POINTS * i)], sizeof at[i]);
    skip[i] = particles->id[particles->n / POINTS * i];
  }
  a->be->forces.nearest(a->dev, POINTS, (const double(*)[3])at, skip, NEAREST, one);
  b->be->forces.nearest(b->dev, POINTS, (const double(*)[3])at, skip, NEAREST, other);
  snprintf(text, sizeof text, "%s: distances to neighbours are those to particles with mass", name);
  ok(memcmp(one, other, sizeof one) == 0, text);
  struct sample *x = memory_alloc("test", 2 * sizeof *x * SAMPLES_MAX), *y = x + SAMPLES_MAX;
  int64_t n = a->be->sets.sample(a->dev, UINT64_MAX / 2, 1, SAMPLES_MAX, x, NULL),
          m = b->be->sets.sample(b->dev, UINT64_MAX / 2, 1, SAMPLES_MAX, y, NULL), same = 0;
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = 0; k < m; k++) same += x[i].id == y[k].id;
  snprintf(text, sizeof text, "%s: so are the samples that distances are measured from", name);
  ok(n > 0 && n == m && same == n, text);
  memory_free(x);
}

static void check_set(const struct backend *be, const struct set *set, int order, double delta)
{
  struct particles p, q;
  struct rig a, b;
  char text[180];
  double of_mass[4], of_none[4];
  make_both(set, &p, &q);
  rig_open(&a, be, set, &p, order, 16, 64);
  rig_open(&b, be, set, &q, order, 16, 64);
  a.split.on = b.split.on = 0;
  const struct particles *one = rig_first_force(&a, delta), *both = rig_first_force(&b, delta);
  double off = differ(one, both);
  errors(&b, both, 1, set->n + 1, of_mass);
  errors(&b, both, set->n + 1, 2 * set->n + 1, of_none);
  int cpu = strcmp(be->name, "cpu") == 0;
  snprintf(text, sizeof text, "%s, order %d: forces of particles with mass %s (%.1e)", set->name, order,
           cpu ? "have the same bits as alone" : "are those without the others", off);
  ok(cpu ? off == 0 : off < 0.03, text);
  snprintf(text, sizeof text,
           "%s, order %d: those without mass have the forces of their places (median %.1e, with mass %.1e)", set->name,
           order, of_none[0], of_mass[0]);
  ok(of_none[0] < 2 * of_mass[0] && of_none[1] < 10 * of_mass[1] && of_none[2] < 2 * of_mass[2], text);
  double pairs = (double)(a.tally.particle_pairs + a.tally.cell_pairs),
         more = (double)(b.tally.particle_pairs + b.tally.cell_pairs);
  snprintf(text, sizeof text, "%s, order %d: twice the targets, lists as long (%.2f of the interactions)", set->name,
           order, more / pairs);
  if (cpu) ok(b.tally.targets == 2 * a.tally.targets && more > 1.8 * pairs && more < 2.2 * pairs, text);
  check_neighbours(&a, &b, one, set->name);
  rig_close(&a);
  rig_close(&b);
}

/* A point, and many without mass about it; and these alone. */
static void place_sun(struct random *random, int64_t i, int64_t n, double x[3], float *mass)
{
  (void)n;
  random_direction(random, i == 0 ? 0 : 0.1 + random_unit(random), x);
  *mass = i == 0 ? 2.0f : 0.0f;
}

static void check_point(const struct backend *be, double softening)
{
  const struct set sun = {"a point", 500, 3, softening, 0.1, 0.2, place_sun};
  struct particles p;
  struct rig g;
  set_make(&sun, 0, &p);
  rig_open(&g, be, &sun, &p, 2, 16, 64);
  g.split.on = 0;
  const struct particles *v = rig_first_force(&g, 1.0 / 512);
  double worst = 0, own = 0;
  for (int64_t i = 0; i < v->n; i++) {
    const double *x = &v->pos[3 * i], rho = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + softening * softening);
    for (int c = 0; c < 3; c++) {
      if (v->mass[i] > 0) own = fmax(own, fabs(v->acc[3 * i + c]));
      else
        worst = fmax(worst, isfinite(v->acc[3 * i + c])
                                ? fabs(v->acc[3 * i + c] + 6 * x[c] / (rho * rho * rho)) * rho * rho / 6
                                : 1e300);
    }
    if (!(v->mass[i] > 0)) worst = fmax(worst, fabs(v->pot[i] * rho / 6 + 1));
  }
  char text[160];
  snprintf(
      text, sizeof text,
      "softening %g: 499 particles without mass have the force and the potential of one point, which has none (%.1e)",
      softening, worst);
  ok(worst < 1e-5 && own == 0, text);
  rig_close(&g);
}

static void check_none(const struct backend *be)
{
  const struct set none = {"no mass", 300, 1, 0.01, 0.1, 0.2, place_plummer};
  struct particles p;
  struct rig g;
  set_make(&none, 0, &p);
  for (int64_t i = 0; i < p.n; i++) p.mass[i] = 0;
  rig_open(&g, be, &none, &p, 2, 16, 64);
  g.split.on = 0;
  const struct particles *v = rig_first_force(&g, 1.0 / 512);
  int bad = 0;
  for (int64_t i = 0; i < v->n; i++)
    for (int c = 0; c < 3; c++) bad += !(v->acc[3 * i + c] == 0) || !(v->pot[i] == 0);
  ok(bad == 0 && v->n == 300, "without any mass all forces and potentials are 0");
  rig_close(&g);
}

/* --- neighbour lists --------------------------------------------------------------------------------------------- */

static void check_lists(const struct backend *be, enum step_integrator scheme)
{
  static struct system alone, both, end[2];
  struct list_tally t[2];
  char text[180];
  memset(t, 0, sizeof t);
  if (!be->neighbour_lists || !be->neighbour_lists->has(scheme)) return;
  make_sphere(&alone, 400, 0.7, 1, 5);
  both = alone;
  both.n = 800;
  for (int64_t i = 0; i < 400; i++) { /* at the same place with the same velocity, or elsewhere */
    memcpy(both.x[400 + i], alone.x[i], sizeof alone.x[i]);
    memcpy(both.v[400 + i], alone.v[i], sizeof alone.v[i]);
    for (int c = 0; i % 2 && c < 3; c++) both.x[400 + i][c] *= -0.9;
    both.m[400 + i] = 0;
    both.level[400 + i] = LEVEL_UNKNOWN;
  }
  struct list_request r = {.integrator = scheme,
                           .split = split_make(SPLIT_QUINTIC, 0.1, 0.3),
                           .soft_step = 0.02,
                           .eta = 0.05,
                           .first = 1,
                           .mean_mass = 1.0 / 400,
                           .largest_mass = 1.0 / 400};
  end[0] = alone;
  end[1] = both;
  advance(be, &end[0], 0.01, &r, 2, &t[0]);
  advance(be, &end[1], 0.01, &r, 2, &t[1]);
  double off = difference(&end[0], &end[1]), apart = 0;
  for (int64_t i = 0; i < 400; i += 2)
    for (int c = 0; c < 3; c++) apart = fmax(apart, fabs(end[1].x[400 + i][c] - end[1].x[i][c]));
  const char *name = integrator_traits[scheme].name;
  snprintf(text, sizeof text, "%s: particles with mass move as alone (%.1e), those at their places with them (%.1e)",
           name, off, apart);
  /* steps by pairs follow the sum of their masses */
  ok(off < 1e-12 && apart < (scheme == INTEGRATOR_HERMITE ? 1e-9 : 1e-5), text);
  snprintf(text, sizeof text, "%s: %lld entries of lists become %lld", name, (long long)t[0].entries,
           (long long)t[1].entries);
  if (strcmp(be->name, "cpu") == 0)
    ok(t[1].entries > t[0].entries * 3 / 2 && t[1].entries < t[0].entries * 5 / 2, text);
}

/* A binary that goes by Kepler's equation, and a third particle at `distance`: one without mass moves as one of very
 * little mass. */
static void check_binary(const struct backend *be, double distance, int alone)
{
  struct system s, end[2];
  struct list_tally t[2];
  char text[180];
  double a = 1e-4, v = sqrt(GRAVITY * 1.5 / a);
  if (!be->neighbour_lists) return;
  memset(&s, 0, sizeof s);
  memset(t, 0, sizeof t);
  s.n = 3;
  s.m[0] = 1;
  s.m[1] = 0.5f;
  s.x[0][0] = -a / 3;
  s.x[1][0] = 2 * a / 3;
  s.v[0][1] = -v / 3;
  s.v[1][1] = 2 * v / 3;
  s.x[2][1] = distance;
  s.v[2][0] = sqrt(GRAVITY * 1.5 / distance);
  for (int i = 0; i < 3; i++) s.level[i] = LEVEL_UNKNOWN;
  struct list_request r = {.integrator = INTEGRATOR_HERMITE,
                           .split = split_make(SPLIT_QUINTIC, 0.05, 0.2),
                           .soft_step = 1e-4,
                           .eta = 0.01,
                           .first = 1,
                           .mean_mass = 0.75,
                           .largest_mass = 1,
                           .pair_limit = 0.05 / 32};
  r.split.mass_scale = 0.75f; /* radii by mass: those of the members differ */
  r.split.largest_mass = 1;
  for (int k = 0; k < 2; k++) {
    end[k] = s;
    end[k].m[2] = k ? 1e-12f : 0;
    advance(be, &end[k], 0, &r, 4, &t[k]);
  }
  double off = difference(&end[0], &end[1]);
  snprintf(text, sizeof text, "a particle without mass at %g from a binary %s moves as one of a mass of 1e-12 (%.1e)",
           distance, alone ? "integrated by Kepler's equation" : "that it sees as two points", off);
  ok(off < 1e-7 && t[0].pairs_bound == t[1].pairs_bound && (t[0].pairs_bound > 0) == alone, text);
}

static void check(const struct backend *be)
{
  static const struct set point_like = {"Plummer without softening", 1000, 1, 0, 0.14, 0.28, place_plummer};
  snprintf(label, sizeof label, "%s", be->name);
  for (int k = 0; k < 4; k++) check_set(be, &sets[k], 1 + k % 2, k % 2 ? 1.0 / 2048 : 1.0 / 16384);
  check_set(be, &point_like, 2, 1.0 / 2048);
  check_point(be, 0.01);
  check_point(be, 0);
  check_none(be);
  for (int k = 0; k < INTEGRATOR_COUNT; k++) check_lists(be, (enum step_integrator)k);
  check_binary(be, 1e-3, 0);
  check_binary(be, 0.02, 1);
  check_binary(be, 0.1, 1);
}

int main(void)
{
  rig_each(check);
  tap_ok(memory_current() == 0, "all memory is given back");
  return tap_end();
}
