/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From labels to the catalogue: numbers of particles by label, then sums of the groups that are large enough, their
 * order, their members. */
#include <config.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "fof/fof.h"
#include "fof/fof_book.h"

/* Sums in fixed point are the same in any order: values below 2^e are multiples of 2^(e - FIXED_BITS), and 2^46 of them
 * do not overflow. */
__extension__ typedef __int128 wide;
enum { FIXED_BITS = 80 };

enum { SUM_PLACE = PARTICLE_TYPES, SUM_MOTION = SUM_PLACE + 3, SUMS = SUM_MOTION + 3 }; /* before: masses by type */

/* What a rank has of a group. */
struct part {
  uint64_t label;
  int64_t type_count[PARTICLE_TYPES];
  wide sum[SUMS];
  double lowest[3]; /* position of the particle with the smallest potential */
  uint64_t id;      /* its id */
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
  struct labelled *list; /* [listed] by label: first all with a label, then those of groups */
  int64_t listed;
  int exponent[3]; /* of the fixed-point numbers: masses, mass times position, mass times velocity */
};

static double place_of(const struct finder *finder, int64_t i, int c)
{
  return finder->p->pos[3 * i + c] + finder->r->place[c];
}
/* Velocities and potentials to the bit as snapshots have them. */
static double motion_of(const struct finder *finder, int64_t i, int c)
{
  double a = finder->r->expansion, factor = a > 0 ? 1 / (a * sqrt(a)) : 1;
  return factor * (finder->p->vel[3 * i + c] + finder->r->motion[c]);
}
static float potential_of(const struct finder *finder, int64_t i)
{
  double a = finder->r->expansion;
  if (!finder->r->potential) return 0;
  return a > 0 ? (float)(1 / a * finder->p->pot[i]) : finder->p->pot[i];
}

static void choose_exponents(struct finder *finder)
{
  double largest[3] = {0};
  for (int64_t i = 0; i < finder->p->n; i++) {
    double m = finder->p->mass[i];
    largest[0] = fmax(largest[0], m);
    for (int c = 0; c < 3; c++) {
      largest[1] = fmax(largest[1], fabs(m * place_of(finder, i, c)));
      largest[2] = fmax(largest[2], fabs(m * motion_of(finder, i, c)));
    }
  }
  comm_max_double(finder->c, largest, 3);
  for (int k = 0; k < 3; k++) frexp(largest[k], &finder->exponent[k]);
}

static wide fixed(double x, int exponent) { return (wide)ldexp(x, FIXED_BITS - exponent); }
static double real(wide x, int exponent) { return ldexp((double)x, exponent - FIXED_BITS); }

static uint64_t add(uint64_t a, uint64_t b) { return a + b; }

/* The number of particles on all ranks of each label of the list, and the list without groups that are too small. */
static void keep_groups(struct finder *finder)
{
  struct fof_pair *pair = memory_alloc("fof", sizeof *pair * (size_t)(finder->listed + 1));
  struct fof_book book;
  int64_t labels = 0, kept = 0, at = -1;
  for (int64_t i = 0; i < finder->listed; i++) {
    if (i == 0 || finder->list[i].label != finder->list[i - 1].label)
      pair[labels++] = (struct fof_pair){finder->list[i].label, 0};
    pair[labels - 1].value++;
  }
  fof_book_open(&book, finder->c, pair, labels, add);
  uint64_t *label = memory_alloc("fof", sizeof *label * (size_t)(labels + 1));
  for (int64_t k = 0; k < labels; k++) label[k] = pair[k].label;
  fof_book_ask(finder->c, &book, label, labels, label);
  for (int64_t i = 0; i < finder->listed; i++) {
    at += i == 0 || finder->list[i].label != pair[at].label;
    if ((int64_t)label[at] < finder->r->min_size) continue;
    finder->list[kept++] = finder->list[i];
  }
  finder->listed = kept;
  memory_free(book.pair);
  memory_free(label);
  memory_free(pair);
}

static int is_lower(float pot, uint64_t id, const struct part *part)
{
  return pot < part->pot || (pot == part->pot && id < part->id);
}

static void add_particle(struct part *part, const struct finder *finder, int64_t i)
{
  const struct particles *p = finder->p;
  double m = p->mass[i];
  part->type_count[p->type[i]]++;
  part->sum[p->type[i]] += fixed(m, finder->exponent[0]);
  for (int c = 0; c < 3; c++) {
    part->sum[SUM_PLACE + c] += fixed(m * place_of(finder, i, c), finder->exponent[1]);
    part->sum[SUM_MOTION + c] += fixed(m * motion_of(finder, i, c), finder->exponent[2]);
  }
  float pot = potential_of(finder, i);
  if (!is_lower(pot, p->id[i], part)) return;
  part->pot = pot;
  part->id = p->id[i];
  for (int c = 0; c < 3; c++) part->lowest[c] = place_of(finder, i, c);
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
static struct part *parts_of(const struct finder *finder, int64_t *parts)
{
  *parts = 0;
  for (int64_t i = 0; i < finder->listed; i++) *parts += i == 0 || finder->list[i].label != finder->list[i - 1].label;
  struct part *part = memory_alloc("fof", sizeof *part * (size_t)(*parts + 1)), *now = part - 1;
  for (int64_t i = 0; i < finder->listed; i++) {
    if (i == 0 || finder->list[i].label != finder->list[i - 1].label)
      *++now = (struct part){.label = finder->list[i].label, .pot = HUGE_VALF, .id = UINT64_MAX};
    add_particle(now, finder, finder->list[i].at);
  }
  return part;
}

static struct fof_group finish(const struct part *part, const struct finder *finder)
{
  struct fof_group to = {.label = part->label};
  wide mass = 0;
  for (int t = 0; t < PARTICLE_TYPES; t++) {
    to.count += to.type_count[t] = part->type_count[t];
    mass += part->sum[t];
    to.type_mass[t] = real(part->sum[t], finder->exponent[0]);
  }
  to.mass = real(mass, finder->exponent[0]);
  for (int c = 0; c < 3; c++) {
    to.cm[c] = mass ? real(part->sum[SUM_PLACE + c], finder->exponent[1]) / to.mass : part->lowest[c];
    to.vel[c] = mass ? real(part->sum[SUM_MOTION + c], finder->exponent[2]) / to.mass : 0;
    to.pos[c] = finder->r->potential ? part->lowest[c] : to.cm[c];
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
static void list_groups(struct fof_catalogue *catalogue, const struct finder *finder)
{
  int64_t parts, received, n = 0, rows = 0;
  struct part *mine = parts_of(finder, &parts), *part = fof_route(finder->c, mine, sizeof *mine, parts, &received);
  memory_free(mine);
  for (int64_t i = 0; i < received; i++) {
    if (n && part[n - 1].label == part[i].label) add_part(&part[n - 1], &part[i]);
    else part[n++] = part[i];
  }
  struct fof_group *group = memory_alloc("fof", sizeof *group * (size_t)(n + 1));
  for (int64_t i = 0; i < n; i++) group[i] = finish(&part[i], finder);
  memory_free(part);
  catalogue->group = fof_sort(finder->c, group, sizeof *group, n, by_size, &catalogue->group_count);
  catalogue->groups = catalogue->group_count;
  comm_sum_int64(finder->c, &catalogue->groups, 1);
  catalogue->first_group = comm_exscan_int64(finder->c, catalogue->group_count);
  catalogue->offset = memory_alloc("fof", sizeof *catalogue->offset * (size_t)(catalogue->group_count + 1));
  for (int64_t i = 0; i < catalogue->group_count; i++) {
    catalogue->offset[i] = rows;
    rows += catalogue->group[i].count;
  }
  int64_t before = comm_exscan_int64(finder->c, rows);
  for (int64_t i = 0; i < catalogue->group_count; i++) catalogue->offset[i] += before;
}

static uint64_t first_of(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* The particles of groups in the order of the catalogue. */
static void list_members(struct fof_catalogue *catalogue, const struct finder *finder)
{
  struct fof_book book;
  struct fof_pair *pair = memory_alloc("fof", sizeof *pair * (size_t)(catalogue->group_count + 1));
  for (int64_t i = 0; i < catalogue->group_count; i++)
    pair[i] = (struct fof_pair){catalogue->group[i].label, (uint64_t)(catalogue->first_group + i)};
  fof_book_open(&book, finder->c, pair, catalogue->group_count, first_of);
  memory_free(pair);
  uint64_t *number = memory_alloc("fof", sizeof *number * (size_t)(finder->listed + 1));
  int64_t labels = 0, at = -1;
  for (int64_t i = 0; i < finder->listed; i++)
    if (i == 0 || finder->list[i].label != finder->list[i - 1].label) number[labels++] = finder->list[i].label;
  fof_book_ask(finder->c, &book, number, labels, number);
  memory_free(book.pair);
  struct fof_member *member = memory_alloc("fof", sizeof *member * (size_t)(finder->listed + 1));
  for (int64_t i = 0; i < finder->listed; i++) {
    at += i == 0 || finder->list[i].label != finder->list[i - 1].label;
    member[i] = (struct fof_member){number[at], finder->p->id[finder->list[i].at], finder->p->type[finder->list[i].at]};
  }
  memory_free(number);
  catalogue->member = fof_sort(finder->c, member, sizeof *member, finder->listed, by_group, &catalogue->member_count);
  catalogue->members = catalogue->member_count;
  comm_sum_int64(finder->c, &catalogue->members, 1);
  catalogue->first_member = comm_exscan_int64(finder->c, catalogue->member_count);
}

void fof_find(const struct comm *comm, const struct particles *particles, const struct fof_request *request,
              struct fof_catalogue *catalogue)
{
  struct finder w = {.c = comm, .p = particles, .r = request};
  *catalogue =
      (struct fof_catalogue){.length = request->length > 0 ? request->length : fof_length(comm, particles, request)};
  uint64_t *label = memory_alloc("fof", sizeof *label * (size_t)(particles->n + 1));
  fof_label(comm, particles, request, catalogue->length, label);
  w.list = memory_alloc("fof", sizeof *w.list * (size_t)(particles->n + 1));
  for (int64_t i = 0; i < particles->n; i++)
    if (label[i] != FOF_NONE) w.list[w.listed++] = (struct labelled){label[i], i};
  memory_free(label);
  if (w.listed > 1) qsort(w.list, (size_t)w.listed, sizeof *w.list, fof_by_label);
  keep_groups(&w);
  choose_exponents(&w);
  list_groups(catalogue, &w);
  list_members(catalogue, &w);
  memory_free(w.list);
}

void fof_close(struct fof_catalogue *catalogue)
{
  memory_free(catalogue->group);
  memory_free(catalogue->offset);
  memory_free(catalogue->member);
  *catalogue = (struct fof_catalogue){0};
}
