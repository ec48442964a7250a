/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "study/virtual_stages.h"

#include <string.h>

#include "base/memory.h"
#include "base/watchdog.h"
#include "mpi/message.h"

enum { PARTNERS = 4 }; /* most ranks that exchange messages among themselves in a step: those of two leaves */

/* Ranks that exchange messages among themselves in a step, and these messages. */
struct meeting {
  int rank[PARTNERS], count;
  struct message_sent {
    int from, to;
    int64_t bytes;
  } sent[2 * PARTNERS]; /* each sends at most two */
  int messages;
};

struct lock_step {
  const struct comm *c;
  struct virtual_gather *g;
  struct halves tree;
  struct stages *rank;     /* [ranks] */
  struct meeting *meeting; /* [meetings] of this step, in the order of their first ranks */
  int *of;                 /* [ranks] the meeting of a rank; -1: not known yet */
  /* [meetings] in the order of the tree, so that a thread has ranks that ask for the same pairs of groups */
  int *order;
  int meetings;
};

/* The ranks that exchange messages with rank r in a step, and so on, r included. Returns their number. */
static int partners(const struct lock_step *lock, int step, int r, int set[PARTNERS])
{
  int count = 1;
  set[0] = r;
  for (int k = 0; k < count; k++) {
    struct stage_peers p = stages_peers(&lock->rank[set[k]], step);
    for (int i = 0; i < p.sends + p.receives; i++) {
      int other = i < p.sends ? p.to[i] : p.from[i - p.sends], known = 0;
      for (int j = 0; j < count; j++) known |= set[j] == other;
      if (!known && count < PARTNERS) set[count++] = other;
    }
  }
  return count;
}

/* Find the meetings of a step. */
static void arrange(struct lock_step *lock, int step)
{
  int ranks = lock->g->ranks, taken = 0;
  lock->meetings = 0;
  for (int q = 0; q < ranks; q++) lock->of[q] = -1;
  for (int q = 0; q < ranks; q++) {
    if (lock->of[q] >= 0) continue;
    struct meeting *m = &lock->meeting[lock->meetings];
    m->count = partners(lock, step, q, m->rank);
    m->messages = 0;
    for (int k = 0; k < m->count; k++) lock->of[m->rank[k]] = lock->meetings;
    lock->meetings++;
  }
  for (int p = 0; p < ranks; p++) {
    int q = lock->tree.rank[p], which = lock->of[q];
    if (q == lock->meeting[which].rank[0]) lock->order[taken++] = which;
  }
}

static void send_all(struct lock_step *lock, int step, struct meeting *meeting,
                     struct stage_list mail[PARTNERS][PARTNERS])
{
  for (int k = 0; k < meeting->count; k++) {
    struct stages *s = &lock->rank[meeting->rank[k]];
    struct stage_peers p = stages_peers(s, step);
    for (int i = 0; i < p.sends; i++) {
      int to = 0;
      while (meeting->rank[to] != p.to[i]) to++;
      stages_send(s, step, meeting->rank[to], &mail[k][to]);
      int64_t bytes = (int64_t)stages_bytes(s, step, &mail[k][to]);
      struct virtual_gathered *sender = &lock->g->rank[meeting->rank[k]];
      sender->messages += message_part_count(lock->c, (size_t)bytes);
      sender->bytes += bytes + MESSAGE_HEAD;
      lock->g->rank[meeting->rank[to]].received_bytes += bytes;
      meeting->sent[meeting->messages++] = (struct message_sent){meeting->rank[k], meeting->rank[to], bytes};
    }
  }
}

static void match_collective(struct lock_step *lock, int step, struct meeting *meeting, struct stage_memo *memo)
{
  struct stage_list mail[PARTNERS][PARTNERS]; /* from, to */
  memset(mail, 0, sizeof mail);
  for (int k = 0; k < meeting->count; k++) lock->rank[meeting->rank[k]].memo = memo;
  send_all(lock, step, meeting, mail);
  for (int k = 0; k < meeting->count; k++) {
    struct stages *s = &lock->rank[meeting->rank[k]];
    struct stage_peers p = stages_peers(s, step);
    for (int i = 0; i < p.receives; i++) {
      int from = 0;
      while (meeting->rank[from] != p.from[i]) from++;
      stages_receive(s, step, &mail[from][k]);
    }
    stages_end(s, step);
  }
  for (int k = 0; k < PARTNERS * PARTNERS; k++) stage_list_free(&mail[0][0] + k);
}

/* Meetings [from, to) in the order of the tree. */
static void match_collectives(struct lock_step *lock, int step, int from, int to)
{
  struct stage_memo memo = {.pair = NULL};
  int32_t group = 0;
  for (int k = from; k < to; k++) {
    struct meeting *m = &lock->meeting[lock->order[k]];
    int32_t here = stages_group(&lock->rank[m->rank[0]], step);
    if (here != group) stage_memo_clear(&memo);
    group = here;
    match_collective(lock, step, m, &memo);
  }
  stage_memo_free(&memo);
}

/* Upwards ranks write to the table, so one thread makes these steps. */
static void make_step(struct lock_step *lock, int step, int threads)
{
  arrange(lock, step);
  if (stages_upwards(&lock->tree, step)) threads = 1;
#pragma omp parallel for schedule(static, 1) num_threads(threads)
  for (int t = 0; t < threads; t++)
    match_collectives(lock, step, (int)((int64_t)lock->meetings * t / threads),
                      (int)((int64_t)lock->meetings * (t + 1) / threads));
}

static void keep_results(struct virtual_gathered *gathered, const struct halves *tree, const struct stages *stages)
{
  gathered->count = stages->known.count;
  gathered->groups = stages->group.count;
  gathered->held = gathered->received_bytes + (int64_t)sizeof(struct let_summary) * (2 * tree->depth + 2) +
                   (int64_t)sizeof(struct stage_entry) * (gathered->count + gathered->groups);
  gathered->known = memory_alloc("study", sizeof *gathered->known * (size_t)(gathered->count + 1));
  gathered->group = memory_alloc("study", sizeof *gathered->group * (size_t)(gathered->groups + 1));
  for (int k = 0; k < gathered->count; k++) gathered->known[k] = halves_rank(tree, stages->known.entry[k].number);
  for (int k = 0; k < gathered->groups; k++) gathered->group[k] = stages->group.entry[k].number;
}

static void by_stages(struct virtual_gather *gather, const struct comm *comm, int threads, const int grid[3],
                      const struct lattice *lattice, const struct let_request *request, struct let_summary *summary,
                      virtual_stage_message *message, void *of)
{
  struct lock_step l = {.c = comm, .g = gather};
  size_t n = (size_t)gather->ranks;
  halves_open(&l.tree, grid);
  gather->numbers = (int64_t)4 << l.tree.depth;
  gather->table = memory_alloc("study", sizeof *gather->table * (size_t)gather->numbers);
  l.rank = memory_alloc("study", sizeof *l.rank * n);
  l.meeting = memory_alloc("study", sizeof *l.meeting * n);
  l.of = memory_alloc("study", sizeof *l.of * n);
  l.order = memory_alloc("study", sizeof *l.order * n);
  for (int q = 0; q < gather->ranks; q++) gather->table[halves_number(&l.tree, q)] = &summary[q];
  for (int q = 0; q < gather->ranks; q++) stages_open(&l.rank[q], &l.tree, lattice, request, q, NULL, gather->table);
  for (int step = 0; step < stages_steps(&l.tree); step++) {
    watchdog_progress();
    make_step(&l, step, threads);
    for (int k = 0; k < l.meetings && message; k++)
      for (int i = 0; i < l.meeting[k].messages; i++) {
        const struct message_sent *m = &l.meeting[k].sent[i];
        message(of, step, m->from, m->to, m->bytes);
      }
  }
  for (int q = 0; q < gather->ranks; q++) {
    keep_results(&gather->rank[q], &l.tree, &l.rank[q]);
    stages_close(&l.rank[q]);
  }
  for (int q = 0; q < gather->ranks; q++) gather->table[halves_number(&l.tree, q)] = NULL; /* the caller's */
  memory_free(l.order);
  memory_free(l.of);
  memory_free(l.meeting);
  memory_free(l.rank);
  halves_close(&l.tree);
}

static void by_allgather(struct virtual_gather *gather, const struct let_request *request)
{
  int64_t bytes = (int64_t)let_summary_bytes(request);
  for (int q = 0; q < gather->ranks; q++) {
    struct virtual_gathered *to = &gather->rank[q];
    to->known = memory_alloc("study", sizeof *to->known * (size_t)gather->ranks);
    for (int k = 0; k < gather->ranks; k++)
      if (k != q) to->known[to->count++] = k;
    to->received_bytes = bytes * (gather->ranks - 1);
    to->held = bytes * gather->ranks + (int64_t)sizeof(struct stage_entry) * to->count;
  }
}

void virtual_gather_make(struct virtual_gather *gather, const struct comm *comm, int threads, const int grid[3],
                         const struct lattice *lattice, const struct let_request *request, struct let_summary *summary,
                         virtual_stage_message *message, void *of)
{
  *gather = (struct virtual_gather){.ranks = grid[0] * grid[1] * grid[2]};
  gather->rank = memory_alloc("study", sizeof *gather->rank * (size_t)gather->ranks);
  gather->stages = stages_wanted(request, gather->ranks);
  if (gather->stages) by_stages(gather, comm, threads, grid, lattice, request, summary, message, of);
  else by_allgather(gather, request);
}

void virtual_gather_free(struct virtual_gather *gather)
{
  for (int q = 0; q < gather->ranks; q++) {
    memory_free(gather->rank[q].known);
    memory_free(gather->rank[q].group);
  }
  for (int64_t k = 0; k < gather->numbers; k++) memory_free(gather->table[k]);
  memory_free(gather->table);
  memory_free(gather->rank);
}
