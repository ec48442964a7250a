/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Changes of masses and velocities by ids. */
#include <config.h>
#include "api/api.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "step/changes.h"

#define LARGEST 1e36 /* of masses and velocities, whose forces are in single precision */

static int check_arrays(const struct espalier_changes *given, struct fault *fault)
{
  if (!given) return fault_set(fault, "changes: expected a struct espalier_changes, found NULL");
  if (given->count < 0)
    return fault_set(fault, "changes: expected a count of 0 or more, found %lld", (long long)given->count);
  if (given->count > 0 && !given->id) return fault_set(fault, "changes: expected ids, found NULL");
  if (given->count > 0 && !given->mass && !given->kick)
    return fault_set(fault, "changes: expected masses or kicks, found NULL for both");
  return 0;
}

/* Copy the changes of this rank to list[count]. 0 or -1. */
static int copy(const struct espalier_changes *given, struct change *list, struct fault *fault)
{
  for (int64_t k = 0; k < given->count; k++) {
    unsigned long long id = given->id[k];
    struct change *one = &list[k];
    one->id = given->id[k];
    one->mass = given->mass ? given->mass[k] : NAN;
    if (given->mass && !(one->mass >= 0 && one->mass <= LARGEST))
      return fault_set(fault, "changes: particle with id %llu: expected a mass from 0 to %g, found %g", id, LARGEST,
                       one->mass);
    for (int c = 0; given->kick && c < 3; c++) {
      one->kick[c] = given->kick[3 * k + c];
      if (!(fabs(one->kick[c]) <= LARGEST))
        return fault_set(fault, "changes: particle with id %llu: expected a kick within %g, found %g", id, LARGEST,
                         one->kick[c]);
    }
  }
  return 0;
}

static int by_id(const void *p, const void *q)
{
  const struct change *a = p, *b = q;
  return (a->id > b->id) - (a->id < b->id);
}

/* Each particle is there and named once, and a mass is left. The same on all ranks. Collective. 0 or -1. */
static int check_ids(const struct sim *sim, const struct change *list, int64_t n, struct fault *fault)
{
  uint64_t missing;
  for (int64_t k = 1; k < n; k++)
    if (list[k].id == list[k - 1].id)
      return fault_set(fault, "changes: the id %llu is named twice; expected each particle once",
                       (unsigned long long)list[k].id);
  if (changes_missing(sim, list, n, &missing))
    return fault_set(fault, "changes: no particle has the id %llu", (unsigned long long)missing);
  if (!(changes_mass(sim, list, n) > 0)) return fault_set(fault, "changes: no particle would have a mass any more");
  return 0;
}

/* The changes of all ranks in the order of ids; *n: their number. Owner: caller (memory_free). Collective. 0 or a
 * code. */
static int gather(const espalier *e, const struct espalier_changes *given, struct change **all, int64_t *n)
{
  struct fault f = {""};
  size_t bytes;
  check_arrays(given, &f);
  int code = api_agree(&e->comm, ESPALIER_BAD_ARGUMENT, &f);
  if (code) return code;
  struct change *mine = memory_alloc("changes", sizeof *mine * (size_t)(given->count + 1));
  copy(given, mine, &f);
  if ((code = api_agree(&e->comm, ESPALIER_BAD_PARTICLES, &f)) == ESPALIER_OK) {
    *all = comm_gather(&e->comm, mine, sizeof *mine * (size_t)given->count, &bytes);
    *n = (int64_t)(bytes / sizeof *mine);
    qsort(*all, (size_t)*n, sizeof **all, by_id);
  }
  memory_free(mine);
  return code;
}

int api_change(espalier *e, const struct espalier_changes *given)
{
  struct sim *sim = e->sim;
  struct fault f = {""};
  struct change *all;
  int64_t n;
  if (e->unsound.text[0]) return api_fail(ESPALIER_UNSOUND, &e->unsound);
  int code = gather(e, given, &all, &n);
  if (code) return code;
  if (check_ids(sim, all, n, &f)) {
    code = api_fail(ESPALIER_BAD_PARTICLES, &f);
  } else if (n > 0) {
    int potential = e->potential, measured = e->energies, masses = changes_make(sim, all, n, &potential);
    guard_remember(&e->guard, &sim->now, 1);
    timer_reset(&sim->timer);
    api_forget(e);
    e->potential = potential;
    e->energies = measured && !masses;
    e->potentials_follow |= masses;
  }
  memory_free(all);
  return code;
}
