/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The machine file of this machine: messages between two ranks, and soft steps as those of a run, of few particles and
 * of many. */
#include <config.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/debug.h"
#include "base/memory.h"
#include "base/revision.h"
#include "base/lines.h"
#include "params/params.h"
#include "mpi/start.h"
#include "run/start.h"
#include "forecast/machine_fit.h"
#include "study/result_file.h"
#include "forecast/time_study.h"

/* Repeats of short messages, pieces of a message that is sent as many, bytes of long messages. */
enum { SHORT_MESSAGE = 200, LONG_MESSAGE_PIECES = 256, LONG_MESSAGE = 4 << 20 };

/* --- messages ---------------------------------------------------------------------------------------------------- */

/* Mean seconds of an exchange of `bytes` bytes with the rank at the distance `shift`; all ranks take part.
 * Collective. */
static double shift_seconds(const struct comm *comm, int shift, size_t bytes, int repeats, size_t piece)
{
  struct comm cut = *comm;
  if (piece) cut.largest_message = piece;
  char *send = memory_alloc("study", bytes), *receive = memory_alloc("study", bytes);
  int size = comm->size, to = (comm->rank + shift) % size, from = (comm->rank + size - shift) % size;
  const void **sent = memory_alloc("study", sizeof *sent * (size_t)size);
  void **received = memory_alloc("study", sizeof *received * (size_t)size);
  size_t *bytes_sent = memory_alloc("study", 2 * sizeof *bytes_sent * (size_t)size),
         *bytes_received = bytes_sent + size;
  sent[to] = send;
  received[from] = receive;
  bytes_sent[to] = bytes;
  bytes_received[from] = bytes;
  double best = 1e300;
  for (int batch = 0; batch < 5; batch++) { /* the least disturbed one */
    comm_barrier(comm);
    double begun = timer_clock();
    for (int k = 0; k < repeats; k++) comm_exchange_known(&cut, sent, bytes_sent, received, bytes_received);
    double seconds = (timer_clock() - begun) / repeats;
    comm_max_double(comm, &seconds, 1);
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
static void measure_messages(const struct comm *comm, struct machine *machine)
{
  int node = comm_node_size(comm), all = (int)comm_min_int64(comm, node);
  machine->network.overhead =
      shift_seconds(comm, 1, 8 * LONG_MESSAGE_PIECES, SHORT_MESSAGE / 20, 8) / LONG_MESSAGE_PIECES;
  machine->network.node_latency = fmax(shift_seconds(comm, 1, 8, SHORT_MESSAGE, 0) - machine->network.overhead, 0);
  machine->network.node_bandwidth =
      machine_bytes_rate(LONG_MESSAGE, shift_seconds(comm, 1, LONG_MESSAGE, 5, 0), machine->network.node_latency);
  machine->network.ranks_per_node = all;
  machine->network.latency = machine->network.node_latency;
  machine->network.bandwidth = machine->network.node_bandwidth * all;
  if (all == comm->size) return;
  machine->network.latency = fmax(shift_seconds(comm, all, 8, SHORT_MESSAGE, 0) - machine->network.overhead, 0);
  machine->network.bandwidth =
      all * machine_bytes_rate(LONG_MESSAGE, shift_seconds(comm, all, LONG_MESSAGE, 5, 0), machine->network.latency);
}

/* --- the device -------------------------------------------------------------------------------------------------- */

/* Soft steps of all schemes with so many particles on each rank of c. Collective over c. 0 or -1. */
static int measure_schemes(const struct bench_task *of, enum bench_size size,
                           struct bench_step step[BENCH_SIZES][STUDY_SCHEMES], struct fault *fault)
{
  struct bench_task task = *of;
  for (int k = 0; k < STUDY_SCHEMES; k++) {
    task.scheme = (enum study_scheme)k;
    if (size == BENCH_SOME && task.scheme != STUDY_SHARED) continue;
    if (bench_soft_steps(&task, &step[size][k], fault)) return -1;
  }
  return 0;
}

/* Numbers of particles of a rank, for a host and for a device; 0: not measured. */
static int64_t size_of(enum bench_size size, int on_device)
{
  static const int64_t few = 1024, some = 1 << 19, many[2] = {16384, 1 << 21};
  return size == BENCH_FEW ? few : size == BENCH_MANY ? many[on_device] : on_device ? some : 0;
}

/* The seconds of a soft step of block steps that ranks take side by side, over those of one alone. */
static double side_by_side(const struct bench_step *alone, const struct bench_step *together)
{
  double a = 0, b = 0;
  for (int p = 0; p < PHASE_COUNT; p++) {
    a += alone->seconds[p];
    b += together->seconds[p];
  }
  return b > 0 ? a / b : 1;
}

/* Each rank by itself: rank 0 while the others wait, then all. Collective. 0 or -1. */
static int measure_alone(const struct comm *comm, const struct bench_task *task, struct machine_runs *runs,
                         struct fault *fault)
{
  struct comm self;
  struct bench_task own = *task;
  int on_device = task->be->particle_bytes > 0;
  start_alone(&self);
  self.node_offset = comm_node_rank(comm);
  own.c = &self;
  for (int size = 0; size < BENCH_SIZES && comm->rank == 0 && !fault->text[0]; size++) {
    own.particles = size_of((enum bench_size)size, on_device);
    if (own.particles > 0) measure_schemes(&own, (enum bench_size)size, runs->alone, fault);
  }
  if (comm->rank == 0 && !fault->text[0]) {
    own.scheme = STUDY_HYBRID;
    own.radius_factor = 0.5;
    bench_soft_steps(&own, &runs->near, fault);
    own.radius_factor = 0;
  }
  if (comm_agree(comm, fault) == 0) {
    struct bench_step together;
    own.scheme = STUDY_BLOCK;
    own.particles = size_of(BENCH_MANY, on_device);
    bench_soft_steps(&own, &together, fault);
    runs->together = together;
    runs->node_factor = comm->rank == 0 ? side_by_side(&runs->alone[BENCH_MANY][STUDY_BLOCK], &together) : 0;
  }
  comm_close(&self);
  return comm_agree(comm, fault);
}

/* Messages from device to device, where there were any; collectives go from host to host. */
static void use_direct(struct machine *machine, const struct machine_runs *runs)
{
  const struct bench_step *few = &runs->beside[BENCH_FEW][STUDY_BLOCK], *many = &runs->beside[BENCH_MANY][STUDY_BLOCK];
  if (!(few->direct_seconds > 0 && many->direct_seconds > 0)) return;
  double message = few->direct_seconds / few->direct_messages, all = many->direct_seconds;
  machine->network.delay = fmax(message - machine->network.node_latency, 0);
  machine->network.node_bandwidth = many->direct_bytes / fmax(all - many->direct_messages * message, 0.1 * all);
  if (machine->network.ranks_per_node == many->ranks)
    machine->network.bandwidth = machine->network.node_bandwidth * machine->network.ranks_per_node;
}

static int measure_device(const struct comm *comm, const struct params *par, struct machine *machine,
                          struct machine_runs *runs, struct fault *fault)
{
  const struct backend *be;
  if (sim_choose_backend(comm, par, &be, fault) == 0) {
    int on_device = be->particle_bytes > 0;
    struct bench_task task = {.c = comm, .be = be, .par = par};
    int failed = measure_alone(comm, &task, runs, fault);
    for (int size = BENCH_FEW; size < BENCH_SIZES && !failed; size++) {
      task.particles = size == BENCH_SOME ? 0 : size_of((enum bench_size)size, on_device);
      if (task.particles > 0) failed = measure_schemes(&task, (enum bench_size)size, runs->beside, fault);
    }
    machine->device = on_device ? DEVICE_gpu : DEVICE_cpu;
    if (!failed && comm->rank == 0) machine_fit(machine, runs);
    if (!failed && comm->rank == 0) use_direct(machine, runs);
  }
  return fault->text[0] ? -1 : 0;
}

static void write_step(FILE *out, int scheme, const struct bench_step *step)
{
  if (step->ranks == 0) return;
  fprintf(out, "# %s,%d,%.0f", study_scheme_names[scheme], step->ranks, step->particles);
  for (int p = 0; p < PHASE_COUNT; p++) fprintf(out, ",%.6g", step->seconds[p]);
  fprintf(out, ",%.6g,%.6g,%.6g,%.0f,%.0f,%.0f,%.0f,%.0f,%.6g,%.6g", step->full_pairs, step->hard_pairs, step->targets,
          step->substeps, step->builds, step->updates, step->exchanges, step->migrations, step->let_bytes,
          step->update_bytes);
  fprintf(out, ",%.6g,%.0f,%.6g,", step->direct_bytes, step->direct_messages, step->direct_seconds);
  for (int l = 0; l < 8; l++) fprintf(out, "%s%.0f", l ? " " : "", step->level[l]);
  fputc('\n', out);
}

/* The soft steps from which the numbers of the device are, as comments. */
static void write_runs(FILE *out, const struct machine_runs *runs)
{
  fprintf(out,
          "\n# Soft steps that were measured, seconds of rank 0 without waiting:\n# scheme,ranks,particles_of_a_rank");
  for (int p = 0; p < PHASE_COUNT; p++) fprintf(out, ",%s", phase_names[p]);
  fprintf(out, ",pairs_full,pairs_hard,evaluations_hard,substeps,builds,updates,exchanges,migrations,let_bytes,update_"
               "bytes,direct_bytes,direct_messages,direct_seconds,level_0_to_7\n");
  for (int size = 0; size < BENCH_SIZES; size++)
    for (int k = 0; k < STUDY_SCHEMES; k++) {
      write_step(out, k, &runs->alone[size][k]);
      write_step(out, k, &runs->beside[size][k]);
    }
  fprintf(out, "# half the R1; each rank by itself, at the same time:\n");
  write_step(out, STUDY_HYBRID, &runs->near);
  write_step(out, STUDY_BLOCK, &runs->together);
}

/* The largest spread of soft steps of many particles on this rank. */
static double largest_spread(const struct machine_runs *runs)
{
  double most = fmax(runs->near.spread, runs->together.spread);
  for (int k = 0; k < STUDY_SCHEMES; k++)
    most = fmax(most, fmax(runs->alone[BENCH_MANY][k].spread, runs->beside[BENCH_MANY][k].spread));
  return most;
}

/* What to say where soft steps of one kind took this many times as long as others, since other programs ran: a line of
 * a comment; nothing where they are alike. */
static const char *about_spread(double most, char *line, size_t capacity)
{
  if (most < debug_value("machine_spread", 1.5)) return "";
  snprintf(line, capacity,
           "\nsoft steps of one kind took up to %.1f times as long as others: measure again where nothing else runs",
           most);
  return line;
}

/* --- the file ---------------------------------------------------------------------------------------------------- */

int machine_study(const struct comm *comm, const struct params *par, const char *output, int overwrite)
{
  struct fault f = {""};
  struct result_file out = {.file = NULL};
  struct machine m = {.network = {.topology = TOPOLOGY_flat, .topology_factor = 1}};
  struct machine_runs *r = memory_alloc("study", sizeof *r);
  char host[64] = "this machine", source[600], busy[160] = "";
  if (comm->size < 2)
    fault_set(&f, "study machine measures messages between ranks: start it on at least 2, for example mpirun -n 2");
  if (comm->rank == 0 && !f.text[0]) result_open(&out, output, overwrite, par, &f);
  if (comm_verdict(comm, &f) == 0) {
    gethostname(host, sizeof host - 1);
    snprintf(m.name, sizeof m.name, "%s", host);
    measure_messages(comm, &m);
    measure_device(comm, par, &m, r, &f);
  }
  if (comm_agree(comm, &f) == 0 && comm->rank == 0 && result_begin(&out, &f) == 0) {
    snprintf(source, sizeof source,
             "measured by espalier study machine, %s (%s), on %d ranks, %d of a node\n"
             "messages between nodes: %s; topology: set it by hand%s",
             PACKAGE_VERSION, revision, comm->size, (int)m.network.ranks_per_node,
             m.network.ranks_per_node == comm->size ? "not measured, as within the node" : "measured",
             about_spread(largest_spread(r), busy, sizeof busy));
    if (busy[0]) fprintf(stderr, "espalier: warning: %s\n", busy + 1);
    machine_write(out.file ? out.file : stdout, &m, source);
    write_runs(out.file ? out.file : stdout, r);
  }
  if (comm->rank == 0) result_close(&out, &f);
  if (comm->rank == 0 && output && !f.text[0]) {
    printf("%s: machine file, measured on %d ranks\nnext: espalier study time --machine ", output, comm->size);
    shell_word(stdout, output);
    puts(" FILE.ini");
  }
  memory_free(r);
  comm_verdict(comm, &f);
  comm_print_fault(comm, "error", &f);
  return f.text[0] != 0;
}
