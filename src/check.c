/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "check.h"

#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "backend.h"
#include "initial.h"
#include "logs.h"
#include "outputs.h"
#include "particles.h"
#include "snapshot.h"
#include "start.h"

/* Bytes per particle beside the fields: key, permutation, sources, nodes (about one for five particles), levels, scratch. */
enum { WORK_BYTES = 330 };

/* Free bytes where `path` is or would be made. */
static double free_bytes(const char *path, char *where, size_t size)
{
  struct statvfs v;
  snprintf(where, size, "%s", path);
  while (statvfs(where, &v)) {
    if (strcmp(where, ".") == 0 || strcmp(where, "/") == 0) return 0;
    char *slash = strrchr(where, '/');
    if (slash && slash != where)
      *slash = 0;
    else
      snprintf(where, size, "%s", slash ? "/" : ".");
  }
  return (double)v.f_bavail * (double)v.f_frsize;
}

static void report(const struct comm *c, const struct params *p, const struct initial_facts *facts, const struct backend *be,
                   const char *note)
{
  double n = 0;
  char where[PARAM_TEXT];
  for (int t = 0; t < PARTICLE_TYPES; t++) n += (double)facts->count[t];
  double memory = n / c->size * (double)(2 * particle_bytes() + WORK_BYTES), snapshot = snapshot_bytes(n, SNAPSHOT_POTENTIAL);
  printf("initial conditions  %s (%s), %.0f particles", p->InitCondFile, facts->format, n);
  for (int t = 0; t < PARTICLE_TYPES; t++)
    if (facts->count[t]) printf(", type %d: %lld", t, (long long)facts->count[t]);
  printf("\nunits               %s\n", facts->has_units ? "stated by the file, as in the parameters"
                                                    : "not stated by the file; those of the parameters are used");
  printf("gravity             G = %.9g%s\n", units_gravity(p), p->GravityConstantInternal > 0 ? "" : " (from the units)");
  printf("force               softening %g, %s criterion, %s cells\n", p->Softening,
         p->TypeOfOpeningCriterion == OPENING_ANGLE ? "angle" : p->TypeOfOpeningCriterion == OPENING_MULTIPOLE ? "multipole" : "acceleration",
         p->MultipoleOrder == 2 ? "quadrupole" : "monopole");
  printf("begins at           %g, ends at %g\n", facts->own ? facts->time : p->TimeBegin, p->TimeMax);
  printf("ranks x threads     %d x %d, backend %s%s%s\n", c->size, omp_get_max_threads(), be->name, note[0] ? "; " : "", note);
  printf("memory              about %.3g MB a rank%s\n", memory / 1e6,
         c->size > 1 ? " for its particles; trees of other ranks come on top, often as much again ('espalier study let' counts them)" : "");
  if (be->particle_bytes)
    printf("device memory       about %.3g MB\n", n / c->size * (be->particle_bytes + (p->Mode != MODE_TREE ? be->split_bytes : 0)) / 1e6);
  double room = free_bytes(p->OutputDir, where, sizeof where);
  printf("a snapshot          %.4g MB; %.4g MB are free in %s\n", snapshot / 1e6, room / 1e6, where);
  if (room < 1.1 * snapshot) printf("warning: not enough free space for one snapshot\n");
}

int check(const struct comm *c, const struct params *par, int overwrite)
{
  struct fault f = {""};
  if (c->rank == 0) {
    struct initial_facts facts;
    struct outputs o = {0};
    char why[256];
    const struct backend *be = backend_choose(par->Backend, c->size, why, sizeof why);
    if (!be) fault_set(&f, "%s", why);
    else if (!backend_walks(be, (enum walk_method)par->WalkMethod, c->size, why, sizeof why)) fault_set(&f, "%s", why);
    if (!f.text[0] && params_check_ranks(par, c->size, &f) == 0 && initial_inspect(par->InitCondFile, par->ICFormat, &facts, &f) == 0 &&
        initial_check_units(par->InitCondFile, &facts, par, &f) == 0 &&
        outputs_open(&o, par, &f) == 0 && logs_check(par, overwrite, &f) == 0) {
      report(c, par, &facts, be, why);
      check_times(par, facts.own ? facts.time : par->TimeBegin, &f);
    }
    outputs_close(&o);
    if (f.text[0]) fprintf(stderr, "espalier: error: %s\n", f.text);
  }
  return comm_verdict(c, &f) ? 1 : 0;
}
