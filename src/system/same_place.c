/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "system/same_place.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "particles/sampling.h"

/* A particle, for a sort that puts those at the same place one after the other. */
struct placed {
  uint64_t hash, id; /* of the position */
  int massless;
  int64_t index;
};

/* What a rank found: particles at the place of another one, and two of them. */
struct found {
  int64_t count;
  uint64_t id[2];
  double pos[3];
};

static uint64_t hash_of(const double *pos)
{
  uint64_t hash = 0, bits;
  for (int c = 0; c < 3; c++) {
    double x = pos[c] + 0.0; /* -0 is 0 */
    memcpy(&bits, &x, sizeof bits);
    hash = sampling_hash(hash ^ bits) + (uint64_t)c;
  }
  return hash;
}

static int by_hash(const void *one, const void *other)
{
  const struct placed *a = one, *b = other;
  if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
  if (a->massless != b->massless) return a->massless - b->massless;
  return a->id < b->id ? -1 : a->id > b->id;
}

static struct found search(const struct particles *particles)
{
  struct found found;
  struct placed *list = memory_alloc("checks", sizeof *list * (size_t)(particles->n + 1));
  memset(&found, 0, sizeof found); /* with its padding */
  for (int64_t i = 0; i < particles->n; i++)
    list[i] = (struct placed){hash_of(&particles->pos[3 * i]), particles->id[i], !(particles->mass[i] > 0), i};
  qsort(list, (size_t)particles->n, sizeof *list, by_hash);
  /* first: of those at a place, with mass if one of them has any */
  for (int64_t k = 1, first = 0; k < particles->n; k++) {
    const double *x = &particles->pos[3 * list[k].index], *y = &particles->pos[3 * list[k - 1].index];
    if (x[0] != y[0] || x[1] != y[1] || x[2] != y[2]) first = k;
    if (first == k || list[first].massless) continue;
    int64_t other = list[k].massless ? first : k - 1;
    if (found.count++ > 0 && found.id[0] < list[other].id) continue;
    found.id[0] = list[other].id;
    found.id[1] = list[k].id;
    memcpy(found.pos, x, sizeof found.pos);
  }
  memory_free(list);
  return found;
}

int same_place_check(const struct comm *comm, const struct particles *particles, const double origin[3],
                     struct fault *fault)
{
  struct found mine = search(particles);
  const struct found *first = NULL;
  size_t bytes;
  int64_t count = mine.count;
  comm_sum_int64(comm, &count, 1);
  if (count == 0) return 0;
  struct found *all = comm_gather(comm, &mine, sizeof mine, &bytes);
  for (int r = 0; r < comm->size; r++)
    if (all[r].count > 0 && (!first || all[r].id[0] < first->id[0])) first = &all[r];
  char more[80] = "";
  if (count > 1)
    snprintf(more, sizeof more, "; so %s %lld other%s", count > 2 ? "are" : "is", (long long)(count - 1),
             count > 2 ? "s" : "");
  fault_set(fault,
            "particles %llu and %llu are at the same place, (%.9g, %.9g, %.9g)%s: their force has no value with "
            "Softening = 0; move one of "
            "them, replace both by one of their mass, or give a Softening above 0",
            (unsigned long long)first->id[0], (unsigned long long)first->id[1], first->pos[0] + origin[0],
            first->pos[1] + origin[1], first->pos[2] + origin[2], more);
  memory_free(all);
  return -1;
}
