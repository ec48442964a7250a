/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Softening by particle type: its classes and codes, and forces, potentials and levels on every backend that has it
 * against double-precision sums in which a pair has the larger softening of the two. */
#include <config.h>
#include "backend/energy_verbs.h"
#include "backend/neighbour_list_verbs.h"
#include "cpu/walk_isa.h"
#include "particles/softening.h"
#include "walks.h"

/* --- classes and codes -------------------------------------------------------------------------------------------- */

static void check_classes(void)
{
  const double none[PARTICLE_TYPES] = {0}, alike[PARTICLE_TYPES] = {2, 2, 2, 2, 2, 2},
               some[PARTICLE_TYPES] = {0.5, 0.1, 2, 0.1, 0.5, 0.1}, zero[PARTICLE_TYPES] = {0, 3, 0, 0, 0, 0};
  struct softening s = softening_make(0.25, none);
  tap_ok(s.classes == 1 && s.eps[0] == 0.25 && s.eps2[0] == 0.0625f, "no softenings of types: one class");
  s = softening_make(0.25, alike);
  tap_ok(s.classes == 1 && s.eps[0] == 2, "equal softenings of types: one class");
  s = softening_make(0.25, some);
  tap_ok(s.classes == 3 && s.eps[0] == 0.1 && s.eps[1] == 0.5 && s.eps[2] == 2 && s.class_of[1] == 0 &&
             s.class_of[4] == 1 && s.class_of[2] == 2,
         "three classes, ascending");
  s = softening_make(0.25, zero);
  tap_ok(s.classes == 2 && s.eps[0] == 0 && s.eps[1] == 3 && s.class_of[0] == 0 && s.class_of[1] == 1,
         "a class without softening");
}

static void check_codes(void)
{
  struct random r = {5};
  const float eps2[SOFTENING_CLASSES] = {0, 1e-20f, 4e-4f, 0.25f, 9, 1e8f, 1e8f, 1e8f};
  double worst = 0, wider = 0, off = 0;
  int same = 1, smaller = 0;
  for (int k = 0; k < 20000; k++) {
    float m = (float)pow(10, random_between(&r, -30, 30)), reach = (float)pow(10, random_between(&r, -20, 20));
    int low = (int)(6 * random_unit(&r)), high = low + (int)((6 - low) * random_unit(&r));
    float packed = softening_pack(m, low), mean = eps2[low] + (float)random_unit(&r) * (eps2[high] - eps2[low]);
    worst = fmax(worst, fabs(softening_mass(packed) / (double)m - 1));
    same &= softening_class(packed) == low;
    float with = softening_pack_reach(reach, low, high, mean), back = softening_of_reach(with, eps2);
    smaller += with < reach;
    wider = fmax(wider, with / (double)reach - 1);
    if (low == high) same &= back == eps2[low];
    else if (mean > 1e-30f) off = fmax(off, fabs(back / (double)mean - 1));
  }
  tap_ok(same && worst < 4.8e-7, "a mass carries a class, and is changed by at most 4.8e-7");
  tap_ok(!smaller && wider < 0.0157 && off < 0.004,
         "a reach carries a softening, is not smaller, and at most 1.6 % larger");
  tap_ok(softening_class(softening_pack(0, 5)) == 5 && softening_mass(softening_pack(0, 5)) == 0,
         "a particle without mass");
  tap_ok(isfinite(softening_pack_reach(HUGE_VALF, 0, 1, 0.5f)) &&
             softening_of_reach(softening_pack_reach(0, 2, 2, 0.5f), eps2) == eps2[2],
         "the largest reach and none");
}

/* --- sums --------------------------------------------------------------------------------------------------------- */

/* A case: softenings of the types 1, 2 and 4 in units of that of the set. */
struct mix {
  const char *name;
  double times[3];
};
static const struct mix mixes[] = {
    {"two classes", {1, 8, 1}}, {"three classes", {1, 4, 16}}, {"three classes, one without softening", {0, 1, 10}}};
enum { MIXES = sizeof mixes / sizeof *mixes };
static const int types[3] = {1, 2, 4};

static void softenings_of(const struct set *set, const struct mix *mix, double of[PARTICLE_TYPES])
{
  for (int t = 0; t < PARTICLE_TYPES; t++) of[t] = set->softening * mix->times[0];
  for (int k = 0; k < 3; k++) of[types[k]] = set->softening * mix->times[k];
}

/* The particles of a set, of three types: mixed, or with `by_place` one type in each octant, so that cells differ. */
static void make(const struct set *set, int by_place, struct particles *particles)
{
  set_make(set, 0, particles);
  for (int64_t i = 0; i < particles->n; i++)
    particles->type[i] = (uint8_t)types[by_place ? ((particles->pos[3 * i] > 0) + (particles->pos[3 * i + 1] > 0) +
                                                    (particles->pos[3 * i + 2] > 0)) %
                                                       3
                                                 : i % 3];
}

static struct direct sum_up(const struct particles *particles, const struct set *set, const double of[PARTICLE_TYPES],
                            const struct split *split)
{
  struct direct d = {.n = particles->n};
  size_t n = (size_t)particles->n;
  d.acc = memory_alloc("direct", sizeof *d.acc * n);
  d.hard = memory_alloc("direct", sizeof *d.hard * n);
  d.pot = memory_alloc("direct", sizeof *d.pot * n);
  d.scale = memory_alloc("direct", sizeof *d.scale * n);
  for (int64_t i = 0; i < particles->n; i++)
    for (int64_t j = 0; j < particles->n; j++) {
      double dx[3], r2 = 0, eps = fmax(of[particles->type[i]], of[particles->type[j]]);
      int64_t a = (int64_t)particles->id[i] - 1;
      for (int c = 0; c < 3; c++) {
        dx[c] = particles->pos[3 * j + c] - particles->pos[3 * i + c];
        r2 += dx[c] * dx[c];
      }
      if (i == j || !(r2 + eps * eps > 0)) continue;
      double rho = sqrt(r2 + eps * eps), w = set->gravity * particles->mass[j] / (rho * rho * rho),
             k = direct_k(split, sqrt(r2));
      for (int c = 0; c < 3; c++) {
        d.acc[a][c] += w * dx[c];
        d.hard[a][c] += k * w * dx[c];
      }
      d.pot[a] -= set->gravity * particles->mass[j] / rho;
    }
  direct_scale(&d);
  return d;
}

static void open_mix(struct rig *rig, const struct backend *be, const struct set *set, const double of[PARTICLE_TYPES],
                     int by_place, int order, enum walk_method method)
{
  struct particles p;
  make(set, by_place, &p);
  memset(rig, 0, sizeof *rig);
  rig->be = be;
  rig->order = order;
  rig->gravity = set->gravity;
  rig->split = split_make(SPLIT_QUINTIC, set->r1, set->r2);
  struct device_config config = {.gravity = set->gravity,
                                 .softening = set->softening,
                                 .max_leaf = 16,
                                 .max_group = 64,
                                 .quadrupole = order == 2,
                                 .ranks = 1,
                                 .method = method};
  memcpy(config.softening_of, of, sizeof config.softening_of);
  config.softening = fmin(fmin(of[1], of[2]), of[4]);
  rig->dev = be->open(&config);
  be->upload(rig->dev, &p);
  double low[3], high[3];
  be->sets.bounds(rig->dev, 0, low, high);
  rig->lattice = lattice_cover(low, high, 0.05, set->softening);
  be->tree.order(rig->dev, &rig->lattice);
  be->tree.build(rig->dev, everywhere[0], everywhere[1]);
}

static void judge(const struct set *set, const char *what, struct errors errors, double median, double most99)
{
  char line[600];
  snprintf(line, sizeof line, "%s, %s: %s (median %.1e, 99 %% %.1e)", label, set->name, what, errors.median,
           errors.most99);
  tap_ok(errors.finite && errors.median <= median && errors.most99 <= most99, line);
}

/* --- the verbs ---------------------------------------------------------------------------------------------------- */

/* Potentials by a narrow opening angle are direct sums, of all particles: 1e-6 of each potential. */
static void check_energy(struct rig *rig, const struct set *set, const struct direct *direct)
{
  if (!rig->be->energy) return;
  struct mac mac = {MAC_ANGLE, 2, set->gravity, 1e-3};
  struct walk_request r = {
      .kind = WALK_POTENTIAL, .mac = mac, .let = LET_SOFT, .potential = 1, .stride = 1, .local = 1, .last = 1};
  struct potential_sums sums;
  double total = 0, want = 0;
  rig->be->tree.moments(rig->dev, &mac, 0, 0);
  rig->be->forces.walk(rig->dev, &r, &rig->tally);
  rig->be->energy->sums(rig->dev, HUGE_VAL, &sums);
  for (int b = 0; b < ENERGY_BATCHES; b++)
    for (int t = 0; t < PARTICLE_TYPES; t++) total += sums.difference[b][t];
  const struct particles *v = rig->be->view(rig->dev);
  for (int64_t i = 0; i < v->n; i++) {
    total += (double)v->mass[i] * v->pot[i];
    want += v->mass[i] * direct->pot[v->id[i] - 1];
  }
  say(fabs(total / want - 1) < 1e-6, set, "potentials for energies", total / want - 1);
}

/* Probes in double precision. */
static void check_direct(struct rig *rig, const struct set *set, const struct direct *direct)
{
  enum { PROBES = 40 };
  const struct particles *v = rig->be->view(rig->dev);
  double at[PROBES][3], acc[PROBES][3] = {{0}}, hard[PROBES][3] = {{0}}, pot[PROBES] = {0}, worst = 0;
  uint64_t skip[PROBES];
  uint8_t type[PROBES];
  for (int k = 0; k < PROBES; k++) {
    int64_t i = k * v->n / PROBES;
    memcpy(at[k], &v->pos[3 * i], sizeof at[k]);
    skip[k] = v->id[i];
    type[k] = v->type[i];
  }
  rig->be->probe->direct(rig->dev, PROBES, (const double(*)[3])at, skip, type, &rig->split, acc, hard, pot);
  for (int k = 0; k < PROBES; k++) {
    int64_t i = (int64_t)skip[k] - 1;
    worst = fmax(worst, fabs(pot[k] / direct->pot[i] - 1));
    for (int c = 0; c < 3; c++)
      worst = fmax(worst, fmax(fabs(acc[k][c] - direct->acc[i][c]), 1e-6 * fabs(hard[k][c] - direct->hard[i][c])) /
                              direct->scale[i]);
  }
  say(worst < 1e-11, set, "probes in double precision", worst);
}

/* Levels by each particle's own softening; then hard forces at a tick. */
static void check_steps(struct rig *rig, const struct set *set, const double of[PARTICLE_TYPES],
                        const struct direct *direct)
{
  const struct particles *v = rig->be->view(rig->dev);
  struct step_rule rule = {.eta = 0.5, .softening = set->softening, .by_type = 1, .soft_step = 4};
  struct mac mac = rig_mac(rig, MAC_ACCELERATION, 1.0 / 8192);
  memcpy(rule.softening_of, of, sizeof rule.softening_of);
  int good = 1, seen[3] = {0};
  rig->be->steps.levels(rig->dev, &rule, -1);
  v = rig->be->view(rig->dev);
  for (int64_t i = 0; i < v->n; i++) {
    double a = 0, eps = of[v->type[i]];
    for (int c = 0; c < 3; c++) a += pow((double)v->acc_hard[3 * i + c] + v->acc_soft[3 * i + c], 2);
    good &= v->level[i] == timeline_level(4, a > 0 ? 0.5 * sqrt(eps / sqrt(a)) : 1e300);
    for (int k = 0; k < 3; k++) seen[k] += v->type[i] == types[k];
  }
  say(good && seen[0] && seen[1] && seen[2], set, "block levels follow the softening of the particle", 0);
  rig->be->steps.levels(rig->dev, &rule, 2);
  rig->be->tree.sources(rig->dev);
  rig->be->tree.moments(rig->dev, &mac, 0, 0);
  v = hard_walk(rig, &mac, TICKS / 4, 1e-9 / TICKS);
  judge(set, "hard forces in a substep",
        errors_between(v, v->acc_hard, NULL, (const double(*)[3])direct->hard, direct->scale), 1e-4, 5e-4);
}

/* Soft forces, and the hard ones from neighbour lists. */
static void check_lists(const struct backend *be, const struct set *set, const double of[PARTICLE_TYPES],
                        const struct direct *direct, int order)
{
  struct rig g;
  open_mix(&g, be, set, of, 0, order, METHOD_GROUPS);
  struct list_request r = {.integrator = INTEGRATOR_HERMITE,
                           .split = g.split,
                           .eta = 0.1,
                           .mean_mass = 1.0 / (double)set->n,
                           .largest_mass = 1,
                           .first = 1};
  struct mac angle = rig_mac(&g, MAC_ANGLE, 0.7), mac = rig_mac(&g, MAC_ACCELERATION, 1.0 / 8192);
  struct walk_request walk = {
      .kind = WALK_SOFT, .mac = angle, .split = g.split, .let = LET_SOFT, .potential = 1, .local = 1, .last = 1};
  for (int k = 0; k < 2; k++) {
    be->tree.sources(g.dev);
    be->tree.moments(g.dev, &walk.mac, 0, 0);
    be->tree.groups(g.dev);
    be->neighbour_lists->potential(g.dev, &r, 0, NULL);
    walk.add_potential = 1;
    be->forces.walk(g.dev, &walk, &g.tally);
    walk.mac = mac;
    walk.a_floor = 1e-6;
  }
  const struct particles *v = be->view(g.dev);
  judge(set, "hard forces of neighbour lists",
        errors_between(v, v->acc_hard, NULL, (const double(*)[3])direct->hard, direct->scale), 1e-6, 4e-6);
  judge(set, "soft and hard forces",
        errors_between(v, v->acc_soft, v->acc_hard, (const double(*)[3])direct->acc, direct->scale), 2e-4, 6e-4);
  judge(set, "soft and hard potentials", potential_errors(v, direct), 1e-4, 4e-4);
  rig_close(&g);
}

static void check_set(const struct backend *be, const struct set *set, const struct mix *mix, int by_place, int order)
{
  struct rig g;
  double of[PARTICLE_TYPES];
  struct set here = *set;
  char name[200];
  snprintf(name, sizeof name, "%s, %s%s, order %d", set->name, mix->name, by_place ? " in octants" : "", order);
  here.name = name;
  softenings_of(set, mix, of);
  open_mix(&g, be, set, of, by_place, order, METHOD_GROUPS);
  struct direct d = sum_up(be->view(g.dev), set, of, &g.split);
  const struct particles *v = rig_first_force(&g, 1.0 / 512);
  judge(&here, "forces, Delta = 2^-9", errors_between(v, v->acc, NULL, (const double(*)[3])d.acc, d.scale), 1e-3, 1e-2);
  struct mac fine = rig_mac(&g, MAC_ACCELERATION, 1.0 / 8192);
  v = rig_force(&g, &fine);
  judge(&here, "forces, Delta = 2^-13", errors_between(v, v->acc, NULL, (const double(*)[3])d.acc, d.scale), 2e-4,
        6e-4);
  judge(&here, "hard part", errors_between(v, v->acc_hard, NULL, (const double(*)[3])d.hard, d.scale), 1e-4, 5e-4);
  judge(&here, "potentials", potential_errors(v, &d), 1e-4, 4e-4);
  check_energy(&g, &here, &d);
  check_direct(&g, &here, &d);
  check_steps(&g, &here, of, &d);
  rig_close(&g);
  if (be->neighbour_lists && !by_place) check_lists(be, &here, of, &d, order);
  direct_close(&d);
}

static void check_backend(const struct backend *be)
{
  snprintf(label, sizeof label, "%s", be->name);
  if (!be->softens_by_type) {
    printf("# %s: one softening for all types\n", be->name);
    return;
  }
  for (size_t k = 0; k < SETS; k++) {
    struct set s = sets[k];
    if (s.n < 1000 || s.place == place_coincident || s.place == place_line) continue;
    s.n = 1000;
    check_set(be, &s, &mixes[k % MIXES], k % 2, 1 + (k / 2) % 2);
  }
  for (int m = 0; m < MIXES; m++) check_set(be, &sets[0], &mixes[m], 0, 1 + m % 2);
}

/* Every instruction set of the CPU, each with some of the sets. */
static void check(const struct backend *be)
{
  static const char *const isa[] = {"generic", "avx2", "avx512"};
  if (be != &backend_cpu) {
    check_backend(be);
    return;
  }
  for (int k = 0; k < 3; k++) {
    setenv("ESPALIER_SIMD", isa[k], 1);
    snprintf(label, sizeof label, "%s %s", be->name, isa[k]);
    int there = strcmp(walk_isa_choose()->name, isa[k]) == 0;
    if (there && k < 2) check_set(be, &sets[0], &mixes[1 + k], k, 2 - k);
    else if (!there) tap_skip(label, "not on this machine, or not compiled");
  }
  unsetenv("ESPALIER_SIMD");
  check_backend(be);
}

int main(void)
{
  check_classes();
  check_codes();
  rig_each(check);
  tap_ok(memory_current() == 0, "all memory is given back");
  return tap_end();
}
