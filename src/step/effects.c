/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "step/effects.h"

#include <string.h>

#include "base/memory.h"
#include "step/sim.h"

/* The order in which their hooks are called. */
static const struct effect *const table[] = {&effect_external_field, &effect_expansion, &effect_frame};
enum { TABLE = sizeof table / sizeof *table };

/* Effects of the system `sim` that have the hook `member`, one after another, as `use`. */
#define FOR_EFFECTS(sim, use, member)                                                                             \
  for (const struct effect_use *use = (sim)->effects.use; use < (sim)->effects.use + (sim)->effects.count; use++) \
    if (use->effect->member)

static int in_run(const struct effect *effect, const struct params *params)
{
  return !effect->given || effect->given(params);
}

/* --- begin and end ----------------------------------------------------------------------------------------------- */

void effects_enter(const struct comm *comm, const struct params *params, double begin, struct particles *particles,
                   struct effects_entry *entry)
{
  *entry = (struct effects_entry){.begin = begin};
  for (int k = 0; k < TABLE; k++)
    if (in_run(table[k], params)) entry->traits |= table[k]->traits;
  for (int k = 0; k < TABLE; k++)
    if (table[k]->enter && in_run(table[k], params)) table[k]->enter(comm, params, entry, particles);
}

void effects_use(struct sim *sim, const struct effect *effect, void *state)
{
  struct effects *effects = &sim->effects;
  _Static_assert(sizeof table / sizeof *table < EFFECTS_MAX, "all effects of the table, and one of a test");
  effects->use[effects->count++] = (struct effect_use){effect, state};
  effects->traits |= effect->traits;
}

int effects_open(struct sim *sim, struct fault *fault)
{
  int failed = 0;
  for (int k = 0; k < TABLE && !failed; k++) {
    if (!in_run(table[k], sim->par)) continue;
    void *state = memory_alloc("effects", table[k]->size);
    memset(state, 0, table[k]->size);
    effects_use(sim, table[k], state);
    failed = table[k]->open && table[k]->open(state, sim, fault);
  }
  return comm_agree(sim->comm, fault); /* a file may be missing on one node */
}

void effects_close(struct sim *sim)
{
  struct effects *effects = &sim->effects;
  while (effects->count > 0) {
    struct effect_use *last = &effects->use[--effects->count];
    if (last->effect->close) last->effect->close(last->state);
    memory_free(last->state);
  }
  effects->traits = 0;
}

void *effects_state(const struct sim *sim, const struct effect *effect)
{
  for (int k = 0; k < sim->effects.count; k++)
    if (sim->effects.use[k].effect == effect) return sim->effects.use[k].state;
  return NULL;
}

void effects_begin(struct sim *sim, const struct effects_entry *entry)
{
  FOR_EFFECTS(sim, use, begin) use->effect->begin(use->state, sim, entry);
}

int effects_cover(const struct sim *sim, double end, struct fault *fault)
{
  FOR_EFFECTS(sim, use, files) if (use->effect->files->cover(use->state, sim, end, fault)) return -1;
  return 0;
}

int effects_have(const struct sim *sim, enum effect_trait trait) { return (sim->effects.traits & trait) != 0; }

double effects_a_floor(const struct sim *sim, double usual)
{
  FOR_EFFECTS(sim, use, a_floor) return use->effect->a_floor;
  return usual;
}

/* --- times ------------------------------------------------------------------------------------------------------- */

static double clock_at(const struct sim *sim, double time)
{
  FOR_EFFECTS(sim, use, clock) return use->effect->clock(use->state, time);
  return time;
}

static double time_at(const struct sim *sim, double clock)
{
  FOR_EFFECTS(sim, use, time_of) return use->effect->time_of(use->state, clock);
  return clock;
}

double effects_clock(const struct sim *sim) { return clock_at(sim, sim->time); }

struct plan effects_plan(const struct sim *sim, double target)
{
  struct plan_facts facts = sim->system;
  FOR_EFFECTS(sim, use, longest) facts.longest = use->effect->longest(use->state, sim);
  struct plan plan = plan_next(sim->par, &sim->now, &facts, clock_at(sim, sim->time), clock_at(sim, target), sim->step);
  plan.target = target;
  return plan;
}

double effects_end(const struct sim *sim, const struct plan *plan)
{
  return plan->at_target ? plan->target : time_at(sim, clock_at(sim, sim->time) + plan->soft_step);
}

double effects_end_of(const struct params *params, double time, const struct plan *plan)
{
  if (plan->at_target) return plan->target;
  for (int k = 0; k < TABLE; k++)
    if (table[k]->end_of && in_run(table[k], params)) return table[k]->end_of(params, time, plan->soft_step);
  return time + plan->soft_step;
}

/* --- forces ------------------------------------------------------------------------------------------------------ */

/* Returns the gravitational constant at a time, which is sim->force.gravity without such an effect. */
static double set_forces(struct sim *sim, double time)
{
  double gravity = sim->force.gravity;
  int changes = 0;
  FOR_EFFECTS(sim, use, forces_at)
  {
    gravity *= use->effect->forces_at(use->state, sim, time);
    changes = 1;
  }
  if (changes) sim->be->forces.gravity(sim->dev, gravity);
  return gravity;
}

void effects_at(struct sim *sim, double time) { sim->force.mac.gravity = set_forces(sim, time); }

void effects_at_tick(struct sim *sim, int32_t tick, double tick_length)
{
  set_forces(sim, time_at(sim, clock_at(sim, sim->time) + tick * tick_length));
}

void effects_add(struct sim *sim, enum walk_kind kind, int split, int32_t tick)
{
  FOR_EFFECTS(sim, use, background)
  sim->be->forces.add_field(sim->dev, use->effect->background(use->state), kind, split, tick);
}

void effects_add_at(const struct sim *sim, const double x[3], double acc[3])
{
  FOR_EFFECTS(sim, use, background)
  {
    double background[3];
    field_acceleration(use->effect->background(use->state), x, background);
    for (int c = 0; c < 3; c++) acc[c] += background[c];
  }
}

/* --- kicks ------------------------------------------------------------------------------------------------------- */

void effects_field(struct sim *sim, double time)
{
  struct field field = {.count = 0};
  int given = 0;
  FOR_EFFECTS(sim, use, field)
  {
    use->effect->field(use->state, time, &field);
    given = 1;
  }
  if (given) sim->effects.field = field;
}

void effects_kick(struct sim *sim, const struct field *field, double time, double dt)
{
  double *change[EFFECTS_MAX];
  int changes = 0;
  FOR_EFFECTS(sim, use, host_kick)
  {
    change[changes] = use->effect->host_kick(use->state, sim, time, dt);
    if (change[changes]) sim->be->steps.push(sim->dev, change[changes++]);
  }
  sim->be->steps.kick(sim->dev, field, dt);
  while (changes > 0) {
    sim->be->steps.push(sim->dev, change[--changes]);
    memory_free(change[changes]);
  }
}

void effects_kick_centre(struct sim *sim, double dt)
{
  const struct diagnostics *d = &sim->now;
  const double origin[3] = {0}, spin = sim->effects.field.spin,
               coriolis[3] = {2 * spin * d->momentum[1], -2 * spin * d->momentum[0], 0};
  const float none[3] = {0};
  int given = 0;
  FOR_EFFECTS(sim, use, field) given = 1;
  if (!given || !(d->mass > 0)) return;
  struct field mean = {.spin = spin};
  for (int c = 0; c < 3; c++) mean.acc[c] = (d->force_field[c] - coriolis[c]) / d->mass;
  field_kick(&mean, origin, none, dt, sim->effects.v_com);
}

/* --- sums -------------------------------------------------------------------------------------------------------- */

const struct field *effects_potential(const struct sim *sim)
{
  FOR_EFFECTS(sim, use, background) return use->effect->background(use->state);
  return &sim->effects.field;
}

void effects_measured(struct sim *sim)
{
  sim->system.in_field = effects_have(sim, EFFECT_IN_FIELD);
  FOR_EFFECTS(sim, use, measured) use->effect->measured(use->state, sim);
}

double effects_energy(const struct sim *sim)
{
  if (!effects_have(sim, EFFECT_IN_FIELD)) return 0;
  const struct particles *p = sim->be->view(sim->dev);
  double sum = 0;
  for (int64_t i = 0; i < p->n; i++) sum += p->mass[i] * field_potential(&sim->effects.field, &p->pos[3 * i]);
  FOR_EFFECTS(sim, use, values) sum += use->effect->values->host_energy(use->state, sim);
  comm_sum_double(sim->comm, &sum, 1);
  return sum;
}

void effects_tide(const struct sim *sim, const double x[3], const double v[3], double length, struct tide *tide)
{
  *tide = (struct tide){0};
  FOR_EFFECTS(sim, use, values) use->effect->values->tide(use->state, sim->time, x, v, length, tide);
}

void effects_account(struct sim *sim) { FOR_EFFECTS(sim, use, account) use->effect->account(use->state, sim); }

void effects_account_correction(struct sim *sim)
{
  FOR_EFFECTS(sim, use, account_correction) use->effect->account_correction(use->state, sim);
}

/* --- what a run prints and stores -------------------------------------------------------------------------------- */

void effects_shift(const struct sim *sim, double place[3], double motion[3])
{
  for (int c = 0; c < 3; c++) place[c] = motion[c] = 0;
  FOR_EFFECTS(sim, use, shift) use->effect->shift(use->state, sim, place, motion);
}

void effects_describe(const struct sim *sim, FILE *out)
{
  FOR_EFFECTS(sim, use, describe) use->effect->describe(use->state, sim, out);
}

int effects_numbers(struct sim *sim, int k, struct effect_numbers *numbers)
{
  if (k >= sim->effects.count) return -1;
  const struct effect_use *use = &sim->effects.use[k];
  return use->effect->numbers ? use->effect->numbers(use->state, sim, numbers) : 0;
}

int effects_files(const struct sim *sim, struct external_file file[EXTERNAL_FILES])
{
  FOR_EFFECTS(sim, use, files) return use->effect->files->list(use->state, sim->time, file);
  return 0;
}

int effects_files_of(const struct params *params, double time, struct external_file file[EXTERNAL_FILES],
                     struct fault *fault)
{
  for (int k = 0; k < TABLE; k++)
    if (table[k]->files && in_run(table[k], params)) return table[k]->files->list_of(params, time, file, fault);
  return 0;
}
