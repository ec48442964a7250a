/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "step/plan.h"

#include <math.h>
#include <stdio.h>

#include "backend/backend.h"
#include "tap.h"

static const struct plan_facts none;

static struct params base(void)
{
  struct params p;
  params_defaults(&p);
  p.Mode = MODE_HYBRID;
  p.Scheme = SCHEME_BLOCK;
  p.xs = 0.2;
  p.ys = 0.1;
  return p;
}

static int near(double a, double b) { return fabs(a - b) <= 1e-12 * fabs(b); }

/* The plan with `r2`, of a system with split forces where `hybrid` is 1. */
static struct plan next_of(const struct params *params, const struct diagnostics *now, const struct plan_facts *known,
                           double time, double target, double r2, int hybrid, long long step)
{
  struct plan_facts facts = *known;
  facts.hybrid = hybrid;
  facts.r2 = r2;
  return plan_next(params, now, &facts, time, target, step);
}

static void check_hybrid(void)
{
  struct params p = base();
  struct diagnostics now = {.v_rms = 2, .a_rms = 1e-9};
  struct plan plan = next_of(&p, &now, &none, 0, 1000, 0.5, 1, 1);
  tap_ok(near(plan.soft_step, 0.2 * 0.5 / 2) && plan.shared_level == -1 && !plan.shared,
         "hybrid: xs R2 / v_rms, block levels by the criterion");
  now.a_rms = 100;
  plan = next_of(&p, &now, &none, 0, 1000, 0.25, 1, 1);
  tap_ok(fabs(plan.soft_step - 0.1 * sqrt(0.25 / 100)) < 1e-6, "or ys sqrt(R2 / a_rms), where that is shorter");
  p.MaxSizeTimestep = 0.001;
  plan = next_of(&p, &now, &none, 0, 1000, 0.25, 1, 1);
  tap_ok(near(plan.soft_step, 0.001), "MaxSizeTimestep caps the soft step");
  p.MaxSizeTimestep = 0;
  p.SoftStep = 0.125;
  plan = next_of(&p, &now, &none, 0, 1000, 0.25, 1, 1);
  tap_ok(near(plan.soft_step, 0.125) && !plan.at_target, "SoftStep fixes it");
  plan = next_of(&p, &now, &none, 999.9, 1000, 0.25, 1, 1);
  tap_ok(plan.at_target && plan.target == 1000 && fabs(plan.soft_step - 0.1) < 1e-9,
         "the last step ends at the target");
  plan = next_of(&p, &now, &none, 999.8, 1000, 0.25, 1, 1);
  tap_ok(!plan.at_target && fabs(plan.soft_step - 0.1) < 1e-9, "the two before it are equal");
  struct diagnostics still = {0}, ring = {.v_rms = 1e-9, .v_rms_plain = 4, .a_rms = 1e-9, .a_rms_plain = 1e-9};
  struct diagnostics alike = {.v_rms = 2, .v_rms_plain = 2.0000001, .a_rms = 1e-9, .a_rms_plain = 1e-9};
  p.SoftStep = 0;
  plan = next_of(&p, &still, &none, 0, 3, 0.25, 1, 1);
  tap_ok(plan.soft_step == 3 && plan.at_target, "nothing moves and nothing pulls: one step");
  plan = next_of(&p, &ring, &none, 0, 1000, 0.5, 1, 1);
  tap_ok(near(plan.soft_step, 0.2 * 0.5 / 4), "light particles that move about a heavy one at rest: their speed");
  ring.v_rms_plain = 1e-9;
  ring.a_rms_plain = 100;
  plan = next_of(&p, &ring, &none, 0, 1000, 0.25, 1, 1);
  tap_ok(fabs(plan.soft_step - 0.1 * sqrt(0.25 / 100)) < 1e-6, "and their acceleration");
  plan = next_of(&p, &alike, &none, 0, 1000, 0.5, 1, 1);
  tap_ok(near(plan.soft_step, 0.2 * 0.5 / 2), "masses alike: what differs by rounding changes nothing");
}

/* Stars of small mass on orbits of size 1 about a mass of 1, with virial equilibrium: their mass changes nothing. */
static void check_dominating(void)
{
  struct params p = base();
  double step[2];
  p.Integrator = INTEGRATOR_HERMITE;
  p.GravityConstantInternal = 1;
  for (int k = 0; k < 2; k++) {
    double stars = k ? 1e-5 : 1e-2, mass = 1 + stars;
    struct diagnostics now = {.count = 101, .mass = mass, .speed = 1, .v_rms_plain = 1, .virial = -stars};
    now.v_rms = sqrt(stars / mass);
    now.a_rms = sqrt(stars / mass);
    struct plan_facts facts = {.hybrid = 1, .r2 = 0.1, .mean_mass = mass / 101, .largest_mass = 1};
    step[k] = plan_soft_step(&p, &now, &facts, 0.1);
  }
  if (!(fabs(step[1] / step[0] - 1) < 0.1)) printf("# %g, %g\n", step[0], step[1]);
  tap_ok(fabs(step[1] / step[0] - 1) < 0.1 && step[1] > 1e-4, "about a dominating mass: by the orbits alone");
}

static void check_hermite(void)
{
  struct params p = base();
  struct diagnostics now = {.count = 4096, .v_rms = 0.707, .speed = 0.65, .a_rms = 0.8, .mass = 1, .virial = -0.5},
                     other = now;
  p.Integrator = INTEGRATOR_HERMITE;
  p.GravityConstantInternal = 1;
  double step = plan_adaptive(&p, &now, 0.128);
  tap_ok(step > 0.004 && step < 0.012, "Integrator = hermite: about 0.009 N-body units of time");
  struct params fine = p;
  snprintf(fine.Accuracy, sizeof fine.Accuracy, "fine");
  tap_ok(plan_adaptive(&fine, &now, 0.128) < 0.6 * step && plan_adaptive(&fine, &now, 0.128) > 0.2 * step,
         "a third of it with Accuracy = fine");
  tap_ok(plan_adaptive(&p, &now, 0.02) < 0.25 * 0.02 / 0.707 && plan_adaptive(&p, &now, 0.02) < 0.5 * step,
         "shorter with smaller radii");
  struct diagnostics pairs = now, fast = now;
  pairs.v_rms *= 10;
  pairs.kinetic *= 100;
  pairs.total = 24.5;
  tap_ok(fabs(plan_adaptive(&p, &pairs, 0.128) / step - 1) < 0.1,
         "orbits within few pairs, which hardly change the mean speed: no shorter");
  pairs.total = pairs.potential = -1e3;
  tap_ok(fabs(plan_adaptive(&p, &pairs, 0.128) / step - 1) < 0.1, "nor by their energy");
  fast.v_rms *= 10;
  fast.speed *= 10;
  tap_ok(plan_adaptive(&p, &fast, 0.128) < 0.2 * step, "shorter where all particles are faster");
  fast.v_rms = fast.speed = 0;
  tap_ok(plan_adaptive(&p, &fast, 0.128) < 0.6 * step, "and in a collapse from rest, for the speed that it will have");
  now.a_rms = 3;
  tap_ok(plan_adaptive(&p, &now, 0.128) < 0.4 * step, "and with larger accelerations, as in cusps");
  /* of this mass and virial: length 1/2, velocity sqrt 8 */
  other.mass = 4;
  other.virial = -16;
  other.v_rms *= sqrt(8);
  other.speed *= sqrt(8);
  other.a_rms *= 16;
  tap_ok(fabs(plan_adaptive(&p, &other, 0.064) / (step * 0.5 / sqrt(8)) - 1) < 0.01, "the same step in other units");
  other.virial = 1;
  tap_ok(plan_adaptive(&p, &other, 0.064) <= 0.25 * 0.064 / other.v_rms,
         "forces that do not hold it together: by the crossing time");
}

static void check_tree(void)
{
  struct params p = base();
  struct diagnostics now = {.v_rms = 2, .a_rms = 1e-9};
  p.Mode = MODE_TREE;
  p.SoftStep = 0.5;
  p.MaxSizeTimestep = 0.0625;
  struct plan plan = next_of(&p, &now, &none, 0, 1, 0.5, 0, 1);
  tap_ok(near(plan.soft_step, 0.0625), "tree: MaxSizeTimestep is the soft step, SoftStep is not looked at");
  p.MaxSizeTimestep = 0;
  plan = next_of(&p, &now, &none, 0, 1000, 0.5, 0, 1);
  tap_ok(near(plan.soft_step, 0.05), "tree without it: the rule of the hybrid mode");
  p.Scheme = SCHEME_SHARED;
  p.FixedStep = 0.01;
  plan = next_of(&p, &now, &none, 0, 1, 0.5, 0, 1);
  tap_ok(near(plan.soft_step, 0.01) && plan.shared && plan.shared_level == 0, "tree, shared: FixedStep is the step");
}

/* In comoving coordinates d ln a limits soft steps, and with the split its rule does too; MaxSizeTimestep, a d ln a, is
 * no time. */
static void check_comoving(void)
{
  struct params p = base();
  struct diagnostics now = {.v_rms = 2, .a_rms = 1e-9};
  struct plan_facts y = {.longest = 0.125};
  p.Comoving = COMOVING_ON;
  p.MaxSizeTimestep = 0.01;
  p.Mode = MODE_TREE;
  tap_ok(near(next_of(&p, &now, &y, 0, 1000, 0.5, 0, 1).soft_step, 0.125), "comoving: the longest step by d ln a");
  tap_ok(plan_eta(&p, &now, &y) == params_eta(&p, 0), "... and Eta by Accuracy");
  p.Mode = MODE_HYBRID;
  tap_ok(near(next_of(&p, &now, &y, 0, 1000, 0.5, 1, 1).soft_step, 0.05),
         "... with the split xs R2 / v_rms, where that is shorter");
  y.longest = 0.03125;
  tap_ok(near(next_of(&p, &now, &y, 0, 1000, 0.5, 1, 1).soft_step, 0.03125), "... or by d ln a");
  p.Scheme = SCHEME_SHARED;
  p.Mode = MODE_TREE;
  struct plan plan = next_of(&p, &now, &y, 0, 1000, 0.5, 0, 1);
  tap_ok(near(plan.soft_step, 0.03125) && plan.shared && plan.shared_level < 0,
         "... one step for all: by the criterion, within it");
}

/* A Plummer sphere of 16384 particles. */
static void check_errors(void)
{
  struct params p = base();
  struct diagnostics now = {.count = 16384,
                            .mass = 1,
                            .kinetic = 0.25,
                            .potential = -0.5,
                            .total = -0.25,
                            .virial = -0.5,
                            .v_rms = 0.707,
                            .a_rms = 0.81},
                     far = now;
  struct plan_facts y = {.energy = plan_energy(&now),
                         .mean_mass = 1.0 / 16384,
                         .largest_mass = 1.0 / 16384,
                         .distance = 0.15,
                         .mean_square_mass = 1.0 / 16384 / 16384},
                    hole = y;
  p.GravityConstantInternal = 1;
  p.Softening = 0.008;
  plan_note_profile(&p, &now, &y);
  tap_ok(near(y.energy, -0.25) && y.first_profile > 0.9 && y.first_profile < 1.1 && y.change == 0,
         "the system at the start");
  p.xs = p.ys = 0;
  double soft = plan_soft_step(&p, &now, &y, 0.15);
  tap_ok(soft > 0.02 && soft < 0.1 && plan_soft_step(&p, &now, &y, 0.075) < soft, "soft steps by the model of errors");
  hole.largest_mass = 0.5;
  tap_ok(plan_soft_step(&p, &now, &hole, 0.15) < 0.03 * sqrt(0.15 * 0.15 * 0.15 / 0.5),
         "orbits at R2 about a heavy particle");
  p.xs = 0.01;
  tap_ok(near(plan_soft_step(&p, &now, &y, 0.15), 0.01 * 0.15 / 0.707), "xs is given");
  p.xs = 0;
  p.Mode = MODE_TREE;
  double longest = next_of(&p, &now, &y, 0, 1000, 0.15, 0, 1).soft_step, eta = plan_eta(&p, &now, &y);
  p.Scheme = SCHEME_SHARED;
  struct plan plan = next_of(&p, &now, &y, 0, 1000, 0.15, 0, 1);
  tap_ok(plan.soft_step > 0.005 && plan.soft_step < 0.012 && plan.shared && plan.shared_level == 0 &&
             plan.soft_step < longest,
         "tree, shared: one step for all by the model of errors");
  far.a_rms *= 1.001;
  tap_ok(fabs(next_of(&p, &far, &y, 0, 1000, 0.15, 0, 1).soft_step / plan.soft_step - 1) < 0.03,
         "which does not follow noise");
  far.a_rms = 8;
  plan_note_profile(&p, &far, &y);
  tap_ok(next_of(&p, &far, &y, 0, 1000, 0.15, 0, 1).soft_step < 0.2 * plan.soft_step && y.change > 50 &&
             plan_eta(&p, &far, &y) < 0.3 * eta,
         "a collapse: shorter steps, smaller Eta");
  p.Eta = 0.7;
  tap_ok(plan_eta(&p, &now, &y) == 0.7, "Eta is given");
  now.total = 0.001;
  now.kinetic = 0.5;
  now.potential = now.virial = -0.499;
  tap_ok(near(plan_energy(&now), -0.0999), "an energy near 0");
  now.v_rms_plain = 3;
  tap_ok(near(plan_energy(&now), -4.5), "light particles about a heavy one at rest");
}

static void check_shared(void)
{
  struct params p = base();
  struct diagnostics now = {.v_rms = 1, .a_rms = 1};
  p.Scheme = SCHEME_SHARED;
  p.SoftStep = 0.25;
  struct plan plan = next_of(&p, &now, &none, 0, 1, 0.5, 1, 1);
  tap_ok(plan.shared && plan.shared_level == -1, "shared: all particles take the deepest level of the criterion");
  int all = 1;
  for (int k = 0; k < 12; k++) {
    p.FixedStep = 0.25 / (1 << k);
    plan = next_of(&p, &now, &none, 0, 1, 0.5, 1, 1);
    all &= plan.shared_level == k && near(plan.soft_step, 0.25);
  }
  tap_ok(all, "Watanabe & Nakasato: soft step / FixedStep = 2^k gives level k");
  p.SoftStep = 0.3;
  p.FixedStep = 0.3 / 8;
  plan = next_of(&p, &now, &none, 0, 3, 0.5, 1, 1);
  tap_ok(plan.shared_level == 3, "also where the lengths are no binary numbers");
}

static void check_radius(void)
{
  struct params p = base();
  struct diagnostics now = {.v_rms = 1, .a_rms = 1};
  int due = 0, wrong = 0;
  for (long long step = 0; step < 10 * RADIUS_INTERVAL; step++) {
    int measure = next_of(&p, &now, &none, 0, 1, 0.5, 1, step).measure_radius;
    due += measure;
    wrong += measure && (step == 0 || step % RADIUS_INTERVAL);
  }
  tap_ok(due == 9 && !wrong, "the rule's radius is measured again at times, not at the start");
  p.R1 = 0.1;
  due = 0;
  for (long long step = 0; step < 10 * RADIUS_INTERVAL; step++)
    due += next_of(&p, &now, &none, 0, 1, 0.5, 1, step).measure_radius;
  tap_ok(due == 0, "and never where R1 was given");
}

/* A particle of mass 1 with a light one, or one without mass, at the distance 1, in an external field. */
static void check_few_in_field(void)
{
  struct params p = base();
  p.Mode = MODE_TREE;
  p.Scheme = SCHEME_SHARED;
  p.GravityConstantInternal = 1;
  p.Softening = 0.01;
  for (int massless = 0; massless < 2; massless++) {
    struct diagnostics now = {.count = 2,
                              .massless = massless,
                              .mass = 1,
                              .v_rms = massless ? 0 : 3e-5,
                              .v_rms_plain = 1,
                              .a_rms = massless ? 0 : 3e-5,
                              .a_rms_plain = 0.7,
                              .virial = massless ? -1e-17 : -1e-9};
    struct plan_facts facts = {.in_field = 1,
                               .energy = plan_energy_in_field(&now, 1),
                               .field_step = 0.01,
                               .mean_mass = massless ? 1 : 0.5,
                               .largest_mass = 1,
                               .mean_square_mass = massless ? 1 : 0.5};
    plan_note_profile(&p, &now, &facts);
    struct plan plan = next_of(&p, &now, &facts, 0, 1000, 0.5, 0, 1);
    printf("# step %.3g\n", plan.soft_step);
    tap_ok(plan.soft_step > 1e-4 && plan.soft_step < 0.0101,
           massless ? "... and with a test particle alone"
                    : "in a field: a light particle about a heavy one has a step of its orbit");
  }
}

int main(void)
{
  check_hybrid();
  check_few_in_field();
  check_hermite();
  check_dominating();
  check_tree();
  check_comoving();
  check_errors();
  check_shared();
  check_radius();
  return tap_end();
}
