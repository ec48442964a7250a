/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "mpi/message.h"

#include <string.h>

#include "base/memory.h"

/* Head of a message of several parts. */
struct head {
  uint64_t bytes;
  int32_t note, pad;
};
_Static_assert(sizeof(struct head) == MESSAGE_HEAD, "messages are counted with it");
enum { FIRST_MAX = 32768 };   /* bytes of the first message, its head included */

enum { IDLE, HEAD, PIECES, COMPLETE };

struct flight {
  int peer, tag, borrowed;
  MPI_Request *request;
  int requests;
  void *first, *own;   /* the first part; the data, or the rest of them, if they belong to the outbox */
};

/* Bytes of a message that are in its first part, after the head. */
static size_t first_bytes(const struct comm *c, size_t bytes)
{
  size_t limit = c->largest_message < FIRST_MAX ? c->largest_message : FIRST_MAX;
  size_t room = limit > sizeof(struct head) ? limit - sizeof(struct head) : 0;
  return bytes < room ? bytes : room;
}

static int pieces(const struct comm *c, size_t bytes) { return (int)((bytes + c->largest_message - 1) / c->largest_message); }

int message_part_count(const struct comm *c, size_t bytes) { return 1 + pieces(c, bytes - first_bytes(c, bytes)); }

/* --- sending ----------------------------------------------------------------------------------------------------- */

void outbox_open(struct outbox *o, const struct comm *c) { *o = (struct outbox){.c = c}; }

void outbox_close(struct outbox *o)
{
  outbox_flush(o);
  memory_free(o->flight);
}

void outbox_send(struct outbox *o, int peer, int tag, int32_t note, const void *data, size_t bytes, enum outbox_data use)
{
  const struct comm *c = o->c;
  size_t first = first_bytes(c, bytes);
  if (o->count == o->capacity) {
    o->capacity = 2 * o->capacity + 16;
    o->flight = memory_resize("messages", o->flight, sizeof *o->flight * (size_t)o->capacity);
  }
  struct flight *f = &o->flight[o->count++];
  *f = (struct flight){.peer = peer, .tag = tag, .borrowed = use == OUTBOX_BORROWS, .first = memory_alloc("messages", sizeof(struct head) + first)};
  struct head head = {.bytes = bytes, .note = note};
  memcpy(f->first, &head, sizeof head);
  if (first) memcpy((char *)f->first + sizeof head, data, first);
  const char *rest = (const char *)data + first;
  if (use == OUTBOX_TAKES) f->own = (void *)(uintptr_t)data;
  if (use == OUTBOX_COPIES && bytes > first) rest = f->own = memcpy(memory_alloc("messages", bytes - first), rest, bytes - first);
  f->request = memory_alloc("messages", sizeof *f->request * (size_t)(1 + pieces(c, bytes - first)));
  MPI_Isend(f->first, (int)(sizeof head + first), MPI_BYTE, peer, tag, c->mpi, &f->request[f->requests++]);
  comm_sent(c, peer, tag, sizeof head + first);
  for (size_t at = 0; at < bytes - first; at += c->largest_message) {
    size_t piece = bytes - first - at < c->largest_message ? bytes - first - at : c->largest_message;
    MPI_Isend(rest + at, (int)piece, MPI_BYTE, peer, tag, c->mpi, &f->request[f->requests++]);
    comm_sent(c, peer, tag, piece);
  }
}

static void let_go(struct outbox *o, int k)
{
  if (o->flight[k].borrowed && o->sent) o->sent(o->of, o->flight[k].peer, o->flight[k].tag);
  memory_free(o->flight[k].request);
  memory_free(o->flight[k].first);
  memory_free(o->flight[k].own);
  o->flight[k] = o->flight[--o->count];
}

int outbox_tidy(struct outbox *o)
{
  for (int k = o->count - 1; k >= 0; k--) {
    int done;
    MPI_Testall(o->flight[k].requests, o->flight[k].request, &done, MPI_STATUSES_IGNORE);
    if (done) let_go(o, k);
  }
  return o->count;
}

void outbox_flush(struct outbox *o)
{
  for (int k = 0; k < o->count; k++)
    for (int i = 0; i < o->flight[k].requests; i++) comm_wait_peers(o->c, 1, &o->flight[k].request[i], &o->flight[k].peer);
  while (o->count > 0) let_go(o, o->count - 1);
}

/* --- receiving --------------------------------------------------------------------------------------------------- */

void inbox_open(struct inbox *i, int peer, int tag) { *i = (struct inbox){.peer = peer, .tag = tag, .state = IDLE}; }

static void need_requests(struct inbox *i, int count)
{
  if (count <= i->request_capacity) return;
  memory_free(i->request);
  i->request_capacity = count;
  i->request = memory_alloc("messages", sizeof *i->request * (size_t)count);
}

void inbox_close(struct inbox *i)
{
  if (i->state == HEAD || i->state == PIECES)
    for (int k = 0; k < i->requests; k++) {
      MPI_Cancel(&i->request[k]);
      MPI_Wait(&i->request[k], MPI_STATUS_IGNORE);   /* cancelled or complete: its buffer is free */
    }
  memory_free(i->head);
  memory_free(i->request);
  i->head = NULL;
  i->request = NULL;
  i->state = IDLE;
}

void inbox_expect(struct inbox *i, const struct comm *c)
{
  if (i->state != IDLE) return;
  need_requests(i, 1);
  if (!i->head) i->head = memory_alloc("messages", FIRST_MAX);
  MPI_Irecv(i->head, FIRST_MAX, MPI_BYTE, i->peer, i->tag, c->mpi, &i->request[0]);
  i->requests = 1;
  i->posted = comm_posted(c);
  i->state = HEAD;
}

/* The head is here: it gives length and note; get memory, and post receives for the rest. */
static void read_head(struct inbox *i, const struct comm *c, void *(*room)(void *, int, size_t), void *of)
{
  struct head head;
  memcpy(&head, i->head, sizeof head);
  size_t first = first_bytes(c, head.bytes), rest = head.bytes - first;
  ledger_received(c->ledger, i->peer, sizeof head + first);
  comm_arrived(c, i->peer, i->tag, sizeof head + first, i->posted);
  i->posted = comm_posted(c);
  i->note = head.note;
  i->bytes = head.bytes;
  i->data = room(of, i->peer, i->bytes);
  if (first) memcpy(i->data, i->head + sizeof head, first);
  memory_free(i->head);   /* idle inboxes, of which there are thousands, hold no memory */
  i->head = NULL;
  i->requests = 0;
  need_requests(i, pieces(c, rest));
  for (size_t at = 0; at < rest; at += c->largest_message) {
    size_t piece = rest - at < c->largest_message ? rest - at : c->largest_message;
    MPI_Irecv((char *)i->data + first + at, (int)piece, MPI_BYTE, i->peer, i->tag, c->mpi, &i->request[i->requests++]);
    ledger_received(c->ledger, i->peer, piece);
  }
}

/* All parts are here: record those after the first. */
static void record_pieces(const struct inbox *i, const struct comm *c)
{
  size_t rest = i->bytes - first_bytes(c, i->bytes);
  for (size_t at = 0; recorder_on(c->recorder) && at < rest; at += c->largest_message)
    comm_arrived(c, i->peer, i->tag, rest - at < c->largest_message ? rest - at : c->largest_message, i->posted);
}

int inbox_poll(struct inbox *i, const struct comm *c, void *(*room)(void *, int, size_t), void *of)
{
  int done = 1;
  if (i->state == IDLE || i->state == COMPLETE) return i->state == COMPLETE;
  MPI_Testall(i->requests, i->request, &done, MPI_STATUSES_IGNORE);
  if (!done) return 0;
  if (i->state == HEAD) {
    read_head(i, c, room, of);
    i->state = PIECES;
    MPI_Testall(i->requests, i->request, &done, MPI_STATUSES_IGNORE);
    if (!done) return 0;
  }
  record_pieces(i, c);
  i->state = COMPLETE;
  return 1;
}

void inbox_done(struct inbox *i) { i->state = IDLE; }
