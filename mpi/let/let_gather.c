/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The gather of LET summaries: in one allgather, or in stages (mpi/let/stages.h). */
#include <config.h>
#include "mpi/let/let_gather.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* --- one allgather ----------------------------------------------------------------------------------------------- */

static void by_allgather(struct lets *lets, const struct let_request *request, const struct let_summary *mine,
                         struct gathered *gathered)
{
  size_t bytes = let_summary_bytes(request);
  char *packed = memory_alloc("let", bytes);
  gathered->packed = memory_alloc("let", bytes * (size_t)lets->c->size);
  let_summary_pack(request, mine, packed);
  comm_allgather(lets->c, packed, bytes, gathered->packed);
  memory_free(packed);
  gathered->count = lets->c->size - 1;
  gathered->rank = memory_alloc("let", sizeof *gathered->rank * (size_t)lets->c->size);
  gathered->entry = memory_alloc("let", sizeof *gathered->entry * (size_t)lets->c->size);
  for (int k = 0; k < gathered->count; k++) {
    gathered->rank[k] = (lets->c->rank + 1 + k) % lets->c->size;
    gathered->entry[k] =
        (struct stage_entry){.packed = 1, .summary = gathered->packed + bytes * (size_t)gathered->rank[k]};
  }
}

/* --- stages ------------------------------------------------------------------------------------------------------ */

static void send_to(struct lets *lets, struct let_traffic *traffic, const struct stages *stages, int step, int to,
                    struct stage_list *message)
{
  stages_send(stages, step, to, message);
  size_t bytes = stages_bytes(stages, step, message);
  void *packed = memory_alloc("messages", bytes + 1);
  stages_pack(stages, step, message, packed);
  outbox_send(&lets->out, to, MESSAGE_SUMMARY, 0, packed, bytes, OUTBOX_TAKES);
  traffic->summary_messages += message_part_count(lets->c, bytes);
  traffic->summary_bytes += (int64_t)(bytes + MESSAGE_HEAD);
}

/* The messages of one step. */
static void exchange(struct lets *lets, struct let_traffic *traffic, struct stages *stages, int step,
                     struct stage_list *message)
{
  struct stage_peers p = stages_peers(stages, step);
  struct poll_backoff poll_backoff = {0};
  struct inbox in[2];
  for (int k = 0; k < p.receives; k++) {
    inbox_open(&in[k], p.from[k], MESSAGE_SUMMARY);
    inbox_expect(&in[k], lets->c);
  }
  for (int k = 0; k < p.sends; k++) send_to(lets, traffic, stages, step, p.to[k], message);
  for (int k = 0; k < p.receives; k++) {
    while (!inbox_poll(&in[k], lets->c, let_host_buffer, NULL)) comm_backoff(lets->c, &poll_backoff, p.from[k]);
    comm_backoff_end(&poll_backoff);
    stages_unpack(stages, step, in[k].data, in[k].bytes);
    inbox_done(&in[k]);
    inbox_close(&in[k]);
  }
  stages_end(stages, step);
  outbox_tidy(&lets->out);
}

/* The place of a rank in the ring that begins after this one. */
static int after(const struct lets *lets, int rank) { return (rank - lets->c->rank + lets->c->size) % lets->c->size; }

static int ascending(const void *a, const void *b)
{
  const int *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

/* The results, ranks in the order of the ring. */
static void take_results(struct lets *lets, struct gathered *gathered)
{
  const struct stage_list *known = &gathered->stages->known, *group = &gathered->stages->group;
  size_t n = (size_t)known->count;
  int(*place)[2] = memory_alloc("let", sizeof *place * (n + 1));
  gathered->rank = memory_alloc("let", sizeof *gathered->rank * (n + 1));
  gathered->entry = memory_alloc("let", sizeof *gathered->entry * (n + (size_t)group->count + 1));
  for (int k = 0; k < known->count; k++) {
    place[k][0] = after(lets, halves_rank(&lets->tree, known->entry[k].number));
    place[k][1] = k;
  }
  if (n > 1) qsort(place, n, sizeof *place, ascending);
  for (int k = 0; k < known->count; k++) {
    gathered->rank[k] = (lets->c->rank + place[k][0]) % lets->c->size;
    gathered->entry[k] = known->entry[place[k][1]];
  }
  if (group->count > 0) memcpy(gathered->entry + n, group->entry, sizeof *gathered->entry * (size_t)group->count);
  gathered->count = known->count;
  gathered->groups = group->count;
  memory_free(place);
}

static void by_stages(struct lets *lets, const struct let_call *call, const struct lattice *lattice,
                      const struct let_summary *mine, struct gathered *gathered)
{
  struct stage_list message = {.entry = NULL};
  gathered->stages = memory_alloc("let", sizeof *gathered->stages);
  stages_open(gathered->stages, &lets->tree, lattice, call->request, lets->c->rank, mine, NULL);
  for (int step = 0; step < stages_steps(&lets->tree); step++)
    exchange(lets, lets->set[call->kind].traffic, gathered->stages, step, &message);
  take_results(lets, gathered);
  stage_list_free(&message);
}

void let_gather(struct lets *lets, const struct let_call *call, const struct lattice *lattice,
                const struct let_summary *mine, struct gathered *gathered)
{
  *gathered = (struct gathered){.count = 0};
  if (stages_wanted(call->request, lets->c->size)) by_stages(lets, call, lattice, mine, gathered);
  else by_allgather(lets, call->request, mine, gathered);
}

void let_gather_free(struct gathered *gathered)
{
  if (gathered->stages) stages_close(gathered->stages);
  memory_free(gathered->stages);
  memory_free(gathered->packed);
  memory_free(gathered->entry);
  memory_free(gathered->rank);
}
