/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "run/state.h"

#include <string.h>

#include "base/memory.h"
#include "checkpoint/params_changed.h"
#include "run/start.h"

enum { ITEMS = 48, OWN = 24 };

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
      FLOAT("split.r2", s->split.r2), FLOAT("split.inverse", s->split.inverse),
      {"now", ITEM_REAL, sizeof s->now / sizeof(double), &s->now},   /* doubles only */
      REAL("plan.soft_step", r->plan.soft_step), REAL("plan.target", r->plan.target), WHOLE("plan.at_target", r->plan.at_target),
      WHOLE("plan.shared_level", r->plan.shared_level), WHOLE("plan.shared", r->plan.shared),
      WHOLE("plan.measure_radius", r->plan.measure_radius), WHOLE("run.snapshots", r->snapshots),
      WHOLE("run.pending", r->pending), WHOLE("run.judged", r->judged), LONG("run.block_steps", r->block_steps),
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

static struct item table_ends(long long ends[LOGS_TABLES]) { return (struct item){"logs.ends", ITEM_LONG, LOGS_TABLES, ends}; }

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
  struct item item[3 * ITEMS];
  struct section own[OWN];
  long long ends[LOGS_TABLES], before = r->block_steps;
  double remembered[REMEMBERED] = {0};
  logs_flush(l, s, ends);
  r->block_steps += s->log.steps[0] + s->log.steps[1];   /* only the value of rank 0 counts: it writes the manifest */
  int items = list_system(s, r, item);
  items += list_substeps(s, item + items);
  items += list_logs(l, item + items);
  item[items++] = table_ends(ends);
  int owns = list_own(s, own);
  if (s->be->remember) s->be->remember(s->dev, remembered, 0);
  own[owns++] = (struct section){"device", remembered, sizeof remembered};
  const struct checkpoint_content content = {s->step + 1, s->be->name, item, items, own, owns};
  int status = checkpoint_write(s->comm, s->par, &content, s->be->view(s->dev), f);
  r->block_steps = before;
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

int state_load(struct sim *s, struct run_state *r, struct checkpoint *k, const struct comm *c, const struct params *par, const char *which,
               struct fault *f)
{
  struct item item[ITEMS];
  struct particles p;
  const struct backend *be;
  size_t length;
  if (sim_choose_backend(c, par, &be, f) || checkpoint_find(c, par, which, k, f)) return -1;
  particles_init(&p);
  params_changed(k->text, par, c->rank == 0, f);
  if (comm_agree(c, f) == 0 && checkpoint_particles(c, k, &p, f) == 0) {
    if (sim_open(s, c, par, be, &p, f) == 0) items_read(k->text, item, list_system(s, r, item), f);
    s->split.on = s->split.on && par->Mode != MODE_TREE;
    if (manifest_value(k->text, NULL, "substeps.paused", &length))   /* earlier versions had no checkpoint ticks */
      items_read(k->text, item, list_substeps(s, item), f);
    if (comm_agree(c, f) == 0) {
      load_own(s, k);
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
  long long ends[LOGS_TABLES];
  const struct item only_ends = table_ends(ends);
  struct sim *s = memory_alloc("checkpoint", sizeof *s);   /* memory for the numbers; not an open system */
  struct logs *l = memory_alloc("checkpoint", sizeof *l);
  memset(facts, 0, sizeof *facts);
  if (items_read(k->text, item, list_system(s, &facts->run, item), f) == 0 && items_read(k->text, &only_ends, 1, f) == 0)
    items_read(k->text, item, list_logs(l, item), f);
  facts->time = s->time;
  facts->step = s->step;
  memory_free(l);
  memory_free(s);
  return f->text[0] ? -1 : 0;
}

int state_load_logs(struct logs *l, const struct sim *s, const struct checkpoint *k, int overwrite, struct fault *f)
{
  struct item item[ITEMS];
  struct logs unused = {0};
  long long ends[LOGS_TABLES];
  const struct item only_ends = table_ends(ends);
  /* The manifest is the same on all ranks. A missing entry is found here, before a table is truncated. */
  if (items_read(k->text, &only_ends, 1, f) || items_read(k->text, item, list_logs(&unused, item), f)) return -1;
  if (k->own_folder && !k->own_output) {   /* chosen by its path: the tables of that run are not continued here */
    for (int t = 0; t < LOGS_TABLES; t++) ends[t] = -1;
    if (s->comm->rank == 0) logs_check_results(s->par, overwrite, f);
    if (comm_verdict(s->comm, f)) return -1;
  }
  if (k->own_folder ? logs_resume(l, s, ends, f) : logs_open(l, s, overwrite, f)) return -1;
  return items_read(k->text, item, list_logs(l, item), f);
}
