/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Backends in tests on several ranks. */
#ifndef EVERYWHERE_H
#define EVERYWHERE_H
#include <stdio.h>

#include "backend.h"
#include "comm.h"
#include "params.h"

enum { RANKS_ON_A_DEVICE = 8 };   /* more take turns on one for minutes */

/* The backend, if all ranks have it; else NULL, and rank 0 says why. Collective. */
static inline const struct backend *backend_everywhere(const struct comm *world, int choice)
{
  char why[256] = "not on all ranks";
  if (choice == BACKEND_CUDA && world->size > RANKS_ON_A_DEVICE) {
    if (world->rank == 0) printf("# CUDA backend: not tried with more than %d ranks\n", RANKS_ON_A_DEVICE);
    return NULL;
  }
  const struct backend *found = backend_choose(choice, why, sizeof why);
  if (comm_min_int64(world, found != NULL)) return found;
  if (world->rank == 0) printf("# %s\n", why);
  return NULL;
}
#endif
