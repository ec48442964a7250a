/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The communicator: results of collectives and exchanges, waits that leave the core to others, and the ledger, in which
 * what all have sent is what all have received. */
#include <config.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ranks.h"

enum { LIMIT = 1000, LONGEST = 5000, MANY = 300001 };

static void check(const struct comm *comm, int good, const char *what)
{
  int all = (int)comm_min_int64(comm, good);
  char line[200];
  snprintf(line, sizeof line, "%d ranks: %s", comm->size, what);
  if (comm->rank == 0) tap_ok(all, line);
}

static void check_collectives(const struct comm *comm)
{
  int n = comm->size, good = 1;
  int64_t whole[2] = {comm->rank, 1};
  double real[2] = {comm->rank + 0.5, -comm->rank};
  comm_sum_int64(comm, whole, 2);
  comm_sum_double(comm, real, 2);
  good &= whole[0] == (int64_t)n * (n - 1) / 2 && whole[1] == n;
  good &= real[0] == n * (n - 1) / 2 + 0.5 * n && real[1] == -n * (n - 1) / 2;
  comm_max_double(comm, real, 1);
  good &= comm_max_int64(comm, comm->rank) == n - 1 && comm_min_int64(comm, -comm->rank) == -(n - 1);
  good &= comm_exscan_int64(comm, comm->rank + 1) == (int64_t)comm->rank * (comm->rank + 1) / 2;
  int word = comm->rank == 0 ? 4711 : 0;
  comm_broadcast(comm, &word, sizeof word);
  check(comm, good && word == 4711, "sums, extremes, broadcast");

  struct fault late = {""}, none = {""};
  if (comm->rank >= n / 2) fault_set(&late, "rank %d", comm->rank);
  char expected[32];
  snprintf(expected, sizeof expected, "rank %d", n / 2);
  good = comm_agree(comm, &late) == -1 && strcmp(late.text, expected) == 0 && comm_agree(comm, &none) == 0 &&
         comm_verdict(comm, &none) == 0;
  check(comm, good, "agreement on the fault of the lowest rank");
}

/* Long arrays are summed in slices, a long broadcast goes in pieces. */
static void check_long(const struct comm *comm)
{
  int good = 1;
  double *x = memory_alloc("test", sizeof *x * MANY);
  for (int i = 0; i < MANY; i++) x[i] = i + comm->rank;
  comm_sum_double(comm, x, MANY);
  for (int i = 0; i < MANY; i++) good &= x[i] == (double)comm->size * i + comm->size * (comm->size - 1) / 2;
  check(comm, good, "a sum of more numbers than go in one piece");
  for (int i = 0; i < MANY; i++) x[i] = comm->rank == 0 ? i : -1;
  comm_broadcast(comm, x, sizeof *x * MANY);
  for (int i = 0; i < MANY; i++) good &= x[i] == i;
  check(comm, good, "a broadcast of more bytes than go in one piece");
  memory_free(x);
}

static void check_all_to_all(const struct comm *comm)
{
  int n = comm->size, good = 1, next = -1;
  int *one = memory_alloc("test", 3 * sizeof *one * (size_t)n), *all = one + n, *back = all + n;
  comm_allgather(comm, &comm->rank, sizeof comm->rank, all);
  for (int r = 0; r < n; r++) one[r] = 1000 * comm->rank + r;
  comm_alltoall(comm, one, sizeof *one, back);
  for (int r = 0; r < n; r++) good &= all[r] == r && back[r] == 1000 * r + comm->rank;
  comm_shift(comm, &comm->rank, (comm->rank + n - 1) % n, &next, (comm->rank + 1) % n, sizeof next);
  check(comm, good && next == (comm->rank + 1) % n, "from all to all, and from the neighbour");
  memory_free(one);
  size_t bytes;
  char *text = memory_alloc("test", (size_t)comm->rank + 1);
  memset(text, 'a' + comm->rank % 26, (size_t)comm->rank + 1);
  char *gathered = comm_gather(comm, text, (size_t)comm->rank, &bytes);
  good = bytes == (size_t)n * (size_t)(n - 1) / 2;
  for (int r = 0, at = 0; r < n; at += r++)
    for (int k = 0; k < r; k++) good &= gathered[at + k] == 'a' + r % 26;
  check(comm, good, "gathered in rank order");
  memory_free(gathered);
  memory_free(text);
}

static size_t length_of(int from, int to)
{
  uint64_t h = (uint64_t)(from * 8192 + to + 1) * 0x9E3779B97F4A7C15u;
  return h >> 60 < 5 ? 0 : (h >> 20) % LONGEST;
}
static char content(int from, int to, size_t at) { return (char)(31 * from + 7 * to + (int)at); }

/* Messages of all lengths, some none, cut to LIMIT bytes. */
static int exchange(const struct comm *comm)
{
  size_t n = (size_t)comm->size;
  const void **send = memory_alloc("test", sizeof *send * n);
  size_t *sent = memory_alloc("test", 3 * sizeof *sent * n), *got = sent + n, *offset = got + n;
  void *received;
  for (int r = 0; r < comm->size; r++) {
    char *text = memory_alloc("test", LONGEST);
    sent[r] = length_of(comm->rank, r);
    for (size_t k = 0; k < sent[r]; k++) text[k] = content(comm->rank, r, k);
    send[r] = text;
  }
  comm_exchange(comm, send, sent, &received, got, offset);
  int good = 1;
  for (int r = 0; r < comm->size; r++) {
    good &= got[r] == length_of(r, comm->rank);
    for (size_t k = 0; k < got[r]; k++) good &= ((char *)received)[offset[r] + k] == content(r, comm->rank, k);
    memory_free((void *)(uintptr_t)send[r]);
  }
  memory_free(received);
  memory_free(sent);
  memory_free(send);
  return good;
}

/* Both ends of each pair have the same bytes and pieces in their ledgers. */
static void check_ledger(const struct comm *comm)
{
  ledger_reset(comm->ledger);
  ledger_phase(comm->ledger, PHASE_walk);
  int arrived = exchange(comm);
  ledger_phase(comm->ledger, PHASE_output);
  check(comm, arrived, "an exchange of messages cut to pieces");
  struct ledger_entry *mine = memory_alloc("test", 2 * sizeof *mine * (size_t)comm->size), *other = mine + comm->size;
  int good = 1, self = 1;
  for (int r = 0; r < comm->size; r++) {
    size_t bytes = r == comm->rank ? 0 : length_of(comm->rank, r);
    mine[r] = ledger_entry(comm->ledger, PHASE_walk, r);
    good &= mine[r].bytes_sent == (int64_t)bytes && mine[r].messages_sent == (int64_t)((bytes + LIMIT - 1) / LIMIT);
    if (r == comm->rank) self = mine[r].messages_sent == 0 && mine[r].messages_received == 0;
  }
  comm_alltoall(comm, mine, sizeof *mine, other);
  for (int r = 0; r < comm->size; r++)
    good &= other[r].bytes_sent == mine[r].bytes_received && other[r].messages_sent == mine[r].messages_received;
  check(comm, good && self, "each piece that was sent stands in the ledgers of both ranks, and nothing else");
  struct ledger_sum sum = ledger_sum(comm->ledger, PHASE_walk);
  int64_t all[] = {sum.peers.bytes_sent, -sum.peers.bytes_received, sum.peers.messages_sent,
                   -sum.peers.messages_received};
  comm_sum_int64(comm, all, 4);
  check(comm, all[0] + all[1] == 0 && all[2] + all[3] == 0, "what all have sent is what all have received");
  int64_t sizes = (int64_t)sizeof(size_t) * comm->size;
  check(comm,
        sum.collectives.messages_sent == 1 && sum.collectives.bytes_sent == sizes &&
            sum.collectives.bytes_received == sizes,
        "the exchange of sizes is one collective");
  check(comm,
        ledger_sum(comm->ledger, PHASE_output).collectives.messages_sent > 0 &&
            ledger_sum(comm->ledger, PHASE_build).collectives.messages_sent == 0,
        "entries go to the phase that is on");
  ledger_hidden(comm->ledger, 0.25);
  good = ledger_sum(comm->ledger, PHASE_output).hidden == 0.25;
  ledger_reset(comm->ledger);
  for (int p = 0; p < PHASE_COUNT; p++) {
    struct ledger_sum none = ledger_sum(comm->ledger, (enum phase)p);
    good &=
        none.collectives.messages_sent == 0 && none.peers.bytes_sent == 0 && none.peers.waited == 0 && none.hidden == 0;
  }
  check(comm, good, "the reset ledger is empty");
  memory_free(mine);
}

static double cpu_seconds(void)
{
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* All ranks wait for a late rank, and leave the core to other processes meanwhile. */
static void check_wait(const struct comm *comm)
{
  enum { LATE_MS = 500 };
  struct timespec late = {0, LATE_MS * 1000000L};
  int from = (comm->rank + comm->size - 1) % comm->size, to = (comm->rank + 1) % comm->size, word = comm->rank,
      got = -1;
  comm_barrier(comm);
  ledger_reset(comm->ledger);
  ledger_phase(comm->ledger, PHASE_walk);
  if (comm->rank == 0) nanosleep(&late, NULL);
  double cpu = cpu_seconds();
  comm_shift(comm, &word, to, &got, from, sizeof word);
  comm_barrier(comm);
  cpu = cpu_seconds() - cpu;
  double for_peer = ledger_entry(comm->ledger, PHASE_walk, from).waited,
         for_all = ledger_entry(comm->ledger, PHASE_walk, LEDGER_ALL).waited;
  /* others than the late rank's neighbour have their messages and wait for all */
  double waited = comm->rank == 0 ? LATE_MS * 1e-3 : comm->rank == 1 ? for_peer : for_peer + for_all;
  check(comm, got == from && waited > 0.5e-3 * LATE_MS, "the ledger has the waiting time of each rank and peer");
  check(comm, cpu < 0.5e-3 * LATE_MS, "a waiting rank uses little processor time");
}

/* With ESPALIER_CLOCK=cpu phases are counted in processor time, of which waiting took none. */
static void check_computing(const struct comm *comm)
{
  struct timer t = {.ledger = comm->ledger};
  ledger_reset(comm->ledger);
  timer_reset(&t);
  timer_phase(&t, PHASE_walk);
  for (double begin = cpu_seconds(); cpu_seconds() - begin < 0.02;) continue;
  ledger_waited(comm->ledger, LEDGER_ALL, 100);
  timer_phase(&t, PHASE_other);
  check(comm, timer_computing(&t) >= 0.02, "seconds of waiting are not taken off seconds of the processor");
  ledger_reset(comm->ledger);
  double clock = timer_clock(), before = timer_processor(1);
  nanosleep(&(struct timespec){0, 50000000}, NULL);
  double asleep = timer_processor(1) - before;
  clock = timer_clock() - clock;
  before = timer_processor(4); /* of four threads, of which one works */
  for (double begin = cpu_seconds(); cpu_seconds() - begin < 0.02;) continue;
  double worked = timer_processor(4) - before;
  check(comm, clock >= 0.05 && asleep < 0.5 * clock && worked > 0.015,
        "seconds of the processor: without sleep, and of the thread that works most");
}

/* A message that goes round, again and again: each rank's turn comes only when it is awake. */
static void check_ring(const struct comm *comm)
{
  enum { ROUNDS = 20 };
  int64_t sum = comm->rank, x = comm->rank;
  for (int k = 1; k < ROUNDS * comm->size && comm->size > 1; k++) {
    int64_t next;
    comm_shift(comm, &x, (comm->rank + 1) % comm->size, &next, (comm->rank + comm->size - 1) % comm->size, sizeof x);
    x = next;
    sum += x;
  }
  check(comm, comm->size == 1 || sum == (int64_t)ROUNDS * comm->size * (comm->size - 1) / 2, "messages in a ring");
}

int main(int argc, char **argv)
{
  struct comm c;
  int threads;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &threads);
  char limit[16];
  snprintf(limit, sizeof limit, "%d", LIMIT);
  setenv("ESPALIER_LARGEST_MESSAGE", limit, 1);
  setenv("ESPALIER_CLOCK", "cpu", 1);
  comm_open(&c, MPI_COMM_WORLD);
  check_collectives(&c);
  check_long(&c);
  check_all_to_all(&c);
  check_ledger(&c);
  check_wait(&c);
  check_computing(&c);
  check_ring(&c);
  return ranks_end(&c);
}
