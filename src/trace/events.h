/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The communication events of all ranks (mpi/event.h): a list that is filled by hand or read from a recording, and
 * which send each receive gets. Not collective: one process has all ranks. */
#ifndef TRACE_EVENTS_H
#define TRACE_EVENTS_H
#include "mpi/event.h"

struct rank_events {
  struct event *event; /* [count], by seq */
  int64_t count, capacity;
};

struct events {
  int ranks;
  struct rank_events *rank; /* [ranks] */
};

/* Open an empty list. Owner: caller (events_close). */
void events_open(struct events *events, int ranks);
void events_close(struct events *events);
/* Append an event to those of its rank: seq is set, and posted to seq where it is negative. Returns it, valid until the
 * next call. */
struct event *events_add(struct events *events, struct event event);
int64_t events_count(const struct events *events);

/* Read the recording in a folder: the files of all ranks. 0, or -1 with a fault; then the list is closed. */
int events_read(struct events *events, const char *folder, struct fault *fault);
/* Write a recording to a folder, which is made if it does not exist. 0, or -1 with a fault. */
int events_write(const struct events *events, const char *folder, struct fault *fault);

/* What the events of a list wait for. */
struct matches {
  int64_t **partner;   /* [ranks][count]: receive: seq of its send on the peer; send: seq of its receive, or -1; a
                              collective: its number, the same on all ranks */
  int64_t collectives; /* number of collectives, the same on all ranks */
  int64_t unreceived;  /* sends that no rank receives */
};
/* Match receives with sends, and collectives with those of other ranks. A receive without a send, one with other bytes,
 * and collectives that differ between ranks are faults. 0, or -1 with a fault; then nothing is to be freed. Owner:
 * caller (matches_free). */
int events_match(const struct events *events, struct matches *matches, struct fault *fault);
void matches_free(const struct events *events, struct matches *matches);

/* Keep the events of the soft steps first to last, and of messages both ends or none: work before an event that is left
 * out counts with the next one that is kept. Matches events first. 0, or -1 with a fault, also where nothing is
 * left. */
int events_keep_steps(struct events *events, int64_t first, int64_t last, struct fault *fault);
#endif
