/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "mpi/halo.h"

#include <string.h>

#include "base/memory.h"
#include "mpi/message.h"

/* The ranks with which this rank exchanges messages, ascending. */
struct contacts {
  int count;
  int *rank;           /* [count] */
  double (*box)[6];    /* [count] */
  struct inbox *inbox; /* [count] */
};

/* Gather the boxes of all ranks, and keep those near this rank's box. */
static void find_contacts(struct contacts *near, const struct comm *comm, const struct backend *be, struct device *d,
                          const struct list_request *request)
{
  double mine[6], (*all)[6] = memory_alloc("halo", sizeof *all * (size_t)comm->size), width = halo_width(request);
  double margin = request->units && request->soft_step > 0 ? halo_speed(request) * request->soft_step : 0;
  be->sets.bounds(d, request->units ? 0 : request->soft_step, mine, mine + 3); /* stars of pairs stay where they are */
  for (int c = 0; c < 3; c++) {
    mine[c] -= margin;
    mine[3 + c] += margin;
  }
  comm_allgather(comm, mine, sizeof mine, all);
  *near = (struct contacts){.rank = memory_alloc("halo", sizeof *near->rank * (size_t)comm->size)};
  for (int p = 0; p < comm->size; p++) {
    if (p == comm->rank || reach_empty(mine) || reach_empty(all[p]) || reach_boxes2(mine, all[p]) > width * width)
      continue;
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

static void *buffer(void *of, int peer, size_t bytes)
{
  (void)of;
  (void)peer;
  return memory_alloc("halo", bytes);
}

/* Wait for the messages of all contacts. Returns the number of particles in them. */
static int64_t receive_all(struct contacts *near, const struct comm *comm)
{
  struct poll_backoff poll_backoff = {0};
  int64_t n = 0;
  for (int arrived = 0; arrived < near->count;) {
    /* parts of all proceed */
    for (int k = arrived + 1; k < near->count; k++) inbox_poll(&near->inbox[k], comm, buffer, NULL);
    if (!inbox_poll(&near->inbox[arrived], comm, buffer, NULL)) {
      comm_backoff(comm, &poll_backoff, near->rank[arrived]);
      continue;
    }
    comm_backoff_end(&poll_backoff);
    n += (int64_t)(near->inbox[arrived++].bytes / sizeof(struct halo_particle));
  }
  return n;
}

int64_t halo_exchange(struct halo *halo, const struct comm *comm, const struct backend *be, struct device *d,
                      const struct list_request *request)
{
  struct contacts near;
  struct outbox out;
  halo_free(halo);
  if (comm->size == 1) return 0;
  find_contacts(&near, comm, be, d, request);
  for (int k = 0; k < near.count; k++) {
    inbox_open(&near.inbox[k], near.rank[k], MESSAGE_HALO);
    inbox_expect(&near.inbox[k], comm);
  }
  int64_t *counts = memory_alloc("halo", sizeof *counts * (size_t)near.count), at = 0;
  struct halo_particle *mine =
      near.count ? be->neighbour_lists->halo(d, request, near.count, (const double(*)[6])near.box, -1, counts) : NULL;
  outbox_open(&out, comm);
  for (int k = 0; k < near.count; k++) {
    size_t bytes = sizeof *mine * (size_t)counts[k];
    outbox_send(&out, near.rank[k], MESSAGE_HALO, 0, mine + at, bytes, OUTBOX_BORROWS);
    halo->messages += message_part_count(comm, bytes);
    halo->bytes += (int64_t)(bytes + MESSAGE_HEAD);
    at += counts[k];
  }
  halo->sent += at;
  halo->peers = near.count;
  halo->n = receive_all(&near, comm);
  halo->particle = memory_alloc("halo", sizeof *halo->particle * (size_t)halo->n);
  size_t filled = 0;
  for (int k = 0; k < near.count; k++) {
    memcpy((char *)halo->particle + filled, near.inbox[k].data, near.inbox[k].bytes);
    filled += near.inbox[k].bytes;
    memory_free(near.inbox[k].data);
    inbox_done(&near.inbox[k]);
  }
  outbox_close(&out);
  memory_free(mine);
  memory_free(counts);
  free_contacts(&near);
  return halo->n;
}

void halo_free(struct halo *halo)
{
  memory_free(halo->particle);
  halo->particle = NULL;
  halo->n = 0;
  halo->peers = 0;
}
