/* SPDX-License-Identifier: GPL-3.0-or-later */
/* MPI for a library: started where the caller has not, and ended with the process. */
#ifndef MPI_START_H
#define MPI_START_H
#include "mpi/comm.h"

/* Start MPI unless it runs; the process then ends it at its exit. Without mpirun the process is a world of one rank.
 * Collective over the world. 0; -1 with a fault where MPI was ended, or was started without support of threads. */
int start_mpi(struct fault *fault);
/* A fault where MPI has ended, or does not allow calls of this thread. Local. 0 or -1. */
int start_check(struct fault *fault);
/* Open a duplicate of the communicator with this handle of Fortran (MPI_Comm_c2f); NULL: of MPI_COMM_WORLD.
 * Collective. 0; -1 with a fault where there is no such communicator, or one of two groups. */
int start_comm(struct comm *comm, const int *handle, struct fault *fault);
/* Open a communicator of this process alone. */
void start_alone(struct comm *comm);
/* Load what the stack of a crashed process needs. Open MPI's handler of SIGSEGV prints the stack by backtrace(), which
 * allocates memory at its first call; a process that crashes within malloc would then wait for ever. After MPI_Init.
 * Local. */
void start_traces(void);
/* Set the number of OpenMP threads: ranks that are not bound share the processors of their node equally.
 * OMP_NUM_THREADS takes precedence. Collective. */
void start_threads(const struct comm *comm);
/* Check and read the environment variables of the program, and the number of threads. Local. 0; -1 with a fault that
 * names one. */
int start_environment(struct fault *fault);
#endif
