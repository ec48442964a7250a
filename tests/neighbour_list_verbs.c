/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table `neighbour_lists` of each backend that has it (backend/neighbour_list_verbs.h): soft steps against a plain
 * integrator below, which sums up all pairs within R2 in double precision; a Kepler orbit; particles of other ranks;
 * potentials; collapse. */
#include <config.h>
#include "gravity/hermite.h"
#include "list_rig.h"

/* --- the reference ----------------------------------------------------------------------------------------------- */

struct reference {
  const struct list_request *r;
  double eps2, gm[1024];
  float factor[1024];
  struct hermite_motion w[1024];
  int32_t tick[1024];
  int level[1024];
  int64_t ticks, steps, pairs, entries;
};

static int listed(const struct reference *reference, const struct system *system, int64_t i, int64_t j)
{
  double d[3], u[3],
      reach =
          NEIGHBOUR_MARGIN * (double)reference->r->split.r2 * (double)fmaxf(reference->factor[i], reference->factor[j]);
  for (int c = 0; c < 3; c++) {
    d[c] = system->x[j][c] - system->x[i][c];
    u[c] = system->v[j][c] - system->v[i][c];
  }
  return i != j && hermite_closest2(d, u, reference->r->soft_step) < reach * reach;
}

/* The force on particle i at a tick. */
static struct hermite_force force_on(const struct reference *reference, int64_t n, int64_t i, int32_t tick, double x[3],
                                     double v[3])
{
  const double length = reference->r->soft_step / TICKS;
  struct hermite_force sum = {0};
  hermite_predict(&reference->w[i], (tick - reference->tick[i]) * length, x, v);
  for (int64_t j = 0; j < n; j++) {
    double d[3], u[3];
    if (j == i) continue;
    hermite_predict(&reference->w[j], (tick - reference->tick[j]) * length, d, u);
    for (int c = 0; c < 3; c++) {
      d[c] -= x[c];
      u[c] -= v[c];
    }
    struct hermite_split split = hermite_split_of(&reference->r->split, reference->factor[i], reference->factor[j]);
    hermite_pair(&sum, d, u, reference->gm[j], reference->eps2, &split);
  }
  return sum;
}

static double background(const struct reference *reference, int64_t i)
{
  double r2 = (double)reference->r->split.r2 * (double)reference->factor[i];
  return LIST_BACKGROUND * reference->gm[i] / (r2 * r2);
}

/* Forces and levels at the begin. */
static void reference_begin(struct reference *reference, struct system *system)
{
  for (int64_t i = 0; i < system->n; i++) {
    reference->gm[i] = GRAVITY * (double)system->m[i];
    reference->factor[i] = split_factor(&reference->r->split, system->m[i]);
    for (int c = 0; c < 3; c++) {
      reference->w[i].x[c] = system->x[i][c];
      reference->w[i].v[c] = system->v[i][c];
    }
  }
  for (int64_t i = 0; i < system->n; i++) {
    double x[3], v[3];
    struct hermite_force a = force_on(reference, system->n, i, 0, x, v);
    /* of no effect on the others at tick 0 */
    for (int c = 0; c < 3; c++) {
      reference->w[i].a[c] = a.a[c];
      reference->w[i].j[c] = a.j[c];
    }
    for (int64_t j = 0; j < system->n; j++) reference->entries += listed(reference, system, i, j);
    reference->level[i] =
        system->level[i] != LEVEL_UNKNOWN
            ? (system->level[i] > LIST_LONGEST_LEVEL ? system->level[i] : LIST_LONGEST_LEVEL)
            : level_of(reference->r,
                       hermite_first_step(a.a, a.j, LIST_FIRST_ETA * reference->r->eta, background(reference, i)),
                       LIST_LONGEST_LEVEL);
  }
}

/* Integrate the active particles to a tick. */
static void reference_tick(struct reference *reference, int64_t n, int32_t now)
{
  static struct hermite_motion next[1024];
  static int active[1024], level[1024];
  for (int64_t i = 0; i < n; i++) {
    double x[3], v[3], a2[3], a3[3];
    active[i] = reference->tick[i] + timeline_ticks(reference->level[i]) == now;
    if (!active[i]) continue;
    struct hermite_force a = force_on(reference, n, i, now, x, v);
    next[i] = reference->w[i];
    hermite_correct(&next[i], timeline_ticks(reference->level[i]) * (reference->r->soft_step / TICKS), x, v, &a, a2,
                    a3);
    double wanted = hermite_step(next[i].a, next[i].j, a2, a3, reference->r->eta, background(reference, i));
    int least = reference->level[i] - 1 > LIST_LONGEST_LEVEL ? reference->level[i] - 1 : LIST_LONGEST_LEVEL;
    level[i] = timeline_aligned(now, level_of(reference->r, wanted, least));
  }
  for (int64_t i = 0; i < n; i++)
    if (active[i]) {
      reference->w[i] = next[i];
      reference->level[i] = level[i];
      reference->tick[i] = now;
      reference->steps++;
    }
  reference->ticks++;
}

/* One soft step; particles without neighbours have levels of 2 here. */
static void reference_step(struct reference *reference, const struct list_request *request, double softening,
                           struct system *system)
{
  memset(reference, 0, sizeof *reference);
  reference->r = request;
  reference->eps2 = softening * softening;
  reference_begin(reference, system);
  for (int32_t now = 0; now < TICKS;)
    reference_tick(reference, system->n, now = next_tick(system->n, reference->tick, reference->level));
  for (int64_t i = 0; i < system->n; i++) {
    double x[3], v[3];
    struct hermite_force end = force_on(reference, system->n, i, TICKS, x, v); /* all have reached this tick */
    for (int c = 0; c < 3; c++) {
      system->x[i][c] = reference->w[i].x[c];
      system->v[i][c] = reference->w[i].v[c];
      system->acc[i][c] = (float)end.a[c];
    }
    system->pot[i] = (float)-end.psi;
    system->level[i] = reference->level[i];
  }
}

static int same_levels(const struct system *a, const struct system *b)
{
  int same = 1;
  for (int64_t i = 0; i < a->n; i++)
    same &= a->level[i] == b->level[i] || (a->level[i] == LEVEL_UNKNOWN && b->level[i] == LIST_LONGEST_LEVEL);
  return same;
}

static int same_accelerations(const struct system *a, const struct system *b)
{
  int same = 1;
  for (int64_t i = 0; i < a->n; i++)
    for (int c = 0; c < 3; c++) same &= fabsf(a->acc[i][c] - b->acc[i][c]) <= 1e-5f * fabsf(b->acc[i][c]) + 1e-6f;
  for (int64_t i = 0; i < a->n; i++) same &= fabs(a->pot[i] - b->pot[i]) <= 1e-5 * fabs(b->pot[i]) + 1e-7;
  return same;
}

static struct system start, end, expected;
static struct reference reference;

/* --- checks ------------------------------------------------------------------------------------------------------ */

/* Two soft steps, the second with the levels that the first left. Radii by mass have the rounding of a float, which
 * differs from device to device. */
static void check_steps(const struct backend *be, const struct list_request *request, double softening,
                        const char *what)
{
  const double allowed = request->split.mass_scale > 0 ? 3e-7 : 1e-10;
  struct list_tally t = {0};
  char text[128];
  end = expected = start;
  reference_step(&reference, request, softening, &expected);
  advance(be, &end, softening, request, 1, &t);
  double first = difference(&end, &expected);
  int good = same_levels(&end, &expected) && same_accelerations(&end, &expected);
  good = good && t.ticks == reference.ticks && t.entries == reference.entries && t.collapsed == 0 &&
         t.steps <= reference.steps;
  if (!good)
    printf("# ticks %lld of %lld, entries %lld of %lld, steps %lld of %lld, collapsed %lld\n", (long long)t.ticks,
           (long long)reference.ticks, (long long)t.entries, (long long)reference.entries, (long long)t.steps,
           (long long)reference.steps, (long long)t.collapsed);
  for (int64_t i = 0; i < end.n; i++) /* as the reference: it has levels for particles without neighbours */
    if (end.level[i] == LEVEL_UNKNOWN) expected.level[i] = LEVEL_UNKNOWN;
  reference_step(&reference, request, softening, &expected);
  advance(be, &end, softening, request, 1, &t);
  double second = difference(&end, &expected);
  if (!(first < allowed && second < 30 * allowed)) printf("# %s: differences %g, %g\n", label, first, second);
  snprintf(text, sizeof text, "%s: positions and velocities are those of the reference", what);
  ok(first < allowed && second < 30 * allowed, text);
  snprintf(text, sizeof text, "%s: levels, accelerations, potentials, ticks, entries are those of the reference", what);
  ok(good && same_levels(&end, &expected), text);
}

static void check_spheres(const struct backend *be)
{
  struct list_request r = request(SPLIT_SEPTIC, 0.06, 0.24, 0.02, 1);
  make_sphere(&start, 300, 0.8, 1, 3);
  check_steps(be, &r, 0, "equal masses");
  r = request(SPLIT_QUINTIC, 0.05, 0.1, 0.02, 1);
  check_steps(be, &r, 0.01, "softening");
  make_sphere(&start, 300, 0.8, 30, 5);
  r = request(SPLIT_SEPTIC, 0.03, 0.12, 0.02, 30.0f / 300);
  r.split.mass_scale = 1.0f / 300;
  check_steps(be, &r, 0, "masses that differ");
  start.v[7][0] = 40; /* crosses the sphere */
  start.v[8][1] = 1000;
  start.x[8][1] = -10;
  check_steps(be, &r, 0, "fast particles");
  make_sphere(&start, 900, 0.5, 1, 7);
  start.m[5] = 0.2f;
  start.x[5][0] = start.x[5][1] = start.x[5][2] = 0;
  r = request(SPLIT_DLL, 0.2, 0.4, 0.01, 0.2f);
  r.split.mass_scale = 20.0f / 900;
  check_steps(be, &r, 0.02, "a heavy particle with a long list");
}

static double pair_energy(const struct system *system)
{
  double d2 = 0, u2 = 0;
  for (int c = 0; c < 3; c++) {
    d2 += (system->x[1][c] - system->x[0][c]) * (system->x[1][c] - system->x[0][c]);
    u2 += (system->v[1][c] - system->v[0][c]) * (system->v[1][c] - system->v[0][c]);
  }
  return 0.5 * u2 - GRAVITY * ((double)system->m[0] + (double)system->m[1]) / sqrt(d2);
}

/* A pair with semi-major axis 0.01 and eccentricity 0.9, well within R1. */
static void check_orbit(const struct backend *be)
{
  const double a = 0.01, e = 0.9, gm = GRAVITY * 1.25, period = 2 * M_PI * sqrt(a * a * a / gm);
  struct list_request r = request(SPLIT_SEPTIC, 0.1, 0.4, period / 4, 1);
  struct list_tally t = {0};
  memset(&end, 0, sizeof end);
  end.n = 2;
  end.m[0] = 1;
  end.m[1] = 0.25f;
  end.x[0][0] = -0.2 * a * (1 + e);
  end.x[1][0] = 0.8 * a * (1 + e);
  end.v[0][1] = -0.2 * sqrt(gm / a * (1 - e) / (1 + e));
  end.v[1][1] = 0.8 * sqrt(gm / a * (1 - e) / (1 + e));
  end.level[0] = end.level[1] = LEVEL_UNKNOWN;
  r.eta = 0.05;
  double before = pair_energy(&end);
  advance(be, &end, 0, &r, 8, &t);
  double error = fabs(pair_energy(&end) / before - 1), place = fabs(end.x[1][0] - end.x[0][0] - a * (1 + e)) / a;
  if (!(error < 1e-6 && place < 1e-3)) printf("# %s: energy %g, place %g\n", label, error, place);
  ok(error < 1e-6 && place < 1e-3, "two orbits of a pair of eccentricity 0.9 keep their energy and period");
  ok(t.with_neighbours == 16 && t.entries == 16 && t.pairs == t.steps + 16 && t.deepest > 5,
     "its tally counts steps, pairs and neighbours");
}

/* Half of the particles belong to another rank. */
static void check_halo_particles(const struct backend *be)
{
  struct list_request r = request(SPLIT_SEPTIC, 0.06, 0.24, 0.02, 1);
  struct list_tally t = {0};
  struct halo_particle *halo = memory_alloc("test", 1024 * sizeof *halo);
  int64_t n = 0;
  make_sphere(&start, 300, 0.8, 1, 9);
  for (int64_t i = 0; i < start.n; i++) {
    start.pot[i] = -2;
    start.level[i] = i % 5 == 0 ? LEVEL_UNKNOWN : 4 + (int)(i % 3);
  }
  expected = end = start;
  for (int64_t i = 1; i < start.n; i += 2, n++) {
    halo[n] = (struct halo_particle){.id = (uint64_t)i + 1, .mass = start.m[i], .level = start.level[i]};
    memcpy(halo[n].pos, start.x[i], sizeof start.x[i]);
    memcpy(halo[n].vel, start.v[i], sizeof start.v[i]);
  }
  struct device *d = put(be, &start, 0, 2, 0);
  build(be, d);
  be->neighbour_lists->potential(d, &r, n, halo);
  take(&end, be->view(d));
  reference_step(
      &reference,
      &(struct list_request){.integrator = INTEGRATOR_HERMITE, .split = r.split, .soft_step = 1e-30, .eta = r.eta}, 0,
      &expected);
  int good = 1;
  for (int64_t i = 0; i < start.n; i += 2) {
    double x[3], v[3];
    struct hermite_force f = force_on(&reference, start.n, i, TICKS, x, v);
    good &= fabs(end.pot[i] + f.psi) < 1e-5 * (1e-3 + f.psi);
    for (int c = 0; c < 3; c++)
      good &= fabs((double)end.acc[i][c] - f.a[c]) < 1e-6 * sqrt(hermite_modulus2(f.a)) + 1e-12;
  }
  ok(good, "potentials and hard accelerations with particles of another rank");
  be->neighbour_lists->advance(d, &r, n, halo, &t);
  take(&end, be->view(d));
  expected = start;
  reference_step(&reference, &r, 0, &expected);
  double most = 0;
  for (int64_t i = 0; i < start.n; i += 2)
    for (int c = 0; c < 3; c++)
      most = fmax(most, fmax(fabs(end.x[i][c] - expected.x[i][c]), fabs(end.v[i][c] - expected.v[i][c])));
  /* rounding differs between compilers, and encounters amplify it */
  if (!(most < 1e-9)) printf("# %s: %g\n", label, most);
  ok(most < 1e-9 && be->count(d) == start.n / 2, "a soft step with particles of another rank");
  drop(be, d);
  memory_free(halo);
}

static void check_halo(const struct backend *be)
{
  const double box[3][6] = {{0.5, 0.5, 0.5, 2, 2, 2}, {1, 1, 1, 0, 0, 0}, {-3, -0.2, -0.2, -0.9, 0.3, 0.3}};
  struct list_request r = request(SPLIT_SEPTIC, 0.03, 0.1, 0.1, 1);
  int64_t counts[3], at = 0;
  int good = 1;
  make_sphere(&start, 500, 2, 1, 11);
  struct device *d = put(be, &start, 0, 1, 0);
  build(be, d);
  struct halo_particle *halo = be->neighbour_lists->halo(d, &r, 3, box, -1, counts);
  for (int b = 0; b < 3; b++) {
    int64_t all = 0;
    for (int64_t i = 0; i < start.n; i++)
      all += b != 1 && reach_path2(start.x[i], start.v[i], r.soft_step, box[b]) <= pow(halo_width(&r), 2);
    good &= counts[b] == all && (b == 1 || (all > 0 && all < 250));
    for (int64_t k = 0; k < counts[b] && good; k++, at++) {
      int64_t i = (int64_t)halo[at].id - 1;
      good &= halo[at].mass == start.m[i] && halo[at].level == LEVEL_UNKNOWN &&
              !memcmp(halo[at].pos, start.x[i], sizeof start.x[i]) &&
              !memcmp(halo[at].vel, start.v[i], sizeof start.v[i]) &&
              reach_path2(halo[at].pos, halo[at].vel, r.soft_step, box[b]) <= pow(halo_width(&r), 2);
    }
  }
  ok(good, "the halo has the particles that come near each box, and no other");
  memory_free(halo);
  memory_free(be->neighbour_lists->halo(d, &r, 1, box, 0, counts));
  ok(counts[0] == 0, "the rank's own box gets none");
  drop(be, d);
}

static void check_few(const struct backend *be)
{
  struct list_request r = request(SPLIT_SEPTIC, 0.01, 0.02, 0.125, 1);
  int good = 1;
  for (int64_t n = 0; n <= 2; n++) {
    struct list_tally t = {0};
    make_sphere(&start, n, 1, 1, 13);
    end = start;
    advance(be, &end, 0, &r, 1, &t);
    struct device *d = put(be, &end, 0, 1, 0);
    build(be, d);
    be->neighbour_lists->potential(d, &r, 0, NULL);
    drop(be, d);
    good &= t.entries == 0 && t.steps == 0 && t.with_neighbours == 0;
    for (int64_t i = 0; i < n; i++) {
      good &= end.level[i] == LEVEL_UNKNOWN;
      for (int c = 0; c < 3; c++)
        good &= fabs(end.x[i][c] - start.x[i][c] - r.soft_step * start.v[i][c]) < 1e-15 && end.v[i][c] == start.v[i][c];
    }
  }
  ok(good, "particles without neighbours move on straight lines; sets of 0, 1 and 2");
}

static void check_repeat(const struct backend *be)
{
  struct list_request r = request(SPLIT_SEPTIC, 0.06, 0.24, 0.02, 1);
  struct list_tally t = {0};
  make_sphere(&start, 300, 0.8, 1, 15);
  end = expected = start;
  advance(be, &end, 0, &r, 2, &t);
  advance(be, &expected, 0, &r, 2, &t);
  ok(!memcmp(&end, &expected, sizeof end), "a repeat gives the same bits");
}

/* Two particles that head into each other on a line. */
static void check_collapse(const struct backend *be)
{
  struct list_request r = request(SPLIT_SEPTIC, 0.2, 0.4, 0.25, 1);
  struct list_tally t = {0};
  memset(&end, 0, sizeof end);
  end.n = 2;
  end.m[0] = end.m[1] = 1;
  end.x[0][0] = -0.06;
  end.x[1][0] = 0.06;
  end.v[0][0] = 1;
  end.v[1][0] = -1;
  end.level[0] = end.level[1] = LEVEL_UNKNOWN;
  advance(be, &end, 0, &r, 1, &t);
  ok(t.collapsed > 0 && t.deepest == LIST_LEVEL_MAX,
     "steps of particles that head into each other collapse, and the soft step ends");
  ok(t.worst.id + t.worst.neighbour == 3 && t.worst.wanted < r.soft_step / (1 << LIST_LEVEL_MAX) &&
         t.worst.distance < 1e-3 && fabs(t.worst.pos[0]) < 1e-3,
     "the tally says who and where");
}

/* Two particles that have just passed each other, at `distance` and with the relative velocity 600: first steps are the
 * shortest ones. */
static void check_first_step(const struct backend *be, double distance, const char *text)
{
  struct list_request r = request(SPLIT_SEPTIC, 0.2, 0.4, 0.25, 1e-3f);
  struct list_tally t = {0};
  memset(&end, 0, sizeof end);
  end.n = 2;
  end.m[0] = end.m[1] = 1e-3f;
  end.x[0][0] = -0.5 * distance;
  end.x[1][0] = 0.5 * distance;
  end.v[0][0] = -300;
  end.v[1][0] = 300;
  end.level[0] = end.level[1] = LEVEL_UNKNOWN;
  /* |a| / |j| of a distance that grows from d with the velocity v is d / (2 v) */
  int level = level_of(&r, LIST_FIRST_ETA * r.eta * distance / 1200, LIST_LONGEST_LEVEL);
  advance(be, &end, 0, &r, 1, &t);
  if (t.deepest != level) printf("# level %d, expected %d\n", t.deepest, level);
  ok(t.collapsed == 0 && t.deepest == level && level > LEVEL_MAX, text);
}

/* At the edge of R2 forces and their derivatives vanish: the background acceleration is what limits the step there. */
static void check_massless(const struct backend *be)
{
  struct list_request r = request(SPLIT_SEPTIC, 0.05, 0.2, 0.02, 1);
  struct list_tally without = {0}, t = {0};
  make_sphere(&start, 300, 0.8, 1, 17);
  for (int i = 0; i < 300; i++) start.m[i] = i % 4 ? 0 : 1.0f / 75;
  end = start;
  advance(be, &end, 0, &r, 12, &without);
  r.mean_mass = 1.0 / 300;
  end = start;
  advance(be, &end, 0, &r, 12, &t);
  if (t.collapsed > 0 || t.steps >= without.steps)
    printf("# collapsed %lld, steps %lld; without a mean mass %lld, %lld\n", (long long)t.collapsed, (long long)t.steps,
           (long long)without.collapsed, (long long)without.steps);
  ok(t.collapsed == 0 && t.deepest < 20 && t.steps < without.steps,
     "particles without mass take steps of a sound length");
}

static void check(const struct backend *be)
{
  if (!be->neighbour_lists || !be->neighbour_lists->advance) return;
  snprintf(label, sizeof label, "%s", be->name);
  check_spheres(be);
  check_orbit(be);
  check_halo_particles(be);
  check_halo(be);
  check_few(be);
  check_repeat(be);
  check_collapse(be);
  check_first_step(be, 6e-5, "a first step may have the deepest levels");
  check_first_step(be, 1.08e-5, "one that should be deeper still is no collapse by itself");
  check_massless(be);
}

int main(void)
{
  rig_each(check);
  if (memory_current() > 0) memory_report(stdout, 1, "# ", 100);
  tap_ok(memory_current() == 0, "all memory is given back");
  return tap_end();
}
