/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "mpi/recorder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/files.h"
#include "base/memory.h"

enum { BUFFERED = 16384, PENDING = 8, PATH_BYTES = 4096 };   /* events: 1.2 MB; collectives that do not wait, at a time */

struct recorder {
  FILE *file;                  /* NULL: nothing is recorded */
  char path[PATH_BYTES];
  int rank, ranks, waiting, failed;   /* failed: errno of the file; 0: none */
  int64_t step, next, lost;
  int32_t tick;
  double clock, work;          /* processor time at the last event or poll; seconds of work since the last event */
  struct {
    const void *key;           /* NULL: a free place */
    int64_t posted;
  } pending[PENDING];
  int count;
  struct event *event;         /* [BUFFERED] */
};

/* Processor time of this thread, which computes with the others of its rank and calls MPI: it does not run on while other ranks have the
 * core. */
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

void recorder_close(struct recorder *r)
{
  struct fault ignored = {""};
  recorder_stop(r, &ignored);
  free(r);
}

int recorder_on(const struct recorder *r) { return r->file != NULL; }

int recorder_start(struct recorder *r, const char *folder, struct fault *f)
{
  *r = (struct recorder){.rank = r->rank, .ranks = r->ranks};
  event_path(r->path, sizeof r->path, folder, r->rank);
  r->file = file_stream(r->path, "w");
  if (!r->file) return fault_set(f, "%s cannot be written: %s", r->path, file_reason(errno));
  r->event = memory_alloc("trace", sizeof *r->event * BUFFERED);
  event_write_head(r->file, r->rank, r->ranks);
  r->clock = processor_clock();
  return 0;
}

void recorder_flush(struct recorder *r)
{
  if (r->count == 0) return;
  for (int k = 0; k < r->count && !r->failed; k++) event_write(r->file, &r->event[k]);
  if (!r->failed && (fflush(r->file) || ferror(r->file))) {
    r->failed = errno ? errno : EIO;
    fprintf(stderr, "espalier: warning: %s: %s; the recording of rank %d ends here\n", r->path, strerror(r->failed), r->rank);
  }
  if (r->failed) r->lost += r->count;
  r->count = 0;
}

int recorder_stop(struct recorder *r, struct fault *f)
{
  if (!r->file) return 0;
  recorder_flush(r);
  if (fclose(r->file) && !r->failed) r->failed = errno;
  memory_free(r->event);
  r->event = NULL;
  r->file = NULL;
  if (!r->failed) return 0;
  return fault_set(f, "%s: the recording is not complete, %lld event%s lost: %s", r->path, (long long)r->lost, r->lost == 1 ? " is" : "s are",
                   strerror(r->failed));
}

void recorder_at(struct recorder *r, int64_t step, int32_t tick)
{
  r->step = step;
  r->tick = tick;
}

void recorder_waits(struct recorder *r)
{
  if (!r->file) return;
  double now = processor_clock();
  if (!r->waiting) r->work += now - r->clock;
  r->waiting = 1;
  r->clock = now;
}

int64_t recorder_next(const struct recorder *r) { return r->file ? r->next : -1; }

void recorder_add(struct recorder *r, enum phase phase, enum event_kind kind, int peer, int tag, size_t bytes, int64_t posted)
{
  if (!r->file) return;
  double now = processor_clock(), work = r->work + (r->waiting ? 0 : now - r->clock);
  if (r->count == BUFFERED) recorder_flush(r);
  r->event[r->count++] = (struct event){.seq = r->next, .step = r->step, .bytes = (int64_t)bytes, .posted = posted < 0 ? r->next : posted,
                                        .work = work > 0 ? work : 0, .rank = r->rank, .tick = r->tick, .phase = (int32_t)phase,
                                        .kind = (int32_t)kind, .peer = peer, .tag = tag};
  r->next++;
  r->work = 0;
  r->waiting = 0;
  r->clock = processor_clock();   /* the time of flushing is not work of the run */
}

void recorder_begin(struct recorder *r, const void *key)
{
  for (int k = 0; r->file && k < PENDING; k++) {
    if (r->pending[k].key && r->pending[k].key != key) continue;
    r->pending[k].key = key;
    r->pending[k].posted = r->next;
    return;
  }
  if (r->file) fatal("more than %d collectives at a time that do not wait", PENDING);
}

int64_t recorder_end(struct recorder *r, const void *key)
{
  for (int k = 0; r->file && k < PENDING; k++)
    if (r->pending[k].key == key) {
      r->pending[k].key = NULL;
      return r->pending[k].posted;
    }
  return -1;
}
