/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Test Anything Protocol, printed by rank 0 only. */
#ifndef TAP_H
#define TAP_H
#include <stdio.h>
#include <stdlib.h>
static int tap_done, tap_failed;
static inline void tap_ok(int ok, const char *what)
{
  printf("%s %d - %s\n", ok ? "ok" : "not ok", ++tap_done, what);
  tap_failed += !ok;
}
static inline void tap_skip(const char *what, const char *why)
{
  printf("ok %d - %s # SKIP %s\n", ++tap_done, what, why);
}
static inline int tap_end(void)
{
  printf("1..%d\n", tap_done);
  return tap_failed != 0;
}
#endif
