/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The fit of study machine: soft steps whose seconds follow from a known machine give its numbers back. */
#include <config.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "forecast/machine_fit.h"
#include "tap.h"

static const struct machine given = {.step_floor = 2e-4,
                                     .step_rate = 4e9,
                                     .tree_floor = 1e-4,
                                     .walk_floor = 3e-4,
                                     .walk_rate = 1.7e12,
                                     .walk_fill = 4e8,
                                     .block_fill = 4e8,
                                     .split_rate = 1.2e12,
                                     .block_rate = 1.1e12,
                                     .hard_rate = 1e11,
                                     .hard_target_rate = 5e9,
                                     .order_rate = 4e9,
                                     .build_rate = 6e9,
                                     .rebuild_rate = 3e9,
                                     .update_rate = 1e10,
                                     .correct_rate = 4e9,
                                     .substep_floor = 5e-5,
                                     .node_factor = 0.9,
                                     .ranks_floor = 7e-4,
                                     .ranks_substep_floor = 2e-4,
                                     .domain_rate = 5e9,
                                     .migrate_rate = 2e10,
                                     .let_walk_rate = 1e9,
                                     .let_floor = 4e-4,
                                     .hard_let_floor = 6e-4,
                                     .hard_let_rate = 1e10,
                                     .let_rate = 1e11};

/* Counts of a soft step of n particles: block steps at 7 ticks, in which a quarter is active in the mean. */
static void count(struct bench_step *step, double n, int ranks, enum study_scheme scheme, double list)
{
  memset(step, 0, sizeof *step);
  step->particles = n;
  step->ranks = ranks;
  step->full_pairs = 5000 * n;
  step->migrations = 1;
  step->let_bytes = 20 * n;
  step->level[0] = n;
  if (scheme == STUDY_SHARED) return;
  step->level[0] = 0.5 * n;
  step->level[1] = 0.3 * n;
  step->level[2] = 0.15 * n;
  step->level[3] = 0.05 * n;
  step->substeps = 7;
  step->targets = 0.5 * n + 2 * 0.2 * n + 4 * 0.05 * n;
  step->hard_pairs = step->targets * (scheme == STUDY_BLOCK ? 5000 : list);
  step->builds = scheme == STUDY_BLOCK ? 7 : 1;
  step->updates = scheme == STUDY_BLOCK ? 1 : 4;
  step->built = scheme == STUDY_BLOCK ? 0.6 * step->builds * n : n; /* most trees are of fast particles */
  step->exchanges = 4;
  step->migrations = scheme == STUDY_HYBRID ? 3 : 1;
  step->update_bytes = scheme == STUDY_BLOCK ? 600 * n : 40 * n;
}

/* Seconds of the interactions of block steps. */
static double block_walks(const struct machine *machine, const struct bench_step *step)
{
  double sum = 0, deeper = 0;
  for (int l = 3; l > 0; l--) {
    deeper += step->level[l];
    sum += exp2(l - 1) * machine_block_walk(machine, 5000 * deeper, 0);
  }
  return sum;
}

/* What it takes on the machine. */
static void spend(struct bench_step *step, enum study_scheme scheme)
{
  const struct machine *m = &given;
  double n = step->particles, *s = step->seconds;
  s[PHASE_diagnostics] = m->step_floor + n / m->step_rate;
  s[PHASE_order] = m->tree_floor + n / m->order_rate + step->builds * m->tree_floor + step->built / m->rebuild_rate;
  s[PHASE_build] = n / m->build_rate;
  s[PHASE_moments] = step->updates * n / m->update_rate;
  s[PHASE_walk] =
      m->walk_floor + machine_walk(m, step->full_pairs, scheme == STUDY_HYBRID ? m->split_rate : m->walk_rate);
  s[PHASE_correct] = step->targets / m->correct_rate;
  s[PHASE_hard_walk] = step->substeps * (m->substep_floor + m->walk_floor);
  if (scheme == STUDY_HYBRID)
    s[PHASE_hard_walk] += step->targets / m->hard_target_rate + step->hard_pairs / m->hard_rate;
  if (scheme == STUDY_BLOCK) s[PHASE_hard_walk] += block_walks(m, step);
  if (step->ranks == 1) return;
  s[PHASE_domain] = m->ranks_floor + n / m->domain_rate + (step->migrations - 1) * n / m->migrate_rate;
  if (scheme == STUDY_SHARED)
    s[PHASE_walk] =
        m->walk_floor + machine_walk(m, step->full_pairs, m->walk_rate * m->node_factor) + n / m->let_walk_rate;
  s[PHASE_let_select] = m->let_floor + step->let_bytes / m->let_rate;
  s[PHASE_hard_walk] += step->substeps * m->ranks_substep_floor;
  if (step->exchanges > 0)
    s[PHASE_hard_let] =
        step->update_bytes / m->let_rate +
        step->exchanges * (scheme == STUDY_HYBRID ? m->hard_let_floor + n / m->hard_let_rate : m->let_floor);
}

static void one(struct bench_step *step, double n, int ranks, enum study_scheme scheme, double list)
{
  count(step, n, ranks, scheme, list);
  spend(step, scheme);
}

static void same(const char *key, double found, double wanted)
{
  char what[120];
  snprintf(what, sizeof what, "%s: %.8g, of %.8g", key, found, wanted);
  tap_ok(fabs(found / wanted - 1) < 1e-3, what);
}

/* Whether the text has a line "KEY = ...". */
static int has_key(const char *text, const char *key)
{
  char line[64];
  snprintf(line, sizeof line, "\n%s = ", key);
  return strstr(text, line) != NULL;
}

/* Rates that no time was seen for: their keys are not in the file, and reading it gives the rates that stand for
 * them. */
static void check_file(struct machine machine)
{
  static char text[1 << 14];
  char path[] = "machine_fit_XXXXXX";
  struct machine read;
  struct fault f = {""};
  machine.update_rate = machine.split_rate = machine.let_rate = machine.correct_rate = MACHINE_NO_RATE;
  machine.network.topology_factor = machine.network.ranks_per_node = machine.network.bandwidth =
      machine.network.node_bandwidth = 1;
  snprintf(machine.name, sizeof machine.name, "a machine");
  int fd = mkstemp(path);
  FILE *file = fd >= 0 ? fdopen(fd, "w+") : NULL;
  if (!file) {
    tap_ok(0, "a file for the machine");
    return;
  }
  machine_write(file, &machine, "a test");
  rewind(file);
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  tap_ok(!has_key(text, "UpdateRate") && !has_key(text, "SplitRate") && !has_key(text, "LetRate") &&
             !has_key(text, "CorrectRate"),
         "rates that were not seen are not in the file");
  tap_ok(has_key(text, "WalkRate") && has_key(text, "BuildRate") && has_key(text, "BlockRate") &&
             has_key(text, "RanksFloor"),
         "... the others are");
  int rc = machine_read(path, &read, &f);
  tap_ok(rc == 0 && read.update_rate == read.build_rate && read.split_rate == read.walk_rate &&
             read.correct_rate == MACHINE_NO_RATE && fabs(read.block_rate / machine.block_rate - 1) < 1e-5,
         f.text[0] ? f.text : "... and the file is read, with the rates that stand for them");
  remove(path);
}

/* Seconds without any work, or less than those of few particles, as noise makes them: finite numbers, as files must
 * have them. */
static void check_noise(struct machine_runs *runs)
{
  struct machine found = {.walk_floor = 0};
  for (int k = 0; k < BENCH_SIZES; k++)
    for (int scheme = 0; scheme < STUDY_SCHEMES; scheme++)
      for (int p = 0; p < PHASE_COUNT; p++)
        runs->alone[k][scheme].seconds[p] = runs->beside[k][scheme].seconds[p] = k == BENCH_FEW ? 1e-3 : 1e-9;
  machine_fit(&found, runs);
  int good = 1;
#define X(section, key, member, low, high, meaning)                              \
  good &= strcmp(#section, "Device") != 0 || strcmp(#key, "MessageCopy") == 0 || \
          (found.member >= (low) && found.member <= (high));
  MACHINE_NUMBERS(X)
#undef X
  tap_ok(good, "many particles that take less than few: every number is one that a file may have");
  /* a long message that takes less than a short one */
  same("Bandwidth", machine_bytes_rate(1e6, 1.25, 0.25), 1e6);
  double most = machine_bytes_rate(1e6, 1e-3, 5e-3);
  tap_ok(most > 0 && most <= 1.001e10,
         "a long message that takes less than a short one: a bandwidth that a file may have");
}

int main(void)
{
  static const double size[BENCH_SIZES] = {1024, 1 << 18, 1 << 21};
  static struct machine_runs r;
  struct machine found = {.walk_floor = 0};
  for (int k = 0; k < BENCH_SIZES; k++)
    for (int scheme = 0; scheme < STUDY_SCHEMES; scheme++) {
      if (k == BENCH_SOME && scheme != STUDY_SHARED) continue;
      one(&r.alone[k][scheme], size[k], 1, (enum study_scheme)scheme, 100);
      one(&r.beside[k][scheme], size[k], 2, (enum study_scheme)scheme, 100);
    }
  one(&r.near, size[BENCH_MANY], 1, STUDY_HYBRID, 20);
  r.node_factor = given.node_factor;
  machine_fit(&found, &r);
#define X(section, key, member, low, high, meaning) \
  if (strcmp(#section, "Device") == 0 && given.member > 0) same(#key, found.member, given.member);
  MACHINE_NUMBERS(X)
#undef X
  check_file(found);

  /* a device, whose corrections end in other phases: the same seconds in all */
  struct machine device = {.device = DEVICE_gpu};
  machine_fit(&device, &r);
  double n = r.alone[BENCH_MANY][STUDY_HYBRID].particles,
         target[2] = {1 / device.hard_target_rate + 1 / device.correct_rate,
                      1 / given.hard_target_rate + 1 / given.correct_rate};
  same("HardTargetRate with CorrectRate on a device", n * target[0], n * target[1]);
  const struct bench_step *block = &r.alone[BENCH_MANY][STUDY_BLOCK];
  same("BlockFill at the rate of full forces", block_walks(&device, block),
       block_walks(&given, block) + block->targets / given.correct_rate);
  tap_ok(device.block_rate == device.walk_rate && device.block_fill > given.block_fill, "... which is BlockRate");

  /* a device whose slowest groups take longer than all interactions of the benchmark */
  static struct machine_runs slow;
  struct machine waits = given, of_slow = {.walk_floor = 0};
  slow = r;
  waits.walk_fill = 2e10;
  for (int k = 0; k < BENCH_SIZES; k++) {
    struct bench_step *b = &slow.alone[k][STUDY_SHARED];
    b->seconds[PHASE_walk] = waits.walk_floor + machine_walk(&waits, b->full_pairs, waits.walk_rate);
  }
  machine_fit(&of_slow, &slow);
  same("WalkFill above the interactions of the benchmark", of_slow.walk_fill, waits.walk_fill);
  same("... and WalkRate", of_slow.walk_rate, waits.walk_rate);

  check_noise(&r);
  return tap_end();
}
