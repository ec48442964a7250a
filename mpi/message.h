/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Point-to-point messages whose length the receiver does not know, each with a note (one number). The sender does not
 * wait; the receiver polls. A short message is one MPI message (head and bytes); a longer one continues in parts of at
 * most the communicator's largest message. Messages of one tag between two ranks keep their order. All functions are
 * local. */
#ifndef MESSAGE_H
#define MESSAGE_H
#include "mpi/comm.h"

/* MESSAGE_LET + enum let_kind */
enum message_tag { MESSAGE_BOXES = 200, MESSAGE_LET, MESSAGE_UPDATE = MESSAGE_LET + 3, MESSAGE_HALO, MESSAGE_SUMMARY };

enum { MESSAGE_HEAD = 16 }; /* bytes that a message adds to its contents */

/* Number of MPI messages that a message of `bytes` takes. */
int message_part_count(const struct comm *comm, size_t bytes);

/* What becomes of the data of a message: they are copied; the caller keeps them unchanged until `sent` or outbox_flush;
 * or they are a block of memory_alloc that now belongs to the outbox. */
enum outbox_data { OUTBOX_COPIES, OUTBOX_BORROWS, OUTBOX_TAKES };

/* Messages of this rank that are on their way. */
struct outbox {
  const struct comm *c;
  struct flight *flight; /* [count] */
  int count, capacity;
  /* Called when a message with borrowed data is complete; NULL: not called. Set by the caller after outbox_open. */
  void (*sent)(void *of, int peer, int tag);
  void *of; /* its argument */
};
void outbox_open(struct outbox *outbox, const struct comm *comm);
/* Waits like outbox_flush. */
void outbox_close(struct outbox *outbox);
/* Send data[bytes] to `peer`. */
void outbox_send(struct outbox *outbox, int peer, int tag, int32_t note, const void *data, size_t bytes,
                 enum outbox_data use);
/* Free the buffers of messages that are complete. Returns the number of messages still on their way. Does not wait. */
int outbox_tidy(struct outbox *outbox);
/* Wait until all messages are complete. */
void outbox_flush(struct outbox *outbox);

/* Messages of one tag from one peer, one after the other. */
struct inbox {
  int peer, tag;
  int state;      /* 0: none expected, 1: expects the head, 2: expects further parts, 3: complete */
  int64_t posted; /* comm_posted when the present receive was posted */
  int32_t note;   /* of the complete message */
  size_t bytes;   /* its length */
  void *data;     /* [bytes] as `buffer` of inbox_poll gave it */
  char *head;
  MPI_Request *request;
  int requests, request_capacity;
};
void inbox_open(struct inbox *inbox, int peer, int tag);
/* Cancels the receive of a message that was expected and has not arrived. */
void inbox_close(struct inbox *inbox);
/* Post the receive of the next message; without effect where one is expected or complete. */
void inbox_expect(struct inbox *inbox, const struct comm *comm);
/* Returns 1 when the message is complete. Once its length is known, room(of, peer, bytes) gives the memory for it. Does
 * not wait. */
int inbox_poll(struct inbox *inbox, const struct comm *comm, void *(*buffer)(void *of, int peer, size_t bytes),
               void *of);
/* The complete message has been used: the next one may be expected. */
void inbox_done(struct inbox *inbox);
#endif
