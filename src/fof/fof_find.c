/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From labels to the catalogue: numbers of particles by label, then sums of the groups that are large enough, their order, their members. */
#include <config.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "fof/fof.h"
#include "fof/fof_book.h"

/* Sums in fixed point are the same in any order: values below 2^e are multiples of 2^(e - FIXED_BITS), and 2^46 of them do not overflow. */
__extension__ typedef __int128 wide;
enum { FIXED_BITS = 80 };

enum { SUM_PLACE = PARTICLE_TYPES, SUM_MOTION = SUM_PLACE + 3, SUMS = SUM_MOTION + 3 };   /* before: masses by type */

/* What a rank has of a group. */
struct part {
  uint64_t label;
  int64_t type_count[PARTICLE_TYPES];
  wide sum[SUMS];
  double lowest[3];        /* position of the particle with the smallest potential */
  uint64_t id;             /* its id */
  float pot;
};

/* A particle of this rank with its label. */
struct labelled {
  uint64_t label;
  int64_t at;
};

struct finder {
  const struct comm *c;
  const struct particles *p;
  const struct fof_request *r;
  struct labelled *list;   /* [listed] by label: first all with a label, then those of groups */
  int64_t listed;
  int exponent[3];         /* of the fixed-point numbers: masses, mass times position, mass times velocity */
};

static double place_of(const struct finder *w, int64_t i, int c) { return w->p->pos[3 * i + c] + w->r->place[c]; }
/* Velocities and potentials to the bit as snapshots have them. */
static double motion_of(const struct finder *w, int64_t i, int c)
{
  double a = w->r->expansion, factor = a > 0 ? 1 / (a * sqrt(a)) : 1;
  return factor * (w->p->vel[3 * i + c] + w->r->motion[c]);
}
static float potential_of(const struct finder *w, int64_t i)
{
  double a = w->r->expansion;
  if (!w->r->potential) return 0;
  return a > 0 ? (float)(1 / a * w->p->pot[i]) : w->p->pot[i];
}

static void choose_exponents(struct finder *w)
{
  double largest[3] = {0};
  for (int64_t i = 0; i < w->p->n; i++) {
    double m = w->p->mass[i];
    largest[0] = fmax(largest[0], m);
    for (int c = 0; c < 3; c++) {
      largest[1] = fmax(largest[1], fabs(m * place_of(w, i, c)));
      largest[2] = fmax(largest[2], fabs(m * motion_of(w, i, c)));
    }
  }
  comm_max_double(w->c, largest, 3);
  for (int k = 0; k < 3; k++) frexp(largest[k], &w->exponent[k]);
}

static wide fixed(double x, int exponent) { return (wide)ldexp(x, FIXED_BITS - exponent); }
static double real(wide x, int exponent) { return ldexp((double)x, exponent - FIXED_BITS); }

static uint64_t add(uint64_t a, uint64_t b) { return a + b; }

/* The number of particles on all ranks of each label of the list, and the list without groups that are too small. */
static void keep_groups(struct finder *w)
{
  struct fof_pair *pair = memory_alloc("fof", sizeof *pair * (size_t)(w->listed + 1));
  struct fof_book book;
  int64_t labels = 0, kept = 0, at = -1;
  for (int64_t i = 0; i < w->listed; i++) {
    if (i == 0 || w->list[i].label != w->list[i - 1].label) pair[labels++] = (struct fof_pair){w->list[i].label, 0};
    pair[labels - 1].value++;
  }
  fof_book_open(&book, w->c, pair, labels, add);
  uint64_t *label = memory_alloc("fof", sizeof *label * (size_t)(labels + 1));
  for (int64_t k = 0; k < labels; k++) label[k] = pair[k].label;
  fof_book_ask(w->c, &book, label, labels, label);
  for (int64_t i = 0; i < w->listed; i++) {
    at += i == 0 || w->list[i].label != pair[at].label;
    if ((int64_t)label[at] < w->r->min_size) continue;
    w->list[kept++] = w->list[i];
  }
  w->listed = kept;
  memory_free(book.pair), memory_free(label), memory_free(pair);
}

static int is_lower(float pot, uint64_t id, const struct part *g) { return pot < g->pot || (pot == g->pot && id < g->id); }

static void add_particle(struct part *g, const struct finder *w, int64_t i)
{
  const struct particles *p = w->p;
  double m = p->mass[i];
  g->type_count[p->type[i]]++;
  g->sum[p->type[i]] += fixed(m, w->exponent[0]);
  for (int c = 0; c < 3; c++) {
    g->sum[SUM_PLACE + c] += fixed(m * place_of(w, i, c), w->exponent[1]);
    g->sum[SUM_MOTION + c] += fixed(m * motion_of(w, i, c), w->exponent[2]);
  }
  float pot = potential_of(w, i);
  if (!is_lower(pot, p->id[i], g)) return;
  g->pot = pot;
  g->id = p->id[i];
  for (int c = 0; c < 3; c++) g->lowest[c] = place_of(w, i, c);
}

static void add_part(struct part *g, const struct part *other)
{
  for (int t = 0; t < PARTICLE_TYPES; t++) g->type_count[t] += other->type_count[t];
  for (int k = 0; k < SUMS; k++) g->sum[k] += other->sum[k];
  if (!is_lower(other->pot, other->id, g)) return;
  g->pot = other->pot;
  g->id = other->id;
  memcpy(g->lowest, other->lowest, sizeof g->lowest);
}

/* The groups of which this rank has particles, each with what it has. Owner: caller. */
static struct part *parts_of(const struct finder *w, int64_t *parts)
{
  *parts = 0;
  for (int64_t i = 0; i < w->listed; i++) *parts += i == 0 || w->list[i].label != w->list[i - 1].label;
  struct part *part = memory_alloc("fof", sizeof *part * (size_t)(*parts + 1)), *now = part - 1;
  for (int64_t i = 0; i < w->listed; i++) {
    if (i == 0 || w->list[i].label != w->list[i - 1].label) *++now = (struct part){.label = w->list[i].label, .pot = HUGE_VALF, .id = UINT64_MAX};
    add_particle(now, w, w->list[i].at);
  }
  return part;
}

static struct fof_group finish(const struct part *g, const struct finder *w)
{
  struct fof_group to = {.label = g->label};
  wide mass = 0;
  for (int t = 0; t < PARTICLE_TYPES; t++) {
    to.count += to.type_count[t] = g->type_count[t];
    mass += g->sum[t];
    to.type_mass[t] = real(g->sum[t], w->exponent[0]);
  }
  to.mass = real(mass, w->exponent[0]);
  for (int c = 0; c < 3; c++) {
    to.cm[c] = mass ? real(g->sum[SUM_PLACE + c], w->exponent[1]) / to.mass : g->lowest[c];
    to.vel[c] = mass ? real(g->sum[SUM_MOTION + c], w->exponent[2]) / to.mass : 0;
    to.pos[c] = w->r->potential ? g->lowest[c] : to.cm[c];
  }
  return to;
}

static int by_size(const void *a, const void *b)
{
  const struct fof_group *one = a, *two = b;
  if (one->count != two->count) return one->count > two->count ? -1 : 1;
  return one->label < two->label ? -1 : one->label > two->label;
}

static int by_group(const void *a, const void *b)
{
  const struct fof_member *one = a, *two = b;
  if (one->group != two->group) return one->group < two->group ? -1 : 1;
  if (one->type != two->type) return one->type < two->type ? -1 : 1;
  return one->id < two->id ? -1 : one->id > two->id;
}

/* The groups in their order, their numbers and the rows of their members. */
static void list_groups(struct fof_catalogue *k, const struct finder *w)
{
  int64_t parts, received, n = 0, rows = 0;
  struct part *mine = parts_of(w, &parts), *part = fof_route(w->c, mine, sizeof *mine, parts, &received);
  memory_free(mine);
  for (int64_t i = 0; i < received; i++) {
    if (n && part[n - 1].label == part[i].label) add_part(&part[n - 1], &part[i]);
    else part[n++] = part[i];
  }
  struct fof_group *group = memory_alloc("fof", sizeof *group * (size_t)(n + 1));
  for (int64_t i = 0; i < n; i++) group[i] = finish(&part[i], w);
  memory_free(part);
  k->group = fof_sort(w->c, group, sizeof *group, n, by_size, &k->group_count);
  k->groups = k->group_count;
  comm_sum_int64(w->c, &k->groups, 1);
  k->first_group = comm_exscan_int64(w->c, k->group_count);
  k->offset = memory_alloc("fof", sizeof *k->offset * (size_t)(k->group_count + 1));
  for (int64_t i = 0; i < k->group_count; i++) {
    k->offset[i] = rows;
    rows += k->group[i].count;
  }
  int64_t before = comm_exscan_int64(w->c, rows);
  for (int64_t i = 0; i < k->group_count; i++) k->offset[i] += before;
}

static uint64_t first_of(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* The particles of groups in the order of the catalogue. */
static void list_members(struct fof_catalogue *k, const struct finder *w)
{
  struct fof_book book;
  struct fof_pair *pair = memory_alloc("fof", sizeof *pair * (size_t)(k->group_count + 1));
  for (int64_t i = 0; i < k->group_count; i++) pair[i] = (struct fof_pair){k->group[i].label, (uint64_t)(k->first_group + i)};
  fof_book_open(&book, w->c, pair, k->group_count, first_of);
  memory_free(pair);
  uint64_t *number = memory_alloc("fof", sizeof *number * (size_t)(w->listed + 1));
  int64_t labels = 0, at = -1;
  for (int64_t i = 0; i < w->listed; i++)
    if (i == 0 || w->list[i].label != w->list[i - 1].label) number[labels++] = w->list[i].label;
  fof_book_ask(w->c, &book, number, labels, number);
  memory_free(book.pair);
  struct fof_member *member = memory_alloc("fof", sizeof *member * (size_t)(w->listed + 1));
  for (int64_t i = 0; i < w->listed; i++) {
    at += i == 0 || w->list[i].label != w->list[i - 1].label;
    member[i] = (struct fof_member){number[at], w->p->id[w->list[i].at], w->p->type[w->list[i].at]};
  }
  memory_free(number);
  k->member = fof_sort(w->c, member, sizeof *member, w->listed, by_group, &k->member_count);
  k->members = k->member_count;
  comm_sum_int64(w->c, &k->members, 1);
  k->first_member = comm_exscan_int64(w->c, k->member_count);
}

void fof_find(const struct comm *c, const struct particles *p, const struct fof_request *r, struct fof_catalogue *k)
{
  struct finder w = {.c = c, .p = p, .r = r};
  *k = (struct fof_catalogue){.length = r->length > 0 ? r->length : fof_length(c, p, r)};
  uint64_t *label = memory_alloc("fof", sizeof *label * (size_t)(p->n + 1));
  fof_label(c, p, r, k->length, label);
  w.list = memory_alloc("fof", sizeof *w.list * (size_t)(p->n + 1));
  for (int64_t i = 0; i < p->n; i++)
    if (label[i] != FOF_NONE) w.list[w.listed++] = (struct labelled){label[i], i};
  memory_free(label);
  if (w.listed > 1) qsort(w.list, (size_t)w.listed, sizeof *w.list, fof_by_label);
  keep_groups(&w);
  choose_exponents(&w);
  list_groups(k, &w);
  list_members(k, &w);
  memory_free(w.list);
}

void fof_close(struct fof_catalogue *k)
{
  memory_free(k->group);
  memory_free(k->offset);
  memory_free(k->member);
  *k = (struct fof_catalogue){0};
}
