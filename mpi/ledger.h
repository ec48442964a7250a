/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ledger of messages: what this rank sent and received and how long it waited, by phase and peer, since the last
 * reset. A message that is cut counts as its pieces. A collective is entered once under the peer LEDGER_ALL, with the
 * bytes that this rank handed in as sent and those that it got out as received. Local. */
#ifndef LEDGER_H
#define LEDGER_H
#include <stddef.h>
#include <stdint.h>

#include "timer.h"

/* Instead of a rank: all of them (collectives); several that are not told apart (waiting only). */
enum { LEDGER_ALL = -1, LEDGER_SEVERAL = -2 };

struct ledger_entry {
  int64_t bytes_sent, messages_sent, bytes_received, messages_received;
  double waited;   /* seconds */
};

/* A phase, over all peers. */
struct ledger_sum {
  struct ledger_entry peers, collectives;   /* messages between two ranks; collectives */
  int peers_sent;                           /* ranks to which something was sent */
  int64_t direct_bytes, direct_messages;    /* of those that were sent to ranks: from device to device; */
  double direct_seconds;                    /* how long these were on their way */
  double hidden;                            /* seconds */
};

struct ledger;

/* Owner: caller (ledger_close). A phase takes memory from its first entry on. */
struct ledger *ledger_open(int ranks);
void ledger_close(struct ledger *l);
void ledger_reset(struct ledger *l);

/* Entries from now on belong to this phase (PHASE_other at first). */
void ledger_phase(struct ledger *l, enum phase phase);
/* One message. `peer` is a rank or LEDGER_ALL. */
void ledger_sent(struct ledger *l, int peer, size_t bytes);
void ledger_received(struct ledger *l, int peer, size_t bytes);
/* A message of so many bytes (0: none) that ledger_sent was told of went from device to device; such messages took so long. */
void ledger_direct(struct ledger *l, size_t bytes, double seconds);
/* Seconds without other work. `peer` may also be LEDGER_SEVERAL. */
void ledger_waited(struct ledger *l, int peer, double seconds);
/* Seconds in which messages travelled while this rank did other work. */
void ledger_hidden(struct ledger *l, double seconds);

/* All zero where nothing was entered. */
struct ledger_entry ledger_entry(const struct ledger *l, enum phase phase, int peer);
struct ledger_sum ledger_sum(const struct ledger *l, enum phase phase);
#endif
