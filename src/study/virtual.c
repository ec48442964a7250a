/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exchanges counted for virtual ranks. */
#include <config.h>
#include "study/virtual.h"

#include <omp.h>
#include <string.h>

#include "backend/let_verbs.h"
#include "base/memory.h"
#include "base/watchdog.h"

static const struct backend *const be = &backend_cpu;

/* Fewest particles for which another thread pays. All domains use the same number of threads, because a change restarts them. */
enum { PARTICLES_PER_THREAD = 16384 };

static void choose_threads(int64_t particles, int available)
{
  int64_t threads = particles / PARTICLES_PER_THREAD + 1;
  omp_set_num_threads(threads < available ? (int)threads : available);
}

/* The work of a process. The particles of domain r are index[begin[r]], ..., index[begin[r + 1] - 1] of all particles. */
struct virtual_exchange {
  const struct comm *c;
  struct global_particles *w;
  int ranks;
  struct domain domain;
  struct device *d;
  int64_t *begin, *index;
  enum let_kind kind;          /* counted at present */
  double begun, share;         /* parts of the whole work: done before this kind; of this kind */
  struct let_summary *summary; /* [ranks] */
  struct let_box **boxes;      /* [ranks] within box_memory */
  void *box_memory;
  struct virtual_rank *rows;   /* this process's part of the sums */
  struct virtual_messages *messages;   /* or NULL */
  void (*progress)(void *of, double done);
  void *of;
};

/* Sort the particles by domain; within a domain by id. */
static void assign_to_domains(struct virtual_exchange *l)
{
  int64_t n = l->w->all.n;
  int32_t *owner_rank = memory_alloc("study", sizeof *owner_rank * (size_t)(n + 1));
  int64_t *next = memory_alloc("study", sizeof *next * (size_t)(l->ranks + 1));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) owner_rank[i] = domain_owner(&l->domain, &l->w->all.pos[3 * i]);
  for (int64_t i = 0; i < n; i++) l->begin[owner_rank[i] + 1]++;
  for (int r = 0; r < l->ranks; r++) l->begin[r + 1] += next[r] = l->begin[r];
  for (int64_t i = 0; i < n; i++) l->index[next[owner_rank[i]]++] = i;
  memory_free(next);
  memory_free(owner_rank);
}

/* Make the device that of rank r, with its particles and its tree. */
static void build_virtual_tree(struct virtual_exchange *l, int r)
{
  struct particles p;
  int64_t n = l->begin[r + 1] - l->begin[r];
  be->download(l->d, &p);
  p.n = 0;
  if (p.capacity < n) particles_reserve(&p, n + n / 8);
  for (int64_t k = 0; k < n; k++) particles_copy(&p, k, &l->w->all, l->index[l->begin[r] + k]);
  p.n = n;
  be->upload(l->d, &p);
  global_particles_build_tree(l->w, l->d, &l->domain, r);
}

/* --- first pass: LET root summaries and boxes -------------------------------------------------------------------- */

/* Distribute the summaries and boxes of the domains of this process (rank, rank + size, ...) to all processes. Collective. */
static void gather_summaries(struct virtual_exchange *l, const struct let_summary *summaries, const struct let_box *boxes, size_t box_count)
{
  size_t bytes;
  int made = (l->ranks - l->c->rank + l->c->size - 1) / l->c->size, at = 0;
  struct let_summary *all = comm_gather(l->c, summaries, sizeof *all * (size_t)(made > 0 ? made : 0), &bytes);
  struct let_box *box = l->box_memory = comm_gather(l->c, boxes, sizeof *box * box_count, &bytes);
  for (int process = 0; process < l->c->size; process++)
    for (int r = process; r < l->ranks; r += l->c->size) {
      l->summary[r] = all[at++];
      l->boxes[r] = box;
      box += l->summary[r].boxes;
    }
  memory_free(all);
}

static void report(const struct virtual_exchange *l, double done)
{
  watchdog_progress();
  if (l->progress) l->progress(l->of, l->begun + done * l->share);
}

static void summarise_domains(struct virtual_exchange *l)
{
  struct let_request request = global_particles_request(l->w, l->kind);
  int made = 0, own_ranks = l->ranks / l->c->size + 1;   /* upper limit */
  struct let_summary *summary = memory_alloc("study", sizeof *summary * (size_t)own_ranks);
  struct let_box *boxes = NULL;
  size_t count = 0, room = 0;
  for (int r = l->c->rank; r < l->ranks; r += l->c->size) {
    if (room < count + LET_BOXES) {
      room = 2 * count + 64 * LET_BOXES;
      boxes = memory_resize("study", boxes, sizeof *boxes * room);
    }
    build_virtual_tree(l, r);
    let_summarise(be, l->d, &request, boxes + count, &summary[made]);
    count += (size_t)summary[made++].boxes;
    report(l, 0.1 * made / own_ranks);
  }
  gather_summaries(l, summary, boxes, count);
  memory_free(boxes);
  memory_free(summary);
}

/* --- second pass: LETs ------------------------------------------------------------------------------------------- */

static void note_message(struct virtual_messages *list, struct virtual_message m)
{
  if (!list) return;
  if (list->count == list->capacity) {
    list->capacity = (int64_t)memory_grown((size_t)list->count, sizeof m);
    list->message = memory_resize("study", list->message, sizeof m * (size_t)list->capacity);
  }
  list->message[list->count++] = m;
}

/* Make the LET of a sender for a receiver and attach it as the receiver does; count its entries, messages and bytes. */
static void send_let(struct virtual_exchange *l, int sender, int receiver, enum let_kind kind, const struct let_request *request)
{
  struct virtual_rank *to = &l->rows[receiver], *from = &l->rows[sender];
  struct let_choice choice = {.boxes = l->boxes[receiver], .box_count = l->summary[receiver].boxes};
  const struct let_count before = to->let[kind].received;
  be->let->select(l->d, kind, request, 1, &choice);
  memcpy(be->let->room(l->d, kind, 0, choice.bytes), choice.message, choice.bytes);
  be->let->attach(l->d, kind, 0, choice.bytes, &to->let[kind].received);
  const struct let_count all = to->let[kind].received;
  struct virtual_message message = {.sender = sender, .receiver = receiver, .kind = (int32_t)kind,
                                    .entries = (int32_t)(all.cells - before.cells + all.particles - before.particles),
                                    .boxes = (int64_t)(sizeof *choice.boxes * (size_t)choice.box_count), .let = (int64_t)choice.bytes};
  if (kind == LET_STEP) message.update = (int64_t)be->let->update_bytes_max(l->d, 0);
  note_message(l->messages, message);
  to->contacts[kind]++;
  let_account(&to->let[kind], l->c, sizeof *choice.boxes * (size_t)choice.box_count);
  let_account(&from->let[kind], l->c, choice.bytes);
  if (kind != LET_STEP) return;
  struct let_traffic update = {.bytes = 0};
  let_account(&update, l->c, be->let->update_bytes_max(l->d, 0));
  from->updates += update.bytes;
}

static void send_all(struct virtual_exchange *l, int sender)
{
  struct let_request request = global_particles_request(l->w, l->kind);
  for (int r = 0; r < l->ranks; r++) {
    if (r == sender) continue;
    watchdog_progress();
    enum need need = let_contact(&l->w->lattice, &l->summary[sender], &l->summary[r], &request);
    if (need == NEED_CELL) l->rows[r].roots++;
    if (need == NEED_OPEN) send_let(l, sender, r, l->kind, &request);
  }
}

static void exchange_lets(struct virtual_exchange *l)
{
  for (int r = l->c->rank; r < l->ranks; r += l->c->size) {
    build_virtual_tree(l, r);
    l->rows[r].local = l->begin[r + 1] - l->begin[r];
    send_all(l, r);
    report(l, 0.1 + 0.9 * (r + 1) / l->ranks);
  }
}

/* --- all of it --------------------------------------------------------------------------------------------------- */

/* Copy the counts of these kinds. */
static void copy_counts(struct virtual_rank *rows, const struct virtual_rank *sums, int ranks, int kinds)
{
  for (int r = 0; r < ranks; r++) {
    rows[r].local = sums[r].local;
    for (int kind = 0; kind < LET_KINDS; kind++) {
      if (!(kinds >> kind & 1)) continue;
      rows[r].let[kind] = sums[r].let[kind];
      rows[r].contacts[kind] = sums[r].contacts[kind];
    }
    if (kinds & 1 << LET_SOFT) rows[r].roots = sums[r].roots;
    if (kinds & 1 << LET_STEP) rows[r].updates = sums[r].updates;
  }
}

void virtual_count(const struct comm *c, struct global_particles *w, int ranks, int kinds, struct virtual_rank *rows,
                   void (*progress)(void *of, double done), void *of)
{
  virtual_count_messages(c, w, ranks, kinds, rows, progress, of, NULL);
}

void virtual_count_messages(const struct comm *c, struct global_particles *w, int ranks, int kinds, struct virtual_rank *rows,
                            void (*progress)(void *of, double done), void *of, struct virtual_messages *messages)
{
  struct virtual_exchange l = {.c = c, .w = w, .ranks = ranks, .messages = messages, .progress = progress, .of = of};
  size_t n = (size_t)ranks;
  int threads = omp_get_max_threads();
  global_particles_open_domain(w, ranks, &l.domain);
  global_particles_cut(c, w, &l.domain);
  l.begin = memory_alloc("study", sizeof *l.begin * (n + 1));
  l.index = memory_alloc("study", sizeof *l.index * (size_t)(w->all.n + 1));
  assign_to_domains(&l);
  choose_threads(w->all.n / ranks, threads);
  l.d = global_particles_open_device(w, 1);
  l.summary = memory_alloc("study", sizeof *l.summary * n);
  l.boxes = memory_alloc("study", sizeof *l.boxes * n);
  l.rows = memory_alloc("study", sizeof *l.rows * n);
  for (int kind = 0; kind < LET_KINDS; kind++) {   /* boxes and summaries differ by kind */
    if (!(kinds >> kind & 1)) continue;
    l.kind = (enum let_kind)kind;
    l.share = kinds == VIRTUAL_ALL ? 0.5 : 1;
    summarise_domains(&l);
    exchange_lets(&l);
    l.begun += l.share;
    memory_free(l.box_memory);
  }
  omp_set_num_threads(threads);
  comm_sum_int64(c, (int64_t *)l.rows, (int)(n * sizeof *l.rows / sizeof(int64_t)));
  copy_counts(rows, l.rows, ranks, kinds);
  struct particles last;
  be->download(l.d, &last);
  particles_free(&last);
  be->close(l.d);
  domain_close(&l.domain);
  memory_free(l.rows);
  memory_free(l.boxes);
  memory_free(l.summary);
  memory_free(l.index);
  memory_free(l.begin);
}
