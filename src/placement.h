/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which ranks share a host and a device, and what memory there is for each: for `run --check`. */
#ifndef PLACEMENT_H
#define PLACEMENT_H
#include <stdio.h>

#include "backend.h"
#include "comm.h"

/* What one rank sees where it runs. */
struct place {
  char host[64];
  int node_rank, node_size;       /* among the ranks of its host */
  int threads, processors, online;  /* threads that it will start, processors that it may use, and of the host */
  int devices;                    /* that this rank's process sees; 0 where the host computes */
  struct device_identity device;  /* the one that it gets */
  int told;                       /* the next two are known */
  double device_all, device_left; /* bytes of its device, all and free */
  double left;                    /* bytes of the host that are free (0: unknown) */
};

/* Where all ranks run, in rank order on rank 0 (owner: caller, memory_free), else empty. Collective. */
struct place *placement_gather(const struct comm *c, const struct backend *be);
/* Lines for people: hosts with their ranks, devices, processors. Local. */
void placement_print(const struct place *all, int ranks, FILE *out);
/* Whether so many bytes of every rank find room on the hosts, and on the devices (0: they need none). Local. 0, or -1 with a
 * sentence about the first host that has too little. */
int placement_check(const struct place *all, int ranks, double host_bytes, double device_bytes, struct fault *f);
/* Warnings about places that make a run slow: devices that are shared, threads that outnumber processors. Local. */
void placement_warn(const struct place *all, int ranks, FILE *out);
#endif
