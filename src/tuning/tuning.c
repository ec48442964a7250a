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
/* Width relative to the root cube where nothing is tuned. Members of wider groups need very different lists, and a few such groups can
 * determine the time of a whole walk. */
#define WIDTH_UNTUNED (1.0 / 8)

static const char *const tuned_names[] = {"rebuild", "group_width"};

void tuning_open(struct tuning *t, const struct params *par, int by_default, int ranks, int rank)
{
  int on = par->Tuning == TUNING_ON || (par->Tuning == TUNING_AUTO && by_default);
  memset(t, 0, sizeof *t);
  t->given_width = par->MaxGroupWidth;
  t->tunes_width = on && !(t->given_width > 0);
  t->tunes_rebuild = on && par->RebuildInterval == 0 && params_mode(par) != MODE_HYBRID && !params_shared(par) && ranks == 1;
  t->waits = t->tunes_rebuild && params_mode(par) == MODE_TREE;
  t->log = par->TunerLog && rank == 0;
  rebuild_open(&t->rebuild, 0, 0);
}

void tuning_close(struct tuning *t)
{
  memory_free(t->row);
  t->row = NULL;
}

static void log_row(struct tuning *t, const struct tuning_row *row)
{
  if (!t->log) return;
  if (t->rows == t->capacity) {
    t->capacity = 2 * t->capacity + 64;
    t->row = memory_resize("tuner log", t->row, sizeof *t->row * (size_t)t->capacity);
  }
  t->row[t->rows++] = *row;
}

void tuning_now(struct tuning *t, long long step, double time)
{
  t->step = step;
  t->time = time;
}

/* --- walks ------------------------------------------------------------------------------------------------------- */

/* Add a walk to the sums by which the present width is compared with the first one of the search. */
static void add_walk(struct tuning *t, int kind, double targets, double seconds)
{
  if (!(targets > 0) || !(seconds > 0) || !t->width_open) return;
  if (brent_begins(&t->width)) {
    t->seconds[kind] += seconds;
    t->targets[kind] += targets;
  }
  if (!(t->targets[kind] > 0)) return;   /* this kind was not walked with the first width */
  t->measured += seconds;
  t->expected += targets * t->seconds[kind] / t->targets[kind];
}

void tuning_walked(struct tuning *t, double age, int kind, double targets, double seconds, int ages)
{
  if (t->tunes_width) add_walk(t, kind, targets, seconds / growth_at(&t->rebuild.model, age));
  if (t->tunes_rebuild && ages && kind != KIND_ALL) rebuild_walked(&t->rebuild, age, kind, targets, seconds);
}

/* --- the width of groups ----------------------------------------------------------------------------------------- */

/* Record the cost of the present width. A new search begins with new reference costs. */
static void record_width(struct tuning *t)
{
  struct tuning_row row = {.what = TUNED_WIDTH, .step = t->step, .time = t->time, .stage = brent_stage(&t->width)};
  row.value = brent_next(&t->width);
  int began = brent_begins(&t->width);
  row.measured = began ? 1 : t->measured / t->expected;
  row.predicted = began ? 1 : t->width.fx;
  brent_measured(&t->width, row.measured);
  row.best = exp(t->width.x);
  log_row(t, &row);
  if (brent_begins(&t->width) && !began) {
    memset(t->seconds, 0, sizeof t->seconds);
    memset(t->targets, 0, sizeof t->targets);
  }
}

double tuning_width(double given, double side) { return given > 0 ? given : WIDTH_UNTUNED * side; }

void tuning_groups(struct tuning *t, const struct backend *be, struct device *d, double side)
{
  if (!t->tunes_width || (t->waits && !t->rebuild.model.known)) {
    be->tune(d, TUNABLE_GROUP_WIDTH, tuning_width(t->given_width, side));
    return;
  }
  if (!t->width_open) {
    brent_open(&t->width, WIDTH_MIN * side, side, WIDTH_UNTUNED * side);
    t->width_open = 1;
  } else if (t->expected > 0) {
    record_width(t);
  }
  t->measured = t->expected = 0;
  be->tune(d, TUNABLE_GROUP_WIDTH, brent_next(&t->width));
}

/* --- builds ------------------------------------------------------------------------------------------------------ */

void tuning_built(struct tuning *t, double seconds, int at_end, double first)
{
  struct rebuild_tuner *r = &t->rebuild;
  if (!t->tunes_rebuild) return;
  if (!(r->first > 0)) r->first = first;
  if (at_end && t->timed) seconds = 0;   /* used only until builds within soft steps are measured */
  t->timed += !at_end && seconds > 0;
  rebuild_built(r, seconds);
  if (r->builds < 2) return;
  struct tuning_row row = {.what = TUNED_REBUILD, .step = t->step, .time = t->time, .stage = at_end, .value = r->last.age};
  row.best = r->last.interval;
  row.predicted = r->last.unknown ? 0 : r->last.predicted;
  row.measured = r->last.measured;
  row.rebuild = r->last;
  log_row(t, &row);
}

int tuning_times(const struct tuning *t)
{
  return t->tunes_rebuild && (t->timed < TUNER_BUILDS || t->rebuild.builds % TIMED_BUILDS == 0);
}

int tuning_due(struct tuning *t, double age, double rest, int kind)
{
  return t->tunes_rebuild && rebuild_due(&t->rebuild, age, rest, kind);
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
  else
    fprintf(out, ",,,,,");
  fprintf(out, ",%d\n", o->points);
}

void tuning_write(struct tuning *t, FILE *out)
{
  static const char *const stages[] = {"first", "search", "rest"};
  for (long long i = 0; out && i < t->rows; i++) {
    const struct tuning_row *row = &t->row[i];
    fprintf(out, "%lld,%.15g,%s,", row->step, row->time, tuned_names[row->what]);
    if (row->what == TUNED_REBUILD) write_rebuild(row, out);
    else fprintf(out, "%s,%.6g,%.6g,%.4f,%.4f,,,,,,,,,\n", stages[row->stage], row->value, row->best, row->predicted, row->measured);
  }
  t->rows = 0;
}

void tuning_sum_up(const struct tuning *t, FILE *out)
{
  const struct rebuild_tuner *r = &t->rebuild;
  if (t->tunes_rebuild && r->model.known)
    fprintf(out, "tuning: best interval between builds %.4g of time (%s growth); %lld builds\n", r->best, growth_names[r->model.kind],
            r->builds);
  if (t->tunes_width && t->width.searches)
    fprintf(out, "tuning: groups at most %.4g wide after %d searches\n", exp(t->width.x), t->width.searches);
}
