/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "study/virtual_stages.h"

#include <string.h>

#include "base/memory.h"
#include "base/watchdog.h"
#include "mpi/message.h"

enum { PARTNERS = 4 };   /* most ranks that exchange messages among themselves in a step: those of two leaves */

/* Ranks that exchange messages among themselves in a step, and these messages. */
struct meeting {
  int rank[PARTNERS], count;
  struct message_sent {
    int from, to;
    int64_t bytes;
  } sent[2 * PARTNERS];              /* each sends at most two */
  int messages;
};

struct lock_step {
  const struct comm *c;
  struct virtual_gather *g;
  struct halves tree;
  struct stages *rank;               /* [ranks] */
  struct meeting *meeting;           /* [meetings] of this step, in the order of their first ranks */
  int *of;                           /* [ranks] the meeting of a rank; -1: not known yet */
  int *order;                        /* [meetings] in the order of the tree, so that a thread has ranks that ask for the same pairs of groups */
  int meetings;
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

/* Find the meetings of a step. */
static void arrange(struct lock_step *l, int step)
{
  int ranks = l->g->ranks, taken = 0;
  l->meetings = 0;
  for (int q = 0; q < ranks; q++) l->of[q] = -1;
  for (int q = 0; q < ranks; q++) {
    if (l->of[q] >= 0) continue;
    struct meeting *m = &l->meeting[l->meetings];
    m->count = partners(l, step, q, m->rank);
    m->messages = 0;
    for (int k = 0; k < m->count; k++) l->of[m->rank[k]] = l->meetings;
    l->meetings++;
  }
  for (int p = 0; p < ranks; p++) {
    int q = l->tree.rank[p], which = l->of[q];
    if (q == l->meeting[which].rank[0]) l->order[taken++] = which;
  }
}

static void send_all(struct lock_step *l, int step, struct meeting *m, struct stage_list mail[PARTNERS][PARTNERS])
{
  for (int k = 0; k < m->count; k++) {
    struct stages *s = &l->rank[m->rank[k]];
    struct stage_peers p = stages_peers(s, step);
    for (int i = 0; i < p.sends; i++) {
      int to = 0;
      while (m->rank[to] != p.to[i]) to++;
      stages_send(s, step, m->rank[to], &mail[k][to]);
      int64_t bytes = (int64_t)stages_bytes(s, step, &mail[k][to]);
      struct virtual_gathered *sender = &l->g->rank[m->rank[k]];
      sender->messages += message_part_count(l->c, (size_t)bytes);
      sender->bytes += bytes + MESSAGE_HEAD;
      l->g->rank[m->rank[to]].received_bytes += bytes;
      m->sent[m->messages++] = (struct message_sent){m->rank[k], m->rank[to], bytes};
    }
  }
}

static void meet(struct lock_step *l, int step, struct meeting *m, struct stage_memo *memo)
{
  struct stage_list mail[PARTNERS][PARTNERS];   /* from, to */
  memset(mail, 0, sizeof mail);
  for (int k = 0; k < m->count; k++) l->rank[m->rank[k]].memo = memo;
  send_all(l, step, m, mail);
  for (int k = 0; k < m->count; k++) {
    struct stages *s = &l->rank[m->rank[k]];
    struct stage_peers p = stages_peers(s, step);
    for (int i = 0; i < p.receives; i++) {
      int from = 0;
      while (m->rank[from] != p.from[i]) from++;
      stages_receive(s, step, &mail[from][k]);
    }
    stages_end(s, step);
  }
  for (int k = 0; k < PARTNERS * PARTNERS; k++) stage_list_free(&mail[0][0] + k);
}

/* Meetings [from, to) in the order of the tree. */
static void meet_some(struct lock_step *l, int step, int from, int to)
{
  struct stage_memo memo = {.pair = NULL};
  int32_t group = 0;
  for (int k = from; k < to; k++) {
    struct meeting *m = &l->meeting[l->order[k]];
    int32_t here = stages_group(&l->rank[m->rank[0]], step);
    if (here != group) stage_memo_clear(&memo);
    group = here;
    meet(l, step, m, &memo);
  }
  stage_memo_free(&memo);
}

/* Upwards ranks write to the table, so one thread makes these steps. */
static void make_step(struct lock_step *l, int step, int threads)
{
  arrange(l, step);
  if (stages_upwards(&l->tree, step)) threads = 1;
#pragma omp parallel for schedule(static, 1) num_threads(threads)
  for (int t = 0; t < threads; t++)
    meet_some(l, step, (int)((int64_t)l->meetings * t / threads), (int)((int64_t)l->meetings * (t + 1) / threads));
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

static void by_stages(struct virtual_gather *g, const struct comm *c, int threads, const int grid[3], const struct lattice *lattice,
                      const struct let_request *r, struct let_summary *summary, virtual_stage_message *message, void *of)
{
  struct lock_step l = {.c = c, .g = g};
  size_t n = (size_t)g->ranks;
  halves_open(&l.tree, grid);
  g->numbers = (int64_t)4 << l.tree.depth;
  g->table = memory_alloc("study", sizeof *g->table * (size_t)g->numbers);
  l.rank = memory_alloc("study", sizeof *l.rank * n);
  l.meeting = memory_alloc("study", sizeof *l.meeting * n);
  l.of = memory_alloc("study", sizeof *l.of * n);
  l.order = memory_alloc("study", sizeof *l.order * n);
  for (int q = 0; q < g->ranks; q++) g->table[halves_number(&l.tree, q)] = &summary[q];
  for (int q = 0; q < g->ranks; q++) stages_open(&l.rank[q], &l.tree, lattice, r, q, NULL, g->table);
  for (int step = 0; step < stages_steps(&l.tree); step++) {
    watchdog_progress();
    make_step(&l, step, threads);
    for (int k = 0; k < l.meetings && message; k++)
      for (int i = 0; i < l.meeting[k].messages; i++) {
        const struct message_sent *m = &l.meeting[k].sent[i];
        message(of, step, m->from, m->to, m->bytes);
      }
  }
  for (int q = 0; q < g->ranks; q++) {
    keep_results(&g->rank[q], &l.tree, &l.rank[q]);
    stages_close(&l.rank[q]);
  }
  for (int q = 0; q < g->ranks; q++) g->table[halves_number(&l.tree, q)] = NULL;   /* the caller's */
  memory_free(l.order);
  memory_free(l.of);
  memory_free(l.meeting);
  memory_free(l.rank);
  halves_close(&l.tree);
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

void virtual_gather_make(struct virtual_gather *g, const struct comm *c, int threads, const int grid[3], const struct lattice *lattice,
                         const struct let_request *r, struct let_summary *summary, virtual_stage_message *message, void *of)
{
  *g = (struct virtual_gather){.ranks = grid[0] * grid[1] * grid[2]};
  g->rank = memory_alloc("study", sizeof *g->rank * (size_t)g->ranks);
  g->stages = stages_wanted(r, g->ranks);
  if (g->stages)
    by_stages(g, c, threads, grid, lattice, r, summary, message, of);
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
