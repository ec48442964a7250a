/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "run/guard.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

/* Trees and block steps do not conserve the total momentum exactly. Its largest allowed change, in units of
 * M (v_rms + a_rms dt), is MOMENTUM_CHANGE_MAX + MOMENTUM_CHANGE_FEW / sqrt(N). */
#define MOMENTUM_CHANGE_MAX 0.01
#define MOMENTUM_CHANGE_FEW 1.0
#define FIELD_IMPULSE_MAX 2.0     /* and in an external field so many times its impulse */
#define MASS_CHANGE_MAX 1e-6      /* largest relative change of the total mass: rounding */
enum { NAMED_PARTICLES_MAX = 8 }; /* largest number of particles in a message */

static double length(const double x[3]) { return sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]); }

void guard_remember(struct guard *guard, const struct diagnostics *now, int first)
{
  if (first) {
    guard->particles = now->count;
    guard->mass = now->mass;
  }
  memcpy(guard->momentum, now->momentum, sizeof guard->momentum);
  guard->v_rms = now->v_rms;
  guard->a_rms = now->a_rms;
  guard->field = length(now->force_field);
}

/* A particle named in the message. */
struct named {
  uint64_t id;
  double weight; /* particles of the largest weight are named */
  int kind;      /* what is wrong: an index of `kinds` and `phases` */
};
static const char *const kinds[] = {"position",          "velocity", "acceleration",
                                    "potential or mass", "speed",    "in the external field"};
static const char *const phases[] = {"drift", "kick", "forces", "forces", "kick", "kick"};

static int finite3(const double *x) { return isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]); }
static int finite3f(const float *x) { return isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]); }

/* The kind of value of particle i that is not finite, causes before consequences; -1: all are finite. */
static int bad_value(const struct particles *particles, int64_t i)
{
  if (!finite3f(&particles->acc[3 * i]) || !finite3f(&particles->acc_hard[3 * i])) return 2;
  if (!finite3(&particles->pos[3 * i])) return 0;
  if (!finite3(&particles->vel[3 * i])) return 1;
  return isfinite(particles->pot[i]) && isfinite(particles->mass[i]) ? -1 : 3;
}

void guard_collapsed(struct guard *guard, const double collapsed[3])
{
  if (collapsed[0] == 0 || guard->collapsed[0] > 0) return;
  memcpy(guard->collapsed, collapsed, sizeof guard->collapsed);
  snprintf(guard->untrusted, sizeof guard->untrusted,
           "the step of a close pair collapsed at time %g (soft step %.0f, of length %.3g), and its energy "
           "is not kept from then on",
           collapsed[1], collapsed[0], collapsed[2]);
}

int64_t guard_bad(const struct particles *particles)
{
  int64_t bad = 0;
#pragma omp parallel for schedule(static) reduction(+ : bad)
  for (int64_t i = 0; i < particles->n; i++)
    bad += !finite3(&particles->pos[3 * i]) || !finite3(&particles->vel[3 * i]);
  return bad;
}

/* Insert into a list of the NAMED_PARTICLES_MAX entries of largest weight, in descending order. */
static void insert(struct named *list, int *count, struct named one)
{
  if (*count == NAMED_PARTICLES_MAX && !(one.weight > list[NAMED_PARTICLES_MAX - 1].weight)) return;
  int at = *count < NAMED_PARTICLES_MAX ? (*count)++ : NAMED_PARTICLES_MAX - 1;
  list[at] = one;
  for (; at > 0 && list[at].weight > list[at - 1].weight; at--) {
    struct named swap = list[at];
    list[at] = list[at - 1];
    list[at - 1] = swap;
  }
}

/* Whether the external field at particle i is not finite. */
static int bad_field(const struct field *field, const struct particles *particles, int64_t i)
{
  double acc[3];
  field_acceleration(field, &particles->pos[3 * i], acc);
  return !finite3(acc) || !isfinite(field_potential(field, &particles->pos[3 * i]));
}

/* The particles of all ranks to be named: those with values that are not finite, or (`fast`) the fastest. Collective.
 * Returns their number. */
static int name_particles(const struct comm *comm, const struct backend *be, struct device *d,
                          const struct field *field, int fast, struct named *list)
{
  const struct particles *p = be->view(d);
  struct named mine[NAMED_PARTICLES_MAX] = {{0}}, *all;
  int count = 0, total = 0;
  size_t bytes;
  for (int64_t i = 0; i < p->n; i++) {
    const double *v = &p->vel[3 * i];
    int kind = fast ? 4 : bad_value(p, i);
    if (kind < 0 && bad_field(field, p, i)) kind = 5;
    if (kind >= 0)
      insert(mine, &count, (struct named){p->id[i], fast ? sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) : 1, kind});
  }
  all = comm_gather(comm, mine, sizeof *mine * (size_t)count, &bytes);
  for (size_t k = 0; k < bytes / sizeof *all; k++) insert(list, &total, all[k]);
  memory_free(all);
  return total;
}

static void list_names(const struct named *list, int count, char *text, size_t size)
{
  size_t at = 0;
  text[0] = 0;
  for (int k = 0; k < count && at < size; k++) {
    at += (size_t)snprintf(text + at, size - at, "%s%llu (%s", k ? ", " : "", (unsigned long long)list[k].id,
                           kinds[list[k].kind]);
    if (at < size) at += (size_t)snprintf(text + at, size - at, list[k].kind == 4 ? " %.4g)" : ")", list[k].weight);
  }
}

/* Whether the total momentum has changed by more than the limit above. */
static int momentum_jumped(const struct guard *guard, const struct diagnostics *now, double dt)
{
  double change2 = 0, limit = now->mass * (guard->v_rms + fmax(guard->a_rms, now->a_rms) * dt) *
                                  (MOMENTUM_CHANGE_MAX + MOMENTUM_CHANGE_FEW / sqrt(now->count - now->massless)) +
                              FIELD_IMPULSE_MAX * dt * fmax(guard->field, length(now->force_field));
  for (int k = 0; k < 3; k++)
    change2 += (now->momentum[k] - guard->momentum[k]) * (now->momentum[k] - guard->momentum[k]);
  return !(change2 <= limit * limit);
}

int guard_check(const struct guard *guard, const struct diagnostics *now, const struct comm *comm,
                const struct backend *be, struct device *d, const struct field *field, long long step, double time,
                double dt, struct fault *fault)
{
  struct named list[NAMED_PARTICLES_MAX] = {{0}};
  char names[600], ids[640] = " (in the potential of Agama)"; /* the others are looked at */
  int bad = now->bad > 0, lost = now->count != guard->particles, jump = dt > 0 && momentum_jumped(guard, now, dt);
  if (!bad && !lost && !jump && fabs(now->mass - guard->mass) <= MASS_CHANGE_MAX * guard->mass) return 0;
  int count = name_particles(comm, be, d, field, !bad, list);
  list_names(list, count, names, sizeof names);
  if (count) snprintf(ids, sizeof ids, ": id%s %s%s", plural(now->bad), names, now->bad > count ? ", ..." : "");
  if (bad)
    return fault_set(fault, "step %lld, time %g, phase %s: %.0f particle%s values that are not finite%s", step, time,
                     count ? phases[list[0].kind] : "diagnostics", now->bad, now->bad == 1 ? " has" : "s have", ids);
  if (lost)
    return fault_set(fault,
                     "step %lld, time %g, phase domain: there are %.0f particles, but there were %.0f at the start",
                     step, time, now->count, guard->particles);
  if (!jump)
    return fault_set(fault, "step %lld, time %g, phase domain: the mass is %.9g, but it was %.9g at the start", step,
                     time, now->mass, guard->mass);
  const double *before = guard->momentum, *after = now->momentum;
  return fault_set(
      fault,
      "step %lld, time %g, phase kick: the total momentum jumped from (%.4g, %.4g, %.4g) to (%.4g, %.4g, %.4g): "
      "steps are too long for some encounters of particles; give a smaller Eta, a shorter soft step (SoftStep, or "
      "MaxSizeTimestep), or a larger Softening; the fastest particles are ids %s",
      step, time, before[0], before[1], before[2], after[0], after[1], after[2], names);
}
