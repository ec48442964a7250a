/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The machine file of this machine: messages between two ranks, and short benchmarks of the backend. */
#include <config.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/revision.h"
#include "params/params.h"
#include "run/start.h"
#include "step/plan.h"
#include "step/step.h"
#include "study/bench.h"
#include "forecast/machine.h"
#include "study/result_file.h"
#include "forecast/time_study.h"

/* Particles of a rank in benchmarks of rates, on a host and on a device, and of fixed costs; repeats of short messages, pieces of a message
 * that is sent as many, bytes of long messages. */
enum { MANY_HOST = 32768, MANY_DEVICE = 1 << 20, FEW = 64, REPEATS = 20, SHORT = 200, PIECES = 256, LONG = 4 << 20 };

/* --- messages ---------------------------------------------------------------------------------------------------- */

/* Mean seconds of an exchange of `bytes` bytes with the rank at the distance `shift`; all ranks take part. Collective. */
static double shift_seconds(const struct comm *c, int shift, size_t bytes, int repeats, size_t piece)
{
  struct comm cut = *c;
  if (piece) cut.largest_message = piece;
  char *send = memory_alloc("study", bytes), *receive = memory_alloc("study", bytes);
  int size = c->size, to = (c->rank + shift) % size, from = (c->rank + size - shift) % size;
  const void **sent = memory_alloc("study", sizeof *sent * (size_t)size);
  void **received = memory_alloc("study", sizeof *received * (size_t)size);
  size_t *bytes_sent = memory_alloc("study", 2 * sizeof *bytes_sent * (size_t)size), *bytes_received = bytes_sent + size;
  sent[to] = send, received[from] = receive;
  bytes_sent[to] = bytes, bytes_received[from] = bytes;
  double best = 1e300;
  for (int batch = 0; batch < 5; batch++) {   /* the least disturbed one */
    comm_barrier(c);
    double begun = timer_clock();
    for (int k = 0; k < repeats; k++) comm_exchange_known(&cut, sent, bytes_sent, received, bytes_received);
    double seconds = (timer_clock() - begun) / repeats;
    comm_max_double(c, &seconds, 1);
    best = fmin(best, seconds);
  }
  memory_free(bytes_sent);
  memory_free(received);
  memory_free(sent);
  memory_free(receive);
  memory_free(send);
  return best;
}

/* Collective. */
static void measure_messages(const struct comm *c, struct machine *m)
{
  int node = comm_node_size(c), all = (int)comm_min_int64(c, node);
  m->overhead = shift_seconds(c, 1, 8 * PIECES, SHORT / 20, 8) / PIECES;
  m->node_latency = fmax(shift_seconds(c, 1, 8, SHORT, 0) - m->overhead, 0);
  m->node_bandwidth = LONG / fmax(shift_seconds(c, 1, LONG, 5, 0) - m->node_latency, 1e-12);
  m->ranks_per_node = all;
  m->latency = m->node_latency;
  m->bandwidth = m->node_bandwidth * all;
  if (all == c->size) return;
  m->latency = fmax(shift_seconds(c, all, 8, SHORT, 0) - m->overhead, 0);
  m->bandwidth = all * LONG / fmax(shift_seconds(c, all, LONG, 5, 0) - m->latency, 1e-12);
}

/* --- the device -------------------------------------------------------------------------------------------------- */

/* A number in [0, 1) from a counter (splitmix64). */
static double uniform(uint64_t *state)
{
  uint64_t z = *state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* Plummer's sphere at rest, n particles of this rank. */
static void make_sphere(struct particles *p, const struct comm *c, int64_t n)
{
  uint64_t state = 17 + (uint64_t)c->rank;
  particles_init(p);
  particles_reserve(p, n);
  for (int64_t i = 0; i < n; i++) {
    double r = 0.59 / sqrt(pow(0.99 * uniform(&state) + 0.005, -2.0 / 3) - 1), z = 2 * uniform(&state) - 1, phi = 2 * M_PI * uniform(&state);
    p->pos[3 * i] = r * sqrt(1 - z * z) * cos(phi);
    p->pos[3 * i + 1] = r * sqrt(1 - z * z) * sin(phi);
    p->pos[3 * i + 2] = r * z;
    for (int k = 0; k < 3; k++) p->vel[3 * i + k] = uniform(&state) - 0.5;
    p->mass[i] = (float)(1.0 / ((double)n * c->size));
    p->id[i] = (uint64_t)(c->rank * n + i);
    p->type[i] = 1;
  }
  p->n = n;
}

/* Steps of a sphere of n particles, with the program's own softening and soft step. */
static void benchmark_parameters(struct params *par, int mode, double n)
{
  params_defaults(par);
  par->GravityConstantInternal = 1;
  par->Softening = 0.1 * pow(n, -0.26);
  par->Mode = mode;
  par->Scheme = SCHEME_BLOCK;
  par->Tuning = TUNING_FROZEN;
  par->MaxSizeTimestep = 1.0 / 16;
  par->Eta = 1;
  params_use_walks(par);
}

static void drain_device(void *of)
{
  struct sim *s = of;
  s->be->wait(s->dev);
}

/* What a soft step of block steps takes. */
struct soft_step_rates {
  double step;      /* seconds of a block step */
  double pairs;     /* interactions of a second in block steps, with what else is done for the active particles; 0: none */
  double updates;   /* particles of a second in moment updates; 0: none */
  double corrects;  /* particles of a second that are kicked or corrected */
};

/* A soft step and its block steps. Collective. */
static struct soft_step_rates measure_soft_step(struct sim *s)
{
  struct soft_step_rates r = {0};
  struct plan plan = plan_next(s->par, &s->now, &s->system, s->time, 1, s->split.r2, s->split.on, 0);
  memset(&s->counts, 0, sizeof s->counts);
  s->be->wait(s->dev);
  timer_reset(&s->timer);
  s->timer.drain = drain_device;
  s->timer.drain_argument = s;
  step_open(s, &plan);
  double opened = s->timer.seconds[PHASE_correct], begun = timer_computing(&s->timer), n = (double)s->be->count(s->dev);
  while (step_substeps(s, &plan, HUGE_VAL) != STEP_SUBSTEPS_ENDED) continue;
  timer_phase(&s->timer, PHASE_other);
  s->timer.drain = NULL;
  const double *spent = s->timer.seconds, steps = (double)s->counts.substeps;
  if (steps > 0) r.step = (timer_computing(&s->timer) - begun) / steps;
  if (steps > 0 && spent[PHASE_hard_walk] > 0)
    r.pairs = (double)(s->counts.hard.particle_pairs + s->counts.hard.cell_pairs) / spent[PHASE_hard_walk];
  /* both kicks of a synchronisation; what corrections of active particles take beyond that, such as finding them, goes with N */
  double each = 2 * opened / n, rest = fmax(spent[PHASE_correct] - opened - each * (double)s->counts.hard.targets, 0);
  if (s->counts.moment_updates > 0) r.updates = n * (double)s->counts.moment_updates / fmax(spent[PHASE_moments] + rest, 1e-12);
  r.corrects = 1 / fmax(each, 1e-18);
  comm_max_double(s->comm, &r.step, 1);
  step_close(s, &plan, 0);
  return r;
}

/* Times of a force of n particles a rank in a mode, its interactions, and what its block steps take. Collective. 0 or -1. */
static int benchmark(const struct comm *c, const struct backend *be, int64_t n, int mode, struct bench_times *t, double *pairs,
                     struct soft_step_rates *r, struct fault *f)
{
  struct sim s;
  struct params par;
  struct particles p;
  benchmark_parameters(&par, mode, (double)n * c->size);
  make_sphere(&p, c, n);
  int failed = sim_open(&s, c, &par, be, &p, f);
  if (!failed) {
    sim_first_force(&s);
    for (int p = 0; p < PHASE_COUNT; p++) t->phase[p] = 1e300;
    for (int k = 0; k < REPEATS; k++) {   /* the least disturbed one, phase by phase; a walk without its waiting */
      struct bench_times again;
      bench_once(&s, &again);
      again.phase[PHASE_walk] = s.counts.full.seconds;
      for (int p = 0; p < PHASE_COUNT; p++) t->phase[p] = fmin(t->phase[p], again.phase[p]);
    }
    *pairs = (double)(s.counts.full.particle_pairs + s.counts.full.cell_pairs);
    measure_soft_step(&s);   /* memory grows in the first one */
    *r = measure_soft_step(&s);
  }
  sim_close(&s);
  return failed;
}

static int measure_device(const struct comm *c, struct machine *m, struct fault *f)
{
  const struct backend *be;
  struct params par;
  struct bench_times many, split, few;
  struct soft_step_rates block, hard, few_steps;
  double pairs, split_pairs, few_pairs;
  benchmark_parameters(&par, MODE_HYBRID, FEW);
  if (sim_choose_backend(c, &par, &be, f)) return -1;
  m->device = be->particle_bytes > 0 ? DEVICE_gpu : DEVICE_cpu;
  int64_t n = m->device == DEVICE_gpu ? MANY_DEVICE : MANY_HOST;
  if (benchmark(c, be, n, MODE_TREE, &many, &pairs, &block, f) || benchmark(c, be, n, MODE_HYBRID, &split, &split_pairs, &hard, f) ||
      benchmark(c, be, FEW, MODE_HYBRID, &few, &few_pairs, &few_steps, f))
    return -1;
  const double tiny = 1e-12, *s = many.phase;
  m->walk_floor = few.phase[PHASE_walk];
  m->walk_rate = pairs / fmax(s[PHASE_walk], tiny);
  m->split_rate = split_pairs / fmax(split.phase[PHASE_walk], tiny);
  m->block_rate = block.pairs > 0 ? block.pairs : m->walk_rate;
  m->hard_rate = hard.pairs > 0 ? hard.pairs : m->walk_rate;
  m->order_rate = (double)n / fmax(s[PHASE_order], tiny);
  m->build_rate = (double)n / fmax(s[PHASE_build] + s[PHASE_moments] + s[PHASE_groups], tiny);
  m->update_rate = hard.updates > 0 ? hard.updates : m->build_rate;
  m->correct_rate = hard.corrects;
  m->substep_floor = fmax(few_steps.step - m->walk_floor, 0);
  return 0;
}

/* --- the file ---------------------------------------------------------------------------------------------------- */

int machine_study(const struct comm *c, const char *output, int overwrite)
{
  struct fault f = {""};
  struct result_file out = {.file = NULL};
  struct params par;
  struct machine m = {.topology = TOPOLOGY_flat, .topology_factor = 1};
  char host[64] = "this machine", source[400];
  params_defaults(&par);
  if (c->size < 2) fault_set(&f, "study machine measures messages between ranks: start it on at least 2, for example mpirun -n 2");
  if (c->rank == 0 && !f.text[0]) result_open(&out, output, overwrite, &par, &f);
  if (comm_verdict(c, &f) == 0) {
    gethostname(host, sizeof host - 1);
    snprintf(m.name, sizeof m.name, "%s", host);
    measure_messages(c, &m);
    measure_device(c, &m, &f);
  }
  if (comm_agree(c, &f) == 0 && c->rank == 0 && result_begin(&out, &f) == 0) {
    snprintf(source, sizeof source, "measured by espalier study machine, %s (%s), on %d ranks, %d of a node\n"
             "messages between nodes: %s; topology: set it by hand", PACKAGE_VERSION, revision, c->size, (int)m.ranks_per_node,
             m.ranks_per_node == c->size ? "not measured, as within the node" : "measured");
    machine_write(out.file ? out.file : stdout, &m, source);
  }
  if (c->rank == 0) result_close(&out, &f);
  comm_verdict(c, &f);
  comm_print_fault(c, "error", &f);
  return f.text[0] != 0;
}
