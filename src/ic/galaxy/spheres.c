/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Distribution functions of spheroids by Eddington's inversion (Binney & Tremaine 2008, eq. 4.46) in the potential of
 * the whole galaxy, with the anisotropy of Osipkov (1979) and Merritt (1985, AJ 90, 1027): f depends on Q = psi - v^2 /
 * 2 - L^2 / (2 r_a^2), and the density rho is replaced by rho_Q = (1 + r^2 / r_a^2) rho.
 *   f(Q) = 1 / (sqrt(8) pi^2) d/dQ int_0^Q d rho_Q / d psi d psi / sqrt(Q - psi)
 * g = d rho_Q / d psi is piecewise linear between the nodes of the radial grid and ends at 0 with psi, for which the
 * integral is exact. So no second derivative is needed, and differences of potentials are those of radial_node_height,
 * which are exact near the centre. */
#include <config.h>
#include <float.h>
#include <math.h>

#include "base/memory.h"
#include "ic/galaxy/galaxy.h"
#include "ic/galaxy/profile.h"

/* A distribution function whose negative values, set to 0, add more than this fraction of the component's mass, or
 * change its virial ratio by more, is refused. */
#define NEGATIVE_MAX 0.03
/* A lost fraction below this is of rounding. */
#define NEGATIVE_NOTED 1e-4
enum { MOMENTS_EVERY = 4 }; /* dispersions are computed at every fourth node */

/* A spheroid on the nodes of the total potential. */
struct sphere {
  double *density, *mass;   /* [n] M within */
  double *log_mass;         /* [n] */
  double *f;                /* [n + 1] over the height; f[n] = 0 at infinity */
  double *limit, *top;      /* [n] the largest v^2 f(v) at node k; v beyond which v^2 f is negligible */
  double *sigma2, *rebuilt; /* [moments] dispersion of the scaled velocities; density rho_Q that f gives */
  double anisotropy;        /* 1 / r_a^2 */
  struct sphere_facts facts;
};

struct spheres {
  const struct galaxy *g;
  const struct radial *total;
  int n, moments;
  double step;
  double *r, *log_r, *height, *pull; /* [n]; [n + 1] the last height is that of infinity; step d height / d ln r */
  struct sphere sphere[GALAXY_COMPONENTS];
};

struct radial *sphere_mass(const struct galaxy *galaxy, int component, struct fault *fault)
{
  struct profile p;
  struct radial *t = NULL;
  if (profile_open(&p, &galaxy->component[component], fault) == 0) {
    int first, n = profile_grid(&p, &first);
    double *r = memory_alloc("ic tables", sizeof *r * 4 * (size_t)n);
    for (int k = 0; k < n; k++) r[k] = exp(PROFILE_STEP * (first + k));
    profile_tabulate(&p, n, r, r + n, r + 2 * n, r + 3 * n);
    t = radial_make(n, r, r + 3 * n, galaxy->gravity);
    memory_free(r);
  }
  profile_close(&p);
  return t;
}

/* f at the nodes from g[n + 1], which is 0 at infinity. */
static void invert(const struct spheres *spheres, const double *g, double *f)
{
#pragma omp parallel for schedule(dynamic, 16)
  for (int k = 0; k < spheres->n; k++) {
    double sum = 0, root = 0;
    for (int j = k; j < spheres->n; j++) {
      double next = sqrt(spheres->height[j + 1] - spheres->height[k]);
      sum += (g[j] - g[j + 1]) / (root + next);
      root = next;
    }
    f[k] = sum / (M_SQRT2 * M_PI * M_PI);
  }
  f[spheres->n] = 0;
}

/* Set negative values to 0. Returns the number of them, with the first and last node that have one. */
static int clip(int n, double *f, int *first, int *last)
{
  int count = 0;
  double largest = 0;
  for (int k = 0; k < n; k++) {
    largest = fmax(largest, f[k]);
    if (f[k] >= 0) continue;
    if (!count++) *first = k;
    *last = k;
    f[k] = 0;
  }
  return count;
}

/* Moments of f at node k: int f v^2 dv and int f v^4 dv, exact for the piecewise linear f. */
static void moments(const struct spheres *spheres, const double *f, int k, double *second, double *fourth)
{
  double a = 0, b = 0, x = 0, x3 = 0, x5 = 0, x7 = 0; /* powers of w^(1/2), with w = v^2 / 2 */
  for (int j = k; j < spheres->n; j++) {
    double low = spheres->height[j] - spheres->height[k], high = spheres->height[j + 1] - spheres->height[k],
           y = sqrt(high);
    double y3 = y * high, y5 = y3 * high, y7 = y5 * high, tilt = (f[j + 1] - f[j]) / (high - low),
           base = f[j] - tilt * low;
    if (high > low) {
      a += base * (y3 - x3) / 3 + tilt * (y5 - x5) / 5;
      b += base * (y5 - x5) / 5 + tilt * (y7 - x7) / 7;
    }
    x = y;
    x3 = y3;
    x5 = y5;
    x7 = y7;
  }
  (void)x;
  *second = 2 * M_SQRT2 * a;
  *fourth = 4 * M_SQRT2 * b;
}

/* The box of the rejection at each node. */
static void set_boxes(const struct spheres *spheres, struct sphere *sphere)
{
#pragma omp parallel for schedule(dynamic, 16)
  for (int k = 0; k < spheres->n; k++) {
    double largest = 0;
    int last = k;
    for (int j = k; j < spheres->n; j++)
      largest = fmax(largest, 2 * (spheres->height[j] - spheres->height[k]) * sphere->f[j]);
    for (int j = k; j < spheres->n; j++)
      if (2 * (spheres->height[j] - spheres->height[k]) * sphere->f[j] > 1e-9 * largest) last = j;
    sphere->limit[k] = largest;
    sphere->top[k] = sqrt(2 * (spheres->height[last + 1] - spheres->height[k]));
  }
}

static void set_moments(const struct spheres *spheres, struct sphere *sphere)
{
#pragma omp parallel for schedule(dynamic, 4)
  for (int i = 0; i < spheres->moments; i++) {
    double second, fourth;
    moments(spheres, sphere->f, i * MOMENTS_EVERY, &second, &fourth);
    sphere->rebuilt[i] = 4 * M_PI * second;
    sphere->sigma2[i] = second > 0 ? fourth / (3 * second) : 0;
  }
}

static double squeeze(const struct sphere *sphere, double r) { return 1 / (1 + sphere->anisotropy * r * r); }

/* Energies, and what clipped negative values of f add to the density. */
static void set_facts(const struct spheres *spheres, struct sphere *sphere, int clipped)
{
  double excess = 0, all = 0;
  struct sphere_facts *a = &sphere->facts;
  for (int k = 0; k < spheres->n && sphere->mass[k] < 0.5 * sphere->mass[spheres->n - 1]; k++)
    a->half_mass_radius = spheres->r[k];
  for (int i = 0; i < spheres->moments; i++) {
    int k = i * MOMENTS_EVERY;
    double r = spheres->r[k], shell = 4 * M_PI * r * r * r * sphere->density[k] * spheres->step * MOMENTS_EVERY;
    double rho = sphere->density[k] / squeeze(sphere, r);
    if (!(rho > 0)) continue;
    all += shell;
    excess += shell * fmax(sphere->rebuilt[i] / rho - 1, 0);
    a->kinetic += 0.5 * shell * sphere->sigma2[i] * (1 + 2 * squeeze(sphere, r));
    a->virial += shell * r * radial_inward(spheres->total, r);
  }
  if (clipped) a->negative = excess / all > NEGATIVE_NOTED ? excess / all : 0;
}

static int alloc_sphere(struct spheres *spheres, struct sphere *sphere)
{
  size_t n = (size_t)spheres->n + 1, m = (size_t)spheres->moments;
  double *block = memory_alloc("ic tables", sizeof *block * (6 * n + 2 * m));
  double **at[] = {&sphere->density, &sphere->mass, &sphere->log_mass, &sphere->f, &sphere->limit, &sphere->top};
  for (int i = 0; i < 6; i++) *at[i] = block + n * (size_t)i;
  sphere->sigma2 = block + 6 * n;
  sphere->rebuilt = sphere->sigma2 + m;
  return 0;
}

static int open_sphere(struct spheres *spheres, int component, struct fault *fault)
{
  struct sphere *p = &spheres->sphere[component];
  const struct galaxy_component *c = &spheres->g->component[component];
  struct profile profile;
  int failed = profile_open(&profile, c, fault), first = 0, last = 0;
  if (failed) {
    profile_close(&profile);
    return -1;
  }
  alloc_sphere(spheres, p);
  double *g = memory_alloc("ic tables", sizeof *g * (size_t)(spheres->n + 1));
  profile_tabulate(&profile, spheres->n, spheres->r, p->density, g, p->mass);
  profile_close(&profile);
  p->anisotropy = c->anisotropy_radius > 0 ? 1 / (c->anisotropy_radius * c->anisotropy_radius) : 0;
  for (int k = 0; k < spheres->n; k++) { /* from d rho / d ln r; d psi / d ln r = -G M / r */
    double x = p->anisotropy * spheres->r[k] * spheres->r[k];
    g[k] = -(g[k] * (1 + x) + 2 * x * p->density[k]) / (spheres->pull[k] / spheres->step);
    p->log_mass[k] = log(p->mass[k]);
  }
  invert(spheres, g, p->f);
  memory_free(g);
  int clipped = clip(spheres->n, p->f, &first, &last);
  set_moments(spheres, p);
  set_facts(spheres, p, clipped);
  p->facts.negative_from = spheres->r[first];
  p->facts.negative_to = spheres->r[last];
  double virial = 2 * p->facts.kinetic / p->facts.virial;
  if (p->facts.negative <= NEGATIVE_MAX && fabs(virial - 1) <= NEGATIVE_MAX) {
    set_boxes(spheres, p);
    return 0;
  }
  if (!(p->facts.negative > 0))
    return fault_set(
        fault,
        "[%s]: this component cannot be in equilibrium: its density does not fall to 0 smoothly at its edge, so 2 T / "
        "|W| of its distribution function is %.3g; expected a Cutoff%s",
        c->name, virial,
        c->profile == PROFILE_TABLE ? " within the last row of the table, or rows of smaller densities" : "");
  return fault_set(
      fault,
      "[%s]: this component cannot be in equilibrium: its distribution function is negative at energies of the "
      "potential from r = %.3g to %.3g (where it is 0 instead, 2 T / |W| is %.3g, and %.2g %% of the mass is in "
      "excess); "
      "expected %sa larger CutoffWidth, a steeper profile, or a lighter black hole",
      c->name, p->facts.negative_from, p->facts.negative_to, virial, 100 * p->facts.negative,
      p->anisotropy > 0 ? "a larger AnisotropyRadius, " : "");
}

/* Near a black hole the potential is so deep that a double does not resolve its small differences far outside. */
static int check_heights(const struct spheres *spheres, struct fault *fault)
{
  for (int k = 0; k < spheres->n; k++)
    if (!(spheres->pull[k] > 30 * DBL_EPSILON * spheres->height[k]))
      return fault_set(fault,
                       "the potential from the centre, r = %.3g, to the edge, %.3g, cannot be resolved beyond %.3g: "
                       "expected a lighter black "
                       "hole, or a smallest Scale and a largest Cutoff that differ less",
                       spheres->r[0], spheres->r[spheres->n - 1], spheres->r[k]);
  return 0;
}

struct spheres *spheres_open(const struct galaxy *galaxy, const struct radial *total, struct fault *fault)
{
  struct spheres *s = memory_alloc("ic tables", sizeof *s);
  int n = radial_nodes(total);
  *s = (struct spheres){.g = galaxy, .total = total, .n = n, .moments = (n - 1) / MOMENTS_EVERY + 1};
  s->r = memory_alloc("ic tables", sizeof *s->r * (4 * (size_t)n + 1));
  s->log_r = s->r + n;
  s->pull = s->log_r + n;
  s->height = s->pull + n;
  s->step = log(radial_node(total, n - 1) / radial_node(total, 0)) / (n - 1);
  for (int k = 0; k < n; k++) {
    s->r[k] = radial_node(total, k);
    s->log_r[k] = log(s->r[k]);
    s->height[k] = radial_node_height(total, k);
    s->pull[k] = s->step * galaxy->gravity * radial_node_mass(total, k) / s->r[k];
  }
  s->height[n] = s->height[n - 1] + s->pull[n - 1] / s->step;
  int failed = check_heights(s, fault);
  for (int i = 0; i < galaxy->count && !failed; i++)
    if (!galaxy_is_disc(galaxy->component[i].profile) && galaxy->component[i].profile != PROFILE_POINT)
      failed = open_sphere(s, i, fault);
  if (!failed) return s;
  spheres_free(s);
  return NULL;
}

void spheres_free(struct spheres *spheres)
{
  if (!spheres) return;
  for (int i = 0; i < spheres->g->count; i++) memory_free(spheres->sphere[i].density);
  memory_free(spheres->r);
  memory_free(spheres);
}

/* The interval of the ascending x[n] that has y: x[k] <= y, from 0 to n - 2. */
static inline int interval(const double *x, int low, int n, double y)
{
  int high = n - 1;
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (x[middle] <= y) low = middle;
    else high = middle;
  }
  return low;
}

void sphere_draw(const struct spheres *spheres, int component, struct ic_random *random, double x[3], double v[3])
{
  const struct sphere *p = &spheres->sphere[component];
  double mass = random_uniform(random) * p->mass[spheres->n - 1], r = spheres->r[0], height = 0;
  int k = 0;
  if (mass < p->mass[0]) {
    double slope = spheres->step / (p->log_mass[1] - p->log_mass[0]);
    r *= pow(mass / p->mass[0], slope);
  } else {
    k = interval(p->mass, 0, spheres->n, mass);
    double u = (log(mass) - p->log_mass[k]) / (p->log_mass[k + 1] - p->log_mass[k]), w = 1 - u;
    r = exp(spheres->log_r[k] + u * spheres->step);
    height = w * w * ((1 + 2 * u) * spheres->height[k] + u * spheres->pull[k]) +
             u * u * ((3 - 2 * u) * spheres->height[k + 1] - w * spheres->pull[k + 1]);
  }
  /* between nodes the density of speeds is below that of both by less than 5 % */
  double limit = 1.05 * fmax(p->limit[k], p->limit[k + 1]), speed = 0, f = 0, y;
  double top = fmin(fmax(p->top[k], p->top[k + 1]), sqrt(2 * (spheres->height[spheres->n] - height)));
  if (limit > 0) { /* else at the edge, at rest */
    do {
      speed = top * random_uniform(random);
      y = limit * random_uniform(random);
      double energy = height + 0.5 * speed * speed;
      int j = interval(spheres->height, k, spheres->n + 1, energy);
      f = p->f[j] +
          (p->f[j + 1] - p->f[j]) * (energy - spheres->height[j]) / (spheres->height[j + 1] - spheres->height[j]);
    } while (y > speed * speed * f);
  }
  random_direction(random, r, x);
  random_direction(random, speed, v);
  if (p->anisotropy > 0) { /* the tangential velocity is smaller by (1 + r^2 / r_a^2)^(1/2) */
    double factor = sqrt(squeeze(p, r)), radial = (v[0] * x[0] + v[1] * x[1] + v[2] * x[2]) / (r * r) * (1 - factor);
    for (int i = 0; i < 3; i++) v[i] = factor * v[i] + radial * x[i];
  }
}

struct sphere_facts sphere_facts(const struct spheres *spheres, int component)
{
  return spheres->sphere[component].facts;
}

struct sphere_profile sphere_profile_at(const struct spheres *spheres, int component, double r)
{
  const struct sphere *p = &spheres->sphere[component];
  struct sphere_profile out = {0, 0, 0};
  double at = (log(r) - spheres->log_r[0]) / spheres->step;
  if (!p->density || at >= spheres->n - 1) return out;
  at = fmax(at, 0);
  int k = (int)at, i = (int)fmin(at / MOMENTS_EVERY, spheres->moments - 2);
  double u = at - k, w = fmin(at / MOMENTS_EVERY - i, 1), sigma2 = (1 - w) * p->sigma2[i] + w * p->sigma2[i + 1];
  out.density = (1 - u) * p->density[k] + u * p->density[k + 1];
  out.sigma_r = sqrt(sigma2);
  out.sigma_t = sqrt(sigma2 * squeeze(p, r));
  return out;
}

int spheres_energies(const struct spheres *spheres) { return spheres->n; }

double sphere_distribution(const struct spheres *spheres, int component, int k, double *energy)
{
  *energy = spheres->height[spheres->n] - spheres->height[k];
  return spheres->sphere[component].f[k];
}
