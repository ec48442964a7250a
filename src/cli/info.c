/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "cli/info.h"

#include <hdf5.h>
#include <mpi.h>
#include <string.h>
#ifdef ESP_HAVE_HWLOC
#include <hwloc.h>
#endif

#include "backend/backend.h"
#include "backend/probe.h"
#include "base/revision.h"

static void print_cores(FILE *out)
{
#ifdef ESP_HAVE_HWLOC
  hwloc_topology_t topology;
  if (hwloc_topology_init(&topology) || hwloc_topology_load(topology)) return;
  fprintf(out, "  machine  %d cores, %d hardware threads\n", hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE),
          hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU));
  hwloc_topology_destroy(topology);
#else
  (void)out;
#endif
}

void info_print(FILE *out)
{
  const struct backend *const *list;
  int count = backend_list(&list);
  fprintf(out, "backends\n");
  for (int k = 0; k < count; k++) {
    char why[256] = "";
    if (list[k]->probe->count(why, sizeof why) > 0) list[k]->probe->describe(out);
    else fprintf(out, "  %-8s %s\n", list[k]->name, why);
  }
  if (ESP_GPU_TARGETS[0]) fprintf(out, "  built for %s: %s\n", ESP_GPU_NAME, ESP_GPU_TARGETS);
  print_cores(out);
}

static void print_backends(FILE *out)
{
  const struct backend *const *list;
  int count = backend_list(&list);
  fprintf(out, "backends  ");
  for (int k = 0; k < count; k++)
    if (list[k]->open) fprintf(out, " %s", list[k]->name);
  fprintf(out, ESP_GPU_TARGETS[0] ? " (for %s)\n" : "%s\n", ESP_GPU_TARGETS);
}

/* Pairs per second for N = 2^10 ... 2^18 and each number of threads per target (S). */
static void print_pair_rates(FILE *out, const struct backend *be, struct device *d)
{
  enum { FIRST_POWER = 10, LAST_POWER = 18, SHARE_MAX = 32 };
  fprintf(out, "\n| N | S = 1 | 2 | 4 | 8 | 16 | 32 | chosen | its S |\n|---|---|---|---|---|---|---|---|---|\n");
  for (int k = FIRST_POWER; k <= LAST_POWER; k++) {
    fprintf(out, "| 2^%d |", k);
    for (int share = 1; share <= SHARE_MAX; share *= 2)
      fprintf(out, " %.2e |", be->probe->pair_rate(d, (int64_t)1 << k, &share));
    int chosen = 0;
    double rate = be->probe->pair_rate(d, (int64_t)1 << k, &chosen);
    fprintf(out, " %.3e | %d |\n", rate, chosen);
  }
}

void info_rates(FILE *out)
{
  const struct backend *const *list;
  int count = backend_list(&list);
  struct device_config config = {.gravity = 1, .softening = 1, .max_leaf = 16, .max_group = 64, .ranks = 1};
  for (int k = 0; k < count; k++) {
    char why[256] = "";
    if (list[k]->probe->count(why, sizeof why) == 0) continue;
    struct particles p;
    particles_init(&p);
    struct device *d = list[k]->open(&config);
    fprintf(out, "\n%s: direct sums, accelerations and potentials, pairs/s\n", list[k]->name);
    fprintf(out, "the ceiling of walks: %.3e\n", list[k]->probe->ceiling(d));
    if (list[k]->probe->pair_rate) print_pair_rates(out, list[k], d);
    list[k]->close(d);
  }
}

void info_version(FILE *out)
{
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  unsigned major, minor, release;
  MPI_Get_library_version(library, &length);
  library[strcspn(library, "\n")] = 0;
  H5get_libversion(&major, &minor, &release);
  fprintf(out, "%s %s\n", PACKAGE_NAME, PACKAGE_VERSION);
  fprintf(out, "revision   %s\n", revision);
  fprintf(out, "compiler   %s (%s)\n", ESP_COMPILER, __VERSION__);
  fprintf(out, "MPI        %s\n", library);
  fprintf(out, "HDF5       %u.%u.%u\n", major, minor, release);
  print_backends(out);
  fprintf(out, "configure  %s\n", ESP_CONFIGURE_FLAGS[0] ? ESP_CONFIGURE_FLAGS : "(no arguments)");
}
