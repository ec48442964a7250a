/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a trace is written to, and its numbers on the terminal. Not collective. */
#ifndef TRACE_REPORT_H
#define TRACE_REPORT_H
#include "trace/replay.h"

/* Where a trace is written; NULL: not. */
struct trace_outputs {
  const char *ti, *goal, *events; /* folder, file, folder */
};

/* Set the output of a kind (ti, goal or events). 0; -1: there is no such kind. */
int trace_output(struct trace_outputs *outputs, const char *kind, const char *path);
/* Write them. 0, or -1 with a fault. */
int trace_write(const struct events *events, const struct trace_outputs *outputs, struct fault *fault);
/* Print the size of a trace, and its time by phase on a network and on one that costs nothing. 0, or -1 with a
 * fault. */
int trace_report(FILE *out, const struct events *events, const struct network *network, struct fault *fault);
/* Read a recording, keep its soft steps first to last (last negative: all), write it to the outputs, and print its
 * report. Its ranks are placed. 0, or -1 with a fault. */
int trace_study(const char *folder, int64_t first, int64_t last, struct network network,
                const struct trace_outputs *outputs, struct fault *fault);
#endif
