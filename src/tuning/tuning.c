/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "tuning/tuning.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

/* One build in TIMED_BUILDS is timed; a prime number, since block steps repeat with powers of two. */
enum { TIMED_BUILDS = 13 };
/* Smallest width that is tried, relative to the root cube. */
#define WIDTH_MIN (1.0 / 4096)
/* Width relative to the root cube where nothing is tuned. Members of wider groups need very different lists, and a few
 * such groups can determine the time of a whole walk. */
#define WIDTH_UNTUNED (1.0 / 8)

static const char *const tuned_names[] = {"rebuild", "group_width"};

void tuning_open(struct tuning *tuning, const struct params *par, int by_default, int ranks, int rank)
{
  int on = par->Tuning == TUNING_ON || (par->Tuning == TUNING_AUTO && by_default);
  memset(tuning, 0, sizeof *tuning);
  tuning->given_width = par->MaxGroupWidth;
  tuning->tunes_width = on && !(tuning->given_width > 0);
  tuning->tunes_rebuild =
      on && par->RebuildInterval == 0 && params_mode(par) != MODE_HYBRID && !params_shared(par) && ranks == 1;
  tuning->waits = tuning->tunes_rebuild && params_mode(par) == MODE_TREE;
  tuning->log = par->TunerLog && rank == 0;
  rebuild_open(&tuning->rebuild, 0, 0);
}

void tuning_close(struct tuning *tuning)
{
  memory_free(tuning->row);
  tuning->row = NULL;
}

static void log_row(struct tuning *tuning, const struct tuning_row *row)
{
  if (!tuning->log) return;
  if (tuning->rows == tuning->capacity) {
    tuning->capacity = 2 * tuning->capacity + 64;
    tuning->row = memory_resize("tuner log", tuning->row, sizeof *tuning->row * (size_t)tuning->capacity);
  }
  tuning->row[tuning->rows++] = *row;
}

void tuning_now(struct tuning *tuning, long long step, double time)
{
  tuning->step = step;
  tuning->time = time;
}

/* --- walks ------------------------------------------------------------------------------------------------------- */

/* Add a walk to the sums by which the present width is compared with the first one of the search. */
static void add_walk(struct tuning *tuning, int kind, double targets, double seconds)
{
  if (!(targets > 0) || !(seconds > 0) || !tuning->width_open) return;
  if (brent_begins(&tuning->width)) {
    tuning->seconds[kind] += seconds;
    tuning->targets[kind] += targets;
  }
  if (!(tuning->targets[kind] > 0)) return; /* this kind was not walked with the first width */
  tuning->measured += seconds;
  tuning->expected += targets * tuning->seconds[kind] / tuning->targets[kind];
}

void tuning_walked(struct tuning *tuning, double age, int kind, double targets, double seconds, int ages)
{
  if (tuning->tunes_width) add_walk(tuning, kind, targets, seconds / growth_at(&tuning->rebuild.model, age));
  if (tuning->tunes_rebuild && ages && kind != KIND_ALL) rebuild_walked(&tuning->rebuild, age, kind, targets, seconds);
}

/* --- the width of groups ----------------------------------------------------------------------------------------- */

/* Record the cost of the present width. A new search begins with new reference costs. */
static void record_width(struct tuning *tuning)
{
  struct tuning_row row = {
      .what = TUNED_WIDTH, .step = tuning->step, .time = tuning->time, .stage = brent_stage(&tuning->width)};
  row.value = brent_next(&tuning->width);
  int began = brent_begins(&tuning->width);
  row.measured = began ? 1 : tuning->measured / tuning->expected;
  row.predicted = began ? 1 : tuning->width.fx;
  brent_measured(&tuning->width, row.measured);
  row.best = exp(tuning->width.x);
  log_row(tuning, &row);
  if (brent_begins(&tuning->width) && !began) {
    memset(tuning->seconds, 0, sizeof tuning->seconds);
    memset(tuning->targets, 0, sizeof tuning->targets);
  }
}

double tuning_width(double given, double side) { return given > 0 ? given : WIDTH_UNTUNED * side; }

void tuning_groups(struct tuning *tuning, const struct backend *be, struct device *d, double side)
{
  if (!tuning->tunes_width || (tuning->waits && !tuning->rebuild.model.known)) {
    be->tree.tune(d, TUNABLE_GROUP_WIDTH, tuning_width(tuning->given_width, side));
    return;
  }
  if (!tuning->width_open) {
    brent_open(&tuning->width, WIDTH_MIN * side, side, WIDTH_UNTUNED * side);
    tuning->width_open = 1;
  } else if (tuning->expected > 0) {
    record_width(tuning);
  }
  tuning->measured = tuning->expected = 0;
  be->tree.tune(d, TUNABLE_GROUP_WIDTH, brent_next(&tuning->width));
}

/* --- builds ------------------------------------------------------------------------------------------------------ */

void tuning_built(struct tuning *tuning, double seconds, int at_end, double first)
{
  struct rebuild_tuner *r = &tuning->rebuild;
  if (!tuning->tunes_rebuild) return;
  if (!(r->first > 0)) r->first = first;
  if (at_end && tuning->timed) seconds = 0; /* used only until builds within soft steps are measured */
  tuning->timed += !at_end && seconds > 0;
  rebuild_built(r, seconds);
  if (r->builds < 2) return;
  struct tuning_row row = {
      .what = TUNED_REBUILD, .step = tuning->step, .time = tuning->time, .stage = at_end, .value = r->last.age};
  row.best = r->last.interval;
  row.predicted = r->last.unknown ? 0 : r->last.predicted;
  row.measured = r->last.measured;
  row.rebuild = r->last;
  log_row(tuning, &row);
}

int tuning_times(const struct tuning *tuning)
{
  return tuning->tunes_rebuild && (tuning->timed < TUNER_BUILDS || tuning->rebuild.builds % TIMED_BUILDS == 0);
}

int tuning_due(struct tuning *tuning, double age, double rest, int kind)
{
  return tuning->tunes_rebuild && rebuild_due(&tuning->rebuild, age, rest, kind);
}

/* --- the table --------------------------------------------------------------------------------------------------- */

void tuning_header(FILE *out)
{
  fprintf(out, "# of rank 0\nstep,time,tuner,stage,value,best,predicted,measured,fresh,build,model,b,a");
  for (int k = 0; k < GROWTHS; k++) fprintf(out, ",chi2_%s", growth_names[k]);
  fprintf(out, ",points\n");
}

static void write_rebuild(const struct tuning_row *row, FILE *out)
{
  const struct rebuild_outcome *o = &row->rebuild;
  const struct growth_model *m = &o->model;
  fprintf(out, "%s,%.6g,", row->stage ? "anyway" : "due", row->value);
  if (row->best > 0) fprintf(out, "%.6g", row->best);
  if (row->predicted > 0) fprintf(out, ",%.6g", row->predicted);
  else fputc(',', out);
  fprintf(out, ",%.6g,", row->measured);
  if (row->predicted > 0) fprintf(out, "%.6g", o->fresh);
  fprintf(out, ",%.6g,", o->build);
  if (m->known)
    fprintf(out, "%s,%.6g,%.6g,%.3g,%.3g,%.3g", growth_names[m->kind], m->b, m->a, m->chi2[0], m->chi2[1], m->chi2[2]);
  else fprintf(out, ",,,,,");
  fprintf(out, ",%d\n", o->points);
}

void tuning_write(struct tuning *tuning, FILE *out)
{
  static const char *const stages[] = {"first", "search", "rest"};
  for (long long i = 0; out && i < tuning->rows; i++) {
    const struct tuning_row *row = &tuning->row[i];
    fprintf(out, "%lld,%.15g,%s,", row->step, row->time, tuned_names[row->what]);
    if (row->what == TUNED_REBUILD) write_rebuild(row, out);
    else
      fprintf(out, "%s,%.6g,%.6g,%.4f,%.4f,,,,,,,,,\n", stages[row->stage], row->value, row->best, row->predicted,
              row->measured);
  }
  tuning->rows = 0;
}

void tuning_sum_up(const struct tuning *tuning, FILE *out)
{
  const struct rebuild_tuner *r = &tuning->rebuild;
  if (tuning->tunes_rebuild && r->model.known)
    fprintf(out, "tuning: best interval between builds %.4g of time (%s growth); %lld builds\n", r->best,
            growth_names[r->model.kind], r->builds);
  if (tuning->tunes_width && tuning->width.searches)
    fprintf(out, "tuning: groups at most %.4g wide after %d searches\n", exp(tuning->width.x), tuning->width.searches);
}
