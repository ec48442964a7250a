/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "particles/timeline.h"

#include <float.h>
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
  /* times are rounded sums: an output time within `slack` of `now` counts as reached */
  double slack = 1e-9 * interval + 4 * DBL_EPSILON * fmax(fabs(now), fabs(begin));
  double next = begin + (floor((now - begin + slack) / interval) + 1) * interval;
  return next < end - slack ? next : end;
}
