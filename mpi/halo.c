/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "mpi/halo.h"

#include <string.h>

#include "base/memory.h"
#include "mpi/message.h"

/* The ranks with which this rank exchanges messages, ascending. */
struct contacts {
  int count;
  int *rank;             /* [count] */
  double (*box)[6];      /* [count] */
  struct inbox *inbox;   /* [count] */
};

/* Gather the boxes of all ranks, and keep those near this rank's box. */
static void find_contacts(struct contacts *near, const struct comm *c, const struct backend *be, struct device *d,
                          const struct hard_request *r)
{
  double mine[6], (*all)[6] = memory_alloc("halo", sizeof *all * (size_t)c->size), width = halo_width(r);
  be->bounds(d, r->soft_step, mine, mine + 3);
  comm_allgather(c, mine, sizeof mine, all);
  *near = (struct contacts){.rank = memory_alloc("halo", sizeof *near->rank * (size_t)c->size)};
  for (int p = 0; p < c->size; p++) {
    if (p == c->rank || reach_empty(mine) || reach_empty(all[p]) || reach_boxes2(mine, all[p]) > width * width) continue;
    memcpy(all[near->count], all[p], sizeof *all);
    near->rank[near->count++] = p;
  }
  near->box = memory_resize("halo", all, sizeof *all * (size_t)near->count);
  near->inbox = memory_alloc("halo", sizeof *near->inbox * (size_t)near->count);
}

static void free_contacts(struct contacts *near)
{
  for (int k = 0; k < near->count; k++) inbox_close(&near->inbox[k]);
  memory_free(near->inbox);
  memory_free(near->box);
  memory_free(near->rank);
}

static void *room(void *of, int peer, size_t bytes)
{
  (void)of, (void)peer;
  return memory_alloc("halo", bytes);
}

/* Wait for the messages of all contacts. Returns the number of particles in them. */
static int64_t receive_all(struct contacts *near, const struct comm *c)
{
  struct poll_backoff poll_backoff = {0};
  int64_t n = 0;
  for (int arrived = 0; arrived < near->count;) {
    for (int k = arrived + 1; k < near->count; k++) inbox_poll(&near->inbox[k], c, room, NULL);   /* parts of all proceed */
    if (!inbox_poll(&near->inbox[arrived], c, room, NULL)) {
      comm_backoff(c, &poll_backoff, near->rank[arrived]);
      continue;
    }
    comm_backoff_end(&poll_backoff);
    n += (int64_t)(near->inbox[arrived++].bytes / sizeof(struct halo_particle));
  }
  return n;
}

int64_t halo_exchange(struct halo *h, const struct comm *c, const struct backend *be, struct device *d, const struct hard_request *r)
{
  struct contacts near;
  struct outbox out;
  halo_free(h);
  if (c->size == 1) return 0;
  find_contacts(&near, c, be, d, r);
  for (int k = 0; k < near.count; k++) {
    inbox_open(&near.inbox[k], near.rank[k], MESSAGE_HALO);
    inbox_expect(&near.inbox[k], c);
  }
  int64_t *counts = memory_alloc("halo", sizeof *counts * (size_t)near.count), at = 0;
  struct halo_particle *mine = near.count ? be->hard->halo(d, r, near.count, (const double(*)[6])near.box, -1, counts) : NULL;
  outbox_open(&out, c);
  for (int k = 0; k < near.count; k++) {
    size_t bytes = sizeof *mine * (size_t)counts[k];
    outbox_send(&out, near.rank[k], MESSAGE_HALO, 0, mine + at, bytes, OUTBOX_BORROWS);
    h->messages += message_part_count(c, bytes);
    h->bytes += (int64_t)(bytes + MESSAGE_HEAD);
    at += counts[k];
  }
  h->sent += at;
  h->peers = near.count;
  h->n = receive_all(&near, c);
  h->particle = memory_alloc("halo", sizeof *h->particle * (size_t)h->n);
  size_t filled = 0;
  for (int k = 0; k < near.count; k++) {
    memcpy((char *)h->particle + filled, near.inbox[k].data, near.inbox[k].bytes);
    filled += near.inbox[k].bytes;
    memory_free(near.inbox[k].data);
    inbox_done(&near.inbox[k]);
  }
  outbox_close(&out);
  memory_free(mine);
  memory_free(counts);
  free_contacts(&near);
  return h->n;
}

void halo_free(struct halo *h)
{
  memory_free(h->particle);
  h->particle = NULL;
  h->n = 0;
  h->peers = 0;
}
