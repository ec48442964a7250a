/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "mpi/start.h"

#include <omp.h>
#include <stdlib.h>
#include <unistd.h>

static void end_mpi(void)
{
  int ended = 0;
  MPI_Finalized(&ended);
  if (!ended) MPI_Finalize();
}

int start_mpi(struct fault *fault)
{
  int running = 0, ended = 0, threads = MPI_THREAD_FUNNELED;
  MPI_Initialized(&running);
  MPI_Finalized(&ended);
  if (ended)
    return fault_set(fault, "MPI_Finalize was called before: no simulation can be opened in this process any more");
  if (running) {
    MPI_Query_thread(&threads);
  } else {
    /* Without mpirun Open MPI would start a daemon for processes that are never spawned. */
    setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &threads);
    atexit(end_mpi);
  }
  if (threads >= MPI_THREAD_FUNNELED) return 0;
  return fault_set(fault, "MPI runs without support of threads: call MPI_Init_thread with MPI_THREAD_FUNNELED or more");
}

void start_comm(struct comm *comm, const int *handle)
{
  comm_open(comm, handle ? MPI_Comm_f2c((MPI_Fint)*handle) : MPI_COMM_WORLD);
}

void start_alone(struct comm *comm) { comm_open(comm, MPI_COMM_SELF); }

void start_threads(const struct comm *comm)
{
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  int bound = omp_get_num_procs() < processors, ranks = comm_node_size(comm);
  if (ranks <= processors) comm_precise_sleep();
  if (getenv("OMP_NUM_THREADS") || bound) return;
  omp_set_num_threads(processors > ranks ? (int)(processors / ranks) : 1);
}
