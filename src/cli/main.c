/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/commands.h"
#include "mpi/comm.h"
#include "mpi/start.h"
#include "run/control.h"

/* Where a standard stream is closed the next file would get its descriptor, and words of the program. Opened for
 * reading alone, output fails as before. */
static void keep_streams(void)
{
  for (int k = STDIN_FILENO; k <= STDERR_FILENO; k++)
    if (fcntl(k, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != k) exit(1);
}

int main(int argc, char **argv)
{
  struct comm c;
  int threads;
  keep_streams();
  control_before_mpi(argc > 1 && strcmp(argv[1], "run") == 0);
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &threads); /* only the first thread of a rank calls MPI */
  control_after_mpi();
  start_traces();
  comm_open(&c, MPI_COMM_WORLD);
  fatal_context(c.rank, -1);
  if (threads < MPI_THREAD_FUNNELED)
    fatal("this MPI library does not support threads (it grants less than MPI_THREAD_FUNNELED): use a library that was "
          "built with threads");
  start_threads(&c);
  struct fault f = {""};
  int status = 1;
  start_environment(&f);
  if (comm_agree(&c, &f) == 0) status = commands_run(&c, argc, argv);
  else comm_print_fault(&c, "error", &f);
  if (ESP_CHECKS && memory_current()) fatal("%zu bytes of labelled memory were not given back", memory_current());
  comm_close(&c);
  MPI_Finalize();
  return status;
}
