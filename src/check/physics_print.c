/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include <math.h>

#include "check/physics.h"
#include "gravity/units.h"

/* " (1.2 kpc)" where units are physical; `cgs`: the unit of x, 0: it has none. Returns `text`. */
static const char *in_units(double x, const char *measure, double cgs, char text[QUANTITY_TEXT + 8])
{
  char suited[QUANTITY_TEXT];
  text[0] = 0;
  if (cgs > 0) snprintf(text, QUANTITY_TEXT + 8, " (%s)", quantity_text(measure, x * cgs, suited));
  return text;
}

#define LOADED 1.25 /* clock over processor time from which on a machine is called busy */
enum { LEVELS_OF_A_LINE = 6 };

static void print_levels(const struct physics *physics, FILE *out)
{
  int deepest = 0;
  for (int l = 0; l < PHYSICS_LEVELS; l++)
    if (physics->steps.level[l]) deepest = l;
  fprintf(out, "substeps            about %.0f; particles with time steps of the soft step / 2^level:\n%19s",
          physics_substeps(physics), "");
  for (int l = 0; l <= deepest; l++)
    if (physics->steps.level[l])
      fprintf(out, " %d: %lld%s", l, (long long)physics->steps.level[l],
              l == deepest                                  ? ""
              : l % LEVELS_OF_A_LINE < LEVELS_OF_A_LINE - 1 ? ","
                                                            : ",\n                   ");
  fputc('\n', out);
}

static void print_duration(double seconds, FILE *out)
{
  if (seconds < 1e3) fprintf(out, "%.3g s", seconds);
  else if (seconds < 3e5) fprintf(out, "%.1f h", seconds / 3600);
  else fprintf(out, "%.3g days", seconds / 86400);
}

/* Where several types have mass. */
static void print_components(const struct physics *physics, FILE *out)
{
  int count = 0, line = 0;
  char text[QUANTITY_TEXT + 8];
  for (int t = 0; t < PHYSICS_COMPONENTS; t++) count += physics->component[t].half > 0;
  for (int t = 0; t < PHYSICS_COMPONENTS && count > 1; t++) {
    const struct component *one = &physics->component[t];
    double relaxation = physics_relaxation_time(physics, one);
    if (!(one->half > 0)) continue;
    fprintf(out, "%-19s type %d: half of %.0f within %.3g of its centre", line++ ? "" : "components", t, one->particles,
            one->half);
    if (one->softening > 0) fprintf(out, ", softening %.2g of it", one->softening / one->half);
    if (relaxation > 0 && !physics->run.comoving)
      fprintf(out, ";\n%20srelaxation time %.2g%s", "", relaxation,
              in_units(relaxation, "time", GYR_S * physics->units.gyr, text));
    double heating = physics_heating_time(physics, one);
    if (heating > 0 && !physics->run.comoving)
      fprintf(out, ", heating time of the disc %.2g%s", heating,
              in_units(heating, "time", GYR_S * physics->units.gyr, text));
    fputc('\n', out);
  }
}

static void print_velocities(const struct physics *physics, FILE *out)
{
  char text[QUANTITY_TEXT + 8], other[QUANTITY_TEXT + 8];
  double dispersion = physics_dispersion(physics), unit = 1e5 * physics->units.km_s;
  fprintf(out, "\nvelocities          dispersion %.4g%s, ", dispersion, in_units(dispersion, "velocity", unit, text));
  if (physics_has_pairs(physics))
    fprintf(out, "of pairs as centres of mass, %.4g%s of all,\n%19s ", physics->motion.v_rms,
            in_units(physics->motion.v_rms, "velocity", unit, other), "");
  fprintf(out, "of the centre of mass %.4g;\n", physics_bulk(physics));
}

/* How far the external field leaves particles bound. */
static void print_tide(const struct physics *physics, FILE *out)
{
  char text[QUANTITY_TEXT + 8];
  double radius = physics_jacobi_radius(physics);
  if (!(radius > 0)) return;
  fprintf(out, "tide                the Jacobi radius in the external field is %.4g%s\n", radius,
          in_units(radius, "length", KPC_CM * physics->units.kpc, text));
}

/* The virial ratio, and what pairs have of the energies. */
static void print_virial(const struct physics *physics, FILE *out)
{
  const struct physics_pairs *pairs = &physics->pairs;
  double inner = pairs->kinetic + pairs->potential, outer = physics->motion.kinetic + physics->motion.potential - inner;
  fprintf(out, "%19s virial ratio 2 T / |W| %.3g", "", physics_virial(physics));
  if (!physics_has_pairs(physics)) {
    fputc('\n', out);
    return;
  }
  fprintf(out,
          ", of %.0f bound %s as centres of mass;\n"
          "%19s %.3g with the motion within them\n"
          "pairs               energy within them %.4g, of all as centres of mass %.4g\n",
          pairs->systems, pairs->systems == 1 ? "pair or hierarchy" : "pairs or hierarchies", "",
          -2 * physics->motion.kinetic / physics->motion.potential, inner, outer);
  if (fabs(inner) > fabs(outer) && outer != 0)
    fprintf(out,
            "%19s the former dominates: errors of the energy, and promises, are relative to the sum;\n"
            "%19s 1e-05 of it is %.1e of the energy as centres of mass\n",
            "", "", 1e-5 * fabs((inner + outer) / outer));
}

void physics_print(const struct physics *physics, FILE *out)
{
  char text[QUANTITY_TEXT + 8], other[QUANTITY_TEXT + 8];
  double dynamical = physics_dynamical_time(physics), crossing = physics_crossing_time(physics),
         seconds = physics_step_seconds(physics);
  fprintf(out,
          "size                half of the particles are within %.4g%s of (%.4g, %.4g, %.4g),\n"
          "                    90 %% within %.4g\n",
          physics->size.half, in_units(physics->size.half, "length", KPC_CM * physics->units.kpc, text),
          physics->size.centre[0], physics->size.centre[1], physics->size.centre[2], physics->size.most);
  fprintf(out, "neighbours          nearest ones at %.3g, %.3g and %.3g (10, 50 and 90 %%)", physics->size.neighbour[0],
          physics->size.neighbour[1], physics->size.neighbour[2]);
  if (physics->softening.smallest > 0)
    fprintf(out, ";\n                    the %ssoftening is %.2g of the median",
            physics->softening.largest > 0 ? "smallest " : "",
            physics->size.neighbour[1] > 0 ? physics->softening.smallest / physics->size.neighbour[1] : 0);
  if (physics->softening.smallest > 0 && physics_softening(physics) > 0)
    fprintf(out, ", %.2g suits them", physics_softening(physics));
  print_velocities(physics, out);
  print_virial(physics, out);
  print_tide(physics, out);
  fprintf(out,
          "masses              %.3g in all, of particles %.3g to %.3g;\n"
          "                    the heaviest (id %llu) has %.2g %%\n",
          physics->masses.total, physics->masses.smallest, physics->masses.largest,
          (unsigned long long)physics->masses.heaviest,
          physics->masses.total > 0 ? 100 * physics->masses.largest / physics->masses.total : 0);
  if (physics->masses.massless > 0)
    fprintf(out,
            "test particles      %.0f of %.0f particles have no mass: they pull on nothing, and no number above counts "
            "them\n",
            physics->masses.massless, physics->masses.particles);
  print_components(physics, out);
  if (dynamical > 0 && !physics->run.comoving)
    fprintf(out,
            "times               dynamical time %.3g%s, crossing time %.3g%s;\n"
            "                    the run lasts %.3g dynamical times\n",
            dynamical, in_units(dynamical, "time", GYR_S * physics->units.gyr, text), crossing,
            in_units(crossing, "time", GYR_S * physics->units.gyr, other),
            (physics->run.end - physics->run.begin) / dynamical);
  fprintf(out, "soft steps          of %.3g%s%s, %.0f to the end\n", physics->steps.soft,
          in_units(physics->steps.soft, "time", GYR_S * physics->units.gyr, text),
          physics->run.comoving ? " (supercomoving time)" : "", physics_soft_steps(physics));
  if (!physics->steps.lists) print_levels(physics, out);
  if (seconds <= 0) return;
  fprintf(out, "seconds             ");
  print_duration(physics->seconds.synchronisation, out);
  fprintf(out, " for all forces, ");
  print_duration(seconds, out);
  fprintf(out, " for a soft step (%s),\n%20s", physics->seconds.soft_step > 0 ? "measured" : "predicted", "");
  print_duration(physics_run_seconds(physics), out);
  fprintf(out, " for the run, %s\n",
          physics->seconds.per_time > 0 ? "with the soft steps that are expected" : "if steps stay as they are");
  if (physics->seconds.load > LOADED)
    fprintf(out,
            "%19s of processor time: other programs have these processors too, and by the clock it\n"
            "%19s takes %.1f times as long at present\n",
            "", "", physics->seconds.load);
}
