/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Distances from boxes: box[6] = low[3], high[3], closed; low > high: empty. For host and device. */
#ifndef REACH_H
#define REACH_H
#include "base/hd.h"

/* 1: the box has no point. */
HD int reach_empty(const double box[6]) { return box[0] > box[3] || box[1] > box[4] || box[2] > box[5]; }

/* Least distance squared of two boxes that are not empty. Symmetric to the last bit. */
HD double reach_boxes2(const double a[6], const double b[6])
{
  double sum = 0;
  for (int c = 0; c < 3; c++) {
    double above = a[c] - b[3 + c], below = b[c] - a[3 + c], gap = above > below ? above : below;
    if (gap > 0) sum += gap * gap;
  }
  return sum;
}

/* Vector from the box to the point x, 0 along axes along which x is inside: component c. */
HD double reach_gap(const double box[6], int c, double x)
{
  return x < box[c] ? x - box[c] : x > box[3 + c] ? x - box[3 + c] : 0;
}

/* Half the derivative, by the fraction t of the path, of the distance squared of x + t way from the box. Ascends with
 * t. */
HD double reach_slope(const double x[3], const double way[3], const double box[6], double t)
{
  double sum = 0;
  for (int c = 0; c < 3; c++) sum += way[c] * reach_gap(box, c, x[c] + t * way[c]);
  return sum;
}

/* Least distance squared from the box, which is not empty, of a particle that moves from x with velocity v for the time
 * `horizon`. The distance squared is a convex function of time, a parabola between the times at which the particle
 * crosses a face's plane. */
HD double reach_path2(const double x[3], const double v[3], double horizon, const double box[6])
{
  double way[3], t0 = 0, t1 = 1, t, sum = 0;
  for (int c = 0; c < 3; c++) way[c] = horizon * v[c];
  double s0 = reach_slope(x, way, box, 0), s1 = s0 >= 0 ? s0 : reach_slope(x, way, box, 1);
  /* narrow [t0, t1], in which the slope is 0 somewhere, to a single parabola */
  for (int k = 0; k < 6 && s0 < 0 && s1 > 0; k++) {
    double crossing = way[k % 3] != 0 ? (box[k] - x[k % 3]) / way[k % 3] : 0;
    if (!(crossing > t0 && crossing < t1)) continue;
    double s = reach_slope(x, way, box, crossing);
    if (s < 0) {
      t0 = crossing;
      s0 = s;
    } else {
      t1 = crossing;
      s1 = s;
    }
  }
  t = s0 >= 0 ? t0 : s1 <= 0 ? t1 : t0 - s0 * (t1 - t0) / (s1 - s0);
  for (int c = 0; c < 3; c++) {
    double gap = reach_gap(box, c, x[c] + t * way[c]);
    sum += gap * gap;
  }
  return sum;
}
#endif
