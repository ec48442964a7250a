/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Verbs about particle sets, on every backend: the answers of plain loops. */
#include <config.h>
#include "backend/link.h"
#include "backend/probe.h"
#include "base/memory.h"
#include "particles/sampling.h"
#include "particles/timeline.h"
#include "rig.h"
#include "tap.h"
#include "tree/cuboids.h"

static char label[50];

static void say(int good, const struct set *set, const char *what)
{
  char line[200];
  snprintf(line, sizeof line, "%s, %s: %s", label, set->name, what);
  tap_ok(good, line);
}

static int near(double x, double y, double scale) { return fabs(x - y) <= 1e-12 * scale; }

/* Accelerations and types that are not all the same. */
static void fill(struct particles *particles)
{
  for (int64_t k = 0; k < 3 * particles->n; k++) {
    particles->acc[k] = (float)(k % 13) - 5.5f;
    particles->acc_hard[k] = (float)(k % 7) - 2.5f;
    particles->acc_soft[k] = particles->acc[k] - particles->acc_hard[k];
  }
  for (int64_t i = 0; i < particles->n; i++) {
    particles->type[i] = (uint8_t)(i % PARTICLE_TYPES);
    particles->pot[i] = -(float)(i % 17);
    particles->work[i] = (float)(i % 101) + 0.25f;
  }
}

/* 1: the verb gives the box of what the particles (NULL: those of the device) may reach. */
static int is_box(const struct rig *rig, const struct particles *particles, double horizon)
{
  double low[3], high[3];
  int good = 1;
  rig->be->sets.bounds(rig->dev, horizon, low, high);
  if (!particles) particles = rig->be->view(rig->dev);
  for (int c = 0; c < 3; c++) {
    double min_value = 1e300, max_value = -1e300;
    for (int64_t i = 0; i < particles->n; i++) {
      double x = particles->pos[3 * i + c], there = x + horizon * particles->vel[3 * i + c],
             pull = 0.5 * horizon * horizon * fabs(particles->acc[3 * i + c]);
      min_value = fmin(min_value, fmin(x, there) - pull);
      max_value = fmax(max_value, fmax(x, there) + pull);
    }
    good &= near(low[c], min_value, fabs(min_value)) && near(high[c], max_value, fabs(max_value));
  }
  return good;
}

static void check_bounds(const struct rig *rig, const struct set *set, const struct particles *particles)
{
  say(is_box(rig, particles, 0.3), set, "the box of what particles may reach");
}

/* A device may know numbers before it is asked: they are those of the present particles. */
static void check_ahead(const struct rig *rig, const struct set *set)
{
  const struct backend *be = rig->be;
  struct step_rule rule = {.eta = 0.3, .softening = set->softening, .use_velocity = 1, .soft_step = 0.25};
  struct field none = {.count = 0};
  struct sample *out = memory_alloc("test", sizeof *out * (size_t)be->count(rig->dev));
  int64_t count[32], again[32];
  be->steps.levels(rig->dev, &rule, -1);
  int good = is_box(rig, NULL, 0.25) && is_box(rig, NULL, 0.125) && is_box(rig, NULL, 0.25);
  say(good, set, "the box after levels");
  be->steps.histogram(rig->dev, count);
  be->steps.kick(rig->dev, &none, 0.125);
  say(is_box(rig, NULL, 0.25), set, "the box after a kick");
  be->steps.histogram(rig->dev, again);
  say(memcmp(count, again, sizeof count) == 0, set, "a kick changes no level");
  be->steps.levels(rig->dev, &rule, 3);
  be->steps.histogram(rig->dev, again);
  say(again[3] == be->count(rig->dev) && be->steps.next_tick(rig->dev) == timeline_ticks(3), set,
      "histogram and next tick of new levels");
  /* a tick without active particles: the next one is known already, and yet the work between two events has ended */
  struct mac mac = rig_mac(rig, MAC_ANGLE, 0.5);
  int64_t outside = 0;
  be->clock.record_event(rig->dev, 0);
  good = be->steps.select(rig->dev, timeline_ticks(4), 0.25 / TICKS, &outside) == 0;
  be->clock.record_event(rig->dev, 1);
  be->tree.moments(rig->dev, &mac, timeline_ticks(4), 0.25 / TICKS);
  be->clock.record_event(rig->dev, 2);
  good = be->steps.next_tick(rig->dev) == timeline_ticks(3) && good;
  say(good && be->clock.between(rig->dev, 0, 1) >= 0 && be->clock.between(rig->dev, 1, 2) >= 0, set,
      "events of a tick without active particles");
  be->steps.drift_to_end(rig->dev, 0.25 / TICKS);
  be->sets.sample(rig->dev, UINT64_MAX / 2, 0, be->count(rig->dev), out, NULL);
  say(is_box(rig, NULL, 0.25), set, "the box after a drift and a sample");
  memory_free(out);
}

static void check_sample(const struct rig *rig, const struct set *set, const struct particles *particles)
{
  struct sample *out = memory_alloc("test", sizeof *out * (size_t)particles->n);
  uint64_t threshold = UINT64_MAX / 3;
  double work = -1, want = 0;
  int64_t n = rig->be->sets.sample(rig->dev, threshold, 0, particles->n, out, &work), count = 0;
  int good = 1;
  for (int64_t i = 0; i < particles->n; i++) {
    want += particles->work[i];
    if (sampling_hash(particles->id[i]) > threshold) continue;
    good &= count < n && out[count].id == particles->id[i] && out[count].work == particles->work[i] &&
            memcmp(out[count].pos, &particles->pos[3 * i], sizeof out->pos) == 0;
    count++;
  }
  say(good && count == n, set, "samples are those of the hashed ids");
  say(near(work, want, want), set, "the work of all particles");
  int64_t max_value = count / 2, got = rig->be->sets.sample(rig->dev, threshold, 0, max_value, out, NULL);
  say(got == max_value && (max_value == 0 || sampling_hash(out[max_value - 1].id) <= threshold), set,
      "no more samples than asked for");
  memory_free(out);
}

static void check_reduce(const struct rig *rig, const struct set *set, const struct particles *particles)
{
  struct sums sums, want = {0}, scale = {0};
  rig->be->sets.reduce(rig->dev, &(struct field){0}, &sums);
  for (int64_t i = 0; i < particles->n; i++) {
    const double *x = &particles->pos[3 * i], *v = &particles->vel[3 * i];
    double m = particles->mass[i];
    want.mass += m;
    want.count += 1;
    for (int c = 0; c < 3; c++) {
      double l = m * (x[(c + 1) % 3] * v[(c + 2) % 3] - x[(c + 2) % 3] * v[(c + 1) % 3]), a = particles->acc[3 * i + c];
      want.kinetic[particles->type[i]] += 0.5 * m * v[c] * v[c];
      want.momentum[c] += m * v[c];
      scale.momentum[c] += m * fabs(v[c]);
      want.com[c] += m * x[c];
      scale.com[c] += m * fabs(x[c]);
      want.angular[c] += l;
      scale.angular[c] += fabs(l) + m * fabs(x[(c + 1) % 3] * v[(c + 2) % 3]);
      want.acc2 += m * a * a;
      want.virial += m * x[c] * a;
      scale.virial += fabs(m * x[c] * a);
      want.force[c] += m * a;
      scale.force[c] += m * fabs(a);
      want.acc2_count += a * a;
      want.vel2_count += v[c] * v[c];
      want.vel_count[c] += v[c];
      scale.vel_count[c] += fabs(v[c]);
    }
    want.speed_count += sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    want.potential[particles->type[i]] += 0.5 * m * particles->pot[i];
  }
  int good = near(sums.mass, want.mass, want.mass) && sums.count == want.count && sums.bad == 0 &&
             near(sums.acc2, want.acc2, want.acc2) && near(sums.acc2_count, want.acc2_count, want.acc2_count) &&
             near(sums.vel2_count, want.vel2_count, want.vel2_count) && near(sums.virial, want.virial, scale.virial) &&
             near(sums.speed_count, want.speed_count, want.speed_count);
  for (int t = 0; t < PARTICLE_TYPES; t++)
    good &= near(sums.kinetic[t], want.kinetic[t], want.kinetic[t]) &&
            near(sums.potential[t], want.potential[t], -want.potential[t]);
  for (int c = 0; c < 3; c++)
    good &= near(sums.momentum[c], want.momentum[c], scale.momentum[c]) &&
            near(sums.com[c], want.com[c], scale.com[c]) && near(sums.angular[c], want.angular[c], scale.angular[c]) &&
            near(sums.force[c], want.force[c], scale.force[c]) &&
            near(sums.vel_count[c], want.vel_count[c], scale.vel_count[c]);
  say(good, set, "sums for diagnostics");
}

/* A uniform external field accelerates all particles alike, and its potential is part of the sums. */
static void check_field(const struct rig *rig, const struct set *set, int64_t n)
{
  const struct field none = {0}, field = {.acc = {0.5, -2, 3}};
  struct sums without, with, kicked;
  int good = 1;
  rig->be->sets.reduce(rig->dev, &none, &without);
  rig->be->sets.reduce(rig->dev, &field, &with);
  double change = 0, want = 0, scale = 0;
  for (int t = 0; t < PARTICLE_TYPES; t++) {
    change += with.potential[t] - without.potential[t];
    scale -= without.potential[t];
  }
  for (int c = 0; c < 3; c++) {
    want -= field.acc[c] * without.com[c];
    scale += fabs(field.acc[c] * without.com[c]);
  }
  say(near(change, want, scale + without.mass), set, "the potential of an external field is in the sums");
  rig->be->steps.kick(rig->dev, &field, 0.25);
  rig->be->steps.kick(rig->dev, &none, -0.25); /* the soft acceleration cancels */
  rig->be->sets.reduce(rig->dev, &none, &kicked);
  for (int c = 0; c < 3; c++)
    good &= near(kicked.vel_count[c] - without.vel_count[c], 0.25 * field.acc[c] * (double)n,
                 fabs(field.acc[c]) * (double)n + fabs(without.vel_count[c]));
  say(good, set, "an external field kicks all particles alike");
}

/* A field of every kind of term in a rotating frame. */
static struct field every_term(void)
{
  struct field f = {.acc = {0.1, 0.2, -0.3}, .spin = 0.7};
  static const double numbers[][3] = {{-0.3}, {2, 0.4}, {3, 0.5},    {1.5, 0.2, 0.8},
                                      {2, 3}, {4, 2},   {3, 1, 0.3}, {2, 1.5}};
  for (int kind = FIELD_LINEAR; kind <= FIELD_TIDAL; kind++) {
    struct field_term *t = &f.term[f.count++];
    t->kind = kind;
    for (int c = 0; c < 3; c++) {
      t->centre[c] = kind == FIELD_TIDAL ? 0 : 0.01 * (kind + 3 * c);
      t->motion[c] = 0.1 * c;
    }
    memcpy(t->number, numbers[kind], sizeof numbers[kind]);
  }
  return f;
}

/* A push adds what it is given. */
static void check_push(const struct rig *rig, const struct set *set)
{
  if (!rig->be->steps.push) return;
  const struct particles *p = rig->be->view(rig->dev);
  double *change = memory_alloc("test", sizeof *change * (size_t)(3 * p->n)),
         *before = memory_alloc("test", sizeof *before * (size_t)(3 * p->n));
  int good = 1;
  for (int64_t k = 0; k < 3 * p->n; k++) {
    before[k] = p->vel[k];
    change[k] = (double)(k % 11) - 4.5;
  }
  rig->be->steps.push(rig->dev, change);
  p = rig->be->view(rig->dev);
  for (int64_t k = 0; k < 3 * p->n; k++) good &= p->vel[k] == before[k] + change[k];
  say(good, set, "changes of velocities from the host");
  memory_free(before);
  memory_free(change);
}

/* All kinds of terms: the kick of each particle, the sums and the largest rate are those of loops on the host. */
static void check_terms(const struct rig *rig, const struct set *set, const struct particles *particles)
{
  const struct field field = every_term(), none = {0};
  struct sums sums, without;
  double *before = memory_alloc("test", sizeof *before * (size_t)(3 * particles->n));
  double potential = 0, all = 0, rate = 0, force[3] = {0}, virial = 0, scale = 0, weighted = 0, got = 0;
  rig->be->sets.reduce(rig->dev, &none, &without);
  const struct particles *q = rig->be->view(rig->dev);
  for (int64_t i = 0; i < q->n; i++) {
    const double *x = &q->pos[3 * i], *v = &q->vel[3 * i];
    double acc[3], m = q->mass[i], r = field_rate(&field, x, v);
    field_acceleration(&field, x, acc);
    acc[0] += 2 * field.spin * v[1];
    acc[1] -= 2 * field.spin * v[0];
    potential += m * field_potential(&field, x);
    all += m * fabs(field_potential(&field, x));
    rate = fmax(rate, r);
    for (int c = 0; c < 3; c++) {
      force[c] += m * acc[c];
      virial += m * x[c] * acc[c];
      scale += m * fabs(acc[c]) * (1 + fabs(x[c]));
      weighted += m * v[c] * v[c] * r;
    }
  }
  rig->be->sets.reduce(rig->dev, &field, &sums);
  for (int t = 0; t < PARTICLE_TYPES; t++) {
    got += sums.potential[t] - without.potential[t];
    all -= without.potential[t];
  }
  int good =
      near(got, potential, all) && near(sums.virial_field, virial, scale) && near(sums.rate_field, weighted, weighted);
  for (int c = 0; c < 3; c++) good &= near(sums.force_field[c], force[c], scale);
  say(good && without.virial_field == 0 && without.rate_field == 0, set, "the sums of every kind of external field");
  if (rig->be->steps.rate)
    say(near(rig->be->steps.rate(rig->dev, &field), sqrt(rate), sqrt(rate)) &&
            rig->be->steps.rate(rig->dev, &none) == 0,
        set, "its largest rate of change");

  q = rig->be->view(rig->dev);
  memcpy(before, q->vel, sizeof *before * (size_t)(3 * q->n));
  for (int64_t i = 0; i < q->n; i++) field_kick(&field, &q->pos[3 * i], &q->acc_soft[3 * i], 0.125, &before[3 * i]);
  rig->be->steps.kick(rig->dev, &field, 0.125);
  q = rig->be->view(rig->dev);
  good = 1;
  for (int64_t k = 0; k < 3 * q->n; k++) good &= near(q->vel[k], before[k], 1 + fabs(before[k]));
  say(good, set, "its kick");
  memory_free(before);
  check_push(rig, set);
}

/* All particles of a level and deeper count; where all do, they are the whole of their groups; and the mean share
 * cannot be less than if they were spread evenly. `count`: particles of each level. */
static void check_shares(const struct rig *rig, const struct set *set, int64_t n, const int64_t count[32])
{
  double sums[2], fast = 0;
  int good = 1;
  if (!rig->be->steps.shares) return;
  for (int l = 31; l >= 0; l--) {
    fast += (double)count[l];
    rig->be->steps.shares(rig->dev, l, sums);
    good &= sums[0] == fast && sums[1] <= fast && sums[1] >= fast * fast / fmax((double)n, 1) - 1e-3 * (double)n;
  }
  say(good && sums[1] >= (double)n - 1e-3 * (double)n, set, "shares of the fast in their groups");
}

static void check_levels(const struct rig *rig, const struct set *set, const struct particles *particles)
{
  struct step_rule rule = {
      .eta = 0.3, .softening = set->softening, .v_com = {0.1, 0, -0.1}, .use_velocity = 1, .soft_step = 0.5};
  int64_t count[32], want[32] = {0};
  int max_value = 0, got = rig->be->steps.levels(rig->dev, &rule, -1);
  for (int64_t i = 0; i < particles->n; i++) {
    int level =
        timeline_level(rule.soft_step, timeline_criterion_step(&rule, particles->type[i], &particles->acc_hard[3 * i],
                                                               &particles->acc_soft[3 * i], &particles->vel[3 * i]));
    want[level]++;
    max_value = level > max_value ? level : max_value;
  }
  rig->be->steps.histogram(rig->dev, count);
  say(got == max_value && memcmp(count, want, sizeof want) == 0, set, "every particle gets the level of the rule");
  check_shares(rig, set, particles->n, want);
  say(rig->be->steps.next_tick(rig->dev) == timeline_ticks(max_value), set, "the deepest level's step ends first");
  say(rig->be->steps.levels(rig->dev, &rule, 5) == 5 && rig->be->steps.next_tick(rig->dev) == timeline_ticks(5), set,
      "a shared level");
}

static void check_nearest(const struct rig *rig, const struct set *set, const struct particles *particles)
{
  enum { POINTS = 20, K = 9 };
  double at[POINTS][3], got[POINTS * K], *all = memory_alloc("test", sizeof *all * (size_t)(particles->n + K));
  uint64_t skip[POINTS];
  int n = particles->n < POINTS ? (int)particles->n : POINTS, good = 1;
  for (int k = 0; k < n; k++) {
    int64_t i = k * (particles->n / n);
    memcpy(at[k], &particles->pos[3 * i], sizeof at[k]);
    if (k % 4 == 3) at[k][0] += 3;
    skip[k] = particles->id[i];
  }
  rig->be->forces.nearest(rig->dev, n, (const double(*)[3])at, skip, K, got);
  for (int k = 0; k < n; k++) {
    int64_t count = 0;
    for (int64_t i = 0; i < particles->n; i++) {
      const double *x = &particles->pos[3 * i];
      if (particles->id[i] != skip[k])
        all[count++] = sqrt(pow(x[0] - at[k][0], 2) + pow(x[1] - at[k][1], 2) + pow(x[2] - at[k][2], 2));
    }
    for (int m = 0; m < K; m++) all[count++] = 1e300;
    qsort(all, (size_t)count, sizeof *all, ascending);
    for (int m = 0; m < K; m++) good &= near(got[k * K + m], all[m], all[m]);
  }
  say(good, set, "distances to the nearest");
  memory_free(all);
}

static void check_direct(const struct rig *rig, const struct set *set, const struct particles *particles)
{
  enum { POINTS = 7 };
  struct direct d = direct_open(particles, set->gravity, set->softening, &rig->split);
  double at[POINTS][3], acc[POINTS][3] = {{0}}, hard[POINTS][3] = {{0}}, pot[POINTS] = {0};
  uint64_t skip[POINTS];
  int n = particles->n < POINTS ? (int)particles->n : POINTS, good = 1;
  for (int k = 0; k < n; k++) {
    memcpy(at[k], &particles->pos[3 * (particles->n - 1 - k)], sizeof at[k]);
    skip[k] = particles->id[particles->n - 1 - k];
  }
  rig->be->probe->direct(rig->dev, n, (const double(*)[3])at, skip, NULL, &rig->split, acc, hard, pot);
  for (int k = 0; k < n; k++) {
    int64_t i = (int64_t)skip[k] - 1;
    good &= fabs(pot[k] - d.pot[i]) <= 1e-12 * fabs(d.pot[i]);
    for (int c = 0; c < 3; c++) /* K is made of floats */
      good &=
          fabs(acc[k][c] - d.acc[i][c]) <= 1e-9 * d.scale[i] && fabs(hard[k][c] - d.hard[i][c]) <= 1e-5 * d.scale[i];
  }
  say(good, set, "the direct sum at some points");
  direct_close(&d);
}

static enum poll_status count_poll(void *polls)
{
  ++*(int *)polls;
  return POLL_PENDING;
}

/* Polls for messages during a walk change no bit of it. */
static void check_polls(struct rig *rig, const struct set *set)
{
  struct mac mac = rig_mac(rig, MAC_ANGLE, 0.5);
  int polls = 0;
  size_t bytes = sizeof(float) * 3 * (size_t)set->n;
  float *acc = memory_alloc("test", bytes);
  memcpy(acc, rig_force(rig, &mac)->acc, bytes);
  struct walk_request r = {.kind = WALK_TOTAL,
                           .mac = mac,
                           .a_floor = rig->a_floor,
                           .split = rig->split,
                           .let = LET_SOFT,
                           .potential = 1,
                           .local = 1,
                           .last = 1,
                           .poll_messages = count_poll,
                           .polled = &polls};
  rig->be->forces.walk(rig->dev, &r, &rig->tally);
  say(memcmp(acc, rig->be->view(rig->dev)->acc, bytes) == 0, set, "a walk that polls for messages");
  memory_free(acc);
}

/* The interactions of a walk of all when the faces of the domain stand at these x. */
static double pairs_between(struct rig *rig, double low_x, double high_x)
{
  const double low[3] = {low_x, -1e300, -1e300}, high[3] = {high_x, 1e300, 1e300};
  struct mac mac = rig_mac(rig, MAC_ANGLE, 0.5);
  rig->be->tree.order(rig->dev, &rig->lattice);
  rig->be->tree.build(rig->dev, low, high);
  memset(&rig->tally, 0, sizeof rig->tally);
  rig_force(rig, &mac);
  return (double)(rig->tally.particle_pairs + rig->tally.cell_pairs);
}

/* How many times more there are with faces among the particles. */
static double more_by_faces(const struct backend *be, const struct set *set, int order, double low, double high)
{
  struct particles p;
  struct rig g;
  set_make(set, 0.5, &p);
  rig_open(&g, be, set, &p, order, 8, 32);
  double ratio = pairs_between(&g, low, high) / pairs_between(&g, -1e300, 1e300);
  rig_close(&g);
  return ratio;
}

/* Monopole cells that a face cuts are accepted farther away; on every backend about the same ones. */
static void check_cut(const struct backend *be, const struct set *set)
{
  double one = more_by_faces(be, set, 1, -1e300, 0.1), two = more_by_faces(be, set, 1, -0.2, 0.1);
  double host_one = more_by_faces(&backend_cpu, set, 1, -1e300, 0.1),
         host_two = more_by_faces(&backend_cpu, set, 1, -0.2, 0.1);
  printf("# interactions with one face, with two: %.4f, %.4f times those without; on the host %.4f, %.4f\n", one, two,
         host_one, host_two);
  say(one > 1.02 && two > one && fabs(one - host_one) < 0.2 * (host_one - 1) &&
          fabs(two - host_two) < 0.2 * (host_two - 1),
      set, "cells that faces cut are accepted farther away");
  say(more_by_faces(be, set, 1, -1e3, 1e3) == 1 && more_by_faces(be, set, 2, -0.2, 0.1) == 1, set,
      "others, and those with second moments, are not");
}

#define TICK_LENGTH (0.4 / TICKS)

/* The ranks to which particles at `tick` belong; returns how many were others by the positions before. */
static int64_t owners(const struct domain *domain, const struct particles *particles, int32_t tick, int *owner_rank)
{
  const struct particles *p = particles;
  int64_t others = 0;
  for (int64_t i = 0; i < p->n; i++) {
    double there[3];
    timeline_place(there, &p->pos[3 * i], &p->vel[3 * i], &p->acc_hard[3 * i],
                   tick > 0 ? (tick - p->tick[i]) * TICK_LENGTH : 0);
    owner_rank[i] = domain_owner(domain, there);
    others += owner_rank[i] != domain_owner(domain, &p->pos[3 * i]);
  }
  return others;
}

/* Whether of all particles those of this rank are in `rest`, and the others in the messages, rank r's from at[r] on, in
 * order. */
static int stays_or_leaves(const struct particles *rest, const struct particles *all, const int *owner_rank, int self,
                           const char *messages, int64_t *at)
{
  const struct particles *q = all;
  struct particles one;
  int good = 1;
  particles_init(&one);
  particles_reserve(&one, 1);
  int64_t *place =
      memory_alloc("test", sizeof *place * (size_t)(q->n + 1)); /* by id: 1 up to the number of particles */
  memset(place, -1, sizeof *place * (size_t)(q->n + 1));
  for (int64_t k = 0; good && k < rest->n; k++) {
    good &= rest->id[k] >= 1 && rest->id[k] <= (uint64_t)q->n && place[rest->id[k]] < 0;
    if (good) place[rest->id[k]] = k;
  }
  for (int64_t i = 0; good && i < q->n; i++) {
    if (owner_rank[i] == self) {
      int64_t k = place[q->id[i]];
      good &= k >= 0 && memcmp(&rest->pos[3 * k], &q->pos[3 * i], 24) == 0 && rest->vel[3 * k] == q->vel[3 * i] &&
              memcmp(&rest->acc_soft[3 * k], &q->acc_soft[3 * i], 12) == 0 && rest->mass[k] == q->mass[i] &&
              rest->type[k] == q->type[i] && rest->tick[k] == q->tick[i] && rest->level[k] == q->level[i] &&
              rest->work[k] == q->work[i];
    } else {
      particles_unpack(&one, 0, messages + particle_bytes() * (size_t)at[owner_rank[i]]++);
      good &= one.id[0] == q->id[i] && memcmp(one.pos, &q->pos[3 * i], 24) == 0 &&
              memcmp(one.acc_soft, &q->acc_soft[3 * i], 12) == 0 && one.mass[0] == q->mass[i] &&
              one.type[0] == q->type[i] && one.work[0] == q->work[i];
    }
  }
  memory_free(place);
  particles_free(&one);
  return good;
}

/* Of four domains the second is this rank's: the others' particles leave, in order, and may come back. Those that stay
 * may change places. Owner ranks are those of the positions at `tick`. */
static void check_exchange(const struct backend *be, const struct set *set, int32_t tick)
{
  enum { RANKS = 4, SELF = 1 };
  double x = 0.05, y[2] = {-0.1, 0.2};
  struct domain domain = {.px = 2, .py = 2, .pz = 1, .x = &x, .y = y};
  struct device_config config = {.gravity = 1, .softening = 1, .max_leaf = 8, .max_group = 32, .ranks = RANKS};
  struct particles p, q;
  int64_t counts[RANKS], want[RANKS] = {0}, at[RANKS] = {0}, leaving = 0;
  void *buffer;
  int good = 1;
  set_make(set, 0.5, &p);
  set_make(set, 0.5, &q);
  fill(&p);
  fill(&q);
  for (int64_t i = 0; i < q.n; i++) p.tick[i] = q.tick[i] = (int32_t)(i % 3) * (TICKS / 8);
  int *owner_rank = memory_alloc("test", sizeof *owner_rank * (size_t)(q.n + 1));
  int64_t others = owners(&domain, &q, tick, owner_rank);
  say(q.n < 100 || (others > 0) == (tick > 0), set, "owner ranks of the predicted positions");
  uint64_t digest = particles_digest(&p);
  struct device *dev = be->open(&config);
  be->upload(dev, &p);
  int64_t stayed = be->exchange->pack(dev, &domain, SELF, tick, TICK_LENGTH, counts, &buffer);
  for (int64_t i = 0; i < q.n; i++) want[owner_rank[i]]++;
  for (int r = 0; r < RANKS; r++) {
    at[r] = leaving;
    leaving += r == SELF ? 0 : want[r];
    good &= counts[r] == (r == SELF ? 0 : want[r]);
  }
  say(good && stayed == want[SELF] && be->count(dev) == stayed, set, "packing: how many go where");
  char *copy = memory_alloc("test", particle_bytes() * (size_t)(leaving + 1));
  if (good && leaving > 0) memcpy(copy, buffer, particle_bytes() * (size_t)leaving);
  good = good && stays_or_leaves(be->view(dev), &q, owner_rank, SELF, copy, at);
  say(good, set, "packing: who leaves, in order, and who stays");
  be->exchange->unpack(dev, copy, leaving);
  be->download(dev, &p);
  say(p.n == set->n && particles_digest(&p) == digest, set, "unpacked again, none is lost");
  be->close(dev);
  memory_free(copy);
  memory_free(owner_rank);
  particles_free(&p);
  particles_free(&q);
}

static void check_set(const struct backend *be, const struct set *set)
{
  struct particles p;
  struct rig g;
  set_make(set, 0.5, &p);
  fill(&p);
  rig_open(&g, be, set, &p, 1, 8, 32);
  struct mac mac = rig_mac(&g, MAC_ANGLE, 0.5);
  be->tree.sources(g.dev);
  be->tree.moments(g.dev, &mac, 0, 0);
  be->tree.groups(g.dev);
  particles_init(&p);
  const struct particles *v = be->view(g.dev);
  particles_reserve(&p, v->n);
  p.n = v->n;
  for (int64_t i = 0; i < v->n; i++) particles_copy(&p, i, v, i);
  check_bounds(&g, set, &p);
  check_sample(&g, set, &p);
  check_reduce(&g, set, &p);
  check_levels(&g, set, &p);
  check_nearest(&g, set, &p);
  check_direct(&g, set, &p);
  check_polls(&g, set);
  check_field(&g, set, p.n);
  check_terms(&g, set, &p);
  check_ahead(&g, set);
  particles_free(&p);
  rig_close(&g);
}

static void check(const struct backend *be)
{
  snprintf(label, sizeof label, "%s", be->name);
  for (int k = 0; k < SETS; k++) {
    check_set(be, &sets[k]);
    check_exchange(be, &sets[k], 0);
    check_exchange(be, &sets[k], TICKS / 2);
  }
  check_cut(be, &sets[0]);
}

int main(void)
{
  rig_each(check);
  tap_ok(memory_current() == 0, "all memory is given back");
  return tap_end();
}
