/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "forecast/more_pairs.h"

#include <string.h>

#include "backend/let_verbs.h"
#include "base/memory.h"
#include "mpi/start.h"
#include "study/virtual_parts.h"
#include "tree/upper.h"

static const struct backend *const be = &backend_cpu;

/* The LETs of all pairs of ranks. */
struct walking {
  void **message; /* [ranks * ranks] of a sender and a receiver */
  size_t *bytes;  /* of it */
  int *peers;     /* [ranks] trees that a rank walks beside its own */
  struct tally tally;
};

/* Callback: keep a LET. */
static void keep(struct virtual_exchange *exchange, int sender, const struct virtual_let *let)
{
  struct walking *k = exchange->call.sink;
  size_t at = (size_t)sender * (size_t)exchange->ranks + (size_t)let->receiver;
  k->bytes[at] = let->message_bytes;
  k->message[at] = let->message;
}

/* Give the device the cells that a receiver needs of summaries alone, of ranks and of groups. Returns whether there are
 * any. */
static int attach_upper(struct virtual_exchange *exchange, int receiver)
{
  const struct virtual_gathered *q = &exchange->gather.rank[receiver];
  const struct let_summary *own = &exchange->summary[receiver];
  const struct let_top **top = memory_alloc("study", sizeof *top * (size_t)(q->count + q->groups + 1));
  struct let_request r = exchange->request;
  struct upper u;
  int count = 0;
  for (int k = 0; k < q->count; k++) {
    const struct let_summary *sender = &exchange->summary[q->known[k]];
    if (let_contact(&exchange->w->lattice, sender, own, &exchange->request) == NEED_CELL) top[count++] = &sender->top;
  }
  for (int k = 0; k < q->groups; k++) {
    const struct let_summary *group = exchange->gather.table[q->group[k]];
    if (group && group->top.cells > 0) top[count++] = &group->top;
  }
  r.boxes = exchange->boxes[receiver];
  r.box_count = own->boxes;
  upper_open(&u, count);
  for (int k = 0; k < count; k++) upper_add(&u, &exchange->w->lattice, top[k], &own->box, &r);
  upper_finish(&u);
  be->let->upper(exchange->d[0], LET_SOFT, receiver, u.nodes, u.node, (const float(*)[6])u.quad);
  upper_free(&u);
  memory_free(top);
  return count > 0;
}

/* Attach the LETs that a rank receives. Returns their number. */
static int attach_lets(struct virtual_exchange *exchange, int receiver)
{
  struct walking *k = exchange->call.sink;
  struct let_count count = {0};
  int trees = 0;
  if (attach_upper(exchange, receiver)) k->peers[trees++] = receiver;
  for (int s = 0; s < exchange->ranks; s++) {
    size_t at = (size_t)s * (size_t)exchange->ranks + (size_t)receiver;
    if (k->bytes[at] == 0) continue;
    memcpy(be->let->buffer(exchange->d[0], LET_SOFT, s, k->bytes[at]), k->message[at], k->bytes[at]);
    be->let->attach(exchange->d[0], LET_SOFT, s, k->bytes[at], &count);
    memory_free(k->message[at]);
    k->message[at] = NULL;
    k->peers[trees++] = s;
  }
  return trees;
}

/* Callback: each domain walks. */
static void walk_all(struct virtual_exchange *exchange)
{
  struct walking *k = exchange->call.sink;
  for (int r = 0; r < exchange->ranks; r++) {
    be->let->clear(exchange->d[0], LET_SOFT);
    virtual_build_tree(exchange, exchange->d[0], r);
    int trees = exchange->ranks > 1 ? attach_lets(exchange, r) : 0;
    struct walk_request walk = {.kind = WALK_TOTAL,
                                .mac = exchange->w->mac,
                                .a_floor = exchange->w->a_floor,
                                .let = LET_SOFT,
                                .local = 1,
                                .last = trees == 0};
    be->forces.walk(exchange->d[0], &walk, &k->tally);
    if (trees == 0) continue;
    walk.local = 0;
    walk.last = 1;
    walk.peers = k->peers;
    walk.peer_count = trees;
    be->forces.walk(exchange->d[0], &walk, &k->tally);
  }
  be->let->clear(exchange->d[0], LET_SOFT);
}

/* On one process. */
static double count_pairs(struct global_particles *world, int ranks)
{
  struct comm self;
  size_t n = (size_t)ranks;
  struct walking k = {.message = memory_alloc("study", sizeof *k.message * n * n),
                      .bytes = memory_alloc("study", sizeof *k.bytes * n * n),
                      .peers = memory_alloc("study", sizeof *k.peers * (n + 1))};
  start_alone(&self);
  struct virtual_exchange l = {.c = &self,
                               .w = world,
                               .ranks = ranks,
                               .device_ranks = ranks,
                               .call = {.selected = keep, .received = walk_all, .sink = &k},
                               .kind = LET_SOFT,
                               .keep = 1,
                               .progress.share = 1};
  virtual_open(&l);
  l.request = global_particles_request(world, LET_SOFT);
  virtual_exchange_lets(&l);
  virtual_close(&l);
  comm_close(&self);
  memory_free(k.peers);
  memory_free(k.bytes);
  memory_free(k.message);
  return (double)(k.tally.particle_pairs + k.tally.cell_pairs);
}

double virtual_walk_pairs(const struct comm *comm, struct global_particles *world, int ranks)
{
  struct lattice lattice = world->lattice;
  double pairs = comm->rank == 0 ? count_pairs(world, ranks) : 0;
  world->lattice = lattice;
  comm_sum_double(comm, &pairs, 1);
  return pairs;
}
