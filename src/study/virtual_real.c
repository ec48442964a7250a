/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The same exchanges by real ranks, for comparison. */
#include <config.h>
#include "study/virtual.h"

#include <string.h>

#include "backend/let_verbs.h"
#include "base/memory.h"

static const struct backend *const be = &backend_cpu;

/* Give each rank an equal part of the particles, migrate them to the owner ranks, and build the trees. Sets the numbers of domains. Collective. */
static void migrate(const struct comm *c, struct global_particles *w, struct device *d, int grid[3])
{
  struct domain domain;
  struct particles p;
  int64_t begin = w->all.n * c->rank / c->size, end = w->all.n * (c->rank + 1) / c->size;
  global_particles_open_domain(w, c->size, &domain);
  global_particles_cut(c, w, &domain);
  particles_init(&p);
  particles_reserve(&p, end - begin + 1);
  for (int64_t i = begin; i < end; i++) particles_copy(&p, p.n++, &w->all, i);
  be->upload(d, &p);
  domain_exchange(&domain, c, be, d, NULL, 0, 0);
  global_particles_sort_by_id(d);
  global_particles_build_tree(w, d, &domain, c->rank);
  grid[0] = domain.px, grid[1] = domain.py, grid[2] = domain.pz;
  domain_close(&domain);
}

/* Exchange and walk soft LETs: all have arrived when they have been walked. Collective. */
static void exchange_soft(const struct global_particles *w, struct lets *lets, struct virtual_rank *row)
{
  struct tally tally = {0};
  struct walk_request walk = {.kind = WALK_TOTAL, .mac = w->mac, .a_floor = w->a_floor, .let = LET_SOFT};
  struct let_request request = global_particles_request(w, LET_SOFT);
  let_exchange(lets, LET_SOFT, &w->lattice, request, TICKS, &row->let[LET_SOFT]);
  let_walk(lets, walk, &tally, &row->let[LET_SOFT]);
}

/* Exchange the LETs of the substeps, and the updates of a substep in the middle of the soft step in which all particles are corrected.
 * Collective. */
static void exchange_step(const struct global_particles *w, struct device *d, struct lets *lets, struct virtual_rank *row)
{
  enum { LEVEL = 1, MIDDLE = TICKS / 2 };
  double tick_length = w->soft_step / TICKS;
  struct step_rule rule = {.soft_step = w->soft_step};
  struct let_traffic updates = {.bytes = 0};
  int64_t outside = 0;
  be->levels(d, &rule, LEVEL);
  let_exchange(lets, LET_STEP, &w->lattice, global_particles_request(w, LET_STEP), MIDDLE, &row->let[LET_STEP]);
  let_take_updates(lets, 0, &row->let[LET_STEP]);
  be->select(d, MIDDLE, tick_length, &outside);
  be->moments(d, &w->mac, MIDDLE, tick_length);
  be->correct(d, MIDDLE, tick_length, &rule, LEVEL);
  let_send_updates(lets, MIDDLE, 1, TICKS, &updates);
  let_take_updates(lets, TICKS, &updates);
  row->updates = updates.bytes;
}

/* Exchange LETs of one kind, from the initial state of the particles. Collective. */
static void exchange(const struct comm *c, struct global_particles *w, enum let_kind kind, struct virtual_rank *row)
{
  struct device *d = global_particles_open_device(w, c->size);
  int grid[3];
  migrate(c, w, d, grid);
  row->local = be->count(d);
  struct lets *lets = lets_open(c, be, d, NULL, grid);
  if (kind == LET_SOFT)
    exchange_soft(w, lets, row);
  else
    exchange_step(w, d, lets, row);
  lets_close(lets);
  struct particles p;
  be->download(d, &p);
  particles_free(&p);
  be->close(d);
}

void virtual_real(const struct comm *c, struct global_particles *w, int kinds, struct virtual_rank *row)
{
  memset(row, 0, sizeof *row);
  for (int kind = 0; kind < LET_KINDS; kind++)
    if (kinds >> kind & 1) exchange(c, w, (enum let_kind)kind, row);
}

int virtual_differ(const struct virtual_rank *counted, const struct virtual_rank *real, int rank, int kinds, struct fault *f)
{
  static const char *const names[] = {"cells received", "particles received", "messages sent", "bytes sent", "messages with summaries", "bytes of these"};
  if (counted->local != real->local)
    return fault_set(f, "rank %d has %lld particles, its virtual one %lld", rank, (long long)real->local, (long long)counted->local);
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
        return fault_set(f, "%s, %s LETs: rank %d has %lld, its virtual one %lld", names[k], kind == LET_SOFT ? "soft" : "hard", rank,
                         (long long)pair[k][0], (long long)pair[k][1]);
  }
  if (kinds & 1 << LET_STEP && counted->updates != real->updates)
    return fault_set(f, "bytes of updates: rank %d sends %lld, its virtual one %lld", rank, (long long)real->updates,
                     (long long)counted->updates);
  return 0;
}
