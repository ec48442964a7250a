/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "info.h"

#include <hdf5.h>
#include <mpi.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#ifdef ESP_HAVE_HWLOC
#include <hwloc.h>
#endif

#include "revision.h"

/* The widest instruction set that this processor and the build share. */
static const char *simd_level(void)
{
  const char *level = "baseline";
#ifdef ESP_HAVE_X86_V3
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) level = "AVX2";
#endif
#ifdef ESP_HAVE_X86_V4
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) level = "AVX-512";
#endif
  return level;
}

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
  int threads = 1;
#ifdef _OPENMP
  threads = omp_get_max_threads();
#endif
  fprintf(out, "backends\n");
  fprintf(out, "  cpu      %d threads per rank, %s\n", threads, simd_level());
  fprintf(out, "  cuda     not in this build\n");
  print_cores(out);
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
  fprintf(out, "backends   cpu\n");
  fprintf(out, "configure  %s\n", ESP_CONFIGURE_FLAGS[0] ? ESP_CONFIGURE_FLAGS : "(no arguments)");
}
