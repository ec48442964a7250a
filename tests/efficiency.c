/* SPDX-License-Identifier: GPL-3.0-or-later */
/* POP's efficiencies of traces whose times are known: ranks that are equal, that differ, that work in turn, that wait
 * for the network; what the sentences about them say; where the time on an ideal network is not known. */
#include <config.h>
#include "trace/efficiency.h"

#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "trace.h"
#include "trace/report.h"

/* A rank works for `work` seconds, then sends 100 bytes to `peer`, receives them from it, or is in a barrier. */
static void add(struct events *events, int rank, enum event_kind kind, int peer, double work)
{
  events_add(events, trace_event(rank, kind, peer, kind == EVENT_barrier ? 0 : 100, work, -1));
}

/* The efficiencies of a trace by two replays have these factors; the report has their sentence. Closes the trace. */
static void has(struct events *events, const struct network *network, const double want[3], const char *sentence,
                const char *what)
{
  struct network ideal_network = {.latency = 0};
  struct replay real, ideal;
  struct fault fault = {""};
  char text[EFFICIENCY_TEXT], *said = NULL;
  size_t size;
  FILE *out = open_memstream(&said, &size);
  int failed = replay(events, network, &real, NULL, &fault) || replay(events, &ideal_network, &ideal, NULL, &fault) ||
               trace_report(out, events, network, &fault);
  fclose(out);
  struct efficiency e = efficiency_of(real.work_mean, real.work_max, real.seconds, ideal.seconds);
  efficiency_lowest(&e, text);
  tap_ok(!failed && near(e.load_balance, want[0]) && near(e.serialisation, want[1]) && near(e.transfer, want[2]), what);
  tap_ok(near(e.communication, want[1] * want[2]) && near(e.parallel, want[0] * want[1] * want[2]),
         "the products of the factors");
  char line[200];
  snprintf(line, sizeof line,
           "parallel efficiency %.4f = load balance %.4f x communication %.4f (= serialisation %.4f x transfer %.4f);",
           e.parallel, want[0], e.communication, want[1], want[2]);
  tap_ok(strstr(text, sentence) && strstr(said, line) && strstr(said, text),
         "the sentence, and the report of the trace");
  if (!strstr(text, sentence)) printf("# %s\n", text);
  free(said);
  events_close(events);
}

static void check_traces(void)
{
  struct events t;
  struct network none = {.latency = 0}, slow = {.latency = 0.25, .bandwidth = 100};
  events_open(&t, 2);
  for (int r = 0; r < 2; r++) add(&t, r, EVENT_barrier, -1, 2);
  has(&t, &none, (double[]){1, 1, 1}, "no factor is low", "two ranks with equal work: all factors are 1");
  events_open(&t, 3);
  for (int r = 0; r < 3; r++) add(&t, r, EVENT_barrier, -1, 1 + r);
  has(&t, &none, (double[]){2.0 / 3, 1, 1}, "the load balance: a mean rank computes 67 % of",
      "work of 1, 2 and 3 s: load balance 2/3");
  events_open(&t, 2);
  for (int turn = 0; turn < 4; turn++) {
    add(&t, turn % 2, EVENT_send, 1 - turn % 2, 1);
    add(&t, 1 - turn % 2, EVENT_receive, turn % 2, 0);
  }
  has(&t, &none, (double[]){1, 0.5, 1}, "serialisation: where messages take no time the busiest rank waits 50 % of",
      "two ranks that work in turn: serialisation 1/2");
  events_open(&t, 2);
  for (int r = 0; r < 2; r++) add(&t, r, EVENT_send, 1 - r, 1);
  for (int r = 0; r < 2; r++) add(&t, r, EVENT_receive, 1 - r, 0);
  has(&t, &slow, (double[]){1, 1, 1 / 2.25}, "transfer: latency and bandwidth of the network take 56 % of",
      "a second of work, then a message of 1.25 s: transfer 1/2.25");
  events_open(&t, 2);
  add(&t, 0, EVENT_send, 1, 1);
  add(&t, 1, EVENT_receive, 0, 0);
  add(&t, 1, EVENT_barrier, -1, 3);
  add(&t, 0, EVENT_barrier, -1, 0);
  has(&t, &(struct network){.bandwidth = 100}, (double[]){2.0 / 3, 0.75, 0.8}, "the load balance",
      "a rank that waits for a message before its longer work: three factors");
}

static void check_unknown(void)
{
  char text[EFFICIENCY_TEXT];
  struct efficiency e = efficiency_of(3, 4, 8, -1);
  tap_ok(near(e.load_balance, 0.75) && near(e.communication, 0.5) && near(e.parallel, 0.375) && e.serialisation == 0 &&
             e.transfer == 0,
         "without a time on an ideal network: two factors");
  tap_ok(strstr(efficiency_lowest(&e, text), "the communication efficiency: the busiest rank waits 50 % of the time"),
         "... and the sentence about the lower one");
  e = efficiency_of(0, 0, 0, 0);
  tap_ok(e.load_balance == 1 && e.communication == 1 && e.serialisation == 1 && e.transfer == 1 && e.parallel == 1,
         "an interval without seconds");
}

int main(void)
{
  check_traces();
  check_unknown();
  return tap_end();
}
