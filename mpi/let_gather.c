/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The gather of LET summaries: in one allgather, or in stages (mpi/stages.h). */
#include <config.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "mpi/let_parts.h"

/* --- one allgather ----------------------------------------------------------------------------------------------- */

static void by_allgather(struct lets *l, const struct let_summary *mine, struct gathered *g)
{
  size_t bytes = let_summary_bytes(&l->request);
  char *packed = memory_alloc("let", bytes);
  g->packed = memory_alloc("let", bytes * (size_t)l->c->size);
  let_summary_pack(&l->request, mine, packed);
  comm_allgather(l->c, packed, bytes, g->packed);
  memory_free(packed);
  g->count = l->c->size - 1;
  g->rank = memory_alloc("let", sizeof *g->rank * (size_t)l->c->size);
  g->entry = memory_alloc("let", sizeof *g->entry * (size_t)l->c->size);
  for (int k = 0; k < g->count; k++) {
    g->rank[k] = (l->c->rank + 1 + k) % l->c->size;
    g->entry[k] = (struct stage_entry){.packed = 1, .summary = g->packed + bytes * (size_t)g->rank[k]};
  }
}

/* --- stages ------------------------------------------------------------------------------------------------------ */

static void send_to(struct lets *l, const struct stages *s, int step, int to, struct stage_list *message)
{
  stages_send(s, step, to, message);
  size_t bytes = stages_bytes(s, step, message);
  void *packed = memory_alloc("messages", bytes + 1);
  stages_pack(s, step, message, packed);
  outbox_send(&l->out, to, MESSAGE_SUMMARY, 0, packed, bytes, OUTBOX_TAKES);
  l->exchanged[l->kind]->summary_messages += message_part_count(l->c, bytes);
  l->exchanged[l->kind]->summary_bytes += (int64_t)(bytes + MESSAGE_HEAD);
}

/* The messages of one step. */
static void exchange(struct lets *l, struct stages *s, int step, struct stage_list *message)
{
  struct stage_peers p = stages_peers(s, step);
  struct poll_backoff poll_backoff = {0};
  struct inbox in[2];
  for (int k = 0; k < p.receives; k++) {
    inbox_open(&in[k], p.from[k], MESSAGE_SUMMARY);
    inbox_expect(&in[k], l->c);
  }
  for (int k = 0; k < p.sends; k++) send_to(l, s, step, p.to[k], message);
  for (int k = 0; k < p.receives; k++) {
    while (!inbox_poll(&in[k], l->c, let_host_room, NULL)) comm_backoff(l->c, &poll_backoff, p.from[k]);
    comm_backoff_end(&poll_backoff);
    stages_unpack(s, step, in[k].data, in[k].bytes);
    inbox_done(&in[k]);
    inbox_close(&in[k]);
  }
  stages_end(s, step);
  outbox_tidy(&l->out);
}

/* The place of a rank in the ring that begins after this one. */
static int after(const struct lets *l, int rank) { return (rank - l->c->rank + l->c->size) % l->c->size; }

static int ascending(const void *a, const void *b)
{
  const int *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

/* The results, ranks in the order of the ring. */
static void take_results(struct lets *l, struct gathered *g)
{
  const struct stage_list *known = &g->stages->known, *group = &g->stages->group;
  size_t n = (size_t)known->count;
  int (*place)[2] = memory_alloc("let", sizeof *place * (n + 1));
  g->rank = memory_alloc("let", sizeof *g->rank * (n + 1));
  g->entry = memory_alloc("let", sizeof *g->entry * (n + (size_t)group->count + 1));
  for (int k = 0; k < known->count; k++) {
    place[k][0] = after(l, halves_rank(&l->tree, known->entry[k].number));
    place[k][1] = k;
  }
  if (n > 1) qsort(place, n, sizeof *place, ascending);
  for (int k = 0; k < known->count; k++) {
    g->rank[k] = (l->c->rank + place[k][0]) % l->c->size;
    g->entry[k] = known->entry[place[k][1]];
  }
  if (group->count > 0) memcpy(g->entry + n, group->entry, sizeof *g->entry * (size_t)group->count);
  g->count = known->count;
  g->groups = group->count;
  memory_free(place);
}

static void by_stages(struct lets *l, const struct lattice *lattice, const struct let_summary *mine, struct gathered *g)
{
  struct stage_list message = {.entry = NULL};
  g->stages = memory_alloc("let", sizeof *g->stages);
  stages_open(g->stages, &l->tree, lattice, &l->request, l->c->rank, mine, NULL);
  for (int step = 0; step < stages_steps(&l->tree); step++) exchange(l, g->stages, step, &message);
  take_results(l, g);
  stage_list_free(&message);
}

void let_gather(struct lets *l, const struct lattice *lattice, const struct let_summary *mine, struct gathered *g)
{
  *g = (struct gathered){.count = 0};
  if (stages_wanted(&l->request, l->c->size))
    by_stages(l, lattice, mine, g);
  else
    by_allgather(l, mine, g);
}

void let_gather_free(struct gathered *g)
{
  if (g->stages) stages_close(g->stages);
  memory_free(g->stages);
  memory_free(g->packed);
  memory_free(g->entry);
  memory_free(g->rank);
}
