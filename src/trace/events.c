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

void events_open(struct events *t, int ranks)
{
  *t = (struct events){.ranks = ranks, .rank = memory_alloc("trace", sizeof *t->rank * (size_t)ranks)};
}

void events_close(struct events *t)
{
  for (int r = 0; r < t->ranks; r++) memory_free(t->rank[r].event);
  memory_free(t->rank);
  *t = (struct events){0};
}

struct event *events_add(struct events *t, struct event e)
{
  struct rank_events *mine = &t->rank[e.rank];
  if (mine->count == mine->capacity) {
    mine->capacity = (int64_t)memory_grown((size_t)mine->count, sizeof e);
    mine->event = memory_resize("trace", mine->event, sizeof e * (size_t)mine->capacity);
  }
  e.seq = mine->count;
  if (e.posted < 0) e.posted = e.seq;
  mine->event[mine->count] = e;
  return &mine->event[mine->count++];
}

int64_t events_count(const struct events *t)
{
  int64_t sum = 0;
  for (int r = 0; r < t->ranks; r++) sum += t->rank[r].count;
  return sum;
}

/* --- files ------------------------------------------------------------------------------------------------------- */

/* Read the events of a rank; rank 0's file sets the number of ranks. */
static int read_rank(struct events *t, const char *folder, int r, struct fault *f)
{
  char path[PATH_BYTES];
  struct lines lines;
  struct fault why = {""};
  int more = 1, rank = 0, ranks = 0;
  event_path(path, sizeof path, folder, r);
  if (lines_open(&lines, path, f)) return -1;
  while (!why.text[0] && (more = lines_next(&lines, "events of a recording", f)) > 0) {
    struct event e;
    if (lines.number == 1) {
      if (event_read_head(lines.text, &rank, &ranks, &why)) continue;
      if (r == 0) events_open(t, ranks);
      if (rank != r || ranks != t->ranks) fault_set(&why, "expected rank %d of %d, found %d of %d", r, t->ranks, rank, ranks);
    } else if (lines.number == 2) {
      lines.text[strcspn(lines.text, "\r\n")] = 0;
      if (strcmp(lines.text, event_columns)) fault_set(&why, "expected the columns %s", event_columns);
    } else if (event_read(lines.text, &e, &why) == 0) {
      if (e.seq != t->rank[r].count) fault_set(&why, "expected event %lld, found %lld", (long long)t->rank[r].count, (long long)e.seq);
      else if (e.peer >= t->ranks) fault_set(&why, "peer: there are %d ranks, found %d", t->ranks, e.peer);
      e.rank = r;
      if (!why.text[0]) events_add(t, e);
    }
  }
  if (more == 0 && lines.number < 2) fault_set(&why, "expected two lines of head and a line for every event");
  if (why.text[0]) fault_set(f, "%s, line %lld: %s", path, (long long)lines.number, why.text);
  lines_close(&lines);
  return f->text[0] ? -1 : 0;
}

int events_read(struct events *t, const char *folder, struct fault *f)
{
  *t = (struct events){.ranks = 1};
  int failed = read_rank(t, folder, 0, f);
  if (!t->rank) t->ranks = 0;
  for (int r = 1; r < t->ranks && !failed; r++) failed = read_rank(t, folder, r, f);
  if (failed) events_close(t);
  return failed;
}

int events_write(const struct events *t, const char *folder, struct fault *f)
{
  char path[PATH_BYTES];
  if (folder_make(folder, "folder of the recording", f)) return -1;
  for (int r = 0; r < t->ranks; r++) {
    event_path(path, sizeof path, folder, r);
    FILE *out = file_stream(path, "w");
    if (!out) return fault_set(f, "%s cannot be written: %s", path, file_reason(errno));
    event_write_head(out, r, t->ranks);
    for (int64_t k = 0; k < t->rank[r].count; k++) event_write(out, &t->rank[r].event[k]);
    int bad = ferror(out);
    if (fclose(out) || bad) return fault_set(f, "%s could not be written completely: %s", path, strerror(errno));
  }
  return 0;
}

/* --- what events wait for ---------------------------------------------------------------------------------------- */

/* One end of a message: sorted, the n-th sends and receives of a pair of ranks and a tag stand together. */
struct end {
  int32_t from, to, tag;
  int64_t order, seq;   /* order: n-th of its stream, by seq; set after sorting */
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

static struct end *ends_of(const struct events *t, int kind, size_t *count)
{
  size_t n = 0;
  struct end *end = memory_alloc("trace", sizeof *end * (size_t)(events_count(t) + 1));
  for (int r = 0; r < t->ranks; r++)
    for (int64_t k = 0; k < t->rank[r].count; k++) {
      const struct event *e = &t->rank[r].event[k];
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

static int match_messages(const struct events *t, struct matches *m, struct fault *f)
{
  size_t sends, receives, s = 0;
  struct end *send = ends_of(t, EVENT_send, &sends), *receive = ends_of(t, EVENT_receive, &receives);
  for (size_t i = 0; i < receives && !f->text[0]; i++) {
    const struct end *e = &receive[i];
    while (s < sends && (compare_streams(&send[s], e) < 0 || (compare_streams(&send[s], e) == 0 && send[s].order < e->order))) s++;
    if (s == sends || compare_streams(&send[s], e) != 0) {
      fault_set(f, "rank %d, event %lld receives a message with tag %d that rank %d does not send", e->to, (long long)e->seq, e->tag, e->from);
      break;
    }
    int64_t got = t->rank[e->to].event[e->seq].bytes, sent = t->rank[e->from].event[send[s].seq].bytes;
    if (got != sent)
      fault_set(f, "rank %d, event %lld receives %lld bytes where rank %d, event %lld sends %lld", e->to, (long long)e->seq, (long long)got,
                e->from, (long long)send[s].seq, (long long)sent);
    m->partner[e->to][e->seq] = send[s].seq;
    m->partner[e->from][send[s].seq] = e->seq;
  }
  m->unreceived = (int64_t)sends - (int64_t)receives;
  memory_free(send);
  memory_free(receive);
  return f->text[0] ? -1 : 0;
}

/* Compare the collectives of a rank with those of rank 0, at[] (NULL: rank 0). Returns their number; sets a fault. */
static int64_t match_collectives(const struct events *t, int r, const struct event **at, int64_t count, int64_t *number, struct fault *f)
{
  int64_t n = 0;
  for (int64_t k = 0; k < t->rank[r].count && !f->text[0]; k++) {
    const struct event *e = &t->rank[r].event[k];
    if (!event_is_collective(e->kind)) continue;
    number[k] = n;
    if (r == 0) {
      at[n++] = e;
      continue;
    }
    if (n == count) fault_set(f, "rank %d has more collectives than rank 0, which has %lld", r, (long long)count);
    else if (at[n]->kind != e->kind || at[n]->bytes != e->bytes || at[n]->peer != e->peer)
      fault_set(f, "rank %d, event %lld: %s of %lld bytes, where rank 0 has %s of %lld", r, (long long)k, event_kind_names[e->kind],
                (long long)e->bytes, event_kind_names[at[n]->kind], (long long)at[n]->bytes);
    n++;
  }
  if (r > 0 && n < count) fault_set(f, "rank %d has %lld collectives, rank 0 has %lld", r, (long long)n, (long long)count);
  return n;
}

int events_match(const struct events *t, struct matches *m, struct fault *f)
{
  const struct event **at = memory_alloc("trace", sizeof *at * (size_t)(t->rank[0].count + 1));
  *m = (struct matches){.partner = memory_alloc("trace", sizeof *m->partner * (size_t)t->ranks)};
  for (int r = 0; r < t->ranks; r++) {
    m->partner[r] = memory_alloc("trace", sizeof **m->partner * (size_t)(t->rank[r].count + 1));
    for (int64_t k = 0; k < t->rank[r].count; k++) m->partner[r][k] = -1;
    int64_t found = match_collectives(t, r, at, m->collectives, m->partner[r], f);
    if (r == 0) m->collectives = found;
  }
  memory_free(at);
  if (!f->text[0]) match_messages(t, m, f);
  if (!f->text[0]) return 0;
  matches_free(t, m);
  return -1;
}

void matches_free(const struct events *t, struct matches *m)
{
  for (int r = 0; r < t->ranks && m->partner; r++) memory_free(m->partner[r]);
  memory_free(m->partner);
  *m = (struct matches){0};
}

/* --- some of the soft steps -------------------------------------------------------------------------------------- */

static int within(const struct event *e, int64_t first, int64_t last) { return e->step >= first && e->step <= last; }

/* Keep the events of a rank whose number in keep[] is set, and give them new numbers. */
static void keep_of_rank(struct rank_events *mine, const char *keep)
{
  int64_t kept = 0;
  double work = 0;
  int64_t *number = memory_alloc("trace", sizeof *number * (size_t)(mine->count + 1));   /* new number of the next kept event */
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

int events_keep_steps(struct events *t, int64_t first, int64_t last, struct fault *f)
{
  struct matches m;
  if (events_match(t, &m, f)) return -1;
  char **keep = memory_alloc("trace", sizeof *keep * (size_t)t->ranks);
  for (int r = 0; r < t->ranks; r++) {
    keep[r] = memory_alloc("trace", (size_t)t->rank[r].count + 1);
    for (int64_t k = 0; k < t->rank[r].count; k++) {
      const struct event *e = &t->rank[r].event[k];
      int64_t partner = m.partner[r][k];
      int other = event_is_collective(e->kind) || (partner >= 0 && within(&t->rank[e->peer].event[partner], first, last));
      keep[r][k] = (char)(within(e, first, last) ? 2 + other : 0);   /* 2: its work counts; 1: it is kept */
    }
  }
  matches_free(t, &m);
  for (int r = 0; r < t->ranks; r++) {
    keep_of_rank(&t->rank[r], keep[r]);
    memory_free(keep[r]);
  }
  memory_free(keep);
  if (events_count(t) == 0) return fault_set(f, "the recording has no event of the soft steps %lld to %lld", (long long)first, (long long)last);
  return 0;
}
