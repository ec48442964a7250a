/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Placement of ranks on imagined hosts with and without devices: what is reported, warned about and refused. */
#include <config.h>
#include "check/placement.h"

#include <string.h>

#include "tap.h"

enum { RANKS = 8 };

/* Two hosts of four ranks each, which take their devices in turn. */
static void make(struct place all[RANKS], int devices, int threads, int processors)
{
  memset(all, 0, RANKS * sizeof *all);
  for (int r = 0; r < RANKS; r++) {
    struct place *p = &all[r];
    snprintf(p->host, sizeof p->host, "node%d", r / 4);
    p->node_rank = r % 4;
    p->node_size = 4;
    p->threads = threads;
    p->processors = processors;
    p->online = 64;
    p->devices = devices;
    p->device_memory_known = devices > 0;
    if (devices) snprintf((char *)p->device.id, sizeof p->device.id, "%d.%d", r / 4, r % 4 % devices);
    p->device_all = 80e9;
    p->device_left = 79e9;
    p->left = 100e9;
  }
}

static char text[4096];

static int says(void (*print)(const struct place *, int, FILE *), const struct place *all, int ranks, const char *part)
{
  memset(text, 0, sizeof text);
  FILE *out = fmemopen(text, sizeof text, "w");
  print(all, ranks, out);
  fclose(out);
  return part ? strstr(text, part) != NULL : text[0] == 0;
}

int main(void)
{
  struct place all[RANKS];
  struct fault f = {""};
  make(all, 4, 16, 16);
  tap_ok(says(placement_print, all, RANKS,
              "node0: ranks 0 to 3, 16 threads on 16 processors each; 4 devices of 80 GB; 100 GB are free") &&
             strstr(text, "node1: ranks 4 to 7"),
         "two hosts, their ranks and devices");
  tap_ok(says(placement_warn, all, RANKS, NULL), "no warning about a device and sixteen cores for each rank");
  tap_ok(placement_check(all, RANKS, 24e9, 78e9, &f) == 0, "there is room");
  tap_ok(placement_check(all, RANKS, 26e9, 1e9, &f) == -1 && strstr(f.text, "node0: its 4 ranks need about 104 GB"),
         "too little memory of a host");
  f.text[0] = 0;
  tap_ok(placement_check(all, RANKS, 1e9, 80e9, &f) == -1 &&
             strstr(f.text, "node0: the device of rank 0 needs about 80 GB for 1 rank,"),
         "too little memory of a device");
  f.text[0] = 0;
  all[6].device_left = 1e9;
  tap_ok(placement_check(all, RANKS, 1e9, 10e9, &f) == -1 && strstr(f.text, "node1: the device of rank 6"),
         "one device that is in use");
  f.text[0] = 0;

  make(all, 3, 16, 16);
  tap_ok(says(placement_warn, all, RANKS, "warning: 4 ranks on node0 share 3 devices"), "devices that are shared");
  tap_ok(placement_check(all, RANKS, 1e9, 40e9, &f) == -1 && strstr(f.text, "rank 0 needs about 80 GB for 2 ranks"),
         "... have to hold two ranks");
  f.text[0] = 0;
  tap_ok(placement_check(all + 1, 2, 1e9, 40e9, &f) == 0, "... but for those that have one alone");

  /* a launcher may show each rank one device only: another for each, or the same for some */
  make(all, 4, 16, 16);
  for (int r = 0; r < RANKS; r++) all[r].devices = 1;
  tap_ok(says(placement_warn, all, RANKS, NULL) && placement_check(all, RANKS, 1e9, 78e9, &f) == 0,
         "ranks that see one device each, their own");
  tap_ok(says(placement_print, all, RANKS, "4 devices of 80 GB"), "... are on a host with four");
  all[7].device = all[5].device;
  tap_ok(says(placement_warn, all, RANKS, "warning: 4 ranks on node1 share 3 devices"),
         "ranks that see one device each, and two the same");
  tap_ok(placement_check(all, RANKS, 1e9, 40e9, &f) == -1 &&
             strstr(f.text, "node1: the device of rank 5 needs about 80 GB for 2 ranks"),
         "... which has to hold two ranks");
  f.text[0] = 0;

  make(all, 0, 32, 16);
  tap_ok(says(placement_warn, all, RANKS, "32 threads share 16 processors"),
         "ranks that are bound to too few processors");
  make(all, 0, 32, 64);
  tap_ok(says(placement_warn, all, RANKS, "128 threads share 64 processors"), "ranks that are not bound");
  make(all, 0, 16, 64);
  tap_ok(says(placement_warn, all, RANKS, NULL) && says(placement_print, all, RANKS, "node1") &&
             !strstr(text, "device"),
         "hosts that compute");
  for (int r = 0; r < RANKS; r++) all[r].left = 0;
  tap_ok(placement_check(all, RANKS, 1e15, 0, &f) == 0, "unknown memory is not refused");
  return tap_end();
}
