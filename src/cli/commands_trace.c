/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The study of a recording of communication events: espalier study trace. */
#include <config.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands_trace.h"

int take_trace_output(const struct command *self, const struct comm *comm, int argc, char **argv,
                      struct trace_outputs *outputs)
{
  const char *kind = optarg;
  if (optind >= argc || (argv[optind][0] == '-' && argv[optind][1]))
    return command_misused(
        self, comm,
        "option --trace: expected a kind and a name, as in --trace ti DIR, --trace goal FILE or --trace events "
        "DIR");
  if (trace_output(outputs, kind, argv[optind++]))
    return command_misused(self, comm, "option --trace: expected ti, goal or events, found '%s'", kind);
  return STATUS_OK;
}

/* Read "A:B" or "A". 0 or -1. */
static int take_steps(const char *text, int64_t *first, int64_t *last)
{
  char word[64];
  long long x[2];
  const char *colon = strchr(text, ':');
  snprintf(word, sizeof word, "%.*s", (int)(colon ? colon - text : (long)strlen(text)), text);
  if (command_whole(word, 0, INT64_MAX, &x[0])) return -1;
  x[1] = x[0];
  if (colon && command_whole(colon + 1, x[0], INT64_MAX, &x[1])) return -1;
  *first = x[0];
  *last = x[1];
  return 0;
}

static int take_number(const struct command *self, const struct comm *comm, const char *option, const char *text,
                       double *x)
{
  if (command_real(text, x) == 0 && *x >= 0) return STATUS_OK;
  return command_misused(self, comm, "option --%s: expected a number from 0 on, found '%s'", option, text);
}

int act_study_trace(const struct command *self, const struct comm *comm, int argc, char **argv)
{
  enum { TRACE = 256, STEPS, LATENCY, BANDWIDTH, OVERHEAD, SPEED, TOPOLOGY };
  static const struct option longs[] = {
      {"trace", required_argument, NULL, TRACE},       {"steps", required_argument, NULL, STEPS},
      {"latency", required_argument, NULL, LATENCY},   {"bandwidth", required_argument, NULL, BANDWIDTH},
      {"overhead", required_argument, NULL, OVERHEAD}, {"speed", required_argument, NULL, SPEED},
      {"topology", required_argument, NULL, TOPOLOGY}, COMMAND_LONG};
  struct network n = {.latency = 1e-6, .bandwidth = 1e10, .overhead = 0, .speed = 1};
  struct trace_outputs outputs = {NULL, NULL, NULL};
  const char *topology = "flat";
  struct fault f = {""};
  int64_t first = 0, last = -1;
  int status = STATUS_OK, option;
  while ((option = command_option(self, comm, argc, argv, COMMAND_SHORT, longs, &status)) != -1) {
    switch (option) {
    case COMMAND_DONE: return status;
    case TRACE: status = take_trace_output(self, comm, argc, argv, &outputs); break;
    case LATENCY: status = take_number(self, comm, "latency", optarg, &n.latency); break;
    case BANDWIDTH: status = take_number(self, comm, "bandwidth", optarg, &n.bandwidth); break;
    case OVERHEAD: status = take_number(self, comm, "overhead", optarg, &n.overhead); break;
    case SPEED:
      status = take_number(self, comm, "speed", optarg, &n.speed);
      if (status == STATUS_OK && n.speed == 0)
        status = command_misused(self, comm, "option --speed: expected a number above 0");
      break;
    case TOPOLOGY: topology = optarg; break;
    case STEPS:
      if (take_steps(optarg, &first, &last))
        status = command_misused(self, comm, "option --steps: expected soft steps FIRST:LAST, found '%s'", optarg);
    }
    if (status != STATUS_OK) return status;
  }
  if (network_read(&n, topology, &f)) return command_misused(self, comm, "option --%s", f.text);
  const char *folder = command_operand(self, comm, argc, argv, "folder of a recording", &status);
  if (!folder) return status;
  if (comm->rank == 0) trace_study(folder, first, last, n, &outputs, &f);
  return comm_verdict(comm, &f) ? command_failed(comm, &f) : STATUS_OK;
}
