/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "virtual.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

static const struct backend *const be = &backend_cpu;

/* --- everyone ---------------------------------------------------------------------------------------------------- */

struct labelled {
  uint64_t id;
  int64_t at;
};

static int by_id(const void *a, const void *b)
{
  uint64_t x = ((const struct labelled *)a)->id, y = ((const struct labelled *)b)->id;
  return (x > y) - (x < y);
}

/* Unpack so many particles, ascending in id. */
static void unpack_sorted(struct particles *p, const char *packed, int64_t n)
{
  struct labelled *order = memory_alloc("study", sizeof *order * (size_t)(n + 1));
  size_t bytes = particle_bytes();
  particles_reserve(p, n + 1);
  for (int64_t i = 0; i < n; i++) {   /* the first place serves to read the ids */
    particles_unpack(p, 0, packed + bytes * (size_t)i);
    order[i] = (struct labelled){p->id[0], i};
  }
  qsort(order, (size_t)n, sizeof *order, by_id);
  for (int64_t i = 0; i < n; i++) particles_unpack(p, i, packed + bytes * (size_t)order[i].at);
  p->n = n;
  memory_free(order);
}

void crowd_gather(struct crowd *w, const struct sim *s, double soft_step)
{
  const struct particles *p = s->be->view(s->dev);
  size_t bytes = particle_bytes(), total;
  char *mine = memory_alloc("study", bytes * (size_t)(p->n + 1));
  for (int64_t i = 0; i < p->n; i++) particles_pack(p, i, mine + bytes * (size_t)i);
  char *packed = comm_gather(s->comm, mine, bytes * (size_t)p->n, &total);
  memory_free(mine);
  *w = (struct crowd){.par = s->par,
                      .gravity = s->gravity,
                      .lattice = s->lattice,
                      .mac = s->mac,
                      .a_floor = s->a_floor,
                      .a_typical = s->now.a_rms_plain,
                      .cutoff = s->split.on ? s->split.r2 : -1,
                      .soft_step = soft_step};
  unpack_sorted(&w->all, packed, (int64_t)(total / bytes));
  memory_free(packed);
}

void crowd_free(struct crowd *w) { particles_free(&w->all); }

struct let_request crowd_request(const struct crowd *w, enum let_kind kind)
{
  struct let_request r = {.mac = &w->mac, .a_floor = w->a_floor, .a_typical = w->a_typical, .cutoff = -1};
  if (kind == LET_SOFT) return r;
  r.cutoff = w->cutoff;
  r.horizon = w->soft_step;
  r.tick_length = w->soft_step / TICKS;
  return r;
}

/* A device for trees of the crowd. Virtual ranks are of the CPU backend: their messages are in the host's memory. */
static struct device *open_device(const struct crowd *w, int ranks)
{
  struct device_config config = {.gravity = w->gravity,
                                 .softening = w->par->Softening,
                                 .max_leaf = w->par->MaxLeafSize,
                                 .max_group = w->par->MaxGroupSize,
                                 .quadrupole = w->par->MultipoleOrder == 2,
                                 .ranks = ranks};
  return be->open(&config);
}

/* The device with the particles of one rank gets its tree, with moments and groups. */
static void grow(const struct crowd *w, struct device *d, const struct domain *domain, int rank)
{
  double low[3], high[3];
  domain_cuboid(domain, rank, low, high);
  be->order(d, &w->lattice);
  be->build(d, low, high);
  be->sources(d);
  be->moments(d, &w->mac, 0, w->soft_step / TICKS);
  be->groups(d);
}

/* --- one domain after the other ---------------------------------------------------------------------------------- */

/* Fewer particles than these for a thread are not worth a team (one size of team for all domains: teams that change their
 * size start anew). */
enum { PARTICLES_PER_THREAD = 16384 };

static void choose_threads(int64_t particles, int most)
{
  int64_t threads = particles / PARTICLES_PER_THREAD + 1;
  omp_set_num_threads(threads < most ? (int)threads : most);
}

/* A process at work: the particles of domain r are those at index[begin[r]], ..., index[begin[r + 1] - 1] of the crowd. */
struct labour {
  const struct comm *c;
  struct crowd *w;
  int ranks;
  struct domain domain;
  struct device *d;
  int64_t *begin, *index;
  enum let_kind kind;          /* that is counted now */
  double begun, share;         /* of the whole work: done before this kind, of this kind */
  struct let_card *card;       /* of every rank */
  struct let_box **boxes;      /* of every rank, within box_memory */
  void *box_memory;
  struct virtual_rank *rows;   /* this process's part of the sums */
  void (*progress)(void *of, double done);
  void *of;
};

/* Cuts for so many ranks: DomainGrid holds for as many as it is for. */
static void open_domain(const struct crowd *w, int ranks, struct domain *domain)
{
  int grid[3];
  params_grid(w->par->DomainGrid, grid);
  if ((double)grid[0] * grid[1] * grid[2] == ranks)
    domain_open_grid(domain, ranks, grid);
  else
    domain_open(domain, ranks);
  domain->align = ranks > 1;
}

/* The lattice to which the cuts are aligned. */
static void cover(const struct comm *c, struct crowd *w, struct device *d, const struct domain *domain)
{
  double box[6];
  be->bounds(d, w->soft_step, box, box + 3);
  for (int k = 0; k < 3; k++) box[k] = -box[k];
  comm_max_double(c, box, 6);
  for (int k = 0; k < 3; k++) box[k] = -box[k];
  w->lattice = domain_lattice(domain, box, w->par->Softening);
}

/* Cuts of space into so many domains: those that real ranks get when one of them has all particles at first. */
static void cut(const struct comm *c, struct crowd *w, struct domain *domain)
{
  struct device *d = open_device(w, 1);
  struct particles none, *all = c->rank == 0 ? &w->all : &none;
  particles_init(&none);
  be->upload(d, all);
  struct domain_load even = {.by_work = 0};
  domain_decompose(domain, c, be, d, w->par->SamplingRate, &even);
  cover(c, w, d, domain);
  be->download(d, all);
  particles_free(&none);
  be->close(d);
}

/* Sort the crowd by domain; within one the ids ascend. */
static void deal(struct labour *l)
{
  int64_t n = l->w->all.n;
  int32_t *home = memory_alloc("study", sizeof *home * (size_t)(n + 1));
  int64_t *next = memory_alloc("study", sizeof *next * (size_t)(l->ranks + 1));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) home[i] = domain_home(&l->domain, &l->w->all.pos[3 * i]);
  for (int64_t i = 0; i < n; i++) l->begin[home[i] + 1]++;
  for (int r = 0; r < l->ranks; r++) l->begin[r + 1] += next[r] = l->begin[r];
  for (int64_t i = 0; i < n; i++) l->index[next[home[i]]++] = i;
  memory_free(next);
  memory_free(home);
}

/* The device becomes that of rank r, with its tree. */
static void plant(struct labour *l, int r)
{
  struct particles p;
  int64_t n = l->begin[r + 1] - l->begin[r];
  be->download(l->d, &p);
  p.n = 0;
  if (p.capacity < n) particles_reserve(&p, n + n / 8);
  for (int64_t k = 0; k < n; k++) particles_copy(&p, k, &l->w->all, l->index[l->begin[r] + k]);
  p.n = n;
  be->upload(l->d, &p);
  grow(l->w, l->d, &l->domain, r);
}

/* --- first pass: cards and boxes --------------------------------------------------------------------------------- */

/* What processes made of their domains (r, r + size, ...), for everyone. */
static void spread_cards(struct labour *l, const struct let_card *cards, const struct let_box *boxes, size_t box_count)
{
  size_t bytes;
  int made = (l->ranks - l->c->rank + l->c->size - 1) / l->c->size, at = 0;
  struct let_card *all = comm_gather(l->c, cards, sizeof *all * (size_t)(made > 0 ? made : 0), &bytes);
  struct let_box *box = l->box_memory = comm_gather(l->c, boxes, sizeof *box * box_count, &bytes);
  for (int process = 0; process < l->c->size; process++)
    for (int r = process; r < l->ranks; r += l->c->size) {
      l->card[r] = all[at++];
      l->boxes[r] = box;
      box += l->card[r].boxes;
    }
  memory_free(all);
}

static void report(const struct labour *l, double done)
{
  if (l->progress) l->progress(l->of, l->begun + done * l->share);
}

static void first_pass(struct labour *l)
{
  struct let_request request = crowd_request(l->w, l->kind);
  int made = 0, most = l->ranks / l->c->size + 1;
  struct let_card *card = memory_alloc("study", sizeof *card * (size_t)most);
  struct let_box *boxes = NULL;
  size_t count = 0, room = 0;
  for (int r = l->c->rank; r < l->ranks; r += l->c->size) {
    if (room < count + LET_BOXES) {
      room = 2 * count + 64 * LET_BOXES;
      boxes = memory_resize("study", boxes, sizeof *boxes * room);
    }
    plant(l, r);
    let_introduce(be, l->d, &request, boxes + count, &card[made]);
    count += (size_t)card[made++].boxes;
    report(l, 0.1 * made / most);
  }
  spread_cards(l, card, boxes, count);
  memory_free(boxes);
  memory_free(card);
}

/* --- second pass: what the others need of a rank ----------------------------------------------------------------- */

/* A LET, as it is when the receiver has it. */
static void send_let(struct labour *l, int sender, int receiver, enum let_kind kind, const struct let_request *request)
{
  struct virtual_rank *to = &l->rows[receiver], *from = &l->rows[sender];
  struct let_choice choice = {.boxes = l->boxes[receiver], .box_count = l->card[receiver].boxes};
  be->let_select(l->d, kind, request, 1, &choice);
  memcpy(be->let_room(l->d, kind, 0, choice.bytes), choice.message, choice.bytes);
  be->let_attach(l->d, kind, 0, choice.bytes, &to->let[kind].received);
  to->contacts[kind]++;
  let_account(&to->let[kind], l->c, sizeof *choice.boxes * (size_t)choice.box_count);
  let_account(&from->let[kind], l->c, choice.bytes);
  if (kind != LET_STEP) return;
  struct let_traffic update = {.bytes = 0};
  let_account(&update, l->c, be->let_update_most(l->d, 0));
  from->updates += update.bytes;
}

static void send_all(struct labour *l, int sender)
{
  struct let_request request = crowd_request(l->w, l->kind);
  for (int r = 0; r < l->ranks; r++) {
    if (r == sender) continue;
    enum need need = let_contact(&l->w->lattice, &l->card[sender], &l->card[r], &request);
    if (need == NEED_CELL) l->rows[r].roots++;
    if (need == NEED_OPEN) send_let(l, sender, r, l->kind, &request);
  }
}

static void second_pass(struct labour *l)
{
  for (int r = l->c->rank; r < l->ranks; r += l->c->size) {
    plant(l, r);
    l->rows[r].local = l->begin[r + 1] - l->begin[r];
    send_all(l, r);
    report(l, 0.1 + 0.9 * (r + 1) / l->ranks);
  }
}

/* --- all of it --------------------------------------------------------------------------------------------------- */

static void take(struct virtual_rank *rows, const struct virtual_rank *sums, int ranks, int kinds)
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

void virtual_count(const struct comm *c, struct crowd *w, int ranks, int kinds, struct virtual_rank *rows,
                   void (*progress)(void *of, double done), void *of)
{
  struct labour l = {.c = c, .w = w, .ranks = ranks, .progress = progress, .of = of};
  size_t n = (size_t)ranks;
  int threads = omp_get_max_threads();
  open_domain(w, ranks, &l.domain);
  cut(c, w, &l.domain);
  l.begin = memory_alloc("study", sizeof *l.begin * (n + 1));
  l.index = memory_alloc("study", sizeof *l.index * (size_t)(w->all.n + 1));
  deal(&l);
  choose_threads(w->all.n / ranks, threads);
  l.d = open_device(w, 1);
  l.card = memory_alloc("study", sizeof *l.card * n);
  l.boxes = memory_alloc("study", sizeof *l.boxes * n);
  l.rows = memory_alloc("study", sizeof *l.rows * n);
  for (int kind = 0; kind < LET_KINDS; kind++) {   /* boxes, and so cards, differ by kind */
    if (!(kinds >> kind & 1)) continue;
    l.kind = (enum let_kind)kind;
    l.share = kinds == VIRTUAL_ALL ? 0.5 : 1;
    first_pass(&l);
    second_pass(&l);
    l.begun += l.share;
    memory_free(l.box_memory);
  }
  omp_set_num_threads(threads);
  comm_sum_int64(c, (int64_t *)l.rows, (int)(n * sizeof *l.rows / sizeof(int64_t)));
  take(rows, l.rows, ranks, kinds);
  struct particles last;
  be->download(l.d, &last);
  particles_free(&last);
  be->close(l.d);
  domain_close(&l.domain);
  memory_free(l.rows);
  memory_free(l.boxes);
  memory_free(l.card);
  memory_free(l.index);
  memory_free(l.begin);
}

/* --- real ranks -------------------------------------------------------------------------------------------------- */

/* Into the order of ids, as the particles of virtual ranks are: equal keys leave the order as it was. */
static void sort_by_id(struct device *d)
{
  struct particles p, spare;
  particles_init(&spare);
  be->download(d, &p);
  struct labelled *label = memory_alloc("study", sizeof *label * (size_t)(p.n + 1));
  int64_t *order = memory_alloc("study", sizeof *order * (size_t)(p.n + 1));
  for (int64_t i = 0; i < p.n; i++) label[i] = (struct labelled){p.id[i], i};
  qsort(label, (size_t)p.n, sizeof *label, by_id);
  for (int64_t i = 0; i < p.n; i++) order[i] = label[i].at;
  particles_permute(&p, order, &spare);
  be->upload(d, &p);
  particles_free(&spare);
  memory_free(order);
  memory_free(label);
}

/* Every rank begins with a part of the crowd and ends with its domain's, and their tree. */
static void settle(const struct comm *c, struct crowd *w, struct device *d)
{
  struct domain domain;
  struct particles p;
  int64_t begin = w->all.n * c->rank / c->size, end = w->all.n * (c->rank + 1) / c->size;
  open_domain(w, c->size, &domain);
  cut(c, w, &domain);
  particles_init(&p);
  particles_reserve(&p, end - begin + 1);
  for (int64_t i = begin; i < end; i++) particles_copy(&p, p.n++, &w->all, i);
  be->upload(d, &p);
  domain_exchange(&domain, c, be, d, NULL, 0, 0);
  sort_by_id(d);
  grow(w, d, &domain, c->rank);
  domain_close(&domain);
}

/* Soft LETs have come when they have been walked. */
static void exchange_soft(const struct crowd *w, struct lets *lets, struct virtual_rank *row)
{
  struct tally tally = {0};
  struct walk_request walk = {.kind = WALK_TOTAL, .mac = w->mac, .a_floor = w->a_floor, .let = LET_SOFT};
  let_exchange(lets, LET_SOFT, &w->lattice, crowd_request(w, LET_SOFT), TICKS, &row->let[LET_SOFT]);
  let_walk(lets, walk, &tally, &row->let[LET_SOFT]);
}

/* The LETs of the substeps, and the updates of one in the middle of the soft step, in which everyone is corrected. */
static void exchange_step(const struct crowd *w, struct device *d, struct lets *lets, struct virtual_rank *row)
{
  enum { LEVEL = 1, MIDDLE = TICKS / 2 };
  double tick_length = w->soft_step / TICKS;
  struct step_rule rule = {.soft_step = w->soft_step};
  struct let_traffic updates = {.bytes = 0};
  int64_t outside = 0;
  be->levels(d, &rule, LEVEL);
  let_exchange(lets, LET_STEP, &w->lattice, crowd_request(w, LET_STEP), MIDDLE, &row->let[LET_STEP]);
  let_take_updates(lets, 0, &row->let[LET_STEP]);
  be->select(d, MIDDLE, tick_length, &outside);
  be->moments(d, &w->mac, MIDDLE, tick_length);
  be->correct(d, MIDDLE, tick_length, &rule, LEVEL);
  let_send_updates(lets, MIDDLE, 1, TICKS, &updates);
  let_take_updates(lets, TICKS, &updates);
  row->updates = updates.bytes;
}

/* Either kind begins with everyone as they are in the crowd. */
static void exchange(const struct comm *c, struct crowd *w, enum let_kind kind, struct virtual_rank *row)
{
  struct device *d = open_device(w, c->size);
  settle(c, w, d);
  row->local = be->count(d);
  struct lets *lets = lets_open(c, be, d, NULL);
  if (kind == LET_SOFT)
    exchange_soft(w, lets, row);
  else
    exchange_step(w, d, lets, row);
  lets_close(lets);
  struct particles p;
  be->download(d, &p);
  particles_free(&p);
  be->close(d);
}

void virtual_real(const struct comm *c, struct crowd *w, int kinds, struct virtual_rank *row)
{
  memset(row, 0, sizeof *row);
  for (int kind = 0; kind < LET_KINDS; kind++)
    if (kinds >> kind & 1) exchange(c, w, (enum let_kind)kind, row);
}

int virtual_differ(const struct virtual_rank *counted, const struct virtual_rank *real, int rank, int kinds, struct fault *f)
{
  static const char *const names[] = {"cells received", "particles received", "messages sent", "bytes sent"};
  if (counted->local != real->local)
    return fault_set(f, "rank %d has %lld particles, its virtual one %lld", rank, (long long)real->local, (long long)counted->local);
  for (int kind = 0; kind < LET_KINDS; kind++) {
    const struct let_traffic *a = &real->let[kind], *b = &counted->let[kind];
    const int64_t pair[][2] = {{a->received.cells, b->received.cells},
                               {a->received.particles, b->received.particles},
                               {a->messages, b->messages},
                               {a->bytes, b->bytes}};
    for (int k = 0; k < 4 && kinds >> kind & 1; k++)
      if (pair[k][0] != pair[k][1])
        return fault_set(f, "%s, %s LETs: rank %d has %lld, its virtual one %lld", names[k], kind == LET_SOFT ? "soft" : "hard", rank,
                         (long long)pair[k][0], (long long)pair[k][1]);
  }
  if (kinds & 1 << LET_STEP && counted->updates != real->updates)
    return fault_set(f, "bytes of updates: rank %d sends %lld, its virtual one %lld", rank, (long long)real->updates, (long long)counted->updates);
  return 0;
}
