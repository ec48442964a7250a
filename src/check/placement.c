/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "check/placement.h"

#include <omp.h>
#include <string.h>
#include <unistd.h>

#include "backend/probe.h"
#include "base/memory.h"

enum { LINES_MAX = 16 }; /* hosts that are printed */

/* Free memory in bytes as the kernel estimates it; 0: unknown. */
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

static struct place own_place(const struct comm *comm, const struct backend *be)
{
  struct place p = {.node_rank = comm_node_rank(comm),
                    .node_size = comm_node_size(comm),
                    .threads = omp_get_max_threads(),
                    .processors = omp_get_num_procs(),
                    .online = (int)sysconf(_SC_NPROCESSORS_ONLN),
                    .left = host_left()};
  char why[256];
  if (gethostname(p.host, sizeof p.host - 1)) snprintf(p.host, sizeof p.host, "?");
  if (!be->probe->memory) return p;
  p.devices = be->probe->count(why, sizeof why);
  p.device_memory_known = p.devices > 0 && be->probe->memory(p.node_rank, &p.device_all, &p.device_left) == 0;
  if (p.devices > 0 && be->probe->identify) be->probe->identify(p.node_rank, &p.device);
  return p;
}

struct place *placement_gather(const struct comm *comm, const struct backend *be)
{
  struct place mine = own_place(comm, be);
  size_t bytes;
  return comm_gather_root(comm, &mine, sizeof mine, &bytes);
}

/* Number of consecutive ranks, from `first` on, on the host of `first`. */
static int ranks_of_host(const struct place *all, int ranks, int first)
{
  int n = 1;
  while (first + n < ranks && strcmp(all[first + n].host, all[first].host) == 0) n++;
  return n;
}

static int same_device(const struct place *a, const struct place *b)
{
  return a->devices > 0 && b->devices > 0 && memcmp(a->device.id, b->device.id, sizeof a->device.id) == 0;
}

/* Number of ranks that use the device of rank r. Devices are compared by identity, because ranks may see different
 * devices. */
static int sharers(const struct place *all, int ranks, int r)
{
  int n = 0;
  for (int k = 0; k < ranks; k++) n += same_device(&all[k], &all[r]);
  return n > 0 ? n : 1;
}

/* Number of different devices that the ranks on the host of rank r use. */
static int devices_in_use(const struct place *all, int ranks, int r)
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
    int n = ranks_of_host(all, ranks, r);
    if (lines++ < LINES_MAX) {
      fprintf(out, "%-20s%s: rank%s %d", lines == 1 ? "placement" : "", p->host, n > 1 ? "s" : "", r);
      if (n > 1) fprintf(out, " to %d", r + n - 1);
      fprintf(out, ", %d thread%s on %d processor%s%s", p->threads, p->threads > 1 ? "s" : "", p->processors,
              p->processors > 1 ? "s" : "", n > 1 ? " each" : "");
      int devices = devices_in_use(all, ranks, r);
      if (p->devices > devices) devices = p->devices;
      if (devices) fprintf(out, "; %d device%s", devices, devices > 1 ? "s" : "");
      if (p->device_memory_known) fprintf(out, " of %.3g GB", p->device_all / 1e9);
      if (p->left > 0) fprintf(out, "; %.4g GB are free", p->left / 1e9);
      fputc('\n', out);
    }
    r += n;
  }
  if (lines > LINES_MAX) fprintf(out, "%-20s...: %d hosts in all\n", "", hosts);
}

int placement_check(const struct place *all, int ranks, double host_bytes, double device_bytes, struct fault *fault)
{
  for (int r = 0; r < ranks; r++) {
    const struct place *p = &all[r];
    if (p->left > 0 && host_bytes * p->node_size > p->left)
      return fault_set(fault,
                       "%s: its %d rank%s need%s about %.4g GB for particles, but %.4g GB of memory are free: use more "
                       "hosts, or fewer "
                       "particles",
                       p->host, p->node_size, p->node_size > 1 ? "s" : "", p->node_size > 1 ? "" : "s",
                       host_bytes * p->node_size / 1e9, p->left / 1e9);
    if (!p->device_memory_known) continue;
    int n = sharers(all, ranks, r);
    if (device_bytes * n > p->device_left)
      return fault_set(fault,
                       "%s: the device of rank %d needs about %.4g GB for %d rank%s, but has %.4g GB free: use more "
                       "devices, or fewer "
                       "particles",
                       p->host, r, device_bytes * n / 1e9, n, n > 1 ? "s" : "", p->device_left / 1e9);
  }
  return 0;
}

void placement_warn(const struct place *all, int ranks, FILE *out)
{
  for (int r = 0; r < ranks; r++)
    if (sharers(all, ranks, r) > 1) {
      int devices = devices_in_use(all, ranks, r);
      fprintf(out, "warning: %d ranks on %s share %d device%s: one rank per device is faster\n", all[r].node_size,
              all[r].host, devices, devices > 1 ? "s" : "");
      break;
    }
  for (int r = 0; r < ranks; r++) {
    /* A bound rank sees its own processors, an unbound one those of the whole host. */
    int threads = all[r].threads, processors = all[r].processors;
    if (all[r].online == processors) threads *= all[r].node_size;
    if (threads <= processors) continue;
    fprintf(out,
            "warning: on %s %d threads share %d processor%s: bind ranks to as many processors as they have threads "
            "(OMP_NUM_THREADS)\n",
            all[r].host, threads, processors, processors > 1 ? "s" : "");
    break;
  }
}
