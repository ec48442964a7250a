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
#include "trace/efficiency.h"

/* A row of comm.csv: one phase, all ranks. */
struct row {
  int64_t messages, bytes, collectives, collective_bytes; /* sums over ranks */
  double waited, hidden, collective_waited;               /* sums over ranks */
  double bytes_max, peers_max, waited_max;                /* maxima over ranks */
  int64_t direct_messages, direct_bytes;                  /* messages sent from device to device; sums over ranks */
  double direct_seconds;
};

/* The soft step itself. */
struct whole {
  double seconds, useful; /* of this rank; all ranks: the largest */
  double useful_mean;     /* of all ranks */
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
               "collectives,collective_bytes,collective_wait_mean,rank,peer,device_messages,device_bytes,device_mean,"
               "seconds,load_balance,communication_efficiency,parallel_efficiency\n");
}

static void add_entry(struct ledger_entry *to, const struct ledger_entry *entry)
{
  to->bytes_sent += entry->bytes_sent;
  to->messages_sent += entry->messages_sent;
  to->bytes_received += entry->bytes_received;
  to->messages_received += entry->messages_received;
  to->waited += entry->waited;
}

/* Reduce all phases and the soft step over ranks; the result is on every rank. Collective. */
static void collect(const struct comm *comm, const struct ledger_sum *mine, struct row *row, struct whole *whole)
{
  enum { SUMS = 10, MAXIMA = 3 };
  /* seconds as nanoseconds: comm_sum_double gathers the numbers of all ranks, which costs more */
  int64_t sums[PHASE_COUNT + 1][SUMS] = {{0}};
  double largest[PHASE_COUNT + 1][MAXIMA] = {{0}};
  for (int p = 0; p < PHASE_COUNT; p++) {
    const struct ledger_sum *m = &mine[p];
    sums[p][0] = m->peers.messages_sent;
    sums[p][1] = m->peers.bytes_sent;
    sums[p][2] = m->collectives.messages_sent;
    sums[p][3] = m->collectives.bytes_sent;
    sums[p][4] = llround(1e9 * m->peers.waited);
    sums[p][5] = llround(1e9 * m->hidden);
    sums[p][6] = llround(1e9 * m->collectives.waited);
    sums[p][7] = m->direct_messages;
    sums[p][8] = m->direct_bytes;
    sums[p][9] = llround(1e9 * m->direct_seconds);
    largest[p][0] = (double)m->peers.bytes_sent;
    largest[p][1] = m->peers_sent;
    largest[p][2] = m->peers.waited;
  }
  sums[PHASE_COUNT][0] = llround(1e9 * whole->useful);
  largest[PHASE_COUNT][0] = whole->useful;
  largest[PHASE_COUNT][1] = whole->seconds;
  comm_sum_int64(comm, sums[0], SUMS * PHASE_COUNT + 1);
  comm_max_double(comm, largest[0], MAXIMA * PHASE_COUNT + 2);
  *whole = (struct whole){.seconds = largest[PHASE_COUNT][1],
                          .useful = largest[PHASE_COUNT][0],
                          .useful_mean = 1e-9 * (double)sums[PHASE_COUNT][0] / comm->size};
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
static struct pair *own_pairs(const struct comm *comm, size_t *count)
{
  size_t n = 0, capacity = 0;
  struct pair *pair = NULL;
  for (int p = 0; p < PHASE_COUNT; p++)
    for (int r = 0; r < comm->size; r++) {
      struct ledger_entry entry = ledger_entry(comm->ledger, (enum phase)p, r);
      if (entry.messages_sent == 0 && entry.waited == 0) continue;
      if (n == capacity) {
        capacity = 2 * capacity + 64;
        pair = memory_resize("messages", pair, sizeof *pair * capacity);
      }
      pair[n++] = (struct pair){p, comm->rank, r, entry.messages_sent, entry.bytes_sent, entry.waited};
    }
  *count = n;
  return pair;
}

static void write_rows(FILE *out, const struct row *row, int ranks, long long step, double time)
{
  for (int p = 0; p < PHASE_COUNT; p++) {
    const struct row *w = &row[p];
    if (w->messages == 0 && w->collectives == 0 && w->waited == 0 && w->hidden == 0) continue;
    fprintf(out, "%lld,%.15g,%s,%lld,%lld,%.0f,%.0f,%.6f,%.6f,%.6f,%lld,%lld,%.6f,-1,-1,%lld,%lld,%.6f,0,0,0,0\n", step,
            time, phase_names[p], (long long)w->messages, (long long)w->bytes, w->bytes_max, w->peers_max,
            w->waited / ranks, w->waited_max, w->hidden / ranks, (long long)w->collectives,
            (long long)w->collective_bytes, w->collective_waited / ranks, (long long)w->direct_messages,
            (long long)w->direct_bytes, w->direct_seconds / ranks);
  }
}

/* The row of the soft step itself, in which messages and waits are 0, so that sums over rows stay those of phases. */
static void write_whole(FILE *out, const struct whole *whole, long long step, double time)
{
  if (whole->seconds == 0) return; /* before the first soft step */
  struct efficiency e = efficiency_of(whole->useful_mean, whole->useful, whole->seconds, -1);
  fprintf(out, "%lld,%.15g,step,0,0,0,0,0,0,0,0,0,0,-1,-1,0,0,0,%.6f,%.6f,%.6f,%.6f\n", step, time, whole->seconds,
          e.load_balance, e.communication, e.parallel);
}

/* The times of this rank since the last call, of which it waited `waited`; zero before the first soft step. */
static struct whole own_times(struct traffic *traffic, double waited)
{
  double now = timer_clock();
  struct whole whole = {.seconds = traffic->since > 0 ? now - traffic->since : 0};
  whole.useful = fmax(whole.seconds - waited, 0);
  traffic->since = now;
  traffic->seconds += whole.seconds;
  traffic->useful += whole.useful;
  return whole;
}

static void write_pairs(FILE *out, const struct pair *pair, size_t count, long long step, double time)
{
  for (size_t i = 0; i < count; i++) {
    const struct pair *w = &pair[i];
    fprintf(out, "%lld,%.15g,%s,%lld,%lld,%lld,%d,%.6f,%.6f,0,0,0,0,%d,%d,0,0,0,0,0,0,0\n", step, time,
            phase_names[w->phase], (long long)w->messages, (long long)w->bytes, (long long)w->bytes, w->messages > 0,
            w->waited, w->waited, w->rank, w->peer);
  }
}

void traffic_step(struct traffic *traffic, const struct comm *comm, long long step, double time)
{
  struct ledger_sum mine[PHASE_COUNT];
  struct row row[PHASE_COUNT];
  struct pair *pair = NULL, *all = NULL;
  size_t count = 0, bytes = 0;
  double waited = 0;
  for (int p = 0; p < PHASE_COUNT; p++) {
    mine[p] = ledger_sum(comm->ledger, (enum phase)p);
    add_entry(&traffic->sum.peers, &mine[p].peers);
    add_entry(&traffic->sum.collectives, &mine[p].collectives);
    waited += mine[p].peers.waited + mine[p].collectives.waited;
    traffic->sum.hidden += mine[p].hidden;
    traffic->sum.direct_bytes += mine[p].direct_bytes;
    traffic->sum.direct_seconds += mine[p].direct_seconds;
  }
  if (traffic->pairs) pair = own_pairs(comm, &count);
  recorder_flush(comm->recorder);
  struct whole whole = own_times(traffic, waited);
  ledger_reset(comm->ledger); /* later messages, such as those of this table, belong to the next step */
  if (!traffic->table) return;
  collect(comm, mine, row, &whole);
  if (traffic->pairs) all = comm_gather_root(comm, pair, sizeof *pair * count, &bytes);
  if (traffic->out) {
    write_rows(traffic->out, row, comm->size, step, time);
    write_whole(traffic->out, &whole, step, time);
    write_pairs(traffic->out, all, bytes / sizeof *all, step, time);
    fflush(traffic->out);
  }
  memory_free(all);
  memory_free(pair);
}

int traffic_record(const struct comm *comm, const struct params *par, long long step, struct fault *fault)
{
  if (!par->CommTrace) return 0;
  char folder[4096];
  snprintf(folder, sizeof folder, "%s/trace_%06lld", par->OutputDir, step);
  if (comm->rank == 0) folder_make(folder, "OutputDir", fault);
  if (comm_verdict(comm, fault)) return -1;
  if (recorder_start(comm->recorder, folder, fault) == 0) recorder_at(comm->recorder, step, 0);
  if (comm_agree(comm, fault) == 0) return 0;
  struct fault ignored = {""};
  recorder_stop(comm->recorder, &ignored);
  return -1;
}

/* Of the soft steps, on every rank. Collective. */
static struct efficiency efficiency_of_run(const struct traffic *traffic, const struct comm *comm)
{
  double largest[] = {traffic->seconds, traffic->useful}, useful = traffic->useful;
  comm_max_double(comm, largest, 2);
  comm_sum_double(comm, &useful, 1);
  return efficiency_of(useful / comm->size, largest[1], largest[0], -1);
}

void traffic_sum_up(const struct traffic *traffic, const struct comm *comm)
{
  if (comm->size == 1) return;
  int64_t sums[] = {traffic->sum.peers.bytes_sent, traffic->sum.peers.messages_sent,
                    traffic->sum.collectives.bytes_sent, traffic->sum.direct_bytes};
  double seconds[] = {traffic->sum.peers.waited, traffic->sum.collectives.waited, traffic->sum.hidden,
                      traffic->sum.direct_seconds};
  comm_sum_int64(comm, sums, 4);
  comm_sum_double(comm, seconds, 4);
  struct efficiency e = efficiency_of_run(traffic, comm);
  if (comm->rank != 0) return;
  double measured_seconds = seconds[0] + seconds[2];
  char text[EFFICIENCY_TEXT];
  printf("messages: %.4g MB in %lld messages between ranks, %.4g MB in collectives;\n"
         "  a rank waited %.3g s for messages and %.3g s in collectives, mean of the ranks;\n"
         "  %.0f %% of the transfer time was overlapped with computation\n",
         (double)sums[0] / 1e6, (long long)sums[1], (double)sums[2] / 1e6, seconds[0] / comm->size,
         seconds[1] / comm->size, measured_seconds > 0 ? 100 * seconds[2] / measured_seconds : 0);
  if (sums[3] > 0)
    printf("  %.4g MB of these were sent from device to device, in %.3g s of a rank\n", (double)sums[3] / 1e6,
           seconds[3] / comm->size);
  if (traffic->seconds > 0)
    printf("parallel efficiency of the soft steps %.3f = load balance %.3f x communication efficiency %.3f;\n  %s\n",
           e.parallel, e.load_balance, e.communication, efficiency_lowest(&e, text));
}

/* --- numbers of a soft step --------------------------------------------------------------------------------------- */

/* They are reduced together, since the device has nothing to do meanwhile. */
enum { TALLY_SUMS = 6, LOAD_COUNT = 5, LET_SUMS = 9, LEVEL_SUMS = 32 };

/* Numbers of a soft step that are reduced over the ranks together. */
struct reduced {
  int64_t full[TALLY_SUMS], hard[TALLY_SUMS], let[LET_SUMS], levels[LEVEL_SUMS];       /* sums */
  double full_seconds, hard_seconds, substeps, load[LOAD_COUNT], seconds[PHASE_COUNT]; /* maxima */
};
enum { REDUCED_SUMS = 2 * TALLY_SUMS + LET_SUMS + LEVEL_SUMS, REDUCED_MAXIMA = 3 + LOAD_COUNT + PHASE_COUNT };
_Static_assert(offsetof(struct reduced, full_seconds) == REDUCED_SUMS * sizeof(int64_t) &&
                   sizeof(struct reduced) == REDUCED_SUMS * sizeof(int64_t) + REDUCED_MAXIMA * sizeof(double),
               "two arrays without gaps");

static void tally_sums(const struct tally *tally, int64_t sums[TALLY_SUMS])
{
  const int64_t own[TALLY_SUMS] = {tally->targets,     tally->particle_pairs, tally->cell_pairs,
                                   tally->split_pairs, tally->tests,          tally->groups};
  memcpy(sums, own, sizeof own);
}

/* The tally of all ranks; its seconds are those of the slowest rank. */
static void tally_of_all(struct tally *tally, const int64_t sums[TALLY_SUMS], double seconds)
{
  *tally = (struct tally){
      seconds, sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], tally->evaluating, tally->local_seconds};
}

static double pairs(const struct tally *tally) { return (double)(tally->particle_pairs + tally->cell_pairs); }

static struct reduced own_numbers(const struct sim *sim)
{
  const struct step_counts *c = &sim->counts;
  const struct let_count *hard = &c->step_let.received;
  double local = (double)c->local;
  struct reduced n = {.let = {c->soft_let.received.cells + hard->cells,
                              c->soft_let.received.particles + hard->particles,
                              c->soft_let.bytes + c->step_let.bytes + c->updates.bytes, c->outside, c->migrated,
                              c->updates.messages, c->updates.bytes, c->violations, c->late},
                      .full_seconds = c->full.seconds,
                      .hard_seconds = c->hard.seconds,
                      .substeps = (double)c->substeps,
                      .load = {sim->cost.work, local, local + (double)(hard->cells + hard->particles), pairs(&c->hard),
                               sim->cost.computing}};
  tally_sums(&c->full, n.full);
  tally_sums(&c->hard, n.hard);
  sim->be->steps.histogram(sim->dev, n.levels);
  return n;
}

/* The imbalances of the report: maximum over ranks divided by the mean. */
static void imbalances(struct step_report *report, int ranks, const double largest[LOAD_COUNT],
                       const double sum[LOAD_COUNT])
{
  double *to[LOAD_COUNT] = {&report->imbalance, &report->imbalance_particles, &report->imbalance_hard,
                            &report->imbalance_pairs_hard, &report->imbalance_seconds};
  for (int k = 0; k < LOAD_COUNT; k++) *to[k] = sum[k] > 0 ? largest[k] * ranks / sum[k] : 1;
}

void logs_collect(struct step_report *report, struct sim *sim, double dt)
{
  double sum[LOAD_COUNT];
  memset(report, 0, sizeof *report);
  report->dt = dt;
  report->full = sim->counts.full;
  report->hard = sim->counts.hard;
  timer_phase(&sim->timer, PHASE_other);
  report->lists = sim->scheme->tally(sim);
  report->neighbours = (double)report->lists.entries / sim->now.count;
  struct reduced n = own_numbers(sim);
  memcpy(sum, n.load, sizeof sum);
  comm_sum_double(sim->comm, sum, LOAD_COUNT);
  comm_sum_int64(sim->comm, n.full, REDUCED_SUMS);
  report->wall = timer_total(&sim->timer);
  memcpy(n.seconds, sim->timer.seconds, sizeof n.seconds);
  comm_max_double(sim->comm, &n.full_seconds, REDUCED_MAXIMA);
  timer_reset(&sim->timer);
  memcpy(report->seconds, n.seconds, sizeof report->seconds);
  tally_of_all(&report->full, n.full, n.full_seconds);
  tally_of_all(&report->hard, n.hard, n.hard_seconds);
  imbalances(report, sim->comm->size, n.load, sum);
  report->cells = (double)n.let[0];
  report->particles = (double)n.let[1];
  report->bytes = (double)n.let[2];
  report->outside = n.let[3];
  sim->counts.migrated = n.let[4];
  report->update_messages = n.let[5];
  report->update_bytes = n.let[6];
  report->violations = n.let[7];
  report->late = n.let[8];
  sim->counts.substeps = (int64_t)n.substeps;
  memcpy(report->levels, n.levels, sizeof n.levels);
  if (report->full.targets) report->list_full = pairs(&report->full) / (double)report->full.targets;
  if (report->hard.targets) report->list_hard = pairs(&report->hard) / (double)report->hard.targets;
  if (report->hard.targets && report->full.seconds > 0)
    report->h =
        report->hard.seconds / (double)report->hard.targets / (report->full.seconds / (double)report->full.targets);
}
