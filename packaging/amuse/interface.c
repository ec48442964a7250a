/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions that AMUSE calls, on all ranks of the workers with the same arguments; it takes the answers of rank 0.
 * A function returns 0, or -1 with a sentence for get_last_error. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "stops.h"
#include "calls.h"

static struct model model;

/* The particle of an index, or NULL with a sentence. */
static struct body *find(int index)
{
  struct body *b = store_find(&model.store, index);
  if (!b && model.rank == 0) model_fail(&model, "there is no particle with the index %d", index);
  return b;
}

static void change(enum change what) { model.changed |= (unsigned)what; }

/* --- the life of the code ------------------------------------------------------------------------------------------ */

int initialize_code(void)
{
  model_begin(&model);
  stops_declare();
  return 0;
}

int cleanup_code(void)
{
  model_end(&model);
  return 0;
}

int commit_parameters(void) { return 0; }
int commit_particles(void) { return model_update(&model); }
/* The library has changes when something is asked for that depends on them: a series of changes costs one opening. */
int recommit_parameters(void) { return 0; }
int recommit_particles(void) { return 0; }
int synchronize_model(void) { return 0; }   /* soft steps end at the time that was asked for */
int evolve_model(double time) { return model_evolve(&model, time); }

int get_last_error(char **text)
{
  *text = model.error;
  return 0;
}

/* --- parameters ---------------------------------------------------------------------------------------------------- */

static int set_number(double *to, double value, int good, const char *name)
{
  if (!good) return model_fail(&model, "%s: expected a number that is finite and not negative, found %g", name, value);
  if (*to != value) model.settings_changed = 1;
  *to = value;
  return 0;
}

static int set_word(char *to, const char *value, const char *const *words, const char *name)
{
  for (int k = 0; words[k]; k++) {
    if (strcmp(words[k], value)) continue;
    if (strcmp(to, value)) model.settings_changed = 1;
    strcpy(to, value);
    return 0;
  }
  return model_fail(&model, "%s: expected %s, %s or %s, found '%.60s'", name, words[0], words[1], words[2], value);
}

static int is_size(double value) { return isfinite(value) && value >= 0; }
int set_eps2(double eps2) { return set_number(&model.eps2, eps2, is_size(eps2), "epsilon_squared"); }
int set_largest_step(double step) { return set_number(&model.largest_step, step, is_size(step), "timestep"); }
int set_accuracy(double value) { return set_number(&model.accuracy, value, is_size(value), "accuracy"); }
int set_mode(char *mode) { return set_word(model.mode, mode, (const char *const[]){"auto", "tree", "hybrid", NULL}, "mode"); }

int set_integrator(char *integrator)
{
  return set_word(model.integrator, integrator, (const char *const[]){"auto", "leapfrog", "hermite", NULL}, "integrator");
}

int set_settings(char *settings)
{
  if (strlen(settings) >= sizeof model.settings)
    return model_fail(&model, "settings: %zu characters; expected at most %zu", strlen(settings), sizeof model.settings - 1);
  if (strcmp(model.settings, settings)) model.settings_changed = 1;
  strcpy(model.settings, settings);
  return 0;
}

int set_begin_time(double time)
{
  if (!isfinite(time)) return model_fail(&model, "begin_time: expected a finite number, found %g", time);
  model.begin = time;
  if (model.started || model.time == time) return 0;
  model.time = time;
  change(CHANGED_ALL);
  return 0;
}

static int give(double value, double *to) { return *to = value, 0; }
static int give_text(char *text, char **to) { return *to = text, 0; }
int get_eps2(double *eps2) { return give(model.eps2, eps2); }
int get_largest_step(double *step) { return give(model.largest_step, step); }
int get_accuracy(double *accuracy) { return give(model.accuracy, accuracy); }
int get_begin_time(double *time) { return give(model.begin, time); }
int get_time(double *time) { return give(model.time, time); }
int get_time_step(double *step) { return give(model.last_step, step); }
int get_mode(char **mode) { return give_text(model.mode, mode); }
int get_integrator(char **integrator) { return give_text(model.integrator, integrator); }
int get_settings(char **settings) { return give_text(model.settings, settings); }

int get_number_of_soft_steps(long long int *steps)
{
  *steps = model.steps;
  return 0;
}

/* --- particles ----------------------------------------------------------------------------------------------------- */

int new_particle(int *index, double mass, double x, double y, double z, double vx, double vy, double vz, double radius)
{
  change(CHANGED_ALL);
  *index = 0;
  if (model.rank != 0) return 0;
  struct body *b = store_add(&model.store);
  *index = b->index;
  b->mass = mass, b->radius = radius;
  b->x[0] = x, b->x[1] = y, b->x[2] = z;
  b->v[0] = vx, b->v[1] = vy, b->v[2] = vz;
  return 0;
}

int delete_particle(int index)
{
  change(CHANGED_ALL);
  return find(index) ? store_delete(&model.store, index) : -1;
}

int get_number_of_particles(int *number) { return *number = (int)(model.store.n - model.store.deleted), 0; }

int get_index_of_first_particle(int *index)
{
  const struct body *b = store_next(&model.store, 0);
  *index = b ? b->index : -1;
  return b ? 0 : 1;
}

int get_index_of_next_particle(int index, int *next)
{
  *next = -1;
  if (!find(index)) return -1;
  const struct body *b = store_next(&model.store, index + 1);
  *next = b ? b->index : -1;
  return b ? 0 : 1;
}

static int give_vector(const double *from, double *x, double *y, double *z)
{
  *x = from[0], *y = from[1], *z = from[2];
  return 0;
}

static int set_vector(enum change what, double *to, double x, double y, double z)
{
  change(what);
  if (!to) return -1;
  to[0] = x, to[1] = y, to[2] = z;
  return 0;
}

/* A member of the particle of an index, or NULL. */
#define MEMBER(index, name) (find(index) ? store_find(&model.store, index)->name : NULL)

int get_position(int index, double *x, double *y, double *z)
{
  const double *from = MEMBER(index, x);
  return from ? give_vector(from, x, y, z) : -1;
}

int get_velocity(int index, double *vx, double *vy, double *vz)
{
  const double *from = MEMBER(index, v);
  return from ? give_vector(from, vx, vy, vz) : -1;
}

int set_position(int index, double x, double y, double z) { return set_vector(CHANGED_ALL, MEMBER(index, x), x, y, z); }
int set_velocity(int index, double vx, double vy, double vz) { return set_vector(CHANGED_VELOCITIES, MEMBER(index, v), vx, vy, vz); }

int get_mass(int index, double *mass)
{
  const struct body *b = find(index);
  return b ? give(b->mass, mass) : -1;
}

int set_mass(int index, double mass)
{
  struct body *b = find(index);
  change(CHANGED_MASSES);
  if (b) b->reweighed = 1;
  return b ? give(mass, &b->mass) : -1;
}

int get_radius(int index, double *radius)
{
  const struct body *b = find(index);
  return b ? give(b->radius, radius) : -1;
}

int set_radius(int index, double radius)   /* forces do not depend on it */
{
  struct body *b = find(index);
  if (!is_size(radius)) return model_bad_radius(&model, index, radius);
  return b ? give(radius, &b->radius) : -1;
}

int get_state(int index, double *mass, double *x, double *y, double *z, double *vx, double *vy, double *vz, double *radius)
{
  const struct body *b = find(index);
  if (!b) return -1;
  *mass = b->mass, *radius = b->radius;
  return get_position(index, x, y, z) || get_velocity(index, vx, vy, vz);
}

int set_state(int index, double mass, double x, double y, double z, double vx, double vy, double vz, double radius)
{
  int wrong = set_mass(index, mass) || set_radius(index, radius);
  if (!wrong) set_position(index, x, y, z), set_velocity(index, vx, vy, vz);
  return wrong;
}

int get_acceleration(int index, double *ax, double *ay, double *az)
{
  if (model_forces(&model)) return -1;
  const double *from = MEMBER(index, acc);
  return from ? give_vector(from, ax, ay, az) : -1;
}

int get_potential(int index, double *potential)
{
  if (model_forces(&model)) return -1;
  const struct body *b = find(index);
  return b ? give(b->pot, potential) : -1;
}

/* --- the whole system ----------------------------------------------------------------------------------------------- */

int get_kinetic_energy(double *energy) { return give(store_kinetic(&model.store), energy); }
int get_total_mass(double *mass) { return give(store_mass(&model.store), mass); }

int get_potential_energy(double *energy)
{
  if (model_potential(&model)) return -1;
  return give(model.potential, energy);
}

int get_total_radius(double *radius)
{
  double centre[3], motion[3];
  store_centre(&model.store, centre, motion);
  return give(store_extent(&model.store, centre), radius);
}

int get_center_of_mass_position(double *x, double *y, double *z)
{
  double centre[3], motion[3];
  store_centre(&model.store, centre, motion);
  return give_vector(centre, x, y, z);
}

int get_center_of_mass_velocity(double *vx, double *vy, double *vz)
{
  double centre[3], motion[3];
  store_centre(&model.store, centre, motion);
  return give_vector(motion, vx, vy, vz);
}

/* --- the field ------------------------------------------------------------------------------------------------------- */

/* Points as the library wants them; to be freed. */
static double *points_of(const double *x, const double *y, const double *z, int n)
{
  double *points = malloc(3 * sizeof *points * (size_t)(n + 1));
  for (int k = 0; points && k < n; k++) points[3 * k] = x[k], points[3 * k + 1] = y[k], points[3 * k + 2] = z[k];
  if (!points) abort();
  return points;
}

int get_gravity_at_point(double *eps, double *x, double *y, double *z, double *ax, double *ay, double *az, int n)
{
  (void)eps;   /* the softening is that of the particles */
  double *points = points_of(x, y, z, n), *acc = points_of(x, y, z, n);
  int wrong = model_field(&model, n, points, acc, NULL);
  for (int k = 0; k < n; k++) ax[k] = acc[3 * k], ay[k] = acc[3 * k + 1], az[k] = acc[3 * k + 2];
  free(acc);
  free(points);
  return wrong;
}

int get_potential_at_point(double *eps, double *x, double *y, double *z, double *phi, int n)
{
  (void)eps;
  double *points = points_of(x, y, z, n);
  int wrong = model_field(&model, n, points, NULL, phi);
  free(points);
  return wrong;
}
