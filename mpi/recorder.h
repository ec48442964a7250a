/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recording of communication events (mpi/event.h) in a file per rank; parameter CommTrace. The communicator's
 * functions, messages and transports call it; it records nothing before recorder_start. Memory is bounded: a full
 * buffer is written to the file. Local. */
#ifndef RECORDER_H
#define RECORDER_H
#include "mpi/event.h"

struct recorder;

/* Open the recorder of a communicator, which does not record yet. Owner: caller (recorder_close). */
struct recorder *recorder_open(int rank, int ranks);
void recorder_close(struct recorder *recorder);
/* Create the file of this rank in `folder`, which exists, and begin to record. 0, or -1 with a fault. */
int recorder_start(struct recorder *recorder, const char *folder, struct fault *fault);
/* Write what is left and stop. 0, or -1 with a fault where events were lost. */
int recorder_stop(struct recorder *recorder, struct fault *fault);
/* Returns 1 between start and stop. */
int recorder_on(const struct recorder *recorder);
/* Write the events so far to the file. */
void recorder_flush(struct recorder *recorder);
/* The following events are of this soft step (from 1) and tick. */
void recorder_at(struct recorder *recorder, int64_t step, int32_t tick);
/* The rank polls for messages and does no other work since the last call or event; work done before counts for the next
 * event. */
void recorder_waits(struct recorder *recorder);
/* Number of the next event: the value of `posted` below for what is posted now; -1 where nothing is recorded. */
int64_t recorder_next(const struct recorder *recorder);
/* Add an event. posted: recorder_next when it was posted; negative: at the event itself. */
void recorder_add(struct recorder *recorder, enum phase phase, enum event_kind kind, int peer, int tag, size_t bytes,
                  int64_t posted);
/* A collective that does not wait has begun; `key`, the address of its request, names it. recorder_end: recorder_next
 * when it began; -1 if none began under this name, or it ended. */
void recorder_begin(struct recorder *recorder, const void *key);
int64_t recorder_end(struct recorder *recorder, const void *key);
#endif
