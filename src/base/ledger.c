/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "base/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

enum { NOT_RANKS = 2 }; /* the entries of LEDGER_ALL and LEDGER_SEVERAL precede those of the ranks */

struct ledger {
  int ranks;
  enum phase now;
  struct ledger_entry *phase[PHASE_COUNT]; /* [NOT_RANKS + ranks]; NULL: no entry yet */
  double hidden[PHASE_COUNT];
  struct direct {
    int64_t bytes, messages;
    double seconds;
  } direct[PHASE_COUNT]; /* messages from device to device */
};

/* Not labelled memory: a ledger lives as long as its communicator, which ends after the check for blocks that were not
 * freed. */
static void *zeroed(size_t count, size_t bytes)
{
  void *block = calloc(count, bytes);
  if (!block) fatal("out of memory: %zu bytes for the ledger of messages", count * bytes);
  return block;
}

struct ledger *ledger_open(int ranks)
{
  struct ledger *l = zeroed(1, sizeof *l);
  l->ranks = ranks;
  l->now = PHASE_other;
  return l;
}

void ledger_close(struct ledger *ledger)
{
  for (int p = 0; p < PHASE_COUNT; p++) free(ledger->phase[p]);
  free(ledger);
}

void ledger_reset(struct ledger *ledger)
{
  for (int p = 0; p < PHASE_COUNT; p++)
    if (ledger->phase[p]) memset(ledger->phase[p], 0, sizeof *ledger->phase[p] * (size_t)(NOT_RANKS + ledger->ranks));
  memset(ledger->hidden, 0, sizeof ledger->hidden);
  memset(ledger->direct, 0, sizeof ledger->direct);
}

void ledger_phase(struct ledger *ledger, enum phase phase) { ledger->now = phase; }
enum phase ledger_now(const struct ledger *ledger) { return ledger->now; }

static struct ledger_entry *entry(struct ledger *ledger, int peer)
{
  if (!ledger->phase[ledger->now])
    ledger->phase[ledger->now] = zeroed((size_t)(NOT_RANKS + ledger->ranks), sizeof **ledger->phase);
  return ledger->phase[ledger->now] + NOT_RANKS + peer;
}

void ledger_sent(struct ledger *ledger, int peer, size_t bytes)
{
  struct ledger_entry *e = entry(ledger, peer);
  e->bytes_sent += (int64_t)bytes;
  e->messages_sent++;
}

void ledger_received(struct ledger *ledger, int peer, size_t bytes)
{
  struct ledger_entry *e = entry(ledger, peer);
  e->bytes_received += (int64_t)bytes;
  e->messages_received++;
}

void ledger_waited(struct ledger *ledger, int peer, double seconds) { entry(ledger, peer)->waited += seconds; }
void ledger_hidden(struct ledger *ledger, double seconds) { ledger->hidden[ledger->now] += seconds; }

void ledger_direct(struct ledger *ledger, size_t bytes, double seconds)
{
  struct direct *d = &ledger->direct[ledger->now];
  d->bytes += (int64_t)bytes;
  d->messages += bytes > 0;
  d->seconds += seconds;
}

struct ledger_entry ledger_entry(const struct ledger *ledger, enum phase phase, int peer)
{
  return ledger->phase[phase] ? ledger->phase[phase][NOT_RANKS + peer] : (struct ledger_entry){0};
}

struct ledger_sum ledger_sum(const struct ledger *ledger, enum phase phase)
{
  struct ledger_sum sum = {.hidden = ledger->hidden[phase], .collectives = ledger_entry(ledger, phase, LEDGER_ALL)};
  const struct direct *d = &ledger->direct[phase];
  sum.direct_bytes = d->bytes;
  sum.direct_messages = d->messages;
  sum.direct_seconds = d->seconds;
  if (!ledger->phase[phase]) return sum;
  sum.peers.waited = ledger_entry(ledger, phase, LEDGER_SEVERAL).waited;
  for (int r = 0; r < ledger->ranks; r++) {
    const struct ledger_entry *e = &ledger->phase[phase][NOT_RANKS + r];
    sum.peers.bytes_sent += e->bytes_sent;
    sum.peers.messages_sent += e->messages_sent;
    sum.peers.bytes_received += e->bytes_received;
    sum.peers.messages_received += e->messages_received;
    sum.peers.waited += e->waited;
    sum.peers_sent += e->messages_sent > 0;
  }
  return sum;
}
