/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "trace/simulators.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/files.h"
#include "base/folders.h"
#include "base/memory.h"

enum { PATH_BYTES = 4096 };
#define UNITS_PER_SECOND 1e9 /* flops of TI, nanoseconds of GOAL */

static FILE *create(const char *path, struct fault *fault)
{
  FILE *out = file_stream(path, "w");
  if (!out) fault_set(fault, "%s cannot be written: %s", path, file_reason(errno));
  return out;
}

static int finish(FILE *out, const char *path, struct fault *fault)
{
  int bad = ferror(out);
  if (fclose(out) || bad) return fault_set(fault, "%s could not be written completely: %s", path, strerror(errno));
  return 0;
}

/* The receives of a rank in the order in which they are posted. */
struct posts {
  int64_t *seq; /* [count] */
  int64_t count;
};

static struct posts posts_of(const struct rank_events *mine)
{
  /* counting sort by posted */
  struct posts p = {.seq = memory_alloc("trace", sizeof *p.seq * (size_t)(mine->count + 1))};
  int64_t *place = memory_alloc("trace", sizeof *place * (size_t)(mine->count + 2));
  for (int64_t k = 0; k < mine->count; k++)
    if (mine->event[k].kind == EVENT_receive) {
      place[mine->event[k].posted + 1]++;
      p.count++;
    }
  for (int64_t k = 0; k < mine->count; k++) place[k + 1] += place[k];
  for (int64_t k = 0; k < mine->count; k++)
    if (mine->event[k].kind == EVENT_receive) p.seq[place[mine->event[k].posted]++] = k;
  memory_free(place);
  return p;
}

/* --- SimGrid ----------------------------------------------------------------------------------------------------- */

static void ti_collective(FILE *out, int r, const struct event *event)
{
  long long bytes = event->bytes;
  switch (event->kind) {
  case EVENT_barrier: fprintf(out, "%d barrier\n", r); break;
  case EVENT_broadcast: fprintf(out, "%d bcast %lld %d\n", r, bytes, event->peer); break;
  case EVENT_allgather: fprintf(out, "%d allgather %lld %lld\n", r, bytes, bytes); break;
  case EVENT_alltoall: fprintf(out, "%d alltoall %lld %lld\n", r, bytes, bytes); break;
  case EVENT_exscan: fprintf(out, "%d exscan %lld 0\n", r, bytes); break;
  default: fprintf(out, "%d allreduce %lld 0\n", r, bytes);
  }
}

static void ti_rank(FILE *out, const struct events *events, const struct matches *matches, int r)
{
  const struct rank_events *mine = &events->rank[r];
  struct posts posts = posts_of(mine);
  int64_t post = 0;
  fprintf(out, "%d init\n", r);
  for (int64_t k = 0; k < mine->count; k++) {
    const struct event *e = &mine->event[k];
    for (; post < posts.count && mine->event[posts.seq[post]].posted <= k; post++) {
      const struct event *p = &mine->event[posts.seq[post]];
      fprintf(out, "%d irecv %d %d %lld\n", r, p->peer, p->tag, (long long)p->bytes);
    }
    if (e->work > 0) fprintf(out, "%d compute %.0f\n", r, e->work * UNITS_PER_SECOND);
    if (e->kind == EVENT_receive) fprintf(out, "%d wait %d %d %d\n", r, e->peer, r, e->tag);
    else if (e->kind != EVENT_send) ti_collective(out, r, e);
    else if (matches->partner[r][k] >= 0)
      fprintf(out, "%d isend %d %d %lld\n", r, e->peer, e->tag, (long long)e->bytes);
  }
  fprintf(out, "%d waitall\n%d finalize\n", r, r);
  memory_free(posts.seq);
}

int trace_write_ti(const struct events *events, const char *folder, struct fault *fault)
{
  char path[PATH_BYTES], list_path[PATH_BYTES];
  struct matches m;
  if (events_match(events, &m, fault)) return -1;
  snprintf(list_path, sizeof list_path, "%s/ti.txt", folder);
  FILE *list = folder_make(folder, "folder of traces", fault) ? NULL : create(list_path, fault);
  for (int r = 0; r < events->ranks && !fault->text[0]; r++) {
    snprintf(path, sizeof path, "%s/rank_%06d.txt", folder, r);
    fprintf(list, "%s\n", path);
    FILE *out = create(path, fault);
    if (!out) break;
    ti_rank(out, events, &m, r);
    finish(out, path, fault);
  }
  if (list) finish(list, list_path, fault);
  matches_free(events, &m);
  return fault->text[0] ? -1 : 0;
}

/* --- LogGOPSim --------------------------------------------------------------------------------------------------- */

/* The operations of a rank. A label l followed by a number names each; `last` is the one that must end before the next
 * begins. */
struct goal {
  FILE *out;
  int rank, ranks;
  int64_t label, last;
};

/* Write the line that makes operation `label` wait for `before`. */
static void goal_requires(struct goal *goal, int64_t label, int64_t before)
{
  if (before > 0) fprintf(goal->out, "l%lld requires l%lld\n", (long long)label, (long long)before);
}

static void goal_calc(struct goal *goal, double nanoseconds)
{
  fprintf(goal->out, "l%lld: calc %.0f\n", (long long)++goal->label, nanoseconds);
  goal_requires(goal, goal->label, goal->last);
  goal->last = goal->label;
}

/* Write a message of the chain or beside it; returns its label. LogGOPSim has no message without bytes. */
static int64_t goal_message(struct goal *goal, const char *verb, int peer, int64_t bytes, int64_t tag)
{
  fprintf(goal->out, "l%lld: %s %lldb %s %d tag %lld\n", (long long)++goal->label, verb,
          (long long)(bytes > 0 ? bytes : 1), verb[0] == 's' ? "to" : "from", peer, (long long)tag);
  goal_requires(goal, goal->label, goal->last);
  return goal->label;
}

/* A stage of a collective: send, and receive from another rank; peer negative: not. */
static void goal_stage(struct goal *goal, int to, int from, double bytes, int64_t tag)
{
  int64_t sent = to < 0 ? 0 : goal_message(goal, "send", to, (int64_t)ceil(bytes), tag);
  int64_t received = from < 0 ? 0 : goal_message(goal, "recv", from, (int64_t)ceil(bytes), tag);
  if (!sent && !received) return;
  fprintf(goal->out, "l%lld: calc 0\n", (long long)++goal->label);
  if (sent) goal_requires(goal, goal->label, sent);
  if (received) goal_requires(goal, goal->label, received);
  goal->last = goal->label;
}

/* A collective in stages with distances 1, 2, 4, ...: a binomial tree (broadcast), else every rank sends and receives
 * in each. */
static void goal_collective(struct goal *goal, const struct event *event, int64_t tag)
{
  int p = goal->ranks;
  for (int distance = 1; distance < p; distance *= 2) {
    double bytes = (double)event->bytes;
    if (event->kind == EVENT_allgather) bytes *= distance < p - distance ? distance : p - distance;
    if (event->kind == EVENT_alltoall) bytes *= 0.5 * p;
    if (event->kind != EVENT_broadcast) {
      goal_stage(goal, (goal->rank + distance) % p, (goal->rank + p - distance) % p, bytes, tag);
      continue;
    }
    int place = (goal->rank + p - event->peer) % p; /* counted from the root; those below `distance` have the data */
    int to = place < distance && place + distance < p ? (goal->rank + distance) % p : -1;
    int from = place >= distance && place < 2 * distance ? (goal->rank + p - distance) % p : -1;
    goal_stage(goal, to, from, bytes, tag);
  }
}

static void goal_rank(FILE *out, const struct events *events, const struct matches *matches, int64_t first_tag, int r)
{
  const struct rank_events *mine = &events->rank[r];
  struct goal g = {.out = out, .rank = r, .ranks = events->ranks};
  struct posts posts = posts_of(mine);
  int64_t post = 0, *label = memory_alloc("trace", sizeof *label * (size_t)(mine->count + 1));
  fprintf(out, "\nrank %d {\n", r);
  for (int64_t k = 0; k < mine->count; k++) {
    const struct event *e = &mine->event[k];
    for (; post < posts.count && mine->event[posts.seq[post]].posted <= k; post++) {
      const struct event *p = &mine->event[posts.seq[post]];
      label[p->seq] = goal_message(&g, "recv", p->peer, p->bytes, p->tag);
    }
    if (e->work > 0 || g.last == 0 || e->kind == EVENT_receive) goal_calc(&g, e->work * UNITS_PER_SECOND);
    if (e->kind == EVENT_receive) {
      goal_calc(&g, 0);
      goal_requires(&g, g.label, label[k]);
    } else if (e->kind == EVENT_send) {
      if (matches->partner[r][k] >= 0) g.last = goal_message(&g, "send", e->peer, e->bytes, e->tag);
    } else {
      goal_collective(&g, e, first_tag + matches->partner[r][k]);
    }
  }
  fprintf(out, "}\n");
  memory_free(label);
  memory_free(posts.seq);
}

int trace_write_goal(const struct events *events, const char *path, struct fault *fault)
{
  struct matches m;
  int64_t tag = 0;
  if (events_match(events, &m, fault)) return -1;
  for (int r = 0; r < events->ranks; r++)
    for (int64_t k = 0; k < events->rank[r].count; k++)
      if (events->rank[r].event[k].tag > tag) tag = events->rank[r].event[k].tag;
  FILE *out = create(path, fault);
  if (out) {
    fprintf(out, "num_ranks %d\n", events->ranks);
    for (int r = 0; r < events->ranks; r++) goal_rank(out, events, &m, tag + 1, r);
    finish(out, path, fault);
  }
  matches_free(events, &m);
  return fault->text[0] ? -1 : 0;
}
