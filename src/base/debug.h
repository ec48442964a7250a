/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Debug switches, for tests and measurements: ESPALIER_DEBUG="NAME=NUMBER,..." in the environment, read once at the
 * start of the program. The names are in the table of debug.c. Forces change within their errors at most. */
#ifndef DEBUG_H
#define DEBUG_H
#include "base/fault.h"
#ifdef __cplusplus
extern "C" {
#endif

enum { DEBUG_NUMBERS = 3 }; /* largest number of values of a switch */

/* What debug_read accepts for a value, both ends included. */
struct debug_range {
  double smallest, largest;
  int whole; /* 1: no fractions */
};

struct debug_switch {
  const char *name;
  int numbers; /* values, separated by colons */
  struct debug_range range[DEBUG_NUMBERS];
  const char *meaning;
};
extern const struct debug_switch debug_table[];
extern const int debug_count;

/* Set switches from a list NAME=NUMBER[:NUMBER...],... (NULL or empty: none). 0, or -1 with the fault set where a name
 * is unknown or repeated, a value is out of its range, or the list is malformed; then none is set. Local. */
int debug_read(const char *list, struct fault *fault);
/* The first value of a switch; `otherwise` where it is not set. An unknown name is fatal. */
double debug_value(const char *name, double otherwise);
/* The values of a switch: out[DEBUG_NUMBERS]. Returns 1, or 0 where it is not set. */
int debug_values(const char *name, double *out);
/* Set the first value of a switch, or unset it (NAN). The range is not checked. For tests. */
void debug_set(const char *name, double value);

#ifdef __cplusplus
}
#endif
#endif
