/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "stops.h"

#include <mpi.h>
#include <stopcond.h>

static double began;
static long steps;
static int time_over, steps_over, outside;
static double box_centre[3];

void stops_declare(void)
{
  set_support_for_condition(COLLISION_DETECTION);
  set_support_for_condition(TIMEOUT_DETECTION);
  set_support_for_condition(NUMBER_OF_STEPS_DETECTION);
  set_support_for_condition(OUT_OF_BOX_DETECTION);
}

void stops_begin(void)
{
  reset_stopping_conditions();
  began = MPI_Wtime();
  steps = 0;
  time_over = steps_over = outside = 0;
}

int stops_ask_for_touches(void) { return (enabled_conditions & COLLISION_DETECTION_BITMAP) != 0; }

/* Whether a particle of this rank is outside the sphere. */
static int any_outside(espalier *sim)
{
  struct espalier_view view;
  double sums[4] = {0};
  espalier_look(sim, &view);
  for (int64_t i = 0; use_center_of_mass_parameter && i < view.count; i++) {
    sums[3] += view.mass[i];
    for (int c = 0; c < 3; c++) sums[c] += view.mass[i] * (view.position[3 * i + c] + view.place[c]);
  }
  MPI_Allreduce(MPI_IN_PLACE, sums, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (int c = 0; c < 3; c++) box_centre[c] = sums[3] > 0 ? sums[c] / sums[3] : 0;
  for (int64_t i = 0; i < view.count; i++) {
    double r2 = 0;
    for (int c = 0; c < 3; c++) {
      double x = view.position[3 * i + c] + view.place[c] - box_centre[c];
      r2 += x * x;
    }
    if (r2 > out_of_box_parameter * out_of_box_parameter) return 1;
  }
  return 0;
}

int stops_reached(espalier *sim)
{
  int now[3] = {0};
  steps++;
  if (!(enabled_conditions & (TIMEOUT_DETECTION_BITMAP | NUMBER_OF_STEPS_DETECTION_BITMAP | OUT_OF_BOX_DETECTION_BITMAP))) return 0;
  if (enabled_conditions & TIMEOUT_DETECTION_BITMAP) now[0] = MPI_Wtime() - began > timeout_parameter;
  if (enabled_conditions & NUMBER_OF_STEPS_DETECTION_BITMAP) now[1] = steps >= number_of_steps_parameter;
  if (enabled_conditions & OUT_OF_BOX_DETECTION_BITMAP) now[2] = any_outside(sim);
  MPI_Allreduce(MPI_IN_PLACE, now, 3, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  time_over = now[0], steps_over = now[1], outside = now[2];
  return time_over || steps_over || outside;
}

static int note(int type)
{
  int k = next_index_for_stopping_condition();
  if (k >= 0) set_stopping_condition_info(k, type);
  return k;
}

void stops_note(const struct store *s, const struct touches *fresh, int rank)
{
  for (int64_t k = 0; k < fresh->n; k++) {
    int at = note(COLLISION_DETECTION);
    for (int l = 0; at >= 0 && l < 2; l++) set_stopping_condition_particle_index(at, l, fresh->pair[k].index[l]);
  }
  if (time_over) note(TIMEOUT_DETECTION);
  if (steps_over) note(NUMBER_OF_STEPS_DETECTION);
  if (!outside) return;
  if (rank != 0) {
    note(OUT_OF_BOX_DETECTION);
    return;
  }
  for (int64_t k = 0; k < s->n; k++) {
    double r2 = 0;
    for (int c = 0; c < 3; c++) r2 += (s->body[k].x[c] - box_centre[c]) * (s->body[k].x[c] - box_centre[c]);
    if (s->body[k].index < 0 || !(r2 > out_of_box_parameter * out_of_box_parameter)) continue;
    int at = note(OUT_OF_BOX_DETECTION);
    if (at < 0) return;
    set_stopping_condition_particle_index(at, 0, s->body[k].index);
  }
}
