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

void event_path(char *path, size_t size, const char *folder, int rank)
{
  snprintf(path, size, "%s/rank_%06d.csv", folder, rank);
}

void event_write_head(FILE *out, int rank, int ranks)
{
  fprintf(out, "espalier-trace,%d,%d,%d\n%s\n", EVENT_FORMAT, rank, ranks, event_columns);
}

void event_write(FILE *out, const struct event *event)
{
  fprintf(out, "%lld,%lld,%d,%s,%s,%d,%d,%lld,%.9f,%lld\n", (long long)event->seq, (long long)event->step, event->tick,
          phase_names[event->phase], event_kind_names[event->kind], event->peer, event->tag, (long long)event->bytes,
          event->work, (long long)event->posted);
}

int event_read_head(const char *text, int *rank, int *ranks, struct fault *fault)
{
  int format, end = 0;
  if (sscanf(text, "espalier-trace,%d,%d,%d%n", &format, rank, ranks, &end) != 3 ||
      text[end + strspn(text + end, " \r\n")])
    return fault_set(fault, "expected espalier-trace,%d,RANK,RANKS, the first line of a recording", EVENT_FORMAT);
  if (format != EVENT_FORMAT)
    return fault_set(fault, "the format's version is %d; this program reads %d", format, EVENT_FORMAT);
  if (*ranks < 1 || *rank < 0 || *rank >= *ranks)
    return fault_set(fault, "expected a rank from 0 to ranks - 1, found %d of %d", *rank, *ranks);
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

int event_read(char *text, struct event *event, struct fault *fault)
{
  int64_t tick, peer, tag;
  char *at = text, *end, *word;
  memset(event, 0, sizeof *event);
  if (whole(next_word(&at), 0, INT64_MAX, &event->seq))
    return fault_set(fault, "seq: expected a whole number from 0 on");
  if (whole(next_word(&at), 0, INT64_MAX, &event->step))
    return fault_set(fault, "step: expected a whole number from 0 on");
  if (whole(next_word(&at), 0, INT32_MAX, &tick)) return fault_set(fault, "tick: expected a whole number from 0 on");
  if (named(word = next_word(&at), phase_names, PHASE_COUNT, &event->phase))
    return fault_set(fault, "phase: found '%.40s', which is none", word ? word : "");
  if (named(word = next_word(&at), event_kind_names, EVENT_KIND_COUNT, &event->kind))
    return fault_set(fault, "kind: expected send, receive or a collective, found '%.40s'", word ? word : "");
  if (whole(next_word(&at), event_is_collective(event->kind) ? -1 : 0, INT32_MAX, &peer))
    return fault_set(fault, "peer: expected a rank");
  if (whole(next_word(&at), 0, INT32_MAX, &tag)) return fault_set(fault, "tag: expected a whole number from 0 on");
  if (whole(next_word(&at), 0, INT64_MAX, &event->bytes))
    return fault_set(fault, "bytes: expected a whole number from 0 on");
  word = next_word(&at);
  event->work = word ? strtod(word, &end) : 0;
  if (!word || end == word || *end || !(event->work >= 0) || !isfinite(event->work))
    return fault_set(fault, "work: expected seconds from 0 on");
  if (whole(next_word(&at), 0, event->seq, &event->posted))
    return fault_set(fault, "posted: expected a whole number from 0 to seq");
  if (at) return fault_set(fault, "expected %s and no further column", event_columns);
  event->tick = (int32_t)tick;
  event->peer = (int32_t)peer;
  event->tag = (int32_t)tag;
  return 0;
}
