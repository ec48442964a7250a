/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tide of a field at a place, from differences of its acceleration, so that every kind of potential has it. */
#include <config.h>
#include <math.h>
#include <string.h>

#include "external/external.h"

#define ROUNDING 1e-6 /* a sum of terms that is smaller, as a part of them, is 0 */

/* Of the external acceleration at a place: itself, its change with time along the path, its derivatives in space. */
struct local {
  double acc[3], rate[3], tensor[3][3]; /* tensor[i][k]: of component i along k */
};

static double length_of(const double a[3]) { return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]); }

static void pull(const struct field_term *term, const double d[3], double acc[3])
{
  double g[3];
  field_term_stiffness(term, d, g);
  for (int c = 0; c < 3; c++) acc[c] = -g[c] * d[c];
}

/* (a(d + s) - a(d - s)) / part for a step s. */
static void difference(const struct field_term *term, const double d[3], const double s[3], double part, double out[3])
{
  double ahead[3], behind[3], at[3];
  for (int c = 0; c < 3; c++) at[c] = d[c] + s[c];
  pull(term, at, ahead);
  for (int c = 0; c < 3; c++) at[c] = d[c] - s[c];
  pull(term, at, behind);
  for (int c = 0; c < 3; c++) out[c] = (ahead[c] - behind[c]) / part;
}

static void add_term(const struct field_term *term, const double x[3], const double v[3], double length,
                     struct local *local)
{
  double d[3], w[3], step[3], change[3];
  for (int c = 0; c < 3; c++) {
    d[c] = x[c] - term->centre[c];
    w[c] = v[c] - term->motion[c];
  }
  pull(term, d, change);
  for (int c = 0; c < 3; c++) local->acc[c] += change[c];
  for (int k = 0; k < 3; k++) {
    for (int c = 0; c < 3; c++) step[c] = c == k ? length : 0;
    difference(term, d, step, 2 * length, change);
    for (int c = 0; c < 3; c++) local->tensor[c][k] += change[c];
  }
  double speed = length_of(w);
  if (!(speed > 0)) return;
  for (int c = 0; c < 3; c++) step[c] = w[c] * (length / speed);
  difference(term, d, step, 2 * length / speed, change);
  for (int c = 0; c < 3; c++) local->rate[c] += change[c];
}

/* What Agama computes: it has second derivatives, and the change along the path is a difference. */
static void add_agama(const struct external *external, double time, const double x[3], const double v[3], double length,
                      struct local *local)
{
  static const int place[3][3] = {{0, 3, 5}, {3, 1, 4}, {5, 4, 2}};
  double gradient[3], ahead[3], behind[3], second[6], to[3], from[3], speed = length_of(v);
  agama_at(external->agama, x, time, gradient, second);
  for (int c = 0; c < 3; c++) {
    local->acc[c] -= external->gravity * gradient[c];
    for (int k = 0; k < 3; k++) local->tensor[c][k] -= external->gravity * second[place[c][k]];
  }
  if (!(speed > 0)) return;
  double dt = length / speed;
  for (int c = 0; c < 3; c++) {
    to[c] = x[c] + v[c] * dt;
    from[c] = x[c] - v[c] * dt;
  }
  agama_at(external->agama, to, time + dt, ahead, second);
  agama_at(external->agama, from, time - dt, behind, second);
  for (int c = 0; c < 3; c++) local->rate[c] -= external->gravity * (ahead[c] - behind[c]) / (2 * dt);
}

/* The largest and the smallest eigenvalue of the symmetric part. */
static void eigenvalues(double t[3][3], double found[2])
{
  double a[3][3], mean = (t[0][0] + t[1][1] + t[2][2]) / 3, size = 0;
  for (int c = 0; c < 3; c++)
    for (int k = 0; k < 3; k++) {
      a[c][k] = (t[c][k] + t[k][c]) / 2 - (c == k ? mean : 0);
      size += a[c][k] * a[c][k];
    }
  double p = sqrt(size / 6), cube = p * p * p;
  double determinant = a[0][0] * (a[1][1] * a[2][2] - a[1][2] * a[2][1]) -
                       a[0][1] * (a[1][0] * a[2][2] - a[1][2] * a[2][0]) +
                       a[0][2] * (a[1][0] * a[2][1] - a[1][1] * a[2][0]);
  double angle = acos(cube > 0 ? fmin(fmax(determinant / (2 * cube), -1), 1) : 1) / 3;
  found[0] = mean + 2 * p * cos(angle);
  found[1] = mean + 2 * p * cos(angle + 2 * M_PI / 3);
}

/* In a frame that rotates the field has the centrifugal force already. In one at rest the angular velocity of an orbit
 * is that with which the direction of the acceleration turns: about a centre of force it is that about this centre,
 * wherever it is. */
static void set_tide(struct local *local, double spin, struct tide *tide)
{
  double eigen[2], square = 0, acc = length_of(local->acc);
  eigenvalues(local->tensor, eigen);
  for (int c = 0; c < 3 && acc > 0; c++) {
    int a = (c + 1) % 3, b = (c + 2) % 3;
    double turn = (local->acc[a] * local->rate[b] - local->acc[b] * local->rate[a]) / (acc * acc);
    square += turn * turn;
  }
  if (spin != 0) square = 0;
  double largest = fmax(fabs(eigen[0]), fabs(eigen[1])), sum = eigen[0] + square;
  tide->spin = spin;
  tide->stretch = fabs(sum) > ROUNDING * (largest + square + spin * spin) ? sum : 0;
  tide->reach = spin != 0 ? HUGE_VAL : largest > 0 ? acc / largest : 0;
}

void external_tide(const struct external *external, double time, const double x[3], const double v[3], double length,
                   struct tide *tide)
{
  struct field field;
  struct local local = {.acc = {0}};
  external_field(external, time, &field);
  for (int k = 0; k < field.count; k++) add_term(&field.term[k], x, v, length, &local);
  if (external->agama) add_agama(external, time, x, v, length, &local);
  set_tide(&local, field.spin, tide);
}
