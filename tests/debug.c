/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "base/debug.h"
#include "particles/timeline.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "tap.h"

/* Whether a list is refused with these words, and leaves the switches as they were. */
static int refused(const char *list, const char *words)
{
  struct fault f = {""};
  double before = debug_value("share", 7);
  return debug_read(list, &f) == -1 && strstr(f.text, words) && debug_value("share", 7) == before;
}

int main(void)
{
  struct fault f = {""};
  double stall[DEBUG_NUMBERS] = {0};
  tap_ok(debug_read(NULL, &f) == 0 && debug_read("", &f) == 0 && debug_value("share", 7) == 7 &&
             !debug_values("stall", stall),
         "no list: nothing is set");
  tap_ok(refused("shared=3", "no switch 'shared'") && refused("share=2,sh=1", "no switch 'sh'") &&
             refused("=2", "no switch ''"),
         "unknown names");
  tap_ok(refused("share", "expected share=NUMBER") && refused("share=", "found 'share='") &&
             refused("share=x", "expected") && refused("share=4x", "expected") && refused("share=1:2", "expected") &&
             refused("share=nan", "expected"),
         "no number, or more than one");
  tap_ok(refused("stall=1:2", "expected stall=NUMBER:NUMBER:NUMBER") && refused("stall=1:2:3:4", "expected") &&
             refused("share=3,stall=1:2,5", "expected"),
         "three numbers, not two and not four");
  tap_ok(
      refused("share=0", "expected a whole number from 1 to 32 for share, found 'share=0'") &&
          refused("share=33", "found 'share=33'") && refused("few_pieces=65", "from 0 to 64") &&
          refused("few_pieces=-1", "from 0 to 64") && refused("fast_level=25", "from 0 to 24") &&
          refused("share=3,first_part=1.5", "expected a number from 0 to 1 for first_part, found 'first_part=1.5'") &&
          refused("first_part=-0.1", "from 0 to 1"),
      "out of range");
  tap_ok(refused("stall=-1:1:1", "from 0 to 2147483647 for stall (number 1 of 3)") &&
             refused("stall=0:0:1", "from 1 to 2147483647 for stall (number 2 of 3)") &&
             refused("stall=0:1:-1,share=3", "for stall (number 3 of 3), found 'stall=0:1:-1'") &&
             refused("stall=0:1:1e7", "from 0 to 1000000"),
         "out of range, one of three");
  tap_ok(refused("share=2.5", "expected a whole number from 1 to 32 for share, found 'share=2.5'") &&
             refused("fast_level=0.5", "whole") && refused("few_pieces=1e-3", "whole") &&
             refused("stall=0:1.5:1", "whole") && refused("stall=0:1:0.5", "(number 3 of 3)"),
         "a fraction where a whole number is expected");
  tap_ok(refused("share=3,share=4", "expected share once, found it again: 'share=4'") &&
             refused("share=3,first_part=0,share=3", "share once"),
         "a name twice");
  tap_ok(debug_read("fast_level=0,few_pieces=0,first_part=0,share=1,stall=0:1:0", &f) == 0 &&
             debug_value("share", 7) == 1 &&
             debug_read("fast_level=24,few_pieces=64,first_part=1,share=32,stall=2147483647:2147483647:1e6", &f) == 0 &&
             debug_value("share", 7) == 32 && debug_values("stall", stall) && stall[0] == INT_MAX,
         "the ends of the ranges");
  for (int k = 0; k < debug_count; k++) debug_set(debug_table[k].name, NAN);
  tap_ok(debug_read("share=4,stall=1:40:90,first_part=1e-1", &f) == 0 && debug_value("share", 7) == 4 &&
             debug_value("first_part", 7) == 0.1 && debug_values("stall", stall) && stall[0] == 1 && stall[1] == 40 &&
             stall[2] == 90 && debug_value("few_pieces", 7) == 7,
         "a list sets what it names");
  debug_set("share", 8);
  debug_set("first_part", NAN);
  tap_ok(debug_value("share", 7) == 8 && debug_value("first_part", 7) == 7, "tests set and unset one");
  int sound = debug_count > 0;
  for (int k = 0; k < debug_count; k++) {
    const struct debug_switch *d = &debug_table[k];
    sound &= d->numbers >= 1 && d->numbers <= DEBUG_NUMBERS && d->meaning[0];
    for (int n = 0; n < DEBUG_NUMBERS; n++)
      sound &= n < d->numbers ? d->range[n].smallest < d->range[n].largest : d->range[n].largest == 0;
    if (strcmp(d->name, "fast_level") == 0) sound &= d->range[0].largest == LEVEL_MAX;
  }
  tap_ok(sound, "every switch has a meaning and ranges; fast_level goes up to the deepest level");
  return tap_end();
}
