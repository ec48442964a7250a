/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "trace/report.h"

#include <string.h>

#include "trace/efficiency.h"
#include "trace/simulators.h"

int trace_output(struct trace_outputs *outputs, const char *kind, const char *path)
{
  if (strcmp(kind, "ti") == 0) outputs->ti = path;
  else if (strcmp(kind, "goal") == 0) outputs->goal = path;
  else if (strcmp(kind, "events") == 0) outputs->events = path;
  else return -1;
  return 0;
}

int trace_write(const struct events *events, const struct trace_outputs *outputs, struct fault *fault)
{
  if (outputs->ti && trace_write_ti(events, outputs->ti, fault)) return -1;
  if (outputs->goal && trace_write_goal(events, outputs->goal, fault)) return -1;
  return outputs->events ? events_write(events, outputs->events, fault) : 0;
}

int trace_report(FILE *out, const struct events *events, const struct network *network, struct fault *fault)
{
  struct network free_of_cost = {.speed = network->speed};
  struct replay real, ideal;
  if (replay(events, network, &real, NULL, fault) || replay(events, &free_of_cost, &ideal, NULL, fault)) return -1;
  fprintf(out, "%d rank%s, %lld events: %lld messages with %.6g MB, %lld collectives\n", events->ranks,
          plural(events->ranks), (long long)events_count(events), (long long)real.messages, (double)real.bytes / 1e6,
          (long long)real.collectives);
  fprintf(out, "network: latency %.4g s, overhead %.4g s, bandwidth %.4g bytes/s\n", network_mean_latency(network),
          network->overhead, network->bandwidth);
  fprintf(out,
          "seconds: %.9g on it, %.9g where messages take no time; work of a rank %.9g (mean), %.9g (maximum); waiting "
          "%.9g, %.9g\n",
          real.seconds, ideal.seconds, real.work_mean, real.work_max, real.wait_mean, real.wait_max);
  struct efficiency e = efficiency_of(real.work_mean, real.work_max, real.seconds, ideal.seconds);
  char text[EFFICIENCY_TEXT];
  fprintf(out,
          "parallel efficiency %.4f = load balance %.4f x communication %.4f (= serialisation %.4f x transfer %.4f);\n"
          "  %s\n",
          e.parallel, e.load_balance, e.communication, e.serialisation, e.transfer, efficiency_lowest(&e, text));
  fprintf(out, "%-12s %12s %12s %14s %18s\n", "phase", "work", "waiting", "critical work", "critical transfer");
  for (int p = 0; p < PHASE_COUNT; p++) {
    const struct replay_phase *q = &real.phase[p];
    if (q->work + q->wait + q->critical_work + q->critical_transfer > 0)
      fprintf(out, "%-12s %12.6g %12.6g %14.6g %18.6g\n", phase_names[p], q->work, q->wait, q->critical_work,
              q->critical_transfer);
  }
  return 0;
}

int trace_study(const char *folder, int64_t first, int64_t last, struct network network,
                const struct trace_outputs *outputs, struct fault *fault)
{
  struct events t;
  if (events_read(&t, folder, fault)) return -1;
  if (last >= 0) events_keep_steps(&t, first, last, fault);
  if (!fault->text[0]) network_place(&network, t.ranks, fault);
  if (!fault->text[0] && trace_report(stdout, &t, &network, fault) == 0) trace_write(&t, outputs, fault);
  events_close(&t);
  return fault->text[0] ? -1 : 0;
}
