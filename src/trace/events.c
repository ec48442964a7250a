/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "trace/events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/folders.h"
#include "base/lines.h"
#include "base/memory.h"

enum { PATH_BYTES = 4096 };

void events_open(struct events *events, int ranks)
{
  *events = (struct events){.ranks = ranks, .rank = memory_alloc("trace", sizeof *events->rank * (size_t)ranks)};
}

void events_close(struct events *events)
{
  for (int r = 0; r < events->ranks; r++) memory_free(events->rank[r].event);
  memory_free(events->rank);
  *events = (struct events){0};
}

struct event *events_add(struct events *events, struct event event)
{
  struct rank_events *mine = &events->rank[event.rank];
  if (mine->count == mine->capacity) {
    mine->capacity = (int64_t)memory_grown((size_t)mine->count, sizeof event);
    mine->event = memory_resize("trace", mine->event, sizeof event * (size_t)mine->capacity);
  }
  event.seq = mine->count;
  if (event.posted < 0) event.posted = event.seq;
  mine->event[mine->count] = event;
  return &mine->event[mine->count++];
}

int64_t events_count(const struct events *events)
{
  int64_t sum = 0;
  for (int r = 0; r < events->ranks; r++) sum += events->rank[r].count;
  return sum;
}

/* --- files ------------------------------------------------------------------------------------------------------- */

/* Read the events of a rank; rank 0's file sets the number of ranks. */
static int read_rank(struct events *events, const char *folder, int r, struct fault *fault)
{
  char path[PATH_BYTES];
  struct lines lines;
  struct fault why = {""};
  int more = 1, rank = 0, ranks = 0;
  event_path(path, sizeof path, folder, r);
  if (lines_open(&lines, path, fault)) return -1;
  while (!why.text[0] && (more = lines_next(&lines, "events of a recording", fault)) > 0) {
    struct event e;
    if (lines.number == 1) {
      if (event_read_head(lines.text, &rank, &ranks, &why)) continue;
      if (r == 0) events_open(events, ranks);
      if (rank != r || ranks != events->ranks)
        fault_set(&why, "expected rank %d of %d, found %d of %d", r, events->ranks, rank, ranks);
    } else if (lines.number == 2) {
      lines.text[strcspn(lines.text, "\r\n")] = 0;
      if (strcmp(lines.text, event_columns)) fault_set(&why, "expected the columns %s", event_columns);
    } else if (event_read(lines.text, &e, &why) == 0) {
      if (e.seq != events->rank[r].count)
        fault_set(&why, "expected event %lld, found %lld", (long long)events->rank[r].count, (long long)e.seq);
      else if (e.peer >= events->ranks) fault_set(&why, "peer: there are %d ranks, found %d", events->ranks, e.peer);
      e.rank = r;
      if (!why.text[0]) events_add(events, e);
    }
  }
  if (more == 0 && lines.number < 2) fault_set(&why, "expected two lines of head and a line for every event");
  if (why.text[0]) fault_set(fault, "%s, line %lld: %s", path, (long long)lines.number, why.text);
  lines_close(&lines);
  return fault->text[0] ? -1 : 0;
}

int events_read(struct events *events, const char *folder, struct fault *fault)
{
  *events = (struct events){.ranks = 1};
  int failed = read_rank(events, folder, 0, fault);
  if (!events->rank) events->ranks = 0;
  for (int r = 1; r < events->ranks && !failed; r++) failed = read_rank(events, folder, r, fault);
  if (failed) events_close(events);
  return failed;
}

int events_write(const struct events *events, const char *folder, struct fault *fault)
{
  char path[PATH_BYTES];
  if (folder_make(folder, "folder of the recording", fault)) return -1;
  for (int r = 0; r < events->ranks; r++) {
    event_path(path, sizeof path, folder, r);
    FILE *out = file_stream(path, "w");
    if (!out) return fault_set(fault, "%s cannot be written: %s", path, file_reason(errno));
    event_write_head(out, r, events->ranks);
    for (int64_t k = 0; k < events->rank[r].count; k++) event_write(out, &events->rank[r].event[k]);
    int bad = ferror(out);
    if (fclose(out) || bad) return fault_set(fault, "%s could not be written completely: %s", path, strerror(errno));
  }
  return 0;
}

/* --- what events wait for ---------------------------------------------------------------------------------------- */

/* One end of a message: sorted, the n-th sends and receives of a pair of ranks and a tag stand together. */
struct end {
  int32_t from, to, tag;
  int64_t order, seq; /* order: n-th of its stream, by seq; set after sorting */
};

static int compare_streams(const struct end *a, const struct end *b)
{
  if (a->from != b->from) return a->from < b->from ? -1 : 1;
  if (a->to != b->to) return a->to < b->to ? -1 : 1;
  return (a->tag > b->tag) - (a->tag < b->tag);
}

static int compare_ends(const void *one, const void *other)
{
  const struct end *a = one, *b = other;
  int streams = compare_streams(a, b);
  return streams ? streams : (a->seq > b->seq) - (a->seq < b->seq);
}

static struct end *ends_of(const struct events *events, int kind, size_t *count)
{
  size_t n = 0;
  struct end *end = memory_alloc("trace", sizeof *end * (size_t)(events_count(events) + 1));
  for (int r = 0; r < events->ranks; r++)
    for (int64_t k = 0; k < events->rank[r].count; k++) {
      const struct event *e = &events->rank[r].event[k];
      if (e->kind != kind) continue;
      end[n++] = kind == EVENT_send ? (struct end){.from = r, .to = e->peer, .tag = e->tag, .seq = k}
                                    : (struct end){.from = e->peer, .to = r, .tag = e->tag, .seq = k};
    }
  qsort(end, n, sizeof *end, compare_ends);
  for (size_t i = 1; i < n; i++)
    if (compare_streams(&end[i - 1], &end[i]) == 0) end[i].order = end[i - 1].order + 1;
  *count = n;
  return end;
}

static int match_messages(const struct events *events, struct matches *matches, struct fault *fault)
{
  size_t sends, receives, s = 0;
  struct end *send = ends_of(events, EVENT_send, &sends), *receive = ends_of(events, EVENT_receive, &receives);
  for (size_t i = 0; i < receives && !fault->text[0]; i++) {
    const struct end *e = &receive[i];
    while (s < sends &&
           (compare_streams(&send[s], e) < 0 || (compare_streams(&send[s], e) == 0 && send[s].order < e->order)))
      s++;
    if (s == sends || compare_streams(&send[s], e) != 0) {
      fault_set(fault, "rank %d, event %lld receives a message with tag %d that rank %d does not send", e->to,
                (long long)e->seq, e->tag, e->from);
      break;
    }
    int64_t got = events->rank[e->to].event[e->seq].bytes, sent = events->rank[e->from].event[send[s].seq].bytes;
    if (got != sent)
      fault_set(fault, "rank %d, event %lld receives %lld bytes where rank %d, event %lld sends %lld", e->to,
                (long long)e->seq, (long long)got, e->from, (long long)send[s].seq, (long long)sent);
    matches->partner[e->to][e->seq] = send[s].seq;
    matches->partner[e->from][send[s].seq] = e->seq;
  }
  matches->unreceived = (int64_t)sends - (int64_t)receives;
  memory_free(send);
  memory_free(receive);
  return fault->text[0] ? -1 : 0;
}

/* Compare the collectives of a rank with those of rank 0, at[] (NULL: rank 0). Returns their number; sets a fault. */
static int64_t match_collectives(const struct events *events, int r, const struct event **at, int64_t count,
                                 int64_t *number, struct fault *fault)
{
  int64_t n = 0;
  for (int64_t k = 0; k < events->rank[r].count && !fault->text[0]; k++) {
    const struct event *e = &events->rank[r].event[k];
    if (!event_is_collective(e->kind)) continue;
    number[k] = n;
    if (r == 0) {
      at[n++] = e;
      continue;
    }
    if (n == count) fault_set(fault, "rank %d has more collectives than rank 0, which has %lld", r, (long long)count);
    else if (at[n]->kind != e->kind || at[n]->bytes != e->bytes || at[n]->peer != e->peer)
      fault_set(fault, "rank %d, event %lld: %s of %lld bytes, where rank 0 has %s of %lld", r, (long long)k,
                event_kind_names[e->kind], (long long)e->bytes, event_kind_names[at[n]->kind], (long long)at[n]->bytes);
    n++;
  }
  if (r > 0 && n < count)
    fault_set(fault, "rank %d has %lld collectives, rank 0 has %lld", r, (long long)n, (long long)count);
  return n;
}

int events_match(const struct events *events, struct matches *matches, struct fault *fault)
{
  const struct event **at = memory_alloc("trace", sizeof *at * (size_t)(events->rank[0].count + 1));
  *matches = (struct matches){.partner = memory_alloc("trace", sizeof *matches->partner * (size_t)events->ranks)};
  for (int r = 0; r < events->ranks; r++) {
    matches->partner[r] = memory_alloc("trace", sizeof **matches->partner * (size_t)(events->rank[r].count + 1));
    for (int64_t k = 0; k < events->rank[r].count; k++) matches->partner[r][k] = -1;
    int64_t found = match_collectives(events, r, at, matches->collectives, matches->partner[r], fault);
    if (r == 0) matches->collectives = found;
  }
  memory_free(at);
  if (!fault->text[0]) match_messages(events, matches, fault);
  if (!fault->text[0]) return 0;
  matches_free(events, matches);
  return -1;
}

void matches_free(const struct events *events, struct matches *matches)
{
  for (int r = 0; r < events->ranks && matches->partner; r++) memory_free(matches->partner[r]);
  memory_free(matches->partner);
  *matches = (struct matches){0};
}

/* --- some of the soft steps -------------------------------------------------------------------------------------- */

static int within(const struct event *event, int64_t first, int64_t last)
{
  return event->step >= first && event->step <= last;
}

/* Keep the events of a rank whose number in keep[] is set, and give them new numbers. */
static void keep_of_rank(struct rank_events *mine, const char *keep)
{
  int64_t kept = 0;
  double work = 0;
  /* new number of the next kept event */
  int64_t *number = memory_alloc("trace", sizeof *number * (size_t)(mine->count + 1));
  for (int64_t k = 0; k < mine->count; k++) {
    number[k] = kept;
    kept += keep[k] & 1;
  }
  kept = 0;
  for (int64_t k = 0; k < mine->count; k++) {
    struct event e = mine->event[k];
    if (keep[k] & 2) work += e.work;
    if (!(keep[k] & 1)) continue;
    e.work = work;
    work = 0;
    e.seq = kept;
    e.posted = number[e.posted];
    mine->event[kept++] = e;
  }
  mine->count = kept;
  memory_free(number);
}

int events_keep_steps(struct events *events, int64_t first, int64_t last, struct fault *fault)
{
  struct matches m;
  if (events_match(events, &m, fault)) return -1;
  char **keep = memory_alloc("trace", sizeof *keep * (size_t)events->ranks);
  for (int r = 0; r < events->ranks; r++) {
    keep[r] = memory_alloc("trace", (size_t)events->rank[r].count + 1);
    for (int64_t k = 0; k < events->rank[r].count; k++) {
      const struct event *e = &events->rank[r].event[k];
      int64_t partner = m.partner[r][k];
      int other =
          event_is_collective(e->kind) || (partner >= 0 && within(&events->rank[e->peer].event[partner], first, last));
      keep[r][k] = (char)(within(e, first, last) ? 2 + other : 0); /* 2: its work counts; 1: it is kept */
    }
  }
  matches_free(events, &m);
  for (int r = 0; r < events->ranks; r++) {
    keep_of_rank(&events->rank[r], keep[r]);
    memory_free(keep[r]);
  }
  memory_free(keep);
  if (events_count(events) == 0)
    return fault_set(fault, "the recording has no event of the soft steps %lld to %lld", (long long)first,
                     (long long)last);
  return 0;
}
