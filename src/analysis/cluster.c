/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "analysis/cluster.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/bound.h"
#include "analysis/near_tree.h"
#include "analysis/stars.h"
#include "base/memory.h"

enum { NEIGHBOUR = 6 }; /* the density is that within the distance of this one */
enum { HEAVIEST = 10 }; /* one of so many stars is among the heaviest */
#define COULOMB 0.11    /* of the Coulomb logarithm, ln(0.11 N) (Giersz & Heggie 1994) */
/* In interactions of forces on the host, for each star: to find the systems and the densities; a pair of its potential,
 * and all of it from a tree. Those of a device are so many times as fast. */
#define COST_SYSTEMS 3000.0
#define COST_PAIR 3.0
#define COST_WALK 3e4
#define COST_DEVICE 30

static double distance(const double a[3], const double b[3])
{
  double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
  return sqrt(x * x + y * y + z * z);
}

int cluster_wanted(const struct params *params, double particles) { return params->Cluster && stars_few(particles); }

double cluster_cost(double count, int on_device)
{
  double each = COST_SYSTEMS + (count <= BOUND_DIRECT ? COST_PAIR * count : COST_WALK);
  return count * each * (on_device ? COST_DEVICE : 1);
}

/* --- the centre -------------------------------------------------------------------------------------------------- */

/* The density about each star [stars] that its five nearest neighbours have within the distance of the sixth. */
static double *densities(const struct star *star, int32_t stars)
{
  struct near_tree tree;
  double *density = memory_alloc("cluster", sizeof *density * (size_t)(stars + 1)),
         *pos = memory_alloc("cluster", 3 * sizeof *pos * (size_t)(stars + 1));
  for (int32_t i = 0; i < stars; i++) memcpy(&pos[3 * (int64_t)i], star[i].pos, sizeof star[i].pos);
  near_tree_open(&tree, pos, stars, 1, 0);
#pragma omp parallel for schedule(dynamic, 256)
  for (int32_t i = 0; i < stars; i++) {
    struct near_list list;
    double mass = 0;
    near_list_open(&list, NEIGHBOUR);
    near_tree_find(&tree, star[i].pos, NULL, i, &list);
    for (int k = 0; k < NEIGHBOUR - 1; k++) mass += star[list.index[k]].mass;
    double far2 = list.square[NEIGHBOUR - 1], volume = 4 * M_PI / 3 * far2 * sqrt(far2);
    density[i] = volume > 0 ? mass / volume : 0;
  }
  near_tree_close(&tree);
  memory_free(pos);
  return density;
}

/* Means of position and velocity with weights: those of the density, or of the mass where `density` is NULL. Returns
 * the sum of the weights. */
static double mean_of(const struct star *star, int32_t stars, const double *density, double pos[3], double vel[3])
{
  double sum = 0;
  for (int c = 0; c < 3; c++) pos[c] = vel[c] = 0;
  for (int32_t i = 0; i < stars; i++) {
    double weight = density ? density[i] : star[i].mass;
    sum += weight;
    for (int c = 0; c < 3; c++) {
      pos[c] += weight * star[i].pos[c];
      vel[c] += weight * star[i].vel[c];
    }
  }
  for (int c = 0; c < 3 && sum > 0; c++) {
    pos[c] /= sum;
    vel[c] /= sum;
  }
  return sum;
}

/* Centre, its velocity, and core radius (Casertano & Hut 1985). Of few stars, or of stars that are all in one place,
 * the centre of mass. */
static void find_centre(struct cluster_row *row, const struct star *star, int32_t stars)
{
  double *density = stars > NEIGHBOUR ? densities(star, stars) : NULL, radius = 0;
  double sum = density ? mean_of(star, stars, density, row->centre, row->velocity) : 0;
  row->core_radius = NAN;
  if (sum > 0) {
    for (int32_t i = 0; i < stars; i++) radius += density[i] * distance(star[i].pos, row->centre);
    row->core_radius = radius / sum;
  } else {
    mean_of(star, stars, NULL, row->centre, row->velocity);
  }
  memory_free(density);
}

/* --- radii ------------------------------------------------------------------------------------------------------- */

static int by_radius(const void *a, const void *b)
{
  const struct bound_shell *x = a, *y = b;
  return (x->r > y->r) - (x->r < y->r);
}

/* The stars with keep[i] (NULL: all) that have at least a mass, by their distance from the centre. Free with
 * memory_free. */
static struct bound_shell *shells(const struct cluster_row *row, const struct star *star, int32_t stars,
                                  const char *keep, double least, int32_t *count)
{
  struct bound_shell *shell = memory_alloc("cluster", sizeof *shell * (size_t)(stars + 1));
  *count = 0;
  for (int32_t i = 0; i < stars; i++)
    if ((!keep || keep[i]) && star[i].mass >= least)
      shell[(*count)++] = (struct bound_shell){distance(star[i].pos, row->centre), star[i].mass};
  qsort(shell, (size_t)*count, sizeof *shell, by_radius);
  for (int32_t k = 1; k < *count; k++) shell[k].mass += shell[k - 1].mass;
  return shell;
}

/* The smallest radius within which is half of the mass of these stars; NAN: there are none. */
static double half_mass_radius(const struct cluster_row *row, const struct star *star, int32_t stars, const char *keep,
                               double least)
{
  int32_t count, k = 0;
  struct bound_shell *shell = shells(row, star, stars, keep, least, &count);
  while (k < count - 1 && shell[k].mass < 0.5 * shell[count - 1].mass) k++;
  double half = count ? shell[k].r : NAN;
  memory_free(shell);
  return half;
}

static int descending(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x < y) - (x > y);
}

/* The half-mass radius of the heaviest tenth of the bound stars, all that are as heavy as the last one included, over
 * that of all bound stars; NAN where these are all of them. */
static double segregation(const struct cluster_row *row, const struct star *star, int32_t stars, const char *bound)
{
  double *mass = memory_alloc("cluster", sizeof *mass * (size_t)(stars + 1)), ratio = NAN;
  int32_t count = 0;
  for (int32_t i = 0; i < stars; i++)
    if (bound[i]) mass[count++] = star[i].mass;
  qsort(mass, (size_t)count, sizeof *mass, descending);
  double least = count ? mass[(count + HEAVIEST - 1) / HEAVIEST - 1] : 0;
  if (count && mass[count - 1] < least)
    ratio = half_mass_radius(row, star, stars, bound, least) / row->half_mass_radius;
  memory_free(mass);
  return ratio;
}

/* The largest radius that is the Jacobi radius of the mass within it. */
static void find_jacobi(struct cluster_row *row, const struct star *star, int32_t stars,
                        const struct cluster_facts *facts, const struct tide *tide)
{
  int32_t count, within;
  row->tide = tide->stretch > 0 ? tide->stretch : NAN;
  row->jacobi_radius = row->jacobi_mass = NAN;
  row->jacobi_stars = -1;
  if (!(tide->stretch > 0)) return;
  struct bound_shell *shell = shells(row, star, stars, NULL, 0, &count);
  double radius = bound_jacobi(shell, count, facts->gravity / tide->stretch, &within);
  if (within > 0 && radius < tide->reach) {
    row->jacobi_radius = radius;
    row->jacobi_mass = shell[within - 1].mass;
    row->jacobi_stars = within;
  }
  memory_free(shell);
}

/* --- bound stars ------------------------------------------------------------------------------------------------- */

/* Bodies as points in the order of their first stars, of systems the centres of mass; of[stars]: the body of a star.
 * Velocities have axes that do not rotate. Owner: caller (memory_free). */
static struct bound_body *bodies_of(const struct multiples *found, const struct star *star, int32_t stars,
                                    const int32_t *owner, const double centre[3], double spin, int32_t *of,
                                    int32_t *count)
{
  struct bound_body *body = memory_alloc("cluster", sizeof *body * (size_t)(stars + found->count + 1));
  int32_t *place = memory_alloc("cluster", sizeof *place * (size_t)(stars + found->count + 1));
  *count = 0;
  for (int32_t i = 0; i < stars; i++) {
    const struct multiple *system = owner[i] < found->count ? &found->row[owner[i]] : NULL;
    if (!place[owner[i]]) {
      struct bound_body *one = &body[(*count)++];
      place[owner[i]] = *count;
      memcpy(one->pos, system ? system->pos : star[i].pos, sizeof one->pos);
      memcpy(one->vel, system ? system->vel : star[i].vel, sizeof one->vel);
      one->vel[0] -= spin * (one->pos[1] - centre[1]);
      one->vel[1] += spin * (one->pos[0] - centre[0]);
      one->mass = system ? system->mass[0] + system->mass[1] : star[i].mass;
    }
    of[i] = place[owner[i]] - 1;
  }
  memory_free(place);
  return body;
}

struct near_body {
  double r; /* its distance from the centre */
  int32_t body;
};

static int by_distance(const void *one, const void *other)
{
  const struct near_body *near = one, *far = other;
  return near->r != far->r ? (near->r > far->r) - (near->r < far->r) : near->body - far->body;
}

/* The frame in which the search for bound bodies begins: the median of each component of the velocity over the nearest
 * half of the bodies. Means would follow the stars of a close group that is no system, whose orbits are fast. */
static void middle_motion(const struct bound_body *body, int32_t bodies, const double centre[3], double motion[3])
{
  int32_t half = (bodies + 1) / 2;
  struct near_body *near = memory_alloc("cluster", sizeof *near * (size_t)(bodies + 1));
  double *speed = memory_alloc("cluster", sizeof *speed * (size_t)(half + 1));
  for (int32_t i = 0; i < bodies; i++) near[i] = (struct near_body){distance(body[i].pos, centre), i};
  qsort(near, (size_t)bodies, sizeof *near, by_distance);
  for (int c = 0; c < 3 && half > 0; c++) {
    for (int32_t k = 0; k < half; k++) speed[k] = body[near[k].body].vel[c];
    qsort(speed, (size_t)half, sizeof *speed, descending);
    motion[c] = 0.5 * (speed[(half - 1) / 2] + speed[half / 2]);
  }
  memory_free(speed);
  memory_free(near);
}

/* Numbers of the bound bodies and of the systems that they are. */
static void count_systems(struct cluster_row *row, const struct multiples *found, const int32_t *owner, int32_t stars,
                          const char *bound, int32_t bodies)
{
  char *held = memory_alloc("cluster", (size_t)found->count + 1);
  int32_t systems = 0;
  for (int32_t i = 0; i < stars; i++)
    if (bound[i] && owner[i] < found->count) held[owner[i]] = 1;
  for (int32_t k = 0; k < found->count; k++) systems += held[k];
  for (int32_t k = found->count - 1; k >= 0; k--) { /* inner systems come first */
    const struct multiple *system = &found->row[k];
    if (!held[k]) continue;
    for (int c = 0; c < 2; c++)
      if (system->inner[c] >= 0) held[system->inner[c]] = 1;
  }
  for (int32_t k = 0; k < found->count; k++) {
    if (!held[k]) continue;
    row->pairs += found->row[k].stars == 2;
    row->binary_energy += found->row[k].energy;
  }
  row->binary_fraction = bodies > 0 ? (double)systems / bodies : NAN;
  memory_free(held);
}

/* Of the velocities of bound bodies within the half-mass radius, about their mean, by mass, as the mean of the three
 * axes; systems count as their centres of mass. NAN of fewer than two. */
static double dispersion(const struct cluster_row *row, const struct bound_body *body, int32_t bodies, const char *held)
{
  double mass = 0, mean[3] = {0}, square = 0;
  int32_t count = 0;
  for (int32_t i = 0; i < bodies; i++) {
    if (!held[i] || distance(body[i].pos, row->centre) > row->half_mass_radius) continue;
    count++;
    mass += body[i].mass;
    for (int c = 0; c < 3; c++) mean[c] += body[i].mass * body[i].vel[c];
  }
  if (count < 2) return NAN;
  for (int c = 0; c < 3; c++) mean[c] /= mass;
  for (int32_t i = 0; i < bodies; i++) {
    double speed = distance(body[i].vel, mean);
    if (held[i] && distance(body[i].pos, row->centre) <= row->half_mass_radius) square += body[i].mass * speed * speed;
  }
  return sqrt(square / mass / 3);
}

/* The tide at the centre, which has no length where there is no core. */
static void find_tide(const struct cluster_row *row, const struct cluster_facts *facts, struct tide *tide)
{
  if (facts->tide && row->core_radius > 0)
    facts->tide(facts->tide_of, row->centre, row->velocity, row->core_radius / 100, tide);
}

/* The bound bodies, held[k]; row->velocity becomes their mean velocity. The tide that bounds them is that of the orbit
 * on which the search begins. Returns their number. */
static int32_t hold(struct cluster_row *row, const struct bound_body *body, int32_t bodies,
                    const struct cluster_facts *facts, char *held)
{
  struct tide tide = {0};
  struct bound_tide edge = {.factor = 0};
  middle_motion(body, bodies, row->centre, row->velocity);
  find_tide(row, facts, &tide);
  if (tide.stretch > 0) edge = (struct bound_tide){.factor = facts->gravity / tide.stretch, .reach = tide.reach};
  memcpy(edge.centre, row->centre, sizeof edge.centre);
  return bound_find(body, bodies, facts->gravity, facts->softening, &edge, row->velocity, held);
}

/* Mark the bound stars, and count and measure what they are in. */
static void find_bound(struct cluster_row *row, const struct star *star, int32_t stars,
                       const struct cluster_facts *facts, double spin, char *bound)
{
  struct multiples found;
  int32_t bodies, *of = memory_alloc("cluster", sizeof *of * (size_t)(stars + 1));
  multiples_find(&found, star, stars, facts->gravity, facts->limit);
  int32_t *owner = multiples_owners(&found, star, stars);
  struct bound_body *body = bodies_of(&found, star, stars, owner, row->centre, spin, of, &bodies);
  char *held = memory_alloc("cluster", (size_t)bodies + 1);
  int32_t members = hold(row, body, bodies, facts, held);
  for (int32_t i = 0; i < stars; i++) {
    bound[i] = held[of[i]];
    row->bound_stars += bound[i];
    row->bound_mass += bound[i] ? star[i].mass : 0;
  }
  count_systems(row, &found, owner, stars, bound, members);
  row->half_mass_radius = half_mass_radius(row, star, stars, bound, 0);
  row->dispersion = dispersion(row, body, bodies, held);
  memory_free(held);
  memory_free(body);
  memory_free(owner);
  memory_free(of);
  multiples_close(&found);
}

void cluster_measure(struct cluster_row *row, const struct star *star, int32_t stars, const struct cluster_facts *facts)
{
  struct tide tide = {0};
  char *bound = memory_alloc("cluster", (size_t)stars + 1);
  *row = (struct cluster_row){.stars = stars};
  for (int32_t i = 0; i < stars; i++) row->mass += star[i].mass;
  find_centre(row, star, stars);
  find_tide(row, facts, &tide); /* for its spin; the orbit is that of the bound stars */
  find_bound(row, star, stars, facts, tide.spin, bound);
  double n = row->bound_stars, half = row->half_mass_radius;
  row->relaxation_time =
      COULOMB * n > 1 ? 0.138 * n * half * sqrt(half / (facts->gravity * row->bound_mass)) / log(COULOMB * n) : NAN;
  row->segregation = segregation(row, star, stars, bound);
  find_tide(row, facts, &tide);
  find_jacobi(row, star, stars, facts, &tide);
  row->escapers = stars - (row->jacobi_stars < 0 ? row->bound_stars : row->jacobi_stars);
  memory_free(bound);
}

/* --- the table --------------------------------------------------------------------------------------------------- */

void cluster_header(FILE *out)
{
  fprintf(out,
          "# bound: of negative energy among the bound stars; in a tide also within the Jacobi radius of their mass\n");
  fprintf(out, "time,stars,mass,centre_x,centre_y,centre_z,velocity_x,velocity_y,velocity_z,core_radius,bound_stars,"
               "bound_mass,half_mass_radius,relaxation_time,pairs,binary_fraction,binary_energy,segregation,tide,"
               "jacobi_radius,jacobi_mass,jacobi_stars,escapers,dispersion\n");
}

/* Commas and numbers; empty where they are not defined. */
static void add(FILE *out, int count, const double *x)
{
  for (int k = 0; k < count; k++) {
    fputc(',', out);
    if (isfinite(x[k])) fprintf(out, "%.12g", x[k]);
  }
}

static void write_row(FILE *out, const struct cluster_row *row, const struct cluster_facts *facts)
{
  double at[6];
  for (int c = 0; c < 3; c++) {
    at[c] = row->centre[c] + facts->place[c];
    at[3 + c] = row->velocity[c] + facts->motion[c];
  }
  fprintf(out, "%.15g,%d", facts->time, row->stars);
  add(out, 1, &row->mass);
  add(out, 6, at);
  add(out, 1, &row->core_radius);
  fprintf(out, ",%d", row->bound_stars);
  add(out, 3, (const double[]){row->bound_mass, row->half_mass_radius, row->relaxation_time});
  fprintf(out, ",%d", row->pairs);
  add(out, 6,
      (const double[]){row->binary_fraction, row->binary_energy, row->segregation, row->tide, row->jacobi_radius,
                       row->jacobi_mass});
  if (row->jacobi_stars >= 0) fprintf(out, ",%d", row->jacobi_stars);
  else fputc(',', out);
  fprintf(out, ",%d", row->escapers);
  add(out, 1, &row->dispersion);
  fputc('\n', out);
  fflush(out);
}

void cluster_scan(const struct comm *comm, const struct particles *particles, const struct cluster_facts *facts,
                  FILE *out)
{
  int32_t stars;
  struct star *star = stars_gather(comm, particles, 1, 1, 0, &stars);
  if (comm->rank == 0 && out) {
    struct cluster_row row;
    stars = multiples_arrange(star, stars);
    cluster_measure(&row, star, stars, facts);
    write_row(out, &row, facts);
  }
  memory_free(star);
}
