/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include <math.h>

#include "check/physics.h"

/* " (1.2 kpc)" where units are physical. Returns `text`. */
static const char *in_units(double x, double factor, const char *name, char text[40])
{
  text[0] = 0;
  if (factor > 0) snprintf(text, 40, " (%.3g %s)", x * factor, name);
  return text;
}

enum { LEVELS_OF_A_LINE = 6 };

static void print_levels(const struct physics *p, FILE *out)
{
  int deepest = 0;
  for (int l = 0; l < PHYSICS_LEVELS; l++)
    if (p->level[l]) deepest = l;
  fprintf(out, "substeps            about %.0f; particles with time steps of the soft step / 2^level:\n%19s", physics_substeps(p), "");
  for (int l = 0; l <= deepest; l++)
    if (p->level[l]) fprintf(out, " %d: %lld%s", l, (long long)p->level[l], l == deepest ? "" : l % LEVELS_OF_A_LINE < LEVELS_OF_A_LINE - 1 ? "," : ",\n                   ");
  fputc('\n', out);
}

static void print_duration(double seconds, FILE *out)
{
  if (seconds < 1e3) fprintf(out, "%.3g s", seconds);
  else if (seconds < 3e5) fprintf(out, "%.1f h", seconds / 3600);
  else fprintf(out, "%.3g days", seconds / 86400);
}

void physics_print(const struct physics *p, FILE *out)
{
  char text[40], other[40];
  double dynamical = physics_dynamical_time(p), crossing = physics_crossing_time(p), seconds = physics_step_seconds(p);
  fprintf(out, "size                half of the particles are within %.4g%s of (%.4g, %.4g, %.4g),\n"
          "                    90 %% within %.4g\n", p->half,
          in_units(p->half, p->kpc, "kpc", text), p->centre[0], p->centre[1], p->centre[2], p->most);
  fprintf(out, "neighbours          nearest ones at %.3g, %.3g and %.3g (10, 50 and 90 %%)", p->neighbour[0], p->neighbour[1], p->neighbour[2]);
  if (p->softening > 0) fprintf(out, ";\n                    the softening is %.2g of the median", p->neighbour[1] > 0 ? p->softening / p->neighbour[1] : 0);
  if (p->softening > 0 && physics_softening(p) > 0) fprintf(out, ", %.2g suits them", physics_softening(p));
  fprintf(out, "\nvelocities          dispersion %.4g%s, of the centre of mass %.4g;\n"
          "                    virial ratio 2 T / |W| %.3g\n", p->v_rms,
          in_units(p->v_rms, p->km_s, "km/s", text), physics_bulk(p), p->potential != 0 ? -2 * p->kinetic / p->potential : 0);
  fprintf(out, "masses              %.3g in all, of particles %.3g to %.3g;\n"
          "                    the heaviest (id %llu) has %.2g %%\n", p->mass, p->mass_min,
          p->mass_max, (unsigned long long)p->heaviest, p->mass > 0 ? 100 * p->mass_max / p->mass : 0);
  if (p->massless > 0)
    fprintf(out, "test particles      %.0f of %.0f particles have no mass: they pull on nothing, and no number above counts them\n", p->massless,
            p->particles);
  if (dynamical > 0 && !p->comoving)
    fprintf(out, "times               dynamical time %.3g%s, crossing time %.3g%s;\n"
            "                    the run lasts %.3g dynamical times\n", dynamical,
            in_units(dynamical, p->gyr, "Gyr", text), crossing, in_units(crossing, p->gyr, "Gyr", other), (p->end - p->begin) / dynamical);
  fprintf(out, "soft steps          of %.3g%s%s, %.0f to the end\n", p->soft_step, in_units(p->soft_step, p->gyr, "Gyr", text),
          p->comoving ? " (supercomoving time)" : "", physics_soft_steps(p));
  if (!p->hermite) print_levels(p, out);
  if (seconds <= 0) return;
  fprintf(out, "seconds             ");
  print_duration(p->sync_seconds, out);
  fprintf(out, " for all forces, ");
  print_duration(seconds, out);
  fprintf(out, " for a soft step (%s),\n%20s", p->measured_step > 0 ? "measured" : "predicted", "");
  print_duration(physics_run_seconds(p), out);
  fprintf(out, " for the run, %s\n", p->per_time > 0 ? "with the soft steps that are expected" : "if steps stay as they are");
}
