/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "study/virtual_stages.h"

#include <string.h>

#include "base/memory.h"
#include "base/watchdog.h"
#include "mpi/message.h"

enum { PARTNERS = 4 };   /* most ranks that exchange messages among themselves in a step: those of two leaves */

struct lock_step {
  const struct comm *c;
  struct virtual_gather *g;
  struct stages *rank;               /* [ranks] */
  char *done;                        /* [ranks] in this step */
  virtual_stage_message *message;
  void *of;
};

/* The ranks that exchange messages with rank r in a step, and so on, r included. Returns their number. */
static int partners(const struct lock_step *l, int step, int r, int set[PARTNERS])
{
  int count = 1;
  set[0] = r;
  for (int k = 0; k < count; k++) {
    struct stage_peers p = stages_peers(&l->rank[set[k]], step);
    for (int i = 0; i < p.sends + p.receives; i++) {
      int other = i < p.sends ? p.to[i] : p.from[i - p.sends], known = 0;
      for (int j = 0; j < count; j++) known |= set[j] == other;
      if (!known && count < PARTNERS) set[count++] = other;
    }
  }
  return count;
}

/* A step of ranks that exchange messages among themselves. */
static void step_of(struct lock_step *l, int step, const int *set, int count)
{
  struct stage_list mail[PARTNERS][PARTNERS];   /* from, to */
  memset(mail, 0, sizeof mail);
  for (int k = 0; k < count; k++) {
    struct stage_peers p = stages_peers(&l->rank[set[k]], step);
    for (int i = 0; i < p.sends; i++) {
      int to = 0;
      while (set[to] != p.to[i]) to++;
      stages_send(&l->rank[set[k]], step, set[to], &mail[k][to]);
      int64_t bytes = (int64_t)stages_bytes(&l->rank[set[k]], step, &mail[k][to]);
      l->g->rank[set[k]].messages += message_part_count(l->c, (size_t)bytes);
      l->g->rank[set[k]].bytes += bytes + MESSAGE_HEAD;
      l->g->rank[set[to]].received_bytes += bytes;
      if (l->message) l->message(l->of, step, set[k], set[to], bytes);
    }
  }
  for (int k = 0; k < count; k++) {
    struct stage_peers p = stages_peers(&l->rank[set[k]], step);
    for (int i = 0; i < p.receives; i++) {
      int from = 0;
      while (set[from] != p.from[i]) from++;
      stages_receive(&l->rank[set[k]], step, &mail[from][k]);
    }
    stages_end(&l->rank[set[k]], step);
    l->done[set[k]] = 1;
  }
  for (int k = 0; k < PARTNERS * PARTNERS; k++) stage_list_free(&mail[0][0] + k);
}

static void keep_results(struct virtual_gathered *q, const struct halves *tree, const struct stages *s)
{
  q->count = s->known.count;
  q->groups = s->group.count;
  q->held = q->received_bytes + (int64_t)sizeof(struct let_summary) * (2 * tree->depth + 2) +
            (int64_t)sizeof(struct stage_entry) * (q->count + q->groups);
  q->known = memory_alloc("study", sizeof *q->known * (size_t)(q->count + 1));
  q->group = memory_alloc("study", sizeof *q->group * (size_t)(q->groups + 1));
  for (int k = 0; k < q->count; k++) q->known[k] = halves_rank(tree, s->known.entry[k].number);
  for (int k = 0; k < q->groups; k++) q->group[k] = s->group.entry[k].number;
}

static void by_stages(struct virtual_gather *g, const struct comm *c, const int grid[3], const struct lattice *lattice, const struct let_request *r,
                      struct let_summary *summary, virtual_stage_message *message, void *of)
{
  struct halves tree;
  struct stage_memo memo = {.pair = NULL};
  struct lock_step l = {.c = c, .g = g, .message = message, .of = of};
  size_t n = (size_t)g->ranks;
  halves_open(&tree, grid);
  g->numbers = (int64_t)4 << tree.depth;
  g->table = memory_alloc("study", sizeof *g->table * (size_t)g->numbers);
  l.rank = memory_alloc("study", sizeof *l.rank * n);
  l.done = memory_alloc("study", n);
  for (int q = 0; q < g->ranks; q++) g->table[halves_number(&tree, q)] = &summary[q];
  for (int q = 0; q < g->ranks; q++) {
    stages_open(&l.rank[q], &tree, lattice, r, q, NULL, g->table);
    l.rank[q].memo = &memo;
  }
  for (int step = 0; step < stages_steps(&tree); step++) {
    memset(l.done, 0, n);
    watchdog_progress();
    for (int q = 0; q < g->ranks; q++) {
      int set[PARTNERS];
      if (!l.done[q]) step_of(&l, step, set, partners(&l, step, q, set));
    }
  }
  for (int q = 0; q < g->ranks; q++) {
    keep_results(&g->rank[q], &tree, &l.rank[q]);
    stages_close(&l.rank[q]);
  }
  for (int q = 0; q < g->ranks; q++) g->table[halves_number(&tree, q)] = NULL;   /* the caller's */
  stage_memo_free(&memo);
  memory_free(l.done);
  memory_free(l.rank);
  halves_close(&tree);
}

static void by_allgather(struct virtual_gather *g, const struct let_request *r)
{
  int64_t bytes = (int64_t)let_summary_bytes(r);
  for (int q = 0; q < g->ranks; q++) {
    struct virtual_gathered *to = &g->rank[q];
    to->known = memory_alloc("study", sizeof *to->known * (size_t)g->ranks);
    for (int k = 0; k < g->ranks; k++)
      if (k != q) to->known[to->count++] = k;
    to->received_bytes = bytes * (g->ranks - 1);
    to->held = bytes * g->ranks + (int64_t)sizeof(struct stage_entry) * to->count;
  }
}

void virtual_gather_make(struct virtual_gather *g, const struct comm *c, const int grid[3], const struct lattice *lattice, const struct let_request *r,
                         struct let_summary *summary, virtual_stage_message *message, void *of)
{
  *g = (struct virtual_gather){.ranks = grid[0] * grid[1] * grid[2]};
  g->rank = memory_alloc("study", sizeof *g->rank * (size_t)g->ranks);
  g->stages = stages_wanted(r, g->ranks);
  if (g->stages)
    by_stages(g, c, grid, lattice, r, summary, message, of);
  else
    by_allgather(g, r);
}

void virtual_gather_free(struct virtual_gather *g)
{
  for (int q = 0; q < g->ranks; q++) {
    memory_free(g->rank[q].known);
    memory_free(g->rank[q].group);
  }
  for (int64_t k = 0; k < g->numbers; k++) memory_free(g->table[k]);
  memory_free(g->table);
  memory_free(g->rank);
}
