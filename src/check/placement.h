/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Placement of ranks on hosts and devices, and the memory available to them: for `run --check`. */
#ifndef PLACEMENT_H
#define PLACEMENT_H
#include <stdio.h>

#include "backend/backend.h"
#include "backend/probe.h"
#include "mpi/comm.h"

/* The place of one rank. */
struct place {
  char host[64];
  int node_rank, node_size;        /* among the ranks of its host */
  int threads, processors, online; /* threads that it starts; processors that it may use; processors of the host */
  int devices;                     /* visible to this rank; 0 with the CPU backend */
  struct device_identity device;   /* the device that it uses */
  int device_memory_known;         /* the next two are known */
  double device_all, device_left;  /* memory of its device: all, free; bytes */
  double left;                     /* free memory of the host, bytes (0: unknown) */
};

/* The places [ranks] of all ranks on rank 0 (owner: caller, memory_free), empty on others. Collective. */
struct place *placement_gather(const struct comm *comm, const struct backend *be);
/* Print each host with its ranks, devices and processors. Not collective. */
void placement_print(const struct place *all, int ranks, FILE *out);
/* Whether `host_bytes` per rank fit into the memory of the hosts, and `device_bytes` per rank (0: none) into that of
 * the devices. Unknown memory suffices. Not collective. 0, or -1 with a fault that names the first host with too
 * little. */
int placement_check(const struct place *all, int ranks, double host_bytes, double device_bytes, struct fault *fault);
/* Print warnings where ranks share a device or threads outnumber processors. Not collective. */
void placement_warn(const struct place *all, int ranks, FILE *out);
#endif
