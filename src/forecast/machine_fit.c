/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "forecast/machine_fit.h"

#include <math.h>

/* The rate of what took no time that can be seen, as it is in that of others: the file does not have it. */
#define RATE_MAX MACHINE_NO_RATE
enum { ROUNDS = 20 }; /* of equations that are solved in turns */

/* What was done in these seconds, at most RATE_MAX a second. */
static double rate(double done, double seconds)
{
  return seconds > done / RATE_MAX && done > 0 ? done / seconds : RATE_MAX;
}
static double positive(double x) { return x > 0 ? x : 0; }

/* The rate of particles from the seconds of few and of many; where many take no longer, from theirs alone. */
static double slope(const struct bench_step *few, double few_seconds, const struct bench_step *many,
                    double many_seconds)
{
  double found = rate(many->particles - few->particles, many_seconds - few_seconds);
  return found < RATE_MAX ? found : rate(many->particles, many_seconds);
}

/* --- one rank ---------------------------------------------------------------------------------------------------- */

static double tree_without_order(const struct bench_step *step)
{
  return bench_tree_seconds(step) - step->seconds[PHASE_order];
}

/* A soft step beside its forces, and its tree. */
static void fit_step(struct machine *machine, const struct bench_step *few, const struct bench_step *many)
{
  machine->step_rate = slope(few, bench_other_seconds(few), many, bench_other_seconds(many));
  machine->step_floor = positive(bench_other_seconds(few) - few->particles / machine->step_rate);
  machine->order_rate = slope(few, few->seconds[PHASE_order], many, many->seconds[PHASE_order]);
  machine->build_rate = slope(few, tree_without_order(few), many, tree_without_order(many));
  machine->tree_floor =
      positive(bench_tree_seconds(few) - few->particles / machine->order_rate - few->particles / machine->build_rate);
}

/* How much longer a force of `many` takes than one of `some`, by the model with this WalkFill. */
static double growth(double fill, double some, double many)
{
  struct machine m = {.walk_fill = fill};
  return machine_walk(&m, many, 1) / machine_walk(&m, some, 1);
}

/* WalkFill; 0 where seconds grow as interactions, or faster. From 0 on the growth falls with it, until `some` would not
 * need all of it. */
static double fill_of(double some, double some_seconds, double many, double many_seconds)
{
  double wanted = many_seconds / some_seconds, low = 0, high = some / 64;
  if (!(some_seconds > 0) || !(growth(0, some, many) > wanted)) return 0;
  while (growth(high, some, many) > wanted && growth(1.1 * high, some, many) < growth(high, some, many)) {
    low = high;
    high *= 1.1;
  }
  for (int k = 0; k < 60; k++) {
    double middle = 0.5 * (low + high);
    *(growth(middle, some, many) > wanted ? &low : &high) = middle;
  }
  return low;
}

static void fit_walk(struct machine *machine, const struct bench_step *few, const struct bench_step *some,
                     const struct bench_step *many)
{
  machine->walk_floor = 0.5 * few->seconds[PHASE_walk];
  for (int k = 0; k < ROUNDS; k++) {
    double seconds = many->seconds[PHASE_walk] - machine->walk_floor;
    machine->walk_fill =
        some->particles > 0
            ? fill_of(some->full_pairs, some->seconds[PHASE_walk] - machine->walk_floor, many->full_pairs, seconds)
            : 0;
    machine->walk_rate = rate(machine_walk(machine, many->full_pairs, 1), seconds);
    machine->walk_floor =
        positive(few->seconds[PHASE_walk] - machine_walk(machine, few->full_pairs, machine->walk_rate));
  }
}

/* --- block steps of one rank ------------------------------------------------------------------------------------- */

/* What a soft step takes more than that of a shared step with as many particles: block steps; trees. */
static double block_seconds(const struct bench_step *b, const struct bench_step *shared)
{
  /* the phase alone, where noise exceeds the rest */
  return fmax(bench_other_seconds(b) - bench_other_seconds(shared), b->seconds[PHASE_hard_walk]);
}

static double correct_seconds(const struct bench_step *b, const struct bench_step *shared)
{
  return positive(b->seconds[PHASE_correct] - shared->seconds[PHASE_correct]);
}
static double tree_seconds(const struct bench_step *b, const struct bench_step *shared)
{
  return positive(bench_tree_seconds(b) - bench_tree_seconds(shared));
}

/* Seconds of the interactions of block steps, over those of one at BlockRate. */
static double block_work(const struct machine *machine, const struct bench_step *step)
{
  struct machine unit = *machine;
  double sum = 0, deeper = 0, each = step->targets > 0 ? step->hard_pairs / step->targets : 0;
  unit.block_rate = 1;
  for (int l = SCHEDULE_LEVELS - 1; l > 0; l--) {
    deeper += step->level[l];
    if (deeper > 0) sum += exp2(l - 1) * machine_block_walk(&unit, deeper * each, 0);
  }
  return sum > step->hard_pairs ? sum : step->hard_pairs;
}

/* Moment updates, most of which are in the scheme with fewest builds, and new trees, of which the other one has
 * most. */
static void fit_updates(struct machine *machine, const struct bench_step many[STUDY_SCHEMES])
{
  int fewer = many[STUDY_BLOCK].builds < many[STUDY_HYBRID].builds;
  const struct bench_step *updated = &many[fewer ? STUDY_BLOCK : STUDY_HYBRID],
                          *built = &many[fewer ? STUDY_HYBRID : STUDY_BLOCK];
  double n = updated->particles, update = 0, each = (machine_tree(machine, n) - machine->tree_floor) / n;
  for (int k = 0; k < ROUNDS; k++) {
    if (updated->updates > 0)
      update = positive(tree_seconds(updated, &many[STUDY_SHARED]) - updated->builds * machine->tree_floor -
                        updated->built * each) /
               updated->updates;
    if (built->built > 0)
      each = positive(tree_seconds(built, &many[STUDY_SHARED]) - built->updates * update -
                      built->builds * machine->tree_floor) /
             built->built;
  }
  machine->update_rate = rate(n, update);
  machine->rebuild_rate = rate(1, each);
}

/* Seconds of hard forces: of particles, and of interactions. From two hybrids with lists of other lengths. */
static void fit_hard(struct machine *machine, const struct bench_step *shared, const struct bench_step *wide,
                     const struct bench_step *near)
{
  const struct bench_step *b[2] = {wide, near};
  double left[2], floor = machine->substep_floor + machine->walk_floor;
  for (int k = 0; k < 2; k++)
    left[k] = block_seconds(b[k], shared) - b[k]->substeps * floor - b[k]->targets / machine->correct_rate;
  double both = wide->hard_pairs * near->targets - near->hard_pairs * wide->targets;
  double pair = (left[0] * near->targets - left[1] * wide->targets) / both,
         target = (left[1] * wide->hard_pairs - left[0] * near->hard_pairs) / both;
  if (both > 0 && pair > 0 && target > 0) {
    machine->hard_rate = 1 / pair;
    machine->hard_target_rate = 1 / target;
  } else {
    machine->hard_rate = rate(wide->hard_pairs, left[0]);
    machine->hard_target_rate = RATE_MAX;
  }
}

static double hard_seconds(const struct machine *machine, const struct bench_step *step)
{
  return step->hard_pairs / machine->hard_rate + step->targets / machine->hard_target_rate +
         step->targets / machine->correct_rate;
}

/* BlockRate, with the BlockFill of full forces; or of a device, whose rate is that of full forces, BlockFill. */
static void fit_block_walk(struct machine *machine, const struct bench_step *block, double seconds)
{
  machine->block_fill = machine->device == DEVICE_gpu ? 0 : machine->walk_fill;
  machine->block_rate = rate(block_work(machine, block), seconds);
  if (machine->device != DEVICE_gpu || machine->block_rate >= machine->walk_rate) return;
  double low = 0, high = machine->walk_rate * seconds;
  machine->block_rate = machine->walk_rate;
  for (int k = 0; k < 60; k++) {
    machine->block_fill = 0.5 * (low + high);
    *(block_work(machine, block) < machine->walk_rate * seconds ? &low : &high) = machine->block_fill;
  }
}

static void fit_block_steps(struct machine *machine, const struct machine_runs *runs)
{
  const struct bench_step *few = runs->alone[BENCH_FEW], *many = runs->alone[BENCH_MANY], *tiny = &few[STUDY_HYBRID],
                          *block = &many[STUDY_BLOCK];
  double tiny_seconds = block_seconds(tiny, &few[STUDY_SHARED]), steps = fmax(tiny->substeps, 1);
  double tiny_correct = correct_seconds(tiny, &few[STUDY_SHARED]) / steps;
  double of_block = block_seconds(block, &many[STUDY_SHARED]);
  /* kernels of a device end in a later phase: there corrections are in the rates of walks */
  machine->correct_rate =
      machine->device == DEVICE_gpu
          ? RATE_MAX
          : rate(block->targets, correct_seconds(block, &many[STUDY_SHARED]) - block->substeps * tiny_correct);
  machine->substep_floor = positive(tiny_seconds / steps - machine->walk_floor);
  for (int k = 0; k < ROUNDS; k++) {
    fit_hard(machine, &many[STUDY_SHARED], &many[STUDY_HYBRID], &runs->near);
    machine->substep_floor = positive((tiny_seconds - hard_seconds(machine, tiny)) / steps - machine->walk_floor);
  }
  fit_block_walk(machine, block,
                 of_block - block->substeps * (machine->substep_floor + machine->walk_floor) -
                     block->targets / machine->correct_rate);
}

/* --- several ranks ----------------------------------------------------------------------------------------------- */

/* What a block step of few particles takes beside its interactions. */
static double one_block_step(const struct machine *machine, const struct bench_step *step)
{
  double seconds = step->seconds[PHASE_hard_walk] + step->seconds[PHASE_correct] - hard_seconds(machine, step);
  return step->substeps > 0 ? seconds / step->substeps : 0;
}

static double let_seconds(const struct bench_step *b, const struct bench_step *alone)
{
  return positive(b->seconds[PHASE_hard_let] - alone->seconds[PHASE_hard_let]);
}

/* Seconds of an exchange of LETs within a soft step, beside their bytes. */
static double one_exchange(const struct machine *machine, const struct bench_step *b, const struct bench_step *alone)
{
  return b->exchanges > 0 ? positive(let_seconds(b, alone) - b->update_bytes / machine->let_rate) / b->exchanges : 0;
}

/* LETs: soft ones of few particles, block steps of many, whose bytes are many, and hybrids of both. */
static void fit_lets(struct machine *machine, const struct machine_runs *runs)
{
  const struct bench_step *few = runs->beside[BENCH_FEW], *many = runs->beside[BENCH_MANY], *block = &many[STUDY_BLOCK];
  double of_block = let_seconds(block, &runs->alone[BENCH_MANY][STUDY_BLOCK]);
  machine->let_floor = 0;
  for (int k = 0; k < ROUNDS; k++) {
    machine->let_rate = rate(block->update_bytes, of_block - block->exchanges * machine->let_floor);
    machine->let_floor =
        positive(few[STUDY_SHARED].seconds[PHASE_let_select] - few[STUDY_SHARED].let_bytes / machine->let_rate);
  }
  double short_one = one_exchange(machine, &few[STUDY_HYBRID], &runs->alone[BENCH_FEW][STUDY_HYBRID]);
  double long_one = one_exchange(machine, &many[STUDY_HYBRID], &runs->alone[BENCH_MANY][STUDY_HYBRID]);
  machine->hard_let_rate = rate(many[STUDY_HYBRID].particles - few[STUDY_HYBRID].particles, long_one - short_one);
  machine->hard_let_floor = positive(short_one - few[STUDY_HYBRID].particles / machine->hard_let_rate);
}

static void fit_ranks(struct machine *machine, const struct machine_runs *runs)
{
  const struct bench_step *few = runs->beside[BENCH_FEW], *many = runs->beside[BENCH_MANY],
                          *alone = runs->alone[BENCH_FEW];
  double domains = many[STUDY_SHARED].seconds[PHASE_domain] -
                   runs->alone[BENCH_MANY][STUDY_SHARED].seconds[PHASE_domain] -
                   few[STUDY_SHARED].seconds[PHASE_domain] + alone[STUDY_SHARED].seconds[PHASE_domain];
  const struct bench_step *most =
      &many[many[STUDY_BLOCK].migrations > many[STUDY_HYBRID].migrations ? STUDY_BLOCK : STUDY_HYBRID];
  double more = most->migrations - many[STUDY_SHARED].migrations,
         migrating = most->seconds[PHASE_domain] - many[STUDY_SHARED].seconds[PHASE_domain];
  machine->domain_rate = rate(many[STUDY_SHARED].particles - few[STUDY_SHARED].particles, domains);
  machine->migrate_rate = more > 0 ? rate(more * most->particles, migrating) : machine->domain_rate;
  machine->ranks_floor =
      positive(bench_other_seconds(&few[STUDY_SHARED]) - few[STUDY_SHARED].seconds[PHASE_let_select] -
               bench_other_seconds(&alone[STUDY_SHARED]) - few[STUDY_SHARED].particles / machine->domain_rate);
  double local = machine->walk_floor +
                 machine_walk(machine, many[STUDY_SHARED].full_pairs, machine->walk_rate * machine->node_factor);
  machine->let_walk_rate = rate(many[STUDY_SHARED].particles * (many[STUDY_SHARED].ranks - 1),
                                many[STUDY_SHARED].seconds[PHASE_walk] - local);
  machine->ranks_substep_floor =
      positive(one_block_step(machine, &few[STUDY_HYBRID]) - one_block_step(machine, &alone[STUDY_HYBRID]));
  fit_lets(machine, runs);
}

void machine_fit(struct machine *machine, const struct machine_runs *runs)
{
  const struct bench_step *few = runs->alone[BENCH_FEW], *many = runs->alone[BENCH_MANY];
  fit_step(machine, &few[STUDY_SHARED], &many[STUDY_SHARED]);
  fit_walk(machine, &few[STUDY_SHARED], &runs->alone[BENCH_SOME][STUDY_SHARED], &many[STUDY_SHARED]);
  machine->split_rate = rate(machine_walk(machine, many[STUDY_HYBRID].full_pairs, 1),
                             many[STUDY_HYBRID].seconds[PHASE_walk] - machine->walk_floor);
  fit_updates(machine, many);
  fit_block_steps(machine, runs);
  if (machine->hard_rate >= RATE_MAX) machine->hard_rate = machine->walk_rate; /* a key that a file must have */
  machine->node_factor = fmin(runs->node_factor, 1);
  fit_ranks(machine, runs);
}

double machine_bytes_rate(double bytes, double seconds, double latency)
{
  return bytes / fmax(seconds - latency, 0.1 * seconds);
}
