/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cuts that ranks make together: those of the plain method, however the samples are distributed. "short": each set cut
 * into a number of domains is distributed in two patterns, the next one in others. With two arguments, numbers of
 * domains and of samples: how long it takes, and what is sent. */
#include <config.h>
#include <mpi.h>

#include "cuts.h"
#include "ranks.h"

enum { DEALT, ON_FIRST, ON_LAST, SLABS, BY_CHANCE, DEALS };

static int brief;

/* Whether the turn-th cut of a set has this distribution; on one rank all are the same. */
static int is_dealt(const struct comm *comm, int deal, int turn)
{
  if (comm->size == 1) return deal == DEALT;
  return !brief || deal == turn % DEALS || deal == (turn + 2) % DEALS;
}

static int owner(int deal, int64_t i, const struct weighted *weighted, int ranks, struct random *random)
{
  switch (deal) {
  case DEALT: return (int)(i % ranks);
  case ON_FIRST: return 0;
  case ON_LAST: return ranks - 1;
  case SLABS:
    return weighted->pos[0] < -1 ? 0 : weighted->pos[0] >= 1 ? ranks - 1 : (int)((weighted->pos[0] + 1) / 2 * ranks);
  default: return (int)(random_bits(random) % (uint64_t)ranks);
  }
}

/* This rank's of all samples. */
static int64_t deal_out(const struct comm *comm, int deal, const struct weighted *all, int64_t n, struct weighted *mine)
{
  struct random r = {23};
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++)
    if (owner(deal, i, &all[i], comm->size, &r) == comm->rank) mine[count++] = all[i];
  return count;
}

/* One set cut into some numbers of domains, distributed in all patterns; returns how many cuts differ from those of the
 * plain method. */
static int check(const struct comm *comm, int64_t n, enum shape shape, enum burden burden)
{
  static const int domains[] = {1, 2, 3, 4, 7, 8, 12, 64, 1000};
  struct weighted *all = memory_alloc("test", 3 * sizeof *all * (size_t)(n + 1)), *mine = all + n + 1,
                  *sorted = mine + n + 1;
  int wrong = 0;
  for (size_t k = 0; k < sizeof domains / sizeof *domains; k++) {
    struct random r = {5 + (uint64_t)domains[k]};
    struct domain d, plain;
    if (n > 100 && domains[k] > 64) continue;
    fill(all, n, shape, burden, &r);
    memcpy(sorted, all, sizeof *all * (size_t)n);
    domain_open(&d, domains[k]);
    domain_open(&plain, domains[k]);
    plain_cut(&plain, sorted, n);
    for (int deal = 0; deal < DEALS; deal++) {
      if (!is_dealt(comm, deal, (int)k + (int)shape + (int)burden)) continue;
      domain_cut(&d, comm, mine, deal_out(comm, deal, all, n, mine));
      wrong += !same_cuts(&d, &plain);
    }
    domain_close(&plain);
    domain_close(&d);
  }
  memory_free(all);
  return (int)comm_max_int64(comm, wrong);
}

/* Aligned cuts, and their centre, are those of one who has all samples; returns how many were not. */
static int check_aligned(const struct comm *comm, int64_t n, enum shape shape, enum burden burden)
{
  static const int domains[] = {2, 3, 8, 12, 64};
  struct weighted *all = memory_alloc("test", 2 * sizeof *all * (size_t)(n + 1)), *mine = all + n + 1;
  int wrong = 0;
  for (size_t k = 0; k < sizeof domains / sizeof *domains; k++) {
    struct random r = {7 + (uint64_t)domains[k]};
    struct domain d, alone;
    fill(all, n, shape, burden, &r);
    domain_open(&d, domains[k]);
    domain_open(&alone, domains[k]);
    d.align = alone.align = 1;
    domain_cut(&alone, NULL, all, n);
    for (int deal = 0; deal < DEALS; deal++) {
      if (!is_dealt(comm, deal, (int)k + (int)shape + (int)burden)) continue;
      domain_cut(&d, comm, mine, deal_out(comm, deal, all, n, mine));
      wrong += !same_cuts(&d, &alone) || memcmp(d.centre, alone.centre, sizeof d.centre) != 0;
    }
    domain_close(&alone);
    domain_close(&d);
  }
  memory_free(all);
  return (int)comm_max_int64(comm, wrong);
}

static void check_all(const struct comm *comm)
{
  const int64_t numbers[] = {brief ? 1500 : 4000, 20, 3, 2, 1, 0};
  char line[200];
  for (int shape = 0; shape < SHAPES; shape++)
    for (int burden = 0; burden < BURDENS; burden++) {
      int wrong = 0;
      /* of a plane all share: which half is nearer is left to rounding, but for whole weights */
      if ((shape == PLANE || shape == LINE || shape == POINT || shape == TWO_POINTS || shape == RASTER) &&
          (burden == ANY || burden == SOME_NONE))
        continue;
      for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        wrong += check(comm, numbers[k], (enum shape)shape, (enum burden)burden);
      snprintf(line, sizeof line,
               "%s, %s, on %d ranks: the cuts of the plain method, bit by bit, however samples are distributed",
               shape_names[shape], burden_names[burden], comm->size);
      if (comm->rank == 0) tap_ok(wrong == 0, line);
    }
  for (int shape = 0; shape < SHAPES; shape++) {
    int wrong = 0;
    for (int burden = 0; burden < BURDENS; burden++)
      for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        wrong += check_aligned(comm, numbers[k], (enum shape)shape, (enum burden)burden);
    snprintf(line, sizeof line, "%s, on %d ranks: aligned cuts do not depend on who has the samples",
             shape_names[shape], comm->size);
    if (comm->rank == 0) tap_ok(wrong == 0, line);
  }
}

static void measure(const struct comm *comm, int domains, int64_t n)
{
  struct random r = {3};
  struct domain d;
  struct weighted *all = memory_alloc("test", 2 * sizeof *all * (size_t)(n + 1)), *mine = all + n + 1;
  fill(all, n, CUSP, ANY, &r);
  int64_t count = deal_out(comm, DEALT, all, n, mine);
  domain_open(&d, domains);
  d.align = domains > 1;
  double ms = time_cut(&d, comm, mine, count);
  comm_max_double(comm, &ms, 1);
  ledger_reset(comm->ledger);
  domain_cut(&d, comm, mine, count);
  struct ledger_entry e = ledger_entry(comm->ledger, PHASE_other, LEDGER_ALL);
  if (comm->rank == 0)
    printf("%lld samples on %d ranks, %d x %d x %d domains: %.3f ms, %lld collectives of %lld bytes in all\n",
           (long long)n, comm->size, d.px, d.py, d.pz, ms, (long long)e.messages_sent, (long long)e.bytes_sent);
  domain_close(&d);
  memory_free(all);
}

int main(int argc, char **argv)
{
  struct comm world;
  ranks_begin(&world, &argc, &argv);
  if (argc == 3) measure(&world, atoi(argv[1]), atoll(argv[2]));
  else {
    brief = argc == 2 && strcmp(argv[1], "short") == 0;
    check_all(&world);
  }
  return ranks_end(&world);
}
