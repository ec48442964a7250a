/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "mpi/event.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const event_kind_names[EVENT_KIND_COUNT] = {
#define X(name) #name,
    EVENT_KINDS(X)
#undef X
};
const char event_columns[] = "seq,step,tick,phase,kind,peer,tag,bytes,work,posted";

void event_path(char *path, size_t size, const char *folder, int rank) { snprintf(path, size, "%s/rank_%06d.csv", folder, rank); }

void event_write_head(FILE *out, int rank, int ranks)
{
  fprintf(out, "espalier-trace,%d,%d,%d\n%s\n", EVENT_FORMAT, rank, ranks, event_columns);
}

void event_write(FILE *out, const struct event *e)
{
  fprintf(out, "%lld,%lld,%d,%s,%s,%d,%d,%lld,%.9f,%lld\n", (long long)e->seq, (long long)e->step, e->tick, phase_names[e->phase],
          event_kind_names[e->kind], e->peer, e->tag, (long long)e->bytes, e->work, (long long)e->posted);
}

int event_read_head(const char *text, int *rank, int *ranks, struct fault *f)
{
  int format, end = 0;
  if (sscanf(text, "espalier-trace,%d,%d,%d%n", &format, rank, ranks, &end) != 3 || text[end + strspn(text + end, " \r\n")])
    return fault_set(f, "expected espalier-trace,%d,RANK,RANKS, the first line of a recording", EVENT_FORMAT);
  if (format != EVENT_FORMAT) return fault_set(f, "the format's version is %d; this program reads %d", format, EVENT_FORMAT);
  if (*ranks < 1 || *rank < 0 || *rank >= *ranks) return fault_set(f, "expected a rank from 0 to ranks - 1, found %d of %d", *rank, *ranks);
  return 0;
}

/* The next word of the line, which ends at a comma or with the line. NULL: none. */
static char *next_word(char **at)
{
  char *word = *at;
  if (!word) return NULL;
  size_t length = strcspn(word, ",\r\n");
  *at = word[length] == ',' ? word + length + 1 : NULL;
  word[length] = 0;
  return word;
}

static int whole(const char *word, int64_t least, int64_t most, int64_t *x)
{
  char *end;
  errno = 0;
  *x = word ? strtoll(word, &end, 10) : 0;
  return !word || end == word || *end || errno || *x < least || *x > most ? -1 : 0;
}

static int named(const char *word, const char *const *names, int count, int32_t *x)
{
  for (*x = 0; word && *x < count; ++*x)
    if (strcmp(word, names[*x]) == 0) return 0;
  return -1;
}

int event_read(char *text, struct event *e, struct fault *f)
{
  int64_t tick, peer, tag;
  char *at = text, *end, *word;
  memset(e, 0, sizeof *e);
  if (whole(next_word(&at), 0, INT64_MAX, &e->seq)) return fault_set(f, "seq: expected a whole number from 0 on");
  if (whole(next_word(&at), 0, INT64_MAX, &e->step)) return fault_set(f, "step: expected a whole number from 0 on");
  if (whole(next_word(&at), 0, INT32_MAX, &tick)) return fault_set(f, "tick: expected a whole number from 0 on");
  if (named(word = next_word(&at), phase_names, PHASE_COUNT, &e->phase)) return fault_set(f, "phase: found '%.40s', which is none", word ? word : "");
  if (named(word = next_word(&at), event_kind_names, EVENT_KIND_COUNT, &e->kind))
    return fault_set(f, "kind: expected send, receive or a collective, found '%.40s'", word ? word : "");
  if (whole(next_word(&at), event_is_collective(e->kind) ? -1 : 0, INT32_MAX, &peer)) return fault_set(f, "peer: expected a rank");
  if (whole(next_word(&at), 0, INT32_MAX, &tag)) return fault_set(f, "tag: expected a whole number from 0 on");
  if (whole(next_word(&at), 0, INT64_MAX, &e->bytes)) return fault_set(f, "bytes: expected a whole number from 0 on");
  word = next_word(&at);
  e->work = word ? strtod(word, &end) : 0;
  if (!word || end == word || *end || !(e->work >= 0) || !isfinite(e->work)) return fault_set(f, "work: expected seconds from 0 on");
  if (whole(next_word(&at), 0, e->seq, &e->posted)) return fault_set(f, "posted: expected a whole number from 0 to seq");
  if (at) return fault_set(f, "expected %s and no further column", event_columns);
  e->tick = (int32_t)tick, e->peer = (int32_t)peer, e->tag = (int32_t)tag;
  return 0;
}
