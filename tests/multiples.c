/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Systems of stars against a search over all pairs with other formulas, hierarchies of two kinds, few stars, equal
 * distances, and what happened to pairs between two times against the rule of python/espalier_plots/multiples.py. */
#include <config.h>
#include "analysis/multiples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/near_tree.h"
#include "base/memory.h"
#include "chance.h"
#include "tap.h"

#define LIMIT 0.1

/* --- stars ------------------------------------------------------------------------------------------------------- */

/* An orbit at some phase: positions and velocities of two bodies about their centre of mass, in the plane of axes p and
 * q. */
static void place_orbit(double a, double e, double anomaly, const double p[3], const double q[3], const double mass[2],
                        double gravity, double pos[2][3], double vel[2][3])
{
  double both = mass[0] + mass[1], r = a * (1 - e * cos(anomaly)), n = sqrt(gravity * both / (a * a * a));
  double x = a * (cos(anomaly) - e), y = a * sqrt(1 - e * e) * sin(anomaly), rate = n * a / r,
         vx = -a * sin(anomaly) * rate, vy = a * sqrt(1 - e * e) * cos(anomaly) * rate;
  for (int c = 0; c < 3; c++) {
    for (int k = 0; k < 2; k++) {
      double part = (k ? mass[0] : -mass[1]) / both;
      pos[k][c] = part * (x * p[c] + y * q[c]);
      vel[k][c] = part * (vx * p[c] + vy * q[c]);
    }
  }
}

static const double X[3] = {1, 0, 0}, Y[3] = {0, 1, 0}, Z[3] = {0, 0, 1};

static double uniform(struct random *random) { return random_unit(random); }

/* A cluster of `stars` stars in a unit cube, the first ones in binaries, of unequal masses, with ids in no order. */
static struct star *cluster(int32_t stars, int32_t binaries, uint64_t seed)
{
  struct random random = {seed};
  struct star *star = memory_alloc("test", sizeof *star * (size_t)(stars + 1));
  for (int32_t i = 0; i < stars; i++) {
    for (int c = 0; c < 3; c++) {
      star[i].pos[c] = uniform(&random);
      star[i].vel[c] = 1.2 * (uniform(&random) - 0.5);
    }
    star[i].mass = (0.1 + uniform(&random)) / stars;
    star[i].id = (i * 7919LL) % 1000003 + 1;
  }
  for (int32_t i = 0; i < binaries; i++) {
    struct star *two = star + 2 * i;
    double pos[2][3], vel[2][3], a = pow(10, -1 - 4 * uniform(&random)) / cbrt(stars), e = uniform(&random);
    place_orbit(a, e, 6 * uniform(&random), X, i % 2 ? Y : Z, (double[2]){two[0].mass, two[1].mass}, 1, pos, vel);
    for (int c = 0; c < 3; c++) {
      double x = two->pos[c], v = two->vel[c];
      for (int k = 0; k < 2; k++) {
        two[k].pos[c] = x + pos[k][c];
        two[k].vel[c] = v + vel[k][c];
      }
    }
  }
  return star;
}

/* --- the search over all pairs ----------------------------------------------------------------------------------- */

struct lump {
  struct star s; /* centre of mass; lowest id */
  int32_t row, stars;
  int gone;
};

static double distance2(const double a[3], const double b[3])
{
  double sum = 0;
  for (int c = 0; c < 3; c++) sum += (a[c] - b[c]) * (a[c] - b[c]);
  return sum;
}

/* The `wanted` nearest others, by repeated search. */
static int neighbours(const struct lump *lump, int32_t lumps, int32_t of, int wanted, int32_t *index)
{
  int found = 0;
  for (; found < wanted; found++) {
    int32_t best = -1;
    for (int32_t i = 0; i < lumps; i++) {
      int used = i == of;
      for (int k = 0; k < found; k++) used |= index[k] == i;
      if (!used && (best < 0 || distance2(lump[i].s.pos, lump[of].s.pos) < distance2(lump[best].s.pos, lump[of].s.pos)))
        best = i;
    }
    if (best < 0) break;
    index[found] = best;
  }
  return found;
}

/* Energy, angular momentum and tide of lumps i and j; 1 where they are a system. */
static int is_system(const struct lump *lump, int32_t lumps, int32_t i, int32_t j, double gravity, struct multiple *row)
{
  const struct star *a = &lump[i].s, *b = &lump[j].s;
  double d[3], u[3], h[3], mu = gravity * (a->mass + b->mass), v2 = 0, r = sqrt(distance2(a->pos, b->pos));
  for (int c = 0; c < 3; c++) {
    d[c] = b->pos[c] - a->pos[c];
    u[c] = b->vel[c] - a->vel[c];
    v2 += u[c] * u[c];
    row->pos[c] = (a->mass * a->pos[c] + b->mass * b->pos[c]) / (a->mass + b->mass);
    row->vel[c] = (a->mass * a->vel[c] + b->mass * b->vel[c]) / (a->mass + b->mass);
  }
  for (int c = 0; c < 3; c++) h[c] = d[(c + 1) % 3] * u[(c + 2) % 3] - d[(c + 2) % 3] * u[(c + 1) % 3];
  double energy = v2 / 2 - mu / r;
  if (energy >= 0) return 0;
  row->a = -mu / (2 * energy);
  row->e = sqrt(fmax(0, 1 - (h[0] * h[0] + h[1] * h[1] + h[2] * h[2]) / (mu * row->a)));
  row->energy = energy * a->mass * b->mass / (a->mass + b->mass);
  row->tide = 0;
  const int32_t of[2] = {i, j};
  for (int k = 0; k < 2; k++) {
    int32_t near[6];
    int count = neighbours(lump, lumps, of[k], 6, near);
    for (int n = 0; n < count; n++) {
      if (near[n] == of[1 - k]) continue;
      double q = row->a * (1 + row->e) / sqrt(distance2(lump[near[n]].s.pos, row->pos));
      row->tide = fmax(row->tide, 2 * lump[near[n]].s.mass / (a->mass + b->mass) * q * q * q);
    }
  }
  return row->tide < LIMIT;
}

/* All systems of lumps, one round after the other. Returns their number. */
static int32_t search(struct lump *lump, int32_t lumps, double gravity, struct multiple *row)
{
  int32_t found = 0, *near = memory_alloc("test", sizeof *near * (size_t)(lumps + 1));
  for (int more = 1; more;) {
    int32_t before = lumps, kept = 0, from = found;
    more = 0;
    for (int32_t i = 0; i < lumps; i++)
      if (neighbours(lump, lumps, i, 1, &near[i]) == 0) near[i] = -1;
    for (int32_t i = 0; i < lumps; i++) {
      int32_t j = near[i];
      struct multiple *now = &row[found];
      if (j < i || near[j] != i || !is_system(lump, lumps, i, j, gravity, now)) continue;
      int32_t first = lump[i].s.id < lump[j].s.id ? i : j, second = i + j - first;
      now->first = lump[first].s.id;
      now->second = lump[second].s.id;
      now->inner[0] = lump[first].row;
      now->inner[1] = lump[second].row;
      now->mass[0] = lump[first].s.mass;
      now->mass[1] = lump[second].s.mass;
      now->stars = lump[i].stars + lump[j].stars;
      lump[i].gone = lump[j].gone = 1;
      found++;
      more = 1;
    }
    for (int32_t i = 0; i < before; i++)
      if (!lump[i].gone) lump[kept++] = lump[i];
    for (int32_t k = from; k < found; k++) {
      struct lump *l = &lump[kept++];
      *l = (struct lump){.row = k, .stars = row[k].stars};
      l->s.mass = row[k].mass[0] + row[k].mass[1];
      l->s.id = row[k].first;
      memcpy(l->s.pos, row[k].pos, sizeof l->s.pos);
      memcpy(l->s.vel, row[k].vel, sizeof l->s.vel);
    }
    lumps = kept;
  }
  memory_free(near);
  return found;
}

static int near_to(double a, double b, double part) { return fabs(a - b) <= part * fmax(fabs(a), fabs(b)); }

/* Whether two rows are of the same system, with the same numbers. */
static int same_row(const struct multiple *a, const struct multiple *b)
{
  int same = a->first == b->first && a->second == b->second && a->inner[0] == b->inner[0] &&
             a->inner[1] == b->inner[1] && a->stars == b->stars && near_to(a->a, b->a, 1e-9) &&
             fabs(a->e - b->e) < 1e-5 && near_to(a->tide, b->tide, 1e-4) && near_to(a->energy, b->energy, 1e-9);
  for (int k = 0; k < 2; k++) same &= near_to(a->mass[k], b->mass[k], 1e-14);
  for (int c = 0; c < 3; c++) same &= fabs(a->pos[c] - b->pos[c]) < 1e-12 && fabs(a->vel[c] - b->vel[c]) < 1e-9;
  return same && near_to(a->period, 2 * M_PI * sqrt(pow(a->a, 3) / (a->mass[0] + a->mass[1])), 1e-9);
}

/* The systems of these stars are those of the search over all pairs, in the same order. Returns the stars of the
 * largest one. */
static int compare(struct star *star, int32_t stars, const char *what)
{
  struct multiples found;
  char text[120];
  stars = multiples_arrange(star, stars);
  struct lump *lump = memory_alloc("test", sizeof *lump * (size_t)(stars + 1));
  struct multiple *row = memory_alloc("test", sizeof *row * (size_t)(stars + 1));
  for (int32_t i = 0; i < stars; i++) lump[i] = (struct lump){star[i], -1, 1, 0};
  int32_t count = search(lump, stars, 1, row), largest = 0, bad = 0;
  multiples_find(&found, star, stars, 1, LIMIT);
  for (int32_t k = 0; k < count && k < found.count; k++) {
    bad += !same_row(&found.row[k], &row[k]);
    if (row[k].stars > largest) largest = row[k].stars;
  }
  snprintf(text, sizeof text, "%s: %d systems of %d stars, up to %d in one", what, count, stars, largest);
  tap_ok(found.count == count && bad == 0, text);
  if (found.count != count || bad) printf("# found %d, %d differ\n", found.count, bad);
  multiples_close(&found);
  memory_free(row);
  memory_free(lump);
  return largest;
}

static void random_clusters(void)
{
  int largest = 0;
  for (uint64_t seed = 1; seed <= 6; seed++) {
    struct star *star = cluster(400, 150, seed);
    int found = compare(star, 400, "a cluster");
    if (found > largest) largest = found;
    memory_free(star);
  }
  tap_ok(largest > 2, "with hierarchies");
  struct star *star = cluster(300, 100, 9);
  for (int32_t i = 0; i < 300; i += 7) star[i].mass = 0;
  compare(star, 300, "some without mass");
  for (int32_t i = 0; i < 300; i++) star[i].mass = 0;
  compare(star, 300, "all without mass");
  memory_free(star);
}

static void equal_distances(void)
{
  struct star star[125];
  struct random random = {5};
  for (int i = 0; i < 125; i++) {
    int heavy = i % 5 > 2 && i / 5 % 4 == 0 && i / 25 % 4 == 0; /* pairs whose neighbours are as far as the companion */
    star[i] = (struct star){{i % 5, i / 5 % 5, i / 25}, {0, 0, 0}, heavy ? 100 : 0.01, 200 - i};
    for (int c = 0; c < 3; c++) star[i].vel[c] = 0.3 * (uniform(&random) - 0.5);
  }
  compare(star, 125, "stars on a lattice");
  for (int i = 0; i < 125; i++) memset(star[i].pos, 0, sizeof star[i].pos);
  struct multiples found;
  multiples_find(&found, star, 125, 1, LIMIT);
  tap_ok(found.count == 0, "all at one place: none");
  multiples_close(&found);
}

static void few(void)
{
  struct star star[2] = {{{0, 0, 0}, {0, 0, 0}, 2, 8}, {{1, 0, 0}, {0, 1, 0}, 1, 5}};
  compare(star, 0, "no star");
  compare(star, 1, "one star");
  tap_ok(compare(star, 2, "two stars") == 2, "they are a pair");
  star[0].vel[0] = 5;
  tap_ok(compare(star, 2, "two stars that fly apart") == 0, "they are none");
}

/* --- hierarchies ------------------------------------------------------------------------------------------------- */

/* Put an orbit with these masses in the place of a star, which becomes two; the second one is star[to]. */
static void divide(struct star *star, int from, int to, double a, double e, double part)
{
  struct star whole = star[from];
  double pos[2][3], vel[2][3], mass[2] = {whole.mass * part, whole.mass * (1 - part)};
  int tilted = to % 2;
  place_orbit(a, e, 1 + to, X, tilted ? Z : Y, mass, 1, pos, vel);
  for (int k = 0; k < 2; k++) {
    struct star *s = &star[k ? to : from];
    s->mass = mass[k];
    for (int c = 0; c < 3; c++) {
      s->pos[c] = whole.pos[c] + pos[k][c];
      s->vel[c] = whole.vel[c] + vel[k][c];
    }
  }
}

static int is_orbit(const struct multiples *found, int row, double a, double e, int stars, int inner0, int inner1)
{
  const struct multiple *m = &found->row[row];
  return row < found->count && near_to(m->a, a, 1e-8) && fabs(m->e - e) < 1e-8 && m->stars == stars &&
         m->inner[0] == inner0 && m->inner[1] == inner1;
}

static void hierarchies(void)
{
  struct multiples found;
  struct star star[5] = {{.mass = 3, .id = 4}, {.id = 9}, {.id = 2}, {.id = 7}, {{90, 0, 0}, {0, 0, 0}, 0.01, 1}};
  struct star copy[5];
  divide(star, 0, 1, 1, 0.3, 0.7);
  divide(star, 0, 2, 1e-3, 0.5, 0.9);
  memcpy(copy, star, sizeof star);
  copy[3] = copy[4];
  multiples_find(&found, copy, multiples_arrange(copy, 4), 1, LIMIT);
  tap_ok(is_orbit(&found, 0, 1e-3, 0.5, 2, -1, -1) && is_orbit(&found, 1, 1, 0.3, 3, 0, -1), "a triple");
  multiples_close(&found);
  memcpy(copy, star, sizeof star);
  divide(copy, 1, 3, 2e-3, 0.1, 0.5);
  multiples_find(&found, copy, multiples_arrange(copy, 5), 1, LIMIT);
  int rows = is_orbit(&found, 0, 1e-3, 0.5, 2, -1, -1) + is_orbit(&found, 1, 2e-3, 0.1, 2, -1, -1);
  tap_ok(rows == 2 && is_orbit(&found, 2, 1, 0.3, 4, 0, 1), "a quadruple, 2 + 2");
  multiples_close(&found);
  memcpy(copy, star, sizeof star);
  divide(copy, 0, 3, 1e-6, 0.8, 0.6);
  multiples_find(&found, copy, multiples_arrange(copy, 5), 1, LIMIT);
  tap_ok(is_orbit(&found, 0, 1e-6, 0.8, 2, -1, -1) && is_orbit(&found, 1, 1e-3, 0.5, 3, -1, 0) &&
             is_orbit(&found, 2, 1, 0.3, 4, 1, -1),
         "a quadruple, 3 + 1");
  multiples_close(&found);
  multiples_find(&found, copy, multiples_arrange(copy, 5), 1, 1e-9);
  tap_ok(found.count < 3, "a lower limit allows less");
  multiples_close(&found);
}

/* --- what happened ----------------------------------------------------------------------------------------------- */

enum { EVENTS = 64 };

struct happened {
  int count;
  enum pair_event event[EVENTS];
  struct star_pair pair[EVENTS], former[EVENTS];
};

static void note(void *to, enum pair_event event, const struct star_pair *pair, const struct star_pair *former)
{
  struct happened *all = to;
  if (all->count == EVENTS) exit(99);
  all->event[all->count] = event;
  all->pair[all->count] = *pair;
  all->former[all->count++] = former ? *former : (struct star_pair){{0, 0}};
}

static int equals(const struct star_pair *a, const struct star_pair *b) { return memcmp(a, b, sizeof *a) == 0; }

static int among(const struct star_pair *pair, const struct star_pair *list, int count)
{
  for (int k = 0; k < count; k++)
    if (equals(pair, &list[k])) return 1;
  return 0;
}

static int share(const struct star_pair *a, const struct star_pair *b)
{
  return a->id[0] == b->id[0] || a->id[0] == b->id[1] || a->id[1] == b->id[0] || a->id[1] == b->id[1];
}

/* The rule by loops over all pairs. */
static void expect(const struct star_pair *before, int count_before, const struct star_pair *after, int count_after,
                   struct happened *all)
{
  int taken[EVENTS] = {0};
  for (int k = 0; k < count_after; k++) {
    const struct star_pair *former = NULL;
    if (among(&after[k], before, count_before)) continue;
    for (int i = 0; i < count_before && !former; i++) {
      if (taken[i] || among(&before[i], after, count_after) || !share(&before[i], &after[k])) continue;
      former = &before[i];
      taken[i] = 1;
    }
    note(all, former ? PAIR_EXCHANGED : PAIR_FORMED, &after[k], former);
  }
  for (int i = 0; i < count_before; i++)
    if (!taken[i] && !among(&before[i], after, count_after)) note(all, PAIR_DISSOLVED, &before[i], NULL);
}

/* Pairs of some of the stars 1 to 12, sorted. */
static int pairs_of(struct random *random, struct star_pair *pair)
{
  int64_t id[12];
  int count = (int)(random_bits(random) % 7);
  for (int k = 0; k < 12; k++) {
    int other = (int)(random_bits(random) % (uint64_t)(k + 1));
    id[k] = id[other];
    id[other] = k + 1;
  }
  struct multiple row[6];
  for (int k = 0; k < count; k++) {
    int64_t a = id[2 * k], b = id[2 * k + 1];
    row[k] = (struct multiple){.first = a < b ? a : b, .second = a < b ? b : a, .stars = 2};
  }
  int32_t found;
  struct star_pair *sorted = multiples_pairs(&(struct multiples){count, row}, &found);
  memcpy(pair, sorted, sizeof *pair * (size_t)found);
  memory_free(sorted);
  return found;
}

static void what_happened(void)
{
  struct random random = {7};
  int bad = 0, kinds[3] = {0};
  for (int trial = 0; trial < 3000; trial++) {
    struct star_pair before[6], after[6];
    struct happened said = {0}, expected = {0};
    int count_before = pairs_of(&random, before), count_after = pairs_of(&random, after);
    if (trial % 2) { /* some of the same */
      count_after = count_before < 3 ? count_before : 3;
      memcpy(after, before, sizeof before);
    }
    multiples_events(before, count_before, after, count_after, note, &said);
    expect(before, count_before, after, count_after, &expected);
    bad += memcmp(&said, &expected, sizeof said) != 0;
    for (int k = 0; k < said.count; k++) kinds[said.event[k]]++;
  }
  tap_ok(bad == 0 && kinds[PAIR_FORMED] > 100 && kinds[PAIR_DISSOLVED] > 100 && kinds[PAIR_EXCHANGED] > 100,
         "what happened to pairs of 3000 trials");
  printf("# %d formed, %d dissolved, %d exchanged\n", kinds[0], kinds[1], kinds[2]);
}

/* --- neighbours and seconds -------------------------------------------------------------------------------------- */

static void nearest(void)
{
  enum { POINTS = 700 };
  static double pos[POINTS][3];
  struct random random = {3};
  int bad = 0;
  for (int i = 0; i < POINTS; i++)
    for (int c = 0; c < 3; c++) pos[i][c] = i % 2 ? (double)(random_bits(&random) % 6) : 5 * uniform(&random);
  struct near_tree tree;
  near_tree_open(&tree, pos[0], POINTS, 1, 1000);
  for (int i = 0; i < POINTS; i++) {
    struct near_list list;
    near_list_open(&list, NEAR_MAX);
    near_tree_find(&tree, pos[i], NULL, 1000 + i, &list);
    for (int k = 0, last = -1; k < NEAR_MAX; k++) {
      int best = -1;
      double from = last < 0 ? -1 : distance2(pos[last], pos[i]);
      for (int j = 0; j < POINTS; j++) {
        double d = distance2(pos[j], pos[i]);
        if (j == i || d < from || (d == from && j <= last)) continue;
        if (best < 0 || d < distance2(pos[best], pos[i])) best = j;
      }
      bad += list.index[k] != 1000 + best || list.square[k] != distance2(pos[best], pos[i]);
      last = best;
    }
  }
  near_tree_close(&tree);
  near_tree_open(&tree, pos[0], 3, 1, 0);
  struct near_list list;
  near_list_open(&list, 3);
  near_tree_find(&tree, pos[0], (const char[]){0, 1, 0}, 0, &list);
  near_tree_close(&tree);
  tap_ok(bad == 0 && list.index[0] == 2 && list.index[1] == NEAR_NONE && list.index[2] == NEAR_NONE,
         "nearest neighbours, of equal distances the lower number first");
}

static void seconds(void)
{
  enum { STARS = 100000 };
  struct star *star = cluster(STARS, STARS / 4, 4);
  struct multiples found;
  struct timespec t[2];
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t[0]);
  int32_t stars = multiples_arrange(star, STARS);
  multiples_find(&found, star, stars, 1, LIMIT);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t[1]);
  double took = (double)(t[1].tv_sec - t[0].tv_sec) + 1e-9 * (double)(t[1].tv_nsec - t[0].tv_nsec);
  tap_ok(found.count > STARS / 10 && took < 20, "1e5 stars in seconds");
  printf("# %d systems in %.3f s\n", found.count, took);
  multiples_close(&found);
  memory_free(star);
}

int main(void)
{
  nearest();
  few();
  random_clusters();
  equal_distances();
  hierarchies();
  what_happened();
  seconds();
  tap_ok(memory_current() == 0, "no memory is kept");
  return tap_end();
}
