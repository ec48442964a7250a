/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Drawing and centring of a slice. */
#include <config.h>
#include "ic/ic.h"

#include <math.h>

#include "base/memory.h"
#include "ic/models.h"
#include "ic/slices.h"

/* Coordinates and velocities are below 2^12 (the spheres are cut at 200 length units, the orbits at IC_ORBIT_MAX; few
 * stars near a central mass or in binaries are faster, at most 2^20), weights at most 1, masses at most 1e6. */

/* Set the masses of the slice, whose first particle is number `start`, with total mass 1 over all ranks. Returns the
 * total before this, in units of star_mass. Collective. */
static double set_masses(const struct comm *comm, const struct ic_plan *plan, int64_t start,
                         struct particles *particles)
{
  const struct ic_model *m = plan->m;
  int64_t stars = m->n - (m->central_mass > 0), sum[2] = {0, 0};
  double *mass = memory_alloc("ic tables", sizeof *mass * (size_t)(particles->n + 1));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < particles->n; i++) mass[i] = start + i < stars ? star_mass(plan, start + i) : 0;
  for (int64_t i = 0; i < particles->n; i++) add_scaled(mass[i], sum);
  comm_sum_int64(comm, sum, 2);
  double total = ldexp(sum_scaled(sum), -SCALE_BITS) / plan->stars;
  for (int64_t i = 0; i < particles->n; i++)
    particles->mass[i] = (float)(start + i < stars ? mass[i] / total : m->central_mass);
  memory_free(mass);
  return total;
}

/* Set particle `index` of the model. Members of a system are all drawn, and one of them kept, since they may be on
 * different ranks. \param total  what set_masses returned. 0; -1: no stable triple was found. */
static int draw_particle(const struct ic_plan *plan, const struct ic_scaling *scaling, int64_t index, double total,
                         struct ic_point *point)
{
  const struct ic_model *m = plan->m;
  if (m->central_mass > 0 && index == m->n - 1) {
    *point = (struct ic_point){.type = 5};
    return 0;
  }
  const struct ic_system system = ic_system_of(plan->multiples, index);
  struct ic_random random = random_of(m->seed, (uint64_t)system.first + 1);
  plan->draw(plan, system.first, &random, point);
  if (system.count == 1) return 0;
  struct ic_point centre = *point, member[3];
  double mass[3];
  for (int k = 0; k < system.count; k++) mass[k] = (float)(star_mass(plan, system.first + k) / total);
  random = random_stream(m->seed, (uint64_t)system.first + 1, RANDOM_ORBIT);
  if (system.count == 2) binary_members(m, scaling, mass, &centre, &random, member);
  else if (triple_members(m, scaling, mass, &centre, &random, member)) return -1;
  *point = member[index - system.first];
  return 0;
}

/* 0; -1 with a fault, which other ranks do not have. */
static int draw_slice(const struct ic_plan *plan, const struct ic_scaling *scaling, int64_t start, double total,
                      struct particles *particles, struct fault *fault)
{
  int failed = 0;
#pragma omp parallel for schedule(static) reduction(| : failed)
  for (int64_t i = 0; i < particles->n; i++) {
    struct ic_point point;
    if (failed || draw_particle(plan, scaling, start + i, total, &point)) {
      failed = 1;
      continue;
    }
    for (int c = 0; c < 3; c++) {
      particles->pos[3 * i + c] = point.pos[c];
      particles->vel[3 * i + c] = point.vel[c];
    }
    particles->id[i] = (uint64_t)(start + i) + 1;
    particles->type[i] = point.type;
  }
  if (!failed) return 0;
  return fault_set(fault,
                   "triples: among %d orbits of a triple none is stable; it takes a larger ratio of --binary-max to "
                   "--binary-min, or a smaller --eccentricity",
                   TRIPLE_TRIES);
}

/* Move the centre of mass to the origin and remove its velocity. Weights are masses in units of the largest star's. A
 * central mass, at rest at the origin, adds to their sum only. Collective. */
static void centre(const struct comm *comm, const struct ic_plan *plan, double total, struct particles *particles)
{
  int64_t sums[7][2] = {{0}};
  double mean[6], largest = (float)(star_mass_max(plan->m) / total);
  for (int64_t i = 0; i < particles->n; i++) {
    if (particles->type[i] == 5) continue;
    double weight = particles->mass[i] / largest;
    for (int k = 0; k < 3; k++) {
      add_scaled(weight * particles->pos[3 * i + k], sums[k]);
      add_scaled(weight * particles->vel[3 * i + k], sums[3 + k]);
    }
    add_scaled(weight, sums[6]);
  }
  comm_sum_int64(comm, sums[0], 14);
  double weights = ldexp(sum_scaled(sums[6]), -SCALE_BITS) + (float)plan->m->central_mass / largest;
  for (int k = 0; k < 6; k++) mean[k] = sum_scaled(sums[k]) / weights * ldexp(1, -SCALE_BITS);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < particles->n; i++)
    for (int k = 0; k < 3; k++) {
      particles->pos[3 * i + k] -= mean[k];
      particles->vel[3 * i + k] -= mean[3 + k];
    }
}

/* In Henon units; of a sphere. */
static double half_mass_radius(const struct ic_plan *plan)
{
  return plan->sphere ? plan->scale * plan->sphere->radius(plan, 0.5) : 0;
}

/* The virial radius in pc; 0: the model is not scaled. */
static double length_of(const struct ic_plan *plan)
{
  const struct ic_model *model = plan->m;
  return model->half_mass_radius > 0 ? model->half_mass_radius / half_mass_radius(plan) : model->virial_radius;
}

/* Periods of a day to 10^10 days are to be orbits that doubles and the sums of `centre` hold. */
static int check_length(const struct ic_plan *plan, struct fault *fault)
{
  static const double shortest = 0.002, longest = 100;
  double length = length_of(plan);
  int multiples = plan->multiples.binaries + plan->multiples.triples > 0;
  if (plan->m->population == IC_LOG_AXIS || !multiples || (length >= shortest && length <= longest)) return 0;
  return fault_set(fault, "binary-population: expected a virial radius from %g to %g pc, found %g", shortest, longest,
                   length);
}

/* total: what set_masses returned. */
static struct ic_facts facts_of(const struct ic_plan *plan, double total)
{
  const struct ic_model *model = plan->m;
  struct ic_facts facts = {.half_mass_radius = half_mass_radius(plan), .unit.length_pc = length_of(plan)};
  if (model->masses == IC_KROUPA) facts.mass_solar = total;
  facts.unit.mass_solar = facts.mass_solar > 0    ? facts.mass_solar
                          : model->total_mass > 0 ? model->total_mass
                                                  : (double)model->n;
  return facts;
}

int ic_make(const struct comm *comm, const struct ic_model *model, struct particles *particles, struct ic_facts *facts,
            struct fault *fault)
{
  struct ic_plan plan;
  int open = !ic_check(model, fault) && !ic_plan_open(&plan, model, fault);
  if (open) check_length(&plan, fault);
  if (comm_agree(comm, fault)) {
    if (open) ic_plan_close(&plan);
    return -1;
  }
  int64_t start = slice_start(model->n, comm->rank, comm->size),
          end = slice_start(model->n, comm->rank + 1, comm->size);
  particles_reserve(particles, end - start);
  particles->n = end - start;
  double total = set_masses(comm, &plan, start, particles);
  const struct ic_facts made = facts_of(&plan, total);
  draw_slice(&plan, &made.unit, start, total, particles, fault);
  if (comm_agree(comm, fault)) {
    ic_plan_close(&plan);
    particles->n = 0;
    return -1;
  }
  centre(comm, &plan, total, particles);
  if (plan.sphere && model->virial_ratio >= 0) ic_virialise(comm, model, particles);
  if (facts) *facts = made;
  ic_plan_close(&plan);
  return 0;
}
