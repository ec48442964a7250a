/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "mpi/start.h"

#ifdef HAVE_EXECINFO_H
#include <execinfo.h>
#endif
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/debug.h"

enum { THREADS_MAX = 4096 }; /* OpenMP keeps a record of each on the stack of the first one */

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
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &threads);
    atexit(end_mpi);
    start_traces();
  }
  if (threads >= MPI_THREAD_FUNNELED) return 0;
  return fault_set(fault, "MPI runs without support of threads: call MPI_Init_thread with MPI_THREAD_FUNNELED or more");
}

void start_traces(void)
{
#ifdef HAVE_EXECINFO_H
  void *frame[1];
  backtrace(frame, 1);
#endif
}

int start_check(struct fault *fault)
{
  int ended = 0, level = MPI_THREAD_SERIALIZED, main_thread = 1;
  MPI_Finalized(&ended);
  if (ended) return fault_set(fault, "MPI_Finalize was called before: simulations cannot be used any more");
  MPI_Query_thread(&level);
  if (level < MPI_THREAD_SERIALIZED) MPI_Is_thread_main(&main_thread);
  if (main_thread) return 0;
  return fault_set(fault, "MPI runs with MPI_THREAD_FUNNELED, which is for calls of the main thread: call "
                          "MPI_Init_thread with MPI_THREAD_SERIALIZED or more");
}

int start_comm(struct comm *comm, const int *handle, struct fault *fault)
{
  MPI_Comm parent = handle ? MPI_Comm_f2c((MPI_Fint)*handle) : MPI_COMM_WORLD;
  MPI_Errhandler before;
  int between = 0;
  /* an unknown handle is an error of MPI_COMM_WORLD, which would end the process */
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int unknown = parent == MPI_COMM_NULL || MPI_Comm_test_inter(parent, &between) != MPI_SUCCESS;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
  MPI_Errhandler_free(&before);
  if (unknown || between)
    return fault_set(fault, "communicator: expected the handle of one (MPI_Comm_c2f), found %s",
                     between                   ? "an intercommunicator"
                     : parent == MPI_COMM_NULL ? "MPI_COMM_NULL: this rank is in none"
                                               : "a number that is none");
  comm_open(comm, parent);
  return 0;
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

/* Whether `text` is one of the words of `list`, which have blanks between them. */
static int is_one_of(const char *text, const char *list)
{
  size_t length = strlen(text);
  for (const char *at = list; *at; at += strspn(at, " ")) {
    size_t word = strcspn(at, " ");
    if (word == length && strncmp(at, text, length) == 0) return 1;
    at += word;
  }
  return 0;
}

static int is_number(const char *text) { return *text && text[strspn(text, "0123456789")] == 0 && strlen(text) < 12; }

/* A fault unless the variable is not set, or has one of the words; `words` NULL: a whole number. 0 or -1. */
static int check_variable(const char *name, const char *text, const char *words, const char *expected,
                          struct fault *fault)
{
  if (!text || (words ? !*text || is_one_of(text, words) : is_number(text))) return 0;
  return fault_set(fault, "%s = '%.40s': expected %s", name, text, expected);
}

int start_environment(struct fault *fault)
{
  if (debug_read(getenv("ESPALIER_DEBUG"), fault)) return -1;
  if (omp_get_max_threads() > THREADS_MAX)
    return fault_set(fault, "OMP_NUM_THREADS asks for %d threads: expected at most %d", omp_get_max_threads(),
                     THREADS_MAX);
  if (check_variable("ESPALIER_SIMD", getenv("ESPALIER_SIMD"), "generic avx2 avx512", "generic, avx2 or avx512", fault))
    return -1;
  if (check_variable("ESPALIER_CLOCK", getenv("ESPALIER_CLOCK"), "cpu", "cpu", fault)) return -1;
  if (check_variable("ESPALIER_CUDA_MPI", getenv("ESPALIER_CUDA_MPI"), "0 1", "0 or 1", fault)) return -1;
  if (check_variable("ESPALIER_LARGEST_MESSAGE", getenv("ESPALIER_LARGEST_MESSAGE"), NULL, "a whole number of bytes",
                     fault))
    return -1;
  return check_variable("SOURCE_DATE_EPOCH", getenv("SOURCE_DATE_EPOCH"), NULL, "whole seconds since 1970", fault);
}
