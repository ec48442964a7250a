/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "analysis/multiples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/near_tree.h"
#include "base/memory.h"

enum { THIRD = 6, ROUNDS = 20 }; /* so many neighbours are looked at for the tide */

/* A star or a system; `row`: of the system, -1: a star. */
struct body {
  double pos[3], vel[3], mass;
  int64_t id; /* the lowest one of its stars */
  int32_t row, stars;
};

/* What body i is with its nearest; other -1: no system, or it is found with the other body. */
struct orbit {
  int32_t other;
  double a, e, tide;
};

/* --- one round --------------------------------------------------------------------------------------------------- */

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/* Semi-major axis (below 0: not bound) and eccentricity of a relative motion, from what does not cancel: e cos E and
 * e sin E. */
static void elements(const struct body *i, const struct body *j, double mu, struct orbit *orbit)
{
  double d[3], u[3];
  for (int c = 0; c < 3; c++) {
    d[c] = j->pos[c] - i->pos[c];
    u[c] = j->vel[c] - i->vel[c];
  }
  double r = sqrt(dot(d, d));
  orbit->a = 1 / (2 / r - dot(u, u) / mu);
  orbit->e = hypot(1 - r / orbit->a, dot(d, u) / sqrt(mu * fabs(orbit->a)));
}

static void centre_of(const struct body *i, const struct body *j, double pos[3], double vel[3])
{
  for (int c = 0; c < 3; c++) {
    pos[c] = (i->mass * i->pos[c] + j->mass * j->pos[c]) / (i->mass + j->mass);
    vel[c] = (i->mass * i->vel[c] + j->mass * j->vel[c]) / (i->mass + j->mass);
  }
}

/* The largest tide of the neighbours of both bodies i and j. */
static double largest_tide(const struct near_tree *tree, const struct body *body, int32_t bodies, int32_t i, int32_t j,
                           const struct orbit *orbit)
{
  const int32_t of[2] = {i, j};
  int wanted = bodies - 1 < THIRD ? bodies - 1 : THIRD;
  double centre[3], motion[3], tide = 0, mass = body[i].mass + body[j].mass, apocentre = orbit->a * (1 + orbit->e);
  centre_of(&body[i], &body[j], centre, motion);
  for (int k = 0; k < 2; k++) {
    struct near_list list;
    near_tree_find(tree, body[of[k]].pos, of[k], wanted, &list);
    for (int n = 0; n < wanted; n++) {
      if (list.index[n] == of[1 - k]) continue;
      const struct body *third = &body[list.index[n]];
      const double d[3] = {third->pos[0] - centre[0], third->pos[1] - centre[1], third->pos[2] - centre[2]};
      double part = apocentre / sqrt(dot(d, d)), now = 2 * third->mass / mass * (part * part * part);
      if (!(now <= tide)) tide = now;
    }
  }
  return tide;
}

/* Find all systems of these bodies: orbit[bodies]. */
static int32_t look(const struct body *body, int32_t bodies, double gravity, double limit, struct orbit *orbit)
{
  struct near_tree tree;
  int32_t count = 0;
  _Static_assert(sizeof *body % (3 * sizeof(double)) == 0, "positions are triples apart");
  near_tree_open(&tree, body[0].pos, bodies, sizeof *body / (3 * sizeof(double)));
#pragma omp parallel for schedule(dynamic, 256)
  for (int32_t i = 0; i < bodies; i++) {
    struct near_list list;
    near_tree_find(&tree, body[i].pos, i, 1, &list);
    orbit[i].other = list.index[0];
  }
#pragma omp parallel for schedule(dynamic, 256) reduction(+ : count)
  for (int32_t i = 0; i < bodies; i++) {
    int32_t j = orbit[i].other;
    orbit[i].tide = NAN; /* none */
    if (j < i || orbit[j].other != i) continue;
    elements(&body[i], &body[j], gravity * (body[i].mass + body[j].mass), &orbit[i]);
    if (!(orbit[i].a > 0 && isfinite(orbit[i].a))) continue;
    double tide = largest_tide(&tree, body, bodies, i, j, &orbit[i]);
    if (!(tide < limit)) continue;
    orbit[i].tide = tide;
    count++;
  }
  near_tree_close(&tree);
  return count;
}

/* The system of bodies i and j. */
static struct multiple join(const struct body *i, const struct body *j, const struct orbit *orbit, double gravity)
{
  if (j->id < i->id) {
    const struct body *keep = i;
    i = j;
    j = keep;
  }
  double a = orbit->a, mu = gravity * (i->mass + j->mass);
  struct multiple row = {.first = i->id,
                         .second = j->id,
                         .inner = {i->row, j->row},
                         .stars = i->stars + j->stars,
                         .a = a,
                         .e = orbit->e,
                         .period = 2 * M_PI * sqrt(a * a * a / mu),
                         .mass = {i->mass, j->mass},
                         .tide = orbit->tide,
                         .energy = -gravity * i->mass * j->mass / (2 * a)};
  centre_of(i, j, row.pos, row.vel);
  return row;
}

/* Replace the bodies of the new systems, found->row[from] and those that follow, by their centres of mass: the others
 * first, then these. Returns the number of bodies. */
static int32_t replace(struct body *body, int32_t bodies, struct orbit *orbit, const struct multiples *found,
                       int32_t from)
{
  int32_t kept = 0;
  for (int32_t i = 0; i < bodies; i++)
    if (!isnan(orbit[i].tide)) orbit[orbit[i].other].tide = 0;
  for (int32_t i = 0; i < bodies; i++)
    if (isnan(orbit[i].tide)) body[kept++] = body[i];
  for (int32_t k = from; k < found->count; k++) {
    const struct multiple *row = &found->row[k];
    struct body *b = &body[kept++];
    *b = (struct body){.mass = row->mass[0] + row->mass[1], .id = row->first, .row = k, .stars = row->stars};
    memcpy(b->pos, row->pos, sizeof b->pos);
    memcpy(b->vel, row->vel, sizeof b->vel);
  }
  return kept;
}

/* --- all rounds -------------------------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
  int64_t x = ((const struct star *)a)->id, y = ((const struct star *)b)->id;
  return (x > y) - (x < y);
}

int32_t multiples_arrange(struct star *star, int32_t stars)
{
  int32_t count = 0;
  for (int32_t i = 0; i < stars; i++)
    if (star[i].mass > 0) star[count++] = star[i];
  qsort(star, (size_t)count, sizeof *star, by_id);
  return count;
}

void multiples_find(struct multiples *found, const struct star *star, int32_t stars, double gravity, double limit)
{
  struct body *body = memory_alloc("systems", sizeof *body * (size_t)(stars + 1));
  struct orbit *orbit = memory_alloc("systems", sizeof *orbit * (size_t)(stars + 1));
  int32_t bodies = stars;
  *found = (struct multiples){0};
  for (int32_t i = 0; i < stars; i++) {
    memcpy(body[i].pos, star[i].pos, sizeof star[i].pos);
    memcpy(body[i].vel, star[i].vel, sizeof star[i].vel);
    body[i].mass = star[i].mass;
    body[i].id = star[i].id;
    body[i].row = -1;
    body[i].stars = 1;
  }
  for (int round = 0; round < ROUNDS && bodies >= 2; round++) {
    int32_t from = found->count, count = look(body, bodies, gravity, limit, orbit);
    if (count == 0) break;
    found->row = memory_resize("systems", found->row, sizeof *found->row * (size_t)(from + count));
    for (int32_t i = 0; i < bodies; i++)
      if (!isnan(orbit[i].tide)) found->row[found->count++] = join(&body[i], &body[orbit[i].other], &orbit[i], gravity);
    bodies = replace(body, bodies, orbit, found, from);
  }
  memory_free(orbit);
  memory_free(body);
}

void multiples_close(struct multiples *found)
{
  memory_free(found->row);
  *found = (struct multiples){0};
}

/* --- pairs of two times ------------------------------------------------------------------------------------------ */

static int by_ids(const void *a, const void *b)
{
  const struct star_pair *x = a, *y = b;
  if (x->id[0] != y->id[0]) return x->id[0] < y->id[0] ? -1 : 1;
  return (x->id[1] > y->id[1]) - (x->id[1] < y->id[1]);
}

struct star_pair *multiples_pairs(const struct multiples *found, int32_t *count)
{
  struct star_pair *pair = memory_alloc("systems", sizeof *pair * (size_t)(found->count + 1));
  *count = 0;
  for (int32_t k = 0; k < found->count; k++)
    if (found->row[k].stars == 2) pair[(*count)++] = (struct star_pair){{found->row[k].first, found->row[k].second}};
  qsort(pair, (size_t)*count, sizeof *pair, by_ids);
  return pair;
}

/* A star of a pair that is gone. */
struct left {
  int64_t id;
  int32_t pair;
};

static int by_star(const void *a, const void *b)
{
  int64_t x = ((const struct left *)a)->id, y = ((const struct left *)b)->id;
  return (x > y) - (x < y);
}

/* Copy to `only` the pairs of `a` that are not among those of `b`. Returns their number. */
static int32_t subtract(const struct star_pair *a, int32_t count_a, const struct star_pair *b, int32_t count_b,
                        struct star_pair *only)
{
  int32_t n = 0;
  for (int32_t i = 0, j = 0; i < count_a; i++) {
    while (j < count_b && by_ids(&b[j], &a[i]) < 0) j++;
    if (j == count_b || by_ids(&b[j], &a[i]) != 0) only[n++] = a[i];
  }
  return n;
}

/* The first pair that is gone, was not taken before and has a star of this one; -1: none. */
static int32_t former_of(const struct star_pair *pair, const struct left *star, int32_t gone, const char *taken)
{
  int32_t former = -1;
  for (int k = 0; k < 2 && gone; k++) {
    const struct left key = {pair->id[k], 0}, *at = bsearch(&key, star, 2 * (size_t)gone, sizeof key, by_star);
    if (at && !taken[at->pair] && (former < 0 || at->pair < former)) former = at->pair;
  }
  return former;
}

void multiples_events(const struct star_pair *before, int32_t count_before, const struct star_pair *after,
                      int32_t count_after, pair_happened *happened, void *to)
{
  struct star_pair *old = memory_alloc("systems", sizeof *old * (size_t)(count_before + 1));
  struct star_pair *fresh = memory_alloc("systems", sizeof *fresh * (size_t)(count_after + 1));
  struct left *star = memory_alloc("systems", sizeof *star * (2 * (size_t)count_before + 1));
  char *taken = memory_alloc("systems", (size_t)count_before + 1);
  int32_t gone = subtract(before, count_before, after, count_after, old),
          come = subtract(after, count_after, before, count_before, fresh);
  for (int32_t k = 0; k < 2 * gone; k++) star[k] = (struct left){old[k / 2].id[k % 2], k / 2};
  qsort(star, 2 * (size_t)gone, sizeof *star, by_star);
  for (int32_t k = 0; k < come; k++) {
    int32_t former = former_of(&fresh[k], star, gone, taken);
    if (former >= 0) taken[former] = 1;
    happened(to, former < 0 ? PAIR_FORMED : PAIR_EXCHANGED, &fresh[k], former < 0 ? NULL : &old[former]);
  }
  for (int32_t k = 0; k < gone; k++)
    if (!taken[k]) happened(to, PAIR_DISSOLVED, &old[k], NULL);
  memory_free(taken);
  memory_free(star);
  memory_free(fresh);
  memory_free(old);
}
