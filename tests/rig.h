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
  int order;               /* of multipoles */
  struct tally tally;
};

static const double everywhere[2][3] = {{-1e300, -1e300, -1e300}, {1e300, 1e300, 1e300}};

/* Put the particles of a set on a device, sort them and build the tree. */
static inline void rig_open_by(struct rig *g, const struct backend *be, const struct set *s, struct particles *p, int order, int max_leaf,
                               int max_group, enum walk_method method)
{
  memset(g, 0, sizeof *g);
  g->be = be;
  g->order = order;
  g->gravity = s->gravity;
  g->split = split_make(SPLIT_QUINTIC, s->r1, s->r2);
  struct device_config config = {
      .gravity = s->gravity, .softening = s->softening, .max_leaf = max_leaf, .max_group = max_group, .quadrupole = order == 2, .ranks = 1,
      .method = method};
  g->dev = be->open(&config);
  be->upload(g->dev, p);
  double low[3], high[3];
  be->bounds(g->dev, 0, low, high);
  g->lattice = lattice_cover(low, high, 0.05, s->softening);
  be->order(g->dev, &g->lattice);
  be->build(g->dev, everywhere[0], everywhere[1]);
}

static inline void rig_open(struct rig *g, const struct backend *be, const struct set *s, struct particles *p, int order, int max_leaf,
                            int max_group)
{
  rig_open_by(g, be, s, p, order, max_leaf, max_group, METHOD_GROUPS);
}

static inline void rig_close(struct rig *g)
{
  struct particles p;
  g->be->download(g->dev, &p);
  particles_free(&p);
  g->be->close(g->dev);
}

static inline struct mac rig_mac(const struct rig *g, int kind, double delta) { return (struct mac){kind, g->order, g->gravity, delta}; }

/* Forces and potentials of all particles at a synchronisation. */
static inline const struct particles *rig_force(struct rig *g, const struct mac *mac)
{
  g->be->sources(g->dev);
  g->be->moments(g->dev, mac, 0, 0);
  g->be->groups(g->dev);
  struct walk_request r = {.kind = WALK_TOTAL, .mac = *mac, .a_floor = g->a_floor, .split = g->split, .let = LET_SOFT, .potential = 1, .local = 1, .last = 1};
  g->be->walk(g->dev, &r, &g->tally);
  g->be->split_soft(g->dev);
  struct sums sums;
  g->be->reduce(g->dev, &(struct field){0}, &sums);
  g->a_floor = 1e-5 * sqrt(sums.acc2_count / sums.count);
  return g->be->view(g->dev);
}

/* The same by the acceleration criterion, for particles that have no force yet. */
static inline const struct particles *rig_first_force(struct rig *g, double delta)
{
  struct mac angle = rig_mac(g, MAC_ANGLE, 0.7), mac = rig_mac(g, MAC_ACCELERATION, delta);
  rig_force(g, &angle);
  return rig_force(g, &mac);
}

/* Call the function for every backend that has a device. */
static inline void rig_each(void (*test)(const struct backend *))
{
  const struct backend *const *list;
  int count = backend_list(&list);
  for (int k = 0; k < count; k++) {
    char why[256] = "";
    if (list[k]->probe->count(why, sizeof why) > 0)
      test(list[k]);
    else
      printf("# no %s: %s\n", list[k]->name, why);
  }
}
#endif
