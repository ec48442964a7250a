/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Units of stars whose steps the cores of the host end, while the kernel runs: the motion of a group of stars, or of a
 * pair that is followed, is a chain of operations that depend on each other, for which a core is faster than a thread
 * of the device. A warp of the kernel writes a unit into a slot in page-locked memory, and the number of its request
 * with that of the slot into a ring; a thread of the host that is idle waits for the next entry of the ring; the warp
 * waits until the slot has the number of its request, and reads the unit back. C and CUDA. */
#ifndef UNIT_MAIL_H
#define UNIT_MAIL_H
#include "gravity/unit_end.h"
#ifdef __cplusplus
extern "C" {
#endif

enum { UNIT_MAIL_RING = 1 << 15, UNIT_MAIL_SLOT_BITS = 20, UNIT_MAIL_BODY_BITS = 8 }; /* more entries than slots */

/* The environment without its last neighbours, and the unit without its last bodies, are not written. */
struct unit_mail_item {
  double from, to, r1; /* times of the step, and R1 of the unit */
  struct unit_field after;
  struct unit_environment environment;
  struct unit_end end;
  int64_t done; /* the last request that was served << UNIT_MAIL_BODY_BITS | bodies that the unit has now */
  struct unit unit;
};

/* In page-locked memory. An entry of the ring is request << UNIT_MAIL_SLOT_BITS | slot; requests count from 1. */
struct unit_mail {
  struct unit_rules rules;
  int64_t served; /* requests until now */
  int32_t slots;
  void (*serve)(struct unit_mail *mail); /* all that is in the ring; for where no host runs beside the kernel */
  int64_t ring[UNIT_MAIL_RING];
  struct unit_mail_item *item; /* [slots] */
};

/* Serve requests by all threads until ended(context), which thread 0 asks now and then, is true. */
void unit_mail_serve(struct unit_mail *mail, int (*ended)(void *context), void *context);
/* Serve the requests that are in the ring now. */
void unit_mail_serve_present(struct unit_mail *mail);
#ifdef __cplusplus
}
#endif
#endif
