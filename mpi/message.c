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
enum { FIRST_MAX = 32768 }; /* bytes of the first message, its head included */

enum { IDLE, HEAD, PIECES, COMPLETE };

struct flight {
  int peer, tag, borrowed;
  MPI_Request *request;
  int requests;
  void *first, *own; /* the first part; the data, or the rest of them, if they belong to the outbox */
};

/* Bytes of a message that are in its first part, after the head. */
static size_t first_bytes(const struct comm *comm, size_t bytes)
{
  size_t limit = comm->largest_message < FIRST_MAX ? comm->largest_message : FIRST_MAX;
  size_t buffer = limit > sizeof(struct head) ? limit - sizeof(struct head) : 0;
  return bytes < buffer ? bytes : buffer;
}

static int pieces(const struct comm *comm, size_t bytes)
{
  return (int)((bytes + comm->largest_message - 1) / comm->largest_message);
}

int message_part_count(const struct comm *comm, size_t bytes)
{
  return 1 + pieces(comm, bytes - first_bytes(comm, bytes));
}

/* --- sending ----------------------------------------------------------------------------------------------------- */

void outbox_open(struct outbox *outbox, const struct comm *comm) { *outbox = (struct outbox){.c = comm}; }

void outbox_close(struct outbox *outbox)
{
  outbox_flush(outbox);
  memory_free(outbox->flight);
}

void outbox_send(struct outbox *outbox, int peer, int tag, int32_t note, const void *data, size_t bytes,
                 enum outbox_data use)
{
  const struct comm *c = outbox->c;
  size_t first = first_bytes(c, bytes);
  if (outbox->count == outbox->capacity) {
    outbox->capacity = 2 * outbox->capacity + 16;
    outbox->flight = memory_resize("messages", outbox->flight, sizeof *outbox->flight * (size_t)outbox->capacity);
  }
  struct flight *f = &outbox->flight[outbox->count++];
  *f = (struct flight){.peer = peer,
                       .tag = tag,
                       .borrowed = use == OUTBOX_BORROWS,
                       .first = memory_alloc("messages", sizeof(struct head) + first)};
  struct head head = {.bytes = bytes, .note = note};
  memcpy(f->first, &head, sizeof head);
  if (first) memcpy((char *)f->first + sizeof head, data, first);
  const char *rest = (const char *)data + first;
  if (use == OUTBOX_TAKES) f->own = (void *)(uintptr_t)data;
  if (use == OUTBOX_COPIES && bytes > first)
    rest = f->own = memcpy(memory_alloc("messages", bytes - first), rest, bytes - first);
  f->request = memory_alloc("messages", sizeof *f->request * (size_t)(1 + pieces(c, bytes - first)));
  MPI_Isend(f->first, (int)(sizeof head + first), MPI_BYTE, peer, tag, c->mpi, &f->request[f->requests++]);
  comm_sent(c, peer, tag, sizeof head + first);
  for (size_t at = 0; at < bytes - first; at += c->largest_message) {
    size_t piece = bytes - first - at < c->largest_message ? bytes - first - at : c->largest_message;
    MPI_Isend(rest + at, (int)piece, MPI_BYTE, peer, tag, c->mpi, &f->request[f->requests++]);
    comm_sent(c, peer, tag, piece);
  }
}

static void let_go(struct outbox *outbox, int k)
{
  if (outbox->flight[k].borrowed && outbox->sent)
    outbox->sent(outbox->of, outbox->flight[k].peer, outbox->flight[k].tag);
  memory_free(outbox->flight[k].request);
  memory_free(outbox->flight[k].first);
  memory_free(outbox->flight[k].own);
  outbox->flight[k] = outbox->flight[--outbox->count];
}

int outbox_tidy(struct outbox *outbox)
{
  for (int k = outbox->count - 1; k >= 0; k--) {
    int done;
    MPI_Testall(outbox->flight[k].requests, outbox->flight[k].request, &done, MPI_STATUSES_IGNORE);
    if (done) let_go(outbox, k);
  }
  return outbox->count;
}

void outbox_flush(struct outbox *outbox)
{
  for (int k = 0; k < outbox->count; k++)
    for (int i = 0; i < outbox->flight[k].requests; i++)
      comm_wait_peers(outbox->c, 1, &outbox->flight[k].request[i], &outbox->flight[k].peer);
  while (outbox->count > 0) let_go(outbox, outbox->count - 1);
}

/* --- receiving --------------------------------------------------------------------------------------------------- */

void inbox_open(struct inbox *inbox, int peer, int tag)
{
  *inbox = (struct inbox){.peer = peer, .tag = tag, .state = IDLE};
}

static void need_requests(struct inbox *inbox, int count)
{
  if (count <= inbox->request_capacity) return;
  memory_free(inbox->request);
  inbox->request_capacity = count;
  inbox->request = memory_alloc("messages", sizeof *inbox->request * (size_t)count);
}

void inbox_close(struct inbox *inbox)
{
  if (inbox->state == HEAD || inbox->state == PIECES)
    for (int k = 0; k < inbox->requests; k++) {
      MPI_Cancel(&inbox->request[k]);
      MPI_Wait(&inbox->request[k], MPI_STATUS_IGNORE); /* cancelled or complete: its buffer is free */
    }
  memory_free(inbox->head);
  memory_free(inbox->request);
  inbox->head = NULL;
  inbox->request = NULL;
  inbox->state = IDLE;
}

void inbox_expect(struct inbox *inbox, const struct comm *comm)
{
  if (inbox->state != IDLE) return;
  need_requests(inbox, 1);
  if (!inbox->head) inbox->head = memory_alloc("messages", FIRST_MAX);
  MPI_Irecv(inbox->head, FIRST_MAX, MPI_BYTE, inbox->peer, inbox->tag, comm->mpi, &inbox->request[0]);
  inbox->requests = 1;
  inbox->posted = comm_posted(comm);
  inbox->state = HEAD;
}

/* The head is here: it gives length and note; get memory, and post receives for the rest. */
static void read_head(struct inbox *inbox, const struct comm *comm, void *(*buffer)(void *, int, size_t), void *of)
{
  struct head head;
  memcpy(&head, inbox->head, sizeof head);
  size_t first = first_bytes(comm, head.bytes), rest = head.bytes - first;
  ledger_received(comm->ledger, inbox->peer, sizeof head + first);
  comm_arrived(comm, inbox->peer, inbox->tag, sizeof head + first, inbox->posted);
  inbox->posted = comm_posted(comm);
  inbox->note = head.note;
  inbox->bytes = head.bytes;
  inbox->data = buffer(of, inbox->peer, inbox->bytes);
  if (first) memcpy(inbox->data, inbox->head + sizeof head, first);
  memory_free(inbox->head); /* idle inboxes, of which there are thousands, hold no memory */
  inbox->head = NULL;
  inbox->requests = 0;
  need_requests(inbox, pieces(comm, rest));
  for (size_t at = 0; at < rest; at += comm->largest_message) {
    size_t piece = rest - at < comm->largest_message ? rest - at : comm->largest_message;
    MPI_Irecv((char *)inbox->data + first + at, (int)piece, MPI_BYTE, inbox->peer, inbox->tag, comm->mpi,
              &inbox->request[inbox->requests++]);
    ledger_received(comm->ledger, inbox->peer, piece);
  }
}

/* All parts are here: record those after the first. */
static void record_pieces(const struct inbox *inbox, const struct comm *comm)
{
  size_t rest = inbox->bytes - first_bytes(comm, inbox->bytes);
  for (size_t at = 0; recorder_on(comm->recorder) && at < rest; at += comm->largest_message)
    comm_arrived(comm, inbox->peer, inbox->tag, rest - at < comm->largest_message ? rest - at : comm->largest_message,
                 inbox->posted);
}

int inbox_poll(struct inbox *inbox, const struct comm *comm, void *(*buffer)(void *, int, size_t), void *of)
{
  int done = 1;
  if (inbox->state == IDLE || inbox->state == COMPLETE) return inbox->state == COMPLETE;
  MPI_Testall(inbox->requests, inbox->request, &done, MPI_STATUSES_IGNORE);
  if (!done) return 0;
  if (inbox->state == HEAD) {
    read_head(inbox, comm, buffer, of);
    inbox->state = PIECES;
    MPI_Testall(inbox->requests, inbox->request, &done, MPI_STATUSES_IGNORE);
    if (!done) return 0;
  }
  record_pieces(inbox, comm);
  inbox->state = COMPLETE;
  return 1;
}

void inbox_done(struct inbox *inbox) { inbox->state = IDLE; }
