/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "run/state.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "checkpoint/files_changed.h"
#include "checkpoint/params_changed.h"
#include "checkpoint/recall.h"
#include "run/start.h"
#include "scheme/schemes.h"
#include "settings/settings.h"
#include "step/effects.h"

enum { ITEMS = 48, OWN = 24 };
#define ROWS "tables"       /* sections of rank 0: rows that the disk did not take; */
#define BINARIES "binaries" /* pairs of the last time, and who has escaped */
#define COLLISIONS "collisions"

/* --- the lists --------------------------------------------------------------------------------------------------- */

static int list_system(struct sim *sim, struct run_state *state, struct item *item)
{
  const struct item all[] = {
      REAL("time", sim->time),
      LONG("step", sim->step),
      REAL("soft_step", sim->soft_step),
      REAL("radius_rule", sim->force.radius_rule),
      REAL("a_floor", sim->force.a_floor),
      WHOLE("split.on", sim->force.split.on),
      WHOLE("split.kernel", sim->force.split.kernel),
      FLOAT("split.r1", sim->force.split.r1),
      FLOAT("split.r2", sim->force.split.r2),
      FLOAT("split.inverse", sim->force.split.inverse),
      FLOAT("split.mass_scale", sim->force.split.mass_scale),
      FLOAT("split.largest_mass", sim->force.split.largest_mass),
      REAL("hard.proposed_for", sim->lists.proposed_for),
      REAL("units.speed2", sim->lists.speed2),
      REAL("units.pair_kinetic", sim->lists.pair_kinetic),
      {"now", ITEM_REAL, offsetof(struct diagnostics, virial) / sizeof(double), &sim->now}, /* doubles only */
      REAL("plan.soft_step", state->plan.soft_step),
      REAL("plan.target", state->plan.target),
      WHOLE("plan.at_target", state->plan.at_target),
      WHOLE("plan.shared_level", state->plan.shared_level),
      WHOLE("plan.shared", state->plan.shared),
      WHOLE("plan.measure_radius", state->plan.measure_radius),
      WHOLE("run.snapshots", state->snapshots),
      WHOLE("run.pending", state->pending),
      LONG("run.block_steps", state->block_steps),
      REAL("run.particles", state->particles),
      REAL("run.mass", state->mass),
      REAL("run.checkpoint_seconds", state->checkpoint_seconds)};
  _Static_assert(sizeof all / sizeof *all <= ITEMS, "raise ITEMS");
  _Static_assert(sizeof sim->now % sizeof(double) == 0, "struct diagnostics holds doubles only");
  memcpy(item, all, sizeof all);
  return sizeof all / sizeof *all;
}

/* A soft step that is interrupted at a checkpoint tick; substeps.paused is 0 elsewhere. */
static int list_substeps(struct sim *sim, struct item *item)
{
  struct substeps *u = &sim->substeps;
  const struct item all[] = {WHOLE("substeps.paused", u->paused),
                             WHOLE("substeps.shared", u->shared),
                             WHOLE("schedule.ranks", u->schedule.ranks),
                             WHOLE("schedule.level_max", u->schedule.level_max),
                             WHOLE("schedule.walks_tree", u->schedule.walks_tree),
                             WHOLE("schedule.moment_interval", u->schedule.moment_interval),
                             WHOLE("schedule.builds", u->schedule.builds),
                             LONG("schedule.build_age", u->schedule.build_age),
                             WHOLE("schedule.bands", u->schedule.bands),
                             WHOLE("schedule.checkpoint_interval", u->schedule.checkpoint_interval),
                             /* doubles only */
                             {"lattice", ITEM_REAL, sizeof sim->lattice / sizeof(double), &sim->lattice}};
  _Static_assert(sizeof all / sizeof *all <= ITEMS, "raise ITEMS");
  memcpy(item, all, sizeof all);
  return sizeof all / sizeof *all;
}

/* The numbers of effect `k` (step/effects.h); -1: there is no such effect. */
static int list_effect(struct sim *sim, int k, struct item *item)
{
  struct effect_numbers numbers[EFFECT_NUMBERS];
  int count = effects_numbers(sim, k, numbers);
  for (int i = 0; i < count; i++)
    item[i] = (struct item){numbers[i].name, ITEM_REAL, numbers[i].count, numbers[i].value};
  return count;
}

static int list_effects(struct sim *sim, struct item *item)
{
  int items = 0;
  for (int k = 0, count; (count = list_effect(sim, k, item + items)) >= 0; k++) items += count;
  return items;
}

static int list_logs(struct logs *logs, struct item *item)
{
  const struct item all[] = {REAL("logs.first_energy", logs->error.first),
                             REAL("logs.worst", logs->error.worst),
                             WHOLE("logs.has_energy", logs->error.known),
                             WHOLE("logs.warned_outside", logs->warned.outside),
                             WHOLE("logs.warned_late", logs->warned.late),
                             WHOLE("logs.warned_level", logs->warned.level),
                             WHOLE("logs.warned_lattice", logs->warned.lattice),
                             WHOLE("logs.warned_energy", logs->warned.energy),
                             WHOLE("logs.warned_soft_step", logs->warned.soft_step),
                             WHOLE("logs.h_steps", logs->hard.steps),
                             REAL("logs.h_sum", logs->hard.h),
                             REAL("logs.list_sum", logs->hard.lists)};
  _Static_assert(sizeof all / sizeof *all <= ITEMS, "raise ITEMS");
  memcpy(item, all, sizeof all);
  return sizeof all / sizeof *all;
}

/* `tables`: the first ones of these; older checkpoints do not know the last ones. */
static int list_tables(struct logs_ends *ends, int tables, struct item *item)
{
  const struct item all[] = {
      {"logs.ends", ITEM_LONG, tables, ends->end},
      {"logs.written", ITEM_LONG, tables, ends->written},
      {"logs.sums", ITEM_LONG, tables * (int)(sizeof *ends->sums / sizeof **ends->sums), ends->sums}};
  memcpy(item, all, sizeof all);
  return sizeof all / sizeof *all;
}

static int list_missing(struct missing *missing, struct item *item)
{
  const struct item all[] = {WHOLE("run.missing", missing->count),
                             {"run.missing_numbers", ITEM_WHOLE, missing->count, missing->number},
                             {"run.missing_times", ITEM_REAL, missing->count, missing->time}};
  memcpy(item, all, sizeof all);
  return sizeof all / sizeof *all;
}

/* The choice of a scheme; Mode, Scheme and R1OverR0 in use are in the list of parameters. */
static int list_choice(struct sim *sim, struct item *item)
{
  struct scheme_choice *choice = &sim->settings->choice;
  struct plan_facts *y = &sim->system;
  const struct item all[] = {REAL("system.energy", y->energy),
                             REAL("system.dense", y->dense),
                             REAL("system.distance", y->distance),
                             REAL("system.profile", y->first_profile),
                             REAL("system.change", y->change),
                             WHOLE("choice.made", choice->made),
                             WHOLE("choice.trials", choice->trials),
                             WHOLE("choice.trial", choice->trial),
                             WHOLE("choice.trial_steps", choice->trial_steps),
                             {"choice.order", ITEM_WHOLE, CHOICES_COUNT, choice->order},
                             {"choice.factor", ITEM_REAL, CHOICES_COUNT, choice->table.factor},
                             {"choice.measured", ITEM_REAL, CHOICES_COUNT, choice->measured},
                             LONG("choice.looked", choice->looked),
                             REAL("choice.seconds", choice->seconds),
                             REAL("choice.time", choice->time)};
  _Static_assert(sizeof all / sizeof *all <= ITEMS, "raise ITEMS");
  memcpy(item, all, sizeof all);
  return sizeof all / sizeof *all;
}

/* What the choice has beside: when the system is looked at again, its costs, and choices of an earlier run. */
static int list_choices(struct sim *sim, struct item *item)
{
  struct scheme_choice *choice = &sim->settings->choice;
  const struct item all[] = {WHOLE("choice.interval", choice->interval),
                             WHOLE("choice.why", choice->why),
                             REAL("choice.choosing", choice->choosing),
                             REAL("choice.tried_seconds", choice->tried_seconds),
                             REAL("choice.tried_time", choice->tried_time),
                             WHOLE("choice.again", choice->again.count),
                             WHOLE("choice.again_next", choice->again.next),
                             {"choice.again_step", ITEM_LONG, choice->again.count, choice->again.step},
                             {"choice.again_scheme", ITEM_WHOLE, choice->again.count, choice->again.scheme},
                             {"choice.again_why", ITEM_WHOLE, choice->again.count, choice->again.why}};
  memcpy(item, all, sizeof all);
  return sizeof all / sizeof *all;
}

#define OWN_SECTION(name, x) \
  {                          \
    name, &(x), sizeof(x)    \
  }

/* The quantities of a rank: clocks and counts of the soft step under way, measured rates, state of the tuning. */
static int list_own(struct sim *sim, struct section *own)
{
  struct tuning *t = &sim->cost.tuning;
  const struct section all[] = {
      OWN_SECTION("own.counts", sim->counts),
      OWN_SECTION("own.seconds", sim->timer.seconds),
      OWN_SECTION("own.computed", sim->cost.clocks.computed),
      OWN_SECTION("own.rest", sim->cost.log.rest),
      OWN_SECTION("own.per_work", sim->cost.per_work),
      OWN_SECTION("own.planting", sim->cost.tree_seconds),
      OWN_SECTION("own.row", sim->substeps.row),
      {"own.cuts", sim->ranks.domain.x, sizeof *sim->ranks.domain.x * (uint64_t)(sim->comm->size - 1)},
      OWN_SECTION("own.centre", sim->ranks.domain.centre)};
  const struct section tuned[] = {
      OWN_SECTION("tuning.timed", t->timed),       OWN_SECTION("tuning.rebuild", t->rebuild),
      OWN_SECTION("tuning.width", t->width),       OWN_SECTION("tuning.width_open", t->width_open),
      OWN_SECTION("tuning.seconds", t->seconds),   OWN_SECTION("tuning.targets", t->targets),
      OWN_SECTION("tuning.measured", t->measured), OWN_SECTION("tuning.expected", t->expected)};
  int n = sizeof all / sizeof *all;
  memcpy(own, all, sizeof all);
  if (!t->tunes_width && !t->tunes_rebuild) return n;
  memcpy(own + n, tuned, sizeof tuned);
  return n + (int)(sizeof tuned / sizeof *tuned);
}

/* --- writing ----------------------------------------------------------------------------------------------------- */

int state_save(struct sim *sim, struct logs *logs, struct run_state *state, struct fault *fault)
{
  struct item item[4 * ITEMS];
  struct section own[OWN];
  struct logs_ends ends;
  struct external_file file[EXTERNAL_FILES];
  long long before = state->block_steps;
  double remembered[REMEMBERED] = {0};
  int tables = LOGS_TABLES;
  char *rows = logs_flush(logs, sim, &ends);
  /* only the value of rank 0 counts: it writes the manifest */
  state->block_steps += sim->cost.log.steps[0] + sim->cost.log.steps[1];
  int items = list_system(sim, state, item);
  items += list_substeps(sim, item + items);
  items += list_choice(sim, item + items);
  items += list_choices(sim, item + items);
  items += list_logs(logs, item + items);
  items += list_tables(&ends, LOGS_TABLES, item + items);
  items += list_missing(&state->missing, item + items);
  items += list_effects(sim, item + items);
  items += files_items(file, effects_files(sim, file), item + items);
  item[items++] = (struct item){"run.collapsed", ITEM_REAL, 4, state->collapsed};
  item[items++] = (struct item){"run.statistics", ITEM_REAL, 3, &state->statistics};
  item[items++] = (struct item){"run.projections", ITEM_REAL, 2, &state->projections};
  item[items++] = (struct item)REAL("energy.total", sim->energy.total);
  item[items++] = (struct item)REAL("energy.scatter", sim->energy.scatter);
  item[items++] = (struct item)REAL("collisions.lost", sim->collisions.lost);
  item[items++] = (struct item)REAL("changes.energy", sim->energy.changes.energy);
  item[items++] = (struct item)REAL("units.distance", sim->lists.distance);
  item[items++] = (struct item)WHOLE("logs.tables", tables);
  item[items++] = (struct item){"promise", ITEM_REAL, PROMISE_NUMBERS, &logs->promise.dynamical};
  int owns = list_own(sim, own);
  own[owns++] = (struct section){ROWS, rows, (uint64_t)logs_unwritten(&ends)};
  struct section *pairs = &own[owns++];
  *pairs = (struct section){.name = BINARIES};
  pairs->data = binaries_pack(&state->binaries, &pairs->bytes);
  own[owns++] = (struct section){COLLISIONS, sim->collisions.known,
                                 sizeof *sim->collisions.known * (uint64_t)sim->collisions.knowns};
  if (sim->be->steps.remember) sim->be->steps.remember(sim->dev, remembered, 0);
  own[owns++] = (struct section){"device", remembered, sizeof remembered};
  const struct checkpoint_content content = {sim->step + 1, sim->be->name, item, items, own, owns, logs->origin};
  int status = checkpoint_write(sim->comm, sim->par, &content, sim->be->view(sim->dev), fault);
  state->block_steps = before;
  memory_free(pairs->data);
  memory_free(rows);
  return status;
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

static int same_backend(const struct checkpoint *checkpoint, const struct sim *sim)
{
  size_t length = 0;
  const char *name = manifest_value(checkpoint->text, NULL, "backend", &length);
  return name && length == strlen(sim->be->name) && strncmp(name, sim->be->name, length) == 0;
}

static void load_own(struct sim *sim, const struct checkpoint *checkpoint)
{
  double remembered[REMEMBERED] = {0};
  struct section own[OWN], device = {"device", remembered, sizeof remembered};
  checkpoint_own(sim->comm, checkpoint, own, list_own(sim, own));
  if (same_backend(checkpoint, sim) && checkpoint_own(sim->comm, checkpoint, &device, 1) && sim->be->steps.remember)
    sim->be->steps.remember(sim->dev, remembered, 1);
}

/* An entry that older checkpoints do not have. */
static int has(const char *text, const char *name)
{
  size_t length;
  return manifest_value(text, NULL, name, &length) != NULL;
}

/* Older checkpoints have the first level of fast particles in place of bands of levels. */
static void load_substeps(struct sim *sim, const char *text, struct fault *fault)
{
  struct item item[ITEMS];
  int items, fast = LEVEL_MAX + 1;
  if (!has(text, "substeps.paused")) return;
  items = list_substeps(sim, item);
  for (int k = 0; k < items && !has(text, "schedule.bands"); k++)
    if (item[k].at == &sim->substeps.schedule.bands) item[k] = (struct item)WHOLE("schedule.fast_level", fast);
  items_read(text, item, items, fault);
  if (!has(text, "schedule.bands")) sim->substeps.schedule.bands = fast <= LEVEL_MAX ? 1 << fast : 0;
}

static int load_missing(const char *text, struct missing *missing, struct fault *fault)
{
  struct item item[ITEMS];
  int count = 0;
  const struct item only_count = WHOLE("run.missing", count);
  if (!has(text, "run.missing")) return 0;
  if (items_read(text, &only_count, 1, fault)) return -1;
  missing_resize(missing, count);
  return items_read(text, item, list_missing(missing, item), fault);
}

/* How many tables a checkpoint knows: older ones do not say it. */
static int count_tables(const char *text, struct fault *fault)
{
  int tables = has(text, "choice.made") ? 7 : 6;
  if (has(text, "logs.tables")) items_read(text, &(const struct item)WHOLE("logs.tables", tables), 1, fault);
  if (tables < 0 || tables > LOGS_TABLES)
    fault_set(fault, "the checkpoint has %d tables, of a later version: at most %d were expected", tables, LOGS_TABLES);
  return fault->text[0] ? -1 : tables;
}

static int load_ends(const char *text, struct logs_ends *ends, struct fault *fault)
{
  struct item item[ITEMS];
  int known = has(text, "logs.sums"), tables = count_tables(text, fault);
  if (tables < 0) return -1;
  int count = list_tables(ends, tables, item);
  memset(ends, 0, sizeof *ends);
  for (int k = tables; k < LOGS_TABLES; k++) ends->end[k] = -1;
  if (items_read(text, item, known ? count : 1, fault)) return -1;
  if (!known) memcpy(ends->written, ends->end, sizeof ends->end);
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

/* Whether domains and schedule of the soft step under way are of another layout of ranks, another backend, or other
 * parameters. */
static int is_foreign(const struct sim *sim, const struct checkpoint *checkpoint)
{
  return checkpoint->ranks != sim->comm->size || !same_backend(checkpoint, sim) ||
         !same_value(checkpoint->text, sim->par, "Domain", "DomainGrid") ||
         !same_value(checkpoint->text, sim->par, "Gravity", "RebuildInterval");
}

/* A checkpoint of an older version has no frame: that of its particles is the user's, and the momentum is kept as it
 * is. */
static void load_effects(struct sim *sim, const char *text, struct fault *fault)
{
  struct item item[ITEMS];
  memcpy(sim->effects.v_com, sim->now.v_com, sizeof sim->effects.v_com);
  for (int k = 0, count; (count = list_effect(sim, k, item)) >= 0; k++)
    if (count > 0 && has(text, item[0].name)) items_read(text, item, count, fault);
}

/* Check that the external field is made from the files of before. 0 or -1. */
static int check_files(const struct sim *sim, const char *text, struct fault *fault)
{
  struct external_file file[EXTERNAL_FILES];
  return files_changed(text, file, effects_files(sim, file), sim->time, fault);
}

/* The choice of a scheme, and what its rules know of the system. An older checkpoint has none: then the scheme in use
 * stays. */
static void resume_choice(struct sim *sim, const struct checkpoint *checkpoint, struct fault *fault)
{
  struct item item[ITEMS];
  sim_note_energy(sim);
  if (has(checkpoint->text, "choice.made")) items_read(checkpoint->text, item, list_choice(sim, item), fault);
  if (has(checkpoint->text, "choice.interval") &&
      items_read(checkpoint->text, &(const struct item)WHOLE("choice.again", sim->settings->choice.again.count), 1,
                 fault) == 0) {
    if (sim->settings->choice.again.count < 0 || sim->settings->choice.again.count > CHOOSE_AGAIN_MAX)
      fault_set(fault, "%s: choice.again is out of range", checkpoint->path);
    else items_read(checkpoint->text, item, list_choices(sim, item), fault);
  }
  settings_resumed(sim);
  if (!params_same_steps(checkpoint->text, &sim->settings->asked)) settings_forget_trials(sim);
}

/* A fault where the run ended with this checkpoint because the step of a close pair had collapsed, and its steps would
 * be no shorter now. */
static int check_collapsed(const struct checkpoint *checkpoint, struct run_state *state, const struct params *params,
                           struct fault *fault)
{
  const double *c = state->collapsed;
  if (!has(checkpoint->text, "run.collapsed")) return 0;
  if (items_read(checkpoint->text, &(const struct item){"run.collapsed", ITEM_REAL, 4, state->collapsed}, 1, fault))
    return -1;
  if (c[3] == 0 || !params_same_steps(checkpoint->text, params)) return 0;
  return fault_set(
      fault,
      "%s was written after the step of a close pair had collapsed (time %g, soft step %.0f), and nothing that follows "
      "can be "
      "trusted: restart from an earlier checkpoint (-r NUMBER) with a SoftStep below %.3g, or begin a new run with a "
      "small "
      "Softening; with a SoftStep below %.3g this checkpoint is accepted too, but the energy of the pair remains wrong",
      checkpoint->path, c[1], c[0], c[2], c[2]);
}

/* A section of rank 0's file, whatever the number of ranks. Free with memory_free; NULL: there is none. */
static char *root_section(const struct checkpoint *checkpoint, const char *name, uint64_t *bytes, struct fault *fault)
{
  char path[CHECKPOINT_PATH + 32], *text = NULL;
  struct sections in;
  snprintf(path, sizeof path, "%s/rank_00000", checkpoint->path);
  if (sections_open(&in, path, fault)) return NULL;
  int s = sections_find(&in, name);
  if (s >= 0) {
    *bytes = in.at[s].bytes;
    text = memory_alloc("checkpoint", *bytes + 1);
    sections_read(&in, s, 0, text, *bytes, fault);
  }
  sections_close(&in);
  return text;
}

/* Rank 0. An older checkpoint has none: then the next time is the first one. */
static void load_binaries(const struct checkpoint *checkpoint, struct binaries *binaries, struct fault *fault)
{
  uint64_t bytes = 0;
  char *text = root_section(checkpoint, BINARIES, &bytes, fault);
  if (text && !fault->text[0] && binaries_unpack(binaries, text, bytes))
    fault_set(fault, "%s/rank_00000: the section " BINARIES " is damaged", checkpoint->path);
  memory_free(text);
}

/* The pairs of stars that have met: rank 0 reads them for all. Collective. */
static void load_collisions(struct sim *sim, const struct checkpoint *checkpoint, struct fault *fault)
{
  struct collisions_part *part = &sim->collisions;
  uint64_t bytes = 0;
  char *pairs = sim->comm->rank == 0 ? root_section(checkpoint, COLLISIONS, &bytes, fault) : NULL;
  if (fault->text[0]) bytes = 0;
  comm_broadcast(sim->comm, &bytes, sizeof bytes);
  part->knowns = (int64_t)(bytes / sizeof *part->known);
  part->known = memory_resize("collisions", part->known, sizeof *part->known * (size_t)(part->knowns + 1));
  if (part->knowns > 0 && pairs) memcpy(part->known, pairs, (size_t)part->knowns * sizeof *part->known);
  comm_broadcast(sim->comm, part->known, (size_t)part->knowns * sizeof *part->known);
  memory_free(pairs);
}

int state_load(struct sim *sim, struct run_state *state, struct checkpoint *checkpoint, const struct comm *comm,
               const struct params *par, const struct run_options *options, struct fault *fault)
{
  struct item item[ITEMS];
  struct particles p;
  struct params found = *par;
  const struct backend *be;
  if (sim_choose_backend(comm, par, &be, fault) || checkpoint_find(comm, par, options->from, checkpoint, fault))
    return -1;
  if (comm->rank == 0) recall_check(options->origin, checkpoint->path, checkpoint->text, fault);
  particles_init(&p);
  params_adopt_found(checkpoint->text, &found);
  if (params_changed(checkpoint->text, &found, comm->rank == 0, fault) == 0 &&
      params_check_found(par, &found, fault) == 0)
    check_collapsed(checkpoint, state, &found, fault);
  if (comm_agree(comm, fault) == 0 && checkpoint_particles(comm, checkpoint, &p, fault) == 0) {
    if (sim_open(sim, comm, &found, be, &p, fault) == 0)
      items_read(checkpoint->text, item, list_system(sim, state, item), fault);
    settings_resume(sim, par);
    load_missing(checkpoint->text, &state->missing, fault);
    scheme_resume(sim, params_mode(&found) != MODE_TREE);
    resume_choice(sim, checkpoint, fault);
    load_effects(sim, checkpoint->text, fault);
    check_files(sim, checkpoint->text, fault);
    effects_cover(sim, fmax(sim->time, par->TimeMax), fault);
    load_substeps(sim, checkpoint->text, fault);
    const struct item later[] = {{"run.statistics", ITEM_REAL, 3, &state->statistics},
                                 {"run.projections", ITEM_REAL, 2, &state->projections},
                                 REAL("energy.total", sim->energy.total),
                                 REAL("energy.scatter", sim->energy.scatter),
                                 REAL("collisions.lost", sim->collisions.lost),
                                 REAL("changes.energy", sim->energy.changes.energy),
                                 REAL("units.distance", sim->lists.distance)};
    for (size_t k = 0; k < sizeof later / sizeof *later; k++)
      if (has(checkpoint->text, later[k].name)) items_read(checkpoint->text, &later[k], 1, fault);
    if (comm->rank == 0) load_binaries(checkpoint, &state->binaries, fault);
    effects_at(sim, sim->time);
    if (comm_agree(comm, fault) == 0) {
      load_collisions(sim, checkpoint, fault);
      load_own(sim, checkpoint);
      sim->substeps.foreign = is_foreign(sim, checkpoint);
      for (int part = 0; part < 2; part++)
        for (int end = 0; end < 2; end++) sim->cost.clocks.part[part][end] = sim->timer;
      return 0;
    }
    sim_close(sim);
  }
  checkpoint_close(checkpoint);
  return -1;
}

int state_inspect(const struct checkpoint *checkpoint, struct state_facts *facts, struct fault *fault)
{
  struct item item[ITEMS];
  struct logs_ends ends;
  struct sim *sim = memory_alloc("checkpoint", sizeof *sim); /* memory for the numbers; not an open system */
  struct logs *logs = memory_alloc("checkpoint", sizeof *logs);
  memset(facts, 0, sizeof *facts);
  if (items_read(checkpoint->text, item, list_system(sim, &facts->run, item), fault) == 0 &&
      load_ends(checkpoint->text, &ends, fault) == 0)
    items_read(checkpoint->text, item, list_logs(logs, item), fault);
  facts->time = sim->time;
  facts->step = sim->step;
  memory_free(logs);
  memory_free(sim);
  return fault->text[0] ? -1 : 0;
}

/* The rows of tables that the disk did not take before the checkpoint. Rank 0. Free with memory_free; NULL: none. */
static char *load_rows(const struct checkpoint *checkpoint, const struct logs_ends *ends, struct fault *fault)
{
  uint64_t bytes = (uint64_t)logs_unwritten(ends), found = 0;
  char *rows = bytes ? root_section(checkpoint, ROWS, &found, fault) : NULL;
  if (bytes != found)
    fault_set(fault, "%s/rank_00000 has no rows of tables, although the manifest counts %llu bytes", checkpoint->path,
              (unsigned long long)bytes);
  return rows;
}

int state_load_logs(struct logs *logs, const struct sim *sim, const struct checkpoint *checkpoint, int overwrite,
                    struct fault *fault)
{
  struct item item[ITEMS];
  struct logs unused = {0};
  struct logs_ends ends;
  char *rows = NULL;
  /* The manifest is the same on all ranks. A missing entry is found here, before a table is truncated. */
  if (load_ends(checkpoint->text, &ends, fault) || items_read(checkpoint->text, item, list_logs(&unused, item), fault))
    return -1;
  /* chosen by its path: the tables of that run are not continued here */
  if (checkpoint->own_folder && !checkpoint->own_output) {
    for (int t = 0; t < LOGS_TABLES; t++) ends.end[t] = -1;
    if (sim->comm->rank == 0) logs_check_results(sim->par, overwrite, fault);
    if (comm_verdict(sim->comm, fault)) return -1;
  }
  if (sim->comm->rank == 0) rows = load_rows(checkpoint, &ends, fault);
  int bad = comm_verdict(sim->comm, fault) || (checkpoint->own_folder ? logs_resume(logs, sim, &ends, rows, fault)
                                                                      : logs_open(logs, sim, overwrite, fault));
  memory_free(rows);
  if (bad) return -1;
  const struct item promise = {"promise", ITEM_REAL, PROMISE_NUMBERS, &logs->promise.dynamical};
  if (has(checkpoint->text, "promise")) items_read(checkpoint->text, &promise, 1, fault);
  else promise_resume(&logs->promise, sim);
  return items_read(checkpoint->text, item, list_logs(logs, item), fault);
}
