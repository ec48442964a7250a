/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arrivals: LETs are attached to the forest, updates are applied. */
#ifndef LET_ARRIVE_H
#define LET_ARRIVE_H
#include "mpi/let/let_parts.h"

/* Returns 1 if a peer's LET is attached and valid at the tick of the call. */
int let_poll(struct lets *lets, struct let_call *call, int peer);
/* Poll once for all LETs of the forest and free messages that have been sent. */
enum poll_status let_poll_all(struct lets *lets, struct let_call *call);
/* Wait until all LETs of the call's kind are attached and valid at its tick. Returns the seconds waited. Local. */
double let_wait_for_all(struct lets *lets, struct let_call *call);
#endif
