/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A communication event of a rank, and its line in a recording. Ranks record events in real runs (mpi/recorder.h);
 * src/trace/ reads, converts and replays them, also those of virtual ranks. doc/file-formats.md describes the files.
 * Local. */
#ifndef EVENT_H
#define EVENT_H
#include <stdint.h>
#include <stdio.h>

#include "base/fault.h"
#include "base/timer.h"

/* A send does not wait. A receive waits for its message, which the rank uses from then on. Collectives wait for all
 * ranks. */
#define EVENT_KINDS(X) X(send) X(receive) X(barrier) X(broadcast) X(allreduce) X(allgather) X(alltoall) X(exscan)

enum event_kind {
#define X(name) EVENT_##name,
  EVENT_KINDS(X)
#undef X
      EVENT_KIND_COUNT
};
extern const char *const event_kind_names[EVENT_KIND_COUNT];

static inline int event_is_collective(int kind) { return kind >= EVENT_barrier; }

enum { EVENT_FORMAT = 1 }; /* version of the files */

struct event {
  int64_t seq;  /* number of the event on its rank, from 0 */
  int64_t step; /* soft step, from 1; 0: before the first */
  /* of the message. Of a collective: what a rank contributes; broadcast: what its root sends; alltoall: for one rank */
  int64_t bytes;
  /* what it waits for was posted by this rank before its event of this number; seq: at the event itself. A receive: the
   * receive buffer was ready since then. A collective: this rank took part since then (seq also where there was no
   * event since) */
  int64_t posted;
  double work; /* processor seconds of the rank between its last event and this one, without waiting */
  int32_t rank, tick, phase, kind; /* tick of the soft step; enum phase; enum event_kind */
  /* peer: of a message; root of a broadcast; else -1. The n-th receive of a tag gets the n-th message of this tag */
  int32_t peer, tag;
};

/* Path of a rank's file in the folder of a recording. */
void event_path(char *path, size_t size, const char *folder, int rank);
/* Write the first two lines of a rank's file; write an event. */
void event_write_head(FILE *out, int rank, int ranks);
void event_write(FILE *out, const struct event *event);
/* Read the numbers of the first line; the line of an event (without rank). 0; -1: another line, with the reason in
 * `fault`. Commas and line ends in `text` may be replaced. */
int event_read_head(const char *text, int *rank, int *ranks, struct fault *fault);
int event_read(char *text, struct event *event, struct fault *fault);
/* The columns of an event, with commas between them. */
extern const char event_columns[];
#endif
