/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The same exchanges by real ranks, for comparison. */
#include <config.h>
#include "study/virtual.h"

#include <string.h>

#include "backend/let_verbs.h"
#include "base/memory.h"

static const struct backend *const be = &backend_cpu;

/* Give each rank an equal part of the particles, migrate them to the owner ranks, and build the trees. Sets the numbers
 * of domains. Collective. */
static void migrate(const struct comm *comm, struct global_particles *world, struct device *d, int grid[3])
{
  struct domain domain;
  struct particles p;
  int64_t begin = world->all.n * comm->rank / comm->size, end = world->all.n * (comm->rank + 1) / comm->size;
  global_particles_open_domain(world, comm->size, &domain);
  global_particles_cut(comm, world, &domain);
  particles_init(&p);
  particles_reserve(&p, end - begin + 1);
  for (int64_t i = begin; i < end; i++) particles_copy(&p, p.n++, &world->all, i);
  be->upload(d, &p);
  domain_exchange(&domain, comm, be, d, NULL, 0, 0);
  global_particles_sort_by_id(d);
  global_particles_build_tree(world, d, &domain, comm->rank);
  grid[0] = domain.px;
  grid[1] = domain.py;
  grid[2] = domain.pz;
  domain_close(&domain);
}

/* Exchange and walk soft LETs: all have arrived when they have been walked. Collective. */
static void exchange_soft(const struct global_particles *world, struct lets *lets, struct virtual_rank *row)
{
  struct tally tally = {0};
  struct walk_request walk = {.kind = WALK_TOTAL, .mac = world->mac, .a_floor = world->a_floor, .let = LET_SOFT};
  struct let_request request = global_particles_request(world, LET_SOFT);
  let_exchange(lets, LET_SOFT, &world->lattice, request, TICKS, &row->let[LET_SOFT]);
  let_walk(lets, walk, &tally, &row->let[LET_SOFT]);
}

/* Exchange the LETs of the substeps, and the updates of a substep in the middle of the soft step in which all particles
 * are corrected. Collective. */
static void exchange_step(const struct global_particles *world, struct device *d, struct lets *lets,
                          struct virtual_rank *row)
{
  enum { LEVEL = 1, MIDDLE = TICKS / 2 };
  double tick_length = world->soft_step / TICKS;
  struct step_rule rule = {.soft_step = world->soft_step};
  struct let_traffic updates = {.bytes = 0};
  int64_t outside = 0;
  be->steps.levels(d, &rule, LEVEL);
  let_exchange(lets, LET_STEP, &world->lattice, global_particles_request(world, LET_STEP), MIDDLE, &row->let[LET_STEP]);
  let_take_updates(lets, 0, &row->let[LET_STEP]);
  be->steps.select(d, MIDDLE, tick_length, &outside);
  be->tree.moments(d, &world->mac, MIDDLE, tick_length);
  be->steps.correct(d, MIDDLE, tick_length, &rule, LEVEL);
  let_send_updates(lets, MIDDLE, 1, TICKS, &updates);
  let_take_updates(lets, TICKS, &updates);
  row->updates = updates.bytes;
}

/* Exchange LETs of one kind, from the initial state of the particles. Collective. */
static void exchange(const struct comm *comm, struct global_particles *world, enum let_kind kind,
                     struct virtual_rank *row)
{
  struct device *d = global_particles_open_device(world, comm->size);
  int grid[3];
  migrate(comm, world, d, grid);
  row->local = be->count(d);
  struct lets *lets = lets_open(comm, be, d, NULL, grid);
  if (kind == LET_SOFT) exchange_soft(world, lets, row);
  else exchange_step(world, d, lets, row);
  lets_close(lets);
  struct particles p;
  be->download(d, &p);
  particles_free(&p);
  be->close(d);
}

void virtual_real(const struct comm *comm, struct global_particles *world, int kinds, struct virtual_rank *row)
{
  memset(row, 0, sizeof *row);
  for (int kind = 0; kind < LET_KINDS; kind++)
    if (kinds >> kind & 1) exchange(comm, world, (enum let_kind)kind, row);
}

int virtual_differ(const struct virtual_rank *counted, const struct virtual_rank *real, int rank, int kinds,
                   struct fault *fault)
{
  static const char *const names[] = {"cells received", "particles received",      "messages sent",
                                      "bytes sent",     "messages with summaries", "bytes of these"};
  if (counted->local != real->local)
    return fault_set(fault, "rank %d has %lld particles, its virtual one %lld", rank, (long long)real->local,
                     (long long)counted->local);
  for (int kind = 0; kind < LET_KINDS; kind++) {
    const struct let_traffic *a = &real->let[kind], *b = &counted->let[kind];
    const int64_t pair[][2] = {{a->received.cells, b->received.cells},
                               {a->received.particles, b->received.particles},
                               {a->messages, b->messages},
                               {a->bytes, b->bytes},
                               {a->summary_messages, counted->summaries[kind].messages},
                               {a->summary_bytes, counted->summaries[kind].bytes}};
    for (int k = 0; k < 6 && kinds >> kind & 1; k++)
      if (pair[k][0] != pair[k][1])
        return fault_set(fault, "%s, %s LETs: rank %d has %lld, its virtual one %lld", names[k],
                         kind == LET_SOFT ? "soft" : "hard", rank, (long long)pair[k][0], (long long)pair[k][1]);
  }
  if (kinds & 1 << LET_STEP && counted->updates != real->updates)
    return fault_set(fault, "bytes of updates: rank %d sends %lld, its virtual one %lld", rank,
                     (long long)real->updates, (long long)counted->updates);
  return 0;
}
