/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "let.h"

#include <string.h>

#include "memory.h"

enum { BOXES = 64 };   /* of a rank: enough to follow its shape, few enough to be looped over for every cell */

/* The boxes of all ranks: boxes[rank * BOXES], count[rank] of them. */
static struct let_box *publish(const struct comm *c, const struct backend *be, struct device *d, int *count)
{
  struct let_box *all = memory_alloc("let", sizeof *all * BOXES * (size_t)c->size);
  struct let_box *mine = memory_alloc("let", sizeof *mine * BOXES);
  int n = be->boxes(d, BOXES, mine);
  MPI_Allgather(&n, 1, MPI_INT, count, 1, MPI_INT, c->mpi);
  MPI_Allgather(mine, sizeof *mine * BOXES, MPI_BYTE, all, sizeof *all * BOXES, MPI_BYTE, c->mpi);
  memory_free(mine);
  return all;
}

/* Where each peer's message is, and how long. */
struct post {
  const void **send;
  void **receive;
  size_t *sent, *received;
};

static struct post post_open(int size)
{
  struct post p;
  size_t n = (size_t)size;
  p.send = memory_alloc("let", sizeof *p.send * n);
  p.receive = memory_alloc("let", sizeof *p.receive * n);
  p.sent = memory_alloc("let", sizeof *p.sent * n);
  p.received = memory_alloc("let", sizeof *p.received * n);
  return p;
}

static void post_close(struct post *p)
{
  memory_free(p->send);
  memory_free(p->receive);
  memory_free(p->sent);
  memory_free(p->received);
}

static void deliver(const struct comm *c, const struct backend *be, struct device *d, enum let_kind kind, struct post *p,
                    struct let_traffic *traffic)
{
  MPI_Alltoall(p->sent, sizeof *p->sent, MPI_BYTE, p->received, sizeof *p->received, MPI_BYTE, c->mpi);
  for (int r = 0; r < c->size; r++) {
    p->receive[r] = be->let_room(d, kind, r, p->received[r]);
    traffic->bytes += (int64_t)p->sent[r];
  }
  comm_exchange_known(c, p->send, p->sent, p->receive, p->received);
  for (int r = 0; r < c->size; r++) be->let_attach(d, kind, r, p->received[r], &traffic->received);
}

void let_exchange(const struct comm *c, const struct backend *be, struct device *d, enum let_kind kind, struct let_request request,
                  struct let_traffic *traffic)
{
  be->let_clear(d, kind);
  if (c->size == 1) return;
  int *count = memory_alloc("let", sizeof *count * (size_t)c->size);
  struct let_box *boxes = publish(c, be, d, count);
  struct post p = post_open(c->size);
  for (int r = 0; r < c->size; r++) {
    if (r == c->rank) continue;
    void *message;
    request.boxes = boxes + (size_t)r * BOXES;
    request.box_count = count[r];
    p.sent[r] = be->let_select(d, kind, r, &request, &message);
    p.send[r] = message;
  }
  deliver(c, be, d, kind, &p, traffic);
  post_close(&p);
  memory_free(boxes);
  memory_free(count);
}

void let_refresh(const struct comm *c, const struct backend *be, struct device *d, enum let_kind kind, struct let_traffic *traffic)
{
  if (c->size == 1) return;
  struct post p = post_open(c->size);
  struct let_count chosen = traffic->received;
  for (int r = 0; r < c->size; r++) {
    if (r == c->rank) continue;
    void *message;
    p.sent[r] = be->let_refresh(d, kind, r, &message);
    p.send[r] = message;
  }
  deliver(c, be, d, kind, &p, traffic);
  traffic->received = chosen;   /* the same entries */
  post_close(&p);
}
