/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "study/global_particles.h"

#include <stdlib.h>
#include <string.h>

#include "backend/let_sizes.h"
#include "base/memory.h"
#include "tuning/tuning.h"
#include "scheme/schemes.h"

static const struct backend *const be = &backend_cpu;

/* --- particles --------------------------------------------------------------------------------------------------- */

struct labelled {
  uint64_t id;
  int64_t at;
};

static int by_id(const void *a, const void *b)
{
  uint64_t x = ((const struct labelled *)a)->id, y = ((const struct labelled *)b)->id;
  return (x > y) - (x < y);
}

/* Unpack n particles in ascending order of id. */
static void unpack_sorted(struct particles *particles, const char *packed, int64_t n)
{
  struct labelled *order = memory_alloc("study", sizeof *order * (size_t)(n + 1));
  size_t bytes = particle_bytes();
  particles_reserve(particles, n + 1);
  for (int64_t i = 0; i < n; i++) { /* read the ids by unpacking each particle into the first slot */
    particles_unpack(particles, 0, packed + bytes * (size_t)i);
    order[i] = (struct labelled){particles->id[0], i};
  }
  qsort(order, (size_t)n, sizeof *order, by_id);
  for (int64_t i = 0; i < n; i++) particles_unpack(particles, i, packed + bytes * (size_t)order[i].at);
  particles->n = n;
  memory_free(order);
}

void global_particles_gather(struct global_particles *world, const struct sim *sim, double soft_step)
{
  const struct particles *p = sim->be->view(sim->dev);
  size_t bytes = particle_bytes(), total;
  char *mine = memory_alloc("study", bytes * (size_t)(p->n + 1));
  for (int64_t i = 0; i < p->n; i++) particles_pack(p, i, mine + bytes * (size_t)i);
  char *packed = comm_gather(sim->comm, mine, bytes * (size_t)p->n, &total);
  memory_free(mine);
  *world = (struct global_particles){.par = sim->par,
                                     .gravity = sim->force.gravity,
                                     .lattice = sim->lattice,
                                     .mac = sim->force.mac,
                                     .a_floor = sim->force.a_floor,
                                     .a_typical = sim->now.a_rms_plain,
                                     .cutoff = scheme_split(sim) ? sim->force.split.r2 : -1,
                                     .soft_step = soft_step,
                                     .softening = sim->force.softening};
  unpack_sorted(&world->all, packed, (int64_t)(total / bytes));
  memory_free(packed);
}

void global_particles_free(struct global_particles *world) { particles_free(&world->all); }

struct let_request global_particles_request(const struct global_particles *world, enum let_kind kind)
{
  struct let_request r = {.mac = &world->mac,
                          .a_floor = world->a_floor,
                          .a_typical = world->a_typical,
                          .cutoff = -1,
                          .eps2 = softening_classes2(&world->softening),
                          .as_device = world->as_device};
  let_tops(be, &r);
  if (world->as_device) r.quads = let_device_quads(&r);
  if (kind == LET_SOFT) return r;
  r.cutoff = world->cutoff;
  r.horizon = world->soft_step;
  r.tick_length = world->soft_step / TICKS;
  return r;
}

void global_particles_sort_by_id(struct device *d)
{
  struct particles p;
  be->download(d, &p);
  struct labelled *label = memory_alloc("study", sizeof *label * (size_t)(p.n + 1));
  int32_t *order = memory_alloc("study", sizeof *order * (size_t)(p.n + 1));
  for (int64_t i = 0; i < p.n; i++) label[i] = (struct labelled){p.id[i], i};
  qsort(label, (size_t)p.n, sizeof *label, by_id);
  for (int64_t i = 0; i < p.n; i++) order[i] = (int32_t)label[i].at;
  void *scratch = memory_alloc("study", particles_scratch_bytes(p.n));
  particles_permute(&p, order, scratch);
  be->upload(d, &p);
  memory_free(scratch);
  memory_free(order);
  memory_free(label);
}

/* Make the groups, of the width that they have in a run without tuning. */
static void make_groups(const struct global_particles *world, struct device *d)
{
  be->tree.tune(d, TUNABLE_GROUP_WIDTH, tuning_width(world->par->MaxGroupWidth, world->lattice.spacing * LATTICE_SIDE));
  be->tree.groups(d);
}

/* --- trees and domains ------------------------------------------------------------------------------------------- */

/* Particles of a group: on a GPU at most 48, with quadrupole cells 64. */
static int max_group(const struct global_particles *world)
{
  int most = params_order(world->par) == 2 ? 64 : 48;
  return world->as_device && world->par->MaxGroupSize > most ? most : world->par->MaxGroupSize;
}

struct device *global_particles_open_device(const struct global_particles *world, int ranks)
{
  struct device_config config = {.gravity = world->gravity,
                                 .max_leaf = world->par->MaxLeafSize,
                                 .max_group = max_group(world),
                                 .quadrupole = params_order(world->par) == 2,
                                 .ranks = ranks};
  config.softening = params_softening(world->par, config.softening_of);
  return be->open(&config);
}

void global_particles_build_tree(const struct global_particles *world, struct device *d, const struct domain *domain,
                                 int rank)
{
  double low[3], high[3];
  domain_cuboid(domain, rank, low, high);
  be->tree.order(d, &world->lattice);
  be->tree.build(d, low, high);
  be->tree.sources(d);
  be->tree.moments(d, &world->mac, 0, world->soft_step / TICKS);
  make_groups(world, d);
}

void global_particles_rebuild_tree(const struct global_particles *world, struct device *d, const struct domain *domain,
                                   int rank, int32_t tick)
{
  double low[3], high[3], tick_length = world->soft_step / TICKS;
  int64_t outside = 0;
  domain_cuboid(domain, rank, low, high);
  be->tree.reorder(d, tick, tick_length, 0, 0);
  be->tree.build(d, low, high);
  make_groups(world, d);
  be->steps.select(d, tick, tick_length, &outside);
  be->tree.moments(d, &world->mac, tick, tick_length);
}

void global_particles_open_domain(const struct global_particles *world, int ranks, struct domain *domain)
{
  int grid[3];
  params_grid(world->par->DomainGrid, grid);
  if ((double)grid[0] * grid[1] * grid[2] == ranks) domain_open_grid(domain, ranks, grid);
  else domain_open(domain, ranks);
  domain->align = ranks > 1;
}

/* Set the lattice to which the domain boundaries are aligned, from the bounds of the particles in the soft step.
 * Collective. */
static void set_lattice(const struct comm *comm, struct global_particles *world, struct device *d,
                        const struct domain *domain)
{
  double box[6];
  be->sets.bounds(d, world->soft_step, box, box + 3);
  for (int k = 0; k < 3; k++) box[k] = -box[k];
  comm_max_double(comm, box, 6);
  for (int k = 0; k < 3; k++) box[k] = -box[k];
  world->lattice = domain_lattice(domain, box, params_softening(world->par, NULL));
}

void global_particles_cut(const struct comm *comm, struct global_particles *world, struct domain *domain)
{
  struct device *d = global_particles_open_device(world, 1);
  struct particles none, *all = comm->rank == 0 ? &world->all : &none;
  particles_init(&none);
  be->upload(d, all);
  struct domain_load even = {.by_work = 0};
  domain_decompose(domain, comm, be, d, world->par->SamplingRate, &even);
  set_lattice(comm, world, d, domain);
  be->download(d, all);
  particles_free(&none);
  be->close(d);
}
