/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A backend with a particle set on one rank, used through its table: the common start of tests of trees and forces. */
#ifndef RIG_H
#define RIG_H
#include <stdio.h>

#include "backend/backend.h"
#include "backend/probe.h"
#include "sets.h"

struct rig {
  const struct backend *be;
  struct device *dev;
  struct lattice lattice;
  struct split split;
  double gravity, a_floor;
  int order; /* of multipoles */
  struct tally tally;
};

static const double everywhere[2][3] = {{-1e300, -1e300, -1e300}, {1e300, 1e300, 1e300}};

/* Put the particles of a set on a device, sort them and build the tree. */
static inline void rig_open_by(struct rig *rig, const struct backend *be, const struct set *set,
                               struct particles *particles, int order, int max_leaf, int max_group,
                               enum walk_method method)
{
  memset(rig, 0, sizeof *rig);
  rig->be = be;
  rig->order = order;
  rig->gravity = set->gravity;
  rig->split = split_make(SPLIT_QUINTIC, set->r1, set->r2);
  struct device_config config = {.gravity = set->gravity,
                                 .softening = set->softening,
                                 .max_leaf = max_leaf,
                                 .max_group = max_group,
                                 .quadrupole = order == 2,
                                 .ranks = 1,
                                 .method = method};
  rig->dev = be->open(&config);
  be->upload(rig->dev, particles);
  double low[3], high[3];
  be->sets.bounds(rig->dev, 0, low, high);
  rig->lattice = lattice_cover(low, high, 0.05, set->softening);
  be->tree.order(rig->dev, &rig->lattice);
  be->tree.build(rig->dev, everywhere[0], everywhere[1]);
}

static inline void rig_open(struct rig *rig, const struct backend *be, const struct set *set,
                            struct particles *particles, int order, int max_leaf, int max_group)
{
  rig_open_by(rig, be, set, particles, order, max_leaf, max_group, METHOD_GROUPS);
}

static inline void rig_close(struct rig *rig)
{
  struct particles p;
  rig->be->download(rig->dev, &p);
  particles_free(&p);
  rig->be->close(rig->dev);
}

static inline struct mac rig_mac(const struct rig *rig, int kind, double delta)
{
  return (struct mac){kind, rig->order, rig->gravity, delta};
}

/* Forces and potentials of all particles at a synchronisation. */
static inline const struct particles *rig_force(struct rig *rig, const struct mac *mac)
{
  rig->be->tree.sources(rig->dev);
  rig->be->tree.moments(rig->dev, mac, 0, 0);
  rig->be->tree.groups(rig->dev);
  struct walk_request r = {.kind = WALK_TOTAL,
                           .mac = *mac,
                           .a_floor = rig->a_floor,
                           .split = rig->split,
                           .let = LET_SOFT,
                           .potential = 1,
                           .local = 1,
                           .last = 1};
  rig->be->forces.walk(rig->dev, &r, &rig->tally);
  rig->be->steps.split_soft(rig->dev);
  struct sums sums;
  rig->be->sets.reduce(rig->dev, &(struct field){0}, &sums);
  rig->a_floor = 1e-5 * sqrt(sums.acc2_count / sums.count);
  return rig->be->view(rig->dev);
}

/* The same by the acceleration criterion, for particles that have no force yet. */
static inline const struct particles *rig_first_force(struct rig *rig, double delta)
{
  struct mac angle = rig_mac(rig, MAC_ANGLE, 0.7), mac = rig_mac(rig, MAC_ACCELERATION, delta);
  rig_force(rig, &angle);
  return rig_force(rig, &mac);
}

/* Call the function for every backend that has a device; with TEST_BACKEND in the environment for this one alone. */
static inline void rig_each(void (*test)(const struct backend *))
{
  const struct backend *const *list;
  const char *only = getenv("TEST_BACKEND");
  int count = backend_list(&list);
  for (int k = 0; k < count; k++) {
    char why[256] = "";
    if (only && strcmp(only, list[k]->name) != 0) continue;
    if (list[k]->probe->count(why, sizeof why) > 0) test(list[k]);
    else printf("# no %s: %s\n", list[k]->name, why);
  }
}

/* A walk of the active particles from the local tree alone. */
static inline struct walk_request hard_request(const struct rig *rig, const struct mac *mac, int32_t tick,
                                               double tick_length)
{
  return (struct walk_request){.kind = WALK_HARD,
                               .mac = *mac,
                               .a_floor = rig->a_floor,
                               .split = rig->split,
                               .let = LET_STEP,
                               .tick = tick,
                               .tick_length = tick_length,
                               .local = 1,
                               .last = 1};
}
#endif
