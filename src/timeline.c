/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "timeline.h"

#include <math.h>

double timeline_step(double now, double target, double wanted, int *last)
{
  double left = target - now, steps = ceil(left / wanted * (1 - 1e-10));
  if (!(steps > 1)) {
    *last = 1;
    return left;
  }
  *last = 0;
  return left / steps;
}

double timeline_next_output(double begin, double interval, double now, double end)
{
  if (interval <= 0) return end;
  double count = floor((now - begin) / interval * (1 + 1e-12) + 1e-9) + 1, next = begin + count * interval;
  return next < end - 1e-9 * interval ? next : end;
}
