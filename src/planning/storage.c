/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "planning/storage.h"

#include <stdio.h>

#include "backend/backend.h"
#include "io/snapshot/snapshot.h"
#include "run/outputs.h"

int storage_plan(const struct params *params, const struct planning *planning, int on_device, enum need_scheme scheme,
                 struct storage *storage, struct fault *fault)
{
  struct outputs outputs;
  double bytes = (double)particle_bytes(), n = planning->particles, mine = n / planning->ranks;
  int hybrid = scheme == NEED_HYBRID;
  const struct need_input need = {mine, planning->ranks, hybrid, on_device, bytes, planning->baseline};
  if (outputs_open(&outputs, params, fault)) return -1;
  *storage = (struct storage){.host = need_expected(&need, scheme),
                              .device = on_device ? need_device(mine, hybrid) : 0,
                              .snapshot = snapshot_bytes(n, SNAPSHOT_RUN),
                              .snapshots = 1 + outputs_count(&outputs, planning->begin),
                              .checkpoint = need_checkpoint(n, planning->ranks, bytes),
                              .checkpoints = (double)params->CheckpointsKept + 1};
  struct memory_need most = need_estimate(&need);
  storage->most = need_total(&most);
  outputs_close(&outputs);
  return 0;
}

/* Print a row: bytes on one rank, and on RANKS of them. */
static void print_row(const char *what, double one, double several) { printf("%s,%.0f,%.0f\n", what, one, several); }

void planning_print_bytes(void)
{
  enum { RANKS = 16, SCHEMES = 3 };
  static const char *const backends[] = {"cpu", "cuda; of the host"}, *const schemes[] = {"shared steps", "block steps",
                                                                                          "hybrid"};
  const double n = 1e6, all = (double)particle_bytes();
  printf("bytes a particle,one rank,%d ranks\n", RANKS);
  for (int b = 0; b < 2; b++)
    for (int s = 0; s < SCHEMES; s++) {
      char name[64];
      struct need_input in = {n, 1, s == NEED_HYBRID, b, all, 0}, of = in;
      of.ranks = RANKS;
      struct memory_need one = need_expected(&in, s), several = need_expected(&of, s);
      snprintf(name, sizeof name, "%s: %s", backends[b], b ? "all schemes" : schemes[s]);
      print_row(name, (one.particles + one.lets) / n, (several.particles + several.lets) / n);
      if (b) break;
    }
  print_row("cuda: shared and block steps", need_device(n, 0) / n, need_device(n, 0) / n);
  print_row("cuda: hybrid", need_device(n, 1) / n, need_device(n, 1) / n);
  print_row("a snapshot", snapshot_bytes(n, SNAPSHOT_RUN) / n, snapshot_bytes(n, SNAPSHOT_RUN) / n);
  print_row("a checkpoint", need_checkpoint(n, 1, all) / n, need_checkpoint(n * RANKS, RANKS, all) / (n * RANKS));
}
