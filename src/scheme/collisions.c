/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "scheme/collisions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/memory.h"
#include "gravity/unit_rules.h"
#include "step/effects.h"
#include "step/energies.h"
#include "step/timed.h"

/* Two stars must be a unit long before they touch: the largest distance of a contact, in those of passing pairs. */
#define CONTACT_SHARE 0.5

/* A star of a soft step with mergers: the particle that it goes on as, and what has become part of it. */
struct merger {
  uint64_t stands, id; /* which the units know; of the particle that goes on */
  double mass;
  int taken, into; /* how many have become part of it; the one that it has become part of, -1: none */
};

struct mergers {
  struct merger *star;
  int n;
};

/* --- rules -------------------------------------------------------------------------------------------------------- */

struct list_radii collisions_radii(const struct sim *sim)
{
  const struct params *par = sim->par;
  return (struct list_radii){.on = par->Action != COLLISIONS_OFF,
                             .merge = par->Action == COLLISIONS_MERGE,
                             .radius = par->Radius * pow(par->Mass, -par->Exponent),
                             .exponent = par->Exponent};
}

int collisions_check(const struct sim *sim, int units, struct fault *fault)
{
  const struct params *par = sim->par;
  if (par->Action == COLLISIONS_OFF) return 0;
  struct list_radii radii = collisions_radii(sim);
  const char *action = params_choice("Action", par->Action);
  if (!sim->be->neighbour_lists->collisions)
    return fault_set(fault, "Action = %s: the backend %s finds no collisions; set [Device] Backend = cpu", action,
                     sim->be->name);
  if (params_softening(par, NULL) > 0)
    return fault_set(fault,
                     "Action = %s: a type of particles has a softening of %g, and collisions are found without "
                     "softening: expected SofteningType0 to SofteningType5 of 0",
                     action, params_softening(par, NULL));
  if (!(sim->masses.largest < COLLISIONS_HUB * sim->masses.second))
    return fault_set(
        fault,
        "Action = %s: a particle (mass %g) is more than %d times as heavy as any other; stars form no units "
        "about it, and collisions are not found: expected Action = off",
        action, sim->masses.largest, COLLISIONS_HUB);
  if (!units)
    return fault_set(fault,
                     "Action = %s: stars form no units here (ESPALIER_DEBUG), and collisions are not found: expected "
                     "Action = off",
                     action);
  double r1 = (double)sim->force.split.r1, limit = CONTACT_SHARE * UNIT_ENTRY_R1 * r1,
         heaviest = radii.radius * pow(sim->masses.largest, radii.exponent),
         lightest = radii.radius * pow(sim->masses.smallest, radii.exponent), widest = 2 * fmax(heaviest, lightest);
  if (widest <= limit) return 0;
  return fault_set(
      fault,
      "Radius = %g: two stars would touch at a distance of up to %.4g, expected at most %.4g, a %.0fth of R1 "
      "= %.4g: give a smaller Radius, or a larger R1",
      par->Radius, widest, limit, 1 / (CONTACT_SHARE * UNIT_ENTRY_R1), r1);
}

/* --- the list ----------------------------------------------------------------------------------------------------- */

static int by_time(const void *p, const void *q)
{
  const struct list_collision *a = p, *b = q;
  if (a->time != b->time) return a->time < b->time ? -1 : 1;
  if (a->id[0] != b->id[0]) return a->id[0] < b->id[0] ? -1 : 1;
  if (a->id[1] != b->id[1]) return a->id[1] < b->id[1] ? -1 : 1;
  return b->merged < a->merged ? -1 : b->merged > a->merged;
}

/* Whether the pair is among the first n already: in a soft step it counts once. */
static int is_known(const struct list_collision *list, int64_t n, const struct list_collision *one)
{
  for (int64_t k = 0; k < n; k++)
    if (((list[k].id[0] == one->id[0] && list[k].id[1] == one->id[1]) ||
         (list[k].id[0] == one->id[1] && list[k].id[1] == one->id[0])) &&
        (list[k].merged || !one->merged))
      return 1;
  return 0;
}

/* Collisions of one unit are in the order in which they were found, and their times are from orbits: the next one of
 * two stars that have merged is later than their merger. */
static void order_mergers(struct list_collision *list, int64_t n)
{
  for (int64_t k = 0; k < n; k++)
    for (int64_t l = k + 1; list[k].merged && l < n; l++)
      if ((list[l].id[0] == list[k].id[0] || list[l].id[1] == list[k].id[0]) && list[l].time <= list[k].time)
        list[l].time = nextafter(list[k].time, 1e300);
}

/* The collisions of all ranks, in the order of their times; *n: their number. Owner: caller (memory_free). */
static struct list_collision *gather(struct sim *sim, int64_t *n)
{
  int64_t kept = 0;
  struct list_collision *all = timed_collisions(sim, n);
  order_mergers(all, *n);
  qsort(all, (size_t)*n, sizeof *all, by_time);
  for (int64_t k = 0; k < *n; k++)
    if (!is_known(all, kept, &all[k])) all[kept++] = all[k];
  *n = kept;
  return all;
}

/* --- pairs that have met before ---------------------------------------------------------------------------------- */

static void pair_of(const struct list_collision *one, uint64_t pair[2])
{
  int low = one->id[1] < one->id[0];
  pair[0] = one->id[low];
  pair[1] = one->id[1 - low];
}

static int by_pair(const void *p, const void *q)
{
  const uint64_t *a = p, *b = q;
  int k = a[0] == b[0];
  return a[k] != b[k] ? (a[k] < b[k] ? -1 : 1) : 0;
}

/* Of list[n]: the pairs that met in the soft step before, and have not merged, are not new; those of this soft step
 * take their place. Returns how many are left. */
static int64_t leave_new(struct collisions_part *part, struct list_collision *list, int64_t n)
{
  uint64_t(*now)[2] = memory_alloc("collisions", sizeof *now * (size_t)(n + 1));
  int64_t kept = 0, count = 0;
  for (int64_t k = 0; k < n; k++) {
    uint64_t pair[2];
    pair_of(&list[k], pair);
    int known = part->knowns > 0 && bsearch(pair, part->known, (size_t)part->knowns, sizeof pair, by_pair);
    if (!list[k].merged) memcpy(now[count++], pair, sizeof pair);
    if (list[k].merged || !known) list[kept++] = list[k];
  }
  qsort(now, (size_t)count, sizeof *now, by_pair);
  memory_free(part->known);
  part->known = now;
  part->knowns = count;
  return kept;
}

/* --- who merges with whom ----------------------------------------------------------------------------------------- */

/* The star that a collision calls by this id. */
static int find(struct mergers *all, uint64_t id, double mass)
{
  for (int k = 0; k < all->n; k++)
    if (all->star[k].stands == id) return k;
  all->star[all->n] = (struct merger){id, id, (double)(float)mass, 0, -1};
  return all->n++;
}

/* Whether the particle of one stays where both merge: the heavier one, of equal ones that of the lower id. */
static int stays(const struct merger *one, const struct merger *other)
{
  return one->mass > other->mass || (one->mass == other->mass && one->id < other->id);
}

/* Star q becomes part of star p. */
static void unite(struct mergers *all, int p, int q)
{
  struct merger *a = &all->star[p], *b = &all->star[q];
  if (!stays(a, b)) {
    uint64_t id = a->id;
    a->id = b->id;
    b->id = id;
  }
  a->mass += b->mass;
  a->taken += 1 + b->taken;
  b->into = p;
}

static void add_row(struct sim *sim, const struct list_collision *one, const struct merger *p, const struct merger *q)
{
  double place[3], motion[3];
  const struct merger *first = stays(p, q) ? p : q, *second = first == p ? q : p;
  struct collision_row *row = &sim->collisions.row[sim->collisions.rows++];
  sim_shift(sim, place, motion);
  *row = (struct collision_row){.time = sim->time + one->time,
                                .id = {first->id, second->id},
                                .mass = {first->mass, second->mass},
                                .radii = one->radii,
                                .pericentre = one->pericentre,
                                .speed = one->speed,
                                .a = one->a,
                                .e = one->e,
                                .lost = one->merged ? one->lost : 0,
                                .merged = one->merged != 0};
  for (int c = 0; c < 3; c++) {
    row->pos[c] = one->pos[c] + place[c] + one->time * motion[c];
    row->vel[c] = one->vel[c] + motion[c];
  }
}

/* --- particles ---------------------------------------------------------------------------------------------------- */

/* Where the units have left the star that stands for those that have merged. */
struct state {
  uint64_t stands;
  double pos[3], vel[3];
};

static int by_stands(const void *p, const void *q)
{
  const struct state *a = p, *b = q;
  return a->stands != b->stands ? (a->stands < b->stands ? -1 : 1) : 0;
}

/* What a particle has become: 1: it is no more; *star: that which it goes on as, -1: none. */
static int fate(const struct mergers *all, uint64_t id, int *star)
{
  *star = -1;
  for (int k = 0; k < all->n; k++) {
    if (all->star[k].id != id) continue;
    if (all->star[k].into >= 0) return 1;
    if (all->star[k].taken > 0) *star = k;
    return 0;
  }
  return 0;
}

/* The states of stars that stand for others, of all ranks, in the order of their ids. Owner: caller (memory_free). */
static struct state *states(const struct sim *sim, const struct mergers *all, size_t *n)
{
  const struct particles *p = sim->be->view(sim->dev);
  struct state *mine = memory_alloc("collisions", sizeof *mine * (size_t)(all->n + 1));
  size_t count = 0, bytes;
  for (int64_t i = 0; i < p->n; i++)
    for (int k = 0; k < all->n; k++) {
      if (all->star[k].stands != p->id[i] || all->star[k].into >= 0) continue;
      mine[count].stands = p->id[i];
      memcpy(mine[count].pos, &p->pos[3 * i], sizeof mine->pos);
      memcpy(mine[count++].vel, &p->vel[3 * i], sizeof mine->vel);
    }
  struct state *found = comm_gather(sim->comm, mine, sizeof *mine * count, &bytes);
  *n = bytes / sizeof *found;
  qsort(found, *n, sizeof *found, by_stands);
  memory_free(mine);
  return found;
}

/* Particle i goes on as this star: the momentum is kept, although the mass is rounded. Returns the kinetic energy that
 * the rounding takes out. */
static double become(struct particles *particles, int64_t i, const struct merger *star, const struct state *state)
{
  double speed2 = 0, ratio;
  particles->mass[i] = (float)star->mass;
  ratio = star->mass / (double)particles->mass[i];
  memcpy(&particles->pos[3 * i], state->pos, sizeof state->pos);
  for (int c = 0; c < 3; c++) {
    particles->vel[3 * i + c] = ratio * state->vel[c];
    speed2 += state->vel[c] * state->vel[c];
  }
  particles->level[i] = LEVEL_UNKNOWN;
  return 0.5 * star->mass * speed2 * (1 - ratio);
}

/* Change the particles of this rank. Returns the kinetic energy that rounding takes out. */
static double change(const struct mergers *all, const struct state *state, size_t states, struct particles *particles)
{
  int64_t kept = 0;
  double lost = 0;
  for (int64_t i = 0; i < particles->n; i++) {
    int star;
    if (fate(all, particles->id[i], &star)) continue;
    if (kept < i) particles_copy(particles, kept, particles, i);
    if (star >= 0) {
      const struct state key = {.stands = all->star[star].stands},
                         *at = bsearch(&key, state, states, sizeof key, by_stands);
      if (!at) fatal("star %llu, with which others have merged, is on no rank", (unsigned long long)key.stands);
      lost += become(particles, kept, &all->star[star], at);
    }
    kept++;
  }
  particles->n = kept;
  return lost;
}

/* The particles of all ranks, after mergers. Collective. */
static void merge(struct sim *sim, const struct mergers *all)
{
  struct particles p;
  size_t n;
  struct state *state = states(sim, all, &n);
  sim->be->download(sim->dev, &p);
  double lost = change(all, state, n, &p);
  comm_sum_double(sim->comm, &lost, 1);
  sim->collisions.lost += lost;
  sim_note_masses(sim, &p);
  energies_open(sim, &p);
  sim->be->upload(sim->dev, &p);
  sim->force.split.largest_mass = (float)sim->masses.largest;
  memory_free(state);
}

/* --- a soft step -------------------------------------------------------------------------------------------------- */

/* Why collisions are not found any more: see collisions_check. */
static void note_end(struct sim *sim, int units)
{
  struct fault fault = {""};
  if (sim->collisions.ends[0] || collisions_check(sim, units, &fault) == 0) return;
  snprintf(sim->collisions.ends, sizeof sim->collisions.ends, "%s", fault.text);
}

int collisions_take(struct sim *sim, const struct list_request *request)
{
  struct collisions_part *part = &sim->collisions;
  int64_t n = 0;
  int merged = 0;
  part->rows = 0;
  if (sim->par->Action == COLLISIONS_OFF) return 0;
  if (!request->units) {
    note_end(sim, 0);
    return 0;
  }
  struct list_collision *list = gather(sim, &n);
  n = leave_new(part, list, n);
  struct mergers all = {memory_alloc("collisions", sizeof *all.star * (size_t)(2 * n + 1)), 0};
  part->row = memory_resize("collisions", part->row, sizeof *part->row * (size_t)(n + 1));
  for (int64_t k = 0; k < n; k++) {
    int p = find(&all, list[k].id[0], list[k].mass[0]), q = find(&all, list[k].id[1], list[k].mass[1]);
    if (all.star[p].into >= 0 || all.star[q].into >= 0) continue; /* two ranks do not agree on a star */
    add_row(sim, &list[k], &all.star[p], &all.star[q]);
    if (!list[k].merged) continue;
    part->lost += list[k].lost;
    unite(&all, p, q);
    merged++;
  }
  if (merged > 0) merge(sim, &all);
  part->count += part->rows;
  part->merged += merged;
  memory_free(all.star);
  memory_free(list);
  note_end(sim, 1);
  return merged > 0;
}
