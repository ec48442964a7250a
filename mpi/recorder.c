/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "mpi/recorder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/files.h"
#include "base/memory.h"

enum { BUFFERED = 16384, PENDING = 8, PATH_BYTES = 4096 }; /* events: 1.2 MB; collectives that do not wait, at a time */

struct recorder {
  FILE *file; /* NULL: nothing is recorded */
  char path[PATH_BYTES];
  int rank, ranks, waiting, failed; /* failed: errno of the file; 0: none */
  int64_t step, next, lost;
  int32_t tick;
  double clock, work; /* processor time at the last event or poll; seconds of work since the last event */
  struct {
    const void *key; /* NULL: a free place */
    int64_t posted;
  } pending[PENDING];
  int count;
  struct event *event; /* [BUFFERED] */
};

/* Processor time of this thread, which computes with the others of its rank and calls MPI: it does not run on while
 * other ranks have the core. */
static double processor_clock(void)
{
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Not labelled memory, as for the ledger. */
struct recorder *recorder_open(int rank, int ranks)
{
  struct recorder *r = calloc(1, sizeof *r);
  if (!r) fatal("out of memory: %zu bytes for the recorder of messages", sizeof *r);
  r->rank = rank;
  r->ranks = ranks;
  return r;
}

void recorder_close(struct recorder *recorder)
{
  struct fault ignored = {""};
  recorder_stop(recorder, &ignored);
  free(recorder);
}

int recorder_on(const struct recorder *recorder) { return recorder->file != NULL; }

int recorder_start(struct recorder *recorder, const char *folder, struct fault *fault)
{
  *recorder = (struct recorder){.rank = recorder->rank, .ranks = recorder->ranks};
  event_path(recorder->path, sizeof recorder->path, folder, recorder->rank);
  recorder->file = file_stream(recorder->path, "w");
  if (!recorder->file) return fault_set(fault, "%s cannot be written: %s", recorder->path, file_reason(errno));
  recorder->event = memory_alloc("trace", sizeof *recorder->event * BUFFERED);
  event_write_head(recorder->file, recorder->rank, recorder->ranks);
  recorder->clock = processor_clock();
  return 0;
}

void recorder_flush(struct recorder *recorder)
{
  if (recorder->count == 0) return;
  for (int k = 0; k < recorder->count && !recorder->failed; k++) event_write(recorder->file, &recorder->event[k]);
  if (!recorder->failed && (fflush(recorder->file) || ferror(recorder->file))) {
    recorder->failed = errno ? errno : EIO;
    fprintf(stderr, "espalier: warning: %s: %s; the recording of rank %d ends here\n", recorder->path,
            strerror(recorder->failed), recorder->rank);
  }
  if (recorder->failed) recorder->lost += recorder->count;
  recorder->count = 0;
}

int recorder_stop(struct recorder *recorder, struct fault *fault)
{
  if (!recorder->file) return 0;
  recorder_flush(recorder);
  if (fclose(recorder->file) && !recorder->failed) recorder->failed = errno;
  memory_free(recorder->event);
  recorder->event = NULL;
  recorder->file = NULL;
  if (!recorder->failed) return 0;
  return fault_set(fault, "%s: the recording is not complete, %lld event%s lost: %s", recorder->path,
                   (long long)recorder->lost, recorder->lost == 1 ? " is" : "s are", strerror(recorder->failed));
}

void recorder_at(struct recorder *recorder, int64_t step, int32_t tick)
{
  recorder->step = step;
  recorder->tick = tick;
}

void recorder_waits(struct recorder *recorder)
{
  if (!recorder->file) return;
  double now = processor_clock();
  if (!recorder->waiting) recorder->work += now - recorder->clock;
  recorder->waiting = 1;
  recorder->clock = now;
}

int64_t recorder_next(const struct recorder *recorder) { return recorder->file ? recorder->next : -1; }

void recorder_add(struct recorder *recorder, enum phase phase, enum event_kind kind, int peer, int tag, size_t bytes,
                  int64_t posted)
{
  if (!recorder->file) return;
  double now = processor_clock(), work = recorder->work + (recorder->waiting ? 0 : now - recorder->clock);
  if (recorder->count == BUFFERED) recorder_flush(recorder);
  recorder->event[recorder->count++] = (struct event){.seq = recorder->next,
                                                      .step = recorder->step,
                                                      .bytes = (int64_t)bytes,
                                                      .posted = posted < 0 ? recorder->next : posted,
                                                      .work = work > 0 ? work : 0,
                                                      .rank = recorder->rank,
                                                      .tick = recorder->tick,
                                                      .phase = (int32_t)phase,
                                                      .kind = (int32_t)kind,
                                                      .peer = peer,
                                                      .tag = tag};
  recorder->next++;
  recorder->work = 0;
  recorder->waiting = 0;
  recorder->clock = processor_clock(); /* the time of flushing is not work of the run */
}

void recorder_begin(struct recorder *recorder, const void *key)
{
  for (int k = 0; recorder->file && k < PENDING; k++) {
    if (recorder->pending[k].key && recorder->pending[k].key != key) continue;
    recorder->pending[k].key = key;
    recorder->pending[k].posted = recorder->next;
    return;
  }
  if (recorder->file) fatal("more than %d collectives at a time that do not wait", PENDING);
}

int64_t recorder_end(struct recorder *recorder, const void *key)
{
  for (int k = 0; recorder->file && k < PENDING; k++)
    if (recorder->pending[k].key == key) {
      recorder->pending[k].key = NULL;
      return recorder->pending[k].posted;
    }
  return -1;
}
