/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "run/start.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/memory.h"
#include "io/input/initial.h"
#include "params/params_external.h"
#include "step/expansion.h"

/* Pair forces and multipole moments are computed in float32, whose range ends at 1e38. */
#define FLOAT_MAX 1e36
#define SOFTENING_MIN 1e-11
#define RESOLUTION 0x1p-26   /* shortest distance that counts without softening, in units of the largest coordinate; the lattice spacing is shorter */

/* A fault where lengths, masses or velocities could overflow float32. Collective. 0 or -1. */
static int check_range(const struct comm *c, const struct particles *p, const struct params *par, struct fault *f)
{
  double length = 0, mass = 0, speed = 0;
  int64_t count = p->n;
  for (int64_t i = 0; i < 3 * p->n; i++) {
    length = fmax(length, fabs(p->pos[i]));
    speed = fmax(speed, fabs(p->vel[i]));
  }
  for (int64_t i = 0; i < p->n; i++) mass += p->mass[i];
  comm_max_double(c, &length, 1);
  comm_max_double(c, &speed, 1);
  comm_sum_double(c, &mass, 1);
  comm_sum_int64(c, &count, 1);
  double softening = params_softening(par, NULL), size = fmax(length, softening);
  if (!(size > 0)) size = 1;   /* all at the origin, without softening */
  double eps = softening > 0 ? softening : RESOLUTION * size, typical = mass / size;
  const char *advice = "choose units of length and mass nearer to those of the system (pair forces are computed in single precision)";
  if (softening > 0 && eps < SOFTENING_MIN)
    return fault_set(f, "Softening = %g is below %g (0: none): %s", eps, SOFTENING_MIN, advice);
  if (size * size * fmax(mass, 1) > FLOAT_MAX || speed > FLOAT_MAX)
    return fault_set(f, "coordinates up to %g and a mass of %g in all are too large: %s", length, mass, advice);
  if (count < 2) return 0;   /* no forces */
  double density = fmax(mass, 1) / (eps * eps * eps);
  if (softening > 0 && density > FLOAT_MAX) return fault_set(f, "a mass of %g within a softening of %g is too dense: %s", mass, eps, advice);
  if (density > FLOAT_MAX)
    return fault_set(f, "Softening = 0, and coordinates are at most %g: forces of a mass of %g at 2^-26 of that, which single precision must "
                     "represent, are too large; choose a unit of length so that coordinates are about 1", size, mass);
  if (typical / (size * size) * 1e-10 < 1 / FLOAT_MAX || 1 / (size * size * size) < 1 / FLOAT_MAX)
    return fault_set(f, "forces of a mass of %g at distances up to %g are too small: %s", mass, size, advice);
  if (params_order(par) == 2 && (pow(size, 5) > FLOAT_MAX || (softening > 0 && pow(eps, -5) * fmax(1, mass) > FLOAT_MAX * 100)))
    return fault_set(f, "lengths from %g to %g are too wide a range for MultipoleOrder = 2: set MultipoleOrder = 1, or %s", eps, size, advice);
  return 0;
}

int check_result(const struct params *par, const char *output, int overwrite, struct fault *f)
{
  if (access(output, F_OK)) return 0;
  if (!overwrite) return fault_set(f, "%s: already exists; give another name, or --overwrite to replace it", output);
  if (!initial_holds(par->InitCondFile, par->ICFormat, output)) return 0;
  return fault_set(f, "%s: is the input, InitCondFile = %s; give another name", output, par->InitCondFile);
}

int check_times(const struct params *par, double begin, struct fault *f)
{
  if (begin < par->TimeMax) return 0;
  return fault_set(f, "%s is at time %g, which is not before TimeMax = %g", par->InitCondFile, begin, par->TimeMax);
}

void print_nothing_left(const char *path, double time, const struct params *par)
{
  printf("%s is at time %g, which is not before TimeMax = %g: there is nothing left to do\n", path, time, par->TimeMax);
}

int check_steps(long long limit, long long step, const char *path, struct fault *f)
{
  if (limit < 0 || limit >= step) return 0;
  return fault_set(f, "-n %lld: the checkpoint %s is in soft step %lld, and -n counts from the beginning of the simulation; give %lld "
                   "or more, or an earlier checkpoint", limit, path, step, step);
}

/* All ranks must use the same backend, because it defines the messages between them. Collective. */
static void check_same_backend(const struct comm *c, const struct backend *be, struct fault *f)
{
  int cuda = be == &backend_cuda;
  if (comm_max_int64(c, cuda) != comm_min_int64(c, cuda))
    fault_set(f, "some ranks have a CUDA device, others have none: set Backend = cpu, or start ranks only where there are devices");
}

int sim_choose_backend(const struct comm *c, const struct params *par, const struct backend **be, struct fault *f)
{
  char why[256];
  *be = backend_choose(par->Backend, why, sizeof why);
  if (!*be) fault_set(f, "%s", why);
  else if (!backend_walks(*be, (enum walk_method)par->WalkMethod, c->size, why, sizeof why)) fault_set(f, "%s", why);
  else params_check_ranks(par, c->size, f);
  if (comm_agree(c, f)) return -1;
  check_same_backend(c, *be, f);
  return comm_agree(c, f);
}

/* The type with the smallest softening of those that have particles. Collective. */
static uint8_t sharpest_type(const struct comm *c, const struct params *par, const struct particles *p)
{
  int64_t of_type[PARTICLE_TYPES] = {0};
  int best = -1;
  for (int64_t i = 0; i < p->n; i++) of_type[p->type[i]]++;
  comm_sum_int64(c, of_type, PARTICLE_TYPES);
  for (int t = 0; t < PARTICLE_TYPES; t++)
    if (of_type[t] > 0 && (best < 0 || params_softening_of(par, t) < params_softening_of(par, best))) best = t;
  return (uint8_t)(best < 0 ? 0 : best);
}

/* Collective. 0 or -1. */
static int add_particles(const struct comm *c, const struct params *par, struct particles *p, const struct start_points *more, struct fault *f)
{
  uint64_t largest = 0, *all;
  size_t bytes;
  int64_t before = comm_exscan_int64(c, more->n), total = more->n;
  for (int64_t i = 0; i < p->n; i++) largest = p->id[i] > largest ? p->id[i] : largest;
  comm_sum_int64(c, &total, 1);
  all = comm_gather(c, &largest, sizeof largest, &bytes);
  for (int r = 0; r < c->size; r++) largest = all[r] > largest ? all[r] : largest;
  memory_free(all);
  if (largest > UINT64_MAX - 1 - (uint64_t)total)
    return fault_set(f, "ids up to %llu leave none for %lld points", (unsigned long long)largest, (long long)total);
  *more->first_id = largest + 1;
  uint8_t type = sharpest_type(c, par, p);
  particles_reserve(p, p->n + more->n);
  for (int k = 0; k < particle_field_count; k++)
    memset(*particles_array(p, &particle_fields[k]) + particle_fields[k].bytes * (size_t)p->n, 0, particle_fields[k].bytes * (size_t)more->n);
  for (int64_t i = 0; i < more->n; i++) {
    memcpy(&p->pos[3 * (p->n + i)], more->at[i], sizeof more->at[i]);
    p->id[p->n + i] = *more->first_id + (uint64_t)(before + i);
    p->type[p->n + i] = type;
  }
  p->n += more->n;
  return 0;
}

/* Open a system of the particles `p`, which are in the user's frame at the time `begin`; a fault that is set counts as one of this function.
 * Collective. 0, or -1 with the particles freed. */
static int start_at(struct sim *s, const struct comm *c, const struct params *par, const struct backend *be, struct particles *p, double begin,
                    struct fault *f)
{
  struct frame frame;
  const struct params known = params_of_run(par, 0, be->particle_bytes > 0);
  double factor = expansion_velocity(par, begin);
  for (int64_t i = 0; i < 3 * p->n && factor != 1; i++) p->vel[i] *= factor;
  if (external_given(par)) frame = (struct frame){.begin = begin};   /* its potentials are at places in the user's frame */
  else frame_choose(&frame, c, p, begin);
  check_range(c, p, &known, f);
  if (comm_agree(c, f)) {
    particles_free(p);
    return -1;
  }
  if (sim_open(s, c, par, be, p, f)) {
    sim_close(s);
    return -1;
  }
  s->time = begin;
  s->frame = frame;
  s->frame.begin = expansion_frame_time(s, begin);
  if (external_check_times(&s->external, s->time, par->TimeMax, f)) {
    sim_close(s);
    return -1;
  }
  return 0;
}

static int start(struct sim *s, const struct comm *c, const struct params *par, int warn, const struct start_points *more, struct fault *f)
{
  struct particles p;
  struct initial_facts facts;
  const struct backend *be;
  if (sim_choose_backend(c, par, &be, f)) return -1;
  particles_init(&p);
  if (initial_read(c, par->InitCondFile, par->ICFormat, &p, &facts, f)) return -1;
  if (c->rank == 0 && warn) {
    struct initial_facts unknown = facts;
    if (par->Comoving) initial_take_cosmology(&unknown);
    initial_warn(par->InitCondFile, &unknown, stderr, "espalier: warning: ");
    units_warn(par, stderr, "espalier: warning: ");
  }
  initial_check_units(par->InitCondFile, &facts, par, f);
  if (more && !f->text[0]) add_particles(c, par, &p, more, f);
  return start_at(s, c, par, be, &p, facts.own ? facts.time : par->TimeBegin, f);
}

int sim_start(struct sim *s, const struct comm *c, const struct params *par, struct fault *f) { return start(s, c, par, 1, NULL, f); }
int sim_start_silently(struct sim *s, const struct comm *c, const struct params *par, struct fault *f) { return start(s, c, par, 0, NULL, f); }

int sim_start_with(struct sim *s, const struct comm *c, const struct params *par, const struct start_points *more, struct fault *f)
{
  return start(s, c, par, 1, more, f);
}

int sim_start_given(struct sim *s, const struct comm *c, const struct params *par, struct particles *p, double begin,
                    const struct start_points *more, struct fault *f)
{
  const struct backend *be;
  if (sim_choose_backend(c, par, &be, f) || initial_check(c, "particles", p, f)) {
    particles_free(p);
    return -1;
  }
  if (more) add_particles(c, par, p, more, f);
  return start_at(s, c, par, be, p, begin, f);
}
