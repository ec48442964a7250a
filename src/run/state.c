/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "run/state.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/memory.h"
#include "checkpoint/params_changed.h"
#include "run/start.h"
#include "scheme/schemes.h"
#include "settings/settings.h"
#include "step/expansion.h"

enum { ITEMS = 48, OWN = 24 };
#define ROWS "tables"   /* section of rank 0: rows that the disk did not take */

/* --- the lists --------------------------------------------------------------------------------------------------- */

#define WHOLE(name, x) {name, ITEM_WHOLE, 1, &(x)}
#define LONG(name, x) {name, ITEM_LONG, 1, &(x)}
#define REAL(name, x) {name, ITEM_REAL, 1, &(x)}
#define FLOAT(name, x) {name, ITEM_FLOAT, 1, &(x)}

static int list_system(struct sim *s, struct run_state *r, struct item *item)
{
  const struct item all[] = {
      REAL("time", s->time), LONG("step", s->step), REAL("soft_step", s->soft_step), REAL("radius_rule", s->radius_rule),
      REAL("a_floor", s->a_floor), WHOLE("split.on", s->split.on), WHOLE("split.kernel", s->split.kernel), FLOAT("split.r1", s->split.r1),
      FLOAT("split.r2", s->split.r2), FLOAT("split.inverse", s->split.inverse), FLOAT("split.mass_scale", s->split.mass_scale),
      FLOAT("split.largest_mass", s->split.largest_mass),
      REAL("hard.proposed_for", s->lists.proposed_for),
      {"now", ITEM_REAL, offsetof(struct diagnostics, virial) / sizeof(double), &s->now},   /* doubles only */
      REAL("plan.soft_step", r->plan.soft_step), REAL("plan.target", r->plan.target), WHOLE("plan.at_target", r->plan.at_target),
      WHOLE("plan.shared_level", r->plan.shared_level), WHOLE("plan.shared", r->plan.shared),
      WHOLE("plan.measure_radius", r->plan.measure_radius), WHOLE("run.snapshots", r->snapshots),
      WHOLE("run.pending", r->pending), LONG("run.block_steps", r->block_steps),
      REAL("run.particles", r->particles), REAL("run.mass", r->mass),
      REAL("run.checkpoint_seconds", r->checkpoint_seconds)};
  _Static_assert(sizeof all / sizeof *all <= ITEMS, "raise ITEMS");
  _Static_assert(sizeof s->now % sizeof(double) == 0, "struct diagnostics holds doubles only");
  memcpy(item, all, sizeof all);
  return sizeof all / sizeof *all;
}

/* A soft step that is interrupted at a checkpoint tick; substeps.paused is 0 elsewhere. */
static int list_substeps(struct sim *s, struct item *item)
{
  struct substeps *u = &s->substeps;
  const struct item all[] = {WHOLE("substeps.paused", u->paused), WHOLE("substeps.shared", u->shared),
                             WHOLE("schedule.ranks", u->schedule.ranks), WHOLE("schedule.level_max", u->schedule.level_max),
                             WHOLE("schedule.walks_tree", u->schedule.walks_tree),
                             WHOLE("schedule.moment_interval", u->schedule.moment_interval), WHOLE("schedule.builds", u->schedule.builds),
                             LONG("schedule.build_age", u->schedule.build_age), WHOLE("schedule.fast_level", u->schedule.fast_level),
                             WHOLE("schedule.checkpoint_interval", u->schedule.checkpoint_interval),
                             {"lattice", ITEM_REAL, sizeof s->lattice / sizeof(double), &s->lattice}};   /* doubles only */
  _Static_assert(sizeof all / sizeof *all <= ITEMS, "raise ITEMS");
  memcpy(item, all, sizeof all);
  return sizeof all / sizeof *all;
}

static int list_frame(struct sim *s, struct item *item)
{
  struct frame *f = &s->frame;
  const struct item all[] = {{"frame.x0", ITEM_REAL, 3, f->x0}, {"frame.v0", ITEM_REAL, 3, f->v0}, {"frame.v_com", ITEM_REAL, 3, f->v_com},
                             REAL("frame.begin", f->begin)};
  memcpy(item, all, sizeof all);
  return sizeof all / sizeof *all;
}

static int list_expansion(struct sim *s, struct item *item)
{
  struct expansion *e = &s->expansion;
  const struct item all[] = {{"expansion.potential", ITEM_REAL, 3, &e->potential}, {"expansion.correction", ITEM_REAL, 3, &e->correction}};   /* doubles only */
  memcpy(item, all, sizeof all);
  return sizeof all / sizeof *all;
}

static int list_logs(struct logs *l, struct item *item)
{
  const struct item all[] = {REAL("logs.first_energy", l->first_energy), REAL("logs.worst", l->worst),
                             WHOLE("logs.has_energy", l->has_energy),
                             WHOLE("logs.warned_outside", l->warned_outside), WHOLE("logs.warned_late", l->warned_late),
                             WHOLE("logs.warned_level", l->warned_level), WHOLE("logs.warned_lattice", l->warned_lattice),
                             WHOLE("logs.warned_energy", l->warned_energy), WHOLE("logs.warned_soft_step", l->warned_soft_step),
                             WHOLE("logs.h_steps", l->h_steps), REAL("logs.h_sum", l->h_sum), REAL("logs.list_sum", l->list_sum)};
  _Static_assert(sizeof all / sizeof *all <= ITEMS, "raise ITEMS");
  memcpy(item, all, sizeof all);
  return sizeof all / sizeof *all;
}

/* `tables`: the first ones of these; older checkpoints do not know the last ones. */
static int list_tables(struct logs_ends *e, int tables, struct item *item)
{
  const struct item all[] = {{"logs.ends", ITEM_LONG, tables, e->end},
                             {"logs.written", ITEM_LONG, tables, e->written},
                             {"logs.sums", ITEM_LONG, tables * (int)(sizeof *e->sums / sizeof **e->sums), e->sums}};
  memcpy(item, all, sizeof all);
  return sizeof all / sizeof *all;
}

static int list_missing(struct missing *m, struct item *item)
{
  const struct item all[] = {WHOLE("run.missing", m->count), {"run.missing_numbers", ITEM_WHOLE, m->count, m->number},
                             {"run.missing_times", ITEM_REAL, m->count, m->time}};
  memcpy(item, all, sizeof all);
  return sizeof all / sizeof *all;
}

/* The choice of a scheme; Mode, Scheme and R1OverR0 in use are in the list of parameters. */
static int list_choice(struct sim *s, struct item *item)
{
  struct scheme_choice *c = &s->settings->choice;
  struct plan_facts *y = &s->system;
  const struct item all[] = {REAL("system.energy", y->energy), REAL("system.dense", y->dense),
                             REAL("system.distance", y->distance), REAL("system.profile", y->first_profile), REAL("system.change", y->change), WHOLE("choice.made", c->made),
                             WHOLE("choice.trials", c->trials), WHOLE("choice.trial", c->trial), WHOLE("choice.trial_steps", c->trial_steps),
                             {"choice.order", ITEM_WHOLE, CHOICES_COUNT, c->order}, {"choice.factor", ITEM_REAL, CHOICES_COUNT, c->table.factor},
                             {"choice.measured", ITEM_REAL, CHOICES_COUNT, c->measured}, LONG("choice.looked", c->looked),
                             REAL("choice.seconds", c->seconds), REAL("choice.time", c->time)};
  _Static_assert(sizeof all / sizeof *all <= ITEMS, "raise ITEMS");
  memcpy(item, all, sizeof all);
  return sizeof all / sizeof *all;
}

/* What the choice has beside: when the system is looked at again, its costs, and choices of an earlier run. */
static int list_choices(struct sim *s, struct item *item)
{
  struct scheme_choice *c = &s->settings->choice;
  const struct item all[] = {WHOLE("choice.interval", c->interval), WHOLE("choice.why", c->why), REAL("choice.choosing", c->choosing),
                             REAL("choice.tried_seconds", c->tried_seconds), REAL("choice.tried_time", c->tried_time),
                             WHOLE("choice.again", c->again.count), WHOLE("choice.again_next", c->again.next),
                             {"choice.again_step", ITEM_LONG, c->again.count, c->again.step},
                             {"choice.again_scheme", ITEM_WHOLE, c->again.count, c->again.scheme},
                             {"choice.again_why", ITEM_WHOLE, c->again.count, c->again.why}};
  memcpy(item, all, sizeof all);
  return sizeof all / sizeof *all;
}

#define OWN_SECTION(name, x) {name, &(x), sizeof(x)}

/* The quantities of a rank: clocks and counts of the soft step under way, measured rates, state of the tuning. */
static int list_own(struct sim *s, struct section *own)
{
  struct tuning *t = &s->tuning;
  const struct section all[] = {OWN_SECTION("own.counts", s->counts),          OWN_SECTION("own.seconds", s->timer.seconds),
                                OWN_SECTION("own.computed", s->half.computed), OWN_SECTION("own.rest", s->log.rest),
                                OWN_SECTION("own.per_work", s->per_work),      OWN_SECTION("own.planting", s->tree_build_seconds),
                                OWN_SECTION("own.row", s->substeps.row),
                                {"own.cuts", s->domain.x, sizeof *s->domain.x * (uint64_t)(s->comm->size - 1)},
                                OWN_SECTION("own.centre", s->domain.centre)};
  const struct section tuned[] = {OWN_SECTION("tuning.timed", t->timed),     OWN_SECTION("tuning.rebuild", t->rebuild),
                                  OWN_SECTION("tuning.width", t->width),     OWN_SECTION("tuning.width_open", t->width_open),
                                  OWN_SECTION("tuning.seconds", t->seconds), OWN_SECTION("tuning.targets", t->targets),
                                  OWN_SECTION("tuning.measured", t->measured), OWN_SECTION("tuning.expected", t->expected)};
  int n = sizeof all / sizeof *all;
  memcpy(own, all, sizeof all);
  if (!t->tunes_width && !t->tunes_rebuild) return n;
  memcpy(own + n, tuned, sizeof tuned);
  return n + (int)(sizeof tuned / sizeof *tuned);
}

/* --- writing ----------------------------------------------------------------------------------------------------- */

int state_save(struct sim *s, struct logs *l, struct run_state *r, struct fault *f)
{
  struct item item[4 * ITEMS];
  struct section own[OWN];
  struct logs_ends ends;
  long long before = r->block_steps;
  double remembered[REMEMBERED] = {0};
  int tables = LOGS_TABLES;
  char *rows = logs_flush(l, s, &ends);
  r->block_steps += s->log.steps[0] + s->log.steps[1];   /* only the value of rank 0 counts: it writes the manifest */
  int items = list_system(s, r, item);
  items += list_substeps(s, item + items);
  items += list_choice(s, item + items);
  items += list_choices(s, item + items);
  items += list_logs(l, item + items);
  items += list_tables(&ends, LOGS_TABLES, item + items);
  items += list_missing(&r->missing, item + items);
  items += list_frame(s, item + items);
  item[items++] = (struct item){"run.collapsed", ITEM_REAL, 4, r->collapsed};
  item[items++] = (struct item){"run.statistics", ITEM_REAL, 3, &r->statistics};
  item[items++] = (struct item){"run.projections", ITEM_REAL, 2, &r->projections};
  item[items++] = (struct item)REAL("energy.total", s->energy.total);
  item[items++] = (struct item)REAL("energy.scatter", s->energy.scatter);
  item[items++] = (struct item)WHOLE("logs.tables", tables);
  if (s->expansion.on) items += list_expansion(s, item + items);
  int owns = list_own(s, own);
  own[owns++] = (struct section){ROWS, rows, (uint64_t)logs_unwritten(&ends)};
  if (s->be->remember) s->be->remember(s->dev, remembered, 0);
  own[owns++] = (struct section){"device", remembered, sizeof remembered};
  const struct checkpoint_content content = {s->step + 1, s->be->name, item, items, own, owns};
  int status = checkpoint_write(s->comm, s->par, &content, s->be->view(s->dev), f);
  r->block_steps = before;
  memory_free(rows);
  return status;
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

static int same_backend(const struct checkpoint *k, const struct sim *s)
{
  size_t length = 0;
  const char *name = manifest_value(k->text, NULL, "backend", &length);
  return name && length == strlen(s->be->name) && strncmp(name, s->be->name, length) == 0;
}

static void load_own(struct sim *s, const struct checkpoint *k)
{
  double remembered[REMEMBERED] = {0};
  struct section own[OWN], device = {"device", remembered, sizeof remembered};
  checkpoint_own(s->comm, k, own, list_own(s, own));
  if (same_backend(k, s) && checkpoint_own(s->comm, k, &device, 1) && s->be->remember) s->be->remember(s->dev, remembered, 1);
}

/* An entry that older checkpoints do not have. */
static int has(const char *text, const char *name)
{
  size_t length;
  return manifest_value(text, NULL, name, &length) != NULL;
}

static int load_missing(const char *text, struct missing *m, struct fault *f)
{
  struct item item[ITEMS];
  int count = 0;
  const struct item only_count = WHOLE("run.missing", count);
  if (!has(text, "run.missing")) return 0;
  if (items_read(text, &only_count, 1, f)) return -1;
  missing_resize(m, count);
  return items_read(text, item, list_missing(m, item), f);
}

/* How many tables a checkpoint knows: older ones do not say it. */
static int count_tables(const char *text, struct fault *f)
{
  int tables = has(text, "choice.made") ? 7 : 6;
  if (has(text, "logs.tables")) items_read(text, &(const struct item)WHOLE("logs.tables", tables), 1, f);
  if (tables < 0 || tables > LOGS_TABLES) fault_set(f, "the checkpoint has %d tables, of a later version: at most %d were expected", tables, LOGS_TABLES);
  return f->text[0] ? -1 : tables;
}

static int load_ends(const char *text, struct logs_ends *e, struct fault *f)
{
  struct item item[ITEMS];
  int known = has(text, "logs.sums"), tables = count_tables(text, f);
  if (tables < 0) return -1;
  int count = list_tables(e, tables, item);
  memset(e, 0, sizeof *e);
  for (int k = tables; k < LOGS_TABLES; k++) e->end[k] = -1;
  if (items_read(text, item, known ? count : 1, f)) return -1;
  if (!known) memcpy(e->written, e->end, sizeof e->end);
  return 0;
}

/* Whether the checkpoint was written with the same value of a parameter. */
static int same_value(const char *text, const struct params *par, const char *section, const char *name)
{
  char full[64], value[PARAM_TEXT];
  size_t length = 0;
  snprintf(full, sizeof full, "%s:%s", section, name);
  const char *was = manifest_value(text, NULL, full, &length);
  for (int k = 0; k < param_count; k++)
    if (strcmp(param_table[k].name, name) == 0) params_format(par, &param_table[k], value, sizeof value);
  return was && length == strlen(value) && strncmp(was, value, length) == 0;
}

/* Whether domains and schedule of the soft step under way are of another layout of ranks, another backend, or other parameters. */
static int is_foreign(const struct sim *s, const struct checkpoint *k)
{
  return k->ranks != s->comm->size || !same_backend(k, s) || !same_value(k->text, s->par, "Domain", "DomainGrid") ||
         !same_value(k->text, s->par, "Gravity", "RebuildInterval");
}

/* A checkpoint of an older version has no frame: that of its particles is the user's, and the momentum is kept as it is. */
static void load_frame(struct sim *s, const char *text, struct fault *f)
{
  struct item item[ITEMS];
  memcpy(s->frame.v_com, s->now.v_com, sizeof s->frame.v_com);
  if (has(text, "frame.begin")) items_read(text, item, list_frame(s, item), f);
}

/* The choice of a scheme, and what its rules know of the system. An older checkpoint has none: then the scheme in use stays. */
static void resume_choice(struct sim *s, const struct checkpoint *k, struct fault *f)
{
  struct item item[ITEMS];
  sim_note_energy(s);
  if (has(k->text, "choice.made")) items_read(k->text, item, list_choice(s, item), f);
  if (has(k->text, "choice.interval") &&
      items_read(k->text, &(const struct item)WHOLE("choice.again", s->settings->choice.again.count), 1, f) == 0) {
    if (s->settings->choice.again.count < 0 || s->settings->choice.again.count > CHOOSE_AGAIN_MAX) fault_set(f, "%s: choice.again is out of range", k->path);
    else items_read(k->text, item, list_choices(s, item), f);
  }
  settings_resumed(s);
  if (!params_same_steps(k->text, &s->settings->asked)) settings_forget_trials(s);
}

/* A fault where the run ended with this checkpoint because the step of a close pair had collapsed, and its steps would be no shorter now. */
static int check_collapsed(const struct checkpoint *k, struct run_state *r, const struct params *p, struct fault *f)
{
  const double *c = r->collapsed;
  if (!has(k->text, "run.collapsed")) return 0;
  if (items_read(k->text, &(const struct item){"run.collapsed", ITEM_REAL, 4, r->collapsed}, 1, f)) return -1;
  if (c[3] == 0 || !params_same_steps(k->text, p)) return 0;
  return fault_set(f, "%s was written after the step of a close pair had collapsed (time %g, soft step %.0f), and nothing that follows can be "
                   "trusted: restart from an earlier checkpoint (-r NUMBER) with a SoftStep below %.3g, or begin a new run with a small "
                   "Softening; with a SoftStep below %.3g this checkpoint is accepted too, but the energy of the pair remains wrong",
                   k->path, c[1], c[0], c[2], c[2]);
}

int state_load(struct sim *s, struct run_state *r, struct checkpoint *k, const struct comm *c, const struct params *par, const char *which,
               struct fault *f)
{
  struct item item[ITEMS];
  struct particles p;
  struct params found = *par;
  const struct backend *be;
  if (sim_choose_backend(c, par, &be, f) || checkpoint_find(c, par, which, k, f)) return -1;
  particles_init(&p);
  params_adopt_found(k->text, &found);
  if (params_changed(k->text, &found, c->rank == 0, f) == 0 && params_check_found(par, &found, f) == 0) check_collapsed(k, r, &found, f);
  if (comm_agree(c, f) == 0 && checkpoint_particles(c, k, &p, f) == 0) {
    if (sim_open(s, c, &found, be, &p, f) == 0) items_read(k->text, item, list_system(s, r, item), f);
    settings_resume(s, par);
    load_missing(k->text, &r->missing, f);
    scheme_resume(s, params_mode(&found) != MODE_TREE);
    resume_choice(s, k, f);
    load_frame(s, k->text, f);
    external_check_times(&s->external, s->time, fmax(s->time, par->TimeMax), f);
    if (has(k->text, "substeps.paused")) items_read(k->text, item, list_substeps(s, item), f);
    if (has(k->text, "run.statistics"))
      items_read(k->text, &(const struct item){"run.statistics", ITEM_REAL, 3, &r->statistics}, 1, f);
    const struct item energy[] = {REAL("energy.total", s->energy.total), REAL("energy.scatter", s->energy.scatter)};
    if (has(k->text, "energy.scatter")) items_read(k->text, energy, 2, f);
    if (has(k->text, "run.projections"))
      items_read(k->text, &(const struct item){"run.projections", ITEM_REAL, 2, &r->projections}, 1, f);
    if (s->expansion.on) items_read(k->text, item, list_expansion(s, item), f);
    expansion_at(s, s->time);
    if (comm_agree(c, f) == 0) {
      load_own(s, k);
      s->substeps.foreign = is_foreign(s, k);
      for (int part = 0; part < 2; part++)
        for (int end = 0; end < 2; end++) s->half.part[part][end] = s->timer;
      return 0;
    }
    sim_close(s);
  }
  checkpoint_close(k);
  return -1;
}

int state_inspect(const struct checkpoint *k, struct state_facts *facts, struct fault *f)
{
  struct item item[ITEMS];
  struct logs_ends ends;
  struct sim *s = memory_alloc("checkpoint", sizeof *s);   /* memory for the numbers; not an open system */
  struct logs *l = memory_alloc("checkpoint", sizeof *l);
  memset(facts, 0, sizeof *facts);
  if (items_read(k->text, item, list_system(s, &facts->run, item), f) == 0 && load_ends(k->text, &ends, f) == 0)
    items_read(k->text, item, list_logs(l, item), f);
  facts->time = s->time;
  facts->step = s->step;
  memory_free(l);
  memory_free(s);
  return f->text[0] ? -1 : 0;
}

/* The rows of tables that the disk did not take before the checkpoint. Rank 0. Free with memory_free; NULL: none. */
static char *load_rows(const struct checkpoint *k, const struct logs_ends *ends, struct fault *f)
{
  char path[CHECKPOINT_PATH + 32], *rows;
  uint64_t bytes = (uint64_t)logs_unwritten(ends);
  struct sections in;
  snprintf(path, sizeof path, "%s/rank_00000", k->path);
  if (bytes == 0 || sections_open(&in, path, f)) return NULL;
  int s = sections_find(&in, ROWS);
  rows = memory_alloc("tables", bytes);
  if (s < 0) fault_set(f, "%s has no rows of tables, although the manifest counts %llu bytes", path, (unsigned long long)bytes);
  else sections_read(&in, s, 0, rows, bytes, f);
  sections_close(&in);
  return rows;
}

int state_load_logs(struct logs *l, const struct sim *s, const struct checkpoint *k, int overwrite, struct fault *f)
{
  struct item item[ITEMS];
  struct logs unused = {0};
  struct logs_ends ends;
  char *rows = NULL;
  /* The manifest is the same on all ranks. A missing entry is found here, before a table is truncated. */
  if (load_ends(k->text, &ends, f) || items_read(k->text, item, list_logs(&unused, item), f)) return -1;
  if (k->own_folder && !k->own_output) {   /* chosen by its path: the tables of that run are not continued here */
    for (int t = 0; t < LOGS_TABLES; t++) ends.end[t] = -1;
    if (s->comm->rank == 0) logs_check_results(s->par, overwrite, f);
    if (comm_verdict(s->comm, f)) return -1;
  }
  if (s->comm->rank == 0) rows = load_rows(k, &ends, f);
  int bad = comm_verdict(s->comm, f) || (k->own_folder ? logs_resume(l, s, &ends, rows, f) : logs_open(l, s, overwrite, f));
  memory_free(rows);
  if (bad) return -1;
  return items_read(k->text, item, list_logs(l, item), f);
}
