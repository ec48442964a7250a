/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small traces for tests of replays. */
#ifndef TEST_TRACE_H
#define TEST_TRACE_H
#include <math.h>

#include "trace/events.h"

/* An event of the walk of soft step 1. posted: as in struct event. */
static inline struct event trace_event(int rank, int kind, int peer, int64_t bytes, double work, int64_t posted)
{
  return (struct event){.rank = rank,
                        .step = 1,
                        .phase = PHASE_walk,
                        .kind = kind,
                        .peer = peer,
                        .tag = 7,
                        .bytes = bytes,
                        .work = work,
                        .posted = posted};
}

static inline int near(double a, double b) { return fabs(a - b) < 1e-12 * (1 + fabs(b)); }
#endif
