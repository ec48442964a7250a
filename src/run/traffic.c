/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "run/traffic.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/folders.h"
#include "base/memory.h"
#include "run/logs.h"
#include "step/scheme.h"

/* A row of comm.csv: one phase, all ranks. */
struct row {
  int64_t messages, bytes, collectives, collective_bytes;   /* sums over ranks */
  double waited, hidden, collective_waited;                 /* sums over ranks */
  double bytes_max, peers_max, waited_max;                  /* maxima over ranks */
  int64_t direct_messages, direct_bytes;                    /* messages sent from device to device; sums over ranks */
  double direct_seconds;
};

/* Messages from one rank to another in a phase, and the time that it waited for this peer. */
struct pair {
  int phase, rank, peer;
  int64_t messages, bytes;
  double waited;
};

void traffic_header(FILE *out)
{
  fprintf(out, "step,time,phase,messages,bytes,bytes_largest_rank,peers_largest_rank,wait_mean,wait_max,hidden_mean,"
               "collectives,collective_bytes,collective_wait_mean,rank,peer,device_messages,device_bytes,device_mean\n");
}

static void add_entry(struct ledger_entry *to, const struct ledger_entry *e)
{
  to->bytes_sent += e->bytes_sent;
  to->messages_sent += e->messages_sent;
  to->bytes_received += e->bytes_received;
  to->messages_received += e->messages_received;
  to->waited += e->waited;
}

/* Reduce all phases over ranks; the result is on every rank. Collective. */
static void collect(const struct comm *c, const struct ledger_sum *mine, struct row *row)
{
  enum { SUMS = 10, MAXIMA = 3 };
  int64_t sums[PHASE_COUNT][SUMS];   /* seconds as nanoseconds: comm_sum_double gathers the numbers of all ranks, which costs more */
  double largest[PHASE_COUNT][MAXIMA];
  for (int p = 0; p < PHASE_COUNT; p++) {
    const struct ledger_sum *m = &mine[p];
    sums[p][0] = m->peers.messages_sent, sums[p][1] = m->peers.bytes_sent;
    sums[p][2] = m->collectives.messages_sent, sums[p][3] = m->collectives.bytes_sent;
    sums[p][4] = llround(1e9 * m->peers.waited), sums[p][5] = llround(1e9 * m->hidden), sums[p][6] = llround(1e9 * m->collectives.waited);
    sums[p][7] = m->direct_messages, sums[p][8] = m->direct_bytes, sums[p][9] = llround(1e9 * m->direct_seconds);
    largest[p][0] = (double)m->peers.bytes_sent, largest[p][1] = m->peers_sent, largest[p][2] = m->peers.waited;
  }
  comm_sum_int64(c, sums[0], SUMS * PHASE_COUNT);
  comm_max_double(c, largest[0], MAXIMA * PHASE_COUNT);
  for (int p = 0; p < PHASE_COUNT; p++)
    row[p] = (struct row){.messages = sums[p][0],
                          .bytes = sums[p][1],
                          .collectives = sums[p][2],
                          .collective_bytes = sums[p][3],
                          .waited = 1e-9 * (double)sums[p][4],
                          .hidden = 1e-9 * (double)sums[p][5],
                          .collective_waited = 1e-9 * (double)sums[p][6],
                          .bytes_max = largest[p][0],
                          .peers_max = largest[p][1],
                          .waited_max = largest[p][2],
                          .direct_messages = sums[p][7],
                          .direct_bytes = sums[p][8],
                          .direct_seconds = 1e-9 * (double)sums[p][9]};
}

/* The pairs of this rank with at least one message or wait; owner: caller. */
static struct pair *own_pairs(const struct comm *c, size_t *count)
{
  size_t n = 0, room = 0;
  struct pair *pair = NULL;
  for (int p = 0; p < PHASE_COUNT; p++)
    for (int r = 0; r < c->size; r++) {
      struct ledger_entry e = ledger_entry(c->ledger, (enum phase)p, r);
      if (e.messages_sent == 0 && e.waited == 0) continue;
      if (n == room) {
        room = 2 * room + 64;
        pair = memory_resize("messages", pair, sizeof *pair * room);
      }
      pair[n++] = (struct pair){p, c->rank, r, e.messages_sent, e.bytes_sent, e.waited};
    }
  *count = n;
  return pair;
}

static void write_rows(FILE *out, const struct row *row, int ranks, long long step, double time)
{
  for (int p = 0; p < PHASE_COUNT; p++) {
    const struct row *w = &row[p];
    if (w->messages == 0 && w->collectives == 0 && w->waited == 0 && w->hidden == 0) continue;
    fprintf(out, "%lld,%.15g,%s,%lld,%lld,%.0f,%.0f,%.6f,%.6f,%.6f,%lld,%lld,%.6f,-1,-1,%lld,%lld,%.6f\n", step, time, phase_names[p],
            (long long)w->messages, (long long)w->bytes, w->bytes_max, w->peers_max, w->waited / ranks, w->waited_max, w->hidden / ranks,
            (long long)w->collectives, (long long)w->collective_bytes, w->collective_waited / ranks, (long long)w->direct_messages,
            (long long)w->direct_bytes, w->direct_seconds / ranks);
  }
}

static void write_pairs(FILE *out, const struct pair *pair, size_t count, long long step, double time)
{
  for (size_t i = 0; i < count; i++) {
    const struct pair *w = &pair[i];
    fprintf(out, "%lld,%.15g,%s,%lld,%lld,%lld,%d,%.6f,%.6f,0,0,0,0,%d,%d,0,0,0\n", step, time, phase_names[w->phase],
            (long long)w->messages, (long long)w->bytes, (long long)w->bytes, w->messages > 0, w->waited, w->waited, w->rank, w->peer);
  }
}

void traffic_step(struct traffic *t, const struct comm *c, long long step, double time)
{
  struct ledger_sum mine[PHASE_COUNT];
  struct row row[PHASE_COUNT];
  struct pair *pair = NULL, *all = NULL;
  size_t count = 0, bytes = 0;
  for (int p = 0; p < PHASE_COUNT; p++) {
    mine[p] = ledger_sum(c->ledger, (enum phase)p);
    add_entry(&t->sum.peers, &mine[p].peers);
    add_entry(&t->sum.collectives, &mine[p].collectives);
    t->sum.hidden += mine[p].hidden;
    t->sum.direct_bytes += mine[p].direct_bytes;
    t->sum.direct_seconds += mine[p].direct_seconds;
  }
  if (t->pairs) pair = own_pairs(c, &count);
  recorder_flush(c->recorder);
  ledger_reset(c->ledger);   /* later messages, such as those of this table, belong to the next step */
  if (!t->table) return;
  collect(c, mine, row);
  if (t->pairs) all = comm_gather_root(c, pair, sizeof *pair * count, &bytes);
  if (t->out) {
    write_rows(t->out, row, c->size, step, time);
    write_pairs(t->out, all, bytes / sizeof *all, step, time);
    fflush(t->out);
  }
  memory_free(all);
  memory_free(pair);
}

int traffic_record(const struct comm *c, const struct params *par, long long step, struct fault *f)
{
  if (!par->CommTrace) return 0;
  char folder[4096];
  snprintf(folder, sizeof folder, "%s/trace_%06lld", par->OutputDir, step);
  if (c->rank == 0) folder_make(folder, "OutputDir", f);
  if (comm_verdict(c, f)) return -1;
  if (recorder_start(c->recorder, folder, f) == 0) recorder_at(c->recorder, step, 0);
  if (comm_agree(c, f) == 0) return 0;
  struct fault ignored = {""};
  recorder_stop(c->recorder, &ignored);
  return -1;
}

void traffic_sum_up(const struct traffic *t, const struct comm *c)
{
  if (c->size == 1) return;
  int64_t sums[] = {t->sum.peers.bytes_sent, t->sum.peers.messages_sent, t->sum.collectives.bytes_sent, t->sum.direct_bytes};
  double seconds[] = {t->sum.peers.waited, t->sum.collectives.waited, t->sum.hidden, t->sum.direct_seconds};
  comm_sum_int64(c, sums, 4);
  comm_sum_double(c, seconds, 4);
  if (c->rank != 0) return;
  double measured_seconds = seconds[0] + seconds[2];
  printf("messages: %.4g MB in %lld messages between ranks, %.4g MB in collectives;\n"
         "  a rank waited %.3g s for messages and %.3g s in collectives, mean of the ranks;\n"
         "  %.0f %% of the transfer time was overlapped with computation\n",
         (double)sums[0] / 1e6, (long long)sums[1], (double)sums[2] / 1e6,
         seconds[0] / c->size, seconds[1] / c->size, measured_seconds > 0 ? 100 * seconds[2] / measured_seconds : 0);
  if (sums[3] > 0)
    printf("  %.4g MB of these were sent from device to device, in %.3g s of a rank\n", (double)sums[3] / 1e6, seconds[3] / c->size);
}

/* --- numbers of a soft step ---------------------------------------------------------------------------------------- */

/* They are reduced together, since the device has nothing to do meanwhile. */
enum { TALLY_SUMS = 6, LOAD_COUNT = 5, LET_SUMS = 9, LEVEL_SUMS = 32 };

/* Numbers of a soft step that are reduced over the ranks together. */
struct reduced {
  int64_t full[TALLY_SUMS], hard[TALLY_SUMS], let[LET_SUMS], levels[LEVEL_SUMS];   /* sums */
  double full_seconds, hard_seconds, substeps, load[LOAD_COUNT], seconds[PHASE_COUNT];   /* maxima */
};
enum { REDUCED_SUMS = 2 * TALLY_SUMS + LET_SUMS + LEVEL_SUMS, REDUCED_MAXIMA = 3 + LOAD_COUNT + PHASE_COUNT };
_Static_assert(offsetof(struct reduced, full_seconds) == REDUCED_SUMS * sizeof(int64_t) &&
               sizeof(struct reduced) == REDUCED_SUMS * sizeof(int64_t) + REDUCED_MAXIMA * sizeof(double), "two arrays without gaps");

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
  r->hermite = s->scheme->tally(s);
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
