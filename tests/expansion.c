/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs in comoving coordinates against theory, on any number of ranks: a sphere cut from a lattice stays at rest, grows
 * as the linear growth factor, and collapses as the spherical top-hat; the energy of Layzer and Irvine is conserved. */
#include <config.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "gravity/cosmology.h"
#include "ranks.h"
#include "step/energies.h"
#include "step/effects.h"
#include "step/plan.h"
#include "step/step.h"
#include "settings/settings.h"

#define RADIUS 20000.0 /* comoving kpc/h */
enum { CELLS = 8 };    /* lattice cells along the radius: 2109 particles */
#define SOFTENING 0.1  /* lattice cells */

/* A universe, and a homologous perturbation of the sphere: comoving radii are 1 - epsilon of those of the mean
 * density. */
struct model {
  double omega0, omega_lambda, begin, end, epsilon;
  int mode, cells; /* enum split_mode; lattice cells along the radius */
  double step;     /* largest d ln a */
};

struct end {
  double y, a;    /* mean radius in units of that of the lattice; expansion factor */
  double scatter; /* rms difference from a homologous sphere, in lattice cells */
  double error;   /* largest |dE| / (T + |a W|) */
  double first;   /* y at the start */
  int64_t substeps;
  long long steps;
};

/* --- theory, by its own integrals -------------------------------------------------------------------------------- */

static double hubble(const struct model *model, double a)
{
  return sqrt(model->omega0 / (a * a * a) + (1 - model->omega0 - model->omega_lambda) / (a * a) + model->omega_lambda);
}

/* The growing mode of linear theory, H times the integral of da / (a H)^3 (Heath 1977), by Simpson's rule in
 * sqrt(a). */
static double growth(const struct model *model, double a)
{
  enum { N = 4000 };
  double sum = 0, h = sqrt(a) / N;
  for (int k = 1; k <= N; k++) {
    double s = k * h, x = s * s, f = 2 * s / pow(x * hubble(model, x), 3);
    sum += f * (k == N ? 1 : k % 2 ? 4 : 2) * h / 3;
  }
  return 2.5 * model->omega0 * hubble(model, a) * sum;
}

/* d ln D / d ln a */
static double growth_rate(const struct model *model, double a)
{
  double h = 1e-4;
  return log(growth(model, a * exp(h)) / growth(model, a * exp(-h))) / (2 * h);
}

/* y(a) of the top-hat whose y and dy/dlna are given at `a`, by RK4 in ln a: y'' + (2 + H'/H) y' = -(Omega0 / 2) (pull /
 * y^2 - y) / (a^3 H^2). */
static double top_hat(const struct model *model, double pull, double a, double end, double y, double slope)
{
  enum { N = 20000 };
  double h = log(end / a) / N, l = log(a);
  for (int k = 0; k < N && y > 0.01; k++) {
    double dy[4], ds[4];
    for (int i = 0; i < 4; i++) {
      double c = i == 0   ? 0
                 : i == 3 ? 1
                          : 0.5,
             x = y + (i ? c * h * dy[i - 1] : 0), s = slope + (i ? c * h * ds[i - 1] : 0), b = exp(l + c * h);
      double hh = hubble(model, b) * hubble(model, b),
             change = (-3 * model->omega0 / (b * b * b) - 2 * (1 - model->omega0 - model->omega_lambda) / (b * b)) /
                      (2 * hh);
      dy[i] = s;
      ds[i] = -(2 + change) * s - 0.5 * model->omega0 / (b * b * b * hh) * (pull / (x * x) - x);
    }
    y += h / 6 * (dy[0] + 2 * dy[1] + 2 * dy[2] + dy[3]);
    slope += h / 6 * (ds[0] + 2 * ds[1] + 2 * ds[2] + ds[3]);
    l += h;
  }
  return y;
}

/* The attraction of the lattice's points in units of that of a uniform sphere of their density, by direct sums: it is
 * less, as points do not attract themselves. */
static double lattice_pull(int cells, double softening)
{
  double(*q)[3] = memory_alloc("test", sizeof *q * (size_t)(5 * pow(cells + 1, 3))), sum[2] = {0};
  int n = 0;
  for (int i = -cells; i <= cells; i++)
    for (int j = -cells; j <= cells; j++)
      for (int k = -cells; k <= cells; k++)
        if (i * i + j * j + k * k <= cells * cells) {
          q[n][0] = i;
          q[n][1] = j;
          q[n++][2] = k;
        }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++) {
      double r2 = 0;
      for (int c = 0; c < 3; c++) r2 += (q[i][c] - q[j][c]) * (q[i][c] - q[j][c]);
      sum[0] += r2 / pow(r2 + softening * softening, 1.5);
    }
  for (int i = 0; i < n; i++)
    for (int c = 0; c < 3; c++) sum[1] += q[i][c] * q[i][c];
  memory_free(q);
  return sum[0] / (4 * M_PI / 3 * sum[1]);
}

/* --- runs -------------------------------------------------------------------------------------------------------- */

static struct params params_of(const struct model *model)
{
  struct params p;
  params_defaults(&p);
  p.Comoving = COMOVING_ON;
  p.Omega0 = model->omega0;
  p.OmegaLambda = model->omega_lambda;
  p.HubbleParam = 0.7;
  p.TimeBegin = model->begin;
  p.TimeMax = model->end;
  p.MaxSizeTimestep = model->step;
  p.Softening = SOFTENING * RADIUS / model->cells;
  p.Mode = model->mode;
  p.Scheme = SCHEME_BLOCK;
  p.Tuning = TUNING_FROZEN;
  p.ErrTolForceAcc = 1.0 / 1024;
  p.Eta = 0.2;
  return p;
}

/* The lattice points of the sphere; ids count them in all ranks' order, the id's rank has the particle. Positions are
 * perturbed, velocities are of the growing mode. */
static void make_sphere(const struct comm *comm, const struct model *model, const struct params *par,
                        struct particles *particles)
{
  double cell = RADIUS / model->cells, h0 = cosmology_hubble0(par), h = h0 * hubble(model, model->begin),
         a = model->begin;
  double slope = -model->epsilon * growth_rate(model, a);
  int64_t id = 0;
  particles_init(particles);
  particles_reserve(particles, (int64_t)(4.5 * pow(model->cells + 1, 3)) + 1);
  for (int i = -model->cells; i <= model->cells; i++)
    for (int j = -model->cells; j <= model->cells; j++)
      for (int k = -model->cells; k <= model->cells; k++) {
        double q[3] = {i * cell, j * cell, k * cell};
        if (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] > RADIUS * RADIUS) continue;
        if (id++ % comm->size != comm->rank) continue;
        for (int x = 0; x < 3; x++) {
          particles->pos[3 * particles->n + x] = (1 - model->epsilon) * q[x];
          particles->vel[3 * particles->n + x] = a * a * h * slope * q[x]; /* dx/dtau = a^2 H dx/dlna */
        }
        particles->mass[particles->n] = (float)(cosmology_mean_density(par) * cell * cell * cell);
        particles->id[particles->n] = (uint64_t)id;
        particles->type[particles->n] = 1;
        particles->n++;
      }
}

/* Mean y of the particles by their lattice points, which follow from the first positions in `first` by id. */
static void measure(const struct sim *sim, const struct model *model, const double *first, struct end *end)
{
  const struct particles *p = sim->be->view(sim->dev);
  double sum[3] = {0};
  for (int64_t i = 0; i < p->n; i++)
    for (int x = 0; x < 3; x++) {
      double q = first[3 * p->id[i] + (uint64_t)x] / (1 - model->epsilon);
      sum[0] += p->pos[3 * i + x] * q;
      sum[1] += q * q;
      sum[2] += p->pos[3 * i + x] * p->pos[3 * i + x];
    }
  comm_sum_double(sim->comm, sum, 3);
  end->y = sum[0] / sum[1];
  end->scatter = sqrt(fmax(sum[2] - end->y * end->y * sum[1], 0) / sim->now.count) / (RADIUS / model->cells);
}

static void run(const struct comm *comm, const struct model *model, struct end *end)
{
  struct params par = params_of(model);
  struct particles p;
  struct sim sim;
  struct fault f = {""};
  memset(end, 0, sizeof *end);
  make_sphere(comm, model, &par, &p);
  double *first = memory_alloc("test", sizeof *first * 3 * (size_t)(5 * pow(2 * model->cells + 1, 3)));
  for (int64_t i = 0; i < 3 * p.n; i++) first[3 * p.id[i / 3] + (uint64_t)(i % 3)] = p.pos[i];
  comm_sum_double(comm, first, (int)(3 * pow(2 * model->cells + 1, 3)));
  if (sim_open(&sim, comm, &par, &backend_cpu, &p, &f)) printf("# %s\n", f.text);
  sim.time = model->begin;
  settings_first_force(&sim);
  energies_measure(&sim, 1);
  double begin = energies_total(&sim);
  measure(&sim, model, first, end);
  end->first = end->y;
  while (sim.time < model->end) {
    struct plan plan = effects_plan(&sim, model->end);
    step_open(&sim, &plan);
    while (step_substeps(&sim, &plan, HUGE_VAL) != STEP_SUBSTEPS_ENDED) continue;
    end->substeps += sim.counts.substeps;
    step_close(&sim, &plan, 1);
    energies_measure(&sim, 1);
    end->error = fmax(end->error, fabs(energies_total(&sim) - begin) /
                                      (sim.now.kinetic + fabs(sim.now.potential + sim.energy.total)));
  }
  measure(&sim, model, first, end);
  end->a = sim.time;
  end->steps = sim.step;
  memory_free(first);
  sim_close(&sim);
}

static const char *mode_name(const struct model *model) { return model->mode == MODE_TREE ? "tree" : "hybrid"; }

static void say(const struct comm *comm, int good, const struct model *model, const char *what)
{
  char line[200];
  snprintf(line, sizeof line, "Omega0 = %g, OmegaLambda = %g, %s: %s", model->omega0, model->omega_lambda,
           mode_name(model), what);
  if (comm->rank == 0) tap_ok(good, line);
}

/* --- checks ------------------------------------------------------------------------------------------------------ */

/* `pull`: of the lattice. */
static void at_rest(const struct comm *comm, struct model model, double pull)
{
  struct end e;
  model.epsilon = 0;
  run(comm, &model, &e);
  double theory = top_hat(&model, pull, model.begin, model.end, 1, 0);
  if (comm->rank == 0)
    printf("# at rest: y = %.6f, of this lattice %.6f; %lld steps, %lld substeps; scatter %.4f cells, energy %.1e\n",
           e.y, theory, e.steps, (long long)e.substeps, e.scatter, e.error);
  say(comm, fabs(e.y - theory) < 2e-4 && fabs(e.y - 1) < 0.005 && e.scatter < 0.1 && e.a == model.end, &model,
      "an unperturbed sphere stays at rest");
}

/* Half the difference of two runs with opposite perturbations: what a lattice does of itself is in both. */
static void grows(const struct comm *comm, struct model model)
{
  struct end more, less;
  double epsilon = model.epsilon;
  run(comm, &model, &more);
  model.epsilon = -epsilon;
  run(comm, &model, &less);
  double factor = (less.y - more.y) / (2 * epsilon), theory = growth(&model, model.end) / growth(&model, model.begin);
  if (comm->rank == 0) printf("# growth %.5f, theory %.5f (%.2f %%)\n", factor, theory, 100 * (factor / theory - 1));
  say(comm, fabs(factor / theory - 1) < 0.01, &model, "a perturbation grows as the linear growth factor within 1 %");
}

static void collapses(const struct comm *comm, struct model model, double pull)
{
  struct end e;
  run(comm, &model, &e);
  double slope = -model.epsilon * growth_rate(&model, model.begin),
         theory = top_hat(&model, pull, model.begin, model.end, 1 - model.epsilon, slope);
  double later = top_hat(&model, pull, model.begin, model.end * 1.01, 1 - model.epsilon, slope),
         earlier = top_hat(&model, pull, model.begin, model.end * 0.99, 1 - model.epsilon, slope);
  if (comm->rank == 0)
    printf("# collapse: y = %.5f, theory %.5f (1 %% later %.5f), energy %.1e, %lld steps, %lld substeps\n", e.y, theory,
           later, e.error, e.steps, (long long)e.substeps);
  say(comm, e.y < 0.6 && e.y > later && e.y < earlier, &model, "a top-hat collapses at its time within 1 %");
  say(comm, e.error < 1e-3, &model, "the energy of Layzer and Irvine is conserved within 1e-3");
}

int main(int argc, char **argv)
{
  struct comm world;
  ranks_begin(&world, &argc, &argv);
  const double universe[2][2] = {{1, 0}, {0.3, 0.7}}, pull = lattice_pull(CELLS, SOFTENING);
  if (world.rank == 0) printf("# attraction of the lattice %.5f\n", pull);
  for (int u = 0; u < 2; u++)
    for (int mode = 0; mode < 2; mode++) {
      struct model m = {.omega0 = universe[u][0],
                        .omega_lambda = universe[u][1],
                        .begin = 0.1,
                        .end = 0.3,
                        .mode = mode ? MODE_HYBRID : MODE_TREE,
                        .cells = CELLS,
                        .step = 0.025};
      if (!mode || !u) at_rest(&world, m, pull);
      m.epsilon = 0.002;
      m.end = u ? 0.5 : 0.3;
      if (!mode) grows(&world, m);
      m.epsilon = 0.07;
      m.end = u ? 0.75 : 0.6;
      collapses(&world, m, pull);
    }
  return ranks_end(&world);
}
