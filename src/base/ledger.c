/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "base/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

enum { NOT_RANKS = 2 };   /* the entries of LEDGER_ALL and LEDGER_SEVERAL precede those of the ranks */

struct ledger {
  int ranks;
  enum phase now;
  struct ledger_entry *phase[PHASE_COUNT];   /* [NOT_RANKS + ranks]; NULL: no entry yet */
  double hidden[PHASE_COUNT];
  struct direct {
    int64_t bytes, messages;
    double seconds;
  } direct[PHASE_COUNT];                     /* messages from device to device */
};

/* Not labelled memory: a ledger lives as long as its communicator, which ends after the check for blocks that were not freed. */
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

void ledger_close(struct ledger *l)
{
  for (int p = 0; p < PHASE_COUNT; p++) free(l->phase[p]);
  free(l);
}

void ledger_reset(struct ledger *l)
{
  for (int p = 0; p < PHASE_COUNT; p++)
    if (l->phase[p]) memset(l->phase[p], 0, sizeof *l->phase[p] * (size_t)(NOT_RANKS + l->ranks));
  memset(l->hidden, 0, sizeof l->hidden);
  memset(l->direct, 0, sizeof l->direct);
}

void ledger_phase(struct ledger *l, enum phase phase) { l->now = phase; }
enum phase ledger_now(const struct ledger *l) { return l->now; }

static struct ledger_entry *entry(struct ledger *l, int peer)
{
  if (!l->phase[l->now]) l->phase[l->now] = zeroed((size_t)(NOT_RANKS + l->ranks), sizeof **l->phase);
  return l->phase[l->now] + NOT_RANKS + peer;
}

void ledger_sent(struct ledger *l, int peer, size_t bytes)
{
  struct ledger_entry *e = entry(l, peer);
  e->bytes_sent += (int64_t)bytes;
  e->messages_sent++;
}

void ledger_received(struct ledger *l, int peer, size_t bytes)
{
  struct ledger_entry *e = entry(l, peer);
  e->bytes_received += (int64_t)bytes;
  e->messages_received++;
}

void ledger_waited(struct ledger *l, int peer, double seconds) { entry(l, peer)->waited += seconds; }
void ledger_hidden(struct ledger *l, double seconds) { l->hidden[l->now] += seconds; }

void ledger_direct(struct ledger *l, size_t bytes, double seconds)
{
  struct direct *d = &l->direct[l->now];
  d->bytes += (int64_t)bytes;
  d->messages += bytes > 0;
  d->seconds += seconds;
}

struct ledger_entry ledger_entry(const struct ledger *l, enum phase phase, int peer)
{
  return l->phase[phase] ? l->phase[phase][NOT_RANKS + peer] : (struct ledger_entry){0};
}

struct ledger_sum ledger_sum(const struct ledger *l, enum phase phase)
{
  struct ledger_sum sum = {.hidden = l->hidden[phase], .collectives = ledger_entry(l, phase, LEDGER_ALL)};
  const struct direct *d = &l->direct[phase];
  sum.direct_bytes = d->bytes, sum.direct_messages = d->messages, sum.direct_seconds = d->seconds;
  if (!l->phase[phase]) return sum;
  sum.peers.waited = ledger_entry(l, phase, LEDGER_SEVERAL).waited;
  for (int r = 0; r < l->ranks; r++) {
    const struct ledger_entry *e = &l->phase[phase][NOT_RANKS + r];
    sum.peers.bytes_sent += e->bytes_sent;
    sum.peers.messages_sent += e->messages_sent;
    sum.peers.bytes_received += e->bytes_received;
    sum.peers.messages_received += e->messages_received;
    sum.peers.waited += e->waited;
    sum.peers_sent += e->messages_sent > 0;
  }
  return sum;
}
