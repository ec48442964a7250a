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
_Static_assert(sizeof(struct body) % (3 * sizeof(double)) == 0, "positions are triples apart");
enum { STRIDE = sizeof(struct body) / (3 * sizeof(double)) };

/* What a body is with another one, of which it is the first; tide NAN: no system. */
struct orbit {
  int32_t other;
  double a, e, tide;
};

/* Stars come first, then systems in the order in which they are found; those that became part of another system are
 * gone. So the tree of stars is made once, and a round looks only at bodies for which something has changed. */
struct bodies {
  struct body *body;
  char *gone;
  char *look;    /* 1: this round looks at it: a new one, one whose nearest is gone, one of a pair that was disturbed */
  int32_t *near; /* the nearest other body when it was last looked at */
  double *square; /* of its distance */
  struct orbit *orbit;
  int32_t stars, count;
  struct near_tree tree[2]; /* of stars; of systems */
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

/* The largest tide of the neighbours of both bodies i and j; or one that is not below the limit. */
static double largest_tide(const struct bodies *all, int32_t i, int32_t j, const struct orbit *orbit, double limit)
{
  const struct body *body = all->body;
  const int32_t of[2] = {i, j};
  struct near_list list[2];
  double centre[3], motion[3], tide = 0, mass = body[i].mass + body[j].mass, apocentre = orbit->a * (1 + orbit->e);
  centre_of(&body[i], &body[j], centre, motion);
  for (int k = 0; k < 2 && tide < limit; k++) {
    near_list_open(&list[k], THIRD);
    if (k) near_list_add(&list[1], body[j].pos, body[i].pos, i);
    for (int n = 0; k && n < THIRD && list[0].index[n] != NEAR_NONE; n++) /* they are the same but for a few */
      if (list[0].index[n] != j) near_list_add(&list[1], body[j].pos, body[list[0].index[n]].pos, list[0].index[n]);
    for (int t = 0; t < 2; t++) near_tree_find(&all->tree[t], body[of[k]].pos, all->gone, of[k], &list[k]);
    for (int n = 0; n < THIRD && list[k].index[n] != NEAR_NONE; n++) {
      if (list[k].index[n] == of[1 - k]) continue;
      const struct body *third = &body[list[k].index[n]];
      const double d[3] = {third->pos[0] - centre[0], third->pos[1] - centre[1], third->pos[2] - centre[2]};
      double part = apocentre / sqrt(dot(d, d)), now = 2 * third->mass / mass * (part * part * part);
      if (!(now <= tide)) tide = now;
    }
  }
  return tide;
}

/* The nearest other body of body i now. Where the last one is still there only systems may be nearer. */
static int32_t nearest(const struct bodies *all, int32_t i, double *square)
{
  struct near_list list;
  int lost = all->near[i] == NEAR_NONE || all->gone[all->near[i]];
  near_list_open(&list, 1);
  if (!lost) {
    list.index[0] = all->near[i];
    list.square[0] = all->square[i];
  }
  near_tree_find(&all->tree[1], all->body[i].pos, all->gone, i, &list);
  if (lost) near_tree_find(&all->tree[0], all->body[i].pos, all->gone, i, &list);
  *square = list.square[0];
  return list.index[0];
}

/* Look at body i and its nearest, where they are each other's. */
static void look_at(struct bodies *all, int32_t i, double gravity, double limit)
{
  double square;
  int32_t j = all->near[i], first = i < j ? i : j, second = i < j ? j : i;
  if (j == NEAR_NONE || (all->look[j] && j < i)) return;
  if ((all->look[j] ? all->near[j] : nearest(all, j, &square)) != i) return;
  struct orbit *orbit = &all->orbit[first];
  elements(&all->body[first], &all->body[second], gravity * (all->body[first].mass + all->body[second].mass), orbit);
  if (!(orbit->a > 0 && isfinite(orbit->a))) return;
  orbit->other = second;
  orbit->tide = largest_tide(all, first, second, orbit, limit);
}

/* One round: orbits of bound pairs, with their tides. */
static void look(struct bodies *all, double gravity, double limit)
{
  near_tree_close(&all->tree[1]);
  near_tree_open(&all->tree[1], all->body[all->stars].pos, all->count - all->stars, STRIDE, all->stars);
#pragma omp parallel for schedule(dynamic, 256)
  for (int32_t i = 0; i < all->count; i++) {
    all->orbit[i].tide = NAN;
    if (all->gone[i]) all->look[i] = 0;
    else if (all->near[i] == NEAR_NONE || all->gone[all->near[i]]) all->look[i] = 1;
    if (all->look[i]) all->near[i] = nearest(all, i, &all->square[i]);
  }
#pragma omp parallel for schedule(dynamic, 256)
  for (int32_t i = 0; i < all->count; i++)
    if (all->look[i]) look_at(all, i, gravity, limit);
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

/* Replace the bodies of the systems of this round by these. The next one looks again at pairs that were disturbed. */
static void join_all(struct bodies *all, struct multiples *found, double gravity, double limit)
{
  int32_t before = all->count;
  memset(all->look, 0, (size_t)before);
  for (int32_t i = 0; i < before; i++) {
    const struct orbit *orbit = &all->orbit[i];
    if (isnan(orbit->tide)) continue;
    if (!(orbit->tide < limit)) {
      all->look[i] = all->look[orbit->other] = 1;
      continue;
    }
    struct multiple *row = &found->row[found->count];
    *row = join(&all->body[i], &all->body[orbit->other], orbit, gravity);
    all->gone[i] = all->gone[orbit->other] = 1;
    struct body *b = &all->body[all->count];
    all->near[all->count++] = NEAR_NONE;
    *b = (struct body){
        .mass = row->mass[0] + row->mass[1], .id = row->first, .row = found->count++, .stars = row->stars};
    memcpy(b->pos, row->pos, sizeof b->pos);
    memcpy(b->vel, row->vel, sizeof b->vel);
  }
}

/* --- all rounds -------------------------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
  int64_t x = ((const struct star *)a)->id, y = ((const struct star *)b)->id;
  return (x > y) - (x < y);
}

/* Sort by placing each star at its id, where few ids are missing and none is there twice; else 0. */
static int place_by_id(struct star *star, int32_t stars)
{
  int64_t low = star[0].id, high = low;
  for (int32_t i = 1; i < stars; i++) {
    low = star[i].id < low ? star[i].id : low;
    high = star[i].id > high ? star[i].id : high;
  }
  if (low < 0 || high - low >= 4 * (int64_t)stars) return 0;
  size_t places = (size_t)(high - low) + 1;
  int32_t *place = memory_alloc("systems", sizeof *place * places), twice = 0, count = 0;
  struct star *sorted = memory_alloc("systems", sizeof *sorted * (size_t)stars);
  for (int32_t i = 0; i < stars; i++) {
    twice |= place[star[i].id - low] != 0;
    place[star[i].id - low] = i + 1;
  }
  for (size_t k = 0; k < places && !twice; k++)
    if (place[k]) sorted[count++] = star[place[k] - 1];
  if (!twice) memcpy(star, sorted, sizeof *star * (size_t)stars);
  memory_free(sorted);
  memory_free(place);
  return !twice;
}

int32_t multiples_arrange(struct star *star, int32_t stars)
{
  int32_t count = 0;
  for (int32_t i = 0; i < stars; i++)
    if (star[i].mass > 0) star[count++] = star[i];
  if (count && !place_by_id(star, count)) qsort(star, (size_t)count, sizeof *star, by_id);
  return count;
}

static void open_bodies(struct bodies *all, const struct star *star, int32_t stars)
{
  size_t most = 2 * (size_t)stars + 1; /* each system replaces two bodies */
  *all = (struct bodies){.stars = stars, .count = stars};
  all->body = memory_alloc("systems", sizeof *all->body * most);
  all->gone = memory_alloc("systems", most);
  all->look = memory_alloc("systems", most);
  all->near = memory_alloc("systems", sizeof *all->near * most);
  all->square = memory_alloc("systems", sizeof *all->square * most);
  all->orbit = memory_alloc("systems", sizeof *all->orbit * most);
  for (int32_t i = 0; i < stars; i++) {
    struct body *b = &all->body[i];
    *b = (struct body){.mass = star[i].mass, .id = star[i].id, .row = -1, .stars = 1};
    memcpy(b->pos, star[i].pos, sizeof b->pos);
    memcpy(b->vel, star[i].vel, sizeof b->vel);
  }
  for (int32_t i = 0; i < stars; i++) all->near[i] = NEAR_NONE;
  near_tree_open(&all->tree[0], all->body[0].pos, stars, STRIDE, 0);
}

static void close_bodies(struct bodies *all)
{
  for (int t = 0; t < 2; t++) near_tree_close(&all->tree[t]);
  memory_free(all->orbit);
  memory_free(all->square);
  memory_free(all->near);
  memory_free(all->look);
  memory_free(all->gone);
  memory_free(all->body);
}

static int32_t systems_of(const struct bodies *all, double limit)
{
  int32_t count = 0;
  for (int32_t i = 0; i < all->count; i++) count += all->orbit[i].tide < limit;
  return count;
}

void multiples_find(struct multiples *found, const struct star *star, int32_t stars, double gravity, double limit)
{
  struct bodies all;
  *found = (struct multiples){0};
  open_bodies(&all, star, stars);
  for (int round = 0; round < ROUNDS; round++) {
    look(&all, gravity, limit);
    int32_t count = systems_of(&all, limit);
    if (count == 0) break;
    found->row = memory_resize("systems", found->row, sizeof *found->row * (size_t)(found->count + count));
    join_all(&all, found, gravity, limit);
  }
  close_bodies(&all);
}

void multiples_close(struct multiples *found)
{
  memory_free(found->row);
  *found = (struct multiples){0};
}

/* The star with an id. */
static int32_t star_of(const struct star *star, int32_t stars, int64_t id)
{
  int32_t low = 0, high = stars - 1;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (star[middle].id < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* The stars of the system `row` belong to the body `body`. */
static void own_stars(const struct multiples *found, const struct star *star, int32_t stars, int32_t row, int32_t body,
                      int32_t *owner)
{
  const struct multiple *m = &found->row[row];
  for (int k = 0; k < 2; k++) {
    if (m->inner[k] >= 0) own_stars(found, star, stars, m->inner[k], body, owner);
    else owner[star_of(star, stars, k ? m->second : m->first)] = body;
  }
}

int32_t *multiples_owners(const struct multiples *found, const struct star *star, int32_t stars)
{
  int32_t *owner = memory_alloc("systems", sizeof *owner * (size_t)(stars + 1));
  for (int32_t i = 0; i < stars; i++) owner[i] = found->count + i;
  /* outer systems come after their inner ones */
  for (int32_t k = 0; k < found->count; k++) own_stars(found, star, stars, k, k, owner);
  return owner;
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
