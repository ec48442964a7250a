/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "run/terminal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "run/run_parts.h"
#include "settings/settings.h"
#include "step/effects.h"
#include "step/energies.h"
#include "step/timed.h"

#define ROUNDING 1e-6 /* of the energy, where a pair is all there is */

/* The numbers of a row of energy.csv that these errors need. */
enum {
  ROW_MOMENTUM = 4,
  ROW_ANGULAR = 7,
  ROW_LEAST = 13,
  ROW_REMOVED = ROW_LEAST + 2 * PARTICLE_TYPES,
  ROW_SCALES = ROW_REMOVED + 3,
  ROW_LENGTH = ROW_SCALES + 2
};

/* The largest changes of momentum and of angular momentum from the first row of energy.csv on, earlier jobs included,
 * and the largest sums m |v| and m |r x v| of these rows, 0 where none has them. Returns the number of rows; 0: none,
 * or the table cannot be read. */
static int changes(const struct params *par, double change[2], double scale[2])
{
  char path[PARAM_TEXT + 64], line[4096];
  double first[ROW_LENGTH];
  int rows = 0;
  snprintf(path, sizeof path, "%s/energy.csv", par->OutputDir);
  FILE *table = file_stream(path, "r");
  if (!table) return 0;
  change[0] = change[1] = scale[0] = scale[1] = 0;
  while (fgets(line, sizeof line, table)) {
    char *at = line;
    double value[ROW_LENGTH] = {0}; /* rows of older versions lack the last columns */
    int n = 0;
    for (char *end; n < ROW_LENGTH; n++, at = *end == ',' ? end + 1 : end) {
      value[n] = strtod(at, &end);
      if (end == at) break;
    }
    if (n < ROW_LEAST) continue; /* the header, or a comment */
    if (rows++ == 0) memcpy(first, value, sizeof first);
    double d[2] = {0, 0};
    for (int k = 0; k < 3; k++) {
      d[0] += pow(value[ROW_MOMENTUM + k] - first[ROW_MOMENTUM + k], 2);
      d[1] += pow(value[ROW_ANGULAR + k] - first[ROW_ANGULAR + k], 2);
    }
    change[0] = fmax(change[0], sqrt(d[0]) + fabs(value[ROW_REMOVED]));
    change[1] = fmax(change[1], sqrt(d[1]));
    for (int k = 0; k < 2; k++) scale[k] = fmax(scale[k], value[ROW_SCALES + k]);
  }
  fclose(table);
  return rows;
}

void kept_inner_energy(struct run *run, struct inner_energy *inner)
{
  struct sim *sim = &run->sim;
  TIMED(sim, PHASE_diagnostics,
        inner_energy_measure(sim->comm, sim->par, sim->be->view(sim->dev), sim->force.gravity, inner));
}

/* The error and the promise in units of the energy of pairs as their centres of mass, where that within them is the
 * larger part. */
static void print_outer(const struct run *run, const struct inner_energy *inner, double promised)
{
  double within = inner->kinetic + inner->potential, outer = energies_total(&run->sim) - within,
         factor = outer != 0 ? fabs(run->logs.error.first / outer) : 0;
  if (!(fabs(within) > fabs(outer)) || !(factor > 0 && factor < 1 / ROUNDING) || isnan(logs_worst(&run->logs))) return;
  printf("      most of the energy is within %.0f bound %s; of that of all as centres of mass,\n"
         "      %.4g, the error is %.1e",
         inner->systems, inner->systems == 1 ? "pair or hierarchy" : "pairs or hierarchies", outer,
         factor * logs_worst(&run->logs));
  if (promised > 0) printf(", and %.1e is promised", factor * promised);
  putchar('\n');
}

void kept_print(struct run *run, const struct inner_energy *inner)
{
  const struct sim *sim = &run->sim;
  struct promise *promise = &run->logs.promise;
  char error[32], promised[160];
  double change[2], scale[2];
  int rows = changes(sim->par, change, scale);
  if (rows < 2) {
    printf("kept: unknown, energy.csv has %d row%s (TimeBetStatistics)\n", rows, plural(rows));
    return;
  }
  const char *energy =
      isnan(logs_worst(&run->logs)) ? "unknown" : logs_error_text(logs_worst(&run->logs), 1, error, sizeof error);
  printf("kept: energy to %s%s", energy, effects_have(sim, EFFECT_COMOVING) ? " of kinetic plus potential energy" : "");
  if (effects_have(sim, EFFECT_IN_FIELD)) printf("; momentum and angular momentum change in the external field");
  else if (!effects_have(sim, EFFECT_COMOVING) && scale[0] > 0 && scale[1] > 0) {
    printf(", momentum to %.1e sum m|v|, angular momentum to %.1e sum m|r x v|", change[0] / scale[0],
           change[1] / scale[1]);
    promise_note(promise, &promise->momentum, change[0] / scale[0], sim->time);
  }
  printf("\n      %s\n", promise_text(promise, &sim->settings->asked, promise_now(promise), promised));
  print_outer(run, inner, promise_now(promise));
}

/* What to change where an error was larger than promised: "a smaller Accuracy (about 3e-06)". */
static const char *advice(const struct run *run, const struct kept *kept, char text[200])
{
  const struct params *asked = &run->sim.settings->asked;
  const char *name = asked->EnergyError > 0 ? "EnergyError" : "Accuracy";
  double wanted = run->logs.promise.wanted;
  if (wanted > PROMISE_WANTED_MIN)
    snprintf(text, 200, "give a smaller %s (about %.1g)", name,
             fmax(PROMISE_WANTED_MIN, wanted * kept->promised / kept->error));
  else snprintf(text, 200, "%s has no smaller value of effect: give a smaller Eta and ErrTolForceAcc", name);
  return text;
}

void kept_report_missed(const struct run *run, const char *what, const char *unit, const struct kept *kept)
{
  const struct params *asked = &run->sim.settings->asked;
  char promised[160], change[200];
  if (!(kept->promised > 0 && kept->error > kept->promised)) return;
  int much = promise_missed(kept);
  fprintf(much ? stderr : stdout,
          "%s%s was off by %.1e%s at time %g, %.3g times as much as promised (%s by then): %s%s\n",
          much ? "espalier: warning: " : "note: ", what, kept->error, unit, kept->time, kept->error / kept->promised,
          promise_text(&run->logs.promise, asked, kept->promised, promised), advice(run, kept, change),
          much ? ", or see doc/accuracy.md" : "");
}
