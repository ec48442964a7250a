/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Energies against direct sums in double precision, on any number of ranks: the sums of a WALK_POTENTIAL, potentials of
 * heavy particles, corrected energies in all schemes, and that neither fields nor orbits depend on whether energies are
 * measured. "short": the largest set with the last integrator alone, whose energies are measured as those of others. */
#include <config.h>
#include <mpi.h>

#include "everywhere.h"
#include "set_params.h"
#include "sets.h"
#include "step/energies.h"
#include "step/plan.h"
#include "step/step.h"
#include "tap.h"
#include "settings/settings.h"

enum { STEPS = 2 };

static const struct backend *tested;
static int leader; /* this is rank 0, which prints */
static int brief;

struct scheme {
  const char *name;
  int mode, scheme, integrator, order;
};

static const struct scheme schemes[] = {{"tree, monopoles", MODE_TREE, SCHEME_BLOCK, INTEGRATOR_LEAPFROG, 1},
                                        {"shared, quadrupoles", MODE_TREE, SCHEME_SHARED, INTEGRATOR_LEAPFROG, 2},
#define HYBRID(value, name, ...)                                                      \
  {"hybrid, " #name ", monopoles", MODE_HYBRID, SCHEME_BLOCK, INTEGRATOR_##value, 1}, \
      {"hybrid, " #name ", quadrupoles", MODE_HYBRID, SCHEME_BLOCK, INTEGRATOR_##value, 2},
                                        INTEGRATORS(HYBRID)};

/* The first particle has a million times the mass of the others, the second a billion. */
static void place_heavy(struct random *random, int64_t i, int64_t n, double x[3], float *mass)
{
  place_plummer(random, i, n, x, mass);
  *mass = (i == 0 ? 1e6f : i == 1 ? 1e9f : 1.0f) / (float)n;
}

static const struct set big = {"Plummer", 16500, 1, 0.0125, 0.05, 0.1, place_plummer};
static const struct set few = {"few particles, short softening", 100, 1, 1e-6, 0.05, 0.1, place_plummer};
static const struct set heavy = {"heavy particles", 3000, 1, 0.005, 0.05, 0.1, place_heavy};

static void say(int good, const char *set, const char *how, const char *what, double found, double limit)
{
  char line[300];
  snprintf(line, sizeof line, "%s, %s, %s: %s (%.2e, at most %.2e)", tested->name, set, how, what, found, limit);
  if (leader) tap_ok(good, line);
}

static struct params params_of(const struct set *set, const struct scheme *how)
{
  struct params par = set_params(set, how->mode, how->scheme);
  par.ErrTolForceAcc = 1.0 / 128;
  par.Integrator = how->integrator;
  par.MultipoleOrder = how->order;
  par.Eta = how->integrator == INTEGRATOR_OF_WALKS ? 0.5 : integrator_traits[how->integrator].eta;
  /* no substeps, also about the heaviest particle */
  if (how->scheme == SCHEME_SHARED) par.MaxSizeTimestep = par.FixedStep = 1e-5;
  return par;
}

/* The particles of this rank: runs of ten by id. */
static void share(const struct comm *comm, const struct set *set, struct particles *mine)
{
  set_make(set, 0.3 * sqrt(set->gravity), mine);
  int64_t kept = 0;
  for (int64_t i = 0; i < mine->n; i++)
    if (i / 10 % comm->size == comm->rank) particles_copy(mine, kept++, mine, i);
  mine->n = kept;
}

static void open_sim(const struct comm *comm, const struct set *set, const struct params *par, struct sim *sim)
{
  struct particles mine;
  struct fault f = {""};
  share(comm, set, &mine);
  sim_open(sim, comm, par, tested, &mine, &f);
  settings_first_force(sim);
}

/* Positions and masses of all ranks' particles by id: x[id - 1] is x, y, z, m. */
static double (*gather(const struct sim *sim, int64_t n))[4]
{
  const struct particles *p = sim->be->view(sim->dev);
  double(*x)[4] = memory_alloc("test", sizeof *x * (size_t)(n + 1));
  for (int64_t i = 0; i < p->n; i++) {
    for (int c = 0; c < 3; c++) x[p->id[i] - 1][c] = p->pos[3 * i + c];
    x[p->id[i] - 1][3] = p->mass[i];
  }
  comm_sum_double(sim->comm, x[0], (int)(4 * n));
  return x;
}

/* Of particle i from the particles `first` on. */
static double potential_at(double (*x)[4], int64_t first, int64_t n, int64_t i, const struct set *set)
{
  double sum = 0;
  for (int64_t j = first; j < n; j++) {
    double d[3] = {x[j][0] - x[i][0], x[j][1] - x[i][1], x[j][2] - x[i][2]};
    if (j != i)
      sum -= set->gravity * x[j][3] / sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + set->softening * set->softening);
  }
  return sum;
}

/* The potential energy of all ranks' particles. */
static double true_potential(const struct sim *sim, const struct set *set)
{
  double(*x)[4] = gather(sim, set->n), sum = 0;
  for (int64_t i = sim->comm->rank; i < set->n; i += sim->comm->size)
    sum += x[i][3] * potential_at(x, i + 1, set->n, i, set);
  comm_sum_double(sim->comm, &sum, 1);
  memory_free(x);
  return sum;
}

/* Digest of all fields of this rank. */
static uint64_t digest(const struct sim *sim)
{
  const struct particles *p = sim->be->view(sim->dev);
  uint64_t h = 1469598103934665603ULL;
  for (int f = 0; f < particle_field_count; f++) {
    const unsigned char *at = (const unsigned char *)*particles_array(p, &particle_fields[f]);
    for (size_t k = 0; k < particle_fields[f].bytes * (size_t)p->n; k++) h = (h ^ at[k]) * 1099511628211ULL;
  }
  return h;
}

static void advance(struct sim *sim)
{
  struct plan plan = plan_next(sim->par, &sim->now, &sim->system, sim->time, sim->par->TimeMax, 1);
  step_open(sim, &plan);
  while (step_substeps(sim, &plan, HUGE_VAL) != STEP_SUBSTEPS_ENDED) continue;
  step_close(sim, &plan, 1);
}

/* Corrected energies against true ones, before and after soft steps, within `limit` of the potential energy. */
static void check_energies(const struct comm *comm, const struct set *set, const struct scheme *how, double limit)
{
  struct params par = params_of(set, how);
  struct sim sim;
  open_sim(comm, set, &par, &sim);
  double change[2] = {0}, worst = 0, noise = 0, potential = 0;
  for (int k = 0; k <= STEPS; k++) {
    double truth = true_potential(&sim, set);
    uint64_t before = digest(&sim);
    energies_measure(&sim, 1);
    if (k == 0)
      say(comm_min_int64(comm, digest(&sim) == before) == 1, set->name, how->name, "no field of the particles changes",
          0, 0);
    struct diagnostics d = energies_corrected(&sim);
    worst = fmax(worst, fabs(d.potential - truth) / fmax(fabs(truth), 1e-300));
    noise = sim.energy.noise / fmax(fabs(truth), 1e-300);
    change[0] += (k == 0 ? -1 : k == STEPS) * d.potential;
    change[1] += (k == 0 ? -1 : k == STEPS) * truth;
    potential = fabs(truth);
    if (k < STEPS) advance(&sim);
  }
  say(worst <= limit, set->name, how->name, "potential energy against direct sums", worst, limit);
  say(noise <= limit && (noise > 0 || set->n == 1), set->name, how->name, "its noise", noise, limit);
  say(fabs(change[0] - change[1]) <= limit * potential, set->name, how->name, "its change in soft steps",
      fabs(change[0] - change[1]) / fmax(potential, 1e-300), limit);
  sim_close(&sim);
}

/* Corrected potential energy before the first soft step. */
static void check_start(const struct comm *comm, const struct set *set, const struct scheme *how, double limit)
{
  struct params par = params_of(set, how);
  struct sim sim;
  open_sim(comm, set, &par, &sim);
  energies_measure(&sim, 1);
  double truth = true_potential(&sim, set), off = fabs(energies_corrected(&sim).potential / truth - 1);
  say(off <= limit, set->name, how->name, "potential energy at the start", off, limit);
  sim_close(&sim);
}

/* Two runs, with energies and without: the same bits. */
static void check_orbits(const struct comm *comm, const struct set *set, const struct scheme *how)
{
  struct params par = params_of(set, how);
  uint64_t end[2];
  for (int k = 0; k < 2; k++) {
    struct sim sim;
    open_sim(comm, set, &par, &sim);
    for (int n = 0; n <= STEPS; n++) {
      if (k == 1) energies_measure(&sim, 1);
      if (n < STEPS) advance(&sim);
    }
    end[k] = digest(&sim);
    sim_close(&sim);
  }
  say(comm_min_int64(comm, end[0] == end[1]) == 1, set->name, how->name,
      "orbits with and without statistics have the same bits", 0, 0);
}

/* Potentials of heavy particles, and that they alone are written. */
static void check_heavy(const struct comm *comm, const struct set *set, const struct scheme *how)
{
  struct params par = params_of(set, how);
  struct sim sim;
  double worst = 0, others = 0;
  open_sim(comm, set, &par, &sim);
  double(*x)[4] = gather(&sim, set->n);
  const struct particles *p = sim.be->view(sim.dev);
  for (int64_t i = 0; i < p->n; i++) {
    int64_t id = (int64_t)p->id[i] - 1;
    if (id > 1 && id % 100) continue;
    double exact = potential_at(x, 0, set->n, id, set), error = fabs(p->pot[i] / exact - 1);
    *(id < 2 ? &worst : &others) = fmax(id < 2 ? worst : others, error);
  }
  comm_max_double(comm, &worst, 1);
  comm_max_double(comm, &others, 1);
  say(sim.energy.heavies == 2 && worst < 2e-7, set->name, how->name, "potentials of heavy particles", worst, 2e-7);
  say(others < 1e-2, set->name, how->name, "potentials of others", others, 1e-2);
  memory_free(x);
  sim_close(&sim);
}

/* The sums over a part of the groups, and over all. */
static void check_sample(const struct comm *comm, const struct set *set, const struct scheme *how)
{
  struct params par = params_of(set, how);
  struct sim sim;
  open_sim(comm, set, &par, &sim);
  struct mac mac = {MAC_ANGLE, 2, sim.force.gravity, 1e-3};
  double truth = true_potential(&sim, set), want = 2 * (truth - sim.now.potential), difference[2] = {0}, mass[2] = {0},
         least = 1e300;
  for (int k = 0; k < 2; k++) {
    struct potential_sums sums;
    struct tally tally = {0};
    struct walk_request walk = {.kind = WALK_POTENTIAL,
                                .mac = mac,
                                .a_floor = sim.force.a_floor,
                                .let = LET_SOFT,
                                .potential = 1,
                                .stride = k ? 3 : 1};
    struct let_request request = {.mac = &mac, .a_floor = sim.force.a_floor, .cutoff = -1};
    sim.be->tree.moments(sim.dev, &mac, 0, 0);
    let_exchange(sim.ranks.lets, LET_SOFT, &sim.lattice, request, TICKS, &sim.energy.traffic);
    let_walk(sim.ranks.lets, walk, &tally, &sim.energy.traffic);
    sim.be->energy->sums(sim.dev, HUGE_VAL, &sums);
    comm_sum_double(comm, (double *)&sums, sizeof sums / sizeof(double));
    for (int b = 0; b < ENERGY_BATCHES; b++) {
      double here = 0;
      for (int t = 0; t < PARTICLE_TYPES; t++) {
        difference[k] += sums.difference[b][t];
        here += sums.mass[b][t];
      }
      mass[k] += here;
      if (k == 0) least = fmin(least, here);
    }
  }
  double direct = mass[0] == 0; /* the potentials of forces are direct sums */
  double off = direct ? 0 : fabs(difference[0] - want) / fabs(truth);
  say(off < 2e-7, set->name, how->name, "sums of all groups against direct sums", off, 2e-7);
  say(direct || (fabs(mass[0] / sim.now.mass - 1) < 1e-6 && least > 0.03 * mass[0]), set->name, how->name,
      "they have the whole mass, in equal batches", fabs(mass[0] / sim.now.mass - 1), 1e-6);
  double part = direct ? 1.0 / 3 : mass[1] / mass[0],
         scaled = direct ? 0 : fabs(difference[1] / part - difference[0]) / fabs(truth);
  say(fabs(part - 1.0 / 3) < 0.05 && scaled < 1e-4, set->name, how->name, "every third group has a third of them",
      scaled, 1e-4);
  sim_close(&sim);
}

static void check_rules(void)
{
  if (!leader) return;
  int good = energies_angle(2) == energies_angle(16384) && energies_angle(16384) < 0.01 &&
             energies_angle(16385) < energies_angle(1e5) && energies_angle(1e5) < 0.3 && energies_angle(1e9) == 0.3;
  tap_ok(good, "the opening angle grows with the number of particles, up to 0.3");
  tap_ok(energies_stride(1) == 1 && energies_stride(1e6) == 1 && energies_stride(1 << 24) == 32,
         "the sample has 2^19 to 2^20 particles");
  tap_ok(energies_due(100, 1, 0, 1, 100, 1) == 1 && !energies_due(100, 10, 0, 1, 100, 16) &&
             !energies_due(1e9, 1, 0, 0.1, 100, 1) && energies_due(0, 0, 0, 1, 1, 1) == 1 &&
             !energies_due(100, 1, 1, 1, 100, 1),
         "statistics are due when soft steps have cost many times as much, and a few hundred times in a run");
  int every = energies_due(200, 10, 0, 10, 100, 16);
  tap_ok(every == 4 && energies_due(200, 10, 1, 10, 100, 16) > every && !energies_due(200, 10, 0, 9, 100, 16) &&
             !energies_due(200, 10, 0, 10, 100, 3) && !energies_due(200, 1, 3, 10, 100, 16),
         "ten times in a run of coarser samples, where these cost little");
}

static int has_none(enum step_integrator integrator)
{
  (void)integrator;
  return 0;
}

/* A backend that lacks the integrator of the parameters is refused with its name. */
static void check_refused(const struct comm *comm, const struct set *set)
{
  const struct backend *whole = tested;
  for (int k = 0; whole->neighbour_lists && k < INTEGRATOR_COUNT; k++) {
    struct backend_neighbour_lists lists = *whole->neighbour_lists;
    struct backend without = *whole;
    struct scheme how = {"refused", MODE_HYBRID, SCHEME_BLOCK, k, 1};
    struct params par = params_of(set, &how);
    struct particles mine;
    struct sim sim;
    struct fault fault = {""};
    char text[80];
    if (k == INTEGRATOR_OF_WALKS) par.Criterion = CRITERION_PAIRS;
    lists.has = has_none;
    without.neighbour_lists = &lists;
    share(comm, set, &mine);
    int status = sim_open(&sim, comm, &par, &without, &mine, &fault);
    sim_close(&sim);
    snprintf(text, sizeof text, "Integrator = %s", integrator_traits[k].name);
    if (leader) tap_ok(status != 0 && strstr(fault.text, text), "a backend without the integrator is refused");
  }
}

static void check_backend(const struct comm *comm)
{
  const int count = (int)(sizeof schemes / sizeof *schemes);
  for (int k = 0; k < count; k++) {
    check_energies(comm, &sets[2], &schemes[k], 2e-7); /* all pairs */
    check_orbits(comm, &sets[0], &schemes[k]);
    if (schemes[k].mode == MODE_HYBRID && schemes[k].order == 2 && (!brief || k == count - 1))
      check_energies(comm, &big, &schemes[k], 3e-6);
  }
  check_heavy(comm, &heavy, &schemes[0]);
  check_heavy(comm, &heavy, &schemes[5]);
  check_refused(comm, &few);
  check_energies(comm, &heavy, &schemes[1], 1e-6);
  check_sample(comm, &big, &schemes[0]);
  for (int k = SETS - 3; k < SETS; k++) check_energies(comm, &sets[k], &schemes[k % 2 ? 0 : 3], 2e-7);
  check_energies(comm, &sets[4], &schemes[0], 1e-6);
  if (tested->particle_bytes == 0) { /* m / eps is 10^4 times the potential of the others */
    check_start(comm, &few, &schemes[1], 1e-7);
    check_start(comm, &few, &schemes[3], 1e-7);
  }
}

int main(int argc, char **argv)
{
  struct comm world;
  ranks_begin(&world, &argc, &argv);
  leader = world.rank == 0;
  brief = argc > 1 && strcmp(argv[1], "short") == 0;
  check_rules();
  const int choices[] = {BACKEND_CPU, BACKEND_CUDA};
  for (int k = 0; k < 2; k++) {
    tested = backend_everywhere(&world, choices[k]);
    if (tested && tested->energy) check_backend(&world);
  }
  return ranks_end(&world);
}
