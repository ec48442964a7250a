/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Verbs of a backend that describe devices and give reference measurements. Table of struct backend; always present. */
#ifndef PROBE_H
#define PROBE_H
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "gravity/split.h"
#ifdef __cplusplus
extern "C" {
#endif

struct device;

/* Identity of a device: equal `id`, same device. */
struct device_identity {
  unsigned char id[16];
  char name[64], place[32]; /* for people; position in the host */
};

struct backend_probe {
  /* Number of devices; where it is 0, why[size] gives the reason. */
  int (*count)(char *why, size_t size);
  /* Print a line about each device. */
  void (*describe)(FILE *out);
  /* Total and free bytes of the memory of the device that rank `node_rank` of a node gets. 0, or -1 where they are
   * unknown. NULL: particles are in host memory. */
  int (*memory)(int node_rank, double *all, double *left);
  /* Identity of that device. NULL: there is no device but the host. */
  void (*identify)(int node_rank, struct device_identity *id);
  /* Interactions per second of a direct sum over point masses (acceleration; on CPUs with potential) in the arithmetic
   * of `walk` on all threads: the upper limit of the walk's rate. */
  double (*ceiling)(struct device *d);
  /* Interactions per second of METHOD_DIRECT on n particles with *share threads (1, 2, 4, ... 32) to a target; *share
   * 0: the default, which is returned in it. NULL without METHOD_DIRECT. */
  double (*pair_rate)(struct device *d, int64_t n, int *share);
  /* Direct sum in double precision over this rank's particles at n points: acc[n][3] and pot[n] are added to. The
   * particle with id skip[i] is left out for point i. type[n]: of the particles at the points, whose softening counts
   * (NULL: the smallest). `hard` (NULL, or [n][3], added to): the hard part with the kernel of `split`. */
  void (*direct)(struct device *d, int64_t n, const double (*at)[3], const uint64_t *skip, const uint8_t *type,
                 const struct split *split, double (*acc)[3], double (*hard)[3], double *pot);
};

#ifdef __cplusplus
}
#endif
#endif
