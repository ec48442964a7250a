/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "base/debug.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  LEVELS = 24, /* LEVEL_MAX of particles/timeline.h */
  INTERVALS = 1 << 20,
  PARTICLES = 1000000,
  STALL_SECONDS = 1000000 /* the kernel counts milliseconds in an int */
};

const struct debug_switch debug_table[] = {
    {"binaries_most",
     1,
     {{0, PARTICLES, 1}},
     "largest number of particles in which a run looks for binaries and for the bound ones (default: 1000000)"},
    {"check_load",
     1,
     {{1, 1e6, 0}},
     "seconds of the clock in one of the processor, which run --check assumes (default: as in the first forces)"},
    {"check_seconds",
     1,
     {{0, STALL_SECONDS, 0}},
     "run --check carries out the first soft step where it is predicted to take at most so many seconds, 0: never "
     "(default: 30)"},
    {"checkpoint_ticks",
     1,
     {{0, INTERVALS, 1}},
     "number of intervals that checkpoint ticks divide a soft step into, rounded down to a power of two, 0: one "
     "(default: by estimated seconds)"},
    {"fast_level",
     1,
     {{0, LEVELS, 1}},
     "GPUs, no split: particles of this block level and deeper have a tree of their own, 0: none (default: by cost)"},
    {"few_groups",
     1,
     {{0, 1000, 1}},
     "GPUs: where there are at most this many groups for each multiprocessor, all are cut into pieces (default: 80)"},
    {"few_pieces",
     1,
     {{0, 64, 1}},
     "GPUs: largest number of pieces of active targets on a multiprocessor that warp teams walk, 0: never (default: "
     "16)"},
    {"first_part",
     1,
     {{0, 1, 0}},
     "several GPUs: fraction of the particles that walk the local tree before LETs have arrived, 0 to 1 (default: 0)"},
    {"fof_round",
     1,
     {{1, 1e12, 1}},
     "records that a rank sends to other domains at once while it finds groups (default: as many as it has particles)"},
    {"host_units",
     1,
     {{-1, INT_MAX, 1}},
     "units of stars of a GPU: where fewer places than these are active, the host ends all their steps; -1: never "
     "(default: 1024)"},
    {"let_boxes",
     1,
     {{1, 512, 1}},
     "several ranks: most boxes of a rank for LETs of substeps with a split (default: 512; GPUs: 16 for each rank, 64 "
     "to 512)"},
    {"let_sparing",
     1,
     {{0, 1, 1}},
     "CPUs: LETs of substeps without cells that can be spared, 0: with all that the choice opens, as on GPUs (default: "
     "1)"},
    {"let_stages",
     1,
     {{2, INT_MAX, 1}},
     "LET summaries in stages from so many ranks on, with fewer in one allgather (default: 512)"},
    {"let_top",
     1,
     {{1, 32, 1}},
     "cells of a rank's tree in its LET summary, 1: the root alone, up to 32 (default: 32)"},
    {"machine_spread",
     1,
     {{1, 100, 0}},
     "study machine warns where soft steps of one kind differ by this factor (default: 1.5)"},
    {"most_bands",
     1,
     {{1, 6, 1}},
     "GPUs, no split, one rank: largest number of bands of block levels with trees of their own (default: 4)"},
    {"report_seconds",
     1,
     {{0, STALL_SECONDS, 0}},
     "seconds between lines about a soft step under way (default: 10 on a terminal, else 60)"},
    {"share",
     1,
     {{1, 32, 1}},
     "GPUs: threads of a target of a direct sum, a power of two up to 32 (default: by the number of targets)"},
    {"stall",
     3,
     {{0, INT_MAX, 1}, {1, INT_MAX, 1}, {0, STALL_SECONDS, 1}},
     "RANK:WALK:SECONDS, GPUs: that walk of that rank, counted from 1, takes so much longer (default: none)"},
    {"star_units",
     1,
     {{0, 3, 1}},
     "neighbour lists without softening: 0: pairs and groups of stars form no units; GPUs, 2: they may in all soft "
     "steps; 3: where a soft step without them fails or has 64 ticks (default: 1; many stars: 3 with 4000 ticks)"},
    {"table_bytes",
     1,
     {{0, 1e12, 1}},
     "bytes of rows of tables that are kept in memory while the disk does not take them; with more the run stops "
     "(default: 256e6)"},
};
enum { SWITCHES = sizeof debug_table / sizeof *debug_table };
const int debug_count = SWITCHES;

static struct debug_state {
  int set;
  double value[DEBUG_NUMBERS];
} state[SWITCHES];

static int find(const char *name, size_t length)
{
  for (int k = 0; k < SWITCHES; k++)
    if (strlen(debug_table[k].name) == length && memcmp(debug_table[k].name, name, length) == 0) return k;
  return -1;
}

/* NUMBER[:NUMBER...] up to a comma or the end. Returns 1 if there are exactly `count` numbers. */
static int read_numbers(const char *text, size_t length, int count, double *out)
{
  const char *end = text + length;
  for (int k = 0; k < count; k++) {
    char *rest;
    if (text >= end) return 0;
    out[k] = strtod(text, &rest);
    if (rest == text || rest > end || !isfinite(out[k]) || (k + 1 < count && *rest != ':')) return 0;
    text = rest + (k + 1 < count);
  }
  return text == end;
}

static int unknown(const char *name, int length, struct fault *fault)
{
  char all[400] = "";
  for (int k = 0; k < SWITCHES; k++) {
    if (k) strcat(all, ", ");
    strncat(all, debug_table[k].name, sizeof all - strlen(all) - 3);
  }
  return fault_set(fault, "ESPALIER_DEBUG: there is no switch '%.*s'; switches are %s", length, name, all);
}

/* Check the numbers of a switch against their ranges; `entry` is what the list says, for the message. */
static int check_ranges(const struct debug_switch *debug, const double *value, const char *entry, int length,
                        struct fault *fault)
{
  for (int k = 0; k < debug->numbers; k++) {
    const struct debug_range *r = &debug->range[k];
    if (value[k] >= r->smallest && value[k] <= r->largest && (!r->whole || value[k] == floor(value[k]))) continue;
    char place[40] = "";
    if (debug->numbers > 1) snprintf(place, sizeof place, " (number %d of %d)", k + 1, debug->numbers);
    return fault_set(fault, "ESPALIER_DEBUG: expected %s from %.15g to %.15g for %s%s, found '%.*s'",
                     r->whole ? "a whole number" : "a number", r->smallest, r->largest, debug->name, place, length,
                     entry);
  }
  return 0;
}

int debug_read(const char *list, struct fault *fault)
{
  struct debug_state read[SWITCHES];
  int named[SWITCHES] = {0};
  memcpy(read, state, sizeof read);
  for (const char *at = list; at && *at;) {
    size_t entry = strcspn(at, ","), name = strcspn(at, "=,");
    int k = find(at, name);
    if (k < 0) return unknown(at, (int)name, fault);
    const struct debug_switch *d = &debug_table[k];
    if (at[name] != '=' || !read_numbers(at + name + 1, entry - name - 1, d->numbers, read[k].value))
      return fault_set(fault, "ESPALIER_DEBUG: expected %s=%s, found '%.*s'", d->name,
                       d->numbers == 1 ? "NUMBER" : "NUMBER:NUMBER:NUMBER", (int)entry, at);
    if (named[k]++)
      return fault_set(fault, "ESPALIER_DEBUG: expected %s once, found it again: '%.*s'", d->name, (int)entry, at);
    if (check_ranges(d, read[k].value, at, (int)entry, fault)) return -1;
    read[k].set = 1;
    at += entry + (at[entry] == ',');
  }
  memcpy(state, read, sizeof state);
  return 0;
}

static int known(const char *name)
{
  int k = find(name, strlen(name));
  if (k < 0) fatal("there is no debug switch '%s'", name);
  return k;
}

double debug_value(const char *name, double otherwise)
{
  int k = known(name);
  return state[k].set ? state[k].value[0] : otherwise;
}

int debug_values(const char *name, double *out)
{
  int k = known(name);
  memcpy(out, state[k].value, sizeof state[k].value);
  return state[k].set;
}

void debug_set(const char *name, double value)
{
  int k = known(name);
  state[k].set = !isnan(value);
  state[k].value[0] = value;
}
