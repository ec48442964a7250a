/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ledger of messages: bytes and messages that this rank sent and received, and its waiting time, for each phase and
 * peer since the last reset. A message that is sent in pieces counts once for each piece. A collective counts once,
 * under the peer LEDGER_ALL: the bytes that this rank contributed as sent, those that it obtained as received.
 * Local. */
#ifndef LEDGER_H
#define LEDGER_H
#include <stddef.h>
#include <stdint.h>

#include "base/timer.h"

/* Peers that are not a single rank: all ranks (collectives); several ranks that are not distinguished (waiting
 * only). */
enum { LEDGER_ALL = -1, LEDGER_SEVERAL = -2 };

struct ledger_entry {
  int64_t bytes_sent, messages_sent, bytes_received, messages_received;
  double waited; /* seconds */
};

/* A phase, summed over peers. */
struct ledger_sum {
  struct ledger_entry peers, collectives; /* messages between two ranks; collectives */
  int peers_sent;                         /* number of ranks to which a message was sent */
  int64_t direct_bytes, direct_messages;  /* of those sent in `peers`, from device to device */
  double direct_seconds;                  /* transfer time of these */
  double hidden;                          /* seconds of transfer during which this rank did other work */
};

struct ledger;

/* Open the ledger of a communicator of `ranks` ranks. Owner: caller (ledger_close). Memory of a phase is allocated at
 * its first entry. */
struct ledger *ledger_open(int ranks);
void ledger_close(struct ledger *ledger);
/* Set all entries to zero. */
void ledger_reset(struct ledger *ledger);

/* Assign the following entries to `phase` (at first PHASE_other). */
void ledger_phase(struct ledger *ledger, enum phase phase);
/* The present phase. */
enum phase ledger_now(const struct ledger *ledger);
/* Enter one message of `bytes` bytes. `peer`: a rank or LEDGER_ALL. */
void ledger_sent(struct ledger *ledger, int peer, size_t bytes);
void ledger_received(struct ledger *ledger, int peer, size_t bytes);
/* Enter that `bytes` bytes of a message passed to ledger_sent went from device to device (0: no message), and that
 * transfers of this kind took `seconds`. */
void ledger_direct(struct ledger *ledger, size_t bytes, double seconds);
/* Enter `seconds` of waiting without other work. `peer`: a rank, LEDGER_ALL or LEDGER_SEVERAL. */
void ledger_waited(struct ledger *ledger, int peer, double seconds);
/* Enter `seconds` of transfer during which this rank did other work. */
void ledger_hidden(struct ledger *ledger, double seconds);

/* Return the entry of a phase and peer, and the sums of a phase; zero where nothing was entered. */
struct ledger_entry ledger_entry(const struct ledger *ledger, enum phase phase, int peer);
struct ledger_sum ledger_sum(const struct ledger *ledger, enum phase phase);
#endif
