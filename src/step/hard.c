/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "step/hard.h"

#include <math.h>
#include <string.h>

#include "step/close_pairs.h"

/* Masses differ if their ratio is larger than this; radii by mass are of no use where one particle has more than this part of the mass. */
#define EQUAL_MASSES 1.01
#define DOMINANT_PART 1e-3
/* Bound pairs with 2 a below this part of R1 may go by Kepler's equation. */
#define PAIR_LIMIT (1.0 / 32)

int hard_used(const struct sim *s) { return params_neighbour_lists(s->par) && s->split.on; }

void hard_note_masses(struct sim *s, const struct particles *p)
{
  double extreme[2] = {0, -1e300}, sum[4] = {0};
  for (int64_t i = 0; i < p->n; i++) {
    sum[p->mass[i] > 0 ? 1 : 3]++;
    if (!(p->mass[i] > 0)) continue;
    sum[0] += p->mass[i];
    sum[2] += (double)p->mass[i] * (double)p->mass[i];
    extreme[0] = fmax(extreme[0], p->mass[i]);
    extreme[1] = fmax(extreme[1], -p->mass[i]);
  }
  comm_max_double(s->comm, extreme, 2);
  comm_sum_double(s->comm, sum, 4);
  s->hard.count = sum[1];
  s->hard.massless = sum[3];
  s->hard.total_mass = sum[0];
  s->hard.mean_mass = sum[1] > 0 ? sum[0] / sum[1] : 0;
  s->hard.mean_square_mass = sum[1] > 0 ? sum[2] / sum[1] : 0;
  s->hard.largest_mass = extreme[0];
  s->hard.smallest_mass = sum[1] > 0 ? -extreme[1] : 0;
}

int hard_radii_by_mass(const struct sim *s)
{
  const struct hard_part *h = &s->hard;
  if (s->par->RadiiByMass != RADII_AUTO) return s->par->RadiiByMass == RADII_ON;
  return h->largest_mass > EQUAL_MASSES * h->smallest_mass && h->largest_mass < DOMINANT_PART * h->total_mass;
}

struct hard_request hard_request_of(const struct sim *s, double soft_step)
{
  const struct hard_part *h = &s->hard;
  enum hard_scheme scheme = s->par->Integrator == INTEGRATOR_HERMITE ? HARD_HERMITE : HARD_LEAPFROG;
  struct hard_request r = {.scheme = scheme, .split = s->split, .soft_step = soft_step, .eta = params_eta(s->par, 1),
                           .mean_mass = (double)(float)h->mean_mass,   /* whatever the order of the sum */
                           .largest_mass = h->largest_mass, .first = h->proposed_for == 0 || scheme == HARD_LEAPFROG};
  if (soft_step > 0) r.pair_limit = PAIR_LIMIT * (double)s->split.r1;
  if (h->proposed_for > 0 && soft_step > h->proposed_for) r.level_shift = (int)ceil(log2(soft_step / h->proposed_for) - 1e-6);
  return r;
}

void hard_advance(struct sim *s, double soft_step)
{
  struct hard_request r = hard_request_of(s, soft_step);
  struct hard_tally *t = &s->counts.hermite;
  timer_phase(&s->timer, PHASE_hard_let);
  halo_exchange(&s->hard.halo, s->comm, s->be, s->dev, &r);
  timer_phase(&s->timer, PHASE_hard_walk);
  *t = (struct hard_tally){.shortest_period = 1e300};
  s->be->hard->advance(s->dev, &r, s->hard.halo.n, s->hard.halo.particle, t);
  s->hard.proposed_for = soft_step;
  s->counts.substeps = t->ticks;
  s->counts.level_max = t->deepest;
  s->counts.hard.targets = t->steps;
  s->counts.hard.particle_pairs = t->pairs;
  s->counts.hard.split_pairs = t->pairs;
  s->counts.hard.groups = t->steps;
  s->counts.hard.seconds = t->seconds;
}

void hard_potential(struct sim *s)
{
  struct hard_request r = hard_request_of(s, 0);
  timer_phase(&s->timer, PHASE_hard_let);
  halo_exchange(&s->hard.halo, s->comm, s->be, s->dev, &r);
  timer_phase(&s->timer, PHASE_hard_walk);
  s->be->hard->potential(s->dev, &r, s->hard.halo.n, s->hard.halo.particle);
}

struct hard_tally hard_total(const struct sim *s)
{
  struct hard_tally t = s->counts.hermite;
  int64_t sum[] = {t.entries, t.with_neighbours, t.steps, t.pairs, t.collapsed, t.pairs_bound, t.pairs_perturbed};
  double largest[] = {(double)t.ticks, t.deepest, -t.shortest_period, t.largest_eccentricity, t.seconds, t.list_seconds};
  comm_sum_int64(s->comm, sum, sizeof sum / sizeof *sum);
  comm_max_double(s->comm, largest, sizeof largest / sizeof *largest);
  t.entries = sum[0], t.with_neighbours = sum[1], t.steps = sum[2], t.pairs = sum[3], t.collapsed = sum[4], t.pairs_bound = sum[5];
  t.pairs_perturbed = sum[6];
  t.ticks = (int64_t)largest[0], t.deepest = (int)largest[1], t.shortest_period = -largest[2], t.largest_eccentricity = largest[3];
  t.seconds = largest[4], t.list_seconds = largest[5];
  close_pairs_gather(s->comm, &s->counts.hermite, &t);
  return t;
}
