/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "placement.h"

#include <omp.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"

enum { LINES_MOST = 16 };

/* Bytes that programs may still ask for, by the kernel's own estimate; 0 where it gives none. */
static double host_left(void)
{
  char line[128];
  double kilobytes = 0;
  FILE *in = fopen("/proc/meminfo", "r");
  if (!in) return 0;
  while (fgets(line, sizeof line, in))
    if (sscanf(line, "MemAvailable: %lf kB", &kilobytes) == 1) break;
  fclose(in);
  return kilobytes * 1024;
}

static struct place own_place(const struct comm *c, const struct backend *be)
{
  struct place p = {.node_rank = comm_node_rank(c), .node_size = comm_node_size(c), .threads = omp_get_max_threads(),
                    .processors = omp_get_num_procs(), .online = (int)sysconf(_SC_NPROCESSORS_ONLN), .left = host_left()};
  char why[256];
  if (gethostname(p.host, sizeof p.host - 1)) snprintf(p.host, sizeof p.host, "?");
  if (!be->room) return p;
  p.devices = be->probe(why, sizeof why);
  p.told = p.devices > 0 && be->room(p.node_rank, &p.device_all, &p.device_left) == 0;
  if (p.devices > 0 && be->identify) be->identify(p.node_rank, &p.device);
  return p;
}

struct place *placement_gather(const struct comm *c, const struct backend *be)
{
  struct place mine = own_place(c, be);
  size_t bytes;
  return comm_gather_root(c, &mine, sizeof mine, &bytes);
}

/* Ranks from `first` on that stand on its host, one after the other. */
static int neighbours(const struct place *all, int ranks, int first)
{
  int n = 1;
  while (first + n < ranks && strcmp(all[first + n].host, all[first].host) == 0) n++;
  return n;
}

static int same_device(const struct place *a, const struct place *b)
{
  return a->devices > 0 && b->devices > 0 && memcmp(a->device.id, b->device.id, sizeof a->device.id) == 0;
}

/* Ranks that have the device of rank r: by its identity, as each of them may see other devices than its neighbour. */
static int sharers(const struct place *all, int ranks, int r)
{
  int n = 0;
  for (int k = 0; k < ranks; k++) n += same_device(&all[k], &all[r]);
  return n > 0 ? n : 1;
}

/* Devices that the ranks of a rank's host have, all together. */
static int taken(const struct place *all, int ranks, int r)
{
  int n = 0;
  for (int k = 0; k < ranks; k++) {
    int before = 0;
    if (all[k].devices == 0 || strcmp(all[k].host, all[r].host)) continue;
    while (before < k && !same_device(&all[before], &all[k])) before++;
    n += before == k;
  }
  return n;
}

void placement_print(const struct place *all, int ranks, FILE *out)
{
  int lines = 0, hosts = 0;
  for (int r = 0; r < ranks; hosts++) {
    const struct place *p = &all[r];
    int n = neighbours(all, ranks, r);
    if (lines++ < LINES_MOST) {
      fprintf(out, "%-20s%s: rank%s %d", lines == 1 ? "placement" : "", p->host, n > 1 ? "s" : "", r);
      if (n > 1) fprintf(out, " to %d", r + n - 1);
      fprintf(out, ", %d thread%s on %d processor%s%s", p->threads, p->threads > 1 ? "s" : "", p->processors, p->processors > 1 ? "s" : "",
              n > 1 ? " each" : "");
      int devices = taken(all, ranks, r);
      if (p->devices > devices) devices = p->devices;
      if (devices) fprintf(out, "; %d device%s", devices, devices > 1 ? "s" : "");
      if (p->told) fprintf(out, " of %.3g GB", p->device_all / 1e9);
      if (p->left > 0) fprintf(out, "; %.4g GB are free", p->left / 1e9);
      fputc('\n', out);
    }
    r += n;
  }
  if (lines > LINES_MOST) fprintf(out, "%-20sand so on: %d hosts\n", "", hosts);
}

int placement_check(const struct place *all, int ranks, double host_bytes, double device_bytes, struct fault *f)
{
  for (int r = 0; r < ranks; r++) {
    const struct place *p = &all[r];
    if (p->left > 0 && host_bytes * p->node_size > p->left)
      return fault_set(f, "%s: %d rank%s there need%s about %.4g GB for particles, but %.4g GB of memory are free: take more hosts, or fewer "
                       "particles", p->host, p->node_size, p->node_size > 1 ? "s" : "", p->node_size > 1 ? "" : "s", host_bytes * p->node_size / 1e9, p->left / 1e9);
    if (!p->told) continue;
    int n = sharers(all, ranks, r);
    if (device_bytes * n > p->device_left)
      return fault_set(f, "%s: the device of rank %d is to hold about %.4g GB for %d rank%s, but has %.4g GB free: take more devices, or fewer "
                       "particles", p->host, r, device_bytes * n / 1e9, n, n > 1 ? "s" : "", p->device_left / 1e9);
  }
  return 0;
}

void placement_warn(const struct place *all, int ranks, FILE *out)
{
  for (int r = 0; r < ranks; r++)
    if (sharers(all, ranks, r) > 1) {
      int devices = taken(all, ranks, r);
      fprintf(out, "warning: %d ranks on %s share %d device%s: one rank a device is faster\n", all[r].node_size, all[r].host, devices,
              devices > 1 ? "s" : "");
      break;
    }
  for (int r = 0; r < ranks; r++) {
    /* ranks that are bound see processors of their own, others all of the host */
    int wanted = all[r].threads, there = all[r].processors;
    if (all[r].online == there) wanted *= all[r].node_size;
    if (wanted <= there) continue;
    fprintf(out, "warning: on %s %d threads share %d processor%s: bind ranks to as many processors as they have threads (OMP_NUM_THREADS)\n",
            all[r].host, wanted, there, there > 1 ? "s" : "");
    break;
  }
}
