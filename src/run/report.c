/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The numbers of a soft step that tables and terminal show, of all ranks. They are reduced together, while the device has nothing to do. */
#include <config.h>
#include <string.h>

#include "run/logs.h"
#include "step/hard.h"

enum { TALLY_SUMS = 6, LOAD_COUNT = 5, LET_SUMS = 9, LEVEL_SUMS = 32 };

/* Numbers of a soft step that are reduced over the ranks together. */
struct reduced {
  int64_t full[TALLY_SUMS], hard[TALLY_SUMS], let[LET_SUMS], levels[LEVEL_SUMS];   /* sums */
  double full_seconds, hard_seconds, substeps, load[LOAD_COUNT], seconds[PHASE_COUNT];   /* maxima */
};
enum { REDUCED_SUMS = 2 * TALLY_SUMS + LET_SUMS + LEVEL_SUMS, REDUCED_MAXIMA = 3 + LOAD_COUNT + PHASE_COUNT };

static void tally_sums(const struct tally *t, int64_t sums[TALLY_SUMS])
{
  const int64_t own[TALLY_SUMS] = {t->targets, t->particle_pairs, t->cell_pairs, t->split_pairs, t->tests, t->groups};
  memcpy(sums, own, sizeof own);
}

/* The tally of all ranks; its seconds are those of the slowest rank. */
static void tally_of_all(struct tally *t, const int64_t sums[TALLY_SUMS], double seconds)
{
  *t = (struct tally){seconds, sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], t->evaluating, t->local_seconds};
}

static double pairs(const struct tally *t) { return (double)(t->particle_pairs + t->cell_pairs); }

static struct reduced own_numbers(const struct sim *s)
{
  const struct step_counts *c = &s->counts;
  const struct let_count *hard = &c->step_let.received;
  double local = (double)c->local;
  struct reduced n = {.let = {c->soft_let.received.cells + hard->cells, c->soft_let.received.particles + hard->particles,
                              c->soft_let.bytes + c->step_let.bytes + c->updates.bytes, c->outside, c->migrated, c->updates.messages,
                              c->updates.bytes, c->violations, c->late},
                      .full_seconds = c->full.seconds,
                      .hard_seconds = c->hard.seconds,
                      .substeps = (double)c->substeps,
                      .load = {s->work, local, local + (double)(hard->cells + hard->particles), pairs(&c->hard), s->computing}};
  tally_sums(&c->full, n.full);
  tally_sums(&c->hard, n.hard);
  s->be->histogram(s->dev, n.levels);
  return n;
}

/* The imbalances of the report: maximum over ranks divided by the mean. */
static void imbalances(struct step_report *r, int ranks, const double largest[LOAD_COUNT], const double sum[LOAD_COUNT])
{
  double *to[LOAD_COUNT] = {&r->imbalance, &r->imbalance_particles, &r->imbalance_hard, &r->imbalance_pairs_hard, &r->imbalance_seconds};
  for (int k = 0; k < LOAD_COUNT; k++) *to[k] = sum[k] > 0 ? largest[k] * ranks / sum[k] : 1;
}

void logs_collect(struct step_report *r, struct sim *s, double dt)
{
  double sum[LOAD_COUNT];
  memset(r, 0, sizeof *r);
  r->dt = dt;
  r->full = s->counts.full;
  r->hard = s->counts.hard;
  timer_phase(&s->timer, PHASE_other);
  if (hard_used(s)) r->hermite = hard_total(s);
  r->neighbours = (double)r->hermite.entries / s->now.count;
  struct reduced n = own_numbers(s);
  memcpy(sum, n.load, sizeof sum);
  comm_sum_double(s->comm, sum, LOAD_COUNT);
  comm_sum_int64(s->comm, n.full, REDUCED_SUMS);
  r->wall = timer_total(&s->timer);
  memcpy(n.seconds, s->timer.seconds, sizeof n.seconds);
  comm_max_double(s->comm, &n.full_seconds, REDUCED_MAXIMA);
  timer_reset(&s->timer);
  memcpy(r->seconds, n.seconds, sizeof r->seconds);
  tally_of_all(&r->full, n.full, n.full_seconds);
  tally_of_all(&r->hard, n.hard, n.hard_seconds);
  imbalances(r, s->comm->size, n.load, sum);
  r->cells = (double)n.let[0], r->particles = (double)n.let[1], r->bytes = (double)n.let[2], r->outside = n.let[3];
  s->counts.migrated = n.let[4];
  r->update_messages = n.let[5], r->update_bytes = n.let[6], r->violations = n.let[7], r->late = n.let[8];
  s->counts.substeps = (int64_t)n.substeps;
  memcpy(r->levels, n.levels, sizeof n.levels);
  if (r->full.targets) r->list_full = pairs(&r->full) / (double)r->full.targets;
  if (r->hard.targets) r->list_hard = pairs(&r->hard) / (double)r->hard.targets;
  if (r->hard.targets && r->full.seconds > 0)
    r->h = r->hard.seconds / (double)r->hard.targets / (r->full.seconds / (double)r->full.targets);
}
