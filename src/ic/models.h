/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One particle of each model is drawn. For this folder and ic/galaxy only. All functions are local. */
#ifndef IC_MODELS_H
#define IC_MODELS_H
#include <stdint.h>

#include "ic/ic.h"
#include "ic/random.h"

/* Henon units. */
struct ic_point {
  double pos[3], vel[3];
  uint8_t type;
};

/* A model with the tables that drawing needs. */
struct ic_plan;
/* Draw the system whose first star is `index` (from 0), a single star or a centre of mass, from its random numbers
 * `random`. */
typedef void ic_draw(const struct ic_plan *plan, int64_t index, struct ic_random *random, struct ic_point *point);

/* A sphere at one radius. Unit of length: the scale radius (king: core radius); G = 1, mass of the stars 1 (hernquist:
 * without the cut). The potential psi = -Phi includes the central mass, and is 0 where the distribution function ends
 * (king: at the tidal radius; else at infinity). The unit of the density is arbitrary. Primes are derivatives by the
 * radius. */
struct ic_shape {
  double density, density1, density2;
  double psi, psi1, psi2;
};
struct ic_sphere {
  /* in scale radii, within which this fraction of the stars lies */
  double (*radius)(const struct ic_plan *plan, double fraction);
  void (*shape)(const struct ic_plan *plan, double x, struct ic_shape *shape);
};
extern const struct ic_sphere plummer_sphere_shape, hernquist_sphere_shape, king_sphere_shape;

struct ic_plan {
  const struct ic_model *m;
  ic_draw *draw;
  const struct ic_sphere *sphere; /* NULL: not a sphere */
  struct ic_multiples multiples;
  double stars;                  /* mass of all stars, 1 without a central mass */
  double mass;                   /* the same; hernquist: without the cut */
  double scale;                  /* of a sphere: the scale radius */
  double edge;                   /* king: tidal radius in core radii; else 0 */
  struct king_table *king;       /* king */
  struct central_table *central; /* with a central mass */
};

/* Make the tables. 0; -1 with a fault. Close a plan that was opened. */
int ic_plan_open(struct ic_plan *plan, const struct ic_model *model, struct fault *fault);
void ic_plan_close(struct ic_plan *plan);

ic_draw plummer_draw, hernquist_draw, king_draw, uniform_draw, merger_draw;
/* Draw a star of any sphere with a central mass. */
ic_draw central_draw;

/* Draw position and velocity in a Plummer sphere of this mass and scale radius, at rest at the origin. The type is not
 * set. */
void plummer_sphere(double mass, double scale, struct ic_random *random, struct ic_point *point);
/* The number of particles of the merger's first sphere. */
int64_t merger_first(const struct ic_model *model);

/* Set mass and scale of the plan for a central mass f, so that the potential energy
 * W = -(self mass^2 + inverse f mass) / scale is -1/2, which gives E = -1/4 in equilibrium.
 * \param self     |W| of the stars alone, with mass and scale 1
 * \param inverse  the mean of 1 / radius over the stars, with scale 1 */
static inline void ic_scale(struct ic_plan *plan, double mass, double self, double inverse)
{
  plan->mass = mass;
  plan->scale = 2 * mass * (self * mass + inverse * plan->m->central_mass);
}
void plummer_plan(struct ic_plan *plan);
void hernquist_plan(struct ic_plan *plan);
/* 0; -1 with a fault. Free the table. */
int king_plan(struct ic_plan *plan, struct fault *fault);
void king_free(struct king_table *king);
/* The structure of King's sphere, without a mass. NULL with a fault. Owner: caller (king_free). */
struct king_table *king_solve(double w0, struct fault *fault);
/* Its nodes from the centre to the tidal radius: radius in core radii, W, and the mass within, -x^2 dW/dx. Returns
 * their number. */
int king_nodes(const struct king_table *table, const double **x, const double **w, const double **m);
/* The density over that at the centre, and its derivative by W. */
double king_table_density(const struct king_table *table, double w, double *slope);
/* After the plan of the sphere. */
int central_plan(struct ic_plan *plan, struct fault *fault);
void central_free(struct central_table *central);

/* A system: its number from 0, its first particle, and how many stars it has. */
struct ic_system {
  int64_t number, first;
  int count;
};
/* System `number`, and that of particle `index`. */
static inline struct ic_system ic_system(struct ic_multiples multiples, int64_t number)
{
  int64_t binaries = multiples.binaries, triples = multiples.triples;
  if (number < binaries) return (struct ic_system){number, 2 * number, 2};
  if (number < binaries + triples) return (struct ic_system){number, 3 * number - binaries, 3};
  return (struct ic_system){number, number + binaries + 2 * triples, 1};
}
static inline struct ic_system ic_system_of(struct ic_multiples multiples, int64_t index)
{
  int64_t binaries = multiples.binaries, triples = multiples.triples;
  if (index < 2 * binaries) return ic_system(multiples, index / 2);
  if (index < 2 * binaries + 3 * triples) return ic_system(multiples, (index + binaries) / 3);
  return ic_system(multiples, index - binaries - 2 * triples);
}

/* Mass of star `index`: solar masses for kroupa, else in units of the lighter stars. */
double star_mass(const struct ic_plan *plan, int64_t index);
/* The fraction of the systems with at least two stars. */
double multiple_fraction(const struct ic_model *model);
/* The largest possible one. */
double star_mass_max(const struct ic_model *model);
/* Set the two members of a binary, of masses mass[2], about the centre of mass `system`. `random`: random numbers for
 * this binary alone. */
void binary_members(const struct ic_model *model, const struct ic_scaling *scaling, const double mass[2],
                    const struct ic_point *system, struct ic_random *random, struct ic_point member[2]);
/* The same of a triple: members 0 and 1 are the inner pair. 0; -1: no stable one was found in TRIPLE_TRIES. */
enum { TRIPLE_TRIES = 100000 };
#define TRIPLE_MARGIN 1.3
int triple_members(const struct ic_model *model, const struct ic_scaling *scaling, const double mass[3],
                   const struct ic_point *system, struct ic_random *random, struct ic_point member[3]);

#define IC_YEAR_DAYS 365.25
#define IC_PC_AU 206264.806247 /* astronomical units */
/* The fraction of systems with at least two stars, where the first has this mass or more, in solar masses, up to that
 * of the next entry. */
struct ic_observed {
  double mass, fraction;
};
enum { IC_OBSERVED_STEPS = 6 };
extern const struct ic_observed ic_observed[IC_OBSERVED_STEPS];
/* The same of one mass. */
double observed_fraction(double mass);
/* The semi-major axis, in units of length_pc, and the eccentricity of a binary of this mass. */
void population_orbit(enum ic_population population, double mass_solar, double length_pc, struct ic_random *random,
                      double *axis, double *e);
/* The mass of the second star over that of the first, at least `lowest`; 0: it has its mass by itself. */
double population_ratio(enum ic_population population, double lowest, struct ic_random *random);

/* Scale the velocities of systems to the virial ratio of the model. Collective. */
void ic_virialise(const struct comm *comm, const struct ic_model *model, struct particles *particles);
#endif
