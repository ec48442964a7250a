/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Choice of a backend in tests on several ranks. */
#ifndef EVERYWHERE_H
#define EVERYWHERE_H
#include <stdio.h>

#include "backend/backend.h"
#include "params/params.h"
#include "ranks.h"

enum { RANKS_ON_A_DEVICE = 8 }; /* more would take minutes on one device */

/* The backend where all ranks have it; else NULL, and rank 0 prints the reason. Collective. */
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
