/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The communication events of a soft step of virtual ranks: the exchange of hard LETs, an update of all their entries,
 * the exchange of soft LETs, with nominal work between them. */
#ifndef VIRTUAL_TRACE_H
#define VIRTUAL_TRACE_H
#include "study/virtual.h"
#include "trace/report.h"

/* Make the events of a soft step on rank 0 of `comm`. `rows`: [ranks], as counted; `messages`: those of this process;
 * soft: request of the synchronisation. t is filled on rank 0 only (owner: caller, events_close). Collective. */
void virtual_events(const struct comm *comm, int ranks, const struct virtual_rank *rows,
                    const struct virtual_messages *messages, const struct let_request *soft, struct events *events);
/* The same, written to the outputs. Collective. 0, or -1 with a fault on all ranks. */
int virtual_trace(const struct comm *comm, int ranks, const struct virtual_rank *rows,
                  const struct virtual_messages *messages, const struct let_request *soft,
                  const struct trace_outputs *outputs, struct fault *fault);
#endif
