/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "forecast/counted_step.h"

#include <stdlib.h>

#include "base/memory.h"

struct let_list {
  struct soft_step_let *let;
  int64_t count, capacity;
};

/* Callback of soft_step_count. */
static void keep_let(void *of, const struct soft_step_let *let)
{
  struct let_list *list = of;
  if (list->count == list->capacity) {
    list->capacity = (int64_t)memory_grown((size_t)list->capacity, sizeof *list->let);
    list->let = memory_resize("study", list->let, sizeof *list->let * (size_t)list->capacity);
  }
  list->let[list->count++] = *let;
}

static int by_class(const void *a, const void *b)
{
  const struct soft_step_let *x = a, *y = b;
  if (x->class != y->class) return x->class - y->class;
  return x->from != y->from ? (x->from > y->from) - (x->from < y->from) : (x->to > y->to) - (x->to < y->to);
}

/* Count the particles of each rank and block level. */
static void count_levels(struct study_system *system, const struct comm *comm, struct counted_step *counted)
{
  struct domain domain;
  struct global_particles *w = &system->kicked;
  global_particles_open_domain(w, counted->ranks, &domain);
  global_particles_cut(comm, w, &domain);
  for (int64_t i = 0; i < w->all.n; i++) {
    int r = domain_owner(&domain, &w->all.pos[3 * i]);
    counted->local[r]++;
    counted->level[r][w->all.level[i] % SCHEDULE_LEVELS]++;
  }
  domain_close(&domain);
}

void counted_step_make(const struct comm *comm, struct study_system *system, int ranks, struct counted_step *counted)
{
  struct let_list list = {.let = NULL};
  struct soft_step_wants wants = {.let = keep_let, .let_of = &list};
  size_t n = (size_t)ranks, bytes;
  struct virtual_rank *rows = memory_alloc("study", sizeof *rows * n);
  *counted = (struct counted_step){.ranks = ranks};
  counted->local = memory_alloc("study", sizeof *counted->local * n);
  counted->level = memory_alloc("study", sizeof *counted->level * n);
  counted->step = soft_step_count(comm, &system->synchronised, &system->kicked, &system->input, ranks, rows, &wants);
  count_levels(system, comm, counted);
  counted->let = comm_gather_root(comm, list.let, sizeof *list.let * (size_t)list.count, &bytes);
  memory_free(list.let);
  memory_free(rows);
  if (comm->rank > 0) return;
  counted->lets = (int64_t)(bytes / sizeof *counted->let);
  qsort(counted->let, (size_t)counted->lets, sizeof *counted->let, by_class);
}

struct event_input counted_step_input(const struct counted_step *counted, const struct study_system *system,
                                      double more)
{
  return (struct event_input){counted->ranks,
                              &counted->step,
                              counted->local,
                              (const int64_t(*)[SCHEDULE_LEVELS])counted->level,
                              counted->let,
                              counted->lets,
                              more * system->full_pairs,
                              system->hard_pairs,
                              system->input.split};
}

void counted_step_free(struct counted_step *counted)
{
  soft_step_free(&counted->step);
  memory_free(counted->let);
  memory_free(counted->level);
  memory_free(counted->local);
}
