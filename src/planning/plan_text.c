/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "planning/plan_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gravity/units.h"
#include "run/outputs.h"

static double ranks_per_node(const struct planning *planning, const struct machine *machine)
{
  return fmin(planning->ranks, machine->network.ranks_per_node);
}

static double nodes_of(const struct planning *planning, const struct machine *machine)
{
  return ceil(planning->ranks / machine->network.ranks_per_node);
}

void plan_text_begin(const struct planning *planning, const struct params *params, const struct machine *machine,
                     const struct particles *pilot)
{
  char text[QUANTITY_TEXT];
  double softening = params_softening(params, NULL), largest = softening;
  for (int t = 0; t < PARTICLE_TYPES; t++) largest = fmax(largest, params_softening_of(params, t));
  printf("plan                %.0f particles of %s on %d rank%s", planning->particles, planning->source.name,
         planning->ranks, planning->ranks > 1 ? "s" : "");
  if (machine)
    printf(",\n                    %.0f node%s of %s", nodes_of(planning, machine),
           nodes_of(planning, machine) > 1 ? "s" : "", machine->name);
  printf("\n                    from time %g to %s\n", planning->begin,
         params_time_text(params, params->TimeMax, text));
  printf("softening           %.4g", softening);
  if (largest > softening) printf(" to %.4g, by type", largest);
  printf("%s\n", planning->softening_is_given ? ""
                 : planning->parameters       ? " (default)"
                                              : ", which suits so many particles: set it in the parameter file");
  printf("pilots              ");
  if (pilot[0].n > 0) printf("%lld and ", (long long)pilot[0].n);
  printf("%lld particles%s\n", (long long)pilot[1].n, pilot[0].n > 0 ? "" : ", the system itself");
}

/* ", of which the node has 512 GB" and whether it suffices. */
static void print_against(double needed, double there, const char *what)
{
  char text[16];
  if (there > 0)
    printf("; %s has %s%s", what, outputs_bytes(there, text), needed > there ? ": TOO LITTLE, take more ranks" : "");
  putchar('\n');
}

void plan_text_storage(const struct planning *planning, const struct storage *storage, const struct machine *machine,
                       const char *scheme)
{
  char one[16], all[16], fixed[16];
  double host = need_total(&storage->host);
  printf("memory of a rank    %s on its host, for %s steps: %s of the process, the rest %.0f bytes a particle",
         outputs_bytes(host, one), scheme, outputs_bytes(storage->host.fixed, fixed),
         (storage->host.particles + storage->host.lets) * planning->ranks / planning->particles);
  if (storage->most > host)
    printf(";\n                    at most %s in systems as concentrated as a Hernquist sphere",
           outputs_bytes(storage->most, all));
  if (machine) {
    double ranks = ranks_per_node(planning, machine);
    printf(";\n                    of a node %s", outputs_bytes(ranks * host, all));
    print_against(ranks * host, machine->node_memory, "it");
  } else putchar('\n');
  if (storage->device > 0) {
    printf("device memory       %s a rank", outputs_bytes(storage->device, one));
    print_against(storage->device, machine ? machine->device_memory : 0, "a device");
  }
  printf("a snapshot          %s; %.0f of them, the first and the last included: %s\n",
         outputs_bytes(storage->snapshot, one), storage->snapshots,
         outputs_bytes(storage->snapshot * storage->snapshots, all));
  printf("a checkpoint        %s; at most %.0f at a time: %s\n", outputs_bytes(storage->checkpoint, one),
         storage->checkpoints, outputs_bytes(storage->checkpoint * storage->checkpoints, all));
  printf("disk                %s in all\n",
         outputs_bytes(storage->snapshot * storage->snapshots + storage->checkpoint * storage->checkpoints, all));
}

static const char *duration(double seconds, char text[32])
{
  if (seconds < 600) snprintf(text, 32, "%.3g s", seconds);
  else if (seconds < 3e5) snprintf(text, 32, "%.3g h", seconds / 3600);
  else snprintf(text, 32, "%.3g days", seconds / 86400);
  return text;
}

/* By which law each number is extrapolated from the pilots. */
static void print_laws(const struct planning *planning, const struct machine *machine,
                       const struct seconds_planned *best, const struct particles *pilot)
{
  if (pilot[0].n == 0) {
    printf("laws                none: interactions, steps and messages are those of the system itself\n");
  } else {
    printf("laws                soft steps and block levels: the rules of a run of so many particles, distances as "
           "N^(-1/3);\n"
           "                    interactions (%.0f of a particle in a full force): a small power of N;\n",
           best->full_pairs);
    if (planning->ranks > 1)
      printf("                    bytes of locally essential trees: (N/P)^%.2f;\n", best->let_power);
    printf("                    seconds: extrapolated from %.3g to %.3g particles a rank by the rates of the machine "
           "file\n",
           (double)pilot[1].n / planning->ranks, planning->particles / planning->ranks);
  }
  if (machine->device == DEVICE_gpu)
    printf("                    where no GPU is at hand, interactions are two thirds of those of a CPU\n"
           "compared            with runs on one GPU: shared steps and a hybrid within 10 %%, block steps of a galaxy\n"
           "                    within 22 %%, those of a star cluster took half as long again (doc/scaling.md)\n");
}

void plan_text_seconds(const struct planning *planning, const struct params *params, const struct machine *machine,
                       const struct seconds_planned *planned, int count, int best, const struct particles *pilot)
{
  char text[QUANTITY_TEXT], time[32];
  double nodes = nodes_of(planning, machine);
  printf("\n%-8s %12s %12s %8s %14s %14s %12s\n", "steps", "soft step", "soft steps", "levels", "s a soft step", "run",
         "node hours");
  for (int k = 0; k < count; k++)
    printf("%-8s %12.4g %12.0f %8d %14.4g %14s %12.4g\n", planned[k].scheme, planned[k].soft_step, planned[k].steps,
           planned[k].levels, event_total(planned[k].times.critical), duration(planned[k].seconds, time),
           nodes * planned[k].seconds / 3600);
  putchar('\n');
  const struct seconds_planned *chosen = &planned[best];
  printf("run                 %s and %.4g node hours by %s steps, the fastest; soft steps of %s\n",
         duration(chosen->seconds, time), nodes * chosen->seconds / 3600, chosen->scheme,
         params_time_text(params, chosen->soft_step, text));
  printf("                    without the writing of files\n");
  print_laws(planning, machine, chosen, pilot);
}
