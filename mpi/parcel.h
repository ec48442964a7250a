/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages of a length that the receiver does not know, with a note: sent without waiting, received piece by piece by who
 * looks now and then. A parcel is one message while it is short (its length, its note and its bytes), and goes on in
 * pieces of at most the communicator's largest message. Parcels of one tag between two ranks keep their order. */
#ifndef PARCEL_H
#define PARCEL_H
#include "comm.h"

enum parcel_tag { PARCEL_BOXES = 200, PARCEL_LET, PARCEL_UPDATE = PARCEL_LET + 3 };   /* PARCEL_LET + enum let_kind */

enum { PARCEL_HEAD = 16 };   /* bytes that a parcel adds to what it carries */

/* How many messages a parcel of so many bytes takes. */
int parcel_messages(const struct comm *c, size_t bytes);

/* What is on its way from this rank. */
struct outbox {
  const struct comm *c;
  struct flight *flight;
  int count, capacity;
};
void outbox_open(struct outbox *o, const struct comm *c);
/* Waits for what is on its way. */
void outbox_close(struct outbox *o);
/* Send bytes, which stay as they are until outbox_flush (`stays`), or are copied. */
void outbox_send(struct outbox *o, int peer, int tag, int32_t note, const void *data, size_t bytes, int stays);
/* Let go of what has arrived. Returns how much is still on its way. */
int outbox_tidy(struct outbox *o);
/* Wait until all has arrived. */
void outbox_flush(struct outbox *o);

/* Parcels of one tag from one peer, one after the other. */
struct inbox {
  int peer, tag;
  int state;          /* 0: not expected, 1: the head, 2: pieces, 3: complete */
  int32_t note;       /* of the complete parcel */
  size_t bytes;       /* its length */
  void *data;         /* its place */
  char *head;
  MPI_Request *request;
  int requests, request_capacity;
};
void inbox_open(struct inbox *i, int peer, int tag);
/* A parcel that was expected and never came is not waited for. */
void inbox_close(struct inbox *i);
/* Be ready for the next parcel (nothing happens where one is expected already). */
void inbox_expect(struct inbox *i, const struct comm *c);
/* Look: 1 when the parcel is complete. room(of, peer, bytes) gives the place for it, once its length is known. */
int inbox_poll(struct inbox *i, const struct comm *c, void *(*room)(void *of, int peer, size_t bytes), void *of);
/* The complete parcel has been used. */
void inbox_done(struct inbox *i);
#endif
