/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Units of stars with long orbital motion within a step of their centre are advanced by the cores of the host, while
 * the kernel waits: a group of stars is a chain of operations that depend on each other, for which a core is faster
 * than a thread of the device. The kernel writes them into page-locked memory, and reads them back. C and
 * CUDA. */
#ifndef UNIT_MAIL_H
#define UNIT_MAIL_H
#include "gravity/unit_motion.h"
#ifdef __cplusplus
extern "C" {
#endif

enum { UNIT_MAIL_ITEMS = 4096 };

struct unit_mail_item {
  struct unit unit;
  struct unit_environment environment;
  double from, to; /* times of the step */
  int failed;      /* as unit_advance */
};

/* In page-locked memory. request: number of the last one of the kernel, done: of the last one that was served. */
struct unit_mail {
  int32_t request, done, count;
  void (*serve)(struct unit_mail *mail);
  struct unit_mail_item item[UNIT_MAIL_ITEMS];
};

/* Advance the first `count` items, by all threads. */
void unit_mail_serve(struct unit_mail *mail);
#ifdef __cplusplus
}
#endif
#endif
