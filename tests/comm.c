/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The communicator: results of collectives and exchanges, waits that leave the core to others, and the ledger, in which
 * what all have sent is what all have received. */
#include <config.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "mpi/comm.h"
#include "tap.h"

enum { LIMIT = 1000, LONGEST = 5000, MANY = 300001 };

static void check(const struct comm *c, int good, const char *what)
{
  int all = (int)comm_min_int64(c, good);
  char line[200];
  snprintf(line, sizeof line, "%d ranks: %s", c->size, what);
  if (c->rank == 0) tap_ok(all, line);
}

static void check_collectives(const struct comm *c)
{
  int n = c->size, good = 1;
  int64_t whole[2] = {c->rank, 1};
  double real[2] = {c->rank + 0.5, -c->rank};
  comm_sum_int64(c, whole, 2);
  comm_sum_double(c, real, 2);
  good &= whole[0] == (int64_t)n * (n - 1) / 2 && whole[1] == n;
  good &= real[0] == n * (n - 1) / 2 + 0.5 * n && real[1] == -n * (n - 1) / 2;
  comm_max_double(c, real, 1);
  good &= comm_max_int64(c, c->rank) == n - 1 && comm_min_int64(c, -c->rank) == -(n - 1);
  good &= comm_exscan_int64(c, c->rank + 1) == (int64_t)c->rank * (c->rank + 1) / 2;
  int word = c->rank == 0 ? 4711 : 0;
  comm_broadcast(c, &word, sizeof word);
  check(c, good && word == 4711, "sums, extremes, broadcast");

  struct fault late = {""}, none = {""};
  if (c->rank >= n / 2) fault_set(&late, "rank %d", c->rank);
  char expected[32];
  snprintf(expected, sizeof expected, "rank %d", n / 2);
  good = comm_agree(c, &late) == -1 && strcmp(late.text, expected) == 0 && comm_agree(c, &none) == 0 && comm_verdict(c, &none) == 0;
  check(c, good, "agreement on the fault of the lowest rank");
}

/* Long arrays are summed in slices, a long broadcast goes in pieces. */
static void check_long(const struct comm *c)
{
  int good = 1;
  double *x = memory_alloc("test", sizeof *x * MANY);
  for (int i = 0; i < MANY; i++) x[i] = i + c->rank;
  comm_sum_double(c, x, MANY);
  for (int i = 0; i < MANY; i++) good &= x[i] == (double)c->size * i + c->size * (c->size - 1) / 2;
  check(c, good, "a sum of more numbers than go in one piece");
  for (int i = 0; i < MANY; i++) x[i] = c->rank == 0 ? i : -1;
  comm_broadcast(c, x, sizeof *x * MANY);
  for (int i = 0; i < MANY; i++) good &= x[i] == i;
  check(c, good, "a broadcast of more bytes than go in one piece");
  memory_free(x);
}

static void check_all_to_all(const struct comm *c)
{
  int n = c->size, good = 1, next = -1;
  int *one = memory_alloc("test", 3 * sizeof *one * (size_t)n), *all = one + n, *back = all + n;
  comm_allgather(c, &c->rank, sizeof c->rank, all);
  for (int r = 0; r < n; r++) one[r] = 1000 * c->rank + r;
  comm_alltoall(c, one, sizeof *one, back);
  for (int r = 0; r < n; r++) good &= all[r] == r && back[r] == 1000 * r + c->rank;
  comm_shift(c, &c->rank, (c->rank + n - 1) % n, &next, (c->rank + 1) % n, sizeof next);
  check(c, good && next == (c->rank + 1) % n, "from all to all, and from the neighbour");
  memory_free(one);
  size_t bytes;
  char *text = memory_alloc("test", (size_t)c->rank + 1);
  memset(text, 'a' + c->rank % 26, (size_t)c->rank + 1);
  char *gathered = comm_gather(c, text, (size_t)c->rank, &bytes);
  good = bytes == (size_t)n * (size_t)(n - 1) / 2;
  for (int r = 0, at = 0; r < n; at += r++)
    for (int k = 0; k < r; k++) good &= gathered[at + k] == 'a' + r % 26;
  check(c, good, "gathered in rank order");
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
static int exchange(const struct comm *c)
{
  size_t n = (size_t)c->size;
  const void **send = memory_alloc("test", sizeof *send * n);
  size_t *sent = memory_alloc("test", 3 * sizeof *sent * n), *got = sent + n, *offset = got + n;
  void *received;
  for (int r = 0; r < c->size; r++) {
    char *text = memory_alloc("test", LONGEST);
    sent[r] = length_of(c->rank, r);
    for (size_t k = 0; k < sent[r]; k++) text[k] = content(c->rank, r, k);
    send[r] = text;
  }
  comm_exchange(c, send, sent, &received, got, offset);
  int good = 1;
  for (int r = 0; r < c->size; r++) {
    good &= got[r] == length_of(r, c->rank);
    for (size_t k = 0; k < got[r]; k++) good &= ((char *)received)[offset[r] + k] == content(r, c->rank, k);
    memory_free((void *)(uintptr_t)send[r]);
  }
  memory_free(received);
  memory_free(sent);
  memory_free(send);
  return good;
}

/* Both ends of each pair have the same bytes and pieces in their ledgers. */
static void check_ledger(const struct comm *c)
{
  ledger_reset(c->ledger);
  ledger_phase(c->ledger, PHASE_walk);
  int arrived = exchange(c);
  ledger_phase(c->ledger, PHASE_output);
  check(c, arrived, "an exchange of messages cut to pieces");
  struct ledger_entry *mine = memory_alloc("test", 2 * sizeof *mine * (size_t)c->size), *other = mine + c->size;
  int good = 1, self = 1;
  for (int r = 0; r < c->size; r++) {
    size_t bytes = r == c->rank ? 0 : length_of(c->rank, r);
    mine[r] = ledger_entry(c->ledger, PHASE_walk, r);
    good &= mine[r].bytes_sent == (int64_t)bytes && mine[r].messages_sent == (int64_t)((bytes + LIMIT - 1) / LIMIT);
    if (r == c->rank) self = mine[r].messages_sent == 0 && mine[r].messages_received == 0;
  }
  comm_alltoall(c, mine, sizeof *mine, other);
  for (int r = 0; r < c->size; r++)
    good &= other[r].bytes_sent == mine[r].bytes_received && other[r].messages_sent == mine[r].messages_received;
  check(c, good && self, "each piece that was sent stands in the ledgers of both ranks, and nothing else");
  struct ledger_sum sum = ledger_sum(c->ledger, PHASE_walk);
  int64_t all[] = {sum.peers.bytes_sent, -sum.peers.bytes_received, sum.peers.messages_sent, -sum.peers.messages_received};
  comm_sum_int64(c, all, 4);
  check(c, all[0] + all[1] == 0 && all[2] + all[3] == 0, "what all have sent is what all have received");
  int64_t sizes = (int64_t)sizeof(size_t) * c->size;
  check(c, sum.collectives.messages_sent == 1 && sum.collectives.bytes_sent == sizes && sum.collectives.bytes_received == sizes,
        "the exchange of sizes is one collective");
  check(c, ledger_sum(c->ledger, PHASE_output).collectives.messages_sent > 0 && ledger_sum(c->ledger, PHASE_build).collectives.messages_sent == 0,
        "entries go to the phase that is on");
  ledger_hidden(c->ledger, 0.25);
  good = ledger_sum(c->ledger, PHASE_output).hidden == 0.25;
  ledger_reset(c->ledger);
  for (int p = 0; p < PHASE_COUNT; p++) {
    struct ledger_sum none = ledger_sum(c->ledger, (enum phase)p);
    good &= none.collectives.messages_sent == 0 && none.peers.bytes_sent == 0 && none.peers.waited == 0 && none.hidden == 0;
  }
  check(c, good, "the reset ledger is empty");
  memory_free(mine);
}

static double cpu_seconds(void)
{
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* All ranks wait for a late rank, and leave the core to other processes meanwhile. */
static void check_wait(const struct comm *c)
{
  enum { LATE_MS = 500 };
  struct timespec late = {0, LATE_MS * 1000000L};
  int from = (c->rank + c->size - 1) % c->size, to = (c->rank + 1) % c->size, word = c->rank, got = -1;
  comm_barrier(c);
  ledger_reset(c->ledger);
  ledger_phase(c->ledger, PHASE_walk);
  if (c->rank == 0) nanosleep(&late, NULL);
  double cpu = cpu_seconds();
  comm_shift(c, &word, to, &got, from, sizeof word);
  comm_barrier(c);
  cpu = cpu_seconds() - cpu;
  double for_peer = ledger_entry(c->ledger, PHASE_walk, from).waited, for_all = ledger_entry(c->ledger, PHASE_walk, LEDGER_ALL).waited;
  /* others than the late rank's neighbour have their messages and wait for all */
  double waited = c->rank == 0 ? LATE_MS * 1e-3 : c->rank == 1 ? for_peer : for_peer + for_all;
  check(c, got == from && waited > 0.5e-3 * LATE_MS, "the ledger has the waiting time of each rank and peer");
  check(c, cpu < 0.5e-3 * LATE_MS, "a waiting rank uses little processor time");
}

/* With ESPALIER_CLOCK=cpu phases are counted in processor time, of which waiting took none. */
static void check_computing(const struct comm *c)
{
  struct timer t = {.ledger = c->ledger};
  ledger_reset(c->ledger);
  timer_reset(&t);
  timer_phase(&t, PHASE_walk);
  for (double begin = cpu_seconds(); cpu_seconds() - begin < 0.02;) continue;
  ledger_waited(c->ledger, LEDGER_ALL, 100);
  timer_phase(&t, PHASE_other);
  check(c, timer_computing(&t) >= 0.02, "seconds of waiting are not taken off seconds of the processor");
  ledger_reset(c->ledger);
  double clock = timer_clock(), before = timer_processor(1);
  nanosleep(&(struct timespec){0, 50000000}, NULL);
  double asleep = timer_processor(1) - before;
  clock = timer_clock() - clock;
  before = timer_processor(4);   /* of four threads, of which one works */
  for (double begin = cpu_seconds(); cpu_seconds() - begin < 0.02;) continue;
  double worked = timer_processor(4) - before;
  check(c, clock >= 0.05 && asleep < 0.5 * clock && worked > 0.015, "seconds of the processor: without sleep, and of the thread that works most");
}

/* A message that goes round, again and again: each rank's turn comes only when it is awake. */
static void check_ring(const struct comm *c)
{
  enum { ROUNDS = 20 };
  int64_t sum = c->rank, x = c->rank;
  for (int k = 1; k < ROUNDS * c->size && c->size > 1; k++) {
    int64_t next;
    comm_shift(c, &x, (c->rank + 1) % c->size, &next, (c->rank + c->size - 1) % c->size, sizeof x);
    x = next;
    sum += x;
  }
  check(c, c->size == 1 || sum == (int64_t)ROUNDS * c->size * (c->size - 1) / 2, "messages in a ring");
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
  check(&c, memory_current() == 0, "all memory is given back");
  int failed = c.rank == 0 ? tap_end() : 0;
  comm_close(&c);
  MPI_Finalize();
  return failed;
}
