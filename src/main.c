/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "comm.h"
#include "commands.h"
#include "control.h"
#include "memory.h"

/* Ranks that are not bound to processors of their own share those of their node; OMP_NUM_THREADS, where it is set, is
 * what the user wants. */
static void share_threads(const struct comm *c)
{
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  int bound = omp_get_num_procs() < processors, ranks = comm_node_size(c);
  if (ranks <= processors) comm_nap_exactly();
  if (getenv("OMP_NUM_THREADS") || bound) return;
  omp_set_num_threads(processors > ranks ? (int)(processors / ranks) : 1);
}

int main(int argc, char **argv)
{
  struct comm c;
  int threads;
  control_before_mpi();
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &threads);   /* OpenMP inside, messages from the first thread alone */
  control_after_mpi();
  comm_open(&c, MPI_COMM_WORLD);
  fatal_context(c.rank, -1);
  if (threads < MPI_THREAD_FUNNELED)
    fatal("this MPI library supports no program with threads (it grants less than MPI_THREAD_FUNNELED): use one that was built with threads");
  share_threads(&c);
  int status = commands_run(&c, argc, argv);
  if (ESP_CHECKS && memory_current()) fatal("%zu bytes of labelled memory were not given back", memory_current());
  comm_close(&c);
  MPI_Finalize();
  return status;
}
