/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forces at a synchronisation from the local tree and LETs together, on every backend: which part of the particles
 * walks the local tree first (debug switch first_part), when LETs come, and in which order. With arguments: the name of
 * one backend; "short" for sanitizers. */
#include <config.h>
#include <stdlib.h>

#include "base/debug.h"
#include "house.h"

enum { PARTS = 4 };

/* The first part; NULL: the usual one. */
static const char *const part[PARTS] = {NULL, "0", "0.6", "1"};

/* What a case yields. */
struct yield {
  uint64_t all, hard; /* bits, the same for all ranks */
  struct errors error[3];
  int64_t targets;
};

static uint64_t hard_bits(const struct house *house)
{
  uint64_t sum = 0xcbf29ce484222325ULL;
  for (int r = 0; r < house->ranks; r++) {
    const struct particles *p = house->be->view(house->side[r].dev);
    for (size_t b = 0; b < 12 * (size_t)p->n; b++)
      sum = (sum ^ ((const unsigned char *)p->acc_hard)[b]) * 0x100000001b3ULL;
  }
  return sum;
}

/* A case by itself: its arrays grow as its LETs come. */
static struct yield one(const struct backend *be, const struct set *set, int ranks, int order, int split,
                        const char *first, enum arrival arrival, enum parting parting)
{
  struct yield y;
  struct house h;
  struct particles all;
  house_open(&h, be, set, ranks, order);
  h.split.on = split;
  h.arrival = arrival;
  if (first) debug_set("first_part", atof(first));
  struct mac angle = mac_of(&h, MAC_ANGLE, 0.7), mac = mac_of(&h, MAC_ACCELERATION, 1.0 / 512);
  force(&h, &angle, parting);
  force(&h, &mac, parting);
  debug_set("first_part", NAN);
  set_make(set, 0, &all);
  struct direct d = direct_open(&all, set->gravity, set->softening, &h.split);
  compare(&h, &d, y.error);
  y.all = bits(&h);
  y.hard = hard_bits(&h);
  y.targets = h.tally.targets;
  direct_close(&d);
  particles_free(&all);
  house_close(&h);
  return y;
}

static void tell(int good, const struct set *set, int ranks, int order, int split, const char *what)
{
  struct house h = {.set = set, .ranks = ranks, .order = order, .split.on = split};
  say(good, &h, what, NULL);
}

/* Hard forces of the local tree are complete before LETs arrive: by walks or, with few neighbours, by lists. */
static void check_parts(const struct backend *be, const struct set *set, int ranks, int order, int split)
{
  struct yield y[PARTS];
  char what[200];
  int cuda = strcmp(be->name, "cuda") == 0, same = 1, hard_same = 1, apart = 1;
  for (int k = 0; k < PARTS; k++) {
    y[k] = one(be, set, ranks, order, split, part[k], BEFORE, LOCAL_FIRST);
    const struct errors *e = y[k].error;
    const char *name = part[k] ? part[k] : "usual";
    int good = e[0].finite && e[1].finite && e[2].finite && y[k].targets == set->n && e[0].median < 5e-3 &&
               e[0].most99 < 1.7e-2;
    struct yield late = one(be, set, ranks, order, split, part[k], BACKWARDS, k % 2 ? LOCAL_FIRST : ONE_BY_ONE);
    struct yield soon = k == 2 ? one(be, set, ranks, order, split, part[k], MEANWHILE, ONE_BY_ONE) : late;
    snprintf(what, sizeof what,
             "one walk, first part %s: acceleration %.1e / %.1e, hard part %.1e / %.1e, potential %.1e", name,
             e[0].median, e[0].most99, e[1].median, e[1].most99, e[2].most99);
    tell(good && e[1].median < 5e-3 && e[1].most99 < 1.7e-2 && e[2].most99 < 5e-3, set, ranks, order, split, what);
    snprintf(what, sizeof what, "one walk, first part %s: LETs that come later, or the other way round, change no bit",
             name);
    tell(late.all == y[k].all && soon.all == y[k].all, set, ranks, order, split, what);
    for (int j = 0; j < k; j++) {
      same &= y[j].all == y[k].all;
      hard_same &= y[j].hard == y[k].hard;
      apart &= (y[j].all != y[k].all) == (k > 1); /* the usual part is empty */
    }
  }
  if (cuda)
    tell(apart, set, ranks, order, split,
         "all in one walk, as is usual, the first part in two, all in two: sums in other orders");
  if (cuda && split) tell(hard_same, set, ranks, order, split, "hard forces: the local tree, then LETs");
  if (!cuda) tell(same, set, ranks, order, split, "the local tree, then LETs");
}

/* Ranks without particles, and others' LETs of nothing. */
static void check_empty(const struct backend *be)
{
  for (int k = 0; k < 2; k++) {
    const struct yield y = one(be, &sets[9 + k], 3, 1, 1, part[1 + 2 * k], BACKWARDS, ONE_BY_ONE);
    tell(y.error[0].finite && y.error[0].worst < 1e-5 && y.targets == sets[9 + k].n, &sets[9 + k], 3, 1, 1,
         "one walk, with empty ranks and LETs");
  }
}

static const char *only;
static int brief;

static void check(const struct backend *be)
{
  struct set s = sets[0], wide = sets[1];
  snprintf(label, sizeof label, "%s", be->name);
  if (only && strcmp(only, be->name) != 0) return;
  s.n = wide.n = brief ? 1300 : 1950; /* several supergroups on each of two or three ranks */
  wide.r1 = 2;
  wide.r2 = 4; /* so many neighbours that there are no lists */
  check_empty(be);
  check_parts(be, &s, brief ? 2 : 3, 1, 1);
  if (brief) return;
  check_parts(be, &wide, 2, 1, 1);
  check_parts(be, &s, 2, 2, 0);
}

int main(int argc, char **argv)
{
  only = argc > 1 ? argv[1] : NULL;
  brief = argc > 2 && strcmp(argv[2], "short") == 0;
  rig_each(check);
  tap_ok(memory_current() == 0, "all memory is given back");
  return tap_end();
}
