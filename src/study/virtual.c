/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exchanges counted for virtual ranks. */
#include <config.h>
#include "study/virtual_parts.h"

#include <omp.h>
#include <string.h>

#include "backend/let_verbs.h"
#include "base/memory.h"
#include "base/watchdog.h"
#include "tree/upper.h"

static const struct backend *const be = &backend_cpu;

/* Fewest particles of a domain for which another thread pays. All domains use the same number of threads, because a
 * change restarts them. */
enum { PARTICLES_PER_THREAD = 16384 };
/* Domains in work at a time are at most this part of all, because each takes memory beside that of all particles. */
enum { DOMAINS_PART = 8 };

/* Either several threads work at a domain, or each thread at its own one: at as many as exchange->at_once. */
static void choose_threads(struct virtual_exchange *exchange)
{
  int64_t wanted = exchange->w->all.n / exchange->ranks / PARTICLES_PER_THREAD + 1;
  int inside = wanted < exchange->threads ? (int)wanted : exchange->threads, part = exchange->ranks / DOMAINS_PART;
  exchange->at_once = part < exchange->threads ? part : exchange->threads;
  if (exchange->at_once <= inside) exchange->at_once = 1;
  omp_set_num_threads(exchange->at_once > 1 ? 1 : inside);
}

/* Sort the particles by domain; within a domain by id. */
static void assign_to_domains(struct virtual_exchange *exchange)
{
  int64_t n = exchange->w->all.n;
  int32_t *owner_rank = memory_alloc("study", sizeof *owner_rank * (size_t)(n + 1));
  int64_t *next = memory_alloc("study", sizeof *next * (size_t)(exchange->ranks + 1));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) owner_rank[i] = domain_owner(&exchange->domain, &exchange->w->all.pos[3 * i]);
  for (int64_t i = 0; i < n; i++) exchange->begin[owner_rank[i] + 1]++;
  for (int r = 0; r < exchange->ranks; r++) exchange->begin[r + 1] += next[r] = exchange->begin[r];
  for (int64_t i = 0; i < n; i++) exchange->index[next[owner_rank[i]]++] = i;
  memory_free(next);
  memory_free(owner_rank);
}

void virtual_build_tree(const struct virtual_exchange *exchange, struct device *d, int r)
{
  struct particles p;
  int64_t n = exchange->begin[r + 1] - exchange->begin[r];
  be->download(d, &p);
  p.n = 0;
  if (p.capacity < n) particles_reserve(&p, n + n / 8);
  for (int64_t k = 0; k < n; k++) particles_copy(&p, k, &exchange->w->all, exchange->index[exchange->begin[r] + k]);
  p.n = n;
  be->upload(d, &p);
  if (exchange->request.tick == 0) global_particles_build_tree(exchange->w, d, &exchange->domain, r);
  else global_particles_rebuild_tree(exchange->w, d, &exchange->domain, r, exchange->request.tick);
}

/* --- first pass: LET summaries and boxes -------------------------------------------------------------------- */

/* The domains of this process are r = c->rank + k c->size for k = 0, 1, ...; their number. */
static int own_domains(const struct virtual_exchange *exchange)
{
  return (exchange->ranks - exchange->c->rank + exchange->c->size - 1) / exchange->c->size;
}
static int own_domain(const struct virtual_exchange *exchange, int k)
{
  return exchange->c->rank + k * exchange->c->size;
}

/* Distribute the summaries and boxes of the domains of this process (rank, rank + size, ...) to all processes.
 * Collective. */
static void gather_summaries(struct virtual_exchange *exchange, const struct let_summary *summaries,
                             const struct let_box *boxes, size_t box_count)
{
  size_t bytes;
  int at = 0;
  struct let_summary *all = comm_gather(exchange->c, summaries, sizeof *all * (size_t)own_domains(exchange), &bytes);
  struct let_box *box = exchange->box_memory = comm_gather(exchange->c, boxes, sizeof *box * box_count, &bytes);
  for (int process = 0; process < exchange->c->size; process++)
    for (int r = process; r < exchange->ranks; r += exchange->c->size) {
      exchange->summary[r] = all[at++];
      exchange->boxes[r] = box;
      box += exchange->summary[r].boxes;
    }
  memory_free(all);
}

static void report(const struct virtual_exchange *exchange, double done)
{
  watchdog_progress();
  const struct virtual_progress *progress = &exchange->progress;
  if (progress->report) progress->report(progress->of, progress->begun + done * progress->share);
}

/* So many domains for each device are in work between two reports of progress. */
enum { BLOCK = 16 };

static int block_end(const struct virtual_exchange *exchange, int first)
{
  int end = first + BLOCK * exchange->at_once, all = own_domains(exchange);
  return end < all ? end : all;
}

/* Summarise a domain; returns its boxes. Owner: caller. */
static struct let_box *summarise(const struct virtual_exchange *exchange, struct device *d, int r,
                                 struct let_summary *summary)
{
  struct let_box *boxes = memory_alloc("study", sizeof *boxes * LET_BOXES);
  virtual_build_tree(exchange, d, r);
  let_summarise(be, d, exchange->ranks, &exchange->request, boxes, summary);
  return memory_resize("study", boxes, sizeof *boxes * (size_t)(summary->boxes + 1));
}

static void summarise_domains(struct virtual_exchange *exchange)
{
  int made = own_domains(exchange);
  struct let_summary *summary = memory_alloc("study", sizeof *summary * (size_t)(made + 1));
  struct let_box **of = memory_alloc("study", sizeof *of * (size_t)(made + 1)), *boxes;
  size_t count = 0;
  for (int first = 0, end; first < made; first = end) {
    end = block_end(exchange, first);
#pragma omp parallel for schedule(dynamic) num_threads(exchange->at_once)
    for (int k = first; k < end; k++)
      of[k] = summarise(exchange, exchange->d[omp_get_thread_num()], own_domain(exchange, k), &summary[k]);
    report(exchange, 0.1 * end / made);
  }
  for (int k = 0; k < made; k++) count += (size_t)summary[k].boxes;
  boxes = memory_alloc("study", sizeof *boxes * (count + 1));
  count = 0;
  for (int k = 0; k < made; k++) {
    memcpy(boxes + count, of[k], sizeof *boxes * (size_t)summary[k].boxes);
    count += (size_t)summary[k].boxes;
    memory_free(of[k]);
  }
  gather_summaries(exchange, summary, boxes, count);
  memory_free(boxes);
  memory_free(of);
  memory_free(summary);
}

/* --- second pass: LETs ------------------------------------------------------------------------------------------- */

/* The LETs of a domain. */
struct domain_lets {
  struct virtual_let *let;
  int count, capacity;
};

static void measure_let(const struct virtual_exchange *exchange, struct device *d, const struct let_choice *choice,
                        struct virtual_let *let)
{
  int64_t at_level[SCHEDULE_LEVELS] = {0};
  let->bytes = choice->counted;
  let->size = be->let->entries(d, exchange->kind, 0, at_level);
  for (int i = 0; i < SCHEDULE_LEVELS; i++) let->at_level[i] = (int32_t)at_level[i];
  if (!exchange->keep || choice->bytes == 0) return;
  let->message_bytes = choice->bytes;
  let->message = memory_alloc("study", choice->bytes);
  memcpy(let->message, choice->message, choice->bytes);
}

static void select_let(const struct virtual_exchange *exchange, struct device *d, int sender, int receiver,
                       struct domain_lets *lets)
{
  size_t capacity = (size_t)exchange->summary[receiver].boxes + 1;
  struct let_box *near = memory_alloc("study", sizeof *near * capacity);
  void *asked = memory_alloc("study", sizeof *near * capacity);
  size_t bytes = let_boxes_pack(&exchange->summary[sender], exchange->boxes[receiver],
                                exchange->summary[receiver].boxes, &exchange->request, asked);
  struct let_choice choice = {.boxes = near, .box_count = let_boxes_unpack(&exchange->request, asked, bytes, near)};
  be->let->select(d, exchange->kind, &exchange->request, 1, &choice);
  if (lets->count == lets->capacity) {
    lets->capacity = (int)memory_grown((size_t)lets->count, sizeof *lets->let);
    lets->let = memory_resize("study", lets->let, sizeof *lets->let * (size_t)lets->capacity);
  }
  struct virtual_let *let = &lets->let[lets->count++];
  *let = (struct virtual_let){.receiver = receiver, .box_bytes = bytes};
  measure_let(exchange, d, &choice, let);
  memory_free(asked);
  memory_free(near);
}

/* The number of cells in a summary that a rank needs. */
static int needed_cells(const struct virtual_exchange *exchange, const struct let_summary *summary, int receiver)
{
  enum need need[TOP_CELLS];
  struct let_request r = exchange->request;
  r.boxes = exchange->boxes[receiver];
  r.box_count = exchange->summary[receiver].boxes;
  return top_cells(&exchange->w->lattice, &summary->top, &exchange->summary[receiver].box, &r, need);
}

/* Count the cells of groups that a rank needs. */
static void count_groups(struct virtual_exchange *exchange, int receiver)
{
  const struct virtual_gathered *q = &exchange->gather.rank[receiver];
  for (int k = 0; k < q->groups && exchange->call.top; k++) {
    const struct let_summary *group = exchange->gather.table[q->group[k]];
    if (group && group->top.cells > 0) exchange->call.top(exchange, receiver, needed_cells(exchange, group, receiver));
  }
}

static void select_lets(struct virtual_exchange *exchange, struct device *d, int sender, struct domain_lets *lets)
{
  const struct virtual_gathered *q = &exchange->gather.rank[sender]; /* knows those that know it */
  for (int k = 0; k < q->count; k++) {
    int r = q->known[k];
    watchdog_progress();
    enum need need =
        let_contact(&exchange->w->lattice, &exchange->summary[sender], &exchange->summary[r], &exchange->request);
    if (need == NEED_CELL && exchange->call.top)
      exchange->call.top(exchange, r, needed_cells(exchange, &exchange->summary[sender], r));
    if (need == NEED_OPEN) select_let(exchange, d, sender, r, lets);
  }
}

/* Select the LETs of several domains at a time; callbacks get them in the order of the domains. */
static void select_all(struct virtual_exchange *exchange)
{
  int made = own_domains(exchange);
  struct domain_lets *lets = memory_alloc("study", sizeof *lets * (size_t)(BLOCK * exchange->at_once));
  for (int first = 0, end; first < made; first = end) {
    end = block_end(exchange, first);
#pragma omp parallel for schedule(dynamic) num_threads(exchange->at_once)
    for (int k = first; k < end; k++) {
      struct device *d = exchange->d[omp_get_thread_num()];
      int r = own_domain(exchange, k);
      virtual_build_tree(exchange, d, r);
      lets[k - first].count = 0;
      select_lets(exchange, d, r, &lets[k - first]);
      count_groups(exchange, r);
    }
    for (int k = first; k < end; k++)
      for (int i = 0; i < lets[k - first].count; i++)
        exchange->call.selected(exchange, own_domain(exchange, k), &lets[k - first].let[i]);
    report(exchange, 0.1 + 0.9 * end / made);
  }
  for (int k = 0; k < BLOCK * exchange->at_once; k++) memory_free(lets[k].let);
  memory_free(lets);
}

void virtual_exchange_lets(struct virtual_exchange *exchange)
{
  for (int k = 0; k < exchange->at_once; k++) { /* gives the devices the lattice of these domains */
    struct particles none;
    be->download(exchange->d[k], &none);
    none.n = 0;
    be->upload(exchange->d[k], &none);
    be->tree.order(exchange->d[k], &exchange->w->lattice);
  }
  summarise_domains(exchange);
  virtual_gather_make(&exchange->gather, exchange->c, exchange->threads,
                      (const int[3]){exchange->domain.px, exchange->domain.py, exchange->domain.pz},
                      &exchange->w->lattice, &exchange->request, exchange->summary, exchange->call.staged, exchange);
  if (exchange->call.gathered) exchange->call.gathered(exchange);
  select_all(exchange);
  exchange->progress.begun += exchange->progress.share;
  if (exchange->call.received) exchange->call.received(exchange);
  virtual_gather_free(&exchange->gather);
  memory_free(exchange->box_memory);
  exchange->box_memory = NULL;
}

/* --- begin and end ----------------------------------------------------------------------------------------------- */

void virtual_open(struct virtual_exchange *exchange)
{
  size_t n = (size_t)exchange->ranks;
  exchange->threads = omp_get_max_threads();
  global_particles_open_domain(exchange->w, exchange->ranks, &exchange->domain);
  global_particles_cut(exchange->c, exchange->w, &exchange->domain);
  exchange->begin = memory_alloc("study", sizeof *exchange->begin * (n + 1));
  exchange->index = memory_alloc("study", sizeof *exchange->index * (size_t)(exchange->w->all.n + 1));
  assign_to_domains(exchange);
  choose_threads(exchange);
  exchange->d = memory_alloc("study", sizeof(struct device *) * (size_t)exchange->at_once);
  for (int k = 0; k < exchange->at_once; k++)
    exchange->d[k] =
        global_particles_open_device(exchange->w, k == 0 && exchange->device_ranks > 1 ? exchange->device_ranks : 1);
  exchange->summary = memory_alloc("study", sizeof *exchange->summary * n);
  exchange->boxes = memory_alloc("study", sizeof *exchange->boxes * n);
}

void virtual_close(struct virtual_exchange *exchange)
{
  omp_set_num_threads(exchange->threads);
  for (int k = 0; k < exchange->at_once; k++) {
    struct particles last;
    be->download(exchange->d[k], &last);
    particles_free(&last);
    be->close(exchange->d[k]);
  }
  memory_free(exchange->d);
  domain_close(&exchange->domain);
  memory_free(exchange->boxes);
  memory_free(exchange->summary);
  memory_free(exchange->index);
  memory_free(exchange->begin);
}

/* --- the counts of two exchanges --------------------------------------------------------------------------------- */

struct counts {
  struct virtual_rank *rows;
  struct virtual_messages *messages; /* or NULL */
};

static void note_message(struct virtual_messages *list, struct virtual_message message)
{
  if (!list) return;
  if (list->count == list->capacity) {
    list->capacity = (int64_t)memory_grown((size_t)list->count, sizeof message);
    list->message = memory_resize("study", list->message, sizeof message * (size_t)list->capacity);
  }
  list->message[list->count++] = message;
}

/* Callback of virtual_exchange_lets, for each message of summaries, on every process. */
static void note_stage(void *of, int step, int from, int to, int64_t bytes)
{
  const struct virtual_exchange *l = of;
  struct virtual_messages *list = ((struct counts *)l->call.sink)->messages;
  if (l->c->rank > 0) return;
  if (list->stages == list->stage_capacity) {
    list->stage_capacity = (int64_t)memory_grown((size_t)list->stages, sizeof *list->stage);
    list->stage = memory_resize("study", list->stage, sizeof *list->stage * (size_t)list->stage_capacity);
  }
  list->stage[list->stages++] = (struct virtual_stage){(int32_t)l->kind, step, from, to, bytes};
}

void virtual_messages_free(struct virtual_messages *messages)
{
  memory_free(messages->message);
  memory_free(messages->stage);
  *messages = (struct virtual_messages){.message = NULL};
}

/* Callback of virtual_exchange_lets: count the entries, messages and bytes of a LET. */
static void count_let(struct virtual_exchange *exchange, int sender, const struct virtual_let *let)
{
  struct counts *k = exchange->call.sink;
  struct virtual_rank *to = &k->rows[let->receiver], *from = &k->rows[sender];
  struct virtual_message message = {.sender = sender,
                                    .receiver = let->receiver,
                                    .kind = (int32_t)exchange->kind,
                                    .entries = (int32_t)(let->size.cells + let->size.particles),
                                    .boxes = (int64_t)let->box_bytes,
                                    .let = (int64_t)let->bytes};
  int updated = exchange->kind == LET_STEP && let->bytes > 0; /* no updates follow a LET without anything */
  if (updated)
    message.update = (int64_t)be->let->updates.bytes(&exchange->request, let->size.particles, let->size.cells);
  note_message(k->messages, message);
  to->contacts[exchange->kind]++;
  to->let[exchange->kind].received.cells += let->size.cells;
  to->let[exchange->kind].received.particles += let->size.particles;
  let_account(&to->let[exchange->kind], exchange->c, let->box_bytes);
  let_account(&from->let[exchange->kind], exchange->c, let->bytes);
  if (!updated) return;
  struct let_traffic update = {.bytes = 0};
  let_account(&update, exchange->c, (size_t)message.update);
  from->updates += update.bytes;
}

static void count_top(struct virtual_exchange *exchange, int receiver, int cells)
{
  struct virtual_rank *to = &((struct counts *)exchange->call.sink)->rows[receiver];
#pragma omp atomic
  to->tops++;
#pragma omp atomic
  to->cells += cells;
}

static void count_gather(struct virtual_exchange *exchange)
{
  struct counts *k = exchange->call.sink;
  for (int r = exchange->c->rank; r < exchange->ranks; r += exchange->c->size) {
    const struct virtual_gathered *q = &exchange->gather.rank[r];
    struct virtual_summaries *to = &k->rows[r].summaries[exchange->kind];
    *to = (struct virtual_summaries){q->messages, q->bytes, q->received_bytes, q->count, q->groups, q->held};
  }
}

/* Copy the counts of these kinds. */
static void copy_counts(struct virtual_rank *rows, const struct virtual_rank *sums, int ranks, int kinds)
{
  for (int r = 0; r < ranks; r++) {
    rows[r].local = sums[r].local;
    for (int kind = 0; kind < LET_KINDS; kind++) {
      if (!(kinds >> kind & 1)) continue;
      rows[r].let[kind] = sums[r].let[kind];
      rows[r].contacts[kind] = sums[r].contacts[kind];
      rows[r].summaries[kind] = sums[r].summaries[kind];
    }
    if (kinds & 1 << LET_SOFT) {
      rows[r].tops = sums[r].tops;
      rows[r].cells = sums[r].cells;
    }
    if (kinds & 1 << LET_STEP) rows[r].updates = sums[r].updates;
  }
}

void virtual_count(const struct comm *comm, struct global_particles *world, int ranks, int kinds,
                   struct virtual_rank *rows, void (*progress)(void *of, double done), void *of)
{
  virtual_count_messages(comm, world, ranks, kinds, rows, progress, of, NULL);
}

void virtual_count_messages(const struct comm *comm, struct global_particles *world, int ranks, int kinds,
                            struct virtual_rank *rows, void (*progress)(void *of, double done), void *of,
                            struct virtual_messages *messages)
{
  struct virtual_exchange l = {.c = comm,
                               .w = world,
                               .ranks = ranks,
                               .call = {.selected = count_let, .gathered = count_gather},
                               .progress = {.report = progress, .of = of}};
  size_t n = (size_t)ranks;
  struct virtual_rank *sums = memory_alloc("study", sizeof *sums * n);
  virtual_open(&l);
  struct counts counts = {sums, messages};
  l.call.sink = &counts;
  l.call.staged = messages ? note_stage : NULL;
  for (int r = comm->rank; r < ranks; r += comm->size) sums[r].local = l.begin[r + 1] - l.begin[r];
  for (int kind = 0; kind < LET_KINDS; kind++) { /* boxes and summaries differ by kind */
    if (!(kinds >> kind & 1)) continue;
    l.kind = (enum let_kind)kind;
    l.request = global_particles_request(world, l.kind);
    l.call.top = kind == LET_SOFT ? count_top : NULL;
    l.progress.share = kinds == VIRTUAL_ALL ? 0.5 : 1;
    virtual_exchange_lets(&l);
  }
  comm_sum_int64(comm, (int64_t *)sums, (int)(n * sizeof *sums / sizeof(int64_t)));
  copy_counts(rows, sums, ranks, kinds);
  virtual_close(&l);
  memory_free(sums);
}
