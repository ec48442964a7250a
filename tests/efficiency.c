/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The efficiencies of made-up runs on several ranks. */
#include <config.h>
#include "run/traffic.h"

#include <math.h>

#include "tap.h"

/* Useful times of ranks in so many elapsed seconds. */
static struct efficiency of(int ranks, const double *useful, double elapsed)
{
  double sum = 0, most = 0;
  for (int r = 0; r < ranks; r++) {
    sum += useful[r];
    most = fmax(most, useful[r]);
  }
  return efficiency_of(sum / ranks, most, elapsed);
}

static void check(struct efficiency e, double balance, double communication, const char *what)
{
  tap_ok(fabs(e.load_balance - balance) < 1e-12 && fabs(e.communication - communication) < 1e-12 &&
             fabs(e.parallel - balance * communication) < 1e-12,
         what);
}

int main(void)
{
  check(of(4, (double[]){10, 10, 10, 10}, 10), 1, 1, "all ranks compute all of the time");
  check(of(4, (double[]){10, 5, 5, 0}, 10), 0.5, 1, "three wait for the first: its load is too large");
  check(of(2, (double[]){5, 5}, 10), 1, 0.5, "two that wait for each other in turn");
  check(of(2, (double[]){8, 4}, 16), 0.75, 0.5, "unequal loads, and messages for half of the time");
  check(of(2, (double[]){10, 8}, 9.999), 0.9, 1, "clocks that differ give no more than 1");
  check(of(2, (double[]){0, 0}, 0), 1, 1, "no time has passed");
  return tap_end();
}
