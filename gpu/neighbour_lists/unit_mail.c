/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "gpu/neighbour_lists/unit_mail.h"

#include <omp.h>
#include <sched.h>

enum { POLLS = 100, POLLS_BEFORE_YIELD = 20000 };

/* The slot of a request, or -1 where it is not in the ring yet. */
static int32_t slot_of(const struct unit_mail *mail, int64_t request)
{
  int64_t entry = __atomic_load_n(&mail->ring[request % UNIT_MAIL_RING], __ATOMIC_ACQUIRE);
  return entry >> UNIT_MAIL_SLOT_BITS == request ? (int32_t)(entry & ((1 << UNIT_MAIL_SLOT_BITS) - 1)) : -1;
}

static void serve(struct unit_mail *mail, int64_t request, int32_t slot)
{
  struct unit_mail_item *item = &mail->item[slot];
  struct unit_step step = {item->from, item->to, item->r1, &item->environment, &item->after};
  item->end = unit_end_step(&item->unit, &mail->rules, &step);
  __atomic_store_n(&item->done, request << UNIT_MAIL_BODY_BITS | item->unit.bodies, __ATOMIC_RELEASE);
}

/* Take the next request: it is in the ring, so no request waits for a thread that does not run now, and none is
 * overwritten in the ring. Returns the slot; -1: there will be no request any more. */
static int32_t take(struct unit_mail *mail, int64_t *taken, int64_t *request, int *stop, int (*ended)(void *),
                    void *context)
{
  for (int64_t poll = 1;; poll++) {
    int64_t last = __atomic_load_n(taken, __ATOMIC_RELAXED);
    int32_t slot = slot_of(mail, *request = last + 1);
    if (slot >= 0 && __atomic_compare_exchange_n(taken, &last, *request, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      return slot;
    if (slot >= 0) continue;
    if (omp_get_thread_num() == 0 && poll % POLLS == 0 && ended(context)) __atomic_store_n(stop, 1, __ATOMIC_RELEASE);
    if (__atomic_load_n(stop, __ATOMIC_ACQUIRE)) return -1;
    if (poll > POLLS_BEFORE_YIELD) sched_yield();
  }
}

void unit_mail_serve(struct unit_mail *mail, int (*ended)(void *context), void *context)
{
  int64_t taken = mail->served;
  int stop = 0;
#pragma omp parallel
  for (;;) {
    int64_t request;
    int32_t slot = take(mail, &taken, &request, &stop, ended, context);
    if (slot < 0) break;
    serve(mail, request, slot);
    __atomic_add_fetch(&mail->served, 1, __ATOMIC_RELAXED);
  }
}

void unit_mail_serve_present(struct unit_mail *mail)
{
  for (int32_t slot; (slot = slot_of(mail, mail->served + 1)) >= 0; mail->served++) serve(mail, mail->served + 1, slot);
}
