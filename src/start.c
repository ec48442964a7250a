/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "start.h"

#include <math.h>
#include <string.h>

#include "fault.h"
#include "initial.h"

/* Pair arithmetic is float32: squares of lengths and powers of the softening must fit in its range. */
#define LENGTH_MOST 1e18
#define SOFTENING_LEAST 1e-11

static int check_range(const struct particles *p, const struct params *par, struct fault *f)
{
  if (par->Softening < SOFTENING_LEAST || par->Softening > LENGTH_MOST)
    return fault_set(f, "Softening = %g is outside [%g, %g]: choose a unit of length nearer to the system's size", par->Softening,
                     SOFTENING_LEAST, LENGTH_MOST);
  for (int64_t i = 0; i < 3 * p->n; i++)
    if (fabs(p->pos[i]) > 0.5 * LENGTH_MOST)
      return fault_set(f, "particle %llu has a coordinate %g beyond %g: choose a unit of length nearer to the system's size",
                       (unsigned long long)p->id[i / 3], p->pos[i], 0.5 * LENGTH_MOST);
  return 0;
}

int sim_start(struct sim *s, const struct comm *c, const struct params *par, struct fault *f)
{
  char why[256];
  struct particles p;
  struct initial_facts facts;
  const struct backend *be = backend_choose(par->Backend, why, sizeof why);
  if (!be) fault_set(f, "%s", why);
  if (comm_agree(c, f)) return -1;
  particles_init(&p);
  if (initial_read(c, par->InitCondFile, par->ICFormat, &p, &facts, f)) return -1;
  initial_check_units(par->InitCondFile, &facts, par, f);
  check_range(&p, par, f);
  if (comm_agree(c, f)) {
    particles_free(&p);
    return -1;
  }
  sim_open(s, c, par, be, &p);
  s->time = facts.own ? facts.time : par->TimeBegin;
  return 0;
}
