/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the readers of all formats need about a set's files and their particles. */
#include <config.h>
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "io/input/set.h"

#define MASS_TOLERANCE 1e-5 /* of masses that single precision numbers state twice */

void set_path(const struct set *set, int k, char path[SET_PATH])
{
  if (set->numbered) snprintf(path, SET_PATH, "%.4000s.%d%s", set->base, k, set->suffix);
  else snprintf(path, SET_PATH, "%s", set->base);
}

int64_t set_file_total(const struct set_file *file)
{
  int64_t n = 0;
  for (int t = 0; t < PARTICLE_TYPES; t++) n += file->count[t];
  return n;
}

int set_mass(struct particles *particles, int64_t at, double mass, const char *path, int64_t row, struct fault *fault)
{
  float kept = (float)mass;
  particles->mass[at] = kept;
  if ((fabsf(kept) < FLT_MIN && mass != 0) || (isinf(kept) && !isinf(mass)))
    return fault_set(
        fault,
        "%s: particle %lld has the mass %g, which is outside the range of single precision (1.2e-38 to 3e38): "
        "choose a unit of mass nearer to the masses of the particles, if these are masses",
        path, (long long)row, mass);
  return 0;
}

void set_doubt_mass(struct initial_doubts *doubts, int t, double table, double mass)
{
  if (fabs(mass - table) <= MASS_TOLERANCE * table) return;
  if (!doubts->masses) {
    doubts->table = table;
    doubts->lightest = doubts->heaviest = mass;
  }
  if ((doubts->masses & ((1u << t) - 1)) == 0) {
    doubts->lightest = fmin(doubts->lightest, mass);
    doubts->heaviest = fmax(doubts->heaviest, mass);
  }
  doubts->masses |= 1u << t;
}
