/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Communication events: files are read as they were written, bad ones are named; replays of small traces whose times
 * are known. */
#include <config.h>
#include "trace/replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"
#include "trace.h"
#include "trace/simulators.h"

static char folder[] = "replay-XXXXXX";

/* Replay; seconds, or NAN with the fault printed. */
static double seconds(const struct events *events, struct network network, struct replay *replay_, double *end)
{
  struct fault f = {""};
  if (replay(events, &network, replay_, end, &f) == 0) return replay_->seconds;
  printf("# %s\n", f.text);
  return (double)NAN;
}

/* Two ranks: work 1 s, a message of 100 bytes; work 2 s of the receiver before it waits. */
static void check_message(void)
{
  struct events t;
  struct replay r;
  double end[2];
  events_open(&t, 2);
  events_add(&t, trace_event(0, EVENT_send, 1, 100, 1, -1));
  events_add(&t, trace_event(1, EVENT_receive, 0, 100, 0.5, 0));
  struct network n = {.latency = 0.25, .bandwidth = 100};
  tap_ok(near(seconds(&t, n, &r, end), 2.25) && near(end[0], 1),
         "a message: work, latency and bytes over the bandwidth");
  tap_ok(near(r.wait_max, 1.75) && near(r.work_max, 1) && r.messages == 1 && r.bytes == 100,
         "waiting, work, messages and bytes of it");
  tap_ok(near(r.phase[PHASE_walk].critical_work, 1) && near(r.phase[PHASE_walk].critical_transfer, 1.25),
         "the critical path: the sender's work and the transfer");
  t.rank[1].event[0].work = 5;
  tap_ok(near(seconds(&t, n, &r, end), 5) && r.wait_max == 0, "a message that has arrived is not waited for");
  n.overhead = 0.5;
  n.speed = 2;
  tap_ok(near(seconds(&t, n, &r, end), 3) && near(end[0], 1), "overheads, and a processor that is twice as fast");
  events_close(&t);
}

/* Links: two messages of a rank leave one after the other; two to a rank arrive one after the other. */
static void check_links(void)
{
  struct events t;
  struct replay r;
  struct network n = {.latency = 0.25, .bandwidth = 100};
  events_open(&t, 3);
  for (int p = 1; p < 3; p++) {
    events_add(&t, trace_event(0, EVENT_send, p, 100, 0, -1));
    events_add(&t, trace_event(p, EVENT_receive, 0, 100, 0, -1));
  }
  tap_ok(near(seconds(&t, n, &r, NULL), 2.25), "two messages leave a rank one after the other");
  events_close(&t);
  events_open(&t, 3);
  for (int p = 1; p < 3; p++) events_add(&t, trace_event(p, EVENT_send, 0, 100, 0, -1));
  for (int p = 1; p < 3; p++) events_add(&t, trace_event(0, EVENT_receive, p, 100, 0, -1));
  tap_ok(near(seconds(&t, n, &r, NULL), 2.25), "two messages arrive at a rank one after the other");
  events_close(&t);
}

/* Seconds of messages of 100 bytes over links of 100 bytes a second and a latency of 0.25 s: from[k] to to[k], sent
 * after work[k]. */
static double on(const char *network, int messages, const int *from, const int *to, const double *work)
{
  struct events t;
  struct replay r;
  struct network n = {.latency = 0.25, .bandwidth = 100};
  struct fault f = {""};
  events_open(&t, 8);
  for (int k = 0; k < messages; k++) events_add(&t, trace_event(from[k], EVENT_send, to[k], 100, work[k], -1));
  for (int k = 0; k < messages; k++) events_add(&t, trace_event(to[k], EVENT_receive, from[k], 100, 0, -1));
  double s = network_read(&n, network, &f) || network_place(&n, 8, &f) ? (double)NAN : seconds(&t, n, &r, NULL);
  events_close(&t);
  return s;
}

/* Links of a torus of 8 ranks in a ring. */
static void check_torus_links(void)
{
  static const double none[3] = {0}, later[2] = {0, 0.125};
  tap_ok(near(on("torus:8,1,1", 2, (int[]){0, 0}, (int[]){1, 7}, none), 1.25),
         "torus: messages in two directions leave a rank at once");
  tap_ok(near(on("torus:2,2,2", 3, (int[]){0, 0, 0}, (int[]){1, 2, 4}, none), 1.25),
         "torus: messages in three dimensions leave a rank at once");
  tap_ok(near(on("torus:8,1,1:1", 2, (int[]){0, 0}, (int[]){1, 7}, none), 2.25),
         "torus: with one port they leave one after the other");
  tap_ok(near(on("torus:2,2,2:2", 3, (int[]){0, 0, 0}, (int[]){1, 2, 4}, none), 2.25),
         "torus: with two ports the third message waits");
  tap_ok(near(on("torus:8,1,1", 2, (int[]){0, 0}, (int[]){1, 2}, none), 2.5),
         "torus: messages in the same direction leave one after the other");
  tap_ok(near(on("torus:8,1,1", 2, (int[]){1, 7}, (int[]){0, 0}, none), 1.25),
         "torus: messages from two directions arrive at a rank at once");
  tap_ok(near(on("torus:8,1,1:1", 2, (int[]){1, 7}, (int[]){0, 0}, none), 2.25),
         "torus: with one port they arrive one after the other");
  tap_ok(near(on("torus:8,1,1", 2, (int[]){0, 1}, (int[]){2, 2}, later), 2.5), "torus: a link on the way is shared");
  tap_ok(near(on("fat-tree:8", 2, (int[]){0, 0}, (int[]){1, 7}, none), 2.5), "fat tree: a rank has one link");
}

/* Every way leads to its end, by links of its own places, and is as long as network_hops says. */
static void check_ways(void)
{
  static const int sides[][3] = {{4, 4, 4}, {3, 5, 2}, {8, 1, 1}, {1, 2, 7}};
  int good = 1, read = 1;
  for (size_t t = 0; t < sizeof sides / sizeof *sides; t++) {
    struct network o = {.topology = TOPOLOGY_torus, .side = {sides[t][0], sides[t][1], sides[t][2]}};
    int places = sides[t][0] * sides[t][1] * sides[t][2], link[16],
        stride[3] = {1, sides[t][0], sides[t][0] * sides[t][1]};
    for (int pair = 0; pair < places * places; pair++) {
      int from = pair / places, at = from, count = network_way(&o, from, pair % places, link);
      good &= count == (at == pair % places ? 0 : network_hops(&o, from, pair % places) + 1);
      for (int k = 0; k < count; k++) {
        int axis = link[k] % 6 / 2, side = sides[t][axis], x = at / stride[axis] % side,
            next = (x + (link[k] % 2 ? side - 1 : 1)) % side;
        good &= link[k] / 6 == at && (k == 0 || axis >= link[k - 1] % 6 / 2);
        at += (next - x) * stride[axis];
      }
      good &= at == pair % places;
    }
  }
  tap_ok(good, "ways in a torus: the shorter way in x, then in y, then in z");
  static const struct {
    const char *text;
    int ports;
  } words[] = {{"torus:4,4,4", 6},
               {"torus:4,4,4:6", 6},
               {"torus:4,4,4:1", 1},
               {"fat-tree:8", 1},
               {"dragonfly:8", 1},
               {"dragonfly:0", -1},
               {"flat", 1},
               {"torus:4,4,4:0", -1},
               {"torus:4,4,4:7", -1},
               {"torus:4,4,4:", -1},
               {"torus:4,4,4:2x", -1},
               {"torus:4,4,4x", -1},
               {"torus:4,4", -1},
               {"fat-tree:8:1", -1},
               {"torus:100,100,1000", 6},
               {"torus:800,800,800", -1},
               {"torus:4294967300,4,4", -1},
               {"torus:4,4,4:4294967298", -1},
               {"fat-tree:4294967304", -1}};
  for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
    struct network o = {.latency = 1};
    struct fault f = {""};
    int failed = network_read(&o, words[k].text, &f);
    read &= words[k].ports < 0 ? failed && strstr(f.text, words[k].text)
                               : !failed && (o.ports > 1 ? o.ports : 1) == words[k].ports;
  }
  tap_ok(read, "topologies: links of a rank that carry its messages at once; tori that are too large, numbers that are "
               "too long");
}

/* The hops of pairs have the mean that collectives have; the sides of tori without any. */
static void check_places(void)
{
  static const struct {
    enum topology topology;
    int per_node, ranks, side[3], hops; /* hops: from the first to the last rank */
  } given[] = {{TOPOLOGY_torus, 1, 64, {4, 4, 4}, 2},       {TOPOLOGY_torus, 4, 140, {7, 5, 1}, 1},
               {TOPOLOGY_torus, 1, 300, {10, 6, 5}, 2},     {TOPOLOGY_torus, 1, 7, {7, 1, 1}, 0},
               {TOPOLOGY_fat_tree, 1, 32, {32, 0, 0}, 0},   {TOPOLOGY_fat_tree, 2, 2100, {32, 0, 0}, 4},
               {TOPOLOGY_dragonfly, 1, 2000, {32, 0, 0}, 2}};
  int sides = 1, means = 1;
  for (size_t k = 0; k < sizeof given / sizeof *given; k++) {
    struct network n = {.topology = given[k].topology, .ranks_per_node = given[k].per_node};
    struct fault f = {""};
    int nodes = (given[k].ranks + given[k].per_node - 1) / given[k].per_node;
    double sum = 0;
    sides &= network_place(&n, given[k].ranks, &f) == 0 && memcmp(n.side, given[k].side, sizeof n.side) == 0;
    for (int i = 1; i < nodes; i++) sum += network_hops(&n, 0, i);
    means &= near(n.mean_hops, sum / (nodes - 1)) && network_hops(&n, 0, nodes - 1) == given[k].hops;
  }
  tap_ok(sides, "a torus without sides has those of the most cubic factorisation of its nodes");
  tap_ok(means, "the mean of the hops between nodes: tori, fat trees, dragonflies");
  struct network n = {.topology = TOPOLOGY_torus, .side = {5, 4, 3}};
  struct fault f = {""};
  double sum = 0;
  for (int i = 1; i < 33; i++) sum += network_hops(&n, 0, i);
  tap_ok(network_place(&n, 33, &f) == 0 && near(n.mean_hops, sum / 32) && network_place(&n, 61, &f) &&
             strstr(f.text, "5 x 4 x 3 has no place for 61 ranks"),
         "a torus with sides may be filled in part, and not over its places");
}

/* A collective that waits, and one that a rank begins before it works. */
static void check_collectives(void)
{
  struct events t;
  struct replay r;
  struct network n = {.latency = 0.25, .bandwidth = 8};
  for (int ranks = 1; ranks < 8; ranks++) {
    double stages = ceil(log2(ranks));
    events_open(&t, ranks);
    for (int p = 0; p < ranks; p++) {
      struct event e = trace_event(p, EVENT_allreduce, -1, 8, p, -1);
      events_add(&t, e);
    }
    tap_ok(near(seconds(&t, n, &r, NULL), ranks - 1 + 0.25 * stages + fmin(stages, 2)) && r.collectives == 1,
           "a sum over ranks begins with the last of them");
    events_close(&t);
  }
  events_open(&t, 2);
  for (int p = 0; p < 2; p++) {
    events_add(&t, trace_event(p, p ? EVENT_receive : EVENT_send, 1 - p, 8, 1, -1)); /* rank 1 waits until 2.25 */
    struct event e = trace_event(p, EVENT_allreduce, -1, 8, 4, 0);
    events_add(&t, e);
  }
  tap_ok(near(seconds(&t, n, &r, NULL), 6.25) && near(r.wait_max, 1.25),
         "a sum that was begun before the work does not delay it");
  events_close(&t);
  tap_ok(near(network_collective(&n, EVENT_allgather, 4, 8), 0.5 + 3) &&
             near(network_collective(&n, EVENT_barrier, 5, 0), 0.75) &&
             near(network_collective(&n, EVENT_alltoall, 4, 8), 3 * 1.25 < 2 * 2.25 ? 3.75 : 4.5) &&
             network_collective(&n, EVENT_barrier, 1, 0) == 0,
         "seconds of other collectives");
  n = (struct network){.latency = 0.5, .bandwidth = 8, .ranks_per_node = 4, .node_latency = 0.25, .node_bandwidth = 16};
  tap_ok(near(network_collective(&n, EVENT_allreduce, 64, 8), 4 * 0.5 + 2 * 0.25 + 2 * 4) &&
             near(network_collective(&n, EVENT_exscan, 64, 8), 4 * 0.5 + 2 * 0.25 + 6 * 4) &&
             near(network_collective(&n, EVENT_allreduce, 2, 8), 0.25 + 0.5),
         "a long reduction sends its bytes twice, by the share of a rank in its node");
  n = (struct network){.latency = 1, .hop_latency = 1, .topology = TOPOLOGY_torus};
  struct fault f = {""};
  tap_ok(network_place(&n, 5, &f) == 0 && near(network_collective(&n, EVENT_allgather, 5, 0), 4) &&
             near(network_collective(&n, EVENT_barrier, 5, 0), 3 * 1.5),
         "an allgather goes around a ring of five where that is faster");
}

static void fails(const struct events *events, const char *fragment, const char *what)
{
  struct replay r;
  struct network n = {.latency = 1};
  struct fault f = {""};
  int failed = replay(events, &n, &r, NULL, &f);
  tap_ok(failed && strstr(f.text, fragment), what);
  if (!strstr(f.text, fragment)) printf("# %s\n", f.text);
}

static void check_faults(void)
{
  struct events t;
  events_open(&t, 2);
  events_add(&t, trace_event(0, EVENT_receive, 1, 10, 0, -1));
  fails(&t, "rank 0, event 0 receives a message with tag 7 that rank 1 does not send",
        "a message that is not sent is named");
  events_add(&t, trace_event(1, EVENT_send, 0, 11, 0, -1));
  fails(&t, "receives 10 bytes where rank 1, event 0 sends 11", "a message with other bytes is named");
  t.rank[1].event[0] = trace_event(1, EVENT_receive, 0, 10, 0, 0);
  events_add(&t, trace_event(1, EVENT_send, 0, 10, 0, -1));
  events_add(&t, trace_event(0, EVENT_send, 1, 10, 0, -1));
  fails(&t, "cannot be replayed: rank 0 waits in event 0 (receive)", "ranks that wait for each other are named");
  events_add(&t, trace_event(0, EVENT_barrier, -1, 0, 0, -1));
  fails(&t, "rank 1 has 0 collectives, rank 0 has 1", "a collective without all ranks is named");
  events_close(&t);
}

/* Events of `ranks` ranks in three steps: a ring and a barrier each. */
static void make_ring(struct events *events, int ranks)
{
  events_open(events, ranks);
  for (int step = 1; step <= 3; step++)
    for (int r = 0; r < ranks; r++) {
      struct event e = trace_event(r, EVENT_send, (r + 1) % ranks, 10 * step + r, 0.125 * r, -1);
      e.step = step;
      if (ranks > 1) events_add(events, e);
      e.kind = EVENT_receive;
      e.peer = (r + ranks - 1) % ranks;
      e.bytes = 10 * step + e.peer;
      e.work = 0.5;
      e.posted = events->rank[r].count - 1;
      if (ranks > 1) events_add(events, e);
      e.kind = EVENT_barrier;
      e.peer = -1;
      e.bytes = e.tag = 0;
      e.posted = -1;
      events_add(events, e);
    }
}

static int same(const struct events *a, const struct events *b)
{
  if (a->ranks != b->ranks) return 0;
  for (int r = 0; r < a->ranks; r++) {
    if (a->rank[r].count != b->rank[r].count) return 0;
    if (memcmp(a->rank[r].event, b->rank[r].event, sizeof(struct event) * (size_t)a->rank[r].count)) return 0;
  }
  return 1;
}

static void check_files(void)
{
  static const int counts[] = {1, 2, 3, 4, 7};
  struct fault f = {""};
  struct network n = {.latency = 0.1};
  struct replay all, some;
  int good = 1, cut = 1, traces = 1;
  for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
    struct events t, u;
    make_ring(&t, counts[k]);
    good &= events_write(&t, folder, &f) == 0 && events_read(&u, folder, &f) == 0 && same(&t, &u);
    traces &= trace_write_ti(&t, folder, &f) == 0;
    cut &= replay(&u, &n, &all, NULL, &f) == 0 && events_keep_steps(&u, 2, 2, &f) == 0 &&
           replay(&u, &n, &some, NULL, &f) == 0 && near(3 * some.seconds, all.seconds) && some.collectives == 1;
    events_close(&u);
    events_close(&t);
  }
  tap_ok(good, "recordings of 1, 2, 3, 4 and 7 ranks are read as they were written");
  tap_ok(cut, "a soft step of them takes a third of the time of three");
  tap_ok(traces, "time-independent traces of them are written");
  if (f.text[0]) printf("# %s\n", f.text);
}

/* Reading a rank's file with this text fails with a sentence that contains the fragment. */
static void bad_file(const char *text, const char *fragment)
{
  char path[256], what[256];
  struct events t;
  struct fault f = {""};
  event_path(path, sizeof path, folder, 0);
  FILE *out = fopen(path, "w");
  fputs(text, out);
  fclose(out);
  int failed = events_read(&t, folder, &f);
  snprintf(what, sizeof what, "a bad recording: %s", fragment);
  tap_ok(failed && strstr(f.text, fragment) && strstr(f.text, path), what);
  if (!strstr(f.text, fragment)) printf("# %s\n", f.text);
}

static void check_bad_files(void)
{
#define HEAD "espalier-trace,1,0,1\nseq,step,tick,phase,kind,peer,tag,bytes,work,posted\n"
  bad_file("", "expected two lines of head");
  bad_file("step,time\n", "line 1: expected espalier-trace,1,RANK,RANKS");
  bad_file("espalier-trace,2,0,1\n", "line 1: the format's version is 2");
  bad_file("espalier-trace,1,1,1\n", "expected a rank from 0 to ranks - 1");
  bad_file("espalier-trace,1,0,1\nseq\n", "line 2: expected the columns seq,step");
  bad_file(HEAD "0,1,0,walk,send,0,0,8,0\n", "line 3: posted");
  bad_file(HEAD "0,1,0,walk,shout,0,0,8,0,0\n", "line 3: kind: expected send, receive or a collective, found 'shout'");
  bad_file(HEAD "0,1,0,talk,send,0,0,8,0,0\n", "line 3: phase: found 'talk'");
  bad_file(HEAD "0,1,0,walk,send,-1,0,8,0,0\n", "line 3: peer: expected a rank");
  bad_file(HEAD "0,1,0,walk,send,5,0,8,0,0\n", "line 3: peer: there are 1 ranks, found 5");
  bad_file(HEAD "0,1,0,walk,send,0,0,-8,0,0\n", "line 3: bytes");
  bad_file(HEAD "0,1,0,walk,send,0,0,8,nan,0\n", "line 3: work");
  bad_file(HEAD "0,1,0,walk,barrier,-1,0,0,0,0\n2,1,0,walk,barrier,-1,0,0,0,0\n", "line 4: expected event 1, found 2");
  bad_file(HEAD "0,1,0,walk,barrier,-1,0,0,0,1\n", "line 3: posted");
  bad_file(HEAD "0,1,0,walk,barrier,-1,0,0,0,0,9\n", "line 3: expected seq,step");
}

int main(void)
{
  if (!mkdtemp(folder)) return 99;
  check_message();
  check_links();
  check_torus_links();
  check_ways();
  check_places();
  check_collectives();
  check_faults();
  check_files();
  check_bad_files();
  char command[64];
  snprintf(command, sizeof command, "rm -r '%s'", folder);
  if (system(command)) return 99;
  return tap_end();
}
