/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two galaxies on Kepler's orbit of their total masses, in the plane z = 0 with its pericentre on the x axis: at the
 * true anomaly -nu the separation is p / (1 + e cos nu), p = (1 + e) pericentre, and the relative velocity (G M /
 * p)^(1/2) (sin nu, e + cos nu). A galaxy is first inclined about the x axis, then turned by its node about the z
 * axis. */
#include <config.h>
#include <math.h>

#include "ic/galaxy/model.h"

static void turn(double degrees_inclination, double degrees_node, double out[3][3])
{
  double i = degrees_inclination * M_PI / 180, n = degrees_node * M_PI / 180;
  double rows[3][3] = {
      {cos(n), -sin(n) * cos(i), sin(n) * sin(i)}, {sin(n), cos(n) * cos(i), -cos(n) * sin(i)}, {0, sin(i), cos(i)}};
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 3; b++) out[a][b] = rows[a][b];
}

/* place becomes that after another rotation and shift. */
static void move(struct galaxy_place *place, double rotation[3][3], const double x[3], const double v[3])
{
  struct galaxy_place old = *place;
  for (int a = 0; a < 3; a++) {
    place->x[a] = x[a];
    place->v[a] = v[a];
    for (int b = 0; b < 3; b++) {
      place->x[a] += rotation[a][b] * old.x[b];
      place->v[a] += rotation[a][b] * old.v[b];
      place->rotation[a][b] = 0;
      for (int k = 0; k < 3; k++) place->rotation[a][b] += rotation[a][k] * old.rotation[k][b];
    }
  }
}

int orbit_place(const struct galaxy_orbit *orbit, struct galaxy_model *model, int first, struct fault *fault)
{
  double e = orbit->eccentricity, p = orbit->pericentre * (1 + e), mass[2] = {0, 0};
  if (orbit->separation < orbit->pericentre)
    return fault_set(fault, "[Orbit] Separation: expected at least Pericentre = %g, found %g", orbit->pericentre,
                     orbit->separation);
  if (e < 1 && orbit->separation > p / (1 - e) * (1 + 1e-9))
    return fault_set(fault, "[Orbit] Separation: expected at most the apocentre %g of this orbit, found %g",
                     p / (1 - e), orbit->separation);
  for (int i = 0; i < model->count; i++) mass[i >= first] += galaxy_mass(&model->galaxy[i]);
  double cosine = e > 0 ? fmin(fmax((p / orbit->separation - 1) / e, -1), 1) : 1, sine = sqrt(1 - cosine * cosine);
  double speed = sqrt(model->galaxy[0].gravity * (mass[0] + mass[1]) / p);
  const double x[3] = {orbit->separation * cosine, -orbit->separation * sine, 0},
               v[3] = {speed * sine, speed * (e + cosine), 0};
  for (int i = 0; i < model->count; i++) {
    int second = i >= first;
    double rotation[3][3], lever = (second ? mass[0] : -mass[1]) / (mass[0] + mass[1]), at[3], motion[3];
    turn(orbit->inclination[second], orbit->node[second], rotation);
    for (int k = 0; k < 3; k++) {
      at[k] = lever * x[k];
      motion[k] = lever * v[k];
    }
    move(&model->place[i], rotation, at, motion);
  }
  return 0;
}
