/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "scheme/close_pairs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

enum { MANY_STEPS = 64 }; /* soft steps after which a perturbed pair is no fly-by */

/* What a rank contributes. */
struct extremes {
  int64_t collapsed, perturbed;
  struct list_collapse worst;
  struct list_triple triple;
};

void close_pairs_gather(const struct comm *comm, const struct list_tally *own, struct list_tally *total)
{
  if (total->collapsed == 0 && total->pairs_perturbed == 0) return;
  struct extremes mine;
  size_t bytes;
  memset(&mine, 0, sizeof mine); /* with its padding */
  mine.collapsed = own->collapsed;
  mine.perturbed = own->pairs_perturbed;
  mine.worst = own->worst;
  mine.triple = own->triple;
  struct extremes *all = comm_gather(comm, &mine, sizeof mine, &bytes);
  const struct extremes *worst = NULL, *triple = NULL;
  for (int r = 0; r < comm->size; r++) {
    if (all[r].collapsed > 0 && (!worst || all[r].worst.wanted < worst->worst.wanted)) worst = &all[r];
    if (all[r].perturbed > 0 && (!triple || all[r].triple.period < triple->triple.period)) triple = &all[r];
  }
  if (worst) total->worst = worst->worst;
  if (triple) total->triple = triple->triple;
  memory_free(all);
}

void close_pairs_collapse_text(const struct list_tally *total, double time, double soft_step, char *text)
{
  const struct list_collapse *w = &total->worst;
  snprintf(
      text, CLOSE_PAIRS_TEXT,
      "at time %g the step of particle %llu at (%.9g, %.9g, %.9g) collapsed:\n"
      "         its nearest neighbour, particle %llu, is at a distance of %.3g. It requires a step of %.3g, and the\n"
      "         shortest is %.3g (the soft step / 2^%d), which was taken %lld time%s. The energy of this pair is not\n"
      "         kept from this soft step on: do not use what follows. A restart from an earlier checkpoint with a\n"
      "         smaller SoftStep has shorter steps; a new run with a Softening above %.1g does not need them",
      time, (unsigned long long)w->id, w->pos[0], w->pos[1], w->pos[2], (unsigned long long)w->neighbour, w->distance,
      w->wanted, ldexp(soft_step, -LIST_LEVEL_MAX), LIST_LEVEL_MAX, (long long)total->collapsed,
      total->collapsed == 1 ? "" : "s", w->distance);
}

int close_pairs_perturbed_text(struct close_pairs *pairs, const struct list_tally *total, double time,
                               const struct list_request *request, char *text)
{
  const struct list_triple *t = &total->triple;
  int same = total->pairs_perturbed > 0 && pairs->first == t->first && pairs->second == t->second;
  pairs->steps = total->pairs_perturbed == 0 ? 0 : same ? pairs->steps + 1 : 1;
  pairs->first = t->first;
  pairs->second = t->second;
  if (pairs->warned || pairs->steps < MANY_STEPS) return 0;
  pairs->warned = 1;
  double soft_step = request->soft_step, orbits = soft_step / t->period;
  const struct integrator_traits *traits = &integrator_traits[request->integrator];
  double drift = traits->pair_drift * pow(request->eta / 0.1, traits->pair_drift_power);
  snprintf(text, CLOSE_PAIRS_TEXT,
           "at time %g the bound pair of particles %llu and %llu at (%.9g, %.9g, %.9g),\n"
           "         with a semi-major axis of %.3g and a period of %.3g, has a perturber, now particle %llu, which "
           "passes it at a\n"
           "         distance of %.3g, for the %lldth soft step: a triple. Its orbits are integrated step by step, "
           "%.3g in a\n"
           "         soft step, which is slow and changes its binding energy by some %.1g of it in a soft step; a "
           "smaller Eta\n"
           "         makes this smaller",
           time, (unsigned long long)t->first, (unsigned long long)t->second, t->pos[0], t->pos[1], t->pos[2], t->a,
           t->period, (unsigned long long)t->perturber, t->distance, (long long)pairs->steps, orbits,
           fmin(1, drift * orbits));
  return 1;
}
