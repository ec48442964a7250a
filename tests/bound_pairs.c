/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Isolated bound pairs of the hard part: which are taken (cpu/bound_pairs.h), and soft steps with them against steps
 * that resolve their orbits. */
#include <config.h>
#include "cpu/lists/bound_pairs.h"

#include <stdlib.h>
#include <string.h>

#include "backend/probe.h"
#include "base/memory.h"
#include "binaries.h"
#include "tap.h"

/* --- the choice of pairs ------------------------------------------------------------------------------------------ */

enum { FEW = 6 };
static const double soft_step = 0.01, semi_axis = 1e-3;

/* A few particles as an engine has them, with lists of all pairs. */
struct few {
  double x[FEW][3], v[FEW][3], m[FEW];
  float factor[FEW];
  uint64_t id[FEW];
  int64_t start[FEW + 1];
  int32_t index[FEW * FEW];
  struct bound_view view;
  struct bound_lists lists;
};

static void add(struct few *few, double mass, const double x[3], const double v[3])
{
  int64_t i = few->view.n++;
  memcpy(few->x[i], x, sizeof few->x[i]);
  memcpy(few->v[i], v, sizeof few->v[i]);
  few->m[i] = mass;
  few->factor[i] = 1;
  few->id[i] = 100 + (uint64_t)i;
}

static void link_all(struct few *few, int64_t own)
{
  struct bound_view *w = &few->view;
  w->own = own;
  w->x = few->x[0];
  w->v = few->v[0];
  w->stride = 3;
  w->m = few->m;
  w->factor = few->factor;
  w->id = few->id;
  int64_t k = 0;
  for (int64_t i = 0; i < w->n; i++) {
    few->start[i] = k;
    for (int64_t j = 0; j < w->n; j++)
      if (j != i) few->index[k++] = (int32_t)j;
  }
  few->start[w->n] = k;
  few->lists = (struct bound_lists){few->start, few->index};
}

/* A pair of semi-major axis a, eccentricity 0.6 and mass 1 at its apocentre, moving along x, with masses 1:3, and a
 * particle far away. */
static void pair_and_one(struct few *few, double a)
{
  const double far[3] = {0, 0.5, 0.1}, still[3] = {0, 0, 0}, speed = sqrt(0.4 / (1.6 * a));
  memset(few, 0, sizeof *few);
  add(few, 0.25, (double[]){0.75 * 1.6 * a, 0, 0}, (double[]){0.3, 0.75 * speed, 0});
  add(few, 0.75, (double[]){-0.25 * 1.6 * a, 0, 0}, (double[]){0.3, -0.25 * speed, 0});
  add(few, 0.25, far, still);
}

static struct list_request request_of(double step)
{
  return (struct list_request){.integrator = INTEGRATOR_HERMITE,
                               .split = split_make(SPLIT_SEPTIC, 0.1, 0.4),
                               .soft_step = step,
                               .eta = 0.1,
                               .largest_mass = 1,
                               .pair_limit = 0.01};
}

/* The number of pairs that are taken; particles are as before. */
static int64_t taken(struct few *few, double step, double softening, struct list_tally *tally)
{
  struct bound_pairs p;
  struct list_request r = request_of(step);
  link_all(few, few->view.n);
  memset(tally, 0, sizeof *tally);
  bound_pairs_find(&p, &few->view, &few->lists, &r, softening, tally);
  int64_t n = p.n;
  bound_pairs_restore(&p, &few->view);
  bound_pairs_free(&p);
  return n;
}

static void choice(void)
{
  struct few f;
  struct list_tally t;
  pair_and_one(&f, semi_axis);
  double period = 2 * KEPLER_PI * semi_axis * sqrt(semi_axis);
  int one = taken(&f, soft_step, 0, &t) == 1 && t.pairs_bound == 1 && t.pairs_perturbed == 0;
  tap_ok(one && fabs(t.shortest_period / period - 1) < 1e-12 && fabs(t.largest_eccentricity - 0.6) < 1e-12,
         "an isolated pair is taken, and counted with its period and eccentricity");
  tap_ok(taken(&f, 0.9 * period, 0, &t) == 0, "not with a period above the soft step");
  tap_ok(taken(&f, soft_step, 1e-3 * semi_axis, &t) == 0 && taken(&f, soft_step, 1e-6 * semi_axis, &t) == 1,
         "not with softening that it feels");
  pair_and_one(&f, 5.1e-3);
  tap_ok(taken(&f, 1, 0, &t) == 0, "not above the limit of semi-major axes");
  pair_and_one(&f, semi_axis);
  f.v[0][1] *= 4;
  tap_ok(taken(&f, soft_step, 0, &t) == 0 && t.pairs_perturbed == 0, "an unbound pair is not taken");
}

static void perturbers(void)
{
  struct few f;
  struct list_tally t;
  const double still[3] = {0.3, 0, 0};
  pair_and_one(&f, semi_axis);
  add(&f, 0.25, (double[]){0, 0, 15 * semi_axis}, still);
  tap_ok(taken(&f, 1e-3, 0, &t) == 0 && t.pairs_perturbed == 1 && t.triple.first == 100 && t.triple.second == 101 &&
             t.triple.perturber == 103 && fabs(t.triple.distance - 15 * semi_axis) < 1e-9,
         "a pair with a third particle near is a triple, and is not taken");
  pair_and_one(&f, semi_axis);
  add(&f, 0.25, (double[]){0, 0, 25 * semi_axis}, still);
  tap_ok(taken(&f, 1e-4, 0, &t) == 0 || t.pairs_bound == 1, "a third particle farther away is none in a short step");
  pair_and_one(&f, semi_axis);
  add(&f, 0.25, (double[]){0.3 * soft_step, 0, 0.3}, (double[]){0.3, 0, -30});
  tap_ok(taken(&f, soft_step, 0, &t) == 0 && t.triple.perturber == 103,
         "one that comes near on a straight line within the soft step");
  pair_and_one(&f, semi_axis);
  add(&f, 0.25, (double[]){0, 21.5 * semi_axis, 21.5 * semi_axis}, (double[]){0.3, 0, -3});
  tap_ok(taken(&f, soft_step, 0, &t) == 0 && t.triple.perturber == 103, "one whose path the pair bends towards itself");
  pair_and_one(&f, semi_axis);
  add(&f, 0.25, (double[]){0, 0.08, 0.08}, (double[]){0.3, 5, 5});
  tap_ok(taken(&f, soft_step, 0, &t) == 1, "one that leaves is none");
}

/* The same pair at other places of the arrays, as own particle or from another rank, ends with the same bits. */
static void everywhere(void)
{
  static const int orders[][3] = {{0, 1, 2}, {1, 0, 2}, {2, 1, 0}, {1, 2, 0}};
  double end[4][2][6];
  int64_t counted = 0;
  int found = 1, same = 1;
  for (int o = 0; o < 4; o++) {
    struct few base, f;
    struct bound_pairs p;
    struct list_tally t;
    struct list_request r = request_of(soft_step);
    pair_and_one(&base, semi_axis);
    memset(&f, 0, sizeof f);
    memset(&t, 0, sizeof t);
    for (int k = 0; k < 3; k++) {
      add(&f, base.m[orders[o][k]], base.x[orders[o][k]], base.v[orders[o][k]]);
      f.id[k] = base.id[orders[o][k]];
    }
    link_all(&f, 1); /* the others are copies */
    bound_pairs_find(&p, &f.view, &f.lists, &r, 0, &t);
    found &= p.n == 1;
    counted += t.pairs_bound;
    bound_pairs_kick(&p, &f.view, &f.lists, &r.split, 0.5 * soft_step);
    bound_pairs_advance(&p, soft_step);
    bound_pairs_kick(&p, &f.view, &f.lists, &r.split, 0.5 * soft_step);
    bound_pairs_restore(&p, &f.view);
    bound_pairs_free(&p);
    for (int k = 0; k < 3; k++)
      if (f.id[k] < 102)
        for (int c = 0; c < 3; c++) {
          end[o][f.id[k] - 100][c] = f.x[k][c];
          end[o][f.id[k] - 100][3 + c] = f.v[k][c];
        }
    same &= memcmp(end[o], end[0], sizeof end[0]) == 0;
  }
  tap_ok(found && same, "own or of another rank, in any order: the same pair with the same motion");
  tap_ok(counted == 1, "it counts on the rank of the member with the lower id");
}

static char label[64];
static void ok(int good, const char *what)
{
  char text[200];
  snprintf(text, sizeof text, "%s%s", label, what);
  tap_ok(good, text);
}

/* --- soft steps --------------------------------------------------------------------------------------------------- */

struct energies {
  double worst;
  int64_t bound, ticks;
};

static struct energies steps(const struct backend *be, int n, int binaries, double limit, int count)
{
  struct particles p;
  struct energies e = {0, 0, 0};
  double dt = 0.009;
  struct list_request r = {.integrator = INTEGRATOR_HERMITE,
                           .split = split_make(SPLIT_SEPTIC, 0.05, 0.2),
                           .soft_step = dt,
                           .eta = 0.1,
                           .first = 1,
                           .pair_limit = limit};
  binaries_make(&p, n, binaries, 1e-4, 0.9, 4);
  r.largest_mass = p.mass[0];
  struct device *dev = binaries_device(be);
  double begin = binaries_energy(&p);
  for (int k = 0; k < count; k++) {
    struct list_tally t;
    memset(&t, 0, sizeof t);
    binaries_kick(&p, &r.split, 0.5 * dt);
    be->upload(dev, &p);
    be->neighbour_lists->advance(dev, &r, 0, NULL, &t);
    be->download(dev, &p);
    binaries_kick(&p, &r.split, 0.5 * dt);
    r.first = 0;
    e.bound += t.pairs_bound;
    e.ticks += t.ticks;
    e.worst = fmax(e.worst, fabs(binaries_energy(&p) / begin - 1));
  }
  be->close(dev);
  particles_free(&p);
  return e;
}

static void sphere(const struct backend *be)
{
  struct energies none = steps(be, 512, 0, 1e-3, 8), one = steps(be, 512, 1, 1e-3, 8),
                  five = steps(be, 512, 5, 1e-3, 8), off = steps(be, 512, 1, 0, 2);
  printf(
      "# |dE/E| without binaries %.1e, with 1 and 5 %.1e and %.1e; their orbits resolved %.1e in %lld ticks (%lld)\n",
      none.worst, one.worst, five.worst, off.worst, (long long)off.ticks, (long long)one.ticks);
  ok(none.bound == 0 && one.bound == 8 && five.bound == 40,
     "1 and 5 hard binaries in a Plummer sphere are taken in all soft steps");
  ok(one.worst < 6e-6 && five.worst < 6e-6, "the energy is as without them");
  ok(off.bound == 0 && off.ticks > 20 * one.ticks, "with pair_limit = 0 their orbits are resolved");
}

/* A star passes a binary: the pair is taken before and after. */
static void fly_by(const struct backend *be)
{
  struct particles p;
  double dt = 0.004;
  struct list_request r = {.integrator = INTEGRATOR_HERMITE,
                           .split = split_make(SPLIT_SEPTIC, 5, 20),
                           .soft_step = dt,
                           .eta = 0.05,
                           .first = 1,
                           .pair_limit = 1e-3,
                           .largest_mass = 1};
  particles_init(&p);
  particles_reserve(&p, 3);
  p.n = 3;
  for (int i = 0; i < 3; i++) {
    p.mass[i] = 0.01f;
    p.id[i] = (uint64_t)i + 1;
    p.level[i] = LEVEL_UNKNOWN;
  }
  memcpy(&p.pos[6], (double[]){0.05, 5e-4, 0}, sizeof(double[3]));
  p.vel[6] = -3;
  binaries_pair(&p, 0, 1, 1e-4, 0.5, 9);
  struct device *dev = binaries_device(be);
  double begin = binaries_energy(&p), worst = 0;
  int64_t first = -1, last = -1, resolved = 0;
  for (int k = 0; k < 10; k++) {
    struct list_tally t;
    memset(&t, 0, sizeof t);
    be->upload(dev, &p);
    be->neighbour_lists->advance(dev, &r, 0, NULL, &t);
    be->download(dev, &p);
    r.first = 0;
    if (k == 0) first = t.pairs_bound;
    resolved += t.pairs_bound == 0;
    last = t.pairs_bound;
    worst = fmax(worst, fabs(binaries_energy(&p) / begin - 1));
  }
  printf("# fly-by: |dE/E| %.1e, resolved in %lld of 10 soft steps\n", worst, (long long)resolved);
  ok(first == 1 && last == 1 && resolved > 0 && resolved < 9,
     "a pair is left to the Hermite scheme while a star passes");
  ok(worst < 1e-4, "the energy of the three is kept");
  be->close(dev);
  particles_free(&p);
}

/* A pair that becomes bound: its centre of mass does not take the levels at which its members orbited. */
static void new_pair(const struct backend *be)
{
  struct particles p;
  struct list_request r = {.integrator = INTEGRATOR_HERMITE,
                           .split = split_make(SPLIT_SEPTIC, 5, 20),
                           .soft_step = 0.004,
                           .eta = 0.05,
                           .pair_limit = 1e-3,
                           .largest_mass = 1};
  struct list_tally t = {0};
  particles_init(&p);
  particles_reserve(&p, 3);
  p.n = 3;
  for (int i = 0; i < 3; i++) {
    p.mass[i] = 0.01f;
    p.id[i] = (uint64_t)i + 1;
    p.level[i] = i < 2 ? 18 : LIST_LONGEST_LEVEL;
  }
  p.pos[6] = 1;
  binaries_pair(&p, 0, 1, 1e-4, 0.5, 9);
  struct device *dev = binaries_device(be);
  be->upload(dev, &p);
  be->neighbour_lists->advance(dev, &r, 0, NULL, &t);
  be->download(dev, &p);
  ok(t.pairs_bound == 1 && t.deepest < 10, "the centre of mass of a new pair begins with a step of its own");
  be->close(dev);
  particles_free(&p);
}

/* The pair's members on two ranks: each rank has one and a copy of all others. */
static void two_ranks(const struct backend *be)
{
  enum { N = 64 };
  struct particles all, end, p;
  struct list_request r = {.integrator = INTEGRATOR_HERMITE,
                           .split = split_make(SPLIT_SEPTIC, 0.05, 0.2),
                           .soft_step = 0.009,
                           .eta = 0.1,
                           .first = 1,
                           .pair_limit = 1e-3};
  struct list_tally t;
  binaries_make(&all, N - 1, 1, 1e-4, 0.9, 5); /* members 0 and N - 1 */
  r.largest_mass = all.mass[0];
  struct device *dev = binaries_device(be);
  binaries_make(&end, N - 1, 1, 1e-4, 0.9, 5);
  memset(&t, 0, sizeof t);
  be->upload(dev, &end);
  be->neighbour_lists->advance(dev, &r, 0, NULL, &t);
  be->download(dev, &end);
  int64_t whole = t.pairs_bound, counted = 0;
  double worst = 0;
  for (int rank = 0; rank < 2; rank++) {
    struct halo_particle halo[N];
    int64_t copies = 0;
    particles_init(&p);
    particles_reserve(&p, N);
    for (int64_t i = 0; i < N; i++) {
      if (i % 2 == rank) particles_copy(&p, p.n++, &all, i);
      else {
        struct halo_particle *h = &halo[copies++];
        memcpy(h->pos, &all.pos[3 * i], sizeof h->pos);
        memcpy(h->vel, &all.vel[3 * i], sizeof h->vel);
        h->id = all.id[i];
        h->mass = all.mass[i];
        h->level = LEVEL_UNKNOWN;
        h->type = all.type[i];
      }
    }
    memset(&t, 0, sizeof t);
    be->upload(dev, &p);
    be->neighbour_lists->advance(dev, &r, copies, halo, &t);
    be->download(dev, &p);
    counted += t.pairs_bound;
    for (int64_t i = 0; i < p.n; i++)
      for (int c = 0; c < 3; c++) worst = fmax(worst, fabs(p.pos[3 * i + c] - end.pos[3 * (2 * i + rank) + c]));
    particles_free(&p);
  }
  printf("# two ranks: positions differ by %.1e\n", worst);
  ok(whole == 1 && counted == 1 && worst < 1e-10,
     "a pair across the face of two ranks moves as on one, and counts once");
  be->close(dev);
  particles_free(&all);
  particles_free(&end);
}

int main(void)
{
  choice();
  perturbers();
  everywhere();
  const struct backend *const *list;
  int count = backend_list(&list);
  for (int k = 0; k < count; k++) {
    char why[256] = "";
    if (!list[k]->neighbour_lists || list[k]->probe->count(why, sizeof why) == 0) continue;
    snprintf(label, sizeof label, "%s: ", list[k]->name);
    sphere(list[k]);
    fly_by(list[k]);
    new_pair(list[k]);
    two_ranks(list[k]);
  }
  return tap_end();
}
