/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A build without discs: a model with one is refused. */
#include <config.h>
#include "ic/galaxy/galaxy.h"

struct radial *disc_mass(const struct galaxy *g, int component, struct fault *f)
{
  fault_set(f, "[%s]: discs are not part of this build", g->component[component].name);
  return NULL;
}

struct discs *discs_open(const struct galaxy *g, const struct radial *spheroids, struct fault *f)
{
  (void)g, (void)spheroids;
  fault_set(f, "discs are not part of this build");
  return NULL;
}

void discs_free(struct discs *d) { (void)d; }
void disc_draw(const struct discs *d, int component, struct ic_random *r, double x[3], double v[3])
{
  (void)d, (void)component, (void)r, (void)x, (void)v;
  fatal("discs are not part of this build");
}
void disc_profile_at(const struct discs *d, int component, double radius, struct disc_profile *out)
{
  (void)d, (void)component, (void)radius, (void)out;
  fatal("discs are not part of this build");
}
const char *disc_note(const struct discs *d, int component)
{
  (void)d, (void)component;
  fatal("discs are not part of this build");
}
double disc_virial(const struct discs *d, int component)
{
  (void)d, (void)component;
  fatal("discs are not part of this build");
}
double disc_smallest_q(const struct discs *d, int component)
{
  (void)d, (void)component;
  fatal("discs are not part of this build");
}
const char disc_columns[] = "component";
void discs_write(const struct discs *d, const char *prefix, FILE *out)
{
  (void)d, (void)prefix, (void)out;
  fatal("discs are not part of this build");
}
