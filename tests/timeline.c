/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "particles/timeline.h"

#include "chance.h"
#include "tap.h"

static void check_levels(struct random *random)
{
  int smallest = 1, sums = 1;
  for (int i = 0; i < 100000; i++) {
    double soft = random_log(random, 1e-6, 1e3), wanted = soft * random_log(random, 1e-7, 4);
    int level = timeline_level(soft, wanted);
    double own = soft * timeline_ticks(level) / TICKS;
    smallest &= own <= wanted || level == LEVEL_MAX;
    smallest &= level == 0 || 2 * own > wanted;
  }
  for (int level = 0; level <= TIMELINE_BITS; level++) sums &= (int64_t)timeline_ticks(level) << level == TICKS;
  tap_ok(smallest, "a level's step is the largest power of two that is short enough");
  tap_ok(sums, "2^k steps of level k are one soft step");
  tap_ok(timeline_level(1, 1) == 0 && timeline_level(1, 0.5) == 1 && timeline_level(1, 0.49999) == 2,
         "steps that just fit");
  tap_ok(timeline_level(1, 0) == LEVEL_MAX && timeline_level(1, 1e-30) == LEVEL_MAX && timeline_level(1, 1e300) == 0,
         "the deepest level and the first");
}

/* A particle that chooses levels at random and begins a step only where it is aligned arrives at TICKS exactly. */
static void check_alignment(struct random *random)
{
  int aligned = 1, smallest = 1, arrived = 1;
  for (int i = 0; i < 2000; i++) {
    int32_t tick = 0;
    for (int steps = 0; tick < TICKS && steps < 100000; steps++) {
      int asked = (int)(random_bits(random) % 9), level = timeline_aligned(tick, asked);
      aligned &= tick % timeline_ticks(level) == 0 && level >= asked;
      for (int k = asked; k < level; k++) smallest &= tick % timeline_ticks(k) != 0;
      tick += timeline_ticks(level);
    }
    arrived &= tick == TICKS;
  }
  tap_ok(aligned, "a step begins at a multiple of its length");
  tap_ok(smallest, "and is as long as that allows");
  tap_ok(arrived, "for all levels, every particle arrives at the end of the soft step");
  tap_ok(timeline_aligned(1, 0) == TIMELINE_BITS && timeline_aligned(TICKS / 2, 0) == 1,
         "alignment at odd and even ticks");
}

static void check_steps(struct random *random)
{
  int hits = 1, equal = 1, short_enough = 1, few = 1;
  for (int i = 0; i < 3000; i++) {
    double begin = random_between(random, -10, 1e3), target = begin + random_log(random, 1e-3, 10),
           wanted = (target - begin) * random_log(random, 3e-3, 3);
    double now = begin, first = -1;
    int last = 0, count = 0;
    while (!last && count < 1000) {
      double dt = timeline_step(now, target, wanted, &last);
      if (first < 0) first = dt;
      equal &= fabs(dt / first - 1) < 1e-6;
      short_enough &= dt <= wanted * (1 + 1e-6) && dt > 0;
      now = last ? target : now + dt;
      hits &= !last || fabs(now - dt - (target - dt)) < 1e-9;
      count++;
    }
    hits &= last && now == target;
    few &= count == (int)ceil((target - begin) / wanted * (1 - 1e-9)) || count == (int)ceil((target - begin) / wanted);
  }
  tap_ok(hits, "steps lead to the target");
  tap_ok(equal, "in equal steps");
  tap_ok(short_enough, "none longer than wanted");
  tap_ok(few, "and no more of them than needed");
  int last = 0;
  tap_ok(timeline_step(3, 5, 1e300, &last) == 2 && last, "an unlimited step is the whole distance");
  tap_ok(timeline_step(0, 1, 0.25, &last) == 0.25 && !last && timeline_step(0.75, 1, 0.25, &last) == 0.25 && last,
         "quarters");
}

static void check_outputs(struct random *random)
{
  int all = 1;
  for (int i = 0; i < 1000; i++) {
    double begin = random_between(random, -5, 5), interval = random_log(random, 1e-2, 1),
           end = begin + random_between(random, 0.1, 20) * interval;
    double now = begin;
    int count = 0;
    while (now < end && count < 100) {
      double next = timeline_next_output(begin, interval, now, end);
      count++;
      all &= next > now && next <= end;
      all &= next == end || fabs(next - (begin + count * interval)) < 1e-12 * (1 + fabs(next));
      now = next;
    }
    all &= now == end && count <= 21;
  }
  tap_ok(all, "outputs are at every multiple of the interval, none twice, and at the end");
  tap_ok(timeline_next_output(0, 0, 0.3, 2) == 2, "without an interval only at the end");
  tap_ok(timeline_next_output(0, 0.1, 0.3, 1) == 4 * 0.1 && timeline_next_output(0, 0.1, 0.1 + 0.2, 1) == 4 * 0.1,
         "a time that rounding put beside a multiple is that multiple");
  tap_ok(timeline_next_output(0, 0.1, 0.9, 1) == 1 && timeline_next_output(0, 0.3, 0.6, 0.9) == 0.9,
         "the last multiple is the end itself");
}

int main(void)
{
  struct random r = {4};
  check_levels(&r);
  check_alignment(&r);
  check_steps(&r);
  check_outputs(&r);
  return tap_end();
}
