/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Several ranks in one process: each has its own device, and messages are copied between them. */
#ifndef HOUSE_H
#define HOUSE_H
#include "backend/let_verbs.h"
#include "base/memory.h"
#include "mpi/let/let.h"
#include "rig.h"
#include "tap.h"
#include "tree/upper.h"

enum { RANKS_MAX = 5 };

/* A rank. */
struct side {
  struct device *dev;
  struct let_summary summary;
  struct let_box box[LET_BOXES];
  int forest[RANKS_MAX], trees;
  int32_t next[RANKS_MAX]; /* next correction announced to each peer */
  int asked_by[RANKS_MAX];
};

/* Arrival of LETs: before the walk, or after the walk of the local tree was started, in the order of the forest or in
 * reverse order. */
enum arrival { BEFORE, MEANWHILE, BACKWARDS };

struct house {
  const struct backend *be;
  const struct set *set;
  int ranks, order;
  struct lattice lattice;
  struct split split;
  double a_floor, a_rms;
  struct side side[RANKS_MAX];
  struct let_count received;
  int tops;                /* LET summaries of which cells were used, in place of a LET */
  enum arrival arrival;    /* of LETs of a synchronisation */
  struct let_request soft; /* their request */
  struct tally tally;
};

static char label[100];
/* 1: every other particle is of type 2, whose softening is larger by a millionth: codes of softenings are in masses and
 * nodes, and sums are those of one softening. */
static int house_mixed;

static inline void say(int good, const struct house *house, const char *what, const struct errors *errors)
{
  char line[400], numbers[80] = "";
  if (errors) snprintf(numbers, sizeof numbers, " (median %.1e, 99 %% %.1e)", errors->median, errors->most99);
  snprintf(line, sizeof line, "%s, %d ranks, %s%s%s: %s%s", label, house->ranks, house->set->name,
           house->order == 2 ? ", second moments" : "", house->split.on ? "" : ", no split", what, numbers);
  tap_ok(good, line);
}

static inline struct mac mac_of(const struct house *house, int kind, double delta)
{
  return (struct mac){kind, house->order, house->set->gravity, delta};
}

/* Spheres so far from each other that a rank needs only the root of the other. */
static inline void place_apart(struct random *random, int64_t i, int64_t n, double x[3], float *mass)
{
  place_plummer(random, i, n, x, mass);
  x[0] += i % 2 ? 50 : -50;
}

/* --- ranks ------------------------------------------------------------------------------------------------------- */

/* Cut the particles into slabs of equal numbers, as far as their x differ. */
static inline void cut(const struct particles *all, int ranks, double face[RANKS_MAX + 1])
{
  double *x = memory_alloc("test", sizeof *x * (size_t)all->n);
  for (int64_t i = 0; i < all->n; i++) x[i] = all->pos[3 * i];
  qsort(x, (size_t)all->n, sizeof *x, ascending);
  face[0] = -1e300;
  face[ranks] = 1e300;
  for (int r = 1; r < ranks; r++) face[r] = x[all->n * r / ranks];
  memory_free(x);
}

static inline void house_open(struct house *house, const struct backend *be, const struct set *set, int ranks,
                              int order)
{
  struct particles all, mine;
  double face[RANKS_MAX + 1], low[3] = {1e300, 1e300, 1e300}, high[3] = {-1e300, -1e300, -1e300};
  memset(house, 0, sizeof *house);
  house->be = be;
  house->set = set;
  house->ranks = ranks;
  house->order = order;
  house->split = split_make(order == 2 ? SPLIT_DLL : SPLIT_QUINTIC, set->r1, set->r2);
  set_make(set, 0.7 * sqrt(set->gravity), &all);
  for (int64_t i = 0; i < all.n && house_mixed; i++) all.type[i] = i % 2 ? 2 : 1;
  cut(&all, ranks, face);
  for (int64_t k = 0; k < 3 * all.n; k++) {
    low[k % 3] = fmin(low[k % 3], all.pos[k]);
    high[k % 3] = fmax(high[k % 3], all.pos[k]);
  }
  house->lattice = lattice_cover(low, high, 0.2, 16 * set->softening);
  for (int r = 0; r < ranks; r++) {
    struct device_config config = {.gravity = set->gravity,
                                   .softening = set->softening,
                                   .max_leaf = 8,
                                   .max_group = 32,
                                   .quadrupole = order == 2,
                                   .ranks = ranks};
    for (int t = 0; t < PARTICLE_TYPES && house_mixed; t++)
      config.softening_of[t] = set->softening * (t == 2 ? 1 + 1e-6 : 1);
    const double from[3] = {face[r], -1e300, -1e300}, to[3] = {face[r + 1], 1e300, 1e300};
    particles_init(&mine);
    particles_reserve(&mine, all.n);
    for (int64_t i = 0; i < all.n; i++)
      if (all.pos[3 * i] >= face[r] && all.pos[3 * i] < face[r + 1]) particles_copy(&mine, mine.n++, &all, i);
    house->side[r].dev = be->open(&config);
    be->upload(house->side[r].dev, &mine);
    be->tree.order(house->side[r].dev, &house->lattice);
    be->tree.build(house->side[r].dev, from, to);
  }
  particles_free(&all);
}

static inline void house_close(struct house *house)
{
  for (int r = 0; r < house->ranks; r++) {
    struct particles p;
    house->be->download(house->side[r].dev, &p);
    particles_free(&p);
    house->be->close(house->side[r].dev);
  }
}

/* --- LETs -------------------------------------------------------------------------------------------------------- */

/* Find what rank r needs of the others: cells of their summaries form a tree, and LETs follow it in the forest. */
static inline void exchange_summaries(struct house *house, enum let_kind kind, int r, const struct let_request *request)
{
  struct side *mine = &house->side[r];
  const struct let_summary *top[RANKS_MAX];
  struct let_request own = *request;
  struct upper upper;
  int tops = 0;
  mine->trees = 1;
  for (int k = 1; k < house->ranks; k++) {
    int s = (r + k) % house->ranks;
    enum need need = let_contact(&house->lattice, &house->side[s].summary, &mine->summary, request);
    house->side[s].asked_by[r] = need == NEED_OPEN;
    if (need == NEED_CELL) top[tops++] = &house->side[s].summary;
    if (need == NEED_OPEN) mine->forest[mine->trees++] = s;
  }
  mine->forest[0] = r;
  house->tops += tops;
  own.boxes = mine->box;
  own.box_count = mine->summary.boxes;
  upper_open(&upper, tops);
  for (int k = 0; k < tops; k++) upper_add(&upper, &house->lattice, &top[k]->top, &mine->summary.box, &own);
  upper_finish(&upper);
  house->be->let->upper(mine->dev, kind, r, upper.nodes, upper.node, (const float(*)[6])upper.quad);
  upper_free(&upper);
}

/* Send LETs from a rank to others, selected together. */
static inline void send(struct house *house, enum let_kind kind, int from, int count, const int to[],
                        const struct let_request *request)
{
  struct side *mine = &house->side[from];
  struct let_choice choice[RANKS_MAX];
  struct let_box *boxes = memory_alloc("test", sizeof *boxes * LET_BOXES * RANKS_MAX);
  void *asked = memory_alloc("test", sizeof *boxes * (LET_BOXES + 1));
  for (int k = 0; k < count; k++) {
    const struct side *other = &house->side[to[k]];
    size_t bytes = let_boxes_pack(&mine->summary, other->box, other->summary.boxes, request, asked);
    choice[k] = (struct let_choice){.peer = to[k], .boxes = boxes + LET_BOXES * k};
    choice[k].box_count = let_boxes_unpack(request, asked, bytes, boxes + LET_BOXES * k);
  }
  house->be->let->select(mine->dev, kind, request, count, choice);
  memory_free(asked);
  memory_free(boxes);
  for (int k = 0; k < count; k++) {
    struct let_choice *c = &choice[k];
    struct device *dev = house->side[c->peer].dev;
    mine->next[c->peer] = c->next;
    void *buffer = house->be->let->buffer(dev, kind, from, c->bytes);
    if (c->bytes > 0) memcpy(buffer, c->message, c->bytes);
    house->be->let->attach(dev, kind, from, c->bytes, &house->received);
  }
}

/* Send LETs to all ranks that need one. */
static inline void send_all(struct house *house, enum let_kind kind, int from, const struct let_request *request)
{
  int to[RANKS_MAX], count = 0;
  for (int r = 0; r < house->ranks; r++)
    if (r != from && house->side[from].asked_by[r]) to[count++] = r;
  send(house, kind, from, count, to, request);
}

static inline void exchange(struct house *house, enum let_kind kind, const struct let_request *request)
{
  house->received = (struct let_count){0, 0};
  house->tops = 0;
  for (int r = 0; r < house->ranks; r++) {
    house->be->let->clear(house->side[r].dev, kind);
    let_summarise(house->be, house->side[r].dev, house->ranks, request, house->side[r].box, &house->side[r].summary);
  }
  for (int r = 0; r < house->ranks; r++) exchange_summaries(house, kind, r, request);
  for (int s = 0; s < house->ranks && (kind != LET_SOFT || house->arrival == BEFORE); s++)
    send_all(house, kind, s, request);
  if (kind == LET_SOFT) house->soft = *request;
  for (int r = 0; r < house->ranks && kind == LET_STEP; r++) house->be->let->updates.watch(house->side[r].dev, request);
}

/* Send the LETs that the forest of rank r still lacks. */
static inline void send_missing(struct house *house, int r)
{
  const struct side *mine = &house->side[r];
  for (int k = 1; k < mine->trees; k++)
    send(house, LET_SOFT, mine->forest[house->arrival == BACKWARDS ? mine->trees - k : k], 1, &r, &house->soft);
}

/* The forest in one part, in two (the local tree first), or tree by tree. */
enum parting { WHOLE, LOCAL_FIRST, ONE_BY_ONE };

static inline void walk(struct house *house, int r, struct walk_request request, enum parting parting)
{
  struct side *mine = &house->side[r];
  int done = 0, all = mine->trees;
  request.local = 1;
  request.peers = mine->forest;
  request.peer_count = parting == WHOLE ? all : 0;
  request.last = parting == WHOLE;
  house->be->forces.walk(mine->dev, &request, &house->tally);
  if (request.let == LET_SOFT && house->arrival != BEFORE) send_missing(house, r);
  request.local = 0;
  while (parting != WHOLE && done < all) {
    request.peers = mine->forest + done;
    request.peer_count = parting == ONE_BY_ONE ? 1 : all - done;
    done += request.peer_count;
    request.last = done == all;
    house->be->forces.walk(mine->dev, &request, &house->tally);
  }
}

/* --- the start --------------------------------------------------------------------------------------------------- */

static inline void force(struct house *house, const struct mac *mac, enum parting parting)
{
  struct sums sums;
  double square = 0, count = 0;
  struct let_request request = {.mac = mac, .a_floor = house->a_floor, .cutoff = -1};
  struct walk_request q = {.kind = WALK_TOTAL,
                           .mac = *mac,
                           .a_floor = house->a_floor,
                           .split = house->split,
                           .let = LET_SOFT,
                           .potential = 1};
  for (int r = 0; r < house->ranks; r++) {
    house->be->tree.sources(house->side[r].dev);
    house->be->tree.moments(house->side[r].dev, mac, 0, 0);
    house->be->tree.groups(house->side[r].dev);
  }
  exchange(house, LET_SOFT, &request);
  memset(&house->tally, 0, sizeof house->tally);
  for (int r = 0; r < house->ranks; r++) {
    walk(house, r, q, parting);
    house->be->steps.split_soft(house->side[r].dev);
    house->be->sets.reduce(house->side[r].dev, &(struct field){0}, &sums);
    square += sums.acc2_count;
    count += sums.count;
  }
  house->a_rms = sqrt(square / count);
  house->a_floor = 1e-5 * house->a_rms;
}

static inline int64_t count_all(const struct house *house)
{
  int64_t n = 0;
  for (int r = 0; r < house->ranks; r++) n += house->be->count(house->side[r].dev);
  return n;
}

/* Errors of all particles of acceleration, hard part and potential. */
static inline void compare(const struct house *house, const struct direct *direct, struct errors errors[3])
{
  int64_t n = count_all(house), at = 0;
  double *error[3];
  for (int k = 0; k < 3; k++) error[k] = memory_alloc("test", sizeof **error * (size_t)n);
  for (int r = 0; r < house->ranks; r++) {
    const struct particles *p = house->be->view(house->side[r].dev);
    for (int64_t i = 0; i < p->n; i++, at++) {
      int64_t id = (int64_t)p->id[i] - 1;
      double a2 = 0, h2 = 0;
      for (int c = 0; c < 3; c++) {
        a2 += pow(p->acc[3 * i + c] - direct->acc[id][c], 2);
        h2 += pow(p->acc_hard[3 * i + c] - direct->hard[id][c], 2);
      }
      error[0][at] = sqrt(a2) / direct->scale[id];
      error[1][at] = sqrt(h2) / direct->scale[id];
      error[2][at] = fabs(p->pot[i] / direct->pot[id] - 1);
    }
  }
  for (int k = 0; k < 3; k++) {
    errors[k] = errors_of(error[k], n);
    memory_free(error[k]);
  }
}

static inline uint64_t bits(const struct house *house)
{
  uint64_t sum = 0xcbf29ce484222325ULL;
  for (int r = 0; r < house->ranks; r++) {
    const struct particles *p = house->be->view(house->side[r].dev);
    const void *field[] = {p->acc, p->acc_hard, p->pot};
    const size_t bytes[] = {12 * (size_t)p->n, 12 * (size_t)p->n, 4 * (size_t)p->n};
    for (int k = 0; k < 3; k++)
      for (size_t b = 0; b < bytes[k]; b++) sum = (sum ^ ((const unsigned char *)field[k])[b]) * 0x100000001b3ULL;
  }
  return sum;
}
#endif
