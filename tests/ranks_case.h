/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cases on several ranks: a set of particles that is dealt out, its parameters, and what is said of it, for each
 * backend. */
#ifndef RANKS_CASE_H
#define RANKS_CASE_H
#include <mpi.h>

#include "backend/probe.h"
#include "everywhere.h"
#include "sets.h"
#include "sums_ranks.h"
#include "tap.h"

static const struct backend *tested;
static enum transport_choice usual = TRANSPORT_AUTO, asked = TRANSPORT_AUTO;

#define SPEED 0.7 /* about that of a system in balance */

/* This rank's share of the set: all on the last rank, or dealt out by id. */
static inline void share(const struct comm *comm, const struct set *set, int64_t n, double speed, int on_one,
                         struct particles *mine)
{
  struct set part = *set;
  struct particles all;
  part.n = n;
  set_make(&part, speed * sqrt(set->gravity), &all);
  particles_init(mine);
  particles_reserve(mine, n);
  for (int64_t i = 0; i < n; i++)
    if (on_one ? comm->rank == comm->size - 1 : (int)(i % comm->size) == comm->rank)
      particles_copy(mine, mine->n++, &all, i);
  particles_free(&all);
}

/* What all cases have in common. */
static inline struct params params_of(const struct set *set, double delta)
{
  struct params par;
  params_defaults(&par);
  par.GravityConstantInternal = set->gravity;
  par.Softening = set->softening;
  par.Transport = asked;
  par.R1 = set->r1;
  par.R2 = set->r2;
  par.xs = 0.2;
  par.ys = 0.135;
  par.Eta = 1;
  par.ErrTolForceAcc = delta;
  par.MultipoleOrder = 1;
  par.MaxLeafSize = 8;
  par.MaxGroupSize = 32;
  par.TimeMax = 1e3 * set->r2;
  return par;
}

static inline void say(const struct comm *comm, int good, const char *set, const char *what,
                       const struct errors *errors)
{
  char line[300], numbers[80] = "";
  if (errors)
    snprintf(numbers, sizeof numbers, " (median %.1e, 99 %% %.1e, worst %.1e)", errors->median, errors->most99,
             errors->worst);
  snprintf(line, sizeof line, "%s, %d ranks, %s: %s%s", tested->name, comm->size, set, what, numbers);
  if (comm->rank == 0) tap_ok(good, line);
}

/* Check with every backend, or with the one that the second argument names; the first one is passed on. */
static inline int with_backends(int argc, char **argv, void (*check)(const struct comm *comm, const char *which))
{
  struct comm world;
  ranks_begin(&world, &argc, &argv);
  const int choices[] = {BACKEND_CPU, BACKEND_CUDA};
  for (int k = 0; k < 2; k++) {
    if (argc > 2 && strcmp(argv[2], k == 0 ? "cpu" : "cuda") != 0) continue;
    tested = backend_everywhere(&world, choices[k]);
    if (!tested) continue;
    /* messages that bypass the host everywhere, where the host's memory is all there is */
    usual = asked = getenv("ESPALIER_CUDA_MPI") && !tested->probe->identify ? TRANSPORT_CUDA_MPI : TRANSPORT_AUTO;
    check(&world, argc > 1 ? argv[1] : "");
  }
  return ranks_end(&world);
}
#endif
