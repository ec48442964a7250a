/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Traces for network simulators. doc/file-formats.md describes the files. Not collective. Functions return 0, or -1
 * with a fault. */
#ifndef TRACE_SIMULATORS_H
#define TRACE_SIMULATORS_H
#include "trace/events.h"

/* Write time-independent traces of SimGrid (version 3.32) to the folder, which is made if it does not exist: ti.txt
 * with the names of the files of all ranks, as smpirun -replay takes it, relative to the present folder as `folder` is.
 * A second of work is 1e9 flops, so hosts must have 1 Gf. */
int trace_write_ti(const struct events *events, const char *folder, struct fault *fault);
/* Write the text form of GOAL for LogGOPSim (txt2bin makes its input of it). Work is in nanoseconds. Collectives are
 * messages: GOAL has none. */
int trace_write_goal(const struct events *events, const char *path, struct fault *fault);
#endif
