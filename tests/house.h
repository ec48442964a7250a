/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Several ranks in one process, each with a device of its own; LETs are copied from one to the other. */
#ifndef HOUSE_H
#define HOUSE_H
#include "let.h"
#include "memory.h"
#include "rig.h"
#include "tap.h"
#include "timeline.h"

enum { RANKS_MOST = 5 };

/* A rank. */
struct side {
  struct device *dev;
  struct let_card card;
  struct let_box box[LET_BOXES];
  int forest[RANKS_MOST], trees;
  int32_t next[RANKS_MOST];   /* announced to each of the others */
  int asked_by[RANKS_MOST];
};

struct house {
  const struct backend *be;
  const struct set *set;
  int ranks, order;
  struct lattice lattice;
  struct split split;
  double a_floor, a_rms;
  struct side side[RANKS_MOST];
  struct let_count received;
  int roots;                  /* that came with cards */
  struct tally tally;
};

static char label[100];

static inline void say(int good, const struct house *h, const char *what, const struct errors *e)
{
  char line[400], numbers[80] = "";
  if (e) snprintf(numbers, sizeof numbers, " (median %.1e, 99 %% %.1e)", e->median, e->most99);
  snprintf(line, sizeof line, "%s, %d ranks, %s%s%s: %s%s", label, h->ranks, h->set->name, h->order == 2 ? ", second moments" : "",
           h->split.on ? "" : ", no split", what, numbers);
  tap_ok(good, line);
}

static inline struct mac mac_of(const struct house *h, int kind, double delta) { return (struct mac){kind, h->order, h->set->gravity, delta}; }

/* --- ranks ------------------------------------------------------------------------------------------------------- */

static inline int ascending(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Slabs with the same number of particles each, as far as these differ in x. */
static inline void cut(const struct particles *all, int ranks, double face[RANKS_MOST + 1])
{
  double *x = memory_alloc("test", sizeof *x * (size_t)all->n);
  for (int64_t i = 0; i < all->n; i++) x[i] = all->pos[3 * i];
  qsort(x, (size_t)all->n, sizeof *x, ascending);
  face[0] = -1e300;
  face[ranks] = 1e300;
  for (int r = 1; r < ranks; r++) face[r] = x[all->n * r / ranks];
  memory_free(x);
}

static inline void house_open(struct house *h, const struct backend *be, const struct set *s, int ranks, int order)
{
  struct particles all, mine;
  double face[RANKS_MOST + 1], low[3] = {1e300, 1e300, 1e300}, high[3] = {-1e300, -1e300, -1e300};
  memset(h, 0, sizeof *h);
  h->be = be, h->set = s, h->ranks = ranks, h->order = order;
  h->split = split_make(order == 2 ? SPLIT_DLL : SPLIT_QUINTIC, s->r1, s->r2);
  set_make(s, 0.7 * sqrt(s->gravity), &all);
  cut(&all, ranks, face);
  for (int64_t k = 0; k < 3 * all.n; k++) low[k % 3] = fmin(low[k % 3], all.pos[k]), high[k % 3] = fmax(high[k % 3], all.pos[k]);
  h->lattice = lattice_cover(low, high, 0.2, 16 * s->softening);
  for (int r = 0; r < ranks; r++) {
    struct device_config config = {
        .gravity = s->gravity, .softening = s->softening, .max_leaf = 8, .max_group = 32, .quadrupole = order == 2, .ranks = ranks};
    const double from[3] = {face[r], -1e300, -1e300}, to[3] = {face[r + 1], 1e300, 1e300};
    particles_init(&mine);
    particles_reserve(&mine, all.n);
    for (int64_t i = 0; i < all.n; i++)
      if (all.pos[3 * i] >= face[r] && all.pos[3 * i] < face[r + 1]) particles_copy(&mine, mine.n++, &all, i);
    h->side[r].dev = be->open(&config);
    be->upload(h->side[r].dev, &mine);
    be->order(h->side[r].dev, &h->lattice);
    be->build(h->side[r].dev, from, to);
  }
  particles_free(&all);
}

static inline void house_close(struct house *h)
{
  for (int r = 0; r < h->ranks; r++) {
    struct particles p;
    h->be->download(h->side[r].dev, &p);
    particles_free(&p);
    h->be->close(h->side[r].dev);
  }
}

/* --- LETs -------------------------------------------------------------------------------------------------------- */

/* Who needs what of whom: roots become a tree, the others stand in the forest behind it. */
static inline void meet(struct house *h, enum let_kind kind, int r, const struct let_request *request)
{
  struct side *mine = &h->side[r];
  const struct let_card *root[RANKS_MOST];
  int roots = 0;
  mine->trees = 1;
  for (int k = 1; k < h->ranks; k++) {
    int s = (r + k) % h->ranks;
    enum need need = let_contact(&h->lattice, &h->side[s].card, &mine->card, request);
    h->side[s].asked_by[r] = need == NEED_OPEN;
    if (need == NEED_CELL) root[roots++] = &h->side[s].card;
    if (need == NEED_OPEN) mine->forest[mine->trees++] = s;
  }
  mine->forest[0] = r;
  h->roots += roots;
  h->be->let_roots(mine->dev, kind, r, roots, root);
}

static inline void send(struct house *h, enum let_kind kind, int from, int to, struct let_request request)
{
  void *message;
  request.boxes = h->side[to].box;
  request.box_count = h->side[to].card.boxes;
  size_t bytes = h->be->let_select(h->side[from].dev, kind, to, &request, &h->side[from].next[to], &message);
  memcpy(h->be->let_room(h->side[to].dev, kind, from, bytes), message, bytes);
  h->be->let_attach(h->side[to].dev, kind, from, bytes, &h->received);
}

static inline void exchange(struct house *h, enum let_kind kind, const struct let_request *request)
{
  h->received = (struct let_count){0, 0};
  h->roots = 0;
  for (int r = 0; r < h->ranks; r++) {
    h->be->let_clear(h->side[r].dev, kind);
    let_introduce(h->be, h->side[r].dev, request, h->side[r].box, &h->side[r].card);
  }
  for (int r = 0; r < h->ranks; r++) meet(h, kind, r, request);
  for (int s = 0; s < h->ranks; s++)
    for (int r = 0; r < h->ranks; r++)
      if (s != r && h->side[s].asked_by[r]) send(h, kind, s, r, *request);
  for (int r = 0; r < h->ranks && kind == LET_STEP; r++) h->be->let_watch(h->side[r].dev, request);
}

/* The forest in one part, in two (the local tree first), or tree by tree. */
enum parting { WHOLE, LOCAL_FIRST, ONE_BY_ONE };

static inline void walk(struct house *h, int r, struct walk_request q, enum parting parting)
{
  struct side *mine = &h->side[r];
  int done = 0, all = mine->trees;
  q.local = 1;
  q.peers = mine->forest;
  q.peer_count = parting == WHOLE ? all : 0;
  q.last = parting == WHOLE;
  h->be->walk(mine->dev, &q, &h->tally);
  q.local = 0;
  while (parting != WHOLE && done < all) {
    q.peers = mine->forest + done;
    q.peer_count = parting == ONE_BY_ONE ? 1 : all - done;
    done += q.peer_count;
    q.last = done == all;
    h->be->walk(mine->dev, &q, &h->tally);
  }
}
#endif
