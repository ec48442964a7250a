/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Friends-of-friends groups of particles on several ranks against all pairs on one. */
#include <config.h>
#include <math.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "base/debug.h"
#include "base/memory.h"
#include "chance.h"
#include "fof/fof.h"
#include "params/params.h"
#include "ranks.h"

enum { LIMIT = 1200 };

static struct comm c, self;

/* A set of particles, the same on all ranks. */
static struct {
  int n;
  double pos[LIMIT][3];
  uint64_t id[LIMIT];
  int type[LIMIT];
} set;

static void add(double x, double y, double z)
{
  memcpy(set.pos[set.n], (const double[3]){x, y, z}, sizeof *set.pos);
  set.type[set.n] = 1;
  set.id[set.n] = (uint64_t)((set.n * 7919 + 13) % 100003); /* in no order of the positions */
  set.n++;
}

/* --- sets -------------------------------------------------------------------------------------------------------- */

static void make_uniform(struct random *random, int n, double size)
{
  while (n-- > 0) add(size * random_unit(random), size * random_unit(random), size * random_unit(random));
}

/* Clumps of different sizes and densities, and particles between them. */
static void make_clumps(struct random *random)
{
  for (int k = 0; k < 12; k++) {
    double x[3] = {random_unit(random), random_unit(random), random_unit(random)},
           size = 0.002 * pow(50, random_unit(random));
    for (int i = 0; i < 50; i++) {
      double d[3];
      random_direction(random, size * random_unit(random), d);
      add(x[0] + d[0], x[1] + d[1], x[2] + d[2]);
    }
  }
  make_uniform(random, 200, 1);
}

/* One chain through the whole volume, there and back many times, whose members are one length apart. */
static void make_snake(void)
{
  enum { ROW = 24, ROWS = 20 };
  for (int row = 0; row < ROWS; row++) {
    for (int i = 0; i < ROW; i++) add(row % 2 ? ROW - 1 - i : i, 2.5 * row, 0);
    if (row < ROWS - 1) {
      add(row % 2 ? 0 : ROW - 1, 2.5 * row + 0.9, 0);
      add(row % 2 ? 0 : ROW - 1, 2.5 * row + 1.7, 0);
    }
  }
}

/* --- all pairs --------------------------------------------------------------------------------------------------- */

static double distance2(int i, int j)
{
  double s = 0;
  for (int k = 0; k < 3; k++) s += (set.pos[i][k] - set.pos[j][k]) * (set.pos[i][k] - set.pos[j][k]);
  return s;
}

static int links(unsigned linking, int i) { return linking >> set.type[i] & 1; }

/* Labels by flooding. */
static void brute(unsigned linking, double length, uint64_t *label)
{
  int stack[LIMIT], group[LIMIT], done[LIMIT] = {0};
  for (int first = 0; first < set.n; first++) {
    int count = 0, depth = 0;
    uint64_t least = UINT64_MAX;
    if (done[first] || !links(linking, first)) continue;
    done[stack[depth++] = first] = 1;
    while (depth > 0) {
      int i = group[count++] = stack[--depth];
      if (set.id[i] < least) least = set.id[i];
      for (int j = 0; j < set.n; j++)
        if (!done[j] && links(linking, j) && distance2(i, j) <= length * length) done[stack[depth++] = j] = 1;
    }
    while (count > 0) label[group[--count]] = least;
  }
  for (int i = 0; i < set.n; i++) {
    int best = -1;
    if (links(linking, i)) continue;
    for (int j = 0; j < set.n; j++) {
      double d = distance2(i, j);
      if (!links(linking, j) || d > length * length) continue;
      if (best < 0 || d < distance2(i, best) || (d == distance2(i, best) && set.id[j] < set.id[best])) best = j;
    }
    label[i] = best < 0 ? FOF_NONE : label[best];
  }
}

/* --- comparison -------------------------------------------------------------------------------------------------- */

/* How particles are on the ranks. */
enum deal { DEAL_ROUND, DEAL_SLICES, DEAL_LAST, DEALS };

static int owner(enum deal deal, int i, int ranks)
{
  return deal == DEAL_ROUND ? i % ranks : deal == DEAL_SLICES ? (int)((int64_t)i * ranks / set.n) : ranks - 1;
}

/* This rank's particles; which[k]: the index of the k-th one in the set. */
static void take(const struct comm *on, enum deal deal, struct particles *particles, int *which)
{
  struct random r = {5};
  particles_init(particles);
  particles_reserve(particles, set.n + 1);
  particles->n = 0;
  for (int i = 0; i < set.n; i++) {
    double v[3] = {random_unit(&r), random_unit(&r), random_unit(&r)}, m = 1 + random_unit(&r), pot = -random_unit(&r);
    if (owner(deal, i, on->size) != on->rank) continue;
    which[particles->n] = i;
    memcpy(&particles->pos[3 * particles->n], set.pos[i], sizeof *set.pos);
    memcpy(&particles->vel[3 * particles->n], v, sizeof v);
    particles->id[particles->n] = set.id[i];
    particles->type[particles->n] = (uint8_t)set.type[i];
    particles->mass[particles->n] = (float)m;
    particles->pot[particles->n++] = (float)pot;
  }
}

static struct fof_request request(unsigned linking, double length)
{
  return (struct fof_request){.length = length, .min_size = 5, .linking = linking, .potential = 1};
}

static int same_labels(enum deal deal, unsigned linking, double length)
{
  static uint64_t expected[LIMIT];
  static int which[LIMIT];
  struct particles p;
  struct fof_request r = request(linking, length);
  int good = 1;
  take(&c, deal, &p, which);
  uint64_t *label = memory_alloc("test", sizeof *label * (size_t)(p.n + 1));
  brute(linking, length, expected);
  fof_label(&c, &p, &r, length, label);
  for (int64_t i = 0; i < p.n; i++) good = good && label[i] == expected[which[i]];
  memory_free(label);
  particles_free(&p);
  return good;
}

static void check_labels(const char *what, unsigned linking, double length)
{
  char text[200];
  int good = 1;
  for (int deal = 0; deal < DEALS; deal++) good = same_labels((enum deal)deal, linking, length) && good;
  snprintf(text, sizeof text, "%s: the groups are those of all pairs", what);
  all_ok(&c, good, text);
}

/* The catalogue of all ranks on each: groups, then members. */
static void whole(const struct comm *on, enum deal deal, const struct fof_request *request, struct fof_group **group,
                  size_t *groups, struct fof_member **member, size_t *members, int64_t **offset)
{
  static int which[LIMIT];
  struct particles p;
  struct fof_catalogue k;
  size_t bytes;
  take(on, deal, &p, which);
  fof_find(on, &p, request, &k);
  *group = comm_gather(on, k.group, sizeof *k.group * (size_t)k.group_count, groups);
  *member = comm_gather(on, k.member, sizeof *k.member * (size_t)k.member_count, members);
  *offset = comm_gather(on, k.offset, sizeof *k.offset * (size_t)k.group_count, &bytes);
  if (*groups != sizeof **group * (size_t)k.groups || *members != sizeof **member * (size_t)k.members)
    *groups = SIZE_MAX;
  fof_close(&k);
  particles_free(&p);
}

/* Counts, order and members of a catalogue of the whole set. */
static int is_sound(const struct fof_group *group, size_t groups, const struct fof_member *member, size_t members,
                    const int64_t *offset, const struct fof_request *request)
{
  uint64_t label[LIMIT];
  size_t row = 0, large = 0;
  brute(request->linking, request->length, label);
  for (int i = 0; i < set.n; i++) {
    int64_t count = 0;
    for (int j = 0; j < set.n; j++) count += label[j] == label[i];
    large += label[i] != FOF_NONE && count >= request->min_size;
  }
  if (large != members) return 0;
  for (size_t k = 0; k < groups; k++) {
    int64_t types = 0;
    if (k && (group[k].count > group[k - 1].count ||
              (group[k].count == group[k - 1].count && group[k].label < group[k - 1].label)))
      return 0;
    if (group[k].count < request->min_size || offset[k] != (int64_t)row) return 0;
    for (int t = 0; t < PARTICLE_TYPES; t++) types += group[k].type_count[t];
    if (types != group[k].count || row + (size_t)types > members) return 0;
    for (int64_t i = 0; i < group[k].count; i++, row++) {
      int s = 0;
      while (s < set.n && set.id[s] != member[row].id) s++;
      if (s == set.n || label[s] != group[k].label || member[row].group != k || member[row].type != set.type[s])
        return 0;
      if (i && (member[row].type < member[row - 1].type ||
                (member[row].type == member[row - 1].type && member[row].id <= member[row - 1].id)))
        return 0;
    }
  }
  return row == members;
}

/* Sums over the members of a group in double precision. */
static int has_sums(const struct fof_group *group, const struct fof_member *member, const struct particles *all)
{
  double mass = 0, x[3] = {0}, v[3] = {0}, lowest = HUGE_VAL, error = 0;
  int64_t at = 0;
  for (int64_t k = 0; k < group->count; k++)
    for (int64_t i = 0; i < all->n; i++) {
      if (all->id[i] != member[k].id) continue;
      mass += all->mass[i];
      for (int d = 0; d < 3; d++) {
        x[d] += all->mass[i] * all->pos[3 * i + d];
        v[d] += all->mass[i] * all->vel[3 * i + d];
      }
      if (all->pot[i] < lowest) {
        lowest = all->pot[i];
        at = i;
      }
    }
  for (int d = 0; d < 3; d++) {
    error = fmax(error, fabs(group->cm[d] - x[d] / mass) / (1 + fabs(x[d] / mass)));
    error = fmax(error, fabs(group->vel[d] - v[d] / mass));
    error = fmax(error, fabs(group->pos[d] - all->pos[3 * at + d]));
  }
  return error < 1e-13 && fabs(group->mass / mass - 1) < 1e-13;
}

static void check_catalogue(const char *what, unsigned linking, double length)
{
  static int which[LIMIT];
  struct fof_request r = request(linking, length);
  struct fof_group *a, *b;
  struct fof_member *m, *n;
  struct particles all;
  int64_t *o, *q;
  size_t ga, gb, ma, mb;
  char text[200];
  int good = 1, sums = 1;
  whole(&self, DEAL_LAST, &r, &b, &gb, &n, &mb, &q);
  good = is_sound(b, gb / sizeof *b, n, mb / sizeof *n, q, &r);
  take(&self, DEAL_LAST, &all, which);
  for (size_t k = 0; k < gb / sizeof *b; k++) sums = sums && has_sums(&b[k], n + q[k], &all);
  particles_free(&all);
  snprintf(text, sizeof text, "%s: %zu groups of 5 and more: counts, order and members", what, gb / sizeof *b);
  all_ok(&c, good && gb > 0, text);
  all_ok(&c, sums, "... masses, centres and velocities");
  good = 1;
  for (int deal = 0; deal < DEALS; deal++) {
    whole(&c, (enum deal)deal, &r, &a, &ga, &m, &ma, &o);
    good = good && ga == gb && ma == mb && memcmp(a, b, ga) == 0 && memcmp(m, n, ma) == 0 &&
           memcmp(o, q, sizeof *o * (ga / sizeof *a)) == 0;
    memory_free(a);
    memory_free(m);
    memory_free(o);
  }
  all_ok(&c, good, "... are the same to the bit however the particles are on the ranks");
  memory_free(b);
  memory_free(n);
  memory_free(q);
}

/* --- tests ------------------------------------------------------------------------------------------------------- */

static void check_uniform(void)
{
  struct random r = {1};
  set.n = 0;
  make_uniform(&r, 800, 1);
  check_labels("uniform, nearly no links", 2, 0.01);
  check_labels("uniform, short chains", 2, 0.06);
  check_labels("uniform, near percolation", 2, 0.093);
  check_labels("uniform, a third of the width", 2, 0.33);
  check_labels("uniform, one group by far", 2, 1e3);
  check_labels("uniform, a length whose square is infinite", 2, 1e200);
  check_labels("uniform, length 0", 2, 0);
  check_labels("no type links", 1, 0.1);
  check_catalogue("uniform", 2, 0.07);
  check_catalogue("one group", 2, 10);
}

static void check_clumps(void)
{
  struct random r = {2};
  set.n = 0;
  make_clumps(&r);
  check_labels("clumps", 2, 0.02);
  check_labels("clumps, small length", 2, 0.002);
  for (int i = 0; i < set.n; i++) set.type[i] = (int)(random_bits(&r) % 3);
  check_labels("clumps of three types, one links", 2, 0.03);
  check_labels("clumps of three types, two link", 5, 0.02);
  check_catalogue("clumps of three types", 2, 0.03);
  for (int i = 0; i < set.n; i++)
    for (int k = 0; k < 3; k++) set.pos[i][k] += 1e6;
  check_labels("clumps at 1e6", 2, 0.03);
  for (int i = 0; i < set.n; i += 100) set.pos[i][i % 3] *= 1e6;
  check_labels("particles at 1e12", 2, 0.03);
}

static void check_chains(void)
{
  set.n = 0;
  make_snake();
  check_labels("a chain across all domains, many times", 2, 1);
  check_labels("... which breaks", 2, 0.999);
  check_catalogue("a chain across all domains", 2, 1);
}

static void check_coincident(void)
{
  struct random r = {3};
  set.n = 0;
  for (int k = 0; k < 300; k++) add(0.25, 0.5, 0.75);
  for (int k = 0; k < 300; k++) add(0.25, 0.5, 0.75 + 1.0 / 1024);
  make_uniform(&r, 300, 1);
  check_labels("many at one place, just linked", 2, 1.0 / 1024);
  check_labels("many at one place, not quite", 2, 1.0 / 1025);
  check_labels("many at one place, length 0", 2, 0);
  check_labels("many at one place, attached to others", 1, 0.1);
  set.type[700] = 0;
  check_labels("many at one place, attached to one", 1, 0.7);
  check_catalogue("many at one place", 2, 1.0 / 1024);
}

static void check_few(void)
{
  struct fof_request r = request(2, 0);
  struct particles p;
  int which[LIMIT];
  set.n = 0;
  check_labels("no particle", 2, 1);
  take(&c, DEAL_ROUND, &p, which);
  all_ok(&c, fof_length(&c, &p, &r) == 0, "no particle: the length by rule is 0");
  particles_free(&p);
  add(1, 2, 3);
  check_labels("one particle", 2, 1);
  check_labels("one particle of another type", 1, 1);
  add(1, 2, 3.5);
  check_labels("two particles", 2, 0.5);
  check_labels("two particles apart", 2, 0.49);
  set.type[1] = 0;
  check_labels("two particles of two types", 2, 0.5);
}

static int ascend(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void check_length(void)
{
  struct random g = {4};
  struct fof_request r = request(2, 0);
  struct particles p;
  int which[LIMIT], same = 1;
  double x[LIMIT], centre[3];
  set.n = 0;
  make_uniform(&g, 501, 2);
  add(1e9, 0, 0);
  for (int k = 0; k < 3; k++) {
    for (int i = 0; i < set.n; i++) x[i] = set.pos[i][k];
    qsort(x, (size_t)set.n, sizeof *x, ascend);
    centre[k] = x[(set.n - 1) / 2];
  }
  for (int i = 0; i < set.n; i++)
    x[i] =
        sqrt(pow(set.pos[i][0] - centre[0], 2) + pow(set.pos[i][1] - centre[1], 2) + pow(set.pos[i][2] - centre[2], 2));
  qsort(x, (size_t)set.n, sizeof *x, ascend);
  double expected = x[250] * cbrt(4 * M_PI / 3 / 251), first = 0;
  for (int deal = 0; deal < DEALS; deal++) {
    take(&c, (enum deal)deal, &p, which);
    double length = fof_length(&c, &p, &r);
    if (deal == 0) first = length;
    same = same && length == first && fabs(length / expected - 1) < 1e-12;
    particles_free(&p);
  }
  all_ok(&c, same,
         "the length by rule: the mean distance in the sphere of half of the particles, in spite of one far away");
  r.density = 8;
  for (int i = 0; i < set.n; i += 3) set.type[i] = 0; /* has mass, and does not link */
  same = 1;
  for (int deal = 0; deal < DEALS; deal++) {
    take(&c, (enum deal)deal, &p, which);
    double mass = 0, length = fof_length(&c, &p, &r);
    for (int64_t i = 0; i < p.n; i++) mass += p.mass[i];
    comm_sum_double(&c, &mass, 1);
    if (deal == 0) first = length;
    same = same && length == first && fabs(length / (0.2 * cbrt(mass / (set.n - (set.n + 2) / 3) / 8)) - 1) < 1e-12;
    particles_free(&p);
  }
  all_ok(&c, same, "... with a mean density: 0.2 times the mean distance in that universe, by the mass of all types");
}

static void check_types(void)
{
  unsigned t = 0;
  all_ok(&c, params_types("all", &t) == 0 && t == 63, "types: all");
  all_ok(&c, params_types("1,4", &t) == 0 && t == 18, "types: a list");
  all_ok(&c,
         params_types("", &t) && params_types("6", &t) && params_types("1,", &t) && params_types("1 2", &t) &&
             params_types("12", &t) && params_types("halo", &t),
         "types: other texts are refused");
}

int main(int argc, char **argv)
{
  ranks_begin(&c, &argc, &argv);
  comm_open(&self, MPI_COMM_SELF);
  check_types();
  check_few();
  check_uniform();
  check_clumps();
  check_chains();
  check_coincident();
  check_length();
  debug_set("fof_round", 1); /* to one rank at a time */
  check_clumps();
  check_chains();
  comm_close(&self);
  return ranks_end(&c);
}
